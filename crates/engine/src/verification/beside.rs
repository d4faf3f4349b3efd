//! What is beside an image that isn't signed as it should be: hosts say that no signature counts, and not which there are.
//!
//! It is looked up only if the request is rejected anyway, so that the message says what to do. It decides nothing: it never turns
//! one rejection into another. A registry that fails here isn't forgiven, since the host said "not signed" and the Pod's author may
//! have chosen the registry.

use image_admission_host::{Host, HostFailure};
use image_admission_image::manifest::{Kind, Manifest};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, is_digest};
use image_admission_judgement::reason::Beside;

/// The most calls of one look-up for evidence of a platform, if there is none: its object, the tag of the index of referrers, and
/// that index.
pub(super) const MOST_CALLS: usize = 3;

/// The most identities that are checked for a platform.
pub(super) const MOST_IDENTITIES: usize = 4;

/// A platform of an index: its name, and the digest of its manifest.
pub(super) type NamedPlatform = (String, String);

/// One platform of an index, as an example: linux/amd64 if there is one, else the first. None for what is no index. It takes one
/// call.
pub(super) fn one_platform(host: &dyn Host, reference: &ImageReference, digest: &str) -> Option<NamedPlatform> {
    let document = host.manifest(&reference.at(digest)).ok()?;
    let manifest = Manifest::read(&document.0).ok()?;
    if manifest.kind() != Kind::Index {
        return None;
    }
    let platforms = manifest.entries().iter().filter(|entry| !entry.is_index() && is_digest(entry.digest()));
    let mut platforms = platforms.filter_map(|entry| Some((entry.platform()?, entry.digest())));
    let mut named = platforms.clone().filter(|(platform, _)| !platform.is_unknown());
    let usual = platforms.find(|(platform, _)| platform.is_same(&Platform::linux_amd64()));
    let (platform, digest) = usual.or_else(|| named.next())?;
    Some((platform.text(), digest.to_owned()))
}

/// Whether a signature in the old form is beside a digest.
pub(super) fn look_for_signature(host: &dyn Host, reference: &ImageReference, digest: &str) -> Beside {
    let tag = [&reference.name(), ":", &digest.replace(':', "-"), ".sig"].concat();
    match host.manifest_digest(&tag) {
        Ok(_) => Beside::Signature,
        Err(HostFailure::NotFound(_)) => Beside::Nothing,
        Err(failure) if failure.is_outage() => Beside::Failed(failure),
        Err(_) => Beside::NotLookedUp,
    }
}
