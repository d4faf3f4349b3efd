//! What a rejection says of signatures that there are, and what it costs to know.

use super::*;

const IMAGE: &str = "ghcr.io/team/app:1";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const NOWHERE: &str =
    "not signed in a form that can be read (after `cosign sign` or `notation sign`, run `image-admission attach`)";

/// A host of 1.36 or later: whatever doesn't count is told in the same words.
fn later_host(host: StubHost) -> StubHost {
    host.answer_with(|call| {
        (call.operation == "v2/verify")
            .then(|| Err("Callback evaluation failure: Image verification failed: missing signatures\nof x".to_owned()))
    })
}

/// A later host that knows a signature of this artifact.
fn later_host_but_for(host: StubHost, signed: String) -> StubHost {
    host.answer_with(move |call| {
        (call.operation == "v2/verify" && call.image() != signed)
            .then(|| Err("Callback evaluation failure: Image verification failed: missing signatures\nof x".to_owned()))
    })
}

/// The tag that a registry without an API of referrers keeps what refers to the image at; or one with this at its end.
fn tag(end: &str) -> String {
    format!("ghcr.io/team/app:{}{end}", digest(IMAGE).replace(':', "-"))
}

fn image() -> StubHost {
    known(&[IMAGE])
}

/// An artifact of this type refers to the image.
fn referred(host: StubHost, kind: &str) -> StubHost {
    let entry = json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "artifactType": kind, "digest": digest("artifact"), "size": 1});
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [entry]});
    host.pushed(&tag(""), index)
}

fn keyless() -> Value {
    let cosign = json!({"keyless": {"githubActions": {"owner": "team"}}});
    json!({"attestors": [{"name": "team", "cosign": cosign}], "verifications": [{"expression": SIGNED}]})
}

/// The second line of the rejection, and the calls after the question who signed.
fn said(policy: &Value, host: &StubHost) -> (String, Vec<String>) {
    let response = ask(&settings(policy), &request(&pod(&[IMAGE])), host);
    let message = response["message"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned();
    let asked: Vec<String> = host.calls().iter().map(|call| format!("{} {}", call.operation, call.image())).collect();
    let after = asked.iter().rposition(|call| call.starts_with("v2/verify")).unwrap();
    let line = message.lines().nth(1).unwrap().strip_prefix(&format!("'{IMAGE}': ")).unwrap().to_owned();
    (line, asked[after + 1..].to_vec())
}

#[test]
fn what_is_there_is_told_and_asked_for_as_long_as_it_says_more() {
    let by_key = expression(SIGNED);
    let at = at(IMAGE);
    let must = |by: &str| format!("; team ({by}) must sign {at}");
    let (key, actions) = ("its key", "GitHub Actions of `team`");
    let nowhere = NOWHERE;
    let in_layer = |by: &str| {
        format!(
            "not signed by team ({by}): what was pushed as `{BUNDLE}` can't be read: it is a layer, which hosts don't hand out: `image-admission attach {at}` makes it readable"
        )
    };
    let (signature, index) = (format!("v1/manifest_digest {}", tag(".sig")), format!("v1/manifest_digest {}", tag("")));
    // An index may have platforms that are signed.
    let manifest = format!("v1/oci_manifest {at}");
    let calls = |calls: &[&String]| -> Vec<String> { calls.iter().map(|call| (*call).clone()).collect() };
    // Of a host before 1.36 that has no signature it is known that there is no tag `.sig`.
    assert_eq!(said(&by_key, &image()), (nowhere.to_owned() + &must(key), calls(&[&index, &manifest])));
    let (line, asked) = said(&by_key, &referred(image(), BUNDLE));
    assert_eq!((line, asked.len()), (in_layer(key), 2));
    let (line, _) = said(&keyless(), &referred(image(), BUNDLE));
    assert_eq!(line, in_layer(actions));
    // Another artifact is no signature.
    let (line, _) = said(&by_key, &referred(image(), "application/spdx+json"));
    assert_eq!(line, nowhere.to_owned() + &must(key));
    // Somebody else signed it.
    let others = || image().signed(&at, "somebody else");
    for host in [others(), later_host(others())] {
        let (line, asked) = said(&by_key, &host);
        assert_eq!((line.as_str(), asked), ("signed, but not by team (its key)", calls(&[&index, &signature])));
    }
    // A later host says the same where nobody did.
    assert_eq!(
        said(&by_key, &later_host(image())),
        (nowhere.to_owned() + &must(key), calls(&[&index, &signature, &manifest]))
    );
    let (line, _) = said(&keyless(), &later_host(image()));
    assert_eq!(line, nowhere.to_owned() + &must(actions));
    let (line, asked) = said(&by_key, &later_host(referred(image(), BUNDLE)));
    assert_eq!((line, asked.len()), (in_layer(key), 2));
}

/// The image as an index of two platforms, and something that no machine runs.
fn index(host: StubHost) -> StubHost {
    let entry = |digest: &str, os: &str, architecture: &str| {
        json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1,
               "platform": {"architecture": architecture, "os": os}})
    };
    let entries = [
        entry(&digest("attestation"), "unknown", "unknown"),
        entry(&digest("arm64"), "linux", "arm64"),
        entry(&digest("amd64"), "linux", "amd64"),
    ];
    host.pushed(
        IMAGE,
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries}),
    )
}

