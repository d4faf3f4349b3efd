//! When a scan report is accepted.

mod exploitation;
mod grace;
mod licenses;
mod packages;

use super::list_in_cluster::ListInCluster;
use super::namespaces::{ByNamespace, NamespacePattern};
use super::read::{Choice, Problems, SettingsMap, wrong_type};
use image_admission_scan_report::severity::Severity;

pub use exploitation::{Epss, GateAction, KnownExploited, MissingScores};
pub use grace::GracePeriods;
pub use licenses::{LicenseGate, UnknownLicense};
pub use packages::{DeniedPackage, PackageGate};

/// When a scan report is accepted: at the top level, and in namespaces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Acceptance {
    top: Gates,
    by_namespace: ByNamespace<Gates>,
}

/// The gates of one level. What is absent is as one level up.
#[derive(Debug, Clone, Default, PartialEq)]
struct Gates {
    max_severity: Option<Vec<(Severity, Limit)>>,
    cvss_score: Option<CvssLimit>,
    deny_always: Option<Vec<String>>,
    allow_always: Option<Vec<String>>,
    ignore_vex_status: Option<bool>,
    fix_grace_period: Option<GracePeriods>,
    unfixed_grace_period: Option<GracePeriods>,
    running: Option<GracePeriods>,
    known_exploited: Option<KnownExploited>,
    epss: Option<Epss>,
    end_of_life: Option<GateAction>,
    packages: Option<PackageGate>,
    licenses: Option<LicenseGate>,
    count: Option<Count>,
}

/// The gates for the images of one namespace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits<'a> {
    /// In the order of [`Severity::ALL`]. More findings than a limit reject.
    pub max_severity: &'a [(Severity, Limit)],
    /// How many findings may have a high score.
    pub cvss_score: Option<CvssLimit>,
    /// Ids of vulnerabilities that reject wherever they are found.
    pub deny_always: &'a [String],
    /// Ids of vulnerabilities that never count.
    pub allow_always: &'a [String],
    /// Whether findings count although a VEX document clears them.
    pub ignore_vex_status: bool,
    /// How long a finding with a fix doesn't count after the fix, or the finding, was published.
    pub fix_grace_period: Option<&'a GracePeriods>,
    /// How long a finding without a fix doesn't count after it was published.
    pub unfixed_grace_period: Option<&'a GracePeriods>,
    /// How long a finding doesn't count after it became known, if the image ran before that.
    pub running: Option<&'a GracePeriods>,
    /// What becomes of an image with a vulnerability that is exploited in the wild.
    pub known_exploited: Option<&'a KnownExploited>,
    /// What becomes of an image with a vulnerability that is likely to be exploited.
    pub epss: Option<Epss>,
    /// What becomes of an image whose operating system is past its end of life.
    pub end_of_life: Option<GateAction>,
    /// Packages that the image may not have.
    pub packages: Option<&'a PackageGate>,
    /// Licences that its packages may have, or may not.
    pub licenses: Option<&'a LicenseGate>,
    /// What counts as one finding.
    pub count: Count,
}

/// How many findings with a high score are accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CvssLimit {
    /// The lowest score that counts, 0 to 10.
    pub threshold: f64,
    /// The most of them.
    pub max_count: u64,
}

/// What counts as one finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum Count {
    /// A vulnerability, in however many packages.
    #[default]
    Unique,
    /// A vulnerability in a package.
    Entries,
}

impl Choice for Count {
    const CHOICES: &'static [(&'static str, Self)] = &[("unique", Self::Unique), ("entries", Self::Entries)];
}

/// The limit when no level sets one.
const NO_CRITICAL: [(Severity, Limit); 1] = [(Severity::Critical, Limit::Total(0))];

