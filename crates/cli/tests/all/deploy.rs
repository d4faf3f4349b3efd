//! The manifests of `deploy/`: that the API server would take them as they are, that they say one thing, and that what the
//! engine asks of the cluster with their settings is what they grant.

use crate::support::clock::use_read_clock;
use crate::support::{kubewarden, markdown};
use image_admission_engine::check_settings;
use image_admission_engine::{Timestamp, WireHost, validate};
use image_admission_stub_host::{Call, StubHost, digest_of};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubewarden::{FailurePolicy, Kind, Mode, PolicySpec, Resource, ServerSpec};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const POLICY: &str = "cluster-admission-policy.yaml";
const VALIDATING: &str = "cluster-admission-policy-validating.yaml";
const MONITOR: &str = "monitor.yaml";
const SERVER: &str = "policy-server.yaml";
const POLICIES: [&str; 3] = [POLICY, VALIDATING, MONITOR];

/// What the scanners' manifests have a place for; each is bound to the account of the policy server.
const RIGHTS: [&str; 6] = [
    "rbac/sbomscanner.yaml",
    "rbac/trivy-operator.yaml",
    "rbac/kubescape.yaml",
    "rbac/custom.yaml",
    "rbac/keys.yaml",
    "rbac/context.yaml",
];

/// Another test looks at these: `monitoring.rs`.
const MONITORING: [&str; 3] =
    ["monitoring/service-monitor.yaml", "monitoring/alerts.yaml", "monitoring/grafana-dashboard.json"];

// === reading ===

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn text(file: &str) -> String {
    let path = root().join("deploy").join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents(file: &str) -> Vec<Value> {
    let text = text(file);
    yaml_serde::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap()).collect()
}

#[track_caller]
fn lossless<T: DeserializeOwned + Serialize>(document: &Value) -> T {
    kubewarden::lossless(document).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn policy(file: &str) -> Resource<PolicySpec> {
    let documents = documents(file);
    assert_eq!(documents.len(), 1, "{file}");
    let policy: Resource<PolicySpec> = lossless(&documents[0]);
    assert_eq!(
        (policy.api_version.as_str(), policy.kind.as_str()),
        ("policies.kubewarden.io/v1", "ClusterAdmissionPolicy")
    );
    policy
}

fn name(policy: &Resource<PolicySpec>) -> &str {
    policy.metadata.name.as_deref().unwrap()
}

fn server() -> Resource<ServerSpec> {
    let documents = documents(SERVER);
    assert_eq!(documents.len(), 1);
    let server: Resource<ServerSpec> = lossless(&documents[0]);
    assert_eq!((server.api_version.as_str(), server.kind.as_str()), ("policies.kubewarden.io/v1", "PolicyServer"));
    server
}

fn metadata() -> Value {
    yaml_serde::from_str(&fs::read_to_string(root().join("policy-metadata.yml")).unwrap()).unwrap()
}

/// The part of the policies that a file with rights says it goes with: YAML in the comment at its head.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct GoesWith {
    context_aware_resources: Vec<Kind>,
    settings: Value,
}

fn goes_with(file: &str) -> GoesWith {
    let text = text(file);
    let (_, rest) = text.split_once("# It goes with this in both policies:\n").unwrap_or_else(|| panic!("{file}"));
    let lines = rest.lines().take_while(|line| line.starts_with('#'));
    let yaml: String = lines.map(|line| line.strip_prefix("#   ").unwrap_or_default().to_owned() + "\n").collect();
    yaml_serde::from_str(&yaml).unwrap_or_else(|error| panic!("{file}: {error} in\n{yaml}"))
}

// === rights ===

/// The rules that a file grants to the policy server: of one namespace, or of the whole cluster.
struct Rights {
    namespace: Option<String>,
    rules: Vec<PolicyRule>,
}

