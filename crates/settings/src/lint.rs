//! Valid settings that are probably wrong: rules that never decide, and rules that admit more than they seem to.
//!
//! Findings from the settings alone are logged when the policy is deployed. `image-admission lint` reports all of them.

mod exemptions;
mod namespaced;
mod rules;
mod verification;

pub use namespaced::lint_namespaced_rules;

use verification::is_left_out;

use super::phases::{PhaseAction, StatusFallbacks};
use super::{
    Artifact, AttachedArtifacts, CustomPolicy, Effect, FailureFallback, Fallback, Glob, ImageMatching,
    NamespaceOverride, NamespacePattern, Phase, PreScanAction, Prefix, SbomSource, ScanAction, Settings,
    VerificationPolicy,
};
use image_admission_image::{ImageReference, canonical_host};
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// The namespace whose Pods run the cluster.
const KUBE_SYSTEM: &str = "kube-system";

/// The glob that matches every namespace.
const EVERY_NAMESPACE: &str = "*";

/// A finding: valid settings that are probably wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// The kind of finding.
    pub rule: LintRule,
    /// How severe it is.
    pub severity: LintSeverity,
    /// The path of the setting.
    pub path: String,
    /// What it does, and what to write instead.
    pub message: String,
    /// The automatic fix, if there is one.
    pub fix: Option<LintFix>,
}

/// How severe a finding is, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintSeverity {
    /// It repeats what holds without it, or it depends on what others do.
    Note,
    /// It has no effect, or another one than it seems to have.
    Warning,
    /// It admits what its author can't want, or nothing at all.
    Error,
}

/// A change that the author wants, and that admits nothing new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LintFix {
    /// The setting at [`Lint::path`] is removed.
    Remove,
    /// The string at a path is replaced.
    Replace {
        /// Where.
        path: String,
        /// The new string.
        text: String,
    },
    /// The list at a path of the manifest gets more entries. A missing list is added.
    Append {
        /// Where.
        path: String,
        /// Each with its keys and their values, strings or lists of them, in order.
        entries: Vec<Vec<(&'static str, Value)>>,
    },
}

impl Lint {
    /// A finding with the severity of its rule, and without an automatic fix.
    pub fn new(rule: LintRule, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { rule, severity: rule.severity(), path: path.into(), message: message.into(), fix: None }
    }

    /// The same with another severity.
    #[must_use]
    pub fn weighing(self, severity: LintSeverity) -> Self {
        Self { severity, ..self }
    }

    /// The same with an automatic fix.
    #[must_use]
    pub fn fixed_by(self, fix: Option<LintFix>) -> Self {
        Self { fix, ..self }
    }
}

/// `scanPolicies.customPolicies[0]: …`, as the log has it.
impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// What the lint looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintRule {
    /// A prefix or glob that ends inside a host or a path segment, and matches any continuation.
    OpenPrefix,
    /// A prefix that looks like a short name of Docker Hub, which no canonical name starts with.
    ShortName,
    /// An entry that never decides, because another one decides all that it is about.
    NeverMatches,
    /// An entry that says what would be decided without it.
    Redundant,
    /// Settings that no image reaches.
    NeverReached,
    /// A list of what is rejected or scanned while all else is admitted: another name bypasses it.
    DenyList,
    /// A namespace that is decided as it would be without its entry.
    NamespaceWithoutEffect,
    /// A namespace that doesn't exist: whoever creates it gets its rules.
    UnknownNamespace,
    /// No rule for the namespace that runs the cluster.
    KubeSystem,
    /// A prefix of every tag in an entry that accepts, or one with a tag in an exemption: neither matches digests.
    TagOnly,
    /// Any registry that a Pod names is contacted.
    AnyRegistry,
    /// An exemption whose last day is over.
    ExemptionEnded,
    /// An exemption without a reason yet.
    ReasonUnsaid,
    /// A package of an exemption that matches any continuation.
    OpenPackage,
    /// A limit that a source's reports can't meet.
    Undated,
    /// Signed reports, or lists, that are trusted whatever their age.
    AnyAge,
    /// Licences that SPDX doesn't list. They are compared with names only.
    LicenseName,
    /// Attestors that are never used, or that no expression asks.
    AttestorsUnused,
    /// Limits that say nothing of critical findings, or nothing that a source can tell.
    CriticalUnlimited,
    /// A glob of a policy about signatures that matches no image, or not those that it seems to.
    NoImage,
    /// A policy about signatures that skips images that run.
    Unverified,
    /// A key with which cosign signs in a way that isn't verified.
    PrehashedKey,
    /// An attestation whose document is a layer, which no host hands out.
    InLayer,
    /// An expression that looks at one platform of an image.
    OnePlatform,
    /// Platforms that are to be judged, and that a source never scans.
    UnscannedPlatforms,
    /// An exemption for every image.
    EveryImage,
    /// An exemption for every vulnerability.
    EveryVulnerability,
    /// A field that is evaluated before a `not`: where it is missing, a rule in Rego doesn't reject.
    SilentDenial,
    /// A rule in Rego that reads what it never sees.
    Unseen,
    /// A setting that stands beside `settings`.
    MisplacedSetting,
    /// A kind of the cluster that is read without a grant in the policy's manifest.
    MissingKind,
    /// Exemptions that teams write, and that may last for ever.
    EndlessExemptions,
    /// Pinning by a policy that may change nothing.
    NotMutating,
    /// A policy that admits everything while it is unavailable.
    FailsOpen,
    /// Images whose scan failed are admitted, whoever caused the failure.
    AcceptsFailures,
    /// A policy in Rego about images that also judges updates without new images.
    EveryOperation,
    /// Objects are selected by labels or annotations, which their authors may change later.
    ByLabel,
    /// A prefix or a glob that names images as only a mirror does.
    NameAtMirror,
    /// Objects that the settings judge, but that the manifest's rules or the API server never send.
    NeverAsked,
    /// Subresources that change Pods and that the manifest's rules don't send.
    MissingSubresource,
    /// Images that are judged at creation and not at updates, or the other way round.
    MissingOperation,
    /// Reports that the cluster's scanner writes into files, where no policy sees them.
    ReportFiles,
    /// What a policy of a namespace may not read from the cluster, or have in its manifest.
    NeedsCluster,
    /// Resources that policies of a namespace may not be about, unless the cluster's administrators allow it.
    NotAllowedResource,
    /// A call that the policy server denies to policies of a namespace.
    WithheldCall,
    /// What a member of a policy group can't do, or what the group makes of its verdict.
    GroupMember,
    /// More host calls than fit into the time that a request has.
    ExceedsTimeout,
}

