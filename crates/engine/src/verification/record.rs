//! The results of expressions, what they saw and what they asked: for their authors.
//!
//! They are recorded while a request is decided, by the evaluation that decides. In the policy's module the [`Recorder`] is
//! [`Nobody`], and nothing is kept.

use super::VerificationOutcome;
use super::check::check_policy;
use super::questions::Listener;
use crate::rego::{HIDDEN, hide};
use crate::request::AdmissionRequest;
use cel::objects::Key;
use cel::{ExecutionError, Value};
use image_admission_cel::expression::{EvaluationError, NAMESPACES, Program, Scope, UNDECLARED, describe};
use image_admission_cel::functions::{self, TYPE_NAMES};
use image_admission_settings::{Expression, Settings, VerificationPolicy};
use image_admission_untrusted::message::cut;
use serde::Serialize;
use serde_json::{Map, Value as Json};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The longest string, the longest list and the most leaves of a value that are shown.
const MAX_TEXT: usize = 300;
const MAX_ITEMS: usize = 20;
const MAX_LEAVES: usize = 200;
/// The most calls of one expression that are shown.
const MAX_CALLS: usize = 50;

/// The results of the expressions of one policy of `imageVerification`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRecord {
    /// The policy's name.
    pub policy: String,
    /// Whether it is about the request.
    pub is_about: bool,
    /// Why it isn't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<&'static str>,
    /// Whether it holds for the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// Why it doesn't, in the words of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What couldn't be requested and counts as valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Every expression of the policy, in the order in which its kinds are evaluated.
    pub expressions: Vec<ExpressionRecord>,
}

/// The result of one expression, once. Without a value and an error it wasn't evaluated.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpressionRecord {
    /// Its path in the settings.
    pub path: String,
    /// What it is called there, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The expression.
    pub text: String,
    /// The image that it was evaluated for, which it calls `ref`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Whether `object` was the object before an update.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sees_old_object: bool,
    /// Whether nothing needed it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub not_evaluated: bool,
    /// Its value; a large one is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
    /// Why it has no value, or an invalid one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
    /// The names that it refers to, with their values.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub saw: Map<String, Json>,
    /// The names that it refers to in vain, and the first missing field of a path.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub absent: BTreeSet<String>,
    /// Its calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRecord>,
    /// Why the policy couldn't be deployed with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A call of a function that asks the host.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// Its name.
    pub function: String,
    /// Its arguments.
    pub arguments: Vec<Json>,
    /// Its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<Json>,
    /// Why it has no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorRecord>,
}

/// Why there is no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorRecord {
    /// The kind of error.
    pub kind: ErrorKind,
    /// Why.
    pub message: String,
}

/// What kind of error it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// Its arguments make no sense to it.
    Failed,
    /// It refers to an unknown name.
    Undefined,
    /// The host couldn't answer now.
    Outage,
    /// It exceeds a limit.
    Limit,
}

/// Gets the results of expressions.
pub(crate) trait Recorder {
    /// The evaluation of a policy's expressions begins.
    fn begins(&self, _: &VerificationPolicy) {}
    /// A policy isn't about the request.
    fn leaves_out(&self, _: &VerificationPolicy, _why: &'static str) {}
    /// From now on, `object` is the one before the update, or no longer is.
    fn sees_old_object(&self, _: bool) {}
    /// An expression is evaluated, or evaluated again: its earlier calls don't count.
    fn forgets_calls(&self) {}
    /// An expression has a result.
    fn evaluated(&self, _: &Evaluation<'_, '_>) {}
    /// The result of the last evaluation of an expression is invalid.
    fn failed(&self, _: &Expression, _why: &EvaluationError) {}
    /// The listener for calls, if there is one.
    fn listener(&self) -> Option<Listener> {
        None
    }
}

/// Records nothing. It is a type and not `None`, so that the compiler leaves the other recorder out of the policy's module.
pub(crate) struct Nobody;

impl Recorder for Nobody {}

/// The result of an expression.
pub(crate) struct Evaluation<'e, 's> {
    pub(crate) expression: &'e Expression,
    pub(crate) program: &'e Program,
    /// What it saw.
    pub(crate) scope: &'e Scope<'s>,
    /// The image that it is about, where it is about one.
    pub(crate) image: Option<&'e str>,
    pub(crate) value: &'e Result<Value, EvaluationError>,
}

/// Everything that is recorded for one request, in a form that can be shown.
pub(crate) struct Record {
    veil: Veil,
    /// The calls since the last evaluation.
    calls: Arc<Mutex<Vec<CallRecord>>>,
    noted: RefCell<Noted>,
}

#[derive(Default)]
struct Noted {
    sees_old_object: bool,
    /// By path.
    expressions: BTreeMap<String, Vec<ExpressionRecord>>,
    /// By the policy's path.
    left_out: BTreeMap<String, &'static str>,
}

impl Record {
    pub(crate) fn of(request: &AdmissionRequest<'_>) -> Self {
        let is_secret = request.is_about_a_secret();
        Self { veil: Veil { is_secret }, calls: Arc::default(), noted: RefCell::default() }
    }

