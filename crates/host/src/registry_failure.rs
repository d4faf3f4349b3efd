//! Why a registry gave no answer: found in the host's text, and told in our own words.
//!
//! The text contains the registry's answer, and a Pod author may choose the registry: no part of the text is passed on. The failure
//! is recognized by the beginning of the text, which the host and its clients write. So the body of an answer, which comes later,
//! can't pass for another failure: a status of 500 whose body says `manifest unknown` is an outage. Only for a status of 403 is the
//! beginning of the body read, to tell one denial from another.

mod body;
mod messages;

use super::{HostFailure, Untrusted};

/// The failure where no host was given that could ask.
pub const NOBODY_TO_ASK: &str = "there is no registry to ask";

/// Why a registry refuses a request with any login. It may answer another request, about another image or from another address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has no such repository, or hides it from those who may not read it.
    NoRepository,
    /// Its own policy holds the image back: for a vulnerability, a missing signature, a quarantine.
    Policy,
    /// It doesn't serve the caller's address: by its firewall, by region, or by law.
    Address,
    /// Another status.
    Status(u16),
    /// An error in the specification's form, of an unknown kind.
    Error,
    /// The host's text is unknown.
    Unknown,
}

/// The failure of a look-up of a digest, a manifest or an artifact, or of a verification without a result.
pub(super) fn of(text: &str) -> HostFailure {
    let line = super::wire::cause(text);
    if let Some(denied) = super::withheld::of_registry(line) {
        return denied;
    }
    let line = line.strip_prefix("failed to get image trusted layers: ").unwrap_or(line);
    let line = ["Cannot fetch manifest of ", "Cannot pull "].into_iter().find_map(|start| after_image(line, start));
    let line = line.unwrap_or_else(|| super::wire::cause(text));
    match Failure::read(line.strip_prefix("Fail to interact with OCI registry: ").unwrap_or(line), text) {
        Failure::NoManifest => HostFailure::NotFound(Failure::NoManifest.words()),
        malformed @ (Failure::OtherDigest | Failure::NotAManifest | Failure::AnIndex) => {
            HostFailure::Malformed(malformed.words())
        }
        denied @ (Failure::Denied | Failure::DeniedWith(_) | Failure::NoToken) => HostFailure::Denied(denied.words()),
        refused @ Failure::Refused(why) => HostFailure::Refused(why, refused.words()),
        Failure::TooManyRequests => HostFailure::TooManyRequests(Failure::TooManyRequests.words()),
        other => HostFailure::Failed(other.words()),
    }
}

/// The failure of a verification: no requested identity signed the image, or that can't be told.
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

/// A line without the prefixes that the layers of the host's clients add.
fn within(line: &str) -> &str {
    ["failed to get image trusted layers: ", "verification failed: ", "Certificate pool error: "]
        .into_iter()
        .fold(line, |line, start| line.strip_prefix(start).unwrap_or(line))
}

/// The rest behind `start` and the image's name.
fn after_image<'t>(line: &'t str, start: &str) -> Option<&'t str> {
    line.strip_prefix(start)?.split_once(": ").map(|(_, rest)| rest)
}

/// The kinds of failure that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failure {
    NoManifest,
    /// The registry may answer others, for example if nodes may read a repository and the policy server may not.
    Denied,
    DeniedWith(u16),
    NoToken,
    /// Unknown texts are among these, since a pushed artifact may have caused them.
    Refused(Refusal),
    TooManyRequests,
    Status(u16),
    ConnectionRefused,
    Tls,
    TimedOut,
    Unreachable,
    NobodyToAsk,
    OtherDigest,
    NotAManifest,
    AnIndex,
}

