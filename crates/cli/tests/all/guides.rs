//! The guides can't lie: every fence of every page is executed, as far as it can be on any machine.
//!
//! The words after a fence's language say what it is:
//!
//! | fence | what must hold |
//! |---|---|
//! | `yaml settings`, `json settings` | they are valid settings, or a part of some |
//! | `yaml refused`, and `text problems` after it | settings that are refused, with exactly these lines |
//! | `yaml manifest` | objects with an `apiVersion`, a `kind` and a name. Kubewarden's own have no other fields than their CRDs have, and the settings of a policy are valid |
//! | `yaml finding` | what `lint` finds something in, on the page about its rules, which `lint.rs` looks at |
//! | `yaml policy` | a part of a ClusterAdmissionPolicy's `spec` |
//! | `yaml suite` | a suite of cases as `docs/testing.md` has it, which passes |
//! | `yaml file NAME`, in any language | a file that suites and commands of the page find under that name |
//! | `yaml overlay NAME` | a file of an overlay of `deploy/`, which `deploy.rs` renders |
//! | `yaml` alone | the whole text of a file below `examples/`, where it is run |
//! | `rego` | a policy that compiles; `rego test`: tests that pass, with the page's policies that they name |
//! | `promql` | one query a line, which `make test-monitoring` asks Prometheus' own engine |
//! | `yaml workflow` | a workflow for GitHub: its rights are named and only read, its actions are pinned, and its commands hold as below |
//! | `console` | commands: `image-admission` takes these options, `make` has these targets, paths of this repository exist |
//! | `console run` | the same, and each `image-admission` writes exactly what stands below it; `echo $?` shows how it ended, if not with 0 |
//! | `text sample` | what something else writes, or what depends on a cluster; nothing can be checked |
//!
//! Every other fence is an error, and so is one that isn't closed. An abbreviated key, `-----BEGIN PUBLIC KEY-----…`, stands
//! for a whole one. With `BLESS=1` what commands write and why settings are refused is written into the pages, to be read
//! before it is committed.

use crate::lint;
use crate::support;
use crate::support::kubewarden;
use crate::support::markdown;
use crate::support::shell;
use image_admission_engine::check_settings;
use kubewarden::{GroupSpec, PolicySpec, Resource, ServerSpec, lossless};
use markdown::{Fence, fences};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use shell::{Command, commands};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use support::{module_path, root};
use tempfile::TempDir;

const KEY: &str = "-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\\nawcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\\n-----END PUBLIC KEY-----\\n";
const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\\nMIIBszCCAVmgAwIBAgIUYmFkYmFkYmFkYmFkYmFkYmFkYmFkYmFkMAoGCCqGSM49\\n-----END CERTIFICATE-----\\n";

#[test]
fn every_fence_of_the_guides_holds() {
    let mut problems = Vec::new();
    let mut suites = Vec::new();
    let mut guides = Vec::new();
    for path in pages() {
        match Guide::read(&path) {
            Ok(guide) => guides.push(guide),
            Err((line, problem)) => problems.push(format!("{path}:{line}: {problem}")),
        }
    }
    // Commands compile the module each, which takes seconds.
    thread::scope(|scope| {
        let checks: Vec<_> = guides.iter().map(|guide| scope.spawn(|| guide.check())).collect();
        problems.extend(checks.into_iter().flat_map(|check| check.join().unwrap()));
    });
    suites.extend(guides.iter().flat_map(Guide::suites));
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    assert!(suites.len() > 10, "where are the suites?");
    let failures = failures(&suites);
    assert!(failures.is_empty(), "{failures}");
}

/// Runs suites, with the module compiled once, and tells what fails. Those of one page share its files, so that it is no
/// failure when none of a suite's cases asks for some of them.
fn failures(suites: &[String]) -> String {
    #[derive(Deserialize)]
    struct Outcome {
        suite: String,
        name: String,
        #[serde(default)]
        fail: bool,
        reason: Option<String>,
        error: Option<Value>,
    }
    let module = module_path();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_image-admission"));
    let output = command.args(["test", "-o", "json", "--module"]).arg(module).args(suites).output().unwrap();
    let complaints = String::from_utf8(output.stderr).unwrap();
    let outcomes: Vec<Outcome> = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let ran: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.suite.as_str()).collect();
    if ran.len() != suites.len() {
        return format!("not every suite was run\n{complaints}");
    }
    let failed = outcomes.iter().filter(|outcome| outcome.fail || outcome.reason.is_some() || outcome.error.is_some());
    let failures: String = failed
        .map(|Outcome { suite, name, reason, error, .. }| {
            let error = error.as_ref().and_then(|error| error["message"].as_str());
            format!("{suite}: {name}: {}\n", reason.as_deref().or(error).unwrap_or_default())
        })
        .collect();
    match output.status.code() {
        Some(0) if failures.is_empty() => failures,
        // Nothing failed; it complains of answers alone that no case asks for.
        Some(1) if failures.is_empty() && only_unused(&complaints) => failures,
        code => format!("{failures}it ended with {code:?}\n{complaints}"),
    }
}

