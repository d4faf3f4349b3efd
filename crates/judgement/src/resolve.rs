//! Resolving: from a reference to the one digest that is judged, and to the manifests of the platforms below it.
//!
//! A tag stands for one digest. Everything after that is requested by digest, the only form in which an answer is checked; or it is
//! proven to have that digest.

use crate::reason::{MAX_PLATFORMS, NamedByMirror, Unjudgeable, Unresolved};
use image_admission_host::{Host, is_proven};
use image_admission_image::manifest::{BaseImage, Descriptor, Kind, Manifest};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, is_digest, is_internal};
use image_admission_settings::{Platforms, ReportSource, Reports, Settings, UnprovenIndexes};
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::collections::{BTreeMap, BTreeSet};

/// An image whose digest is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedImage {
    /// The digest that the reference stands for: the index's for a multi-platform image.
    pub digest: String,
    /// The manifests to judge; never empty.
    pub platforms: Vec<PlatformManifest>,
    /// The index's other manifests, for platforms that aren't wanted: scanners may have taken one of these.
    pub others: Vec<PlatformManifest>,
    /// The digest to pin: that of the one wanted platform, or else the one that the reference stands for.
    pub pin: String,
    /// Whether the index may hold data that the host doesn't show, and the settings accept that.
    pub is_unproven: bool,
    /// Whether statements about its digest are about these platforms. They aren't if the index is unproven and its one platform is
    /// pinned: a scanner of the index may have scanned what the host doesn't show, while the platform that it shows is the one that
    /// runs.
    pub speaks_for_platforms: bool,
    /// The image that all of its platforms were built from, as an index says that can hide nothing.
    pub base: Option<BaseImage>,
}

/// The manifest of an image for one platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlatformManifest {
    /// Its digest.
    pub digest: String,
    /// The platform that the index gives. None: it stands alone, or the index gives none.
    pub platform: Option<Platform>,
    /// Whether its platform can't be read, so that it may be any wanted one.
    pub is_odd: bool,
    /// Whether every runtime, on each of the platform's machines, reads its platform in the same way.
    pub is_plain: bool,
    /// Why no report can be about it. The others are judged all the same: one of them may be known to be bad.
    pub unjudgeable: Option<Unjudgeable>,
}

/// What is known of an image: its digest, if it is known, and its platforms or why there are none.
#[derive(Debug)]
pub struct Resolution {
    /// The digest, where one is known.
    pub digest: Option<String>,
    /// The manifests behind it, or why they are not known.
    pub image: Result<ResolvedImage, Unresolved>,
}

/// The digests that references stand for, or why they aren't known.
pub type Digests = BTreeMap<ImageReference, Result<String, Unresolved>>;

/// How an image is to be resolved, as a request has it.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// Whether an attestor signed the digest.
    pub is_vouched_for: bool,
    /// Whether only [`ResolvedImage::pin`] can run.
    pub is_pinned: bool,
}

/// Requests the digest of a reference, unless it has one, and the manifest at that digest.
///
/// Where the image is pinned, reports may spare the call for a tag's digest: see [`find_tagged`]. `reported` tells the digests that they
/// name, for the wanted platforms of an index.
pub fn resolve(
    reference: &ImageReference,
    purpose: Purpose,
    settings: &Settings,
    host: &dyn Host,
    reported: impl FnOnce(&[PlatformManifest]) -> BTreeSet<String>,
) -> Resolution {
    if (purpose.is_pinned || !is_on(Remedy::PinReportedDigest))
        && may_be_reported(reference, settings)
        && let Some(resolution) = find_tagged(reference, purpose, settings, host, reported)
    {
        return resolution;
    }
    match find_digest(reference, settings, host) {
        Ok(digest) => resolve_digest(reference, digest, purpose, settings, host),
        Err(unresolved) => Resolution { digest: None, image: Err(unresolved) },
    }
}

