//! Asks the policy's engine what is known of an image.

use crate::cluster::Watched;
use crate::policy::Policy;
use image_admission_companion::{Judgement, NamedImage};
use image_admission_engine::known_scan;
use image_admission_host::WireHost;
use image_admission_module_host::answers::{Gate, Grants, engine_calls};
use image_admission_untrusted::time::Timestamp;
use std::sync::Arc;

/// What part of `maxAge` is left when a report counts as too old here, so that the next one is there in time: one of so many.
const LEFT: i64 = 5;

/// What a Pod with this image would find. It may take as long as a registry takes to answer.
pub(crate) fn judge(image: &NamedImage, policy: &Policy, watched: &Arc<Watched>, now: Timestamp) -> Judgement {
    let gate = Gate::new(Grants::everything(), Arc::clone(watched) as _);
    let host = WireHost(engine_calls(&gate));
    let age = policy.settings.reports.max_age.as_ref().map_or(0, |age| age.seconds() / LEFT);
    let soon = Timestamp(now.0.saturating_add(age));
    match known_scan(&image.image, &image.namespace, &policy.settings, &host, soon) {
        Some((reference, report)) => policy.scanner.judge(&reference, &report),
        None => Judgement::NotAsked,
    }
}
