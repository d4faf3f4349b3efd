//! `lint`: what settings say that may not be meant.

mod fix;
mod group;
mod manifest;
mod namespaced;
mod results;
mod sources;
mod worst_case;

use crate::host_options::{HostError, HostOptions};
use image_admission_module_host::answers::Grants;
use image_admission_module_host::disk;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use image_admission_engine::{ReadKind, check_settings, lint};
use image_admission_settings::{InvalidSettings, KEYS, Lint as Remark, LintRule, LintSeverity, Settings};
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::diff::patch;
use super::files::{FilesError, recursive};
use super::output::{annotations, json, junit, sarif, yaml};
use super::policy::now;
use super::report_files::{self, ReportFiles};
use super::terminal::{Paint, in_one_line, printable, without_commands};
use super::terminal::{StandardOutput, errors};
use super::{Ending, complain, invalid_settings, warn};
use fix::{Fixed, fix_all};
use image_admission_manifests::document::{self, DocumentError, Place, is_standard_input};
use image_admission_manifests::duplicates::Duplicate;
use image_admission_manifests::lines::{Lines, Part, Spot};
use image_admission_manifests::settings::{Found, every_in, policy_servers};
use results::INVALID;
use sources::{Origin, Source, sources};

const AFTER_HELP: &str = "\
A file has settings as they are, or policies (ClusterAdmissionPolicy, AdmissionPolicy, and their groups) whose settings are
looked at, as `kustomize build` writes them; other objects beside them are not. Of a policy it looks too whether the rest of the
manifest fits its settings: the kinds that it grants, `mutating`, `failurePolicy`, and whether it leaves out `kube-system`. Of
an AdmissionPolicy it says which settings can't work in one, and which calls a PolicyServer in the same file keeps from it. Of a
policy group it looks at the members whose `module` has `image-admission` in its name, and at the `expression`.

Severities:
  error    something gets in that nobody can want, or nothing does
  warning  it has no effect, or another one than it seems to
  note     it says again what holds without it, or it depends on what others do

Exit codes:
  0  there is no finding that `--fail-on` counts
  1  something went wrong: the error says what
  2  there is
  3  the settings are not valid

Examples:
  image-admission lint settings.yaml
  image-admission lint --fail-on error --allow any-registry policy.yaml
  image-admission lint --diff settings.yaml
  kubectl get namespaces -o name | image-admission lint --namespaces - settings.yaml
  image-admission lint --live policy.yaml
  kustomize build overlays/production | image-admission lint -o sarif -";

/// Find settings that are valid but probably wrong
///
/// Rules that never decide, rules that let in more than they seem to, exemptions that have ended, namespaces that nobody has.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, arg = recursive())]
pub(super) struct Lint {
    /// Settings, or policies with their settings, as YAML or JSON; `-` is the standard input. Of a folder with a kustomization,
    /// what `kubectl kustomize` makes of it; of any other, the policies in it
    #[arg(value_name = "PATH", required_unless_present = "file")]
    files: Vec<PathBuf>,

    /// The same. May be repeated
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// The namespaces that the cluster has, one a line as `kubectl get namespaces -o name` writes them
    #[arg(long, value_name = "FILE")]
    namespaces: Option<PathBuf>,

    /// Ask the cluster that kubectl would ask, too: whether its trivy-operator makes reports that a policy can read
    #[arg(long)]
    live: bool,

    /// How to reach the cluster, instead of as kubectl would
    #[arg(long, value_name = "FILE", requires = "live")]
    kubeconfig: Option<PathBuf>,

