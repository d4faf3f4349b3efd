//! What Kubewarden and Artifact Hub are told about the policy: `policy-metadata.yml`, and `artifacthub-pkg.yml`, which
//! `.ci/artifacthub-package` makes of it with `kwctl`. The second must be what the first says today, but for the day it was made; and
//! every file that names the version names the same.

use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::support::copy_all;

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

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A copy of what names the version, to change and to check.
struct Copy(TempDir);

impl Copy {
    fn of_the_project() -> Self {
        let copy = Self(tempfile::tempdir().unwrap());
        let files = [
            "Cargo.toml",
            "Cargo.lock",
            "policy-metadata.yml",
            "artifacthub-pkg.yml",
            "install.sh",
            "CHANGELOG.md",
            "README.md",
        ];
        for file in files.iter().chain(&[
            "crates/cli/Cargo.toml",
            "crates/engine/Cargo.toml",
            ".ci",
            "deploy",
            "docs",
            "examples",
        ]) {
            copy_all(&path(file), &copy.0.path().join(file));
        }
        copy
    }

    /// Writes `to` for the first `from` of a file.
    fn with(self, file: &str, from: &str, to: &str) -> Self {
        let place = self.0.path().join(file);
        let text = fs::read_to_string(&place).unwrap();
        assert!(text.contains(from), "{file}: `{from}`");
        fs::write(place, text.replacen(from, to, 1)).unwrap();
        self
    }

    /// As it is when it is released.
    fn released(self) -> Self {
        let heading = format!("## {VERSION}");
        let text = fs::read_to_string(self.0.path().join("CHANGELOG.md")).unwrap();
        if text.contains(&format!("{heading}\n")) {
            return self;
        }
        self.with("CHANGELOG.md", &format!("## Unreleased ({VERSION})"), &heading)
    }

    /// What there is to say of the versions, with a tag or without.
    fn check(&self, tag: Option<&str>) -> Result<(), String> {
        check_versions(self.0.path(), tag)
    }
}

/// What `make version-check` does.
fn check_versions(project: &Path, tag: Option<&str>) -> Result<(), String> {
    let mut check = Command::new(project.join(".ci/version-check"));
    match tag {
        Some(tag) => check.env("TAG", tag),
        None => check.env_remove("TAG"),
    };
    let output = check.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(()) } else { Err(said) }
}

#[test]
fn the_version_is_one() {
    let metadata = read("policy-metadata.yml");
    assert_eq!(annotation(&metadata, "io.kubewarden.policy.version"), VERSION);
    assert_eq!(check_versions(&path(""), None), Ok(()));
}

#[test]
fn a_file_of_another_version_is_named_with_what_it_says() {
    let tag = format!("image-admission:v{VERSION}");
    let (workspace, heading) = (format!("version = \"{VERSION}\""), format!("## Unreleased ({VERSION})"));
    for (file, from, to, said) in [
        (
            "crates/cli/Cargo.toml",
            "version.workspace = true",
            "version = \"9.9.9\"",
            "the package's version is `9.9.9`",
        ),
        ("crates/engine/Cargo.toml", "version.workspace = true", "", "the package's version is missing"),
        (
            "Cargo.lock",
            "name = \"image-admission-cli\"\nversion = \"",
            "name = \"image-admission-cli\"\nversion = \"9",
            "is `9",
        ),
        ("policy-metadata.yml", "policy.version: ", "policy.version: 9", "io.kubewarden.policy.version is `9"),
        ("install.sh", "\nVERSION=", "\nVERSION=9", "the version that it installs is `9"),
        ("artifacthub-pkg.yml", "\nversion: ", "\nversion: 9", "the package's version is `9"),
        (
            "artifacthub-pkg.yml",
            "kwctl pull registry.example.com/image-admission:v",
            "kwctl pull registry.example.com/image-admission:v9",
            "the module's tag is `9",
        ),
        ("CHANGELOG.md", heading.as_str(), "## Unreleased (9.9.9)", "the first heading is `## Unreleased (9.9.9)`"),
        ("README.md", tag.as_str(), "image-admission:v9.9.9", "the module's tag is `9.9.9`"),
        ("README.md", tag.as_str(), "image-admission:latest", "the module's tag is missing"),
        ("deploy/cluster-admission-policy.yaml", tag.as_str(), "image-admission:v9.9.9", "the module's tag is `9.9.9`"),
        (
            "examples/overlay-trivy-operator/policy.yaml",
            tag.as_str(),
            "image-admission:v9.9.9-rc.1",
            "the module's tag is `9.9.9-rc.1`",
        ),
        ("docs/rollback.md", tag.as_str(), "image-admission:v9.9.9", "the module's tag is `9.9.9`"),
    ] {
        let problem = Copy::of_the_project().with(file, from, to).check(None).unwrap_err();
        assert!(problem.starts_with(&format!("{file}: ")) && problem.contains(said), "{file}: {problem}");
        assert_eq!(problem.lines().count(), 1, "{file}: {problem}");
    }
    // Of the workspace all others are compared with it.
    let problem = Copy::of_the_project().with("Cargo.toml", &workspace, "version = \"9.9.9\"").check(None).unwrap_err();
    assert!(
        problem.contains(&format!(
            "policy-metadata.yml: io.kubewarden.policy.version is `{VERSION}`, and the version is `9.9.9`"
        )),
        "{problem}"
    );
}

