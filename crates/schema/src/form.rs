//! The form of Rancher's user interface, `questions-ui.yml`.
//!
//! What the form can do decides what is in it (Rancher's extension for Kubewarden): one question for each text, number, switch
//! or choice, with its dotted path; lists of texts; lists of objects that are flat, at most two keys deep. A question with a
//! default writes it, and empty values are taken out again when the form is saved, but not those inside a list. Where a list
//! needs more, the form offers its first entry ready-made (`choice`). What it can't show it says at the place (`note`).
//! Objects are no questions of their own, since changing a choice inside one empties the rest of it.

mod choice;
mod note;

use crate::setting::{Setting, Shape, setting_at, settings_of, shape_of, text};
use serde_json::{Map, Value, json};

pub use note::EXAMPLES;

/// The groups of the form with their settings, in the order in which people decide them. A setting stands where the longest
/// path is that it is at, or below.
const ORDER: [(&str, &[&str]); 11] = [
    (
        "Images by name",
        &[
            "registries",
            "preScanPolicies.defaultPolicy",
            "preScanPolicies.customPolicies",
            "imageMatching",
            "preScanPolicies",
        ],
    ),
    ("Reports", &["reports.sources", "reports", "reports.sboms"]),
    (
        "Findings",
        &[
            "acceptance.maxSeverity.critical",
            "acceptance.maxSeverity.high",
            "acceptance.maxSeverity.medium",
            "acceptance.maxSeverity.low",
            "acceptance.maxSeverity.unknown",
            "acceptance.cvssScore",
            "acceptance.fixGracePeriod",
            "acceptance.unfixedGracePeriod",
            "acceptance.running",
            "acceptance.knownExploited",
            "acceptance.epss",
            "acceptance.endOfLife",
            "acceptance.packages",
            "acceptance.licenses",
            "exemptions",
            "exemptionsFrom",
            "acceptance",
        ],
    ),
    ("Signatures", &["imageVerification", "evidence"]),
    ("Namespaces", &["preScanPolicies.byNamespace", "acceptance.byNamespace", "scanPolicies.byNamespace"]),
    ("Without a report", &["scanPolicies.reportPending", "scanPolicies.scanFailed", "scanPolicies"]),
    ("Pinning", &["pin.enabled", "pin", "placeholders"]),
    (
        "Rules",
        &[
            "preCustomRules",
            "preScanPolicies.autoGenerate",
            "customRules",
            "scanPolicies.autoGenerate",
            "regoPolicies",
            "regoLibraries",
            "regoVersion",
            "context",
        ],
    ),
    ("Break glass", &["breakGlass"]),
    ("Messages", &["message.contact", "message.docs", "message.style"]),
    ("Bounds and log", &["maxImages", "maxHostCalls", "verboseLog"]),
];

/// Settings that mean nothing without another one, in Jexl. The form takes `||` and `&&` apart before Jexl sees them, so there
/// are no parentheses.
const NEEDS: [(&str, &str); 3] = [
    ("preScanPolicies.autoGenerate", "preCustomRules"),
    ("scanPolicies.autoGenerate", "customRules"),
    // Their reports don't say it.
    (
        "acceptance.endOfLife",
        "reports.sources && reports.sources[0] && !reports.sources.sbomscanner && !reports.sources.kubescape",
    ),
];

/// Namespaces that many clusters have, and whose images can be decided by name in the form: others have names of one's own.
const NAMESPACES: [&str; 3] = ["kube-system", "kubewarden", "cattle-system"];

/// The questions, as the value that is written as YAML.
#[must_use]
pub fn form(schema: &Value) -> Value {
    let mut form = Form { schema, questions: Vec::new() };
    // The second name of a setting is no second question.
    let root = schema.as_object().map(settings_of).unwrap_or_default();
    for setting in root.iter().filter(|setting| setting.name != "policies") {
        form.ask(setting, setting.name, None);
    }
    form.questions.sort_by_key(|(place, _)| *place);
    let questions: Vec<Value> = form.questions.into_iter().map(|(_, question)| Value::Object(question)).collect();
    json!({"questions": questions})
}

/// Settings that mean something only as a whole: the form saves each answer by itself.
const WHOLE: [&str; 10] = [
    "acceptance.epss",
    "acceptance.knownExploited",
    "acceptance.licenses",
    "acceptance.packages",
    "acceptance.running",
    "breakGlass",
    "evidence",
    "exemptionsFrom",
    "reports.sboms",
    "reports.vex",
];

struct Form<'s> {
    schema: &'s Value,
    /// Each with its place.
    questions: Vec<((usize, usize), Map<String, Value>)>,
}

