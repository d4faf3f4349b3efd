//! Why an image can't be judged: it has no digest, no manifest, or none that is what nodes run.

use super::NamedByMirror;
use image_admission_host::HostFailure;
use image_admission_settings::{ForgivenBy, Mirror};
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::fmt;

/// The most platforms of one image that are judged: each takes a look-up, and the pusher chooses how many there are.
pub const MAX_PLATFORMS: usize = 64;

/// Why an unproven index isn't judged, and what to do.
const UNPROVEN: &str = "its index may hold more than the host shows of it, so that nodes could run another image: push it \
    anew with a tool whose indexes are proven (buildx, docker manifest, crane, ko, podman, regctl, oras), or set \
    `reports.platforms` to the one platform that is to run, which is pinned then";

/// Why an image can't be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// A registry with this host, which the settings don't list.
    RegistryNotListed(String),
    /// A registry that may be inside the network, and that the settings don't list.
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
            Self::RegistryNotListed(_)
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
            Self::RegistryNotListed(host) => {
                write!(
                    f,
                    "nobody was asked about it: its registry `{host}` is not one of those that the setting `registries` names; \
                     take it from one of them, or add `{host}` there"
                )
            }
            Self::RegistryInternal(host) => write!(
                f,
                "nobody was asked about it: its registry `{host}` may be inside of the network, and such are asked only when the \
                 setting `registries` names them; add `{host}` there"
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
