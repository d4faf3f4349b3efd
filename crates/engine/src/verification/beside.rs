//! What is beside an image that isn't signed as it should be: hosts say that no signature counts, and not which there are.
//!
//! It is looked up only if the request is rejected anyway, so that the message says what to do. It decides nothing: it never turns
//! one rejection into another. A registry that fails here isn't forgiven, since the host said "not signed" and the Pod's author may
//! have chosen the registry. Bundles that only the referrers API knows aren't seen, since hosts don't expose it.

use super::attestations::BUNDLE_TYPE;
use image_admission_host::{Host, HostFailure, Untrusted};
use image_admission_image::manifest::{Kind, Manifest};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, is_digest};
use image_admission_judgement::reason::Beside;
use image_admission_judgement::referrers::artifacts_beside;

/// The most calls of one look-up: for a signature's tag, the tag of the index of referrers, and that index.
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

/// What is beside a digest with this result of the host; nothing is looked up if no answer would tell more.
pub(super) fn look_beside(host: &dyn Host, reference: &ImageReference, digest: &str, why: Untrusted) -> Beside {
    match why {
        // The host looked for the signature's tag.
        Untrusted::Unsigned => bundles(host, reference, digest),
        // Hosts from 1.36 also say this if there is no signature, or if the registry failed.
        Untrusted::SignedByOthers => {
            let tag = [&reference.name(), ":", &digest.replace(':', "-"), ".sig"].concat();
            match host.manifest_digest(&tag) {
                Ok(_) => Beside::Signature,
                Err(HostFailure::NotFound(_)) => bundles(host, reference, digest),
                Err(failure) if failure.is_outage() => Beside::Failed(failure),
                Err(_) => Beside::NotLookedUp,
            }
        }
        Untrusted::NoneOfThisDigest | Untrusted::CertificateExpired | Untrusted::Unsaid => Beside::NotLookedUp,
    }
}

/// Whether bundles refer to a digest, if the registry keeps their index at a tag.
fn bundles(host: &dyn Host, reference: &ImageReference, digest: &str) -> Beside {
    match artifacts_beside(host, reference, digest, None, |kind| kind.starts_with(BUNDLE_TYPE)) {
        Ok(bundles) if bundles.is_empty() => Beside::Nothing,
        Ok(_) => Beside::Bundle,
        Err(failure) if failure.is_outage() => Beside::Failed(failure),
        // An index that can't be read proves no bundle.
        Err(_) => Beside::Nothing,
    }
}
