//! Reports, SBOMs and VEX documents as the predicates of signed statements, through the whole engine: what real tools made
//! (`crates/evidence/tests/made`), and envelopes that are signed here. They are in an object of the cluster, or beside the image.

use crate::verification::evidence::{
    OTHER, REPOSITORY, attestor, cluster, configuration, decide, entry, image, in_cluster, in_object, keep_beside,
    made, now, object, registry,
};
use crate::verification::{digest, pod, problems, request};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use image_admission_engine::validate;
use image_admission_evidence::media_type::ARTIFACT_TYPE;
use image_admission_host::WireHost;
use image_admission_stub_host::{StubHost, digest_of};
use serde_json::{Value, json};
use std::time::Duration;

const VULN: &str = "https://cosign.sigstore.dev/attestation/vuln/v1";
const CYCLONEDX: &str = "https://cyclonedx.org/bom";
const OPENVEX: &str = "https://openvex.dev/ns";

const DIRTY: &str = "report-vuln-trivy.json";
const CLEAN: &str = "report-vuln-trivy-clean.json";
const CLEARS: &str = "vex-openvex.json";
const COUNTS: &str = "vex-affected.json";

/// The decision about the image, and the words: its message, or why it is admitted.
struct Answer {
    accepted: bool,
    message: String,
    audit: Value,
}

impl Answer {
    fn state(&self) -> &str {
        self.audit["container-1.state"].as_str().unwrap_or_default()
    }
}

fn ask(settings: &Value, host: &StubHost) -> Answer {
    let response = decide(settings, host);
    Answer {
        accepted: response["accepted"] == json!(true),
        message: response["message"].as_str().unwrap_or_default().to_owned(),
        audit: response["audit_annotations"].clone(),
    }
}

/// Settings with one source of attested reports.
fn source(predicate_type: &str, attestor: Value) -> Value {
    json!({"reports": {"sources": [{"attestation": {"predicateType": predicate_type, "attestors": [attestor]}}]}})
}

/// The reports that a key attested.
fn reports() -> Value {
    source(VULN, attestor(&entry(DIRTY)))
}

/// The pieces of these files, as a registry has them.
fn pieces(files: &[&str]) -> Vec<(&'static str, Value)> {
    files.iter().map(|file| configuration(&entry(file))).collect()
}

/// These files in an object of the cluster, and those beside the image.
fn places(in_cluster: &[&str], beside: &[&str]) -> StubHost {
    let host = registry(&image(), &pieces(beside));
    let evidence: Vec<Value> = in_cluster.iter().map(|file| in_object(&entry(file))).collect();
    if evidence.is_empty() { host } else { host.object(object(&image(), &evidence)) }
}

/// The index of what is beside the image.
fn index() -> String {
    format!("{REPOSITORY}:{}", image().replace(':', "-"))
}

/// A key that signs envelopes here, and who has it.
fn own_key() -> (SigningKey, Value) {
    let key = SigningKey::from_bytes(&[7; 32]);
    let mut der = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    der.extend(key.verifying_key().as_bytes());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64_STANDARD.encode(der));
    (key, json!({"name": "team", "cosign": {"key": {"data": pem}}}))
}

/// An envelope with a statement about these digests.
fn envelope(predicate_type: &str, digests: &[&str], predicate: &Value) -> (&'static str, Value) {
    let subjects: Vec<Value> = digests
        .iter()
        .map(|of| json!({"name": "app", "digest": {"sha256": of.trim_start_matches("sha256:")}}))
        .collect();
    let statement = json!({"_type": "https://in-toto.io/Statement/v1", "predicateType": predicate_type, "subject": subjects, "predicate": predicate});
    let payload = statement.to_string();
    let kind = "application/vnd.in-toto+json";
    let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    let signature = BASE64_STANDARD.encode(own_key().0.sign(signed.as_bytes()).to_bytes());
    let document =
        json!({"payloadType": kind, "payload": BASE64_STANDARD.encode(payload), "signatures": [{"sig": signature}]});
    ("application/vnd.dsse.envelope.v1+json", document)
}

/// A report of Trivy, with or without a critical finding.
fn trivy(ids: &[&str], platform: Option<(&str, &str)>) -> Value {
    let findings: Vec<Value> = ids
        .iter()
        .map(|id| json!({"VulnerabilityID": id, "PkgName": "openssl", "InstalledVersion": "3.0", "Severity": "CRITICAL"}))
        .collect();
    let mut report = json!({"SchemaVersion": 2, "CreatedAt": "2026-11-01T00:00:00Z", "ArtifactName": "app", "ArtifactType": "container_image",
        "Results": [{"Target": "app", "Class": "os-pkgs", "Type": "alpine", "Vulnerabilities": findings}]});
    if let Some((os, architecture)) = platform {
        report["Metadata"] = json!({"ImageConfig": {"os": os, "architecture": architecture}});
    }
    report
}

