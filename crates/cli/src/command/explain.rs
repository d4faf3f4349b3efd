//! `explain`: which settings reject a request, what to do about its images, and a small change of the settings that would
//! have admitted it.

mod text;

use std::io::{self, Write};
use std::sync::Arc;

use crate::host_options::HostOptions;
use clap::Args;
use image_admission_engine::{Decision, check_settings};
use image_admission_explain::{Explanation, explain};
use image_admission_host::WireHost;
use image_admission_module_host::answers::{HostAnswers, engine_calls};
use image_admission_module_host::runtime::LogEntry;
use serde::Serialize;
use serde_json::Value;

use super::decision::DecisionOptions;
use super::files::recursive;
use super::kept::{Kept, Observed};
use super::output::{Format, json, yaml};
use super::policy::{self, Policy, PolicyError};
use super::report_files;
use super::run::RunError;
use super::terminal::{Paint, StandardOutput, errors, without_commands};
use super::{Ending, warn};
use image_admission_manifests::manifest::ManifestOptions;
use image_admission_manifests::request::Subject;

const AFTER_HELP: &str = "\
What to do about an image comes first: which packages to update, who must sign it, what to wait for. Then comes a change of the
settings, with what it opens beside this image. It is tried: with it the request is admitted, and without any part of it it
isn't. What rules in Rego reject has no change but of the rules, and an object that is wrong by itself has none. Of an
exemption only the reason is missing, which is yours to say.

Exit codes:
  0  every request is allowed; that its Pods wait is said
  1  something went wrong, or nobody was there to answer what the policy asked: it is said what
  2  at least one request is denied
  3  the settings are not valid

Examples:
  image-admission explain -f pod.yaml --settings settings.yaml --images images.yaml --cluster cluster/
  image-admission explain -f pod.yaml --settings settings.yaml --live
  image-admission explain -f review.json --settings settings.yaml --replay session.yaml -o json";

/// Say which settings reject a request, and what to do about it
///
/// The policy's module decides, as for `run`; then changes of the settings are tried with the same answers to what the policy
/// asks.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, arg = recursive(), mut_arg("files", |files| files.required_unless_present("file")))]
pub(super) struct Explain {
    #[command(flatten)]
    asked: DecisionOptions,

    /// How to write the explanations
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Format,

    #[command(flatten)]
    manifests: ManifestOptions,

    #[command(flatten, next_help_heading = "Where the policy's questions are answered")]
    host: HostOptions,
}

/// An explanation for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    request: String,
    allowed: bool,
    #[serde(flatten)]
    explanation: Explanation,
    /// What whoever asks is told beside the verdict.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// What the policy asks, or would ask after a change, and nobody is there to answer: no change can be tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    unanswered: Option<String>,
}

impl Explain {
    /// Explains everything, and writes the explanations to `output`.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, RunError> {
        let requests = self.asked.requests(&self.manifests)?;
        let (settings, grants) = self.asked.settings(&requests)?;
        let written: Value = serde_json::from_str(settings.get()).map_err(io::Error::from)?;
        let host = self.host.open(grants)?;
        host.remark().into_iter().for_each(warn);
        let answers: Arc<dyn HostAnswers> = Arc::new(Kept::new(host.answers()));
        let module = Arc::new(self.asked.module.compile(self.asked.timeout)?);
        let policy =
            match Policy::new(module, self.asked.module.path().to_owned(), settings, Arc::clone(&answers), &mut log) {
                Err(PolicyError::InvalidSettings(problems)) => {
                    self.asked.complain_of_settings(&problems);
                    return Ok(Ending::InvalidSettings);
                }
                policy => policy?,
            };
        let reads_trivy_operator =
            check_settings(&written).is_ok_and(|settings| !report_files::readers(&settings).is_empty());
        let (paint, mut entries, mut ending) = (Paint::for_output(output), Vec::new(), Ending::Allowed);
        for request in &requests {
            let asked = Arc::new(Observed::new(Arc::clone(&answers)));
            let answer = policy.answer(&request.json, Arc::clone(&asked) as Arc<dyn HostAnswers>, &mut log)?;
            if !answer.response.accepted && ending != Ending::Failed {
                ending = Ending::Denied;
            }
            let now = answer.decision.decided_at;
            let tried = Observed::new(Arc::clone(&answers));
            let explained = explain(Some(&request.json), &written, &WireHost(engine_calls(&tried)), now);
            let (decision, mut explanation): (Decision, Explanation) =
                explained.map_err(|problems| PolicyError::InvalidSettings(problems.to_string()))?;
            if report_files::waits(&explanation) && reads_trivy_operator {
                // Who can't be asked says nothing: the module itself never asks this.
                if let Ok(Some(files)) = report_files::find(&*answers) {
                    report_files::advise(&mut explanation, &files);
                }
            }
            // What the policy makes of having no answer is no change that anybody needs. A question that only a change
            // brings up leaves the policy's own answer as it is.
            if host.unanswered_of(&asked.calls()).is_some() {
                ending = Ending::Failed;
            }
            let unanswered = host.unanswered_of(&tried.calls());
            if unanswered.is_some() {
                (explanation.change, explanation.stuck) = (None, None);
            }
            let subject = Subject::of(&request.json);
            let refused = decision.whole_glass.as_ref().map(ToString::to_string);
            let warnings: Vec<String> = answer.response.warnings.into_iter().chain(refused).collect();
            match self.output {
                Format::Text => {
                    let text = text::text(&subject, &explanation, &warnings, unanswered.as_deref(), paint);
                    write!(output, "{}", without_commands(&text))?
                }
                Format::Json | Format::Yaml => entries.push(Entry {
                    request: subject.to_string(),
                    allowed: answer.response.accepted,
                    explanation,
                    warnings,
                    unanswered,
                }),
            }
        }
        match self.output {
            Format::Text => {}
            Format::Json => write!(output, "{}", json(&entries)?)?,
            Format::Yaml => write!(output, "{}", yaml(&entries)?)?,
        }
        output.flush()?;
        host.save_recording()?;
        Ok(ending)
    }
}

/// Passes on a line of the policy's log.
fn log(entry: &LogEntry) {
    let _ = writeln!(errors(), "{}", without_commands(&policy::log_line(entry)));
}
