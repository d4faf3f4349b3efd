//! VEX documents: OpenVEX and CycloneDX, told apart by their structure.

use super::statement::VexStatement;
use super::{cyclonedx, openvex};
use crate::vex::UnreadableVex;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The most statements of a document. Each counts once for every product and part that it names.
const MAX_STATEMENTS: usize = 10_000;
/// The longest status that a message repeats.
pub(super) const MAX_STATUS_LENGTH: usize = 40;

/// The keys that tell formats apart.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Marks {
    #[serde(rename = "@context")]
    context: Option<IgnoredAny>,
    #[serde(rename = "bomFormat")]
    bom_format: Option<IgnoredAny>,
}

/// Parses a document of either format.
///
/// # Errors
/// It isn't one, or has too many statements.
pub fn read(json: &str) -> Result<Vec<VexStatement>, UnreadableVex> {
    // What is no object has a message of its own.
    if !json.trim_start().starts_with('{') {
        return Err(UnreadableVex::NoObject);
    }
    let marks: Marks = spelling::from_str(json).map_err(|error| unreadable(&error))?;
    match (marks.context, marks.bom_format) {
        (Some(_), None) => openvex::read(json),
        (None, Some(_)) => cyclonedx::read(json),
        // Readers would disagree about its meaning.
        (Some(_), Some(_)) => Err(UnreadableVex::SeveralFormats),
        (None, None) => Err(UnreadableVex::UnknownFormat),
    }
}

/// How many more statements a document may have: counted before anything is allocated for them.
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MAX_STATEMENTS)
    }
}

impl Room {
    /// # Errors
    /// There are too many statements.
    pub(super) fn take(&mut self, number: usize) -> Result<(), UnreadableVex> {
        self.0 = self.0.checked_sub(number).ok_or(UnreadableVex::TooMany(MAX_STATEMENTS))?;
        Ok(())
    }
}

pub(super) fn unreadable(error: &serde_json::Error) -> UnreadableVex {
    UnreadableVex::Json(image_admission_untrusted::unreadable::unreadable(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document of each format that has every field of its reader.
    const DOCUMENTS: [&str; 3] = [
        r#"{"@context": "https://openvex.dev/ns/v0.2.0", "timestamp": "2026-11-10T08:00:00Z", "statements": [{
            "vulnerability": {"name": "CVE-1", "aliases": ["GHSA-1"]}, "status": "not_affected",
            "justification": "component_not_present", "timestamp": "2026-11-11T08:00:00Z",
            "last_updated": "2026-11-11T08:00:00Z", "products": [{
                "@id": "pkg:oci/a", "identifiers": {"purl": "pkg:oci/a"}, "hashes": {"sha-256": "1"},
                "subcomponents": [{"@id": "pkg:apk/a/b", "identifiers": {"purl": "pkg:apk/a/b"}, "hashes": {}}]}]}]}"#,
        r#"{"@context": "https://openvex.dev/ns", "statements": [{"vulnerability": "CVE-1", "products": ["pkg:oci/a"],
            "subcomponents": ["pkg:apk/a/b"], "status": "fixed", "timestamp": "2026-11-11T08:00:00Z"}]}"#,
        r#"{"bomFormat": "CycloneDX", "serialNumber": "urn:uuid:1", "metadata": {"timestamp": "2026-11-10T08:00:00Z",
            "component": {"bom-ref": "image", "version": "1", "purl": "pkg:oci/a", "components": []}},
            "components": [{"bom-ref": "b", "version": "1", "purl": "pkg:apk/a/b", "components": []}],
            "vulnerabilities": [{"id": "CVE-1", "references": [{"id": "GHSA-1"}], "affects": [{"ref": "b",
                "versions": [{"version": "1", "status": "unaffected"}]}], "analysis": {"state": "not_affected",
                "justification": "code_not_present", "firstIssued": "2026-11-10T08:00:00Z",
                "lastUpdated": "2026-11-11T08:00:00Z"}}]}"#,
    ];

    /// Another spelling of a key beside it: the document is refused, or read the same as without it.
    #[test]
    #[expect(clippy::string_slice, reason = "all of it is ASCII")]
    fn another_spelling_of_a_key_changes_nothing() {
        let mut refused = 0;
        for json in DOCUMENTS {
            let known = read(json).unwrap();
            assert!(!known.is_empty());
            for (end, _) in json.match_indices("\":") {
                let at = json[..end].rfind('"').unwrap() + 1;
                let key = &json[at..end];
                for other in [key.to_uppercase(), key.replacen('s', "\u{17f}", 1), [key, "_"].concat()] {
                    if other == key {
                        continue;
                    }
                    for value in ["null", "[]", "{}", "\"affected\"", "0"] {
                        let beside = format!("{}{other}\": {value}, \"{}", &json[..at], &json[at..]);
                        match read(&beside) {
                            Ok(said) => assert!(said == known || key == "sha-256", "{beside}"),
                            Err(why) => refused += usize::from(why.to_string().contains("is another spelling of")),
                        }
                    }
                }
            }
        }
        assert!(refused > 200, "{refused}");
    }

    #[test]
    fn what_is_no_document() {
        for (json, why) in [
            ("", "a document is no JSON object"),
            ("[]", "a document is no JSON object"),
            ("{", "a document can't be read: EOF while parsing an object"),
            ("{}", "a document is neither OpenVEX nor CycloneDX"),
            (r#"{"@context": "https://openvex.dev/ns"}"#, "a document can't be read: missing field `statements`"),
            (r#"{"@context": "https://example.com", "statements": []}"#, "a document is neither OpenVEX nor CycloneDX"),
            (r#"{"bomFormat": "SPDX"}"#, "a document is neither OpenVEX nor CycloneDX"),
            (r#"{"bomFormat": "CycloneDX", "@context": ""}"#, "a document is OpenVEX and CycloneDX at once"),
            (r#"{"bomFormat": "CycloneDX", "bomFormat": "CycloneDX"}"#, "a document can't be read: duplicate field"),
        ] {
            let error = read(json).unwrap_err().to_string();
            assert!(error.starts_with(why), "{json}: {error}");
        }
        assert_eq!(read(r#"{"bomFormat": "CycloneDX"}"#), Ok(Vec::new()));
    }

    /// Parts of all products count once for each product, before they are compared or kept.
    #[test]
    fn parts_of_all_are_counted_for_each() {
        let list = |number: usize| vec![r#""pkg:apk/a/b""#; number].join(",");
        let document = |products: &str, parts: usize| {
            format!(
                r#"{{"@context": "https://openvex.dev/ns", "statements": [{{"vulnerability": "CVE-1", "status": "fixed",
                "products": [{products}], "subcomponents": [{}]}}]}}"#,
                list(parts)
            )
        };
        assert!(read(&document(&list(90), 100)).is_ok());
        let too_many = Err(UnreadableVex::TooMany(MAX_STATEMENTS));
        assert_eq!(read(&document(&list(5_000), 5_000)), too_many);
        let own = format!(r#"{{"@id": "pkg:oci/a", "subcomponents": [{}]}}"#, list(5_000));
        assert_eq!(read(&document(&own, 5_000)), too_many);
    }
}
