//! What pages tell people to install is said once, in `docs/versions.yaml`: every other place says the same.
//!
//! A version is held to the file where it is *installed or recommended*, which is told by what stands right before it:
//!
//! - in an image (`adm-controller/policy-server:v…`) or behind a chart (`kubewarden/sbomscanner --version …`), always;
//! - in a sentence, where a product has three numbers behind it (`Kubewarden 1.2.3`) and none of [`HISTORY`] before it.
//!
//! So two numbers (`Kubewarden 1.2`), a version alone (`1.2.3`) and other names (`policy-server 1.2.3`, `kwctl 1.2.3`) speak of what was
//! measured, or of what holds since then, and so does `since Kubewarden 1.2.3`. `BLESS=1` writes every mention anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::root;
use crate::support::transcripts::image_admission;

/// What stands right before a version, and what `docs/versions.yaml` calls it.
const MENTIONS: [(&str, &str); 9] = [
    ("ghcr.io/kubewarden/adm-controller/policy-server:v", "kubewarden"),
    ("Kubewarden ", "kubewarden"),
    ("kubewarden/admission-controller --version ", "admission-controller"),
    ("kubewarden/sbomscanner --version ", "sbomscanner"),
    ("SBOMscanner ", "sbomscanner"),
    ("aqua/trivy-operator --version ", "trivy-operator-chart"),
    ("trivy-operator ", "trivy-operator"),
    ("docker.io/curlimages/curl:", "curl"),
    ("docker.io/curlimages/curl, newName: registry.example.com/tools/curl, newTag: ", "curl"),
];

/// Behind these a product's version is history: when something came, or what it was tried with.
const HISTORY: [&str; 5] = ["since", "before", "until", "from", "with"];

/// Charts in commands: a version elsewhere than right behind the chart would be one that nobody compares.
const CHARTS: [&str; 3] = ["kubewarden/admission-controller", "kubewarden/sbomscanner", "aqua/trivy-operator"];

/// The versions, by what they are of.
type Versions = BTreeMap<String, String>;

fn versions() -> Versions {
    let text = fs::read_to_string(root().join("docs/versions.yaml")).unwrap();
    yaml_serde::from_str(&text).unwrap()
}

/// Finds one kind of mention.
struct Mention {
    before: &'static str,
    name: &'static str,
    is_sentence: bool,
    /// A word of history, if there is one; what stands before the version; the version.
    form: Regex,
}

impl Mention {
    fn all() -> Vec<Self> {
        let history = HISTORY.join("|");
        let of = |(before, name): (&'static str, &'static str)| {
            let is_sentence = before.ends_with(' ') && !before.contains('/');
            let version = if is_sentence { r"[0-9]+\.[0-9]+\.[0-9]+" } else { "[0-9]" };
            let version = format!("{version}(?:[-+.0-9A-Za-z]*[0-9A-Za-z])?");
            let form = format!(r"(?i:\b({history}) )?({})({version})", regex::escape(before));
            Self { before, name, is_sentence, form: Regex::new(&form).unwrap() }
        };
        MENTIONS.into_iter().map(of).collect()
    }
}

/// The text with the versions of the file, and the strays that it had, each with its line.
fn corrected(text: &str, versions: &Versions, mentions: &[Mention]) -> (String, Vec<(usize, String)>) {
    let (mut corrected, mut strays) = (String::new(), Vec::new());
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let mut line = line.to_owned();
        for Mention { before, name, is_sentence, form } in mentions {
            let wanted = &versions[*name];
            let written = form.replace_all(&line, |found: &regex::Captures<'_>| {
                if &found[3] == wanted || *is_sentence && found.get(1).is_some() {
                    return found[0].to_owned();
                }
                strays.push((number, format!("`{before}{}` is no `{wanted}`", &found[3])));
                found[0].replace(&found[3], wanted)
            });
            line = written.into_owned();
        }
        for chart in CHARTS {
            let installed = format!(" {chart}");
            let is_stray = |behind: &str| !behind.starts_with(" --version ") && !behind.starts_with('/');
            if line.split(&installed).skip(1).any(is_stray) {
                strays.push((number, format!("`--version` must stand right behind `{chart}`")));
            }
        }
        corrected.push_str(&line);
    }
    (corrected, strays)
}

/// Where versions are recommended: pages, manifests and examples, and what the command line says.
fn files() -> Vec<PathBuf> {
    let (mut files, mut left) = (Vec::new(), vec![root().join("README.md"), root().join("crates/cli/src")]);
    left.extend(["docs", "deploy", "examples"].map(|folder| root().join(folder)));
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| ["md", "yaml", "rs"].iter().any(|known| extension == *known))
        {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn every_page_names_the_versions_of_the_file() {
    let (versions, mentions) = (versions(), Mention::all());
    let mut all = Vec::new();
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        let (corrected, strays) = corrected(&text, &versions, &mentions);
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        all.extend(strays.iter().map(|(line, problem)| format!("{name}:{line}: {problem}")));
        if corrected != text && std::env::var_os("BLESS").is_some() {
            fs::write(&path, corrected).unwrap();
        }
    }
    assert!(all.is_empty(), "docs/versions.yaml says otherwise; BLESS=1 writes these anew:\n{}", all.join("\n"));
}

