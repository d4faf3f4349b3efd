//! Checks the settings of a policy before it is deployed, with their rules and expressions.

use crate::verification;
use image_admission_host::Capability;
use image_admission_judgement::report::{kinds_of, sbom_kind_of};
use image_admission_judgement::running;
use image_admission_settings::{
    Attestor, CustomLookup, EvidenceObject, ExemptionObject, InvalidSettings, KeyReference, Lint, Namespaces,
    ReportSource, SbomSource, Settings, TextSource,
};
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;

/// Reads the settings of a policy before it is deployed, and checks the rules in Rego and the expressions in CEL among them.
///
/// # Errors
/// Everything that is wrong with them, with the path of each setting. Rules in Rego refer to each other, so they are checked only
/// if nothing else is wrong.
pub fn check_settings(value: &Value) -> Result<Settings, InvalidSettings> {
    let (settings, mut problems) = Settings::read_partly(value);
    let Some(settings) = settings else { return Err(InvalidSettings(problems)) };
    if problems.is_empty() {
        problems.extend(image_admission_rego::check(&settings));
    }
    problems.extend(verification::check::check(&settings));
    if problems.is_empty() { Ok(settings) } else { Err(InvalidSettings(problems)) }
}

/// Everything in settings that is valid but probably wrong: [`Settings::lint`], missing fields that keep a rule in Rego from
/// rejecting, and fields that rules in Rego never find.
#[must_use]
pub fn lint(settings: &Settings, now: Timestamp, namespaces: Option<&BTreeSet<String>>) -> Vec<Lint> {
    let mut lints = settings.lint(now, namespaces);
    lints.extend(verification::check::one_platform(settings));
    lints.extend(verification::by_label(settings));
    lints.extend(image_admission_rego::silent_denials(settings));
    lints.extend(image_admission_rego::unseen(settings));
    lints
}

/// What is logged when settings are deployed, one line each.
pub(crate) fn notices(settings: &Settings) -> Vec<String> {
    let mut notices = settings.notices();
    notices.extend(
        image_admission_rego::silent_denials(settings)
            .iter()
            .chain(&image_admission_rego::unseen(settings))
            .map(Lint::to_string),
    );
    notices
}

/// A kind of the cluster that the settings read. `contextAwareResources` of a ClusterAdmissionPolicy grants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadKind {
    /// `v1`, or `group/version`.
    pub api_version: String,
    /// `VulnerabilityReport`
    pub kind: String,
    /// The setting that reads it, `reports.sources[0]`.
    pub path: String,
    /// What to write instead, if nothing of the cluster may be read.
    pub instead: &'static str,
}

impl ReadKind {
    /// Whether look-ups work without it, and take a list of all reports: sbomscanner's `Registry`, of which names of reports are computed.
    #[must_use]
    pub fn only_spares_lists(&self) -> bool {
        self.kind == "Registry" && self.api_version.starts_with("sbomscanner.kubewarden.io/")
    }
}

/// The kinds of the cluster that settings read, each once, with the first setting that reads it.
#[must_use]
pub fn kinds_read(settings: &Settings) -> Vec<ReadKind> {
    let mut kinds: Vec<ReadKind> = Vec::new();
    for read in cluster_reads(settings) {
        if !kinds.iter().any(|known| known.api_version == read.api_version && known.kind == read.kind) {
            kinds.push(read);
        }
    }
    kinds
}

/// The kinds that each setting reads, as [`read_rights`] has them.
#[must_use]
pub fn cluster_reads(settings: &Settings) -> Vec<ReadKind> {
    let mut reads: Vec<ReadKind> = Vec::new();
    for ReadRight { kind, .. } in read_rights(settings) {
        if !reads.contains(&kind) {
            reads.push(kind);
        }
    }
    reads
}

/// What of a kind a setting reads: the policy server's account needs the right to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadRight {
    /// The kind, with the setting that reads it.
    pub kind: ReadKind,
    /// Whether objects are listed, which takes the rights to `list` and `watch` beside `get`.
    pub is_listed: bool,
    /// The namespaces; none: all of them, or a kind without namespaces.
    pub namespaces: Option<Vec<String>>,
    /// The only object that is read; none: any.
    pub name: Option<String>,
}

