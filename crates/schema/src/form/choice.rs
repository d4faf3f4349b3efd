//! Ready-made values for what the form can't build by itself: a list's first entry, or an object of several shapes.
//!
//! The form has a choice of them. What is chosen is written as it stands here, and the questions below it are about its parts:
//! the form follows a path like `reports.sources.0.kubescape.namespace` through the list. The list must be there before,
//! so the question of the list itself has a default and no input. When such an entry was edited, the form shows its JSON in
//! the place of its name.

use super::{label, note, question};
use crate::setting::setting_at;
use serde_json::{Map, Value, json};

/// Makes a value.
type Make = fn() -> Value;

/// A value of several shapes.
struct Choice {
    /// The setting's path: a list, whose first entry is chosen, or an object.
    path: &'static str,
    is_list: bool,
    label: &'static str,
    description: &'static str,
    /// What holds without it; none: nothing.
    default: Option<Make>,
    /// The shapes with their names.
    shapes: &'static [(&'static str, Make)],
    parts: &'static [Parts],
}

/// What is asked about a value that has a part.
struct Parts {
    /// The part, dotted; lists are passed through by their first entries.
    of: &'static str,
    /// Paths, and labels.
    asks: &'static [(&'static str, &'static str)],
}

const CHOICES: [Choice; 3] = [
    Choice {
        path: "reports.sources",
        is_list: true,
        label: "Who scans your images",
        description: "The scanner whose reports decide. Its kinds must be in the tab Context Aware Resources, and the policy \
                      server needs rights to read them.",
        default: Some(|| json!([sbomscanner()])),
        shapes: &[
            ("SBOMscanner (Kubewarden, SUSE)", sbomscanner),
            (
                "trivy-operator (Aqua)",
                || json!({"trivyOperator": {"namespaces": [], "workloadNamespace": true, "platform": "linux/amd64", "identity": "digest"}}),
            ),
            ("Kubescape", || json!({"kubescape": {"namespace": "kubescape", "platform": "linux/amd64"}})),
            ("CI: a report beside the image, signed with a key", || report_signed_by(&json!({"key": {}}))),
            ("CI: a report beside the image, signed by an identity (keyless)", || {
                report_signed_by(&json!({"keyless": {"identities": [{}]}}))
            }),
        ],
        parts: &[
            Parts {
                of: "sbomscanner",
                asks: &[
                    ("sbomscanner.namespaces", "SBOMscanner: namespaces of reports"),
                    ("sbomscanner.registryResources", "SBOMscanner: Registry resources"),
                    ("sbomscanner.workloadNamespace", "SBOMscanner: the workload's namespace too"),
                ],
            },
            Parts {
                of: "trivyOperator",
                asks: &[
                    ("trivyOperator.namespaces", "trivy-operator: namespaces of reports"),
                    ("trivyOperator.workloadNamespace", "trivy-operator: the workload's namespace too"),
                    ("trivyOperator.platform", "trivy-operator: platform"),
                    ("trivyOperator.identity", "trivy-operator: what names the image"),
                ],
            },
            Parts {
                of: "kubescape",
                asks: &[
                    ("kubescape.namespace", "Kubescape: namespace of reports"),
                    ("kubescape.platform", "Kubescape: platform"),
                ],
            },
            Parts {
                of: "registry.attestors.cosign.key",
                asks: &[("registry.attestors.0.cosign.key.data", "Report of CI: public key")],
            },
            Parts {
                of: "registry.attestors.cosign.keyless.identities",
                asks: &[
                    ("registry.attestors.0.cosign.keyless.identities.0.issuer", "Report of CI: the identity's issuer"),
                    (
                        "registry.attestors.0.cosign.keyless.identities.0.subject",
                        "Report of CI: the identity's subject",
                    ),
                ],
            },
            Parts { of: "registry.tagSuffix", asks: &[("registry.tagSuffix", "Report of CI: tag suffix")] },
        ],
    },
    Choice {
        path: "acceptance.maxSeverity.critical",
        is_list: false,
        label: "Critical findings that count",
        description: "Set their limit below.",
        default: Some(|| json!({"total": 0})),
        shapes: &[("All", || json!({"total": 0})), ("Those without a fix", || json!({"totalWithoutFixes": 0}))],
        parts: &[
            // Zero counts as false.
            Parts { of: "total > -1", asks: &[("total", "Critical findings, at most")] },
            Parts {
                of: "totalWithoutFixes > -1",
                asks: &[("totalWithoutFixes", "Critical findings without a fix, at most")],
            },
        ],
    },
    Choice {
        path: "imageVerification",
        is_list: true,
        label: "Who must have signed images",
        description: "Without a choice, nobody.",
        default: None,
        shapes: &[
            ("Somebody with a key", || signed_by(&json!({"key": {}}))),
            ("An identity (keyless)", || signed_by(&json!({"keyless": {"identities": [{}]}}))),
            ("A workflow on GitHub (keyless)", || signed_by(&json!({"keyless": {"githubActions": {}}}))),
        ],
        parts: &[
            Parts {
                of: "matchConstraints.imageRules",
                asks: &[("matchConstraints.imageRules.references", "Images that must be signed")],
            },
            Parts { of: "attestors.cosign.key", asks: &[("attestors.0.cosign.key.data", "The signer's public key")] },
            Parts {
                of: "attestors.cosign.keyless.identities",
                asks: &[
                    ("attestors.0.cosign.keyless.identities.0.issuer", "The signer's issuer"),
                    ("attestors.0.cosign.keyless.identities.0.subject", "The signer's subject"),
                ],
            },
            Parts {
                of: "attestors.cosign.keyless.githubActions",
                asks: &[
                    ("attestors.0.cosign.keyless.githubActions.owner", "Owner on GitHub"),
                    ("attestors.0.cosign.keyless.githubActions.repository", "Repository on GitHub"),
                ],
            },
            Parts { of: "failureAction", asks: &[("failureAction", "What happens to an unsigned image")] },
        ],
    },
];

