//! Attestations from a GitHub that is played.

use crate::support::github_server::{Answer, GithubServer};
use image_admission_companion::evidence::{
    Evidence, EvidenceAction, EvidenceObservation, FetchFailure, NewPiece, Place,
};
use image_admission_companion::{AttestedImages, CompanionSettings, CopiedEvidence, GithubAttestations};
use image_admission_companion_host::ApiToken;
use image_admission_companion_host::evidence::carry_out;
use image_admission_registry_reader::{Options, RegistryReader};
use image_admission_settings::{Evidence as PolicyEvidence, EvidenceObject, Mirrors};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

const DIGEST: &str = "sha256:4733ba33287f6a939a9d4c117a61cf07ff91f5d4a800109fc33798340ae9c086";
const TOKEN: Option<&str> = Some("Bearer secret");

fn made(file: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/tests/made/").to_owned() + file;
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}")).trim_ascii().to_vec()
}

/// A GitHub, whoever it sends to, and what is asked.
struct Played {
    api: GithubServer,
    storage: GithubServer,
    storage_address: String,
    action: EvidenceAction,
    host: String,
}

impl Played {
    async fn new() -> Self {
        let (api, storage) = (GithubServer::default(), GithubServer::default());
        let (host, storage_address) = (api.serve().await, storage.serve().await);
        let images = AttestedImages { images: "ghcr.io/team/*".to_owned(), repository: "team/app".to_owned() };
        let github = Some(GithubAttestations { api: format!("https://{host}"), repositories: vec![images] });
        let evidence = Some(CopiedEvidence { github, ..CopiedEvidence::default() });
        let settings = CompanionSettings { evidence, ..CompanionSettings::default() };
        let policy = PolicyEvidence { from_cluster: true, ..PolicyEvidence::default() };
        let mut evidence = Evidence::new(&settings, &policy).unwrap();
        let now = Timestamp(1_800_000_000);
        let used = BTreeMap::from([(format!("ghcr.io/team/app@{DIGEST}"), BTreeSet::from(["shop".to_owned()]))]);
        evidence.observe(EvidenceObservation::Used(used), now);
        let Some(EvidenceAction::Fetch { digest, mut places }) = evidence.due(now).pop() else {
            panic!("nothing is fetched");
        };
        // No registry is asked here.
        places.retain(|place| matches!(place, Place::Github(_)));
        let action = EvidenceAction::Fetch { digest, places };
        Self { api, storage, storage_address, action, host }
    }

    /// Puts a page of attestations at the API: the first one, or from a cursor on.
    fn page(&self, cursor: Option<&str>, attestations: &[Value], next: Option<&str>) {
        let answer = Answer::ok(json!({"attestations": attestations}).to_string());
        let link =
            |next| format!("<https://{}/repositories/1/attestations/{DIGEST}?after={next}>; rel=\"next\"", self.host);
        self.api.set(&path(cursor), next.into_iter().fold(answer, |answer, next| answer.with("link", link(next))));
    }

    /// Puts an answer where the API sends to, and returns the attestation that does.
    fn stored(&self, path: &str, answer: Answer) -> Value {
        self.storage.set(path, answer);
        json!({"bundle": null, "bundle_url": format!("http://{}{path}", self.storage_address)})
    }

