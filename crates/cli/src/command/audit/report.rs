//! What was found, as data: workloads with why they are denied, and how often what is the reason. Its JSON is documented in
//! docs/audit.md.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::denial::DenialRule;
use super::judgement::{Image, Judgement, Reason};
use super::object::{ObjectName, Rest};
use super::table::number;
use image_admission_manifests::document::Place;

/// The version of the JSON's shape. It changes when a key goes, or means something else.
const SCHEMA_VERSION: u32 = 1;

/// Everything that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    schema_version: u32,
    /// The version of this command.
    version: &'static str,
    /// The time for which everything was decided.
    pub(super) decided_at: String,
    /// The file of the settings; none: every default.
    pub(super) settings: Option<String>,
    /// The file of the settings that they are compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) against: Option<String>,
    pub(super) summary: Summary,
    /// In the order of their names.
    pub(super) namespaces: Vec<NamespaceCount>,
    /// The reasons for denials, the most frequent first.
    pub(super) rules: Vec<RuleCount>,
    /// The vulnerabilities that break limits, the most frequent first.
    pub(super) findings: Vec<FindingCount>,
    /// By namespace, kind and name; compared with other settings, only those that change.
    pub(super) workloads: Vec<Workload>,
    pub(super) not_judged: NotJudged,
    /// What could not be read, listed or answered.
    pub(super) problems: Vec<String>,
    /// Whether only denials are asked for.
    #[serde(skip)]
    pub(super) is_denied_only: bool,
}

/// How many of everything there are.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Summary {
    /// The objects that were decided.
    pub(super) objects: usize,
    pub(super) workloads: usize,
    pub(super) pods: usize,
    pub(super) namespaces: usize,
    /// Different images, as the objects name them.
    pub(super) images: usize,
    pub(super) denied_workloads: usize,
    pub(super) denied_pods: usize,
    /// Admitted, with a warning.
    pub(super) warned_workloads: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) changes: Option<Changes>,
}

/// How many workloads change, compared with other settings.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Changes {
    pub(super) newly_denied: usize,
    pub(super) newly_admitted: usize,
    pub(super) other_warnings: usize,
}

/// A namespace, and how many of its workloads are denied.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NamespaceCount {
    pub(super) namespace: String,
    pub(super) workloads: usize,
    pub(super) pods: usize,
    pub(super) denied_workloads: usize,
    pub(super) denied_pods: usize,
}

/// A kind of reason with the setting that decided, and how many workloads it denies.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RuleCount {
    pub(super) rule: DenialRule,
    /// The path of the setting; none when no setting could have decided otherwise.
    pub(super) setting: Option<String>,
    pub(super) workloads: usize,
}

/// A vulnerability that breaks a limit, and where.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FindingCount {
    pub(super) id: String,
    pub(super) images: usize,
    pub(super) workloads: usize,
}

/// An object that nothing else has made, with everything that it has made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Workload {
    #[serde(flatten)]
    pub(super) name: ObjectName,
    /// Where it was read.
    pub(super) source: String,
    /// The file, where it is one.
    #[serde(skip)]
    pub(super) file: Option<String>,
    /// Whether anything of it is denied.
    pub(super) denied: bool,
    pub(super) pods: usize,
    pub(super) denied_pods: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) change: Option<Change>,
    /// Why, each reason once.
    pub(super) reasons: Vec<Told<Reason>>,
    pub(super) warnings: Vec<Told<Warning>>,
    /// What other settings say of what changes, and these don't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<Before>,
    pub(super) images: Vec<Image>,
}

/// What two settings make of a workload, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Change {
    /// Something of it that was admitted is denied.
    NewlyDenied,
    /// Something of it that was denied is admitted.
    NewlyAdmitted,
    /// Only other warnings.
    OtherWarnings,
}

/// What other settings say of a workload.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Before {
    pub(super) reasons: Vec<Told<Reason>>,
    pub(super) warnings: Vec<Told<Warning>>,
}

/// Something that is said of a workload, and of how many of its objects, by kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told<T> {
    #[serde(flatten)]
    pub(super) what: T,
    pub(super) objects: BTreeMap<String, usize>,
}

/// What whoever creates an object would be told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Warning {
    pub(super) message: String,
}

/// What was found and not decided.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotJudged {
    /// Objects that the settings aren't about, by kind and group.
    pub(super) kinds: BTreeMap<String, usize>,
    /// Objects that the policy leaves out, by the selector or condition that does.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) left_out: BTreeMap<String, usize>,
    /// Objects of which nothing runs any more, by kind and why.
    pub(super) at_rest: BTreeMap<String, usize>,
    /// Documents in folders that are no objects.
    pub(super) documents: usize,
}

