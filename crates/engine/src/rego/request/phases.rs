//! Custom rules of the two phases, beside what the settings say by themselves.
//!
//! The generated rules are Rego too, and the specification of the native phases. Parsing all of them costs more than
//! deciding natively, so that they are evaluated only where custom rules change one of them; else custom rules are
//! evaluated with the few that they mention, and what they say is combined with what the native phase said.

use super::asked::Asked;
use super::generated::{ALWAYS, GeneratedRules, PACKAGE, PRE_SCAN, SCAN};
use super::input::{ImageQuestion, Input, MAX_REQUEST};
use super::seen::SeenModule;
use super::shown::unexpected_value;
use crate::Timestamp;
use crate::context::ReviewedObject;
use crate::judged::JudgedImage;
use crate::prescan::{PreScan, PreScanRejection};
use crate::rego::engine::document::{from_own, from_value, set};
use crate::rego::engine::module::{Facts, InputKeys};
use crate::rego::engine::{Budget, EvaluationError, Evaluator, Text};
use crate::settings::{RegoVersion, Settings};
use crate::workload::WorkloadKind;
use regorus::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// One of the two phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    PreScan,
    Scan,
}

impl Phase {
    pub(super) fn generated(self) -> GeneratedRules {
        match self {
            Self::PreScan => PRE_SCAN,
            Self::Scan => SCAN,
        }
    }

    /// What is asked of a rule of this phase; none: nobody asks it.
    pub(crate) fn asked(self, rule: &str) -> Option<Asked> {
        match (self, rule) {
            (Self::PreScan, "allow_pod") => Some(Asked::Verdict),
            (Self::PreScan, "deny_pod") | (Self::Scan, "deny_image") => Some(Asked::Reasons),
            _ => None,
        }
    }

    /// Generated rules that name a part of a document. The namespace is the same for the whole request, so that it stands in
    /// one, which costs far less than the rules that say how it is found.
    fn names(self) -> &'static [(&'static str, &'static str)] {
        const NAMESPACE: (&str, &str) = ("namespace", "data.request.namespace");
        match self {
            Self::PreScan => &[NAMESPACE, ("policies", "data.preScanPolicies")],
            Self::Scan => &[NAMESPACE, ("policies", "data.policies"), ("image", "input.ScanReport.ImageAndTag")],
        }
    }
}

/// The rules that are asked. Custom rules add to them; they change nothing that the others say.
const ANSWERS: [&str; 3] = ["allow_pod", "deny_pod", "deny_image"];

/// Where rules find the namespace that they are evaluated for: `data.request.namespace`.
const REQUEST: &str = "request";

/// What messages call the generated rules.
const GENERATED: &str = "generated rules";

/// What custom rules of pre-scan say, or all rules of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PreScanRules {
    /// `allow_pod` is true.
    pub(crate) allow: bool,
    /// `deny_pod`, or why it isn't known.
    pub(crate) deny: BTreeSet<String>,
    /// Whether the generated rules were evaluated too, so that the native phase has nothing to say.
    pub(crate) whole: bool,
}

/// The rules of one phase, loaded.
pub(crate) struct PhaseRules<'a> {
    evaluator: Evaluator<'a>,
    rules: BTreeSet<String>,
    whole: bool,
    sees_inner_report: bool,
    /// The questions about images whose answers they look at.
    asks: Vec<ImageQuestion>,
    sees_settings: bool,
    /// What each module looks at of its input; none: everything is shown to somebody.
    sees: Option<Vec<InputKeys>>,
    /// The modules, for the log.
    pub(super) texts: Vec<SeenModule>,
}

/// What the rules of a phase see; the parts are shared by all images. Most rules look at a container and its report, so
/// that what they don't look at isn't there: reading the request once more costs half of what a short rule does.
pub(super) struct PhaseInput(Value);

impl PhaseInput {
    /// # Errors
    /// The rules look at what is too large for them, or `input` says why it can't be read.
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

