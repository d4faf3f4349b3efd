//! One question to a registry or an API, and its answer, with the login and the redirects in between.

use std::time::{Duration, Instant, SystemTime};

use chrono::DateTime;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, Url};

use crate::address::Reach;
use crate::challenge::Challenge;
use crate::client::{self, Clients, Guarded, SetupError};
use crate::failure::{Flaw, Outage, ReadFailure};
use crate::login::Logins;
use crate::realm;
use crate::token::{self, Key, Tokens};

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 3;
/// The most bytes of what a realm answers.
const MAX_TOKEN_ANSWER: u64 = 1024 * 1024;
/// How long a registry may have itself left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// How many requests are left, and the second since 1970 from which they are counted anew.
const REMAINING: &str = "x-ratelimit-remaining";
const RESET: &str = "x-ratelimit-reset";

/// Asks registries.
pub(crate) struct Exchanges {
    clients: Clients,
    tokens: Tokens,
    logins: Logins,
    realms: Vec<String>,
    timeout: Duration,
}

/// What is asked.
#[derive(Clone, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) method: Method,
    /// At the registry or API itself: what is asked elsewhere is asked without the login.
    pub(crate) url: Url,
    /// The value of `Accept`.
    pub(crate) accept: &'a str,
    pub(crate) login: Login<'a>,
    /// The most bytes of the answer.
    pub(crate) most: u64,
}

/// Who is asked, and what shows them who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Login<'a> {
    /// A registry by its canonical host with its port, for which there may be a login.
    Registry { host: &'a str, repository: &'a str },
    /// An API with a token of its own.
    Token(Option<&'a HeaderValue>),
    /// Somebody to whom an API sends that is itself reached like this: nothing.
    SentFrom(Reach),
}

/// A successful answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
    /// How the registry or API itself was reached.
    pub(crate) reach: Reach,
}

impl Exchanges {
    pub(crate) fn new(logins: Logins, realms: Vec<String>, timeout: Duration) -> Result<Self, SetupError> {
        Ok(Self { clients: Clients::new()?, tokens: Tokens::default(), logins, realms, timeout })
    }

    /// Asks once, and with a login if the registry wants one: all in the time that there is.
    pub(crate) async fn ask(&self, question: &Question<'_>) -> Result<Answer, ReadFailure> {
        let asked = tokio::time::timeout(self.timeout, async {
            let (response, reach) = self.respond(question).await?;
            let headers = response.headers().clone();
            let bytes =
                if question.method == Method::HEAD { Vec::new() } else { read(response, question.most).await? };
            Ok(Answer { headers, bytes, reach })
        });
        asked.await.unwrap_or(Err(ReadFailure::Outage(Outage::Timeout)))
    }

    /// The successful response, whose body isn't read yet, and how the registry or API itself was reached.
    async fn respond(&self, question: &Question<'_>) -> Result<(Response, Reach), ReadFailure> {
        let asked = &question.url;
        let (key, mut authorization, sent_from) = match question.login {
            Login::Registry { host, repository } => {
                let key = (host.to_owned(), repository.to_owned());
                let token = self.tokens.get(&key, Instant::now());
                (Some(key), token, None)
            }
            Login::Token(token) => (None, token.cloned(), None),
            Login::SentFrom(reach) => (None, None, Some(reach)),
        };
        let (mut url, mut reach) = (asked.clone(), sent_from.unwrap_or(Reach::Public));
        let (mut has_logged_in, mut redirects) = (false, 0);
        loop {
            let is_first = sent_from.is_none() && url.origin() == asked.origin();
            let client = if is_first { self.clients.of_registries() } else { self.clients.sent_from(reach) };
            let sent = authorization.as_ref().filter(|_| is_first);
            let response = send(client, &question.method, &url, question.accept, sent).await?;
            if is_first && let Some(address) = response.remote_addr() {
                reach = Reach::of(address.ip());
            }
            match response.status() {
                StatusCode::UNAUTHORIZED if is_first && !has_logged_in => {
                    let key = key.as_ref().ok_or(ReadFailure::Refused)?;
                    has_logged_in = true;
                    authorization = Some(self.log_in(key, asked, response.headers(), reach).await?);
                }
                // Not 303, which leads to another thing: GHCR has no referrers API, and sends to a page of GitHub instead.
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => {
                    redirects += 1;
                    let next = redirected(&url, asked, response.headers()).filter(|_| redirects <= MAX_REDIRECTS);
                    url = next.ok_or(ReadFailure::Invalid(Flaw::Redirect))?;
                }
                _ => return Ok((succeeded(response)?, reach)),
            }
        }
    }

