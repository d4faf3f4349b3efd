//! Where scan reports come from, and for which platforms.

use super::acceptance::Epss;
use super::attached::{self, AttachedArtifacts, Unsigned};
use super::kinds;
use super::namespaces::is_namespace_name;
use super::read::{Choice, Problems, SettingsMap, wrong_type};
use super::refused;
use image_admission_image::platform::Platform;
use image_admission_untrusted::time::WrittenDuration;
use serde_json::Value;

/// Where scan reports come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reports {
    /// The first source that knows an image decides.
    pub sources: Vec<ReportSource>,
    /// Where SBOMs come from; the first source that has one of an image decides.
    pub sboms: Vec<SbomSource>,
    /// Which of a multi-platform image's reports must pass.
    pub platforms: Platforms,
    /// An older report counts as not available.
    pub max_age: Option<WrittenDuration>,
    /// Where VEX documents are. They clear findings of any source.
    pub vex: Vec<AttachedArtifacts>,
    /// What becomes of an index that may hold more than the host shows of it.
    pub unproven_indexes: UnprovenIndexes,
    /// Whether rejections for a missing report name the command that asks the companion for a scan.
    pub scan_on_demand: bool,
}

/// What becomes of an index that may hold more than the host shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UnprovenIndexes {
    /// The image is `scan_failed`, whatever `scanFailed` says.
    #[default]
    Reject,
    /// What the host shows is judged, with a warning: anyone who can push to the repository can bypass the scan.
    Warn,
}

impl Choice for UnprovenIndexes {
    const CHOICES: &'static [(&'static str, Self)] = &[("reject", Self::Reject), ("warn", Self::Warn)];
}

/// Where reports are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportSource {
    /// Kubewarden's sbomscanner.
    SbomScanner(SbomScanner),
    /// Aqua's trivy-operator.
    TrivyOperator(TrivyOperator),
    /// Artifacts beside the image.
    Registry(RegistryReports),
    /// Signed statements about the image.
    Attestation(RegistryReports),
    /// Kubescape.
    Kubescape(Kubescape),
    /// Objects of any kind.
    Custom(Box<CustomReports>),
}

/// Where SBOMs are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SbomSource {
    /// Kubewarden's sbomscanner.
    SbomScanner(SbomScanner),
    /// Aqua's trivy-operator.
    TrivyOperator(TrivyOperator),
    /// Artifacts beside the image.
    Registry(RegistryReports),
    /// Signed statements about the image.
    Attestation(RegistryReports),
}

/// Reports of Kubewarden's sbomscanner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SbomScanner {
    /// Namespaces whose reports are trusted.
    pub namespaces: Namespaces,
    /// Names of `Registry` resources that scan images, so that reports' names can be computed.
    pub registry_resources: Vec<String>,
}

/// Reports of Aqua's trivy-operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrivyOperator {
    /// Namespaces whose reports are trusted.
    pub namespaces: Namespaces,
    /// The platform that the operator scans; its reports don't name it.
    pub platform: Platform,
    /// What ties a report to the image.
    pub identity: ReportIdentity,
}

/// Reports beside the image in its registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryReports {
    /// Where they stand, and who must have signed them.
    pub attached: AttachedArtifacts,
    /// The platform of reports that name none.
    pub platform: Option<Platform>,
}

/// Reports of Kubescape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kubescape {
    /// The namespace that Kubescape keeps them in.
    pub namespace: String,
    /// The platform of images that it knows by the digest of their index.
    pub platform: Platform,
}

/// Reports of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomReports {
    /// `group/version`
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Namespaces whose reports are trusted.
    pub namespaces: Namespaces,
    /// How they are found.
    pub lookup: CustomLookup,
    /// The platform of reports that name none.
    pub platform: Option<Platform>,
    /// What ties a report to the image.
    pub identity: ReportIdentity,
    /// Where a report has its fields.
    pub fields: CustomFields,
}

