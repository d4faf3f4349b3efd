//! Tokens of OpenSSL, and tokens made for each rule.

use super::*;
use crate::certificate::tests::{Draft as CertificateDraft, NOON, oid, sequence, tlv};
use crate::key::tests::p256_signer;
use p256::ecdsa::signature::Signer as _;
use sha2::{Sha256, Sha512};

const MESSAGE: &[u8] = b"message";
const ROOT: &str = include_str!("../../tests/timestamps/root.pem");
const OTHER_LEAF: &str = include_str!("../../tests/timestamps/bare.pem");
const BY_RSA: &[u8] = include_bytes!("../../tests/timestamps/rsa.tsr");
const BY_P384: &[u8] = include_bytes!("../../tests/timestamps/p384.tsr");
const BARE: &[u8] = include_bytes!("../../tests/timestamps/bare.p7s");

const SHA256: &str = "2.16.840.1.101.3.4.2.1";
const SHA512: &str = "2.16.840.1.101.3.4.2.3";
const SHA1: &str = "1.3.14.3.2.26";
const ECDSA_SHA256: &str = "1.2.840.10045.4.3.2";
const DATA: &str = "1.2.840.113549.1.7.1";

fn read(pem: &str) -> Certificate {
    Certificate::all_from_pem(pem).unwrap().remove(0)
}

fn trusting(root: Certificate) -> Authority {
    Authority { roots: vec![root], ..Authority::default() }
}

#[test]
fn tokens_of_openssl_verify() {
    let with_leaf = Authority { leaf: Some(read(OTHER_LEAF)), ..trusting(read(ROOT)) };
    for (token, authority) in [(BY_RSA, trusting(read(ROOT))), (BY_P384, trusting(read(ROOT))), (BARE, with_leaf)] {
        let found = stamp(token, MESSAGE, std::slice::from_ref(&authority)).unwrap();
        // Two and a half seconds of accuracy are three.
        assert_eq!((found.time.0 - found.earliest.0, found.latest.0 - found.time.0), (3, 3));
        assert_eq!(verify(token, MESSAGE, std::slice::from_ref(&authority)), Ok(found.time));
        assert_eq!(verify(token, b"massage", &[authority]), Err(TimestampError::OtherMessage));
        assert_eq!(verify(token, MESSAGE, &[]), Err(TimestampError::NoAuthority));
    }
    // Nothing in this token has the certificate, and an authority of a leaf believes no other.
    assert_eq!(verify(BARE, MESSAGE, &[trusting(read(ROOT))]), Err(TimestampError::NoAuthority));
    let other_leaf = Authority { leaf: Some(read(OTHER_LEAF)), ..trusting(read(ROOT)) };
    assert_eq!(verify(BY_RSA, MESSAGE, &[other_leaf]), Err(TimestampError::NoAuthority));
}

#[test]
fn no_byte_of_a_token_can_change() {
    let authorities = [trusting(read(ROOT))];
    let verified = verify(BY_P384, MESSAGE, &authorities);
    assert!(verified.is_ok());
    for at in 0..BY_P384.len() {
        let mut changed = BY_P384.to_vec();
        changed[at] ^= 1;
        // What stands outside of the signature, such as the status, may change: the time doesn't.
        let found = verify(&changed, MESSAGE, &authorities);
        assert!(found.is_err() || found == verified, "{at}: {found:?}");
    }
    for end in 0..BY_P384.len() {
        assert!(verify(&BY_P384[..end], MESSAGE, &authorities).is_err(), "{end}");
    }
}

fn algorithm(identifier: &str) -> Vec<u8> {
    sequence(&[oid(identifier)])
}

fn attribute(identifier: &str, value: Vec<u8>) -> Vec<u8> {
    sequence(&[oid(identifier), tlv(0x31, value)])
}

