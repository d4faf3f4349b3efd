//! The requests that the API server sends to a policy at all: its own selectors and conditions decide, before its settings.

use std::collections::BTreeMap;

use image_admission_cel::expression::{Program, Scope, Time, value_of};
use image_admission_image::workload::WorkloadKind;
use image_admission_manifests::label_selector::{Label, excludes};
use image_admission_manifests::settings::{FoundPolicy, NAME_LABEL};
use serde_json::{Map, Value};

/// The labels of namespaces, by the namespaces' names; none of one that files contradict each other about.
pub(super) type NamespaceLabels = BTreeMap<String, Option<Map<String, Value>>>;

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
        let (mut namespaces, objects) = (take("/spec/namespaceSelector"), take("/spec/objectSelector"));
        // A policy of a namespace has no such field.
        if policy.is_of_namespace() {
            namespaces = Value::Null;
        }
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
        let place = Place::of(request, object);
        let in_namespace = |key: &str| match place {
            Place::Namespace(name) if key == NAME_LABEL => Label::Is(name),
            Place::Namespace(name) => match labels.get(name) {
                Some(Some(labels)) => label(Some(labels), key),
                Some(None) | None => Label::Unknown,
            },
            Place::Itself(name) if key == NAME_LABEL => Label::Is(name),
            Place::Itself(_) => label(own, key),
            Place::Unknown => Label::Unknown,
        };
        if excludes(&self.namespaces, in_namespace) {
            return Ok(Some("namespaceSelector".to_owned()));
        }
        // One that doesn't hold is enough, whatever becomes of the others.
        let mut problem = None;
        for condition in &self.conditions {
            match condition.holds(request, object) {
                Ok(true) => {}
                Ok(false) => return Ok(Some(format!("matchConditions: {}", condition.name))),
                Err(why) => problem = problem.or(Some(why)),
            }
        }
        problem.map_or(Ok(None), Err)
    }
}

/// Whose labels a `namespaceSelector` looks at.
#[derive(Clone, Copy)]
enum Place<'r> {
    /// Those of the object's namespace.
    Namespace(&'r str),
    /// Those of the object, which is a namespace.
    Itself(&'r str),
    /// The object names no namespace, and may be one of the whole cluster, which no such selector leaves out.
    Unknown,
}

impl<'r> Place<'r> {
    fn of(request: &'r Value, object: &'r Value) -> Self {
        let text = |value: &'r Value, pointer| value.pointer(pointer).and_then(Value::as_str);
        let (group, kind) =
            (text(request, "/kind/group").unwrap_or_default(), text(request, "/kind/kind").unwrap_or_default());
        if (group, kind) == ("", "Namespace") {
            return text(object, "/metadata/name").map_or(Self::Unknown, Self::Itself);
        }
        // Workloads are always in a namespace, and are in the default one if they name none.
        let is_told = text(object, "/metadata/namespace").is_some() || WorkloadKind::of(group, kind).is_some();
        text(request, "/namespace").filter(|_| is_told).map_or(Self::Unknown, Self::Namespace)
    }
}

impl Condition {
    fn holds(&self, request: &Value, object: &Value) -> Result<bool, String> {
        let failed = |why: String| format!("the condition `{}` of the policy can't be evaluated: {why}", self.name);
        let program = self.program.as_ref().map_err(|why| failed(why.clone()))?;
        // Who will create an object is known to nobody here.
        if program.words().contains("userInfo") {
            return Err(failed("it asks `request.userInfo`".to_owned()));
        }
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
    match labels.and_then(|labels| labels.get(key)) {
        None => Label::Missing,
        Some(Value::String(value)) => Label::Is(value),
        Some(_) => Label::Unknown,
    }
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
        let team = NamespaceLabels::from([("shop".to_owned(), json!({"team": "a"}).as_object().cloned())]);
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
        // One that doesn't hold is enough.
        let conditions = "matchConditions: [{name: odd, expression: object.a.b}, {name: no, expression: 'false'}]";
        assert_eq!(left_out(conditions, &request(), &team), Ok(Some("matchConditions: no".to_owned())));
        // A selector for namespaces leaves out no object of the whole cluster, and a namespace by its own labels.
        let other = "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}";
        let mut role = request();
        role["kind"] = json!({"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole"});
        assert_eq!(left_out(other, &role, &team), Ok(None));
        role["kind"] = json!({"group": "", "version": "v1", "kind": "Namespace"});
        role["object"]["metadata"]["name"] = json!("other");
        assert_eq!(left_out(other, &role, &team), Ok(None));
        role["object"]["metadata"]["name"] = json!("shop");
        assert_eq!(left_out(other, &role, &team), Ok(Some("namespaceSelector".to_owned())));
        // Contradictions, and values that are no strings, are known to nobody.
        let contradicted = NamespaceLabels::from([("shop".to_owned(), None)]);
        assert_eq!(left_out("namespaceSelector: {matchLabels: {team: b}}", &request(), &contradicted), Ok(None));
        let mut odd = request();
        odd["object"]["metadata"]["labels"]["app"] = json!(7);
        assert_eq!(left_out("objectSelector: {matchLabels: {app: db}}", &odd, &team), Ok(None));
        // Without the namespace's labels nobody knows.
        let unknown = left_out("namespaceSelector: {matchLabels: {team: b}}", &request(), &NamespaceLabels::new());
        assert_eq!(unknown, Ok(None));
    }

    #[test]
    fn what_cannot_be_evaluated_is_told() {
        for (expression, why) in [
            ("authorizer.serviceAccount('a', 'b')", "authorizer"),
            ("1", "its value is no boolean"),
            ("a b", "line 1"),
            ("request.userInfo.groups.exists(g, g == 'a')", "it asks `request.userInfo`"),
            ("object.metadata.annotations.skip != 'true'", "annotations"),
        ] {
            let spec = format!("matchConditions: [{{name: odd, expression: \"{expression}\"}}]");
            let problem = left_out(&spec, &request(), &NamespaceLabels::new()).unwrap_err();
            assert!(problem.starts_with("the condition `odd` of the policy can't be evaluated: "), "{problem}");
            assert!(problem.contains(why), "{problem}");
        }
    }
}
