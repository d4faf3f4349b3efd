//! Resolving: from a reference to the one digest that is judged, and to the manifests of the platforms below it.
//!
//! A tag is asked for once. Everything after that is asked for by digest, the only form in which an answer is checked.

use crate::host::{Descriptor, Host, HostFailure, Manifest, is_index};
use crate::image::{ImageReference, is_digest, is_internal};
use crate::platform::Platform;
use crate::settings::{Platforms, Settings};
use std::fmt;

/// The most platforms of one image that are judged: each costs a look-up, and whoever pushes the image chooses how many.
const MOST_PLATFORMS: usize = 64;

/// An image whose digest is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedImage {
    /// The digest that the reference stands for: the index's for a multi-platform image.
    pub(crate) digest: String,
    /// The manifests to judge, never none.
    pub(crate) platforms: Vec<PlatformManifest>,
}

/// The manifest of an image for one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlatformManifest {
    /// Its digest.
    pub(crate) digest: String,
    /// The platform that the index says it is for. None: it stands alone, or the index doesn't say.
    pub(crate) platform: Option<Platform>,
    /// The digest of its configuration, where the manifest was read to find the image.
    pub(crate) config: Option<String>,
    /// Why no report can speak of it. The others are judged all the same: one of them may be known to be bad.
    pub(crate) unjudgeable: Option<&'static str>,
}

/// Why an image can't be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unresolved {
    RegistryNotListed(String),
    /// A registry that may be inside of the network, and that the settings don't name.
    RegistryInternal(String),
    NoDigest(HostFailure),
    NotADigest,
    NoManifest(HostFailure),
    Ambiguous,
    NoPlatforms,
    TooManyPlatforms(usize),
    NoneAskedFor(String),
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RegistryNotListed(host) => {
                write!(f, "its registry `{host}` is not one of those that the setting `registries` names")
            }
            Self::RegistryInternal(host) => write!(
                f,
                "its registry `{host}` may be inside of the network, and such are asked only when the setting `registries` names them; add it there"
            ),
            Self::NoDigest(failure) => write!(f, "its digest can't be looked up: {failure}"),
            Self::NotADigest => f.write_str("its digest can't be looked up: the answer is no digest"),
            Self::NoManifest(failure) => write!(f, "its manifest can't be read: {failure}"),
            Self::Ambiguous => f.write_str("its manifest is both an image and an index"),
            Self::NoPlatforms => f.write_str("its index names no platform"),
            Self::TooManyPlatforms(number) => {
                write!(f, "its index names {number} platforms, {MOST_PLATFORMS} are the most that are judged")
            }
            Self::NoneAskedFor(there) => {
                write!(f, "none of its platforms ({there}) is one that the setting `reports.platforms` asks for")
            }
        }
    }
}

/// What is known of an image: its digest, when that could be had, and its platforms or why there are none.
#[derive(Debug)]
pub(crate) struct Resolution {
    pub(crate) digest: Option<String>,
    pub(crate) image: Result<ResolvedImage, Unresolved>,
}

/// Asks the host for the digest of a reference (unless it carries one, or it is `known` already) and for the manifest at
/// that digest.
pub(crate) fn resolve(
    reference: &ImageReference,
    known: Option<&String>,
    settings: &Settings,
    host: &dyn Host,
) -> Resolution {
    match known.map_or_else(|| find_digest(reference, settings, host), |digest| Ok(digest.clone())) {
        Ok(digest) => {
            let image = find_platforms(reference, &digest, &settings.reports.platforms, host)
                .map(|platforms| ResolvedImage { digest: digest.clone(), platforms });
            Resolution { digest: Some(digest), image }
        }
        Err(unresolved) => Resolution { digest: None, image: Err(unresolved) },
    }
}

/// The digest that a reference stands for: its own, or what its tag is now.
pub(crate) fn find_digest(
    reference: &ImageReference,
    settings: &Settings,
    host: &dyn Host,
) -> Result<String, Unresolved> {
    may_ask(reference, settings)?;
    if let Some(digest) = reference.digest() {
        return Ok(digest.to_owned());
    }
    let digest = host.manifest_digest(&reference.to_string()).map_err(Unresolved::NoDigest)?;
    if is_digest(&digest) { Ok(digest) } else { Err(Unresolved::NotADigest) }
}

/// Whether the settings let the registry of a reference be asked. Whoever creates a Pod writes the reference: without a
/// list they could have any address asked that the policy server reaches, so that those inside must be listed.
///
/// # Errors
/// It may not.
pub(crate) fn may_ask(reference: &ImageReference, settings: &Settings) -> Result<(), Unresolved> {
    let host = reference.host();
    if settings.registries.iter().any(|listed| listed == host) {
        Ok(())
    } else if !settings.registries.is_empty() {
        Err(Unresolved::RegistryNotListed(host.to_owned()))
    } else if is_internal(host) {
        Err(Unresolved::RegistryInternal(host.to_owned()))
    } else {
        Ok(())
    }
}

/// The manifests at a digest that are judged: those of an index that the `platforms` ask for.
pub(crate) fn find_platforms(
    reference: &ImageReference,
    digest: &str,
    platforms: &Platforms,
    host: &dyn Host,
) -> Result<Vec<PlatformManifest>, Unresolved> {
    match host.manifest(&reference.at(digest)).map_err(Unresolved::NoManifest)? {
        Manifest::Image { config } => {
            Ok(vec![PlatformManifest { digest: digest.to_owned(), platform: None, config, unjudgeable: None }])
        }
        Manifest::Index(entries) => asked_for(entries, platforms),
        Manifest::Ambiguous => Err(Unresolved::Ambiguous),
    }
}

/// The entries of an index that are judged: all that a machine could run, and of those what the settings ask for. An
/// entry that doesn't name its platform could run anywhere.
fn asked_for(entries: Vec<Descriptor>, platforms: &Platforms) -> Result<Vec<PlatformManifest>, Unresolved> {
    let mut there: Vec<PlatformManifest> = Vec::new();
    for entry in entries {
        let platform = entry.platform.as_deref().and_then(Platform::parse);
        if platform.as_ref().is_some_and(Platform::is_unknown) {
            continue;
        }
        let unjudgeable = if is_index(&entry.media_type) {
            Some("the index holds another index")
        } else if !is_digest(&entry.digest) {
            Some("the index names no digest for it")
        } else {
            None
        };
        let manifest =
            PlatformManifest { digest: crate::message::cut(&entry.digest, 160), platform, config: None, unjudgeable };
        if !there.contains(&manifest) {
            there.push(manifest);
        }
    }
    if there.is_empty() {
        return Err(Unresolved::NoPlatforms);
    }
    if let Platforms::Listed(listed) = platforms {
        let names: Vec<String> = there.iter().filter_map(|m| m.platform.as_ref()).map(Platform::to_string).collect();
        there.retain(|manifest| {
            manifest.platform.as_ref().is_none_or(|platform| listed.iter().any(|asked| platform.is_asked_for_by(asked)))
        });
        if there.is_empty() {
            let names = crate::message::join_at_most(names.iter().map(String::as_str), ", ", 8);
            return Err(Unresolved::NoneAskedFor(names));
        }
    }
    if there.len() > MOST_PLATFORMS {
        return Err(Unresolved::TooManyPlatforms(there.len()));
    }
    Ok(there)
}
