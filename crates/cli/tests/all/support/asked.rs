//! What the policy asks of the cluster with some settings, as the engine does.

use super::clock::use_read_clock;
use super::kubewarden::Kind;
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::{Call, StubHost, digest_of};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A call to the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    pub(crate) kind: Kind,
    pub(crate) namespace: Option<String>,
    /// None for a list.
    pub(crate) name: Option<String>,
    pub(crate) is_list: bool,
}

impl Asked {
    fn of(call: &Call) -> Self {
        let field = |key: &str| Some(call.field(key).to_owned()).filter(|text| !text.is_empty());
        let kind = Kind { api_version: field("api_version").unwrap(), kind: field("kind").unwrap() };
        let is_list = call.operation != "get_resource";
        Self { kind, namespace: field("namespace"), name: field("name"), is_list }
    }
}

const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\n\
    awcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\n\
    -----END PUBLIC KEY-----\n";

pub(crate) fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// The index of the only image.
fn index() -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest('2'), "size": 2,
            "platform": {"os": "linux", "architecture": "amd64"}}],
    })
}

pub(crate) fn index_digest() -> String {
    digest_of(&index().to_string())
}

/// A cluster in which everybody signed every image, and no scanner has finished a report.
fn cluster() -> StubHost {
    answering(|call| object(call).filter(|_| call.operation == "get_resource"))
}

/// The same, where a scanner found something in every image that is known for a day.
fn cluster_with_findings() -> StubHost {
    answering(|call| {
        let is_report = call.field("kind") == "VulnerabilityReport";
        let is_list = call.operation != "get_resource";
        if is_report && call.field("api_version").starts_with("aquasecurity") {
            let report = of_trivy_operator(call);
            return Some(if is_list { json!({"items": [report]}) } else { report });
        }
        let mut report =
            object(&Call { payload: json!({"kind": "Image"}), ..call.clone() }).filter(|_| is_report && !is_list)?;
        report["kind"] = json!("VulnerabilityReport");
        report["metadata"] = json!({"name": call.field("name"), "namespace": call.field("namespace")});
        report["report"] = json!({"summary": {"critical": 1, "high": 0, "medium": 0, "low": 0, "unknown": 0},
            "results": [{"target": "t", "vulnerabilities": [{"cve": "CVE-1", "severity": "CRITICAL", "suppressed": false}]}]});
        Some(report)
    })
}

/// The same, where a scanner found nothing in any image.
fn cluster_without_findings() -> StubHost {
    answering(|call| {
        let is_report = call.field("kind") == "VulnerabilityReport";
        let is_list = call.operation != "get_resource";
        if is_report && call.field("api_version").starts_with("aquasecurity") {
            let mut report = of_trivy_operator(call);
            report["report"]["summary"]["criticalCount"] = json!(0);
            report["report"]["vulnerabilities"] = json!([]);
            return Some(if is_list { json!({"items": [report]}) } else { report });
        }
        let mut report =
            object(&Call { payload: json!({"kind": "Image"}), ..call.clone() }).filter(|_| is_report && !is_list)?;
        report["kind"] = json!("VulnerabilityReport");
        report["metadata"] = json!({"name": call.field("name"), "namespace": call.field("namespace")});
        report["report"] =
            json!({"summary": {"critical": 0, "high": 0, "medium": 0, "low": 0, "unknown": 0}, "results": []});
        Some(report)
    })
}

fn of_trivy_operator(call: &Call) -> Value {
    json!({
        "apiVersion": call.field("api_version"), "kind": "VulnerabilityReport",
        "metadata": {"name": "found", "namespace": call.field("namespace")},
        "report": {
            "updateTimestamp": "2026-11-01T00:00:00Z", "registry": {"server": "ghcr.io"},
            "artifact": {"repository": "team/app", "tag": "1.0", "digest": index_digest()},
            "summary": {"criticalCount": 1, "highCount": 0, "mediumCount": 0, "lowCount": 0, "unknownCount": 0, "noneCount": 0},
            "vulnerabilities": [{"vulnerabilityID": "CVE-1", "severity": "CRITICAL", "publishedDate": "2026-10-31T00:00:00Z"}],
        },
    })
}

