//! Pinning: whether, and in which kinds, images are written with the digest that was judged.

use super::Glob;
use super::read::{Problems, SettingsMap};
use image_admission_image::ImageReference;
use image_admission_image::workload::WorkloadKind;
use image_admission_untrusted::message::nearest;
use serde_json::Value;

/// Which images are pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Needs the policy to be deployed with `mutating: true`.
    pub enabled: bool,
    /// The only kinds that are ever pinned.
    pub kinds: Vec<WorkloadKind>,
    /// Keep the original image name in annotations.
    pub annotations: bool,
    /// Images that are judged but never pinned: their controllers compare them with what they wrote.
    pub exclude: Vec<Glob>,
}

impl Pin {
    /// Whether an image is never pinned.
    pub fn excludes(&self, reference: &ImageReference) -> bool {
        self.exclude.iter().any(|glob| glob.matches(reference))
    }
}

/// The kinds that can be pinned, as the settings name them.
fn pinnable() -> Vec<&'static str> {
    WorkloadKind::ALL.into_iter().filter(|kind| *kind != WorkloadKind::ReplicaSet).map(WorkloadKind::name).collect()
}

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Pin {
    let path = settings.path().key("pin");
    let Some(map) = SettingsMap::of(settings.get("pin"), &path, problems) else {
        return Pin { enabled: true, kinds: vec![WorkloadKind::Pod], annotations: true, exclude: Vec::new() };
    };
    map.known(&["enabled", "kinds", "annotations", "exclude"], &[], problems);
    let mut kinds = vec![WorkloadKind::Pod];
    if map.has("kinds") {
        kinds.clear();
        let path = path.key("kinds");
        let texts = map.texts("kinds", problems);
        if map.get("kinds").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            problems.add(
                path,
                "an empty list would leave every image unpinned; leave it out for Pods, or set `pin.enabled: false`",
            );
        }
        for (position, text) in texts {
            match WorkloadKind::ALL.into_iter().find(|kind| kind.name() == text) {
                Some(WorkloadKind::ReplicaSet) => problems.add(
                    path.position(position),
                    "`ReplicaSet` is never safe: a ReplicaSet that is pinned isn't its Deployment's any more, so that the controller makes new ones for ever; use Deployment or Pod",
                ),
                Some(kind) => kinds.push(kind),
                None => {
                    // `v1/Pod` means `Pod`.
                    let meant = nearest(text.rsplit('/').next().unwrap_or_default(), pinnable());
                    let hint = match meant {
                        Some(kind) => format!("did you mean `{kind}`?"),
                        None => format!("use {}", pinnable().join(", ")),
                    };
                    problems.add(path.position(position), format!("`{text}` is not a workload; {hint}"));
                }
            }
        }
    }
    let path = path.key("exclude");
    let mut exclude = Vec::new();
    for (position, glob) in map.texts("exclude", problems) {
        let path = path.position(position);
        if !glob.is_empty() && !glob.contains(char::is_alphanumeric) {
            problems.add(path, format!("`{glob}` would leave every image unpinned; set `pin.enabled: false` for that"));
        }
        exclude.push(Glob::read(glob, path, problems));
    }
    Pin {
        enabled: map.boolean("enabled", true, problems),
        kinds,
        annotations: map.boolean("annotations", true, problems),
        exclude,
    }
}
