//! Whole requests: worlds as the engine's laws have them, whose settings, objects, registries and clusters go together, with changes
//! in what is asked and answered.
#![no_main]

#[path = "../../crates/engine/tests/laws/world/mod.rs"]
#[allow(dead_code, unused_imports, reason = "laws use more of it")]
mod world;

use image_admission_fuzz::structure::{Choices, change};
use image_admission_fuzz::{answer_at, let_rules_run};
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use libfuzzer_sys::fuzz_target;
use proptest::strategy::{BoxedStrategy, Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::cell::RefCell;
use world::{Finding, Progress, World, worlds};

thread_local! {
    static WORLDS: BoxedStrategy<World> = {
        let_rules_run();
        worlds(Timestamp(1_795_176_000)).boxed()
    };
}

/// How many bytes choose the world; the others choose what is changed. Their bits are a seed: where a generator is handed bytes that end,
/// proptest asks for ever.
const SEED: usize = 32;
/// The settings that admit nothing that is pending, failed, or has a critical finding.
const FORGIVING_NOTHING: [&str; 6] =
    ["reports", "registries", "pin", "imageMatching", "maxImages", "imageVerification"];
/// Calls whose answers say nothing of what a scanner found.
const NO_REPORT: [&str; 4] = ["v1/manifest_digest", "v1/oci_manifest", "v2/verify", "can_i"];

fuzz_target!(|bytes: &[u8]| {
    let (seed, changes) = bytes.split_at(bytes.len().min(SEED));
    let mut whole_seed = [0; SEED];
    whole_seed[..seed.len()].copy_from_slice(seed);
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &whole_seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let world = WORLDS.with(|worlds| worlds.new_tree(&mut runner)).expect("every choice makes a world").current();
    let mut choices = Choices::new(changes);
    match choices.below(3) {
        0 => pins_what_was_answered(&world, choices),
        1 => admits_no_critical_finding(&world, choices),
        _ => leaves_alone_what_is_not_new(&world, choices),
    }
});

/// Whatever is asked and answered: digests are written that somebody named, and nothing else.
fn pins_what_was_answered(world: &World, mut choices: Choices<'_>) {
    let mut request = world.workload.request(world);
    for _ in 0..choices.below(4) {
        change(&mut request, &mut choices);
    }
    let told = RefCell::default();
    let response = decide(world, &request, &choices, &told, |_| true);
    let written = &response["mutated_object"];
    if written.is_null() {
        return;
    }
    assert_eq!(response["accepted"], true, "{response}");
    let object = &request["object"];
    let (before, after) = (images(object), images(written));
    assert_eq!(before.len(), after.len(), "{object}\n{written}");
    let told = told.borrow().join("\n") + &request.to_string();
    for (before, after) in before.iter().zip(&after).filter(|(before, after)| before != after) {
        let (name, digest) = after.split_once('@').expect("a digest");
        assert_eq!(Some(name), before.split('@').next(), "{response}");
        assert!(told.contains(digest), "nobody named {digest}: {response}");
    }
    assert_eq!(without_pins(object), without_pins(written), "{response}");
}

/// Every report has a critical finding, and nothing forgives it: no Pod with an image is admitted, whatever of it is changed, and
/// whatever registries say of what isn't a report.
fn admits_no_critical_finding(world: &World, mut choices: Choices<'_>) {
    let finding = Finding {
        id: "CVE-2026-1",
        severity: "critical",
        package: "openssl",
        fixed_in: None,
        score: 99,
        known_for: 3_000,
        is_exploited: false,
        epss: None,
        is_suppressed: false,
    };
    let world = world.with(|world| {
        world.switches.retain(|switch| FORGIVING_NOTHING.contains(&switch.path.split('.').next().unwrap_or_default()));
        world.workload.kind = "Pod";
        world.workload.operation = "CREATE";
        for content in &mut world.contents {
            content.findings.push(finding.clone());
            content.cleared.clear();
            if content.progress == Progress::Failed {
                content.progress = Progress::Done;
            }
        }
    });
    let mut request = world.workload.request(&world);
    for _ in 0..choices.below(4) {
        change(&mut request["object"], &mut choices);
    }
    let response = decide(&world, &request, &choices, &RefCell::default(), |operation| NO_REPORT.contains(&operation));
    let spec = &request["object"]["spec"];
    let lists = ["containers", "initContainers", "ephemeralContainers"].map(|list| spec[list].as_array());
    let names_image = |container: &Value| container["image"].as_str().is_some_and(|image| !image.is_empty());
    let has_images = lists.into_iter().flatten().flatten().any(names_image);
    assert!(!has_images || response["accepted"] == false, "{request}\n{}\n{response}", world.settings());
}

/// An update that brings no image asks nobody, so that nothing holds it back. Policies in Rego judge every update.
fn leaves_alone_what_is_not_new(world: &World, choices: Choices<'_>) {
    let world = world.with(|world| world.switch_off("regoPolicies"));
    let mut request = world.workload.request(&world);
    if request["object"].is_null() {
        request["object"] = request["oldObject"].take();
    }
    request["operation"] = json!("UPDATE");
    request["oldObject"] = request["object"].clone();
    request["object"]["metadata"]["labels"] = json!({"more": "yes"});
    let response = decide(&world, &request, &choices, &RefCell::default(), |_| true);
    assert_eq!(response["accepted"], true, "{request}\n{response}");
    assert!(response["mutated_object"].is_null(), "{request}\n{response}");
}

/// What the engine answers, by a host some of whose answers are changed. It notes what it told.
fn decide(
    world: &World,
    request: &Value,
    choices: &Choices<'_>,
    told: &RefCell<Vec<String>>,
    may_change: impl Fn(&str) -> bool + Copy,
) -> Value {
    let payload = json!({"request": request, "settings": world.settings()}).to_string();
    let host = || {
        let (host, choices): (StubHost, _) = (world.host(), RefCell::new(choices.clone()));
        move |namespace: &str, operation: &str, payload: &[u8]| {
            let mut answer = host.call(namespace, operation, payload)?;
            let choices = &mut *choices.borrow_mut();
            if may_change(operation) && choices.once_in(8) {
                let mut document = serde_json::from_slice(&answer).expect("an answer is JSON");
                change(&mut document, choices);
                answer = document.to_string().into_bytes();
            }
            told.borrow_mut().push(String::from_utf8_lossy(&answer).into_owned());
            Ok(answer)
        }
    };
    answer_at(payload.as_bytes(), host, world.now)
}

/// The strings of an object's images, in order.
fn images(object: &Value) -> Vec<&str> {
    match object {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match value {
                Value::String(text) if ["image", "reference"].contains(&key.as_str()) => vec![text.as_str()],
                other => images(other),
            })
            .collect(),
        Value::Array(list) => list.iter().flat_map(images).collect(),
        _ => Vec::new(),
    }
}

/// An object without its images, and without the annotations that say what was written.
fn without_pins(object: &Value) -> Value {
    match object {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, value)| {
                let is_image = ["image", "reference"].contains(&key.as_str()) && value.is_string();
                !is_image && !key.starts_with("admission.sysdig.com/")
            });
            // The annotations, and what they are in, may be made for them.
            let kept = kept.map(|(key, value)| (key.clone(), without_pins(value)));
            kept.filter(|(_, value)| !value.is_null() && *value != json!({})).collect()
        }
        Value::Array(list) => list.iter().map(without_pins).collect(),
        other => other.clone(),
    }
}