/// A token to be: each part as DER.
#[derive(Clone)]
struct Draft {
    status: Option<u8>,
    outer_type: &'static str,
    content_type: &'static str,
    version: u8,
    imprint: Vec<u8>,
    time: Vec<u8>,
    /// Whatever stands after the time.
    rest: Vec<u8>,
    embedded: Vec<CertificateDraft>,
    signers: usize,
    identifier: Vec<u8>,
    digest_algorithm: &'static str,
    signature_algorithm: &'static str,
    signed_content_type: Vec<u8>,
    /// Instead of the right one.
    digest: Option<Vec<u8>>,
    signing_certificate: Vec<u8>,
    key: u8,
}

pub(crate) fn root() -> CertificateDraft {
    CertificateDraft::authority("root", 1, "root", 1)
}

pub(crate) fn stamper() -> CertificateDraft {
    CertificateDraft::time_stamper("stamper", 2, "root", 1)
}

fn imprint(identifier: &str, digest: &[u8]) -> Vec<u8> {
    sequence(&[algorithm(identifier), tlv(0x04, digest)])
}

/// The attribute that names a certificate by its SHA-256, which needn't be said.
fn signing_certificate(certificate: &CertificateDraft) -> Vec<u8> {
    let identifier = sequence(&[tlv(0x04, Sha256::digest(certificate.der()))]);
    attribute("1.2.840.113549.1.9.16.2.47", sequence(&[sequence(&[identifier])]))
}

fn signing_certificate_by(identifier: &str, hash: Option<&str>, digest: &[u8]) -> Vec<u8> {
    let hash = hash.map(algorithm).unwrap_or_default();
    attribute(identifier, sequence(&[sequence(&[sequence(&[hash, tlv(0x04, digest)])])]))
}

fn draft() -> Draft {
    let content_type = "1.2.840.113549.1.9.16.1.4";
    // The issuer and the serial number of `stamper`.
    let attribute_of_name = |identifier, value: &str| tlv(0x31, sequence(&[oid(identifier), tlv(0x0c, value)]));
    let issuer = sequence(&[attribute_of_name("2.5.4.10", "Team, Inc."), attribute_of_name("2.5.4.3", "root")]);
    Draft {
        status: Some(0),
        outer_type: "1.2.840.113549.1.7.2",
        content_type,
        version: 1,
        imprint: imprint(SHA256, &Sha256::digest(MESSAGE)),
        time: tlv(0x18, "20231114221320Z"),
        rest: Vec::new(),
        embedded: vec![stamper()],
        signers: 1,
        identifier: sequence(&[issuer, tlv(0x02, [2])]),
        digest_algorithm: SHA256,
        signature_algorithm: ECDSA_SHA256,
        signed_content_type: attribute("1.2.840.113549.1.9.3", oid(content_type)),
        digest: None,
        signing_certificate: signing_certificate(&stamper()),
        key: 2,
    }
}

/// A token over a message at NOON, with an accuracy in seconds, by an authority whose root is `root`.
pub(crate) fn token(message: &[u8], accuracy: u8) -> Vec<u8> {
    let rest = sequence(&[tlv(0x02, [accuracy])]);
    Draft { status: None, imprint: imprint(SHA256, &Sha256::digest(message)), rest, ..draft() }.der()
}

impl Draft {
    fn der(&self) -> Vec<u8> {
        let info = sequence(&[
            tlv(0x02, [self.version]),
            oid("1.2.3"),
            self.imprint.clone(),
            tlv(0x02, [1]),
            self.time.clone(),
            self.rest.clone(),
        ]);
        let digest = self.digest.clone().unwrap_or_else(|| Sha256::digest(&info).to_vec());
        let attributes = [
            self.signed_content_type.clone(),
            attribute("1.2.840.113549.1.9.4", tlv(0x04, digest)),
            self.signing_certificate.clone(),
        ]
        .concat();
        let signature: p256::ecdsa::Signature = p256_signer(self.key).sign(&tlv(0x31, &attributes));
        let signer = sequence(&[
            tlv(0x02, [1]),
            self.identifier.clone(),
            algorithm(self.digest_algorithm),
            tlv(0xa0, &attributes),
            algorithm(self.signature_algorithm),
            tlv(0x04, signature.to_der().as_bytes()),
        ]);
        let certificates: Vec<u8> = self.embedded.iter().flat_map(CertificateDraft::der).collect();
        let certificates = if certificates.is_empty() { Vec::new() } else { tlv(0xa0, certificates) };
        let signed = sequence(&[
            tlv(0x02, [3]),
            tlv(0x31, algorithm(SHA256)),
            sequence(&[oid(self.content_type), tlv(0xa0, tlv(0x04, info))]),
            certificates,
            tlv(0x31, signer.repeat(self.signers)),
        ]);
        let token = sequence(&[oid(self.outer_type), tlv(0xa0, signed)]);
        match self.status {
            Some(status) => sequence(&[sequence(&[tlv(0x02, [status])]), token]),
            None => token,
        }
    }
}

