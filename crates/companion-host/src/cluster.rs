//! What the watches have seen of reports: it answers what the policy's engine asks of a cluster. A report is kept without its findings,
//! which don't say whether it is there.

use crate::watch::Subject;
use image_admission_host::{AccessReview, Document, Host, HostFailure, Resource};
use image_admission_image::ImageReference;
use image_admission_module_host::answers::files::ClusterFiles;
use image_admission_module_host::answers::manifest::Manifest;
use image_admission_module_host::answers::{GetResource, ListByNamespace};
use image_admission_registry_reader::{ReadFailure, RegistryReader};
use image_admission_settings::Identity;
use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use kube::core::DynamicObject;
use serde_json::{Number, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use tokio::runtime::Handle;

/// The annotation by which trivy-operator deletes a report, after its creation.
const LIFETIME: &str = "trivy-operator.aquasecurity.github.io/report-ttl";

/// The largest manifest that is kept, and how many are: tens of megabytes at the most, and mostly five.
const KEPT_BYTES: usize = 8 << 10;
const KEPT: usize = 4_000;

/// The watched objects, and registries, as the policy's engine asks for them.
pub(crate) struct Watched {
    objects: RwLock<ClusterFiles>,
    registries: Arc<RegistryReader>,
    /// Manifests by their digests, which never change.
    manifests: Mutex<BTreeMap<String, Document>>,
    runtime: Handle,
}

impl Watched {
    pub(crate) fn new(registries: Arc<RegistryReader>) -> Self {
        Self { objects: RwLock::default(), registries, manifests: Mutex::default(), runtime: Handle::current() }
    }

    /// Takes in an object as it is now, [stripped](strip).
    pub(crate) fn put(&self, object: DynamicObject) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).put(object);
    }

    /// Takes out an object that is gone.
    pub(crate) fn remove(&self, object: &DynamicObject) {
        self.objects.write().unwrap_or_else(PoisonError::into_inner).remove(object);
    }

    /// The identities of what is known of a kind.
    pub(crate) fn identities(&self, subject: &Subject) -> BTreeSet<String> {
        let objects = self.objects();
        let objects = objects.of_kind(subject.kind(), subject.namespace.as_deref());
        objects.filter_map(|object| object.metadata.uid.clone()).collect()
    }

    /// Takes out the objects of a kind with identities that `is_gone` knows, and returns them.
    pub(crate) fn take(&self, subject: &Subject, is_gone: impl Fn(&str) -> bool) -> Vec<DynamicObject> {
        let mut objects = self.objects.write().unwrap_or_else(PoisonError::into_inner);
        let is_gone = |object: &&DynamicObject| is_gone(object.metadata.uid.as_deref().unwrap_or_default());
        let gone: Vec<DynamicObject> =
            objects.of_kind(subject.kind(), subject.namespace.as_deref()).filter(is_gone).cloned().collect();
        for object in &gone {
            objects.remove(object);
        }
        gone
    }
}

/// Its calls wait for registries: not on the threads of the runtime.
impl Host for Watched {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        let reference = reference(image)?;
        self.runtime.block_on(self.registries.digest(&reference)).map_err(failure)
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        let reference = reference(image)?;
        let known = || self.manifests.lock().unwrap_or_else(PoisonError::into_inner);
        if reference.digest().is_some()
            && let Some(manifest) = known().get(image)
        {
            return Ok(manifest.clone());
        }
        let read = self.runtime.block_on(self.registries.manifest(&reference)).map_err(failure)?;
        // As the policy's host hands it out: the policy proves an index by these bytes.
        let manifest: Manifest = serde_json::from_slice(&read.bytes).map_err(|_| malformed())?;
        let manifest = serde_json::to_vec(&manifest).map(Document).map_err(|_| malformed())?;
        if reference.digest().is_some() && manifest.0.len() <= KEPT_BYTES {
            let mut known = known();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(image.to_owned(), manifest.clone());
        }
        Ok(manifest)
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        self.get(resource, Some(fields))
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        self.get(resource, None)
    }

    fn list_resources(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure> {
        let wanted = ListByNamespace {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            label_selector: label_selector.map(str::to_owned),
            field_selector: None,
            field_masks: Some(fields.iter().map(|field| (*field).to_owned()).collect()),
        };
        self.objects().list_in_namespace(&wanted).map(Document).map_err(HostFailure::Failed)
    }

    fn list_all_resources(&self, _: &str, _: &str) -> Result<Document, HostFailure> {
        Err(not_asked())
    }

    fn artifact(&self, _: &str) -> Result<Document, HostFailure> {
        Err(not_asked())
    }

    fn verify(&self, _: &str, _: &Identity, _: &BTreeMap<String, String>) -> Result<String, HostFailure> {
        Err(not_asked())
    }

    fn may(&self, _: &AccessReview<'_>) -> Result<bool, HostFailure> {
        Err(not_asked())
    }
}

impl Watched {
    fn objects(&self) -> RwLockReadGuard<'_, ClusterFiles> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, resource: &Resource<'_>, fields: Option<&[&str]>) -> Result<Document, HostFailure> {
        let wanted = GetResource {
            api_version: resource.api_version.to_owned(),
            kind: resource.kind.to_owned(),
            name: resource.name.to_owned(),
            namespace: Some(resource.namespace.to_owned()),
            disable_cache: false,
            field_masks: fields.map(|fields| fields.iter().map(|field| (*field).to_owned()).collect()),
        };
        // Of what was listed whole, an object that isn't there is the only failure.
        self.objects().get(&wanted).map(Document).map_err(HostFailure::NotFound)
    }
}

fn reference(image: &str) -> Result<ImageReference, HostFailure> {
    ImageReference::parse(image).map_err(|_| HostFailure::Malformed("it is no image reference".to_owned()))
}

/// What the companion's settings leave nothing for: signatures, artifacts, and lists of all namespaces.
fn not_asked() -> HostFailure {
    HostFailure::Failed("the companion doesn't ask that".to_owned())
}

fn malformed() -> HostFailure {
    HostFailure::Malformed("its answer is no manifest".to_owned())
}

fn failure(failure: ReadFailure) -> HostFailure {
    let words = failure.to_string();
    match failure {
        ReadFailure::NotFound => HostFailure::NotFound(words),
        ReadFailure::Refused => HostFailure::Denied(words),
        ReadFailure::RateLimited { .. } => HostFailure::TooManyRequests(words),
        ReadFailure::Outage(_) => HostFailure::Failed(words),
        ReadFailure::Invalid(_) => HostFailure::Malformed(words),
    }
}

/// When a report has lived for four fifths of its time: it should be made anew before it goes. None if it stays.
pub(crate) fn outlived(object: &DynamicObject) -> Option<Timestamp> {
    let lifetime = object.metadata.annotations.as_ref()?.get(LIFETIME)?;
    // Go writes `24h0m0s`.
    let seconds = WrittenDuration::parse(lifetime)?.seconds();
    let created = object.metadata.creation_timestamp.as_ref()?.0.as_second();
    Some(Timestamp(created.saturating_add(seconds / 5 * 4)))
}

/// Takes out what doesn't say whose a report is, and how old: it is most of a report.
pub(crate) fn strip(object: &mut DynamicObject) {
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
