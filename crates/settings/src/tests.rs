//! Settings as users write them: what they come to, and how every problem is reported.

mod empty_lists;

use super::*;
use image_admission_untrusted::time::WrittenDuration;
use serde_json::json;

#[track_caller]
fn read(settings: Value) -> Settings {
    Settings::read(&settings).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn refuse(settings: Value, problems: &[&str]) {
    let error = Settings::read(&settings).map(|_| ()).unwrap_err();
    assert_eq!(error.0, problems, "{error}");
}

#[test]
fn everything_is_optional_and_the_defaults_are_safe() {
    for nothing in [json!(null), json!({}), json!({"preScanPolicies": null, "reports": {"sources": null}})] {
        let settings = read(nothing);
        assert_eq!(settings.pre_scan.default_policy, PreScanAction::Scan);
        assert_eq!(settings.scan.default_policy, ScanAction::ScanResult);
        assert_eq!(settings.image_matching, ImageMatching::Canonical);
        assert_eq!(settings.max_images, 50);
        assert!(settings.registries.is_empty() && !settings.verbose_log);
        assert_eq!(
            settings.pin,
            Pin {
                enabled: true,
                kinds: vec![image_admission_image::workload::WorkloadKind::Pod],
                annotations: true,
                exclude: Vec::new()
            }
        );
        let namespaces = Namespaces { named: vec!["sbomscanner".to_owned()], of_workload: false };
        let default = SbomScanner { namespaces, registry_resources: Vec::new() };
        assert_eq!(settings.reports.sources, [ReportSource::SbomScanner(default)]);
        assert_eq!(settings.reports.platforms, Platforms::All);
        assert_eq!(settings.acceptance.of("any").max_severity, [(Severity::Critical, Limit::Total(0))]);
    }
}

#[test]
fn sysdig_s_names_are_read() {
    for name in ["policies", "scanPolicies"] {
        let settings = read(
            json!({name: {"autoGenerate": true, "defaultPolicy": "accept", "byNamespace": {"a": {"scanFailed": "accept"}}}}),
        );
        assert_eq!(settings.scan.default_policy, ScanAction::Accept);
        let namespace = settings.scan.by_namespace.of("a").unwrap().1;
        assert_eq!(
            namespace.fallbacks,
            StatusFallbacks { report_pending: None, scan_failed: Some(FailureFallback::Accept) }
        );
        assert_eq!(namespace.custom_policies, None);
    }
    refuse(
        json!({"policies": {}, "scanPolicies": {}}),
        &["policies: `policies` and `scanPolicies` are the same setting; keep one of them"],
    );
    refuse(
        json!({"policies": {"defaultPolicy": "a"}, "scanPolicies": {"defaultPolicy": "b"}}),
        &[
            "policies: `policies` and `scanPolicies` are the same setting; keep one of them",
            "scanPolicies.defaultPolicy: Invalid value for defaultPolicy - 'b'; use accept, reject or scan-result",
            "policies.defaultPolicy: Invalid value for defaultPolicy - 'a'; use accept, reject or scan-result",
        ],
    );
}

#[test]
fn wrong_actions_have_the_originals_words() {
    refuse(
        json!({
            "preScanPolicies": {
                "defaultPolicy": "scan-result",
                "customPolicies": [{"prefix": "a/", "action": "deny"}, {"prefix": "b/"}],
                "byNamespace": {"ns": {"defaultPolicy": "", "customPolicies": [{"prefix": "c/", "action": "Accept"}]}},
            },
            "policies": {
                "defaultPolicy": "scan", "reportPending": "scan-result", "scanFailed": "no",
                "byNamespace": {"ns": {"reportPending": "yes", "scanFailed": "yes"}},
            },
        }),
        &[
            "preScanPolicies.defaultPolicy: Invalid value for defaultPolicy - 'scan-result'; use accept, reject or scan",
            "preScanPolicies.customPolicies[0].action: Invalid value for customPolicy with prefix 'a/' - 'deny'; use accept, reject or scan",
            "preScanPolicies.customPolicies[1].action: Invalid value for customPolicy with prefix 'b/' - '<empty>'; use accept, reject or scan",
            "preScanPolicies.byNamespace.ns.defaultPolicy: Invalid value for defaultPolicy for namespace 'ns' - ''; use accept, reject or scan",
            "preScanPolicies.byNamespace.ns.customPolicies[0].action: Invalid value for namespace 'ns' customPolicy with prefix 'c/' - 'Accept'; use accept, reject or scan",
            "policies.reportPending: Invalid value for reportPending - 'scan-result'; use accept or reject",
            "policies.scanFailed: Invalid value for scanFailed - 'no'; use accept, accept-outages or reject",
            "policies.defaultPolicy: Invalid value for defaultPolicy - 'scan'; use accept, reject or scan-result",
            "policies.byNamespace.ns.reportPending: Invalid value for reportPending for namespace 'ns' - 'yes'; use accept or reject",
            "policies.byNamespace.ns.scanFailed: Invalid value for scanFailed for namespace 'ns' - 'yes'; use accept, accept-outages or reject",
        ],
    );
}

#[test]
fn unknown_keys_name_the_nearest_one() {
    refuse(
        json!({
            "preScanPolicy": {}, "verboselog": true, "colour": "red",
            "preScanPolicies": {"default": "scan", "reportPending": "accept", "byNamespace": {"ns": {"autoGenerate": true}}},
            "scanPolicies": {"customPolicies": [{"prefix": "a.io/", "action": "accept", "reason": "x"}]},
            "pin": {"kind": ["Pod"]},
            "acceptance": {"maxSeverity": {"criticals": {"total": 0}, "high": {"max": 1}}},
            "reports": {"platform": "all", "sources": [{"sbomScanner": {}}]},
        }),
        &[
            "colour: unknown setting `colour`; known here: preScanPolicies, scanPolicies, policies, verboseLog, imageMatching, registries, maxImages, maxHostCalls, reports, acceptance, exemptions, exemptionsFrom, evidence, imageVerification, pin, placeholders, preCustomRules, customRules, regoVersion, regoPolicies, regoLibraries, context, breakGlass, message",
            "preScanPolicy: unknown setting `preScanPolicy`; did you mean `preScanPolicies`?",
            "verboselog: unknown setting `verboselog`; did you mean `verboseLog`?",
            "preScanPolicies.default: unknown setting `default`; known here: autoGenerate, byNamespace, defaultPolicy, customPolicies",
            "preScanPolicies.reportPending: unknown setting `reportPending`; known here: autoGenerate, byNamespace, defaultPolicy, customPolicies",
            "preScanPolicies.byNamespace.ns.autoGenerate: unknown setting `autoGenerate`; known here: defaultPolicy, customPolicies",
            "scanPolicies.customPolicies[0].reason: unknown setting `reason`; known here: prefix, action",
            "pin.kind: unknown setting `kind`; did you mean `kinds`?",
            "reports.platform: unknown setting `platform`; did you mean `platforms`?",
            "reports.sources[0].sbomScanner: unknown setting `sbomScanner`; did you mean `sbomscanner`?",
            "acceptance.maxSeverity.criticals: unknown setting `criticals`; did you mean `critical`?",
            "acceptance.maxSeverity.high.max: unknown setting `max`; known here: total, totalWithoutFixes",
            "acceptance.maxSeverity.high: set one of `total` and `totalWithoutFixes`",
        ],
    );
}

#[test]
fn what_newcomers_write_is_told_how_it_is_written() {
    refuse(
        json!({"settings": {"registries": ["ghcr.io"]}}),
        &["settings: settings stand at the top: take the line `settings:` out, and the indentation of those below it"],
    );
    let attestor = json!({"name": "team", "cosign": {"key": "cosign.pub"}});
    refuse(
        json!({
            "acceptance": {"maxSeverity": {"critical": 0}},
            "reports": {"maxAge": 48, "sources": [
                {"trivy": {}},
                {"registry": {"format": "trivy", "attestors": [attestor]}},
            ]},
            "imageVerification": [
                {"name": "a", "references": ["ghcr.io/*"], "matchConstraints": {"references": ["ghcr.io/*"]},
                    "attestors": [attestor], "verifications": [{"expression": "true"}]},
            ],
        }),
        &[
            "reports.maxAge: `48` has no unit; write a duration like `48h`",
            "reports.sources[0].trivy: `trivy` is written `trivyOperator` here",
            "reports.sources[1].registry.format: unknown setting `format`; known here: tagSuffix, artifactType, repository, attestors, allowUnsigned, platform",
            "reports.sources[1].registry.attestors[0].cosign.key: expected an object like `{data: …}` with the public key's text, or `{secretRef: {namespace: …, name: …}}`, but found the string `cosign.pub`",
            "acceptance.maxSeverity.critical: expected an object like `{total: 0}`, but found `0`",
            "imageVerification[0].references: `references` is written `matchConstraints: {imageRules: {references: […]}}` here",
            "imageVerification[0].matchConstraints.references: `references` is written `imageRules: {references: […]}` here",
            "imageVerification[0].attestors[0].cosign.key: expected an object like `{data: …}` with the public key's text, or `{secretRef: {namespace: …, name: …}}`, but found the string `cosign.pub`",
        ],
    );
}

#[test]
fn every_wrong_type_is_reported_with_its_path() {
    refuse(json!([]), &["settings: expected an object, but found a list"]);
    refuse(json!("x"), &["settings: expected an object, but found the string `x`"]);
    refuse(
        json!({
            "preScanPolicies": "scan", "policies": {"customPolicies": {}, "byNamespace": []}, "verboseLog": "yes",
            "imageMatching": 1, "registries": "ghcr.io", "maxImages": -1, "reports": [], "acceptance": 7, "pin": true,
        }),
        &[
            "imageMatching: expected a string, but found `1`",
            "maxImages: expected a whole number from 0, but found `-1`",
            "preScanPolicies: expected an object, but found the string `scan`",
            "policies.customPolicies: expected a list, but found an object",
            "policies.byNamespace: expected an object, but found a list",
            "registries: expected a list, but found the string `ghcr.io`",
            "verboseLog: expected true or false, but found the string `yes`",
            "pin: expected an object, but found `true`",
            "reports: expected an object, but found a list",
            "acceptance: expected an object, but found `7`",
        ],
    );
    refuse(
        json!({
            "preScanPolicies": {"autoGenerate": "true", "defaultPolicy": 1, "customPolicies": ["a", {"prefix": 1, "action": 2}, {}],
                                "byNamespace": {"ns": 5}},
            "registries": [1, "a b", "ghcr.io/team"],
            "reports": {"platforms": 5, "scanOnDemand": "yes", "sources": ["sbomscanner", {}, {"sbomscanner": {"namespaces": "x", "workloadNamespace": 1, "registryResources": [1]}}]},
            "acceptance": {"maxSeverity": {"low": {"total": "0"}, "high": 1}},
            "pin": {"enabled": 1, "kinds": ["Pods", 1, "v1/Pod", "ConfigMap"], "annotations": null},
        }),
        &[
            "preScanPolicies.autoGenerate: expected true or false, but found the string `true`",
            "preScanPolicies.defaultPolicy: expected a string, but found `1`",
            "preScanPolicies.customPolicies[0]: expected an object with `prefix` and `action`, but found the string `a`",
            "preScanPolicies.customPolicies[1].prefix: expected a string, but found `1`",
            "preScanPolicies.customPolicies[1].action: expected a string, but found `2`",
            "preScanPolicies.customPolicies[2]: `prefix` is missing: how the images' names start, like `ghcr.io/team/`",
            "preScanPolicies.customPolicies[2].action: Invalid value for customPolicy with prefix '' - '<empty>'; use accept, reject or scan",
            "preScanPolicies.byNamespace.ns: expected an object, but found `5`",
            "registries[0]: expected a host like `ghcr.io`, or an object with `registry` and `mirror`, but found `1`",
            "registries[1]: `a b` is not a registry host; use a host like `ghcr.io` or `registry.example.com:5000`",
            "registries[2]: `ghcr.io/team` is not a registry host; use a host like `ghcr.io` or `registry.example.com:5000`",
            "pin.kinds[1]: expected a string, but found `1`",
            "pin.kinds[0]: `Pods` is not a workload; did you mean `Pod`?",
            "pin.kinds[2]: `v1/Pod` is not a workload; did you mean `Pod`?",
            "pin.kinds[3]: `ConfigMap` is not a workload; use Pod, ReplicationController, Deployment, StatefulSet, DaemonSet, Job, CronJob",
            "pin.enabled: expected true or false, but found `1`",
            "reports.scanOnDemand: expected true or false, but found the string `yes`",
            "reports.platforms: expected `all`, or a list like `[linux/amd64]`, but found `5`",
            "reports.sources[0]: expected an object like `{sbomscanner: {}}`, but found the string `sbomscanner`",
            "reports.sources[1]: no source is named; use `{sbomscanner: {}}`",
            "reports.sources[2].sbomscanner.workloadNamespace: expected true or false, but found `1`",
            "reports.sources[2].sbomscanner.namespaces: expected a list, but found the string `x`",
            "reports.sources[2].sbomscanner.namespaces: no namespace is trusted, so that no report would ever count; name one",
            "reports.sources[2].sbomscanner.registryResources[0]: expected a string, but found `1`",
            "acceptance.maxSeverity.high: expected an object like `{total: 0}`, but found `1`",
            "acceptance.maxSeverity.low.total: expected a whole number from 0, but found the string `0`",
        ],
    );
}

#[test]
fn written_out_defaults_ask_for_nothing() {
    let settings = read(json!({
        "preCustomRules": "", "customRules": " \n", "regoVersion": "v0", "exemptions": [], "imageVerification": [],
        "regoPolicies": [], "regoLibraries": [], "context": [], "reports": {"maxAge": ""},
        "acceptance": {"denyAlways": [], "allowAlways": [], "ignoreVexStatus": false, "fixGracePeriod": "", "count": "unique", "byNamespace": {}},
    }));
    assert!(settings.rego.is_empty());
}

#[test]
fn policies_in_rego_are_read() {
    let settings = read(json!({
        "regoVersion": "v1", "preCustomRules": "a", "customRules": "b",
        "regoPolicies": [
            {"name": "one", "kinds": ["Pod", "apps/Deployment, Workload"], "rego": "package one", "parameters": {"a": 1}, "regoVersion": "v0"},
            {"name": "two", "kinds": "*", "rego": "package two"},
        ],
        "regoLibraries": [{"name": "lib", "rego": "package lib"}],
        "context": [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}, {"apiVersion": "v1", "kind": "Fish", "plural": "fish"}],
    }));
    let [one, two] = settings.rego.policies.as_slice() else { panic!("{:?}", settings.rego.policies) };
    assert_eq!((one.name.as_str(), one.rego.as_str(), one.version), ("one", "package one", RegoVersion::V0));
    let kinds: Vec<String> = one.kinds.iter().map(ToString::to_string).collect();
    assert_eq!(kinds, ["Pod", "apps/Deployment", "Workload"]);
    assert_eq!(one.parameters, Some(json!({"a": 1})));
    assert_eq!(
        (two.kinds.as_slice(), two.parameters.as_ref(), two.version),
        ([KindPattern::Any].as_slice(), None, RegoVersion::V1)
    );
    assert_eq!(settings.rego.libraries[0].version, RegoVersion::V1);
    let plurals: Vec<&str> = settings.rego.context.iter().map(|kind| kind.plural.as_str()).collect();
    assert_eq!(plurals, ["ingresses", "fish"]);
    assert_eq!((settings.rego.pre_custom_rules.as_str(), settings.rego.custom_rules.as_str()), ("a", "b"));
}

