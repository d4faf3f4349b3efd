//! The schema and the engine know the same settings: their keys, choices and defaults, and what is no value for them.
//!
//! The engine says which keys it knows where it meets one that it doesn't, so that each object of the schema is compared with it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "in tests a panic is a failure")]

use image_admission_schema::schema;
use image_admission_settings::{Acceptance, Settings};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// A key that is near to none.
const STRANGE: &str = "qqqqqqqqqqqqqqqqqqqqqqqq";

fn problems(settings: &Value) -> Vec<String> {
    Settings::read(settings).err().map(|error| error.0).unwrap_or_default()
}

/// An object of the schema, where it stands.
struct Object<'s> {
    schema: &'s Map<String, Value>,
    /// Its path, as problems have it.
    path: String,
    /// The settings as far as it, around a value for it.
    around: Box<dyn Fn(Value) -> Value + 's>,
}

impl Object<'_> {
    /// The settings with a key of this object, beside what tells the engine which object it is.
    fn with(&self, key: &str, value: Value) -> Value {
        let mut object = minimal(self.schema, Some(key));
        object.insert(key.to_owned(), value);
        (self.around)(Value::Object(object))
    }

    fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// The least that an object has: what is required, and of its alternatives the one with a key, or the first.
fn minimal(schema: &Map<String, Value>, key: Option<&str>) -> Map<String, Value> {
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    let required = |of: &Value| of.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut alternatives: Vec<Vec<Value>> = alternatives.into_iter().flatten().map(required).collect();
    alternatives.sort_by_key(|names| !names.iter().any(|name| name.as_str() == key));
    let mut names = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    names.extend(alternatives.into_iter().next().unwrap_or_default());
    let mut names: BTreeSet<&str> = names.iter().filter_map(Value::as_str).collect();
    // Where any key will do, but there must be some; the one that is asked for is one of them.
    let least = schema.get("minProperties").and_then(Value::as_u64).unwrap_or_default();
    let keys = schema.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str());
    let is_another_name = |name: &str, of: &str| {
        schema["properties"][name]["description"]
            .as_str()
            .is_some_and(|said| said == format!("Another name of `{of}`."))
    };
    for name in keys.filter(|name| !key.is_some_and(|key| is_another_name(key, name) || is_another_name(name, key))) {
        let others = names.iter().filter(|name| Some(**name) != key).count();
        if u64::try_from(others + usize::from(key.is_some())).unwrap() < least && Some(name) != key {
            names.insert(name);
        }
    }
    names.into_iter().map(|name| (name.to_owned(), sample(schema["properties"][name].as_object().unwrap()))).collect()
}

fn sample(schema: &Map<String, Value>) -> Value {
    const PEM: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PUBLIC KEY-----";
    if let Some(example) = schema.get("examples").and_then(|examples| examples.get(0)) {
        return example.clone();
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(choice) = choices(schema).first() {
        return json!(choice);
    }
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array).filter(|_| !schema.contains_key("type")) {
        return sample(branches[0].as_object().unwrap());
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => Value::Object(minimal(schema, None)),
        Some("array") if schema.get("maxItems") == Some(&json!(0)) => json!([]),
        Some("array") => json!([sample(schema["items"].as_object().unwrap())]),
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        _ if schema.get("contentMediaType").is_some_and(|name| name.as_str().unwrap().contains("pem")) => json!(PEM),
        // A name, a duration, or an algorithm.
        _ => ["x", "1d", "sha256"]
            .into_iter()
            .map(Value::from)
            .find(|text| jsonschema::is_valid(&Value::Object(schema.clone()), text))
            .unwrap(),
    }
}

/// The texts that a value may be; of a list, those of its entries.
fn choices(schema: &Map<String, Value>) -> Vec<&str> {
    let named = schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let described = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    named.chain(described.filter_map(|branch| branch.get("const")?.as_str())).collect()
}

/// Calls `each` with every object below a schema.
fn each_object<'s>(
    schema: &'s Value,
    path: &str,
    around: &'s (dyn Fn(Value) -> Value + 's),
    each: &mut dyn FnMut(&Object<'_>),
) {
    let Some(map) = schema.as_object() else { return };
    if let Some(properties) = map.get("properties").and_then(Value::as_object) {
        let object = Object { schema: map, path: path.to_owned(), around: Box::new(around) };
        each(&object);
        for (name, schema) in properties {
            let inner = |value: Value| object.with(name, value);
            each_object(schema, &object.key(name), &inner, each);
        }
    } else if let Some(items) = map.get("items") {
        each_object(items, &format!("{path}[0]"), &|value| around(json!([value])), each);
    } else if let Some(values) = map.get("additionalProperties") {
        each_object(values, &format!("{path}.shop"), &|value| around(json!({"shop": value})), each);
    }
    if !map.contains_key("type") {
        for branch in map.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
            each_object(branch, path, around, each);
        }
    }
}

