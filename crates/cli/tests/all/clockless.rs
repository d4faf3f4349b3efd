//! A host that tells no time: what has ended, and what hasn't begun, can't be told, so that nothing is decided.

use crate::support;
use wasmtime::{Cache, CacheConfig, Caller, Config, Engine, Extern, Linker, Module, Store};

/// WASI's word for a clock that can't be read.
const CANT_BE_READ: i32 = 29;

/// waPC's host of one call, which is about the operation `validate`, with what went wrong.
#[derive(Default)]
struct WithoutClock {
    error: String,
}

fn memory(guest: &mut Caller<'_, WithoutClock>) -> wasmtime::Memory {
    guest.get_export("memory").and_then(Extern::into_memory).unwrap()
}

fn at(address: i32) -> usize {
    usize::try_from(address).unwrap()
}

#[test]
fn without_the_time_of_day_nothing_is_decided() {
    // As the runtime has it, so that what it compiled is found.
    let mut config = Config::new();
    config.epoch_interruption(true).wasm_function_references(true);
    config.cache(Cache::new(CacheConfig::new()).ok());
    let engine = Engine::new(&config).unwrap();
    let module = Module::from_file(&engine, support::module_path()).unwrap();
    let mut linker: Linker<WithoutClock> = Linker::new(&engine);
    let clock = |_clock: i32, _precision: i64, _at: i32| CANT_BE_READ;
    linker.func_wrap("wasi_snapshot_preview1", "clock_time_get", clock).unwrap();
    let request = |mut guest: Caller<'_, WithoutClock>, operation: i32, _payload: i32| {
        memory(&mut guest).write(&mut guest, at(operation), b"validate").unwrap();
    };
    linker.func_wrap("wapc", "__guest_request", request).unwrap();
    let failed = |mut guest: Caller<'_, WithoutClock>, address: i32, length: i32| {
        let mut text = vec![0; at(length)];
        memory(&mut guest).read(&guest, at(address), &mut text).unwrap();
        guest.data_mut().error = String::from_utf8(text).unwrap();
    };
    linker.func_wrap("wapc", "__guest_error", failed).unwrap();
    linker.define_unknown_imports_as_traps(&module).unwrap();
    let mut store = Store::new(&engine, WithoutClock::default());
    store.set_epoch_deadline(1);
    let instance = linker.instantiate(&mut store, &module).unwrap();
    instance.get_typed_func::<(), ()>(&mut store, "wapc_init").unwrap().call(&mut store, ()).unwrap();
    let call = instance.get_typed_func::<(i32, i32), i32>(&mut store, "__guest_call").unwrap();
    assert_eq!(call.call(&mut store, (i32::try_from("validate".len()).unwrap(), 0)).unwrap(), 0);
    assert_eq!(store.data().error, "the host tells no time: what has ended, and what hasn't begun, can't be told");
}