#[test]
fn a_conftest_config_map_is_policies_and_libraries() {
    let data = json!({
        "conftest.imageRef": "openpolicyagent/conftest:v0.30.0", "conftest.resources.requests.cpu": 50,
        "conftest.policy.latest.rego": "package latest", "conftest.policy.latest.kinds": "Workload",
        "conftest.policy.labels.rego": "package labels", "conftest.policy.labels.kinds": "Service,ConfigMap",
        "conftest.library.kubernetes.rego": "package lib.kubernetes",
    });
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data});
    for settings in [
        json!({"regoPolicies": config_map}),
        json!({"regoPolicies": [config_map]}),
        json!({"regoPolicies": data}),
        json!({"regoPolicies": [data]}),
        data.clone(),
    ] {
        let rego = read(settings.clone()).rego;
        let policies: Vec<(&str, usize)> = rego.policies.iter().map(|p| (p.name.as_str(), p.kinds.len())).collect();
        assert_eq!(policies, [("labels", 2), ("latest", 1)], "{settings}");
        assert_eq!(rego.libraries.len(), 1, "{settings}");
    }
    refuse(
        json!({"regoPolicies": {
            "conftest.policy.a.rego": "package a", "conftest.policy.b.kinds": "Pod", "conftest.policy.c.rego": 1,
            "conftest.policy.c.kinds": "Pod", "conftest.policy.d.yaml": "x", "other": "y",
        }}),
        &[
            "regoPolicies.other: unknown setting `other`; a Conftest ConfigMap's keys start with `conftest.`",
            "regoPolicies.conftest.policy.a.rego: kinds not defined for policy: a; name them in `conftest.policy.a.kinds`",
            "regoPolicies.conftest.policy.c.rego: expected the text of a module, but found `1`",
            "regoPolicies.conftest.policy.d.yaml: unknown key `conftest.policy.d.yaml`; it ends with `.rego` or `.kinds`",
            "regoPolicies.conftest.policy.b.kinds: expected policy not found: b",
        ],
    );
    refuse(
        json!({"regoPolicies": {"kind": "Secret", "data": {}, "stringData": {}}}),
        &[
            "regoPolicies.stringData: unknown setting `stringData`; known here: apiVersion, kind, metadata, immutable, data",
            "regoPolicies.kind: expected `ConfigMap`, or a list of policies, but found the string `Secret`",
        ],
    );
}

#[test]
fn what_nothing_can_be_called_is_no_kind() {
    const HELP: &str = "write it like `Pod`, `apps/Deployment`, `Workload` or `*`";
    for (kind, help) in [
        ("[\"Pod\"]", HELP),
        ("\"Pod\"", HELP),
        ("Pod;Job", HELP),
        ("pods", "did you mean `Pod`?"),
        ("apps/deployments", "did you mean `apps/Deployment`?"),
        ("apps_v1/Deployment", "did you mean `apps/Deployment`?"),
        ("1Pod", HELP),
        ("Pöd", HELP),
    ] {
        let problem = format!("regoPolicies.conftest.policy.x.rego: `{kind}` is no kind; {help}");
        refuse(
            json!({"regoPolicies": {"conftest.policy.x.rego": "package x", "conftest.policy.x.kinds": kind}}),
            &[&problem],
        );
    }
    refuse(json!({"context": [{"apiVersion": "v1", "kind": ""}]}), &["context[0]: `kind` is missing"]);
}

#[test]
fn a_key_that_stands_twice_in_a_text_is_refused() {
    refuse(
        json!({"policy.json": "{\"preScanPolicies\": {\"defaultPolicy\": \"reject\", \"defaultPolicy\": \"accept\"}, \"exemptions\": [{\"id\": 1, \"id\": 2}], \"exemptions\": []}"}),
        &[
            "policy.json.preScanPolicies.defaultPolicy: it stands twice in the text; keep one of them",
            "policy.json.exemptions[0].id: it stands twice in the text; keep one of them",
            "policy.json.exemptions: it stands twice in the text; keep one of them",
            "exemptions[0].id: unknown setting `id`; known here: vulnerability, vulnerabilities, images, namespaces, packages, reason, expires, expireOnFix",
            "exemptions[0]: set `vulnerability` or `vulnerabilities`: an id, or a pattern like `CVE-2024-*`",
            "exemptions[0].reason: say why the findings don't count; people will read it",
            "exemptions[0].expires: every exemption ends: set its last day, like `2027-01-31`",
        ],
    );
    let read = read(json!({"kind": "ConfigMap", "immutable": true, "data": {"policy.json": "{\"maxImages\": 7}"}}));
    assert_eq!(read.max_images, 7);
}

#[test]
fn what_is_no_policy_is_refused() {
    refuse(
        json!({
            "regoVersion": "v2", "preCustomRules": 1,
            "regoPolicies": [
                {}, 5, {"name": "a", "kinds": [], "rego": "x"}, {"name": "b", "kinds": ["P d", 1], "rego": "x", "regoVersion": "2"},
                {"name": "c", "kinds": {}, "rego": "x", "kind": "Pod"}, {"name": "d", "kinds": "*", "rego": "x"}, {"name": "d", "kinds": "*", "rego": "y"},
            ],
            "regoLibraries": [{}, 1], "context": [{}, 1, {"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": "metrics.k8s.io/v1", "kind": "Pod"}],
        }),
        &[
            "regoVersion: `v2` is not a choice here; use v0 or v1",
            "preCustomRules: expected a string, but found `1`",
            "regoPolicies[0]: `name` is missing: messages call it by its name",
            "regoPolicies[0]: `rego` is missing: the text of the module",
            "regoPolicies[0].kinds: kinds not defined for policy: ; name them like `Pod`, `apps/Deployment`, `Workload` or `*`",
            "regoPolicies[1]: expected an object with `name`, `kinds` and `rego`, but found `5`",
            "regoPolicies[2].kinds: kinds not defined for policy: a; name them like `Pod`, `apps/Deployment`, `Workload` or `*`",
            "regoPolicies[3].regoVersion: `2` is not a choice here; use v0 or v1",
            "regoPolicies[3].kinds[0]: `P d` is no kind; write it like `Pod`, `apps/Deployment`, `Workload` or `*`",
            "regoPolicies[3].kinds[1]: expected a kind, but found `1`",
            "regoPolicies[4].kind: unknown setting `kind`; did you mean `kinds`?",
            "regoPolicies[4].kinds: expected a list of kinds, but found an object",
            "regoLibraries[0]: `name` is missing: messages call it by its name",
            "regoLibraries[0]: `rego` is missing: the text of the module",
            "regoLibraries[1]: expected an object with `name` and `rego`, but found `1`",
            "context[0]: `apiVersion` is missing",
            "context[0]: `kind` is missing",
            "context[1]: expected an object with `apiVersion` and `kind`, but found `1`",
            "context[3]: `Pod` of v1 is `data.kubernetes.pods` already; give one of them another `plural`",
            "regoPolicies: two policies are named `d`; messages could not tell them apart",
        ],
    );
}

const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUYmFkYmFkYmFkYmFkYmFkYmFkYmFkYmFkMAoGCCqGSM49\n-----END CERTIFICATE-----";
const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyQ==\n-----END PUBLIC KEY-----\n";

#[test]
fn every_source_of_reports_is_read() {
    let settings = read(json!({"reports": {"maxAge": "72h", "scanOnDemand": true, "sources": [
        {"sbomscanner": {"namespaces": ["a", "b"], "workloadNamespace": true, "registryResources": ["hub"]}},
        {"trivyOperator": null},
        {"trivyOperator": {"namespaces": ["x"], "workloadNamespace": false, "platform": "linux/arm64", "identity": "tag"}},
        {"registry": {"attestors": [
            {"name": "ci", "cosign": {"key": {"data": KEY}}},
            {"name": "bot", "cosign": {"keyless": {"identities": [{"issuer": "https://i", "subject": "s"}, {"issuer": "https://i", "subjectPrefix": "https://github.com/team/"}]}}},
            {"name": "gh", "cosign": {"keyless": {"githubActions": {"owner": "team", "repository": "app"}}}},
        ]}},
        {"registry": {"artifactType": "application/vnd.x+json", "allowUnsigned": true, "platform": "linux/amd64"}},
        {"kubescape": {}},
        {"custom": {"apiVersion": "g/v1", "kind": "Report", "namespaces": ["r"], "name": "sha256.{digestHex}",
                    "fields": {"digest": "spec.digest", "findings": "spec.items", "id": "name", "severity": "severity"}}},
    ]}}));
    assert_eq!(settings.reports.max_age.map(|age| age.to_string()).as_deref(), Some("72h"));
    assert!(settings.reports.scan_on_demand);
    let names: Vec<_> = settings.reports.sources.iter().map(ReportSource::name).collect();
    assert_eq!(names, ["sbomscanner", "trivyOperator", "trivyOperator", "registry", "registry", "kubescape", "custom"]);
    let [
        _,
        ReportSource::TrivyOperator(default),
        ReportSource::TrivyOperator(operator),
        ReportSource::Registry(signed),
        ReportSource::Registry(unsigned),
        ReportSource::Kubescape(kubescape),
        ReportSource::Custom(custom),
    ] = settings.reports.sources.as_slice()
    else {
        panic!("other sources");
    };
    assert_eq!(default.namespaces, Namespaces { named: Vec::new(), of_workload: true });
    assert_eq!((default.platform.to_string().as_str(), default.identity), ("linux/amd64", ReportIdentity::Digest));
    assert_eq!((operator.platform.to_string().as_str(), operator.identity), ("linux/arm64", ReportIdentity::Tag));
    assert_eq!(signed.attached.artifact, Artifact::Tag("scan".to_owned()));
    let identities: Vec<_> =
        signed.attached.attestors.iter().map(|attestor| (attestor.name.as_str(), &attestor.identity)).collect();
    let text = str::to_owned;
    assert_eq!(
        identities,
        [
            ("ci", &Identity::Key(text(KEY))),
            ("bot", &Identity::Keyless { issuer: text("https://i"), subject: text("s") }),
            (
                "bot",
                &Identity::KeylessPrefix {
                    issuer: text("https://i"),
                    subject_prefix: text("https://github.com/team/")
                }
            ),
            ("gh", &Identity::GithubActions { owner: text("team"), repository: Some(text("app")) }),
        ]
    );
    let unsigned = &unsigned.attached;
    assert_eq!((&unsigned.artifact, unsigned.allow_unsigned), (&Artifact::Type(text("application/vnd.x+json")), true));
    assert_eq!(kubescape.namespace, "kubescape");
    assert_eq!(custom.lookup, CustomLookup::Name(text("sha256.{digestHex}")));
}

