//! `.ci/cargo`, by which every target of the Makefile runs cargo: what is missing on a machine is added, or named. The
//! machines here are folders with stand-ins for rustup, rustc and cargo; `.ci/run` does the same with the real ones.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// What `.ci/cargo` itself needs of a system.
const SYSTEM: [&str; 6] = ["bash", "sed", "sort", "head", "dirname", "mkdir"];

/// rustup: toolchains are files in `toolchains` that hold their version, and what is added is noted.
const RUSTUP: &str = r#"echo "rustup $*" >>"$MACHINE/log"
[ "$1" = --quiet ] && shift
case "$1 $2" in
"toolchain list") for file in "$MACHINE"/toolchains/*; do echo "${file##*/} (installed)"; done ;;
"toolchain install") echo "${6:-$5}.0" >"$MACHINE/toolchains/${6:-$5}" ;;
"target add") mkdir -p "$MACHINE/lib/rustlib/$3/lib" ;;
"component add") : >"$MACHINE/component" ;;
*) exit 9 ;;
esac"#;

/// rustc, which answers as the toolchain in use does, and fails where that isn't installed.
const RUSTC: &str = r#"case $1 in
--version) read -r version <"$MACHINE/toolchains/${RUSTUP_TOOLCHAIN:-default}" && echo "rustc $version (0 2026-01-01)" ;;
--print) echo "$MACHINE" ;;
esac"#;

const CARGO: &str = r#"echo "cargo ${RUSTUP_TOOLCHAIN:-default}: $*${RUSTC_WORKSPACE_WRAPPER:+, compiled by $RUSTC_WORKSPACE_WRAPPER}" >>"$MACHINE/log""#;

/// A component that is there once it was added.
const COMPONENT: &str = r#"[ -e "$MACHINE/component" ]"#;

struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new(programs: &[(&str, &str)], toolchains: &[(&str, &str)]) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        for folder in ["bin", "toolchains", "lib/rustlib"] {
            fs::create_dir_all(machine.path(folder)).unwrap();
        }
        for tool in SYSTEM {
            let found = std::env::var_os("PATH").unwrap();
            let found = std::env::split_paths(&found).map(|folder| folder.join(tool)).find(|file| file.exists());
            symlink(found.unwrap(), machine.path("bin").join(tool)).unwrap();
        }
        for (name, script) in programs.iter().chain([&("cc", "")]) {
            let file = machine.path("bin").join(name);
            fs::write(&file, format!("#!{}\n{script}\n", machine.path("bin/bash").display())).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        for (name, version) in toolchains {
            fs::write(machine.path("toolchains").join(name), format!("{version}\n")).unwrap();
        }
        machine
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Whether it went well, what it said, and what it called.
    fn runs(&self, toolchain: Option<&str>, arguments: &[&str]) -> (bool, String, String) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/cargo");
        let mut command = Command::new(self.path("bin/bash"));
        command
            .arg(script)
            .args(arguments)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("MACHINE", self.folder.path());
        if let Some(toolchain) = toolchain {
            command.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        let output = command.env("RUSTUP_AUTO_INSTALL", "0").output().unwrap();
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        drop(fs::remove_file(self.path("log")));
        (output.status.success(), String::from_utf8(output.stderr).unwrap(), log)
    }
}

const ALL: [(&str, &str); 5] =
    [("rustup", RUSTUP), ("rustc", RUSTC), ("cargo", CARGO), ("rustfmt", COMPONENT), ("cargo-clippy", COMPONENT)];
const BUILD: [&str; 3] = ["build", "--target", "wasm32-wasip1"];

#[test]
fn a_target_is_added_once_and_said() {
    let machine = Machine::new(&ALL, &[("default", "1.95.0")]);
    let (ok, said, log) = machine.runs(None, &BUILD);
    assert!(ok, "{said}");
    assert_eq!(said, "adding the target wasm32-wasip1 (rustup target add)\n");
    assert_eq!(log, "rustup --quiet target add wasm32-wasip1\ncargo default: build --target wasm32-wasip1\n");
    assert_eq!(
        machine.runs(None, &BUILD),
        (true, String::new(), "cargo default: build --target wasm32-wasip1\n".to_owned())
    );
    // An argument of the program that cargo runs is no target of cargo's.
    let (ok, said, _) = machine.runs(None, &["run", "--", "--target", "x"]);
    assert!(ok && said.is_empty(), "{said}");
}

