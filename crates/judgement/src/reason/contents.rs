//! Packages and licences that a gate objects to.

use super::limit::FINDINGS_SHOWN;
use image_admission_untrusted::message::{count, cut};
use std::fmt;

/// The longest name, version, licence or reason that is repeated.
const MAX_LENGTH: usize = 80;

/// A package that a gate objects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPackage {
    /// Its name.
    pub name: String,
    /// Its version, where it has one.
    pub version: Option<String>,
    /// Why.
    pub fault: PackageFault,
}

/// Why a gate objects to a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackageFault {
    /// It is denied, for this reason.
    Denied(Option<String>),
    /// Its version can't be compared with those that are denied.
    Incomparable {
        /// The range of versions.
        range: String,
        /// Why they are denied.
        reason: Option<String>,
    },
    /// It has no purl, and the name of a denied package.
    WithoutPurl {
        /// The purl that is denied.
        purl: String,
        /// Why it is.
        reason: Option<String>,
    },
    /// It has the name of a denied package, whatever its purls say.
    ByName {
        /// The purl that is denied.
        purl: String,
        /// Why it is.
        reason: Option<String>,
    },
    /// Nothing tells which package it is.
    UnreadablePurl(String),
    /// It has these licences; empty where it tells none.
    License(String),
}

impl PackageFault {
    /// Whether it is surely denied, not just possibly.
    pub(crate) fn is_sure(&self) -> bool {
        matches!(self, Self::Denied(_))
    }
}

/// What a gate objects to in licences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LicenseFault {
    /// They are denied.
    Denied,
    /// They aren't among those that are allowed.
    NotAllowed,
    /// They aren't known.
    Unknown,
}

/// `2 denied packages`
pub(super) fn packages(number: u64) -> String {
    count(number, "denied package")
}

/// `2 packages with licences that are denied`
pub(super) fn licenses(fault: LicenseFault, number: u64) -> String {
    let packages = count(number, "package");
    let what = match (fault, number) {
        (LicenseFault::Denied, 1) => "with a licence that is denied",
        (LicenseFault::Denied, _) => "with licences that are denied",
        (LicenseFault::NotAllowed, 1) => "with a licence that isn't allowed",
        (LicenseFault::NotAllowed, _) => "with licences that aren't allowed",
        (LicenseFault::Unknown, 1) => "whose licence isn't known",
        (LicenseFault::Unknown, _) => "whose licences aren't known",
    };
    format!("{packages} {what}")
}

/// `: log4j-core 2.14.1 (Log4Shell), curl 7.0 (GPL-3.0-only) and 3 more`
pub(super) fn named(found: &[FoundPackage], number: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (position, package) in found.iter().take(FINDINGS_SHOWN).enumerate() {
        write!(f, "{}{package}", if position == 0 { ": " } else { ", " })?;
    }
    match usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(found.len().min(FINDINGS_SHOWN)) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

impl fmt::Display for FoundPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| cut(text, MAX_LENGTH);
        f.write_str(&short(&self.name))?;
        if let Some(version) = &self.version {
            write!(f, " {}", short(version))?;
        }
        match &self.fault {
            PackageFault::Denied(None) => Ok(()),
            PackageFault::Denied(Some(reason)) => write!(f, " ({})", short(reason)),
            PackageFault::Incomparable { range, reason } => {
                write!(f, " (its version can't be compared with `{}`", short(range))?;
                match reason {
                    Some(reason) => write!(f, "; {})", short(reason)),
                    None => f.write_str(")"),
                }
            }
            PackageFault::WithoutPurl { purl, reason } => {
                write!(f, " (without a purl it may be `{}`", short(purl))?;
                match reason {
                    Some(reason) => write!(f, "; {})", short(reason)),
                    None => f.write_str(")"),
                }
            }
            PackageFault::ByName { purl, reason } => {
                write!(f, " (by its name it may be `{}`, though its purl has another", short(purl))?;
                match reason {
                    Some(reason) => write!(f, "; {})", short(reason)),
                    None => f.write_str(")"),
                }
            }
            PackageFault::UnreadablePurl(purl) => write!(f, " (its purl `{}` can't be read)", short(purl)),
            PackageFault::License(license) if license.is_empty() => f.write_str(" (none is told)"),
            PackageFault::License(license) => write!(f, " ({})", short(license)),
        }
    }
}
