//! Settings that are documented but not built yet, and settings of the original that have no meaning here.
//!
//! Neither is ever ignored: whoever sets one expects it to decide something.

use super::read::{Problems, SettingsMap};

/// A setting that this version refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    /// Its key.
    pub(super) name: &'static str,
    why: Why,
}

#[derive(Debug, Clone, Copy)]
enum Why {
    /// Not built yet. An empty list, its documented default, asks for nothing and is let pass.
    NotYet,
    /// It has no meaning here, and this is who does its job.
    NoMeaning(&'static str),
}

const fn not_yet(name: &'static str) -> Refused {
    Refused { name, why: Why::NotYet }
}

const fn no_meaning(name: &'static str, who: &'static str) -> Refused {
    Refused { name, why: Why::NoMeaning(who) }
}

const CREDENTIALS: &str = "scanners in the cluster scan, and the policy server holds the registries' credentials";
const SCAN_POLICY: &str =
    "`acceptance` says which findings are accepted, and the scanner's own settings what it looks for";

/// Top-level settings.
pub(super) const SETTINGS: [Refused; 4] = [
    not_yet("imageVerification"),
    no_meaning("sysdigSecureToken", CREDENTIALS),
    no_meaning("sysdigSecureApiUrl", CREDENTIALS),
    no_meaning("scanPolicyId", SCAN_POLICY),
];

/// Settings of a phase.
pub(super) const PHASE: [Refused; 1] = [no_meaning("scanPolicyId", SCAN_POLICY)];

/// Reports every setting of `refused` that asks for something.
pub(super) fn refuse(map: &SettingsMap<'_, '_>, refused: &[Refused], problems: &mut Problems) {
    for Refused { name, why } in refused {
        let Some(value) = map.entry(name) else { continue };
        match why {
            Why::NotYet if value.is_null() || value.as_array().is_some_and(Vec::is_empty) => {}
            Why::NotYet => problems.add(map.path().key(name), format!("`{name}` is not supported yet")),
            Why::NoMeaning(who) => {
                problems.add(map.path().key(name), format!("`{name}` has no meaning here: {who}; remove it"));
            }
        }
    }
}
