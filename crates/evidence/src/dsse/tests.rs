//! Valid and forged envelopes, and documents that are none.

use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::signature::hazmat::PrehashSigner as _;
use serde_json::json;

use super::*;
use crate::key::tests::*;
use sha2::{Digest as _, Sha256, Sha384};

// Made with OpenSSL 3.0.19: keys from `openssl ecparam -genkey` and `openssl genpkey -algorithm ed25519`, thrown
// away after signing; FIXTURE_PAYLOAD is a statement written by hand; each signature is `openssl dgst -sha256 -sign`
// (or -sha384), for Ed25519 `openssl pkeyutl -sign -rawin`, over
// `printf 'DSSEv1 28 application/vnd.in-toto+json 300 '` followed by the payload.
const FIXTURE_PAYLOAD: &str = "eyJfdHlwZSI6Imh0dHBzOi8vaW4tdG90by5pby9TdGF0ZW1lbnQvdjEiLCJzdWJqZWN0IjpbeyJuYW1lIjoicmVnaXN0cnkuZXhhbXBsZS9hcHAiLCJkaWdlc3QiOnsic2hhMjU2IjoiMmYxYzdhM2U1YjlkOGY2MDQxNDJkM2UwYzVhNmI3OTg0ZjNlMmQxYzBiOWE4ZjdlNmQ1YzRiM2EyOTE4MDcwNiJ9fV0sInByZWRpY2F0ZVR5cGUiOiJodHRwczovL3Nsc2EuZGV2L3Byb3ZlbmFuY2UvdjEiLCJwcmVkaWNhdGUiOnsiYnVpbGREZWZpbml0aW9uIjp7ImJ1aWxkVHlwZSI6Imh0dHBzOi8vZXhhbXBsZS5jb20vYnVpbGQvdjEifX19";
const FIXTURE_DIGEST: &str = "sha256:2f1c7a3e5b9d8f604142d3e0c5a6b7984f3e2d1c0b9a8f7e6d5c4b3a29180706";
const FIXTURE_P256_SHA256: &str =
    "MEUCIQDlbvMxo/b9AvFPXHP1wlcyhc1s8hzKc1FmVg2BhuskzAIgV99iMGnZxY5V+mj0hVT5gcrl+P/EJxysEOdO8vUjlQo=";
const FIXTURE_P384_SHA384: &str = "MGMCLyEt3aZJxR+wOmRqxFg0IpG9MnmrQUefa5zkU+LvAs0bxHzq5ExSp2Nnjh01Sgg6AjAL22Vf7H9rdXjDC0aEGU5ijeHiTd0teWcR1NTGJkWl8HZrpsZoJJ3b1b5qMABabe0=";
const FIXTURE_P384_SHA256: &str = "MGUCMFzrjrxzlECiEDKzViAhzMEfG8A/iepRyC7gsnt4sE3ktsSexaIs6mtGsRi9ZK7nHQIxAPtdb9Hl44RYsbprzfh1WKktFDgAyXvdZLf5fg69cLzbxA3gp9405AyHMw79Sz3+ng==";
const FIXTURE_ED25519: &str =
    "gD62hY87oK9Nkk/ToN0v3DX0Inia0ah4bAdrCj5z0F6I19tR7Xxt/urD87/WfJHlX3YCT0t6ij3jPPL+ESh9CQ==";

const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn base16(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().map(|digit| digit.to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// The pre-authentication encoding, written a second time.
fn encoding(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

fn p256_signature(seed: u8, message: &[u8]) -> Vec<u8> {
    let signature: p256::ecdsa::Signature = p256_signer(seed).sign(message);
    signature.to_der().as_bytes().to_vec()
}

fn envelope(payload: &[u8], signatures: &[Vec<u8>]) -> Value {
    let signatures: Vec<Value> = signatures.iter().map(|bytes| json!({ "sig": base64(bytes) })).collect();
    json!({ "payloadType": PAYLOAD_TYPE, "payload": base64(payload), "signatures": signatures })
}

/// An envelope as the holder of P-256 key 1 makes it.
fn signed(payload: &[u8]) -> Value {
    envelope(payload, &[p256_signature(1, &encoding(payload))])
}

fn statement() -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "app", "digest": { "sha256": "a".repeat(64) } }],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": { "builder": "b" },
    })
}

