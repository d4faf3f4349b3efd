//! The limits that a report is over, and the findings that make it so.

use super::UnusedVex;
use super::contents::{self, FoundPackage, LicenseFault};
use image_admission_settings::{Epss, Exemption, Limit, Severity, VoidExemption};
use image_admission_untrusted::message::{count, cut, join_at_most};
use image_admission_untrusted::time::Timestamp;
use std::borrow::Cow;
use std::fmt;

/// The most findings that a reason names.
pub const FINDINGS_SHOWN: usize = 5;
/// The longest id, package or version that a reason repeats.
const MAX_NAME_LENGTH: usize = 60;

/// A limit that a report is over.
#[derive(Debug, Clone, PartialEq)]
pub struct ExceededLimit {
    /// Which.
    pub setting: ExceededSetting,
    /// How many findings count.
    pub count: u64,
    /// How many may.
    pub max: u64,
    /// Ids of those that count, the worst first; not all where there are many, none where the report has none.
    pub ids: Vec<String>,
    /// Those that are named.
    pub named: NamedFindings,
}

/// The setting that makes a limit.
#[derive(Debug, Clone, PartialEq)]
pub enum ExceededSetting {
    /// `acceptance.maxSeverity`, of this severity.
    MaxSeverity(Severity, Limit),
    /// `acceptance.cvssScore`, with its threshold.
    CvssScore(f64),
    /// `acceptance.denyAlways`.
    DenyAlways,
    /// `acceptance.knownExploited`; the first day by which one of the findings must be fixed, if one is known.
    KnownExploited(Option<Timestamp>),
    /// `acceptance.epss`, with what counts, and how many of those that count have no score.
    Epss(Epss, u64),
    /// `acceptance.endOfLife`, with the operating system's name, which may be empty.
    EndOfLife(String),
    /// `acceptance.packages`, with the first packages that are denied.
    Packages(Vec<FoundPackage>),
    /// `acceptance.licenses`, with what is wrong about licences, and the first packages that have them.
    Licenses(LicenseFault, Vec<FoundPackage>),
    /// No setting: the report itself says that its image is not fine.
    OwnVerdict,
}

/// The findings that a reason names, the worst first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedFindings {
    /// The first of them.
    pub shown: Vec<NamedFinding>,
    /// How many more there are.
    pub more: usize,
    /// How many of those have an exemption that ended.
    pub ended: u64,
}

/// A finding as a reason names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFinding {
    /// Its id, in the settings' words where they name it.
    pub id: String,
    /// The name that the report has for it, where that is another.
    pub also: Option<String>,
    /// The package that has it.
    pub package: Option<String>,
    /// A version without it.
    pub fixed_in: Option<String>,
    /// The exemption that no longer holds for it.
    pub exemption: Option<EndedExemption>,
    /// What a VEX document says of it, and why that doesn't take it out.
    pub vex: Option<UnusedVex>,
}

/// Why an exemption doesn't hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndedExemption {
    /// This was its last day.
    Expired(Timestamp),
    /// There is a fix now.
    Fixed,
    /// It is in an object that holds for nothing, or not for this finding.
    Void {
        /// `ImageExemption shop/web`
        object: String,
        /// Why not.
        why: VoidExemption,
    },
}

impl EndedExemption {
    /// Why an exemption in the cluster doesn't hold for a finding of this severity; none if it is in the settings.
    pub fn void(exemption: &Exemption, severity: Severity) -> Option<Self> {
        let object = exemption.object.as_ref()?;
        let why = object.void.clone().unwrap_or(VoidExemption::Severity(severity));
        Some(Self::Void { object: object.to_string(), why })
    }
}

impl ExceededLimit {
    /// A short name of its setting for addresses of pages: `max-severity-critical`; none for a report's own verdict.
    pub fn name(&self) -> Option<Cow<'static, str>> {
        match &self.setting {
            ExceededSetting::MaxSeverity(severity, _) => Some(format!("max-severity-{severity}").into()),
            ExceededSetting::CvssScore(_) => Some("cvss-score".into()),
            ExceededSetting::DenyAlways => Some("deny-always".into()),
            ExceededSetting::KnownExploited(_) => Some("known-exploited".into()),
            ExceededSetting::Epss(..) => Some("epss".into()),
            ExceededSetting::EndOfLife(_) => Some("end-of-life".into()),
            ExceededSetting::Packages(_) => Some("packages".into()),
            ExceededSetting::Licenses(..) => Some("licenses".into()),
            ExceededSetting::OwnVerdict => None,
        }
    }
}

