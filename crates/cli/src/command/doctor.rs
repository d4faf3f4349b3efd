//! `doctor`: whether a cluster is as the policy needs it.
//!
//! ```text
//! cluster (a live one, or files) ── world (the policies, and what belongs to them) ── one file for each check ── finding
//! ```
//!
//! A check asks nobody but the cluster that it is given, and is given the time. What it can't see is unknown, and never fine.

#[cfg(feature = "live")]
mod canary;
mod certificates;
mod clock;
mod cluster;
mod companion;
mod finding;
mod namespaces;
mod policy;
mod report_names;
mod reports;
mod rights;
mod server;
mod settings;
mod webhook;
mod world;

use std::io;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use image_admission_module_host::answers::files::FilesError;
use image_admission_module_host::answers::live::LiveError;
use image_admission_untrusted::time::Timestamp;

use super::Ending;
use super::output::{json, yaml};
use super::policy::now;
use super::progress::Progress;
use super::terminal::{Paint, StandardOutput, in_one_line, without_commands};
use crate::host_options::HostOptions;
use cluster::Cluster;
use finding::{Check, Finding, Status};
use world::World;

const AFTER_HELP: &str = "\
A check has a line for each thing that it looks at: ok, warn, fail, or unknown if something can't be read. docs/doctor.md says what each
check means, what to do, and which rights it takes. Nothing is changed: `--canary` creates a Pod as a dry run.

Exit codes:
  0  nothing that `--fail-on` counts, and everything is known
  1  something can't be read, or something went wrong: the line or the error says what
  2  there is something that `--fail-on` counts

Examples:
  image-admission doctor --live
  image-admission doctor --live --canary registry.example.com/known-bad:1.0 --skip companion -o json
  image-admission doctor --cluster dump/ --at 2026-11-29T12:00:00Z";

