//! What the lint says of settings, and of what it says nothing.

use super::*;
use serde_json::{Value, json};

/// The days of an exemption that ended, and of one that doesn't.
const NOW: Timestamp = Timestamp(1_790_000_000);

/// What is said beside what nearly all settings are told.
#[track_caller]
fn check(settings: &Value, expected: &[(&str, &str)]) {
    let all = Settings::read(settings)
        .unwrap()
        .lint(NOW, Some(&BTreeSet::from(["here".to_owned(), "kube-system".to_owned()])));
    let said: Vec<String> = all
        .iter()
        .filter(|lint| !matches!(lint.rule, LintRule::KubeSystem | LintRule::AnyRegistry))
        .map(|lint| format!("{} {lint}", lint.rule.name()))
        .collect();
    let expected: Vec<String> = expected.iter().map(|(rule, text)| format!("{rule} {text}")).collect();
    assert_eq!(said, expected, "{settings}");
}

#[test]
fn what_nearly_all_settings_are_told() {
    let said: Vec<String> = Settings::read(&Value::Null).unwrap().lint(NOW, None).iter().map(Lint::to_string).collect();
    assert_eq!(
        said,
        [
            "preScanPolicies.byNamespace: there is no rule for `kube-system`: leave it out by the policy's `namespaceSelector`, or say what may run there, or the cluster can't recover while a registry is down",
            "registries: empty, so the policy server contacts any public registry that a Pod names; list the registries that images may come from",
        ]
    );
    let quiet = json!({"registries": ["ghcr.io"], "preScanPolicies": {"byNamespace": {"kube-system": {"defaultPolicy": "accept"}}}});
    assert_eq!(Settings::read(&quiet).unwrap().lint(NOW, None), []);
}

#[test]
fn prefixes_of_every_tag() {
    let list = |entries: Value| json!({"scanPolicies": {"customPolicies": entries}});
    let only = "scanPolicies.customPolicies[0]: the prefix `ghcr.io/a:` accepts no image that is named by its digest, while `reject` and a scan look at those too; for them add `ghcr.io/a@`";
    let of_tags = |action: &str| json!({"prefix": "ghcr.io/a:", "action": action});
    check(&list(json!([of_tags("accept")])), &[("tag-only", only)]);
    check(
        &list(
            json!([of_tags("reject"), {"prefix": "ghcr.io/b", "action": "scan-result"}, {"prefix": "ghcr.io/a@", "action": "accept"}]),
        ),
        &[(
            "open-prefix",
            "scanPolicies.customPolicies[1]: the prefix `ghcr.io/b` ends inside a path segment, and matches any continuation; end it with `/`, or with `:` and `@` for one repository",
        )],
    );
    // With both, in any order, nothing is left to do. An entry that rejects doesn't count.
    let by_digest = |action: &str| json!({"prefix": "ghcr.io/a@", "action": action});
    check(&list(json!([of_tags("accept"), by_digest("accept")])), &[]);
    check(&list(json!([by_digest("accept"), of_tags("accept")])), &[]);
    check(&list(json!([of_tags("accept"), by_digest("reject")])), &[("tag-only", only)]);
    // The second one still decides the digests, which the first one doesn't accept.
    check(&list(json!([of_tags("accept"), of_tags("reject")])), &[("tag-only", only)]);
    let hidden = "scanPolicies.customPolicies[1]: it never decides: customPolicies[0] (`ghcr.io/a:`) comes first and matches all that starts with `ghcr.io/a:`; move it up, or remove it";
    check(
        &list(json!([of_tags("reject"), of_tags("accept")])),
        &[("never-matches", hidden), ("tag-only", &only.replace("[0]", "[1]"))],
    );
}

#[test]
fn exemptions_of_tags_and_of_every_image() {
    let exempted = |images: Value, packages: Value| {
        let mut exemption = json!({"vulnerability": "CVE-1", "reason": "r", "expires": "2099-01-01"});
        for (key, list) in [("images", images), ("packages", packages)].into_iter().filter(|(_, list)| !list.is_null())
        {
            exemption[key] = list;
        }
        json!({"exemptions": [exemption]})
    };
    let of = |images: Value| exempted(images, json!(null));
    let only = |name: &str, what: &str| {
        format!(
            "exemptions[0].images: the prefix `{name}` holds for no image that is named by its digest, as pinned ones are; for them {what}"
        )
    };
    check(&of(json!(["ghcr.io/a:"])), &[("tag-only", &only("ghcr.io/a:", "add `ghcr.io/a@`"))]);
    let tag = only("ghcr.io/a:1.0", "add the digest, or write `ghcr.io/a:` and `ghcr.io/a@` for the whole repository");
    check(&of(json!(["ghcr.io/a:1.0"])), &[("tag-only", &tag)]);
    check(&of(json!(["ghcr.io/a:1.0", "ghcr.io/b@"])), &[("tag-only", &tag)]);
    for images in [
        json!(["ghcr.io/a:", "ghcr.io/a@"]),
        json!(["GHCR.IO/a@", "ghcr.io/a:1.0"]),
        json!(["ghcr.io/a:1.0", "ghcr.io/a@sha256:0"]),
        json!(["ghcr.io/a:1.0", "ghcr.io/"]),
        json!(["localhost:5000/a/"]),
    ] {
        check(&of(images), &[]);
    }
    let every = "exemptions[0]: without `images` it holds whatever the image; name those that it is about";
    check(&of(json!(null)), &[("every-image", every)]);
    check(&exempted(json!(null), json!(["pkg:apk/alpine/bash@"])), &[]);
}

#[test]
fn exemptions_of_every_vulnerability() {
    let of = |pattern: &str, packages: Value| {
        let packages = if packages.is_null() { json!({}) } else { json!({"packages": packages}) };
        let mut exemption =
            json!({"vulnerability": pattern, "images": ["ghcr.io/a/"], "reason": "r", "expires": "2099-01-01"});
        exemption.as_object_mut().unwrap().extend(packages.as_object().unwrap().clone());
        json!({"exemptions": [exemption]})
    };
    for pattern in ["*", "CVE-*", "GHSA-*", "CVE-2*", "*-2*", "CVE-????-????", "CVE-2???-*"] {
        let every = format!(
            "exemptions[0]: `{pattern}` exempts whatever is found, also later; name the ids, or the `packages` that don't matter"
        );
        check(&of(pattern, json!(null)), &[("every-vulnerability", &every)]);
        check(&of(pattern, json!(["pkg:apk/alpine/bash@"])), &[]);
    }
    for pattern in ["CVE-2026-*", "CVE-2026-00??", "CVE-2026-0001", "GHSA-2c4m-*"] {
        check(&of(pattern, json!(null)), &[]);
    }
}

#[test]
fn exemptions_that_another_covers() {
    let of = |vulnerability: &str, images: &[&str], expires: &str| json!({"vulnerability": vulnerability, "images": images, "reason": expires, "expires": expires});
    let exempted = |exemptions: &[Value]| json!({"exemptions": exemptions});
    let same = |position: usize, other: usize, day: &str| {
        format!(
            "exemptions[{position}]: exemptions[{other}] exempts the same, until {day}: remove this one, and say in that one's \
             reason what only this one's says"
        )
    };
    let (long, short) = (of("CVE-1", &["reg.io/a/"], "2099-01-01"), of("CVE-1", &["reg.io/a/"], "2098-01-01"));
    let said = |exemptions: &[Value], expected: &[&str]| {
        let expected: Vec<(&str, &str)> = expected.iter().map(|text| ("redundant", *text)).collect();
        check(&exempted(exemptions), &expected);
    };
    said(&[long.clone(), long.clone()], &[&same(1, 0, "2099-01-01")]);
    said(&[long.clone(), long.clone(), long.clone()], &[&same(1, 0, "2099-01-01"), &same(2, 0, "2099-01-01")]);
    // The one that lasts stays, wherever it stands.
    said(&[long.clone(), short.clone()], &[&same(1, 0, "2099-01-01")]);
    said(&[short, long.clone()], &[&same(0, 1, "2099-01-01")]);
    let wide = of("CVE-1*", &["reg.io/"], "2099-01-01");
    let more = "exemptions[0]: exemptions[1] exempts all of it and more, until 2099-01-01: remove this one, or make that one narrower";
    said(&[long.clone(), wide], &[more]);
    said(&[long, of("CVE-2", &["reg.io/a/"], "2099-01-01"), of("CVE-1", &["reg.io/b/"], "2099-01-01")], &[]);
}

