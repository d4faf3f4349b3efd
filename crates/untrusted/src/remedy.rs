//! Remedies against what scanners, hosts and attackers do wrong, by name.
//!
//! Each has a test in `traps` that passes with it and, run again with it switched off, shows the wrong answer that it
//! prevents. Outside of tests all of them are on, and nothing is left of this at run time.

/// Something that is done so that a trap catches nobody.
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
    /// An index's digest speaks for no entry where a scanner may have taken another.
    MistakeNoEntry,
    /// A document that names an entry of the index is that entry's, whatever its words say of its platform.
    NamedEntryDecides,
    /// What may be of another platform is heard where it rejects, and nowhere else.
    DoubtsClearNothing,
    /// A report that names the image's id in the place of a digest is one of the image.
    KnowImageId,
    /// A report counts only for the platform that it names.
    MatchPlatform,
    /// A variant that a platform leaves out is the one that it means.
    FillVariants,
    /// An object counts only in the namespace that was asked.
    MatchNamespace,
    /// A tag beside a digest identifies nothing.
    IgnoreTagBesideDigest,
    /// A look-up that failed is not the same as no report.
    TellFailureFromAbsence,
    /// A look-up that failed ends the search: another source is not asked instead.
    StopAtFailure,
    /// Nothing is listed where no GET was answered.
    GetBeforeList,
    /// What a list names is read anew.
    ReadWhatIsListed,
    /// A name that a workload's author can choose ends no search.
    ClaimedNamesDontDecide,
    /// The worst of several reports decides, not the first.
    WorstDecides,
    /// A clean target may have null in the place of a list.
    NullIsClean,
    /// A summary must agree with the entries.
    SummaryMustAgree,
    /// Scores are in the mask where they decide.
    AskForScores,
    /// A score of 0 is none.
    SkipZeroScores,
    /// A vulnerability in several packages counts once.
    CountIds,
    /// Ignoring VEX makes findings count that it clears, and none less.
    VexOnlyClears,
    /// What is always denied is denied although VEX clears it.
    DenyWhatVexClears,
    /// A ScanJob's failure is told from one that is at work.
    TellFailedFromPending,
    /// A report's time is its ScanJob's, not that of its first scan.
    TimeOfScanJob,
    /// A report of unknown age is too old.
    UnknownAgeIsOld,
    /// What is old doesn't count beside what is fresh.
    FreshBeforeStale,
    /// A document beside the image counts only for the platform that was scanned.
    PlatformOfDocument,
    /// A list without findings is clean only from who looked for some.
    EmptyIsNoScan,
    /// Kubescape's object without its findings is not one without findings.
    MatchesMustBeThere,
    /// Kubescape's names have six letters of a digest: the whole digest must be the image's.
    WholeImageId,
    /// An artifact must say that it is about this image.
    MatchSubject,
    /// An artifact must be signed by somebody whom the settings name.
    VerifySignature,
    /// An index counts only where nothing can be hidden in it.
    ProveIndexes,
    /// An entry that some machines of a platform take hides nothing that others go on to.
    DecoysHideNothing,
    /// A list of exploited vulnerabilities that is empty clears nothing.
    EmptyListClearsNothing,
    /// Nor does one that is too old, or of unknown age.
    OldListClearsNothing,
    /// What a report doesn't say of a finding is not that it is fine.
    UntoldIsNotFine,
    /// What an author can cause is no outage.
    ForgiveOutagesOnly,
    /// An exemption that can't be read as a whole holds for nothing.
    MalformedExemptsNothing,
    /// An exemption whose object is about to be gone is gone.
    DeletedExemptsNothing,
    /// Objects exempt no more than the settings allow them to.
    BoundExemptions,
    /// An exemption that may last only so long must say when it was made.
    KnowAgeOfExemptions,
    /// A Pod proves of the digest that it runs that it runs, and of no other.
    MatchRunningDigest,
    /// A Pod proves it as long as it runs.
    MustRun,
    /// What started when a finding was known, or later, doesn't run since before.
    RunSinceBefore,
    /// A registry that has a mirror is asked there.
    AskTheMirror,
    /// Where both are asked, a mirror says the digest that its registry says.
    AskBoth,
    /// What stands at a mirror is called by its registry's name.
    OneNameForEachImage,
    /// A report by the name that an image has at a mirror is one of the image.
    KnowNameAtMirror,
    /// But only by its digest: a tag at a mirror identifies nothing.
    DigestAtMirror,
    /// What an image is on a platform that can't be read isn't known, whatever the others are.
    EveryConfigurationCounts,
    /// A configuration counts only for the digest that was asked for.
    MatchConfiguredDigest,
    /// What isn't an image's configuration says nothing of an image.
    ArtifactsAreNoImages,
    /// A key that others take for a field of a configuration is refused.
    OneSpelling,
    /// An image that was made tomorrow doesn't say when it was made.
    NothingIsMadeTomorrow,
    /// An image that names no user starts as root.
    NobodyIsRoot,
    /// A user with whitespace is no number, and may be root.
    OddUsersMayBeRoot,
    /// A finding that is known from a day to come on isn't young for ever.
    KnownIsPast,
    /// A VEX document that can't be read may say that a finding counts.
    UnreadVexClearsNothing,
    /// What an attestor says later undoes what they said before.
    NewestWordCounts,
    /// What clears a finding says since when, and not from a day to come on.
    TimeOfVex,
    /// `not_affected` clears nothing unless it says why.
    JustifyVex,
    /// A VEX statement clears what it names, in the version that it names.
    MatchVexProduct,
    /// A version that can't be compared is not one that isn't denied.
    IncomparableIsDenied,
    /// A package without a purl that has the name of one that is denied may be it.
    UnnamedMayBeDenied,
    /// All that a package is called counts: each purl, and the name and the version beside them.
    EveryNameCounts,
    /// A namespace that may be any may be missing.
    NamespacesMayBeMissing,
    /// A Go module's path goes on in its purl's subpath.
    SubpathsOfModules,
    /// What a purl has twice hides nothing.
    OddPurlsAreDenied,
    /// A purl is the same in any case and with anything escaped.
    FoldPurls,
    /// An epoch that stands beside a version is part of it.
    KnowEpochs,
    /// A licence that isn't known is not one that isn't denied.
    UnknownLicenses,
    /// Of licences that hold together each counts.
    EveryLicenseCounts,
    /// What `*` allows is an id that SPDX lists.
    OnlyListedIdsAreAllowed,
    /// An exception that SPDX doesn't list may be a restriction.
    UnknownExceptions,
    /// A licence that a document describes itself is none that SPDX lists, whatever it calls it.
    OwnLicensesAreOwn,
    /// What needs an SBOM is not fine without one.
    SbomMustBeThere,
    /// An SBOM that lists nothing clears nothing.
    EmptySbomClearsNothing,
    /// Nor does one whose packages lack what is asked for.
    PackagesMustBeNamed,
    /// Nor does one of something else than an image.
    SbomsAreOfImages,
    /// Nor does one that was made in a time to come.
    SbomIsPast,
    /// Nor is an image known whose packages aren't known for one of its platforms.
    EveryPlatformTellsItsPackages,
    /// What a purl says of an image beside its digest narrows what a statement clears.
    NarrowVexProduct,
    /// A document is the word of everybody who signed it.
    AskEverySigner,
    /// A finding of several vulnerabilities is cleared where each of them is.
    ClearEveryCve,
}

/// Whether a remedy is at work: always.
#[cfg(not(feature = "switched-remedies"))]
pub const fn is_on(_: Remedy) -> bool {
    true
}

#[cfg(feature = "switched-remedies")]
thread_local! {
    static OFF: std::cell::Cell<Option<Remedy>> = const { std::cell::Cell::new(None) };
}

/// Whether a remedy is at work: a test may have switched it off.
#[cfg(feature = "switched-remedies")]
pub fn is_on(remedy: Remedy) -> bool {
    OFF.get() != Some(remedy)
}

/// What `run` comes to without a remedy.
#[cfg(feature = "switched-remedies")]
pub fn without<T>(remedy: Remedy, run: impl FnOnce() -> T) -> T {
    OFF.set(Some(remedy));
    let result = run();
    OFF.set(None);
    result
}
