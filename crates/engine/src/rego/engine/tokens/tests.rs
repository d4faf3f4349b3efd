use super::*;
use proptest::prelude::*;
use serde_json::Value as Json;

/// Keys and tokens of nobody. What OPA says of each pair is asked by the test of the conformance cases.
const SIGNED: &str = include_str!("signed.json");

fn key(name: &str) -> Value {
    named("keys", name)
}

fn token(name: &str) -> Value {
    named("tokens", name)
}

fn named(what: &str, name: &str) -> Value {
    let all: Json = serde_json::from_str(SIGNED).unwrap();
    Value::from(all[what][name].as_str().unwrap_or_else(|| panic!("no {name}")))
}

fn value(json: &str) -> Value {
    Value::from_json_str(json).unwrap()
}

fn refused(answer: anyhow::Result<Value>) -> String {
    answer.unwrap_err().to_string()
}

const NOW: Timestamp = Timestamp(1_700_000_000);

#[test]
fn a_key_verifies_what_it_signed_and_nothing_else() {
    let rs256 = Algorithm::Rsa(Hash::Sha256);
    let es256 = Algorithm::Elliptic(Hash::Sha256);
    for (signed, by, algorithm, expected) in [
        ("RS256", "RSA, PEM", rs256, "true"),
        ("RS256", "RSA, certificate", rs256, "true"),
        ("RS256", "RSA, JWK", rs256, "true"),
        ("RS256", "set", rs256, "true"),
        ("RS256", "with a certificate chain", rs256, "true"),
        ("RS256", "headers", rs256, "true"),
        ("RS512 of a small key", "small RSA, JWK", Algorithm::Rsa(Hash::Sha512), "true"),
        ("PS256 without salt", "RSA, PEM", Algorithm::RsaPss(Hash::Sha256), "true"),
        ("PS256 of a modulus of 1025 bits", "RSA of 1025 bits, PEM", Algorithm::RsaPss(Hash::Sha256), "true"),
        ("ES256 on P-256", "P-256, PEM", es256, "true"),
        ("ES256 on P-521", "P-521, JWK", es256, "true"),
        ("ES384 on P-384", "P-384, PEM", Algorithm::Elliptic(Hash::Sha384), "true"),
        ("ES512 on P-521", "P-521, certificate", Algorithm::Elliptic(Hash::Sha512), "true"),
        ("EdDSA", "Ed25519, certificate", Algorithm::Ed25519, "true"),
        // Another key, another algorithm, a key that has a secret half.
        ("RS256", "small RSA, PEM", rs256, "false"),
        ("RS384", "RSA, PEM", rs256, "false"),
        ("PS256", "RSA, PEM", rs256, "false"),
        ("RS256", "P-256, PEM", rs256, "false"),
        ("RS256", "RSA, private", rs256, "false"),
        ("RS256", "set of another algorithm", rs256, "false"),
        ("RS256 with the kid of another key", "set", rs256, "false"),
        ("RS256", "empty set", rs256, "false"),
        ("none with a signature", "RSA, PEM", rs256, "false"),
        ("HS256 by the text of the public key", "RSA, PEM", rs256, "false"),
    ] {
        let answer = verify(algorithm, &[token(signed), key(by)]).unwrap();
        assert_eq!(answer, value(expected), "{signed} by {by}");
    }
}

#[test]
fn what_is_no_key_or_no_token_is_undefined() {
    for by in [
        "secret",
        "set with an unknown key",
        "unknown algorithm",
        "with another chain",
        "off the curve",
        "even exponent",
        "kid is a number",
        "two blocks",
        "another label",
        "certificate as a key",
    ] {
        let answer = verify(Algorithm::Rsa(Hash::Sha256), &[token("RS256"), key(by)]).unwrap();
        assert_eq!(answer, Value::Undefined, "{by}");
    }
    for text in ["", ".", "..", "a.b", "e30.e30.*", "e30.e30.a", "e30.W10.", "bnVsbA.e30.", "e30.e30.e30.e30"] {
        assert_eq!(decode(&[Value::from(text)]).unwrap(), Value::Undefined, "{text}");
    }
    for signed in ["encrypted", "no JSON", "no object"] {
        assert_eq!(decode(&[token(signed)]).unwrap(), Value::Undefined, "{signed}");
    }
    for arguments in [vec![], vec![Value::from(1)], vec![Value::Null, Value::Null], vec![Value::Null; 3]] {
        assert_eq!(decode(&arguments).unwrap(), Value::Undefined);
        assert_eq!(verify(Algorithm::Ed25519, &arguments).unwrap(), Value::Undefined);
        assert_eq!(verify_code(Hash::Sha256, &arguments).unwrap(), Value::Undefined);
        assert_eq!(decode_verify(NOW, &arguments).unwrap(), Value::Undefined);
        assert_eq!(encode_sign_raw(&arguments).unwrap(), Value::Undefined);
    }
}