/// Whether nothing else is complained of than answers that no case of a suite asks for.
fn only_unused(complaints: &str) -> bool {
    let mut errors = complaints.lines().filter(|line| !line.starts_with("  ")).peekable();
    errors.peek().is_some() && errors.all(|line| line.contains("`: no case asks for these; "))
}

#[test]
fn a_suite_that_does_not_pass_is_an_error() {
    let folder = TempDir::new().unwrap();
    let world = "```yaml file images.yaml\nimages: {\"ghcr.io/a:1\": {digest: \"sha256:1111111111111111111111111111111111111111111111111111111111111111\"}}\n```\n";
    for (suite, failure) in [
        ("expect: {verdict: allowed, calls: 0}", ""),
        (
            "expect: {verdict: rejected}",
            ": expect.verdict: `rejected` was expected, and the policy allowed the request",
        ),
        (
            "settingsPatch: {preScanPolicies: {defaultPolicy: scan}, registries: [ghcr.io]}\n    expect: {verdict: rejected}",
            ": the policy asks `get VulnerabilityReport sbomscanner/",
        ),
        ("expect: {verdit: allowed}", "not every suite was run\nerror: "),
    ] {
        let path = folder.path().join("page.md");
        let case = "object: {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: \"ghcr.io/a:1\"}]}}";
        let head = "settings: {preScanPolicies: {defaultPolicy: accept}}\nimages: images.yaml\ntests:\n  - name: a";
        fs::write(&path, format!("```yaml suite\n{head}\n    {case}\n    {suite}\n```\n{world}")).unwrap();
        let guide = Guide::read(&path.display().to_string()).unwrap();
        let failures = failures(&guide.suites());
        let holds = if failure.is_empty() { failures.is_empty() } else { failures.contains(failure) };
        assert!(holds, "{suite}\n{failures}");
    }
}