#[test]
fn attested_reports_are_judged_wherever_they_are() {
    let piece = format!("{REPOSITORY}@{}", digest("evidence-0"));
    let of_object = format!("evidence[0] of ImageEvidence {}", image().replace(':', "-"));
    let from_cluster = in_cluster(&reports());
    for (what, settings, host, by) in [
        ("the registry", reports(), places(&[], &[DIRTY]), &piece),
        ("the object", from_cluster.clone(), places(&[DIRTY], &[]), &of_object),
        (
            "the object, and no index of referrers",
            from_cluster.clone(),
            places(&[DIRTY], &[]).down(&index()),
            &of_object,
        ),
        (
            "the object, and another report beside the image",
            from_cluster.clone(),
            places(&[DIRTY], &[CLEAN]),
            &of_object,
        ),
        ("the registry, and an object of other statements", from_cluster.clone(), places(&[CLEARS], &[DIRTY]), &piece),
        ("the registry, and an object that isn't asked for", reports(), places(&[CLEAN], &[DIRTY]), &piece),
    ] {
        let answer = ask(&settings, &host);
        assert!(!answer.accepted && answer.state() == "fresh", "{what}: {}", answer.message);
        let words = format!(
            "1 critical finding, at most 0 accepted: CVE-2025-0001 in libssl3 (fixed in 3.5.5-r0) (attestation: Trivy report {by} of 2026-01-01T00:00:00Z)"
        );
        assert!(answer.message.contains(&words), "{what}: {}", answer.message);
    }
    for (what, settings, host) in [
        ("the registry", reports(), places(&[], &[CLEAN])),
        ("the object", from_cluster.clone(), places(&[CLEAN], &[])),
        ("the object, and no index of referrers", from_cluster.clone(), places(&[CLEAN], &[]).down(&index())),
        // The cluster has the last word: its report may be newer than what was pushed with the image.
        ("the object, and another report beside the image", from_cluster.clone(), places(&[CLEAN], &[DIRTY])),
    ] {
        let answer = ask(&settings, &host);
        assert!(answer.accepted && answer.state() == "fresh", "{what}: {}", answer.message);
        assert_eq!(host.count("v2/verify"), 0, "{what}: a statement is verified here");
        let beside = host.calls().iter().filter(|call| call.image() == index()).count();
        assert_eq!(beside, usize::from(what == "the registry"), "{what}");
    }
    // Of several reports in one place the worst decides.
    let both = ask(&reports(), &places(&[], &[DIRTY, CLEAN]));
    assert!(!both.accepted && both.message.contains("CVE-2025-0001"), "{}", both.message);
}

/// The settings may name another repository for statements.
#[test]
fn attestations_may_be_in_another_repository() {
    let mut settings = reports();
    settings["reports"]["sources"][0]["attestation"]["repository"] = json!("ghcr.io/security/attestations");
    let place = format!("ghcr.io/security/attestations@{}", image());
    let host =
        |elsewhere: &str, beside: &str| keep_beside(places(&[], &[beside]), &place, "evidence", &pieces(&[elsewhere]));
    let clean = ask(&settings, &host(CLEAN, DIRTY));
    assert!(clean.accepted, "{}", clean.message);
    let dirty = ask(&settings, &host(DIRTY, CLEAN));
    assert!(!dirty.accepted && dirty.message.contains("ghcr.io/security/attestations@"), "{}", dirty.message);
    let none = ask(&settings, &places(&[], &[CLEAN]));
    assert!(
        none.message.contains("no scan report yet in ghcr.io/security/attestations, among its attestations of type "),
        "{}",
        none.message
    );
}

/// Identities attest by a trust root: an address, a workflow, a workflow that its certificate describes, one of the cluster.
#[test]
fn identities_attest_reports_by_a_trust_root() {
    let (person, workflow) = (entry("report-keyless.json"), entry("report-workflow.json"));
    let mut described = attestor(&workflow);
    described["cosign"]["keyless"]["matchCertificate"] = json!("certificate.runnerEnvironment == 'github-hosted'");
    let mut matched = attestor(&workflow);
    matched["cosign"]["keyless"]["identities"] = json!([{"issuerRegExp": "^http://127\\.0\\.0\\.1:[0-9]+/workflow$",
        "subjectRegExp": "^https://github\\.com/team/app/.*@refs/tags/v[0-9.]+$"}]);
    let mut from_cluster = attestor(&person);
    from_cluster["cosign"]["trustRoot"] = json!({"configMapRef": {"name": "root", "namespace": "trust"}});
    let root = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "root", "namespace": "trust"}, "data": {"trusted_root.json": made("root-reports.json")}});
    for (file, attestor) in [
        ("report-keyless.json", attestor(&person)),
        ("report-workflow.json", attestor(&workflow)),
        ("report-workflow.json", described.clone()),
        ("report-workflow.json", matched),
        ("report-keyless.json", from_cluster),
    ] {
        let settings = source(VULN, attestor);
        assert_eq!(problems(&settings), [""; 0], "{settings}");
        for (settings, host) in
            [(settings.clone(), places(&[], &[file])), (in_cluster(&settings), places(&[file], &[]))]
        {
            let answer = ask(&settings, &host.object(root.clone()));
            assert!(answer.accepted, "{file}: {}", answer.message);
        }
    }
    let signer = workflow["identity"].as_str().unwrap();
    let mut other_root = attestor(&workflow);
    other_root["cosign"]["trustRoot"]["data"] = json!(made("root.json"));
    described["cosign"]["keyless"]["matchCertificate"] = json!("certificate.runnerEnvironment == 'self-hosted'");
    for (attestor, why) in [
        (attestor(&person), format!("is by `{signer}` of ")),
        (other_root, format!("names `{signer}` as its signer, and is refused: ")),
        (described, format!("is by `{signer}`, and ")),
    ] {
        let answer = ask(&source(VULN, attestor), &places(&[], &["report-workflow.json"]));
        assert!(!answer.accepted && answer.message.contains(&why), "{why}: {}", answer.message);
        assert_eq!(answer.state(), "not_scanned");
    }
}

