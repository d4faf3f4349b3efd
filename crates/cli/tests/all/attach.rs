//! `image-admission attach` and `image-admission evidence pull`, against a registry on loopback: what is in it afterwards, and what
//! hosts of policies see of that. What the tools leave in a registry is in `e2e-tests/forms`.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use image_admission_image::manifest::Manifest;
use image_admission_module_host::answers::live::{Live, LiveOptions};
use image_admission_module_host::answers::{AnswerSource, Request};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::registry::push;
use crate::support::registry::{self as docker_registry, digest_of};
use crate::support::root;
use crate::support::stub_registry::StubRegistry;
use crate::support::transcripts::{self, Outcome, image_admission};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
const EVIDENCE: &str = "application/vnd.image-admission.evidence.v1+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The image of every file in `e2e-tests/forms`.
const IMAGE: &str = "sha256:4733ba33287f6a939a9d4c117a61cf07ff91f5d4a800109fc33798340ae9c086";

#[test]
fn transcripts_are_as_they_were_read() {
    for name in ["attach", "evidence"] {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).join(name);
        transcripts::check(&folder, |arguments, input| image_admission(&folder, arguments, input));
    }
}

/// What real tools left in a registry.
fn form(name: &str) -> Value {
    let path = root().join("e2e-tests/forms").join(format!("{name}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The evidence among what real tools left.
fn document(form: &Value) -> String {
    let blobs = form["blobs"].as_array().unwrap().iter().map(|blob| blob.as_str().unwrap());
    blobs.rev().find(|blob| blob.contains("payloadType")).unwrap().to_owned()
}

/// A registry with the image of the forms and nothing beside it, and a folder for files.
struct World {
    registry: StubRegistry,
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        Self::of(StubRegistry::start(false))
    }

    fn of(registry: StubRegistry) -> Self {
        let form = form("cosign3-sign");
        form["blobs"].as_array().unwrap().iter().take(2).for_each(|blob| {
            registry.blob("", blob.as_str().unwrap().as_bytes());
        });
        let digest = registry.manifest(Some("1.0"), form["manifests"]["1.0"]["body"].as_str().unwrap().as_bytes());
        assert_eq!(digest, IMAGE);
        Self { registry, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn image(&self, tag: &str) -> String {
        format!("{}/team/app{}{tag}", self.registry.address, if tag.contains(':') { "@" } else { ":" })
    }

    /// Attaches to a tag or a digest.
    fn attach(&self, tag: &str, more: &[&str]) -> Outcome {
        image_admission(self.folder.path(), &[&["attach", &self.image(tag)], more].concat(), b"")
    }

    /// Attaches, and returns what was done, as programs read it.
    #[track_caller]
    fn attached(&self, tag: &str, more: &[&str]) -> Vec<Value> {
        let outcome = self.attach(tag, &[&["-o", "json"], more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.errors);
        let report: Value = serde_json::from_str(&outcome.output).unwrap();
        report["evidence"].as_array().unwrap().clone()
    }

    /// The entries of the index at the tag of an image.
    fn listed(&self, digest: &str) -> Vec<Value> {
        let Some(bytes) = self.registry.read(&digest.replace(':', "-")) else { return Vec::new() };
        let index: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((&index["schemaVersion"], &index["mediaType"]), (&json!(2), &json!(INDEX)));
        index["manifests"].as_array().unwrap().clone()
    }

    /// The evidence beside an image with its types, as the policy finds it and a host hands it out.
    fn seen(&self, digest: &str) -> Vec<(String, Value)> {
        let host = Live::new(&LiveOptions::default()).unwrap();
        let tag = self.image(&digest.replace(':', "-"));
        let index = host.answer(&Request::OciManifest { image: tag.clone() }).unwrap();
        let index = Manifest::read(&index).unwrap();
        let answer: Value =
            serde_json::from_slice(&host.answer(&Request::OciManifestDigest { image: tag }).unwrap()).unwrap();
        assert!(index.is_proven(answer["digest"].as_str().unwrap(), &|_| true), "the policy believes no other index");
        let evidence = index.entries().iter().filter(|entry| entry.artifact_type() == Some(EVIDENCE));
        let documents = evidence.map(|entry| {
            let image = self.image(entry.digest());
            let answer: Value =
                serde_json::from_slice(&host.answer(&Request::OciManifestAndConfig { image }).unwrap()).unwrap();
            let manifest = &answer["manifest"];
            assert_eq!(manifest["subject"]["digest"], digest);
            assert_eq!(manifest["artifactType"], EVIDENCE);
            (manifest["config"]["mediaType"].as_str().unwrap().to_owned(), answer["config"].clone())
        });
        documents.collect()
    }
}

/// A bundle whose signature nobody made.
fn bundle(digest: &str) -> String {
    json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "a"}}, "dsseEnvelope": envelope(digest, "")})
        .to_string()
}

/// An envelope whose signature nobody made.
fn envelope(digest: &str, predicate: &str) -> Value {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://example.org/reviewed", "predicate": {"text": predicate},
        "subject": [{"name": "app", "digest": {"sha256": digest.trim_start_matches("sha256:")}}],
    });
    json!({"payloadType": "application/vnd.in-toto+json", "payload": BASE64.encode(statement.to_string()), "signatures": [{"sig": "AAAA"}]})
}