    /// The records for each policy of the settings; `outcomes` are their results for the request. `why_not` says why a policy
    /// wasn't evaluated.
    pub(crate) fn policies(
        self,
        settings: &Settings,
        outcomes: &[VerificationOutcome],
        why_not: impl Fn(&VerificationPolicy) -> &'static str,
    ) -> Vec<PolicyRecord> {
        let Self { veil, noted, .. } = self;
        let Noted { mut expressions, left_out, .. } = noted.into_inner();
        let mut outcomes = outcomes.iter().peekable();
        let policy = |policy: &VerificationPolicy| {
            let left_out = left_out.get(&policy.path).copied();
            let outcome = left_out.is_none().then(|| outcomes.next_if(|own| own.name == policy.name)).flatten();
            let mut problems = Vec::new();
            check_policy(policy, &settings.evidence, &mut problems);
            PolicyRecord {
                policy: policy.name.clone(),
                is_about: outcome.is_some(),
                why_not: outcome.is_none().then(|| left_out.unwrap_or_else(|| why_not(policy))),
                holds: outcome.map(|outcome| outcome.failure.is_none()),
                message: outcome.and_then(VerificationOutcome::message).map(|message| veil.text(message)),
                ignored: outcome
                    .into_iter()
                    .flat_map(|outcome| &outcome.ignored)
                    .map(|why| veil.text(why.clone()))
                    .collect(),
                expressions: all_of(policy)
                    .into_iter()
                    .flat_map(|(name, expression)| {
                        let told = expressions.remove(&expression.path);
                        with_problems(told.unwrap_or_else(|| vec![unasked(expression)]), name, expression, &problems)
                    })
                    .collect(),
            }
        };
        settings.verification.iter().map(policy).collect()
    }
}

/// Every expression of a policy, in the order in which its kinds are evaluated, each with its name.
fn all_of(policy: &VerificationPolicy) -> Vec<(Option<&str>, &Expression)> {
    let mut all: Vec<(Option<&str>, &Expression)> = Vec::new();
    for named in policy.conditions.iter().chain(&policy.images) {
        all.push((Some(&named.name), &named.expression));
    }
    all.extend(policy.images_matched.expressions.iter().map(|expression| (None, expression)));
    for named in &policy.variables {
        all.push((Some(&named.name), &named.expression));
    }
    for verification in &policy.verifications {
        all.push((None, &verification.expression));
        all.extend(verification.message_expression.as_ref().map(|expression| (None, expression)));
    }
    for named in &policy.audit_annotations {
        all.push((Some(&named.name), &named.expression));
    }
    all
}

/// An expression without a record.
fn unasked(expression: &Expression) -> ExpressionRecord {
    ExpressionRecord {
        path: expression.path.clone(),
        name: None,
        text: expression.text.clone(),
        image: None,
        sees_old_object: false,
        not_evaluated: true,
        value: None,
        error: None,
        saw: Map::new(),
        absent: BTreeSet::new(),
        calls: Vec::new(),
        problems: Vec::new(),
    }
}

/// The records of an expression with its name and its errors, whatever it is evaluated for.
fn with_problems(
    records: Vec<ExpressionRecord>,
    name: Option<&str>,
    expression: &Expression,
    problems: &[String],
) -> Vec<ExpressionRecord> {
    let own = problems.iter().filter_map(|problem| problem.strip_prefix(&expression.path)?.strip_prefix(": "));
    let own: Vec<String> = own.map(str::to_owned).collect();
    let whole = |record| ExpressionRecord { name: name.map(str::to_owned), problems: own.clone(), ..record };
    records.into_iter().map(whole).collect()
}

impl Recorder for Record {
    fn begins(&self, policy: &VerificationPolicy) {
        let within = |path: &str| path.strip_prefix(&policy.path).is_some_and(|rest| rest.starts_with('.'));
        self.noted.borrow_mut().expressions.retain(|path, _| !within(path));
    }

