//! Evidence that real tools made (`crates/evidence/tests/made`), through the whole engine: beside the image in its registry, and in an
//! object of the cluster.

#![expect(clippy::disallowed_methods, reason = "a test reads files")]

use super::*;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image_admission_evidence::key::work;
use image_admission_evidence::media_type::{ARTIFACT_TYPE, COSE_CONFIGURATION};
use sha2::{Digest as _, Sha256};

const MADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/tests/made/");
pub(crate) const REPOSITORY: &str = "ghcr.io/team/app";
pub(crate) const OTHER: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

pub(crate) fn made(file: &str) -> String {
    std::fs::read_to_string([MADE, file].concat()).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn index() -> Value {
    serde_json::from_str(&made("index.json")).unwrap()
}

/// The entry of a file.
pub(crate) fn entry(file: &str) -> Value {
    let index = index();
    let mut files = index["files"].as_array().unwrap().iter();
    files.find(|entry| entry["file"] == file).unwrap_or_else(|| panic!("{file} isn't in the index")).clone()
}

/// The digest that all files are about.
pub(crate) fn image() -> String {
    index()["image"].as_str().unwrap().to_owned()
}

/// An hour after the files were made.
pub(crate) fn now() -> Timestamp {
    Timestamp(index()["made"].as_i64().unwrap() + 3_600)
}

/// The media type of a configuration with a file's evidence, and the configuration.
pub(crate) fn configuration(entry: &Value) -> (&'static str, Value) {
    let text = made(entry["file"].as_str().unwrap());
    let json = || serde_json::from_str(&text).unwrap();
    match entry["form"].as_str().unwrap() {
        "sigstore" => ("application/vnd.dev.sigstore.bundle.v0.3+json", json()),
        "dsse" => ("application/vnd.dsse.envelope.v1+json", json()),
        "notary-jws" => ("application/jose+json", json()),
        "notary-cose" => (COSE_CONFIGURATION, json!({"data": text.trim()})),
        other => panic!("{other} is no form"),
    }
}

/// The same for an object of the cluster.
pub(crate) fn in_object(entry: &Value) -> Value {
    match configuration(entry) {
        (COSE_CONFIGURATION, document) => json!({"mediaType": "application/cose", "data": document["data"]}),
        (media_type, document) => {
            json!({"mediaType": media_type, "data": BASE64_STANDARD.encode(document.to_string())})
        }
    }
}

/// A registry that has the image, and evidence beside it.
pub(crate) fn registry(digest: &str, evidence: &[(&str, Value)]) -> StubHost {
    keep_beside(
        StubHost::default().image(&format!("{REPOSITORY}:1"), digest),
        &format!("{REPOSITORY}@{digest}"),
        "evidence",
        evidence,
    )
}

/// The same host, with evidence beside `repository@digest`. The name is part of the digests of its artifacts.
pub(crate) fn keep_beside(mut host: StubHost, at: &str, name: &str, evidence: &[(&str, Value)]) -> StubHost {
    let (repository, digest) = at.split_once('@').unwrap();
    let mut entries = Vec::new();
    for (position, (media_type, document)) in evidence.iter().enumerate() {
        let own = super::digest(&format!("{name}-{position}"));
        let manifest =
            json!({"artifactType": ARTIFACT_TYPE, "config": {"mediaType": media_type}, "subject": {"digest": digest}});
        let answer = json!({"manifest": manifest, "digest": own, "config": document});
        host = host.artifact_says(&format!("{repository}@{own}"), answer);
        entries.push(json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": ARTIFACT_TYPE, "digest": own, "size": 1}));
    }
    let tag = format!("{repository}:{}", digest.replace(':', "-"));
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries});
    if evidence.is_empty() { host } else { host.pushed(&tag, index) }
}

/// A registry that has the image alone, and an object of the cluster.
pub(crate) fn cluster(digest: &str, evidence: &[Value]) -> StubHost {
    let host = StubHost::default().image(&format!("{REPOSITORY}:1"), digest);
    host.object(object(digest, evidence))
}

pub(crate) fn object(digest: &str, evidence: &[Value]) -> Value {
    json!({"apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": "ImageEvidence",
        "metadata": {"name": digest.replace(':', "-"), "creationTimestamp": "2026-11-27T00:00:00Z"}, "spec": {"evidence": evidence}})
}

