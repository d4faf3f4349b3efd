//! Settings: read once, into types that can't be wrong, with every problem reported together.
//!
//! ```text
//! read (values with their paths, problems that add up) ── one file for each object of the settings ── lib (all of them)
//! refused (keys that mean nothing here) · config_map (settings inside of a ConfigMap) · list_in_cluster (a list in one)
//! policy (which rule decides an image) · lint (what is valid, and may not be meant)
//! ```
//!
//! They are read by hand: `serde` stops at the first problem, and names no path ([why they are described
//! twice](../../../docs/decisions/settings-are-described-twice.md)). This crate never looks at a request, and never evaluates Rego or CEL:
//! rules and expressions are strings here.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::disallowed_macros)]

mod acceptance;
mod attached;
mod attestors;
mod break_glass;
mod config_map;
mod evidence;
mod exemptions;
mod exemptions_from;
mod glob;
mod kinds;
mod lint;
mod list_in_cluster;
mod message;
mod namespaces;
mod phases;
mod pin;
pub mod policy;
mod prefix;
mod read;
mod refused;
mod registries;
mod rego;
mod reports;
mod repository;
mod verification;

use read::{Path, Problems, SettingsMap};
use serde_json::{Map, Value};
use std::fmt;

pub use acceptance::{
    Acceptance, Count, CvssLimit, DeniedPackage, Epss, GateAction, GracePeriods, KnownExploited, LicenseGate, Limit,
    Limits, MissingScores, PackageGate, UnknownLicense,
};
pub use attached::{Artifact, AttachedArtifacts};
pub use attestors::{Attestor, Identity, KeyReference, Notary, TextMatch, TextSource, TrustStore};
pub use break_glass::{BreakGlass, GuardedResource};
pub use evidence::{Evidence, EvidenceObject, Thresholds};
pub use exemptions::{Exemption, Pattern, UNSAID_REASON};
pub use exemptions_from::{ExemptionObject, ExemptionsFrom, VoidExemption};
pub use glob::Glob;
pub use image_admission_scan_report::license::{LicenseList, LicensePattern};
pub use image_admission_scan_report::purl::PurlPattern;
pub use image_admission_scan_report::severity::Severity;
pub use image_admission_scan_report::version::VersionRange;
pub use kinds::{KindPattern, plural};
pub use lint::{Lint, LintFix, LintRule, LintSeverity, lint_namespaced_rules};
pub use list_in_cluster::ListInCluster;
pub use message::{Message, MessageStyle, RULE};
pub use namespaces::{ByNamespace, NamespacePattern};
pub use phases::{
    CustomPolicy, Effect, EffectiveFallbacks, FailureFallback, Fallback, ForgivenBy, ImageMatching, NamespaceOverride,
    Phase, PhaseAction, PreScanAction, ScanAction, StatusFallbacks,
};
pub use pin::Pin;
pub use prefix::Prefix;
pub use registries::{Mirror, MirrorAsk, Mirrors};
pub use rego::{ContextKind, Rego, RegoLibrary, RegoPolicy, RegoVersion};
pub use reports::{
    CustomFields, CustomLookup, CustomReports, Kubescape, Namespaces, PLACEHOLDERS, Platforms, RegistryReports,
    ReportIdentity, ReportSource, Reports, SbomScanner, SbomSource, TrivyOperator, UnprovenIndexes,
};
pub use repository::ArtifactRepository;
pub use verification::{
    Attestation, AttestationKind, ExistingImages, Expression, FailureAction, IMAGE_LISTS, ImageRules, NamedExpression,
    ResourceRule, Verification, VerificationPolicy,
};

/// The most different images that one request may name, unless the settings say otherwise.
const MAX_IMAGES: usize = 50;

/// The most calls to the host that one request may make, unless the settings say otherwise.
const MAX_HOST_CALLS: usize = 400;

