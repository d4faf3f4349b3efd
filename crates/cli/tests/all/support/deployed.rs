//! What must hold of everything that is deployed, whoever put it together.

use super::asked::asked;
use super::kubewarden::{Kind, PolicySpec, Resource};
use super::rendered::{Rendered, Rights};
use image_admission_engine::check_settings;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Settings that the policy server takes without a remark in its log.
#[track_caller]
pub(crate) fn is_valid_without_a_notice(settings: &Value) {
    match check_settings(settings) {
        Ok(settings) => assert!(settings.notices().is_empty(), "{:?}", settings.notices()),
        Err(problems) => panic!("{problems:?} in {settings:#}"),
    }
}

/// The second policy is the first one, but for what makes it validating.
#[track_caller]
pub(crate) fn is_twin(first: &Resource<PolicySpec>, second: &Resource<PolicySpec>) {
    assert!(second.metadata.name > first.metadata.name, "names are listed and called in their order");
    assert!(first.spec.mutating);
    assert!(!second.spec.mutating);
    assert_eq!(second.spec.settings["pin"], json!({"enabled": false}), "it may not change anything");
    assert_eq!(first.spec.settings.get("pin"), None);
    let mut same = second.spec.clone();
    same.mutating = true;
    same.background_audit = first.spec.background_audit;
    same.settings.as_object_mut().unwrap().remove("pin");
    assert_eq!(json!(same), json!(first.spec));
}

/// What is asked with these settings is granted, in these namespaces and kinds and with these verbs alone.
#[track_caller]
pub(crate) fn is_granted_exactly(settings: &Value, spec: &PolicySpec, granted: &[Rights], of: &str) {
    let asked = asked(settings);
    let listed: BTreeSet<Kind> = spec.context_aware_resources.clone().unwrap().into_iter().collect();
    let kinds: BTreeSet<Kind> = asked.iter().map(|asked| asked.kind.clone()).collect();
    assert_eq!(kinds, listed, "{of}: contextAwareResources are the kinds that are asked for");
    for asked in &asked {
        assert!(granted.iter().any(|rights| rights.allow(asked)), "{of}: {asked:?} is not granted");
    }
    let resources: BTreeSet<(String, String)> = kinds.iter().map(Rights::resource).collect();
    let all: BTreeSet<(String, String)> = granted.iter().flat_map(Rights::resources).collect();
    assert_eq!(all, resources, "{of}");
    // Where nothing is listed, no verb but `get` is needed; where anything is, all three are, by the host's watches.
    let is_listed: BTreeSet<&Kind> = asked.iter().filter(|asked| asked.is_list).map(|asked| &asked.kind).collect();
    let groups: BTreeSet<String> = is_listed.iter().map(|kind| Rights::resource(kind).0).collect();
    for rule in granted.iter().flat_map(|rights| &rights.rules) {
        let lists = rule.api_groups.iter().flatten().any(|group| groups.contains(group));
        let verbs: &[&str] = if lists { &["get", "list", "watch"] } else { &["get"] };
        assert_eq!(rule.verbs, verbs, "{of}: {rule:?}");
    }
}

/// Without `list` or `watch` a call hangs: a policy that is there before its rights blocks its server.
#[track_caller]
pub(crate) fn grants_first(rendered: &Rendered) {
    let place = |is_it: fn(&str) -> bool| {
        let kinds = rendered.objects.iter().map(|object| object["kind"].as_str().unwrap());
        kinds.enumerate().filter(move |(_, kind)| is_it(kind)).map(|(place, _)| place)
    };
    let last_right = place(|kind| kind.contains("Role")).max();
    let first_own = place(|kind| kind == "ClusterAdmissionPolicy" || kind == "PolicyServer").min();
    assert!(last_right < first_own, "{last_right:?} and {first_own:?}");
}
