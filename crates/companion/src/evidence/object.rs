//! The objects with evidence: what is read of one, and what is written.

use super::{IMAGE_EVIDENCE, after};
use crate::workload::{COMPANION, MANAGED_BY};
use data_encoding::{BASE64, HEXLOWER};
use image_admission_image::is_digest;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;

/// The annotation with the hash of the pieces: objects are watched without them.
const HASH: &str = "image-admission.kubewarden.io/evidence-hash";
/// The annotation with the number of their bytes.
const BYTES: &str = "image-admission.kubewarden.io/evidence-bytes";

/// A piece of evidence, as the tool wrote it that made it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NewPiece {
    /// Its media type.
    pub media_type: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// An object in the cluster, without its pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownObject {
    /// The digest that its name says.
    pub digest: String,
    /// Its identity.
    pub uid: String,
    pub(super) created: Timestamp,
    pub(super) is_ours: bool,
    /// Whether somebody has changed it since it was created.
    pub(super) is_edited: bool,
    pub(super) hash: Option<String>,
    /// How large its pieces are. What others made says nothing of that.
    pub(super) bytes: usize,
}

impl KnownObject {
    /// Reads an object, of which the metadata is enough. None if its name is no digest.
    #[must_use]
    pub fn read(object: &Value) -> Option<Self> {
        let metadata = object.get("metadata")?;
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        let digest = text("name")?.replacen('-', ":", 1);
        let entry = |map: &str, key: &str| metadata.get(map)?.get(key)?.as_str().map(str::to_owned);
        is_digest(&digest).then_some(Self {
            digest,
            uid: text("uid")?.to_owned(),
            created: Timestamp::parse(text("creationTimestamp")?)?,
            is_ours: entry("labels", MANAGED_BY).as_deref() == Some(COMPANION),
            is_edited: metadata.get("generation").and_then(Value::as_i64).is_some_and(|generation| generation > 1),
            hash: entry("annotations", HASH),
            bytes: entry("annotations", BYTES).and_then(|text| text.parse().ok()).unwrap_or_default(),
        })
    }

    pub(super) fn is_old(&self, renewed_after: Option<i64>, now: Timestamp) -> bool {
        renewed_after.is_some_and(|age| after(self.created, age) <= now)
    }
}

/// The name of the object of a digest.
#[must_use]
pub fn name_of(digest: &str) -> String {
    digest.replacen(':', "-", 1)
}

pub(super) fn new_object(digest: &str, pieces: &[NewPiece], hash: &str) -> Value {
    let piece = |piece: &NewPiece| json!({"mediaType": piece.media_type, "data": BASE64.encode(&piece.bytes)});
    let annotations = json!({HASH: hash, BYTES: size(pieces).to_string()});
    json!({
        "apiVersion": IMAGE_EVIDENCE.api_version,
        "kind": IMAGE_EVIDENCE.kind,
        "metadata": {"name": name_of(digest), "labels": {MANAGED_BY: COMPANION}, "annotations": annotations},
        "spec": {"evidence": pieces.iter().map(piece).collect::<Vec<Value>>()},
    })
}

/// How many bytes pieces have.
pub(super) fn size(pieces: &[NewPiece]) -> usize {
    pieces.iter().map(|piece| piece.bytes.len()).sum()
}

/// The hash of pieces, in whatever order a registry lists them.
pub(super) fn hash(pieces: &[NewPiece]) -> String {
    let mut hash = Sha256::new();
    for piece in pieces.iter().collect::<BTreeSet<_>>() {
        for part in [piece.media_type.as_bytes(), &piece.bytes] {
            hash.update(part.len().to_string());
            hash.update(":");
            hash.update(part);
        }
    }
    HEXLOWER.encode(&hash.finalize())
}
