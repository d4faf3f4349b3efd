//! The runtime: clean instances, deadlines, and what comes back from a call.
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::host::{echo, silent};
use image_admission_module_host::runtime::{MemoryUse, PolicyModule, Reply, RuntimeError};

/// A guest, in WebAssembly's text form.
fn compiled(text: &str) -> PolicyModule {
    PolicyModule::from_bytes(&wat::parse_str(text).unwrap()).unwrap()
}

fn probe() -> PolicyModule {
    compiled(include_str!("../guests/probe.wat"))
}

const DEADLINE: &str = "Policy execution interrupted because it exceeded the allowed execution time";

fn call(function: &str, payload: &str) -> Reply {
    let policy = probe();
    policy.call(function, payload.as_bytes(), echo())
}

#[track_caller]
fn check(function: &str, payload: &str, expected: Result<&str, &str>) {
    let reply = call(function, payload);
    let actual = reply.response.map(|bytes| String::from_utf8(bytes).unwrap()).map_err(|e| e.to_string());
    assert_eq!(actual.as_deref().map_err(String::as_str), expected);
}

#[test]
fn a_call_returns_the_response_or_the_error() {
    check("ask", "what?", Ok("what?"));
    check("ask", "no such thing\nCaused by: …", Err("the policy failed: no such thing"));
    check("fail", "it broke\nat line 1", Err("the policy failed: it broke"));
}

#[test]
fn a_crash_names_its_place() {
    let error = call("trap", "").response.unwrap_err();
    assert!(matches!(&error, RuntimeError::Trap(place) if place.starts_with("0: 0x")), "{error}");
}

/// A guest with a page of memory, whose call does what `body` does.
fn guest(body: &str) -> PolicyModule {
    compiled(&format!(
        r#"(module
          (import "wapc" "__guest_response" (func $respond (param i32 i32)))
          (import "wapc" "__guest_error" (func $fail (param i32 i32)))
          (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
          (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
          (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
          (memory (export "memory") 1)
          (data (i32.const 0) "NO")
          (func (export "__guest_call") (param i32 i32) (result i32) {body}))"#
    ))
}

#[test]
fn what_a_guest_does_wrong_is_told_in_words() {
    for (body, expected) in [
        ("(i32.const 1)", "the policy failed: it neither answered nor said why"),
        ("(i32.const 0)", "the policy failed: it neither answered nor said why"),
        ("(call $fail (i32.const 0) (i32.const 2)) (i32.const 1)", "the policy failed: NO"),
        ("(call $exit (i32.const 7)) (i32.const 1)", "the policy failed: it ended itself with code 7"),
        (
            "(call $respond (i32.const 65535) (i32.const 2)) (i32.const 1)",
            "the policy failed: read outside of the memory",
        ),
        (
            "(drop (call $random (i32.const 0) (i32.const -1))) (i32.const 1)",
            "the policy failed: read outside of the memory",
        ),
    ] {
        let failed = guest(body).call("validate", b"", echo()).response.unwrap_err();
        assert_eq!(failed.to_string(), expected, "{body}");
    }
}

/// Sixty thousand pieces that overlap are more than anybody may write.
#[test]
fn a_guest_writes_little_at_a_time() {
    let started = Instant::now();
    let many = "(drop (call $write (i32.const 2) (i32.const 0) (i32.const 8000) (i32.const 0))) (i32.const 0)";
    let failed = guest(many).call("validate", b"", echo()).response.unwrap_err();
    assert_eq!(failed.to_string(), "the policy failed: it neither answered nor said why");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn every_call_has_a_clean_instance() {
    let policy = probe();
    for _ in 0..3 {
        assert_eq!(policy.call("count", b"", echo()).response.unwrap(), b"1");
    }
}

#[test]
fn a_reply_holds_what_was_asked_and_answered() {
    let reply = call("ask", "what?");
    let [exchange] = reply.exchanges.as_slice() else { panic!("{:?}", reply.exchanges) };
    assert_eq!(format!("{:?}", exchange.call), "kubernetes/get_resource what?");
    assert_eq!(exchange.answer, Ok(b"what?".to_vec()));

    let refused = call("ask", "no\nCaused by: …");
    assert_eq!(refused.exchanges[0].answer, Err("no\nCaused by: …".to_owned()));
}

#[test]
fn the_log_is_kept_apart_from_what_was_asked() {
    let reply = call("log", r#"{"level":"INFO","message":"hello","image":"a:b"}"#);
    assert!(reply.exchanges.is_empty());
    let [entry] = reply.logs.as_slice() else { panic!("{:?}", reply.logs) };
    assert_eq!((entry.level.as_str(), entry.message.as_deref()), ("INFO", Some("hello")));
    assert_eq!(entry.data["image"], "a:b");

    let odd = call("log", "not json");
    assert_eq!(odd.logs[0].message.as_deref(), Some("not json"));
}

#[test]
fn the_deadline_ends_an_endless_policy() {
    let policy = probe().with_deadline(Duration::from_millis(100));
    let started = Instant::now();
    let reply = policy.call("endless", b"", echo());
    assert_eq!(reply.response.unwrap_err().to_string(), DEADLINE);
    let took = started.elapsed();
    assert!(took >= Duration::from_millis(90) && took < Duration::from_secs(5), "{took:?}");
    // What was interrupted leaves no trace behind.
    assert_eq!(policy.call("count", b"", echo()).response.unwrap(), b"1");
}

#[test]
fn the_deadline_ends_a_host_call_that_hangs() {
    let policy = probe().with_deadline(Duration::from_millis(100));
    let started = Instant::now();
    let reply = policy.call("ask", b"anybody there?", silent());
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(reply.response.unwrap_err().to_string(), DEADLINE);
    // Which call it was can still be told.
    assert_eq!(reply.exchanges[0].answer, Err("no answer before the policy's deadline".to_owned()));
}

#[test]
fn a_module_that_is_no_policy_says_so() {
    let error = |bytes: &[u8]| PolicyModule::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(error(b"not wasm"), "not a WebAssembly module; name the file `policy.wasm` of a build or a release");
    let broken = error(b"\0asm\x01\0\0\0\xff");
    assert!(broken.starts_with("a broken WebAssembly module: "), "{broken}");
    let browser = r#"(module (import "__wbindgen_placeholder__" "__wbindgen_throw" (func)))"#;
    assert_eq!(
        error(&wat::parse_str(browser).unwrap()),
        "not a waPC policy: unknown import: `__wbindgen_placeholder__::__wbindgen_throw` has not been defined; build it for `wasm32-wasip1`"
    );
    let missing = PolicyModule::from_file(Path::new("no/such/policy.wasm")).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read the policy `no/such/policy.wasm`: "));
    let empty = compiled("(module)").call("count", b"", echo());
    assert!(matches!(empty.response, Err(RuntimeError::Init(_))), "{empty:?}");
}

#[test]
fn memory_is_measured_before_and_after_the_call() {
    const PAGE: usize = 65536;
    let policy = probe();
    let measured = |function: &str| policy.call(function, b"what?", echo()).memory;
    assert_eq!(measured("count"), MemoryUse { started: 4 * PAGE, answered: 4 * PAGE });
    assert_eq!(measured("ask"), MemoryUse { started: 4 * PAGE, answered: 4 * PAGE });
    assert_eq!(measured("grow"), MemoryUse { started: 4 * PAGE, answered: 5 * PAGE });

    // A call that fails is measured too.
    assert_eq!(policy.call("ask", b"no", echo()).memory, MemoryUse { started: 4 * PAGE, answered: 4 * PAGE });
}