#[test]
fn what_a_token_may_have() {
    let authorities = [trusting(root().made())];
    let operator = || "time.example.com".to_owned();
    let authorities = authorities.map(|own| Authority { operator: operator(), ..own });
    let named = Authority { leaf: Some(stamper().made()), ..authorities[0].clone() };
    let stamp = |earlier: i64, later: i64| {
        let second = |offset: i64| Timestamp(NOON.0 + offset);
        Ok(Stamp {
            time: NOON,
            earliest: second(-earlier),
            latest: second(later),
            chain: vec![stamper().made(), root().made()],
            operator: operator(),
        })
    };
    let accuracy = |parts: &[Vec<u8>]| sequence(parts);
    for (draft, earlier, later) in [
        (draft(), 0, 0),
        (Draft { status: None, ..draft() }, 0, 0),
        (Draft { status: Some(1), ..draft() }, 0, 0),
        (Draft { imprint: imprint(SHA512, &Sha512::digest(MESSAGE)), ..draft() }, 0, 0),
        (Draft { time: tlv(0x18, "20231114221320.5Z"), ..draft() }, 0, 1),
        (Draft { rest: accuracy(&[tlv(0x02, [7])]), ..draft() }, 7, 7),
        (Draft { rest: accuracy(&[tlv(0x80, [5])]), ..draft() }, 1, 1),
        (Draft { rest: accuracy(&[tlv(0x02, [7]), tlv(0x81, [5])]), ..draft() }, 8, 8),
        // `ordering`, a nonce, the authority's name, and an extension that isn't critical.
        (
            Draft {
                rest: [
                    tlv(0x01, [0xff]),
                    tlv(0x02, [9]),
                    tlv(0xa0, tlv(0x82, "time.example")),
                    tlv(0xa1, sequence(&[oid("1.2.3"), tlv(0x04, "")])),
                ]
                .concat(),
                ..draft()
            },
            0,
            0,
        ),
        (Draft { embedded: vec![root(), stamper()], ..draft() }, 0, 0),
        (
            Draft {
                signing_certificate: signing_certificate_by(
                    "1.2.840.113549.1.9.16.2.12",
                    None,
                    &Sha1::digest(stamper().der()),
                ),
                ..draft()
            },
            0,
            0,
        ),
        (
            Draft {
                signing_certificate: signing_certificate_by(
                    "1.2.840.113549.1.9.16.2.47",
                    Some(SHA512),
                    &Sha512::digest(stamper().der()),
                ),
                ..draft()
            },
            0,
            0,
        ),
    ] {
        assert_eq!(super::stamp(&draft.der(), MESSAGE, &authorities), stamp(earlier, later));
        assert_eq!(super::stamp(&draft.der(), MESSAGE, std::slice::from_ref(&named)), stamp(earlier, later));
    }
    let bare = Draft { embedded: vec![], ..draft() };
    assert_eq!(super::stamp(&bare.der(), MESSAGE, &[named]), stamp(0, 0));
}