impl Failure {
    /// Reads the client's error. `text` is the host's whole text, which tells why a connection failed.
    fn read(error: &str, text: &str) -> Self {
        if let Some(rest) = error.strip_prefix("Registry error: url ") {
            // The URL is made from the requested image, and has no blanks.
            return rest
                .split_once(", envelope: OCI API errors: [")
                .map_or(Self::Refused(Refusal::Unknown), |(_, said)| Self::of_errors(said));
        }
        if let Some(rest) = error.strip_prefix("Server error: url ") {
            return rest.split_once(", code: ").map_or(Self::Refused(Refusal::Unknown), |(_, rest)| {
                let failure = Self::status(rest);
                if failure == Self::DeniedWith(403) {
                    return body_behind(text, ", code: 403, message: ").and_then(body::refusal).unwrap_or(failure);
                }
                failure
            });
        }
        for start in ["HTTP status client error (", "HTTP status server error ("] {
            if let Some(rest) = error.strip_prefix(start) {
                return Self::status(rest);
            }
        }
        let starts: [(&str, Self); 11] = [
            ("Not authorized: url ", Self::DeniedWith(401)),
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
            // The texts of hosts without a network.
            "connection refused" => Self::ConnectionRefused,
            "timed out" => Self::TimedOut,
            NOBODY_TO_ASK => Self::NobodyToAsk,
            _ => Self::Refused(Refusal::Unknown),
        }
    }

    /// Registries have their own messages. The first error counts.
    fn of_errors(errors: &str) -> Self {
        let message = errors.strip_prefix("OCI API error: ");
        message.and_then(messages::known).unwrap_or(Self::Refused(Refusal::Error))
    }

    /// The status at the beginning of a text.
    fn status(text: &str) -> Self {
        let digits: String = text.chars().take_while(char::is_ascii_digit).take(4).collect();
        match digits.parse() {
            Ok(code @ (401 | 403)) => Self::DeniedWith(code),
            Ok(429) => Self::TooManyRequests,
            // Harbor answers this where a project's policy holds an image back: requests for manifests have no precondition.
            Ok(412) => Self::Refused(Refusal::Policy),
            Ok(451) => Self::Refused(Refusal::Address),
            Ok(code @ 400..500) if code != 408 => Self::Refused(Refusal::Status(code)),
            Ok(code @ 100..=599) => Self::Status(code),
            _ => Self::Refused(Refusal::Unknown),
        }
    }

    /// Why no answer came. Below the first line is the chain of causes, which has nothing of a registry's answer.
    fn connection(text: &str) -> Self {
        let chain = text.lines().map(str::trim).skip_while(|line| *line != "Caused by:").skip(1);
        let causes = chain.take_while(|line| !line.is_empty()).map(|line| match line.split_once(": ") {
            Some((number, cause)) if number.bytes().all(|b| b.is_ascii_digit()) => cause,
            _ => line,
        });
        let starts: [(&str, Self); 8] = [
            ("Connection refused", Self::ConnectionRefused),
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

    fn words(self) -> String {
        let words = match self {
            Self::NoManifest => "the registry has no such manifest",
            Self::Denied => "the registry denies access",
            Self::DeniedWith(code) => return format!("the registry denies access ({code})"),
            Self::NoToken => "the registry gives no token for it",
            Self::Refused(Refusal::NoRepository) => "the registry has no such repository",
            Self::Refused(Refusal::Policy) => "the registry's own policy holds it back",
            Self::Refused(Refusal::Address) => "the registry doesn't serve the policy server's address or region",
            Self::Refused(Refusal::Error) => "the registry answers with an error",
            Self::Refused(Refusal::Unknown) => "asking the registry failed",
            Self::TooManyRequests => "the registry answers that there were too many requests",
            Self::Status(code) | Self::Refused(Refusal::Status(code)) => return format!("the registry answers {code}"),
            Self::ConnectionRefused => "the registry refuses the connection",
            Self::Tls => "the registry can't be asked over TLS: its certificate is not trusted, or it speaks no TLS",
            Self::TimedOut => "the registry gives no answer in time",
            Self::Unreachable => "the registry can't be reached",
            Self::NobodyToAsk => NOBODY_TO_ASK,
            Self::OtherDigest => "the registry's answer is not what its digest says",
            Self::NotAManifest => "the registry's answer is no manifest",
            Self::AnIndex => "the registry's answer is an index",
        };
        words.to_owned()
    }
}

/// The body of an answer, behind the first `start`: an address before it has no blanks.
fn body_behind<'t>(text: &'t str, start: &str) -> Option<&'t str> {
    text.split_once(start).map(|(_, body)| body)
}

#[cfg(test)]
mod tests;