/// An attestor as the entry's trust has it.
pub(crate) fn attestor(entry: &Value) -> Value {
    let trust = &entry["trust"];
    let text = |of: &Value| of.as_str().map(made);
    let root = text(&trust["trustedRoot"]).map(|data| json!({"data": data}));
    let notary = |certs: String, store: &str| {
        let authorities = text(&trust["tsa"]).map(|data| json!({"data": data}));
        json!({"name": "team", "notary": {"certs": certs, "tsaCerts": authorities, "trustedIdentities": ["x509.subject: C=DE, ST=Berlin, O=Example"], "trustStore": store}})
    };
    if let Some(key) = text(&trust["key"]) {
        json!({"name": "team", "cosign": {"key": {"data": key}, "trustRoot": root}})
    } else if let Some(certs) = text(&trust["ca"]) {
        notary(certs, "ca")
    } else if let Some(certs) = text(&trust["signingAuthority"]) {
        notary(certs, "signingAuthority")
    } else {
        // A certificate of one's own names no issuer.
        let issuer = entry["issuer"].as_str().unwrap_or("none");
        let identity = json!({"issuer": issuer, "subject": entry["identity"]});
        json!({"name": "team", "cosign": {"keyless": {"identities": [identity]}, "trustRoot": root}})
    }
}

/// A policy that asks for what the entry is.
fn policy(entry: &Value, attestor: Value) -> Value {
    match entry["predicateType"].as_str() {
        None | Some("https://sigstore.dev/cosign/sign/v1") => {
            json!({"attestors": [attestor], "verifications": [{"expression": SIGNED}]})
        }
        Some(predicate) => {
            json!({"attestors": [attestor], "attestations": [{"name": "a", "intoto": {"type": predicate}}],
            "verifications": [{"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.a, [attestors.team]) > 0 && payload(i, attestations.a).predicateType != '')"}]})
        }
    }
}

pub(crate) fn decide(settings: &Value, host: &StubHost) -> Value {
    let payload = json!({"settings": settings, "request": request(&pod(&[&format!("{REPOSITORY}:1")]))}).to_string();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), now());
    serde_json::from_slice(&answer.response).unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn in_cluster(settings: &Value) -> Value {
    let mut settings = settings.clone();
    settings["evidence"]["fromCluster"] = json!(true);
    settings
}

#[test]
fn what_real_tools_made_counts_from_both_places_and_for_its_image_alone() {
    let digest = image();
    let mut counted = 0;
    for entry in index()["files"].as_array().unwrap() {
        let settings = settings(&policy(entry, attestor(entry)));
        let name = &entry["file"];
        assert_eq!(problems(&settings), [""; 0], "{name}");
        let counts = entry.get("unverifiable").is_none();
        counted += usize::from(counts);
        let (media_type, document) = configuration(entry);
        let own = [(media_type, document)];
        for (settings, host) in [
            (settings.clone(), registry(&digest, &own)),
            (in_cluster(&settings), cluster(&digest, &[in_object(entry)])),
        ] {
            let response = decide(&settings, &host);
            assert_eq!(response["accepted"], counts, "{name}: {response}");
            if counts {
                let by = response["audit_annotations"]["container-1.verified-by"].as_str().unwrap();
                assert!(["team (evidence) (signed)", "team (a) (signed)"].contains(&by), "{name}: {by}");
                let pinned = &response["mutated_object"]["spec"]["containers"][0]["image"];
                assert_eq!(*pinned, json!(format!("{REPOSITORY}:1@{digest}")), "{name}");
            }
        }
        // The same beside another image.
        for (settings, host) in
            [(settings.clone(), registry(OTHER, &own)), (in_cluster(&settings), cluster(OTHER, &[in_object(entry)]))]
        {
            assert_eq!(decide(&settings, &host)["accepted"], false, "{name} of another image");
        }
    }
    assert!(counted > 50, "{counted}");
}

/// Whoever writes evidence chooses how much work it takes to see that it counts for nothing.
#[test]
fn what_counts_for_nothing_takes_no_more_than_some_work() {
    let digest = image();
    let signed = entry("sign-p384.json");
    let settings = in_cluster(&settings(&policy(&signed, attestor(&signed))));
    let statement = |number: usize| {
        json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "subject": [{"digest": {"sha256": digest.replace("sha256:", "")}}], "predicate": {"number": number}})
    };
    // Two numbers that are in the range of the curve, four times.
    let signature = json!({"sig": BASE64_STANDARD.encode([1; 96])});
    let forged = |number: usize| {
        let payload = BASE64_STANDARD.encode(statement(number).to_string());
        json!({"payloadType": "application/vnd.in-toto+json", "payload": payload, "signatures": vec![&signature; 4]})
    };
    let all: Vec<Value> = (0..32).map(forged).collect();
    let piece = |document: &Value| json!({"mediaType": "application/vnd.dsse.envelope.v1+json", "data": BASE64_STANDARD.encode(document.to_string())});
    let (first, others) = all.split_at(16);
    let beside: Vec<(&str, Value)> =
        others.iter().map(|document| ("application/vnd.dsse.envelope.v1+json", document.clone())).collect();
    let in_object: Vec<Value> = first.iter().map(piece).collect();
    let before = work();
    let response = decide(&settings, &registry(&digest, &beside).object(object(&digest, &in_object)));
    let done = work() - before;
    let message = response["message"].as_str().unwrap();
    assert!(response["accepted"] == false && message.contains("took too much work"), "{message}");
    assert!((3_072..3_200).contains(&done), "{done}");
    // Fifteen of them keep nobody out who has a signature.
    let mut fifteen = in_object;
    fifteen.insert(0, super::evidence::in_object(&signed));
    fifteen.truncate(16);
    let response = decide(&settings, &cluster(&digest, &fifteen));
    assert_eq!(response["accepted"], true, "{response}");
}