/// A signature of the image by the real `notation`.
fn notation(format: &str) -> Vec<u8> {
    fs::read(root().join("crates/cli/tests/attach").join(format!("notation.{format}"))).unwrap()
}

fn other() -> String {
    digest_of(b"another image")
}

#[test]
fn each_kind_becomes_a_configuration_that_hosts_hand_out() {
    let real = document(&form("cosign3-sign"));
    let message = json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "a"}}, "messageSignature": {"signature": "AAAA",
        "messageDigest": {"algorithm": "SHA2_256", "digest": BASE64.encode(bytes_of(IMAGE))}}})
    .to_string();
    let json_of = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let wrapped = json!({"dsseEnvelope": envelope(IMAGE, "")}).to_string();
    for (file, media_type, configuration) in [
        (real.clone().into_bytes(), BUNDLE, json_of(&real)),
        (bundle(IMAGE).into_bytes(), BUNDLE, json_of(&bundle(IMAGE))),
        (message.clone().into_bytes(), BUNDLE, json_of(&message)),
        (envelope(IMAGE, "").to_string().into_bytes(), ENVELOPE, envelope(IMAGE, "")),
        (wrapped.into_bytes(), ENVELOPE, envelope(IMAGE, "")),
        (notation("jws"), "application/jose+json", serde_json::from_slice(&notation("jws")).unwrap()),
        (
            notation("cose"),
            "application/vnd.image-admission.cose.v1+json",
            json!({"data": BASE64.encode(notation("cose"))}),
        ),
    ] {
        for tag in ["1.0", IMAGE] {
            let world = World::new();
            world.file("evidence", &file);
            let done = world.attached(tag, &["--bundle", "evidence"]);
            assert_eq!(world.seen(IMAGE), [(media_type.to_owned(), configuration.clone())], "{tag}");
            let [entry] = done.as_slice() else { panic!("{done:?}") };
            let artifact = entry["artifact"].as_str().unwrap();
            assert_eq!(
                *entry,
                json!({"source": "evidence", "mediaType": media_type, "artifact": artifact, "attached": true})
            );
            let manifest = world.registry.read(artifact).unwrap();
            let listed =
                json!({"mediaType": MANIFEST, "digest": artifact, "size": manifest.len(), "artifactType": EVIDENCE});
            assert_eq!(world.listed(IMAGE), [listed]);
            let manifest: Value = serde_json::from_slice(&manifest).unwrap();
            assert_eq!(manifest["layers"], json!([{"mediaType": EMPTY, "digest": digest_of(b"{}"), "size": 2}]));
            assert_eq!(manifest["subject"], json!({"mediaType": MANIFEST, "digest": IMAGE, "size": 394}));
            assert_eq!(manifest["config"]["mediaType"], media_type);
            assert_eq!(world.registry.read_blob(&digest_of(b"{}")).unwrap(), b"{}");
        }
    }
}

