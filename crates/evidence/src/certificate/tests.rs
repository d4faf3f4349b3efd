//! Certificates made for each rule, and what their chains are refused for.

use super::*;
use crate::key::tests::{P256_PREFIX, base64, p256_signer};
use p256::ecdsa::signature::Signer as _;

const ECDSA_SHA256: &str = "1.2.840.10045.4.3.2";
pub(crate) const NOON: Timestamp = Timestamp(1_700_000_000);

/// A value of DER: its tag, its length, and its content.
pub(crate) fn tlv(tag: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let length = content.len();
    let head = match length {
        0..128 => vec![tag, length as u8],
        128..256 => vec![tag, 0x81, length as u8],
        _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
    };
    [&head, content].concat()
}

pub(crate) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, parts.concat())
}

pub(crate) fn oid(identifier: &str) -> Vec<u8> {
    ObjectIdentifier::new(identifier).unwrap().to_der().unwrap()
}

fn time(at: Timestamp) -> Vec<u8> {
    let text = at.to_string().replace(['-', ':', 'T'], "");
    tlv(0x17, text.split_at(2).1)
}

/// A name of organization and common name; empty for none, and with the organization twice for one that says so.
fn name(common: &str) -> Vec<u8> {
    let attribute = |identifier, value: &str| tlv(0x31, sequence(&[oid(identifier), tlv(0x0c, value)]));
    if common.is_empty() {
        return sequence(&[]);
    }
    let organizations = attribute("2.5.4.10", "Team, Inc.").repeat(1 + usize::from(common.contains("twice")));
    sequence(&[organizations, attribute("2.5.4.3", common)])
}

pub(crate) fn extension(identifier: &str, critical: bool, value: Vec<u8>) -> Vec<u8> {
    let critical = if critical { tlv(0x01, [0xff]) } else { Vec::new() };
    sequence(&[oid(identifier), critical, tlv(0x04, value)])
}

pub(crate) fn basic_constraints(path_length: Option<u8>) -> Vec<u8> {
    let path_length = path_length.map(|most| tlv(0x02, [most])).unwrap_or_default();
    extension("2.5.29.19", true, sequence(&[tlv(0x01, [0xff]), path_length]))
}

/// Bits of key usage, the first one on the left, as many as are used.
pub(crate) fn key_usage(bits: u8) -> Vec<u8> {
    extension("2.5.29.15", true, tlv(0x03, [bits.trailing_zeros() as u8, bits]))
}

pub(crate) fn extended_key_usage(critical: bool, purposes: &[&str]) -> Vec<u8> {
    extension("2.5.29.37", critical, sequence(&purposes.iter().map(|purpose| oid(purpose)).collect::<Vec<_>>()))
}

pub(crate) const DIGITAL_SIGNATURE: u8 = 0b1000_0000;
pub(crate) const CERTIFICATE_SIGNING: u8 = 0b0000_0100;
const CODE: &str = "1.3.6.1.5.5.7.3.3";
const TIME: &str = "1.3.6.1.5.5.7.3.8";

/// A certificate to be. Keys are told apart by their seeds.
#[derive(Clone)]
pub(crate) struct Draft {
    subject: &'static str,
    issuer: &'static str,
    key: u8,
    issuer_key: u8,
    from: Timestamp,
    until: Timestamp,
    algorithm: &'static str,
    extensions: Vec<Vec<u8>>,
}

impl Draft {
    pub(crate) fn authority(subject: &'static str, key: u8, issuer: &'static str, issuer_key: u8) -> Self {
        let extensions = vec![basic_constraints(None), key_usage(CERTIFICATE_SIGNING)];
        Self::leaf(subject, key, issuer, issuer_key, extensions)
    }

    pub(crate) fn signer(subject: &'static str, key: u8, issuer: &'static str, issuer_key: u8) -> Self {
        let extensions = vec![key_usage(DIGITAL_SIGNATURE), extended_key_usage(false, &[CODE])];
        Self::leaf(subject, key, issuer, issuer_key, extensions)
    }

