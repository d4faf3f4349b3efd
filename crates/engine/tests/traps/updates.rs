//! What an update brings, and what it only seems to bring: nothing that ran before is judged again, and nobody gets an image in by
//! calling it old.

use super::world::{NOW, World, digest};
use super::{IMAGE, finding, report};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use serde_json::{Value, json};

const BAD: &str = "reg.io/team/app:bad";

/// What the policy answers to a request about an object of a kind.
fn ask(world: &World, settings: &Value, kind: &str, (object, old): (&Value, &Value)) -> Value {
    world.host.forget();
    let group = match kind {
        "Pod" => "",
        "CronJob" | "Job" => "batch",
        _ => "apps",
    };
    let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
    let request = json!({"uid": "u", "kind": {"group": group, "version": "v1", "kind": kind}, "operation": operation,
        "namespace": "web", "object": object, "oldObject": old});
    let payload = json!({"request": request, "settings": settings}).to_string();
    serde_json::from_slice(&validate(payload.as_bytes(), &WireHost(world.wire()), NOW).response).unwrap()
}

fn pod(image: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "web"},
        "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn deployment(image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "web"},
        "spec": {"replicas": 3, "template": {"spec": {"containers": [{"name": "c", "image": image}]}}}})
}

/// One image that is fine, and one with a critical finding.
fn good_and_bad() -> World {
    let mut bad = report('b', &[finding("CVE-1", "CRITICAL")]);
    bad["metadata"]["name"] = json!(super::computed("reg.io", "team/app", "bad", &digest('b')));
    bad["imageMetadata"]["tag"] = json!("bad");
    World::default().image(IMAGE, 'a').image(BAD, 'b').object(report('a', &[])).object(bad)
}

/// Whose image nothing lets in: no phase, no expression, no rule.
fn everything_rejects() -> Value {
    json!({
        "scanPolicies": {"defaultPolicy": "reject"},
        "preCustomRules": "deny_pod[\"no\"] { true }",
        "customRules": "deny_image[\"no\"] { true }",
        "imageVerification": [{"name": "no", "verifyPreScanAccepted": true, "verifications": [{"expression": "false"}]}],
    })
}

#[test]
fn what_is_being_deleted_is_not_held_back() {
    let world = good_and_bad();
    let mut old = pod(BAD);
    old["metadata"]["deletionTimestamp"] = json!("2026-11-01T00:00:00Z");
    old["metadata"]["finalizers"] = json!(["example.com/a"]);
    let mut without = old.clone();
    without["metadata"]["finalizers"] = json!([]);
    for settings in [
        everything_rejects(),
        json!({"imageVerification": [{"name": "tags", "verifyPreScanAccepted": true,
            "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "resources": ["*"]}]},
            "matchConditions": [{"name": "c", "expression": "object.gone.x"}], "existingImages": "judge",
            "verifications": [{"expression": "images.all.all(i, image(i).tag() != 'bad')"}]}]}),
    ] {
        let response = ask(&world, &settings, "Pod", (&without, &old));
        assert_eq!(response["accepted"], true, "{response}");
        assert_eq!(response["audit_annotations"]["reason"], "the object is being deleted");
        assert_eq!(world.host.calls().len(), 0);
        // Whoever asks writes the new object, and a new one isn't being deleted.
        for (object, old) in [(&old, &Value::Null), (&old, &pod(IMAGE))] {
            let response = ask(&world, &settings, "Pod", (object, old));
            assert_eq!(response["accepted"], false, "{response}");
        }
        for nothing in [Value::Null, json!(""), json!(5)] {
            let mut kept = pod(IMAGE);
            kept["metadata"]["deletionTimestamp"] = nothing.clone();
            let response = ask(&world, &settings, "Pod", (&pod(BAD), &kept));
            assert_eq!(response["accepted"], false, "{nothing}: {response}");
        }
    }
}

