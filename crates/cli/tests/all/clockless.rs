//! Hosts that tell no time: what has ended, and what hasn't begun, can't be told, and nothing would be stopped. The standard library
//! ends the instance where a clock can't be read, and the host rejects what has no answer.

use crate::support;
use serde_json::{Value, json};
use wasmtime::{Cache, CacheConfig, Caller, Config, Engine, Extern, Linker, Module, Store};

/// WASI's word for a clock that can't be read.
const CANT_BE_READ: i32 = 29;
/// WASI's word for a file that isn't open.
const BAD_FILE: i32 = 8;
/// WASI's number of the clock that tells the time of day. The other one is monotonic.
const REALTIME: i32 = 0;
/// What a clock tells that can be read, in nanoseconds: it stands still.
const TIME: u64 = 1_790_000_000_000_000_000;

/// waPC's host of one call, `validate`, whose clocks tell the time or not.
struct BrokenClocks {
    payload: Vec<u8>,
    tells: fn(i32) -> bool,
    answer: Option<Result<Vec<u8>, String>>,
}

type Guest<'a> = Caller<'a, BrokenClocks>;

fn memory(guest: &mut Guest<'_>) -> wasmtime::Memory {
    guest.get_export("memory").and_then(Extern::into_memory).unwrap()
}

fn at(address: i32) -> usize {
    usize::try_from(address).unwrap()
}

fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap()
}

fn write(guest: &mut Guest<'_>, address: i32, bytes: &[u8]) {
    memory(guest).write(guest, at(address), bytes).unwrap();
}

fn read(guest: &mut Guest<'_>, address: i32, length: i32) -> Vec<u8> {
    let mut bytes = vec![0; at(length)];
    memory(guest).read(guest, at(address), &mut bytes).unwrap();
    bytes
}

/// What the module answers, or says went wrong, where clocks tell the time as `tells` has it.
fn validate(payload: &Value, tells: fn(i32) -> bool) -> Result<Vec<u8>, String> {
    // As the runtime has it, so that what it compiled is found.
    let mut config = Config::new();
    config.epoch_interruption(true).wasm_function_references(true);
    config.cache(Cache::new(CacheConfig::new()).ok());
    let engine = Engine::new(&config).unwrap();
    let module = Module::from_file(&engine, support::module_path()).unwrap();
    let mut linker: Linker<BrokenClocks> = Linker::new(&engine);
    let clock = |mut guest: Guest<'_>, clock: i32, _precision: i64, address: i32| {
        if !(guest.data().tells)(clock) {
            return CANT_BE_READ;
        }
        write(&mut guest, address, &TIME.to_le_bytes());
        0
    };
    linker.func_wrap("wasi_snapshot_preview1", "clock_time_get", clock).unwrap();
    // The keys of waPC's table of functions.
    linker.func_wrap("wasi_snapshot_preview1", "random_get", |_: i32, _: i32| 0).unwrap();
    // Where what a panic says would go, and whether it says where it was.
    linker.func_wrap("wasi_snapshot_preview1", "fd_write", |_: i32, _: i32, _: i32, _: i32| BAD_FILE).unwrap();
    let no_variables = |mut guest: Guest<'_>, count: i32, bytes: i32| {
        [count, bytes].into_iter().for_each(|address| write(&mut guest, address, &[0; 4]));
        0
    };
    linker.func_wrap("wasi_snapshot_preview1", "environ_sizes_get", no_variables).unwrap();
    let request = |mut guest: Guest<'_>, operation: i32, payload: i32| {
        let bytes = guest.data().payload.clone();
        write(&mut guest, operation, b"validate");
        write(&mut guest, payload, &bytes);
    };
    linker.func_wrap("wapc", "__guest_request", request).unwrap();
    let answered = |mut guest: Guest<'_>, address: i32, length: i32| {
        let response = read(&mut guest, address, length);
        guest.data_mut().answer = Some(Ok(response));
    };
    linker.func_wrap("wapc", "__guest_response", answered).unwrap();
    let failed = |mut guest: Guest<'_>, address: i32, length: i32| {
        let why = read(&mut guest, address, length);
        guest.data_mut().answer = Some(Err(String::from_utf8(why).unwrap()));
    };
    linker.func_wrap("wapc", "__guest_error", failed).unwrap();
    linker.define_unknown_imports_as_traps(&module).unwrap();
    let payload = serde_json::to_vec(payload).unwrap();
    let lengths = (length(b"validate"), length(&payload));
    let mut store = Store::new(&engine, BrokenClocks { payload, tells, answer: None });
    store.set_epoch_deadline(1);
    let instance = linker.instantiate(&mut store, &module).unwrap();
    instance.get_typed_func::<(), ()>(&mut store, "wapc_init").unwrap().call(&mut store, ()).unwrap();
    let call = instance.get_typed_func::<(i32, i32), i32>(&mut store, "__guest_call").unwrap();
    let is_answered = call.call(&mut store, lengths).map_err(|trap| trap.root_cause().to_string())? == 1;
    let answer = store.data_mut().answer.take().unwrap();
    assert_eq!(is_answered, answer.is_ok());
    answer
}

/// A request that an expression of ten thousand steps admits, or a rule, whichever are set.
fn payload(settings: &Value) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    let request = json!({"uid": "u", "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "object": object});
    json!({"request": request, "settings": settings})
}

fn by_expression() -> Value {
    let list = "[0,1,2,3,4,5,6,7,8,9]";
    let text = (0..4).rev().fold("true".to_owned(), |inner, n| format!("{list}.all(x{n}, {inner})"));
    let policy = json!({"name": "loops", "verifyPreScanAccepted": true, "mutateDigest": false, "verifications": [{"expression": text}]});
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": [policy]})
}

fn by_rule() -> Value {
    json!({"preScanPolicies": {"defaultPolicy": "accept"},
           "preCustomRules": "pre_deny_image[\"never\"] { input.AdmissionRequest.name == \"never\" }"})
}

#[test]
fn without_the_time_of_day_nothing_is_decided() {
    for tells in [|clock| clock != REALTIME, |_| false] {
        let ended = validate(&payload(&json!({})), tells).unwrap_err();
        assert!(ended.contains("unreachable"), "{ended}");
    }
}

#[test]
fn without_a_clock_that_stops_them_neither_rules_nor_expressions_decide() {
    for settings in [by_expression(), by_rule()] {
        let answer = validate(&payload(&settings), |_| true).unwrap();
        let response: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(response["accepted"], true, "{response}");
        let ended = validate(&payload(&settings), |clock| clock == REALTIME).unwrap_err();
        assert!(ended.contains("unreachable"), "{ended}");
    }
}