#[test]
fn a_tag_is_that_of_every_file_or_no_release_is_made() {
    let tag = format!("v{VERSION}");
    let released = Copy::of_the_project().released();
    assert_eq!(released.check(Some(&tag)), Ok(()));
    // After the release, and before anything is new.
    assert_eq!(released.check(None), Ok(()));
    let problem = released.check(Some("v9.9.9")).unwrap_err();
    for file in [
        "Cargo.toml: the workspace's version",
        "crates/cli/Cargo.toml: the package's version",
        "crates/engine/Cargo.toml: the package's version",
        "Cargo.lock: the version of a package of this workspace",
        "policy-metadata.yml: io.kubewarden.policy.version",
        "install.sh: the version that it installs",
        "artifacthub-pkg.yml: the package's version",
        "README.md: the module's tag",
        "deploy/cluster-admission-policy.yaml: the module's tag",
    ] {
        assert!(problem.contains(&format!("{file} is `{VERSION}`, and the version is `9.9.9`\n")), "{file}: {problem}");
    }
    assert!(
        problem.contains(&format!("CHANGELOG.md: the first heading is `## {VERSION}`, and should be `## 9.9.9`\n")),
        "{problem}"
    );
    let unreleased = Copy::of_the_project().with("CHANGELOG.md", "## ", "## Unreleased of ");
    assert!(
        unreleased.check(Some(&tag)).unwrap_err().starts_with("CHANGELOG.md: the first heading is `## Unreleased of ")
    );
    for tag in [VERSION, "v1", "v1.2", &format!("v{VERSION}-rc.1"), "v1.2.3; true", "refs/tags/v1.2.3"] {
        let problem = released.check(Some(tag)).unwrap_err();
        assert!(problem.starts_with(&format!("the tag `{tag}` is none of a release")), "{problem}");
    }
}

/// Who is told to be asked is one.
#[test]
fn the_owner_is_one() {
    let author = annotation(&read("policy-metadata.yml"), "io.kubewarden.policy.author");
    let owner = &read("artifacthub-repo.yml")["owners"][0];
    assert_eq!(author, format!("{} <{}>", owner["name"].as_str().unwrap(), owner["email"].as_str().unwrap()));
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

/// The one chart that there is since Kubewarden 1.37.
const CHART: &str = "https://artifacthub.io/packages/helm/kubewarden/admission-controller";

/// What `make artifacthub-pkg.yml` makes with this `kwctl`; None where there is no such program.
fn made_with(kwctl: &Path) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("artifacthub-pkg.yml");
    let output = Command::new(path(".ci/artifacthub-package")).arg(&package).env("KWCTL", kwctl).output().unwrap();
    if output.status.code() == Some(127) {
        return None;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(yaml_serde::from_str(&fs::read_to_string(package).unwrap()).unwrap())
}

#[test]
fn the_package_is_what_kwctl_makes() {
    let kwctl = env::var_os("KWCTL").unwrap_or_else(|| "kwctl".into());
    match made_with(Path::new(&kwctl)) {
        Some(made) => {
            assert_eq!(undated(read("artifacthub-pkg.yml")), undated(made), "run `make artifacthub-pkg.yml`");
        }
        None if env::var_os("KWCTL").is_none() => {
            // Past the test runner's capture: a skipped check says so.
            let _ = writeln!(
                io::stderr(),
                "SKIPPED: comparing artifacthub-pkg.yml with what kwctl makes needs kwctl on PATH or in KWCTL"
            );
        }
        None => panic!("`{}` can't be run", kwctl.display()),
    }
}

/// The charts that kwctl recommended before are deprecated.
#[test]
fn the_package_recommends_the_chart_that_is_installed() {
    assert_eq!(read("artifacthub-pkg.yml")["recommendations"], json!([{"url": CHART}]));
}

/// Whatever a version of kwctl recommends, and if it recommends nothing.
#[test]
fn the_recommendation_is_ours() {
    let controller = "- url: https://artifacthub.io/packages/helm/kubewarden/kubewarden-controller\n";
    let folder = tempfile::tempdir().unwrap();
    let kwctl = folder.path().join("kwctl");
    for recommended in [
        format!("recommendations:\n{controller}"),
        format!("recommendations:\n{controller}{controller}"),
        format!("recommendations:\n  {controller}"),
        "recommendations: []\n".to_owned(),
        format!("recommendations:\n- url: {CHART}\n"),
        String::new(),
    ] {
        let package = format!("version: 1.2.3\n{recommended}annotations:\n  a: |\n    recommendations:\n    - b\n");
        let write = "while [ \"$1\" != --output ]; do shift; done\ncat >\"$2\"";
        fs::write(&kwctl, format!("#!/bin/sh\n{write} <<'END'\n{package}END\n")).unwrap();
        fs::set_permissions(&kwctl, fs::Permissions::from_mode(0o755)).unwrap();
        let wanted = json!({
            "version": "1.2.3", "recommendations": [{"url": CHART}], "annotations": {"a": "recommendations:\n- b\n"},
        });
        assert_eq!(made_with(&kwctl), Some(wanted), "{recommended}");
    }
    // What kwctl can't make isn't half made.
    fs::write(&kwctl, "#!/bin/sh\nexit 1\n").unwrap();
    let none = folder.path().join("none");
    let output = Command::new(path(".ci/artifacthub-package")).arg(&none).env("KWCTL", &kwctl).output().unwrap();
    assert!(!output.status.success() && !none.exists());
}
