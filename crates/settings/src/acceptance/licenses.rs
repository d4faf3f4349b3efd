//! Licences that the packages of an image may have, or may not.

use super::exploitation::GateAction;
use crate::read::{Choice, Problems, SettingsMap};
use image_admission_scan_report::license::{LicenseList, LicensePattern};
use image_admission_scan_report::purl;

/// `licenses`: licences that the packages of an image may have, or may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LicenseGate {
    /// Those that are denied, or the only ones that are allowed.
    pub list: LicenseList,
    /// What becomes of an image with a package whose licence isn't known.
    pub unknown: UnknownLicense,
    /// How the purls of skipped packages start, in the form that is compared.
    pub except: Vec<String>,
    /// What becomes of an image with a package whose licence is denied, or isn't allowed.
    pub action: GateAction,
}

/// What becomes of an image with a package whose licence isn't known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "kebab-case"))]
pub enum UnknownLicense {
    /// Rejected.
    #[default]
    Reject,
    /// Admitted, with a warning.
    Warn,
    /// Admitted.
    Ignore,
}

impl Choice for UnknownLicense {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("reject", Self::Reject), ("warn", Self::Warn), ("ignore", Self::Ignore)];
}

/// `{deny: [AGPL-3.0-only], unknown: warn, except: ["pkg:deb/"], action: reject}`; or `allow` instead of `deny`.
pub(super) fn read(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<LicenseGate> {
    let path = map.path().key("licenses");
    map.get("licenses")?;
    let gate = SettingsMap::named(map.get("licenses"), &path, "an object like `{deny: [AGPL-3.0-only]}`", problems)?;
    gate.known(&["deny", "allow", "unknown", "except", "action"], &[], problems);
    let (unknown, action) = (
        gate.choice("unknown", UnknownLicense::default(), problems),
        gate.choice("action", GateAction::default(), problems),
    );
    let except = read_except(&gate, problems);
    let list = match (gate.has("deny"), gate.has("allow")) {
        (true, true) => {
            problems.add(path.key("allow"), "`deny` and `allow` are two ways; keep one of them");
            return None;
        }
        (false, false) => {
            problems.add(
                path,
                "set `deny` or `allow`: the licences that packages may not have, or the only ones that they may",
            );
            return None;
        }
        (true, false) => LicenseList::denied(read_list(&gate, "deny", problems)),
        (false, true) => LicenseList::allowed(read_list(&gate, "allow", problems)),
    };
    Some(LicenseGate { list, unknown, except, action })
}

fn read_list(gate: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Vec<LicensePattern> {
    let path = gate.path().key(key);
    let mut patterns = Vec::new();
    for (position, text) in gate.texts(key, problems) {
        match LicensePattern::parse(text) {
            Ok(pattern) => patterns.push(pattern),
            Err(why) => problems.add(path.position(position), why),
        }
    }
    if gate.list(key, &mut Problems::default()).is_some_and(<[_]>::is_empty) {
        problems.add(path, "it names no licence; leave `licenses` out, or name one, like `AGPL-3.0-only`");
    }
    patterns
}

fn read_except(gate: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<String> {
    let path = gate.path().key("except");
    let mut except = Vec::new();
    for (position, text) in gate.texts("except", problems) {
        if purl::Purl::parse(text).is_some_and(|purl| purl.has_version()) {
            problems.add(
                path.position(position),
                format!("`{text}` has a version; a package is left out in every one, like `pkg:npm/lodash@`"),
            );
            continue;
        }
        match purl::beginning(text) {
            Some(beginning) => except.push(beginning),
            None => problems.add(
                path.position(position),
                format!("`{text}` is not the beginning of a purl like `pkg:deb/` or `pkg:npm/lodash@`"),
            ),
        }
    }
    except
}
