//! Findings: what scanners say of an image, in one form for all reports.

use crate::severity::Severity;
use crate::unreadable_document::UnreadableDocument;
use image_admission_untrusted::json::Text;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use std::rc::Rc;

/// The longest word of a verdict that a reason repeats.
const MAX_WORD_LENGTH: usize = 60;

/// What a scanner found in an image.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings<'a> {
    /// The report's own count of entries that are not suppressed, by severity; one for each of [`Severity::ALL`]. None
    /// where the source's reports have no such count.
    pub summary: Option<Vec<(Severity, u64)>>,
    /// The entries, when they were asked for.
    pub entries: Option<Vec<Finding<'a>>>,
    /// What the report itself says about the image.
    pub verdict: Option<OwnVerdict>,
    /// What it says of the image's operating system.
    pub system: OperatingSystem,
}

/// Whether an image's operating system is still maintained, as far as a report says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OperatingSystem {
    /// It doesn't say.
    #[default]
    Untold,
    /// It is, or there is none.
    Maintained,
    /// It is past its end of life; its name where that is told.
    PastEndOfLife(String),
}

impl OperatingSystem {
    /// What Trivy says of one, and trivy-operator after it: both leave out an end of life that hasn't come.
    pub fn of(is_past: Option<bool>, family: Option<&Text<'_>>, name: Option<&Text<'_>>) -> Self {
        if is_past != Some(true) {
            return Self::Maintained;
        }
        let part = |text: Option<&Text<'_>>| text.map_or(String::new(), |text| text.as_str().to_owned());
        Self::PastEndOfLife([part(family), part(name)].join(" ").trim().to_owned())
    }
}

/// One entry of a report: a vulnerability in a package.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding<'a> {
    /// `CVE-…`; none when the report doesn't say.
    pub id: Option<Text<'a>>,
    /// Other names of the same vulnerability, shared by all packages that have it.
    pub aliases: Option<Rc<[Text<'a>]>>,
    /// How bad it is.
    pub severity: Severity,
    /// The package's name, when the report says so.
    pub package: Option<Text<'a>>,
    /// The package's URL, `pkg:apk/alpine/openssl@3.1`, when the report says so.
    pub purl: Option<Text<'a>>,
    /// A version without it, when one is known.
    pub fixed_in: Option<Text<'a>>,
    /// The CVSS score that the source gives it, when it gives one.
    pub score: Option<f64>,
    /// When its fix, or it, was published, when the source says so.
    pub published: Option<Timestamp>,
    /// Since when everybody may know of it, when the source says so: the day of a fix is not that.
    pub known: Option<Timestamp>,
    /// Whether a VEX document says that it doesn't count.
    pub suppressed: bool,
    /// Whether it is exploited in the wild; none when the report doesn't say.
    pub exploited: Option<Exploited>,
    /// How likely it is to be exploited.
    pub epss: EpssScores,
}

/// Whether a vulnerability is exploited in the wild, as a catalogue like CISA's KEV knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exploited {
    /// Nobody knows of it.
    No,
    /// It is; the last day to mend it, where the catalogue names one.
    Yes {
        /// The last day to mend it.
        due: Option<Timestamp>,
    },
}

/// FIRST's forecast of how likely a vulnerability is to be exploited, each from 0 to 1 and none when the report doesn't say.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct EpssScores {
    /// The probability.
    pub score: Option<f64>,
    /// The share of all vulnerabilities that are no likelier.
    pub percentile: Option<f64>,
}

impl EpssScores {
    /// The higher of both, where a vulnerability has several names with a forecast each. Zero is what stands for none.
    pub fn add(&mut self, score: f64, percentile: f64) {
        let share = |number: f64| (number > 0.0 && number <= 1.0).then_some(number);
        let higher = |a: Option<f64>, b: Option<f64>| a.map_or(b, |a| Some(b.map_or(a, |b| a.max(b))));
        self.score = higher(self.score, share(score));
        self.percentile = higher(self.percentile, share(percentile));
    }
}

/// What a report itself says about its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnVerdict {
    /// It is fine.
    Pass,
    /// It is not.
    Fail,
    /// A word that isn't known.
    Other(String),
}

impl Finding<'_> {
    /// Every name that the vulnerability goes by.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.id.iter().chain(self.aliases.iter().flat_map(|aliases| aliases.iter())).map(Text::as_str)
    }

    /// Whether one of these ids is one of its names.
    pub fn is_one_of(&self, ids: &[String]) -> bool {
        !ids.is_empty() && self.ids().any(|own| ids.iter().any(|id| id.eq_ignore_ascii_case(own)))
    }
}

/// The other names of a vulnerability, where it has any.
pub fn aliases<'a>(names: impl Iterator<Item = Text<'a>>) -> Option<Rc<[Text<'a>]>> {
    let names: Vec<Text<'a>> = names.collect();
    (!names.is_empty()).then(|| names.into())
}

/// A report's own count of each severity, or which it lacks: one that isn't there is not zero.
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
