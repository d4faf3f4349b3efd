//! What answers a policy's host calls.
//!
//! ```text
//! guest ─ HostCall ─ Gate ─ Request ─ AnswerSource: files, a recording, or a live registry and cluster
//! ```
//! The [`Gate`] says what the host itself says (unknown operations, access that wasn't granted) in the host's words;
//! a source sees only requests that are granted and well formed.

use std::fmt;

pub mod field_mask;
pub mod files;
mod gate;
mod image_name;
mod kubernetes;
#[cfg(feature = "live")]
pub mod live;
#[cfg(not(feature = "live"))]
#[path = "answers/not_live.rs"]
pub mod live;
pub mod manifest;
pub mod recorded;
mod request;
pub mod selector;
mod verification;

pub use gate::{Gate, Grants, GrantsError};
pub use request::{GetResource, Keyless, KeylessPrefix, ListAll, ListByNamespace, Request};

/// One call of a guest, as it comes over the wire.
#[derive(Clone, PartialEq, Eq)]
pub struct HostCall {
    /// Always `kubewarden`; anything else is refused.
    pub binding: String,
    /// `oci`, `kubernetes`, `net`, `crypto` or `tracing`.
    pub namespace: String,
    /// For example `v1/manifest_digest`.
    pub operation: String,
    /// JSON.
    pub payload: Vec<u8>,
}

impl HostCall {
    /// Whether this is a line of the guest's log.
    #[must_use]
    pub fn is_log(&self) -> bool {
        self.binding == "kubewarden" && self.namespace == "tracing" && self.operation == "log"
    }
}

impl fmt::Debug for HostCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let payload = String::from_utf8_lossy(&self.payload);
        write!(f, "{}/{} {payload}", self.namespace, self.operation)
    }
}

/// Answers host calls.
pub trait HostAnswers: Send + Sync {
    /// The answer's JSON, or the text that the guest sees as the error.
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String>;

    /// What was there to be asked for and never was; a caller that expects everything to be used makes it an error.
    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether an answer may take long, as one from a network does. Such a call is made under the policy's deadline, at
    /// the price of a thread.
    fn may_block(&self) -> bool {
        true
    }
}

/// The calls that the engine makes of a host, as the module would make them.
pub fn engine_calls(host: &dyn HostAnswers) -> impl Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> {
    |namespace, operation, payload| {
        let call = HostCall {
            binding: "kubewarden".to_owned(),
            namespace: namespace.to_owned(),
            operation: operation.to_owned(),
            payload: payload.to_owned(),
        };
        // The guest's side of waPC puts its own words before the host's.
        host.answer(&call).map_err(|text| format!("Host error: {text}"))
    }
}

/// Where answers come from, behind the [`Gate`].
pub trait AnswerSource: Send + Sync {
    /// The answer's JSON, or the cause of the failure: the gate writes before it what the host writes.
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String>;

    /// Whether there is anybody to ask.
    fn can_answer(&self, _request: &Request) -> bool {
        true
    }

    /// See [`HostAnswers::leftovers`].
    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }

    /// See [`HostAnswers::may_block`].
    fn may_block(&self) -> bool {
        true
    }
}

/// JSON for the wire. Only a map with keys that aren't strings can fail, and no answer has one.
fn to_json(value: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|e| format!("error serializing payload: {e}"))
}

/// The text for what the real host answers and this one doesn't yet, outside of recordings.
fn not_answered(request: &Request) -> String {
    let operation = match request {
        Request::DNSLookupHost { .. } => "net/v1/dns_lookup_host",
        Request::CryptoIsCertificateTrusted { .. } => "crypto/v1/is_certificate_trusted",
        _ => "oci/v2/verify",
    };
    format!("this host has no answer to `{operation}` yet; replay a recording that has it")
}
