//! Why a report can't be believed: it isn't what its format says, or contradicts itself.

use image_admission_scan_report::severity::Severity;
use image_admission_scan_report::unreadable_document::UnreadableDocument;
use image_admission_untrusted::time::Timestamp;
use std::fmt;

/// Why a report can't be believed. Its name stands before the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableReport {
    /// It isn't what its format says.
    Document(UnreadableDocument),
    /// There is no report in it.
    NoReport,
    /// Kubescape's, without what was found.
    NoMatches,
    /// Its summary is missing.
    NoSummary,
    /// Its summary counts others than it lists.
    SummaryDiffers {
        /// Of this severity.
        severity: Severity,
        /// So many by the summary.
        summary: u64,
        /// So many in the list.
        listed: usize,
    },
    /// It has no list of findings.
    NoFindings,
    /// A part of what was scanned has no list.
    TargetWithoutList,
    /// A word that is neither `pass` nor `fail`.
    OwnVerdict(String),
    /// The settings of a custom source name no field for what was found.
    NoField,
    /// The others are about paths that those settings name.
    PathMissing(String),
    /// Nothing stands there.
    PathLeadsNowhere(String),
    /// No list stands there.
    PathIsNoList(String),
    /// An element there is no object.
    PathHasNoObject(String),
    /// Nothing in the document has it.
    NothingHas(String),
    /// No finding has it.
    NoFindingHas(String),
    /// A gate asks for what it doesn't say.
    Untold(Untold),
    /// The others are about SBOMs.
    NoSbom,
    /// It lists no packages.
    SbomWithoutPackages,
    /// None of its packages has a purl.
    SbomWithoutPurls,
    /// It was made at a time to come.
    SbomAhead(Timestamp),
    /// It lists more packages than are judged.
    TooManyPackages(usize),
}

impl From<UnreadableDocument> for UnreadableReport {
    fn from(why: UnreadableDocument) -> Self {
        Self::Document(why)
    }
}

impl UnreadableReport {
    /// Whether whoever pushes the image can bring it about, whoever made the document: a scanner finds no package in an image
    /// whose builder left none, or took away what names them.
    pub fn is_of_the_image(&self) -> bool {
        matches!(self, Self::SbomWithoutPackages | Self::SbomWithoutPurls | Self::TooManyPackages(_))
    }
}

/// What a gate asks for, and a report doesn't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// Whether its findings are exploited in the wild.
    Exploited,
    /// How likely they are to be exploited.
    Epss,
    /// Whether the operating system is past its end of life.
    EndOfLife,
}

impl fmt::Display for UnreadableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Document(why) => return write!(f, "{why}"),
            Self::NoReport => "it has no report",
            Self::NoMatches => "it has no `matches`, and doesn't say what was scanned: it may lack its contents",
            Self::NoSummary => "it has no summary",
            Self::SummaryDiffers { severity, summary, listed } => {
                return write!(f, "its summary says {summary} {severity}, but it lists {listed}");
            }
            Self::NoFindings => "it lists no findings",
            Self::TargetWithoutList => "a target has no list",
            Self::OwnVerdict(word) => return write!(f, "its own verdict `{word}` is neither `pass` nor `fail`"),
            Self::NoField => "the settings name no field for what it found",
            Self::PathMissing(path) => return write!(f, "`{path}` is missing"),
            Self::PathLeadsNowhere(path) => return write!(f, "it has no `{path}`"),
            Self::PathIsNoList(path) => return write!(f, "its `{path}` is not a list"),
            Self::PathHasNoObject(path) => return write!(f, "`{path}` has an entry that is not an object"),
            Self::NothingHas(path) => return write!(f, "nothing in it has `{path}`"),
            Self::NoFindingHas(path) => return write!(f, "none of its findings has `{path}`"),
            Self::Untold(what) => return write!(f, "{what}"),
            Self::NoSbom => "it has no SBOM",
            Self::SbomWithoutPackages => "it lists no packages",
            Self::SbomWithoutPurls => "none of its packages has a purl, by which packages are known",
            Self::TooManyPackages(most) => return write!(f, "it lists more than {most} packages"),
            Self::SbomAhead(time) => return write!(f, "it is of {time}, which is still to come"),
        };
        f.write_str(text)
    }
}

/// What it doesn't say, and what to do.
impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exploited => {
                "it doesn't say which findings are exploited in the wild, which `knownExploited` asks for: name a list of the \
                 cluster in `knownExploited.from`"
            }
            Self::Epss => "it lists no findings, so that nothing tells what `epss` asks for",
            Self::EndOfLife => {
                "it doesn't say whether the operating system is past its end of life, which `endOfLife` asks for"
            }
        })
    }
}
