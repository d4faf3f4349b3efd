//! Custom rules of the two phases, in addition to the settings.
//!
//! The generated rules are Rego too, and the specification of the native phases. They are evaluated only if custom rules change one
//! of them. Otherwise custom rules are evaluated with the few generated rules that they mention, and their result is combined with
//! that of the native phase.

use super::input::{Input, MAX_REQUEST};
use super::seen::SeenModule;
use super::shown::unexpected_value;
use crate::context::ReviewedObject;
use crate::judged::JudgedImage;
use crate::prescan::{PreScan, PreScanRejection};
use image_admission_image::workload::WorkloadKind;
use image_admission_rego::evaluation::document::{from_own, from_value, set};
use image_admission_rego::evaluation::module::InputKeys;
use image_admission_rego::evaluation::{Budget, EvaluationError, Evaluator, ModuleText};
use image_admission_rego::rules::generated::PACKAGE;
use image_admission_rego::rules::{GENERATED, ImageQuestion, Modules, Phase, load_modules, with_package};
use image_admission_settings::{RegoVersion, Settings};
use image_admission_untrusted::time::Timestamp;
use regorus::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Where rules find the namespace that they are evaluated for: `data.request.namespace`.
const REQUEST: &str = "request";

/// The result of the custom rules of pre-scan, or of all its rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PreScanRules {
    /// `allow_pod` is true.
    pub(crate) allow: bool,
    /// `deny_pod`, or why it is unknown.
    pub(crate) deny: BTreeSet<String>,
    /// Whether the generated rules were evaluated too, so that the native phase has no say.
    pub(crate) whole: bool,
}

/// The rules of one phase, loaded.
pub(crate) struct PhaseRules<'a> {
    evaluator: Evaluator<'a>,
    rules: BTreeSet<String>,
    whole: bool,
    sees_inner_report: bool,
    /// The questions about images whose answers they use.
    asks: Vec<ImageQuestion>,
    sees_settings: bool,
    /// The keys that each module reads of its input; none: something may read everything.
    sees: Option<Vec<InputKeys>>,
    /// The modules, for the log.
    pub(super) texts: Vec<SeenModule>,
}

/// The input of a phase's rules, whose parts all images share. It has only the keys that some rule reads.
pub(super) struct PhaseInput(Value);

impl PhaseInput {
    /// # Errors
    /// The input of the rules is too large, or `input` says why it can't be read.
    pub(super) fn new<'i>(
        rules: &PhaseRules<'_>,
        input: impl FnOnce() -> Result<&'i Input, String>,
        reviewed: &ReviewedObject,
        workload: WorkloadKind,
        images: &[JudgedImage],
    ) -> Result<Self, String> {
        let mut document = Value::new_object();
        let mut pod = None;
        if rules.sees("AdmissionRequest") {
            let input = input()?;
            set(&mut document, "AdmissionRequest", input.request.clone());
            pod = Some(input.object.clone()).filter(|_| !workload.is_template());
        }
        if rules.sees("PodObject") {
            let pod = match pod {
                Some(pod) => pod,
                None if workload.is_template() => {
                    document_of(&template(&reviewed.object, workload, &reviewed.namespace))?
                }
                None => document_of(&reviewed.object)?,
            };
            set(&mut document, "PodObject", pod);
        }
        let images: Vec<Value> = images.iter().map(|judged| Value::from(judged.image.text.as_str())).collect();
        set(&mut document, "Images", Value::from(images));
        Ok(Self(document))
    }

    /// Pre-scan knows nothing about any image yet.
    pub(super) fn pre_scan(mut self) -> Value {
        set(&mut self.0, "ContainerObject", Value::Null);
        set(&mut self.0, "ScanReport", Value::Null);
        self.0
    }

    /// For the scan phase: the container of one image, and what is known about it; `answers` to everything that the rules ask.
    ///
    /// # Errors
    /// The container is too large for rules.
    pub(super) fn scan(
        &self,
        container: &Json,
        report: Value,
        answers: Vec<(ImageQuestion, Value)>,
    ) -> Result<Value, String> {
        let mut document = self.0.clone();
        set(&mut document, "ContainerObject", document_of(container)?);
        set(&mut document, "ScanReport", report);
        for (question, answer) in answers {
            set(&mut document, question.in_custom_rules(), answer);
        }
        Ok(document)
    }
}

fn document_of(value: &Json) -> Result<Value, String> {
    from_value(value, MAX_REQUEST).map_err(|error| error.to_string())
}