fn objects(each: &mut dyn FnMut(&Object<'_>)) {
    each_object(&schema(), "", &|value| value, each);
}

#[test]
fn both_know_the_same_keys() {
    let mut compared = 0;
    objects(&mut |object| {
        if object.schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return;
        }
        let properties: BTreeSet<&str> =
            object.schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let problems = problems(&object.with(STRANGE, json!(1)));
        let said = problems.iter().find(|problem| problem.starts_with(&object.key(STRANGE)));
        let Some((_, known)) = said.and_then(|said| said.split_once("; known here: ")) else {
            panic!("{}: {problems:#?}", object.key(STRANGE));
        };
        let known: BTreeSet<&str> = known.split(", ").collect();
        assert!(properties.is_subset(&known), "{}: the engine doesn't know {:?}", object.path, &properties - &known);
        for extra in &known - &properties {
            // What the engine knows only to say who does its job.
            for value in [json!("x"), json!({"a": "b"})] {
                let problems = self::problems(&object.with(extra, value));
                let tells = |problem: &String| problem.starts_with(&object.path) && problem.contains(extra);
                assert!(problems.iter().any(tells), "{} is not in the schema: {problems:#?}", object.key(extra));
            }
        }
        compared += 1;
    });
    assert!(compared > 50, "{compared}");
}

#[test]
fn both_refuse_what_is_no_value() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let (mut compared, mut invalid_before) = (0, Vec::new());
    objects(&mut |object| {
        for (name, schema) in object.schema["properties"].as_object().unwrap() {
            if !["type", "anyOf", "oneOf", "enum", "const"].iter().any(|key| schema.get(key).is_some()) {
                continue;
            }
            // A list in a list is nothing of what settings are.
            let settings = object.with(name, json!([[]]));
            let problems = problems(&settings);
            // A certificate is told of as a whole.
            let path = if name == "value" { object.path.clone() } else { object.key(name) };
            assert!(problems.iter().any(|problem| problem.starts_with(&path)), "{path}: {problems:#?}");
            // Only where the settings around it are valid it is this value that the schema refuses.
            let before = object.with(name, sample(schema.as_object().unwrap()));
            if let Some(error) = validator.iter_errors(&before).next() {
                invalid_before.push(format!("{path}: {}: {:.400}", error.instance_path(), error.to_string()));
                continue;
            }
            assert!(!validator.is_valid(&settings), "{path}");
            compared += 1;
        }
    });
    assert!(invalid_before.is_empty(), "{invalid_before:#?}");
    assert!(compared > 380, "{compared}");
}

#[test]
fn both_know_the_same_choices() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut compared = 0;
    objects(&mut |object| {
        for (name, schema) in object.schema["properties"].as_object().unwrap() {
            let Some(items) = schema.get("items").unwrap_or(schema).as_object() else { continue };
            let choices: BTreeSet<&str> = choices(items).into_iter().collect();
            let path = object.key(name);
            if choices.is_empty() {
                continue;
            }
            let value = |text: &str| if schema.get("items").is_some() { json!([text]) } else { json!(text) };
            let about = |text: &str| -> Vec<String> {
                let mut settings = object.with(name, value(text));
                // A source whose reports can say all that a gate asks for.
                if path.starts_with("acceptance.") {
                    settings["reports"] = json!({"sources": [{"registry": {"allowUnsigned": true}}]});
                }
                problems(&settings).into_iter().filter(|problem| problem.starts_with(&path)).collect()
            };
            let refused = about(STRANGE);
            assert!(!refused.is_empty(), "{path}");
            assert!(!validator.is_valid(&object.with(name, value(STRANGE))), "{path}");
            for choice in &choices {
                assert!(about(choice).is_empty(), "{path}: {:#?}", about(choice));
                let settings = object.with(name, value(choice));
                assert!(validator.is_valid(&settings), "{path}: {choice}: {settings}");
            }
            // The engine's own list, where it says all of it.
            if let Some((_, names)) = refused[0].split_once("; use ") {
                let names: BTreeSet<&str> = names.split(", ").flat_map(|names| names.split(" or ")).collect();
                assert!(names.is_subset(&choices), "{path}: {names:?}, {choices:?}");
            }
            compared += 1;
        }
    });
    assert!(compared > 30, "{compared}");
}