fn bytes_of(digest: &str) -> Vec<u8> {
    let hex = digest.trim_start_matches("sha256:").as_bytes();
    hex.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn evidence_of_an_index_is_beside_the_index() {
    let world = World::new();
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
        {"mediaType": MANIFEST, "digest": IMAGE, "size": 394, "platform": {"os": "linux", "architecture": "amd64"}}]});
    let index = world.registry.manifest(Some("2.0"), index.to_string().as_bytes());
    world.file("bundle.json", bundle(&index));
    let outcome = world.attach("2.0", &["--bundle", "bundle.json"]);
    let text = format!("{}/team/app@{index}\n  attached   {BUNDLE}  bundle.json\n", world.registry.address);
    assert_eq!((outcome.code, outcome.output), (0, text), "{}", outcome.errors);
    assert_eq!(world.listed(&index).len(), 1);
    assert_eq!(world.listed(IMAGE), [Value::Null; 0]);
    let [artifact] = &world.listed(&index)[..] else { panic!() };
    let artifact: Value =
        serde_json::from_slice(&world.registry.read(artifact["digest"].as_str().unwrap()).unwrap()).unwrap();
    assert_eq!(artifact["subject"]["mediaType"], INDEX);
}

#[test]
fn what_is_listed_already_stays() {
    let world = World::new();
    world.registry.load(&form("cosign3-sign"));
    let [theirs] = <[Value; 1]>::try_from(world.listed(IMAGE)).unwrap();
    world.file("one.json", bundle(IMAGE));
    world.file("two.json", envelope(IMAGE, "").to_string());
    let one = world.attached("1.0", &["--bundle", "one.json"]);
    let two = world.attached("1.0", &["--bundle", "two.json"]);
    let listed = world.listed(IMAGE);
    assert_eq!(listed[0], theirs);
    let digests: Vec<&Value> = listed.iter().map(|entry| &entry["digest"]).collect();
    assert_eq!(digests, [&theirs["digest"], &one[0]["artifact"], &two[0]["artifact"]]);
    // Also what this command doesn't know.
    let index: Value = serde_json::from_slice(&world.registry.read(&IMAGE.replace(':', "-")).unwrap()).unwrap();
    let mut index = index.clone();
    index["annotations"] = json!({"b": "2", "a": "1"});
    index["manifests"][0]["annotations"] = json!({"b": "2", "a": "<1>"});
    index["manifests"][0]["data"] = json!("e30=");
    world.registry.manifest(Some(&IMAGE.replace(':', "-")), index.to_string().as_bytes());
    world.file("three.json", envelope(IMAGE, "another").to_string());
    world.attached("1.0", &["--bundle", "three.json"]);
    let last = world.listed(IMAGE).pop().unwrap();
    index["manifests"].as_array_mut().unwrap().push(last);
    let now: Value = serde_json::from_slice(&world.registry.read(&IMAGE.replace(':', "-")).unwrap()).unwrap();
    assert_eq!(now, index);
}

