//! VEX documents: statements about the vulnerabilities in an image.
//!
//! ```text
//! document (which format it is) ── openvex, cyclonedx ── statement (what it is about, and what it says)
//! ```

mod cyclonedx;
mod document;
mod openvex;
pub mod statement;

use std::fmt;

pub use cyclonedx::AnalysisState;
pub use document::read;

/// Why a document is no VEX document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableVex {
    /// It is no JSON object.
    NoObject,
    /// It has an unknown format.
    UnknownFormat,
    /// It has both formats.
    SeveralFormats,
    /// It says that a vulnerability counts, but not which one.
    Nameless,
    /// It has more statements than are read.
    TooMany(usize),
    /// What is wrong with it.
    Json(String),
}

impl fmt::Display for UnreadableVex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoObject => f.write_str("a document is no JSON object"),
            Self::UnknownFormat => f.write_str("a document is neither OpenVEX nor CycloneDX"),
            Self::SeveralFormats => f.write_str("a document is OpenVEX and CycloneDX at once"),
            Self::Nameless => f.write_str("a statement names no vulnerability"),
            Self::TooMany(most) => write!(f, "a document has more than {most} statements"),
            Self::Json(why) => write!(f, "a document can't be read: {why}"),
        }
    }
}
