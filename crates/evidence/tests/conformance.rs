//! Bundles that others made, as their authors expect them to be answered: the cases of sigstore-conformance, and the test data of
//! sigstore-go and of GitHub's `gh`. Their texts are not here: `make test-evidence` brings them.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::string_slice,
    clippy::panic,
    reason = "what others made is read from files, and a test that can't go on must fail"
)]

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image_admission_evidence::certificate::ChainError;
use image_admission_evidence::dsse::EnvelopeError;
use image_admission_evidence::key::PublicKey;
use image_admission_evidence::sigstore::{Bundle, BundleError, Identity, Signed, TrustRoot};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What the suite asks for where a case doesn't say it.
const IDENTITY: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

/// Where a bundle has its first timestamp.
const TIMESTAMP: &str = "/verificationMaterial/timestampVerificationData/rfc3161Timestamps/0/signedTimestamp";

/// Each case with what its author expects, and what was answered. `BLESS=1` writes it anew.
const LEDGER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance.txt");

#[test]
#[ignore = "needs sigstore-conformance and sigstore-go: make test-evidence"]
fn the_conformance_suite() {
    let suite = folder("SIGSTORE_CONFORMANCE").join("test/assets/bundle-verify");
    let mut cases: Vec<PathBuf> = fs::read_dir(&suite).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    let mut ledger = String::new();
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case.file_name().unwrap().to_str().unwrap();
        let expected = if name.ends_with("_fail") { "reject" } else { "accept" };
        let (answer, reason) = match answer(case, &suite) {
            Ok(()) => ("accept", String::new()),
            Err(reason) => ("reject", format!(": {reason}")),
        };
        if answer != expected {
            wrong.push(name);
        }
        ledger.push_str(&format!("{name}: {expected} expected, {answer}ed{reason}\n"));
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(LEDGER, &ledger).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{ledger}");
    assert_eq!(ledger, fs::read_to_string(LEDGER).unwrap());
}

/// What a client of the suite does with a case.
fn answer(case: &Path, suite: &Path) -> Result<(), String> {
    let read = |name: &str| fs::read_to_string(case.join(name)).ok();
    let artifact = fs::read(case.join("artifact")).or_else(|_| fs::read(suite.join("a.txt"))).unwrap();
    let digest = digest(&artifact);
    let root = read("trusted_root.json").unwrap_or_else(public_good);
    let root = TrustRoot::read(&root).map_err(|error| error.to_string())?;
    let bundle: Value =
        serde_json::from_str(&read("bundle.sigstore.json").unwrap()).map_err(|error| error.to_string())?;
    let bundle = Bundle::read(&bundle).map_err(|error| error.to_string())?;
    if let Some(key) = read("key.pub") {
        let key = PublicKey::from_pem(&key).map_err(|error| error.to_string())?;
        return bundle.verify_by_key(&key, Some(&root), &digest).map(|_| ()).map_err(|error| error.to_string());
    }
    let signed = bundle.verify_by_root(&root, &digest).map_err(|error| error.to_string())?;
    let Identity { subject, issuer, .. } = signed.identity.unwrap();
    let wanted =
        |name: &str, default: &str| read(name).map_or_else(|| default.to_owned(), |text| text.trim().to_owned());
    if subject == wanted("identity", IDENTITY) && issuer == wanted("issuer", ISSUER) {
        Ok(())
    } else {
        Err(format!("signed by `{subject}` of `{issuer}`"))
    }
}

/// A bundle, the trust root that it verifies with, and what it is about.
struct Real {
    bundle: Value,
    root: TrustRoot,
    digest: &'static str,
}

/// An attestation of a public repository, logged by Rekor v1.
fn public_attestation() -> Real {
    Real {
        bundle: of_gh("reusable-workflow-attestation.sigstore.json"),
        root: TrustRoot::read(&public_good()).unwrap(),
        digest: "sha256:49a3aa6075e0f49f82843e74b5baa614ad2a588e6675612bf108a0a008c5ac25",
    }
}

/// An attestation of a private repository: GitHub's own instance has no logs.
fn private_attestation() -> Real {
    Real {
        bundle: of_gh("github_provenance_demo-0.0.12-py3-none-any-bundle.jsonl"),
        root: TrustRoot::read(&fs::read_to_string(folder("GITHUB_TRUST_ROOT")).unwrap()).unwrap(),
        digest: "sha256:ae57936def59bc4c75edd3a837d89bcefc6d3a5e31d55a6fa7a71624f92c3c3b",
    }
}

/// An attestation that Rekor v2 logged.
fn attestation_v2() -> Real {
    of_suite("rekor2-dsse-happy-path")
}