    fn leaves_out(&self, policy: &VerificationPolicy, why: &'static str) {
        self.noted.borrow_mut().left_out.insert(policy.path.clone(), why);
    }

    fn sees_old_object(&self, is_old: bool) {
        self.noted.borrow_mut().sees_old_object = is_old;
    }

    fn forgets_calls(&self) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn evaluated(&self, evaluation: &Evaluation<'_, '_>) {
        let Evaluation { expression, program, scope, image, value } = *evaluation;
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        let (saw, absent) = self.veil.saw(program, scope);
        let mut noted = self.noted.borrow_mut();
        let record = ExpressionRecord {
            image: image.map(|image| self.veil.text(cut(image, MAX_TEXT))),
            sees_old_object: noted.sees_old_object,
            not_evaluated: false,
            value: value.as_ref().ok().map(|value| self.veil.derived(value)),
            error: value.as_ref().err().map(|why| self.veil.error(why, expression)),
            saw,
            absent,
            calls,
            ..unasked(expression)
        };
        let records = noted.expressions.entry(expression.path.clone()).or_default();
        // An image in several lists is evaluated for each.
        if image.is_none() || !records.contains(&record) {
            records.push(record);
        }
    }

    fn failed(&self, expression: &Expression, why: &EvaluationError) {
        let mut noted = self.noted.borrow_mut();
        if let Some(last) = noted.expressions.get_mut(&expression.path).and_then(|records| records.last_mut()) {
            last.error = Some(self.veil.error(why, expression));
        }
    }

    fn listener(&self) -> Option<Listener> {
        let (veil, calls) = (self.veil, Arc::clone(&self.calls));
        Some(Arc::new(move |function, arguments, answer, is_outage| {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            if calls.len() < MAX_CALLS {
                calls.push(CallRecord {
                    function: function.to_owned(),
                    arguments: arguments.iter().map(|value| veil.derived(value)).collect(),
                    answer: answer.as_ref().ok().map(|value| veil.derived(value)),
                    error: answer.as_ref().err().map(|why| veil.call_error(function, why, is_outage)),
                });
            }
        }))
    }
}

/// Hides the contents of a Secret, if the request is about one, and everything that was made from them.
#[derive(Clone, Copy)]
struct Veil {
    is_secret: bool,
}

impl Veil {
    /// The names that an expression refers to, and those that are missing.
    fn saw(self, program: &Program, scope: &Scope<'_>) -> (Map<String, Json>, BTreeSet<String>) {
        let (mut saw, mut absent) = (BTreeMap::new(), BTreeSet::new());
        let namespace_of = |name: &str| NAMESPACES.into_iter().find(|own| name.split('.').next() == Some(*own));
        for name in &program.references.names {
            let Some(namespace) = namespace_of(name) else { continue };
            match scope.get(name) {
                // Attestors and attestations are known only by name.
                Some(value) if namespace.starts_with("attest") => {
                    saw.insert(name.clone(), shown(&json_of(&value)));
                }
                Some(value) => {
                    saw.insert(name.clone(), self.derived(&value));
                }
                None => {
                    absent.insert(name.clone());
                }
            }
        }
        let paths = program.paths();
        let mut roots: BTreeMap<&str, Option<Json>> = BTreeMap::new();
        for path in &paths {
            let Some((root, fields)) = path.split_first() else { continue };
            if TYPE_NAMES.contains(root) || *root == "optional" || functions::is_namespace(root) {
                continue;
            }
            let root = roots.entry(root).or_insert_with(|| scope.get(root).map(|value| self.root(root, &value)));
            let mut value = root.as_ref();
            let mut there = 0;
            for field in fields {
                // A hidden value hides everything below it.
                if value.is_none_or(|value| *value == HIDDEN) {
                    break;
                }
                value = value.and_then(|value| value.get(field));
                there += 1;
            }
            match value {
                Some(value) => {
                    saw.insert(path.join("."), shown(value));
                }
                None => {
                    absent.insert(path.get(..=there).map(|there| there.join(".")).unwrap_or_else(|| path.join(".")));
                }
            }
        }
        (saw.into_iter().collect(), absent)
    }