#[test]
fn the_same_again_adds_nothing() {
    let world = World::new();
    world.file("bundle.json", bundle(IMAGE));
    let first = world.attached("1.0", &["--bundle", "bundle.json", "--bundle", "bundle.json"]);
    assert_eq!(first.iter().map(|entry| &entry["attached"]).collect::<Vec<_>>(), [true, true]);
    let listed = world.listed(IMAGE);
    assert_eq!(listed.len(), 1);
    let second = world.attached(IMAGE, &["--bundle", "bundle.json"]);
    assert_eq!((&second[0]["artifact"], &second[0]["attached"]), (&first[0]["artifact"], &json!(false)));
    assert_eq!(world.listed(IMAGE), listed);
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_pushed() {
    let large = format!("{}{}", " ".repeat(10), envelope(IMAGE, &"x".repeat(5 << 20)));
    let lines = format!("{}\n{}\n", bundle(&other()), bundle(&digest_of(b"a third image")));
    let (other, keys) = (other(), form("keys"));
    let (signature, theirs) = (
        fs::read(root().join("crates/evidence/tests/notary/p256.cose")).unwrap(),
        "sha256:73c803930ea3ba1e54bc25c2bdc53edd0284c62ed651fe7b00369da519a3c333",
    );
    let mut broken = notation("cose");
    broken.truncate(1000);
    for (name, file, more, why) in [
        ("bundle", bundle(&other).into_bytes(), &[][..], format!("`evidence` is about `{other}`, and not about `")),
        (
            "envelope",
            envelope(&other, "").to_string().into_bytes(),
            &[],
            format!("`evidence` is about `{other}`, and not about `"),
        ),
        ("signature", signature, &[], format!("`evidence` is about `{theirs}`, and not about `")),
        ("broken signature", broken, &[], "`evidence`: its signature can't be read: ".to_owned()),
        ("lines", lines.into_bytes(), &[], format!("`evidence` is about `{other}`, `sha256:")),
        ("large", large.into_bytes(), &[], "bytes, and 5242880 are the most".to_owned()),
        ("empty", b"\n".to_vec(), &[], "`evidence`: it is empty".to_owned()),
        ("text", b"evidence".to_vec(), &[], "`evidence`: it is neither JSON nor a COSE_Sign1: ".to_owned()),
        (
            "cut off",
            bundle(IMAGE).as_bytes()[..200].to_owned(),
            &[],
            "`evidence`: it is neither JSON nor a COSE_Sign1: ".to_owned(),
        ),
        ("JSON", b"{}".to_vec(), &[], "`evidence`: it is no Sigstore bundle (".to_owned()),
        (
            "hidden",
            bundle(IMAGE).replace("\"payload\"", "\"Payload\":\"\",\"payload\"").into_bytes(),
            &[],
            "`evidence`: its bundle can't be read: ".to_owned(),
        ),
        (
            "a key's",
            document(&form("cosign3-sign")).into_bytes(),
            &["--key", "other.pub"],
            "the key of `--key` doesn't verify `good.json`: ".to_owned(),
        ),
        (
            "a certificate's",
            notation("jws"),
            &["--key", "team.pub"],
            "the key of `--key` doesn't verify `evidence`: it is a signature of Notary Project, which".to_owned(),
        ),
    ] {
        let world = World::new();
        world.file("evidence", file);
        for key in ["team", "other"] {
            world.file(&format!("{key}.pub"), keys[key].as_str().unwrap());
        }
        // One that would do, before and after it.
        world.file("good.json", document(&form("cosign3-sign")));
        let good = ["--bundle", "good.json", "--bundle", "evidence", "--bundle", "good.json"];
        let outcome = world.attach("1.0", &[&good, more].concat());
        let is_told = outcome.errors.contains(&why);
        assert!(is_told && outcome.code == 1 && outcome.output.is_empty(), "{name}: {outcome:?}");
        assert_eq!(world.registry.writes(), 0, "{name}");
    }
}

#[test]
fn what_is_no_index_is_left_alone() {
    for body in [
        form("cosign3-sign")["manifests"]["1.0"]["body"].as_str().unwrap().to_owned(),
        json!({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.list.v2+json", "manifests": []}).to_string(),
        json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [], "layers": []}).to_string(),
    ] {
        let world = World::new();
        world.registry.manifest(Some(&IMAGE.replace(':', "-")), body.as_bytes());
        world.file("bundle.json", bundle(IMAGE));
        let outcome = world.attach("1.0", &["--bundle", "bundle.json"]);
        assert!(outcome.errors.contains("is no index of what refers to the image, and is left as it is"), "{body}: {outcome:?}");
        assert_eq!((outcome.code, world.registry.writes()), (1, 0), "{body}");
    }
}

#[test]
fn of_many_pieces_those_about_the_image_are_attached() {
    let world = World::new();
    let lines = [bundle(&other()), bundle(IMAGE), envelope(IMAGE, "").to_string()].join("\n");
    world.file("attestations.jsonl", lines);
    let outcome = world.attach("1.0", &["--bundle", "attestations.jsonl"]);
    let warning = format!("warning: `attestations.jsonl` has evidence about `{}`, too, which is left out\n", other());
    assert_eq!((outcome.code, outcome.errors), (0, warning));
    let seen: Vec<String> = world.seen(IMAGE).into_iter().map(|(media_type, _)| media_type).collect();
    assert_eq!(seen, [BUNDLE, ENVELOPE]);
}

#[test]
fn a_key_must_have_signed_all() {
    let keys = form("keys");
    for name in ["cosign3-sign", "cosign3-attest", "cosign2-attest"] {
        let world = World::new();
        world.file("team.pub", keys["team"].as_str().unwrap());
        world.file("evidence", document(&form(name)));
        assert_eq!(world.attached("1.0", &["--bundle", "evidence", "--key", "team.pub"]).len(), 1, "{name}");
    }
    // A signature of the manifest's own bytes.
    use p256::ecdsa::signature::Signer as _;
    let key = p256::ecdsa::SigningKey::from_slice(&[7; 32]).unwrap();
    let world = World::new();
    let signature: p256::ecdsa::Signature = key.sign(&world.registry.read(IMAGE).unwrap());
    let message = json!({"mediaType": BUNDLE, "verificationMaterial": {"publicKey": {"hint": "a"}}, "messageSignature": {"signature": BASE64.encode(signature.to_der()),
        "messageDigest": {"algorithm": "SHA2_256", "digest": BASE64.encode(bytes_of(IMAGE))}}});
    world.file("evidence", message.to_string());
    let head: Vec<u8> = bytes_of("3059301306072a8648ce3d020106082a8648ce3d030107034200");
    let der = [head, key.verifying_key().to_sec1_point(false).as_bytes().to_vec()].concat();
    world.file("own.pub", format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64.encode(der)));
    world.file("team.pub", keys["team"].as_str().unwrap());
    assert_eq!(world.attach("1.0", &["--bundle", "evidence", "--key", "team.pub"]).code, 1);
    assert_eq!(world.attached("1.0", &["--bundle", "evidence", "--key", "own.pub"]).len(), 1);
}

