//! Rules that read what they never see: it is undefined, so that a rule that needs it never holds.
//!
//! That is no error: a module may test for it, or be written for both, custom rules and policies.

use super::compile::{phases, quoted, with_libraries};
use crate::evaluation::module::Facts;
use crate::evaluation::{Budget, Evaluator, ModuleText};
use crate::rules::generated::PACKAGE;
use crate::rules::{ImageQuestion, Phase, Pool, load_modules, with_package};
use image_admission_image::workload::WorkloadKind;
use image_admission_settings::{ContextKind, Lint, LintRule, RegoPolicy, Settings};

/// What custom rules see, beside the answers about their image.
const INPUT_OF_CUSTOM_RULES: [&str; 5] = ["AdmissionRequest", "ContainerObject", "Images", "PodObject", "ScanReport"];
/// The documents that they see, beside their own package.
const DATA_OF_CUSTOM_RULES: [&str; 3] = ["policies", "preScanPolicies", "request"];
/// What only they see, and what it is to policies.
const NOT_OF_POLICIES: [(&str, &str); 4] = [
    ("ContainerObject", "input.spec.containers[_]"),
    ("Images", "input.images"),
    ("PodObject", "input"),
    ("ScanReport", "input.scanReports"),
];

/// What the rules of valid settings read in vain, the first for each module.
pub fn unseen(settings: &Settings) -> Vec<Lint> {
    let rego = &settings.rego;
    let budget = Budget::unlimited();
    let mut lints = Vec::new();
    for (phase, name, custom, generate) in phases(settings) {
        if custom.is_empty() {
            continue;
        }
        let written = with_package(custom);
        let text = ModuleText { name, rego: &written, version: rego.version };
        let mut evaluator = Evaluator::new(&budget);
        let Ok(modules) = load_modules(&mut evaluator, &text, phase, generate, false) else { continue };
        let why = modules.facts.first().and_then(|facts| by_custom_rules(facts, phase));
        lints.extend(why.map(|why| Lint::new(LintRule::Unseen, name, why)));
    }
    let policies: Vec<&RegoPolicy> = rego.policies.iter().collect();
    let pool = Pool::new(&rego.libraries, &policies);
    for (position, policy) in rego.policies.iter().enumerate() {
        let own = ModuleText { name: &policy.name, rego: &policy.rego, version: policy.version };
        let mut evaluator = Evaluator::new(&budget);
        let Ok(facts) = evaluator.load(&own) else { continue };
        let Some((modules, _)) = with_libraries(&mut evaluator, facts, own, &pool) else { continue };
        if let Some(why) = by_policy(&modules, &rego.context).or_else(|| in_templates(policy)) {
            let why = format!("policy `{}`: {why}", policy.name);
            lints.push(Lint::new(LintRule::Unseen, format!("regoPolicies[{position}].rego"), why));
        }
    }
    lints
}

fn by_custom_rules(facts: &Facts, phase: Phase) -> Option<String> {
    let of_images = ImageQuestion::ALL.map(ImageQuestion::in_custom_rules);
    let is_input = |key: &&str| INPUT_OF_CUSTOM_RULES.contains(key) || of_images.contains(key);
    if let Some(key) = facts.input.written().find(|key| !is_input(key)) {
        return Some(format!(
            "`input.{key}` isn't there: custom rules see {}; rules about an object of any kind are `regoPolicies`",
            quoted(INPUT_OF_CUSTOM_RULES.into_iter())
        ));
    }
    let is_null = |key: &&str| phase == Phase::PreScan && ["ContainerObject", "ScanReport"].contains(key);
    if let Some(key) = facts.input.written().find(is_null) {
        return Some(format!("`input.{key}` is null before the scan; write rules about it into `customRules`"));
    }
    let mut roots = facts.data.iter().filter_map(|reference| reference.keys.first()?.as_deref());
    let root = roots.find(|root| *root != PACKAGE && !DATA_OF_CUSTOM_RULES.contains(root))?;
    Some(format!(
        "`data.{root}` isn't there: custom rules see {} of `data`; rules that need the cluster or libraries are `regoPolicies`",
        quoted(DATA_OF_CUSTOM_RULES.into_iter())
    ))
}