#[test]
fn an_update_that_brings_no_new_image_is_asked_nothing() {
    let world = good_and_bad();
    for (kind, old) in [("Pod", pod(BAD)), ("Deployment", deployment(BAD))] {
        let mut labelled = old.clone();
        labelled["metadata"]["labels"] = json!({"a": "b"});
        labelled["spec"]["replicas"] = json!(2);
        let response = ask(&world, &everything_rejects(), kind, (&labelled, &old));
        assert_eq!(response["accepted"], true, "{response}");
        assert_eq!(world.host.calls().len(), 0);
        let response = ask(&world, &everything_rejects(), kind, (&labelled, &Value::Null));
        assert_eq!(response["accepted"], false, "{response}");
    }
}

/// Rules in Rego are about whatever they like, and are asked about every operation.
#[test]
fn policies_in_rego_see_every_update() {
    let settings =
        json!({"regoPolicies": [{"name": "all", "kinds": ["Pod"], "rego": "package p\ndeny[\"no\"] { true }"}]});
    let response = ask(&good_and_bad(), &settings, "Pod", (&pod(BAD), &pod(BAD)));
    assert_eq!(response["accepted"], false, "{response}");
}

/// `helm upgrade` names the tag, where the digest was written that it stood for.
#[test]
fn a_tag_that_stands_for_the_pinned_digest_is_no_new_image() {
    let pinned = |image: &str, letter: char| format!("{image}@{}", digest(letter));
    let every_kind = json!({"pin": {"kinds": ["Pod", "Deployment"]}});
    let world = good_and_bad();
    for (kind, object) in [("Pod", pod as fn(&str) -> Value), ("Deployment", deployment)] {
        let old = object(&pinned(BAD, 'b'));
        let mut tagged = object(BAD);
        tagged["spec"]["replicas"] = json!(0);
        let response = ask(&world, &every_kind, kind, (&tagged, &old));
        assert_eq!(response["accepted"], true, "{response}");
        assert_eq!(world.host.calls().len(), 1, "one call tells");
        let written = response["mutated_object"].to_string();
        assert!(written.contains(&pinned(BAD, 'b')), "it keeps its digest: {response}");
        // The tag has moved.
        let moved = ask(&world, &every_kind, kind, (&object(BAD), &object(&pinned(BAD, 'c'))));
        assert_eq!(moved["accepted"], false, "{moved}");
        // The same digest of another repository is another image.
        let other = ask(&world, &every_kind, kind, (&object(BAD), &object(&pinned("reg.io/other/app:bad", 'b'))));
        assert_eq!(other["accepted"], false, "{other}");
        // It can't be told.
        let down = good_and_bad().and(|host| host.down("reg.io/"));
        let response = ask(&down, &every_kind, kind, (&tagged, &old));
        assert_eq!(response["accepted"], false, "{response}");
        let unlisted = json!({"registries": ["ghcr.io"]});
        assert_eq!(ask(&world, &unlisted, kind, (&tagged, &old))["accepted"], false);
        // The same digest beside another tag, or without one.
        for image in [pinned("reg.io/team/app:other", 'b'), pinned("reg.io/team/app", 'b')] {
            let response = ask(&world, &every_kind, kind, (&object(&image), &old));
            assert_eq!((&response["accepted"], world.host.calls().len()), (&json!(true), 0), "{response}");
        }
    }
    // Where nobody writes digests, a Pod's node would pull by the tag; a template's Pods are judged anew.
    for settings in [json!({"pin": {"enabled": false}}), json!({"pin": {"kinds": ["Deployment"]}})] {
        let response = ask(&world, &settings, "Pod", (&pod(BAD), &pod(&pinned(BAD, 'b'))));
        assert_eq!(response["accepted"], false, "{response}");
    }
    let response = ask(&world, &json!({}), "Deployment", (&deployment(BAD), &deployment(&pinned(BAD, 'b'))));
    assert_eq!((&response["accepted"], &response["mutated_object"]), (&json!(true), &Value::Null), "{response}");
}

/// A tag is resolved once: what it was compared by is what is judged.
#[test]
fn a_tag_that_moved_is_resolved_once() {
    let world = good_and_bad();
    let old = pod(&format!("{IMAGE}@{}", digest('c')));
    let response = ask(&world, &json!({}), "Pod", (&pod(IMAGE), &old));
    assert_eq!(response["accepted"], true, "{response}");
    let digests = world.host.calls().iter().filter(|call| call.operation == "v1/manifest_digest").count();
    assert_eq!(digests, 1);
}