fn payload() -> Vec<u8> {
    statement().to_string().into_bytes()
}

/// The names of the keys that signed.
fn signers(document: &Value, keys: &[(&str, &PublicKey)]) -> Result<Vec<String>, EnvelopeError> {
    let envelope = Envelope::read(document)?;
    let verified = envelope.verify(keys)?;
    Ok(verified.signers.iter().map(|name| (*name).to_owned()).collect())
}

/// The statement that P-256 key 1 signed, once it is read.
fn statement_of(payload: &[u8]) -> Result<Statement, EnvelopeError> {
    let envelope = Envelope::read(&signed(payload)).unwrap();
    envelope.verify(&[("one", &key(&p256_pem(1)))]).unwrap().statement()
}

#[test]
fn fixtures_of_openssl_verify() {
    let cases = [
        (FIXTURE_P256_KEY, FIXTURE_P256_SHA256),
        (FIXTURE_P384_KEY, FIXTURE_P384_SHA384),
        (FIXTURE_P384_KEY, FIXTURE_P384_SHA256),
        (FIXTURE_ED25519_KEY, FIXTURE_ED25519),
    ];
    for (pem, signature) in cases {
        let document = json!({
            "payloadType": PAYLOAD_TYPE, "payload": FIXTURE_PAYLOAD, "signatures": [{ "sig": signature }],
        });
        let envelope = Envelope::read(&document).unwrap();
        let key = key(pem);
        let verified = envelope.verify(&[("release", &key)]).unwrap();
        assert_eq!(verified.signers, ["release"]);
        let statement = verified.statement().unwrap();
        assert_eq!(statement.predicate_type, "https://slsa.dev/provenance/v1");
        assert_eq!(statement.subjects, [FIXTURE_DIGEST]);
        assert_eq!(statement.json["predicate"]["buildDefinition"]["buildType"], "https://example.com/build/v1");
    }
}

#[test]
fn the_example_of_the_protocol_verifies() {
    // DSSE 1.0.2, protocol.md, "Test Vectors": the encoding, the key as X and Y, and the signature, r and s at
    // fixed width. Its payload type is none that is read here, so this starts below `Envelope`.
    let header = header("http://example.com/HelloWorld", b"hello world");
    assert_eq!(header, "DSSEv1 29 http://example.com/HelloWorld 11 ");
    let message = Message::of(&[header.as_bytes(), b"hello world"]);
    // X and Y of the example, in hexadecimal behind the mark of an uncompressed point.
    let point = base16(
        "04\
         67cd390f77aa359cb08c2235f652270493a9ed832b0abcc01f70954c0390d238\
         0c782bd54e269125a44f4433aff1432ce94e12bca73aa67ac80cea12608ddf74",
    );
    let key = PublicKey::P256(p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).unwrap());
    let signature =
        decode("sig", "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA==")
            .unwrap();
    assert!(key.verifies(&message, &signature));
    let other = super::header(PAYLOAD_TYPE, b"hello world");
    assert!(
        !key.verifies(&Message::of(&[other.as_bytes(), b"hello world"]), &signature),
        "the payload's type is part of it"
    );
}

