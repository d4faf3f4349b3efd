//! Image verification from end to end: real keys sign, a real registry keeps what they signed, and the policy's module
//! decides in the native host with live answers.
//!
//! In the messages that are compared, the registry's address is written as `REGISTRY` and a digest as its name in capitals.

use crate::support;
use crate::support::registry as docker_registry;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use docker_registry::{Registry, digest_of, program};
use ed25519_dalek::Signer as _;
use image_admission_module_host::answers::live::{Live, LiveOptions};
use image_admission_module_host::answers::{AnswerSource, Gate, Grants, Keyless, Request};
use image_admission_module_host::runtime::PolicyModule;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const IN_TOTO: &str = "application/vnd.in-toto+json";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";

/// Compiling it takes longer than a test.
static MODULE: LazyLock<PolicyModule> =
    LazyLock::new(|| PolicyModule::from_file(&support::module_path()).unwrap().with_deadline(Duration::from_secs(30)));

/// A private key, always the same one for the same seed.
enum Key {
    P256(p256::ecdsa::SigningKey),
    P384(p384::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
}

impl Key {
    fn p256(seed: u8) -> Self {
        Self::P256(p256::ecdsa::SigningKey::from_slice(&[seed; 32]).unwrap())
    }

    fn p384(seed: u8) -> Self {
        Self::P384(p384::ecdsa::SigningKey::from_slice(&[seed; 48]).unwrap())
    }

    fn ed25519(seed: u8) -> Self {
        Self::Ed25519(ed25519_dalek::SigningKey::from_bytes(&[seed; 32]))
    }

    /// The public key as `openssl pkey -pubout` writes it: a fixed head for the algorithm, and the point.
    fn pem(&self) -> String {
        let (head, point) = match self {
            Self::P256(key) => (
                "3059301306072a8648ce3d020106082a8648ce3d030107034200",
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            ),
            Self::P384(key) => (
                "3076301006072a8648ce3d020106052b81040022036200",
                key.verifying_key().to_sec1_point(false).as_bytes().to_vec(),
            ),
            Self::Ed25519(key) => ("302a300506032b6570032100", key.verifying_key().to_bytes().to_vec()),
        };
        let digits: Vec<char> = head.chars().collect();
        let mut der: Vec<u8> =
            digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect();
        der.extend(point);
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", BASE64.encode(der))
    }

    /// A signature in the form that cosign writes.
    fn sign(&self, message: &[u8]) -> String {
        let signature = match self {
            Self::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::Signature = key.sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
        };
        BASE64.encode(signature)
    }
}

/// The team that is asked for, unless a test says otherwise.
fn team() -> Key {
    Key::p256(1)
}

/// A registry, and how it is filled.
struct World {
    registry: Registry,
    runtime: Runtime,
    /// Names of digests, for messages.
    names: Mutex<BTreeMap<String, &'static str>>,
    _folder: tempfile::TempDir,
}

impl World {
    /// None where there is no registry to start.
    fn start() -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().unwrap();
        Some(Self {
            registry: Registry::start(&program, folder.path()),
            runtime: tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap(),
            names: Mutex::default(),
            _folder: folder,
        })
    }

    fn reference(&self, tag: &str) -> Reference {
        let separator = if tag.starts_with("sha256:") { '@' } else { ':' };
        format!("{}/team/app{separator}{tag}", self.registry.address).parse().unwrap()
    }

