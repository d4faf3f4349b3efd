//! Grype's own JSON, `grype --output json`, which Kubescape stores too.

use super::{ScannedDocument, digest_of, platform_of, present, severity_of, time_of};
use crate::finding::{EpssScores, Exploited, Finding, Findings, OperatingSystem, aliases};
use crate::score::{self, Number};
use crate::unreadable_document::UnreadableDocument;
use image_admission_image::platform::Platform;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

pub(super) const NAME: &str = "Grype";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Report<'a> {
    #[serde(borrow)]
    matches: Option<Vec<Match<'a>>>,
    #[serde(borrow)]
    ignored_matches: Option<Vec<Match<'a>>>,
    #[serde(borrow)]
    source: Option<ScannedSource<'a>>,
    #[serde(borrow)]
    descriptor: Option<Descriptor<'a>>,
    #[serde(borrow)]
    alerts_by_package: Option<Vec<PackageAlerts<'a>>>,
    #[serde(borrow)]
    distro: Option<Distro<'a>>,
}

/// An alert about a package that is no vulnerability.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct PackageAlerts<'a> {
    #[serde(borrow)]
    alerts: Option<Vec<Alert<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Alert<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonString<'a>>,
}

/// The distribution; empty for an image without one.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Distro<'a> {
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Descriptor<'a> {
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    timestamp: Option<JsonString<'a>>,
    /// Grype's own settings at the scan.
    #[serde(borrow)]
    configuration: Option<&'a RawValue>,
}

/// Grype's settings for alerts, as far as needed.
#[derive(Debug, Deserialize)]
struct Configuration {
    alerts: Option<AlertSettings>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct AlertSettings {
    enable_eol_distro_warnings: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct ScannedSource<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonString<'a>>,
    /// Of a shape that the source's kind decides.
    #[serde(borrow)]
    target: Option<&'a RawValue>,
}

/// The image that was scanned. `imageID` is the digest of its configuration, and names no image of a registry.
#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Target<'a> {
    #[serde(borrow)]
    manifest_digest: Option<JsonString<'a>>,
    #[serde(borrow)]
    repo_digests: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    os: Option<JsonString<'a>>,
    #[serde(borrow)]
    architecture: Option<JsonString<'a>>,
    #[serde(borrow)]
    architecture_variant: Option<JsonString<'a>>,
}

/// A vulnerability in a package.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub struct Match<'a> {
    #[serde(borrow)]
    vulnerability: Option<Vulnerability<'a>>,
    #[serde(borrow)]
    related_vulnerabilities: Option<Vec<Vulnerability<'a>>>,
    #[serde(borrow)]
    artifact: Option<Artifact<'a>>,
    /// Why it is ignored.
    #[serde(borrow)]
    applied_ignore_rules: Option<Vec<IgnoreRule<'a>>>,
}

#[derive(Debug, Deserialize, Default)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Vulnerability<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    namespace: Option<JsonString<'a>>,
    #[serde(borrow)]
    severity: Option<JsonString<'a>>,
    #[serde(borrow)]
    cvss: Option<Vec<Cvss<'a>>>,
    #[serde(borrow)]
    fix: Option<Fix<'a>>,
    #[serde(borrow)]
    known_exploited: Option<Vec<KnownExploited<'a>>>,
    epss: Option<Vec<Epss>>,
    /// A number made from both. If it is there and they are missing, there are none.
    risk: Option<IgnoredAny>,
}

/// An entry of a catalogue of exploited vulnerabilities.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct KnownExploited<'a> {
    #[serde(borrow)]
    due_date: Option<JsonString<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Epss {
    #[serde(default)]
    epss: Number,
    #[serde(default)]
    percentile: Number,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Cvss<'a> {
    #[serde(borrow)]
    source: Option<JsonString<'a>>,
    #[serde(default)]
    version: Number,
    metrics: Option<Metrics>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Metrics {
    #[serde(default)]
    base_score: Number,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Fix<'a> {
    #[serde(borrow)]
    versions: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    state: Option<JsonString<'a>>,
    #[serde(borrow)]
    available: Option<Vec<Available<'a>>>,
}

/// Since when there is a fix.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Available<'a> {
    #[serde(borrow)]
    date: Option<JsonString<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
struct Artifact<'a> {
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    purl: Option<JsonString<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "an object")]
struct IgnoreRule<'a> {
    #[serde(borrow)]
    vex_status: Option<JsonString<'a>>,
}