/// Each is compared with each.
#[test]
fn many_exemptions_are_compared_in_time() {
    let of = |index: usize| json!({"vulnerability": format!("CVE-{index}"), "images": ["reg.io/"], "reason": "r", "expires": "2099-01-01"});
    let exemptions: Vec<Value> = (0..5_000).map(of).collect();
    check(&json!({"exemptions": exemptions}), &[]);
}

#[test]
fn exemptions_of_objects_that_may_last_for_ever() {
    let endless = "exemptionsFrom.maxDuration: not set, so an ImageExemption may last for ever; limit it, like `30d`";
    check(&json!({"exemptionsFrom": {"workloadNamespace": true}}), &[("endless-exemptions", endless)]);
    check(&json!({"exemptionsFrom": {"workloadNamespace": true, "maxDuration": "30d"}}), &[]);
    check(&json!({"exemptionsFrom": {"namespace": "here"}}), &[]);
    let unknown = "exemptionsFrom.namespace: the cluster has no namespace `gone`: if somebody creates it, this holds for it; correct the name, or remove it";
    check(&json!({"exemptionsFrom": {"namespace": "gone"}}), &[("unknown-namespace", unknown)]);
    let vex = json!([{"attestors": [{"name": "bot", "cosign": {"keyless": {"githubActions": {"owner": "team"}}}}]}]);
    check(&json!({"reports": {"vex": vex}}), &[]);
    let unread = "reports.vex: the scan phase has no `scan-result`, so that no finding decides; say `scan-result`, or remove them";
    let accepting = json!({"scanPolicies": {"defaultPolicy": "accept"}, "reports": {"vex": vex}});
    check(&accepting, &[("never-reached", unread)]);
    let unread = "exemptionsFrom: the scan phase has no `scan-result`, so that no finding decides; say `scan-result`, or remove them";
    let accepting = json!({"scanPolicies": {"defaultPolicy": "accept"}, "exemptionsFrom": {"namespace": "here"}});
    check(&accepting, &[("never-reached", unread)]);
}

#[test]
fn a_list_of_what_is_exploited_that_may_have_any_age() {
    let list = |more: Value| {
        let mut gate = json!({"from": {"configMap": {"namespace": "here", "name": "kev"}}});
        gate.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"acceptance": {"knownExploited": gate}})
    };
    let ageless = "acceptance.knownExploited.maxAge: not set, so that a list which nobody refreshes any more goes on clearing findings; say how old it may be, like `7d`";
    check(&list(json!({})), &[("any-age", ageless)]);
    check(&list(json!({"maxAge": "7d"})), &[]);
    check(&list(json!({"action": "warn"})), &[]);
    let own = json!({"acceptance": {"byNamespace": {"here": list(json!({}))["acceptance"].clone()}}});
    check(&own, &[("any-age", &ageless.replace("acceptance.", "acceptance.byNamespace.here."))]);
}

#[test]
fn a_list_of_revoked_certificates_that_may_have_any_age() {
    let list = |max_age: Value| json!({"evidence": {"revokedFrom": {"configMap": {"namespace": "here", "name": "revoked"}, "maxAge": max_age}}});
    let ageless = "evidence.revokedFrom.maxAge: not set, so that a certificate which is revoked after the last refresh goes on counting; say how old the list may be, like `24h`";
    check(&list(json!(null)), &[("any-age", ageless)]);
    check(&list(json!("24h")), &[]);
}

#[test]
fn sboms_that_nobody_asks_for_and_licences_that_are_none() {
    let unread = "reports.sboms: nothing asks for an SBOM, so that none is read; set `acceptance.packages` or `acceptance.licenses`";
    check(&json!({"reports": {"sboms": [{"sbomscanner": {}}]}}), &[("redundant", unread)]);
    let licenses =
        |list: Value| json!({"acceptance": {"licenses": {"deny": list}}, "reports": {"sboms": [{"sbomscanner": {}}]}});
    check(&licenses(json!(["GPL-3.0-*", "agpl-3.0", "LicenseRef-own"])), &[]);
    let unknown = "acceptance.licenses.deny[1]: SPDX lists no licence `GPLv3`, so it only matches packages that name their licence so; write the SPDX id, from https://spdx.org/licenses";
    check(&licenses(json!(["GPL-3.0-*", "GPLv3"])), &[("license-name", unknown)]);
    let allowed = json!({"acceptance": {"licenses": {"allow": ["Apache-*", "Apache License*", "Zlib-?x"]}}, "reports": {"sboms": [{"sbomscanner": {}}]}});
    let nothing = "acceptance.licenses.allow[1]: SPDX lists no licence like `Apache License*`, and `*` allows nothing else; see https://spdx.org/licenses";
    let one_letter = "acceptance.licenses.allow[2]: SPDX lists no licence like `Zlib-?x`, and `?` allows nothing else; see https://spdx.org/licenses";
    check(&allowed, &[("license-name", nothing), ("license-name", one_letter)]);
    let unasked =
        "reports.sboms: with `allowUnsigned: true` no attestor of the registry source is asked; remove one of the two";
    let mut unsigned = licenses(json!(["MIT"]));
    unsigned["reports"]["sboms"] = json!([{"registry": {"allowUnsigned": true, "attestors": [{"name": "ci", "cosign": {"keyless": {"identities": [{"issuer": "https://a.example", "subject": "b"}]}}}]}}]);
    check(&unsigned, &[("attestors-unused", unasked)]);
}

/// Settings with a policy about signatures.
fn verified(policy: &Value) -> Value {
    let mut whole = json!({"name": "signed", "verifications": [{"expression": "true"}]});
    whole.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
    json!({"imageVerification": [whole]})
}

#[test]
fn globs_that_leave_more_unpinned_than_they_seem_to() {
    let exclude = |globs: Value| json!({"pin": {"exclude": globs}});
    let open = |glob: &str, part: &str| {
        format!(
            "pin.exclude[0]: the glob `{glob}` ends inside a {part}, and leaves unpinned whatever goes on from there; write `/*`, `:*` or `@*` at its end"
        )
    };
    for (glob, part) in
        [("docker.io/istio*", "path segment"), ("istio/proxy*", "path segment"), ("gcr.io/a?/b", "path segment")]
    {
        check(&exclude(json!([glob])), &[("open-prefix", &open(glob, part))]);
    }
    for glob in ["*/proxyv2", "*.azurecr.io/istio/*", "gcr.io*", "istio*"] {
        let any = format!(
            "pin.exclude[0]: the glob `{glob}` names no registry before its first wildcard, and leaves unpinned what any registry has under such a name; write the registry first, like `docker.io/istio/*`"
        );
        check(&exclude(json!([glob])), &[("open-prefix", &any)]);
    }
    let exact = json!(["docker.io/istio/*", "docker.io/istio/proxyv2:*", "gcr.io/*/asm:1", "docker.io/istio/pilot"]);
    check(&exclude(exact), &[]);
    let nothing = "pin.exclude: nothing is pinned, so that nothing is left out; remove it, or `pin.enabled: false`";
    check(&json!({"pin": {"enabled": false, "exclude": ["docker.io/istio/*"]}}), &[("never-reached", nothing)]);
}