#[test]
fn sources_that_could_not_work_are_refused() {
    let registry = |more: Value| json!({"reports": {"sources": [{"registry": more}]}});
    let attestor = |cosign: Value| registry(json!({"attestors": [{"name": "ci", "cosign": cosign}]}));
    let at = "reports.sources[0].registry";
    let cosign = "reports.sources[0].registry.attestors[0].cosign";
    for (settings, problem) in [
        (registry(json!({})), format!("{at}.attestors: anybody who can push to the repository could write a report: name who must have signed it, or set `allowUnsigned: true`")),
        (registry(json!({"attestors": []})), format!("{at}.attestors: anybody who can push to the repository could write a report: name who must have signed it, or set `allowUnsigned: true`")),
        (registry(json!({"allowUnsigned": true, "tagSuffix": "a b"})), format!("{at}.tagSuffix: `a b` can't be the end of a tag")),
        (registry(json!({"allowUnsigned": true, "tagSuffix": "a", "artifactType": "b"})), format!("{at}.artifactType: `tagSuffix` and `artifactType` are two ways; keep one of them")),
        (registry(json!({"allowUnsigned": true, "repository": "reports/{repository}"})), format!("{at}.repository: `reports/{{repository}}` doesn't begin with a registry; write it whole, like `registry.example.com/reports/{{repository}}`")),
        (registry(json!({"allowUnsigned": true, "repository": "registry.example.com"})), format!("{at}.repository: `registry.example.com` doesn't begin with a registry; write it whole, like `registry.example.com/reports/{{repository}}`")),
        (registry(json!({"allowUnsigned": true, "repository": "https://registry.example.com/reports"})), format!("{at}.repository: `https://registry.example.com/reports` is no repository: `https:` is not a registry host")),
        (registry(json!({"allowUnsigned": true, "repository": "{registry}:443/reports/{repository}"})), format!("{at}.repository: `{{registry}}:443/reports/{{repository}}` would let whoever names an image choose the registry that is asked; write the registry, and `{{registry}}` in the path if at all")),
        (registry(json!({"allowUnsigned": true, "repository": "{registry}/reports"})), format!("{at}.repository: `{{registry}}/reports` would let whoever names an image choose the registry that is asked; write the registry, and `{{registry}}` in the path if at all")),
        (registry(json!({"allowUnsigned": true, "repository": "registry.example.com/{name}"})), format!("{at}.repository: `registry.example.com/{{name}}` has a placeholder that isn't known; use {{registry}} and {{repository}}")),
        (registry(json!({"allowUnsigned": true, "repository": "registry.example.com/reports:scan"})), format!("{at}.repository: `registry.example.com/reports:scan` names more than a repository; leave out the tag, which is made of the image's digest")),
        (registry(json!({"allowUnsigned": true, "repository": ["registry.example.com/reports"]})), format!("{at}.repository: expected a string, but found a list")),
        (registry(json!({"allowUnsigned": true, "repository": "registry.example.com/Reports"})), format!("{at}.repository: `registry.example.com/Reports` is no repository: the repository `Reports` must be in lower case")),
        (registry(json!({"allowUnsigned": true, "platform": "x"})), format!("{at}.platform: `x` is not a platform like `linux/amd64`")),
        (registry(json!({"attestors": [{"cosign": {"key": {"data": KEY}}}]})), format!("{at}.attestors[0].name: name the attestor: messages say who signed")),
        (registry(json!({"attestors": [{"name": "n"}]})), format!("{at}.attestors[0].cosign: say how the attestor is recognised, like `{{key: {{data: …}}}}`")),
        (attestor(json!({})), format!("{cosign}: set one of `key`, `keyless` and `certificate`")),
        (attestor(json!({"key": {"kms": "aws"}})), format!("{cosign}.key.kms: no key management service is asked at admission: export the public key, and write it as `data` beside this")),
        (attestor(json!({"key": {"data": "x"}})), format!("{cosign}.key.data: it is not a public key in PEM, which starts with `-----BEGIN PUBLIC KEY-----`")),
        (attestor(json!({"key": {}})), format!("{cosign}.key: `data` is missing: the public key in PEM")),
        (attestor(json!({"certificate": {"cert": CERTIFICATE}})), format!("{cosign}.certificate.certChain: the chain of the certificate is missing, up to its root: without one the host would trust any certificate as it is")),
        (attestor(json!({"keyless": {"identities": [{"issuer": "i", "subjectPrefix": "team/"}]}})), format!("{cosign}.keyless.identities[0].subjectPrefix: `team/` is not the beginning of a URL like `https://github.com/team/`")),
        (attestor(json!({"keyless": {"identities": [{"subject": "s"}]}})), format!("{cosign}.keyless.identities[0].issuer: the issuer of the identity is missing")),
        (
            attestor(json!({"keyless": {"githubActions": {"owner": "team", "repository": ""}}})),
            format!("{cosign}.keyless.githubActions.repository: an empty string names no repository; leave it out for every one of the owner"),
        ),
        (attestor(json!({"keyless": {}})), format!("{cosign}.keyless: set `identities` or `githubActions`")),
        (attestor(json!({"keyless": {"identities": []}})), format!("{cosign}.keyless: set `identities` or `githubActions`")),
        (json!({"reports": {"maxAge": "3 days"}}), "reports.maxAge: `3 days` is not a duration like `72h` or `14d`".to_owned()),
        (json!({"reports": {"sources": [{"kubescape": {"namespace": "A"}}]}}), "reports.sources[0].kubescape.namespace: `A` is not the name of a namespace".to_owned()),
        (json!({"reports": {"sources": [{"trivyOperator": {"workloadNamespace": false}}]}}), "reports.sources[0].trivyOperator.namespaces: no namespace is trusted, so that no report would ever count; name one".to_owned()),
    ] {
        refuse(settings, &[&problem]);
    }
}

#[test]
fn custom_reports_say_how_they_are_found_and_read() {
    let custom = |change: Value| {
        let mut custom = json!({"apiVersion": "g/v1", "kind": "Report", "namespaces": ["r"], "name": "sha256.{digestHex}",
            "fields": {"digest": "spec.digest", "findings": "spec.items", "id": "name", "severity": "severity"}});
        for (key, value) in change.as_object().into_iter().flatten() {
            custom[key] = value.clone();
        }
        json!({"reports": {"sources": [{"custom": custom}]}})
    };
    let at = "reports.sources[0].custom";
    for (change, problem) in [
        (json!({"apiVersion": null}), "apiVersion: set the `group/version` of the reports"),
        (json!({"kind": ""}), "kind: set the kind of the reports"),
        (
            json!({"namespaces": []}),
            "namespaces: no namespace is trusted, so that no report would ever count; name one",
        ),
        (
            json!({"name": "report"}),
            "name: `report` is the same for every image; use one of {digest}, {digestHex}, {platformDigest}, {platformDigestHex}, {registry}, {repository}, {tag}, {namespace}",
        ),
        (
            json!({"name": "{digest}-{image}"}),
            "name: `{digest}-{image}` has a placeholder that isn't known; use {digest}, {digestHex}, {platformDigest}, {platformDigestHex}, {registry}, {repository}, {tag}, {namespace}",
        ),
        (json!({"selector": "a=b"}), "selector: `name` and `selector` are two ways; keep one of them"),
        (
            json!({"name": null, "selector": "digest={digestHex}"}),
            "selector: a selector is the same for every image: the host keeps a watch open for each different one",
        ),
        (
            json!({"name": null, "selector": "a in (b)"}),
            "selector: `a in (b)` is not a label and its value, `key=value`; several are separated by commas",
        ),
        (
            json!({"name": null, "selector": "a=b,c!=d"}),
            "selector: `c!=d` is not a label and its value, `key=value`; several are separated by commas",
        ),
        (
            json!({"fields": {"digest": "spec.digest"}}),
            "fields: set `findings`, `verdict` or both: a report must say something",
        ),
        (
            json!({"fields": {"verdict": "spec.verdict"}}),
            "fields: set `digest`, or `image` where reports name a whole reference: a report must say whose it is",
        ),
        (
            json!({"fields": {"digest": "d", "findings": "f"}}),
            "fields: `findings` needs `id` and `severity`, as paths from each finding",
        ),
        (
            json!({"fields": {"digest": "d[0]", "verdict": "v"}}),
            "fields.digest: `d[0]` is not a path like `report.items.id`; lists are passed through",
        ),
        (
            json!({"identity": "tag"}),
            "fields: with `identity: tag`, set `image`, or `registry`, `repository` and `tag`",
        ),
    ] {
        refuse(custom(change), &[&format!("{at}.{problem}")]);
    }
    read(custom(json!({"name": null})));
    read(custom(json!({"fields": {"image": "spec.image", "verdict": "status.result"}})));
}

#[test]
fn acceptance_is_overridden_by_namespaces_key_by_key() {
    let settings = read(json!({"acceptance": {
        "cvssScore": {"threshold": 7, "maxCount": 5}, "denyAlways": ["CVE-1"], "count": "entries",
        "byNamespace": {
            "strict": {"maxSeverity": {"low": {"totalWithoutFixes": 2}}, "cvssScore": {"threshold": 4.5}, "denyAlways": []},
            "vex": {"ignoreVexStatus": true, "count": "unique", "allowAlways": ["CVE-2"]},
        },
    }}));
    let top = settings.acceptance.of("any");
    assert_eq!(top.max_severity, [], "a gate of one's own replaces the default");
    assert_eq!(top.cvss_score, Some(CvssLimit { threshold: 7.0, max_count: 5 }));
    assert_eq!((top.deny_always, top.count), (["CVE-1".to_owned()].as_slice(), Count::Entries));
    let strict = settings.acceptance.of("strict");
    assert_eq!(strict.max_severity, [(Severity::Low, Limit::TotalWithoutFixes(2))]);
    assert_eq!(strict.cvss_score, Some(CvssLimit { threshold: 4.5, max_count: 0 }));
    assert_eq!((strict.deny_always.len(), strict.count), (0, Count::Entries));
    let vex = settings.acceptance.of("vex");
    assert!(vex.ignore_vex_status && vex.cvss_score == top.cvss_score && vex.count == Count::Unique);
    assert_eq!(vex.allow_always, ["CVE-2".to_owned()]);
    // Lists of ids alone are no gate, so the default applies.
    let lists = read(json!({"acceptance": {"denyAlways": ["CVE-1"], "allowAlways": ["CVE-2"]}}));
    assert_eq!(lists.acceptance.of("any").max_severity, [(Severity::Critical, Limit::Total(0))]);
}

#[test]
fn acceptance_that_makes_no_sense_is_refused() {
    refuse(
        json!({"acceptance": {
            "cvssScore": {"threshold": 11}, "denyAlways": ["CVE-2024-*", "", "CVE-1,CVE-2", "CVE‑1"], "allowAlways": "CVE-1", "count": "all",
            "fixGracePeriod": "soon",
            "byNamespace": {"a": {"cvssScore": {"maxCount": 1}, "byNamespace": {}}, "b": 7},
        }}),
        &[
            "acceptance.cvssScore.threshold: expected a CVSS score from 0 to 10, but found `11`",
            "acceptance.denyAlways[0]: `CVE-2024-*` is a pattern, and only whole ids are compared here; `exemptions` take patterns",
            "acceptance.denyAlways[1]: `` is not the id of a vulnerability",
            "acceptance.denyAlways[2]: `CVE-1,CVE-2` is not the id of a vulnerability",
            "acceptance.denyAlways[3]: `CVE‑1` is not the id of a vulnerability",
            "acceptance.allowAlways: expected a list, but found the string `CVE-1`",
            "acceptance.fixGracePeriod: `soon` is not a duration like `72h` or `14d`",
            "acceptance.count: `all` is not a choice here; use unique or entries",
            "acceptance.byNamespace.a.byNamespace: unknown setting `byNamespace`; known here: maxSeverity, cvssScore, denyAlways, allowAlways, ignoreVexStatus, fixGracePeriod, unfixedGracePeriod, running, knownExploited, epss, endOfLife, packages, licenses, count",
            "acceptance.byNamespace.a.cvssScore: `threshold` is missing: the lowest CVSS score that counts, like 7.0",
            "acceptance.byNamespace.b: expected an object, but found `7`",
        ],
    );
}