pub(super) fn read(json: &str) -> Result<ScannedDocument<'_>, UnreadableDocument> {
    let report: Report<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    let descriptor = report.descriptor.ok_or_else(|| UnreadableDocument::missing("descriptor"))?;
    if descriptor.name.as_ref().map(JsonString::as_str) != Some("grype") {
        return Err(UnreadableDocument::new("its `descriptor` doesn't name grype"));
    }
    let source = report.source.ok_or_else(|| UnreadableDocument::missing("source"))?;
    if source.kind.as_ref().map(JsonString::as_str) != Some("image") {
        return Err(UnreadableDocument::new("its `source` is not an image"));
    }
    let matches = report.matches.ok_or_else(|| UnreadableDocument::missing("matches"))?;
    let target: Target<'_> = match source.target {
        Some(target) => spelling::from_str(target.get()).map_err(|error| UnreadableDocument::no_such_json(&error))?,
        None => Target::default(),
    };
    // Ignoring is a choice of the scanner's user, like a severity that is left out. Only findings that VEX removed stay
    // visible.
    let suppressed = report.ignored_matches.into_iter().flatten().filter(Match::is_suppressed_by_vex);
    let system = system(&report.alerts_by_package, &report.distro, descriptor.configuration);
    let mut entries: Vec<Finding<'_>> = matches.into_iter().map(|found| found.into_finding(false)).collect();
    entries.extend(suppressed.map(|found| found.into_finding(true)));
    let digests = target.manifest_digest.into_iter().chain(target.repo_digests.into_iter().flatten());
    Ok(ScannedDocument {
        format: NAME,
        digests: digests.filter_map(|name| digest_of(name.as_str())).collect(),
        platform: platform_of(target.os, target.architecture, target.architecture_variant),
        time: descriptor.timestamp.as_ref().and_then(time_of),
        findings: Findings { entries: Some(entries), system, ..Findings::default() },
    })
}

/// Whether the distribution is past its end of life. Grype reports that if it is enabled, which is the default since 0.110.
fn system(
    alerts: &Option<Vec<PackageAlerts<'_>>>,
    distro: &Option<Distro<'_>>,
    configuration: Option<&RawValue>,
) -> OperatingSystem {
    let part = |text: Option<&JsonString<'_>>| text.map_or(String::new(), |text| text.as_str().trim().to_owned());
    let name = distro.as_ref().map(|distro| part(distro.name.as_ref()));
    let mut alerts = alerts.iter().flatten().flat_map(|package| package.alerts.iter().flatten());
    if alerts.any(|alert| alert.kind.as_ref().map(JsonString::as_str) == Some("distro-eol")) {
        let version = part(distro.as_ref().and_then(|distro| distro.version.as_ref()));
        let name = [name.unwrap_or_default(), version].join(" ");
        return OperatingSystem::PastEndOfLife(name.trim().to_owned());
    }
    let configuration = configuration.and_then(|json| spelling::from_str::<Configuration>(json.get()).ok());
    let looks = configuration.and_then(|told| told.alerts?.enable_eol_distro_warnings) == Some(true);
    let is_without = name.is_some_and(|name| name.is_empty());
    if looks || is_without { OperatingSystem::Maintained } else { OperatingSystem::Untold }
}

/// The platform and the manifest's digest from a source's `target`, if that is an image.
pub fn scanned_in(target: &RawValue) -> (Option<Platform>, Option<String>) {
    let Ok(target) = spelling::from_str::<Target<'_>>(target.get()) else { return (Some(Platform::unknown()), None) };
    let digest = target.manifest_digest.and_then(|digest| digest_of(digest.as_str()));
    (platform_of(target.os, target.architecture, target.architecture_variant), digest)
}

impl<'a> Match<'a> {
    fn is_suppressed_by_vex(&self) -> bool {
        let mut rules = self.applied_ignore_rules.iter().flatten();
        rules.any(|rule| matches!(rule.vex_status.as_ref().map(JsonString::as_str), Some("not_affected" | "fixed")))
    }

