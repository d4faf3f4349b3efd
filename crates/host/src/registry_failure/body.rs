//! The body of a 403 answer: an error in JSON, a page, or a line of text. Its beginning tells one denial from another.

use super::{Failure, Refusal, messages};
use serde::Deserialize;

/// The most texts of a page that are looked at, from its beginning.
const MAX_TEXTS: usize = 8;

/// An error of a registry in the specification's form, without the code: some registries have their own codes, or none.
#[derive(Deserialize)]
struct Errors {
    errors: Vec<OneError>,
}

#[derive(Deserialize)]
struct OneError {
    message: String,
}

/// Why a registry refuses a request with any login.
pub(super) fn refusal(body: &str) -> Option<Failure> {
    let known = texts(body).iter().find_map(|text| messages::known(text));
    known.filter(|failure| matches!(failure, Failure::Refused(Refusal::Policy | Refusal::Address)))
}

/// The texts at the beginning of a body.
fn texts(body: &str) -> Vec<String> {
    let body = body.trim_start();
    if body.starts_with('{') {
        // The host's own text follows.
        let read = serde_json::Deserializer::from_str(body).into_iter::<Errors>().next();
        let first = read.and_then(Result::ok).and_then(|read| read.errors.into_iter().next());
        return first.map(|error| error.message).into_iter().collect();
    }
    if body.starts_with('<') {
        let texts = body.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text.trim());
        return texts.filter(|text| !text.is_empty()).take(MAX_TEXTS).map(str::to_owned).collect();
    }
    body.lines().next().map(str::to_owned).into_iter().collect()
}
