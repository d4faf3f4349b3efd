//! Rego: custom rules of the phases, policies by kind, their libraries, and the kinds of the cluster that they read.
//!
//! This module reads names and strings. Whether the strings are Rego is checked when the policy is deployed: a request loads only
//! the rules of its own kind.

use super::kinds::{self, KindPattern, plural};
use super::read::{Choice, Path, Problems, SettingsMap, wrong_type};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The key of a policy's module in a Conftest ConfigMap is this prefix, the policy's name, and [`REGO`].
const CONFTEST_POLICY: &str = "conftest.policy.";
/// The same for a library.
const CONFTEST_LIBRARY: &str = "conftest.library.";
/// The prefix of all keys of that ConfigMap. The others set up a scanner's jobs, and mean nothing here.
const CONFTEST: &str = "conftest.";
const REGO: &str = ".rego";
const KINDS: &str = ".kinds";
/// The keys of a ConfigMap's manifest; only `data` counts.
const ENVELOPE: [&str; 5] = ["apiVersion", "kind", "metadata", "immutable", "data"];

/// All settings in Rego, or about it.
#[derive(Debug, Clone, Default)]
pub struct Rego {
    /// `preCustomRules`: more rules of pre-scan; empty: none.
    pub pre_custom_rules: String,
    /// `customRules`: more rules of the scan phase; empty: none.
    pub custom_rules: String,
    /// The syntax of modules that don't set their own.
    pub version: RegoVersion,
    /// `regoPolicies`, in the order of the settings.
    pub policies: Vec<RegoPolicy>,
    /// `regoLibraries`, in the order of the settings.
    pub libraries: Vec<RegoLibrary>,
    /// `context`: kinds of the cluster that rules may read.
    pub context: Vec<ContextKind>,
    /// The settings of both phases as they are written: custom rules see them as data. Null without custom rules.
    pub phases: Value,
}

/// The syntax of rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "camelCase"))]
pub enum RegoVersion {
    /// Without `if` and `contains`.
    #[default]
    V0,
    /// As in OPA 1.0.
    V1,
}

/// A policy in Rego, for the kinds that it names.
#[derive(Debug, Clone)]
pub struct RegoPolicy {
    /// What messages call it.
    pub name: String,
    /// The kinds of objects that it judges.
    pub kinds: Vec<KindPattern>,
    /// The text of its module.
    pub rego: String,
    /// What the rules see as `input.parameters`.
    pub parameters: Option<Value>,
    /// Its syntax.
    pub version: RegoVersion,
}

/// A module whose rules and functions policies may use.
#[derive(Debug, Clone)]
pub struct RegoLibrary {
    /// What messages call it.
    pub name: String,
    /// The text of the module.
    pub rego: String,
    /// Its syntax.
    pub version: RegoVersion,
}

/// A kind of the cluster that rules see as data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextKind {
    /// `v1`, or `group/version`.
    pub api_version: String,
    /// `Ingress`
    pub kind: String,
    /// The key below `data.kubernetes`: `ingresses`.
    pub plural: String,
}

impl Choice for RegoVersion {
    const CHOICES: &'static [(&'static str, Self)] = &[("v0", Self::V0), ("v1", Self::V1)];
}

impl Rego {
    /// Whether the settings have no rules in Rego. Libraries alone don't count.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pre_custom_rules.is_empty() && self.custom_rules.is_empty() && self.policies.is_empty()
    }
}