impl LintRule {
    /// All of them, in order.
    pub const ALL: [Self; 47] = [
        Self::OpenPrefix,
        Self::ShortName,
        Self::NeverMatches,
        Self::Redundant,
        Self::NeverReached,
        Self::DenyList,
        Self::NamespaceWithoutEffect,
        Self::UnknownNamespace,
        Self::KubeSystem,
        Self::TagOnly,
        Self::AnyRegistry,
        Self::ExemptionEnded,
        Self::ReasonUnsaid,
        Self::OpenPackage,
        Self::Undated,
        Self::AnyAge,
        Self::LicenseName,
        Self::AttestorsUnused,
        Self::CriticalUnlimited,
        Self::NoImage,
        Self::Unverified,
        Self::PrehashedKey,
        Self::InLayer,
        Self::OnePlatform,
        Self::UnscannedPlatforms,
        Self::EveryImage,
        Self::EveryVulnerability,
        Self::SilentDenial,
        Self::Unseen,
        Self::MisplacedSetting,
        Self::MissingKind,
        Self::EndlessExemptions,
        Self::NotMutating,
        Self::FailsOpen,
        Self::AcceptsFailures,
        Self::EveryOperation,
        Self::ByLabel,
        Self::NameAtMirror,
        Self::NeverAsked,
        Self::MissingSubresource,
        Self::MissingOperation,
        Self::ReportFiles,
        Self::NeedsCluster,
        Self::NotAllowedResource,
        Self::WithheldCall,
        Self::GroupMember,
        Self::ExceedsTimeout,
    ];

    /// `open-prefix`, the name to leave it out by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenPrefix => "open-prefix",
            Self::ShortName => "short-name",
            Self::NeverMatches => "never-matches",
            Self::Redundant => "redundant",
            Self::NeverReached => "never-reached",
            Self::DenyList => "deny-list",
            Self::NamespaceWithoutEffect => "namespace-without-effect",
            Self::UnknownNamespace => "unknown-namespace",
            Self::KubeSystem => "kube-system",
            Self::TagOnly => "tag-only",
            Self::AnyRegistry => "any-registry",
            Self::ExemptionEnded => "exemption-ended",
            Self::ReasonUnsaid => "reason-unsaid",
            Self::OpenPackage => "open-package",
            Self::Undated => "undated",
            Self::AnyAge => "any-age",
            Self::LicenseName => "license-name",
            Self::AttestorsUnused => "attestors-unused",
            Self::CriticalUnlimited => "critical-unlimited",
            Self::NoImage => "no-image",
            Self::Unverified => "unverified",
            Self::PrehashedKey => "prehashed-key",
            Self::InLayer => "in-layer",
            Self::OnePlatform => "one-platform",
            Self::UnscannedPlatforms => "unscanned-platforms",
            Self::EveryImage => "every-image",
            Self::EveryVulnerability => "every-vulnerability",
            Self::SilentDenial => "silent-denial",
            Self::Unseen => "unseen",
            Self::MisplacedSetting => "misplaced-setting",
            Self::MissingKind => "missing-kind",
            Self::EndlessExemptions => "endless-exemptions",
            Self::NotMutating => "not-mutating",
            Self::FailsOpen => "fails-open",
            Self::AcceptsFailures => "accepts-failures",
            Self::EveryOperation => "every-operation",
            Self::ByLabel => "by-label",
            Self::NameAtMirror => "name-at-mirror",
            Self::NeverAsked => "never-asked",
            Self::MissingSubresource => "missing-subresource",
            Self::MissingOperation => "missing-operation",
            Self::ReportFiles => "report-files",
            Self::NeedsCluster => "needs-cluster",
            Self::NotAllowedResource => "not-allowed-resource",
            Self::WithheldCall => "withheld-call",
            Self::GroupMember => "group-member",
            Self::ExceedsTimeout => "exceeds-timeout",
        }
    }
}

impl LintRule {
    /// Its severity, unless a finding sets another.
    #[must_use]
    pub fn severity(self) -> LintSeverity {
        match self {
            Self::Redundant | Self::NamespaceWithoutEffect | Self::EveryImage => LintSeverity::Note,
            Self::NeverMatches
            | Self::NeverReached
            | Self::UnknownNamespace
            | Self::KubeSystem
            | Self::TagOnly
            | Self::AnyRegistry
            | Self::ExemptionEnded
            | Self::ReasonUnsaid
            | Self::Undated
            | Self::AnyAge
            | Self::LicenseName
            | Self::PrehashedKey
            | Self::OnePlatform
            | Self::UnscannedPlatforms
            | Self::EveryVulnerability
            | Self::SilentDenial
            | Self::Unseen
            | Self::EndlessExemptions
            | Self::NotMutating
            | Self::FailsOpen
            | Self::AcceptsFailures
            | Self::EveryOperation
            | Self::ByLabel
            | Self::NameAtMirror
            | Self::NotAllowedResource
            | Self::ExceedsTimeout => LintSeverity::Warning,
            Self::OpenPrefix
            | Self::ShortName
            | Self::DenyList
            | Self::OpenPackage
            | Self::AttestorsUnused
            | Self::CriticalUnlimited
            | Self::NoImage
            | Self::Unverified
            | Self::InLayer
            | Self::MisplacedSetting
            | Self::MissingKind
            | Self::NeverAsked
            | Self::MissingSubresource
            | Self::MissingOperation
            | Self::ReportFiles
            | Self::NeedsCluster
            | Self::WithheldCall
            | Self::GroupMember => LintSeverity::Error,
        }
    }

