//! The scanner that is asked, and the objects of the cluster by which it is.

mod job;
mod sbomscanner;
mod trivy_operator;

use crate::scan::{ScanId, Target};
use crate::scan_failure::ScanFailure;
use crate::settings::CompanionSettings;
use crate::workload::{COMPANION, MANAGED_BY};
use image_admission_image::ImageReference;
use image_admission_judgement::reason::{ReportState, ScanReason, Unresolved};
use image_admission_judgement::report::ScanReport;
use image_admission_settings::{Attestor, Evidence, Identity, ReportSource, Settings};
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;
use std::fmt;

pub use job::{ScanJob, TemplateProblem};
pub use sbomscanner::SbomScanner;
pub use trivy_operator::TrivyOperator;

/// What an object of ours says it is about.
pub(crate) const IMAGE: &str = "image-admission.kubewarden.io/image";

/// The scanner that is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scanner {
    /// Aqua's trivy-operator, by suspended CronJobs.
    TrivyOperator(TrivyOperator),
    /// SBOMscanner, by a Registry for each tag and ScanJobs.
    SbomScanner(SbomScanner),
    /// Whatever the Jobs of a template run.
    Job(ScanJob),
}

/// Why nobody is asked for scans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoScanner {
    /// No source of reports can be asked, or no image needs a report.
    NoSource,
    /// The template of the Jobs can't be used.
    Template(TemplateProblem),
}

/// A kind of the cluster, as its API spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// `v1`, or `group/version`.
    pub api_version: &'static str,
    /// `CronJob`
    pub kind: &'static str,
}

/// An object to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewObject {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// All of it.
    pub object: Value,
}

/// What is known of the reports of one target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// There is a fresh report.
    Reported,
    /// The scanner is at work on one.
    Pending,
    /// There is none, or none that is fresh or can be read.
    Missing,
}

/// What the policy's engine knows of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// No report decides about it.
    NotAsked,
    /// What its scans are, and whether each is there.
    Known(Vec<(ScanId, Target, Presence)>),
    /// This scanner can't be asked for it.
    Impossible(ScanFailure),
    /// It couldn't be looked up.
    Failed {
        /// The host of its registry, if that seems to be down.
        down: Option<String>,
        /// When that may be asked again, if it says so.
        until: Option<Timestamp>,
    },
}

/// An object of ours by which a scan was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is scanned.
    pub id: ScanId,
    /// The number of the attempt.
    pub attempt: u32,
    /// The object's name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// When it was created.
    pub created: Timestamp,
    /// How it ended, if the scanner says so.
    pub end: Option<End>,
}

/// An object of ours that several requests for one scan share, and that the reports depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shared {
    /// What is scanned.
    pub id: ScanId,
    /// The object's name.
    pub name: String,
    /// Its identity.
    pub uid: String,
}

/// How the scanner says that a scan has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Every image is done.
    Complete,
    /// It failed. The scanner's own words aren't repeated: a registry may have chosen them.
    Failed(ScanFailure),
}

impl NewObject {
    /// `CronJob image-scans/scan-…-1`, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        let name = self.object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        format!("{} {}/{name}", self.kind.kind, self.namespace)
    }
}

impl Scanner {
    /// The first source of reports that can be asked for scans, if the policy has one, with what of the policy's settings says which
    /// images need a report of this scanner. Reports that others made, or that stand in workloads' own namespaces, don't count then: at
    /// worst an image is scanned twice. `job` is the template of Jobs, if the companion's settings name one: reports beside images are
    /// made by these.
    ///
    /// # Errors
    /// No source can be asked, or the first one that can has a template that can't be used.
    pub fn of(
        policy: &Settings,
        settings: &CompanionSettings,
        job: Option<Result<ScanJob, TemplateProblem>>,
    ) -> Result<(Self, Settings), NoScanner> {
        if policy.scans_nothing() {
            return Err(NoScanner::NoSource);
        }
        let platforms = &policy.reports.platforms;
        let found = policy.reports.sources.iter().find_map(|source| {
            let mut source = source.clone();
            let scanner = match &mut source {
                ReportSource::TrivyOperator(operator) => {
                    operator.namespaces.of_workload = false;
                    Self::TrivyOperator(TrivyOperator::new(operator, &settings.trivy_operator)?)
                }
                ReportSource::SbomScanner(scanner) => {
                    scanner.namespaces.of_workload = false;
                    Self::SbomScanner(SbomScanner::new(scanner, platforms, &settings.sbomscanner)?)
                }
                ReportSource::Registry(registry) | ReportSource::Attestation(registry) => {
                    let of = &registry.attached;
                    let is_verified =
                        of.allow_unsigned || of.attestors.iter().any(|own| is_verified_here(own, &policy.evidence));
                    match job.clone().filter(|_| is_verified)? {
                        Ok(job) => Self::Job(job),
                        Err(problem) => return Some(Err(NoScanner::Template(problem))),
                    }
                }
                ReportSource::Kubescape(_) | ReportSource::Custom(_) => return None,
            };
            let mut only = policy.only_reports();
            only.reports.sources = vec![source];
            Some(Ok((scanner, only)))
        });
        found.unwrap_or(Err(NoScanner::NoSource))
    }

