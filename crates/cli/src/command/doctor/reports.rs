//! How old the reports of each source are, and whether scanners still write some.

use std::collections::BTreeMap;

use image_admission_judgement::report::kinds_of;
use image_admission_settings::{Namespaces, ReportSource, Reports};
use image_admission_untrusted::time::{Timestamp, WrittenDuration};
use serde_json::Value;

use super::cluster::{Kind, text};
use super::finding::{About, Check, Finding, Status};
use super::world::{Listed, World};

/// A scanner that wrote nothing for so long may have stopped: a week, in seconds.
const QUIET: i64 = 7 * 24 * 3600;
/// What names sbomscanner's ScanJob of a report.
const SCAN_JOB: &str = "sbomscanner.kubewarden.io/scanjob-uid";
const SCAN_JOBS: Kind<'_> = ("sbomscanner.kubewarden.io/v1alpha1", "ScanJob");

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (policy, reports, position, source) in sources(world) {
        let subject = format!("{policy}, reports.sources[{position}] ({})", source.name());
        findings.extend(of_source(world, &subject, source, reports));
    }
    findings
}

/// The sources of all policies, with their policies' titles. Policies with the same settings have theirs in common.
pub(super) fn sources<'w>(world: &'w World<'_>) -> Vec<(&'w str, &'w Reports, usize, &'w ReportSource)> {
    let mut all: Vec<(&str, &Reports, usize, &ReportSource)> = Vec::new();
    for policy in &world.policies {
        let Some(settings) = policy.settings.as_ref().ok().filter(|settings| settings.reads_reports()) else {
            continue;
        };
        let reports = &settings.reports;
        for (position, source) in reports.sources.iter().enumerate() {
            if !all.iter().any(|(_, other, _, known)| other.max_age == reports.max_age && *known == source) {
                all.push((&policy.title, reports, position, source));
            }
        }
    }
    all
}

/// Where a source has its reports, and their time.
struct Shelf<'s> {
    kind: Kind<'s>,
    /// None: all of them.
    namespaces: Vec<Option<&'s str>>,
    time: Time<'s>,
}

enum Time<'s> {
    /// At this path of a report.
    At(&'s str),
    /// The ScanJob that a label names has it.
    OfScanJob,
    Nowhere,
}

fn of_source(world: &World<'_>, subject: &str, source: &ReportSource, reports: &Reports) -> Vec<Finding> {
    let about = || About::new(Check::Reports, subject);
    let Some(shelf) = shelf(source) else {
        return about().or_ok("they stand beside images in registries, and not in the cluster");
    };
    let of_place = |place| match times(world, &shelf, place) {
        Ok(times) => of_times(&times, &shown(place), reports.max_age.as_ref(), world.now, about()),
        Err(why) => about().only(Status::Unknown, why),
    };
    shelf.namespaces.iter().copied().flat_map(of_place).collect()
}

/// None: its reports stand in registries.
fn shelf(source: &ReportSource) -> Option<Shelf<'_>> {
    let (namespaces, time) = match source {
        ReportSource::SbomScanner(of) => (places(&of.namespaces), Time::OfScanJob),
        ReportSource::TrivyOperator(of) => (places(&of.namespaces), Time::At("report.updateTimestamp")),
        ReportSource::Custom(of) => (places(&of.namespaces), of.fields.time.as_deref().map_or(Time::Nowhere, Time::At)),
        ReportSource::Kubescape(of) => (vec![Some(of.namespace.as_str())], Time::Nowhere),
        ReportSource::Registry(_) | ReportSource::Attestation(_) => return None,
    };
    Some(Shelf { kind: kinds_of(source).into_iter().next()?, namespaces, time })
}

/// The namespaces to look at; none: all of them.
pub(super) fn places(namespaces: &Namespaces) -> Vec<Option<&str>> {
    if namespaces.of_workload { vec![None] } else { namespaces.named.iter().map(|own| Some(own.as_str())).collect() }
}

