//! The table at the end of many decisions: a line for each object, or for each image whatever objects name it.

use std::collections::BTreeMap;

use image_admission_engine::Outcome;
use image_admission_image::WorkloadImage;

use super::Group;
use super::results::Answered;
use super::text::result;
use crate::command::output::{Check, Level};
use crate::command::terminal::{Paint, in_one_line, without_commands};
use image_admission_manifests::request::Subject;

/// The lines so far.
pub(super) struct Table {
    group: Group,
    objects: Vec<[String; 3]>,
    /// The number of objects that have an image with a result.
    images: BTreeMap<(String, String), usize>,
}

impl Table {
    pub(super) fn new(group: Group) -> Self {
        Self { group, objects: Vec::new(), images: BTreeMap::new() }
    }

    /// Adds what came of a request; `check` has the reasons. Of images that are let in nothing is added where only those that
    /// aren't are asked for.
    pub(super) fn add(&mut self, subject: &Subject, answer: &Answered, check: &Check, denied_only: bool) {
        let first = check.findings.iter().find(|finding| finding.level >= Level::Error);
        let (verdict, reason) = match answer {
            Answered::Nothing(_) => ("no answer", first.map(|finding| finding.message.clone())),
            Answered::Answer(answer) if answer.response.accepted => {
                ("allowed", answer.response.audit_annotations.get("reason").cloned())
            }
            Answered::Answer(_) => ("denied", first.map(|finding| finding.message.clone())),
        };
        let reason = reason.as_deref().and_then(|reason| reason.lines().next()).unwrap_or_default();
        self.objects.push([subject.to_string(), verdict.to_owned(), reason.to_owned()]);
        let Answered::Answer(answer) = answer else { return };
        let decision = &answer.decision;
        let mut own: Vec<(String, String)> =
            decision.images.iter().map(|judged| (judged.image.shown(), result(judged, &decision.outcome))).collect();
        if let Outcome::NotImages(images) = &decision.outcome {
            let shown = |image: &WorkloadImage| match image.shown() {
                shown if shown.is_empty() => "(no image)".to_owned(),
                shown => shown,
            };
            own.extend(images.iter().map(|image| (shown(image), "denied: not an image reference".to_owned())));
        }
        if let Outcome::NamedByMirrors(images) = &decision.outcome {
            own.extend(images.iter().map(|(image, _)| (image.shown(), "denied: named by a mirror".to_owned())));
        }
        own.retain(|(_, result)| !denied_only || !result.starts_with("accepted"));
        own.sort();
        own.dedup();
        for key in own {
            *self.images.entry(key).or_default() += 1;
        }
    }

    /// All of it, with a heading; nothing if there is no line.
    pub(super) fn text(&self, paint: Paint) -> String {
        let (heading, rows): ([&str; 3], Vec<[String; 3]>) = match self.group {
            Group::Object => (["OBJECT", "VERDICT", "FIRST REASON"], self.objects.clone()),
            Group::Image => {
                let row = |((image, result), objects): (&(String, String), &usize)| {
                    [image.clone(), objects.to_string(), result.clone()]
                };
                (["IMAGE", "OBJECTS", "RESULT"], self.images.iter().map(row).collect())
            }
        };
        if rows.is_empty() {
            return String::new();
        }
        let rows: Vec<[String; 3]> =
            rows.into_iter().map(|row| row.map(|cell| in_one_line(&cell).into_owned())).collect();
        let width = |heading: &str, cells: &mut dyn Iterator<Item = &String>| {
            cells.map(|cell| cell.chars().count()).chain([heading.len()]).max().unwrap_or_default()
        };
        let [first, second, third] = heading;
        let wide = width(first, &mut rows.iter().map(|[cell, ..]| cell));
        let narrow = width(second, &mut rows.iter().map(|[_, cell, _]| cell));
        let mut text = format!("{}\n", paint.bold(&format!("{first:wide$}  {second:narrow$}  {third}")));
        for [first, second, third] in rows {
            let padded = format!("{second:narrow$}");
            let padded = match second.as_str() {
                "denied" | "no answer" => paint.red(&padded),
                "allowed" => paint.green(&padded),
                _ => padded.as_str().into(),
            };
            let line = format!("{first:wide$}  {padded}  {third}");
            text.push_str(&without_commands(line.trim_end()));
            text.push('\n');
        }
        text.push('\n');
        text
    }
}