    /// For pre-scan nothing is known about any image.
    pub(super) fn pre_scan(mut self) -> Value {
        set(&mut self.0, "ContainerObject", Value::Null);
        set(&mut self.0, "ScanReport", Value::Null);
        self.0
    }

    /// For the scan phase: the container of one image, and what is known about that; `answers` to all that the rules ask.
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

/// The template of a controller as the Pod that it will be.
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
    /// What pre-scan says of the images, where `native` is what it says without custom rules.
    pub(super) fn combine(mut self, native: PreScan, images: &[JudgedImage]) -> PreScan {
        if self.allow {
            return PreScan::Accepted;
        }
        let mut by_policies = false;
        if matches!(native, PreScan::Rejected(_)) {
            // The generated rules say in Rego what the policies say, in the same words: that is no reason of one's own.
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
    /// Loads the custom rules of a phase, and of the generated ones what they need; none without custom rules.
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
        let text = Text { name, rego: &text, version: settings.rego.version };
        Some(Self::load_text(&text, (phase, namespace), generate, settings, budget, now).map(Box::new))
    }

    fn load_text(
        text: &Text<'_>,
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
        let own = Text { rego: &rego, ..*text };
        let beside = Text { name: GENERATED, rego: &beside, version: RegoVersion::V0 };
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

    /// What the rules see as `data`, for the log.
    pub(super) fn data(&self) -> Value {
        self.evaluator.data()
    }

    /// Whether the native phase has nothing to say beside these rules.
    pub(crate) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether the rules may look at a key of their input.
    fn sees(&self, key: &str) -> bool {
        self.sees.as_ref().is_none_or(|modules| modules.iter().any(|keys| keys.may_see(key)))
    }

    /// Whether the rules look at the settings of the phases.
    pub(crate) fn sees_settings(&self) -> bool {
        self.sees_settings
    }

    /// Whether the rules look at what scanners reported, so that whole reports must be read.
    pub(crate) fn sees_inner_report(&self) -> bool {
        self.sees_inner_report
    }

    /// The questions about images whose answers the rules look at.
    pub(crate) fn asks(&self) -> &[ImageQuestion] {
        &self.asks
    }

    /// What the rules of pre-scan say. What can't be evaluated denies.
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

    /// Why the rules of the scan phase deny an image. What can't be evaluated denies.
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
            Value::String(text) => crate::message::cut(text, 1024),
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

/// The rules with a package. Who writes the line is not asked to leave it out; who leaves it out keeps the numbers of
/// the lines.
pub(crate) fn with_package(rules: &str) -> String {
    match super::library::package(rules) {
        Some(_) => rules.to_owned(),
        None => ["package ", PACKAGE, " ", rules].concat(),
    }
}

/// Custom rules with names for parts of documents: imports of them, or rules below the custom rules, which keep their lines.
fn with_names(rego: &str, names: &[(&str, &str)], may_import: bool) -> String {
    let mut text = rego.to_owned();
    let place = after_package(rego).filter(|_| may_import);
    let mut lines = String::new();
    for (name, value) in names {
        match place {
            Some(_) => [" import ", value, " as ", name].into_iter().for_each(|part| lines.push_str(part)),
            None => ["\n", name, " := ", value].into_iter().for_each(|part| text.push_str(part)),
        }
    }
    text.insert_str(place.unwrap_or_default(), &lines);
    text
}

/// Whether an import of the text's own gives something this name.
fn imports(rego: &str, name: &str) -> bool {
    // Nearly no text has any, and this looks for three names.
    rego.contains("import ")
        && rego.lines().any(|line| {
            let line = line.split('#').next().unwrap_or_default().trim();
            // The package may stand before it, on the same line.
            let Some((before, path)) = line.split_once("import ") else { return false };
            (before.is_empty() || before.starts_with("package "))
                && path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with([' ', '\t', '.']))
        })
}

/// Where imports may stand: behind the package's name, on its line. None when a rule may be meant by its whole path, where
/// an import isn't found.
fn after_package(rego: &str) -> Option<usize> {
    let is_said =
        |line: &&str| !matches!(line.trim_start_matches('\u{feff}').trim_start().bytes().next(), None | Some(b'#'));
    let before: usize = rego.split_inclusive('\n').take_while(|line| !is_said(line)).map(str::len).sum();
    let place = before + rego.get(before..)?.find(PACKAGE)? + PACKAGE.len();
    let rest = rego.get(place..)?;
    (rest.starts_with(char::is_whitespace) && !rest.contains(PACKAGE)).then_some(place)
}

/// Whether a text has a word of its own like this, whatever it stands for.
pub(super) fn mentions(rego: &str, word: &str) -> bool {
    let of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_part = |at: usize| rego.as_bytes().get(at).is_some_and(of_word);
    rego.match_indices(word).any(|(at, _)| !at.checked_sub(1).is_some_and(is_part) && !is_part(at + word.len()))
}

/// The modules of a phase with custom rules.
pub(crate) struct Modules {
    /// What the modules are about, the custom rules first.
    pub(crate) facts: Vec<Facts>,
    /// Whether the custom rules change a generated one, so that all of them stand in the same module.
    pub(crate) whole: bool,
    /// The text of that module.
    pub(crate) rego: String,
    /// The generated rules that it mentions, in a module of their own; empty: none.
    pub(crate) beside: String,
}

/// Loads custom rules, and of the generated ones what they need.
///
/// Rules that are only looked at keep their columns. Where they are evaluated, what names a part of a document is imported,
/// which costs half of what a rule does that says the same.
pub(crate) fn load_modules(
    evaluator: &mut Evaluator<'_>,
    text: &Text<'_>,
    phase: Phase,
    generate: bool,
    is_evaluated: bool,
) -> Result<Modules, EvaluationError> {
    let generated = phase.generated();
    let own_lines = text.rego.lines().count();
    let named = |except: &[&str]| -> Vec<(&'static str, &'static str)> {
        let names = phase.names().iter().copied();
        let is_wanted = |name: &str| {
            (generate || ALWAYS.contains(&name))
                && !except.contains(&name)
                && mentions(text.rego, name)
                && !imports(text.rego, name)
        };
        names.filter(|(name, _)| is_wanted(name)).collect()
    };
    let mut names = named(&[]);
    let mut rego = with_names(text.rego, &names, is_evaluated);
    let mut facts = evaluator.load(&Text { rego: &rego, ..*text })?;
    let is_own = |line: &u32| usize::try_from(*line).is_ok_and(|line| line <= own_lines);
    let changes = |name: &&str| !ANSWERS.contains(name) && generated.defines(name);
    let own = facts.lines.iter().filter(|(_, line)| is_own(line)).map(|(name, _)| name.as_str());
    let is_changed: Vec<&str> = own.filter(changes).collect();
    if generate && !is_changed.is_empty() {
        // The clauses of one function must stand in one module.
        let is_v1 = text.version == RegoVersion::V1 || imports(text.rego, "rego.v1");
        let rules = if is_v1 { generated.rules_in_v1() } else { generated.rules().to_owned() };
        let rego = format!("{}\n{rules}", text.rego);
        evaluator.start_again();
        facts = evaluator.load(&Text { rego: &rego, ..*text })?;
        return Ok(Modules { facts: vec![facts], whole: true, rego, beside: String::new() });
    }
    if is_changed.iter().any(|name| ALWAYS.contains(name)) {
        // Without generated rules these may be the custom rules' own.
        names = named(&is_changed);
        rego = with_names(text.rego, &names, is_evaluated);
        evaluator.start_again();
        facts = evaluator.load(&Text { rego: &rego, ..*text })?;
    }
    let mut beside = String::new();
    if generate {
        let mut used: Vec<&str> = facts.names.iter().chain(facts.calls.keys()).map(String::as_str).collect();
        // By its whole path too; who refers to the package as a whole may mean any.
        used.extend(
            facts.calls.keys().filter_map(|name| name.strip_prefix("data.")?.strip_prefix(PACKAGE)?.strip_prefix('.')),
        );
        for reference in facts.data.iter().filter(|reference| reference.may_reach(&[PACKAGE])) {
            match reference.keys.get(1) {
                Some(Some(name)) => used.push(name),
                _ => generated.names().for_each(|name| used.push(name)),
            }
        }
        let is_named = |name: &str| ALWAYS.contains(&name) || names.iter().any(|(other, _)| *other == name);
        beside = generated.mentioned(used.into_iter().filter(|name| !is_named(name))).unwrap_or_default();
    }
    let mut facts = vec![facts];
    if !beside.is_empty() {
        facts.push(evaluator.load(&Text { name: GENERATED, rego: &beside, version: RegoVersion::V0 })?);
    }
    Ok(Modules { facts, whole: false, rego, beside })
}

/// The settings of both phases as rules see them: as they are written, with what isn't written filled in. Rules look
/// namespaces up by their names, so that the entry of a glob that holds for `namespace` stands under its name too. For
/// templates of controllers a report that is pending is accepted: their Pods wait for it.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stand_behind_the_package() {
        for (rego, place) in [
            ("package imageadmission deny_pod { true }", Some(22)),
            ("\n# package imageadmission\npackage imageadmission # ours\n\ndeny_pod { true }", Some(48)),
            ("\u{feff}package imageadmission\n", Some(25)),
            ("package imageadmission", None),
            ("package imageadmission\n\nx { data.imageadmission.image }", None),
            ("package [\"imageadmission\"]\n", None),
            ("# nothing", None),
            ("", None),
        ] {
            assert_eq!(after_package(rego), place, "{rego}");
        }
    }

