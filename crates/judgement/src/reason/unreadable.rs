//! Why a report can't be believed: it isn't what its format says, or contradicts itself.

use image_admission_scan_report::severity::Severity;
use image_admission_scan_report::unreadable_document::UnreadableDocument;
use image_admission_untrusted::time::Timestamp;
use std::fmt;

/// Why a report can't be believed. The report's name comes before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableReport {
    /// It isn't what its format says.
    Document(UnreadableDocument),
    /// It holds no report.
    NoReport,
    /// A report of Kubescape without its findings.
    NoMatches,
    /// Its summary is missing.
    NoSummary,
    /// Its summary has other counts than its list.
    SummaryDiffers {
        /// Of this severity.
        severity: Severity,
        /// So many in the summary.
        summary: u64,
        /// So many in the list.
        listed: usize,
    },
    /// It has no list of findings.
    NoFindings,
    /// A scanned target has no list.
    TargetWithoutList,
    /// A verdict that is neither `pass` nor `fail`.
    OwnVerdict(String),
    /// The settings of a custom source have no field for findings.
    NoField,
    /// The path is missing. The other path variants are about paths of those settings, too.
    PathMissing(String),
    /// The path leads nowhere.
    PathLeadsNowhere(String),
    /// The path leads to no list.
    PathIsNoList(String),
    /// An element at the path is no object.
    PathHasNoObject(String),
    /// Nothing in the document has the path.
    NothingHas(String),
    /// No finding has the path.
    NoFindingHas(String),
    /// It lacks what a gate needs.
    Untold(Untold),
    /// It has no SBOM. The others are about SBOMs, too.
    NoSbom,
    /// It lists no packages.
    SbomWithoutPackages,
    /// None of its packages has a purl.
    SbomWithoutPurls,
    /// Its time is in the future.
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
    /// Whether it is the scanner's fault alone. A pusher can cause the rest, whoever made the document: a scanner finds no package in an
    /// image whose builder removed them all, or removed what names them. And what a gate isn't told stays untold.
    pub(crate) fn is_of_the_scanner(&self) -> bool {
        !matches!(self, Self::SbomWithoutPackages | Self::SbomWithoutPurls | Self::TooManyPackages(_) | Self::Untold(_))
    }
}

/// What a gate needs and a report lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// Whether a finding is always denied.
    Denied,
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

/// What it lacks, and what to do.
impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Denied => "it lists no findings, so that nothing tells whether `denyAlways` names one",
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
