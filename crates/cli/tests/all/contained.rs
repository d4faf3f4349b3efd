//! Rules that loop or explode, through the module in its runtime, with the server's own time limit and the module's own
//! maximum of memory: each is refused when the policy is deployed, or stopped with a message that names the policy, or
//! ends by itself. None traps. With `CONTAINED=1` and `--nocapture` a table of time and memory is written.

use crate::support;
use crate::support::host::stub;
use image_admission_module_host::answers::HostAnswers;
use image_admission_module_host::runtime::PolicyModule;
use image_admission_stub_host::StubHost;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

static MODULE: LazyLock<PolicyModule> = LazyLock::new(|| PolicyModule::from_file(&support::module_path()).unwrap());

/// What the module may take at most, below the 128 MiB at which it ends.
const MAX_MEMORY: usize = 120 << 20;

/// A rule, and what becomes of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bomb {
    name: String,
    rego: String,
    /// JSON, in which `@@` stands for the part, repeated.
    document: Option<String>,
    part: Option<String>,
    times: Option<usize>,
    /// A text of so many letters `a` and `b`, without a pattern.
    letters: Option<usize>,
    /// Why it isn't deployed.
    refused: Option<String>,
    /// Why its evaluation ends: `time`, `memory`, or what a builtin says.
    stopped: Option<String>,
    /// It has an answer.
    #[serde(default)]
    ends: bool,
}

fn nobody() -> Arc<dyn HostAnswers> {
    stub(StubHost::default().fails("", "nobody answers"))
}

impl Bomb {
    fn document(&self) -> String {
        if let Some(letters) = self.letters {
            // Every bit of a linear congruence's upper half: no period that a search could use.
            let mut state: u32 = 1;
            let letter = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                if state >> 31 == 0 { 'a' } else { 'b' }
            };
            return format!("\"{}\"", (0..letters).map(letter).collect::<String>());
        }
        let part = self.part.as_deref().unwrap_or_default().repeat(self.times.unwrap_or_default());
        self.document.as_deref().unwrap_or("null").replace("@@", &part)
    }

    fn payload(&self, settings: &Value) -> String {
        let document = self.document();
        format!(
            r#"{{"settings": {settings}, "request": {{"uid": "u", "operation": "CREATE", "namespace": "n", "name": "x",
            "kind": {{"group": "", "version": "v1", "kind": "ConfigMap"}}, "userInfo": {{"username": "someone"}},
            "object": {{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "x"}}, "d": {document}}}}}}}"#
        )
    }
}

fn ask(function: &str, payload: &str) -> Result<Value, String> {
    let reply = MODULE.call(function, payload.as_bytes(), nobody());
    reply.response.map(|response| serde_json::from_slice(&response).unwrap()).map_err(|error| error.to_string())
}

/// What is wrong with what became of a rule.
fn problem(bomb: &Bomb, settings: &Value, table: &mut String) -> Option<String> {
    let deployed = match ask("validate_settings", &settings.to_string()) {
        Ok(deployed) => deployed,
        Err(trap) => return Some(format!("when it is deployed: {trap}")),
    };
    if let Some(refused) = &bomb.refused {
        let message = deployed["message"].as_str().unwrap_or("it is deployed");
        return (!message.contains(refused)).then(|| message.to_owned());
    }
    if deployed["valid"] != true {
        return Some(format!("it isn't deployed: {deployed}"));
    }
    let payload = bomb.payload(settings);
    let start = Instant::now();
    let answer = match ask("validate", &payload) {
        Ok(answer) => answer,
        Err(trap) => return Some(trap),
    };
    let took = start.elapsed();
    let memory = MODULE.call("validate", payload.as_bytes(), nobody()).memory.answered;
    let message = answer["message"].as_str().unwrap_or("it ends");
    writeln!(table, "| {} | {} ms | {} MiB | {message} |", bomb.name, took.as_millis(), memory >> 20).unwrap();
    if memory > MAX_MEMORY {
        return Some(format!("{} MiB of memory", memory >> 20));
    }
    let is_expected = match bomb.stopped.as_deref() {
        None => bomb.ends && answer["accepted"] == true,
        // Which of the two is used up first depends on the machine; before rules run, it is memory.
        Some("time" | "memory") => {
            message.starts_with("Policy 'bomb' rejected. Evaluation error: stopped: ")
                || message.starts_with("deciding about the request takes more memory than the policy may")
        }
        Some(why) => message.starts_with(&format!("Policy 'bomb' rejected. Evaluation error: {why}")),
    };
    (!is_expected).then(|| message.to_owned())
}

