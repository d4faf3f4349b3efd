//! The host's log, over waPC.

use crate::wapc;
use image_admission_engine::{BINDING, LogLine};

/// Writes a line to the host's log. A host that can't log changes no decision.
pub(crate) fn log(line: &LogLine) {
    if let Ok(payload) = serde_json::to_vec(line) {
        let _ = wapc::host_call(BINDING, "tracing", "log", &payload);
    }
}
