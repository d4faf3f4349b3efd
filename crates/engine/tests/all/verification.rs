//! `imageVerification` through the whole engine: what expressions ask of the host, what they say, and what is refused when
//! the policy is deployed. Signatures and envelopes made with real keys are in the command line's tests.

mod beside;
pub(crate) mod evidence;

use image_admission_engine::{validate, validate_settings};
use image_admission_host::WireHost;
use image_admission_stub_host::StubHost;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVwI5hlIdBJCqfU8SYSc8YNsw6Jlt\nVSpeGjgcYKdBdDVrMD6JEq2k/bxnkUb6DGcB/E8oPzHDIfKkXoAdWqvoMA==\n-----END PUBLIC KEY-----\n";
const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEADLFD/uH8MUfmgA25ATXN2fJZMhQP7kyNDIq6slIEacE=\n-----END PUBLIC KEY-----\n";

pub(crate) fn digest(of: &str) -> String {
    let hex: String = of.bytes().cycle().take(32).map(|b| format!("{b:02x}")).collect();
    format!("sha256:{hex}")
}

/// What stands at an image's tag.
fn at(image: &str) -> String {
    format!("{}@{}", image.rsplit_once(':').unwrap().0, digest(image))
}

/// Where [`beside`] has its document.
fn artifact_at() -> String {
    format!("ghcr.io/team/app@{}", digest("artifact"))
}

/// What `v2/verify` was asked, whole.
fn verified(host: &StubHost) -> Vec<Value> {
    let calls = host.calls().into_iter();
    calls.filter(|call| call.operation == "v2/verify").map(|call| call.payload).collect()
}

pub(crate) fn pod(images: &[&str]) -> Value {
    let containers: Vec<Value> =
        images.iter().enumerate().map(|(n, image)| json!({"name": format!("c{n}"), "image": image})).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "prod", "labels": {"b": "2", "a": "1"}},
        "spec": {"containers": containers}})
}

