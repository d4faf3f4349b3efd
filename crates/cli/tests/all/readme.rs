//! README.md fits on a screen, and its links lead somewhere on Artifact Hub too.

use std::fs;
use std::process::Command;

use regex::Regex;

use crate::support::root;

/// The tag of the version that all files name.
const TAG: &str = concat!("v", env!("CARGO_PKG_VERSION"));

fn readme() -> String {
    fs::read_to_string(root().join("README.md")).unwrap()
}

#[test]
fn it_fits_on_a_screen() {
    let lines = readme().lines().count();
    assert!(lines <= 90, "README.md has {lines} lines; what doesn't fit belongs into docs/");
}

/// What the module's page gets, of a text as README.md.
fn published(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.md");
    fs::write(&page, text).unwrap();
    let output = Command::new(root().join(".ci/absolute-links")).arg(&page).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn where_artifact_hub_shows_it_no_link_is_relative() {
    let link = Regex::new(r"\]\(([^()\s]+)\)").unwrap();
    let (readme, published) = (readme(), published(&readme()));
    let targets: Vec<&str> = link.captures_iter(&published).map(|found| found.get(1).unwrap().as_str()).collect();
    assert!(targets.len() > 20, "where are the links?");
    for target in &targets {
        assert!(target.starts_with("https://"), "{target}");
    }
    // Nothing else changes, and every file of this repository is one of the release's tag.
    let own = Regex::new(&format!(r"https://[^()\s]+/(blob|raw)/{}/", regex::escape(TAG))).unwrap();
    assert_eq!(own.replace_all(&published, ""), readme);
    assert!(published.contains(&format!("/raw/{TAG}/docs/images/")), "a picture is linked as such");
}

#[test]
fn only_relative_links_are_changed() {
    let text = "[a](https://example.org/x) [b](docs/b.md#c) ![d](docs/d.svg) [e](#f)\n";
    let source = fs::read_to_string(root().join("policy-metadata.yml")).unwrap();
    let source = source.lines().find_map(|line| line.strip_prefix("  io.kubewarden.policy.source: "));
    let base = source.unwrap_or("https://git.example.com/image-admission");
    let expected = format!(
        "[a](https://example.org/x) [b]({base}/blob/{TAG}/docs/b.md#c) ![d]({base}/raw/{TAG}/docs/d.svg) [e](#f)\n"
    );
    assert_eq!(published(text), expected);
}
