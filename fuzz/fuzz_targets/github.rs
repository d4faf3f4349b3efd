//! What GitHub's API answers, and the bundles that it sends to: a page, or a block of Snappy. Blocks are never larger than an object.
#![no_main]

use image_admission_companion::github::{Listed, read_page, unpack};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|bytes: &[u8]| {
    for listed in read_page(bytes).unwrap_or_default() {
        if let Listed::Bundle(bundle) = listed {
            assert!(serde_json::from_str::<&RawValue>(&bundle).is_ok(), "{bundle}");
        }
    }
    if let Ok(bundle) = unpack(bytes) {
        assert!(bundle == bytes || bundle.len() <= 1 << 20, "{}", bundle.len());
    }
});
