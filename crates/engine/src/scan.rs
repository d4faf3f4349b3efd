//! The scan phase: for each image, what the settings do with its scan status.

use crate::context::{RequestContext, ReviewedObject};
use crate::judged::{JudgedImage, ScanOutcome};
use crate::pin;
use image_admission_image::ImageList;
use image_admission_image::workload::WorkloadKind;
use image_admission_judgement::reason::{Denial, ImageWarning, ScanStatus};
use image_admission_judgement::report::{Owner, ReportSearch, ScanReport, Subject};
use image_admission_settings::policy::rule_for;
use image_admission_settings::{EffectiveFallbacks, Fallback, ReportSource, SbomSource, ScanAction, Settings};
use std::collections::{BTreeMap, BTreeSet};

/// The workload that the images are judged for, as far as its scan reports depend on it. `is_scanned` says whether the scan phase
/// judges them: only what it finds is pinned.
pub(crate) fn subject(
    context: RequestContext<'_>,
    reviewed: &ReviewedObject,
    images: &[JudgedImage],
    is_scanned: bool,
) -> Subject {
    let RequestContext { settings, .. } = context;
    let mut subject = Subject {
        namespace: reviewed.namespace.clone(),
        owners: Vec::new(),
        containers: BTreeMap::new(),
        pinned: Vec::new(),
    };
    let Some(workload) = reviewed.workload else { return subject };
    let is_pinned = is_scanned && pin::reaches(&reviewed.object, workload, &settings.pin);
    // An expression may request an image elsewhere in the object, which nothing pins.
    if is_pinned {
        let references = images.iter().map(|judged| &judged.reference);
        subject.pinned = references.filter(|reference| !settings.pin.excludes(reference)).cloned().collect();
    }
    let is_named = settings.reports.sources.iter().any(ReportSource::names_workloads)
        || settings.reports.sboms.iter().any(SbomSource::names_workloads);
    if is_named {
        subject.owners = Owner::of(&reviewed.object, workload.name());
        for judged in images.iter().filter(|judged| judged.image.list != ImageList::Volume) {
            let containers = subject.containers.entry(judged.reference.clone()).or_default();
            containers.push(judged.image.container.clone());
        }
    }
    subject
}

/// Decides the second phase, image by image, and notes the outcome at each.
pub(crate) fn scan_images(
    images: &mut [JudgedImage],
    namespace: &str,
    workload: WorkloadKind,
    settings: &Settings,
    search: &mut ReportSearch<'_>,
) {
    let fallbacks = settings.scan.effective_fallbacks(namespace);
    for judged in images {
        if !settings.scan.auto_generate {
            let report = Some(search.find(&judged.reference));
            judged.scan =
                Some(ScanOutcome { rule: None, report, denied: None, custom: BTreeSet::new(), warning: None });
            continue;
        }
        let rule = rule_for(&settings.scan, namespace, &judged.image, &judged.reference, settings.image_matching);
        let (report, denied, warning) = match rule.action {
            ScanAction::Reject => (None, Some(Denial::Policy), None),
            // The status is looked up all the same: the digest is pinned, and the warning shows what was admitted.
            ScanAction::Accept => {
                let report = search.find(&judged.reference);
                let warning =
                    (report.status != ScanStatus::Accepted).then_some(ImageWarning::AdmittedByPolicy(report.status));
                (Some(report), None, warning)
            }
            ScanAction::ScanResult => {
                let report = search.find(&judged.reference);
                let (denied, warning) = judge(&report, fallbacks, workload);
                (Some(report), denied, warning)
            }
        };
        judged.scan = Some(ScanOutcome { rule: Some(rule), report, denied, custom: BTreeSet::new(), warning });
    }
}

/// The reason to deny, or the warning, for an image whose scan result decides.
fn judge(
    report: &ScanReport,
    fallbacks: EffectiveFallbacks,
    workload: WorkloadKind,
) -> (Option<Denial>, Option<ImageWarning>) {
    match (report.status, fallbacks.report_pending, fallbacks.scan_failed) {
        (ScanStatus::Accepted, _, _) => (None, None),
        (ScanStatus::Rejected, _, _) => (Some(Denial::ScanResult), None),
        (ScanStatus::ReportNotAvailable, Fallback::Accept, _) => {
            (None, Some(ImageWarning::PendingAccepted(report.state.lacks())))
        }
        // The scanner may start only once the controller exists; its Pods wait instead.
        (ScanStatus::ReportNotAvailable, Fallback::Reject, _) if workload.is_template() => {
            (None, Some(ImageWarning::PodsWait(report.state.lacks(), workload)))
        }
        (ScanStatus::ReportNotAvailable, Fallback::Reject, _) => (Some(Denial::ReportPending), None),
        (ScanStatus::ScanFailed, _, fallback) if fallback.forgives(report.forgiven_by) => {
            (None, Some(ImageWarning::FailureAccepted(fallback)))
        }
        (ScanStatus::ScanFailed, _, _) => (Some(Denial::ScanFailed), None),
    }
}
