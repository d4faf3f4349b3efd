//! From the reasons of a decision to advice about the image.

use super::{Advice, PackageUpdate};
use image_admission_engine::{VerificationFailure, VerificationOutcome};
use image_admission_host::{HostFailure, NOBODY_TO_ASK, Refusal, Untrusted};
use image_admission_judgement::reason::{
    ATTESTATION_OF, Beside, Decisive, DocumentKind, EndedExemption, ExceededLimit, ExceededSetting, FoundPackage,
    LicenseFault, LookUpFailure, NamedFinding, NotRunning, NotScanned, OtherImage, Pending, ReportReason, ScanReason,
    ScanStatus, Unexcused, UnknownRunning, UnreadableReport, Unresolved, Unsigned, UnusableVex, Unverified,
    Whereabouts,
};
use image_admission_judgement::report::{PlatformReport, ScanReport};
use image_admission_settings::Settings;

/// What to do about an image that its reports reject.
pub(super) fn about_report(report: &ScanReport, settings: &Settings) -> Vec<Advice> {
    let mut advice = Vec::new();
    if let ScanReason::Unresolved(why) = &report.reason {
        advice.push(about_unresolved(why, settings));
    }
    let deciding = report.platforms.iter().filter(|platform| platform.status == report.status);
    let all = deciding.flat_map(|platform| about_reason(&platform.reason));
    for one in all {
        if !advice.contains(&one) {
            advice.push(one);
        }
    }
    if let Some(other) = never_scanned(report, settings) {
        advice.retain(|one| *one != Advice::Scan);
        advice.push(other);
    }
    if settings.exemptions_from.is_some() && may_be_exempted(report) {
        advice.push(Advice::Exempt);
    }
    if !settings.reports.vex.is_empty() && may_be_exempted(report) {
        let attestors = settings.reports.vex.iter().flat_map(|place| &place.attestors);
        advice.push(Advice::SayWhy(attestors.cloned().collect()));
    }
    advice
}

/// What to do where only platforms wait that the source never scans.
fn never_scanned(report: &ScanReport, settings: &Settings) -> Option<Advice> {
    let (source, platform) = settings.reports.of_one_platform()?;
    let platform = platform.text();
    let waits = |of: &PlatformReport| of.status == ScanStatus::ReportNotAvailable;
    let is_told = report.platforms.iter().any(|of| of.platform.as_ref() == Some(&platform) && !waits(of));
    let wait_others = report.status == ScanStatus::ReportNotAvailable && is_told;
    wait_others.then(|| Advice::ListPlatform { platform, source: source.name() })
}

/// Whether everything that rejects is findings that an object may exempt.
fn may_be_exempted(report: &ScanReport) -> bool {
    let mut limits = report.platforms.iter().flat_map(PlatformReport::exceeded).peekable();
    limits.peek().is_some()
        && limits.all(|limit| {
            !matches!(
                limit.setting,
                ExceededSetting::DenyAlways
                    | ExceededSetting::EndOfLife(_)
                    | ExceededSetting::Packages(_)
                    | ExceededSetting::Licenses(..)
                    | ExceededSetting::OwnVerdict
            )
        })
}

/// What to do about an image that a policy of `imageVerification` rejects.
pub(super) fn about_verification(outcome: &VerificationOutcome) -> Vec<Advice> {
    match &outcome.failure {
        Some(VerificationFailure::Failed(_, unverified)) if !unverified.is_empty() => {
            unverified.iter().map(about_unverified).collect()
        }
        Some(VerificationFailure::Failed(..)) => vec![Advice::SatisfyVerification(outcome.name.clone())],
        Some(VerificationFailure::Error(_)) => vec![Advice::RepairVerification(outcome.name.clone())],
        None => Vec::new(),
    }
}

fn about_unverified(unverified: &Unverified) -> Advice {
    match unverified {
        Unverified::Image { artifact, unsigned, .. } => about_unsigned(artifact, unsigned),
        Unverified::Attestation(why) => Advice::Attest(why.clone()),
    }
}

fn about_unsigned(artifact: &str, unsigned: &Unsigned) -> Advice {
    let asked_for = unsigned.asked_for.clone();
    if let Beside::Failed(failure) = &unsigned.beside {
        return about_failure(failure);
    }
    match unsigned.why {
        Untrusted::CertificateExpired => Advice::RenewCertificate(asked_for),
        Untrusted::Unsigned | Untrusted::SignedByOthers | Untrusted::NoneOfThisDigest | Untrusted::Unsaid => {
            match artifact.strip_prefix(ATTESTATION_OF) {
                Some(image) => Advice::AttestDocument { image: image.to_owned(), asked_for },
                None => Advice::Sign { artifact: artifact.to_owned(), asked_for },
            }
        }
    }
}

