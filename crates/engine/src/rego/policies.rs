//! `regoPolicies`: those for the request's kind, each with the modules that it refers to, and their results.

use super::cluster::Cluster;
use super::input::{Input, KnownOfImages};
use super::patch;
use super::seen::{Seen, SeenModule};
use super::shown::{kind_of, unexpected_value};
use crate::request::{AdmissionRequest, Operation};
use image_admission_rego::evaluation::document::get;
use image_admission_rego::evaluation::module::Facts;
use image_admission_rego::evaluation::{Budget, EvaluationError, Evaluator, ModuleText, is_within};
use image_admission_rego::rules::{DENIES, ImageQuestion, Pool, WARNS, mentions, suffix, unmet};
use image_admission_settings::{RegoPolicy, Settings};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use regorus::Value;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// The longest message of a rule that is shown.
const MAX_MESSAGE_LENGTH: usize = 1024;
/// The largest operation of a patch, in bytes as bounds measure them: no request is larger.
const MAX_PATCHED: usize = 4 * 1024 * 1024;
/// The result of one policy for a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyOutcome {
    /// The policy's name in the settings.
    pub name: String,
    /// Why it rejects: the messages of its rules, sorted and without duplicates.
    pub denials: BTreeSet<String>,
    /// Its warnings.
    pub warnings: BTreeSet<String>,
    /// Why it could not decide, which rejects too.
    pub error: Option<String>,
}

impl PolicyOutcome {
    /// Whether the policy rejects, or could not decide.
    #[must_use]
    pub fn rejects(&self) -> bool {
        self.error.is_some() || !self.denials.is_empty()
    }
}

/// The policies of one request, loaded.
pub(crate) struct Policies<'a> {
    loaded: Vec<Loaded<'a>>,
    /// Distinguishes versions of the settings for this kind.
    pub(crate) hash: String,
}

struct Loaded<'a> {
    policy: &'a RegoPolicy,
    evaluator: Evaluator<'a>,
    /// Those of its own module first, then those of the modules that it refers to.
    modules: Vec<Facts>,
    texts: Vec<ModuleText<'a>>,
    has_data: bool,
    /// The input of its rules, once they were evaluated.
    input: Option<Value>,
    outcome: PolicyOutcome,
}

/// Data beside the request, requested when a rule mentions it.
pub(crate) trait Outside {
    /// By image, the scan reports of the images that the request brings; whole reports where `inner` says so.
    ///
    /// # Errors
    /// One of them was there, and can't be read again.
    fn reports(&mut self, inner: bool) -> Result<Value, String>;

    /// By image, the answers about the images that the request brings.
    ///
    /// # Errors
    /// The answer for one of them is unknown.
    fn answers(&mut self, question: ImageQuestion) -> Result<Value, String>;
}

impl<'a> Policies<'a> {
    /// Loads the policies for a request's kind, and nothing else; none if the settings have none for it.
    pub(crate) fn load(
        settings: &'a Settings,
        request: &AdmissionRequest<'_>,
        budget: &'a Budget,
        now: Timestamp,
    ) -> Option<Self> {
        let rego = &settings.rego;
        let of_kind = |policy: &&RegoPolicy| {
            policy.kinds.iter().any(|kind| kind.matches(&request.group, &request.version, &request.kind))
        };
        let policies: Vec<&RegoPolicy> = rego.policies.iter().filter(of_kind).collect();
        if policies.is_empty() {
            return None;
        }
        let hash = super::hash::of(&policies, &rego.libraries);
        let all: Vec<&RegoPolicy> = rego.policies.iter().collect();
        let pool = Pool::new(&rego.libraries, &all);
        let loaded = policies
            .iter()
            .map(|policy| {
                let mut outcome = PolicyOutcome { name: policy.name.clone(), ..PolicyOutcome::default() };
                let mut evaluator = Evaluator::new(budget);
                let (modules, texts) = match load(policy, &pool, &mut evaluator, now, settings) {
                    Ok(loaded) => loaded,
                    Err(error) => {
                        outcome.error = Some(format!("Evaluation error: {error}"));
                        (Vec::new(), Vec::new())
                    }
                };
                Loaded { policy, evaluator, modules, texts, has_data: false, input: None, outcome }
            })
            .collect();
        Some(Self { loaded, hash })
    }

    /// Evaluates the patches of every policy, and the messages of `system.main`. Without an object nothing can be patched.
    pub(crate) fn ask_first(&mut self, input: &Input, cluster: &mut Cluster<'_>) {
        for loaded in &mut self.loaded {
            if loaded.is_system_main()
                && let Err(why) = loaded.patches(input, cluster)
            {
                loaded.outcome.error = Some(why);
            }
        }
    }

