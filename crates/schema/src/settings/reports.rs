//! Where scan reports come from.

use super::verification::{Cosign, Notary};
use image_admission_settings::{ReportIdentity, UnprovenIndexes};
use schemars::JsonSchema;

/// Where reports come from.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reports {
    /// The first source that knows an image decides: it has a report, or a pending or failed scan.
    #[schemars(length(min = 1), extend("default" = [{"sbomscanner": {}}]))]
    pub sources: Option<Vec<Source>>,
    /// Where SBOMs come from, for `acceptance.packages`, `acceptance.licenses`, and rules with `sbomPackages`. The first source
    /// with an SBOM of the image decides. Gates read it only if the reports let the image in.
    #[schemars(extend("default" = [], "examples" = [[{"sbomscanner": {}}]]))]
    pub sboms: Option<Vec<SbomSource>>,
    /// Which platforms of an image must pass.
    #[schemars(extend("default" = "all"))]
    pub platforms: Option<Platforms>,
    /// An older report, or one of unknown age, counts as not available.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["72h"]))]
    pub max_age: Option<String>,
    /// Where VEX documents are. They clear findings of any source, and are read only if a finding would reject.
    #[schemars(length(min = 1))]
    pub vex: Option<Vec<VexPlace>>,
    /// For indexes whose bytes can't be rebuilt from what the host shows: nodes may read another image in them. It makes no
    /// difference if `platforms` lists one platform, and that is pinned.
    #[schemars(extend("default" = "reject"))]
    pub unproven_indexes: Option<UnprovenIndexes>,
    /// Rejections of Pods without a report end with the command that asks for a scan, `image-admission scan`. Set it where the
    /// companion runs.
    #[schemars(extend("default" = false))]
    pub scan_on_demand: Option<bool>,
}

/// A source. Set one.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Source {
    /// Kubewarden's sbomscanner.
    #[serde(rename = "sbomscanner")]
    pub sbom_scanner: Option<SbomScanner>,
    /// Aqua's trivy-operator.
    pub trivy_operator: Option<TrivyOperator>,
    /// Signed artifacts beside the image in its registry.
    pub registry: Option<Registry>,
    /// Signed attestations of scans.
    pub attestation: Option<AttestedReport>,
    /// Kubescape.
    pub kubescape: Option<Kubescape>,
    /// Objects of any kind.
    pub custom: Option<Custom>,
}

/// A source of SBOMs. Set one.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct SbomSource {
    /// `SBOM` objects of Kubewarden's sbomscanner.
    #[serde(rename = "sbomscanner")]
    pub sbom_scanner: Option<SbomScanner>,
    /// `SbomReport` objects of Aqua's trivy-operator.
    pub trivy_operator: Option<TrivyOperator>,
    /// Signed artifacts beside the image in its registry: SPDX or CycloneDX as JSON.
    pub registry: Option<SbomRegistry>,
    /// Signed attestations: SPDX or CycloneDX.
    pub attestation: Option<AttestedSbom>,
}

/// `all` of the image, or a list.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Platforms {
    /// Each that the image has.
    All(#[schemars(extend("const" = "all"))] String),
    /// These, as far as the image has them.
    Listed(#[schemars(length(min = 1), extend("examples" = [["linux/amd64", "linux/arm64"]]))] Vec<String>),
}

/// The sbomscanner.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SbomScanner {
    /// Trusted namespaces. Anyone who can write reports there can clear an image.
    #[schemars(extend("default" = ["sbomscanner"]))]
    pub namespaces: Option<Vec<String>>,
    /// Trusts the workload's own namespace too, and so its report writers.
    #[schemars(extend("default" = false))]
    pub workload_namespace: Option<bool>,
    /// The `Registry` resources that scan images. With their names, reports are found faster.
    #[schemars(extend("default" = []))]
    pub registry_resources: Option<Vec<String>>,
}

/// The trivy-operator.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrivyOperator {
    /// Trusted namespaces. Anyone who can write reports there can clear an image.
    #[schemars(extend("default" = []))]
    pub namespaces: Option<Vec<String>>,
    /// Trusts the workload's own namespace too, and so its report writers.
    #[schemars(extend("default" = true))]
    pub workload_namespace: Option<bool>,
    /// The platform that the operator scans, which its reports don't name.
    #[schemars(extend("default" = "linux/amd64"))]
    pub platform: Option<String>,
    /// What ties a report to the image.
    #[schemars(extend("default" = "digest"))]
    pub identity: Option<ReportIdentity>,
}

