//! Scan reports as CI makes them: documents of scanners, attached to an image as they are.
//!
//! A document is known by its structure, whatever its media type says. Each format is read strictly where it says that
//! a scan took place and of what, and leniently everywhere else: what a scan that found nothing and one that never was
//! (a bill of materials, a scan for secrets) have in common is no report. What a scanner's own settings left out
//! (`--severity`, `--ignore-unfixed`, ignore files) no format says.

mod cyclonedx;
pub(crate) mod grype;
mod sarif;
mod trivy;
mod verdict;

use crate::Timestamp;
use crate::acceptance::Findings;
use crate::image::is_digest;
use crate::message::cut;
use crate::platform::Platform;
use crate::report::text::Text;
use crate::settings::Severity;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// The longest text of a parser that a reason repeats.
const LONGEST_ERROR: usize = 160;

/// A scan report as CI makes it, of a known format.
#[derive(Debug)]
pub(crate) struct ScannedDocument<'a> {
    /// The format's name, as people know it.
    pub(crate) format: &'static str,
    /// The digests by which the document itself says whose it is: of an index or a manifest, never of a configuration.
    pub(crate) digests: Vec<String>,
    /// The platform that was scanned, when the document says so.
    pub(crate) platform: Option<Platform>,
    /// When it was scanned, when the document says so.
    pub(crate) time: Option<Timestamp>,
    /// What was found.
    pub(crate) findings: Findings<'a>,
}

/// What each format has at its top level.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Marks {
    #[serde(rename = "SchemaVersion")]
    schema_version: Option<IgnoredAny>,
    #[serde(rename = "ArtifactType")]
    artifact_type: Option<IgnoredAny>,
    matches: Option<IgnoredAny>,
    descriptor: Option<IgnoredAny>,
    #[serde(rename = "bomFormat")]
    bom_format: Option<IgnoredAny>,
    runs: Option<IgnoredAny>,
    status: Option<IgnoredAny>,
}

/// Reads a document of any known format.
///
/// # Errors
/// Why it is no report, in words that follow the document's name.
pub(crate) fn read(json: &str) -> Result<ScannedDocument<'_>, String> {
    // A list would be read as an object whose keys it leaves out.
    if !json.trim_start().starts_with('{') {
        return Err("it is no JSON object".to_owned());
    }
    let marks: Marks = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
    let formats = [
        (trivy::NAME, marks.schema_version.is_some() || marks.artifact_type.is_some()),
        (grype::NAME, marks.matches.is_some() || marks.descriptor.is_some()),
        (cyclonedx::NAME, marks.bom_format.is_some()),
        (sarif::NAME, marks.runs.is_some()),
    ];
    let named: Vec<&str> = formats.into_iter().filter_map(|(name, is_marked)| is_marked.then_some(name)).collect();
    match named.as_slice() {
        [trivy::NAME] => trivy::read(json),
        [grype::NAME] => grype::read(json),
        [cyclonedx::NAME] => cyclonedx::read(json),
        [sarif::NAME] => sarif::read(json),
        [] if marks.status.is_some() => verdict::read(json),
        [] => Err("it is none of the formats that are read: Trivy, Grype, CycloneDX, SARIF, a verdict".to_owned()),
        // Readers would disagree about what it says.
        several => Err(format!("it is of several formats at once: {}", several.join(", "))),
    }
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("it can't be read: {}", cut(&error.to_string(), LONGEST_ERROR))
}