/// A key may be in the cluster.
#[test]
fn a_key_of_the_cluster_attests_reports() {
    let mut key = attestor(&entry(DIRTY));
    key["cosign"]["key"] = json!({"configMapRef": {"name": "key", "namespace": "trust", "key": "cosign.pub"}});
    let settings = source(VULN, key);
    assert_eq!(problems(&settings), [""; 0]);
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "key", "namespace": "trust"}, "data": {"cosign.pub": made("reports.pub")}});
    let own = || places(&[], &[CLEAN]);
    assert!(ask(&settings, &own().object(config)).accepted);
    let missing = ask(&settings, &own());
    assert!(
        !missing.accepted && missing.message.contains("the key `cosign.pub` of ConfigMap trust/key"),
        "{}",
        missing.message
    );
    assert_eq!(missing.state(), "look_up_failed");
}

/// Whatever is no statement of the type about this image by an attestor is no report, and says why.
#[test]
fn what_is_not_attested_for_this_image_is_no_report() {
    let mut other_key = attestor(&entry(DIRTY));
    other_key["cosign"]["key"]["data"] = json!(made("other.pub"));
    let mut changed = pieces(&[CLEAN]);
    let payload = changed[0].1["dsseEnvelope"]["payload"].as_str().unwrap();
    let payload = String::from_utf8(BASE64_STANDARD.decode(payload).unwrap()).unwrap().replace("0.69.0", "0.69.1");
    changed[0].1["dsseEnvelope"]["payload"] = json!(BASE64_STANDARD.encode(payload));
    let own = "not signed by team (its key): ";
    for (what, settings, digest_of_image, evidence, why) in [
        (
            "another key",
            source(VULN, other_key),
            image(),
            pieces(&[CLEAN]),
            "is refused: the signature was made with another key, or what was signed was changed",
        ),
        (
            "an envelope about another image",
            source(VULN, own_key().1),
            image(),
            vec![envelope(VULN, &[OTHER], &trivy(&[], None))],
            "is a statement about another image",
        ),
        (
            "another image",
            reports(),
            OTHER.to_owned(),
            pieces(&[CLEAN]),
            "is refused: the bundle is about `sha256:4733",
        ),
        (
            "one byte",
            reports(),
            image(),
            changed,
            "is refused: the signature was made with another key, or what was signed was changed",
        ),
        ("a certificate", reports(), image(), pieces(&["report-keyless.json"]), "is refused: "),
        (
            "what can't be read",
            reports(),
            image(),
            vec![("application/vnd.dsse.envelope.v1+json", json!({}))],
            "can't be read: ",
        ),
    ] {
        let name = format!("the attestation of {REPOSITORY}@{digest_of_image} is {own}");
        for (settings, host) in [
            (settings.clone(), registry(&digest_of_image, &evidence)),
            (in_cluster(&settings), {
                let (media_type, document) = &evidence[0];
                let data = BASE64_STANDARD.encode(document.to_string());
                cluster(&digest_of_image, &[json!({"mediaType": media_type, "data": data})])
            }),
        ] {
            let answer = ask(&settings, &host);
            assert!(
                !answer.accepted && answer.message.contains(&name) && answer.message.contains(why),
                "{what}: {}",
                answer.message
            );
            assert_eq!(answer.state(), "not_scanned", "{what}");
        }
    }
    // Another type is none that was asked for, whatever it is.
    for (what, settings, file) in [
        ("an SBOM", reports(), "sbom-cyclonedx.json"),
        ("a report as SBOM", source(CYCLONEDX, attestor(&entry(DIRTY))), CLEAN),
        ("a signature", reports(), "sign-p256.json"),
        ("nothing", reports(), ""),
    ] {
        let files: Vec<&str> = Some(file).filter(|file| !file.is_empty()).into_iter().collect();
        for (settings, host) in [(settings.clone(), places(&[], &files)), (in_cluster(&settings), places(&files, &[]))]
        {
            let answer = ask(&settings, &host);
            assert!(
                !answer.accepted && answer.message.contains("no scan report yet among its attestations of type "),
                "{what}: {}",
                answer.message
            );
        }
    }
    // A statement of the type that has something else in it.
    let (_, signer) = own_key();
    for (predicate, why) in [
        (json!({"scanner": {"result": {}}}), "none of the formats"),
        (json!("x"), "no JSON object"),
        (Value::Null, "no JSON object"),
    ] {
        let answer =
            ask(&source(VULN, signer.clone()), &registry(&image(), &[envelope(VULN, &[&image()], &predicate)]));
        assert!(!answer.accepted && answer.message.contains(why), "{predicate}: {}", answer.message);
        assert_eq!(answer.state(), "failed", "{predicate}: {}", answer.message);
    }
}

#[test]
fn a_report_is_as_old_as_it_says() {
    for (max_age, accepted, state) in [("9000h", true, "fresh"), ("24h", false, "stale")] {
        let mut settings = reports();
        settings["reports"]["maxAge"] = json!(max_age);
        for (settings, host) in
            [(settings.clone(), places(&[], &[CLEAN])), (in_cluster(&settings), places(&[CLEAN], &[]))]
        {
            let answer = ask(&settings, &host);
            assert_eq!((answer.accepted, answer.state()), (accepted, state), "{max_age}: {}", answer.message);
        }
    }
    // An object of the cluster may be too old itself; the registry still has a say.
    let mut settings = in_cluster(&reports());
    settings["evidence"]["maxAge"] = json!("1h");
    let old = ask(&settings, &places(&[CLEAN], &[]));
    assert!(!old.accepted && old.message.contains("as `evidence.maxAge` allows"), "{}", old.message);
    assert!(ask(&settings, &places(&[DIRTY], &[CLEAN])).accepted);
}