/// `2 critical findings, at most 0 accepted: CVE-1 in curl (fixed in 9), CVE-2 in zlib (no fix)`
impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let max = self.max;
        match &self.setting {
            ExceededSetting::MaxSeverity(severity, limit) => {
                let kind = match limit {
                    Limit::Total(_) => "",
                    Limit::TotalWithoutFixes(_) => " without a fix",
                };
                let number = count(self.count, &format!("{severity} finding"));
                write!(f, "{number}{kind}, at most {max} accepted{}", self.named)
            }
            ExceededSetting::CvssScore(threshold) => {
                let number = count(self.count, "finding");
                write!(f, "{number} with a CVSS score from {threshold:.1}, at most {max} accepted{}", self.named)
            }
            ExceededSetting::DenyAlways => {
                let names: Vec<String> = self.named.shown.iter().map(NamedFinding::to_string).collect();
                let names = join_at_most(names.iter().map(String::as_str), ", ", FINDINGS_SHOWN);
                write!(f, "`denyAlways` names {names}")
            }
            ExceededSetting::KnownExploited(due) => {
                write!(f, "{} exploited in the wild (KEV", count(self.count, "finding"))?;
                if let Some(due) = due {
                    let first = if self.count > 1 { "the first " } else { "" };
                    write!(f, ", {first}due {}", due.day())?;
                }
                write!(f, "){}", self.named)
            }
            ExceededSetting::Epss(epss, unscored) => {
                let parts = [("score", epss.score), ("percentile", epss.percentile)];
                let parts: Vec<String> =
                    parts.iter().filter_map(|(what, from)| Some(format!("{what} from {}", (*from)?))).collect();
                write!(f, "{} likely to be exploited (EPSS {}", count(self.count, "finding"), parts.join(" or "))?;
                if *unscored > 0 {
                    write!(f, "; {unscored} without one")?;
                }
                write!(f, "){}", self.named)
            }
            ExceededSetting::EndOfLife(system) => {
                let (space, system) = (if system.is_empty() { "" } else { " " }, cut(system, MAX_NAME_LENGTH));
                write!(
                    f,
                    "the operating system{space}{system} is past its end of life: nobody reports what is found in it any more"
                )
            }
            ExceededSetting::Packages(found) => {
                f.write_str(&contents::packages(self.count))?;
                contents::named(found, self.count, f)
            }
            ExceededSetting::Licenses(fault, found) => {
                f.write_str(&contents::licenses(*fault, self.count))?;
                contents::named(found, self.count, f)
            }
            ExceededSetting::OwnVerdict => f.write_str("the report's own verdict is `fail`"),
        }
    }
}

/// `: CVE-1 in openssl (fixed in 3.1), CVE-2 in zlib (no fix) and 3 more`; nothing without ids or room.
impl fmt::Display for NamedFindings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, finding) in self.shown.iter().enumerate() {
            write!(f, "{}{finding}", if number == 0 { ": " } else { ", " })?;
        }
        if self.more > 0 && !self.shown.is_empty() {
            write!(f, " and {} more", self.more)?;
        }
        if self.ended > 0 {
            write!(f, ", of which {} ended", count(self.ended, "exemption"))?;
        }
        Ok(())
    }
}

/// `CVE-1 in openssl (fixed in 3.1)`
impl fmt::Display for NamedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |text: &str| cut(text, MAX_NAME_LENGTH);
        match &self.also {
            Some(also) => f.write_str(&short(&format!("{}, here {also},", self.id)))?,
            None => f.write_str(&short(&self.id))?,
        }
        if let Some(package) = &self.package {
            write!(f, " in {}", short(package))?;
        }
        match &self.fixed_in {
            Some(version) => write!(f, " (fixed in {}", short(version))?,
            None => f.write_str(" (no fix")?,
        }
        match &self.exemption {
            Some(EndedExemption::Expired(day)) => write!(f, "; its exemption ended {}", day.day())?,
            Some(EndedExemption::Fixed) => f.write_str("; its exemption ended with the fix")?,
            Some(EndedExemption::Void { object, why }) => write!(f, "; {} doesn't hold: {why}", short(object))?,
            None => {}
        }
        if let Some(vex) = &self.vex {
            write!(f, "; {vex}")?;
        }
        f.write_str(")")
    }
}
