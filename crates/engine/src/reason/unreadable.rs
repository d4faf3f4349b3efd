//! Why a report can't be believed: it isn't what its format says, or contradicts itself.

use crate::Timestamp;
use crate::settings::Severity;
use std::fmt;

/// Why a report can't be believed. Its name stands before the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnreadableReport {
    /// What the reader of JSON says, without values.
    Json(String),
    NoObject,
    UnknownFormat,
    SeveralFormats(Vec<&'static str>),
    NoReport,
    NoSummary,
    SummaryLacks(Severity),
    SummaryDiffers {
        severity: Severity,
        summary: u64,
        listed: usize,
    },
    NoFindings,
    TargetWithoutList,
    /// A word that is neither `pass` nor `fail`.
    OwnVerdict(String),
    MissingField(&'static str),
    TrivySchemaVersion,
    /// What was scanned is neither an image nor its SBOM.
    TrivyArtifactType(String),
    TrivyWithoutResults,
    TrivyWithoutPackages,
    GrypeDescriptor,
    GrypeSource,
    GrypeWithoutMatches,
    CycloneDxFormat,
    CycloneDxComponent,
    CycloneDxWithoutComponents,
    CycloneDxWithoutVulnerabilities,
    CycloneDxEmpty,
    SarifVersion,
    SarifWithoutRuns,
    SarifWithoutTool,
    SarifRunFailed,
    SarifWithoutResults,
    SarifEmpty {
        tool: String,
    },
    SarifWithoutVulnerabilities {
        tool: String,
    },
    /// The settings of a custom source name no field for what was found.
    NoField,
    /// The others are about paths that those settings name.
    PathMissing(String),
    PathLeadsNowhere(String),
    PathIsNoList(String),
    PathHasNoObject(String),
    NothingHas(String),
    NoFindingHas(String),
    /// A gate asks for what it doesn't say.
    Untold(Untold),
    /// The others are about SBOMs.
    NoSbom,
    UnknownSbomFormat,
    SpdxVersion,
    SpdxWithoutSubject,
    SpdxOfItself,
    SpdxWithoutImage,
    SbomWithoutPackages,
    SbomWithoutPurls,
    SbomAhead(Timestamp),
    TooManyPackages(usize),
}

impl UnreadableReport {
    /// Whether whoever pushes the image can bring it about, whoever made the document: a scanner finds no package in an image
    /// whose builder left none, or took away what names them.
    pub(crate) fn is_of_the_image(&self) -> bool {
        matches!(self, Self::SbomWithoutPackages | Self::SbomWithoutPurls | Self::TooManyPackages(_))
    }
}

/// What a gate asks for, and a report doesn't say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untold {
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
            Self::Json(what) => return write!(f, "it can't be read: {what}"),
            Self::NoObject => "it is no JSON object",
            Self::UnknownFormat => "it is none of the formats that are read: Trivy, Grype, CycloneDX, SARIF, a verdict",
            Self::SeveralFormats(formats) => {
                return write!(f, "it is of several formats at once: {}", formats.join(", "));
            }
            Self::NoReport => "it has no report",
            Self::NoSummary => "it has no summary",
            Self::SummaryLacks(severity) => return write!(f, "its summary doesn't say how many are {severity}"),
            Self::SummaryDiffers { severity, summary, listed } => {
                return write!(f, "its summary says {summary} {severity}, but it lists {listed}");
            }
            Self::NoFindings => "it lists no findings",
            Self::TargetWithoutList => "a target has no list",
            Self::OwnVerdict(word) => return write!(f, "its own verdict `{word}` is neither `pass` nor `fail`"),
            Self::MissingField(field) => return write!(f, "its `{field}` is missing"),
            Self::TrivySchemaVersion => "its `SchemaVersion` is not 2",
            Self::TrivyArtifactType(kind) => {
                return write!(
                    f,
                    "its `ArtifactType` is `{kind}`: make it with `trivy image` of the image, or `trivy sbom` of its SBOM"
                );
            }
            Self::TrivyWithoutResults => "its `Results` is missing: no packages were scanned",
            Self::TrivyWithoutPackages => "its `Results` name no packages: it is no scan for vulnerabilities",
            Self::GrypeDescriptor => "its `descriptor` doesn't name grype",
            Self::GrypeSource => "its `source` is not an image",
            Self::GrypeWithoutMatches => {
                "it has no `matches`, and doesn't say what was scanned: it may lack its contents"
            }
            Self::CycloneDxFormat => "its `bomFormat` is not `CycloneDX`",
            Self::CycloneDxComponent => "its `metadata.component` is not a container",
            Self::CycloneDxWithoutComponents => "it lists no components",
            Self::CycloneDxWithoutVulnerabilities => "it lists no vulnerabilities: it is a bill of materials only",
            Self::CycloneDxEmpty => {
                "its list of vulnerabilities is empty, as in a bill of materials for which nobody looked for any; \
                    attach the scanner's own JSON"
            }
            Self::SarifVersion => "its `version` is not 2.1.0",
            Self::SarifWithoutRuns => "it has no runs",
            Self::SarifWithoutTool => "a run names no tool",
            Self::SarifRunFailed => "a run says that it failed",
            Self::SarifWithoutResults => "the `results` of a run are missing",
            Self::SarifEmpty { tool } => {
                return write!(f, "a run of `{tool}` has no results, and may have looked for anything");
            }
            Self::SarifWithoutVulnerabilities { tool } => {
                return write!(
                    f,
                    "no result in a run of `{tool}` is about a vulnerability: it is no scan for vulnerabilities"
                );
            }
            Self::NoField => "the settings name no field for what it found",
            Self::PathMissing(path) => return write!(f, "`{path}` is missing"),
            Self::PathLeadsNowhere(path) => return write!(f, "it has no `{path}`"),
            Self::PathIsNoList(path) => return write!(f, "its `{path}` is not a list"),
            Self::PathHasNoObject(path) => return write!(f, "`{path}` has an entry that is not an object"),
            Self::NothingHas(path) => return write!(f, "nothing in it has `{path}`"),
            Self::NoFindingHas(path) => return write!(f, "none of its findings has `{path}`"),
            Self::Untold(what) => return write!(f, "{what}"),
            Self::NoSbom => "it has no SBOM",
            Self::UnknownSbomFormat => "it is none of the formats that are read: SPDX 2 as JSON, CycloneDX as JSON",
            Self::SpdxVersion => "its `spdxVersion` is not 2.2 or 2.3",
            Self::SpdxWithoutSubject => {
                "it doesn't describe one thing: `DESCRIBES` of the document must name one package"
            }
            Self::SpdxOfItself => {
                "it describes itself and no image, as Syft 0.64 to 0.85 wrote it: make it with Syft 0.88 or later, or as \
                    CycloneDX"
            }
            Self::SpdxWithoutImage => "what it describes is not an image: neither its purpose nor its purl says so",
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
