//! Bad input, through the module: whatever comes in, a clear rejection comes out, and never a trap. And hosts that fail
//! or answer nonsense: the scan failed, and the request is rejected.

use crate::support;
use crate::support::host::{silent, stub};
use image_admission_module_host::answers::HostAnswers;
use image_admission_module_host::runtime::{PolicyModule, RuntimeError};
use image_admission_stub_host::{Call, StubHost};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

static MODULE: LazyLock<PolicyModule> = LazyLock::new(|| PolicyModule::from_file(&support::module_path()).unwrap());

/// A host that must not be asked.
fn nobody() -> Arc<dyn HostAnswers> {
    stub(StubHost::not_to_be_asked())
}

#[track_caller]
fn validate(payload: &[u8], host: Arc<dyn HostAnswers>) -> Value {
    let reply = MODULE.call("validate", payload, host);
    serde_json::from_slice(&reply.response.unwrap_or_else(|error| panic!("no answer: {error}"))).unwrap()
}

/// The payload is rejected, with this message, and nobody is asked.
#[track_caller]
fn rejects(payload: impl AsRef<[u8]>, message: &str) {
    let response = validate(payload.as_ref(), nobody());
    assert_eq!(response["accepted"], false, "{response}");
    assert_eq!(response["message"], message);
    assert_eq!(response["audit_annotations"]["verdict"], "rejected");
}

/// A request to create a Pod, with one container that has this image.
fn pod(image: Value) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}});
    json!({"request": {"kind": {"kind": "Pod"}, "operation": "CREATE", "namespace": "ns", "object": object}, "settings": {}})
}

fn bytes(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

#[test]
fn payloads_that_are_no_request() {
    rejects("", "the AdmissionRequest can't be read: EOF while parsing a value at line 1 column 0");
    rejects("hello", "the AdmissionRequest can't be read: expected value at line 1 column 1");
    rejects([0xff, 0xfe], "the AdmissionRequest can't be read: it is not UTF-8, from byte 0 on");
    rejects(
        "[]",
        "the AdmissionRequest can't be read: invalid length 0, expected an object with a request and settings at line 1 column 2",
    );
    rejects("{}", "AdmissionRequest is missing in input");
    rejects(r#"{"request": null}"#, "AdmissionRequest is missing in input");
    rejects(
        r#"{"request": 7, "settings": {}}"#,
        "the AdmissionRequest can't be read: invalid type: integer `7`, expected an AdmissionRequest at line 1 column 1",
    );
}

#[test]
fn requests_without_a_readable_object() {
    let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
    for object in [json!({"kind": kind}), json!({"kind": kind, "object": null})] {
        rejects(bytes(&json!({"request": object})), "the AdmissionRequest has no object");
    }
    for (object, message) in [
        (json!("x"), "the AdmissionRequest's object can't be read: it is not a JSON object"),
        (json!([]), "the AdmissionRequest's object can't be read: it is not a JSON object"),
        (json!({}), "the object's `/spec` is not an object"),
        (json!({"spec": null}), "the object's `/spec` is not an object"),
        (json!({"spec": []}), "the object's `/spec` is not an object"),
        (json!({"spec": {"containers": "nginx"}}), "the object's `/spec/containers` is not a list"),
        (json!({"spec": {"containers": {"0": {}}}}), "the object's `/spec/containers` is not a list"),
        (json!({"spec": {"containers": [null]}}), "the object's `/spec/containers/0` is not an object"),
        (json!({"spec": {"volumes": [{"image": "x"}]}}), "the object's `/spec/volumes/0/image` is not an object"),
    ] {
        rejects(bytes(&json!({"request": {"kind": kind, "object": object}})), message);
    }
}

#[test]
fn a_request_without_a_kind_is_decided_by_its_object() {
    let object = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "n"}]}});
    let settings = json!({"preScanPolicies": {"defaultPolicy": "reject"}});
    rejects(
        bytes(&json!({"request": {"object": object}, "settings": settings})),
        "Pre-scan rejected. Reasons: Image 'n' REJECTED. Global default policy",
    );
}

#[test]
fn a_request_that_says_no_kind_is_rejected() {
    let message = "the AdmissionRequest doesn't say what kind of object it is about";
    rejects(bytes(&json!({"request": {}})), message);
    rejects(bytes(&json!({"request": {"object": {"kind": "Pod", "spec": {"containers": []}}}})), message);
    rejects(bytes(&json!({"request": {"kind": {"group": "apps"}, "object": null}})), message);
}

