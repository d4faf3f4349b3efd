//! Settings as users write them: what they come to, and how every problem is reported.

use super::*;
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
        assert_eq!(settings.pin, Pin { enabled: true, kinds: vec![crate::WorkloadKind::Pod], annotations: true });
        assert_eq!(settings.reports.sources, [SbomScanner::default()]);
        assert_eq!(settings.reports.platforms, Platforms::All);
        assert_eq!(settings.acceptance.max_severity, [(Severity::Critical, Limit::Total(0))]);
    }
}

#[test]
fn the_seeds_names_are_read() {
    for name in ["policies", "scanPolicies"] {
        let settings = read(
            json!({name: {"autoGenerate": true, "defaultPolicy": "accept", "byNamespace": {"a": {"scanFailed": "accept"}}}}),
        );
        assert_eq!(settings.scan.default_policy, ScanAction::Accept);
        let namespace = settings.scan.by_namespace.get("a").unwrap();
        assert_eq!(namespace.fallbacks, StatusFallbacks { report_pending: None, scan_failed: Some(Fallback::Accept) });
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
            "policies.scanFailed: Invalid value for scanFailed - 'no'; use accept or reject",
            "policies.defaultPolicy: Invalid value for defaultPolicy - 'scan'; use accept, reject or scan-result",
            "policies.byNamespace.ns.reportPending: Invalid value for reportPending for namespace 'ns' - 'yes'; use accept or reject",
            "policies.byNamespace.ns.scanFailed: Invalid value for scanFailed for namespace 'ns' - 'yes'; use accept or reject",
        ],
    );
}

#[test]
fn unknown_keys_name_the_nearest_one() {
    refuse(
        json!({
            "preScanPolicy": {}, "verboselog": true, "colour": "red",
            "preScanPolicies": {"default": "scan", "reportPending": "accept", "byNamespace": {"ns": {"autoGenerate": true}}},
            "scanPolicies": {"customPolicies": [{"prefix": "", "action": "accept", "reason": "x"}]},
            "pin": {"kind": ["Pod"]},
            "acceptance": {"maxSeverity": {"criticals": {"total": 0}, "high": {"max": 1}}},
            "reports": {"platform": "all", "sources": [{"sbomScanner": {}}]},
        }),
        &[
            "colour: unknown setting `colour`; known here: preScanPolicies, scanPolicies, policies, verboseLog, imageMatching, registries, maxImages, reports, acceptance, pin",
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
            "reports": {"platforms": 5, "sources": ["sbomscanner", {}, {"sbomscanner": {"namespaces": "x", "workloadNamespace": 1, "registryResources": [1]}}]},
            "acceptance": {"maxSeverity": {"low": {"total": "0"}, "high": 1}},
            "pin": {"enabled": 1, "kinds": ["Pods", 1], "annotations": null},
        }),
        &[
            "preScanPolicies.autoGenerate: expected true or false, but found the string `true`",
            "preScanPolicies.defaultPolicy: expected a string, but found `1`",
            "preScanPolicies.customPolicies[0]: expected an object with `prefix` and `action`, but found the string `a`",
            "preScanPolicies.customPolicies[1].prefix: expected a string, but found `1`",
            "preScanPolicies.customPolicies[1].action: expected a string, but found `2`",
            "preScanPolicies.customPolicies[2]: `prefix` is missing; an empty one matches every image",
            "preScanPolicies.customPolicies[2].action: Invalid value for customPolicy with prefix '' - '<empty>'; use accept, reject or scan",
            "preScanPolicies.byNamespace.ns: expected an object, but found `5`",
            "registries[0]: expected a string, but found `1`",
            "registries[1]: `a b` is not a registry host; use a host like `ghcr.io` or `registry.example.com:5000`",
            "registries[2]: `ghcr.io/team` is not a registry host; use a host like `ghcr.io` or `registry.example.com:5000`",
            "pin.kinds[1]: expected a string, but found `1`",
            "pin.kinds[0]: `Pods` is not a workload; use Pod, ReplicationController, ReplicaSet, Deployment, StatefulSet, DaemonSet, Job, CronJob",
            "pin.enabled: expected true or false, but found `1`",
            "reports.platforms: expected `all`, or a list like `[linux/amd64]`, but found `5`",
            "reports.sources[0]: expected an object like `{sbomscanner: {}}`, but found the string `sbomscanner`",
            "reports.sources[1]: no source is named; use `{sbomscanner: {}}`",
            "reports.sources[2].sbomscanner.workloadNamespace: expected true or false, but found `1`",
            "reports.sources[2].sbomscanner.registryResources[0]: expected a string, but found `1`",
            "reports.sources[2].sbomscanner.namespaces: expected a list, but found the string `x`",
            "reports.sources[2].sbomscanner.namespaces: no namespace is trusted, so that no report would ever count; name one",
            "acceptance.maxSeverity.high: expected an object, but found `1`",
            "acceptance.maxSeverity.low.total: expected a whole number from 0, but found the string `0`",
        ],
    );
}