fn rights(file: &str) -> Rights {
    let documents = documents(file);
    let [role, binding] = documents.as_slice() else { panic!("{file}: a role and its binding are expected") };
    let (metadata, rules, bound): (ObjectMeta, _, (ObjectMeta, RoleRef, Option<Vec<Subject>>)) =
        match role["kind"].as_str().unwrap() {
            "Role" => {
                let (role, binding): (Role, RoleBinding) = (lossless(role), lossless(binding));
                (role.metadata, role.rules, (binding.metadata, binding.role_ref, binding.subjects))
            }
            "ClusterRole" => {
                let (role, binding): (ClusterRole, ClusterRoleBinding) = (lossless(role), lossless(binding));
                (role.metadata, role.rules, (binding.metadata, binding.role_ref, binding.subjects))
            }
            other => panic!("{file}: `{other}` is no role"),
        };
    let (bound_metadata, reference, subjects) = bound;
    assert_eq!(bound_metadata, metadata, "{file}: the binding has the name and the namespace of the role");
    assert_eq!(reference.api_group, "rbac.authorization.k8s.io", "{file}");
    assert_eq!((Some(reference.kind.as_str()), Some(&reference.name)), (role["kind"].as_str(), metadata.name.as_ref()));
    let subjects: Vec<Subject> = subjects.unwrap();
    assert_eq!(subjects.len(), 1, "{file}");
    assert_eq!(subjects[0].kind, "ServiceAccount");
    assert_eq!(subjects[0].namespace.as_deref(), Some("kubewarden"));
    assert_eq!(Some(subjects[0].name.clone()), server().spec.service_account_name, "{file}: the server's own account");
    Rights { namespace: metadata.namespace, rules: rules.unwrap() }
}

impl Rights {
    /// Whether a call may be made: for a list the host also lists and watches.
    fn allow(&self, asked: &Asked) -> bool {
        let (group, _) = asked.kind.api_version.split_once('/').unwrap_or_default();
        // True for all kinds here.
        let resource = asked.kind.kind.to_lowercase() + "s";
        let verbs: &[&str] = if asked.is_list { &["list", "watch"] } else { &["get"] };
        let of = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|one| one == wanted);
        let is_named = |rule: &PolicyRule| match (&rule.resource_names, &asked.name) {
            (None, _) => true,
            (Some(names), Some(name)) => names.contains(name),
            (Some(_), None) => false,
        };
        self.namespace.as_ref().is_none_or(|own| Some(own) == asked.namespace.as_ref())
            && verbs.iter().all(|verb| {
                self.rules.iter().any(|rule| {
                    of(&rule.api_groups, group)
                        && of(&rule.resources, &resource)
                        && rule.verbs.iter().any(|one| one == verb)
                        && is_named(rule)
                })
            })
    }

    /// What is granted, as kinds would be called.
    fn resources(&self) -> BTreeSet<(String, String)> {
        let pairs = self.rules.iter().flat_map(|rule| {
            let groups = rule.api_groups.iter().flatten();
            groups.flat_map(|group| rule.resources.iter().flatten().map(move |one| (group.clone(), one.clone())))
        });
        pairs.collect()
    }
}

// === what the engine asks ===

/// A call to the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    kind: Kind,
    namespace: Option<String>,
    /// None for a list.
    name: Option<String>,
    is_list: bool,
}

impl Asked {
    fn of(call: &Call) -> Self {
        let field = |key: &str| Some(call.field(key).to_owned()).filter(|text| !text.is_empty());
        let kind = Kind { api_version: field("api_version").unwrap(), kind: field("kind").unwrap() };
        let is_list = call.operation != "get_resource";
        Self { kind, namespace: field("namespace"), name: field("name"), is_list }
    }
}

const KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\n\
    awcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\n\
    -----END PUBLIC KEY-----\n";

fn digest(digit: char) -> String {
    format!("sha256:{}", digit.to_string().repeat(64))
}

/// The index of the only image.
fn index() -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest('2'), "size": 2,
            "platform": {"os": "linux", "architecture": "amd64"}}],
    })
}

fn index_digest() -> String {
    digest_of(&index().to_string())
}

