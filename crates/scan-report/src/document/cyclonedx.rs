//! CycloneDX as JSON, with vulnerabilities: `trivy image --format cyclonedx --scanners vuln`, `grype --output
//! cyclonedx-json`.
//!
//! A bill of materials looks the same, and some tools write an empty list of vulnerabilities without looking for any.
//! So an empty list counts only if every named tool does nothing but look for vulnerabilities, or if no tool is named.

use super::{ScannedDocument, digest_of, is_named, platform_of, present, severity_of, time_of};
use crate::finding::{EpssScores, Exploited, Finding, Findings, aliases};
use crate::purl::percent_decoded;
use crate::score::{self, Number};
use crate::severity::Severity;
use crate::unreadable_document::UnreadableDocument;
use crate::vex::AnalysisState;
use image_admission_image::platform::Platform;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const NAME: &str = "CycloneDX";

/// The tools that do nothing but look for vulnerabilities. Trivy isn't one: it writes an empty list into a bill of
/// materials too.
const SCANNERS: [&str; 1] = ["grype"];
/// Grype's name for the catalogue of exploited vulnerabilities.
const KEV: &str = "CISA KEV Catalog";
/// The property in which Trivy names the image.
const REPO_DIGEST: &str = "aquasecurity:trivy:RepoDigest";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Bom<'a> {
    #[serde(borrow)]
    bom_format: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
    #[serde(borrow)]
    vulnerabilities: Option<Vec<Vulnerability<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
struct Metadata<'a> {
    #[serde(borrow)]
    timestamp: Option<JsonString<'a>>,
    /// A list before version 1.5, an object since.
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    component: Option<Component<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Tools<'a> {
    #[serde(borrow)]
    components: Option<Vec<Tool<'a>>>,
    #[serde(borrow)]
    services: Option<Vec<Tool<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Tool<'a> {
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "an object")]
pub(crate) struct Component<'a> {
    #[serde(borrow)]
    bom_ref: Option<JsonString<'a>>,
    #[serde(borrow, rename = "type")]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    group: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
    #[serde(borrow)]
    purl: Option<JsonString<'a>>,
    #[serde(borrow)]
    properties: Option<Vec<Property<'a>>>,
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
    /// Its values for findings, made once for all of them.
    #[serde(skip)]
    package: OnceCell<Package<'a>>,
}

/// A component's values for findings.
struct Package<'a> {
    /// The names, the one for people first.
    names: Vec<JsonString<'a>>,
    purl: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Property<'a> {
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    value: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Vulnerability<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    references: Option<Vec<Reference<'a>>>,
    #[serde(borrow)]
    ratings: Option<Vec<Rating<'a>>>,
    #[serde(borrow)]
    recommendation: Option<JsonString<'a>>,
    #[serde(borrow)]
    affects: Option<Vec<Affected<'a>>>,
    #[serde(borrow)]
    published: Option<JsonString<'a>>,
    #[serde(borrow)]
    analysis: Option<Analysis<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Reference<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Rating<'a> {
    #[serde(borrow)]
    source: Option<Tool<'a>>,
    #[serde(default)]
    score: Number,
    #[serde(borrow)]
    severity: Option<JsonString<'a>>,
    #[serde(borrow)]
    method: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Affected<'a> {
    #[serde(borrow, rename = "ref")]
    reference: Option<JsonString<'a>>,
    #[serde(borrow)]
    versions: Option<Vec<Version<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Version<'a> {
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
    #[serde(borrow)]
    range: Option<JsonString<'a>>,
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Analysis<'a> {
    #[serde(borrow)]
    state: Option<JsonString<'a>>,
}

