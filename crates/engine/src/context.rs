//! What every step of a request gets: the request with its context, and the object that it brings.

use crate::request::{AdmissionRequest, UnreadableRequest};
use image_admission_host::Host;
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::Settings;
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;

/// One request and its context. No step changes it.
#[derive(Clone, Copy)]
pub(crate) struct RequestContext<'a> {
    pub(crate) request: &'a AdmissionRequest<'a>,
    pub(crate) settings: &'a Settings,
    pub(crate) host: &'a dyn Host,
    /// The present time.
    pub(crate) now: Timestamp,
}

/// A request's object, as patches of rules left it.
pub(crate) struct ReviewedObject {
    pub(crate) object: Value,
    /// Its kind, if that has a pod spec.
    pub(crate) workload: Option<WorkloadKind>,
    /// The namespace that it would be in.
    pub(crate) namespace: String,
    /// Whether rules changed it.
    pub(crate) is_patched: bool,
}

impl ReviewedObject {
    /// The object after patches, or that of the request.
    pub(crate) fn read(request: &AdmissionRequest<'_>, patched: Option<Value>) -> Result<Self, UnreadableRequest> {
        let is_patched = patched.is_some();
        let object = patched.map_or_else(|| request.object(), Ok)?;
        let workload = WorkloadKind::of(&request.group, &request.kind);
        let namespace = request.namespace_of(&object).to_owned();
        Ok(Self { object, workload, namespace, is_patched })
    }
}