/// Signatures count for the digest that they are of. An index whose platforms alone are signed is told so.
#[test]
fn platforms_that_are_signed_sign_no_index() {
    let policy = expression(SIGNED);
    let platform = |name: &str| format!("ghcr.io/team/app@{}", digest(name));
    let told = |host: &StubHost, policy: &Value| {
        let response = ask(&settings(policy), &request(&pod(&[IMAGE])), host);
        assert_eq!(response["accepted"], false, "{response}");
        assert_eq!(response["audit_annotations"].get("container-1.verified-by"), None, "{response}");
        response["message"].as_str().unwrap().lines().nth(1).unwrap().to_owned()
    };
    let hint = format!(
        "its index isn't signed, and its platform linux/amd64 ({}) is, which doesn't count for the index (`cosign sign --recursive` signs both); team (its key) must sign ghcr.io/team/app@",
        digest("amd64")
    );
    let signed = || index(image()).signed(&platform("amd64"), KEY);
    for host in [signed(), later_host_but_for(signed(), platform("amd64"))] {
        let line = told(&host, &policy);
        assert!(line.contains(&hint), "{line}");
        assert_eq!(host.calls().iter().filter(|call| call.operation == "v1/oci_manifest").count(), 1);
        assert_eq!(host.calls().iter().filter(|call| call.operation == "v2/verify").count(), 2);
    }
    // Somebody else's signature of a platform, one of what no machine runs, none at all.
    for host in [
        index(image()).signed(&platform("amd64"), OTHER_KEY),
        index(image()).signed(&platform("attestation"), KEY),
        index(image()),
        image(),
    ] {
        let line = told(&host, &policy);
        assert!(line.contains(NOWHERE), "{line}");
    }
    // Where there is no room for the calls, the rest is said.
    let mut few = settings(&policy);
    few["maxHostCalls"] = json!(5);
    let host = signed();
    let response = ask(&few, &request(&pod(&[IMAGE])), &host);
    assert!(host.calls().len() <= 5, "{:?}", host.calls());
    assert!(response["message"].as_str().unwrap().contains("must sign"), "{response}");
    // A registry that lies about the platform is told nothing of.
    let odd = json!({"schemaVersion": 2, "manifests": [{"digest": "sha256:1", "platform": {"os": "linux", "architecture": "amd64"}}]});
    assert!(told(&image().pushed(IMAGE, odd), &policy).contains(NOWHERE));
}

