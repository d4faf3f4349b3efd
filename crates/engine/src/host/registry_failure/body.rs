//! The body of an answer that is no manifest, as the host shows it: an error in JSON, a page, or a line of text.
//!
//! It says more than a status where several kinds of failure have one, and where the host drops the status: it does so with
//! what a server of tokens answers.

use super::{Failure, Refusal, messages};
use serde::Deserialize;

/// The most texts of a page that are looked at: they stand in its beginning.
const MAX_TEXTS: usize = 8;

/// An error of a registry, as far as it has the specification's form. Some have codes of their own, or none.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Deserialize)]
struct OneError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// Why a server of tokens gives none, where it isn't the login: too many were asked for, or it fails itself.
pub(super) fn of_token(body: &str) -> Option<Failure> {
    texts(body).iter().find_map(|text| match messages::known(text).or_else(|| status_line(text)) {
        Some(failure @ (Failure::TooManyRequests | Failure::Status(500..))) => Some(failure),
        other => refusal(other),
    })
}

/// Why a registry forbids what it was asked for (403), where it isn't the login.
pub(super) fn of_forbidden(body: &str) -> Option<Failure> {
    texts(body).iter().find_map(|text| refusal(messages::known(text)))
}

/// What no login changes.
fn refusal(failure: Option<Failure>) -> Option<Failure> {
    failure.filter(|failure| matches!(failure, Failure::Refused(Refusal::Policy | Refusal::Address)))
}

/// The texts in the beginning of a body, each of which may say why.
fn texts(body: &str) -> Vec<String> {
    let body = body.trim_start();
    if body.starts_with('{') {
        // Behind it stands what the host says beside it.
        let read = serde_json::Deserializer::from_str(body).into_iter::<Errors>().next();
        let first = read.and_then(Result::ok).and_then(|read| read.errors.into_iter().next());
        let said =
            first.map(|error| if messages::known(&error.message).is_some() { error.message } else { error.code });
        return said.into_iter().collect();
    }
    if body.starts_with('<') {
        let texts = body.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
        return texts.filter(|text| !text.is_empty()).take(MAX_TEXTS).map(str::to_owned).collect();
    }
    body.lines().next().map(str::to_owned).into_iter().collect()
}

/// The status that the heading of a page names, `503 Service Unavailable`.
fn status_line(text: &str) -> Option<Failure> {
    let (code, _) = text.split_once(' ')?;
    (code.len() == 3).then(|| Failure::status(code))
}
