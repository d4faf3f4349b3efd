//! The settings of worlds: each is a switch that is on or off, with the values that it may have.

use super::day;
use super::signers::{OTHER_KEY, TEAM_KEY, attestor, own_attestor};
use image_admission_untrusted::time::Timestamp;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

/// Every switch: its path; in how many of twenty worlds it is on, and its values. What begins with a dollar is an attestor, or the day
/// so many days from now.
const TABLE: &str = include_str!("settings.json");
/// The sources of reports, in the order of `Content::kept_by`.
pub(super) const SOURCES: [&str; 6] =
    ["sbomscanner", "trivyOperator", "registry", "attestation", "kubescape", "custom"];

/// A setting, by its path, with what it is set to. An empty path is all settings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Switch {
    pub(crate) path: String,
    pub(crate) value: Value,
}

impl Switch {
    pub(crate) fn set(&self, settings: &mut Value) {
        let path = self.path.split('.').filter(|key| !key.is_empty());
        *path.fold(settings, |at, key| &mut at[key]) = self.value.clone();
    }
}

/// Some switches, each at one of its values.
pub(crate) fn switches(now: Timestamp) -> impl Strategy<Value = Vec<Switch>> {
    let table: Map<String, Value> = serde_json::from_str(TABLE).unwrap();
    let own = own_attestor();
    let switch = |(path, row): (String, Value)| {
        let row = filled(row, &own, now);
        let (twentieths, values) = row.as_array().unwrap().split_first().unwrap();
        let values = match path.as_str() {
            "reports.sources" => subsequence(sources(&own), 1..=3).prop_shuffle().prop_map(|list| json!(list)).boxed(),
            _ => select(values.to_vec()).boxed(),
        };
        let switch = values.prop_map(move |value| Switch { path: path.clone(), value });
        prop::option::weighted(twentieths.as_f64().unwrap() / 20.0, switch)
    };
    let all: Vec<_> = table.into_iter().map(switch).collect();
    all.prop_map(|all| all.into_iter().flatten().collect())
}

fn filled(value: Value, own: &Value, now: Timestamp) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$') {
            None => json!(text),
            Some("own") => own.clone(),
            Some(name @ ("team" | "ci")) => attestor(name, TEAM_KEY),
            Some(name @ ("other" | "security")) => attestor(name, OTHER_KEY),
            Some(days) => json!(days.strip_prefix("day").map(|days| day(now, days.parse().unwrap()))),
        },
        Value::Array(list) => list.into_iter().map(|one| filled(one, own, now)).collect(),
        Value::Object(map) => map.into_iter().map(|(key, one)| (key, filled(one, own, now))).collect(),
        other => other,
    }
}

fn sources(own: &Value) -> Vec<Value> {
    let fields = [
        "registry",
        "repository",
        "digest",
        "platform",
        "time",
        "endOfLife",
        "findings",
        "id",
        "severity",
        "package",
        "purl",
        "fixedVersion",
        "score",
        "published",
        "knownExploited",
        "epssScore",
        "suppressed",
    ];
    let fields: Map<String, Value> = fields.into_iter().map(|field| (field.to_owned(), json!(field))).collect();
    vec![
        json!({"sbomscanner": {}}),
        json!({"trivyOperator": {"namespaces": ["scans"]}}),
        json!({"registry": {"attestors": [attestor("ci", TEAM_KEY)]}}),
        json!({"attestation": {"predicateType": "https://example.com/trivy", "attestors": [own]}}),
        json!({"kubescape": {}}),
        json!({"custom": {"apiVersion": "scans.example/v1", "kind": "Scan", "namespaces": ["scans"],
                          "name": "scan-{platformDigestHex}", "fields": fields}}),
    ]
}
