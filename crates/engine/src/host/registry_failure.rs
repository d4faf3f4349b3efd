//! Why a registry gave no answer: read off the host's text, and said in words of our own.
//!
//! The text holds what the registry answered, and whoever creates a Pod may choose the registry: no part of the text is
//! passed on. What it says is told by its shape, from its beginning on, as the host and its clients write it. So the body
//! of an answer, which stands behind, can't pass for another failure: a status of 500 whose body says `manifest unknown`
//! is a failure.

use super::{HostFailure, Untrusted};

/// What is said where no host was given that could ask.
pub(crate) const NOBODY_TO_ASK: &str = "there is no registry to ask";

/// A look-up of a digest, a manifest or an artifact that failed, or a verification that never came to an answer.
pub(super) fn of(text: &str) -> HostFailure {
    let line = super::wire::cause(text);
    if line.starts_with("Policy has not been granted access to ") {
        return HostFailure::NotGranted("the policy has not been granted access to registries".to_owned());
    }
    let line = line.strip_prefix("failed to get image trusted layers: ").unwrap_or(line);
    let line = ["Cannot fetch manifest of ", "Cannot pull "].into_iter().find_map(|start| after_image(line, start));
    let line = line.unwrap_or_else(|| super::wire::cause(text));
    match Failure::read(line.strip_prefix("Fail to interact with OCI registry: ").unwrap_or(line), text) {
        Failure::NoManifest => HostFailure::NotFound(Failure::NoManifest.words()),
        malformed @ (Failure::OtherDigest | Failure::NotAManifest | Failure::AnIndex) => {
            HostFailure::Malformed(malformed.words())
        }
        other if other.is_about_what_was_asked() => HostFailure::Denied(other.words()),
        other => HostFailure::Failed(other.words()),
    }
}

/// A verification that failed: nobody who was asked for signed the image, or it can't be told.
pub(super) fn of_verification(text: &str) -> HostFailure {
    let line = super::wire::cause(text);
    let untrusted = if line.starts_with("no signatures found for image: ") {
        Untrusted::Unsigned
    } else if line.starts_with("Image verification failed: ")
        || line == "verification failed: Several Signature Layers failed verification"
    {
        Untrusted::SignedByOthers
    } else if line == "failed to get image trusted layers: No Signature Layer passed verification" {
        Untrusted::NoneOfThisDigest
    } else if within(line).starts_with("CertExpired") {
        Untrusted::CertificateExpired
    } else {
        return of(text);
    };
    HostFailure::NotTrusted(untrusted)
}

/// What the layers of the host's clients put their own words before.
fn within(line: &str) -> &str {
    ["failed to get image trusted layers: ", "verification failed: ", "Certificate pool error: "]
        .into_iter()
        .fold(line, |line, start| line.strip_prefix(start).unwrap_or(line))
}

/// What follows `start` and the image that it is about, which has no blanks.
fn after_image<'t>(line: &'t str, start: &str) -> Option<&'t str> {
    line.strip_prefix(start)?.split_once(": ").map(|(_, rest)| rest)
}

/// What may be said of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    NoManifest,
    NoRepository,
    Denied,
    NoToken,
    TooManyRequests,
    Status(u16),
    /// An error in the form that the specification gives it, of no kind that is told apart.
    Error,
    Refused,
    Tls,
    TimedOut,
    Unreachable,
    NobodyToAsk,
    OtherDigest,
    NotAManifest,
    AnIndex,
    Unknown,
}

impl Failure {
    /// Reads the client's error; `text` is all that the host said, which tells why a connection failed.
    fn read(error: &str, text: &str) -> Self {
        if let Some(rest) = error.strip_prefix("Registry error: url ") {
            // The URL is made of the image that was asked for, which has no blanks.
            return rest
                .split_once(", envelope: OCI API errors: [")
                .map_or(Self::Unknown, |(_, said)| Self::of_errors(said));
        }
        if let Some(rest) = error.strip_prefix("Server error: url ") {
            return rest.split_once(", code: ").map_or(Self::Unknown, |(_, rest)| Self::status(rest));
        }
        for start in ["HTTP status client error (", "HTTP status server error ("] {
            if let Some(rest) = error.strip_prefix(start) {
                return Self::status(rest);
            }
        }
        let starts: [(&str, Self); 11] = [
            ("Not authorized: url ", Self::Status(401)),
            ("Authentication failure:", Self::NoToken),
            ("Failed to decode registry token:", Self::NoToken),
            ("Digest error:", Self::OtherDigest),
            ("Failed to parse manifest", Self::NotAManifest),
            ("Manifest is not valid UTF-8", Self::NotAManifest),
            ("Unsupported schema version:", Self::NotAManifest),
            ("Unsupported media type:", Self::NotAManifest),
            ("Received Image Index/Manifest List", Self::AnIndex),
            ("Image manifest not found:", Self::AnIndex),
            ("error following redirect for url ", Self::Unreachable),
        ];
        if let Some((_, failure)) = starts.into_iter().find(|(start, _)| error.starts_with(start)) {
            return failure;
        }
        match error {
            _ if error.starts_with("error sending request") => Self::connection(text),
            // As hosts that have no network say it.
            "connection refused" => Self::Refused,
            "timed out" => Self::TimedOut,
            NOBODY_TO_ASK => Self::NobodyToAsk,
            _ => Self::Unknown,
        }
    }

