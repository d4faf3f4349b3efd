//! SARIF 2.1.0 as Trivy and Grype write it, and as far as it goes anybody else.
//!
//! The format has places for a rule and a message only; packages, fixes and severities stand in the texts. A
//! suppression counts only where it says that it was accepted: Grype used to mark every result as suppressed, by nobody
//! in particular.

use super::{ScannedDocument, digest_of, present, severity_of, time_of, unreadable};
use crate::Timestamp;
use crate::acceptance::{Finding, Findings};
use crate::report::score::{self, Number};
use crate::report::text::Text;
use crate::settings::Severity;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "SARIF";

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Log<'a> {
    #[serde(borrow)]
    version: Option<Text<'a>>,
    #[serde(borrow)]
    runs: Option<Vec<Run<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Run<'a> {
    #[serde(borrow)]
    tool: Option<Tool<'a>>,
    #[serde(borrow)]
    invocations: Option<Vec<Invocation<'a>>>,
    #[serde(borrow)]
    results: Option<Vec<Found<'a>>>,
    #[serde(borrow)]
    properties: Option<RunProperties<'a>>,
}

/// What Trivy says of the image. `imageID` is the digest of its configuration, and names no image of a registry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RunProperties<'a> {
    #[serde(borrow)]
    repo_digests: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Invocation<'a> {
    execution_successful: Option<bool>,
    #[serde(borrow)]
    start_time_utc: Option<Text<'a>>,
    #[serde(borrow)]
    end_time_utc: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Tool<'a> {
    #[serde(borrow)]
    driver: Option<Driver<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Driver<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    rules: Option<Vec<Rule<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Rule<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    help: Option<Message<'a>>,
    #[serde(borrow)]
    default_configuration: Option<Configuration<'a>>,
    #[serde(borrow)]
    properties: Option<RuleProperties<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Configuration<'a> {
    #[serde(borrow)]
    level: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RuleProperties<'a> {
    #[serde(borrow)]
    tags: Option<Vec<Text<'a>>>,
    #[serde(borrow)]
    purls: Option<Vec<Text<'a>>>,
    #[serde(rename = "security-severity")]
    security_severity: Option<Number>,
    #[serde(default, rename = "cvssv40_baseScore")]
    v40_score: Number,
    #[serde(default, rename = "cvssv3_baseScore")]
    v3_score: Number,
    #[serde(default, rename = "cvssv2_score")]
    v2_score: Number,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Message<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Found<'a> {
    #[serde(borrow)]
    rule_id: Option<Text<'a>>,
    #[serde(borrow)]
    level: Option<Text<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    suppressions: Option<Vec<Suppression<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Suppression<'a> {
    #[serde(borrow)]
    status: Option<Text<'a>>,
}

/// What the lines of a message or a help text say.
#[derive(Default)]
struct Lines<'t> {
    id: Option<&'t str>,
    package: Option<&'t str>,
    fix: Option<&'t str>,
    severity: Option<&'t str>,
}

pub(super) fn read(json: &str) -> Result<ScannedDocument<'_>, String> {
    let log: Log<'_> = serde_json::from_str(json).map_err(|error| unreadable(&error))?;
    if log.version.as_ref().map(Text::as_str) != Some("2.1.0") {
        return Err("its `version` is not 2.1.0".to_owned());
    }
    let runs = log.runs.filter(|runs| !runs.is_empty()).ok_or("it has no runs")?;
    let mut digests = Vec::new();
    let mut time: Option<Timestamp> = None;
    let mut entries = Vec::new();
    for run in runs {
        let named = run.properties.iter().flat_map(|properties| properties.repo_digests.iter().flatten());
        digests.extend(named.filter_map(|name| digest_of(name.as_str())));
        // Of several runs the oldest says how old they all are.
        time = time.into_iter().chain(run.time()).min();
        entries.extend(run.into_findings()?);
    }
    Ok(ScannedDocument {
        format: NAME,
        digests,
        platform: None,
        time,
        findings: Findings { summary: None, entries: Some(entries), verdict: None },
    })
}