#[test]
fn what_the_tools_left_in_layers_is_copied() {
    for (name, expected) in [
        ("cosign3-sign", Some(BUNDLE)),
        ("cosign3-sign-logged", Some(BUNDLE)),
        ("cosign3-sign-both", Some(BUNDLE)),
        ("cosign3-attest", Some(BUNDLE)),
        ("cosign3-keyless", Some(BUNDLE)),
        ("cosign2-sign-bundle", Some(BUNDLE)),
        ("cosign3-attest-classic", Some(ENVELOPE)),
        ("cosign2-attest", Some(ENVELOPE)),
        // Neither bundles nor envelopes: the host verifies the one itself, and the other is no signature.
        ("cosign2-sign", None),
        ("cosign2-sign-referrers", None),
        ("oras-attach", None),
    ] {
        for has_referrers in [false, true] {
            let world = World::of(StubRegistry::start(has_referrers));
            let form = form(name);
            world.registry.load(&form);
            let outcome = world.attach("1.0", &["-o", "yaml"]);
            let Some(expected) = expected else {
                let why = format!("error: there is no evidence beside `{}`: sign it", world.image(IMAGE));
                assert!(outcome.code == 1 && outcome.errors.starts_with(&why), "{name}: {outcome:?}");
                assert_eq!(world.registry.writes(), 0);
                continue;
            };
            assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""), "{name}");
            let report: Value = yaml_serde::from_str(&outcome.output).unwrap();
            let [entry] = report["evidence"].as_array().unwrap().as_slice() else { panic!("{name}: {report}") };
            assert_eq!((&entry["mediaType"], &entry["attached"]), (&json!(expected), &json!(true)), "{name}");
            let seen = world.seen(IMAGE);
            let (_, configuration) = seen.last().unwrap();
            let blobs: Vec<Value> = form["blobs"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|blob| serde_json::from_str(blob.as_str().unwrap()).ok())
                .collect();
            assert!(blobs.contains(configuration), "{name}: {configuration}");
            // Once it is there, nothing is left to do.
            let again = world.attached("1.0", &[]);
            assert!(again.iter().all(|entry| entry["attached"] == false), "{name}: {again:?}");
            assert_eq!(world.seen(IMAGE).len(), seen.len(), "{name}");
        }
    }
}

