//! What Kubewarden and Artifact Hub are told about the policy: `policy-metadata.yml`, and `artifacthub-pkg.yml`, which
//! `kwctl scaffold artifacthub` makes of it. The second must be what the first says today, but for the day it was made.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "in tests a panic is a failure")]

use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::Command;

fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file)
}

fn read(file: &str) -> Value {
    yaml_serde::from_str(&fs::read_to_string(path(file)).unwrap()).unwrap()
}

fn annotation(metadata: &Value, key: &str) -> String {
    let Some(text) = metadata["annotations"][key].as_str() else { panic!("policy-metadata.yml: `{key}` is missing") };
    text.to_owned()
}

/// Without the day it was made.
fn undated(mut package: Value) -> Value {
    assert!(package.as_object_mut().unwrap().remove("createdAt").is_some());
    package
}

#[test]
fn the_version_is_one() {
    let metadata = read("policy-metadata.yml");
    assert_eq!(annotation(&metadata, "io.kubewarden.policy.version"), env!("CARGO_PKG_VERSION"));
}

/// What is wrong here makes `kwctl`, the audit scanner or Artifact Hub refuse it, or show nothing.
#[test]
fn the_annotations_are_all_there() {
    let metadata = read("policy-metadata.yml");
    for key in ["title", "version", "description", "author", "ociUrl", "license", "severity", "category"] {
        assert!(!annotation(&metadata, &format!("io.kubewarden.policy.{key}")).is_empty(), "{key}");
    }
    for key in ["displayName", "resources", "keywords"] {
        assert!(!annotation(&metadata, &format!("io.artifacthub.{key}")).is_empty(), "{key}");
    }
    let severity = annotation(&metadata, "io.kubewarden.policy.severity");
    assert!(["info", "low", "medium", "high", "critical"].contains(&severity.as_str()), "`{severity}`");
    assert_eq!(annotation(&metadata, "io.kubewarden.policy.license"), "Apache-2.0");
    let url = annotation(&metadata, "io.kubewarden.policy.ociUrl");
    assert!(url == url.to_lowercase() && !url.contains("://"), "`{url}` is followed by a tag, and must be a reference");
}

/// The fields that come from the metadata; the next test compares all of it, where `kwctl` is there.
#[test]
fn the_package_says_what_the_metadata_says() {
    let (metadata, package) = (read("policy-metadata.yml"), read("artifacthub-pkg.yml"));
    let policy = |key: &str| annotation(&metadata, &format!("io.kubewarden.policy.{key}"));
    let hub = |key: &str| annotation(&metadata, &format!("io.artifacthub.{key}"));
    let image = format!("{}:v{}", policy("ociUrl"), policy("version"));
    let author = policy("author");
    let (name, email) = author.strip_suffix('>').and_then(|author| author.split_once(" <")).unwrap();
    let keywords: Vec<String> = hub("keywords").split(',').map(|word| word.trim().to_owned()).collect();
    for (field, wanted) in [
        ("/name", json!(policy("title"))),
        ("/version", json!(policy("version"))),
        ("/displayName", json!(hub("displayName"))),
        ("/description", json!(policy("description"))),
        ("/license", json!(policy("license"))),
        ("/keywords", json!(keywords)),
        ("/containersImages", json!([{"name": "policy", "image": image}])),
        ("/maintainers", json!([{"name": name, "email": email}])),
        ("/annotations/kubewarden~1mutation", json!(metadata["mutating"].to_string())),
        ("/annotations/kubewarden~1resources", json!(hub("resources"))),
    ] {
        assert_eq!(package.pointer(field), Some(&wanted), "{field}: run `make artifacthub-pkg.yml`");
    }
    assert!(package["install"].as_str().unwrap().contains(&format!("kwctl pull {image}\n")));
    // Documents in a text, whose order is kwctl's.
    let document =
        |key: &str| -> Value { yaml_serde::from_str(package["annotations"][key].as_str().unwrap()).unwrap() };
    assert_eq!(document("kubewarden/rules"), metadata["rules"]);
    assert_eq!(document("kubewarden/questions-ui"), read("questions-ui.yml"));
    let sorted = |list: &Value| {
        let mut kinds: Vec<String> = list.as_array().unwrap().iter().map(Value::to_string).collect();
        kinds.sort();
        kinds
    };
    assert_eq!(sorted(&document("kubewarden/contextAwareResources")), sorted(&metadata["contextAwareResources"]));
}

#[test]
fn the_package_is_what_kwctl_makes() {
    let kwctl = env::var_os("KWCTL").unwrap_or_else(|| "kwctl".into());
    let mut command = Command::new(&kwctl);
    command.args(["scaffold", "artifacthub", "--metadata-path"]).arg(path("policy-metadata.yml"));
    let run = command.arg("--questions-path").arg(path("questions-ui.yml")).output();
    let output = match run {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound && env::var_os("KWCTL").is_none() => {
            // Past the test runner's capture: a skipped check says so.
            let _ = writeln!(
                io::stderr(),
                "SKIPPED: comparing artifacthub-pkg.yml with what kwctl makes needs kwctl on PATH or in KWCTL"
            );
            return;
        }
        Err(error) => panic!("`{}` can't be run: {error}", kwctl.display()),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let made: Value = yaml_serde::from_str(&String::from_utf8(output.stdout).unwrap()).unwrap();
    assert_eq!(undated(read("artifacthub-pkg.yml")), undated(made), "run `make artifacthub-pkg.yml`");
}