#[test]
fn attested_sboms_tell_packages_and_licences() {
    let sbom = |predicate_type: &str, file: &str| {
        let mut settings = reports();
        settings["reports"]["sboms"] =
            json!([{"attestation": {"predicateType": predicate_type, "attestors": [attestor(&entry(file))]}}]);
        settings
    };
    for (predicate_type, file) in [
        (CYCLONEDX, "sbom-cyclonedx.json"),
        ("https://spdx.dev/Document", "sbom-spdxjson.json"),
        ("https://spdx.dev/Document/v2.3", "sbom-workflow.json"),
    ] {
        for (acceptance, why) in [
            (json!({}), None),
            (json!({"licenses": {"deny": ["AGPL-3.0-only"]}}), Some("report-tool 2.0.0")),
            (json!({"licenses": {"deny": ["BSD-3-Clause"]}}), None),
            (json!({"packages": {"deny": [{"purl": "pkg:npm/lodash"}]}}), Some("lodash 4.17.20")),
            (json!({"packages": {"deny": [{"purl": "pkg:npm/lodash", "versions": "<4"}]}}), None),
        ] {
            let mut settings = sbom(predicate_type, file);
            settings["acceptance"] = acceptance.clone();
            assert_eq!(problems(&settings), [""; 0]);
            for (settings, host) in [
                (settings.clone(), places(&[], &[CLEAN, file])),
                (in_cluster(&settings), places(&[CLEAN, file], &[])),
                (in_cluster(&settings), places(&[file], &[CLEAN])),
            ] {
                let answer = ask(&settings, &host);
                assert_eq!(answer.accepted, why.is_none(), "{file} {acceptance}: {}", answer.message);
                assert!(answer.message.contains(why.unwrap_or_default()), "{file}: {}", answer.message);
            }
        }
        // Without its SBOM an image waits.
        let mut settings = sbom(predicate_type, file);
        settings["acceptance"] = json!({"licenses": {"deny": ["BSD-3-Clause"]}});
        let answer = ask(&settings, &places(&[], &[CLEAN]));
        assert!(!answer.accepted && answer.state() == "no_sbom", "{}", answer.message);
        let mut other = attestor(&entry(file));
        other["cosign"] = json!({"key": {"data": made("other.pub")}});
        settings["reports"]["sboms"][0]["attestation"]["attestors"] = json!([other]);
        let answer = ask(&settings, &places(&[], &[CLEAN, file]));
        assert!(!answer.accepted && answer.message.contains("not signed by team"), "{}", answer.message);
    }
}

/// The reports, and VEX of these attestors.
fn with_vex(attestor: Value) -> Value {
    let mut settings = in_cluster(&reports());
    settings["reports"]["vex"] = json!([{"predicateType": OPENVEX, "attestors": [attestor]}]);
    settings
}

/// Every word counts, wherever it stands.
#[test]
fn vex_clears_and_counts_again_from_every_place() {
    let settings = with_vex(attestor(&entry(CLEARS)));
    assert_eq!(problems(&settings), [""; 0]);
    for (in_object, beside, accepted) in [
        (vec![DIRTY], vec![], false),
        (vec![DIRTY, CLEARS], vec![], true),
        (vec![DIRTY], vec![CLEARS], true),
        (vec![CLEARS], vec![DIRTY], true),
        (vec![], vec![DIRTY, CLEARS], true),
        (vec![DIRTY, CLEARS], vec![CLEARS], true),
        (vec![DIRTY, CLEARS, COUNTS], vec![], false),
        (vec![DIRTY, COUNTS, CLEARS], vec![], false),
        (vec![DIRTY, CLEARS], vec![COUNTS], false),
        (vec![DIRTY, COUNTS], vec![CLEARS], false),
        (vec![DIRTY], vec![CLEARS, COUNTS], false),
        (vec![], vec![COUNTS, DIRTY, CLEARS], false),
        (vec![DIRTY], vec![COUNTS], false),
    ] {
        let answer = ask(&settings, &places(&in_object, &beside));
        let what = format!("{in_object:?} {beside:?}: {}", answer.message);
        assert_eq!(answer.accepted, accepted, "{what}");
        if accepted {
            let vex = answer.audit["container-1.vex"].as_str().unwrap();
            assert!(
                vex.starts_with("CVE-2025-0001: not_affected (vulnerable_code_not_in_execute_path), by team ("),
                "{vex}"
            );
        } else {
            assert!(answer.message.contains("CVE-2025-0001"), "{what}");
        }
        assert_eq!(
            answer.message.contains("VEX of team says affected"),
            in_object.contains(&COUNTS) || beside.contains(&COUNTS),
            "{what}"
        );
    }
}

/// VEX that nobody whom the settings name signed clears nothing, nor does any where one of the places can't be read.
#[test]
fn vex_of_others_and_of_places_that_can_not_be_read_clears_nothing() {
    let settings = with_vex(attestor(&entry(CLEARS)));
    let mut other = attestor(&entry(CLEARS));
    other["cosign"]["key"]["data"] = json!(made("other.pub"));
    for (what, settings, host, why) in [
        (
            "another signer",
            with_vex(other),
            places(&[DIRTY, CLEARS], &[]),
            "VEX is not signed by team (its key): evidence[1] of ImageEvidence ",
        ),
        ("a registry that is down", settings.clone(), places(&[DIRTY, CLEARS], &[]).down(&index()), "VEX"),
        (
            "a cluster that is down",
            settings.clone(),
            places(&[], &[DIRTY, CLEARS]).fails("get_resource", "timeout"),
            "ImageEvidence",
        ),
        (
            "a piece that is gone",
            settings.clone(),
            places(&[DIRTY, CLEARS], &[COUNTS]).without(&format!("{REPOSITORY}@{}", digest("evidence-0"))),
            "VEX",
        ),
    ] {
        let answer = ask(&settings, &host);
        assert!(!answer.accepted && answer.message.contains(why), "{what}: {}", answer.message);
    }
    // The other predicate type is none of those that were asked for.
    let mut settings = settings;
    settings["reports"]["vex"][0]["predicateType"] = json!("https://openvex.dev/ns/v0.2.0");
    assert!(!ask(&settings, &places(&[DIRTY, CLEARS], &[])).accepted);
}

