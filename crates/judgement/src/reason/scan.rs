//! Why an image has its status: of several platforms, those that made it.

use super::{ReportReason, ReportState, Unresolved};
use image_admission_untrusted::message::join_at_most;
use serde::{Serialize, Serializer};
use std::fmt;

/// The most platforms that a reason names.
const PLATFORMS_SHOWN: usize = 4;

/// Why an image has its status.
#[derive(Debug, Clone, PartialEq)]
pub enum ScanReason {
    /// It can't be judged.
    Unresolved(Unresolved),
    /// Each of so many platforms has a report that is accepted.
    EveryPlatformAccepted(usize),
    /// The platforms that made the status, with the name of each where it has one.
    Platforms(Vec<(Option<String>, ReportReason)>),
}

/// Serialized as its message.
impl Serialize for ScanReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for ScanReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl ScanReason {
    /// Whether nothing was looked up, since the settings don't allow its registry.
    pub fn is_registry_not_allowed(&self) -> bool {
        matches!(self, Self::Unresolved(unresolved) if unresolved.state() == ReportState::RegistryNotAllowed)
    }

    /// The reason in words.
    pub fn text(&self) -> String {
        let platforms = match self {
            Self::Unresolved(why) => return why.to_string(),
            Self::EveryPlatformAccepted(platforms) => {
                let platforms = platforms.to_string();
                return ["each of its ", &platforms, " platforms has a scan report that is accepted"].concat();
            }
            Self::Platforms(platforms) => platforms,
        };
        // Platforms with the same reason are grouped.
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for (name, reason) in platforms {
            let (text, name) = (reason.to_string(), name.as_deref());
            match reasons.iter_mut().find(|(other, _)| *other == text) {
                Some((_, names)) => names.extend(name),
                None => reasons.push((text, name.into_iter().collect())),
            }
        }
        let texts: Vec<String> = reasons
            .into_iter()
            .map(|(reason, names)| match names.as_slice() {
                [] => reason,
                names => format!("{}: {reason}", join_at_most(names.iter().copied(), ", ", PLATFORMS_SHOWN)),
            })
            .collect();
        join_at_most(texts.iter().map(String::as_str), "; ", PLATFORMS_SHOWN)
    }
}
