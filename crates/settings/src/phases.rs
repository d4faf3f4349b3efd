//! The two phases: default, custom and per-namespace policies.

use super::namespaces::ByNamespace;
use super::prefix::Prefix;
use super::read::{Choice, Path, Problems, SettingsMap, wrong_type};
use super::refused;
use serde_json::Value;
use std::fmt;

/// One phase's policies. `A` is what the phase can do with an image.
#[derive(Debug, Clone)]
pub struct Phase<A> {
    /// Whether the policies below decide. Otherwise the custom rules in Rego alone do.
    pub auto_generate: bool,
    /// The action for an image that no custom policy matches.
    pub default_policy: A,
    /// The first that matches decides.
    pub custom_policies: Vec<CustomPolicy<A>>,
    /// What to do about a status without a result.
    pub fallbacks: StatusFallbacks,
    /// What namespaces do differently.
    pub by_namespace: ByNamespace<NamespaceOverride<A>>,
}

/// A namespace's overrides in one phase. What is absent is as at the top level.
#[derive(Debug, Clone)]
pub struct NamespaceOverride<A> {
    /// The action for an image that no custom policy matches.
    pub default_policy: Option<A>,
    /// It replaces the top-level list, even when empty.
    pub custom_policies: Option<Vec<CustomPolicy<A>>>,
    /// What to do about a status without a result.
    pub fallbacks: StatusFallbacks,
}

/// An action for the images whose name starts with a prefix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomPolicy<A> {
    /// How the images' names start.
    pub prefix: Prefix,
    /// What happens to them.
    pub action: A,
}

/// What to do about statuses without a result. Absent: the next level decides, and in the end reject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusFallbacks {
    /// For `report_not_available`.
    pub report_pending: Option<Fallback>,
    /// For `scan_failed`.
    pub scan_failed: Option<FailureFallback>,
}

/// What a namespace does about statuses without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveFallbacks {
    /// For `report_not_available`.
    pub report_pending: Fallback,
    /// For `scan_failed`.
    pub scan_failed: FailureFallback,
}

impl<A> Phase<A> {
    /// The namespace's, else the top level's, else reject. The namespace's hold for top-level custom policies too.
    pub fn effective_fallbacks(&self, namespace: &str) -> EffectiveFallbacks {
        let own = self.by_namespace.of(namespace);
        let own = own.map_or(StatusFallbacks::default(), |(_, overrides)| overrides.fallbacks);
        let top = self.fallbacks;
        EffectiveFallbacks {
            report_pending: own.report_pending.or(top.report_pending).unwrap_or(Fallback::Reject),
            scan_failed: own.scan_failed.or(top.scan_failed).unwrap_or(FailureFallback::Reject),
        }
    }
}

/// What pre-scan can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum PreScanAction {
    /// Not scanned, unless another image of the workload is.
    Accept,
    /// The workload is rejected.
    Reject,
    /// `scanPolicies` decide.
    Scan,
}

/// What the scan phase can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum ScanAction {
    /// Admitted, whatever the scan says.
    Accept,
    /// Rejected, whatever the scan says.
    Reject,
    /// The scan decides.
    ScanResult,
}

/// What to do while there is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Fallback {
    /// The image may run.
    Accept,
    /// The workload is rejected.
    Reject,
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum FailureFallback {
    /// Any failure is forgiven, whoever caused it: also a missing image, or denied access.
    Accept,
    /// Only outages are forgiven: of the cluster, of the scanner, or of a registry that the settings name.
    AcceptOutages,
    /// The workload is rejected.
    Reject,
}

/// The strictest value of `scanFailed` that admits an image whose scan failed. The most forgivable failure is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForgivenBy {
    /// `accept-outages`: it may go away by itself, and can't be caused by naming or pushing images.
    AcceptOutages,
    /// `accept`: whoever names or pushes the image may have caused it.
    Accept,
    /// No value: the registry isn't allowed, or nodes may run another image than the one judged.
    Nothing,
}

impl FailureFallback {
    /// Whether it admits an image with such a failure.
    pub fn forgives(self, failure: ForgivenBy) -> bool {
        match self {
            Self::Accept => failure != ForgivenBy::Nothing,
            Self::AcceptOutages => failure == ForgivenBy::AcceptOutages,
            Self::Reject => false,
        }
    }
}

/// Which name of an image prefixes are compared with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageMatching {
    /// The canonical name, one for everything that a runtime pulls from the same place.
    #[default]
    Canonical,
    /// The string in the Pod, as Sysdig's controllers compare it.
    Raw,
}

