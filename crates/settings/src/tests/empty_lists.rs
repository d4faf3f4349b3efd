//! Lists that are empty, or have an empty string: what each means, and which are refused. Templates write them where a value is
//! missing. Such a list must not admit more than its author meant.

use super::super::*;
use serde_json::json;
use std::collections::BTreeSet;

/// What a list means.
#[derive(Clone, Copy)]
enum Means {
    /// It is refused, with this.
    Refused(&'static str),
    /// The same as none.
    LeftOut,
    /// Something of its own: what.
    Own(&'static str),
    /// Entries are objects, and a string is none.
    NoText,
}

use Means::{LeftOut, NoText, Own, Refused};

/// A list of the settings: its path, settings with `$` in its place, what `[]` means, and what `[""]` does.
const LISTS: [(&str, &str, Means, Means); 75] = [
    ("preScanPolicies.customPolicies", r#"{"preScanPolicies": {"customPolicies": $}}"#, LeftOut, NoText),
    (
        "preScanPolicies.byNamespace.*.customPolicies",
        r#"{"preScanPolicies": {"byNamespace": {"shop": {"customPolicies": $}}}}"#,
        Own("it replaces that of the top level, as the controllers document it"),
        NoText,
    ),
    ("scanPolicies.customPolicies", r#"{"scanPolicies": {"customPolicies": $}}"#, LeftOut, NoText),
    (
        "scanPolicies.byNamespace.*.customPolicies",
        r#"{"scanPolicies": {"byNamespace": {"shop": {"customPolicies": $}}}}"#,
        Own("it replaces that of the top level, as the controllers document it"),
        NoText,
    ),
    // Without it any registry is asked, as its reference says; the lint warns of both alike.
    ("registries", r#"{"registries": $}"#, LeftOut, Refused("registries[0]: ")),
    ("placeholders", r#"{"placeholders": $}"#, LeftOut, Own("an image that is missing or blank")),
    ("context", r#"{"context": $}"#, LeftOut, NoText),
    ("regoPolicies", r#"{"regoPolicies": $}"#, LeftOut, NoText),
    (
        "regoPolicies[].kinds",
        r#"{"regoPolicies": [{"name": "p", "rego": "package p", "kinds": $}]}"#,
        Refused("regoPolicies[0].kinds: kinds not defined for policy: p"),
        Refused("regoPolicies[0].kinds: kinds not defined for policy: p"),
    ),
    ("regoLibraries", r#"{"regoLibraries": $}"#, LeftOut, NoText),
    (
        "pin.kinds",
        r#"{"pin": {"kinds": $}}"#,
        Refused(
            "pin.kinds: an empty list would leave every image unpinned; leave it out for Pods, or set `pin.enabled: false`",
        ),
        Refused("pin.kinds[0]: `` is not a workload"),
    ),
    (
        "pin.exclude",
        r#"{"pin": {"exclude": $}}"#,
        LeftOut,
        Refused("pin.exclude[0]: the glob is empty and matches no image"),
    ),
    // What reports and SBOMs count.
    ("reports.sources", r#"{"reports": {"sources": $}}"#, Refused("reports.sources: without a source"), NoText),
    ("reports.sboms", r#"{"reports": {"sboms": $}}"#, LeftOut, NoText),
    ("reports.vex", r#"{"reports": {"vex": $}}"#, Refused("reports.vex: no place is named"), NoText),
    (
        "reports.platforms",
        r#"{"reports": {"platforms": $}}"#,
        Refused("reports.platforms: an empty list would leave nothing to judge"),
        Refused("reports.platforms[0]: `` is not a platform"),
    ),
    (
        "reports.sources[].sbomscanner.namespaces",
        r#"{"reports": {"sources": [{"sbomscanner": {"namespaces": $}}]}}"#,
        Refused("reports.sources[0].sbomscanner.namespaces: no namespace is trusted"),
        Refused("reports.sources[0].sbomscanner.namespaces[0]: `` is not the name of a namespace"),
    ),
    // Names that are computed; reports of other names are looked for in a list.
    (
        "reports.sources[].sbomscanner.registryResources",
        r#"{"reports": {"sources": [{"sbomscanner": {"registryResources": $}}]}}"#,
        LeftOut,
        Refused("reports.sources[0].sbomscanner.registryResources[0]: `` is not the name of a resource"),
    ),
    (
        "reports.sources[].trivyOperator.namespaces",
        r#"{"reports": {"sources": [{"trivyOperator": {"namespaces": $}}]}}"#,
        LeftOut,
        Refused("reports.sources[0].trivyOperator.namespaces[0]: `` is not the name of a namespace"),
    ),
    (
        "reports.sources[].custom.namespaces",
        r#"{"reports": {"sources": [{"custom": {"apiVersion": "a.io/v1", "kind": "Report", "namespaces": $, "fields": {"digest": "d", "verdict": "v"}}}]}}"#,
        Refused("reports.sources[0].custom.namespaces: no namespace is trusted"),
        Refused("reports.sources[0].custom.namespaces[0]: `` is not the name of a namespace"),
    ),
    (
        "reports.sources[].registry.attestors",
        r#"{"reports": {"sources": [{"registry": {"attestors": $}}]}}"#,
        Refused("reports.sources[0].registry.attestors: anybody who can push"),
        NoText,
    ),
    (
        "reports.sources[].registry.attestors[].cosign.keyless.identities",
        r#"{"reports": {"sources": [{"registry": {"attestors": [{"name": "a", "cosign": {"keyless": {"identities": $}}}]}}]}}"#,
        Refused("reports.sources[0].registry.attestors[0].cosign.keyless: set `identities`"),
        NoText,
    ),
    (
        "reports.sboms[].sbomscanner.namespaces",
        r#"{"reports": {"sboms": [{"sbomscanner": {"namespaces": $}}]}}"#,
        Refused("reports.sboms[0].sbomscanner.namespaces: no namespace is trusted"),
        Refused("reports.sboms[0].sbomscanner.namespaces[0]: `` is not the name of a namespace"),
    ),
    (
        "reports.sboms[].sbomscanner.registryResources",
        r#"{"reports": {"sboms": [{"sbomscanner": {"registryResources": $}}]}}"#,
        LeftOut,
        Refused("reports.sboms[0].sbomscanner.registryResources[0]: `` is not the name of a resource"),
    ),
    (
        "reports.sboms[].trivyOperator.namespaces",
        r#"{"reports": {"sboms": [{"trivyOperator": {"namespaces": $}}]}}"#,
        LeftOut,
        Refused("reports.sboms[0].trivyOperator.namespaces[0]: `` is not the name of a namespace"),
    ),
    (
        "reports.sboms[].registry.attestors",
        r#"{"reports": {"sboms": [{"registry": {"attestors": $}}]}}"#,
        Refused("reports.sboms[0].registry.attestors: anybody who can push"),
        NoText,
    ),
    (
        "reports.sboms[].registry.attestors[].cosign.keyless.identities",
        r#"{"reports": {"sboms": [{"registry": {"attestors": [{"name": "a", "cosign": {"keyless": {"identities": $}}}]}}]}}"#,
        Refused("reports.sboms[0].registry.attestors[0].cosign.keyless: set `identities`"),
        NoText,
    ),
    (
        "reports.vex[].attestors",
        r#"{"reports": {"vex": [{"attestors": $}]}}"#,
        Refused("reports.vex[0].attestors: anybody who can push"),
        NoText,
    ),
    (
        "reports.vex[].attestors[].cosign.keyless.identities",
        r#"{"reports": {"vex": [{"attestors": [{"name": "a", "cosign": {"keyless": {"identities": $}}}]}]}}"#,
        Refused("reports.vex[0].attestors[0].cosign.keyless: set `identities`"),
        NoText,
    ),
    (
        "reports.sources[].registry.attestors[].notary.trustedIdentities",
        r#"{"reports": {"sources": [{"registry": {"attestors": [{"name": "a", "notary": {"certs": "PEM", "trustedIdentities": $}}]}}]}}"#,
        Refused("reports.sources[0].registry.attestors[0].notary.trustedIdentities: say whose signatures count"),
        Own("no subject, which the engine refuses when the policy is deployed"),
    ),
    (
        "reports.sources[].attestation.attestors",
        r#"{"reports": {"sources": [{"attestation": {"predicateType": "a", "attestors": $}}]}}"#,
        Refused("reports.sources[0].attestation.attestors: anybody who can push"),
        NoText,
    ),
    (
        "reports.sources[].attestation.attestors[].cosign.keyless.identities",
        r#"{"reports": {"sources": [{"attestation": {"predicateType": "a", "attestors": [{"name": "a", "cosign": {"keyless": {"identities": $}}}]}}]}}"#,
        Refused("reports.sources[0].attestation.attestors[0].cosign.keyless: set `identities`"),
        NoText,
    ),
    (
        "reports.sources[].attestation.attestors[].notary.trustedIdentities",
        r#"{"reports": {"sources": [{"attestation": {"predicateType": "a", "attestors": [{"name": "a", "notary": {"certs": "PEM", "trustedIdentities": $}}]}}]}}"#,
        Refused("reports.sources[0].attestation.attestors[0].notary.trustedIdentities: say whose signatures count"),
        Own("no subject, which the engine refuses when the policy is deployed"),
    ),
    (
        "reports.sboms[].registry.attestors[].notary.trustedIdentities",
        r#"{"reports": {"sboms": [{"registry": {"attestors": [{"name": "a", "notary": {"certs": "PEM", "trustedIdentities": $}}]}}]}}"#,
        Refused("reports.sboms[0].registry.attestors[0].notary.trustedIdentities: say whose signatures count"),
        Own("no subject, which the engine refuses when the policy is deployed"),
    ),
    (
        "reports.sboms[].attestation.attestors",
        r#"{"reports": {"sboms": [{"attestation": {"predicateType": "a", "attestors": $}}]}}"#,
        Refused("reports.sboms[0].attestation.attestors: anybody who can push"),
        NoText,
    ),
    (
        "reports.sboms[].attestation.attestors[].cosign.keyless.identities",
        r#"{"reports": {"sboms": [{"attestation": {"predicateType": "a", "attestors": [{"name": "a", "cosign": {"keyless": {"identities": $}}}]}}]}}"#,
        Refused("reports.sboms[0].attestation.attestors[0].cosign.keyless: set `identities`"),
        NoText,
    ),
    (
        "reports.sboms[].attestation.attestors[].notary.trustedIdentities",
        r#"{"reports": {"sboms": [{"attestation": {"predicateType": "a", "attestors": [{"name": "a", "notary": {"certs": "PEM", "trustedIdentities": $}}]}}]}}"#,
        Refused("reports.sboms[0].attestation.attestors[0].notary.trustedIdentities: say whose signatures count"),
        Own("no subject, which the engine refuses when the policy is deployed"),
    ),
    (
        "reports.vex[].attestors[].notary.trustedIdentities",
        r#"{"reports": {"vex": [{"attestors": [{"name": "a", "notary": {"certs": "PEM", "trustedIdentities": $}}]}]}}"#,
        Refused("reports.vex[0].attestors[0].notary.trustedIdentities: say whose signatures count"),
        Own("no subject, which the engine refuses when the policy is deployed"),
    ),
    // What findings are accepted.
    (
        "acceptance.denyAlways",
        r#"{"acceptance": {"denyAlways": $}}"#,
        Own("none"),
        Refused("acceptance.denyAlways[0]: `` is not the id"),
    ),
    (
        "acceptance.allowAlways",
        r#"{"acceptance": {"allowAlways": $}}"#,
        Own("none"),
        Refused("acceptance.allowAlways[0]: `` is not the id"),
    ),
    (
        "acceptance.byNamespace.*.denyAlways",
        r#"{"acceptance": {"byNamespace": {"shop": {"denyAlways": $}}}}"#,
        Own("it replaces that of the top level, as its guide says"),
        Refused("acceptance.byNamespace.shop.denyAlways[0]: `` is not the id"),
    ),
    (
        "acceptance.byNamespace.*.allowAlways",
        r#"{"acceptance": {"byNamespace": {"shop": {"allowAlways": $}}}}"#,
        Own("it replaces that of the top level, as its guide says"),
        Refused("acceptance.byNamespace.shop.allowAlways[0]: `` is not the id"),
    ),
    (
        "acceptance.packages.deny",
        r#"{"acceptance": {"packages": {"deny": $}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        Refused("acceptance.packages.deny: no package is denied"),
        NoText,
    ),
    (
        "acceptance.licenses.deny",
        r#"{"acceptance": {"licenses": {"deny": $}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        Refused("acceptance.licenses.deny: it names no licence"),
        Refused("acceptance.licenses.deny[0]: "),
    ),
    (
        "acceptance.licenses.allow",
        r#"{"acceptance": {"licenses": {"allow": $}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        Refused("acceptance.licenses.allow: it names no licence"),
        Refused("acceptance.licenses.allow[0]: "),
    ),
    (
        "acceptance.licenses.except",
        r#"{"acceptance": {"licenses": {"deny": ["MIT"], "except": $}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        LeftOut,
        Refused("acceptance.licenses.except[0]: `` is not the beginning of a purl"),
    ),
    (
        "acceptance.byNamespace.*.packages.deny",
        r#"{"acceptance": {"byNamespace": {"shop": {"packages": {"deny": $}}}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        Refused("acceptance.byNamespace.shop.packages.deny: no package is denied"),
        NoText,
    ),
    (
        "acceptance.byNamespace.*.licenses.deny",
        r#"{"acceptance": {"byNamespace": {"shop": {"licenses": {"deny": $}}}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        Refused("acceptance.byNamespace.shop.licenses.deny: it names no licence"),
        Refused("acceptance.byNamespace.shop.licenses.deny[0]: "),
    ),
    (
        "acceptance.byNamespace.*.licenses.allow",
        r#"{"acceptance": {"byNamespace": {"shop": {"licenses": {"allow": $}}}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        Refused("acceptance.byNamespace.shop.licenses.allow: it names no licence"),
        Refused("acceptance.byNamespace.shop.licenses.allow[0]: "),
    ),
    (
        "acceptance.byNamespace.*.licenses.except",
        r#"{"acceptance": {"byNamespace": {"shop": {"licenses": {"deny": ["MIT"], "except": $}}}}, "reports": {"sboms": [{"trivyOperator": {}}]}}"#,
        LeftOut,
        Refused("acceptance.byNamespace.shop.licenses.except[0]: `` is not the beginning of a purl"),
    ),
    // What an exemption is about.
    ("exemptions", r#"{"exemptions": $}"#, LeftOut, NoText),
    (
        "exemptions[].vulnerabilities",
        r#"{"exemptions": [{"vulnerabilities": $, "reason": "r", "expires": "2027-01-31"}]}"#,
        Refused("exemptions[0]: set `vulnerability` or `vulnerabilities`"),
        Refused("exemptions[0]: an empty id"),
    ),
    (
        "exemptions[].images",
        r#"{"exemptions": [{"vulnerability": "CVE-1", "images": $, "reason": "r", "expires": "2027-01-31"}]}"#,
        Refused(
            "exemptions[0].images: an empty list names no image: name those that are meant, or leave `images` out for every image",
        ),
        Refused(
            "exemptions[0].images: an empty text is the beginning of every image's name: name the images that are meant, or leave `images` out",
        ),
    ),
    (
        "exemptions[].namespaces",
        r#"{"exemptions": [{"vulnerability": "CVE-1", "namespaces": $, "reason": "r", "expires": "2027-01-31"}]}"#,
        Refused(
            "exemptions[0].namespaces: an empty list names no namespace: name those that are meant, or leave `namespaces` out for every namespace",
        ),
        Refused("exemptions[0].namespaces: `` can't be the name of a namespace"),
    ),
    (
        "exemptions[].packages",
        r#"{"exemptions": [{"vulnerability": "CVE-1", "packages": $, "reason": "r", "expires": "2027-01-31"}]}"#,
        Refused(
            "exemptions[0].packages: an empty list names no package: name those that are meant, or leave `packages` out for every package",
        ),
        Refused("exemptions[0].packages: `` is not the beginning of a purl"),
    ),
    (
        "exemptionsFrom.severities",
        r#"{"exemptionsFrom": {"namespace": "kubewarden", "severities": $}}"#,
        Refused("exemptionsFrom.severities: an empty list names no severity"),
        Refused("exemptionsFrom.severities[0]: `` is not a severity"),
    ),
    (
        "evidence.revoked",
        r#"{"evidence": {"revoked": $}}"#,
        LeftOut,
        Own("no number, which the engine refuses when the policy is deployed"),
    ),
    // What must be verified: a policy that is about more rejects more.
    ("imageVerification", r#"{"imageVerification": $}"#, LeftOut, NoText),
    ("imageVerification[].attestations", r#"{"imageVerification": [{$POLICY, "attestations": $}]}"#, LeftOut, NoText),
    ("imageVerification[].attestors", r#"{"imageVerification": [{$POLICY, "attestors": $}]}"#, LeftOut, NoText),
    (
        "imageVerification[].attestors[].cosign.keyless.identities",
        r#"{"imageVerification": [{$POLICY, "attestors": [{"name": "a", "cosign": {"keyless": {"identities": $}}}]}]}"#,
        Refused("imageVerification[0].attestors[0].cosign.keyless: set `identities`"),
        NoText,
    ),
    (
        "imageVerification[].attestors[].notary.trustedIdentities",
        r#"{"imageVerification": [{$POLICY, "attestors": [{"name": "a", "notary": {"certs": "PEM", "trustedIdentities": $}}]}]}"#,
        Refused("imageVerification[0].attestors[0].notary.trustedIdentities: say whose signatures count"),
        Own("no subject, which the engine refuses when the policy is deployed"),
    ),
    (
        "imageVerification[].auditAnnotations",
        r#"{"imageVerification": [{$POLICY, "auditAnnotations": $}]}"#,
        LeftOut,
        NoText,
    ),
    ("imageVerification[].images", r#"{"imageVerification": [{$POLICY, "images": $}]}"#, LeftOut, NoText),
    ("imageVerification[].variables", r#"{"imageVerification": [{$POLICY, "variables": $}]}"#, LeftOut, NoText),
    (
        "imageVerification[].matchConditions",
        r#"{"imageVerification": [{$POLICY, "matchConditions": $}]}"#,
        LeftOut,
        NoText,
    ),
    (
        "imageVerification[].matchImageReferences",
        r#"{"imageVerification": [{$POLICY, "matchImageReferences": $}]}"#,
        LeftOut,
        NoText,
    ),
    (
        "imageVerification[].matchConstraints.imageRules.references",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"imageRules": {"references": $}}}]}"#,
        LeftOut,
        Refused("imageVerification[0].matchConstraints.imageRules.references[0]: the glob is empty"),
    ),
    (
        "imageVerification[].matchConstraints.imageRules.expressions",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"imageRules": {"expressions": $}}}]}"#,
        LeftOut,
        Refused("imageVerification[0].matchConstraints.imageRules.expressions[0]: the expression is missing"),
    ),
    (
        "imageVerification[].matchConstraints.resourceRules",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"resourceRules": $}}]}"#,
        LeftOut,
        NoText,
    ),
    (
        "imageVerification[].matchConstraints.resourceRules[].apiGroups",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"resourceRules": [{"apiGroups": $, "resources": ["pods"]}]}}]}"#,
        LeftOut,
        Own("the core group"),
    ),
    (
        "imageVerification[].matchConstraints.resourceRules[].apiVersions",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"resourceRules": [{"apiVersions": $, "resources": ["*"]}]}}]}"#,
        LeftOut,
        Refused(
            "imageVerification[0].matchConstraints.resourceRules[0].apiVersions[0]: an empty text names no version; leave `apiVersions` out",
        ),
    ),
    (
        "imageVerification[].matchConstraints.resourceRules[].operations",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"resourceRules": [{"operations": $, "resources": ["pods"]}]}}]}"#,
        LeftOut,
        Refused("imageVerification[0].matchConstraints.resourceRules[0].operations: `` is not a choice here"),
    ),
    (
        "imageVerification[].matchConstraints.resourceRules[].resources",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"resourceRules": [{"resources": $}]}}]}"#,
        Refused("imageVerification[0].matchConstraints.resourceRules[0].resources: name the resources"),
        Refused("imageVerification[0].matchConstraints.resourceRules[0].resources: `` is no resource"),
    ),
    (
        "imageVerification[].matchConstraints.resourceRules[].resourceNames",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"resourceRules": [{"resourceNames": $, "resources": ["pods"]}]}}]}"#,
        LeftOut,
        Refused(
            "imageVerification[0].matchConstraints.resourceRules[0].resourceNames[0]: an empty text names no object; leave `resourceNames` out",
        ),
    ),
];