#[test]
fn every_algorithm_verifies_what_it_signed_and_nothing_else() {
    let payload = payload();
    let message = encoding(&payload);
    let p384: p384::ecdsa::Signature = p384_signer(1).sign(&message);
    let p384_with_sha256: p384::ecdsa::Signature = p384_signer(1).sign_prehash(&Sha256::digest(&message)).unwrap();
    let p384_with_sha512: p384::ecdsa::Signature =
        p384_signer(1).sign_prehash(&sha2::Sha512::digest(&message)).unwrap();
    let p256: p256::ecdsa::Signature = p256_signer(1).sign(&message);
    let p256_with_sha384: p256::ecdsa::Signature = p256_signer(1).sign_prehash(&Sha384::digest(&message)).unwrap();
    // Half of the signatures of other tools have the larger of the two possible values of s.
    let other_s = p256::ecdsa::Signature::from_scalars(p256.r(), -p256.s()).unwrap();
    let ed25519 = ed25519_signer(1).sign(&message).to_bytes().to_vec();
    let bytes = |der: &[u8]| der.to_vec();
    let cases: [(&str, Vec<u8>, &[&str]); 11] = [
        ("P-256", bytes(p256.to_der().as_bytes()), &["p256"]),
        ("P-256, fixed width", p256.to_bytes().to_vec(), &["p256"]),
        ("P-256, the other s", bytes(other_s.to_der().as_bytes()), &["p256"]),
        ("P-256 with SHA-384", bytes(p256_with_sha384.to_der().as_bytes()), &[]),
        ("P-384", bytes(p384.to_der().as_bytes()), &["p384"]),
        ("P-384, fixed width", p384.to_bytes().to_vec(), &["p384"]),
        ("P-384 with SHA-256", bytes(p384_with_sha256.to_der().as_bytes()), &["p384"]),
        ("P-384 with SHA-512", bytes(p384_with_sha512.to_der().as_bytes()), &[]),
        ("Ed25519", ed25519.clone(), &["ed25519"]),
        ("Ed25519 and a byte", [ed25519.as_slice(), &[0]].concat(), &[]),
        ("an empty signature", Vec::new(), &[]),
    ];
    let [first, second, third] = [key(&p256_pem(1)), key(&p384_pem(1)), key(&ed25519_pem(1))];
    let [fourth, fifth, sixth] = [key(&p256_pem(2)), key(&p384_pem(2)), key(&ed25519_pem(2))];
    let keys = [
        ("p256", &first),
        ("p384", &second),
        ("ed25519", &third),
        ("other p256", &fourth),
        ("other p384", &fifth),
        ("other ed25519", &sixth),
    ];
    for (name, signature, expected) in cases {
        let found = signers(&envelope(&payload, &[signature]), &keys).unwrap_or_default();
        assert_eq!(found, expected, "{name}");
    }
    let last = encoding(b"{}");
    for key in [&first, &second, &third] {
        let document =
            envelope(&payload, &[p256_signature(1, &last), ed25519_signer(1).sign(&last).to_bytes().to_vec()]);
        assert!(signers(&document, &[("one", key)]).is_err(), "a signature of another payload");
    }
}

#[test]
fn only_what_was_signed_verifies() {
    let one = key(&p256_pem(1));
    let keys = [("one", &one)];
    let payload = payload();
    let good = signed(&payload);
    assert_eq!(signers(&good, &keys).unwrap(), ["one"]);

    let not_signed = Err(EnvelopeError::NotSigned(vec!["one".to_owned()]));
    let mut forged = good.clone();
    forged["payload"] = json!(base64(String::from_utf8(payload.clone()).unwrap().replace("aaaa", "bbbb")));
    assert_eq!(signers(&forged, &keys), not_signed, "a forged payload");

    let other = envelope(&payload, &[p256_signature(2, &encoding(&payload))]);
    assert_eq!(signers(&other, &keys), not_signed, "another key's signature");

    let mut lying = other.clone();
    lying["signatures"][0]["keyid"] = json!("one");
    assert_eq!(signers(&lying, &keys), not_signed, "another key's signature with this key's id");

    let bare = envelope(&payload, &[p256_signature(1, &payload)]);
    assert_eq!(signers(&bare, &keys), not_signed, "a signature of the payload alone");

    let mut misnamed = good.clone();
    misnamed["signatures"][0]["keyid"] = json!("someone else's");
    misnamed["signatures"][0]["cert"] = json!(["ignored"]);
    assert_eq!(signers(&misnamed, &keys).unwrap(), ["one"], "the id is not looked at");

    assert_eq!(signers(&good, &[]), Err(EnvelopeError::NotSigned(Vec::new())), "no key");
}

