//! The policy whose settings say which scanner there is, and which images need a report.

use crate::objects::{objects, resource};
use image_admission_companion::{CompanionSettings, NoScanner, ScanJob, ScanJobSettings, Scanner, TemplateProblem};
use image_admission_engine::check_settings;
use image_admission_manifests::label_selector::{Label, excludes};
use image_admission_settings::Settings;
use kube::Client;
use serde_json::Value;
use std::collections::BTreeMap;

/// The label that each namespace has, with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// What the API server answers if an object isn't there.
const NOT_FOUND: u16 = 404;

/// A policy, as far as the companion needs it.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Its `spec.settings` and selector as they are written: another text is another policy.
    pub(crate) written: (Value, Value),
    /// None: it copies evidence alone.
    pub(crate) scanner: Option<Scanner>,
    /// What of its settings says which images need a report of this scanner.
    pub(crate) settings: Settings,
}

impl Policy {
    /// Reads the policy that the companion's settings name, and the template of Jobs with it.
    ///
    /// # Errors
    /// It isn't there or can't be read, its settings are invalid, it has no source that can be asked for scans and no evidence is to be
    /// copied, or the template of its Jobs can't be used.
    pub(crate) async fn read(client: &Client, settings: &CompanionSettings) -> Result<Self, String> {
        let api = objects(client, &resource("policies.kubewarden.io/v1", "ClusterAdmissionPolicy"), None);
        let name = &settings.policy;
        let policy = api.get(name).await.map_err(|error| match error {
            kube::Error::Api(status) => format!("the policy `{name}` can't be read: {}", status.reason),
            _ => format!("the policy `{name}` can't be read: no answer from the API server"),
        })?;
        let field = |pointer: &str| policy.data.pointer(pointer).cloned().unwrap_or_default();
        let written = (field("/spec/settings"), field("/spec/namespaceSelector"));
        let read = check_settings(&written.0)
            .map_err(|problems| format!("the settings of the policy `{name}` are invalid: {problems}"))?;
        let job = match &settings.scan_job {
            Some(of) => Some(template(client, of).await),
            None => None,
        };
        let (scanner, only) = match Scanner::of(&read, settings, job) {
            Ok((scanner, only)) => (Some(scanner), only),
            // Whoever names a template wants scans.
            Err(NoScanner::NoSource)
                if settings.scan_job.is_none() && settings.evidence.is_some() && read.evidence.from_cluster =>
            {
                (None, read.only_reports())
            }
            Err(why) => return Err(no_scanner(why, settings)),
        };
        Ok(Self { written, scanner, settings: only })
    }

    /// Whether it is the same as another, and so is the template of its scanner's Jobs.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.written == other.written && self.scanner == other.scanner
    }

    /// Whether the policy's `namespaceSelector` leaves a namespace out, by its labels.
    pub(crate) fn leaves_out(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> bool {
        excludes(&self.written.1, |key| match labels {
            _ if key == NAME_LABEL => Label::Is(namespace),
            Some(labels) => labels.get(key).map_or(Label::Missing, |value| Label::Is(value)),
            None => Label::Missing,
        })
    }
}

/// Why nobody can be asked for scans, and what to do.
fn no_scanner(why: NoScanner, settings: &CompanionSettings) -> String {
    match (why, &settings.scan_job) {
        (NoScanner::Template(problem), Some(ScanJobSettings { namespace, cron_job })) => {
            format!("the CronJob `{namespace}/{cron_job}`, which `scanJob` names, {problem}")
        }
        _ => format!(
            "`reports.sources` of the policy `{}` has nothing that can be asked for scans: no `trivyOperator` and no `sbomscanner` \
             with `namespaces`, and no `attestation` or `registry` with `scanJob` and an attestor whose evidence the policy verifies \
             itself; or its pre-scan decides about every image",
            settings.policy
        ),
    }
}

/// Reads the template of Jobs.
async fn template(client: &Client, settings: &ScanJobSettings) -> Result<ScanJob, TemplateProblem> {
    // Fields that this version doesn't know must not be lost.
    let api = objects(client, &resource("batch/v1", "CronJob"), Some(&settings.namespace));
    let cron_job = api.get(&settings.cron_job).await.map_err(|error| match error {
        kube::Error::Api(status) if status.code == NOT_FOUND => TemplateProblem::Missing,
        kube::Error::Api(status) => TemplateProblem::Unreadable(status.reason),
        _ => TemplateProblem::Unreadable("no answer from the API server".to_owned()),
    })?;
    // What came as JSON is JSON.
    ScanJob::read(settings, &serde_json::to_value(cron_job).unwrap_or_default())
}