/// A case of the suite that brings its own root, and is about the suite's artifact.
fn of_suite(case: &str) -> Real {
    let case = folder("SIGSTORE_CONFORMANCE").join("test/assets/bundle-verify").join(case);
    let read = |name| fs::read_to_string(case.join(name)).unwrap();
    Real {
        bundle: serde_json::from_str(&read("bundle.sigstore.json")).unwrap(),
        root: TrustRoot::read(&read("trusted_root.json")).unwrap(),
        digest: "sha256:a0cfc71271d6e278e57cd332ff957c3f7043fdda354c4cbb190a30d56efa01bf",
    }
}

/// The signature of a user of a private instance, whom the certificate calls by a user name.
fn message_of_user() -> Real {
    let data = folder("SIGSTORE_GO").join("pkg/testing/data");
    let read = |name| fs::read_to_string(data.join(name)).unwrap();
    Real {
        bundle: serde_json::from_str(&read("bundles/othername.sigstore.json")).unwrap(),
        root: TrustRoot::read(&read("trusted-roots/scaffolding.json")).unwrap(),
        digest: "sha256:bc103b4a84971ef6459b294a2b98568a2bfb72cded09d4acd1e16366a401f95b",
    }
}

fn of_gh(name: &str) -> Value {
    let text = fs::read_to_string(folder("GH").join("pkg/cmd/attestation/test/data").join(name)).unwrap();
    serde_json::from_str(text.lines().next().filter(|_| name.ends_with("jsonl")).unwrap_or(&text)).unwrap()
}

impl Real {
    fn verify(&self) -> Result<Signed, BundleError> {
        Bundle::read(&self.bundle)?.verify_by_root(&self.root, self.digest)
    }
}

#[test]
#[ignore = "needs sigstore-conformance, sigstore-go and gh: make test-evidence"]
fn bundles_of_each_instance() {
    const WORKFLOWS: &str = "https://github.com/github/artifact-attestations-workflows/.github/workflows/attest.yml@09b495c3f12c7881b3cc17209a327792065c1a1d";
    const DEMO: &str = "https://github.com/actions/attest-demo/.github/workflows/build-python.yml@refs/heads/main";
    for (real, subject, issuer, time, extension) in [
        (public_attestation(), WORKFLOWS, ISSUER, "2024-05-24T19:14:24Z", Some(("buildTrigger", "workflow_dispatch"))),
        (private_attestation(), DEMO, ISSUER, "2024-04-22T17:33:26Z", Some(("runnerEnvironment", "github-hosted"))),
        (attestation_v2(), IDENTITY, ISSUER, "2026-05-13T19:23:33Z", Some(("sourceRepositoryRef", "refs/heads/main"))),
        (message_of_user(), "foo!oidc.local", "http://oidc.local:8080", "2024-07-12T19:06:29Z", None),
    ] {
        let signed = real.verify().unwrap();
        let identity = signed.identity.unwrap();
        assert_eq!((identity.subject.as_str(), identity.issuer.as_str()), (subject, issuer));
        assert_eq!(signed.times.iter().map(ToString::to_string).collect::<Vec<_>>(), [time]);
        if let Some((name, value)) = extension {
            assert_eq!(identity.extensions.get(name).map(String::as_str), Some(value));
            assert_eq!(signed.statement.unwrap().predicate_type, "https://slsa.dev/provenance/v1");
        }
    }
    // About an npm package, which has no SHA-256: that is the last thing that is looked at.
    for name in ["sigstore-js-2.1.0-bundle-v0.1.json", "sigstore-js-2.1.0-bundle.json"] {
        let real = Real { bundle: of_gh(name), ..public_attestation() };
        assert_eq!(real.verify(), Err(BundleError::Envelope(EnvelopeError::NoSubjectDigest)), "{name}");
    }
}

/// The suite's case of a timestamp at another time has line breaks in its base64. It is refused for them, and without them for its
/// time.
#[test]
#[ignore = "needs sigstore-conformance: make test-evidence"]
fn a_timestamp_at_another_time() {
    let mut real = of_suite("rekor2-timestamp-with-incorrect-time_fail");
    let timestamp = real.bundle.pointer_mut(TIMESTAMP).unwrap();
    *timestamp = timestamp.as_str().unwrap().replace('\n', "").into();
    let error = real.verify().unwrap_err();
    assert!(matches!(error, BundleError::Untrusted(_, ChainError::NotValid { .. })), "{error:?}");
}