/// Whatever a place holds, it is believed for nothing but its proof.
#[test]
fn places_are_not_believed() {
    let digest = image();
    let signed = entry("sign-p256.json");
    let policy = policy(&signed, attestor(&signed));
    let settings = in_cluster(&settings(&policy));
    let good = in_object(&signed);
    let say = |host: StubHost| {
        let response = decide(&settings, &host);
        (response["accepted"] == json!(true), response["message"].as_str().unwrap_or_default().to_owned())
    };
    assert!(say(cluster(&digest, std::slice::from_ref(&good))).0);
    // A deleted object means not signed.
    let (is_signed, message) = say(StubHost::default().image(&format!("{REPOSITORY}:1"), &digest));
    assert!(!is_signed && message.contains("must sign"), "{message}");
    // What others write beside it keeps nobody out.
    let noise =
        json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "data": BASE64_STANDARD.encode("{}")});
    assert!(say(cluster(&digest, &[noise.clone(), good.clone(), noise.clone()])).0);
    // Of a thousand pieces the first sixteen are read.
    let mut flood = vec![noise.clone(); 16];
    flood.push(good.clone());
    assert!(!say(cluster(&digest, &flood)).0);
    for (what, broken, why) in [
        ("no base64", json!({"mediaType": "application/cose", "data": "%"}), "its `data` is not base64"),
        ("no JSON", json!({"mediaType": "application/jose+json", "data": ""}), "can't be read"),
        ("no bundle", noise, "can't be read"),
    ] {
        let (is_signed, message) = say(cluster(&digest, &[broken]));
        let place = format!("ImageEvidence {}", digest.replace(':', "-"));
        assert!(!is_signed && message.contains(why) && message.contains(&place), "{what}: {message}");
    }
    // An object that can't be read is no object, and the registry still has a say.
    let mut odd = object(&digest, &[]);
    odd["spec"] = json!("x");
    let (is_signed, message) = say(StubHost::default().image(&format!("{REPOSITORY}:1"), &digest).object(odd.clone()));
    assert!(!is_signed && message.contains("can't be read"), "{message}");
    let (media_type, document) = configuration(&signed);
    assert!(say(registry(&digest, &[(media_type, document)]).object(odd)).0);
    // The registry is away: a cluster that has the evidence is enough, for an image by its digest.
    let by_digest = format!("{REPOSITORY}@{digest}");
    let host = StubHost::default().down("ghcr.io/").object(object(&digest, &[good]));
    let mut settings = settings.clone();
    settings["preScanPolicies"] = json!({"defaultPolicy": "accept"});
    settings["imageVerification"][0]["verifyPreScanAccepted"] = json!(true);
    let payload = json!({"settings": settings, "request": request(&pod(&[&by_digest]))}).to_string();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), now());
    let response: Value = serde_json::from_slice(&answer.response).unwrap();
    assert_eq!(response["accepted"], true, "{response}");
    assert_eq!(host.calls().iter().filter(|call| call.namespace == "oci").count(), 0, "{:?}", host.calls());
}

/// Whoever may push, or keeps somebody from answering, keeps no image out that has a signature elsewhere.
#[test]
fn a_place_that_cannot_be_read_keeps_no_other_from_counting() {
    let digest = image();
    let signed = entry("sign-p256.json");
    let settings = in_cluster(&settings(&policy(&signed, attestor(&signed))));
    let own = || registry(&digest, &[configuration(&signed), configuration(&signed)]);
    let gone = format!("{REPOSITORY}@{}", super::digest("evidence-1"));
    for (what, host) in [
        ("an artifact that is listed and gone", own().without(&gone)),
        ("an artifact that its registry doesn't hand out", own().down(&gone)),
        ("a signature that the host can't read", own().fails("v2/verify", "Failed to parse manifest: EOF")),
        ("a cluster that doesn't answer", own().fails("get_resource", "timeout")),
    ] {
        let response = decide(&settings, &host);
        assert_eq!(response["accepted"], true, "{what}: {response}");
    }
}