#[test]
fn globs_that_match_no_image() {
    let of = |glob: &str| verified(&json!({"matchConstraints": {"imageRules": {"references": [glob]}}}));
    let path = "imageVerification[0].matchConstraints.imageRules.references[0]";
    for host in ["ghcr.io", "ghcr.io:5000", "localhost", "localhost:5000"] {
        let said = format!(
            "{path}: `{host}` is the name of an image of Docker Hub; for the images of that registry write `{host}/*`"
        );
        check(&of(host), &[("no-image", &said)]);
    }
    for none in ["https://ghcr.io/team/*", "ghcr.io/Team/*", "ghcr.io/team/App", "oci://ghcr.io/a", "ghcr.io/a b"] {
        let said = format!(
            "{path}: no image's name matches `{none}`; write a host and a path in lower case, without `https://`, like `ghcr.io/team/*`"
        );
        check(&of(none), &[("no-image", &said)]);
    }
    for some in [
        "ghcr.io/*",
        "*",
        "*/Team/*",
        "nginx",
        "nginx:1.2",
        "my_app*",
        "nginx:V1*",
        "GHCR.IO/a",
        "ghcr.io/a:V?",
        "ghcr.io*",
        "ghcr.io/a@sha256:*",
        "[::1]:5000/*",
    ] {
        check(&of(some), &[]);
    }
    let shipped = verified(&json!({"matchImageReferences": [{"expression": "true"}, {"glob": "ghcr.io"}]}));
    check(
        &shipped,
        &[(
            "no-image",
            "imageVerification[0].matchImageReferences[1].glob: `ghcr.io` is the name of an image of Docker Hub; for the images of that registry write `ghcr.io/*`",
        )],
    );
}

#[test]
fn policies_that_pre_scan_leaves_out() {
    let of = |policy: Value, phase: Value| {
        let mut settings = verified(&policy);
        settings["preScanPolicies"] = phase;
        settings
    };
    let fix = "set `verifyPreScanAccepted: true` here, or `preScanPolicies.defaultPolicy: scan`";
    let none =
        format!("imageVerification[0]: pre-scan has no `scan`, and what it accepts isn't verified: no image is; {fix}");
    let some = format!(
        "imageVerification[0]: what pre-scan accepts isn't verified, and `preScanPolicies.defaultPolicy` is `accept`; {fix}"
    );
    let weights = |settings: &Value| -> Vec<LintSeverity> {
        let lints = Settings::read(settings).unwrap().lint(NOW, None);
        lints.iter().filter(|lint| lint.rule == LintRule::Unverified).map(|lint| lint.severity).collect()
    };
    let accept = json!({"defaultPolicy": "accept"});
    check(&of(json!({}), accept.clone()), &[("unverified", &none)]);
    assert_eq!(weights(&of(json!({}), accept.clone())), [LintSeverity::Error]);
    let listed = json!({"defaultPolicy": "reject", "customPolicies": [{"prefix": "ghcr.io/", "action": "accept"}]});
    check(&of(json!({}), listed), &[("unverified", &none)]);
    let one = json!({"defaultPolicy": "accept", "byNamespace": {"here": {"defaultPolicy": "scan"}}});
    check(&of(json!({}), one.clone()), &[("unverified", &some)]);
    assert_eq!(weights(&of(json!({}), one)), [LintSeverity::Warning]);
    // It says so, isn't about Pods alone, or what is accepted is an exception.
    check(&of(json!({"verifyPreScanAccepted": true}), accept.clone()), &[]);
    let releases = json!({"matchConstraints": {"resourceRules": [{"resources": ["helmreleases"]}]}});
    check(&of(releases, accept.clone()), &[]);
    let pods = json!({"matchConstraints": {"resourceRules": [{"resources": ["pods", "deployments"]}]}});
    check(&of(pods, accept), &[("unverified", &none)]);
    let exception = json!({"byNamespace": {"kube-system": {"defaultPolicy": "accept"}}});
    check(&of(json!({}), exception), &[]);
}

#[test]
fn entries_that_never_decide() {
    let list = |entries: Value| json!({"scanPolicies": {"customPolicies": entries}});
    let hidden = "scanPolicies.customPolicies[1]: it never decides: customPolicies[0] (`ghcr.io/`) comes first and matches all that starts with `ghcr.io/team/`; move it up, or remove it";
    check(
        &list(json!([{"prefix": "ghcr.io/", "action": "reject"}, {"prefix": "ghcr.io/team/", "action": "accept"}])),
        &[("never-matches", hidden)],
    );
    check(
        &list(json!([{"prefix": "ghcr.io/team/", "action": "accept"}, {"prefix": "ghcr.io/", "action": "reject"}])),
        &[],
    );
    // Two spellings of one host.
    check(
        &list(json!([{"prefix": "GHCR.IO:443/", "action": "reject"}, {"prefix": "ghcr.io/team/", "action": "accept"}])),
        &[("never-matches", &hidden.replace("`ghcr.io/`", "`GHCR.IO:443/`"))],
    );
    // As written they are two.
    let mut raw =
        list(json!([{"prefix": "GHCR.IO/", "action": "reject"}, {"prefix": "ghcr.io/team/", "action": "accept"}]));
    raw["imageMatching"] = json!("raw");
    check(&raw, &[]);
    // Beside a digest the tag counts for what rejects alone, so that the second one still decides `app:1.2@sha256:…`.
    check(
        &list(
            json!([{"prefix": "ghcr.io/app:1", "action": "accept"}, {"prefix": "ghcr.io/app:1.2", "action": "reject"}]),
        ),
        &[],
    );
    check(
        &list(
            json!([{"prefix": "ghcr.io/app:1", "action": "reject"}, {"prefix": "ghcr.io/app:1.2", "action": "accept"}]),
        ),
        &[(
            "never-matches",
            "scanPolicies.customPolicies[1]: it never decides: customPolicies[0] (`ghcr.io/app:1`) comes first and matches all that starts with `ghcr.io/app:1.2`; move it up, or remove it",
        )],
    );
}

#[test]
fn entries_that_change_nothing() {
    let redundant =
        "preScanPolicies.customPolicies[1]: it says `scan`, as the default policy does without it; remove it";
    check(
        &json!({"preScanPolicies": {"customPolicies": [{"prefix": "quay.io/", "action": "reject"}, {"prefix": "ghcr.io/team/", "action": "scan"}]}}),
        &[("redundant", redundant)],
    );
    // It keeps its images from the next one.
    check(
        &json!({"preScanPolicies": {"customPolicies": [{"prefix": "ghcr.io/team/", "action": "scan"}, {"prefix": "ghcr.io/", "action": "reject"}]}}),
        &[],
    );
    // A namespace with another default and no list of its own needs it.
    check(
        &json!({"preScanPolicies": {"customPolicies": [{"prefix": "ghcr.io/team/", "action": "scan"}], "byNamespace": {"here": {"defaultPolicy": "reject"}}}}),
        &[],
    );
    check(
        &json!({"scanPolicies": {"reportPending": "accept", "byNamespace": {
            "here": {"defaultPolicy": "scan-result", "reportPending": "accept"}, "kube-system": {"reportPending": "reject"}}}}),
        &[(
            "namespace-without-effect",
            "scanPolicies.byNamespace.here: it says what the top level says; remove it, or say what is different",
        )],
    );
}

