//! Proofs that an entry is in a log's tree ([RFC 6962, section 2.1][tree]).
//!
//! [tree]: https://www.rfc-editor.org/rfc/rfc6962#section-2.1

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::sigstore::log::Proof;

/// The most hashes of a proof: a tree of 2^63 entries is no higher.
pub(in crate::sigstore) const MAX_HASHES: usize = 64;

/// Computes the tree's root from the entry and the hashes beside its way up, and compares it with the proof's ([RFC 9162, section
/// 2.1.3.2][algorithm]).
///
/// [algorithm]: https://www.rfc-editor.org/rfc/rfc9162#section-2.1.3.2
pub(super) fn verify(proof: &Proof, entry: &[u8]) -> Result<(), ProofError> {
    if proof.index >= proof.size {
        return Err(ProofError::Index { index: proof.index, size: proof.size });
    }
    let mut node = proof.index;
    let mut last = proof.size - 1;
    let mut hash: [u8; 32] = Sha256::new().chain_update([0]).chain_update(entry).finalize().into();
    for sibling in &proof.hashes {
        if last == 0 {
            return Err(ProofError::Length);
        }
        if !node.is_multiple_of(2) || node == last {
            hash = parent(sibling, &hash);
            // The last node of a level without a sibling is passed on as it is.
            while node != 0 && node.is_multiple_of(2) {
                node /= 2;
                last /= 2;
            }
        } else {
            hash = parent(&hash, sibling);
        }
        node /= 2;
        last /= 2;
    }
    if last != 0 {
        return Err(ProofError::Length);
    }
    if hash == proof.root.as_slice() { Ok(()) } else { Err(ProofError::Root) }
}

fn parent(left: &[u8], right: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// Why a proof doesn't show that an entry is in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProofError {
    /// The entry's number is not in the tree.
    Index {
        /// The entry's number.
        index: u64,
        /// How many entries the tree has.
        size: u64,
    },
    /// There are too few hashes or too many for an entry of this number.
    Length,
    /// The entry and the hashes lead to another root.
    Root,
}

impl fmt::Display for ProofError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index { index, size } => write!(
                formatter,
                "the log entry's `inclusionProof` is for entry `{index}` of a tree with `{size}` entries; the bundle \
                 was changed"
            ),
            Self::Length => formatter
                .write_str("the log entry's `inclusionProof` has too few hashes or too many; the bundle was changed"),
            Self::Root => {
                formatter.write_str("the log entry is not in the tree that its log signed; the bundle was changed")
            }
        }
    }
}

impl std::error::Error for ProofError {}