/// Artifacts beside the image. Set `tagSuffix` or `artifactType`, and who must have signed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registry {
    /// The artifact's tag is `sha256-<hex>.<suffix>`.
    #[schemars(length(min = 1, max = 56), extend("default" = "scan"))]
    pub tag_suffix: Option<String>,
    /// The artifact's type in the index of referrers.
    #[schemars(extend("examples" = ["application/sarif+json"]))]
    pub artifact_type: Option<String>,
    /// Its repository, if not the image's own. `{registry}` and `{repository}` are the image's.
    #[schemars(extend("examples" = ["registry.example.com/reports/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed it. One is enough.
    #[schemars(extend("default" = []))]
    pub attestors: Option<Vec<ReportAttestor>>,
    /// Trusts unsigned reports: anyone who can push to the repository can clear an image.
    #[schemars(extend("default" = false))]
    pub allow_unsigned: Option<bool>,
    /// The platform of reports that don't name theirs.
    #[schemars(extend("examples" = ["linux/amd64"]))]
    pub platform: Option<String>,
}

/// Where VEX documents are, OpenVEX or CycloneDX. Set `tagSuffix`, `artifactType` or `predicateType`, and who must have signed. An
/// unsigned document is never trusted.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VexPlace {
    /// The document's tag is `sha256-<hex>.<suffix>`.
    #[schemars(length(min = 1, max = 56), extend("default" = "vex"))]
    pub tag_suffix: Option<String>,
    /// The documents' type in the index of referrers.
    #[schemars(extend("examples" = ["application/vnd.openvex+json"]))]
    pub artifact_type: Option<String>,
    /// The type of the predicate of signed attestations: evidence, beside the image and in the cluster.
    #[schemars(length(min = 1), extend("examples" = ["https://openvex.dev/ns"]))]
    pub predicate_type: Option<String>,
    /// Their repository, if not the image's own. `{registry}` and `{repository}` are the image's.
    #[schemars(extend("examples" = ["registry.example.com/vex/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed a document. One is enough.
    #[schemars(length(min = 1))]
    pub attestors: Vec<ReportAttestor>,
}

/// SBOMs beside the image. Set `tagSuffix` or `artifactType`, and who must have signed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SbomRegistry {
    /// The artifact's tag is `sha256-<hex>.<suffix>`.
    #[schemars(length(min = 1, max = 56), extend("default" = "sbom"))]
    pub tag_suffix: Option<String>,
    /// The artifact's type in the index of referrers.
    #[schemars(extend("examples" = ["application/spdx+json"]))]
    pub artifact_type: Option<String>,
    /// Its repository, if not the image's own. `{registry}` and `{repository}` are the image's.
    #[schemars(extend("examples" = ["registry.example.com/sboms/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed it. One is enough.
    #[schemars(extend("default" = []))]
    pub attestors: Option<Vec<ReportAttestor>>,
    /// Trusts unsigned SBOMs: anyone who can push to the repository can clear an image.
    #[schemars(extend("default" = false))]
    pub allow_unsigned: Option<bool>,
    /// The platform of SBOMs that don't name theirs.
    #[schemars(extend("examples" = ["linux/amd64"]))]
    pub platform: Option<String>,
}

/// A signer who is trusted. Set `cosign` or `notary`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["cosign"]}, {"required": ["notary"]}]))]
pub struct ReportAttestor {
    /// The name in messages.
    pub name: String,
    /// The signer's key, identity or certificate, as in `imageVerification[].attestors`.
    pub cosign: Option<Cosign>,
    /// Whose certificates count, for artifacts that `notation` signed. It makes no attestations.
    pub notary: Option<Notary>,
}

/// Signed attestations: evidence, beside the image or in the cluster. The predicate is the report.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttestedReport {
    /// The type of the predicate, as `cosign attest --type` and GitHub's actions write it.
    #[schemars(length(min = 1), extend("examples" = ["https://cosign.sigstore.dev/attestation/vuln/v1"]))]
    pub predicate_type: String,
    /// Their repository, if not the image's own. `{registry}` and `{repository}` are the image's.
    #[schemars(extend("examples" = ["registry.example.com/reports/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed one. One is enough.
    #[schemars(length(min = 1))]
    pub attestors: Vec<ReportAttestor>,
    /// The platform of reports that don't name theirs.
    #[schemars(extend("examples" = ["linux/amd64"]))]
    pub platform: Option<String>,
}

