//! Who may break the glass, and who may not: tested through the engine's entry point, with a host that counts its calls.

use crate::validate;
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

const ANNOTATION: &str = "example.com/break-glass";

fn settings() -> Value {
    json!({
        "registries": ["registry.example.com"],
        "breakGlass": {
            "annotation": ANNOTATION,
            "resource": {"group": "policies.kubewarden.io", "resource": "clusteradmissionpolicies", "name": "image-admission"},
        },
    })
}

/// A Pod of an image that nobody has scanned.
fn pod(metadata: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
           "spec": {"containers": [{"name": "c", "image": "registry.example.com/app:1"}]}})
}

fn request(user: &Value, object: &Value) -> Value {
    json!({"uid": "1", "operation": "CREATE", "namespace": "shop", "userInfo": user, "object": object,
           "kind": {"group": "", "version": "v1", "kind": "Pod"}})
}

fn answer(host: &StubHost, settings: &Value, request: &Value) -> (Value, Vec<String>) {
    let payload = json!({"settings": settings, "request": request}).to_string();
    let answer = validate(payload.as_bytes(), &WireHost(host.wire()), Timestamp(0));
    let lines = answer.log.into_iter().map(|line| line.message).collect();
    (serde_json::from_slice(&answer.response).unwrap(), lines)
}

fn alice() -> Value {
    json!({"username": "alice", "groups": ["on-call", "system:authenticated"]})
}

fn asks(reason: &str) -> Value {
    json!({"name": "p", "annotations": {ANNOTATION: reason}})
}

fn host() -> StubHost {
    StubHost::default().may("alice")
}

#[test]
fn who_has_the_right_and_a_reason_is_let_through_and_nobody_else_is_asked() {
    let host = host();
    let (response, log) = answer(&host, &settings(), &request(&alice(), &pod(&asks("TICKET-7, production is down"))));
    assert_eq!(
        response,
        json!({
            "accepted": true,
            "warnings": ["break glass: admitted unjudged for `alice`: TICKET-7, production is down"],
            "audit_annotations": {
                "verdict": "allowed", "reason": "the glass was broken: nothing was judged",
                "break-glass": "TICKET-7, production is down", "break-glass.user": "alice",
            },
        })
    );
    assert_eq!(log, ["break glass: admitted unjudged for `alice`: TICKET-7, production is down"]);
    let calls: Vec<Value> = host.calls().into_iter().map(|call| json!([call.operation, call.payload])).collect();
    assert_eq!(
        calls,
        [json!(["can_i", {
            "subject_access_review": {
                "user": "alice", "groups": ["on-call", "system:authenticated"],
                "resource_attributes": {
                    "verb": "use", "group": "policies.kubewarden.io", "resource": "clusteradmissionpolicies",
                    "name": "image-admission", "namespace": null, "subresource": null, "version": null,
                },
            },
            "disable_cache": true,
        }])]
    );
}

#[test]
fn all_others_are_judged_and_told_why() {
    let owned = |controller: Value| {
        let mut metadata = asks("TICKET-7");
        metadata["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1", "controller": controller}]);
        metadata
    };
    let refused = "break glass was asked for, and refused: ";
    let resource = "clusteradmissionpolicies.policies.kubewarden.io `image-admission`";
    for (name, user, metadata, line) in [
        (
            "somebody else",
            json!({"username": "bob"}),
            asks("TICKET-7"),
            format!("{refused}`bob` may not `use` {resource}"),
        ),
        ("no reason", alice(), asks(""), format!("{refused}the annotation must say why")),
        ("nothing to be seen", alice(), asks("\u{200b}"), format!("{refused}the annotation must say why")),
        ("no word", alice(), asks(" \n\t\u{0}"), format!("{refused}the annotation must say why")),
        (
            "a controller's",
            alice(),
            owned(json!(true)),
            format!("{refused}a controller made this object, and has the annotation of a template"),
        ),
        ("nobody", json!({}), asks("TICKET-7"), format!("{refused}the request doesn't say who made it")),
        (
            "no name",
            json!({"username": " "}),
            asks("TICKET-7"),
            format!("{refused}the request doesn't say who made it"),
        ),
        (
            "groups that are none",
            json!({"username": "alice", "groups": "on-call"}),
            asks("TICKET-7"),
            format!("{refused}the request doesn't say who made it"),
        ),
    ] {
        let (response, log) = answer(&host(), &settings(), &request(&user, &pod(&metadata)));
        assert_eq!(response["accepted"], false, "{name}: {response}");
        let message = response["message"].as_str().unwrap();
        assert!(message.ends_with(&format!("\n{line}")), "{name}: {message}");
        assert_eq!(response["audit_annotations"]["break-glass.refused"], line, "{name}");
        assert!(log.is_empty(), "{name}: {log:?}");
    }
    // An owner that isn't a controller made the object for nobody.
    for controller in [json!(false), json!(null)] {
        assert_eq!(answer(&host(), &settings(), &request(&alice(), &pod(&owned(controller)))).0["accepted"], true);
    }
}