/// The pin was that of the one platform that is asked for.
#[test]
fn an_index_whose_platform_is_pinned_is_no_new_image() {
    let world = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]);
    let settings = json!({"reports": {"platforms": ["linux/amd64"]}});
    let old = pod(&format!("{IMAGE}@{}", digest('a')));
    let other = pod(&format!("{IMAGE}@{}", digest('c')));
    // By the index's digest too: whoever wrote that applies the same file again.
    for image in [IMAGE.to_owned(), format!("{IMAGE}@{}", digest('f'))] {
        let response = ask(&world, &settings, "Pod", (&pod(&image), &old));
        assert_eq!(response["accepted"], true, "{response}");
        assert!(response["mutated_object"]["spec"].to_string().contains(&digest('a')), "{response}");
        assert_eq!(ask(&world, &settings, "Pod", (&pod(&image), &other))["accepted"], false);
    }
    // With every platform wanted, the index is more than the platform.
    let index = pod(&format!("{IMAGE}@{}", digest('f')));
    assert_eq!(ask(&world, &json!({}), "Pod", (&index, &old))["accepted"], false);
}

/// In a Pod another spelling of a tag starts the container anew, from whatever the tag is then; a template's Pods are judged.
#[test]
fn another_spelling_is_the_same_image_of_a_template() {
    let world = World::default();
    let settings = json!({"preScanPolicies": {"defaultPolicy": "reject"}});
    for (image, other) in [("nginx", "docker.io/library/nginx:latest"), ("index.docker.io/nginx:1", "nginx:1")] {
        let update = |object: fn(&str) -> Value, kind| {
            ask(&world, &settings, kind, (&object(other), &object(image)))["accepted"].clone()
        };
        assert_eq!(update(deployment, "Deployment"), true, "{image}");
        assert_eq!(update(pod, "Pod"), false, "{image}");
    }
    let moved = ask(&world, &settings, "Deployment", (&deployment("nginx:2"), &deployment("nginx:1")));
    assert_eq!(moved["accepted"], false);
}

/// What another controller compares with its own template is never written, whatever `pin.kinds` says; its Pods are.
#[test]
fn what_a_controller_made_is_never_written() {
    let world = good_and_bad();
    let kinds = json!(["Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicationController"]);
    let settings = json!({"pin": {"kinds": kinds}});
    for (kind, is_written) in
        [("Deployment", false), ("StatefulSet", false), ("DaemonSet", false), ("Job", false), ("Pod", true)]
    {
        let mut object = if kind == "Pod" { pod(IMAGE) } else { deployment(IMAGE) };
        assert!(ask(&world, &settings, kind, (&object, &Value::Null))["mutated_object"].is_object(), "{kind}");
        let owner = |is_controller: Value| json!([{"apiVersion": "x/v1", "kind": "Database", "name": "d", "controller": is_controller}]);
        object["metadata"]["ownerReferences"] = owner(json!(true));
        let response = ask(&world, &settings, kind, (&object, &Value::Null));
        assert_eq!(response["accepted"], true, "{response}");
        assert_eq!(response["mutated_object"].is_object(), is_written, "{kind}");
        // Who owns it without being its controller compares nothing.
        for other in [json!(false), json!("true"), Value::Null] {
            object["metadata"]["ownerReferences"] = owner(other);
            assert!(ask(&world, &settings, kind, (&object, &Value::Null))["mutated_object"].is_object(), "{kind}");
        }
    }
}

