//! The engine's layers: each module uses those that stand before it, and none behind it.

#![expect(clippy::disallowed_methods, reason = "the ban is the engine's, this reads its files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers from the ground up, and in each its modules, in the order in which they may use each other.
const LAYERS: [(&str, &[&str]); 8] = [
    (
        "values",
        &[
            "message", "pointer", "glob", "remedy", "clock", "memory", "spelling", "literal", "time", "text", "purl",
            "version", "license", "workload", "image", "platform", "request",
        ],
    ),
    ("settings", &["settings"]),
    ("the host", &["host", "cluster", "context"]),
    (
        "sources and judges",
        &[
            "reason",
            "finding",
            "package",
            "exemption",
            "exploited",
            "manifest",
            "referrers",
            "attached",
            "resolve",
            "configuration",
            "running",
            "vex",
            "acceptance",
            "report",
        ],
    ),
    (
        "phases, verification and rules",
        &["break_glass", "policy", "judged", "prescan", "pin", "update", "scan", "rego", "verification"],
    ),
    ("what is looked into when a policy is deployed", &["check"]),
    ("the way of a request", &["decision", "flow"]),
    ("answers", &["contact", "response", "payload", "log", "lib", "explain"]),
];

#[test]
fn no_module_uses_one_that_stands_behind_it() {
    let order: Vec<&str> = LAYERS.iter().flat_map(|(_, modules)| modules.iter().copied()).collect();
    let place = |module: &str| order.iter().position(|known| *known == module);
    let at_root = names_at_root();
    let (mut wrong, mut uses) = (Vec::new(), 0);
    for (file, module) in files() {
        let Some(own) = place(&module) else {
            wrong.push(format!("{file}: say in which layer `{module}` is"));
            continue;
        };
        for used in used_in(&file, &at_root) {
            uses += 1;
            match place(&used) {
                Some(other) if other <= own => {}
                Some(_) => wrong.push(format!("{file}: `{module}` uses `{used}`, which stands behind it")),
                None => wrong.push(format!("{file}: `crate::{used}` is of no module that is known")),
            }
        }
    }
    assert!(uses > 300, "where are the uses? {uses}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The rooms of `rego/` from the ground up: what stands in one may use those before it, and what they name for it.
const ROOMS: [&str; 4] = ["engine", "request", "deployment", "conformance"];

#[test]
fn no_room_of_rego_uses_one_that_stands_behind_it() {
    let (mut wrong, mut uses) = (Vec::new(), 0);
    for (file, _) in files() {
        let Some(below) = file.strip_prefix("rego/") else { continue };
        let room = below.split(['/', '.']).next().unwrap();
        let Some(own) = ROOMS.iter().position(|known| *known == room) else {
            wrong.push(format!("{file}: say in which room it stands"));
            continue;
        };
        let code = code_of(&file);
        for after in code.split("crate::rego::").skip(1) {
            uses += 1;
            let used = words(after)[0];
            match ROOMS.iter().position(|known| *known == used) {
                Some(other) if other < own => {}
                Some(_) => wrong.push(format!("{file}: `{room}` uses `{used}`, which doesn't stand before it")),
                None => wrong.push(format!("{file}: `crate::rego::{used}` is of no room")),
            }
        }
        let out_of_the_room = "super::".repeat(below.split('/').count());
        if code.contains(&out_of_the_room) {
            wrong.push(format!("{file}: name what is of another room from the root, `crate::rego::…`"));
        }
    }
    assert!(uses > 15, "where are the uses? {uses}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_are_found_however_they_are_written() {
    let at_root = BTreeMap::from([("Timestamp".to_owned(), "time".to_owned())]);
    let text = "use crate::{host, rego};\n/// crate::flow\nuse crate::settings::Settings;\nfn f(now: crate::Timestamp) -> crate::pin::Pin {}\n";
    assert_eq!(used(text, &at_root), ["host", "rego", "settings", "time", "pin"]);
}

/// The engine's files with the module of each, without tests.
fn files() -> Vec<(String, String)> {
    let mut folders = vec![source()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(source()).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") && !name.starts_with("traps") {
                let module = name.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
                files.push((name, module));
            }
        }
    }
    files.sort();
    files
}

/// What the root gives other names for, and the module that has it.
fn names_at_root() -> BTreeMap<String, String> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    let mut names = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("pub use ")) {
        let (module, given) = line.trim_end_matches(';').split_once("::").unwrap();
        for name in words(given) {
            names.insert(name.to_owned(), module.to_owned());
        }
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("pub fn ")) {
        names.insert(words(line)[0].to_owned(), "lib".to_owned());
    }
    names
}

/// The modules that a file uses.
fn used_in(file: &str, at_root: &BTreeMap<String, String>) -> Vec<String> {
    used(&code_of(file), at_root)
}

/// A file without its tests.
fn code_of(file: &str) -> String {
    let text = fs::read_to_string(source().join(file)).unwrap();
    text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned()
}

fn used(text: &str, at_root: &BTreeMap<String, String>) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut found = Vec::new();
    for after in code.join("\n").split("crate::").skip(1) {
        let names = match after.strip_prefix('{') {
            Some(list) => words(list.split('}').next().unwrap()),
            None => words(after).into_iter().take(1).collect(),
        };
        found.extend(names.into_iter().map(|name| at_root.get(name).map_or(name, String::as_str).to_owned()));
    }
    found
}

fn words(text: &str) -> Vec<&str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty()).collect()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}
