//! `audit`: what settings would do to everything that runs in a cluster.

mod cluster;
mod collection;
mod denial;
mod granted;
mod html;
mod judgement;
mod object;
mod ownership;
mod report;
mod results;
mod selection;
mod table;
mod time_limit;

use std::collections::BTreeSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::host_options::{HostError, HostOptions};
use clap::{Args, ValueEnum};
use image_admission_module_host::answers::Grants;
use serde_json::Value;

use super::files::{FilesError, recursive};
use super::kept::Kept;
use super::output::{annotations, json, junit, sarif, yaml};
use super::parallel::in_parallel;
use super::policy::now;
use super::progress::Progress;
use super::rego::start_clock;
use super::terminal::{Paint, StandardOutput};
use super::{Ending, complain, invalid_settings, nobody_answers, seconds, warn};
use collection::Collection;
use image_admission_manifests::document::{self, DocumentError};
use image_admission_manifests::manifest::{Making, Operation};
use image_admission_manifests::request::RequestError;
use image_admission_manifests::settings::{FoundPolicy, chosen};
use judgement::{Judged, Judgement, Rules};
use object::Object;
use report::{Decided, NotJudged, Report};
use time_limit::TimeLimited;

const AFTER_HELP: &str = "\
The engine that the policy's module is made of decides each object as if it were created now; the module isn't needed. What the
settings aren't about, or the policy's own selectors leave out, is passed over and counted, and so are Pods and Jobs that have ended
and the ReplicaSets that a Deployment keeps of earlier revisions. Pods and ReplicaSets are shown under the controller that has made them, if that is there too.

Exit codes:
  0  everything is admitted; with --against, nothing is newly denied
  1  something went wrong, nobody was there to answer what was asked, or there is nothing to judge: the error says what
  2  something is denied; with --against, newly
  3  the settings are not valid

Examples:
  image-admission audit --live --settings settings.yaml
  image-admission audit --live -n shop --settings new.yaml --against current.yaml --denied-only
  image-admission audit -f manifests/ --settings settings.yaml --images images.yaml --cluster cluster/
  kubectl get pods,deployments -A -o yaml | image-admission audit -f - --settings settings.yaml --live -o html > audit.html";

/// Say what settings would do to everything that runs in a cluster
///
/// Of a cluster every workload is listed and decided: Pods, Deployments, ReplicaSets, StatefulSets, DaemonSets,
/// ReplicationControllers, Jobs and CronJobs. Of files, every object that the settings are about.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, arg = recursive())]
pub(super) struct Audit {
    /// What to decide: files and folders with manifests, dumps of `kubectl get`, or what kustomize writes, as YAML or JSON; `-` is
    /// the standard input. Without it the workloads of the cluster that `--live` asks
    #[arg(value_name = "PATH")]
    files: Vec<PathBuf>,

    /// The same. May be repeated
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// Look at this namespace only. Objects in files that name none belong to it [default: all; those that name none belong to
    /// `default`]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// The policy's settings: as they are, or in a ClusterAdmissionPolicy or AdmissionPolicy, also among other objects, or in what
    /// kustomize makes of a folder. Without them, every default
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Which policy's settings are meant, where a file has several: its name, or `<namespace>/<name>`
    #[arg(long, value_name = "NAME", requires = "settings")]
    settings_of: Option<String>,

    /// Tell only what would change, compared with these settings: those that the cluster has now
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,

    /// Which policy's settings are compared, where that file has several
    #[arg(long, value_name = "NAME", requires = "against")]
    against_of: Option<String>,

    /// Tell only of what is denied, or newly denied
    #[arg(long)]
    denied_only: bool,

