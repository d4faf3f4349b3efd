//! Why an image can't be judged: it has no digest, no manifest, or none that is what nodes run.

use super::{NamedByMirror, ReportState};
use image_admission_host::HostFailure;
use image_admission_settings::{ForgivenBy, Mirror};
use image_admission_untrusted::message::join_at_most;
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::fmt;

/// The most platforms of one image that are judged: each takes a look-up, and the pusher chooses how many there are.
pub const MAX_PLATFORMS: usize = 64;

/// The most registries that a reason names.
const REGISTRIES_SHOWN: usize = 5;

/// Why an unproven index isn't judged, and what to do.
const UNPROVEN: &str = "its index may hold more than the host shows of it, so that nodes could run another image: push it \
    anew with a tool whose indexes are proven (buildx, docker manifest, crane, ko, podman, regctl, oras), or set \
    `reports.platforms` to the one platform that is to run, which is pinned then";

/// Why an image can't be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// `registries` lists other registries.
    RegistryNotAllowed {
        /// The host of its registry.
        host: String,
        /// The registries that are allowed.
        allowed: Vec<String>,
    },
    /// `registries` is empty, and the registry with this host may be inside the network.
    RegistryInternal(String),
    /// It is named by a mirror.
    NamedByMirror(NamedByMirror),
    /// Its tag leads to no digest.
    NoDigest(HostFailure),
    /// What its tag leads to is no digest.
    NotADigest,
    /// The registry can't be called to confirm what a mirror says of the image. `accept-outages` doesn't forgive that: nothing was
    /// judged, and the mirror's image may be known to be bad.
    NotConfirmed(HostFailure),
    /// Its registry and its mirror return different digests.
    MirrorDiffers(Box<MirrorDiffers>),
    /// Its manifest can't be fetched.
    NoManifest(HostFailure),
    /// Its manifest is that of an image and an index at once.
    Ambiguous,
    /// Its index may hold more than the host shows.
    Unproven,
    /// Its index has no platform.
    NoPlatforms,
    /// Its index has so many platforms.
    TooManyPlatforms(usize),
    /// It has none of the wanted platforms.
    NoneAskedFor(String),
}

/// What a registry and its mirror return for one tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorDiffers {
    registry: String,
    says: String,
    mirror: String,
    mirror_says: String,
}

impl Unresolved {
    /// The mirror returns another digest than the registry.
    pub fn differs(mirror: &Mirror, mirror_says: String, says: String) -> Self {
        let (registry, mirror) = (mirror.registry().to_owned(), mirror.to_string());
        Self::MirrorDiffers(Box::new(MirrorDiffers { registry, says, mirror, mirror_says }))
    }

    /// What is behind the status of the image.
    pub fn state(&self) -> ReportState {
        match self {
            Self::RegistryNotAllowed { .. } | Self::RegistryInternal(_) => ReportState::RegistryNotAllowed,
            _ => ReportState::LookUpFailed,
        }
    }

    /// Which value of `scanFailed` forgives it. `may_be_down`: the settings list the registry, so that no Pod author chose it.
    pub fn forgiven_by(&self, may_be_down: bool) -> ForgivenBy {
        match self {
            _ if !is_on(Remedy::ForgiveOutagesOnly) => ForgivenBy::AcceptOutages,
            Self::NoDigest(failure) | Self::NoManifest(failure) if failure.is_outage() && may_be_down => {
                ForgivenBy::AcceptOutages
            }
            Self::NoDigest(_)
            | Self::NotADigest
            | Self::NotConfirmed(_)
            | Self::NoManifest(_)
            | Self::NoPlatforms
            | Self::TooManyPlatforms(_)
            | Self::NoneAskedFor(_) => ForgivenBy::Accept,
            Self::RegistryNotAllowed { .. }
            | Self::RegistryInternal(_)
            | Self::NamedByMirror(_)
            | Self::MirrorDiffers(_)
            | Self::Ambiguous
            | Self::Unproven => ForgivenBy::Nothing,
        }
    }
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RegistryNotAllowed { host, allowed } => {
                let allowed = join_at_most(allowed.iter().map(String::as_str), ", ", REGISTRIES_SHOWN);
                write!(
                    f,
                    "registry `{host}` isn't allowed (settings: `registries: {allowed}`); take the image from an allowed one, or \
                     add `{host}`"
                )
            }
            Self::RegistryInternal(host) => write!(
                f,
                "registry `{host}` may be inside the network, so it isn't allowed unless the setting `registries` names it; add \
                 `{host}`"
            ),
            Self::NamedByMirror(named) => write!(f, "nobody was asked about it: {named}"),
            Self::MirrorDiffers(differs) => differs.fmt(f),
            Self::NoDigest(failure) => write!(f, "its digest can't be looked up: {failure}"),
            Self::NotConfirmed(failure) => {
                write!(f, "what its mirror says of its digest can't be confirmed: {failure}")
            }
            Self::NotADigest => f.write_str("its digest can't be looked up: the answer is no digest"),
            Self::NoManifest(failure) => write!(f, "its manifest can't be read: {failure}"),
            Self::Ambiguous => f.write_str("its manifest is both an image and an index"),
            Self::Unproven => f.write_str(UNPROVEN),
            Self::NoPlatforms => f.write_str("its index names no platform"),
            Self::TooManyPlatforms(number) => {
                write!(f, "its index names {number} platforms, {MAX_PLATFORMS} are the most that are judged")
            }
            Self::NoneAskedFor(there) => {
                write!(f, "none of its platforms ({there}) is one that the setting `reports.platforms` asks for")
            }
        }
    }
}

impl fmt::Display for MirrorDiffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { registry, says, mirror, mirror_says } = self;
        write!(
            f,
            "its digest isn't certain: `{registry}` says {says}, and its mirror `{mirror}` says {mirror_says}: the mirror is behind, \
             or has another image under this name; have it brought up to date, or name the image by its digest"
        )
    }
}

/// Why no report can be about an entry of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudgeable {
    /// It points to another index.
    Index,
    /// It points to nothing that a digest names.
    NoDigest,
}

impl fmt::Display for Unjudgeable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Index => "the index holds another index",
            Self::NoDigest => "the index names no digest for it",
        })
    }
}