#[test]
fn a_grace_period_of_what_runs_that_others_cover() {
    let of = |acceptance: Value| json!({"acceptance": acceptance, "reports": {"platforms": ["linux/amd64"], "sources": [{"trivyOperator": {}}]}});
    let covered = |path: &str| {
        format!(
            "{path}: `fixGracePeriod` and `unfixedGracePeriod` are as long: what it would let start starts anyway; make it longer, or remove it"
        )
    };
    let week = json!({"grace": "7d"});
    let both = json!({"running": week, "fixGracePeriod": "7d", "unfixedGracePeriod": "1w"});
    check(&of(both), &[("never-matches", covered("acceptance.running").as_str())]);
    let here = |own: Value| json!({"fixGracePeriod": "14d", "unfixedGracePeriod": "14d", "byNamespace": {"here": own}});
    check(
        &of(here(json!({"running": week}))),
        &[("never-matches", covered("acceptance.byNamespace.here.running").as_str())],
    );
    for needed in [
        json!({"running": week}),
        json!({"running": week, "fixGracePeriod": "7d"}),
        json!({"running": week, "fixGracePeriod": "7d", "unfixedGracePeriod": "6d"}),
        json!({"running": week, "fixGracePeriod": "7d", "unfixedGracePeriod": {"critical": "7d"}}),
        here(json!({"running": {"grace": "15d"}})),
        here(json!({"running": week, "fixGracePeriod": "1d"})),
    ] {
        check(&of(needed), &[]);
    }
}

#[test]
fn rules_that_no_image_comes_to() {
    let reject = json!([{"prefix": "quay.io/", "action": "reject"}]);
    check(
        &json!({"preScanPolicies": {"defaultPolicy": "accept", "customPolicies": reject}, "scanPolicies": {"customPolicies": reject}}),
        &[
            (
                "never-reached",
                "scanPolicies: pre-scan has no `scan`, so that no image comes to this and it is never read; say `scan` for those that it is about",
            ),
            (
                "deny-list",
                "preScanPolicies: images that aren't listed are accepted, so an image only needs another name; list what may run, and make `reject` the default policy",
            ),
        ],
    );
    // One namespace is scanned.
    check(
        &json!({"preScanPolicies": {"defaultPolicy": "accept", "byNamespace": {"here": {"defaultPolicy": "scan"}}}, "scanPolicies": {"customPolicies": reject}}),
        &[],
    );
    // Custom rules decide themselves.
    check(
        &json!({"preScanPolicies": {"defaultPolicy": "accept"}, "preCustomRules": "deny_pod[\"x\"] { false }", "scanPolicies": {"customPolicies": reject}}),
        &[],
    );
    // Whatever only a scan reads, also where it says what holds without it.
    let never = |key: &str| {
        format!(
            "{key}: pre-scan has no `scan`, so that no image comes to this and it is never read; say `scan` for those that it is about"
        )
    };
    let read = json!({"policies": {"reportPending": "accept"}, "reports": {"platforms": ["linux/amd64"]},
        "acceptance": {"maxSeverity": {"critical": {"total": 0}}}, "exemptions": []});
    let with = |default: &str| {
        let mut settings = read.clone();
        settings["preScanPolicies"] = json!({"defaultPolicy": default});
        settings
    };
    let all = ["policies", "reports", "acceptance"].map(never);
    check(&with("accept"), &all.each_ref().map(|text| ("never-reached", text.as_str())));
    check(&with("scan"), &[]);
    // Rules in Rego may look at reports.
    let mut seen = with("accept");
    seen["regoPolicies"] = json!([{"name": "p", "kinds": ["Pod"], "rego": "package p"}]);
    check(&seen, &[]);
    check(
        &json!({"preScanPolicies": {"defaultPolicy": "accept"}, "customRules": "deny_image[\"no\"] { true }"}),
        &[("never-reached", &never("customRules"))],
    );
    check(
        &json!({"scanPolicies": {"defaultPolicy": "accept"}, "acceptance": {"denyAlways": ["CVE-1"]}}),
        &[(
            "never-reached",
            "acceptance: the scan phase has no `scan-result`, so that no finding decides; say `scan-result`, or remove them",
        )],
    );
    // Rules of one's own alone, which don't look.
    let own = |rules: &str| json!({"scanPolicies": {"autoGenerate": false}, "acceptance": {"denyAlways": ["CVE-1"]}, "customRules": rules});
    check(
        &own("deny_image[\"no\"] { input.x }"),
        &[(
            "never-reached",
            "acceptance: `autoGenerate` is false and `customRules` don't look at `input.ScanReport`, so that no finding decides; look at its `Status`, write `autoGenerate: true`, or remove them",
        )],
    );
    check(&own("deny_image[\"no\"] { input.ScanReport.Status != \"accepted\" }"), &[]);
    let exemption = json!([{"vulnerability": "CVE-1", "images": ["ghcr.io/"], "reason": "r", "expires": "2099-01-01"}]);
    check(
        &json!({"scanPolicies": {"defaultPolicy": "accept"}, "exemptions": exemption}),
        &[(
            "never-reached",
            "exemptions: the scan phase has no `scan-result`, so that no finding decides; say `scan-result`, or remove them",
        )],
    );
}

#[test]
fn namespaces_and_days() {
    check(
        &json!({
            "preScanPolicies": {"byNamespace": {"gone": {"defaultPolicy": "accept"}, "here": {"defaultPolicy": "accept"}}},
            "exemptions": [
                {"vulnerability": "CVE-1", "images": ["ghcr.io/"], "reason": "r", "expires": "2024-01-31"},
                {"vulnerability": "CVE-1", "images": ["ghcr.io/"], "reason": "r", "expires": "2099-01-31", "namespaces": ["here", "left"]},
            ],
        }),
        &[
            (
                "unknown-namespace",
                "preScanPolicies.byNamespace.gone: the cluster has no namespace `gone`: if somebody creates it, this holds for it; correct the name, or remove it",
            ),
            (
                "unknown-namespace",
                "exemptions[1].namespaces: the cluster has no namespace `left`: if somebody creates it, this holds for it; correct the name, or remove it",
            ),
            (
                "exemption-ended",
                "exemptions[0]: it ended with 2024-01-31; remove it, or give it a later day in `expires`",
            ),
        ],
    );
}

#[test]
fn globs_of_namespaces() {
    check(
        &json!({
            "preScanPolicies": {"byNamespace": {"gone-*": {"defaultPolicy": "accept"}, "h*e": {"defaultPolicy": "accept"}}},
            "acceptance": {"byNamespace": {"*-gone": {"count": "entries"}}},
            "exemptions": [
                {"vulnerability": "CVE-1", "images": ["ghcr.io/"], "reason": "r", "expires": "2099-01-31", "namespaces": ["he*", "left-*"]},
                {"vulnerability": "CVE-1", "images": ["ghcr.io/"], "reason": "r", "expires": "2099-01-31", "namespaces": ["*"]},
            ],
        }),
        &[
            (
                "redundant",
                "exemptions[1].namespaces: `*` matches every namespace, as an exemption does without `namespaces`; remove them",
            ),
            (
                "unknown-namespace",
                "preScanPolicies.byNamespace.gone-*: the cluster has no namespace like `gone-*`: if somebody creates one, this holds for it; correct the name, or remove it",
            ),
            (
                "unknown-namespace",
                "acceptance.byNamespace.*-gone: the cluster has no namespace like `*-gone`: if somebody creates one, this holds for it; correct the name, or remove it",
            ),
            (
                "unknown-namespace",
                "exemptions[0].namespaces: the cluster has no namespace like `left-*`: if somebody creates one, this holds for it; correct the name, or remove it",
            ),
        ],
    );
}

