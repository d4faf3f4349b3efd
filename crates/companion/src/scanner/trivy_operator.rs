//! trivy-operator is asked by a suspended CronJob: it scans the images of every CronJob, suspended or not, and its report outlives one
//! that is deleted with `propagationPolicy: Orphan`.
//!
//! Each attempt has a name of its own. The operator takes the report of an earlier CronJob with the same name for that of the new one.

use super::{IMAGE, Judgement, Kind, NewObject, Request, presence, read_request};
use crate::on_demand::pod_spec;
use crate::scan::{ScanId, Target};
use crate::scan_failure::ScanFailure;
use crate::settings::TrivyOperatorScans;
use crate::workload::{COMPANION, MANAGED_BY};
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_judgement::report::ScanReport;
use image_admission_settings::TrivyOperator as Source;
use serde_json::{Value, json};

pub(super) const CRON_JOB: Kind = Kind { api_version: "batch/v1", kind: "CronJob" };
/// What names begin with.
const PREFIX: &str = "scan-";
/// The operator's label with the name of the workload that a report is about.
const OF_WORKLOAD: &str = "trivy-operator.resource.name";

/// trivy-operator, as the policy's settings have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrivyOperator {
    namespace: String,
    platform: Platform,
    image_pull_secrets: Vec<String>,
}

impl TrivyOperator {
    /// None if the source names no namespace whose reports count for every workload.
    pub(super) fn new(source: &Source, settings: &TrivyOperatorScans) -> Option<Self> {
        let namespace = source.namespaces.named.first()?.clone();
        let image_pull_secrets = settings.image_pull_secrets.clone();
        Some(Self { namespace, platform: source.platform.clone(), image_pull_secrets })
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// One scan for each platform that the operator can scan: a report of a platform's digest counts for every index that has it.
    pub(super) fn judge(&self, reference: &ImageReference, report: &ScanReport) -> Judgement {
        let is_scanned = |name: &String| *name == self.platform.name();
        let (own, others): (Vec<_>, Vec<_>) =
            report.platforms.iter().partition(|platform| platform.platform.as_ref().is_none_or(is_scanned));
        if own.is_empty() && !others.is_empty() {
            return Judgement::Impossible(ScanFailure::OtherPlatform);
        }
        let scan = |digest: &String| {
            let id = ScanId::of(&reference.at(digest));
            (id, Target { reference: reference.clone(), digest: digest.clone() })
        };
        let known = own.into_iter().map(|platform| {
            let (id, target) = scan(&platform.digest);
            (id, target, presence(platform.state))
        });
        Judgement::Known(known.collect())
    }

    pub(super) fn request(&self, id: &ScanId, target: &Target, attempt: u32) -> NewObject {
        let pod = pod_spec(&target.reference.at(&target.digest), &self.image_pull_secrets);
        let object = json!({
            "apiVersion": CRON_JOB.api_version,
            "kind": CRON_JOB.kind,
            "metadata": {
                "name": format!("{PREFIX}{id}-{attempt}"),
                "namespace": self.namespace,
                "labels": {MANAGED_BY: COMPANION},
                "annotations": {IMAGE: target.to_string()},
            },
            "spec": {
                "suspend": true,
                "schedule": "0 0 1 1 *",
                "jobTemplate": {"spec": {"template": {"spec": pod}}},
            },
        });
        NewObject { kind: CRON_JOB, namespace: self.namespace.clone(), object }
    }

    pub(super) fn read_request(object: &Value) -> Option<Request> {
        read_request(object, PREFIX, None)
    }

    pub(super) fn scan_of_report(report: &Value) -> Option<(ScanId, u32)> {
        ScanId::and_attempt(report.pointer("/metadata/labels")?.get(OF_WORKLOAD)?.as_str()?, PREFIX)
    }
}
