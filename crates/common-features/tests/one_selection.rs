//! What the demo compiles of others is what the tests compile; and what the module computes with is what they compute with.
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::process::Command;

/// Each crate of a selection with its features, as `serde_json v1.0.0|alloc,std`. What only build scripts and macros need is left out:
/// the same crate has other features there.
fn selected(selection: &[&str]) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    command.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}|{f}"]);
    let tree = command.args(selection).output()?;
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let lines = String::from_utf8(tree.stdout)?;
    // A crate that was shown already is marked, and sections of the tree are apart.
    let crates = lines.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| line.contains('|'));
    Ok(crates.filter(|line| !line.starts_with("image-admission-")).map(str::to_owned).collect())
}

#[test]
fn no_crate_of_the_demo_is_compiled_again_for_the_tests() {
    let demo =
        selected(&["--package", "image-admission-cli", "--no-default-features", "--edges", "normal,no-proc-macro"])
            .unwrap();
    let tests = selected(&["--workspace", "--edges", "normal,dev,no-proc-macro"]).unwrap();
    assert!(demo.len() > 150 && tests.len() > demo.len(), "{} and {}", demo.len(), tests.len());
    let again: Vec<&String> = demo.difference(&tests).collect();
    assert!(again.is_empty(), "add what the tests ask of these to crates/common-features/Cargo.toml: {again:#?}");
}

/// Features of native builds that change no answer: more of a crate's interface, another allocator or hash table, another way to the same
/// result.
const WITHOUT_CONSEQUENCE: [(&str, &[&str]); 13] = [
    ("anyhow", &["std"]),
    ("hashbrown", &["allocator-api2", "default-hasher", "equivalent", "inline-more", "raw-entry"]),
    ("indexmap", &["serde"]),
    // It also makes patches.
    ("json-patch", &["diff"]),
    // Functions on floats, where there is no standard library.
    ("num-traits", &["libm"]),
    // Patterns are translated so that they need none of the tables of Unicode, and fail without them where they do.
    ("regex", &["perf", "unicode"]),
    ("regex-automata", &["dfa", "nfa", "perf", "unicode"]),
    ("regex-syntax", &["unicode"]),
    // For `image-admission test --coverage`.
    ("regorus", &["coverage"]),
    ("sha2", &["oid"]),
    ("smallvec", &["const_new", "serde", "union"]),
    // Random numbers of a browser; no rule is answered with one.
    ("uuid", &["js"]),
    ("zeroize", &["derive", "zeroize_derive"]),
];

/// Else the command line would answer otherwise than the policy server.
#[test]
fn what_the_module_computes_with_is_what_native_builds_do() {
    let by_crate = |lines: BTreeSet<String>| -> BTreeMap<String, BTreeSet<String>> {
        let split = |line: String| {
            let (name, features) = line.split_once('|').unwrap();
            let features = features.split(',').filter(|feature| !feature.is_empty());
            (name.to_owned(), features.map(str::to_owned).collect())
        };
        lines.into_iter().map(split).collect()
    };
    let normal = |package, target: &[&str]| {
        let selection = [&["--package", package, "--edges", "normal,no-proc-macro"], target].concat();
        by_crate(selected(&selection).unwrap())
    };
    let native = normal("image-admission-cli", &[]);
    let modules = [
        normal("image-admission-policy", &["--target", "wasm32-wasip1"]),
        normal("image-admission-playground", &["--target", "wasm32-unknown-unknown"]),
    ];
    // Of the playground's crates, those that decide.
    let engine = normal("image-admission-engine", &["--target", "wasm32-wasip1"]);
    // What reads and writes numbers, texts and times.
    for name in ["serde_json", "serde", "regorus", "chrono", "num-bigint", "semver"] {
        assert!(engine.keys().any(|key| key.starts_with(&format!("{name} "))), "{name}");
    }
    let is_without_consequence = |name: &str, feature: &str| {
        let is_usual = ["alloc", "default", "std", "simd-unsafe"].contains(&feature);
        let listed =
            WITHOUT_CONSEQUENCE.iter().find(|(listed, _)| *listed == name).map_or(&[][..], |(_, features)| features);
        is_usual || listed.iter().any(|listed| feature == *listed || feature.starts_with(&format!("{listed}-")))
    };
    let other: Vec<String> = modules
        .iter()
        .flatten()
        .filter(|(key, _)| engine.contains_key(*key))
        .filter_map(|(key, own)| {
            let native = native.get(key)?;
            let name = key.split(' ').next()?;
            let differs = |feature: &&String| !is_without_consequence(name, feature);
            let features: Vec<&String> = own.symmetric_difference(native).filter(differs).collect();
            (!features.is_empty()).then(|| format!("{key}: {features:?}"))
        })
        .collect();
    assert!(other.is_empty(), "other features in the module than natively: {other:#?}");
}