#[test]
fn entries_that_say_what_a_glob_says() {
    let says =
        |path: &str, says: &str| format!("{path}: it says what {says} says; remove it, or say what is different");
    let pre_scan = |by_namespace: Value| json!({"preScanPolicies": {"byNamespace": by_namespace}});
    let (reject, accept) = (json!({"defaultPolicy": "reject"}), json!({"defaultPolicy": "accept"}));
    let here = "preScanPolicies.byNamespace.here";
    check(
        &pre_scan(json!({"h*": reject, "here": reject})),
        &[("namespace-without-effect", &says(here, "`preScanPolicies.byNamespace.h*`"))],
    );
    // It keeps the glob from deciding.
    check(&pre_scan(json!({"h*": reject, "here": {}})), &[]);
    check(&pre_scan(json!({"h*": reject, "here": {"defaultPolicy": "scan"}})), &[]);
    // What one glob says may keep another from deciding, too.
    check(&pre_scan(json!({"*": reject, "h*": {}})), &[]);
    check(&pre_scan(json!({"*e": reject, "he*": {}})), &[]);
    let glob = "preScanPolicies.byNamespace.he*";
    check(
        &pre_scan(json!({"*": reject, "he*": reject, "here": accept})),
        &[("namespace-without-effect", &says(glob, "`preScanPolicies.byNamespace.*`"))],
    );
    check(
        &pre_scan(json!({"he*": {"defaultPolicy": "scan"}})),
        &[("namespace-without-effect", &says(glob, "the top level"))],
    );
    let acceptance = |by_namespace: Value| json!({"acceptance": {"byNamespace": by_namespace}});
    let listed = json!({"denyAlways": ["CVE-1"]});
    check(&acceptance(json!({"h*": listed, "here": {}})), &[]);
    check(
        &acceptance(json!({"h*": listed, "here": listed})),
        &[("namespace-without-effect", &says("acceptance.byNamespace.here", "`acceptance.byNamespace.h*`"))],
    );
    check(
        &acceptance(json!({"h*": {}})),
        &[("namespace-without-effect", &says("acceptance.byNamespace.h*", "the top level"))],
    );
}

#[test]
fn a_glob_may_be_about_the_namespace_that_runs_the_cluster() {
    let is_told = |by_namespace: Value| {
        let lints = Settings::read(&json!({"preScanPolicies": {"byNamespace": by_namespace}})).unwrap().lint(NOW, None);
        lints.iter().any(|lint| lint.rule == LintRule::KubeSystem)
    };
    let accept = json!({"defaultPolicy": "accept"});
    assert!(!is_told(json!({"kube-system": accept})) && !is_told(json!({"kube-*": accept})));
    assert!(is_told(json!({"*": accept})) && is_told(json!({"prod-*": accept})));
    let lints =
        Settings::read(&json!({"scanPolicies": {"byNamespace": {"kube-*": {}, "*": {}}}})).unwrap().lint(NOW, None);
    let fixes: Vec<_> = lints
        .iter()
        .filter(|lint| lint.rule == LintRule::NamespaceWithoutEffect)
        .map(|lint| (lint.path.as_str(), lint.fix.is_some()))
        .collect();
    assert_eq!(fixes, [("scanPolicies.byNamespace.kube-*", false), ("scanPolicies.byNamespace.*", true)]);
}

/// What hides an entry does so for every image: an earlier entry decides whatever the later one would.
#[test]
fn what_is_said_to_never_decide_never_does() {
    use image_admission_image::{ImageList, ImageReference, NotAnImage, WorkloadImage};
    let prefixes = [
        "g",
        "ghcr.io",
        "ghcr.io/",
        "ghcr.io/app",
        "ghcr.io/app:1",
        "ghcr.io/app:1.2",
        "docker.io/library/",
        "docker.io/nginx",
        "team/",
    ];
    let digest = format!("@sha256:{}", "0".repeat(64));
    let images = ["ghcr.io/app:1.2", "ghcr.io/app", "ghcr.io/apple:1", "nginx", "nginx:1", "team/a", "ghcr.io.evil/a"];
    let mut hidden = 0;
    for one in prefixes {
        for other in prefixes {
            for (first, second) in [("accept", "reject"), ("reject", "accept"), ("scan", "reject"), ("accept", "scan")]
            {
                let settings = json!({"preScanPolicies": {"customPolicies": [{"prefix": one, "action": first}, {"prefix": other, "action": second}]}});
                let settings = Settings::read(&settings).unwrap();
                if !settings.lint(NOW, None).iter().any(|lint| lint.rule == LintRule::NeverMatches) {
                    continue;
                }
                hidden += 1;
                for image in images.iter().flat_map(|image| [(*image).to_owned(), format!("{image}{digest}")]) {
                    let reference = ImageReference::parse(&image).unwrap();
                    let image = WorkloadImage {
                        list: ImageList::Container,
                        position: 1,
                        container: String::new(),
                        pointer: String::new(),
                        text: image.clone(),
                        reference: Err(NotAnImage::Missing),
                    };
                    let rule =
                        crate::policy::rule_for(&settings.pre_scan, "ns", &image, &reference, ImageMatching::Canonical);
                    let decided_by_second = rule.prefix.as_ref().is_some_and(|prefix| prefix.as_str() == other)
                        && rule.action.name() == second;
                    assert!(!decided_by_second, "{one} {other} {}", image.text);
                }
            }
        }
    }
    assert!(hidden > 40, "{hidden}");
}

#[test]
fn lists_that_another_name_gets_around() {
    let open = |action: &str| {
        format!(
            "preScanPolicies: images that aren't listed are accepted, so an image only needs another name; list what may run, and make `{action}` the default policy"
        )
    };
    let settings = |default: &str, list: Value, kube_system: &str| {
        json!({"preScanPolicies": {
            "defaultPolicy": default, "customPolicies": list, "byNamespace": {"kube-system": {"defaultPolicy": kube_system}},
        }})
    };
    let entry = |prefix: &str, action: &str| json!({"prefix": prefix, "action": action});
    let listed = json!([entry("ghcr.io/team/", "scan")]);
    check(&settings("accept", listed.clone(), "scan"), &[("deny-list", &open("scan"))]);
    let mixed = json!([entry("ghcr.io/team/", "scan"), entry("quay.io/", "reject"), entry("docker.io/", "accept")]);
    check(&settings("accept", mixed, "scan"), &[("deny-list", &open("reject"))]);
    // Elsewhere it says what is scanned, and what isn't listed is rejected.
    check(&settings("reject", listed, "accept"), &[]);
    check(&settings("scan", json!([entry("quay.io/", "reject")]), "accept"), &[("deny-list", &open("reject"))]);
}

#[test]
fn namespaces_of_acceptance() {
    let limits = json!({"critical": {"total": 0}});
    check(
        &json!({"acceptance": {"byNamespace": {"here": {"maxSeverity": limits}, "kube-system": {"maxSeverity": {"critical": {"total": 0}, "high": {"total": 0}}}}}}),
        &[(
            "namespace-without-effect",
            "acceptance.byNamespace.here: it says what the top level says; remove it, or say what is different",
        )],
    );
    check(
        &json!({"acceptance": {"byNamespace": {"gone": {"denyAlways": ["CVE-1"]}}}}),
        &[(
            "unknown-namespace",
            "acceptance.byNamespace.gone: the cluster has no namespace `gone`: if somebody creates it, this holds for it; correct the name, or remove it",
        )],
    );
}