#[test]
fn what_belongs_to_later_work_is_refused_by_name() {
    refuse(
        json!({
            "preCustomRules": "allow_pod { true }", "customRules": "x", "exemptions": [{}], "imageVerification": [{}],
            "regoPolicies": [{}], "regoLibraries": [{}], "context": [{}],
            "reports": {"maxAge": "72h", "sources": [{"trivyOperator": {}}, {"registry": {}}, {"kubescape": {}}, {"custom": {}}]},
            "acceptance": {"cvssScore": {"threshold": 7}, "denyAlways": ["CVE-1"], "allowAlways": ["CVE-1"],
                           "ignoreVexStatus": true, "fixGracePeriod": "14d", "count": "entries", "byNamespace": {"a": {}}},
        }),
        &[
            "preCustomRules: `preCustomRules` is not supported yet",
            "customRules: `customRules` is not supported yet",
            "exemptions: `exemptions` is not supported yet",
            "imageVerification: `imageVerification` is not supported yet",
            "regoPolicies: `regoPolicies` is not supported yet",
            "regoLibraries: `regoLibraries` is not supported yet",
            "context: `context` is not supported yet",
            "reports.maxAge: `maxAge` is not supported yet",
            "reports.sources[0].trivyOperator: `trivyOperator` is not supported yet",
            "reports.sources[1].registry: `registry` is not supported yet",
            "reports.sources[2].kubescape: `kubescape` is not supported yet",
            "reports.sources[3].custom: `custom` is not supported yet",
            "acceptance.cvssScore: `cvssScore` is not supported yet",
            "acceptance.denyAlways: `denyAlways` is not supported yet",
            "acceptance.allowAlways: `allowAlways` is not supported yet",
            "acceptance.ignoreVexStatus: `ignoreVexStatus` is not supported yet",
            "acceptance.fixGracePeriod: `fixGracePeriod` is not supported yet",
            "acceptance.count: `count` is not supported yet",
            "acceptance.byNamespace: `byNamespace` is not supported yet",
        ],
    );
    // Written-out defaults ask for nothing.
    read(json!({
        "preCustomRules": "", "customRules": "", "regoVersion": "v0", "exemptions": [], "imageVerification": [],
        "regoPolicies": [], "regoLibraries": [], "context": [], "reports": {"maxAge": ""},
        "acceptance": {"denyAlways": [], "allowAlways": [], "ignoreVexStatus": false, "fixGracePeriod": "", "count": "unique", "byNamespace": {}},
    }));
    // Nothing else does: neither another value, nor one of another type, nor a source without settings.
    for (key, values) in [
        ("regoVersion", vec![json!("v1"), json!("")]),
        ("customRules", vec![json!([]), json!({}), json!(0)]),
        ("exemptions", vec![json!({}), json!("")]),
        ("context", vec![json!(""), json!(false)]),
    ] {
        for value in values {
            refuse(json!({key: value}), &[&format!("{key}: `{key}` is not supported yet")]);
        }
    }
    refuse(
        json!({"acceptance": {"cvssScore": {}, "count": {}}, "reports": {"sources": [{"trivyOperator": null}, {"custom": {}}]}}),
        &[
            "reports.sources[0].trivyOperator: `trivyOperator` is not supported yet",
            "reports.sources[1].custom: `custom` is not supported yet",
            "acceptance.cvssScore: `cvssScore` is not supported yet",
            "acceptance.count: `count` is not supported yet",
        ],
    );
}

