//! What was found, as people read it on a terminal: by namespace, and there by image.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::judgement::Reason;
use super::report::{Change, Report, Told, Warning, Workload};
use crate::command::terminal::{Paint, in_one_line, without_commands};

/// The most workloads that are named of one image.
const WORKLOADS_SHOWN: usize = 6;
/// The most kinds that are named of what was not decided.
const KINDS_SHOWN: usize = 8;

/// The whole text.
pub(super) fn table(report: &Report, paint: Paint) -> String {
    let mut page = Page { text: String::new(), paint };
    let mut namespaces: BTreeMap<&str, Vec<&Workload>> = BTreeMap::new();
    for workload in &report.workloads {
        namespaces.entry(&workload.name.namespace).or_default().push(workload);
    }
    if let Some(against) = &report.against {
        let settings = report.settings.as_deref().unwrap_or("every default");
        page.line(&in_one_line(&format!("{settings} compared with {against}")));
        page.line("");
    }
    for (namespace, workloads) in namespaces {
        page.namespace(report, namespace, &workloads);
    }
    page.summary(report);
    page.text
}

/// What is said of images or whole objects, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Denied,
    NewlyDenied,
    NewlyAdmitted,
    NewWarning,
    OldWarning,
    Warning,
    Admitted,
}

/// What the lines of one entry have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'r> {
    word: Word,
    /// The image, or what stands in its place.
    title: &'r str,
    reasons: Vec<&'r Reason>,
}

/// Workloads, each with how many of its objects are meant.
type Entries<'r> = BTreeMap<Key<'r>, Vec<(&'r Workload, Option<&'r BTreeMap<String, usize>>)>>;

struct Page {
    text: String,
    paint: Paint,
}

impl Page {
    fn namespace(&mut self, report: &Report, namespace: &str, workloads: &[&Workload]) {
        let heading = self.paint.bold(&in_one_line(namespace)).into_owned();
        match report.namespaces.iter().find(|count| count.namespace == namespace) {
            Some(count) if report.against.is_none() => {
                let denied = counted(count.denied_workloads, count.workloads, "workload");
                let pods = match count.pods {
                    0 => String::new(),
                    pods => format!(", {}", counted(count.denied_pods, pods, "Pod")),
                };
                self.line(&format!("{heading}: {denied}{pods} denied"));
            }
            _ => self.line(&format!("{heading}:")),
        }
        let is_wanted = |word| !report.is_denied_only || matches!(word, Word::Denied | Word::NewlyDenied);
        for (key, workloads) in entries(workloads).into_iter().filter(|(key, _)| is_wanted(key.word)) {
            self.entry(&key, &workloads);
        }
        self.line("");
    }

