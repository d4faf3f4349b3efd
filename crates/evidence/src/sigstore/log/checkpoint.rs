//! Checkpoints: a log's signed statement of how large its tree is, and of the tree's root ([C2SP tlog-checkpoint][checkpoint], a
//! [signed note][note]).
//!
//! ```text
//! rekor.sigstore.dev - 2605736670972794746      origin; Rekor v2's is the log's name alone
//! 23083062                                      size of the tree
//! dauhleYK4YyAdxwwDtR0l0KnSOWZdG2bwqHftlanvcI=  root of the tree
//!                                               lines of extensions may follow, then an empty line
//! — rekor.sigstore.dev wNI9ajBFAiBxaGyE…        name, and base64 of 4 bytes that hint at the key, and the signature
//! ```
//!
//! Anybody may add a line with a signature: witnesses do. Those that hint at another key are passed over.
//!
//! [checkpoint]: https://c2sp.org/tlog-checkpoint
//! [note]: https://c2sp.org/signed-note

use std::fmt;

use base64::Engine as _;

use crate::dsse::BASE64_STANDARD;
use crate::key::Message;
use crate::sigstore::trust_root::Log;

/// The most bytes of a checkpoint. With its witnesses, one has less than 2 KiB.
const MAX_CHECKPOINT_BYTES: usize = 16 * 1024;

/// The most lines with signatures.
const MAX_SIGNATURES: usize = 32;

/// A tree as its log signed it.
pub(super) struct Tree {
    pub(super) size: u64,
    pub(super) root: Vec<u8>,
}

/// Reads a checkpoint that was signed by this log.
pub(super) fn verify(checkpoint: &str, log: &Log) -> Result<Tree, CheckpointError> {
    if checkpoint.len() > MAX_CHECKPOINT_BYTES {
        return Err(CheckpointError::TooLarge);
    }
    let (text, signatures) = checkpoint.split_once("\n\n").ok_or(CheckpointError::Malformed)?;
    let mut lines = text.split('\n');
    let origin = lines.next().filter(|origin| !origin.is_empty()).ok_or(CheckpointError::Malformed)?;
    let size = lines.next().and_then(number).ok_or(CheckpointError::Malformed)?;
    let root = lines.next().and_then(|line| BASE64_STANDARD.decode(line).ok()).filter(|root| root.len() == 32);
    let root = root.ok_or(CheckpointError::Malformed)?;

    let signatures = signatures.strip_suffix('\n').ok_or(CheckpointError::Malformed)?;
    if signatures.split('\n').count() > MAX_SIGNATURES {
        return Err(CheckpointError::TooLarge);
    }
    let message = Message::of(&[text.as_bytes(), b"\n"]);
    for line in signatures.split('\n') {
        let (name, signature) =
            line.strip_prefix("\u{2014} ").and_then(|line| line.split_once(' ')).ok_or(CheckpointError::Malformed)?;
        let bytes = BASE64_STANDARD.decode(signature).map_err(|_| CheckpointError::Malformed)?;
        let (hint, signature) = bytes.split_at_checked(4).ok_or(CheckpointError::Malformed)?;
        if !log.checkpoint_id.starts_with(hint) || !is_of(origin, name) {
            continue;
        }
        // As signed notes have it, a line of the log's name and key that isn't by that key ends it: 32 of them would cost 32 times
        // as much.
        let is_signed = log.key.verifies(&message, signature);
        return if is_signed { Ok(Tree { size, root }) } else { Err(CheckpointError::Signature) };
    }
    Err(CheckpointError::NotSigned)
}

/// Whether a checkpoint of this origin is signed under this name: it is the same, or Rekor v1's with the number of a tree.
fn is_of(origin: &str, name: &str) -> bool {
    origin == name || origin.strip_prefix(name).and_then(|rest| rest.strip_prefix(" - ")).and_then(number).is_some()
}

/// ASCII digits, without a zero before others.
fn number(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// Why a text is no checkpoint of the entry's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckpointError {
    /// It has too many bytes or signatures.
    TooLarge,
    /// A part is missing, or is of another form.
    Malformed,
    /// No signature is of the log's name and hints at its key.
    NotSigned,
    /// The signature that hints at the log's key wasn't made with it.
    Signature,
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLarge => "the log entry's `checkpoint` is too large; keep 32 signatures and 16 KiB at most",
            Self::Malformed => {
                "the log entry's `checkpoint` is no checkpoint with origin, size, root and signatures; the bundle was \
                 changed"
            }
            Self::NotSigned => {
                "the log entry's `checkpoint` has no signature of its log; the bundle was changed, or the trust root \
                 has another key of the log"
            }
            Self::Signature => "the log's key didn't sign the entry's `checkpoint`; the bundle was changed",
        })
    }
}

impl std::error::Error for CheckpointError {}