#[test]
fn images_that_are_none() {
    let not = |image: &str, why: &str| format!("Image '{image}' for container 'c' is not an image reference: {why}");
    rejects(bytes(&pod(Value::Null)), &not("", "it is missing"));
    rejects(bytes(&pod(json!(""))), &not("", "it is empty"));
    rejects(bytes(&pod(json!({"a": [1]}))), &not(r#"{"a":[1]}"#, "it is not a string"));
    rejects(bytes(&pod(json!("Nginx"))), &not("Nginx", "the repository `Nginx` must be in lower case"));
    rejects(bytes(&pod(json!("nginx:\u{e9}\u{1f980}"))), &not("nginx:é🦀", "`é🦀` is not a tag"));
    rejects(bytes(&pod(json!("a\u{0}b"))), &not("a\\u{0}b", "`a\\u{0}b` is not a repository name"));
    rejects(
        bytes(&pod(json!("nginx@sha256:12"))),
        &not("nginx@sha256:12", "`sha256:12` is not a digest like `sha256:` and 64 hexadecimal digits"),
    );
    let long = "a".repeat(5000);
    let shown = format!("{}…", "a".repeat(255));
    rejects(bytes(&pod(json!(long))), &not(&shown, "a name of 5000 characters is too long, 255 is the most"));
    let crabs = "🦀".repeat(5000);
    let shown = format!("{}…", "🦀".repeat(255));
    rejects(bytes(&pod(json!(crabs))), &not(&shown, "a name of 20000 characters is too long, 255 is the most"));
}

#[test]
fn half_a_character_is_no_request() {
    let payload =
        r#"{"request":{"kind":{"kind":"Pod"},"object":{"spec":{"containers":[{"name":"c","image":"a\ud800"}]}}}}"#;
    let response = validate(payload.as_bytes(), nobody());
    assert_eq!(response["accepted"], false);
    assert!(
        response["message"].as_str().unwrap().starts_with("the AdmissionRequest's object can't be read: "),
        "{response}"
    );
}

#[test]
fn a_thousand_containers_are_rejected_before_any_call() {
    let containers: Vec<_> =
        (0..1000).map(|i| json!({"name": format!("c{i}"), "image": format!("r.io/a{i}:1")})).collect();
    let mut payload = pod(json!("x"));
    payload["request"]["object"]["spec"]["containers"] = containers.into();
    rejects(bytes(&payload), "the workload names 1000 different images, the setting `maxImages` allows 50");
    for container in payload["request"]["object"]["spec"]["containers"].as_array_mut().unwrap() {
        container["image"] = json!("not an image");
    }
    let message = validate(&bytes(&payload), nobody())["message"].as_str().unwrap().to_owned();
    assert_eq!(message.lines().count(), 21);
    assert!(message.ends_with("\nand 980 more"), "{message}");
}

#[test]
fn ten_thousand_levels_are_a_rejection() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for payload in [
        deep.clone(),
        format!(r#"{{"request": {deep}}}"#),
        format!(r#"{{"request": {{"kind": {{"kind": "Pod"}}, "object": {{"spec": {deep}}}}}}}"#),
        format!(
            r#"{{"request": {{"kind": {{"kind": "Pod"}}, "object": {{"spec": {{}}}}}}, "settings": {{"pin": {deep}}}}}"#
        ),
    ] {
        let response = validate(payload.as_bytes(), nobody());
        assert_eq!(response["accepted"], false);
        assert!(!response["message"].as_str().unwrap().is_empty());
    }
    let reply = MODULE.call("validate_settings", deep.as_bytes(), nobody()).response.unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&reply).unwrap()["valid"], false);
}

#[test]
fn settings_that_cannot_be_used_reject_every_request() {
    let mut payload = pod(json!("nginx"));
    payload["settings"] = json!({"preScanPolicies": {"defaultPolicy": "maybe"}, "pins": {}});
    rejects(
        bytes(&payload),
        "the policy's settings are not valid:\npins: unknown setting `pins`; did you mean `pin`?\n\
         preScanPolicies.defaultPolicy: Invalid value for defaultPolicy - 'maybe'; use accept, reject or scan",
    );
}

#[test]
fn settings_of_every_wrong_type_are_reported() {
    for (settings, message) in [
        ("", "settings: they can't be read: EOF while parsing a value at line 1 column 0"),
        ("hello", "settings: they can't be read: expected value at line 1 column 1"),
        ("[]", "settings: expected an object, but found a list"),
        ("7", "settings: expected an object, but found `7`"),
        (
            r#"{"pin": 7, "maxImages": "x"}"#,
            "maxImages: expected a whole number from 0, but found the string `x`\npin: expected an object, but found `7`",
        ),
    ] {
        let reply = MODULE.call("validate_settings", settings.as_bytes(), nobody()).response.unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&reply).unwrap(), json!({"valid": false, "message": message}));
    }
    for settings in ["{}", "null"] {
        let reply = MODULE.call("validate_settings", settings.as_bytes(), nobody()).response.unwrap();
        assert_eq!(reply, br#"{"valid":true,"message":null}"#);
    }
}

