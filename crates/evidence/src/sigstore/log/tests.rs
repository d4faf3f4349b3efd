//! Trees as RFC 6962 defines them, and proofs and checkpoints of them.

use sha2::{Digest as _, Sha256};

use super::*;
use crate::key::tests::{base64, ed25519_pem, ed25519_signer, key};
use crate::sigstore::trust_root::Validity;
use ed25519_dalek::Signer as _;

/// A tree, computed by the definition instead of step by step.
pub(in crate::sigstore) struct Tree<'a>(Vec<&'a [u8]>);

impl<'a> Tree<'a> {
    pub(in crate::sigstore) fn of(entries: &[&'a [u8]]) -> Self {
        Self(entries.to_vec())
    }

    pub(in crate::sigstore) fn root(&self) -> [u8; 32] {
        root(&self.0)
    }

    pub(in crate::sigstore) fn proof(&self, index: usize) -> Vec<[u8; 32]> {
        path(&self.0, index)
    }
}

/// The largest power of two below a number.
fn half(entries: usize) -> usize {
    entries.next_power_of_two() / 2
}

fn root(entries: &[&[u8]]) -> [u8; 32] {
    let hash = Sha256::new();
    match entries {
        [] => hash.finalize().into(),
        [entry] => hash.chain_update([0]).chain_update(entry).finalize().into(),
        _ => {
            let (left, right) = entries.split_at(half(entries.len()));
            hash.chain_update([1]).chain_update(root(left)).chain_update(root(right)).finalize().into()
        }
    }
}

fn path(entries: &[&[u8]], index: usize) -> Vec<[u8; 32]> {
    if entries.len() < 2 {
        return Vec::new();
    }
    let middle = half(entries.len());
    let (left, right) = entries.split_at(middle);
    let (mut below, beside) =
        if index < middle { (path(left, index), root(right)) } else { (path(right, index - middle), root(left)) };
    below.push(beside);
    below
}

#[test]
fn an_entry_is_in_its_tree_and_in_no_other() {
    let numbers: Vec<[u8; 1]> = (0..70).map(|number| [number]).collect();
    for size in 1..=numbers.len() {
        let entries: Vec<&[u8]> = numbers[..size].iter().map(<[u8; 1]>::as_slice).collect();
        let tree = Tree::of(&entries);
        for (index, entry) in entries.iter().enumerate() {
            let proof = Proof {
                index: index as u64,
                size: size as u64,
                root: tree.root().to_vec(),
                hashes: tree.proof(index).iter().map(|hash| hash.to_vec()).collect(),
                checkpoint: None,
            };
            let verify = |proof: &Proof| proof::verify(proof, entry);
            assert_eq!(verify(&proof), Ok(()), "{index} of {size}");
            assert_eq!(proof::verify(&proof, b"other"), Err(ProofError::Root));
            let longer = Proof { hashes: [proof.hashes.clone(), vec![vec![0; 32]]].concat(), ..proof.clone() };
            assert_eq!(verify(&longer), Err(ProofError::Length));
            for at in 0..proof.hashes.len() {
                let mut changed = proof.clone();
                changed.hashes[at][0] ^= 1;
                assert_eq!(verify(&changed), Err(ProofError::Root), "{index} of {size}, hash {at}");
                let mut shorter = proof.clone();
                shorter.hashes.remove(at);
                assert!(verify(&shorter).is_err(), "{index} of {size}, without hash {at}");
            }
            let outside = Proof { index: size as u64, ..proof.clone() };
            assert_eq!(verify(&outside), Err(ProofError::Index { index: size as u64, size: size as u64 }));
        }
    }
    let none = Proof { index: 0, size: 0, root: Vec::new(), hashes: Vec::new(), checkpoint: None };
    assert_eq!(proof::verify(&none, b""), Err(ProofError::Index { index: 0, size: 0 }));
}

const NAME: &str = "log.example.com";
const HINT: [u8; 4] = [1, 2, 3, 4];

fn log() -> Log {
    let always = Validity { from: None, until: None };
    Log {
        id: b"id".to_vec(),
        checkpoint_id: [&HINT[..], b"and more"].concat(),
        key: key(&ed25519_pem(1)),
        validity: always,
        operator: String::new(),
    }
}

fn line(name: &str, hint: [u8; 4], signature: &[u8]) -> String {
    format!("\u{2014} {name} {}\n", base64([&hint, signature].concat()))
}

#[test]
fn a_checkpoint_is_what_its_log_signed() {
    let root = base64([7; 32]);
    let text = format!("{NAME}\n736\n{root}\n");
    let signed = |text: &str| line(NAME, HINT, &ed25519_signer(1).sign(text.as_bytes()).to_bytes());
    let whole = |text: &str| format!("{text}\n{}", signed(text));
    let of_other = line(NAME, [9, 9, 9, 9], &[0; 64]);
    let of_witness = line("witness", HINT, &[0; 64]);
    let wrong = line(NAME, HINT, &[0; 64]);
    let extended = format!("{text}Timestamp: 1\n");
    for good in [
        whole(&text),
        whole(&extended),
        whole(&text.replace(NAME, "log.example.com - 12345")),
        format!("{}{of_other}{of_witness}", whole(&text)),
        format!("{text}\n{of_other}{of_witness}{}", signed(&text)),
    ] {
        let tree = checkpoint::verify(&good, &log()).unwrap_or_else(|error| panic!("{good}: {error}"));
        assert_eq!((tree.size, tree.root), (736, vec![7; 32]));
    }
    for (bad, reason) in [
        (text.clone(), CheckpointError::Malformed),
        (format!("{text}\n"), CheckpointError::Malformed),
        (whole(&format!("736\n{root}\n")), CheckpointError::Malformed),
        (whole(&format!("{NAME}\n{root}\n")), CheckpointError::Malformed),
        (whole(&format!("{NAME}\n736\n")), CheckpointError::Malformed),
        (whole(&format!("\n736\n{root}\n")), CheckpointError::Malformed),
        (whole(&format!("{NAME}\n0736\n{root}\n")), CheckpointError::Malformed),
        (whole(&format!("{NAME}\n+736\n{root}\n")), CheckpointError::Malformed),
        (whole(&format!("{NAME}\n736\n{}\n", base64([7; 31]))), CheckpointError::Malformed),
        (whole(&text).trim_end().to_owned(), CheckpointError::Malformed),
        (whole(&text).replace('\u{2014}', "-"), CheckpointError::Malformed),
        (format!("{text}\n\u{2014} {NAME} AAAA\n"), CheckpointError::Malformed),
        (whole(&text).replace('\n', "\r\n"), CheckpointError::Malformed),
        (format!("{text}\n{of_other}{of_witness}"), CheckpointError::NotSigned),
        (whole(&text.replace(NAME, "lag.example.com")), CheckpointError::NotSigned),
        (whole(&text.replace(NAME, "log.example.com - x")), CheckpointError::NotSigned),
        (whole(&text.replace(NAME, "log.example.com.example.org")), CheckpointError::NotSigned),
        (format!("{text}\n{wrong}"), CheckpointError::Signature),
        (format!("{text}\n{wrong}{}", signed(&text)), CheckpointError::Signature),
        (whole(&text).replace("736", "737"), CheckpointError::Signature),
        (format!("{extended}\n{}", signed(&text)), CheckpointError::Signature),
        (format!("{text}\n{}{}", of_other.repeat(32), signed(&text)), CheckpointError::TooLarge),
        (whole(&format!("{text}{}\n", "x".repeat(16 * 1024))), CheckpointError::TooLarge),
    ] {
        assert_eq!(checkpoint::verify(&bad, &log()).err(), Some(reason), "{bad}");
    }
}
