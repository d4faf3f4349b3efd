//! Public keys, and the signatures that they verify.

use std::cell::{Cell, OnceCell};
use std::fmt;

use base64::Engine as _;
use ed25519_dalek::ed25519::signature::MultipartVerifier as _;
use image_admission_untrusted::message::cut;
use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
use rsa::pss::Pss;
use rsa::{BoxedUint, Pkcs1v15Sign};
use sha2::{Sha256, Sha384, Sha512};
use spki::{AlgorithmIdentifierRef, ObjectIdentifier, SubjectPublicKeyInfoRef};

use crate::dsse::BASE64_STANDARD;

/// The most bits of an RSA modulus. It bounds the arithmetic.
pub const MAX_RSA_BITS: u32 = 4_096;

/// The fewest bits of an RSA modulus, as in Notary Project's specification and in CA/Browser Forum's baseline requirements.
pub const MIN_RSA_BITS: u32 = 2_048;

const PEM_LABEL: &str = "PUBLIC KEY";

// RFC 8017 (the first, and RSASSA-PSS for the second), RFC 5480 and RFC 8410.
pub(crate) const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const RSA_PSS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.10");
const ELLIPTIC_CURVE: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const CURVE_P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
const CURVE_P384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.34");
const CURVE_P521: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.132.0.35");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

// RFC 5758 for ECDSA, RFC 8017 for RSA, NIST's register for the hashes.
const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ECDSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
const ECDSA_SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.4");
const RSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
const RSA_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.12");
const RSA_SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.13");
const MGF1: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.8");
const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
const SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");

thread_local! {
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// How much work all keys took so far, on this thread: to read one is 1, and a verification by a key of P-256 or Ed25519 is 4. Whoever
/// brings a signature chooses the keys of its certificates, so callers that bound the work compare this before and after.
#[must_use]
pub fn work() -> u64 {
    WORK.get()
}

fn add_work(work: u64) {
    WORK.set(WORK.get().saturating_add(work));
}

/// A public key. Two keys are equal if they are the same point of the same curve, or the same numbers, however they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicKey {
    /// A point of NIST P-256.
    P256(p256::ecdsa::VerifyingKey),
    /// A point of NIST P-384.
    P384(p384::ecdsa::VerifyingKey),
    /// A point of NIST P-521.
    P521(p521::ecdsa::VerifyingKey),
    /// Ed25519 as in RFC 8032, not pre-hashed.
    Ed25519(ed25519_dalek::VerifyingKey),
    /// RSA of 2,048 to 4,096 bits.
    Rsa(rsa::PublicKey),
}

/// A hash that signatures are made over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

/// How a signature was made, where the document says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// ECDSA on the key's curve.
    Ecdsa(Hash),
    /// RSASSA-PKCS1-v1_5.
    RsaPkcs1(Hash),
    /// RSASSA-PSS with the same hash in MGF1, and a salt of its length.
    RsaPss(Hash),
    /// Ed25519, not pre-hashed.
    Ed25519,
}

impl Hash {
    /// The hash that an object identifier names; none for one that isn't read here, such as SHA-1.
    #[must_use]
    pub fn of(identifier: ObjectIdentifier) -> Option<Self> {
        match identifier {
            SHA256 => Some(Self::Sha256),
            SHA384 => Some(Self::Sha384),
            SHA512 => Some(Self::Sha512),
            _ => None,
        }
    }

