//! Bundles of an instance of Sigstore that is made here: an authority, a certificate log, Rekor v1 and v2, a timestamp authority. Each
//! rejected bundle differs from one that verifies by one thing.

use p256::ecdsa::signature::Signer as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::log::tests::Tree;
use super::*;
use crate::certificate::tests::{Draft as CertificateDraft, NOON, extension, oid, sequence, tlv};
use crate::certificate::{CertificateError, ChainError};
use crate::dsse::EnvelopeError;
use crate::key::KeyError;
use crate::key::tests::{P256_PREFIX, base64, ed25519_signer, key, p256_pem, p256_signer};
use crate::timestamp::TimestampError;
use crate::timestamp::tests::token;

const ARTIFACT: &[u8] = b"artifact";
const SUBJECT: &str = "https://example.com/team/app/release.yml";
const ISSUER: &str = "https://issuer.example.com";
const V1: &str = "application/vnd.dev.sigstore.bundle+json;version=0.1";
const V2: &str = "application/vnd.dev.sigstore.bundle+json;version=0.2";
const V3: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

// Whose key is whose. The timestamp authority's is 2, below the root as the signer's.
const ROOT: u8 = 1;
const SIGNER: u8 = 3;
const REKOR: u8 = 4;
const REKOR_V2: u8 = 5;
const CERTIFICATE_LOG: u8 = 6;
const SECOND_CERTIFICATE_LOG: u8 = 8;
const OTHER: u8 = 7;

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

fn key_info(seed: u8) -> Vec<u8> {
    [P256_PREFIX, p256_signer(seed).verifying_key().to_sec1_point(false).as_bytes()].concat()
}

fn ed25519_key_info(seed: u8) -> Vec<u8> {
    [crate::key::tests::ED25519_PREFIX, ed25519_signer(seed).verifying_key().as_bytes()].concat()
}

fn sign(seed: u8, message: &[u8]) -> Vec<u8> {
    let signature: p256::ecdsa::Signature = p256_signer(seed).sign(message);
    signature.to_der().as_bytes().to_vec()
}

fn authority() -> CertificateDraft {
    CertificateDraft::authority("root", ROOT, "root", ROOT)
}

/// A certificate as Fulcio issues it, but for the promise of the certificate log.
fn certificate() -> CertificateDraft {
    CertificateDraft::signer("", SIGNER, "root", ROOT)
        .and(extension("2.5.29.17", true, sequence(&[tlv(0x86, SUBJECT)])))
        .and(extension("1.3.6.1.4.1.57264.1.1", false, ISSUER.into()))
        .and(extension("1.3.6.1.4.1.57264.1.8", false, tlv(0x0c, ISSUER)))
}

/// What is changed in a document. Paths begin at its root, or at the first log entry with `entry`.
#[derive(Clone)]
enum Spoil {
    Set(&'static str, Value),
    /// Sets the last bit of base64.
    Flip(&'static str),
    Remove(&'static str),
    /// Makes a list of so many of its first element.
    Repeat(&'static str, usize),
}

use Spoil::{Flip, Remove, Repeat, Set};

impl Spoil {
    fn apply(&self, document: &mut Value) {
        let (Set(path, _) | Flip(path) | Remove(path) | Repeat(path, _)) = self;
        let path = path.replace("entry/", "/verificationMaterial/tlogEntries/0/");
        if let Flip(_) = self {
            let value = document.pointer_mut(&path).unwrap();
            let mut bytes = crate::dsse::decode_base64(value.as_str().unwrap()).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            *value = json!(base64(bytes));
            return;
        }
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = document.pointer_mut(parent).unwrap();
        match self {
            Flip(_) => {}
            Set(_, value) => match parent {
                Value::Array(list) => list.push(value.clone()),
                other => other[name] = value.clone(),
            },
            Remove(_) => drop(parent.as_object_mut().unwrap().remove(name).unwrap()),
            Repeat(_, count) => parent[name] = vec![parent[name][0].clone(); *count].into(),
        }
    }
}

/// A bundle to be.
#[derive(Clone)]
struct Draft {
    media_type: &'static str,
    /// Kind and version of the log entry.
    entry: (&'static str, &'static str),
    /// Signed, in an envelope or as it is.
    content: Vec<u8>,
    is_envelope: bool,
    signer: u8,
    /// None for a bundle that was signed with a key.
    certificate: Option<CertificateDraft>,
    /// The promises of certificate logs: by whom, of which authority's certificate, when, and with which extensions.
    promises: Vec<(u8, u8, i64, &'static str)>,
    /// What is changed in the entry's body before it is logged.
    body: Vec<Spoil>,
    integrated_time: i64,
    log: u8,
    /// Changes the checkpoint's text before it is signed.
    checkpoint: fn(String) -> String,
    /// What the timestamp is about, instead of the signature.
    timestamp: Option<Vec<u8>>,
}

fn statement_of(artifact: &[u8]) -> Vec<u8> {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "digest": { "sha256": hex(&Sha256::digest(artifact)) } }],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {},
    });
    serde_json::to_vec(&statement).unwrap()
}

/// An attestation as GitHub's public repositories make it.
fn attestation() -> Draft {
    Draft {
        media_type: V3,
        entry: ("dsse", "0.0.1"),
        content: statement_of(ARTIFACT),
        is_envelope: true,
        signer: SIGNER,
        certificate: Some(certificate()),
        promises: vec![(CERTIFICATE_LOG, ROOT, NOON.0, "")],
        body: Vec::new(),
        integrated_time: NOON.0 + 1,
        log: REKOR,
        checkpoint: |text| text,
        timestamp: None,
    }
}

/// The same, logged by Rekor v2.
fn attestation_v2() -> Draft {
    Draft { entry: ("hashedrekord", "0.0.2"), log: REKOR_V2, ..attestation() }
}

fn message() -> Draft {
    Draft { entry: ("hashedrekord", "0.0.1"), content: ARTIFACT.to_vec(), is_envelope: false, ..attestation() }
}

fn by_key() -> Draft {
    Draft { certificate: None, ..attestation() }
}

impl Draft {
    fn certificate_der(&self) -> Option<Vec<u8>> {
        let certificate = self.certificate.clone()?;
        let unpromised = certificate.made();
        let short = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
        let length = u32::try_from(unpromised.signed_part().len()).unwrap().to_be_bytes();
        let promise = |&(log, issuer, time, extensions): &(u8, u8, i64, &str)| {
            let milliseconds = u64::try_from(time * 1_000 + 999).unwrap().to_be_bytes();
            let signed = [
                &[0, 0],
                &milliseconds[..],
                &[0, 1],
                &Sha256::digest(key_info(issuer)),
                &length[1..],
                unpromised.signed_part(),
                &short(extensions.as_bytes()),
            ]
            .concat();
            let id = Sha256::digest(key_info(if log == OTHER { CERTIFICATE_LOG } else { log }));
            let promise =
                [&[0], &id[..], &milliseconds, &short(extensions.as_bytes()), &[4, 3], &short(&sign(log, &signed))];
            short(&promise.concat())
        };
        let promises: Vec<u8> = self.promises.iter().flat_map(promise).collect();
        if promises.is_empty() {
            return Some(certificate.der());
        }
        let list = tlv(0x04, short(&promises));
        Some(certificate.and(extension("1.3.6.1.4.1.11129.2.4.2", false, list)).der())
    }

