//! Trivy's own JSON, `trivy image --format json`, and `trivy sbom --format json` of an image's SBOM.
//!
//! A scan of an SBOM names the image if the SBOM does. Otherwise it is about the image that it is attached to.
//!
//! `Results` is missing if it is empty, and so it is in a scan for secrets alone. A scan for vulnerabilities has a
//! result for each kind of package that it saw, which is empty if they are clean.

use super::{ScannedDocument, digest_of, platform_of, present, severity_of, time_of};
use crate::finding::{EpssScores, Finding, Findings, OperatingSystem, aliases};
use crate::score::{self, Number};
use crate::unreadable_document::UnreadableDocument;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "Trivy";
/// The artifact type of an image.
const IMAGE: &str = "container_image";
/// The artifact types of SBOMs.
const SBOMS: [&str; 2] = ["cyclonedx", "spdx"];
/// The longest other artifact type that messages show.
const MAX_TYPE_LENGTH: usize = 60;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Report<'a> {
    schema_version: Option<u64>,
    #[serde(borrow)]
    artifact_type: Option<JsonString<'a>>,
    #[serde(borrow)]
    created_at: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    results: Option<Vec<Scanned<'a>>>,
}

/// The scanned artifact. `ImageID` is the digest of the configuration, and names no image of a registry.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Metadata<'a> {
    #[serde(borrow)]
    repo_digests: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    image_config: Option<ImageConfig<'a>>,
    #[serde(borrow, rename = "OS")]
    os: Option<System<'a>>,
}

/// The operating system; missing for an image without one.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct System<'a> {
    #[serde(borrow)]
    family: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    /// Missing means false.
    #[serde(rename = "EOSL")]
    eosl: Option<bool>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct ImageConfig<'a> {
    #[serde(borrow)]
    os: Option<JsonString<'a>>,
    #[serde(borrow)]
    architecture: Option<JsonString<'a>>,
    #[serde(borrow)]
    variant: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Scanned<'a> {
    #[serde(borrow)]
    class: Option<JsonString<'a>>,
    #[serde(borrow)]
    vulnerabilities: Option<Vec<Vulnerability<'a>>>,
    #[serde(borrow)]
    experimental_modified_findings: Option<Vec<Modified<'a>>>,
}

/// A finding that was changed after the scan.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Modified<'a> {
    #[serde(borrow, rename = "Type")]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
    /// Of a shape that its kind decides.
    #[serde(borrow)]
    finding: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Vulnerability<'a> {
    #[serde(borrow, rename = "VulnerabilityID")]
    id: Option<JsonString<'a>>,
    #[serde(borrow, rename = "VendorIDs")]
    vendor_ids: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    pkg_name: Option<JsonString<'a>>,
    #[serde(borrow)]
    pkg_identifier: Option<Identifier<'a>>,
    #[serde(borrow)]
    fixed_version: Option<JsonString<'a>>,
    #[serde(borrow)]
    severity: Option<JsonString<'a>>,
    #[serde(borrow, rename = "CVSS")]
    cvss: Option<BTreeMap<JsonString<'a>, Cvss>>,
    #[serde(borrow)]
    published_date: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Identifier<'a> {
    #[serde(borrow, rename = "PURL")]
    purl: Option<JsonString<'a>>,
}

/// The scores of one source.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Cvss {
    #[serde(default)]
    v40_score: Number,
    #[serde(default)]
    v3_score: Number,
    #[serde(default)]
    v2_score: Number,
}

