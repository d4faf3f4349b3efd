//! Why it is unknown what an image is: its platforms' manifests and configurations.

use super::{Unjudgeable, Unresolved};
use image_admission_host::HostFailure;
use std::fmt;

/// Why it is unknown what an image is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownConfiguration {
    /// Nobody knows which manifests there are.
    Unresolved(Unresolved),
    /// A wanted entry of the index is none that has a configuration.
    Unjudgeable {
        /// The entry's digest.
        digest: String,
        /// What is wrong.
        why: Unjudgeable,
    },
    /// The registry doesn't return `repository@digest`.
    LookUpFailed {
        /// `repository@digest`
        at: String,
        /// The registry's answer.
        failure: HostFailure,
    },
    /// What it returns doesn't count.
    Refused {
        /// `repository@digest`
        at: String,
        /// What is wrong.
        why: RefusedConfiguration,
    },
    /// All of an image's configurations are larger than may be read, in bytes.
    TooLarge(usize),
}

/// Why a configuration doesn't count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefusedConfiguration {
    /// The answer is of another digest.
    OtherDigest,
    /// The manifest may hold data that the host doesn't show, so that nodes read another configuration.
    Unproven,
    /// By its media type, it is something else.
    NoImage(String),
    /// It has no platform.
    WithoutPlatform,
    /// It can't be read, with the parser's error.
    Unreadable(String),
    /// It is larger than is read, in bytes.
    TooLarge(usize),
}

impl UnknownConfiguration {
    /// The registry's error, if it failed.
    pub fn failure(&self) -> Option<&HostFailure> {
        match self {
            Self::LookUpFailed { failure, .. }
            | Self::Unresolved(Unresolved::NoDigest(failure) | Unresolved::NoManifest(failure)) => Some(failure),
            _ => None,
        }
    }
}

impl fmt::Display for UnknownConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unresolved(unresolved) => unresolved.fmt(f),
            Self::Unjudgeable { digest, why } => write!(f, "there is no configuration of `{digest}`: {why}"),
            Self::LookUpFailed { at, failure } => write!(f, "the configuration of {at} can't be read: {failure}"),
            Self::Refused { at, why } => write!(f, "the configuration of {at} can't be read: {why}"),
            Self::TooLarge(most) => write!(f, "its platforms' configurations have more than {most} bytes together"),
        }
    }
}

impl fmt::Display for RefusedConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherDigest => f.write_str("the answer is of another digest"),
            Self::Unproven => f.write_str(
                "its manifest may hold more than the host shows of it, so that nodes read another: push it anew with a tool \
                 whose manifests are proven (buildx, crane, ko, podman, regctl, oras)",
            ),
            Self::NoImage(kind) if kind.is_empty() => f.write_str("its manifest doesn't say that it is an image's"),
            Self::NoImage(kind) => write!(f, "it is no image, but an artifact: its configuration is `{kind}`"),
            Self::WithoutPlatform => f.write_str("it is no image's: it names no operating system and no architecture"),
            Self::Unreadable(why) => f.write_str(why),
            Self::TooLarge(most) => write!(f, "it has more than {most} bytes"),
        }
    }
}
