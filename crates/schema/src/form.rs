//! The form of Rancher's user interface, `questions-ui.yml`.
//!
//! What the form can do decides what is in it (Rancher's extension for Kubewarden): one question for each text, number, switch
//! or choice, with its dotted path; lists of texts; lists of objects. A question with a default writes it, and empty values
//! are taken out again when the form is saved. Objects with keys of one's own (`byNamespace`), and values of several shapes,
//! it can't show: they are written as YAML. Objects are no questions of their own, since changing a choice inside one empties the rest of it.

use crate::setting::{GROUPS, Setting, Shape, settings_of, shape_of, text};
use serde_json::{Map, Value, json};

/// Defaults of the form alone: who fills in a limit of another severity would take off that of critical findings.
const OWN_DEFAULTS: [(&str, u64); 1] = [("acceptance.maxSeverity.critical.total", 0)];

/// The questions, as the value that is written as YAML, and the paths of the settings that are not among them.
#[must_use]
pub fn form(schema: &Value) -> (Value, Vec<String>) {
    let root = schema.as_object().map(settings_of).unwrap_or_default();
    let mut form = Form::default();
    for (group, names) in GROUPS {
        // The second name of a setting is no second question.
        let shown = names.iter().filter(|name| **name != "policies");
        for setting in shown.filter_map(|name| root.iter().find(|setting| setting.name == *name)) {
            form.ask(setting, setting.name, group, None);
        }
    }
    (json!({"questions": form.questions}), form.left_out)
}

#[derive(Default)]
struct Form {
    questions: Vec<Value>,
    left_out: Vec<String>,
}

impl Form {
    fn ask(&mut self, setting: &Setting<'_>, path: &str, group: &str, show_if: Option<&str>) {
        if let Shape::Object = shape_of(setting.schema) {
            let settings = settings_of(setting.schema);
            // What isn't valid without a value that nobody gave may not be there at all.
            let has_defaults = !settings.iter().any(|setting| setting.is_required);
            let switch =
                settings.iter().any(|setting| setting.name == "enabled").then(|| format!("{path}.enabled=true"));
            for setting in &settings {
                let shown = switch.as_deref().filter(|_| setting.name != "enabled").or(show_if);
                let first = self.questions.len();
                self.ask(setting, &format!("{path}.{}", setting.name), group, shown);
                if !has_defaults {
                    let asked = self.questions.iter_mut().skip(first).filter_map(Value::as_object_mut);
                    asked.for_each(|question| drop(question.remove("default")));
                }
            }
            return;
        }
        let Some(mut question) = question(setting, path) else {
            self.left_out.push(path.to_owned());
            return;
        };
        if let Some((_, default)) = OWN_DEFAULTS.iter().find(|(own, _)| *own == path) {
            question.insert("default".to_owned(), (*default).into());
        }
        question.insert("group".to_owned(), group.into());
        // The form looks for what is required at the top level alone.
        question.insert("required".to_owned(), false.into());
        if let Some(condition) = show_if {
            question.insert("show_if".to_owned(), condition.into());
        }
        self.questions.push(Value::Object(question));
    }
}

/// A question for one value; none for what the form can't show.
fn question(setting: &Setting<'_>, variable: &str) -> Option<Map<String, Value>> {
    let mut question = Map::new();
    let mut set = |key: &str, value: Value| question.insert(key.to_owned(), value);
    let kind = match shape_of(setting.schema) {
        Shape::Choice(choices) => {
            set("options", choices.iter().map(|(name, _)| *name).collect());
            "enum"
        }
        Shape::Boolean => "boolean",
        Shape::WholeNumber => "int",
        Shape::Number => "float",
        Shape::Text if setting.schema.contains_key("contentMediaType") => "multiline",
        Shape::Text => "string",
        Shape::List(items) => match shape_of(items) {
            Shape::Text | Shape::Choice(_) => "array[",
            Shape::Object => {
                let inner = settings_of(items);
                let asked: Vec<Value> =
                    inner.iter().filter_map(|setting| question_in_a_list(setting)).map(Value::Object).collect();
                if asked.is_empty()
                    || inner.iter().any(|setting| setting.is_required && question_in_a_list(setting).is_none())
                {
                    return None;
                }
                set("sequence_questions", asked.into());
                "sequence["
            }
            _ => return None,
        },
        Shape::Object | Shape::ByName(_) | Shape::Either(_) | Shape::Any => return None,
    };
    set("type", kind.into());
    set("variable", variable.into());
    set("label", label(variable).into());
    set("description", text(setting.schema, "description").into());
    set("required", setting.is_required.into());
    // A list needs its default: the form adds to it.
    if let Some(default) = setting.schema.get("default") {
        set("default", default.clone());
    } else if kind.ends_with('[') {
        set("default", json!([]));
    }
    Some(question)
}

/// A list's entry has texts, numbers, switches and choices; the form would edit anything else as YAML inside it.
fn question_in_a_list(setting: &Setting<'_>) -> Option<Map<String, Value>> {
    match shape_of(setting.schema) {
        Shape::List(items) if !matches!(shape_of(items), Shape::Text) => None,
        _ => question(setting, setting.name),
    }
}

/// `pin.annotations`: `Pin: annotations`; `maxImages`: `Max images`
fn label(path: &str) -> String {
    let mut label = String::new();
    for letter in path.chars() {
        match letter {
            '.' if label.contains(':') => label.push_str(", "),
            '.' => label.push_str(": "),
            _ if label.is_empty() => label.extend(letter.to_uppercase()),
            _ if letter.is_uppercase() => {
                label.push(' ');
                label.extend(letter.to_lowercase());
            }
            _ => label.push(letter),
        }
    }
    label
}