/// What stands beside a platform keeps out nothing that stands beside its index.
#[test]
fn a_platform_whose_tag_is_no_index_keeps_no_attestation_of_its_index_from_counting() {
    let digest = image();
    let attested = entry("attest-slsaprovenance1.json");
    let settings = settings(&policy(&attested, attestor(&attested)));
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [
        {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1,
            "platform": {"architecture": "amd64", "os": "linux"}}]});
    let index_digest = image_admission_stub_host::digest_of(&index.to_string());
    let host = || {
        let evidence = registry(&index_digest, &[configuration(&attested)]);
        evidence.pushed(&format!("{REPOSITORY}:1"), index.clone()).image(&format!("{REPOSITORY}:amd64"), &digest)
    };
    let tag = format!("{REPOSITORY}:{}", digest.replace(':', "-"));
    for (what, host) in
        [("nothing", host()), ("a manifest", host().pushed(&tag, image_admission_stub_host::manifest()))]
    {
        let response = decide(&settings, &host);
        assert_eq!(response["accepted"], true, "{what}: {response}");
    }
}

/// What ran before is asked about no more, whatever became of its evidence, by a key, an identity or Notary Project.
#[test]
fn an_update_that_changes_no_image_asks_for_no_evidence() {
    for file in ["sign-p256.json", "workflow-attest.json", "notation-cose-p256.base64"] {
        let entry = entry(file);
        let settings = in_cluster(&settings(&policy(&entry, attestor(&entry))));
        let mut relabelled = request(&pod(&[&format!("{REPOSITORY}:1")]));
        relabelled["operation"] = json!("UPDATE");
        relabelled["oldObject"] = relabelled["object"].clone();
        relabelled["object"]["metadata"]["labels"]["a"] = json!("2");
        let payload = json!({"settings": settings, "request": relabelled}).to_string();
        let host = StubHost::not_to_be_asked();
        let answer = validate(payload.as_bytes(), &WireHost(host.wire()), now());
        let response: Value = serde_json::from_slice(&answer.response).unwrap();
        assert_eq!(response["accepted"], true, "{file}: {response}");
    }
}

#[test]
fn an_old_object_says_nothing() {
    let digest = image();
    let signed = entry("sign-p256.json");
    let mut settings = in_cluster(&settings(&policy(&signed, attestor(&signed))));
    let made = |time: Value| {
        let mut object = object(&digest, &[in_object(&signed)]);
        object["metadata"]["creationTimestamp"] = time;
        StubHost::default().image(&format!("{REPOSITORY}:1"), &digest).object(object)
    };
    for (max_age, time, counts) in [
        (Value::Null, json!("2020-01-01T00:00:00Z"), true),
        (json!("7d"), json!("2026-11-27T00:00:00Z"), true),
        (json!("7d"), json!("2026-11-20T00:00:00Z"), false),
        (json!("7d"), Value::Null, false),
        (json!("7d"), json!("yesterday"), false),
    ] {
        settings["evidence"]["maxAge"] = max_age.clone();
        let response = decide(&settings, &made(time.clone()));
        assert_eq!(response["accepted"], counts, "{max_age} {time}: {response}");
        let said = "it is older than 7d, as `evidence.maxAge` allows";
        assert_eq!(response["message"].to_string().contains(said), !counts, "{response}");
    }
}

/// With a trust root of its own, an attestor's signatures must be in that root's log: the host isn't asked, and an envelope isn't enough.
#[test]
fn a_trust_root_of_ones_own_is_the_only_one() {
    let digest = image();
    let [logged, unlogged, envelope] = ["sign-p256-logged.json", "sign-p256.json", "att-p256.json"].map(entry);
    let attestor = attestor(&logged);
    for (entry, counts, why) in [
        (&logged, true, ""),
        (&unlogged, false, "is refused: "),
        (&envelope, false, "is an envelope, which no log knows, and `team` has a `trustRoot`: attach the bundle"),
    ] {
        let host =
            registry(&digest, &[configuration(entry)]).signed(&format!("{REPOSITORY}@{digest}"), &made("p256.pub"));
        let response = decide(&settings(&policy(entry, attestor.clone())), &host);
        assert_eq!(response["accepted"], counts, "{entry}: {response}");
        assert!(response["message"].as_str().unwrap_or_default().contains(why), "{response}");
        assert_eq!(verified(&host), [Value::Null; 0], "the host has another trust root");
    }
}