/// What every policy of `imageVerification` has.
const POLICY: &str = r#""name": "signed", "verifications": [{"expression": "true"}]"#;

/// Lists whose form beside them says the same.
const FURTHER: [(&str, &str, Means, Means); 4] = [
    (
        "imageVerification[].verifications",
        r#"{"imageVerification": [{"name": "signed", "verifications": $}]}"#,
        Refused("imageVerification[0].verifications: without an expression nothing is verified"),
        NoText,
    ),
    (
        "imageVerification[].validations",
        r#"{"imageVerification": [{"name": "signed", "validations": $}]}"#,
        Refused("imageVerification[0].validations: without an expression nothing is verified"),
        NoText,
    ),
    (
        "imageVerification[].validationActions",
        r#"{"imageVerification": [{$POLICY, "validationActions": $}]}"#,
        LeftOut,
        Refused("imageVerification[0].validationActions: `` is not a choice here"),
    ),
    (
        "imageVerification[].matchConstraints.excludeResourceRules",
        r#"{"imageVerification": [{$POLICY, "matchConstraints": {"excludeResourceRules": $}}]}"#,
        LeftOut,
        Refused("imageVerification[0].matchConstraints.excludeResourceRules: "),
    ),
];

fn all() -> impl Iterator<Item = (&'static str, &'static str, Means, Means)> {
    LISTS.into_iter().chain(FURTHER)
}