    /// The finding.
    pub fn into_finding(self, suppressed: bool) -> Finding<'a> {
        let vulnerability = self.vulnerability.unwrap_or_default();
        let related = self.related_vulnerabilities.unwrap_or_default();
        let score = best_score(&vulnerability, &related);
        let exploited = exploited(&vulnerability, &related);
        let mut epss = EpssScores::default();
        for forecast in std::iter::once(&vulnerability).chain(&related).flat_map(|of| of.epss.iter().flatten()) {
            epss.add(forecast.epss.0, forecast.percentile.0);
        }
        let id = present(vulnerability.id);
        let other = |alias: &JsonString<'a>| Some(alias) != id.as_ref();
        let aliases = aliases(related.into_iter().filter_map(|related| present(related.id)).filter(other));
        let (package, purl) = self.artifact.map_or((None, None), |artifact| (artifact.name, artifact.purl));
        let fix = vulnerability.fix;
        // The earliest of several dates: from then on it could have been fixed.
        let dates = fix.iter().flat_map(|fix| fix.available.iter().flatten());
        let published = dates.filter_map(|available| time_of(available.date.as_ref()?)).min();
        Finding {
            aliases,
            severity: severity_of(vulnerability.severity.as_ref().map_or("", JsonString::as_str)),
            package: present(package),
            purl: present(purl),
            fixed_in: fix.and_then(Fix::into_version),
            score,
            published,
            // The date of the fix may be later than the day when it became known.
            known: None,
            suppressed,
            exploited,
            epss,
            id,
        }
    }
}

impl<'a> Fix<'a> {
    /// A version without the vulnerability, if the distribution has one.
    fn into_version(self) -> Option<JsonString<'a>> {
        if self.state.as_ref().map(JsonString::as_str) != Some("fixed") {
            return None;
        }
        self.versions.into_iter().flatten().find_map(|version| present(Some(version)))
    }
}

/// Whether the vulnerability, or a related one, is in a catalogue of exploited vulnerabilities. Versions of Grype without
/// catalogues don't tell.
fn exploited(vulnerability: &Vulnerability<'_>, related: &[Vulnerability<'_>]) -> Option<Exploited> {
    let listed: Vec<_> = std::iter::once(vulnerability)
        .chain(related)
        .flat_map(|vulnerability| vulnerability.known_exploited.iter().flatten())
        .collect();
    if listed.is_empty() {
        // Grype writes no severity if its database has nothing about a vulnerability.
        return (vulnerability.risk.is_some() && vulnerability.severity.is_some()).then_some(Exploited::No);
    }
    let due = listed.iter().filter_map(|entry| Timestamp::end_of_day(entry.due_date.as_ref()?.as_str())).min();
    Some(Exploited::Yes { due })
}

/// The score of the vulnerability, or of a related one: advisories of distributions have their score there.
fn best_score(vulnerability: &Vulnerability<'_>, related: &[Vulnerability<'_>]) -> Option<f64> {
    let mut scores: Vec<(f64, &str, f64)> = Vec::new();
    for vulnerability in std::iter::once(vulnerability).chain(related) {
        for cvss in vulnerability.cvss.iter().flatten() {
            let named = cvss.source.as_ref().map(JsonString::as_str).filter(|source| !source.is_empty());
            let namespace = vulnerability.namespace.as_ref().map_or("", JsonString::as_str);
            let source = named.unwrap_or_else(|| source_of(namespace));
            let score = cvss.metrics.as_ref().map_or(0.0, |metrics| metrics.base_score.0);
            scores.push((cvss.version.0, source, score));
        }
    }
    scores.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    score::best(scores.into_iter().map(|(_, source, score)| (source, score)))
}

