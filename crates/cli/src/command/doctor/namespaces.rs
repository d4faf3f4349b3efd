//! Which namespaces each policy leaves out, and by what.

use std::collections::{BTreeMap, BTreeSet};

use image_admission_manifests::label_selector::{Label, excludes};
use image_admission_manifests::settings::NAME_LABEL;
use serde_json::{Value, json};

use super::cluster::{list, text};
use super::finding::{About, Check, Finding, Status};
use super::settings::{is_of_selectors, remarks};
use super::world::{NAMESPACE, Policy, World};

/// How many names a line has.
const SHOWN: usize = 10;

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    world.policies.iter().flat_map(|policy| of_policy(world, policy)).collect()
}

fn of_policy(world: &World<'_>, policy: &Policy) -> Vec<Finding> {
    let mut about = About::new(Check::Namespaces, &policy.title);
    for remark in remarks(world, policy).iter().filter(|remark| is_of_selectors(remark)) {
        about.add(Status::Warn, remark.to_string());
    }
    if policy.is_of_namespace() {
        return about.or_ok("it is about its own namespace alone");
    }
    let listed = world.list(NAMESPACE, None, &[]);
    let namespaces: BTreeMap<&str, &Value> = match &*listed {
        Ok(all) => all.iter().map(|own| (text(own, "/metadata/name"), own)).collect(),
        Err(why) => return about.only(Status::Unknown, why.clone()),
    };
    let selector = selector(world, policy);
    let by_name =
        |name: &str| excludes(&selector, |key| if key == NAME_LABEL { Label::Is(name) } else { Label::Unknown });
    let by_label = |name: &str, namespace: &Value| {
        let labels = namespace.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
        excludes(&selector, |key| match label(key) {
            _ if key == NAME_LABEL => Label::Is(name),
            Some(value) => Label::Is(value),
            None => Label::Missing,
        })
    };
    let named: Vec<&str> = namespaces.keys().copied().filter(|name| by_name(name)).collect();
    let labelled: Vec<&str> =
        namespaces.iter().filter(|(name, own)| !by_name(name) && by_label(name, own)).map(|(name, _)| *name).collect();
    let judged = namespaces.len().saturating_sub(named.len() + labelled.len());
    if judged == 0 {
        about.add(Status::Fail, "its `namespaceSelector` leaves out every namespace");
    } else if !labelled.is_empty() {
        let message = format!("labels leave out {}: whoever may label a namespace takes it out", shown(&labelled));
        about.add(Status::Warn, message);
    }
    let missing: Vec<&str> = unwanted(&selector).into_iter().filter(|name| !namespaces.contains_key(name)).collect();
    if !missing.is_empty() {
        let message =
            format!("it leaves out {}, which nobody has: whoever creates it may run anything there", shown(&missing));
        about.add(Status::Warn, message);
    }
    let conditions = list(&policy.manifest, "/spec/matchConditions").iter();
    let conditions: Vec<&str> = conditions.map(|condition| text(condition, "/name")).collect();
    let more = if conditions.is_empty() {
        String::new()
    } else {
        format!(", and what {} of `matchConditions` leaves out", shown(&conditions))
    };
    let left = if named.is_empty() { "none".to_owned() } else { shown(&named) };
    about.or_ok(format!("it judges {judged} of {} namespaces; left out: {left}{more}", namespaces.len()))
}

/// The selector that the API server has, or where no webhook is known what Kubewarden's controller makes of the policy's: it adds its own
/// namespace, and drops `matchLabels`.
fn selector(world: &World<'_>, policy: &Policy) -> Value {
    let configurations = world.webhooks(policy).unwrap_or_default();
    let kind = policy.webhook_kind();
    let webhook = configurations.iter().find(|(own, _)| *own == kind).and_then(|(_, own)| own.pointer("/webhooks/0"));
    if let Some(webhook) = webhook {
        return webhook.get("namespaceSelector").cloned().unwrap_or_default();
    }
    let own = json!({"key": NAME_LABEL, "operator": "NotIn", "values": [world.kubewarden]});
    let written = list(&policy.manifest, "/spec/namespaceSelector/matchExpressions").iter().cloned();
    let expressions: Vec<Value> = std::iter::once(own).chain(written).collect();
    json!({"matchExpressions": expressions})
}

/// The namespaces that a selector leaves out by their names.
fn unwanted(selector: &Value) -> BTreeSet<&str> {
    let expressions = list(selector, "/matchExpressions").iter();
    let by_name = expressions.filter(|own| text(own, "/key") == NAME_LABEL && text(own, "/operator") == "NotIn");
    by_name.flat_map(|own| list(own, "/values")).filter_map(Value::as_str).collect()
}

/// `` `kube-system`, `kubewarden` and 3 more ``
fn shown(names: &[&str]) -> String {
    let first: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    if more == 0 { first.join(", ") } else { format!("{} and {more} more", first.join(", ")) }
}