/// Requests the manifest of a reference at a digest that is known.
pub fn resolve_digest(
    reference: &ImageReference,
    digest: String,
    purpose: Purpose,
    settings: &Settings,
    host: &dyn Host,
) -> Resolution {
    let image = find_image(reference, &digest, &Asked::new(purpose, settings), host);
    Resolution { digest: Some(digest), image }
}

/// Whether reports may tell a reference's digest: that of a tag, by a scanner whose reports are found without it. A mirror's tag may
/// be another than the registry's.
fn may_be_reported(reference: &ImageReference, settings: &Settings) -> bool {
    let first = settings.reports.sources.first();
    reference.digest().is_none()
        && settings.mirrors.of(reference.host()).is_none()
        && matches!(first, Some(ReportSource::SbomScanner(_) | ReportSource::TrivyOperator(_)))
}

/// What a tag stands for, by its manifest: the digest that a report names, if that is proven to be the manifest's, or else the one that
/// the registry tells. None if the manifest can't be had by its tag.
///
/// The tag itself may show nodes more than the host shows. So this is only for images that are pinned: their digest runs, and its bytes
/// are proven to hold nothing else.
fn find_tagged(
    reference: &ImageReference,
    purpose: Purpose,
    settings: &Settings,
    host: &dyn Host,
    reported: impl FnOnce(&[PlatformManifest]) -> BTreeSet<String>,
) -> Option<Resolution> {
    may_ask(reference, settings).ok()?;
    let document = host.manifest(&reference.text()).ok()?;
    let manifest = Manifest::read(&document.0).ok()?;
    let asked = Asked::new(purpose, settings);
    let platforms = asked_for(manifest.entries(), asked.platforms).map(|(wanted, _)| wanted).unwrap_or_default();
    let reported = reported(&platforms);
    let proven = match is_on(Remedy::ProveReportedDigest) {
        true => manifest.digest_among(&reported, &|bytes| host.may_hash(bytes)),
        false => reported.first().cloned(),
    };
    let standing_for =
        |digest: String| Resolution { image: image_of(&manifest, &digest, true, &asked), digest: Some(digest) };
    if let Some(digest) = proven {
        return Some(standing_for(digest));
    }
    Some(match find_digest(reference, settings, host) {
        Ok(digest) if is_proven(host, &manifest, &digest) || !is_on(Remedy::ProveTaggedManifest) => {
            standing_for(digest)
        }
        // The tag has moved since, or no common tool wrote the manifest.
        Ok(digest) => resolve_digest(reference, digest, purpose, settings, host),
        Err(unresolved) => Resolution { digest: None, image: Err(unresolved) },
    })
}

/// The index of which an image is the one wanted platform, if the tag beside its digest, or `latest` where there is none, stands for
/// that at present. A policy that wants one platform pins that in the place of a tag, and what scanners and CI say may be about the
/// tag's index.
///
/// A Pod's author wrote the tag. So its index counts only if it is proven to have this image for the platform and no other, and that
/// there is none is no failure.
pub fn find_index(
    reference: &ImageReference,
    image: &ResolvedImage,
    settings: &Settings,
    host: &dyn Host,
) -> Option<ResolvedImage> {
    let wants_one = matches!(&settings.reports.platforms, Platforms::Listed(listed) if listed.len() == 1);
    // What is an index itself is no platform of one.
    let stands_alone = matches!(image.platforms.as_slice(), [own] if own.digest == image.digest);
    if reference.digest() != Some(&image.digest) || !stands_alone || !wants_one {
        return None;
    }
    let tagged = [&reference.name(), ":", reference.tag().unwrap_or("latest")].concat();
    let digest = host.manifest_digest(&tagged).ok().filter(|digest| is_digest(digest) && *digest != image.digest)?;
    let asked = Asked::new(Purpose { is_vouched_for: false, is_pinned: true }, settings);
    let index = find_image(reference, &digest, &asked, host).ok()?;
    (index.pin == image.digest && index.speaks_for_platforms).then_some(index)
}

/// The digest that a reference stands for: its own, or the tag's present one.
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