pub(super) fn read(json: &str) -> Result<ScannedDocument<'_>, UnreadableDocument> {
    let report: Report<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    if report.schema_version != Some(2) {
        return Err(UnreadableDocument::new("its `SchemaVersion` is not 2"));
    }
    let artifact_type = report.artifact_type.as_ref().map_or(IMAGE, JsonString::as_str);
    let is_of_sbom = SBOMS.contains(&artifact_type);
    if artifact_type != IMAGE && !is_of_sbom {
        return Err(UnreadableDocument::new(format!(
            "its `ArtifactType` is `{}`: make it with `trivy image` of the image, or `trivy sbom` of its SBOM",
            cut(artifact_type, MAX_TYPE_LENGTH)
        )));
    }
    let results =
        report.results.ok_or(UnreadableDocument::new("its `Results` is missing: no packages were scanned"))?;
    // A scan that found no packages writes no list. An empty list comes from a filter.
    if !results.is_empty() && !results.iter().any(Scanned::is_of_packages) {
        return Err(UnreadableDocument::new("its `Results` name no packages: it is no scan for vulnerabilities"));
    }
    let has_packages_of_system =
        results.iter().any(|result| result.class.as_ref().map(JsonString::as_str) == Some("os-pkgs"));
    let mut entries = Vec::new();
    for result in results {
        entries.extend(result.vulnerabilities.into_iter().flatten().map(|found| found.into_finding(false)));
        for modified in result.experimental_modified_findings.into_iter().flatten() {
            entries.extend(modified.into_finding()?);
        }
    }
    let is_told = report.metadata.is_some();
    let metadata = report.metadata.unwrap_or_default();
    let system = match metadata.os {
        // For an image, `none` means that it has none; an SBOM may have left it out.
        Some(os) if is_of_sbom && os.family.as_ref().is_none_or(|family| matches!(family.as_str(), "" | "none")) => {
            OperatingSystem::Untold
        }
        Some(os) => OperatingSystem::of(os.eosl, os.family.as_ref(), os.name.as_ref()),
        // A scan that found packages of an operating system knows which one; an SBOM may have left both out.
        None if is_told && !has_packages_of_system && !is_of_sbom => OperatingSystem::Maintained,
        None => OperatingSystem::Untold,
    };
    let digests = metadata.repo_digests.into_iter().flatten();
    Ok(ScannedDocument {
        format: NAME,
        digests: digests.filter_map(|name| digest_of(name.as_str())).collect(),
        platform: metadata.image_config.and_then(|image| platform_of(image.os, image.architecture, image.variant)),
        time: report.created_at.as_ref().and_then(time_of),
        findings: Findings { entries: Some(entries), system, ..Findings::default() },
    })
}

impl Scanned<'_> {
    /// Whether the result is of a scan for vulnerabilities. Other classes are secrets, misconfigurations and licenses.
    fn is_of_packages(&self) -> bool {
        let class = self.class.as_ref().map(JsonString::as_str);
        matches!(class, Some("os-pkgs" | "lang-pkgs")) || self.vulnerabilities.is_some()
    }
}

impl<'a> Modified<'a> {
    /// The finding, unless it isn't one, or the scanner was told to ignore it. Ignoring is a choice of the scanner's
    /// user, like a severity that is left out. Only findings that VEX removed stay visible.
    fn into_finding(self) -> Result<Option<Finding<'a>>, UnreadableDocument> {
        let status = self.status.as_ref().map_or("", JsonString::as_str);
        if self.kind.as_ref().map(JsonString::as_str) != Some("vulnerability") || status == "ignored" {
            return Ok(None);
        }
        let Some(json) = self.finding else { return Ok(None) };
        let found: Vulnerability<'a> =
            spelling::from_str(json.get()).map_err(|error| UnreadableDocument::no_such_json(&error))?;
        Ok(Some(found.into_finding(matches!(status, "not_affected" | "fixed"))))
    }
}

