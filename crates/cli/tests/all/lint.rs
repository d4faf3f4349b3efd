//! `image-admission lint`, as its users see it: each file `lint/*.txt` is a transcript, see `support/transcripts.rs`.

use crate::support::transcripts;
use std::path::PathBuf;
use transcripts::image_admission;

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    transcripts::check(&folder, |arguments, input| image_admission(&folder, arguments, input));
}

#[test]
fn the_manifests_to_deploy_by_mean_what_they_say() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy"));
    let policies = [
        "cluster-admission-policy.yaml",
        "cluster-admission-policy-validating.yaml",
        "monitor.yaml",
        "policy-server.yaml",
    ];
    let outcome = image_admission(&folder, &[&["lint"], &policies[..]].concat(), b"");
    assert_eq!((outcome.code, outcome.output.as_str(), outcome.errors.as_str()), (0, "", ""));
}
