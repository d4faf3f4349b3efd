//! Entries of a transparency log: that the log has a signature, and when it promised to have it.
//!
//! Rekor v1 signs a promise, which proves the time of an entry, and later a checkpoint of its whole tree. Rekor v2 signs checkpoints
//! only, so its entries prove no time. Either way the entry's body must be about the bundle's signature, its signer and what was
//! signed: an entry of something else is no entry.

mod body;
mod checkpoint;
mod proof;

use std::fmt;

use base64::Engine as _;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;

pub(super) use body::{Content, Signer};
pub(super) use proof::MAX_HASHES;

use crate::certificate::hex;
use crate::dsse::BASE64_STANDARD;
use crate::key::Message;
use crate::sigstore::trust_root::Log;

pub use body::BodyError;
pub use checkpoint::CheckpointError;
pub use proof::ProofError;

/// An entry as a bundle brings it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) index: u64,
    pub(super) log_id: Vec<u8>,
    pub(super) kind: String,
    pub(super) version: String,
    /// When the log says that it took the entry. The promise proves it.
    pub(super) integrated_time: Option<u64>,
    pub(super) promise: Option<Vec<u8>>,
    pub(super) proof: Option<Proof>,
    pub(super) body: Vec<u8>,
}

/// That an entry is in a tree, and the tree's size and root as the log signed them.
#[derive(Clone, Debug)]
pub(super) struct Proof {
    pub(super) index: u64,
    pub(super) size: u64,
    pub(super) root: Vec<u8>,
    pub(super) hashes: Vec<Vec<u8>>,
    /// None in bundles of version 0.1 that were written before logs signed any.
    pub(super) checkpoint: Option<String>,
}

/// What a bundle of some version must have of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Required {
    Promise,
    Proof,
}

impl Entry {
    /// Verifies the entry by its log's key, and compares it with the bundle's signature. What it has is verified, whether it is
    /// required or not. Gives the time if the log promised it.
    pub(super) fn verify(
        &self,
        log: &Log,
        required: Required,
        signer: Signer<'_>,
        content: Content<'_>,
    ) -> Result<Option<Timestamp>, EntryError> {
        match required {
            Required::Promise if self.promise.is_none() => return Err(EntryError::NoPromise),
            Required::Proof if self.proof.is_none() => return Err(EntryError::NoProof),
            Required::Promise | Required::Proof => {}
        }
        let time = self.promise.as_deref().map(|promise| self.verify_promise(log, promise)).transpose()?;
        if let Some(proof) = &self.proof {
            let checkpoint = proof.checkpoint.as_deref().ok_or(EntryError::NoCheckpoint)?;
            let tree = checkpoint::verify(checkpoint, log)?;
            if (proof.size, proof.root.as_slice()) != (tree.size, tree.root.as_slice()) {
                return Err(EntryError::OtherTree);
            }
            proof::verify(proof, &self.body)?;
        }
        body::compare(self, signer, content)?;
        Ok(time)
    }

    fn verify_promise(&self, log: &Log, promise: &[u8]) -> Result<Timestamp, EntryError> {
        let seconds = self.integrated_time.ok_or(EntryError::NoTime)?;
        let time = Timestamp(i64::try_from(seconds).map_err(|_| EntryError::NoTime)?);
        if !log.validity.contains(time) {
            return Err(EntryError::LogNotValid(time));
        }
        // RFC 8785 of these four fields: their names in order, and no white space. No value needs an escape.
        let signed = format!(
            r#"{{"body":"{}","integratedTime":{seconds},"logID":"{}","logIndex":{}}}"#,
            BASE64_STANDARD.encode(&self.body),
            hex(&self.log_id),
            self.index
        );
        if log.key.verifies(&Message::of(&[signed.as_bytes()]), promise) { Ok(time) } else { Err(EntryError::Promise) }
    }
}

/// Why an entry doesn't prove that its log has the bundle's signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryError {
    /// A bundle of version 0.1 without a promise.
    NoPromise,
    /// A bundle of version 0.2 or later without a proof of inclusion.
    NoProof,
    /// There is a proof of inclusion, but the log signed no tree.
    NoCheckpoint,
    /// There is a promise, but not its time.
    NoTime,
    /// The log's key didn't sign the promise.
    Promise,
    /// The log isn't trusted at this time.
    LogNotValid(Timestamp),
    /// The log's signed tree can't be used.
    Checkpoint(CheckpointError),
    /// The proof of inclusion is for another tree than the log signed.
    OtherTree,
    /// The entry isn't in the tree.
    Proof(ProofError),
    /// The entry is about something else.
    Body(BodyError),
}

impl From<CheckpointError> for EntryError {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(error)
    }
}

impl From<ProofError> for EntryError {
    fn from(error: ProofError) -> Self {
        Self::Proof(error)
    }
}

impl From<BodyError> for EntryError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl fmt::Display for EntryError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPromise => {
                formatter.write_str("the log entry has no `inclusionPromise`; bundles of version 0.1 need it")
            }
            Self::NoProof => {
                formatter.write_str("the log entry has no `inclusionProof`; bundles since version 0.2 need it")
            }
            Self::NoCheckpoint => formatter
                .write_str("the log entry's `inclusionProof` has no `checkpoint`; sign again with a newer tool"),
            Self::NoTime => {
                formatter.write_str("the log entry has an `inclusionPromise` without `integratedTime`; sign again")
            }
            Self::Promise => formatter.write_str(
                "the log's key didn't sign the entry's `inclusionPromise`; the bundle was changed, or the trust root \
                 has another key of the log",
            ),
            Self::LogNotValid(time) => write!(
                formatter,
                "the trust root doesn't trust the log at `{time}`; update the trust root, or sign again"
            ),
            Self::Checkpoint(error) => error.fmt(formatter),
            Self::OtherTree => formatter.write_str(
                "the log entry's `inclusionProof` is for another tree than its `checkpoint`; the bundle was changed",
            ),
            Self::Proof(error) => error.fmt(formatter),
            Self::Body(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for EntryError {}

/// A log's identifier in messages.
pub(super) fn shown(log_id: &[u8]) -> String {
    cut(&hex(log_id), 64)
}

#[cfg(test)]
pub(super) mod tests;
