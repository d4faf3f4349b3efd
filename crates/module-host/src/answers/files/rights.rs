//! What users may do, by the Roles and bindings among a cluster's files: RBAC as the API server evaluates it.
//!
//! `system:masters` may do everything. Aggregated ClusterRoles have the rules that are written in them.

use serde_json::Value;

use super::cluster::ClusterFiles;

const VERSION: &str = "rbac.authorization.k8s.io/v1";
/// The group that the API server lets do everything, whatever roles say.
const MASTERS: &str = "system:masters";

/// The answer to `can_i`: the status of a SubjectAccessReview.
pub(super) fn review(cluster: &ClusterFiles, asked: &Value) -> Result<Value, String> {
    let asked = Asked::of(asked);
    let allowed = asked.groups.contains(&MASTERS) || asked.is_granted(cluster)?;
    Ok(serde_json::json!({"allowed": allowed}))
}

struct Asked<'a> {
    user: &'a str,
    groups: Vec<&'a str>,
    attributes: &'a Value,
}

impl<'a> Asked<'a> {
    fn of(asked: &'a Value) -> Self {
        Self {
            user: text(asked, "user"),
            groups: texts(asked, "groups"),
            attributes: asked.get("resource_attributes").unwrap_or(&Value::Null),
        }
    }

    fn is_granted(&self, cluster: &ClusterFiles) -> Result<bool, String> {
        let namespace = Some(text(self.attributes, "namespace").to_owned()).filter(|namespace| !namespace.is_empty());
        let namespace = namespace.as_ref();
        let everywhere = cluster.select(VERSION, "ClusterRoleBinding", None, None, None, |_| true)?;
        let here = match namespace {
            Some(_) => cluster.select(VERSION, "RoleBinding", namespace, None, None, |_| true)?,
            None => Vec::new(),
        };
        for binding in everywhere.iter().chain(&here) {
            let role = binding.data.get("roleRef").unwrap_or(&Value::Null);
            let own = namespace.filter(|_| text(role, "kind") == "Role");
            if !self.is_bound(&binding.data) {
                continue;
            }
            let roles = cluster.select(VERSION, text(role, "kind"), own, None, None, |_| true)?;
            let bound = roles.iter().filter(|known| known.metadata.name.as_deref() == Some(text(role, "name")));
            let mut rules = bound.filter_map(|role| role.data.get("rules")).filter_map(Value::as_array).flatten();
            if rules.any(|rule| self.is_allowed_by(rule)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_bound(&self, binding: &Value) -> bool {
        let subjects = binding.get("subjects").and_then(Value::as_array);
        subjects.into_iter().flatten().any(|subject| {
            let name = text(subject, "name");
            match text(subject, "kind") {
                "User" => name == self.user,
                "Group" => self.groups.contains(&name),
                "ServiceAccount" => self.user == format!("system:serviceaccount:{}:{name}", text(subject, "namespace")),
                _ => false,
            }
        })
    }

    fn is_allowed_by(&self, rule: &Value) -> bool {
        let has = |key: &str, wanted: &str| texts(rule, key).iter().any(|own| *own == "*" || *own == wanted);
        let has_resource = match text(self.attributes, "subresource") {
            "" => has("resources", text(self.attributes, "resource")),
            sub => {
                has("resources", &format!("{}/{sub}", text(self.attributes, "resource")))
                    || has("resources", &format!("*/{sub}"))
            }
        };
        let names = texts(rule, "resourceNames");
        has("verbs", text(self.attributes, "verb"))
            && has("apiGroups", text(self.attributes, "group"))
            && has_resource
            && (names.is_empty() || names.contains(&text(self.attributes, "name")))
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn texts<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    value.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