/// The policy's settings.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `preScanPolicies`: what happens to an image before anything is known about it.
    pub pre_scan: Phase<PreScanAction>,
    /// `scanPolicies`, or `policies`: what happens to an image once its scan's status is known.
    pub scan: Phase<ScanAction>,
    /// Which name of an image prefixes are compared with.
    pub image_matching: ImageMatching,
    /// Canonical hosts of the only registries that may be contacted; empty: any.
    pub registries: Vec<String>,
    /// The mirrors of some of them.
    pub mirrors: Mirrors,
    /// The most different images that one request may name.
    pub max_images: usize,
    /// The most calls to the host that one request may make.
    pub max_host_calls: usize,
    /// Log what was decided on, and why.
    pub verbose_log: bool,
    /// Whether, and in which kinds, images are pinned.
    pub pin: Pin,
    /// Strings that stand for an image in controllers' templates until another webhook replaces them in the Pod.
    pub placeholders: Vec<String>,
    /// Where scan reports come from.
    pub reports: Reports,
    /// When a scan report is accepted.
    pub acceptance: Acceptance,
    /// Findings that don't count, in the order in which they are tried.
    pub exemptions: Vec<Exemption>,
    /// `exemptionsFrom`: where objects are that exempt findings.
    pub exemptions_from: Option<Box<ExemptionsFrom>>,
    /// `evidence`: signatures that the policy verifies itself.
    pub evidence: Evidence,
    /// `imageVerification`: who must have signed an image, and what must be attested of it.
    pub verification: Vec<VerificationPolicy>,
    /// Rules in Rego, and what they read.
    pub rego: Rego,
    /// `breakGlass`: who may let a request through.
    pub break_glass: Option<Box<BreakGlass>>,
    /// `message`: how rejections are worded; none: as by default.
    pub message: Option<Box<Message>>,
    /// The keys of those written settings that only a scan reads.
    of_scan: Written,
}

/// Keys that are written, with whatever value.
#[derive(Clone)]
struct Written(Vec<&'static str>);

/// Settings with the same meaning print the same, however they are written.
impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_")
    }
}

impl Settings {
    /// Reads the settings; `null` means all defaults.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn read(value: &Value) -> Result<Self, InvalidSettings> {
        let mut problems = Problems::default();
        let settings = read_all(value, &mut problems);
        match settings {
            Some(settings) if problems.is_empty() => Ok(settings),
            _ => Err(InvalidSettings(problems.into_texts())),
        }
    }

    /// The settings without a ConfigMap or its string around them.
    pub fn unwrapped(value: &Value) -> Value {
        let mut problems = Problems::default();
        let map = SettingsMap::of(Some(value), Path::root(), &mut problems);
        let inner = map.and_then(|map| config_map::unwrapped(&map, &mut problems));
        inner.unwrap_or_else(|| value.clone())
    }

    /// Whether `registries` names a host. Any other may belong to the workload's author, and fail on purpose.
    pub fn names_registry(&self, host: &str) -> bool {
        self.registries.iter().any(|listed| listed == host)
    }

    /// Whether a failure at a registry may be an outage. It may if the settings name the registry, for images or for artifacts
    /// about them.
    pub fn may_be_down(&self, host: &str) -> bool {
        let reports = self.reports.sources.iter().filter_map(ReportSource::artifacts);
        let reports = reports.chain(&self.reports.vex);
        let attestations = self.verification.iter().flat_map(|policy| &policy.attestations);
        let sboms = self.reports.sboms.iter().filter_map(SbomSource::artifacts);
        let mut repositories = reports
            .chain(sboms)
            .filter_map(|reports| reports.repository.as_ref())
            .chain(attestations.filter_map(|attestation| attestation.repository.as_ref()));
        self.names_registry(host) || repositories.any(|repository| repository.host() == host)
    }

    /// Whether rules or expressions may read what is known of an image: these may admit it where no report is there.
    #[must_use]
    pub fn rules_read_reports(&self) -> bool {
        let Rego { custom_rules, policies, libraries, .. } = &self.rego;
        let mut rules = policies.iter().map(|own| &own.rego).chain(libraries.iter().map(|own| &own.rego));
        let mut expressions = self.verification.iter().flat_map(VerificationPolicy::deciding_expressions);
        // `input.scanReports` of rules, `scanReport(image)` of expressions.
        !custom_rules.is_empty()
            || rules.any(|rego| rego.contains("scanReports"))
            || expressions.any(|expression| expression.text.contains("scanReport"))
    }

    /// The same settings, as far as they say which images need a report, and which report counts: without limits, exemptions, VEX
    /// documents, signatures of images, rules and break glass.
    #[must_use]
    pub fn only_reports(&self) -> Self {
        let reports = Reports { vex: Vec::new(), sboms: Vec::new(), ..self.reports.clone() };
        Self {
            reports,
            acceptance: Acceptance::default(),
            exemptions: Vec::new(),
            exemptions_from: None,
            verification: Vec::new(),
            rego: Rego::default(),
            break_glass: None,
            ..self.clone()
        }
    }

    /// Reads settings as far as they can be read, and returns all problems. Rego and CEL in them aren't checked.
    pub fn read_partly(value: &Value) -> (Option<Self>, Vec<String>) {
        let mut problems = Problems::default();
        let settings = read_all(value, &mut problems);
        (settings, problems.into_texts())
    }
}