    /// The same, and applies the patches to a copy of the object, one policy after the other; none if nothing changed. `again`
    /// makes the input of a patched object.
    pub(crate) fn patch(
        &mut self,
        input: &Input,
        object: &Json,
        cluster: &mut Cluster<'_>,
        again: impl Fn(&Json) -> Input,
    ) -> Option<Json> {
        let mut patched: Option<Json> = None;
        for loaded in &mut self.loaded {
            let seen = match &patched {
                Some(object) => again(object),
                None => input.clone(),
            };
            match loaded.patches(&seen, cluster) {
                Ok(patches) if patches.is_empty() => {}
                Ok(patches) => {
                    let mut copy = patched.clone().unwrap_or_else(|| object.clone());
                    let is_written = |step: &str| loaded.texts.iter().any(|text| mentions(text.rego, step));
                    let applied = patches.into_iter().try_for_each(|(rule, operations)| {
                        patch::apply(&mut copy, operations, &is_written)
                            .map_err(|error| format!("rule `{rule}`: {error}"))
                    });
                    match applied {
                        Ok(()) if copy.is_object() => patched = Some(copy),
                        Ok(()) => loaded.outcome.error = Some("its patches leave no object".to_owned()),
                        Err(why) => loaded.outcome.error = Some(why),
                    }
                }
                Err(why) => loaded.outcome.error = Some(why),
            }
        }
        patched.filter(|patched| patched != object)
    }

    /// Evaluates all rules that reject or warn.
    pub(crate) fn evaluate_policies(&mut self, input: &Input, cluster: &mut Cluster<'_>, outside: &mut dyn Outside) {
        let (mut reports, mut answers) = (None, ImageQuestion::ALL.map(|question| (question, None)));
        // A rule that passes `input` on as a whole sees them too, but only a rule that names them reads them.
        let sees = |loaded: &Loaded<'_>| loaded.mentions("scanReports");
        let inner = self.loaded.iter().any(|loaded| sees(loaded) && loaded.mentions("InnerReport"));
        for loaded in &mut self.loaded {
            if loaded.outcome.rejects() {
                continue;
            }
            let of_scanners = sees(loaded).then(|| reports.get_or_insert_with(|| outside.reports(inner)).as_ref());
            let asked = answers.iter_mut().filter(|(question, _)| loaded.mentions(question.in_policies()));
            let known: Result<Vec<_>, &String> = asked
                .map(|(question, answer)| {
                    let answer = answer.get_or_insert_with(|| outside.answers(*question)).as_ref();
                    answer.map(|answer| (*question, answer))
                })
                .collect();
            let decided = match (of_scanners.transpose(), known) {
                (Ok(reports), Ok(answers)) => loaded.deny_and_warn(input, cluster, &KnownOfImages { reports, answers }),
                (Err(why), _) | (_, Err(why)) => Err(format!("Evaluation error: {why}")),
            };
            if let Err(why) = decided {
                loaded.outcome.error = Some(why);
            }
        }
    }

    /// The result of each policy.
    pub(crate) fn outcomes(self) -> Vec<PolicyOutcome> {
        let said: Vec<(bool, BTreeSet<String>)> =
            self.loaded.iter().map(|loaded| (loaded.is_system_main(), loaded.outcome.denials.clone())).collect();
        let others: BTreeSet<&str> =
            said.iter().filter(|(is_main, _)| !is_main).flat_map(|(_, denials)| denials).map(String::as_str).collect();
        let joined = others.iter().copied().collect::<Vec<_>>().join(", ");
        let mut outcomes: Vec<PolicyOutcome> = self.loaded.into_iter().map(|loaded| loaded.outcome).collect();
        // `system.main` combines the messages of the policies that it calls. They are evaluated by themselves too, so each message
        // would show twice. A message that `main` changes is shown.
        for (outcome, _) in outcomes.iter_mut().zip(&said).filter(|(_, (is_main, _))| *is_main) {
            outcome.denials.retain(|denial| others.is_empty() || *denial != joined);
        }
        outcomes
    }

    /// The input of each policy, for the log.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let see = |loaded: &Loaded<'_>| {
            let texts: Vec<SeenModule> = loaded.texts.iter().map(SeenModule::of).collect();
            Some(Seen::new(&loaded.policy.name, loaded.input.as_ref()?, &loaded.evaluator.data(), &texts))
        };
        self.loaded.iter().filter_map(see).collect()
    }
}

