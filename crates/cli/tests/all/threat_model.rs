//! Every attack of the threat model has a test, and every test that it names is there.

use regex::Regex;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where a file is that a page names: from the root, or among the crates.
const FOLDERS: [&str; 2] = ["", "crates"];

#[test]
fn every_test_that_the_threat_model_names_is_there() {
    let page = page();
    let named = named(&page);
    let wrong: Vec<String> = named.iter().filter_map(|(file, test)| problem(file, test)).collect();
    assert!(named.len() > 60, "where are the tests? {named:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_attack_of_the_threat_model_has_a_test() {
    let mut attacks = 0;
    let mut of_tests = false;
    for line in page().lines() {
        if !line.starts_with('|') {
            of_tests = false;
        } else if line.ends_with("| tests |") {
            of_tests = true;
        } else if of_tests && !line.starts_with("|---") {
            attacks += 1;
            assert!(!named(line).is_empty(), "without a test: {line}");
        }
    }
    assert!(attacks > 30, "where are the attacks? {attacks}");
    for finding in 1..=10 {
        assert!(page().contains(&format!("F{finding})")) || page().contains(&format!("F{finding},")), "F{finding}");
    }
}

#[test]
fn what_is_not_there_is_told() {
    let told = |text: &str| named(text).iter().filter_map(|(file, test)| problem(file, test)).collect::<Vec<_>>();
    for there in [
        "`engine/tests/traps/attacks.rs::a_name_has_one_digest`",
        "`cli/tests/all/threat_model.rs::what_is_not_there_is_told`",
        "`registry-reader/tests/all/api.rs::the_token_stays_at_the_api`",
        "`tests/cases/attacks.yaml::an image volume is judged`",
    ] {
        assert_eq!(told(there), [""; 0], "{there}");
    }
    for (text, why) in [
        ("`engine/tests/traps/nothing.rs::a`", "there is no file `engine/tests/traps/nothing.rs`"),
        ("`engine/tests/traps/attacks.rs::a_name`", "`engine/tests/traps/attacks.rs` has no test `a_name`"),
        // No test, although it is there.
        ("`engine/tests/traps/attacks.rs::pod`", "`engine/tests/traps/attacks.rs` has no test `pod`"),
        ("`tests/cases/attacks.yaml::an image volume`", "`tests/cases/attacks.yaml` has no test `an image volume`"),
    ] {
        assert_eq!(told(text), [why], "{text}");
    }
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn page() -> String {
    fs::read_to_string(root().join("docs/threat-model.md")).unwrap()
}

/// The tests that a text names, as `file::test`.
fn named(text: &str) -> BTreeSet<(String, String)> {
    let test = Regex::new(r"`([^`:]+\.(?:rs|yaml))::([^`]+)`").unwrap();
    test.captures_iter(text).map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

/// Why a test isn't there; none when it is.
fn problem(file: &str, test: &str) -> Option<String> {
    let found = FOLDERS.iter().find_map(|folder| fs::read_to_string(root().join(folder).join(file)).ok());
    let Some(text) = found else { return Some(format!("there is no file `{file}`")) };
    let is_there = if file.ends_with(".yaml") {
        text.lines().any(|line| line.trim_start().strip_prefix("- name: ") == Some(test))
    } else {
        let name = regex::escape(test);
        let definition = format!(r"#\[(?:tokio::)?test(?:\([^\n]*\))?\]\n(?:\s*#\[[^\n]*\n)*\s*(?:async )?fn {name}\(");
        Regex::new(&definition).unwrap().is_match(&text)
    };
    (!is_there).then(|| format!("`{file}` has no test `{test}`"))
}