    /// What it looks for, in a few words.
    #[must_use]
    pub fn summary(self) -> &'static str {
        match self {
            Self::OpenPrefix => "a prefix that ends inside a host or a path segment",
            Self::ShortName => "a prefix that looks like a short name of Docker Hub",
            Self::NeverMatches => "an entry that an earlier one keeps from ever deciding",
            Self::Redundant => "an entry that says what would be decided without it",
            Self::NeverReached => "rules that no image comes to",
            Self::DenyList => "a list of what is rejected, where everything else is let in",
            Self::NamespaceWithoutEffect => "a namespace that is decided as it would be without its entry",
            Self::UnknownNamespace => "a namespace that the cluster doesn't have",
            Self::KubeSystem => "no rule for the namespace that runs the cluster",
            Self::TagOnly => "a prefix with a tag that lets in no image named by its digest",
            Self::AnyRegistry => "any registry that a Pod names is asked",
            Self::ExemptionEnded => "an exemption whose last day is over",
            Self::ReasonUnsaid => "an exemption whose reason nobody said yet",
            Self::OpenPackage => "a package of an exemption that goes on in any way",
            Self::Undated => "a limit that a source's reports can't keep",
            Self::AnyAge => "signed reports, or lists, that are believed however old they are",
            Self::LicenseName => "a licence that SPDX doesn't list, which only names are compared with",
            Self::AttestorsUnused => "attestors that are never asked",
            Self::CriticalUnlimited => "limits that say nothing of critical findings",
            Self::NoImage => "a glob that matches no image, or not those that it seems to",
            Self::Unverified => "a policy about signatures that isn't asked about images that run",
            Self::PrehashedKey => "a key with which cosign signs in a way that isn't verified",
            Self::InLayer => "an attestation whose document is a layer, which no host hands out",
            Self::OnePlatform => "an expression that looks at one platform of an image",
            Self::UnscannedPlatforms => "platforms that are to be judged, and that a source never scans",
            Self::EveryImage => "an exemption that holds whatever the image",
            Self::EveryVulnerability => "an exemption that holds whatever is found",
            Self::Unseen => "a rule in Rego that looks at what nobody shows it",
            Self::SilentDenial => "a field under `not` without which a rule in Rego rejects nothing",
            Self::MisplacedSetting => "a setting beside `settings`, where it has no effect",
            Self::MissingKind => "a kind of the cluster that is read and not granted",
            Self::EndlessExemptions => "exemptions that teams write, and that may last for ever",
            Self::NotMutating => "images are to be pinned by a policy that may change nothing",
            Self::FailsOpen => "a policy that lets everything in while nobody answers",
            Self::AcceptsFailures => "images are let in whose scan fails, whoever caused that",
            Self::ByLabel => "images that are judged or not by labels or annotations, which may be changed later",
            Self::EveryOperation => {
                "a policy in Rego about images, or with a patch of Pods, that holds up what brings no image"
            }
            Self::NameAtMirror => "a prefix or a glob of names that images have at a mirror alone",
            Self::NeverAsked => "what is judged and never sent by the policy's rules",
            Self::MissingSubresource => "a subresource of Pods that the policy's rules don't send",
            Self::MissingOperation => "images that are judged when made and not when changed, or the other way round",
            Self::ReportFiles => "reports that the cluster's scanner writes into files, where no policy sees them",
            Self::NeedsCluster => "what a policy of a namespace may not read, or can't have",
            Self::NotAllowedResource => "a resource that policies of a namespace may not be about by default",
            Self::WithheldCall => "a call that a policy server may keep from policies of a namespace",
            Self::GroupMember => "a member of a policy group that can't do what it says, or whose rejection may admit",
            Self::ExceedsTimeout => "more host calls than fit into the time that a request has",
        }
    }
}

/// The message about a prefix or a glob that names images as a mirror does.
fn at_mirror(what: &str, text: &str, settings: &Settings) -> Option<String> {
    let (mirror, name) = settings.mirrors.behind_text(text)?;
    let (place, registry) = (mirror.to_string(), mirror.registry());
    Some(format!(
        "the {what} `{text}` is of names at `{place}`, the mirror of `{registry}`, which no image may have; write `{name}`"
    ))
}

impl Settings {
    /// The findings to log when the policy is deployed, one line each. They depend on the settings alone, and each is worth a line
    /// at every start.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        let mut lints = Lints::default();
        lints.any_registry(self);
        lints.prefixes(self);
        lints.unsaid_reasons(self);
        lints.open_packages(self);
        lints.reports(self);
        lints.globs(self);
        lints.excluded(self);
        lints.unverified(self);
        lints.0.iter().map(Lint::to_string).collect()
    }

    /// Whether a prefix is a registry's whole host, as `registries` has it.
    fn is_whole_host(&self, prefix: &str) -> bool {
        canonical_host(prefix).is_ok_and(|host| host == "docker.io" || self.names_registry(&host))
    }

    /// All findings, in the order of [`LintRule`] and of the settings. `now` tells which exemptions have ended. `namespaces` are
    /// the cluster's; none: they aren't checked.
    #[must_use]
    pub fn lint(&self, now: Timestamp, namespaces: Option<&BTreeSet<String>>) -> Vec<Lint> {
        let mut lints = Lints::default();
        lints.prefixes(self);
        lints.phase(&self.pre_scan, "preScanPolicies", self.image_matching);
        lints.phase(&self.scan, "scanPolicies", self.image_matching);
        lints.failures(self);
        lints.acceptance(self);
        lints.unreachable(self);
        lints.namespaces(self, namespaces);
        lints.any_registry(self);
        lints.ended_exemptions(self, now);
        lints.unsaid_reasons(self);
        lints.open_packages(self);
        lints.reports(self);
        lints.unscanned_platforms(self);
        lints.sboms(self);
        lints.ageless_lists(self);
        lints.globs(self);
        lints.excluded(self);
        lints.unverified(self);
        lints.accepted_unverified(self);
        lints.forms(self);
        lints.exempted_images(self);
        lints.covered_exemptions(self, now);
        lints.endless_exemptions(self);
        lints.every_operation(self);
        lints.unasked_by_own_rules(self);
        lints.idle_expressions(self);
        if !self.rego.pre_custom_rules.is_empty() || !self.rego.custom_rules.is_empty() {
            lints.leave_what_rules_see();
        }
        lints.0.sort_by_key(|lint| lint.rule);
        lints.0
    }
}

