//! What the watches have seen of reports: it answers what the policy's engine asks of a cluster. A report is kept without its findings,
//! which don't say whether it is there. What no watch sees, evidence and what attestors name, is read when it is asked for.

use crate::log::{line, write};
use crate::objects::{objects, resource as kind_of};
use crate::watch::{Purpose, Subject};
use image_admission_companion::log::LogLevel;
use image_admission_host::{AccessReview, Document, Host, HostFailure, Resource, Untrusted};
use image_admission_image::ImageReference;
use image_admission_module_host::answers::files::ClusterFiles;
use image_admission_module_host::answers::manifest::Manifest;
use image_admission_module_host::answers::{GetResource, ListByNamespace};
use image_admission_registry_reader::{Descriptor, ReadFailure, RegistryReader};
use image_admission_settings::Identity;
use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use kube::Client;
use kube::core::DynamicObject;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Number, Value};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::timeout;

/// The annotation by which trivy-operator deletes a report, after its creation.
const LIFETIME: &str = "trivy-operator.aquasecurity.github.io/report-ttl";

/// What the API server answers if a right is missing.
const FORBIDDEN: u16 = 403;
/// The largest manifest that is kept, and how many are: tens of megabytes at the most, and mostly five.
const KEPT_BYTES: usize = 8 << 10;
const KEPT: usize = 4_000;
/// The longest that the API server may take to hand out an object.
const READ: Duration = Duration::from_secs(10);

/// The watched objects, and registries, as the policy's engine asks for them.
pub(crate) struct Watched {
    objects: RwLock<ClusterFiles>,
    /// The kinds that are watched, by `apiVersion` and kind. Others are read from the cluster.
    kinds: BTreeSet<(String, String)>,
    client: Client,
    registries: Arc<RegistryReader>,
    /// Manifests by their digests, which never change.
    manifests: Mutex<BTreeMap<String, Document>>,
    runtime: Handle,
}

impl Watched {
    /// What these watches will see.
    pub(crate) fn new(client: Client, registries: Arc<RegistryReader>, subjects: &[Subject]) -> Self {
        let reports = subjects.iter().filter(|subject| subject.purpose == Purpose::Reports).map(Subject::kind);
        Self {
            objects: RwLock::default(),
            kinds: reports.map(|(api_version, kind)| (api_version.to_owned(), kind.to_owned())).collect(),
            client,
            registries,
            manifests: Mutex::default(),
            runtime: Handle::current(),
        }
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

/// The host of one question to the engine, about one image. Its calls wait for registries: not on the threads of the runtime.
pub(crate) struct Question<'a> {
    pub(crate) watched: &'a Watched,
    /// The last part of the image's repository. Lists have only what may be about it: there are as many reports as images.
    pub(crate) name: &'a str,
    /// What tags stand for, as long as it is asked.
    digests: RefCell<BTreeMap<String, String>>,
    /// Why a registry gave nothing, where one was asked last.
    failed: RefCell<Option<ReadFailure>>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(watched: &'a Watched, name: &'a str) -> Self {
        Self { watched, name, digests: RefCell::default(), failed: RefCell::default() }
    }

    /// Why a registry gave nothing, if one did.
    pub(crate) fn failure(&self) -> Option<ReadFailure> {
        self.failed.borrow().clone()
    }

    /// What a registry answers.
    fn ask<T>(&self, answer: impl Future<Output = Result<T, ReadFailure>>) -> Result<T, HostFailure> {
        self.watched.runtime.block_on(answer).map_err(|failed| {
            self.failed.replace(Some(failed.clone()));
            failure(failed)
        })
    }
}

impl Host for Question<'_> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        if let Some(digest) = self.digests.borrow().get(image) {
            return Ok(digest.clone());
        }
        let reference = reference(image)?;
        let digest = self.ask(self.watched.registries.digest(&reference))?;
        self.digests.borrow_mut().insert(image.to_owned(), digest.clone());
        Ok(digest)
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        let reference = reference(image)?;
        if reference.digest().is_none() {
            // Registries count who reads a manifest, and not who asks for its digest. So one that is known isn't read again.
            return self.manifest(&reference.at(&self.manifest_digest(image)?));
        }
        let known = || self.watched.manifests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(manifest) = known().get(image) {
            return Ok(manifest.clone());
        }
        let read = self.ask(self.watched.registries.manifest(&reference))?;
        // As the policy's host hands it out: the policy proves an index by these bytes.
        let manifest: Manifest = serde_json::from_slice(&read.bytes).map_err(|_| malformed())?;
        let manifest = serde_json::to_vec(&manifest).map(Document).map_err(|_| malformed())?;
        if manifest.0.len() <= KEPT_BYTES {
            let mut known = known();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(image.to_owned(), manifest.clone());
        }
        Ok(manifest)
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        self.watched.get(resource, Some(fields))
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        self.watched.get(resource, None)
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
        let list = self.watched.objects().list_some(&wanted, |object| may_be_about(object, self.name));
        list.map(Document).map_err(HostFailure::Failed)
    }

    fn list_all_resources(&self, _: &str, _: &str) -> Result<Document, HostFailure> {
        Err(not_asked())
    }

    fn artifact(&self, image: &str) -> Result<Document, HostFailure> {
        let reference = reference(image)?;
        let registries = &self.watched.registries;
        let manifest = self.ask(registries.manifest(&reference))?;
        let Artifact { config } = serde_json::from_slice(&manifest.bytes).map_err(|_| malformed())?;
        let config = self.ask(registries.blob(&reference, &config.digest, config.size))?;
        let read: Manifest = serde_json::from_slice(&manifest.bytes).map_err(|_| malformed())?;
        let config: &RawValue = serde_json::from_slice(&config).map_err(|_| malformed())?;
        let answer = ArtifactAnswer { manifest: read, digest: manifest.digest, config };
        serde_json::to_vec(&answer).map(Document).map_err(|_| malformed())
    }

    /// Signatures in layers, which only the policy's host reads, count as none here. At worst an image is scanned twice.
    fn verify(&self, _: &str, _: &Identity, _: &BTreeMap<String, String>) -> Result<String, HostFailure> {
        Err(HostFailure::NotTrusted(Untrusted::Unsigned))
    }

    fn may(&self, _: &AccessReview<'_>) -> Result<bool, HostFailure> {
        Err(not_asked())
    }
}