    /// Hide findings that are intended, by the name in their brackets. May be repeated
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(LintRule::ALL.map(LintRule::name)))]
    allow: Vec<String>,

    /// The least severity that makes the exit code 2
    #[arg(long, value_name = "SEVERITY", value_enum, default_value = "warning")]
    fail_on: Severity,

    /// Fix in the files what is certain: nothing new is admitted then, and comments outside of removed parts stay
    #[arg(long)]
    fix: bool,

    /// Write nothing, and show what `--fix` would change
    #[arg(long)]
    diff: bool,

    /// How to write what was found
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs: a list with an entry for each finding
    Json,
    /// The same list as YAML
    Yaml,
    /// For code scanning: SARIF 2.1.0
    Sarif,
    /// For people, with annotations for GitHub's workflows
    Github,
    /// For CI systems: JUnit's XML
    Junit,
}

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Severity {
    /// Everything
    Note,
    /// What has no effect, or another one than it seems to, and errors
    Warning,
    /// What lets in something that nobody can want, or nothing at all
    Error,
}

impl From<LintSeverity> for Severity {
    fn from(severity: LintSeverity) -> Self {
        match severity {
            LintSeverity::Note => Self::Note,
            LintSeverity::Warning => Self::Warning,
            LintSeverity::Error => Self::Error,
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A file that was looked at.
struct File {
    path: PathBuf,
    /// As it is now.
    text: String,
    settings: Vec<Looked>,
    origin: Origin,
    /// Of a folder that was rendered, its files with their texts: patches have what somebody wrote.
    parts: Vec<(PathBuf, String)>,
}

/// Where something was found.
struct Spotted {
    file: String,
    spot: Option<Spot>,
}

/// Settings that were looked at.
struct Looked {
    found: Found,
    /// What is to be remarked, or why they are not valid.
    said: Result<Vec<Remark>, InvalidSettings>,
    /// Where keys stand for a second time, one for each problem. Where none does, what is said has its place by its path.
    duplicates: Vec<Spot>,
}

/// Something that was found, as programs read it.
#[derive(Debug, Serialize)]
struct Entry<'r> {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    rule: &'static str,
    severity: String,
    path: &'r str,
    message: &'r str,
    /// Whether `--fix` fixes it.
    fixable: bool,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub(super) enum LintError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// There is nothing to look at.
    #[error(
        "no settings in {0}: write those of the policy, or give a ClusterAdmissionPolicy or an AdmissionPolicy, or a group with a member whose `module` has `image-admission` in its name"
    )]
    NoSettings(String),
    /// A folder can't be read.
    #[error(transparent)]
    Folder(#[from] FilesError),
    /// What kustomize makes of a folder is written nowhere.
    #[error("`{}` is looked at as kustomize renders it, which `--fix` can't write: give the files", _0.display())]
    RenderedFixed(PathBuf),
    /// The cluster can't be asked.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The cluster doesn't answer.
    #[error("`--live` lists Deployments of all namespaces, to find trivy-operator, and can't: {0}")]
    Cluster(String),
    /// What is read can be read once.
    #[error("the standard input can't be both the settings and the namespaces")]
    InputTwice,
    /// What is read can't be written.
    #[error("the standard input can't be fixed; use `--diff`, or give a file")]
    InputFixed,
    /// A document that others read has no room for a difference.
    #[error("`--diff` is for people; leave out `--output`, or `--diff`")]
    DiffForPrograms,
    /// A fixed file can't be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The output can't be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// Warns of a file with settings that a folder's policies are looked at without.
fn tell_passed_over(path: &Path, others: &[Looked]) {
    if others.iter().any(|other| !other.is_policy() && other.has_settings()) {
        warn(&format!(
            "{} has settings without a policy, and of a folder only policies are looked at: give the file",
            document::name(path)
        ));
    }
}

impl Lint {
    /// Looks at every file, and writes what was found to `output`.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, LintError> {
        let paths: Vec<&PathBuf> = self.files.iter().chain(&self.file).collect();
        let has_input = paths.iter().any(|path| is_standard_input(path));
        if self.namespaces.as_deref().is_some_and(is_standard_input) && has_input {
            return Err(LintError::InputTwice);
        }
        if self.fix && !self.diff && has_input {
            return Err(LintError::InputFixed);
        }
        if self.diff && self.output != Output::Text {
            return Err(LintError::DiffForPrograms);
        }
        let namespaces = self.namespaces.as_deref().map(document::text).transpose()?;
        let namespaces: Option<BTreeSet<String>> = namespaces.as_deref().map(|text| names(text).collect());
        let report_files = self.report_files()?;
        let look = |path: &Path, text: &str| self.look(path, text, namespaces.as_ref(), report_files.as_ref());
        let (mut files, mut would_change) = (Vec::new(), false);
        for Source { path, mut text, origin, parts } in sources(paths.into_iter())? {
            if self.fix || self.diff {
                if origin == Origin::Rendered {
                    return Err(LintError::RenderedFixed(path));
                }
                let looked = look(&path, &text)?;
                if origin == Origin::InFolder && !looked.iter().any(Looked::is_policy) {
                    tell_passed_over(&path, &looked);
                    continue;
                }
                let Fixed { text: after, fixed, refused } = fix_all(&path, text.clone(), &look)?;
                would_change |= self.write_fixed(&path, &text, &after, output)?;
                self.tell(&path, &fixed, &refused);
                text = after;
            }
            let mut settings = look(&path, &text)?;
            if origin == Origin::InFolder {
                let (policies, others): (Vec<Looked>, Vec<Looked>) = settings.into_iter().partition(Looked::is_policy);
                tell_passed_over(&path, &others);
                settings = policies;
            }
            if settings.iter().any(Looked::is_empty) {
                warn(&format!("{} is empty: this is about the defaults", document::name(&path)));
            }
            if origin == Origin::Rendered {
                tell_once(&mut settings);
            }
            if !settings.is_empty() {
                files.push(File { path, text, settings, origin, parts });
            }
        }
        if files.is_empty() {
            let files: Vec<String> = self.files.iter().chain(&self.file).map(|path| document::name(path)).collect();
            return Err(LintError::NoSettings(files.join(", ")));
        }
        // People read it among the findings.
        if !matches!(self.output, Output::Text | Output::Github) {
            for (file, problems) in files.iter().flat_map(File::problems).filter(|(_, problems)| !problems.0.is_empty())
            {
                complain(&invalid_settings(Some(file), &problems.to_string()));
            }
        }
        self.write(&files, output)?;
        let is_valid = files.iter().all(|file| file.problems().next().is_none());
        let worst = files.iter().flat_map(File::remarks).map(|remark| Severity::from(remark.severity)).max();
        Ok(match (is_valid, worst) {
            (false, _) => Ending::InvalidSettings,
            (true, Some(worst)) if worst >= self.fail_on => Ending::Remarked,
            (true, _) if self.diff && would_change => Ending::Remarked,
            (true, _) => Ending::Done,
        })
    }

    /// The cluster's trivy-operator, where it is asked about and writes files.
    fn report_files(&self) -> Result<Option<ReportFiles>, LintError> {
        if !self.live {
            return Ok(None);
        }
        let options = HostOptions { live: true, kubeconfig: self.kubeconfig.clone(), ..HostOptions::default() };
        let host = options.open(Grants::everything())?;
        report_files::find(&*host.answers()).map_err(LintError::Cluster)
    }

    /// What is to be said of each of the settings of a file.
    fn look(
        &self,
        path: &Path,
        text: &str,
        namespaces: Option<&BTreeSet<String>>,
        report_files: Option<&ReportFiles>,
    ) -> Result<Vec<Looked>, DocumentError> {
        let all = match every_in(path, text) {
            // Objects of other kinds may stand in files of their own.
            Err(DocumentError::NoSettings { .. }) => Vec::new(),
            Err(DocumentError::Duplicates { file, keys }) => return Ok(ambiguous(&file, &keys)),
            all => all?,
        };
        let servers = policy_servers(path, text)?;
        let look = |found: Found| {
            let json = found.json.as_deref().map_or("null", |json| json.get());
            let settings: Value = serde_json::from_str(json).unwrap_or_default();
            let said = check_settings(&settings).map(|settings| {
                let mut remarks = remarks(&found, &settings, &servers, namespaces, now());
                remarks.extend(report_files.into_iter().flat_map(|files| of_files(files, &settings)));
                remarks.retain(|remark| !self.allow.iter().any(|allowed| allowed == remark.rule.name()));
                remarks
            });
            Looked { found, said, duplicates: Vec::new() }
        };
        Ok(all.into_iter().map(look).collect())
    }

    /// Writes a file anew, or shows what would become of it. Whether there is anything to change.
    fn write_fixed(&self, path: &Path, before: &str, after: &str, output: &mut impl Write) -> Result<bool, LintError> {
        if before == after {
            return Ok(false);
        }
        if self.diff {
            let name = path.display().to_string();
            write!(output, "{}", without_commands(&printable(&patch(&name, before, after))))?;
        } else {
            disk::write(path, after).map_err(|source| LintError::Write { path: path.to_owned(), source })?;
        }
        Ok(true)
    }

    /// Says what was fixed, and what couldn't be although it is certain how.
    fn tell(&self, path: &Path, fixed: &[Remark], refused: &[Remark]) {
        let name = document::name(path);
        let word = if self.diff { "would be fixed" } else { "fixed" };
        for Remark { rule, path, .. } in fixed {
            let line = format!("{word}: {name}: {path} [{}]", rule.name());
            // Nobody listening is no reason to fix nothing.
            let _ = writeln!(errors(), "{}", without_commands(&in_one_line(&line)));
        }
        for Remark { rule, path, .. } in refused {
            warn(&format!("{name}: {path} [{}] can't be fixed as it is written: change it by hand", rule.name()));
        }
    }

    fn write(&self, files: &[File], output: &mut impl StandardOutput) -> io::Result<()> {
        let results = || results::results(files, self.fail_on);
        let entries: Vec<Entry<'_>> =
            files.iter().flat_map(|file| file.invalid().into_iter().chain(file.entries())).collect();
        match self.output {
            Output::Text | Output::Github => {
                let paint = Paint::for_output(output);
                for entry in &entries {
                    writeln!(output, "{}", without_commands(&entry.text(paint)))?;
                }
                if entries.is_empty() {
                    writeln!(output, "{}", without_commands(&nothing_found(files)))?;
                }
                if self.output == Output::Github {
                    let lines: String = results().checks.iter().map(annotations).collect();
                    write!(output, "{lines}")?;
                }
            }
            Output::Json | Output::Yaml => {
                let text = if self.output == Output::Yaml { yaml(&entries)? } else { json(&entries)? };
                write!(output, "{text}")?;
            }
            Output::Sarif => write!(output, "{}", sarif(&results()))?,
            Output::Junit => write!(output, "{}", junit(&results()))?,
        }
        output.flush()
    }
}

/// What is to be remarked of valid settings, and of the manifest that they stand in; `servers` are the PolicyServers beside it.
pub(super) fn remarks(
    found: &Found,
    settings: &Settings,
    servers: &[Value],
    namespaces: Option<&BTreeSet<String>>,
    now: Timestamp,
) -> Vec<Remark> {
    let mut remarks = lint(settings, now, namespaces);
    remarks.extend(manifest::remarks(found, settings, servers));
    remarks.extend(worst_case::remark(found, settings));
    let sees_kube_system = manifest::sees_kube_system(found);
    remarks.retain(|remark| sees_kube_system || remark.rule != LintRule::KubeSystem);
    remarks
}

impl File {
    fn remarks(&self) -> impl Iterator<Item = &Remark> {
        self.settings.iter().filter_map(|looked| looked.said.as_ref().ok()).flatten()
    }

