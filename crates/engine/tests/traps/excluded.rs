//! Images that `pin.exclude` names: judged as all others, and never written, so that nothing may count on their digest.

use super::world::{Answer, NOW, World, digest};
use super::{IMAGE, finding, report};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use serde_json::{Value, json};

const PROXY: &str = "docker.io/istio/proxyv2:1.27.0";

/// The application's image is `a`, the proxy's `b`, each with a report.
fn world(findings: &[Value]) -> World {
    let mut proxy = report('b', findings);
    proxy["metadata"]["name"] = json!(super::computed("docker.io", "istio/proxyv2", "1.27.0", &digest('b')));
    proxy["imageMetadata"] = json!({"registry": "r", "registryURI": "docker.io", "repository": "istio/proxyv2", "tag": "1.27.0",
        "platform": "linux/amd64", "digest": digest('b')});
    World::default().image(IMAGE, 'a').image(PROXY, 'b').object(report('a', &[])).object(proxy)
}

fn object(kind: &str, images: &[&str]) -> Value {
    let containers: Vec<Value> =
        images.iter().enumerate().map(|(n, image)| json!({"name": format!("c{n}"), "image": image})).collect();
    let spec = json!({"containers": containers});
    match kind {
        "Pod" => json!({"metadata": {"name": "p", "namespace": "web"}, "spec": spec}),
        _ => json!({"metadata": {"name": "p", "namespace": "web"}, "spec": {"template": {"spec": spec}}}),
    }
}

fn ask(world: &World, settings: &Value, kind: &str, (object, old): (&Value, &Value)) -> Value {
    let group = if kind == "Pod" { "" } else { "apps" };
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let request = json!({"uid": "u", "kind": {"group": group, "version": "v1", "kind": kind}, "operation": operation,
        "namespace": "web", "object": object, "oldObject": old});
    let payload = json!({"request": request, "settings": settings}).to_string();
    serde_json::from_slice(&validate(payload.as_bytes(), &WireHost(world.wire()), NOW).response).unwrap()
}

/// The images that would run, where the request is admitted.
fn runs(response: &Value) -> Vec<String> {
    assert_eq!(response["accepted"], true, "{response}");
    let spec = &response["mutated_object"]["spec"];
    let spec = if spec["template"].is_null() { spec } else { &spec["template"]["spec"] };
    let containers = spec["containers"].as_array().cloned().unwrap_or_default();
    containers.iter().map(|container| container["image"].as_str().unwrap().to_owned()).collect()
}

fn pinned(image: &str, letter: char) -> String {
    format!("{image}@{}", digest(letter))
}

#[test]
fn what_is_excluded_is_judged_and_never_written() {
    for glob in ["docker.io/istio/*", "istio/proxyv2*", "*/proxyv2:*", "index.docker.io/istio/proxyv2"] {
        let settings = json!({"pin": {"exclude": [glob]}});
        for spelling in [PROXY, "istio/proxyv2:1.27.0", "index.docker.io/istio/proxyv2:1.27.0"] {
            let pod = object("Pod", &[IMAGE, spelling]);
            let response = ask(&world(&[]), &settings, "Pod", (&pod, &Value::Null));
            assert_eq!(runs(&response), [pinned(IMAGE, 'a'), spelling.to_owned()], "{glob}");
            let annotations = &response["mutated_object"]["metadata"]["annotations"];
            assert_eq!(annotations.as_object().unwrap().len(), 2, "{annotations}");
            // An update that changes nothing writes nothing.
            let response = ask(&world(&[]), &settings, "Pod", (&pod, &pod));
            assert_eq!(
                (&response["accepted"], &response["mutated_object"]),
                (&json!(true), &Value::Null),
                "{response}"
            );
            let bad = world(&[finding("CVE-1", "CRITICAL")]);
            let response = ask(&bad, &settings, "Pod", (&pod, &Value::Null));
            assert_eq!(response["accepted"], false, "{response}");
            assert!(response["message"].as_str().unwrap().contains("CVE-1"), "{response}");
        }
    }
    let others = json!({"pin": {"exclude": ["ghcr.io/*", "docker.io/istio/pilot*", "docker.io/istio/proxyv2:1.26*", "istio/proxy"]}});
    let response = ask(&world(&[]), &others, "Pod", (&object("Pod", &[PROXY]), &Value::Null));
    assert_eq!(runs(&response), [pinned(PROXY, 'b')]);
}

