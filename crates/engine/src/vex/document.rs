//! VEX documents: OpenVEX and CycloneDX, each known by its structure.

use super::statement::VexStatement;
use super::{cyclonedx, openvex};
use crate::reason::UnreadableVex;
use crate::spelling;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The most statements of a document, each counted once for every product and part that it names.
pub(super) const MAX_STATEMENTS: usize = 10_000;
/// The longest status that is told.
pub(super) const MAX_STATUS_LENGTH: usize = 40;

/// What each format has at its top level.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Marks {
    #[serde(rename = "@context")]
    context: Option<IgnoredAny>,
    #[serde(rename = "bomFormat")]
    bom_format: Option<IgnoredAny>,
}

/// Reads a document of either format.
///
/// # Errors
/// It is none, or says more than is looked at.
pub(super) fn read(json: &str) -> Result<Vec<VexStatement>, UnreadableVex> {
    // A list would be read as an object whose keys it leaves out.
    if !json.trim_start().starts_with('{') {
        return Err(UnreadableVex::NoObject);
    }
    let marks: Marks = spelling::from_str(json).map_err(|error| unreadable(&error))?;
    let statements = match (marks.context, marks.bom_format) {
        (Some(_), None) => openvex::read(json)?,
        (None, Some(_)) => cyclonedx::read(json)?,
        // Readers would disagree about what it says.
        (Some(_), Some(_)) => return Err(UnreadableVex::SeveralFormats),
        (None, None) => return Err(UnreadableVex::UnknownFormat),
    };
    let size = |statement: &VexStatement| {
        statement
            .products
            .iter()
            .map(|product| product.parts.as_ref().map_or(1, |parts| parts.len().max(1)))
            .sum::<usize>()
            .max(1)
    };
    if statements.iter().map(size).sum::<usize>() > MAX_STATEMENTS {
        return Err(UnreadableVex::TooMany(MAX_STATEMENTS));
    }
    Ok(statements)
}

pub(super) fn unreadable(error: &serde_json::Error) -> UnreadableVex {
    UnreadableVex::Json(crate::host::unreadable(error))
}
