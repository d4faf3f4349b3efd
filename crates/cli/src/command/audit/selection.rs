//! The requests that the API server sends to a policy at all: its own selectors and conditions decide, before its settings.

use std::collections::BTreeMap;

use image_admission_cel::expression::{Program, Scope, Time, value_of};
use image_admission_manifests::label_selector::{Label, excludes};
use image_admission_manifests::settings::{FoundPolicy, NAME_LABEL};
use serde_json::{Map, Value};

/// The labels of namespaces, as far as they are known, by the namespaces' names.
pub(super) type NamespaceLabels = BTreeMap<String, Map<String, Value>>;

/// The selectors and conditions of a policy; without a policy none.
#[derive(Debug, Default)]
pub(super) struct Selection {
    namespaces: Value,
    objects: Value,
    conditions: Vec<Condition>,
}

/// An entry of `matchConditions`.
#[derive(Debug)]
struct Condition {
    name: String,
    /// Why it is no CEL, otherwise.
    program: Result<Program, String>,
}

impl Selection {
    /// Reads those of a policy.
    pub(super) fn of(policy: &FoundPolicy) -> Self {
        let mut manifest: Value = serde_json::from_str(policy.manifest.get()).unwrap_or_default();
        let mut take = |path| manifest.pointer_mut(path).map(Value::take).unwrap_or_default();
        let (namespaces, objects) = (take("/spec/namespaceSelector"), take("/spec/objectSelector"));
        let conditions = take("/spec/matchConditions");
        let text = |condition: &Value, key| condition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let conditions = conditions.as_array().into_iter().flatten().map(|condition| Condition {
            name: text(condition, "name"),
            program: Program::read(&text(condition, "expression")),
        });
        Self { namespaces, objects, conditions: conditions.collect() }
    }

    /// Whether it asks for labels of namespaces beside their names.
    pub(super) fn needs_namespaces(&self) -> bool {
        let labels = self.namespaces.get("matchLabels").and_then(Value::as_object);
        let expressions = self.namespaces.get("matchExpressions").and_then(Value::as_array);
        let keys = expressions.into_iter().flatten().filter_map(|expression| expression.get("key")?.as_str());
        labels.into_iter().flat_map(Map::keys).map(String::as_str).chain(keys).any(|key| key != NAME_LABEL)
    }

    /// The selector or condition that leaves a request out: its field in the policy, with the name of a condition.
    ///
    /// # Errors
    /// A condition can't be evaluated. The API server rejects such a request, unless `failurePolicy` is `Ignore`.
    pub(super) fn leaves_out(&self, request: &Value, labels: &NamespaceLabels) -> Result<Option<String>, String> {
        let object = request.get("object").unwrap_or(&Value::Null);
        let own = object.pointer("/metadata/labels").and_then(Value::as_object);
        if excludes(&self.objects, |key| label(own, key)) {
            return Ok(Some("objectSelector".to_owned()));
        }
        if let Some(namespace) = request.get("namespace").and_then(Value::as_str) {
            let known = labels.get(namespace);
            let label = |key: &str| match known {
                _ if key == NAME_LABEL => Label::Is(namespace),
                Some(labels) => label(Some(labels), key),
                None => Label::Unknown,
            };
            if excludes(&self.namespaces, label) {
                return Ok(Some("namespaceSelector".to_owned()));
            }
        }
        for condition in &self.conditions {
            if !condition.holds(request, object)? {
                return Ok(Some(format!("matchConditions: {}", condition.name)));
            }
        }
        Ok(None)
    }
}

impl Condition {
    fn holds(&self, request: &Value, object: &Value) -> Result<bool, String> {
        let failed = |why: String| format!("the condition `{}` of the policy can't be evaluated: {why}", self.name);
        let program = self.program.as_ref().map_err(|why| failed(why.clone()))?;
        let mut scope = Scope::new(std::iter::once(&program.references), &Time::default());
        for (name, value) in [("request", request), ("object", object), ("oldObject", &Value::Null)] {
            scope.set(name, value_of(value));
        }
        match program.evaluate(&scope) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err(failed("its value is no boolean".to_owned())),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

fn label<'l>(labels: Option<&'l Map<String, Value>>, key: &str) -> Label<'l> {
    labels.and_then(|labels| labels.get(key)?.as_str()).map_or(Label::Missing, Label::Is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_manifests::settings::chosen;
    use serde_json::json;
    use std::fs;

    fn left_out(spec: &str, request: &Value, labels: &NamespaceLabels) -> Result<Option<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        let head = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: images}\n";
        fs::write(&path, format!("{head}spec: {{{spec}}}\n")).unwrap();
        let policy = chosen(&path, None).unwrap().unwrap().policy.unwrap();
        Selection::of(&policy).leaves_out(request, labels)
    }

    fn request() -> Value {
        json!({
            "namespace": "shop",
            "operation": "CREATE",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "object": {"kind": "Pod", "metadata": {"name": "web", "labels": {"app": "web"}}},
        })
    }

    #[test]
    fn selectors_and_conditions_are_those_of_the_api_server() {
        let name = "kubernetes.io/metadata.name";
        let team = NamespaceLabels::from([("shop".to_owned(), json!({"team": "a"}).as_object().unwrap().clone())]);
        for (spec, expected) in [
            (String::new(), None),
            (format!("namespaceSelector: {{matchLabels: {{{name}: shop}}}}"), None),
            (
                format!("namespaceSelector: {{matchExpressions: [{{key: {name}, operator: NotIn, values: [shop]}}]}}"),
                Some("namespaceSelector"),
            ),
            ("namespaceSelector: {matchLabels: {team: a}}".to_owned(), None),
            ("namespaceSelector: {matchLabels: {team: b}}".to_owned(), Some("namespaceSelector")),
            ("objectSelector: {matchLabels: {app: web}}".to_owned(), None),
            ("objectSelector: {matchLabels: {app: db}}".to_owned(), Some("objectSelector")),
            ("objectSelector: {matchExpressions: [{key: team, operator: Exists}]}".to_owned(), Some("objectSelector")),
            ("matchConditions: [{name: a, expression: request.kind.kind == 'Pod'}]".to_owned(), None),
            (
                "matchConditions: [{name: a, expression: 'true'}, {name: b, expression: oldObject != null}]".to_owned(),
                Some("matchConditions: b"),
            ),
            (
                "matchConditions: [{name: a, expression: \"object.metadata.labels['app'] != 'web'\"}]".to_owned(),
                Some("matchConditions: a"),
            ),
        ] {
            assert_eq!(left_out(&spec, &request(), &team), Ok(expected.map(str::to_owned)), "{spec}");
        }
        // Without the namespace's labels nobody knows.
        let unknown = left_out("namespaceSelector: {matchLabels: {team: b}}", &request(), &NamespaceLabels::new());
        assert_eq!(unknown, Ok(None));
    }

    #[test]
    fn what_cannot_be_evaluated_is_told() {
        for (expression, why) in
            [("authorizer.serviceAccount('a', 'b')", "authorizer"), ("1", "its value is no boolean"), ("a b", "line 1")]
        {
            let spec = format!("matchConditions: [{{name: odd, expression: \"{expression}\"}}]");
            let problem = left_out(&spec, &request(), &NamespaceLabels::new()).unwrap_err();
            assert!(problem.starts_with("the condition `odd` of the policy can't be evaluated: "), "{problem}");
            assert!(problem.contains(why), "{problem}");
        }
    }
}
