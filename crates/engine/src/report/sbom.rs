//! SBOMs: documents that say what an image is made of, as scanners and CI make them.
//!
//! As reports are, they are known by their structure, and read strictly where they say of what they are.

mod cyclonedx;
mod spdx;

use super::document::unreadable;
use crate::Timestamp;
use crate::package::Contents;
use crate::platform::Platform;
use crate::reason::UnreadableReport;
use crate::spelling;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub(super) use cyclonedx::read as read_cyclonedx;
pub(super) use spdx::read as read_spdx;

/// An SBOM of a known format.
#[derive(Debug)]
pub(super) struct Sbom<'a> {
    /// The format's name, as people know it.
    pub(super) format: &'static str,
    /// The digests by which it says itself of what it is: of an index or a manifest, never of a configuration.
    pub(super) digests: Vec<String>,
    /// The platform that was looked into, when it says so.
    pub(super) platform: Option<Platform>,
    /// When it was made, when it says so.
    pub(super) time: Option<Timestamp>,
    pub(super) contents: Contents<'a>,
}

/// What each format has at its top level.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Marks {
    bom_format: Option<IgnoredAny>,
    spdx_version: Option<IgnoredAny>,
}

/// Reads an SBOM of any known format.
///
/// # Errors
/// It is none.
pub(super) fn read(json: &str) -> Result<Sbom<'_>, UnreadableReport> {
    // A list would be read as an object whose keys it leaves out.
    if !json.trim_start().starts_with('{') {
        return Err(UnreadableReport::NoObject);
    }
    let marks: Marks = spelling::from_str(json).map_err(|error| unreadable(&error))?;
    match (marks.bom_format, marks.spdx_version) {
        (Some(_), None) => read_cyclonedx(json),
        (None, Some(_)) => read_spdx(json),
        (None, None) => Err(UnreadableReport::UnknownSbomFormat),
        // Readers would disagree about what it says.
        (Some(_), Some(_)) => Err(UnreadableReport::SeveralFormats(vec![cyclonedx::NAME, spdx::NAME])),
    }
}

#[cfg(test)]
mod tests;