    pub(crate) fn time_stamper(subject: &'static str, key: u8, issuer: &'static str, issuer_key: u8) -> Self {
        let extensions = vec![key_usage(DIGITAL_SIGNATURE), extended_key_usage(true, &[TIME])];
        Self::leaf(subject, key, issuer, issuer_key, extensions)
    }

    fn leaf(subject: &'static str, key: u8, issuer: &'static str, issuer_key: u8, extensions: Vec<Vec<u8>>) -> Self {
        let (from, until) = (Timestamp(NOON.0 - 3_600), Timestamp(NOON.0 + 3_600));
        Self { subject, issuer, key, issuer_key, from, until, algorithm: ECDSA_SHA256, extensions }
    }

    pub(crate) fn with(mut self, extensions: &[Vec<u8>]) -> Self {
        self.extensions = extensions.to_vec();
        self
    }

    pub(crate) fn and(mut self, extension: Vec<u8>) -> Self {
        self.extensions.push(extension);
        self
    }

    pub(crate) fn valid(mut self, from: i64, until: i64) -> Self {
        (self.from, self.until) = (Timestamp(from), Timestamp(until));
        self
    }

    pub(crate) fn der(&self) -> Vec<u8> {
        self.der_with(self.signature().to_der().as_bytes())
    }

    /// The issuer's signature.
    pub(crate) fn signature(&self) -> p256::ecdsa::Signature {
        p256_signer(self.issuer_key).sign(&self.signed_part())
    }

    /// With this signature.
    pub(crate) fn der_with(&self, signature: &[u8]) -> Vec<u8> {
        sequence(&[self.signed_part(), sequence(&[oid(self.algorithm)]), tlv(0x03, [&[0], signature].concat())])
    }

    fn signed_part(&self) -> Vec<u8> {
        let point = p256_signer(self.key).verifying_key().to_sec1_point(false);
        sequence(&[
            tlv(0xa0, tlv(0x02, [2])),
            tlv(0x02, [self.key]),
            sequence(&[oid(self.algorithm)]),
            name(self.issuer),
            sequence(&[time(self.from), time(self.until)]),
            name(self.subject),
            [P256_PREFIX, point.as_bytes()].concat(),
            tlv(0xa3, sequence(&self.extensions)),
        ])
    }

    pub(crate) fn made(&self) -> Certificate {
        Certificate::from_der(&self.der()).unwrap()
    }
}

fn root() -> Draft {
    Draft::authority("root", 1, "root", 1)
}

fn middle() -> Draft {
    Draft::authority("middle", 2, "root", 1)
}

fn leaf() -> Draft {
    Draft::signer("leaf", 3, "middle", 2)
}

/// The subjects of the chain, or why there is none.
fn found(leaf: &Draft, others: &[Draft], roots: &[Draft], usage: Usage) -> Result<Vec<String>, ChainError> {
    let made = |drafts: &[Draft]| drafts.iter().map(Draft::made).collect::<Vec<_>>();
    let (leaf, others, roots) = (leaf.made(), made(others), made(roots));
    let chain = chain(&leaf, &others, &roots, NOON, usage)?;
    Ok(chain.iter().map(|certificate| certificate.subject_values("CN").next().unwrap_or_default().to_owned()).collect())
}

#[test]
fn a_certificate_says_what_is_in_it() {
    let draft = leaf().and(extension("1.2.3", false, tlv(0x0c, "value")));
    let certificate = draft.made();
    assert_eq!(certificate.der(), draft.der());
    assert_eq!(certificate.subject(), r"CN=leaf,O=Team\, Inc.");
    assert_eq!(certificate.subject_values("O").collect::<Vec<_>>(), ["Team, Inc."]);
    assert_eq!(certificate.subject_values("C").count(), 0);
    assert_eq!(certificate.serial_number(), "03");
    assert_eq!(certificate.fingerprint(), hex(&Sha256::digest(draft.der())));
    assert_eq!(certificate.extension(ObjectIdentifier::new_unwrap("1.2.3")), Some(&tlv(0x0c, "value")[..]));
    assert_eq!(certificate.extension(ObjectIdentifier::new_unwrap("1.2.4")), None);
    assert_eq!(certificate.key(), &PublicKey::P256(*p256_signer(3).verifying_key()));
    for (at, expected) in [(-3_601, false), (-3_600, true), (3_600, true), (3_601, false)] {
        assert_eq!(certificate.is_valid_at(Timestamp(NOON.0 + at)), expected, "{at}");
    }
    assert!(!certificate.is_valid_at(Timestamp(-1)));
    assert_eq!(Draft::signer("", 3, "middle", 2).made().name(), "serial number 03");
}

