//! What settings make of one object: whether it would be admitted, why not, and what its author would be told.

use std::collections::BTreeSet;
use std::path::PathBuf;

use image_admission_engine::{Decision, NothingToJudge, Outcome, Response, check_settings, decide};
use image_admission_explain::{Advice, Cause, Why, causes};
use image_admission_host::WireHost;
use image_admission_judgement::reason::Denial;
use image_admission_judgement::report::PlatformReport;
use image_admission_module_host::answers::{Grants, engine_calls};
use image_admission_settings::{InvalidSettings, Settings};
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::command::decision::namespace_of;
use crate::command::kept::Kept;
use image_admission_manifests::settings::FoundPolicy;

use super::denial::DenialRule;
use super::granted::Granted;
use super::selection::{NamespaceLabels, Selection};

/// Settings, as they are written and as they were read.
#[derive(Debug)]
pub(super) struct Rules {
    /// The file; none: every default.
    path: Option<PathBuf>,
    /// The policy that they belong to; none where they stand as they are.
    policy: Option<FoundPolicy>,
    grants: Grants,
    selection: Selection,
    written: Value,
    read: Settings,
}

/// What settings make of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    /// Whether it would be admitted.
    pub(super) is_admitted: bool,
    /// Everything that rejects it by itself.
    pub(super) reasons: BTreeSet<Reason>,
    /// What whoever creates it would be told.
    pub(super) warnings: BTreeSet<String>,
    /// What it runs.
    pub(super) images: BTreeSet<Image>,
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct Judged {
    /// None where nothing was decided.
    pub(super) judgement: Option<Judgement>,
    /// The selector or condition that leaves it out.
    pub(super) left_out: Option<String>,
    /// Why nobody knows whether a condition leaves it out.
    pub(super) problem: Option<String>,
}

/// Something that rejects an object by itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reason {
    /// The image that it is about, as the object names it; none: the object as a whole.
    pub(super) image: Option<String>,
    /// What kind of reason it is.
    pub(super) rule: DenialRule,
    /// Why, for people.
    pub(super) message: String,
    /// The paths of the settings that decided, the most important first.
    pub(super) settings: Vec<String>,
    /// The vulnerabilities that break a limit, the worst first.
    pub(super) findings: Vec<String>,
    /// What to do about the image, or the object.
    pub(super) advice: Vec<String>,
}

/// An image of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Image {
    /// As the object names it.
    pub(super) image: String,
    /// What it resolves to; none when nobody asked.
    pub(super) digest: Option<String>,
}

impl Rules {
    /// Reads settings.
    pub(super) fn new(
        path: Option<PathBuf>,
        policy: Option<FoundPolicy>,
        written: Value,
    ) -> Result<Self, InvalidSettings> {
        let read = check_settings(&written)?;
        let grants = policy.as_ref().map_or_else(Grants::everything, FoundPolicy::grants);
        let selection = policy.as_ref().map(Selection::of).unwrap_or_default();
        Ok(Self { path, policy, grants, selection, written, read })
    }

    /// The file, for people.
    pub(super) fn file(&self) -> Option<String> {
        self.path.as_ref().map(|path| path.display().to_string())
    }

    /// Whether the policy asks for labels of namespaces beside their names.
    pub(super) fn needs_namespaces(&self) -> bool {
        self.selection.needs_namespaces()
    }

    /// Decides a request, unless the policy leaves it out. What can't be read is decided, and rejected.
    pub(super) fn judge(
        &self,
        request: &RawValue,
        read: Option<&Value>,
        namespaces: &NamespaceLabels,
        host: &Kept,
        now: Timestamp,
    ) -> Judged {
        let (left_out, problem) = match read.map_or(Ok(None), |read| self.selection.leaves_out(read, namespaces)) {
            Ok(left_out) => (left_out, None),
            Err(problem) => (None, Some(problem)),
        };
        let judgement = if left_out.is_some() { None } else { self.decide(request, host, now) };
        Judged { judgement, left_out, problem }
    }