/// A node runs what its file says, whatever its mirror Pod does: it is judged, and left as it is.
#[test]
fn a_mirror_pod_is_judged_and_never_written() {
    let world = good_and_bad();
    let mirror = |image: &str| {
        let mut mirror = pod(image);
        mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "5d2c"});
        mirror
    };
    let response = ask(&world, &json!({}), "Pod", (&mirror(IMAGE), &Value::Null));
    assert_eq!((&response["accepted"], &response["mutated_object"]), (&json!(true), &Value::Null), "{response}");
    assert_eq!(ask(&world, &json!({}), "Pod", (&mirror(BAD), &Value::Null))["accepted"], false);
    // What isn't pinned is judged as what a node may make of it: an index that isn't proven has no one platform.
    let index = World::default().index(IMAGE, 'f', &[("linux/amd64", 'a'), ("linux/arm64", 'c')]).unproven();
    let settings = json!({"reports": {"platforms": ["linux/amd64"]}});
    let index = index.object(report('a', &[]));
    assert_eq!(ask(&index, &settings, "Pod", (&pod(IMAGE), &Value::Null))["accepted"], true);
    assert_eq!(ask(&index, &settings, "Pod", (&mirror(IMAGE), &Value::Null))["accepted"], false);
}

#[test]
fn placeholders_of_templates_are_judged_in_the_pod() {
    let world = good_and_bad();
    let settings = json!({"placeholders": ["auto", ""]});
    for placeholder in [json!("auto"), json!(""), json!(" "), Value::Null] {
        let mut template = deployment(IMAGE);
        template["spec"]["template"]["spec"]["containers"][0]["image"] = placeholder.clone();
        let response = ask(&world, &settings, "Deployment", (&template, &Value::Null));
        assert_eq!(response["accepted"], true, "{response}");
        assert_eq!(world.host.calls().len(), 0);
        assert!(response["warnings"].to_string().contains("is a placeholder"), "{response}");
        assert_eq!(ask(&world, &json!({}), "Deployment", (&template, &Value::Null))["accepted"], false);
        let mut filled_nowhere = pod(IMAGE);
        filled_nowhere["spec"]["containers"][0]["image"] = placeholder;
        assert_eq!(ask(&world, &settings, "Pod", (&filled_nowhere, &Value::Null))["accepted"], false);
    }
    // Beside one, everything else is judged.
    let mut both = deployment("auto");
    let other = json!({"name": "other", "image": BAD});
    both["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap().push(other);
    let response = ask(&world, &settings, "Deployment", (&both, &Value::Null));
    assert_eq!(response["accepted"], false, "{response}");
    // A placeholder is a whole text.
    assert_eq!(ask(&world, &settings, "Deployment", (&deployment("auto:1"), &Value::Null))["accepted"], false);
}

/// A policy about other objects knows no image of theirs, unless it names them: what changes neither a field nor an annotation brings none.
#[test]
fn labels_of_other_objects_bring_no_image() {
    let policy = |more: Value| {
        let mut policy = json!({"name": "no", "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "resources": ["*"]}]},
            "verifications": [{"expression": "object.gone.x == 1"}]});
        for (key, value) in more.as_object().unwrap() {
            policy[key] = value.clone();
        }
        json!({"imageVerification": [policy]})
    };
    let old = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "s", "namespace": "web"}, "spec": {"image": "a"}, "status": {"ready": 1}});
    for settings in [
        policy(json!({})),
        policy(json!({"images": [{"name": "own", "expression": "[object.gone.x]"}]})),
        policy(json!({"matchConditions": [{"name": "c", "expression": "object.gone.x"}]})),
    ] {
        let changed = |pointer: &str, value: Value| {
            let changed = super::with(old.clone(), &[(pointer, value)]);
            ask(&World::default(), &settings, "Shop", (&changed, &old))["accepted"].clone()
        };
        for (key, value) in [
            ("labels", json!({"a": "b"})),
            ("finalizers", json!(["x/y"])),
            ("ownerReferences", json!([])),
            ("generation", json!(2)),
        ] {
            assert_eq!(changed(&format!("/metadata/{key}"), value), true, "{key}: {settings}");
        }
        assert_eq!(changed("/status", json!({"ready": 2})), true, "{settings}");
        for (pointer, value) in
            [("/metadata/annotations", json!({"image": "b"})), ("/spec", json!({"image": "b"})), ("/data", json!("b"))]
        {
            assert_eq!(changed(pointer, value), false, "{pointer}: {settings}");
        }
    }
}