    /// What to send as `Authorization` to a registry that wants something.
    async fn log_in(
        &self,
        key: &Key,
        registry: &Url,
        headers: &HeaderMap,
        reach: Reach,
    ) -> Result<HeaderValue, ReadFailure> {
        let (host, repository) = key;
        let (authorization, lifetime) = match Challenge::of(headers)? {
            Challenge::Basic => (self.logins.of(host).await.ok_or(ReadFailure::Refused)?, token::USUAL),
            Challenge::Bearer { realm, service } => {
                let mut url = realm::parse(&realm, registry)?;
                let gets_login = realm::gets_login(&url, registry, &self.realms);
                let login = if gets_login { self.logins.of(host).await } else { None };
                url.query_pairs_mut().append_pair("scope", &format!("repository:{repository}:pull"));
                if let Some(service) = service {
                    url.query_pairs_mut().append_pair("service", &service);
                }
                let is_registry = url.origin() == registry.origin();
                let client = if is_registry { self.clients.of_registries() } else { self.clients.sent_from(reach) };
                let response = send(client, &Method::GET, &url, "application/json", login.as_ref()).await?;
                let response = match succeeded(response) {
                    // A realm that doesn't give this token gives no reasons, either.
                    Err(ReadFailure::NotFound | ReadFailure::Invalid(_)) => return Err(ReadFailure::Refused),
                    other => other?,
                };
                token::read(&read(response, MAX_TOKEN_ANSWER).await?)?
            }
        };
        self.tokens.keep(key.clone(), authorization.clone(), lifetime, Instant::now());
        Ok(authorization)
    }
}

impl std::fmt::Debug for Exchanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchanges").field("logins", &self.logins).finish_non_exhaustive()
    }
}

async fn send(
    client: &Guarded,
    method: &Method,
    url: &Url,
    accept: &str,
    authorization: Option<&HeaderValue>,
) -> Result<Response, ReadFailure> {
    let mut request = client.towards(url)?.request(method.clone(), url.clone()).header(ACCEPT, accept);
    if let Some(authorization) = authorization {
        request = request.header(AUTHORIZATION, authorization);
    }
    request.send().await.map_err(|error| client::failure(&error))
}

/// Where a redirect leads, if one may be sent there.
fn redirected(from: &Url, asked: &Url, headers: &HeaderMap) -> Option<Url> {
    let to = from.join(headers.get(LOCATION)?.to_str().ok()?).ok()?;
    may_send(asked, &to).then_some(to)
}

/// Whether whoever is asked may send there: to HTTPS, or to plain HTTP where it is plain itself.
pub(crate) fn may_send(asked: &Url, to: &Url) -> bool {
    let is_safe = to.scheme() == "https" || (to.scheme() == "http" && asked.scheme() == "http");
    is_safe && to.username().is_empty() && to.password().is_none()
}

/// The response, if it is one to read. The body of another is never read.
fn succeeded(response: Response) -> Result<Response, ReadFailure> {
    match response.status() {
        StatusCode::OK => Ok(response),
        StatusCode::NOT_FOUND => Err(ReadFailure::NotFound),
        StatusCode::FORBIDDEN if is_rate_limited(response.headers()) => Err(rate_limited(response.headers())),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(ReadFailure::Refused),
        StatusCode::TOO_MANY_REQUESTS => Err(rate_limited(response.headers())),
        status if status.is_server_error() => Err(ReadFailure::Outage(Outage::Status(status.as_u16()))),
        status => Err(ReadFailure::Invalid(Flaw::Status(status.as_u16()))),
    }
}

/// Whether a refusal is for too many requests, [as GitHub has it][limits].
///
/// [limits]: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit
fn is_rate_limited(headers: &HeaderMap) -> bool {
    headers.contains_key(RETRY_AFTER) || is_spent(headers)
}

fn is_spent(headers: &HeaderMap) -> bool {
    headers.get(REMAINING).is_some_and(|left| left == "0")
}

fn rate_limited(headers: &HeaderMap) -> ReadFailure {
    let now = SystemTime::now();
    ReadFailure::RateLimited { until: retry_after(headers, now).max(reset(headers, now)) }
}

