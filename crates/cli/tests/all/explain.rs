//! `image-admission explain`, as its users see it: each file `explain/*.txt` is a transcript, see `support/transcripts.rs`.
//! `$WORLD` stands for the options of the test world.

use crate::support;
use crate::support::transcripts;
use image_admission_untrusted::time::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};
use support::{module_path, root};
use transcripts::image_admission;

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = root().join("crates/cli/tests/explain");
    let path = |name: &str| root().join(name).display().to_string();
    let (images, cluster, module) =
        (path("tests/world/images.yaml"), path("tests/world/cluster"), module_path().display().to_string());
    transcripts::check(&folder, |arguments, input| {
        let mut all: Vec<&str> = Vec::new();
        for argument in arguments {
            match *argument {
                "$WORLD" => all.extend(["--images", &images, "--cluster", &cluster]),
                other => all.push(other),
            }
        }
        if all.contains(&"-f") {
            all.extend(["--module", &module]);
        }
        let mut outcome = image_admission(&folder, &all, input);
        // A proposed exemption ends thirty days from now; the day may change while the command runs.
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
        for now in [now, now - 60] {
            outcome.output = outcome.output.replace(&Timestamp(now + 30 * 24 * 3600).day(), "DAY");
        }
        outcome
    });
}
