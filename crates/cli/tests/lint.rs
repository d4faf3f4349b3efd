//! `image-admission lint`, as its users see it: each file `lint/*.txt` is a transcript, see `support/transcripts.rs`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that can't go on must fail")]

#[path = "support/transcripts.rs"]
mod transcripts;

use std::path::PathBuf;

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    transcripts::check(&folder, |arguments, input| transcripts::image_admission(&folder, arguments, input));
}