/// Whether the settings allow calls to a reference's registry. The Pod's author chooses the reference. Without a list, that could
/// be any address that the policy server reaches, so registries inside the network must be listed.
///
/// # Errors
/// They don't.
pub fn may_ask(reference: &ImageReference, settings: &Settings) -> Result<(), Unresolved> {
    let host = reference.host();
    if let Some(named) = NamedByMirror::of(reference, &settings.mirrors) {
        Err(Unresolved::NamedByMirror(named))
    } else if settings.names_registry(host) {
        Ok(())
    } else if !settings.registries.is_empty() {
        Err(Unresolved::RegistryNotAllowed { host: host.to_owned(), allowed: settings.registries.clone() })
    } else if is_internal(host) {
        Err(Unresolved::RegistryInternal(host.to_owned()))
    } else {
        Ok(())
    }
}

/// How an image is to be resolved.
#[derive(Debug)]
pub struct Asked<'a> {
    /// The wanted platforms.
    pub platforms: &'a Platforms,
    /// How to treat an index whose bytes aren't proven.
    pub unproven_indexes: UnprovenIndexes,
    /// Whether policies of `imageVerification` check images, and so what the digest stands for.
    pub is_verified: bool,
    /// Whether an attestor signed that digest.
    pub is_vouched_for: bool,
    /// Whether only [`ResolvedImage::pin`] can run.
    pub is_pinned: bool,
}

impl<'a> Asked<'a> {
    fn new(Purpose { is_vouched_for, is_pinned }: Purpose, settings: &'a Settings) -> Self {
        let Reports { platforms, unproven_indexes, .. } = &settings.reports;
        let (unproven_indexes, is_verified) = (*unproven_indexes, !settings.verification.is_empty());
        Self { platforms, unproven_indexes, is_verified, is_vouched_for, is_pinned }
    }
}

/// The manifests at a digest that are judged: of an index, those that the settings want.
///
/// Nodes read an index with another parser than the host. So an index counts only if its bytes are proven, or if the one wanted
/// platform is pinned instead of it.
pub fn find_image(
    reference: &ImageReference,
    digest: &str,
    asked: &Asked<'_>,
    host: &dyn Host,
) -> Result<ResolvedImage, Unresolved> {
    let document = host.manifest(&reference.at(digest)).map_err(Unresolved::NoManifest)?;
    let manifest = Manifest::read(&document.0).map_err(|why| Unresolved::NoManifest(why.into()))?;
    // Only of an index it matters, and an index is hashed for it.
    let is_index = manifest.kind() == Kind::Index;
    let is_proven = is_index && (is_proven(host, &manifest, digest) || !is_on(Remedy::ProveIndexes));
    image_of(&manifest, digest, is_proven, asked)
}

/// The manifests that are judged, of a document with this digest. Of an index, `is_proven` says whether the document is all of it.
fn image_of(
    manifest: &Manifest<'_>,
    digest: &str,
    is_proven: bool,
    asked: &Asked<'_>,
) -> Result<ResolvedImage, Unresolved> {
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
            // The signer of an index may have seen in it what the host doesn't show: then no signature covers the platform.
            let is_certain = is_proven || !asked.is_verified;
            // A signed digest stays: with another one, no signature is found when the object comes again.
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

/// The digest of the one manifest that can run, if exactly one platform is listed.
fn the_only_one<'p>(platforms: &'p [PlatformManifest], asked: &Platforms) -> Option<&'p str> {
    match (platforms, asked) {
        ([only], Platforms::Listed(listed)) if listed.len() == 1 && only.unjudgeable.is_none() => Some(&only.digest),
        _ => None,
    }
}

/// Wanted manifests, and the others.
type Sorted = (Vec<PlatformManifest>, Vec<PlatformManifest>);

/// The entries of an index that are judged: those that a machine could run and the settings want.
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

/// The manifests for the listed platforms. If an index has none for a machine's own platform, runtimes take one that can stand in
/// for it, or one without a platform. So these are wanted too, unless every listed platform has one that all of its machines take.
/// One with an unreadable platform is always wanted.
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