fn by_policy(modules: &[Facts], context: &[ContextKind]) -> Option<String> {
    let is_read = |key: &str| modules.iter().any(|facts| facts.input.written().any(|own| own == key));
    if let Some((key, meant)) = NOT_OF_POLICIES.into_iter().find(|(key, _)| is_read(key)) {
        return Some(format!("`input.{key}` is what `customRules` see; policies see `{meant}`"));
    }
    // They agree as far as both go.
    let has_package = |path: &[&str]| modules.iter().any(|facts| facts.package.iter().zip(path).all(|(a, b)| a == b));
    let has_kind = |version: Option<&str>, kind: &str| {
        context.iter().any(|own| own.kind == kind && version.is_none_or(|version| version == own.api_version))
    };
    modules.iter().flat_map(|facts| &facts.data).find_map(|reference| {
        let keys: Vec<Option<&str>> = reference.keys.iter().map(Option::as_deref).collect();
        let is_there = match keys.as_slice() {
            // OPA's own rules stand there, wherever they come from.
            [Some("kubernetes"), Some("admission"), ..] => true,
            [Some("kubernetes"), Some(plural), ..] => {
                context.iter().any(|own| own.plural == *plural) || has_package(&["kubernetes", plural])
            }
            [Some("inventory"), Some("cluster"), version, Some(kind), ..]
            | [Some("inventory"), Some("namespace"), _, version, Some(kind), ..] => {
                has_kind(*version, kind) || has_package(&["inventory"])
            }
            _ => true,
        };
        let path: String = keys.iter().map(|key| format!(".{}", key.unwrap_or("_"))).collect();
        (!is_there).then(|| {
            format!(
                "`data{path}` isn't there: name its kind in `context`, like `{{apiVersion: networking.k8s.io/v1, kind: Ingress}}`"
            )
        })
    })
}

