//! RSA as in [RFC 8017]: signatures of digests, PKCS #1 v1.5 and PSS. Which keys count is as in Go's `crypto/rsa`.
//!
//! Public keys have no secret. A private one stands in a rule, whose author knows how long a request takes; whoever must
//! not learn it from that has to sign elsewhere.
//!
//! [RFC 8017]: https://www.rfc-editor.org/rfc/rfc8017

use super::unanswered::Unanswered;
use num_bigint::BigUint;
use sha2::{Sha256, Sha384, Sha512};

/// The bits of the smallest modulus that counts, and of the largest that is calculated with.
const FEWEST_BITS: u64 = 1024;
const MOST_BITS: u64 = 8192;
/// The bits of the largest modulus that is signed with: its exponent is as long as itself.
const MOST_SIGNING_BITS: u64 = 4096;
const LARGEST_EXPONENT: u64 = (1 << 31) - 1;

/// A hash function of signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    /// The digest of parts, one after the other.
    pub(super) fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        fn digest<D: sha2::Digest>(parts: &[&[u8]]) -> Vec<u8> {
            parts.iter().fold(D::new(), D::chain_update).finalize().to_vec()
        }
        match self {
            Self::Sha256 => digest::<Sha256>(parts),
            Self::Sha384 => digest::<Sha384>(parts),
            Self::Sha512 => digest::<Sha512>(parts),
        }
    }

    fn size(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// What stands before a digest: the DER of a `DigestInfo` up to it (RFC 8017, section 9.2).
    fn prefix(self) -> [u8; 19] {
        let (whole, last, size) = match self {
            Self::Sha256 => (0x31, 1, 0x20),
            Self::Sha384 => (0x41, 2, 0x30),
            Self::Sha512 => (0x51, 3, 0x40),
        };
        [0x30, whole, 0x30, 0x0d, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, last, 5, 0, 4, size]
    }
}

/// The salt of a PSS signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Salt {
    /// As long as the digest, which RFC 7518 asks for.
    OfDigest,
    Any,
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    modulus: BigUint,
    exponent: u64,
}

impl PublicKey {
    /// # Errors
    /// The modulus is none, or larger than what is calculated with.
    pub(super) fn new(modulus: &[u8], exponent: u64) -> Result<Self, Unanswered> {
        let modulus = BigUint::from_bytes_be(modulus);
        match modulus.bits() {
            0 => Err(Unanswered::Undefined),
            bits if bits > MOST_BITS => {
                Err(Unanswered::Refused(format!("an RSA key of {bits} bits: at most {MOST_BITS}")))
            }
            _ => Ok(Self { modulus, exponent }),
        }
    }

    /// Whether signatures of this key count at all.
    fn counts(&self) -> bool {
        self.modulus.bits() >= FEWEST_BITS
            && self.modulus.bit(0)
            && self.exponent % 2 == 1
            && (3..=LARGEST_EXPONENT).contains(&self.exponent)
    }