#[test]
fn every_signature_is_tried_with_every_key() {
    let payload = payload();
    let message = encoding(&payload);
    let [one, two, three] = [key(&p256_pem(1)), key(&p256_pem(2)), key(&ed25519_pem(3))];
    let document = envelope(
        &payload,
        &[b"rubbish".to_vec(), ed25519_signer(3).sign(&message).to_bytes().to_vec(), p256_signature(1, &message)],
    );
    let keys = [("one", &one), ("two", &two), ("three", &three), ("one again", &one)];
    assert_eq!(signers(&document, &keys).unwrap(), ["one", "three", "one again"]);
}

#[test]
fn base64_of_either_alphabet_with_or_without_padding_is_read() {
    // The encoded string has both characters in which the alphabets differ.
    let mut statement = statement();
    statement["predicate"] = json!("???>>>ÿÿÿ~~~");
    let payload = statement.to_string().into_bytes();
    let standard = signed(&payload);
    let one = key(&p256_pem(1));
    assert!(standard["payload"].as_str().unwrap().contains(['+', '/']));
    for url_safe in [false, true] {
        for padded in [false, true] {
            let rewrite = |text: &Value| {
                let mut text = text.as_str().unwrap().to_owned();
                if url_safe {
                    text = text.replace('+', "-").replace('/', "_");
                }
                json!(if padded { &text } else { text.trim_end_matches('=') })
            };
            let mut document = standard.clone();
            document["payload"] = rewrite(&standard["payload"]);
            document["signatures"][0]["sig"] = rewrite(&standard["signatures"][0]["sig"]);
            assert_eq!(signers(&document, &[("one", &one)]).unwrap(), ["one"], "{url_safe} {padded}");
        }
    }
}

#[test]
fn documents_that_are_no_envelope_are_refused() {
    let good = signed(&payload());
    let with = |field: &str, value: Value| {
        let mut document = good.clone();
        document[field] = value;
        document
    };
    let encoded = good["payload"].as_str().unwrap();
    let (whole, _) = encoded.trim_end_matches('=').split_at(encoded.len() / 4 * 4 - 7);
    let signature = good["signatures"][0].clone();
    let cases = [
        ("no object", json!([]), EnvelopeError::Shape("the envelope", "an object")),
        ("no type", with("payloadType", Value::Null), EnvelopeError::Shape("payloadType", "a text")),
        (
            "another type",
            with("payloadType", json!("application/vnd.in-toto+json ")),
            EnvelopeError::PayloadType("application/vnd.in-toto+json ".to_owned()),
        ),
        ("no payload", with("payload", Value::Null), EnvelopeError::Shape("payload", "a text")),
        ("a cut payload", with("payload", json!(whole)), EnvelopeError::Base64("payload")),
        ("both alphabets", with("payload", json!("+-+-")), EnvelopeError::Base64("payload")),
        ("white space", with("payload", json!("e3 0=")), EnvelopeError::Base64("payload")),
        ("bits left over", with("payload", json!("e31=")), EnvelopeError::Base64("payload")),
        ("no list", with("signatures", json!({})), EnvelopeError::Shape("signatures", "a list")),
        ("no signatures", with("signatures", json!([])), EnvelopeError::SignatureCount(0)),
        ("5 signatures", with("signatures", json!(vec![signature.clone(); 5])), EnvelopeError::SignatureCount(5)),
        ("a text", with("signatures", json!(["x"])), EnvelopeError::Shape("signatures[]", "an object")),
        ("no sig", with("signatures", json!([{ "keyid": "x" }])), EnvelopeError::Shape("sig", "a text")),
        (
            "a second that is broken",
            with("signatures", json!([signature, { "sig": "MEUCI" }])),
            EnvelopeError::Base64("sig"),
        ),
    ];
    for (name, document, expected) in cases {
        assert_eq!(Envelope::read(&document), Err(expected), "{name}");
    }
    assert!(Envelope::read(&with("signatures", json!(vec![signature.clone(); 4]))).is_ok());
}

