//! What to do about an image or an object that is rejected. It comes before any setting that could be weakened.

use image_admission_judgement::reason::AskedFor;
use image_admission_settings::Attestor;
use image_admission_untrusted::message::{cut, join_at_most};
use serde::{Serialize, Serializer};
use std::fmt;

/// The most packages, ids and registries that are shown.
const NAMES_SHOWN: usize = 8;
/// The longest of these names.
const MAX_NAME_LENGTH: usize = 100;

/// What to do about a rejection, without weaker requirements for images.
#[derive(Debug, Clone, PartialEq)]
pub enum Advice {
    /// Update packages that have a fix, and have the image scanned again.
    Update {
        /// Which.
        packages: Vec<PackageUpdate>,
        /// How many more findings there are.
        more: usize,
    },
    /// Nothing fixes these findings yet: remove the packages that have them.
    DoWithout(Vec<String>),
    /// These objects should exempt findings, but have no effect.
    MendExemption(Vec<String>),
    /// An object may exempt findings that don't matter.
    Exempt,
    /// This VEX document should clear findings, but isn't used.
    MendVex(String),
    /// One of these attestors may say in a VEX document why findings don't matter.
    SayWhy(Vec<Attestor>),
    /// The report's own verdict rejects it.
    SatisfyScanner,
    /// Its operating system is past its end of life.
    UpgradeSystem,
    /// Have an image, or a document beside it, signed.
    Sign {
        /// `repository@digest`
        artifact: String,
        /// By whom.
        asked_for: Vec<Attestor>,
    },
    /// Have a report, an SBOM or a VEX document attested.
    AttestDocument {
        /// The image, `repository@digest`.
        image: String,
        /// By whom.
        asked_for: Vec<Attestor>,
    },
    /// The certificate of an attestor has expired.
    RenewCertificate(Vec<Attestor>),
    /// Attach an attestation; the reason why none counts.
    Attest(String),
    /// Fix an error in a policy of `imageVerification`.
    RepairVerification(String),
    /// Meet the other conditions of a policy of `imageVerification`, beside signatures.
    SatisfyVerification(String),
    /// Take it from a listed registry.
    TakeFromListed {
        /// The registry that isn't listed.
        host: String,
        /// Those that are listed.
        listed: Vec<String>,
    },
    /// Use its registry's name, not that of a mirror.
    NameRegistry,
    /// Have a mirror updated.
    CatchUpMirror,
    /// The policies of this setting reject its name.
    TakeAnother(&'static str),
    /// A scan is on its way.
    Wait,
    /// What the Pods of an existing workload wait for: it isn't applied again.
    ForPods(Box<Advice>),
    /// These packages are denied in this version.
    ReplacePackages(Vec<String>),
    /// The licences of these packages are denied, or not allowed.
    DoWithoutPackages(Vec<String>),
    /// The licences of these packages are unknown.
    TellLicenses(Vec<String>),
    /// Have its SBOM made, or made again.
    MakeSbom,
    /// Have it scanned.
    Scan,
    /// Have it scanned, and the report attested as a predicate of this type.
    ScanAndAttest(String),
    /// Have it scanned again: its report is too old, or can't be read.
    ScanAgain,
    /// Have it scanned for the platform that would run.
    ScanPlatform,
    /// List this platform alone in `reports.platforms`: this source scans no other.
    ListPlatform {
        /// As settings write it.
        platform: String,
        /// The source.
        source: &'static str,
    },
    /// Start a ScanJob of this Registry, once nothing excludes the image from it.
    StartScanJob {
        /// The Registry.
        registry: String,
        /// Whether the last one left the image out.
        is_left_out: bool,
    },
    /// Have the scanner name the digest, or accept its tag in the setting of this source.
    ReportDigest(&'static str),
    /// A report is of another digest.
    NameScannedDigest,
    /// Have the scanner repeat what failed.
    RepairScan,
    /// Give the policy the right to look it up.
    RepairLookUp,
    /// A registry or the cluster didn't answer.
    TryAgain,
    /// The command line has no host to ask.
    GiveSomebodyToAsk,
    /// The command line found that trivy-operator writes its reports to files.
    MakeObjects {
        /// Its Deployment.
        deployment: String,
        /// Where the files are.
        folder: String,
    },
    /// There is no such image.
    NameWhatIsThere,
    /// A registry limits the rate of requests.
    AskLater,
    /// The registry denies access.
    GiveCredentials,
    /// The registry's own policy blocks the image.
    SatisfyRegistry,
    /// The registry doesn't serve the policy server's address.
    TakeFromElsewhere,
    /// The registry's answer is of an unknown kind.
    ReadLog,
    /// The image can't be judged as it is.
    PushAnew,
    /// Name one platform by its digest.
    NamePlatform,
    /// Push it for a wanted platform.
    PushForPlatform,
    /// Fewer images in one object.
    Split(usize),
    /// Fewer images, or images of fewer platforms.
    AskForLess,
    /// The object itself is wrong.
    RepairObject,
    /// A template's image is one that another webhook fills in the Pod.
    NamePlaceholder(FilledBy),
    /// Nothing filled a Pod's image.
    FillPlaceholder(FilledBy),
    /// Rules of this setting, or of this policy, reject it.
    SatisfyRules(String),
    /// Rules of this setting, or of this policy, have an error.
    RepairRules(String),
}

/// Whose webhook fills a placeholder image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilledBy {
    /// The image is `auto`.
    Istio,
    /// The image is blank.
    OpenShift,
}

impl fmt::Display for FilledBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Istio => "Istio's webhook",
            Self::OpenShift => "OpenShift's image triggers",
        })
    }
}