    fn entry(&mut self, key: &Key<'_>, workloads: &[(&Workload, Option<&BTreeMap<String, usize>>)]) {
        let word = match key.word {
            Word::Denied => self.paint.red("denied   "),
            Word::NewlyDenied => self.paint.red("newly denied   "),
            Word::NewlyAdmitted => self.paint.green("newly admitted "),
            Word::NewWarning => self.paint.yellow("new warning    "),
            Word::OldWarning => self.paint.green("warning is gone"),
            Word::Warning => self.paint.yellow("warning  "),
            Word::Admitted => self.paint.green("admitted "),
        };
        self.line(&format!("  {word}  {}", in_one_line(key.title)));
        let shown: Vec<String> =
            workloads.iter().take(WORKLOADS_SHOWN).map(|(workload, objects)| place(workload, *objects)).collect();
        let more = match workloads.len().saturating_sub(WORKLOADS_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        self.line(&format!("      in {}{more}", in_one_line(&shown.join(", "))));
        for reason in &key.reasons {
            let was = if key.word == Word::NewlyAdmitted { "before: " } else { "" };
            for line in reason.message.lines() {
                self.line(&format!("      {was}{}", in_one_line(line)));
            }
            if !reason.settings.is_empty() {
                let settings = format!("      by {}", in_one_line(&reason.settings.join(", ")));
                let settings = self.paint.dim(&settings).into_owned();
                self.line(&settings);
            }
        }
    }

    fn summary(&mut self, report: &Report) {
        let summary = &report.summary;
        let workloads = number(summary.workloads, "workload");
        let pods = if summary.pods == 0 { String::new() } else { format!(" with {}", number(summary.pods, "Pod")) };
        let (namespaces, images) = (number(summary.namespaces, "namespace"), number(summary.images, "image"));
        let found = format!("{workloads}{pods} in {namespaces}, {images}");
        let said = match summary.changes {
            Some(changes) => {
                let same = summary.workloads - changes.newly_denied - changes.newly_admitted - changes.other_warnings;
                format!(
                    "{} newly denied, {} newly admitted, {} with other warnings, {same} as before",
                    changes.newly_denied, changes.newly_admitted, changes.other_warnings
                )
            }
            None => {
                let pods = match summary.denied_pods {
                    0 => String::new(),
                    pods => format!(" with {}", number(pods, "Pod")),
                };
                let admitted = summary.workloads - summary.denied_workloads;
                let warned = match summary.warned_workloads {
                    0 => String::new(),
                    warned => format!(", {warned} of them with warnings"),
                };
                format!("{} denied{pods}, {admitted} admitted{warned}", summary.denied_workloads)
            }
        };
        let line = self.paint.bold(&format!("{found}: {said}")).into_owned();
        self.line(&line);
        let not_judged = &report.not_judged;
        let at_rest = not_judged.at_rest.iter().map(|(what, number)| format!("{number} {what}"));
        let mut rest: Vec<String> = not_judged.left_out().chain(at_rest).collect();
        let kinds = not_judged.kinds.iter().map(|(kind, number)| format!("{number} {kind}"));
        rest.extend(kinds.take(KINDS_SHOWN));
        if let more @ 1.. = not_judged.kinds.len().saturating_sub(KINDS_SHOWN) {
            rest.push(format!("{more} more kinds"));
        }
        if not_judged.documents > 0 {
            rest.push(number(not_judged.documents, "document") + " without an object");
        }
        if !rest.is_empty() {
            let line = self.paint.dim(&in_one_line(&format!("not judged: {}", rest.join(", ")))).into_owned();
            self.line(&line);
        }
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{}", without_commands(line));
    }
}

/// What there is to say of the workloads of a namespace.
fn entries<'r>(workloads: &[&'r Workload]) -> Entries<'r> {
    let mut entries: Entries<'r> = BTreeMap::new();
    for workload in workloads {
        let compares = workload.change.is_some();
        let denied = if compares { Word::NewlyDenied } else { Word::Denied };
        reasons(&mut entries, workload, denied, &workload.reasons);
        let warning = if compares { Word::NewWarning } else { Word::Warning };
        warnings(&mut entries, workload, warning, &workload.warnings);
        if let Some(before) = &workload.before {
            if workload.change == Some(Change::NewlyAdmitted) {
                reasons(&mut entries, workload, Word::NewlyAdmitted, &before.reasons);
            }
            warnings(&mut entries, workload, Word::OldWarning, &before.warnings);
        }
        // An image may be fine in a workload that something else denies: nothing of it is admitted.
        if !compares && workload.reasons.is_empty() {
            for image in &workload.images {
                let key = Key { word: Word::Admitted, title: &image.image, reasons: Vec::new() };
                entries.entry(key).or_default().push((workload, None));
            }
        }
    }
    entries
}

/// Reasons, those of one image and of the same objects together.
fn reasons<'r>(entries: &mut Entries<'r>, workload: &'r Workload, word: Word, told: &'r [Told<Reason>]) {
    let mut together: BTreeMap<(&str, &'r BTreeMap<String, usize>), Vec<&'r Reason>> = BTreeMap::new();
    for Told { what, objects } in told {
        let title = what.image.as_deref().unwrap_or("the object as a whole");
        together.entry((title, objects)).or_default().push(what);
    }
    for ((title, objects), reasons) in together {
        entries.entry(Key { word, title, reasons }).or_default().push((workload, Some(objects)));
    }
}

fn warnings<'r>(entries: &mut Entries<'r>, workload: &'r Workload, word: Word, told: &'r [Told<Warning>]) {
    for warning in told {
        let key = Key { word, title: &warning.what.message, reasons: Vec::new() };
        entries.entry(key).or_default().push((workload, Some(&warning.objects)));
    }
}

/// `Deployment web (3 Pods)`, with how many Pods are meant; what is said of something else alone says of what.
fn place(workload: &Workload, objects: Option<&BTreeMap<String, usize>>) -> String {
    let name = workload.name.short();
    let meant = |kind: &str| objects.map_or(0, |objects| objects.get(kind).copied().unwrap_or_default());
    let pods = objects.map_or(workload.pods, |_| meant("Pod"));
    let is_itself_meant = objects.is_none() || meant(&workload.name.kind) > 0;
    let others = objects.into_iter().flatten().filter(|(kind, _)| {
        let kind = kind.as_str();
        kind != workload.name.kind && kind != "Pod" && !is_itself_meant
    });
    let mut below: Vec<String> = others.map(|(kind, count)| number(*count, kind)).collect();
    if pods > 0 && workload.name.kind != "Pod" {
        below.push(if pods == workload.pods { number(pods, "Pod") } else { counted(pods, workload.pods, "Pod") });
    }
    match (is_itself_meant, below.as_slice()) {
        (_, []) => name,
        (true, below) => format!("{name} ({})", below.join(", ")),
        (false, below) => format!("{} of {name}", below.join(", ")),
    }
}

/// `1 Pod`, `3 Pods`
pub(super) fn number(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `2 of 3 Pods`
fn counted(some: usize, all: usize, what: &str) -> String {
    format!("{some} of {}", number(all, what))
}
