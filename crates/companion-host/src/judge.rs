//! Asks the policy's engine what is known of an image.

use crate::cluster::{Question, Watched};
use crate::policy::Policy;
use image_admission_companion::{Judgement, NamedImage};
use image_admission_engine::known_scan;
use image_admission_image::ImageReference;
use image_admission_untrusted::time::Timestamp;

/// What part of `maxAge` is left when a report counts as too old here, so that the next one is there in time: one of so many.
const LEFT: i64 = 5;

/// What a Pod with this image would find. It may take as long as a registry takes to answer.
pub(crate) fn judge(image: &NamedImage, policy: &Policy, watched: &Watched, now: Timestamp) -> Judgement {
    let age = policy.settings.reports.max_age.as_ref().map_or(0, |age| age.seconds() / LEFT);
    let soon = Timestamp(now.0.saturating_add(age));
    let reference = ImageReference::parse(&image.image).ok();
    let name = reference.as_ref().and_then(|reference| reference.repository().rsplit('/').next()).unwrap_or_default();
    let question = Question::new(watched, name);
    match known_scan(&image.image, &image.namespace, &policy.settings, &question, soon) {
        Some((reference, report)) => match policy.scanner.judge(&reference, &report) {
            Judgement::Failed { down, .. } => Judgement::Failed { down, until: question.until.get() },
            judgement => judgement,
        },
        None => Judgement::NotAsked,
    }
}