pub(crate) fn request(object: &Value) -> Value {
    let kind = object["kind"].as_str().unwrap();
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    json!({"uid": "u", "operation": "CREATE", "namespace": "prod", "userInfo": {"username": "alice"},
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": format!("{}s", kind.to_lowercase())}, "object": object})
}

/// Settings with one policy of these fields, beside a phase that lets in whatever its scan says.
fn settings(policy: &Value) -> Value {
    let mut own = json!({
        "name": "signed",
        "attestors": [{"name": "team", "cosign": {"key": {"data": KEY}}}, {"name": "other", "cosign": {"key": {"data": OTHER_KEY}}}],
    });
    for (key, value) in policy.as_object().unwrap() {
        own[key] = value.clone();
    }
    json!({"scanPolicies": {"defaultPolicy": "accept", "reportPending": "accept", "scanFailed": "accept"},
        "reports": {"sources": [{"registry": {"tagSuffix": "scan", "allowUnsigned": true}}]}, "imageVerification": [own]})
}

fn expression(text: &str) -> Value {
    json!({"verifications": [{"expression": text}]})
}

fn ask(settings: &Value, request: &Value, world: &StubHost) -> Value {
    let payload = json!({"settings": settings, "request": request}).to_string();
    let answer = validate(payload.as_bytes(), &WireHost(world.wire()), Timestamp(1_790_000_000));
    serde_json::from_slice(&answer.response).unwrap()
}

/// A host that has these images.
fn known(images: &[&str]) -> StubHost {
    images.iter().fold(StubHost::default(), |host, image| host.image(image, &digest(image)))
}

/// A host that knows a few images, who signed one of them, and a registry that lies.
fn world() -> StubHost {
    let images = ["ghcr.io/team/app:1", "ghcr.io/team/unsigned:1", "lies.io/team/app:1", "quay.io/x/y:1"];
    let host = known(&images).signed(&at("ghcr.io/team/app:1"), KEY).down("down.io/").broken("broken");
    host.answer_with(|call| {
        assert!(!call.operation.starts_with("list"), "nobody answers {call}");
        let lies = call.operation == "v2/verify" && call.image().starts_with("lies.io/");
        lies.then(|| Ok(json!({"is_trusted": true, "digest": digest("other")})))
    })
}

/// A document as an artifact of `ghcr.io/team/app`, at the tag that an image of that digest has for it.
fn beside(host: StubHost, about: &str, suffix: &str, document: Value) -> StubHost {
    let tag = format!("ghcr.io/team/app:{}.{suffix}", about.replace(':', "-"));
    host.tag(&tag, &digest("artifact")).artifact_says(&artifact_at(), document)
}

/// An approval of the image of that digest.
fn approved(host: StubHost, about: &str, approval: &Value) -> StubHost {
    let manifest = json!({"config": {"mediaType": "application/vnd.acme.approval+json"}, "subject": {"digest": about}});
    let document = json!({"manifest": manifest, "digest": digest("artifact"), "config": approval});
    beside(host, about, "approval", document)
}

const SIGNED: &str = "images.containers.all(i, verifyImageSignatures(i, [attestors.team]) > 0)";

/// What an expression comes to for a Pod of the signed image.
fn evaluate(text: &str) -> Result<(), String> {
    let response = ask(&settings(&expression(text)), &request(&pod(&["ghcr.io/team/app:1"])), &world());
    if response["accepted"] == json!(true) { Ok(()) } else { Err(response["message"].as_str().unwrap().to_owned()) }
}

pub(crate) fn problems(settings: &Value) -> Vec<String> {
    let answer = validate_settings(settings.to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&answer.response).unwrap();
    answer["message"].as_str().unwrap_or_default().lines().map(str::to_owned).collect()
}

#[test]
fn a_signed_image_is_admitted_and_pinned_to_the_digest_that_was_signed() {
    let host = world();
    let response = ask(&settings(&expression(SIGNED)), &request(&pod(&["ghcr.io/team/app:1"])), &host);
    assert_eq!(response["accepted"], true, "{response}");
    let pinned = format!("ghcr.io/team/app:1@{}", digest("ghcr.io/team/app:1"));
    assert_eq!(response["mutated_object"]["spec"]["containers"][0]["image"], json!(pinned));
    assert_eq!(response["audit_annotations"]["container-1.verified-by"], "team (signed)");
    let asked = host.calls();
    let of_tag = asked.iter().filter(|call| call.image().ends_with("ghcr.io/team/app:1")).count();
    assert_eq!(of_tag, 1, "the tag is resolved once: {asked:?}");
}

#[test]
fn an_image_that_is_not_signed_is_rejected_without_a_scan() {
    let host = world();
    let response = ask(&settings(&expression(SIGNED)), &request(&pod(&["ghcr.io/team/unsigned:1"])), &host);
    assert_eq!(response["code"], 403);
    assert_eq!(
        response["message"],
        "Policy signed failed: CEL expression validation failed at index 0\n'ghcr.io/team/unsigned:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`); team (its key) must sign ghcr.io/team/unsigned@".to_owned()
            + &digest("ghcr.io/team/unsigned:1")
    );
    let asked = host.calls();
    assert_eq!(
        asked.len(),
        4,
        "the digest, the signature, what there is in its place, and whether it is an index: {asked:?}"
    );
}

#[test]
fn one_call_for_each_image_and_attestor_however_many_expressions_ask() {
    let host = world();
    let policy = json!({"verifications": [{"expression": SIGNED}, {"expression": SIGNED},
        {"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team, attestors.other]) == 1)"}]});
    let mut settings = settings(&policy);
    let mut second = settings["imageVerification"][0].clone();
    second["name"] = json!("again");
    settings["imageVerification"].as_array_mut().unwrap().push(second);
    let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1", "ghcr.io/team/app:1"])), &host);
    assert_eq!(response["accepted"], true, "{response}");
    assert_eq!(host.count("v2/verify"), 2);
}

/// No function and no source asks a host that may be inside, unless the settings name it; then all of them do.
#[test]
fn hosts_inside_are_asked_only_when_the_settings_name_them() {
    for host in ["10.0.0.1:5000", "[::1]:5000", "127.1", "localhost:5000", "registry:5000", "r.shop.svc", "nas.local"] {
        let image = format!("{host}/team/app:1");
        for text in [
            "images.containers.all(i, verifyImageSignatures(i, [attestors.team]) > 0)",
            "images.containers.all(i, getImageData(i).digest != '')",
            "images.containers.all(i, imageConfigs(i).size() > 0)",
            "images.containers.all(i, scanReport(i).Status != '')",
            "images.containers.all(i, verifyAttestationSignatures(i, attestations.a, [attestors.team]) > 0)",
            "true",
        ] {
            let mut policy = expression(text);
            policy["attestations"] = json!([{"name": "a", "referrer": {"type": "application/vnd.acme.approval+json"}}]);
            let mut settings = settings(&policy);
            settings["scanPolicies"] = json!({});
            let host_calls = |settings: &Value| {
                let world = world();
                let response = ask(settings, &request(&pod(&[&image])), &world);
                (response["message"].as_str().unwrap_or_default().to_owned(), world.calls().len())
            };
            let (message, asked) = host_calls(&settings);
            assert_eq!(asked, 0, "{image} {text}: {message}");
            assert!(message.contains(&format!("registry `{host}` may be inside the network")), "{text}: {message}");
            settings["registries"] = json!([host]);
            let (message, asked) = host_calls(&settings);
            assert!(asked > 0, "{image} {text}: {message}");
            settings["registries"] = json!(["ghcr.io"]);
            let (message, asked) = host_calls(&settings);
            assert_eq!(asked, 0, "{image} {text}: {message}");
        }
    }
}

#[test]
fn what_can_not_be_told_rejects() {
    for (image, text, message) in [
        ("down.io/a:1", SIGNED, "its digest can't be looked up: the registry refuses the connection"),
        ("lies.io/team/app:1", SIGNED, "the host verified another digest"),
        ("ghcr.io/gone:1", SIGNED, "its digest can't be looked up: the registry has no such manifest"),
        (
            "ghcr.io/team/app:1",
            "images.initContainers[0] == 'x'",
            "Policy signed error: imageVerification[0].verifications[0].expression: ",
        ),
        ("ghcr.io/team/app:1", "object.spec.replicas > 1", "no such key: replicas"),
        ("ghcr.io/team/app:1", "object.spec.containers[0].name", "it must give true or false, but gives string"),
        (
            "ghcr.io/team/app:1",
            "verifyImageSignatures('No:Image:', [attestors.team]) > 0",
            "`No:Image:` is not an image reference",
        ),
        ("ghcr.io/team/app:1", "verifyImageSignatures(images.all[0], ['nobody']) > 0", "there is no attestor `nobody`"),
        ("ghcr.io/team/app:1", "verifyImageSignatures(1, [attestors.team]) > 0", "the image must be a string"),
    ] {
        let response = ask(&settings(&expression(text)), &request(&pod(&[image])), &world());
        assert_eq!(response["accepted"], false, "{text}");
        let found = response["message"].as_str().unwrap();
        assert!(found.contains(message), "{text}: {found}");
    }
}

/// However an image is spelt, the rules that are about it take it in.
#[test]
fn another_spelling_leaves_no_image_out() {
    let digest = digest("x");
    let rules = [
        (json!({"glob": "ghcr.io/team/*"}), vec!["GHCR.IO/team/unsigned:1", "ghcr.io:443/team/unsigned:1"]),
        (json!({"glob": "ghcr.io/team/unsigned:*"}), vec!["ghcr.io/team/unsigned:1"]),
        (
            json!({"expression": "ref.startsWith('ghcr.io/')"}),
            vec!["GHCR.IO/team/unsigned:1", "ghcr.io:443/team/unsigned:1"],
        ),
    ];
    for (rule, images) in rules {
        let policy = json!({"matchImageReferences": [rule], "verifications": [{"expression": SIGNED}]});
        let by_digest = format!("ghcr.io/team/unsigned@{digest}");
        for image in images.into_iter().chain([by_digest.as_str()]) {
            let response = ask(&settings(&policy), &request(&pod(&[image])), &world());
            assert_eq!(response["accepted"], false, "{rule} {image}: {response}");
        }
    }
}

/// A custom rule lets in an image that pre-scan would scan. No policy asks for a signature then, and none is missed.
#[test]
fn where_a_rule_accepts_everything_no_image_is_missed() {
    crate::clock::use_clock_of(std::time::Duration::ZERO);
    let mut settings = settings(&expression(SIGNED));
    settings["preCustomRules"] = json!("allow_pod { true }");
    let host = world();
    let response = ask(&settings, &request(&pod(&["quay.io/x/y:1"])), &host);
    assert_eq!((&response["accepted"], response.get("warnings")), (&json!(true), None), "{response}");
    assert_eq!(host.calls().len(), 0);
}

#[test]
fn images_in_lists_that_nobody_names_are_told() {
    let mut object = pod(&["ghcr.io/team/app:1"]);
    object["spec"]["initContainers"] = json!([{"name": "i", "image": "quay.io/x/y:1"}]);
    let response = ask(&settings(&expression(SIGNED)), &request(&object), &world());
    assert!(
        response["warnings"].to_string().contains("image 'quay.io/x/y:1' is one that no verification policy looked at"),
        "{response}"
    );
    // So are those of a request that every policy is not about.
    let policy = json!({"matchConstraints": {"resourceRules": [{"operations": ["UPDATE"], "resources": ["pods"]}]}, "verifications": [{"expression": SIGNED}]});
    let response = ask(&settings(&policy), &request(&object), &world());
    assert_eq!(response["warnings"].to_string().matches("no verification policy looked at").count(), 2, "{response}");
    let nothing = ask(&settings(&expression("object.kind == 'Pod'")), &request(&object), &world());
    assert!(!nothing["warnings"].to_string().contains("looked at"), "{nothing}");
}

/// Who may provoke an error can't switch off what else is demanded.
#[test]
fn ignoring_errors_goes_on_and_limits_reject_all_the_same() {
    let loops = (0..6).fold("true".to_owned(), |inner, n| format!("[0,1,2,3,4,5,6,7,8,9].all(x{n}, {inner})"));
    for (first, accepted) in [("object.metadata.labels.team != ''", false), (loops.as_str(), false)] {
        let policy =
            json!({"failurePolicy": "Ignore", "verifications": [{"expression": first}, {"expression": SIGNED}]});
        let response = ask(&settings(&policy), &request(&pod(&["ghcr.io/team/unsigned:1"])), &world());
        assert_eq!(response["accepted"], accepted, "{response}");
    }
}

#[test]
fn a_policy_that_pins_wins() {
    let mut settings = settings(&json!({"validationConfigurations": {}, "verifications": [{"expression": SIGNED}]}));
    let mut second = settings["imageVerification"][0].clone();
    second["name"] = json!("second");
    second["failureAction"] = json!("Audit");
    second["validationConfigurations"] = json!({"mutateDigest": false, "verifyDigest": false});
    settings["imageVerification"].as_array_mut().unwrap().push(second);
    let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1"])), &world());
    assert!(
        response["mutated_object"]["spec"]["containers"][0]["image"].as_str().unwrap().contains("@sha256:"),
        "{response}"
    );
}

#[test]
fn variables_are_needed_only_where_they_are_used() {
    let policy = |text: &str| json!({"variables": [{"name": "vols", "expression": "object.spec.volumes.map(v, v.name)"}, {"name": "one", "expression": "1"}], "verifications": [{"expression": text}]});
    let ask = |text: &str| ask(&settings(&policy(text)), &request(&pod(&["ghcr.io/team/app:1"])), &world());
    assert_eq!(ask("has(object.spec.volumes) ? variables.vols.size() > 0 : true")["accepted"], true);
    let needed = ask("variables.vols.size() > 0");
    assert!(needed["message"].as_str().unwrap().contains("variables[0].expression: no such key: volumes"), "{needed}");
    for text in [
        "variables['one'] == 1",
        "has(variables.one) && has(images.containers) && has(attestors.team)",
        "!has(variables.vols)",
    ] {
        assert_eq!(ask(text)["accepted"], true, "{text}");
    }
}

#[test]
fn a_list_of_ones_own_adds_to_the_pods() {
    let policy = json!({"images": [{"name": "all", "expression": "[object.metadata.annotations.sidecar]"}], "verifications": [{"expression": "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}]});
    let mut object = pod(&["ghcr.io/team/app:1"]);
    object["metadata"]["annotations"] = json!({"sidecar": "ghcr.io/team/unsigned:1"});
    let response = ask(&settings(&policy), &request(&object), &world());
    assert!(
        response["message"].as_str().unwrap().contains("'ghcr.io/team/unsigned:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)"),
        "{response}"
    );
    // What it named before the update isn't asked for again.
    let mut update = request(&object);
    update["operation"] = json!("UPDATE");
    update["oldObject"] = object.clone();
    update["object"]["metadata"]["labels"] = json!({});
    assert_eq!(ask(&settings(&policy), &update, &world())["accepted"], true);
    update["object"]["metadata"]["annotations"]["sidecar"] = json!("quay.io/x/y:1");
    assert_eq!(ask(&settings(&policy), &update, &world())["accepted"], false);
}

#[test]
fn what_ran_before_needs_no_digest() {
    let policy =
        json!({"validationConfigurations": {"mutateDigest": false}, "verifications": [{"expression": SIGNED}]});
    let mut update = request(&pod(&["ghcr.io/team/app:1"]));
    update["operation"] = json!("UPDATE");
    update["oldObject"] = update["object"].clone();
    update["object"]["metadata"]["labels"] = json!({});
    assert_eq!(ask(&settings(&policy), &update, &world())["accepted"], true);
}

#[test]
fn what_ran_before_is_in_no_list() {
    let policy = expression(
        "images.containers == ['ghcr.io/team/app:1'] && images.all == images.containers && images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)",
    );
    let mut update = request(&pod(&["ghcr.io/team/unsigned:1", "ghcr.io/team/app:1"]));
    update["operation"] = json!("UPDATE");
    update["oldObject"] = pod(&["ghcr.io/team/unsigned:1", "quay.io/x/y:1"]);
    let host = world();
    assert_eq!(ask(&settings(&policy), &update, &host)["accepted"], true);
    let asked = host.calls();
    assert!(!asked.iter().any(|call| call.image().contains("unsigned")), "{asked:?}");
    // Who names it by another way is told that it counts as verified.
    let by_object = expression("verifyImageSignatures(object.spec.containers[0].image, [attestors.team]) > 0");
    assert_eq!(ask(&settings(&by_object), &update, &world())["accepted"], true);
    // Who judges what is there judges it.
    let mut judging = expression("images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)");
    assert_eq!(ask(&settings(&judging), &update, &world())["accepted"], true);
    judging["existingImages"] = json!("judge");
    let judged = ask(&settings(&judging), &update, &world());
    assert_eq!(judged["accepted"], false);
    assert!(judged["message"].as_str().unwrap().contains("'ghcr.io/team/unsigned:1'"), "{judged}");
    // New in another place, it is new.
    update["object"]["spec"]["containers"][1]["image"] = json!("ghcr.io/team/unsigned:1");
    assert_eq!(ask(&settings(&policy), &update, &world())["accepted"], false);
}

/// What isn't known is taken for signed first, which asks nobody anything that the expression doesn't come to.
#[test]
fn only_what_an_expression_comes_to_is_asked() {
    let (signed, unsigned) = ("ghcr.io/team/app:1", "ghcr.io/team/unsigned:1");
    let is_signed = |image: &str| format!("verifyImageSignatures('{image}', [attestors.team]) > 0");
    let cases = [
        (format!("{} && {}", is_signed(unsigned), is_signed(signed)), false, vec![unsigned]),
        (format!("{} && {}", is_signed(signed), is_signed(unsigned)), false, vec![signed, unsigned]),
        (format!("{} || {}", is_signed(signed), is_signed(unsigned)), true, vec![signed]),
        (format!("{} || {}", is_signed(unsigned), is_signed(signed)), true, vec![unsigned, signed]),
        (format!("!({}) || {}", is_signed(unsigned), is_signed(signed)), true, vec![unsigned]),
        (format!("{} ? true : {}", is_signed(unsigned), is_signed(signed)), true, vec![unsigned, signed]),
        (
            format!("verifyImageSignatures('{unsigned}', [attestors.team, attestors.other]) == 0"),
            true,
            vec![unsigned; 2],
        ),
        (
            format!("['{unsigned}', '{signed}'].exists(i, {})", "verifyImageSignatures(i, [attestors.team]) > 0"),
            true,
            vec![unsigned, signed],
        ),
    ];
    for (text, is_accepted, asked) in cases {
        let world = world();
        let answer = ask(&settings(&expression(&text)), &request(&pod(&[signed])), &world);
        assert_eq!(answer["accepted"], is_accepted, "{text}: {answer}");
        let verified: Vec<String> =
            verified(&world).iter().map(|call| call["image"].as_str().unwrap().to_owned()).collect();
        let expected: Vec<String> = asked.iter().map(|image| at(image)).collect();
        assert_eq!(verified, expected, "{text}");
    }
}

/// More questions than there may be are a limit, which nothing ignores, whatever else is asked or missing.
#[test]
fn too_many_questions_reject_whatever_is_ignored() {
    let good = digest("ghcr.io/team/app:1");
    let mut images: Vec<String> = (0..400).map(|n| format!("ghcr.io/team/app:t{n}@{good}")).collect();
    let thing = |images: &[String]| json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"images": images}});
    let all = "object.spec.images.all(i, verifyImageSignatures(i, [attestors.team]) > 0)";
    let policy = |text: &str| {
        let things =
            json!([{"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]);
        json!({"failurePolicy": "Ignore", "matchConstraints": {"resourceRules": things},
            "variables": [{"name": "team", "expression": "object.metadata.labels.team"}],
            "verifications": [{"expression": text}]})
    };
    let masked = format!("has(object.metadata.labels) ? variables.team == 'a' : {all}");
    for text in [all, masked.as_str()] {
        let answer = ask(&settings(&policy(text)), &request(&thing(&images)), &world());
        assert_eq!((&answer["accepted"], &answer["warnings"]), (&json!(true), &Value::Null), "{text}: {answer}");
    }
    images.push(images[0].clone());
    images.push("ghcr.io/team/unsigned:1".to_owned());
    for text in [all, masked.as_str()] {
        let answer = ask(&settings(&policy(text)), &request(&thing(&images)), &world());
        assert_eq!(answer["accepted"], false, "{text}: {answer}");
        assert!(answer["message"].as_str().unwrap().contains("more than 400 questions"), "{answer}");
    }
}

/// Whoever writes the object chooses how long its texts are.
#[test]
fn texts_that_are_too_long_are_limits() {
    let signed = "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)";
    for (expression, message) in [
        ("object.metadata.labels.a.matches('^trusted$')", "the text is longer than 8 KiB"),
        ("[1, 2, 3, 4].map(n, object.metadata.labels.a).join(',').size() == 0", "the text would be longer than 1 MiB"),
        (
            "(object.metadata.labels.a + object.metadata.labels.a + object.metadata.labels.a + object.metadata.labels.a).size() == 0",
            "the text would be longer than 1 MiB",
        ),
    ] {
        let policy =
            json!({"failurePolicy": "Ignore", "verifications": [{"expression": format!("{expression} || {signed}")}]});
        for (length, is_long) in [(10, false), (300_000, true)] {
            let mut object = pod(&["ghcr.io/team/unsigned:1"]);
            object["metadata"]["labels"] = json!({"a": "a".repeat(length)});
            let answer = ask(&settings(&policy), &request(&object), &world());
            assert_eq!(answer["accepted"], false, "{expression} {length}: {answer}");
            let policy = json!({"failurePolicy": "Ignore", "verifications": [{"expression": expression}]});
            let alone = ask(&settings(&policy), &request(&object), &world());
            assert_eq!(alone["message"].as_str().unwrap().contains(message), is_long, "{expression} {length}: {alone}");
        }
    }
}

/// Who vouches for it may stand behind what it says.
#[test]
fn a_payload_may_stand_before_who_vouches_for_it() {
    let image = "ghcr.io/team/app:1";
    let kind = "application/vnd.acme.approval+json";
    for (is_signed, is_ok) in [(true, true), (true, false), (false, true)] {
        let mut host = approved(world(), &digest(image), &json!({"ok": is_ok}));
        if is_signed {
            host = host.signed(&artifact_at(), KEY);
        }
        let policy = json!({"attestations": [{"name": "approval", "referrer": {"type": kind}, "tagSuffix": "approval"}],
            "verifications": [{"expression": "images.all.all(i, payload(i, attestations.approval).ok && verifyAttestationSignatures(i, attestations.approval, [attestors.team]) > 0)"}]});
        let answer = ask(&settings(&policy), &request(&pod(&[image])), &host);
        assert_eq!(answer["accepted"], is_signed && is_ok, "{is_signed} {is_ok}: {answer}");
    }
}

#[test]
fn loops_are_counted_once_however_often_an_expression_is_begun_again() {
    // That none of them is signed is another answer than the one that is assumed.
    let images: Vec<String> = (0..12).map(|n| format!("ghcr.io/team/app{n}:1")).collect();
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let policy = expression(
        "images.containers.all(i, verifyImageSignatures(i, [attestors.team]) == 0 && object.metadata.many.all(n, n > 0))",
    );
    let mut object = pod(&images);
    object["metadata"]["many"] = json!(vec![1; 2000]);
    let response = ask(&settings(&policy), &request(&object), &known(&images));
    assert_eq!(response["accepted"], true, "{response}");
}

/// `cosign attest` writes a bundle, and `oras attach` a document, as a layer beside an empty configuration.
#[test]
fn documents_in_layers_are_told_apart_from_none() {
    let image = "ghcr.io/team/app:1";
    let about = digest(image);
    let with = |kind: &str| {
        let entry = json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": kind, "digest": digest("artifact"), "size": 1});
        let index =
            json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]});
        let manifest = json!({"artifactType": kind, "config": {"mediaType": "application/vnd.oci.empty.v1+json"}, "subject": {"digest": about}});
        let document = json!({"manifest": manifest, "digest": digest("artifact"), "config": {}});
        let tag = format!("ghcr.io/team/app:{}", about.replace(':', "-"));
        world().pushed(&tag, index).artifact_says(&artifact_at(), document).signed(&artifact_at(), KEY)
    };
    let policy = |attestation: Value, says: &str| {
        let expression =
            format!("verifyAttestationSignatures(images.all[0], attestations.a, [attestors.team]) > 0{says}");
        settings(&json!({"attestations": [attestation], "verifications": [{"expression": expression}]}))
    };
    let slsa = json!({"name": "a", "intoto": {"type": "https://slsa.dev/provenance/v1"}});
    let none = format!("there is none at ghcr.io/team/app:{}", about.replace(':', "-"));
    let bundle = format!(
        "it is a layer, which hosts don't hand out: `image-admission attach ghcr.io/team/app@{about}` makes it readable"
    );
    for (kind, said) in [("application/vnd.dev.sigstore.bundle.v0.3+json", &bundle), ("application/spdx+json", &none)] {
        let answer = ask(&policy(slsa.clone(), ""), &request(&pod(&[image])), &with(kind));
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(said) && message.contains("layer") == (*said == bundle), "{kind}: {message}");
    }
    // What is signed as a whole is verified, with whatever is in its layers: but nobody can say what that is.
    let kind = "application/spdx+json";
    let spdx = json!({"name": "a", "referrer": {"type": kind}});
    let answer = ask(&policy(spdx.clone(), ""), &request(&pod(&[image])), &with(kind));
    assert_eq!(answer["accepted"], true, "{answer}");
    let says = " && payload(images.all[0], attestations.a).spdxVersion == 'SPDX-2.3'";
    let answer = ask(&policy(spdx, says), &request(&pod(&[image])), &with(kind));
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("payload: its configuration is empty: the document may be a layer, as `oras attach` writes it, which hosts don't hand out; push it as the configuration (`oras push --config`)"), "{message}");
}

/// Artifacts that are no envelopes count when they are signed as a whole, for what their own manifest says.
#[test]
fn documents_of_signed_artifacts() {
    let image = "ghcr.io/team/app:1";
    let about = digest(image);
    let kind = "application/vnd.acme.approval+json";
    let artifact = |kind: &str, subject: &str| json!({"manifest": {"config": {"mediaType": kind}, "subject": {"digest": subject}}, "digest": digest("artifact"), "config": {"ok": true}});
    let other = digest("other");
    let at = artifact_at();
    for (document, is_signed, why) in [
        (artifact(kind, &about), true, "admitted".to_owned()),
        (
            artifact(kind, &about),
            false,
            format!(
                "no attestation approval of team: {at} is not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`); team (its key) must sign it"
            ),
        ),
        (
            artifact("application/vnd.cyclonedx+json", &about),
            true,
            format!("{at} is of type `application/vnd.cyclonedx+json`, not `{kind}`"),
        ),
        (artifact(kind, &other), true, format!("{at} doesn't name this image as its subject")),
    ] {
        let mut host = beside(world(), &about, "approval", document);
        if is_signed {
            host = host.signed(&at, KEY);
        }
        let policy = json!({"attestations": [{"name": "approval", "referrer": {"type": kind}, "tagSuffix": "approval"}],
            "verifications": [{"expression": "images.all.all(i, verifyAttestationSignatures(i, attestations.approval, [attestors.team]) > 0 && payload(i, attestations.approval).ok)"}]});
        let response = ask(&settings(&policy), &request(&pod(&[image])), &host);
        let found = response["message"].as_str().unwrap_or("admitted");
        assert!(found.contains(&why), "{why}: {found}");
    }
    // What isn't there is told with the place.
    let policy = json!({"attestations": [{"name": "sbom", "referrer": {"type": kind}}], "verifications": [{"expression": "verifyAttestationSignatures(images.all[0], attestations.sbom, [attestors.team]) > 0"}]});
    let response = ask(&settings(&policy), &request(&pod(&[image])), &world());
    let place = format!("there is none at ghcr.io/team/app:{}", about.replace(':', "-"));
    assert!(response["message"].as_str().unwrap().contains(&place), "{response}");
    let unverified = evaluate("payload(images.all[0], 'x') == 1");
    assert!(unverified.unwrap_err().contains("was not verified; ask `verifyAttestationSignatures(…) > 0` before"));
}

#[test]
fn failure_policy_and_actions() {
    let with = |mut policy: Value, text: &str| {
        policy["verifications"] = json!([{"expression": text, "message": "sign it"}]);
        ask(&settings(&policy), &request(&pod(&["ghcr.io/team/unsigned:1"])), &world())
    };
    for policy in [
        json!({"failureAction": "Enforce"}),
        json!({"validationActions": ["Deny"]}),
        json!({"validationActions": ["Deny", "Audit"]}),
    ] {
        let response = with(policy, SIGNED);
        assert!(response["message"].as_str().unwrap().starts_with("Policy signed failed: sign it\n"), "{response}");
    }
    for policy in [
        json!({"failureAction": "Warn"}),
        json!({"validationActions": ["Warn"]}),
        json!({"validationActions": ["Audit", "Warn"]}),
    ] {
        let response = with(policy, SIGNED);
        assert_eq!(response["accepted"], true);
        assert!(response["warnings"].to_string().contains("Policy signed failed: sign it"), "{response}");
    }
    for policy in [json!({"failureAction": "Audit"}), json!({"validationActions": ["Audit"]})] {
        let response = with(policy, SIGNED);
        assert_eq!(response["accepted"], true);
        assert!(!response["warnings"].to_string().contains("sign it"), "{response}");
        let annotation = response["audit_annotations"]["verification.signed"].as_str().unwrap();
        assert!(annotation.starts_with("Policy signed failed: sign it"), "{annotation}");
    }
    for failure_policy in ["Ignore", "Fail"] {
        assert_eq!(with(json!({"failurePolicy": failure_policy}), "object.nothing == 1")["accepted"], false);
    }
}

#[test]
fn messages() {
    let failing = |verification: Value| {
        let response = ask(
            &settings(&json!({"verifications": [verification]})),
            &request(&pod(&["ghcr.io/team/app:1"])),
            &world(),
        );
        response["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        failing(json!({"expression": "false"})),
        "Policy signed failed: CEL expression validation failed at index 0"
    );
    assert_eq!(failing(json!({"expression": "false", "message": "no"})), "Policy signed failed: no");
    assert_eq!(
        failing(
            json!({"expression": "false", "message": "no", "messageExpression": "'image ' + images.containers[0]"})
        ),
        "Policy signed failed: image ghcr.io/team/app:1"
    );
    // What can't be computed, or is empty, gives way.
    assert_eq!(
        failing(json!({"expression": "false", "message": "no", "messageExpression": "object.x"})),
        "Policy signed failed: no"
    );
    assert_eq!(
        failing(json!({"expression": "false", "message": "no", "messageExpression": "' '"})),
        "Policy signed failed: no"
    );
}

#[test]
fn image_rules_leave_images_out_with_a_warning() {
    let both = ["ghcr.io/team/app:1", "quay.io/x/y:1"];
    for rules in [
        json!({"matchConstraints": {"imageRules": {"references": ["ghcr.io/*"]}}}),
        json!({"matchImageReferences": [{"glob": "ghcr.io/*"}]}),
        json!({"matchImageReferences": [{"expression": "ref.startsWith('ghcr.io/')"}]}),
        json!({"matchConstraints": {"imageRules": {"expressions": ["parseImageReference($image).registry == \"ghcr.io\""]}}}),
    ] {
        let mut policy = rules.clone();
        policy["verifications"] = json!([{"expression": "images.containers == ['ghcr.io/team/app:1'] && verifyImageSignatures('quay.io/x/y:1', [attestors.team]) == 0"}, {"expression": SIGNED}]);
        let response = ask(&settings(&policy), &request(&pod(&both)), &world());
        assert_eq!(response["accepted"], true, "{rules}: {response}");
        let warnings = response["warnings"].to_string();
        assert!(warnings.contains("image 'quay.io/x/y:1' is one that no verification policy looked at"), "{warnings}");
        assert!(!warnings.contains("image 'ghcr.io/team/app:1' is one"), "{warnings}");
    }
}

#[test]
fn pre_scan_accepts_need_no_signature_unless_the_policy_says_so() {
    let with = |all: bool, verified: bool, image: &str| {
        let mut policy = expression(SIGNED);
        policy["verifyPreScanAccepted"] = json!(verified);
        let mut settings = settings(&policy);
        settings["preScanPolicies"] = if all {
            json!({"defaultPolicy": "accept"})
        } else {
            json!({"customPolicies": [{"prefix": "ghcr.io/team/unsigned", "action": "accept"}]})
        };
        ask(&settings, &request(&pod(&[image, "ghcr.io/team/app:1"])), &world())
    };
    for all in [true, false] {
        assert_eq!(with(all, false, "ghcr.io/team/unsigned:1")["accepted"], true);
        assert_eq!(with(all, true, "ghcr.io/team/unsigned:1")["accepted"], false);
    }
    // It works without the scan phase: what was verified is pinned.
    let pinned = with(true, true, "ghcr.io/team/app:1");
    assert!(
        pinned["mutated_object"]["spec"]["containers"][0]["image"].as_str().unwrap().contains("@sha256:"),
        "{pinned}"
    );
    assert_eq!(with(true, false, "ghcr.io/team/app:1").get("mutated_object"), None);
}

#[test]
fn resource_rules_and_conditions() {
    let rule = |rule: Value| json!({"matchConstraints": {"resourceRules": [rule]}, "verifications": [{"expression": "false"}]});
    let pods = request(&pod(&["ghcr.io/team/app:1"]));
    for (own, matches) in [
        (json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}), true),
        (json!({"apiGroups": ["*"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["*"]}), false),
        (json!({"apiGroups": [""], "operations": ["UPDATE"], "resources": ["pods"]}), false),
        (json!({"resources": ["deployments"]}), false),
        (json!({"resources": ["pods/*"]}), true),
        (json!({"resources": ["*/*"]}), true),
        (json!({"resources": ["pods"], "resourceNames": ["q"]}), false),
        (json!({"resources": ["pods"], "resourceNames": ["p"]}), true),
    ] {
        let response = ask(&settings(&rule(own.clone())), &pods, &world());
        assert_eq!(response["accepted"], json!(!matches), "{own}");
    }
    let mut scanner = pods.clone();
    scanner["resource"]["resource"] = json!("Pod");
    let own = json!({"resources": ["pods"]});
    assert_eq!(ask(&settings(&rule(own)), &scanner, &world())["accepted"], false, "the audit scanner's request");
    for (condition, accepted) in
        [("request.namespace == 'dev'", true), ("request.namespace == 'prod'", false), ("object.x", false)]
    {
        let policy = json!({"matchConditions": [{"name": "only-dev", "expression": condition}], "verifications": [{"expression": "false"}]});
        assert_eq!(ask(&settings(&policy), &pods, &world())["accepted"], accepted, "{condition}");
    }
}

/// What webhooks send is named by resources. A subresource may have an object of a kind in another group.
#[test]
fn resource_rules_name_the_resource_and_not_the_kind_of_what_is_sent() {
    let rule = |groups: &[&str], versions: &[&str], resources: &str| {
        settings(
            &json!({"matchConstraints": {"resourceRules": [{"apiGroups": groups, "apiVersions": versions, "resources": [resources]}]},
            "verifications": [{"expression": "false"}]}),
        )
    };
    let sent = |kind: [&str; 3], resource: [&str; 3], sub_resource: &str| {
        let api_version = [kind[0], kind[1]].join("/");
        let object = json!({"apiVersion": api_version.trim_start_matches('/'), "kind": kind[2], "metadata": {"name": "p", "namespace": "prod"}});
        let mut request = request(&object);
        request["resource"] = json!({"group": resource[0], "version": resource[1], "resource": resource[2]});
        request["subResource"] = json!(sub_resource);
        request
    };
    let eviction = sent(["policy", "v1", "Eviction"], ["", "v1", "pods"], "eviction");
    let scale = sent(["autoscaling", "v1", "Scale"], ["apps", "v1", "deployments"], "scale");
    for (settings, request, matches) in [
        (rule(&[""], &["v1"], "pods/eviction"), &eviction, true),
        (rule(&["policy"], &["v1"], "*/*"), &eviction, false),
        (rule(&["apps"], &["v1"], "deployments/scale"), &scale, true),
        (rule(&["apps"], &["v1"], "deployments"), &scale, false),
        (rule(&["autoscaling"], &["*"], "*/*"), &scale, false),
        (rule(&["*"], &[], "deployments/*"), &scale, true),
    ] {
        assert_eq!(ask(&settings, request, &world())["accepted"], json!(!matches), "{settings}");
    }
    // A request that doesn't say has the group of its kind.
    let mut pods = request(&pod(&["ghcr.io/team/app:1"]));
    for resource in [json!({"resource": "pods"}), Value::Null] {
        pods["resource"] = resource;
        assert_eq!(ask(&rule(&[""], &["v1"], "pods"), &pods, &world())["accepted"], false, "{pods}");
    }
}

/// A list that fails now and didn't before brings what nobody knows, wherever the images stand.
#[test]
fn a_list_that_fails_is_passed_over_only_where_it_failed_before() {
    let policy = |list: &str| {
        settings(&json!({
            "matchConstraints": {"resourceRules": [{"apiGroups": ["x.io"], "resources": ["foos"]}]},
            "images": [{"name": "own", "expression": list}],
            "verifications": [{"expression": "images.own.all(i, i != 'ghcr.io/bad:1')"}],
        }))
    };
    let foo = |labels: Value, steps: Value| {
        json!({"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "f", "namespace": "prod", "labels": labels},
            "spec": {}, "status": {"steps": steps}})
    };
    let good = || foo(json!({"app": "ghcr.io/good:1", "side": "ghcr.io/good:1"}), json!([{"image": "ghcr.io/good:1"}]));
    let update = |list: &str, object: Value| {
        let mut update = request(&object);
        update["operation"] = json!("UPDATE");
        update["oldObject"] = good();
        ask(&policy(list), &update, &world())["accepted"].clone()
    };
    let (steps, labels) =
        ("object.status.steps.map(s, s.image)", "[object.metadata.labels.app, object.metadata.labels.side]");
    for hidden in [
        json!([{"image": "ghcr.io/bad:1"}, {"name": "x"}]),
        json!([{"image": "ghcr.io/bad:1"}, {"image": 3}]),
        json!(["x"]),
    ] {
        assert_eq!(update(steps, foo(json!({}), hidden)), false);
    }
    assert_eq!(update(labels, foo(json!({"app": "ghcr.io/bad:1"}), json!([]))), false);
    // What the list reads is as it was.
    assert_eq!(update("object.spec.gone", foo(json!({"app": "b"}), json!([]))), true);
}

#[test]
fn a_variable_has_one_name() {
    let policy = |text: &str| problems(&settings(&json!({"verifications": [{"expression": text}]})));
    for (text, plain) in
        [(".object.metadata.name == 'a'", "object"), ("object.spec.a == 1 && has(.request.object)", "request")]
    {
        let why =
            format!("imageVerification[0].verifications[0].expression: write `{plain}` in the place of `.{plain}`");
        assert_eq!(policy(text), [why]);
    }
}

/// An expression over `images.all` that left out a list of one's own would be true of it, and nobody would notice.
#[test]
fn all_images_are_those_of_every_list() {
    let policy = json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": ["tekton.dev"], "resources": ["tasks"]}]},
        "images": [
            {"name": "steps", "expression": "object.spec.steps.map(s, s.image)"},
            {"name": "containers", "expression": "object.spec.sidecars"},
            {"name": "all", "expression": "object.spec.steps[0].image"},
        ],
        "verifications": [{"expression": "images.all == ['ghcr.io/team/app:1', 'ghcr.io/team/app:2', 'ghcr.io/team/app:3']"}],
    });
    let task = json!({"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "t", "namespace": "prod"},
        "spec": {"steps": [{"image": "ghcr.io/team/app:1"}, {"image": "ghcr.io/team/app:2"}], "sidecars": ["ghcr.io/team/app:3", "ghcr.io/team/app:1"]}});
    let response = ask(&settings(&policy), &request(&task), &world());
    assert_eq!(response["accepted"], true, "{response}");
}

