//! What the manifest of a policy says beside its settings, and doesn't fit them.

use std::collections::{BTreeMap, BTreeSet};

use image_admission_engine::settings::{Lint as Remark, LintFix, LintRule, ResourceRule, Settings};
use image_admission_engine::{ReadKind, kinds_read, reads_labels};
use serde_json::{Map, Value};

use crate::command::settings::Found;

/// What is to be remarked of the manifest that settings stand in; nothing where they stand alone.
pub(super) fn remarks(found: &Found, settings: &Settings) -> Vec<Remark> {
    let Some(policy) = &found.policy else { return Vec::new() };
    let policy: Value = serde_json::from_str(policy.manifest.get()).unwrap_or_default();
    let mut remarks = missing_kinds(&policy, settings);
    if let Some(rules) = rules(&policy) {
        remarks.extend(settings.lint_rules(&rules));
    }
    let mode = text(&policy, "/spec/mode").unwrap_or("protect");
    if policy.pointer("/spec/mutating") == Some(&Value::Bool(false)) && settings.may_pin() {
        let message = "images are to be pinned, and the policy server rejects what a policy that isn't mutating would change; write `true`, or `pin: {enabled: false}` into the settings";
        remarks.push(Remark::new(LintRule::NotMutating, "spec.mutating", message));
    }
    if mode == "protect" && text(&policy, "/spec/failurePolicy") == Some("Ignore") {
        let message = "while the policy server is down, or takes too long, every image gets in, unseen; write `Fail`, and leave out the namespaces that must start all the same";
        remarks.push(Remark::new(LintRule::FailsOpen, "spec.failurePolicy", message));
    }
    remarks.extend(by_label(&policy));
    remarks
}

/// Objects that the API server chooses by what whoever writes them may change later.
fn by_label(policy: &Value) -> Vec<Remark> {
    let message = "whoever writes an object may change its labels and annotations later, and an update that brings no image isn't judged: what starts without them never is; choose namespaces, by `namespaceSelector`";
    let remark = |path: String| Remark::new(LintRule::ByLabel, path, message);
    let has_entries = |key: &str| {
        let entries = policy.pointer("/spec/objectSelector").and_then(|selector| selector.get(key));
        entries
            .is_some_and(|entries| entries.as_object().map_or(0, Map::len) + entries.as_array().map_or(0, Vec::len) > 0)
    };
    let selects = has_entries("matchLabels") || has_entries("matchExpressions");
    let conditions =
        policy.pointer("/spec/matchConditions").and_then(Value::as_array).into_iter().flatten().enumerate();
    let by_condition = conditions.filter(|(_, condition)| text(condition, "/expression").is_some_and(reads_labels));
    let selector = selects.then(|| remark("spec.objectSelector".to_owned()));
    selector
        .into_iter()
        .chain(by_condition.map(|(position, _)| remark(format!("spec.matchConditions[{position}].expression"))))
        .collect()
}

/// Which requests the API server sends; none where the manifest doesn't say it.
fn rules(policy: &Value) -> Option<Vec<ResourceRule>> {
    let rules = policy.pointer("/spec/rules")?.as_array()?;
    let texts = |rule: &Value, key: &str| {
        let list = rule.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let read = |rule: &Value| ResourceRule {
        groups: texts(rule, "apiGroups"),
        versions: texts(rule, "apiVersions"),
        operations: texts(rule, "operations"),
        resources: texts(rule, "resources"),
        names: Vec::new(),
    };
    Some(rules.iter().map(read).collect())
}

/// The kinds that the settings have read and the manifest doesn't grant.
fn missing_kinds(policy: &Value, settings: &Settings) -> Vec<Remark> {
    const PATH: &str = "spec.contextAwareResources";
    let listed = policy.pointer("/spec/contextAwareResources").and_then(Value::as_array);
    let granted: BTreeSet<(&str, &str)> = listed
        .into_iter()
        .flatten()
        .filter_map(|entry| Some((text(entry, "/apiVersion")?, text(entry, "/kind")?)))
        .collect();
    let mut missing: BTreeMap<String, Vec<ReadKind>> = BTreeMap::new();
    for read in kinds_read(settings) {
        if !granted.contains(&(read.api_version.as_str(), read.kind.as_str())) {
            missing.entry(read.path.clone()).or_default().push(read);
        }
    }
    // Kubewarden lets policies of a namespace read nothing of the cluster.
    let can_be_granted = text(policy, "/kind") != Some("AdmissionPolicy");
    let what_to_do = if can_be_granted {
        "which isn't granted; add what is missing"
    } else {
        "which an AdmissionPolicy can't be granted; deploy a ClusterAdmissionPolicy with a `namespaceSelector`"
    };
    let remark = |(path, kinds): (String, Vec<ReadKind>)| {
        let names: Vec<String> = kinds
            .iter()
            .map(|ReadKind { api_version, kind, .. }| format!("`{{apiVersion: {api_version}, kind: {kind}}}`"))
            .collect();
        let message = format!("look-ups of `{path}` fail, and reject: it reads {}, {what_to_do}", names.join(" and "));
        let entries = kinds.into_iter().map(|read| vec![("apiVersion", read.api_version), ("kind", read.kind)]);
        let fix = can_be_granted.then(|| LintFix::Append { path: PATH.to_owned(), entries: entries.collect() });
        Remark::new(LintRule::MissingKind, PATH, message).fixed_by(fix)
    };
    missing.into_iter().map(remark).collect()
}

/// Whether the policy that settings belong to never sees `kube-system`: a ClusterAdmissionPolicy's selector says
/// `kubernetes.io/metadata.name NotIn [kube-system, …]`, or an AdmissionPolicy stands in another namespace.
pub(super) fn leaves_out_kube_system(found: &Found) -> bool {
    let Some(policy) = &found.policy else { return false };
    let policy: Value = serde_json::from_str(policy.manifest.get()).unwrap_or_default();
    if text(&policy, "/kind") == Some("AdmissionPolicy") {
        return text(&policy, "/metadata/namespace") != Some("kube-system");
    }
    let expressions = policy.pointer("/spec/namespaceSelector/matchExpressions").and_then(Value::as_array);
    expressions.into_iter().flatten().any(|expression| {
        let values = expression.get("values").and_then(Value::as_array);
        let is_named = values.into_iter().flatten().any(|value| value == "kube-system");
        text(expression, "/key") == Some("kubernetes.io/metadata.name")
            && match text(expression, "/operator") {
                Some("NotIn") => is_named,
                Some("In") => !is_named,
                _ => false,
            }
    })
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}
