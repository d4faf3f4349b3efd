//! Which document an entry of a list of images stands for, and whether its digest is that document's.
//!
//! A registry's digest is the hash of the bytes that somebody pushed. A list has no bytes: an entry that says what its image
//! is stands for what the host would say of it, as OCI's tools write that: compact, its keys in the order of OCI's types, no
//! line break at the end. The digest that it has in the spelling of another tool is its digest, too. Where `manifest` is a
//! text, it stands for exactly that text. An entry with no more than a digest stands for no document, and neither do the
//! images of platforms that have no entry of their own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::super::manifest::{self, IndexEntry, Manifest, Platform};

/// What an entry says of its digest.
#[derive(Clone, Debug)]
pub struct Document {
    /// The image, in the list's words.
    pub image: String,
    /// The digest that the list gives it.
    pub digest: String,
    /// The digest of the document that it stands for.
    pub own_digest: String,
    /// The digests that the document names.
    pub names: BTreeSet<String>,
    /// Whether it is an index: what says which image runs on which platform.
    pub is_index: bool,
    is_proven: bool,
}

impl Document {
    /// The document of an entry: `text` is its very bytes, where the list has these.
    pub(super) fn of(image: &str, digest: &str, manifest: &Manifest, text: Option<&str>) -> Self {
        let own_digest = match text {
            Some(text) => sha256(text.as_bytes()),
            None => sha256(&written(manifest)),
        };
        let is_proven = match text {
            Some(_) => own_digest == digest,
            None => is_proven(digest, manifest),
        };
        let names = match manifest {
            Manifest::Index(index) => index.manifests.iter().map(|entry| entry.digest.clone()).collect(),
            Manifest::Image(image) => {
                let below = image.layers.iter().chain([&image.config]).chain(&image.subject);
                below.map(|descriptor| descriptor.digest.clone()).collect()
            }
        };
        let is_index = matches!(manifest, Manifest::Index(_));
        Self { image: image.to_owned(), digest: digest.to_owned(), own_digest, names, is_index, is_proven }
    }

    /// Whether the digest is that of the document, in a spelling that people's tools have.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        self.is_proven
    }
}

/// Whether a digest is that of what the host says, as the policy sees it. What is no manifest to the policy proves nothing.
fn is_proven(digest: &str, manifest: &Manifest) -> bool {
    let answer = serde_json::to_vec(manifest).unwrap_or_default();
    image_admission_image::manifest::Manifest::read(&answer).is_ok_and(|shown| shown.is_proven(digest, &|_| true))
}

/// The document as OCI's tools write it.
fn written(manifest: &Manifest) -> Vec<u8> {
    let document = match manifest {
        Manifest::Image(image) => Written {
            schema_version: image.schema_version,
            media_type: image.media_type.as_deref(),
            artifact_type: image.artifact_type.as_deref(),
            config: Some((&image.config).into()),
            layers: Some(image.layers.iter().map(Descriptor::from).collect()),
            manifests: None,
            subject: image.subject.as_ref().map(Descriptor::from),
            annotations: image.annotations.as_ref(),
        },
        Manifest::Index(index) => Written {
            schema_version: index.schema_version,
            media_type: index.media_type.as_deref(),
            artifact_type: index.artifact_type.as_deref(),
            config: None,
            layers: None,
            manifests: Some(index.manifests.iter().map(Descriptor::from).collect()),
            subject: None,
            annotations: index.annotations.as_ref(),
        },
    };
    // Nothing in it can fail to be JSON; were it so, no digest would be proven.
    serde_json::to_vec(&document).unwrap_or_default()
}

/// A manifest or an index, with its keys in the order of OCI's types. The client's own types have another one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    schema_version: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Descriptor<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layers: Option<Vec<Descriptor<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifests: Option<Vec<Descriptor<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<Descriptor<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a BTreeMap<String, String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor<'a> {
    media_type: &'a str,
    digest: &'a str,
    size: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    urls: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<&'a BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<&'a Platform>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
}

impl<'a> From<&'a manifest::Descriptor> for Descriptor<'a> {
    fn from(descriptor: &'a manifest::Descriptor) -> Self {
        Self {
            media_type: &descriptor.media_type,
            digest: &descriptor.digest,
            size: descriptor.size,
            urls: descriptor.urls.as_deref(),
            annotations: descriptor.annotations.as_ref(),
            platform: None,
            artifact_type: descriptor.artifact_type.as_deref(),
        }
    }
}

impl<'a> From<&'a IndexEntry> for Descriptor<'a> {
    fn from(entry: &'a IndexEntry) -> Self {
        Self {
            media_type: &entry.media_type,
            digest: &entry.digest,
            size: entry.size,
            urls: None,
            annotations: entry.annotations.as_ref(),
            platform: entry.platform.as_ref(),
            artifact_type: entry.artifact_type.as_deref(),
        }
    }
}

/// The digest of these bytes.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