/// What a registry would answer for the digest.
const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A registry with the image, and a cluster without a report of it.
fn host() -> StubHost {
    StubHost::default().image("r.io/app:1", DIGEST)
}

/// A registry where the image is an index with these entries.
fn with_index(entries: &[Value]) -> StubHost {
    StubHost::default().pushed("r.io/app:1", json!({"schemaVersion": 2, "manifests": entries}))
}

/// sbomscanner's report of the image, under the name that is asked for: it has a critical finding.
fn bad_report(call: &Call) -> Value {
    json!({
        "metadata": {"name": call.field("name"), "namespace": call.field("namespace")},
        "imageMetadata": {"registryURI": "r.io", "repository": "app", "platform": "linux/amd64", "digest": DIGEST},
        "report": {"summary": {"critical": 1, "high": 0, "medium": 0, "low": 0, "unknown": 0}},
    })
}

#[test]
fn hosts_that_fail_or_answer_nonsense_are_a_failed_scan() {
    let nested = r#"{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}"#;
    let hosts = [
        host().fails("", ""),
        host().fails(
            "",
            "Callback evaluation failure: everything is on fire\n\nCaused by:\n    a fire\n\nStack backtrace:",
        ),
        host().says("", ""),
        host().says("", [0xff; 64]),
        host().says("", "null"),
        host().says("v1/manifest_digest", r#"{"digest":"latest"}"#),
        host().says("v1/manifest_digest", r#"{"digest":["sha256:"]}"#),
        host().says("v1/oci_manifest", "{}"),
        host().says("v1/oci_manifest", r#"{"manifests":[]}"#),
        host().says("v1/oci_manifest", r#"{"manifests":[],"layers":[]}"#),
        host().says(
            "v1/oci_manifest",
            r#"{"manifests":[{"digest":"x","platform":{"os":"linux","architecture":"amd64"}}]}"#,
        ),
        host().says("v1/oci_manifest", nested),
        host().says(
            "v1/oci_manifest",
            r#"{"manifests":[{"digest":"x","platform":{"os":"unknown","architecture":"unknown"}}]}"#,
        ),
        host().says("get_resource", "[]"),
        host().fails(
            "get_resource",
            "Callback evaluation failure: Cannot find resource storage.sbomscanner.kubewarden.io/v1alpha1/VulnerabilityReport",
        ),
        host().fails(
            "get_resource",
            "Policy has not been granted access to Kubernetes x/VulnerabilityReport resources. The violation has been reported.",
        ),
        host().says("list_resources_by_namespace", r#"{"items":5}"#),
    ];
    for (number, host) in hosts.into_iter().enumerate() {
        let response = validate(&bytes(&pod(json!("r.io/app:1"))), stub(host));
        assert_eq!(response["accepted"], false, "host {number}: {response}");
        assert_eq!(response["audit_annotations"]["container-1.status"], "scan_failed", "host {number}: {response}");
        let message = response["message"].as_str().unwrap();
        assert!(message.starts_with("Image 'r.io/app:1' for container 'c' failed scan policy check: Image 'r.io/app:1' REJECTED. Global default policy - scan failed\n"), "host {number}: {message}");
        assert!(!message.contains("Stack backtrace") && message.lines().count() == 2, "host {number}: {message}");
    }
}

#[test]
fn an_index_of_very_many_platforms_is_a_failed_scan() {
    let entries: Vec<_> = (0..65).map(|i| json!({"digest": format!("sha256:{i:064x}"), "platform": {"os": "linux", "architecture": format!("a{i}")}})).collect();
    let response = validate(&bytes(&pod(json!("r.io/app:1"))), stub(with_index(&entries)));
    let message = response["message"].as_str().unwrap();
    assert!(message.ends_with("its index names 65 platforms, 64 are the most that are judged"), "{message}");
}

/// What is known to be bad stays bad, whatever else can't be known, even where failed scans are accepted.
#[test]
fn a_failure_beside_a_known_bad_platform_does_not_hide_it() {
    let host = with_index(&[
        json!({"mediaType": "application/vnd.oci.image.index.v1+json", "digest": format!("sha256:{:064}", 0), "platform": {"os": "linux", "architecture": "arm64"}}),
        json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": DIGEST, "platform": {"os": "linux", "architecture": "amd64"}}),
    ]);
    // Of the two namespaces that are trusted here one can't be read.
    let host = host.answer_with(|call| match (call.operation.as_str(), call.field("namespace")) {
        ("get_resource", "broken") => Some(Err("timed out".to_owned())),
        ("get_resource", _) => Some(Ok(bad_report(call))),
        _ => None,
    });
    let mut payload = pod(json!("r.io/app:1"));
    payload["settings"] = json!({
        "scanPolicies": {"scanFailed": "accept"},
        "reports": {"sources": [{"sbomscanner": {"namespaces": ["broken", "sbomscanner"]}}]},
    });
    let response = validate(&bytes(&payload), stub(host));
    assert_eq!(response["accepted"], false, "{response}");
    let message = response["message"].as_str().unwrap();
    assert!(message.contains("linux/amd64: 1 critical finding, at most 0 accepted"), "{message}");
}

#[test]
fn a_report_that_cannot_be_read_hides_no_other() {
    let asked = AtomicUsize::new(0);
    let host = host().answer_with(move |call| {
        let is_first = || asked.fetch_add(1, Ordering::Relaxed) == 0;
        (call.operation == "get_resource").then(|| Ok(if is_first() { json!({}) } else { bad_report(call) }))
    });
    let mut payload = pod(json!("r.io/app:1"));
    payload["settings"] = json!({
        "scanPolicies": {"scanFailed": "accept"},
        "reports": {"sources": [{"sbomscanner": {"registryResources": ["ours"]}}]},
    });
    let response = validate(&bytes(&payload), stub(host));
    assert_eq!(response["accepted"], false, "{response}");
    assert!(response["message"].as_str().unwrap().contains("1 critical finding"), "{response}");
}

#[test]
fn platforms_with_endless_names_make_no_endless_message() {
    let entry =
        |letter: &str| json!({"digest": DIGEST, "platform": {"os": letter.repeat(900_000), "architecture": "amd64"}});
    let response = validate(&bytes(&pod(json!("r.io/app:1"))), stub(with_index(&[entry("a"), entry("b")])));
    assert_eq!(response["accepted"], false);
    assert!(response.to_string().len() < 2000, "{} bytes", response.to_string().len());
}

#[test]
fn an_index_of_a_hundred_thousand_entries_is_a_failed_scan() {
    let entry = json!({"digest": DIGEST, "platform": {"os": "unknown", "architecture": "unknown"}}).to_string();
    let index = format!(r#"{{"manifests":[{}]}}"#, vec![entry; 100_000].join(","));
    let response = validate(&bytes(&pod(json!("r.io/app:1"))), stub(host().says("v1/oci_manifest", index)));
    assert_eq!(response["accepted"], false);
    assert!(response["message"].as_str().unwrap().contains("an index of more than 1000 entries"), "{response}");
}

/// A guest can't time a host out. The server's own deadline ends the request, and the setting `registries` keeps
/// strangers' registries from being asked at all.
#[test]
fn a_host_that_hangs_ends_at_the_deadline() {
    let module = PolicyModule::from_file(&support::module_path()).unwrap().with_deadline(Duration::from_millis(300));
    let start = Instant::now();
    let reply = module.call("validate", &bytes(&pod(json!("r.io/app:1"))), silent());
    assert!(matches!(reply.response, Err(RuntimeError::Deadline)));
    assert!(start.elapsed() < Duration::from_secs(10));
    let mut listed = pod(json!("r.io/app:1"));
    listed["settings"] = json!({"registries": ["ghcr.io"]});
    let reply = module.call("validate", &bytes(&listed), silent());
    assert!(
        String::from_utf8(reply.response.unwrap()).unwrap().contains("isn't allowed (settings: `registries: ghcr.io`)")
    );
}