#[test]
fn components_are_added_for_the_commands_that_need_them() {
    for (arguments, component, called) in [
        (["fmt", "--all"], "rustfmt", "cargo default: fmt --all"),
        (["lint", "test"], "clippy", "cargo default: test, compiled by clippy-driver"),
    ] {
        let machine = Machine::new(&ALL, &[("default", "1.95.0")]);
        let (ok, said, log) = machine.runs(None, &arguments);
        assert!(ok, "{said}");
        assert_eq!(said, format!("adding the component {component} (rustup component add)\n"));
        assert_eq!(log, format!("rustup --quiet component add {component}\n{called}\n"));
    }
}

#[test]
fn the_first_toolchain_that_is_new_enough_serves() {
    let build =
        |toolchains: &[(&str, &str)], chosen: Option<&str>| Machine::new(&ALL, toolchains).runs(chosen, &["build"]);
    let last = |log: &str| log.lines().last().unwrap().to_owned();
    // rustup's own choice, an installed one that is newer, a nightly never, and at last the oldest that will do.
    for (toolchains, expected) in [
        (vec![("default", "1.95.0"), ("stable", "1.99.0")], "cargo default: build"),
        (vec![("default", "1.100.1")], "cargo default: build"),
        (vec![("default", "1.94.9"), ("stable", "1.99.0")], "cargo stable: build"),
        (vec![("1.80.0", "1.80.0"), ("1.96.0-x", "1.96.0")], "cargo 1.96.0-x: build"),
        (vec![("default", "1.94.9"), ("nightly-x", "1.99.0")], "cargo 1.95: build"),
        (vec![], "cargo 1.95: build"),
    ] {
        let (ok, said, log) = build(&toolchains, None);
        assert!(ok, "{toolchains:?}: {said}");
        assert_eq!(last(&log), expected, "{toolchains:?}");
        assert_eq!(said.contains("installing Rust 1.95 "), expected.contains(" 1.95:"), "{said}");
    }
    let (ok, said, log) = build(&[("default", "1.99.0")], Some("1.96"));
    assert!(ok && said == "installing Rust 1.96 (rustup toolchain install)\n", "{said}");
    assert_eq!(last(&log), "cargo 1.96: build");
    let (ok, said, _) = build(&[("default", "1.99.0"), ("1.90", "1.90.0")], Some("1.90"));
    assert!(!ok && said.contains("`1.90`, which RUSTUP_TOOLCHAIN names, is older than Rust 1.95"), "{said}");
}

#[test]
fn what_cant_be_added_is_named_with_the_way_to_get_it() {
    let without = |left_out: &[&str], version: &str, arguments: &[&str]| {
        let there: Vec<_> = ALL.into_iter().filter(|(name, _)| !left_out.contains(name)).collect();
        let (ok, said, _) = Machine::new(&there, &[("default", version)]).runs(None, arguments);
        assert!(!ok, "{said}");
        said
    };
    assert_eq!(
        without(&["rustup", "rustc", "cargo"], "1.95.0", &BUILD),
        "Rust is missing: install rustup (https://rustup.rs), and run this again\n"
    );
    assert!(
        without(&["rustup"], "1.94.0", &BUILD)
            .starts_with("Rust 1.94.0 is older than 1.95, which this needs: install rustup")
    );
    assert!(
        without(&["rustup"], "1.95.0", &BUILD)
            .starts_with("the target `wasm32-wasip1` is missing, and this Rust isn't rustup's")
    );
    assert!(
        without(&["rustup", "rustfmt"], "1.95.0", &["fmt"])
            .starts_with("`rustfmt` is missing, and this Rust isn't rustup's")
    );
    assert!(
        without(&[], "1.95.0", &["build", "--target", "x86_64-unknown-linux-musl"])
            .starts_with("musl's C compiler is missing, which `x86_64-unknown-linux-musl` needs: install it (Debian: ")
    );
    let machine = Machine::new(&ALL, &[("default", "1.95.0")]);
    fs::remove_file(machine.path("bin/cc")).unwrap();
    let (ok, said, _) = machine.runs(None, &BUILD);
    assert!(!ok && said.starts_with("a C compiler is missing"), "{said}");
}
