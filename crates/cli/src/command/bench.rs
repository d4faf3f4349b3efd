//! `bench`: the module's own time and memory, or what it costs, a clean instance for every request, with host answers that are
//! ready. Of settings that somebody has, it tells what they cost.

mod calls;
mod cost;
mod envelope;
mod evidence;
mod own;
mod rules;
mod scene;
mod world;

use std::io::{self, Write};
use std::time::Duration;

use web_time::Instant;

use clap::{Arg, ArgGroup, Args};
use image_admission_module_host::runtime::{MemoryUse, PolicyModule, RuntimeError};

use super::Ending;
use super::decision::DecisionOptions;
use super::files::recursive;
use super::output::Format;
use super::policy::ModuleError;
use super::run::RunError;
use super::terminal::StandardOutput;
use crate::host_options::HostOptions;
use image_admission_manifests::manifest::ManifestOptions;
use scene::{FEW, MANY, Scene, timed};

const AFTER_HELP: &str = "\
Without objects it measures the module with requests of its own. Each line has the median of the runs, the least and the most, what
is left of the median without `bare`, and the memory that the instance had at the end. Nothing else should run on the machine.

With objects, and the settings that decide them, it tells of each:
  calls     to the host, which `maxHostCalls` limits; `cold` are those that a policy server passes on if its caches are empty, `warm`
            if it was asked the same a moment ago: what fails or isn't found is never kept
  fuel      near enough the instructions of WebAssembly that ran, in thousands; the same on every machine
  time      of the module alone: registries and the cluster are asked once, and their answers are ready
  rules     the fuel that a request saves if the rule is left out of the settings

Exit codes:
  0  everything was measured, whether it is allowed or denied
  1  something went wrong, or nobody was there to answer what the policy asked: the error says what
  3  the settings are not valid

Examples:
  image-admission bench
  image-admission bench --module policy.wasm --requests 100 --runs 5
  image-admission bench --cost
  image-admission bench --settings settings.yaml -f pod.yaml --live
  image-admission bench --settings settings.yaml -f pods/ --images images.yaml --cluster cluster/ -v";

/// Measure what settings cost, or the module's own time and memory
///
/// Every request gets a clean instance, as in the policy server, and host answers that are ready, so that what is left
/// is the module's own share. `bare` is an instance that does nothing but tell its protocol's version.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP, arg = recursive(), mut_args(about_objects))]
#[command(group = ArgGroup::new("objects").args(["files", "file"]).multiple(true))]
pub(super) struct Bench {
    #[command(flatten)]
    asked: DecisionOptions,

    /// How many requests each run makes; of an object, how many are timed at most, within a second
    #[arg(long, value_name = "N", default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,

    /// How many runs each line is the median of
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// Count what requests cost, and time nothing: what else the machine does makes no difference
    ///
    /// `fuel` is near enough the instructions of WebAssembly that ran, in thousands. `faults` are the pages of 4 KiB that the system had to
    /// bring for the instance; they are counted on Linux alone.
    #[arg(long, conflicts_with_all = ["requests", "runs"])]
    cost: bool,

    /// Tell of every rule, not only of the slowest one
    #[arg(short, long)]
    verbose: bool,

    /// How to write what objects cost
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Format,

    #[command(flatten)]
    manifests: ManifestOptions,

    #[command(flatten, next_help_heading = "Where the policy's questions are answered")]
    host: HostOptions,
}

/// Which options are about objects that somebody has, and which about the module's own requests.
fn about_objects(option: Arg) -> Arg {
    match option.get_id().as_str() {
        "settings" | "cluster" | "images" | "replay" | "live" | "record" | "old" | "verbose" => {
            option.requires("objects")
        }
        "runs" | "cost" => option.conflicts_with("objects"),
        _ => option,
    }
}

/// What was measured of one scene.
struct Measured {
    /// Per request, one for each run, ascending.
    times: Vec<Duration>,
    memory: MemoryUse,
}

