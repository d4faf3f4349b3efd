//! `run`: decides requests with the policy's module, and explains each decision.

mod data;
mod error;
mod tally;
mod text;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use image_admission_cli::answers::Grants;
use image_admission_cli::host_options::{Host, HostOptions};
use image_admission_cli::runtime::LogEntry;
use image_admission_engine::AdmissionRequest;

use super::decision::DecisionOptions;
use super::manifest::ManifestOptions;
use super::policy::{self, Policy, PolicyError};
use super::request::{Request, Subject, requests_in};
use super::terminal::{Paint, json_without_commands, without_commands};
use super::{Ending, HOW_TO_ANSWER, complain, warn};
use data::Entry;
pub(super) use error::RunError;
use tally::Tally;

const AFTER_HELP: &str = "\
Exit codes:
  0  every request is allowed
  1  something went wrong: the error says what
  2  at least one request is denied
  3  the settings are not valid

Examples:
  image-admission run -f pod.yaml --settings settings.yaml --images images.yaml --cluster cluster/
  image-admission run -f deployment.yaml --live --record session.yaml
  kubectl get pods --all-namespaces -o json | image-admission run -f - --live";

/// Decide requests or manifests, and explain the decision
///
/// The policy's module decides, as it does in a cluster. What it asks of its host is answered from files, from a
/// recording, or by the real registries and cluster.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Run {
    #[command(flatten)]
    asked: DecisionOptions,

    /// How to write what was decided
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Output,

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
}

impl Run {
    /// Decides everything, and writes the decisions to `output`.
    pub(super) fn execute(&self, output: &mut (impl Write + IsTerminal)) -> Result<Ending, RunError> {
        let settings = self.asked.settings()?;
        let requests = requests_in(&self.asked.files, &self.manifests)?;
        let host = self.host.open(Grants::everything())?;
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
            warn(&format!("nobody is there to answer `{call}`: {HOW_TO_ANSWER}"));
        }
        Ok(ending)
    }

    fn decide(
        &self,
        policy: &Policy,
        requests: &[Request],
        host: &Host,
        output: &mut (impl Write + IsTerminal),
    ) -> Result<Ending, RunError> {
        let paint = Paint::for_output(output);
        let mut entries = Vec::new();
        let mut tally = Tally::default();
        for request in requests {
            let subject = Subject::of(&request.json);
            match policy.answer(&request.json, host.answers(), &mut log) {
                Ok(answer) => {
                    tally.count(answer.response.accepted);
                    if self.output == Output::Text {
                        let object = AdmissionRequest::read(Some(&request.json)).and_then(|request| request.object());
                        let text = text::text(&subject, &answer, object.ok().as_ref(), paint);
                        write!(output, "{text}{}", if requests.len() > 1 { "\n\n" } else { "" })?;
                    } else {
                        entries.push(Entry::answered(&subject, answer));
                    }
                }
                Err(PolicyError::NoAnswer(why)) => {
                    tally.unanswered += 1;
                    complain(&format!("{}, {subject}: {why}", request.place));
                    entries.push(Entry::unanswered(&subject, why.to_string()));
                }
                Err(other) => return Err(other.into()),
            }
        }
        match self.output {
            Output::Text if requests.len() > 1 => writeln!(output, "{tally}")?,
            Output::Text => {}
            Output::Json => {
                let text = serde_json::to_string_pretty(&entries).map_err(io::Error::from)?;
                writeln!(output, "{}", json_without_commands(&text))?;
            }
            Output::Yaml => write!(output, "{}", yaml_serde::to_string(&entries).map_err(io::Error::other)?)?,
        }
        output.flush()?;
        Ok(tally.ending())
    }
}

/// Passes on a line of the policy's log.
fn log(entry: &LogEntry) {
    // Nobody listening is no reason to decide nothing.
    let _ = writeln!(io::stderr(), "{}", without_commands(&policy::log_line(entry)));
}
