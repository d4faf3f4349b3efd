//! `scan`: asks the companion for scans of images that no workload names yet.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use image_admission_companion::event::Told;
use image_admission_companion_host::{News, RunError, ScanOptions, ScanTiming, scan};
use image_admission_untrusted::time::WrittenDuration;

use super::progress::Progress;
use super::terminal::{errors, in_one_line, printable, without_commands};
use super::{Ending, complain};

const AFTER_HELP: &str = "\
A Pod that the policy rejected doesn't exist, so that the companion never sees its image. A suspended Job is seen, and never runs. The
policy is asked by creating a Pod with the image, as a dry run; if it is admitted, no Job is created. If the policy denies the Job,
what is known of the image rejects it, and no scan would help.

You need the rights to create Pods (a dry run needs it too), to create and delete Jobs, and to list events.events.k8s.io, in the
namespace.

Exit codes:
  0  with --wait, every image is admitted; without it, each is admitted or its scan is asked for
  1  something went wrong, or no report came in time: the error says what
  2  an image is denied

Examples:
  image-admission scan ghcr.io/team/web:1.0 --wait
  image-admission scan ghcr.io/team/web:1.0 ghcr.io/team/db:1.0 -n shop --wait --timeout 20m";

/// Ask for the scan of images that nothing runs yet, and wait for it
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Scan {
    /// The images, as a Pod would name them
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<String>,

    /// The namespace in which they are to run [default: that of the kubeconfig's context]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,

    /// Wait for the policy's decision, show what happens, and delete the Jobs in the end
    #[arg(long)]
    wait: bool,

    /// How long to wait: `90s`, `10m`, `1h`
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time)]
    timeout: Duration,

    /// How to reach the cluster, instead of as kubectl would
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
}

/// Why nothing is scanned.
#[derive(Debug, thiserror::Error)]
pub(super) enum ScanError {
    /// There is no cluster.
    #[error(transparent)]
    Cluster(#[from] RunError),
    /// The output can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

impl Scan {
    /// Asks for the scans, and tells on `output` what came of them.
    pub(super) fn execute(self, output: &mut impl Write) -> Result<Ending, ScanError> {
        let options = ScanOptions {
            images: self.images,
            namespace: self.namespace,
            wait: self.wait.then_some(self.timeout),
            kubeconfig: self.kubeconfig,
            timing: ScanTiming::default(),
        };
        let live = Progress::of(options.images.len(), "images");
        let mut written = Ok(());
        let (mut is_denied, mut is_failed) = (false, false);
        scan(&options, &mut |image, news| {
            is_denied |= matches!(news, News::Denied(_));
            is_failed |= matches!(news, News::Failed(_) | News::TimedOut(_) | News::Interrupted | News::Left { .. });
            live.begin("");
            if written.is_ok() {
                written = tell(output, image, &news, self.wait);
            }
            if self.wait {
                live.begin("waiting, Ctrl-C ends it");
            }
        })?;
        drop(live);
        written?;
        Ok(match (is_failed, is_denied) {
            (true, _) => Ending::Failed,
            (false, true) => Ending::Denied,
            (false, false) => Ending::Allowed,
        })
    }
}

/// What was asked for goes to the standard output, and how far it is to the standard error stream.
fn tell(output: &mut impl Write, image: &str, news: &News, waits: bool) -> io::Result<()> {
    let result = match news {
        News::Admitted => "admitted".to_owned(),
        News::Denied(words) => format!("denied\n{}", indented(words)),
        News::Created { namespace, name } if !waits => format!(
            "Job `{namespace}/{name}` asks the companion for its scan\n  \
             kubectl events --namespace {namespace} --for job/{name}    # shows how far it is\n  \
             kubectl delete --namespace {namespace} job/{name}          # once it is scanned"
        ),
        News::Created { namespace, name } => {
            return progress(image, &format!("Job `{namespace}/{name}` asks the companion for its scan"));
        }
        News::Told(Told::Asked(by)) => return progress(image, &format!("asked for: {by}")),
        News::Told(Told::Scanned) => return progress(image, "scanned"),
        News::Told(Told::Failed(why)) => return progress(image, &format!("failed: {why}")),
        News::Silence => {
            let why = "no word of the companion yet: is it there (`deploy/companion`)? Its log says what it does";
            return progress(image, why);
        }
        News::Trouble(why) => return progress(image, &format!("will be asked again: {why}")),
        News::TimedOut(words) => return problem(image, &format!("not admitted in time\n{}", indented(words))),
        News::Failed(why) => return problem(image, why),
        News::Interrupted => return problem(image, "not waited for any more"),
        News::Left { namespace, name, why } => {
            return problem(image, &format!("delete the Job `{namespace}/{name}` yourself: {why}"));
        }
    };
    let text = format!("{image}: {result}");
    writeln!(output, "{}", without_commands(&printable(&text)))?;
    output.flush()
}

fn problem(image: &str, what: &str) -> io::Result<()> {
    complain(&format!("{image}: {what}"));
    Ok(())
}

fn progress(image: &str, what: &str) -> io::Result<()> {
    // Whoever closes it is not interested.
    let _ = writeln!(errors(), "{}", without_commands(&in_one_line(&format!("{image}: {what}"))));
    Ok(())
}

fn indented(words: &str) -> String {
    words.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// Reads how long to wait.
fn time(text: &str) -> Result<Duration, String> {
    let seconds = WrittenDuration::parse(text).and_then(|time| u64::try_from(time.seconds()).ok());
    seconds.map(Duration::from_secs).ok_or_else(|| "write it like `90s`, `10m` or `1h30m`".to_owned())
}
