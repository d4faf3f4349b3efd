//! What the manifest of a policy says beside its settings, and doesn't fit them.

use std::collections::{BTreeMap, BTreeSet};

use image_admission_engine::{ReadKind, kinds_read, reads_labels};
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::{
    KEYS, Lint as Remark, LintFix, LintRule, ResourceRule, Settings, lint_namespaced_rules,
};
use image_admission_untrusted::message::nearest;
use serde_json::{Map, Value, json};

use super::{group, namespaced};
use image_admission_manifests::settings::{Found, FoundPolicy};

/// Where a manifest says which requests the API server sends.
const RULES: &str = "/spec/rules";

/// What is to be remarked of the manifest that settings stand in; nothing where they stand alone. `servers` are the PolicyServers
/// beside it.
pub(super) fn remarks(found: &Found, settings: &Settings, servers: &[Value]) -> Vec<Remark> {
    let Some(found) = &found.policy else { return Vec::new() };
    let policy: Value = serde_json::from_str(found.manifest.get()).unwrap_or_default();
    let mut remarks = misplaced(found, &policy);
    if found.is_of_namespace() {
        remarks.extend(namespaced::remarks(found, &policy, settings, servers));
    } else if policy.pointer(RULES).is_some() {
        remarks.extend(missing_kinds(found, &policy, settings));
    }
    if let Some(rules) = rules(&policy) {
        remarks.extend(settings.lint_rules(&rules));
        if found.is_of_namespace() {
            remarks.extend(lint_namespaced_rules(&rules));
        }
    }
    remarks.extend(match &found.member {
        Some(_) => group::remarks(&policy, settings),
        None => changes(&policy, settings),
    });
    #[cfg(not(target_family = "wasm"))]
    remarks.extend(found.member.iter().flat_map(|member| group::expression::remarks(member, &policy)));
    let mode = text(&policy, "/spec/mode").unwrap_or("protect");
    if mode == "protect" && text(&policy, "/spec/failurePolicy") == Some("Ignore") {
        let message = "while the policy server is down, or takes too long, every image gets in, unseen; write `Fail`, and leave out the namespaces that must start all the same";
        remarks.push(Remark::new(LintRule::FailsOpen, "spec.failurePolicy", message));
    }
    remarks.extend(by_label(&policy));
    remarks
}

/// Settings that stand beside `settings`: they have no effect, unless the API server refuses them.
fn misplaced(found: &FoundPolicy, policy: &Value) -> Vec<Remark> {
    // A policy, or a group of them, has these itself.
    let is_own = |path: &str, key: &str| key == "settings" || path == "spec" && ["message", "policies"].contains(&key);
    let spec = policy.get("spec");
    let mut holders = vec![("spec".to_owned(), spec)];
    if let Some(member) = &found.member {
        let holder = spec.and_then(|spec| spec.get("policies")?.get(member));
        holders.push((format!("spec.policies.{member}"), holder));
    }
    let remark = |path: &str, key: &String| {
        let what = if is_own(path, key) {
            return None;
        } else if KEYS.contains(&key.as_str()) {
            format!("`{key}` is a setting: indent it below `settings`, or it has no effect")
        } else {
            let meant = nearest(key, ["settings"])?;
            format!("a policy has no `{key}`, so it has no effect; did you mean `{meant}`?")
        };
        Some(Remark::new(LintRule::MisplacedSetting, format!("{path}.{key}"), what))
    };
    let beside = holders.iter().flat_map(|(path, holder)| {
        let keys = holder.and_then(Value::as_object).into_iter().flat_map(Map::keys);
        keys.filter_map(move |key| remark(path, key))
    });
    // One indentation too few, or below the wrong key.
    let above = [("metadata", policy.get("metadata")), ("spec", Some(policy))].into_iter().flat_map(|(place, holder)| {
        let keys = holder.and_then(Value::as_object).into_iter().flat_map(Map::keys);
        keys.filter(|key| KEYS.contains(&key.as_str())).map(move |key| {
            let what = format!("`{key}` is a setting, and stands outside of `spec`: indent it below `settings`, or it has no effect");
            Remark::new(LintRule::MisplacedSetting, place, what)
        })
    });
    beside.chain(above).collect()
}

/// What the settings would change in objects, by a policy that may change nothing.
fn changes(policy: &Value, settings: &Settings) -> Vec<Remark> {
    if policy.pointer("/spec/mutating") != Some(&Value::Bool(false)) {
        return Vec::new();
    }
    let what_to_do = "the policy server rejects what a policy that isn't mutating would change";
    let of_pins = settings.may_pin().then(|| {
        format!(
            "images are to be pinned, and {what_to_do}; write `true`, or `pin: {{enabled: false}}` into the settings"
        )
    });
    let patching = settings.patching_policies();
    let of_patches = (!patching.is_empty()).then(|| {
        format!("{} has a patch, and {what_to_do}; write `true`, or leave the patch out", patching.join(", "))
    });
    let remark = |message| Remark::new(LintRule::NotMutating, "spec.mutating", message);
    of_pins.into_iter().chain(of_patches).map(remark).collect()
}

