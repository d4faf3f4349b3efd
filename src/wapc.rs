//! waPC's side of a guest: the bytes that go in and out of this module.
//!
//! It does what waPC's crate for guests does, for the functions of one policy and without what that one makes anew in
//! every instance: a table of functions with its hash keys. The crate `wapc`, the host's side, lists what is imported and
//! exported here.

use crate::room::has_room_for;

/// Why the host's call came to nothing, in the host's words.
pub(crate) type HostError = String;

/// Answers one call of the host by what `answer` makes of an operation and its payload, or says why there is no answer. Gives waPC's
/// word for whether there is one.
pub(crate) fn respond(
    operation_length: usize,
    payload_length: usize,
    answer: impl FnOnce(&[u8], &[u8]) -> Result<Vec<u8>, String>,
) -> i32 {
    if !has_room_for(payload_length) {
        imports::guest_error(b"the request and the settings take more memory than the policy may");
        return 0;
    }
    let mut operation = vec![0; operation_length];
    let mut payload = vec![0; payload_length];
    imports::guest_request(&mut operation, &mut payload);
    match answer(&operation, &payload) {
        Ok(response) => {
            imports::guest_response(&response);
            1
        }
        Err(why) => {
            imports::guest_error(why.as_bytes());
            0
        }
    }
}

/// Calls the host, and gives its answer.
pub(crate) fn host_call(binding: &str, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, HostError> {
    if !imports::host_call(binding, namespace, operation, payload) {
        return Err(format!("Host error: {}", String::from_utf8_lossy(&imports::host_error())));
    }
    if !has_room_for(imports::host_response_length()) {
        return Err("Host error: its answer takes more memory than the policy may".to_owned());
    }
    Ok(imports::host_response())
}

/// The functions of a waPC host. Each takes pointers into the module's memory, and lengths in bytes.
#[expect(unsafe_code, reason = "the host reads and writes the module's memory")]
mod imports {
    mod raw {
        #[link(wasm_import_module = "wapc")]
        unsafe extern "C" {
            pub(super) fn __guest_request(operation: *mut u8, payload: *mut u8);
            pub(super) fn __guest_response(bytes: *const u8, length: usize);
            pub(super) fn __guest_error(bytes: *const u8, length: usize);
            pub(super) fn __host_call(
                binding: *const u8,
                binding_length: usize,
                namespace: *const u8,
                namespace_length: usize,
                operation: *const u8,
                operation_length: usize,
                payload: *const u8,
                payload_length: usize,
            ) -> i32;
            pub(super) fn __host_response_len() -> usize;
            pub(super) fn __host_response(bytes: *mut u8);
            pub(super) fn __host_error_len() -> usize;
            pub(super) fn __host_error(bytes: *mut u8);
        }
    }

    /// Fills both with what the host asks; they have the lengths that it said.
    pub(super) fn guest_request(operation: &mut [u8], payload: &mut [u8]) {
        // SAFETY: the host writes as many bytes as it said before, and both have that length.
        unsafe { raw::__guest_request(operation.as_mut_ptr(), payload.as_mut_ptr()) }
    }

    pub(super) fn guest_response(bytes: &[u8]) {
        // SAFETY: the host reads that many bytes, and copies them.
        unsafe { raw::__guest_response(bytes.as_ptr(), bytes.len()) }
    }

    pub(super) fn guest_error(bytes: &[u8]) {
        // SAFETY: the host reads that many bytes, and copies them.
        unsafe { raw::__guest_error(bytes.as_ptr(), bytes.len()) }
    }

    /// Whether the host has a response now, and not an error.
    pub(super) fn host_call(binding: &str, namespace: &str, operation: &str, payload: &[u8]) -> bool {
        // SAFETY: the host reads that many bytes of each, and copies them.
        let answer = unsafe {
            raw::__host_call(
                binding.as_ptr(),
                binding.len(),
                namespace.as_ptr(),
                namespace.len(),
                operation.as_ptr(),
                operation.len(),
                payload.as_ptr(),
                payload.len(),
            )
        };
        answer == 1
    }

    pub(super) fn host_response_length() -> usize {
        // SAFETY: it reads nothing.
        unsafe { raw::__host_response_len() }
    }

    pub(super) fn host_response() -> Vec<u8> {
        // SAFETY: it reads nothing.
        let mut bytes = vec![0; unsafe { raw::__host_response_len() }];
        // SAFETY: the host writes as many bytes as it said, and there is room for them.
        unsafe { raw::__host_response(bytes.as_mut_ptr()) };
        bytes
    }

    pub(super) fn host_error() -> Vec<u8> {
        // SAFETY: it reads nothing.
        let mut bytes = vec![0; unsafe { raw::__host_error_len() }];
        // SAFETY: the host writes as many bytes as it said, and there is room for them.
        unsafe { raw::__host_error(bytes.as_mut_ptr()) };
        bytes
    }
}