/// The findings so far.
#[derive(Debug, Default)]
struct Lints(Vec<Lint>);

impl Lints {
    fn add(&mut self, rule: LintRule, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Lint::new(rule, path, message));
    }

    /// Drops fixes of settings that custom rules see as data: a fix could change what the rules say.
    fn leave_what_rules_see(&mut self) {
        let is_seen =
            |path: &str| ["preScanPolicies", "scanPolicies", "policies"].iter().any(|key| path.starts_with(key));
        for lint in self.0.iter_mut().filter(|lint| is_seen(&lint.path)) {
            lint.fix = None;
        }
    }

    fn any_registry(&mut self, settings: &Settings) {
        if settings.registries.is_empty() {
            let message = "empty, so the policy server contacts any public registry that a Pod names; list the registries that images may come from";
            self.add(LintRule::AnyRegistry, "registries", message);
        }
    }

    fn prefixes(&mut self, settings: &Settings) {
        let is_raw = settings.image_matching == ImageMatching::Raw;
        let mut note = |path: String, prefix: &Prefix, effect: Effect| {
            let name = prefix.as_str();
            // With raw matching, short names are names. Exemptions are always compared with canonical ones.
            let is_written = is_raw && !path.starts_with("exemptions");
            if prefix.is_short_name() && !is_written {
                let message = format!(
                    "the prefix `{name}` is the beginning of a registry's host; for an image of Docker Hub write `docker.io/library/{name}:` and `docker.io/library/{name}@`"
                );
                self.add(LintRule::ShortName, path, message);
            } else if let Some(message) = at_mirror("prefix", prefix.canonical(), settings) {
                self.add(LintRule::NameAtMirror, path, message);
            } else if let Some(part) = prefix.ends_inside() {
                let end = if part == "host" { "`/`" } else { "`/`, or with `:` and `@` for one repository" };
                let message = format!(
                    "the prefix `{name}` ends inside a {part}, and matches any continuation; end it with {end}"
                );
                // A prefix that rejects or scans too much admits nothing.
                let severity = if effect == Effect::Admits { LintSeverity::Error } else { LintSeverity::Warning };
                let fix = (effect == Effect::Admits && !path.starts_with("exemptions") && settings.is_whole_host(name))
                    .then(|| LintFix::Replace { path: format!("{path}.prefix"), text: format!("{name}/") });
                self.0.push(Lint::new(LintRule::OpenPrefix, path, message).weighing(severity).fixed_by(fix));
            }
        };
        settings.pre_scan.each_prefix("preScanPolicies", &mut note);
        settings.scan.each_prefix("scanPolicies", &mut note);
        for (position, exemption) in settings.exemptions.iter().enumerate() {
            for prefix in &exemption.images {
                note(format!("exemptions[{position}].images"), prefix, Effect::Admits);
            }
        }
    }

    fn failures(&mut self, settings: &Settings) {
        let own = settings.scan.by_namespace.iter();
        let own = own.map(|(namespace, own)| (format!("scanPolicies.byNamespace.{namespace}"), own.fallbacks));
        for (level, fallbacks) in [("scanPolicies".to_owned(), settings.scan.fallbacks)].into_iter().chain(own) {
            if fallbacks.scan_failed == Some(FailureFallback::Accept) {
                let path = format!("{level}.scanFailed");
                let message = "an image that can't be found is admitted: somebody can name it first, and push it afterwards; write `accept-outages`, which admits only what fails by an outage";
                let fix = LintFix::Replace { path: path.clone(), text: "accept-outages".to_owned() };
                self.0.push(Lint::new(LintRule::AcceptsFailures, path, message).fixed_by(Some(fix)));
            }
        }
    }

    /// Policies that deny by images, or patch Pods, and look neither at the operation nor at the old object.
    fn every_operation(&mut self, settings: &Settings) {
        for (position, policy) in settings.rego.policies.iter().enumerate() {
            // Keys of a document follow a dot or a quote. Other words may be variables.
            let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let keys = || policy.rego.split(['.', '"']).skip(1).map(|text| text.split(|c| !is_in_word(c)).next());
            let has = |wanted: &[&str]| keys().flatten().any(|key| wanted.contains(&key));
            let rules = || policy.rego.split(|c| !is_in_word(c));
            let denies = rules().any(|word| ["deny", "violation"].iter().any(|rule| word.starts_with(rule)));
            if denies && has(&["image", "images"]) && !has(&["operation", "oldObject"]) {
                let message = format!(
                    "`{}` looks at images and not at what is done, so that it holds up labels, finalizers and scaling of what runs already; ask for `input.request.operation`, or compare with `input.request.oldObject`",
                    policy.name
                );
                self.add(LintRule::EveryOperation, format!("regoPolicies[{position}]"), message);
            }
            let is_about_pods = policy.kinds.iter().any(|kind| kind.matches("", "v1", "Pod"));
            // The fields of an existing Pod that the API server lets change.
            let may_change = |rest: &str| {
                ["containers/", "initContainers/", "tolerations", "activeDeadlineSeconds"]
                    .iter()
                    .any(|own| rest.starts_with(own))
            };
            let patches = rules().any(|word| word == "patch")
                && policy.rego.split("\"/spec/").skip(1).any(|rest| !may_change(rest));
            if is_about_pods && patches && !has(&["operation", "oldObject"]) {
                let message = format!(
                    "`{}` changes the spec of Pods when they are updated too, which the API server refuses, so that labels and finalizers of what runs already are held up; ask for `input.request.operation == \"CREATE\"`",
                    policy.name
                );
                self.add(LintRule::EveryOperation, format!("regoPolicies[{position}]"), message);
            }
        }
    }

    fn reports(&mut self, settings: &Settings) {
        for source in &settings.reports.sources {
            if let Some((why, max_age)) = source.why_undated().zip(settings.reports.max_age.as_ref()) {
                let message = format!(
                    "{why}, so that each counts as older than {max_age}; remove `maxAge`, or take a source with dates"
                );
                self.add(LintRule::Undated, "reports.maxAge", message);
            }
            let Some(artifacts) = source.artifacts() else { continue };
            // A pusher can rewrite an unsigned report with any time.
            if !artifacts.allow_unsigned && settings.reports.max_age.is_none() {
                self.add(
                    LintRule::AnyAge,
                    "reports.maxAge",
                    "not set, so anybody with push access can put back an older signed report; limit the age of reports, like `7d`",
                );
            }
            if artifacts.allow_unsigned && !artifacts.attestors.is_empty() {
                self.add(
                    LintRule::AttestorsUnused,
                    "reports.sources",
                    "with `allowUnsigned: true` no attestor of the registry source is asked; remove one of the two",
                );
            }
        }
    }

    fn unscanned_platforms(&mut self, settings: &Settings) {
        let is_waiting = settings.reads_reports() && settings.scan.fallbacks.report_pending != Some(Fallback::Accept);
        let Some((source, platform)) = settings.reports.of_one_platform().filter(|_| is_waiting) else { return };
        let message = format!(
            "{} scans {platform} alone, so that an image with others waits for ever; if all nodes are of this platform, write `[{platform}]`",
            source.name()
        );
        self.add(LintRule::UnscannedPlatforms, "reports.platforms", message);
    }

    fn sboms(&mut self, settings: &Settings) {
        let is_asked = !settings.acceptance.of_contents().is_empty() || settings.asks_for_packages();
        if !settings.reports.sboms.is_empty() && !is_asked {
            let message =
                "nothing asks for an SBOM, so that none is read; set `acceptance.packages` or `acceptance.licenses`";
            self.add(LintRule::Redundant, "reports.sboms", message);
        }
        for artifacts in settings.reports.sboms.iter().filter_map(SbomSource::artifacts) {
            if artifacts.allow_unsigned && !artifacts.attestors.is_empty() {
                let message =
                    "with `allowUnsigned: true` no attestor of the registry source is asked; remove one of the two";
                self.add(LintRule::AttestorsUnused, "reports.sboms", message);
            }
        }
        for (path, gate) in settings.acceptance.license_lists() {
            let key = if gate.list.is_allowed() { "allow" } else { "deny" };
            for (position, pattern) in gate.list.patterns().iter().enumerate().filter(|(_, of)| !of.is_of_spdx()) {
                let written = pattern.as_str();
                let wildcard = written.chars().find(|letter| matches!(letter, '*' | '?'));
                let message = match wildcard.filter(|_| gate.list.is_allowed()) {
                    Some(wildcard) => format!(
                        "SPDX lists no licence like `{written}`, and `{wildcard}` allows nothing else; see https://spdx.org/licenses"
                    ),
                    None => format!(
                        "SPDX lists no licence `{written}`, so it only matches packages that name their licence so; write the SPDX id, from https://spdx.org/licenses"
                    ),
                };
                self.add(LintRule::LicenseName, format!("{path}.{key}[{position}]"), message);
            }
        }
    }

    fn ageless_lists(&mut self, settings: &Settings) {
        for path in settings.acceptance.ageless_lists() {
            let message = "not set, so that a list which nobody refreshes any more goes on clearing findings; say how old it may be, like `7d`";
            self.add(LintRule::AnyAge, path, message);
        }
        if settings.evidence.revoked_from.as_ref().is_some_and(|list| list.max_age.is_none()) {
            let message = "not set, so that a certificate which is revoked after the last refresh goes on counting; say how old the list may be, like `24h`";
            self.add(LintRule::AnyAge, "evidence.revokedFrom.maxAge", message);
        }
    }

    /// The lists of one phase, the top level's and each namespace's.
    fn phase<A: PhaseAction>(&mut self, phase: &Phase<A>, name: &str, matching: ImageMatching) {
        if !phase.auto_generate {
            return;
        }
        // The top level's list also holds in the namespaces without a list.
        let heirs = phase.by_namespace.values().filter(|own| own.custom_policies.is_none());
        let defaults: Vec<A> = heirs.filter_map(|own| own.default_policy).chain([phase.default_policy]).collect();
        self.list(&phase.custom_policies, &defaults, name, matching);
        for (namespace, own) in phase.by_namespace.iter() {
            let path = format!("{name}.byNamespace.{namespace}");
            if let Some(list) = &own.custom_policies {
                self.list(list, &[own.default_policy.unwrap_or(phase.default_policy)], &path, matching);
            }
            let without = phase.by_namespace.without(namespace).into_iter();
            let without = without.map(|other| (other.map(|(key, _)| key), of_level(phase, other.map(|(_, own)| own))));
            // The entry shows that somebody thought of the namespace that runs the cluster.
            let may_go = phase.by_namespace.key_of(KUBE_SYSTEM) != Some(namespace) || namespace == EVERY_NAMESPACE;
            self.without_effect(name, path, &of_level(phase, Some(own)), without, may_go);
        }
    }

    /// Reports an entry of `byNamespace` that changes nothing. `without` is all that may hold instead, each with the key of its
    /// entry, or none for the top level.
    fn without_effect<'k, L: PartialEq>(
        &mut self,
        place: &str,
        path: String,
        own: &L,
        without: impl IntoIterator<Item = (Option<&'k str>, L)>,
        may_go: bool,
    ) {
        let mut says = None;
        for (key, other) in without {
            if other != *own {
                return;
            }
            says = key;
        }
        let says = says.map_or("the top level".to_owned(), |key| format!("`{place}.byNamespace.{key}`"));
        let message = format!("it says what {says} says; remove it, or say what is different");
        let fix = may_go.then_some(LintFix::Remove);
        self.0.push(Lint::new(LintRule::NamespaceWithoutEffect, path, message).fixed_by(fix));
    }

    /// One list, and all default policies that may follow it.
    fn list<A: PhaseAction>(&mut self, list: &[CustomPolicy<A>], defaults: &[A], path: &str, matching: ImageMatching) {
        for (position, policy) in list.iter().enumerate() {
            let own = format!("{path}.customPolicies[{position}]");
            let (before, after) = (list.iter().take(position), list.iter().skip(position + 1));
            let shadow = before.enumerate().find(|(_, earlier)| hides(earlier, policy, matching));
            if let Some((earlier, shadow)) = shadow {
                let message = format!(
                    "it never decides: customPolicies[{earlier}] (`{}`) comes first and matches all that starts with `{}`; move it up, or remove it",
                    shadow.prefix.as_str(),
                    policy.prefix.as_str()
                );
                // An unreachable stricter policy lets its images pass. One with the same action can go without a loss.
                let is_stricter = strictness(policy.action) > strictness(shadow.action);
                let severity = if is_stricter { LintSeverity::Error } else { LintSeverity::Warning };
                let fix = (policy.action == shadow.action).then_some(LintFix::Remove);
                self.0.push(Lint::new(LintRule::NeverMatches, own, message).weighing(severity).fixed_by(fix));
            } else if defaults.iter().all(|default| *default == policy.action)
                // An image has several names, so that any later entry may be about the same images.
                && after.clone().all(|later| later.action == policy.action)
            {
                let message =
                    format!("it says `{}`, as the default policy does without it; remove it", policy.action.name());
                // In a namespace, an empty list isn't the same as no list.
                let is_last = list.len() == 1 && path.contains(".byNamespace.");
                let fix = (!is_last).then_some(LintFix::Remove);
                self.0.push(Lint::new(LintRule::Redundant, own, message).fixed_by(fix));
            }
        }
        let is_accepted = |action: A| action.name() == "accept";
        for (position, policy) in list.iter().enumerate() {
            if is_accepted(policy.action) && policy.prefix.names_every_tag() {
                let name = policy.prefix.as_str();
                let by_digest = [name.trim_end_matches(':'), "@"].concat();
                let accepts =
                    |other: &CustomPolicy<A>| is_accepted(other.action) && by_digest.starts_with(other.prefix.as_str());
                if list.iter().any(accepts) {
                    continue;
                }
                let message = format!(
                    "the prefix `{name}` accepts no image that is named by its digest, while `reject` and a scan look at those too; for them add `{by_digest}`"
                );
                self.add(LintRule::TagOnly, format!("{path}.customPolicies[{position}]"), message);
            }
        }
        let stricter: Vec<A> = list.iter().map(|policy| policy.action).filter(|action| !is_accepted(*action)).collect();
        // A namespace may accept the unlisted on purpose, if its list says what is scanned elsewhere.
        let is_open = if stricter.len() == list.len() && stricter.iter().all(|action| *action == A::REJECT) {
            defaults.iter().any(|default| is_accepted(*default))
        } else {
            defaults.last().is_some_and(|default| is_accepted(*default))
        };
        if let Some(first) = stricter.first().filter(|_| is_open) {
            let other = if stricter.contains(&A::REJECT) { &A::REJECT } else { first };
            let message = format!(
                "images that aren't listed are accepted, so an image only needs another name; list what may run, and make `{}` the default policy",
                other.name()
            );
            self.add(LintRule::DenyList, path, message);
        }
    }

    /// Namespaces without an effect, limits without an effect, and limits that leave out the worst findings.
    fn acceptance(&mut self, settings: &Settings) {
        let acceptance = &settings.acceptance;
        let path = |key: &str| format!("acceptance.byNamespace.{key}");
        let top = acceptance.top().limit_critical(true);
        let silent = settings.reports.sources.iter().find(|source| source.lists_without_scores());
        // What the top level leaves out is reported once.
        let own = acceptance.by_namespace().filter(|_| top).map(|(key, limits)| (path(key), limits));
        for (path, limits) in [("acceptance".to_owned(), acceptance.top())].into_iter().chain(own) {
            if !limits.limit_critical(true) {
                let message = "critical findings have no limit, because the default of none holds only while no severity is set; set `maxSeverity.critical` too";
                self.add(LintRule::CriticalUnlimited, path, message);
            } else if let Some(source) = silent.filter(|_| !limits.limit_critical(false)) {
                let message = format!(
                    "reports of {} have no scores, so that `cvssScore` alone lets their critical findings in; set `maxSeverity.critical` too",
                    source.name()
                );
                self.add(LintRule::CriticalUnlimited, path, message);
            }
        }
        if let Some(source) = settings.reports.sources.iter().find(|source| source.has_own_severities())
            && acceptance.top().limit_all_but_unknown()
        {
            let message = format!(
                "severities of {} that aren't known, like `Severe`, count as `unknown`, which has no limit; set `maxSeverity.unknown`, too",
                source.name()
            );
            self.0.push(Lint::new(LintRule::CriticalUnlimited, "acceptance", message).weighing(LintSeverity::Note));
        }
        for path in acceptance.running_in_vain() {
            let message = "`fixGracePeriod` and `unfixedGracePeriod` are as long: what it would let start starts anyway; make it longer, or remove it";
            self.add(LintRule::NeverMatches, path, message);
        }
        for (key, limits) in acceptance.by_namespace() {
            self.without_effect("acceptance", path(key), &limits, acceptance.without(key), true);
        }
    }

    /// Settings that only a scan reads, where no image reaches it.
    fn unreachable(&mut self, settings: &Settings) {
        let scan = &settings.scan;
        let own = &settings.rego;
        if settings.scans_nothing() {
            // Expressions and policies in Rego may look at reports themselves.
            if own.policies.is_empty() && settings.verification.iter().all(is_left_out) {
                for setting in &settings.of_scan.0 {
                    let message = "pre-scan has no `scan`, so that no image comes to this and it is never read; say `scan` for those that it is about";
                    self.add(LintRule::NeverReached, *setting, message);
                }
            }
        } else if own.policies.is_empty() && settings.verification.is_empty() {
            let message = if scan.auto_generate && own.custom_rules.is_empty() && !may(scan, ScanAction::ScanResult) {
                "the scan phase has no `scan-result`, so that no finding decides; say `scan-result`, or remove them"
            } else if !scan.auto_generate && !own.custom_rules.contains("ScanReport") {
                "`autoGenerate` is false and `customRules` don't look at `input.ScanReport`, so that no finding decides; look at its `Status`, write `autoGenerate: true`, or remove them"
            } else {
                return;
            };
            for (setting, is_there) in [
                ("acceptance", settings.of_scan.0.contains(&"acceptance")),
                ("exemptions", !settings.exemptions.is_empty()),
                ("exemptionsFrom", settings.exemptions_from.is_some()),
                ("reports.vex", !settings.reports.vex.is_empty()),
            ] {
                if is_there {
                    self.add(LintRule::NeverReached, setting, message);
                }
            }
        }
    }

    /// Globs of unpinned images that match more than they seem to, or nothing.
    fn excluded(&mut self, settings: &Settings) {
        if !settings.pin.enabled && !settings.pin.exclude.is_empty() {
            let message = "nothing is pinned, so that nothing is left out; remove it, or `pin.enabled: false`";
            self.add(LintRule::NeverReached, "pin.exclude", message);
        }
        for Glob { path, text } in &settings.pin.exclude {
            let Some((literal, _)) = text.split_once(['*', '?']) else { continue };
            if !literal.contains('/') {
                let message = format!(
                    "the glob `{text}` names no registry before its first wildcard, and leaves unpinned what any registry has under such a name; write the registry first, like `docker.io/istio/*`"
                );
                self.add(LintRule::OpenPrefix, path, message);
            } else if let Some(part) = Prefix::new(literal).ends_inside() {
                let message = format!(
                    "the glob `{text}` ends inside a {part}, and leaves unpinned whatever goes on from there; write `/*`, `:*` or `@*` at its end"
                );
                self.add(LintRule::OpenPrefix, path, message);
            }
        }
    }

    /// Globs in the form of image prefixes, or of URLs.
    fn globs(&mut self, settings: &Settings) {
        let globs = settings.verification.iter().flat_map(|policy| &policy.images_matched.globs);
        for Glob { path, text } in globs.chain(&settings.pin.exclude) {
            if let Some(message) = at_mirror("glob", text, settings) {
                self.add(LintRule::NameAtMirror, path, message);
                continue;
            }
            let message = if is_only_host(text) {
                format!(
                    "`{text}` is the name of an image of Docker Hub; for the images of that registry write `{text}/*`"
                )
            } else if can_name_an_image(text) {
                continue;
            } else {
                format!(
                    "no image's name matches `{text}`; write a host and a path in lower case, without `https://`, like `ghcr.io/team/*`"
                )
            };
            self.add(LintRule::NoImage, path, message);
        }
    }

    fn namespaces(&mut self, settings: &Settings, known: Option<&BTreeSet<String>>) {
        let (pre_scan, scan) = (&settings.pre_scan.by_namespace, &settings.scan.by_namespace);
        // An entry for every namespace doesn't show that somebody thought of this one.
        let is_about = |key: Option<&str>| key.is_some_and(|key| key != EVERY_NAMESPACE);
        if !is_about(pre_scan.key_of(KUBE_SYSTEM)) && !is_about(scan.key_of(KUBE_SYSTEM)) {
            self.add(
                LintRule::KubeSystem,
                "preScanPolicies.byNamespace",
                "there is no rule for `kube-system`: leave it out by the policy's `namespaceSelector`, or say what may run there, or the cluster can't recover while a registry is down",
            );
        }
        let Some(known) = known else { return };
        let named = [
            ("preScanPolicies", pre_scan.patterns().collect::<Vec<_>>()),
            ("scanPolicies", scan.patterns().collect()),
            ("acceptance", settings.acceptance.namespaces().collect()),
        ];
        for (place, pattern) in named.iter().flat_map(|(place, all)| all.iter().map(move |pattern| (place, pattern))) {
            self.unknown_namespace(format!("{place}.byNamespace.{}", pattern.as_str()), pattern, known);
        }
        for (position, exemption) in settings.exemptions.iter().enumerate() {
            for pattern in &exemption.namespaces {
                self.unknown_namespace(format!("exemptions[{position}].namespaces"), pattern, known);
            }
        }
        let from = settings.exemptions_from.as_deref().and_then(|from| from.namespace.as_ref());
        if let Some(name) = from.filter(|name| !known.contains(*name)) {
            self.add(LintRule::UnknownNamespace, "exemptionsFrom.namespace", no_namespace(name));
        }
    }

    fn unknown_namespace(&mut self, path: String, pattern: &NamespacePattern, known: &BTreeSet<String>) {
        if known.iter().any(|name| pattern.matches(name)) {
            return;
        }
        let written = pattern.as_str();
        let message = if pattern.is_glob() {
            format!(
                "the cluster has no namespace like `{written}`: if somebody creates one, this holds for it; correct the name, or remove it"
            )
        } else {
            no_namespace(written)
        };
        self.add(LintRule::UnknownNamespace, path, message);
    }
}

