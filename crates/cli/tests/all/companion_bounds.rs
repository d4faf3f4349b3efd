//! What the companion may do with its account, whoever has it: the rights of its components, one by one, and what its
//! ValidatingAdmissionPolicies refuse. They are evaluated with the project's own CEL, on objects of which each case changes one thing.

use crate::deploy::overlay;
use crate::support::rendered::{COMPANION, Rendered};
use crate::support::root;
use image_admission_cel::expression::{Program, Scope, Time, map_of, value_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

const COMPONENTS: [&str; 6] = [
    "sources/sbomscanner",
    "companion",
    "companion-evidence",
    "companion-trivy-operator",
    "companion-sbomscanner",
    "companion-scan-job",
];
const ACCOUNT: &str = "system:serviceaccount:kubewarden:image-admission-companion";

/// What the components are rendered to, once for all cases. None where `kubectl` is missing.
fn rendered() -> Option<&'static Rendered> {
    static RENDERED: LazyLock<Option<Rendered>> = LazyLock::new(|| overlay(&COMPONENTS));
    RENDERED.as_ref()
}

/// What is asked of the API server.
struct Request {
    group: &'static str,
    /// With its subresource.
    resource: &'static str,
    operation: &'static str,
    object: Value,
    old: Value,
}

impl Request {
    fn create(group: &'static str, resource: &'static str, object: Value) -> Self {
        Self { group, resource, operation: "CREATE", object, old: Value::Null }
    }

    fn delete(group: &'static str, resource: &'static str, old: Value) -> Self {
        Self { group, resource, operation: "DELETE", object: Value::Null, old }
    }

    /// What the policies say against it, if this user asks. None where `kubectl` is missing.
    fn refusals(&self, user: &str) -> Option<Vec<String>> {
        let rendered = rendered()?;
        let policies = rendered.of_kind("ValidatingAdmissionPolicy").filter(|policy| self.is_matched(policy));
        let specs: Vec<&Value> = policies.map(|policy| &policy["spec"]).collect();
        assert_eq!(specs.len(), 1, "{} {} {}: one policy is about it", self.operation, self.group, self.resource);
        Some(specs.into_iter().flat_map(|spec| self.refused_by(spec, user)).collect())
    }

    fn is_matched(&self, policy: &Value) -> bool {
        let has = |rule: &Value, key: &str, wanted: &str| rule[key].as_array().unwrap().contains(&json!(wanted));
        policy["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap().iter().any(|rule| {
            has(rule, "apiGroups", self.group)
                && has(rule, "resources", self.resource)
                && has(rule, "operations", self.operation)
        })
    }

    fn refused_by(&self, spec: &Value, user: &str) -> Vec<String> {
        let mut variables: Vec<(String, cel::Value)> = Vec::new();
        let resource = self.resource.split('/').next().unwrap();
        let request = json!({
            "operation": self.operation,
            "resource": {"group": self.group, "resource": resource},
            "userInfo": {"username": user},
        });
        let evaluate = |of: &Value, variables: &[(String, cel::Value)]| {
            let program = Program::read(of["expression"].as_str().unwrap()).unwrap_or_else(|why| panic!("{of}: {why}"));
            let mut scope = Scope::new(std::iter::once(&program.references), &Time::default());
            let params = if spec["paramKind"]["kind"] == "CronJob" { scan_template() } else { Value::Null };
            for (name, value) in
                [("request", &request), ("object", &self.object), ("oldObject", &self.old), ("params", &params)]
            {
                scope.set(name, value_of(value));
            }
            scope.set("variables", map_of(variables.iter().map(|(name, value)| (name.as_str(), value.clone()))));
            program.evaluate(&scope).unwrap_or_else(|why| panic!("{of}: {why}"))
        };
        let list = |key: &str| spec[key].as_array().cloned().unwrap_or_default();
        if list("matchConditions").iter().any(|condition| evaluate(condition, &[]) != cel::Value::Bool(true)) {
            return Vec::new();
        }
        for variable in list("variables") {
            let value = evaluate(&variable, &variables);
            variables.push((variable["name"].as_str().unwrap().to_owned(), value));
        }
        let is_refused = |validation: &&Value| match evaluate(validation, &variables) {
            cel::Value::Bool(holds) => !holds,
            other => panic!("{validation}: {other:?}"),
        };
        let said = |validation: &Value| validation["message"].as_str().unwrap().to_owned();
        list("validations").iter().filter(is_refused).map(said).collect()
    }
}

/// Changes one thing of an object.
type Change = fn(&mut Value);

