//! The kinds of reasons that an object is denied for: a name for programs, and words for people.

use image_admission_explain::Why;
use image_admission_judgement::reason::Denial;
use serde::{Serialize, Serializer};

/// A kind of reason, by which results of different runs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DenialRule {
    UnreadableObject,
    NotAnImage,
    NamedByMirror,
    TooManyImages,
    TooManyHostCalls,
    PreScan,
    CustomRules,
    Verification,
    RegoPolicy,
    ScanPolicy,
    ScanResult,
    ReportPending,
    RegistryNotAllowed,
    ScanFailed,
    Other,
}

/// How a kind of reason is told.
#[derive(Debug)]
pub(super) struct Words {
    /// `scan-result`
    pub(super) id: &'static str,
    /// What is denied by it.
    pub(super) summary: &'static str,
    /// Why something is denied, after "because".
    pub(super) because: &'static str,
}

impl DenialRule {
    /// All of them.
    pub(super) const ALL: [Self; 15] = [
        Self::UnreadableObject,
        Self::NotAnImage,
        Self::NamedByMirror,
        Self::TooManyImages,
        Self::TooManyHostCalls,
        Self::PreScan,
        Self::CustomRules,
        Self::Verification,
        Self::RegoPolicy,
        Self::ScanPolicy,
        Self::ScanResult,
        Self::ReportPending,
        Self::RegistryNotAllowed,
        Self::ScanFailed,
        Self::Other,
    ];

    /// That of a reason.
    pub(super) fn of(why: &Why) -> Self {
        match why {
            Why::UnreadableRequest(_) | Why::UnreadableObject(_) => Self::UnreadableObject,
            Why::NotAnImage(_) => Self::NotAnImage,
            Why::NamedByMirror(_) => Self::NamedByMirror,
            Why::TooManyImages { .. } => Self::TooManyImages,
            Why::TooManyHostCalls { .. } => Self::TooManyHostCalls,
            // Nobody is short of memory here: the module alone is.
            Why::TooMuchMemory => Self::Other,
            Why::PreScan => Self::PreScan,
            Why::PreScanRules(_) | Why::ScanRules(_) => Self::CustomRules,
            Why::Verification(_) => Self::Verification,
            Why::Policy { .. } => Self::RegoPolicy,
            Why::Scan(_, Some(reason)) if reason.is_registry_not_allowed() => Self::RegistryNotAllowed,
            Why::Scan(Denial::Policy, _) => Self::ScanPolicy,
            Why::Scan(Denial::ScanResult, _) => Self::ScanResult,
            Why::Scan(Denial::ReportPending, _) => Self::ReportPending,
            Why::Scan(Denial::ScanFailed, _) => Self::ScanFailed,
        }
    }

    /// How it is told.
    pub(super) const fn words(self) -> Words {
        let (id, summary, because) = match self {
            Self::UnreadableObject => {
                ("unreadable-object", "an object that isn't what its definition says", "the object can't be read")
            }
            Self::NotAnImage => {
                ("not-an-image", "an image that is no image reference", "the image isn't an image reference")
            }
            Self::NamedByMirror => {
                ("named-by-mirror", "an image that is named by a mirror of its registry", "a mirror names the image")
            }
            Self::TooManyImages => {
                ("too-many-images", "more different images than `maxImages` allows", "there are too many images")
            }
            Self::TooManyHostCalls => {
                ("too-many-host-calls", "more host calls than `maxHostCalls` allows", "it takes too many host calls")
            }
            Self::PreScan => ("pre-scan", "an image that pre-scan rejects by its name", "the image's name is rejected"),
            Self::CustomRules => ("custom-rules", "what custom rules reject", "custom rules reject it"),
            Self::Verification => (
                "verification",
                "an image that isn't signed or attested as a policy of `imageVerification` wants",
                "a signature or an attestation is missing",
            ),
            Self::RegoPolicy => {
                ("rego-policy", "an object that a policy in Rego rejects", "a policy in Rego rejects it")
            }
            Self::ScanPolicy => {
                ("scan-policy", "an image that a scan policy rejects whatever was found", "a scan policy rejects it")
            }
            Self::ScanResult => {
                ("scan-result", "an image whose scan report breaks a limit", "its findings break a limit")
            }
            Self::ReportPending => {
                ("report-pending", "an image that has no scan report yet", "there is no scan report yet")
            }
            Self::RegistryNotAllowed => (
                "registry-not-allowed",
                "an image of a registry that `registries` doesn't allow",
                "the registry isn't allowed",
            ),
            Self::ScanFailed => {
                ("scan-failed", "an image that couldn't be scanned or looked up", "the scan or a look-up failed")
            }
            Self::Other => ("other", "an object that is rejected for another reason", "something else rejects it"),
        };
        Words { id, summary, because }
    }
}

impl Serialize for DenialRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.words().id)
    }
}