pub(super) fn read(json: &str) -> Result<ScannedDocument<'_>, UnreadableDocument> {
    let bom: Bom<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    if bom.bom_format.as_ref().map(JsonString::as_str) != Some("CycloneDX") {
        return Err(UnreadableDocument::new("its `bomFormat` is not `CycloneDX`"));
    }
    let metadata = bom.metadata.unwrap_or_default();
    let image = metadata.component.as_ref();
    if image.is_some_and(|image| !image.is_container()) {
        return Err(UnreadableDocument::new("its `metadata.component` is not a container"));
    }
    // A document with nothing but vulnerabilities, like a VEX document, states what is known of some, not what was found.
    let components = bom
        .components
        .filter(|components| !components.is_empty())
        .ok_or(UnreadableDocument::new("it lists no components"))?;
    let vulnerabilities = bom
        .vulnerabilities
        .ok_or(UnreadableDocument::new("it lists no vulnerabilities: it is a bill of materials only"))?;
    if vulnerabilities.is_empty() && !is_by_scanners(metadata.tools)? && is_on(Remedy::EmptyIsNoScan) {
        return Err(UnreadableDocument::new(
            "its list of vulnerabilities is empty, as in a bill of materials for which nobody looked for any; \
                    attach the scanner's own JSON",
        ));
    }
    let mut by_reference = BTreeMap::new();
    if let Some(image) = image {
        index(std::slice::from_ref(image), &mut by_reference);
    }
    index(&components, &mut by_reference);
    // A document with any forecast comes from a tool that looks for forecasts.
    let tells = vulnerabilities.iter().any(Vulnerability::tells_exploitation);
    Ok(ScannedDocument {
        format: NAME,
        digests: image.map(digests_of).unwrap_or_default(),
        platform: image.and_then(|image| platform_in(image.purl()?)),
        time: metadata.timestamp.as_ref().and_then(time_of),
        findings: Findings {
            entries: Some(vulnerabilities.iter().flat_map(|found| found.findings(&by_reference, tells)).collect()),
            ..Findings::default()
        },
    })
}

/// Whether all named tools do nothing but look for vulnerabilities. A tool without a name could be any.
fn is_by_scanners(tools: Option<&RawValue>) -> Result<bool, UnreadableDocument> {
    let Some(json) = tools.map(RawValue::get) else { return Ok(true) };
    let tools = if json.starts_with('[') {
        spelling::from_str(json).map(|tools| Tools { components: Some(tools), services: None })
    } else {
        spelling::from_str::<Tools<'_>>(json)
    };
    let tools = tools.map_err(|error| UnreadableDocument::no_such_json(&error))?;
    let mut tools = tools.components.iter().chain(&tools.services).flatten();
    Ok(tools.all(|tool| tool.name.as_ref().is_some_and(|name| is_named(name, &SCANNERS))))
}

/// All components by their references, including nested ones.
fn index<'c, 'a>(components: &'c [Component<'a>], by_reference: &mut BTreeMap<&'c str, &'c Component<'a>>) {
    for component in components {
        if let Some(reference) = &component.bom_ref {
            by_reference.insert(reference.as_str(), component);
        }
        index(component.components.as_deref().unwrap_or_default(), by_reference);
    }
}

/// Trivy names the image in its URL and in a property, Grype in its version.
pub(crate) fn digests_of(image: &Component<'_>) -> Vec<String> {
    let properties = image.properties.iter().flatten();
    let named = properties.filter(|property| property.name.as_ref().map(JsonString::as_str) == Some(REPO_DIGEST));
    let named = named.filter_map(|property| digest_of(property.value.as_ref()?.as_str()));
    let version = image.version.iter().filter_map(|version| digest_of(version.as_str()));
    let purl = image.purl.iter().filter_map(|purl| digest_in(purl.as_str()));
    let mut seen = BTreeSet::new();
    purl.chain(named).chain(version).filter(|digest| seen.insert(digest.clone())).collect()
}

/// The digest in `pkg:oci/app@sha256%3A…`.
pub(crate) fn digest_in(purl: &str) -> Option<String> {
    let (name, _) = split_purl(purl);
    digest_of(&percent_decoded(name.strip_prefix("pkg:oci/")?))
}