/// Messages say what was there, and what is wrong with it.
#[test]
fn what_is_wrong_with_evidence_is_told() {
    let digest = image();
    let workflow = entry("workflow-sign.json");
    let by_key = entry("sign-p256.json");
    let notary = entry("notation-jws-p256.json");
    let own = |entry: &Value| registry(&digest, &[configuration(entry)]);
    let keyless = |identity: Value, root: &str| json!({"name": "team", "cosign": {"keyless": {"identities": [identity]}, "trustRoot": {"data": made(root)}}});
    let dev = json!({"issuer": workflow["issuer"], "subject": "https://github.com/team/app/.github/workflows/dev.yml@refs/heads/main"});
    let mut other_key = attestor(&by_key);
    other_key["cosign"]["key"]["data"] = json!(made("other.pub"));
    let mut other_identity = attestor(&notary);
    other_identity["notary"]["trustedIdentities"] = json!(["x509.subject: C=DE, ST=Berlin, O=Other"]);
    let mut other_root = attestor(&notary);
    other_root["notary"]["certs"] = json!(made("notary-other-ca.pem"));
    let annotated =
        json!({"name": "team", "cosign": {"key": {"data": made("p256.pub")}, "annotations": {"env": "prod"}}});
    let named = "https://github.com/team/app/.github/workflows/release.yml@refs/tags/v1.0.0";
    let issuer = workflow["issuer"].as_str().unwrap();
    for (entry, attestor, why) in [
        (
            &workflow,
            keyless(dev, "root.json"),
            format!(
                "is by `{named}` of {issuer}, and team is `https://github.com/team/app/.github/workflows/dev.yml@refs/heads/main` of {issuer}"
            ),
        ),
        (
            &workflow,
            keyless(
                json!({"issuer": issuer, "subjectRegExp": "^https://github\\.com/team/app/.*@refs/heads/main$"}),
                "root.json",
            ),
            "and team is `/^https://github\\.com/team/app/.*@refs/heads/main$/` of".to_owned(),
        ),
        (
            &workflow,
            keyless(json!({"issuer": issuer, "subject": named}), "root-own.json"),
            format!("names `{named}` as its signer, and is refused: "),
        ),
        (&by_key, other_key, "is refused: ".to_owned()),
        (&by_key, annotated, "has no annotations, and `team` asks for some".to_owned()),
        (&by_key, attestor(&notary), "is a bundle of Sigstore, and `team` is no attestor of such".to_owned()),
        (&notary, attestor(&by_key), "is a signature of Notary Project, and `team` is no such attestor".to_owned()),
        (
            &notary,
            other_identity,
            "names `CN=p256-leaf,O=Example,L=Berlin,ST=Berlin,C=DE` as its signer, and is refused: ".to_owned(),
        ),
        (
            &notary,
            other_root,
            "names `CN=p256-leaf,O=Example,L=Berlin,ST=Berlin,C=DE` as its signer, and is refused: ".to_owned(),
        ),
    ] {
        let response = decide(&settings(&policy(entry, attestor)), &own(entry));
        let message = response["message"].as_str().unwrap_or_else(|| panic!("{why}: {response}"));
        assert!(message.contains(&why), "{why}\n{message}");
    }
    // A trust root is needed, and its place is named.
    let mut rootless = attestor(&workflow);
    rootless["cosign"].as_object_mut().unwrap().remove("trustRoot");
    let mut settings = settings(&policy(&workflow, rootless));
    let response = decide(&settings, &own(&workflow));
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .contains("`team` has no `trustRoot` to verify it with: add one, or set `evidence.trustRoot`"),
        "{response}"
    );
    settings["evidence"] = json!({"trustRoot": {"data": made("root.json")}});
    assert_eq!(decide(&settings, &own(&workflow))["accepted"], true);
}

/// What a pusher writes is no line of its own in a message.
#[test]
fn evidence_writes_no_line_of_a_message() {
    let digest = image();
    let signed = entry("sign-p256.json");
    let envelope = json!({"payloadType": "x\n'web:1': signed by team", "payload": "", "signatures": [{"sig": ""}]});
    let place = registry(&digest, &[("application/vnd.dsse.envelope.v1+json", envelope)]);
    let response = decide(&settings(&policy(&signed, attestor(&signed))), &place);
    let message = response["message"].as_str().unwrap();
    assert!(message.contains("signed by team") && !message.contains("\n'web:1'"), "{message}");
}

/// What the authority certified of a workflow may be asked for, and a bundle of another workflow is passed over.
#[test]
fn what_the_certificate_says_is_asked_for() {
    let digest = image();
    let workflow = entry("workflow-sign.json");
    let subject = workflow["identity"].as_str().unwrap();
    let with = |expression: &str| {
        let mut attestor = attestor(&workflow);
        attestor["cosign"]["keyless"]["matchCertificate"] = json!(expression);
        settings(&policy(&workflow, attestor))
    };
    for (expression, counts, why) in [
        ("certificate.runnerEnvironment == 'github-hosted'", true, ""),
        (
            "certificate.sourceRepositoryURI.startsWith('https://github.com/team/') && certificate.issuer != ''",
            true,
            "",
        ),
        ("certificate.runnerEnvironment == 'self-hosted'", false, "is not true of its certificate"),
        ("certificate.subject", false, "is not true of its certificate"),
        ("certificate.deploymentEnvironment == 'production'", false, "has no value for its certificate"),
    ] {
        let settings = with(expression);
        assert_eq!(problems(&settings), [""; 0], "{expression}");
        let response = decide(&settings, &registry(&digest, &[configuration(&workflow)]));
        assert_eq!(response["accepted"], counts, "{expression}: {response}");
        let message = response["message"].as_str().unwrap_or_default();
        assert!(message.contains(why) && (counts || message.contains(subject)), "{expression}: {message}");
    }
    for (expression, why) in [
        ("certificate.", "imageVerification[0].attestors[0].cosign.keyless.matchCertificate: line 1"),
        (
            "certificates.a == ''",
            "imageVerification[0].attestors[0].cosign.keyless.matchCertificate: unknown variable `certificates`; there is `certificate`",
        ),
        (
            "verified(certificate)",
            "imageVerification[0].attestors[0].cosign.keyless.matchCertificate: unknown function `verified`",
        ),
    ] {
        let found = problems(&with(expression));
        assert!(found.iter().any(|line| line.starts_with(why)), "{expression}: {found:?}");
    }
}