#[test]
fn images_of_any_object() {
    let policy = json!({
        "matchConstraints": {"resourceRules": [{"apiGroups": ["tekton.dev"], "resources": ["tasks"]}]},
        "images": [{"name": "steps", "expression": "object.spec.steps.map(s, s.image)"}, {"name": "one", "expression": "object.spec.steps[0].image"}],
        "verifications": [{"expression": "images.steps.size() == 2 && images.one.size() == 1 && images.steps.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"}],
    });
    let task = |second: &str| {
        let task = json!({"apiVersion": "tekton.dev/v1", "kind": "Task", "metadata": {"name": "t", "namespace": "prod"},
            "spec": {"steps": [{"image": "ghcr.io/team/app:1"}, {"image": second}]}});
        ask(&settings(&policy), &request(&task), &world())
    };
    let good = task("ghcr.io/team/app:1");
    assert_eq!(good["accepted"], true, "{good}");
    assert_eq!(good["audit_annotations"]["verified.signed"], "ghcr.io/team/app:1: team");
    let bad = task("ghcr.io/team/unsigned:1");
    assert!(
        bad["message"].as_str().unwrap().contains("'ghcr.io/team/unsigned:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)"),
        "{bad}"
    );
}

#[test]
fn an_update_without_a_new_image_needs_no_signature() {
    let policy = json!({"verifications": [{"expression": "verifyImageSignatures(images.containers[0], [attestors.team]) > 0"},
        {"expression": "object.metadata.labels.a == '1'"}]});
    let mut update = request(&pod(&["ghcr.io/team/unsigned:1"]));
    update["operation"] = json!("UPDATE");
    update["oldObject"] = update["object"].clone();
    assert_eq!(ask(&settings(&policy), &update, &world())["accepted"], true);
    // Whatever else changes: what an object must look like whatever it runs, rules in Rego say.
    update["object"]["metadata"]["labels"]["a"] = json!("2");
    assert_eq!(ask(&settings(&policy), &update, &world())["accepted"], true);
    // An error is none either: no expression is evaluated, no condition, and no list of its own that is as it was.
    for erring in [
        json!({"verifications": [{"expression": "object.gone.x == 1"}]}),
        json!({"matchConditions": [{"name": "c", "expression": "object.gone.x == 1"}], "verifications": [{"expression": "true"}]}),
        json!({"images": [{"name": "own", "expression": "[object.metadata.name]"}], "verifications": [{"expression": "object.gone.x == 1"}]}),
    ] {
        assert_eq!(ask(&settings(&erring), &update, &world())["accepted"], true, "{erring}");
        let mut judging = erring.clone();
        judging["existingImages"] = json!("judge");
        assert_eq!(ask(&settings(&judging), &update, &world())["accepted"], false, "{erring}");
    }
    // What pre-scan accepts by its name isn't judged by who is asked about the rest alone.
    let mut accepting = settings(&json!({"existingImages": "judge", "verifications": [{"expression": SIGNED}]}));
    accepting["preScanPolicies"] = json!({"customPolicies": [{"prefix": "ghcr.io/team/", "action": "accept"}]});
    assert_eq!(ask(&accepting, &update, &world())["accepted"], true);
    accepting["imageVerification"][0]["verifyPreScanAccepted"] = json!(true);
    assert_eq!(ask(&accepting, &update, &world())["accepted"], false);
}

