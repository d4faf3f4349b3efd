//! Settings that are documented but not built yet, and settings of the original that have no meaning here.
//!
//! Neither is ever ignored: whoever sets one expects it to decide something.

use super::read::{Problems, SettingsMap};
use serde_json::Value;

/// A setting that this version refuses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    /// Its key.
    pub(super) name: &'static str,
    why: Why,
}

#[derive(Debug, Clone, Copy)]
enum Why {
    /// Not built yet. Written out with its documented default it asks for nothing, and is let pass.
    NotYet(Default),
    /// It has no meaning here, and this is who does its job.
    NoMeaning(&'static str),
}

/// The documented default of a setting.
#[derive(Debug, Clone, Copy)]
enum Default {
    Text(&'static str),
    List,
}

const fn not_yet(name: &'static str, default: Default) -> Refused {
    Refused { name, why: Why::NotYet(default) }
}

const fn no_meaning(name: &'static str, who: &'static str) -> Refused {
    Refused { name, why: Why::NoMeaning(who) }
}

const CREDENTIALS: &str = "scanners in the cluster scan, and the policy server holds the registries' credentials";
const SCAN_POLICY: &str =
    "`acceptance` says which findings are accepted, and the scanner's own settings what it looks for";

/// Top-level settings.
pub(super) const SETTINGS: [Refused; 10] = [
    not_yet("preCustomRules", Default::Text("")),
    not_yet("customRules", Default::Text("")),
    not_yet("regoVersion", Default::Text("v0")),
    not_yet("imageVerification", Default::List),
    not_yet("regoPolicies", Default::List),
    not_yet("regoLibraries", Default::List),
    not_yet("context", Default::List),
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
            Why::NotYet(default) if default.is(value) => {}
            Why::NotYet(_) => problems.add(map.path().key(name), format!("`{name}` is not supported yet")),
            Why::NoMeaning(who) => {
                problems.add(map.path().key(name), format!("`{name}` has no meaning here: {who}; remove it"));
            }
        }
    }
}

impl Default {
    /// Whether a value is this default, written out. A key without a value is absent.
    fn is(self, value: &Value) -> bool {
        match (self, value) {
            (_, Value::Null) => true,
            (Self::Text(default), Value::String(text)) => text == default,
            (Self::List, Value::Array(list)) => list.is_empty(),
            _ => false,
        }
    }
}