#[test]
fn limits_that_leave_out_the_worst() {
    let open = "critical findings have no limit, because the default of none holds only while no severity is set; set `maxSeverity.critical` too";
    let high = json!({"high": {"total": 5}});
    check(&json!({"acceptance": {"maxSeverity": high}}), &[("critical-unlimited", &format!("acceptance: {open}"))]);
    check(&json!({"acceptance": {"maxSeverity": high, "cvssScore": {"threshold": 9.0}}}), &[]);
    check(
        &json!({"acceptance": {"byNamespace": {"here": {"maxSeverity": high}}}}),
        &[("critical-unlimited", &format!("acceptance.byNamespace.here: {open}"))],
    );
    // A source without scores.
    let custom = json!({"custom": {"apiVersion": "a/v1", "kind": "Scan", "namespaces": ["a"], "fields":
        {"digest": "d", "findings": "f", "id": "i", "severity": "s"}}});
    let two =
        |acceptance: Value| json!({"acceptance": acceptance, "reports": {"sources": [{"sbomscanner": {}}, custom]}});
    let silent = "acceptance: reports of custom have no scores, so that `cvssScore` alone lets their critical findings in; set `maxSeverity.critical` too";
    let own = "acceptance: severities of custom that aren't known, like `Severe`, count as `unknown`, which has no limit; set `maxSeverity.unknown`, too";
    let scores = json!({"threshold": 9.0});
    check(&two(json!({"cvssScore": scores})), &[("critical-unlimited", silent)]);
    check(
        &two(json!({"cvssScore": scores, "maxSeverity": {"critical": {"total": 0}}})),
        &[("critical-unlimited", own)],
    );
    check(&two(json!({"maxSeverity": {"critical": {"total": 0}, "unknown": {"total": 9}}})), &[]);
}

#[test]
fn an_exemption_without_a_reason_of_somebodys_own() {
    let exempted = |reason: &str| json!({"exemptions": [{"vulnerability": "CVE-1", "images": ["ghcr.io/"], "reason": reason, "expires": "2099-01-01"}]});
    let said =
        "exemptions[0].reason: nobody said it yet: write why the findings don't count, and where that is tracked";
    check(&exempted(crate::UNSAID_REASON), &[("reason-unsaid", said)]);
    check(&exempted("not reachable, TICKET-7"), &[]);
    // It is said in the log of each start too.
    assert!(Settings::read(&exempted(crate::UNSAID_REASON)).unwrap().notices().contains(&said.to_owned()));
}

#[test]
fn what_gets_in_weighs_most() {
    let weights = |settings: Value| -> Vec<(&str, LintSeverity, bool)> {
        let lints = Settings::read(&settings).unwrap().lint(NOW, None);
        let own = lints.iter().filter(|lint| !matches!(lint.rule, LintRule::KubeSystem | LintRule::AnyRegistry));
        own.map(|lint| (lint.rule.name(), lint.severity, lint.fix.is_some())).collect()
    };
    let list = |entries: Value| json!({"registries": ["ghcr.io"], "preScanPolicies": {"defaultPolicy": "reject", "customPolicies": entries}});
    let entry = |prefix: &str, action: &str| json!({"prefix": prefix, "action": action});
    use LintSeverity::{Error, Note, Warning};
    for (entries, expected) in [
        // What should be kept out gets in; the other way round nothing does.
        (json!([entry("ghcr.io/", "accept"), entry("ghcr.io/a/", "reject")]), vec![("never-matches", Error, false)]),
        (json!([entry("ghcr.io/", "accept"), entry("quay.io/", "reject")]), vec![("redundant", Note, true)]),
        (json!([entry("ghcr.io/", "scan"), entry("ghcr.io/a/", "accept")]), vec![("never-matches", Warning, false)]),
        (json!([entry("ghcr.io/", "accept"), entry("ghcr.io/a/", "accept")]), vec![("never-matches", Warning, true)]),
        // A whole host is certain, the beginning of one isn't, and what rejects must not reject less.
        (json!([entry("ghcr.io", "accept")]), vec![("open-prefix", Error, true)]),
        (json!([entry("GHCR.IO:443", "accept")]), vec![("open-prefix", Error, true)]),
        (json!([entry("docker.io", "accept")]), vec![("open-prefix", Error, true)]),
        (json!([entry("ghcr", "accept")]), vec![("short-name", Error, false)]),
        (json!([entry("quay.io", "accept")]), vec![("open-prefix", Error, false)]),
        (json!([entry("ghcr.io/team", "accept")]), vec![("open-prefix", Error, false)]),
        (json!([entry("ghcr.io", "scan")]), vec![("open-prefix", Warning, false)]),
    ] {
        assert_eq!(weights(list(entries.clone())), expected, "{entries}");
        // Custom rules see these entries as data: nothing that is taken away there is certain.
        for rules in ["preCustomRules", "customRules"] {
            let mut settings = list(entries.clone());
            settings[rules] = json!("deny_pod[\"x\"] { data.preScanPolicies.customPolicies[_].prefix == \"x\" }");
            assert!(weights(settings).iter().all(|(_, _, is_certain)| !is_certain), "{rules}: {entries}");
        }
    }
}

#[test]
fn what_cosign_writes_and_no_host_verifies() {
    let policy = |key: &str, attestation: &str, expression: &str| {
        json!({"imageVerification": [{"name": "signed", "verifyPreScanAccepted": true,
            "attestors": [{"name": "team", "cosign": {"key": {"data": key}}}],
            "attestations": [{"name": "a", "referrer": {"type": attestation}}],
            "verifications": [{"expression": expression}]}]})
    };
    let p256 = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\nawcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\n-----END PUBLIC KEY-----\n";
    let ed25519 = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA5xo/Il+DTV7iP1MK3tCpcZbUhnzDwFk0rx1U5jZv4DY=\n-----END PUBLIC KEY-----\n";
    let images = "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)";
    let envelopes = "images.all.all(i, verifyAttestationSignatures(i, attestations.a, [attestors.team]) > 0)";
    let spdx = "application/spdx+json";
    check(&policy(p256, spdx, images), &[]);
    let prehashed = "imageVerification[0].attestors: the key of `team` is an Ed25519 key, with which cosign signs as Ed25519ph: only plain Ed25519 is verified, so sign with another tool, or with a key of P-256, as `cosign generate-key-pair` makes it";
    for (expression, severity) in [(images, LintSeverity::Warning), (envelopes, LintSeverity::Note)] {
        let settings = policy(ed25519, spdx, expression);
        check(&settings, &[("prehashed-key", prehashed)]);
        let lints = Settings::read(&settings).unwrap().lint(NOW, None);
        assert!(lints.iter().any(|lint| lint.rule == LintRule::PrehashedKey && lint.severity == severity));
    }
    for kind in ["application/vnd.dev.sigstore.bundle.v0.3+json", "application/vnd.dev.cosign.artifact.sig.v1+json"] {
        let message = format!(
            "imageVerification[0].attestations[0].referrer.type: what cosign attaches as `{kind}` is a layer, which hosts don't hand out; make it readable with `image-admission attach`, and ask for it with `intoto`"
        );
        check(&policy(p256, kind, envelopes), &[("in-layer", &message)]);
    }
}

#[test]
fn names_that_images_have_at_a_mirror_alone() {
    let policy = json!({"name": "p", "matchConstraints": {"imageRules": {"references": ["mirror.io/hub/team/*", "docker.io/team/*", "mirror.io/*"]}},
                        "verifications": [{"expression": "true"}], "verifyPreScanAccepted": true});
    let settings = Settings::read(&json!({
        "registries": [{"registry": "docker.io", "mirror": "mirror.io/hub"}, "mirror.io"],
        "preScanPolicies": {"customPolicies": [
            {"prefix": "mirror.io/hub/library/", "action": "reject"},
            {"prefix": "mirror.io/hubs/", "action": "reject"},
            {"prefix": "docker.io/evil/", "action": "reject"},
        ]},
        "imageVerification": [policy],
    }))
    .unwrap();
    let said: Vec<String> = settings
        .lint(NOW, None)
        .iter()
        .filter(|lint| lint.rule == LintRule::NameAtMirror)
        .map(Lint::to_string)
        .collect();
    assert_eq!(
        said,
        [
            "preScanPolicies.customPolicies[0]: the prefix `mirror.io/hub/library/` is of names at `mirror.io/hub`, the mirror of `docker.io`, which no image may have; write `docker.io/library/`",
            "imageVerification[0].matchConstraints.imageRules.references[0]: the glob `mirror.io/hub/team/*` is of names at `mirror.io/hub`, the mirror of `docker.io`, which no image may have; write `docker.io/team/*`",
        ]
    );
}

