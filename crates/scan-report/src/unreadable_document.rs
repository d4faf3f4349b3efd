//! Why a document can't be believed: it doesn't follow its format, or contradicts itself.

use std::borrow::Cow;
use std::fmt;

/// Why a document can't be believed, as a sentence about it: "it lists no components".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableDocument(Cow<'static, str>);

impl UnreadableDocument {
    /// Makes one from a reason. Values of the document in it are in backticks, and cut.
    pub fn new(why: impl Into<Cow<'static, str>>) -> Self {
        Self(why.into())
    }

    pub(crate) fn no_such_json(error: &serde_json::Error) -> Self {
        Self::new(format!("it can't be read: {}", image_admission_untrusted::unreadable::unreadable(error)))
    }

    pub(crate) fn of_several(formats: &[&str]) -> Self {
        Self::new(format!("it is of several formats at once: {}", formats.join(", ")))
    }

    pub(crate) fn missing(field: &str) -> Self {
        Self::new(format!("its `{field}` is missing"))
    }
}

impl std::error::Error for UnreadableDocument {}

impl fmt::Display for UnreadableDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