#[test]
fn digests() {
    let image = |policy: Value| {
        let mut policy = policy;
        policy["verifications"] = json!([{"expression": SIGNED}]);
        let response = ask(&settings(&policy), &request(&pod(&["ghcr.io/team/app:1"])), &world());
        (response["mutated_object"].is_object(), response["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(image(json!({})), (true, String::new()));
    assert_eq!(image(json!({"validationConfigurations": {}})), (true, String::new()));
    // The digest that was scanned is the one that runs, whatever a policy about signatures says, one that only watches too.
    for policy in [
        json!({"mutateDigest": false}),
        json!({"mutateDigest": false, "failureAction": "Audit"}),
        json!({"validationConfigurations": {"mutateDigest": false}}),
        json!({"validationConfigurations": {"mutateDigest": false, "verifyDigest": false, "required": true}}),
    ] {
        assert_eq!(image(policy.clone()), (true, String::new()), "{policy}");
    }
}

/// What only verification looked at is left as it is where its policies say so.
#[test]
fn what_is_not_scanned_may_stay_unpinned() {
    let image = |policy: Value| {
        let mut policy = policy;
        policy["verifications"] = json!([{"expression": SIGNED}]);
        policy["verifyPreScanAccepted"] = json!(true);
        let mut settings = settings(&policy);
        settings["preScanPolicies"] = json!({"defaultPolicy": "accept"});
        let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1"])), &world());
        (response["mutated_object"].is_object(), response["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(image(json!({})), (true, String::new()));
    assert_eq!(image(json!({"mutateDigest": false})), (false, String::new()));
    assert_eq!(
        image(json!({"validationConfigurations": {"mutateDigest": false}})),
        (false, "Policy signed failed: image ghcr.io/team/app:1 does not have a digest".to_owned())
    );
    assert_eq!(
        image(json!({"validationConfigurations": {"mutateDigest": false, "verifyDigest": false}})),
        (false, String::new())
    );
}

/// Settings with one policy that ignores outages, and with the registries of these tests.
fn ignoring(policy: &Value) -> Value {
    let mut settings = settings(policy);
    settings["imageVerification"][0]["failurePolicy"] = json!("Ignore");
    settings["registries"] = json!(["ghcr.io", "down.io", "lies.io"]);
    settings
}

const ATTESTED: &str = "images.all.all(i, verifyAttestationSignatures(i, attestations.x, [attestors.team]) > 0)";

/// `failurePolicy: Ignore` forgives nothing that whoever writes the object, or pushes the image, brings about.
#[test]
fn what_an_author_provokes_is_not_ignored() {
    let app = "ghcr.io/team/app:1";
    let in_toto = |expression: &str| json!({"attestations": [{"name": "x", "intoto": {"type": "https://x"}, "tagSuffix": "x"}], "verifications": [{"expression": expression}]});
    let large = "A".repeat(5 * 1024 * 1024 / 3 * 4 + 400);
    let envelope = |payload: &str| json!({"payloadType": "application/vnd.in-toto+json", "payload": payload, "signatures": [{"sig": ""}]});
    let artifact = |config: Value| json!({"manifest": {}, "digest": digest("artifact"), "config": config});
    for (what, policy, image, document, message) in [
        (
            "an image rule",
            json!({"matchImageReferences": [{"expression": "ref == object.metadata.annotations.image"}], "verifications": [{"expression": SIGNED}]}),
            app,
            None,
            "no such key: annotations",
        ),
        (
            "an expression of `images`",
            json!({"images": [{"name": "own", "expression": "object.spec.steps.map(s, s.image)"}], "verifications": [{"expression": SIGNED}]}),
            app,
            None,
            "images[0].expression: no such key: steps",
        ),
        (
            "a condition",
            json!({"matchConditions": [{"name": "team", "expression": "object.metadata.labels.team == 'a'"}], "verifications": [{"expression": SIGNED}]}),
            app,
            None,
            "matchConditions[0].expression: no such key: team",
        ),
        ("an expression", expression("object.metadata.labels.team == 'a'"), app, None, "no such key: team"),
        (
            "a variable",
            json!({"variables": [{"name": "team", "expression": "object.metadata.labels.team"}], "verifications": [{"expression": "variables.team == 'a'"}]}),
            app,
            None,
            "variables[0].expression: no such key: team",
        ),
        (
            "a registry that isn't listed",
            expression(SIGNED),
            "quay.io/x/y:1",
            None,
            "isn't allowed (settings: `registries: ",
        ),
        (
            "an image that isn't there",
            expression(SIGNED),
            "ghcr.io/team/gone:1",
            None,
            "the registry has no such manifest",
        ),
        ("another digest", expression(SIGNED), "lies.io/team/app:1", None, "the host verified another digest"),
        ("no artifact", in_toto(ATTESTED), app, Some(json!([1])), "can't be read: its answer can't be read"),
        ("no envelope", in_toto(ATTESTED), app, Some(artifact(json!([]))), "`the envelope` is not an object"),
        ("no payload", in_toto(ATTESTED), app, Some(artifact(envelope("%"))), "`payload` is not base64"),
        ("a large payload", in_toto(ATTESTED), app, Some(artifact(envelope(&large))), "more than `5242880` bytes"),
        (
            "a key that parsers disagree about",
            in_toto(ATTESTED),
            app,
            Some(artifact(
                json!({"payloadType": "application/vnd.in-toto+json", "Payload": "", "payload": "", "signatures": []}),
            )),
            "the key `Payload` is another spelling of `payload`",
        ),
        (
            "another artifact",
            in_toto(ATTESTED),
            app,
            Some(json!({"manifest": {}, "digest": digest("other"), "config": {}})),
            "the answer is of another digest",
        ),
    ] {
        let mut host = world();
        if let Some(document) = document {
            host = beside(host, &digest(app), "x", document);
        }
        let response = ask(&ignoring(&policy), &request(&pod(&[image])), &host);
        assert_eq!(response["accepted"], false, "{what}: {response}");
        let found = response["message"].as_str().unwrap();
        assert!(found.contains(message), "{what}: {found}");
    }
}

/// Beside an image that can't be asked for, the others are verified all the same, wherever it stands.
#[test]
fn an_outage_hides_no_other_image() {
    let (down, signed, unsigned) = ("down.io/a:1", "ghcr.io/team/app:1", "ghcr.io/team/unsigned:1");
    let ask_for = |images: &[&str]| ask(&ignoring(&expression(SIGNED)), &request(&pod(images)), &world());
    for images in [[down, signed], [signed, down]] {
        let response = ask_for(&images);
        assert_eq!(response["accepted"], true, "{response}");
        assert!(
            response["warnings"].to_string().contains("policy signed ignores: its digest can't be looked up: the registry refuses the connection: 'down.io/a:1' counts as veri"),
            "{response}"
        );
        assert_eq!(response["audit_annotations"]["container-1.verified-by"].is_null(), images[0] == down, "{response}");
    }
    for images in [[down, unsigned], [unsigned, down]] {
        let response = ask_for(&images);
        assert_eq!(response["accepted"], false, "{response}");
        assert!(
            response["message"].as_str().unwrap().contains("'ghcr.io/team/unsigned:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)")
        );
    }
    // Nobody says of the registry that it is one that is to be asked: whoever names it may let it fail.
    let mut open = ignoring(&expression(SIGNED));
    open.as_object_mut().unwrap().remove("registries");
    assert_eq!(ask(&open, &request(&pod(&[signed, down])), &world())["accepted"], false);
    // Without the setting an outage rejects.
    let mut strict = ignoring(&expression(SIGNED));
    strict["imageVerification"][0]["failurePolicy"] = json!("Fail");
    assert_eq!(ask(&strict, &request(&pod(&[signed, down])), &world())["accepted"], false);
}

/// What an attestation says can't be assumed. The image is left out, and what the others' say still counts.
#[test]
fn an_image_without_a_payload_is_left_out() {
    let (down, app) = ("down.io/a:1", "ghcr.io/team/app:1");
    let kind = "application/vnd.acme.approval+json";
    for (images, is_ok) in [([down, app], true), ([app, down], true), ([down, app], false), ([app, down], false)] {
        let host = approved(world(), &digest(app), &json!({"ok": is_ok})).signed(&artifact_at(), KEY);
        let policy = json!({"attestations": [{"name": "x", "referrer": {"type": kind}, "tagSuffix": "approval"}],
            "verifications": [{"expression": ATTESTED}, {"expression": "images.all.all(i, payload(i, attestations.x).ok)"}]});
        let response = ask(&ignoring(&policy), &request(&pod(&images)), &host);
        assert_eq!(response["accepted"], is_ok, "{images:?}: {response}");
        let ignored = response["audit_annotations"]["verification.signed"].to_string();
        assert_eq!(ignored.contains("the policy is evaluated without 'down.io/a:1'"), is_ok, "{response}");
        // Where the expression doesn't take its images from the lists, nothing tells which of them are left.
        let mut own = policy;
        own["verifications"] = json!([{"expression": "object.spec.containers.all(c, verifyAttestationSignatures(c.image, attestations.x, [attestors.team]) > 0 && payload(c.image, attestations.x).ok)"}]);
        assert_eq!(ask(&ignoring(&own), &request(&pod(&images)), &host)["accepted"], false, "{images:?}");
    }
}

/// What an image is can't be assumed either: it is left out where its registry is down, and what is wrong with it rejects.
#[test]
fn an_image_that_cant_be_looked_into_is_left_out() {
    let (down, app) = ("down.io/a:1", "ghcr.io/team/app:1");
    for (images, user, accepted) in
        [([down, app], "1000", true), ([app, down], "1000", true), ([down, app], "0", false), ([app, down], "", false)]
    {
        let manifest = json!({"schemaVersion": 2, "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest("config")}, "layers": []});
        let config = json!({"os": "linux", "architecture": "amd64", "config": {"User": user}});
        let host =
            world().artifact_says(&at(app), json!({"manifest": manifest, "digest": digest(app), "config": config}));
        let mut settings = ignoring(&expression("images.all.all(i, imageConfigs(i).all(c, !c.runsAsRoot))"));
        // The digests of this world are those of no document.
        settings["reports"]["unprovenIndexes"] = json!("warn");
        let response = ask(&settings, &request(&pod(&images)), &host);
        assert_eq!(response["accepted"], accepted, "{images:?} {user}: {response}");
        // An artifact isn't an outage.
        let host = world().artifact_says(&at(app), json!({"manifest": manifest, "digest": digest(app), "config": {}}));
        assert_eq!(ask(&settings, &request(&pod(&images)), &host)["accepted"], false, "{images:?}");
    }
}

#[test]
fn outages_of_the_cluster() {
    let mut policy = expression(SIGNED);
    policy["attestors"] =
        json!([{"name": "team", "cosign": {"key": {"secretRef": {"name": "broken", "namespace": "sec"}}}}]);
    let pods = request(&pod(&["ghcr.io/team/app:1"]));
    let key = ask(&ignoring(&policy), &pods, &world());
    assert_eq!(key["accepted"], true, "{key}");
    assert!(key["warnings"].to_string().contains("the key `cosign.pub` of Secret sec/broken can't be read"), "{key}");
    // A key that isn't there is no outage.
    policy["attestors"][0]["cosign"]["key"]["secretRef"]["name"] = json!("absent");
    assert_eq!(ask(&ignoring(&policy), &pods, &world())["accepted"], false);

    let mut pods = pods;
    pods["object"]["metadata"]["namespace"] = json!("broken");
    let text = "namespaceObject.metadata.labels.team == 'a'";
    let with = |second: &str| {
        let policy = json!({"verifications": [{"expression": text}, {"expression": second}]});
        ask(&ignoring(&policy), &pods, &world())
    };
    let namespace = with(SIGNED);
    assert_eq!(namespace["accepted"], true, "{namespace}");
    assert!(namespace["warnings"].to_string().contains("the namespace `broken` can't be read"), "{namespace}");
    assert_eq!(with("images.all.all(i, verifyImageSignatures(i, [attestors.other]) > 0)")["accepted"], false);
}

/// What goes wrong in one policy takes nothing from what another demands.
#[test]
fn an_error_of_one_policy_skips_no_other() {
    for (first, image) in [("object.nothing == 1", "ghcr.io/team/app:1"), (SIGNED, "down.io/a:1")] {
        let mut settings = ignoring(&expression(first));
        settings["imageVerification"][0]["failureAction"] = json!("Audit");
        let mut second = settings["imageVerification"][0].clone();
        second["name"] = json!("second");
        second["failureAction"] = json!("Enforce");
        second["verifications"] = json!([{"expression": SIGNED}]);
        settings["imageVerification"].as_array_mut().unwrap().push(second);
        let response = ask(&settings, &request(&pod(&[image, "ghcr.io/team/unsigned:1"])), &world());
        assert_eq!(response["accepted"], false, "{first}: {response}");
        assert!(
            response["message"].as_str().unwrap().contains("'ghcr.io/team/unsigned:1': not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)")
        );
    }
}

/// What runtimes may read otherwise, no expression reads at all.
#[test]
fn a_configuration_that_parsers_disagree_about_is_none() {
    let app = "ghcr.io/team/app:1";
    for (config, is_read) in [
        (json!({"config": {"User": "1000"}}), true),
        (json!({"config": {"User": "1000", "user": "0"}}), false),
        (json!({"config": {"User": "1000"}, "Config": {"User": "0"}}), false),
        (json!({"config": {"User": "1000", "Labels": {"a": "1", "A": "2"}}, "other": {"User": 1, "user": 2}}), true),
    ] {
        let answer = json!({"manifest": {}, "digest": digest(app), "config": config});
        let host = world().artifact_says(&at(app), answer);
        let text = "getImageData(images.all[0]).config.config.User == '1000'";
        // The manifest's digest is that of no document.
        let mut settings = ignoring(&expression(text));
        settings["reports"]["unprovenIndexes"] = json!("warn");
        let response = ask(&settings, &request(&pod(&[app])), &host);
        assert_eq!(response["accepted"], is_read, "{config}: {response}");
        assert_eq!(response["message"].to_string().contains("is another spelling of"), !is_read, "{response}");
    }
}

/// Two spellings of what an expression reads make a document no attestation; others are anybody's.
#[test]
fn a_payload_that_parsers_disagree_about_does_not_count() {
    let app = "ghcr.io/team/app:1";
    let kind = "application/vnd.acme.approval+json";
    for (document, is_read) in [
        (json!({"ok": true, "args": {"http_proxy": 1, "HTTP_PROXY": 2}}), true),
        (json!({"ok": true, "Ok": false}), false),
        (json!({"ok": true, "nested": [{"ok": true, "OK": false}]}), false),
    ] {
        let host = approved(world(), &digest(app), &document).signed(&artifact_at(), KEY);
        let policy = json!({"attestations": [{"name": "x", "referrer": {"type": kind}, "tagSuffix": "approval"}],
            "verifications": [{"expression": ATTESTED}, {"expression": "images.all.all(i, payload(i, attestations.x).ok)"}]});
        let response = ask(&settings(&policy), &request(&pod(&[app])), &host);
        assert_eq!(response["accepted"], is_read, "{document}: {response}");
        assert_eq!(response["message"].to_string().contains("is another spelling of `ok`"), !is_read, "{response}");
    }
}

/// An attestation of each platform is one of all, where the index can hold no other platform.
#[test]
fn attestations_of_platforms_need_an_index_that_is_proven() {
    let app = "ghcr.io/team/app:1";
    let kind = "application/vnd.acme.approval+json";
    let entry = json!({"digest": digest("amd64"), "platform": {"os": "linux", "architecture": "amd64"}});
    let host = world().manifest(&at(app), json!({"manifests": [entry]}));
    let host = approved(host, &digest("amd64"), &json!({})).signed(&artifact_at(), KEY);
    let policy = json!({"attestations": [{"name": "x", "referrer": {"type": kind}, "tagSuffix": "approval"}],
        "verifications": [{"expression": ATTESTED}]});
    for (unproven, accepted) in [("reject", false), ("warn", true)] {
        let mut settings = settings(&policy);
        settings["preScanPolicies"] = json!({"defaultPolicy": "accept"});
        settings["imageVerification"][0]["verifyPreScanAccepted"] = json!(true);
        settings["reports"]["unprovenIndexes"] = json!(unproven);
        // The digests of this world are those of no document.
        let response = ask(&settings, &request(&pod(&[app])), &host);
        assert_eq!(response["accepted"], accepted, "{unproven}: {response}");
        assert_eq!(response["message"].to_string().contains("its index may hold more"), !accepted, "{response}");
    }
}

#[test]
fn every_variable_and_function() {
    let digest = digest("ghcr.io/team/app:1");
    for text in [
        "object.kind == 'Pod' && request.operation == 'CREATE' && request.object.kind == 'Pod' && oldObject == null",
        "images.all == images.containers && images.initContainers == [] && images.imageVolumes == []",
        "images['containers'].size() == 1 && attestors.team == 'team' && attestors['other'] == 'other'",
        "verifyImageSignatures(images.all[0], attestors.team) == 1",
        "verifyImageSignatures(images.all[0], [attestors.team, attestors.team]) == 1",
        "parseImageReference('nginx').registry == 'docker.io' && parseImageReference('nginx').repository == 'library/nginx'",
        "parseImageReference('nginx').tag == 'latest' && parseImageReference('nginx').identifier == 'latest'",
        "parseImageReference('localhost:5000/a/b:1').registry == 'localhost:5000'",
        "image('GHCR.io/a:1').registry() == 'ghcr.io' && image('ghcr.io/a:1').tag() == '1' && !image('a').containsDigest()",
        "image('ghcr.io/a:1').repository() == 'a' && image('ghcr.io/a:1').identifier() == '1' && image('a:1').digest() == ''",
        "isImage('nginx') && !isImage('NGINX:') && !isImage('a b') && !isImage('https://a/b') && !isImage('') && !isImage(1)",
        "isImage('a/b@sha256:1') == false && isImage('r.io:5000/a_b/c--d:X.1-2')",
        "scanReport(images.all[0]).Status == 'report_not_available' && !scanReport(images.all[0]).Passed",
        "getImageData(images.all[0]).resolvedImage.startsWith('ghcr.io/team/app@sha256:')",
        "exemptions.size() == 0 && namespaceObject.metadata.name == 'prod'",
        "object.metadata.labels.map(k, k).join(',') == 'a,b'",
        "'a-b'.split('-') == ['a', 'b'] && 'abc'.matches('^a') && url('https://a.b/c').getHost() == 'a.b' && [3, 1].min() == 1",
        "type(1) == int && timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z')",
        "has(object.metadata.labels.a) && !has(object.metadata.labels.c) && [1, 2].exists_one(i, i == 2)",
    ] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
        let config = json!({"manifest": {}, "digest": digest, "config": {"config": {"User": "1"}}});
        let world = world().object(namespace).artifact_says(&format!("ghcr.io/team/app@{digest}"), config);
        let mut settings = settings(&expression(text));
        assert_eq!(problems(&settings), [""; 0], "{text}");
        if text.contains("getImageData") {
            // The digests of this world are those of no document.
            let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1"])), &world);
            assert!(response["message"].to_string().contains("it may hold more than the host shows"), "{response}");
            settings["reports"] = json!({"unprovenIndexes": "warn", "sources": settings["reports"]["sources"]});
        }
        let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1"])), &world);
        assert_eq!(response["accepted"], true, "{text}: {response}");
    }
    let both = format!(
        "parseImageReference('r.io/a:1@{digest}').referenceWithTagAndDigest == 'r.io/a:1@{digest}' && image('r.io/a@{digest}').identifier() == '{digest}' && image('r.io/a@{digest}').tag() == '' && parseImageReference('r.io/a:1@{digest}').referenceWithTagandDigest == 'r.io/a:1@{digest}' && image('r.io/a:1@{digest}').containsDigest() && image('r.io/a:1@{digest}').digest() == '{digest}'"
    );
    evaluate(&both).unwrap();
}

#[test]
fn variables_and_audit_annotations() {
    let policy = json!({
        "variables": [{"name": "first", "expression": "images.containers[0]"}, {"name": "count", "expression": "verifyImageSignatures(variables.first, [attestors.team])"},
            {"name": "unused", "expression": "object.nothing"}],
        "verifications": [{"expression": "variables.count == 1"}],
        "auditAnnotations": [{"key": "signers", "valueExpression": "'signers: ' + string(variables.count)"}, {"key": "broken", "valueExpression": "object.x"}, {"key": "none", "valueExpression": "null"},
            {"key": "container-1.image", "valueExpression": "'another'"}, {"key": "container-1.verified-by", "valueExpression": "'nobody'"}],
    });
    assert_eq!(problems(&settings(&policy)), [""; 0]);
    let response = ask(&settings(&policy), &request(&pod(&["ghcr.io/team/app:1"])), &world());
    assert_eq!(response["accepted"], true, "{response}");
    let annotations = &response["audit_annotations"];
    assert_eq!(annotations["signers"], "signers: 1");
    assert!(annotations["broken"].as_str().unwrap().ends_with("valueExpression: no such key: x"), "{annotations}");
    assert_eq!(annotations.get("none"), None);
    assert_eq!(annotations["container-1.image"], "ghcr.io/team/app:1");
    assert_eq!(annotations["container-1.verified-by"], "team (signed)");
}

#[test]
fn no_annotation_takes_another_policys_place() {
    let policy = |name: &str, annotations: Value| {
        json!({"name": name, "failureAction": "Audit", "verifyPreScanAccepted": true, "auditAnnotations": annotations,
               "verifications": [{"expression": "false", "message": format!("no, says {name}")}]})
    };
    let other = json!([{"key": "verification.team-a", "valueExpression": "'fine'"}]);
    let policies = [policy("team a", json!([])), policy("team-a", json!([])), policy("other", other)];
    let settings = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": policies});
    let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1"])), &world());
    let said = response["audit_annotations"]["verification.team-a"].as_str().unwrap();
    assert!(said.contains("no, says team a") && said.contains("; ") && said.contains("no, says team-a"), "{response}");
}

#[test]
fn expressions_that_explode_are_stopped() {
    let many = "[0,1,2,3,4,5,6,7,8,9]";
    let loops =
        |depth: usize| (0..depth).rev().fold("true".to_owned(), |inner, n| format!("{many}.all(x{n}, {inner})"));
    let doubled = (0..40).fold("['aaaaaaaa']".to_owned(), |list, n| format!("{list}.map(x{n}, x{n} + x{n})"));
    let lists = (0..40).fold("[[1]]".to_owned(), |list, n| format!("{list}.map(x{n}, x{n} + x{n})"));
    for (text, why) in [
        (loops(6), "stopped: the loops of one policy have 50000 steps"),
        (format!("{} || true", loops(6)), "stopped: the loops"),
        (format!("{doubled}.size() == 1"), "the text would be longer than 1 MiB"),
        (format!("{lists}.size() == 1"), "the list would have more than 100,000 elements"),
        (
            format!("{many}.map(a, {many}.map(b, {many}.map(c, {many}.map(d, {many}.map(e, 1))))).size() == 10"),
            "stopped: the loops",
        ),
    ] {
        let answer = evaluate(&text);
        assert!(answer.as_ref().is_err_and(|found| found.contains(why)), "{why}: {answer:?}");
    }
    evaluate(&loops(4)).unwrap();
}

#[test]
fn the_same_answer_for_every_order_of_a_map() {
    let text = "{'z': 1, 'y': 2, 'x': 3, 'w': 4, 'v': 5}.map(k, k) == ['v', 'w', 'x', 'y', 'z']";
    for _ in 0..20 {
        evaluate(text).unwrap();
    }
}

/// The host's own spelling, as its interface for policies has it.
#[test]
fn every_identity_is_asked_for_as_the_host_spells_it() {
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUYmFkYmFkYmFkYmFkYmFkYmFkYmFkYmFkMAoGCCqGSM49\n-----END CERTIFICATE-----\n";
    let artifact = format!("ghcr.io/team/app@{}", digest("ghcr.io/team/app:1"));
    let bytes: Vec<u8> = certificate.bytes().collect();
    let issuer = "https://token.actions.githubusercontent.com";
    for (cosign, expected) in [
        (
            json!({"key": {"data": KEY}}),
            json!({"type": "SigstorePubKeyVerify", "pub_keys": [KEY], "annotations": null}),
        ),
        (
            json!({"key": {"data": KEY}, "annotations": {"env": "prod"}}),
            json!({"type": "SigstorePubKeyVerify", "pub_keys": [KEY], "annotations": {"env": "prod"}}),
        ),
        (
            json!({"keyless": {"identities": [{"issuer": issuer, "subject": "s"}]}}),
            json!({"type": "SigstoreKeylessVerify", "keyless": [{"issuer": issuer, "subject": "s"}], "annotations": null}),
        ),
        (
            json!({"keyless": {"identities": [{"issuer": issuer, "subjectPrefix": "https://github.com/team/"}]}}),
            json!({"type": "SigstoreKeylessPrefixVerify", "keyless_prefix": [{"issuer": issuer, "url_prefix": "https://github.com/team/"}], "annotations": null}),
        ),
        (
            json!({"keyless": {"githubActions": {"owner": "team", "repository": "app"}}}),
            json!({"type": "SigstoreGithubActionsVerify", "owner": "team", "repo": "app", "annotations": null}),
        ),
        (
            json!({"keyless": {"githubActions": {"owner": "team"}}}),
            json!({"type": "SigstoreGithubActionsVerify", "owner": "team", "repo": null, "annotations": null}),
        ),
        (
            json!({"certificate": {"cert": certificate, "certChain": {"value": format!("{certificate}{certificate}")}}}),
            json!({"type": "SigstoreCertificateVerify", "certificate": bytes, "certificate_chain": [bytes, bytes], "require_rekor_bundle": true, "annotations": null}),
        ),
        (
            json!({"certificate": {"cert": certificate, "certChain": certificate}, "ctlog": {"ignoreTlog": true}}),
            json!({"type": "SigstoreCertificateVerify", "certificate": bytes, "certificate_chain": [bytes], "require_rekor_bundle": false, "annotations": null}),
        ),
    ] {
        let mut policy = expression(SIGNED);
        policy["attestors"] = json!([{"name": "team", "cosign": cosign}]);
        assert_eq!(problems(&settings(&policy)), [""; 0]);
        let host = world();
        ask(&settings(&policy), &request(&pod(&["ghcr.io/team/app:1"])), &host);
        let mut expected = expected;
        expected["image"] = json!(artifact);
        assert_eq!(verified(&host), [expected]);
    }
    // Of several identities one is enough, and those after it aren't asked for.
    let mut policy = expression(SIGNED);
    let keyless = json!({"identities": [{"issuer": issuer, "subject": "other"}, {"issuer": issuer, "subject": "mine"}, {"issuer": issuer, "subject": "last"}]});
    policy["attestors"] = json!([{"name": "team", "cosign": {"keyless": keyless}}]);
    let host = world().signed(&artifact, "mine");
    let response = ask(&settings(&policy), &request(&pod(&["ghcr.io/team/app:1"])), &host);
    assert_eq!(response["accepted"], true, "{response}");
    assert_eq!(verified(&host).len(), 2);
}

#[test]
fn keys_from_the_cluster() {
    let policy = |reference: &str, key: Value| {
        let mut policy = expression(SIGNED);
        policy["attestors"] = json!([{"name": "team", "cosign": {"key": {reference: key}}}]);
        policy
    };
    let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "sec"}, "data": {"cosign.pub": value}});
    let encoded = "LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowREFRY0RRZ0FFVndJNWhsSWRCSkNxZlU4U1lTYzhZTnN3NkpsdApWU3BlR2pnY1lLZEJkRFZyTUQ2SkVxMmsvYnhua1ViNkRHY0IvRThvUHpIRElmS2tYb0FkV3F2b01BPT0KLS0tLS1FTkQgUFVCTElDIEtFWS0tLS0tCg==";
    let ask_with = |reference: &str, object: Option<Value>| {
        let absent = "Cannot find v1/X named 'keys' inside of namespace 'None'";
        let world = match object {
            Some(object) => world().object(object),
            None => world().fails("get_resource", absent),
        };
        let settings = settings(&policy(reference, json!({"name": "keys", "namespace": "sec"})));
        let response = ask(&settings, &request(&pod(&["ghcr.io/team/app:1"])), &world);
        response["message"].as_str().unwrap_or("admitted").to_owned()
    };
    assert_eq!(ask_with("secretRef", Some(secret(encoded))), "admitted");
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keys", "namespace": "sec"}, "data": {"cosign.pub": KEY}});
    assert_eq!(ask_with("configMapRef", Some(config_map.clone())), "admitted");
    for (object, why) in [
        (None, "can't be read: Cannot find v1/X named 'keys'"),
        (Some(secret("%%%")), "is no Base64 of a text"),
        (Some(secret("YWJj")), "is not a public key in PEM"),
        (
            Some(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "sec"}, "data": {}}),
            ),
            "is not there",
        ),
        (
            Some(
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "evil", "asked-in": "sec"}, "data": {"cosign.pub": encoded}}),
            ),
            "the host gave another object",
        ),
    ] {
        let message = ask_with("secretRef", object);
        assert!(message.contains(why), "{why}: {message}");
    }
}