#[test]
fn policies_of_images_that_are_about_deletions_alone() {
    let with = |operations: Value| {
        let rules = json!([{"operations": ["DELETE"], "resources": ["jobs"]}, {"operations": operations, "resources": ["pods"]}]);
        json!({"imageVerification": [{"name": "v", "matchConstraints": {"resourceRules": rules}, "verifications": [{"expression": "images.all.all(i, verifyImageSignatures(i, []) > 0)"}]}]})
    };
    let why = "imageVerification[0].matchConstraints.resourceRules: a policy of images is asked when something is created or changed, and never else; add `CREATE` and `UPDATE`";
    check(&with(json!(["DELETE"])), &[("never-asked", why)]);
    check(&with(json!(["CONNECT", "DELETE"])), &[("never-asked", why)]);
    for quiet in [json!([]), json!(["*"]), json!(["CREATE", "UPDATE", "DELETE"])] {
        check(&with(quiet), &[]);
    }
}

#[test]
fn platforms_that_a_source_never_scans() {
    let of = |sources: Value, platforms: Value| {
        let mut reports = json!({"sources": sources});
        if !platforms.is_null() {
            reports["platforms"] = platforms;
        }
        json!({"reports": reports})
    };
    let said = |name: &str, platform: &str| {
        format!(
            "reports.platforms: {name} scans {platform} alone, so that an image with others waits for ever; if all nodes are of this platform, write `[{platform}]`"
        )
    };
    let (amd64, arm64) = (said("trivyOperator", "linux/amd64"), said("trivyOperator", "linux/arm64"));
    let operator = || json!([{"trivyOperator": {}}]);
    check(&of(operator(), json!(null)), &[("unscanned-platforms", &amd64)]);
    check(&of(operator(), json!(["linux/amd64", "linux/arm64"])), &[("unscanned-platforms", &amd64)]);
    check(&of(operator(), json!(["linux/arm64"])), &[("unscanned-platforms", &amd64)]);
    check(
        &of(json!([{"trivyOperator": {"platform": "linux/arm64"}}]), json!("all")),
        &[("unscanned-platforms", &arm64)],
    );
    let both = json!([{"kubescape": {}}, {"trivyOperator": {}}]);
    check(&of(both, json!(null)), &[("unscanned-platforms", &said("kubescape", "linux/amd64"))]);
    check(&of(operator(), json!(["linux/amd64"])), &[]);
    // Another source may scan them.
    check(&of(json!([{"sbomscanner": {}}, {"trivyOperator": {}}]), json!(null)), &[]);
    check(&of(json!([{"kubescape": {}}, {"trivyOperator": {"platform": "linux/arm64"}}]), json!(null)), &[]);
    for phase in [json!({"defaultPolicy": "accept"}), json!({"reportPending": "accept"})] {
        let mut quiet = of(operator(), json!(null));
        quiet["scanPolicies"] = phase;
        check(&quiet, &[]);
    }
}

