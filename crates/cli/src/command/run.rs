//! `run`: decides requests with the policy's module, and explains each decision.

mod data;
mod error;
mod results;
mod table;
mod tally;
mod text;

use std::io::Write;
use std::sync::Arc;

use crate::host_options::{Host, HostOptions};
use clap::{Args, ValueEnum};
use image_admission_engine::AdmissionRequest;
use image_admission_module_host::runtime::LogEntry;

use super::decision::DecisionOptions;
use super::files::recursive;
use super::output::{annotations, json, junit, sarif, yaml};
use super::policy::{self, Policy, PolicyError};
use super::terminal::{Paint, StandardOutput, errors, without_commands};
use super::{Ending, complain, nobody_answers, warn};
use data::Entry;
pub(super) use error::RunError;
use image_admission_manifests::manifest::ManifestOptions;
use image_admission_manifests::request::{Request, Subject};
use results::{Answered, Files};
use table::Table;
use tally::Tally;

const AFTER_HELP: &str = "\
Several requests end with a table: each object, the verdict, and the first reason for it.

Exit codes:
  0  every request is allowed
  1  something went wrong, or nobody was there to answer what the policy asked: the error says what
  2  at least one request is denied
  3  the settings are not valid

Examples:
  image-admission run -f pod.yaml --settings settings.yaml --images images.yaml --cluster cluster/
  image-admission run -f deployment.yaml --live --record session.yaml
  kustomize build overlays/production | image-admission run -f - --settings all.yaml --settings-of image-admission
  kubectl get pods --all-namespaces -o json | image-admission run -f - --live --denied-only --group-by image";

/// Decide requests or manifests, and explain the decision
///
/// The policy's module decides, as it does in a cluster. What it asks of its host is answered from files, from a
/// recording, or by the real registries and cluster.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, arg = recursive(), mut_arg("files", |files| files.required_unless_present("file")))]
pub(super) struct Run {
    #[command(flatten)]
    asked: DecisionOptions,

    /// How to write what was decided
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Output,

    /// Leave out what is allowed
    #[arg(long)]
    denied_only: bool,

    /// Write one table alone, with a line for each image or each object
    #[arg(long, value_name = "WHAT", value_enum)]
    group_by: Option<Group>,

    #[command(flatten)]
    manifests: ManifestOptions,

    #[command(flatten, next_help_heading = "Where the policy's questions are answered")]
    host: HostOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs: a list with an entry for each request
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

/// What a line of the table is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Group {
    /// An image, whatever objects name it
    Image,
    /// An object
    Object,
}

impl Run {
    /// Decides everything, and writes the decisions to `output`.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, RunError> {
        if self.group_by.is_some() && !self.is_for_people() {
            return Err(RunError::TableForPrograms);
        }
        let requests = self.asked.requests(&self.manifests)?;
        let (settings, grants) = self.asked.settings(&requests)?;
        let host = self.host.open(grants)?;
        host.remark().into_iter().for_each(warn);
        let module = Arc::new(self.asked.module.compile(self.asked.timeout)?);
        let policy = match Policy::new(module, self.asked.module.path().to_owned(), settings, host.answers(), &mut log)
        {
            Err(PolicyError::InvalidSettings(problems)) => {
                self.asked.complain_of_settings(&problems);
                return Ok(Ending::InvalidSettings);
            }
            policy => policy?,
        };
        let ending = self.decide(&policy, &requests, &host, output);
        // What was asked until something went wrong is worth a look too.
        host.save_recording()?;
        let ending = ending?;
        let leftovers = host.answers().leftovers();
        if !leftovers.is_empty() {
            return Err(RunError::Leftovers(leftovers));
        }
        if let Some(call) = host.unanswered() {
            // An image that nobody could look up is denied too, and that looks like a result.
            complain(&nobody_answers(&call));
            return Ok(Ending::Failed);
        }
        Ok(ending)
    }

    fn is_for_people(&self) -> bool {
        matches!(self.output, Output::Text | Output::Github)
    }

    fn decide(
        &self,
        policy: &Policy,
        requests: &[Request],
        host: &Host,
        output: &mut impl StandardOutput,
    ) -> Result<Ending, RunError> {
        let paint = Paint::for_output(output);
        let (mut tally, mut table) = (Tally::default(), Table::new(self.group_by.unwrap_or(Group::Object)));
        let (mut entries, mut checks) = (Vec::new(), Vec::new());
        // Only those who read on look for lines.
        let has_lines = matches!(self.output, Output::Sarif | Output::Github | Output::Junit);
        let texts = Files::of(if has_lines { requests } else { &[] });
        let files = texts.lines();
        for request in requests {
            let subject = Subject::of(&request.json);
            let answer = match policy.answer(&request.json, host.answers(), &mut log) {
                Ok(answer) => Answered::Answer(Box::new(answer)),
                Err(PolicyError::NoAnswer(why)) => Answered::Nothing(why.to_string()),
                Err(other) => return Err(other.into()),
            };
            match &answer {
                Answered::Answer(answer) => tally.count(answer.response.accepted),
                Answered::Nothing(why) => {
                    tally.unanswered += 1;
                    complain(&format!("{}, {subject}: {why}", request.place));
                }
            }
            if self.denied_only && answer.is_allowed() {
                continue;
            }
            let check = results::check(&request.place, &subject, &answer, &files);
            table.add(&subject, &answer, &check, self.denied_only);
            if self.is_for_people()
                && self.group_by.is_none()
                && let Answered::Answer(answer) = &answer
            {
                let object = AdmissionRequest::read(Some(&request.json)).and_then(|request| request.object());
                let text = text::text(&subject, answer, object.ok().as_ref(), paint);
                write!(output, "{text}{}", if requests.len() > 1 { "\n\n" } else { "" })?;
            }
            match self.output {
                Output::Text => {}
                Output::Github => write!(output, "{}", annotations(&check))?,
                Output::Sarif | Output::Junit => checks.push(check),
                Output::Json | Output::Yaml => entries.push(match answer {
                    Answered::Answer(answer) => Entry::answered(&subject, *answer),
                    Answered::Nothing(why) => Entry::unanswered(&subject, why),
                }),
            }
        }
        match self.output {
            Output::Text | Output::Github if requests.len() > 1 || self.group_by.is_some() => {
                write!(output, "{}", table.text(paint))?;
                writeln!(output, "{tally}")?;
            }
            Output::Text | Output::Github => {}
            Output::Json => {
                write!(output, "{}", json(&entries)?)?;
            }
            Output::Yaml => write!(output, "{}", yaml(&entries)?)?,
            Output::Sarif => write!(output, "{}", sarif(&results::results(checks)))?,
            Output::Junit => write!(output, "{}", junit(&results::results(checks)))?,
        }
        output.flush()?;
        Ok(tally.ending())
    }
}

/// Passes on a line of the policy's log.
fn log(entry: &LogEntry) {
    // Nobody listening is no reason to decide nothing.
    let _ = writeln!(errors(), "{}", without_commands(&policy::log_line(entry)));
}
