//! Where scan reports come from.

use super::verification::{Certificate, Keyless, TransparencyLog};
use image_admission_settings::{ReportIdentity, UnprovenIndexes};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Where reports come from.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reports {
    /// The first source that knows an image decides; it knows one that it has a report of, or says pending or failed.
    #[schemars(length(min = 1), extend("default" = [{"sbomscanner": {}}]))]
    pub sources: Option<Vec<Source>>,
    /// Where SBOMs come from, which `acceptance.packages` and `acceptance.licenses` need, and rules that ask for `sbomPackages`: the first source that has one of an image
    /// decides. Gates ask for them only where reports let an image in.
    #[schemars(extend("default" = [], "examples" = [[{"sbomscanner": {}}]]))]
    pub sboms: Option<Vec<SbomSource>>,
    /// Which platforms of an image must pass.
    #[schemars(extend("default" = "all"))]
    pub platforms: Option<Platforms>,
    /// An older report, or one of unknown age, counts as not available.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["72h"]))]
    pub max_age: Option<String>,
    /// Where VEX documents stand that take findings out, whatever the source is. They are looked for where a finding would reject.
    #[schemars(length(min = 1))]
    pub vex: Option<Vec<VexPlace>>,
    /// What becomes of an index whose bytes can't be rebuilt from what the host shows of it, so that nodes may read another
    /// image in it. Where one platform is listed in `platforms` and pinned, it makes no difference.
    #[schemars(extend("default" = "reject"))]
    pub unproven_indexes: Option<UnprovenIndexes>,
}

/// A source; set one.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct Source {
    /// Kubewarden's sbomscanner.
    #[serde(rename = "sbomscanner")]
    pub sbom_scanner: Option<SbomScanner>,
    /// Aqua's trivy-operator.
    pub trivy_operator: Option<TrivyOperator>,
    /// Artifacts beside the image in its registry, which somebody signed.
    pub registry: Option<Registry>,
    /// Kubescape.
    pub kubescape: Option<Kubescape>,
    /// Objects of any kind.
    pub custom: Option<Custom>,
}

/// A source of SBOMs; set one.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct SbomSource {
    /// Kubewarden's sbomscanner: its `SBOM` objects.
    #[serde(rename = "sbomscanner")]
    pub sbom_scanner: Option<SbomScanner>,
    /// Aqua's trivy-operator: its `SbomReport` objects.
    pub trivy_operator: Option<TrivyOperator>,
    /// Artifacts beside the image in its registry, SPDX or CycloneDX as JSON, which somebody signed.
    pub registry: Option<SbomRegistry>,
}

/// `all` that the image has, or a list.
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
    /// Namespaces whose reports are trusted: whoever can write there can clear an image.
    #[schemars(extend("default" = ["sbomscanner"]))]
    pub namespaces: Option<Vec<String>>,
    /// Trusts the workload's own namespace too, and so whoever can write reports there.
    #[schemars(extend("default" = false))]
    pub workload_namespace: Option<bool>,
    /// Names of the `Registry` resources that scan images; with them reports are found by name, which is faster.
    #[schemars(extend("default" = []))]
    pub registry_resources: Option<Vec<String>>,
}

/// The trivy-operator.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrivyOperator {
    /// Namespaces whose reports are trusted: whoever can write there can clear an image.
    #[schemars(extend("default" = []))]
    pub namespaces: Option<Vec<String>>,
    /// Trusts the workload's own namespace too, and so whoever can write reports there.
    #[schemars(extend("default" = true))]
    pub workload_namespace: Option<bool>,
    /// The platform that the operator scans, which its reports don't say.
    #[schemars(extend("default" = "linux/amd64"))]
    pub platform: Option<String>,
    /// What makes a report this image's.
    #[schemars(extend("default" = "digest"))]
    pub identity: Option<ReportIdentity>,
}

/// Artifacts beside the image; set `tagSuffix` or `artifactType`, and who must have signed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Registry {
    /// The artifact is at the tag `sha256-<hex>.<suffix>`.
    #[schemars(length(min = 1, max = 56), extend("default" = "scan"))]
    pub tag_suffix: Option<String>,
    /// The artifact has this type, in the index of referrers.
    #[schemars(extend("examples" = ["application/sarif+json"]))]
    pub artifact_type: Option<String>,
    /// The repository that it is in, where that isn't the image's own. `{registry}` and `{repository}` stand for the image's.
    #[schemars(extend("examples" = ["registry.example.com/reports/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed it, one of them.
    #[schemars(extend("default" = []))]
    pub attestors: Option<Vec<ReportAttestor>>,
    /// Believes reports that nobody signed: whoever can push to the repository can clear an image.
    #[schemars(extend("default" = false))]
    pub allow_unsigned: Option<bool>,
    /// The platform of reports that don't say theirs.
    #[schemars(extend("examples" = ["linux/amd64"]))]
    pub platform: Option<String>,
}

/// A place of VEX documents, OpenVEX or CycloneDX; set `tagSuffix` or `artifactType`, and who must have signed. What nobody
/// signed is never believed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VexPlace {
    /// The document is at the tag `sha256-<hex>.<suffix>`.
    #[schemars(length(min = 1, max = 56), extend("default" = "vex"))]
    pub tag_suffix: Option<String>,
    /// Documents have this type, in the index of referrers.
    #[schemars(extend("examples" = ["application/vnd.openvex+json"]))]
    pub artifact_type: Option<String>,
    /// The repository that they are in, where that isn't the image's own. `{registry}` and `{repository}` stand for the image's.
    #[schemars(extend("examples" = ["registry.example.com/vex/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed them, one of them for each.
    #[schemars(length(min = 1))]
    pub attestors: Vec<ReportAttestor>,
}

