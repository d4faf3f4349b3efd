//! The manifests of `deploy/`, as kustomize puts them together: that the API server would take them as they are, that the
//! policies say one thing, and that what the engine asks of the cluster with their settings is what they grant.

use crate::lint::NO_FINDINGS;
use crate::support::asked::{answer, asked, digest, index_digest, pod};
use crate::support::deployed::{grants_first, is_granted_exactly, is_twin, is_valid_without_a_notice};
use crate::support::kubewarden::{FailurePolicy, Kind, Mode, PolicySpec, Resource};
use crate::support::rendered::{Rendered, Rights};
use crate::support::transcripts::image_admission;
use crate::support::{copy_all, kubectl, markdown, root};
use image_admission_engine::check_settings;
use image_admission_settings::ExemptionObject;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const POLICY: &str = "image-admission";
const VALIDATING: &str = "image-admission-validating";

/// Each reads other kinds.
const SOURCES: [&str; 5] =
    ["sources/sbomscanner", "sources/trivy-operator", "sources/kubescape", "sources/custom", "sources/none"];

/// What overlays may add beside a source of reports and the two below. Their heads have the settings that they go with.
const BESIDE: [&str; 6] =
    ["keys", "context", "known-exploited", "running", "sboms-sbomscanner", "sboms-trivy-operator"];

/// What the companion has, whose rights companion_bounds.rs looks at.
const COMPANION: [&str; 5] =
    ["companion", "companion-evidence", "companion-sbomscanner", "companion-scan-job", "companion-trivy-operator"];

// === overlays ===

