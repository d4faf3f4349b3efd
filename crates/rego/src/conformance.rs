//! A query against modules, as OPA's own conformance cases ask it: through the checks of a deployment, the bounds and the
//! builtins that rules of the settings have.

use crate::deployment::load;
use crate::evaluation::builtins::exists;
use crate::evaluation::document::{from_value, get};
use crate::evaluation::{Budget, EvaluationError, Evaluator, ModuleText};
use image_admission_settings::{ImageMatching, RegoVersion};
use image_admission_untrusted::time::Timestamp;
use regorus::Value;
use serde_json::{Value as Json, json};

/// Modules, what they see, and what is asked of them.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The modules' texts.
    pub modules: &'a [&'a str],
    /// In which syntax all of them are written.
    pub version: RegoVersion,
    /// The document below `data`.
    pub data: &'a Json,
    /// The document `input`; none leaves it undefined.
    pub input: Option<&'a Json>,
    /// The same as a term of Rego, which may be a set.
    pub input_term: Option<&'a str>,
    /// A query with variables, such as `data.p.q = x`.
    pub query: &'a str,
    /// What `time.now_ns` says.
    pub now: Timestamp,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unanswered {
    /// A deployment is refused, with this error.
    Refused(String),
    /// The evaluation failed, which rejects a request.
    Failed(String),
}

/// The values of the query's variables, once for each way in which it holds. Sets are arrays in the engine's order.
///
/// # Errors
/// The modules are refused, or the evaluation fails.
pub fn answer(question: &Question<'_>) -> Result<Vec<Json>, Unanswered> {
    let names: Vec<String> = (0..question.modules.len()).map(|number| format!("module-{number}")).collect();
    let texts: Vec<ModuleText<'_>> = names
        .iter()
        .zip(question.modules)
        .map(|(name, rego)| ModuleText { name, rego, version: question.version })
        .collect();
    let budget = Budget::unlimited();
    load(&mut Evaluator::new(&budget), &texts, ImageMatching::Canonical).map_err(Unanswered::Refused)?;

    let failed = |error: EvaluationError| Unanswered::Failed(error.to_string());
    let unread = |what: &str| Unanswered::Failed(format!("the {what} can't be read"));
    let mut evaluator = Evaluator::new(&budget);
    let mut modules = Vec::new();
    for text in &texts {
        modules.push(evaluator.load(text).map_err(failed)?);
    }
    // The query's own calls, which no module makes.
    let body = match question.version {
        RegoVersion::V0 => format!("package query\nq {{ {} }}\n", question.query),
        RegoVersion::V1 => format!("package query\nq if {{ {} }}\n", question.query),
    };
    let query = ModuleText { name: "query", rego: &body, version: question.version };
    let query = Evaluator::new(&budget).load(&query).map_err(failed)?;
    if let Some(unknown) = query.calls.keys().find(|name| !name.starts_with("data.") && !exists(name)) {
        return Err(Unanswered::Refused(format!("there is no function `{unknown}`")));
    }
    modules.push(query);
    evaluator.extend(&modules, question.now, ImageMatching::Canonical).map_err(failed)?;
    evaluator.add_data(from_value(question.data, usize::MAX).map_err(|_| unread("data"))?).map_err(failed)?;
    if let Some(input) = question.input {
        evaluator.set_input(from_value(input, usize::MAX).map_err(|_| unread("input"))?);
    }
    if let Some(term) = question.input_term {
        let found = evaluator.query(&format!("term = {term}")).map_err(failed)?;
        evaluator.set_input(found.first().map_or(Value::Undefined, |way| get(way, "term")));
    }
    // As in requests, where the query is a rule's value.
    if let Some((path, variable)) = rule_asked_for(question.query)
        && let Some((package, rule)) = path.rsplit_once('.')
        && modules.iter().any(|facts| facts.package.join(".") == package && facts.rules.contains(rule))
    {
        let value = evaluator.rule(&format!("data.{path}")).map_err(failed)?;
        return Ok(value.iter().map(|value| json!({variable: json(value)})).collect());
    }
    let found = evaluator.query(question.query).map_err(failed)?;
    Ok(found.iter().map(json).collect())
}

/// `p.q` and `x` of `data.p.q = x`.
fn rule_asked_for(query: &str) -> Option<(&str, &str)> {
    let (path, variable) = query.split_once('=')?;
    let path = path.trim().strip_prefix("data.")?;
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let variable = variable.trim();
    (path.split('.').all(is_name) && is_name(variable) && variable != "input").then_some((path, variable))
}

fn json(value: &Value) -> Json {
    value.to_json_str().ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Json::Null)
}
