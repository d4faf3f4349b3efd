//! What the demo compiles of others is what the tests compile.
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn no_crate_of_the_demo_is_compiled_again_for_the_tests() {
    // Each crate of a selection with its features. What only build scripts and macros need is left out: the same crate has
    // other features there.
    let features = |selection: &[&str]| -> BTreeSet<String> {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        command.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}|{f}"]);
        let tree = command.args(selection).output().unwrap();
        assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
        let lines = String::from_utf8(tree.stdout).unwrap();
        // A crate that was shown already is marked, and sections of the tree are apart.
        let crates = lines.lines().map(|line| line.trim_end_matches(" (*)")).filter(|line| line.contains('|'));
        crates.filter(|line| !line.starts_with("image-admission-")).map(str::to_owned).collect()
    };
    let demo =
        features(&["--package", "image-admission-cli", "--no-default-features", "--edges", "normal,no-proc-macro"]);
    let tests = features(&["--workspace", "--edges", "normal,dev,no-proc-macro"]);
    assert!(demo.len() > 150 && tests.len() > demo.len(), "{} and {}", demo.len(), tests.len());
    let again: Vec<&String> = demo.difference(&tests).collect();
    assert!(again.is_empty(), "add what the tests ask of these to crates/common-features/Cargo.toml: {again:#?}");
}