/// What tells one phase from the other while settings are read and rules are matched.
pub trait PhaseAction: Choice + PartialEq {
    /// What happens where the settings say nothing.
    const DEFAULT: Self;
    /// The rejecting action.
    const REJECT: Self;
    /// The action that decides by the next phase, or by the scan's status.
    const SCAN: Self;
    /// Whether the phase has statuses to fall back from.
    const HAS_STATUS: bool;
    /// `accept`, as the settings spell it.
    fn name(self) -> &'static str {
        Self::CHOICES.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

/// What a policy does to the images that it matches. It decides which names of an image count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It admits them, or its action isn't known: only the digest counts.
    Admits,
    /// It scans them. A prefix that ends with `:` is about every tag, and also about a digest in the tag's place: else a digest
    /// would bypass it.
    Scans,
    /// It rejects them. The same holds, and the tag beside a digest counts too.
    Rejects,
}

impl Effect {
    /// The effect of an action of either phase.
    pub fn of<A: PhaseAction>(action: A) -> Self {
        match action {
            action if action == A::REJECT => Self::Rejects,
            action if action == A::SCAN => Self::Scans,
            _ => Self::Admits,
        }
    }

    /// The effect of an action by its name, as rules in Rego give it. Of any other string it is [`Self::Admits`].
    pub fn named(action: &str) -> Self {
        match action {
            "reject" => Self::Rejects,
            "scan" | "scan-result" => Self::Scans,
            _ => Self::Admits,
        }
    }
}

impl Choice for PreScanAction {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("accept", Self::Accept), ("reject", Self::Reject), ("scan", Self::Scan)];
}

impl PhaseAction for PreScanAction {
    const DEFAULT: Self = Self::Scan;
    const REJECT: Self = Self::Reject;
    const SCAN: Self = Self::Scan;
    const HAS_STATUS: bool = false;
}

impl Choice for ScanAction {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("accept", Self::Accept), ("reject", Self::Reject), ("scan-result", Self::ScanResult)];
}

impl PhaseAction for ScanAction {
    const DEFAULT: Self = Self::ScanResult;
    const REJECT: Self = Self::Reject;
    const SCAN: Self = Self::ScanResult;
    const HAS_STATUS: bool = true;
}

/// As the settings spell it.
impl fmt::Display for PreScanAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// As the settings spell it.
impl fmt::Display for ScanAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Choice for Fallback {
    const CHOICES: &'static [(&'static str, Self)] = &[("accept", Self::Accept), ("reject", Self::Reject)];
}

impl Choice for FailureFallback {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("accept", Self::Accept), ("accept-outages", Self::AcceptOutages), ("reject", Self::Reject)];
}

/// As the settings spell it.
impl fmt::Display for FailureFallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::CHOICES.iter().find(|(_, choice)| choice == self).map_or("", |(name, _)| name))
    }
}

impl Choice for ImageMatching {
    const CHOICES: &'static [(&'static str, Self)] = &[("canonical", Self::Canonical), ("raw", Self::Raw)];
}

impl<A> Phase<A> {
    /// Calls `each` with every prefix, the path of its entry below `name`, and what the entry does.
    pub(super) fn each_prefix(&self, name: &str, each: &mut impl FnMut(String, &Prefix, Effect))
    where
        A: PhaseAction,
    {
        for (position, policy) in self.custom_policies.iter().enumerate() {
            each(format!("{name}.customPolicies[{position}]"), &policy.prefix, Effect::of(policy.action));
        }
        for (namespace, overrides) in self.by_namespace.iter() {
            for (position, policy) in overrides.custom_policies.iter().flatten().enumerate() {
                let path = format!("{name}.byNamespace.{namespace}.customPolicies[{position}]");
                each(path, &policy.prefix, Effect::of(policy.action));
            }
        }
    }
}

/// Reads the phase at `key`. Problems are reported, and replaced by defaults in the result.
pub(super) fn read<A: PhaseAction>(
    settings: &SettingsMap<'_, '_>,
    key: &str,
    matching: ImageMatching,
    problems: &mut Problems,
) -> Phase<A> {
    let mut phase = Phase {
        auto_generate: true,
        default_policy: A::DEFAULT,
        custom_policies: Vec::new(),
        fallbacks: StatusFallbacks::default(),
        by_namespace: ByNamespace::default(),
    };
    let path = settings.path().key(key);
    let Some(map) = SettingsMap::of(settings.get(key), &path, problems) else { return phase };
    let own: &[&str] = &["autoGenerate", "byNamespace"];
    map.known(&[own, level_keys::<A>()].concat(), &refused::PHASE, problems);
    phase.auto_generate = map.boolean("autoGenerate", true, problems);

    let level = read_level(&map, None, matching, problems);
    phase.default_policy = level.default_policy.unwrap_or(A::DEFAULT);
    phase.custom_policies = level.custom_policies.unwrap_or_default();
    phase.fallbacks = level.fallbacks;

    phase.by_namespace = ByNamespace::read(&map, level_keys::<A>(), problems, |map, namespace, problems| {
        read_level(map, Some(namespace), matching, problems)
    });
    phase
}

