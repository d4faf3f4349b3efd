//! The scan phase: per image, what the settings make of its scan's status.

use crate::decision::{JudgedImage, ScanOutcome};
use crate::host::Host;
use crate::policy::rule_for;
use crate::report::{ReportSearch, ScanStatus};
use crate::settings::{Fallback, Phase, ScanAction, Settings, StatusFallbacks};
use crate::workload::WorkloadKind;

/// Decides the second phase, image by image, and notes the outcome at each.
pub(crate) fn decide(
    images: &mut [JudgedImage],
    namespace: &str,
    workload: WorkloadKind,
    settings: &Settings,
    host: &dyn Host,
) {
    let fallbacks = fallbacks(&settings.scan, namespace);
    let mut search = ReportSearch::new(settings, host, namespace);
    for judged in images {
        let rule = rule_for(&settings.scan, namespace, &judged.image, &judged.reference, settings.image_matching);
        judged.scan = Some(match rule.action {
            ScanAction::Reject => {
                ScanOutcome { rule, report: None, denied: Some("policy action is 'reject'"), warning: None }
            }
            // The status is looked up all the same: the digest is pinned, and people want to know what they let in.
            ScanAction::Accept => {
                let report = search.find(&judged.reference);
                let warning = (report.status != ScanStatus::Accepted)
                    .then(|| format!("is admitted by policy, its scan status is '{}'", report.status));
                ScanOutcome { rule, report: Some(report), denied: None, warning }
            }
            ScanAction::ScanResult => {
                let report = search.find(&judged.reference);
                let (denied, warning) = judge(report.status, fallbacks, workload);
                ScanOutcome { rule, report: Some(report), denied, warning }
            }
        });
    }
}

/// The reason to deny, or the reason to warn, for an image whose scan result decides.
fn judge(
    status: ScanStatus,
    fallbacks: EffectiveFallbacks,
    workload: WorkloadKind,
) -> (Option<&'static str>, Option<String>) {
    match (status, fallbacks.report_pending, fallbacks.scan_failed) {
        (ScanStatus::Accepted, _, _) => (None, None),
        (ScanStatus::Rejected, _, _) => (Some("scan result is 'reject'"), None),
        (ScanStatus::ReportNotAvailable, Fallback::Accept, _) => {
            (None, Some("has no scan report yet, and `reportPending` is `accept`".to_owned()))
        }
        // The scanner may start only when the controller exists; its Pods wait instead.
        (ScanStatus::ReportNotAvailable, Fallback::Reject, _) if workload.is_template() => {
            (None, Some(format!("has no scan report yet: Pods of this {workload} wait for it")))
        }
        (ScanStatus::ReportNotAvailable, Fallback::Reject, _) => (Some("scan report is pending"), None),
        (ScanStatus::ScanFailed, _, Fallback::Accept) => {
            (None, Some("could not be scanned, and `scanFailed` is `accept`".to_owned()))
        }
        (ScanStatus::ScanFailed, _, Fallback::Reject) => (Some("scan failed"), None),
    }
}

#[derive(Debug, Clone, Copy)]
struct EffectiveFallbacks {
    report_pending: Fallback,
    scan_failed: Fallback,
}

/// The namespace's, then the top level's, then reject. The namespace's hold also for top-level custom policies.
fn fallbacks(phase: &Phase<ScanAction>, namespace: &str) -> EffectiveFallbacks {
    let own = phase.by_namespace.get(namespace).map_or(StatusFallbacks::default(), |overrides| overrides.fallbacks);
    let top = phase.fallbacks;
    EffectiveFallbacks {
        report_pending: own.report_pending.or(top.report_pending).unwrap_or(Fallback::Reject),
        scan_failed: own.scan_failed.or(top.scan_failed).unwrap_or(Fallback::Reject),
    }
}