#[test]
fn no_list_that_is_empty_lets_in_more_than_is_meant() {
    for (path, settings, empty, blank) in all() {
        for (list, means) in [("[]", empty), (r#"[""]"#, blank)] {
            let with = |list: &str| {
                let text = settings.replace("$POLICY", POLICY).replace('$', list);
                Settings::read(&serde_json::from_str(&text).unwrap()).map(|settings| format!("{settings:?}"))
            };
            let read = with(list);
            match means {
                Refused(why) => {
                    let problems = read.expect_err(path).0;
                    assert!(problems.iter().any(|problem| problem.starts_with(why)), "{path} {list}: {problems:?}");
                }
                NoText => {
                    let problems = read.expect_err(path).0;
                    assert!(
                        problems.iter().any(|problem| problem.contains("expected ")),
                        "{path} {list}: {problems:?}"
                    );
                }
                // A null is an absent value.
                LeftOut => assert_eq!(read.unwrap(), with("null").unwrap(), "{path} {list}"),
                Own(what) => assert_ne!(Ok(read.unwrap()), with("null"), "{path} {list} is {what}"),
            }
        }
    }
}

/// A new list must say here what it means when it is empty. The schema knows all lists.
#[test]
fn every_list_of_the_settings_is_in_the_table() {
    fn lists(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
        if schema["type"] == "array" {
            found.insert(path.to_owned());
            lists(&schema["items"], &format!("{path}[]"), found);
        }
        for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
            lists(inner, &format!("{path}.{key}"), found);
        }
        if schema["additionalProperties"].is_object() {
            lists(&schema["additionalProperties"], &format!("{path}.*"), found);
        }
        for branch in ["anyOf", "oneOf"].iter().filter_map(|key| schema[*key].as_array()).flatten() {
            lists(branch, path, found);
        }
    }
    let schema: Value = serde_json::from_str(include_str!("../../../../settings.schema.json")).unwrap();
    let mut found = BTreeSet::new();
    lists(&schema, "", &mut found);
    // What has two names, or two places, is read by the same lines.
    let found: BTreeSet<String> = found
        .into_iter()
        .map(|path| path.trim_start_matches('.').replace("[].spec.", "[]."))
        .map(|path| match path.strip_prefix("policies.") {
            Some(rest) => format!("scanPolicies.{rest}"),
            None => path,
        })
        .collect();
    let told: BTreeSet<String> = all().map(|(path, ..)| path.to_owned()).collect();
    assert_eq!(told, found);
}