/// When requests are counted anew, where none is left.
fn reset(headers: &HeaderMap, now: SystemTime) -> Option<SystemTime> {
    let seconds = headers.get(RESET).filter(|_| is_spent(headers))?.to_str().ok()?.trim().parse().ok()?;
    let pause = Duration::from_secs(seconds).saturating_sub(now.duration_since(SystemTime::UNIX_EPOCH).ok()?);
    Some(now + pause.min(LONGEST_PAUSE))
}

/// When to ask again, by a number of seconds or a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<SystemTime> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = SystemTime::UNIX_EPOCH + Duration::from_secs(parse_date(text)?);
            date.duration_since(now).unwrap_or_default()
        }
    };
    Some(now + pause.min(LONGEST_PAUSE))
}

/// The seconds since 1970 of a date of HTTP.
fn parse_date(text: &str) -> Option<u64> {
    DateTime::parse_from_rfc2822(text).ok()?.timestamp().try_into().ok()
}

/// The body, as it comes in, until it is too long.
async fn read(mut response: Response, most: u64) -> Result<Vec<u8>, ReadFailure> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| client::failure(&error))? {
        if bytes.len() as u64 + chunk.len() as u64 > most {
            return Err(ReadFailure::Invalid(Flaw::TooLarge(most)));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_to_ask_again() {
        // 2026-01-01T00:00:00Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        for (text, seconds) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 120 ", Some(120)),
            ("3601", Some(3600)),
            ("18446744073709551615", Some(3600)),
            ("Thu, 01 Jan 2026 00:02:00 GMT", Some(120)),
            ("Thu, 01 Jan 2026 09:00:00 GMT", Some(3600)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(3600)),
            ("Wed, 31 Dec 2025 23:59:00 GMT", Some(0)),
            ("Mon, 01 Jan 1900 00:00:00 GMT", None),
            ("-1", None),
            ("soon", None),
        ] {
            let headers = [(RETRY_AFTER, text.parse().unwrap())].into_iter().collect();
            let expected = seconds.map(|seconds| now + Duration::from_secs(seconds));
            assert_eq!(retry_after(&headers, now), expected, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn refusals_for_too_many_requests() {
        // 2026-01-01T00:00:00Z
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        for (headers, is_limit, pause) in [
            (&[(REMAINING, "0"), (RESET, "1767225720")] as &[_], true, Some(120)),
            (&[(REMAINING, "0"), (RESET, "1767225600")], true, Some(0)),
            (&[(REMAINING, "0"), (RESET, "1")], true, Some(0)),
            (&[(REMAINING, "0"), (RESET, "18446744073709551615")], true, Some(3600)),
            (&[(REMAINING, "0"), (RESET, "soon")], true, None),
            (&[(REMAINING, "0"), (RESET, "-1")], true, None),
            (&[(REMAINING, "0")], true, None),
            (&[("retry-after", "60")], true, None),
            // Some are left, so that the refusal is for something else.
            (&[(REMAINING, "59"), (RESET, "1767225720")], false, None),
            (&[(RESET, "1767225720")], false, None),
            (&[], false, None),
        ] {
            let map = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
            assert_eq!(is_rate_limited(&map), is_limit, "{headers:?}");
            assert_eq!(reset(&map, now), pause.map(|pause| now + Duration::from_secs(pause)), "{headers:?}");
        }
    }

    #[test]
    fn where_redirects_lead() {
        for (registry, location, expected) in [
            ("https://ghcr.io/v2/a", "https://cdn.test/b", Some("https://cdn.test/b")),
            ("https://ghcr.io/v2/a", "/b", Some("https://ghcr.io/b")),
            ("http://127.0.0.1/v2/a", "http://cdn.test/b", Some("http://cdn.test/b")),
            ("https://ghcr.io/v2/a", "http://cdn.test/b", None),
            ("https://ghcr.io/v2/a", "http://ghcr.io/b", None),
            ("https://ghcr.io/v2/a", "https://name@cdn.test/b", None),
            ("https://ghcr.io/v2/a", "file:///etc/passwd", None),
            ("https://ghcr.io/v2/a", "https://[", None),
        ] {
            let registry: Url = registry.parse().unwrap();
            let headers = [(LOCATION, location.parse().unwrap())].into_iter().collect();
            let to = redirected(&registry, &registry, &headers);
            assert_eq!(to.as_ref().map(Url::as_str), expected, "{registry} {location}");
        }
    }
}