/// SBOMs beside the image; set `tagSuffix` or `artifactType`, and who must have signed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SbomRegistry {
    /// The artifact is at the tag `sha256-<hex>.<suffix>`.
    #[schemars(length(min = 1, max = 56), extend("default" = "sbom"))]
    pub tag_suffix: Option<String>,
    /// The artifact has this type, in the index of referrers.
    #[schemars(extend("examples" = ["application/spdx+json"]))]
    pub artifact_type: Option<String>,
    /// The repository that it is in, where that isn't the image's own. `{registry}` and `{repository}` stand for the image's.
    #[schemars(extend("examples" = ["registry.example.com/sboms/{repository}"]))]
    pub repository: Option<String>,
    /// Who may have signed it, one of them.
    #[schemars(extend("default" = []))]
    pub attestors: Option<Vec<ReportAttestor>>,
    /// Believes SBOMs that nobody signed: whoever can push to the repository can clear an image.
    #[schemars(extend("default" = false))]
    pub allow_unsigned: Option<bool>,
    /// The platform of SBOMs that don't say theirs.
    #[schemars(extend("examples" = ["linux/amd64"]))]
    pub platform: Option<String>,
}

/// Somebody whose signature counts.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReportAttestor {
    /// What messages call them.
    pub name: String,
    /// How they are recognised.
    pub cosign: ReportCosign,
}

/// How they are recognised; set one of `key`, `keyless` and `certificate`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["key"]}, {"required": ["keyless"]}, {"required": ["certificate"]}]))]
pub struct ReportCosign {
    /// By a public key.
    pub key: Option<InlineKey>,
    /// By a certificate that Sigstore issued.
    pub keyless: Option<Keyless>,
    /// By a certificate of an own authority.
    pub certificate: Option<Certificate>,
    /// What the signature must say beside that; not with `certificate`.
    #[schemars(extend("minProperties" = 1, "examples" = [{"env": "prod"}]))]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Whether the signature must stand in Sigstore's transparency log.
    pub ctlog: Option<TransparencyLog>,
}

/// A public key.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InlineKey {
    /// In PEM.
    #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
    pub data: String,
    /// How the signature was made; the host knows one way.
    #[schemars(extend("pattern" = "^[Ss][Hh][Aa]256$", "default" = "sha256"))]
    pub hash_algorithm: Option<String>,
}

/// Kubescape.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kubescape {
    /// The namespace that Kubescape keeps its reports in.
    #[schemars(extend("default" = "kubescape"))]
    pub namespace: Option<String>,
    /// The platform of images that it knows by the digest of their index.
    #[schemars(extend("default" = "linux/amd64"))]
    pub platform: Option<String>,
}

/// Objects of any kind. Its `apiVersion` and `kind` need an entry in the policy's `contextAwareResources`, and rights.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Custom {
    /// The `group/version` of the reports.
    pub api_version: String,
    /// The kind of the reports.
    pub kind: String,
    /// Namespaces whose reports are trusted: whoever can write there can clear an image.
    #[schemars(extend("default" = []))]
    pub namespaces: Option<Vec<String>>,
    /// Trusts the workload's own namespace too, and so whoever can write reports there.
    #[schemars(extend("default" = false))]
    pub workload_namespace: Option<bool>,
    /// The name of an image's report, with `{digest}`, `{digestHex}`, `{platformDigest}`, `{platformDigestHex}`,
    /// `{registry}`, `{repository}`, `{tag}` or `{namespace}` in it.
    #[schemars(extend("examples" = ["report-{digestHex}"]))]
    pub name: Option<String>,
    /// Instead of `name`: labels of all reports, `key=value`, with commas between them. Without both: all of the kind.
    #[schemars(extend("default" = ""))]
    pub selector: Option<String>,
    /// The platform of reports that don't say theirs.
    pub platform: Option<String>,
    /// What makes a report this image's.
    #[schemars(extend("default" = "digest"))]
    pub identity: Option<ReportIdentity>,
    /// Where a report says what.
    pub fields: Fields,
}

/// Paths of a report's fields, with dots; lists are passed through. At least whose report it is (`digest` or `image`), and
/// what it says (`findings` with `id` and `severity`, or `verdict`).
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
    /// When it was made.
    pub time: Option<String>,
    /// Its own verdict: `pass` or `fail`.
    pub verdict: Option<String>,
    /// Why the scan failed, where it did.
    pub error: Option<String>,
    /// The findings.
    #[schemars(extend("examples" = ["report.vulnerabilities"]))]
    pub findings: Option<String>,
    /// A finding's id, from the finding on.
    pub id: Option<String>,
    /// A finding's severity.
    pub severity: Option<String>,
    /// The version that a finding is fixed in.
    pub fixed_version: Option<String>,
    /// A finding's CVSS score.
    pub score: Option<String>,
    /// The name of a finding's package.
    pub package: Option<String>,
    /// The purl of a finding's package.
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
    /// Whether the image's operating system is past its end of life: true or false. A path from the report.
    pub end_of_life: Option<String>,
}