/// Signed attestations: evidence, beside the image or in the cluster. The predicate is the SBOM, SPDX or CycloneDX.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttestedSbom {
    /// The type of the predicate, as `cosign attest --type` and GitHub's actions write it.
    #[schemars(length(min = 1), extend("examples" = ["https://cyclonedx.org/bom", "https://spdx.dev/Document/v2.3"]))]
    pub predicate_type: String,
    /// Their repository, if not the image's own. `{registry}` and `{repository}` are the image's.
    #[schemars(extend("examples" = ["registry.example.com/sboms/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed one. One is enough.
    #[schemars(length(min = 1))]
    pub attestors: Vec<ReportAttestor>,
    /// The platform of SBOMs that don't name theirs.
    #[schemars(extend("examples" = ["linux/amd64"]))]
    pub platform: Option<String>,
}

/// Kubescape.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubescape {
    /// The namespace of Kubescape's reports.
    #[schemars(extend("default" = "kubescape"))]
    pub namespace: Option<String>,
    /// The platform of reports that name only an index's digest.
    #[schemars(extend("default" = "linux/amd64"))]
    pub platform: Option<String>,
}

/// Objects of any kind. Its `apiVersion` and `kind` need an entry in the policy's `contextAwareResources`, and rights.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Custom {
    /// The reports' `group/version`.
    pub api_version: String,
    /// The reports' kind.
    pub kind: String,
    /// Trusted namespaces. Anyone who can write reports there can clear an image.
    #[schemars(extend("default" = []))]
    pub namespaces: Option<Vec<String>>,
    /// Trusts the workload's own namespace too, and so its report writers.
    #[schemars(extend("default" = false))]
    pub workload_namespace: Option<bool>,
    /// The name of the image's report, with `{digest}`, `{digestHex}`, `{platformDigest}`, `{platformDigestHex}`, `{registry}`,
    /// `{repository}`, `{tag}` or `{namespace}` in it.
    #[schemars(extend("examples" = ["report-{digestHex}"]))]
    pub name: Option<String>,
    /// Labels of all reports instead of `name`: `key=value`, separated by commas. Without both: all objects of the kind.
    #[schemars(extend("default" = ""))]
    pub selector: Option<String>,
    /// The platform of reports that don't name theirs.
    pub platform: Option<String>,
    /// What ties a report to the image.
    #[schemars(extend("default" = "digest"))]
    pub identity: Option<ReportIdentity>,
    /// Dotted paths of a report's fields. Lists are passed through.
    pub fields: Fields,
}

/// Dotted paths of a report's fields. Lists are passed through. It needs `digest` or `image`; and `verdict`, or `findings` with
/// `id` and `severity`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fields {
    /// A whole image reference.
    pub image: Option<String>,
    /// The registry's host.
    pub registry: Option<String>,
    /// The repository.
    pub repository: Option<String>,
    /// The tag.
    pub tag: Option<String>,
    /// The digest of the image's index, or of a platform's manifest.
    #[schemars(extend("examples" = ["report.artifact.digest"]))]
    pub digest: Option<String>,
    /// The platform, like `linux/amd64`.
    pub platform: Option<String>,
    /// When the report was made.
    pub time: Option<String>,
    /// The report's own verdict: `pass` or `fail`.
    pub verdict: Option<String>,
    /// Why the scan failed, if it did.
    pub error: Option<String>,
    /// The findings. The paths of their fields start at a finding.
    #[schemars(extend("examples" = ["report.vulnerabilities"]))]
    pub findings: Option<String>,
    /// A finding's id.
    pub id: Option<String>,
    /// A finding's severity.
    pub severity: Option<String>,
    /// A finding's fixed version.
    pub fixed_version: Option<String>,
    /// A finding's CVSS score.
    pub score: Option<String>,
    /// A finding's package name.
    pub package: Option<String>,
    /// A finding's purl.
    pub purl: Option<String>,
    /// When a finding, or its fix, was published.
    pub published: Option<String>,
    /// Whether a finding is suppressed.
    pub suppressed: Option<String>,
    /// Whether a finding is exploited in the wild: true or false.
    pub known_exploited: Option<String>,
    /// A finding's EPSS score, 0 to 1.
    pub epss_score: Option<String>,
    /// A finding's EPSS percentile, 0 to 1.
    pub epss_percentile: Option<String>,
    /// Whether the image's operating system is past its end of life: true or false.
    pub end_of_life: Option<String>,
}
