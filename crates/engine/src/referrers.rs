//! Artifacts beside an image: at a tag that is made of its digest, or among those that refer to it.
//!
//! Registries keep the index of what refers to an image at the tag `sha256-<hex>`, the fallback of the distribution
//! specification: the host asks no referrers API. The host hands out an index as it has read it, so that a key which others
//! would take for one of its fields can't be seen here: an entry that is hidden so is looked at by nobody, and what is shown
//! must say itself, in a signed manifest or in a signed report, what it is about.

use crate::host::{Host, HostFailure, Manifest};
use crate::image::{ImageReference, is_digest};
use crate::message::cut;

/// The digests of the artifacts beside `digest`, none where there are none: what stands at `sha256-<hex>.<suffix>`, or
/// without a suffix those referrers whose type is wanted, in the order of their index. What is asked for by tag is asked
/// for once; after that everything is asked for by digest.
///
/// # Errors
/// The registry can't be asked, or what it answers is no index.
pub(crate) fn artifacts_beside(
    host: &dyn Host,
    reference: &ImageReference,
    digest: &str,
    suffix: Option<&str>,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>, HostFailure> {
    let stem = digest.replace(':', "-");
    let tag = suffix.map_or_else(|| stem.clone(), |suffix| [&stem, ".", suffix].concat());
    let resolved = match host.manifest_digest(&[&reference.name(), ":", &tag].concat()) {
        Ok(answer) if is_digest(&answer) => answer,
        Ok(other) => return Err(HostFailure::Malformed(format!("the answer `{}` is no digest", cut(&other, 80)))),
        Err(HostFailure::NotFound(_)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure),
    };
    if suffix.is_some() {
        return Ok(vec![resolved]);
    }
    let index = reference.at(&resolved);
    let Manifest::Index(entries) = host.manifest(&index)? else {
        return Err(HostFailure::Malformed(format!("{index} is not an index of referrers")));
    };
    let wanted = entries.into_iter().filter(|entry| entry.artifact_type.as_deref().is_some_and(&is_wanted));
    Ok(wanted.map(|entry| entry.digest).filter(|digest| is_digest(digest)).collect())
}