    fn problems(&self) -> impl Iterator<Item = (&Path, &InvalidSettings)> {
        self.settings.iter().filter_map(|looked| Some((self.path.as_path(), looked.said.as_ref().err()?)))
    }

    fn entries(&self) -> Vec<Entry<'_>> {
        let mut entries = Vec::new();
        for looked in &self.settings {
            for remark in looked.said.iter().flatten() {
                let Spotted { file, spot } = self.place(looked, &remark.path);
                entries.push(Entry {
                    file,
                    line: spot.map(|spot| spot.line),
                    column: spot.map(|spot| spot.column),
                    rule: remark.rule.name(),
                    severity: Severity::from(remark.severity).to_string(),
                    path: &remark.path,
                    message: &remark.message,
                    fixable: remark.fix.is_some(),
                });
            }
        }
        entries
    }

    /// Why settings are not valid.
    fn invalid(&self) -> Vec<Entry<'_>> {
        let mut entries = Vec::new();
        for looked in &self.settings {
            for (number, problem) in looked.said.as_ref().err().into_iter().flat_map(|problems| &problems.0).enumerate()
            {
                let (path, message) = problem.split_once(": ").unwrap_or(("", problem));
                let Spotted { file, spot } = self.place_of_problem(looked, number, path);
                entries.push(Entry {
                    file,
                    line: spot.map(|spot| spot.line),
                    column: spot.map(|spot| spot.column),
                    rule: INVALID.id,
                    severity: Severity::Error.to_string(),
                    path,
                    message,
                    fixable: false,
                });
            }
        }
        entries
    }

    /// Where one of the problems of settings stands.
    fn place_of_problem(&self, looked: &Looked, number: usize, path: &str) -> Spotted {
        let Spotted { file, spot } = self.place(looked, path);
        Spotted { file, spot: looked.duplicates.get(number).copied().or(spot) }
    }

    /// Where a setting stands, or the nearest one that it would be in. Nobody finds a line of the standard input again. Of what was
    /// rendered, it is where a file of the folder has the setting, if one has.
    fn place(&self, looked: &Looked, path: &str) -> Spotted {
        let of = |file: &Path, spot| Spotted { file: file.display().to_string(), spot };
        match self.origin {
            _ if is_standard_input(&self.path) => of(&self.path, None),
            Origin::Named | Origin::InFolder => of(&self.path, looked.spot(&Lines::of(&self.text), path)),
            Origin::Rendered => {
                let written = self.parts.iter().find_map(|(file, text)| {
                    let lines = Lines::of(text);
                    let spot = |own: Found| lines.spot(own.place.document(), &steps(&own, path), Part::Key);
                    let all = every_in(file, text).ok()?;
                    Some(of(file, Some(all.into_iter().filter(|own| own.policy.is_some()).find_map(spot)?)))
                });
                written.unwrap_or_else(|| of(&self.path, None))
            }
        }
    }
}

