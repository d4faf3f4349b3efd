//! The guest: the engine as a Kubewarden policy.
//!
//! Nothing is decided here. Each function hands its bytes to the engine, with a host that calls waPC and with the
//! time, and hands the answer back.

mod clock;
#[cfg(target_arch = "wasm32")]
mod compare;
mod host;
#[cfg(target_arch = "wasm32")]
mod memory;
mod room;
mod wapc;

use clock::GuestClock;
use image_admission_engine::{Answer, Timestamp, WireHost};
use room::Room;

/// The only version there is of Kubewarden's contract for policies.
const PROTOCOL_VERSION: &[u8] = br#""v1""#;

/// Prepares an instance: waPC calls it first.
#[expect(unsafe_code, reason = "waPC finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    // This writes before anything reads: a page that is first read and then written is brought twice. What every request writes
    // beside its heap and its stack stands in the same page.
    image_admission_engine::skip_freeing(false);
}

/// Answers what Kubewarden asks: an operation and a payload, whose lengths in bytes it says here.
#[expect(unsafe_code, reason = "waPC finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn __guest_call(operation_length: usize, payload_length: usize) -> i32 {
    wapc::respond(operation_length, payload_length, |operation, payload| match operation {
        b"validate" => {
            image_admission_engine::use_clock(&GuestClock);
            room::start_anew();
            image_admission_engine::use_memory(&Room);
            image_admission_engine::skip_freeing(clock::may_skip_freeing());
            let now = now().ok_or("the host tells no time: what has ended, and what hasn't begun, can't be told")?;
            Ok(reply(image_admission_engine::validate(payload, &*WireHost::over(wapc::host_call), now)))
        }
        b"validate_settings" => {
            image_admission_engine::use_clock(&GuestClock);
            // Each policy is looked into with an engine of its own: what those leave would fill the memory.
            image_admission_engine::skip_freeing(false);
            Ok(reply(image_admission_engine::validate_settings(payload)))
        }
        b"protocol_version" => Ok(PROTOCOL_VERSION.to_vec()),
        _ => Err(format!("no function `{}`", String::from_utf8_lossy(operation))),
    })
}

/// Sends the lines for the log, and passes the response on.
fn reply(answer: Answer) -> Vec<u8> {
    for line in &answer.log {
        host::log(line);
    }
    answer.response
}

/// The time of day; none where the host doesn't tell it.
fn now() -> Option<Timestamp> {
    i64::try_from(clock::since_1970()?.as_secs()).ok().map(Timestamp)
}
