//! Bundles that others made, as their authors expect them to be answered: the cases of sigstore-conformance, and the test data of
//! sigstore-go and of GitHub's `gh`. Their texts are not here: `make test-evidence` brings them.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    reason = "what others made is read from files, and a test that can't go on must fail"
)]

use std::fs;
use std::path::{Path, PathBuf};

use image_admission_evidence::key::PublicKey;
use image_admission_evidence::sigstore::{Bundle, Identity, TrustRoot};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What the suite asks for where a case doesn't say it.
const IDENTITY: &str = "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";
const ISSUER: &str = "https://token.actions.githubusercontent.com";

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
