//! Pre-scan, the first phase: decides by the images' names, before anything else is known of them.

use crate::judged::JudgedImage;
use image_admission_image::WorkloadImage;
use image_admission_settings::policy::rule_for;
use image_admission_settings::{PreScanAction, Settings};
use std::collections::BTreeSet;

/// Why pre-scan rejects a workload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreScanRejection {
    /// Whether the policies for images do; each image names its policy.
    pub by_policies: bool,
    /// Why custom rules reject it.
    pub by_rules: BTreeSet<String>,
}

/// The result of pre-scan for the workload as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PreScan {
    /// Every image is accepted; nothing more is looked up.
    Accepted,
    /// At least one image is rejected.
    Rejected(PreScanRejection),
    /// At least one image is to be scanned, so all are.
    Scan,
}

/// Whether the settings accept an image by its name, whatever custom rules say.
pub(crate) fn is_accepted(image: &WorkloadImage, namespace: &str, settings: &Settings) -> bool {
    let Ok(reference) = &image.reference else { return false };
    let rule = || rule_for(&settings.pre_scan, namespace, image, reference, settings.image_matching);
    settings.pre_scan.auto_generate && rule().action == PreScanAction::Accept
}

/// Decides the first phase, and notes the deciding policy at each image.
pub(crate) fn apply_policies(images: &mut [JudgedImage], namespace: &str, settings: &Settings) -> PreScan {
    // Without generated rules only custom rules decide.
    if !settings.pre_scan.auto_generate {
        return PreScan::Scan;
    }
    let (mut reject, mut scan) = (false, false);
    for judged in images {
        let rule = rule_for(&settings.pre_scan, namespace, &judged.image, &judged.reference, settings.image_matching);
        match rule.action {
            PreScanAction::Accept => {}
            PreScanAction::Reject => reject = true,
            PreScanAction::Scan => scan = true,
        }
        judged.pre_scan = Some(rule);
    }
    if reject {
        PreScan::Rejected(PreScanRejection { by_policies: true, ..PreScanRejection::default() })
    } else if scan {
        PreScan::Scan
    } else {
        PreScan::Accepted
    }
}