#[test]
fn a_grace_period_needs_a_source_with_dates() {
    let grace = json!({"fixGracePeriod": "14d", "byNamespace": {"a": {"fixGracePeriod": "1d"}}});
    let no_dates = "no source has dates of fixes or vulnerabilities (sbomscanner); trivyOperator and registry have, and custom with `fields.published`";
    refuse(
        json!({"acceptance": grace}),
        &[
            &format!("acceptance.fixGracePeriod: {no_dates}"),
            &format!("acceptance.byNamespace.a.fixGracePeriod: {no_dates}"),
        ],
    );
    read(json!({"acceptance": grace, "reports": {"sources": [{"sbomscanner": {}}, {"trivyOperator": {}}]}}));
    refuse(json!({"acceptance": {"running": {"grace": "7d"}}}), &[&format!("acceptance.running.grace: {no_dates}")]);
}

#[test]
fn what_ends_with_a_fix_needs_a_source_with_fixes() {
    let of = |fields: Value| {
        let mut all = json!({"digest": "d", "findings": "f", "id": "i", "severity": "s"});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        json!({"exemptions": [{"vulnerability": "CVE-1", "reason": "r", "expires": "2099-01-01", "expireOnFix": true}],
            "reports": {"sources": [{"custom": {"apiVersion": "a/v1", "kind": "Scan", "namespaces": ["a"], "fields": all}}]}})
    };
    read(of(json!({"fixedVersion": "v"})));
    refuse(
        of(json!({})),
        &[
            "exemptions[0].expireOnFix: no source says what is fixed, so that this would never end it; name the field of a fix in `fields.fixedVersion`",
        ],
    );
    let mut two = of(json!({}));
    two["reports"]["sources"].as_array_mut().unwrap().push(json!({"sbomscanner": {}}));
    read(two);
}

#[test]
fn what_runs_already_has_a_grace_period_of_its_own() {
    let of = |acceptance: Value| json!({"acceptance": acceptance, "reports": {"sources": [{"trivyOperator": {}}]}});
    let running = |settings: Value, namespace: &str, severity: Severity| {
        read(of(settings))
            .acceptance
            .of(namespace)
            .running
            .and_then(|grace| grace.of(severity))
            .map(ToString::to_string)
    };
    let both = json!({"running": {"grace": "7d"}, "byNamespace": {"a": {"running": {"grace": {"critical": "3d"}}}}});
    assert_eq!(running(both.clone(), "any", Severity::Low).as_deref(), Some("7d"));
    assert_eq!(running(both.clone(), "a", Severity::Critical).as_deref(), Some("3d"));
    assert_eq!(running(both, "a", Severity::High), None);
    for absent in
        [json!({}), json!({"running": null}), json!({"running": {"grace": ""}}), json!({"running": {"grace": {}}})]
    {
        assert_eq!(running(absent.clone(), "any", Severity::Critical), None, "{absent}");
    }
    let missing = "`grace` is missing: how long what runs may start after a finding is known, like `7d`";
    for (value, problem) in [
        (json!({}), format!("acceptance.running: {missing}")),
        (json!({"grace": null}), format!("acceptance.running: {missing}")),
        (
            json!("7d"),
            "acceptance.running: expected an object like `{grace: 7d}`, but found the string `7d`".to_owned(),
        ),
        (json!({"grace": "soon"}), "acceptance.running.grace: `soon` is not a duration like `72h` or `14d`".to_owned()),
        (json!({"grace": 7}), "acceptance.running.grace: `7` has no unit; write a duration like `7h`".to_owned()),
        (
            json!({"grace": "7d", "knownExploited": true}),
            "acceptance.running.knownExploited: unknown setting `knownExploited`; known here: grace".to_owned(),
        ),
    ] {
        refuse(of(json!({"running": value})), &[&problem]);
    }
}

#[test]
fn signed_statements_are_sources() {
    let attestors = json!([{"name": "ci", "cosign": {"key": {"secretRef": {"namespace": "a", "name": "b"}}}},
        {"name": "gh", "cosign": {"keyless": {"identities": [{"issuer": "i", "subjectRegExp": "^a$"}], "matchCertificate": "true"},
            "trustRoot": {"data": "{}"}}}]);
    let of = |predicate_type: &str| json!({"attestation": {"predicateType": predicate_type, "attestors": attestors}});
    let settings = read(json!({"reports": {
        "sources": [{"attestation": {"predicateType": "https://a/v1", "attestors": attestors, "platform": "linux/amd64",
            "repository": "registry.example.com/{repository}"}}],
        "sboms": [of("https://b")],
        "vex": [{"predicateType": "https://c", "attestors": attestors}],
    }}));
    let [ReportSource::Attestation(reports)] = settings.reports.sources.as_slice() else { panic!("another source") };
    let [SbomSource::Attestation(sboms)] = settings.reports.sboms.as_slice() else { panic!("another source") };
    let [vex] = settings.reports.vex.as_slice() else { panic!("another place") };
    for (attached, predicate_type) in
        [(&reports.attached, "https://a/v1"), (&sboms.attached, "https://b"), (vex, "https://c")]
    {
        assert_eq!(attached.artifact, Artifact::Statement(predicate_type.to_owned()));
        let names: Vec<&str> = attached.attestors.iter().map(|attestor| attestor.name.as_str()).collect();
        assert_eq!((names.as_slice(), attached.allow_unsigned), (&["ci", "gh"][..], false));
    }
    assert_eq!(reports.platform, image_admission_image::platform::Platform::parse("linux/amd64"));
    assert!(reports.attached.repository.is_some() && sboms.attached.repository.is_none());
    let source = |more: Value| json!({"reports": {"sources": [{"attestation": more}]}});
    let at = "reports.sources[0].attestation";
    for (settings, problem) in [
        (source(json!({"attestors": attestors})), format!("{at}.predicateType: it is missing: the type of the statement's predicate, like `https://cosign.sigstore.dev/attestation/vuln/v1`")),
        (json!({"reports": {"sboms": [{"attestation": {"attestors": attestors}}]}}), "reports.sboms[0].attestation.predicateType: it is missing: the type of the statement's predicate, like `https://cyclonedx.org/bom`".to_owned()),
        (source(json!({"attestors": attestors, "predicateType": ""})), format!("{at}.predicateType: `` is not the type of a predicate, like `https://cosign.sigstore.dev/attestation/vuln/v1`")),
        (source(json!({"attestors": attestors, "predicateType": "a b"})), format!("{at}.predicateType: `a b` is not the type of a predicate, like `https://cosign.sigstore.dev/attestation/vuln/v1`")),
        (source(json!({"attestors": attestors, "predicateType": "a", "tagSuffix": "b"})), format!("{at}.tagSuffix: unknown setting `tagSuffix`; known here: predicateType, repository, attestors, platform")),
        (source(json!({"predicateType": "a"})), format!("{at}.attestors: anybody who can push to the repository could write a report: name who must have signed it")),
        (source(json!({"predicateType": "a", "attestors": attestors, "allowUnsigned": true})), format!("{at}.allowUnsigned: unknown setting `allowUnsigned`; known here: predicateType, repository, attestors, platform")),
    ] {
        refuse(settings, &[&problem]);
    }
}

#[test]
fn what_an_image_may_be_made_of_is_read() {
    let settings = read(json!({
        "reports": {"sboms": [{"sbomscanner": {}}, {"trivyOperator": {"identity": "tag"}}, {"registry": {"allowUnsigned": true}}]},
        "acceptance": {
            "packages": {"deny": [{"purl": "pkg:npm/x", "versions": "<1", "reason": " why "}, {"purl": "pkg:generic/*"}]},
            "licenses": {"allow": ["MIT", "GPL-2.0+"], "except": ["PKG:deb/"]},
            "byNamespace": {"old": {"packages": {"deny": [{"purl": "pkg:npm/y"}], "action": "warn"}}}},
    }));
    let names: Vec<_> = settings.reports.sboms.iter().map(SbomSource::name).collect();
    assert_eq!(names, ["sbomscanner", "trivyOperator", "registry"]);
    let SbomSource::Registry(registry) = &settings.reports.sboms[2] else { panic!("{names:?}") };
    assert_eq!(registry.attached.artifact, Artifact::Tag("sbom".to_owned()));
    let limits = settings.acceptance.of("shop");
    let packages = limits.packages.unwrap();
    assert_eq!((packages.action, packages.deny.len()), (GateAction::Reject, 2));
    assert_eq!(packages.deny[0].reason.as_deref(), Some("why"));
    assert_eq!(packages.deny[1].versions, None);
    let licenses = limits.licenses.unwrap();
    assert!(licenses.list.is_allowed());
    assert_eq!((licenses.unknown, licenses.except.as_slice()), (UnknownLicense::Reject, &["pkg:deb/".to_owned()][..]));
    let old = settings.acceptance.of("old");
    assert_eq!(old.packages.unwrap().action, GateAction::Warn);
    assert_eq!(old.licenses, limits.licenses, "what a namespace doesn't say is as at the top level");
}

#[test]
fn what_no_image_could_be_made_of_is_refused() {
    let with = |acceptance: Value| json!({"acceptance": acceptance, "reports": {"sboms": [{"sbomscanner": {}}]}});
    refuse(
        with(json!({"packages": {"deny": [
            {"purl": "lodash"}, {"purl": "pkg:npm/x@1"}, {"purl": "pkg:deb/curl"}, {"purl": "pkg:npm/x", "versions": "1"},
            {"purl": "pkg:generic/x", "versions": "<1"}, {"versions": "<1"}, "pkg:npm/x", {"purl": "pkg:npm/x", "version": "<1"},
            {"purl": 1}, {"purl": "pkg:npm/x", "reason": "r".repeat(201)},
        ], "action": "block"}})),
        &[
            "acceptance.packages.action: `block` is not a choice here; use reject or warn",
            "acceptance.packages.deny[0].purl: `lodash` is not a purl like `pkg:maven/org.apache.logging.log4j/log4j-core`",
            "acceptance.packages.deny[1].purl: `pkg:npm/x@1` has a version; write it in `versions`, like `=1`",
            "acceptance.packages.deny[2].purl: every package of the type `deb` has a namespace, `pkg:deb/…/curl`; with `pkg:deb/*/curl` it may be any",
            "acceptance.packages.deny[3].versions: `1` has no comparison; write `=1`, or `<`, `<=`, `>`, `>=` or `!=`",
            "acceptance.packages.deny[4].versions: how versions of the type `generic` compare isn't known, only those of apk, cargo, deb, gem, golang, hex, maven, npm, nuget, pypi, rpm, swift; without `versions` every version is denied",
            "acceptance.packages.deny[5].purl: the package is missing, like `pkg:npm/event-stream`",
            "acceptance.packages.deny[6]: expected an object like `{purl: pkg:npm/event-stream}`, but found the string `pkg:npm/x`",
            "acceptance.packages.deny[7].version: unknown setting `version`; did you mean `versions`?",
            "acceptance.packages.deny[8].purl: expected a string, but found `1`",
            "acceptance.packages.deny[9].reason: a reason has at most 200 characters",
        ],
    );
    let many = vec![json!({"purl": "pkg:npm/x"}); 1001];
    refuse(
        with(
            json!({"packages": {"deny": many}, "licenses": {"deny": ["MIT"], "except": ["pkg:npm/lodash@4", "pkg:npm/lodash@"]}}),
        ),
        &[
            "acceptance.packages.deny: 1001 packages are denied, 1000 are the most",
            "acceptance.licenses.except[0]: `pkg:npm/lodash@4` has a version; a package is left out in every one, like `pkg:npm/lodash@`",
        ],
    );
    refuse(
        with(json!({"packages": {}, "licenses": {}})),
        &[
            "acceptance.packages.deny: no package is denied; name one, like `{purl: pkg:npm/event-stream}`",
            "acceptance.licenses: set `deny` or `allow`: the licences that packages may not have, or the only ones that they may",
        ],
    );
    refuse(
        with(json!({"licenses": {"deny": [], "unknown": "accept", "except": ["deb"]}, "byNamespace": {
            "a": {"licenses": {"deny": ["MIT"], "allow": ["MIT"]}}, "b": {"licenses": {"allow": ["MIT OR GPL-2.0", 1, "*"]}}}})),
        &[
            "acceptance.licenses.unknown: `accept` is not a choice here; use reject, warn or ignore",
            "acceptance.licenses.except[0]: `deb` is not the beginning of a purl like `pkg:deb/` or `pkg:npm/lodash@`",
            "acceptance.licenses.deny: it names no licence; leave `licenses` out, or name one, like `AGPL-3.0-only`",
            "acceptance.byNamespace.a.licenses.allow: `deny` and `allow` are two ways; keep one of them",
            "acceptance.byNamespace.b.licenses.allow[1]: expected a string, but found `1`",
            "acceptance.byNamespace.b.licenses.allow[0]: `MIT OR GPL-2.0` is an expression; list its licences one by one",
            "acceptance.byNamespace.b.licenses.allow[2]: `*` is every licence",
        ],
    );
    refuse(
        json!({"acceptance": {"packages": {"deny": [{"purl": "pkg:npm/x"}]}, "byNamespace": {"a": {"licenses": {"deny": ["MIT"]}}}}}),
        &[
            "acceptance.packages: nothing tells what an image is made of: name where SBOMs come from in `reports.sboms`",
            "acceptance.byNamespace.a.licenses: nothing tells what an image is made of: name where SBOMs come from in `reports.sboms`",
        ],
    );
    refuse(
        json!({"reports": {"sboms": [{"kubescape": {}}, {"registry": {}}, {}]}}),
        &[
            "reports.sboms[0].kubescape: unknown setting `kubescape`; known here: sbomscanner, trivyOperator, registry, attestation",
            "reports.sboms[1].registry.attestors: anybody who can push to the repository could write an SBOM: name who must have signed it, or set `allowUnsigned: true`",
            "reports.sboms[2]: no source is named; use `{sbomscanner: {}}`",
        ],
    );
}

