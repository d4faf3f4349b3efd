//! The linear memory of a running guest, as the functions that it imports read and write it.

use wasmtime::error::Error;
use wasmtime::{Caller, Extern, Memory};

/// What stands at an address.
///
/// Fails when the guest has no memory, or none there.
pub(super) fn read<T>(guest: &mut Caller<'_, T>, at: i32, length: i32) -> Result<Vec<u8>, Error> {
    let memory = memory_of(guest)?;
    let (at, length) = (address(at), address(length));
    let bytes = memory.data(&guest).get(at..at.saturating_add(length));
    Ok(bytes.ok_or_else(|| Error::msg("read outside of the memory"))?.to_vec())
}

/// What stands at an address, as text: what isn't UTF-8 is replaced.
///
/// Fails as [`read`] does.
pub(super) fn read_text<T>(guest: &mut Caller<'_, T>, at: i32, length: i32) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&read(guest, at, length)?).into_owned())
}

/// Puts bytes at an address.
///
/// Fails when the guest has no memory, or none there.
pub(super) fn write<T>(guest: &mut Caller<'_, T>, at: i32, bytes: &[u8]) -> Result<(), Error> {
    let memory = memory_of(guest)?;
    memory.write(guest, address(at), bytes)?;
    Ok(())
}

fn memory_of<T>(guest: &mut Caller<'_, T>) -> Result<Memory, Error> {
    guest.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| Error::msg("no exported memory"))
}

/// Addresses of a 32-bit guest are unsigned, whatever the type says.
fn address(at: i32) -> usize {
    usize::try_from(at.cast_unsigned()).unwrap_or(usize::MAX)
}
