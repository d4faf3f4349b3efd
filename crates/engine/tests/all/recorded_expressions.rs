//! What is said of expressions beside a decision: what they came to, what they saw and what they asked.

use image_admission_engine::{decide, decide_and_record};
use image_admission_host::WireHost;
use image_admission_settings::Settings;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVwI5hlIdBJCqfU8SYSc8YNsw6Jlt\nVSpeGjgcYKdBdDVrMD6JEq2k/bxnkUb6DGcB/E8oPzHDIfKkXoAdWqvoMA==\n-----END PUBLIC KEY-----\n";
const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const NOW: Timestamp = Timestamp(1_790_000_000);

fn world() -> StubHost {
    let host = StubHost::default().image("ghcr.io/a:1", DIGEST).image("ghcr.io/b:1", DIGEST.replace('1', "2").as_str());
    host.signed(&format!("ghcr.io/a@{DIGEST}"), KEY).down("down.io/")
}

fn pod(image: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "labels": {"team": "a"}},
        "spec": {"containers": [{"name": "c", "image": image}]}})
}

fn request(object: &Value) -> Value {
    let kind = object["kind"].as_str().unwrap();
    json!({"uid": "u", "operation": "CREATE", "namespace": "shop", "kind": {"group": "", "version": "v1", "kind": kind},
        "resource": {"group": "", "version": "v1", "resource": format!("{}s", kind.to_lowercase())}, "object": object})
}

fn settings(policies: &[Value]) -> Settings {
    let policies: Vec<Value> = policies
        .iter()
        .enumerate()
        .map(|(number, fields)| {
            let mut policy = json!({"name": format!("p{number}"), "attestors": [{"name": "team", "cosign": {"key": {"data": KEY}}}]});
            policy.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            policy
        })
        .collect();
    let settings = json!({"registries": ["ghcr.io", "down.io"], "scanPolicies": {"defaultPolicy": "accept"}, "imageVerification": policies});
    Settings::read(&settings).unwrap()
}

/// What is recorded of a request; it is decided as without a recorder, with the same calls.
fn record(settings: &Settings, request: &Value) -> Value {
    let request = RawValue::from_string(request.to_string()).unwrap();
    let (recorded, plain) = (world(), world());
    let (decision, policies) = decide_and_record(Some(&request), settings, &WireHost(recorded.wire()), NOW);
    let other = decide(Some(&request), settings, &WireHost(plain.wire()), NOW);
    assert_eq!(format!("{decision:?}"), format!("{other:?}"));
    assert_eq!(recorded.calls().len(), plain.calls().len());
    let again = decide_and_record(Some(&request), settings, &WireHost(world().wire()), NOW).1;
    let bytes = serde_json::to_string(&policies).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), bytes);
    serde_json::from_str(&bytes).unwrap()
}

