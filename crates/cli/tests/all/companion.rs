//! `image-admission companion`: what it says of its settings. What it does, the tests of `companion` and `companion-host` say.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// A folder with these files; it ends where it would reach the cluster.
fn started(files: &[(&str, &str)], settings: &str) -> (Option<i32>, String) {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    command.arg("companion").arg("--settings").arg(Path::new(settings)).args(["--kubeconfig", "nothing-here"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn each_file_of_a_folder_has_some_of_the_settings() {
    let scans = ("scans.yaml", "scans: {atOnce: 5}\n");
    let evidence = ("evidence.yaml", "evidence: {refresh: 6h}\n");
    let refused = "error: the settings `.` are not valid\n";
    for (files, settings, expected) in [
        (&[scans, evidence, ("empty.yaml", "# nothing\n"), ("README.md", "no settings")][..], ".", Ok(())),
        (&[], ".", Ok(())),
        (&[scans], "scans.yaml", Ok(())),
        (
            &[scans, ("settings.yaml", "scans: {}\n")],
            ".",
            Err(format!("{refused}  `scans` is in two files; leave it out of `./settings.yaml`\n")),
        ),
        (
            &[evidence, ("settings.yaml", "images: 0\n")],
            ".",
            Err(format!("{refused}  images: `0` would ask for nothing; write a number from 1 on\n")),
        ),
    ] {
        let (code, said) = started(files, settings);
        match expected {
            Ok(()) => assert!(code == Some(1) && said.contains("nothing-here"), "{files:?}: {code:?} {said}"),
            Err(expected) => assert_eq!((code, said), (Some(3), expected), "{files:?}"),
        }
    }
}

#[test]
fn what_cant_be_read_is_said() {
    for (files, settings, code, expected) in [
        (&[][..], "none.yaml", 1, "cannot read the settings `none.yaml`: "),
        (
            &[("settings.yaml", "scan: {}\n")],
            "settings.yaml",
            3,
            "unknown field `scan`, expected one of `policy`, `scans`",
        ),
        (&[("settings.yaml", "- a\n")], "settings.yaml", 3, "invalid type: sequence"),
        (&[("settings.yaml", "policy: a\npolicy: b\n")], "settings.yaml", 3, "duplicate"),
    ] {
        let (ended, said) = started(files, settings);
        assert!(ended == Some(code) && said.contains(expected), "{files:?}: {ended:?} {said}");
    }
}