/// A policy that judges what is there isn't put off by a new image that pre-scan accepts, nor by a placeholder, and sees that Pods of a
/// template are pinned.
#[test]
fn who_judges_existing_images_judges_them_whatever_is_new() {
    let judging = |more: Value| {
        let mut policy = json!({"name": "p", "existingImages": "judge", "verifications": [{"expression": "images.all.all(i, false)"}]});
        for (key, value) in more.as_object().unwrap() {
            policy[key] = value.clone();
        }
        let pre_scan = json!({"customPolicies": [{"prefix": "good.io/", "action": "accept"}]});
        json!({"preScanPolicies": pre_scan, "imageVerification": [policy], "placeholders": ["auto"], "scanPolicies": {"defaultPolicy": "accept"}})
    };
    let old = pod(BAD);
    let mut both = old.clone();
    both["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "new", "image": "good.io/y:1"}));
    let response = ask(&good_and_bad(), &judging(json!({})), "Pod", (&both, &old));
    assert_eq!(response["accepted"], false, "{response}");
    let mut scaled = deployment("auto");
    scaled["spec"]["replicas"] = json!(5);
    let response = ask(&good_and_bad(), &judging(json!({})), "Deployment", (&scaled, &deployment("auto")));
    assert_eq!(response["accepted"], true, "{response}");
    let digests =
        judging(json!({"validationConfigurations": {"verifyDigest": true}, "verifications": [{"expression": "true"}]}));
    let mut labelled = deployment(BAD);
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let response = ask(&good_and_bad(), &digests, "Deployment", (&labelled, &deployment(BAD)));
    assert_eq!(response["accepted"], true, "{response}");
    let response = ask(&good_and_bad(), &digests, "Pod", (&pod(BAD), &pod(&format!("{BAD}@{}", digest('b')))));
    assert_eq!(response["accepted"], true, "its digest is kept: {response}");
}

/// A label, or a status, that a policy takes for an image's name is one.
#[test]
fn what_a_policy_reads_may_be_an_image() {
    let policy = |more: Value| {
        let mut policy =
            json!({"name": "p", "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "resources": ["*"]}]}});
        for (key, value) in more.as_object().unwrap() {
            policy[key] = value.clone();
        }
        json!({"imageVerification": [policy]})
    };
    let shop = |image: &str| json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "s", "namespace": "web", "labels": {"img": image}}, "status": {"image": image}});
    for settings in [
        policy(
            json!({"images": [{"name": "own", "expression": "[object.metadata.labels.img]"}], "verifications": [{"expression": "images.own.all(i, i != 'evil')"}]}),
        ),
        policy(
            json!({"images": [{"name": "own", "expression": "[object.status.image]"}], "verifications": [{"expression": "images.own.all(i, i != 'evil')"}]}),
        ),
        policy(json!({"verifications": [{"expression": "object.metadata.labels.img != 'evil'"}]})),
    ] {
        let update = |from: &str, to: &str| {
            ask(&World::default(), &settings, "Shop", (&shop(to), &shop(from)))["accepted"].clone()
        };
        assert_eq!(update("fine", "evil"), false, "{settings}");
        assert_eq!(update("fine", "good"), true, "{settings}");
    }
}

/// Whoever updates a Pod may claim that nothing is written into it: then its tag is no digest that it keeps.
#[test]
fn what_is_not_written_keeps_no_digest() {
    let pinned = pod(&format!("{BAD}@{}", digest('b')));
    let mut mirror = pod(BAD);
    mirror["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "5d2c"});
    let world = good_and_bad();
    assert_eq!(ask(&world, &json!({}), "Pod", (&pod(BAD), &pinned))["accepted"], true);
    assert_eq!(ask(&world, &json!({}), "Pod", (&mirror, &pinned))["accepted"], false);
    let excluded = json!({"pin": {"exclude": ["reg.io/team/*"]}});
    assert_eq!(ask(&world, &excluded, "Pod", (&pod(BAD), &pinned))["accepted"], false);
}
