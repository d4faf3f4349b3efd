//! What a waPC guest imports and exports, by <https://wapc.io/docs/spec/>.

use std::sync::Arc;

use wasmtime::error::Error;
use wasmtime::{Caller, Linker, StoreLimits, StoreLimitsBuilder};

use super::conversation::Conversation;
use super::guest_memory::{read, read_text, write};
use crate::answers::{HostAnswers, HostCall};

const WAPC: &str = "wapc";

/// The guest's functions that run before it is asked anything, as far as it has them.
pub(super) const STARTS: [&str; 2] = ["_start", "wapc_init"];

/// The guest's function that answers a call.
pub(super) const GUEST_CALL: &str = "__guest_call";

/// What the host keeps for one instance.
pub(super) struct Guest {
    pub(super) function: Vec<u8>,
    pub(super) payload: Vec<u8>,
    pub(super) conversation: Arc<Conversation>,
    /// How much memory the guest gets.
    pub(super) limits: StoreLimits,
    /// The answer to the guest's last host call.
    answer: Result<Vec<u8>, String>,
    /// What the guest answered, where it did.
    pub(super) response: Option<Vec<u8>>,
    /// What the guest said of its failure, where it did.
    pub(super) error: Option<String>,
}

impl Guest {
    pub(super) fn new(function: &str, payload: &[u8], conversation: Arc<Conversation>, memory: usize) -> Self {
        Self {
            limits: StoreLimitsBuilder::new().memory_size(memory).build(),
            function: function.as_bytes().to_vec(),
            payload: payload.to_vec(),
            conversation,
            answer: Ok(Vec::new()),
            response: None,
            error: None,
        }
    }
}

/// Defines what a waPC guest imports for every instance that `linker` makes.
pub(super) fn link(linker: &mut Linker<Guest>) -> Result<(), Error> {
    linker.func_wrap(WAPC, "__guest_request", |mut guest: Caller<'_, Guest>, function: i32, payload: i32| {
        let (name, bytes) = (guest.data().function.clone(), guest.data().payload.clone());
        write(&mut guest, function, &name)?;
        write(&mut guest, payload, &bytes)
    })?;
    linker.func_wrap(WAPC, "__guest_response", |mut guest: Caller<'_, Guest>, at: i32, length: i32| {
        guest.data_mut().response = Some(read(&mut guest, at, length)?);
        Ok(())
    })?;
    linker.func_wrap(WAPC, "__guest_error", |mut guest: Caller<'_, Guest>, at: i32, length: i32| {
        guest.data_mut().error = Some(read_text(&mut guest, at, length)?);
        Ok(())
    })?;
    linker.func_wrap(WAPC, "__console_log", |_: Caller<'_, Guest>, _: i32, _: i32| {})?;
    linker.func_wrap(
        WAPC,
        "__host_call",
        |mut guest: Caller<'_, Guest>,
         binding: i32,
         binding_length: i32,
         namespace: i32,
         namespace_length: i32,
         operation: i32,
         operation_length: i32,
         payload: i32,
         payload_length: i32| {
            let call = HostCall {
                binding: read_text(&mut guest, binding, binding_length)?,
                namespace: read_text(&mut guest, namespace, namespace_length)?,
                operation: read_text(&mut guest, operation, operation_length)?,
                payload: read(&mut guest, payload, payload_length)?,
            };
            let answer = guest.data().conversation.answer(&call);
            let succeeded = i32::from(answer.is_ok());
            guest.data_mut().answer = answer;
            Ok(succeeded)
        },
    )?;
    linker.func_wrap(WAPC, "__host_response", |mut guest: Caller<'_, Guest>, at: i32| {
        let bytes = guest.data().answer.clone().unwrap_or_default();
        write(&mut guest, at, &bytes)
    })?;
    linker.func_wrap(WAPC, "__host_response_len", |guest: Caller<'_, Guest>| {
        guest.data().answer.as_ref().map_or(0, |bytes| length(bytes))
    })?;
    linker.func_wrap(WAPC, "__host_error", |mut guest: Caller<'_, Guest>, at: i32| {
        let text = guest.data().answer.clone().err().unwrap_or_default();
        write(&mut guest, at, text.as_bytes())
    })?;
    linker.func_wrap(WAPC, "__host_error_len", |guest: Caller<'_, Guest>| {
        guest.data().answer.as_ref().err().map_or(0, |text| length(text.as_bytes()))
    })?;
    Ok(())
}

/// The length of a text as the guest is told it.
pub(super) fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}