    #[test]
    fn imports_of_the_texts_own_are_known() {
        let rego = "package p import rego.v1\n import input.x.image # a\nimport data.b as policies\nimportant := 1";
        for (name, is_imported) in [
            ("rego.v1", true),
            ("image", true),
            ("policies", true),
            ("b", false),
            ("mage", false),
            ("namespace", false),
        ] {
            assert_eq!(imports(rego, name), is_imported, "{name}");
        }
    }

    #[test]
    fn words_are_whole() {
        for (rego, mentioned) in [
            ("image", true),
            ("x := image", true),
            ("[image]", true),
            ("deny_image[msg] { images; image_1; imageé }", true),
            ("deny_image[msg] { images; image_1 }", false),
            ("", false),
        ] {
            assert_eq!(mentions(rego, "image"), mentioned, "{rego}");
        }
    }

    /// What the rules see is the same, whether a name is imported or is a rule.
    #[test]
    fn names_are_imported_where_rules_are_evaluated() {
        let budget = Budget::unlimited();
        let load = |rego: &str, is_evaluated| {
            let text = Text { name: "customRules", rego: &with_package(rego), version: RegoVersion::V0 };
            let mut evaluator = Evaluator::new(&budget);
            load_modules(&mut evaluator, &text, Phase::Scan, true, is_evaluated).map(|modules| modules.rego).unwrap()
        };
        let rego = "deny_image[msg] { msg := sprintf(\"%v %v\", [image, policies]) }";
        assert_eq!(
            load(rego, true),
            format!(
                "package imageadmission import data.policies as policies import input.ScanReport.ImageAndTag as image {rego}"
            )
        );
        assert_eq!(
            load(rego, false),
            format!("package imageadmission {rego}\npolicies := data.policies\nimage := input.ScanReport.ImageAndTag")
        );
        let rego = "deny_image[\"x\"] { namespace == \"a\"; data.imageadmission.image == \"b\" }";
        assert_eq!(
            load(rego, true),
            format!(
                "package imageadmission {rego}\nnamespace := data.request.namespace\nimage := input.ScanReport.ImageAndTag"
            )
        );
    }
}
