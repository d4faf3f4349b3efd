//! Queries to Prometheus, as far as they ask the policy server's metrics: which metrics and labels they name.

use regex::Regex;
use std::collections::BTreeSet;

/// What the policy server of Kubewarden 1.36 sends. A histogram has three series in Prometheus.
const METRICS: [&str; 4] = [
    "kubewarden_policy_evaluations_total",
    "kubewarden_policy_evaluation_latency_milliseconds_bucket",
    "kubewarden_policy_evaluation_latency_milliseconds_count",
    "kubewarden_policy_evaluation_latency_milliseconds_sum",
];

/// The labels of both, with the values that they have where these are few; `le` is the histogram's.
const LABELS: [(&str, &[&str]); 11] = [
    ("policy_name", &[]),
    ("policy_mode", &["monitor", "protect"]),
    ("resource_kind", &[]),
    ("resource_namespace", &[]),
    ("resource_request_operation", &["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    ("accepted", &["true", "false"]),
    ("mutated", &["true", "false"]),
    ("request_origin", &["validate", "audit"]),
    ("error_code", &["403", "500"]),
    ("initialization_error", &[]),
    ("le", &[]),
];

/// Whether a query asks for nothing that the policy server doesn't have.
pub(crate) fn check(query: &str) -> Result<(), String> {
    let expression = |pattern: &str| Regex::new(pattern).unwrap();
    let metrics: BTreeSet<&str> = expression(r"\b[a-z]\w*_\w*(?:total|bucket|count|sum|milliseconds)\b")
        .find_iter(query)
        .map(|found| found.as_str())
        .collect();
    if metrics.is_empty() {
        return Err("it asks for no metric".to_owned());
    }
    if let Some(unknown) = metrics.iter().find(|metric| !METRICS.contains(metric)) {
        return Err(format!("the policy server has no metric `{unknown}`"));
    }
    for selector in expression(r"\{([^}]*)\}").captures_iter(query) {
        let matcher = expression(r#"^\s*(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*$"#);
        for part in selector[1].split(',') {
            let Some(found) = matcher.captures(part) else { return Err(format!("`{part}` matches no label")) };
            let (name, value) = (&found[1], &found[3]);
            let Some((_, values)) = LABELS.iter().find(|(label, _)| *label == name) else {
                return Err(format!("the policy server has no label `{name}`"));
            };
            if found[2] == *"=" && !values.is_empty() && !values.contains(&value) {
                return Err(format!("the label `{name}` is never `{value}`"));
            }
        }
    }
    for labels in expression(r"\bby \(([^)]*)\)").captures_iter(query) {
        if let Some(unknown) =
            labels[1].split(',').map(str::trim).find(|name| LABELS.iter().all(|(label, _)| label != name))
        {
            return Err(format!("the policy server has no label `{unknown}`"));
        }
    }
    match ["()", "{}", "[]"].iter().find(|pair| {
        let count = |character: Option<char>| query.chars().filter(|one| Some(*one) == character).count();
        count(pair.chars().next()) != count(pair.chars().last())
    }) {
        Some(pair) => Err(format!("`{pair}` don't match")),
        None => Ok(()),
    }
}