/// Loads a policy's module, then the library modules that it refers to, and those that they refer to.
fn load<'a>(
    policy: &'a RegoPolicy,
    pool: &Pool<'a>,
    evaluator: &mut Evaluator<'_>,
    now: Timestamp,
    settings: &Settings,
) -> Result<(Vec<Facts>, Vec<ModuleText<'a>>), EvaluationError> {
    let own = ModuleText { name: &policy.name, rego: &policy.rego, version: policy.version };
    let mut texts = vec![own];
    let mut modules = vec![evaluator.load(&own)?];
    while let Some(text) = unmet(pool, &modules, &texts) {
        modules.push(evaluator.load(&text)?);
        texts.push(text);
    }
    evaluator.extend(&modules, now, settings.image_matching)?;
    Ok((modules, texts))
}

impl Loaded<'_> {
    fn facts(&self) -> Option<&Facts> {
        self.modules.first()
    }

    /// `data.package.rule`
    fn rule_path(&self, rule: &str) -> String {
        let package = self.facts().map(|facts| facts.package.join(".")).unwrap_or_default();
        format!("data.{package}.{rule}")
    }

    fn mentions(&self, word: &str) -> bool {
        self.texts.iter().any(|text| text.rego.contains(word))
    }

    fn has_rule(&self, rule: &str) -> bool {
        self.facts().is_some_and(|facts| facts.rules.contains(rule))
    }

    fn is_system_main(&self) -> bool {
        self.has_rule("main") && self.facts().is_some_and(|facts| facts.package == ["system"])
    }

    fn evaluate(&mut self, rule: &str) -> Result<Option<Value>, String> {
        let path = self.rule_path(rule);
        self.evaluator.rule(&path).map_err(|error| format!("Evaluation error: {error}"))
    }

    fn prepare(&mut self, input: &Input, cluster: &mut Cluster<'_>, known: &KnownOfImages<'_>) -> Result<(), String> {
        if !self.has_data {
            if let Some(data) = cluster.data(&self.modules)? {
                self.evaluator.add_data(data).map_err(|error| format!("Evaluation error: {error}"))?;
            }
            self.has_data = true;
        }
        let document = input.for_policy(self.policy.parameters.as_ref(), known);
        self.input = Some(document.clone());
        self.evaluator.set_input(document);
        Ok(())
    }

    /// The operations of its rules that patch, each with the rule's name. A `main` that rejects also gives an answer.
    fn patches(&mut self, input: &Input, cluster: &mut Cluster<'_>) -> Result<Vec<(&'static str, Json)>, String> {
        let (has_patch, has_main) = (self.has_rule("patch"), self.is_system_main());
        if self.outcome.rejects() || !(has_patch || has_main) {
            return Ok(Vec::new());
        }
        self.prepare(input, cluster, &KnownOfImages::default())?;
        let mut patches = Vec::new();
        if has_main {
            let main = self.evaluate("main")?.ok_or("rule `main` is undefined, and decides nothing")?;
            let response = get(&main, "response");
            match get(&response, "allowed") {
                Value::Bool(true) => match get(&response, "patch") {
                    Value::Null => {}
                    Value::String(text) => {
                        let operations = patch::decode(&text).map_err(|error| format!("rule `main`: {error}"))?;
                        patches.push(("main", operations));
                    }
                    other => {
                        let kind = kind_of(&other);
                        return Err(format!(
                            "rule `main`: `response.patch` is of the type {kind}; it is `base64.encode(json.marshal(patches))`"
                        ));
                    }
                },
                Value::Bool(false) => {
                    let status = get(&response, "status");
                    let text =
                        |key| get(&status, key).as_string().ok().map(|text| text.to_string()).filter(|t| !t.is_empty());
                    let reason = text("message").or_else(|| text("reason"));
                    let reason = reason.unwrap_or_else(|| "it gives no reason".to_owned());
                    self.outcome.denials.insert(cut(&reason, MAX_MESSAGE_LENGTH));
                }
                other => {
                    let kind = kind_of(&other);
                    return Err(format!(
                        "rule `main`: `response.allowed` is of the type {kind}, where true or false decides"
                    ));
                }
            }
        }
        if has_patch && let Some(value) = self.evaluate("patch")? {
            let mut operations = Vec::new();
            for element in elements(&value).ok_or_else(|| unexpected("patch", &value))? {
                match to_json(element) {
                    Some(Json::Array(several)) => operations.extend(several),
                    Some(operation) => operations.push(operation),
                    None => return Err(unexpected("patch", element)),
                }
            }
            if !operations.is_empty() {
                patches.push(("patch", Json::Array(operations)));
            }
        }
        Ok(patches)
    }

    fn deny_and_warn(
        &mut self,
        input: &Input,
        cluster: &mut Cluster<'_>,
        known: &KnownOfImages<'_>,
    ) -> Result<(), String> {
        let rules: Vec<String> = self.facts().map(|facts| facts.rules.iter().cloned().collect()).unwrap_or_default();
        let asked = |prefix: &str| -> Vec<String> {
            let of_prefix = |rule: &&String| suffix(rule, prefix).is_some();
            rules.iter().filter(of_prefix).cloned().collect()
        };
        let denies: Vec<String> = DENIES.into_iter().flat_map(asked).collect();
        let warns = asked(WARNS);
        if denies.is_empty() && warns.is_empty() {
            return Ok(());
        }
        self.prepare(input, cluster, known)?;
        let excepted = if self.has_rule("exception") { self.exceptions()? } else { BTreeSet::new() };
        for (rules, rejects) in [(denies, true), (warns, false)] {
            for rule in rules {
                let is_excepted = [DENIES[0], DENIES[1], WARNS]
                    .into_iter()
                    .any(|prefix| suffix(&rule, prefix).is_some_and(|suffix| excepted.contains(suffix)));
                if is_excepted {
                    continue;
                }
                let Some(value) = self.evaluate(&rule)? else { continue };
                let said = messages(&rule, &value)?;
                if rejects { self.outcome.denials.extend(said) } else { self.outcome.warnings.extend(said) }
            }
        }
        Ok(())
    }

    /// The suffixes of the rules that `exception` mutes; an empty one is the rule without a suffix.
    fn exceptions(&mut self) -> Result<BTreeSet<String>, String> {
        let Some(value) = self.evaluate("exception")? else { return Ok(BTreeSet::new()) };
        let mut suffixes = BTreeSet::new();
        for rules in elements(&value).ok_or_else(|| unexpected("exception", &value))? {
            for rule in elements(rules).ok_or_else(|| unexpected("exception", rules))? {
                let rule = rule.as_string().map_err(|_| unexpected("exception", rule))?;
                suffixes.insert(rule.to_string());
            }
        }
        Ok(suffixes)
    }
}

