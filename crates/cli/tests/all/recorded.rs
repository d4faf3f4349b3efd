//! Recorded sessions.
use std::sync::Arc;

use image_admission_module_host::answers::recorded::{Recorder, Recording};
use image_admission_module_host::answers::{AnswerSource, GetResource, Request};

/// A session as `kwctl` writes it.
const SESSION: &str = r#"- type: Exchange
  request: |
    !OciManifestDigest
    image: ghcr.io/team/app:1.0
  response:
    type: Success
    payload: '{"digest":"sha256:1"}'
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Pod
    name: web
    namespace: shop
    disable_cache: false
    field_masks:
    - spec.b
    - spec.a
  response:
    type: Success
    payload: first
- type: Exchange
  request: |
    !KubernetesGetResource
    api_version: v1
    kind: Pod
    name: web
    namespace: shop
    disable_cache: false
    field_masks:
    - spec.a
    - spec.b
  response:
    type: Success
    payload: second
- type: Exchange
  request: |
    !SigstorePubKeyVerify
    image: ghcr.io/team/app@sha256:1
    pub_keys:
    - key
    annotations: null
  response:
    type: Error
    message: no signatures found for image
"#;

fn digest(image: &str) -> Request {
    Request::OciManifestDigest { image: image.to_owned() }
}

fn pod() -> Request {
    Request::KubernetesGetResource(GetResource {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: "web".to_owned(),
        namespace: Some("shop".to_owned()),
        disable_cache: false,
        field_masks: Some(["spec.a".to_owned(), "spec.b".to_owned()].into()),
    })
}

fn signature() -> Request {
    Request::SigstorePubKeyVerify {
        image: "ghcr.io/team/app@sha256:1".to_owned(),
        pub_keys: vec!["key".to_owned()],
        annotations: None,
    }
}

fn text(answer: Result<Vec<u8>, String>) -> Result<String, String> {
    answer.map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn exchanges_are_found_by_their_request() {
    let session = Recording::from_yaml(SESSION).unwrap();
    assert_eq!(text(session.answer(&signature())), Err("no signatures found for image".to_owned()));
    assert_eq!(text(session.answer(&pod())), Ok("first".to_owned()));
    assert_eq!(text(session.answer(&digest("ghcr.io/team/app:1.0"))), Ok(r#"{"digest":"sha256:1"}"#.to_owned()));
    assert_eq!(text(session.answer(&pod())), Ok("second".to_owned()));
    assert!(session.leftovers().is_empty());
}

#[test]
fn the_last_answer_to_a_request_stays() {
    let session = Recording::from_yaml(SESSION).unwrap();
    let answers: Vec<_> = (0..4).map(|_| text(session.answer(&pod())).unwrap()).collect();
    assert_eq!(answers, ["first", "second", "second", "second"]);
}

#[test]
fn what_was_never_asked_for_is_left_over() {
    let session = Recording::from_yaml(SESSION).unwrap();
    session.answer(&digest("ghcr.io/team/app:1.0")).unwrap();
    session.answer(&pod()).unwrap();
    assert_eq!(
        session.leftovers(),
        [
            r#"exchange 3 was never asked for: {"KubernetesGetResource":{"api_version":"v1","kind":"Pod","name":"web","namespace":"shop","disable_cache":false,"field_masks":["spec.a","spec.b"]}}"#,
            r#"exchange 4 was never asked for: {"SigstorePubKeyVerify":{"image":"ghcr.io/team/app@sha256:1","pub_keys":["key"],"annotations":null}}"#,
        ]
    );
}

#[test]
fn a_request_that_was_not_recorded_can_be_added() {
    let session = Recording::from_yaml("[]").unwrap();
    let error = session.answer(&digest("a:1")).unwrap_err();
    let (first, rest) = error.split_once('\n').unwrap();
    let (advice, entry) = rest.split_once('\n').unwrap();
    assert_eq!(first, r#"not recorded: {"OciManifestDigest":{"image":"a:1"}}"#);
    assert_eq!(advice, "add this to the recording, with the answer as its payload:");
    assert_eq!(
        entry,
        "- type: Exchange\n  request: |\n    !OciManifestDigest\n    image: a:1\n  response:\n    type: Success\n    payload: '{}'\n"
    );
    assert_eq!(text(Recording::from_yaml(entry).unwrap().answer(&digest("a:1"))), Ok("{}".to_owned()));
}

#[test]
fn a_recording_of_a_replay_is_the_same_session() {
    let recorder = Recorder::new(Arc::new(Recording::from_yaml(SESSION).unwrap()));
    for request in [digest("ghcr.io/team/app:1.0"), pod(), pod(), signature()] {
        let _ = recorder.answer(&request);
    }
    assert!(recorder.leftovers().is_empty());
    // Masks are a set, written in its order.
    let ordered = SESSION.replace("    - spec.b\n    - spec.a\n", "    - spec.a\n    - spec.b\n");
    assert_eq!(recorder.to_yaml().unwrap(), ordered);
}

#[test]
fn a_file_that_is_no_session_says_where() {
    let error = |yaml| Recording::from_yaml(yaml).unwrap_err();
    assert_eq!(error("{}"), "invalid type: map, expected a sequence");
    let unknown = error(
        "- {type: Exchange, request: '!OciManifest {image: a}', response: {type: Success, payload: x}}\n- {type: Exchange, request: '!NoSuch {}', response: {type: Error, message: x}}",
    );
    assert!(unknown.starts_with("exchange 2: not a request: unknown variant `NoSuch`, expected one of "), "{unknown}");
}