/// The template of a controller as the Pod that will be made from it.
fn template(object: &Json, workload: WorkloadKind, namespace: &str) -> Json {
    let mut pod = object.pointer(workload.pod_pointer()).cloned().unwrap_or_default();
    if let Some(pod) = pod.as_object_mut() {
        pod.insert("apiVersion".to_owned(), Json::from("v1"));
        pod.insert("kind".to_owned(), Json::from("Pod"));
        let metadata = pod.entry("metadata").or_insert(Json::Null);
        if !metadata.is_object() {
            *metadata = Json::Object(serde_json::Map::new());
        }
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("namespace".to_owned(), Json::from(namespace));
        }
    }
    pod
}

impl PreScanRules {
    /// The result of pre-scan, where `native` is the result without custom rules.
    pub(super) fn combine(mut self, native: PreScan, images: &[JudgedImage]) -> PreScan {
        if self.allow {
            return PreScan::Accepted;
        }
        let mut by_policies = false;
        if matches!(native, PreScan::Rejected(_)) {
            // The generated rules repeat the policies' reasons in the same words, which are no reasons of the custom rules.
            let generated: BTreeSet<String> =
                images.iter().filter_map(JudgedImage::pre_scan_rejection).map(|it| it.to_string()).collect();
            by_policies = !self.whole || generated.is_subset(&self.deny);
            if by_policies {
                self.deny.retain(|reason| !generated.contains(reason));
            }
        }
        match native {
            _ if by_policies || !self.deny.is_empty() => {
                PreScan::Rejected(PreScanRejection { by_policies, by_rules: self.deny })
            }
            PreScan::Accepted if !self.whole => PreScan::Accepted,
            _ => PreScan::Scan,
        }
    }
}

impl<'a> PhaseRules<'a> {
    /// Loads the custom rules of a phase, and the generated ones that they need; none without custom rules.
    pub(crate) fn load(
        settings: &'a Settings,
        phase: Phase,
        namespace: &str,
        budget: &'a Budget,
        now: Timestamp,
    ) -> Option<Result<Box<Self>, EvaluationError>> {
        let (custom, name, generate) = match phase {
            Phase::PreScan => (&settings.rego.pre_custom_rules, "preCustomRules", settings.pre_scan.auto_generate),
            Phase::Scan => (&settings.rego.custom_rules, "customRules", settings.scan.auto_generate),
        };
        if custom.is_empty() {
            return None;
        }
        let text = with_package(custom);
        let text = ModuleText { name, rego: &text, version: settings.rego.version };
        Some(Self::load_text(&text, (phase, namespace), generate, settings, budget, now).map(Box::new))
    }

    fn load_text(
        text: &ModuleText<'_>,
        (phase, namespace): (Phase, &str),
        generate: bool,
        settings: &Settings,
        budget: &'a Budget,
        now: Timestamp,
    ) -> Result<Self, EvaluationError> {
        let mut evaluator = Evaluator::new(budget);
        let Modules { facts, whole, rego, beside } = load_modules(&mut evaluator, text, phase, generate, true)?;
        evaluator.extend(&facts, now, settings.image_matching)?;
        if facts.iter().any(|facts| facts.needs(&[REQUEST, "namespace"])) {
            let mut request = Value::new_object();
            set(&mut request, "namespace", Value::from(namespace));
            let mut data = Value::new_object();
            set(&mut data, REQUEST, request);
            evaluator.add_data(data)?;
        }
        let sees_settings = facts.iter().any(|facts| facts.needs(&["policies"]) || facts.needs(&["preScanPolicies"]));
        let sees = facts.iter().map(|facts| facts.input.clone()).collect();
        let sees = Some(sees).filter(|_| !settings.verbose_log);
        let rules = facts.into_iter().next().map(|facts| facts.rules).unwrap_or_default();
        let own = ModuleText { rego: &rego, ..*text };
        let beside = ModuleText { name: GENERATED, rego: &beside, version: RegoVersion::V0 };
        let texts = [own, beside]
            .iter()
            .filter(|text| settings.verbose_log && !text.rego.is_empty())
            .map(SeenModule::of)
            .collect();
        let sees_inner_report = text.rego.contains("InnerReport");
        let is_asked = |question: &ImageQuestion| text.rego.contains(question.in_custom_rules());
        let asks = ImageQuestion::ALL.into_iter().filter(is_asked).collect();
        Ok(Self { evaluator, rules, whole, sees_inner_report, asks, sees_settings, sees, texts })
    }

    /// The settings of both phases, as rules see them.
    ///
    /// # Errors
    /// They contradict a package of the rules.
    pub(crate) fn set_data(&mut self, data: Value) -> Result<(), EvaluationError> {
        self.evaluator.add_data(data)
    }

    /// The rules' `data`, for the log.
    pub(super) fn data(&self) -> Value {
        self.evaluator.data()
    }

    /// Whether the native phase has no say beside these rules.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether the rules may read a key of their input.
    fn sees(&self, key: &str) -> bool {
        self.sees.as_ref().is_none_or(|modules| modules.iter().any(|keys| keys.may_see(key)))
    }