#[test]
fn a_whole_resource_is_a_policy() {
    let mut settings = settings(&json!({}));
    let mut spec = settings["imageVerification"][0].clone();
    spec.as_object_mut().unwrap().remove("name");
    spec["validations"] = json!([{"expression": SIGNED}]);
    settings["imageVerification"] = json!([{"apiVersion": "policies.kyverno.io/v1", "kind": "ImageValidatingPolicy", "metadata": {"name": "pasted", "labels": {}}, "spec": spec}]);
    assert_eq!(problems(&settings), [""; 0]);
    let response = ask(&settings, &request(&pod(&["ghcr.io/team/unsigned:1"])), &world());
    assert!(response["message"].as_str().unwrap().starts_with("Policy pasted failed: "), "{response}");
}

#[test]
fn what_is_wrong_is_said_when_the_policy_is_deployed() {
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUYmFkYmFkYmFkYmFkYmFkYmFkYmFkYmFkMAoGCCqGSM49\n-----END CERTIFICATE-----";
    let attestor = |cosign: Value| json!({"attestors": [{"name": "team", "cosign": cosign}], "verifications": [{"expression": "true"}]});
    let own = "imageVerification[0]";
    for (policy, expected) in [
        (
            expression("verifyImageSignatures(images.initContainers[0], attestors.team)"),
            "verifications[0].expression: `verifyImageSignatures` says how many attestors verified it, which is neither true nor false: append `> 0`",
        ),
        (
            expression("images.all.size() > 0 && !verifyImageSignatures(images.all[0], [attestors.team])"),
            "verifications[0].expression: `verifyImageSignatures` says how many",
        ),
        (
            expression("images.all.all(i, verifyImageSignatures(i, [attestors.team]))"),
            "verifications[0].expression: `verifyImageSignatures` says how many",
        ),
        (
            expression("images.all.filter(i, verifyImageSignatures(i, [attestors.team])).size() > 0"),
            "verifications[0].expression: `verifyImageSignatures` says how many",
        ),
        (
            expression("true ? verifyImageSignatures(images.all[0], [attestors.team]) : false"),
            "verifications[0].expression: `verifyImageSignatures` says how many",
        ),
        (
            json!({"variables": [{"name": "v", "expression": "verifyImageSignatures(images.all[0], []) ? 1 : 0"}], "verifications": [{"expression": "true"}]}),
            "variables[0].expression: `verifyImageSignatures` says how many",
        ),
        (expression("1 + 'a' == 3"), "verifications[0].expression: `1 + 'a'`: `+` can't add an int and a string"),
        (
            expression("verifyImageSignatures(images.all[0], [attestors.team]) > \"0\""),
            "verifications[0].expression: `verifyImageSignatures(images.all[0], [attestors.team]) > '0'`: `>` can't compare an int with a string",
        ),
        (expression("images.all.size()"), "verifications[0].expression: it must give true or false, but gives an int"),
        (
            json!({"variables": [{"name": "first", "expression": "images.all[0]"}, {"name": "second", "expression": "variables.first * 2"}],
                "verifications": [{"expression": "true"}]}),
            "variables[1].expression: `variables.first * 2`: `*` can't multiply a string and an int",
        ),
        (
            json!({"matchConditions": [{"name": "c", "expression": "'a'"}], "verifications": [{"expression": "true"}]}),
            "matchConditions[0].expression: it must give true or false, but gives a string",
        ),
        (
            json!({"matchImageReferences": [{"expression": "ref.size()"}], "verifications": [{"expression": "true"}]}),
            "matchImageReferences[0].expression: it must give true or false, but gives an int",
        ),
        (
            json!({"images": [{"name": "own", "expression": "1"}], "verifications": [{"expression": "true"}]}),
            "images[0].expression: it must give a string or a list of strings, but gives an int",
        ),
        (
            json!({"verifications": [{"expression": "true", "messageExpression": "images.all"}]}),
            "verifications[0].messageExpression: it must give a string, but gives a list of strings",
        ),
        (
            json!({"verifications": [{"expression": "true"}], "auditAnnotations": [{"key": "k", "valueExpression": "true"}]}),
            "auditAnnotations[0].valueExpression: it must give a string or null, but gives a bool",
        ),
        (
            expression("verifyAttestationSignatures(images.all[0], attestation.sbom, [attestors.team]) > 0"),
            "verifications[0].expression: unknown variable `attestation`; did you mean `attestations`?",
        ),
        (
            expression("verifyImageSignatures(images.container[0], [attestors.team]) > 0"),
            "verifications[0].expression: there is no `images.container`; did you mean `images.containers`?",
        ),
        (
            expression("verifyImageSignatures(images.all[0], [attestors.kms]) > 0"),
            "verifications[0].expression: there is no `attestors.kms`; there is attestors.other, attestors.team",
        ),
        (
            expression("verifyImageSignature(images.all[0], [attestors.team]) > 0"),
            "verifications[0].expression: unknown function `verifyImageSignature`; did you mean `verifyImageSignatures`?",
        ),
        (expression("images.all.all(i, "), "verifications[0].expression: line 1, column "),
        (
            json!({"images": [{"name": "all", "expression": "request.object.spec.{containers,initContainers.ephemeralContainers}.image"}], "verifications": [{"expression": "true"}]}),
            "CEL selects no several fields at once: write `images.all`, or lists joined by `+`",
        ),
        (
            json!({"images": [{"name": "containers", "expression": "request.object.spec.containers.image"}], "verifications": [{"expression": "true"}]}),
            "images[0].expression: `containers` is a list and has no field `image`: `images.containers` is there by itself; else write `….containers.map(c, c.image)`",
        ),
        (
            json!({"verifications": []}),
            "verifications: without an expression nothing is verified; write what must hold",
        ),
        (
            attestor(json!({"key": {"kms": "awskms:///x"}})),
            "attestors[0].cosign.key.kms: no key management service is asked at admission: export the public key, and write it as `data` beside this",
        ),
        (
            attestor(json!({"keyless": {"identities": [{"issuerRegExp": "x", "subjectRegExp": "y"}]}})),
            "attestors: `team`: hosts compare no regular expressions and show no certificates, so only evidence counts, and there is no trust root to verify it with: set `cosign.trustRoot`, or `evidence.trustRoot`",
        ),
        (
            attestor(json!({"keyless": {"identities": [{"issuer": "x", "subjectPrefix": "team/"}]}})),
            "attestors[0].cosign.keyless.identities[0].subjectPrefix: `team/` is not the beginning of a URL like `https://github.com/team/`",
        ),
        (
            attestor(
                json!({"keyless": {"identities": [{"issuer": "x", "subject": "y"}]}, "ctlog": {"url": "http://rekor"}}),
            ),
            "attestors[0].cosign.ctlog.url: a policy can't choose the host's trust root: write yours as `trustRoot`, or in the PolicyServer's `sigstoreTrustConfig`, and remove this",
        ),
        (
            attestor(
                json!({"keyless": {"identities": [{"issuer": "x", "subject": "y"}]}, "ctlog": {"ignoreTlog": true}}),
            ),
            "attestors[0].cosign.ctlog: the host checks keyless signatures in the transparency log, always: remove what ignores it, or use `key`",
        ),
        (
            attestor(json!({"certificate": {"cert": certificate}})),
            "attestors[0].cosign.certificate.certChain: the chain of the certificate is missing, up to its root: without one the host would trust any certificate as it is",
        ),
        (
            attestor(json!({"certificate": {"cert": "x", "certChain": certificate}})),
            "attestors[0].cosign.certificate.cert: it is not a certificate in PEM, which starts with `-----BEGIN CERTIFICATE-----`",
        ),
        (
            attestor(json!({"key": {"data": "AAAA"}})),
            "attestors[0].cosign.key.data: it is not a public key in PEM, which starts with `-----BEGIN PUBLIC KEY-----`",
        ),
        (
            attestor(json!({"key": {"data": KEY.replace("MFkw", "MFkx")}})),
            "attestors: the key of `team`: the key's PEM block holds no readable public key; write it again (`openssl pkey -pubout`)",
        ),
        (
            json!({"attestors": [{"name": "n", "notary": {}}], "verifications": [{"expression": "true"}]}),
            "attestors[0].notary.certs: the trust store is missing: the certificates of roots, in PEM",
        ),
        (
            json!({"attestors": [{"name": "a-b", "cosign": {"key": {"data": KEY}}}], "verifications": [{"expression": "true"}]}),
            "attestors[0].name: `a-b` is not a name that expressions can use: letters, digits and `_`, no digit first",
        ),
        (
            json!({"attestations": [{"name": "slsa", "intoto": {"type": "x"}, "tagSuffix": "att"}], "verifications": [{"expression": "true"}]}),
            "attestations[0].tagSuffix: cosign keeps attestations at `.att` in layers, which hosts don't hand out: make them readable with `image-admission attach`, and remove this",
        ),
        (
            json!({"validationActions": ["Deny", "Warn"], "verifications": [{"expression": "true"}]}),
            "validationActions: `Deny` and `Warn` exclude each other: a rejection says why anyway",
        ),
        (
            json!({"verification": [], "verifications": [{"expression": "true"}]}),
            "verification: unknown setting `verification`; did you mean `verifications`?",
        ),
        (
            json!({"matchConstraints": {"namespaceSelector": {"matchLabels": {"a": "b"}}}, "verifications": [{"expression": "true"}]}),
            "matchConstraints.namespaceSelector: `namespaceSelector` is not supported: set the ClusterAdmissionPolicy's, or write a `matchConditions` entry",
        ),
        (
            json!({"matchConstraints": {"imageRules": {"references": ["ghcr.io/*", "ghcr.io/team/"]}}, "verifications": [{"expression": "true"}]}),
            "matchConstraints.imageRules.references[1]: no image's name ends with `/`, so that `ghcr.io/team/` matches none; write `ghcr.io/team/*`",
        ),
        (
            json!({"matchImageReferences": [{"glob": "*/"}, {"glob": ""}], "verifications": [{"expression": "true"}]}),
            "matchImageReferences[0].glob: no image's name ends with `/`, so that `*/` matches none; write `*/*`",
        ),
        (
            json!({"matchImageReferences": [{"glob": ""}], "verifications": [{"expression": "true"}]}),
            "matchImageReferences[0].glob: the glob is empty and matches no image",
        ),
    ] {
        let found = problems(&settings(&policy));
        let is_said = found.iter().any(|line| line.starts_with(own) && line.contains(expected));
        assert!(is_said, "{policy}\nexpected {expected}\nfound {found:#?}");
    }
}

