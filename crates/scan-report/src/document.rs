//! Scan reports from CI: documents of scanners, attached unchanged to an image.
//!
//! A document's structure tells its format, whatever its media type is. Each format is read strictly where it says that a scan took
//! place and of what, and leniently everywhere else. A report without findings must come from a scan for vulnerabilities. In the
//! scanners' own formats its structure tells that; in common formats, the tool that made it does. Two things can't be told: SARIF
//! of a scanner that looked for other things (`trivy image --scanners secret`), and what a scanner's own settings left out
//! (`--severity`, `--ignore-unfixed`, ignore files). The signer of a report answers for how it was made.

pub(crate) mod cyclonedx;
pub mod grype;
mod sarif;
mod trivy;
mod verdict;
mod vulnerability_predicate;

use crate::finding::Findings;
use crate::severity::Severity;
use crate::unreadable_document::UnreadableDocument;
use image_admission_image::is_digest;
use image_admission_image::platform::Platform;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// A scan report of a known format.
#[derive(Debug)]
pub struct ScannedDocument<'a> {
    /// The format's name, for people.
    pub format: &'static str,
    /// The digests of the image that the document itself names: of an index or a manifest, never of a configuration.
    pub digests: Vec<String>,
    /// The platform that was scanned, if the document states it.
    pub platform: Option<Platform>,
    /// When it was scanned, if the document states it.
    pub time: Option<Timestamp>,
    /// The findings.
    pub findings: Findings<'a>,
}

/// The keys that tell formats apart.
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
    invocation: Option<IgnoredAny>,
    status: Option<IgnoredAny>,
}

/// Reads a document of any known format.
///
/// # Errors
/// It is no report of a known format.
pub fn read(json: &str) -> Result<ScannedDocument<'_>, UnreadableDocument> {
    match marked(json)?.as_slice() {
        [vulnerability_predicate::NAME] => vulnerability_predicate::read(json),
        formats => read_as(json, formats),
    }
}

/// Reads a scanner's own document.
fn read_as<'a>(json: &'a str, formats: &[&str]) -> Result<ScannedDocument<'a>, UnreadableDocument> {
    match formats {
        [trivy::NAME] => trivy::read(json),
        [grype::NAME] => grype::read(json),
        [cyclonedx::NAME] => cyclonedx::read(json),
        [sarif::NAME] => sarif::read(json),
        [verdict::NAME] => verdict::read(json),
        [] | [_] => Err(UnreadableDocument::new(
            "it is none of the formats that are read: Trivy, Grype, CycloneDX, SARIF, a verdict, cosign's predicate of vulnerabilities",
        )),
        // Readers would disagree about its meaning.
        several => Err(UnreadableDocument::of_several(several)),
    }
}

/// The formats that a document's keys stand for.
fn marked(json: &str) -> Result<Vec<&'static str>, UnreadableDocument> {
    // What is no object has a message of its own.
    if !json.trim_start().starts_with('{') {
        return Err(UnreadableDocument::new("it is no JSON object"));
    }
    let marks: Marks = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    let formats = [
        (trivy::NAME, marks.schema_version.is_some() || marks.artifact_type.is_some()),
        (grype::NAME, marks.matches.is_some() || marks.descriptor.is_some()),
        (cyclonedx::NAME, marks.bom_format.is_some()),
        (sarif::NAME, marks.runs.is_some()),
        (vulnerability_predicate::NAME, marks.invocation.is_some()),
    ];
    let mut named: Vec<&str> = formats.into_iter().filter_map(|(name, is_marked)| is_marked.then_some(name)).collect();
    // Any document may have a status.
    if named.is_empty() && marks.status.is_some() {
        named.push(verdict::NAME);
    }
    Ok(named)
}

/// A string without the whitespace around it; none if nothing is left.
pub fn present(text: Option<JsonString<'_>>) -> Option<JsonString<'_>> {
    let text = text?;
    match text.as_str().trim() {
        "" => None,
        trimmed if trimmed.len() == text.as_str().len() => Some(text),
        trimmed => Some(JsonString::from(trimmed.to_owned())),
    }
}

/// Whether a string is one of these names, in any case and with any whitespace around it.
fn is_named(text: &JsonString<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(text.as_str().trim()))
}

/// The digest in `sha256:…` or `repository@sha256:…`.
pub fn digest_of(text: &str) -> Option<String> {
    let digest = text.rsplit_once('@').map_or(text, |(_, digest)| digest);
    is_digest(digest).then(|| digest.to_owned())
}

/// A platform from the parts that image configurations have; none if all are missing. The builder of an image chooses them. Invalid
/// or incomplete parts give the platform of no machine, so that they never count as missing.
fn platform_of(
    os: Option<JsonString<'_>>,
    architecture: Option<JsonString<'_>>,
    variant: Option<JsonString<'_>>,
) -> Option<Platform> {
    let (os, architecture, variant) = (present(os), present(architecture), present(variant));
    let said = match (&os, &architecture, &variant) {
        (None, None, None) => return None,
        (Some(os), Some(architecture), variant) => {
            Platform::of(os.as_str(), architecture.as_str(), variant.as_ref().map(JsonString::as_str))
        }
        _ => None,
    };
    Some(said.unwrap_or_else(Platform::unknown))
}

