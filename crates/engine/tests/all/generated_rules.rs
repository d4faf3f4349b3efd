//! The generated rules against the phases that they stand for: the same random cases through both, and the same
//! decisions and messages must come out; alone, and with custom rules that use them, add to them or redefine them.
//!
//! What the rules see is built here from the case, and shares nothing with the engine but the builtin
//! `image_has_prefix`, which has a test of its own.
//!
//! `TWO_PHASES_CASES=100000 cargo test --release --test all generated_rules` looks harder than the 2,000 cases of a plain run.

mod custom;

use crate::cases::{Case, Cluster, IMAGES, PREFIXES, Phase, case};
use custom::{Custom, How, PRE_SCAN_RULES, SCAN_RULES};
use image_admission_engine::{JudgedImage, Outcome, Response, decide};
use image_admission_host::WireHost;
use image_admission_rego::evaluation::image_has_prefix::{
    ComparedImages, IMAGE_HAS_PREFIX, IMAGE_HAS_PREFIX_ARGUMENTS,
};
use image_admission_rego::rules::generated::{ALWAYS, GeneratedRules, PRE_SCAN, SCAN};
use image_admission_settings::{ForgivenBy, ImageMatching, Settings};
use image_admission_untrusted::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseResult, TestError, TestRunner};
use regorus::{Engine, Value as RegoValue};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeSet;

// === Evaluation ===

/// Modules of the package, and what they are evaluated with.
struct Rego {
    engine: Engine,
}

impl Rego {
    fn new(modules: &[String], data: &Value, matching: ImageMatching) -> Result<Self, String> {
        let mut engine = Engine::new();
        engine.set_rego_v0(true);
        for (position, module) in modules.iter().enumerate() {
            engine.add_policy(format!("{position}.rego"), module.clone()).map_err(|error| error.to_string())?;
        }
        engine.add_data_json(&data.to_string()).map_err(|error| error.to_string())?;
        let mut images = ComparedImages::new(matching);
        let builtin = move |arguments: Vec<regorus::Value>| images.have_prefix(&arguments);
        engine
            .add_extension(IMAGE_HAS_PREFIX.to_owned(), IMAGE_HAS_PREFIX_ARGUMENTS, Box::new(builtin))
            .map_err(|error| error.to_string())?;
        Ok(Self { engine })
    }

    fn with_input(mut self, input: &Value) -> Self {
        self.set_input(input);
        self
    }

    fn set_input(&mut self, input: &Value) {
        self.engine.set_input_json(&input.to_string()).unwrap();
    }

    /// The value of a rule, undefined when no module has it.
    fn value(&mut self, rule: &str) -> Result<RegoValue, String> {
        let query = format!("data.imageadmission.{rule}");
        let results = self.engine.eval_query(query, false).map_err(|error| error.to_string())?.result;
        let value = results.into_iter().next().and_then(|result| result.expressions.into_iter().next());
        Ok(value.map_or(RegoValue::Undefined, |expression| expression.value))
    }

    fn messages(&mut self, rule: &str) -> Result<BTreeSet<String>, String> {
        match self.value(rule)? {
            RegoValue::Undefined => Ok(BTreeSet::new()),
            RegoValue::Set(messages) => {
                messages.iter().map(|m| m.as_string().map(ToString::to_string).map_err(|e| e.to_string())).collect()
            }
            other => Err(format!("{rule} is {other}")),
        }
    }

    fn pre_scan(&mut self) -> Result<PreScan, String> {
        if self.value("allow_pod")? == RegoValue::from(true) {
            return Ok(PreScan::Accepted);
        }
        let reasons = self.messages("deny_pod")?;
        Ok(if reasons.is_empty() { PreScan::Scan } else { PreScan::Rejected(reasons) })
    }
}

/// What pre-scan says of a Pod.
#[derive(Debug, Clone, PartialEq)]
enum PreScan {
    Accepted,
    Rejected(BTreeSet<String>),
    Scan,
}