/// A count may stand wherever a number may.
#[test]
fn counts_that_are_compared_are_no_problem() {
    for text in [
        "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0 && true)",
        "(true ? verifyImageSignatures(images.all[0], [attestors.team]) : 0) > 0",
        "images.all.map(i, verifyImageSignatures(i, [attestors.team])).all(n, n > 0)",
        "images.all.exists_one(i, verifyImageSignatures(i, [attestors.team]) == 1) || !(0 == verifyImageSignatures('a', []))",
    ] {
        assert_eq!(problems(&settings(&expression(text))), Vec::<String>::new(), "{text}");
    }
}

/// The policy of the design proposal, field by field as it stands there.
#[test]
fn the_proposals_own_example_says_what_to_write_instead() {
    let pasted = json!({
        "apiVersion": "kyverno.io/v2alpha1", "kind": "ImageVerificationPolicy", "metadata": {"name": "sample"},
        "spec": {
            "failurePolicy": "Fail", "failureAction": "Enforce",
            "matchConstraints": {
                "resourceRules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}],
                "imageRules": {"references": ["ghcr.io/*"], "expressions": ["$image == \"nginx\""]},
            },
            "images": [
                {"name": "containers", "expression": "request.object.spec.containers.image"},
                {"name": "initContainers", "expression": "request.object.spec.initContainers.image"},
                {"name": "ephemeralContainers", "expression": "request.object.spec.containers.image"},
                {"name": "all", "expression": "request.object.spec.{containers,initContainers.ephemeralContainers}.image"},
            ],
            "attestors": [
                {"name": "keyless", "cosign": {
                    "keyless": {"identities": [{"issuerRegExp": ".*kubernetes.default.*", "subjectRegExp": ".*kubernetes.io/namespaces/default/serviceaccounts/default"}]},
                    "ctlog": {"url": "http://rekor.rekor-system.svc", "ignoreTlog": false},
                }},
                {"name": "kms", "cosign": {"key": {"kms": "awskms:///arn:aws:kms:us-east-1:123456789012:alias/cosign-key"}}},
            ],
            "attestations": [{"name": "slsa", "intoto": {"type": "https://slsa.dev/provenance/v0.2"}}, {"name": "sbom", "referrer": {"type": "sbom/cyclone-dx"}}],
            "verifications": [
                {"expression": "verifyImageSignatures(images.initContainers[0], attestors.kms)"},
                {"expression": "payload(images.initContainers[0], attestations.sbom).builderId == \"foo\"\n&& \npayload(images.initContainers[0], attestations.slsa).version == \"0.2\""},
            ],
        },
    });
    let found = problems(&json!({"imageVerification": [pasted]}));
    let text = found.join("\n");
    assert_eq!(text, include_str!("verification/proposal.txt").trim_end(), "{text}");
}