#[test]
fn what_a_token_is_refused_for() {
    let identifier = ObjectIdentifier::new_unwrap;
    let authorities = [trusting(root().made())];
    let content_type = attribute("1.2.840.113549.1.9.3", oid("1.2.840.113549.1.9.16.1.4"));
    let v2 = SIGNING_CERTIFICATE_V2;
    let code_signer = CertificateDraft::signer("stamper", 2, "root", 1);
    let expired = stamper().valid(NOON.0 - 9, NOON.0 - 1);
    let subject = || r"CN=stamper,O=Team\, Inc.".to_owned();
    for (draft, expected) in [
        (Draft { status: Some(2), ..draft() }, TimestampError::NotGranted(2)),
        (Draft { outer_type: DATA, ..draft() }, TimestampError::ContentType(identifier(DATA))),
        (Draft { content_type: DATA, ..draft() }, TimestampError::ContentType(identifier(DATA))),
        (Draft { version: 2, ..draft() }, TimestampError::Malformed),
        (
            Draft { imprint: imprint(SHA1, &Sha1::digest(MESSAGE)), ..draft() },
            TimestampError::Algorithm(identifier(SHA1)),
        ),
        (Draft { imprint: imprint(SHA256, &Sha256::digest(b"other")), ..draft() }, TimestampError::OtherMessage),
        (Draft { imprint: imprint(SHA512, &Sha256::digest(MESSAGE)), ..draft() }, TimestampError::OtherMessage),
        (Draft { time: tlv(0x17, "231114221320Z"), ..draft() }, TimestampError::Malformed),
        (Draft { time: tlv(0x18, "20231114221320"), ..draft() }, TimestampError::Malformed),
        (Draft { time: tlv(0x18, "20231114221320.Z"), ..draft() }, TimestampError::Malformed),
        (Draft { time: tlv(0x18, "20231114221320.5+1Z"), ..draft() }, TimestampError::Malformed),
        (Draft { time: tlv(0x18, "20231314221320Z"), ..draft() }, TimestampError::Malformed),
        (Draft { time: tlv(0x18, "202311142213Z"), ..draft() }, TimestampError::Malformed),
        (
            Draft { rest: tlv(0xa1, sequence(&[oid("1.2.3"), tlv(0x01, [0xff]), tlv(0x04, "")])), ..draft() },
            TimestampError::CriticalExtension(identifier("1.2.3")),
        ),
        (Draft { embedded: vec![], ..draft() }, TimestampError::NoAuthority),
        (Draft { embedded: vec![root(); 17], ..draft() }, TimestampError::TooManyCertificates),
        (Draft { signers: 0, ..draft() }, TimestampError::SignerCount(0)),
        (Draft { signers: 2, ..draft() }, TimestampError::SignerCount(2)),
        (Draft { identifier: tlv(0x80, [1, 2, 3]), ..draft() }, TimestampError::NoAuthority),
        (Draft { digest_algorithm: SHA1, ..draft() }, TimestampError::Algorithm(identifier(SHA1))),
        (Draft { digest_algorithm: SHA512, ..draft() }, TimestampError::Attribute(MESSAGE_DIGEST)),
        (
            Draft { signature_algorithm: "1.2.840.10045.4.1", ..draft() },
            TimestampError::Algorithm(identifier("1.2.840.10045.4.1")),
        ),
        (Draft { signature_algorithm: "1.2.840.10045.4.3.4", ..draft() }, TimestampError::Signature),
        (Draft { signed_content_type: Vec::new(), ..draft() }, TimestampError::Attribute(CONTENT_TYPE)),
        (
            Draft { signed_content_type: attribute("1.2.840.113549.1.9.3", oid(DATA)), ..draft() },
            TimestampError::Attribute(CONTENT_TYPE),
        ),
        (Draft { signed_content_type: content_type.repeat(2), ..draft() }, TimestampError::Attribute(CONTENT_TYPE)),
        (
            Draft { signed_content_type: attribute("1.2.840.113549.1.9.3", oid(DATA).repeat(2)), ..draft() },
            TimestampError::Attribute(CONTENT_TYPE),
        ),
        (Draft { digest: Some(vec![0; 32]), ..draft() }, TimestampError::Attribute(MESSAGE_DIGEST)),
        (Draft { signing_certificate: Vec::new(), ..draft() }, TimestampError::Attribute(v2)),
        (Draft { signing_certificate: signing_certificate(&root()), ..draft() }, TimestampError::Attribute(v2)),
        (
            Draft {
                signing_certificate: signing_certificate_by(
                    "1.2.840.113549.1.9.16.2.12",
                    None,
                    &Sha1::digest(root().der()),
                ),
                ..draft()
            },
            TimestampError::Attribute(SIGNING_CERTIFICATE),
        ),
        // The second version of the attribute has SHA-256 where it says none.
        (
            Draft {
                signing_certificate: signing_certificate_by(
                    "1.2.840.113549.1.9.16.2.47",
                    None,
                    &Sha1::digest(stamper().der()),
                ),
                ..draft()
            },
            TimestampError::Attribute(v2),
        ),
        (
            Draft {
                signing_certificate: signing_certificate_by(
                    "1.2.840.113549.1.9.16.2.47",
                    Some(SHA1),
                    &Sha1::digest(stamper().der()),
                ),
                ..draft()
            },
            TimestampError::Algorithm(identifier(SHA1)),
        ),
        (Draft { key: 3, ..draft() }, TimestampError::Signature),
        (
            Draft {
                embedded: vec![code_signer.clone()],
                signing_certificate: signing_certificate(&code_signer),
                ..draft()
            },
            TimestampError::Chain(ChainError::Usage { subject: subject(), usage: Usage::TimeStamping }),
        ),
        (
            Draft { embedded: vec![expired.clone()], signing_certificate: signing_certificate(&expired), ..draft() },
            TimestampError::Chain(ChainError::NotValid {
                subject: subject(),
                from: Timestamp(NOON.0 - 9),
                until: Timestamp(NOON.0 - 1),
                at: NOON,
            }),
        ),
    ] {
        assert_eq!(verify(&draft.der(), MESSAGE, &authorities), Err(expected));
    }
    let large = Draft { rest: vec![0; MAX_TOKEN_BYTES], ..draft() };
    let too_long = [large.rest, draft().der()].concat();
    assert_eq!(verify(&too_long, MESSAGE, &authorities), Err(TimestampError::TooLarge));
}