/// Reads all settings about Rego.
pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Rego {
    let mut rego =
        Rego { version: settings.choice("regoVersion", RegoVersion::default(), problems), ..Rego::default() };
    let text = |key, problems: &mut Problems| {
        settings.text(key, problems).filter(|text| !text.trim().is_empty()).unwrap_or_default().to_owned()
    };
    rego.pre_custom_rules = text("preCustomRules", problems);
    rego.custom_rules = text("customRules", problems);
    if !(rego.pre_custom_rules.is_empty() && rego.custom_rules.is_empty()) {
        let phase = |key: &&str| Some(((*key).to_owned(), settings.get(key)?.clone()));
        rego.phases = Value::Object(["preScanPolicies", "scanPolicies", "policies"].iter().filter_map(phase).collect());
    }
    read_policies(settings, &mut rego, problems);
    read_libraries(settings, &mut rego, problems);
    read_context(settings, &mut rego, problems);
    let top: Map<String, Value> = settings
        .entries()
        .filter(|(key, _)| is_conftest(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !top.is_empty() {
        read_conftest(&top, settings.path(), &mut rego, problems);
    }
    let mut names: Vec<&str> = Vec::new();
    for policy in &rego.policies {
        if names.contains(&policy.name.as_str()) {
            problems.add_at(
                "regoPolicies",
                format!("two policies are named `{}`; messages could not tell them apart", policy.name),
            );
        }
        names.push(&policy.name);
    }
    rego
}

/// Whether a key of the settings is one of a Conftest ConfigMap, pasted without its envelope.
pub(super) fn is_conftest(key: &str) -> bool {
    key.starts_with(CONFTEST)
}

fn read_policies(settings: &SettingsMap<'_, '_>, rego: &mut Rego, problems: &mut Problems) {
    let path = settings.path().key("regoPolicies");
    match settings.get("regoPolicies") {
        None => {}
        Some(Value::Object(map)) => read_config_map(map, &path, rego, problems),
        Some(Value::Array(list)) => {
            for (position, value) in list.iter().enumerate() {
                let path = path.position(position);
                match value {
                    Value::Object(map) if is_config_map(map) => read_config_map(map, &path, rego, problems),
                    Value::Object(_) => rego.policies.extend(read_policy(value, &path, rego.version, problems)),
                    other => problems.add(path, wrong_type("an object with `name`, `kinds` and `rego`", other)),
                }
            }
        }
        Some(other) => problems.add(path, wrong_type("a list of policies, or a Conftest ConfigMap", other)),
    }
}

fn read_policy(value: &Value, path: &Path<'_>, version: RegoVersion, problems: &mut Problems) -> Option<RegoPolicy> {
    let map = SettingsMap::of(Some(value), path, problems)?;
    map.known(&["name", "kinds", "rego", "parameters", "regoVersion"], &[], problems);
    let (name, rego) = name_and_rego(&map, problems);
    let version = map.choice("regoVersion", version, problems);
    let kinds = match map.get("kinds") {
        Some(kinds) => read_kinds(kinds, path.key("kinds"), problems),
        None => Some(Vec::new()),
    };
    if kinds.as_ref().is_some_and(Vec::is_empty) {
        let name = name.unwrap_or_default();
        problems.add(
            path.key("kinds"),
            format!("kinds not defined for policy: {name}; name them like `Pod`, `apps/Deployment`, `Workload` or `*`"),
        );
    }
    let parameters = map.get("parameters").cloned();
    Some(RegoPolicy { name: name?.to_owned(), kinds: kinds?, rego: rego?.to_owned(), parameters, version })
}

fn name_and_rego<'v>(map: &SettingsMap<'v, '_>, problems: &mut Problems) -> (Option<&'v str>, Option<&'v str>) {
    let mut required = |key, what: &str| {
        let text = map.text(key, problems);
        if !map.has(key) || text.is_some_and(|text| text.trim().is_empty()) {
            problems.add(*map.path(), format!("`{key}` is missing: {what}"));
            return None;
        }
        text
    };
    (required("name", "messages call it by its name"), required("rego", "the text of the module"))
}

/// A list of kinds, or one string with commas between kinds.
fn read_kinds(value: &Value, path: Path<'_>, problems: &mut Problems) -> Option<Vec<KindPattern>> {
    let (mut kinds, mut wrong) = (Vec::new(), false);
    let mut add = |text: &str, path: Path<'_>, problems: &mut Problems| match KindPattern::parse(text) {
        Ok(kind) => kinds.push(kind),
        Err(why) => {
            wrong = true;
            problems.add(path, why);
        }
    };
    let split = |text: &'_ str| {
        text.split(',').map(|text| text.trim().to_owned()).filter(|t| !t.is_empty()).collect::<Vec<_>>()
    };
    match value {
        Value::String(text) => {
            for kind in split(text) {
                add(&kind, path, problems);
            }
        }
        Value::Array(list) => {
            for (position, value) in list.iter().enumerate() {
                match value {
                    Value::String(text) => {
                        for kind in split(text) {
                            add(&kind, path.position(position), problems);
                        }
                    }
                    other => problems.add(path.position(position), wrong_type("a kind", other)),
                }
            }
        }
        other => {
            problems.add(path, wrong_type("a list of kinds", other));
            return None;
        }
    }
    // Kinds that can't be read are reported already.
    (!(kinds.is_empty() && wrong)).then_some(kinds)
}

fn read_libraries(settings: &SettingsMap<'_, '_>, rego: &mut Rego, problems: &mut Problems) {
    let path = settings.path().key("regoLibraries");
    for (position, value) in settings.list("regoLibraries", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        if !value.is_object() {
            problems.add(path, wrong_type("an object with `name` and `rego`", value));
            continue;
        }
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        map.known(&["name", "rego", "regoVersion"], &[], problems);
        let version = map.choice("regoVersion", rego.version, problems);
        if let (Some(name), Some(text)) = name_and_rego(&map, problems) {
            rego.libraries.push(RegoLibrary { name: name.to_owned(), rego: text.to_owned(), version });
        }
    }
}