/// The platform in `pkg:oci/…?arch=arm64`. It has no variant, and scanners write it only for Linux. The variant of `arm` stays
/// open, so `arm` gives the platform of no machine.
pub(crate) fn platform_in(purl: &str) -> Option<Platform> {
    let (name, qualifiers) = split_purl(purl);
    let mut qualifiers = qualifiers.split('&').filter_map(|qualifier| qualifier.split_once('='));
    let (_, architecture) = qualifiers.find(|(key, _)| name.starts_with("pkg:oci/") && *key == "arch")?;
    let architecture = present(Some(percent_decoded(architecture).into()))?;
    match is_named(&architecture, &["arm"]) {
        true => Some(Platform::unknown()),
        false => platform_of(Some("linux".into()), Some(architecture), None),
    }
}

/// The purl of a package without its qualifiers, and the qualifiers.
fn split_purl(purl: &str) -> (&str, &str) {
    let purl = purl.split_once('#').map_or(purl, |(purl, _)| purl);
    purl.split_once('?').unwrap_or((purl, ""))
}

impl<'a> Component<'a> {
    /// Whether it is an image.
    pub(crate) fn is_container(&self) -> bool {
        self.kind.as_ref().map(JsonString::as_str) == Some("container")
    }

    pub(crate) fn purl(&self) -> Option<&str> {
        self.purl.as_ref().map(JsonString::as_str)
    }

    fn package(&self) -> &Package<'a> {
        self.package.get_or_init(|| Package { names: self.names(), purl: present(self.purl.clone()) })
    }

    /// The name for people: npm's groups are before a slash, Maven's before a colon.
    fn names(&self) -> Vec<JsonString<'a>> {
        let Some(name) = present(self.name.clone()) else { return Vec::new() };
        let Some(group) = present(self.group.clone()) else { return vec![name] };
        let joined = |separator: &str| JsonString::from(format!("{}{separator}{}", group.as_str(), name.as_str()));
        vec![joined("/"), joined(":"), name]
    }
}

impl Rating<'_> {
    /// FIRST's forecast, as in Grype's documents.
    fn is_epss(&self) -> bool {
        self.method.as_ref().is_some_and(|method| is_named(method, &["EPSS"]))
    }

    /// An entry of CISA's catalogue, as in Grype's documents: a rating of another method, with a score of 1.
    fn is_kev(&self) -> bool {
        let source = self.source.as_ref().and_then(|source| source.name.as_ref());
        source.is_some_and(|name| is_named(name, &[KEV])) && self.score.0 > 0.0
    }
}

impl<'a> Affected<'a> {
    fn component<'c>(&self, by_reference: &BTreeMap<&str, &'c Component<'a>>) -> Option<&'c Component<'a>> {
        let reference = self.reference.as_ref().map_or("", JsonString::as_str);
        // `urn:cdx:…/1#reference` is the long form.
        let short = reference.split_once('#').map(|(_, short)| short);
        by_reference.get(reference).or_else(|| by_reference.get(percent_decoded(short?).as_str())).copied()
    }

    /// An unaffected version.
    fn unaffected(&self) -> Option<JsonString<'a>> {
        self.versions.iter().flatten().find_map(|version| {
            version.status.as_ref().filter(|status| status.as_str() == "unaffected")?;
            present(version.version.clone()).or_else(|| lower_bound(version.range.as_ref()?))
        })
    }
}

impl<'a> Vulnerability<'a> {
    /// One finding for each affected component; one without a package if none is named. The author of the document decides how many
    /// there are, so their common values are made once.
    fn findings(&self, by_reference: &BTreeMap<&str, &Component<'a>>, tells: bool) -> Vec<Finding<'a>> {
        let common = self.shared_by_components(tells);
        let Some(affected) = self.affects.as_deref().filter(|affected| !affected.is_empty()) else {
            return vec![common];
        };
        let recommended = self.recommended();
        let finding = |affected: &Affected<'a>| {
            let package = affected.component(by_reference).map(Component::package);
            let mut names = package.into_iter().flat_map(|package| &package.names);
            Finding {
                package: names.clone().next().cloned(),
                purl: package.and_then(|package| package.purl.clone()),
                fixed_in: affected
                    .unaffected()
                    .or_else(|| names.find_map(|name| recommended.get(name.as_str()).cloned())),
                ..common.clone()
            }
        };
        affected.iter().map(finding).collect()
    }