/// Notary Project's layers, one of which isn't JSON.
#[test]
fn what_notation_left_in_layers_is_copied() {
    for (layer_type, bytes, expected) in [
        ("application/jose+json", notation("jws"), "application/jose+json"),
        ("application/cose", notation("cose"), "application/vnd.image-admission.cose.v1+json"),
    ] {
        for has_referrers in [false, true] {
            let world = World::of(StubRegistry::start(has_referrers));
            let kind = "application/vnd.cncf.notary.signature";
            let layer = world.registry.blob(layer_type, &bytes);
            let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": kind, "config": world.registry.blob(EMPTY, b"{}"),
                "layers": [layer], "subject": {"mediaType": MANIFEST, "digest": IMAGE, "size": 394}})
            .to_string();
            let digest = world.registry.manifest(None, manifest.as_bytes());
            if !has_referrers {
                let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [
                    {"mediaType": MANIFEST, "digest": digest, "size": manifest.len(), "artifactType": kind}]});
                world.registry.manifest(Some(&IMAGE.replace(':', "-")), index.to_string().as_bytes());
            }
            let done = world.attached("1.0", &[]);
            assert_eq!((&done[0]["mediaType"], &done[0]["source"]), (&json!(expected), &json!(digest)));
            let pulled = pull(&world, &["1.0"]);
            let object: Value = yaml_serde::from_str(&pulled.output).unwrap();
            // As it was signed, whichever way it came.
            assert_eq!(object["spec"]["evidence"], json!([{"mediaType": layer_type, "data": BASE64.encode(&bytes)}]));
        }
    }
}

#[test]
fn what_others_write_meanwhile_is_kept() {
    let world = World::new();
    let entry = |name: &str| json!({"mediaType": MANIFEST, "digest": digest_of(name.as_bytes()), "size": 1, "artifactType": "application/spdx+json"});
    let index = |entries: &[Value]| json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
    let tag = IMAGE.replace(':', "-");
    world.registry.rival(&tag, &[index(&[entry("a")]), index(&[entry("a"), entry("b")])]);
    world.file("bundle.json", bundle(IMAGE));
    let done = world.attached("1.0", &["--bundle", "bundle.json"]);
    let listed: Vec<Value> = world.listed(IMAGE).iter().map(|entry| entry["digest"].clone()).collect();
    assert_eq!(listed, [entry("a")["digest"].clone(), entry("b")["digest"].clone(), done[0]["artifact"].clone()]);
    // Somebody who never lets anybody else write.
    let world = World::new();
    world.registry.rival(&tag, &vec![index(&[entry("a")]); 50]);
    world.file("bundle.json", bundle(IMAGE));
    let outcome = world.attach("1.0", &["--bundle", "bundle.json"]);
    assert!(outcome.code == 1 && outcome.errors.contains("is written by others all the time"), "{outcome:?}");
}

fn pull(world: &World, tags: &[&str]) -> Outcome {
    let images: Vec<String> = tags.iter().map(|tag| world.image(tag)).collect();
    let arguments: Vec<&str> = ["evidence", "pull"].into_iter().chain(images.iter().map(String::as_str)).collect();
    image_admission(world.folder.path(), &arguments, b"")
}

#[test]
fn evidence_becomes_an_object_of_the_digests_name() {
    for (name, media_type) in
        [("cosign3-sign", BUNDLE), ("cosign2-attest", ENVELOPE), ("cosign2-attest-oras", ENVELOPE)]
    {
        for has_referrers in [false, true] {
            let world = World::of(StubRegistry::start(has_referrers));
            let form = form(name);
            world.registry.load(&form);
            if name == "cosign2-attest-oras" {
                // It stands at a tag that the policy is told of, and nobody else.
                assert_eq!(pull(&world, &["1.0"]).code, 1);
                continue;
            }
            let before = pull(&world, &["1.0"]);
            // What was copied isn't there twice.
            world.attached("1.0", &[]);
            let outcome = pull(&world, &["1.0", IMAGE]);
            assert_eq!((outcome.code, &outcome.output, outcome.errors.as_str()), (0, &before.output, ""), "{name}");
            let object: Value = yaml_serde::from_str(&outcome.output).unwrap();
            assert_eq!(object["apiVersion"], "image-admission.kubewarden.io/v1alpha1");
            assert_eq!(
                (&object["kind"], &object["metadata"]),
                (&json!("ImageEvidence"), &json!({"name": IMAGE.replace(':', "-")}))
            );
            let [piece] = object["spec"]["evidence"].as_array().unwrap().as_slice() else { panic!("{object}") };
            assert_eq!(piece["mediaType"], media_type, "{name}");
            let bytes = String::from_utf8(BASE64.decode(piece["data"].as_str().unwrap()).unwrap()).unwrap();
            assert!(form["blobs"].as_array().unwrap().contains(&json!(bytes)), "{name}: {bytes}");
        }
    }
}

