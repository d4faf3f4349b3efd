//! SARIF 2.1.0 as Trivy and Grype write it, and other tools as far as possible.
//!
//! Tools that look for other things than vulnerabilities write the same format. So a run without results counts only from a tool
//! that is known to look for vulnerabilities. A run of any other tool counts only if at least one result is plainly a
//! vulnerability. Trivy's runs don't say what they looked for: one without results may have looked for secrets.
//!
//! The format has only rules and messages; packages, fixes and severities are in the texts. A suppression counts only
//! if its status is accepted: older Grype marked every result as suppressed, without a status.

use super::{ScannedDocument, digest_of, is_named, known_severity, present, time_of};
use crate::finding::{EpssScores, Finding, Findings};
use crate::score::{self, Number};
use crate::severity::Severity;
use crate::unreadable_document::UnreadableDocument;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::memory::List;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "SARIF";

/// The names of tools that look for vulnerabilities in images.
const SCANNERS: [&str; 5] = ["Trivy", "Grype", "Snyk Container", "Docker Scout", "OSV-Scanner"];
/// The longest name of a tool that a message repeats.
const MAX_NAME_LENGTH: usize = 80;

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Log<'a> {
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
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
    results: Option<List<Found<'a>>>,
    #[serde(borrow)]
    properties: Option<RunProperties<'a>>,
}

/// Trivy's properties of the image. `imageID` is the digest of its configuration, and names no image of a registry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct RunProperties<'a> {
    #[serde(borrow)]
    repo_digests: Option<Vec<JsonString<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Invocation<'a> {
    execution_successful: Option<bool>,
    #[serde(borrow)]
    start_time_utc: Option<JsonString<'a>>,
    #[serde(borrow)]
    end_time_utc: Option<JsonString<'a>>,
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
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    rules: Option<Vec<Rule<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Rule<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
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
    level: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct RuleProperties<'a> {
    #[serde(borrow)]
    tags: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    purls: Option<Vec<JsonString<'a>>>,
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
    text: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Found<'a> {
    #[serde(borrow)]
    rule_id: Option<JsonString<'a>>,
    #[serde(borrow)]
    level: Option<JsonString<'a>>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    suppressions: Option<Vec<Suppression<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Suppression<'a> {
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
}

/// What a rule says of all its results. It is read only once: the author of the document decides how many results there are.
#[derive(Default)]
struct RuleDetails<'a> {
    /// Whether it is about something other than vulnerabilities.
    is_other: bool,
    /// Whether it is certainly about vulnerabilities.
    is_vulnerability: bool,
    /// The severity among its tags.
    tagged: Option<Severity>,
    help: Lines,
    level: Option<JsonString<'a>>,
    purl: Option<JsonString<'a>>,
    /// Its `security-severity`.
    rated: Option<f64>,
    score: Option<f64>,
}

/// The values from the lines of a message or a help text.
#[derive(Default)]
struct Lines {
    id: Option<JsonString<'static>>,
    package: Option<JsonString<'static>>,
    fix: Option<JsonString<'static>>,
    severity: Option<Severity>,
}

pub(super) fn read(json: &str) -> Result<ScannedDocument<'_>, UnreadableDocument> {
    let log: Log<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    if log.version.as_ref().map(JsonString::as_str) != Some("2.1.0") {
        return Err(UnreadableDocument::new("its `version` is not 2.1.0"));
    }
    let runs = log.runs.filter(|runs| !runs.is_empty()).ok_or(UnreadableDocument::new("it has no runs"))?;
    let mut digests = Vec::new();
    let mut time: Option<Timestamp> = None;
    let mut entries = Vec::new();
    for run in runs {
        let named = run.properties.iter().flat_map(|properties| properties.repo_digests.iter().flatten());
        digests.extend(named.filter_map(|name| digest_of(name.as_str())));
        // The oldest of several runs decides their age.
        time = time.into_iter().chain(run.time()).min();
        entries.extend(run.into_findings()?);
    }
    Ok(ScannedDocument {
        format: NAME,
        digests,
        platform: None,
        time,
        findings: Findings { entries: Some(entries), ..Findings::default() },
    })
}

impl<'a> Run<'a> {
    fn time(&self) -> Option<Timestamp> {
        let times = self.invocations.iter().flatten();
        times.filter_map(|run| time_of(run.end_time_utc.as_ref().or(run.start_time_utc.as_ref())?)).min()
    }

