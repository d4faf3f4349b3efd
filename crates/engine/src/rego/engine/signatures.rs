//! Signatures of tokens: the algorithms of [RFC 7518] and [RFC 8037], with the keys that belong to them.
//!
//! The key says which algorithm it is for: none verifies a signature of another kind, whatever a token's header says.
//!
//! [RFC 7518]: https://www.rfc-editor.org/rfc/rfc7518#section-3
//! [RFC 8037]: https://www.rfc-editor.org/rfc/rfc8037#section-3.1

use super::keys::{Key, Private, Public};
use super::rsa::{Hash, Salt};
use super::unanswered::Unanswered;
use ed25519_dalek::Signer as _;
use ed25519_dalek::ed25519::signature::Verifier as _;
use hmac::{Hmac, KeyInit, Mac};
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use sha2::{Sha256, Sha384, Sha512};

/// An algorithm of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Hmac(Hash),
    /// RSA by PKCS #1 v1.5.
    Rsa(Hash),
    /// RSA by PSS.
    RsaPss(Hash),
    /// ECDSA, on whichever curve the key is.
    Elliptic(Hash),
    Ed25519,
}

impl Algorithm {
    /// The algorithm of a name: `RS256`.
    pub(super) fn named(name: &str) -> Option<Self> {
        let family = match name.split_at_checked(2)? {
            ("HS", _) => Self::Hmac,
            ("RS", _) => Self::Rsa,
            ("PS", _) => Self::RsaPss,
            ("ES", _) => Self::Elliptic,
            ("Ed", "DSA" | "25519") => return Some(Self::Ed25519),
            _ => return None,
        };
        match name.split_at_checked(2)?.1 {
            "256" => Some(family(Hash::Sha256)),
            "384" => Some(family(Hash::Sha384)),
            "512" => Some(family(Hash::Sha512)),
            _ => None,
        }
    }
}

/// How a signature is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// As `io.jwt.verify_…` reads it: of ECDSA both halves of any length, of PSS any salt, and by no private key.
    Loose,
    /// As `io.jwt.decode_verify` reads it, and RFC 7518.
    Exact,
}

impl Key {
    /// Whether it is this key's signature of the message.
    pub(super) fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8], reading: Reading) -> bool {
        if reading == Reading::Loose && self.private.is_some() {
            return false;
        }
        match (algorithm, &self.public) {
            (Algorithm::Hmac(hash), Public::Secret(secret)) => is_code(hash, secret, message, signature),
            (Algorithm::Rsa(hash), Public::Rsa(key)) => key.verifies(hash, &hash.of(&[message]), signature),
            (Algorithm::RsaPss(hash), Public::Rsa(key)) => {
                let salt = if reading == Reading::Loose { Salt::Any } else { Salt::OfDigest };
                key.verifies_pss(hash, &hash.of(&[message]), signature, salt)
            }
            (Algorithm::Elliptic(hash), Public::P256(key)) => {
                let signature =
                    halves(signature, 32, reading).and_then(|both| p256::ecdsa::Signature::from_slice(&both).ok());
                signature.is_some_and(|signature| key.verify_prehash(&widened(hash, message, 32), &signature).is_ok())
            }
            (Algorithm::Elliptic(hash), Public::P384(key)) => {
                let signature =
                    halves(signature, 48, reading).and_then(|both| p384::ecdsa::Signature::from_slice(&both).ok());
                signature.is_some_and(|signature| key.verify_prehash(&widened(hash, message, 48), &signature).is_ok())
            }
            (Algorithm::Elliptic(hash), Public::P521(key)) => {
                let signature =
                    halves(signature, 66, reading).and_then(|both| p521::ecdsa::Signature::from_slice(&both).ok());
                signature.is_some_and(|signature| key.verify_prehash(&widened(hash, message, 66), &signature).is_ok())
            }
            (Algorithm::Ed25519, Public::Ed25519(key)) => {
                let key = ed25519_dalek::VerifyingKey::from_bytes(key).ok();
                let signature = ed25519_dalek::Signature::from_slice(signature).ok();
                key.zip(signature).is_some_and(|(key, signature)| key.verify(message, &signature).is_ok())
            }
            _ => false,
        }
    }

    /// This key's signature of a message.
    ///
    /// # Errors
    /// The key isn't for the algorithm, or its signatures are made by chance, which isn't done here.
    pub(super) fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Result<Vec<u8>, Unanswered> {
        match (algorithm, &self.public, &self.private) {
            (Algorithm::Hmac(hash), Public::Secret(secret), _) => {
                code(hash, secret, message).ok_or(Unanswered::Undefined)
            }
            (Algorithm::Rsa(hash), _, Some(Private::Rsa(key))) => key.sign(hash, &hash.of(&[message])),
            (Algorithm::Ed25519, _, Some(Private::Ed25519(seed))) => {
                Ok(ed25519_dalek::SigningKey::from_bytes(seed).sign(message).to_bytes().to_vec())
            }
            // OPA takes its bytes for the secret, even those of the public half, which everybody knows.
            (Algorithm::Hmac(_), Public::Ed25519(_), _) => Err(Unanswered::Refused(
                "signing by HS… with a key of Ed25519, which is no secret: use one of the type `oct`".to_owned(),
            )),
            (Algorithm::RsaPss(_) | Algorithm::Elliptic(_), _, Some(_)) => Err(Unanswered::Refused(
                "signing by PS… or ES…, whose signatures are made by chance: use `EdDSA`, `RS256` or `HS256`"
                    .to_owned(),
            )),
            _ => Err(Unanswered::Undefined),
        }
    }
}

