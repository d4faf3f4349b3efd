//! A cluster made of manifests.
use std::path::Path;

use image_admission_module_host::answers::files::{ClusterFiles, Files};
use image_admission_module_host::answers::{AnswerSource, GetResource, ListAll, ListByNamespace, Request};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

const OBJECTS: &[(&str, &str)] = &[
    (
        "a/two-documents.yaml",
        r"
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {app: web}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', kept: 'yes'}
spec: {containers: [{name: c, image: 'a:1', args: [x]}, {name: d, image: 'b:1'}]}
---
---
apiVersion: v1
kind: Pod
metadata: {name: db, labels: {app: db}}
spec: {containers: [], nodeName: n1}
",
    ),
    (
        "lists.yml",
        r"
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: shop}}
- {apiVersion: v1, kind: Pod, metadata: {name: api, namespace: shop}}
---
apiVersion: example.org/v1
kind: ReportList
items:
- metadata: {name: r1, namespace: shop}
  imageMetadata: {digest: 'sha256:1'}
- metadata: {name: r2, namespace: shop}
  imageMetadata: {digest: 'sha256:2'}
",
    ),
    (
        "b/crd.json",
        "{\n\t\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\",\n\t\"metadata\": {\"name\": \"zones.example.org\"},\n\t\"spec\": {\"group\": \"example.org\", \"scope\": \"Cluster\", \"names\": {\"kind\": \"Zone\"}}\n}",
    ),
    ("a/zone.yaml", "{apiVersion: example.org/v1, kind: Zone, metadata: {name: z}}"),
    ("notes.txt", "not a manifest"),
];

fn ask(request: &Request) -> Result<Value, String> {
    let folder = folder(OBJECTS);
    let cluster = ClusterFiles::from_folder(folder.path()).unwrap();
    let answer = Files::new(Some(cluster), None).answer(request)?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

fn get(api_version: &str, kind: &str, namespace: Option<&str>, name: &str, masks: &[&str]) -> Result<Value, String> {
    ask(&Request::KubernetesGetResource(GetResource {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: namespace.map(str::to_owned),
        disable_cache: false,
        field_masks: (!masks.is_empty()).then(|| masks.iter().map(|&m| m.to_owned()).collect()),
    }))
}

/// The names in a list of everything.
fn names(api_version: &str, kind: &str, labels: Option<&str>, fields: Option<&str>) -> Result<Vec<String>, String> {
    let list = ask(&Request::KubernetesListResourceAll(ListAll {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        label_selector: labels.map(str::to_owned),
        field_selector: fields.map(str::to_owned),
        field_masks: None,
    }))?;
    let items = list["items"].as_array().unwrap();
    Ok(items.iter().map(|i| i["metadata"]["name"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn an_object_is_found_by_its_name() {
    assert_eq!(
        get("v1", "Pod", Some("shop"), "api", &[]),
        Ok(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "api", "namespace": "shop"}}))
    );
    assert_eq!(get("v1", "Pod", Some("default"), "db", &[]).unwrap()["spec"]["nodeName"], "n1");
    assert_eq!(get("example.org/v1", "Report", Some("shop"), "r1", &[]).unwrap()["kind"], "Report");
    // As on the real host, the namespace plays no part where there are none.
    assert!(get("v1", "Namespace", Some("anything"), "shop", &[]).is_ok());
    assert!(get("example.org/v1", "Zone", None, "z", &[]).is_ok());
}

#[test]
fn an_object_that_is_not_there_is_not_found() {
    assert_eq!(
        get("v1", "Pod", Some("shop"), "db", &[]),
        Err(r#"Cannot find v1/Pod named 'db' inside of namespace 'Some("shop")'"#.to_owned())
    );
    assert_eq!(
        get("v1", "Node", None, "n", &[]),
        Err("Cannot find v1/Node named 'n' inside of namespace 'None'".to_owned())
    );
    assert_eq!(
        get("v1", "Pod", None, "db", &[]),
        Err("Resource v1/Pod is namespaced, but no namespace was provided".to_owned())
    );
}

#[test]
fn masks_keep_the_metadata_and_the_kind() {
    assert_eq!(
        get("v1", "Pod", Some("shop"), "web", &["spec.containers.image"]),
        Ok(json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "web",
                "namespace": "shop",
                "labels": {"app": "web"},
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"},
            },
            "spec": {"containers": [{"image": "a:1"}, {"image": "b:1"}]},
        }))
    );
}

#[test]
fn a_list_looks_as_the_real_host_s() {
    let wanted = ListByNamespace {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        namespace: "shop".to_owned(),
        label_selector: Some("app".to_owned()),
        field_selector: None,
        field_masks: Some(["spec.containers.name".to_owned()].into()),
    };
    assert_eq!(
        ask(&Request::KubernetesListResourceNamespace(wanted.clone())),
        Ok(json!({
            "apiVersion": "v1",
            "kind": "PodList",
            "metadata": {},
            "items": [{
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": "web",
                    "namespace": "shop",
                    "labels": {"app": "web"},
                    "annotations": {"kept": "yes"},
                    "managedFields": [],
                },
                "spec": {"containers": [{"name": "c"}, {"name": "d"}]},
            }],
        }))
    );
    let zones = ListByNamespace { api_version: "example.org/v1".to_owned(), kind: "Zone".to_owned(), ..wanted };
    assert_eq!(
        ask(&Request::KubernetesListResourceNamespace(zones)),
        Err("resource example.org/v1/Zone is cluster wide. Cannot search for it inside of a namespace".to_owned())
    );
}

