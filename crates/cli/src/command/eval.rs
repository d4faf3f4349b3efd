//! `eval`: evaluates a query against what the policy's rules see of a request.

mod documents;
mod expressions;
mod results;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::host_options::{HostError, HostOptions};
use clap::{Args, ValueEnum};
use image_admission_host::{Host as EngineHost, WireHost};
use image_admission_module_host::answers::{Grants, engine_calls};
use regorus::Value;
use serde_json::value::RawValue;

use super::rego::{
    Data, Failure, Module, Problems, Program, RegoVersion, SourceError, Sources, VersionOptions, failure,
};
use super::terminal::{StandardOutput, errors};
use super::terminal::{printable, without_commands};
use super::{Ending, complain, invalid_settings, seconds};
use documents::{Documents, DocumentsError, Wanted, documents};
use image_admission_manifests::document;
use image_admission_manifests::document::DocumentError;
use image_admission_manifests::manifest::ManifestOptions;
use image_admission_manifests::request::{RequestError, RequestFile, requests_in};
use image_admission_manifests::settings::{Found, chosen};

const AFTER_HELP: &str = "\
Exit codes:
  0  the query was evaluated, whatever came of it
  1  something went wrong: the error says what
  3  the settings are not valid

Examples:
  image-admission eval -f pod.yaml --settings settings.yaml data.kubernetes.admission.deny
  image-admission eval -f review.json --settings settings.yaml --phase scan --images images.yaml --show input
  image-admission eval -f pod.yaml --settings settings.yaml --images images.yaml --show expressions
  image-admission eval --data policies/ --input review.json -o text 'input.request.object.spec.containers[i].image'";

/// Evaluate a Rego query against a request
///
/// Rules see the input and the data that they would see in a cluster. What is asked of the policy's host is answered
/// from files, from a recording, or by the real registries and cluster. Without a request and settings, a query is
/// evaluated against files alone.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Eval {
    /// What to evaluate, such as `data.kubernetes.admission.deny` or `x := input.request.kind; x.kind == "Pod"`
    #[arg(value_name = "QUERY", required_unless_present = "show", conflicts_with = "show")]
    query: Option<String>,

    /// The request: a manifest, an AdmissionReview or an AdmissionRequest, as YAML or JSON; `-` is the standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// The policy's settings: as they are, or in a ClusterAdmissionPolicy or AdmissionPolicy, also among other objects, or in what
    /// kustomize makes of a folder. Without them, every default
    #[arg(long, value_name = "FILE", requires = "file")]
    settings: Option<PathBuf>,

    /// Which policy's settings are meant, where the file has several: its name, or `<namespace>/<name>`
    #[arg(long, value_name = "NAME", requires = "settings")]
    settings_of: Option<String>,

    /// Whose input, data and rules are meant
    #[arg(long, value_enum, default_value = "policies", requires = "file")]
    phase: Phase,

    /// Which of the settings' `regoPolicies` is meant, if not the only one
    #[arg(long, value_name = "NAME", requires = "settings")]
    policy: Option<String>,

    /// The input, instead of a request's: any YAML or JSON; `-` is the standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    input: Option<PathBuf>,

    /// Files and folders with rules (.rego) and data (.json, .yaml), beside those of the settings. May be repeated
    #[arg(short, long, visible_alias = "rego", value_name = "PATH")]
    data: Vec<PathBuf>,

    /// Write what rules see, or what the settings' own expressions come to, and evaluate no query
    #[arg(long, value_name = "WHAT", value_enum)]
    show: Option<Show>,

    /// How to write the results
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "json")]
    output: Format,

    /// How long evaluating may take
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    timeout: Duration,

    #[command(flatten)]
    version: VersionOptions,

    #[command(flatten)]
    manifests: ManifestOptions,

    #[command(flatten, next_help_heading = "Where the policy's questions are answered")]
    host: HostOptions,
}

/// Whose rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Phase {
    /// The rules of `preScanPolicies`
    PreScan,
    /// The rules of `scanPolicies`
    Scan,
    /// A policy of `regoPolicies`, with its libraries
    Policies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Show {
    /// The input document
    Input,
    /// The data that isn't made by rules
    Data,
    /// The rules' texts
    Rules,
    /// As JSON, what every expression of `imageVerification` came to, what it saw, and what it asked
    Expressions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As `opa eval` writes it
    Json,
    /// The same as YAML
    Yaml,
    /// For people: the value alone, or a table of all values
    #[value(alias = "pretty")]
    Text,
    /// The values alone, strings without quotes, a line for each result
    Raw,
}

