//! The decision: a value that says what was decided about a request, and about each image why.

use crate::Timestamp;
use crate::image::{ImageReference, UnreadableObject, WorkloadImage};
use crate::policy::Rule;
use crate::rego::{PolicyOutcome, Seen};
use crate::report::{ReportSearch, ScanReport};
use crate::request::UnreadableRequest;
use crate::settings::{PreScanAction, ScanAction};
use crate::verification::{VerificationOutcome, Verified};
use serde_json::Value;
use std::collections::BTreeSet;

/// What was decided about a request.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The verdict, and what made it.
    pub outcome: Outcome,
    /// The images that were judged, in the order of the object.
    pub images: Vec<JudgedImage>,
    /// The object with its images pinned, when it differs from the request's.
    pub mutated_object: Option<Value>,
    /// The time that was given as the present.
    pub decided_at: Timestamp,
    /// What each policy of `imageVerification` says that is about the request, in the order of the settings.
    pub verification: Vec<VerificationOutcome>,
    /// What verification tells whatever its policies say.
    pub verification_warnings: Vec<String>,
    /// What each policy in Rego for the request's kind says, in the order of the settings.
    pub policies: Vec<PolicyOutcome>,
    /// The hash of those policies and the libraries; none without such policies.
    pub policies_hash: Option<String>,
    /// What rules saw, when the settings ask for it.
    pub seen: Vec<Seen>,
}

/// The verdict, and what made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Admitted: the request brings nothing that would run.
    NothingToJudge(&'static str),
    /// Admitted: pre-scan accepts every image.
    PreScanAccepted,
    /// The scan phase decided, image by image.
    Scanned,
    /// Rejected: there is no request to decide.
    UnreadableRequest(UnreadableRequest),
    /// Rejected: the object isn't what its definition says.
    UnreadableObject(UnreadableObject),
    /// Rejected: these images are no image references.
    NotImages(Vec<WorkloadImage>),
    /// Rejected: more different images than the settings allow.
    TooManyImages {
        /// How many there are.
        images: usize,
        /// How many may be.
        max: usize,
    },
    /// Rejected: deciding would take more calls to the host than the settings allow.
    TooManyHostCalls {
        /// How many different images are judged.
        images: usize,
        /// How many calls there may be.
        max: usize,
    },
    /// Rejected: pre-scan, with its reasons.
    PreScanRejected(BTreeSet<String>),
    /// Rejected: an image is not verified, so that no scan was asked for.
    NotVerified,
}

/// An image, and what the phases that looked at it said.
#[derive(Debug, Clone)]
pub struct JudgedImage {
    /// Where the object names it.
    pub image: WorkloadImage,
    /// What it names.
    pub reference: ImageReference,
    /// Which policy decided in pre-scan.
    pub pre_scan: Option<Rule<PreScanAction>>,
    /// The digest that verification resolved it to.
    pub digest: Option<String>,
    /// Whether a policy of `imageVerification` wants it left as it is, which holds where nothing but verification looked at it.
    pub stays_unpinned: bool,
    /// What the scan phase said.
    pub scan: Option<ScanOutcome>,
    /// The string that was written in its place.
    pub pinned: Option<String>,
}

/// What the scan phase said of an image.
#[derive(Debug, Clone)]
pub struct ScanOutcome {
    /// Which policy decided; none when custom rules decide alone.
    pub rule: Option<Rule<ScanAction>>,
    /// What is known about the image; none when the policy rejects without asking.
    pub report: Option<ScanReport>,
    /// Why it is denied, in the seeds' words.
    pub denied: Option<&'static str>,
    /// Why custom rules deny it.
    pub custom: BTreeSet<String>,
    /// What to tell about an image that is let in all the same.
    pub warning: Option<String>,
}

impl Decision {
    /// A decision that no image was judged for yet.
    pub(crate) fn new(outcome: Outcome, now: Timestamp) -> Self {
        Self {
            outcome,
            images: Vec::new(),
            mutated_object: None,
            decided_at: now,
            verification: Vec::new(),
            verification_warnings: Vec::new(),
            policies: Vec::new(),
            policies_hash: None,
            seen: Vec::new(),
        }
    }

    /// Whether the request is admitted.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        !self.policies.iter().any(PolicyOutcome::rejects) && !self.is_unverified() && self.phases_allow()
    }

    /// Whether a policy of `imageVerification` rejects the request.
    pub(crate) fn is_unverified(&self) -> bool {
        self.verification.iter().any(VerificationOutcome::rejects)
    }

    /// Whether a step rejected the request as a whole, so that nothing more is asked about its images.
    pub(crate) fn is_rejected_for_good(&self) -> bool {
        match &self.outcome {
            Outcome::NothingToJudge(_) | Outcome::PreScanAccepted | Outcome::Scanned => false,
            Outcome::UnreadableRequest(_)
            | Outcome::UnreadableObject(_)
            | Outcome::NotImages(_)
            | Outcome::TooManyImages { .. }
            | Outcome::TooManyHostCalls { .. }
            | Outcome::PreScanRejected(_)
            | Outcome::NotVerified => true,
        }
    }

    /// Takes over what verification says.
    pub(crate) fn set_verified(&mut self, verified: Verified, search: &mut ReportSearch<'_>) {
        for judged in &mut self.images {
            judged.digest = verified.digests.get(&judged.reference).cloned();
            judged.stays_unpinned = verified.unpinned.contains(&judged.reference);
        }
        let images = verified.outcomes.iter().flat_map(|outcome| outcome.verified.keys());
        search.know(verified.digests, images.filter_map(|image| ImageReference::parse(image).ok()));
        self.verification = verified.outcomes;
        self.verification_warnings = verified.warnings;
    }

    /// Whether the two phases admit the request, whatever policies in Rego say.
    fn phases_allow(&self) -> bool {
        !self.is_rejected_for_good() && !self.images.iter().any(JudgedImage::is_denied)
    }
}

impl JudgedImage {
    /// An image that nothing was said of yet.
    pub(crate) fn new(image: WorkloadImage, reference: ImageReference) -> Self {
        Self { image, reference, pre_scan: None, digest: None, stays_unpinned: false, scan: None, pinned: None }
    }

    /// Whether pre-scan accepts this image by itself.
    pub(crate) fn is_accepted_by_pre_scan(&self) -> bool {
        self.pre_scan.as_ref().is_some_and(|rule| rule.action == PreScanAction::Accept)
    }

    /// Whether it is left as it is. Where the scan phase asked for a report, the digest that was judged is the one that runs:
    /// who demands signatures doesn't say what else may run under the tag.
    pub(crate) fn is_left_unpinned(&self) -> bool {
        self.stays_unpinned && self.scan.as_ref().is_none_or(|scan| scan.report.is_none())
    }

    /// Whether the scan phase denies it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.scan.as_ref().is_some_and(|scan| scan.denied.is_some() || !scan.custom.is_empty())
    }

    /// Every reason of the scan phase to deny it: the policy's in the seeds' words, and those of custom rules.
    #[must_use]
    pub fn denials(&self) -> BTreeSet<String> {
        let Some(scan) = &self.scan else { return BTreeSet::new() };
        let mut denials = scan.custom.clone();
        if let (Some(rule), Some(denied)) = (&scan.rule, scan.denied) {
            denials.insert(format!("Image '{}' REJECTED. {rule} - {denied}", self.image.shown()));
        }
        denials
    }
}
