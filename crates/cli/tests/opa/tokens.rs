//! `io.jwt.…`, answered here and by the real OPA: every token by every key, broken ones, constraints, and what is signed.

use super::both;
use super::generator::Chance;
use serde_json::{Map, Value, json};

/// Keys and tokens of nobody, by what is special about them.
const SIGNED: &str = include_str!("../../../engine/src/rego/engine/tokens/signed.json");

const VERIFIED: &str = r#"package p
main["decode"] := io.jwt.decode(input.token)
main["rs256"] := io.jwt.verify_rs256(input.token, input.key)
main["rs384"] := io.jwt.verify_rs384(input.token, input.key)
main["rs512"] := io.jwt.verify_rs512(input.token, input.key)
main["ps256"] := io.jwt.verify_ps256(input.token, input.key)
main["ps384"] := io.jwt.verify_ps384(input.token, input.key)
main["ps512"] := io.jwt.verify_ps512(input.token, input.key)
main["es256"] := io.jwt.verify_es256(input.token, input.key)
main["es384"] := io.jwt.verify_es384(input.token, input.key)
main["es512"] := io.jwt.verify_es512(input.token, input.key)
main["eddsa"] := io.jwt.verify_eddsa(input.token, input.key)
main["hs256"] := io.jwt.verify_hs256(input.token, input.key)
main["hs384"] := io.jwt.verify_hs384(input.token, input.key)
main["hs512"] := io.jwt.verify_hs512(input.token, input.key)
main["by cert"] := io.jwt.decode_verify(input.token, {"cert": input.key})
main["by secret"] := io.jwt.decode_verify(input.token, {"secret": input.key})
"#;
const CONSTRAINED: &str = "package p\nmain := io.jwt.decode_verify(input.token, input.constraints)\n";
const SIGNING: &str = "package p\nmain := io.jwt.encode_sign(input.header, input.payload, input.key)\n";
const SIGNING_TEXTS: &str = "package p\nmain := io.jwt.encode_sign_raw(input.header, input.payload, input.key)\n";

/// What differs. Signatures that are made by chance are refused here by name, which is no difference.
fn differences(questions: &[(String, &str, Value)]) -> String {
    both::differences(questions, |why| why.contains("made by chance") || why.contains("is no secret"))
}

