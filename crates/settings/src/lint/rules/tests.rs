use super::*;
use serde_json::{Value, json};

/// A rule, with each list written with commas.
fn rule(groups: &str, versions: &str, resources: &str, operations: &str) -> ResourceRule {
    let texts = |text: &str| text.split(',').map(str::to_owned).collect();
    ResourceRule {
        groups: texts(groups),
        versions: texts(versions),
        operations: texts(operations),
        resources: texts(resources),
        names: Vec::new(),
    }
}

/// What the base of `deploy/` sends.
fn workloads() -> Vec<ResourceRule> {
    vec![
        rule("", "v1", "pods,replicationcontrollers", "CREATE,UPDATE"),
        rule("", "v1", "pods/ephemeralcontainers", "UPDATE"),
        rule("apps", "v1", "deployments,replicasets,statefulsets,daemonsets", "CREATE,UPDATE"),
        rule("batch", "v1", "jobs,cronjobs", "CREATE,UPDATE"),
    ]
}

fn lints(settings: &Value, rules: &[ResourceRule]) -> Vec<Lint> {
    Settings::read(settings).unwrap().lint_rules(rules)
}

#[track_caller]
fn check(settings: Value, rules: &[ResourceRule], expected: &[&str]) {
    let found: Vec<String> =
        lints(&settings, rules).iter().map(|lint| format!("{} {:?} {lint}", lint.rule.name(), lint.severity)).collect();
    assert_eq!(found, expected, "{settings} {rules:?}");
}

fn policy(kinds: Value) -> Value {
    json!({"regoPolicies": [{"name": "p", "kinds": kinds, "rego": "package p"}]})
}

#[test]
fn the_base_sends_all_workloads() {
    check(json!({}), &workloads(), &[]);
    for kinds in [
        json!(["Workload"]),
        json!(["*"]),
        json!(["Pod"]),
        json!(["v1/Pod", "core/v1/Pod", "apps/v1/Deployment", "CronJob"]),
    ] {
        check(policy(kinds), &workloads(), &[]);
    }
    check(json!({"imageVerification": [{"name": "v", "validations": [{"expression": "true"}]}]}), &workloads(), &[]);
}

#[test]
fn kinds_that_no_rule_sends() {
    check(
        policy(json!(["Service"])),
        &workloads(),
        &[
            "never-asked Error regoPolicies[0].kinds: `spec.rules` sends no `Service`, so that this policy is never asked; add `services` there",
        ],
    );
    check(
        policy(json!(["Pod", "networking.k8s.io/Ingress", "example.com/Widget"])),
        &workloads(),
        &[
            "never-asked Warning regoPolicies[0].kinds: `spec.rules` sends no `networking.k8s.io/Ingress`, `example.com/Widget`, so that this policy is never asked about them; add `ingresses`, `widgets` there",
        ],
    );
    check(
        policy(json!(["apps/Deployment"])),
        &workloads()[..2],
        &[
            "never-asked Error regoPolicies[0].kinds: `spec.rules` sends no `apps/Deployment`, so that this policy is never asked; add `deployments` there",
        ],
    );
    check(
        policy(json!(["Workload"])),
        &[rule("", "v1", "services", "*")],
        &[
            "never-asked Error regoPolicies[0].kinds: `spec.rules` sends no `Workload`, so that this policy is never asked; add `pods` there",
        ],
    );
    check(
        policy(json!("*")),
        &[],
        &[
            "never-asked Error regoPolicies[0].kinds: `spec.rules` sends no `*`, so that this policy is never asked; add `*/*` there",
        ],
    );
}