/// Check that a cluster is as the policy needs it: rights, webhooks, reports
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Doctor {
    /// What `kubectl get -o yaml` or `-o json` wrote of a cluster: every YAML and JSON file in and below this folder. A kind of which
    /// it has nothing is unknown; of any other, it has every object
    #[arg(long, value_name = "DIR", conflicts_with = "live")]
    cluster: Option<PathBuf>,

    /// Ask the cluster that kubectl would ask
    #[arg(long)]
    live: bool,

    /// How to reach the cluster, instead of as kubectl would
    #[arg(long, value_name = "FILE", requires = "live")]
    kubeconfig: Option<PathBuf>,

    /// The policy: `name`, or `namespace/name` [default: all with `image-admission` in the name of their module]
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,

    /// When the files were written, `2026-11-29T12:00:00Z` [default: now]
    #[arg(long, value_name = "TIME", requires = "cluster", value_parser = time)]
    at: Option<Timestamp>,

    /// An image that the policy must reject: a Pod with it is created as a dry run
    #[cfg(feature = "live")]
    #[arg(long, value_name = "IMAGE", requires = "live")]
    canary: Option<String>,

    /// The namespace of that Pod
    #[cfg(feature = "live")]
    #[arg(short, long, value_name = "NAME", requires = "canary", default_value = "default")]
    namespace: String,

    /// Leave out a check. May be repeated
    #[arg(long, value_name = "CHECK", value_enum)]
    skip: Vec<Check>,

    /// What makes the exit code 2
    #[arg(long, value_name = "STATUS", value_enum, default_value = "warn")]
    fail_on: Status,

    /// How to write what was found
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs: a list with an entry for each line
    Json,
    /// The same list as YAML
    Yaml,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub(super) enum DoctorError {
    /// Nobody says what to look at.
    #[error(
        "nothing to look at: ask the cluster with `--live`, or name a folder of what `kubectl get -o yaml` wrote with `--cluster`"
    )]
    NoSource,
    /// A file can't be used.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// There is no such cluster.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// Nobody is there.
    #[error("the API server can't be asked: {0}")]
    NoAnswer(String),
    /// The output can't be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl Doctor {
    /// Makes every check, and writes what they say to `output`.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, DoctorError> {
        let cluster = match &self.cluster {
            Some(folder) => Cluster::of_folder(folder)?,
            None if self.live => {
                let kubeconfig = self.kubeconfig.clone();
                let options = HostOptions { live: true, kubeconfig, ..HostOptions::default() };
                Cluster::Live(Box::new(options.network()?))
            }
            None => return Err(DoctorError::NoSource),
        };
        // Each of the questions would wait for an answer.
        cluster.clock().map_err(DoctorError::NoAnswer)?;
        let findings = self.findings(&cluster);
        self.write(&findings, output)?;
        let is_counted = |finding: &Finding| finding.status >= self.fail_on;
        let is_unknown = findings.iter().any(|finding| finding.status == Status::Unknown);
        Ok(match (findings.iter().any(is_counted), is_unknown) {
            (true, _) => Ending::Remarked,
            (false, true) => Ending::Failed,
            (false, false) => Ending::Done,
        })
    }

    fn findings(&self, cluster: &Cluster) -> Vec<Finding> {
        let progress = Progress::of(0, "checks");
        progress.begin("looking for policies…");
        let world = World::new(cluster, self.policy.as_deref(), self.at.unwrap_or_else(now));
        let mut findings = Vec::new();
        for check in Check::value_variants().iter().filter(|check| !self.skip.contains(check)) {
            progress.begin(&format!("{check}…"));
            findings.extend(match check {
                Check::Policy => policy::check(&world),
                Check::Settings => settings::check(&world),
                Check::Server => server::check(&world),
                Check::Webhook => webhook::check(&world),
                Check::Certificates => certificates::check(&world),
                Check::Namespaces => namespaces::check(&world),
                Check::Rights => rights::check(&world),
                Check::Companion => companion::check(&world),
                Check::Reports => reports::check(&world),
                Check::ReportNames => report_names::check(&world),
                Check::Clock => clock::check(cluster),
                Check::Canary => self.canary(&world),
            });
        }
        findings
    }

    #[cfg(feature = "live")]
    fn canary(&self, world: &World<'_>) -> Vec<Finding> {
        let Some(image) = &self.canary else { return Vec::new() };
        let tried = image_admission_companion_host::try_image(image, &self.namespace, self.kubeconfig.as_deref());
        canary::check(world, image, &self.namespace, tried.map_err(|error| error.to_string()))
    }

    /// Nobody can be asked.
    #[cfg(not(feature = "live"))]
    fn canary(&self, _: &World<'_>) -> Vec<Finding> {
        Vec::new()
    }

    fn write(&self, findings: &[Finding], output: &mut impl StandardOutput) -> io::Result<()> {
        match self.output {
            Output::Text => {
                let paint = Paint::for_output(output);
                for finding in findings {
                    writeln!(output, "{}", without_commands(&line(finding, paint)))?;
                }
                let of = |status: Status| findings.iter().filter(|finding| finding.status == status).count();
                let (ok, warn, fail) = (of(Status::Ok), of(Status::Warn), of(Status::Fail));
                writeln!(output, "\n{ok} ok, {warn} warn, {fail} fail, {} unknown", of(Status::Unknown))?;
            }
            Output::Json => write!(output, "{}", json(&findings)?)?,
            Output::Yaml => write!(output, "{}", yaml(&findings)?)?,
        }
        output.flush()
    }
}

/// ``ok: ClusterAdmissionPolicy image-admission: active, in mode `protect` [policy]``
fn line(finding: &Finding, paint: Paint) -> String {
    let Finding { check, status, subject, message } = finding;
    let word = format!("{status}:");
    let word = match status {
        Status::Ok => paint.green(&word),
        Status::Warn | Status::Unknown => paint.yellow(&word),
        Status::Fail => paint.red(&word),
    };
    let name = format!("[{check}]");
    let linked = page_of(*check).map_or_else(|| paint.dim(&name), |page| paint.link(&page, &name));
    format!("{word} {} {} {}", paint.bold(&in_one_line(&format!("{subject}:"))), in_one_line(message), linked)
}

/// Where a check is explained, if this is a release: another build doesn't know where its sources are.
fn page_of(check: Check) -> Option<String> {
    let source = option_env!("IMAGE_ADMISSION_SOURCE")?;
    Some(format!("{source}/blob/v{}/docs/doctor.md#{check}", env!("CARGO_PKG_VERSION")))
}

fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| "write it like `2026-11-29T12:00:00Z`".to_owned())
}
