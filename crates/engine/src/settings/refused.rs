//! Settings of the original that have no meaning here.
//!
//! None is ever ignored: whoever sets one expects it to decide something.

use super::read::{Problems, SettingsMap};

/// A setting that this version refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    /// Its key.
    pub(super) name: &'static str,
    /// Who does its job.
    who: &'static str,
}

const fn no_meaning(name: &'static str, who: &'static str) -> Refused {
    Refused { name, who }
}

const CREDENTIALS: &str = "scanners in the cluster scan, and the policy server holds the registries' credentials";
const SCAN_POLICY: &str =
    "`acceptance` says which findings are accepted, and the scanner's own settings what it looks for";

/// Top-level settings.
pub(super) const SETTINGS: [Refused; 3] = [
    no_meaning("sysdigSecureToken", CREDENTIALS),
    no_meaning("sysdigSecureApiUrl", CREDENTIALS),
    no_meaning("scanPolicyId", SCAN_POLICY),
];

/// Settings of a phase.
pub(super) const PHASE: [Refused; 1] = [no_meaning("scanPolicyId", SCAN_POLICY)];

/// Reports every setting of `refused` that is there.
pub(super) fn refuse(map: &SettingsMap<'_, '_>, refused: &[Refused], problems: &mut Problems) {
    for Refused { name, who } in refused {
        if map.entry(name).is_some() {
            problems.add(map.path().key(name), format!("`{name}` has no meaning here: {who}; remove it"));
        }
    }
}