    fn client(&self) -> Client {
        let client = Client::new(ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() });
        let image = self.reference("1");
        let login = client.auth(&image, &RegistryAuth::Anonymous, RegistryOperation::Push);
        self.runtime.block_on(login).unwrap();
        client
    }

    /// Pushes bytes that a manifest names, and returns what it says of them.
    fn blob(&self, bytes: &[u8], media_type: &str) -> Value {
        let digest = digest_of(bytes);
        let client = self.client();
        self.runtime.block_on(client.push_blob(&self.reference("1"), bytes.to_vec(), &digest)).unwrap();
        json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
    }

    /// Pushes a manifest at a tag, or at its digest, and returns its digest.
    fn manifest(&self, tag: Option<&str>, manifest: &Value) -> String {
        let bytes = manifest.to_string().into_bytes();
        let digest = digest_of(&bytes);
        let media_type = manifest.get("mediaType").and_then(Value::as_str).unwrap().parse().unwrap();
        let at = self.reference(tag.unwrap_or(&digest));
        self.runtime.block_on(self.client().push_manifest_raw(&at, bytes, media_type)).unwrap();
        digest
    }

    /// Pushes an image for one platform, told apart from others by its content.
    fn image(&self, tag: Option<&str>, architecture: &str, content: &str) -> String {
        let config = json!({"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}});
        let config = self.blob(config.to_string().as_bytes(), "application/vnd.oci.image.config.v1+json");
        let layer = self.blob(content.as_bytes(), "application/vnd.oci.image.layer.v1.tar");
        self.manifest(tag, &json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]}))
    }

    /// Pushes an index of two platforms at a tag.
    fn index(&self, tag: &str, content: &str) -> String {
        let entry = |architecture: &str| {
            let digest = self.image(None, architecture, &format!("{content} for {architecture}"));
            json!({"mediaType": MANIFEST, "digest": digest, "size": 1, "platform": {"os": "linux", "architecture": architecture}})
        };
        let entries = [entry("amd64"), entry("arm64")];
        self.manifest(Some(tag), &json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}))
    }

    /// Signs a digest as cosign does, at the tag that belongs to another one or to the same.
    fn sign_at(&self, at: &str, digest: &str, key: &Key, annotations: &Value) {
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": "registry.example.com/team/app"},
                "image": {"docker-manifest-digest": digest},
                "type": "cosign container image signature",
            },
            "optional": annotations,
        })
        .to_string();
        let mut layer = self.blob(payload.as_bytes(), "application/vnd.dev.cosign.simplesigning.v1+json");
        let signature = json!({"dev.cosignproject.cosign/signature": key.sign(payload.as_bytes())});
        layer.as_object_mut().unwrap().insert("annotations".to_owned(), signature);
        let config = self.blob(b"{}", "application/vnd.oci.image.config.v1+json");
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
        self.manifest(Some(&format!("{}.sig", at.replace(':', "-"))), &manifest);
    }

    fn sign(&self, digest: &str, key: &Key) {
        self.sign_at(digest, digest, key, &Value::Null);
    }

    /// Pushes a document as the configuration of an artifact, and returns its descriptor.
    fn artifact(&self, tag: Option<&str>, document: &Value) -> Value {
        let config = self.blob(document.to_string().as_bytes(), IN_TOTO);
        let layer = self.blob(b"{}", "application/vnd.oci.empty.v1+json");
        let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "artifactType": IN_TOTO, "config": config, "layers": [layer]});
        let digest = self.manifest(tag, &manifest);
        json!({"mediaType": MANIFEST, "artifactType": IN_TOTO, "digest": digest, "size": manifest.to_string().len()})
    }

    /// Pushes an envelope to where the policy below looks for it.
    fn attest(&self, digest: &str, envelope: &Value) {
        let descriptor = self.artifact(Some(&format!("{}.slsa", digest.replace(':', "-"))), envelope);
        self.name(descriptor.get("digest").and_then(Value::as_str).unwrap(), "ATTESTATION");
    }

    fn name(&self, digest: &str, name: &'static str) {
        self.names.lock().unwrap().insert(digest.to_owned(), name);
    }

    fn image_name(&self) -> String {
        format!("{}/team/app:1", self.registry.address)
    }

    /// What the policy's module says of a Pod with the image `team/app:1`.
    fn judge(&self, policy: &Value) -> Value {
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": self.image_name()}]}});
        let kind = json!({"group": "", "version": "v1", "kind": "Pod"});
        let mut settings = settings(policy);
        settings["registries"] = json!([self.registry.address]);
        let payload = json!({
            "request": {"uid": "u", "operation": "CREATE", "namespace": "ns", "kind": kind, "object": object},
            "settings": settings,
        });
        let live = Live::new(&LiveOptions::default()).unwrap();
        let host = Arc::new(Gate::new(Grants::everything(), Arc::new(live)));
        let reply = MODULE.call("validate", payload.to_string().as_bytes(), host);
        serde_json::from_slice(&reply.response.unwrap()).unwrap()
    }

    /// That a Pod is admitted, and its image pinned to what its tag names now.
    fn admits(&self, policy: &Value) -> Value {
        let response = self.judge(policy);
        assert_eq!(response["accepted"], true, "{response}");
        let pinned = response.pointer("/mutated_object/spec/containers/0/image").unwrap();
        assert_eq!(*pinned, format!("{}@{}", self.image_name(), self.registry.digest("team/app", "1")));
        response
    }

    /// The message of a rejection, the same in every run.
    fn rejection(&self, policy: &Value) -> String {
        let response = self.judge(policy);
        assert_eq!(response["accepted"], false, "{response}");
        self.stable(response["message"].as_str().unwrap())
    }

    fn stable(&self, text: &str) -> String {
        let names = self.names.lock().unwrap();
        let text = text.replace(&self.registry.address, "REGISTRY");
        names.iter().fold(text, |text, (digest, name)| text.replace(digest, name))
    }

    fn ask(&self, request: &Request) -> Result<Value, String> {
        let live = Live::new(&LiveOptions::default()).unwrap();
        let answer = live.answer(request).map_err(|why| self.stable(&why))?;
        Ok(serde_json::from_slice(&answer).unwrap())
    }
}

