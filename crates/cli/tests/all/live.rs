//! Live answers, from a registry and a cluster that this file serves on loopback.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use image_admission_module_host::answers::live::{Live, LiveOptions};
use image_admission_module_host::answers::{AnswerSource, GetResource, ListAll, ListByNamespace, Request};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Serves `answers`, by path, and a 404 with `missing` for everything else. Returns `host:port`.
fn serve(answers: BTreeMap<String, String>, missing: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for connection in listener.incoming() {
            respond(connection.unwrap(), &answers, missing);
        }
    });
    address
}

fn respond(mut connection: TcpStream, answers: &BTreeMap<String, String>, missing: &str) {
    let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    for _ in lines.take_while(|line| !line.is_empty()) {}
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = match answers.get(path) {
        Some(body) => ("200 OK", body.as_str()),
        None => ("404 Not Found", missing),
    };
    let digest =
        if status == "200 OK" { format!("Docker-Content-Digest: {}\r\n", sha256(body)) } else { String::new() };
    let shown = if method == "HEAD" { "" } else { body };
    let _ = write!(
        connection,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{digest}Content-Length: {}\r\nConnection: close\r\n\r\n{shown}",
        body.len()
    );
}

fn sha256(text: &str) -> String {
    let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn ask(live: &Live, request: &Request) -> Result<Value, String> {
    live.answer(request).map(|answer| serde_json::from_slice(&answer).unwrap())
}

/// A registry with `team/app:1.0`, an image of one platform. Returns where it is, and the image's digest and manifest.
fn registry() -> (String, String, String) {
    let config = r#"{"any":"json"}"#;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.example", "digest": sha256(config), "size": config.len()},
        "layers": [],
    })
    .to_string();
    let digest = sha256(&manifest);
    let lie = format!("sha256:{}", "0".repeat(64));
    let answers = [
        ("manifests/1.0".to_owned(), manifest.clone()),
        (format!("manifests/{digest}"), manifest.clone()),
        (format!("manifests/{lie}"), manifest.clone()),
        (format!("blobs/{}", sha256(config)), config.to_owned()),
    ];
    let answers = answers.into_iter().map(|(path, body)| (format!("/v2/team/app/{path}"), body));
    let unknown = r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}"#;
    (serve(answers.collect(), unknown), digest, manifest)
}

#[test]
fn a_registry_on_this_machine_is_asked_over_http() {
    let (registry, digest, manifest) = registry();
    let live = Live::new(&LiveOptions::default()).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    for image in [format!("{registry}/team/app:1.0"), format!("{registry}/team/app@{digest}")] {
        assert_eq!(ask(&live, &Request::OciManifestDigest { image: image.clone() }), Ok(json!({"digest": digest})));
        assert_eq!(ask(&live, &Request::OciManifest { image: image.clone() }), Ok(manifest.clone()));
        assert_eq!(
            ask(&live, &Request::OciManifestAndConfig { image }),
            Ok(json!({"manifest": manifest, "digest": digest, "config": {"any": "json"}}))
        );
    }
}

#[test]
fn artifacts_beside_an_image_keep_what_they_belong_to() {
    let config = r#"{"verdict":"pass"}"#;
    let image = format!("sha256:{}", "1".repeat(64));
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.example", "digest": sha256(config), "size": config.len()},
        "layers": [],
        "subject": {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": image, "size": 7},
        "artifactType": "application/vnd.example",
        "annotations": {"org.opencontainers.image.created": "2026-01-01T00:00:00Z"},
    });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": sha256(&manifest.to_string()),
            "size": manifest.to_string().len(),
            "artifactType": "application/vnd.example",
        }],
    });
    let answers = [
        ("manifests/scan".to_owned(), manifest.to_string()),
        ("manifests/referrers".to_owned(), index.to_string()),
        (format!("blobs/{}", sha256(config)), config.to_owned()),
    ];
    let answers = answers.into_iter().map(|(path, body)| (format!("/v2/team/app/{path}"), body));
    let registry = serve(answers.collect(), "{}");
    let live = Live::new(&LiveOptions::default()).unwrap();
    assert_eq!(
        ask(&live, &Request::OciManifestAndConfig { image: format!("{registry}/team/app:scan") }),
        Ok(json!({"manifest": manifest, "digest": sha256(&manifest.to_string()), "config": {"verdict": "pass"}}))
    );
    assert_eq!(ask(&live, &Request::OciManifest { image: format!("{registry}/team/app:referrers") }), Ok(index));
}

#[test]
fn a_registry_s_failure_is_worded_as_the_host_words_it() {
    let (registry, _, _) = registry();
    let live = Live::new(&LiveOptions::default()).unwrap();
    let unknown = format!(
        "Fail to interact with OCI registry: Registry error: url http://{registry}/v2/team/app/manifests/2.0, envelope: OCI API errors: [OCI API error: manifest unknown]"
    );
    let image = format!("{registry}/team/app:2.0");
    assert_eq!(ask(&live, &Request::OciManifestDigest { image: image.clone() }), Err(unknown.clone()));
    assert_eq!(ask(&live, &Request::OciManifest { image }), Err(unknown));
    assert_eq!(
        ask(&live, &Request::OciManifest { image: "two words".to_owned() }),
        Err("invalid reference format".to_owned())
    );
    // What is asked for by digest must have that digest.
    let lie = format!("{registry}/team/app@sha256:{}", "0".repeat(64));
    let error = ask(&live, &Request::OciManifest { image: lie }).unwrap_err();
    assert!(error.starts_with("Fail to interact with OCI registry: Digest error: "), "{error}");
}