/// The messages of a rule: the strings of its set, or the `msg` of its objects.
fn messages(rule: &str, value: &Value) -> Result<BTreeSet<String>, String> {
    if let Ok(text) = value.as_string() {
        return Ok(BTreeSet::from([cut(text, MAX_MESSAGE_LENGTH)]));
    }
    if *value == Value::Bool(false) {
        return Ok(BTreeSet::new());
    }
    let mut messages = BTreeSet::new();
    for element in elements(value).ok_or_else(|| unexpected(rule, value))? {
        let text = match element {
            Value::String(text) => text.to_string(),
            Value::Object(_) => message(element).ok_or_else(|| unexpected(rule, element))?,
            other => return Err(unexpected(rule, other)),
        };
        messages.insert(cut(&text, MAX_MESSAGE_LENGTH));
    }
    Ok(messages)
}

/// The `msg` of an object. Libraries for Gatekeeper's input may wrap a message twice.
fn message(element: &Value) -> Option<String> {
    match get(element, "msg") {
        Value::String(text) => Some(text.to_string()),
        inner @ Value::Object(_) => get(&inner, "msg").as_string().ok().map(|text| text.to_string()),
        _ => None,
    }
}

/// The contract's error, with the rule and what it should have returned.
fn unexpected(rule: &str, value: &Value) -> String {
    let gives = match rule {
        "patch" => "operations of a JSON patch",
        "exception" => "lists of rule names",
        _ => "strings, or objects with a string `msg`",
    };
    unexpected_value(rule, value, gives)
}

fn elements(value: &Value) -> Option<Box<dyn Iterator<Item = &Value> + '_>> {
    match value {
        Value::Array(list) => Some(Box::new(list.iter())),
        Value::Set(set) => Some(Box::new(set.iter())),
        _ => None,
    }
}

fn to_json(value: &Value) -> Option<Json> {
    let is_operation = matches!(value, Value::Object(_) | Value::Array(_)) && is_within(value, MAX_PATCHED);
    is_operation.then(|| serde_json::to_value(value).ok()).flatten()
}

/// Whether patches can be applied to a request with this operation.
pub(crate) fn can_patch(operation: Operation) -> bool {
    matches!(operation, Operation::Create | Operation::Update)
}