#[test]
fn exemptions_say_what_why_and_until_when() {
    let settings = read(json!({"exemptions": [
        {"vulnerability": "CVE-2024-0001", "images": ["docker.io/team/"], "namespaces": ["a"], "packages": ["pkg:apk/alpine/openssl@"],
         "reason": "not reachable, TICKET-7", "expires": "2027-01-31", "expireOnFix": true},
        // An exemption that ended long ago isn't refused: it was valid once.
        {"vulnerabilities": ["CVE-2020-*", "GHSA-1"], "reason": "r", "expires": "2020-01-01"},
    ]}));
    let [first, second] = settings.exemptions.as_slice() else { panic!("{:?}", settings.exemptions) };
    assert_eq!(first.expires.to_string(), "2027-01-31T23:59:59Z");
    assert!(first.expire_on_fix && !second.expire_on_fix);
    assert_eq!(second.vulnerabilities.iter().map(Pattern::as_str).collect::<Vec<_>>(), ["CVE-2020-*", "GHSA-1"]);
    // As kustomize writes a day that has no quotes.
    let of_kustomize = |day: &str| json!({"exemptions": [{"vulnerability": "CVE-1", "reason": "r", "expires": day}]});
    let settings = Settings::read(&of_kustomize("2027-01-31T00:00:00Z")).unwrap();
    assert_eq!(settings.exemptions[0].expires, first.expires);
    refuse(
        of_kustomize("2027-01-31T01:00:00Z"),
        &["exemptions[0].expires: `2027-01-31T01:00:00Z` is not a day like `2027-01-31`"],
    );
    refuse(
        json!({"exemptions": [
            {}, "CVE-1",
            {"vulnerability": "CVE-1", "reason": " ", "expires": "soon", "package": "x"},
            {"vulnerability": " ", "reason": "r", "expires": "2027-02-30", "packages": ["openssl"], "images": ["https://x/"]},
        ]}),
        &[
            "exemptions[0]: set `vulnerability` or `vulnerabilities`: an id, or a pattern like `CVE-2024-*`",
            "exemptions[0].reason: say why the findings don't count; people will read it",
            "exemptions[0].expires: every exemption ends: set its last day, like `2027-01-31`",
            "exemptions[1]: expected an object like `{vulnerability: CVE-…, reason: …, expires: …}`, but found the string `CVE-1`",
            "exemptions[2].package: unknown setting `package`; did you mean `packages`?",
            "exemptions[2].reason: say why the findings don't count; people will read it",
            "exemptions[2].expires: `soon` is not a day like `2027-01-31`",
            "exemptions[3]: an empty id, or one with spaces around it, names no vulnerability",
            "exemptions[3].packages: `openssl` is not the beginning of a purl like `pkg:apk/alpine/openssl@`",
            "exemptions[3].images: no image's name starts with `https://x/`",
            "exemptions[3].expires: `2027-02-30` is not a day like `2027-01-31`",
        ],
    );
}

#[test]
fn exemptions_of_objects_say_whose_word_counts() {
    assert_eq!(read(json!({})).exemptions_from, None);
    assert_eq!(read(json!({"exemptionsFrom": null})).exemptions_from, None);
    let all = json!({"exemptionsFrom": {"namespace": "kubewarden", "workloadNamespace": true, "severities": ["high", "low"],
        "maxDuration": "30d", "requireApprovedBy": true}});
    let from = read(all).exemptions_from.unwrap();
    assert_eq!(from.namespaces("shop"), ["kubewarden", "shop"]);
    assert_eq!(from.namespaces("kubewarden"), ["kubewarden"]);
    assert_eq!(from.namespaces(""), ["kubewarden"]);
    assert_eq!(from.severities, [Severity::High, Severity::Low]);
    assert_eq!(from.max_duration.map(|duration| duration.to_string()).as_deref(), Some("30d"));
    assert!(from.require_approved_by);
    let from = read(json!({"exemptionsFrom": {"namespace": "kubewarden"}})).exemptions_from.unwrap();
    assert_eq!(from.namespaces("shop"), ["kubewarden"]);
    assert!(from.severities.is_empty() && from.max_duration.is_none() && !from.require_approved_by);
    let nobody = "exemptionsFrom: nobody's exemptions would be read; set `namespace`, whose objects hold everywhere, or `workloadNamespace: true`";
    refuse(json!({"exemptionsFrom": {}}), &[nobody]);
    refuse(json!({"exemptionsFrom": {"workloadNamespace": false}}), &[nobody]);
    refuse(json!({"exemptionsFrom": ["shop"]}), &["exemptionsFrom: expected an object, but found a list"]);
    refuse(
        json!({"exemptionsFrom": {"namespace": "team-*", "severities": [], "maxDuration": "", "requireApproval": true}}),
        &[
            "exemptionsFrom.requireApproval: unknown setting `requireApproval`; did you mean `requireApprovedBy`?",
            "exemptionsFrom.namespace: `team-*` is not the name of a namespace; patterns are not understood here",
            "exemptionsFrom.severities: an empty list names no severity; leave it out, and objects may be about all of them",
            "exemptionsFrom.maxDuration: expected a duration like `30d`, but found the string ``",
        ],
    );
    refuse(
        json!({"exemptionsFrom": {"workloadNamespace": true, "severities": ["HIGH", "worst"], "maxDuration": 30}}),
        &[
            "exemptionsFrom.severities[0]: `HIGH` is not a severity; use critical, high, medium, low, unknown",
            "exemptionsFrom.severities[1]: `worst` is not a severity; use critical, high, medium, low, unknown",
            "exemptionsFrom.maxDuration: `30` has no unit; write a duration like `30h`",
        ],
    );
    // Templates write it for a value that isn't there.
    refuse(
        json!({"exemptionsFrom": {"workloadNamespace": true, "maxDuration": null}}),
        &["exemptionsFrom.maxDuration: expected a duration like `30d`, but found null"],
    );
}

#[test]
fn settings_of_the_original_that_have_no_meaning_here_say_who_does_their_job() {
    let credentials = "has no meaning here: scanners in the cluster scan, and the policy server holds the registries' credentials; remove it";
    let scan_policy = "has no meaning here: `acceptance` says which findings are accepted, and the scanner's own settings what it looks for; remove it";
    refuse(
        json!({"sysdigSecureToken": "t", "sysdigSecureApiUrl": "u", "policies": {"scanPolicyId": "p"}}),
        &[
            &format!("sysdigSecureApiUrl: `sysdigSecureApiUrl` {credentials}"),
            &format!("sysdigSecureToken: `sysdigSecureToken` {credentials}"),
            &format!("policies.scanPolicyId: `scanPolicyId` {scan_policy}"),
        ],
    );
}

/// The values of the charts `sysdig-image-scanner`, `sysdig-admission-controller` and `admission-controller`: every key is
/// read, or refused with what to write instead, and none is unknown.
#[test]
fn every_value_of_the_originals_charts_is_read_or_refused() {
    let values = [
        "replicaCount image kubectlImage service serviceAccount sysdigSecureApiUrl sysdigSecureToken httpProxy noProxy",
        "metadataCustomRules imagePullSecrets nameOverride fullnameOverride resources nodeSelector tolerations affinity",
        "sysdig sysdigSecureUrl clusterName clusterId features verifySSL serviceAccounts webhook scanner httpsProxy",
    ];
    for key in values.iter().flat_map(|keys| keys.split(' ')) {
        for value in [json!(null), json!(""), json!({}), json!("x")] {
            let error = Settings::read(&json!({key: value})).map(|_| ()).unwrap_err();
            let [problem] = error.0.as_slice() else { panic!("{error}") };
            assert!(problem.starts_with(&format!("{key}: `{key}` has no meaning here: ")), "{problem}");
            assert!(problem.ends_with("; remove it"), "{problem}");
        }
    }
    read(json!({
        "verboseLog": false, "customRules": "", "preCustomRules": "",
        "preScanPolicies": {"autoGenerate": true, "defaultPolicy": "scan", "byNamespace": {}},
        "scanPolicies": {"autoGenerate": true, "defaultPolicy": "scan-result", "reportPending": "reject", "scanFailed": "reject", "byNamespace": {}},
    }));
    refuse(
        json!({"preScanPolicies": {"customPolicies": [{"prefix": "internal-registry.com/", "action": "check-scan"}]}}),
        &[
            "preScanPolicies.customPolicies[0].action: Invalid value for customPolicy with prefix 'internal-registry.com/' - 'check-scan'; use accept, reject or scan",
        ],
    );
}

#[test]
fn settings_of_image_cve_policy_are_refused_with_their_names_here() {
    refuse(
        json!({"maxSeverity": {}, "ignoreMissingVulnerabilityReport": true, "imageLookupStrategy": "tag"}),
        &[
            "ignoreMissingVulnerabilityReport: `ignoreMissingVulnerabilityReport` is written `scanPolicies.reportPending`, `accept` or `reject`, here",
            "imageLookupStrategy: `imageLookupStrategy` has no meaning here: a report counts for the digest that it names, never for a tag; remove it",
            "maxSeverity: `maxSeverity` is written `acceptance.maxSeverity` here",
        ],
    );
    let settings = [
        "cvssScore",
        "allowAlways",
        "denyAlways",
        "ignoreVexStatus",
        "platform",
        "vulnerabilityReportNamespace",
        "cveName",
    ];
    for key in settings {
        let error = Settings::read(&json!({key: null})).map(|_| ()).unwrap_err();
        assert!(error.0.len() == 1 && !error.to_string().contains("unknown setting"), "{error}");
    }
}

#[test]
fn the_originals_config_map_is_read_with_or_without_its_envelope() {
    let policy = json!({"policies": {"reportPending": "accept"}, "preScanPolicies": {"defaultPolicy": "reject"}});
    let text = policy.to_string();
    let envelope =
        |data: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data});
    let mut beside = envelope(json!({"policy.json": text}));
    beside["registries"] = json!(["ghcr.io"]);
    for (settings, registries) in [
        (policy.clone(), 0),
        (json!({"policy.json": text}), 0),
        (json!({"policy.json": policy}), 0),
        (json!({"policy.json": text, "registries": ["ghcr.io"]}), 1),
        (envelope(json!({"policy.json": text})), 0),
        (beside, 1),
    ] {
        let read = read(settings.clone());
        assert_eq!(read.scan.fallbacks.report_pending, Some(Fallback::Accept), "{settings}");
        assert_eq!(read.pre_scan.default_policy, PreScanAction::Reject, "{settings}");
        assert_eq!(read.registries.len(), registries, "{settings}");
    }
    let rules = read(json!({"policy.json": text, "customRules": "deny_image[\"x\"] { false }"})).rego;
    assert_eq!(rules.phases, policy, "rules see the settings of the phases without their wrapping");
}