impl Eval {
    /// Evaluates the query, and writes the results to `output`.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, EvalError> {
        let ended = match self.show {
            Some(Show::Expressions) => self.expressions(output),
            _ => self.answer(output),
        };
        match ended {
            Err(EvalError::Documents(DocumentsError::InvalidSettings(problems))) => {
                complain(&invalid_settings(self.settings.as_deref(), &problems));
                Ok(Ending::InvalidSettings)
            }
            ended => ended.map(|()| Ending::Done),
        }
    }

    /// Writes what the expressions of `imageVerification` came to.
    fn expressions(&self, output: &mut impl StandardOutput) -> Result<(), EvalError> {
        let file = self.file.as_ref().ok_or(EvalError::WithoutRequest("--show expressions"))?;
        let found = self.ask(file, |request, settings, host| expressions::expressions(request, settings, host))?;
        results::data(&found, output)?;
        output.flush()?;
        Ok(())
    }

    /// Writes the answer to the query, or what rules see.
    fn answer(&self, output: &mut impl StandardOutput) -> Result<(), EvalError> {
        let version = self.version.version();
        let Documents { input, data, mut modules } = self.documents()?;
        let mut data = vec![Data { name: "the policy's data".to_owned(), value: data }];
        let sources = Sources::load(&self.data, version, BTreeSet::new())?;
        modules.extend(sources.modules);
        data.extend(sources.data);
        match (&self.query, self.show) {
            (Some(query), _) => self.evaluate(query, input, data, modules, version, output)?,
            (None, Some(Show::Input)) => results::document(&input, output)?,
            (None, Some(Show::Data)) => {
                let program = Program::new(Vec::new(), data, version, self.timeout)?;
                results::document(&program.engine().get_data(), output)?;
            }
            (None, Some(Show::Rules | Show::Expressions) | None) => results::rules(&modules, output)?,
        }
        output.flush()?;
        Ok(())
    }

    fn evaluate(
        &self,
        query: &str,
        input: Value,
        data: Vec<Data>,
        modules: Vec<Module>,
        version: RegoVersion,
        output: &mut impl Write,
    ) -> Result<(), EvalError> {
        let mut engine = Program::new(modules, data, version, self.timeout)?.engine();
        engine.set_input(input);
        let evaluated = engine.eval_query(query.to_owned(), false);
        for print in engine.take_prints().unwrap_or_default() {
            // Nobody listening is no reason to write no results.
            let _ = writeln!(errors(), "{}", without_commands(&printable(&print)));
        }
        let found = evaluated.map_err(|error| EvalError::Failure(failure!(error)))?;
        match self.output {
            Format::Json => results::json(&found, output)?,
            Format::Yaml => results::yaml(&found, output)?,
            Format::Text => results::pretty(&found, output)?,
            Format::Raw => results::raw(&found, output)?,
        }
        Ok(())
    }

    /// What the options say that rules see.
    fn documents(&self) -> Result<Documents, EvalError> {
        let Some(file) = &self.file else {
            if let Some(option) = self.manifests.given() {
                return Err(EvalError::WithoutRequest(option));
            }
            let input = self.input.as_deref().map(input).transpose()?;
            return Ok(Documents::of_input(input.unwrap_or(Value::Undefined)));
        };
        let wanted = Wanted { phase: self.phase, policy: self.policy.as_deref() };
        self.ask(file, |request, settings, host| documents(request, settings, host, &wanted))
    }

    /// What something makes of the request in a file, by the settings, with the host that the options name.
    fn ask<T>(
        &self,
        file: &Path,
        of: impl FnOnce(&RawValue, Option<&RawValue>, &dyn EngineHost) -> Result<T, DocumentsError>,
    ) -> Result<T, EvalError> {
        let request = self.request(file)?;
        let own = |path| chosen(path, self.settings_of.as_deref());
        let found = self.settings.as_deref().map(own).transpose()?.flatten();
        let host = self.host.open(found.as_ref().map_or_else(Grants::everything, Found::grants))?;
        let settings = found.and_then(|found| found.json);
        let answers = host.answers();
        let found = of(&request, settings.as_deref(), &WireHost(engine_calls(answers.as_ref())));
        // What was asked until something went wrong is worth a look too.
        host.save_recording()?;
        Ok(found?)
    }

    /// The one request that a file asks for.
    fn request(&self, file: &Path) -> Result<Box<RawValue>, EvalError> {
        let file_of_one = RequestFile { path: file.to_owned(), is_named: true };
        let mut found = requests_in(&[file_of_one], &self.manifests)?.requests;
        match found.pop() {
            None => Err(RequestError::Empty(document::name(file)).into()),
            Some(request) if found.is_empty() => Ok(request.json),
            Some(_) => Err(EvalError::SeveralRequests { file: document::name(file), number: found.len() + 1 }),
        }
    }
}

/// The one document of a file, as input.
fn input(path: &Path) -> Result<Value, EvalError> {
    let unusable = |problem: String| EvalError::Input { file: document::name(path), problem };
    let mut documents = document::documents(path)?.into_iter();
    match (documents.next(), documents.next()) {
        (None, _) => Err(RequestError::Empty(document::name(path)).into()),
        (Some(document), None) => {
            Value::from_json_str(document.json.get()).map_err(|error| unusable(error.to_string()))
        }
        (Some(_), Some(_)) => Err(unusable("it has several documents; the input is one".to_owned())),
    }
}

/// Why nothing was evaluated.
#[derive(Debug, thiserror::Error)]
pub(super) enum EvalError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A file with rules or data can't be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file has no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The file has more than one.
    #[error("{file} has {number} requests; a query is evaluated against one")]
    SeveralRequests {
        /// The file.
        file: String,
        /// How many.
        number: usize,
    },
    /// An option is for requests, and there is none.
    #[error("`{0}` is for requests; name one with `--file`")]
    WithoutRequest(&'static str),
    /// The input is no input.
    #[error("{file} can't be the input: {problem}")]
    Input {
        /// The file.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no such host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The settings have no such rules, or nothing can be made of the request.
    #[error(transparent)]
    Documents(#[from] DocumentsError),
    /// The rules don't compile.
    #[error(transparent)]
    Problems(#[from] Problems),
    /// The query went wrong.
    #[error("{}", words(_0))]
    Failure(Failure),
    /// The results can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

fn words(failure: &Failure) -> String {
    match failure {
        Failure::Time(_) => format!("the query was stopped: {failure}; `--timeout` gives it more time"),
        Failure::Problem(problem) => problem.to_string(),
    }
}