#[test]
fn a_token_is_verified_with_its_claims() {
    let secret = r#""secret": "a secret of sorts""#;
    for (signed, constraints, is_valid) in [
        ("HS256", format!("{{{secret}}}"), Some(true)),
        ("HS512", format!("{{{secret}, \"alg\": \"HS512\", \"iss\": \"a\"}}"), Some(true)),
        ("HS512", format!("{{{secret}, \"alg\": \"HS256\"}}"), Some(false)),
        ("HS256", format!("{{{secret}, \"iss\": \"b\"}}"), Some(false)),
        ("HS256", format!("{{{secret}, \"aud\": \"x\"}}"), Some(false)),
        ("claims", format!("{{{secret}, \"aud\": \"y\"}}"), Some(true)),
        ("claims", format!("{{{secret}}}"), Some(false)),
        ("claims", format!("{{{secret}, \"aud\": \"y\", \"time\": 1700000060000000000}}"), Some(false)),
        ("claims", format!("{{{secret}, \"aud\": \"y\", \"time\": 1699999000499000000}}"), Some(false)),
        ("expired", format!("{{{secret}}}"), Some(false)),
        ("expired", format!("{{{secret}, \"time\": 1699999999000000000}}"), Some(true)),
        ("not yet", format!("{{{secret}}}"), Some(false)),
        ("just now", format!("{{{secret}}}"), Some(true)),
        ("exp is a text", format!("{{{secret}}}"), None),
        ("none", format!("{{{secret}}}"), Some(false)),
        ("RS256", format!("{{{secret}}}"), Some(false)),
        ("HS256", "{}".to_owned(), None),
        ("HS256", "{\"secret\": \"\"}".to_owned(), None),
        ("HS256", format!("{{{secret}, \"other\": 1}}"), None),
        ("HS256", format!("{{{secret}, \"cert\": \"{{\\\"keys\\\": []}}\"}}"), None),
        ("HS256", format!("{{{secret}, \"time\": -1}}"), None),
    ] {
        let answer = decode_verify(NOW, &[token(signed), value(&constraints)]).unwrap();
        let said = answer.as_array().ok().and_then(|parts| parts.first()?.as_bool().ok().copied());
        assert_eq!(said, is_valid, "{signed}, {constraints}");
    }
}

#[test]
fn keys_of_a_set_verify_tokens_in_tokens() {
    let mut constraints = Value::new_object();
    crate::rego::engine::document::set(&mut constraints, "cert", key("set"));
    for (signed, is_valid) in [
        ("RS256", true),
        ("RS256 with a kid", true),
        ("nested", true),
        ("nested in small letters", true),
        ("HS256", true),
        ("PS256", false),
        ("RS256 with the kid of another key", false),
        ("critical", false),
        ("none", false),
        ("HS256 by the text of the public key", false),
    ] {
        let answer = decode_verify(NOW, &[token(signed), constraints.clone()]).unwrap();
        assert_eq!(answer.as_array().unwrap().first(), Some(&Value::from(is_valid)), "{signed}");
    }
}

#[test]
fn what_is_signed_is_verified() {
    for (by, algorithm, public) in [
        ("RSA, private", "RS256", "RSA, PEM"),
        ("RSA of 1025 bits, private", "RS512", "RSA of 1025 bits, PEM"),
        ("Ed25519, private", "EdDSA", "Ed25519, PEM"),
        ("secret, JWK", "HS384", "secret, JWK"),
    ] {
        let header = Value::from(format!("{{\"alg\": \"{algorithm}\"}}"));
        let signed = encode_sign_raw(&[header, Value::from("{\"iss\": \"a\"}"), key(by)]).unwrap();
        let mut constraints = Value::new_object();
        crate::rego::engine::document::set(&mut constraints, "cert", key(public));
        let answer = decode_verify(NOW, &[signed, constraints]).unwrap();
        assert_eq!(answer.as_array().unwrap().first(), Some(&Value::from(true)), "{by}");
    }
    let sign =
        |header: &str, payload: &str, by: &str| encode_sign_raw(&[Value::from(header), Value::from(payload), key(by)]);
    for (header, payload, by) in [
        ("{}", "{}", "secret, JWK"),
        ("{\"alg\": \"none\"}", "{}", "secret, JWK"),
        ("{\"alg\": \"HS256\"}", "{", "secret, JWK"),
        ("{\"alg\": \"HS256\", \"alg\": \"HS512\"}", "{}", "secret, JWK"),
        ("{\"alg\": \"RS256\"}", "{}", "RSA, JWK"),
        ("{\"alg\": \"RS256\"}", "{}", "secret, JWK"),
        ("{\"alg\": \"HS256\"}", "{}", "empty set"),
    ] {
        assert_eq!(sign(header, payload, by).unwrap(), Value::Undefined, "{header} {payload} {by}");
    }
    assert!(refused(sign("{\"alg\": \"ES256\"}", "{}", "P-256, private")).contains("made by chance"));
    assert!(refused(sign("{\"alg\": \"PS256\"}", "{}", "RSA, private")).contains("made by chance"));
    assert!(refused(sign("{\"alg\": \"HS256\"}", "{}", "Ed25519, JWK")).contains("is no secret"));
}

