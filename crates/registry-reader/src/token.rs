//! Tokens of registries, kept for as long as they are good.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::HeaderValue;
use serde::Deserialize;

use crate::failure::{Flaw, ReadFailure};

/// The most tokens that are kept.
const MAX_KEPT: usize = 1_000;
/// The longest token, which is longer than servers take.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// How long a token is good when its realm doesn't say, by the protocol.
pub(crate) const USUAL: Duration = Duration::from_secs(60);
/// How long a token is good at most, whatever its realm says.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long before its end a token isn't used any more.
const RESERVE: Duration = Duration::from_secs(10);

/// What to send to registries.
#[derive(Debug, Default)]
pub(crate) struct Tokens {
    kept: Mutex<BTreeMap<Key, Kept>>,
}

/// What a token is for: a registry's host with its port, and a repository.
pub(crate) type Key = (String, String);

#[derive(Debug)]
struct Kept {
    authorization: HeaderValue,
    until: Instant,
}

/// What a realm answers.
#[derive(Deserialize)]
struct Answer {
    token: Option<String>,
    access_token: Option<String>,
    /// Seconds.
    expires_in: Option<u64>,
}

impl Tokens {
    /// What to send as `Authorization`.
    pub(crate) fn get(&self, key: &Key, now: Instant) -> Option<HeaderValue> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).filter(|kept| now < kept.until).map(|kept| kept.authorization.clone())
    }

    /// Keeps what to send. Where there are too many, the one goes that ends first.
    pub(crate) fn keep(&self, key: Key, authorization: HeaderValue, lifetime: Duration, now: Instant) {
        let until = now + lifetime.min(LONGEST).saturating_sub(RESERVE);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, kept| now < kept.until);
        if kept.len() >= MAX_KEPT
            && let Some(first) = kept.iter().min_by_key(|(_, kept)| kept.until).map(|(key, _)| key.clone())
        {
            kept.remove(&first);
        }
        kept.insert(key, Kept { authorization, until });
    }
}

/// The token in a realm's answer, as the value of `Authorization`, and how long it is good.
///
/// Fails when there is none that can be sent.
pub(crate) fn read(answer: &[u8]) -> Result<(HeaderValue, Duration), ReadFailure> {
    let answer: Answer = serde_json::from_slice(answer).map_err(|_| ReadFailure::Invalid(Flaw::Token))?;
    let token =
        answer.token.or(answer.access_token).filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN_BYTES);
    let token = token.ok_or(ReadFailure::Invalid(Flaw::Token))?;
    let header = HeaderValue::try_from(format!("Bearer {token}"));
    let mut header = header.map_err(|_| ReadFailure::Invalid(Flaw::Token))?;
    header.set_sensitive(true);
    Ok((header, answer.expires_in.map_or(USUAL, Duration::from_secs)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_can_be_sent() {
        for (answer, token, seconds) in [
            (r#"{"token": "a"}"#, "Bearer a", 60),
            (r#"{"access_token": "a", "expires_in": 300}"#, "Bearer a", 300),
            (r#"{"token": "a", "access_token": "b", "issued_at": "2026-01-01T00:00:00Z"}"#, "Bearer a", 60),
        ] {
            let (header, lifetime) = read(answer.as_bytes()).unwrap();
            assert_eq!((header.to_str().unwrap(), lifetime.as_secs()), (token, seconds), "{answer}");
            assert!(header.is_sensitive());
        }
    }

    #[test]
    fn answers_without_a_token() {
        let long = format!(r#"{{"token": "{}"}}"#, "a".repeat(MAX_TOKEN_BYTES + 1));
        for answer in [
            "<html>",
            "[]",
            "{}",
            r#"{"token": ""}"#,
            r#"{"token": "a\r\nHost: b"}"#,
            r#"{"token": 1}"#,
            r#"{"token": "a", "expires_in": -1}"#,
            &long,
        ] {
            assert_eq!(read(answer.as_bytes()), Err(ReadFailure::Invalid(Flaw::Token)), "{answer}");
        }
    }

    #[test]
    fn tokens_are_kept_until_shortly_before_their_end() {
        let key = ("ghcr.io".to_owned(), "team/app".to_owned());
        for (lifetime, kept) in [(5, 0), (10, 0), (60, 50), (300, 290), (u64::MAX, 3590)] {
            let (tokens, now) = (Tokens::default(), Instant::now());
            tokens.keep(key.clone(), HeaderValue::from_static("Bearer a"), Duration::from_secs(lifetime), now);
            let is_there = |seconds| tokens.get(&key, now + Duration::from_secs(seconds)).is_some();
            assert_eq!((kept > 0 && is_there(kept - 1), is_there(kept)), (kept > 0, false), "{lifetime}");
        }
    }

    #[test]
    fn the_one_goes_that_ends_first() {
        let (tokens, now) = (Tokens::default(), Instant::now());
        let key = |number: usize| ("ghcr.io".to_owned(), number.to_string());
        for number in 0..=MAX_KEPT {
            // The third ends first.
            let lifetime = Duration::from_secs(if number == 2 { 60 } else { 600 });
            tokens.keep(key(number), HeaderValue::from_static("Bearer a"), lifetime, now);
        }
        let missing: Vec<_> = (0..=MAX_KEPT).filter(|number| tokens.get(&key(*number), now).is_none()).collect();
        assert_eq!(missing, [2]);
        assert!(tokens.get(&("elsewhere.test".to_owned(), "3".to_owned()), now).is_none());
    }
}