    fn bytes(self) -> u8 {
        match self {
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

impl Scheme {
    /// How a certificate or a CMS message was signed, as its `AlgorithmIdentifier` says it (RFC 5758, RFC 4055 and RFC 8410).
    ///
    /// None for a scheme that isn't read here: SHA-1, other curves, and RSASSA-PSS with unequal hashes or a salt of another length.
    #[must_use]
    pub fn of(algorithm: &AlgorithmIdentifierRef<'_>) -> Option<Self> {
        if algorithm.oid == RSA_PSS {
            return pss(algorithm);
        }
        // Some signers write NULL where nothing should be, and the other way round.
        if algorithm.parameters.is_some_and(|parameters| !parameters.is_null()) {
            return None;
        }
        match algorithm.oid {
            ECDSA_SHA256 => Some(Self::Ecdsa(Hash::Sha256)),
            ECDSA_SHA384 => Some(Self::Ecdsa(Hash::Sha384)),
            ECDSA_SHA512 => Some(Self::Ecdsa(Hash::Sha512)),
            RSA_SHA256 => Some(Self::RsaPkcs1(Hash::Sha256)),
            RSA_SHA384 => Some(Self::RsaPkcs1(Hash::Sha384)),
            RSA_SHA512 => Some(Self::RsaPkcs1(Hash::Sha512)),
            ED25519 => Some(Self::Ed25519),
            _ => None,
        }
    }
}

impl PublicKey {
    /// Reads one key from PEM: a single `-----BEGIN PUBLIC KEY-----` block (a `SubjectPublicKeyInfo`, what
    /// `cosign generate-key-pair` and `openssl pkey -pubout` write), with nothing but white space around it.
    ///
    /// # Errors
    ///
    /// A [`KeyError`] for anything else: other PEM blocks, other curves and algorithms, RSA of another size, and key bytes that are
    /// no usable point of their curve.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let der = public_key_block(pem)?;
        Self::from_spki(&SubjectPublicKeyInfoRef::try_from(der.as_slice()).map_err(|_| KeyError::Malformed)?)
    }

    /// Reads a key from the DER of a `SubjectPublicKeyInfo`, as logs have it in a trust root.
    ///
    /// # Errors
    ///
    /// As for [`PublicKey::from_pem`].
    pub fn from_der(der: &[u8]) -> Result<Self, KeyError> {
        Self::from_spki(&SubjectPublicKeyInfoRef::try_from(der).map_err(|_| KeyError::Malformed)?)
    }

    /// Reads an RSA key from the DER of an `RSAPublicKey` (RFC 8017), as old logs have it in a trust root.
    ///
    /// # Errors
    ///
    /// As for [`PublicKey::from_pem`].
    pub fn from_pkcs1(der: &[u8]) -> Result<Self, KeyError> {
        rsa_key(der)
    }

    /// Reads a key from a `SubjectPublicKeyInfo`, as certificates have it.
    ///
    /// # Errors
    ///
    /// As for [`PublicKey::from_pem`].
    pub fn from_spki(key: &SubjectPublicKeyInfoRef<'_>) -> Result<Self, KeyError> {
        add_work(1);
        let bytes = key.subject_public_key.as_bytes().ok_or(KeyError::Malformed)?;
        match key.algorithm.oid {
            ELLIPTIC_CURVE => {
                // Curves spelled out in numbers instead of named are refused: a signer could choose weak ones.
                let curve = key.algorithm.parameters_oid().map_err(|_| KeyError::UnnamedCurve)?;
                match curve {
                    CURVE_P256 => p256::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                        .map(Self::P256)
                        .map_err(|_| KeyError::NotOnCurve("P-256")),
                    CURVE_P384 => p384::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                        .map(Self::P384)
                        .map_err(|_| KeyError::NotOnCurve("P-384")),
                    CURVE_P521 => p521::ecdsa::VerifyingKey::from_sec1_bytes(bytes)
                        .map(Self::P521)
                        .map_err(|_| KeyError::NotOnCurve("P-521")),
                    other => Err(KeyError::Curve(other.to_string())),
                }
            }
            ED25519 => {
                // RFC 8410, section 3: the parameters must be absent.
                if key.algorithm.parameters.is_some() {
                    return Err(KeyError::Malformed);
                }
                let key = bytes
                    .try_into()
                    .ok()
                    .and_then(|bytes| ed25519_dalek::VerifyingKey::from_bytes(bytes).ok())
                    .ok_or(KeyError::NotOnCurve("Ed25519"))?;
                // Anybody can make a signature that such a key accepts for almost every message. With these keys out,
                // plain verification is as good as the library's strict one, which can't take a message in parts.
                if key.is_weak() { Err(KeyError::Weak) } else { Ok(Self::Ed25519(key)) }
            }
            RSA => rsa_key(bytes),
            // Such a key may restrict its own use; nothing that is read here writes one.
            RSA_PSS => Err(KeyError::Algorithm("RSASSA-PSS".to_owned())),
            other => Err(KeyError::Algorithm(other.to_string())),
        }
    }

    /// Whether `signature` is this key's signature of a message, where nothing says how it was made: with the hash that signers use
    /// for such a key.
    ///
    /// An ECDSA signature is the DER of `r` and `s` (written by cosign, go-securesystemslib and the key management services), or
    /// the two numbers at fixed width one after the other (in DSSE's own example and reference implementation). DSSE leaves
    /// the choice open, and neither can be taken for the other. Reading the second form as well accepts nothing that the key's
    /// holder didn't sign.
    #[must_use]
    pub fn verifies(&self, message: &Message<'_>, signature: &[u8]) -> bool {
        let verifies = |scheme| self.verifies_as(scheme, message, signature);
        match self {
            Self::P256(_) => verifies(Scheme::Ecdsa(Hash::Sha256)),
            // SHA-384 is the hash that belongs to the curve, and cosign 2.6 and later sign with it. Up to 2.5 cosign signed with
            // SHA-256 whatever the curve (`LoadPrivateKey` named `crypto.SHA256`), and `cosign verify-attestation --key` still
            // verifies with that in 3.1 (sigstore/cosign issue 5092). Both are in registries, so both are tried. SHA-256 is not
            // weak: it only gives up the curve's margin over 128 bits.
            Self::P384(_) => verifies(Scheme::Ecdsa(Hash::Sha384)) || verifies(Scheme::Ecdsa(Hash::Sha256)),
            Self::P521(_) => verifies(Scheme::Ecdsa(Hash::Sha512)) || verifies(Scheme::Ecdsa(Hash::Sha256)),
            // Pre-hashed Ed25519 is not tried: cosign 2.6 and later sign with it if given an imported Ed25519 key, but
            // their own `verify-attestation --key` verifies the plain form (sigstore/cosign pull request 5074).
            Self::Ed25519(_) => verifies(Scheme::Ed25519),
            Self::Rsa(_) => verifies(Scheme::RsaPkcs1(Hash::Sha256)),
        }
    }

    /// The work of one verification, as the module measures it in instructions.
    fn work(&self) -> u64 {
        match self {
            Self::P256(_) | Self::Ed25519(_) => 4,
            Self::Rsa(_) => 8,
            Self::P521(_) => 12,
            Self::P384(_) => 16,
        }
    }

    /// Whether `signature` is this key's signature of a message, made in this way.
    #[must_use]
    pub fn verifies_as(&self, scheme: Scheme, message: &Message<'_>, signature: &[u8]) -> bool {
        match (self, scheme) {
            (Self::Ed25519(key), Scheme::Ed25519) => {
                add_work(self.work());
                ed25519_dalek::Signature::from_slice(signature)
                    .is_ok_and(|signature| key.multipart_verify(&message.parts, &signature).is_ok())
            }
            (_, Scheme::Ecdsa(hash) | Scheme::RsaPkcs1(hash) | Scheme::RsaPss(hash)) => {
                self.verifies_digest(scheme, message.digest(hash), signature)
            }
            (_, Scheme::Ed25519) => false,
        }
    }

    /// Whether `signature` is this key's signature of a message of which only the digest is known, made in this way. Ed25519 has no
    /// such signatures.
    #[must_use]
    pub fn verifies_digest(&self, scheme: Scheme, digest: &[u8], signature: &[u8]) -> bool {
        add_work(self.work());
        match (self, scheme) {
            (Self::P256(key), Scheme::Ecdsa(_)) => p256::ecdsa::Signature::from_der(signature)
                .or_else(|_| p256::ecdsa::Signature::from_slice(signature))
                .is_ok_and(|signature| key.verify_prehash(digest, &signature).is_ok()),
            (Self::P384(key), Scheme::Ecdsa(_)) => p384::ecdsa::Signature::from_der(signature)
                .or_else(|_| p384::ecdsa::Signature::from_slice(signature))
                .is_ok_and(|signature| key.verify_prehash(digest, &signature).is_ok()),
            (Self::P521(key), Scheme::Ecdsa(_)) => p521::ecdsa::Signature::from_der(signature)
                .or_else(|_| p521::ecdsa::Signature::from_slice(signature))
                .is_ok_and(|signature| key.verify_prehash(digest, &signature).is_ok()),
            (Self::Rsa(key), Scheme::RsaPkcs1(hash)) => {
                let scheme = match hash {
                    Hash::Sha256 => Pkcs1v15Sign::new::<Sha256>(),
                    Hash::Sha384 => Pkcs1v15Sign::new::<Sha384>(),
                    Hash::Sha512 => Pkcs1v15Sign::new::<Sha512>(),
                };
                key.verify(scheme, digest, signature).is_ok()
            }
            (Self::Rsa(key), Scheme::RsaPss(hash)) => match hash {
                Hash::Sha256 => key.verify(Pss::<Sha256>::new(), digest, signature),
                Hash::Sha384 => key.verify(Pss::<Sha384>::new(), digest, signature),
                Hash::Sha512 => key.verify(Pss::<Sha512>::new(), digest, signature),
            }
            .is_ok(),
            _ => false,
        }
    }
}

/// The DER of an ECDSA signature `(r, s)`, and of `(r, -s)`, which verifies as well; on each curve that it may be of.
pub(crate) fn ecdsa_forms(signature: &[u8]) -> Vec<Vec<u8>> {
    macro_rules! forms {
        ($curve:ident) => {
            $curve::ecdsa::Signature::from_der(signature)
                .or_else(|_| $curve::ecdsa::Signature::from_slice(signature))
                .and_then(|own| Ok([own, $curve::ecdsa::Signature::from_scalars(own.r(), -own.s())?]))
                .map(|both| both.map(|form| form.to_der().as_bytes().to_vec()))
        };
    }
    [forms!(p256), forms!(p384), forms!(p521)].into_iter().flatten().flatten().collect()
}

/// A message, in parts so that large ones needn't be copied. Each hash is computed once, however many signatures are tried.
#[derive(Debug)]
pub struct Message<'a> {
    parts: Vec<&'a [u8]>,
    sha256: OnceCell<[u8; 32]>,
    sha384: OnceCell<[u8; 48]>,
    sha512: OnceCell<[u8; 64]>,
}

impl<'a> Message<'a> {
    /// The message that these parts make one after the other.
    #[must_use]
    pub fn of(parts: &[&'a [u8]]) -> Self {
        Self { parts: parts.to_vec(), sha256: OnceCell::new(), sha384: OnceCell::new(), sha512: OnceCell::new() }
    }

    /// Its digest.
    #[must_use]
    pub fn digest(&self, hash: Hash) -> &[u8] {
        match hash {
            Hash::Sha256 => self.sha256.get_or_init(|| self.hash::<Sha256>().into()),
            Hash::Sha384 => self.sha384.get_or_init(|| self.hash::<Sha384>().into()),
            Hash::Sha512 => self.sha512.get_or_init(|| self.hash::<Sha512>().into()),
        }
    }

    fn hash<H: sha2::Digest>(&self) -> sha2::digest::Output<H> {
        self.parts.iter().fold(H::new(), |hash, part| hash.chain_update(part)).finalize()
    }
}

fn pss(algorithm: &AlgorithmIdentifierRef<'_>) -> Option<Scheme> {
    let parameters: pkcs1::RsaPssParamsOwned = algorithm.parameters?.decode_as().ok()?;
    let hash = Hash::of(parameters.hash.oid)?;
    let mask = parameters.mask_gen.parameters.as_ref()?;
    let equal = parameters.mask_gen.oid == MGF1 && Hash::of(mask.oid) == Some(hash);
    (equal && parameters.salt_len == hash.bytes()).then_some(Scheme::RsaPss(hash))
}

fn rsa_key(der: &[u8]) -> Result<PublicKey, KeyError> {
    let key = pkcs1::RsaPublicKeyRef::try_from(der).map_err(|_| KeyError::Malformed)?;
    let bytes = key.modulus.as_bytes();
    let leading = bytes.first().map_or(0, |first| first.leading_zeros());
    let bits =
        u32::try_from(bytes.len()).ok().and_then(|bytes| bytes.checked_mul(8)).map_or(u32::MAX, |all| all - leading);
    if !(MIN_RSA_BITS..=MAX_RSA_BITS).contains(&bits) {
        return Err(KeyError::RsaBits(bits));
    }
    let number = |bytes: &[u8]| BoxedUint::from_be_slice_vartime(bytes);
    rsa::PublicKey::new(number(bytes), number(key.public_exponent.as_bytes()))
        .map(PublicKey::Rsa)
        .map_err(|_| KeyError::Malformed)
}

/// The bytes between the armour of the one `PUBLIC KEY` block in `pem`.
fn public_key_block(pem: &str) -> Result<Vec<u8>, KeyError> {
    let rest = pem.trim().strip_prefix("-----BEGIN ").ok_or(KeyError::NotPem)?;
    let (label, rest) = rest.split_once("-----").ok_or(KeyError::NotPem)?;
    match label {
        PEM_LABEL => {}
        label if label.ends_with("PRIVATE KEY") => return Err(KeyError::PrivateKey),
        other => return Err(KeyError::Label(cut(other, 100))),
    }
    let (body, rest) = rest.split_once("-----END PUBLIC KEY-----").ok_or(KeyError::NotPem)?;
    if !rest.is_empty() {
        return Err(KeyError::MoreThanOneBlock);
    }
    let body: String = body.split_ascii_whitespace().collect();
    BASE64_STANDARD.decode(body).map_err(|_| KeyError::Malformed)
}

/// Why a string is no key that signatures can be verified with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyError {
    /// There is no complete PEM block, or there is text before it.
    NotPem,
    /// There is text after the first PEM block.
    MoreThanOneBlock,
    /// The PEM block is of another kind, such as a certificate. Holds its label.
    Label(String),
    /// The PEM block is a private key, which belongs nowhere near a verifier.
    PrivateKey,
    /// The base64, the DER or the structure is broken.
    Malformed,
    /// An RSA key of another size. Holds its bits.
    RsaBits(u32),
    /// An elliptic curve that isn't read here. Holds its object identifier.
    Curve(String),
    /// The curve is given by its numbers instead of its name.
    UnnamedCurve,
    /// The key bytes aren't a point of the curve they name.
    NotOnCurve(&'static str),
    /// An Ed25519 key of low order, which signatures can be made for without a private key.
    Weak,
    /// An algorithm that isn't read here. Holds its object identifier, or its name.
    Algorithm(String),
}

/// What errors recommend.
const READ_HERE: &str = "use ECDSA P-256, P-384 or P-521, Ed25519, or RSA";

impl fmt::Display for KeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPem => formatter.write_str(
                "the key is not PEM; give the whole block from `-----BEGIN PUBLIC KEY-----` to \
                 `-----END PUBLIC KEY-----`",
            ),
            Self::MoreThanOneBlock => {
                formatter.write_str("there is text after the key's PEM block; give each key on its own")
            }
            Self::Label(label) => write!(
                formatter,
                "the PEM block is a `{label}`, not a `{PEM_LABEL}`; give the public key itself (of a certificate: \
                 `openssl x509 -pubkey -noout`)"
            ),
            Self::PrivateKey => formatter.write_str(
                "the PEM block is a private key; give the public key (`openssl pkey -pubout`), and replace the private \
                 key if others could read it here",
            ),
            Self::Malformed => formatter
                .write_str("the key's PEM block holds no readable public key; write it again (`openssl pkey -pubout`)"),
            Self::RsaBits(bits) => {
                write!(formatter, "the RSA key has `{bits}` bits; use one of {MIN_RSA_BITS} to {MAX_RSA_BITS}")
            }
            Self::Curve(curve) => write!(
                formatter,
                "the key is on the elliptic curve `{}`, which isn't supported; {READ_HERE}",
                curve_name(curve)
            ),
            Self::UnnamedCurve => formatter.write_str(
                "the key doesn't name its elliptic curve; write it again with a named curve \
                 (`openssl pkey -pubout -ec_param_enc named_curve`)",
            ),
            Self::NotOnCurve(curve) => {
                write!(formatter, "the key is no valid `{curve}` key; write it again from its private key")
            }
            Self::Weak => formatter.write_str(
                "the Ed25519 key is of low order: anybody could sign for it; use a key from a key generator",
            ),
            Self::Algorithm(algorithm) => {
                write!(formatter, "the key's algorithm `{algorithm}` isn't supported; {READ_HERE}")
            }
        }
    }
}

impl std::error::Error for KeyError {}

/// The usual name of a curve that people do try, or its object identifier.
fn curve_name(identifier: &str) -> &str {
    match identifier {
        "1.3.132.0.33" => "P-224",
        "1.3.132.0.10" => "secp256k1",
        other => other,
    }
}

#[cfg(test)]
pub(crate) mod tests;