/// Whether it is the code of the message, in a time that doesn't tell how much of it is right.
pub(super) fn is_code(hash: Hash, secret: &[u8], message: &[u8], code: &[u8]) -> bool {
    fn is<M: Mac + KeyInit>(secret: &[u8], message: &[u8], code: &[u8]) -> bool {
        <M as KeyInit>::new_from_slice(secret).is_ok_and(|mac| mac.chain_update(message).verify_slice(code).is_ok())
    }
    match hash {
        Hash::Sha256 => is::<Hmac<Sha256>>(secret, message, code),
        Hash::Sha384 => is::<Hmac<Sha384>>(secret, message, code),
        Hash::Sha512 => is::<Hmac<Sha512>>(secret, message, code),
    }
}

fn code(hash: Hash, secret: &[u8], message: &[u8]) -> Option<Vec<u8>> {
    fn of<M: Mac + KeyInit>(secret: &[u8], message: &[u8]) -> Option<Vec<u8>> {
        let mac = <M as KeyInit>::new_from_slice(secret).ok()?;
        Some(mac.chain_update(message).finalize().into_bytes().to_vec())
    }
    match hash {
        Hash::Sha256 => of::<Hmac<Sha256>>(secret, message),
        Hash::Sha384 => of::<Hmac<Sha384>>(secret, message),
        Hash::Sha512 => of::<Hmac<Sha512>>(secret, message),
    }
}

/// Both numbers of an ECDSA signature, each of the curve's size in bytes.
fn halves(signature: &[u8], size: usize, reading: Reading) -> Option<Vec<u8>> {
    let (one, other) = signature.split_at_checked(signature.len() / 2)?;
    if reading == Reading::Exact && signature.len() != 2 * size {
        return None;
    }
    let mut both = vec![0; 2 * size];
    let (first, second) = both.split_at_mut_checked(size)?;
    for (number, place) in [(one, first), (other, second)] {
        let zeros = number.iter().take_while(|byte| **byte == 0).count();
        let number = number.get(zeros..)?;
        place.get_mut(size.checked_sub(number.len())?..)?.copy_from_slice(number);
    }
    Some(both)
}

/// The digest as the curve takes it: it wants no number that is much shorter than its own.
fn widened(hash: Hash, message: &[u8], size: usize) -> Vec<u8> {
    let digest = hash.of(&[message]);
    let mut wide = vec![0; size.saturating_sub(digest.len())];
    wide.extend(digest);
    wide
}