    /// Decides a request; none if the settings aren't about objects of its kind, or of its namespace.
    fn decide(&self, request: &RawValue, host: &Kept, now: Timestamp) -> Option<Judgement> {
        let of_namespace = self.policy.as_ref().filter(|policy| policy.is_of_namespace());
        let is_elsewhere =
            |policy: &FoundPolicy| namespace_of(request).and_then(|namespace| policy.leaves_out(&namespace)).is_some();
        // An object of a file may leave its namespace to whoever applies it.
        if of_namespace.is_some_and(is_elsewhere) {
            return None;
        }
        let host = Granted::new(&self.grants, host);
        let decision = decide(Some(request), &self.read, &WireHost(engine_calls(&host)), now);
        let nobody_judged = decision.outcome == Outcome::NothingToJudge(NothingToJudge::NoPodSpec)
            && decision.policies.is_empty()
            && decision.verification.is_empty();
        if nobody_judged {
            return None;
        }
        let causes = causes(&decision, Some(request), &self.written, &self.read);
        let mut reasons: BTreeSet<Reason> = causes.iter().map(|cause| Reason::new(cause, &decision)).collect();
        let images = images(&decision);
        let response = Response::from(decision);
        if let (true, Some(message)) = (reasons.is_empty(), response.message) {
            reasons.insert(Reason {
                image: None,
                rule: DenialRule::Other,
                message,
                settings: Vec::new(),
                findings: Vec::new(),
                advice: Vec::new(),
            });
        }
        let warnings = response.warnings.into_iter().collect();
        Some(Judgement { is_admitted: response.accepted, reasons, warnings, images })
    }
}

impl Reason {
    fn new(cause: &Cause, decision: &Decision) -> Self {
        let mut settings: Vec<String> = cause.decided_by.iter().map(|decider| decider.path.clone()).collect();
        // The first says that the scan decides; which limit, or which fallback, says more.
        if matches!(cause.why, Why::Scan(..)) && settings.len() > 1 {
            settings.rotate_left(1);
        }
        let findings = match cause.why {
            Why::Scan(Denial::ScanResult, _) => broken_by(decision, cause.image.as_deref()),
            _ => Vec::new(),
        };
        let advice = cause.advice.iter().map(Advice::to_string).collect();
        Self {
            image: cause.image.clone(),
            rule: DenialRule::of(&cause.why),
            message: cause.why.to_string(),
            settings,
            findings,
            advice,
        }
    }
}

/// The vulnerabilities that break the limits in an image, each once, in the order in which the reports have them.
fn broken_by(decision: &Decision, image: Option<&str>) -> Vec<String> {
    let judged = decision.images.iter().find(|judged| Some(judged.image.text.as_str()) == image);
    let report = judged.and_then(|judged| judged.scan.as_ref()?.report.as_ref());
    let platforms = report.iter().flat_map(|report| &report.platforms);
    let mut found = Vec::new();
    for id in platforms.flat_map(PlatformReport::exceeded).flat_map(|limit| &limit.ids) {
        if !found.contains(id) {
            found.push(id.clone());
        }
    }
    found
}

fn images(decision: &Decision) -> BTreeSet<Image> {
    let judged = decision.images.iter().map(|judged| {
        let report = judged.scan.as_ref().and_then(|scan| scan.report.as_ref());
        let digest = report.and_then(|report| report.digest.clone()).or_else(|| judged.digest.clone());
        Image { image: judged.image.text.clone(), digest }
    });
    let wrong = match &decision.outcome {
        Outcome::NotImages(images) => images.iter().collect(),
        Outcome::NamedByMirrors(images) => images.iter().map(|(image, _)| image).collect(),
        _ => Vec::new(),
    };
    judged.chain(wrong.iter().map(|image| Image { image: image.text.clone(), digest: None })).collect()
}