    fn into_findings(self) -> Result<Vec<Finding<'a>>, UnreadableDocument> {
        let driver = self.tool.and_then(|tool| tool.driver).ok_or_else(without_tool)?;
        let tool = present(driver.name).ok_or_else(without_tool)?;
        if self.invocations.iter().flatten().any(|invocation| invocation.execution_successful == Some(false)) {
            return Err(UnreadableDocument::new("a run says that it failed"));
        }
        // In this format they are missing if the tool stopped before.
        let List(results) = self.results.ok_or(UnreadableDocument::new("the `results` of a run are missing"))?;
        let is_scanner = is_named(&tool, &SCANNERS) || !is_on(Remedy::EmptyIsNoScan);
        let tool = || cut(tool.as_str(), MAX_NAME_LENGTH);
        if results.is_empty() {
            return if is_scanner {
                Ok(Vec::new())
            } else {
                Err(UnreadableDocument::new(format!(
                    "a run of `{}` has no results, and may have looked for anything",
                    tool()
                )))
            };
        }
        let rules = driver.rules.into_iter().flatten();
        let rules: BTreeMap<JsonString<'a>, RuleDetails<'a>> =
            rules.filter_map(|mut rule| Some((rule.id.take()?, rule.into_details()))).collect();
        let unknown = RuleDetails::default();
        let mut is_scan = is_scanner;
        let mut findings = Vec::new();
        for result in results {
            let rule = result.rule_id.as_ref().and_then(|id| rules.get(id)).unwrap_or(&unknown);
            if !rule.is_other {
                let (finding, is_vulnerability) = result.into_finding(rule);
                is_scan = is_scan || is_vulnerability;
                findings.push(finding);
            }
        }
        if findings.is_empty() || !is_scan {
            return Err(UnreadableDocument::new(format!(
                "no result in a run of `{}` is about a vulnerability: it is no scan for vulnerabilities",
                tool()
            )));
        }
        Ok(findings)
    }
}

impl<'a> Rule<'a> {
    fn into_details(self) -> RuleDetails<'a> {
        let help = self.help.and_then(|help| help.text);
        let help = lines(help.as_ref().map_or("", JsonString::as_str));
        let level = self.default_configuration.and_then(|configuration| configuration.level);
        let Some(properties) = self.properties else { return RuleDetails { help, level, ..RuleDetails::default() } };
        let tags: Vec<&str> = properties.tags.iter().flatten().map(JsonString::as_str).collect();
        let is_other = tags.iter().any(|tag| matches!(*tag, "misconfiguration" | "secret" | "license"));
        let is_tagged = tags.contains(&"vulnerability");
        // Scanners' other words for severities may mean something else as a tag.
        let named = |tag: &&str| Severity::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(tag));
        let tagged = tags.iter().find_map(named);
        let by_version = score::newest(&[properties.v40_score, properties.v3_score, properties.v2_score]);
        let rated = properties.security_severity.map(|number| number.0);
        let purl = present(properties.purls.and_then(|purls| purls.into_iter().next()));
        RuleDetails {
            is_other: is_other && !is_tagged,
            is_vulnerability: is_tagged || purl.is_some(),
            tagged,
            help,
            level,
            purl,
            rated,
            score: score::best([("", by_version), ("", rated.unwrap_or(0.0))].into_iter()),
        }
    }
}

impl RuleDetails<'_> {
    /// The severity of a result: first from its own message, then from its rule.
    fn severity(&self, message: &Lines, level: &str) -> Severity {
        if let Some(severity) = message.severity.or(self.tagged) {
            return severity;
        }
        match self.help.severity {
            // Grype also writes low for unrated vulnerabilities; the rule's score tells which it is.
            Some(severity) if self.rated.is_none() || severity != Severity::Low => severity,
            _ => match (self.rated, level) {
                (Some(score), _) => score::severity(score),
                (None, "error") => Severity::High,
                (None, "warning") => Severity::Medium,
                (None, "note") => Severity::Low,
                (None, _) => Severity::Unknown,
            },
        }
    }
}