fn about_unresolved(why: &Unresolved, settings: &Settings) -> Advice {
    match why {
        Unresolved::RegistryNotAllowed { host, .. } | Unresolved::RegistryInternal(host) => {
            Advice::TakeFromListed { host: host.clone(), listed: settings.registries.clone() }
        }
        Unresolved::NoDigest(failure) | Unresolved::NotConfirmed(failure) | Unresolved::NoManifest(failure) => {
            match failure {
                HostFailure::NotFound(_)
                | HostFailure::Refused(Refusal::NoRepository | Refusal::Status(404 | 410), _) => {
                    Advice::NameWhatIsThere
                }
                HostFailure::Malformed(_) | HostFailure::NotTrusted(_) => Advice::PushAnew,
                other => about_failure(other),
            }
        }
        Unresolved::NotADigest | Unresolved::Ambiguous | Unresolved::Unproven | Unresolved::NoPlatforms => {
            Advice::PushAnew
        }
        Unresolved::TooManyPlatforms(_) => Advice::NamePlatform,
        Unresolved::NoneAskedFor(_) => Advice::PushForPlatform,
        Unresolved::NamedByMirror(_) => Advice::NameRegistry,
        Unresolved::MirrorDiffers(_) => Advice::CatchUpMirror,
    }
}

/// What to do if a registry or the cluster gave no answer. Credentials are mentioned only if they may be the reason.
fn about_failure(failure: &HostFailure) -> Advice {
    match failure {
        HostFailure::Denied(_) => Advice::GiveCredentials,
        HostFailure::Refused(Refusal::Policy, _) => Advice::SatisfyRegistry,
        HostFailure::Refused(Refusal::Address, _) => Advice::TakeFromElsewhere,
        HostFailure::Refused(Refusal::Status(_) | Refusal::Error | Refusal::Unknown, _) => Advice::ReadLog,
        HostFailure::Failed(said) if said == NOBODY_TO_ASK => Advice::GiveSomebodyToAsk,
        HostFailure::TooManyRequests(_) => Advice::AskLater,
        HostFailure::Failed(_) => Advice::TryAgain,
        HostFailure::NotFound(_)
        | HostFailure::NotGranted(_)
        | HostFailure::Withheld(_)
        | HostFailure::NotTrusted(_)
        | HostFailure::Malformed(_)
        | HostFailure::Refused(Refusal::NoRepository, _) => Advice::RepairLookUp,
    }
}

fn about_reason(reason: &ReportReason) -> Vec<Advice> {
    let advice = match &reason.what {
        Decisive::Unreadable(_)
        | Decisive::OfAnotherImage(
            OtherImage::Named(_) | OtherImage::Unnamed | OtherImage::OfIndex(_) | OtherImage::WithoutDigest,
        )
        | Decisive::Nothing(_)
            if reason.of == DocumentKind::Sbom =>
        {
            Advice::MakeSbom
        }
        Decisive::Accepted => return Vec::new(),
        Decisive::Rejected(exceeded, _, unexcused) => {
            let mut advice = about_findings(exceeded);
            advice.extend(about_exemptions(exceeded));
            advice.extend(unexcused.iter().filter_map(about_unexcused));
            return advice;
        }
        Decisive::Unreadable(UnreadableReport::Untold(_)) => Advice::RepairScan,
        Decisive::Unreadable(_) | Decisive::Stale(_) => Advice::ScanAgain,
        Decisive::OfAnotherImage(OtherImage::OnlyTag { source, .. }) => Advice::ReportDigest(source),
        Decisive::OfAnotherImage(_) => Advice::NameScannedDigest,
        Decisive::NotScanned(NotScanned::Unsigned { artifact, unsigned }) => about_unsigned(artifact, unsigned),
        Decisive::NotScanned(NotScanned::ScanJobWithoutIt { registry, completed, since, .. }) => {
            // A scan that ended before the image was known didn't leave it out.
            let is_left_out = since.zip(*completed).is_none_or(|(since, ended)| since <= ended);
            Advice::StartScanJob { registry: registry.clone(), is_left_out }
        }
        Decisive::NotScanned(
            NotScanned::OtherPlatform { .. }
            | NotScanned::NoPlatform { .. }
            | NotScanned::ArtifactWithoutPlatform { .. },
        ) => Advice::ScanPlatform,
        Decisive::Pending(Pending::NextScanJob { registry, .. }) => {
            Advice::StartScanJob { registry: registry.clone(), is_left_out: false }
        }
        Decisive::Pending(_) => Advice::Wait,
        Decisive::Nothing(places) => match places.as_slice() {
            [Whereabouts::Statement { predicate_type, .. }] => Advice::ScanAndAttest(predicate_type.clone()),
            _ => Advice::Scan,
        },
        Decisive::NotScanned(NotScanned::OnlyWhatOneWorkloadUses) => Advice::Scan,
        Decisive::Failed(_) => Advice::RepairScan,
        Decisive::LookUpFailed(LookUpFailure::Host(failure)) => about_failure(failure),
        Decisive::LookUpFailed(LookUpFailure::List(_)) => Advice::RepairLookUp,
        Decisive::LookUpFailed(LookUpFailure::Unjudgeable(_)) => Advice::NamePlatform,
    };
    vec![advice]
}