#[test]
fn what_is_no_fence_that_is_understood_is_an_error() {
    let folder = TempDir::new().unwrap();
    for (page, problem) in [
        ("```yaml settings\na: 1\n", "1: the fence isn't closed"),
        ("text ``` text\n", "1: a fence begins with nothing but spaces and three backticks"),
        ("\n~~~yaml\n~~~\n", "2: a fence begins with nothing but spaces and three backticks"),
        ("```\n```\n", "1: a fence `` of the kind `` is not understood"),
        ("```yaml setting\n```\n", "1: a fence `yaml` of the kind `setting` is not understood"),
        ("```yaml\nsettings: {}\n```\n", "1: it is no file below `examples/`; say what it is after `yaml`"),
        (
            "```yaml settings\nverboselog: true\n```\n",
            "1: verboselog: unknown setting `verboselog`; did you mean `verboseLog`?",
        ),
        ("```yaml settings\n```\n", "1: there is nothing in it"),
        (
            "```yaml settings\na: [\n```\n",
            "1: did not find expected node content at line 2 column 1, while parsing a flow node",
        ),
        ("```yaml refused\nverboseLog: true\n```\n", "1: the fence after it must be `text problems`, and say why"),
        ("```text problems\nx\n```\n", "1: a fence `text` of the kind `problems` is not understood"),
        (
            "```yaml refused\nmaxImages: 0\n```\n```text problems\nx\n```\n",
            "1: the problems are\nmaxImages: `0` would reject every workload; use a number from 1\nand not\nx",
        ),
        ("```yaml manifest\nkind: Pod\n```\n", "1: it has no `apiVersion`"),
        ("```yaml policy\nfailurepolicy: Fail\n```\n", "1: unknown field `failurepolicy`"),
        ("```rego\npackage x\ndeny[msg] { msg := mesage }\n```\n", "1: regoPolicies: policy `guide`: "),
        ("```yaml file a.yaml\nx: 1\n```\n", "1: nothing that is executed names `a.yaml`"),
        (
            "```yaml file cluster/a.yaml\nx: 1\n```\n```yaml suite\ncluster: other\n```\n",
            "1: nothing that is executed names `cluster/a.yaml`",
        ),
        ("```yaml workflow\njobs: {}\n```\n", "1: its `permissions` are to be `contents: read`, and no others"),
        (
            "```yaml workflow\npermissions: {contents: read}\njobs:\n  a:\n    steps:\n      - uses: actions/checkout@v7\n```\n",
            "1: `- uses: actions/checkout@v7` is not pinned by a commit, with its version beside it",
        ),
        (
            "```yaml workflow\npermissions: {contents: read}\njobs: {a: {steps: [{run: image-admission lintt}]}}\n```\n",
            "1: error: unrecognized subcommand 'lintt'",
        ),
        ("```console\nmake\n```\n", "1: `make` is no command: write `$ ` before it"),
        ("```console\n$ make nothing\n```\n", "2: `make` has no target `nothing`"),
        ("```console\n$ kubectl apply -f deploy/nothing.yaml\n```\n", "2: there is no `deploy/nothing.yaml`"),
        ("```console\n$ image-admission run --nothing\n```\n", "2: error: unexpected argument '--nothing' found"),
        (
            "```console\n$ x | cargo run -q --package image-admission-cli -- lintt\n```\n",
            "2: error: unrecognized subcommand 'lintt'",
        ),
        (
            "```console\n$ image-admission --version\nimage-admission 9\n```\n",
            "2: it isn't executed; say `console run`",
        ),
        (
            "```console run\n$ image-admission --version\nimage-admission 9\n```\n",
            "2: it ended with 0, and wrote\nimage-admission 0.1.0\n",
        ),
        (
            "```console run\n$ image-admission run\n```\n",
            "2: it ended with 1, and wrote\nerror: the following required arguments",
        ),
    ] {
        let path = folder.path().join("page.md");
        fs::write(&path, page).unwrap();
        let problems = match Guide::read(&path.display().to_string()) {
            Ok(guide) => guide.check(),
            Err((line, problem)) => vec![format!("{}:{line}: {problem}", path.display())],
        };
        let expected = format!("{}:{problem}", path.display());
        assert!(problems.len() == 1 && problems[0].starts_with(&expected), "{page}\n{problems:#?}\n{expected}");
    }
}

#[test]
fn every_link_of_the_guides_leads_somewhere() {
    let (mut dead, mut seen) = (Vec::new(), 0);
    for page in all_pages() {
        for Link { line, target, file, anchor } in links(&page) {
            seen += 1;
            let is_there = if anchor.is_empty() { file.exists() } else { anchors(&file).contains(&anchor) };
            if !is_there {
                dead.push(format!("{page}:{line}: {target}"));
            }
        }
    }
    assert!(seen > 50, "where are the links?");
    assert!(dead.is_empty(), "these lead nowhere:\n{}", dead.join("\n"));
}

#[test]
fn every_page_is_named_by_another() {
    let mut named = BTreeSet::new();
    for page in all_pages() {
        let own = fs::canonicalize(root().join(&page)).unwrap();
        let files = links(&page).into_iter().filter_map(|link| fs::canonicalize(link.file).ok());
        named.extend(files.filter(|file| *file != own));
    }
    let is_lost =
        |page: &String| page.starts_with("docs/") && !named.contains(&fs::canonicalize(root().join(page)).unwrap());
    let lost: Vec<String> = pages().into_iter().filter(is_lost).collect();
    assert!(lost.is_empty(), "no page names these:\n{}", lost.join("\n"));
}

/// A link of a page to a file of this repository.
struct Link {
    line: usize,
    /// As it is written.
    target: String,
    file: PathBuf,
    /// The heading that it leads to; empty: the whole file.
    anchor: String,
}

/// The links of a page that don't leave the repository.
fn links(page: &str) -> Vec<Link> {
    let link = Regex::new(r"\]\(([^()\s]+)\)").unwrap();
    let path = root().join(page);
    let text = fs::read_to_string(&path).unwrap();
    let mut links = Vec::new();
    for (written, line) in prose(&text) {
        for target in link.captures_iter(written).map(|found| found.get(1).unwrap().as_str()) {
            if target.contains("://") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            links.push(Link { line, target: target.to_owned(), file, anchor: anchor.to_owned() });
        }
    }
    links
}