#[test]
fn names_are_written_as_in_rfc_4514() {
    for (value, expected) in [
        ("plain", "plain"),
        (" a ", r"\ a\ "),
        (" ", r"\ "),
        ("#a#", r"\#a#"),
        (r#"a+b,c;d<e>f"g\h"#, r#"a\+b\,c\;d\<e\>f\"g\\h"#),
        ("", ""),
    ] {
        assert_eq!(escaped(value), expected, "{value}");
    }
}

#[test]
fn broken_certificates_are_refused() {
    let whole = leaf().der();
    let signer_algorithm = {
        let mut other = whole.clone();
        let inner = oid(ECDSA_SHA256);
        let outer = other.windows(inner.len()).rposition(|window| window == inner).unwrap();
        other[outer + inner.len() - 1] = 3;
        other
    };
    let version = {
        let mut other = whole.clone();
        let at = other.windows(5).position(|window| window == [0xa0, 3, 2, 1, 2]).unwrap();
        other[at + 4] = 1;
        other
    };
    let duplicate = leaf().and(key_usage(DIGITAL_SIGNATURE)).der();
    let unreadable = leaf().with(&[extension("2.5.29.19", true, tlv(0x0c, ""))]).der();
    let large = leaf().and(extension("1.2.3", false, tlv(0x04, vec![0; MAX_CERTIFICATE_BYTES]))).der();
    let off_curve = {
        let mut other = whole.clone();
        let at = other.windows(P256_PREFIX.len()).position(|window| window == P256_PREFIX).unwrap();
        other[at + P256_PREFIX.len() + 1] ^= 1;
        other
    };
    for (der, expected) in [
        (Vec::new(), CertificateError::Malformed),
        (whole[1..].to_vec(), CertificateError::Malformed),
        ([&whole[..], &[0]].concat(), CertificateError::Malformed),
        (signer_algorithm, CertificateError::Malformed),
        (version, CertificateError::Malformed),
        (duplicate, CertificateError::DuplicateExtension(KEY_USAGE)),
        (unreadable, CertificateError::Malformed),
        (large, CertificateError::TooLarge),
        (off_curve, CertificateError::Key(KeyError::NotOnCurve("P-256"))),
    ] {
        assert_eq!(Certificate::from_der(&der).map(|_| ()), Err(expected));
    }
    assert!(Certificate::from_der(&whole).is_ok());
}

#[test]
fn a_file_may_have_many_certificates_and_nothing_else() {
    let pem = |draft: &Draft| format!("{BEGIN}\n{}\n{END}\n", base64(draft.der()));
    let both = format!("# the team's\n{}# and its root\n{}\n", pem(&leaf()), pem(&root()));
    assert_eq!(Certificate::all_from_pem(&both), Ok(vec![leaf().made(), root().made()]));
    let private = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    for (pem, expected) in [
        (String::new(), CertificateError::NotPem),
        (both.replace(END, ""), CertificateError::NotPem),
        (both.replace("MII", "M!I"), CertificateError::NotPem),
        (both.replace("MII", "AII"), CertificateError::Malformed),
        (format!("{private}{both}"), CertificateError::Label("PRIVATE KEY".to_owned())),
        (format!("{both}{private}"), CertificateError::Label("PRIVATE KEY".to_owned())),
    ] {
        assert_eq!(Certificate::all_from_pem(&pem), Err(expected), "{pem}");
    }
}

#[test]
fn chains_lead_to_a_root() {
    let chain = |names: &[&str]| Ok(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
    let old_root = Draft { key: 9, issuer_key: 9, ..root() };
    let code = Usage::CodeSigning;
    for (leaf, others, roots, usage, expected) in [
        (leaf(), vec![middle()], vec![root()], code, chain(&["leaf", "middle", "root"])),
        (leaf(), vec![], vec![middle()], code, chain(&["leaf", "middle"])),
        (leaf(), vec![], vec![leaf()], code, chain(&["leaf"])),
        // What is no part of the way is in nobody's way: other roots of the name, and the same authority again.
        (leaf(), vec![root(), middle(), middle()], vec![old_root, root()], code, chain(&["leaf", "middle", "root"])),
        (Draft::signer("", 3, "root", 1), vec![], vec![root()], code, chain(&["", "root"])),
        (
            Draft::time_stamper("stamp", 4, "root", 1),
            vec![],
            vec![root()],
            Usage::TimeStamping,
            chain(&["stamp", "root"]),
        ),
        (
            Draft::signer("leaf", 3, "root", 1).with(&[key_usage(DIGITAL_SIGNATURE)]),
            vec![],
            vec![root().and(extended_key_usage(false, &[TIME]))],
            Usage::NotaryCodeSigning,
            chain(&["leaf", "root"]),
        ),
        (
            leaf().and(extension("2.5.29.17", true, sequence(&[]))),
            vec![middle().and(extended_key_usage(false, &[CODE]))],
            vec![root().and(extended_key_usage(false, &["2.5.29.37.0"]))],
            code,
            chain(&["leaf", "middle", "root"]),
        ),
    ] {
        assert_eq!(found(&leaf, &others, &roots, usage), expected, "{usage:?}");
    }
}

#[test]
fn what_breaks_a_chain() {
    let called = |name: &str| format!(r"CN={name},O=Team\, Inc.");
    let not_valid = |name: &str, from, until| ChainError::NotValid {
        subject: called(name),
        from: Timestamp(from),
        until: Timestamp(until),
        at: NOON,
    };
    let unusable = |name: &str, usage| ChainError::Usage { subject: called(name), usage };
    let unsigned =
        |subject: &str, issuer: &str| ChainError::Signature { subject: called(subject), issuer: called(issuer) };
    let critical =
        |name: &str, identifier| ChainError::CriticalExtension(called(name), ObjectIdentifier::new_unwrap(identifier));
    let (past, future) = ((NOON.0 - 9, NOON.0 - 1), (NOON.0 + 1, NOON.0 + 9));
    let name_constraints = extension("2.5.29.30", true, sequence(&[]));
    let code = Usage::CodeSigning;
    for (leaf, middle, root, expected) in [
        (leaf(), Draft { subject: "other", ..middle() }, root(), ChainError::NoIssuer(called("leaf"))),
        (leaf(), middle(), Draft { subject: "other", ..root() }, ChainError::NoIssuer(called("middle"))),
        (leaf().valid(past.0, past.1), middle(), root(), not_valid("leaf", past.0, past.1)),
        (leaf().valid(future.0, future.1), middle(), root(), not_valid("leaf", future.0, future.1)),
        (leaf(), middle().valid(past.0, past.1), root(), not_valid("middle", past.0, past.1)),
        (leaf(), middle(), root().valid(past.0, past.1), not_valid("root", past.0, past.1)),
        (Draft { issuer_key: 9, ..leaf() }, middle(), root(), unsigned("leaf", "middle")),
        (leaf(), Draft { issuer_key: 9, ..middle() }, root(), unsigned("middle", "root")),
        (leaf(), middle(), Draft { key: 9, ..root() }, unsigned("middle", "root")),
        (
            Draft { algorithm: "1.2.840.10045.4.1", ..leaf() },
            middle(),
            root(),
            ChainError::SignatureAlgorithm(called("leaf")),
        ),
        (leaf(), middle().with(&[key_usage(CERTIFICATE_SIGNING)]), root(), ChainError::NotAuthority(called("middle"))),
        (
            leaf(),
            middle().with(&[extension("2.5.29.19", true, sequence(&[]))]),
            root(),
            ChainError::NotAuthority(called("middle")),
        ),
        (
            leaf(),
            middle().with(&[basic_constraints(None), key_usage(DIGITAL_SIGNATURE)]),
            root(),
            ChainError::NotAuthority(called("middle")),
        ),
        (
            leaf(),
            middle(),
            root().with(&[basic_constraints(Some(0)), key_usage(CERTIFICATE_SIGNING)]),
            ChainError::PathLength(called("root")),
        ),
        (leaf().and(extension("1.2.3", true, Vec::new())), middle(), root(), critical("leaf", "1.2.3")),
        (leaf(), middle().and(name_constraints.clone()), root(), critical("middle", "2.5.29.30")),
        (leaf(), middle(), root().and(name_constraints), critical("root", "2.5.29.30")),
        (
            leaf().with(&[key_usage(CERTIFICATE_SIGNING), extended_key_usage(false, &[CODE])]),
            middle(),
            root(),
            unusable("leaf", code),
        ),
        (leaf().with(&[key_usage(DIGITAL_SIGNATURE)]), middle(), root(), unusable("leaf", code)),
        (leaf().with(&[extended_key_usage(false, &["2.5.29.37.0"])]), middle(), root(), unusable("leaf", code)),
        (leaf(), middle().and(extended_key_usage(false, &[TIME])), root(), unusable("middle", code)),
    ] {
        assert_eq!(found(&leaf, &[middle], &[root], code), Err(expected));
    }

    for (usage, extension) in [
        (Usage::TimeStamping, extended_key_usage(false, &[TIME])),
        (Usage::TimeStamping, extended_key_usage(true, &[TIME, CODE])),
        (Usage::TimeStamping, extended_key_usage(true, &[CODE])),
        (Usage::NotaryCodeSigning, extended_key_usage(false, &[CODE, TIME])),
        (Usage::NotaryCodeSigning, extended_key_usage(false, &["2.5.29.37.0"])),
    ] {
        let leaf = Draft::signer("leaf", 3, "root", 1).with(&[key_usage(DIGITAL_SIGNATURE), extension]);
        assert_eq!(found(&leaf, &[], &[root()], usage), Err(unusable("leaf", usage)));
    }
}

#[test]
fn the_length_of_a_path_counts_the_authorities_between() {
    let limited = |most| root().with(&[basic_constraints(Some(most)), key_usage(CERTIFICATE_SIGNING)]);
    let direct = Draft::signer("leaf", 3, "root", 1);
    assert!(found(&direct, &[], &[limited(0)], Usage::CodeSigning).is_ok());
    assert!(found(&leaf(), &[middle()], &[limited(1)], Usage::CodeSigning).is_ok());
    // An authority's new key under its old name is no other authority (RFC 5280, section 6.1.4, step l).
    let renewed = Draft::authority("root", 5, "root", 1);
    let by_new_key = Draft::signer("leaf", 3, "root", 5);
    assert!(found(&by_new_key, &[renewed], &[limited(0)], Usage::CodeSigning).is_ok());
}

#[test]
fn the_search_is_bounded() {
    const NAMES: [&str; 9] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];
    let authorities: Vec<Draft> = (1..9)
        .map(|index| Draft::authority(NAMES[index], 10 + index as u8, NAMES[index - 1], 9 + index as u8))
        .collect();
    let top = Draft::authority(NAMES[0], 10, NAMES[0], 10);
    let under = |index: usize| Draft::signer("leaf", 3, NAMES[index], 10 + index as u8);
    let roots = [top];
    assert_eq!(found(&under(6), &authorities, &roots, Usage::CodeSigning).map(|chain| chain.len()), Ok(MAX_CHAIN));
    assert_eq!(found(&under(7), &authorities, &roots, Usage::CodeSigning), Err(ChainError::TooLong));

    // Each of these signed the next one, so the ways between them are long and many.
    let tangle: Vec<Draft> = (20..40).map(|key| Draft::authority("tangle", key, "tangle", key + 1)).collect();
    let leaf = Draft::signer("leaf", 3, "tangle", 20);
    assert_eq!(found(&leaf, &tangle, &[root()], Usage::CodeSigning), Err(ChainError::TooLong));
    let strangers: Vec<Draft> = (20..40).map(|key| Draft::authority("middle", key, "root", 1)).collect();
    assert_eq!(found(&self::leaf(), &strangers, &[root()], Usage::CodeSigning), Err(ChainError::TooManySignatures));
}