/// What might have excused a rejection, but couldn't be used.
fn about_unexcused(why: &Unexcused) -> Option<Advice> {
    let failure = match why {
        Unexcused::Exemptions(unknown) => &unknown.failure,
        Unexcused::NotRunning(NotRunning::Unknown(UnknownRunning::LookUpFailed { failure, .. })) => failure,
        Unexcused::NotRunning(
            NotRunning::Unknown(UnknownRunning::TooManyPods { .. }) | NotRunning::NotBefore { .. },
        )
        | Unexcused::Vex(UnusableVex::TooMuch) => return None,
        Unexcused::Vex(UnusableVex::LookUpFailed(failure)) => failure,
        Unexcused::Vex(UnusableVex::Unsigned { artifact, unsigned }) => {
            return Some(about_unsigned(artifact, unsigned));
        }
        Unexcused::Vex(UnusableVex::Unreadable { artifact, .. } | UnusableVex::OfAnotherImage { artifact, .. }) => {
            return Some(Advice::MendVex(artifact.clone()));
        }
    };
    Some(about_failure(failure))
}

/// Packages and licences that a gate objects to.
fn about_contents(setting: &ExceededSetting) -> Option<Advice> {
    let names = |found: &[FoundPackage]| found.iter().map(|package| package.name.clone()).collect();
    match setting {
        ExceededSetting::Packages(found) => Some(Advice::ReplacePackages(names(found))),
        ExceededSetting::Licenses(LicenseFault::Unknown, found) => Some(Advice::TellLicenses(names(found))),
        ExceededSetting::Licenses(LicenseFault::Denied | LicenseFault::NotAllowed, found) => {
            Some(Advice::DoWithoutPackages(names(found)))
        }
        _ => None,
    }
}

/// The objects that should exempt the findings, each once.
fn about_exemptions(exceeded: &[ExceededLimit]) -> Option<Advice> {
    let mut objects: Vec<String> = Vec::new();
    for finding in exceeded.iter().flat_map(|limit| &limit.named.shown) {
        if let Some(EndedExemption::Void { object, .. }) = &finding.exemption
            && !objects.contains(object)
        {
            objects.push(object.clone());
        }
    }
    (!objects.is_empty()).then_some(Advice::MendExemption(objects))
}

/// Packages with a fix first, each with all findings that the new version fixes; then findings without a fix.
fn about_findings(exceeded: &[ExceededLimit]) -> Vec<Advice> {
    if exceeded.iter().any(|limit| limit.setting == ExceededSetting::OwnVerdict) {
        return vec![Advice::SatisfyScanner];
    }
    if exceeded.iter().any(|limit| matches!(limit.setting, ExceededSetting::EndOfLife(_))) {
        return vec![Advice::UpgradeSystem];
    }
    let contents: Vec<Advice> = exceeded.iter().filter_map(|limit| about_contents(&limit.setting)).collect();
    if !contents.is_empty() {
        return contents;
    }
    let (mut packages, mut without_fix): (Vec<PackageUpdate>, Vec<String>) = Default::default();
    for NamedFinding { id, package, fixed_in, .. } in exceeded.iter().flat_map(|limit| &limit.named.shown) {
        let Some(fixed_in) = fixed_in else {
            if !without_fix.contains(id) {
                without_fix.push(id.clone());
            }
            continue;
        };
        match packages.iter_mut().find(|known| known.package == *package && known.fixed_in == *fixed_in) {
            Some(known) if known.ids.contains(id) => {}
            Some(known) => known.ids.push(id.clone()),
            None => {
                let (package, fixed_in) = (package.clone(), fixed_in.clone());
                packages.push(PackageUpdate { package, fixed_in, ids: vec![id.clone()] });
            }
        }
    }
    let more = exceeded.iter().map(|limit| limit.named.more).max().unwrap_or_default();
    let mut advice = Vec::new();
    if !packages.is_empty() {
        advice.push(Advice::Update { packages, more });
    }
    if !without_fix.is_empty() {
        advice.push(Advice::DoWithout(without_fix));
    }
    if advice.is_empty() {
        advice.push(Advice::ScanAgain);
    }
    advice
}
