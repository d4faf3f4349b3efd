//! Signatures of Notary Project's own library, and envelopes made for each rule.

use std::collections::BTreeMap;

use super::*;
use crate::certificate::tests::{
    CERTIFICATE_SIGNING, DIGITAL_SIGNATURE, Draft as CertificateDraft, NOON, basic_constraints, extended_key_usage,
    extension, key_usage, tlv,
};
use crate::key::tests::{base64, p256_signer};
use crate::timestamp::tests as timestamps;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium_ll::{Encoder, Header};
use p256::ecdsa::signature::Signer as _;
use serde_json::{Value, json};

const DIGEST: &str = "sha256:73c803930ea3ba1e54bc25c2bdc53edd0284c62ed651fe7b00369da519a3c333";

/// A file of `tests/notary` in both formats.
macro_rules! both {
    ($name:literal) => {
        [
            (JWS, &include_bytes!(concat!("../../tests/notary/", $name, ".jws"))[..]),
            (COSE, &include_bytes!(concat!("../../tests/notary/", $name, ".cose"))[..]),
        ]
    };
}

fn root() -> Vec<Certificate> {
    Certificate::all_from_pem(include_str!("../../tests/notary/root.pem")).unwrap()
}

fn tsa_root() -> Vec<Certificate> {
    Certificate::all_from_pem(include_str!("../../tests/notary/tsa-root.pem")).unwrap()
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn trusting(roots: &[Certificate]) -> Trust<'_> {
    Trust {
        roots,
        timestamp_authorities: &[],
        identities: &[TrustedIdentity::Anybody],
        revoked: &[],
        store: Store::CertificateAuthority,
    }
}

fn verified(media_type: &str, bytes: &[u8], trust: &Trust<'_>, now: Timestamp) -> Result<Signed, NotaryError> {
    Envelope::read(media_type, bytes)?.verify(trust, DIGEST, now)
}

#[test]
fn signatures_of_notations_library_verify() {
    let root = root();
    let alone = Certificate::all_from_pem(include_str!("../../tests/notary/alone.pem")).unwrap();
    let now = at("2026-11-02T00:00:00Z");
    for (envelopes, roots, name) in [
        (both!("p256"), &root, "p256"),
        (both!("p384"), &root, "p384"),
        (both!("p521"), &root, "p521"),
        (both!("rsa2048"), &root, "rsa2048"),
        (both!("rsa3072"), &root, "rsa3072"),
        (both!("rsa4096"), &root, "rsa4096"),
        (both!("unrestricted"), &root, "unrestricted"),
        (both!("expiring"), &root, "signer"),
        (both!("extended"), &root, "signer"),
        (both!("alone"), &alone, "alone"),
    ] {
        for (media_type, bytes) in envelopes {
            let subject = format!(r"CN={name},O=Team\, Inc.,ST=WA,C=US");
            let envelope = Envelope::read(media_type, bytes).unwrap();
            assert_eq!(envelope.claims(), Claims { subject: subject.clone(), digest: DIGEST });
            assert_eq!(
                envelope.verify(&trusting(roots), DIGEST, now).map(|signed| (signed.subject, signed.signed_at)),
                Ok((subject, None)),
                "{name} {media_type}"
            );
        }
    }
}

#[test]
fn what_others_signed_is_refused_for_its_reason() {
    let (root, stranger) = (root(), tsa_root());
    let now = at("2026-11-02T00:00:00Z");
    let subject = r"CN=p256,O=Team\, Inc.,ST=WA,C=US".to_owned();
    let other = TrustedIdentity::parse("x509.subject: C=US, ST=WA, O=Other").unwrap();
    for (media_type, bytes) in both!("p256") {
        let verify = |trust: &Trust<'_>, digest: &str, now| {
            Envelope::read(media_type, bytes).unwrap().verify(trust, digest, now)
        };
        let other_digest = DIGEST.replace("73c8", "73c9");
        assert_eq!(verify(&trusting(&root), &other_digest, now), Err(NotaryError::OtherDigest(DIGEST.to_owned())));
        let untrusted = NotaryError::Untrusted(r"CN=root,O=Team\, Inc.,ST=WA,C=US".to_owned());
        assert_eq!(verify(&trusting(&stranger), DIGEST, now), Err(untrusted.clone()));
        assert_eq!(verify(&trusting(&[]), DIGEST, now), Err(untrusted));
        for identities in [&[][..], std::slice::from_ref(&other)] {
            let trust = Trust { identities, ..trusting(&root) };
            assert_eq!(verify(&trust, DIGEST, now), Err(NotaryError::OtherIdentity(subject.clone())));
        }
        let trust = Trust { store: Store::SigningAuthority, ..trusting(&root) };
        assert_eq!(verify(&trust, DIGEST, now), Err(NotaryError::OtherStore(Store::CertificateAuthority)));
        for outside in ["2026-10-31T23:59:59Z", "2126-11-01T00:00:01Z"] {
            assert!(
                matches!(
                    verify(&trusting(&root), DIGEST, at(outside)),
                    Err(NotaryError::Chain(ChainError::NotValid { .. }))
                ),
                "{outside}"
            );
        }
    }
    for (media_type, bytes) in both!("expiring") {
        let expiry = at("2026-11-08T00:00:00Z");
        let just = Timestamp(expiry.0 - 1);
        assert!(verified(media_type, bytes, &trusting(&root), just).is_ok());
        assert_eq!(verified(media_type, bytes, &trusting(&root), expiry), Err(NotaryError::Expired(expiry)));
    }
    for (envelopes, attribute) in
        [(both!("critical"), "com.example.attribute"), (both!("plugin"), "io.cncf.notary.verificationPlugin")]
    {
        for (media_type, bytes) in envelopes {
            let refused = Envelope::read(media_type, bytes).map(|_| ());
            assert_eq!(refused, Err(NotaryError::Critical(attribute.to_owned())));
        }
    }
    let [(_, jws), (_, cose)] = both!("p256");
    assert!(matches!(Envelope::read(COSE, jws), Err(NotaryError::Cbor)));
    assert!(matches!(Envelope::read(JWS, cose), Err(NotaryError::Json(..))));
    let media_type = "application/vnd.dev.sigstore.bundle.v0.3+json";
    assert_eq!(Envelope::read(media_type, jws).map(|_| ()), Err(NotaryError::MediaType(media_type.to_owned())));
}