/// How reports of any kind are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomLookup {
    /// By a name with placeholders like `{digestHex}`.
    Name(String),
    /// By a label selector, the same for every image; empty: all of the kind.
    Selector(String),
}

/// Dotted paths of a report's fields, which pass through lists. A finding's paths start at the finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomFields {
    /// A whole image reference.
    pub image: Option<String>,
    /// The registry's host.
    pub registry: Option<String>,
    /// The repository.
    pub repository: Option<String>,
    /// The tag.
    pub tag: Option<String>,
    /// The digest of the index or of the platform's manifest.
    pub digest: Option<String>,
    /// The platform.
    pub platform: Option<String>,
    /// When it was made.
    pub time: Option<String>,
    /// The report's own verdict: `pass` or `fail`.
    pub verdict: Option<String>,
    /// Why the scan failed, where it did.
    pub error: Option<String>,
    /// The findings.
    pub findings: Option<String>,
    /// A finding's id.
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

/// Namespaces whose reports are trusted as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespaces {
    /// By name.
    pub named: Vec<String>,
    /// Also the workload's own: whoever can write reports there can clear an image.
    pub of_workload: bool,
}

/// What makes a report this image's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ReportIdentity {
    /// A digest in the report.
    #[default]
    Digest,
    /// A digest or, in a report without one, the tag, which may have been another image's when it was scanned.
    Tag,
}

impl Choice for ReportIdentity {
    const CHOICES: &'static [(&'static str, Self)] = &[("digest", Self::Digest), ("tag", Self::Tag)];
}

/// Which platforms of a multi-platform image are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Platforms {
    /// Each that the index has.
    All,
    /// Those of the index that are listed.
    Listed(Vec<Platform>),
}

impl Reports {
    /// A source that scans one platform, and that platform, where others are to be judged, too, and no other source scans them: these
    /// wait for ever.
    pub fn of_one_platform(&self) -> Option<(&ReportSource, &Platform)> {
        let (first, others) = self.sources.split_first()?;
        let platform = first.scanned_platform()?;
        let is_wanted_alone =
            matches!(&self.platforms, Platforms::Listed(listed) if listed.iter().all(|listed| listed == platform));
        let scan_it_alone = others.iter().all(|source| source.scanned_platform() == Some(platform));
        (scan_it_alone && !is_wanted_alone).then_some((first, platform))
    }
}

impl Namespaces {
    /// Each namespace once, in the order of the look-ups.
    pub fn around<'a>(&'a self, workload: &'a str) -> Vec<&'a str> {
        let own = Some(workload).filter(|namespace| self.of_workload && !namespace.is_empty());
        let mut namespaces = Vec::new();
        for namespace in self.named.iter().map(String::as_str).chain(own) {
            if !namespaces.contains(&namespace) {
                namespaces.push(namespace);
            }
        }
        namespaces
    }
}

impl Reports {
    /// The documents that somebody must have signed, each with its path: `reports.sources[0].registry`.
    pub fn attached(&self) -> impl Iterator<Item = (String, &AttachedArtifacts)> {
        let sources = self.sources.iter().enumerate();
        let sources =
            sources.map(|(position, of)| (format!("reports.sources[{position}].{}", of.name()), of.artifacts()));
        let sboms = self.sboms.iter().enumerate();
        let sboms = sboms.map(|(position, of)| (format!("reports.sboms[{position}].{}", of.name()), of.artifacts()));
        let vex = self.vex.iter().enumerate();
        let vex = vex.map(|(position, place)| (format!("reports.vex[{position}]"), Some(place)));
        sources.chain(sboms).chain(vex).filter_map(|(path, of)| Some((path, of?)))
    }
}