/// An object that was decided.
#[derive(Debug)]
pub(super) struct Decided<'o> {
    pub(super) name: &'o ObjectName,
    /// The object that it is shown under.
    pub(super) owner: &'o ObjectName,
    /// Tells apart owners of the same name.
    pub(super) owner_position: usize,
    /// Where the owner was read.
    pub(super) source: &'o Place,
    pub(super) now: Judgement,
    /// What the other settings say.
    pub(super) before: Option<Judgement>,
}

impl Report {
    /// Puts together what was decided.
    pub(super) fn new(
        decided: &[Decided<'_>],
        decided_at: String,
        (settings, against): (Option<String>, Option<String>),
        not_judged: NotJudged,
        problems: Vec<String>,
    ) -> Self {
        let mut groups: BTreeMap<(&ObjectName, usize), Vec<&Decided<'_>>> = BTreeMap::new();
        for object in decided {
            groups.entry((object.owner, object.owner_position)).or_default().push(object);
        }
        let mut summary = Summary { objects: decided.len(), ..Summary::default() };
        let images = decided.iter().flat_map(|object| &object.now.images).map(|image| &image.image);
        summary.images = images.collect::<BTreeSet<_>>().len();
        let compares = against.is_some();
        let mut counts = Counts::default();
        let mut changes = Changes::default();
        let mut workloads = Vec::new();
        for ((owner, _), objects) in groups {
            let Some(workload) = Workload::of(owner, &objects) else { continue };
            let is_warned = objects.iter().any(|object| !object.now.warnings.is_empty());
            counts.add(&workload);
            match workload.change {
                Some(Change::NewlyDenied) => changes.newly_denied += 1,
                Some(Change::NewlyAdmitted) => changes.newly_admitted += 1,
                Some(Change::OtherWarnings) => changes.other_warnings += 1,
                None => {}
            }
            summary.workloads += 1;
            summary.pods += workload.pods;
            summary.denied_pods += workload.denied_pods;
            summary.denied_workloads += usize::from(workload.denied);
            summary.warned_workloads += usize::from(!workload.denied && is_warned);
            if !compares || workload.change.is_some() {
                workloads.push(workload);
            }
        }
        summary.namespaces = counts.namespaces.len();
        summary.changes = compares.then_some(changes);
        Self {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            decided_at,
            settings,
            against,
            summary,
            namespaces: counts.namespaces.into_values().collect(),
            rules: most_frequent(counts.rules.into_values(), |rule| (rule.workloads, 0)),
            findings: most_frequent(counts.findings.into_iter().map(FindingCount::from), |f| (f.workloads, f.images)),
            workloads,
            not_judged,
            problems,
            is_denied_only: false,
        }
    }

    /// The version of the command that made it.
    pub(super) fn version(&self) -> &'static str {
        self.version
    }

    /// Leaves only the workloads that are denied, or newly denied; counts stay.
    pub(super) fn keep_denied(&mut self) {
        self.is_denied_only = true;
        self.workloads.retain(|workload| match workload.change {
            Some(change) => change == Change::NewlyDenied,
            None => workload.denied,
        });
    }

    /// Whether something is denied, or newly denied where settings are compared.
    pub(super) fn denies(&self) -> bool {
        self.summary.changes.map_or(self.summary.denied_workloads, |changes| changes.newly_denied) > 0
    }
}

impl Workload {
    /// Everything that was decided below one owner.
    fn of(owner: &ObjectName, objects: &[&Decided<'_>]) -> Option<Self> {
        let first = objects.first()?;
        let is_pod = |object: &&&Decided<'_>| object.name.kind == "Pod" && object.name.group.is_empty();
        let pods = objects.iter().filter(is_pod).count();
        let denied_pods = objects.iter().filter(is_pod).filter(|object| !object.now.is_admitted).count();
        let images: BTreeSet<&Image> = objects.iter().flat_map(|object| &object.now.images).collect();
        let mut workload = Self {
            name: owner.clone(),
            source: first.source.to_string(),
            file: first.source.path().map(|path| path.display().to_string()),
            denied: objects.iter().any(|object| !object.now.is_admitted),
            pods,
            denied_pods,
            change: None,
            reasons: Vec::new(),
            warnings: Vec::new(),
            before: None,
            images: images.into_iter().cloned().collect(),
        };
        let changed: Vec<(&ObjectName, &Judgement, &Judgement)> = objects
            .iter()
            .filter_map(|object| Some((object.name, &object.now, object.before.as_ref()?)))
            .filter(|(_, now, before)| now.is_admitted != before.is_admitted || now.warnings != before.warnings)
            .collect();
        if objects.iter().all(|object| object.before.is_none()) {
            workload.reasons =
                told(objects.iter().flat_map(|of| of.now.reasons.iter().map(move |why| (of.name, why.clone()))));
            workload.warnings = told(objects.iter().flat_map(|of| warnings(of.name, &of.now, None)));
        } else if !changed.is_empty() {
            let is_denied = |(_, now, before): &&(_, &Judgement, &Judgement)| !now.is_admitted && before.is_admitted;
            let is_admitted = |(_, now, before): &&(_, &Judgement, &Judgement)| now.is_admitted && !before.is_admitted;
            workload.change = Some(if changed.iter().any(|change| is_denied(&change)) {
                Change::NewlyDenied
            } else if changed.iter().any(|change| is_admitted(&change)) {
                Change::NewlyAdmitted
            } else {
                Change::OtherWarnings
            });
            let now = changed.iter().filter(is_denied);
            workload.reasons =
                told(now.flat_map(|(name, now, _)| now.reasons.iter().map(move |why| (*name, why.clone()))));
            workload.warnings = told(changed.iter().flat_map(|(name, now, before)| warnings(name, now, Some(*before))));
            let was = changed.iter().filter(is_admitted);
            workload.before = Some(Before {
                reasons: told(
                    was.flat_map(|(name, _, before)| before.reasons.iter().map(move |why| (*name, why.clone()))),
                ),
                warnings: told(changed.iter().flat_map(|(name, now, before)| warnings(name, before, Some(*now)))),
            });
        }
        Some(workload)
    }
}

/// The warnings of an object that the other settings don't have.
fn warnings<'n>(
    name: &'n ObjectName,
    judgement: &Judgement,
    other: Option<&Judgement>,
) -> Vec<(&'n ObjectName, Warning)> {
    let own = judgement.warnings.iter().filter(|text| other.is_none_or(|other| !other.warnings.contains(*text)));
    own.map(|text| (name, Warning { message: text.clone() })).collect()
}