/// Whoever may push writes what they like beside a good piece, and keeps nobody out, nor in.
#[test]
fn what_others_write_beside_a_report_changes_nothing() {
    let noise = (
        "application/vnd.dsse.envelope.v1+json",
        json!({"payloadType": "application/vnd.in-toto+json", "payload": "e30=", "signatures": [{"sig": "AA=="}]}),
    );
    let broken = ("application/vnd.dev.sigstore.bundle.v0.3+json", json!({}));
    // A statement of the type that somebody else signed.
    let foreign = envelope(VULN, &[&image()], &trivy(&[], None));
    for (file, accepted) in [(CLEAN, true), (DIRTY, false)] {
        let own = pieces(&[file]).remove(0);
        for other in [&noise, &broken, &foreign] {
            for evidence in [[other.clone(), own.clone()], [own.clone(), other.clone()]] {
                let answer = ask(&reports(), &registry(&image(), &evidence));
                assert_eq!((answer.accepted, answer.state()), (accepted, "fresh"), "{file}: {}", answer.message);
            }
        }
        // Of many pieces the newest sixteen are read.
        let mut many = vec![foreign.clone(); 16];
        many.push(own.clone());
        assert_eq!(ask(&reports(), &registry(&image(), &many)).accepted, accepted, "{file}");
        many.rotate_right(1);
        let pushed_out = ask(&reports(), &registry(&image(), &many));
        assert!(!pushed_out.accepted && pushed_out.state() == "not_scanned", "{}", pushed_out.message);
        // One that is listed many times is one.
        let listed = |name: &str| json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": ARTIFACT_TYPE, "digest": digest(name), "size": 1});
        let mut entries = vec![listed("evidence-0")];
        entries.extend(vec![listed("evidence-1"); 16]);
        let list =
            json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries});
        let host = registry(&image(), &[own.clone(), foreign.clone()]).pushed(&index(), list);
        assert_eq!(ask(&reports(), &host).accepted, accepted, "{file}");
    }
}

/// A statement counts for the digest that it is about. One about an index is a scan of the platform that it names.
#[test]
fn statements_are_about_a_platform_or_about_the_index() {
    let (amd64, arm64) = (digest("amd64"), digest("arm64"));
    let entry = |digest: &str, architecture: &str| {
        json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1,
            "platform": {"architecture": architecture, "os": "linux"}})
    };
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry(&amd64, "amd64"), entry(&arm64, "arm64")]});
    let whole = digest_of(&index.to_string());
    let of = |ids: &[&str], architecture: &str| trivy(ids, Some(("linux", architecture)));
    let unsaid = || trivy(&[], None);
    for (platform, statements, why) in [
        (None, vec![(&amd64, of(&[], "amd64")), (&arm64, of(&[], "arm64"))], None),
        (None, vec![(&amd64, unsaid()), (&arm64, unsaid())], None),
        (None, vec![(&amd64, of(&[], "amd64"))], Some("linux/arm64")),
        (None, vec![(&amd64, of(&[], "amd64")), (&arm64, of(&["CVE-1"], "arm64"))], Some("CVE-1")),
        (None, vec![(&whole, of(&[], "amd64"))], Some("linux/arm64")),
        (None, vec![(&whole, of(&[], "amd64")), (&arm64, of(&[], "arm64"))], None),
        (None, vec![(&whole, of(&["CVE-1"], "amd64")), (&arm64, of(&[], "arm64"))], Some("CVE-1")),
        (None, vec![(&whole, unsaid())], Some("doesn't say for which platform it is")),
        (Some("linux/amd64"), vec![(&whole, unsaid()), (&arm64, of(&[], "arm64"))], None),
        (Some("linux/amd64"), vec![(&whole, unsaid())], Some("linux/arm64")),
    ] {
        let mut settings = source(VULN, own_key().1);
        settings["reports"]["sources"][0]["attestation"]["platform"] = json!(platform);
        let own = || StubHost::default().pushed(&format!("{REPOSITORY}:1"), index.clone());
        let (mut host, mut objects) = (own(), own());
        for (digest, predicate) in &statements {
            let (media_type, document) = envelope(VULN, &[digest], predicate);
            let data = BASE64_STANDARD.encode(document.to_string());
            objects = objects.object(object(digest, &[json!({"mediaType": media_type, "data": data})]));
            host = keep_beside(
                host,
                &format!("{REPOSITORY}@{digest}"),
                &format!("of-{digest}"),
                &[(media_type, document)],
            );
        }
        for (settings, host) in [(settings.clone(), host), (in_cluster(&settings), objects)] {
            let answer = ask(&settings, &host);
            assert_eq!(answer.accepted, why.is_none(), "{platform:?} {statements:?}: {}", answer.message);
            assert!(answer.message.contains(why.unwrap_or_default()), "{statements:?}: {}", answer.message);
        }
    }
    // One statement may be about several digests, and stand beside each of them.
    let predicate = trivy(&[], None);
    let of_both = envelope(VULN, &[&amd64, &arm64], &predicate);
    let mut host = StubHost::default().pushed(&format!("{REPOSITORY}:1"), index.clone());
    for digest in [&amd64, &arm64] {
        host = keep_beside(host, &format!("{REPOSITORY}@{digest}"), "both", std::slice::from_ref(&of_both));
    }
    let answer = ask(&source(VULN, own_key().1), &host);
    assert!(answer.accepted, "{}", answer.message);
}

