//! What the author of a workload, or of an image, tries with the shape of what they send.

use super::world::{NOW, World, digest};
use super::{IMAGE, finding, report, scan_job, trivy, with};
use image_admission_engine::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::manifest;
use serde_json::{Value, json};

/// What the policy answers to a payload that no serialiser of ours would write.
fn answer(world: &World, payload: &str) -> Value {
    world.host.forget();
    serde_json::from_slice(&validate(payload.as_bytes(), &WireHost(world.wire()), NOW).response).unwrap()
}

fn pod(images: &[&str]) -> Value {
    let containers: Vec<Value> =
        images.iter().enumerate().map(|(n, image)| json!({"name": format!("c{n}"), "image": image})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "web"}, "spec": {"containers": containers}})
}

/// A request about a Pod.
fn request(operation: &str, sub_resource: &str, object: &Value, old: &Value) -> Value {
    json!({"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "operation": operation, "namespace": "web",
           "subResource": sub_resource, "object": object, "oldObject": old})
}

#[track_caller]
fn decides(world: &World, request: &Value, settings: &Value, is_allowed: bool) -> Value {
    let response = answer(world, &json!({"request": request, "settings": settings}).to_string());
    assert_eq!(response["accepted"] == true, is_allowed, "{response}");
    response
}

/// One image that is fine, and one with a critical finding.
fn good_and_bad() -> World {
    let mut bad = report('b', &[finding("CVE-1", "CRITICAL")]);
    bad["metadata"]["name"] = json!(super::computed("reg.io", "team/app", "bad", &digest('b')));
    bad["imageMetadata"]["tag"] = json!("bad");
    World::default().image(IMAGE, 'a').image("reg.io/team/app:bad", 'b').object(report('a', &[])).object(bad)
}

const BAD: &str = "reg.io/team/app:bad";