fn answering(object: impl Fn(&Call) -> Option<Value> + Send + Sync + 'static) -> StubHost {
    let digest = json!({"digest": index_digest(), "is_trusted": true}).to_string();
    StubHost::default()
        .says("v1/manifest_digest", digest.as_str())
        .says("v1/oci_manifest", index().to_string())
        .says("v2/verify", digest)
        .answer_with(move |call| object(call).map(Ok))
}

/// The object of a name, where there is one: a key of that name, or an image that the scanner knows without a report, for
/// which it looks for the scan that is under way.
fn object(call: &Call) -> Option<Value> {
    let metadata = json!({"name": call.field("name"), "namespace": call.field("namespace")});
    let data = match call.field("kind") {
        "Secret" => base64::Engine::encode(&base64::prelude::BASE64_STANDARD, KEY),
        "ConfigMap" => KEY.to_owned(),
        "Image" => {
            return Some(json!({
                "apiVersion": call.field("api_version"), "kind": "Image", "metadata": metadata,
                "imageMetadata": {"registry": "team", "registryURI": "ghcr.io", "repository": "team/app", "tag": "1.0",
                    "platform": "linux/amd64", "digest": digest('2'), "indexDigest": index_digest()},
            }));
        }
        _ => return None,
    };
    Some(json!({"apiVersion": "v1", "kind": call.field("kind"), "data": {"cosign.pub": data}, "metadata": metadata}))
}

pub(crate) fn pod(images: &[&str]) -> Value {
    let containers: Vec<Value> =
        images.iter().enumerate().map(|(n, image)| json!({"name": format!("c{n}"), "image": image})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app", "namespace": "shop"},
        "spec": {"containers": containers}})
}

/// The policy's answer to the creation of an object, with what it asked of the cluster for that.
pub(crate) fn answer(object: &Value, settings: &Value) -> (Value, BTreeSet<Asked>) {
    answer_in(&cluster(), object, settings)
}

fn answer_in(host: &StubHost, object: &Value, settings: &Value) -> (Value, BTreeSet<Asked>) {
    use_read_clock();
    let request = json!({
        "uid": "1", "operation": "CREATE", "name": "app", "namespace": "shop",
        "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "someone"}, "object": object,
    });
    let payload = json!({"request": request, "settings": settings}).to_string();
    let now = Timestamp::parse("2026-11-01T00:00:00Z").unwrap();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), now);
    let asked = host.calls().into_iter().filter(|call| call.namespace == "kubernetes").map(|call| Asked::of(&call));
    (serde_json::from_slice(&answer.response).unwrap(), asked.collect())
}

/// The kinds that images by tag and by digest make the policy ask for, in every way of finding a report.
pub(crate) fn asked(settings: &Value) -> BTreeSet<Asked> {
    let by_digest = format!("ghcr.io/team/app@{}", index_digest());
    let mut asked = answer(&pod(&["ghcr.io/team/app:1.0"]), settings).1;
    asked.extend(answer(&pod(&[&by_digest]), settings).1);
    // Only what would reject makes it look for what excuses it, and only findings for what is exploited.
    let acceptance = &settings["acceptance"];
    let looks_on = acceptance["knownExploited"].get("from").is_some() || acceptance.get("running").is_some();
    if settings.get("exemptionsFrom").is_some() || looks_on {
        asked.extend(answer_in(&cluster_with_findings(), &pod(&[&by_digest]), settings).1);
        asked.extend(answer_in(&cluster_with_findings(), &pod(&["ghcr.io/team/app:1.0"]), settings).1);
    }
    // What an image is made of is asked only where its report lets it in.
    if acceptance.get("packages").is_some() || acceptance.get("licenses").is_some() {
        asked.extend(answer_in(&cluster_without_findings(), &pod(&[&by_digest]), settings).1);
        asked.extend(answer_in(&cluster_without_findings(), &pod(&["ghcr.io/team/app:1.0"]), settings).1);
    }
    asked
}