/// What says by an object what a list says elsewhere.
#[test]
fn an_empty_object_asks_no_less_than_none() {
    let attestor = |annotations: Value| {
        let pem = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PUBLIC KEY-----";
        let attestor = json!({"name": "ci", "cosign": {"key": {"data": pem}, "annotations": annotations}});
        json!({"reports": {"sources": [{"registry": {"attestors": [attestor]}}]}})
    };
    assert!(Settings::read(&attestor(json!({"env": ""}))).is_ok());
    for empty in [json!({}), json!(null)] {
        super::refuse(
            attestor(empty),
            &[
                "reports.sources[0].registry.attestors[0].cosign.annotations: it names no annotation; leave it out where the signature needs none",
            ],
        );
    }
    for key in ["preScanPolicies", "scanPolicies", "acceptance"] {
        let with = |by_namespace: Value| {
            let settings = Settings::read(&json!({key: {"byNamespace": by_namespace}}));
            settings.map(|settings| format!("{settings:?}"))
        };
        assert_eq!(with(json!({})).unwrap(), with(json!(null)).unwrap(), "{key}");
        assert!(with(json!({"": {}})).unwrap_err().0[0].contains("can't be the name of a namespace"), "{key}");
    }
}

#[test]
fn the_beginning_of_every_purl_is_no_package() {
    super::refuse(
        json!({"exemptions": [{"vulnerability": "CVE-1", "packages": ["pkg:"], "reason": "r", "expires": "2027-01-31"}]}),
        &[
            "exemptions[0].packages: `pkg:` is the beginning of every purl: name the packages that are meant, or leave `packages` out for every package",
        ],
    );
}