    /// The bytes of a signature.
    fn size(&self) -> usize {
        usize::try_from(self.modulus.bits().div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// The message that a signature encodes, as long as the modulus.
    fn message(&self, signature: &[u8]) -> Option<Vec<u8>> {
        let number = BigUint::from_bytes_be(signature);
        if !self.counts() || signature.len() != self.size() || number >= self.modulus {
            return None;
        }
        Some(padded(&number.modpow(&BigUint::from(self.exponent), &self.modulus), self.size()))
    }

    /// Whether it is this key's signature of the digest, by PKCS #1 v1.5.
    pub(super) fn verifies(&self, hash: Hash, digest: &[u8], signature: &[u8]) -> bool {
        self.message(signature).is_some_and(|message| Some(message) == encoded(hash, digest, self.size()))
    }

    /// Whether it is this key's signature of the digest, by PSS.
    pub(super) fn verifies_pss(&self, hash: Hash, digest: &[u8], signature: &[u8], salt: Salt) -> bool {
        let bits = self.modulus.bits().saturating_sub(1);
        self.message(signature).is_some_and(|message| pss(hash, digest, &message, bits, salt).is_some())
    }
}

/// A private key, of two primes.
#[derive(Clone)]
pub(super) struct PrivateKey {
    pub(super) public: PublicKey,
    exponent: BigUint,
    primes: [BigUint; 2],
}

impl PrivateKey {
    /// # Errors
    /// See [`PublicKey::new`].
    pub(super) fn new(public: PublicKey, exponent: &[u8], primes: [&[u8]; 2]) -> Self {
        Self { public, exponent: BigUint::from_bytes_be(exponent), primes: primes.map(BigUint::from_bytes_be) }
    }

    /// The signature of a digest by PKCS #1 v1.5.
    ///
    /// # Errors
    /// The numbers are no key, or larger than what is signed with.
    pub(super) fn sign(&self, hash: Hash, digest: &[u8]) -> Result<Vec<u8>, Unanswered> {
        let bits = self.public.modulus.bits();
        if bits > MOST_SIGNING_BITS {
            return Err(Unanswered::Refused(format!(
                "signing with an RSA key of {bits} bits: at most {MOST_SIGNING_BITS}"
            )));
        }
        let signature = self.signature(hash, digest).ok_or(Unanswered::Undefined)?;
        // Numbers that don't belong together make no signature, as in Go.
        if self.public.verifies(hash, digest, &signature) { Ok(signature) } else { Err(Unanswered::Undefined) }
    }

    /// By the Chinese remainder theorem (RFC 8017, section 5.1.2), which takes a quarter of the time.
    fn signature(&self, hash: Hash, digest: &[u8]) -> Option<Vec<u8>> {
        let PublicKey { modulus, .. } = &self.public;
        let [p, q] = &self.primes;
        if !self.public.counts() || p * q != *modulus || !p.bit(0) || !q.bit(0) || p.bits() < 2 || q.bits() < 2 {
            return None;
        }
        let message = BigUint::from_bytes_be(&encoded(hash, digest, self.public.size())?);
        let root = |prime: &BigUint| (&message % prime).modpow(&(&self.exponent % (prime - 1_u8)), prime);
        let (of_p, of_q) = (root(p), root(q));
        let difference = (of_p + p - (&of_q % p)) % p;
        let number = difference * q.modinv(p)? % p * q + of_q;
        (number < *modulus).then(|| padded(&number, self.public.size()))
    }
}

/// Bytes of a number that is no longer than that, with zeros before it.
fn padded(number: &BigUint, size: usize) -> Vec<u8> {
    let bytes = number.to_bytes_be();
    let mut whole = vec![0; size.saturating_sub(bytes.len())];
    whole.extend(bytes);
    whole
}

/// EMSA-PKCS1-v1_5 (RFC 8017, section 9.2).
fn encoded(hash: Hash, digest: &[u8], size: usize) -> Option<Vec<u8>> {
    let prefix = hash.prefix();
    let filling = size.checked_sub(prefix.len() + digest.len() + 3).filter(|filling| *filling >= 8)?;
    let mut message = vec![0, 1];
    message.resize(2 + filling, 0xff);
    message.push(0);
    message.extend(prefix);
    message.extend(digest);
    Some(message)
}

/// EMSA-PSS (RFC 8017, section 9.1.2): something where the message encodes the digest.
fn pss(hash: Hash, digest: &[u8], message: &[u8], bits: u64, salt: Salt) -> Option<()> {
    let size = usize::try_from(bits.div_ceil(8)).ok()?;
    // The modulus may have a byte more than the message.
    let (before, message) = message.split_at_checked(message.len().checked_sub(size)?)?;
    let (rest, end) = message.split_last_chunk::<1>().map(|(rest, end)| (rest, end[0]))?;
    let (masked, code) = rest.split_at_checked(rest.len().checked_sub(hash.size())?)?;
    let unused = 0xff_u8.checked_shl(8 - u32::try_from(size as u64 * 8 - bits).ok()?).unwrap_or(0);
    if before.iter().any(|byte| *byte != 0) || end != 0xbc || masked.first()? & unused != 0 {
        return None;
    }
    let mut block: Vec<u8> =
        masked.iter().zip(mask(hash, code, masked.len())).map(|(byte, mask)| byte ^ mask).collect();
    *block.first_mut()? &= !unused;
    let zeros = block.iter().position(|byte| *byte != 0)?;
    let (mark, found) = block.get(zeros..)?.split_first()?;
    let is_long_enough = salt == Salt::Any || found.len() == hash.size();
    let is_of_digest = || hash.of(&[&[0; 8], digest, found]) == code;
    (*mark == 1 && is_long_enough && is_of_digest()).then_some(())
}

/// MGF1 (RFC 8017, appendix B.2.1).
fn mask(hash: Hash, seed: &[u8], length: usize) -> Vec<u8> {
    let blocks = (0_u32..).flat_map(|counter| hash.of(&[seed, &counter.to_be_bytes()]));
    blocks.take(length).collect()
}