#[test]
fn what_is_wrong_with_the_originals_config_maps_is_told() {
    let begin = "`###### Begin: Custom rules ######`";
    let rules = |key: &str| {
        format!(
            "{key}: `{key}` has no meaning here: what stands before its custom rules is built in: write what is between {begin}"
        )
    };
    for settings in [
        json!({"pre-scan-rules.rego": "package imageadmission", "post-scan-rules.rego": "package imageadmission"}),
        json!({"kind": "ConfigMap", "data": {"pre-scan-rules.rego": "", "post-scan-rules.rego": ""}}),
    ] {
        let error = Settings::read(&settings).map(|_| ()).unwrap_err();
        let [post, pre] = error.0.as_slice() else { panic!("{error}") };
        assert!(post.starts_with(&rules("post-scan-rules.rego")) && post.contains(" as `customRules`, "), "{post}");
        assert!(pre.starts_with(&rules("pre-scan-rules.rego")) && pre.contains(" as `preCustomRules`, "), "{pre}");
    }
    for (settings, problems) in [
        (
            json!({"policy.json": "{,}"}),
            ["policy.json: its text is no JSON: key must be a string at line 1 column 2"].as_slice(),
        ),
        (json!({"policy.json": "[]"}), &["policy.json: expected the text of an object in JSON, but found a list"]),
        (json!({"policy.json": []}), &["policy.json: expected a text in JSON, but found a list"]),
        (json!({"kind": "ConfigMap"}), &["data: it is missing: a ConfigMap has its settings there"]),
        (
            json!({"kind": "ConfigMap", "data": "x"}),
            &["data: expected the data of a ConfigMap, but found the string `x`"],
        ),
        (
            json!({"policy.json": "{\"preScanPolicies\": {}}", "preScanPolicies": {"defaultPolicy": "accept"}}),
            &["preScanPolicies: it stands in `policy.json` and beside it; keep one of them"],
        ),
        (
            json!({"kind": "ConfigMap", "data": {"policy.json": "{}"}, "policy.json": "{}"}),
            &["policy.json: it stands in `data` and beside it; keep one of them"],
        ),
        (
            json!({"policy.json": "{\"policies\": {}}", "scanPolicies": {}}),
            &["policies: `policies` and `scanPolicies` are the same setting; keep one of them"],
        ),
        (
            json!({"policy.json": "{\"policies\": {\"scanPolicyId\": \"p\", \"reportPending\": \"no\"}}"}),
            &[
                "policies.scanPolicyId: `scanPolicyId` has no meaning here: `acceptance` says which findings are accepted, and the scanner's own settings what it looks for; remove it",
                "policies.reportPending: Invalid value for reportPending - 'no'; use accept or reject",
            ],
        ),
        (
            json!({"kind": "ConfigMap", "data": {"policy.json": "{\"verboselog\": true}"}}),
            &["verboselog: unknown setting `verboselog`; did you mean `verboseLog`?"],
        ),
    ] {
        refuse(settings, problems);
    }
    // Only a ConfigMap is read as one.
    let error = Settings::read(&json!({"kind": "Secret", "data": {}})).map(|_| ()).unwrap_err();
    assert_eq!(error.0.len(), 2, "{error}");
}

#[test]
fn settings_that_would_decide_nothing_are_refused() {
    refuse(
        json!({"preScanPolicies": {"autoGenerate": false}, "scanPolicies": {"autoGenerate": false}, "maxImages": 0,
               "reports": {"sources": [], "platforms": []}}),
        &[
            "maxImages: `0` would reject every workload; use a number from 1",
            "reports.platforms: an empty list would leave nothing to judge; use `all`, or name platforms",
            "reports.sources: without a source no image has a report; leave it out for the default, `[{sbomscanner: {}}]`",
            "preScanPolicies.autoGenerate: without generated rules nothing would decide; write rules in `preCustomRules`, or use true",
            "scanPolicies.autoGenerate: without generated rules nothing would decide; write rules in `customRules`, or use true",
        ],
    );
    refuse(
        json!({"reports": {"sources": [{"sbomscanner": {"namespaces": []}}, {"sbomscanner": {}, "custom": {}}], "platforms": ["linux"]},
               "acceptance": {"maxSeverity": {"high": {"total": 1, "totalWithoutFixes": 1}, "low": {}}}}),
        &[
            "reports.platforms[0]: `linux` is not a platform like `linux/amd64` or `linux/arm/v7`",
            "reports.sources[0].sbomscanner.namespaces: no namespace is trusted, so that no report would ever count; name one",
            "reports.sources[1]: one entry, one source: split custom, sbomscanner",
            "acceptance.maxSeverity.high: set one of `total` and `totalWithoutFixes`",
            "acceptance.maxSeverity.low: set one of `total` and `totalWithoutFixes`",
        ],
    );
}

#[test]
fn prefixes_that_no_image_has_are_refused_where_names_are_canonical() {
    let policies = json!({"customPolicies": [{"prefix": "https://bad.io/", "action": "reject"}], "byNamespace": {"ns": {"customPolicies": [{"prefix": "bad.io/Team/", "action": "reject"}]}}});
    let help = "write a host, or a host and the beginning of a path, like `ghcr.io/team/`";
    refuse(
        json!({"preScanPolicies": policies}),
        &[
            &format!("preScanPolicies.customPolicies[0].prefix: no image's name starts with `https://bad.io/`; {help}"),
            &format!(
                "preScanPolicies.byNamespace.ns.customPolicies[0].prefix: no image's name starts with `bad.io/Team/`; {help}"
            ),
        ],
    );
    read(json!({"imageMatching": "raw", "preScanPolicies": policies}));
}

#[test]
fn names_of_namespaces_and_resources_are_checked() {
    refuse(
        json!({"reports": {"sources": [{"sbomscanner": {"namespaces": ["ok", "a b/../c", ""], "registryResources": ["a.b-c", "A"]}}]}}),
        &[
            "reports.sources[0].sbomscanner.namespaces[1]: `a b/../c` is not the name of a namespace",
            "reports.sources[0].sbomscanner.namespaces[2]: `` is not the name of a namespace",
            "reports.sources[0].sbomscanner.registryResources[1]: `A` is not the name of a resource",
        ],
    );
}

#[test]
fn registries_have_one_name() {
    let settings = read(json!({"registries": ["GHCR.IO", "index.docker.io", "ghcr.io:443", "localhost:5000"]}));
    assert_eq!(settings.registries, ["ghcr.io", "docker.io", "ghcr.io", "localhost:5000"]);
}

#[test]
fn a_gate_that_could_never_fire_is_refused() {
    let custom = |score: Value| {
        json!({"custom": {"apiVersion": "g/v1", "kind": "Report", "namespaces": ["r"],
            "fields": {"digest": "d", "findings": "f", "id": "id", "severity": "severity", "score": score}}})
    };
    let cvss = json!({"cvssScore": {"threshold": 7}, "byNamespace": {"a": {"cvssScore": {"threshold": 9}}}});
    let no_scores = "no source has scores; name the field of a finding's score in `fields.score`";
    refuse(
        json!({"acceptance": cvss, "reports": {"sources": [custom(Value::Null)]}}),
        &[&format!("acceptance.cvssScore: {no_scores}"), &format!("acceptance.byNamespace.a.cvssScore: {no_scores}")],
    );
    read(json!({"acceptance": cvss, "reports": {"sources": [custom(json!("cvss.score"))]}}));
    read(json!({"acceptance": cvss, "reports": {"sources": [custom(Value::Null), {"sbomscanner": {}}]}}));
}

#[test]
fn names_that_nothing_has_are_refused() {
    let no_name = "can't be the name of a namespace: use at most 63 lower-case letters, digits and `-`, with no `-` at an end, or a pattern of them with `*`, like `prod-*`";
    refuse(
        json!({
            "reports": {"sources": [{"custom": {"apiVersion": "a b/v1", "kind": "x y", "namespaces": ["r"], "name": "A_{digestHex}",
                "fields": {"digest": "d", "verdict": "v"}}}]},
            "acceptance": {"byNamespace": {"Prod *": {"count": "entries"}}},
            "exemptions": [{"vulnerabilities": [], "namespaces": ["prod-*", "prod-?"], "reason": "r", "expires": "9999-12-31"}],
        }),
        &[
            "reports.sources[0].custom.apiVersion: `a b/v1` is no API version; write it like `v1` or `apps/v1`",
            "reports.sources[0].custom.kind: `x y` is no kind; write it like `Pod`",
            "reports.sources[0].custom.name: `A_{digestHex}` can't be an object's name, which has lower-case letters, digits, `-` and `.`",
            &format!("acceptance.byNamespace.Prod *: `Prod *` {no_name}"),
            "exemptions[0]: set `vulnerability` or `vulnerabilities`: an id, or a pattern like `CVE-2024-*`",
            &format!("exemptions[0].namespaces: `prod-?` {no_name}"),
        ],
    );
}

#[test]
fn names_that_no_namespace_can_have_are_refused_wherever_namespaces_decide() {
    let no_name = "can't be the name of a namespace: use at most 63 lower-case letters, digits and `-`, with no `-` at an end, or a pattern of them with `*`, like `prod-*`";
    for place in ["preScanPolicies", "scanPolicies", "policies", "acceptance"] {
        for name in ["", "Shop", "Kube_System", "-prod", "prod-", "prod.a", "prod-?", &"a".repeat(64)] {
            let path = format!("{place}.byNamespace.{name}");
            refuse(json!({place: {"byNamespace": {name: {}}}}), &[&format!("{path}: `{name}` {no_name}")]);
            refuse(
                json!({place: {"byNamespace": {name: 5}}}),
                &[&format!("{path}: `{name}` {no_name}"), &format!("{path}: expected an object, but found `5`")],
            );
        }
        let twice = "`prod-**` has several `*` in a row, which say what one says; write one";
        refuse(json!({place: {"byNamespace": {"prod-**": {}}}}), &[&format!("{place}.byNamespace.prod-**: {twice}")]);
    }
    let exemption = |name: &str| json!({"exemptions": [{"vulnerability": "CVE-1", "namespaces": [name], "reason": "r", "expires": "9999-12-31"}]});
    for name in ["", "Shop", "Kube_System"] {
        refuse(exemption(name), &[&format!("exemptions[0].namespaces: `{name}` {no_name}")]);
    }
    // Look-ups use these names as they are.
    let no_namespace = "is not the name of a namespace";
    refuse(
        json!({
            "reports": {"sources": [{"sbomscanner": {"namespaces": ["scans-*"]}}, {"trivyOperator": {"namespaces": ["*"]}}]},
            "exemptionsFrom": {"namespace": "team-*"},
        }),
        &[
            &format!("reports.sources[0].sbomscanner.namespaces[0]: `scans-*` {no_namespace}"),
            &format!("reports.sources[1].trivyOperator.namespaces[0]: `*` {no_namespace}"),
            &format!("exemptionsFrom.namespace: `team-*` {no_namespace}; patterns are not understood here"),
        ],
    );
}

#[test]
fn globs_of_namespaces_decide_as_whole_entries() {
    let settings = read(json!({
        "preScanPolicies": {"byNamespace": {"prod-*": {"defaultPolicy": "reject"}, "prod-a": {"customPolicies": []}}},
        "scanPolicies": {"scanFailed": "accept", "byNamespace": {"*": {"reportPending": "accept"}, "prod-*": {"scanFailed": "reject"}}},
        "acceptance": {"count": "entries", "byNamespace": {"prod-*": {"denyAlways": ["CVE-1"], "ignoreVexStatus": true}, "*-a": {"allowAlways": ["CVE-2"]}}},
        "exemptions": [{"vulnerability": "CVE-1", "namespaces": ["prod-*", "test"], "reason": "r", "expires": "9999-12-31"}],
    }));
    let reject = |namespace| settings.pre_scan.by_namespace.of(namespace).and_then(|(_, own)| own.default_policy);
    assert_eq!(["prod-b", "prod-a", "prod", "test"].map(reject), [Some(PreScanAction::Reject), None, None, None]);
    let fallbacks = |namespace| {
        let EffectiveFallbacks { report_pending, scan_failed } = settings.scan.effective_fallbacks(namespace);
        (report_pending, scan_failed)
    };
    assert_eq!(fallbacks("prod-a"), (Fallback::Reject, FailureFallback::Reject));
    assert_eq!(fallbacks("test"), (Fallback::Accept, FailureFallback::Accept));
    let limits = settings.acceptance.of("prod-a");
    assert_eq!((limits.deny_always.len(), limits.allow_always.len(), limits.count), (1, 0, Count::Entries));
    assert_eq!(settings.acceptance.of("test-a").allow_always, ["CVE-2".to_owned()]);
    assert_eq!(settings.acceptance.of("test").allow_always, [] as [String; 0]);
    let [exemption] = settings.exemptions.as_slice() else { panic!("{:?}", settings.exemptions) };
    let is_about = |namespace| exemption.is_about(namespace);
    assert_eq!(["prod-a", "test", "prod", "test-a", ""].map(is_about), [true, true, false, false, false]);
}