/// What a bundle proves by one trust root says nothing of another, and one identity of an attestor nothing of the next.
#[test]
fn a_bundle_is_held_against_each_trust_root_and_each_identity() {
    let digest = image();
    let workflow = entry("workflow-sign.json");
    let own = |subject: &Value| json!({"issuer": workflow["issuer"], "subject": subject});
    let keyless = |name: &str, root: &str, subjects: &[Value]| json!({"name": name, "cosign": {"keyless": {"identities": subjects.iter().map(own).collect::<Vec<_>>()}, "trustRoot": {"data": made(root)}}});
    let (signer, other) = (workflow["identity"].clone(), json!("https://github.com/team/app/x"));
    let attestors = [
        keyless("stranger", "root-own.json", std::slice::from_ref(&signer)),
        keyless("team", "root.json", &[other.clone(), signer]),
        keyless("other", "root.json", &[other]),
    ];
    for place in [registry(&digest, &[configuration(&workflow)]), cluster(&digest, &[in_object(&workflow)])] {
        for order in [["stranger", "team", "other"], ["other", "team", "stranger"]] {
            let of =
                order.map(|name| format!("(verifyImageSignatures(i, [attestors.{name}]) > 0) == {}", name == "team"));
            let verifications = json!([{"expression": format!("images.all.all(i, {})", of.join(" && "))}]);
            let settings = settings(&json!({"attestors": attestors, "verifications": verifications}));
            let response = decide(&in_cluster(&settings), &place);
            assert_eq!(response["accepted"], true, "{order:?}: {response}");
        }
    }
}

/// A trust root, a trust store and a key may stand in the cluster.
#[test]
fn trust_from_the_cluster() {
    let digest = image();
    let config = |name: &str, key: &str, text: String| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "trust"}, "data": {key: text}});
    let from = |name: &str| json!({"configMapRef": {"name": name, "namespace": "trust"}});
    let workflow = entry("workflow-sign.json");
    let mut keyless = attestor(&workflow);
    keyless["cosign"]["trustRoot"] = from("root");
    let notary = entry("notation-jws-p256.json");
    let mut store = attestor(&notary);
    store["notary"]["certs"] = from("store");
    for (entry, attestor, object) in [
        (&workflow, keyless, config("root", "trusted_root.json", made("root.json"))),
        (&notary, store, config("store", "ca.crt", made("notary-p256-ca.pem"))),
    ] {
        let settings = settings(&policy(entry, attestor));
        assert_eq!(problems(&settings), [""; 0]);
        let host = || registry(&digest, &[configuration(entry)]);
        assert_eq!(decide(&settings, &host().object(object))["accepted"], true, "{entry}");
        let missing = decide(&settings, &host());
        assert!(missing["message"].as_str().unwrap().contains("of ConfigMap trust/"), "{missing}");
    }
}

/// Certificates and identities that no signature leads to are refused when the policy is deployed.
#[test]
fn trust_that_could_not_work_is_refused() {
    let notary = |change: Value| {
        let mut notary = json!({"certs": made("notary-p256-ca.pem"), "trustedIdentities": ["*"]});
        notary.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"name": "team", "notary": notary})
    };
    let keyless = |identity: Value| json!({"name": "team", "cosign": {"keyless": {"identities": [identity]}, "trustRoot": {"data": made("root.json")}}});
    for (attestor, why) in [
        (notary(json!({"certs": "PEM"})), "imageVerification[0].attestors: `team`: "),
        (notary(json!({"trustedIdentities": ["acme"]})), "imageVerification[0].attestors: `team`: "),
        (
            keyless(json!({"issuer": "i", "subjectRegExp": "("})),
            "imageVerification[0].attestors: `team`: not a regular expression: ",
        ),
        (
            json!({"name": "team", "cosign": {"key": {"data": made("p256.pub")}, "trustRoot": {"data": "{}"}}}),
            "imageVerification[0].attestors: `team`: its trust root: ",
        ),
    ] {
        let found = problems(&settings(&json!({"attestors": [attestor], "verifications": [{"expression": SIGNED}]})));
        assert!(found.iter().any(|line| line.starts_with(why)), "{why}: {found:?}");
    }
    let mut settings = settings(&expression(SIGNED));
    settings["evidence"] = json!({"trustRoot": {"data": "x"}, "revoked": ["zz"]});
    let found = problems(&settings);
    assert!(found.iter().any(|line| line.starts_with("evidence.trustRoot.data: ")), "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("evidence.revoked[0]: ")), "{found:?}");
}