impl Acceptance {
    /// The gates for the images of a namespace. A key of the namespace replaces the top level's.
    #[must_use]
    pub fn of(&self, namespace: &str) -> Limits<'_> {
        self.limits(self.by_namespace.of(namespace).map(|(_, own)| own))
    }

    /// The gates of the top level alone.
    pub(super) fn top(&self) -> Limits<'_> {
        self.limits(None)
    }

    fn limits<'a>(&'a self, own: Option<&'a Gates>) -> Limits<'a> {
        let top = &self.top;
        let own = own.unwrap_or(top);
        let cvss_score = own.cvss_score.or(top.cvss_score);
        let max_severity = own.max_severity.as_deref().or(top.max_severity.as_deref());
        Limits {
            // A list of ids isn't enough as the only gate: it would admit everything that it doesn't name.
            max_severity: max_severity.unwrap_or(if cvss_score.is_none() { &NO_CRITICAL } else { &[] }),
            cvss_score,
            deny_always: own.deny_always.as_deref().or(top.deny_always.as_deref()).unwrap_or_default(),
            allow_always: own.allow_always.as_deref().or(top.allow_always.as_deref()).unwrap_or_default(),
            ignore_vex_status: own.ignore_vex_status.or(top.ignore_vex_status).unwrap_or(false),
            fix_grace_period: own.fix_grace_period.as_ref().or(top.fix_grace_period.as_ref()),
            unfixed_grace_period: own.unfixed_grace_period.as_ref().or(top.unfixed_grace_period.as_ref()),
            running: own.running.as_ref().or(top.running.as_ref()),
            known_exploited: own.known_exploited.as_ref().or(top.known_exploited.as_ref()),
            epss: own.epss.or(top.epss),
            end_of_life: own.end_of_life.or(top.end_of_life),
            packages: own.packages.as_ref().or(top.packages.as_ref()),
            licenses: own.licenses.as_ref().or(top.licenses.as_ref()),
            count: own.count.or(top.count).unwrap_or_default(),
        }
    }

    /// Whether findings count in every namespace although VEX documents clear them.
    pub(super) fn ignores_vex_everywhere(&self) -> bool {
        let own = self.by_namespace().map(|(_, limits)| limits);
        std::iter::once(self.top()).chain(own).all(|limits| limits.ignore_vex_status)
    }

    /// The gates of each entry of `byNamespace`, with its key.
    pub(super) fn by_namespace(&self) -> impl Iterator<Item = (&str, Limits<'_>)> {
        self.by_namespace.iter().map(|(key, own)| (key, self.limits(Some(own))))
    }

    /// The keys of `byNamespace`.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = NamespacePattern> {
        self.by_namespace.patterns()
    }

    /// The key of the entry of `byNamespace` that holds for a namespace.
    pub fn key_of(&self, namespace: &str) -> Option<&str> {
        self.by_namespace.key_of(namespace)
    }

    /// The gates that may hold without an entry of `byNamespace`, each with the key of its own entry, if any.
    pub(super) fn without(&self, key: &str) -> Vec<(Option<&str>, Limits<'_>)> {
        let others = self.by_namespace.without(key).into_iter();
        others.map(|other| (other.map(|(key, _)| key), self.limits(other.map(|(_, own)| own)))).collect()
    }

    /// The paths of all grace periods but `running`. Not every source supports them.
    pub(super) fn grace_periods(&self) -> Vec<String> {
        let mut paths = self.paths("fixGracePeriod", |gates| gates.fix_grace_period.is_some());
        paths.extend(self.paths("unfixedGracePeriod", |gates| gates.unfixed_grace_period.is_some()));
        paths
    }

    /// The paths of every `running`.
    pub fn running(&self) -> Vec<String> {
        self.paths("running", |gates| gates.running.is_some())
    }

    /// The paths of those without effect: the other grace periods are at least as long.
    pub(super) fn running_in_vain(&self) -> Vec<String> {
        let is_in_vain = |limits: Limits<'_>| {
            let graces = [limits.fix_grace_period, limits.unfixed_grace_period];
            limits
                .running
                .is_some_and(|running| graces.iter().all(|grace| grace.is_some_and(|grace| grace.cover(running))))
        };
        let namespaces = self.by_namespace.iter().filter(|(_, gates)| gates.running.is_some());
        let own = namespaces.filter(|(_, gates)| is_in_vain(self.limits(Some(gates))));
        let own = own.map(|(namespace, _)| format!("acceptance.byNamespace.{namespace}.running"));
        let top = (self.top.running.is_some() && is_in_vain(self.top())).then(|| "acceptance.running".to_owned());
        top.into_iter().chain(own).collect()
    }

    /// The paths of every `knownExploited` without a list: it relies on the reports.
    pub(super) fn exploited_by_reports(&self) -> Vec<(String, GateAction)> {
        self.with_value("knownExploited", |gates| {
            gates.known_exploited.as_ref().filter(|gate| gate.from.is_none()).map(|gate| gate.action)
        })
    }

    /// The paths of every `epss`. Not every source supports it.
    pub(super) fn likelihoods(&self) -> Vec<(String, Epss)> {
        self.with_value("epss", |gates| gates.epss)
    }

    /// The paths of every `endOfLife`. Not every source supports it.
    pub(super) fn ends_of_life(&self) -> Vec<(String, GateAction)> {
        self.with_value("endOfLife", |gates| gates.end_of_life)
    }

    /// The lists of exploited vulnerabilities, each with its path.
    pub fn exploited_lists(&self) -> Vec<(String, &ListInCluster)> {
        let all = std::iter::once((String::new(), &self.top))
            .chain(self.by_namespace.iter().map(|(namespace, gates)| (format!("byNamespace.{namespace}."), gates)));
        all.filter_map(|(level, gates)| {
            let list = gates.known_exploited.as_ref()?.from.as_ref()?;
            Some((format!("acceptance.{level}knownExploited.from"), list))
        })
        .collect()
    }

    /// The path of each `maxAge` that a list of exploited vulnerabilities lacks, where the list decides.
    pub(super) fn ageless_lists(&self) -> Vec<String> {
        self.paths("knownExploited.maxAge", |gates| {
            let gate = gates.known_exploited.as_ref();
            gate.is_some_and(|gate| {
                gate.action == GateAction::Reject && gate.from.as_ref().is_some_and(|list| list.max_age.is_none())
            })
        })
    }

    /// The paths of every gate that needs an image's packages.
    pub fn of_contents(&self) -> Vec<String> {
        let mut paths = self.paths("packages", |gates| gates.packages.is_some());
        paths.extend(self.paths("licenses", |gates| gates.licenses.is_some()));
        paths
    }

    /// Each list of licences, with the path of the gate that it stands in.
    pub(super) fn license_lists(&self) -> Vec<(String, &LicenseGate)> {
        let all = std::iter::once((String::new(), &self.top))
            .chain(self.by_namespace.iter().map(|(namespace, gates)| (format!("byNamespace.{namespace}."), gates)));
        all.filter_map(|(level, gates)| Some((format!("acceptance.{level}licenses"), gates.licenses.as_ref()?)))
            .collect()
    }

    /// The paths of every `cvssScore`. Not every source supports it.
    pub(super) fn cvss_scores(&self) -> Vec<String> {
        self.paths("cvssScore", |gates| gates.cvss_score.is_some())
    }

    fn with_value<T>(&self, key: &str, value: impl Fn(&Gates) -> Option<T>) -> Vec<(String, T)> {
        let top = value(&self.top).map(|value| (format!("acceptance.{key}"), value));
        let own = self.by_namespace.iter().filter_map(|(namespace, gates)| {
            Some((format!("acceptance.byNamespace.{namespace}.{key}"), value(gates)?))
        });
        top.into_iter().chain(own).collect()
    }

    fn paths(&self, key: &str, is_set: impl Fn(&Gates) -> bool) -> Vec<String> {
        let top = is_set(&self.top).then(|| format!("acceptance.{key}"));
        let own = self.by_namespace.iter().filter(|(_, gates)| is_set(gates));
        top.into_iter().chain(own.map(|(namespace, _)| format!("acceptance.byNamespace.{namespace}.{key}"))).collect()
    }
}

