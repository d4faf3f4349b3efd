//! Field masks: which fields of an object a policy asked for.

use std::collections::BTreeMap;

use serde_json::Value;

/// A set of dotted paths. A path keeps everything below it; a list on the way is passed through.
///
/// A path below another one narrows it: `a` and `a.b` together keep only `a.b`, as on the host.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FieldMask {
    fields: BTreeMap<String, FieldMask>,
}

impl FieldMask {
    /// The mask of these paths. Without any it keeps everything.
    pub fn new(paths: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut mask = Self::default();
        for path in paths {
            let mut at = &mut mask;
            for field in path.as_ref().split('.') {
                at = at.fields.entry(field.to_owned()).or_default();
            }
        }
        mask
    }

    /// Removes from `value` every field that no path names.
    pub fn prune(&self, value: &mut Value) {
        if self.fields.is_empty() {
            return;
        }
        match value {
            Value::Object(object) => object.retain(|field, value| match self.fields.get(field) {
                Some(below) => {
                    below.prune(value);
                    true
                }
                None => false,
            }),
            Value::Array(items) => items.iter_mut().for_each(|item| self.prune(item)),
            _ => {}
        }
    }
}