#[test]
fn the_payload_is_bounded() {
    let document = |bytes: usize| {
        json!({
            "payloadType": PAYLOAD_TYPE, "payload": base64(vec![b' '; bytes]), "signatures": [{ "sig": "" }],
        })
    };
    assert_eq!(Envelope::read(&document(MAX_PAYLOAD_BYTES)).unwrap().payload.len(), MAX_PAYLOAD_BYTES);
    // One byte more has the same number of base64 characters, three more don't.
    for more in [1, 2, 3] {
        let refused = Envelope::read(&document(MAX_PAYLOAD_BYTES + more));
        assert_eq!(refused, Err(EnvelopeError::PayloadTooLarge), "{more}");
    }
    // The length is checked before the decoding: this is no base64.
    let mut broken = document(MAX_PAYLOAD_BYTES);
    broken["payload"] = json!("?".repeat(MAX_PAYLOAD_BYTES * 2));
    assert_eq!(Envelope::read(&broken), Err(EnvelopeError::PayloadTooLarge));
}

#[test]
fn a_statement_is_read() {
    let mut signed = statement();
    signed["_type"] = json!("https://in-toto.io/Statement/v0.1");
    signed["subject"] = json!([
        { "name": "commit", "digest": { "gitCommit": "c".repeat(40) } },
        { "name": "app", "digest": { "sha256": "a".repeat(64), "sha512": 7 } },
        { "digest": { "sha256": "0123456789abcdef".repeat(4) } },
    ]);
    let statement = statement_of(signed.to_string().as_bytes()).unwrap();
    assert_eq!(statement.predicate_type, "https://slsa.dev/provenance/v1");
    assert_eq!(statement.subjects, [DIGEST.to_owned(), format!("sha256:{}", "0123456789abcdef".repeat(4))]);
    assert_eq!(statement.json, signed);
}

#[test]
fn statements_that_are_none_are_refused() {
    let with = |field: &str, value: Value| {
        let mut statement = statement();
        statement[field] = value;
        statement.to_string()
    };
    let subject = |digest: Value| with("subject", json!([{ "name": "app", "digest": digest }]));
    let one = json!({ "digest": { "sha256": "a".repeat(64) } });
    let no_digest = EnvelopeError::Shape("subject[].digest", "an object");
    let cases = [
        ("a list", "[]".to_owned(), EnvelopeError::Shape("the statement", "an object")),
        (
            "another type",
            with("_type", json!("https://in-toto.io/Statement/v2")),
            EnvelopeError::StatementType("https://in-toto.io/Statement/v2".to_owned()),
        ),
        ("no type", with("_type", Value::Null), EnvelopeError::Shape("_type", "a text")),
        ("no predicate type", with("predicateType", json!(1)), EnvelopeError::Shape("predicateType", "a text")),
        (
            "an empty predicate type",
            with("predicateType", json!("")),
            EnvelopeError::Shape("predicateType", "a text that isn't empty"),
        ),
        ("no subject", with("subject", Value::Null), EnvelopeError::Shape("subject", "a list")),
        ("an empty subject", with("subject", json!([])), EnvelopeError::SubjectCount(0)),
        ("1,001 subjects", with("subject", json!(vec![one.clone(); 1_001])), EnvelopeError::SubjectCount(1_001)),
        ("a subject that is a text", with("subject", json!(["app"])), no_digest.clone()),
        ("a subject without digests", with("subject", json!([one, { "name": "app" }])), no_digest.clone()),
        ("digests in a list", subject(json!(["a"])), no_digest),
        ("no sha256", subject(json!({ "sha512": "a".repeat(128) })), EnvelopeError::NoSubjectDigest),
        ("a number", subject(json!({ "sha256": 1 })), EnvelopeError::Shape("sha256", "a text")),
        ("upper case", subject(json!({ "sha256": "A".repeat(64) })), EnvelopeError::SubjectDigest("A".repeat(64))),
        ("63 digits", subject(json!({ "sha256": "a".repeat(63) })), EnvelopeError::SubjectDigest("a".repeat(63))),
        (
            "64 bytes that are no digits",
            subject(json!({ "sha256": "g".repeat(64) })),
            EnvelopeError::SubjectDigest("g".repeat(64)),
        ),
    ];
    for (name, payload, expected) in cases {
        assert_eq!(statement_of(payload.as_bytes()), Err(expected), "{name}");
    }
    let thousand = json!(vec![json!({ "digest": { "sha256": "a".repeat(64) } }); MAX_SUBJECTS]);
    assert_eq!(statement_of(with("subject", thousand).as_bytes()).unwrap().subjects.len(), MAX_SUBJECTS);
}