/// A cluster in which everybody signed every image, and no scanner has finished a report.
fn cluster() -> StubHost {
    let digest = json!({"digest": index_digest(), "is_trusted": true}).to_string();
    StubHost::default()
        .says("v1/manifest_digest", digest.as_str())
        .says("v1/oci_manifest", index().to_string())
        .says("v2/verify", digest)
        .answer_with(|call| (call.operation == "get_resource").then(|| object(call)).flatten().map(Ok))
}

/// The object of a name, where there is one: a key of that name, or an image that the scanner knows without a report, for
/// which it looks for the scan that is under way.
fn object(call: &Call) -> Option<Value> {
    let metadata = json!({"name": call.field("name"), "namespace": call.field("namespace")});
    let data = match call.field("kind") {
        "Secret" => base64::Engine::encode(&base64::prelude::BASE64_STANDARD, KEY),
        "ConfigMap" => KEY.to_owned(),
        "Image" => {
            return Some(json!({
                "apiVersion": call.field("api_version"), "kind": "Image", "metadata": metadata,
                "imageMetadata": {"registry": "team", "registryURI": "ghcr.io", "repository": "team/app", "tag": "1.0",
                    "platform": "linux/amd64", "digest": digest('2'), "indexDigest": index_digest()},
            }));
        }
        _ => return None,
    };
    Some(json!({"apiVersion": "v1", "kind": call.field("kind"), "data": {"cosign.pub": data}, "metadata": metadata}))
}

fn pod(images: &[&str]) -> Value {
    let containers: Vec<Value> =
        images.iter().enumerate().map(|(n, image)| json!({"name": format!("c{n}"), "image": image})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app", "namespace": "shop"},
        "spec": {"containers": containers}})
}

/// The policy's answer to the creation of an object, with what it asked of the cluster for that.
fn answer(object: &Value, settings: &Value) -> (Value, BTreeSet<Asked>) {
    use_read_clock();
    let request = json!({
        "uid": "1", "operation": "CREATE", "name": "app", "namespace": "shop",
        "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "someone"}, "object": object,
    });
    let payload = json!({"request": request, "settings": settings}).to_string();
    let host = cluster();
    let now = Timestamp::parse("2026-11-01T00:00:00Z").unwrap();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), now);
    let asked = host.calls().into_iter().filter(|call| call.namespace == "kubernetes").map(|call| Asked::of(&call));
    (serde_json::from_slice(&answer.response).unwrap(), asked.collect())
}

/// The kinds that images by tag and by digest make the policy ask for, in every way of finding a report.
fn asked(settings: &Value) -> BTreeSet<Asked> {
    let by_digest = format!("ghcr.io/team/app@{}", index_digest());
    let mut asked = answer(&pod(&["ghcr.io/team/app:1.0"]), settings).1;
    asked.extend(answer(&pod(&[&by_digest]), settings).1);
    asked
}

// === the policies ===

#[test]
fn the_settings_are_valid_without_a_notice() {
    let of_policies = POLICIES.map(|file| (file, policy(file).spec.settings));
    // What goes with rights is added to the policies' own settings.
    let of_rights = RIGHTS.map(|file| {
        let mut settings = goes_with(file).settings;
        settings["registries"] = policy(POLICY).spec.settings["registries"].clone();
        (file, settings)
    });
    for (file, settings) in of_policies.into_iter().chain(of_rights) {
        match check_settings(&settings) {
            Ok(settings) => assert!(settings.notices().is_empty(), "{file}: {:?}", settings.notices()),
            Err(problems) => panic!("{file}: {problems:?}"),
        }
    }
}