/// Each thing that is said once, with the kinds of the objects that it is said of.
fn told<'n, T: Ord>(said: impl Iterator<Item = (&'n ObjectName, T)>) -> Vec<Told<T>> {
    let mut all: BTreeMap<T, BTreeMap<String, usize>> = BTreeMap::new();
    for (name, what) in said {
        *all.entry(what).or_default().entry(name.kind.clone()).or_default() += 1;
    }
    all.into_iter().map(|(what, objects)| Told { what, objects }).collect()
}

/// What is counted while workloads go by.
#[derive(Debug, Default)]
struct Counts {
    namespaces: BTreeMap<String, NamespaceCount>,
    rules: BTreeMap<(DenialRule, Option<String>), RuleCount>,
    /// By vulnerability: its images, and its workloads.
    findings: BTreeMap<String, (BTreeSet<String>, usize)>,
}

impl Counts {
    fn add(&mut self, workload: &Workload) {
        let namespace = &workload.name.namespace;
        let count = self.namespaces.entry(namespace.clone()).or_insert_with(|| NamespaceCount {
            namespace: namespace.clone(),
            workloads: 0,
            pods: 0,
            denied_workloads: 0,
            denied_pods: 0,
        });
        count.workloads += 1;
        count.pods += workload.pods;
        count.denied_pods += workload.denied_pods;
        count.denied_workloads += usize::from(workload.denied);
        let mut rules: BTreeSet<(DenialRule, Option<&String>)> = BTreeSet::new();
        let mut findings: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for Told { what, .. } in &workload.reasons {
            rules.insert((what.rule, what.settings.first()));
            for id in &what.findings {
                findings.entry(id).or_default().extend(what.image.as_deref());
            }
        }
        for (rule, setting) in rules {
            let setting = setting.cloned();
            let key = (rule, setting.clone());
            self.rules.entry(key).or_insert_with(|| RuleCount { rule, setting, workloads: 0 }).workloads += 1;
        }
        for (id, images) in findings {
            let (all, workloads) = self.findings.entry(id.to_owned()).or_default();
            all.extend(images.into_iter().map(str::to_owned));
            *workloads += 1;
        }
    }
}

impl From<(String, (BTreeSet<String>, usize))> for FindingCount {
    fn from((id, (images, workloads)): (String, (BTreeSet<String>, usize))) -> Self {
        Self { id, images: images.len(), workloads }
    }
}

impl NotJudged {
    /// What the policy leaves out, for people: `3 objects left out by the policy's namespaceSelector`.
    pub(super) fn left_out(&self) -> impl Iterator<Item = String> {
        let words =
            |(by, count): (&String, &usize)| format!("{} left out by the policy's {by}", number(*count, "object"));
        self.left_out.iter().map(words)
    }

    /// Counts an object that is still there, and runs nothing.
    pub(super) fn at_rest(&mut self, name: &ObjectName, rest: Rest) {
        *self.at_rest.entry(format!("{} {}", name.kind, rest.words())).or_default() += 1;
    }
}

/// Sorted by how often, the most frequent first, and then as they were.
fn most_frequent<T>(all: impl Iterator<Item = T>, number: impl Fn(&T) -> (usize, usize)) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_by_key(|one| std::cmp::Reverse(number(one)));
    all
}
