//! How much memory one instance takes.
//!
//! The runtime's provider keeps its instances to itself, so this one measure instantiates the same compiled module with
//! wasmtime directly, and speaks waPC to it: the guest can't tell the difference.

use std::sync::Arc;

use wasmtime_provider::wasmtime::{Caller, Extern, Linker, Memory, Store, Trap, error::Error};
use wasmtime_provider::wasmtime_wasi::WasiCtxBuilder;
use wasmtime_provider::wasmtime_wasi::p1::{WasiP1Ctx, add_to_linker_sync};

use crate::answers::{HostAnswers, HostCall};
use crate::runtime::{Conversation, PolicyModule, RuntimeError, first_line, ticks};

/// The linear memory of one instance, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MemoryUse {
    /// When the instance was ready.
    pub started: usize,
    /// When it had answered. Linear memory never shrinks, so this is the most it took.
    pub answered: usize,
}

impl MemoryUse {
    /// Calls `function` in a clean instance, as [`PolicyModule::call`] does, and measures the instance's memory.
    ///
    /// Fails as a call does, also when the guest returns an error: that path may take less than others.
    pub fn of_call(
        policy: &PolicyModule,
        function: &str,
        payload: &[u8],
        answers: Arc<dyn HostAnswers>,
    ) -> Result<Self, RuntimeError> {
        let mut linker = Linker::new(policy.engine());
        link(&mut linker).map_err(|e| RuntimeError::Imports(first_line(&e)))?;
        let guest = Guest {
            wasi: WasiCtxBuilder::new().build_p1(),
            conversation: Conversation::new(answers, policy.deadline()),
            request: (function.as_bytes().to_vec(), payload.to_vec()),
            answer: Ok(Vec::new()),
            error: None,
        };
        let mut store = Store::new(policy.engine(), guest);
        store.set_epoch_deadline(ticks(policy.deadline()));
        let instance =
            linker.instantiate(&mut store, policy.module()).map_err(|e| RuntimeError::Init(first_line(&e)))?;
        for start in wapc::wapc_functions::REQUIRED_STARTS {
            if let Ok(start) = instance.get_typed_func::<(), ()>(&mut store, start) {
                start.call(&mut store, ()).map_err(|e| failure(&e))?;
            }
        }
        let memory = instance
            .get_memory(&mut store, "memory")
            .ok_or_else(|| RuntimeError::Imports("no exported memory".to_owned()))?;
        let started = memory.data_size(&store);
        let call = instance
            .get_typed_func::<(i32, i32), i32>(&mut store, wapc::wapc_functions::GUEST_CALL)
            .map_err(|e| RuntimeError::Imports(first_line(&e)))?;
        let lengths = (length(function.as_bytes()), length(payload));
        let succeeded = call.call(&mut store, lengths).map_err(|e| failure(&e))?;
        if succeeded == 0 {
            let error = store.data_mut().error.take().unwrap_or_default();
            return Err(RuntimeError::Guest(first_line(&error)));
        }
        Ok(Self { started, answered: memory.data_size(&store) })
    }
}

/// What the waPC functions share.
struct Guest {
    wasi: WasiP1Ctx,
    conversation: Conversation,
    request: (Vec<u8>, Vec<u8>),
    answer: Result<Vec<u8>, Vec<u8>>,
    error: Option<String>,
}

/// Defines what a waPC guest imports. See <https://wapc.io/docs/spec/>.
fn link(linker: &mut Linker<Guest>) -> Result<(), Error> {
    use wapc::wapc_functions as wapc;

    const WAPC: &str = ::wapc::HOST_NAMESPACE;

    add_to_linker_sync(linker, |guest: &mut Guest| &mut guest.wasi)?;
    linker.func_wrap(WAPC, wapc::GUEST_REQUEST_FN, |mut guest: Caller<'_, Guest>, function: i32, payload: i32| {
        let (name, bytes) = guest.data().request.clone();
        write(&mut guest, function, &name)?;
        write(&mut guest, payload, &bytes)
    })?;
    linker.func_wrap(WAPC, wapc::GUEST_RESPONSE_FN, |_: Caller<'_, Guest>, _: i32, _: i32| {})?;
    linker.func_wrap(WAPC, wapc::GUEST_ERROR_FN, |mut guest: Caller<'_, Guest>, at: i32, length: i32| {
        guest.data_mut().error = Some(read_text(&mut guest, at, length)?);
        Ok(())
    })?;
    linker.func_wrap(WAPC, wapc::HOST_CONSOLE_LOG, |_: Caller<'_, Guest>, _: i32, _: i32| {})?;
    linker.func_wrap(
        WAPC,
        wapc::HOST_CALL,
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
            let answer = guest.data().conversation.answer(call);
            guest.data_mut().answer = answer.map_err(|e| e.to_string().into_bytes());
            Ok(i32::from(guest.data().answer.is_ok()))
        },
    )?;
    linker.func_wrap(WAPC, wapc::HOST_RESPONSE_FN, |mut guest: Caller<'_, Guest>, at: i32| {
        let bytes = guest.data().answer.clone().unwrap_or_default();
        write(&mut guest, at, &bytes)
    })?;
    linker.func_wrap(WAPC, wapc::HOST_RESPONSE_LEN_FN, |guest: Caller<'_, Guest>| {
        guest.data().answer.as_ref().map_or(0, |bytes| length(bytes))
    })?;
    linker.func_wrap(WAPC, wapc::HOST_ERROR_FN, |mut guest: Caller<'_, Guest>, at: i32| {
        let text = guest.data().answer.clone().err().unwrap_or_default();
        write(&mut guest, at, &text)
    })?;
    linker.func_wrap(WAPC, wapc::HOST_ERROR_LEN_FN, |guest: Caller<'_, Guest>| {
        guest.data().answer.as_ref().err().map_or(0, |text| length(text))
    })?;
    Ok(())
}

fn memory_of(guest: &mut Caller<'_, Guest>) -> Result<Memory, Error> {
    guest.get_export("memory").and_then(Extern::into_memory).ok_or_else(|| Error::msg("no exported memory"))
}

fn read(guest: &mut Caller<'_, Guest>, at: i32, length: i32) -> Result<Vec<u8>, Error> {
    let memory = memory_of(guest)?;
    let (at, length) = (address(at), address(length));
    let bytes = memory.data(&guest).get(at..at.saturating_add(length));
    Ok(bytes.ok_or_else(|| Error::msg("read outside of the memory"))?.to_vec())
}

fn read_text(guest: &mut Caller<'_, Guest>, at: i32, length: i32) -> Result<String, Error> {
    Ok(String::from_utf8_lossy(&read(guest, at, length)?).into_owned())
}

fn write(guest: &mut Caller<'_, Guest>, at: i32, bytes: &[u8]) -> Result<(), Error> {
    let memory = memory_of(guest)?;
    memory.write(guest, address(at), bytes)?;
    Ok(())
}

/// Addresses of a 32-bit guest are unsigned, whatever the type says.
fn address(at: i32) -> usize {
    usize::try_from(at.cast_unsigned()).unwrap_or(usize::MAX)
}

fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

fn failure(error: &Error) -> RuntimeError {
    match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => RuntimeError::Deadline,
        Some(trap) => RuntimeError::Trap(trap.to_string()),
        None => RuntimeError::Init(first_line(error)),
    }
}