impl ReportSource {
    /// As the settings spell it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SbomScanner(_) => "sbomscanner",
            Self::TrivyOperator(_) => "trivyOperator",
            Self::Registry(_) => "registry",
            Self::Attestation(_) => "attestation",
            Self::Kubescape(_) => "kubescape",
            Self::Custom(_) => "custom",
        }
    }

    /// Whether its findings can have CVSS scores.
    pub(super) fn has_scores(&self) -> bool {
        match self {
            Self::Custom(custom) => custom.fields.score.is_some(),
            Self::SbomScanner(_)
            | Self::TrivyOperator(_)
            | Self::Registry(_)
            | Self::Attestation(_)
            | Self::Kubescape(_) => true,
        }
    }

    /// Whether it lists findings, and none has a score.
    pub(super) fn lists_without_scores(&self) -> bool {
        matches!(self, Self::Custom(custom) if custom.fields.findings.is_some() && custom.fields.score.is_none())
    }

    /// Whether its findings have words for severities that are the scanner's own.
    pub(super) fn has_own_severities(&self) -> bool {
        matches!(self, Self::Custom(custom) if custom.fields.severity.is_some())
    }

    /// Whether its findings say when they, or their fixes, were published.
    pub(super) fn has_dates(&self) -> bool {
        match self {
            Self::TrivyOperator(_) | Self::Registry(_) | Self::Attestation(_) => true,
            Self::Custom(custom) => custom.fields.published.is_some(),
            Self::SbomScanner(_) | Self::Kubescape(_) => false,
        }
    }

    /// The one platform that its scanner scans, whatever others an image has.
    pub fn scanned_platform(&self) -> Option<&Platform> {
        match self {
            Self::TrivyOperator(operator) => Some(&operator.platform),
            Self::Kubescape(kubescape) => Some(&kubescape.platform),
            Self::SbomScanner(_) | Self::Registry(_) | Self::Attestation(_) | Self::Custom(_) => None,
        }
    }

    /// Whether its reports can say what is exploited in the wild.
    pub(super) fn tells_exploited(&self) -> bool {
        match self {
            Self::SbomScanner(_) | Self::Registry(_) | Self::Attestation(_) => true,
            Self::Custom(custom) => custom.fields.known_exploited.is_some(),
            Self::TrivyOperator(_) | Self::Kubescape(_) => false,
        }
    }

    /// Whether its findings say which versions fix them.
    pub(super) fn has_fixes(&self) -> bool {
        match self {
            Self::Custom(custom) => custom.fields.fixed_version.is_some(),
            Self::SbomScanner(_)
            | Self::TrivyOperator(_)
            | Self::Registry(_)
            | Self::Attestation(_)
            | Self::Kubescape(_) => true,
        }
    }

    /// Whether its findings can have what a gate compares: an EPSS score, a percentile, or either.
    pub(super) fn tells_likelihood(&self, epss: Epss) -> bool {
        match self {
            Self::SbomScanner(_) | Self::Registry(_) | Self::Attestation(_) => true,
            Self::Custom(custom) => {
                (epss.score.is_some() && custom.fields.epss_score.is_some())
                    || (epss.percentile.is_some() && custom.fields.epss_percentile.is_some())
            }
            Self::TrivyOperator(_) | Self::Kubescape(_) => false,
        }
    }

    /// Whether its reports can say that an image's operating system is past its end of life.
    pub(super) fn tells_end_of_life(&self) -> bool {
        match self {
            Self::TrivyOperator(_) | Self::Registry(_) | Self::Attestation(_) => true,
            Self::Custom(custom) => custom.fields.end_of_life.is_some(),
            Self::SbomScanner(_) | Self::Kubescape(_) => false,
        }
    }

    /// Why its reports don't say when they were made, if so. Each then counts as older than any `maxAge`.
    pub(super) fn why_undated(&self) -> Option<&'static str> {
        match self {
            Self::Kubescape(_) => Some("Kubescape's reports don't say when they were made"),
            Self::Custom(custom) if custom.fields.time.is_none() => {
                Some("`fields.time` of the custom source is not set")
            }
            Self::SbomScanner(_)
            | Self::TrivyOperator(_)
            | Self::Registry(_)
            | Self::Attestation(_)
            | Self::Custom(_) => None,
        }
    }

    /// The artifacts beside an image that any pusher can write, if it has such.
    pub(super) fn artifacts(&self) -> Option<&AttachedArtifacts> {
        match self {
            Self::Registry(registry) | Self::Attestation(registry) => Some(&registry.attached),
            Self::SbomScanner(_) | Self::TrivyOperator(_) | Self::Kubescape(_) | Self::Custom(_) => None,
        }
    }

    /// Whether its reports are named after the workload. It then needs the owners and the containers.
    pub fn names_workloads(&self) -> bool {
        match self {
            Self::TrivyOperator(_) => true,
            Self::SbomScanner(_) | Self::Registry(_) | Self::Attestation(_) | Self::Kubescape(_) | Self::Custom(_) => {
                false
            }
        }
    }
}

