//! Evidence of an image: statements that the target's own key signed, and what real tools made, put together anew and changed, in an
//! object of the cluster or beside the image. Only what an attestor signed about this image counts.
#![no_main]

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image_admission_evidence::media_type::{ARTIFACT_TYPE, COSE_CONFIGURATION};
use image_admission_fuzz::structure::{Choices, change, odd, places};
use image_admission_fuzz::{IMAGE, PREDICATE, answer_at, public_key, request, sign, validity};
use image_admission_stub_host::{StubHost, digest_of};
use image_admission_untrusted::time::Timestamp;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// What real tools made of one image.
const MADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/evidence/tests/made/");
const REPOSITORY: &str = "registry.example/app";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

struct Made {
    image: String,
    /// An hour after they were made.
    now: Timestamp,
    files: Vec<File>,
    /// The first asks for statements of the target's own key.
    asked: Vec<Asked>,
}

struct File {
    media_type: &'static str,
    /// As it stands in a registry.
    document: Value,
    signer: Value,
    /// Which of the settings it is enough for.
    counts_for: Option<usize>,
}

impl File {
    fn may_count_for(&self, signer: &Value) -> bool {
        self.signer == *signer && self.counts_for.is_some()
    }
}

/// Settings that ask for a signer's signature, or for a statement of a type.
#[derive(PartialEq)]
struct Asked {
    signer: Value,
    settings: Value,
}

static ALL: LazyLock<Made> = LazyLock::new(|| {
    let index: Value = serde_json::from_str(&read("index.json")).expect("an index");
    let own = json!({"name": "team", "cosign": {"key": {"data": public_key()}}});
    let mut asked = vec![Asked { signer: Value::Null, settings: settings(&own, Some(PREDICATE)) }];
    let mut files = Vec::new();
    for entry in index["files"].as_array().expect("a list") {
        let signer = signer(entry);
        let own = Asked { signer: signer.clone(), settings: settings(&attestor(entry), signer["predicate"].as_str()) };
        let position = asked.iter().position(|other| *other == own).unwrap_or_else(|| {
            let validity = validity(&own.settings.to_string());
            assert_eq!(validity["valid"], true, "{validity}");
            asked.push(own);
            asked.len() - 1
        });
        let (media_type, document) = configuration(entry);
        let counts_for = entry["unverifiable"].is_null().then_some(position);
        files.push(File { media_type, document, signer, counts_for });
    }
    let image = index["image"].as_str().expect("a digest").to_owned();
    Made { image, now: Timestamp(index["made"].as_i64().expect("a time") + 3_600), files, asked }
});

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let digest = if choices.once_in(8) { IMAGE } else { ALL.image.as_str() };
    let wanted = if choices.once_in(2) { choices.below(ALL.asked.len()) } else { 0 };
    let Asked { signer, settings } = &ALL.asked[wanted];
    let (mut may_count, mut must_count) = (false, false);
    let mut pieces = Vec::new();
    for _ in 0..=choices.below(3) {
        let (media_type, mut document) = if choices.once_in(2) {
            let of_signer: Vec<&File> = ALL.files.iter().filter(|file| file.signer == *signer).collect();
            let is_signers = !of_signer.is_empty() && !choices.once_in(3);
            let file = if is_signers { *choices.of(&of_signer) } else { choices.of(&ALL.files) };
            may_count |= digest == ALL.image && file.may_count_for(signer);
            must_count |= digest == ALL.image && file.counts_for == Some(wanted);
            (file.media_type, file.document.clone())
        } else {
            let (statement, is_plain) = statement(&mut choices, digest);
            let is_asked_for = wanted == 0 && is_about(&statement, digest);
            may_count |= is_asked_for;
            must_count |= is_asked_for && is_plain;
            let envelope = sign(statement.as_bytes());
            if choices.once_in(3) { (BUNDLE, bundle(envelope)) } else { (ENVELOPE, envelope) }
        };
        for _ in 0..choices.below(3) {
            must_count = false;
            let other = put_together(&mut document, &mut choices);
            may_count |= digest == ALL.image && other.is_some_and(|file| file.may_count_for(signer));
        }
        pieces.push((media_type, document));
    }
    let host = StubHost::default().image(&format!("{REPOSITORY}:1"), digest);
    let host = if choices.once_in(2) {
        beside(host, digest, &pieces)
    } else {
        let mut object = object(digest, &pieces);
        for _ in 0..choices.below(3) {
            must_count = false;
            change(&mut object, &mut choices);
        }
        // Whatever it says of itself, it is what stands there.
        host.answer_with(move |call| (call.operation == "get_resource").then(|| Ok(object.clone())))
    };
    let payload = json!({"request": request(&format!("{REPOSITORY}:1")), "settings": settings}).to_string();
    let response = answer_at(payload.as_bytes(), || host.wire(), ALL.now);
    let accepted = response["accepted"] == true;
    assert!(may_count || !accepted, "nobody signed that: {pieces:?}\n{payload}\n{response}");
    assert!(accepted || !must_count, "that is signed: {pieces:?}\n{payload}\n{response}");
});