/// Settings with one policy, beside a scan that lets everything in.
fn settings(policy: &Value) -> Value {
    json!({
        "scanPolicies": {"defaultPolicy": "accept", "reportPending": "accept", "scanFailed": "accept"},
        "reports": {"sources": [{"registry": {"tagSuffix": "scan", "allowUnsigned": true}}]},
        "imageVerification": [policy],
    })
}

fn attestor(cosign: &Value) -> Value {
    json!([{"name": "team", "cosign": cosign}])
}

/// The policy that everything is signed by a key.
fn signed_by(key: &Key) -> Value {
    json!({
        "name": "signed",
        "attestors": attestor(&json!({"key": {"data": key.pem()}})),
        "verifications": [{
            "expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)", "message": "not signed",
        }],
    })
}

/// The policy that there is provenance by a key, at the tag `….slsa`, that names the builder.
fn attested_by(key: &Key) -> Value {
    json!({
        "name": "attested",
        "attestors": attestor(&json!({"key": {"data": key.pem()}})),
        "attestations": [{"name": "slsa", "intoto": {"type": PROVENANCE}, "tagSuffix": "slsa"}],
        "verifications": [
            {"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.slsa, [attestors.team]) > 0)", "message": "no provenance"},
            {"expression": "images.all.all(i, payload(i, attestations.slsa).predicate.builder.id == 'https://ci.example.com')", "message": "built elsewhere"},
        ],
    })
}

fn statement(digest: &str, builder: &str, padding: usize) -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1", "predicateType": PROVENANCE,
        "subject": [{"name": "team/app", "digest": {"sha256": digest.trim_start_matches("sha256:")}}],
        "predicate": {"builder": {"id": builder}, "padding": "x".repeat(padding)},
    })
}

/// An envelope around a statement.
fn envelope(statement: &Value, key: &Key) -> Value {
    let payload = statement.to_string();
    let signed = format!("DSSEv1 {} {IN_TOTO} {} {payload}", IN_TOTO.len(), payload.len());
    json!({
        "payloadType": IN_TOTO, "payload": BASE64.encode(&payload),
        "signatures": [{"keyid": "", "sig": key.sign(signed.as_bytes())}],
    })
}

const BUILDER: &str = "https://ci.example.com";