/// A text, where there is one.
fn present(text: Option<Text<'_>>) -> Option<Text<'_>> {
    text.filter(|text| !text.as_str().is_empty())
}

/// The digest in `sha256:…` or `repository@sha256:…`.
fn digest_of(text: &str) -> Option<String> {
    let digest = text.rsplit_once('@').map_or(text, |(_, digest)| digest);
    is_digest(digest).then(|| digest.to_owned())
}

/// A platform in the parts that image configurations have.
fn platform_of(os: Option<Text<'_>>, architecture: Option<Text<'_>>, variant: Option<Text<'_>>) -> Option<Platform> {
    let (os, architecture) = (present(os)?, present(architecture)?);
    let variant = present(variant).map_or(String::new(), |variant| format!("/{}", variant.as_str()));
    Platform::parse(&format!("{}/{}{variant}", os.as_str(), architecture.as_str()))
}

/// A time as RFC 3339 has it. Of a mere day it is the first second: what counts from it counts sooner.
fn time_of(text: &Text<'_>) -> Option<Timestamp> {
    let text = text.as_str();
    Timestamp::parse(text).or_else(|| Timestamp::end_of_day(text).and(Timestamp::parse(&format!("{text}T00:00:00Z"))))
}

/// The severity that a word stands for. Some scanners know less than low; the limits don't, and what was rated so is
/// not unknown.
fn severity_of(word: &str) -> Severity {
    let below_low = ["negligible", "info", "none"].iter().any(|known| known.eq_ignore_ascii_case(word));
    if below_low { Severity::Low } else { Severity::of(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report() {
        for (json, why) in [
            ("", "it is no JSON object"),
            ("[]", "it is no JSON object"),
            ("null", "it is no JSON object"),
            (r#"[{"SchemaVersion": 2}]"#, "it is no JSON object"),
            ("{", "it can't be read: EOF while parsing an object at line 1 column 1"),
            ("{}", "it is none of the formats that are read: Trivy, Grype, CycloneDX, SARIF, a verdict"),
            (r#"{"spdxVersion": "SPDX-2.3", "packages": []}"#, "it is none of the formats"),
            (r#"{"runs": [], "matches": []}"#, "it is of several formats at once: Grype, SARIF"),
            (r#"{"runs": [], "runs": []}"#, "it can't be read: duplicate field `runs`"),
            (r#"{"bomFormat": null, "runs": null, "status": null, "matches": null}"#, "it is none of the formats"),
        ] {
            let error = read(json).map(|document| document.format).unwrap_err();
            assert!(error.starts_with(why), "{json}: {error}");
        }
    }

    #[test]
    fn digests_and_platforms() {
        let digest = format!("sha256:{}", "a".repeat(64));
        assert_eq!(digest_of(&digest), Some(digest.clone()));
        assert_eq!(digest_of(&format!("localhost:5000/a@{digest}")), Some(digest.clone()));
        for text in ["", "a", "a@sha256:1", &format!("{digest}0"), &"a".repeat(64), &digest.to_uppercase()] {
            assert_eq!(digest_of(text), None, "{text}");
        }
        let platform = |os, architecture, variant| {
            platform_of(Some(Text::from(os)), Some(Text::from(architecture)), Some(Text::from(variant)))
                .map(|platform| platform.to_string())
        };
        assert_eq!(platform("linux", "arm64", "v8").as_deref(), Some("linux/arm64/v8"));
        assert_eq!(platform("linux", "amd64", "").as_deref(), Some("linux/amd64"));
        assert_eq!(platform("", "amd64", ""), None);
        assert_eq!(platform("linux", "", ""), None);
    }

    #[test]
    fn times_and_words() {
        let time = |text| time_of(&Text::from(text)).map(|time| time.to_string());
        assert_eq!(time("2026-11-01T12:00:00+02:00").as_deref(), Some("2026-11-01T10:00:00Z"));
        assert_eq!(time("2026-11-01").as_deref(), Some("2026-11-01T00:00:00Z"));
        assert_eq!(time(""), None);
        assert_eq!(time("2026-13-01"), None);
        assert_eq!(severity_of("Negligible"), Severity::Low);
        assert_eq!(severity_of("none"), Severity::Low);
        assert_eq!(severity_of("HIGH"), Severity::High);
        assert_eq!(severity_of("urgent"), Severity::Unknown);
    }
}