/// A cluster with two Pods, and a client of it.
fn cluster() -> Live {
    let pod = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": {"nodeName": "n", "hostNetwork": true}});
    let resources = |kinds: Value| json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": kinds});
    let kind = |plural: &str, kind: &str, namespaced: bool| json!({"name": plural, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]});
    let pods = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": [pod("a"), pod("b")]});
    let selected = json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [pod("b")]});
    let answers = [
        ("/api/v1", resources(json!([kind("pods", "Pod", true), kind("nodes", "Node", false)]))),
        ("/api/v1/namespaces/shop/pods/a", pod("a")),
        ("/api/v1/nodes/n", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})),
        ("/api/v1/pods?", pods),
        ("/api/v1/namespaces/shop/pods?&fieldSelector=metadata.name%3Db&labelSelector=app", selected),
    ];
    let not_found = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","message":"not there","code":404}"#;
    let address = serve(answers.map(|(path, body)| (path.to_owned(), body.to_string())).into(), not_found);
    let folder = TempDir::new().unwrap();
    let kubeconfig = folder.path().join("config");
    std::fs::write(
        &kubeconfig,
        format!(
            "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}]}}"
        ),
    )
    .unwrap();
    Live::new(&LiveOptions { kubeconfig: Some(kubeconfig), ..LiveOptions::default() }).unwrap()
}

fn get(kind: &str, namespace: Option<&str>, name: &str) -> Request {
    Request::KubernetesGetResource(GetResource {
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: namespace.map(str::to_owned),
        disable_cache: false,
        field_masks: Some(["spec.nodeName".to_owned()].into()),
    })
}

#[test]
fn a_cluster_is_asked_for_objects() {
    let live = cluster();
    assert_eq!(
        ask(&live, &get("Pod", Some("shop"), "a")),
        Ok(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop"}, "spec": {"nodeName": "n"}})
        )
    );
    assert_eq!(ask(&live, &get("Node", None, "n")).unwrap()["kind"], "Node");
    assert_eq!(
        ask(&live, &get("Pod", Some("shop"), "z")),
        Err(r#"Cannot find v1/Pod named 'z' inside of namespace 'Some("shop")'"#.to_owned())
    );
    assert_eq!(
        ask(&live, &get("Pod", None, "a")),
        Err("Resource v1/Pod is namespaced, but no namespace was provided".to_owned())
    );
    assert_eq!(ask(&live, &get("Nope", None, "a")), Err("Cannot find resource v1/Nope".to_owned()));
}

#[test]
fn a_cluster_is_asked_for_lists() {
    let live = cluster();
    let all = ListAll {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        label_selector: None,
        field_selector: None,
        field_masks: Some(["spec.nodeName".to_owned()].into()),
    };
    let item = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "annotations": {}, "managedFields": []}, "spec": {"nodeName": "n"}});
    assert_eq!(
        ask(&live, &Request::KubernetesListResourceAll(all.clone())),
        Ok(json!({"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": [item("a"), item("b")]}))
    );
    let some = ListByNamespace {
        api_version: all.api_version.clone(),
        kind: all.kind.clone(),
        namespace: "shop".to_owned(),
        label_selector: Some("app".to_owned()),
        field_selector: Some("metadata.name=b".to_owned()),
        field_masks: all.field_masks.clone(),
    };
    let list = ask(&live, &Request::KubernetesListResourceNamespace(some.clone())).unwrap();
    assert_eq!(list["items"], json!([item("b")]));
    let nodes = ListByNamespace { kind: "Node".to_owned(), ..some };
    assert_eq!(
        ask(&live, &Request::KubernetesListResourceNamespace(nodes)),
        Err("resource v1/Node is cluster wide. Cannot search for it inside of a namespace".to_owned())
    );
    let unserved = ListAll { api_version: "example.org/v1".to_owned(), ..all };
    let error = ask(&live, &Request::KubernetesListResourceAll(unserved)).unwrap_err();
    assert!(error.starts_with("error finding resource example.org/v1 / Pod: "), "{error}");
}

#[test]
fn what_is_not_answered_yet_says_so() {
    let live = Live::new(&LiveOptions::default()).unwrap();
    assert_eq!(
        ask(&live, &Request::DNSLookupHost { host: "example.org".to_owned() }),
        Err("this host has no answer to `net/v1/dns_lookup_host` yet; replay a recording that has it".to_owned())
    );
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_named() {
    let options = LiveOptions { kubeconfig: Some("no/such/config".into()), ..LiveOptions::default() };
    let error = Live::new(&options).unwrap_err().to_string();
    assert!(error.starts_with("cannot use the kubeconfig `no/such/config`: "), "{error}");
}
