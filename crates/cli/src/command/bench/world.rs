//! The world that requests are measured in: images of two platforms, with reports as sbomscanner writes them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::envelope::{SIGNERS, Signer};
use image_admission_module_host::answers::field_mask::FieldMask;
use image_admission_module_host::answers::{HostAnswers, HostCall};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const API_VERSION: &str = "storage.sbomscanner.kubewarden.io/v1alpha1";
const NAMESPACE: &str = "sbomscanner";
const REGISTRY: &str = "registry.example.com";
const PLATFORMS: [&str; 2] = ["linux/amd64", "linux/arm64"];

/// What each report has found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Findings {
    /// So many findings of high severity.
    Count(usize),
    /// There is no report.
    NoReport,
}

/// Images with their reports, and others' reports beside them.
#[derive(Debug)]
pub(super) struct World {
    images: usize,
    reports: BTreeMap<String, Value>,
}

impl World {
    /// So many images, each platform with a report under the name that can be computed.
    pub(super) fn new(images: usize, findings: Findings) -> Self {
        let resource = format!("workloadscan-{}", hex(REGISTRY));
        Self { images, reports: reports(images, findings, &resource) }
    }

    /// The same images, whose reports' names can't be computed, in a list of so many others.
    pub(super) fn listed_among(mut self, others: usize) -> Self {
        self.reports = reports(self.images, Findings::Count(40), "somebody-s-registry");
        for number in 0..others {
            let name = hex(&format!("other {number}"));
            self.reports.insert(name.clone(), report(&name, "other/app", &digest(&name), PLATFORMS[0], 40));
        }
        self
    }

    /// The request to create a Pod with all the images, and these settings.
    pub(super) fn payload(&self, settings: &Value) -> Vec<u8> {
        self.payload_of(settings, 0)
    }

    /// The same of a Pod with so many bytes in an annotation.
    pub(super) fn payload_of(&self, settings: &Value, annotated: usize) -> Vec<u8> {
        let images: Vec<String> =
            (0..self.images).map(|number| format!("{REGISTRY}/{}:1.0", repository(number))).collect();
        creation(&images, settings, annotated)
    }

    /// The world's answers. Each is made at the first request for it, and ready from then on.
    pub(super) fn host(&self) -> Arc<dyn HostAnswers> {
        Arc::new(Ready { reports: self.reports.clone(), answers: Mutex::default() })
    }
}

/// The request to create a Pod with these images and so many bytes in an annotation, and settings.
pub(super) fn creation(images: &[String], settings: &Value, annotated: usize) -> Vec<u8> {
    let container = |(number, image)| json!({"name": format!("c{number}"), "image": image});
    let containers: Vec<Value> = images.iter().enumerate().map(container).collect();
    let metadata = match annotated {
        0 => json!({"name": "p", "namespace": "default"}),
        _ => json!({"name": "p", "namespace": "default", "annotations": {"note": "x".repeat(annotated)}}),
    };
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}});
    let request = json!({
        "uid": "bench", "operation": "CREATE", "namespace": "default", "name": "p", "userInfo": {"username": "someone"},
        "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "object": object,
    });
    json!({"request": request, "settings": settings}).to_string().into_bytes()
}

fn repository(number: usize) -> String {
    format!("team/app{number}")
}

/// What is known to be exploited, as `deploy/known-exploited` keeps CISA's catalogue, with so many ids.
fn catalogue(count: usize) -> String {
    let entry = |number: usize| format!("CVE-2024-{number:05} 2026-12-01\n");
    let entries: String = (0..count).map(entry).collect();
    format!("count: {count}\n{entries}")
}

/// An image's index, as OCI's tools write it, so that its digest is proven.
fn index(repository: &str) -> String {
    let entry = |platform: &&str| {
        let (os, architecture) = platform.split_once('/').unwrap_or_default();
        let digest = platform_digest(repository, platform);
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{digest}","size":500,"platform":{{"architecture":"{architecture}","os":"{os}"}}}}"#
        )
    };
    let entries: Vec<String> = PLATFORMS.iter().map(entry).collect();
    format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}}"#,
        entries.join(",")
    )
}

/// The digest of an image's manifest for a platform.
fn platform_digest(repository: &str, platform: &str) -> String {
    digest(&format!("{platform} of {repository}"))
}

/// The digest of a text.
pub(super) fn digest(text: &str) -> String {
    format!("sha256:{}", hex(text))
}