impl Looked {
    /// Whether it is of a policy, or of a file whose keys stand twice: nobody knows what that is.
    fn is_policy(&self) -> bool {
        self.found.policy.is_some() || !self.duplicates.is_empty()
    }

    /// Whether it may be meant for this policy: half of its keys are settings. Other tools have files without a kind, too.
    fn has_settings(&self) -> bool {
        let Some(json) = &self.found.json else { return false };
        let keys: BTreeMap<String, IgnoredAny> = serde_json::from_str(json.get()).unwrap_or_default();
        let known = keys.keys().filter(|key| KEYS.contains(&key.as_str())).count();
        known > 0 && known * 2 >= keys.len()
    }

    /// Whether nothing is written in the file.
    fn is_empty(&self) -> bool {
        self.said.is_ok() && self.found.policy.is_none() && self.found.json.is_none()
    }

    /// Where a setting stands, or the nearest one that it would be in.
    fn spot(&self, lines: &Lines<'_>, path: &str) -> Option<Spot> {
        lines.nearest(self.found.place.document(), &steps(&self.found, path))
    }
}

/// What leads from the document to a setting.
fn steps(found: &Found, path: &str) -> Vec<String> {
    // What is said of the manifest stands beside the settings, and no setting is called so.
    let is_of_manifest = ["spec", "metadata"].iter().any(|key| path == *key || path.starts_with(&format!("{key}.")));
    let mut steps = if is_of_manifest { found.object_path() } else { found.path() };
    steps.extend(path.split(['.', '[', ']']).filter(|step| !step.is_empty()).map(str::to_owned));
    steps
}

