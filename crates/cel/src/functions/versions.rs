//! The functions on versions, `semver`, by the rules of Semantic Versioning 2.0.

use super::{Answer, Call, CelBool, CowVal, ExecutionError, Kind, Val, give_bool, give_int, quoted};
use cel::common::types::Type;
use semver::Version;
use std::cmp::Ordering;

/// The longest string that is read as a version.
const MAX_LENGTH: usize = 1024;

/// `isSemver(text)`, and `isSemver(text, normalize)`.
pub(super) fn is_semver<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(parsed(&call)?.is_some())
}

/// `semver(text)`, and `semver(text, normalize)`: normalizing drops a `v` and leading zeros, and fills `major.minor.patch` up.
pub(super) fn semver<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let version = parsed(&call)?.ok_or_else(|| match call.text(0) {
        Ok(text) => call.error(format!("not a semantic version: {}", quoted(text))),
        Err(mismatch) => mismatch,
    })?;
    Ok(CowVal::owned(SemanticVersion(version)))
}

/// `version.major()`.
pub(super) fn major<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_part(&call, |version| version.major)
}

/// `version.minor()`.
pub(super) fn minor<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_part(&call, |version| version.minor)
}

/// `version.patch()`.
pub(super) fn patch<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_part(&call, |version| version.patch)
}

/// Compares the version that a method is called on with the argument; none where it isn't called on a version.
pub(super) fn compared(call: &Call<'_, '_>) -> Result<Option<Ordering>, ExecutionError> {
    let Some(version) = call.argument(0)?.downcast_ref::<SemanticVersion>() else { return Ok(None) };
    let other = call.argument(1)?.downcast_ref::<SemanticVersion>().ok_or_else(|| call.mismatch())?;
    Ok(Some(version.0.cmp_precedence(&other.0)))
}

/// A version as a value. Its build metadata makes no difference.
#[derive(Clone, Debug)]
struct SemanticVersion(Version);

opaque!(SemanticVersion, "kubernetes.Semver");

impl PartialEq for SemanticVersion {
    fn eq(&self, other: &Self) -> bool {
        self.0.cmp_precedence(&other.0) == Ordering::Equal
    }
}

fn parsed(call: &Call<'_, '_>) -> Result<Option<Version>, ExecutionError> {
    let text = call.text(0)?;
    let is_normalized = match call.count() {
        1 => false,
        _ => *call.argument(1)?.downcast_ref::<CelBool>().ok_or_else(|| call.mismatch())?.inner(),
    };
    if text.len() > MAX_LENGTH {
        return Ok(None);
    }
    Ok(if is_normalized { normalized(text).and_then(|text| text.parse().ok()) } else { text.parse().ok() })
}

fn normalized(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text
        .splitn(3, '.')
        .map(|part| {
            let stripped = part.trim_start_matches('0');
            let zero = if part.len() > 1 && !stripped.starts_with(|c: char| c.is_ascii_digit()) { "0" } else { "" };
            if part.len() > 1 { [zero, stripped].concat() } else { part.to_owned() }
        })
        .collect();
    if parts.len() < 3 {
        // A short version may have no pre-release and no build metadata.
        if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
            return None;
        }
        parts.resize(3, "0".to_owned());
    }
    Some(parts.join("."))
}

fn give_part<'c, 'v>(call: &Call<'_, '_>, part: impl Fn(&Version) -> u64) -> Answer<'c, 'v> {
    let version = call.argument(0)?.downcast_ref::<SemanticVersion>().ok_or_else(|| call.mismatch())?;
    give_int(i64::try_from(part(&version.0)).map_err(|_too_large| call.error("out of range"))?)
}
