//! Envelopes of Notary Project: whatever one holds, it is a signature of somebody whose certificate the root issued, or none.
#![no_main]

use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::notary::{COSE, Envelope, JWS, Store, Trust, TrustedIdentity};
use image_admission_untrusted::time::Timestamp;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const DIGEST: &str = "sha256:73c803930ea3ba1e54bc25c2bdc53edd0284c62ed651fe7b00369da519a3c333";

fn read(pem: &str) -> Vec<Certificate> {
    Certificate::all_from_pem(pem).expect("OpenSSL and Go write PEM")
}

static ROOTS: LazyLock<Vec<Certificate>> =
    LazyLock::new(|| read(include_str!("../../crates/evidence/tests/notary/root.pem")));
static AUTHORITIES: LazyLock<Vec<Certificate>> =
    LazyLock::new(|| read(include_str!("../../crates/evidence/tests/notary/tsa-root.pem")));

fuzz_target!(|document: &[u8]| {
    for media_type in [JWS, COSE] {
        let Ok(envelope) = Envelope::read(media_type, document) else { continue };
        for store in [Store::CertificateAuthority, Store::SigningAuthority] {
            let trust = Trust {
                roots: &ROOTS,
                timestamp_authorities: &AUTHORITIES,
                identities: &[TrustedIdentity::Anybody],
                revoked: &[],
                store,
            };
            match envelope.verify(&trust, DIGEST, Timestamp(1_795_000_000)) {
                Ok(signed) => assert!(signed.subject.ends_with(r",O=Team\, Inc.,ST=WA,C=US"), "{signed:?}"),
                Err(error) => assert!(error.to_string().len() < 2_000, "{error}"),
            }
        }
    }
});
