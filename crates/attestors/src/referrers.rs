//! Artifacts beside an image: at a tag that is made of its digest, or among those that refer to it.
//!
//! Registries keep the index of what refers to an image at the tag `sha256-<hex>`, the fallback of the distribution specification.
//! The host doesn't call the referrers API. The host's view of that index counts if its bytes are proven.

use image_admission_host::{Host, HostFailure, is_proven};
use image_admission_image::manifest::{Descriptor, Kind, Manifest};
use image_admission_image::{ImageReference, is_digest};
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::collections::BTreeSet;

/// The digests of the artifacts beside `digest`, none if there are none. With a suffix: what the tag `sha256-<hex>.<suffix>` leads
/// to. Without one: the referrers of the wanted type, each once, in the order of their index. A tag is requested once, and everything
/// after that by digest.
///
/// # Errors
/// The registry can't be called, or its answer is no index.
pub fn artifacts_beside(
    host: &dyn Host,
    reference: &ImageReference,
    digest: &str,
    suffix: Option<&str>,
    mut is_wanted: impl FnMut(&str) -> bool,
) -> Result<Vec<String>, HostFailure> {
    let stem = digest.replace(':', "-");
    let tag = suffix.map_or_else(|| stem.clone(), |suffix| [&stem, ".", suffix].concat());
    let resolved = match host.manifest_digest(&[&reference.name(), ":", &tag].concat()) {
        Ok(answer) if is_digest(&answer) => answer,
        Ok(_) => return Err(HostFailure::Malformed("the answer is no digest".to_owned())),
        Err(HostFailure::NotFound(_)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure),
    };
    if suffix.is_some() {
        return Ok(vec![resolved]);
    }
    let index = reference.at(&resolved);
    let document = host.manifest(&index)?;
    let manifest = Manifest::read(&document.0)?;
    if manifest.kind() != Kind::Index {
        return Err(HostFailure::Malformed(format!("{index} is not an index of referrers")));
    }
    // An artifact that only another reader finds in it may say that the image is bad.
    if !is_proven(host, &manifest, &resolved) && is_on(Remedy::ProveIndexes) {
        return Err(HostFailure::Malformed(format!(
            "{index}, the index of referrers, may hold more than the host shows of it"
        )));
    }
    let wanted = manifest.entries().iter().filter(|entry| entry.artifact_type().is_some_and(&mut is_wanted));
    // Whoever lists one artifact many times makes no more work.
    let mut listed = BTreeSet::new();
    let digests = wanted.map(Descriptor::digest).filter(|digest| is_digest(digest) && listed.insert(*digest));
    Ok(digests.map(str::to_owned).collect())
}
