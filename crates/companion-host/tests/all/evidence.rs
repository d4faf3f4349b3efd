//! From a registry into the cluster, and from there into the policy's own verification.

use crate::support::evidence_server::{EvidenceServer, digest};
use crate::support::github_server::{Answer, GithubServer};
use hyper::StatusCode;
use image_admission_attestors::{Verdict, Verifier};
use image_admission_companion::evidence::{Evidence, EvidenceObservation, KnownObject};
use image_admission_companion::{AttestedImages, CompanionSettings, CopiedEvidence, GithubAttestations};
use image_admission_companion_host::evidence::carry_out;
use image_admission_host::WireHost;
use image_admission_image::ImageReference;
use image_admission_registry_reader::{Options, RegistryReader};
use image_admission_settings::{Mirrors, Settings};
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
/// What cosign's old form is a layer of, which isn't evidence here.
const OLD_FORM: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

fn made(file: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/tests/made/").to_owned() + file;
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The companion's evidence in a cluster whose watch is played.
struct Played {
    server: EvidenceServer,
    client: kube::Client,
    registries: RegistryReader,
    evidence: Evidence,
    image: String,
    digest: String,
    now: Timestamp,
}

impl Played {
    /// With an image at the tag `1`.
    async fn new() -> Self {
        Self::beside(None).await
    }

    /// With one that workflows at a GitHub attest, which is at this address.
    async fn beside(github: Option<&str>) -> Self {
        let server = EvidenceServer::default();
        let address = server.serve().await;
        let options = Options { plain_http: vec!["127.0.0.1".to_owned()], ..Options::default() };
        let github = github.map(|github| GithubAttestations {
            api: format!("https://{github}"),
            repositories: vec![AttestedImages {
                images: format!("{address}/team/app"),
                repository: "team/app".to_owned(),
            }],
        });
        let evidence = Some(CopiedEvidence { github, ..CopiedEvidence::default() });
        let settings = CompanionSettings { evidence, ..CompanionSettings::default() };
        server.manifest(Some("1"), &made("image.json"));
        Self {
            client: kube::Client::try_from(kube::Config::new(format!("http://{address}").parse().unwrap())).unwrap(),
            registries: RegistryReader::new(options).unwrap(),
            evidence: Evidence::new(&settings, &policy(&address).evidence).unwrap(),
            image: format!("{address}/team/app:1"),
            digest: digest(&made("image.json")),
            now: Timestamp(1_800_000_000),
            server,
        }
    }

    fn name(&self) -> String {
        self.digest.replace(':', "-")
    }

    fn object(&self) -> Option<Value> {
        self.server.object(&self.name())
    }

    /// Lets hours pass.
    async fn pass(&mut self, hours: i64) {
        for _ in 0..hours {
            self.now.0 += 3_600;
            let used = BTreeMap::from([(self.image.clone(), BTreeSet::from(["shop".to_owned()]))]);
            let used = EvidenceObservation::Used(used);
            self.evidence.observe(used, self.now);
            loop {
                let actions = self.evidence.due(self.now);
                if actions.is_empty() {
                    break;
                }
                for action in actions {
                    let before = self.object();
                    let observation =
                        carry_out(action, &self.client, &self.registries, &Mirrors::default(), None).await;
                    self.evidence.observe(observation, self.now);
                    let after = self.object();
                    if before != after {
                        let read = |object: Option<Value>| object.and_then(|object| KnownObject::read(&object));
                        let seen = read(before).map(EvidenceObservation::ObjectGone);
                        for seen in seen.into_iter().chain(read(after).map(EvidenceObservation::Object)) {
                            self.evidence.observe(seen, self.now);
                        }
                    }
                }
            }
        }
    }

    /// Puts a signature, a statement and what isn't evidence beside the image, as tools do.
    fn sign(&self) {
        let signed = self.server.artifact(None, &[(BUNDLE, &made("sign-p256.json"))]);
        // About another image, and damaged.
        let other = String::from_utf8(made("blob-p256.json")).unwrap();
        let other = other.replacen("\"digest\":\"", "\"digest\":\"AAAA", 1);
        let noise = self.server.artifact(None, &[(BUNDLE, other.as_bytes()), (BUNDLE, b"{"), (ENVELOPE, b"")]);
        self.server.index(&self.name(), &[signed, noise]);
        self.server.artifact(Some(&format!("{}.att", self.name())), &[(ENVELOPE, &made("att-p256.json"))]);
        self.server.artifact(Some(&format!("{}.sig", self.name())), &[(OLD_FORM, b"{\"critical\":{}}")]);
    }
}

/// A policy's settings with an attestor whose key signed.
fn policy(registry: &str) -> Settings {
    let key = String::from_utf8(made("p256.pub")).unwrap();
    let attestor = json!({"name": "team", "cosign": {"key": {"data": key}}});
    let expression = "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)";
    let signed = json!({"name": "signed", "attestors": [attestor], "verifications": [{"expression": expression}]});
    Settings::read(&json!({
        "registries": [registry],
        "evidence": {"fromCluster": true},
        "imageVerification": [signed],
    }))
    .unwrap()
}

/// Whether the policy accepts an object as the image's signature, where no registry has one.
fn is_signed_by(object: Value, image: &str, digest: &str) -> bool {
    let settings = policy(image.split('/').next().unwrap());
    let stub = StubHost::default().object(object);
    let host = WireHost(stub.wire());
    let verifier = Verifier::new(&settings.evidence, &host, Timestamp(1_800_000_000));
    let attestor = &settings.verification[0].attestors[0];
    let verdict = verifier.signed(&ImageReference::parse(image).unwrap(), digest, &[attestor]);
    matches!(verdict, Ok(Verdict::ByEvidence))
}

#[tokio::test]
async fn what_is_beside_an_image_is_in_an_object_that_the_policy_accepts() {
    let mut played = Played::new().await;
    played.sign();
    played.pass(1).await;
    let object = played.object().unwrap();
    let evidence = object["spec"]["evidence"].as_array().unwrap();
    let found: Vec<(&str, Vec<u8>)> = evidence
        .iter()
        .map(|piece| {
            let data = data_encoding::BASE64.decode(piece["data"].as_str().unwrap().as_bytes()).unwrap();
            (piece["mediaType"].as_str().unwrap(), data)
        })
        .collect();
    let trimmed = |file: &str| made(file).trim_ascii().to_vec();
    assert_eq!(found, [(ENVELOPE, trimmed("att-p256.json")), (BUNDLE, trimmed("sign-p256.json"))]);
    assert!(is_signed_by(object.clone(), &played.image, &played.digest));
    // The test can fail.
    let mut unsigned = object;
    unsigned["spec"]["evidence"].as_array_mut().unwrap().remove(1);
    assert!(!is_signed_by(unsigned, &played.image, &played.digest));
}

#[tokio::test]
async fn an_object_stays_while_its_registry_fails_and_goes_with_what_is_there() {
    let mut played = Played::new().await;
    played.sign();
    played.pass(1).await;
    let object = played.object().unwrap();
    for status in [StatusCode::INTERNAL_SERVER_ERROR, StatusCode::TOO_MANY_REQUESTS, StatusCode::FORBIDDEN] {
        played.server.fail(Some(status));
        played.pass(20).await;
        assert_eq!(played.object(), Some(object.clone()), "{status}");
    }
    // It answers again: the same is there, and nothing is written.
    played.server.fail(None);
    played.pass(20).await;
    assert_eq!(played.object(), Some(object.clone()));
    played.server.untag(&format!("{}.att", played.name()));
    played.pass(20).await;
    let rest = played.object().unwrap();
    assert_ne!(rest["metadata"]["uid"], object["metadata"]["uid"]);
    assert_eq!(rest["spec"]["evidence"].as_array().unwrap().len(), 1);
    played.server.untag(&played.name());
    played.pass(20).await;
    assert_eq!(played.object(), None);
}

#[tokio::test]
async fn what_github_has_is_in_the_same_object_and_stays_while_it_fails() {
    let github = GithubServer::default();
    let mut played = Played::beside(Some(&github.serve().await)).await;
    let page = format!("/repos/team/app/attestations/{}?per_page=16", played.digest);
    let attestations = |files: &[&str]| {
        let bundle = |file: &&str| serde_json::from_slice::<Value>(&made(file)).unwrap();
        let listed: Vec<Value> = files.iter().map(|file| json!({"bundle": bundle(file)})).collect();
        Answer::ok(json!({"attestations": listed}).to_string())
    };
    github.set(&page, attestations(&["sign-p256.json"]));
    played.server.artifact(Some(&format!("{}.att", played.name())), &[(ENVELOPE, &made("att-p256.json"))]);
    played.pass(1).await;
    let object = played.object().unwrap();
    assert_eq!(object["spec"]["evidence"].as_array().unwrap().len(), 2);
    assert!(is_signed_by(object.clone(), &played.image, &played.digest));
    assert_eq!(github.take_seen(), [(page.clone(), None)]);
    // Neither takes anything away while it fails, whatever the other one has.
    for status in [500, 429, 403, 401, 302] {
        github.set(&page, Answer::status(status));
        played.pass(20).await;
        assert_eq!(played.object(), Some(object.clone()), "{status}");
    }
    github.set(&page, attestations(&["sign-p256.json", "attest-p256-logged.json"]));
    played.server.fail(Some(StatusCode::INTERNAL_SERVER_ERROR));
    played.pass(20).await;
    assert_eq!(played.object(), Some(object.clone()));
    // Both answer again: each has what it has now.
    played.server.fail(None);
    played.pass(20).await;
    assert_eq!(played.object().unwrap()["spec"]["evidence"].as_array().unwrap().len(), 3);
    github.set(&page, Answer::status(404));
    played.pass(20).await;
    let rest = played.object().unwrap();
    assert_eq!(rest["spec"]["evidence"].as_array().unwrap().len(), 1);
    assert!(!is_signed_by(rest, &played.image, &played.digest));
}

/// Without an object, what the registry has is there while GitHub fails.
#[tokio::test]
async fn a_github_that_fails_from_the_beginning_hides_no_registry() {
    let github = GithubServer::default();
    let mut played = Played::beside(Some(&github.serve().await)).await;
    let page = format!("/repos/team/app/attestations/{}?per_page=16", played.digest);
    github.set(&page, Answer::status(500));
    played.sign();
    played.pass(1).await;
    assert!(is_signed_by(played.object().unwrap(), &played.image, &played.digest));
}