#[test]
fn a_signing_authority_says_when() {
    let root = root();
    let trust = Trust { store: Store::SigningAuthority, ..trusting(&root) };
    for (media_type, bytes) in both!("authority") {
        let signed_at = Some(at("2026-11-01T01:00:00Z"));
        // The certificates' validity today doesn't matter.
        let signed = verified(media_type, bytes, &trust, at("2200-01-01T00:00:00Z")).unwrap();
        assert_eq!(signed.signed_at, signed_at);
        assert_eq!(
            verified(media_type, bytes, &trusting(&root), at("2026-11-02T00:00:00Z")),
            Err(NotaryError::OtherStore(Store::SigningAuthority))
        );
    }
}

#[test]
fn a_timestamp_outlives_the_certificate() {
    let (root, tsa_root) = (root(), tsa_root());
    let trust = Trust { timestamp_authorities: &tsa_root, ..trusting(&root) };
    let now = at("2027-11-01T00:00:00Z");
    for (media_type, bytes) in both!("timestamped") {
        let signed_at = verified(media_type, bytes, &trust, now).unwrap().signed_at.unwrap();
        assert!(at("2026-11-01T00:00:00Z") < signed_at && signed_at < now);
        let untrusted = Trust { timestamp_authorities: &root, ..trust };
        assert!(matches!(
            verified(media_type, bytes, &untrusted, now),
            Err(NotaryError::Timestamp(TimestampError::Chain(_)))
        ));
        let expired = verified(media_type, bytes, &trusting(&root), now);
        assert!(matches!(expired, Err(NotaryError::Chain(ChainError::NotValid { .. }))));
        assert_eq!(verified(media_type, bytes, &trusting(&root), signed_at).map(|signed| signed.signed_at), Ok(None));
    }
}

/// What isn't signed may change, such as the name of the program that signed. What is verified doesn't.
#[test]
fn no_byte_of_a_signature_can_change() {
    let root = root();
    let now = at("2026-11-02T00:00:00Z");
    let [jws, cose] = both!("p384");
    for (media_type, bytes) in [jws, cose] {
        let original = verified(media_type, bytes, &trusting(&root), now);
        assert!(original.is_ok());
        for index in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[index] ^= 1;
            let found = verified(media_type, &changed, &trusting(&root), now);
            assert!(found.is_err() || found == original, "{media_type} {index}: {found:?}");
        }
        for end in 0..bytes.len() {
            assert!(verified(media_type, &bytes[..end], &trusting(&root), now).is_err(), "{media_type} {end}");
        }
    }
}

#[test]
fn revoked_certificates_reject() {
    let root = root();
    let now = at("2026-11-02T00:00:00Z");
    for (media_type, bytes) in both!("p256") {
        let envelope = Envelope::read(media_type, bytes).unwrap();
        let refused = |revoked: &str| {
            let revoked = [Revoked::parse(revoked).unwrap()];
            let later = envelope.verify(&trusting(&root), DIGEST, now).unwrap().check_revoked(&revoked);
            let found = envelope.verify(&Trust { revoked: &revoked, ..trusting(&root) }, DIGEST, now).map(|_| ());
            assert_eq!(found, later);
            found
        };
        for certificate in envelope.certificates() {
            let expected = Err(NotaryError::Revoked(certificate.name()));
            assert_eq!(refused(&certificate.fingerprint().to_uppercase()), expected);
            assert_eq!(refused(&format!("00:{}", certificate.serial_number())), expected);
        }
        assert_eq!(refused(&"ab".repeat(32)), Ok(()));
        assert_eq!(refused("fe:dc"), Ok(()));
    }
    let tsa_root = tsa_root();
    for (media_type, bytes) in both!("timestamped") {
        let revoked = [Revoked::Fingerprint(tsa_root[0].fingerprint())];
        let trust = Trust { timestamp_authorities: &tsa_root, ..trusting(&root) };
        let expected = NotaryError::Revoked(tsa_root[0].name());
        let signed = verified(media_type, bytes, &trust, now).unwrap();
        assert_eq!(signed.check_revoked(&revoked), Err(expected.clone()));
        assert_eq!(verified(media_type, bytes, &Trust { revoked: &revoked, ..trust }, now), Err(expected));
    }
}

/// Nobody signed a certificate's signature, and ECDSA's can be written in another way by anybody.
#[test]
fn a_revoked_certificate_with_its_signature_written_anew_stays_revoked() {
    let roots = [top().made()];
    let certificates = [signer().made(), middle().made()];
    let revoked = certificates.each_ref().map(|certificate| Revoked::Fingerprint(certificate.fingerprint()));
    for (position, draft) in [signer(), middle()].into_iter().enumerate() {
        let own = draft.signature();
        let negated = p256::ecdsa::Signature::from_scalars(own.r(), -own.s()).unwrap();
        for signature in [own.to_bytes().to_vec(), negated.to_der().as_bytes().to_vec(), negated.to_bytes().to_vec()] {
            let mut jws = self::draft().jws();
            jws["header"]["x5c"][position] = base64(draft.der_with(&signature)).into();
            let found = |revoked: &[Revoked]| {
                verified(JWS, jws.to_string().as_bytes(), &Trust { revoked, ..trusting(&roots) }, NOON).map(|_| ())
            };
            assert_eq!(found(&[]), Ok(()), "{position}");
            let name = certificates[position].name();
            assert_eq!(found(&revoked[position..=position]), Err(NotaryError::Revoked(name)), "{position}");
        }
    }
}