/// Each change is refused for its reason, and without one nothing is.
#[track_caller]
fn check(request: impl Fn(Change) -> Request, cases: &[(Change, &str)]) {
    let Some(nothing) = request(|_| {}).refusals(ACCOUNT) else { return };
    assert_eq!(nothing, [""; 0]);
    for (number, (change, reason)) in cases.iter().enumerate() {
        assert_eq!(request(*change).refusals(ACCOUNT).unwrap(), [*reason], "case {number}");
        // Nobody else is held to it.
        assert_eq!(request(*change).refusals("admin").unwrap(), [""; 0], "case {number}");
    }
}

fn labelled(name: &str) -> Value {
    json!({"name": name, "labels": {"app.kubernetes.io/managed-by": COMPANION}})
}

fn digest() -> String {
    format!("sha256:{}", "1".repeat(64))
}

fn cron_job() -> Value {
    let pod = json!({
        "automountServiceAccountToken": false,
        "restartPolicy": "Never",
        "imagePullSecrets": [{"name": "ghcr"}],
        // These the API server fills in.
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "containers": [{
            "name": "image",
            "image": format!("registry.example.com:5000/team/app@{}", digest()),
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }],
    });
    json!({
        "metadata": labelled("scan-0123456789abcdef0123456789abcdef-12"),
        "spec": {"suspend": true, "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": pod}}}},
    })
}

/// The template of Jobs, as the API server has it.
fn scan_template() -> Value {
    let path = "metadata.annotations['image-admission.kubewarden.io/image']";
    let env = json!([{"name": "IMAGE", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}]);
    let pod = json!({
        "automountServiceAccountToken": false,
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
        "initContainers": [{"name": "scan", "image": "ghcr.io/team/trivy:1", "args": ["image", "$(IMAGE)"], "env": env}],
        "containers": [{"name": "attest", "image": "ghcr.io/team/cosign:1", "args": ["attest", "$(IMAGE)"], "env": env}],
        "volumes": [{"name": "key", "secret": {"secretName": "cosign", "defaultMode": 420}}],
    });
    let metadata =
        json!({"creationTimestamp": null, "labels": {"team": "security"}, "annotations": {"example.com/a": "b"}});
    let job = json!({
        "backoffLimit": 0,
        "activeDeadlineSeconds": 1_800,
        "ttlSecondsAfterFinished": 3_600,
        "template": {"metadata": metadata, "spec": pod},
    });
    let metadata = json!({"labels": {"team": "security"}, "annotations": {"example.com/a": "b"}});
    json!({"metadata": {"name": "scan"}, "spec": {"suspend": true, "jobTemplate": {"metadata": metadata, "spec": job}}})
}

/// What the API server makes of a Job of that template, before it asks policies.
fn image_job() -> Value {
    let mut spec = scan_template()["spec"]["jobTemplate"]["spec"].take();
    for (key, value) in [
        ("parallelism", json!(1)),
        ("completions", json!(1)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
        ("selector", json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}})),
    ] {
        spec[key] = value;
    }
    let metadata = &mut spec["template"]["metadata"];
    metadata["annotations"]["image-admission.kubewarden.io/image"] =
        json!(format!("registry.example.com:5000/team/app@{}", digest()));
    for name in ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"] {
        metadata["labels"][name] = json!("1");
    }
    json!({"metadata": labelled("scan-0123456789abcdef0123456789abcdef-12"), "spec": spec})
}

fn pod(cron_job: &mut Value) -> &mut Value {
    &mut cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
}

fn container(cron_job: &mut Value) -> &mut Value {
    &mut pod(cron_job)["containers"][0]
}

fn image_evidence() -> Value {
    json!({"metadata": labelled(&digest().replace(':', "-")), "spec": {"evidence": []}})
}

fn registry() -> Value {
    json!({
        "metadata": labelled("image-admission-0123456789abcdef0123456789abcdef"),
        "spec": {
            "uri": "ghcr.io",
            "catalogType": "NoCatalog",
            "authSecret": "ghcr",
            "platforms": [{"os": "linux", "arch": "amd64"}],
            "repositories": [{"name": "team/app", "matchConditions": [{"name": "tag", "expression": "tag == \"v1.0\""}]}],
        },
    })
}

fn scan_job() -> Value {
    let registry = "image-admission-0123456789abcdef0123456789abcdef";
    json!({"metadata": labelled(&format!("{registry}-3")), "spec": {"registry": registry}})
}

const OWN: &str = "the companion creates and deletes only what has its label";