#[test]
fn settings_of_the_original_that_have_no_meaning_here_say_who_does_their_job() {
    let credentials = "has no meaning here: scanners in the cluster scan, and the policy server holds the registries' credentials; remove it";
    let scan_policy = "has no meaning here: `acceptance` says which findings are accepted, and the scanner's own settings what it looks for; remove it";
    refuse(
        json!({"sysdigSecureToken": "t", "sysdigSecureApiUrl": "u", "policies": {"scanPolicyId": "p"}}),
        &[
            &format!("sysdigSecureToken: `sysdigSecureToken` {credentials}"),
            &format!("sysdigSecureApiUrl: `sysdigSecureApiUrl` {credentials}"),
            &format!("policies.scanPolicyId: `scanPolicyId` {scan_policy}"),
        ],
    );
}

#[test]
fn settings_that_would_decide_nothing_are_refused() {
    refuse(
        json!({"preScanPolicies": {"autoGenerate": false}, "scanPolicies": {"autoGenerate": false}, "maxImages": 0,
               "reports": {"sources": [], "platforms": []}}),
        &[
            "maxImages: `0` would reject every workload; use a number from 1",
            "preScanPolicies.autoGenerate: without generated rules nothing would decide, and custom rules are not supported yet; use true",
            "scanPolicies.autoGenerate: without generated rules nothing would decide, and custom rules are not supported yet; use true",
            "reports.platforms: an empty list would leave nothing to judge; use `all`, or name platforms",
            "reports.sources: without a source no image has a report; leave it out for the default, `[{sbomscanner: {}}]`",
        ],
    );
    refuse(
        json!({"reports": {"sources": [{"sbomscanner": {"namespaces": []}}, {"sbomscanner": {}, "custom": {}}], "platforms": ["linux"]},
               "acceptance": {"maxSeverity": {"high": {"total": 1, "totalWithoutFixes": 1}, "low": {}}}}),
        &[
            "reports.platforms[0]: `linux` is not a platform like `linux/amd64` or `linux/arm/v7`",
            "reports.sources[0].sbomscanner.namespaces: no namespace is trusted, so that no report would ever count; name one",
            "reports.sources[1].custom: `custom` is not supported yet",
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
            "reports.sources[0].sbomscanner.registryResources[1]: `A` is not the name of a resource",
            "reports.sources[0].sbomscanner.namespaces[1]: `a b/../c` is not the name of a namespace",
            "reports.sources[0].sbomscanner.namespaces[2]: `` is not the name of a namespace",
        ],
    );
}

#[test]
fn registries_have_one_name() {
    let settings = read(json!({"registries": ["GHCR.IO", "index.docker.io", "ghcr.io:443", "localhost:5000"]}));
    assert_eq!(settings.registries, ["ghcr.io", "docker.io", "ghcr.io", "localhost:5000"]);
}

#[test]
fn prefixes_that_match_more_than_they_seem_to_are_noticed() {
    let settings = read(json!({
        "preScanPolicies": {"customPolicies": [{"prefix": "ghcr.io", "action": "accept"}, {"prefix": "ghcr.io/", "action": "accept"}, {"prefix": "nginx", "action": "reject"}]},
        "scanPolicies": {"byNamespace": {"ns": {"customPolicies": [{"prefix": "docker.io/my", "action": "reject"}]}}},
    }));
    assert_eq!(
        settings.notices(),
        [
            "preScanPolicies.customPolicies[0]: the prefix `ghcr.io` ends inside a host, and matches whatever goes on from there",
            "preScanPolicies.customPolicies[2]: the prefix `nginx` is the beginning of a registry's host; an image of Docker Hub is `docker.io/library/nginx`",
            "scanPolicies.byNamespace.ns.customPolicies[0]: the prefix `docker.io/my` ends inside a path segment, and matches whatever goes on from there",
        ]
    );
}
