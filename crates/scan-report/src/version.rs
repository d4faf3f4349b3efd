//! Versions of packages, in the order of their ecosystems, and ranges of them.
//!
//! Nearly every kind of package has its own order. Ranges of a kind whose order isn't known here are refused when a policy is
//! deployed. A version that isn't valid for its kind can't be compared; callers must not take that for a result.

mod alpine;
mod debian;
mod gem;
mod maven;
mod python;
mod rpm;
mod semantic;

use image_admission_untrusted::remedy::{Remedy, is_on};
use std::cmp::Ordering;
use std::fmt;

/// The longest version that is compared: publishers of packages choose it.
const MAX_LENGTH: usize = 128;
/// The most comparisons of one range.
const MAX_COMPARISONS: usize = 64;

/// How versions of a kind of package compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VersionOrder {
    /// Semantic versions, with any number of parts.
    Semantic,
    /// RubyGems'.
    Gem,
    /// PEP 440.
    Python,
    /// Maven's.
    Maven,
    /// dpkg's.
    Debian,
    /// RPM's, epoch, version and release.
    Rpm,
    /// apk's.
    Alpine,
}

/// The kinds of package whose versions can be compared, as purls name them.
const ORDERS: [(&str, VersionOrder); 12] = [
    ("apk", VersionOrder::Alpine),
    ("cargo", VersionOrder::Semantic),
    ("deb", VersionOrder::Debian),
    ("gem", VersionOrder::Gem),
    ("golang", VersionOrder::Semantic),
    ("hex", VersionOrder::Semantic),
    ("maven", VersionOrder::Maven),
    ("npm", VersionOrder::Semantic),
    ("nuget", VersionOrder::Semantic),
    ("pypi", VersionOrder::Python),
    ("rpm", VersionOrder::Rpm),
    ("swift", VersionOrder::Semantic),
];

impl VersionOrder {
    /// The order of a kind of package, by the type in its purls; none where it isn't known.
    pub fn of(kind: &str) -> Option<Self> {
        ORDERS.iter().find(|(known, _)| *known == kind).map(|(_, order)| *order)
    }

    /// The kinds whose order is known.
    pub fn kinds() -> String {
        ORDERS.map(|(kind, _)| kind).join(", ")
    }

    /// Compares two versions; none where one of them isn't valid for this kind.
    pub fn compare(self, one: &str, other: &str) -> Option<Ordering> {
        if one.len() > MAX_LENGTH || other.len() > MAX_LENGTH {
            return None;
        }
        match self {
            Self::Semantic => semantic::compare(one, other),
            Self::Gem => gem::compare(one, other),
            Self::Python => python::compare(one, other),
            Self::Maven => maven::compare(one, other),
            Self::Debian => debian::compare(one, other),
            Self::Rpm => rpm::compare(one, other),
            Self::Alpine => alpine::compare(one, other),
        }
    }
}

impl VersionOrder {
    /// Compares a package's version with a bound of a range. A part that packagers add, and that the bound leaves out, may be any: a
    /// local part as in PEP 440, a distribution's revision, a gem's platform.
    fn against(self, version: &str, bound: &str) -> Option<Ordering> {
        let version = match self {
            // The platform that it was built for: RubyGems writes no hyphen into a version.
            Self::Gem if !bound.contains('-') => version.split_once('-').map_or(version, |(release, _)| release),
            _ => version,
        };
        let order = self.compare(version, bound)?;
        let without = |mark: &str| if bound.contains(mark) { None } else { version.rsplit_once(mark) };
        match self {
            Self::Python => without("+").map_or(Some(order), |(public, _)| self.compare(public, bound)),
            Self::Debian => without("-").map_or(Some(order), |(upstream, _)| self.compare(upstream, bound)),
            Self::Alpine => without("-r").map_or(Some(order), |(upstream, _)| self.compare(upstream, bound)),
            // Nobody can tell whether it is before or behind that release.
            Self::Rpm if order.is_eq() && bound.contains('-') && !version.contains('-') => None,
            _ => Some(order),
        }
    }
}