/// Everything that is wrong with settings: one line each, with the path of the setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidSettings(pub Vec<String>);

impl fmt::Display for InvalidSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::error::Error for InvalidSettings {}

/// The names of all settings.
pub const KEYS: [&str; 24] = [
    "preScanPolicies",
    "scanPolicies",
    "policies",
    "verboseLog",
    "imageMatching",
    "registries",
    "maxImages",
    "maxHostCalls",
    "reports",
    "acceptance",
    "exemptions",
    "exemptionsFrom",
    "evidence",
    "imageVerification",
    "pin",
    "placeholders",
    "preCustomRules",
    "customRules",
    "regoVersion",
    "regoPolicies",
    "regoLibraries",
    "context",
    "breakGlass",
    "message",
];

/// The settings that only a scan reads.
const OF_SCAN: [&str; 7] =
    ["scanPolicies", "policies", "reports", "acceptance", "exemptions", "exemptionsFrom", "customRules"];

fn read_all(value: &Value, problems: &mut Problems) -> Option<Settings> {
    let map = SettingsMap::of(Some(value), Path::root(), problems)?;
    match config_map::unwrapped(&map, problems) {
        Some(inner) => Some(read_map(SettingsMap::of(Some(&inner), Path::root(), problems)?, problems)),
        None => Some(read_map(map, problems)),
    }
}

fn read_map(map: SettingsMap<'_, '_>, problems: &mut Problems) -> Settings {
    let root = Path::root();
    let pasted = map.entries().map(|(key, _)| key.as_str()).filter(|key| rego::is_conftest(key));
    let keys: Vec<&str> = KEYS.into_iter().chain(pasted).collect();
    map.known(&keys, &refused::SETTINGS, problems);

    let image_matching = map.choice("imageMatching", ImageMatching::default(), problems);
    let scan_key = if map.has("policies") { "policies" } else { "scanPolicies" };
    if map.has("policies") && map.has("scanPolicies") {
        problems.add(root.key("policies"), "`policies` and `scanPolicies` are the same setting; keep one of them");
        // Its values are dropped, its problems are reported.
        phases::read::<ScanAction>(&map, "scanPolicies", image_matching, problems);
    }

    let mut most = |key, default| match map.number(key, problems) {
        Some(0) => {
            problems.add(root.key(key), "`0` would reject every workload; use a number from 1");
            default
        }
        Some(number) => usize::try_from(number).unwrap_or(usize::MAX),
        None => default,
    };
    let (max_images, max_host_calls) = (most("maxImages", MAX_IMAGES), most("maxHostCalls", MAX_HOST_CALLS));

    let pre_scan = phases::read(&map, "preScanPolicies", image_matching, problems);
    let scan = phases::read(&map, scan_key, image_matching, problems);
    let (registries, mirrors) = registries::read(&map, problems);

    let settings = Settings {
        pre_scan,
        scan,
        image_matching,
        registries,
        mirrors,
        max_images,
        max_host_calls,
        verbose_log: map.boolean("verboseLog", false, problems),
        pin: pin::read(&map, problems),
        placeholders: map.texts("placeholders", problems).into_iter().map(|(_, text)| text.to_owned()).collect(),
        reports: reports::read(&map, problems),
        acceptance: acceptance::read(&map, problems),
        exemptions: exemptions::read(&map, problems),
        exemptions_from: exemptions_from::read(&map, problems).map(Box::new),
        evidence: evidence::read(&map, problems),
        verification: verification::read(&map, problems),
        rego: rego::read(&map, problems),
        break_glass: break_glass::read(&map, problems).map(Box::new),
        message: message::read(&map, problems),
        of_scan: Written(
            OF_SCAN.into_iter().filter(|key| map.get(key).is_some_and(|value| !is_empty(value))).collect(),
        ),
    };
    nothing_decides(&settings, scan_key, problems);
    sources_must_tell(&settings, problems);
    if !settings.reports.vex.is_empty() && settings.acceptance.ignores_vex_everywhere() {
        problems.add_at(
            "reports.vex",
            "no document would ever be read, since `acceptance.ignoreVexStatus` is true; remove one of them".to_owned(),
        );
    }
    if settings.reports.sboms.is_empty() {
        for setting in settings.acceptance.of_contents() {
            problems.add_at(
                &setting,
                "nothing tells what an image is made of: name where SBOMs come from in `reports.sboms`",
            );
        }
    }
    settings
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty) || value == ""
}