#[test]
fn lists_are_selected_and_ordered() {
    assert_eq!(names("v1", "Pod", None, None).unwrap(), ["db", "api", "web"]);
    assert_eq!(names("v1", "Pod", Some("app in (web, db)"), None).unwrap(), ["db", "web"]);
    assert_eq!(names("v1", "Pod", None, Some("metadata.namespace=shop")).unwrap(), ["api", "web"]);
    assert_eq!(names("example.org/v1", "Report", None, Some("imageMetadata.digest=sha256:2")).unwrap(), ["r2"]);
    assert_eq!(names("apps/v1", "Deployment", None, None), Ok(vec![]));
    assert!(names("v1", "Pod", Some("app near web"), None).is_err());
}

#[test]
fn without_a_cluster_the_answer_says_how_to_give_one() {
    let wanted = ListAll {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        label_selector: None,
        field_selector: None,
        field_masks: None,
    };
    assert_eq!(
        Files::default().answer(&Request::KubernetesListResourceAll(wanted)),
        Err("there is no cluster to ask; give its objects with `--cluster DIR`, or use `--live`".to_owned())
    );
}

#[track_caller]
fn check_refused(files: &[(&str, &str)], expected: &str) {
    let folder = folder(files);
    let error = ClusterFiles::from_folder(folder.path()).unwrap_err().to_string();
    let shown = folder.path().display().to_string();
    assert_eq!(error.replace(&shown, "DIR"), expected);
}

#[test]
fn an_empty_folder_is_an_empty_cluster() {
    let cluster = ClusterFiles::from_folder(folder(&[]).path()).unwrap();
    assert_eq!(cluster.files().count(), 0);
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_the_document() {
    check_refused(&[("x.txt", "")], "no `.yaml`, `.yml` or `.json` file in `DIR`");
    check_refused(
        &[("a/x.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\nkind: Pod\n")],
        "`DIR/a/x.yaml`, document 2: `apiVersion` is missing; is this a Kubernetes object?",
    );
    check_refused(
        &[("x.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {generateName: a-}\n")],
        "`DIR/x.yaml`, document 1: `metadata.name` is missing",
    );
    check_refused(
        &[("x.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [x]}\n")],
        "`DIR/x.yaml`, document 1: not a Kubernetes object: invalid type: sequence, expected a map",
    );
    check_refused(
        &[("x.yaml", "a: [\n")],
        "`DIR/x.yaml`, document 1: did not find expected node content at line 2 column 1, while parsing a flow node",
    );
    check_refused(
        &[("x.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a, namespace: b}\n")],
        "`DIR/x.yaml`, document 1: Node `a` cannot be in namespace `b`: the kind is cluster-wide; remove `metadata.namespace`",
    );
    check_refused(
        &[
            ("x.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"),
            ("y.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: default}\n"),
        ],
        "`DIR/y.yaml`, document 1: Pod `a` in namespace `default` is there twice; remove one of them",
    );
    let missing = ClusterFiles::from_folder(Path::new("no/such/folder")).unwrap_err();
    assert!(missing.to_string().starts_with("cannot read `no/such/folder`: "));
}

/// A right to objects is none to their status, and the other way round.
#[test]
fn rights_to_subresources_are_their_own() {
    let roles = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: r}
rules:
  - {apiGroups: [apps], resources: [replicasets/status, deployments], verbs: [patch]}
  - {apiGroups: [batch], resources: ['*/status'], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: b}
subjects: [{kind: User, name: u}]
roleRef: {kind: ClusterRole, name: r}
";
    let files = Files::new(Some(ClusterFiles::from_folder(folder(&[("r.yaml", roles)]).path()).unwrap()), None);
    for (group, resource, subresource, expected) in [
        ("apps", "replicasets", "status", true),
        ("apps", "replicasets", "", false),
        ("apps", "replicasets", "scale", false),
        ("apps", "deployments", "", true),
        ("apps", "deployments", "status", false),
        ("batch", "jobs", "status", true),
        ("batch", "jobs", "", false),
    ] {
        let attributes = json!({"verb": "patch", "group": group, "resource": resource, "subresource": subresource});
        let request = json!({"user": "u", "groups": [], "resource_attributes": attributes});
        let answer = files.answer(&Request::KubernetesCanI { request, disable_cache: true }).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer, json!({"allowed": expected}), "{group} {resource}/{subresource}");
    }
}

/// Kubewarden's kinds of the cluster are in no namespace, whether or not their definitions are among the files.
#[test]
fn kubewardens_policies_of_the_cluster_have_no_namespace() {
    let text = "{apiVersion: policies.kubewarden.io/v1, kind: KIND, metadata: {name: p}}";
    for (kind, namespace) in [
        ("ClusterAdmissionPolicy", None),
        ("ClusterAdmissionPolicyGroup", None),
        ("PolicyServer", None),
        ("AdmissionPolicy", Some("default")),
    ] {
        let folder = folder(&[("p.yaml", &text.replace("KIND", kind))]);
        let cluster = ClusterFiles::from_folder(folder.path()).unwrap();
        let found: Vec<_> = cluster.of_kind(("policies.kubewarden.io/v1", kind), None).collect();
        assert_eq!(found[0].metadata.namespace.as_deref(), namespace, "{kind}");
    }
}
