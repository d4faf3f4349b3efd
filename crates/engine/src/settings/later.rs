//! Settings that are documented but not built yet, and settings of the original that have no meaning here.
//!
//! Neither is ever ignored: whoever sets one expects it to decide something.

use super::read::{Problems, SettingsMap};
use serde_json::Value;

const NOT_YET: &str = "not supported yet";
const CREDENTIALS: &str = "has no meaning here: scanners in the cluster scan, and the policy server holds the registries' credentials; remove it";
const SCAN_POLICY: &str = "has no meaning here: `acceptance` says which findings are accepted, and the scanner's own settings what it looks for; remove it";

/// Top-level settings.
pub(super) const SETTINGS: [(&str, &str); 11] = [
    ("preCustomRules", NOT_YET),
    ("customRules", NOT_YET),
    ("exemptions", NOT_YET),
    ("imageVerification", NOT_YET),
    ("regoPolicies", NOT_YET),
    ("regoLibraries", NOT_YET),
    ("context", NOT_YET),
    ("sysdigSecureToken", CREDENTIALS),
    ("sysdigSecureApiUrl", CREDENTIALS),
    ("scanPolicyId", SCAN_POLICY),
    ("skipTlsVerify", CREDENTIALS),
];

/// Settings of a phase.
pub(super) const PHASE: [(&str, &str); 1] = [("scanPolicyId", SCAN_POLICY)];

/// Settings of `reports`.
pub(super) const REPORTS: [(&str, &str); 1] = [("maxAge", NOT_YET)];

/// Sources of reports.
pub(super) const SOURCES: [(&str, &str); 4] =
    [("trivyOperator", NOT_YET), ("registry", NOT_YET), ("kubescape", NOT_YET), ("custom", NOT_YET)];

/// Settings of `acceptance`.
pub(super) const ACCEPTANCE: [(&str, &str); 7] = [
    ("cvssScore", NOT_YET),
    ("denyAlways", NOT_YET),
    ("allowAlways", NOT_YET),
    ("ignoreVexStatus", NOT_YET),
    ("fixGracePeriod", NOT_YET),
    ("count", NOT_YET),
    ("byNamespace", NOT_YET),
];

/// Reports every setting of `names` that asks for something.
pub(super) fn refuse(map: &SettingsMap<'_, '_>, names: &[(&str, &str)], problems: &mut Problems) {
    for (name, why) in names {
        if map.get(name).is_some_and(|value| *why != NOT_YET || !asks_for_nothing(name, value)) {
            problems.add(map.path().key(name), format!("`{name}` {}{why}", if *why == NOT_YET { "is " } else { "" }));
        }
    }
}

/// Whether a value is the documented default, written out.
fn asks_for_nothing(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => name == "ignoreVexStatus" && !value,
        Value::String(text) => text.is_empty() || (name == "count" && text == "unique"),
        Value::Array(list) => list.is_empty(),
        // A source is asked for by its name alone.
        Value::Object(map) => map.is_empty() && !SOURCES.iter().any(|(source, _)| *source == name),
        Value::Number(_) => false,
    }
}
