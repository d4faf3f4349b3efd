//! Whether sbomscanner's reports stand under the names by which the policy looks them up. The scheme is the scanner's own: when a
//! version changes it, images by tag count as never scanned.

use image_admission_judgement::report::{computed_report_name, kinds_of};
use image_admission_settings::ReportSource;
use serde_json::Value;

use super::cluster::text;
use super::finding::{About, Check, Finding, Status};
use super::reports::{of_sbomscanner, places, shown, sources};
use super::world::World;

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (policy, _, position, source) in sources(world) {
        let ReportSource::SbomScanner(of) = source else { continue };
        let subject = format!("{policy}, reports.sources[{position}] ({})", source.name());
        let Some(kind) = kinds_of(source).into_iter().next() else { continue };
        for place in places(&of.namespaces) {
            let about = About::new(Check::ReportNames, &subject);
            findings.extend(match &*of_sbomscanner(world, kind, place) {
                Ok(all) => of_reports(all, &shown(place), about),
                Err(why) => about.only(Status::Unknown, why.clone()),
            });
        }
    }
    findings
}

fn of_reports(all: &[Value], place: &str, mut about: About<'_>) -> Vec<Finding> {
    let names = all.iter().map(|report| (text(report, "/metadata/name"), computed(report)));
    let (mut same, mut other, mut nameless) = (0_usize, Vec::new(), 0_usize);
    for (name, computed) in names {
        match computed {
            Some(computed) if computed == name => same += 1,
            Some(_) => other.push(name),
            None => nameless += 1,
        }
    }
    let all = all.len();
    if same == 0 && nameless == all {
        return about.only(Status::Unknown, format!("no report in {place} says of which image it is"));
    }
    if let Some(first) = other.first() {
        let status = if same == 0 { Status::Fail } else { Status::Warn };
        let message = format!(
            "{} of {all} in {place} have other names than those by which they are looked up, such as `{first}`: their images by tag count as \
             never scanned",
            other.len()
        );
        about.add(status, message);
    }
    if nameless > 0 {
        about.add(
            Status::Warn,
            format!("{nameless} of {all} in {place} don't say of which image they are, and never count"),
        );
    }
    about.or_ok(format!("all {all} in {place} have the names by which they are looked up"))
}

fn computed(report: &Value) -> Option<String> {
    computed_report_name(report.get("imageMetadata")?)
}