#[test]
fn what_is_no_annotation_of_the_object_asks_for_nothing() {
    let mut template = pod(&json!({"name": "p"}));
    template["spec"]["template"] = json!({"metadata": asks("TICKET-7")});
    for (name, object) in [
        ("none", pod(&json!({"name": "p"}))),
        ("another", pod(&json!({"annotations": {"example.com/break": "TICKET-7"}}))),
        ("a label", pod(&json!({"labels": {ANNOTATION: "TICKET-7"}}))),
        ("a template's", template),
        ("a number", pod(&json!({"annotations": {ANNOTATION: 7}}))),
        ("no map", pod(&json!({"annotations": [ANNOTATION]}))),
        ("owners that are none", pod(&json!({"annotations": {ANNOTATION: "TICKET-7"}, "ownerReferences": "me"}))),
        (
            "a controller that is none",
            pod(&json!({"annotations": {ANNOTATION: "TICKET-7"}, "ownerReferences": [{"controller": "false"}]})),
        ),
    ] {
        let host = host();
        let (response, _) = answer(&host, &settings(), &request(&alice(), &object));
        assert_eq!(response["accepted"], false, "{name}: {response}");
        assert!(!response.to_string().contains("break glass"), "{name}: {response}");
        assert_eq!(host.count("can_i"), 0, "{name}");
    }
}

/// The API server never sends a key twice, or in another case. A request that does is judged.
#[test]
fn a_key_that_parsers_disagree_about_breaks_nothing() {
    let asked = request(&alice(), &pod(&asks("TICKET-7"))).to_string();
    let twice = format!("\"{ANNOTATION}\":\"\",\"{ANNOTATION}\":");
    for (name, from, to) in [
        ("metadata", "\"metadata\":", "\"metadata\":{\"name\":\"other\"},\"metadata\":"),
        ("the annotation", &*format!("\"{ANNOTATION}\":"), &*twice),
        ("owners in another case", "\"metadata\":{", "\"metadata\":{\"OwnerReferences\":[{\"controller\":true}],"),
        (
            "a controller in another case",
            "\"metadata\":{",
            "\"metadata\":{\"ownerReferences\":[{\"Controller\":true}],",
        ),
        ("the user", "\"userInfo\":", "\"userinfo\":{\"username\":\"bob\"},\"userInfo\":"),
        ("the user's name", "\"username\":", "\"Username\":\"bob\",\"username\":"),
    ] {
        let spelt = asked.replacen(from, to, 1);
        assert_ne!(spelt, asked, "{name}");
        let payload = format!("{{\"settings\":{},\"request\":{spelt}}}", settings());
        let response = validate(payload.as_bytes(), &WireHost(host().wire()), Timestamp(0)).response;
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!(response["accepted"], false, "{name}: {response}");
    }
}