fn read_context(settings: &SettingsMap<'_, '_>, rego: &mut Rego, problems: &mut Problems) {
    let path = settings.path().key("context");
    for (position, value) in settings.list("context", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        if !value.is_object() {
            problems.add(path, wrong_type("an object with `apiVersion` and `kind`", value));
            continue;
        }
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        map.known(&["apiVersion", "kind", "plural"], &[], problems);
        let mut required = |key| {
            let text = map.text(key, problems);
            if text == Some("") || !map.has(key) {
                problems.add(path, format!("`{key}` is missing"));
            }
            text.filter(|text| !text.is_empty())
        };
        let (Some(api_version), Some(kind)) = (required("apiVersion"), required("kind")) else { continue };
        kinds::check_object(api_version, kind, path, problems);
        let plural = map.text("plural", problems).map_or_else(|| plural(kind), str::to_owned);
        let kind = ContextKind { api_version: api_version.to_owned(), kind: kind.to_owned(), plural };
        if let Some(other) = rego.context.iter().find(|other| other.plural == kind.plural) {
            problems.add(
                path,
                format!(
                    "`{}` of {} is `data.kubernetes.{}` already; give one of them another `plural`",
                    other.kind, other.api_version, other.plural
                ),
            );
        }
        rego.context.push(kind);
    }
}

/// Whether an object is a ConfigMap, or the `data` of one.
fn is_config_map(map: &Map<String, Value>) -> bool {
    map.get("kind").and_then(Value::as_str) == Some("ConfigMap") || map.keys().any(|key| is_conftest(key))
}

fn read_config_map(map: &Map<String, Value>, path: &Path<'_>, rego: &mut Rego, problems: &mut Problems) {
    if map.keys().any(|key| is_conftest(key)) {
        for key in map.keys().filter(|key| !is_conftest(key)) {
            problems.add(
                path.key(key),
                format!("unknown setting `{key}`; a Conftest ConfigMap's keys start with `{CONFTEST}`"),
            );
        }
        return read_conftest(map, path, rego, problems);
    }
    for key in map.keys().filter(|key| !ENVELOPE.contains(&key.as_str())) {
        problems.add(path.key(key), format!("unknown setting `{key}`; known here: {}", ENVELOPE.join(", ")));
    }
    if let Some(kind) = map.get("kind").filter(|kind| *kind != "ConfigMap") {
        problems.add(path.key("kind"), wrong_type("`ConfigMap`, or a list of policies", kind));
    }
    let path = path.key("data");
    match map.get("data") {
        Some(Value::Object(data)) => read_config_map_data(data, &path, rego, problems),
        Some(other) => problems.add(path, wrong_type("the data of a ConfigMap", other)),
        None => problems.add(path, "it is missing: a Conftest ConfigMap has its policies there"),
    }
}

fn read_config_map_data(data: &Map<String, Value>, path: &Path<'_>, rego: &mut Rego, problems: &mut Problems) {
    for key in data.keys().filter(|key| !is_conftest(key)) {
        problems
            .add(path.key(key), format!("unknown key `{key}`; a Conftest ConfigMap's keys start with `{CONFTEST}`"));
    }
    read_conftest(data, path, rego, problems);
}

/// `conftest.policy.<name>.rego` with `conftest.policy.<name>.kinds`, and `conftest.library.<name>.rego`.
fn read_conftest(data: &Map<String, Value>, path: &Path<'_>, rego: &mut Rego, problems: &mut Problems) {
    let mut kinds: BTreeMap<&str, &Value> = data
        .iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(CONFTEST_POLICY)?.strip_suffix(KINDS)?, value)))
        .collect();
    for (key, value) in data {
        let policy = key.strip_prefix(CONFTEST_POLICY);
        let library = key.strip_prefix(CONFTEST_LIBRARY);
        let Some(name) = policy.or(library) else { continue };
        if policy.is_some() && name.ends_with(KINDS) {
            continue;
        }
        let Some(name) = name.strip_suffix(REGO) else {
            problems.add(path.key(key), format!("unknown key `{key}`; it ends with `{REGO}` or `{KINDS}`"));
            continue;
        };
        let Some(text) = value.as_str() else {
            kinds.remove(name);
            problems.add(path.key(key), wrong_type("the text of a module", value));
            continue;
        };
        let (name, text, version) = (name.to_owned(), text.to_owned(), rego.version);
        if library.is_some() {
            rego.libraries.push(RegoLibrary { name, rego: text, version });
            continue;
        }
        let patterns = match kinds.remove(name.as_str()) {
            Some(value) => read_kinds(value, path.key(key), problems),
            None => Some(Vec::new()),
        };
        let Some(patterns) = patterns else { continue };
        if patterns.is_empty() {
            problems.add(
                path.key(key),
                format!("kinds not defined for policy: {name}; name them in `{CONFTEST_POLICY}{name}{KINDS}`"),
            );
        }
        rego.policies.push(RegoPolicy { name, kinds: patterns, rego: text, parameters: None, version });
    }
    for name in kinds.keys() {
        problems
            .add(path.key(&format!("{CONFTEST_POLICY}{name}{KINDS}")), format!("expected policy not found: {name}"));
    }
}