    fn body(&self, signed: &[u8], signature: &[u8]) -> Value {
        let certificate = self.certificate_der();
        let pem = base64(match &certificate {
            Some(der) => format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64(der)),
            None => p256_pem(self.signer),
        });
        let verifier = match &certificate {
            Some(der) => json!({ "x509Certificate": { "rawBytes": base64(der) } }),
            None => json!({ "publicKey": { "rawBytes": base64(key_info(self.signer)) } }),
        };
        let hexadecimal = json!({ "algorithm": "sha256", "value": hex(&Sha256::digest(&self.content)) });
        let digest = |bytes: &[u8]| json!({ "algorithm": "SHA2_256", "digest": base64(Sha256::digest(bytes)) });
        let signature_v2 = json!({ "content": base64(signature), "verifier": verifier });
        let signature = base64(signature);
        let spec = match self.entry {
            ("hashedrekord", "0.0.1") => json!({
                "data": { "hash": hexadecimal },
                "signature": { "content": signature, "publicKey": { "content": pem } },
            }),
            ("dsse", "0.0.1") => json!({
                "payloadHash": hexadecimal,
                "signatures": [{ "signature": signature, "verifier": pem }],
            }),
            ("intoto", "0.0.2") => json!({ "content": {
                "envelope": { "signatures": [{ "sig": base64(signature), "publicKey": pem }] },
                "payloadHash": hexadecimal,
            } }),
            ("hashedrekord", "0.0.2") => {
                json!({ "hashedRekordV002": { "data": digest(signed), "signature": signature_v2 } })
            }
            ("dsse", "0.0.2") => {
                json!({ "dsseV002": { "payloadHash": digest(&self.content), "signatures": [signature_v2] } })
            }
            other => panic!("{other:?}"),
        };
        let mut body = json!({ "apiVersion": self.entry.1, "kind": self.entry.0, "spec": spec });
        self.body.iter().for_each(|spoil| spoil.apply(&mut body));
        body
    }

    fn json(&self) -> Value {
        let header = format!("DSSEv1 28 application/vnd.in-toto+json {} ", self.content.len());
        let signed = if self.is_envelope { [header.as_bytes(), &self.content].concat() } else { self.content.clone() };
        let signature = sign(self.signer, &signed);
        let body = serde_json::to_string(&self.body(&signed, &signature)).unwrap();
        let is_v2 = self.log == REKOR_V2;
        let id = Sha256::digest(if is_v2 { ed25519_key_info(self.log) } else { key_info(self.log) });

        let tree = Tree::of(&[b"before", body.as_bytes(), b"after"]);
        let name = if is_v2 { "log.example.com" } else { "rekor.example.com" };
        let origin = if is_v2 { name.to_owned() } else { format!("{name} - 12345") };
        let text = (self.checkpoint)(format!("{origin}\n3\n{}\n", base64(tree.root())));
        let signature_of_text = match is_v2 {
            true => ed25519_signer(self.log).sign(text.as_bytes()).to_bytes().to_vec(),
            false => sign(self.log, text.as_bytes()),
        };
        let line = base64([&id[..4], &signature_of_text].concat());
        let mut entry = json!({
            "logIndex": "7",
            "logId": { "keyId": base64(id) },
            "kindVersion": { "kind": self.entry.0, "version": self.entry.1 },
            "inclusionProof": {
                "logIndex": "1",
                "rootHash": base64(tree.root()),
                "treeSize": "3",
                "hashes": tree.proof(1).iter().map(base64).collect::<Vec<_>>(),
                "checkpoint": { "envelope": format!("{text}\n\u{2014} witness AAAAAAAA\n\u{2014} {name} {line}\n") },
            },
            "canonicalizedBody": base64(&body),
        });
        if !is_v2 {
            // RFC 8785, written a second time.
            let promised = json!({ "body": base64(&body), "integratedTime": self.integrated_time, "logID": hex(&id),
                "logIndex": 7 });
            let promise = sign(self.log, promised.to_string().as_bytes());
            entry["integratedTime"] = json!(self.integrated_time.to_string());
            entry["inclusionPromise"] = json!({ "signedEntryTimestamp": base64(promise) });
        }
        let material = match (self.certificate_der(), self.media_type) {
            (None, _) => json!({ "publicKey": { "hint": "" } }),
            (Some(der), V1 | V2) => {
                json!({ "x509CertificateChain": { "certificates": [{ "rawBytes": base64(der) }] } })
            }
            (Some(der), _) => json!({ "certificate": { "rawBytes": base64(der) } }),
        };
        let mut bundle = json!({ "mediaType": self.media_type, "verificationMaterial": material });
        bundle["verificationMaterial"]["tlogEntries"] = json!([entry]);
        let stamped = self.timestamp.as_ref().or(is_v2.then_some(&signature));
        if let Some(stamped) = stamped {
            bundle["verificationMaterial"]["timestampVerificationData"] =
                json!({ "rfc3161Timestamps": [{ "signedTimestamp": base64(token(stamped, 0)) }] });
        }
        if self.is_envelope {
            bundle["dsseEnvelope"] = json!({
                "payloadType": "application/vnd.in-toto+json",
                "payload": base64(&self.content),
                "signatures": [{ "sig": base64(signature) }],
            });
        } else {
            bundle["messageSignature"] = json!({
                "messageDigest": { "algorithm": "SHA2_256", "digest": base64(Sha256::digest(&self.content)) },
                "signature": base64(signature),
            });
        }
        bundle
    }
}

fn trust_root() -> Value {
    let start = json!({ "start": "2023-01-01T00:00:00Z" });
    let log = |address: &str, key: Vec<u8>, details: &str| {
        json!({
            "baseUrl": address,
            "hashAlgorithm": "SHA2_256",
            "logId": { "keyId": base64(Sha256::digest(&key)) },
            "publicKey": { "rawBytes": base64(key), "keyDetails": details, "validFor": start },
        })
    };
    let authority = json!({
        "uri": "https://authority.example.com",
        "certChain": { "certificates": [{ "rawBytes": base64(authority().der()) }] },
        "validFor": start,
    });
    json!({
        "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
        "tlogs": [
            log("https://log.example.com", key_info(REKOR), "PKIX_ECDSA_P256_SHA_256"),
            log("https://log2.example.com", ed25519_key_info(REKOR_V2), "PKIX_ED25519"),
        ],
        "ctlogs": [log("https://log.example.com", key_info(CERTIFICATE_LOG), "PKIX_ECDSA_P256_SHA_256")],
        "certificateAuthorities": [authority],
        "timestampAuthorities": [authority],
    })
}