#[test]
fn a_signed_index_is_admitted_and_pinned() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.sign(&digest, &team());
    let response = world.admits(&signed_by(&team()));
    assert_eq!(response["audit_annotations"]["container-1.verified-by"], "team (signed)");
}

#[test]
fn a_signed_image_of_one_platform_is_admitted_and_pinned() {
    let Some(world) = World::start() else { return };
    let digest = world.image(Some("1"), "amd64", "first");
    world.sign(&digest, &team());
    world.admits(&signed_by(&team()));
}

#[test]
fn an_unsigned_image_is_rejected() {
    let Some(world) = World::start() else { return };
    world.name(&world.index("1", "first"), "IMAGE");
    assert_eq!(
        world.rejection(&signed_by(&team())),
        "Policy signed failed: not signed\n'REGISTRY/team/app:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`); team (its key) must sign REGISTRY/team/app@IMAGE"
    );
}

#[test]
fn the_signature_of_somebody_else_is_none() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    world.sign(&digest, &Key::p256(2));
    assert_eq!(
        world.rejection(&signed_by(&team())),
        "Policy signed failed: not signed\n'REGISTRY/team/app:1': signed, but not by team (its key)"
    );
}

#[test]
fn a_signature_that_was_copied_from_another_image_is_none() {
    let Some(world) = World::start() else { return };
    let other = world.index("2", "second");
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    world.sign_at(&digest, &other, &team(), &Value::Null);
    assert_eq!(
        world.rejection(&signed_by(&team())),
        "Policy signed failed: not signed\n'REGISTRY/team/app:1': signed, but no signature is of this digest and can be verified; asked for: team (its key)"
    );
}

#[test]
fn a_tag_that_was_moved_after_signing_is_unsigned() {
    let Some(world) = World::start() else { return };
    let signed = world.index("1", "first");
    world.sign(&signed, &team());
    world.admits(&signed_by(&team()));
    world.name(&world.index("1", "second"), "MOVED");
    assert_eq!(
        world.rejection(&signed_by(&team())),
        "Policy signed failed: not signed\n'REGISTRY/team/app:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`); team (its key) must sign REGISTRY/team/app@MOVED"
    );
}

#[test]
fn annotations_that_are_required_must_be_signed() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    let mut policy = signed_by(&team());
    policy["attestors"][0]["cosign"]["annotations"] = json!({"env": "prod"});
    for annotations in [Value::Null, json!({"env": "test"}), json!({"other": "prod"})] {
        world.sign_at(&digest, &digest, &team(), &annotations);
        assert_eq!(
            world.rejection(&policy),
            "Policy signed failed: not signed\n'REGISTRY/team/app:1': signed, but not by team (its key, with `env: prod`)",
            "{annotations}"
        );
    }
    world.sign_at(&digest, &digest, &team(), &json!({"env": "prod", "other": "x"}));
    world.admits(&policy);
}

#[test]
fn attestations_by_every_kind_of_key() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    for key in [Key::p256(1), Key::p384(1), Key::ed25519(1)] {
        world.attest(&digest, &envelope(&statement(&digest, BUILDER, 0), &key));
        let response = world.admits(&attested_by(&key));
        assert_eq!(response["audit_annotations"]["container-1.verified-by"], "team (slsa) (attested)");
    }
}

/// In the module, curves are computed by other words than in the engine's own tests.
#[test]
fn attestations_are_refused_by_every_kind_of_key() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    let statement = statement(&digest, BUILDER, 0);
    for (key, other) in [(Key::p256(1), Key::p256(2)), (Key::p384(1), Key::p384(2)), (Key::ed25519(1), Key::ed25519(2))]
    {
        let mut changed = envelope(&statement, &key);
        changed["payload"] = json!(BASE64.encode(format!("{statement} ")));
        for refused in [envelope(&statement, &other), changed] {
            world.attest(&digest, &refused);
            let rejection = world.rejection(&attested_by(&key));
            assert!(rejection.contains("is refused: no signature of the envelope was made with `team`"), "{rejection}");
        }
        world.attest(&digest, &envelope(&statement, &key));
        world.admits(&attested_by(&key));
    }
}