/// A policy about signatures that asks its one attestor, changed by these keys.
fn signed(changed: Value) -> Value {
    let mut policy = json!({"attestors": [{"name": "ci", "cosign": {"keyless": {"githubActions": {"owner": "team"}}}}],
        "verifications": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"}]});
    policy.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
    verified(&policy)
}

#[test]
fn policies_of_images_that_are_about_creations_alone() {
    let rules = |rules: Value| signed(json!({"matchConstraints": {"resourceRules": rules}}));
    let later = "it is asked on CREATE and not on UPDATE, so that an image that is set later, and one of `kubectl debug`, is never verified; add `UPDATE`";
    let of_rules = format!("imageVerification[0].matchConstraints.resourceRules: {later}");
    check(&rules(json!([{"operations": ["CREATE"], "resources": ["pods"]}])), &[("missing-operation", &of_rules)]);
    let debugged = json!([{"operations": ["CREATE"], "resources": ["pods"]}, {"operations": ["UPDATE"], "resources": ["pods/ephemeralcontainers"]}]);
    check(&rules(debugged), &[("missing-operation", &of_rules)]);
    let first = "imageVerification[0].matchConstraints.resourceRules: it is asked on UPDATE and not on CREATE, so that images are verified only when the object is changed; add `CREATE`";
    check(&rules(json!([{"operations": ["UPDATE"], "resources": ["pods"]}])), &[("missing-operation", first)]);
    for quiet in [
        json!([{"operations": ["CREATE", "UPDATE"], "resources": ["pods"]}]),
        json!([{"operations": ["CREATE"], "resources": ["pods"]}, {"operations": ["UPDATE"], "resources": ["pods"]}]),
        json!([{"operations": ["*"], "resources": ["pods"]}]),
        json!([{"resources": ["pods"]}]),
        // Of `kubectl debug` alone, and of what has images that nobody changes.
        json!([{"operations": ["UPDATE"], "resources": ["pods/ephemeralcontainers"]}]),
        json!([{"operations": ["CREATE"], "resources": ["taskruns"]}]),
        json!([{"resources": ["pods"]}, {"operations": ["CREATE"], "resources": ["jobs"]}]),
    ] {
        check(&rules(quiet), &[]);
    }
    let condition = |text: &str| signed(json!({"matchConditions": [{"name": "c", "expression": text}]}));
    let of_condition = format!("imageVerification[0].matchConditions[0].expression: {later}");
    for text in [
        "request.operation == 'CREATE'",
        "has(object.spec) && request.operation==\"CREATE\"",
        "request.operation == 'CREATE' && request.namespace != 'kube-system'",
        "oldObject == null",
    ] {
        check(&condition(text), &[("missing-operation", &of_condition)]);
    }
    for text in [
        "request.operation == 'CREATE' || request.operation == 'UPDATE'",
        "request.operation in ['CREATE', 'UPDATE']",
        "!(request.operation == 'CREATE')",
        "(request.operation == 'CREATE') == false",
        "request.operation == 'CREATE' ? true : has(object.spec)",
    ] {
        check(&condition(text), &[]);
    }
}

#[test]
fn policies_of_templates_alone() {
    let resources =
        |resources: Value| signed(json!({"matchConstraints": {"resourceRules": [{"resources": resources}]}}));
    let bare = "imageVerification[0].matchConstraints.resourceRules: `pods` aren't among its resources, so that no image of a Pod without a template is verified, and none that a webhook adds to a Pod; add them";
    check(&resources(json!(["deployments", "helmreleases"])), &[("unverified", bare)]);
    for quiet in [
        json!(["deployments", "pods"]),
        json!(["*"]),
        json!(["*/*"]),
        json!(["helmreleases"]),
        json!(["pods/ephemeralcontainers"]),
    ] {
        check(&resources(quiet), &[]);
    }
}

#[test]
fn images_that_a_policy_names_and_pre_scan_accepts() {
    let of = |glob: &str, entries: Value| {
        let mut settings = signed(json!({"matchConstraints": {"imageRules": {"references": [glob]}}}));
        settings["preScanPolicies"] = json!({"customPolicies": entries});
        settings
    };
    let entry = |prefix: &str, action: &str| json!([{"prefix": prefix, "action": action}]);
    let said = |prefix: &str| {
        format!(
            "imageVerification[0]: what pre-scan accepts isn't verified, and its entry `{prefix}` accepts images that this policy names; set `verifyPreScanAccepted: true` here, or write `scan` there"
        )
    };
    for (glob, prefix) in [("ghcr.io/team/*", "ghcr.io/"), ("ghcr.io/*", "ghcr.io/team/")] {
        check(&of(glob, entry(prefix, "accept")), &[("unverified", &said(prefix))]);
    }
    check(&of("ghcr.io/team/*", entry("ghcr.io/other/", "accept")), &[]);
    check(&of("ghcr.io/team/*", entry("ghcr.io/", "reject")), &[]);
    check(&of("*/team/*", entry("ghcr.io/", "accept")), &[]);
    let before = json!([{"prefix": "ghcr.io/team/", "action": "scan"}, {"prefix": "ghcr.io/", "action": "accept"}]);
    check(&of("ghcr.io/team/*", before), &[]);
    let mut asked = of("ghcr.io/team/*", entry("ghcr.io/", "accept"));
    asked["imageVerification"][0]["verifyPreScanAccepted"] = json!(true);
    check(&asked, &[]);
}

#[test]
fn attestors_that_nobody_asks() {
    let asks = |expression: &str| signed(json!({"verifications": [{"expression": expression}]}));
    let idle = "imageVerification[0].attestors: no expression asks `attestors.ci`, so that nobody needs to have signed; ask it with `verifyImageSignatures` or `verifyAttestationSignatures`, or remove it";
    check(&asks("true"), &[("attestors-unused", idle)]);
    check(&asks("images.all.all(i, verifyImageSignatures(i, [attestors.cicd]) > 0)"), &[("attestors-unused", idle)]);
    for quiet in [
        "[attestors.ci]",
        "[attestors . ci]",
        "[attestors['ci']]",
        "attestors.map(a, attestors[a])",
        "[attestors[variables.who]]",
    ] {
        check(
            &asks(&format!(
                "images.all.all(i, verifyImageSignatures(i, {quiet}) > 0 || i.startsWith('ghcr.io/base/'))"
            )),
            &[],
        );
    }
    let key = |name: &str| json!({"name": name, "cosign": {"keyless": {"githubActions": {"owner": "team"}}}});
    let one = "imageVerification[0].attestors: no expression asks `attestors.qa`, so that what it signed counts for nothing; ask it with `verifyImageSignatures` or `verifyAttestationSignatures`, or remove it";
    check(&signed(json!({"attestors": [key("ci"), key("qa")]})), &[("attestors-unused", one)]);
}

#[test]
fn expressions_that_look_at_some_images_or_hold_for_all() {
    let asks = |expression: &str| signed(json!({"verifications": [{"expression": expression}]}));
    let some = "imageVerification[0]: its expressions look at `images.containers` alone: init containers and those of `kubectl debug` run unverified; write `images.all`";
    let of = |list: &str| asks(&format!("images.{list}.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"));
    check(&of("containers"), &[("unverified", some)]);
    check(&of("initContainers"), &[]);
    check(
        &asks("images.containers.size() > 0 && images.all.all(i, verifyImageSignatures(i, [attestors.ci]) > 0)"),
        &[],
    );
    let holds =
        "imageVerification[0].verifications[0].expression: `>= 0` holds for an image that nobody signed; write `> 0`";
    check(&asks("images.all.all(i, verifyImageSignatures(i, [attestors.ci]) >= 0)"), &[("unverified", holds)]);
    for quiet in [
        "verifyImageSignatures(i, [attestors.ci]) >= 1",
        "i.indexOf(':') >= 0 && verifyImageSignatures(i, [attestors.ci]) > 0",
    ] {
        check(&asks(&format!("images.all.all(i, {quiet})")), &[]);
    }
    let own = json!({"images": [{"name": "containers", "expression": "[object.spec.image]"}]});
    let mut tasks = of("containers");
    tasks["imageVerification"][0].as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    check(&tasks, &[]);
}

#[test]
fn policies_about_images_that_see_every_update() {
    let policy = |rego: &str| json!({"regoPolicies": [{"name": "tags", "kinds": ["Pod"], "rego": format!("package tags\n{rego}")}]});
    let why = "regoPolicies[0]: `tags` looks at images and not at what is done, so that it holds up labels, finalizers and scaling of what runs already; ask for `input.request.operation`, or compare with `input.request.oldObject`";
    let said = [("every-operation", why)];
    check(&policy("deny[\"latest\"] { endswith(input.images.containers[_], \":latest\") }"), &said);
    check(&policy("violation[{\"msg\": \"x\"}] { input.spec.containers[_].image == \"x\" }"), &said);
    for quiet in [
        "deny[\"x\"] { input.request.operation == \"CREATE\"; endswith(input.images.containers[_], \":latest\") }",
        "deny[\"x\"] { image := input.images.containers[_]; not image == input.request.oldObject.spec.containers[_].image }",
        "deny[\"x\"] { not input.metadata.labels.owner }",
        // Configurations are only given for new images.
        "deny[\"x\"] { input.imageConfigs[image][_].runsAsRoot; image != \"\" }",
        "warn[\"x\"] { endswith(input.images.containers[_], \":latest\") }",
    ] {
        check(&policy(quiet), &[]);
    }
}

#[test]
fn patches_of_pods_that_see_every_update() {
    let patch = |kinds: &[&str], rego: &str| json!({"regoPolicies": [{"name": "token", "kinds": kinds, "rego": format!("package token\n{rego}")}]});
    let sets = "patch[{\"op\": \"add\", \"path\": \"/spec/automountServiceAccountToken\", \"value\": false}]";
    let why = "regoPolicies[0]: `token` changes the spec of Pods when they are updated too, which the API server refuses, so that labels and finalizers of what runs already are held up; ask for `input.request.operation == \"CREATE\"`";
    for kinds in [["Pod"], ["Workload"], ["*"], ["v1/Pod"]] {
        check(&patch(&kinds, &format!("{sets} {{ true }}")), &[("every-operation", why)]);
    }
    check(&patch(&["Pod"], &format!("{sets} {{ input.request.operation == \"CREATE\" }}")), &[]);
    check(&patch(&["apps/Deployment"], &format!("{sets} {{ true }}")), &[]);
    // What a Pod lets change.
    for path in ["/spec/containers/0/image", "/spec/tolerations/-"] {
        check(&patch(&["Pod"], &sets.replace("/spec/automountServiceAccountToken", path)), &[]);
    }
    check(
        &patch(&["Pod"], "patch[{\"op\": \"add\", \"path\": \"/metadata/labels/a\", \"value\": \"b\"}] { true }"),
        &[],
    );
}

#[test]
fn failures_that_are_accepted_whoever_caused_them() {
    let why = "an image that can't be found is admitted: somebody can name it first, and push it afterwards; write `accept-outages`, which admits only what fails by an outage";
    let settings = json!({"scanPolicies": {"scanFailed": "accept", "byNamespace": {"here": {"scanFailed": "accept", "defaultPolicy": "accept"}}}});
    let said: Vec<(String, Option<LintFix>)> = Settings::read(&settings)
        .unwrap()
        .lint(NOW, None)
        .into_iter()
        .filter(|lint| lint.rule == LintRule::AcceptsFailures)
        .map(|lint| (lint.to_string(), lint.fix))
        .collect();
    let expected = ["scanPolicies.scanFailed", "scanPolicies.byNamespace.here.scanFailed"].map(|path| {
        let fix = LintFix::Replace { path: path.to_owned(), text: "accept-outages".to_owned() };
        (format!("{path}: {why}"), Some(fix))
    });
    assert_eq!(said, expected);
    check(&json!({"scanPolicies": {"scanFailed": "accept-outages"}}), &[]);
}
