//! A scanner's verdict: `{"status": "pass", "detail": {…}, "last_evaluation": "…"}`.

use super::{ScannedDocument, digest_of, time_of};
use crate::finding::{Findings, OwnVerdict};
use crate::unreadable_document::UnreadableDocument;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) const NAME: &str = "verdict";

/// The object as Sysdig's OPA image scanner kept it, and the other places for the same values. Only `status` has to be a string.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Report<'a> {
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
    #[serde(borrow)]
    last_evaluation: Option<&'a RawValue>,
    #[serde(borrow, rename = "lastEvaluation")]
    last_evaluation_camel: Option<&'a RawValue>,
    #[serde(borrow)]
    digest: Option<&'a RawValue>,
    #[serde(borrow)]
    image_digest: Option<&'a RawValue>,
    #[serde(borrow, rename = "imageDigest")]
    image_digest_camel: Option<&'a RawValue>,
}

pub(super) fn read(json: &str) -> Result<ScannedDocument<'_>, UnreadableDocument> {
    let report: Report<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    let status = report
        .status
        .filter(|status| !status.as_str().is_empty())
        .ok_or_else(|| UnreadableDocument::missing("status"))?;
    let digests = [report.digest, report.image_digest, report.image_digest_camel].into_iter().flatten();
    let digests: Vec<String> = digests.filter_map(|json| digest_of(text_of(json)?.as_str())).collect();
    let times = [report.last_evaluation, report.last_evaluation_camel].into_iter().flatten();
    Ok(ScannedDocument {
        format: NAME,
        digests,
        platform: None,
        time: times.filter_map(|json| time_of(&text_of(json)?)).min(),
        findings: Findings { verdict: Some(OwnVerdict::of(status.as_str())), ..Findings::default() },
    })
}

fn text_of(json: &RawValue) -> Option<JsonString<'_>> {
    spelling::from_str(json.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use image_admission_untrusted::time::Timestamp;

    #[test]
    fn verdicts() {
        let digest = format!("sha256:{}", "d".repeat(64));
        let pass = r#"{"detail": {"policy": {}, "result": {"final_action": "warn"}}, "policyId": "default",
            "last_evaluation": "2026-02-25T12:30:22Z", "status": "pass"}"#;
        let document = read(pass).unwrap();
        assert_eq!(document.format, "verdict");
        assert_eq!(document.time, Timestamp::parse("2026-02-25T12:30:22Z"));
        assert_eq!((document.digests.len(), document.platform), (0, None));
        assert_eq!(document.findings, Findings { verdict: Some(OwnVerdict::Pass), ..Findings::default() });
        for (json, verdict, digests) in [
            (r#"{"status": "fail", "detail": []}"#.to_owned(), OwnVerdict::Fail, 0),
            (r#"{"status": "pending", "detail": {}}"#.to_owned(), OwnVerdict::Other("pending".to_owned()), 0),
            (format!(r#"{{"status": "PASS", "imageDigest": "{digest}"}}"#), OwnVerdict::Pass, 1),
            (format!(r#"{{"status": "pass", "image_digest": "a/b@{digest}", "digest": 7}}"#), OwnVerdict::Pass, 1),
        ] {
            let document = read(&json).unwrap();
            assert_eq!(document.findings.verdict, Some(verdict), "{json}");
            assert_eq!(document.digests, vec![digest.clone(); digests], "{json}");
        }
    }

    #[test]
    fn the_older_of_two_times_counts() {
        for (fields, time) in [
            (r#""lastEvaluation": "2026-02-25T12:30:22Z""#, Some("2026-02-25T12:30:22Z")),
            (
                r#""lastEvaluation": "2026-02-25T12:30:22Z", "last_evaluation": "2025-01-01""#,
                Some("2025-01-01T00:00:00Z"),
            ),
            (r#""last_evaluation": 1582633822"#, None),
            (r#""last_evaluation": """#, None),
        ] {
            let json = format!(r#"{{"status": "pass", "detail": {{}}, {fields}}}"#);
            assert_eq!(read(&json).unwrap().time.map(|time| time.to_string()).as_deref(), time, "{fields}");
        }
    }

    #[test]
    fn what_is_no_verdict() {
        for (json, why) in [
            (r#"{"status": "", "detail": {}}"#, "its `status` is missing"),
            (r#"{"status": true, "detail": {}}"#, "it can't be read: invalid type: boolean at line"),
            (r#"{"detail": {}}"#, "it is none of the formats"),
            (r#"{"status": "pass", "status": "fail", "detail": {}}"#, "it can't be read: duplicate field `status`"),
        ] {
            let error = read(json).map(|document| document.format).unwrap_err().to_string();
            assert!(error.starts_with(why), "{json}: {error}");
        }
    }
}
