//! What the watches have seen of reports: it answers what the policy's engine asks of a cluster. A report is kept without its findings,
//! which don't say whether it is there.

use image_admission_module_host::answers::files::ClusterFiles;
use image_admission_module_host::answers::live::Live;
use image_admission_module_host::answers::{AnswerSource, Request};
use image_admission_untrusted::time::Timestamp;
use kube::core::DynamicObject;
use serde_json::{Number, Value};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock};

use crate::watch::Subject;

/// The annotation by which trivy-operator deletes a report, after its creation.
const LIFETIME: &str = "trivy-operator.aquasecurity.github.io/report-ttl";

/// The watched objects, and registries.
pub(crate) struct Watched {
    objects: RwLock<ClusterFiles>,
    registries: Arc<Live>,
}

impl Watched {
    pub(crate) fn new(registries: Arc<Live>) -> Self {
        Self { objects: RwLock::default(), registries }
    }

    /// Takes in an object as it is now.
    pub(crate) fn put(&self, mut object: DynamicObject) {
        strip(&mut object);
        self.objects.write().unwrap_or_else(PoisonError::into_inner).put(object);
    }

    /// Takes out an object that is gone.
    pub(crate) fn remove(&self, object: &DynamicObject) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(object);
    }

    /// Takes out what a list of a kind doesn't show, by the identities of what it shows.
    pub(crate) fn retain(&self, subject: &Subject, listed: &BTreeSet<String>) {
        let kind = (subject.resource.api_version.as_str(), subject.resource.kind.as_str());
        let is_listed = |object: &DynamicObject| object.metadata.uid.as_ref().is_some_and(|uid| listed.contains(uid));
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        objects.retain(kind, subject.namespace.as_deref(), is_listed);
    }
}

impl AnswerSource for Watched {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        let objects = || self.objects.read().unwrap_or_else(PoisonError::into_inner);
        match request {
            Request::KubernetesGetResource(wanted) => objects().get(wanted),
            Request::KubernetesListResourceNamespace(wanted) => objects().list_in_namespace(wanted),
            Request::KubernetesListResourceAll(wanted) => objects().list_all(wanted),
            Request::OciManifestDigest { .. } | Request::OciManifest { .. } | Request::OciManifestAndConfig { .. } => {
                self.registries.answer(request)
            }
            _ => Err("the companion doesn't ask that".to_owned()),
        }
    }
}

/// When a report has lived for four fifths of its time: it should be made anew before it goes. None if it stays.
pub(crate) fn outlived(object: &DynamicObject) -> Option<Timestamp> {
    let lifetime = object.metadata.annotations.as_ref()?.get(LIFETIME)?;
    // Go writes `24h0m0s`.
    let seconds = image_admission_untrusted::time::WrittenDuration::parse(lifetime)?.seconds();
    let created = object.metadata.creation_timestamp.as_ref()?.0.as_second();
    Some(Timestamp(created.saturating_add(seconds / 5 * 4)))
}

/// Takes out what doesn't say whose a report is, and how old.
fn strip(object: &mut DynamicObject) {
    object.metadata.managed_fields = None;
    let Some(report) = object.data.get_mut("report").and_then(Value::as_object_mut) else { return };
    for list in ["vulnerabilities", "results"] {
        if let Some(findings) = report.get_mut(list) {
            *findings = Value::Array(Vec::new());
        }
    }
    // Nor may the summary count what isn't there.
    let counts = report.get_mut("summary").and_then(Value::as_object_mut);
    for count in counts.into_iter().flat_map(serde_json::Map::values_mut).filter(|value| value.is_number()) {
        *count = Value::Number(Number::from(0));
    }
}