impl Bench {
    /// Measures every scene, or every object, and writes a line for each.
    pub(super) fn execute(&self, output: &mut impl StandardOutput) -> Result<Ending, BenchError> {
        if self.asked.names_objects() {
            return Ok(self.measure_objects(output)?);
        }
        let option = &self.asked.module;
        if self.cost {
            cost::count(&option.compile_counting(Duration::from_secs(60))?, output)?;
            return Ok(Ending::Done);
        }
        let module = option.compile(Duration::from_secs(60))?;
        let size = std::fs::metadata(option.path()).map(|file| file.len()).unwrap_or_default();
        writeln!(
            output,
            "module: {size} bytes; {} runs of {} requests, a clean instance for each\n",
            self.runs, self.requests
        )?;
        writeln!(
            output,
            "{:<58} {:>9} {:>17} {:>9} {:>19}",
            "", "median", "least to most", "own", "memory, at the end"
        )?;
        let bare = self.measure(&module, &Scene::nothing())?;
        line(output, "bare: an instance that only tells its protocol's version", &bare, None)?;
        let mut medians = Vec::new();
        for scene in timed() {
            let measured = self.measure(&module, &scene)?;
            line(output, scene.name, &measured, Some(&bare))?;
            medians.push((scene.name, measured.median()));
        }
        let of = |wanted| medians.iter().find(|(name, _)| *name == wanted).map(|(_, median)| median.as_secs_f64());
        if let (Some(small), Some(large)) = (of(FEW), of(MANY)) {
            writeln!(output, "\n5,000 findings take {:.2} times what 40 take where the totals decide", large / small)?;
        }
        Ok(Ending::Done)
    }

    fn measure(&self, module: &PolicyModule, scene: &Scene) -> Result<Measured, BenchError> {
        // Once, to have the answers ready, and to see that what is measured is what is meant.
        let reply = scene.ask(module);
        let memory = reply.memory;
        scene.expects(&reply.response?)?;
        let mut times = Vec::new();
        for _ in 0..self.runs {
            let start = Instant::now();
            for _ in 0..self.requests {
                scene.ask(module).response?;
            }
            times.push(start.elapsed() / self.requests);
        }
        times.sort();
        Ok(Measured { times, memory })
    }
}

impl Measured {
    fn median(&self) -> Duration {
        self.times.get(self.times.len() / 2).copied().unwrap_or_default()
    }
}

fn line(output: &mut impl Write, name: &str, measured: &Measured, bare: Option<&Measured>) -> io::Result<()> {
    let micros = |time: Duration| format!("{:.0} µs", time.as_secs_f64() * 1e6);
    let (least, most) = (measured.times.first().copied(), measured.times.last().copied());
    let spread = format!("{} to {}", micros(least.unwrap_or_default()), micros(most.unwrap_or_default()));
    let own = bare.map(|bare| micros(measured.median().saturating_sub(bare.median()))).unwrap_or_default();
    let memory = format!("{} KiB", measured.memory.answered / 1024);
    writeln!(output, "{name:<58} {:>9} {spread:>17} {own:>9} {memory:>19}", micros(measured.median()))
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchError {
    /// There is no such module.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// Objects or settings can't be used, or there is no host.
    #[error(transparent)]
    Objects(#[from] RunError),
    /// The module doesn't answer.
    #[error("{0}")]
    Runtime(#[from] RuntimeError),
    /// The answer isn't the one that was to be measured.
    #[error(
        "`{scene}` was answered with `{answer}`; the module and this command line are of different versions: take both from one release, or run `make policy.wasm`"
    )]
    Unexpected {
        /// The scene's name.
        scene: &'static str,
        /// The module's answer.
        answer: String,
    },
    /// The measurements can't be written.
    #[error("cannot write the measurements: {0}")]
    Output(#[from] io::Error),
}
