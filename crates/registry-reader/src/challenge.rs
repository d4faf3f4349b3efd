//! What a registry wants before it answers: `WWW-Authenticate`, by [the distribution project's protocol of tokens][protocol].
//!
//! [protocol]: https://distribution.github.io/distribution/spec/auth/token/

use http_auth::{ChallengeRef, parse_challenges};
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};

use crate::failure::{Flaw, ReadFailure};

/// The longest challenge that is read. A part of it is sent on.
const MAX_CHALLENGE_BYTES: usize = 4096;

/// How a registry wants to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// With a token.
    Bearer {
        /// The URL that gives tokens, as written.
        realm: String,
        /// For whom the token is.
        service: Option<String>,
    },
    /// With the login.
    Basic,
}

impl Challenge {
    /// What the headers of a status 401 ask for: a token, if it may be one.
    ///
    /// Fails when that is nothing that is known.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, ReadFailure> {
        let unknown = ReadFailure::Invalid(Flaw::Challenge);
        let mut is_basic = false;
        for header in headers.get_all(WWW_AUTHENTICATE) {
            let text = header.to_str().ok().filter(|text| text.len() <= MAX_CHALLENGE_BYTES);
            let challenges = parse_challenges(text.ok_or(unknown.clone())?).map_err(|_| unknown.clone())?;
            for challenge in challenges {
                if challenge.scheme.eq_ignore_ascii_case("bearer") {
                    let realm = parameter(&challenge, "realm").ok_or(unknown)?;
                    return Ok(Self::Bearer { realm, service: parameter(&challenge, "service") });
                }
                is_basic |= challenge.scheme.eq_ignore_ascii_case("basic");
            }
        }
        if is_basic { Ok(Self::Basic) } else { Err(unknown) }
    }
}

fn parameter(challenge: &ChallengeRef<'_>, name: &str) -> Option<String> {
    let named = challenge.params.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value.to_unescaped())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn challenge(headers: &[&str]) -> Result<Challenge, ReadFailure> {
        Challenge::of(&headers.iter().map(|text| (WWW_AUTHENTICATE, text.parse().unwrap())).collect())
    }

    fn bearer(realm: &str, service: Option<&str>) -> Result<Challenge, ReadFailure> {
        Ok(Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) })
    }

    #[test]
    fn what_registries_ask_for() {
        for (headers, expected) in [
            (
                &[
                    r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a:pull""#,
                ] as &[_],
                bearer("https://auth.docker.io/token", Some("registry.docker.io")),
            ),
            (&["bearer REALM=\"https://a/\""], bearer("https://a/", None)),
            (&["Basic realm=\"a\"", "Bearer realm=\"https://a/\""], bearer("https://a/", None)),
            (&["Basic realm=\"a\", Bearer realm=\"https://a/\""], bearer("https://a/", None)),
            (&["Negotiate", "Basic realm=\"a\""], Ok(Challenge::Basic)),
        ] {
            assert_eq!(challenge(headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn what_nobody_can_answer() {
        let long = format!("Bearer realm=\"{}\"", "a".repeat(MAX_CHALLENGE_BYTES));
        for headers in
            [&[] as &[_], &["Negotiate"], &["Bearer service=\"a\""], &["Bearer realm=\"https://a/"], &[&long]]
        {
            assert_eq!(challenge(headers), Err(ReadFailure::Invalid(Flaw::Challenge)), "{headers:?}");
        }
    }
}
