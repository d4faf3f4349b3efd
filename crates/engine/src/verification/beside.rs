//! What stands beside an image that isn't signed as it should be: hosts say that no signature counts, and not which there are.
//!
//! It is asked for where the request is rejected anyway, so that whoever reads the rejection knows what to do.

use super::attestations::BUNDLE_TYPE;
use crate::host::{Host, HostFailure, Untrusted};
use crate::image::ImageReference;
use crate::reason::Beside;
use crate::referrers::artifacts_beside;

/// The most calls that one look takes: for a signature's tag, the tag of the index of referrers, and that index.
pub(super) const MOST_CALLS: usize = 3;

/// What stands beside a digest of which the host says this; nothing is asked where no answer would say more.
pub(super) fn look_beside(host: &dyn Host, reference: &ImageReference, digest: &str, why: Untrusted) -> Beside {
    match why {
        // The host looked for the signature's tag.
        Untrusted::Unsigned => bundles(host, reference, digest),
        // Hosts from 1.36 say so, too, where there is no signature, or where the registry failed.
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

/// Whether bundles refer to a digest, as far as the registry keeps the index at a tag.
fn bundles(host: &dyn Host, reference: &ImageReference, digest: &str) -> Beside {
    match artifacts_beside(host, reference, digest, None, |kind| kind.starts_with(BUNDLE_TYPE)) {
        Ok(bundles) if bundles.is_empty() => Beside::Nothing,
        Ok(_) => Beside::Bundle,
        Err(failure) if failure.is_outage() => Beside::Failed(failure),
        // An index that can't be read says nothing of signatures.
        Err(_) => Beside::Nothing,
    }
}
