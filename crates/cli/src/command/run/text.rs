//! A decision as people read it: each image with what was found and who decided, then the verdict.

use image_admission_engine::{Decision, JudgedImage, Outcome};
use image_admission_image::WorkloadImage;
use image_admission_judgement::reason::ScanStatus;
use image_admission_judgement::report::ScanReport;
use image_admission_settings::{PreScanAction, ScanAction};
use serde_json::Value;

use crate::command::diff::diff;
use crate::command::policy::Answer;
use crate::command::terminal::{Paint, in_one_line, printable, without_commands};
use image_admission_manifests::request::Subject;

/// The whole text of one request; `object` is the request's.
pub(super) fn text(subject: &Subject, answer: &Answer, object: Option<&Value>, paint: Paint) -> String {
    let mut page = Page { text: String::new(), paint };
    page.heading(subject);
    if let Outcome::NotImages(images) = &answer.decision.outcome {
        images.iter().for_each(|image| page.not_an_image(image));
    }
    if let Outcome::NamedByMirrors(images) = &answer.decision.outcome {
        for (image, why) in images {
            page.image_heading(image);
            page.result(&format!("denied: {why}"));
        }
    }
    for judged in &answer.decision.images {
        page.image(judged, &answer.decision);
    }
    page.verdict(answer);
    if let (Some(before), Some(after)) = (object, &answer.response.mutated_object) {
        page.mutation(before, after);
    }
    page.text
}

struct Page {
    text: String,
    paint: Paint,
}

impl Page {
    fn heading(&mut self, subject: &Subject) {
        let subject = match subject.operation.to_lowercase() {
            operation if operation.is_empty() => subject.to_string(),
            operation => format!("{subject}, {operation}"),
        };
        let heading = self.paint.bold(&in_one_line(&subject)).into_owned();
        self.line(&heading);
    }

    fn image(&mut self, judged: &JudgedImage, decision: &Decision) {
        self.image_heading(&judged.image);
        let canonical = judged.reference.to_string();
        if canonical != judged.image.text {
            self.row("name", &canonical);
        }
        if let Some(rule) = &judged.pre_scan {
            let all_the_same = if rule.action == PreScanAction::Accept && judged.scan.is_some() {
                "; scanned all the same, as another image is"
            } else {
                ""
            };
            self.row("pre-scan", &format!("{}: {rule}{all_the_same}", rule.action));
        }
        for outcome in &decision.verification {
            if let Some(attestors) = outcome.verified.get(&judged.image.text) {
                let attestors: Vec<&str> = attestors.iter().map(String::as_str).collect();
                self.row("verified", &format!("{}: {}", outcome.name, attestors.join(", ")));
            }
        }
        if let Some(scan) = &judged.scan {
            match &scan.rule {
                Some(rule) => self.row("scan", &format!("{}: {rule}", rule.action)),
                None => self.row("scan", "custom rules alone"),
            }
            if let Some(report) = &scan.report {
                self.report(report);
            }
        }
        self.result(&result(judged, &decision.outcome));
    }

    fn not_an_image(&mut self, image: &WorkloadImage) {
        self.image_heading(image);
        if let Err(why) = &image.reference {
            self.result(&format!("denied: not an image reference, {why}"));
        }
    }

    fn image_heading(&mut self, image: &WorkloadImage) {
        self.line("");
        let shown = image.shown();
        let shown = if shown.is_empty() { "(no image)" } else { &shown };
        self.line(&format!("  {}", self.paint.bold(&in_one_line(shown))));
        self.row("where", &image.place());
    }