    /// How to write what was found
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "table")]
    output: Output,

    /// How long to wait for one answer of a registry or the cluster
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    timeout: Duration,

    #[command(flatten, next_help_heading = "Where the policy's questions are answered")]
    host: HostOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: by namespace and image
    Table,
    /// For programs: docs/audit.md has its shape
    Json,
    /// The same as YAML
    Yaml,
    /// One page with charts, which needs nothing else
    Html,
    /// For code scanning: SARIF 2.1.0
    Sarif,
    /// For people, with annotations for GitHub's workflows
    Github,
    /// For CI systems: JUnit's XML
    Junit,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub(super) enum AuditError {
    /// Settings can't be read.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// There is nothing to look at.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// There is no such host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// No request can be made.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// Nobody says what to look at.
    #[error("nothing to look at: name files or folders, or ask the cluster with `--live`")]
    NoSource,
    /// Everything was passed over.
    #[error("nothing in {0} is judged by these settings")]
    Nothing(String),
    /// The output can't be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

/// What came of one object.
enum Came {
    /// With these settings, and with those that they are compared with.
    Judged(Judgement, Option<Judgement>),
    /// The settings aren't about it.
    NotJudged,
    /// The policy leaves it out, by this selector or condition.
    LeftOut(String),
    /// No request can be made of it.
    Failed(String),
}

/// An object that was looked at.
struct Looked {
    came: Came,
    /// Why nobody knows whether the policy leaves it out.
    unknown: Vec<String>,
}

impl Looked {
    fn of(came: Came) -> Self {
        Self { came, unknown: Vec::new() }
    }

    /// What some settings made of it, and others that they are compared with: what those leave out is admitted by them.
    fn judged(with: Judged, before: Option<Judged>) -> Self {
        let admitted = || Judgement { is_admitted: true, ..Judgement::default() };
        let is_compared = before.is_some();
        let (before, before_unknown) = before.map_or((None, None), |before| (before.judgement, before.problem));
        let came = match (with.judgement, before, with.left_out) {
            (None, None, Some(by)) => Came::LeftOut(by),
            (None, None, None) => Came::NotJudged,
            (with, before, _) => {
                Came::Judged(with.unwrap_or_else(admitted), is_compared.then(|| before.unwrap_or_else(admitted)))
            }
        };
        Self { came, unknown: with.problem.into_iter().chain(before_unknown).collect() }
    }
}

impl Audit {
    /// Every file and folder.
    fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.file).cloned().collect()
    }

    /// Decides everything, and writes what was found to `output`.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, AuditError> {
        if self.paths().is_empty() && !self.host.live {
            return Err(AuditError::NoSource);
        }
        start_clock();
        let rules = rules(self.settings.as_deref(), self.settings_of.as_deref())?;
        let against = self.against.as_deref().map(|path| rules_in(path, self.against_of.as_deref())).transpose()?;
        let (Some(rules), Some(against)) = (rules, against.map_or(Some(None), |rules| rules.map(Some))) else {
            return Ok(Ending::InvalidSettings);
        };
        let needs_namespaces = [Some(&rules), against.as_ref()].into_iter().flatten().any(Rules::needs_namespaces);
        let collection = self.collect(needs_namespaces)?;
        let host = self.host.open(Grants::everything())?;
        host.remark().into_iter().for_each(warn);
        let kept = Kept::new(Arc::new(TimeLimited::new(host.answers(), self.timeout)));
        let mut report = self.decide(&collection, &rules, against.as_ref(), &kept)?;
        host.save_recording()?;
        // What comes of it looks like a result, and isn't one.
        report.problems.extend(host.unanswered().as_deref().map(nobody_answers));
        report.problems.iter().for_each(|problem| complain(problem));
        if report.summary.objects == 0 {
            return Err(AuditError::Nothing(self.source()));
        }
        self.write(&report, output)?;
        Ok(match (report.problems.is_empty(), report.denies()) {
            (false, _) => Ending::Failed,
            (true, true) => Ending::Denied,
            (true, false) => Ending::Allowed,
        })
    }

    /// The objects of the files, or of the cluster, with the labels of its namespaces where they are needed.
    fn collect(&self, needs_namespaces: bool) -> Result<Collection, AuditError> {
        let paths = self.paths();
        let network = || self.host.network().map_err(HostError::from);
        let mut collection = if paths.is_empty() {
            cluster::workloads(&network()?, self.namespace.as_deref(), &Progress::of(0, "objects"))
        } else {
            Collection::of_files(&paths, self.namespace.as_deref())?
        };
        // Files seldom have them.
        if needs_namespaces && self.host.live {
            cluster::add_namespaces(&network()?, &mut collection);
        }
        Ok(collection)
    }

    /// What was looked at, for people.
    fn source(&self) -> String {
        let files: Vec<String> = self.paths().iter().map(|path| document::name(path)).collect();
        let source = if files.is_empty() { "the cluster".to_owned() } else { files.join(", ") };
        match &self.namespace {
            Some(namespace) => format!("namespace `{namespace}` of {source}"),
            None => source,
        }
    }

    fn decide(
        &self,
        collection: &Collection,
        rules: &Rules,
        against: Option<&Rules>,
        host: &Kept,
    ) -> Result<Report, AuditError> {
        let now = now();
        let making = Making::of_case(Operation::Create, None, self.namespace.clone(), None);
        let mut not_judged = NotJudged { documents: collection.others, ..NotJudged::default() };
        let mut problems = collection.problems.clone();
        let owners = ownership::owners(collection);
        let objects: Vec<(&Object, usize)> = collection.objects.iter().zip(owners).collect();
        let progress = Progress::of(objects.len(), "objects");
        let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        // Whoever waits for a network needs no processor.
        let threads =
            if self.host.live { threads.saturating_mul(NonZeroUsize::new(4).unwrap_or(threads)) } else { threads };
        let looked = in_parallel(&objects, threads, |(object, _)| {
            let looked = match (object.rest, making.request(&object.document)) {
                (Some(_), _) => Looked::of(Came::NotJudged),
                (None, Ok(request)) => {
                    let read = serde_json::from_str(request.get()).ok();
                    let judge = |rules: &Rules| rules.judge(&request, read.as_ref(), &collection.namespaces, host, now);
                    Looked::judged(judge(rules), against.map(judge))
                }
                (None, Err(error)) => Looked::of(Came::Failed(error.to_string())),
            };
            progress.step();
            looked
        })?;
        drop(progress);
        // The API server may reject what a condition fails for, or never send it: nobody knows.
        let unknown: BTreeSet<&String> = looked.iter().flat_map(|looked| &looked.unknown).collect();
        problems.extend(unknown.into_iter().cloned());
        let mut decided = Vec::new();
        for ((object, position), Looked { came, .. }) in objects.iter().zip(looked) {
            let owner = collection.objects.get(*position).unwrap_or(object);
            match came {
                Came::Judged(now, before) => decided.push(Decided {
                    name: &object.name,
                    owner: &owner.name,
                    owner_position: *position,
                    source: &owner.document.place,
                    now,
                    before,
                }),
                Came::LeftOut(by) => *not_judged.left_out.entry(by).or_default() += 1,
                Came::NotJudged => match object.rest {
                    Some(rest) => not_judged.at_rest(&object.name, rest),
                    None => *not_judged.kinds.entry(object.name.kind_and_group()).or_default() += 1,
                },
                Came::Failed(problem) => problems.push(problem),
            }
        }
        let files = (rules.file(), against.and_then(Rules::file));
        let mut report = Report::new(&decided, now.to_string(), files, not_judged, problems);
        if self.denied_only {
            report.keep_denied();
        }
        Ok(report)
    }

    fn write(&self, report: &Report, output: &mut impl StandardOutput) -> Result<(), AuditError> {
        match self.output {
            Output::Table => write!(output, "{}", table::table(report, Paint::for_output(output)))?,
            Output::Json => write!(output, "{}", json(report)?)?,
            Output::Yaml => write!(output, "{}", yaml(report)?)?,
            Output::Html => write!(output, "{}", html::page(report))?,
            Output::Sarif => write!(output, "{}", sarif(&results::all(report)))?,
            Output::Github => {
                write!(output, "{}", table::table(report, Paint::for_output(output)))?;
                for check in &results::all(report).checks {
                    write!(output, "{}", annotations(check))?;
                }
            }
            Output::Junit => write!(output, "{}", junit(&results::all(report)))?,
        }
        Ok(output.flush()?)
    }
}

/// The settings of a file, or every default; none when they are not valid, which has been said then.
fn rules(path: Option<&Path>, policy: Option<&str>) -> Result<Option<Rules>, AuditError> {
    match path {
        Some(path) => rules_in(path, policy),
        None => Ok(Rules::new(None, None, Value::Null).ok()),
    }
}

fn rules_in(path: &Path, policy: Option<&str>) -> Result<Option<Rules>, AuditError> {
    let found = chosen(path, policy)?;
    let (policy, written) = found.map_or((None, None), |found| (found.policy, found.json));
    let written = written.map_or(Ok(Value::Null), |json| serde_json::from_str(json.get())).map_err(io::Error::from)?;
    let policy_says = |of: fn(&FoundPolicy) -> Option<String>| policy.as_ref().and_then(of);
    [FoundPolicy::scope, FoundPolicy::caveat].into_iter().filter_map(policy_says).for_each(|remark| warn(&remark));
    match Rules::new(Some(path.to_owned()), policy, written) {
        Ok(rules) => Ok(Some(rules)),
        Err(problems) => {
            complain(&invalid_settings(Some(path), &problems.to_string()));
            Ok(None)
        }
    }
}