/// A revoked certificate signs nothing any more, by its serial number or its fingerprint.
#[test]
fn revoked_certificates_do_not_count() {
    let digest = image();
    let notary = entry("notation-jws-p256.json");
    let settings = settings(&policy(&notary, attestor(&notary)));
    let revoked = |numbers: &[&str]| {
        let mut settings = settings.clone();
        settings["evidence"] = json!({"revoked": numbers});
        decide(&settings, &registry(&digest, &[configuration(&notary)]))
    };
    assert_eq!(revoked(&["01:02:03"])["accepted"], true);
    let (_, document) = configuration(&notary);
    let leaf = BASE64_STANDARD.decode(document["header"]["x5c"][0].as_str().unwrap()).unwrap();
    let response = revoked(&[&sha256(&leaf)]);
    assert_eq!(response["accepted"], false);
    assert!(response["message"].as_str().unwrap().contains("revoked"), "{response}");
}

/// The SHA-256 of the certificate that signed an envelope in JWS.
fn fingerprint(envelope: &Value) -> String {
    sha256(&BASE64_STANDARD.decode(envelope["header"]["x5c"][0].as_str().unwrap()).unwrap())
}

/// A ConfigMap with revoked certificates, as `revokedFrom` names it.
fn list(text: &str, refreshed: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"revoked": text},
        "metadata": {"namespace": "security", "name": "notation", "annotations": {"image-admission/refreshed-at": refreshed}}})
}

/// Settings whose list is at most a day old.
fn revoked_from(settings: &Value) -> Value {
    let mut settings = settings.clone();
    settings["evidence"]["revokedFrom"] =
        json!({"configMap": {"namespace": "security", "name": "notation"}, "maxAge": "24h"});
    settings
}

/// How often the cluster was asked.
fn asked_of_cluster(host: &StubHost) -> usize {
    host.calls().iter().filter(|call| call.operation == "get_resource").count()
}

#[test]
fn a_list_in_the_cluster_revokes_beside_the_settings() {
    let digest = image();
    let notary = entry("notation-jws-p256.json");
    let leaf = fingerprint(&configuration(&notary).1);
    let settings = revoked_from(&settings(&policy(&notary, attestor(&notary))));
    let host = |text: &str| registry(&digest, &[configuration(&notary)]).object(list(text, &json!(now().to_string())));
    for (inline, text, counts) in [
        (json!(null), "01:02:03\n", true),
        (json!(null), "# nobody yet\ncount: 0\n", true),
        (json!(null), &format!("01:02:03\n{leaf} # stolen\n"), false),
        (json!(["01:02:03"]), &leaf, false),
        (json!([leaf]), "01:02:03\n", false),
    ] {
        let mut settings = settings.clone();
        settings["evidence"]["revoked"] = inline;
        let response = decide(&settings, &host(text));
        assert_eq!(response["accepted"], counts, "{text}: {response}");
        assert_eq!(response["message"].to_string().contains("is revoked; "), !counts, "{response}");
    }
}