impl Limits<'_> {
    /// Whether the number of critical findings is limited, by their severity, or by their scores if they have some.
    pub(super) fn limit_critical(&self, have_scores: bool) -> bool {
        // Each field is named, so that a new one can't be forgotten here.
        let Self {
            max_severity,
            cvss_score,
            deny_always: _,
            allow_always: _,
            ignore_vex_status: _,
            fix_grace_period: _,
            unfixed_grace_period: _,
            running: _,
            known_exploited: _,
            epss: _,
            end_of_life: _,
            packages: _,
            licenses: _,
            count: _,
        } = self;
        (have_scores && cvss_score.is_some())
            || max_severity.iter().any(|(severity, _)| *severity == Severity::Critical)
    }

    /// Whether severities are limited, and `unknown` isn't among them.
    pub(super) fn limit_all_but_unknown(&self) -> bool {
        let is_unknown = |(severity, _): &(Severity, Limit)| *severity == Severity::Unknown;
        !self.max_severity.is_empty() && !self.max_severity.iter().any(is_unknown)
    }
}

/// How many findings of a severity are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most so many in all.
    Total(u64),
    /// At most so many that have no fix.
    TotalWithoutFixes(u64),
}

const KEYS: &[&str] = &[
    "maxSeverity",
    "cvssScore",
    "denyAlways",
    "allowAlways",
    "ignoreVexStatus",
    "fixGracePeriod",
    "unfixedGracePeriod",
    "running",
    "knownExploited",
    "epss",
    "endOfLife",
    "packages",
    "licenses",
    "count",
];

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Acceptance {
    let path = settings.path().key("acceptance");
    let Some(map) = SettingsMap::of(settings.get("acceptance"), &path, problems) else { return Acceptance::default() };
    map.known(&[KEYS, &["byNamespace"]].concat(), &[], problems);
    let top = read_gates(&map, problems);
    let by_namespace = ByNamespace::read(&map, KEYS, problems, |map, _, problems| read_gates(map, problems));
    Acceptance { top, by_namespace }
}

