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
//! An answer isn't trusted because of how it was requested: its reader matches it again. This crate never decides, and in
//! the module only it knows the names of calls.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

pub mod cluster;
mod counted;
mod mirrored;
mod registry_failure;
mod wire;
mod withheld;

use image_admission_image::manifest::{Manifest, UnreadableManifest};
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

/// A host that answers calls about registries and the cluster.
pub trait Host {
    /// The current digest of a reference with a tag; for a multi-platform image, that of the index.
    ///
    /// # Errors
    /// The image can't be found, or the call failed.
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure>;

    /// The same digest from the image's own registry, even if a mirror is asked instead of it. Without mirrors it is the same call.
    ///
    /// # Errors
    /// As for [`Host::manifest_digest`].
    fn digest_at_registry(&self, image: &str) -> Result<String, HostFailure> {
        self.manifest_digest(image)
    }

    /// The manifest or the index of an image. The answer is checked only for an `image` of the form
    /// `repository@digest`. [`is_proven`] tells whether it shows all of the document.
    ///
    /// # Errors
    /// The image can't be found, or the call failed.
    fn manifest(&self, image: &str) -> Result<Document, HostFailure>;

    /// One object of the cluster, read now (or a few seconds ago). Outside of `metadata` it has only the fields that
    /// `fields` names (dotted paths; lists are passed through).
    ///
    /// # Errors
    /// The object doesn't exist, the policy was not granted its kind, or the call failed.
    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure>;

    /// One object of the cluster with all of its fields, read now (or a few seconds ago).
    ///
    /// # Errors
    /// As for [`Host::get_resource`].
    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure>;

    /// All objects of a kind in a namespace, as the host last saw them, in any order. They may have changed since. The
    /// first list of a kind that can't be listed never returns. So a [`Host::get_resource`] of the same kind and
    /// namespace must have answered before.
    ///
    /// # Errors
    /// The policy was not granted the kind, or the call failed.
    fn list_resources(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure>;

    /// All objects of a kind in all namespaces, or of a kind without namespaces; whole objects, in any order. As for
    /// [`Host::list_resources`], a GET must have answered before.
    ///
    /// # Errors
    /// The policy was not granted the kind, or the call failed.
    fn list_all_resources(&self, api_version: &str, kind: &str) -> Result<Document, HostFailure>;

    /// An artifact: its manifest's digest and subject, and its configuration as any JSON. The answer is checked only
    /// for an `image` of the form `repository@digest`.
    ///
    /// # Errors
    /// The artifact can't be found, the call failed, or the answer is no artifact.
    fn artifact(&self, image: &str) -> Result<Document, HostFailure>;

    /// Verifies that an identity signed an image or artifact, `repository@digest`, with a signature that has the annotations. The
    /// answer is the signed digest.
    ///
    /// # Errors
    /// [`HostFailure::NotTrusted`] when it wasn't signed, any other when that can't be told. A key from the cluster
    /// must have been read before: the host takes only keys.
    fn verify(
        &self,
        image: &str,
        identity: &Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<String, HostFailure>;

    /// Whether a user may do something now, according to the cluster's authorizers.
    ///
    /// # Errors
    /// The call failed, or the answer can't be read.
    fn may(&self, review: &AccessReview<'_>) -> Result<bool, HostFailure>;

    /// Whether so many more calls may be made. This default has no limit.
    fn has_room_for(&self, calls: usize) -> bool {
        let _ = calls;
        true
    }

    /// Counts bytes that are to be hashed for the proof of a manifest, and tells whether so many may be. This default has no limit.
    fn may_hash(&self, bytes: usize) -> bool {
        let _ = bytes;
        true
    }
}

/// Whether a manifest is all that the document with this digest says, as far as the request has room to hash its spellings.
pub fn is_proven(host: &dyn Host, manifest: &Manifest<'_>, digest: &str) -> bool {
    manifest.is_proven(digest, &|bytes| host.may_hash(bytes))
}

/// A request to the cluster's authorizers: a SubjectAccessReview.
#[derive(Debug, Clone, Copy)]
pub struct AccessReview<'a> {
    /// The user's name, as the API server knows it.
    pub user: &'a str,
    /// Their groups.
    pub groups: &'a [String],
    /// The verb, `use`.
    pub verb: &'a str,
    /// The resource.
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

/// A JSON document from the host, not yet parsed.
#[derive(Debug, Clone)]
pub struct Document(pub Vec<u8>);

impl Document {
    /// Parses the document as a type.
    ///
    /// # Errors
    /// [`HostFailure::Malformed`] when it has another type. The failure repeats nothing of the document.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, HostFailure> {
        json::from_json(&self.0)
            .map_err(|error| HostFailure::Malformed(format!("its answer can't be read: {}", unreadable(&error))))
    }
}

/// Why no requested identity signed an artifact, as far as the host's answer tells. The variants are sorted: of several answers
/// about one artifact, the first tells the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Untrusted {
    /// It found signatures, but of other identities, or without the requested annotations.
    SignedByOthers,
    /// It found no signature.
    Unsigned,
    /// It found signatures, but none of this digest that can be read.
    NoneOfThisDigest,
    /// The requested certificate has expired.
    CertificateExpired,
    /// It doesn't say.
    Unsaid,
}

/// Why the host has no answer. The texts are one line. Those about the cluster may be the host's own; those about registries never
/// are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostFailure {
    /// It doesn't exist.
    NotFound(String),
    /// The policy may not read this kind in the cluster.
    NotGranted(String),
    /// The policy may not make this call.
    Withheld(Capability),
    /// No requested identity signed it.
    NotTrusted(Untrusted),
    /// The registry denies access with these credentials, and may answer with others.
    Denied(String),
    /// The registry refuses this request, with any credentials.
    Refused(Refusal, String),
    /// The registry limits how many requests it answers.
    TooManyRequests(String),
    /// What is there makes no sense. Its pusher chose the content.
    Malformed(String),
    /// The host could not look it up.
    Failed(String),
}

impl HostFailure {
    /// Whether the host could not look it up, which may end by itself. Something that doesn't exist, isn't signed, can't be read or
    /// isn't allowed is no outage: a Pod author can name such a thing at will.
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