/// The keys of a phase's top level and of its namespaces alike.
fn level_keys<A: PhaseAction>() -> &'static [&'static str] {
    if A::HAS_STATUS {
        &["defaultPolicy", "customPolicies", "reportPending", "scanFailed"]
    } else {
        &["defaultPolicy", "customPolicies"]
    }
}

fn read_level<A: PhaseAction>(
    map: &SettingsMap<'_, '_>,
    namespace: Option<&str>,
    matching: ImageMatching,
    problems: &mut Problems,
) -> NamespaceOverride<A> {
    let mut fallbacks = StatusFallbacks::default();
    if A::HAS_STATUS {
        fallbacks.report_pending = named_choice(map, "reportPending", namespace, problems);
        fallbacks.scan_failed = named_choice(map, "scanFailed", namespace, problems);
    }
    NamespaceOverride {
        default_policy: named_choice(map, "defaultPolicy", namespace, problems),
        custom_policies: custom_policies(map, namespace, matching, problems),
        fallbacks,
    }
}

/// A choice whose error has the words of Sysdig's controllers.
fn named_choice<C: Choice>(
    map: &SettingsMap<'_, '_>,
    key: &str,
    namespace: Option<&str>,
    problems: &mut Problems,
) -> Option<C> {
    let text = map.text(key, problems)?;
    let choice = C::of(text);
    if choice.is_none() {
        let place = namespace.map(|ns| format!(" for namespace '{ns}'")).unwrap_or_default();
        let names = C::names();
        problems.add(map.path().key(key), format!("Invalid value for {key}{place} - '{text}'; use {names}"));
    }
    choice
}

fn custom_policies<A: PhaseAction>(
    map: &SettingsMap<'_, '_>,
    namespace: Option<&str>,
    matching: ImageMatching,
    problems: &mut Problems,
) -> Option<Vec<CustomPolicy<A>>> {
    let list = map.list("customPolicies", problems)?;
    let path = map.path().key("customPolicies");
    let entries = list.iter().enumerate();
    Some(
        entries
            .filter_map(|(position, value)| {
                custom_policy(value, &path.position(position), namespace, matching, problems)
            })
            .collect(),
    )
}

fn custom_policy<A: PhaseAction>(
    value: &Value,
    path: &Path<'_>,
    namespace: Option<&str>,
    matching: ImageMatching,
    problems: &mut Problems,
) -> Option<CustomPolicy<A>> {
    if !value.is_object() {
        problems.add(*path, wrong_type("an object with `prefix` and `action`", value));
        return None;
    }
    let map = SettingsMap::of(Some(value), path, problems)?;
    map.known(&["prefix", "action"], &[], problems);
    let prefix = map.text("prefix", problems);
    if !map.has("prefix") {
        problems.add(*path, "`prefix` is missing: how the images' names start, like `ghcr.io/team/`");
    }
    if prefix.is_some_and(|text| text.trim().is_empty()) {
        problems.add(
            path.key("prefix"),
            "an empty text is the beginning of every image's name: name the images that are meant, and write `defaultPolicy` for all others",
        );
    } else if let Some(text) = prefix
        && matching == ImageMatching::Canonical
        && !Prefix::new(text).can_match()
    {
        problems.add(
            path.key("prefix"),
            format!("no image's name starts with `{text}`; write a host, or a host and the beginning of a path, like `ghcr.io/team/`"),
        );
    }
    let written = map.get("action").map_or(Some("<empty>"), |_| map.text("action", problems))?;
    let action = A::of(written);
    if action.is_none() {
        let place = namespace.map_or("customPolicy".to_owned(), |ns| format!("namespace '{ns}' customPolicy"));
        let (prefix, names) = (prefix.unwrap_or_default(), A::names());
        problems.add(
            path.key("action"),
            format!("Invalid value for {place} with prefix '{prefix}' - '{written}'; use {names}"),
        );
    }
    Some(CustomPolicy { prefix: Prefix::new(prefix?), action: action? })
}
