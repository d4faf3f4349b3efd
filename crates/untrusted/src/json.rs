//! JSON that goes in and out, and its strings, read in place.

use serde::{Deserialize, Serialize, de::Error as _};
use std::borrow::Cow;

/// Reads JSON of the host's. That it is UTF-8 is looked at once, and not for each of its strings.
///
/// # Errors
/// It isn't, or it is no such JSON.
pub fn from_json<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(utf8(json)?)
}

/// The types that are answered have no value that can't be written as JSON; should one ever have, it rejects.
pub fn to_json(answer: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(answer)
        .unwrap_or_else(|_| br#"{"accepted":false,"valid":false,"message":"internal error"}"#.to_vec())
}

/// The text that bytes are.
///
/// # Errors
/// They are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        serde_json::Error::custom(format_args!("it is not UTF-8, from byte {} on", error.valid_up_to()))
    })
}

/// A string of an answer, in the answer's own bytes where it has no escapes.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl Text<'_> {
    /// Its characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same, in bytes of its own.
    pub fn into_owned(self) -> Text<'static> {
        Text(Cow::Owned(self.0.into_owned()))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}