#[test]
fn an_answer_that_isnt_yes_is_no() {
    for (answered, line) in [
        (r#"{"allowed": false}"#, "may not"),
        (r#"{"allowed": true, "denied": true}"#, "may not"),
        (r#"{"allowed": "true"}"#, "can't be looked up"),
        ("{}", "can't be looked up"),
        ("null", "can't be looked up"),
        ("", "can't be looked up"),
    ] {
        let host = StubHost::default().says("can_i", answered);
        let (response, _) = answer(&host, &settings(), &request(&alice(), &pod(&asks("TICKET-7"))));
        assert_eq!(response["accepted"], false, "{answered}");
        assert!(response["message"].as_str().unwrap().contains(line), "{answered}: {response}");
    }
    let forbidden = "Callback evaluation failure: ApiError: subjectaccessreviews.authorization.k8s.io is forbidden";
    let host = StubHost::default().fails("can_i", forbidden);
    let (response, _) = answer(&host, &settings(), &request(&alice(), &pod(&asks("TICKET-7"))));
    let message = response["message"].as_str().unwrap();
    assert!(
        message.ends_with("can't be looked up: ApiError: subjectaccessreviews.authorization.k8s.io is forbidden"),
        "{message}"
    );
}

#[test]
fn deletions_ask_for_nothing_and_updates_by_what_they_bring() {
    let mut gone = request(&alice(), &pod(&asks("TICKET-7")));
    gone["operation"] = json!("DELETE");
    let host = StubHost::not_to_be_asked();
    assert_eq!(answer(&host, &settings(), &gone).0["accepted"], true);
    let mut changed = request(&alice(), &pod(&asks("TICKET-7")));
    changed["operation"] = json!("UPDATE");
    changed["oldObject"] = pod(&json!({"name": "p"}));
    assert_eq!(answer(&self::host(), &settings(), &changed).0["audit_annotations"]["break-glass.user"], "alice");
}

/// Who had the right let the Pod in, and their annotation stays on it. What somebody else changes then is judged.
#[test]
fn an_annotation_that_is_there_is_nobody_elses() {
    let let_in = pod(&asks("TICKET-7"));
    let mut image = let_in.clone();
    image["spec"]["containers"][0]["image"] = json!("registry.example.com/app:2");
    let mut debug = let_in.clone();
    debug["spec"]["ephemeralContainers"] = json!([{"name": "d", "image": "registry.example.com/debug:1"}]);
    for (sub_resource, object) in [("", &image), ("ephemeralcontainers", &debug)] {
        for (user, is_accepted) in [("bob", false), ("alice", true)] {
            let mut changed = request(&json!({"username": user}), object);
            changed["operation"] = json!("UPDATE");
            changed["subResource"] = json!(sub_resource);
            changed["oldObject"] = let_in.clone();
            let (response, _) = answer(&host(), &settings(), &changed);
            assert_eq!(response["accepted"], is_accepted, "{user} {sub_resource}: {response}");
            let said = response["audit_annotations"]["break-glass.refused"].as_str().unwrap_or_default();
            assert_eq!(said.contains("`bob` may not `use`"), !is_accepted, "{response}");
        }
    }
}

#[test]
fn texts_of_others_are_one_line_and_bounded() {
    let user = json!({"username": format!("eve\nverdict: rejected {}", "x".repeat(500))});
    let host = StubHost::default().says("can_i", r#"{"allowed": true}"#);
    let (response, log) = answer(&host, &settings(), &request(&user, &pod(&asks(&"r\n".repeat(5000)))));
    let texts = [
        &response["warnings"][0],
        &response["audit_annotations"]["break-glass"],
        &response["audit_annotations"]["break-glass.user"],
    ];
    for text in texts.into_iter().map(|text| text.as_str().unwrap()).chain(log.iter().map(String::as_str)) {
        assert!(!text.contains('\n') && text.chars().count() <= 600, "{text}");
    }
    assert!(response["warnings"][0].as_str().unwrap().chars().count() <= 120);
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For everybody who is let through, the cluster was asked about exactly their name and groups, and said yes.
        #[test]
        fn let_through_means_asked_and_allowed(
            user in "[a-z:]{0,6}", groups in prop::collection::vec("[a-z]{1,3}", 0..3), reason in "[ \\na-z]{0,4}",
            controller in any::<Option<bool>>(), annotated in any::<bool>(), allowed in any::<bool>(),
        ) {
            let mut metadata = json!({"name": "p"});
            if annotated {
                metadata["annotations"] = json!({ANNOTATION: reason});
            }
            if let Some(controller) = controller {
                metadata["ownerReferences"] = json!([{"controller": controller}]);
            }
            let host = StubHost::default().says("can_i", json!({"allowed": allowed}).to_string());
            let user_info = json!({"username": user, "groups": groups});
            let (response, _) = answer(&host, &settings(), &request(&user_info, &pod(&metadata)));
            let broken = response["accepted"] == true;
            prop_assert_eq!(broken, annotated && allowed && !reason.trim().is_empty() && controller != Some(true) && !user.is_empty());
            if broken {
                let calls = host.calls();
                prop_assert_eq!(calls.len(), 1);
                let review = &calls[0].payload["subject_access_review"];
                prop_assert_eq!(&review["user"], &json!(user));
                prop_assert_eq!(&review["groups"], &json!(groups));
            }
        }
    }
}
