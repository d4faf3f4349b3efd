//! SBOMs: documents that say what an image is made of, as scanners and CI make them.
//!
//! As reports are, they are known by their structure, and read strictly where they say of what they are.

mod cyclonedx;
mod spdx;

use crate::package::Contents;
use crate::unreadable_document::UnreadableDocument;
use image_admission_image::platform::Platform;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

pub use cyclonedx::read as read_cyclonedx;
pub use spdx::read as read_spdx;

/// An SBOM of a known format.
#[derive(Debug)]
pub struct Sbom<'a> {
    /// The format's name, as people know it.
    pub format: &'static str,
    /// The digests by which it says itself of what it is: of an index or a manifest, never of a configuration.
    pub digests: Vec<String>,
    /// The platform that was looked into, when it says so.
    pub platform: Option<Platform>,
    /// When it was made, when it says so.
    pub time: Option<Timestamp>,
    /// What is in it.
    pub contents: Contents<'a>,
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
pub fn read(json: &str) -> Result<Sbom<'_>, UnreadableDocument> {
    // A list would be read as an object whose keys it leaves out.
    if !json.trim_start().starts_with('{') {
        return Err(UnreadableDocument::new("it is no JSON object"));
    }
    let marks: Marks = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    match (marks.bom_format, marks.spdx_version) {
        (Some(_), None) => read_cyclonedx(json),
        (None, Some(_)) => read_spdx(json),
        (None, None) => {
            Err(UnreadableDocument::new("it is none of the formats that are read: SPDX 2 as JSON, CycloneDX as JSON"))
        }
        // Readers would disagree about what it says.
        (Some(_), Some(_)) => Err(UnreadableDocument::of_several(&[cyclonedx::NAME, spdx::NAME])),
    }
}

#[cfg(test)]
mod tests;
