//! The guest: the engine as a Kubewarden policy.
//!
//! Nothing is decided here. Each function hands its bytes to the engine, with a host that calls waPC and with the
//! time, and hands the answer back.

mod clock;
mod host;

use clock::GuestClock;
use host::Guest;
use image_admission_engine::{Answer, Timestamp, WireHost};
use std::time::{SystemTime, UNIX_EPOCH};
use wapc_guest::{CallResult, register_function};

/// A quarter of what a request with rules runs is memory asked for and given back: this allocator takes less for it than
/// that of the C library.
#[cfg(target_family = "wasm")]
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();

/// Registers the functions that Kubewarden calls.
#[expect(unsafe_code, reason = "waPC finds the entry point by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    image_admission_engine::use_clock(&GuestClock);
    register_function("validate", |payload| {
        image_admission_engine::leave_memory(clock::may_leave_memory());
        reply(image_admission_engine::validate(payload, &WireHost(Guest), now()))
    });
    register_function("validate_settings", |payload| reply(image_admission_engine::validate_settings(payload)));
    register_function("protocol_version", kubewarden_policy_sdk::protocol_version_guest);
}

/// Sends the lines for the log, and passes the response on.
#[expect(clippy::unnecessary_wraps, reason = "the type of a waPC function")]
fn reply(answer: Answer) -> CallResult {
    for line in &answer.log {
        host::log(line);
    }
    Ok(answer.response)
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
