//! Break glass: who may let a request through that the policy would judge.

use super::read::{Problems, SettingsMap};
use std::fmt;

/// Who may let a request through that the policy would judge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct BreakGlass {
    /// The key of an annotation of the object itself. Its value is the reason, with at least one letter or digit.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["image-admission.example.com/break-glass"])))]
    pub annotation: String,
    /// What a user must have the RBAC right to `use`. The annotation alone does nothing.
    pub resource: GuardedResource,
}

/// A resource as rules of RBAC name it. It needn't exist.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "camelCase", deny_unknown_fields))]
pub struct GuardedResource {
    /// The API group; empty for the core group.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["policies.kubewarden.io"])))]
    pub group: String,
    /// The resource, in the plural and in lower case.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["clusteradmissionpolicies"])))]
    pub resource: String,
    /// One object. Without it, the right must be to all of them.
    #[cfg_attr(feature = "schema", schemars(extend("examples" = ["image-admission"])))]
    pub name: Option<String>,
    /// A namespace whose Roles count too. Without it, only ClusterRoles that are bound in the whole cluster count, which
    /// namespace admins don't have.
    pub namespace: Option<String>,
}

/// ``clusteradmissionpolicies.policies.kubewarden.io `image-admission` ``
impl fmt::Display for GuardedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " `{name}`")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in the namespace `{namespace}`"),
            None => Ok(()),
        }
    }
}

/// The setting `breakGlass`; none where it isn't written.
pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<BreakGlass> {
    if !settings.has("breakGlass") {
        return None;
    }
    let path = settings.path().key("breakGlass");
    let map = SettingsMap::of(settings.get("breakGlass"), &path, problems)?;
    map.known(&["annotation", "resource"], &[], problems);
    let annotation = required(&map, "annotation", "the key of the annotation whose value is the reason", problems);
    if let Some(key) = annotation.filter(|key| !is_annotation(key)) {
        problems.add(
            path.key("annotation"),
            format!("`{key}` is no key of an annotation; use one like `image-admission.example.com/break-glass`"),
        );
    }
    let at = path.key("resource");
    if !map.has("resource") {
        problems.add(at, "it is missing; say what a user must be allowed to `use`, with `group` and `resource`");
        return None;
    }
    let resource = SettingsMap::of(map.get("resource"), &at, problems)?;
    resource.known(&["group", "resource", "name", "namespace"], &[], problems);
    if !resource.has("group") {
        problems.add(at.key("group"), "it is missing; say the API group, or \"\" for the core group");
    }
    let group = resource.text("group", problems);
    // Other settings call it so; RBAC has no such group.
    if group == Some("core") {
        problems.add(at.key("group"), "`core` is no group of RBAC's; write \"\" for the core group");
    }
    let plural = required(&resource, "resource", "the resource, in the plural and in lower case", problems);
    let name = resource.text("name", problems);
    let namespace = resource.text("namespace", problems);
    // Nobody can have a right that no RBAC rule can name, and it would only show in an emergency.
    for (key, text, example) in [
        ("group", group.filter(|group| !group.is_empty()), "policies.kubewarden.io"),
        ("resource", plural, "clusteradmissionpolicies"),
        ("namespace", namespace, "kubewarden"),
    ] {
        if let Some(text) = text.filter(|text| !text.split('.').all(is_label)) {
            problems.add(at.key(key), format!("`{text}` is not a name; write it in lower case, like `{example}`"));
        }
    }
    let is_name = |name: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '_');
        !name.is_empty() && name.chars().all(is_allowed)
    };
    if let Some(name) = name.filter(|name| !is_name(name)) {
        problems.add(
            at.key("name"),
            format!("`{name}` is not a name; name one of them, like `image-admission`, or leave it out"),
        );
    }
    Some(BreakGlass {
        annotation: annotation?.to_owned(),
        resource: GuardedResource {
            group: group?.to_owned(),
            resource: plural?.to_owned(),
            name: name.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
        },
    })
}

fn required<'v>(map: &SettingsMap<'v, '_>, key: &str, what: &str, problems: &mut Problems) -> Option<&'v str> {
    let text = map.text(key, problems);
    if !map.has(key) || text == Some("") {
        problems.add(map.path().key(key), format!("it is missing; say {what}"));
        return None;
    }
    text
}

/// `prefix/name`, of which the prefix is a DNS name and may be left out (Kubernetes, "Annotations: syntax and character set").
fn is_annotation(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    let is_name = (1..=63).contains(&name.len())
        && name.starts_with(is_edge)
        && name.ends_with(is_edge)
        && name.chars().all(|c| is_edge(c) || matches!(c, '-' | '_' | '.'));
    is_name && prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_label))
}

/// A part of a DNS name.
fn is_label(label: &str) -> bool {
    let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    label.starts_with(is_edge) && label.ends_with(is_edge) && label.chars().all(|c| is_edge(c) || c == '-')
}
