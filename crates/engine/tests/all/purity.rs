//! The ban on I/O of all that decides is a lint that fails the build: shown on a crate with the same `clippy.toml` and the same
//! `deny`, in which each function does something that such a crate must not.

#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "the ban is the engine's, this is its test")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The crates that do no I/O: the engine, what it is made of, and `explain`.
const PURE: [&str; 11] = [
    "untrusted",
    "cel",
    "image",
    "scan-report",
    "settings",
    "host",
    "rego",
    "judgement",
    "engine",
    "explain",
    "companion",
];

/// What is tried, and what clippy must say of it.
const ATTEMPTS: [(&str, &str); 11] = [
    ("pub fn f() -> bool { std::fs::read(\"/etc/passwd\").is_ok() }", "std::fs::read"),
    ("pub fn f() -> bool { std::fs::File::open(\"/etc/passwd\").is_ok() }", "std::fs::File"),
    ("pub fn f() -> bool { std::path::Path::new(\"/\").exists() }", "std::path::Path::exists"),
    ("pub fn f() -> bool { std::env::var(\"HOME\").is_ok() }", "std::env::var"),
    ("pub fn f() -> bool { std::net::TcpStream::connect(\"localhost:1\").is_ok() }", "std::net::TcpStream"),
    ("pub fn f() -> bool { std::time::SystemTime::now().elapsed().is_ok() }", "std::time::SystemTime"),
    ("pub fn f() -> bool { std::time::Instant::now().elapsed().is_zero() }", "std::time::Instant"),
    ("pub fn f() -> bool { std::process::Command::new(\"true\").status().is_ok() }", "std::process::Command"),
    ("pub fn f() -> bool { std::thread::spawn(|| ()).join().is_ok() }", "std::thread::spawn"),
    ("pub fn f() -> bool { println!(\"x\"); true }", "std::println"),
    ("pub fn f() -> bool { std::collections::HashMap::<u8, u8>::new().is_empty() }", "std::collections::HashMap"),
];

#[test]
fn doing_io_fails_the_lint() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bans: BTreeSet<String> = PURE
        .iter()
        .map(|name| {
            let library = std::fs::read_to_string(crates.join(name).join("src/lib.rs")).unwrap();
            assert!(!crates.join(name).join("clippy.toml").exists(), "`{name}` has a list of its own");
            let ban = library.lines().find(|line| line.starts_with("#![deny(clippy::disallowed_"));
            ban.unwrap_or_else(|| panic!("`{name}` bans nothing")).to_owned()
        })
        .collect();
    assert_eq!(bans.len(), 1, "{bans:?}");
    let ban = bans.into_iter().next().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("purity");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::copy(crates.join("clippy.toml"), folder.join("clippy.toml")).unwrap();
    std::fs::write(
        folder.join("Cargo.toml"),
        "[package]\nname = \"purity\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n",
    )
    .unwrap();
    let attempts =
        ATTEMPTS.iter().enumerate().map(|(number, (attempt, _))| attempt.replace("fn f(", &format!("fn f{number}(")));
    let lint = |body: &str| {
        std::fs::write(folder.join("src/lib.rs"), format!("{ban}\n{body}\n")).unwrap();
        let mut clippy = Command::new(env!("CARGO"));
        clippy
            .args(["clippy", "--quiet", "--offline"])
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", folder.join("target"));
        let output = clippy.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (passes, errors) = lint("pub fn f() -> bool { true }");
    assert!(passes, "a pure crate must pass: {errors}");
    let (passes, errors) = lint(&attempts.collect::<Vec<_>>().join("\n"));
    assert!(!passes, "the lint lets everything pass");
    // What clippy says of a line has the line in it: the ban stands in the first.
    for (number, (attempt, what)) in ATTEMPTS.iter().enumerate() {
        let of_line = errors.split("\n\n").filter(|error| error.contains(&format!("src/lib.rs:{}:", number + 2)));
        let of_line: Vec<&str> = of_line.collect();
        assert!(
            of_line.iter().any(|error| error.contains("disallowed") && error.contains(what)),
            "{attempt}: {of_line:?}"
        );
    }
}
