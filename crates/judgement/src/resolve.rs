//! Resolving: from a reference to the one digest that is judged, and to the manifests of the platforms below it.
//!
//! A tag is asked for once. Everything after that is asked for by digest, the only form in which an answer is checked.

use crate::reason::{MAX_PLATFORMS, NamedByMirror, Unjudgeable, Unresolved};
use image_admission_host::Host;
use image_admission_image::manifest::{BaseImage, Descriptor, Kind, Manifest};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, is_digest, is_internal};
use image_admission_settings::{Platforms, Reports, Settings, UnprovenIndexes};
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::collections::BTreeMap;

/// An image whose digest is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedImage {
    /// The digest that the reference stands for: the index's for a multi-platform image.
    pub digest: String,
    /// The manifests to judge, never none.
    pub platforms: Vec<PlatformManifest>,
    /// The index's others, for platforms that aren't asked for: scanners may have taken one of these.
    pub others: Vec<PlatformManifest>,
    /// What is written in the image's place: the one platform that is asked for, or else what the reference stands for.
    pub pin: String,
    /// Whether the index may hold what the host doesn't show; the settings let it in all the same.
    pub is_unproven: bool,
    /// Whether what is said of its digest is said of these platforms. Of an unproven index whose one platform is pinned it
    /// isn't: whoever scanned that may have scanned what the host doesn't show, and what it shows is what runs.
    pub speaks_for_platforms: bool,
    /// The image that all of its platforms were built from, as an index says that can hide nothing.
    pub base: Option<BaseImage>,
}

/// The manifest of an image for one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformManifest {
    /// Its digest.
    pub digest: String,
    /// The platform that the index says it is for. None: it stands alone, or the index doesn't say.
    pub platform: Option<Platform>,
    /// Whether it says a platform that can't be read, so that it may be for any that is asked for.
    pub is_odd: bool,
    /// Whether every runtime reads its platform alike, on each machine of it.
    pub is_plain: bool,
    /// Why no report can speak of it. The others are judged all the same: one of them may be known to be bad.
    pub unjudgeable: Option<Unjudgeable>,
}

/// What is known of an image: its digest, when that could be had, and its platforms or why there are none.
#[derive(Debug)]
pub struct Resolution {
    /// The digest, where one is known.
    pub digest: Option<String>,
    /// The manifests behind it, or why they are not known.
    pub image: Result<ResolvedImage, Unresolved>,
}

/// The digests that references stand for, or why they aren't known.
pub type Digests = BTreeMap<ImageReference, Result<String, Unresolved>>;

/// Asks the host for the digest of a reference (unless it carries one, or it is `known` already) and for the manifest at
/// that digest. `is_pinned` says whether what runs is what [`ResolvedImage::pin`] says, and nothing else.
pub fn resolve(
    reference: &ImageReference,
    known: Option<&String>,
    is_vouched_for: bool,
    is_pinned: bool,
    settings: &Settings,
    host: &dyn Host,
) -> Resolution {
    match known.map_or_else(|| find_digest(reference, settings, host), |digest| Ok(digest.clone())) {
        Ok(digest) => {
            let Reports { platforms, unproven_indexes, .. } = &settings.reports;
            let asked = Asked {
                platforms,
                unproven_indexes: *unproven_indexes,
                is_verified: !settings.verification.is_empty(),
                is_vouched_for,
                is_pinned,
            };
            let image = find_image(reference, &digest, &asked, host);
            Resolution { digest: Some(digest), image }
        }
        Err(unresolved) => Resolution { digest: None, image: Err(unresolved) },
    }
}