impl Settings {
    /// Whether reports of images may decide, by what the two phases say alone.
    pub fn reads_reports(&self) -> bool {
        let decides = !self.scan.auto_generate || !self.rego.custom_rules.is_empty();
        !self.scans_nothing() && (decides || may(&self.scan, ScanAction::ScanResult))
    }

    /// The paths of the policies in Rego that change objects: those with the word `patch`.
    #[must_use]
    pub fn patching_policies(&self) -> Vec<String> {
        let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let has_patch = |rego: &str| {
            let mut code = rego.lines().map(|line| line.split('#').next().unwrap_or_default());
            code.any(|line| line.split(|c| !is_in_word(c)).any(|word| word == "patch"))
        };
        let policies = self.rego.policies.iter().enumerate().filter(|(_, policy)| has_patch(&policy.rego));
        policies.map(|(position, _)| format!("regoPolicies[{position}]")).collect()
    }

    /// Whether a registry may be asked about images.
    pub fn asks_registries(&self) -> bool {
        // `imageConfigs` and `sbomPackages`, which custom rules call `ImageConfigs` and `SbomPackages`.
        let asks = |text: &String| text.contains("mageConfigs") || text.contains("bomPackages");
        let policies = self.rego.policies.iter().map(|policy| &policy.rego);
        let in_rego = policies.chain(self.rego.libraries.iter().map(|library| &library.rego)).any(asks);
        !self.scans_nothing() || !self.verification.is_empty() || in_rego
    }