#[test]
fn what_an_attestation_says_is_read() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.attest(&digest, &envelope(&statement(&digest, "https://laptop.example.com", 0), &team()));
    assert_eq!(world.rejection(&attested_by(&team())), "Policy attested failed: built elsewhere");
}

#[test]
fn an_attestation_of_another_image_is_none() {
    let Some(world) = World::start() else { return };
    let other = world.index("2", "second");
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    world.attest(&digest, &envelope(&statement(&other, BUILDER, 0), &team()));
    assert_eq!(
        world.rejection(&attested_by(&team())),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: REGISTRY/team/app@ATTESTATION is a statement about another image"
    );
}

#[test]
fn an_attestation_by_somebody_else_is_none() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    world.attest(&digest, &envelope(&statement(&digest, BUILDER, 0), &Key::p256(2)));
    assert_eq!(
        world.rejection(&attested_by(&team())),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: REGISTRY/team/app@ATTESTATION is refused: no signature of the envelope was made with `team`; sign it with such a key, or add the key it was signed with"
    );
}

#[test]
fn a_payload_that_was_changed_after_signing_is_refused() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    let mut forged = envelope(&statement(&digest, "https://laptop.example.com", 0), &team());
    forged["payload"] = json!(BASE64.encode(statement(&digest, BUILDER, 0).to_string()));
    world.attest(&digest, &forged);
    assert_eq!(
        world.rejection(&attested_by(&team())),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: REGISTRY/team/app@ATTESTATION is refused: no signature of the envelope was made with `team`; sign it with such a key, or add the key it was signed with"
    );
}

#[test]
fn a_payload_of_five_mebibytes_is_read_and_a_larger_one_refused() {
    const MAX_BYTES: usize = 5 * 1024 * 1024;
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    let rest = statement(&digest, BUILDER, 0).to_string().len();
    world.attest(&digest, &envelope(&statement(&digest, BUILDER, MAX_BYTES - rest), &team()));
    world.admits(&attested_by(&team()));
    world.attest(&digest, &envelope(&statement(&digest, BUILDER, MAX_BYTES - rest + 1), &team()));
    assert_eq!(
        world.rejection(&attested_by(&team())),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: REGISTRY/team/app@ATTESTATION can't be read: the payload has more than `5242880` bytes; put the bulk elsewhere and attest to its digest"
    );
}

#[test]
fn an_attestation_that_does_not_exist_is_missed() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest.replace(':', "-"), "STEM");
    assert_eq!(
        world.rejection(&attested_by(&team())),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: there is none at REGISTRY/team/app:STEM.slsa"
    );
}

/// The registry has no API for referrers, so that clients keep an index of them at a tag.
#[test]
fn attestations_are_found_among_the_referrers() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    world.name(&digest.replace(':', "-"), "STEM");
    let mut policy = attested_by(&team());
    policy["attestations"][0].as_object_mut().unwrap().remove("tagSuffix");
    let index = |entries: &[Value]| {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
        world.manifest(Some(&digest.replace(':', "-")), &index);
    };
    let good = world.artifact(None, &envelope(&statement(&digest, BUILDER, 0), &team()));
    let foreign = world.artifact(None, &envelope(&statement(&digest, BUILDER, 0), &Key::p256(2)));
    world.name(foreign["digest"].as_str().unwrap(), "FOREIGN");
    let mut signature = good.clone();
    signature["artifactType"] = json!("application/vnd.dev.cosign.artifact.sig.v1+json");
    index(&[]);
    assert_eq!(
        world.rejection(&policy),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: there is none at REGISTRY/team/app:STEM"
    );
    index(&[signature.clone(), foreign.clone()]);
    assert_eq!(
        world.rejection(&policy),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: REGISTRY/team/app@FOREIGN is refused: no signature of the envelope was made with `team`; sign it with such a key, or add the key it was signed with"
    );
    index(&[signature, good, foreign]);
    world.admits(&policy);
}

