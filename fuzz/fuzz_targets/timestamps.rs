//! Timestamps: whatever a token holds, it proves the time at which the authority made it, or none.
#![no_main]

use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::timestamp::{Authority, verify};
use image_admission_untrusted::time::Timestamp;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const TOKENS: [&[u8]; 3] = [
    include_bytes!("../../crates/evidence/tests/timestamps/rsa.tsr"),
    include_bytes!("../../crates/evidence/tests/timestamps/p384.tsr"),
    include_bytes!("../../crates/evidence/tests/timestamps/bare.p7s"),
];

fn read(pem: &str) -> Vec<Certificate> {
    Certificate::all_from_pem(pem).expect("OpenSSL writes PEM")
}

static AUTHORITIES: LazyLock<[Authority; 2]> = LazyLock::new(|| {
    let any = Authority {
        roots: read(include_str!("../../crates/evidence/tests/timestamps/root.pem")),
        ..Authority::default()
    };
    let leaf = read(include_str!("../../crates/evidence/tests/timestamps/bare.pem")).pop();
    [Authority { leaf, ..any.clone() }, any]
});

/// When the authority was asked.
static TIMES: LazyLock<Vec<Timestamp>> =
    LazyLock::new(|| TOKENS.iter().map(|token| proven(token).expect("OpenSSL makes tokens")).collect());

fn proven(token: &[u8]) -> Option<Timestamp> {
    verify(token, b"message", &*AUTHORITIES).ok()
}

fuzz_target!(|token: &[u8]| {
    if let Some(time) = proven(token) {
        assert!(TIMES.contains(&time), "{time}");
    }
});
