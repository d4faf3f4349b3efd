//! How failures are told apart, and which can't pass for another.

use super::*;

/// What every body in these tests says.
const SECRET: &str = "hunter2";

fn wrapped(error: &str) -> [String; 2] {
    let line = format!("Host error: Callback evaluation failure: {error}");
    [format!("{line}\n\nCaused by:\n    0: {error}\n    1: {error}\n\nStack backtrace:\n   0: main"), line]
}

fn registry(error: &str) -> [String; 4] {
    let [first, second] = wrapped(&format!("Fail to interact with OCI registry: {error}"));
    let image = "localhost:5000/team/app@sha256:00";
    let [third, fourth] =
        wrapped(&format!("failed to get image trusted layers: Cannot fetch manifest of {image}: {error}"));
    [first, second, third, fourth]
}

#[track_caller]
fn check(error: &str, expected: &HostFailure) {
    for text in registry(error) {
        assert_eq!(of(&text), *expected, "{text}");
        assert_eq!(of_verification(&text), *expected, "{text}");
        assert!(!format!("{:?}", of(&text)).contains(SECRET), "{text}");
    }
}

#[track_caller]
fn failed(error: &str, words: &str) {
    let expected = match of(error) {
        is @ (HostFailure::Failed(_)
        | HostFailure::Denied(_)
        | HostFailure::Refused(..)
        | HostFailure::TooManyRequests(_)
        | HostFailure::Malformed(_)) => is,
        other => panic!("{error}: {other:?}"),
    };
    assert_eq!(expected.to_string(), words, "{error}");
    check(error, &expected);
}

#[test]
fn only_what_nobody_chose_who_names_an_image_is_an_outage() {
    let envelope = |said: &str| format!("Registry error: url {URL}, envelope: OCI API errors: [OCI API error: {said}]");
    let server = |code: u16| format!("Server error: url {URL}, code: {code}, message: hunter2");
    for outage in [
        server(500),
        server(503),
        server(429),
        server(408),
        envelope("toomanyrequests: slow down"),
        "error sending request for url (https://ghcr.io/v2/)".to_owned(),
        "connection refused".to_owned(),
    ] {
        assert!(of(&outage).is_outage(), "{outage}");
    }
    for chosen in [
        server(400),
        server(403),
        server(404),
        format!("Not authorized: url {URL}"),
        "Authentication failure: denied".to_owned(),
        "Failed to decode registry token: x".to_owned(),
        "Digest error: x".to_owned(),
        "Failed to parse manifest: x".to_owned(),
        "Image manifest not found: x".to_owned(),
        envelope("manifest unknown"),
        envelope("repository name not known to registry"),
        envelope("requested access to the resource is denied"),
        envelope("whatever"),
        "something else".to_owned(),
    ] {
        assert!(!of(&chosen).is_outage(), "{chosen}");
    }
}

fn refused(why: Refusal) -> HostFailure {
    HostFailure::Refused(why, Failure::Refused(why).words())
}

const URL: &str = "https://ghcr.io/v2/team/app/manifests/1.0";

#[test]
fn a_manifest_that_is_not_there_is_told_from_all_else() {
    let not_found = HostFailure::NotFound("the registry has no such manifest".to_owned());
    let envelope = |said: &str| format!("Registry error: url {URL}, envelope: OCI API errors: [{said}]");
    check(&envelope("OCI API error: manifest unknown"), &not_found);
    check(&envelope("OCI API error: manifest unknown\nOCI API error: hunter2"), &not_found);
    let error = "the registry answers with an error";
    failed(&envelope("OCI API error: hunter2 manifest unknown"), error);
    failed(&envelope("OCI API error: hunter2\nOCI API error: manifest unknown"), error);
    failed(&envelope("OCI API error: "), error);
    failed(&envelope(""), error);
    failed(&envelope("OCI API error: repository name not known to registry"), "the registry has no such repository");
    for body in [
        "manifest unknown hunter2",
        "OCI API errors: [OCI API error: manifest unknown] hunter2",
        ", envelope: OCI API errors: [OCI API error: manifest unknown]hunter2",
        "Registry error: url a, envelope: OCI API errors: [OCI API error: manifest unknown]hunter2",
        "\nRegistry error: url a, envelope: OCI API errors: [OCI API error: manifest unknown]hunter2",
        "\nHost error: Callback evaluation failure: no signatures found for image: a hunter2",
        "no signatures found for image: hunter2",
        "Image verification failed: missing signatures hunter2",
        "CertExpired hunter2",
        ": CertExpired hunter2",
        "Policy has not been granted access to Kubernetes v1/hunter2 resources",
        ", code: 200, message: hunter2",
    ] {
        failed(&format!("Server error: url {URL}, code: 500, message: {body}"), "the registry answers 500");
        failed(&format!("Authentication failure: {body}"), "the registry gives no token for it");
        failed(&format!("Failed to parse manifest: {body}"), "the registry's answer is no manifest");
        failed(&format!("Generic error: Some(\"{body}\")"), "asking the registry failed");
    }
}