#[test]
fn kinds_that_some_rule_sends() {
    let is_sent = |kind: &str, rules: &[ResourceRule]| {
        let lints = lints(&policy(json!([kind])), rules);
        !lints.iter().any(|lint| lint.rule == LintRule::NeverAsked)
    };
    for (kind, groups, versions, resources, expected) in [
        ("Pod", "*", "*", "*", true),
        ("Pod", "*", "*", "*/*", true),
        ("Pod", "", "v1", "pods/*", true),
        ("Pod", "", "v1", "pods/status", true),
        ("Pod", "", "v1", "pods/exec", false),
        ("PodExecOptions", "", "v1", "pods/exec", true),
        ("PodExecOptions", "", "v1", "pods", false),
        ("PodExecOptions", "", "v1", "pods/*", true),
        ("Eviction", "", "v1", "pods/eviction", true),
        ("Scale", "apps", "v1", "deployments/scale", true),
        ("Scale", "apps", "v1", "deployments", false),
        ("Deployment", "apps", "v1", "deployments/scale", false),
        ("Deployment", "", "v1", "*", false),
        ("Event", "events.k8s.io", "v1", "events", true),
        ("core/Event", "events.k8s.io", "v1", "events", false),
        ("autoscaling/v2/HorizontalPodAutoscaler", "autoscaling", "v1", "horizontalpodautoscalers", false),
        ("HorizontalPodAutoscaler", "autoscaling", "v1", "horizontalpodautoscalers", true),
        ("Service", "serving.knative.dev", "v1", "services", true),
        ("core/Service", "serving.knative.dev", "v1", "services", false),
        ("serving.knative.dev/Service", "", "v1", "services", false),
        ("serving.knative.dev/Service", "*", "v1", "services", true),
        ("Gateway", "gateway.networking.k8s.io", "v1", "gateways", true),
        ("Gateway", "apps", "v1", "*", false),
        ("Gateway", "*", "*", "*", true),
        ("example.com/v1/Widget", "example.com", "v1", "widgets", true),
        ("example.com/v1/Widget", "example.com", "v2", "widgets", false),
    ] {
        assert_eq!(is_sent(kind, &[rule(groups, versions, resources, "*")]), expected, "{kind} {groups} {resources}");
    }
    // Only the CRD says what its resource is called.
    let settings = policy(json!(["example.com/Fish"]));
    let found = lints(&settings, &[rule("example.com", "v1", "fish", "*")]);
    assert_eq!(found[0].severity, LintSeverity::Warning);
}

#[test]
fn webhooks_are_not_asked_about_webhooks() {
    let rules = [rule("admissionregistration.k8s.io", "*", "*", "*")];
    check(
        policy(json!(["ValidatingWebhookConfiguration"])),
        &rules,
        &[
            "never-asked Warning regoPolicies[0].kinds: the API server asks no webhook about `ValidatingWebhookConfiguration`, so that only the audit scanner asks this policy about them",
        ],
    );
}

#[test]
fn resources_that_verification_is_about_and_no_rule_sends() {
    let verification = |rules: Value| json!({"imageVerification": [{"name": "v", "matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "true"}]}]});
    let own = |groups: &[&str], resources: &[&str], operations: &[&str]| json!({"apiGroups": groups, "apiVersions": ["v1"], "resources": resources, "operations": operations});
    let all = ["CREATE", "UPDATE"];
    check(
        verification(json!([own(&[""], &["pods"], &all), own(&["apps"], &["deployments"], &all)])),
        &workloads(),
        &[],
    );
    check(verification(json!([own(&["*"], &["*"], &["*"])])), &workloads(), &[]);
    check(
        verification(json!([own(&["serving.knative.dev"], &["services"], &all)])),
        &workloads(),
        &[
            "never-asked Error imageVerification[0].matchConstraints.resourceRules: `spec.rules` sends no `services` of these groups, versions and operations, so that this policy is never asked; add them there",
        ],
    );
    check(
        verification(json!([own(&["", "apps"], &["pods", "deployments"], &all)])),
        &workloads()[..2],
        &[
            "never-asked Warning imageVerification[0].matchConstraints.resourceRules: `spec.rules` sends no `deployments` of these groups, versions and operations, so that this policy is never asked about them; add them there",
        ],
    );
    check(
        verification(json!([own(&[""], &["pods"], &["DELETE"])])),
        &workloads(),
        &[
            "never-asked Error imageVerification[0].matchConstraints.resourceRules: `spec.rules` sends no `pods` of these groups, versions and operations, so that this policy is never asked; add them there",
        ],
    );
    check(
        json!({"imageVerification": [{"name": "v", "validations": [{"expression": "true"}]}]}),
        &[rule("", "v1", "services", "*")],
        &[
            "never-asked Error imageVerification[0]: `spec.rules` sends nothing with a pod spec, so that this policy is never asked; add `pods` there",
        ],
    );
}

#[test]
fn rules_that_nothing_is_sent_for() {
    check(
        json!({}),
        &[
            rule("", "v1", "Pod", "*"),
            rule("extensions", "v1beta1", "deployments", "*"),
            rule("apps", "v2", "deployments", "*"),
        ],
        &[
            "never-asked Error spec.rules[0].resources: `Pod` is no resource; did you mean `pods`?",
            "never-asked Error spec.rules[1].apiGroups: `deployments` are in the group `apps`, so that this would match none of them",
            "never-asked Error spec.rules[2].apiVersions: `deployments` are served in v1, so that this would match none of them",
        ],
    );
}

#[test]
fn ephemeral_containers_bring_images() {
    let without = [rule("apps", "v1", "deployments", "*"), rule("", "v1", "pods", "CREATE,UPDATE")];
    let expected = "missing-subresource Error spec.rules[1].resources: Pods are sent, and `pods/ephemeralcontainers` is not, so that the images of `kubectl debug` are never judged; add it, on UPDATE";
    check(json!({}), &without, &[expected]);
    let fix = lints(&json!({}), &without)[0].fix.clone();
    let entry = vec![
        ("apiGroups", json!([""])),
        ("apiVersions", json!(["v1"])),
        ("resources", json!(["pods/ephemeralcontainers"])),
        ("operations", json!(["UPDATE"])),
    ];
    assert_eq!(fix, Some(LintFix::Append { path: "spec.rules".to_owned(), entries: vec![entry] }));
    for resources in ["*", "pods,pods/status", "*/scale,pods"] {
        assert_eq!(lints(&json!({}), &[rule("*", "*", resources, "*")]).len(), 1, "{resources}");
    }
    for resources in ["*/*", "pods,pods/*", "pods,*/ephemeralcontainers", "pods,pods/ephemeralcontainers", "services"] {
        check(json!({}), &[rule("*", "*", resources, "*")], &[]);
    }
    // Nothing looks at images.
    let accepts = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "p", "kinds": ["Service"], "rego": "package p"}]});
    check(accepts, &[rule("", "v1", "pods,services", "*")], &[]);
    // It is sent on an operation that it never has.
    let created = [rule("", "v1", "pods", "CREATE,UPDATE"), rule("", "v1", "pods/ephemeralcontainers", "CREATE")];
    assert_eq!(lints(&json!({}), &created).len(), 1);
}