/// Settings as rules see them: with defaults, without keys that have no value, and with what a glob says of the request's
/// namespace under its name.
fn data(case: &Case) -> Value {
    let settings = case.settings();
    let namespace = case.namespace();
    let phase = |key: &str, of: &Phase, default_policy: &str| {
        let mut phase = json!({"defaultPolicy": default_policy, "customPolicies": [], "byNamespace": {}});
        for (key, value) in settings.get(key).and_then(Value::as_object).into_iter().flatten() {
            if !value.is_null() {
                phase[key] = value.clone();
            }
        }
        if let Some((key, level)) = of.of_namespace(namespace) {
            assert!(key == namespace || phase["byNamespace"].get(namespace).is_none());
            phase["byNamespace"][namespace] = level.json();
        }
        for level in phase["byNamespace"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            level.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        }
        phase
    };
    let mut policies = phase(case.scan_key, &case.scan, "scan-result");
    if !case.change.is_pod() {
        // The Pods of a controller wait for the report, the controller doesn't.
        policies["reportPending"] = "accept".into();
        for level in policies["byNamespace"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            level["reportPending"] = "accept".into();
        }
    }
    json!({"preScanPolicies": phase("preScanPolicies", &case.pre_scan, "scan"), "policies": policies})
}

fn pod(case: &Case) -> Value {
    let request = case.request();
    request.pointer(if case.change.is_pod() { "/object" } else { "/object/spec/template" }).cloned().unwrap()
}

fn pre_scan_input(case: &Case) -> Value {
    let images = case.containers.iter().filter(|container| case.is_judged(container));
    let images: Vec<String> = images.map(|container| container.image.text()).collect();
    json!({"AdmissionRequest": case.request(), "PodObject": pod(case), "ScanReport": null, "Images": images})
}

fn scan_input(case: &Case, judged: &JudgedImage) -> Value {
    let request = case.request();
    let (status, is_outage) = match judged.scan.as_ref().and_then(|scan| scan.report.as_ref()) {
        Some(report) => (report.status.name(), report.forgiven_by == ForgivenBy::AcceptOutages),
        // Nobody asked.
        None => {
            let named = case.containers.iter().find(|container| container.name == judged.image.container);
            let status = case.status(&named.unwrap().image);
            (status.word(), status.is_outage())
        }
    };
    let image = judged.image.text.as_str();
    let pointer = judged.image.pointer.trim_end_matches("/reference").trim_end_matches("/image");
    json!({
        "ContainerObject": request["object"].pointer(pointer).unwrap(),
        "AdmissionRequest": request,
        "PodObject": pod(case),
        "ScanReport": {"ImageAndTag": image, "Status": status, "Passed": status == "accepted", "Outage": is_outage,
                       "Forgivable": true, "InnerReport": {}},
    })
}

// === What is compared ===

/// A case that the engine decided.
struct Decided {
    data: Value,
    pre_scan_input: Value,
    matching: ImageMatching,
    pre_scan: PreScan,
    /// The images that the scan phase looked at.
    scanned: Vec<JudgedImage>,
    message: Option<String>,
}

impl Decided {
    fn new(case: &Case) -> Result<Self, String> {
        let settings = Settings::read(&case.settings()).map_err(|error| error.to_string())?;
        let host = Cluster::new(case);
        let request = to_raw_value(&case.request()).map_err(|error| error.to_string())?;
        let host = WireHost(host.stub.wire());
        let decision = decide(Some(&request), &settings, &host, Timestamp(1_790_000_000));
        let (pre_scan, scanned) = match &decision.outcome {
            Outcome::NothingToJudge(_) | Outcome::PreScanAccepted => (PreScan::Accepted, Vec::new()),
            Outcome::PreScanRejected(_) => (PreScan::Rejected(decision.pre_scan_reasons()), Vec::new()),
            Outcome::Scanned => (PreScan::Scan, decision.images.clone()),
            other => return Err(format!("it is no case of the two phases: {other:?}")),
        };
        let response = Response::from(decision);
        Ok(Self {
            data: data(case),
            pre_scan_input: pre_scan_input(case),
            matching: settings.image_matching,
            pre_scan,
            scanned,
            message: response.message,
        })
    }

    fn rego(&self, modules: &[String]) -> Result<Rego, String> {
        Rego::new(modules, &self.data, self.matching)
    }
}

/// Why the phase itself denies an image, in the words of the rules.
fn denial(judged: &JudgedImage) -> BTreeSet<String> {
    let scope = judged.scan.as_ref().and_then(|scan| scan.rule.as_ref()).map(ToString::to_string).unwrap_or_default();
    let reason = judged
        .scan
        .as_ref()
        .and_then(|scan| scan.denied)
        .map(|reason| format!("Image '{}' REJECTED. {scope} - {reason}", judged.image.text));
    reason.into_iter().collect()
}

