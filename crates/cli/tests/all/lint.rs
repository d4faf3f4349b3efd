//! `image-admission lint`, as its users see it: each file `lint/*.txt` is a transcript, see `support/transcripts.rs`.

use crate::support::transcripts;
use std::fs;
use std::path::PathBuf;
use transcripts::image_admission;

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    transcripts::check(&folder, |arguments, input| image_admission(&folder, arguments, input));
}

/// What needs no decision is mended in the file, comments stay, and a second time nothing is left to mend.
#[test]
fn files_are_mended_in_place() {
    let tests = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    fs::copy(tests.join("fixable.yaml"), &file).unwrap();
    let fix = || image_admission(folder.path(), &["lint", "--fix", "settings.yaml"], b"");
    let first = fix();
    let mended = "# What the shop may run.
registries: [ghcr.io]
preScanPolicies:
  defaultPolicy: reject
  customPolicies:
    # Ours.
    - prefix: ghcr.io/ # the whole registry
      action: accept
  byNamespace:
    kube-system: {defaultPolicy: accept, customPolicies: []}
exemptions:
  # Until the new release.
  - {vulnerability: CVE-2024-2, images: [\"ghcr.io/\"], reason: not reachable, expires: \"2999-12-31\"}
";
    assert_eq!(fs::read_to_string(&file).unwrap(), mended, "{first:?}");
    let told: Vec<&str> = first.errors.lines().collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    assert!(told.iter().all(|line| line.starts_with("mended: `settings.yaml`: ")), "{told:#?}");
    let second = fix();
    assert_eq!((second.errors.as_str(), second.output, second.code), ("", first.output, first.code));
    assert_eq!(fs::read_to_string(&file).unwrap(), mended);
}

/// What a policy reads of the cluster is granted in its manifest, and what a policy of a namespace can't be granted stays.
#[test]
fn missing_kinds_are_granted_in_the_file() {
    let tests = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    let folder = tempfile::tempdir().unwrap();
    let before = fs::read_to_string(tests.join("grants.yaml")).unwrap();
    let file = folder.path().join("policy.yaml");
    fs::write(&file, &before).unwrap();
    let fix = || image_admission(folder.path(), &["lint", "--fix", "policy.yaml"], b"");
    let first = fix();
    let granted = "  contextAwareResources:
    - {apiVersion: v1, kind: Namespace}
    - {apiVersion: storage.sbomscanner.kubewarden.io/v1alpha1, kind: VulnerabilityReport}
    - {apiVersion: storage.sbomscanner.kubewarden.io/v1alpha1, kind: Image}
    - {apiVersion: sbomscanner.kubewarden.io/v1alpha1, kind: ScanJob}
  # What is admitted.
";
    let after = before.replacen("  # What is admitted.\n", granted, 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), after, "{first:?}");
    let second = fix();
    assert_eq!((second.errors.as_str(), second.output, second.code), ("", first.output, first.code));
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
}

/// YAML would take a comma after the last entry, and whoever reads JSON wouldn't.
#[test]
fn json_stays_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let exemption = |id: u8, year: u16| {
        format!(
            r#"    {{"vulnerability":"CVE-{id}","images":["ghcr.io/a/b:"],"reason":"because","expires":"{year}-01-01"}}"#
        )
    };
    let text = format!(
        "{{\"registries\": [\"ghcr.io\"],\n \"exemptions\": [\n{},\n{}\n ]}}\n",
        exemption(1, 2999),
        exemption(2, 2020)
    );
    fs::write(&file, &text).unwrap();
    let told = image_admission(folder.path(), &["lint", "--fix", "settings.json"], b"");
    let mended: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(mended["exemptions"].as_array().unwrap().len(), 1, "{told:?}");
    assert_eq!(mended["exemptions"][0]["vulnerability"], "CVE-1");
}

/// What would have another meaning is left to its author, and a file in which nothing is certain stays as it is.
#[test]
fn what_needs_a_decision_is_not_mended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    let text = "registries: [ghcr.io]
preScanPolicies:
  defaultPolicy: reject
  customPolicies:
    - {prefix: ghcr.io/, action: accept}
    - {prefix: ghcr.io/evil/, action: reject} # meant to come first
    - {prefix: nginx, action: accept}
    - {prefix: quay.io, action: accept} # not in registries
    - {prefix: docker.io/library/app, action: accept}
  byNamespace:
    kube-system: {defaultPolicy: reject}
    shop: {customPolicies: [{prefix: ghcr.io/, action: reject}]}
";
    fs::write(&file, text).unwrap();
    let outcome = image_admission(folder.path(), &["lint", "--fix", "settings.yaml"], b"");
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), outcome.errors.as_str()), (text, ""));
    assert_eq!(outcome.code, 2);
    for rule in ["[never-matches]", "[short-name]", "[open-prefix]", "[redundant]", "[namespace-without-effect]"] {
        assert!(outcome.output.contains(rule), "{rule}: {}", outcome.output);
    }
}

/// Whoever writes an object may change its labels once it runs.
#[test]
fn objects_that_are_chosen_by_labels() {
    let folder = tempfile::tempdir().unwrap();
    let lint = |spec: &str| {
        let policy = format!(
            "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{name: image-admission}}\nspec:\n  module: m\n{spec}\n  settings: {{}}\n"
        );
        fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        let told = image_admission(folder.path(), &["lint", "policy.yaml"], b"");
        let lines = told.output.lines().filter(|line| line.contains("[by-label]"));
        lines.filter_map(|line| line.split("spec.").nth(1)?.split(": ").next()).map(str::to_owned).collect::<Vec<_>>()
    };
    for (spec, paths) in [
        ("  objectSelector: {matchLabels: {env: prod}}", &["objectSelector"][..]),
        ("  objectSelector: {matchExpressions: [{key: skip, operator: DoesNotExist}]}", &["objectSelector"]),
        ("  objectSelector: {}", &[]),
        ("  objectSelector: {matchLabels: {}, matchExpressions: []}", &[]),
        ("  objectSelector: prod", &[]),
        ("  namespaceSelector: {matchLabels: {env: prod}}", &[]),
        (
            "  matchConditions: [{name: a, expression: \"request.namespace != 'a'\"}, {name: b, expression: \"object.metadata.labels.env == 'b'\"}, {name: c}]",
            &["matchConditions[1].expression"],
        ),
    ] {
        assert_eq!(lint(spec), paths, "{spec}");
    }
}