/// A statement, and whether nothing of it is odd.
fn statement(choices: &mut Choices<'_>, digest: &str) -> (String, bool) {
    let hex = digest.trim_start_matches("sha256:");
    let subject = |choices: &mut Choices<'_>| match choices.below(6) {
        0 => json!({"name": "app", "digest": {"sha256": hex}}),
        1 => json!({"name": digest, "digest": {"sha256": IMAGE.trim_start_matches("sha256:")}}),
        2 => json!({"digest": {"sha512": hex.repeat(2), "gitCommit": hex}}),
        3 => json!({"digest": {"sha256": hex.to_uppercase()}}),
        4 => json!({"digest": {"SHA256": hex, "sha256": "b".repeat(64)}}),
        _ => odd(choices),
    };
    let count = 1 + choices.below(3);
    let subjects: Vec<Value> = (0..count).map(|_| subject(choices)).collect();
    let kind =
        *choices.of(&[PREDICATE, PREDICATE, "https://slsa.dev/provenance/v0.2", "", "https://slsa.dev/provenance/v1/"]);
    let mut statement = json!({
        "_type": choices.of(&["https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1", "https://in-toto.io/Statement/v2"]),
        "predicateType": kind, "subject": subjects, "predicate": {"buildDefinition": {}},
    });
    let is_plain = subjects == [json!({"name": "app", "digest": {"sha256": hex}})]
        && statement["_type"] != "https://in-toto.io/Statement/v2";
    let changes = choices.below(3);
    for _ in 0..changes {
        change(&mut statement, choices);
    }
    let text = statement.to_string();
    match choices.below(8) {
        1 => (text.replacen('{', &format!(r#"{{"predicateType":"{PREDICATE}","#), 1), false),
        2 => (text.replacen('{', &format!(r#"{{"subject":[{{"digest":{{"sha256":"{hex}"}}}}],"#), 1), false),
        3 => (text.replacen(r#""sha256":""#, &format!(r#""sha256":"{hex}","sha256":""#), 1), false),
        4 => (format!("{text}{text}"), false),
        _ => (text, is_plain && changes == 0),
    }
}

/// Whether a statement is of the type that is asked for, and about the image, to whoever takes the last of two keys.
fn is_about(statement: &str, digest: &str) -> bool {
    let Ok(statement) = serde_json::from_str::<Value>(statement) else { return false };
    let mut subjects = statement["subject"].as_array().into_iter().flatten();
    statement["predicateType"] == PREDICATE
        && subjects.any(|subject| subject["digest"]["sha256"] == digest.trim_start_matches("sha256:"))
}

/// A bundle of a signature by a key.
fn bundle(envelope: Value) -> Value {
    json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "x"}}, "dsseEnvelope": envelope})
}

/// Changes a piece, or takes a part of another one for the same part of this, and says of which: all parts together are that one.
fn put_together(document: &mut Value, choices: &mut Choices<'_>) -> Option<&'static File> {
    if choices.once_in(3) {
        change(document, choices);
        return None;
    }
    let file = choices.of(&ALL.files);
    let other = &file.document;
    let common: Vec<String> = places(other).into_iter().filter(|place| document.pointer(place).is_some()).collect();
    let place = choices.of(&common);
    if let (Some(own), Some(others)) = (document.pointer_mut(place), other.pointer(place)) {
        *own = others.clone();
    }
    Some(file)
}

/// An object of the cluster with these pieces.
fn object(digest: &str, pieces: &[(&str, Value)]) -> Value {
    let entry = |(media_type, document): &(&str, Value)| match *media_type {
        // The API server takes nothing but a string.
        COSE_CONFIGURATION if document["data"].is_string() => {
            json!({"mediaType": "application/cose", "data": document["data"]})
        }
        other => json!({"mediaType": other, "data": BASE64_STANDARD.encode(document.to_string())}),
    };
    let evidence: Vec<Value> = pieces.iter().map(entry).collect();
    json!({"apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": "ImageEvidence", "spec": {"evidence": evidence},
           "metadata": {"name": digest.replace(':', "-"), "creationTimestamp": "2026-11-27T00:00:00Z"}})
}

/// A registry with these pieces beside the image.
fn beside(host: StubHost, digest: &str, pieces: &[(&str, Value)]) -> StubHost {
    let artifact = |(position, (media_type, document)): (usize, &(&str, Value))| {
        let own = digest_of(&position.to_string());
        let manifest =
            json!({"artifactType": ARTIFACT_TYPE, "config": {"mediaType": media_type}, "subject": {"digest": digest}});
        (own.clone(), json!({"manifest": manifest, "digest": own, "config": document}))
    };
    let artifacts: Vec<(String, Value)> = pieces.iter().enumerate().map(artifact).collect();
    let entry = |(own, _): &(String, Value)| json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": ARTIFACT_TYPE, "digest": own, "size": 1});
    let entries: Vec<Value> = artifacts.iter().map(entry).collect();
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries});
    let host = host.pushed(&format!("{REPOSITORY}:{}", digest.replace(':', "-")), index);
    artifacts.into_iter().fold(host, |host, (own, answer)| host.artifact_says(&format!("{REPOSITORY}@{own}"), answer))
}

fn read(file: &str) -> String {
    std::fs::read_to_string([MADE, file].concat()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Who signed a file, and what is asked of them: a signature, or a statement of a type.
fn signer(entry: &Value) -> Value {
    let mut signer = entry["trust"].clone();
    for proof in ["trustedRoot", "tsa"] {
        signer.as_object_mut().expect("who is trusted").remove(proof);
    }
    for key in ["identity", "issuer"] {
        signer[key] = entry[key].clone();
    }
    let predicate = entry["predicateType"].as_str().filter(|kind| *kind != "https://sigstore.dev/cosign/sign/v1");
    signer["predicate"] = json!(predicate);
    signer
}

/// The attestor who signed a file.
fn attestor(entry: &Value) -> Value {
    let trust = &entry["trust"];
    let text = |of: &Value| of.as_str().map(read);
    let root = text(&trust["trustedRoot"]).map(|data| json!({"data": data}));
    let notary = |certs: String, store: &str| {
        let authorities = text(&trust["tsa"]).map(|data| json!({"data": data}));
        json!({"name": "team", "notary": {"certs": certs, "tsaCerts": authorities, "trustStore": store,
               "trustedIdentities": ["x509.subject: C=DE, ST=Berlin, O=Example"]}})
    };
    if let Some(key) = text(&trust["key"]) {
        json!({"name": "team", "cosign": {"key": {"data": key}, "trustRoot": root}})
    } else if let Some(certs) = text(&trust["ca"]) {
        notary(certs, "ca")
    } else if let Some(certs) = text(&trust["signingAuthority"]) {
        notary(certs, "signingAuthority")
    } else {
        let identity = json!({"issuer": entry["issuer"].as_str().unwrap_or("none"), "subject": entry["identity"]});
        json!({"name": "team", "cosign": {"keyless": {"identities": [identity]}, "trustRoot": root}})
    }
}

/// Settings that let in what the attestor signed, or what is attested by a statement of a type.
fn settings(attestor: &Value, predicate: Option<&str>) -> Value {
    let mut policy = json!({
        "name": "signed", "verifyPreScanAccepted": true, "attestors": [attestor],
        "verifications": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}],
    });
    if let Some(predicate) = predicate {
        policy["attestations"] = json!([{"name": "a", "intoto": {"type": predicate}}]);
        policy["verifications"] = json!([{"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.a, [attestors.team]) > 0)"}]);
    }
    json!({
        "preScanPolicies": {"defaultPolicy": "accept"}, "registries": ["registry.example"], "evidence": {"fromCluster": true},
        "imageVerification": [policy],
    })
}

/// The media type of a configuration with a file's evidence, and the configuration.
fn configuration(entry: &Value) -> (&'static str, Value) {
    let text = read(entry["file"].as_str().expect("a name"));
    let json = || serde_json::from_str(&text).expect("JSON");
    match entry["form"].as_str().expect("a form") {
        "sigstore" => (BUNDLE, json()),
        "dsse" => (ENVELOPE, json()),
        "notary-jws" => ("application/jose+json", json()),
        "notary-cose" => (COSE_CONFIGURATION, json!({"data": text.trim()})),
        other => panic!("{other} is no form"),
    }
}