/// The message for a Pod, by the contract.
fn pre_scan_message(reasons: &BTreeSet<String>) -> String {
    format!("Pre-scan rejected. Reasons: {}", Vec::from_iter(reasons.iter().cloned()).join(", "))
}

/// The line for an image, by the contract.
fn scan_line(judged: &JudgedImage, reasons: &BTreeSet<String>) -> Option<String> {
    let (image, container) = (&judged.image.text, &judged.image.container);
    let reasons_joined = Vec::from_iter(reasons.iter().cloned()).join(", ");
    (!reasons.is_empty())
        .then(|| format!("Image '{image}' for container '{container}' failed scan policy check: {reasons_joined}"))
}

/// The generated rules alone say what the phases say.
fn check_generated(case: &Case) -> Result<(), String> {
    let decided = Decided::new(case)?;
    let mut rego = decided.rego(&[PRE_SCAN.module()])?.with_input(&decided.pre_scan_input);
    let answer = rego.pre_scan()?;
    if answer != decided.pre_scan {
        return Err(format!("pre-scan: {answer:?} by the rules, {:?} by the phase", decided.pre_scan));
    }
    if let PreScan::Rejected(reasons) = &answer
        && decided.message != Some(pre_scan_message(reasons))
    {
        return Err(format!("pre-scan: {reasons:?} by the rules, the message is {:?}", decided.message));
    }

    let mut rego = decided.rego(&[SCAN.module()])?;
    let mut lines = Vec::new();
    for judged in &decided.scanned {
        rego.set_input(&scan_input(case, judged));
        let reasons = rego.messages("deny_image")?;
        if reasons != denial(judged) {
            return Err(format!("scan: {reasons:?} by the rules, {:?} by the phase", denial(judged)));
        }
        lines.extend(scan_line(judged, &reasons));
    }
    let message = decided.message.as_deref().unwrap_or_default();
    let said: Vec<&str> = message.lines().filter(|line| line.contains("failed scan policy check")).collect();
    if decided.pre_scan == PreScan::Scan && (said != lines || !message.starts_with(&lines.join("\n"))) {
        return Err(format!("scan: {lines:#?} by the rules, the message is {message}"));
    }
    Ok(())
}

/// What custom rules make of a case, each way that they can be evaluated.
#[derive(Debug, PartialEq)]
struct Answers<T> {
    /// As one module with all generated rules, which is what the contract says.
    contract: Result<T, String>,
    /// The way that is chosen for these rules.
    chosen: Result<T, String>,
}

impl<T: PartialEq + std::fmt::Debug> Answers<T> {
    /// Errors are equal whatever they say: they name lines of different modules.
    fn check(&self, what: &str) -> Result<(), String> {
        match (&self.contract, &self.chosen) {
            (Ok(contract), Ok(chosen)) if contract == chosen => Ok(()),
            (Err(_), Err(_)) => Ok(()),
            _ => Err(format!("{what}: {self:#?}")),
        }
    }
}

fn one_module(custom: &Custom, generated: GeneratedRules) -> Vec<String> {
    vec![format!("{}\n{}", custom.module(), generated.rules())]
}

/// The modules of the way that is chosen; for the pruned way only what the custom rules mention.
fn chosen_modules(custom: &Custom, generated: GeneratedRules) -> Vec<String> {
    match custom.how {
        How::OneModule => one_module(custom, generated),
        How::Whole => vec![custom.module(), generated.module()],
        How::Pruned => {
            let names = custom.names();
            [custom.module()].into_iter().chain(generated.mentioned(names.iter().map(String::as_str))).collect()
        }
    }
}

fn pre_scan_with(decided: &Decided, custom: &Custom) -> Answers<PreScan> {
    let answer = |modules: Vec<String>, whole: bool| -> Result<PreScan, String> {
        let mut rego = decided.rego(&modules)?.with_input(&decided.pre_scan_input);
        if whole {
            return rego.pre_scan();
        }
        Ok(match (rego.pre_scan()?, &decided.pre_scan) {
            (PreScan::Accepted, _) => PreScan::Accepted,
            (PreScan::Rejected(mut reasons), PreScan::Rejected(own)) => {
                reasons.extend(own.iter().cloned());
                PreScan::Rejected(reasons)
            }
            (PreScan::Rejected(reasons), _) => PreScan::Rejected(reasons),
            (PreScan::Scan, own) => own.clone(),
        })
    };
    Answers {
        contract: answer(one_module(custom, PRE_SCAN), true),
        chosen: answer(chosen_modules(custom, PRE_SCAN), custom.how != How::Pruned),
    }
}