impl Watched {
    fn objects(&self) -> RwLockReadGuard<'_, ClusterFiles> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads an object that no watch sees.
    fn read(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        let Resource { api_version, kind, namespace, name } = *resource;
        let namespace_of = Some(namespace).filter(|of| !of.is_empty());
        let api = objects(&self.client, &kind_of(api_version, kind), namespace_of);
        let read = self.runtime.block_on(timeout(READ, api.get_opt(name)));
        let why = match read {
            Ok(Ok(Some(object))) => return serde_json::to_vec(&object).map(Document).map_err(|_| malformed()),
            Ok(Ok(None)) => return Err(HostFailure::NotFound("it isn't there".to_owned())),
            Ok(Err(kube::Error::Api(status))) => {
                if status.code == FORBIDDEN {
                    HostFailure::Denied(status.reason)
                } else {
                    HostFailure::Failed(status.reason)
                }
            }
            Ok(Err(_)) | Err(_) => HostFailure::Failed("no answer from the API server".to_owned()),
        };
        let object = format!("{kind} {namespace}/{name}");
        write(
            &line(LogLevel::Warning, "an object can't be read").with("object", &object).with("why", &why.to_string()),
        );
        Err(why)
    }

    fn get(&self, resource: &Resource<'_>, fields: Option<&[&str]>) -> Result<Document, HostFailure> {
        let is_watched =
            |(api_version, kind): &(String, String)| api_version == resource.api_version && kind == resource.kind;
        if !self.kinds.iter().any(is_watched) {
            return self.read(resource);
        }
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

/// Whether an object may be about an image with this last part of its repository: whatever says otherwise isn't, and what doesn't say
/// may be. A Registry is about several repositories.
fn may_be_about(object: &DynamicObject, name: &str) -> bool {
    if object.types.as_ref().is_some_and(|types| types.kind == "Registry") {
        return true;
    }
    let places = ["/report/artifact/repository", "/imageMetadata/repository", "/spec/repositories/0/name"];
    let said = places.iter().find_map(|place| object.data.pointer(place)?.as_str());
    said.is_none_or(|repository| repository.rsplit('/').next() == Some(name))
}

fn reference(image: &str) -> Result<ImageReference, HostFailure> {
    ImageReference::parse(image).map_err(|_| HostFailure::Malformed("it is no image reference".to_owned()))
}

/// The part of an artifact's manifest that says where its document is.
#[derive(Deserialize)]
struct Artifact {
    config: Descriptor,
}

/// An artifact as the policy's host hands it out.
#[derive(Serialize)]
struct ArtifactAnswer<'a> {
    manifest: Manifest,
    digest: String,
    config: &'a RawValue,
}

/// What the settings leave nothing for when they only find reports: rights of users, and lists of all namespaces.
fn not_asked() -> HostFailure {
    HostFailure::Failed("the companion doesn't ask that".to_owned())
}

fn malformed() -> HostFailure {
    HostFailure::Malformed("it is no manifest, or no JSON".to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_engine::{check_settings, known_scan};
    use image_admission_host::WireHost;
    use image_admission_stub_host::{StubHost, digest_of, manifest};
    use serde_json::json;

    const IMAGE: &str = "ghcr.io/team/web:1.0";
    const NOW: &str = "2026-11-28T12:00:00Z";

    fn digest() -> String {
        digest_of(&manifest().to_string())
    }

    fn of_trivy_operator() -> (Value, Value) {
        let report = json!({
            "apiVersion": "aquasecurity.github.io/v1alpha1",
            "kind": "VulnerabilityReport",
            "metadata": {"name": "cronjob-scan-image", "namespace": "image-scans", "managedFields": [{"manager": "trivy-operator"}]},
            "report": {
                "updateTimestamp": NOW,
                "registry": {"server": "ghcr.io"},
                "artifact": {"repository": "team/web", "digest": digest()},
                "summary": {"criticalCount": 1, "highCount": 2, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0},
                "vulnerabilities": [{"vulnerabilityID": "CVE-2026-0001", "severity": "CRITICAL", "resource": "zlib", "installedVersion": "1", "fixedVersion": "2"}],
            },
        });
        (json!({"trivyOperator": {"namespaces": ["image-scans"]}}), report)
    }

    fn of_sbomscanner() -> (Value, Value) {
        let report = json!({
            "apiVersion": "storage.sbomscanner.kubewarden.io/v1alpha1",
            "kind": "VulnerabilityReport",
            "metadata": {"name": "a", "namespace": "sbomscanner"},
            "imageMetadata": {"registry": "r", "registryURI": "ghcr.io", "repository": "team/web", "tag": "1.0", "platform": "linux/amd64", "digest": digest()},
            "report": {
                "summary": {"critical": 1, "high": 0, "medium": 0, "low": 0, "unknown": 0, "suppressed": 0},
                "results": [{"target": "alpine", "class": "os-pkgs", "type": "alpine", "vulnerabilities": [
                    {"cve": "CVE-2026-0001", "severity": "CRITICAL", "packageName": "zlib", "installedVersion": "1", "fixedVersions": ["2"], "suppressed": false},
                ]}],
            },
        });
        (json!({"sbomscanner": {"namespaces": ["sbomscanner"]}}), report)
    }

    /// The state that the engine finds with a report.
    fn state(source: &Value, report: &Value) -> &'static str {
        let settings =
            json!({"registries": ["ghcr.io"], "reports": {"sources": [source], "platforms": ["linux/amd64"]}});
        let host = StubHost::default().pushed(IMAGE, manifest()).object(report.clone());
        let settings = check_settings(&settings).unwrap().only_reports();
        let now = Timestamp::parse(NOW).unwrap();
        known_scan(IMAGE, "shop", &settings, &WireHost(host.wire()), now).unwrap().1.state.name()
    }

    /// Without its findings a report is there all the same, and an unreadable one doesn't become readable.
    #[test]
    fn findings_arent_kept() {
        for (source, report) in [of_trivy_operator(), of_sbomscanner()] {
            let mut object: DynamicObject = serde_json::from_value(report.clone()).unwrap();
            strip(&mut object);
            let stripped = serde_json::to_value(&object).unwrap();
            assert!(!stripped.to_string().contains("CVE-2026-0001") && !stripped.to_string().contains("managedFields"));
            assert_eq!((state(&source, &report), state(&source, &stripped)), ("fresh", "fresh"), "{source}");
            let mut other: DynamicObject = serde_json::from_value(report.clone()).unwrap();
            other.data["report"] = json!({"vulnerabilities": "none", "results": 7});
            strip(&mut other);
            assert_ne!(state(&source, &serde_json::to_value(&other).unwrap()), "fresh", "{source}");
        }
    }

    #[test]
    fn when_a_report_should_be_made_anew() {
        let created = Timestamp::parse(NOW).unwrap();
        for (lifetime, expected) in [
            (Some("24h0m0s"), Some(created.0 + 69_120)),
            (Some("10s"), Some(created.0 + 8)),
            (Some("soon"), None),
            (None, None),
        ] {
            let mut metadata = json!({"name": "a", "creationTimestamp": NOW});
            if let Some(lifetime) = lifetime {
                metadata["annotations"] = json!({LIFETIME: lifetime});
            }
            let object = serde_json::from_value(json!({"metadata": metadata})).unwrap();
            assert_eq!(outlived(&object).map(|time| time.0), expected, "{lifetime:?}");
        }
    }

    /// The names of a tag's reports are made of all Registries of its host.
    #[test]
    fn a_registry_may_be_about_any_image() {
        let mut object = json!({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": "Registry", "metadata": {"name": "team"},
            "spec": {"uri": "ghcr.io", "repositories": [{"name": "team/other"}, {"name": "team/web"}]}});
        let is_listed = |object: &Value| may_be_about(&serde_json::from_value(object.clone()).unwrap(), "web");
        assert!(is_listed(&object));
        object["kind"] = "ScanJob".into();
        assert!(!is_listed(&object), "of another repository");
    }

    #[test]
    fn what_is_there_is_found_and_what_goes_isnt() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _guard = runtime.enter();
        let subject = Subject::new(
            crate::watch::Purpose::Reports,
            "aquasecurity.github.io/v1alpha1",
            "VulnerabilityReport",
            Some("image-scans"),
        );
        let client = Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let registries = Arc::new(RegistryReader::new(Default::default()).unwrap());
        let watched = Watched::new(client, registries, std::slice::from_ref(&subject));
        let mut report = of_trivy_operator().1;
        let names = |watched: &Watched| {
            let question = Question::new(watched, "web");
            let listed = question.list_resources(
                &subject.resource.api_version,
                &subject.resource.kind,
                "image-scans",
                None,
                &[],
            );
            let list: Value = listed.unwrap().read().unwrap();
            let items = list["items"].as_array().unwrap().clone();
            items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        for name in ["one", "two", "three"] {
            report["metadata"]["name"] = name.into();
            report["metadata"]["uid"] = name.into();
            // Twice is once.
            watched.put(serde_json::from_value(report.clone()).unwrap());
            watched.put(serde_json::from_value(report.clone()).unwrap());
        }
        assert_eq!(names(&watched), ["one", "three", "two"]);
        assert_eq!(watched.identities(&subject).len(), 3);
        let gone = watched.take(&subject, |uid| uid == "two");
        assert_eq!(gone.len(), 1);
        watched.remove(&serde_json::from_value(report).unwrap());
        assert_eq!(names(&watched), ["one"]);
        let resource = |name| Resource {
            api_version: "aquasecurity.github.io/v1alpha1",
            kind: "VulnerabilityReport",
            namespace: "image-scans",
            name,
        };
        let question = Question::new(&watched, "other");
        let listed =
            question.list_resources(&subject.resource.api_version, &subject.resource.kind, "image-scans", None, &[]);
        let list: Value = listed.unwrap().read().unwrap();
        assert_eq!(list["items"], json!([]), "of another repository");
        assert!(question.get_resource(&resource("one"), &[]).is_ok());
        assert!(matches!(question.get_resource(&resource("two"), &[]), Err(HostFailure::NotFound(_))));
    }
}