/// The digest that a reference stands for: its own, or what its tag is now.
pub fn find_digest(reference: &ImageReference, settings: &Settings, host: &dyn Host) -> Result<String, Unresolved> {
    may_ask(reference, settings)?;
    if let Some(digest) = reference.digest() {
        return Ok(digest.to_owned());
    }
    let name = reference.text();
    let checked = |digest: String| if is_digest(&digest) { Ok(digest) } else { Err(Unresolved::NotADigest) };
    let digest = checked(host.manifest_digest(&name).map_err(Unresolved::NoDigest)?)?;
    match settings.mirrors.of(reference.host()).filter(|mirror| mirror.asks_both()) {
        Some(mirror) if is_on(Remedy::AskBoth) => {
            let own = checked(host.digest_at_registry(&name).map_err(Unresolved::NotConfirmed)?)?;
            if own == digest { Ok(digest) } else { Err(Unresolved::differs(mirror, digest, own)) }
        }
        _ => Ok(digest),
    }
}

/// Whether the settings let the registry of a reference be asked. Whoever creates a Pod writes the reference: without a
/// list they could have any address asked that the policy server reaches, so that those inside must be listed.
///
/// # Errors
/// It may not.
pub fn may_ask(reference: &ImageReference, settings: &Settings) -> Result<(), Unresolved> {
    let host = reference.host();
    if let Some(named) = NamedByMirror::of(reference, &settings.mirrors) {
        Err(Unresolved::NamedByMirror(named))
    } else if settings.names_registry(host) {
        Ok(())
    } else if !settings.registries.is_empty() {
        Err(Unresolved::RegistryNotListed(host.to_owned()))
    } else if is_internal(host) {
        Err(Unresolved::RegistryInternal(host.to_owned()))
    } else {
        Ok(())
    }
}

/// What is asked for of an image.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The platforms that the settings ask for.
    pub platforms: &'a Platforms,
    /// What becomes of an index whose bytes nothing proves.
    pub unproven_indexes: UnprovenIndexes,
    /// Whether policies of `imageVerification` look at images, and so at what the digest stands for.
    pub is_verified: bool,
    /// Whether an attestor vouched for that digest.
    pub is_vouched_for: bool,
    /// Whether what runs is what [`ResolvedImage::pin`] says, and nothing else.
    pub is_pinned: bool,
}

/// The manifests at a digest that are judged: those of an index that the settings ask for.
///
/// Nodes read an index with another parser than the host. So one is believed only where its bytes are proven, or where the
/// one platform that is asked for is pinned in its place.
pub fn find_image(
    reference: &ImageReference,
    digest: &str,
    asked: &Asked<'_>,
    host: &dyn Host,
) -> Result<ResolvedImage, Unresolved> {
    let document = host.manifest(&reference.at(digest)).map_err(Unresolved::NoManifest)?;
    let manifest = Manifest::read(&document.0).map_err(|why| Unresolved::NoManifest(why.into()))?;
    let image = |platforms, others, pin: &str, is_unproven| {
        let (digest, pin) = (digest.to_owned(), pin.to_owned());
        Ok(ResolvedImage { digest, platforms, others, pin, is_unproven, speaks_for_platforms: true, base: None })
    };
    match manifest.kind() {
        Kind::Image => {
            let alone = PlatformManifest {
                digest: digest.to_owned(),
                platform: None,
                is_odd: false,
                is_plain: false,
                unjudgeable: None,
            };
            image(vec![alone], Vec::new(), digest, false)
        }
        Kind::Index => {
            let (platforms, others) = asked_for(manifest.entries(), asked.platforms)?;
            let is_proven = manifest.is_proven(digest) || !is_on(Remedy::ProveIndexes);
            // Who signed an index may have seen in it what the host doesn't show: no signature vouches for the platform then.
            let is_certain = is_proven || !asked.is_verified;
            // And what was signed keeps its digest: the signature isn't found by another, when the object is asked about again.
            let is_replaced = asked.is_pinned && is_certain && !asked.is_vouched_for;
            let only = the_only_one(&platforms, asked.platforms).filter(|_| is_replaced);
            if let Some(only) = only.map(str::to_owned) {
                let image = image(platforms, others, &only, false)?;
                let base = if is_proven { manifest.base() } else { None };
                return Ok(ResolvedImage { speaks_for_platforms: is_proven, base, ..image });
            }
            let is_unproven = !is_proven;
            if is_unproven && asked.unproven_indexes == UnprovenIndexes::Reject {
                return Err(Unresolved::Unproven);
            }
            let base = if is_proven { manifest.base() } else { None };
            Ok(ResolvedImage { base, ..image(platforms, others, digest, is_unproven)? })
        }
        Kind::Ambiguous => Err(Unresolved::Ambiguous),
    }
}