    /// What the engine's words about an image mean for this scanner.
    #[must_use]
    pub fn judge(&self, reference: &ImageReference, report: &ScanReport) -> Judgement {
        match &report.reason {
            reason if reason.is_registry_not_allowed() => return Judgement::NotAsked,
            ScanReason::Unresolved(why) => {
                let down = is_outage(why).then(|| reference.host().to_owned());
                return Judgement::Failed { down, until: None };
            }
            ScanReason::EveryPlatformAccepted(_) | ScanReason::Platforms(_) => {}
        }
        if report.platforms.iter().any(|platform| platform.state == ReportState::LookUpFailed) {
            return Judgement::Failed { down: None, until: None };
        }
        match self {
            Self::TrivyOperator(operator) => operator.judge(reference, report),
            Self::SbomScanner(_) => SbomScanner::judge(reference, report),
            Self::Job(_) => ScanJob::judge(reference, report),
        }
    }

    /// The objects that ask for a scan, in the order in which they are created. The last one is the request.
    #[must_use]
    pub fn request(&self, id: &ScanId, target: &Target, attempt: u32) -> Vec<NewObject> {
        match self {
            Self::TrivyOperator(operator) => vec![operator.request(id, target, attempt)],
            Self::SbomScanner(scanner) => scanner.request(id, target, attempt).into(),
            Self::Job(job) => vec![job.request(id, target, attempt)],
        }
    }

    /// The kind of the objects by which scans are asked for.
    #[must_use]
    pub fn request_kind(&self) -> Kind {
        match self {
            Self::TrivyOperator(_) => trivy_operator::CRON_JOB,
            Self::SbomScanner(_) => sbomscanner::SCAN_JOB,
            Self::Job(_) => job::JOB,
        }
    }

    /// Where they are.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self {
            Self::TrivyOperator(operator) => operator.namespace(),
            Self::SbomScanner(scanner) => scanner.namespace(),
            Self::Job(job) => job.namespace(),
        }
    }

    /// Reads an object of that kind, if it is one of ours.
    #[must_use]
    pub fn read_request(&self, object: &Value) -> Option<Request> {
        match self {
            Self::TrivyOperator(_) => TrivyOperator::read_request(object),
            Self::SbomScanner(_) => SbomScanner::read_request(object),
            Self::Job(_) => ScanJob::read_request(object),
        }
    }

    /// The kind of what requests share, if there is such.
    #[must_use]
    pub fn shared_kind(&self) -> Option<Kind> {
        match self {
            Self::TrivyOperator(_) | Self::Job(_) => None,
            Self::SbomScanner(_) => Some(sbomscanner::REGISTRY),
        }
    }

    /// The scan of an image for which requests share something, as far as its name alone says it.
    #[must_use]
    pub fn scan_by_name(&self, image: &str) -> Option<ScanId> {
        match self {
            Self::TrivyOperator(_) | Self::Job(_) => None,
            Self::SbomScanner(_) => SbomScanner::scan_of(&ImageReference::parse(image).ok()?),
        }
    }

    /// Reads an object of that kind, if it is one of ours.
    #[must_use]
    pub fn read_shared(&self, object: &Value) -> Option<Shared> {
        match self {
            Self::TrivyOperator(_) | Self::Job(_) => None,
            Self::SbomScanner(_) => SbomScanner::read_shared(object),
        }
    }

    /// Whether requests are taken away once there is a report. Those of SBOMscanner aren't: its reports go with them.
    #[must_use]
    pub fn takes_requests_away(&self) -> bool {
        matches!(self, Self::TrivyOperator(_) | Self::Job(_))
    }

    /// Whether a request that failed stays until the next one, since its log is all that says why.
    #[must_use]
    pub fn keeps_failed_requests(&self) -> bool {
        matches!(self, Self::Job(_))
    }

    /// Whether what depends on a request stays when it goes. Reports do, and Pods don't.
    #[must_use]
    pub fn keeps_dependents(&self) -> bool {
        !matches!(self, Self::Job(_))
    }

    /// Whether its reports are evidence beside the image, which may be copied into the cluster.
    #[must_use]
    pub fn makes_evidence(&self) -> bool {
        matches!(self, Self::Job(_))
    }

    /// The scan and the attempt that a report came from, if it was ours.
    #[must_use]
    pub fn scan_of_report(&self, report: &Value) -> Option<(ScanId, u32)> {
        match self {
            Self::TrivyOperator(_) => TrivyOperator::scan_of_report(report),
            Self::SbomScanner(_) => SbomScanner::scan_of_report(report),
            Self::Job(_) => None,
        }
    }
}

