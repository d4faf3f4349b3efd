//! Findings of scanners in an image, in one form for all reports.

use crate::severity::Severity;
use crate::unreadable_document::UnreadableDocument;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use std::rc::Rc;

/// The longest word of a verdict that a message repeats.
const MAX_WORD_LENGTH: usize = 60;

/// The result of a scan of an image.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings<'a> {
    /// The report's own count of unsuppressed entries by severity, one for each of [`Severity::ALL`]. None if the
    /// source's reports have no such count.
    pub summary: Option<Vec<(Severity, u64)>>,
    /// The entries, if they were requested.
    pub entries: Option<Vec<Finding<'a>>>,
    /// The report's own verdict on the image.
    pub verdict: Option<OwnVerdict>,
    /// The state of the image's operating system.
    pub system: OperatingSystem,
}

/// Whether an image's operating system is still maintained, as far as a report says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OperatingSystem {
    /// It doesn't say.
    #[default]
    Untold,
    /// It is maintained, or there is no operating system.
    Maintained,
    /// It is past its end of life; with its name, if that is stated.
    PastEndOfLife(String),
}

impl OperatingSystem {
    /// The state from the fields of Trivy, which trivy-operator has too: both leave out an end of life that hasn't come.
    pub fn of(is_past: Option<bool>, family: Option<&JsonString<'_>>, name: Option<&JsonString<'_>>) -> Self {
        if is_past != Some(true) {
            return Self::Maintained;
        }
        let part = |text: Option<&JsonString<'_>>| text.map_or(String::new(), |text| text.as_str().to_owned());
        Self::PastEndOfLife([part(family), part(name)].join(" ").trim().to_owned())
    }
}

/// One entry of a report: a vulnerability in a package.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding<'a> {
    /// `CVE-…`; none if the report doesn't state it.
    pub id: Option<JsonString<'a>>,
    /// Other names of the same vulnerability, shared by all packages that have it.
    pub aliases: Option<Rc<[JsonString<'a>]>>,
    /// Its severity.
    pub severity: Severity,
    /// The package's name, if the report states it.
    pub package: Option<JsonString<'a>>,
    /// The package's purl, `pkg:apk/alpine/openssl@3.1`, if the report states it.
    pub purl: Option<JsonString<'a>>,
    /// A version without it, if one is known.
    pub fixed_in: Option<JsonString<'a>>,
    /// Its CVSS score, if there is one.
    pub score: Option<f64>,
    /// When its fix, or the vulnerability, was published, if the source states it.
    pub published: Option<Timestamp>,
    /// Since when it is publicly known, if the source states it. The day of a fix isn't that.
    pub known: Option<Timestamp>,
    /// Whether a VEX document cleared it.
    pub suppressed: bool,
    /// Whether it is exploited in the wild; none if the report doesn't tell.
    pub exploited: Option<Exploited>,
    /// How likely its exploitation is.
    pub epss: EpssScores,
}

/// Whether a vulnerability is exploited in the wild, by a catalogue like CISA's KEV.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exploited {
    /// It isn't known to be exploited.
    No,
    /// It is exploited.
    Yes {
        /// The last day to fix it, if the catalogue names one.
        due: Option<Timestamp>,
    },
}

/// FIRST's forecast of exploitation. Each value is from 0 to 1; none if the report doesn't state it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EpssScores {
    /// The probability.
    pub score: Option<f64>,
    /// The share of all vulnerabilities that are no more likely to be exploited.
    pub percentile: Option<f64>,
}

impl EpssScores {
    /// Keeps the higher values, for a vulnerability with several names and a forecast for each. Zero stands for none.
    pub fn add(&mut self, score: f64, percentile: f64) {
        let share = |number: f64| (number > 0.0 && number <= 1.0).then_some(number);
        let higher = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(b.map_or(a, |b| a.max(b))));
        self.score = higher(self.score, share(score));
        self.percentile = higher(self.percentile, share(percentile));
    }
}

/// A report's own verdict on its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnVerdict {
    /// The image passed.
    Pass,
    /// The image failed.
    Fail,
    /// An unknown word.
    Other(String),
}

impl Finding<'_> {
    /// Every name of the vulnerability.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.id.iter().chain(self.aliases.iter().flat_map(|aliases| aliases.iter())).map(JsonString::as_str)
    }

    /// Whether one of its names is among these ids.
    pub fn is_one_of(&self, ids: &[String]) -> bool {
        !ids.is_empty() && self.ids().any(|own| ids.iter().any(|id| id.eq_ignore_ascii_case(own)))
    }
}

/// The other names of a vulnerability, if it has any.
pub fn aliases<'a>(names: impl Iterator<Item = JsonString<'a>>) -> Option<Rc<[JsonString<'a>]>> {
    let names: Vec<JsonString<'a>> = names.collect();
    (!names.is_empty()).then(|| names.into())
}

/// A report's own count of each severity. Fails for a missing one, which doesn't count as zero.
pub fn summed(number_of: impl Fn(Severity) -> Option<u64>) -> Result<Vec<(Severity, u64)>, UnreadableDocument> {
    let summed = Severity::ALL.into_iter().map(|severity| {
        let count = number_of(severity)
            .ok_or_else(|| UnreadableDocument::new(format!("its summary doesn't say how many are {severity}")))?;
        Ok((severity, count))
    });
    summed.collect()
}

impl OwnVerdict {
    /// `pass` and `fail`, and the words that mean the same.
    pub fn of(word: &str) -> Self {
        let is = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
        if is(&["pass", "passed", "accepted"]) {
            Self::Pass
        } else if is(&["fail", "failed", "rejected"]) {
            Self::Fail
        } else {
            Self::Other(cut(word, MAX_WORD_LENGTH))
        }
    }
}