/// What is changed: the last bit of base64 or of a number, or a letter of a text.
fn spoil(value: &mut Value) {
    let text = value.as_str().unwrap();
    *value = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        (text.parse::<u64>().unwrap() ^ 1).to_string().into()
    } else if let Ok(mut bytes) = STANDARD.decode(text) {
        *bytes.last_mut().unwrap() ^= 1;
        STANDARD.encode(bytes).into()
    } else {
        // In the first signature of a checkpoint, which is the log's. Others are of witnesses.
        let line = text.find('\u{2014}').unwrap();
        let at = line + text[line..].find('\n').unwrap() - 12;
        let other = if text[at..].starts_with('A') { "B" } else { "A" };
        [&text[..at], other, &text[at + 1..]].concat().into()
    };
}

#[test]
#[ignore = "needs sigstore-conformance, sigstore-go and gh: make test-evidence"]
fn one_bit_of_a_bundle() {
    const ENTRY: &str = "/verificationMaterial/tlogEntries/0";
    let entry = |path: &str| format!("{ENTRY}{path}");
    let certificate = || "/verificationMaterial/certificate/rawBytes".to_owned();
    let signature = || "/dsseEnvelope/signatures/0/sig".to_owned();
    let payload = || "/dsseEnvelope/payload".to_owned();
    let cases = [
        (
            public_attestation(),
            vec![
                (signature(), "Signature"),
                (payload(), "Signature"),
                (certificate(), "Entry(Body(OtherSigner))"),
                (entry("/inclusionPromise/signedEntryTimestamp"), "Entry(Promise)"),
                (entry("/integratedTime"), "Entry(Promise)"),
                (entry("/logIndex"), "Entry(Promise)"),
                (entry("/canonicalizedBody"), "Entry(Promise)"),
                (entry("/logId/keyId"), "OtherLog("),
                (entry("/inclusionProof/logIndex"), "Entry(Proof(Index {"),
                (entry("/inclusionProof/treeSize"), "Entry(OtherTree)"),
                (entry("/inclusionProof/rootHash"), "Entry(OtherTree)"),
                (entry("/inclusionProof/hashes/3"), "Entry(Proof(Root))"),
                (entry("/inclusionProof/checkpoint/envelope"), "Entry(Checkpoint(Signature))"),
            ],
        ),
        (
            private_attestation(),
            vec![
                (signature(), "Signature"),
                (payload(), "Signature"),
                (certificate(), "Untrusted(Timestamp(1713807206), Signature {"),
                (TIMESTAMP.to_owned(), "Timestamp(Signature"),
            ],
        ),
        (
            attestation_v2(),
            vec![
                (signature(), "Signature"),
                (payload(), "Signature"),
                (certificate(), "Entry(Body(OtherSigner))"),
                (entry("/canonicalizedBody"), "Entry(Proof(Root))"),
                (entry("/inclusionProof/checkpoint/envelope"), "Entry(Checkpoint(Signature))"),
                (TIMESTAMP.to_owned(), "Timestamp(Signature"),
            ],
        ),
        (
            message_of_user(),
            vec![
                ("/messageSignature/signature".to_owned(), "Signature"),
                ("/messageSignature/messageDigest/digest".to_owned(), "OtherArtifact("),
                (certificate(), "Entry(Body(OtherSigner))"),
            ],
        ),
    ];
    for (mut real, changes) in cases {
        let bundle = real.bundle.clone();
        assert!(real.verify().is_ok());
        for (path, expected) in changes {
            real.bundle = bundle.clone();
            spoil(real.bundle.pointer_mut(&path).unwrap());
            let error = format!("{:?}", real.verify().err());
            assert!(error.starts_with(&format!("Some({expected}")), "{path}: {error}, and not {expected}");
        }
    }
    // Each bundle with the other's root.
    let (public, private) = (public_attestation(), private_attestation());
    let swapped = Real { root: private.root.clone(), ..public_attestation() };
    assert_eq!(swapped.verify(), Err(BundleError::NoTime));
    let swapped = Real { root: public.root.clone(), ..private_attestation() };
    assert_eq!(swapped.verify(), Err(BundleError::NoEntry));
    let swapped = Real { digest: private.digest, ..public_attestation() };
    assert_eq!(swapped.verify(), Err(BundleError::OtherArtifact(vec![public.digest.to_owned()])));
}

fn public_good() -> String {
    fs::read_to_string(folder("SIGSTORE_GO").join("pkg/testing/data/trusted-roots/public-good.json")).unwrap()
}

fn folder(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(folder) => PathBuf::from(folder),
        None => panic!("`{variable}` names no checkout: `make test-evidence` sets it"),
    }
}

fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}