#[test]
fn there_are_bounds() {
    let long = Value::from("a".repeat(MAX_TOKEN + 1));
    assert_eq!(refused(decode(std::slice::from_ref(&long))), "a token of 262145 bytes: at most 262144");
    assert_eq!(refused(verify(Algorithm::Ed25519, &[token("EdDSA"), long])), "keys of 262145 bytes: at most 262144");
    let large = format!(r#"{{"kty": "RSA", "e": "AQAB", "n": "{}"}}"#, without_padding(&[0xff; 1025]));
    let by = |keys: String| refused(verify(Algorithm::Ed25519, &[token("EdDSA"), Value::from(keys)]));
    assert_eq!(by(large), "an RSA key of 8200 bits: at most 8192");
    let many = vec![r#"{"kty": "oct", "k": "YQ"}"#; 33].join(",");
    assert_eq!(by(format!("{{\"keys\": [{many}]}}")), "a set of 33 keys: at most 32");
    let mut nested = "e30.e30.".to_owned();
    for _ in 0..MOST_NESTED {
        nested = format!("{}.{}.", without_padding(b"{\"cty\":\"JWT\"}"), without_padding(nested.as_bytes()));
    }
    assert_eq!(refused(decode(&[Value::from(nested)])), "more than 16 tokens in tokens");
}

proptest! {
    #[test]
    fn any_text_has_an_answer(text in "[ -~\n]{0,60}", by in ".{0,60}") {
        for token in [text.clone(), format!("eyJhbGciOiJSUzI1NiJ9.e30.{text}"), format!("{}.e30.", without_padding(text.as_bytes()))] {
            let arguments = [Value::from(token), Value::from(by.as_str())];
            let _ = decode(arguments.get(..1).unwrap());
            let _ = verify_code(Hash::Sha512, &arguments);
            prop_assert!(verify(Algorithm::Rsa(Hash::Sha256), &arguments).is_ok());
        }
    }

    #[test]
    fn any_bytes_of_a_key_have_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..80), at in 0_usize..400, byte: u8) {
        let pem = |label: &str, bytes: &[u8]| {
            Value::from(format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", URL_SAFE.encode(bytes).replace('-', "+").replace('_', "/")))
        };
        for label in ["CERTIFICATE", "PUBLIC KEY"] {
            prop_assert_eq!(verify(Algorithm::Ed25519, &[token("EdDSA"), pem(label, &bytes)]).unwrap(), Value::Undefined);
        }
        // A certificate with another byte in it.
        let text = key("P-256, certificate");
        let lines: String = text.as_string().unwrap().lines().filter(|line| !line.starts_with('-')).collect();
        let mut der = base64::engine::general_purpose::STANDARD.decode(lines).unwrap();
        if let Some(place) = der.get_mut(at) {
            *place = byte;
        }
        prop_assert!(verify(Algorithm::Elliptic(Hash::Sha256), &[token("ES256 on P-256"), pem("CERTIFICATE", &der)]).is_ok());
    }

    #[test]
    fn another_signature_is_none(at in 0_usize..64, bit in 0_u32..8) {
        for (signed, by, algorithm) in [
            ("EdDSA", "Ed25519, PEM", Algorithm::Ed25519),
            ("ES256 on P-256", "P-256, PEM", Algorithm::Elliptic(Hash::Sha256)),
            ("RS256", "RSA, PEM", Algorithm::Rsa(Hash::Sha256)),
            ("PS256", "RSA, PEM", Algorithm::RsaPss(Hash::Sha256)),
        ] {
            let whole = token(signed);
            let (message, signature) = whole.as_string().unwrap().rsplit_once('.').unwrap();
            let mut bytes = decoded(signature).unwrap();
            *bytes.get_mut(at).unwrap() ^= 1 << bit;
            let forged = Value::from(format!("{message}.{}", without_padding(&bytes)));
            prop_assert_eq!(verify(algorithm, &[forged, key(by)]).unwrap(), Value::from(false));
        }
    }
}