#[test]
fn the_validating_policy_is_the_first_one_but_for_what_makes_it_validating() {
    let (first, second) = (policy(POLICY), policy(VALIDATING));
    assert!(name(&second) > name(&first), "names are listed and called in their order");
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

#[test]
fn monitoring_is_the_policy_but_for_what_lets_everything_in() {
    let (enforced, monitor) = (policy(POLICY), policy(MONITOR));
    assert_eq!(name(&monitor), name(&enforced), "applying the one replaces the other");
    assert_eq!((monitor.spec.mode, monitor.spec.failure_policy), (Some(Mode::Monitor), Some(FailurePolicy::Ignore)));
    let mut same = monitor.spec;
    same.mode = enforced.spec.mode;
    same.failure_policy = enforced.spec.failure_policy;
    assert_eq!(json!(same), json!(enforced.spec));
}

#[test]
fn what_enforces_fails_closed() {
    for file in [POLICY, VALIDATING] {
        let spec = policy(file).spec;
        assert_eq!((spec.mode, spec.failure_policy), (Some(Mode::Protect), Some(FailurePolicy::Fail)), "{file}");
        let registries = spec.settings["registries"].as_array().unwrap();
        assert!(!registries.is_empty(), "{file}: an empty list is any registry");
    }
}

#[test]
fn the_policys_own_answer_comes_before_the_webhook_gives_up() {
    for file in POLICIES {
        let spec = policy(file).spec;
        let (evaluation, webhook) = (spec.timeout_eval_seconds.unwrap(), spec.timeout_seconds.unwrap());
        // The CRD takes 2 to 30 of both, and the controller no evaluation that is longer than the webhook waits.
        assert!((2..=30).contains(&evaluation) && (2..=30).contains(&webhook), "{file}");
        assert!(evaluation < webhook, "{file}");
    }
}

#[test]
fn rules_module_and_annotations_are_those_of_the_metadata() {
    let metadata = metadata();
    let annotation = |key: &str| metadata["annotations"][key].as_str().unwrap().to_owned();
    let (url, version) = (annotation("io.kubewarden.policy.ociUrl"), annotation("io.kubewarden.policy.version"));
    for file in POLICIES {
        let policy = policy(file);
        assert_eq!(json!(policy.spec.rules), metadata["rules"], "{file}");
        assert_eq!(policy.spec.module, format!("registry://{url}:v{version}"), "{file}");
        for (key, value) in policy.metadata.annotations.as_ref().unwrap() {
            assert_eq!(*value, annotation(key), "{file}: {key}");
        }
    }
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
    let readme = markdown::fences(&fs::read_to_string(root().join("README.md")).unwrap()).unwrap();
    let readme = readme.iter().find(|fence| fence.text.contains("kind: ClusterAdmissionPolicy")).unwrap();
    let readme: Value = yaml_serde::from_str(&readme.text).unwrap();
    for rules in [&metadata()["rules"], &readme["spec"]["rules"]] {
        for rule in rules.as_array().unwrap() {
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
}

#[test]
fn namespaces_that_judging_needs_are_left_out() {
    for file in POLICIES {
        let policy = policy(file);
        let selector = policy.spec.namespace_selector.unwrap();
        assert_eq!(selector.match_labels, None, "{file}: the controller drops labels");
        let expressions = selector.match_expressions.unwrap();
        assert_eq!(expressions.len(), 1, "{file}");
        // Nobody else can set this label.
        assert_eq!(
            (expressions[0].key.as_str(), expressions[0].operator.as_str()),
            ("kubernetes.io/metadata.name", "NotIn")
        );
        let left_out = expressions[0].values.as_ref().unwrap();
        // No other: one that doesn't exist is left out for whoever creates it.
        assert_eq!(*left_out, ["kube-system", "kubewarden"], "{file}");
    }
}

#[test]
fn the_policy_server_is_the_policies_own() {
    let server = server();
    for file in POLICIES {
        assert_eq!(policy(file).spec.policy_server, server.metadata.name, "{file}");
    }
    assert!(server.spec.replicas >= 2, "with one replica a drained node stops the cluster");
}

// === rights ===

#[test]
fn what_is_asked_with_the_policies_settings_is_granted() {
    let granted = rights("rbac/sbomscanner.yaml");
    for file in POLICIES {
        let spec = policy(file).spec;
        let asked = asked(&spec.settings);
        let kinds: BTreeSet<Kind> = asked.iter().map(|asked| asked.kind.clone()).collect();
        let listed: BTreeSet<Kind> = spec.context_aware_resources.unwrap().into_iter().collect();
        assert_eq!(kinds, listed, "{file}: contextAwareResources are the kinds that are asked for");
        for asked in asked {
            assert!(granted.allow(&asked), "{file}: {asked:?} is not granted");
        }
    }
}

#[test]
fn every_file_grants_what_its_settings_ask_for_and_nothing_else() {
    for file in RIGHTS {
        let (goes_with, granted) = (goes_with(file), rights(file));
        let mut settings = goes_with.settings;
        if settings.get("reports").is_none() {
            // The default source has a file of its own.
            settings["reports"] = json!({"sources": [{"registry": {"allowUnsigned": true}}]});
            settings["preScanPolicies"] = json!({"defaultPolicy": "accept"});
            for policy in settings.get_mut("imageVerification").and_then(Value::as_array_mut).into_iter().flatten() {
                policy["verifyPreScanAccepted"] = json!(true);
            }
        }
        let asked = asked(&settings);
        let listed: BTreeSet<Kind> = goes_with.context_aware_resources.into_iter().collect();
        let kinds: BTreeSet<Kind> = asked.iter().map(|asked| asked.kind.clone()).collect();
        assert_eq!(kinds, listed, "{file}: contextAwareResources are the kinds that are asked for");
        for asked in &asked {
            assert!(granted.allow(asked), "{file}: {asked:?} is not granted");
        }
        let resources: BTreeSet<(String, String)> = kinds
            .iter()
            .map(|kind| {
                let (group, _) = kind.api_version.split_once('/').unwrap_or_default();
                (group.to_owned(), kind.kind.to_lowercase() + "s")
            })
            .collect();
        assert_eq!(granted.resources(), resources, "{file}");
        // Where nothing is listed, no verb but `get` is needed; where anything is, all three are, by the host's watches.
        let is_listed = asked.iter().any(|asked| asked.is_list);
        let verbs: &[&str] = if is_listed { &["get", "list", "watch"] } else { &["get"] };
        for rule in &granted.rules {
            assert_eq!(rule.verbs, verbs, "{file}");
        }
    }
}

/// What isn't in the metadata, `kwctl` and whoever looks at the policy are not told of. Which kinds these files are about is
/// for whoever edits them to say: their own reports, keys, and kinds for rules.
#[test]
fn the_metadata_lists_the_kinds_of_every_source() {
    let own = ["rbac/custom.yaml", "rbac/keys.yaml", "rbac/context.yaml"];
    let files = RIGHTS.into_iter().filter(|file| !own.contains(file));
    let asked: BTreeSet<Kind> = files.flat_map(|file| goes_with(file).context_aware_resources).collect();
    let listed: BTreeSet<Kind> = serde_json::from_value(metadata()["contextAwareResources"].clone()).unwrap();
    assert_eq!(asked, listed, "contextAwareResources of policy-metadata.yml");
}

#[test]
fn a_right_that_is_missing_is_seen() {
    let Rights { namespace, rules } = rights("rbac/sbomscanner.yaml");
    let listed = asked(&policy(POLICY).spec.settings).into_iter().find(|asked| asked.is_list).unwrap();
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

/// The settings of a file, with a scan phase that accepts: the stand-in for a cluster has no reports.
fn accepting(file: &str) -> Value {
    let mut settings = policy(file).spec.settings;
    settings["scanPolicies"] = json!({"defaultPolicy": "accept"});
    settings
}

#[test]
fn what_the_first_pinned_the_second_leaves_alone() {
    let (first, _) = answer(&pod(&["ghcr.io/team/app:1.0"]), &accepting(POLICY));
    assert_eq!(first["accepted"], json!(true), "{first:#}");
    let pinned = &first["mutated_object"];
    assert_eq!(pinned["spec"]["containers"][0]["image"], json!(format!("ghcr.io/team/app:1.0@{}", digest('2'))));
    let (second, _) = answer(pinned, &accepting(VALIDATING));
    assert_eq!(second["accepted"], json!(true), "{second:#}");
    assert_eq!(second.get("mutated_object").filter(|object| !object.is_null()), None);
}

#[test]
fn what_was_injected_after_the_first_the_second_judges_and_leaves_alone() {
    let (first, _) = answer(&pod(&["ghcr.io/team/app:1.0"]), &accepting(POLICY));
    let inject = |image: &str| {
        let mut object = first["mutated_object"].clone();
        object["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "sidecar", "image": image}));
        object
    };
    let (second, _) = answer(&inject("ghcr.io/team/proxy:2.0"), &accepting(VALIDATING));
    assert_eq!(second["accepted"], json!(true), "{second:#}");
    // The policy server rejects a validating policy that changes an object.
    assert_eq!(second.get("mutated_object").filter(|object| !object.is_null()), None);
    let mut settings = policy(VALIDATING).spec.settings;
    settings["preScanPolicies"] = json!({"customPolicies": [{"prefix": "bad-registry.com/", "action": "reject"}]});
    let (second, _) = answer(&inject("bad-registry.com/proxy:2.0"), &settings);
    assert_eq!(second["accepted"], json!(false));
}

#[test]
fn an_entry_that_accepts_by_tag_doesnt_match_what_is_pinned() {
    let with = |file: &str, prefixes: &[&str]| {
        let mut settings = policy(file).spec.settings;
        let entries: Vec<Value> = prefixes.iter().map(|prefix| json!({"prefix": prefix, "action": "accept"})).collect();
        settings["preScanPolicies"] = json!({"customPolicies": entries});
        settings
    };
    let by_tag = pod(&["ghcr.io/team/app:1.0"]);
    let pinned = pod(&[&format!("ghcr.io/team/app:1.0@{}", index_digest())]);
    let accepts = |object: &Value, settings: &Value| answer(object, settings).0["accepted"] == json!(true);
    assert!(accepts(&by_tag, &with(POLICY, &["ghcr.io/team/app:1.0"])));
    assert!(!accepts(&pinned, &with(VALIDATING, &["ghcr.io/team/app:1.0"])));
    assert!(accepts(&pinned, &with(VALIDATING, &["ghcr.io/team/app:", "ghcr.io/team/app@"])));
}

// === the overlay ===

const OVERLAY: &str = "../examples/overlay-trivy-operator";

/// What kustomize makes of the base and the overlay's patches, as far as these manifests need it: maps are merged, and a
/// list stands in the place of another.
fn overlaid(patches: &[&str]) -> Vec<Value> {
    let listed = |folder: &str, key: &str| -> Vec<String> {
        let kustomization = documents(&format!("{folder}/kustomization.yaml")).remove(0);
        serde_json::from_value(kustomization[key].clone()).unwrap()
    };
    let mut objects: Vec<Value> = Vec::new();
    for resource in listed(OVERLAY, "resources") {
        match resource.as_str() {
            "../../deploy" => objects.extend(listed(".", "resources").iter().flat_map(|file| documents(file))),
            file => objects.extend(documents(&format!("{OVERLAY}/{file}"))),
        }
    }
    for patch in patches.iter().flat_map(|file| documents(&format!("{OVERLAY}/{file}"))) {
        let is_meant = |object: &&mut Value| {
            object["kind"] == patch["kind"] && object["metadata"]["name"] == patch["metadata"]["name"]
        };
        json_patch::merge(objects.iter_mut().find(is_meant).unwrap(), &patch);
    }
    objects
}

fn overlaid_policy(patches: &[&str]) -> Resource<PolicySpec> {
    let objects = overlaid(patches);
    lossless(objects.iter().find(|object| object["kind"] == "ClusterAdmissionPolicy").unwrap())
}

#[test]
fn the_overlay_is_the_policy_with_trivy_operator() {
    let (enforced, own) = (overlaid_policy(&["policy.yaml"]).spec, policy(POLICY).spec);
    assert_eq!(
        (enforced.mode, enforced.failure_policy),
        (own.mode, own.failure_policy),
        "without monitor.yaml it enforces"
    );
    let mut same = enforced.clone();
    (same.settings, same.namespace_selector) = (own.settings.clone(), own.namespace_selector.clone());
    same.context_aware_resources = own.context_aware_resources.clone();
    assert_eq!(json!(same), json!(own), "the rest is the base's");

    let left_out = enforced.namespace_selector.unwrap().match_expressions.unwrap().remove(0).values.unwrap();
    assert_eq!(left_out, ["kube-system", "kubewarden", "trivy-system"]);
    match check_settings(&enforced.settings) {
        Ok(settings) => assert!(settings.notices().is_empty(), "{:?}", settings.notices()),
        Err(problems) => panic!("{problems:?}"),
    }
    let granted = rights(&format!("{OVERLAY}/rights.yaml"));
    let asked = asked(&enforced.settings);
    assert!(asked.iter().all(|asked| granted.allow(asked)), "{asked:?} is not granted");
    let kinds: BTreeSet<Kind> = asked.into_iter().map(|asked| asked.kind).collect();
    assert_eq!(kinds, enforced.context_aware_resources.unwrap().into_iter().collect());
}

#[test]
fn the_overlay_only_watches_first() {
    let patches = documents(&format!("{OVERLAY}/kustomization.yaml")).remove(0)["patches"].clone();
    assert_eq!(patches, json!([{"path": "policy.yaml"}, {"path": "monitor.yaml"}]));
    let (monitor, enforced) = (overlaid_policy(&["policy.yaml", "monitor.yaml"]), overlaid_policy(&["policy.yaml"]));
    assert_eq!((monitor.spec.mode, monitor.spec.failure_policy), (Some(Mode::Monitor), Some(FailurePolicy::Ignore)));
    let mut same = monitor.spec;
    (same.mode, same.failure_policy) = (enforced.spec.mode, enforced.spec.failure_policy);
    assert_eq!(json!(same), json!(enforced.spec));
}

/// Where kubectl is installed, its kustomize makes the same of it.
#[test]
fn kustomize_builds_the_overlay() {
    let Ok(output) = Command::new("kubectl").current_dir(root().join("deploy")).args(["kustomize", OVERLAY]).output()
    else {
        eprintln!("kubectl is not on PATH: the overlay was not built");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built =
        yaml_serde::Deserializer::from_slice(&output.stdout).map(|document| Value::deserialize(document).unwrap());
    let sorted = |objects: Vec<Value>| {
        let mut objects: Vec<String> = objects.iter().map(Value::to_string).collect();
        objects.sort();
        objects
    };
    assert_eq!(sorted(built.collect()), sorted(overlaid(&["policy.yaml", "monitor.yaml"])));
}

// === the page ===

#[test]
fn the_readme_names_every_file_and_webhook() {
    let readme = text("README.md");
    // What Kubewarden's controller calls the webhooks of a ClusterAdmissionPolicy.
    for file in [POLICY, VALIDATING] {
        let policy = policy(file);
        let kind = if policy.spec.mutating { "mutating" } else { "validating" };
        let command = format!("kubectl delete {kind}webhookconfiguration clusterwide-{}\n", name(&policy));
        assert!(readme.contains(&command), "deploy/README.md doesn't have `{command}`");
    }
    let files = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.is_file())
            .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
            .collect()
    };
    let folder = root().join("deploy");
    let below = |part: &str| -> Vec<String> {
        files(&folder.join(part)).into_iter().map(|name| format!("{part}/{name}")).collect()
    };
    let manifests: BTreeSet<String> =
        files(&folder).into_iter().chain(below("rbac")).chain(below("monitoring")).collect();
    let known: BTreeSet<String> = POLICIES
        .iter()
        .chain(&RIGHTS)
        .chain(&MONITORING)
        .chain(&[SERVER, "kustomization.yaml", "README.md"])
        .map(|&file| file.to_owned())
        .collect();
    assert_eq!(manifests, known, "every file has its test");
    for file in known.iter().filter(|file| *file != "README.md") {
        assert!(readme.contains(&format!("`{file}`")), "deploy/README.md doesn't name {file}");
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
    let own = &documents(SERVER)[0];
    assert_eq!((&verifying["metadata"], &verifying["spec"]), (&own["metadata"], &own["spec"]));
}