    /// Whether the host may be asked who signed something. It verifies no statements.
    pub fn has_attestors(&self) -> bool {
        let is_asked = |(_, of): (String, &AttachedArtifacts)| {
            !of.allow_unsigned && !matches!(of.artifact, Artifact::Statement(_))
        };
        self.reports.attached().any(is_asked) || self.verification.iter().any(|policy| !policy.attestors.is_empty())
    }

    /// Whether rules or expressions have the word that asks for images' packages.
    pub fn asks_for_packages(&self) -> bool {
        let policies = self.rego.policies.iter().map(|policy| &policy.rego);
        let rego = policies.chain(self.rego.libraries.iter().map(|library| &library.rego));
        let in_rego = rego.chain([&self.rego.custom_rules]);
        let in_cel =
            self.verification.iter().flat_map(VerificationPolicy::expressions).map(|expression| &expression.text);
        // `sbomPackages`, or `SbomPackages` in custom rules.
        in_rego.chain(in_cel).any(|text| text.contains("bomPackages"))
    }

    /// Whether anything is ever pinned: only what is scanned or verified is.
    #[must_use]
    pub fn may_pin(&self) -> bool {
        self.pin.enabled && (!self.scans_nothing() || !self.verification.is_empty())
    }

    /// Whether no image reaches the scan, because pre-scan only accepts and rejects.
    #[must_use]
    pub fn scans_nothing(&self) -> bool {
        let is_whole = self.pre_scan.auto_generate && self.rego.pre_custom_rules.is_empty();
        is_whole && !may(&self.pre_scan, PreScanAction::Scan)
    }
}