/// One that nobody names any more is one that nobody keeps current.
#[test]
fn every_version_of_the_file_is_named() {
    let all: Vec<String> = files().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for (name, version) in versions() {
        let before = MENTIONS.iter().filter(|(_, of)| *of == name).map(|(before, _)| format!("{before}{version}"));
        let mentions: Vec<String> = before.collect();
        assert!(!mentions.is_empty(), "docs/versions.yaml: nobody knows how `{name}` is named");
        assert!(mentions.iter().any(|mention| all.iter().any(|text| text.contains(mention))), "nothing names {name}");
    }
}

#[test]
fn init_writes_the_policy_server_of_the_file() {
    let folder = TempDir::new().unwrap();
    let arguments = "init --scanner none --registries ghcr.io --module ghcr.io/team/policy:v1.0.0 here";
    let outcome = image_admission(folder.path(), &arguments.split(' ').collect::<Vec<_>>(), b"");
    assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""));
    for file in ["here/policy-server.yaml", "here/base/policy-server.yaml"] {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        let server: Value = yaml_serde::from_str(&text).unwrap();
        let image = format!("ghcr.io/kubewarden/adm-controller/policy-server:v{}", versions()["kubewarden"]);
        assert_eq!(server["spec"]["image"], image, "{file}");
    }
}

/// The rule of the module's head, on lines as pages have them.
#[test]
fn a_stray_is_found_and_history_is_none() {
    let versions: Versions = MENTIONS.iter().map(|(_, name)| ((*name).to_owned(), "9.8.7".to_owned())).collect();
    let corrected = |text: &str| corrected(text, &versions, &Mention::all());
    for line in [
        "  image: ghcr.io/kubewarden/adm-controller/policy-server:v1.37.2\n",
        "ghcr.io/kubewarden/adm-controller/policy-server:v1.38.0-rc.1\n",
        "with ghcr.io/kubewarden/adm-controller/policy-server:v1.37.2\n",
        "$ helm install --wait admission-controller kubewarden/admission-controller --version 6.0.2\n",
        "$ helm install --wait sbomscanner kubewarden/sbomscanner --version 0.12.0 \\\n",
        "$ helm install --wait trivy-operator aqua/trivy-operator --version 0.33.x\n",
        "versions that were current in August: Kubewarden 1.37.2, SBOMscanner 9.8.7.\n",
        "If it isn't SBOMscanner 0.12.0, upgrade.\n",
        "| trivy-operator 0.31.1 |\n",
        "  image: docker.io/curlimages/curl:8.15.0\n",
        "#     - {name: docker.io/curlimages/curl, newName: registry.example.com/tools/curl, newTag: 8.15.0}\n",
    ] {
        let (text, strays) = corrected(&format!("first\n{line}"));
        assert_eq!(strays.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2], "{line}");
        assert_eq!(corrected(&text), (text.clone(), Vec::new()), "{line}");
        assert!(text.contains("9.8.7"), "{text}");
    }
    for line in [
        "Seen with kwctl 1.36.0-beta.1 for each.\n",
        "Before 1.37.2 they were named otherwise, since Kubewarden 1.37.2 they aren't.\n",
        "Since Kubewarden 1.37.2 they aren't.\n",
        "Measured on the real `policy-server` 1.36.0-beta.1; seen with SBOMscanner 0.12.0.\n",
        "Kubernetes 1.36, Kubewarden 1.36, two policy servers\n",
        "Kubewarden's SBOMscanner, from v0.10 on by name\n",
        "--policy-server-image registry.example.com/policy-server:v1.36.0\n",
        "$ helm upgrade admission-controller kubewarden/admission-controller --version <yours>\n",
        "  repositories: [{name: kubewarden/sbomscanner/test-assets/golang}]\n",
        "Kubewarden 9.8.7, trivy-operator 9.8.7\n",
    ] {
        assert_eq!(corrected(line), (line.to_owned(), Vec::new()));
    }
    // Where it is corrected by hand, since nobody knows what is meant.
    for line in
        ["$ helm install --version 6.0.2 a kubewarden/admission-controller\n", "$ helm install a aqua/trivy-operator\n"]
    {
        assert_eq!(corrected(line).1.len(), 1, "{line}");
    }
    assert!(
        files().contains(&root().join("deploy/policy-server.yaml")) && files().iter().all(|path| Path::is_file(path))
    );
}