#[test]
fn authorities_are_believed_for_their_time() {
    let token = draft().der();
    let authority = |from: Option<i64>, until: Option<i64>| Authority {
        valid_from: from.map(|offset| Timestamp(NOON.0 + offset)),
        valid_until: until.map(|offset| Timestamp(NOON.0 + offset)),
        ..trusting(root().made())
    };
    for (from, until, believed) in [
        (None, None, true),
        (Some(0), Some(0), true),
        (Some(-1), None, true),
        (None, Some(1), true),
        (Some(1), None, false),
        (None, Some(-1), false),
    ] {
        let expected = if believed { Ok(NOON) } else { Err(TimestampError::NotBelieved(NOON)) };
        assert_eq!(verify(&token, MESSAGE, &[authority(from, until)]), expected, "{from:?} {until:?}");
    }
    // Any one is enough, and the reason is of the one that made it.
    let stranger = || trusting(CertificateDraft::authority("stranger", 8, "stranger", 8).made());
    let other_leaf = || Authority { leaf: Some(root().made()), ..stranger() };
    assert_eq!(verify(&token, MESSAGE, &[stranger(), authority(None, None)]), Ok(NOON));
    assert_eq!(
        verify(&token, MESSAGE, &[other_leaf(), authority(Some(1), None)]),
        Err(TimestampError::NotBelieved(NOON))
    );
}

#[test]
fn errors_say_what_to_do() {
    let error = TimestampError::NoAuthority;
    assert_eq!(
        error.to_string(),
        "the timestamp is by none of the trusted timestamp authorities; add its root if you trust it"
    );
}
