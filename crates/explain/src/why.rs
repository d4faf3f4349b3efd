//! Why a request is rejected, in `explain`: the reasons of the decision, in words about settings.

use image_admission_engine::UnreadableRequest;
use image_admission_image::{NotAnImage, UnreadableObject};
use image_admission_judgement::reason::{Denial, NamedByMirror, ScanReason};
use serde::{Serialize, Serializer};
use std::fmt;

/// Why a request, or an image of it, is rejected.
#[derive(Debug, Clone, PartialEq)]
pub enum Why {
    /// There is no request to decide.
    UnreadableRequest(UnreadableRequest),
    /// The object isn't what its definition says.
    UnreadableObject(UnreadableObject),
    /// The image is no image reference.
    NotAnImage(NotAnImage),
    /// The image is named by a mirror of its registry.
    NamedByMirror(NamedByMirror),
    /// The setting `maxImages` allows fewer.
    TooManyImages {
        /// How many different ones there are.
        images: usize,
        /// How many may be.
        max: usize,
    },
    /// The setting `maxHostCalls` allows fewer.
    TooManyHostCalls {
        /// How many different images there are.
        images: usize,
        /// How many calls there may be.
        max: usize,
    },
    /// The module may use no more memory.
    TooMuchMemory,
    /// A policy of pre-scan.
    PreScan,
    /// A reason of custom rules of pre-scan.
    PreScanRules(String),
    /// A policy of `imageVerification`, in its words.
    Verification(String),
    /// A policy in Rego.
    Policy {
        /// Its name.
        name: String,
        /// Its denials and its errors.
        said: Vec<String>,
    },
    /// Reasons of custom rules of the scan phase.
    ScanRules(Vec<String>),
    /// A policy of the scan phase, and if a report decides, the report's reason.
    Scan(Denial, Option<ScanReason>),
}

/// Serialized as its message.
impl Serialize for Why {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnreadableRequest(unreadable) => write!(f, "{unreadable}"),
            Self::UnreadableObject(unreadable) => write!(f, "{unreadable}"),
            Self::NamedByMirror(named) => named.fmt(f),
            Self::NotAnImage(error) => write!(f, "it is not an image reference: {error}"),
            Self::TooManyImages { images, max } => {
                write!(f, "it names {images} different images, and {max} are the most")
            }
            Self::TooManyHostCalls { images, max } => {
                write!(f, "deciding about its {images} different images takes more than {max} host calls")
            }
            Self::TooMuchMemory => f.write_str("deciding about it takes more memory than the policy may"),
            Self::PreScan => f.write_str("pre-scan rejects it by its name"),
            Self::PreScanRules(reason) => write!(f, "rules of pre-scan reject it: {reason}"),
            Self::Verification(message) => f.write_str(message),
            Self::Policy { name, said } => write!(f, "policy {name} rejects it: {}", said.join("; ")),
            Self::ScanRules(said) => write!(f, "custom rules reject it: {}", said.join("; ")),
            Self::Scan(_, Some(reason)) if reason.is_registry_not_allowed() => reason.fmt(f),
            Self::Scan(denial, Some(reason)) => write!(f, "{denial}: {reason}"),
            Self::Scan(denial, None) => write!(f, "{denial}"),
        }
    }
}
