//! Exemptions in the cluster: where they are trusted, and within which bounds.

use super::Severity;
use super::namespaces::is_namespace_name;
use super::read::{Problems, SettingsMap, wrong_type};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use std::fmt;

/// How much of an object's problem is repeated.
const MAX_PROBLEM_LENGTH: usize = 120;

/// Where objects are that exempt findings, and what they may say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExemptionsFrom {
    /// The namespace whose objects hold for all namespaces.
    pub namespace: Option<String>,
    /// Whether the objects of a workload's own namespace hold for it.
    pub workload_namespace: bool,
    /// The severities of the findings that an object may be about; empty: all.
    pub severities: Vec<Severity>,
    /// How long after an object was made its last day may begin.
    pub max_duration: Option<WrittenDuration>,
    /// Whether an object must say who approved it.
    pub require_approved_by: bool,
}

/// The object in the cluster that an exemption stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExemptionObject {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who approved it, as it says itself.
    pub approved_by: Option<String>,
    /// The severities of the findings that it may be about; empty: all.
    pub severities: Vec<Severity>,
    /// Why it exempts nothing, if so.
    pub void: Option<VoidExemption>,
}

impl ExemptionObject {
    /// The `apiVersion` of such objects.
    pub const API_VERSION: &str = "image-admission.kubewarden.io/v1alpha1";
    /// Their kind.
    pub const KIND: &str = "ImageExemption";
}

/// Why an object that should exempt findings holds for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VoidExemption {
    /// It can't be read: what is wrong with it.
    Malformed(String),
    /// It doesn't say who approved it.
    NotApproved,
    /// It doesn't say when it was made.
    Undated,
    /// Its creation is in the future.
    MadeLater(Timestamp),
    /// It would hold for longer than this.
    TooLong(WrittenDuration),
    /// It may not be about findings of this severity.
    Severity(Severity),
}

/// How people find it: `ImageExemption shop/web`.
impl fmt::Display for ExemptionObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", Self::KIND, self.namespace, self.name)
    }
}

impl fmt::Display for VoidExemption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(problem) => f.write_str(&cut(problem, MAX_PROBLEM_LENGTH)),
            Self::NotApproved => f.write_str("it doesn't say who approved it"),
            Self::Undated => f.write_str("it doesn't say when it was made: `metadata.creationTimestamp` is missing"),
            Self::MadeLater(time) => write!(f, "it was made at {time}, which is later than now"),
            Self::TooLong(longest) => write!(f, "its last day is more than {longest} after it was made"),
            Self::Severity(severity) => write!(f, "such objects may exempt no {severity} finding"),
        }
    }
}

impl ExemptionsFrom {
    /// The namespaces whose objects hold for a workload of `namespace`, each once.
    pub fn namespaces<'a>(&'a self, namespace: &'a str) -> Vec<&'a str> {
        let own = Some(namespace).filter(|namespace| self.workload_namespace && !namespace.is_empty());
        let own = own.filter(|own| self.namespace.as_deref() != Some(*own));
        self.namespace.as_deref().into_iter().chain(own).collect()
    }
}

/// The setting `exemptionsFrom`; none where it isn't written.
pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<ExemptionsFrom> {
    if !settings.has("exemptionsFrom") {
        return None;
    }
    let path = settings.path().key("exemptionsFrom");
    let map = SettingsMap::of(settings.get("exemptionsFrom"), &path, problems)?;
    map.known(&["namespace", "workloadNamespace", "severities", "maxDuration", "requireApprovedBy"], &[], problems);
    let namespace = map.text("namespace", problems);
    if let Some(text) = namespace.filter(|text| !is_namespace_name(text)) {
        problems.add(
            path.key("namespace"),
            format!("`{text}` is not the name of a namespace; patterns are not understood here"),
        );
    }
    let workload_namespace = map.boolean("workloadNamespace", false, problems);
    if !map.has("namespace") && !workload_namespace {
        problems.add(
            path,
            "nobody's exemptions would be read; set `namespace`, whose objects hold everywhere, or `workloadNamespace: true`",
        );
    }
    Some(ExemptionsFrom {
        namespace: namespace.map(str::to_owned),
        workload_namespace,
        severities: severities(&map, problems),
        max_duration: max_duration(&map, problems),
        require_approved_by: map.boolean("requireApprovedBy", false, problems),
    })
}

/// Refuses an empty list: it would mean no bound, or no severity.
fn severities(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Severity> {
    let path = map.path().key("severities");
    let texts = map.texts("severities", problems);
    if map.is_blank("severities") {
        problems.add(path, "an empty list names no severity; leave it out, and objects may be about all of them");
    }
    let mut severities = Vec::new();
    for (position, text) in texts {
        match Severity::ALL.into_iter().find(|severity| severity.name() == text) {
            Some(severity) => severities.push(severity),
            None => problems.add(
                path.position(position),
                format!("`{text}` is not a severity; use {}", Severity::ALL.map(Severity::name).join(", ")),
            ),
        }
    }
    severities
}

/// Refuses what is empty: it would mean no bound.
fn max_duration(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<WrittenDuration> {
    let is_null = map.is_blank("maxDuration") && !map.has("maxDuration");
    let value = map.get("maxDuration").unwrap_or(&serde_json::Value::Null);
    if is_null || value.as_str() == Some("") {
        problems.add(map.path().key("maxDuration"), wrong_type("a duration like `30d`", value));
    }
    map.duration("maxDuration", problems)
}