/// A time as in RFC 3339. For a date it is the first second, so that ages aren't underestimated.
pub(crate) fn time_of(text: &JsonString<'_>) -> Option<Timestamp> {
    let text = text.as_str();
    Timestamp::parse(text).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")))
}

/// The severity for any scanner's word.
pub fn severity_of(word: &str) -> Severity {
    known_severity(word).unwrap_or(Severity::Unknown)
}

/// The severity for any scanner's word; none for other words.
fn known_severity(word: &str) -> Option<Severity> {
    // StackRox writes `CRITICAL_VULNERABILITY_SEVERITY`.
    let word = word.trim().trim_end_matches("_VULNERABILITY_SEVERITY");
    let is = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    // Some scanners have severities below low, and one has one above critical. Limits have neither, and such a rating isn't
    // unknown.
    if is(&["negligible", "info", "informational", "minimal", "none", "minor"]) {
        Some(Severity::Low)
    } else if is(&["moderate"]) {
        Some(Severity::Medium)
    } else if is(&["important", "major"]) {
        Some(Severity::High)
    } else if is(&["defcon1"]) {
        Some(Severity::Critical)
    } else {
        Severity::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(word))
    }
}

/// Runs something that must not take long for any document, and returns the result.
#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a test of how long something takes")]
pub(crate) fn in_time<T>(work: impl FnOnce() -> T) -> T {
    let start = std::time::Instant::now();
    let done = work();
    // Quadratic work would take minutes here, linear work takes a tenth of a second.
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    done
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
            (
                "{}",
                "it is none of the formats that are read: Trivy, Grype, CycloneDX, SARIF, a verdict, cosign's predicate of vulnerabilities",
            ),
            (r#"{"spdxVersion": "SPDX-2.3", "packages": []}"#, "it is none of the formats"),
            (r#"{"runs": [], "matches": []}"#, "it is of several formats at once: Grype, SARIF"),
            (r#"{"runs": [], "runs": []}"#, "it can't be read: duplicate field `runs`"),
            (r#"{"bomFormat": null, "runs": null, "status": null, "matches": null}"#, "it is none of the formats"),
        ] {
            let error = read(json).map(|document| document.format).unwrap_err().to_string();
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
            platform_of(
                Some(JsonString::from(os)),
                Some(JsonString::from(architecture)),
                Some(JsonString::from(variant)),
            )
            .map(|platform| platform.to_string())
        };
        assert_eq!(platform("linux", "arm64", "v8").as_deref(), Some("linux/arm64/v8"));
        assert_eq!(platform("linux", "amd64", "").as_deref(), Some("linux/amd64"));
        for (os, architecture, variant) in [("", "amd64", ""), ("linux", "", " "), ("", "", "v8"), ("linux", "", "v8")]
        {
            assert_eq!(
                platform(os, architecture, variant).as_deref(),
                Some("unknown/unknown"),
                "{os} {architecture} {variant}"
            );
        }
        assert_eq!(platform("", " ", ""), None);
    }

    #[test]
    fn times_and_words() {
        let time = |text| time_of(&JsonString::from(text)).map(|time| time.to_string());
        assert_eq!(time("2026-11-01T12:00:00+02:00").as_deref(), Some("2026-11-01T10:00:00Z"));
        assert_eq!(time("2026-11-01").as_deref(), Some("2026-11-01T00:00:00Z"));
        assert_eq!(time(""), None);
        assert_eq!(time("2026-13-01"), None);
        for (words, severity) in [
            (&["Negligible", "none", "INFO", "Informational", "MINIMAL", "minor", " low\n"][..], Severity::Low),
            (&["Moderate", "medium"], Severity::Medium),
            (&["HIGH", "Important", "major", "\thigh "], Severity::High),
            (&["Defcon1", " CRITICAL ", "CRITICAL_VULNERABILITY_SEVERITY"], Severity::Critical),
            (&["urgent", "", " ", "criti cal", "unknown", "UNDEFINED", "untriaged"], Severity::Unknown),
        ] {
            for word in words {
                assert_eq!(severity_of(word), severity, "{word:?}");
            }
        }
    }

    #[test]
    fn whitespace_is_no_text() {
        let read = |text| present(Some(JsonString::from(text))).map(|text| text.as_str().to_owned());
        for text in ["", " ", "\t\r\n", "\u{a0}"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        for text in ["1.2", " 1.2", "1.2\n", "\u{a0}1.2 "] {
            assert_eq!(read(text).as_deref(), Some("1.2"), "{text:?}");
        }
        assert_eq!(present(None), None);
    }

    /// A report of each format that has every field of its reader.
    fn reports() -> [&'static str; 5] {
        [
            include_str!("../../../fuzz/seeds/reports/trivy.json"),
            include_str!("../../../fuzz/seeds/reports/grype.json"),
            include_str!("../../../fuzz/seeds/reports/cyclonedx.json"),
            include_str!("../../../fuzz/seeds/reports/sarif.json"),
            include_str!("../../../fuzz/seeds/reports/verdict.json"),
        ]
    }

    /// The positions of the keys in a document, each with its key.
    #[expect(clippy::string_slice, reason = "all of it is ASCII")]
    fn keys(json: &str) -> Vec<(usize, &str)> {
        let mut keys = Vec::new();
        for (end, _) in json.match_indices("\":") {
            let start = json[..end].rfind('"').unwrap() + 1;
            keys.push((start, &json[start..end]));
        }
        keys
    }

    /// Another spelling of a key before it, behind it, or instead of it. The document is refused, or read the same as without it.
    #[test]
    #[expect(clippy::string_slice, reason = "all of it is ASCII")]
    fn another_spelling_of_a_key_changes_nothing() {
        let shown = |json: &str| read(json).map(|document| format!("{document:?}"));
        let mut refused = 0;
        for json in reports() {
            let known = shown(json).unwrap();
            for (at, key) in keys(json) {
                for other in [
                    key.to_uppercase(),
                    key.to_lowercase(),
                    key.replacen('s', "\u{17f}", 1),
                    key.replacen('e', "\\u0045", 1),
                    [key, "_"].concat(),
                ] {
                    if other == key {
                        continue;
                    }
                    for value in ["null", "[]", "{}", "\"linux\"", "0"] {
                        let beside = format!("{}{other}\": {value}, \"{}", &json[..at], &json[at..]);
                        match shown(&beside) {
                            Ok(said) => assert_eq!(said, known, "{beside}"),
                            Err(why) => refused += usize::from(why.to_string().contains("is another spelling of")),
                        }
                    }
                    let alone = format!("{}{other}{}", &json[..at], &json[at + key.len()..]);
                    match shown(&alone) {
                        // A key of a field that isn't read, or of a map with free keys.
                        Ok(said) => assert!(said == known || matches!(key, "nvd"), "{alone}"),
                        Err(why) => refused += usize::from(why.to_string().contains("is another spelling of")),
                    }
                }
            }
        }
        assert!(refused > 1000, "{refused}");
    }

    /// Every format, with an empty fix and a severity inside of whitespace.
    #[test]
    fn whitespace_is_no_fix_in_any_format() {
        let image = format!("sha256:{}", "d".repeat(64));
        for json in [
            serde_json::json!({"SchemaVersion": 2, "Results": [{"Class": "os-pkgs", "Vulnerabilities": [
                {"VulnerabilityID": " CVE-1", "VendorIDs": ["CVE-2 ", " "], "FixedVersion": " ", "Severity": " HIGH\n"}
            ]}]}),
            serde_json::json!({
                "descriptor": {"name": "grype"}, "source": {"type": "image", "target": {}},
                "matches": [{
                    "vulnerability": {
                        "id": "CVE-1\n", "severity": " High ", "fix": {"versions": ["\t", ""], "state": "fixed"}
                    },
                    "relatedVulnerabilities": [{"id": " CVE-2 "}, {"id": "CVE-1"}]
                }]
            }),
            serde_json::json!({
                "bomFormat": "CycloneDX", "components": [{"bom-ref": "1", "name": "a"}],
                "metadata": {"component": {"type": "container", "version": image}},
                "vulnerabilities": [{
                    "id": " CVE-1 ", "references": [{"id": "CVE-1"}, {"id": " CVE-2"}], "ratings": [{"severity": " high"}],
                    "recommendation": "Upgrade a to version  ",
                    "affects": [{"ref": "1", "versions": [
                        {"version": " ", "status": "unaffected"}, {"range": "vers:deb/>=%20", "status": "unaffected"}
                    ]}]
                }]
            }),
            serde_json::json!({"version": "2.1.0", "runs": [{
                "tool": {"driver": {"name": " Trivy "}},
                "results": [{
                    "ruleId": " CVE-1 ",
                    "message": {"text": "Package: a\nVulnerability CVE-1 \nSeverity:  HIGH \nFixed Version:  \t"}
                }]
            }]}),
        ] {
            let json = json.to_string();
            let entries = read(&json).unwrap().findings.entries.unwrap();
            let [entry] = entries.as_slice() else { panic!("{json}: {entries:?}") };
            assert_eq!((entry.fixed_in.as_ref(), entry.severity), (None, Severity::High), "{json}");
            let ids: Vec<&str> = entry.ids().collect();
            assert!(ids == ["CVE-1", "CVE-2"] || json.contains("runs") && ids == ["CVE-1"], "{json}: {ids:?}");
        }
    }
}