/// A range of versions like `>=2.0,<2.17.1 || =3.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRange {
    order: VersionOrder,
    /// One alternative must match, with all of its comparisons.
    alternatives: Vec<Vec<(Comparison, String)>>,
    written: String,
}

/// How a version must compare with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Same,
    Other,
}

/// Two characters first: each begins like one of a single character.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("!=", Comparison::Other),
    ("<", Comparison::Less),
    (">", Comparison::More),
    ("=", Comparison::Same),
];

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::AtMost => order.is_le(),
            Self::More => order.is_gt(),
            Self::AtLeast => order.is_ge(),
            Self::Same => order.is_eq(),
            Self::Other => order.is_ne(),
        }
    }
}

impl VersionRange {
    /// Parses a range of versions in this order: comparisons, joined by `,` (and) and `||` (or).
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str, order: VersionOrder) -> Result<Self, String> {
        let mut alternatives = Vec::new();
        let mut comparisons = 0;
        for part in text.split("||") {
            let mut all = Vec::new();
            for part in part.split(',') {
                comparisons += 1;
                all.push(comparison(part.trim(), order)?);
            }
            if has_none(&all, order) {
                return Err(format!("no version is in `{}`: `,` means both, and `||` either", part.trim()));
            }
            alternatives.push(all);
        }
        if comparisons > MAX_COMPARISONS {
            return Err(format!("it has {comparisons} comparisons, {MAX_COMPARISONS} are the most"));
        }
        Ok(Self { order, alternatives, written: text.trim().to_owned() })
    }

    /// Whether a version is in it; none where that can't be told.
    pub fn has(&self, version: &str) -> Option<bool> {
        let mut is_told = true;
        for all in &self.alternatives {
            let mut has = Some(true);
            for (comparison, bound) in all {
                match self.order.against(version, bound) {
                    Some(order) if comparison.holds(order) => {}
                    Some(_) => has = Some(false),
                    None if has == Some(true) => has = None,
                    None => {}
                }
            }
            match has {
                Some(true) => return Some(true),
                Some(false) => {}
                None => is_told = false,
            }
        }
        (is_told || !is_on(Remedy::IncomparableIsDenied)).then_some(false)
    }
}

/// Whether a lower bound is above an upper one, so that no version is in between.
fn has_none(all: &[(Comparison, String)], order: VersionOrder) -> bool {
    use Comparison::{AtLeast, AtMost, Less, More, Same};
    let lower = || all.iter().filter(|(comparison, _)| matches!(comparison, More | AtLeast | Same));
    let upper = || all.iter().filter(|(comparison, _)| matches!(comparison, Less | AtMost | Same));
    lower().any(|(from, least)| {
        upper().any(|(to, most)| match order.compare(least, most) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => matches!(from, More) || matches!(to, Less),
            Some(Ordering::Less) | None => false,
        })
    })
}

/// `<2.17.1`
fn comparison(text: &str, order: VersionOrder) -> Result<(Comparison, String), String> {
    if text.is_empty() {
        return Err("a comparison like `<2.17.1` is missing".to_owned());
    }
    let found = COMPARISONS.iter().find_map(|(sign, comparison)| Some((*comparison, text.strip_prefix(sign)?.trim())));
    let Some((comparison, bound)) = found else {
        return Err(format!("`{text}` has no comparison; write `={text}`, or `<`, `<=`, `>`, `>=` or `!=`"));
    };
    match order.compare(bound, bound) {
        Some(_) => Ok((comparison, bound.to_owned())),
        None => Err(format!("`{bound}` is not a version of such a package")),
    }
}

/// As written.
impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Compares two numbers of any number of digits.
fn numbers(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.trim_start_matches('0'), other.trim_start_matches('0'));
    one.len().cmp(&other.len()).then_with(|| one.cmp(other))
}

/// The longest beginning of a string with only such characters, and the rest.
fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !belongs(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests;
