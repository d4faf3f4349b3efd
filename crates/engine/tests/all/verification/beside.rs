//! What a rejection says of signatures that there are, and what it costs to know.

use super::*;

const IMAGE: &str = "ghcr.io/team/app:1";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

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
    let nowhere = "not signed where hosts look";
    let nowhere_by_key = "not signed where hosts look (cosign 3 needs --new-bundle-format=false)";
    let bundle_by_key = "no signature, but a bundle as cosign 3 writes it, which no host verifies by key (sign with --new-bundle-format=false)";
    let (signature, index) = (format!("v1/manifest_digest {}", tag(".sig")), format!("v1/manifest_digest {}", tag("")));
    // An index may have platforms that are signed.
    let manifest = format!("v1/oci_manifest {at}");
    let calls = |calls: &[&String]| -> Vec<String> { calls.iter().map(|call| (*call).clone()).collect() };
    // Of a host before 1.36 that has no signature it is known that there is no tag `.sig`.
    assert_eq!(said(&by_key, &image()), (nowhere_by_key.to_owned() + &must(key), calls(&[&index, &manifest])));
    let (line, asked) = said(&by_key, &referred(image(), BUNDLE));
    assert_eq!((line, asked.len()), (bundle_by_key.to_owned() + &must(key), 2));
    let (line, _) = said(&keyless(), &referred(image(), BUNDLE));
    let unknown = "no signature, but a bundle as cosign 3 writes it, which hosts before 1.36 don't look for (sign with --new-bundle-format=false)";
    assert_eq!(line, unknown.to_owned() + &must(actions));
    // Another artifact is no bundle.
    let (line, _) = said(&by_key, &referred(image(), "application/spdx+json"));
    assert_eq!(line, nowhere_by_key.to_owned() + &must(key));
    // Somebody else signed it.
    let others = || image().signed(&at, "somebody else");
    let (line, asked) = said(&by_key, &others());
    assert_eq!((line.as_str(), asked), ("signed, but not by team (its key)", calls(&[&signature])));
    let (line, asked) = said(&by_key, &later_host(others()));
    assert_eq!((line.as_str(), asked), ("signed, but not by team (its key)", calls(&[&signature])));
    // A later host says the same where nobody did.
    assert_eq!(
        said(&by_key, &later_host(image())),
        (nowhere_by_key.to_owned() + &must(key), calls(&[&signature, &index, &manifest]))
    );
    let (line, _) = said(&keyless(), &later_host(image()));
    assert_eq!(line, nowhere.to_owned() + &must(actions));
    let (line, asked) = said(&by_key, &later_host(referred(image(), BUNDLE)));
    assert_eq!((line, asked.len()), (bundle_by_key.to_owned() + &must(key), 3));
    let (line, _) = said(&keyless(), &later_host(referred(image(), BUNDLE)));
    assert_eq!(
        line,
        "no signature, but a bundle as cosign 3 writes it, and none that counts by team (GitHub Actions of `team`)"
    );
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
        assert!(line.contains("not signed where hosts look"), "{line}");
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
    assert!(told(&image().pushed(IMAGE, odd), &policy).contains("not signed where hosts look"));
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

#[test]
fn nothing_more_is_asked_where_the_request_is_not_rejected_for_it() {
    let asked = |policy: &Value, host: &StubHost| {
        let response = ask(&settings(policy), &request(&pod(&[IMAGE])), host);
        assert_eq!(response["accepted"], true, "{response}");
        let is_beside = |image: &str| image == tag("") || image == tag(".sig");
        assert!(!host.calls().iter().any(|call| is_beside(call.image())), "{:?}", host.calls());
        host.calls().len()
    };
    let signed = || image().signed(&at(IMAGE), KEY);
    let unsigned = asked(&json!({"verifications": [{"expression": "true"}]}), &signed());
    assert_eq!(asked(&expression(SIGNED), &signed()), unsigned + 1);
    for action in ["Audit", "Warn"] {
        let mut policy = expression(SIGNED);
        policy["failureAction"] = json!(action);
        assert_eq!(asked(&policy, &image()), unsigned + 1, "{action}");
    }
    // One of two is enough.
    let either = "images.containers.all(i, verifyImageSignatures(i, [attestors.other, attestors.team]) > 0)";
    assert_eq!(asked(&expression(either), &signed()), unsigned + 2);
}

/// Whoever names many images can't have a rejection take more calls than a request may make, nor hide what rejects behind that.
#[test]
fn a_request_that_has_no_calls_left_asks_nothing_more() {
    for (most, asked) in [(2, 2), (4, 2), (5, 4)] {
        let host = image();
        let mut settings = settings(&expression(SIGNED));
        settings["maxHostCalls"] = json!(most);
        let response = ask(&settings, &request(&pod(&[IMAGE])), &host);
        assert!(response["message"].as_str().unwrap().contains("must sign"), "{most}: {response}");
        assert_eq!(host.calls().len(), asked, "{most}: {:?}", host.calls());
    }
    // As many images are asked about as are told of.
    let names: Vec<String> = (0..30).map(|number| format!("ghcr.io/team/app{number}:1")).collect();
    let images: Vec<&str> = names.iter().map(String::as_str).collect();
    let host = known(&images);
    let response = ask(
        &settings(&expression("images.all.map(i, verifyImageSignatures(i, [attestors.team])).all(n, n > 0)")),
        &request(&pod(&images)),
        &host,
    );
    assert_eq!(response["accepted"], false);
    let beside = host.calls().iter().filter(|call| call.image().contains(":sha256-")).count();
    assert!((1..=10).contains(&beside), "{beside}");
}