fn hex(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reports(images: usize, findings: Findings, resource: &str) -> BTreeMap<String, Value> {
    let Findings::Count(count) = findings else { return BTreeMap::new() };
    let mut reports = BTreeMap::new();
    for repository in (0..images).map(repository) {
        for platform in PLATFORMS {
            let digest = platform_digest(&repository, platform);
            let name = hex(&format!("{resource}/{REGISTRY}/{repository}:1.0@{digest}"));
            reports.insert(name.clone(), report(&name, &repository, &digest, platform, count));
        }
    }
    reports
}

fn report(name: &str, repository: &str, digest: &str, platform: &str, findings: usize) -> Value {
    let entries: Vec<Value> = (0..findings)
        .map(|number| {
            json!({
                "cve": format!("CVE-2026-{number:05}"), "severity": "HIGH", "packageName": format!("package-{number}"),
                "purl": format!("pkg:apk/alpine/package-{number}@1.0"), "installedVersion": "1.0", "fixedVersions": ["1.1"],
                "cvss": {"nvd": {"v3score": "7.5", "v3vector": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N"}}, "suppressed": false,
                "knownExploited": false, "epssScore": "0.001", "epssPercentile": "0.1",
            })
        })
        .collect();
    json!({
        "apiVersion": API_VERSION, "kind": "VulnerabilityReport", "metadata": {"name": name, "namespace": NAMESPACE},
        "imageMetadata": {"registry": "r", "registryURI": REGISTRY, "repository": repository, "tag": "1.0", "platform": platform, "digest": digest, "indexDigest": self::digest(&index(repository))},
        "report": {
            "summary": {"critical": 0, "high": findings, "medium": 0, "low": 0, "unknown": 0, "suppressed": 0},
            "results": [{"target": "alpine", "class": "os-pkgs", "type": "alpine", "vulnerabilities": entries}],
        },
    })
}

/// Answers by call: the operation and its payload.
type Answers = BTreeMap<(String, Vec<u8>), Result<Vec<u8>, String>>;

struct Ready {
    reports: BTreeMap<String, Value>,
    answers: Mutex<Answers>,
}

impl HostAnswers for Ready {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (call.operation.clone(), call.payload.clone());
        answers.entry(key).or_insert_with(|| self.make(call)).clone()
    }

    fn may_block(&self) -> bool {
        false
    }
}

impl Ready {
    fn make(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let request: Value = serde_json::from_slice(&call.payload).map_err(|error| error.to_string())?;
        let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
        let answer = match call.operation.as_str() {
            "v1/manifest_digest" => {
                let image = request.as_str().unwrap_or_default().trim_end_matches(":1.0");
                json!({"digest": digest(&index(image.split_once('/').map_or(image, |(_, repository)| repository)))})
            }
            // Beside each image stands the envelope about the first one.
            "v1/oci_manifest_config" => {
                let (image, wanted) = request.as_str().and_then(|image| image.split_once('@')).unwrap_or_default();
                let repository = image.split_once('/').map_or(image, |(_, repository)| repository);
                let beside = digest(&index(repository)).replace(':', "-");
                let tag = |signer: &Signer| format!("{repository}:{beside}.{}", signer.name);
                let signer = SIGNERS.iter().find(|signer| digest(&index(&tag(signer))) == wanted);
                json!({"manifest": {}, "digest": wanted, "config": signer.ok_or("manifest unknown")?.envelope()})
            }
            "v1/oci_manifest" => {
                let image = request.as_str().unwrap_or_default();
                let image = image.split_once('@').map_or(image.trim_end_matches(":1.0"), |(image, _)| image);
                return Ok(index(image.split_once('/').map_or(image, |(_, repository)| repository)).into_bytes());
            }
            "v2/verify" => {
                let image = text("image");
                let repository = image
                    .split_once('@')
                    .map_or(image, |(image, _)| image)
                    .split_once('/')
                    .map_or("", |(_, name)| name);
                json!({"is_trusted": true, "digest": digest(&index(repository))})
            }
            "get_resource" if text("kind") == "ConfigMap" => {
                let metadata = json!({"namespace": text("namespace"), "name": text("name")});
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"known-exploited": catalogue(1_400)}})
            }
            "get_resource" => {
                let name = text("name");
                let missing = || {
                    format!(
                        "Callback evaluation failure: Cannot find {API_VERSION}/VulnerabilityReport named '{name}' inside of namespace 'Some(\"{NAMESPACE}\")'"
                    )
                };
                masked(self.reports.get(name).ok_or_else(missing)?, &request)
            }
            _ => json!({"items": self.reports.values().map(|report| masked(report, &request)).collect::<Vec<_>>()}),
        };
        Ok(answer.to_string().into_bytes())
    }
}

/// What the host leaves of an object: its metadata, and the fields that the request names.
fn masked(object: &Value, request: &Value) -> Value {
    let fields = request.get("field_masks").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let mut masked = object.clone();
    FieldMask::new(fields.chain(["apiVersion", "kind", "metadata"])).prune(&mut masked);
    masked
}