/// What is recorded of one verification, but for its path and its text.
fn verification(text: &str, object: &Value) -> Value {
    let policy = json!({"verifications": [{"expression": text}], "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}]}});
    let mut found = record(&settings(&[policy]), &request(object))[0]["expressions"][0].take();
    for key in ["path", "text"] {
        found.as_object_mut().unwrap().remove(key).unwrap();
    }
    found
}

#[test]
fn an_expression_is_shown_with_what_it_saw() {
    let asks = |image: &str, answer: Value| json!([{"function": "verifyImageSignatures", "arguments": [image, ["team"]], "answer": answer}]);
    let signed = "images.containers.all(i, verifyImageSignatures(i, [attestors.team]) > 0)";
    let why = "its digest can't be looked up: the registry refuses the connection";
    let outage = |why: &str| json!({"kind": "outage", "message": why});
    for (text, image, expected) in [
        ("true", "ghcr.io/a:1", json!({"value": true})),
        (
            "object.metadata.labels.team == 'b' || has(object.spec.x)",
            "ghcr.io/a:1",
            json!({"value": false, "saw": {"object.metadata.labels.team": "a"}, "absent": ["object.spec.x"]}),
        ),
        (
            signed,
            "ghcr.io/a:1",
            json!({"value": true, "saw": {"attestors.team": "team", "images.containers": ["ghcr.io/a:1"]}, "calls": asks("ghcr.io/a:1", json!(1))}),
        ),
        (
            signed,
            "ghcr.io/b:1",
            json!({"value": false, "saw": {"attestors.team": "team", "images.containers": ["ghcr.io/b:1"]}, "calls": asks("ghcr.io/b:1", json!(0))}),
        ),
        (
            signed,
            "down.io/a:1",
            json!({"error": outage(&format!("verifyImageSignatures: {why}")), "saw": {"attestors.team": "team", "images.containers": ["down.io/a:1"]},
                "calls": [{"function": "verifyImageSignatures", "arguments": ["down.io/a:1", ["team"]], "error": outage(why)}]}),
        ),
        (
            "object.metadata.annotations.x == 'y'",
            "ghcr.io/a:1",
            json!({"error": {"kind": "failed", "message": "no such key: annotations"}, "absent": ["object.metadata.annotations"]}),
        ),
        (
            "objct.x == 1",
            "ghcr.io/a:1",
            json!({"error": {"kind": "undefined", "message": "undeclared reference to `objct`"}, "absent": ["objct"],
                "problems": ["unknown variable `objct`; did you mean `object`?"]}),
        ),
        (
            "[0,1,2,3,4,5,6,7,8,9].all(a, 'aaaaaaaaaa'.replace('a', 'aaaaaaaaaa').replace('a', 'aaaaaaaaaa').replace('a', 'aaaaaaaaaa').matches('b'))",
            "ghcr.io/a:1",
            json!({"error": {"kind": "limit", "message": "matches: the text is longer than 8 KiB"}}),
        ),
        (
            "size(object.metadata.name)",
            "ghcr.io/a:1",
            json!({"value": 1, "error": {"kind": "failed", "message": "it must give true or false, but gives int"}, "saw": {"object.metadata.name": "p"},
                "problems": ["it must give true or false, but gives an int"]}),
        ),
        (
            "request.operation == 'CREATE' && string(1) == '1' && type(1) == int",
            "ghcr.io/a:1",
            json!({"value": true, "saw": {"request.operation": "CREATE"}}),
        ),
        // Variables of loops are its own.
        (
            "object.spec.containers.exists(object, object.image == 'x')",
            "ghcr.io/a:1",
            json!({"value": false, "saw": {"object.spec.containers": [{"image": "ghcr.io/a:1", "name": "c"}]}}),
        ),
    ] {
        assert_eq!(verification(text, &pod(image)), expected, "{text} {image}");
    }
}

/// Each kind of expression has its place, whether anything needed it or not, and so has each policy.
#[test]
fn every_expression_of_every_policy_is_there() {
    let settings = settings(&[
        json!({
            "matchConditions": [{"name": "c", "expression": "object.kind == 'Pod'"}],
            "matchImageReferences": [{"expression": "ref == 'ghcr.io/b'"}],
            "images": [{"name": "own", "expression": "['ghcr.io/b:1']"}],
            "variables": [{"name": "used", "expression": "size(images.own)"}, {"name": "unused", "expression": "1"}],
            "validations": [
                {"expression": "variables.used == 2", "messageExpression": "'there is ' + string(variables.used)"},
                {"expression": "true", "messageExpression": "'no'"},
            ],
            "auditAnnotations": [{"key": "k", "valueExpression": "string(variables.used)"}],
        }),
        json!({"matchConditions": [{"name": "c", "expression": "object.kind == 'Job'"}], "validations": [{"expression": "true"}]}),
        json!({"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["*"], "resources": ["services"], "operations": ["*"]}]}, "validations": [{"expression": "true"}]}),
    ]);
    let found = record(&settings, &request(&pod("ghcr.io/a:1")));
    let said = |policy: &Value| (policy["isAbout"].clone(), policy["whyNot"].clone(), policy["holds"].clone());
    assert_eq!(said(&found[0]), (json!(true), json!(null), json!(false)));
    assert_eq!(found[0]["message"], "Policy p0 failed: there is 1");
    assert_eq!(said(&found[1]), (json!(false), json!("one of its conditions is false"), json!(null)));
    assert_eq!(said(&found[2]), (json!(false), json!("none of its resource rules takes the request in"), json!(null)));
    let short = |policy: &Value| -> Vec<Value> {
        let own = policy["expressions"].as_array().unwrap().iter();
        own.map(|own| {
            let path = own["path"].as_str().unwrap().split_once("].").unwrap().1;
            let came_to = if own["notEvaluated"] == true { json!("-") } else { own["value"].clone() };
            json!([path, own["name"], own["image"], own["saw"]["ref"], came_to])
        })
        .collect()
    };
    let mut own = short(&found[0]);
    // The last name of the other image is as good as all.
    own.retain(|entry| entry[2] != "ghcr.io/a:1" || entry[3] == "ghcr.io/a:1");
    own.retain(|entry| entry[2] != "ghcr.io/b:1" || entry[4] == true);
    assert_eq!(
        json!(own),
        json!([
            ["matchConditions[0].expression", "c", null, null, true],
            ["images[0].expression", "own", null, null, ["ghcr.io/b:1"]],
            ["matchImageReferences[0].expression", null, "ghcr.io/a:1", "ghcr.io/a:1", false],
            ["matchImageReferences[0].expression", null, "ghcr.io/b:1", "ghcr.io/b", true],
            ["variables[0].expression", "used", null, null, 1],
            ["variables[1].expression", "unused", null, null, "-"],
            ["validations[0].expression", null, null, null, false],
            ["validations[0].messageExpression", null, null, null, "there is 1"],
            ["validations[1].expression", null, null, null, "-"],
            ["validations[1].messageExpression", null, null, null, "-"],
            ["auditAnnotations[0].valueExpression", "k", null, null, "1"],
        ])
    );
    assert_eq!(
        json!(short(&found[1])),
        json!([
            ["matchConditions[0].expression", "c", null, null, false],
            ["validations[0].expression", null, null, null, "-"]
        ])
    );
    assert_eq!(json!(short(&found[2])), json!([["validations[0].expression", null, null, null, "-"]]));
}

#[test]
fn a_policy_that_is_not_asked_says_why() {
    for (field, value, expected) in [
        ("preScanPolicies", json!({"defaultPolicy": "reject"}), "the request is rejected before policies are asked"),
        (
            "preScanPolicies",
            json!({"defaultPolicy": "accept"}),
            "pre-scan accepts the request, and `verifyPreScanAccepted` isn't set",
        ),
    ] {
        let mut own = json!({"imageVerification": [{"name": "p", "verifications": [{"expression": "true"}]}]});
        own[field] = value;
        let found = record(&Settings::read(&own).unwrap(), &request(&pod("ghcr.io/a:1")));
        assert_eq!(
            found,
            json!([{"policy": "p", "isAbout": false, "whyNot": expected, "expressions": [{"path": "imageVerification[0].verifications[0].expression", "text": "true", "notEvaluated": true}]}])
        );
    }
    let mut deleted = request(&pod("ghcr.io/a:1"));
    deleted["operation"] = json!("DELETE");
    assert_eq!(
        record(&settings(&[json!({"verifications": [{"expression": "true"}]})]), &deleted)[0]["whyNot"],
        "nothing new would run"
    );
}

/// What was asked before an outage was forgiven is asked anew without the image, and shown once.
#[test]
fn an_outage_that_is_ignored_is_told() {
    let policy = json!({"failurePolicy": "Ignore", "verifications": [{"expression": "images.all.all(i, getImageData(i).digest != '')"}]});
    let found = record(&settings(&[policy]), &request(&pod("down.io/a:1")));
    assert_eq!(found[0]["holds"], true);
    assert_eq!(found[0]["ignored"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(
        found[0]["expressions"],
        json!([{"path": "imageVerification[0].verifications[0].expression", "text": "images.all.all(i, getImageData(i).digest != '')", "value": true, "saw": {"images.all": []}}])
    );
}

/// The time of the request, and what asked for an image's configurations, whatever came of it.
#[test]
fn the_time_and_what_an_image_is_are_told() {
    let text = "now > timestamp('2000-01-01T00:00:00Z') && images.all.all(i, imageConfigs(i).size() > 0)";
    let policy = json!({"verifications": [{"expression": text}]});
    let found = record(&settings(&[policy]), &request(&pod("down.io/a:1")));
    let told = &found[0]["expressions"][0];
    assert!(told["saw"]["now"].as_str().is_some_and(|now| now.ends_with("+00:00")), "{told}");
    assert_eq!(told["calls"][0]["function"], "imageConfigs", "{told}");
    assert_eq!(told["calls"][0]["arguments"], json!(["down.io/a:1"]), "{told}");
    assert_eq!(told["calls"][0]["error"]["kind"], "outage", "{told}");
}

/// On an update, an entry of `images` is evaluated for the object before it too.
#[test]
fn what_an_update_brings_is_told_from_what_was_there() {
    let policy = json!({"images": [{"name": "own", "expression": "[object.metadata.labels.team]"}], "verifications": [{"expression": "true"}]});
    let mut update = request(&pod("ghcr.io/a:1"));
    update["operation"] = json!("UPDATE");
    update["oldObject"] = pod("ghcr.io/a:1");
    update["oldObject"]["metadata"]["labels"]["team"] = json!("old");
    let found = record(&settings(&[policy]), &update);
    let of = |own: &Value| {
        (own["seesOldObject"].clone(), own["value"].clone(), own["saw"]["object.metadata.labels.team"].clone())
    };
    assert_eq!(of(&found[0]["expressions"][0]), (json!(null), json!(["a"]), json!("a")));
    assert_eq!(of(&found[0]["expressions"][1]), (json!(true), json!(["old"]), json!("old")));
}

#[test]
fn what_a_secret_holds_is_not_shown() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "data": {"password": "hunter2"}, "stringData": {"x": "hunter2"}});
    for text in [
        "object.data.password == 'x'",
        "object.data[object.data.password] == 'x'",
        "size(object) + size(request.object.data) == 0 && string(object.data.password) == ''",
        "object.data",
        "int(object.data.password) == 1",
        "[object.data.password].all(i, verifyImageSignatures(i, [attestors.team]) > 0)",
        "object.data.map(k, object.data[k])",
    ] {
        let found = verification(text, &secret);
        assert!(!found.to_string().contains("hunter2"), "{text}: {found}");
    }
    assert_eq!(
        verification("object.metadata.name == 's'", &secret),
        json!({"value": true, "saw": {"object.metadata.name": "s"}})
    );
    let policy = json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["*"], "resources": ["secrets"], "operations": ["*"]}]},
        "images": [{"name": "own", "expression": "'down.io/' + object.data.password"}],
        "matchImageReferences": [{"expression": "ref != ''"}],
        "failurePolicy": "Ignore",
        "variables": [{"name": "v", "expression": "object.data.password"}, {"name": "w", "expression": "images.own.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}],
        "validations": [{"expression": "variables.w"}, {"expression": "variables.v == ''", "messageExpression": "variables.v"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "variables.v"}],
    });
    let found = record(&settings(&[policy]), &request(&secret));
    assert!(!found.to_string().contains("hunter2"), "{found}");
}

#[test]
fn what_is_large_is_cut() {
    let mut large = pod("ghcr.io/a:1");
    large["metadata"]["labels"] = json!({"long": "x".repeat(1000)});
    large["spec"]["containers"] = json!(vec![json!({"name": "c", "image": "ghcr.io/a:1", "args": vec!["y"; 100]}); 30]);
    let saw = verification("object.metadata.labels != {} && object.spec.containers != []", &large)["saw"].take();
    assert_eq!(saw["object.metadata.labels"]["long"].as_str().unwrap().chars().count(), 300);
    let containers = saw["object.spec.containers"].as_array().unwrap();
    assert_eq!(containers[0]["args"].as_array().unwrap().last().unwrap(), "… 80 more");
    assert!(containers.len() < 20 && containers.last().unwrap().as_str().unwrap().starts_with("… "), "{containers:?}");
}