fn read_root(root: &Value) -> TrustRoot {
    TrustRoot::read(&root.to_string()).unwrap()
}

fn verify(bundle: &Value) -> Result<Signed, BundleError> {
    Bundle::read(bundle)?.verify_by_root(&read_root(&trust_root()), &digest_of(ARTIFACT))
}

#[test]
fn bundles_of_each_kind_verify() {
    let dsse = |entry| Draft { entry, ..attestation_v2() };
    for (name, draft, times) in [
        ("attestation", attestation(), vec![NOON.0 + 1]),
        ("version 0.1", Draft { media_type: V1, ..attestation() }, vec![NOON.0 + 1]),
        ("version 0.2", Draft { media_type: V2, ..attestation() }, vec![NOON.0 + 1]),
        ("in-toto", Draft { entry: ("intoto", "0.0.2"), ..attestation() }, vec![NOON.0 + 1]),
        (
            "extensions",
            Draft { promises: vec![(CERTIFICATE_LOG, ROOT, NOON.0, "more")], ..attestation() },
            vec![NOON.0 + 1],
        ),
        (
            "extensions of a checkpoint",
            Draft { checkpoint: |text| text + "Timestamp: 1\n", ..attestation() },
            vec![NOON.0 + 1],
        ),
        ("Rekor v2", attestation_v2(), vec![NOON.0]),
        ("Rekor v2's dsse", dsse(("dsse", "0.0.2")), vec![NOON.0]),
        ("message", message(), vec![NOON.0 + 1]),
        (
            "message in Rekor v2",
            Draft { is_envelope: false, content: ARTIFACT.to_vec(), ..attestation_v2() },
            vec![NOON.0],
        ),
    ] {
        let signed = verify(&draft.json()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(signed.times, times.into_iter().map(Timestamp).collect::<Vec<_>>(), "{name}");
        let identity = signed.identity.unwrap();
        assert_eq!((identity.subject.as_str(), identity.issuer.as_str()), (SUBJECT, ISSUER), "{name}");
        assert_eq!(signed.statement.is_some(), draft.is_envelope, "{name}");
    }
}

#[test]
fn version_0_1_has_promises_without_proofs() {
    let mut bundle = Draft { media_type: V1, ..attestation() }.json();
    Remove("entry/inclusionProof").apply(&mut bundle);
    assert_eq!(verify(&bundle).unwrap().times, [Timestamp(NOON.0 + 1)]);
}

/// With a timestamp beside the log's promise.
fn stamped(draft: Draft) -> Draft {
    let signature = draft.json()["dsseEnvelope"]["signatures"][0]["sig"].take();
    Draft { timestamp: crate::dsse::decode_base64(signature.as_str().unwrap()), ..draft }
}

#[test]
fn each_time_is_proven_and_looked_at() {
    let both = stamped(attestation()).json();
    assert_eq!(verify(&both).unwrap().times, [NOON, Timestamp(NOON.0 + 1)]);

    // The timestamp is in the certificate's validity, the promise is not.
    let late = NOON.0 + 1_800;
    let short = Some(certificate().valid(NOON.0 - 60, NOON.0 + 60));
    let short = stamped(Draft { certificate: short, integrated_time: late, ..attestation() });
    let error = verify(&short.json()).unwrap_err();
    assert!(matches!(error, BundleError::Untrusted(at, ChainError::NotValid { .. }) if at.0 == late), "{error:?}");

    // The authority is trusted until the timestamp.
    let mut root = trust_root();
    Set("/certificateAuthorities/0/validFor/end", json!(NOON.to_string())).apply(&mut root);
    let verified = Bundle::read(&both).unwrap().verify_by_root(&read_root(&root), &digest_of(ARTIFACT));
    assert_eq!(verified, Err(BundleError::NoAuthority(Timestamp(NOON.0 + 1))));
}

/// What makes a bundle one that is refused.
enum Change {
    Draft(fn(&mut Draft)),
    Body(Spoil),
    Json(Spoil),
}

#[test]
fn what_a_bundle_is_refused_for() {
    use Change::{Body, Draft as Made, Json};
    let entry = BundleError::Entry;
    let proof = |error| BundleError::Entry(EntryError::Proof(error));
    let body = |error| BundleError::Entry(EntryError::Body(error));
    let checkpoint = |error| BundleError::Entry(EntryError::Checkpoint(error));
    let logged = BundleError::CertificateLog;
    let zeros = json!("00".repeat(32));
    let other_log = BundleError::OtherLog(hex(&Sha256::digest(key_info(OTHER))));
    let kind = |text: &str| BodyError::Kind(text.to_owned());
    let other_kind = |kind: &str| BodyError::OtherKind(kind.to_owned());
    let of_other = BundleError::OtherArtifact(vec![digest_of(b"other")]);
    let not_json = format!("trailing characters at line 1 column {}", statement_of(ARTIFACT).len() + 1);
    let no_issuer = ChainError::NoIssuer("serial number 03".to_owned());
    const PROMISE: &str = "entry/inclusionPromise";
    let long_ago = 1_600_000_000;
    let cases = [
        // The log entry.
        (attestation(), Json(Remove("/verificationMaterial/tlogEntries")), BundleError::NoEntry),
        (attestation(), Made(|draft| draft.log = OTHER), other_log),
        (Draft { media_type: V1, ..attestation() }, Json(Remove(PROMISE)), entry(EntryError::NoPromise)),
        (attestation(), Json(Remove("entry/inclusionProof")), entry(EntryError::NoProof)),
        (attestation(), Json(Remove("entry/inclusionProof/checkpoint")), entry(EntryError::NoCheckpoint)),
        (attestation(), Json(Remove("entry/integratedTime")), entry(EntryError::NoTime)),
        (attestation(), Json(Set("entry/integratedTime", json!(NOON.0 + 2))), entry(EntryError::Promise)),
        (attestation(), Json(Set("entry/logIndex", json!("8"))), entry(EntryError::Promise)),
        (attestation(), Json(Flip("entry/inclusionPromise/signedEntryTimestamp")), entry(EntryError::Promise)),
        (
            attestation(),
            Made(|draft| draft.integrated_time = 1_600_000_000),
            entry(EntryError::LogNotValid(Timestamp(long_ago))),
        ),
        (attestation(), Json(Set("entry/inclusionProof/treeSize", json!("4"))), entry(EntryError::OtherTree)),
        (attestation(), Json(Flip("entry/inclusionProof/rootHash")), entry(EntryError::OtherTree)),
        (attestation(), Json(Set("entry/inclusionProof/logIndex", json!("0"))), proof(ProofError::Root)),
        (attestation(), Json(Flip("entry/inclusionProof/hashes/0")), proof(ProofError::Root)),
        (attestation(), Json(Repeat("entry/inclusionProof/hashes", 1)), proof(ProofError::Length)),
        (attestation_v2(), Json(Flip("entry/canonicalizedBody")), proof(ProofError::Root)),
        (
            attestation(),
            Made(|draft| draft.checkpoint = |text| text.replace("12345", "number")),
            checkpoint(CheckpointError::NotSigned),
        ),
        (
            attestation_v2(),
            Made(|draft| draft.checkpoint = |text| text.replace("log.", "lag.")),
            checkpoint(CheckpointError::NotSigned),
        ),
        // The entry's body.
        (attestation(), Json(Set("entry/kindVersion/version", json!("0.0.2"))), body(kind("dsse 0.0.1"))),
        (attestation(), Body(Set("/apiVersion", json!("0.0.3"))), body(kind("dsse 0.0.3"))),
        (attestation(), Body(Flip("/spec/signatures/0/signature")), body(BodyError::OtherSignature)),
        (
            attestation(),
            Body(Set("/spec/signatures/0/verifier", json!(base64(p256_pem(SIGNER))))),
            body(BodyError::OtherSigner),
        ),
        (attestation(), Body(Repeat("/spec/signatures", 2)), body(BodyError::SignatureCount(2))),
        (attestation(), Body(Repeat("/spec/signatures", 0)), body(BodyError::SignatureCount(0))),
        (attestation(), Body(Set("/spec/payloadHash/value", zeros.clone())), body(BodyError::OtherContent)),
        (
            attestation(),
            Body(Set("/spec/payloadHash/algorithm", json!("sha1"))),
            body(BodyError::Hash("sha1".to_owned())),
        ),
        (attestation_v2(), Body(Flip("/spec/hashedRekordV002/data/digest")), body(BodyError::OtherContent)),
        (
            attestation_v2(),
            Body(Flip("/spec/hashedRekordV002/signature/verifier/x509Certificate/rawBytes")),
            body(BodyError::OtherSigner),
        ),
        (attestation_v2(), Body(Flip("/spec/hashedRekordV002/signature/content")), body(BodyError::OtherSignature)),
        (
            attestation_v2(),
            Body(Set("/spec/hashedRekordV002/signature/verifier/publicKey", json!({ "rawBytes": "" }))),
            body(BodyError::OtherSigner),
        ),
        (attestation(), Made(|draft| draft.entry = ("hashedrekord", "0.0.1")), body(other_kind("hashedrekord"))),
        (message(), Made(|draft| draft.entry = ("dsse", "0.0.1")), body(other_kind("dsse"))),
        (message(), Body(Set("/spec/data/hash/value", zeros)), body(BodyError::OtherContent)),
        // Times.
        (attestation(), Json(Remove(PROMISE)), BundleError::NoTime),
        (attestation_v2(), Json(Remove("/verificationMaterial/timestampVerificationData")), BundleError::NoTime),
        (
            attestation_v2(),
            Made(|draft| draft.timestamp = Some(b"other".to_vec())),
            BundleError::Timestamp(TimestampError::OtherMessage),
        ),
        // The certificate.
        (
            attestation(),
            Made(|draft| draft.certificate = Some(CertificateDraft::signer("", SIGNER, "other root", ROOT))),
            BundleError::Untrusted(Timestamp(NOON.0 + 1), no_issuer),
        ),
        (attestation(), Made(|draft| draft.certificate = None), BundleError::SignedByKey),
        (attestation(), Made(|draft| draft.promises.clear()), logged(SctError::None)),
        (attestation(), Made(|draft| draft.promises = vec![(REKOR, ROOT, NOON.0, "")]), logged(SctError::OtherLog)),
        (attestation(), Made(|draft| draft.promises = vec![(OTHER, ROOT, NOON.0, "")]), logged(SctError::Signature)),
        (
            attestation(),
            Made(|draft| draft.promises = vec![(CERTIFICATE_LOG, OTHER, NOON.0, "")]),
            logged(SctError::Signature),
        ),
        (
            attestation(),
            Made(|draft| draft.promises = vec![(CERTIFICATE_LOG, ROOT, 1_600_000_000, "")]),
            logged(SctError::LogNotValid(Timestamp(long_ago))),
        ),
        // What was signed.
        (attestation(), Made(|draft| draft.signer = OTHER), BundleError::Signature),
        (message(), Made(|draft| draft.signer = OTHER), BundleError::Signature),
        (message(), Made(|draft| draft.content = b"other".to_vec()), of_other.clone()),
        (attestation(), Made(|draft| draft.content = statement_of(b"other")), of_other),
        (
            attestation(),
            Made(|draft| draft.content.push(b'}')),
            BundleError::Envelope(EnvelopeError::NotJson(not_json)),
        ),
    ];
    for (number, (mut draft, change, expected)) in cases.into_iter().enumerate() {
        assert!(verify(&draft.json()).is_ok(), "case {number}");
        match &change {
            Made(change) => change(&mut draft),
            Body(spoil) => draft.body.push(spoil.clone()),
            Json(_) => {}
        }
        let mut bundle = draft.json();
        if let Json(spoil) = change {
            spoil.apply(&mut bundle);
        }
        assert_eq!(verify(&bundle), Err(expected), "case {number}");
    }
}

#[test]
fn trust_ends_with_its_root() {
    let at = Timestamp(NOON.0 + 1);
    let other_key = json!(base64(key_info(OTHER)));
    let other_ed25519 = json!(base64(ed25519_key_info(OTHER)));
    let other_root = CertificateDraft::authority("root", OTHER, "root", OTHER);
    let expired = CertificateDraft::authority("above", OTHER, "above", OTHER).valid(NOON.0 - 60, NOON.0);
    let (subject, issuer) = ("serial number 03".to_owned(), "CN=root,O=Team\\, Inc.".to_owned());
    let ended = json!("2023-11-14T22:13:19Z");
    let not_signed = BundleError::Entry(EntryError::Checkpoint(CheckpointError::Signature));
    let log_ended = |at| BundleError::Entry(EntryError::LogNotValid(at));
    for (draft, spoil, expected) in [
        (attestation(), Set("/tlogs/0/publicKey/rawBytes", other_key.clone()), BundleError::Entry(EntryError::Promise)),
        (attestation_v2(), Set("/tlogs/1/publicKey/rawBytes", other_ed25519), not_signed),
        (attestation(), Set("/tlogs/0/publicKey/validFor/end", ended.clone()), log_ended(at)),
        (attestation_v2(), Set("/tlogs/1/publicKey/validFor/end", ended.clone()), log_ended(NOON)),
        (attestation(), Set("/certificateAuthorities/0/validFor/end", ended.clone()), BundleError::NoAuthority(at)),
        (attestation(), Remove("/certificateAuthorities"), BundleError::NoAuthority(at)),
        (
            attestation(),
            Set("/certificateAuthorities/0/certChain/certificates/-", json!({ "rawBytes": base64(expired.der()) })),
            BundleError::NoAuthority(at),
        ),
        (
            attestation(),
            Set("/certificateAuthorities/0/certChain/certificates/0/rawBytes", json!(base64(other_root.der()))),
            BundleError::Untrusted(at, ChainError::Signature { subject, issuer }),
        ),
        (attestation_v2(), Remove("/timestampAuthorities"), BundleError::Timestamp(TimestampError::NoAuthority)),
        (
            attestation(),
            Set("/ctlogs/0/publicKey/rawBytes", other_key),
            BundleError::CertificateLog(SctError::Signature),
        ),
        (
            attestation(),
            Set("/ctlogs/0/publicKey/validFor/end", ended),
            BundleError::CertificateLog(SctError::LogNotValid(NOON)),
        ),
    ] {
        assert!(verify(&draft.json()).is_ok(), "{expected:?}");
        let mut root = trust_root();
        spoil.apply(&mut root);
        let bundle = Bundle::read(&draft.json()).unwrap();
        assert_eq!(bundle.verify_by_root(&read_root(&root), &digest_of(ARTIFACT)), Err(expected));
    }
}

const NONE: Thresholds = Thresholds { transparency_logs: None, timestamps: None, certificate_logs: None };

/// An attestation that both logs have, with a promise of the first and a timestamp.
fn in_both_logs() -> Value {
    let mut bundle = stamped(attestation()).json();
    let second = attestation_v2().json()["verificationMaterial"]["tlogEntries"][0].take();
    Set("/verificationMaterial/tlogEntries/-", second).apply(&mut bundle);
    bundle
}

fn below(of: Service, found: usize, needed: usize) -> Result<usize, BundleError> {
    Err(BundleError::BelowThreshold { of, found, needed })
}

#[test]
fn thresholds_count_different_logs_and_authorities() {
    use Service::{CertificateLogs, Times, TransparencyLogs};
    const ENTRIES: &str = "/verificationMaterial/tlogEntries";
    const STAMPS: &str = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps";
    let root_below = |of, found, needed| Err(BundleError::RootBelowThreshold { of, found, needed });
    let logs = |count| Thresholds { transparency_logs: Some(count), ..NONE };
    let times = |count| Thresholds { timestamps: Some(count), ..NONE };
    let certificate_logs = |count| Thresholds { certificate_logs: Some(count), ..NONE };
    let same = |text: &str| json!(text);
    let first_log = same("https://log.example.com");
    for (name, thresholds, of_bundle, of_root, expected) in [
        ("nothing", NONE, vec![], vec![], Ok(2)),
        ("one log", logs(1), vec![], vec![], Ok(2)),
        ("two logs", logs(2), vec![], vec![], Ok(2)),
        ("more than there are", logs(3), vec![], vec![], root_below(TransparencyLogs, 2, 3)),
        ("one log twice", logs(2), vec![Repeat(ENTRIES, 2)], vec![], below(TransparencyLogs, 1, 2)),
        ("no entry", logs(2), vec![Repeat(ENTRIES, 0)], vec![], Err(BundleError::NoEntry)),
        ("one address", logs(2), vec![], vec![Set("/tlogs/1/baseUrl", first_log)], root_below(TransparencyLogs, 1, 2)),
        (
            "one operator",
            logs(2),
            vec![],
            vec![Set("/tlogs/0/operator", same("a")), Set("/tlogs/1/operator", same("a"))],
            root_below(TransparencyLogs, 1, 2),
        ),
        (
            "two operators",
            logs(2),
            vec![],
            vec![Set("/tlogs/0/operator", same("a")), Set("/tlogs/1/operator", same("b"))],
            Ok(2),
        ),
        ("a root without logs", logs(1), vec![], vec![Repeat("/tlogs", 0)], root_below(TransparencyLogs, 0, 1)),
        ("a promise and a timestamp", times(2), vec![], vec![], Ok(2)),
        (
            "a promise and a timestamp of one operator",
            times(2),
            vec![],
            vec![Set("/tlogs/0/operator", same("a")), Set("/timestampAuthorities/0/operator", same("a"))],
            below(Times, 1, 2),
        ),
        (
            "one operator of all",
            times(2),
            vec![],
            vec![
                Set("/tlogs/0/operator", same("a")),
                Set("/tlogs/1/operator", same("a")),
                Set("/timestampAuthorities/0/operator", same("a")),
            ],
            root_below(Times, 1, 2),
        ),
        ("an entry is no time", times(3), vec![], vec![], below(Times, 2, 3)),
        ("a timestamp twice", times(3), vec![Repeat(STAMPS, 2)], vec![], below(Times, 2, 3)),
        ("a promise twice", times(2), vec![Repeat(ENTRIES, 2), Repeat(STAMPS, 0)], vec![], below(Times, 1, 2)),
        ("a promise", times(1), vec![Repeat(STAMPS, 0)], vec![], Ok(1)),
        (
            "no time",
            times(2),
            vec![Repeat(STAMPS, 0), Remove("entry/inclusionPromise")],
            vec![],
            Err(BundleError::NoTime),
        ),
        ("more times than there are", times(4), vec![], vec![], root_below(Times, 3, 4)),
        ("one certificate log", certificate_logs(1), vec![], vec![], Ok(2)),
        ("two certificate logs", certificate_logs(2), vec![], vec![], root_below(CertificateLogs, 1, 2)),
        (
            "a root without certificate logs",
            certificate_logs(1),
            vec![],
            vec![Repeat("/ctlogs", 0)],
            root_below(CertificateLogs, 0, 1),
        ),
    ] {
        let (mut bundle, mut root) = (in_both_logs(), trust_root());
        of_bundle.iter().for_each(|spoil: &Spoil| spoil.apply(&mut bundle));
        of_root.iter().for_each(|spoil: &Spoil| spoil.apply(&mut root));
        let root = read_root(&root).with_thresholds(thresholds);
        let verified = Bundle::read(&bundle).unwrap().verify_by_root(&root, &digest_of(ARTIFACT));
        assert_eq!(verified.map(|signed| signed.times.len()), expected, "{name}");
    }
}

#[test]
fn thresholds_count_different_certificate_logs() {
    let of = Service::CertificateLogs;
    let mut root = trust_root();
    let mut second = root["ctlogs"][0].clone();
    let key = key_info(SECOND_CERTIFICATE_LOG);
    second["baseUrl"] = json!("https://log2.example.com");
    second["logId"]["keyId"] = json!(base64(Sha256::digest(&key)));
    second["publicKey"]["rawBytes"] = json!(base64(key));
    Set("/ctlogs/-", second).apply(&mut root);
    let [first, second, forged] = [CERTIFICATE_LOG, SECOND_CERTIFICATE_LOG, OTHER].map(|log| (log, ROOT, NOON.0, ""));
    for (promises, needed, expected) in [
        (vec![first], None, Ok(1)),
        (vec![first, second], Some(2), Ok(1)),
        (vec![forged, second, first], Some(2), Ok(1)),
        (vec![first], Some(2), below(of, 1, 2)),
        (vec![first, first], Some(2), below(of, 1, 2)),
        (vec![second, forged], Some(2), below(of, 1, 2)),
        (vec![forged], Some(2), Err(BundleError::CertificateLog(SctError::Signature))),
        (vec![], Some(2), Err(BundleError::CertificateLog(SctError::None))),
    ] {
        let root = read_root(&root).with_thresholds(Thresholds { certificate_logs: needed, ..NONE });
        let bundle = Draft { promises: promises.clone(), ..attestation() }.json();
        let verified = Bundle::read(&bundle).unwrap().verify_by_root(&root, &digest_of(ARTIFACT));
        assert_eq!(verified.map(|signed| signed.times.len()), expected, "{promises:?}");
    }
}

/// Signatures by a key need no time, unless a threshold asks for one.
#[test]
fn thresholds_hold_for_keys_too() {
    let signer = key(&p256_pem(SIGNER));
    let of = |draft: Draft, thresholds| {
        let root = read_root(&trust_root()).with_thresholds(thresholds);
        let verified = Bundle::read(&draft.json()).unwrap().verify_by_key(&signer, Some(&root), &digest_of(ARTIFACT));
        verified.map(|signed| signed.times.len())
    };
    let unstamped = || Draft { certificate: None, timestamp: Some(b"other".to_vec()), ..attestation_v2() };
    assert_eq!(of(unstamped(), NONE), Ok(0));
    let timed = Thresholds { timestamps: Some(1), ..NONE };
    assert_eq!(of(unstamped(), timed), Err(BundleError::Timestamp(TimestampError::OtherMessage)));
    assert_eq!(of(by_key(), timed), Ok(1));
    assert_eq!(of(by_key(), Thresholds { transparency_logs: Some(2), ..NONE }), below(Service::TransparencyLogs, 1, 2));
    // Their certificate is none, so no log has it.
    assert_eq!(of(by_key(), Thresholds { certificate_logs: Some(2), ..NONE }), Ok(1));
}

/// Rekor v2 promises no time: the log must be trusted at the times that others prove, wherever their proof stands.
#[test]
fn an_entry_without_a_time_counts_at_the_times_of_others() {
    let mut root = trust_root();
    Set("/tlogs/1/publicKey/validFor/end", json!(NOON.to_string())).apply(&mut root);
    let root = read_root(&root);
    let mut bundle = in_both_logs();
    for _ in 0..2 {
        let verified = Bundle::read(&bundle).unwrap().verify_by_root(&root, &digest_of(ARTIFACT));
        assert_eq!(verified, Err(BundleError::Entry(EntryError::LogNotValid(Timestamp(NOON.0 + 1)))));
        bundle["verificationMaterial"]["tlogEntries"].as_array_mut().unwrap().reverse();
    }
}

/// GitHub's instance has no logs, only an authority for certificates and one for time.
#[test]
fn a_root_without_logs_asks_for_no_entry() {
    let mut root = trust_root();
    root["tlogs"] = json!([]);
    root["ctlogs"] = json!([]);
    let mut bundle = attestation_v2().json();
    bundle["verificationMaterial"]["tlogEntries"] = json!([]);
    let bundle = Bundle::read(&bundle).unwrap();
    assert_eq!(bundle.verify_by_root(&read_root(&root), &digest_of(ARTIFACT)).unwrap().times, [NOON]);
    assert_eq!(bundle.verify_by_root(&read_root(&trust_root()), &digest_of(ARTIFACT)), Err(BundleError::NoEntry));
}

#[test]
fn bundles_verify_by_keys() {
    let root = read_root(&trust_root());
    let (signer, other) = (key(&p256_pem(SIGNER)), key(&p256_pem(OTHER)));
    let artifact = digest_of(ARTIFACT);
    let dsse = Bundle::read(&by_key().json()).unwrap();
    let of_message = Bundle::read(&Draft { certificate: None, ..message() }.json()).unwrap();
    let in_v2 = Bundle::read(&Draft { certificate: None, ..attestation_v2() }.json()).unwrap();
    for bundle in [&dsse, &of_message, &in_v2] {
        assert_eq!(bundle.verify_by_key(&signer, None, &artifact).unwrap().times, []);
        assert_eq!(bundle.verify_by_key(&signer, Some(&root), &artifact).unwrap().times.len(), 1);
        assert_eq!(bundle.verify_by_key(&signer, Some(&root), &artifact).unwrap().identity, None);
        assert_eq!(bundle.verify_by_key(&other, None, &artifact), Err(BundleError::Signature));
        assert_eq!(bundle.verify_by_key(&other, Some(&root), &artifact), Err(BundleError::Signature));
        let error = bundle.verify_by_key(&signer, None, &digest_of(b"other"));
        assert_eq!(error, Err(BundleError::OtherArtifact(vec![artifact.clone()])));
    }
    let mut unlogged = by_key().json();
    unlogged["verificationMaterial"].as_object_mut().unwrap().remove("tlogEntries");
    let unlogged = Bundle::read(&unlogged).unwrap();
    assert!(unlogged.verify_by_key(&signer, None, &artifact).is_ok());
    assert_eq!(unlogged.verify_by_key(&signer, Some(&root), &artifact), Err(BundleError::NoEntry));

    let keyless = Bundle::read(&attestation().json()).unwrap();
    assert_eq!(keyless.verify_by_key(&signer, None, &artifact), Err(BundleError::SignedByCertificate));
    let ed25519 = key(&crate::key::tests::ed25519_pem(SIGNER));
    assert_eq!(of_message.verify_by_key(&ed25519, None, &artifact), Err(BundleError::Ed25519));
}

#[test]
fn what_is_no_bundle() {
    const CHAIN: &str = "/verificationMaterial/x509CertificateChain/certificates";
    let json = |reason: &str| BundleError::Json(reason.to_owned());
    let spelling = |key: &str, field: &str| {
        json(&format!("the key `{key}` is another spelling of `{field}`, parsers disagree about it"))
    };
    let second = || Draft { media_type: V2, ..attestation() };
    let too_many = MAX_ENTRIES + 1;
    let fourth = "application/vnd.dev.sigstore.bundle.v0.4+json";
    let root = json!({ "rawBytes": base64(authority().der()) });
    let message_signature = message().json()["messageSignature"].take();
    for (draft, spoil, expected) in [
        (attestation(), Set("/mediaType", json!(fourth)), BundleError::MediaType(fourth.to_owned())),
        (attestation(), Set("/media_type", json!(V2)), spelling("media_type", "mediaType")),
        (attestation(), Set("entry/IntegratedTime", json!(1)), spelling("IntegratedTime", "integratedTime")),
        (attestation(), Set("entry/logIndex", json!("-1")), json("a string is not a number from 0 to 2^63 - 1")),
        (attestation(), Set("entry/logIndex", json!("9223372036854775808")), json("a number is over 2^63 - 1")),
        (
            attestation(),
            Set("/verificationMaterial/certificate/rawBytes", json!("%")),
            json("a string is not base64, or was cut off"),
        ),
        (attestation(), Set("entry/logId", json!({})), json("missing field `keyId`")),
        (
            attestation(),
            Repeat("/verificationMaterial/tlogEntries", too_many),
            BundleError::Count("tlogEntries", too_many),
        ),
        (
            attestation_v2(),
            Repeat("/verificationMaterial/timestampVerificationData/rfc3161Timestamps", too_many),
            BundleError::Count("rfc3161Timestamps", too_many),
        ),
        (second(), Repeat(CHAIN, too_many), BundleError::Count("certificates", too_many)),
        (attestation(), Repeat("entry/inclusionProof/hashes", 65), BundleError::Count("hashes", 65)),
        (attestation(), Remove("/dsseEnvelope"), BundleError::Content),
        (attestation(), Set("/messageSignature", message_signature), BundleError::Content),
        (attestation(), Remove("/verificationMaterial/certificate"), BundleError::Material),
        (attestation(), Set("/verificationMaterial/publicKey", json!({})), BundleError::Material),
        (second(), Set("/mediaType", json!(V3)), BundleError::Chain),
        (second(), Repeat(CHAIN, 0), BundleError::NoCertificate),
        (second(), Set("/verificationMaterial/x509CertificateChain/certificates/-", root), BundleError::RootInBundle),
        (
            attestation(),
            Set("/verificationMaterial/certificate/rawBytes", json!("AAAA")),
            BundleError::Certificate(CertificateError::Malformed),
        ),
        (attestation(), Repeat("/dsseEnvelope/signatures", 2), BundleError::SignatureCount(2)),
        (
            attestation(),
            Set("/dsseEnvelope/payloadType", json!("text/plain")),
            BundleError::Envelope(EnvelopeError::PayloadType("text/plain".to_owned())),
        ),
        (
            message(),
            Set("/messageSignature/messageDigest/algorithm", json!("SHA2_384")),
            BundleError::DigestAlgorithm("SHA2_384".to_owned()),
        ),
    ] {
        let mut bundle = draft.json();
        assert!(Bundle::read(&bundle).is_ok(), "{expected:?}");
        spoil.apply(&mut bundle);
        assert_eq!(Bundle::read(&bundle).err(), Some(expected));
    }
    let mut third = attestation().json();
    third["mediaType"] = json!("application/vnd.dev.sigstore.bundle+json;version=0.3");
    assert!(verify(&third).is_ok());
    let middle = CertificateDraft::authority("middle", OTHER, "root", ROOT);
    let mut second = second().json();
    Set("/verificationMaterial/x509CertificateChain/certificates/-", json!({ "rawBytes": base64(middle.der()) }))
        .apply(&mut second);
    assert!(verify(&second).is_ok());
}

#[test]
fn claims_are_read_and_not_proven() {
    let mut bundle = attestation().json();
    bundle["verificationMaterial"]["tlogEntries"] = json!([]);
    let claims = Bundle::read(&bundle).unwrap().claims();
    assert_eq!(claims.identity.unwrap().subject, SUBJECT);
    assert_eq!(claims.predicate_type.as_deref(), Some("https://slsa.dev/provenance/v1"));
    let none = Claims { identity: None, predicate_type: None, subjects: vec![digest_of(ARTIFACT)] };
    assert_eq!(Bundle::read(&Draft { certificate: None, ..message() }.json()).unwrap().claims(), none);
}

#[test]
fn what_a_certificate_says_of_its_signer() {
    const UTF8: u8 = 0x0c;
    let base = || CertificateDraft::signer("", SIGNER, "root", ROOT);
    let names = |names: Vec<u8>| extension("2.5.29.17", true, sequence(&[names]));
    let uri = || names(tlv(0x86, SUBJECT));
    let issuer = || extension("1.3.6.1.4.1.57264.1.8", false, tlv(UTF8, ISSUER));
    let user =
        |identifier: &str| names(tlv(0xa0, [oid(identifier), tlv(0xa0, tlv(UTF8, "team!example.com"))].concat()));
    let plain = |text: &str| extension("1.3.6.1.4.1.57264.1.1", false, text.into());
    for (certificate, expected) in [
        (base().and(uri()).and(issuer()), Ok(SUBJECT)),
        (base().and(uri()).and(plain(ISSUER)), Ok(SUBJECT)),
        (base().and(names(tlv(0x81, "team@example.com"))).and(issuer()), Ok("team@example.com")),
        (base().and(user("1.3.6.1.4.1.57264.1.7")).and(issuer()), Ok("team!example.com")),
        (base().and(user("1.3.6.1.4.1.57264.1.9")).and(issuer()), Err(IdentityError::NoSubject)),
        (base().and(names(tlv(0x82, "example.com"))).and(issuer()), Err(IdentityError::NoSubject)),
        (base().and(issuer()), Err(IdentityError::NoSubject)),
        (
            base().and(names([tlv(0x86, SUBJECT), tlv(0x86, "https://example.com")].concat())).and(issuer()),
            Err(IdentityError::Subjects(2)),
        ),
        (base().and(uri()), Err(IdentityError::NoIssuer)),
        (base().and(uri()).and(issuer()).and(plain("https://other.example.com")), Err(IdentityError::Issuers)),
        (base().and(uri()).and(plain("\u{e9}")).and(issuer()), Err(IdentityError::Issuers)),
        (
            base().and(uri()).and(extension("1.3.6.1.4.1.57264.1.8", false, ISSUER.into())),
            Err(IdentityError::Text("issuer")),
        ),
        (
            base().and(uri()).and(issuer()).and(extension("1.3.6.1.4.1.57264.1.6", false, vec![0xff])),
            Err(IdentityError::Text("githubWorkflowRef")),
        ),
        (
            base().and(uri()).and(issuer()).and(extension("1.3.6.1.4.1.57264.1.12", false, tlv(0x16, "a"))),
            Err(IdentityError::Text("sourceRepositoryURI")),
        ),
    ] {
        let found = Identity::of(&certificate.made()).map(|identity| {
            assert_eq!(identity.issuer, ISSUER);
            identity.subject
        });
        assert_eq!(found, expected.map(str::to_owned));
    }

    let workflow = certificate()
        .and(extension("1.3.6.1.4.1.57264.1.2", false, "push".into()))
        .and(extension("1.3.6.1.4.1.57264.1.11", false, tlv(UTF8, "github-hosted")))
        .and(extension("1.3.6.1.4.1.57264.1.24", false, tlv(UTF8, "repo:team/app:ref:refs/heads/main")))
        .and(extension("1.3.6.1.4.1.57264.1.99", false, vec![0xff]));
    let expected = [
        ("githubWorkflowTrigger", "push"),
        ("runnerEnvironment", "github-hosted"),
        ("tokenSubject", "repo:team/app:ref:refs/heads/main"),
    ];
    let expected = expected.map(|(name, value)| (name, value.to_owned()));
    assert_eq!(Identity::of(&workflow.made()).unwrap().extensions, expected.into());
}

#[test]
fn what_is_no_trust_root() {
    let log = "https://log.example.com".to_owned();
    let authority = "https://authority.example.com".to_owned();
    let too_many = MAX_AUTHORITIES + 1;
    let nist_p224 =
        "ME4wEAYHKoZIzj0CAQYFK4EEACEDOgAEy5ZQh3tEa6zr0kc1C9JY2Fv6mdhDmaNVqfnqaWqzUBcUlAJQkQpFJXTwfxCvv9zvWG1a4qRsX0I=";
    let curve = KeyError::Curve("1.3.132.0.33".to_owned());
    for (spoil, expected) in [
        (Set("/mediaType", json!("other")), TrustRootError::MediaType("other".to_owned())),
        (
            Set("/c_t_logs", json!([])),
            TrustRootError::Json(
                "the key `c_t_logs` is another spelling of `ctlogs`, parsers disagree about it at line 1 column 11"
                    .to_owned(),
            ),
        ),
        (Repeat("/tlogs", too_many), TrustRootError::Count("tlogs", too_many)),
        (Repeat("/ctlogs", too_many), TrustRootError::Count("ctlogs", too_many)),
        (Repeat("/timestampAuthorities", too_many), TrustRootError::Count("timestampAuthorities", too_many)),
        (
            Repeat("/certificateAuthorities/0/certChain/certificates", too_many),
            TrustRootError::Count("certificates", too_many),
        ),
        (Set("/tlogs/0/hashAlgorithm", json!("SHA2_512")), TrustRootError::HashAlgorithm("SHA2_512".to_owned())),
        (Remove("/tlogs/0/publicKey/validFor"), TrustRootError::NoStart(log.clone())),
        (Remove("/ctlogs/0/publicKey/validFor/start"), TrustRootError::NoStart(log.clone())),
        (Set("/certificateAuthorities/0/validFor/end", json!("never")), TrustRootError::Time("never".to_owned())),
        (Set("/tlogs/0/publicKey/rawBytes", json!(nist_p224)), TrustRootError::Key(log.clone(), curve)),
        (
            Set("/tlogs/0/publicKey/keyDetails", json!("PKCS1_RSA_PKCS1V5")),
            TrustRootError::Key(log, KeyError::Malformed),
        ),
        (Repeat("/timestampAuthorities/0/certChain/certificates", 0), TrustRootError::NoCertificate(authority.clone())),
        (
            Set("/certificateAuthorities/0/certChain/certificates/0/rawBytes", json!("AAAA")),
            TrustRootError::Certificate(authority, CertificateError::Malformed),
        ),
    ] {
        let mut root = trust_root();
        spoil.apply(&mut root);
        assert_eq!(TrustRoot::read(&root.to_string()).err(), Some(expected));
    }
    // What stands there instead may be a secret.
    for (text, why) in [
        ("314159", "invalid type: integer at line 1 column 6"),
        ("\"hunter2\"", "invalid type: string at line 1 column 9"),
        ("{\"tlogs\": \"hunter2\"}", "invalid type: string at line 1 column 19"),
    ] {
        assert_eq!(TrustRoot::read(text).err(), Some(TrustRootError::Json(why.to_owned())), "{text}");
    }
    assert_eq!(TrustRoot::read(&" ".repeat(MAX_TRUST_ROOT_BYTES + 1)).err(), Some(TrustRootError::TooLarge));
}

#[test]
fn trust_roots_may_be_written_in_more_ways() {
    let rsa = rsa::PublicKey::new(
        rsa::BoxedUint::from_be_slice_vartime(&[[0xc5; 255].as_slice(), &[1]].concat()),
        rsa::BoxedUint::from_be_slice_vartime(&[1, 0, 1]),
    );
    let pkcs1 = sequence(&[tlv(0x02, [[0].as_slice(), &[0xc5; 255], &[1]].concat()), tlv(0x02, [1, 0, 1])]);
    let mut root = trust_root();
    root["mediaType"] = json!("application/vnd.dev.sigstore.trustedroot.v0.2+json");
    root["ctlogs"][0]["publicKey"]["keyDetails"] = json!("PKCS1_RSA_PKCS1V5");
    root["ctlogs"][0]["publicKey"]["rawBytes"] = json!(base64(pkcs1));
    root["tlogs"][1]["checkpointKeyId"] = json!({ "keyId": "AQIDBA==" });
    // As protobuf's own writers do where they are told to write everything.
    root["tlogs"][0]["operator"] = Value::Null;
    root["timestampAuthorities"][0]["operator"] = Value::Null;
    let stamper = CertificateDraft::time_stamper("stamper", 2, "middle", OTHER);
    let middle = CertificateDraft::authority("middle", OTHER, "root", ROOT);
    root["timestampAuthorities"][0]["certChain"]["certificates"] =
        [stamper, middle, authority()].iter().map(|draft| json!({ "rawBytes": base64(draft.der()) })).collect();
    let read = read_root(&root);
    assert_eq!(read.certificate_logs[0].key, PublicKey::Rsa(rsa.unwrap()));
    assert_eq!(read.logs[1].checkpoint_id, [1, 2, 3, 4]);
    let authority = &read.timestamp_authorities[0];
    assert_eq!(authority.leaf.as_ref().map(Certificate::subject).as_deref(), Some("CN=stamper,O=Team\\, Inc."));
    assert_eq!((authority.intermediates.len(), authority.roots.len()), (0, 3));
}

#[test]
fn errors_say_what_to_do() {
    for (error, words) in [
        (
            BundleError::NoEntry.to_string(),
            "the bundle has no log entry, and the trust root names logs; sign with a log, or take `tlogs` out of the trust root",
        ),
        (
            BundleError::OtherArtifact(vec!["sha256:a".to_owned(), "sha256:b".to_owned()]).to_string(),
            "the bundle is about `sha256:a`, `sha256:b`, not about this image; sign this image",
        ),
        (
            BundleError::BelowThreshold { of: Service::TransparencyLogs, found: 1, needed: 2 }.to_string(),
            "of the trust root's transparency logs, `1` vouches for the signature, and `2` different ones must; sign with more of them",
        ),
        (
            BundleError::RootBelowThreshold { of: Service::Times, found: 1, needed: 2 }.to_string(),
            "the trust root has `1` of the `2` different timestamp authorities and logs that promise a time that must vouch for a signature; add others to the trust root, or ask for fewer",
        ),
        (BundleError::Count("hashes", 65).to_string(), "the bundle has `65` of `hashes`; keep at most 64"),
        (
            BundleError::Untrusted(NOON, ChainError::NoIssuer("CN=a".to_owned())).to_string(),
            "signed at `2023-11-14T22:13:20Z`: the issuer of the certificate `CN=a` is not among the trusted ones; add its root if you trust it",
        ),
        (
            TrustRootError::NoStart("https://log.example.com".to_owned()).to_string(),
            "the log `https://log.example.com` of the trust root doesn't say since when it is valid; add `publicKey.validFor.start`",
        ),
    ] {
        assert_eq!(error, words);
    }
}