/// Go reads keys in any case, and protobuf's readers read their names in snake case: these signers see another statement.
#[test]
fn keys_that_parsers_disagree_about_are_refused() {
    let good = statement().to_string();
    for (field, others) in [
        ("subject", vec!["Subject", "SUBJECT", "\u{17f}ubject", "\\u0053ubject"]),
        ("_type", vec!["type", "_Type", "Type"]),
        ("predicateType", vec!["predicate_type", "predicatetype", "PredicateType"]),
        ("digest", vec!["Digest", "di\\u0067est_"]),
        ("sha256", vec!["SHA256", "sha-256", "Sha256"]),
        ("predicate", vec!["Predicate"]),
    ] {
        let key = format!("\"{field}\":");
        assert!(good.contains(&key), "{good}");
        for other in others {
            let beside = good.replacen(&key, &format!("\"{other}\":null,{key}"), 1);
            let alone = good.replacen(&key, &format!("\"{other}\":"), 1);
            for payload in [beside, alone] {
                let error = statement_of(payload.as_bytes()).unwrap_err();
                assert!(matches!(error, EnvelopeError::Misspelt(_)), "{payload}: {error}");
            }
        }
        let twice = good.replacen(&key, &format!("{key}null,{key}"), 1);
        let error = statement_of(twice.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("the key `{field}` stands twice")), "{twice}: {error}");
    }
    let one = key(&p256_pem(1));
    for name in ["Payload", "payload_type", "SIGNATURES"] {
        let mut document = signed(&payload());
        document[name] = json!("x");
        assert!(matches!(signers(&document, &[("one", &one)]), Err(EnvelopeError::Misspelt(_))), "{name}");
    }
    let mut document = signed(&payload());
    document["signatures"][0]["Sig"] = json!("x");
    let error = signers(&document, &[("one", &one)]).unwrap_err().to_string();
    assert_eq!(error, "the key `Sig` is another spelling of `sig`, parsers disagree about it; attest again");
}

#[test]
fn payloads_that_are_no_json_are_refused() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    let two = format!("{0}{0}", statement());
    for (payload, reason) in [
        (deep.as_bytes(), "recursion limit exceeded"),
        (two.as_bytes(), "trailing characters"),
        (b"", "EOF"),
        (b"{\"_type\":\"\xff\"}", "it is not UTF-8"),
    ] {
        let error = statement_of(payload).unwrap_err();
        assert!(matches!(&error, EnvelopeError::NotJson(words) if words.contains(reason)), "{error}");
    }
}

#[test]
fn errors_say_what_was_found_and_what_to_do() {
    let text = EnvelopeError::NotSigned(vec!["one".to_owned(), "two".to_owned()]).to_string();
    let expected = "no signature of the envelope was made with `one`, `two`; sign it with such a key, or add the key it \
                    was signed with";
    assert_eq!(text, expected);
    let long = json!({ "payloadType": "é".repeat(1_000_000) });
    let text = Envelope::read(&long).unwrap_err().to_string();
    let expected = format!(
        "the payload's type is `{}…`; only `application/vnd.in-toto+json` is read",
        "é".repeat(MAX_SHOWN_CHARS)
    );
    assert_eq!(text, expected);
}

#[test]
fn the_debug_form_keeps_the_payload_to_itself() {
    let document = signed(b"secret");
    let envelope = Envelope::read(&document).unwrap();
    let one = key(&p256_pem(1));
    assert_eq!(format!("{envelope:?}"), "Envelope { payload_bytes: 6, signatures: 1 }");
    let verified = envelope.verify(&[("one", &one)]).unwrap();
    assert_eq!(format!("{verified:?}"), "Verified { payload_bytes: 6, signers: [\"one\"] }");
}
