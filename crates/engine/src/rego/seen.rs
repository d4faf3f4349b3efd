//! What rules saw: for the log of a policy with `verboseLog`, which leaves out what Secrets hold, and for the command line.

use image_admission_rego::evaluation::{ModuleText, is_within};
use image_admission_settings::RegoVersion;
use regorus::Value;
use serde_json::{Map, Value as Json};

/// The annotation in which `kubectl apply` keeps the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The largest document that is logged, in bytes as bounds measure them.
const MAX_LOGGED: usize = 8 * 1024 * 1024;
/// What replaces a value that isn't logged.
pub(crate) const HIDDEN: &str = "not logged";

/// What the rules of one policy, or of one phase, saw.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The policy's name, `preCustomRules` or `customRules`.
    pub by: String,
    /// `input`
    pub input: Json,
    /// `data`, without what the rules themselves define.
    pub data: Json,
    /// The modules, the policy's own first.
    pub rules: Vec<SeenModule>,
}

/// A module, as it was evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenModule {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub rego: String,
    /// Its syntax.
    pub version: RegoVersion,
}

impl SeenModule {
    /// A module as it was evaluated.
    pub(super) fn of(text: &ModuleText<'_>) -> Self {
        Self { name: text.name.to_owned(), rego: text.rego.to_owned(), version: text.version }
    }
}

impl Seen {
    pub(super) fn new(by: &str, input: &Value, data: &Value, rules: &[SeenModule]) -> Self {
        let written = |value: &Value| {
            if !is_within(value, MAX_LOGGED) {
                return Json::from("too large to log");
            }
            serde_json::to_value(value).unwrap_or_default()
        };
        Self { by: by.to_owned(), input: written(input), data: written(data), rules: rules.to_vec() }
    }
}

/// Removes the contents of Secrets from a document. `is_secret`: the value around it is about a Secret.
pub(crate) fn hide(value: &mut Json, is_secret: bool) {
    match value {
        Json::Array(list) => {
            for element in list {
                hide(element, false);
            }
        }
        Json::Object(map) => {
            // An AdmissionRequest has the kind in an object of its own, and the objects below it may lack it.
            let about = map.get("kind").and_then(|kind| kind.get("kind")).and_then(Json::as_str) == Some("Secret");
            if is_secret || map.get("kind").and_then(Json::as_str) == Some("Secret") {
                hide_secret(map);
            }
            for (key, value) in map.iter_mut() {
                let is_secrets = key == "secrets" || key == "Secret";
                if is_secrets {
                    hide_all(value);
                } else {
                    hide(value, about && matches!(key.as_str(), "object" | "oldObject"));
                }
            }
        }
        _ => {}
    }
}

/// Objects below the name of their kind, at any depth: they may lack their kind.
fn hide_all(value: &mut Json) {
    match value {
        Json::Object(map) => {
            if map.contains_key("metadata") || map.contains_key("data") {
                hide_secret(map);
            }
            for (key, value) in map.iter_mut() {
                if key != "metadata" {
                    hide_all(value);
                }
            }
        }
        Json::Array(list) => list.iter_mut().for_each(hide_all),
        _ => {}
    }
}

fn hide_secret(secret: &mut Map<String, Json>) {
    for key in ["data", "stringData"] {
        if let Some(value) = secret.get_mut(key).filter(|value| !value.is_null()) {
            *value = Json::from(HIDDEN);
        }
    }
    let annotations = secret.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
    if let Some(applied) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        *applied = Json::from(HIDDEN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_secrets_hold_is_nowhere_in_what_is_logged() {
        let secret = json!({
            "kind": "Secret", "metadata": {"name": "s", "annotations": {LAST_APPLIED: "{\"data\":\"hunter2\"}"}},
            "data": {"password": "hunter2"}, "stringData": {"password": "hunter2"},
        });
        let mut nameless = secret.clone();
        nameless.as_object_mut().unwrap().remove("kind");
        let request = json!({"kind": {"kind": "Secret"}, "object": nameless, "oldObject": nameless});
        for mut seen in [
            secret.clone(),
            json!({"review": request, "request": request, "AdmissionRequest": request}),
            json!({"kubernetes": {"secrets": {"default": {"s": nameless}}}}),
            json!({"inventory": {"namespace": {"default": {"v1": {"Secret": {"s": nameless}}}}}}),
            json!({"items": [secret]}),
        ] {
            assert!(seen.to_string().contains("hunter2"));
            hide(&mut seen, false);
            assert!(!seen.to_string().contains("hunter2"), "{seen}");
            assert!(seen.to_string().contains(HIDDEN), "{seen}");
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for mut seen in [
            json!({"kind": "ConfigMap", "data": {"a": "b"}}),
            json!({"kind": {"kind": "ConfigMap"}, "object": {"data": {"a": "b"}}}),
            json!({"spec": {"data": "x"}}),
        ] {
            let before = seen.clone();
            hide(&mut seen, false);
            assert_eq!(seen, before);
        }
    }
}