#[test]
fn limits_are_changed_by_a_subresource() {
    let settings = |kind: &str, rego: &str, library: &str| {
        json!({
            "regoPolicies": [{"name": "p", "kinds": [kind], "rego": rego}],
            "regoLibraries": [{"name": "l", "rego": library}],
        })
    };
    let rego = "package p\ndeny[\"no\"] { not input.spec.containers[_].resources.limits.memory }";
    let expected = "missing-subresource Warning spec.rules[0].resources: Pods are sent, and `pods/resize` is not, by which requests and limits of a running Pod are changed: the policy `p` is never asked about those; add it, on UPDATE";
    check(settings("Pod", rego, "package lib"), &workloads(), &[expected]);
    check(settings("*", "package p", rego), &workloads(), &[expected]);
    check(settings("Pod", "package p", "package lib"), &workloads(), &[]);
    check(settings("apps/Deployment", rego, "package lib"), &workloads(), &[]);
    let mut rules = workloads();
    rules.push(rule("", "v1", "pods/resize", "UPDATE"));
    check(settings("Pod", rego, "package lib"), &rules, &[]);
}

#[test]
fn images_are_judged_when_they_come_and_when_they_change() {
    check(
        json!({}),
        &[
            rule("", "v1", "pods", "CREATE"),
            rule("", "v1", "pods/ephemeralcontainers", "UPDATE"),
            rule("apps", "v1", "deployments", "CREATE"),
        ],
        &[
            "missing-operation Error spec.rules[0].operations: `pods` are sent on CREATE and not on UPDATE, so that an image that is changed later is never judged; add `UPDATE`",
        ],
    );
    check(
        json!({}),
        &[rule("apps", "v1", "deployments", "UPDATE,DELETE")],
        &[
            "missing-operation Error spec.rules[0].operations: `deployments` are sent on UPDATE and not on CREATE, so that images are judged only when the object is changed; add `CREATE`",
        ],
    );
    // Where Pods are judged, a controller's come later.
    check(json!({}), &[rule("", "v1", "pods,pods/*", "*"), rule("apps", "v1", "deployments", "CREATE")], &[]);
    check(json!({}), &[rule("", "v1", "pods", "DELETE"), rule("", "v1", "pods/exec", "CONNECT")], &[]);
}

#[test]
fn templates_whose_pods_nobody_sends() {
    let templates = || vec![rule("apps", "v1", "deployments", "CREATE,UPDATE")];
    let found = "never-asked Error spec.rules: templates are sent and `pods` are not: a template without a report is admitted, since its Pods would wait for one, and nobody judges these; add `pods`";
    check(json!({}), &templates(), &[found]);
    let updated = rule("", "v1", "pods", "UPDATE");
    let rules = [templates(), vec![updated, rule("", "v1", "pods/ephemeralcontainers", "UPDATE")]].concat();
    assert!(lints(&json!({}), &rules).iter().any(|lint| lint.to_string() == found.split_once("Error ").unwrap().1));
    // Nothing waits for a report.
    check(
        json!({"preScanPolicies": {"defaultPolicy": "reject", "customPolicies": [{"prefix": "ghcr.io/", "action": "accept"}]}}),
        &templates(),
        &[],
    );
}