fn read_gates(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Gates {
    Gates {
        max_severity: read_max_severity(map, problems),
        cvss_score: map.has("cvssScore").then(|| read_cvss(map, problems)).flatten(),
        deny_always: read_ids(map, "denyAlways", problems),
        allow_always: read_ids(map, "allowAlways", problems),
        ignore_vex_status: map.has("ignoreVexStatus").then(|| map.boolean("ignoreVexStatus", false, problems)),
        fix_grace_period: grace::read(map, "fixGracePeriod", problems),
        unfixed_grace_period: grace::read(map, "unfixedGracePeriod", problems),
        running: grace::read_running(map, problems),
        known_exploited: exploitation::read_known_exploited(map, problems),
        epss: exploitation::read_epss(map, problems),
        end_of_life: map.has("endOfLife").then(|| map.choice("endOfLife", GateAction::default(), problems)),
        packages: packages::read(map, problems),
        licenses: licenses::read(map, problems),
        count: map.has("count").then(|| map.choice("count", Count::default(), problems)),
    }
}

/// The limits. An empty object counts as absent.
fn read_max_severity(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Vec<(Severity, Limit)>> {
    let path = map.path().key("maxSeverity");
    let limits = SettingsMap::of(map.get("maxSeverity"), &path, problems)?;
    limits.known(&Severity::ALL.map(Severity::name), &[], problems);
    let read: Vec<_> = Severity::ALL
        .into_iter()
        .filter(|severity| limits.has(severity.name()))
        .filter_map(|severity| Some((severity, read_limit(&limits, severity.name(), problems)?)))
        .collect();
    (!read.is_empty()).then_some(read)
}

fn read_cvss(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<CvssLimit> {
    let path = map.path().key("cvssScore");
    let cvss = SettingsMap::of(map.get("cvssScore"), &path, problems)?;
    cvss.known(&["threshold", "maxCount"], &[], problems);
    let Some(value) = cvss.get("threshold") else {
        problems.add(path, "`threshold` is missing: the lowest CVSS score that counts, like 7.0");
        return None;
    };
    let Some(threshold) = value.as_f64().filter(|score| (0.0..=10.0).contains(score)) else {
        problems.add(path.key("threshold"), wrong_type("a CVSS score from 0 to 10", value));
        return None;
    };
    Some(CvssLimit { threshold, max_count: cvss.number("maxCount", problems).unwrap_or(0) })
}

/// Whole ids. A pattern is refused: it would match less than it seems to.
fn read_ids(map: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Option<Vec<String>> {
    if !map.has(key) {
        return None;
    }
    let path = map.path().key(key);
    let mut ids = Vec::new();
    for (position, text) in map.texts(key, problems) {
        let is_no_id = |c: char| c.is_whitespace() || !c.is_ascii() || matches!(c, ',' | ';');
        if text.is_empty() || text.contains(is_no_id) {
            problems.add(path.position(position), format!("`{text}` is not the id of a vulnerability"));
        } else if text.contains(['*', '?']) {
            problems.add(
                path.position(position),
                format!("`{text}` is a pattern, and only whole ids are compared here; `exemptions` take patterns"),
            );
        }
        ids.push(text.to_owned());
    }
    Some(ids)
}

fn read_limit(limits: &SettingsMap<'_, '_>, severity: &str, problems: &mut Problems) -> Option<Limit> {
    let path = limits.path().key(severity);
    let map = SettingsMap::named(limits.get(severity), &path, "an object like `{total: 0}`", problems)?;
    map.known(&["total", "totalWithoutFixes"], &[], problems);
    if map.has("total") == map.has("totalWithoutFixes") {
        problems.add(path, "set one of `total` and `totalWithoutFixes`");
        return None;
    }
    let total = map.number("total", problems).map(Limit::Total);
    total.or_else(|| map.number("totalWithoutFixes", problems).map(Limit::TotalWithoutFixes))
}
