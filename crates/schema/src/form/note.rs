//! What the form can't show: it says so where people look for it, with what to write instead.

use crate::setting::{Setting, text};
use serde_json::{Map, Value};

/// What to write for settings that the form can't show, or can show the first entry of alone.
pub const EXAMPLES: [(&str, &str); 19] = [
    ("registries", "registries: [ghcr.io, {registry: docker.io, mirror: mirror.example.com/dockerhub}]"),
    ("preScanPolicies.byNamespace", "preScanPolicies: {byNamespace: {shop: {defaultPolicy: reject}}}"),
    ("acceptance.byNamespace", "acceptance: {byNamespace: {shop: {maxSeverity: {high: {total: 0}}}}}"),
    (
        "acceptance.fixGracePeriod",
        "{acceptance: {fixGracePeriod: {critical: 3d, high: 14d}}, reports: {sources: [{trivyOperator: {}}]}}",
    ),
    (
        "acceptance.unfixedGracePeriod",
        "{acceptance: {unfixedGracePeriod: 30d}, reports: {sources: [{trivyOperator: {}}]}}",
    ),
    ("acceptance.running", "{acceptance: {running: {grace: 7d}}, reports: {sources: [{trivyOperator: {}}]}}"),
    (
        "acceptance.knownExploited",
        "acceptance: {knownExploited: {action: reject, from: {configMap: {namespace: known-exploited, name: known-exploited}}, maxAge: 7d}}",
    ),
    ("acceptance.epss", "acceptance: {epss: {percentile: 0.95, action: warn, missing: ignore}}"),
    (
        "acceptance.packages",
        "{acceptance: {packages: {deny: [{purl: \"pkg:maven/org.apache.logging.log4j/log4j-core\", versions: \"<2.17.1\"}]}}, reports: {sboms: [{sbomscanner: {}}]}}",
    ),
    (
        "acceptance.licenses",
        "{acceptance: {licenses: {deny: [AGPL-3.0-only], unknown: warn}}, reports: {sboms: [{sbomscanner: {}}]}}",
    ),
    ("reports.sboms", "{reports: {sboms: [{sbomscanner: {}}]}, acceptance: {licenses: {deny: [AGPL-3.0-only]}}}"),
    ("scanPolicies.byNamespace", "scanPolicies: {byNamespace: {shop: {reportPending: accept}}}"),
    (
        "regoPolicies",
        r#"regoPolicies: [{name: owner, kinds: [Pod], rego: "package owner\n\ndeny[\"nobody's\"] { not input.metadata.labels.owner }"}]"#,
    ),
    (
        "breakGlass",
        "breakGlass: {annotation: image-admission/break-glass, resource: {group: policies.kubewarden.io, resource: clusteradmissionpolicies, name: image-admission}}",
    ),
    (
        "exemptionsFrom",
        "exemptionsFrom: {namespace: kubewarden, workloadNamespace: true, severities: [high, medium], maxDuration: 30d, requireApprovedBy: true}",
    ),
    (
        "evidence",
        "evidence: {fromCluster: true, maxAge: 7d, trustRoot: {configMapRef: {namespace: security, name: cosign}}, revoked: [\"5f:3a:91:0c\"], revokedFrom: {configMap: {namespace: security, name: revoked}, maxAge: 24h}, thresholds: {transparencyLogs: 2}}",
    ),
    ("reports.sources", "reports: {sources: [{sbomscanner: {}}, {trivyOperator: {}}]}"),
    (
        "reports.vex",
        "reports: {vex: [{attestors: [{name: security, cosign: {keyless: {githubActions: {owner: team, repository: vex}}}}]}]}",
    ),
    (
        "imageVerification",
        "imageVerification: [{name: one, verifications: [{expression: \"true\"}]}, {name: two, verifications: [{expression: \"true\"}]}]",
    ),
];

/// A question without an input: its description is all that is shown.
pub(super) fn note(setting: &Setting<'_>, path: &str, label: String) -> Map<String, Value> {
    let said = beside(setting, path);
    Map::from_iter([
        ("type".to_owned(), "string".into()),
        ("hide_input".to_owned(), true.into()),
        ("variable".to_owned(), path.into()),
        ("label".to_owned(), label.into()),
        ("description".to_owned(), said.into()),
    ])
}

/// What a setting is, and what of it the form can't show.
pub(super) fn beside(setting: &Setting<'_>, path: &str) -> String {
    format!("{} {}", text(setting.schema, "description"), instead(path))
}

fn instead(path: &str) -> String {
    let mut said = match path {
        "preScanPolicies.byNamespace" => {
            "Above are common namespaces. This form can't show others, nor their `customPolicies`".to_owned()
        }
        "reports.sources" => "This form shows only the first source, and can't show `custom`".to_owned(),
        "registries" => "This form can't show registries with a mirror".to_owned(),
        "imageVerification" => "This form adds one policy. It can't add more, nor remove it".to_owned(),
        _ => "This form can't show it".to_owned(),
    };
    said.push_str(": choose Edit YAML, and write it below `spec.settings`");
    if let Some((_, example)) = EXAMPLES.iter().find(|(known, _)| *known == path) {
        said.push_str(&format!(", like `{example}`"));
    }
    said.push('.');
    if path == "preScanPolicies.byNamespace" {
        said.push_str(
            " To exclude namespaces from the policy, use the tab Namespace Selector. Exclude those that judging needs: \
             `kube-system`, `kubewarden`, and your scanner's.",
        );
    }
    said
}