#[test]
fn places_of_vex_documents() {
    let place = json!({"attestors": [{"name": "security", "cosign": {"key": {"data": KEY}}}]});
    let elsewhere = json!({"artifactType": "application/vnd.openvex+json", "repository": "registry.example.com/vex/{repository}",
        "attestors": place["attestors"]});
    let settings = read(json!({"reports": {"vex": [place, elsewhere]}}));
    let [beside, elsewhere] = settings.reports.vex.as_slice() else { panic!("{:?}", settings.reports.vex) };
    assert_eq!((&beside.artifact, beside.allow_unsigned), (&Artifact::Tag("vex".to_owned()), false));
    assert_eq!(elsewhere.artifact, Artifact::Type("application/vnd.openvex+json".to_owned()));
    assert!(settings.may_be_down("registry.example.com") && !settings.may_be_down("ghcr.io"));
    assert!(read(json!({})).reports.vex.is_empty());
    let unsigned = "reports.vex[0].attestors: anybody who can push to the repository could write VEX documents: name who must have signed it";
    for (vex, problems) in [
        (json!({}), vec!["reports.vex: expected a list, but found an object"]),
        (json!([]), vec!["reports.vex: no place is named; leave it out where there are no VEX documents"]),
        (
            json!(["vex"]),
            vec![
                "reports.vex[0]: expected an object like `{attestors: [{name: security, cosign: …}]}`, but found the string `vex`",
            ],
        ),
        (json!([{}]), vec![unsigned]),
        (json!([{"attestors": []}]), vec![unsigned]),
        (
            json!([{"allowUnsigned": true}]),
            vec![
                "reports.vex[0].allowUnsigned: a VEX document is somebody's word, and takes findings out: name who must have signed it in `attestors`",
                unsigned,
            ],
        ),
        (
            json!([{"tagsuffix": "vex", "attestors": place["attestors"]}]),
            vec!["reports.vex[0].tagsuffix: unknown setting `tagsuffix`; did you mean `tagSuffix`?"],
        ),
        (
            json!([{"platform": "linux/amd64", "attestors": place["attestors"]}]),
            vec![
                "reports.vex[0].platform: unknown setting `platform`; known here: tagSuffix, artifactType, repository, attestors, predicateType",
            ],
        ),
        (
            json!([{"predicateType": "https://openvex.dev/ns", "tagSuffix": "vex", "attestors": place["attestors"]}]),
            vec!["reports.vex[0].tagSuffix: statements have no place of their own; remove it, or `predicateType`"],
        ),
    ] {
        refuse(json!({"reports": {"vex": vex}}), &problems);
    }
}

#[test]
fn vex_that_is_ignored_everywhere_is_refused() {
    let vex = json!([{"attestors": [{"name": "security", "cosign": {"key": {"data": KEY}}}]}]);
    let of = |acceptance: Value| json!({"reports": {"vex": vex}, "acceptance": acceptance});
    let never =
        "reports.vex: no document would ever be read, since `acceptance.ignoreVexStatus` is true; remove one of them";
    refuse(of(json!({"ignoreVexStatus": true})), &[never]);
    refuse(of(json!({"ignoreVexStatus": true, "byNamespace": {"shop": {"count": "entries"}}})), &[never]);
    read(of(json!({"ignoreVexStatus": true, "byNamespace": {"shop": {"ignoreVexStatus": false}}})));
    read(of(json!({"byNamespace": {"shop": {"ignoreVexStatus": true}}})));
    read(json!({"acceptance": {"ignoreVexStatus": true}}));
}

#[test]
fn what_is_valid_and_may_not_be_meant_is_noticed() {
    let settings = read(json!({
        "registries": ["ghcr.io"],
        "reports": {"maxAge": "72h", "sources": [{"kubescape": {}}, {"registry": {"allowUnsigned": true, "attestors": [{"name": "ci", "cosign": {"key": {"data": KEY}}}]}},
            {"custom": {"apiVersion": "g/v1", "kind": "Report", "namespaces": ["r"], "fields": {"digest": "d", "verdict": "v"}}}]},
        "exemptions": [{"vulnerability": "CVE-1", "images": ["ghcr.io/te"], "packages": ["pkg:npm/foo", "pkg:npm/foo@"], "reason": "r", "expires": "2099-01-01"}],
    }));
    assert_eq!(
        settings.notices(),
        [
            "exemptions[0].images: the prefix `ghcr.io/te` ends inside a path segment, and matches any continuation; end it with `/`, or with `:` and `@` for one repository",
            "exemptions[0].packages: `pkg:npm/foo` matches whatever goes on from there; end it with `@` for one package",
            "reports.maxAge: Kubescape's reports don't say when they were made, so that each counts as older than 72h; remove `maxAge`, or take a source with dates",
            "reports.sources: with `allowUnsigned: true` no attestor of the registry source is asked; remove one of the two",
            "reports.maxAge: `fields.time` of the custom source is not set, so that each counts as older than 72h; remove `maxAge`, or take a source with dates",
        ]
    );
}

#[test]
fn settings_that_let_authors_of_pods_choose_whom_to_ask_are_noticed() {
    assert_eq!(
        read(json!({})).notices(),
        [
            "registries: empty, so the policy server contacts any public registry that a Pod names; list the registries that images may come from"
        ]
    );
    assert_eq!(read(json!({"registries": ["ghcr.io"]})).notices(), [""; 0]);
}

#[test]
fn signed_reports_of_any_age_are_noticed() {
    let of = |sources: Value, more: Value| {
        let mut reports = json!({"sources": sources});
        reports.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(json!({"reports": reports, "registries": ["ghcr.io"]})).notices()
    };
    let signed = json!([{"registry": {"attestors": [{"name": "ci", "cosign": {"key": {"data": KEY}}}]}}]);
    assert_eq!(
        of(signed.clone(), json!({})),
        [
            "reports.maxAge: not set, so anybody with push access can put back an older signed report; limit the age of reports, like `7d`"
        ]
    );
    assert_eq!(of(signed, json!({"maxAge": "72h"})), Vec::<String>::new());
    // A pusher can rewrite an unsigned report anyway, and only the scanner writes the cluster's.
    assert_eq!(
        of(json!([{"registry": {"allowUnsigned": true}}, {"sbomscanner": {}}]), json!({})),
        Vec::<String>::new()
    );
}

#[test]
fn prefixes_that_match_more_than_they_seem_to_are_noticed() {
    let settings = read(json!({
        "registries": ["ghcr.io"],
        "preScanPolicies": {"customPolicies": [{"prefix": "ghcr.io", "action": "accept"}, {"prefix": "ghcr.io/", "action": "accept"}, {"prefix": "nginx", "action": "reject"}]},
        "scanPolicies": {"byNamespace": {"ns": {"customPolicies": [{"prefix": "docker.io/my", "action": "reject"}]}}},
    }));
    assert_eq!(
        settings.notices(),
        [
            "preScanPolicies.customPolicies[0]: the prefix `ghcr.io` ends inside a host, and matches any continuation; end it with `/`",
            "preScanPolicies.customPolicies[2]: the prefix `nginx` is the beginning of a registry's host; for an image of Docker Hub write `docker.io/library/nginx:` and `docker.io/library/nginx@`",
            "scanPolicies.byNamespace.ns.customPolicies[0]: the prefix `docker.io/my` ends inside a path segment, and matches any continuation; end it with `/`, or with `:` and `@` for one repository",
        ]
    );
}

#[test]
fn break_glass_without_a_right_or_a_reason_is_refused() {
    let right = json!({"group": "policies.kubewarden.io", "resource": "clusteradmissionpolicies"});
    let guarded = |key: &str, value: Value| {
        let mut right = right.clone();
        right[key] = value;
        json!({"annotation": "example.com/break-glass", "resource": right})
    };
    for (written, wanted) in [
        (json!(true), "breakGlass: expected an object, but found `true`"),
        (
            json!({"resource": right}),
            "breakGlass.annotation: it is missing; say the key of the annotation whose value is the reason",
        ),
        (
            json!({"annotation": "", "resource": right}),
            "breakGlass.annotation: it is missing; say the key of the annotation whose value is the reason",
        ),
        (
            json!({"annotation": "a/b/c", "resource": right}),
            "breakGlass.annotation: `a/b/c` is no key of an annotation; use one like `image-admission.example.com/break-glass`",
        ),
        (
            json!({"annotation": "Example.com/x", "resource": right}),
            "breakGlass.annotation: `Example.com/x` is no key of an annotation; use one like `image-admission.example.com/break-glass`",
        ),
        (
            json!({"annotation": "a"}),
            "breakGlass.resource: it is missing; say what a user must be allowed to `use`, with `group` and `resource`",
        ),
        (
            json!({"annotation": "a", "resource": {"resource": "pods"}}),
            "breakGlass.resource.group: it is missing; say the API group, or \"\" for the core group",
        ),
        (
            json!({"annotation": "a", "resource": {"group": ""}}),
            "breakGlass.resource.resource: it is missing; say the resource, in the plural and in lower case",
        ),
        (
            guarded("resource", json!("*")),
            "breakGlass.resource.resource: `*` is not a name; write it in lower case, like `clusteradmissionpolicies`",
        ),
        (
            guarded("resource", json!("ClusterAdmissionPolicy")),
            "breakGlass.resource.resource: `ClusterAdmissionPolicy` is not a name; write it in lower case, like `clusteradmissionpolicies`",
        ),
        (
            guarded("group", json!("core")),
            "breakGlass.resource.group: `core` is no group of RBAC's; write \"\" for the core group",
        ),
        (
            guarded("group", json!("*")),
            "breakGlass.resource.group: `*` is not a name; write it in lower case, like `policies.kubewarden.io`",
        ),
        (
            guarded("name", json!("")),
            "breakGlass.resource.name: `` is not a name; name one of them, like `image-admission`, or leave it out",
        ),
        (
            guarded("name", json!("a`b%")),
            "breakGlass.resource.name: `a`b%` is not a name; name one of them, like `image-admission`, or leave it out",
        ),
        (
            guarded("namespace", json!("")),
            "breakGlass.resource.namespace: `` is not a name; write it in lower case, like `kubewarden`",
        ),
    ] {
        let problems = Settings::read(&json!({"breakGlass": written})).unwrap_err().0;
        assert_eq!(problems, [wanted], "{written}");
    }
    assert!(
        Settings::read(&json!({"breakGlass": guarded("user", json!("alice"))})).is_err(),
        "what is unknown is refused"
    );
    let read =
        Settings::read(&json!({"breakGlass": guarded("name", json!("image-admission"))})).unwrap().break_glass.unwrap();
    assert_eq!(read.resource.to_string(), "clusteradmissionpolicies.policies.kubewarden.io `image-admission`");
    assert_eq!(Settings::read(&json!({"breakGlass": null})).unwrap().break_glass, None);
}

#[test]
fn whom_to_ask_is_one_line_and_where_to_read_is_an_address() {
    let long = "x".repeat(201);
    let far = format!("https://wiki.example/{}", "x".repeat(480));
    let no_address = "it is no address of a page; write one like `https://wiki.example/{rule}`";
    let no_host = "it has no host; write an address like `https://wiki.example/{rule}`";
    let filled =
        |wrong: &str| format!("`{wrong}` is nothing that is filled in; `{{rule}}` is, the name of what rejects");
    let unnatural = "it has characters that no address has; write them percent-encoded";
    for (key, written, wanted) in [
        ("contact", json!(7), "expected a string, but found `7`".to_owned()),
        ("contact", json!(""), "it is empty; say whom to ask, like `#platform-security`, or remove it".to_owned()),
        ("contact", json!("  "), "it is empty; say whom to ask, like `#platform-security`, or remove it".to_owned()),
        ("contact", json!(long), "it has 201 characters, and 200 are the most".to_owned()),
        ("contact", json!("a\nb"), "it must be one line, without control characters".to_owned()),
        ("contact", json!("a\u{2028}b"), "it must be one line, without control characters".to_owned()),
        ("contact", json!("a\u{202e}b"), "it must be one line, without control characters".to_owned()),
        (
            "contact",
            json!("#{rule}"),
            "`{rule}` and the like are filled in in `docs` alone; write it without braces".to_owned(),
        ),
        ("docs", json!(["https://a"]), "expected a string, but found a list".to_owned()),
        ("docs", json!(""), no_address.to_owned()),
        ("docs", json!("wiki.example/{rule}"), no_address.to_owned()),
        ("docs", json!("javascript:alert(1)"), no_address.to_owned()),
        ("docs", json!("ftp://wiki.example"), no_address.to_owned()),
        ("docs", json!(far), "it has 501 characters, and 500 are the most".to_owned()),
        ("docs", json!("https://"), no_host.to_owned()),
        ("docs", json!("https:///x"), no_host.to_owned()),
        ("docs", json!("https://{rule}.example/"), no_host.to_owned()),
        ("docs", json!("https://wiki.example:x/"), no_host.to_owned()),
        ("docs", json!("https://wiki.example:0/"), no_host.to_owned()),
        ("docs", json!("https://-wiki/"), no_host.to_owned()),
        ("docs", json!("https://[::g]/"), no_host.to_owned()),
        (
            "docs",
            json!("https://user:secret@wiki.example/"),
            "it has a user or a password, which everybody would read: remove it".to_owned(),
        ),
        ("docs", json!("https://wiki.example/a b"), unnatural.to_owned()),
        ("docs", json!("https://wiki.example/a\nb"), unnatural.to_owned()),
        ("docs", json!("https://wiki.example/ä"), unnatural.to_owned()),
        ("docs", json!("https://wiki.example/`x`"), unnatural.to_owned()),
        ("docs", json!("https://wiki.example/{rules}"), filled("{rules}")),
        ("docs", json!("https://wiki.example/{rule}/{image}/x"), filled("{image}")),
        ("docs", json!("https://wiki.example/{}"), filled("{}")),
        ("docs", json!("https://wiki.example/{rule"), filled("{rule")),
        ("docs", json!("https://wiki.example/x}y"), filled("}")),
        ("style", json!("short"), "`short` is not a choice here; use documented or reason-first".to_owned()),
        ("style", json!(true), "expected a string, but found `true`".to_owned()),
    ] {
        let problems = Settings::read(&json!({"message": {key: written}})).unwrap_err().0;
        assert_eq!(problems, [format!("message.{key}: {wanted}")], "{written}");
    }
    refuse(
        json!({"message": {"contakt": "x"}}),
        &["message.contakt: unknown setting `contakt`; did you mean `contact`?"],
    );
    refuse(
        json!({"message": "ask me"}),
        &[
            "message: expected an object like `{contact: \"#platform\", docs: \"https://wiki.example/{rule}\"}`, but found the string `ask me`",
        ],
    );
    for docs in [
        "https://wiki.example",
        "http://wiki:8080/x?rule={rule}&again={rule}#{rule}",
        "https://[::1]:8443/{rule}",
        "https://[::1]/%7B%7D",
    ] {
        assert_eq!(read(json!({"message": {"docs": docs}})).message.unwrap().docs.unwrap(), docs);
    }
    // A `message` that says nothing changes nothing.
    for nothing in [json!(null), json!({}), json!({"style": "documented"}), json!({"contact": null})] {
        assert_eq!(read(json!({"message": nothing})).message, None);
    }
}