fn scan_with(case: &Case, decided: &Decided, custom: &Custom) -> Vec<Answers<BTreeSet<String>>> {
    let contract = decided.rego(&one_module(custom, SCAN));
    let chosen = decided.rego(&chosen_modules(custom, SCAN));
    let answer = |rego: &Result<Rego, String>, judged: &JudgedImage, own: BTreeSet<String>| -> Result<_, String> {
        let mut rego = Rego { engine: rego.as_ref().map_err(Clone::clone)?.engine.clone() };
        rego.set_input(&scan_input(case, judged));
        let mut reasons = rego.messages("deny_image")?;
        reasons.extend(own);
        Ok(reasons)
    };
    let images = decided.scanned.iter();
    images
        .map(|judged| {
            let own = if custom.how == How::Pruned { denial(judged) } else { BTreeSet::new() };
            Answers { contract: answer(&contract, judged, BTreeSet::new()), chosen: answer(&chosen, judged, own) }
        })
        .collect()
}

// === The properties ===

fn cases() -> u32 {
    // Read when this is compiled (cargo does that again when it changes), so that nothing here reads the environment.
    option_env!("TWO_PHASES_CASES").and_then(|cases| cases.parse().ok()).map_or(2_000, |cases: u32| cases.max(2_000))
}

/// How often rules that changed nothing are tried again.
const ROUNDS: usize = 5;

#[track_caller]
fn run<S: Strategy>(strategy: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let config = Config { cases: cases(), failure_persistence: None, ..Config::default() };
    let failure = match TestRunner::new(config).run(strategy, property) {
        Ok(()) => return,
        Err(TestError::Fail(reason, _) | TestError::Abort(reason)) => reason.to_string(),
    };
    panic!("{failure}");
}

fn explain(case: &Case, wrong: &str) -> TestCaseError {
    let statuses: Vec<String> =
        case.containers.iter().map(|c| format!("{}: {}", c.image.text(), case.status(&c.image).word())).collect();
    TestCaseError::fail(format!(
        "{wrong}\n\ndata: {:#}\n\nrequest: {:#}\n\nstatuses: {statuses:#?}",
        data(case),
        case.request()
    ))
}

#[test]
fn the_generated_rules_say_what_the_phases_say() {
    run(&case(), |case| check_generated(&case).map_err(|wrong| explain(&case, &wrong)));
}

#[test]
fn custom_rules_make_the_same_of_the_phases_and_of_the_generated_rules() {
    // A rule that never changes anything shows nothing. Where chance left one out, it is tried on its own.
    let idle = RefCell::new(BTreeSet::from_iter(PRE_SCAN_RULES.iter().chain(&SCAN_RULES).map(|custom| custom.rules)));
    let (mut of_pre_scan, mut of_scan) = (PRE_SCAN_RULES.to_vec(), SCAN_RULES.to_vec());
    for _ in 0..ROUNDS {
        run(&(case(), select(of_pre_scan.clone()), select(of_scan.clone())), |(case, pre_scan, scan)| {
            let wrong = |custom: &Custom, wrong: String| explain(&case, &format!("{wrong}\n\n{}", custom.rules));
            let decided = Decided::new(&case).map_err(|error| explain(&case, &error))?;
            let answers = pre_scan_with(&decided, &pre_scan);
            answers.check("pre-scan").map_err(|error| wrong(&pre_scan, error))?;
            if answers.contract != Ok(decided.pre_scan.clone()) {
                idle.borrow_mut().remove(pre_scan.rules);
            }
            for (judged, answers) in decided.scanned.iter().zip(scan_with(&case, &decided, &scan)) {
                answers.check("scan").map_err(|error| wrong(&scan, error))?;
                if answers.contract != Ok(denial(judged)) {
                    idle.borrow_mut().remove(scan.rules);
                }
            }
            Ok(())
        });
        let idle = idle.borrow();
        if idle.is_empty() {
            return;
        }
        for rules in [&mut of_pre_scan, &mut of_scan] {
            if rules.iter().any(|custom| idle.contains(custom.rules)) {
                rules.retain(|custom| idle.contains(custom.rules));
            }
        }
    }
    panic!("these changed nothing: {:#?}", idle.into_inner());
}

// === The builtin ===