/// The digest of the one manifest that can run, where exactly one platform is asked for.
fn the_only_one<'p>(platforms: &'p [PlatformManifest], asked: &Platforms) -> Option<&'p str> {
    match (platforms, asked) {
        ([only], Platforms::Listed(listed)) if listed.len() == 1 && only.unjudgeable.is_none() => Some(&only.digest),
        _ => None,
    }
}

/// Manifests that the settings ask for, and the others.
type Sorted = (Vec<PlatformManifest>, Vec<PlatformManifest>);

/// The entries of an index that are judged: all that a machine could run, and of those what the settings ask for.
fn asked_for(entries: &[Descriptor<'_>], platforms: &Platforms) -> Result<Sorted, Unresolved> {
    let mut there: Vec<PlatformManifest> = Vec::new();
    for entry in entries {
        let platform = entry.platform();
        if platform.as_ref().is_some_and(Platform::is_unknown) {
            continue;
        }
        let unjudgeable = if entry.is_index() {
            Some(Unjudgeable::Index)
        } else if !is_digest(entry.digest()) {
            Some(Unjudgeable::NoDigest)
        } else {
            None
        };
        let digest = image_admission_untrusted::message::cut(entry.digest(), 160);
        let (is_odd, is_plain) = (entry.has_odd_platform(), entry.has_plain_platform());
        let manifest = PlatformManifest { digest, platform, is_odd, is_plain, unjudgeable };
        if !there.contains(&manifest) {
            there.push(manifest);
        }
    }
    if there.is_empty() {
        return Err(Unresolved::NoPlatforms);
    }
    let (asked, others) = match platforms {
        Platforms::Listed(listed) => listed_ones(there, listed)?,
        Platforms::All => (there, Vec::new()),
    };
    if asked.len() > MAX_PLATFORMS {
        return Err(Unresolved::TooManyPlatforms(asked.len()));
    }
    Ok((asked, others))
}

/// The manifests for platforms that are listed. Where an index has none that a machine takes for its own platform, runtimes take one that
/// can stand in for it, or one without a platform; so these are asked for where a listed platform has none that all of its machines
/// take. One whose platform can't be read is asked for always.
fn listed_ones(there: Vec<PlatformManifest>, listed: &[Platform]) -> Result<Sorted, Unresolved> {
    let hides_nothing = is_on(Remedy::DecoysHideNothing);
    let machines: Vec<Platform> =
        if hides_nothing { listed.iter().flat_map(Platform::least_machines).collect() } else { listed.to_vec() };
    let takes = |machine: &Platform, manifest: &PlatformManifest| match &manifest.platform {
        Some(platform) if hides_nothing => manifest.is_plain && platform.is_same(machine),
        Some(platform) => platform.is_asked_for_by(machine),
        None => false,
    };
    let missing: Vec<&Platform> =
        machines.iter().filter(|machine| !there.iter().any(|manifest| takes(machine, manifest))).collect();
    let is_asked_for = |manifest: &PlatformManifest| match &manifest.platform {
        Some(platform) => {
            listed.iter().any(|asked| platform.is_asked_for_by(asked))
                || machines.iter().any(|machine| platform.is_same(machine))
                || missing.iter().any(|machine| platform.stands_in_for(machine))
        }
        None => manifest.is_odd || !missing.is_empty(),
    };
    let (asked, others): (Vec<_>, Vec<_>) = there.into_iter().partition(is_asked_for);
    if asked.is_empty() {
        let names: Vec<String> = others.iter().filter_map(|m| m.platform.as_ref()).map(Platform::to_string).collect();
        let names = image_admission_untrusted::message::join_at_most(names.iter().map(String::as_str), ", ", 8);
        return Err(Unresolved::NoneAskedFor(names));
    }
    Ok((asked, others))
}

#[cfg(test)]
mod tests;