/// Where a setting reads objects.
enum Place<'s> {
    Listed(&'s Namespaces),
    Named(&'s Namespaces),
    NamedIn(&'s str),
    Object(&'s KeyReference),
    ListedEverywhere,
    NamedEverywhere,
}

/// What each setting reads of the cluster: the sources of reports and SBOMs, what is there for running images and exemptions if reports
/// may decide, what is there for keys and namespaces of `imageVerification`, and `context`.
#[must_use]
pub fn read_rights(settings: &Settings) -> Vec<ReadRight> {
    let mut rights: Vec<ReadRight> = Vec::new();
    let mut add = |api_version: &str, kind: &str, path: String, instead: &'static str, place: Place<'_>| {
        let kind = ReadKind { api_version: api_version.to_owned(), kind: kind.to_owned(), path, instead };
        let some = |namespaces: &Namespaces| (!namespaces.of_workload).then(|| namespaces.named.clone());
        let (is_listed, namespaces, name) = match place {
            Place::Listed(namespaces) => (true, some(namespaces), None),
            Place::Named(namespaces) => (false, some(namespaces), None),
            Place::NamedIn(namespace) => (false, Some(vec![namespace.to_owned()]), None),
            Place::Object(object) => (false, Some(vec![object.namespace.clone()]), Some(object.name.clone())),
            Place::ListedEverywhere => (true, None, None),
            Place::NamedEverywhere => (false, None, None),
        };
        let right = ReadRight { kind, is_listed, namespaces, name };
        if !rights.contains(&right) {
            rights.push(right);
        }
    };
    let sources = settings.reports.sources.iter().enumerate().filter(|_| settings.reads_reports());
    for (position, source) in sources {
        for (api_version, kind) in kinds_of(source) {
            let instead = "take signed reports from beside the image (`registry`), or let `preScanPolicies` decide";
            let place = match source {
                ReportSource::SbomScanner(scanner) => Place::Listed(&scanner.namespaces),
                ReportSource::TrivyOperator(operator) => Place::Listed(&operator.namespaces),
                ReportSource::Kubescape(kubescape) => Place::NamedIn(&kubescape.namespace),
                ReportSource::Custom(custom) => match custom.lookup {
                    CustomLookup::Name(_) => Place::Named(&custom.namespaces),
                    CustomLookup::Selector(_) => Place::Listed(&custom.namespaces),
                },
                // They stand in registries.
                ReportSource::Registry(_) | ReportSource::Attestation(_) => continue,
            };
            add(api_version, kind, format!("reports.sources[{position}]"), instead, place);
        }
    }
    let is_asked =
        (settings.reads_reports() && !settings.acceptance.of_contents().is_empty()) || settings.asks_for_packages();
    for (position, source) in settings.reports.sboms.iter().enumerate().filter(|_| is_asked) {
        let place = match source {
            SbomSource::SbomScanner(scanner) => Place::Listed(&scanner.namespaces),
            SbomSource::TrivyOperator(operator) => Place::Listed(&operator.namespaces),
            SbomSource::Registry(_) | SbomSource::Attestation(_) => continue,
        };
        if let Some((api_version, kind)) = sbom_kind_of(source) {
            let instead = "take signed SBOMs from beside the image (`registry`)";
            add(api_version, kind, format!("reports.sboms[{position}]"), instead, place);
        }
    }
    for (path, list) in settings.acceptance.exploited_lists().into_iter().filter(|_| settings.reads_reports()) {
        let instead = "leave it out, where the reports say themselves what is exploited";
        add("v1", "ConfigMap", path, instead, Place::Object(&list.place));
    }
    for path in settings.acceptance.running().into_iter().filter(|_| settings.reads_reports()) {
        add(running::API_VERSION, running::KIND, path, "leave it out", Place::ListedEverywhere);
    }
    if let Some(from) = settings.exemptions_from.as_ref().filter(|_| settings.reads_reports()) {
        let named = from.namespace.iter().cloned().collect();
        let namespaces = Namespaces { named, of_workload: from.workload_namespace };
        let (path, instead) = ("exemptionsFrom".to_owned(), "write `exemptions` into the settings");
        add(ExemptionObject::API_VERSION, ExemptionObject::KIND, path, instead, Place::Listed(&namespaces));
    }
    if settings.evidence.from_cluster {
        let instead = "attach evidence to images in their registry (`image-admission attach`)";
        let path = "evidence.fromCluster".to_owned();
        add(EvidenceObject::API_VERSION, EvidenceObject::KIND, path, instead, Place::NamedEverywhere);
    }
    if let Some(reference) = settings.evidence.trust_root.as_ref().and_then(TextSource::in_cluster) {
        let instead = "write the trust root itself, as `trustRoot.data`";
        add("v1", reference.kind, "evidence.trustRoot".to_owned(), instead, Place::Object(reference));
    }
    if let Some(list) = &settings.evidence.revoked_from {
        let instead = "write the revoked certificates into `evidence.revoked`";
        add("v1", list.place.kind, "evidence.revokedFrom".to_owned(), instead, Place::Object(&list.place));
    }
    let attached = settings.reports.attached().filter(|_| settings.reads_reports() || settings.asks_for_packages());
    let attached = attached.map(|(path, attached)| (path, &attached.attestors));
    let policies = settings.verification.iter().map(|policy| (policy.path.clone(), &policy.attestors));
    for (path, attestors) in attached.chain(policies) {
        for reference in attestors.iter().flat_map(Attestor::in_cluster) {
            let instead = "write the key or the certificates themselves, as `data`";
            add("v1", reference.kind, format!("{path}.attestors"), instead, Place::Object(reference));
        }
    }
    for policy in &settings.verification {
        if verification::check::names(policy).contains("namespaceObject") {
            let instead = "ask for `request.namespace`, and not for `namespaceObject`";
            add("v1", "Namespace", policy.path.clone(), instead, Place::NamedEverywhere);
        }
    }
    for (position, kind) in settings.rego.context.iter().enumerate() {
        let instead = "leave it out, and `data.kubernetes` and `data.inventory` of the rules";
        add(&kind.api_version, &kind.kind, format!("context[{position}]"), instead, Place::ListedEverywhere);
    }
    rights
}

/// The calls to the host that settings may cause, except those that read objects of the cluster.
#[must_use]
pub fn calls_made(settings: &Settings) -> Vec<Capability> {
    let is_made = |call: &Capability| match call.name() {
        "oci/v2/verify" => settings.asks_registries() && settings.has_attestors(),
        "kubernetes/can_i" => settings.break_glass.is_some(),
        name => name.starts_with("oci/") && settings.asks_registries(),
    };
    Capability::ALL.into_iter().filter(is_made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_settings::LintRule;
    use serde_json::json;

    #[track_caller]
    fn check(settings: Value, expected: &[&str]) {
        let kinds = kinds_read(&check_settings(&settings).unwrap());
        let kinds: Vec<String> =
            kinds.iter().map(|read| format!("{}: {} {}", read.path, read.api_version, read.kind)).collect();
        assert_eq!(kinds, expected, "{settings}");
    }

    #[test]
    fn kinds_that_settings_have_read() {
        let of_sbomscanner = [
            "reports.sources[0]: storage.sbomscanner.kubewarden.io/v1alpha1 VulnerabilityReport",
            "reports.sources[0]: storage.sbomscanner.kubewarden.io/v1alpha1 Image",
            "reports.sources[0]: sbomscanner.kubewarden.io/v1alpha1 ScanJob",
            "reports.sources[0]: sbomscanner.kubewarden.io/v1alpha1 Registry",
        ];
        check(json!({}), &of_sbomscanner);
        let sources = json!([
            {"registry": {"allowUnsigned": true}}, {"trivyOperator": {"namespaces": ["a"]}}, {"kubescape": {}},
            {"custom": {"apiVersion": "e.io/v1", "kind": "Report", "namespaces": ["a"], "name": "{digestHex}",
                "fields": {"digest": "d", "verdict": "v"}}},
        ]);
        check(
            json!({"reports": {"sources": sources}}),
            &[
                "reports.sources[1]: aquasecurity.github.io/v1alpha1 VulnerabilityReport",
                "reports.sources[2]: spdx.softwarecomposition.kubescape.io/v1beta1 VulnerabilityManifest",
                "reports.sources[2]: spdx.softwarecomposition.kubescape.io/v1beta1 SBOMSyft",
                "reports.sources[3]: e.io/v1 Report",
            ],
        );
        let registry = json!({"sources": [{"registry": {"allowUnsigned": true}}]});
        check(
            json!({"reports": registry, "exemptionsFrom": {"workloadNamespace": true}}),
            &["exemptionsFrom: image-admission.kubewarden.io/v1alpha1 ImageExemption"],
        );
        check(
            json!({"reports": registry, "acceptance": {"byNamespace": {"shop": {"running": {"grace": "7d"}}}}}),
            &["acceptance.byNamespace.shop.running: v1 Pod"],
        );
        // No report decides.
        check(json!({"preScanPolicies": {"defaultPolicy": "accept"}}), &[]);
        check(
            json!({"preScanPolicies": {"defaultPolicy": "accept"}, "exemptionsFrom": {"workloadNamespace": true}}),
            &[],
        );
        check(json!({"scanPolicies": {"defaultPolicy": "reject"}}), &[]);
        check(
            json!({"scanPolicies": {"defaultPolicy": "reject"}, "customRules": "deny_image[img] { false; img := \"x\" }"}),
            &of_sbomscanner,
        );
    }

    #[test]
    fn kinds_that_are_no_reports() {
        let key = json!({"secretRef": {"namespace": "a", "name": "b"}});
        let policy = |expression: &str| {
            json!({"name": expression, "attestors": [{"name": "team", "cosign": {"key": key}}],
                "verifications": [{"expression": expression}]})
        };
        check(
            json!({
                "preScanPolicies": {"defaultPolicy": "accept"},
                "imageVerification": [policy("true"), policy("namespaceObject.metadata.name == 'a'")],
                "context": [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}],
            }),
            &[
                "imageVerification[0].attestors: v1 Secret",
                "imageVerification[1]: v1 Namespace",
                "context[0]: networking.k8s.io/v1 Ingress",
            ],
        );
    }

    #[test]
    fn where_settings_read_the_cluster() {
        let of = |settings: Value| -> Vec<String> {
            let rights = read_rights(&check_settings(&settings).unwrap());
            let shown = |right: ReadRight| {
                let verbs = if right.is_listed { "lists" } else { "gets" };
                let namespaces = right.namespaces.map_or("everywhere".to_owned(), |some| some.join(","));
                format!("{verbs} {} {namespaces} {}", right.kind.kind, right.name.unwrap_or_default())
            };
            rights.into_iter().map(shown).collect()
        };
        let custom = |namespaces: Value, lookup: &str, value: &str| {
            json!({"custom": {"apiVersion": "e.io/v1", "kind": "Report", "workloadNamespace": namespaces.is_null(),
                "namespaces": if namespaces.is_null() { json!([]) } else { namespaces }, lookup: value,
                "fields": {"digest": "d", "verdict": "v"}}})
        };
        let operator = json!({"namespaces": ["a", "b"], "workloadNamespace": false});
        let sources = json!([{"trivyOperator": operator}, {"trivyOperator": {}}, {"kubescape": {}},
            custom(json!(["c"]), "name", "{digestHex}"), custom(Value::Null, "selector", "a=b")]);
        let found = of(json!({
            "reports": {"sources": sources},
            "acceptance": {"running": {"grace": "7d"}, "knownExploited": {"from": {"configMap": {"namespace": "a", "name": "b"}}}},
            "exemptionsFrom": {"namespace": "kubewarden"},
            "evidence": {"fromCluster": true},
            "context": [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}],
        }));
        assert_eq!(
            found,
            [
                "lists VulnerabilityReport a,b ",
                "lists VulnerabilityReport everywhere ",
                "gets VulnerabilityManifest kubescape ",
                "gets SBOMSyft kubescape ",
                "gets Report c ",
                "lists Report everywhere ",
                "gets ConfigMap a b",
                "lists Pod everywhere ",
                "lists ImageExemption kubewarden ",
                "gets ImageEvidence everywhere ",
                "lists Ingress everywhere ",
            ]
        );
    }

    #[test]
    fn one_platform_of_several_is_remarked() {
        let lints = |expression: &str, platforms: Value| {
            let settings = json!({"reports": {"platforms": platforms}, "imageVerification": [{"name": "x", "verifyPreScanAccepted": true,
                "verifications": [{"expression": expression, "messageExpression": "imageConfigs(images.all[0])[0].platform"}]}]});
            let lints = lint(&check_settings(&settings).unwrap(), Timestamp(0), None);
            lints.into_iter().filter(|lint| lint.rule == LintRule::OnePlatform).map(|lint| lint.to_string()).collect()
        };
        let first = "images.all.all(i, !imageConfigs(i)[0].runsAsRoot)";
        let found: Vec<String> = lints(first, json!("all"));
        assert_eq!(
            found,
            [
                "imageVerification[0].verifications[0].expression: it looks at one platform of an image, and others may run: write `imageConfigs(…).all(c, …)`"
            ]
        );
        assert_eq!(lints(first, json!(["linux/amd64", "linux/arm64"])).len(), 1);
        // Only one platform is judged.
        assert_eq!(lints(first, json!(["linux/amd64"])), [""; 0]);
        assert_eq!(lints("images.all.all(i, imageConfigs(i).all(c, !c.runsAsRoot))", json!("all")), [""; 0]);
    }

    /// If several settings read one kind, each is listed.
    #[test]
    fn every_setting_that_reads_the_cluster() {
        let key = json!({"configMapRef": {"namespace": "a", "name": "b"}});
        let settings = json!({
            "reports": {"sources": [{"registry": {"allowUnsigned": true}}]},
            "acceptance": {
                "knownExploited": {"from": {"configMap": {"namespace": "a", "name": "b"}}},
                "byNamespace": {"shop": {"knownExploited": {"from": {"configMap": {"namespace": "a", "name": "b"}}}}},
            },
            "evidence": {"revokedFrom": {"configMap": {"namespace": "a", "name": "b"}}},
            "imageVerification": [{"name": "signed", "attestors": [
                {"name": "one", "cosign": {"key": key}}, {"name": "two", "cosign": {"key": key}},
            ], "verifications": [{"expression": "true"}]}],
        });
        let settings = check_settings(&settings).unwrap();
        let reads: Vec<String> =
            cluster_reads(&settings).iter().map(|read| format!("{}: {}", read.path, read.kind)).collect();
        let expected = [
            "acceptance.knownExploited.from: ConfigMap",
            "acceptance.byNamespace.shop.knownExploited.from: ConfigMap",
            "evidence.revokedFrom: ConfigMap",
            "imageVerification[0].attestors: ConfigMap",
        ];
        assert_eq!(reads, expected);
        assert_eq!(kinds_read(&settings).len(), 1);
    }

    #[test]
    fn calls_that_settings_come_to() {
        let check = |settings: Value, expected: &[&str]| {
            let calls = calls_made(&check_settings(&settings).unwrap());
            let names: Vec<&str> = calls.iter().map(|call| call.name()).collect();
            assert_eq!(names, expected, "{settings}");
        };
        let registry = ["oci/v1/manifest_digest", "oci/v1/oci_manifest", "oci/v1/oci_manifest_config"];
        let verified = [registry.as_slice(), &["oci/v2/verify"]].concat();
        check(json!({}), &registry);
        check(json!({"preScanPolicies": {"defaultPolicy": "accept"}}), &[]);
        let glass = json!({"annotation": "a.io/b", "resource": {"group": "", "resource": "pods", "name": "a"}});
        check(json!({"preScanPolicies": {"defaultPolicy": "accept"}, "breakGlass": glass}), &["kubernetes/can_i"]);
        check(json!({"reports": {"sources": [{"registry": {"allowUnsigned": true}}]}}), &registry);
        let attestors = json!([{"name": "team", "cosign": {"keyless": {"githubActions": {"owner": "shop"}}}}]);
        check(json!({"reports": {"sources": [{"registry": {"attestors": attestors}}]}}), &verified);
        let policy = json!({"name": "a", "attestors": attestors, "verifications": [{"expression": "true"}]});
        check(json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": [policy]}), &verified);
        let rules = |rego: &str| {
            json!({"preScanPolicies": {"defaultPolicy": "accept"},
                "regoPolicies": [{"name": "a", "kinds": ["Pod"], "rego": format!("package a\n\ndeny[\"no\"] {{ {rego} }}")}]})
        };
        check(rules("input.request.object.spec.hostNetwork"), &[]);
        check(rules("input.imageConfigs[_][_].runsAsRoot"), &registry);
    }

    #[test]
    fn policies_in_rego_that_change_objects() {
        let policy = |name: &str, rego: &str| json!({"name": name, "kinds": ["Pod"], "rego": format!("package {name}\n\n{rego}")});
        let settings = json!({"regoPolicies": [
            policy("a", "deny[\"no\"] { false } # no patch"),
            policy("b", "patch[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}] { true }"),
        ]});
        assert_eq!(check_settings(&settings).unwrap().patching_policies(), ["regoPolicies[1]"]);
    }
}