impl<'a> Found<'a> {
    /// The finding, and whether it is certainly a vulnerability.
    fn into_finding(self, rule: &RuleDetails<'a>) -> (Finding<'a>, bool) {
        let message = self.message.and_then(|message| message.text);
        let message = lines(message.as_ref().map_or("", JsonString::as_str));
        let level = self.level.as_ref().or(rule.level.as_ref()).map_or("", JsonString::as_str);
        let severity = rule.severity(&message, level.trim());
        // Trivy has one rule for all packages, with the fix of the last one. The message is about this package.
        let said = if message.package.is_some() { &message } else { &rule.help };
        let suppressions = self.suppressions.unwrap_or_default();
        let is_accepted = |by: &Suppression<'_>| by.status.as_ref().map(JsonString::as_str) == Some("accepted");
        // The names of Grype's rules contain the package too.
        let id = said.id.clone().or_else(|| present(self.rule_id));
        let is_vulnerability =
            rule.is_vulnerability || said.package.is_some() || id.as_ref().is_some_and(names_vulnerability);
        let finding = Finding {
            id,
            aliases: None,
            severity,
            package: said.package.clone(),
            purl: rule.purl.clone(),
            fixed_in: said.fix.clone(),
            score: rule.score,
            published: None,
            known: None,
            suppressed: !suppressions.is_empty() && suppressions.iter().all(is_accepted),
            exploited: None,
            epss: EpssScores::default(),
        };
        (finding, is_vulnerability)
    }
}

/// Whether an id contains a common name of a vulnerability.
fn names_vulnerability(id: &JsonString<'_>) -> bool {
    let id = id.as_str().to_ascii_uppercase();
    id.contains("CVE-") || id.contains("GHSA-")
}

/// The values from the lines of a text; none if it names no package, as in texts of other tools.
fn lines(text: &str) -> Lines {
    let (mut id, mut package, mut fix, mut severity) = (None, None, None, None);
    // A description with any content follows, so the first of each counts.
    for line in text.lines() {
        let value = |name: &str| line.strip_prefix(name).map(str::trim);
        if let Some(text) = value("Vulnerability ") {
            id = id.or(Some(text));
        } else if let Some(text) = value("Package: ") {
            package = package.or(Some(text));
        } else if let Some(text) = value("Fixed Version:").or_else(|| value("Fix Version:")) {
            fix = fix.or(Some(text));
        } else if let Some(text) = value("Severity: ") {
            severity = severity.or(Some(text));
        }
    }
    if package.is_none() {
        return Lines::default();
    }
    let filled =
        |text: Option<&str>| text.filter(|text| !text.is_empty()).map(|text| JsonString::from(text.to_owned()));
    Lines { id: filled(id), package: filled(package), fix: filled(fix), severity: severity.and_then(known_severity) }
}

fn without_tool() -> UnreadableDocument {
    UnreadableDocument::new("a run names no tool")
}