/// Two attestors vouch for different documents of one attestation. Whichever is asked first, neither document is read for both.
#[test]
fn a_document_of_one_attestor_is_not_read_for_anothers() {
    let (image, kind) = ("ghcr.io/team/app:1", "application/vnd.acme.approval+json");
    let about = digest(image);
    let name = |document: &str| format!("ghcr.io/team/app@{}", digest(document));
    let entry = |document: &str| json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": kind, "digest": digest(document), "size": 1});
    let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                       "manifests": [entry("good"), entry("bad")]});
    let document = |document: &str, ok: bool| {
        let manifest = json!({"config": {"mediaType": kind}, "subject": {"digest": about}});
        json!({"manifest": manifest, "digest": digest(document), "config": {"ok": ok}})
    };
    let host = || {
        let host = world().pushed(&format!("ghcr.io/team/app:{}", about.replace(':', "-")), index.clone());
        let host = host.artifact_says(&name("good"), document("good", true)).signed(&name("good"), KEY);
        host.artifact_says(&name("bad"), document("bad", false)).signed(&name("bad"), OTHER_KEY)
    };
    let says = |by: &str| {
        format!(
            "verifyAttestationSignatures(i, attestations.approval, [attestors.{by}]) > 0 && payload(i, attestations.approval).ok"
        )
    };
    let each = |by: &str| json!({"expression": format!("images.all.all(i, {})", says(by))});
    let both = json!({"expression": format!("images.all.all(i, {} && {})", says("team"), says("other"))});
    for (verifications, accepted) in [
        (json!([each("team")]), true),
        (json!([each("other")]), false),
        (json!([each("other"), each("team")]), false),
        (json!([each("team"), each("other")]), false),
        (json!([both]), false),
    ] {
        let policy =
            json!({"attestations": [{"name": "approval", "referrer": {"type": kind}}], "verifications": verifications});
        let answer = ask(&settings(&policy), &request(&pod(&[image])), &host());
        assert_eq!(answer["accepted"], accepted, "{verifications}: {answer}");
    }
}

