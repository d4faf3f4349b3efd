//! Which settings are rules, and the settings without one of them.

use std::fmt;

use serde_json::Value;

/// Where rules stand: `[]` is each entry of a list, `<name>` each of a map.
const PLACES: [&[&str]; 9] = [
    &["preCustomRules"],
    &["customRules"],
    &["regoPolicies", "[]"],
    // A Conftest ConfigMap.
    &["regoPolicies", "data", "<name>"],
    &["imageVerification", "[]"],
    &["imageVerification", "[]", "verifications", "[]"],
    &["imageVerification", "[]", "validations", "[]"],
    &["imageVerification", "[]", "spec", "verifications", "[]"],
    &["imageVerification", "[]", "spec", "validations", "[]"],
];

/// A rule of some settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    steps: Vec<Step>,
    /// What its author calls it; none if it has no name.
    pub(super) name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Entry(usize),
}

impl Rule {
    /// Every rule of the settings, in the order of [`PLACES`].
    pub(super) fn all(settings: &Value) -> Vec<Self> {
        let mut rules = Vec::new();
        for place in PLACES {
            find(settings, place, &mut Vec::new(), &mut rules);
        }
        rules
    }

    /// The settings without it.
    pub(super) fn left_out_of(&self, settings: &Value) -> Value {
        let mut without = settings.clone();
        if let Some((last, way)) = self.steps.split_last() {
            let holder = way.iter().try_fold(&mut without, |value, step| match step {
                Step::Key(key) => value.get_mut(key),
                Step::Entry(position) => value.get_mut(position),
            });
            match (holder, last) {
                (Some(Value::Object(entries)), Step::Key(key)) => drop(entries.remove(key)),
                (Some(Value::Array(entries)), Step::Entry(position)) => drop(entries.remove(*position)),
                _ => {}
            }
        }
        without
    }

    /// Its path in the settings.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                Step::Entry(position) => path.push_str(&format!("[{position}]")),
            }
        }
        path
    }
}

/// `regoPolicies[1] (latest-tags)`
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path())?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " ({name})"))
    }
}

fn find(value: &Value, place: &[&str], way: &mut Vec<Step>, rules: &mut Vec<Rule>) {
    let Some((first, rest)) = place.split_first() else {
        let name = value.get("name").or_else(|| value.get("metadata")?.get("name"));
        rules.push(Rule { steps: way.clone(), name: name.and_then(Value::as_str).map(str::to_owned) });
        return;
    };
    let inside: Vec<(Step, &Value)> = match (*first, value) {
        ("[]", Value::Array(entries)) => {
            entries.iter().enumerate().map(|(position, entry)| (Step::Entry(position), entry)).collect()
        }
        ("<name>", Value::Object(entries)) => {
            entries.iter().map(|(key, entry)| (Step::Key(key.clone()), entry)).collect()
        }
        (key, value) => value.get(key).map(|entry| (Step::Key(key.to_owned()), entry)).into_iter().collect(),
    };
    for (step, entry) in inside {
        way.push(step);
        find(entry, rest, way, rules);
        way.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_rule_has_its_path_and_is_left_out_alone() {
        let settings = json!({
            "registries": ["ghcr.io"],
            "customRules": "deny_image[msg] { false }",
            "regoPolicies": [{"name": "a", "rego": "…"}, {"name": "b", "rego": "…"}],
            "imageVerification": [
                {"name": "c", "verifications": [{"expression": "true"}, {"expression": "false"}]},
                {"metadata": {"name": "d"}, "spec": {"validations": [{"expression": "true"}]}},
            ],
        });
        let rules = Rule::all(&settings);
        let shown: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "customRules",
                "regoPolicies[0] (a)",
                "regoPolicies[1] (b)",
                "imageVerification[0] (c)",
                "imageVerification[1] (d)",
                "imageVerification[0].verifications[0]",
                "imageVerification[0].verifications[1]",
                "imageVerification[1].spec.validations[0]",
            ]
        );
        // What is left has all others, and nothing else is changed.
        for (rule, path) in rules.iter().zip(&shown) {
            let without = rule.left_out_of(&settings);
            let inside = if path.ends_with(')') && path.starts_with("image") { 1 + expressions(rule) } else { 1 };
            assert_eq!(Rule::all(&without).len(), rules.len() - inside, "{path}");
            assert_eq!(without["registries"], settings["registries"], "{path}");
        }
        assert_eq!(rules[1].left_out_of(&settings)["regoPolicies"], json!([{"name": "b", "rego": "…"}]));
        assert_eq!(rules[0].left_out_of(&settings).get("customRules"), None);
    }

    fn expressions(rule: &Rule) -> usize {
        if rule.name.as_deref() == Some("c") { 2 } else { 1 }
    }

    #[test]
    fn what_is_no_list_has_no_entries() {
        let config_map =
            json!({"regoPolicies": {"kind": "ConfigMap", "data": {"a.rego": "…"}}, "imageVerification": {"a": 1}});
        let shown: Vec<String> = Rule::all(&config_map).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["regoPolicies.data.a.rego"]);
        assert_eq!(Rule::all(&json!([])), []);
    }
}