/// The source that holds where none is chosen.
fn sbomscanner() -> Value {
    json!({"sbomscanner": {"namespaces": ["sbomscanner"], "registryResources": [], "workloadNamespace": false}})
}

/// Reports beside the image, which somebody signed.
fn report_signed_by(cosign: &Value) -> Value {
    json!({"registry": {"tagSuffix": "scan", "attestors": [{"name": "ci", "cosign": cosign}]}})
}

/// A policy that each image which it is about must be signed by somebody.
fn signed_by(cosign: &Value) -> Value {
    json!({
        "name": "signed",
        "matchConstraints": {"imageRules": {"references": []}},
        "attestors": [{"name": "signer", "cosign": cosign}],
        "verifications": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.signer]) > 0)"}],
        "failureAction": "Enforce",
    })
}

/// The questions about a setting that has ready-made values; none where it has none.
pub(super) fn questions(schema: &Value, path: &str) -> Option<Vec<Map<String, Value>>> {
    let choice = CHOICES.iter().find(|choice| choice.path == path)?;
    let mut questions = Vec::new();
    let variable = if choice.is_list { format!("{path}.0") } else { path.to_owned() };
    if choice.is_list {
        let mut list = note::note(&setting_at(schema, path)?, path, label(path));
        list.insert("default".to_owned(), choice.default.map_or_else(|| json!([]), |default| default()));
        questions.push(list);
    }
    questions.push(choice.itself(&variable));
    for parts in choice.parts {
        for (part, label) in parts.asks {
            let path = format!("{variable}.{part}");
            let mut asked = question(&setting_at(schema, &path)?, &path)?;
            asked.insert("label".to_owned(), (*label).into());
            asked.insert("show_if".to_owned(), choice.has(parts.of).into());
            questions.push(asked);
        }
    }
    Some(questions)
}

impl Choice {
    fn itself(&self, variable: &str) -> Map<String, Value> {
        let options: Vec<Value> =
            self.shapes.iter().map(|(name, value)| json!({"label": name, "value": value()})).collect();
        let mut question = Map::from_iter([
            ("type".to_owned(), "enum".into()),
            ("options".to_owned(), options.into()),
            ("variable".to_owned(), variable.into()),
            ("label".to_owned(), self.label.into()),
            ("description".to_owned(), self.description.into()),
        ]);
        if let Some(default) = self.default.filter(|_| !self.is_list) {
            question.insert("default".to_owned(), default());
        }
        question
    }

    /// The condition that the value has a part, in Jexl: it goes through lists by their first entries, and fails on empty
    /// ones. A failure would show the question.
    fn has(&self, part: &str) -> String {
        let path = self.path;
        if self.is_list { format!("{path} && {path}[0] && {path}.{part}") } else { format!("{path}.{part}") }
    }
}