/// A package to update.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageUpdate {
    /// Its name; none if the report has none.
    pub package: Option<String>,
    /// The version that it is fixed in.
    pub fixed_in: String,
    /// The findings that this fixes.
    pub ids: Vec<String>,
}

/// Serialized as its message.
impl Serialize for Advice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Update { packages, more } => {
                let packages: Vec<String> = packages.iter().map(PackageUpdate::to_string).collect();
                write!(f, "update {}", named(&packages))?;
                if *more > 0 {
                    write!(f, ", and what has the {more} other findings")?;
                }
                "; push the image, and have it scanned again"
            }
            Self::DoWithout(ids) => {
                return write!(f, "do without what has {}: no fix is known", named(ids));
            }
            Self::MendExemption(objects) => {
                return write!(f, "fix {}: the reason says why it doesn't hold", named(objects));
            }
            Self::Exempt => {
                "or have what doesn't matter exempted by an ImageExemption, where you may write one: `image-admission exempt` does"
            }
            Self::MendVex(artifact) => {
                return write!(f, "fix the VEX document {}: the reason says why it isn't used", cut(artifact, 300));
            }
            Self::SayWhy(asked_for) => {
                return write!(
                    f,
                    "or have a VEX document say why it doesn't matter, about this image's digest and signed by {}",
                    AskedFor(asked_for)
                );
            }
            Self::SatisfyScanner => "see what its scanner wants: the verdict is the report's own",
            Self::UpgradeSystem => {
                "build it on a release of the operating system that is still maintained, push it, and have it scanned again"
            }
            Self::AttestDocument { image, asked_for } => {
                let image = cut(image, 300);
                return write!(
                    f,
                    "have the document attested by {} (`cosign attest --type … --predicate … {image}`), \
                     and run `image-admission attach {image}`, which makes attestations readable",
                    AskedFor(asked_for)
                );
            }
            Self::Sign { artifact, asked_for } => {
                let artifact = cut(artifact, 300);
                return write!(
                    f,
                    "have {artifact} signed by {}, and run `image-admission attach {artifact}`, which makes signatures readable",
                    AskedFor(asked_for)
                );
            }
            Self::RenewCertificate(asked_for) => {
                return write!(f, "renew the certificate of {}, and sign with that", AskedFor(asked_for));
            }
            Self::Attest(why) => return write!(f, "attach what is asked for: {why}"),
            Self::RepairVerification(policy) => {
                return write!(f, "repair what policy {policy} can't evaluate: the reason says what");
            }
            Self::SatisfyVerification(policy) => return write!(f, "change the object as policy {policy} asks for"),
            Self::TakeFromListed { host, listed } => {
                if listed.is_empty() {
                    return write!(f, "take it from another registry, or list `{host}` in `registries`");
                }
                return write!(
                    f,
                    "take it from a registry that is listed ({}), or list `{host}` in `registries`",
                    named(listed)
                );
            }
            Self::NameRegistry => "name it as its registry does: the reason says how",
            Self::CatchUpMirror => {
                "have the mirror brought up to date, or name the image by its digest; where the mirror's word is enough, \
                 leave `ask` at `mirror`"
            }
            Self::TakeAnother(phase) => return write!(f, "take an image whose name `{phase}` doesn't reject"),
            Self::Wait => "wait for the scan, and apply it again",
            Self::ForPods(advice) => return for_pods(advice, f),
            Self::Scan => "have it scanned, and apply it again when its report is there",
            Self::ScanAndAttest(predicate_type) => {
                let predicate_type = cut(predicate_type, MAX_NAME_LENGTH);
                return write!(
                    f,
                    "have it scanned and the report attested (`cosign attest --type {predicate_type} --predicate …`), \
                     and run `image-admission attach`, which makes attestations readable"
                );
            }
            Self::ReplacePackages(names) => {
                return write!(
                    f,
                    "update {} to a version that isn't denied, or do without; push the image, and have its SBOM made again",
                    named(names)
                );
            }
            Self::DoWithoutPackages(names) => {
                return write!(f, "do without {}, or have the licence agreed to", named(names));
            }
            Self::TellLicenses(names) => {
                return write!(
                    f,
                    "find out the licence of {}; where it is fine, `acceptance.licenses` can list it by its name, or leave the package out in `except`",
                    named(names)
                );
            }
            Self::MakeSbom => "have an SBOM of this digest made where `reports.sboms` looks for it, and apply it again",
            Self::ScanAgain => "have it scanned again",
            Self::ScanPlatform => "have it scanned for the platform that would run",
            Self::ListPlatform { platform, source } => {
                return write!(
                    f,
                    "if all nodes are of `{platform}`, list it alone in `reports.platforms`: {source} scans no other, and the others of the image wait for ever"
                );
            }
            Self::StartScanJob { registry, is_left_out: true } => {
                return write!(
                    f,
                    "see what the Registry `{registry}` leaves out (its repositories, platforms and filters), then start a ScanJob of it"
                );
            }
            Self::StartScanJob { registry, is_left_out: false } => {
                return write!(
                    f,
                    "start a ScanJob of the Registry `{registry}`, and apply it again when its report is there"
                );
            }
            Self::ReportDigest(source) => {
                return write!(
                    f,
                    "have the scanner's reports name digests; where it can't, set `identity: tag` in the source `{source}`"
                );
            }
            Self::NameScannedDigest => "have this digest scanned, or name the image by the digest that was",
            Self::RepairScan => "repair what made the scan fail, and have it scanned again",
            Self::RepairLookUp => {
                "repair what made the look-up fail: a right that is missing, or an answer that makes no sense"
            }
            Self::TryAgain => "apply it again when what didn't answer is there again",
            Self::MakeObjects { deployment, folder } => {
                return write!(
                    f,
                    "have trivy-operator make objects: its Deployment `{}` writes reports into files below `{}`, where no policy sees them; \
                     set `alternateReportStorage.enabled: false` in its chart",
                    cut(deployment, MAX_NAME_LENGTH),
                    cut(folder, MAX_NAME_LENGTH)
                );
            }
            Self::GiveSomebodyToAsk => "give `--images FILE`, or use `--live`",
            Self::NameWhatIsThere => "check its name and tag; with `--images`, add the image to the list",
            Self::AskLater => "apply it again later: the registry limits how many requests it answers",
            Self::SatisfyRegistry => {
                "ask who runs the registry why its own policy holds the image back: vulnerabilities, a signature that is missing, \
                 a quarantine"
            }
            Self::TakeFromElsewhere => {
                "take it from a registry that serves the policy server, or have this one asked through a mirror"
            }
            Self::ReadLog => "see in the policy server's log what the registry answered",
            Self::GiveCredentials => "give the policy server credentials that may read it",
            Self::PushAnew => {
                "push it anew with a tool whose indexes are proven (buildx, docker manifest, crane, ko, podman, regctl, oras)"
            }
            Self::NamePlatform => "name the image by the digest of the one platform that is to run",
            Self::PushForPlatform => "push it for a platform that `reports.platforms` lists",
            Self::Split(max) => return write!(f, "split the object: {max} different images are the most"),
            Self::AskForLess => "name fewer images in one object, or images of fewer platforms",
            Self::RepairObject => "repair the object",
            Self::NamePlaceholder(filled_by) => {
                return write!(
                    f,
                    "if it is filled in the Pod, by {filled_by}, list it in `placeholders`: the Pod is judged"
                );
            }
            Self::FillPlaceholder(filled_by) => {
                return write!(
                    f,
                    "nothing filled it: see that this Pod is one for {filled_by}, before this policy is asked"
                );
            }
            Self::RepairRules(whose) => {
                return write!(f, "repair the rules of {whose}: one of them failed, and what fails rejects");
            }
            Self::SatisfyRules(whose) => return write!(f, "change the object as {whose} asks for"),
        };
        f.write_str(text)
    }
}

/// What to do while Pods wait: their controller tries to create them until they are admitted.
fn for_pods(advice: &Advice, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let first = match advice {
        Advice::Wait => "wait for the scan".to_owned(),
        Advice::Scan => "have it scanned".to_owned(),
        Advice::StartScanJob { registry, is_left_out: false } => {
            format!("start a ScanJob of the Registry `{registry}`")
        }
        other => other.to_string(),
    };
    write!(f, "{first}; once its report is there, the Pods are made without anything applied again")
}

/// `openssl to 3.1 (CVE-1, CVE-2)`
impl fmt::Display for PackageUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let package = self.package.as_deref().map_or("its package".to_owned(), |name| cut(name, MAX_NAME_LENGTH));
        write!(f, "{package} to {} ({})", cut(&self.fixed_in, MAX_NAME_LENGTH), named(&self.ids))
    }
}

fn named(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| cut(name, MAX_NAME_LENGTH.saturating_mul(4))).collect();
    join_at_most(names.iter().map(String::as_str), ", ", NAMES_SHOWN)
}