impl fmt::Display for Scanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TrivyOperator(_) => "trivy-operator",
            Self::SbomScanner(_) => "SBOMscanner",
            Self::Job(_) => "Jobs",
        })
    }
}

/// Whether evidence of an attestor's can be verified without the policy's host, which knows signatures in layers, too.
fn is_verified_here(attestor: &Attestor, evidence: &Evidence) -> bool {
    let has_root = || attestor.trust_root.is_some() || evidence.trust_root.is_some();
    attestor.annotations.is_empty()
        && match attestor.identity {
            Identity::Key(_) | Identity::KeyInCluster(_) | Identity::Notary(_) => true,
            Identity::Keyless { .. }
            | Identity::KeylessPrefix { .. }
            | Identity::KeylessMatching { .. }
            | Identity::GithubActions { .. } => has_root(),
            Identity::Certificate { .. } => false,
        }
}

/// The reason of a condition of an object's status, if it is true.
fn condition<'a>(object: &'a Value, of: &str) -> Option<&'a str> {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array)?;
    let is_true = |condition: &&Value| {
        condition.get("type").is_some_and(|name| name == of)
            && condition.get("status").is_some_and(|status| status == "True")
    };
    let condition = conditions.iter().find(is_true)?;
    Some(condition.get("reason").and_then(Value::as_str).unwrap_or_default())
}

/// The name and the identity of an object of ours.
fn ours(object: &Value) -> Option<(&str, &str)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let is_ours = object.pointer("/metadata/labels")?.get(MANAGED_BY)? == COMPANION;
    Some((text("/metadata/name").filter(|_| is_ours)?, text("/metadata/uid")?))
}

/// A request of ours, whose name begins so.
fn read_request(object: &Value, prefix: &str, end: Option<End>) -> Option<Request> {
    let (name, uid) = ours(object)?;
    let (id, attempt) = ScanId::and_attempt(name, prefix)?;
    let created = Timestamp::parse(object.pointer("/metadata/creationTimestamp")?.as_str()?)?;
    Some(Request { id, attempt, name: name.to_owned(), uid: uid.to_owned(), created, end })
}

/// Whether the registry may be to blame, and not the image.
fn is_outage(why: &Unresolved) -> bool {
    match why {
        Unresolved::NoDigest(failure) | Unresolved::NotConfirmed(failure) | Unresolved::NoManifest(failure) => {
            failure.is_outage()
        }
        Unresolved::RegistryNotAllowed { .. }
        | Unresolved::RegistryInternal(_)
        | Unresolved::NamedByMirror(_)
        | Unresolved::NotADigest
        | Unresolved::MirrorDiffers(_)
        | Unresolved::Ambiguous
        | Unresolved::Unproven
        | Unresolved::NoPlatforms
        | Unresolved::TooManyPlatforms(_)
        | Unresolved::NoneAskedFor(_) => false,
    }
}

/// What a platform's state means for who asks for scans. A report that can't be read may be read once it is made anew.
fn presence(state: ReportState) -> Presence {
    match state {
        ReportState::Fresh | ReportState::NoSbom => Presence::Reported,
        ReportState::Pending => Presence::Pending,
        ReportState::Stale
        | ReportState::OtherImage
        | ReportState::NotScanned
        | ReportState::Failed
        | ReportState::LookUpFailed
        | ReportState::RegistryNotAllowed => Presence::Missing,
    }
}
