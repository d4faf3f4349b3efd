//! The policy's settings as people write them, and the three things that are made of that: a JSON Schema for editors
//! (`settings.schema.json`), the form of Rancher's user interface (`questions-ui.yml`) and the reference
//! (`docs/settings.md`).
//!
//! The policy reads settings by itself: at every request, from a clean instance, and so that all problems are told at once.
//! What is here is never read by it. Tests hold the two together: which keys there are, which choices, which defaults.

mod form;
mod reference;
mod setting;
pub mod settings;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

pub use form::{EXAMPLES, form};
pub use reference::reference;

/// The JSON Schema of the settings, draft 7, which editors understand best. It has no references, so that each setting is
/// described where it stands.
///
/// It is wider than the engine: what depends on two settings at once, and what is in a text, is for the engine alone.
#[must_use]
pub fn schema() -> Value {
    let generator = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        // Settings that aren't there are left out, and null is never needed.
        settings.transforms.push(Box::new(RecursiveTransform(without_null)));
    });
    let mut schema = generator.into_generator().into_root_schema_for::<settings::Settings>();
    schema.insert("title".to_owned(), "Settings of image-admission".into());
    schema.to_value()
}

fn without_null(schema: &mut schemars::Schema) {
    let Some(map) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.retain(|branch| branch.get("type").is_none_or(|name| name != "null"));
        if let [one] = branches.as_slice() {
            let one = one.as_object().cloned().unwrap_or_default();
            map.remove("anyOf");
            for (key, value) in one {
                map.entry(key).or_insert(value);
            }
        }
    }
}
