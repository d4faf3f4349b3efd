//! The schema, setting by setting.

use serde_json::{Map, Value};

/// The groups that people look for settings in, with their settings at the top level, in the order in which they meet them.
pub(crate) const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Phases",
        &[
            "preScanPolicies",
            "scanPolicies",
            "policies",
            "imageMatching",
            "registries",
            "placeholders",
            "maxImages",
            "maxHostCalls",
            "verboseLog",
        ],
    ),
    ("Reports", &["reports"]),
    ("Findings", &["acceptance", "exemptions", "exemptionsFrom"]),
    ("Signatures", &["imageVerification", "evidence"]),
    ("Pinning", &["pin"]),
    ("Rules", &["preCustomRules", "customRules", "regoPolicies", "regoLibraries", "regoVersion", "context"]),
    ("Break glass", &["breakGlass"]),
    ("Messages", &["message"]),
];

/// A setting: a property of an object of the schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting<'s> {
    pub(crate) name: &'s str,
    pub(crate) schema: &'s Map<String, Value>,
    pub(crate) is_required: bool,
}

/// What a setting's value is.
#[derive(Debug, Clone)]
pub(crate) enum Shape<'s> {
    /// One of these texts, each with what it means.
    Choice(Vec<(&'s str, &'s str)>),
    Boolean,
    WholeNumber,
    Number,
    Text,
    /// All of the same schema.
    List(&'s Map<String, Value>),
    /// With these keys.
    Object,
    /// With any keys, whose values have the same schema.
    ByName(&'s Map<String, Value>),
    /// One of several.
    Either(Vec<&'s Map<String, Value>>),
    /// Whatever it is.
    Any,
}

/// The settings of an object: those that it must have, then the others by name, those with keys of one's own last.
pub(crate) fn settings_of(object: &Map<String, Value>) -> Vec<Setting<'_>> {
    let required: Vec<&str> =
        object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let place = |name: &str| required.iter().position(|other| *other == name).unwrap_or(required.len());
    let mut settings: Vec<Setting<'_>> = object
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| {
            Some(Setting { name, schema: schema.as_object()?, is_required: required.contains(&name.as_str()) })
        })
        .collect();
    settings.sort_by_key(|setting| (place(setting.name), matches!(shape_of(setting.schema), Shape::ByName(_))));
    settings
}

/// The setting at a dotted path, which names the entries of lists by their numbers, and those of objects with keys of one's own by
/// any key.
pub(crate) fn setting_at<'s>(schema: &'s Value, path: &'s str) -> Option<Setting<'s>> {
    let mut found = Setting { name: "", schema: schema.as_object()?, is_required: false };
    for step in path.split('.') {
        found = step_into(found.schema, step)?;
    }
    Some(found)
}

fn step_into<'s>(schema: &'s Map<String, Value>, step: &'s str) -> Option<Setting<'s>> {
    match shape_of(schema) {
        Shape::Object => settings_of(schema).into_iter().find(|setting| setting.name == step),
        Shape::List(schema) | Shape::ByName(schema) => Some(Setting { name: step, schema, is_required: false }),
        Shape::Either(branches) => branches.into_iter().find_map(|branch| step_into(branch, step)),
        _ => None,
    }
}

/// What values a schema describes.
pub(crate) fn shape_of(schema: &Map<String, Value>) -> Shape<'_> {
    let branches = |key| schema.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
        return Shape::Choice(choices.iter().filter_map(Value::as_str).map(|name| (name, "")).collect());
    }
    let choices: Vec<(&str, &str)> = branches("oneOf")
        .filter_map(|branch| Some((branch.get("const")?.as_str()?, text(branch, "description"))))
        .collect();
    if !choices.is_empty() {
        return Shape::Choice(choices);
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Shape::Boolean,
        Some("integer") => Shape::WholeNumber,
        Some("number") => Shape::Number,
        Some("string") => Shape::Text,
        Some("array") => schema.get("items").and_then(Value::as_object).map_or(Shape::Any, Shape::List),
        Some("object") if schema.contains_key("properties") => Shape::Object,
        Some("object") => {
            schema.get("additionalProperties").and_then(Value::as_object).map_or(Shape::Any, Shape::ByName)
        }
        _ => {
            let branches: Vec<_> = branches("anyOf").collect();
            if branches.is_empty() { Shape::Any } else { Shape::Either(branches) }
        }
    }
}

/// A text of a schema, on one line; empty when there is none.
pub(crate) fn text<'s>(schema: &'s Map<String, Value>, key: &str) -> &'s str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}
