//! The workflows of CI and of releases, as far as they can be judged without running them: what they run exists, is pinned,
//! ends, and has no more rights than it needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

const CI: &str = ".github/workflows/ci.yml";
const RELEASE: &str = ".github/workflows/release.yml";

fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(file)
}

fn text(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

fn read(file: &str) -> Value {
    yaml_serde::from_str(&text(file)).unwrap()
}

/// Every workflow there is.
fn workflows() -> BTreeSet<String> {
    let files = fs::read_dir(path(".github/workflows")).unwrap();
    let names = files.map(|file| format!(".github/workflows/{}", file.unwrap().file_name().into_string().unwrap()));
    let found: BTreeSet<String> = names.collect();
    assert!(found.contains(CI) && found.contains(RELEASE), "{found:?}");
    found
}

fn jobs(workflow: &Value) -> &Map<String, Value> {
    workflow["jobs"].as_object().unwrap()
}

fn steps(job: &Value) -> &[Value] {
    job["steps"].as_array().map_or(&[], Vec::as_slice)
}

/// Every job of every workflow.
fn for_each_job(mut judge: impl FnMut(&str, &Value)) {
    for file in workflows() {
        for (name, job) in jobs(&read(&file)) {
            judge(&format!("{file}: {name}"), job);
        }
    }
}

fn rights(job: &Value) -> BTreeMap<&str, &str> {
    let Some(rights) = job["permissions"].as_object() else { return BTreeMap::new() };
    rights.iter().map(|(name, right)| (name.as_str(), right.as_str().unwrap())).collect()
}

#[test]
fn actions_are_pinned_by_a_digest_that_has_its_version_beside_it() {
    let uses = Regex::new(r"^\s*(?:- )?uses: (.*)$").unwrap();
    let pinned = Regex::new(r"^([\w.-]+/[\w.-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$").unwrap();
    let mut found: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for file in workflows() {
        let mut lines = 0;
        for line in text(&file).lines() {
            let Some(used) = uses.captures(line).map(|used| used[1].to_owned()) else { continue };
            lines += 1;
            if let Some(own) = used.strip_prefix("./") {
                assert!(path(own).exists(), "{file}: {used}");
                continue;
            }
            let Some(parts) = pinned.captures(&used) else { panic!("{file}: `{used}` is not pinned") };
            found.entry(parts[1].to_owned()).or_default().insert((parts[2].to_owned(), parts[3].to_owned()));
        }
        let used = |part: &Value| usize::from(part.get("uses").is_some());
        let all: usize =
            jobs(&read(&file)).values().map(|job| used(job) + steps(job).iter().map(used).sum::<usize>()).sum();
        assert_eq!(lines, all, "{file}: an action stands where this test doesn't look");
    }
    assert!(found.contains_key("actions/checkout"), "{found:?}");
    for (action, versions) in found {
        assert_eq!(versions.len(), 1, "{action} is there in several versions: {versions:?}");
    }
}

#[test]
fn everything_ends() {
    for_each_job(|name, job| {
        if job.get("uses").is_some() {
            // The called workflow's jobs have their own.
            return;
        }
        let most = job["timeout-minutes"].as_u64().unwrap_or_else(|| panic!("{name} has no timeout"));
        assert!(!steps(job).is_empty(), "{name}");
        for step in steps(job) {
            let minutes = step["timeout-minutes"].as_u64();
            assert!(minutes.is_some_and(|minutes| minutes <= most), "{name}, {}: {minutes:?} minutes", step["name"]);
        }
    });
}

#[test]
fn jobs_have_the_rights_that_they_name_and_one_can_sign() {
    let mut who_can_write: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in workflows() {
        let workflow = read(&file);
        assert_eq!(workflow["permissions"], json!({}), "{file}");
        assert!(workflow["concurrency"]["group"].is_string(), "{file}");
        // With it a script ends at the first command that fails, in a pipe too.
        assert_eq!(workflow["defaults"]["run"]["shell"], "bash", "{file}");
    }
    for_each_job(|name, job| {
        assert!(rights(job).contains_key("contents"), "{name}: say what it may");
        for (right, _) in rights(job).into_iter().filter(|(_, granted)| *granted != "read") {
            let right =
                ["attestations", "id-token", "packages", "contents"].into_iter().find(|known| *known == right).unwrap();
            who_can_write.entry(right).or_default().push(name.to_owned());
        }
        for checkout in steps(job)
            .iter()
            .filter(|step| step["uses"].as_str().is_some_and(|used| used.starts_with("actions/checkout@")))
        {
            let keeps = checkout["with"]["persist-credentials"].as_bool();
            let pushes = [": artifacthub", ": site"].iter().any(|job| name.ends_with(job));
            assert_eq!(keeps, Some(pushes), "{name} keeps credentials on disk");
        }
    });
    let of = |jobs: &[&str]| jobs.iter().map(|job| format!("{RELEASE}: {job}")).collect::<Vec<_>>();
    let wanted = [
        ("attestations", of(&["publish"])),
        ("contents", of(&["artifacthub", "release", "site"])),
        ("id-token", of(&["publish"])),
        ("packages", of(&["publish"])),
    ];
    for jobs in who_can_write.values_mut() {
        jobs.sort();
    }
    assert_eq!(who_can_write, BTreeMap::from(wanted));
}

/// Neither by name, nor all of them as `secrets: inherit` or `toJSON(secrets)`.
#[test]
fn no_job_has_a_secret_beside_the_own_token() {
    let secrets = Regex::new(r"(?i)\bsecrets\b\S*").unwrap();
    let mut seen = 0;
    for file in workflows() {
        for found in secrets.find_iter(&text(&file)) {
            assert_eq!(found.as_str(), "secrets.GITHUB_TOKEN", "{file}");
            seen += 1;
        }
    }
    assert!(seen > 0, "how does it log in at the registry?");
}

/// A branch or a tag may have any text in its name: as part of a script it would run.
#[test]
fn no_expression_is_part_of_a_script() {
    let mut scripts = 0;
    for_each_job(|name, job| {
        for script in steps(job).iter().filter_map(|step| step["run"].as_str()) {
            scripts += 1;
            assert!(!script.contains("${{"), "{name}: {script}");
        }
    });
    assert!(scripts > 10, "{scripts}");
}

/// A word of a script, with each platform of the job for `$PLATFORM`.
fn on_each_platform(job: &Value, word: &str) -> Vec<String> {
    let platforms = job["strategy"]["matrix"]["include"].as_array().map_or(&[][..], Vec::as_slice);
    if !word.contains("$PLATFORM") {
        return vec![word.to_owned()];
    }
    assert_eq!(job["env"]["PLATFORM"], "${{ matrix.platform }}");
    platforms.iter().map(|row| word.replace("$PLATFORM", row["platform"].as_str().unwrap())).collect()
}

#[test]
fn what_scripts_call_exists() {
    let makefile = text("Makefile");
    let target = Regex::new(r"(?m)^([a-z][\w.-]*):(?:[^=]|$)").unwrap();
    let targets: BTreeSet<String> = target.captures_iter(&makefile).map(|found| found[1].to_owned()).collect();
    let make = Regex::new(r"\bmake((?: [^\s|;&)>]+)+)").unwrap();
    let script = Regex::new(r"(?m)(?:^|\s)(\.ci/[\w-]+)").unwrap();
    let (mut made, mut called) = (BTreeSet::new(), BTreeSet::new());
    for_each_job(|name, job| {
        for run in steps(job).iter().filter_map(|step| step["run"].as_str()) {
            for words in make.captures_iter(run) {
                for word in words[1].split_whitespace().filter(|word| !word.starts_with('-')) {
                    for target in on_each_platform(job, word.trim_matches('"')) {
                        assert!(targets.contains(&target), "{name}: `make {target}`");
                        made.insert(target);
                    }
                }
            }
            for found in script.captures_iter(run) {
                called.insert(found[1].to_owned());
            }
        }
    });
    let expected = [
        "annotated-policy.wasm",
        "artifacthub",
        "e2e-tests",
        "image-admission-darwin-amd64",
        "image-admission-darwin-arm64",
        "image-admission-linux-amd64",
        "image-admission-linux-arm64",
        "policy.wasm.sha256",
        "push",
        "push-image",
        "release-notes",
        "sbom",
        "site",
        "version-check",
    ];
    assert_eq!(made, expected.into_iter().map(str::to_owned).collect());
    let scripts = [".ci/artifacthub-branch", ".ci/install", ".ci/run", ".ci/site-branch"];
    assert_eq!(called, scripts.into_iter().map(str::to_owned).collect());
    // Each of them is a script that bash can read.
    for file in fs::read_dir(path(".ci")).unwrap() {
        let file = file.unwrap().path();
        assert!(Command::new("bash").arg("-n").arg(&file).status().unwrap().success(), "{}", file.display());
        assert!(Command::new("test").arg("-x").arg(&file).status().unwrap().success(), "{}", file.display());
    }
}

/// A folder with programs in the place of those that `.ci/install` calls, and what it installs.
struct Installation {
    folder: TempDir,
}

impl Installation {
    fn new() -> Self {
        let installation = Self { folder: TempDir::new().unwrap() };
        installation.program(
            "curl",
            r#"while [ "$1" != --output ]; do shift; done
cp "$DOWNLOADED" "$2""#,
        );
        installation.program(
            "unzip",
            r#"printf '#!/bin/sh\necho kwctl\n' >"$4/kwctl-linux-x86_64"
touch "$4/kwctl-linux-x86_64.bundle.sigstore""#,
        );
        installation
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::create_dir_all(self.path("bin")).unwrap();
        fs::write(&path, format!("#!/usr/bin/env bash\nset -eu\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Whether it ends well, and the tool is there.
    fn install(&self, tool: &str, downloaded: &Path) -> (bool, bool) {
        let programs = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut install = Command::new(path(".ci/install"));
        install.arg(tool).env("PATH", programs).env("INSTALL_FOLDER", self.path("installed"));
        install.env("DOWNLOADED", downloaded).env("SAID", self.path("said")).env_remove("GITHUB_PATH");
        let output = install.output().unwrap();
        (output.status.success(), self.path("installed").join(tool).exists())
    }
}

#[test]
fn kwctl_is_installed_if_its_own_workflow_released_it() {
    let script = text(".ci/install");
    let version = Regex::new(r"(?m)^KWCTL_VERSION=(v\S+)$").unwrap().captures(&script).unwrap()[1].to_owned();
    let installation = Installation::new();
    let downloaded = installation.path("kwctl.zip");
    fs::write(&downloaded, "").unwrap();
    installation.program("cosign", "exit 1");
    assert_eq!(installation.install("kwctl", &downloaded), (false, false));
    installation.program("cosign", r#"printf '%s\n' "$@" >"$SAID"; cat "${@: -1}" >>"$SAID""#);
    assert_eq!(installation.install("kwctl", &downloaded), (true, true));
    let said = fs::read_to_string(installation.path("said")).unwrap();
    let identity =
        format!("https://github.com/kubewarden/adm-controller/.github/workflows/build-kwctl.yml@refs/tags/{version}");
    for wanted in [
        "verify-blob\n",
        "--certificate-oidc-issuer\nhttps://token.actions.githubusercontent.com\n",
        &format!("--certificate-identity\n{identity}\n"),
    ] {
        assert!(said.contains(wanted), "{wanted} is not in {said}");
    }
    // What was verified is what is installed.
    assert!(said.ends_with(&fs::read_to_string(installation.path("installed/kwctl")).unwrap()), "{said}");
}

/// Without it kwctl can't be checked.
#[test]
fn cosign_is_there_before_kwctl_is_installed() {
    let mut installed = 0;
    for_each_job(|name, job| {
        let mut has_cosign = false;
        for step in steps(job) {
            has_cosign |= step["uses"].as_str().is_some_and(|used| used.starts_with("sigstore/cosign-installer@"));
            if step["run"].as_str().is_some_and(|run| run.contains(".ci/install kwctl")) {
                assert!(has_cosign, "{name}");
                installed += 1;
            }
        }
    });
    assert!(installed > 3, "{installed}");
}

#[test]
fn nothing_is_published_that_was_not_tested() {
    let workflow = read(RELEASE);
    assert_eq!(workflow["on"], json!({"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+"]}}));
    assert_eq!(workflow["concurrency"]["cancel-in-progress"], json!(false));
    let jobs = jobs(&workflow);
    let needs = |name: &str| -> BTreeSet<String> {
        match &jobs[name]["needs"] {
            Value::String(one) => BTreeSet::from([one.clone()]),
            Value::Array(several) => several.iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
            _ => BTreeSet::new(),
        }
    };
    for (job, before) in [
        ("release", "publish"),
        ("artifacthub", "release"),
        ("site", "release"),
        ("site", "build-site"),
        ("build-site", "version-check"),
        ("publish", "ci"),
        ("publish", "build"),
        ("publish", "command-line"),
        ("command-line", "version-check"),
        ("ci", "version-check"),
        ("build", "version-check"),
    ] {
        assert!(needs(job).contains(before), "{job} must wait for {before}");
    }
    for (name, job) in jobs {
        assert!(needs(name).iter().all(|before| jobs.contains_key(before)), "{name}");
        assert!(
            job.get("if").is_none() && job.get("continue-on-error").is_none(),
            "{name} must not go on after a failure"
        );
    }
    assert_eq!(jobs["ci"]["uses"], json!(format!("./{CI}")));
    // Of CI, only what nobody's change can cause may fail.
    let ci = read(CI);
    let may_fail: Vec<&String> = self::jobs(&ci)
        .iter()
        .filter(|(_, job)| job.get("continue-on-error").is_some())
        .map(|(name, _)| name)
        .collect();
    assert_eq!(may_fail, ["advisories"]);
}

/// What is released beside the signatures is what was built, and every file that is signed is verified.
#[test]
fn what_is_signed_is_verified_and_released() {
    let workflow = read(RELEASE);
    let script = |job: &str, step: &str| -> String {
        let steps = steps(&workflow["jobs"][job]);
        steps.iter().find(|found| found["name"] == step).unwrap()["run"].as_str().unwrap().to_owned()
    };
    let list = Regex::new(r"for file in ([^;]+); do").unwrap();
    let files = |script: &str| list.captures(script).unwrap()[1].to_owned();
    let signed = files(&script("publish", "Sign the files"));
    assert_eq!(signed, files(&script("publish", "Verify it as users do")));
    let released = script("release", "Release");
    let is_released = |file: String| released.split_whitespace().any(|word| word == file);
    // The policy, as it is released and as it is pushed, and each command line.
    let attested = steps(&workflow["jobs"]["publish"])
        .iter()
        .find_map(|step| step["with"]["subject-path"].as_str())
        .unwrap()
        .split_whitespace()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let programs = signed.split(' ').filter(|file| !file.ends_with(".json")).map(str::to_owned);
    assert_eq!(
        attested.iter().filter(|file| *file != "annotated-policy.wasm").cloned().collect::<Vec<_>>(),
        programs.collect::<Vec<_>>()
    );
    let verified = list.captures_iter(&script("publish", "Verify it as users do")).last().unwrap()[1].to_owned();
    assert_eq!(verified, attested.join(" "));
    for file in signed.split(' ') {
        assert!(is_released(file.to_owned()) && is_released(format!("{file}.bundle.sigstore")), "{file}: {released}");
    }
    // Every platform, with what install.sh asks for.
    let built = &workflow["jobs"]["command-line"];
    for file in on_each_platform(built, "image-admission-$PLATFORM").into_iter().chain(["policy.wasm".to_owned()]) {
        assert!(signed.split(' ').any(|signed| signed == file), "{file} is not signed");
        assert!(is_released(format!("{file}.sha256")), "{file}: {released}");
    }
    assert!(is_released("install.sh".to_owned()), "{released}");
}