fn text(file: &str) -> String {
    let path = root().join("deploy").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn document(file: &str) -> Value {
    yaml_serde::from_str(&text(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// What an overlay of the base is rendered to that has these components and nothing else. None where `kubectl` is missing.
#[track_caller]
pub(crate) fn overlay(components: &[&str]) -> Option<Rendered> {
    overlay_with(components, "")
}

/// The same, with more in its `kustomization.yaml`.
#[track_caller]
fn overlay_with(components: &[&str], more: &str) -> Option<Rendered> {
    let folder = TempDir::new().unwrap();
    copy_all(&root().join("deploy"), &folder.path().join("deploy"));
    let components: Vec<String> = components.iter().map(|name| format!("../deploy/{name}")).collect();
    let overlay = folder.path().join("overlay");
    fs::create_dir(&overlay).unwrap();
    let text = format!("resources: [../deploy]\ncomponents: {}\n{more}", json!(components));
    fs::write(overlay.join("kustomization.yaml"), text).unwrap();
    Rendered::of(&overlay)
}

/// Every overlay: each source, enforced and not, with and without what comes beside it, by its components.
fn all() -> Vec<Vec<&'static str>> {
    let mut all = Vec::new();
    let everything =
        [&BESIDE[..], &COMPANION, &["monitoring", "break-glass", "evidence", "exemptions", "restart"]].concat();
    for source in SOURCES {
        for mode in [&[][..], &["monitor"]] {
            for twin in [&[][..], &["validating"]] {
                for beside in [&[][..], everything.as_slice()] {
                    // Where nobody scans there is nothing to exempt, and nobody to ask.
                    let needs_reports = |name: &&str| *name == "exemptions" || COMPANION.contains(name);
                    let is_of_use = |name: &&str| source != "sources/none" || !needs_reports(name);
                    let beside: Vec<&str> = beside.iter().copied().filter(is_of_use).collect();
                    all.push([&[source][..], mode, twin, &beside].concat());
                }
            }
        }
    }
    all
}

/// The settings that a component says in its head that it goes with.
fn settings_in_head(component: &str) -> Value {
    let text = text(&format!("{component}/kustomization.yaml"));
    let lines = text.lines().skip_while(|line| *line != "#   settings:").take_while(|line| line.starts_with('#'));
    let yaml: String = lines.map(|line| line.strip_prefix("#   ").unwrap_or_default().to_owned() + "\n").collect();
    let head: Value = yaml_serde::from_str(&yaml).unwrap_or_else(|error| panic!("{component}: {error} in\n{yaml}"));
    head["settings"].clone()
}

fn metadata() -> Value {
    yaml_serde::from_str(&fs::read_to_string(root().join("policy-metadata.yml")).unwrap()).unwrap()
}

// === the policies ===

#[test]
fn every_overlay_is_what_the_api_server_takes() {
    let metadata = metadata();
    let annotation = |key: &str| metadata["annotations"][key].as_str().unwrap().to_owned();
    let (url, version) = (annotation("io.kubewarden.policy.ociUrl"), annotation("io.kubewarden.policy.version"));
    for components in all() {
        let Some(rendered) = overlay(&components) else { return };
        let server = rendered.server();
        assert!(server.spec.replicas >= 2, "with one replica a drained node stops the cluster");
        let policies = rendered.policies();
        assert_eq!(policies.len(), if components.contains(&"validating") { 2 } else { 1 }, "{components:?}");
        for policy in policies {
            let spec = &policy.spec;
            is_valid_without_a_notice(&spec.settings);
            let registries = spec.settings["registries"].as_array().unwrap();
            assert!(!registries.is_empty(), "{components:?}: an empty list is any registry");
            assert_eq!(spec.policy_server, server.metadata.name);
            assert_eq!(json!(spec.rules), metadata["rules"]);
            assert_eq!(spec.module, format!("registry://{url}:v{version}"));
            for (key, value) in policy.metadata.annotations.as_ref().unwrap() {
                assert_eq!(*value, annotation(key), "{components:?}: {key}");
            }
            // The CRD takes 2 to 30 of both, and the controller no evaluation that is longer than the webhook waits.
            let (evaluation, webhook) = (spec.timeout_eval_seconds.unwrap(), spec.timeout_seconds.unwrap());
            assert!((2..=30).contains(&evaluation) && (2..=30).contains(&webhook));
            assert!(evaluation < webhook, "the policy's own answer comes before the webhook gives up");
            let (mode, failure_policy) = match components.contains(&"monitor") {
                true => (Mode::Monitor, FailurePolicy::Ignore),
                false => (Mode::Protect, FailurePolicy::Fail),
            };
            assert_eq!((spec.mode, spec.failure_policy), (Some(mode), Some(failure_policy)), "{components:?}");
        }
    }
}

#[test]
fn every_overlay_means_what_it_says() {
    for components in all() {
        let Some(rendered) = overlay(&components) else { return };
        let objects: Vec<String> = rendered.objects.iter().map(Value::to_string).collect();
        let outcome = image_admission(&root(), &["lint", "-"], objects.join("\n").as_bytes());
        assert_eq!(
            (outcome.code, outcome.output.as_str(), outcome.errors.as_str()),
            (0, NO_FINDINGS, ""),
            "{components:?}"
        );
    }
}

/// Who forgets the source is told, and nothing is let in meanwhile.
#[test]
fn the_base_alone_is_refused() {
    let Some(rendered) = overlay(&[]) else { return };
    let problems = check_settings(&rendered.policy(POLICY).spec.settings).unwrap_err().to_string();
    assert!(problems.starts_with("reports.sources: without a source no image has a report"), "{problems}");
}

#[test]
fn monitoring_is_the_policy_but_for_what_lets_everything_in() {
    for source in SOURCES {
        let (Some(enforced), Some(monitor)) =
            (overlay(&[source, "validating"]), overlay(&[source, "validating", "monitor"]))
        else {
            return;
        };
        for (enforced, monitor) in enforced.policies().iter().zip(monitor.policies()) {
            assert_eq!(monitor.metadata.name, enforced.metadata.name, "applying the one replaces the other");
            let mut same = monitor.spec;
            (same.mode, same.failure_policy) = (enforced.spec.mode, enforced.spec.failure_policy);
            assert_eq!(json!(same), json!(enforced.spec));
        }
    }
}

#[test]
fn the_validating_policy_is_the_first_one_but_for_what_makes_it_validating() {
    for components in all().iter().filter(|components| components.contains(&"validating")) {
        let Some(rendered) = overlay(components) else { return };
        is_twin(&rendered.policy(POLICY), &rendered.policy(VALIDATING));
    }
}

/// What comes before it is copied, and what comes after it is about both.
#[test]
fn the_order_of_components_does_not_matter() {
    let own = "patches:\n  - target: {kind: ClusterAdmissionPolicy, name: image-admission.*}\n    patch: |-\n      \
               - {op: replace, path: /spec/settings/registries, value: [registry.example.com]}\n";
    let components = ["sources/sbomscanner", "validating", "monitor", "keys"];
    let Some(expected) = overlay_with(&components, own) else { return };
    assert_eq!(expected.policy(VALIDATING).spec.settings["registries"], json!(["registry.example.com"]));
    is_twin(&expected.policy(POLICY), &expected.policy(VALIDATING));
    for turn in 1..components.len() {
        let mut turned = components;
        turned.rotate_left(turn);
        // The kinds have no order, and stand in that of their components.
        let policies = |rendered: &Rendered| -> Vec<Value> {
            let sorted = |mut policy: Resource<PolicySpec>| {
                policy.spec.context_aware_resources.as_mut().unwrap().sort();
                json!(policy)
            };
            rendered.policies().into_iter().map(sorted).collect()
        };
        assert_eq!(policies(&overlay_with(&turned, own).unwrap()), policies(&expected), "{turned:?}");
    }
}

/// Two sources are asked in their order, and both are granted.
#[test]
fn sources_add_up() {
    let Some(rendered) = overlay(&["sources/kubescape", "sources/sbomscanner"]) else { return };
    let spec = rendered.policy(POLICY).spec;
    let sources: Vec<&String> = spec.settings["reports"]["sources"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|source| source.as_object().unwrap().keys())
        .collect();
    assert_eq!(sources, ["kubescape", "sbomscanner"]);
    is_granted_exactly(&spec.settings, &spec, &rendered.granted(), "two sources");
}

/// Kubewarden's audit scanner asks about what exists by rules that have CREATE. It gives up a policy at the first pair of a
/// group and a resource that the cluster doesn't know, and it knows no subresources.
#[test]
fn the_audit_scanner_finds_every_rule() {
    let kinds = [
        ("", ["pods", "replicationcontrollers"].as_slice()),
        ("apps", &["deployments", "replicasets", "statefulsets", "daemonsets"]),
        ("batch", &["jobs", "cronjobs"]),
    ];
    for rule in metadata()["rules"].as_array().unwrap() {
        let list = |key: &str| -> Vec<String> { serde_json::from_value(rule[key].clone()).unwrap() };
        if !list("operations").contains(&"CREATE".to_owned()) {
            continue;
        }
        for group in list("apiGroups") {
            let known = kinds.iter().find(|(name, _)| *name == group).unwrap().1;
            for resource in list("resources") {
                assert!(known.contains(&resource.as_str()), "`{resource}` of `{group}`");
            }
        }
    }
}

#[test]
fn namespaces_that_judging_needs_are_left_out() {
    let policy: Resource<PolicySpec> = serde_json::from_value(document("cluster-admission-policy.yaml")).unwrap();
    let selector = policy.spec.namespace_selector.unwrap();
    assert_eq!(selector.match_labels, None, "the controller drops labels");
    let expressions = selector.match_expressions.unwrap();
    assert_eq!(expressions.len(), 1);
    // Nobody else can set this label.
    assert_eq!(
        (expressions[0].key.as_str(), expressions[0].operator.as_str()),
        ("kubernetes.io/metadata.name", "NotIn")
    );
    let left_out = expressions[0].values.as_ref().unwrap();
    // No other: one that doesn't exist is left out for whoever creates it.
    assert_eq!(*left_out, ["kube-system", "kubewarden"]);
}

// === rights ===

#[test]
fn every_source_grants_what_its_settings_ask_for_and_nothing_else() {
    for source in SOURCES {
        let Some(rendered) = overlay(&[source]) else { return };
        let spec = rendered.policy(POLICY).spec;
        is_granted_exactly(&spec.settings, &spec, &rendered.granted(), source);
    }
}

#[test]
fn what_comes_beside_a_source_grants_what_its_settings_ask_for_and_nothing_else() {
    for component in BESIDE {
        // A list is asked for where a report has findings, and what runs where they have dates.
        let source = match component {
            "known-exploited" => "sources/sbomscanner",
            "running" | "sboms-trivy-operator" => "sources/trivy-operator",
            // What an image is made of is asked where its report lets it in.
            "sboms-sbomscanner" => "sources/sbomscanner",
            _ => "sources/none",
        };
        let Some(rendered) = overlay(&[source, component]) else { return };
        let spec = rendered.policy(POLICY).spec;
        let mut settings = spec.settings.clone();
        for (key, value) in settings_in_head(component).as_object().unwrap() {
            match (settings.get_mut(key).and_then(Value::as_object_mut), value.as_object()) {
                (Some(own), Some(more)) => own.extend(more.clone()),
                _ => settings[key] = value.clone(),
            }
        }
        // Pre-scan accepts everything that may run.
        for policy in settings.get_mut("imageVerification").and_then(Value::as_array_mut).into_iter().flatten() {
            policy["verifyPreScanAccepted"] = json!(true);
        }
        is_valid_without_a_notice(&settings);
        is_granted_exactly(&settings, &spec, &rendered.granted(), component);
    }
}

/// Who may write exemptions is nobody until somebody is bound; what the policy server reads it may read.
#[test]
fn exemptions_grant_what_their_settings_ask_for_and_nothing_else() {
    let Some(mut rendered) = overlay(&["sources/sbomscanner", "exemptions"]) else { return };
    let is_writer = |object: &Value| object["metadata"]["name"] == "image-admission-exempt";
    let writer = rendered.objects.iter().find(|object| is_writer(object)).unwrap();
    assert_eq!(writer["kind"], "ClusterRole");
    assert_eq!(writer["metadata"].get("labels"), None, "it is added to no role that people have already");
    rendered.objects.retain(|object| !is_writer(object));
    let spec = rendered.policy(POLICY).spec;
    is_granted_exactly(&spec.settings, &spec, &rendered.granted(), "exemptions");
}

/// Nobody is given a right to write evidence; what the policy server reads it may read.
#[test]
fn evidence_grants_what_its_settings_ask_for_and_nothing_else() {
    let Some(rendered) = overlay(&["sources/sbomscanner", "evidence"]) else { return };
    let spec = rendered.policy(POLICY).spec;
    let mut settings = spec.settings.clone();
    assert_eq!(settings["evidence"]["fromCluster"], true);
    // Evidence is asked for where a signature is.
    settings["imageVerification"] = json!([{
        "name": "signed",
        "verifyPreScanAccepted": true,
        "attestors": [{"name": "team", "cosign": {"keyless": {"githubActions": {"owner": "team"}}}}],
        "verifications": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}],
    }]);
    is_granted_exactly(&settings, &spec, &rendered.granted(), "evidence");
}

/// The API server keeps what the policy reads, under the same names.
#[test]
fn the_kind_of_exemptions_is_the_one_that_is_read() {
    let crd = document("exemptions/crd.yaml");
    let (group, version) = ExemptionObject::API_VERSION.split_once('/').unwrap();
    let names = &crd["spec"]["names"];
    assert_eq!((&crd["spec"]["group"], &names["kind"]), (&json!(group), &json!(ExemptionObject::KIND)));
    assert_eq!(crd["metadata"]["name"], format!("{}.{group}", names["plural"].as_str().unwrap()));
    assert_eq!(crd["spec"]["scope"], "Namespaced");
    let [only] = crd["spec"]["versions"].as_array().unwrap().as_slice() else { panic!("one version") };
    assert_eq!((&only["name"], &only["served"], &only["storage"]), (&json!(version), &json!(true), &json!(true)));
    assert_eq!(only.get("subresources"), None, "it has no status");
    let schema = &only["schema"]["openAPIV3Schema"];
    assert_eq!(schema["required"], json!(["spec"]));
    let spec = &schema["properties"]["spec"];
    let settings: Value =
        serde_json::from_str(&fs::read_to_string(root().join("settings.schema.json")).unwrap()).unwrap();
    let own = &settings["properties"]["exemptions"]["items"];
    let keys = |of: &Value| -> BTreeSet<String> { of.as_object().unwrap().keys().cloned().collect() };
    let mut expected = keys(&own["properties"]);
    expected.insert("approvedBy".to_owned());
    assert_eq!(keys(&spec["properties"]), expected);
    let required = |of: &Value| -> BTreeSet<String> { serde_json::from_value(of["required"].clone()).unwrap() };
    assert_eq!(required(spec), required(own));
    // Without bounds the API server refuses rules, and nothing bounds what a request reads.
    for (key, property) in spec["properties"].as_object().unwrap() {
        let is_bounded = |of: &Value| of["type"] == "boolean" || of["maxLength"].is_u64();
        let bounded = property["maxItems"].is_u64() && is_bounded(&property["items"]) || is_bounded(property);
        assert!(bounded, "{key} has no bound");
    }
    for column in only["additionalPrinterColumns"].as_array().unwrap() {
        let path = column["jsonPath"].as_str().unwrap();
        let known = path.strip_prefix(".spec.").is_none_or(|key| spec["properties"].get(key).is_some());
        assert!(known, "{path}");
    }
}

/// The API server keeps what `evidence pull` writes, and it is asked for by name alone.
#[test]
fn the_kind_of_evidence_is_the_one_that_is_written() {
    let crd = document("evidence/crd.yaml");
    assert_eq!(
        (&crd["spec"]["group"], &crd["spec"]["names"]["kind"]),
        (&json!("image-admission.kubewarden.io"), &json!("ImageEvidence"))
    );
    assert_eq!(crd["metadata"]["name"], "imageevidences.image-admission.kubewarden.io");
    assert_eq!((&crd["spec"]["names"]["plural"], &crd["spec"]["scope"]), (&json!("imageevidences"), &json!("Cluster")));
    let [only] = crd["spec"]["versions"].as_array().unwrap().as_slice() else { panic!("one version") };
    assert_eq!((&only["name"], &only["served"], &only["storage"]), (&json!("v1alpha1"), &json!(true), &json!(true)));
    let schema = &only["schema"]["openAPIV3Schema"];
    assert!(schema["x-kubernetes-validations"][0]["rule"].as_str().unwrap().contains("'^sha256-[0-9a-f]{64}$'"));
    let list = &schema["properties"]["spec"]["properties"]["evidence"];
    assert_eq!(list["maxItems"], 16);
    let piece = &list["items"];
    assert_eq!(piece["required"], json!(["mediaType", "data"]));
    assert_eq!(piece["properties"]["data"]["maxLength"], (1_usize << 20).div_ceil(3) * 4, "1 MiB in base64");
    assert!(piece["properties"]["mediaType"]["maxLength"].is_u64());
    let Some(rendered) = overlay(&["sources/kubescape", "evidence"]) else { return };
    let kind =
        Kind { api_version: "image-admission.kubewarden.io/v1alpha1".to_owned(), kind: "ImageEvidence".to_owned() };
    assert!(rendered.policy(POLICY).spec.context_aware_resources.unwrap().contains(&kind));
    let rights = Rights::resource(&kind);
    let rules = rendered
        .granted()
        .into_iter()
        .flat_map(|rights| rights.rules)
        .filter(|rule| rule.resources.iter().flatten().any(|resource| *resource == rights.1));
    let [rule] = <[_; 1]>::try_from(rules.collect::<Vec<_>>()).unwrap();
    assert_eq!((rule.verbs, rule.api_groups), (vec!["get".to_owned()], Some(vec![rights.0])));
}

#[test]
fn rights_are_applied_before_what_needs_them() {
    for components in all() {
        let Some(rendered) = overlay(&components) else { return };
        grants_first(&rendered);
    }
}

/// What isn't in the metadata, `kwctl` and whoever looks at the policy are not told of, exemptions among it. Which kinds `custom`, `keys` and
/// `context` are about is for whoever uses them to say.
#[test]
fn the_metadata_lists_the_kinds_of_every_source() {
    let mut asked = BTreeSet::new();
    for source in SOURCES.into_iter().filter(|source| *source != "sources/custom") {
        let Some(rendered) = overlay(&[source]) else { return };
        asked.extend(rendered.policy(POLICY).spec.context_aware_resources.unwrap());
    }
    for more in [
        ["sources/kubescape", "exemptions"],
        ["sources/kubescape", "evidence"],
        ["sources/sbomscanner", "sboms-sbomscanner"],
        ["sources/trivy-operator", "sboms-trivy-operator"],
    ] {
        let Some(rendered) = overlay(&more) else { return };
        asked.extend(rendered.policy(POLICY).spec.context_aware_resources.unwrap());
    }
    let listed: BTreeSet<Kind> = serde_json::from_value(metadata()["contextAwareResources"].clone()).unwrap();
    assert_eq!(asked, listed, "contextAwareResources of policy-metadata.yml");
}

#[test]
fn a_right_that_is_missing_is_seen() {
    let Some(rendered) = overlay(&["sources/sbomscanner"]) else { return };
    let [Rights { namespace, rules }] = <[Rights; 1]>::try_from(rendered.granted()).unwrap();
    let listed = asked(&rendered.policy(POLICY).spec.settings).into_iter().find(|asked| asked.is_list).unwrap();
    let without = |verb: &str| {
        let mut rules = rules.clone();
        rules.iter_mut().for_each(|rule| rule.verbs.retain(|one| one != verb));
        Rights { namespace: namespace.clone(), rules }
    };
    assert!(!without("list").allow(&listed));
    assert!(!without("watch").allow(&listed));
    assert!(without("get").allow(&listed));
    let elsewhere = Rights { namespace: Some("elsewhere".to_owned()), rules: rules.clone() };
    assert!(!elsewhere.allow(&listed));
}

// === both policies, one after the other ===

/// The settings of both policies.
fn both() -> Option<[Value; 2]> {
    let rendered = overlay(&["sources/sbomscanner", "validating"])?;
    Some([POLICY, VALIDATING].map(|name| rendered.policy(name).spec.settings))
}

/// The same, with a scan phase that accepts: the stand-in for a cluster has no reports.
fn accepting() -> Option<[Value; 2]> {
    let mut both = both()?;
    for settings in &mut both {
        settings["scanPolicies"] = json!({"defaultPolicy": "accept"});
    }
    Some(both)
}

#[test]
fn what_the_first_pinned_the_second_leaves_alone() {
    let Some([own, validating]) = accepting() else { return };
    let (first, _) = answer(&pod(&["ghcr.io/team/app:1.0"]), &own);
    assert_eq!(first["accepted"], json!(true), "{first:#}");
    let pinned = &first["mutated_object"];
    assert_eq!(pinned["spec"]["containers"][0]["image"], json!(format!("ghcr.io/team/app:1.0@{}", digest('2'))));
    let (second, _) = answer(pinned, &validating);
    assert_eq!(second["accepted"], json!(true), "{second:#}");
    assert_eq!(second.get("mutated_object").filter(|object| !object.is_null()), None);
}

#[test]
fn what_was_injected_after_the_first_the_second_judges_and_leaves_alone() {
    let Some([own, validating]) = accepting() else { return };
    let (first, _) = answer(&pod(&["ghcr.io/team/app:1.0"]), &own);
    let inject = |image: &str| {
        let mut object = first["mutated_object"].clone();
        object["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "sidecar", "image": image}));
        object
    };
    let (second, _) = answer(&inject("ghcr.io/team/proxy:2.0"), &validating);
    assert_eq!(second["accepted"], json!(true), "{second:#}");
    // The policy server rejects a validating policy that changes an object.
    assert_eq!(second.get("mutated_object").filter(|object| !object.is_null()), None);
    let Some([_, mut settings]) = both() else { return };
    settings["preScanPolicies"] = json!({"customPolicies": [{"prefix": "bad-registry.com/", "action": "reject"}]});
    let (second, _) = answer(&inject("bad-registry.com/proxy:2.0"), &settings);
    assert_eq!(second["accepted"], json!(false));
}

#[test]
fn an_entry_that_accepts_by_tag_doesnt_match_what_is_pinned() {
    let Some([own, validating]) = both() else { return };
    let with = |settings: &Value, prefixes: &[&str]| {
        let mut settings = settings.clone();
        let entries: Vec<Value> = prefixes.iter().map(|prefix| json!({"prefix": prefix, "action": "accept"})).collect();
        settings["preScanPolicies"] = json!({"customPolicies": entries});
        settings
    };
    let by_tag = pod(&["ghcr.io/team/app:1.0"]);
    let pinned = pod(&[&format!("ghcr.io/team/app:1.0@{}", index_digest())]);
    let accepts = |object: &Value, settings: &Value| answer(object, settings).0["accepted"] == json!(true);
    assert!(accepts(&by_tag, &with(&own, &["ghcr.io/team/app:1.0"])));
    assert!(!accepts(&pinned, &with(&validating, &["ghcr.io/team/app:1.0"])));
    assert!(accepts(&pinned, &with(&validating, &["ghcr.io/team/app:", "ghcr.io/team/app@"])));
}

// === the example ===

/// What an overlay of `examples/` is rendered to, with something else written in its `kustomization.yaml`.
fn example(change: impl Fn(&str) -> String) -> Option<Rendered> {
    let folder = TempDir::new().unwrap();
    copy_all(&root().join("deploy"), &folder.path().join("deploy"));
    let example = folder.path().join("examples/overlay-trivy-operator");
    copy_all(&root().join("examples/overlay-trivy-operator"), &example);
    let kustomization = example.join("kustomization.yaml");
    fs::write(&kustomization, change(&fs::read_to_string(&kustomization).unwrap())).unwrap();
    Rendered::of(&example)
}

#[test]
fn the_example_is_the_policy_with_trivy_operator() {
    let enforced = |text: &str| -> String {
        text.lines().filter(|line| !line.contains("/monitor ")).map(|line| line.to_owned() + "\n").collect()
    };
    let (Some(base), Some(monitor), Some(rendered)) =
        (overlay(&["sources/trivy-operator"]), example(str::to_owned), example(enforced))
    else {
        return;
    };
    let (spec, mut own) = (rendered.policy(POLICY).spec, base.policy(POLICY).spec);
    is_valid_without_a_notice(&spec.settings);
    is_granted_exactly(&spec.settings, &spec, &rendered.granted(), "the example");
    let left_out = spec.namespace_selector.clone().unwrap().match_expressions.unwrap().remove(0).values.unwrap();
    assert_eq!(left_out, ["kube-system", "kubewarden", "trivy-system"]);
    own.settings = spec.settings.clone();
    own.namespace_selector = spec.namespace_selector.clone();
    assert_eq!(json!(spec), json!(own), "the rest is the base's");

    let mut watching = monitor.policy(POLICY).spec;
    assert_eq!((watching.mode, watching.failure_policy), (Some(Mode::Monitor), Some(FailurePolicy::Ignore)));
    (watching.mode, watching.failure_policy) = (spec.mode, spec.failure_policy);
    assert_eq!(json!(watching), json!(spec));
}

// === the page ===

/// The folders and files below `deploy/`, by their paths.
fn files() -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![root().join("deploy")]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}

#[test]
fn every_component_is_rendered_and_named() {
    let readme = text("README.md");
    let mut components = BTreeSet::new();
    for path in files() {
        let name = path.strip_prefix(root().join("deploy")).unwrap().to_str().unwrap().to_owned();
        if let Some(component) = name.strip_suffix("/kustomization.yaml") {
            components.insert(component.to_owned());
            assert_eq!(document(&name)["kind"], "Component", "{name}");
        } else if !name.contains('/') && name != "README.md" {
            assert!(readme.contains(&format!("`{name}`")), "deploy/README.md doesn't name {name}");
        }
    }
    // It is a part of `validating`.
    assert!(components.remove("validating/copy"));
    let rendered: BTreeSet<String> = all().concat().into_iter().map(str::to_owned).collect();
    assert_eq!(components, rendered, "every component has its test");
    for component in components {
        assert!(readme.contains(&format!("`{component}`")), "deploy/README.md doesn't name {component}");
    }
}

/// The overlay that the page shows is one.
#[test]
fn the_overlay_of_the_page_renders() {
    let fences = markdown::fences(&text("README.md")).unwrap();
    let folder = TempDir::new().unwrap();
    copy_all(&root().join("deploy"), &folder.path().join("deploy"));
    let overlay = folder.path().join("overlay");
    fs::create_dir(&overlay).unwrap();
    for name in ["kustomization.yaml", "policy.yaml"] {
        let fence = fences.iter().find(|fence| fence.kind == format!("overlay {name}"));
        fs::write(overlay.join(name), &fence.unwrap_or_else(|| panic!("where is {name}?")).text).unwrap();
    }
    let Some(rendered) = Rendered::of(&overlay) else { return };
    for policy in rendered.policies() {
        is_valid_without_a_notice(&policy.spec.settings);
        is_granted_exactly(&policy.spec.settings, &policy.spec, &rendered.granted(), "the page");
    }
}

/// What the page about monitoring has to be patched is patched.
#[test]
fn the_labels_of_the_page_are_those_of_what_is_monitored() {
    let page = fs::read_to_string(root().join("docs/monitoring.md")).unwrap();
    let fences = markdown::fences(&page).unwrap();
    let patches = fences.iter().find(|fence| fence.kind == "overlay monitoring.yaml").unwrap();
    let Some(rendered) = overlay_with(&["sources/none", "monitoring"], &patches.text) else { return };
    let monitored = rendered.objects.iter().filter(|object| object["apiVersion"] == "monitoring.coreos.com/v1");
    let labels: Vec<&Value> = monitored.map(|object| &object["metadata"]["labels"]).collect();
    assert_eq!(labels, [&json!({"release": "kube-prometheus-stack"}); 2]);
}

/// The emergency finds the webhooks by the policies that they are for. The cluster's tests type it.
#[test]
fn the_page_removes_the_webhooks_of_both_policies() {
    let page = fs::read_to_string(root().join("docs/break-glass.md")).unwrap();
    for name in [POLICY, VALIDATING] {
        let condition = format!(".kubewardenPolicyName == \"{name}\"");
        assert!(page.contains(&condition), "docs/break-glass.md doesn't have `{condition}`");
    }
}

/// Who applies the one of docs/releasing.md over this server takes nothing away from it.
#[test]
fn the_server_that_verifies_is_this_one() {
    let page = fs::read_to_string(root().join("docs/releasing.md")).unwrap();
    let (_, rest) = page.split_once("apiVersion: policies.kubewarden.io/v1\nkind: PolicyServer\n").unwrap();
    let (fields, _) = rest.split_once("```").unwrap();
    let mut verifying: Value = yaml_serde::from_str(fields).unwrap();
    let config = verifying["spec"].as_object_mut().unwrap().remove("verificationConfig");
    assert!(config.is_some_and(|name| name.is_string()));
    let own = document("policy-server.yaml");
    assert_eq!((&verifying["metadata"], &verifying["spec"]), (&own["metadata"], &own["spec"]));
}

/// The checks above can fail: a folder that isn't rendered is an error, and no kustomization without objects.
#[test]
fn what_does_not_render_is_an_error() {
    let Some(kubectl) = kubectl::program() else { return };
    let folder = TempDir::new().unwrap();
    for (text, said) in [
        ("resources: [nothing.yaml]\n", "nothing.yaml"),
        ("bases: [.]\n", ""),
        ("patches: [{patch: '- {op: remove, path: /spec}', target: {kind: Pod}}]\nresource: []\n", "unknown field"),
    ] {
        fs::write(folder.path().join("kustomization.yaml"), text).unwrap();
        let error = kubectl::kustomize(&kubectl, folder.path()).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}