/// An image is attested when each of its platforms is, and then there is no one payload.
#[test]
fn attestations_of_each_platform_attest_the_image() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    let mut policy = attested_by(&team());
    policy["attestations"][0].as_object_mut().unwrap().remove("tagSuffix");
    let about = |architecture: &str| {
        let platform = world.image(None, architecture, &format!("first for {architecture}"));
        world.artifact(None, &envelope(&statement(&platform, BUILDER, 0), &team()))
    };
    let entries = [about("amd64"), about("arm64")];
    world.name(entries[0]["digest"].as_str().unwrap(), "OF-AMD64");
    let refer = |entries: &[Value]| {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries});
        world.manifest(Some(&digest.replace(':', "-")), &index);
    };
    refer(&entries);
    assert_eq!(
        world.rejection(&policy),
        "Policy attested error: imageVerification[0].verifications[1].expression: payload: the image has an attestation for each of its 2 platforms, and none for all of them"
    );
    policy["verifications"].as_array_mut().unwrap().pop();
    world.admits(&policy);
    refer(&entries[..1]);
    assert_eq!(
        world.rejection(&policy),
        "Policy attested failed: no provenance\n'REGISTRY/team/app:1': no attestation slsa of team: REGISTRY/team/app@OF-AMD64 is a statement about another image"
    );
}

/// The certificates below are of the same key and root; the first one ended in 2021.
#[test]
fn a_certificate_that_has_expired_is_rejected() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.name(&digest, "IMAGE");
    world.sign(&digest, &Key::p256(0x21));
    let mut policy = signed_by(&team());
    let mut by = |certificate: &str| {
        let cosign = json!({"certificate": {"cert": certificate, "certChain": ROOT}, "ctlog": {"ignoreTlog": true}});
        policy["attestors"] = attestor(&cosign);
        policy.clone()
    };
    let before = "Policy signed failed: not signed\n'REGISTRY/team/app:1': ";
    let expired = "not signed by team (its certificate): the certificate has expired";
    assert_eq!(world.rejection(&by(EXPIRED)), format!("{before}{expired}"));
    world.admits(&by(VALID));
    world.sign(&digest, &team());
    let others = "signed, but not by team (its certificate)";
    assert_eq!(world.rejection(&by(VALID)), format!("{before}{others}"));
}

#[test]
fn every_key_that_is_asked_for_must_have_signed() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.sign(&digest, &team());
    let ask = |keys: &[&Key]| {
        world.ask(&Request::SigstorePubKeyVerify {
            image: world.image_name(),
            pub_keys: keys.iter().map(|key| key.pem()).collect(),
            annotations: None,
        })
    };
    assert_eq!(ask(&[&team()]).unwrap(), json!({"is_trusted": true, "digest": digest}));
    assert_eq!(ask(&[&team(), &team()]).unwrap(), json!({"is_trusted": true, "digest": digest}));
    let other = Key::p256(2);
    let missing = format!(
        "Image verification failed: missing signatures\nThe following constraints were not satisfied:\nkind: pubKey\nowner: null\nkey: |\n  {}\nannotations: null\n",
        other.pem().trim_end().replace('\n', "\n  ")
    );
    assert_eq!(ask(&[&team(), &other]).unwrap_err(), missing);
    assert_eq!(ask(&[]).unwrap_err(), "Must provide at least one pub key");
}

/// With a trust root and without one: a signature by key has no certificate.
#[test]
fn a_signature_by_key_has_no_identity() {
    let Some(world) = World::start() else { return };
    let digest = world.index("1", "first");
    world.sign(&digest, &team());
    let keyless = Keyless { issuer: "https://accounts.example.com".to_owned(), subject: "ci@example.com".to_owned() };
    let request =
        Request::SigstoreKeylessVerify { image: world.image_name(), keyless: vec![keyless], annotations: None };
    let why = world.ask(&request).unwrap_err();
    assert_eq!(why.lines().next().unwrap(), "Image verification failed: missing signatures");
}

