//! An image that is judged, with the results for it.

use image_admission_image::{ImageReference, WorkloadImage};
use image_admission_judgement::reason::{Denial, ImageWarning, Rejection};
use image_admission_judgement::report::ScanReport;
use image_admission_settings::policy::Rule;
use image_admission_settings::{PreScanAction, ScanAction};
use std::collections::BTreeSet;
use std::rc::Rc;

/// An image, and the results of its phases.
#[derive(Debug, Clone)]
pub struct JudgedImage {
    /// Where it is in the object.
    pub image: WorkloadImage,
    /// Its reference.
    pub reference: ImageReference,
    /// The policy that decided in pre-scan.
    pub pre_scan: Option<Rule<PreScanAction>>,
    /// The digest that verification resolved it to.
    pub digest: Option<String>,
    /// Whether a policy of `imageVerification` leaves it unpinned, which holds if nothing but verification checked it.
    pub stays_unpinned: bool,
    /// Whether `pin.exclude` leaves it unpinned, while others of the object are pinned.
    pub is_excluded: bool,
    /// The result of the scan phase.
    pub scan: Option<ScanOutcome>,
    /// The string that was written instead of it.
    pub pinned: Option<String>,
}

/// The result of the scan phase for an image.
#[derive(Debug, Clone)]
pub struct ScanOutcome {
    /// The policy that decided; none if only custom rules decide.
    pub rule: Option<Rule<ScanAction>>,
    /// What is known about the image; none if the policy rejects without a look-up.
    pub report: Option<Rc<ScanReport>>,
    /// Why it is denied.
    pub denied: Option<Denial>,
    /// Why custom rules deny it.
    pub custom: BTreeSet<String>,
    /// The warning about an image that is admitted all the same.
    pub warning: Option<ImageWarning>,
}

impl JudgedImage {
    /// An image without any result yet.
    pub(crate) fn new(image: WorkloadImage, reference: ImageReference) -> Self {
        Self {
            image,
            reference,
            pre_scan: None,
            digest: None,
            stays_unpinned: false,
            is_excluded: false,
            scan: None,
            pinned: None,
        }
    }

    /// Whether pre-scan accepts this image by itself.
    pub(crate) fn is_accepted_by_pre_scan(&self) -> bool {
        self.pre_scan.as_ref().is_some_and(|rule| rule.action == PreScanAction::Accept)
    }

    /// Whether it stays unpinned. If the scan phase looked up a report, the judged digest is the one that must run: a demand for
    /// signatures doesn't say what else may run under the tag.
    pub(crate) fn is_left_unpinned(&self) -> bool {
        self.stays_unpinned && self.scan.as_ref().is_none_or(|scan| scan.report.is_none())
    }

    /// Whether the scan phase denies it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        self.scan.as_ref().is_some_and(|scan| scan.denied.is_some() || !scan.custom.is_empty())
    }

    /// Every reason of the scan phase to deny it: the policy's, and those of custom rules.
    #[must_use]
    pub fn denials(&self) -> BTreeSet<String> {
        let Some(scan) = &self.scan else { return BTreeSet::new() };
        let mut denials = scan.custom.clone();
        denials.extend(self.scan_rejection().map(|rejection| rejection.to_string()));
        denials
    }

    /// Why the scan phase rejects it, if its policy does.
    fn scan_rejection(&self) -> Option<Rejection<'_, Rule<ScanAction>>> {
        let scan = self.scan.as_ref()?;
        Some(Rejection { image: self.image.shown(), policy: scan.rule.as_ref()?, denial: Some(scan.denied?) })
    }

    /// Notes what custom rules deny. `is_whole` says whether the generated rules were evaluated with them: these repeat the
    /// policy's reason in the same words, which is no reason of the custom rules.
    pub(crate) fn set_custom(&mut self, mut custom: BTreeSet<String>, is_whole: bool) {
        let is_generated =
            is_whole && self.scan_rejection().is_some_and(|rejection| custom.remove(&rejection.to_string()));
        if let Some(scan) = &mut self.scan {
            scan.custom = custom;
            scan.denied = scan.denied.filter(|_| !is_whole || is_generated);
        }
    }

    /// Why pre-scan rejects it, if its policy does, in the words of the message.
    #[must_use]
    pub fn pre_scan_denial(&self) -> Option<String> {
        self.pre_scan_rejection().map(|rejection| rejection.to_string())
    }

    /// Why pre-scan rejects it, if its policy does.
    pub fn pre_scan_rejection(&self) -> Option<Rejection<'_, Rule<PreScanAction>>> {
        let policy = self.pre_scan.as_ref().filter(|rule| rule.action == PreScanAction::Reject)?;
        Some(Rejection { image: self.image.shown(), policy, denial: None })
    }
}