/// The source of scores for a namespace like `nvd:cpe`.
fn source_of(namespace: &str) -> &str {
    match namespace.split_once(':').map_or(namespace, |(first, _)| first) {
        "github" => "ghsa",
        "rhel" => "redhat",
        first => first,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use crate::severity::Severity;
    use image_admission_untrusted::time::Timestamp;
    use serde_json::{Value, json};
    use std::rc::Rc;

    fn digest(letter: &str) -> String {
        format!("sha256:{}", letter.repeat(64))
    }

    fn report() -> Value {
        json!({
            "matches": [
                {
                    "vulnerability": {
                        "id": "GHSA-xxxx-yyyy-zzzz",
                        "dataSource": "https://github.example/advisories/GHSA-xxxx-yyyy-zzzz",
                        "namespace": "github:language:go",
                        "severity": "High",
                        "urls": [],
                        "cvss": [
                            {"type": "Secondary", "version": "3.1", "metrics": {"baseScore": 7.5}, "vendorMetadata": {}}
                        ],
                        "epss": [{"cve": "CVE-2026-1", "epss": 0.9}],
                        "fix": {"versions": ["1.2.1", "2.1.3"], "state": "fixed", "available": [
                            {"version": "2.1.3", "date": "2026-06-02", "kind": "release"},
                            {"version": "1.2.1", "date": "2026-06-01", "kind": "release"}
                        ]},
                        "advisories": [],
                        "risk": 1.68
                    },
                    "relatedVulnerabilities": [
                        {"id": "CVE-2026-1", "namespace": "nvd:cpe", "severity": "Critical", "cvss": [
                            {"source": "nvd@nist.gov", "version": "2.0", "metrics": {"baseScore": 10}},
                            {"source": "nvd@nist.gov", "version": "3.1", "metrics": {"baseScore": 9.8}}
                        ]},
                        {"id": "GHSA-xxxx-yyyy-zzzz"}
                    ],
                    "matchDetails": [{"type": "exact-direct-match", "fix": {"suggestedVersion": "1.2.1"}}],
                    "artifact": {"id": "a2", "name": "example.org/mod", "purl": "pkg:golang/example.org/mod@v1.1.1"}
                },
                {
                    "vulnerability": {
                        "id": "CVE-2004-0971", "severity": "Negligible", "cvss": [],
                        "fix": {"versions": [], "state": "not-fixed"}
                    },
                    "relatedVulnerabilities": [{"id": "CVE-2004-0971", "namespace": "nvd", "severity": "Low", "cvss": [
                        {"version": "2.0", "vector": "AV:L", "metrics": {"baseScore": 2.1}}
                    ]}],
                    "artifact": {"name": "libkrb5-3", "version": "1", "purl": ""}
                }
            ],
            "source": {"type": "image", "target": {
                "userInput": "registry.example/team/app:1.0",
                "imageID": digest("c"),
                "manifestDigest": digest("d"),
                "tags": [],
                "layers": [{"digest": digest("0")}],
                "repoDigests": [format!("registry.example/team/app@{}", digest("e"))],
                "architecture": "arm", "architectureVariant": "v7", "os": "linux"
            }},
            "distro": {"name": "debian", "version": "12", "idLike": []},
            "descriptor": {"name": "grype", "version": "0.100.0", "timestamp": "2026-11-01T13:20:30.5+01:00"}
        })
    }

    fn entries(report: &Value) -> Vec<(String, Severity, bool)> {
        let json = report.to_string();
        let shown =
            |finding: Finding<'_>| (finding.ids().collect::<Vec<_>>().join(" "), finding.severity, finding.suppressed);
        read(&json).unwrap().findings.entries.unwrap().into_iter().map(shown).collect()
    }

    fn refusal(report: &Value) -> String {
        read(&report.to_string()).map(|document| document.format).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_report() {
        let json = report().to_string();
        let document = read(&json).unwrap();
        assert_eq!(document.format, "Grype");
        assert_eq!(document.digests, [digest("d"), digest("e")]);
        assert_eq!(document.platform, Platform::parse("linux/arm/v7"));
        assert_eq!(document.time, Timestamp::parse("2026-11-01T12:20:30Z"));
        let entries = document.findings.entries.unwrap();
        assert_eq!(
            entries,
            [
                Finding {
                    id: Some("GHSA-xxxx-yyyy-zzzz".into()),
                    aliases: Some(Rc::new(["CVE-2026-1".into()])),
                    severity: Severity::High,
                    package: Some("example.org/mod".into()),
                    purl: Some("pkg:golang/example.org/mod@v1.1.1".into()),
                    fixed_in: Some("1.2.1".into()),
                    score: Some(9.8),
                    published: Timestamp::parse("2026-06-01T00:00:00Z"),
                    known: None,
                    suppressed: false,
                    exploited: Some(Exploited::No),
                    epss: EpssScores { score: Some(0.9), percentile: None },
                },
                Finding {
                    id: Some("CVE-2004-0971".into()),
                    aliases: None,
                    severity: Severity::Low,
                    package: Some("libkrb5-3".into()),
                    purl: None,
                    fixed_in: None,
                    score: Some(2.1),
                    published: None,
                    known: None,
                    suppressed: false,
                    exploited: None,
                    epss: EpssScores::default(),
                },
            ]
        );
    }

    #[test]
    fn a_clean_scan() {
        let mut report = report();
        report["matches"] = json!([]);
        assert_eq!(entries(&report), []);
    }

    #[test]
    fn what_could_be_no_scan_is_none() {
        for (key, why) in [
            ("matches", "its `matches` is missing"),
            ("source", "its `source` is missing"),
            ("descriptor", "its `descriptor` is missing"),
        ] {
            for value in [None, Some(Value::Null)] {
                let mut report = report();
                match value {
                    Some(value) => report[key] = value,
                    None => drop(report.as_object_mut().unwrap().remove(key)),
                }
                assert_eq!(refusal(&report), why);
            }
        }
        for (key, value, why) in [
            ("descriptor", json!({}), "its `descriptor` doesn't name grype"),
            ("descriptor", json!({"name": "syft"}), "its `descriptor` doesn't name grype"),
            ("source", json!({"target": {}}), "its `source` is not an image"),
            ("source", json!({"type": "directory", "target": "/"}), "its `source` is not an image"),
            ("source", json!({"type": "image", "target": "app"}), "it can't be read: invalid type"),
            ("matches", json!({}), "it can't be read: invalid type"),
            ("matches", json!([null]), "it can't be read: invalid type"),
            ("matches", json!([{"vulnerability": "CVE-1"}]), "it can't be read: invalid type"),
        ] {
            let mut report = report();
            report[key] = value;
            assert!(refusal(&report).starts_with(why), "{key}: {}", refusal(&report));
        }
    }

    #[test]
    fn what_an_entry_leaves_out_hides_nothing() {
        let mut report = report();
        report["matches"] = json!([
            {},
            {"vulnerability": null, "relatedVulnerabilities": null, "artifact": null},
            {"vulnerability": {"id": "CVE-1", "severity": "Critical", "cvss": null, "fix": null}},
            {"vulnerability": {"id": "CVE-2", "severity": "Urgent", "fix": {"versions": ["2"], "state": "wont-fix"}}},
        ]);
        report["source"]["target"] = json!(null);
        report["descriptor"]["timestamp"] = json!("");
        let json = report.to_string();
        let document = read(&json).unwrap();
        assert_eq!((document.digests.len(), document.platform, document.time), (0, None, None));
        assert!(document.findings.entries.unwrap().iter().all(|finding| finding.fixed_in.is_none()));
        let unknown = |id: &str| (id.to_owned(), Severity::Unknown, false);
        assert_eq!(
            entries(&report),
            [unknown(""), unknown(""), ("CVE-1".to_owned(), Severity::Critical, false), unknown("CVE-2")]
        );
    }

    #[test]
    fn only_vex_suppresses() {
        let ignored = |id: &str, rules: Value| {
            let vulnerability = json!({"id": id, "severity": "High"});
            json!({"vulnerability": vulnerability, "appliedIgnoreRules": rules})
        };
        let mut report = report();
        report["matches"] = json!([]);
        report["ignoredMatches"] = json!([
            ignored("CVE-1", json!([{"namespace": "vex", "vex-status": "not_affected", "vex-justification": "x"}])),
            ignored("CVE-2", json!([{"vulnerability": "CVE-2"}, {"vex-status": "fixed"}])),
            ignored("CVE-3", json!([{"vulnerability": "CVE-3", "fix-state": "wont-fix"}])),
            ignored("CVE-4", json!([{"vex-status": "under_investigation"}])),
            ignored("CVE-5", json!(null)),
        ]);
        let high = |id: &str| (id.to_owned(), Severity::High, true);
        assert_eq!(entries(&report), [high("CVE-1"), high("CVE-2")]);
    }
}
