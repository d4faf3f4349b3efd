//! The guest: the engine as a Kubewarden policy.
//!
//! Nothing is decided here. It passes payloads to the engine and the engine's answers back. For `validate` it adds the time and a
//! host that is called over waPC.

mod clock;
mod room;

use clock::GuestClock;
use image_admission_engine::Answer;
use image_admission_host::WireHost;
use image_admission_untrusted::time::Timestamp;
use kubewarden_policy_sdk::protocol_version_guest;
use room::Room;
use std::time::{SystemTime, UNIX_EPOCH};
use wapc_guest::{CallResult, host_call, register_function};

/// waPC's binding of Kubewarden's host.
const BINDING: &str = "kubewarden";

/// Registers the functions that Kubewarden calls. waPC calls this one first.
#[expect(unsafe_code, reason = "waPC finds it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    image_admission_untrusted::clock::use_clock(&GuestClock);
    image_admission_untrusted::memory::use_memory(&Room);
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    room::start_anew();
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
    let host = |namespace: &str, operation: &str, payload: &[u8]| {
        host_call(BINDING, namespace, operation, payload).map_err(|error| error.to_string())
    };
    reply(image_admission_engine::validate(payload, &WireHost(host), Timestamp(now)))
}

fn validate_settings(payload: &[u8]) -> CallResult {
    room::start_anew();
    reply(image_admission_engine::validate_settings(payload))
}

/// Writes the lines for the host's log, and passes the response on.
fn reply(answer: Answer) -> CallResult {
    for line in &answer.log {
        // A host that can't log changes no decision.
        let _ = host_call(BINDING, "tracing", "log", &serde_json::to_vec(line)?);
    }
    Ok(answer.response)
}