#[test]
fn an_image_without_evidence_is_told_and_the_others_are_written() {
    let world = World::new();
    world.registry.load(&form("cosign3-sign"));
    let config = world.registry.blob("application/vnd.oci.image.config.v1+json", b"{}");
    let unsigned = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": []});
    let unsigned = world.registry.manifest(Some("unsigned"), unsigned.to_string().as_bytes());
    let outcome = pull(&world, &["unsigned", "1.0"]);
    let why = format!("error: there is no evidence beside `{}`: sign it, or attest to it\n", world.image(&unsigned));
    assert_eq!((outcome.code, outcome.errors), (1, why));
    assert!(outcome.output.contains(&IMAGE.replace(':', "-")));
}

#[test]
fn an_object_has_no_more_than_a_cluster_keeps() {
    let world = World::new();
    let lines = (0..18).map(|number| envelope(IMAGE, &number.to_string()).to_string() + "\n");
    world.file("small.jsonl", lines.collect::<String>());
    world.attached("1.0", &["--bundle", "small.jsonl"]);
    let outcome = pull(&world, &["1.0"]);
    let object: Value = yaml_serde::from_str(&outcome.output).unwrap();
    let pieces: Vec<&Value> =
        object["spec"]["evidence"].as_array().unwrap().iter().map(|piece| &piece["data"]).collect();
    let newest: Vec<String> =
        (2..18).map(|number| BASE64.encode(envelope(IMAGE, &number.to_string()).to_string())).collect();
    assert_eq!(pieces, newest.iter().collect::<Vec<_>>());
    assert_eq!(outcome.errors.matches("is left out: an object has at most 16").count(), 2, "{}", outcome.errors);
    let world = World::new();
    let lines = [400_000, 800_000, 10].map(|bytes| envelope(IMAGE, &"x".repeat(bytes)).to_string());
    world.file("large.jsonl", lines.join("\n"));
    world.attached("1.0", &["--bundle", "large.jsonl"]);
    let outcome = pull(&world, &["1.0"]);
    let object: Value = yaml_serde::from_str(&outcome.output).unwrap();
    assert_eq!(object["spec"]["evidence"].as_array().unwrap().len(), 2, "one doesn't fit");
    assert!(outcome.errors.contains("bytes, and an object has at most 1048576 of all\n"), "{}", outcome.errors);
}

/// Debian's registry, which takes documents in chunks and looks at what manifests name.
#[test]
fn a_real_registry_takes_it() {
    let Some(program) = docker_registry::program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let registry = docker_registry::Registry::start(&program, folder.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(push(&registry.address));
    let (image, digest) = (format!("{}/team/app:1.0", registry.address), registry.digest("team/app", "1.0"));
    fs::write(folder.path().join("bundle.json"), bundle(&digest)).unwrap();
    fs::write(folder.path().join("envelope.json"), envelope(&digest, "").to_string()).unwrap();
    let run = |arguments: &[&str]| image_admission(folder.path(), arguments, b"");
    for (file, is_new) in [("bundle.json", true), ("bundle.json", false), ("envelope.json", true)] {
        let outcome = run(&["attach", &image, "--bundle", file, "-o", "json"]);
        assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""));
        let report: Value = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(report["evidence"][0]["attached"], is_new, "{file}");
    }
    let pulled = run(&["evidence", "pull", &image]);
    let object: Value = yaml_serde::from_str(&pulled.output).unwrap();
    let expected = json!([{"mediaType": BUNDLE, "data": BASE64.encode(bundle(&digest))}, {"mediaType": ENVELOPE, "data": BASE64.encode(envelope(&digest, "").to_string())}]);
    assert_eq!(object["spec"]["evidence"], expected, "{}", pulled.errors);
}
