//! Certificates: whatever one holds, the root issued it, or no chain leads from it to the root.
#![no_main]

use image_admission_evidence::certificate::{Certificate, Usage, chain};
use image_admission_untrusted::time::Timestamp;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static ROOTS: LazyLock<Vec<Certificate>> = LazyLock::new(|| {
    Certificate::all_from_pem(include_str!("../../crates/evidence/tests/timestamps/root.pem"))
        .expect("OpenSSL writes PEM")
});

fuzz_target!(|der: &[u8]| {
    let Ok(certificate) = Certificate::from_der(der) else { return };
    assert_eq!(certificate.der(), der);
    for usage in [Usage::CodeSigning, Usage::NotaryCodeSigning, Usage::TimeStamping] {
        if let Ok(path) =
            chain(&certificate, std::slice::from_ref(&certificate), &ROOTS, Timestamp(1_800_000_000), usage)
        {
            assert!(certificate.subject().ends_with(",O=Team,C=DE"), "{}", certificate.subject());
            assert!(path.last().is_some_and(|root| ROOTS.contains(root)));
        }
    }
});