#[cfg(test)]
mod tests {
    use super::super::{in_time, read};
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
        read(&log.to_string()).map(|document| document.format).unwrap_err().to_string()
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
            aliases: None,
            severity,
            package: Some(package.to_owned().into()),
            purl: None,
            fixed_in: fix.map(|fix| fix.to_owned().into()),
            score: Some(score),
            published: None,
            known: None,
            suppressed: false,
            exploited: None,
            epss: EpssScores::default(),
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
            let text = |text: &Option<JsonString<'_>>| text.as_ref().map_or("", JsonString::as_str).to_owned();
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
            for name in ["docker scout", "Snyk Container", "osv-scanner", " TRIVY "] {
                log["runs"][0]["tool"]["driver"]["name"] = json!(name);
                assert_eq!(entries(&log), [], "{name}");
            }
            for name in ["CodeQL", "hadolint", "Checkov", "Trivy Config", "Snyk Code"] {
                log["runs"][0]["tool"]["driver"]["name"] = json!(name);
                let why = format!("a run of `{name}` has no results, and may have looked for anything");
                assert_eq!(refusal(&log), why);
                // A scan beside it doesn't make it one either.
                let mut two = log.clone();
                two["runs"].as_array_mut().unwrap().insert(0, trivys()["runs"][0].clone());
                assert_eq!(refusal(&two), why);
            }
        }
    }

    #[test]
    fn where_nothing_is_about_vulnerabilities_there_was_no_scan_for_them() {
        let no_scan = |log: &Value, tool: &str| {
            let why =
                format!("no result in a run of `{tool}` is about a vulnerability: it is no scan for vulnerabilities");
            assert_eq!(refusal(log), why);
        };
        let mut secrets = trivys();
        secrets["runs"][0]["results"] = json!([{"ruleId": "aws-key"}, {"ruleId": "KSV001"}]);
        no_scan(&secrets, "Trivy");
        let mut lint = trivys();
        lint["runs"][0]["tool"]["driver"] = json!({"name": "Hadolint", "rules": [{"id": "DL3008"}]});
        lint["runs"][0]["results"] = json!([
            {"ruleId": "DL3008", "level": "warning", "message": {"text": "Pin versions"}},
            {"ruleId": "DL3007", "level": "note"}, {"level": "error"}
        ]);
        no_scan(&lint, "Hadolint");
        lint["runs"][0]["tool"]["driver"]["name"] = json!("x".repeat(1000));
        assert!(refusal(&lint).len() < 200, "{}", refusal(&lint));
    }

    #[test]
    fn any_tool_can_find_vulnerabilities() {
        for (rule, result) in [
            (json!({"id": "x"}), json!({"ruleId": "ANCHORE_cve-2026-1_zlib"})),
            (json!({"id": "x"}), json!({"ruleId": "GHSA-xxxx-yyyy-zzzz"})),
            (json!({"id": "x", "properties": {"tags": ["vulnerability"]}}), json!({"ruleId": "x"})),
            (json!({"id": "x", "properties": {"purls": ["pkg:deb/a@1"]}}), json!({"ruleId": "x"})),
            (json!({"id": "x", "help": {"text": "Package: a"}}), json!({"ruleId": "x"})),
            (json!({"id": "x"}), json!({"ruleId": "x", "message": {"text": "Package: a"}})),
        ] {
            let mut log = trivys();
            log["runs"][0]["tool"]["driver"] = json!({"name": "Another", "rules": [rule]});
            // A result beside it that isn't plainly a vulnerability counts too.
            log["runs"][0]["results"] = json!([result, {"ruleId": "y", "level": "error"}]);
            let severities: Vec<Severity> = entries(&log).into_iter().map(|(_, severity, _)| severity).collect();
            assert_eq!(severities, [Severity::Unknown, Severity::High], "{log}");
        }
    }

    #[test]
    fn severities_in_any_scanners_words() {
        let mut log = trivys();
        let said = |word: &str| {
            let text = format!("Package: a\nVulnerability CVE-1\nSeverity: {word}");
            json!({"ruleId": "CVE-1", "level": "error", "message": {"text": text}})
        };
        log["runs"][0]["results"] = json!(["Negligible", " IMPORTANT ", "moderate", "urgent"].map(said));
        let severities: Vec<Severity> = entries(&log).into_iter().map(|(_, severity, _)| severity).collect();
        assert_eq!(severities, [Severity::Low, Severity::High, Severity::Medium, Severity::High]);
        // Only tags that are certainly severities count: this rule is about major versions.
        log["runs"][0]["tool"]["driver"]["rules"] = json!([
            {"id": "CVE-1", "properties": {"tags": ["major", "vulnerability"], "security-severity": "9.8"}}
        ]);
        log["runs"][0]["results"] = json!([{"ruleId": "CVE-1"}]);
        assert_eq!(entries(&log), [("CVE-1".to_owned(), Severity::Critical, false)]);
    }

    /// The author of the document decides how long a rule is, and how many results it has.
    #[test]
    fn work_grows_with_the_document() {
        const MANY: usize = 4_000;
        let lines: Vec<String> = (0..MANY).map(|n| format!("Fixed Version: {n}")).collect();
        let tags: Vec<String> = (0..MANY).map(|n| format!("tag {n}")).collect();
        let mut log = trivys();
        log["runs"][0]["tool"]["driver"]["rules"] = json!([{
            "id": "CVE-1", "properties": {"tags": tags},
            "help": {"text": format!("Package: a\n{}\nSeverity: HIGH", lines.join("\n"))}
        }]);
        log["runs"][0]["results"] = json!(vec![json!({"ruleId": "CVE-1"}); MANY]);
        let json = log.to_string();
        let entries = in_time(|| read(&json)).unwrap().findings.entries.unwrap();
        assert_eq!(entries.len(), MANY);
        for entry in entries {
            assert_eq!((entry.severity, entry.fixed_in), (Severity::High, Some("0".into())));
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