/// The subresource changes what containers may take, and no image; should one differ, it is judged as on any update.
#[test]
fn a_resized_pod_brings_no_image_unseen() {
    let world = good_and_bad();
    let mut resized = pod(&[BAD]);
    resized["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "2"}});
    decides(&world, &request("UPDATE", "resize", &resized, &pod(&[BAD])), &json!({}), true);
    assert_eq!(world.host.calls().len(), 0, "what runs already is resized whatever its image is");
    decides(&world, &request("UPDATE", "resize", &resized, &pod(&[IMAGE])), &json!({}), false);
}

/// Neither does any other subresource of a Pod's.
#[test]
fn no_subresource_brings_an_image_unseen() {
    for sub_resource in ["status", "binding", "EphemeralContainers", "x"] {
        decides(&good_and_bad(), &request("UPDATE", sub_resource, &pod(&[BAD]), &pod(&[IMAGE])), &json!({}), false);
    }
}

#[test]
fn of_the_ephemeral_containers_each_new_one_is_judged() {
    let world = good_and_bad();
    let ephemeral = |images: &[&str]| {
        let mut pod = pod(&[IMAGE]);
        pod["spec"]["ephemeralContainers"] = pod_containers(images);
        pod
    };
    let add = |before: &[&str], after: &[&str], is_allowed| {
        let request = request("UPDATE", "ephemeralcontainers", &ephemeral(after), &ephemeral(before));
        decides(&world, &request, &json!({}), is_allowed);
    };
    add(&[], &[IMAGE], true);
    add(&[IMAGE], &[IMAGE, BAD], false);
    // One of the same name is another container when it is in another list.
    add(&[], &[BAD], false);
    // What runs already stays.
    add(&[BAD], &[BAD, IMAGE], true);
}

fn pod_containers(images: &[&str]) -> Value {
    pod(images)["spec"]["containers"].clone()
}

/// What a container ran before clears no other container.
#[test]
fn images_that_change_places_are_judged() {
    let world = good_and_bad();
    decides(&world, &request("UPDATE", "", &pod(&[IMAGE, BAD]), &pod(&[BAD, IMAGE])), &json!({}), false);
    decides(&world, &request("UPDATE", "", &pod(&[IMAGE, BAD]), &pod(&[IMAGE, BAD])), &json!({}), true);
}

/// A new object has no past, whatever is sent as one.
#[test]
fn an_old_object_of_a_new_one_clears_nothing() {
    let world = good_and_bad();
    for operation in ["CREATE", "", "create", "Update", "PATCH"] {
        decides(&world, &request(operation, "", &pod(&[BAD]), &pod(&[BAD])), &json!({}), false);
    }
    for old in [json!("x"), json!([]), json!({"spec": {"containers": "x"}}), json!({"spec": null}), json!(null)] {
        decides(&world, &request("UPDATE", "", &pod(&[BAD]), &old), &json!({}), false);
    }
}

/// A controller may wait for its Pods, a Pod for nobody.
#[test]
fn a_pod_that_claims_an_owner_is_a_pod() {
    for kind in ["Deployment", "ReplicaSet", "Job", "CronJob", "Node"] {
        let mut pod = pod(&[IMAGE]);
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": kind, "name": "web", "controller": true}]);
        let response =
            decides(&World::default().image(IMAGE, 'a'), &request("CREATE", "", &pod, &Value::Null), &json!({}), false);
        assert!(response["message"].to_string().contains("scan report is pending"), "{response}");
    }
}

/// Of a key that stands twice one reader takes the first, another the last: nothing is decided by either.
#[test]
fn a_key_of_the_request_that_stands_twice_rejects() {
    let world = good_and_bad();
    let (good, bad) = (pod(&[IMAGE]).to_string(), pod(&[BAD]).to_string());
    let kind = r#"{"group": "", "version": "v1", "kind": "Pod"}"#;
    let about = format!(r#""uid": "u", "namespace": "web", "kind": {kind}"#);
    for request in [
        format!(r#"{{{about}, "operation": "CREATE", "object": {good}, "object": {bad}}}"#),
        format!(r#"{{{about}, "operation": "CREATE", "object": {bad}, "object": {good}}}"#),
        format!(r#"{{{about}, "operation": "CREATE", "operation": "DELETE", "object": {bad}}}"#),
        format!(r#"{{{about}, "operation": "UPDATE", "object": {bad}, "oldObject": {good}, "oldObject": {bad}}}"#),
        format!(
            r#"{{{about}, "kind": {{"group": "x", "version": "v1", "kind": "Y"}}, "operation": "CREATE", "object": {bad}}}"#
        ),
        format!(
            r#"{{{about}, "operation": "CREATE", "subResource": "", "subResource": "ephemeralcontainers", "object": {bad}}}"#
        ),
        format!(r#"{{{about}, "namespace": "x", "operation": "CREATE", "object": {bad}}}"#),
    ] {
        let response = answer(&world, &format!(r#"{{"request": {request}, "settings": {{}}}}"#));
        assert_eq!((&response["accepted"], world.host.calls().len()), (&json!(false), 0), "{request}: {response}");
        assert!(response["message"].to_string().contains("duplicate field"), "{response}");
    }
    let both = format!(r#"{{{about}, "operation": "CREATE", "object": {good}}}"#);
    let response = answer(&world, &format!(r#"{{"request": {both}, "request": {both}, "settings": {{}}}}"#));
    assert_eq!(response["accepted"], json!(false), "{response}");
}

/// Digests of every algorithm are compared whole: the index of one algorithm isn't that of another.
#[test]
fn a_digest_of_another_algorithm_is_another_digest() {
    let of = |algorithm: &str, length: usize| format!("reg.io/team/app@{algorithm}:{}", "a".repeat(length));
    for (image, is_reference) in [
        (of("sha384", 96), true),
        (of("sha512", 128), true),
        (of("sha384", 64), false),
        (of("sha512", 64), false),
        (of("sha256", 96), false),
        (of("SHA512", 128), false),
        (of("sha1", 40), false),
        (of("md5", 32), false),
    ] {
        // The report is of `sha256:aaa…`.
        let world = World::default().image(IMAGE, 'a').object(report('a', &[]));
        let world = world.and(|host| host.manifest(&image, manifest()));
        let response = decides(&world, &request("CREATE", "", &pod(&[&image]), &Value::Null), &json!({}), false);
        let is_refused = response["message"].to_string().contains("is not an image reference");
        assert_eq!(is_refused, !is_reference, "{image}: {response}");
    }
}

/// An image's name with several digests, or with something behind its digest, names nothing.
#[test]
fn a_name_has_one_digest() {
    let (a, b) = (digest('a'), digest('b'));
    for image in [
        format!("reg.io/team/app@{a}@{b}"),
        format!("reg.io/team/app:1@{a}@{a}"),
        format!("reg.io/team/app@{a}:1.0"),
        format!("reg.io/team/app@{a} "),
        format!("reg.io/team/app@{a}/x"),
        format!("reg.io/team/app@@{a}"),
    ] {
        let world = good_and_bad();
        let response = decides(
            &world,
            &request("CREATE", "", &pod(&[&image]), &Value::Null),
            &json!({"preScanPolicies": {"defaultPolicy": "accept"}}),
            false,
        );
        assert!(response["message"].to_string().contains("is not an image reference"), "{image}: {response}");
        assert_eq!(world.host.calls().len(), 0, "{image}");
    }
}

/// The ways to write a host that DNS or a client folds, and names here don't.
#[test]
fn a_host_with_a_dot_behind_it_names_nothing() {
    for host in [
        "reg.io.",
        "REG.IO.",
        "reg.io.:443",
        "docker.io.",
        "localhost.",
        "127.0.0.1.",
        "reg..io",
        ".reg.io",
        "[::1].",
        "[::1%25lo]",
    ] {
        let world = good_and_bad();
        let image = format!("{host}/team/app:1.0");
        let settings = json!({"preScanPolicies": {"defaultPolicy": "accept", "customPolicies": [{"prefix": "reg.io/", "action": "reject"}]}});
        let response = decides(&world, &request("CREATE", "", &pod(&[&image]), &Value::Null), &settings, false);
        assert!(response["message"].to_string().contains("is not"), "{image}: {response}");
    }
}

#[test]
fn an_address_has_one_spelling() {
    for host in [
        "[2001:db8::1]",
        "[2001:DB8::1]",
        "[2001:db8:0:0:0:0:0:1]",
        "[2001:0db8::0001]:443",
        "[2001:db8::0:1]:0443",
        "[2001:db8::0.0.0.1]",
    ] {
        let settings = json!({"preScanPolicies": {"defaultPolicy": "accept", "customPolicies": [{"prefix": "[2001:db8::1]/", "action": "reject"}]}});
        let image = format!("{host}/team/app:1.0");
        let response =
            decides(&World::default(), &request("CREATE", "", &pod(&[&image]), &Value::Null), &settings, false);
        assert!(response["message"].to_string().contains("(prefix '[2001:db8::1]/')"), "{image}: {response}");
    }
}

/// An index that an index holds is never judged by what is known of its neighbours.
#[test]
fn an_index_in_the_index_is_not_judged_by_the_others() {
    for media_type in
        ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"]
    {
        let world = World::default().image(IMAGE, 'f').object(report('a', &[]));
        let amd64 = json!({"digest": digest('a'), "platform": {"os": "linux", "architecture": "amd64"}});
        let nested = json!({"digest": digest('c'), "mediaType": media_type, "platform": {"os": "linux", "architecture": "arm64"}});
        let world = world.manifest('f', json!({"manifests": [amd64, nested]}));
        // Even of its own digest a report is of another document.
        let world = world.object(with(report('c', &[]), &[("/imageMetadata/platform", json!("linux/arm64"))]));
        let answer = world.decide(IMAGE, &json!({}));
        assert_eq!((answer.allowed, answer.state.as_str()), (false, "look_up_failed"), "{}", answer.response);
    }
}

/// What is no number has no severity, and hides no score beside it.
#[test]
fn a_score_that_is_no_number_hides_none() {
    let settings = |source: Value| json!({"reports": {"sources": [source]}, "acceptance": {"cvssScore": {"threshold": 7, "maxCount": 0}}});
    for odd in ["NaN", "nan", "Infinity", "inf", "-inf", "1e999", "-1", "0", ""] {
        let mut of_several = finding("CVE-1", "LOW");
        of_several["cvss"] = json!({"nvd": {"v3score": odd}, "redhat": {"v3score": "9.8"}});
        let world = World::default().image(IMAGE, 'a').object(report('a', &[of_several]));
        assert!(!world.decide(IMAGE, &settings(json!({"sbomscanner": {}}))).allowed, "{odd}: of another source");

        let mut of_trivy = trivy("web", "pod-p-app", json!(digest('a')));
        of_trivy["report"]["vulnerabilities"][0]["score"] = json!(0);
        of_trivy["report"]["vulnerabilities"][0]["cvss"] = json!({"nvd": {"V40Score": odd, "V3Score": 9.8}});
        let world = World::default().image(IMAGE, 'a').object(of_trivy);
        assert!(!world.decide(IMAGE, &settings(json!({"trivyOperator": {}}))).allowed, "{odd}: of an older version");
    }
}

/// JSON has no such numbers: a report with one can't be read, and what can't be read is not clean.
#[test]
fn a_report_that_is_no_json_is_not_clean() {
    for number in ["NaN", "Infinity", "-Infinity", "1e999"] {
        let document =
            image_admission_host::Document(format!(r#"{{"summary": {{"critical": {number}}}}}"#).into_bytes());
        assert!(document.read::<Value>().is_err(), "{number}");
    }
}

/// A ScanJob that will be done is done at no time that counts.
#[test]
fn a_scan_of_the_future_is_too_old() {
    let done = json!([{"type": "Complete", "status": "True"}]);
    let settings = json!({"reports": {"maxAge": "24h"}});
    for (completed, expected) in [
        ("2026-11-20T12:10:00Z", (true, "fresh")),
        ("2026-11-20T12:10:01Z", (false, "stale")),
        ("9999-12-31T23:59:59Z", (false, "stale")),
    ] {
        let world = World::default().image(IMAGE, 'a').object(report('a', &[])).object(scan_job(&done, completed));
        let answer = world.decide(IMAGE, &settings);
        assert_eq!((answer.allowed, answer.state.as_str()), expected, "{completed}: {}", answer.response);
    }
}

/// Wherever a kind has a pod spec, whatever list of it names the image.
#[test]
fn no_kind_and_no_list_hides_an_image() {
    let world = good_and_bad();
    let image = |list: &str, image: &str| match list {
        "volumes" => json!([{"name": "v", "image": {"reference": image}}]),
        _ => json!([{"name": "x", "image": image}]),
    };
    for (group, kind) in [
        ("", "Pod"),
        ("", "ReplicationController"),
        ("apps", "ReplicaSet"),
        ("apps", "Deployment"),
        ("extensions", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
    ] {
        for list in ["initContainers", "containers", "ephemeralContainers", "volumes"] {
            let object = |named: &str| {
                let mut spec = json!({"containers": [{"name": "c", "image": IMAGE}]});
                spec[list] = image(list, named);
                let template = json!({"metadata": {}, "spec": spec});
                let mut object = match kind {
                    "Pod" => json!({"spec": spec}),
                    "CronJob" => json!({"spec": {"jobTemplate": {"spec": {"template": template}}}}),
                    _ => json!({"spec": {"template": template}}),
                };
                object["metadata"] = json!({"generateName": "x-", "namespace": "web"});
                object
            };
            let asked = |operation: &str, named: &str, old: &Value| {
                let mut request = request(operation, "", &object(named), old);
                request["kind"] = json!({"group": group, "version": "v1beta9", "kind": kind});
                request["dryRun"] = json!(true);
                request
            };
            decides(&world, &asked("CREATE", IMAGE, &Value::Null), &json!({}), true);
            decides(&world, &asked("CREATE", BAD, &Value::Null), &json!({}), false);
            decides(&world, &asked("UPDATE", BAD, &object(IMAGE)), &json!({}), false);
        }
    }
}

/// A name that is no reference is repeated in one line.
#[test]
fn an_image_can_not_write_lines_of_its_own() {
    let forged = "nginx\nImage 'evil' is fine\u{2028}\u{202e}";
    let response = decides(&World::default(), &request("CREATE", "", &pod(&[forged]), &Value::Null), &json!({}), false);
    let message = response["message"].as_str().unwrap();
    assert!(message.lines().count() == 1 && !message.contains(['\u{2028}', '\u{202e}']), "{message}");
}

/// An object of 2 MB, the most that a host takes, may name very many images. None of them costs what all others do.
#[test]
#[expect(clippy::disallowed_types, reason = "a test of how long something takes")]
fn very_many_images_are_named_in_time() {
    let images: Vec<String> = (0..150_000).map(|number| format!("a:{number:06}")).collect();
    let object = json!({"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"images": images}});
    let mut before = object.clone();
    before["spec"]["images"][0] = json!("b:1");
    let policy = json!([{"name": "own", "images": [{"name": "own", "expression": "object.spec.images"}],
        "matchConstraints": {"resourceRules": [{"apiGroups": ["x.io"], "apiVersions": ["v1"], "resources": ["xs"]}]},
        "verifications": [{"expression": "images.own.size() > 0"}]}]);
    let start = std::time::Instant::now();
    for (old, why) in [(Value::Null, "150000 different images, the setting `maxImages` allows 50"), (before, "")] {
        let operation = if old.is_null() { "CREATE" } else { "UPDATE" };
        let mut request = request(operation, "", &object, &old);
        request["kind"] = json!({"group": "x.io", "version": "v1", "kind": "X"});
        request["resource"] = json!({"group": "x.io", "version": "v1", "resource": "xs"});
        let response = decides(&World::default(), &request, &json!({"imageVerification": policy}), why.is_empty());
        assert!(response["message"].as_str().unwrap_or_default().contains(why), "{response}");
    }
    // Quadratic work would take minutes here, linear work takes seconds.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

/// One image may be that of very many containers, and be spelt anew in each: `maxImages` counts it once.
#[test]
#[expect(clippy::disallowed_types, reason = "a test of how long something takes")]
fn very_many_containers_are_judged_in_time() {
    let zeros = |number: usize| "0".repeat(number);
    let spelt = |number: usize| format!("reg.io:{}443/team/app:1.0{}", zeros(number % 200), zeros(number / 200 % 100));
    let policy = json!([{"name": "own", "matchImageReferences": [{"glob": "ghcr.io/*"}],
        "validations": [{"expression": "images.containers.all(i, false)"}]}]);
    let settings = json!({"imageVerification": policy, "maxImages": 100, "scanPolicies": {"defaultPolicy": "accept"}});
    let time = |number: usize| {
        let images: Vec<String> = (0..number).map(spelt).collect();
        let object = pod(&images.iter().map(String::as_str).collect::<Vec<_>>());
        let before = pod(&vec![BAD; number]);
        let start = std::time::Instant::now();
        for (operation, old) in [("CREATE", Value::Null), ("UPDATE", before)] {
            let response = decides(&World::default(), &request(operation, "", &object, &old), &settings, true);
            assert!(response["warnings"][19].as_str().unwrap().ends_with("more warnings"), "{response}");
        }
        start.elapsed()
    };
    let (few, many) = (time(5_000), time(20_000));
    // Linear work takes four times as long, and quadratic work sixteen times.
    assert!(many < few * 9, "{few:?} {many:?}");
}

/// The author of a Pod chooses the digest, and the tag beside it means nothing.
#[test]
fn a_tag_beside_a_digest_accepts_nothing_where_names_are_raw() {
    let image = format!("reg.io/team/app:1.0@{}", digest('b'));
    for prefix in ["reg.io/team/app:1.0", "reg.io/team/app:"] {
        let accepting = json!({"defaultPolicy": "reject", "customPolicies": [{"prefix": prefix, "action": "accept"}]});
        for phase in ["preScanPolicies", "scanPolicies"] {
            let settings = json!({"imageMatching": "raw", phase: accepting});
            decides(&good_and_bad(), &request("CREATE", "", &pod(&[&image]), &Value::Null), &settings, false);
            decides(&good_and_bad(), &request("CREATE", "", &pod(&[IMAGE]), &Value::Null), &settings, true);
        }
    }
}
