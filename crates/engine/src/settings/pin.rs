//! Pinning: whether, and in which kinds, images are written with the digest that was judged.

use super::read::{Problems, SettingsMap};
use crate::workload::WorkloadKind;

/// Which images are pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Needs the policy to be deployed with `mutating: true`.
    pub enabled: bool,
    /// The only kinds that are ever written.
    pub kinds: Vec<WorkloadKind>,
    /// Keep the original image name in annotations.
    pub annotations: bool,
}

impl Pin {
    /// Whether what a workload runs is pinned, by its own request or by that of the Pods that come of it.
    pub(crate) fn reaches(&self, workload: WorkloadKind) -> bool {
        self.enabled
            && (self.kinds.contains(&workload) || workload.is_template() && self.kinds.contains(&WorkloadKind::Pod))
    }
}

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Pin {
    let path = settings.path().key("pin");
    let Some(map) = SettingsMap::of(settings.get("pin"), &path, problems) else {
        return Pin { enabled: true, kinds: vec![WorkloadKind::Pod], annotations: true };
    };
    map.known(&["enabled", "kinds", "annotations"], &[], problems);
    let mut kinds = vec![WorkloadKind::Pod];
    if map.has("kinds") {
        kinds.clear();
        let path = path.key("kinds");
        for (position, text) in map.texts("kinds", problems) {
            match WorkloadKind::ALL.into_iter().find(|kind| kind.name() == text) {
                Some(kind) => kinds.push(kind),
                None => problems.add(
                    path.position(position),
                    format!("`{text}` is not a workload; use {}", WorkloadKind::ALL.map(WorkloadKind::name).join(", ")),
                ),
            }
        }
    }
    Pin {
        enabled: map.boolean("enabled", true, problems),
        kinds,
        annotations: map.boolean("annotations", true, problems),
    }
}