/// Refuses a phase without generated and custom rules: it would decide nothing.
fn nothing_decides(settings: &Settings, scan_key: &str, problems: &mut Problems) {
    let phases = [
        ("preScanPolicies", settings.pre_scan.auto_generate, "preCustomRules", &settings.rego.pre_custom_rules),
        (scan_key, settings.scan.auto_generate, "customRules", &settings.rego.custom_rules),
    ];
    for (phase, generated, key, rules) in phases {
        if !generated && rules.is_empty() {
            problems.add_at(
                &format!("{phase}.autoGenerate"),
                format!("without generated rules nothing would decide; write rules in `{key}`, or use true"),
            );
        }
    }
}

/// Refuses a gate that no report can answer: it would admit nothing, or reject nothing.
fn sources_must_tell(settings: &Settings, problems: &mut Problems) {
    let sources = &settings.reports.sources;
    if sources.is_empty() {
        return;
    }
    if !sources.iter().any(ReportSource::has_dates) {
        let running = settings.acceptance.running().into_iter().map(|path| format!("{path}.grace"));
        for setting in settings.acceptance.grace_periods().into_iter().chain(running) {
            problems.add_at(
                &setting,
                format!(
                    "no source has dates of fixes or vulnerabilities ({}); trivyOperator and registry have, and custom with `fields.published`",
                    sources.iter().map(ReportSource::name).collect::<Vec<_>>().join(", ")
                ),
            );
        }
    }
    if !sources.iter().any(ReportSource::has_scores) {
        for setting in settings.acceptance.cvss_scores() {
            problems.add_at(&setting, "no source has scores; name the field of a finding's score in `fields.score`");
        }
    }
    if !sources.iter().any(ReportSource::has_fixes) {
        for (position, _) in settings.exemptions.iter().enumerate().filter(|(_, exemption)| exemption.expire_on_fix) {
            problems.add_at(
                &format!("exemptions[{position}].expireOnFix"),
                "no source says what is fixed, so that this would never end it; name the field of a fix in `fields.fixedVersion`",
            );
        }
    }
    for (setting, action) in settings.acceptance.exploited_by_reports() {
        if let Some(silent) = silent_sources(sources, action, ReportSource::tells_exploited) {
            problems.add_at(
                &setting,
                format!("reports of {silent} don't say what is exploited: name a list of the cluster in `from`"),
            );
        }
    }
    for (setting, epss) in settings.acceptance.likelihoods() {
        if let Some(silent) = silent_sources(sources, epss.action, |source| source.tells_likelihood(epss)) {
            let what = match (epss.score, epss.percentile) {
                (None, Some(_)) => "EPSS percentiles",
                _ => "EPSS scores",
            };
            problems.add_at(
                &setting,
                format!(
                    "reports of {silent} have no {what}; those of Grype in registry and of sbomscanner may have, and of custom with `fields.epssScore` or `fields.epssPercentile`"
                ),
            );
        }
    }
    for (setting, action) in settings.acceptance.ends_of_life() {
        if let Some(silent) = silent_sources(sources, action, ReportSource::tells_end_of_life) {
            problems.add_at(
                &setting,
                format!("reports of {silent} don't say whether a system is past its end of life; those of trivyOperator and registry may"),
            );
        }
    }
}

/// The sources that can't answer a gate, by their names. If a gate rejects, a missing answer fails the scan, so each source must be
/// able to tell. If it warns, one source is enough.
fn silent_sources(
    sources: &[ReportSource],
    action: GateAction,
    tells: impl Fn(&ReportSource) -> bool,
) -> Option<String> {
    let silent: Vec<&str> = sources.iter().filter(|source| !tells(source)).map(ReportSource::name).collect();
    let is_enough = match action {
        GateAction::Reject => silent.is_empty(),
        GateAction::Warn => silent.len() < sources.len(),
    };
    (!is_enough).then(|| silent.join(", "))
}

#[cfg(test)]
mod tests;