/// Rules read the predicate as it was attested.
#[test]
fn rules_read_the_predicate() {
    crate::clock::use_clock_of(Duration::ZERO);
    let mut settings = reports();
    settings["customRules"] = json!(
        "deny_image[msg] { msg := sprintf(\"by %s %s\", [input.ScanReport.InnerReport.scanner.uri, input.ScanReport.InnerReport.scanner.result.Trivy.Version]) }"
    );
    for (settings, host) in [(settings.clone(), places(&[], &[CLEAN])), (in_cluster(&settings), places(&[CLEAN], &[]))]
    {
        let answer = ask(&settings, &host);
        let said = "by pkg:github/aquasecurity/trivy@0.69.0 0.69.0";
        assert!(!answer.accepted && answer.message.contains(said), "{}", answer.message);
    }
}

/// Expressions read the packages of an attested SBOM.
#[test]
fn expressions_read_the_packages_of_an_attested_sbom() {
    for (package, accepted) in [("lodash", false), ("log4j-core", true)] {
        let text =
            format!("images.all.all(i, !sbomPackages(i).exists(p, p.name == '{package}' && p.version == '4.17.20'))");
        let mut settings = reports();
        settings["reports"]["sboms"] =
            json!([{"attestation": {"predicateType": CYCLONEDX, "attestors": [attestor(&entry(DIRTY))]}}]);
        settings["imageVerification"] = json!([{"name": "packages", "verifications": [{"expression": text}]}]);
        assert_eq!(problems(&settings), [""; 0]);
        let answer = ask(&settings, &places(&[], &[CLEAN, "sbom-cyclonedx.json"]));
        assert_eq!(answer.accepted, accepted, "{package}: {}", answer.message);
        let unknown = ask(&settings, &places(&[], &[CLEAN]));
        assert!(
            !unknown.accepted && unknown.message.contains("no SBOM yet among its attestations of type"),
            "{}",
            unknown.message
        );
    }
}

/// Where the cluster has no answer, that is an outage; what isn't granted, or can't be used, is none.
#[test]
fn a_cluster_that_can_not_be_asked() {
    let denied = "Policy has not been granted access to Kubernetes image-admission.kubewarden.io/v1alpha1/ImageEvidence resources. The violation has been reported.";
    for (what, scan_failed, host, accepted, why) in [
        ("an outage", "accept-outages", places(&[DIRTY], &[]).fails("get_resource", "timeout"), true, ""),
        ("an outage", "reject", places(&[CLEAN], &[CLEAN]).fails("get_resource", "timeout"), false, "ImageEvidence"),
        (
            "an outage, and a bad report",
            "accept-outages",
            places(&[], &[DIRTY]).fails("get_resource", "timeout"),
            false,
            "CVE-2025-0001",
        ),
        (
            "a right that is missing",
            "accept-outages",
            places(&[CLEAN], &[CLEAN]).fails("get_resource", denied),
            false,
            "ImageEvidence",
        ),
    ] {
        let mut settings = in_cluster(&reports());
        settings["scanPolicies"] = json!({"scanFailed": scan_failed});
        let answer = ask(&settings, &host);
        assert_eq!(answer.accepted, accepted, "{what}: {} {}", answer.message, answer.audit);
        assert!(answer.message.contains(why), "{what}: {}", answer.message);
    }
}

/// A piece that proves nothing hides nothing that stands beside the image, where it is unknown whether an attestor signed it.
#[test]
fn a_foreign_piece_in_the_object_hides_no_report_of_the_registry() {
    let mut settings = in_cluster(&source(VULN, own_key().1));
    settings["scanPolicies"] = json!({"scanFailed": "accept"});
    let unknown =
        json!({"name": "unknown", "cosign": {"key": {"configMapRef": {"name": "gone", "namespace": "trust"}}}});
    settings["reports"]["sources"][0]["attestation"]["attestors"].as_array_mut().unwrap().insert(0, unknown);
    for ids in [vec![], vec!["CVE-1"]] {
        let beside = registry(&image(), &[envelope(VULN, &[&image()], &trivy(&ids, None))]);
        let foreign = in_object(&entry(CLEAN));
        let answer = ask(&settings, &beside.object(object(&image(), &[foreign])));
        assert_eq!(answer.accepted, ids.is_empty(), "{}", answer.message);
        assert!(ids.iter().all(|id| answer.message.contains(id)), "{}", answer.message);
    }
}

/// Whoever takes attestations away, or keeps somebody from answering, admits nothing that they reject.
#[test]
fn what_is_taken_away_admits_nothing() {
    let mut settings = in_cluster(&reports());
    settings["reports"]["sources"].as_array_mut().unwrap().push(json!({"sbomscanner": {}}));
    settings["registries"] = json!(["ghcr.io"]);
    let artifact = format!("{REPOSITORY}@{}", digest("evidence-0"));
    for scan_failed in ["accept-outages", "reject"] {
        settings["scanPolicies"] = json!({"scanFailed": scan_failed});
        for (what, host) in [
            ("all is there", places(&[], &[DIRTY])),
            ("no index", places(&[], &[DIRTY]).without(&index())),
            ("no artifact", places(&[], &[DIRTY]).without(&artifact)),
            ("no object", places(&[], &[])),
            ("an empty object", places(&[], &[]).object(object(&image(), &[]))),
            ("an object that can't be read", places(&[], &[]).object(json!({"apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": "ImageEvidence", "metadata": {"name": image().replace(':', "-")}, "spec": "x"}))),
            ("an artifact of another digest", places(&[], &[DIRTY]).artifact_says(&artifact, json!({"manifest": {}, "digest": OTHER, "config": {}}))),
            ("no index but a manifest", places(&[], &[DIRTY]).pushed(&index(), image_admission_stub_host::manifest())),
        ] {
            let answer = ask(&settings, &host);
            assert!(!answer.accepted, "{scan_failed}, {what}: {}", answer.audit);
        }
    }
}