fn alone() -> CertificateDraft {
    CertificateDraft::signer("alone", 5, "alone", 5)
}

fn top() -> CertificateDraft {
    CertificateDraft::authority("top", 6, "top", 6)
}

fn middle() -> CertificateDraft {
    CertificateDraft::authority("middle", 7, "top", 6)
}

fn signer() -> CertificateDraft {
    CertificateDraft::signer("signer", 8, "middle", 7)
}

fn subject(name: &str) -> String {
    format!(r"CN={name},O=Team\, Inc.")
}

fn header(header: Header) -> Vec<u8> {
    let mut encoded = Vec::new();
    Encoder::from(&mut encoded).push(header).unwrap();
    encoded
}

fn number(number: i64) -> Vec<u8> {
    header(match u64::try_from(number) {
        Ok(number) => Header::Positive(number),
        Err(_) => Header::Negative(number.unsigned_abs() - 1),
    })
}

fn text(text: &str) -> Vec<u8> {
    [header(Header::Text(Some(text.len()))), text.as_bytes().to_vec()].concat()
}

fn bytes(bytes: &[u8]) -> Vec<u8> {
    [header(Header::Bytes(Some(bytes.len()))), bytes.to_vec()].concat()
}

fn array(items: &[Vec<u8>]) -> Vec<u8> {
    [header(Header::Array(Some(items.len()))), items.concat()].concat()
}

/// Of labels with their values.
fn map(entries: &[Vec<u8>]) -> Vec<u8> {
    [header(Header::Map(Some(entries.len()))), entries.concat()].concat()
}