#[test]
fn both_refuse_names_that_no_namespace_has() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, is_one) in [
        ("prod", true),
        ("prod-a", true),
        ("prod-*", true),
        ("*-a", true),
        ("a*-*b", true),
        ("*", true),
        ("", false),
        ("Shop", false),
        ("Kube_System", false),
        ("-a", false),
        ("a-", false),
        ("a.b", false),
        ("a?", false),
    ] {
        for place in ["preScanPolicies", "scanPolicies", "policies", "acceptance"] {
            let settings = json!({place: {"byNamespace": {name: {}}}});
            assert_eq!(validator.is_valid(&settings), is_one, "{settings}");
            assert_eq!(problems(&settings).is_empty(), is_one, "{settings}");
        }
        let exemption = json!({"vulnerability": "CVE-1", "namespaces": [name], "reason": "r", "expires": "2099-01-31"});
        let settings = json!({"exemptions": [exemption]});
        assert_eq!(validator.is_valid(&settings), is_one, "{settings}");
        assert_eq!(problems(&settings).is_empty(), is_one, "{settings}");
    }
}

/// What settings say, written or not.
fn read(settings: &Value) -> Result<String, Vec<String>> {
    let mut settings = Settings::read(settings).map_err(|error| error.0)?;
    let limits = format!("{:?}", settings.acceptance.of("elsewhere"));
    settings.acceptance = Acceptance::default();
    // A status that nobody decides is rejected.
    let rejected = |text: String, name: &str| text.replace(&format!("{name}: None"), &format!("{name}: Some(Reject)"));
    let rest = rejected(rejected(format!("{settings:?}"), "report_pending"), "scan_failed");
    Ok(format!("{rest} {limits}"))
}

#[test]
fn a_default_is_what_holds_without_it() {
    let mut compared = 0;
    objects(&mut |object| {
        for (name, schema) in object.schema["properties"].as_object().unwrap() {
            let Some(default) = schema.get("default") else { continue };
            let mut without = minimal(object.schema, Some(name));
            without.remove(name);
            let without = (object.around)(Value::Object(without));
            let with = object.with(name, default.clone());
            match (read(&without), read(&with)) {
                (Ok(without), Ok(with)) => {
                    assert_eq!(without, with, "{}", object.key(name));
                    compared += 1;
                }
                (without, with) => assert_eq!(without, with, "{}", object.key(name)),
            }
        }
    });
    assert!(compared > 90, "{compared}");
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            found.push(path);
        }
    }
}

/// Every value of a key `settings`, wherever it is.
fn settings_in(value: &Value, found: &mut Vec<Value>) {
    match value {
        Value::Object(map) => {
            if let Some(settings) = map.get("settings").filter(|settings| settings.is_object()) {
                found.push(settings.clone());
            }
            map.values().for_each(|value| settings_in(value, found));
        }
        Value::Array(list) => list.iter().for_each(|value| settings_in(value, found)),
        _ => {}
    }
}

/// What an editor marks as wrong must be wrong.
#[test]
fn settings_that_are_in_use_are_valid() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in ["tests/cases", "examples", "deploy"] {
        files(&root.join(folder), &mut paths);
    }
    let (mut valid, mut wrong, mut unreadable) = (0, Vec::new(), Vec::new());
    for path in paths {
        let is_settings = path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("settings"));
        let text = fs::read_to_string(&path).unwrap();
        let mut found = Vec::new();
        for document in yaml_serde::Deserializer::from_str(&text) {
            let Ok(value) = Value::deserialize(document) else {
                unreadable.push(path.display().to_string());
                break;
            };
            settings_in(&value, &mut found);
            if is_settings {
                found.push(value);
            }
        }
        for settings in found {
            // Keys and trust roots stand in the cases by their names.
            if problems(&settings).iter().all(|problem| problem.contains("PEM")) {
                valid += 1;
                let is_named = |value: &Value| value.as_str().is_some_and(|text| text.ends_with(" of evidence}"));
                wrong.extend(
                    validator.iter_errors(&settings).filter(|error| !is_named(error.instance().as_ref())).map(
                        |error| format!("{}: {}: {:.300}", path.display(), error.instance_path(), error.to_string()),
                    ),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(unreadable.is_empty(), "{unreadable:#?}");
    assert!(valid > 380, "{valid}");
}