#[test]
fn an_update_to_the_tag_of_what_is_excluded_is_a_new_image_in_a_pod() {
    let settings = json!({"pin": {"exclude": ["docker.io/istio/*"], "kinds": ["Pod", "Deployment"]}});
    let bad = world(&[finding("CVE-1", "CRITICAL")]);
    let pin = pinned(PROXY, 'b');
    // Its node would pull by the tag, whatever that is by then.
    let pod = (&object("Pod", &[PROXY]), &object("Pod", &[&pin]));
    assert_eq!(ask(&bad, &settings, "Pod", pod)["accepted"], false);
    assert_eq!(ask(&bad, &json!({}), "Pod", pod)["accepted"], true);
    // Of a template the Pods are judged.
    let deployment = (&object("Deployment", &[PROXY]), &object("Deployment", &[&pin]));
    let response = ask(&bad, &settings, "Deployment", deployment);
    assert_eq!((&response["accepted"], &response["mutated_object"]), (&json!(true), &Value::Null), "{response}");
    let every_kind = json!({"pin": {"kinds": ["Pod", "Deployment"]}});
    assert_eq!(runs(&ask(&bad, &every_kind, "Deployment", deployment)), [pin]);
}

/// What an index holds beside the one platform runs, where that platform isn't pinned.
#[test]
fn an_index_of_what_is_excluded_must_be_proven() {
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    let world = world.unproven().object(report('a', &[]));
    let decide = |exclude: &Value| -> Answer {
        world.decide(IMAGE, &json!({"reports": {"platforms": ["linux/amd64"]}, "pin": {"exclude": exclude}}))
    };
    let pins = decide(&json!(["reg.io/other/*"]));
    assert!(pins.allowed, "{}", pins.response);
    let leaves = decide(&json!(["reg.io/team/*"]));
    assert_eq!((leaves.allowed, leaves.state.as_str()), (false, "look_up_failed"), "{}", leaves.response);
}

#[test]
fn a_policy_that_wants_digests_says_what_leaves_them_out() {
    let settings = |verify: bool| {
        json!({"pin": {"exclude": ["reg.io/team/*"]}, "imageVerification": [{"name": "any",
            "validationConfigurations": {"verifyDigest": verify}, "verifications": [{"expression": "images.all.size() > 0"}]}]})
    };
    let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
    let pod = object("Pod", &[IMAGE]);
    let response = ask(&world, &settings(true), "Pod", (&pod, &Value::Null));
    let message = response["message"].as_str().unwrap_or_default();
    let expected = "image reg.io/team/app:1.0 does not have a digest, and `pin.exclude` leaves it unpinned; write its digest, or set `validationConfigurations.verifyDigest: false` for it";
    assert!(message.contains(expected), "{response}");
    let response = ask(&world, &settings(false), "Pod", (&pod, &Value::Null));
    assert_eq!((&response["accepted"], &response["mutated_object"]), (&json!(true), &Value::Null), "{response}");
    // Where it has a digest, there is nothing to write.
    let response = ask(&world, &settings(true), "Pod", (&object("Pod", &[&pinned(IMAGE, 'a')]), &Value::Null));
    assert_eq!(response["accepted"], true, "{response}");
}

#[test]
fn globs_that_leave_out_everything_or_nothing_are_refused() {
    for (exclude, problem) in [
        (json!(["*"]), "pin.exclude[0]: `*` would leave every image unpinned; set `pin.enabled: false` for that"),
        (json!(["a*", "**"]), "pin.exclude[1]: `**` would leave every image unpinned"),
        (json!(["*/*"]), "pin.exclude[0]: `*/*` would leave every image unpinned"),
        (json!([""]), "pin.exclude[0]: the glob is empty and matches no image"),
        (
            json!(["ghcr.io/team/"]),
            "pin.exclude[0]: no image's name ends with `/`, so that `ghcr.io/team/` matches none; write `ghcr.io/team/*`",
        ),
        (json!("ghcr.io/*"), "pin.exclude: "),
        (json!([5]), "pin.exclude[0]: "),
    ] {
        let response =
            ask(&world(&[]), &json!({"pin": {"exclude": exclude}}), "Pod", (&object("Pod", &[]), &Value::Null));
        let message = response["message"].as_str().unwrap_or_default();
        assert!(message.contains(problem), "{exclude}: {response}");
    }
}