const ROOT: &str = "\
-----BEGIN CERTIFICATE-----
MIIBbzCCARSgAwIBAgIUEQCepYHsKePw48VNdticImKZFwswCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdCByb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAx
MDAwMDAwWjAUMRIwEAYDVQQDDAl0ZXN0IHJvb3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATWWpOXfKo9GwgYUv9Xp55GXxZgV3MEuurVBd06SFic81AYXolTct9i
Ieo6E3VX5HP922dV8FvVB8PFM/zpyRKFo0IwQDAPBgNVHRMBAf8EBTADAQH/MA4G
A1UdDwEB/wQEAwICBDAdBgNVHQ4EFgQUC2mT8S0HVd9jqWIq/uAKrIjLadswCgYI
KoZIzj0EAwIDSQAwRgIhAIEB/3kin0Ifn94GrZQu2N2sEAWZGVGr/8NS+oyanA8i
AiEA2eLxSvEVETLS5TJwMdYGkBdzLR/j2pwk797wCIYzV+8=
-----END CERTIFICATE-----";

const EXPIRED: &str = "\
-----BEGIN CERTIFICATE-----
MIIBvzCCAWSgAwIBAgIUNd999SY6aBbB+0A+74duqlQjpp8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdCByb290MB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAw
MDAwMFowFjEUMBIGA1UEAwwLdGVzdCBzaWduZXIwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARGLboa5PwalotNrPIM3W2+H640qpcVFKY9NAXD0c/Tg7WLuwjBM4NC
jFhTxxxMhR4TSwVoIeRo/gqXer9DE93ho4GRMIGOMAwGA1UdEwEB/wQCMAAwDgYD
VR0PAQH/BAQDAgeAMBMGA1UdJQQMMAoGCCsGAQUFBwMDMBkGA1UdEQQSMBCBDmNp
QGV4YW1wbGUuY29tMB0GA1UdDgQWBBSxcJpUIebPa9volrO7AMtAMbNPFTAfBgNV
HSMEGDAWgBQLaZPxLQdV32OpYir+4AqsiMtp2zAKBggqhkjOPQQDAgNJADBGAiEA
nY/f8JeeJTAleHTD+E5biOlvTxXPUdHWbbIG/Tg5Cd0CIQDjDi0qPLtpCr8PCrYQ
HRksc9h122Hcg3Wy/MXjLF6EfA==
-----END CERTIFICATE-----";

const VALID: &str = "\
-----BEGIN CERTIFICATE-----
MIIBvzCCAWagAwIBAgIUXZjoYqv+x00Ugt/ht8K3OVw/n00wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdCByb290MCAXDTIwMDEwMTAwMDAwMFoYDzIxMTkwMTAx
MDAwMDAwWjAWMRQwEgYDVQQDDAt0ZXN0IHNpZ25lcjBZMBMGByqGSM49AgEGCCqG
SM49AwEHA0IABEYtuhrk/BqWi02s8gzdbb4frjSqlxUUpj00BcPRz9ODtYu7CMEz
g0KMWFPHHEyFHhNLBWgh5Gj+Cpd6v0MT3eGjgZEwgY4wDAYDVR0TAQH/BAIwADAO
BgNVHQ8BAf8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwMwGQYDVR0RBBIwEIEO
Y2lAZXhhbXBsZS5jb20wHQYDVR0OBBYEFLFwmlQh5s9r2+iWs7sAy0Axs08VMB8G
A1UdIwQYMBaAFAtpk/EtB1XfY6liKv7gCqyIy2nbMAoGCCqGSM49BAMCA0cAMEQC
ICHm4VvoNXCVYFqvyBgNyiDAenQ/nKbeLP8mHcoNzfklAiAdlvgGSsb0RTWSWf6+
mZeqyG+JGuwzdNLQKnTUDz3MyA==
-----END CERTIFICATE-----";