/// An object of the cluster is read as an entry of the settings is: it holds for nothing, and this says why.
#[test]
fn objects_with_an_empty_list_are_malformed() {
    for (key, list, why) in [
        (
            "images",
            json!([]),
            "spec.images: an empty list names no image: name those that are meant, or leave `images` out for every image",
        ),
        (
            "images",
            json!([""]),
            "spec.images: an empty text is the beginning of every image's name: name the images that are meant, or leave `images` out for every image",
        ),
        (
            "namespaces",
            json!([]),
            "spec.namespaces: an empty list names no namespace: name those that are meant, or leave `namespaces` out for every namespace",
        ),
        (
            "packages",
            json!([]),
            "spec.packages: an empty list names no package: name those that are meant, or leave `packages` out for every package",
        ),
    ] {
        let spec = json!({"vulnerability": "CVE-1", "reason": "r", "expires": "2027-01-31", key: list});
        let (_, _, problems) = Exemption::of_spec(Some(&spec));
        assert_eq!(problems, [why]);
    }
}

/// An empty prefix matches every image.
#[test]
fn an_empty_prefix_is_refused() {
    for phase in ["preScanPolicies", "scanPolicies"] {
        for (path, entries) in [
            (format!("{phase}.customPolicies[0].prefix"), |entry| json!({"customPolicies": [entry]})),
            (
                format!("{phase}.byNamespace.shop.customPolicies[0].prefix"),
                |entry| json!({"byNamespace": {"shop": {"customPolicies": [entry]}}}),
            ),
        ] as [(String, fn(serde_json::Value) -> serde_json::Value); 2]
        {
            for (prefix, action) in [("", "accept"), ("", "reject"), (" ", "accept"), ("\t", "reject")] {
                let phases = entries(json!({"prefix": prefix, "action": action}));
                for matching in ["canonical", "raw"] {
                    let refused = Settings::read(&json!({phase: phases, "imageMatching": matching})).unwrap_err();
                    let why = format!(
                        "{path}: an empty text is the beginning of every image's name: name the images that are meant, and write `defaultPolicy`"
                    );
                    assert!(refused.0.iter().any(|problem| problem.starts_with(&why)), "{refused}");
                }
            }
        }
    }
}

/// Most templates write nothing after the colon where a value is missing.
#[test]
fn a_null_narrows_nothing_either() {
    let narrowing =
        ["exemptions[].images", "exemptions[].namespaces", "exemptions[].packages", "exemptionsFrom.severities"];
    let mut refused = 0;
    for (path, settings, empty, _) in all().filter(|(path, ..)| narrowing.contains(path)) {
        let Refused(why) = empty else { panic!("{path}") };
        let problems = Settings::read(&serde_json::from_str(&settings.replace('$', "null")).unwrap()).unwrap_err().0;
        assert!(problems.iter().any(|problem| problem.starts_with(why)), "{path}: {problems:?}");
        refused += 1;
    }
    assert_eq!(refused, narrowing.len());
}