/// A later host takes a registry that fails for one that has no signature. So it counts as not signed, whatever is forgiven.
#[test]
fn a_registry_that_fails_is_told_and_never_forgiven() {
    let failing = || later_host(image().down(&tag("")));
    let wanted = "its signatures can't be looked up, which hosts take for none: the registry refuses the connection; team (its key) must sign "
        .to_owned()
        + &at(IMAGE);
    let (line, asked) = said(&expression(SIGNED), &failing());
    assert_eq!((line, asked.len()), (wanted.clone(), 1));
    let mut forgiving = expression(SIGNED);
    forgiving["failurePolicy"] = json!("Ignore");
    let mut settings = settings(&forgiving);
    settings["registries"] = json!(["ghcr.io"]);
    let response = ask(&settings, &request(&pod(&[IMAGE])), &failing());
    assert_eq!(response["accepted"], false);
    assert!(response["message"].as_str().unwrap().contains(&wanted), "{response}");
}

/// A signature in the old form has told everything. Without one, evidence decides; what only a rejection would say isn't asked.
#[test]
fn nothing_more_is_asked_than_decides() {
    let asked = |policy: &Value, host: &StubHost, evidence: usize| {
        let response = ask(&settings(policy), &request(&pod(&[IMAGE])), host);
        assert_eq!(response["accepted"], true, "{response}");
        let of = |wanted: &str| host.calls().iter().filter(|call| call.image() == wanted).count();
        assert_eq!((of(&tag("")), of(&tag(".sig"))), (evidence, 0), "{:?}", host.calls());
        host.calls().len() - evidence
    };
    let signed = || image().signed(&at(IMAGE), KEY);
    let unsigned = asked(&json!({"verifications": [{"expression": "true"}]}), &signed(), 0);
    assert_eq!(asked(&expression(SIGNED), &signed(), 0), unsigned + 1);
    for action in ["Audit", "Warn"] {
        let mut policy = expression(SIGNED);
        policy["failureAction"] = json!(action);
        assert_eq!(asked(&policy, &image(), 1), unsigned + 1, "{action}");
    }
    // One of two is enough, and the other may have signed in another form.
    let either = "images.containers.all(i, verifyImageSignatures(i, [attestors.other, attestors.team]) > 0)";
    assert_eq!(asked(&expression(either), &signed(), 1), unsigned + 2);
}

/// Whoever names many images can't have a rejection take more calls than a request may make, nor hide what rejects behind that.
#[test]
fn a_request_that_has_no_calls_left_asks_nothing_more() {
    for (most, asked, words) in [(2, 2, "maxHostCalls"), (3, 3, "must sign"), (5, 3, "must sign"), (9, 4, "must sign")]
    {
        let host = image();
        let mut settings = settings(&expression(SIGNED));
        settings["maxHostCalls"] = json!(most);
        let response = ask(&settings, &request(&pod(&[IMAGE])), &host);
        assert!(response["message"].as_str().unwrap().contains(words), "{most}: {response}");
        assert_eq!(host.calls().len(), asked, "{most}: {:?}", host.calls());
    }
    // Evidence of each image may decide. What only tells more is asked for as many as are told of.
    let names: Vec<String> = (0..30).map(|number| format!("ghcr.io/team/app{number}:1")).collect();
    let images: Vec<&str> = names.iter().map(String::as_str).collect();
    let host = later_host(known(&images));
    let response = ask(
        &settings(&expression("images.all.map(i, verifyImageSignatures(i, [attestors.team])).all(n, n > 0)")),
        &request(&pod(&images)),
        &host,
    );
    assert_eq!(response["accepted"], false);
    let calls = host.calls();
    let (signatures, indexes): (Vec<_>, Vec<_>) =
        calls.iter().filter(|call| call.image().contains(":sha256-")).partition(|call| call.image().ends_with(".sig"));
    assert_eq!((signatures.len(), indexes.len()), (10, 30));
}