    /// A document, without the contents of Secrets.
    fn root(self, name: &str, value: &Value) -> Json {
        let mut json = json_of(value);
        if self.is_secret && !["object", "oldObject", "request", "namespaceObject", "exemptions"].contains(&name) {
            return veiled(&json);
        }
        hide(&mut json, self.is_secret && ["object", "oldObject"].contains(&name));
        json
    }

    /// A value that may have been made from the request's object.
    fn derived(self, value: &Value) -> Json {
        let json = json_of(value);
        if self.is_secret { veiled(&json) } else { shown(&json) }
    }

    fn text(self, text: String) -> String {
        if self.is_secret { HIDDEN.to_owned() } else { text }
    }

    fn error(self, why: &EvaluationError, expression: &Expression) -> ErrorRecord {
        let whole = why.to_string();
        let message = whole.strip_prefix(&expression.path).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&whole);
        let kind = match why {
            EvaluationError::Limit(_) => ErrorKind::Limit,
            EvaluationError::Outage { .. } => ErrorKind::Outage,
            EvaluationError::Failed(_) if message.starts_with(UNDECLARED) => ErrorKind::Undefined,
            EvaluationError::Failed(_) => ErrorKind::Failed,
        };
        ErrorRecord { kind, message: self.text(message.to_owned()) }
    }

    fn call_error(self, function: &str, why: &ExecutionError, is_outage: bool) -> ErrorRecord {
        let whole = describe(why);
        let message = whole.strip_prefix(function).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&whole);
        let kind = if is_outage { ErrorKind::Outage } else { ErrorKind::Failed };
        ErrorRecord { kind, message: self.text(message.to_owned()) }
    }
}

/// A value that says nothing of a string.
fn veiled(json: &Json) -> Json {
    if json.is_boolean() || json.is_null() { json.clone() } else { HIDDEN.into() }
}

/// A value as JSON. A value without a JSON form becomes a string.
fn json_of(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Int(number) => Json::from(*number),
        Value::UInt(number) => Json::from(*number),
        Value::Float(number) => {
            serde_json::Number::from_f64(*number).map_or_else(|| number.to_string().into(), Json::Number)
        }
        Value::String(text) => Json::from(text.as_str()),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()).into(),
        Value::List(elements) => elements.iter().map(json_of).collect(),
        Value::Map(map) => {
            let text = |key: &Key| match key {
                Key::String(text) => text.to_string(),
                Key::Int(number) => number.to_string(),
                Key::Uint(number) => number.to_string(),
                Key::Bool(value) => value.to_string(),
            };
            let entries: BTreeMap<String, Json> =
                map.map.iter().map(|(key, value)| (text(key), json_of(value))).collect();
            Json::Object(entries.into_iter().collect())
        }
        Value::Timestamp(time) => time.to_rfc3339().into(),
        Value::Duration(duration) => duration.to_string().into(),
        other => other.type_of().to_string().into(),
    }
}

/// A value, cut to a readable size.
fn shown(json: &Json) -> Json {
    fn part(json: &Json, leaves: &mut usize) -> Json {
        match json {
            Json::String(text) => {
                *leaves = leaves.saturating_sub(1);
                cut(text, MAX_TEXT).into()
            }
            Json::Array(elements) => {
                let mut kept = Vec::new();
                for element in elements.iter().take(MAX_ITEMS) {
                    if *leaves == 0 {
                        break;
                    }
                    kept.push(part(element, leaves));
                }
                let more = elements.len() - kept.len();
                if more > 0 {
                    kept.push(format!("… {more} more").into());
                }
                Json::Array(kept)
            }
            Json::Object(entries) => {
                let mut kept = Map::new();
                for (key, value) in entries {
                    if *leaves == 0 {
                        break;
                    }
                    kept.insert(cut(key, MAX_TEXT), part(value, leaves));
                }
                let more = entries.len().saturating_sub(kept.len());
                if more > 0 {
                    kept.insert("…".to_owned(), format!("{more} more").into());
                }
                Json::Object(kept)
            }
            other => {
                *leaves = leaves.saturating_sub(1);
                other.clone()
            }
        }
    }
    let mut leaves = MAX_LEAVES;
    part(json, &mut leaves)
}