/// The lines of a page outside of its fences, with their numbers.
fn prose(page: &str) -> Vec<(&str, usize)> {
    let mut is_inside = false;
    let mut lines = Vec::new();
    for (line, number) in page.lines().zip(1..) {
        if line.trim_start().starts_with("```") {
            is_inside = !is_inside;
        } else if !is_inside {
            lines.push((line, number));
        }
    }
    lines
}

/// What GitHub calls the headings of a page in links.
fn anchors(path: &Path) -> Vec<String> {
    let page = fs::read_to_string(path).unwrap_or_default();
    let headings = prose(&page).into_iter().filter_map(|(line, _)| line.strip_prefix('#'));
    let titles = headings.map(|heading| heading.trim_start_matches('#').trim().to_lowercase());
    let kept = |character: &char| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_');
    titles
        .map(|title| {
            title.chars().filter(kept).map(|character| if character == ' ' { '-' } else { character }).collect()
        })
        .collect()
}

/// Every page whose fences are executed, relative to the root.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned(), "deploy/README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root().join(&folder)).unwrap().map(Result::unwrap) {
            let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                folders.push(name);
            } else if name.ends_with(".md") {
                pages.push(name);
            }
        }
    }
    pages.sort();
    assert!(pages.len() > 5, "where are the guides?");
    pages
}

/// These, and the pages for developers, of which the links alone are looked at.
fn all_pages() -> Vec<String> {
    let developers = ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "tests/real-host/README.md"];
    pages().into_iter().chain(developers.map(str::to_owned)).collect()
}

/// One page, with a folder that has its files.
struct Guide {
    path: String,
    fences: Vec<Fence>,
    folder: TempDir,
}