/// An envelope to be, in either format.
#[derive(Clone)]
struct Draft {
    /// The names in JWS and in COSE.
    algorithm: (&'static str, i64),
    content_type: &'static str,
    critical: Vec<&'static str>,
    scheme: &'static str,
    times: Vec<(&'static str, Timestamp)>,
    payload: Value,
    chain: Vec<CertificateDraft>,
    key: u8,
    timestamp: Timestamped,
}

#[derive(Clone, Copy)]
enum Timestamped {
    No,
    /// With the authority's accuracy in seconds.
    Within(u8),
    ByAnotherSignature,
    Broken,
}

fn draft() -> Draft {
    Draft {
        algorithm: ("ES256", -7),
        content_type: PAYLOAD_TYPE,
        critical: vec![SIGNING_SCHEME],
        scheme: "notary.x509",
        times: vec![(SIGNING_TIME, NOON)],
        payload: json!({"targetArtifact": {"mediaType": "a/b", "digest": DIGEST, "size": 1}}),
        chain: vec![signer(), middle(), top()],
        key: 8,
        timestamp: Timestamped::No,
    }
}

impl Draft {
    fn envelopes(&self) -> [(&'static str, Vec<u8>); 2] {
        [(JWS, self.jws().to_string().into_bytes()), (COSE, self.cose())]
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature: p256::ecdsa::Signature = p256_signer(self.key).sign(message);
        signature.to_bytes().to_vec()
    }

    fn token(&self, signature: &[u8]) -> Option<Vec<u8>> {
        match self.timestamp {
            Timestamped::No => None,
            Timestamped::Within(seconds) => Some(timestamps::token(signature, seconds)),
            Timestamped::ByAnotherSignature => Some(timestamps::token(b"another", 0)),
            Timestamped::Broken => Some(vec![0]),
        }
    }

    fn jws(&self) -> Value {
        let mut protected = json!({
            "alg": self.algorithm.0, "cty": self.content_type, "crit": self.critical, SIGNING_SCHEME: self.scheme,
        });
        for (name, time) in &self.times {
            protected[*name] = time.to_string().into();
        }
        self.jws_with(&protected.to_string())
    }

    fn jws_with(&self, protected: &str) -> Value {
        let (protected, payload) =
            (URL_SAFE_NO_PAD.encode(protected), URL_SAFE_NO_PAD.encode(self.payload.to_string()));
        let signature = self.sign(format!("{protected}.{payload}").as_bytes());
        let chain: Vec<String> = self.chain.iter().map(|certificate| base64(certificate.der())).collect();
        let mut header = json!({"x5c": chain});
        if let Some(token) = self.token(&signature) {
            header["io.cncf.notary.timestampSignature"] = base64(token).into();
        }
        let signature = URL_SAFE_NO_PAD.encode(signature);
        json!({"payload": payload, "protected": protected, "header": header, "signature": signature})
    }

    fn cose(&self) -> Vec<u8> {
        self.cose_with(&[])
    }

    /// With more protected headers, each with its value behind it.
    fn cose_with(&self, more: &[Vec<u8>]) -> Vec<u8> {
        let critical: Vec<_> = self.critical.iter().map(|name| text(name)).collect();
        let mut protected = vec![
            [number(1), number(self.algorithm.1)].concat(),
            [number(2), array(&critical)].concat(),
            [number(3), text(self.content_type)].concat(),
            [text(SIGNING_SCHEME), text(self.scheme)].concat(),
        ];
        protected.extend(
            self.times.iter().map(|(name, time)| [text(name), header(Header::Tag(1)), number(time.0)].concat()),
        );
        protected.extend_from_slice(more);
        self.cose_around(&map(&protected))
    }

    fn cose_around(&self, protected: &[u8]) -> Vec<u8> {
        let payload = self.payload.to_string().into_bytes();
        let signature = self.sign(&array(&[text("Signature1"), bytes(protected), bytes(&[]), bytes(&payload)]));
        let chain: Vec<_> = self.chain.iter().map(|certificate| bytes(&certificate.der())).collect();
        let mut unprotected = vec![[number(33), array(&chain)].concat()];
        let token = self.token(&signature);
        unprotected.extend(token.map(|token| [text("io.cncf.notary.timestampSignature"), bytes(&token)].concat()));
        let parts = [bytes(protected), map(&unprotected), bytes(&payload), bytes(&signature)];
        [header(Header::Tag(18)), array(&parts)].concat()
    }

    /// What is found in either format, which must be the same.
    fn found(&self, trust: &Trust<'_>, now: Timestamp) -> Result<Option<Timestamp>, NotaryError> {
        let [jws, cose] = self.envelopes();
        let found = verified(jws.0, &jws.1, trust, now).map(|signed| signed.signed_at);
        let other = verified(cose.0, &cose.1, trust, now).map(|signed| signed.signed_at);
        // Each has its own name of an algorithm.
        if !matches!(found, Err(NotaryError::Algorithm(_))) {
            assert_eq!(found, other);
        }
        found
    }
}

#[test]
fn what_an_envelope_is_refused_for() {
    let roots = [top().made()];
    let trust = trusting(&roots);
    assert_eq!(draft().found(&trust, NOON), Ok(None));
    // A certificate between may be the trusted one.
    assert_eq!(draft().found(&trusting(&[middle().made()]), NOON), Ok(None));

    let later = Timestamp(NOON.0 + 9);
    let with_times = |times: &[(&'static str, Timestamp)]| Draft { times: times.to_vec(), ..draft() };
    let with_payload = |payload: Value| Draft { payload, ..draft() };
    let json_error = |reason: &str| NotaryError::Json("the payload", reason.to_owned());
    let authority = "notary.x509.signingAuthority";
    for (draft, expected) in [
        (Draft { algorithm: ("ES384", -35), ..draft() }, NotaryError::OtherAlgorithm(subject("signer"))),
        (Draft { algorithm: ("PS256", -37), ..draft() }, NotaryError::OtherAlgorithm(subject("signer"))),
        (Draft { algorithm: ("RS256", -257), ..draft() }, NotaryError::Algorithm("RS256".to_owned())),
        (Draft { algorithm: ("HS256", 5), ..draft() }, NotaryError::Algorithm("HS256".to_owned())),
        (Draft { algorithm: ("none", 0), ..draft() }, NotaryError::Algorithm("none".to_owned())),
        (Draft { algorithm: ("EdDSA", -8), ..draft() }, NotaryError::Algorithm("EdDSA".to_owned())),
        (
            Draft { content_type: "application/json", ..draft() },
            NotaryError::PayloadType("application/json".to_owned()),
        ),
        (Draft { scheme: "notary.x510", ..draft() }, NotaryError::SigningScheme("notary.x510".to_owned())),
        (Draft { critical: vec![], ..draft() }, NotaryError::NotCritical(SIGNING_SCHEME)),
        (
            Draft { critical: vec![SIGNING_SCHEME, SIGNING_SCHEME], ..draft() },
            NotaryError::Critical(SIGNING_SCHEME.to_owned()),
        ),
        (Draft { critical: vec![SIGNING_SCHEME, EXPIRY], ..draft() }, NotaryError::Critical(EXPIRY.to_owned())),
        (Draft { critical: vec![SIGNING_SCHEME, "b64"], ..draft() }, NotaryError::Critical("b64".to_owned())),
        (with_times(&[]), NotaryError::Missing(SIGNING_TIME)),
        (with_times(&[(SIGNING_TIME, NOON), (EXPIRY, later)]), NotaryError::NotCritical(EXPIRY)),
        (
            with_times(&[(SIGNING_TIME, NOON), (AUTHENTIC_SIGNING_TIME, NOON)]),
            NotaryError::Forbidden(AUTHENTIC_SIGNING_TIME),
        ),
        (Draft { scheme: authority, ..draft() }, NotaryError::Missing(AUTHENTIC_SIGNING_TIME)),
        (
            Draft { scheme: authority, ..with_times(&[(SIGNING_TIME, NOON), (AUTHENTIC_SIGNING_TIME, NOON)]) },
            NotaryError::Forbidden(SIGNING_TIME),
        ),
        (
            Draft { scheme: authority, ..with_times(&[(AUTHENTIC_SIGNING_TIME, NOON)]) },
            NotaryError::NotCritical(AUTHENTIC_SIGNING_TIME),
        ),
        (with_payload(json!({})), json_error("missing field `targetArtifact` at line 1 column 2")),
        (
            with_payload(json!({"targetArtifact": {"mediaType": "a/b", "size": 1}})),
            json_error("missing field `digest` at line 1 column 46"),
        ),
        (
            with_payload(json!({"targetArtifact": {"mediaType": "a/b", "digest": DIGEST}})),
            json_error("missing field `size` at line 1 column 120"),
        ),
        (Draft { key: 9, ..draft() }, NotaryError::Signature),
        (Draft { chain: vec![], ..draft() }, NotaryError::CertificateCount(0)),
        (Draft { chain: vec![signer(); MAX_CHAIN + 1], ..draft() }, NotaryError::CertificateCount(MAX_CHAIN + 1)),
        (Draft { chain: vec![signer(), middle()], ..draft() }, NotaryError::Untrusted(subject("middle"))),
        (
            Draft { chain: vec![signer(), top()], ..draft() },
            NotaryError::Chain(ChainError::NoIssuer(subject("signer"))),
        ),
        (Draft { chain: vec![signer(), middle(), middle(), top()], ..draft() }, NotaryError::Order),
        (Draft { chain: vec![signer(), alone_authority(), middle(), top()], ..draft() }, NotaryError::Order),
        (Draft { chain: vec![signer(), top(), middle()], ..draft() }, NotaryError::Incomplete(subject("middle"))),
        (Draft { chain: vec![middle(), top()], key: 7, ..draft() }, NotaryError::NotForCode(subject("middle"))),
        (Draft { chain: vec![alone()], key: 5, ..draft() }, NotaryError::Untrusted(subject("alone"))),
        (
            Draft { chain: vec![CertificateDraft::signer("signer", 8, "middle", 9), middle(), top()], ..draft() },
            NotaryError::Chain(ChainError::Signature { subject: subject("signer"), issuer: subject("middle") }),
        ),
    ] {
        assert_eq!(draft.found(&trust, NOON), Err(expected));
    }
    assert_eq!(
        Draft { chain: vec![signer(), middle()], ..draft() }.found(&trusting(&[middle().made()]), NOON),
        Err(NotaryError::Incomplete(subject("middle")))
    );
    // Of a root that isn't the trusted one, the signature counts.
    let forged = CertificateDraft::authority("top", 6, "top", 9);
    assert_eq!(
        Draft { chain: vec![signer(), middle(), forged], ..draft() }.found(&trusting(&[middle().made()]), NOON),
        Err(NotaryError::Incomplete(subject("top")))
    );
    let misspelt = json!({"targetArtifact": {"mediaType": "a/b", "digest": DIGEST, "Digest": "x", "size": 1}});
    let refused = with_payload(misspelt).found(&trust, NOON);
    assert!(
        matches!(&refused, Err(NotaryError::Json("the payload", reason)) if reason.contains("another spelling of `digest`"))
    );
}

fn alone_authority() -> CertificateDraft {
    CertificateDraft::authority("alone", 5, "alone", 5)
}

/// The specification's requirements on certificates.
#[test]
fn what_certificates_must_be_for() {
    let roots = [top().made(), alone().made(), top().with(&[basic_constraints(None)]).made()];
    let trust = trusting(&roots);
    let key_encipherment: u8 = 0b0010_0000;
    let plain_key_usage = || extension("2.5.29.15", false, tlv(0x03, [7, DIGITAL_SIGNATURE]));
    let unfit = |name: &str| NotaryError::NotForCode(subject(name));
    let none = |name: &str| NotaryError::NoKeyUsage(subject(name));
    let with = |leaf: CertificateDraft| Draft { chain: vec![leaf, middle(), top()], ..draft() };
    for (draft, expected) in [
        (with(signer().with(&[key_usage(DIGITAL_SIGNATURE)])), Ok(None)),
        (with(signer().with(&[key_usage(DIGITAL_SIGNATURE | 0b0100_0000)])), Ok(None)),
        (with(signer().with(&[key_usage(DIGITAL_SIGNATURE), extended_key_usage(false, &["1.2.3"])])), Ok(None)),
        (Draft { chain: vec![alone()], key: 5, ..draft() }, Ok(None)),
        (with(signer().with(&[])), Err(none("signer"))),
        (with(signer().with(&[plain_key_usage()])), Err(none("signer"))),
        (with(signer().with(&[key_usage(CERTIFICATE_SIGNING)])), Err(unfit("signer"))),
        (with(signer().with(&[key_usage(DIGITAL_SIGNATURE | CERTIFICATE_SIGNING)])), Err(unfit("signer"))),
        (with(signer().with(&[key_usage(DIGITAL_SIGNATURE | key_encipherment)])), Err(unfit("signer"))),
        (with(signer().and(basic_constraints(None))), Err(unfit("signer"))),
        (
            with(signer().with(&[key_usage(DIGITAL_SIGNATURE), extended_key_usage(false, &["1.3.6.1.5.5.7.3.1"])])),
            Err(NotaryError::Chain(ChainError::Usage { subject: subject("signer"), usage: Usage::NotaryCodeSigning })),
        ),
        (
            Draft { chain: vec![signer(), middle().with(&[basic_constraints(None)]), top()], ..draft() },
            Err(none("middle")),
        ),
        (
            Draft { chain: vec![signer(), middle(), top().with(&[basic_constraints(None)])], ..draft() },
            Err(none("top")),
        ),
        (
            Draft {
                chain: vec![signer(), middle().with(&[basic_constraints(None), key_usage(DIGITAL_SIGNATURE)]), top()],
                ..draft()
            },
            Err(NotaryError::Chain(ChainError::NotAuthority(subject("middle")))),
        ),
        (
            Draft { chain: vec![signer(), middle().with(&[key_usage(CERTIFICATE_SIGNING)]), top()], ..draft() },
            Err(NotaryError::Chain(ChainError::NotAuthority(subject("middle")))),
        ),
    ] {
        assert_eq!(draft.found(&trust, NOON), expected);
    }
}

#[test]
fn when_certificates_must_be_valid() {
    let roots = [top().valid(0, 2_400_000_000).made()];
    let authorities = [timestamps::root().made()];
    let without = trusting(&roots);
    let with = Trust { timestamp_authorities: &authorities, ..without };
    let strangers = [top().made()];
    let others = Trust { timestamp_authorities: &strangers, ..without };
    let signing = Trust { store: Store::SigningAuthority, ..without };
    let revoked = [Revoked::Fingerprint(timestamps::stamper().made().fingerprint())];
    let (before, after) = (NOON.0 - 5, NOON.0 + 5);
    let tomorrow = Timestamp(NOON.0 + 86_400);
    let chain = |leaf| vec![leaf, middle().valid(0, 2_400_000_000), top().valid(0, 2_400_000_000)];
    let short = |timestamp| Draft { chain: chain(signer().valid(before, after)), timestamp, ..draft() };
    let not_valid = |seconds| {
        Err(NotaryError::Chain(ChainError::NotValid {
            subject: subject("signer"),
            from: Timestamp(before),
            until: Timestamp(after),
            at: Timestamp(seconds),
        }))
    };
    let authentic = |time| Draft {
        scheme: "notary.x509.signingAuthority",
        critical: vec![SIGNING_SCHEME, AUTHENTIC_SIGNING_TIME],
        times: vec![(AUTHENTIC_SIGNING_TIME, Timestamp(time))],
        ..short(Timestamped::Broken)
    };
    for (draft, trust, now, expected) in [
        (short(Timestamped::No), with, NOON, Ok(None)),
        (short(Timestamped::No), with, Timestamp(after), Ok(None)),
        (short(Timestamped::No), with, Timestamp(after + 1), not_valid(after + 1)),
        (short(Timestamped::No), with, Timestamp(before - 1), not_valid(before - 1)),
        (short(Timestamped::Within(5)), with, tomorrow, Ok(Some(NOON))),
        // The whole interval counts.
        (short(Timestamped::Within(6)), with, tomorrow, not_valid(before - 1)),
        (
            Draft { chain: chain(signer().valid(before - 1, after)), ..short(Timestamped::Within(6)) },
            with,
            tomorrow,
            Err(NotaryError::Chain(ChainError::NotValid {
                subject: subject("signer"),
                from: Timestamp(before - 1),
                until: Timestamp(after),
                at: Timestamp(after + 1),
            })),
        ),
        (short(Timestamped::Within(0)), without, tomorrow, not_valid(tomorrow.0)),
        (short(Timestamped::Within(0)), without, NOON, Ok(None)),
        (short(Timestamped::Broken), without, NOON, Ok(None)),
        (short(Timestamped::Broken), with, NOON, Err(NotaryError::Timestamp(TimestampError::Malformed))),
        (short(Timestamped::ByAnotherSignature), with, NOON, Err(NotaryError::Timestamp(TimestampError::OtherMessage))),
        (
            short(Timestamped::Within(0)),
            others,
            NOON,
            Err(NotaryError::Timestamp(TimestampError::Chain(ChainError::NoIssuer(subject("stamper"))))),
        ),
        (
            short(Timestamped::Within(0)),
            Trust { revoked: &revoked, ..with },
            NOON,
            Err(NotaryError::Revoked(subject("stamper"))),
        ),
        // A signing authority needs no timestamp, and what is there isn't looked at.
        (authentic(NOON.0), signing, tomorrow, Ok(Some(NOON))),
        (authentic(after + 1), signing, NOON, not_valid(after + 1)),
    ] {
        assert_eq!(draft.found(&trust, now), expected);
    }
}

#[test]
fn a_jws_is_as_its_specification_has_it() {
    let whole = draft().jws();
    let with = |field: &str, value: Value| {
        let mut other = whole.clone();
        other[field] = value;
        other.to_string()
    };
    let text = |field: &str| whole[field].as_str().unwrap().to_owned();
    let (envelope, protected) = ("the envelope", "the protected header");
    let json = |part, reason: &str| (part, reason.to_owned());
    for (document, (part, reason)) in [
        (String::new(), json(envelope, "EOF while parsing")),
        ("[]".to_owned(), json(envelope, "invalid type: sequence")),
        (with("signatures", json!([])), json(envelope, "unknown field `signatures`")),
        (with("Payload", json!("")), json(envelope, "another spelling of `payload`")),
        (with("header", json!({})), json(envelope, "missing field `x5c`")),
        (with("header", json!({"x5c": "AA"})), json(envelope, "invalid type")),
        (with("header", json!({"x5c": [], "X5C": []})), json(envelope, "another spelling of `x5c`")),
        (with("protected", json!(URL_SAFE_NO_PAD.encode("{}"))), json(protected, "missing field `alg`")),
        (with("protected", json!(URL_SAFE_NO_PAD.encode([0xff]))), json(protected, "")),
        (whole.to_string().replacen('{', r#"{"payload": "","#, 1), json(envelope, "duplicate field `payload`")),
        (draft().jws_with(r#"{"alg": "ES256", "alg": "ES384"}"#).to_string(), json(protected, "duplicate field `alg`")),
        (
            draft().jws_with(r#"{"alg": "ES256", "Alg": "ES384"}"#).to_string(),
            json(protected, "another spelling of `alg`"),
        ),
    ] {
        match Envelope::read(JWS, document.as_bytes()) {
            Err(NotaryError::Json(found, words)) => {
                assert_eq!(found, part, "{document}");
                assert!(words.contains(&reason), "{document}: {words}");
            }
            other => panic!("{document}: {other:?}"),
        }
    }
    for (field, document) in [
        ("payload", with("payload", json!(text("payload") + "=="))),
        ("protected", with("protected", json!("a+b"))),
        ("signature", with("signature", json!("a b"))),
        ("x5c", with("header", json!({"x5c": ["-_-_"]}))),
        (
            "io.cncf.notary.timestampSignature",
            with("header", json!({"x5c": [], "io.cncf.notary.timestampSignature": "!"})),
        ),
    ] {
        assert_eq!(Envelope::read(JWS, document.as_bytes()).map(|_| ()), Err(NotaryError::Base64(field)));
    }
    let no_time = json!({
        "alg": "ES256", "cty": PAYLOAD_TYPE, "crit": [SIGNING_SCHEME], SIGNING_SCHEME: "notary.x509",
        SIGNING_TIME: "yesterday",
    });
    let document = draft().jws_with(&no_time.to_string()).to_string();
    assert_eq!(Envelope::read(JWS, document.as_bytes()).map(|_| ()), Err(NotaryError::Missing(SIGNING_TIME)));
    let no_certificate = with("header", json!({"x5c": ["AAAA"]}));
    assert_eq!(
        Envelope::read(JWS, no_certificate.as_bytes()).map(|_| ()),
        Err(NotaryError::Certificate(CertificateError::Malformed))
    );
    let large = format!("{whole}{}", " ".repeat(MAX_ENVELOPE_BYTES));
    assert_eq!(Envelope::read(JWS, large.as_bytes()).map(|_| ()), Err(NotaryError::TooLarge));
}

#[test]
fn a_cose_is_as_its_specification_has_it() {
    let whole = draft().cose();
    let roots = [top().made()];
    let with = |label: Vec<u8>, value: Vec<u8>| draft().cose_with(&[[label, value].concat()]);
    let verified = |bytes: &[u8]| verified(COSE, bytes, &trusting(&roots), NOON).map(|_| ());
    assert_eq!(verified(&whole), Ok(()));
    // Other headers may have any form.
    let simple = || header(Header::Simple(22));
    let float = || header(Header::Float(1.5));
    let nested =
        array(&[map(&[[number(1), float()].concat()]), header(Header::Tag(9)), bytes(b"a"), text("b"), simple()]);
    // The tag belongs to what follows it, so there are four.
    let nested = [&header(Header::Array(Some(4))), &nested[1..]].concat();
    assert_eq!(verified(&with(text("other"), nested)), Ok(()));
    assert_eq!(verified(&with(number(-99), number(i64::MIN))), Ok(()));
    let expiring = |value: Vec<u8>| {
        Draft { critical: vec![SIGNING_SCHEME, EXPIRY], ..draft() }.cose_with(&[[text(EXPIRY), value].concat()])
    };
    let tagged = |tag, value: Vec<u8>| [header(Header::Tag(tag)), value].concat();
    assert_eq!(verified(&expiring(tagged(1, number(NOON.0 + 9)))), Ok(()));
    for (bytes, expected) in [
        (Vec::new(), NotaryError::Cbor),
        // Without its tag, with another one, and with more behind it.
        (whole[1..].to_vec(), NotaryError::Cbor),
        ([&[0xd1], &whole[1..]].concat(), NotaryError::Cbor),
        ([&whole[..], &simple()].concat(), NotaryError::Cbor),
        (draft().cose_around(&map(&[])), NotaryError::Cbor),
        (draft().cose_around(&[]), NotaryError::Cbor),
        (draft().cose_around(&[map(&[]), simple()].concat()), NotaryError::Cbor),
        // An endless map, and maps, arrays and strings of more than there is.
        (draft().cose_around(&[0xbf, 0xff]), NotaryError::Cbor),
        (draft().cose_around(&header(Header::Map(Some(usize::MAX)))), NotaryError::Cbor),
        (with(text("other"), header(Header::Map(Some(usize::MAX)))), NotaryError::Cbor),
        (with(text("other"), header(Header::Array(Some(usize::MAX)))), NotaryError::Cbor),
        (with(text("other"), header(Header::Bytes(Some(usize::MAX)))), NotaryError::Cbor),
        (with(text("other"), header(Header::Array(None))), NotaryError::Cbor),
        (with(text("other"), header(Header::Break)), NotaryError::Cbor),
        // Labels that stand twice, that are neither a number nor text, and that are too large.
        (with(number(1), number(-7)), NotaryError::Cbor),
        (with(text(SIGNING_SCHEME), text("notary.x509")), NotaryError::Cbor),
        (with(bytes(b"key"), simple()), NotaryError::Cbor),
        (with(header(Header::Positive(u64::MAX)), simple()), NotaryError::Cbor),
        // Text that is no UTF-8, as a label and as a value that nobody reads.
        (with(vec![0x61, 0xff], simple()), NotaryError::Cbor),
        (with(text("other"), vec![0x61, 0xff]), NotaryError::Cbor),
        (expiring(number(NOON.0 + 9)), NotaryError::Missing(EXPIRY)),
        (expiring(tagged(0, text("2030-01-01T00:00:00Z"))), NotaryError::Missing(EXPIRY)),
        (expiring(tagged(1, header(Header::Float(1.9e9)))), NotaryError::Missing(EXPIRY)),
        (expiring(simple()), NotaryError::Missing(EXPIRY)),
    ] {
        assert_eq!(verified(&bytes), Err(expected), "{bytes:02x?}");
    }
    let numbered = map(&[[number(2), array(&[number(-99)])].concat()]);
    assert_eq!(verified(&draft().cose_around(&numbered)), Err(NotaryError::Critical("-99".to_owned())));
}

#[test]
fn identities_are_subjects() {
    let subject = |attributes: &[(&'static str, &str)]| {
        let attributes = attributes.iter().map(|(name, value)| (*name, (*value).to_owned()));
        Ok(TrustedIdentity::Subject(attributes.collect::<BTreeMap<_, _>>()))
    };
    let syntax = |text: &str| Err(IdentityError::Syntax(text.to_owned()));
    for (text, expected) in [
        ("*", Ok(TrustedIdentity::Anybody)),
        ("x509.subject: C=US, ST=WA, O=Team", subject(&[("C", "US"), ("ST", "WA"), ("O", "Team")])),
        ("x509.subject:O=Team,S=WA,C=US", subject(&[("C", "US"), ("ST", "WA"), ("O", "Team")])),
        ("x509.subject: c = US , st = WA , o = a  b ", subject(&[("C", "US"), ("ST", "WA"), ("O", "a  b")])),
        (
            r"x509.subject: C=US, ST=WA, O=Team\, Inc\2e, CN=a\\b=c",
            subject(&[("C", "US"), ("ST", "WA"), ("O", "Team, Inc."), ("CN", r"a\b=c")]),
        ),
        (r"x509.subject: C=US, ST=WA, O=\ Team\ ", subject(&[("C", "US"), ("ST", "WA"), ("O", " Team ")])),
        ("", Err(IdentityError::Kind(String::new()))),
        ("C=US, ST=WA, O=Team", Err(IdentityError::Kind("C=US, ST=WA, O=Team".to_owned()))),
        ("x509.subject:", syntax("")),
        ("x509.subject:C=US, ST=WA, O", syntax("C=US, ST=WA, O")),
        ("x509.subject:C=US, ST=WA, O=", syntax("C=US, ST=WA, O=")),
        ("x509.subject:C=US, ST=WA, O=a;b", syntax("C=US, ST=WA, O=a;b")),
        ("x509.subject:C=US+ST=WA, O=a", syntax("C=US+ST=WA, O=a")),
        ("x509.subject:C=US, ST=WA, O=#0c01", syntax("C=US, ST=WA, O=#0c01")),
        (r"x509.subject:C=US, ST=WA, O=a\", syntax(r"C=US, ST=WA, O=a\")),
        (r"x509.subject:C=US, ST=WA, O=a\c3\a4", syntax(r"C=US, ST=WA, O=a\c3\a4")),
        ("x509.subject:C=US, ST=WA, O=a,", syntax("C=US, ST=WA, O=a,")),
        ("x509.subject:C=US, ST=WA", Err(IdentityError::Missing("O"))),
        ("x509.subject:C=US ST=WA, O=Team", Err(IdentityError::Missing("ST"))),
        ("x509.subject:C=US, ST=WA, O=a, O=b", Err(IdentityError::Twice("O"))),
        ("x509.subject:C=US, ST=WA, S=OR, O=a", Err(IdentityError::Twice("ST"))),
        ("x509.subject:C=US, ST=WA, O=a, E=b", Err(IdentityError::Attribute("E".to_owned()))),
    ] {
        assert_eq!(TrustedIdentity::parse(text), expected, "{text}");
    }

    let [(media_type, bytes), _] = both!("p256");
    let signer = Envelope::read(media_type, bytes).unwrap().leaf;
    for (text, expected) in [
        ("*", true),
        (r"x509.subject: C=US, ST=WA, O=Team\, Inc.", true),
        (r"x509.subject: C=US, ST=WA, O=Team\, Inc., CN=p256", true),
        (r"x509.subject: C=US, ST=WA, O=Team\, Inc., CN=p25", false),
        (r"x509.subject: C=US, ST=WA, O=team\, inc.", false),
        (r"x509.subject: C=US, ST=WA, O=Team\, Inc., OU=a", false),
    ] {
        assert_eq!(TrustedIdentity::parse(text).unwrap().matches(&signer), expected, "{text}");
    }
    // An attribute that is there twice is nobody's.
    let name =
        |values: &[&str]| TrustedIdentity::Subject(values.iter().map(|value| ("O", (*value).to_owned())).collect());
    assert!(name(&["Team, Inc."]).matches(&draft().chain[0].made()));
    assert!(!name(&["Team, Inc."]).matches(&twice().made()));
}

/// With two organizations in its subject.
fn twice() -> CertificateDraft {
    CertificateDraft::signer("twice", 8, "middle", 7)
}

#[test]
fn revoked_certificates_are_named_by_digits() {
    let number = |digits: &str| Ok(Revoked::SerialNumber(digits.to_owned()));
    let refused = |text: &str| Err(RevokedError(text.to_owned()));
    for (text, expected) in [
        ("01", number("1")),
        ("00:AB:cd", number("abcd")),
        ("0123456789abcdef0123456789abcdef01234567", number("123456789abcdef0123456789abcdef01234567")),
        ("", refused("")),
        ("00", refused("00")),
        ("0x12", refused("0x12")),
        ("12 34", refused("12 34")),
    ] {
        assert_eq!(Revoked::parse(text), expected, "{text}");
    }
    let fingerprint = "AB:".repeat(31) + "CD";
    assert_eq!(Revoked::parse(&fingerprint), Ok(Revoked::Fingerprint("ab".repeat(31) + "cd")));
    let sha1 = "AB:".repeat(24) + "CD";
    assert_eq!(Revoked::parse(&sha1), refused(&sha1));
}

#[test]
fn errors_say_what_was_found_and_what_to_do() {
    let untrusted = NotaryError::Untrusted("CN=root,O=Team".to_owned());
    assert_eq!(
        untrusted.to_string(),
        "the signature leads to the root `CN=root,O=Team`, which isn't trusted; add this root if you trust it"
    );
    let missing = IdentityError::Missing("O").to_string();
    assert_eq!(missing, "the subject lacks the attribute `O`; give at least `C`, `ST`, `O`");
}