/// Objects that the API server chooses by what whoever writes them may change later.
fn by_label(policy: &Value) -> Vec<Remark> {
    let message = "the author of an object can change its labels and annotations later, and an update without a new image isn't judged, so an object can avoid being judged; select namespaces instead, by `namespaceSelector`";
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

/// Whether the manifest is only a patch of one: a policy has rules. What a patch leaves out, the manifest under it may have.
pub(super) fn is_patch(found: &Found) -> bool {
    let Some(found) = &found.policy else { return false };
    serde_json::from_str(found.manifest.get()).is_ok_and(|policy: Value| policy.pointer(RULES).is_none())
}

/// Whether the policy that settings belong to is asked about `kube-system`. Settings alone, and patches of a policy, leave that to others,
/// and a policy of one namespace is there because somebody wants it there.
pub(super) fn sees_kube_system(found: &Found) -> bool {
    let policy = found.policy.as_ref().filter(|policy| !policy.is_of_namespace());
    !is_patch(found) && policy.is_some_and(|policy| policy.leaves_out("kube-system").is_none())
}

/// Which requests the API server sends; none where the manifest doesn't say it.
fn rules(policy: &Value) -> Option<Vec<ResourceRule>> {
    let rules = policy.pointer(RULES)?.as_array()?;
    let texts = |rule: &Value, key: &str| {
        let list = rule.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let is_workload = |resource: &String| {
        let resource = resource.split('/').next();
        WorkloadKind::ALL.iter().any(|kind| resource == Some(kind.resource()))
    };
    let read = |rule: &Value| {
        let mut resources: Vec<String> = texts(rule, "resources");
        // It means what is in no namespace, so it sends no workload.
        if rule.get("scope").and_then(Value::as_str) == Some("Cluster") {
            resources.retain(|resource| !is_workload(resource));
        }
        ResourceRule {
            groups: texts(rule, "apiGroups"),
            versions: texts(rule, "apiVersions"),
            operations: texts(rule, "operations"),
            resources,
            names: Vec::new(),
        }
    };
    Some(rules.iter().map(read).collect())
}

/// The kinds that the settings have read and the manifest of a policy of the cluster doesn't grant.
fn missing_kinds(found: &FoundPolicy, policy: &Value, settings: &Settings) -> Vec<Remark> {
    let holder = found.member.as_ref().map_or_else(|| "spec".to_owned(), |member| format!("spec.policies.{member}"));
    let path = format!("{holder}.contextAwareResources");
    let listed = policy.pointer(&format!("/{}", path.replace('.', "/"))).and_then(Value::as_array);
    let granted: BTreeSet<(&str, &str)> = listed
        .into_iter()
        .flatten()
        .filter_map(|entry| Some((text(entry, "/apiVersion")?, text(entry, "/kind")?)))
        .collect();
    let missing = kinds_read(settings)
        .into_iter()
        .filter(|read| !granted.contains(&(read.api_version.as_str(), read.kind.as_str())));
    let remark = |(setting, kinds): (String, Vec<ReadKind>)| {
        let names = names(&kinds);
        let message = if kinds.iter().all(ReadKind::only_spares_lists) {
            format!(
                "an image that was never scanned takes a list of all reports: `{setting}` reads {names}, which isn't granted; add it"
            )
        } else {
            format!(
                "look-ups of `{setting}` fail, and reject: it reads {names}, which isn't granted; add what is missing"
            )
        };
        let entries =
            kinds.into_iter().map(|read| vec![("apiVersion", json!(read.api_version)), ("kind", json!(read.kind))]);
        let fix = LintFix::Append { path: path.clone(), entries: entries.collect() };
        Remark::new(LintRule::MissingKind, path.clone(), message).fixed_by(Some(fix))
    };
    by_setting(missing).into_iter().map(remark).collect()
}

/// Kinds by the settings that have them read.
pub(super) fn by_setting(kinds: impl Iterator<Item = ReadKind>) -> BTreeMap<String, Vec<ReadKind>> {
    let mut settings: BTreeMap<String, Vec<ReadKind>> = BTreeMap::new();
    for read in kinds {
        settings.entry(read.path.clone()).or_default().push(read);
    }
    settings
}

/// `` `{apiVersion: v1, kind: Secret}` and … ``
pub(super) fn names(kinds: &[ReadKind]) -> String {
    let names: Vec<String> = kinds
        .iter()
        .map(|ReadKind { api_version, kind, .. }| format!("`{{apiVersion: {api_version}, kind: {kind}}}`"))
        .collect();
    names.join(" and ")
}

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}