impl<'a> Vulnerability<'a> {
    fn into_finding(self, suppressed: bool) -> Finding<'a> {
        let scores = self.cvss.iter().flatten();
        let scores =
            scores.map(|(source, of)| (source.as_str(), score::newest(&[of.v40_score, of.v3_score, of.v2_score])));
        let published = self.published_date.as_ref().and_then(time_of);
        Finding {
            score: score::best(scores),
            id: present(self.id),
            aliases: aliases(self.vendor_ids.into_iter().flatten().filter_map(|id| present(Some(id)))),
            severity: severity_of(self.severity.as_ref().map_or("", JsonString::as_str)),
            package: present(self.pkg_name),
            purl: present(self.pkg_identifier.and_then(|identifier| identifier.purl)),
            fixed_in: present(self.fixed_version),
            published,
            known: published,
            suppressed,
            exploited: None,
            epss: EpssScores::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use crate::severity::Severity;
    use image_admission_image::platform::Platform;
    use image_admission_untrusted::time::Timestamp;
    use serde_json::{Value, json};
    use std::rc::Rc;

    fn digest() -> String {
        format!("sha256:{}", "d".repeat(64))
    }

    fn report() -> Value {
        json!({
            "SchemaVersion": 2,
            "Trivy": {"Version": "0.69.0"},
            "ReportID": "017b7d41-e09f-7000-80ea-000000000001",
            "CreatedAt": "2026-11-01T12:20:30.000000005Z",
            "ArtifactName": "registry.example/team/app:1.0",
            "ArtifactType": "container_image",
            "Metadata": {
                "Size": 5_861_888,
                "OS": {"Family": "alpine", "Name": "3.10.2", "EOSL": true},
                "ImageID": format!("sha256:{}", "c".repeat(64)),
                "DiffIDs": [format!("sha256:{}", "0".repeat(64))],
                "RepoTags": ["registry.example/team/app:1.0"],
                "RepoDigests": [format!("registry.example/team/app@{}", digest())],
                "ImageConfig": {"architecture": "arm64", "os": "linux", "variant": "v8", "history": [], "rootfs": {}}
            },
            "Results": [
                {
                    "Target": "registry.example/team/app:1.0 (alpine 3.10.2)",
                    "Class": "os-pkgs",
                    "Type": "alpine",
                    "Packages": [{"Name": "libssl1.1"}],
                    "Vulnerabilities": [
                        {
                            "VulnerabilityID": "CVE-2019-1549",
                            "VendorIDs": ["DSA-4539-1"],
                            "PkgID": "libssl1.1@1.1.1c-r0",
                            "PkgName": "libssl1.1",
                            "PkgIdentifier": {"PURL": "pkg:apk/alpine/libssl1.1@1.1.1c-r0?arch=aarch64", "UID": "1"},
                            "InstalledVersion": "1.1.1c-r0",
                            "FixedVersion": "1.1.1d-r0",
                            "Status": "fixed",
                            "SeveritySource": "nvd",
                            "Title": "openssl: information disclosure in \"fork()\"",
                            "Severity": "MEDIUM",
                            "CVSS": {
                                "ghsa": {"V40Score": 9.3},
                                "nvd": {"V2Vector": "AV:N", "V2Score": 5, "V3Score": 5.3},
                                "redhat": {"V3Score": "4.8"}
                            },
                            "PublishedDate": "2019-09-10T17:15:00Z",
                            "LastModifiedDate": "2020-10-20T22:15:00Z"
                        },
                        {"VulnerabilityID": "CVE-2026-1", "PkgName": "musl", "FixedVersion": "", "Severity": "CRITICAL"}
                    ]
                },
                {"Target": "app/server", "Class": "lang-pkgs", "Type": "gobinary"},
                {"Target": "app/.env", "Class": "secret", "Secrets": [{"RuleID": "aws", "Severity": "CRITICAL"}]}
            ]
        })
    }

    fn entries(report: &Value) -> Vec<(String, Severity, bool)> {
        let json = report.to_string();
        let findings = read(&json).unwrap().findings;
        assert_eq!((findings.summary, findings.verdict), (None, None));
        let shown =
            |finding: Finding<'_>| (finding.ids().collect::<Vec<_>>().join(" "), finding.severity, finding.suppressed);
        findings.entries.unwrap().into_iter().map(shown).collect()
    }

    fn refusal(report: &Value) -> String {
        read(&report.to_string()).map(|document| document.format).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_report() {
        let json = report().to_string();
        let document = read(&json).unwrap();
        assert_eq!(document.format, "Trivy");
        assert_eq!(document.digests, [digest()]);
        assert_eq!(document.platform, Platform::parse("linux/arm64/v8"));
        assert_eq!(document.time, Timestamp::parse("2026-11-01T12:20:30Z"));
        let entries = document.findings.entries.unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(
            entries[0],
            Finding {
                id: Some("CVE-2019-1549".into()),
                aliases: Some(Rc::new(["DSA-4539-1".into()])),
                severity: Severity::Medium,
                package: Some("libssl1.1".into()),
                purl: Some("pkg:apk/alpine/libssl1.1@1.1.1c-r0?arch=aarch64".into()),
                fixed_in: Some("1.1.1d-r0".into()),
                score: Some(5.3),
                published: Timestamp::parse("2019-09-10T17:15:00Z"),
                known: Timestamp::parse("2019-09-10T17:15:00Z"),
                suppressed: false,
                exploited: None,
                epss: EpssScores::default(),
            }
        );
        assert_eq!((entries[1].severity, &entries[1].fixed_in, entries[1].score), (Severity::Critical, &None, None));
    }

    #[test]
    fn a_clean_scan_has_results_without_vulnerabilities() {
        for results in [
            json!([{"Target": "a (alpine 3.22)", "Class": "os-pkgs", "Type": "alpine"}]),
            json!([{"Target": "a", "Class": "lang-pkgs", "Vulnerabilities": null}]),
            json!([{"Target": "a", "Class": "os-pkgs", "Vulnerabilities": []}, {"Class": "secret"}]),
        ] {
            let mut report = report();
            report["Results"] = results;
            assert_eq!(entries(&report), []);
        }
    }

    #[test]
    fn what_could_be_no_scan_is_none() {
        for (key, why) in [
            ("SchemaVersion", "its `SchemaVersion` is not 2"),
            ("Results", "its `Results` is missing: no packages were scanned"),
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
        let mut old = report();
        old["SchemaVersion"] = json!(1);
        assert_eq!(refusal(&old), "its `SchemaVersion` is not 2");
        for other in ["filesystem", "repository", "vm", "aws_account", "", "CycloneDX", "spdx "] {
            let mut report = report();
            report["ArtifactType"] = json!(other);
            let why = format!(
                "its `ArtifactType` is `{other}`: make it with `trivy image` of the image, or `trivy sbom` of its SBOM"
            );
            assert_eq!(refusal(&report), why);
        }
        let mut long = report();
        long["ArtifactType"] = json!("x\n".repeat(1000));
        assert!(refusal(&long).len() < 250 && !refusal(&long).contains('\n'), "{}", refusal(&long));
        for other in [json!(1), json!(["spdx"]), json!({"cyclonedx": true}), json!(true)] {
            let mut report = report();
            report["ArtifactType"] = other;
            assert!(refusal(&report).starts_with("it can't be read: invalid type"), "{report}");
        }
        for results in [json!([{"Class": "secret"}]), json!([{}]), json!([{"Class": "config"}, {"Class": "license"}])] {
            let mut report = report();
            report["Results"] = results;
            assert_eq!(refusal(&report), "its `Results` name no packages: it is no scan for vulnerabilities");
        }
        for results in [
            json!({}),
            json!("none"),
            json!([null]),
            json!([{"Vulnerabilities": {}}]),
            json!([{"Vulnerabilities": [null]}]),
        ] {
            let mut report = report();
            report["Results"] = results;
            assert!(refusal(&report).starts_with("it can't be read: invalid type"), "{report}");
        }
    }

    /// The output of `trivy sbom`: the digests are the SBOM's, and there is no configuration of an image.
    #[test]
    fn a_scan_of_an_sbom() {
        for kind in ["cyclonedx", "spdx"] {
            let mut report = report();
            report["ArtifactName"] = json!("sbom.json");
            report["ArtifactType"] = json!(kind);
            report["Metadata"].as_object_mut().unwrap().remove("ImageConfig");
            assert_eq!(entries(&report).len(), 2);
            let json = report.to_string();
            let document = read(&json).unwrap();
            assert_eq!((document.format, document.platform), ("Trivy", None));
            assert_eq!(document.digests, [digest()]);
            assert_eq!(document.findings.system, OperatingSystem::PastEndOfLife("alpine 3.10.2".to_owned()));
            // As Trivy 0.50 writes it for an SBOM that names no image.
            report["Metadata"] =
                json!({"ImageConfig": {"architecture": "", "os": "", "rootfs": {"type": "", "diff_ids": null}}});
            let json = report.to_string();
            let document = read(&json).unwrap();
            assert_eq!((document.digests.len(), document.platform), (0, None));
            assert_eq!(document.findings.system, OperatingSystem::Untold);
        }
    }

    /// An image without packages of an operating system has none. An SBOM may lack both.
    #[test]
    fn an_sbom_without_a_system_says_nothing_of_it() {
        for (kind, system) in [
            ("container_image", OperatingSystem::Maintained),
            ("cyclonedx", OperatingSystem::Untold),
            ("spdx", OperatingSystem::Untold),
        ] {
            let mut report = report();
            report["ArtifactType"] = json!(kind);
            report["Metadata"].as_object_mut().unwrap().remove("OS");
            report["Results"] = json!([{"Target": "Node.js", "Class": "lang-pkgs", "Type": "node-pkg"}]);
            let json = report.to_string();
            assert_eq!(read(&json).unwrap().findings.system, system, "{kind}");
            for os in [json!({"Family": "none", "Name": ""}), json!({"Name": "x"}), json!({})] {
                report["Metadata"]["OS"] = os;
                let json = report.to_string();
                assert_eq!(read(&json).unwrap().findings.system, system, "{kind}");
            }
        }
    }

    #[test]
    fn what_an_entry_leaves_out_hides_nothing() {
        let mut report = report();
        report["Results"] = json!([{"Vulnerabilities": [
            {},
            {"VulnerabilityID": null, "Severity": null, "CVSS": null, "VendorIDs": null, "PkgIdentifier": null},
            {"VulnerabilityID": "CVE-1", "Severity": "URGENT", "PublishedDate": "", "CVSS": {"nvd": {"V3Score": null}}},
        ]}]);
        let unknown = |id: &str| (id.to_owned(), Severity::Unknown, false);
        assert_eq!(entries(&report), [unknown(""), unknown(""), unknown("CVE-1")]);
        report.as_object_mut().unwrap().remove("Metadata");
        report["CreatedAt"] = json!("");
        let json = report.to_string();
        let document = read(&json).unwrap();
        assert_eq!((document.digests.len(), document.platform, document.time), (0, None, None));
    }

    #[test]
    fn only_vex_suppresses() {
        let modified = |kind: &str, status: &str, id: &str| {
            let finding = json!({"VulnerabilityID": id, "Severity": "HIGH"});
            json!({"Type": kind, "Status": status, "Finding": finding})
        };
        let mut report = report();
        report["Results"] = json!([{"Class": "os-pkgs", "ExperimentalModifiedFindings": [
            modified("vulnerability", "not_affected", "CVE-1"),
            modified("vulnerability", "fixed", "CVE-2"),
            modified("vulnerability", "ignored", "CVE-3"),
            modified("vulnerability", "under_investigation", "CVE-4"),
            modified("vulnerability", "", "CVE-5"),
            {"Type": "misconfiguration", "Status": "ignored", "Finding": {"CVSS": [], "Severity": 3}},
            {"Type": "vulnerability", "Status": "not_affected"},
        ]}]);
        let high = |id: &str, suppressed| (id.to_owned(), Severity::High, suppressed);
        assert_eq!(
            entries(&report),
            [high("CVE-1", true), high("CVE-2", true), high("CVE-4", false), high("CVE-5", false)]
        );
    }

    #[test]
    fn the_images_id_is_not_its_digest() {
        let mut report = report();
        report["Metadata"]["RepoDigests"] = json!(null);
        let json = report.to_string();
        assert_eq!(read(&json).unwrap().digests, [""; 0]);
    }
}
