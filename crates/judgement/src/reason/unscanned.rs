//! Why there is no report: the image wasn't scanned, a scan is pending, or it failed.

use crate::reason::{UnreadableReport, Unsigned};
use image_admission_image::platform::Platform;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use std::fmt;

/// The longest status of a scanner that a message repeats.
const MAX_STATUS_LENGTH: usize = 80;

/// Why a scanner that knows an image has no result for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotScanned {
    /// The report is for another platform.
    OtherPlatform {
        /// The report.
        report: String,
        /// The platform.
        platform: Platform,
    },
    /// The report of a custom source names no platform.
    NoPlatform {
        /// The report.
        report: String,
    },
    /// The report beside an image names no platform.
    ArtifactWithoutPlatform {
        /// The report.
        report: String,
    },
    /// None of these attestors signed the report.
    Unsigned {
        /// The artifact.
        artifact: String,
        /// The wanted signers.
        unsigned: Unsigned,
    },
    /// The report covers only the packages that one workload uses.
    OnlyWhatOneWorkloadUses,
    /// The newest scan of the scanner's Registry has ended without a report of this image. The image is known since then.
    ScanJobWithoutIt {
        /// The ScanJob.
        job: String,
        /// The Registry.
        registry: String,
        /// When it ended.
        completed: Option<Timestamp>,
        /// Since when.
        since: Option<Timestamp>,
    },
}

/// What a pending result waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pending {
    /// The next ScanJob of this Registry. The image is known since then.
    NextScanJob {
        /// The Registry.
        registry: String,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// A ScanJob that has been at work since then.
    ScanJob {
        /// The ScanJob.
        job: String,
        /// Since when.
        since: Option<Timestamp>,
    },
    /// Kubescape's list of packages.
    Packages,
    /// What Kubescape finds in the list of packages.
    Matches,
}

/// How a scan failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScanFailure {
    /// The scanner's own words, or the value of the field for errors.
    Words(String),
    /// What a ScanJob says of itself.
    ScanJob {
        /// The ScanJob.
        job: String,
        /// What it says.
        words: String,
    },
    /// Kubescape's list of packages has this status.
    Packages {
        /// The status.
        status: String,
        /// The reason beside it.
        reason: Option<String>,
    },
    /// The report can't be read as one.
    Unreadable(UnreadableReport),
}

/// Where a source looked in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whereabouts {
    /// Among sbomscanner's reports.
    SbomScanner {
        /// In these namespaces.
        namespaces: Vec<String>,
    },
    /// Among trivy-operator's reports.
    TrivyOperator {
        /// The platform.
        platform: Platform,
        /// In these namespaces.
        namespaces: Vec<String>,
    },
    /// Among Kubescape's objects.
    Kubescape {
        /// In this namespace.
        namespace: String,
    },
    /// Among objects of a kind that the settings name.
    Custom {
        /// The kind.
        kind: String,
        /// In these namespaces.
        namespaces: Vec<String>,
    },
    /// With the configured repository, if it isn't the image's own.
    ArtifactTag {
        /// What follows the digest in the tag.
        suffix: String,
        /// The repository.
        repository: Option<String>,
    },
    /// The same, by type.
    ArtifactType {
        /// The artifact's type.
        media_type: String,
        /// The repository.
        repository: Option<String>,
    },
    /// Among the statements in evidence.
    Statement {
        /// The type of their predicate.
        predicate_type: String,
        /// The repository.
        repository: Option<String>,
    },
}

impl fmt::Display for NotScanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPlatform { report, platform } => write!(f, "{report} is for {platform}"),
            Self::NoPlatform { report } => {
                write!(f, "{report} doesn't say for which platform it is; the source's setting `platform` can")
            }
            Self::ArtifactWithoutPlatform { report } => write!(
                f,
                "{report} doesn't say for which platform it is: attach it to the platform's own digest, or set `platform`"
            ),
            Self::Unsigned { artifact, unsigned } => write!(f, "{artifact} is {unsigned}"),
            Self::OnlyWhatOneWorkloadUses => f.write_str("it lists only what one workload uses of the image"),
            Self::ScanJobWithoutIt { job, completed: Some(ended), since: Some(since), .. } if since > ended => {
                write!(
                    f,
                    "the ScanJob {job} ended {ended}, before the scanner knew the image; the next one may have it"
                )
            }
            Self::ScanJobWithoutIt { job, registry, completed, .. } => {
                write!(f, "waiting won't help: the ScanJob {job} skipped it, and ended")?;
                completed.map_or(Ok(()), |time| write!(f, " {time}"))?;
                write!(
                    f,
                    " without a report of this image; see what the Registry `{registry}` leaves out, and scan it again"
                )
            }
        }
    }
}

impl fmt::Display for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let since = match self {
            Self::NextScanJob { registry, since } => {
                write!(f, "a ScanJob of the Registry `{registry}`: the scanner knows the image")?;
                since
            }
            Self::ScanJob { job, since } => {
                write!(f, "the ScanJob {job}, which is at work")?;
                since
            }
            Self::Packages => return f.write_str("Kubescape is listing its packages"),
            Self::Matches => {
                return f.write_str("its packages are listed, their vulnerabilities are not matched yet");
            }
        };
        since.map_or(Ok(()), |time| write!(f, " since {time}"))
    }
}

impl fmt::Display for ScanFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(words),
            Self::ScanJob { job, words } => write!(f, "the ScanJob {job} says: {words}"),
            Self::Packages { status, reason } => {
                write!(f, "the list of its packages is `{}`", cut(status, MAX_STATUS_LENGTH))?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, " ({})", cut(reason, MAX_STATUS_LENGTH)))
            }
            Self::Unreadable(why) => write!(f, "{why}"),
        }
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SbomScanner { namespaces } => write!(f, "from sbomscanner {}", In(namespaces)),
            Self::TrivyOperator { platform, namespaces } => {
                write!(f, "from trivy-operator, which scans {platform}, {}", In(namespaces))
            }
            Self::Kubescape { namespace } => write!(f, "from Kubescape in namespace {namespace}"),
            Self::Custom { kind, namespaces } => write!(f, "from {kind} {}", In(namespaces)),
            Self::ArtifactTag { suffix, repository: None } => {
                write!(f, "beside the image, at its tag sha256-….{suffix}")
            }
            Self::ArtifactTag { suffix, repository: Some(repository) } => {
                write!(f, "in {repository}, at its tag sha256-….{suffix}")
            }
            Self::ArtifactType { media_type, repository: None } => {
                write!(f, "beside the image, among its referrers of type {media_type}")
            }
            Self::ArtifactType { media_type, repository: Some(repository) } => {
                write!(f, "in {repository}, among its referrers of type {media_type}")
            }
            Self::Statement { predicate_type, repository: None } => {
                write!(f, "among its attestations of type {predicate_type}")
            }
            Self::Statement { predicate_type, repository: Some(repository) } => {
                write!(f, "in {repository}, among its attestations of type {predicate_type}")
            }
        }
    }
}

/// `in namespaces a, b`
struct In<'a>(&'a [String]);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = if self.0.len() == 1 { "namespace" } else { "namespaces" };
        write!(f, "in {noun} {}", self.0.join(", "))
    }
}
