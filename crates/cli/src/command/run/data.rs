//! A decision as data, for other programs: the fields of the response, and each image with what was found.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Display;

use image_admission_engine::{
    Decision, ImageWarning, JudgedImage, Outcome, Rule, ScanOutcome, ScanReport, WorkloadImage,
};
use serde::Serialize;
use serde_json::Value;

use crate::command::policy::Answer;
use crate::command::request::Subject;

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
    /// The string that is written in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pinned: Option<String>,
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
        Outcome::NotImages(images) => images.iter().map(ImageEntry::from).collect(),
        _ => decision.images.iter().map(ImageEntry::from).collect(),
    }
}

impl From<&WorkloadImage> for ImageEntry {
    fn from(image: &WorkloadImage) -> Self {
        Self {
            image: image.text.clone(),
            canonical_name: image.reference.as_ref().ok().map(ToString::to_string),
            container: image.container.clone(),
            pointer: image.pointer.clone(),
            not_an_image: image.reference.as_ref().err().map(ToString::to_string),
            pre_scan: None,
            scan: None,
            pinned: None,
        }
    }
}

impl From<&JudgedImage> for ImageEntry {
    fn from(judged: &JudgedImage) -> Self {
        Self {
            pre_scan: judged.pre_scan.as_ref().map(RuleEntry::from),
            scan: judged.scan.as_ref().map(ScanEntry::from),
            pinned: judged.pinned.clone(),
            ..Self::from(&judged.image)
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
            report: scan.report.clone(),
            denied: scan.denied.map(|denial| denial.to_string()),
            custom: scan.custom.clone(),
            warning: scan.warning.clone(),
        }
    }
}