    /// Whether the rules read the settings of the phases.
    pub(crate) fn sees_settings(&self) -> bool {
        self.sees_settings
    }

    /// Whether the rules read the scanners' own reports, so that whole reports must be read.
    pub(crate) fn sees_inner_report(&self) -> bool {
        self.sees_inner_report
    }

    /// The questions about images whose answers the rules use.
    pub(crate) fn asks(&self) -> &[ImageQuestion] {
        &self.asks
    }

    /// The result of the rules of pre-scan. An evaluation error denies.
    pub(crate) fn pre_scan(&mut self, input: Value) -> PreScanRules {
        self.evaluator.set_input(input);
        let mut said = PreScanRules { whole: self.whole, ..PreScanRules::default() };
        match self.ask("allow_pod") {
            Ok(Some(Value::Bool(allow))) => said.allow = allow,
            Ok(None) => {}
            Ok(Some(other)) => {
                said.deny.insert(unexpected_value("allow_pod", &other, "true or false"));
                return said;
            }
            Err(why) => {
                said.deny.insert(why);
                return said;
            }
        }
        if !said.allow {
            said.deny = self.denials("deny_pod");
        }
        said
    }

    /// Why the rules of the scan phase deny an image. An evaluation error denies.
    pub(crate) fn deny_image(&mut self, input: Value) -> BTreeSet<String> {
        self.evaluator.set_input(input);
        self.denials("deny_image")
    }

    fn denials(&mut self, rule: &str) -> BTreeSet<String> {
        const GIVES: &str = "a set of strings";
        let value = match self.ask(rule) {
            Ok(None) => return BTreeSet::new(),
            Ok(Some(value)) => value,
            Err(why) => return BTreeSet::from([why]),
        };
        let Ok(elements) = value.as_set() else { return BTreeSet::from([unexpected_value(rule, &value, GIVES)]) };
        let text = |element: &Value| match element {
            Value::String(text) => image_admission_untrusted::message::cut(text, 1024),
            other => unexpected_value(rule, other, GIVES),
        };
        elements.iter().map(text).collect()
    }

    fn ask(&mut self, rule: &str) -> Result<Option<Value>, String> {
        if !self.rules.contains(rule) {
            return Ok(None);
        }
        self.evaluator
            .rule(&["data.", PACKAGE, ".", rule].concat())
            .map_err(|error| format!("Evaluation error: {error}"))
    }
}

/// The settings of both phases as rules see them: as written, with defaults filled in. Rules look namespaces up by name, so the
/// entry of a glob that applies to `namespace` is also stored under its name. For templates of controllers a pending report is
/// accepted: their Pods wait for it.
pub(crate) fn settings_data(settings: &Settings, namespace: &str, is_template: bool) -> Value {
    let phase = |keys: [&str; 2], default: &str, holds: Option<&str>| {
        let settings = &settings.rego.phases;
        let written = keys.iter().find_map(|key| settings.get(*key)).filter(|value| value.is_object());
        let mut policies = written.cloned().unwrap_or_else(|| Json::Object(serde_json::Map::new()));
        for (key, value) in [
            ("autoGenerate", Json::Bool(true)),
            ("defaultPolicy", Json::from(default)),
            ("customPolicies", Json::Array(Vec::new())),
            ("byNamespace", Json::Object(serde_json::Map::new())),
        ] {
            let entry = policies.as_object_mut().map(|map| map.entry(key).or_insert(Json::Null));
            if let Some(entry) = entry.filter(|entry| entry.is_null()) {
                *entry = value;
            }
        }
        let by_namespace = policies.get_mut("byNamespace").and_then(Json::as_object_mut);
        if let (Some(by_namespace), Some(glob)) = (by_namespace, holds.filter(|key| *key != namespace))
            && let Some(entry) = by_namespace.get(glob).cloned()
        {
            by_namespace.insert(namespace.to_owned(), entry);
        }
        policies
    };
    let pre_scan = settings.pre_scan.by_namespace.key_of(namespace);
    let mut scan = phase(["policies", "scanPolicies"], "scan-result", settings.scan.by_namespace.key_of(namespace));
    if is_template {
        let accept = Json::from("accept");
        if let Some(namespaces) = scan.get_mut("byNamespace").and_then(Json::as_object_mut) {
            for level in namespaces.values_mut().filter_map(Json::as_object_mut) {
                level.insert("reportPending".to_owned(), accept.clone());
            }
        }
        if let Some(level) = scan.as_object_mut() {
            level.insert("reportPending".to_owned(), accept);
        }
    }
    let mut data = Value::new_object();
    set(&mut data, "preScanPolicies", from_own(&phase(["preScanPolicies", "preScanPolicies"], "scan", pre_scan)));
    set(&mut data, "policies", from_own(&scan));
    data
}