impl Guide {
    fn read(path: &str) -> Result<Self, (usize, String)> {
        let fences = fences(&fs::read_to_string(root().join(path)).unwrap())?;
        let folder = TempDir::new().unwrap();
        for name in ["examples", "deploy"] {
            symlink(fs::canonicalize(root().join(name)).unwrap(), folder.path().join(name)).unwrap();
        }
        symlink(fs::canonicalize(module_path()).unwrap(), folder.path().join("policy.wasm")).unwrap();
        for fence in &fences {
            if let Some(name) = fence.kind.strip_prefix("file ") {
                let file = folder.path().join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, &fence.text).unwrap();
            }
        }
        Ok(Self { path: path.to_owned(), fences, folder })
    }

    /// What is wrong with all fences but suites, which are run together.
    fn check(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut blessed = BTreeMap::new();
        for (index, fence) in self.fences.iter().enumerate() {
            let next = self.fences.get(index + 1);
            let last = index.checked_sub(1).and_then(|last| self.fences.get(last));
            let checked = match (fence.language.as_str(), fence.kind.as_str()) {
                ("yaml" | "json", "settings") => settings(fence),
                ("yaml" | "json", "refused") => refused(fence, next, &mut blessed),
                ("text", "problems") if last.is_some_and(|last| last.kind == "refused") => Ok(()),
                ("text", "sample") => Ok(()),
                ("yaml", "manifest") => manifests(fence),
                // The page about lint is looked at whole.
                ("yaml", "finding") if self.path == lint::PAGE => Ok(()),
                ("yaml", "policy") => policy(fence),
                ("yaml", "suite") => documents(fence).map(drop),
                ("yaml", "") => example(fence),
                ("rego", "") => settings_of_rego(&fence.text),
                ("rego", "test") => self.rego_test(fence),
                ("promql", "") => Ok(()),
                ("yaml", "workflow") => workflow(fence),
                ("console", "") => self.console(fence, &mut problems),
                ("console", "run") => self.run(fence, &mut problems, &mut blessed),
                (_, kind) if kind.starts_with("file ") => self.is_used(fence),
                ("yaml", kind) if kind.starts_with("overlay ") => documents(fence).map(drop),
                (language, kind) => Err(format!("a fence `{language}` of the kind `{kind}` is not understood")),
            };
            if let Err(problem) = checked {
                problems.push(format!("{}:{}: {problem}", self.path, fence.line));
            }
        }
        if std::env::var_os("BLESS").is_some() && self.path.ends_with(".md") && !self.path.starts_with('/') {
            self.bless(&blessed);
        }
        problems
    }

    /// Whether a file, or a folder that it is in, is a word of a command or a value in a suite that is executed.
    fn is_used(&self, file: &Fence) -> Result<(), String> {
        let name = file.kind.strip_prefix("file ").unwrap_or_default();
        for fence in &self.fences {
            let words = match fence.kind.as_str() {
                "run" => commands(&fence.text)?.into_iter().flat_map(|command| command.programs.concat()).collect(),
                kind if kind == "suite" || kind.ends_with("_test.yaml") => {
                    documents(fence).unwrap_or_default().iter().flat_map(texts).collect()
                }
                _ => Vec::new(),
            };
            let named = |word: &String| Path::new(name).ancestors().any(|path| path == Path::new(word));
            if words.iter().filter(|word| !word.is_empty()).any(named) {
                return Ok(());
            }
        }
        Err(format!("nothing that is executed names `{name}`"))
    }

    /// Writes the new texts of fences, by the lines of these.
    fn bless(&self, texts: &BTreeMap<usize, String>) {
        let path = root().join(&self.path);
        let page = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = page.lines().collect();
        for (line, text) in texts.iter().rev() {
            let old = self.fences.iter().find(|fence| fence.line == *line).unwrap();
            lines.splice(*line..*line + old.text.lines().count(), text.lines());
        }
        fs::write(path, lines.join("\n") + "\n").unwrap();
    }

    /// The page's suites as files, each text on the lines that it has in the page.
    fn suites(&self) -> Vec<String> {
        let suites = self.fences.iter().filter(|fence| fence.kind == "suite");
        suites
            .map(|fence| {
                let name = format!("{}-{}_test.yaml", self.path.replace('/', "-"), fence.line);
                let file = self.folder.path().join(name);
                fs::write(&file, "\n".repeat(fence.line) + &whole(&fence.text)).unwrap();
                file.display().to_string()
            })
            .collect()
    }

    /// The tests of a fence, with the modules of the page that they name.
    fn rego_test(&self, fence: &Fence) -> Result<(), String> {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("tests.rego"), &fence.text).unwrap();
        for (index, module) in self.modules().iter().enumerate() {
            let package = module.lines().find_map(|line| line.strip_prefix("package ")).unwrap_or_default().trim();
            if fence.text.contains(&format!("data.{package}")) {
                fs::write(folder.path().join(format!("{index}.rego")), module).unwrap();
            }
        }
        let (code, said) = image_admission(folder.path(), &["test", "."]);
        if code == 0 { Ok(()) } else { Err(said) }
    }

    /// The texts of all modules of the page.
    fn modules(&self) -> Vec<String> {
        let mut modules = Vec::new();
        for fence in &self.fences {
            if (fence.language.as_str(), fence.kind.as_str()) == ("rego", "") {
                modules.push(fence.text.clone());
            }
            for document in documents(fence).ok().filter(|_| fence.kind == "settings").unwrap_or_default() {
                let lists = ["regoPolicies", "regoLibraries"].into_iter().filter_map(|key| document[key].as_array());
                modules.extend(lists.flatten().filter_map(|entry| Some(entry["rego"].as_str()?.to_owned())));
            }
        }
        modules
    }

    /// Commands that aren't executed.
    fn console(&self, fence: &Fence, problems: &mut Vec<String>) -> Result<(), String> {
        for command in commands(&fence.text)? {
            let is_own = command.programs.iter().any(|program| own_arguments(program).is_some());
            let checked = match is_own && !command.output.is_empty() {
                true => Err("it isn't executed; say `console run`".to_owned()),
                false => check_programs(&command),
            };
            if let Err(problem) = checked {
                problems.push(format!("{}:{}: {problem}", self.path, fence.line + 1 + command.line));
            }
        }
        Ok(())
    }

    /// Commands that are executed, where they are this project's.
    fn run(
        &self,
        fence: &Fence,
        problems: &mut Vec<String>,
        blessed: &mut BTreeMap<usize, String>,
    ) -> Result<(), String> {
        let mut actual = String::new();
        let lines: Vec<&str> = fence.text.lines().collect();
        let commands = commands(&fence.text)?;
        let mut ended = 0;
        for (index, command) in commands.iter().enumerate() {
            let end = commands.get(index + 1).map_or(lines.len(), |next| next.line);
            let length = end - command.line - command.output.lines().count();
            actual.push_str(&(lines[command.line..command.line + length].join("\n") + "\n"));
            let [program] = command.programs.as_slice() else {
                problems.push(format!("{}:{}: one program is executed, without a pipe", self.path, fence.line));
                continue;
            };
            let (code, said) = match own_arguments(program) {
                Some(arguments) => {
                    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                    image_admission(self.folder.path(), &arguments)
                }
                None if program.join(" ") == "echo $?" => (0, format!("{ended}\n")),
                None => {
                    check_programs(command)?;
                    (0, command.output.clone())
                }
            };
            ended = code;
            actual.push_str(&said);
            let is_told = commands.get(index + 1).is_some_and(|next| next.programs == [["echo", "$?"]]);
            if said != command.output || (code != 0 && !is_told) {
                let line = fence.line + 1 + command.line;
                problems.push(format!("{}:{line}: it ended with {code}, and wrote\n{said}", self.path));
            }
        }
        if actual != fence.text {
            blessed.insert(fence.line, actual);
        }
        Ok(())
    }
}

