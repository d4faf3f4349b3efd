//! `image-admission exempt`, as its users see it: each file `exempt/*.txt` is a transcript, see `support/transcripts.rs`. What
//! it writes the policy believes.

use crate::support::transcripts;
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_settings::Settings;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::path::PathBuf;
use transcripts::image_admission;

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exempt"));
    transcripts::check(&folder, |arguments, input| image_admission(&folder, arguments, input));
}

const ARGUMENTS: [&str; 8] =
    ["exempt", "CVE-2026-1", "--for", "ghcr.io/shop/web", "--until", "2026-11-30", "--reason", "TICKET-7"];

fn written(more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let outcome = image_admission(folder.path(), &[&ARGUMENTS, more].concat(), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.errors);
    yaml_serde::from_str(&outcome.output).unwrap()
}

/// What the policy answers about the image, with one critical finding in its report.
fn decide(settings: &Value, exemption: Option<Value>) -> Value {
    let digest = format!("sha256:{}", "a".repeat(64));
    let report = json!({
        "apiVersion": "e.io/v1", "kind": "Report",
        "metadata": {"name": "a".repeat(64), "namespace": "scans"},
        "digest": digest, "findings": [{"id": "CVE-2026-1", "severity": "critical"}],
    });
    let host = StubHost::default().image("ghcr.io/shop/web:1.0", &digest).object(report).objects(exemption);
    let mut settings = settings.clone();
    settings["reports"] = json!({"sources": [{"custom": {"apiVersion": "e.io/v1", "kind": "Report", "namespaces": ["scans"],
        "name": "{digestHex}", "fields": {"digest": "digest", "findings": "findings", "id": "id", "severity": "severity"}}}]});
    let pod = json!({"metadata": {"name": "web", "namespace": "shop"},
        "spec": {"containers": [{"name": "web", "image": "ghcr.io/shop/web:1.0"}]}});
    let request = json!({"uid": "1", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": "CREATE",
        "namespace": "shop", "object": pod});
    let payload = json!({"request": request, "settings": settings}).to_string();
    let now = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
    serde_json::from_slice(&validate(payload.as_bytes(), &WireHost(host.wire()), now).response).unwrap()
}

#[test]
fn the_policy_believes_what_is_written() {
    let from = json!({"exemptionsFrom": {"workloadNamespace": true, "maxDuration": "30d", "requireApprovedBy": true}});
    assert_eq!(decide(&from, None)["accepted"], false);
    let mut object = written(&["--approved-by", "alice", "--namespace", "shop"]);
    object["metadata"]["creationTimestamp"] = json!("2026-11-20T08:00:00Z");
    let answer = decide(&from, Some(object));
    assert_eq!(answer["accepted"], true, "{answer:#}");
    let settings = written(&["--settings"]);
    assert!(Settings::read(&settings).is_ok());
    assert_eq!(decide(&settings, None)["accepted"], true);
}