/// Attestors whose signatures the policy verifies itself.
#[test]
fn attestors_of_evidence_are_read() {
    let read = |attestor: Value| {
        let policy = json!({"name": "p", "attestors": [attestor], "verifications": [{"expression": "true"}]});
        let settings = Settings::read(&json!({"imageVerification": [policy]})).unwrap();
        settings.verification[0].attestors[0].clone()
    };
    let cosign = |cosign: Value| read(json!({"name": "a", "cosign": cosign}));
    let key = cosign(json!({"key": {"data": KEY, "kms": "awskms:///x"}}));
    assert!(matches!(&key.identity, Identity::Key(pem) if pem.contains("BEGIN PUBLIC KEY")), "{key:?}");
    let identities = json!({"identities": [{"issuer": "https://i", "subjectRegExp": "^https://github\\.com/team/"}]});
    let matching =
        cosign(json!({"keyless": identities, "trustRoot": {"configMapRef": {"namespace": "a", "name": "b"}}}));
    assert_eq!(
        matching.identity,
        Identity::KeylessMatching {
            issuer: TextMatch::Exactly("https://i".to_owned()),
            subject: TextMatch::Matching("^https://github\\.com/team/".to_owned()),
        }
    );
    let root = matching.trust_root.as_ref().and_then(TextSource::in_cluster).unwrap();
    assert_eq!((root.kind, root.key.as_str()), ("ConfigMap", "trusted_root.json"));
    assert!(!matching.is_known_to_hosts());
    let certified = cosign(
        json!({"keyless": {"githubActions": {"owner": "team"}, "matchCertificate": "certificate.subject != ''"}}),
    );
    assert_eq!(certified.certificate.as_ref().unwrap().text, "certificate.subject != ''");
    assert!(!certified.is_known_to_hosts() && key.is_known_to_hosts());
    for certs in [json!("PEM"), json!({"value": "PEM"}), json!({"data": "PEM"})] {
        let notary = json!({"certs": certs, "trustedIdentities": ["*"], "trustStore": "signingAuthority",
            "tsaCerts": {"secretRef": {"namespace": "a", "name": "b"}}});
        let Identity::Notary(notary) = read(json!({"name": "a", "notary": notary})).identity else { panic!() };
        assert_eq!(notary.certificates, TextSource::Inline("PEM".to_owned()));
        assert_eq!(notary.timestamp_certificates.unwrap().in_cluster().unwrap().key, "ca.crt");
        assert_eq!((notary.trusted_identities, notary.store), (vec!["*".to_owned()], TrustStore::SigningAuthority));
    }
}

#[test]
fn attestors_of_evidence_that_could_not_work_are_refused() {
    let at = "imageVerification[0].attestors[0]";
    for (attestor, problem) in [
        (
            json!({"cosign": {}, "notary": {}}),
            format!("{at}: set one of `cosign` and `notary`; a second attestor may have the other"),
        ),
        (
            json!({"notary": {"trustedIdentities": ["*"]}}),
            format!("{at}.notary.certs: the trust store is missing: the certificates of roots, in PEM"),
        ),
        (
            json!({"notary": {"certs": "PEM"}}),
            format!(
                "{at}.notary.trustedIdentities: say whose signatures count: `x509.subject: C=…, ST=…, O=…` as in their certificates, or `*` for everybody whom the roots vouch for"
            ),
        ),
        (
            json!({"notary": {"certs": "PEM", "trustedIdentities": ["*"], "trustStore": "tsa"}}),
            format!("{at}.notary.trustStore: `tsa` is not a choice here; use ca or signingAuthority"),
        ),
        (
            json!({"notary": {"certs": "PEM", "trustedIdentities": ["*"], "trustPolicy": {}}}),
            format!("{at}.notary.trustPolicy: `trustPolicy` is written `trustedIdentities` and `trustStore` here"),
        ),
        (
            json!({"notary": {"certs": "PEM", "trustedIdentities": ["*"], "certChain": "PEM"}}),
            format!(
                "{at}.notary.certChain: a signature has its whole chain in it: write the certificate of the chain's root into `certs`"
            ),
        ),
        (
            json!({"notary": {"certs": {"data": "PEM", "secretRef": {}}, "trustedIdentities": ["*"]}}),
            format!("{at}.notary.certs: set one of `data`, `secretRef` and `configMapRef`"),
        ),
        (
            json!({"cosign": {"key": {"data": KEY}, "trustRoot": {}}}),
            format!("{at}.cosign.trustRoot: set one of `data`, `secretRef` and `configMapRef`"),
        ),
        (
            json!({"cosign": {"key": {"data": KEY}, "trustRoot": "x"}}),
            format!("{at}.cosign.trustRoot: expected an object like `{{data: …}}`, but found the string `x`"),
        ),
        (
            json!({"cosign": {"key": {"kms": "x"}}}),
            format!(
                "{at}.cosign.key.kms: no key management service is asked at admission: export the public key, and write it as `data` beside this"
            ),
        ),
        (
            json!({"cosign": {"keyless": {"identities": [{"issuerRegExp": "i"}]}}}),
            format!("{at}.cosign.keyless.identities[0]: set one of `subject` and `subjectRegExp`"),
        ),
        (
            json!({"cosign": {"keyless": {"identities": [{"issuer": "i", "issuerRegExp": "i", "subject": "s"}]}}}),
            format!("{at}.cosign.keyless.identities[0]: set one of `issuer` and `issuerRegExp`"),
        ),
        (
            json!({"cosign": {"keyless": {"identities": [{"issuerRegExp": "i", "subject": "s", "subjectPrefix": "https://a/"}]}}}),
            format!(
                "{at}.cosign.keyless.identities[0].subjectPrefix: beside a regular expression, write it as `subjectRegExp`"
            ),
        ),
    ] {
        let mut attestor = attestor;
        attestor["name"] = json!("a");
        let policy = json!({"name": "p", "attestors": [attestor], "verifications": [{"expression": "true"}]});
        refuse(json!({"imageVerification": [policy]}), &[&problem]);
    }
}

#[test]
fn where_evidence_is_is_read() {
    let read = |evidence: Value| Settings::read(&json!({"evidence": evidence})).unwrap().evidence;
    assert_eq!(read(Value::Null), Evidence::default());
    let evidence =
        read(json!({"fromCluster": true, "maxAge": "7d", "revoked": ["5F:3A", "0a"], "trustRoot": {"data": "{}"}}));
    assert!(evidence.from_cluster);
    assert_eq!(evidence.max_age, WrittenDuration::parse("7d"));
    assert_eq!(evidence.revoked, ["5F:3A", "0a"]);
    assert_eq!(evidence.trust_root, Some(TextSource::Inline("{}".to_owned())));
    assert_eq!((evidence.revoked_from, evidence.thresholds), (None, Thresholds::default()));
    for (key, max_age, expected) in [(None, None, "revoked"), (Some("list.txt"), Some("24h"), "list.txt")] {
        let place = json!({"namespace": "security", "name": "notation", "key": key});
        let list = read(json!({"revokedFrom": {"configMap": place, "maxAge": max_age}})).revoked_from.unwrap();
        let KeyReference { kind, namespace, name, key } = list.place;
        assert_eq!((kind, &*namespace, &*name, &*key), ("ConfigMap", "security", "notation", expected));
        assert_eq!(list.max_age, max_age.and_then(WrittenDuration::parse));
    }
    let thresholds =
        read(json!({"thresholds": {"transparencyLogs": 1, "timestamps": 8, "certificateLogs": 2}})).thresholds;
    let expected = Thresholds { transparency_logs: Some(1), timestamps: Some(8), certificate_logs: Some(2) };
    assert_eq!(thresholds, expected);
    for nothing in [json!({}), json!(null), json!({"timestamps": null})] {
        assert_eq!(read(json!({"thresholds": nothing})).thresholds, Thresholds::default());
    }
    assert_eq!(read(json!({"revokedFrom": null})).revoked_from, None);
    let list = |name: Value| json!({"revokedFrom": {"configMap": {"namespace": "security", "name": name}}});
    for (evidence, problem) in [
        (json!({"fromCluster": "yes"}), "evidence.fromCluster: expected true or false, but found the string `yes`"),
        (
            json!({"maxAge": "7d"}),
            "evidence.maxAge: only objects of the cluster have an age: set `fromCluster: true`, or remove it",
        ),
        (
            json!({"revokedFrom": "security/notation"}),
            "evidence.revokedFrom: expected an object like `{configMap: {namespace: …, name: …}, maxAge: 24h}`, but found the string `security/notation`",
        ),
        (
            json!({"revokedFrom": {}}),
            "evidence.revokedFrom: `configMap` is missing: what holds the list, `{namespace: …, name: …}`",
        ),
        (
            json!({"revokedFrom": {"configMap": {"name": "notation"}}}),
            "evidence.revokedFrom.configMap.namespace: the ConfigMap's namespace is missing",
        ),
        (list(json!("No")), "evidence.revokedFrom.configMap.name: `No` can't be the name of a ConfigMap"),
        (list(json!(7)), "evidence.revokedFrom.configMap.name: expected a string, but found `7`"),
        (
            json!({"revokedFrom": {"configMap": {"namespace": "security", "name": "notation", "key": "a/b"}}}),
            "evidence.revokedFrom.configMap.key: `a/b` can't be the key of a ConfigMap",
        ),
        (
            json!({"revokedFrom": {"secret": {}, "configMap": {"namespace": "security", "name": "notation"}}}),
            "evidence.revokedFrom.secret: unknown setting `secret`; known here: configMap, maxAge",
        ),
        (
            json!({"revokedFrom": {"configMap": {"namespace": "security", "name": "notation"}, "maxAge": "daily"}}),
            "evidence.revokedFrom.maxAge: `daily` is not a duration like `72h` or `14d`",
        ),
        (
            json!({"thresholds": 2}),
            "evidence.thresholds: expected an object like `{transparencyLogs: 2}`, but found `2`",
        ),
        (
            json!({"thresholds": {"transparencyLogs": 0}}),
            "evidence.thresholds.transparencyLogs: expected a whole number from 1 to 8, but found `0`",
        ),
        (
            json!({"thresholds": {"timestamps": 9}}),
            "evidence.thresholds.timestamps: expected a whole number from 1 to 8, but found `9`",
        ),
        (
            json!({"thresholds": {"certificateLogs": "2"}}),
            "evidence.thresholds.certificateLogs: expected a whole number from 1 to 8, but found the string `2`",
        ),
        (
            json!({"thresholds": {"logs": 2}}),
            "evidence.thresholds.logs: unknown setting `logs`; known here: transparencyLogs, timestamps, certificateLogs",
        ),
        (json!({"cluster": true}), "evidence.cluster: unknown setting `cluster`; did you mean `fromCluster`?"),
    ] {
        refuse(json!({"evidence": evidence}), &[problem]);
    }
}