/// Keeps what is said of several settings once: the policies of a folder have most settings in common.
fn tell_once(settings: &mut [Looked]) {
    let mut said = BTreeSet::new();
    for looked in settings {
        match &mut looked.said {
            Ok(remarks) => remarks.retain(|remark| said.insert((remark.rule.name(), remark.to_string()))),
            Err(InvalidSettings(problems)) => problems.retain(|problem| said.insert((INVALID.id, problem.clone()))),
        }
    }
}

impl Entry<'_> {
    /// `settings.yaml:4:1: error: registries: … [any-registry]`
    fn text(&self, paint: Paint) -> String {
        let Self { file, line, column, rule, severity, path, message, .. } = self;
        let spot: String = [line, column].into_iter().flatten().map(|number| format!(":{number}")).collect();
        let place = in_one_line(&format!("{file}{spot}:")).into_owned();
        let word = format!("{severity}:");
        let word = match severity.as_str() {
            "error" => paint.red(&word),
            "warning" => paint.yellow(&word),
            _ => paint.dim(&word),
        };
        let text = format!("{path}: {message}");
        let name = format!("[{rule}]");
        let page = page_of(rule).filter(|_| *rule != INVALID.id);
        let rule = page.map_or_else(|| paint.dim(&name), |page| paint.link(&page, &name));
        format!("{} {word} {} {}", paint.bold(&place), in_one_line(&text), paint.dim(&rule))
    }
}

