//! Remedies against what scanners, hosts and attackers do wrong, by name.
//!
//! Each has a test in `traps`. The test passes with the remedy; run again with the remedy switched off, it shows the
//! wrong answer that the remedy prevents. Outside of tests all remedies are on, and nothing of this is left at run
//! time.

/// A defence against one trap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// A report counts only for the registry that it names.
    MatchRegistry,
    /// Docker Hub is one registry under all of its names.
    FoldRegistryNames,
    /// A report counts only for the repository that it names.
    MatchRepository,
    /// A report counts only for the digest that it names.
    MatchDigest,
    /// A report that names the index's digest is one of the image.
    KnowIndexDigest,
    /// A report for an index's digest counts for no entry where the scanner may have scanned another one.
    MistakeNoEntry,
    /// A document that names an entry of the index is that entry's, whatever platform it states.
    NamedEntryDecides,
    /// A report that may be of another platform can only reject.
    DoubtsClearNothing,
    /// A report that names the image's id instead of a digest is one of the image.
    KnowImageId,
    /// A report counts only for the platform that it names.
    MatchPlatform,
    /// A platform that leaves out its variant means the default one.
    FillVariants,
    /// An object counts only in the namespace that was asked.
    MatchNamespace,
    /// A tag beside a digest identifies nothing.
    IgnoreTagBesideDigest,
    /// A look-up that failed is not the same as no report.
    TellFailureFromAbsence,
    /// A look-up that failed ends the search: no other source is asked instead.
    StopAtFailure,
    /// Nothing is listed where no GET was answered before.
    GetBeforeList,
    /// What a list names is read anew.
    ReadWhatIsListed,
    /// Where the names of reports can't be known, they are listed.
    ListWhereNamesArentKnown,
    /// A name that a Pod author can choose ends no search.
    ClaimedNamesDontDecide,
    /// The worst of several reports decides, not the first.
    WorstDecides,
    /// A clean target may have null instead of a list.
    NullIsClean,
    /// A summary must agree with the entries.
    SummaryMustAgree,
    /// Scores are in the mask where they decide.
    AskForScores,
    /// A score of 0 is none.
    SkipZeroScores,
    /// A vulnerability in several packages counts once.
    CountIds,
    /// Ignoring VEX makes the findings count that it clears, and removes none.
    VexOnlyClears,
    /// What is always denied is denied even if VEX clears it.
    DenyWhatVexClears,
    /// A ScanJob's failure is told from one that is at work.
    TellFailedFromPending,
    /// A report's time is its ScanJob's, not that of its first scan.
    TimeOfScanJob,
    /// A report of unknown age is too old.
    UnknownAgeIsOld,
    /// An old report doesn't count beside a fresh one.
    FreshBeforeStale,
    /// A document beside the image counts only for the platform that was scanned.
    PlatformOfDocument,
    /// A list without findings is clean only from a tool that looked for vulnerabilities.
    EmptyIsNoScan,
    /// Kubescape's object without its findings is not one without findings.
    MatchesMustBeThere,
    /// Kubescape's names have six characters of a digest: the whole digest must be the image's.
    WholeImageId,
    /// An artifact must say that it is about this image.
    MatchSubject,
    /// An artifact must be signed by an identity that the settings name.
    VerifySignature,
    /// An index counts only if nothing can be hidden in it.
    ProveIndexes,
    /// An entry that some machines of a platform take hides nothing that others go on to.
    DecoysHideNothing,
    /// A list of exploited vulnerabilities that is empty clears nothing.
    EmptyListClearsNothing,
    /// A list of exploited vulnerabilities that is too old, or of unknown age, clears nothing.
    OldListClearsNothing,
    /// What a report leaves out about a finding doesn't speak for it.
    UntoldIsNotFine,
    /// What a Pod author can cause is no outage.
    ForgiveOutagesOnly,
    /// An exemption that can't be read as a whole holds for nothing.
    MalformedExemptsNothing,
    /// An exemption whose object is being deleted is gone.
    DeletedExemptsNothing,
    /// Objects exempt no more than the settings allow them to.
    BoundExemptions,
    /// Where exemptions have a maximum duration, an exemption must say when it was made.
    KnowAgeOfExemptions,
    /// A Pod proves only that its own digest runs.
    MatchRunningDigest,
    /// A Pod is a proof only while it runs.
    MustRun,
    /// A Pod that started when a finding was known, or later, doesn't prove that the image ran before.
    RunSinceBefore,
    /// A registry that has a mirror is asked there.
    AskTheMirror,
    /// Where both are asked, a mirror must give the same digest as its registry.
    AskBoth,
    /// An image at a mirror goes by its registry's name.
    OneNameForEachImage,
    /// A report by the name that an image has at a mirror is one of the image.
    KnowNameAtMirror,
    /// A report by a mirror's name counts only by its digest: a tag at a mirror identifies nothing.
    DigestAtMirror,
    /// Where one platform of an image can't be read, the image isn't known, whatever the others are.
    EveryConfigurationCounts,
    /// A configuration counts only for the digest that was asked for.
    MatchConfiguredDigest,
    /// Only an image's configuration says anything of an image.
    ArtifactsAreNoImages,
    /// A key that others take for a field of a configuration is refused.
    OneSpelling,
    /// A creation time in the future doesn't say when the image was made.
    NothingIsMadeTomorrow,
    /// An image that names no user starts as root.
    NobodyIsRoot,
    /// A user with whitespace is no number, and may be root.
    OddUsersMayBeRoot,
    /// A finding whose date is in the future isn't young for ever.
    KnownIsPast,
    /// A VEX document that can't be read may say that a finding counts.
    UnreadVexClearsNothing,
    /// A later statement of an attestor replaces an earlier one.
    NewestWordCounts,
    /// A statement that clears a finding must have a date, which isn't in the future.
    TimeOfVex,
    /// `not_affected` clears nothing unless it says why.
    JustifyVex,
    /// A VEX statement clears what it names, in the version that it names.
    MatchVexProduct,
    /// A version that can't be compared may be denied.
    IncomparableIsDenied,
    /// A package without a purl that has the name of one that is denied may be it.
    UnnamedMayBeDenied,
    /// Every name of a package counts: each purl, and the name and the version beside them.
    EveryNameCounts,
    /// A namespace that may be any one may also be missing.
    NamespacesMayBeMissing,
    /// A Go module's path goes on in its purl's subpath.
    SubpathsOfModules,
    /// A part that a purl has twice hides nothing.
    OddPurlsAreDenied,
    /// A purl is the same in any case and with anything escaped.
    FoldPurls,
    /// An epoch that stands beside a version is part of it.
    KnowEpochs,
    /// An unknown licence may be denied.
    UnknownLicenses,
    /// Where several licences apply together, each counts.
    EveryLicenseCounts,
    /// What `*` allows is an id that SPDX lists.
    OnlyListedIdsAreAllowed,
    /// An exception that SPDX doesn't list may be a restriction.
    UnknownExceptions,
    /// A licence that a document describes itself is none that SPDX lists, whatever it calls it.
    OwnLicensesAreOwn,
    /// A check that needs an SBOM fails without one.
    SbomMustBeThere,
    /// An SBOM that lists nothing clears nothing.
    EmptySbomClearsNothing,
    /// An SBOM whose packages lack what is asked for clears nothing.
    PackagesMustBeNamed,
    /// An SBOM of something other than an image clears nothing.
    SbomsAreOfImages,
    /// An SBOM with a date in the future clears nothing.
    SbomIsPast,
    /// An image isn't known if its packages aren't known for one of its platforms.
    EveryPlatformTellsItsPackages,
    /// What a purl says beside the image's digest narrows what a statement clears.
    NarrowVexProduct,
    /// A document is a statement of everybody who signed it.
    AskEverySigner,
    /// A finding of several vulnerabilities is cleared only if each of them is.
    ClearEveryCve,
    /// The digest that a report names is a tag's only if it is proven to be that of the tag's manifest.
    ProveReportedDigest,
    /// It stands for the tag only where it is pinned: the tag may show nodes more than it shows the host.
    PinReportedDigest,
    /// What a tag showed is what its digest stands for only if that is proven: the tag may have moved in between.
    ProveTaggedManifest,
}

/// Whether a remedy is on: always.
#[cfg(not(feature = "switched-remedies"))]
pub const fn is_on(_: Remedy) -> bool {
    true
}

#[cfg(feature = "switched-remedies")]
thread_local! {
    static OFF: std::cell::Cell<Option<Remedy>> = const { std::cell::Cell::new(None) };
}

/// Whether a remedy is on: a test may have switched it off.
#[cfg(feature = "switched-remedies")]
pub fn is_on(remedy: Remedy) -> bool {
    OFF.get() != Some(remedy)
}

/// The result of `run` without a remedy.
#[cfg(feature = "switched-remedies")]
pub fn without<T>(remedy: Remedy, run: impl FnOnce() -> T) -> T {
    OFF.set(Some(remedy));
    let result = run();
    OFF.set(None);
    result
}