fn signed() -> (Map<String, Value>, Map<String, Value>) {
    let all: Value = serde_json::from_str(SIGNED).unwrap();
    (all["keys"].as_object().unwrap().clone(), all["tokens"].as_object().unwrap().clone())
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn every_token_is_verified_by_every_key_as_in_opa() {
    let (keys, tokens) = signed();
    let mut questions = Vec::new();
    for (token_name, token) in &tokens {
        for (key_name, key) in &keys {
            let name = format!("{token_name} by {key_name}");
            questions.push((name, VERIFIED, json!({"token": token, "key": key})));
        }
    }
    let wrong = differences(&questions);
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn what_is_broken_is_broken_in_opa_too() {
    let (keys, tokens) = signed();
    let by = [
        ("RS256", "RSA, PEM"),
        ("PS384", "RSA, JWK"),
        ("ES256 on P-256", "P-256, JWK"),
        ("ES512 on P-521", "P-521, PEM"),
        ("EdDSA", "Ed25519, PEM"),
        ("HS256", "secret"),
        ("claims", "secret, JWK"),
        ("nested", "set"),
    ];
    let mut questions = Vec::new();
    let mut chance = Chance::new(1);
    let mut next = |below: usize| chance.below(below);
    for (token_name, key_name) in by {
        for number in 0..200 {
            let mut texts =
                [tokens[token_name].as_str().unwrap().to_owned(), keys[key_name].as_str().unwrap().to_owned()];
            let text = &mut texts[number % 2];
            let at = next(text.len());
            match next(5) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, ["=", "\n", ".", " ", "A", "\"", "-", "\r\n"][next(8)].chars().next().unwrap()),
                2 => text.replace_range(at..=at, ["A", "_", "+", "/", "=", "\n", ":", "}"][next(8)]),
                3 => text.truncate(at),
                _ => text.push_str(["=", "\n", "\n\n", ".", " ", "A"][next(6)]),
            }
            let [token, key] = texts;
            questions.push((format!("{token:?} by {key:?}"), VERIFIED, json!({"token": token, "key": key})));
        }
    }
    let wrong = differences(&questions);
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn constraints_hold_as_in_opa() {
    let (keys, tokens) = signed();
    let constraints = [
        json!({}),
        json!({"iss": "a"}),
        json!({"iss": "b"}),
        json!({"iss": 1}),
        json!({"aud": "x"}),
        json!({"aud": "z"}),
        json!({"aud": ["x"]}),
        json!({"alg": "HS256"}),
        json!({"alg": "HS512"}),
        json!({"time": 1_700_000_059_999_999_999_u64}),
        json!({"time": 1_700_000_060_000_000_000_u64}),
        json!({"time": 1_699_999_000_500_000_000_u64}),
        json!({"time": 1_699_999_000_400_000_000_u64}),
        json!({"time": 0}),
        json!({"time": -1}),
        json!({"time": 1e300}),
        json!({"time": "1"}),
        json!({"other": 1}),
        json!({"cert": keys["set"]}),
        json!({"aud": "x", "time": 1_699_999_999_000_000_000_u64}),
    ];
    let mut questions = Vec::new();
    for (token_name, token) in &tokens {
        for given in &constraints {
            let mut constraints = given.clone();
            constraints["secret"] = keys["secret"].clone();
            let name = format!("{token_name}, {given}");
            questions.push((name, CONSTRAINED, json!({"token": token, "constraints": constraints})));
        }
    }
    for constraints in
        [json!({}), json!({"secret": ""}), json!({"cert": ""}), json!({"cert": 1}), json!([]), json!("a")]
    {
        questions.push((
            constraints.to_string(),
            CONSTRAINED,
            json!({"token": tokens["HS256"], "constraints": constraints}),
        ));
    }
    let wrong = differences(&questions);
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn tokens_are_signed_as_in_opa() {
    let (keys, _) = signed();
    let headers = [
        r#"{"alg": "HS256"}"#,
        r#"{"alg":"HS384","typ":"JWT"}"#,
        r#"{"alg":"HS512","typ":1}"#,
        r#"{"alg":"RS256","kid":"<r>"}"#,
        r#"{"alg":"RS384"}"#,
        r#"{"alg":"RS512","typ":"text"}"#,
        r#"{"alg":"PS256"}"#,
        r#"{"alg":"ES256"}"#,
        r#"{"alg":"EdDSA"}"#,
        r#"{"alg":"Ed25519"}"#,
        r#"{"alg":"none"}"#,
        r#"{"alg":1}"#,
        r#"{}"#,
        r#"[]"#,
        r#"{"alg":"#,
    ];
    let payloads = [r#"{"b":1.5,"a":["ä<&>",null,1000]}"#, "{}", "[1]", "\"a\"", "text", ""];
    let mut questions = Vec::new();
    for (key_name, key) in &keys {
        for header in headers {
            for payload in payloads {
                let name = format!("{header} {payload} by {key_name}");
                let input = json!({"header": header, "payload": payload, "key": key});
                questions.push((name.clone(), SIGNING_TEXTS, input));
                let value = |text: &str| serde_json::from_str::<Value>(text).ok();
                if let (Some(header), Some(payload)) = (value(header), value(payload)) {
                    let key = key.as_str().and_then(value).unwrap_or_else(|| key.clone());
                    questions.push((name, SIGNING, json!({"header": header, "payload": payload, "key": key})));
                }
            }
        }
    }
    let wrong = differences(&questions);
    assert!(wrong.is_empty(), "{wrong}");
}
