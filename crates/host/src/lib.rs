//! The host: everything that the policy can learn from outside, as one argument.
//!
//! ```text
//! Host ── wire (Kubewarden's calls and error texts) ── registry_failure (what a registry's answer means)
//!   ├── counted (a request has a budget of calls)
//!   ├── mirrored (a registry that has a mirror is asked there)
//!   └── withheld (what was not granted)
//! cluster (objects of one kind, read so that a look-up never hangs)
//! ```
//!
//! What a host answers is not believed because of how it was asked for: whoever reads an answer matches it again. This crate never
//! decides, and it alone knows the names of calls.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod cluster;
mod counted;
mod mirrored;
mod registry_failure;
mod wire;
mod withheld;

use image_admission_image::manifest::UnreadableManifest;
use image_admission_settings::{GuardedResource, Identity};
use image_admission_untrusted::json;
use image_admission_untrusted::unreadable::unreadable;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

pub use counted::CountedHost;
pub use mirrored::MirroredHost;
pub use registry_failure::{NOBODY_TO_ASK, Refusal};
pub use wire::{HostCalls, WireHost};
pub use withheld::Capability;

/// A host that answers for registries and for the cluster.
pub trait Host {
    /// The digest that a reference with a tag resolves to now: of the index, for a multi-platform image.
    ///
    /// # Errors
    /// The image can't be found, or asking failed.
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure>;

    /// The same by the word of the image's own registry, whatever a mirror says that is asked in its place. Without mirrors it is
    /// the same question.
    ///
    /// # Errors
    /// As for [`Host::manifest_digest`].
    fn digest_at_registry(&self, image: &str) -> Result<String, HostFailure> {
        self.manifest_digest(image)
    }

    /// The manifest or the index of an image. Only an `image` of the form `repository@digest` gets an answer that was
    /// checked; what the answer shows of the document is for [`image_admission_image::manifest::is_proven`] to say.
    ///
    /// # Errors
    /// The image can't be found, or asking failed.
    fn manifest(&self, image: &str) -> Result<Document, HostFailure>;

    /// One object of the cluster, read now (or a few seconds ago). Of its fields outside `metadata` only those named
    /// by `fields` (dotted paths, lists are passed through) are there.
    ///
    /// # Errors
    /// The object doesn't exist, the policy was not granted its kind, or asking failed.
    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure>;

    /// One object of the cluster with all of its fields, read now (or a few seconds ago).
    ///
    /// # Errors
    /// As for [`Host::get_resource`].
    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure>;

    /// All objects of a kind in a namespace, as the host last saw them, in any order. An answer proves nothing about
    /// now; the first request for a kind that can't be listed never returns. So a [`Host::get_resource`] of the same
    /// kind and namespace must have answered before.
    ///
    /// # Errors
    /// The policy was not granted the kind, or asking failed.
    fn list_resources(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure>;

    /// All objects of a kind in all namespaces, or of a kind that has none; whole objects, in any order. What is said of
    /// [`Host::list_resources`] holds here too.
    ///
    /// # Errors
    /// The policy was not granted the kind, or asking failed.
    fn list_all_resources(&self, api_version: &str, kind: &str) -> Result<Document, HostFailure>;

    /// An artifact: its manifest's digest and subject, and its configuration as any JSON. Only an `image` of the form
    /// `repository@digest` gets an answer that was checked.
    ///
    /// # Errors
    /// The artifact can't be found, or asking failed, or the answer is no artifact.
    fn artifact(&self, image: &str) -> Result<Document, HostFailure>;

    /// Verifies that an image or artifact, `repository@digest`, was signed by an identity, with a signature that carries
    /// the annotations. The answer is the digest that was signed.
    ///
    /// # Errors
    /// [`HostFailure::NotTrusted`] when it wasn't, any other when that can't be told. A key that stands in the cluster
    /// must have been read before: the host takes keys.
    fn verify(
        &self,
        image: &str,
        identity: &Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<String, HostFailure>;

    /// Whether a user may do something, as the cluster's authorizers say it now.
    ///
    /// # Errors
    /// Asking failed, or the answer can't be read.
    fn may(&self, review: &AccessReview<'_>) -> Result<bool, HostFailure>;

    /// Whether so many more calls may be made. Nobody counts them here.
    fn has_room_for(&self, calls: usize) -> bool {
        let _ = calls;
        true
    }
}

/// What is asked of the cluster's authorizers: a SubjectAccessReview.
#[derive(Debug, Clone, Copy)]
pub struct AccessReview<'a> {
    /// The user's name, as the API server knows it.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
    /// What they would do, `use`.
    pub verb: &'a str,
    /// With what.
    pub resource: &'a GuardedResource,
}

impl fmt::Debug for dyn Host + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Host")
    }
}