    fn report(&mut self, report: &ScanReport) {
        if let Some(digest) = &report.digest {
            self.row("digest", digest);
        }
        self.row("status", report.status.name());
        if report.platforms.len() < 2 {
            self.row("reason", &report.reason.to_string());
        } else {
            let name = |platform: &Option<String>| platform.clone().unwrap_or_default();
            let width = report.platforms.iter().map(|p| name(&p.platform).chars().count()).max().unwrap_or_default();
            for (index, platform) in report.platforms.iter().enumerate() {
                let label = if index == 0 { "reason" } else { "" };
                self.row(label, &format!("{:width$}  {}", name(&platform.platform), platform.reason()));
            }
        }
        for (index, exemption) in report.exemptions.iter().enumerate() {
            self.row(if index == 0 { "exempted" } else { "" }, &exemption.to_string());
        }
        for (index, vex) in report.vex.iter().enumerate() {
            self.row(if index == 0 { "vex" } else { "" }, &vex.to_string());
        }
        // A reason names the one report that decided.
        for platform in report.platforms.iter().filter(|platform| platform.reports.len() > 1) {
            self.row("reports", &platform.reports.join(", "));
        }
    }

    fn verdict(&mut self, answer: &Answer) {
        let response = &answer.response;
        self.line("");
        if response.accepted {
            let reason = response.audit_annotations.get("reason").map(String::as_str).unwrap_or_default();
            self.line(&format!("{}: {}", self.paint.green("allowed"), in_one_line(reason)));
        } else {
            let code = response.code.map(|code| format!(" with code {code}")).unwrap_or_default();
            self.line(&format!("{}{code}:", self.paint.red("denied")));
            let message = response.message.as_deref().unwrap_or_default();
            printable(message).lines().for_each(|line| self.line(&format!("  {line}")));
        }
        for warning in &response.warnings {
            self.line(&format!("{}: {}", self.paint.yellow("warning"), in_one_line(warning)));
        }
    }

    fn mutation(&mut self, before: &Value, after: &Value) {
        self.line("");
        self.line("the object is changed:");
        for line in diff(before, after) {
            self.line(&line.shown(self.paint));
        }
    }

    fn result(&mut self, result: &str) {
        let shown = in_one_line(result);
        let shown = if result.starts_with("denied") { self.paint.red(&shown) } else { shown };
        self.line(&format!("    {}  {shown}", self.label("result")));
    }

    fn row(&mut self, label: &str, value: &str) {
        self.line(&format!("    {}  {}", self.label(label), in_one_line(value)));
    }

    fn label(&self, label: &str) -> String {
        self.paint.dim(&format!("{label:8}")).into_owned()
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(&without_commands(line));
        self.text.push('\n');
    }
}

/// What came of an image, in the words of the phase that decided.
pub(super) fn result(judged: &JudgedImage, outcome: &Outcome) -> String {
    let Some(scan) = &judged.scan else {
        let rejects = judged.pre_scan.as_ref().is_some_and(|rule| rule.action == PreScanAction::Reject);
        return match outcome {
            Outcome::PreScanRejected(_) if rejects => "denied by pre-scan",
            Outcome::PreScanRejected(_) => "not decided, as another image is denied",
            Outcome::NotVerified => "not scanned: verification rejects the request",
            _ => "accepted by pre-scan, without a scan",
        }
        .to_owned();
    };
    let denied = scan.denied.map(|denial| denial.to_string());
    let denied: Vec<String> = denied.into_iter().chain(scan.custom.iter().cloned()).collect();
    if !denied.is_empty() {
        return format!("denied: {}", denied.join(", "));
    }
    let pinned = match judged.pinned {
        Some(_) => " and pinned",
        None if judged.is_excluded => " and left unpinned by `pin.exclude`",
        None => "",
    };
    let status = scan.report.as_ref().map(|report| report.status).filter(|status| *status != ScanStatus::Accepted);
    match (scan.rule.as_ref().map(|rule| rule.action), status, &scan.warning) {
        (Some(ScanAction::Accept), None, _) => format!("accepted{pinned} whatever its scan says"),
        (Some(ScanAction::Accept), Some(status), _) => {
            format!("accepted{pinned}, although its scan status is '{status}'")
        }
        (_, _, Some(warning)) => format!("accepted{pinned}, although it {warning}"),
        (_, _, None) => format!("accepted{pinned}"),
    }
}
