//! The live host: the engine's calls over waPC.

use crate::wapc;
use image_admission_engine::{HostCalls, LogLine};

/// waPC's binding of Kubewarden's host.
const BINDING: &str = "kubewarden";

/// The host that runs this guest.
#[derive(Debug)]
pub(crate) struct Guest;

impl HostCalls for Guest {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        wapc::host_call(BINDING, namespace, operation, payload)
    }
}

/// Writes a line to the host's log. A host that can't log changes no decision.
pub(crate) fn log(line: &LogLine) {
    if let Ok(payload) = serde_json::to_vec(line) {
        let _ = wapc::host_call(BINDING, "tracing", "log", &payload);
    }
}