/// sbomscanner's reports: as long as they are, nothing but whose they are is asked for.
pub(super) fn of_sbomscanner(world: &World<'_>, kind: Kind<'_>, place: Option<&str>) -> Listed {
    world.list(kind, place, &["imageMetadata"])
}

/// When each report was made, where that is known.
fn times(world: &World<'_>, shelf: &Shelf<'_>, place: Option<&str>) -> Result<Vec<Option<Timestamp>>, String> {
    let (listed, jobs) = match shelf.time {
        Time::At(path) => (world.list(shelf.kind, place, &[path]), BTreeMap::new()),
        Time::Nowhere => (world.list(shelf.kind, place, &["metadata.name"]), BTreeMap::new()),
        Time::OfScanJob => (of_sbomscanner(world, shelf.kind, place), jobs(world, place)?),
    };
    let all = listed.as_ref().as_ref().map_err(Clone::clone)?;
    let time = |report: &Value| match shelf.time {
        Time::At(path) => Timestamp::parse(text(report, &format!("/{}", path.replace('.', "/")))),
        Time::OfScanJob => {
            let uid = report.pointer("/metadata/labels").and_then(|labels| labels.get(SCAN_JOB))?;
            jobs.get(uid.as_str()?).copied()
        }
        Time::Nowhere => None,
    };
    Ok(all.iter().map(time).collect())
}

/// When each ScanJob was done, or has begun, by its uid.
fn jobs(world: &World<'_>, place: Option<&str>) -> Result<BTreeMap<String, Timestamp>, String> {
    let listed = world.list(SCAN_JOBS, place, &["status.completionTime", "status.startTime"]);
    let all = listed.as_ref().as_ref().map_err(Clone::clone)?;
    let time = |job: &Value, pointer| Timestamp::parse(text(job, pointer));
    let done = all.iter().filter_map(|job| {
        let at = time(job, "/status/completionTime").or_else(|| time(job, "/status/startTime"))?;
        Some((text(job, "/metadata/uid").to_owned(), at))
    });
    Ok(done.collect())
}

fn of_times(
    times: &[Option<Timestamp>],
    place: &str,
    max_age: Option<&WrittenDuration>,
    now: Timestamp,
    mut about: About<'_>,
) -> Vec<Finding> {
    let all = times.len();
    if all == 0 {
        return about.only(Status::Warn, format!("there is no report in {place}: does the scanner run?"));
    }
    let known: Vec<Timestamp> = times.iter().flatten().copied().collect();
    let (Some(oldest), Some(newest)) = (known.iter().min(), known.iter().max()) else {
        let status = if max_age.is_some() { Status::Fail } else { Status::Ok };
        return about.only(status, format!("{all} in {place}; none says when it was made"));
    };
    let is_fresh = |time: &Timestamp| max_age.is_none_or(|max_age| !time.is_older_than(max_age, now));
    let stale = all.saturating_sub(known.iter().filter(|time| is_fresh(time)).count());
    if let Some(max_age) = max_age.filter(|_| stale > 0) {
        let status = if is_fresh(newest) { Status::Warn } else { Status::Fail };
        let message = format!(
            "{stale} of {all} in {place} are older than `maxAge` ({max_age}), or don't say when they were made, and count as missing; \
             the newest is of {newest}, the oldest of {oldest}"
        );
        about.add(status, message);
    }
    if now.0.saturating_sub(newest.0) > QUIET {
        about.add(Status::Warn, format!("nothing was written in {place} since {newest}: does the scanner still run?"));
    }
    if newest.is_ahead_of(now) {
        about.add(
            Status::Warn,
            format!("a report in {place} is of {newest}, which is in the future: compare the clocks"),
        );
    }
    about.or_ok(format!("{all} in {place}; the newest is of {newest}, the oldest of {oldest}"))
}

/// For people.
pub(super) fn shown(place: Option<&str>) -> String {
    place.map_or_else(|| "all namespaces".to_owned(), |of| format!("namespace `{of}`"))
}