/// Runs `image-admission`, and gives its exit code and everything that it writes.
fn image_admission(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_image-admission"));
    let output =
        command.current_dir(folder).args(arguments).env_remove("NO_COLOR").stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code().unwrap(), said)
}

/// The arguments of a command that is this project's.
fn own_arguments(program: &[String]) -> Option<&[String]> {
    match program {
        [name, arguments @ ..] if name == "image-admission" => Some(arguments),
        [cargo, run, rest @ ..] if cargo == "cargo" && run == "run" => {
            let separator = rest.iter().position(|word| word == "--")?;
            rest[..separator].contains(&"image-admission-cli".to_owned()).then(|| &rest[separator + 1..])
        }
        _ => None,
    }
}

/// Checks the programs of a command without executing them.
fn check_programs(command: &Command) -> Result<(), String> {
    for program in &command.programs {
        for path in
            program.iter().filter(|word| ["deploy/", "examples/", "docs/"].iter().any(|start| word.starts_with(start)))
        {
            if !root().join(path).exists() {
                return Err(format!("there is no `{path}`"));
            }
        }
        if let Some(arguments) = own_arguments(program) {
            // With this at the end, everything before it is read, and nothing done.
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(["--help"]).collect();
            let (code, said) = image_admission(&root(), &arguments);
            if code != 0 {
                return Err(said);
            }
        }
        if program[0] == "make" {
            let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
            let targets = program[1..].iter().filter(|word| !word.contains('='));
            for target in targets {
                if !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))) {
                    return Err(format!("`make` has no target `{target}`"));
                }
            }
        }
    }
    Ok(())
}

/// A text with whole keys in the place of abbreviated ones.
fn whole(text: &str) -> String {
    text.replace("-----BEGIN PUBLIC KEY-----…", KEY).replace("-----BEGIN CERTIFICATE-----…", CERTIFICATE)
}

/// The documents of a fence, by way of YAML's own values, which refuse a key that is there twice.
fn documents(fence: &Fence) -> Result<Vec<Value>, String> {
    let text = whole(&fence.text);
    let mut documents = Vec::new();
    for document in yaml_serde::Deserializer::from_str(&text) {
        let mut value = yaml_serde::Value::deserialize(document).map_err(|error| error.to_string())?;
        value.apply_merge().map_err(|error| error.to_string())?;
        documents.push(serde_json::to_value(value).map_err(|error| error.to_string())?);
    }
    if documents.iter().all(Value::is_null) {
        return Err("there is nothing in it".to_owned());
    }
    Ok(documents)
}

/// Every text in a document that is the value of a key, or an entry of a list.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// The one document of a fence.
fn document(fence: &Fence) -> Result<Value, String> {
    let documents = documents(fence)?;
    let [document] = documents.as_slice() else { return Err("it has several documents".to_owned()) };
    Ok(document.clone())
}

fn settings(fence: &Fence) -> Result<(), String> {
    check_settings(&document(fence)?).map(drop).map_err(|error| error.to_string())
}