impl SbomSource {
    /// As the settings spell it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::SbomScanner(_) => "sbomscanner",
            Self::TrivyOperator(_) => "trivyOperator",
            Self::Registry(_) => "registry",
            Self::Attestation(_) => "attestation",
        }
    }

    /// The artifacts beside an image that any pusher can write, if it has such.
    pub(super) fn artifacts(&self) -> Option<&AttachedArtifacts> {
        match self {
            Self::Registry(registry) | Self::Attestation(registry) => Some(&registry.attached),
            Self::SbomScanner(_) | Self::TrivyOperator(_) => None,
        }
    }

    /// Whether its SBOMs are named after the workload.
    pub fn names_workloads(&self) -> bool {
        matches!(self, Self::TrivyOperator(_))
    }
}

/// Reads the settings of a source. None: they make no source.
type ReadSource = fn(&SettingsMap<'_, '_>, &mut Problems) -> Option<ReportSource>;

/// The sources by their keys, each with what reads its settings.
const SOURCES: [(&str, ReadSource); 6] = [
    ("sbomscanner", |map, problems| Some(ReportSource::SbomScanner(read_sbomscanner(map, problems)))),
    ("trivyOperator", |map, problems| Some(ReportSource::TrivyOperator(read_trivy_operator(map, problems)))),
    ("registry", |map, problems| Some(ReportSource::Registry(read_registry(map, &REPORTS, problems)))),
    ("attestation", |map, problems| Some(ReportSource::Attestation(read_attestation(map, &REPORTS, problems)))),
    ("kubescape", |map, problems| Some(ReportSource::Kubescape(read_kubescape(map, problems)))),
    ("custom", |map, problems| Some(ReportSource::Custom(Box::new(read_custom(map, problems)?)))),
];

/// The same for SBOMs.
type ReadSbomSource = fn(&SettingsMap<'_, '_>, &mut Problems) -> SbomSource;

/// The sources of SBOMs by their keys.
const SBOM_SOURCES: [(&str, ReadSbomSource); 4] = [
    ("sbomscanner", |map, problems| SbomSource::SbomScanner(read_sbomscanner(map, problems))),
    ("trivyOperator", |map, problems| SbomSource::TrivyOperator(read_trivy_operator(map, problems))),
    ("registry", |map, problems| SbomSource::Registry(read_registry(map, &SBOMS, problems))),
    ("attestation", |map, problems| SbomSource::Attestation(read_attestation(map, &SBOMS, problems))),
];

/// Artifacts beside an image: their default tag suffix, a type of predicates that have the same, and what any pusher could write.
struct Beside {
    suffix: &'static str,
    predicate_type: &'static str,
    danger: &'static str,
}

const REPORTS: Beside =
    Beside { suffix: "scan", predicate_type: "https://cosign.sigstore.dev/attestation/vuln/v1", danger: "a report" };