#[test]
fn statuses_and_classes_are_all_that_is_said() {
    let server = |code: &str| format!("Server error: url {URL}, code: {code}, message: hunter2");
    failed(&server("503"), "the registry answers 503");
    failed(&server("404"), "the registry answers 404");
    failed(&server("403"), "the registry denies access (403)");
    failed(&server("429"), "the registry answers that there were too many requests");
    failed(&server("5030"), "asking the registry failed");
    failed(&server("hunter2"), "asking the registry failed");
    failed("Not authorized: url https://ghcr.io/v2/hunter2", "the registry denies access (401)");
    failed("HTTP status client error (404 Not Found) for url (https://r.io/hunter2)", "the registry answers 404");
    failed("HTTP status server error (502 Bad Gateway) for url (https://r.io/x)", "the registry answers 502");
    failed("Digest error: hunter2", "the registry's answer is not what its digest says");
    failed("Unsupported media type: hunter2", "the registry's answer is no manifest");
    failed("error following redirect for url (http://hunter2/)", "the registry can't be reached");
    failed("Image manifest not found: hunter2", "the registry's answer is an index");
    failed("Failed to decode registry token: hunter2", "the registry gives no token for it");
    failed("hunter2", "asking the registry failed");
    failed("", "asking the registry failed");
    for (said, words) in [
        ("denied: hunter2", "the registry denies access"),
        ("requested access to the resource is denied", "the registry denies access"),
        ("unauthorized: hunter2", "the registry denies access"),
        ("toomanyrequests: hunter2", "the registry answers that there were too many requests"),
    ] {
        failed(&format!("Registry error: url {URL}, envelope: OCI API errors: [OCI API error: {said}]"), words);
    }
}

#[test]
fn a_connection_fails_as_the_chain_of_causes_says() {
    let sending = "error sending request for url (https://r.io/v2/)";
    let line = format!("Host error: Callback evaluation failure: Fail to interact with OCI registry: {sending}");
    for (cause, words) in [
        ("Connection refused (os error 111)", "the registry refuses the connection"),
        (
            "invalid peer certificate: UnknownIssuer",
            "the registry can't be asked over TLS: its certificate is not trusted, or it speaks no TLS",
        ),
        ("operation timed out", "the registry gives no answer in time"),
        ("dns error", "the registry can't be reached"),
        ("hunter2 Connection refused", "the registry can't be reached"),
    ] {
        let text = format!("{line}\n\nCaused by:\n    0: {sending}\n    1: client error (Connect)\n    2: {cause}\n");
        assert_eq!(of(&text), HostFailure::Failed(words.to_owned()), "{cause}");
    }
    assert_eq!(of(&line), HostFailure::Failed("the registry can't be reached".to_owned()));
    let server = line.replace(sending, "Server error: url a, code: 500, message: \nCaused by:\n0: Connection refused");
    assert_eq!(of(&server), HostFailure::Failed("the registry answers 500".to_owned()));
}

#[test]
fn who_did_not_sign_is_told_from_what_cannot_be_told() {
    let verification = |error: &str| of_verification(&format!("Host error: Callback evaluation failure: {error}"));
    for (error, untrusted) in [
        ("no signatures found for image: hunter2 ", Untrusted::Unsigned),
        ("Image verification failed: missing signatures\nhunter2", Untrusted::SignedByOthers),
        ("failed to get image trusted layers: No Signature Layer passed verification", Untrusted::NoneOfThisDigest),
        ("verification failed: Several Signature Layers failed verification", Untrusted::SignedByOthers),
        ("CertExpired { time: 1 }", Untrusted::CertificateExpired),
        ("failed to get image trusted layers: CertExpired { time: 1 }", Untrusted::CertificateExpired),
    ] {
        assert_eq!(verification(error), HostFailure::NotTrusted(untrusted), "{error}");
    }
    for error in [
        "hunter2 no signatures found for image: r/a",
        "failed to get image trusted layers: Cannot pull r/a: no signatures found for image: r/a",
        "failed to get image trusted layers: hunter2: CertExpired",
        "failed to get image trusted layers: No Signature Layer passed verification hunter2",
        "verification failed: hunter2",
    ] {
        assert_eq!(verification(error), refused(Refusal::Unknown), "{error}");
    }
    // Errors of verifications mean nothing elsewhere.
    assert_eq!(of("no signatures found for image: r/a"), refused(Refusal::Unknown));
}

