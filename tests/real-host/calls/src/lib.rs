//! A policy that makes the host calls of its settings, in order, and accepts: what these calls cost by themselves. Without
//! calls it is the fastest answer that the host can give.
//!
//! Settings: `{"calls": [{"namespace": "oci", "operation": "v1/manifest_digest", "payload": "registry/image:tag"}]}`. The
//! beginning of each answer comes back as a warning, so that a call that failed can be seen.

use kubewarden_policy_sdk::protocol_version_guest;
use serde::Deserialize;
use serde_json::{Value, json};
use wapc_guest::{CallResult, host_call, register_function};

/// How much of an answer is shown.
const MAX_SHOWN_LENGTH: usize = 200;

#[derive(Deserialize)]
struct Payload {
    settings: Settings,
}

#[derive(Deserialize)]
struct Settings {
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
struct Call {
    namespace: String,
    operation: String,
    payload: Value,
}

/// What the host calls first.
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", |_| Ok(br#"{"valid":true}"#.to_vec()));
    register_function("protocol_version", protocol_version_guest);
}

fn validate(payload: &[u8]) -> CallResult {
    let Payload { settings } = serde_json::from_slice(payload)?;
    let mut answers = Vec::new();
    for call in settings.calls {
        let answer = host_call("kubewarden", &call.namespace, &call.operation, &serde_json::to_vec(&call.payload)?);
        let text = answer.map_or_else(|error| format!("error: {error}"), |bytes| String::from_utf8_lossy(&bytes).into_owned());
        answers.push(text.chars().take(MAX_SHOWN_LENGTH).collect::<String>());
    }
    Ok(serde_json::to_vec(&json!({"accepted": true, "warnings": answers}))?)
}