impl<'a> Run<'a> {
    fn time(&self) -> Option<Timestamp> {
        let times = self.invocations.iter().flatten();
        times.filter_map(|run| time_of(run.end_time_utc.as_ref().or(run.start_time_utc.as_ref())?)).min()
    }

    fn into_findings(self) -> Result<Vec<Finding<'a>>, String> {
        let driver = self.tool.and_then(|tool| tool.driver).ok_or("a run names no tool")?;
        if present(driver.name).is_none() {
            return Err("a run names no tool".to_owned());
        }
        if self.invocations.iter().flatten().any(|invocation| invocation.execution_successful == Some(false)) {
            return Err("a run says that it failed".to_owned());
        }
        // The format leaves them out where the tool didn't get so far.
        let results = self.results.ok_or("the `results` of a run are missing")?;
        let rules = driver.rules.unwrap_or_default();
        let by_id: BTreeMap<&str, &Rule<'a>> =
            rules.iter().filter_map(|rule| Some((rule.id.as_ref()?.as_str(), rule))).collect();
        let found = results.into_iter().filter_map(|result| {
            let rule = by_id.get(result.rule_id.as_ref().map_or("", Text::as_str)).copied();
            result.into_finding(rule)
        });
        Ok(found.collect())
    }
}

impl<'a> Found<'a> {
    /// The finding, unless it is no vulnerability.
    fn into_finding(self, rule: Option<&Rule<'a>>) -> Option<Finding<'a>> {
        let properties = rule.and_then(|rule| rule.properties.as_ref());
        let tags: Vec<&str> = properties.iter().flat_map(|of| of.tags.iter().flatten()).map(Text::as_str).collect();
        let is_other = tags.iter().any(|tag| matches!(*tag, "misconfiguration" | "secret" | "license"));
        if is_other && !tags.contains(&"vulnerability") {
            return None;
        }
        let message = self.message.as_ref().and_then(|message| message.text.as_ref()).map_or("", Text::as_str);
        let help = rule.and_then(|rule| rule.help.as_ref()).and_then(|help| help.text.as_ref());
        let (message, help) = (lines(message), lines(help.map_or("", Text::as_str)));
        let level = self.level.as_ref().or(rule.and_then(|rule| rule.default_configuration.as_ref()?.level.as_ref()));
        let severity = severity(&message, &tags, &help, properties, level.map_or("", Text::as_str));
        // Trivy has one rule for all packages, with the fix of whichever came last; the message is about this one.
        let said = if message.package.is_some() { &message } else { &help };
        let owned = |text: &str| Text::from(text.to_owned());
        let by_version = properties.map_or(0.0, |of| score::newest(&[of.v40_score, of.v3_score, of.v2_score]));
        let rated = properties.and_then(|of| of.security_severity).map_or(0.0, |number| number.0);
        let suppressions = self.suppressions.unwrap_or_default();
        let is_accepted = |by: &Suppression<'_>| by.status.as_ref().map(Text::as_str) == Some("accepted");
        Some(Finding {
            // Grype's rules are called by the package too.
            id: said.id.map(owned).or_else(|| present(self.rule_id)),
            aliases: Vec::new(),
            severity,
            package: said.package.map(owned),
            purl: properties
                .and_then(|of| of.purls.as_ref()?.first().cloned())
                .filter(|purl| !purl.as_str().is_empty()),
            fixed_in: said.fix.map(owned),
            score: score::best([("", by_version), ("", rated)].into_iter()),
            published: None,
            suppressed: !suppressions.is_empty() && suppressions.iter().all(is_accepted),
        })
    }
}

/// How bad a result is: in its own words, then in its rule's.
fn severity(
    message: &Lines<'_>,
    tags: &[&str],
    help: &Lines<'_>,
    properties: Option<&RuleProperties<'_>>,
    level: &str,
) -> Severity {
    let words = message.severity.into_iter().chain(tags.iter().copied());
    if let Some(word) = words.into_iter().find(|word| is_severity(word)) {
        return severity_of(word);
    }
    let rated = properties.and_then(|of| of.security_severity);
    match help.severity {
        // Grype also says low of what nobody rated; a score of 0 tells which it is.
        Some(word) if is_severity(word) && (rated.is_none() || !word.eq_ignore_ascii_case("low")) => severity_of(word),
        _ => match (rated, level) {
            (Some(score), _) => score::severity(score.0),
            (None, "error") => Severity::High,
            (None, "warning") => Severity::Medium,
            (None, "note") => Severity::Low,
            (None, _) => Severity::Unknown,
        },
    }
}

fn is_severity(word: &str) -> bool {
    Severity::ALL.iter().any(|severity| severity.name().eq_ignore_ascii_case(word))
}

/// What a text says line by line; nothing when it names no package, as texts of other tools don't.
fn lines(text: &str) -> Lines<'_> {
    let mut said = Lines::default();
    let filled = |text: &'_ str| !text.is_empty();
    // A description follows, in which anything may stand: the first of each counts.
    for line in text.lines() {
        let value = |name: &str| line.strip_prefix(name).map(str::trim);
        if let Some(id) = value("Vulnerability ") {
            said.id = said.id.or(Some(id));
        } else if let Some(package) = value("Package: ") {
            said.package = said.package.or(Some(package));
        } else if let Some(fix) = value("Fixed Version:").or_else(|| value("Fix Version:")) {
            said.fix = said.fix.or(Some(fix));
        } else if let Some(severity) = value("Severity: ") {
            said.severity = said.severity.or(Some(severity));
        }
    }
    if said.package.is_none() {
        return Lines::default();
    }
    Lines {
        id: said.id.filter(|id| filled(id)),
        package: said.package.filter(|package| filled(package)),
        fix: said.fix.filter(|fix| filled(fix)),
        severity: said.severity,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use serde_json::{Value, json};

    fn digest() -> String {
        format!("sha256:{}", "d".repeat(64))
    }

    fn trivys() -> Value {
        let rule = |id: &str, kind: &str, severity: &str, score: &str| {
            json!({
                "id": id, "name": "OsPackageVulnerability", "shortDescription": {"text": "x"},
                "defaultConfiguration": {"level": "error"},
                "help": {"text": format!(
                    "Vulnerability {id}\nSeverity: {severity}\nPackage: last\nFixed Version: 9\nLink: x\nPackage: y"
                )},
                "properties": {"security-severity": score, "tags": [kind, "security", severity]}
            })
        };
        let result = |id: &str, text: &str| json!({"ruleId": id, "level": "error", "message": {"text": text}});
        json!({
            "version": "2.1.0",
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "runs": [{
                "tool": {"driver": {"name": "Trivy", "version": "0.69.0", "rules": [
                    rule("CVE-2026-1", "vulnerability", "LOW", "9.8"),
                    rule("CVE-2026-2", "vulnerability", "CRITICAL", "9.5"),
                    rule("aws-key", "secret", "CRITICAL", "9.5"),
                    rule("KSV001", "misconfiguration", "HIGH", "8.0")
                ]}},
                "results": [
                    result("CVE-2026-1", "Package: libssl\nInstalled Version: 1\nVulnerability CVE-2026-1\n\
                        Severity: HIGH\nFixed Version: 1.1\nLink: [CVE-2026-1](x)"),
                    result("CVE-2026-1", "Package: musl\nInstalled Version: 1\nVulnerability CVE-2026-1\n\
                        Severity: LOW\nFixed Version: \nLink: x"),
                    result("CVE-2026-2", ""),
                    result("aws-key", "Artifact: /a\nType: \nSecret AWS\nSeverity: CRITICAL\nMatch: ***"),
                    result("KSV001", "Artifact: a\nType: \nVulnerability KSV001\nSeverity: HIGH\nMessage: x")
                ],
                "columnKind": "utf16CodeUnits",
                "properties": {
                    "imageID": format!("sha256:{}", "c".repeat(64)), "imageName": "registry.example/team/app:1.0",
                    "repoDigests": [format!("registry.example/team/app@{}", digest())], "repoTags": null
                }
            }]
        })
    }

    fn grypes() -> Value {
        let rule = |id: &str, package: &str, severity: &str, score: &str, fix: &str| {
            json!({
                "id": format!("{id}-{package}"), "name": "DpkgMatcherExactDirectMatch",
                "shortDescription": {"text": format!("{id} {severity} vulnerability for {package} package")},
                "help": {"text": format!(
                    "Vulnerability {id}\nSeverity: {severity}\nPackage: {package}\nVersion: 1.1.1\nFix Version: {fix}\n\
                    Type: deb\nLocation: x\nData Namespace: y\nLink: {id}"
                )},
                "properties": {"security-severity": score, "purls": [format!("pkg:deb/{package}@1.1.1")]}
            })
        };
        let message = "A high vulnerability in deb package: zlib, version 1.1.1 was found in image app at: x";
        let result = |id: &str| json!({"ruleId": id, "message": {"text": message}});
        json!({
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {"name": "grype", "version": "0.100.0", "rules": [
                    rule("CVE-1", "zlib", "high", "5.0", "1.2,1.3"), rule("CVE-2", "a-b", "low", "9.8", ""),
                    rule("CVE-3", "c", "low", "0.0", ""), rule("CVE-4", "d", "low", "1.0", "")
                ]}},
                "results": [result("CVE-1-zlib"), result("CVE-2-a-b"), result("CVE-3-c"), result("CVE-4-d")]
            }]
        })
    }

    fn entries(log: &Value) -> Vec<(String, Severity, bool)> {
        let json = log.to_string();
        let shown =
            |finding: Finding<'_>| (finding.ids().collect::<Vec<_>>().join(" "), finding.severity, finding.suppressed);
        read(&json).unwrap().findings.entries.unwrap().into_iter().map(shown).collect()
    }

    fn refusal(log: &Value) -> String {
        read(&log.to_string()).map(|document| document.format).unwrap_err()
    }

    #[test]
    fn a_report_of_trivys() {
        let json = trivys().to_string();
        let document = read(&json).unwrap();
        assert_eq!(document.format, "SARIF");
        assert_eq!(document.digests, [digest()]);
        assert_eq!((document.platform, document.time), (None, None));
        let finding = |id: &str, severity, package: &str, fix: Option<&str>, score| Finding {
            id: Some(id.to_owned().into()),
            aliases: Vec::new(),
            severity,
            package: Some(package.to_owned().into()),
            purl: None,
            fixed_in: fix.map(|fix| fix.to_owned().into()),
            score: Some(score),
            published: None,
            suppressed: false,
        };
        assert_eq!(
            document.findings.entries.unwrap(),
            [
                finding("CVE-2026-1", Severity::High, "libssl", Some("1.1"), 9.8),
                finding("CVE-2026-1", Severity::Low, "musl", None, 9.8),
                finding("CVE-2026-2", Severity::Critical, "last", Some("9"), 9.5),
            ]
        );
    }

    #[test]
    fn a_report_of_grypes() {
        let json = grypes().to_string();
        let document = read(&json).unwrap();
        assert!(document.digests.is_empty());
        let entries = document.findings.entries.unwrap();
        let shown = |finding: &Finding<'_>| {
            let text = |text: &Option<Text<'_>>| text.as_ref().map_or("", Text::as_str).to_owned();
            (
                text(&finding.id),
                finding.severity,
                text(&finding.package),
                text(&finding.purl),
                text(&finding.fixed_in),
                finding.score,
            )
        };
        let expected = |id: &str, severity, package: &str, fix: &str, score| {
            (id.to_owned(), severity, package.to_owned(), format!("pkg:deb/{package}@1.1.1"), fix.to_owned(), score)
        };
        assert_eq!(
            entries.iter().map(shown).collect::<Vec<_>>(),
            [
                expected("CVE-1", Severity::High, "zlib", "1.2,1.3", Some(5.0)),
                expected("CVE-2", Severity::Critical, "a-b", "", Some(9.8)),
                expected("CVE-3", Severity::Unknown, "c", "", None),
                expected("CVE-4", Severity::Low, "d", "", Some(1.0)),
            ]
        );
    }

    #[test]
    fn a_clean_scan_has_an_empty_list() {
        for mut log in [trivys(), grypes()] {
            log["runs"][0]["results"] = json!([]);
            log["runs"][0]["tool"]["driver"]["rules"] = json!(null);
            assert_eq!(entries(&log), []);
        }
    }

    #[test]
    fn what_could_be_no_scan_is_none() {
        for (pointer, why) in [
            ("/version", "its `version` is not 2.1.0"),
            ("/runs", "it is none of the formats"),
            ("/runs/0/tool", "a run names no tool"),
            ("/runs/0/tool/driver", "a run names no tool"),
            ("/runs/0/tool/driver/name", "a run names no tool"),
            ("/runs/0/results", "the `results` of a run are missing"),
        ] {
            for log in [trivys(), grypes()] {
                let mut null = log.clone();
                *null.pointer_mut(pointer).unwrap() = Value::Null;
                assert!(refusal(&null).starts_with(why), "{pointer}: {}", refusal(&null));
                let mut removed = log;
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                removed.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
                assert!(refusal(&removed).starts_with(why), "{pointer}: {}", refusal(&removed));
            }
        }
        for (pointer, value, why) in [
            ("/version", json!("2.0.0"), "its `version` is not 2.1.0"),
            ("/runs", json!([]), "it has no runs"),
            ("/runs", json!({}), "it can't be read"),
            ("/runs/0/results", json!({}), "it can't be read"),
            ("/runs/0/results", json!([null]), "it can't be read"),
        ] {
            let mut log = trivys();
            *log.pointer_mut(pointer).unwrap() = value;
            assert!(refusal(&log).starts_with(why), "{pointer}: {}", refusal(&log));
        }
        let mut two = trivys();
        two["runs"].as_array_mut().unwrap().push(json!({"tool": {"driver": {"name": "Trivy"}}}));
        assert_eq!(refusal(&two), "the `results` of a run are missing");
        let mut failed = trivys();
        failed["runs"][0]["invocations"] = json!([{"executionSuccessful": false}]);
        assert_eq!(refusal(&failed), "a run says that it failed");
    }

    #[test]
    fn what_a_result_leaves_out_hides_nothing() {
        let mut log = trivys();
        log["runs"][0]["results"] = json!([
            {},
            {"ruleId": null, "level": null, "message": null, "suppressions": null},
            {"ruleId": "x", "level": "error"},
            {"ruleId": "x", "level": "warning", "message": {"text": "Severity: LOW"}},
            {"ruleId": "x", "level": "note"},
            {"ruleId": "x", "level": "none"},
        ]);
        let severities: Vec<Severity> = entries(&log).into_iter().map(|(_, severity, _)| severity).collect();
        use Severity::{High, Low, Medium, Unknown};
        assert_eq!(severities, [Unknown, Unknown, High, Medium, Low, Unknown]);
    }

    #[test]
    fn only_accepted_suppressions_count() {
        for (suppressions, suppressed) in [
            (json!([]), false),
            (json!(null), false),
            (json!([{"kind": "external"}]), false),
            (json!([{"kind": "external", "status": "accepted"}]), true),
            (json!([{"status": "underReview"}]), false),
            (json!([{"status": "accepted"}, {"status": "rejected"}]), false),
        ] {
            let mut log = trivys();
            log["runs"][0]["results"] = json!([{"ruleId": "CVE-2026-2", "suppressions": suppressions}]);
            assert_eq!(entries(&log), [("CVE-2026-2".to_owned(), Severity::Critical, suppressed)], "{suppressions}");
        }
    }

    #[test]
    fn the_oldest_run_says_when() {
        let mut log = trivys();
        log["runs"][0]["invocations"] = json!([
            {"executionSuccessful": true, "startTimeUtc": "2026-11-01T12:00:00Z", "endTimeUtc": "2026-11-01T12:05:00Z"}
        ]);
        let mut older = grypes()["runs"][0].clone();
        older["invocations"] = json!([{"startTimeUtc": "2026-10-01T12:00:00Z"}]);
        log["runs"].as_array_mut().unwrap().push(older);
        let json = log.to_string();
        let document = read(&json).unwrap();
        assert_eq!(document.time, Timestamp::parse("2026-10-01T12:00:00Z"));
        assert_eq!(document.findings.entries.unwrap().len(), 7);
    }
}
