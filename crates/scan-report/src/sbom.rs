//! SBOMs: lists of the packages of an image, as scanners and CI make them.
//!
//! As for reports, their structure tells the format. They are read strictly where they name their subject.

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
    /// The format's name, for people.
    pub format: &'static str,
    /// The digests of the image that it names itself: of an index or a manifest, never of a configuration.
    pub digests: Vec<String>,
    /// The platform of the image, if it states it.
    pub platform: Option<Platform>,
    /// When it was made, if it states that.
    pub time: Option<Timestamp>,
    /// Its packages.
    pub contents: Contents<'a>,
}

/// The keys that tell formats apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Marks {
    bom_format: Option<IgnoredAny>,
    spdx_version: Option<IgnoredAny>,
}

/// Reads an SBOM of any known format.
///
/// # Errors
/// It isn't one of a known format.
pub fn read(json: &str) -> Result<Sbom<'_>, UnreadableDocument> {
    // What is no object has a message of its own.
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
        // Readers would disagree about its meaning.
        (Some(_), Some(_)) => Err(UnreadableDocument::of_several(&[cyclonedx::NAME, spdx::NAME])),
    }
}

#[cfg(test)]
mod tests;