#[test]
fn image_has_prefix_is_what_the_tables_of_names_say() {
    let module = "package imageadmission\nx = image_has_prefix(input.image, input.prefix, input.action)".to_owned();
    for (setting, matching) in [(None, ImageMatching::Canonical), (Some("raw"), ImageMatching::Raw)] {
        let mut rego = Rego::new(std::slice::from_ref(&module), &json!({}), matching).unwrap();
        for image in IMAGES {
            for prefix in PREFIXES {
                for action in ["accept", "reject", "scan", "scan-result"] {
                    let input = json!({"image": image.text(), "prefix": prefix.written, "action": action});
                    rego.set_input(&input);
                    let expected = RegoValue::from(image.matches(&prefix, action, setting));
                    assert_eq!(rego.value("x"), Ok(expected), "{input}");
                }
            }
        }
    }
}

// === What no case of valid settings reaches ===

fn config_errors(rules: GeneratedRules, data: &Value, input: &Value) -> BTreeSet<String> {
    let mut rego = Rego::new(&[rules.module()], data, ImageMatching::Canonical).unwrap().with_input(input);
    let errors = rego.messages("config_error").unwrap();
    let denied = rego.messages(if rules.defines("deny_pod") { "deny_pod" } else { "deny_image" }).unwrap();
    assert!(errors.is_subset(&denied), "{errors:?} {denied:?}");
    if rules.defines("allow_pod") && !errors.is_empty() {
        assert_eq!(rego.value("allow_pod"), Ok(RegoValue::Undefined));
    }
    errors
}

fn texts(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn settings_that_nobody_validated_deny() {
    let in_prod = json!({"object": {"metadata": {"namespace": "prod"}}});
    let pre_scan = |policies: Value, expected: &[&str]| {
        let input = json!({"AdmissionRequest": in_prod, "Images": ["ghcr.io/a:1", "nginx"]});
        assert_eq!(
            config_errors(PRE_SCAN, &json!({"preScanPolicies": policies}), &input),
            texts(expected),
            "{policies}"
        );
    };
    let scan = |policies: Value, expected: &[&str]| {
        let input =
            json!({"AdmissionRequest": in_prod, "ScanReport": {"ImageAndTag": "ghcr.io/a:1", "Status": "accepted"}});
        assert_eq!(config_errors(SCAN, &json!({"policies": policies}), &input), texts(expected), "{policies}");
    };

    pre_scan(json!({"defaultPolicy": "scan-result"}), &["Invalid value for defaultPolicy - 'scan-result'"]);
    scan(json!({"defaultPolicy": "scan"}), &["Invalid value for defaultPolicy - 'scan'"]);
    scan(json!({"defaultPolicy": 5}), &["Invalid value for defaultPolicy - '5'"]);
    type Check<'c> = &'c dyn Fn(Value, &[&str]);
    for (check, right) in [(&pre_scan as Check<'_>, "scan"), (&scan as Check<'_>, "scan-result")] {
        check(json!({"defaultPolicy": right}), &[]);
        check(Value::Null, &["Invalid value for defaultPolicy - '<empty>'"]);
        check(json!({}), &["Invalid value for defaultPolicy - '<empty>'"]);
        check(
            json!({"defaultPolicy": "x", "byNamespace": {"prod": {"defaultPolicy": "y"}, "dev": {"defaultPolicy": "z"}}}),
            &["Invalid value for defaultPolicy - 'x'", "Invalid value for defaultPolicy for namespace 'prod' - 'y'"],
        );
        check(
            json!({"defaultPolicy": right, "customPolicies": [{"prefix": "ghcr.io/", "action": "x"}]}),
            &["Invalid value for customPolicy with prefix 'ghcr.io/' - 'x'"],
        );
        check(
            json!({"defaultPolicy": right, "customPolicies": [{"prefix": "ghcr.io/"}]}),
            &["Invalid value for customPolicy with prefix 'ghcr.io/' - '<empty>'"],
        );
        check(
            json!({"defaultPolicy": right, "byNamespace": {"prod": {"customPolicies": [{"prefix": "ghcr.io/", "action": "x"}]}}}),
            &["Invalid value for namespace 'prod' customPolicy with prefix 'ghcr.io/' - 'x'"],
        );
        // What decides nothing is not found.
        check(json!({"defaultPolicy": right, "customPolicies": [{"prefix": "r.io/", "action": "x"}]}), &[]);
    }
    for key in ["reportPending", "scanFailed"] {
        let [top, own] = ["", " for namespace 'prod'"].map(|place| format!("Invalid value for {key}{place} - 'x'"));
        scan(json!({"defaultPolicy": "scan-result", key: "x"}), &[top.as_str()]);
        scan(
            json!({"defaultPolicy": "scan-result", key: "accept", "byNamespace": {"prod": {key: "x"}}}),
            &[own.as_str()],
        );
        scan(json!({"defaultPolicy": "scan-result", key: "accept", "byNamespace": {"dev": {key: "x"}}}), &[]);
    }
}

#[test]
fn inputs_with_something_missing_deny() {
    let data = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "policies": {"defaultPolicy": "accept"}});
    let no_request = "AdmissionRequest is missing in input";
    let no_report = "ScanReport is missing in input";
    let report = json!({"ImageAndTag": "nginx", "Status": "accepted"});
    assert_eq!(config_errors(PRE_SCAN, &data, &json!({})), texts(&[no_request]));
    assert_eq!(config_errors(PRE_SCAN, &data, &json!({"AdmissionRequest": null})), texts(&[no_request]));
    assert_eq!(config_errors(PRE_SCAN, &data, &json!({"AdmissionRequest": {}})), texts(&[]));
    assert_eq!(config_errors(SCAN, &data, &json!({})), texts(&[no_request, no_report]));
    assert_eq!(config_errors(SCAN, &data, &json!({"AdmissionRequest": {}, "ScanReport": null})), texts(&[no_report]));
    assert_eq!(config_errors(SCAN, &data, &json!({"AdmissionRequest": {}, "ScanReport": {}})), texts(&[no_report]));
    assert_eq!(config_errors(SCAN, &data, &json!({"AdmissionRequest": {}, "ScanReport": report})), texts(&[]));
}

