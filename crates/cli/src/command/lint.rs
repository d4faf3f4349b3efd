//! `lint`: what settings say that may not be meant.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use image_admission_engine::Timestamp;
use image_admission_engine::check_settings;
use image_admission_engine::settings::{Lint as Remark, LintRule, Settings};
use serde::Serialize;
use serde_json::Value;

use super::document::{self, DocumentError};
use super::terminal::{Paint, in_one_line, without_commands};
use super::{Ending, complain, invalid_settings};

const AFTER_HELP: &str = "\
A file has settings, or policies (ClusterAdmissionPolicy, AdmissionPolicy) whose settings are looked at; other objects beside
them are not.

Exit codes:
  0  there is nothing to remark
  1  something went wrong: the error says what
  2  there is
  3  the settings are not valid

Examples:
  image-admission lint settings.yaml
  image-admission lint --allow any-registry deploy/cluster-admission-policy.yaml
  kubectl get namespaces -o name | image-admission lint --namespaces - settings.yaml";

/// Look for what settings say that may not be meant
///
/// Rules that never decide, rules that let in more than they seem to, exemptions that have ended, namespaces that nobody has.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Lint {
    /// Settings, or policies with their settings, as YAML or JSON; `-` is the standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The namespaces that the cluster has, one a line as `kubectl get namespaces -o name` writes them
    #[arg(long, value_name = "FILE")]
    namespaces: Option<PathBuf>,

    /// Leave out remarks that are meant, by the name that stands in brackets behind them. May be repeated
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(LintRule::ALL.map(LintRule::name)))]
    allow: Vec<String>,

    /// How to write what was found
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs: a list with an entry for each remark
    Json,
}

/// Something that was found, as programs read it.
#[derive(Debug, Serialize)]
struct Entry {
    file: String,
    rule: &'static str,
    path: String,
    message: String,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub(super) enum LintError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// There is nothing to look at.
    #[error("no settings in {0}: write those of the policy, or give a ClusterAdmissionPolicy")]
    NoSettings(String),
    /// What is read can be read once.
    #[error("the standard input can't be both the settings and the namespaces")]
    InputTwice,
    /// The output can't be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl Lint {
    /// Looks at every file, and writes what was found to `output`.
    pub(super) fn execute(&self, output: &mut (impl Write + IsTerminal)) -> Result<Ending, LintError> {
        let is_input = |path: &Path| path == Path::new("-");
        if self.namespaces.as_deref().is_some_and(is_input) && self.files.iter().any(|path| is_input(path)) {
            return Err(LintError::InputTwice);
        }
        let namespaces = self.namespaces.as_deref().map(document::text).transpose()?;
        let namespaces: Option<BTreeSet<String>> = namespaces.as_deref().map(|text| names(text).collect());
        let mut entries = Vec::new();
        let (mut is_valid, mut is_empty) = (true, true);
        for path in &self.files {
            for Found { settings, leaves_out_kube_system } in settings_of(path)? {
                is_empty = false;
                match check_settings(&settings) {
                    Ok(settings) => {
                        let mut own = self.entries(path, &settings, namespaces.as_ref());
                        own.retain(|entry| !(leaves_out_kube_system && entry.rule == LintRule::KubeSystem.name()));
                        entries.extend(own);
                    }
                    Err(problems) => {
                        is_valid = false;
                        complain(&invalid_settings(Some(path), &problems.to_string()));
                    }
                }
            }
        }
        if is_empty {
            let files: Vec<String> = self.files.iter().map(|path| document::name(path)).collect();
            return Err(LintError::NoSettings(files.join(", ")));
        }
        self.write(&entries, output)?;
        Ok(match (is_valid, entries.is_empty()) {
            (false, _) => Ending::InvalidSettings,
            (true, true) => Ending::Done,
            (true, false) => Ending::Remarked,
        })
    }

    fn entries(&self, path: &Path, settings: &Settings, namespaces: Option<&BTreeSet<String>>) -> Vec<Entry> {
        let file = path.display().to_string();
        let remarks = settings.lint(now(), namespaces).into_iter();
        let remarks = remarks.filter(|remark| !self.allow.iter().any(|allowed| allowed == remark.rule.name()));
        remarks
            .map(|Remark { rule, path, message }| Entry { file: file.clone(), rule: rule.name(), path, message })
            .collect()
    }

    fn write(&self, entries: &[Entry], output: &mut (impl Write + IsTerminal)) -> io::Result<()> {
        if self.output == Output::Json {
            writeln!(output, "{}", serde_json::to_string_pretty(entries).map_err(io::Error::from)?)?;
            return output.flush();
        }
        let paint = Paint::for_output(output);
        for Entry { file, rule, path, message } in entries {
            let (place, text) = (format!("{file}: {path}"), format!("{message} "));
            let rule = format!("[{rule}]");
            let line = format!("{}: {}{}", paint.bold(&in_one_line(&place)), in_one_line(&text), paint.dim(&rule));
            writeln!(output, "{}", without_commands(&line))?;
        }
        output.flush()
    }
}

/// `namespace/shop` or `shop`, one a line.
fn names(text: &str) -> impl Iterator<Item = String> {
    let names = text.lines().map(|line| line.trim().trim_start_matches("namespace/"));
    names.filter(|name| !name.is_empty()).map(str::to_owned)
}

/// Settings that were found.
struct Found {
    settings: Value,
    /// Whether the policy that they belong to never sees `kube-system`.
    leaves_out_kube_system: bool,
}

/// The settings of a file: what it has, or those of the policies in it.
fn settings_of(path: &Path) -> Result<Vec<Found>, LintError> {
    let mut found = Vec::new();
    let mut has_objects = false;
    for document in document::documents(path)? {
        // It was read as JSON before.
        let value: Value = serde_json::from_str(document.json.get()).map_err(io::Error::from)?;
        let (Some(version), Some(kind)) = (text(&value, "/apiVersion"), text(&value, "/kind")) else {
            found.push(Found { settings: value, leaves_out_kube_system: false });
            continue;
        };
        has_objects = true;
        let leaves_out_kube_system = match kind {
            "ClusterAdmissionPolicy" => leaves_out_kube_system(&value),
            "AdmissionPolicy" => text(&value, "/metadata/namespace") != Some("kube-system"),
            _ => continue,
        };
        if version.starts_with("policies.kubewarden.io/") {
            let settings = value.pointer("/spec/settings").cloned().unwrap_or_default();
            found.push(Found { settings, leaves_out_kube_system });
        }
    }
    if found.is_empty() && !has_objects {
        // An empty file is settings that say nothing.
        found.push(Found { settings: Value::Null, leaves_out_kube_system: false });
    }
    Ok(found)
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Whether a ClusterAdmissionPolicy's selector says `kubernetes.io/metadata.name NotIn [kube-system, …]`.
fn leaves_out_kube_system(policy: &Value) -> bool {
    let expressions = policy.pointer("/spec/namespaceSelector/matchExpressions").and_then(Value::as_array);
    expressions.into_iter().flatten().any(|expression| {
        let values = expression.get("values").and_then(Value::as_array);
        let is_named = values.into_iter().flatten().any(|value| value == "kube-system");
        text(expression, "/key") == Some("kubernetes.io/metadata.name")
            && match text(expression, "/operator") {
                Some("NotIn") => is_named,
                Some("In") => !is_named,
                _ => false,
            }
    })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