/// A field of a Pod that is read of objects which have it in a template. Rules that look at kinds may know.
fn in_templates(policy: &RegoPolicy) -> Option<String> {
    const FIELDS: [&str; 6] = ["containers", "initContainers", "volumes", "hostNetwork", "hostPID", "hostIPC"];
    let words: Vec<&str> = policy.rego.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let reads = |field: &&str| words.windows(3).any(|window| window == ["input", "spec", field]);
    let field = FIELDS.into_iter().find(reads).filter(|_| !words.contains(&"template") && !words.contains(&"kind"))?;
    let is_of = |kind: &WorkloadKind| policy.kinds.iter().any(|own| own.matches(kind.group(), "v1", kind.name()));
    let kind = WorkloadKind::ALL.into_iter().filter(|kind| *kind != WorkloadKind::Pod).find(is_of)?;
    let template = if kind == WorkloadKind::CronJob { "jobTemplate.spec.template" } else { "template" };
    Some(format!(
        "`input.spec.{field}` is a field of Pods, which a {} has below `input.spec.{template}.spec`, so that the rule never sees it; write `kinds: [Pod]`, since its Pods are judged too",
        kind.name()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn told(settings: &Value) -> Vec<String> {
        let settings = Settings::read(settings).unwrap();
        assert_eq!(crate::check(&settings), [""; 0]);
        unseen(&settings).iter().map(Lint::to_string).collect()
    }

    #[test]
    fn fields_of_pods_that_templates_have() {
        let of = |kinds: Value, rule: &str| json!({"regoPolicies": [{"name": "p", "kinds": kinds, "rego": format!("package p\ndeny[\"no\"] {{ {rule} }}")}]});
        let volumes = "input.spec.volumes[_].hostPath";
        let why = |kind: &str| {
            format!(
                "regoPolicies[0].rego: policy `p`: `input.spec.volumes` is a field of Pods, which a {kind} has below `input.spec.template.spec`, so that the rule never sees it; write `kinds: [Pod]`, since its Pods are judged too"
            )
        };
        assert_eq!(told(&of(json!(["Workload"]), volumes)), [why("ReplicationController")]);
        assert_eq!(told(&of(json!(["Pod", "apps/Deployment"]), volumes)), [why("Deployment")]);
        for (kinds, rule) in [
            (json!(["Pod"]), volumes),
            (json!(["Service"]), volumes),
            (json!(["*"]), "input.kind == \"Pod\"; input.spec.volumes[_].hostPath"),
            (json!(["Workload"]), "input.spec.template.spec.volumes[_].hostPath"),
        ] {
            assert_eq!(told(&of(kinds, rule)), [""; 0], "{rule}");
        }
    }

    #[test]
    fn what_custom_rules_see() {
        let both = |rule: &str| json!({"customRules": format!("deny_image[\"x\"] {{ {rule} }}"), "preCustomRules": format!("deny_pod[\"x\"] {{ {rule} }}")});
        let input = |key: &str| {
            format!(
                "`input.{key}` isn't there: custom rules see `AdmissionRequest`, `ContainerObject`, `Images`, `PodObject`, `ScanReport`; rules about an object of any kind are `regoPolicies`"
            )
        };
        let data = |key: &str| {
            format!(
                "`data.{key}` isn't there: custom rules see `policies`, `preScanPolicies`, `request` of `data`; rules that need the cluster or libraries are `regoPolicies`"
            )
        };
        for (rule, why) in [
            ("input.request.operation == \"CREATE\"", input("request")),
            ("input.images[_] == \"a\"", input("images")),
            ("not input.metadata.labels.a", input("metadata")),
            ("data.kubernetes.namespaces[_]", data("kubernetes")),
            ("data.lib.bad", data("lib")),
        ] {
            assert_eq!(told(&both(rule)), [format!("preCustomRules: {why}"), format!("customRules: {why}")], "{rule}");
        }
        for key in ["ContainerObject", "ScanReport"] {
            let why = format!(
                "preCustomRules: `input.{key}` is null before the scan; write rules about it into `customRules`"
            );
            assert_eq!(told(&both(&format!("input.{key}.a == 1"))), [why]);
        }
        for rule in [
            "input.AdmissionRequest.userInfo.username == \"a\"; input.Images[_] == \"a\"; input.PodObject.spec.hostNetwork",
            "data.policies.defaultPolicy == \"accept\"; data.preScanPolicies; data.request.namespace == \"a\"",
            "key := \"request\"; input[key].operation == \"CREATE\"",
        ] {
            assert_eq!(told(&both(rule)), [""; 0], "{rule}");
        }
    }

    #[test]
    fn what_policies_see() {
        let with = |context: &Value, rule: &str| {
            let policy = json!({"name": "p", "kinds": ["Pod"], "rego": format!("package p\ndeny[\"x\"] {{ {rule} }}")});
            json!({"regoPolicies": [policy], "context": context})
        };
        let (none, namespaces) = (json!([]), json!([{"apiVersion": "v1", "kind": "Namespace"}]));
        let missing = |what: &str| {
            format!(
                "`data.{what}` isn't there: name its kind in `context`, like `{{apiVersion: networking.k8s.io/v1, kind: Ingress}}`"
            )
        };
        for (context, rule, why) in [
            (&none, "data.kubernetes.namespaces[_].metadata.a", Some(missing("kubernetes.namespaces._.metadata.a"))),
            (&namespaces, "not data.kubernetes.namespace.a", Some(missing("kubernetes.namespace.a"))),
            (&none, "data.inventory.cluster.v1.Namespace.a", Some(missing("inventory.cluster.v1.Namespace.a"))),
            (&namespaces, "data.inventory.cluster.v2.Namespace.a", Some(missing("inventory.cluster.v2.Namespace.a"))),
            (&namespaces, "data.inventory.namespace[_][_].Pod[_]", Some(missing("inventory.namespace._._.Pod._"))),
            (
                &none,
                "input.PodObject.a",
                Some("`input.PodObject` is what `customRules` see; policies see `input`".into()),
            ),
            (&namespaces, "data.kubernetes.namespaces[_].metadata.name == \"a\"", None),
            (&namespaces, "data.inventory.cluster.v1.Namespace.a; data.inventory.cluster[_].Namespace.b", None),
            (
                &none,
                "kind := \"namespaces\"; data.kubernetes[kind].a; data.inventory; data.kubernetes.admission.deny",
                None,
            ),
            (&none, "input.AdmissionRequest.dryRun; input.spec.Images", None),
        ] {
            let expected: Vec<String> =
                why.into_iter().map(|why| format!("regoPolicies[0].rego: policy `p`: {why}")).collect();
            assert_eq!(told(&with(context, rule)), expected, "{rule}");
        }
        // A library may have the package.
        for package in ["kubernetes", "kubernetes.namespaces"] {
            let mut settings = with(&none, "data.kubernetes.namespaces.bad");
            settings["regoLibraries"] =
                json!([{"name": "l", "rego": format!("package {package}\nnamespaces := {{\"bad\": 1}}\nbad := 1")}]);
            assert_eq!(told(&settings), [""; 0]);
        }
    }
}
