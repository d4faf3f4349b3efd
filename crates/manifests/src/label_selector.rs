//! Kubernetes' label selectors (`matchLabels`, `matchExpressions`), as far as the labels are known.

use serde_json::Value;

/// What is known of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label<'l> {
    /// It is there, with this value.
    Is(&'l str),
    /// It isn't there.
    Missing,
    /// Only the cluster knows.
    Unknown,
}

/// Whether a LabelSelector certainly doesn't select an object, whose labels `label` knows by their keys. What isn't known excludes
/// nothing, and neither does a selector that the API server would refuse.
pub fn excludes<'l>(selector: &Value, label: impl Fn(&str) -> Label<'l>) -> bool {
    let differs = |(key, wanted): (&String, &Value)| match (label(key), wanted.as_str()) {
        (Label::Is(value), Some(wanted)) => wanted != value,
        (Label::Missing, Some(_)) => true,
        (Label::Unknown, _) | (_, None) => false,
    };
    let fails = |expression: &Value| {
        let text = |key| expression.get(key).and_then(Value::as_str);
        let values: Vec<&Value> = expression.get("values").and_then(Value::as_array).into_iter().flatten().collect();
        let Some(key) = text("key") else { return false };
        match (text("operator"), label(key)) {
            // Without values the API server refuses it.
            (Some("In"), _) if values.is_empty() => false,
            (Some("In"), Label::Is(value)) => values.iter().all(|wanted| *wanted != value),
            (Some("NotIn"), Label::Is(value)) => values.iter().any(|unwanted| *unwanted == value),
            (Some("In" | "Exists"), Label::Missing) | (Some("DoesNotExist"), Label::Is(_)) => true,
            _ => false,
        }
    };
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    labels.into_iter().flatten().any(differs) || expressions.into_iter().flatten().any(fails)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn label(key: &str) -> Label<'static> {
        match key {
            "team" => Label::Is("shop"),
            "elsewhere" => Label::Unknown,
            _ => Label::Missing,
        }
    }

    #[test]
    fn selectors_are_those_of_kubernetes() {
        let expression = |key: &str, operator: &str, values: Value| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        for (selector, expected) in [
            (json!({}), false),
            (json!(null), false),
            (json!({"matchLabels": {"team": "shop"}}), false),
            (json!({"matchLabels": {"team": "shop", "a": "b"}}), true),
            (json!({"matchLabels": {"team": "bank"}}), true),
            (json!({"matchLabels": {"elsewhere": "a"}}), false),
            (expression("team", "In", json!(["bank", "shop"])), false),
            (expression("team", "In", json!(["bank"])), true),
            (expression("team", "In", json!([])), false),
            (expression("a", "In", json!("b")), false),
            (json!({"matchLabels": {"team": true, "a": 7}}), false),
            (expression("a", "In", json!(["b"])), true),
            (expression("elsewhere", "In", json!(["b"])), false),
            (expression("team", "NotIn", json!(["shop"])), true),
            (expression("team", "NotIn", json!(["bank"])), false),
            // What has no such label is selected.
            (expression("a", "NotIn", json!(["b"])), false),
            (expression("team", "Exists", json!(null)), false),
            (expression("a", "Exists", json!(null)), true),
            (expression("team", "DoesNotExist", json!(null)), true),
            (expression("a", "DoesNotExist", json!(null)), false),
            (expression("elsewhere", "DoesNotExist", json!(null)), false),
            (expression("team", "GreaterThan", json!(["a"])), false),
            (json!({"matchExpressions": [7, {"operator": "Exists"}], "matchLabels": [1]}), false),
        ] {
            assert_eq!(excludes(&selector, label), expected, "{selector}");
        }
    }
}