impl Form<'_> {
    fn ask(&mut self, setting: &Setting<'_>, path: &str, show_if: Option<&str>) {
        if let Some(questions) = choice::questions(self.schema, path) {
            questions.into_iter().for_each(|question| self.add(path, question));
        } else if WHOLE.contains(&path) {
            self.add(path, note::note(setting, path, label(path)));
        } else if let Shape::Object = shape_of(setting.schema) {
            self.ask_object(setting, path, show_if);
        } else if let Some(mut question) = question(setting, path) {
            let needed = NEEDS.iter().find(|(own, _)| *own == path).map(|(_, needed)| *needed);
            if let Some(condition) = show_if.or(needed) {
                question.insert("show_if".to_owned(), condition.into());
            }
            self.add(path, question);
        } else {
            if path == "preScanPolicies.byNamespace" {
                self.ask_namespaces(path);
            }
            self.add(path, note::note(setting, path, label(path)));
        }
    }

    fn ask_object(&mut self, object: &Setting<'_>, path: &str, show_if: Option<&str>) {
        let settings = settings_of(object.schema);
        // What isn't valid without a value that nobody gave is asked for after that, and is not there before.
        let required: Vec<String> = settings
            .iter()
            .filter(|setting| setting.is_required)
            .map(|setting| format!("{path}.{}", setting.name))
            .collect();
        let needs_one = (!required.is_empty()).then(|| required.join(" && "));
        let switch = settings.iter().any(|setting| setting.name == "enabled").then(|| format!("{path}.enabled=true"));
        for setting in &settings {
            let condition = match (&switch, &needs_one) {
                (Some(switch), _) if setting.name != "enabled" => Some(switch),
                (_, Some(required)) if !setting.is_required => Some(required),
                _ => None,
            };
            self.ask(setting, &format!("{path}.{}", setting.name), condition.map(String::as_str).or(show_if));
        }
    }

    fn ask_namespaces(&mut self, path: &str) {
        for namespace in NAMESPACES {
            let variable = format!("{path}.{namespace}.defaultPolicy");
            let asked = setting_at(self.schema, &variable).and_then(|setting| question(&setting, &variable));
            if let Some(mut question) = asked {
                question.insert("label".to_owned(), format!("Images in {namespace}").into());
                self.add(path, question);
            }
        }
    }

    fn add(&mut self, path: &str, mut question: Map<String, Value>) {
        let Some((place, group)) = place(path) else { return };
        question.insert("group".to_owned(), group.into());
        // The form looks for what is required at the top level alone.
        question.insert("required".to_owned(), false.into());
        self.questions.push((place, question));
    }
}

/// Where a setting stands: the number of its group and its number there, and the group's name.
fn place(path: &str) -> Option<((usize, usize), &'static str)> {
    let is_at = |entry: &str| path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let entries = ORDER.iter().enumerate().flat_map(|(group, (name, entries))| {
        entries.iter().enumerate().map(move |(number, entry)| (*entry, (group, number), *name))
    });
    let nearest = entries.filter(|(entry, ..)| is_at(entry)).max_by_key(|(entry, ..)| entry.len())?;
    Some((nearest.1, nearest.2))
}

/// A question for one value; none for what the form can't show.
fn question(setting: &Setting<'_>, variable: &str) -> Option<Map<String, Value>> {
    let mut question = Map::new();
    let mut set = |key: &str, value: Value| question.insert(key.to_owned(), value);
    let mut default = setting.schema.get("default").cloned();
    let mut said = text(setting.schema, "description").to_owned();
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
            // Texts, or objects that say more: the form edits the texts, and says how to write the others.
            Shape::Either(branches) if branches.iter().any(|branch| matches!(shape_of(branch), Shape::Text)) => {
                said = note::beside(setting, variable);
                "array["
            }
            _ => return None,
        },
        // A word, or a list of texts: the word is what holds without the list.
        Shape::Either(branches) if branches.iter().any(|branch| is_list_of_texts(branch)) => {
            default.as_ref().filter(|default| default.is_string())?;
            default = None;
            "array["
        }
        Shape::Object | Shape::ByName(_) | Shape::Either(_) | Shape::Any => return None,
    };
    set("type", kind.into());
    set("variable", variable.into());
    set("label", label(variable).into());
    set("description", said.into());
    set("required", setting.is_required.into());
    // A list needs its default: the form adds to it.
    if let Some(default) = default {
        set("default", default);
    } else if kind.ends_with('[') {
        set("default", json!([]));
    }
    Some(question)
}

fn is_list_of_texts(schema: &Map<String, Value>) -> bool {
    matches!(shape_of(schema), Shape::List(items) if matches!(shape_of(items), Shape::Text))
}

/// A list's entry has texts, numbers, switches and choices; the form would edit anything else as YAML inside it.
fn question_in_a_list(setting: &Setting<'_>) -> Option<Map<String, Value>> {
    match shape_of(setting.schema) {
        Shape::List(items) if !matches!(shape_of(items), Shape::Text) => None,
        _ => {
            let mut question = question(setting, setting.name)?;
            // A new entry has the defaults of its questions, and keeps them: a list that may not be empty has none.
            if setting.schema.contains_key("minItems") && question.get("default") == Some(&json!([])) {
                question.remove("default");
            }
            Some(question)
        }
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
