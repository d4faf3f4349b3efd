//! Sigstore bundles. The seeds verify; what still verifies after a change says what they said.
#![no_main]

use image_admission_evidence::key::PublicKey;
use image_admission_evidence::sigstore::{Bundle, TrustRoot};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// The instance of Sigstore that the tests of `crates/evidence` make.
static ROOT: LazyLock<TrustRoot> =
    LazyLock::new(|| TrustRoot::read(include_str!("../src/trusted_root.json")).expect("a trust root"));
/// Its signer.
static KEY: LazyLock<PublicKey> = LazyLock::new(|| {
    let pem = "-----BEGIN PUBLIC KEY-----\n\
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEWRq3ceu8/W2cuQlNEGUordGmnUTC\n\
        wfYn8InsWLnGGt+fTmq/DQRcDGk6PGitfJfKcr5k3vSib+zSY92YqSeA8A==\n\
        -----END PUBLIC KEY-----\n";
    PublicKey::from_pem(pem).expect("a key")
});
const ARTIFACT: &str = "sha256:c7c5c1d70c5dec4416ab6158afd0b223ef40c29b1dc1f97ed9428b94d4cadb1c";

fuzz_target!(|document: &[u8]| {
    let Ok(document) = serde_json::from_slice(document) else { return };
    let Ok(bundle) = Bundle::read(&document) else { return };
    drop(bundle.claims());
    if let Ok(signed) = bundle.verify_by_root(&ROOT, ARTIFACT) {
        let identity = signed.identity.expect("a signer");
        assert_eq!(identity.subject, "https://example.com/team/app/release.yml", "{document}");
        assert!(!signed.times.is_empty(), "{document}");
        assert!(
            signed.statement.is_none_or(|said| said.predicate_type == "https://slsa.dev/provenance/v1"),
            "{document}"
        );
    }
    for root in [None, Some(&*ROOT)] {
        if let Ok(signed) = bundle.verify_by_key(&KEY, root, ARTIFACT) {
            assert!(signed.statement.is_none_or(|said| said.subjects == [ARTIFACT]), "{document}");
        }
    }
});
