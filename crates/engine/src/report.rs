//! Scan reports: what the scanners in the cluster say about exactly this image.

mod sbomscanner;

use crate::acceptance::Verdict;
use crate::host::Host;
use crate::image::ImageReference;
use crate::message::{cut, join_at_most};
use crate::platform::Platform;
use crate::resolve::{PlatformManifest, ResolvedImage, resolve};
use crate::settings::Settings;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The most platforms that a reason names.
const PLATFORMS_SHOWN: usize = 4;
/// The longest reason of one platform.
const LONGEST_REASON: usize = 500;

/// What is known about an image, in the four values that the seeds document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanStatus {
    /// Every platform asked for has a report that is accepted.
    Accepted,
    /// At least one platform has no report yet.
    ReportNotAvailable,
    /// The image can't be resolved, or a look-up failed, or a report can't be read.
    ScanFailed,
    /// At least one platform has a report that is not accepted.
    Rejected,
}

impl ScanStatus {
    /// `report_not_available`, as rules and messages spell it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::ReportNotAvailable => "report_not_available",
            Self::ScanFailed => "scan_failed",
            Self::Rejected => "rejected",
        }
    }
}

impl fmt::Display for ScanStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is known about one image: a status, why, and the digest that all of it speaks of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScanReport {
    /// The worst of the platforms' statuses.
    pub status: ScanStatus,
    /// What lies behind the status, in one sentence.
    pub reason: String,
    /// The digest that was judged, as soon as it is known.
    pub digest: Option<String>,
    /// Each platform that was asked for.
    pub platforms: Vec<PlatformReport>,
}

/// What is known about an image for one platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlatformReport {
    /// `linux/amd64`; none when the image is for one platform only.
    pub platform: Option<String>,
    /// The digest of the platform's manifest.
    pub digest: String,
    /// What its reports say.
    pub status: ScanStatus,
    /// Why.
    pub reason: String,
    /// The reports that said so: `VulnerabilityReport sbomscanner/…`.
    pub reports: Vec<String>,
}

/// The reports of the images of one request. What one look-up answers for several images is asked for once.
pub(crate) struct ReportSearch<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    found: BTreeMap<ImageReference, ScanReport>,
    sources: Vec<sbomscanner::Source<'a>>,
}

impl<'a> ReportSearch<'a> {
    pub(crate) fn new(settings: &'a Settings, host: &'a dyn Host, namespace: &'a str) -> Self {
        let sources = settings.reports.sources.iter().map(|s| sbomscanner::Source::new(s, settings, host, namespace));
        Self { settings, host, found: BTreeMap::new(), sources: sources.collect() }
    }

    /// What is known about an image.
    pub(crate) fn find(&mut self, reference: &ImageReference) -> ScanReport {
        if let Some(report) = self.found.get(reference) {
            return report.clone();
        }
        let resolution = resolve(reference, self.settings, self.host);
        let report = match resolution.image {
            Ok(image) => self.search(reference, &image),
            Err(unresolved) => ScanReport {
                status: ScanStatus::ScanFailed,
                reason: unresolved.to_string(),
                digest: resolution.digest,
                platforms: Vec::new(),
            },
        };
        self.found.insert(reference.clone(), report.clone());
        report
    }

    /// Asks the sources in turn; the first that knows the image decides, and a failed look-up is no "doesn't know".
    fn search(&mut self, reference: &ImageReference, image: &ResolvedImage) -> ScanReport {
        let mut answers: Vec<Answer> = Vec::new();
        for source in &mut self.sources {
            let of = |manifest: &PlatformManifest| match manifest.unjudgeable {
                Some(why) => Answer { reports: Vec::new(), failure: Some(why.to_owned()) },
                None => source.find(reference, image, manifest),
            };
            answers = image.platforms.iter().map(of).collect();
            if answers.iter().any(|answer| !answer.reports.is_empty() || answer.failure.is_some()) {
                break;
            }
        }
        let whereabouts: Vec<String> = self.sources.iter().map(sbomscanner::Source::whereabouts).collect();
        let judged = image.platforms.iter().zip(answers);
        let platforms: Vec<_> =
            judged.map(|(manifest, answer)| platform_report(manifest, answer, &whereabouts)).collect();
        let status = platforms.iter().map(|platform| platform.status).max().unwrap_or(ScanStatus::ScanFailed);
        let reason = reason(status, &platforms);
        ScanReport { status, reason, digest: Some(image.digest.clone()), platforms }
    }
}

/// What a source says about one platform of an image; without either, it knows nothing.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Reports for exactly this image, by name, with what they come to.
    reports: Vec<(String, Verdict)>,
    /// Why it could not look everywhere.
    failure: Option<String>,
}

/// The worst that a source says decides; of equals the first, in the order of the reports' names.
fn platform_report(manifest: &PlatformManifest, answer: Answer, whereabouts: &[String]) -> PlatformReport {
    let reports: Vec<String> = answer.reports.iter().map(|(name, _)| name.clone()).collect();
    let failure =
        answer.failure.map(|why| (ScanStatus::ScanFailed, format!("the look-up of the scan report failed: {why}")));
    let judged = answer.reports.into_iter().map(|(name, verdict)| match verdict {
        Verdict::Accepted => (ScanStatus::Accepted, format!("accepted by {name}")),
        Verdict::Rejected(broken) => (ScanStatus::Rejected, format!("{} ({name})", broken.join(", "))),
        Verdict::Inconsistent(why) => (ScanStatus::ScanFailed, format!("{name} can't be read: {why}")),
    });
    let worst = judged.chain(failure).reduce(|worst, next| if next.0 > worst.0 { next } else { worst });
    let (status, reason) = worst.unwrap_or_else(|| {
        (ScanStatus::ReportNotAvailable, format!("no scan report yet {}", whereabouts.join(", or ")))
    });
    PlatformReport {
        platform: manifest.platform.as_ref().map(Platform::to_string),
        digest: manifest.digest.clone(),
        status,
        reason: cut(&reason, LONGEST_REASON),
        reports,
    }
}

/// The reasons of the platforms that made the status, platforms with the same reason together.
fn reason(status: ScanStatus, platforms: &[PlatformReport]) -> String {
    if status == ScanStatus::Accepted && platforms.len() > 1 {
        return format!("each of its {} platforms has a scan report that is accepted", platforms.len());
    }
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for platform in platforms.iter().filter(|platform| platform.status == status) {
        let name = platform.platform.as_deref().unwrap_or_default();
        match reasons.iter_mut().find(|(reason, _)| *reason == platform.reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&platform.reason, vec![name])),
        }
    }
    let texts: Vec<String> = reasons
        .into_iter()
        .map(|(reason, names)| {
            let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
            if names.is_empty() {
                return reason.to_owned();
            }
            format!("{}: {reason}", join_at_most(names.into_iter(), ", ", PLATFORMS_SHOWN))
        })
        .collect();
    join_at_most(texts.iter().map(String::as_str), "; ", PLATFORMS_SHOWN)
}
