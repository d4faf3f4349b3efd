//! The host of tests says of a cluster what this project's own host does, which recordings of the real one vouch for.

use image_admission_module_host::answers::files::{ClusterFiles, Files};
use image_admission_module_host::answers::{Gate, Grants, HostAnswers, HostCall};
use image_admission_stub_host::StubHost;
use serde_json::{Value, json};
use std::sync::Arc;

fn scan(name: &str, namespace: &str, team: &str) -> Value {
    json!({
        "apiVersion": "scans.example/v1", "kind": "Scan",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": team, "app": "scanner"}},
        "spec": {"image": "a", "empty": {}, "list": [{"id": 1, "name": "x"}, {"name": "y"}, 7], "deep": {"a": {"b": 1, "c": 2}}},
        "status": {"at": null},
    })
}

/// An answer without what the host adds to the metadata of listed objects.
fn plain(answer: Result<Vec<u8>, String>) -> Result<Value, String> {
    let mut answer: Value = serde_json::from_slice(&answer?).unwrap();
    for item in answer["items"].as_array_mut().into_iter().flatten() {
        let metadata = item["metadata"].as_object_mut().unwrap();
        metadata.retain(|key, _| !["managedFields", "annotations"].contains(&key.as_str()));
    }
    Ok(answer)
}

#[test]
fn it_answers_as_the_host_does() {
    let objects = [scan("a", "x", "red"), scan("b", "x", "blue"), scan("a", "y", "red")];
    let folder = tempfile::tempdir().unwrap();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    std::fs::write(folder.path().join("objects.json"), list.to_string()).unwrap();
    let files = Files::new(Some(ClusterFiles::from_folder(folder.path()).unwrap()), None);
    let host = Gate::new(Grants::everything(), Arc::new(files));
    let stub = StubHost::default().objects(objects);

    let masks = [
        json!(null),
        json!(["metadata"]),
        json!(["spec"]),
        json!(["spec.image.of", "spec.empty.at"]),
        json!(["spec.list.name", "spec.deep.a.b", "status.at"]),
        json!(["spec.deep", "spec.deep.a.c"]),
        json!(["spec.image", "spec.images", "metadata.name"]),
    ];
    let mut calls = Vec::new();
    for masks in masks {
        let get = |namespace: &str, name: &str| json!({"name": name, "namespace": namespace});
        let list = |selector: Value| json!({"namespace": "x", "label_selector": selector, "field_selector": null});
        for (operation, more) in [
            ("get_resource", get("x", "a")),
            ("get_resource", get("y", "a")),
            ("get_resource", get("y", "b")),
            ("list_resources_by_namespace", list(json!(null))),
            ("list_resources_by_namespace", list(json!("team=red,app=scanner"))),
            ("list_resources_by_namespace", list(json!("team=green"))),
            ("list_resources_all", json!({"label_selector": null, "field_selector": null})),
        ] {
            let mut payload = json!({"api_version": "scans.example/v1", "kind": "Scan", "field_masks": masks});
            if operation == "get_resource" {
                payload["disable_cache"] = json!(false);
            }
            payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            calls.push((operation, payload.to_string().into_bytes()));
        }
    }
    for (operation, payload) in calls {
        let told = stub.call("kubernetes", operation, &payload);
        let call = HostCall {
            binding: "kubewarden".to_owned(),
            namespace: "kubernetes".to_owned(),
            operation: operation.to_owned(),
            payload,
        };
        assert_eq!(plain(told), plain(host.answer(&call)), "{call:?}");
    }
}