/// What is said where there is nothing to say.
fn nothing_found(files: &[File]) -> String {
    let names: Vec<String> = files.iter().map(|file| document::name(&file.path)).collect();
    format!("no findings in {}", in_one_line(&names.join(", ")))
}

/// Where a rule is explained, if this is a release: another build doesn't know where its sources are.
fn page_of(rule: &str) -> Option<String> {
    let source = option_env!("IMAGE_ADMISSION_SOURCE")?;
    Some(format!("{source}/blob/v{}/docs/lint.md#{rule}", env!("CARGO_PKG_VERSION")))
}

/// What is said of settings that read reports which are files.
fn of_files(files: &ReportFiles, settings: &Settings) -> Vec<Remark> {
    let ReportFiles { deployment, folder } = files;
    let remark = |read: ReadKind| {
        let message = format!(
            "trivy-operator (Deployment `{deployment}`) writes its reports into files below `{folder}` and makes no `{}`, so that images wait for ever; set `alternateReportStorage.enabled: false` in its chart, or take another source",
            read.kind
        );
        Remark::new(LintRule::ReportFiles, read.path, message)
    };
    report_files::readers(settings).into_iter().map(remark).collect()
}

/// What is said of a file whose keys stand twice: each of them is wrong with the settings in its document.
fn ambiguous(file: &str, keys: &[Duplicate]) -> Vec<Looked> {
    let documents: BTreeSet<usize> = keys.iter().map(|key| key.document).collect();
    let look = |document: usize| {
        let own = || keys.iter().filter(|key| key.document == document);
        let found = Found { place: Place::document_of(file, document), policy: None, json: None };
        let said = Err(InvalidSettings(own().map(Duplicate::to_string).collect()));
        Looked { found, said, duplicates: own().map(|key| key.spot).collect() }
    };
    documents.into_iter().map(look).collect()
}

/// `namespace/shop` or `shop`, one a line.
fn names(text: &str) -> impl Iterator<Item = String> {
    let names = text.lines().map(|line| line.trim().trim_start_matches("namespace/"));
    names.filter(|name| !name.is_empty()).map(str::to_owned)
}