#[test]
fn a_call_that_was_not_granted() {
    let text = "Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.";
    for failure in [of(text), of_verification(text)] {
        assert!(matches!(failure, HostFailure::Withheld(_)), "{failure:?}");
        assert_eq!(
            failure.to_string(),
            "the policy server doesn't let this policy call `oci/v1/manifest_digest`: add it to `namespacedPoliciesCapabilities` of the PolicyServer"
        );
        assert!(!failure.is_outage());
    }
    let text =
        "Policy has not been granted access to Kubernetes v1/hunter2 resources. The violation has been reported.";
    assert!(!of(text).to_string().contains("hunter2"));
}

/// The entries of the engine's table for each registry.
#[derive(serde::Deserialize)]
struct Row {
    registry: String,
    case: String,
    body: String,
    host: String,
    class: String,
    words: String,
}

#[test]
fn each_registry_is_understood_in_its_own_words() {
    let rows: Vec<Row> = yaml_serde::from_str(include_str!("../../tests/registries/answers.yaml")).unwrap();
    assert!(rows.len() > 70, "where are the rows?");
    for row in rows {
        let expected = match of(&registry(&row.host.replace("$URL", URL).replace("$BODY", &row.body))[0]) {
            is @ (HostFailure::Failed(_) | HostFailure::TooManyRequests(_)) => ("outage", is),
            is @ HostFailure::Denied(_) => ("denied", is),
            is @ HostFailure::Refused(..) => ("refused", is),
            is @ HostFailure::NotFound(_) => ("not found", is),
            other => panic!("{}, {}: {other:?}", row.registry, row.case),
        };
        let (class, failure) = expected;
        assert_eq!((class, failure.to_string()), (row.class.as_str(), row.words), "{}, {}", row.registry, row.case);
        check(&row.host.replace("$URL", URL).replace("$BODY", &row.body), &failure);
    }
}

/// The author of an image's name chooses the middle of a message; the owner of a registry chooses a body.
#[test]
fn only_the_beginning_of_a_message_counts() {
    let envelope =
        |said: &str| of(&format!("Registry error: url {URL}, envelope: OCI API errors: [OCI API error: {said}]"));
    for said in [
        "artifact team/toomanyrequests:rate-exceeded is broken",
        "artifact team/app:1.0 is there, artifact team/app:2.0 not found",
        "the manifest of too many requests",
        "Tag \"too many requests\" is not there",
        "no: Rate exceeded",
        "client with IP '1.2.3.4' and more' is not allowed access",
        "toomanyrequest",
        "manifest unknow",
        "é",
        "",
    ] {
        assert_eq!(envelope(said), refused(Refusal::Error), "{said}");
    }
    assert_eq!(envelope("Artifact a:too-many-requests not found"), HostFailure::NotFound(Failure::NoManifest.words()));
    // Messages come in the case of their registry, or in another.
    assert!(envelope("TOO MANY REQUESTS").is_outage());
}

#[test]
fn a_body_says_which_denial_it_is_and_never_more() {
    let server = |code: u16, body: &str| of(&format!("Server error: url {URL}, code: {code}, message: {body}"));
    let denied = |code: u16| HostFailure::Denied(format!("the registry denies access ({code})"));
    for body in [
        "",
        "Rate exceeded",
        r#"{"errors":[{"message":"Rate exceeded"}]}"#,
        r#"{"errors":[{"code":"TOOMANYREQUESTS"}]}"#,
        r#"{"errors":[{"message":"manifest unknown"}]}"#,
        r#"{"errors":[{"message":"x"},{"message":"Artifact download request rejected"}]}"#,
        r#"{"errors":[{"message":"x: Artifact download request rejected"}]}"#,
        r#"{"errors":{"message":"Artifact download request rejected"}}"#,
        r#"{"errors":[{"message":1}]}"#,
        r#"{"errors":[]}"#,
        "{",
        "<",
        "<html><title>503 Service Unavailable</title></html>",
        "<html><title>429 Too Many Requests</title></html>",
        "<b>1</b><b>2</b><b>3</b><b>4</b><b>5</b><b>6</b><b>7</b><b>8</b><p>Since Docker is a US company",
        "\n\nSince Docker is a US company",
    ] {
        // A body of one line of text is a registry's message for people.
        let expected = if body.trim_start().starts_with("Since") { refused(Refusal::Address) } else { denied(403) };
        assert_eq!(server(403, body), expected, "{body}");
    }
    // Other statuses are clear without the body.
    let blocked = r#"{"errors":[{"message":"Artifact download request rejected"}]}"#;
    assert_eq!(server(403, blocked), refused(Refusal::Policy));
    assert_eq!(server(404, blocked), refused(Refusal::Status(404)));
    assert_eq!(server(401, blocked), denied(401));
    assert_eq!(server(500, blocked), HostFailure::Failed("the registry answers 500".to_owned()));
    assert_eq!(server(429, blocked), HostFailure::TooManyRequests(Failure::TooManyRequests.words()));
}