/// An object of the cluster, by name.
#[derive(Debug, Clone, Copy)]
pub struct Resource<'a> {
    /// `v1`, or `group/version`.
    pub api_version: &'a str,
    /// `VulnerabilityReport`
    pub kind: &'a str,
    /// The object's namespace.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
}

/// A JSON document from the host, not yet read.
#[derive(Debug, Clone)]
pub struct Document(pub Vec<u8>);

impl Document {
    /// Reads the document as what it should be.
    ///
    /// # Errors
    /// [`HostFailure::Malformed`] when it is something else; of what it is the failure repeats nothing.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, HostFailure> {
        json::from_json(&self.0)
            .map_err(|error| HostFailure::Malformed(format!("its answer can't be read: {}", unreadable(&error))))
    }
}

/// Why the host says that nobody who was asked for signed an artifact: as much as its answer tells. Of several answers about one
/// artifact, the first of these tells the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untrusted {
    /// It found signatures, of others; or without what was asked for beside who signed.
    SignedByOthers,
    /// It found no signature.
    Unsigned,
    /// It found signatures, and none that is of this digest and can be read.
    NoneOfThisDigest,
    /// The certificate that was asked for has expired.
    CertificateExpired,
    /// It doesn't say.
    Unsaid,
}

/// Why the host has no answer. The texts are one line: about the cluster the host's own, about registries never.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostFailure {
    /// It looked, and there is no such thing.
    NotFound(String),
    /// The policy may not read this kind of the cluster.
    NotGranted(String),
    /// The policy may not make this call.
    Withheld(Capability),
    /// Nobody who was asked for signed it.
    NotTrusted(Untrusted),
    /// The registry denies access to whoever asks, and may answer others: it is about credentials.
    Denied(String),
    /// The registry doesn't answer this question, with whatever credentials.
    Refused(Refusal, String),
    /// The registry limits how many requests it answers.
    TooManyRequests(String),
    /// It looked, and what is there makes no sense: whoever pushed it chose what it is.
    Malformed(String),
    /// It could not look.
    Failed(String),
}

impl HostFailure {
    /// Whether the host could not ask, which may go away by itself. What isn't there, isn't signed, can't be read or may not be
    /// asked for is no outage: whoever writes a Pod can name such a thing at will.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Failed(_) | Self::TooManyRequests(_) => true,
            Self::NotFound(_)
            | Self::NotGranted(_)
            | Self::Withheld(_)
            | Self::NotTrusted(_)
            | Self::Denied(_)
            | Self::Refused(..)
            | Self::Malformed(_) => false,
        }
    }
}

impl From<UnreadableManifest> for HostFailure {
    fn from(why: UnreadableManifest) -> Self {
        Self::Malformed(format!("its answer {why}"))
    }
}

impl std::error::Error for HostFailure {}

impl fmt::Display for HostFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(text)
            | Self::NotGranted(text)
            | Self::Denied(text)
            | Self::Refused(_, text)
            | Self::TooManyRequests(text)
            | Self::Malformed(text)
            | Self::Failed(text) => f.write_str(text),
            Self::Withheld(capability) => write!(f, "{capability}"),
            Self::NotTrusted(_) => f.write_str("nobody who was asked for signed it"),
        }
    }
}