fn settings(rego: &str) -> Value {
    json!({"regoPolicies": [{"name": "bomb", "kinds": ["*"], "rego": rego}]})
}

/// A problem that is there three times, where it is one of time: a machine that does other things stops rules that would
/// end, or meet a bound.
fn lasting_problem(bomb: &Bomb, table: &mut String) -> Option<String> {
    let settings = settings(&bomb.rego);
    let mut found = problem(bomb, &settings, table)?;
    for _ in 0..2 {
        if found.contains("stopped: the Rego of one request has 450 ms") {
            found = problem(bomb, &settings, table)?;
        }
    }
    Some(found)
}

#[test]
fn whatever_a_rule_does_there_is_an_answer() {
    let bombs: Vec<Bomb> = yaml_serde::from_str(include_str!("../contained/rules.yaml")).unwrap();
    let mut table = String::new();
    let wrong: Vec<String> = bombs
        .iter()
        .filter_map(|bomb| Some(format!("{}: {}", bomb.name, lasting_problem(bomb, &mut table)?)))
        .collect();
    if std::env::var_os("CONTAINED").is_some() {
        println!("{table}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each policy is looked into with an engine of its own. What one leaves behind must not be there for the next.
#[test]
fn settings_of_many_policies_are_looked_into_within_the_memory_of_one() {
    let functions: String = (0..400).map(|n| format!("f{n}(x) = y {{ y := x + {n} }}\n")).collect();
    let library = format!("package lib.a\n{functions}");
    let policy = |number: usize| {
        let rego = format!(
            "package p{number}\nimport data.lib.a\ndeny[msg] {{ msg := a.f1(count(input.review.object.metadata.name)) }}"
        );
        json!({"name": format!("p{number}"), "kinds": ["Pod"], "rego": rego})
    };
    let memory = |policies: usize| {
        let policies: Vec<Value> = (0..policies).map(policy).collect();
        let settings = json!({"regoPolicies": policies, "regoLibraries": [{"name": "a", "rego": library}]}).to_string();
        let reply = MODULE.call("validate_settings", settings.as_bytes(), nobody());
        let response: Value = serde_json::from_slice(&reply.response.unwrap()).unwrap();
        assert_eq!(response["valid"], true, "{response}");
        reply.memory.answered
    };
    let (one, many) = (memory(1), memory(40));
    assert!(many < one + (4 << 20), "{} KiB for one policy, {} KiB for forty", one >> 10, many >> 10);
}

/// The longest chains that are deployed don't exhaust the stack of the runtime; one more isn't deployed.
#[test]
fn the_longest_chains_fit_the_stack() {
    for (open, close) in [
        ("", ""),
        ("[[[[", "]]]]"),
        ("count([x | x := [y | y := ", "]])"),
        ("1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + ", ""),
        ("count({x | x := {\"a\": [", "]}})"),
    ] {
        let chain = |length: usize| {
            let rules = (1..=length).map(|n| format!("r{n} = x {{ x := {open}r{}{close} }}\n", n - 1));
            let text = format!("package p\nr0 = 1 {{ true }}\n{}", rules.collect::<String>());
            format!(
                "{text}deny[msg] {{ not r{length}; msg := \"x\" }}\ndeny[msg] {{ r{length} == 0.5; msg := \"x\" }}\n"
            )
        };
        let is_deployed = |length: &usize| {
            let deployed = ask("validate_settings", &settings(&chain(*length)).to_string()).unwrap();
            let message = deployed["message"].as_str().unwrap_or_default();
            assert!(deployed["valid"] == true || message.contains("shorten that chain"), "{message}");
            deployed["valid"] == true
        };
        let longest = (4..80).take_while(is_deployed).last().unwrap();
        let bomb = Bomb {
            name: String::new(),
            rego: chain(longest),
            document: None,
            part: None,
            times: None,
            letters: None,
            refused: None,
            stopped: None,
            ends: true,
        };
        assert_eq!(problem(&bomb, &settings(&bomb.rego), &mut String::new()), None, "{longest} rules of {open}");
    }
}