/// Whether a glob is only a registry's host. It is also the name of an image of Docker Hub.
fn is_only_host(glob: &str) -> bool {
    let host = glob.split(':').next().unwrap_or_default();
    (host.contains('.') || host == "localhost") && canonical_host(glob).is_ok()
}

/// Whether a glob may match the name of an image. Of one with wildcards, the part before the first counts.
fn can_name_an_image(glob: &str) -> bool {
    match glob.split_once(['*', '?']) {
        None => ImageReference::parse(glob).is_ok(),
        Some((literal, _)) => !literal.contains('/') || Prefix::new(literal).can_match(),
    }
}

/// How strict an action is.
fn strictness<A: PhaseAction>(action: A) -> u8 {
    match Effect::of(action) {
        Effect::Admits => 0,
        Effect::Scans => 1,
        Effect::Rejects => 2,
    }
}

/// Whether a phase can decide on an action.
fn may<A: PhaseAction>(phase: &Phase<A>, action: A) -> bool {
    let overrides = phase.by_namespace.values();
    let lists =
        overrides.clone().filter_map(|own| own.custom_policies.as_ref()).flatten().chain(&phase.custom_policies);
    phase.default_policy == action
        || overrides.filter_map(|own| own.default_policy).any(|own| own == action)
        || lists.into_iter().any(|policy| policy.action == action)
}