#[test]
fn a_status_that_nobody_knows_denies_whatever_the_settings_say() {
    let data = json!({"policies": {"defaultPolicy": "scan-result", "reportPending": "accept", "scanFailed": "accept"}});
    for (report, status) in [
        (json!({"ImageAndTag": "nginx", "Status": "scanning"}), "scanning"),
        (json!({"ImageAndTag": "nginx", "Status": ""}), ""),
        (json!({"ImageAndTag": "nginx", "Status": null}), "null"),
        (json!({"ImageAndTag": "nginx"}), "<empty>"),
    ] {
        let input = json!({"AdmissionRequest": {"namespace": "prod"}, "ScanReport": report});
        let mut rego = Rego::new(&[SCAN.module()], &data, ImageMatching::Canonical).unwrap().with_input(&input);
        let message =
            format!("Image 'nginx' REJECTED. Global default policy - unexpected ScanReport.Status value '{status}'");
        assert_eq!(rego.messages("deny_image"), Ok(texts(&[message.as_str()])));
    }
}

#[test]
fn rules_are_tried_by_hand_with_a_pod_alone() {
    let data = json!({"preScanPolicies": {"defaultPolicy": "reject"}});
    let spec = json!({
        "initContainers": [{"image": "a"}],
        "containers": [{"image": "b"}, {"image": "b"}],
        "ephemeralContainers": [{"image": "c"}],
        "volumes": [{"emptyDir": {}}, {"image": {"reference": "d"}}],
    });
    let input = json!({"AdmissionRequest": {}, "PodObject": {"spec": spec}});
    let mut rego = Rego::new(&[PRE_SCAN.module()], &data, ImageMatching::Canonical).unwrap().with_input(&input);
    let expected = ["a", "b", "c", "d"].map(|image| format!("Image '{image}' REJECTED. Global default policy"));
    assert_eq!(rego.pre_scan(), Ok(PreScan::Rejected(expected.into())));
}

#[test]
fn without_the_generated_rules_the_settings_are_there() {
    for (rules, key) in [(PRE_SCAN, "preScanPolicies"), (SCAN, "policies")] {
        let data = json!({key: {"defaultPolicy": "accept"}});
        let input = json!({"AdmissionRequest": {"namespace": "prod", "object": {"metadata": {"namespace": ""}}}});
        let mut rego =
            Rego::new(&[rules.mentioned(ALWAYS).unwrap()], &data, ImageMatching::Canonical).unwrap().with_input(&input);
        assert_eq!(rego.value("namespace"), Ok(RegoValue::from("prod")));
        assert_eq!(rego.value("policies.defaultPolicy"), Ok(RegoValue::from("accept")));
        assert_eq!(rego.value("final_image_policies"), Ok(RegoValue::Undefined));
    }
}