fn refused(fence: &Fence, next: Option<&Fence>, blessed: &mut BTreeMap<usize, String>) -> Result<(), String> {
    let said = next.filter(|next| (next.language.as_str(), next.kind.as_str()) == ("text", "problems"));
    let Some(said) = said else { return Err("the fence after it must be `text problems`, and say why".to_owned()) };
    match check_settings(&document(fence)?) {
        Ok(_) => Err("the settings are valid".to_owned()),
        Err(error) if error.to_string().trim() == said.text.trim() => Ok(()),
        Err(error) => {
            blessed.insert(said.line, format!("{error}\n"));
            Err(format!("the problems are\n{error}\nand not\n{}", said.text))
        }
    }
}

fn manifests(fence: &Fence) -> Result<(), String> {
    for object in documents(fence)? {
        for field in ["/apiVersion", "/kind", "/metadata/name"] {
            if object.pointer(field).and_then(Value::as_str).is_none_or(str::is_empty) {
                return Err(format!("it has no `{}`", field[1..].replace('/', ".")));
            }
        }
        match (object["apiVersion"].as_str(), object["kind"].as_str()) {
            (Some("policies.kubewarden.io/v1"), Some("ClusterAdmissionPolicy")) => {
                let policy: Resource<PolicySpec> = lossless(&object)?;
                check_settings(&policy.spec.settings).map_err(|error| error.to_string())?;
            }
            (Some("policies.kubewarden.io/v1"), Some("AdmissionPolicy")) => {
                let policy: Resource<PolicySpec> = lossless(&object)?;
                check_settings(&policy.spec.settings).map_err(|error| error.to_string())?;
                if let [field, ..] = policy.spec.of_the_cluster()[..] {
                    return Err(format!("an AdmissionPolicy has no `{field}`"));
                }
            }
            (Some("policies.kubewarden.io/v1"), Some("AdmissionPolicyGroup")) => {
                let group: Resource<GroupSpec> = lossless(&object)?;
                for member in group.spec.policies.values().filter(|member| member.module.contains("image-admission")) {
                    check_settings(&member.settings.clone().unwrap_or_default()).map_err(|error| error.to_string())?;
                }
            }
            (Some("policies.kubewarden.io/v1"), Some("PolicyServer")) => {
                lossless::<Resource<ServerSpec>>(&object)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A workflow that readers copy.
fn workflow(fence: &Fence) -> Result<(), String> {
    let workflow = document(fence)?;
    if workflow["permissions"] != json!({"contents": "read"}) {
        return Err("its `permissions` are to be `contents: read`, and no others".to_owned());
    }
    let pinned = Regex::new(r"^\s*- uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$").unwrap();
    if let Some(line) = fence.text.lines().find(|line| line.contains("uses: ") && !pinned.is_match(line)) {
        return Err(format!("`{}` is not pinned by a commit, with its version beside it", line.trim()));
    }
    let jobs = workflow["jobs"].as_object().ok_or("it has no jobs")?;
    for step in jobs.values().filter_map(|job| job["steps"].as_array()).flatten() {
        for line in step["run"].as_str().unwrap_or_default().lines().filter(|line| line.starts_with("image-admission "))
        {
            commands(&format!("$ {line}"))?.iter().try_for_each(check_programs)?;
        }
    }
    Ok(())
}

/// A part of a policy, put into a whole one.
fn policy(fence: &Fence) -> Result<(), String> {
    let mut spec: Map<String, Value> =
        serde_json::from_value(json!({"module": "m", "rules": [], "mutating": true, "settings": {}})).unwrap();
    match document(fence)? {
        Value::Object(part) => spec.extend(part),
        _ => return Err("it is no part of a policy's `spec`".to_owned()),
    }
    let policy: PolicySpec = lossless(&Value::Object(spec))?;
    check_settings(&policy.settings).map(drop).map_err(|error| error.to_string())
}

/// The text of an example's file.
fn example(fence: &Fence) -> Result<(), String> {
    let mut folders = vec![root().join("examples")];
    while let Some(folder) = folders.pop() {
        let entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        for path in entries {
            if path.is_dir() {
                folders.push(path);
            } else if fs::read(path).unwrap() == fence.text.as_bytes() {
                return Ok(());
            }
        }
    }
    Err("it is no file below `examples/`; say what it is after `yaml`".to_owned())
}

fn settings_of_rego(module: &str) -> Result<(), String> {
    let policy = json!({"name": "guide", "kinds": "*", "rego": module});
    check_settings(&json!({"regoPolicies": [policy]})).map(drop).map_err(|error| error.to_string())
}