/// What decides for an entry of `byNamespace`, or for the top level alone.
fn of_level<'p, A: PhaseAction>(
    phase: &'p Phase<A>,
    own: Option<&'p NamespaceOverride<A>>,
) -> (A, &'p [CustomPolicy<A>], StatusFallbacks) {
    let (top, fallbacks) = (phase.fallbacks, own.map(|own| own.fallbacks).unwrap_or_default());
    (
        own.and_then(|own| own.default_policy).unwrap_or(phase.default_policy),
        own.and_then(|own| own.custom_policies.as_ref()).unwrap_or(&phase.custom_policies),
        StatusFallbacks {
            report_pending: fallbacks.report_pending.or(top.report_pending),
            scan_failed: fallbacks.scan_failed.or(top.scan_failed),
        },
    )
}

fn no_namespace(name: &str) -> String {
    format!(
        "the cluster has no namespace `{name}`: if somebody creates it, this holds for it; correct the name, or remove it"
    )
}

/// Whether an earlier policy decides everything that a later one matches.
fn hides<A: PhaseAction>(earlier: &CustomPolicy<A>, later: &CustomPolicy<A>, matching: ImageMatching) -> bool {
    // A policy that rejects looks at the tag beside a digest too, which others don't.
    let sees_less = matching == ImageMatching::Canonical && later.action == A::REJECT && earlier.action != A::REJECT;
    // A policy about every tag also matches digests in the tag's place, unless it accepts.
    let is_accepted = |policy: &CustomPolicy<A>| Effect::of(policy.action) == Effect::Admits;
    let sees_no_digest = is_accepted(earlier) && !is_accepted(later) && earlier.prefix.names_every_tag();
    later.prefix.goes_on_from(&earlier.prefix, matching)
        && !(sees_less && earlier.prefix.names_a_tag())
        && !(sees_no_digest && later.prefix.names_every_tag())
}

#[cfg(test)]
mod tests;