    async fn fetch(&self) -> (Vec<NewPiece>, Vec<FetchFailure>) {
        let plain_http = vec!["127.0.0.1".to_owned()];
        let options = Options { plain_http, timeout: Duration::from_secs(1), ..Options::default() };
        let registries = RegistryReader::new(options).unwrap();
        // Nobody is there: what is fetched isn't written.
        let client = kube::Client::try_from(kube::Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap();
        let token = ApiToken::new("secret").unwrap();
        let action = self.action.clone();
        match carry_out(action, &client, &registries, &Mirrors::default(), Some(&token)).await {
            EvidenceObservation::Fetched { digest, pieces, answers } => {
                assert_eq!(digest, DIGEST);
                (pieces, answers.into_iter().filter_map(|(_, answer)| answer.err()).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    /// What is found, where nothing fails.
    async fn found(&self) -> Vec<Vec<u8>> {
        let (pieces, failures) = self.fetch().await;
        assert_eq!(failures, []);
        pieces.into_iter().map(|piece| piece.bytes).collect()
    }
}

fn path(cursor: Option<&str>) -> String {
    let after = cursor.map(|cursor| format!("&after={cursor}")).unwrap_or_default();
    format!("/repos/team/app/attestations/{DIGEST}?per_page=16{after}")
}

fn inline(file: &str) -> Value {
    let bundle: Value = serde_json::from_slice(&made(file)).unwrap();
    json!({"bundle": bundle, "repository_id": 1})
}

fn packed(bytes: &[u8]) -> Answer {
    let block = snap::raw::Encoder::new().compress_vec(bytes).unwrap();
    Answer::ok(block).with("content-type", "application/x-snappy")
}

#[tokio::test]
async fn pages_of_bundles_and_of_their_urls() {
    let played = Played::new().await;
    let attested = played.stored("/a.json.sn?signature=x", packed(&made("workflow-attest.json")));
    let plain = played.stored("/b.json", Answer::ok(made("attest-p256-logged.json")));
    played.page(None, &[attested, plain], Some("b"));
    played.page(Some("b"), &[inline("sign-p256.json")], None);
    let found = played.found().await;
    let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    // In an object, the newest is the last one.
    assert_eq!(parsed(&found[0]), parsed(&made("sign-p256.json")));
    assert_eq!(&found[1..], [made("attest-p256-logged.json"), made("workflow-attest.json")]);
    let token = TOKEN.map(str::to_owned);
    assert_eq!(played.api.take_seen(), [(path(None), token.clone()), (path(Some("b")), token)]);
    let seen = played.storage.take_seen();
    assert_eq!(seen, [("/a.json.sn?signature=x".to_owned(), None), ("/b.json".to_owned(), None)]);
}

#[tokio::test]
async fn an_image_without_attestations() {
    let played = Played::new().await;
    // Status 404.
    assert_eq!(played.fetch().await, (Vec::new(), Vec::new()));
    played.page(None, &[], None);
    assert_eq!(played.fetch().await, (Vec::new(), Vec::new()));
}

#[tokio::test]
async fn a_github_that_gives_nothing() {
    let played = Played::new().await;
    let unavailable =
        |until: Option<i64>| FetchFailure::Registry { host: played.host.clone(), until: until.map(Timestamp) };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let reset = now + 120;
    let until = i64::try_from(reset).unwrap();
    let spent =
        |status| Answer::status(status).with("x-ratelimit-remaining", "0").with("x-ratelimit-reset", reset.to_string());
    for (answer, expected) in [
        (Answer::status(401), FetchFailure::Image),
        (Answer::status(403).with("x-ratelimit-remaining", "4999"), FetchFailure::Image),
        (spent(403), unavailable(Some(until))),
        (spent(429), unavailable(Some(until))),
        (Answer::status(429), unavailable(None)),
        (Answer::status(500), unavailable(None)),
        // Never answered.
        (Answer::status(0), unavailable(None)),
        (Answer::ok("<html>"), FetchFailure::Image),
        (Answer::ok(json!({"attestations": [{"bundle": null}]}).to_string()), FetchFailure::Image),
        (Answer::ok(vec![b' '; 9 << 20]), FetchFailure::Image),
        (Answer::status(302).with("location", "/login"), FetchFailure::Image),
        (Answer::ok(r#"{"attestations": []}"#).with("link", "<?page=2>; rel=\"next\""), FetchFailure::Image),
    ] {
        played.api.set(&path(None), answer.clone());
        played.api.set("/login", Answer::ok("<html>"));
        let (pieces, failures) = played.fetch().await;
        assert_eq!(pieces, [], "{answer:?}");
        let [failure] = failures.try_into().unwrap();
        match (&failure, &expected) {
            // Seconds are counted from another moment.
            (
                FetchFailure::Registry { until: Some(until), host },
                FetchFailure::Registry { until: Some(expected), .. },
            ) => {
                assert_eq!((host, (until.0 - expected.0).abs() <= 2), (&played.host, true), "{until:?}");
            }
            _ => assert_eq!(failure, expected, "{:?}", answer.status),
        }
    }
}

#[tokio::test]
async fn a_github_that_sends_elsewhere_gives_its_token_to_nobody() {
    let played = Played::new().await;
    played.storage.set("/trap", Answer::ok(json!({"attestations": [inline("sign-p256.json")]}).to_string()));
    let trap = format!("http://{}/trap", played.storage_address);
    played.api.set(&path(None), Answer::status(307).with("location", trap));
    assert_eq!(played.found().await.len(), 1);
    assert_eq!(played.storage.take_seen(), [("/trap".to_owned(), None)]);
}

/// Whatever a workflow attests to, what else there is counts.
#[tokio::test]
async fn attestations_that_cannot_be_read() {
    let played = Played::new().await;
    let good = || inline("sign-p256.json");
    let other = String::from_utf8(made("blob-p256.json")).unwrap().replacen("\"digest\":\"", "\"digest\":\"AAAA", 1);
    let bomb = snap::raw::Encoder::new().compress_vec(&vec![b' '; 64 << 20]).unwrap();
    let mut lies = snap::raw::Encoder::new().compress_vec(&made("workflow-attest.json")).unwrap();
    lies[0] ^= 1;
    let long = [made("workflow-attest.json"), vec![b' '; 2 << 20]].concat();
    // It is packed well, and larger than an object may be.
    let large =
        json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "a": "a".repeat(2 << 20)}).to_string();
    let at = |url: &str| json!({"bundle": null, "bundle_url": url});
    for (name, attestation) in [
        ("about another image", played.stored("/1", Answer::ok(other))),
        ("no bundle", json!({"bundle": {"mediaType": "application/json"}})),
        ("no object", json!({"bundle": "text"})),
        ("a bomb", played.stored("/2", Answer::ok(bomb))),
        ("another length", played.stored("/3", Answer::ok(lies))),
        ("no block", played.stored("/4", Answer::ok("<html>"))),
        ("nothing", played.stored("/5", Answer::ok(""))),
        ("too long", played.stored("/6", Answer::ok(long))),
        ("too large", played.stored("/7", packed(large.as_bytes()))),
        (
            "nested",
            played.stored("/10", Answer::ok(["{\"a\":", &"[".repeat(100_000), &"]".repeat(100_000), "}"].concat())),
        ),
        ("gone", played.stored("/8", Answer::status(404))),
        ("a page", played.stored("/9", Answer::status(303).with("location", "/1"))),
        ("an internal address", at("http://10.0.0.1/bundle")),
        ("a machine's credentials", at("http://169.254.169.254/latest/meta-data/")),
        ("a file", at("file:///etc/passwd")),
        ("no URL", at("")),
    ] {
        played.page(None, &[attestation, good()], None);
        assert_eq!(played.found().await.len(), 1, "{name}");
    }
    // The test can fail.
    played.page(None, &[inline("workflow-attest.json"), good()], None);
    assert_eq!(played.found().await.len(), 2);
}

/// What may be there, and isn't handed out, isn't taken to be gone.
#[tokio::test]
async fn bundles_that_are_not_handed_out() {
    let played = Played::new().await;
    for (answer, expected) in [
        (Answer::status(403), FetchFailure::Image),
        (Answer::status(500), FetchFailure::Registry { host: played.host.clone(), until: None }),
        (Answer::status(0), FetchFailure::Registry { host: played.host.clone(), until: None }),
    ] {
        let attestation = played.stored("/a", answer.clone());
        played.page(None, &[attestation, inline("sign-p256.json")], None);
        assert_eq!(played.fetch().await, (Vec::new(), vec![expected]), "{answer:?}");
    }
}

#[tokio::test]
async fn lists_without_an_end() {
    let played = Played::new().await;
    // Pages that can't be read in the end, and name each other.
    let page = vec![json!({"bundle": {}}); 10];
    played.page(None, &page, Some("x"));
    played.page(Some("x"), &page, Some("x"));
    assert_eq!(played.found().await, [b""; 0]);
    assert_eq!(played.api.take_seen().len(), 4);
    // One page with many more attestations than were asked for.
    let attestation = played.stored("/a", Answer::status(404));
    played.page(None, &vec![attestation; 10_000], None);
    assert_eq!(played.found().await, [b""; 0]);
    assert_eq!(played.storage.take_seen().len(), 64);
    // Many good ones: as many as an object has.
    let bundle = |number: usize| [made("sign-p256.json"), vec![b' '; number]].concat();
    let bundles: Vec<Value> = (0..40)
        .map(|number| played.stored(&format!("/{number}"), Answer::ok([b" ".repeat(number), bundle(0)].concat())))
        .collect();
    played.page(None, &bundles, None);
    let found = played.found().await;
    assert!(found.len() <= EvidenceObject::MAX_PIECES, "{}", found.len());
    assert_eq!(played.storage.take_seen().len(), EvidenceObject::MAX_PIECES);
}