#[test]
fn a_cron_job_names_an_image_and_nothing_else() {
    const POD: &str = "a Pod of the companion's CronJobs has no volumes, no account, and nothing of its node";
    const CONTAINER: &str =
        "a Pod of the companion's CronJobs has one container, without command, arguments, environment and mounts";
    const PRIVILEGES: &str = "a container of the companion's CronJobs has no privileges";
    const IMAGE: &str = "a CronJob of the companion's names an image by its registry and its digest";
    const NAME: &str = "the companion names a CronJob by the image";
    const SUSPENDED: &str = "a CronJob of the companion's is suspended";
    const TOKEN: &str = "a CronJob of the companion's has no token";
    const OWNED: &str = "a CronJob of the companion's has no owner and no finalizer";
    let request = |change: Change| {
        let mut object = cron_job();
        change(&mut object);
        Request::create("batch", "cronjobs", object)
    };
    check(
        request,
        &[
            (|it| drop(it["metadata"].as_object_mut().unwrap().remove("labels")), OWN),
            (|it| it["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "helm"}), OWN),
            (|it| it["metadata"]["name"] = json!("backup"), NAME),
            (|it| it["metadata"]["finalizers"] = json!(["example.com/stay"]), OWNED),
            (|it| it["metadata"]["ownerReferences"] = json!([{"kind": "Pod"}]), OWNED),
            (|it| it["spec"]["suspend"] = json!(false), SUSPENDED),
            (|it| drop(it["spec"].as_object_mut().unwrap().remove("suspend")), SUSPENDED),
            (|it| pod(it)["automountServiceAccountToken"] = json!(true), TOKEN),
            (|it| drop(pod(it).as_object_mut().unwrap().remove("automountServiceAccountToken")), TOKEN),
            (|it| pod(it)["serviceAccountName"] = json!("admin"), POD),
            (|it| pod(it)["volumes"] = json!([{"name": "host", "hostPath": {"path": "/"}}]), POD),
            (|it| pod(it)["hostNetwork"] = json!(true), POD),
            (|it| pod(it)["initContainers"] = json!([]), POD),
            (|it| pod(it)["fieldOfTomorrow"] = json!(true), POD),
            (|it| container(it)["command"] = json!(["sh"]), CONTAINER),
            (|it| container(it)["args"] = json!(["-c"]), CONTAINER),
            (|it| container(it)["env"] = json!([{"name": "A", "value": "b"}]), CONTAINER),
            (|it| container(it)["envFrom"] = json!([{"secretRef": {"name": "key"}}]), CONTAINER),
            (|it| container(it)["volumeMounts"] = json!([]), CONTAINER),
            (
                |it| {
                    let another = container(it).clone();
                    pod(it)["containers"].as_array_mut().unwrap().push(another);
                },
                CONTAINER,
            ),
            (|it| pod(it)["containers"] = json!([]), CONTAINER),
            (|it| container(it)["securityContext"] = json!({"privileged": true}), PRIVILEGES),
            (|it| container(it)["securityContext"] = json!({"allowPrivilegeEscalation": true}), PRIVILEGES),
            (|it| container(it)["securityContext"] = json!({"capabilities": {"add": ["SYS_ADMIN"]}}), PRIVILEGES),
            (|it| container(it)["securityContext"] = json!({"procMount": "Unmasked"}), PRIVILEGES),
            (|it| container(it)["image"] = json!("ghcr.io/team/app:v1"), IMAGE),
            (|it| container(it)["image"] = json!(format!("app@{}", digest())), IMAGE),
            (|it| container(it)["image"] = json!("ghcr.io/team/app@sha256:1"), IMAGE),
        ],
    );
    // What policies of other engines ask of every container.
    let restricted = request(|it| {
        container(it)["securityContext"] = json!({
            "allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true, "runAsNonRoot": true,
            "runAsUser": 65532, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
        });
    });
    assert_eq!(restricted.refusals(ACCOUNT).unwrap_or_default(), [""; 0]);
}

#[test]
fn a_registry_is_one_tag() {
    const TLS: &str = "a Registry of the companion's has no `insecure` and no `caBundle`";
    const TAG: &str = "a Registry of the companion's has one repository and one tag";
    const CATALOG: &str = "a Registry of the companion's has the catalogType `NoCatalog`";
    const ASKED: &str = "a Registry of the companion's is scanned when it is asked for";
    const OWNED: &str = "what the companion creates has no owner and no finalizer";
    fn condition(it: &mut Value) -> &mut Value {
        &mut it["spec"]["repositories"][0]["matchConditions"][0]
    }
    check(
        |change| {
            let mut object = registry();
            change(&mut object);
            Request::create("sbomscanner.kubewarden.io", "registries", object)
        },
        &[
            (|it| it["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("sbomscanner"), OWN),
            (|it| it["metadata"]["name"] = json!("team"), "the companion names a Registry by the image"),
            (|it| it["metadata"]["finalizers"] = json!(["example.com/stay"]), OWNED),
            (|it| it["spec"]["insecure"] = json!(true), TLS),
            (|it| it["spec"]["caBundle"] = json!("-----BEGIN"), TLS),
            (|it| it["spec"]["catalogType"] = json!("OCIDistribution"), CATALOG),
            (|it| drop(it["spec"].as_object_mut().unwrap().remove("catalogType")), CATALOG),
            (|it| it["spec"]["scanInterval"] = json!("1m"), ASKED),
            (|it| it["spec"]["fieldOfTomorrow"] = json!(1), ASKED),
            (|it| drop(it["spec"].as_object_mut().unwrap().remove("repositories")), TAG),
            (|it| it["spec"]["repositories"] = json!([]), TAG),
            (|it| it["spec"]["repositories"].as_array_mut().unwrap().push(json!({"name": "team/other"})), TAG),
            (|it| drop(it["spec"]["repositories"][0].as_object_mut().unwrap().remove("matchConditions")), TAG),
            (|it| condition(it)["expression"] = json!("true"), TAG),
            (|it| condition(it)["expression"] = json!("tag == \"a\" || tag == \"b\""), TAG),
        ],
    );
}

#[test]
fn a_scan_job_is_of_its_own_registry() {
    const REGISTRY: &str = "a ScanJob of the companion's is of its own Registry";
    check(
        |change| {
            let mut object = scan_job();
            change(&mut object);
            Request::create("sbomscanner.kubewarden.io", "scanjobs", object)
        },
        &[
            (|it| drop(it["metadata"].as_object_mut().unwrap().remove("labels")), OWN),
            (|it| it["spec"]["registry"] = json!("team"), REGISTRY),
            (|it| it["metadata"]["name"] = json!("team-1"), REGISTRY),
        ],
    );
}

#[test]
fn a_job_is_the_template_with_an_image() {
    const NAME: &str = "the companion names a Job by the image";
    const OWNED: &str = "a Job of the companion's has no owner and no finalizer";
    const POD: &str = "a Pod of the companion's Jobs is the template's";
    const JOB: &str = "a Job of the companion's is the template's";
    const OF_JOB: &str = "a Job of the companion's has the template's labels and annotations, and its own";
    const LABELS: &str = "a Pod of the companion's Jobs has the template's labels";
    const ANNOTATIONS: &str = "a Pod of the companion's Jobs has the template's annotations, and an image";
    const IMAGE: &str = "a Job of the companion's names an image by its registry and its digest";
    fn pod(it: &mut Value) -> &mut Value {
        &mut it["spec"]["template"]["spec"]
    }
    fn metadata(it: &mut Value) -> &mut Value {
        &mut it["spec"]["template"]["metadata"]
    }
    fn image(it: &mut Value) -> &mut Value {
        &mut metadata(it)["annotations"]["image-admission.kubewarden.io/image"]
    }
    fn remove(from: &mut Value, key: &str) {
        assert!(from.as_object_mut().unwrap().remove(key).is_some());
    }
    let request = |change: Change| {
        let mut object = image_job();
        change(&mut object);
        Request::create("batch", "jobs", object)
    };
    check(
        request,
        &[
            (|it| remove(&mut it["metadata"], "labels"), OWN),
            (|it| it["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("helm"), OWN),
            (|it| it["metadata"]["name"] = json!("backup"), NAME),
            (|it| it["metadata"]["finalizers"] = json!(["example.com/stay"]), OWNED),
            (|it| it["metadata"]["ownerReferences"] = json!([{"kind": "Pod"}]), OWNED),
            (|it| pod(it)["containers"][0]["image"] = json!("ghcr.io/other/image:1"), POD),
            (|it| pod(it)["containers"][0]["args"] = json!(["sh"]), POD),
            (|it| pod(it)["containers"][0]["command"] = json!(["sh"]), POD),
            (|it| pod(it)["initContainers"] = json!([]), POD),
            (|it| remove(pod(it), "volumes"), POD),
            (|it| pod(it)["automountServiceAccountToken"] = json!(true), POD),
            (|it| pod(it)["serviceAccountName"] = json!("admin"), POD),
            (|it| pod(it)["ephemeralContainers"] = json!([]), POD),
            (|it| it["spec"]["backoffLimit"] = json!(6), JOB),
            (|it| remove(&mut it["spec"], "activeDeadlineSeconds"), JOB),
            (|it| it["spec"]["ttlSecondsAfterFinished"] = json!(0), JOB),
            (|it| it["spec"]["parallelism"] = json!(2), JOB),
            (|it| it["spec"]["completions"] = json!(2), JOB),
            (|it| it["spec"]["podFailurePolicy"] = json!({}), JOB),
            (|it| it["spec"]["manualSelector"] = json!(true), JOB),
            (|it| it["spec"]["fieldOfTomorrow"] = json!(1), JOB),
            (|it| it["spec"]["suspend"] = json!(true), JOB),
            (|it| it["spec"]["completionMode"] = json!("Indexed"), JOB),
            (|it| it["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = json!("queue"), OF_JOB),
            (|it| it["metadata"]["labels"]["team"] = json!("other"), OF_JOB),
            (|it| it["metadata"]["annotations"] = json!({"argocd.argoproj.io/tracking-id": "a"}), OF_JOB),
            (|it| it["metadata"]["annotations"] = json!({"example.com/a": "other"}), OF_JOB),
            (|it| metadata(it)["finalizers"] = json!(["example.com/stay"]), LABELS),
            (|it| metadata(it)["labels"]["team"] = json!("other"), LABELS),
            (|it| remove(&mut metadata(it)["labels"], "team"), LABELS),
            (|it| metadata(it)["labels"]["azure.workload.identity/use"] = json!("true"), LABELS),
            (|it| metadata(it)["annotations"]["example.com/a"] = json!("other"), ANNOTATIONS),
            (|it| metadata(it)["annotations"]["example.com/b"] = json!("b"), ANNOTATIONS),
            (|it| remove(&mut metadata(it)["annotations"], "example.com/a"), ANNOTATIONS),
            (|it| remove(&mut metadata(it)["annotations"], "image-admission.kubewarden.io/image"), IMAGE),
            (|it| *image(it) = json!("ghcr.io/team/app:v1"), IMAGE),
            (|it| *image(it) = json!(format!("app@{}", digest())), IMAGE),
            (|it| *image(it) = json!(format!("--key=x ghcr.io/team/app@{}", digest())), IMAGE),
            (|it| *image(it) = json!(format!("-c/team/app@{}", digest())), IMAGE),
            (|it| *image(it) = json!(format!("ghcr.io/team/app@{}\n", digest())), IMAGE),
        ],
    );
    // What the template says of the Job itself.
    let bare = request(|it| {
        it["metadata"]["labels"]["team"] = json!("security");
        it["metadata"]["annotations"] = json!({"example.com/a": "b", "image-admission.kubewarden.io/image": "a"});
    });
    assert_eq!(bare.refusals(ACCOUNT).unwrap_or_default(), [""; 0]);
}

#[test]
fn only_its_own_objects_are_deleted() {
    for (group, resource, object) in [
        ("batch", "cronjobs", cron_job as fn() -> Value),
        ("batch", "jobs", image_job),
        ("sbomscanner.kubewarden.io", "registries", registry),
        ("sbomscanner.kubewarden.io", "scanjobs", scan_job),
        ("image-admission.kubewarden.io", "imageevidences", image_evidence),
    ] {
        check(
            |change| {
                let mut old = object();
                // Whatever else somebody wrote into it.
                old["spec"]["suspend"] = json!(false);
                change(&mut old);
                Request::delete(group, resource, old)
            },
            &[
                (|it| drop(it["metadata"].as_object_mut().unwrap().remove("labels")), OWN),
                (|it| it["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("helm"), OWN),
            ],
        );
    }
}

/// It may read no Secret, and these are in its Pod, if somebody made them.
#[test]
fn the_secrets_in_its_pod_are_these_and_may_be_missing() {
    let Some(rendered) = rendered() else { return };
    let deployment = rendered.of_kind("Deployment").find(|it| it["metadata"]["name"] == COMPANION).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    let list = |of: &Value| of.as_array().unwrap().clone();
    let containers = list(&pod["containers"]);
    let environment = containers.iter().flat_map(|container| list(&container["env"]));
    let of_environment = environment.map(|variable| variable["valueFrom"]["secretKeyRef"].clone());
    let of_volumes = list(&pod["volumes"]).into_iter().map(|volume| volume["secret"].clone());
    let secrets: Vec<Value> = of_environment.chain(of_volumes).filter(|secret| !secret.is_null()).collect();
    let credentials = json!({
        "secretName": "registry-credentials",
        "optional": true,
        "items": [{"key": ".dockerconfigjson", "path": "config.json"}],
    });
    let token = json!({"name": "image-admission-companion-github", "key": "token", "optional": true});
    assert_eq!(secrets, [token, credentials]);
}

#[test]
fn evidence_is_named_by_a_digest() {
    const NAME: &str = "the companion names an ImageEvidence by a digest";
    const OWNED: &str = "what the companion creates has no owner and no finalizer";
    check(
        |change| {
            let mut object = image_evidence();
            change(&mut object);
            Request::create("image-admission.kubewarden.io", "imageevidences", object)
        },
        &[
            (|it| drop(it["metadata"].as_object_mut().unwrap().remove("labels")), OWN),
            (|it| it["metadata"]["labels"]["app.kubernetes.io/managed-by"] = json!("helm"), OWN),
            (|it| it["metadata"]["name"] = json!("sha256-11"), NAME),
            (|it| it["metadata"]["name"] = json!(format!("a-{}", digest().replace(':', "-"))), NAME),
            (|it| it["metadata"]["ownerReferences"] = json!([]), OWNED),
            (|it| it["metadata"]["finalizers"] = json!(["a/b"]), OWNED),
        ],
    );
}

#[test]
fn of_a_status_its_own_condition_is_written() {
    const METADATA: &str = "the companion changes no metadata";
    const STATUS: &str = "of a status, the companion changes the conditions alone";
    const CONDITION: &str = "of the conditions, the companion changes `ImagesScanned` alone";
    const SHORT: &str = "the condition `ImagesScanned` is one, and short";
    let before = json!({
        "metadata": {"name": "web", "labels": {"app": "web"}, "generation": 1, "resourceVersion": "7", "managedFields": []},
        "spec": {"replicas": 1},
        "status": {"replicas": 0, "conditions": [{"type": "ReplicaFailure", "status": "True"}]},
    });
    for (group, resource) in [
        ("", "replicationcontrollers/status"),
        ("apps", "replicasets/status"),
        ("apps", "statefulsets/status"),
        ("apps", "daemonsets/status"),
        ("batch", "jobs/status"),
    ] {
        check(
            |change| {
                let mut object = before.clone();
                object["metadata"]["managedFields"] = json!([{"manager": COMPANION}]);
                object["metadata"]["resourceVersion"] = json!("8");
                let own = json!({"type": "ImagesScanned", "status": "True"});
                object["status"]["conditions"].as_array_mut().unwrap().push(own);
                change(&mut object);
                Request { group, resource, operation: "UPDATE", object, old: before.clone() }
            },
            &[
                (|it| it["spec"]["replicas"] = json!(0), "the companion changes no spec"),
                (|it| it["metadata"]["labels"]["app"] = json!("other"), METADATA),
                (|it| it["metadata"]["annotations"] = json!({"image-admission/break-glass": "x"}), METADATA),
                (|it| it["metadata"]["ownerReferences"] = json!([]), METADATA),
                (|it| it["metadata"]["finalizers"] = json!(["example.com/stay"]), METADATA),
                (|it| drop(it["metadata"].as_object_mut().unwrap().remove("labels")), METADATA),
                (|it| it["status"]["replicas"] = json!(1), STATUS),
                (|it| it["status"]["succeeded"] = json!(1), STATUS),
                (|it| drop(it["status"].as_object_mut().unwrap().remove("replicas")), STATUS),
                (|it| it["status"]["conditions"][1]["type"] = json!("Complete"), CONDITION),
                (|it| it["status"]["conditions"][0]["status"] = json!("False"), CONDITION),
                (|it| drop(it["status"]["conditions"].as_array_mut().unwrap().remove(0)), CONDITION),
                // What fills an object keeps its controller from writing it.
                (|it| it["status"]["conditions"][1]["message"] = json!("a".repeat(1_025)), SHORT),
                (|it| it["status"]["conditions"][1]["reason"] = json!("a".repeat(129)), SHORT),
                (
                    |it| {
                        let conditions = it["status"]["conditions"].as_array_mut().unwrap();
                        conditions.push(conditions[1].clone());
                    },
                    SHORT,
                ),
            ],
        );
    }
    // The first condition of all.
    let status = json!({"conditions": [{"type": "ImagesScanned", "status": "True"}]});
    let mut object = before.clone();
    object["status"] = status;
    let mut old = before;
    drop(old.as_object_mut().unwrap().remove("status"));
    let first = Request { group: "batch", resource: "jobs/status", operation: "UPDATE", object, old };
    assert_eq!(first.refusals(ACCOUNT).unwrap_or_default(), [""; 0]);
}

#[test]
fn events_are_in_its_own_name() {
    const NAME: &str = "the companion writes Events in its own name alone";
    const ABOUT: &str = "the companion writes Events about scans alone";
    check(
        |change| {
            let mut object =
                json!({"metadata": {"name": "web.1"}, "reportingController": COMPANION, "reason": "ScanFailed"});
            change(&mut object);
            Request::create("events.k8s.io", "events", object)
        },
        &[
            (|it| it["reportingController"] = json!("kubelet"), NAME),
            (|it| drop(it.as_object_mut().unwrap().remove("reportingController")), NAME),
            (|it| it["reason"] = json!("Killing"), ABOUT),
        ],
    );
    // One that happened again.
    let event = json!({"metadata": {"name": "web.1"}, "reportingController": COMPANION, "reason": "ScanFailed"});
    check(
        |change| {
            let mut old = event.clone();
            change(&mut old);
            Request { group: "events.k8s.io", resource: "events", operation: "UPDATE", object: event.clone(), old }
        },
        &[(|it| it["reportingController"] = json!("kubelet"), NAME)],
    );
}

#[test]
fn a_lease_is_its_own() {
    check(
        |change| {
            let mut object = json!({"metadata": {"name": COMPANION}, "spec": {}});
            change(&mut object);
            Request::create("coordination.k8s.io", "leases", object)
        },
        &[(|it| it["metadata"]["name"] = json!("kubewarden-controller"), "the companion creates no Lease but its own")],
    );
}

// === rights ===

/// One right: the namespace, the group and the resource, the verb, and the only names.
type Right = (Option<String>, String, String, Vec<String>);

fn rights(rendered: &Rendered) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for granted in rendered.granted_to(COMPANION) {
        for rule in granted.rules {
            assert_eq!(rule.non_resource_urls, None);
            for group in rule.api_groups.iter().flatten() {
                for resource in rule.resources.iter().flatten() {
                    for verb in &rule.verbs {
                        let names = rule.resource_names.clone().unwrap_or_default();
                        let of = format!("{group}/{resource}");
                        rights.insert((granted.namespace.clone(), of, verb.clone(), names));
                    }
                }
            }
        }
    }
    rights
}

#[test]
fn its_rights_are_these_and_no_others() {
    let Some(rendered) = rendered() else { return };
    let mut expected = BTreeSet::new();
    let mut grant = |namespace: Option<&str>, of: &[&str], verbs: &[&str], names: &[&str]| {
        for of in of {
            for verb in verbs {
                let names = names.iter().map(|name| (*name).to_owned()).collect();
                expected.insert((namespace.map(str::to_owned), (*of).to_owned(), (*verb).to_owned(), names));
            }
        }
    };
    let watch = ["list", "watch"];
    let ask = ["list", "watch", "create", "delete"];
    grant(
        None,
        &[
            "/pods",
            "/replicationcontrollers",
            "/namespaces",
            "apps/deployments",
            "apps/replicasets",
            "apps/statefulsets",
            "apps/daemonsets",
        ],
        &watch,
        &[],
    );
    grant(None, &["batch/jobs", "batch/cronjobs"], &watch, &[]);
    grant(None, &["events.k8s.io/events"], &["create", "patch"], &[]);
    grant(None, &["policies.kubewarden.io/clusteradmissionpolicies"], &["get"], &["image-admission"]);
    grant(
        None,
        &[
            "/replicationcontrollers/status",
            "apps/replicasets/status",
            "apps/statefulsets/status",
            "apps/daemonsets/status",
            "batch/jobs/status",
        ],
        &["patch"],
        &[],
    );
    let leases = ["coordination.k8s.io/leases"];
    grant(Some("kubewarden"), &leases, &["create"], &[]);
    grant(Some("kubewarden"), &leases, &["get", "update"], &[COMPANION]);
    grant(Some("image-scans"), &["batch/cronjobs"], &ask, &[]);
    grant(None, &["image-admission.kubewarden.io/imageevidences"], &ask, &[]);
    grant(None, &["image-admission.kubewarden.io/imageevidences"], &["get"], &[]);
    grant(Some("image-scan-jobs"), &["batch/jobs"], &ask, &[]);
    grant(Some("image-scan-jobs"), &["batch/cronjobs"], &["get"], &["scan"]);
    let reports = ["aquasecurity.github.io/vulnerabilityreports", "aquasecurity.github.io/sbomreports"];
    grant(Some("image-scans"), &reports, &watch, &[]);
    grant(
        Some("sbomscanner"),
        &["sbomscanner.kubewarden.io/registries", "sbomscanner.kubewarden.io/scanjobs"],
        &ask,
        &[],
    );
    let reports =
        ["vulnerabilityreports", "images", "sboms"].map(|one| format!("storage.sbomscanner.kubewarden.io/{one}"));
    grant(Some("sbomscanner"), &reports.each_ref().map(String::as_str), &watch, &[]);
    assert_eq!(rights(rendered), expected);
}

#[test]
fn whatever_it_may_write_is_bounded() {
    let Some(rendered) = rendered() else { return };
    let policies: Vec<&Value> = rendered.of_kind("ValidatingAdmissionPolicy").collect();
    let mut bounded = 0;
    for (namespace, of, verb, names) in rights(rendered) {
        let operation = match verb.as_str() {
            "create" => "CREATE",
            "delete" => "DELETE",
            "patch" => "UPDATE",
            // The one Lease.
            "update" if !names.is_empty() => continue,
            "get" | "list" | "watch" => continue,
            other => panic!("{other} of {of} in {namespace:?}"),
        };
        let (group, resource) = of.split_once('/').unwrap();
        let is_about = |rule: &Value| {
            let has = |key: &str, wanted: &str| rule[key].as_array().unwrap().contains(&json!(wanted));
            has("apiGroups", group) && has("resources", resource) && has("operations", operation)
        };
        let rules = |policy: &Value| policy["spec"]["matchConstraints"]["resourceRules"].as_array().unwrap().clone();
        assert!(policies.iter().any(|policy| rules(policy).iter().any(is_about)), "{verb} {of} has no bound");
        bounded += 1;
    }
    assert_eq!(bounded, 18, "where are the rights?");
}

/// They hold for this account alone, refuse, and refuse too where they can't be evaluated.
#[test]
fn every_bound_is_bound() {
    let Some(rendered) = rendered() else { return };
    let bindings: Vec<&Value> = rendered.of_kind("ValidatingAdmissionPolicyBinding").collect();
    let policies: Vec<&Value> = rendered.of_kind("ValidatingAdmissionPolicy").collect();
    assert_eq!((policies.len(), bindings.len()), (8, 8));
    for (policy, binding) in policies.into_iter().zip(bindings) {
        let name = &policy["metadata"]["name"];
        // Kubernetes 1.30 has these.
        assert_eq!(
            (&policy["apiVersion"], &binding["apiVersion"]),
            (&json!("admissionregistration.k8s.io/v1"), &json!("admissionregistration.k8s.io/v1"))
        );
        let mut spec = json!({"policyName": name, "validationActions": ["Deny"]});
        if policy["spec"].get("paramKind").is_some() {
            let of = json!({"name": "scan", "namespace": "image-scan-jobs", "parameterNotFoundAction": "Deny"});
            spec["paramRef"] = of;
        }
        assert_eq!(binding["spec"], spec);
        assert_eq!(policy["spec"]["failurePolicy"], "Fail", "{name}");
        let own = format!("request.userInfo.username == '{ACCOUNT}'");
        assert_eq!(policy["spec"]["matchConditions"], json!([{"name": "companion", "expression": own}]), "{name}");
        let accounts: Vec<String> = rendered
            .of_kind("ServiceAccount")
            .map(|account| &account["metadata"])
            .map(|own| {
                format!(
                    "system:serviceaccount:{}:{}",
                    own["namespace"].as_str().unwrap(),
                    own["name"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(accounts, [ACCOUNT]);
    }
}

#[test]
fn it_runs_as_what_releases_have() {
    let Some(rendered) = rendered() else { return };
    let [deployment] = rendered.of_kind("Deployment").collect::<Vec<_>>().try_into().unwrap();
    let metadata: Value =
        yaml_serde::from_str(&fs::read_to_string(root().join("policy-metadata.yml")).unwrap()).unwrap();
    let annotation = |key: &str| metadata["annotations"][key].as_str().unwrap().to_owned();
    let (url, version) = (annotation("io.kubewarden.policy.ociUrl"), annotation("io.kubewarden.policy.version"));
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(container["image"], format!("{url}-cli:v{version}"));
    assert_eq!(pod["serviceAccountName"], COMPANION);
    assert_eq!(
        (&deployment["metadata"]["namespace"], &deployment["spec"]["replicas"]),
        (&json!("kubewarden"), &json!(1))
    );
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["resources"]["limits"], json!({"memory": "200Mi"}));
    // Each component brings a file of settings, and all of them are in one folder.
    let sources = pod["volumes"][0]["projected"]["sources"].as_array().unwrap();
    let mounted: Vec<&Value> = sources.iter().map(|source| &source["configMap"]["name"]).collect();
    let files: Vec<(&Value, Vec<&String>)> = rendered
        .of_kind("ConfigMap")
        .filter(|map| mounted.contains(&&map["metadata"]["name"]))
        .map(|map| (&map["metadata"]["name"], map["data"].as_object().unwrap().keys().collect()))
        .collect();
    assert_eq!(files.len(), mounted.len(), "{files:?}");
    let names: BTreeSet<&String> = files.iter().flat_map(|(_, names)| names.clone()).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["evidence.yaml", "scan-job.yaml", "settings.yaml"]);
}