/// `verifyDigest` asks for the digest of each image in its place: that another one is pinned gives it none.
#[test]
fn a_digest_is_wanted_in_each_place() {
    let (old, new) = ("ghcr.io/team/unsigned:1", "ghcr.io/team/app:1");
    let mut policy = json!({"existingImages": "judge", "validationConfigurations": {"verifyDigest": true},
                            "verifications": [{"expression": "images.all.all(i, i != '')"}]});
    for second in ["quay.io/x/y:1", new] {
        let mut update = request(&pod(&[old, second]));
        update["operation"] = json!("UPDATE");
        update["oldObject"] = pod(&[old, "quay.io/x/y:1"]);
        let answer = ask(&settings(&policy), &update, &world());
        assert!(answer["message"].to_string().contains("does not have a digest"), "{second}: {answer}");
    }
    policy["images"] = json!([{"name": "more", "expression": "[object.metadata.annotations.sidecar]"}]);
    let mut object = pod(&[new]);
    object["metadata"]["annotations"] = json!({"sidecar": new});
    assert_eq!(ask(&settings(&policy), &request(&object), &world())["accepted"], true);
    object["metadata"]["annotations"] = json!({"sidecar": old});
    let answer = ask(&settings(&policy), &request(&object), &world());
    assert!(answer["message"].to_string().contains("does not have a digest"), "{answer}");
}