/// A list that can't be used clears nobody, and only the cluster's outage is one.
#[test]
fn a_list_that_cannot_be_used_lets_no_signature_count() {
    let digest = image();
    let notary = entry("notation-jws-p256.json");
    let strict = revoked_from(&settings(&policy(&notary, attestor(&notary))));
    let mut ignoring = strict.clone();
    ignoring["imageVerification"][0]["failurePolicy"] = json!("Ignore");
    ignoring["registries"] = json!(["ghcr.io"]);
    let own = || registry(&digest, &[configuration(&notary)]);
    let at = |hours: i64| json!(Timestamp(now().0 - hours * 3_600).to_string());
    let with = |text: &str, refreshed: Value| own().object(list(text, &refreshed));
    let mut keyless = list("01", &at(0));
    keyless["data"] = json!({"other": "01"});
    let mut unannotated = list("01", &at(0));
    unannotated["metadata"].as_object_mut().unwrap().remove("annotations");
    let mut other = list("01", &at(0));
    other["metadata"]["name"] = json!("other");
    assert_eq!(decide(&strict, &with("01", at(24)))["accepted"], true);
    let place = "the key `revoked` of ConfigMap security/notation";
    for (host, is_outage, why) in [
        (own(), false, format!("{place} can't be read: ")),
        (own().object(keyless), false, format!("{place} is not there")),
        (
            own().answer_with(move |call| (call.operation == "get_resource").then(|| Ok(other.clone()))),
            false,
            "the host gave another object".to_owned(),
        ),
        (own().fails("get_resource", "timeout"), true, format!("{place} can't be read: ")),
        (with("01\nCN=team", at(0)), false, "can't be used: `CN=team` is neither a serial number nor".to_owned()),
        (with("count: 2\n01", at(0)), false, "can't be used: its `count` says 2, but it lists 1".to_owned()),
        (with("", at(0)), false, "can't be used: it names no certificate".to_owned()),
        (with(&"01\n".repeat(10_001), at(0)), false, "can't be used: it names more than 10000 certificates".to_owned()),
        (
            with("01", at(25)),
            false,
            format!("can't be used: it is of {}, and `maxAge` is 24h", at(25).as_str().unwrap()),
        ),
        (with("01", at(-1)), false, "which is still to come, and `maxAge` is 24h".to_owned()),
        (
            with("01", json!("today")),
            false,
            "nothing says how old it is, and `maxAge` is 24h: annotate it with `image-admission/refreshed-at`"
                .to_owned(),
        ),
        (own().object(unannotated), false, "nothing says how old it is".to_owned()),
    ] {
        let response = decide(&strict, &host);
        assert_eq!(response["accepted"], false, "{why}: {response}");
        let message = response["message"].as_str().unwrap();
        assert!(message.contains(&why), "{why}\n{message}");
        assert_eq!(decide(&ignoring, &host)["accepted"], is_outage, "{why} is ignored");
    }
    // Without `maxAge` a list may have any age.
    let mut ageless = strict.clone();
    ageless["evidence"]["revokedFrom"].as_object_mut().unwrap().remove("maxAge");
    assert_eq!(decide(&ageless, &with("01", json!("today")))["accepted"], true);
}

/// Only a signature that counts otherwise needs the list, and a request asks once.
#[test]
fn the_list_is_asked_for_once_and_where_it_matters() {
    let digest = image();
    let notary = entry("notation-jws-p256.json");
    let by_key = entry("sign-p256.json");
    let mut other = attestor(&notary);
    other["notary"]["certs"] = json!(made("notary-other-ca.pem"));
    let text = format!("{}\n", fingerprint(&configuration(&notary).1));
    for (what, entry, attestor, pieces, asked) in [
        ("a bundle", &by_key, attestor(&by_key), 1, 0),
        ("an attestor of another authority", &notary, other, 1, 0),
        ("a revoked signature", &notary, attestor(&notary), 1, 1),
        ("revoked signatures", &notary, attestor(&notary), 3, 1),
    ] {
        let settings = revoked_from(&settings(&policy(entry, attestor)));
        let host =
            registry(&digest, &vec![configuration(entry); pieces]).object(list(&text, &json!(now().to_string())));
        decide(&settings, &host);
        assert_eq!(asked_of_cluster(&host), asked, "{what}");
    }
}

/// As many independent logs and authorities must vouch for a bundle as the settings say.
#[test]
fn thresholds_of_evidence_hold() {
    let digest = image();
    for (file, thresholds, why) in [
        ("workflow-sign.json", json!({"transparencyLogs": 1, "timestamps": 1, "certificateLogs": 1}), None),
        ("workflow-attest-logged1-timestamped.json", json!({"timestamps": 2}), None),
        (
            "workflow-sign.json",
            json!({"timestamps": 2}),
            Some("`1` vouches for the signature, and `2` different ones must"),
        ),
        (
            "workflow-sign.json",
            json!({"transparencyLogs": 2}),
            Some("of the trust root's transparency logs, `1` vouches for the signature, and `2` different ones must"),
        ),
        (
            "workflow-sign.json",
            json!({"certificateLogs": 2}),
            Some("the trust root has `1` of the `2` different certificate logs that must vouch for a signature"),
        ),
        (
            "sign-p256-logged.json",
            json!({"transparencyLogs": 2}),
            Some("of the trust root's transparency logs, `1` vouches"),
        ),
        ("keyless-timestamped.json", json!({}), None),
        (
            "keyless-timestamped.json",
            json!({"transparencyLogs": 1}),
            Some("the trust root has `0` of the `1` different transparency logs that must vouch for a signature"),
        ),
        // Nothing is looked up in a log for a key without a trust root.
        ("sign-p256.json", json!({"transparencyLogs": 2, "timestamps": 2}), None),
    ] {
        let entry = entry(file);
        let mut settings = settings(&policy(&entry, attestor(&entry)));
        settings["evidence"] = json!({"thresholds": thresholds});
        assert_eq!(problems(&settings), [""; 0], "{file}");
        let response = decide(&settings, &registry(&digest, &[configuration(&entry)]));
        assert_eq!(response["accepted"], why.is_none(), "{file} {thresholds}: {response}");
        assert!(response["message"].as_str().unwrap_or_default().contains(why.unwrap_or_default()), "{response}");
    }
}
