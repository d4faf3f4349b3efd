//! Pre-scan, the first phase: what the settings say about images before anything is known of them.

use crate::judged::JudgedImage;
use crate::policy::rule_for;
use crate::settings::{PreScanAction, Settings};
use std::collections::BTreeSet;

/// What pre-scan says of the workload as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PreScan {
    /// Every image is accepted; nothing more is asked.
    Accepted,
    /// At least one image is rejected; the reasons, sorted and without repeats.
    Rejected(BTreeSet<String>),
    /// At least one image is to be scanned, so that all are.
    Scan,
}

/// Decides the first phase, and notes at each image which policy it was.
pub(crate) fn decide(images: &mut [JudgedImage], namespace: &str, settings: &Settings) -> PreScan {
    // Without generated rules only custom ones say anything.
    if !settings.pre_scan.auto_generate {
        return PreScan::Scan;
    }
    let mut reasons = BTreeSet::new();
    let mut scan = false;
    for judged in images {
        let rule = rule_for(&settings.pre_scan, namespace, &judged.image, &judged.reference, settings.image_matching);
        match rule.action {
            PreScanAction::Accept => {}
            PreScanAction::Reject => {
                reasons.insert(format!("Image '{}' REJECTED. {rule}", judged.image.shown()));
            }
            PreScanAction::Scan => scan = true,
        }
        judged.pre_scan = Some(rule);
    }
    if !reasons.is_empty() {
        PreScan::Rejected(reasons)
    } else if scan {
        PreScan::Scan
    } else {
        PreScan::Accepted
    }
}
