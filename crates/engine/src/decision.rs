//! The decision: what was decided about a request, and about each image why.

use crate::break_glass::{BrokenGlass, WholeGlass};
use crate::judged::JudgedImage;
use crate::prescan::PreScanRejection;
use crate::rego::{PoliciesSaid, PolicyOutcome, Seen};
use crate::request::UnreadableRequest;
use crate::verification::{VerificationOutcome, Verified};
use image_admission_image::{ImageReference, UnreadableObject, WorkloadImage};
use image_admission_judgement::reason::NamedByMirror;
use image_admission_judgement::report::ReportSearch;
use image_admission_settings::{Message, Settings};
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;

/// What was decided about a request.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The verdict, and its reason.
    pub outcome: Outcome,
    /// The images that were judged, in the order of the object.
    pub images: Vec<JudgedImage>,
    /// Images of a template that another webhook fills in the Pod, where they are judged.
    pub placeholders: Vec<WorkloadImage>,
    /// The object with its images pinned, when it differs from the request's.
    pub mutated_object: Option<Value>,
    /// The present time of the decision.
    pub decided_at: Timestamp,
    /// The result of each policy of `imageVerification` that is about the request, in the order of the settings.
    pub verification: Vec<VerificationOutcome>,
    /// Warnings of verification, whatever its policies decide.
    pub verification_warnings: Vec<String>,
    /// The result of each policy in Rego for the request's kind, in the order of the settings.
    pub policies: Vec<PolicyOutcome>,
    /// The hash of those policies and the libraries; none if there are none.
    pub policies_hash: Option<String>,
    /// What rules saw, if the settings want that.
    pub seen: Vec<Seen>,
    /// Why a request to break the glass was judged all the same.
    pub whole_glass: Option<WholeGlass>,
    /// The words of a rejection, if the settings have some.
    pub message: Option<Box<Message>>,
    /// Whether a rejection names the command that asks for a missing report.
    pub scan_on_demand: bool,
}

/// Why a request brings nothing that would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingToJudge {
    /// It deletes an object, or connects to one.
    NothingNew,
    /// It updates an object that is being deleted.
    BeingDeleted,
    /// Its kind has no pod spec.
    NoPodSpec,
    /// All its images were there before.
    NoNewImage,
}

/// The verdict, and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Admitted, and nothing was judged: its user has the right to break the glass.
    GlassBroken(BrokenGlass),
    /// Admitted: the request brings nothing that would run.
    NothingToJudge(NothingToJudge),
    /// Admitted: pre-scan accepts every image.
    PreScanAccepted,
    /// The scan phase decided, image by image.
    Scanned,
    /// Rejected: there is no request to decide.
    UnreadableRequest(UnreadableRequest),
    /// Rejected: the object isn't what its definition says.
    UnreadableObject(UnreadableObject),
    /// Rejected: these images are not image references.
    NotImages(Vec<WorkloadImage>),
    /// Rejected: these images are named by mirrors of their registries.
    NamedByMirrors(Vec<(WorkloadImage, NamedByMirror)>),
    /// Rejected: more different images than the settings allow.
    TooManyImages {
        /// How many there are.
        images: usize,
        /// How many may be.
        max: usize,
    },
    /// Rejected: the decision would take more calls to the host than the settings allow.
    TooManyHostCalls {
        /// How many different images are judged.
        images: usize,
        /// How many calls there may be.
        max: usize,
    },
    /// Rejected: the decision would take more memory than the module may use. Nothing found until then is kept.
    TooMuchMemory,
    /// Rejected by pre-scan.
    PreScanRejected(PreScanRejection),
    /// Rejected: an image is not verified, so no scan was looked up.
    NotVerified,
}

impl Decision {
    /// A decision without any judged image yet.
    pub(crate) fn new(outcome: Outcome, now: Timestamp) -> Self {
        Self {
            outcome,
            images: Vec::new(),
            placeholders: Vec::new(),
            mutated_object: None,
            decided_at: now,
            verification: Vec::new(),
            verification_warnings: Vec::new(),
            policies: Vec::new(),
            policies_hash: None,
            seen: Vec::new(),
            whole_glass: None,
            message: None,
            scan_on_demand: false,
        }
    }

    /// The same, with the settings' words.
    pub(crate) fn worded(mut self, settings: &Settings) -> Self {
        self.message = settings.message.clone();
        self.scan_on_demand = settings.reports.scan_on_demand;
        self
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

    /// Whether a step rejected the request as a whole, so that nothing more is looked up for its images.
    pub(crate) fn is_rejected_for_good(&self) -> bool {
        match &self.outcome {
            Outcome::GlassBroken(_) | Outcome::NothingToJudge(_) | Outcome::PreScanAccepted | Outcome::Scanned => false,
            Outcome::UnreadableRequest(_)
            | Outcome::UnreadableObject(_)
            | Outcome::NotImages(_)
            | Outcome::NamedByMirrors(_)
            | Outcome::TooManyImages { .. }
            | Outcome::TooManyHostCalls { .. }
            | Outcome::TooMuchMemory
            | Outcome::PreScanRejected(_)
            | Outcome::NotVerified => true,
        }
    }

    /// Why pre-scan rejects the request: by its policies for images, or by custom rules for the whole.
    #[must_use]
    pub fn pre_scan_reasons(&self) -> BTreeSet<String> {
        let Outcome::PreScanRejected(why) = &self.outcome else { return BTreeSet::new() };
        let images = self.images.iter().filter(|_| why.by_policies);
        let reasons = images.filter_map(JudgedImage::pre_scan_rejection).map(|rejection| rejection.to_string());
        reasons.chain(why.by_rules.iter().cloned()).collect()
    }

    /// Takes over the results of rules after the phases, and what they saw.
    pub(crate) fn set_policies(&mut self, said: PoliciesSaid) {
        self.policies = said.outcomes;
        self.policies_hash = said.hash;
        self.seen = said.seen;
    }

    /// Takes over the results of verification.
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

    /// Whether the two phases admit the request, whatever policies in Rego decide.
    fn phases_allow(&self) -> bool {
        !self.is_rejected_for_good() && !self.images.iter().any(JudgedImage::is_denied)
    }
}
