//! RPM's versions: `epoch:version-release`.
//!
//! As in RPM's dependencies, a version without a release is compared with any release of it.

use super::is_number;
use rpm_version::Evr;
use std::cmp::Ordering;

pub(super) fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (mut one, mut other) = (read(one)?, read(other)?);
    if one.release().is_empty() || other.release().is_empty() {
        one.set_release("");
        other.set_release("");
    }
    Some(one.cmp(&other))
}

/// To the library every string is a version. Here it may have only characters that RPM allows.
fn read(text: &str) -> Option<Evr<'_>> {
    let text = text.trim();
    let version = Evr::parse(text);
    let is_part = |text: &str| {
        text.bytes().any(|b| b.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._+~^".contains(&b))
    };
    let has_epoch = is_number(version.epoch()) || !text.contains(':');
    let has_release = is_part(version.release()) || !text.contains('-');
    (has_epoch && is_part(version.version()) && has_release).then_some(version)
}