/// A report that is an artifact of its own may be signed by evidence beside it.
#[test]
fn report_artifacts_may_be_signed_by_evidence() {
    // What real tools signed stands here for a report's artifact.
    let artifact = image();
    let put = |ids: &[&str], evidence: &[(&str, Value)], subject: &str| {
        let manifest = json!({"config": {"mediaType": "application/json"}, "subject": {"digest": subject}});
        let tag = format!("{REPOSITORY}:{}.scan", OTHER.replace(':', "-"));
        let host = StubHost::default().image(&format!("{REPOSITORY}:1"), OTHER).tag(&tag, &artifact);
        let host = host.artifact(&format!("{REPOSITORY}@{artifact}"), manifest, trivy(ids, None));
        keep_beside(host, &format!("{REPOSITORY}@{artifact}"), "evidence", evidence)
    };
    let of = |file: &str| json!({"reports": {"sources": [{"registry": {"attestors": [attestor(&entry(file))]}}]}});
    for file in [
        "sign-p256.json",
        "workflow-sign.json",
        "keyless-timestamped.json",
        "notation-jws-p256.json",
        "notation-cose-p256.base64",
    ] {
        let settings = of(file);
        assert_eq!(problems(&settings), [""; 0], "{file}");
        let clean = ask(&settings, &put(&[], &pieces(&[file]), OTHER));
        assert!(clean.accepted, "{file}: {}", clean.message);
        let dirty = ask(&settings, &put(&["CVE-1"], &pieces(&[file]), OTHER));
        assert!(!dirty.accepted && dirty.message.contains("CVE-1"), "{file}: {}", dirty.message);
        // The signed report of another image.
        let moved = ask(&settings, &put(&[], &pieces(&[file]), &digest("x")));
        assert!(!moved.accepted && moved.state() == "other_image", "{file}: {}", moved.message);
        for (evidence, why) in
            [(vec![], "not signed in a form that can be read"), (pieces(&["att-p256.json"]), "not signed by team")]
        {
            let answer = ask(&settings, &put(&[], &evidence, OTHER));
            assert!(
                !answer.accepted && answer.state() == "not_scanned" && answer.message.contains(why),
                "{file}: {}",
                answer.message
            );
        }
    }
    // The object of the cluster that has the artifact's digest.
    let host = put(&[], &[], OTHER).object(object(&artifact, &[in_object(&entry("sign-p256.json"))]));
    assert!(ask(&in_cluster(&of("sign-p256.json")), &host).accepted);
    assert!(!ask(&of("sign-p256.json"), &host).accepted);
}

/// Where it is unknown who signed an artifact, it isn't taken for unsigned: what it says may count.
#[test]
fn signatures_of_artifacts_that_can_not_be_looked_up() {
    let artifact = image();
    let signatures = index();
    let mut settings =
        json!({"reports": {"sources": [{"registry": {"attestors": [attestor(&entry("sign-p256.json"))]}}]}});
    let manifest = json!({"config": {"mediaType": "application/json"}, "subject": {"digest": OTHER}});
    let host = || {
        let tag = format!("{REPOSITORY}:{}.scan", OTHER.replace(':', "-"));
        let host = StubHost::default().image(&format!("{REPOSITORY}:1"), OTHER).tag(&tag, &artifact);
        let host = host.artifact(&format!("{REPOSITORY}@{artifact}"), manifest.clone(), trivy(&["CVE-1"], None));
        keep_beside(host, &format!("{REPOSITORY}@{artifact}"), "evidence", &pieces(&["sign-p256.json"]))
    };
    settings["scanPolicies"] = json!({"reportPending": "accept"});
    let bad = ask(&settings, &host());
    assert!(!bad.accepted && bad.message.contains("CVE-1"), "{}", bad.message);
    let unknown = ask(&settings, &host().down(&signatures));
    assert!(!unknown.accepted && unknown.state() == "look_up_failed", "{} {}", unknown.message, unknown.audit);
    // What a pusher wrote in the place of the index is no signature.
    let overwritten = ask(&settings, &host().pushed(&signatures, image_admission_stub_host::manifest()));
    assert!(overwritten.accepted && overwritten.state() == "not_scanned", "{}", overwritten.message);
}

/// So may a VEX document.
#[test]
fn vex_artifacts_may_be_signed_by_evidence() {
    let (artifact, cleared) = (image(), OTHER);
    let document = json!({"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://vex.example.com/1", "author": "a", "timestamp": "2026-11-02T00:00:00Z", "version": 1,
        "statements": [{"vulnerability": {"name": "CVE-1"}, "products": [{"@id": format!("pkg:oci/app@{cleared}?repository_url={REPOSITORY}")}], "status": "not_affected", "justification": "component_not_present"}]});
    let mut settings = source(VULN, own_key().1);
    settings["reports"]["vex"] = json!([{"attestors": [attestor(&entry("workflow-sign.json"))]}]);
    let host = |evidence: &[(&str, Value)]| {
        let host = registry(cleared, &[envelope(VULN, &[cleared], &trivy(&["CVE-1"], None))]);
        let host = host.tag(&format!("{REPOSITORY}:{}.vex", cleared.replace(':', "-")), &artifact);
        let manifest = json!({"config": {"mediaType": "application/json"}, "subject": {"digest": cleared}});
        let host = host.artifact(&format!("{REPOSITORY}@{artifact}"), manifest, document.clone());
        keep_beside(host, &format!("{REPOSITORY}@{artifact}"), "signature", evidence)
    };
    let signed = ask(&settings, &host(&pieces(&["workflow-sign.json"])));
    assert!(signed.accepted, "{}", signed.message);
    let unsigned = ask(&settings, &host(&[]));
    assert!(!unsigned.accepted && unsigned.message.contains("VEX is not signed"), "{}", unsigned.message);
}