    /// What a registry says is in the specification's words only by custom: its first error counts.
    fn of_errors(errors: &str) -> Self {
        let Some(message) = errors.strip_prefix("OCI API error: ") else { return Self::Error };
        let starts: [(&str, Self); 8] = [
            ("manifest unknown", Self::NoManifest),
            ("repository name not known", Self::NoRepository),
            ("denied", Self::Denied),
            ("requested access to the resource is denied", Self::Denied),
            ("unauthorized", Self::Denied),
            ("authentication required", Self::Denied),
            ("too many requests", Self::TooManyRequests),
            ("toomanyrequests", Self::TooManyRequests),
        ];
        let said = starts.into_iter().find(|(start, _)| message.starts_with(start));
        said.map_or(Self::Error, |(_, failure)| failure)
    }

    /// The status that a text begins with.
    fn status(text: &str) -> Self {
        let digits: String = text.chars().take_while(char::is_ascii_digit).take(4).collect();
        match digits.parse() {
            Ok(429) => Self::TooManyRequests,
            Ok(code @ 100..=599) => Self::Status(code),
            _ => Self::Unknown,
        }
    }

    /// Why no answer came: below the first line stands the chain of causes, none of which a registry's answer is in.
    fn connection(text: &str) -> Self {
        let chain = text.lines().map(str::trim).skip_while(|line| *line != "Caused by:").skip(1);
        let causes = chain.take_while(|line| !line.is_empty()).map(|line| match line.split_once(": ") {
            Some((number, cause)) if number.bytes().all(|b| b.is_ascii_digit()) => cause,
            _ => line,
        });
        let starts: [(&str, Self); 8] = [
            ("Connection refused", Self::Refused),
            ("invalid peer certificate", Self::Tls),
            ("received corrupt message", Self::Tls),
            ("received fatal alert", Self::Tls),
            ("peer is incompatible", Self::Tls),
            ("tls handshake eof", Self::Tls),
            ("operation timed out", Self::TimedOut),
            ("Connection timed out", Self::TimedOut),
        ];
        let known =
            |cause: &str| starts.iter().find(|(start, _)| cause.starts_with(start)).map(|(_, failure)| *failure);
        causes.filter_map(known).next().unwrap_or(Self::Unreachable)
    }

    /// Whether the registry is there and doesn't answer this question, which it may answer to others: a repository that the
    /// policy server may not read, for example, and nodes may. What nobody knows is taken for such, since what somebody pushed
    /// may have caused it.
    fn is_about_what_was_asked(self) -> bool {
        match self {
            Self::NoRepository | Self::Denied | Self::NoToken | Self::Error | Self::Unknown => true,
            Self::Status(code) => (400..500).contains(&code) && code != 408,
            _ => false,
        }
    }

    fn words(self) -> String {
        let words = match self {
            Self::NoManifest => "the registry has no such manifest",
            Self::NoRepository => "the registry has no such repository",
            Self::Denied => "the registry denies access",
            Self::NoToken => "the registry gives no token for it",
            Self::TooManyRequests => "the registry answers that there were too many requests",
            Self::Status(code @ (401 | 403)) => return format!("the registry denies access ({code})"),
            Self::Status(code) => return format!("the registry answers {code}"),
            Self::Error => "the registry answers with an error",
            Self::Refused => "the registry refuses the connection",
            Self::Tls => "the registry can't be asked over TLS: its certificate is not trusted, or it speaks no TLS",
            Self::TimedOut => "the registry gives no answer in time",
            Self::Unreachable => "the registry can't be reached",
            Self::NobodyToAsk => NOBODY_TO_ASK,
            Self::OtherDigest => "the registry's answer is not what its digest says",
            Self::NotAManifest => "the registry's answer is no manifest",
            Self::AnIndex => "the registry's answer is an index",
            Self::Unknown => "asking the registry failed",
        };
        words.to_owned()
    }
}

#[cfg(test)]
mod tests {
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
            is @ (HostFailure::Failed(_) | HostFailure::Denied(_) | HostFailure::Malformed(_)) => is,
            other => panic!("{error}: {other:?}"),
        };
        assert_eq!(expected.to_string(), words, "{error}");
        check(error, &expected);
    }

    #[test]
    fn only_what_nobody_chose_who_names_an_image_is_an_outage() {
        let envelope =
            |said: &str| format!("Registry error: url {URL}, envelope: OCI API errors: [OCI API error: {said}]");
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
        failed(
            &envelope("OCI API error: repository name not known to registry"),
            "the registry has no such repository",
        );
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
            let text =
                format!("{line}\n\nCaused by:\n    0: {sending}\n    1: client error (Connect)\n    2: {cause}\n");
            assert_eq!(of(&text), HostFailure::Failed(words.to_owned()), "{cause}");
        }
        assert_eq!(of(&line), HostFailure::Failed("the registry can't be reached".to_owned()));
        let server =
            line.replace(sending, "Server error: url a, code: 500, message: \nCaused by:\n0: Connection refused");
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
            assert_eq!(verification(error), HostFailure::Denied("asking the registry failed".to_owned()), "{error}");
        }
        // What only a verification can say means nothing elsewhere.
        assert!(matches!(of("no signatures found for image: r/a"), HostFailure::Denied(_)));
    }

    #[test]
    fn a_call_that_was_not_granted() {
        let text = "Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.";
        assert!(matches!(of(text), HostFailure::NotGranted(_)));
        assert!(matches!(of_verification(text), HostFailure::NotGranted(_)));
    }
}
