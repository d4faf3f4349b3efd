use super::*;

fn parse(text: &str) -> KindPattern {
    KindPattern::parse(text).unwrap()
}

#[track_caller]
fn refuse(text: &str, expected: &str) {
    assert_eq!(KindPattern::parse(text).unwrap_err(), expected, "{text}");
}

#[test]
fn kinds_match_as_they_are_written() {
    for (pattern, group, version, kind, expected) in [
        ("*", "a", "v1", "B", true),
        ("Workload", "apps", "v1", "Deployment", true),
        ("Workload", "", "v1", "Service", false),
        ("Deployment", "apps", "v1", "Deployment", true),
        ("Deployment", "other", "v1", "Deployment", true),
        ("apps/Deployment", "apps", "v1", "Deployment", true),
        ("apps/Deployment", "other", "v1", "Deployment", false),
        ("core/Pod", "", "v1", "Pod", true),
        ("/Pod", "", "v1", "Pod", true),
        ("/v1/Pod", "", "v1", "Pod", true),
        ("core/v1/Pod", "", "v1", "Pod", true),
        ("v1/Pod", "", "v1", "Pod", true),
        ("v1/Pod", "metrics.example.com", "v1", "Pod", false),
        ("apps/v1/Deployment", "apps", "v1", "Deployment", true),
        ("apps/v1/Deployment", "apps", "v1beta1", "Deployment", false),
        ("autoscaling/v2/HorizontalPodAutoscaler", "autoscaling", "v1", "HorizontalPodAutoscaler", false),
    ] {
        assert_eq!(parse(pattern).matches(group, version, kind), expected, "{pattern}");
    }
    for text in ["*", "Workload", "Pod", "core/Pod", "v1/Pod", "apps/Deployment", "apps/v1/Deployment"] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn kinds_of_crds_are_taken() {
    for text in [
        "Workflow",
        "Gateway",
        "Certificate",
        "Rollout",
        "ScaledJob",
        "KafkaTopic",
        "serving.knative.dev/Service",
        "batch.volcano.sh/Job",
        "argoproj.io/Workflow",
        "metrics.k8s.io/PodMetrics",
        "kueue.x-k8s.io/v1beta1/Workload",
        "apps.kruise.io/v1alpha1/StatefulSet",
        "apps.openshift.io/DeploymentConfig",
        "autoscaling.k8s.io/VerticalPodAutoscaler",
        "gateway.networking.k8s.io/Gateway",
        "sagemaker.services.k8s.aws/Endpoint",
        "netbox.dev/IpAddress",
        "example.com/Pods",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
    // Later releases may serve more.
    for text in ["scheduling.k8s.io/v1alpha1/Workload", "resource.k8s.io/Device", "resource.k8s.io/v1/DeviceTaintRule"]
    {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn kinds_that_nothing_is_are_refused_with_the_nearest() {
    let needs_group = |kind: &str| format!(" (a CRD's kind of that name needs its group, `example.com/{kind}`)");
    for (text, meant) in [
        ("Pods", "Pod"),
        ("POD", "Pod"),
        ("Deployments", "Deployment"),
        ("Deploymnet", "Deployment"),
        ("Daemonset", "DaemonSet"),
        ("Cronjobs", "CronJob"),
        ("Ingresses", "Ingress"),
        ("Workloads", "Workload"),
        ("WorkLoad", "Workload"),
    ] {
        refuse(text, &format!("`{text}` is no kind; did you mean `{meant}`?{}", needs_group(text)));
    }
    for (text, meant) in [
        ("pod", "Pod"),
        ("pods", "Pod"),
        ("po", "Pod"),
        ("workload", "Workload"),
        ("workloads", "Workload"),
        ("deployments.apps", "apps/Deployment"),
        ("Deployment.apps", "apps/Deployment"),
        ("ingresses.networking.k8s.io", "networking.k8s.io/Ingress"),
        ("apps/deployments", "apps/Deployment"),
        ("apps/Deployments", "apps/Deployment"),
        ("apps/*/Deployment", "apps/Deployment"),
        ("Apps/Deployment", "apps/Deployment"),
        ("v1/pods", "v1/Pod"),
        ("v1/Pods", "v1/Pod"),
        ("core/pods", "core/Pod"),
        ("*/Pod", "Pod"),
        ("*/*", "*"),
        ("Pod/status", "Pod"),
        ("Pod/exec", "PodExecOptions"),
        ("v1/Pod/exec", "v1/PodExecOptions"),
        ("Pod/eviction", "policy/Eviction"),
        ("apps/Workload", "Workload"),
        ("apps/Pods", "core/Pod"),
    ] {
        refuse(text, &format!("`{text}` is no kind; did you mean `{meant}`?"));
    }
    for text in ["", "Pod/", "a/b/c/D", "Po d", "Pod*", "apps/*", "core//Pod", "[\"Pod\"]", "Pod;Job", "1Pod", "Pöd"] {
        let message = KindPattern::parse(text).unwrap_err();
        assert!(message.starts_with(&format!("`{text}` is no kind; ")), "{message}");
    }
    refuse("widget", "`widget` is no kind; write it like `Pod`, `apps/Deployment`, `Workload` or `*`");
}

#[test]
fn kinds_of_another_group_or_version_are_refused_with_the_right_one() {
    for (text, meant) in [
        ("extensions/Deployment", "apps/Deployment"),
        ("extensions/v1beta1/Deployment", "apps/v1/Deployment"),
        ("extensions/v1beta1/Ingress", "networking.k8s.io/v1/Ingress"),
        ("apps/Pod", "core/Pod"),
        ("core/Deployment", "apps/Deployment"),
        ("v1/Deployment", "apps/v1/Deployment"),
        ("v1beta1/Ingress", "networking.k8s.io/v1/Ingress"),
        ("core/v1beta1/Pod", "v1/Pod"),
        ("v2/Pod", "v1/Pod"),
        ("apps/v1beta1/Deployment", "apps/v1/Deployment"),
        ("batch/v1beta1/CronJob", "batch/v1/CronJob"),
        ("autoscaling/v2beta2/HorizontalPodAutoscaler", "autoscaling/v2/HorizontalPodAutoscaler"),
        ("networking/Ingress", "networking.k8s.io/Ingress"),
        ("networking.k8.io/Ingress", "networking.k8s.io/Ingress"),
        ("rbac/v1/Role", "rbac.authorization.k8s.io/v1/Role"),
        ("events.k8s.io/Pod", "core/Pod"),
    ] {
        refuse(text, &format!("Kubernetes serves no `{text}`; did you mean `{meant}`?"));
    }
    for text in ["apps/Rollout", "v1/Widget", "core/Gateway", "extensions/Gateway", "networking/Gateway"] {
        let kind = text.rsplit('/').next().unwrap();
        refuse(
            text,
            &format!(
                "Kubernetes serves no `{text}`; write a CRD's kind with the group of the CRD, like `example.com/{kind}`"
            ),
        );
    }
}

#[test]
fn objects_of_the_cluster_have_a_kind_that_is_served() {
    let problems = |api_version: &str, kind: &str| {
        let mut problems = Problems::default();
        check_object(api_version, kind, Path::root().key("context"), &mut problems);
        problems.into_texts()
    };
    for (api_version, kind) in [
        ("v1", "Pod"),
        ("apps/v1", "Deployment"),
        ("networking.k8s.io/v1", "Ingress"),
        ("example.com/v1", "Fish"),
        ("v1", "Fish"),
        ("g/v1", "Report"),
        ("metrics.k8s.io/v1beta1", "Pod"),
        ("kueue.x-k8s.io/v1beta1", "Workload"),
        ("resource.k8s.io/v1beta1", "DeviceTaintRule"),
    ] {
        assert_eq!(problems(api_version, kind), [""; 0], "{api_version} {kind}");
    }
    for (api_version, kind, meant) in [
        ("apps/v1", "Pods", "{apiVersion: v1, kind: Pod}"),
        ("v1", "Pods", "{apiVersion: v1, kind: Pod}"),
        ("core/v1", "Pod", "{apiVersion: v1, kind: Pod}"),
        ("v1", "Deployment", "{apiVersion: apps/v1, kind: Deployment}"),
        ("extensions/v1beta1", "Ingress", "{apiVersion: networking.k8s.io/v1, kind: Ingress}"),
        ("policy/v1beta1", "PodDisruptionBudget", "{apiVersion: policy/v1, kind: PodDisruptionBudget}"),
        ("v1", "Configmap", "{apiVersion: v1, kind: ConfigMap}"),
    ] {
        let expected = format!("context: Kubernetes serves no `{kind}` in `{api_version}`; did you mean `{meant}`?");
        assert_eq!(problems(api_version, kind), [expected]);
    }
    for (api_version, kind, expected) in [
        ("v1", "pods", "context.kind: `pods` is no kind; did you mean `Pod`?"),
        ("v1", "*", "context.kind: `*` is no kind; write it like `Pod`"),
        ("apps", "Deployment", "context.apiVersion: `apps` is no API version; write it like `v1` or `apps/v1`"),
        ("/v1", "Pod", "context.apiVersion: `/v1` is no API version; write it like `v1` or `apps/v1`"),
        ("example.com", "Fish", "context.apiVersion: `example.com` is no API version; write it like `v1` or `apps/v1`"),
    ] {
        assert_eq!(problems(api_version, kind), [expected]);
    }
}

#[test]
fn resources_are_those_of_their_groups_and_versions() {
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let problems = |groups: &[&str], versions: &[&str], resources: &[&str]| {
        let rule = ResourceRule {
            groups: texts(groups),
            versions: texts(versions),
            operations: Vec::new(),
            resources: texts(resources),
            names: Vec::new(),
        };
        misnamed_resources(&rule).into_iter().map(|(key, why)| format!("{key}: {why}")).collect::<Vec<_>>()
    };
    for (groups, versions, resources) in [
        (&[""][..], &["v1"][..], &["pods", "pods/ephemeralcontainers", "pods/*"][..]),
        (&["", "apps"], &["v1"], &["pods", "deployments"]),
        (&["extensions", "apps"], &["v1beta1", "v1"], &["deployments"]),
        (&[], &[], &["pods", "widgets"]),
        (&["*"], &["*"], &["*/*"]),
        (&["serving.knative.dev"], &["v1"], &["services"]),
        (&["batch.volcano.sh"], &["v1alpha1"], &["jobs"]),
        (&["example.com"], &["v2"], &["pod", "*"]),
        (&["autoscaling"], &["v1"], &["horizontalpodautoscalers"]),
        (&["apps"], &["v1"], &["*", "*/scale"]),
        (&["resource.k8s.io"], &["v1"], &["devices"]),
    ] {
        assert_eq!(problems(groups, versions, resources), [""; 0], "{groups:?} {versions:?} {resources:?}");
    }
    for (groups, versions, resource, expected) in [
        (&[""][..], "v1", "Pod", "resources: `Pod` is no resource; did you mean `pods`?"),
        (&[""], "v1", "pod", "resources: `pod` is no resource; did you mean `pods`?"),
        (&[], "*", "pod", "resources: `pod` is no resource; did you mean `pods`?"),
        (&["apps"], "v1", "deploymnets", "resources: `deploymnets` is no resource; did you mean `deployments`?"),
        (
            &["apps"],
            "v1",
            "deployments.apps",
            "resources: `deployments.apps` is no resource; did you mean `deployments`?",
        ),
        (
            &["example.com"],
            "v1",
            "Widgets",
            "resources: `Widgets` is no resource; write it like `pods` or `pods/ephemeralcontainers`",
        ),
        (
            &[""],
            "v1",
            "pods/ephemeralcontainer",
            "resources: `pods/ephemeralcontainer` is no resource; did you mean `pods/ephemeralcontainers`?",
        ),
        (
            &[""],
            "v1",
            "deployments",
            "apiGroups: `deployments` are in the group `apps`, so that this would match none of them",
        ),
        (&["apps"], "v1", "pods", "apiGroups: `pods` are in the group ``, so that this would match none of them"),
        (&["core"], "v1", "pods", "apiGroups: `pods` are in the group ``, so that this would match none of them"),
        (
            &["extensions"],
            "v1beta1",
            "ingresses",
            "apiGroups: `ingresses` are in the group `networking.k8s.io`, so that this would match none of them",
        ),
        (&["extensions"], "v1beta1", "*", "apiGroups: Kubernetes serves nothing in the group `extensions`"),
        (&["apps"], "v1", "widgets", "resources: Kubernetes serves no `widgets` in the group `apps`"),
        (
            &["apps"],
            "v2",
            "deployments",
            "apiVersions: `deployments` are served in v1, so that this would match none of them",
        ),
        (&[""], "v1beta1", "pods", "apiVersions: `pods` are served in v1, so that this would match none of them"),
    ] {
        assert_eq!(problems(groups, &[versions], &[resource]), [expected]);
    }
}

#[test]
fn resources_have_the_names_that_kubernetes_gives_them() {
    for (kind, name) in [
        ("Ingress", "ingresses"),
        ("Pod", "pods"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("StorageClass", "storageclasses"),
        ("Gateway", "gateways"),
        ("Namespace", "namespaces"),
        ("PodDisruptionBudget", "poddisruptionbudgets"),
    ] {
        assert_eq!(plural(kind), name);
    }
}