/// What runs already is asked about no more.
#[test]
fn an_update_that_changes_no_image_asks_for_nothing() {
    let mut relabelled = request(&pod(&[&format!("{REPOSITORY}:1")]));
    relabelled["operation"] = json!("UPDATE");
    relabelled["oldObject"] = relabelled["object"].clone();
    relabelled["object"]["metadata"]["labels"]["a"] = json!("2");
    let payload = json!({"settings": with_vex(attestor(&entry(CLEARS))), "request": relabelled}).to_string();
    let host = StubHost::not_to_be_asked();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), now());
    let response: Value = serde_json::from_slice(&answer.response).unwrap();
    assert_eq!(response["accepted"], true, "{response}");
}

/// Who can't attest, and what can't be used, is refused when the policy is deployed.
#[test]
fn attestors_that_can_not_attest_are_refused() {
    let key = attestor(&entry(DIRTY));
    let mut rootless = attestor(&entry("report-keyless.json"));
    rootless["cosign"].as_object_mut().unwrap().remove("trustRoot");
    let mut annotated = key.clone();
    annotated["cosign"]["annotations"] = json!({"env": "prod"});
    let mut broken_root = attestor(&entry("report-keyless.json"));
    broken_root["cosign"]["trustRoot"]["data"] = json!("{}");
    let mut broken_key = key.clone();
    broken_key["cosign"]["key"]["data"] = json!(made("reports.pub").replace("MFkw", "MFkx"));
    let notary = attestor(&entry("notation-jws-p256.json"));
    let mut broken_store = notary.clone();
    broken_store["notary"]["certs"] = json!("PEM");
    type Place = fn(Value) -> Value;
    let attested: [(&str, Place); 3] = [
        ("reports.sources[0].attestation", |own| source(VULN, own)),
        (
            "reports.sboms[0].attestation",
            |own| json!({"reports": {"sboms": [{"attestation": {"predicateType": CYCLONEDX, "attestors": [own]}}]}}),
        ),
        ("reports.vex[0]", |own| json!({"reports": {"vex": [{"predicateType": OPENVEX, "attestors": [own]}]}})),
    ];
    let artifacts: [(&str, Place); 3] = [
        ("reports.sources[0].registry", |own| json!({"reports": {"sources": [{"registry": {"attestors": [own]}}]}})),
        ("reports.sboms[0].registry", |own| json!({"reports": {"sboms": [{"registry": {"attestors": [own]}}]}})),
        ("reports.vex[0]", |own| json!({"reports": {"vex": [{"attestors": [own]}]}})),
    ];
    let refused = |path: &str, settings: &Value, why: &str| {
        let found = problems(settings);
        let wanted = format!("{path}.attestors: ");
        assert!(found.len() == 1 && found[0].starts_with(&wanted) && found[0].contains(why), "{path} {why}: {found:?}");
    };
    for (path, place) in attested {
        assert_eq!(problems(&place(key.clone())), [""; 0], "{path}");
        refused(
            path,
            &place(rootless.clone()),
            "`team`: a statement by an identity is verified with a trust root: set `cosign.trustRoot`, or `evidence.trustRoot`",
        );
        refused(
            path,
            &place(notary.clone()),
            "`team`: a statement is verified with a key or a trust root: use `key` or `keyless`",
        );
        refused(
            path,
            &place(annotated.clone()),
            "`team`: `annotations` are those of cosign's signatures; a statement has none",
        );
        // A trust root for all of them.
        let mut settings = place(rootless.clone());
        settings["evidence"] = json!({"trustRoot": {"data": made("root-reports.json")}});
        assert_eq!(problems(&settings), [""; 0], "{path}");
    }
    for (path, place) in artifacts {
        for own in [&key, &notary, &rootless, &annotated] {
            assert_eq!(problems(&place(own.clone())), [""; 0], "{path} {own}");
        }
    }
    for (path, place) in attested.into_iter().chain(artifacts) {
        refused(path, &place(broken_key.clone()), "the key of `team`: ");
        refused(path, &place(broken_root.clone()), "`team`: its trust root: ");
        refused(path, &place(broken_store.clone()), "`team`: ");
    }
}

/// Whether an attestor signed isn't known where no time is left for its expression. What it says may be the bad report.
#[test]
fn who_is_not_recognised_in_time_is_not_somebody_else() {
    let workflow = entry("report-workflow.json");
    let mut described = attestor(&workflow);
    described["name"] = json!("workflow");
    described["cosign"]["keyless"]["matchCertificate"] = json!("certificate.runnerEnvironment == 'github-hosted'");
    let mut settings = source(VULN, described);
    settings["reports"]["sources"][0]["attestation"]["attestors"].as_array_mut().unwrap().push(attestor(&entry(CLEAN)));
    let host = || places(&[], &["report-workflow.json", CLEAN]);
    let answer = ask(&settings, &host());
    assert!(answer.accepted, "{}", answer.message);
    crate::clock::use_clock_without_time();
    let answer = ask(&settings, &host());
    assert!(!answer.accepted && answer.state() == "look_up_failed", "{}", answer.message);
}
