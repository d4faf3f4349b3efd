//! `bench`: the module's own time and memory, a clean instance for every request, with host answers that are ready.

mod world;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use web_time::Instant;

use crate::answers::HostAnswers;
use crate::runtime::{MemoryUse, PolicyModule, RuntimeError};
use clap::Args;
use serde_json::{Value, json};

use super::Ending;
use super::policy::{ModuleError, ModuleOption};
use world::{Findings, World};

const AFTER_HELP: &str = "\
Each line has the median of the runs, the least and the most, what is left of the median without `bare`, and the memory that
the instance had at the end. Nothing else should run on the machine.

Exit codes:
  0  everything was measured
  1  something went wrong: the error says what

Examples:
  image-admission bench
  image-admission bench --module policy.wasm --requests 100 --runs 5";

/// Measure the module's own time and memory
///
/// Every request gets a clean instance, as in the policy server, and host answers that are ready, so that what is left
/// is the module's own share. `bare` is an instance that does nothing but tell its protocol's version.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Bench {
    #[command(flatten)]
    module: ModuleOption,

    /// How many requests each run makes
    #[arg(long, value_name = "N", default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,

    /// How many runs each line is the median of
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
}

/// A request, and the world that it is decided in.
struct Scene {
    name: &'static str,
    payload: Vec<u8>,
    host: Arc<dyn HostAnswers>,
    /// What must be answered, or something else was measured.
    accepted: bool,
}

/// What was measured of one scene.
struct Measured {
    /// Per request, one for each run, ascending.
    times: Vec<Duration>,
    memory: MemoryUse,
}

impl Bench {
    /// Measures every scene, and writes a line for each.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, BenchError> {
        let module = self.module.compile(Duration::from_secs(60))?;
        let size = std::fs::metadata(self.module.path()).map(|file| file.len()).unwrap_or_default();
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
        let bare = self.measure(&module, "protocol_version", &[], &World::new(1, Findings::Count(0)).host(), None)?;
        line(output, "bare: an instance that only tells its protocol's version", &bare, None)?;
        let mut medians = Vec::new();
        for scene in scenes() {
            let measured = self.measure(&module, "validate", &scene.payload, &scene.host, Some(&scene))?;
            line(output, scene.name, &measured, Some(&bare))?;
            medians.push((scene.name, measured.median()));
        }
        let of = |wanted| medians.iter().find(|(name, _)| *name == wanted).map(|(_, median)| median.as_secs_f64());
        if let (Some(small), Some(large)) = (of(FEW), of(MANY)) {
            writeln!(output, "\n5,000 findings take {:.2} times what 40 take where the totals decide", large / small)?;
        }
        Ok(Ending::Done)
    }

    fn measure(
        &self,
        module: &PolicyModule,
        function: &str,
        payload: &[u8],
        host: &Arc<dyn HostAnswers>,
        scene: Option<&Scene>,
    ) -> Result<Measured, BenchError> {
        // Once, to have the answers ready, and to see that what is measured is what is meant.
        let reply = module.call(function, payload, Arc::clone(host));
        let (answer, memory) = (reply.response?, reply.memory);
        if let Some(scene) = scene {
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            if answer.get("accepted").and_then(Value::as_bool) != Some(scene.accepted) {
                return Err(BenchError::Unexpected { scene: scene.name, answer: answer.to_string() });
            }
        }
        let mut times = Vec::new();
        for _ in 0..self.runs {
            let start = Instant::now();
            for _ in 0..self.requests {
                module.call(function, payload, Arc::clone(host)).response?;
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

const FEW: &str = "1 image of 2 platforms, 40 findings each, totals decide";
const MANY: &str = "1 image of 2 platforms, 5,000 findings each, totals decide";

fn scenes() -> Vec<Scene> {
    let by_entries = json!({"acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 100_000}}}});
    let scene = |name, images, findings, settings: Value, accepted| {
        let world = World::new(images, findings);
        Scene { name, payload: world.payload(&settings), host: world.host(), accepted }
    };
    let listed = World::new(1, Findings::Count(40)).listed_among(200);
    vec![
        scene(
            "1 image that pre-scan accepts",
            1,
            Findings::Count(0),
            json!({"preScanPolicies": {"defaultPolicy": "accept"}}),
            true,
        ),
        scene(FEW, 1, Findings::Count(40), json!({}), true),
        scene(MANY, 1, Findings::Count(5000), json!({}), true),
        scene(
            "1 image of 2 platforms, 40 findings each, entries decide",
            1,
            Findings::Count(40),
            by_entries.clone(),
            true,
        ),
        scene(
            "1 image of 2 platforms, 5,000 findings each, entries decide",
            1,
            Findings::Count(5000),
            by_entries,
            true,
        ),
        Scene {
            name: "1 image of 2 platforms, found in a list of 200 reports",
            payload: listed.payload(&json!({})),
            host: listed.host(),
            accepted: true,
        },
        scene("1 image of 2 platforms without a report", 1, Findings::NoReport, json!({}), false),
        scene("20 images of 2 platforms, 40 findings each", 20, Findings::Count(40), json!({}), true),
        scene("50 images of 2 platforms, 40 findings each", 50, Findings::Count(40), json!({}), true),
        scene("1,000 images, rejected before any call", 1000, Findings::Count(0), json!({}), false),
        scene(
            "1 image of 2 platforms, and a custom rule of ten lines",
            1,
            Findings::Count(40),
            json!({"customRules": CUSTOM_RULE}),
            true,
        ),
        scene("2 policies in Rego, both of the kind", 1, Findings::Count(0), policies_in_rego(2), true),
        scene("30 policies in Rego, 2 of them of the kind", 1, Findings::Count(0), policies_in_rego(30), true),
    ]
}

/// A rule as somebody would write it first.
const CUSTOM_RULE: &str = r#"
deny_image[msg] {
  input.ScanReport.Status == "accepted"
  namespace == "locked"
  msg := sprintf("image %v is not for %v", [image, namespace])
}
deny_image[msg] {
  container := input.ContainerObject
  container.securityContext.privileged
  msg := sprintf("container %v is privileged", [container.name])
}
"#;

/// So many policies of 20 lines, the first two of them for Pods.
fn policies_in_rego(count: usize) -> Value {
    let others = ["Service", "ConfigMap", "Ingress", "Secret", "Namespace"];
    let kinds = ["Pod", "Pod"].into_iter().chain(others.into_iter().cycle());
    let policy = |(number, kind): (usize, &str)| {
        let rego = format!(
            r#"package kubernetes.policies.p{number}

# Denies what policy {number} is about.
deny[msg] {{
  input.review.kind.kind == "{kind}"
  container := input.review.object.spec.containers[_]
  not startswith(container.image, input.parameters.registry)
  msg := sprintf("container %v has the image %v, which isn't of %v", [container.name, container.image, input.parameters.registry])
}}

deny[msg] {{
  container := input.review.object.spec.containers[_]
  container.securityContext.privileged
  not exempt(container.name)
  msg := sprintf("container %v is privileged", [container.name])
}}

exempt(name) {{
  input.parameters.exempt[_] == name
}}
"#
        );
        let parameters = json!({"registry": "registry.example.com/", "exempt": ["a", "b"]});
        json!({"name": format!("p{number}"), "kinds": [kind], "rego": rego, "parameters": parameters})
    };
    let policies: Vec<Value> = kinds.take(count).enumerate().map(policy).collect();
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": policies})
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub(super) enum BenchError {
    /// There is no such module.
    #[error(transparent)]
    Module(#[from] ModuleError),
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
