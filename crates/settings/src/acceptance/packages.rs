//! Packages that no image may have.

use super::exploitation::GateAction;
use crate::read::{Problems, SettingsMap, wrong_type};
use image_admission_scan_report::purl::PurlPattern;
use image_admission_scan_report::version::{VersionOrder, VersionRange};

/// `packages`: packages that no image may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageGate {
    /// Which.
    pub deny: Vec<DeniedPackage>,
    /// What becomes of an image that has one.
    pub action: GateAction,
}

/// A package that no image may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedPackage {
    /// Which package.
    pub purl: PurlPattern,
    /// The denied versions; none: all of them.
    pub versions: Option<VersionRange>,
    /// The reason, for messages.
    pub reason: Option<String>,
}

/// The most denied packages: each package of an image is compared with each of them.
const MAX_DENIED: usize = 1000;
/// The longest reason.
const MAX_REASON_LENGTH: usize = 200;

/// `{deny: [{purl: …, versions: "<2.17.1", reason: …}], action: reject}`
pub(super) fn read(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<PackageGate> {
    let path = map.path().key("packages");
    map.get("packages")?;
    let gate =
        SettingsMap::named(map.get("packages"), &path, "an object like `{deny: [{purl: pkg:npm/…}]}`", problems)?;
    gate.known(&["deny", "action"], &[], problems);
    let action = gate.choice("action", GateAction::default(), problems);
    let entries = gate.list("deny", problems).unwrap_or_default();
    let path = path.key("deny");
    if entries.is_empty() {
        problems.add(path, "no package is denied; name one, like `{purl: pkg:npm/event-stream}`");
    }
    if entries.len() > MAX_DENIED {
        problems.add(path, format!("{} packages are denied, {MAX_DENIED} are the most", entries.len()));
        return None;
    }
    let mut deny = Vec::new();
    for (position, value) in entries.iter().enumerate() {
        let path = path.position(position);
        if !value.is_object() {
            problems.add(path, wrong_type("an object like `{purl: pkg:npm/event-stream}`", value));
            continue;
        }
        let Some(entry) = SettingsMap::of(Some(value), &path, problems) else { continue };
        deny.extend(read_entry(&entry, problems));
    }
    Some(PackageGate { deny, action })
}

fn read_entry(entry: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<DeniedPackage> {
    let path = entry.path();
    entry.known(&["purl", "versions", "reason"], &[], problems);
    let reason = entry.text("reason", problems).map(str::trim).filter(|reason| !reason.is_empty());
    if reason.is_some_and(|reason| reason.chars().count() > MAX_REASON_LENGTH) {
        problems.add(path.key("reason"), format!("a reason has at most {MAX_REASON_LENGTH} characters"));
    }
    let versions = entry.text("versions", problems).map(str::trim).filter(|versions| !versions.is_empty());
    let Some(text) = entry.text("purl", problems) else {
        if !entry.has("purl") {
            problems.add(path.key("purl"), "the package is missing, like `pkg:npm/event-stream`");
        }
        return None;
    };
    let purl = match PurlPattern::parse(text) {
        Ok(purl) => purl,
        Err(why) => {
            problems.add(path.key("purl"), why);
            return None;
        }
    };
    let versions = match (versions, VersionOrder::of(purl.kind())) {
        (None, _) => None,
        (Some(_), None) => {
            let (kind, kinds) = (purl.kind(), VersionOrder::kinds());
            problems.add(
                path.key("versions"),
                format!(
                    "how versions of the type `{kind}` compare isn't known, only those of {kinds}; without `versions` every version \
                     is denied"
                ),
            );
            return None;
        }
        (Some(versions), Some(order)) => match VersionRange::parse(versions, order) {
            Ok(range) => Some(range),
            Err(why) => {
                problems.add(path.key("versions"), why);
                return None;
            }
        },
    };
    Some(DeniedPackage { purl, versions, reason: reason.map(str::to_owned) })
}