const SBOMS: Beside = Beside { suffix: "sbom", predicate_type: "https://cyclonedx.org/bom", danger: "an SBOM" };

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Reports {
    let default = SbomScanner {
        namespaces: Namespaces { named: vec!["sbomscanner".to_owned()], of_workload: false },
        registry_resources: Vec::new(),
    };
    let mut reports = Reports {
        sources: vec![ReportSource::SbomScanner(default)],
        sboms: Vec::new(),
        platforms: Platforms::All,
        max_age: None,
        vex: Vec::new(),
        unproven_indexes: UnprovenIndexes::default(),
        scan_on_demand: false,
    };
    let path = settings.path().key("reports");
    let Some(map) = SettingsMap::of(settings.get("reports"), &path, problems) else { return reports };
    let known = ["sources", "sboms", "platforms", "maxAge", "vex", "unprovenIndexes", "scanOnDemand"];
    map.known(&known, &refused::REPORTS, problems);
    reports.scan_on_demand = map.boolean("scanOnDemand", false, problems);
    reports.unproven_indexes = map.choice("unprovenIndexes", UnprovenIndexes::default(), problems);
    reports.max_age = map.duration("maxAge", problems);
    reports.vex = read_vex(&map, problems);
    if let Some(platforms) = map.get("platforms") {
        reports.platforms = read_platforms(platforms, &map, problems);
    }
    if let Some(entries) = map.list("sources", problems) {
        if entries.is_empty() {
            problems.add(
                path.key("sources"),
                "without a source no image has a report; leave it out for the default, `[{sbomscanner: {}}]`",
            );
        }
        reports.sources =
            read_sources(&map, ("sources", entries), &SOURCES, problems, |read, map, problems| read(map, problems));
    }
    if let Some(entries) = map.list("sboms", problems) {
        reports.sboms = read_sources(&map, ("sboms", entries), &SBOM_SOURCES, problems, |read, map, problems| {
            Some(read(map, problems))
        });
    }
    reports
}

