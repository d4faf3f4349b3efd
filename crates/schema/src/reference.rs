//! The reference of the settings, in Markdown.

use crate::setting::{GROUPS, Setting, Shape, settings_of, shape_of, text};
use serde_json::{Map, Value};

const INTRODUCTION: &str = "\
# Settings

Every setting, with its path. All are optional unless marked `required`, and the defaults are safe. `[]` stands for each entry of
a list, `<name>` for a key that you choose. For completion in editors, put
`# yaml-language-server: $schema=settings.schema.json` on the first line. The schema can't check everything: run `image-admission lint`.

Generated from the types of the settings: `make settings`.
";

/// The page `docs/settings.md`.
#[must_use]
pub fn reference(schema: &Value) -> String {
    let mut page = Page { text: INTRODUCTION.to_owned(), described: Vec::new() };
    let root = schema.as_object().map(settings_of).unwrap_or_default();
    for (group, names) in GROUPS {
        page.text.push_str(&format!("\n## {group}\n"));
        let settings = names.iter().filter_map(|name| root.iter().find(|setting| setting.name == *name));
        let (objects, values): (Vec<&Setting<'_>>, Vec<&Setting<'_>>) =
            settings.partition(|setting| has_settings(setting.schema));
        for setting in objects {
            page.text.push_str(&format!("\n### `{}`\n\n{TABLE}", setting.name));
            page.setting(setting, "");
        }
        if !values.is_empty() {
            page.text.push_str(&format!("\n### Values\n\n{TABLE}"));
        }
        for setting in values {
            page.setting(setting, "");
        }
    }
    page.text
}

const TABLE: &str = "| setting | value | default | meaning |\n|---|---|---|---|\n";

struct Page {
    text: String,
    /// The settings of objects that have been described, and where.
    described: Vec<(Map<String, Value>, String)>,
}

impl Page {
    fn setting(&mut self, setting: &Setting<'_>, above: &str) {
        let path = if above.is_empty() { setting.name.to_owned() } else { format!("{above}.{}", setting.name) };
        let default = match setting.schema.get("default") {
            _ if setting.is_required => "required".to_owned(),
            Some(default) => literal(default),
            None => String::new(),
        };
        let mut meaning = text(setting.schema, "description").to_owned();
        for (name, means) in choices(setting.schema) {
            if !means.is_empty() {
                meaning.push_str(&format!(" `{name}`: {}", lower_first(means)));
            }
        }
        if let Some(examples) = setting.schema.get("examples").and_then(Value::as_array) {
            let examples: Vec<String> = examples.iter().map(literal).collect();
            meaning.push_str(&format!(" Example: {}.", examples.join(", ")));
        }
        let inner = self.inner(setting.schema, &path);
        if let [Inner::Described(other)] = inner.as_slice() {
            meaning.push_str(&format!(" Its settings are those of `{other}`."));
        }
        let row = [format!("`{path}`"), value(setting.schema), default, meaning];
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('\n', " ").replace('|', "\\|")).collect();
        self.text.push_str(&format!("| {} |\n", cells.join(" | ")));
        for inner in inner {
            if let Inner::New(path, object) = inner {
                for setting in settings_of(object) {
                    self.setting(&setting, &path);
                }
            }
        }
    }

    /// The objects that a value has keys of, each with its path.
    fn inner<'s>(&mut self, schema: &'s Map<String, Value>, path: &str) -> Vec<Inner<'s>> {
        match shape_of(schema) {
            Shape::Object => {
                let own = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
                let has_all =
                    |other: &Map<String, Value>| own.iter().all(|(name, schema)| other.get(name) == Some(schema));
                if let Some((_, path)) = self.described.iter().find(|(other, _)| has_all(other)) {
                    return vec![Inner::Described(path.clone())];
                }
                self.described.push((own, path.to_owned()));
                vec![Inner::New(path.to_owned(), schema)]
            }
            Shape::List(items) => self.inner(items, &format!("{path}[]")),
            Shape::ByName(values) => self.inner(values, &format!("{path}.<name>")),
            Shape::Either(branches) => branches.into_iter().flat_map(|branch| self.inner(branch, path)).collect(),
            _ => Vec::new(),
        }
    }
}

enum Inner<'s> {
    New(String, &'s Map<String, Value>),
    Described(String),
}

fn has_settings(schema: &Map<String, Value>) -> bool {
    match shape_of(schema) {
        Shape::Object => true,
        Shape::List(inner) | Shape::ByName(inner) => has_settings(inner),
        Shape::Either(branches) => branches.into_iter().any(has_settings),
        _ => false,
    }
}

fn choices(schema: &Map<String, Value>) -> Vec<(&str, &str)> {
    match shape_of(schema) {
        Shape::Choice(choices) => choices,
        Shape::List(items) => choices(items),
        _ => Vec::new(),
    }
}

/// A value as it is written; a string without quotes, unless nothing would be left.
fn literal(value: &Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() => format!("`{text}`"),
        _ => format!("`{value}`"),
    }
}

/// What a value is, in words.
fn value(schema: &Map<String, Value>) -> String {
    if let Some(constant) = schema.get("const") {
        return literal(constant);
    }
    for (limit, empty) in [("maxItems", "`[]`"), ("maxProperties", "`{}`")] {
        if schema.get(limit) == Some(&Value::from(0)) {
            return empty.to_owned();
        }
    }
    match shape_of(schema) {
        Shape::Choice(choices) => choices.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        Shape::Boolean => "`true`, `false`".to_owned(),
        Shape::WholeNumber => "integer".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Text if text(schema, "contentMediaType").contains("rego") => "Rego".to_owned(),
        Shape::Text if text(schema, "contentMediaType").contains("pem") => "PEM".to_owned(),
        Shape::Text => "string".to_owned(),
        Shape::List(items) => format!("list of {}", several(items)),
        Shape::Object => "object".to_owned(),
        Shape::ByName(values) => format!("map of {}", several(values)),
        Shape::Either(branches) => {
            let mut words: Vec<String> = Vec::new();
            for word in branches.into_iter().map(value) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
            words.join(", or ")
        }
        Shape::Any => "anything".to_owned(),
    }
}

/// What values are of which there are several.
fn several(schema: &Map<String, Value>) -> String {
    match shape_of(schema) {
        Shape::Text => "strings".to_owned(),
        Shape::Either(branches) if branches.iter().all(|branch| has_settings(branch)) => "objects".to_owned(),
        Shape::Object => "objects".to_owned(),
        Shape::Either(branches) => branches.into_iter().map(several).collect::<Vec<_>>().join(" or "),
        _ => value(schema),
    }
}

/// A sentence that goes on behind a colon.
fn lower_first(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