    /// The values for every affected component.
    fn shared_by_components(&self, tells: bool) -> Finding<'a> {
        let id = present(self.id.clone());
        let score = self.score();
        let published = self.published.as_ref().and_then(time_of);
        let names = self.references.iter().flatten().filter_map(|reference| present(reference.id.clone()));
        let state = self.analysis.as_ref().and_then(|analysis| analysis.state.as_ref()).map(JsonString::as_str);
        Finding {
            aliases: aliases(names.filter(|alias| Some(alias) != id.as_ref())),
            severity: self.severity(score),
            package: None,
            purl: None,
            fixed_in: None,
            score,
            published,
            known: published,
            suppressed: state.and_then(AnalysisState::of).is_some(),
            exploited: match self.ratings.iter().flatten().any(Rating::is_kev) {
                true => Some(Exploited::Yes { due: None }),
                false => tells.then_some(Exploited::No),
            },
            epss: self.epss(),
            id,
        }
    }

    /// Whether it has one of Grype's forecasts, or is in its catalogue of exploited vulnerabilities.
    fn tells_exploitation(&self) -> bool {
        self.ratings.iter().flatten().any(|rating| rating.is_kev() || rating.is_epss())
    }

    fn epss(&self) -> EpssScores {
        let mut epss = EpssScores::default();
        for rating in self.ratings.iter().flatten().filter(|rating| rating.is_epss()) {
            epss.add(rating.score.0, 0.0);
        }
        epss
    }

    /// The worst severity of all sources; for a source without one, that of its score.
    fn severity(&self, score: Option<f64>) -> Severity {
        let words = self.ratings.iter().flatten().filter_map(|rating| rating.severity.as_ref());
        let words = words.filter(|word| !word.as_str().trim().is_empty());
        let worst = words.map(|word| severity_of(word.as_str())).min();
        worst.unwrap_or_else(|| score.map_or(Severity::Unknown, score::severity))
    }

    fn score(&self) -> Option<f64> {
        // Other methods have other scales: EPSS is a probability, a catalogue's 1 means yes.
        let method =
            |rating: &&Rating<'a>| rating.method.as_ref().map_or(String::new(), |m| m.as_str().to_ascii_uppercase());
        let is_cvss = |rating: &&Rating<'a>| method(rating).is_empty() || method(rating).starts_with("CVSS");
        let mut ratings: Vec<&Rating<'a>> = self.ratings.iter().flatten().filter(is_cvss).collect();
        // `CVSSv4`, `CVSSv31`, `CVSSv3`, `CVSSv2`
        ratings.sort_by_key(|rating| std::cmp::Reverse(method(rating)));
        score::best(ratings.into_iter().map(|rating| {
            let source = rating.source.as_ref().and_then(|source| source.name.as_ref());
            (source.map_or("", JsonString::as_str), rating.score.0)
        }))
    }

    /// The versions that Trivy recommends, by package: `Upgrade zlib to version 1.3; Upgrade …`. Other recommendations are ignored.
    fn recommended(&self) -> BTreeMap<&str, JsonString<'a>> {
        let mut versions = BTreeMap::new();
        for sentence in self.recommendation.iter().flat_map(|text| text.as_str().split("; ")) {
            let named = sentence.strip_prefix("Upgrade ").and_then(|named| named.split_once(" to version "));
            if let Some((package, version)) = named
                && !version.trim().is_empty()
            {
                versions.entry(package).or_insert_with(|| version.trim().to_owned().into());
            }
        }
        versions
    }
}

