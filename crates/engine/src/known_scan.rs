//! What is known of one image's scan, for who has images scanned: the companion.

use crate::prescan;
use image_admission_attestors::Verifier;
use image_admission_host::{Host, MirroredHost};
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{ImageReference, images};
use image_admission_judgement::reason::NamedByMirror;
use image_admission_judgement::report::{ReportSearch, ScanReport, Subject};
use image_admission_settings::policy::rule_for;
use image_admission_settings::{PreScanAction, ScanAction, Settings};
use image_admission_untrusted::time::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a Pod of `namespace` with this image would find of its scan reports, with its reference.
///
/// None if no report decides about it: the text is no image reference, it names a mirror, or the settings accept or reject it by its
/// name. Signatures of images, rules in Rego and exemptions aren't asked: they say nothing of whether there is a report. Give it
/// [`Settings::only_reports`], so that nothing is read of a report but whose it is, and how old.
#[must_use]
pub fn known_scan(
    image: &str,
    namespace: &str,
    settings: &Settings,
    host: &dyn Host,
    now: Timestamp,
) -> Option<(ImageReference, Rc<ScanReport>)> {
    let pod = json!({"spec": {"containers": [{"name": "image", "image": image}]}});
    let image = images(&pod, WorkloadKind::Pod).ok()?.pop()?;
    let reference = image.reference.clone().ok()?;
    if NamedByMirror::of(&reference, &settings.mirrors).is_some() {
        return None;
    }
    let pre_scan = || rule_for(&settings.pre_scan, namespace, &image, &reference, settings.image_matching).action;
    let scan = || rule_for(&settings.scan, namespace, &image, &reference, settings.image_matching).action;
    let is_decided_by_name = prescan::is_accepted(&image, namespace, settings)
        || (settings.pre_scan.auto_generate && pre_scan() == PreScanAction::Reject)
        || (settings.scan.auto_generate && scan() == ScanAction::Reject);
    if is_decided_by_name {
        return None;
    }
    // As for a Pod.
    let is_pinned = settings.pin.enabled && !settings.pin.excludes(&reference);
    let subject = Subject {
        namespace: namespace.to_owned(),
        owners: Vec::new(),
        containers: BTreeMap::new(),
        pinned: if is_pinned { vec![reference.clone()] } else { Vec::new() },
    };
    let host = MirroredHost::new(host, &settings.mirrors);
    let verifier = Verifier::new(&settings.evidence, &host, now);
    // A tag may move to another index. So a platform that a workload names is scanned for itself.
    let mut search = ReportSearch::new(settings, &host, &verifier, now, &subject, None, None).without_indexes();
    let report = search.find(&reference);
    drop(search);
    Some((reference, report))
}
