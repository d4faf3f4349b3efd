//! Reading and writing JSON; strings are read in place.

use serde::{Deserialize, Serialize, de::Error as _};
use std::borrow::Cow;

/// Reads JSON from the host. UTF-8 is checked once for all of it, not for each string.
///
/// # Errors
/// It isn't UTF-8, or isn't JSON of this type.
pub fn from_json<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, serde_json::Error> {
    serde_json::from_str(utf8(json)?)
}

/// Writes a response. Every value of our response types can be written; if one ever can't, the response rejects.
pub fn to_json(answer: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(answer)
        .unwrap_or_else(|_| br#"{"accepted":false,"valid":false,"message":"internal error"}"#.to_vec())
}

/// The bytes as a string.
///
/// # Errors
/// They are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str, serde_json::Error> {
    std::str::from_utf8(bytes).map_err(|error| {
        serde_json::Error::custom(format_args!("it is not UTF-8, from byte {} on", error.valid_up_to()))
    })
}

/// A string of an answer, borrowed from it where it has no escapes.
#[derive(Deserialize, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct JsonString<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl JsonString<'_> {
    /// The string.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The same string, owned.
    pub fn into_owned(self) -> JsonString<'static> {
        JsonString(Cow::Owned(self.0.into_owned()))
    }
}

impl<'a> From<&'a str> for JsonString<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for JsonString<'_> {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}