/// `2.1` of `vers:generic/>=2.1`, if that is the whole range.
fn lower_bound<'a>(range: &JsonString<'a>) -> Option<JsonString<'a>> {
    let (_, constraint) = range.as_str().strip_prefix("vers:")?.split_once('/')?;
    let version = constraint.strip_prefix(">=").filter(|version| !version.contains('|'))?;
    present(Some(percent_decoded(version).into()))
}

#[cfg(test)]
mod tests {
    use super::super::{in_time, read};
    use super::*;
    use image_admission_untrusted::time::Timestamp;
    use serde_json::{Value, json};
    use std::rc::Rc;

    fn digest(letter: &str) -> String {
        format!("sha256:{}", letter.repeat(64))
    }

    fn trivys() -> Value {
        let purl =
            format!("pkg:oci/app@sha256%3A{}?arch=arm64&repository_url=registry.example%2Fteam%2Fapp", "d".repeat(64));
        json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": "urn:uuid:3ff14136-e09f-4df9-80ea-000000000005",
            "version": 1,
            "metadata": {
                "timestamp": "2026-11-01T12:20:30+00:00",
                "tools": {"components": [{"type": "application", "group": "aquasecurity", "name": "trivy"}]},
                "component": {
                    "bom-ref": purl, "type": "container", "name": "registry.example/team/app:1.0", "purl": purl,
                    "properties": [
                        {"name": "aquasecurity:trivy:ImageID", "value": digest("c")},
                        {"name": REPO_DIGEST, "value": format!("registry.example/team/app@{}", digest("d"))},
                        {"name": REPO_DIGEST, "value": format!("mirror.example/app@{}", digest("e"))}
                    ]
                }
            },
            "components": [
                {"bom-ref": "os", "type": "operating-system", "name": "alpine", "version": "3.10.2"},
                {"bom-ref": "pkg:apk/alpine/libssl1.1@1.1.1c-r0", "type": "library", "name": "libssl1.1",
                 "version": "1.1.1c-r0", "purl": "pkg:apk/alpine/libssl1.1@1.1.1c-r0?arch=aarch64"},
                {"bom-ref": "app", "type": "application", "name": "app.jar", "components": [
                    {"bom-ref": "spring", "type": "library", "group": "org.example", "name": "core",
                     "purl": "pkg:maven/org.example/core@1"}
                ]}
            ],
            "dependencies": [],
            "vulnerabilities": [
                {
                    "id": "CVE-2026-1",
                    "source": {"name": "alpine"},
                    "references": [{"id": "CVE-2026-1"}, {"id": "GHSA-1"}],
                    "ratings": [
                        {"source": {"name": "ghsa"}, "score": 9.3, "severity": "critical", "method": "CVSSv4"},
                        {"source": {"name": "nvd"}, "score": 5, "severity": "medium", "method": "CVSSv2"},
                        {"source": {"name": "nvd"}, "score": 5.3, "severity": "medium", "method": "CVSSv31"},
                        {"source": {"name": "photon"}, "severity": "low"},
                        {"source": {"name": "FIRST"}, "score": 0.9, "method": "other"}
                    ],
                    "recommendation":
                        "Upgrade libssl1.1 to version 1.1.1d-r0; Upgrade org.example:core to version 2.0, 1.9.1",
                    "published": "2019-09-10T17:15:00+00:00",
                    "affects": [
                        {"ref": "pkg:apk/alpine/libssl1.1@1.1.1c-r0",
                         "versions": [{"version": "1.1.1c-r0", "status": "affected"}]},
                        {"ref": "urn:cdx:3ff14136/1#spring"},
                        {"ref": "nowhere"}
                    ]
                },
                {"id": "CVE-2026-2", "analysis": {"state": "not_affected"}, "ratings": [{"severity": "high"}]}
            ]
        })
    }

    fn grypes() -> Value {
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.7",
            "metadata": {
                "timestamp": "2026-11-01T13:20:30+01:00",
                "tools": {"components": [{"type": "application", "author": "anchore", "name": "grype"}]},
                "component": {"bom-ref": "1", "type": "container", "name": "app:1.0", "version": digest("d")}
            },
            "components": [{"bom-ref": "2", "type": "library", "name": "package-1", "version": "1.1.1"}],
            "vulnerabilities": [{
                "id": "CVE-1999-0001",
                "references": [{"id": "CVE-1999-0001"}],
                "ratings": [
                    {"score": 8.2, "severity": "none", "method": "CVSSv31"},
                    {"source": {"name": "CISA KEV Catalog"}, "score": 1, "method": "other"}
                ],
                "affects": [{"ref": "2", "versions": [
                    {"version": "1.1.1", "status": "affected"},
                    {"range": "vers:generic/>=1.2.1", "status": "unaffected"},
                    {"range": "vers:generic/>=2.1.3", "status": "unaffected"}
                ]}]
            }]
        })
    }

    fn entries(bom: &Value) -> Vec<(String, Severity, bool)> {
        let json = bom.to_string();
        let shown =
            |finding: Finding<'_>| (finding.ids().collect::<Vec<_>>().join(" "), finding.severity, finding.suppressed);
        read(&json).unwrap().findings.entries.unwrap().into_iter().map(shown).collect()
    }

    fn refusal(bom: &Value) -> String {
        read(&bom.to_string()).map(|document| document.format).unwrap_err().to_string()
    }

    #[test]
    fn a_report_of_trivys() {
        let json = trivys().to_string();
        let document = read(&json).unwrap();
        assert_eq!(document.format, "CycloneDX");
        assert_eq!(document.digests, [digest("d"), digest("e")]);
        assert_eq!(document.platform, Platform::parse("linux/arm64"));
        assert_eq!(document.time, Timestamp::parse("2026-11-01T12:20:30Z"));
        let entries = document.findings.entries.unwrap();
        let first = Finding {
            id: Some("CVE-2026-1".into()),
            aliases: Some(Rc::new(["GHSA-1".into()])),
            severity: Severity::Critical,
            package: Some("libssl1.1".into()),
            purl: Some("pkg:apk/alpine/libssl1.1@1.1.1c-r0?arch=aarch64".into()),
            fixed_in: Some("1.1.1d-r0".into()),
            score: Some(5.3),
            published: Timestamp::parse("2019-09-10T17:15:00Z"),
            known: Timestamp::parse("2019-09-10T17:15:00Z"),
            suppressed: false,
            exploited: None,
            epss: EpssScores::default(),
        };
        let second = Finding {
            package: Some("org.example/core".into()),
            purl: Some("pkg:maven/org.example/core@1".into()),
            fixed_in: Some("2.0, 1.9.1".into()),
            ..first.clone()
        };
        let third = Finding { package: None, purl: None, fixed_in: None, ..first.clone() };
        let fourth = Finding {
            id: Some("CVE-2026-2".into()),
            aliases: None,
            severity: Severity::High,
            score: None,
            published: None,
            known: None,
            suppressed: true,
            exploited: None,
            epss: EpssScores::default(),
            ..third.clone()
        };
        assert_eq!(entries, [first, second, third, fourth]);
    }

    #[test]
    fn a_report_of_grypes() {
        let json = grypes().to_string();
        let document = read(&json).unwrap();
        assert_eq!(document.digests, [digest("d")]);
        assert_eq!(document.platform, None);
        let [finding] = &document.findings.entries.unwrap()[..] else { panic!("one finding") };
        assert_eq!((finding.severity, finding.score), (Severity::Low, Some(8.2)));
        assert_eq!(finding.fixed_in, Some("1.2.1".into()));
        assert_eq!(finding.package, Some("package-1".into()));
    }

    #[test]
    fn an_empty_list_counts_only_by_a_scanner() {
        let mut bom = grypes();
        bom["vulnerabilities"] = json!([]);
        assert_eq!(entries(&bom), []);
        for tools in [
            json!([{"vendor": "anchore", "name": "grype"}]),
            json!([{"name": " Grype "}]),
            json!([]),
            json!({}),
            json!({"components": null, "services": []}),
            json!(null),
        ] {
            bom["metadata"]["tools"] = tools;
            assert_eq!(entries(&bom), []);
        }
        for tools in [
            json!([{"vendor": "aquasecurity", "name": "trivy"}]),
            json!([{"vendor": "aquasecurity", "name": "Trivy"}]),
            json!([{"name": "grype"}, {"name": "syft"}]),
            json!([{"vendor": "somebody"}]),
            json!({"components": [{"name": "cdxgen"}]}),
            json!({"components": [{"name": "grype"}], "services": [{"name": "depscan"}]}),
        ] {
            bom["metadata"]["tools"] = tools;
            assert!(refusal(&bom).starts_with("its list of vulnerabilities is empty"), "{bom}");
        }
        bom.as_object_mut().unwrap().remove("metadata");
        assert_eq!(entries(&bom), []);
        let mut bom = trivys();
        bom["vulnerabilities"] = json!([]);
        assert!(refusal(&bom).starts_with("its list of vulnerabilities is empty"));
        bom["metadata"]["tools"] = json!("trivy");
        assert!(refusal(&bom).starts_with("it can't be read"));
    }

    #[test]
    fn what_could_be_no_scan_is_none() {
        for (key, why) in [
            ("bomFormat", "it is none of the formats"),
            ("components", "it lists no components"),
            ("vulnerabilities", "it lists no vulnerabilities: it is a bill of materials only"),
        ] {
            for bom in [trivys(), grypes()] {
                for value in [None, Some(Value::Null)] {
                    let mut bom = bom.clone();
                    match value {
                        Some(value) => bom[key] = value,
                        None => drop(bom.as_object_mut().unwrap().remove(key)),
                    }
                    assert!(refusal(&bom).starts_with(why), "{key}: {}", refusal(&bom));
                }
            }
        }
        for (pointer, value, why) in [
            ("/bomFormat", json!("SPDX"), "its `bomFormat` is not `CycloneDX`"),
            ("/metadata/component/type", json!("application"), "its `metadata.component` is not a container"),
            ("/components", json!([]), "it lists no components"),
            ("/vulnerabilities", json!({}), "it can't be read"),
            ("/vulnerabilities", json!([null]), "it can't be read"),
        ] {
            let mut bom = trivys();
            *bom.pointer_mut(pointer).unwrap() = value;
            assert!(refusal(&bom).starts_with(why), "{pointer}: {}", refusal(&bom));
        }
    }

    #[test]
    fn what_an_entry_leaves_out_hides_nothing() {
        let mut bom = grypes();
        bom["vulnerabilities"] = json!([
            {},
            {"id": null, "ratings": null, "affects": null, "references": null, "analysis": null, "published": ""},
            {"id": "CVE-1", "ratings": [{"score": "9.8", "method": "CVSSv31"}], "affects": [{"ref": null}]},
            {"id": "CVE-2", "ratings": [{"score": 9.8, "severity": "unknown"}], "affects": []},
            {"id": "CVE-3", "ratings": [{"severity": "info"}], "analysis": {"state": "in_triage"}},
            {"id": "CVE-4", "analysis": {"state": "exploitable"}},
            {"id": "CVE-5", "analysis": {"state": "false_positive"}},
        ]);
        let finding = |id: &str, severity, suppressed| (id.to_owned(), severity, suppressed);
        assert_eq!(
            entries(&bom),
            [
                finding("", Severity::Unknown, false),
                finding("", Severity::Unknown, false),
                finding("CVE-1", Severity::Critical, false),
                finding("CVE-2", Severity::Unknown, false),
                finding("CVE-3", Severity::Low, false),
                finding("CVE-4", Severity::Unknown, false),
                finding("CVE-5", Severity::Unknown, true),
            ]
        );
    }

    #[test]
    fn advice_that_is_no_version_is_no_fix() {
        for (recommendation, versions, fix) in [
            ("Upgrade package-1 to version 3", json!([]), Some("3")),
            ("Upgrade other to version 3", json!([]), None),
            ("Upgrade package-1 to version ", json!([]), None),
            ("No fix is available", json!([]), None),
            ("", json!([{"version": "4", "status": "unaffected"}]), Some("4")),
            ("", json!([{"version": "4", "status": "unknown"}, {"version": "4"}]), None),
            ("", json!([{"range": "vers:deb/>=1.0%2B1", "status": "unaffected"}]), Some("1.0+1")),
            (
                "",
                json!([{"range": "vers:deb/>=1|<2", "status": "unaffected"}, {"range": ">=1", "status": "unaffected"}]),
                None,
            ),
        ] {
            let mut bom = grypes();
            bom["vulnerabilities"] =
                json!([{"recommendation": recommendation, "affects": [{"ref": "2", "versions": versions}]}]);
            let json = bom.to_string();
            let entries = read(&json).unwrap().findings.entries.unwrap();
            assert_eq!(entries[0].fixed_in.as_ref().map(JsonString::as_str), fix, "{recommendation} {versions}");
        }
    }

    /// The author of the document decides how many names a vulnerability has, how many components it affects, and what
    /// is recommended for each.
    #[test]
    fn work_and_memory_grow_with_the_document() {
        const MANY: usize = 4_000;
        let all = |make: &dyn Fn(usize) -> Value| (0..MANY).map(make).collect::<Vec<Value>>();
        let advice = (0..MANY).rev().map(|n| format!("Upgrade org.example:a{n} to version {n}.1"));
        let mut bom = grypes();
        bom["components"] =
            json!(all(&|n| json!({"bom-ref": n.to_string(), "group": "org.example", "name": format!("a{n}")})));
        bom["vulnerabilities"] = json!([{
            "id": "CVE-1",
            "references": all(&|n| json!({"id": format!("GHSA-{n}")})),
            "ratings": all(&|n| json!({"source": {"name": n.to_string()}, "score": 5.0, "severity": "medium"})),
            "recommendation": advice.collect::<Vec<_>>().join("; "),
            "affects": all(&|n| json!({"ref": n.to_string()})),
        }]);
        let json = bom.to_string();
        let entries = in_time(|| read(&json)).unwrap().findings.entries.unwrap();
        assert_eq!(entries.len(), MANY);
        for (number, entry) in entries.iter().enumerate() {
            assert_eq!(entry.fixed_in.as_ref().map(JsonString::as_str), Some(format!("{number}.1").as_str()));
            let (aliases, first) = (entry.aliases.as_ref().unwrap(), entries[0].aliases.as_ref().unwrap());
            assert_eq!((aliases.len(), entry.score, entry.severity), (MANY, Some(5.0), Severity::Medium));
            assert!(Rc::ptr_eq(aliases, first), "one list for all");
        }
        // An image may have many names too.
        let properties: Vec<Value> =
            (0..20_000).map(|n| json!({"name": REPO_DIGEST, "value": format!("sha256:{n:064x}")})).collect();
        bom["metadata"]["component"]["properties"] = json!(properties);
        let json = bom.to_string();
        assert_eq!(in_time(|| read(&json)).unwrap().digests.len(), 20_001);
    }

    #[test]
    fn platforms_in_urls() {
        for (purl, platform) in [
            ("pkg:oci/app@sha256%3Aabc?arch=amd64&tag=1", Some("linux/amd64")),
            ("pkg:oci/app@sha256:abc?repository_url=a%2Fb&arch=s390x", Some("linux/s390x")),
            ("pkg:oci/app@sha256:abc?arch=arm", Some("unknown/unknown")),
            ("pkg:oci/app@sha256:abc?arch=%61rm", Some("unknown/unknown")),
            ("pkg:oci/app@sha256:abc?arch=", None),
            ("pkg:oci/app@sha256:abc", None),
            ("pkg:docker/app@1?arch=amd64", None),
            ("", None),
        ] {
            assert_eq!(platform_in(purl).map(|platform| platform.to_string()).as_deref(), platform, "{purl}");
        }
    }
}