/// The places of VEX documents. An unsigned document is never trusted: it is only somebody's word.
fn read_vex(reports: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<AttachedArtifacts> {
    let path = reports.path().key("vex");
    let Some(places) = reports.list("vex", problems) else { return Vec::new() };
    if places.is_empty() {
        problems.add(path, "no place is named; leave it out where there are no VEX documents");
    }
    let read = places.iter().enumerate().filter_map(|(position, place)| {
        let path = path.position(position);
        if !place.is_object() {
            problems.add(path, wrong_type("an object like `{attestors: [{name: security, cosign: …}]}`", place));
            return None;
        }
        let map = SettingsMap::of(Some(place), &path, problems)?;
        map.known(&[&attached::KEYS[..], &["predicateType"]].concat(), &refused::VEX, problems);
        let is_statement = map.has("predicateType");
        for key in ["tagSuffix", "artifactType"].into_iter().filter(|key| is_statement && map.has(key)) {
            problems.add(path.key(key), "statements have no place of their own; remove it, or `predicateType`");
        }
        let artifact = match is_statement {
            true => attached::read_predicate_type(&map, "https://openvex.dev/ns", problems),
            false => attached::read_artifact(&map, "vex", problems),
        };
        let unsigned = Unsigned { danger: "VEX documents", may_be_allowed: false };
        Some(attached::read(&map, artifact, unsigned, problems))
    });
    read.collect()
}

/// The sources of a list: one per entry, each named by a known key.
fn read_sources<R, S>(
    map: &SettingsMap<'_, '_>,
    (key, entries): (&str, &[Value]),
    known: &[(&'static str, R)],
    problems: &mut Problems,
    read: impl Fn(&R, &SettingsMap<'_, '_>, &mut Problems) -> Option<S>,
) -> Vec<S> {
    let path = map.path().key(key);
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let mut sources = Vec::new();
    for (position, value) in entries.iter().enumerate() {
        let path = path.position(position);
        if !value.is_object() {
            problems.add(path, wrong_type("an object like `{sbomscanner: {}}`", value));
            continue;
        }
        let Some(source) = SettingsMap::of(Some(value), &path, problems) else { continue };
        source.known(&names, &refused::SOURCES, problems);
        let written: Vec<&str> = source.entries().map(|(name, _)| name.as_str()).collect();
        match written.as_slice() {
            [name] => {
                let path = path.key(name);
                let Some(map) = SettingsMap::of(source.get(name), &path, problems) else { continue };
                let reader = known.iter().find(|(own, _)| own == name);
                sources.extend(reader.and_then(|(_, reader)| read(reader, &map, problems)));
            }
            [] => problems.add(path, "no source is named; use `{sbomscanner: {}}`"),
            more => problems.add(path, format!("one entry, one source: split {}", more.join(", "))),
        }
    }
    sources
}

fn read_sbomscanner(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> SbomScanner {
    map.known(&["namespaces", "workloadNamespace", "registryResources"], &[], problems);
    SbomScanner {
        namespaces: read_namespaces(map, &["sbomscanner"], false, problems),
        registry_resources: read_names(map, "registryResources", is_resource_name, "a resource", problems),
    }
}

fn read_trivy_operator(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> TrivyOperator {
    map.known(&["namespaces", "workloadNamespace", "platform", "identity"], &[], problems);
    TrivyOperator {
        namespaces: read_namespaces(map, &[], true, problems),
        platform: read_platform(map, problems).unwrap_or_else(Platform::linux_amd64),
        identity: map.choice("identity", ReportIdentity::default(), problems),
    }
}

fn read_registry(map: &SettingsMap<'_, '_>, beside: &Beside, problems: &mut Problems) -> RegistryReports {
    map.known(&[&attached::KEYS[..], &["allowUnsigned", "platform"]].concat(), &[], problems);
    let unsigned = Unsigned { danger: beside.danger, may_be_allowed: true };
    RegistryReports {
        attached: attached::read(map, attached::read_artifact(map, beside.suffix, problems), unsigned, problems),
        platform: read_platform(map, problems),
    }
}

fn read_attestation(map: &SettingsMap<'_, '_>, beside: &Beside, problems: &mut Problems) -> RegistryReports {
    map.known(&[&attached::STATEMENT_KEYS[..], &["platform"]].concat(), &[], problems);
    let unsigned = Unsigned { danger: beside.danger, may_be_allowed: false };
    RegistryReports {
        attached: attached::read(
            map,
            attached::read_predicate_type(map, beside.predicate_type, problems),
            unsigned,
            problems,
        ),
        platform: read_platform(map, problems),
    }
}

fn read_kubescape(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Kubescape {
    map.known(&["namespace", "platform"], &[], problems);
    let namespace = map.text("namespace", problems).unwrap_or("kubescape");
    if !is_namespace_name(namespace) {
        problems.add(map.path().key("namespace"), format!("`{namespace}` is not the name of a namespace"));
    }
    Kubescape {
        namespace: namespace.to_owned(),
        platform: read_platform(map, problems).unwrap_or_else(Platform::linux_amd64),
    }
}

const CUSTOM: [&str; 9] =
    ["apiVersion", "kind", "namespaces", "workloadNamespace", "name", "selector", "platform", "identity", "fields"];

/// The placeholders of a report's name.
pub const PLACEHOLDERS: [&str; 8] = [
    "{digest}",
    "{digestHex}",
    "{platformDigest}",
    "{platformDigestHex}",
    "{registry}",
    "{repository}",
    "{tag}",
    "{namespace}",
];

fn read_custom(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<CustomReports> {
    map.known(&CUSTOM, &[], problems);
    let path = map.path();
    let mut required = |key: &str, what: &str| {
        let text = map.text(key, problems).filter(|text| !text.is_empty());
        if text.is_none() {
            problems.add(path.key(key), what);
        }
        text.map(str::to_owned)
    };
    let api_version = required("apiVersion", "set the `group/version` of the reports");
    let kind = required("kind", "set the kind of the reports");
    if let (Some(api_version), Some(kind)) = (&api_version, &kind) {
        kinds::check_object(api_version, kind, *path, problems);
    }
    let lookup = match (map.text("name", problems), map.text("selector", problems)) {
        (Some(name), None) => {
            check_template(map, name, problems);
            CustomLookup::Name(name.to_owned())
        }
        (None, Some(selector)) => {
            if selector.contains(['{', '}']) {
                problems.add(
                    path.key("selector"),
                    "a selector is the same for every image: the host keeps a watch open for each different one",
                );
            } else if let Some(term) =
                selector.split(',').find(|term| !selector.is_empty() && !is_label_term(term.trim()))
            {
                problems.add(
                    path.key("selector"),
                    format!("`{term}` is not a label and its value, `key=value`; several are separated by commas"),
                );
            }
            CustomLookup::Selector(selector.to_owned())
        }
        (None, None) => CustomLookup::Selector(String::new()),
        (Some(_), Some(_)) => {
            problems.add(path.key("selector"), "`name` and `selector` are two ways; keep one of them");
            CustomLookup::Selector(String::new())
        }
    };
    let identity = map.choice("identity", ReportIdentity::default(), problems);
    let fields = read_fields(map, identity, problems);
    Some(CustomReports {
        namespaces: read_namespaces(map, &[], false, problems),
        platform: read_platform(map, problems),
        lookup,
        identity,
        fields,
        api_version: api_version?,
        kind: kind?,
    })
}

/// Whether a term of a selector is `key=value`. Objects' labels are compared with such terms again.
fn is_label_term(term: &str) -> bool {
    let is_name = |text: &str, more: &[u8]| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.') || more.contains(&b))
    };
    term.split_once('=').is_some_and(|(key, value)| !key.is_empty() && is_name(key, b"/") && is_name(value, b""))
}

fn check_template(map: &SettingsMap<'_, '_>, name: &str, problems: &mut Problems) {
    let path = map.path().key("name");
    let mut rest = name.to_owned();
    for placeholder in PLACEHOLDERS {
        rest = rest.replace(placeholder, "");
    }
    if rest.contains(['{', '}']) {
        problems.add(path, format!("`{name}` has a placeholder that isn't known; use {}", PLACEHOLDERS.join(", ")));
    } else if rest.contains(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.')) {
        problems.add(
            path,
            format!("`{name}` can't be an object's name, which has lower-case letters, digits, `-` and `.`"),
        );
    } else if rest == name {
        problems.add(path, format!("`{name}` is the same for every image; use one of {}", PLACEHOLDERS.join(", ")));
    }
}

const FIELDS: [&str; 22] = [
    "image",
    "registry",
    "repository",
    "tag",
    "digest",
    "platform",
    "time",
    "verdict",
    "error",
    "findings",
    "id",
    "severity",
    "fixedVersion",
    "score",
    "package",
    "purl",
    "published",
    "suppressed",
    "knownExploited",
    "epssScore",
    "epssPercentile",
    "endOfLife",
];

fn read_fields(map: &SettingsMap<'_, '_>, identity: ReportIdentity, problems: &mut Problems) -> CustomFields {
    let path = map.path().key("fields");
    let Some(fields) = SettingsMap::of(map.get("fields"), &path, problems) else { return CustomFields::default() };
    fields.known(&FIELDS, &[], problems);
    let mut field = |key: &str| {
        let text = fields.text(key, problems)?;
        if text.is_empty() || text.split('.').any(|step| step.is_empty() || step.contains(['[', ']', '*', ' ', '$'])) {
            problems
                .add(path.key(key), format!("`{text}` is not a path like `report.items.id`; lists are passed through"));
        }
        Some(text.to_owned())
    };
    let read = CustomFields {
        image: field("image"),
        registry: field("registry"),
        repository: field("repository"),
        tag: field("tag"),
        digest: field("digest"),
        platform: field("platform"),
        time: field("time"),
        verdict: field("verdict"),
        error: field("error"),
        findings: field("findings"),
        id: field("id"),
        severity: field("severity"),
        fixed_version: field("fixedVersion"),
        score: field("score"),
        package: field("package"),
        purl: field("purl"),
        published: field("published"),
        suppressed: field("suppressed"),
        known_exploited: field("knownExploited"),
        epss_score: field("epssScore"),
        epss_percentile: field("epssPercentile"),
        end_of_life: field("endOfLife"),
    };
    if read.image.is_none() && read.digest.is_none() {
        problems
            .add(path, "set `digest`, or `image` where reports name a whole reference: a report must say whose it is");
    } else if identity == ReportIdentity::Tag
        && read.image.is_none()
        && [&read.registry, &read.repository, &read.tag].iter().any(|path| path.is_none())
    {
        problems.add(path, "with `identity: tag`, set `image`, or `registry`, `repository` and `tag`");
    }
    match (&read.findings, &read.verdict) {
        (None, None) => problems.add(path, "set `findings`, `verdict` or both: a report must say something"),
        (Some(_), _) if read.id.is_none() || read.severity.is_none() => {
            problems.add(path, "`findings` needs `id` and `severity`, as paths from each finding");
        }
        _ => {}
    }
    read
}

fn read_namespaces(map: &SettingsMap<'_, '_>, named: &[&str], own: bool, problems: &mut Problems) -> Namespaces {
    let of_workload = map.boolean("workloadNamespace", own, problems);
    let named = if map.has("namespaces") {
        read_names(map, "namespaces", is_namespace_name, "a namespace", problems)
    } else {
        named.iter().map(|name| (*name).to_owned()).collect()
    };
    if named.is_empty() && !of_workload {
        problems
            .add(map.path().key("namespaces"), "no namespace is trusted, so that no report would ever count; name one");
    }
    Namespaces { named, of_workload }
}

fn read_names(
    map: &SettingsMap<'_, '_>,
    key: &str,
    is_name: fn(&str) -> bool,
    what: &str,
    problems: &mut Problems,
) -> Vec<String> {
    let path = map.path().key(key);
    let mut names = Vec::new();
    for (position, text) in map.texts(key, problems) {
        if !is_name(text) {
            problems.add(path.position(position), format!("`{text}` is not the name of {what}"));
        }
        names.push(text.to_owned());
    }
    names
}

fn read_platform(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Platform> {
    let text = map.text("platform", problems)?;
    let platform = Platform::parse(text);
    if platform.is_none() {
        problems.add(map.path().key("platform"), format!("`{text}` is not a platform like `linux/amd64`"));
    }
    platform
}

/// A DNS name, as Kubernetes names most resources.
pub(super) fn is_resource_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_namespace_name)
}

fn read_platforms(value: &Value, map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Platforms {
    if value.as_str() == Some("all") {
        return Platforms::All;
    }
    let path = map.path().key("platforms");
    if !value.is_array() {
        problems.add(path, wrong_type("`all`, or a list like `[linux/amd64]`", value));
        return Platforms::All;
    }
    let mut platforms = Vec::new();
    let texts = map.texts("platforms", problems);
    if value.as_array().is_some_and(Vec::is_empty) {
        problems.add(path, "an empty list would leave nothing to judge; use `all`, or name platforms");
    }
    for (position, text) in texts {
        match Platform::parse(text) {
            Some(platform) => platforms.push(platform),
            None => problems.add(
                path.position(position),
                format!("`{text}` is not a platform like `linux/amd64` or `linux/arm/v7`"),
            ),
        }
    }
    Platforms::Listed(platforms)
}
