//! A decision as data, for other programs: the fields of the response, each image with what was found, and what policies said.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Display;

use image_admission_engine::{Decision, JudgedImage, Outcome, PolicyOutcome, ScanOutcome, VerificationOutcome};
use image_admission_image::WorkloadImage;
use image_admission_judgement::reason::ImageWarning;
use image_admission_judgement::report::ScanReport;
use image_admission_settings::policy::Rule;
use serde::Serialize;
use serde_json::Value;

use super::text::result;
use crate::command::policy::Answer;
use image_admission_manifests::request::Subject;

/// What came of one request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    request: RequestEntry,
    /// Absent when there is no answer, which counts as denied for whoever asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<bool>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    warnings: Vec<String>,
    audit_annotations: BTreeMap<String, String>,
    images: Vec<ImageEntry>,
    /// What `preCustomRules` say against the workload as a whole.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pre_custom_rules: BTreeSet<String>,
    /// What each policy of `imageVerification` says that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verification: Vec<VerificationEntry>,
    /// What each policy of `regoPolicies` says that was asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policies: Vec<PolicyEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mutated_object: Option<Value>,
}

impl Entry {
    /// The module's answer.
    pub(super) fn answered(subject: &Subject, Answer { response, decision }: Answer) -> Self {
        Self {
            request: subject.into(),
            allowed: Some(response.accepted),
            error: None,
            message: response.message,
            code: response.code,
            warnings: response.warnings,
            audit_annotations: response.audit_annotations,
            images: images(&decision),
            pre_custom_rules: match decision.outcome {
                Outcome::PreScanRejected(why) => why.by_rules,
                _ => BTreeSet::new(),
            },
            verification: decision.verification.into_iter().map(VerificationEntry::from).collect(),
            policies: decision.policies.into_iter().map(PolicyEntry::from).collect(),
            mutated_object: response.mutated_object,
        }
    }

    /// That there is none.
    pub(super) fn unanswered(subject: &Subject, error: String) -> Self {
        Self {
            request: subject.into(),
            allowed: None,
            error: Some(error),
            message: None,
            code: None,
            warnings: Vec::new(),
            audit_annotations: BTreeMap::new(),
            images: Vec::new(),
            pre_custom_rules: BTreeSet::new(),
            verification: Vec::new(),
            policies: Vec::new(),
            mutated_object: None,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestEntry {
    kind: String,
    namespace: String,
    name: String,
    operation: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    sub_resource: String,
}

impl From<&Subject> for RequestEntry {
    fn from(subject: &Subject) -> Self {
        let Subject { kind, namespace, name, operation, sub_resource } = subject.clone();
        Self { kind, namespace, name, operation, sub_resource }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageEntry {
    /// The string in the object.
    image: String,
    /// The name that rules are compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    canonical_name: Option<String>,
    container: String,
    /// Where in the object.
    pointer: String,
    /// Why the string names no image.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_an_image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pre_scan: Option<RuleEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scan: Option<ScanEntry>,
    /// By policy of `imageVerification`, the attestors that verified it or an attestation of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verified: BTreeMap<String, BTreeSet<String>>,
    /// The string that is written in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
    /// What came of it, as people read it.
    result: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RuleEntry {
    action: String,
    rule: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ScanEntry {
    #[serde(flatten)]
    rule: Option<RuleEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<ScanReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    denied: Option<String>,
    /// What custom rules say against it.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    custom: BTreeSet<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<ImageWarning>,
}

fn images(decision: &Decision) -> Vec<ImageEntry> {
    match &decision.outcome {
        Outcome::NotImages(images) => images.iter().map(ImageEntry::not_an_image).collect(),
        Outcome::NamedByMirrors(images) => {
            let entry =
                |(image, _): &(WorkloadImage, _)| ImageEntry::new(image, "denied: named by a mirror".to_owned());
            images.iter().map(entry).collect()
        }
        _ => decision.images.iter().map(|judged| ImageEntry::judged(judged, decision)).collect(),
    }
}

impl ImageEntry {
    fn new(image: &WorkloadImage, result: String) -> Self {
        Self {
            image: image.text.clone(),
            canonical_name: image.reference.as_ref().ok().map(ToString::to_string),
            container: image.container.clone(),
            pointer: image.pointer.clone(),
            not_an_image: image.reference.as_ref().err().map(ToString::to_string),
            pre_scan: None,
            scan: None,
            verified: BTreeMap::new(),
            pinned: None,
            result,
        }
    }

    /// A text that is no image reference.
    fn not_an_image(image: &WorkloadImage) -> Self {
        Self::new(image, "denied: not an image reference".to_owned())
    }

    /// An image, with what was said of it.
    fn judged(judged: &JudgedImage, decision: &Decision) -> Self {
        let verified = decision.verification.iter().filter_map(|policy| {
            let attestors = policy.verified.get(&judged.image.text)?;
            Some((policy.name.clone(), attestors.clone()))
        });
        Self {
            pre_scan: judged.pre_scan.as_ref().map(RuleEntry::from),
            scan: judged.scan.as_ref().map(ScanEntry::from),
            verified: verified.collect(),
            pinned: judged.pinned.clone(),
            ..Self::new(&judged.image, result(judged, &decision.outcome))
        }
    }
}

impl<A: Display> From<&Rule<A>> for RuleEntry {
    fn from(rule: &Rule<A>) -> Self {
        Self { action: rule.action.to_string(), rule: rule.to_string() }
    }
}

impl From<&ScanOutcome> for ScanEntry {
    fn from(scan: &ScanOutcome) -> Self {
        Self {
            rule: scan.rule.as_ref().map(RuleEntry::from),
            report: scan.report.as_deref().cloned(),
            denied: scan.denied.map(|denial| denial.to_string()),
            custom: scan.custom.clone(),
            warning: scan.warning.clone(),
        }
    }
}

/// What a policy of `imageVerification` says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerificationEntry {
    name: String,
    /// What becomes of a request that it doesn't hold for.
    action: String,
    holds: bool,
    /// Why it doesn't, in the words of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// By image, as expressions named it, the attestors that verified it or an attestation of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verified: BTreeMap<String, BTreeSet<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
    /// What couldn't be asked, and counts as though it were as it should be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored: Vec<String>,
}

impl From<VerificationOutcome> for VerificationEntry {
    fn from(outcome: VerificationOutcome) -> Self {
        let message = outcome.message();
        let VerificationOutcome { name, action, failure, verified, annotations, ignored } = outcome;
        Self { name, action: action.to_string(), holds: failure.is_none(), message, verified, annotations, ignored }
    }
}

/// What a policy of `regoPolicies` says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyEntry {
    name: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    denials: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    warnings: BTreeSet<String>,
    /// Why it could not decide, which rejects too.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<PolicyOutcome> for PolicyEntry {
    fn from(outcome: PolicyOutcome) -> Self {
        let PolicyOutcome { name, denials, warnings, error } = outcome;
        Self { name, denials, warnings, error }
    }
}
