//! Checks the packages that an SBOM lists against the gates for an image's contents.

use crate::reason::{
    ExceededLimit, ExceededSetting, FINDINGS_SHOWN, FoundPackage, LicenseFault, NamedFindings, PackageFault,
    UnreadableReport,
};
use image_admission_scan_report::license::Standing;
use image_admission_scan_report::package::{Contents, Package};
use image_admission_scan_report::purl::{PackageName, Purl};
use image_admission_settings::{DeniedPackage, GateAction, LicenseGate, PackageGate, UnknownLicense};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

/// The most packages that are judged: the image's builder chooses how many it has.
const MAX_PACKAGES: usize = 50_000;

/// What gates object to in packages, each with the gate's action.
///
/// # Errors
/// The SBOM doesn't say.
pub(crate) fn exceeded(
    contents: &Contents<'_>,
    packages: Option<&PackageGate>,
    licenses: Option<&LicenseGate>,
) -> Result<Vec<(GateAction, ExceededLimit)>, UnreadableReport> {
    has_some(contents)?;
    let mut found = Vec::new();
    if let Some(gate) = packages {
        has_purls(contents)?;
        found.extend(denied(contents, gate));
    }
    if let Some(gate) = licenses {
        found.extend(licensed(contents, gate));
    }
    Ok(found)
}

/// The bytes that a package and each of its strings take, in addition to the strings themselves.
const ROOM_OF_PACKAGE: usize = 96;
const ROOM_OF_TEXT: usize = 32;

/// The bytes that are left for listing packages; none once one didn't fit.
pub(crate) type PackageRoom = Rc<Cell<Option<usize>>>;

/// The packages of an image as rules and expressions see them, as far as there is room: the name of each package, its licences,
/// which all apply, and its version and purl if the SBOM has them. One with several purls is listed with each of them. A licence
/// that the document describes itself is given by its id: its name may be that of another licence.
///
/// # Errors
/// The SBOM doesn't say.
pub(crate) fn known(contents: &Contents<'_>, room: &PackageRoom) -> Result<Vec<Map<String, Json>>, UnreadableReport> {
    has_some(contents)?;
    has_purls(contents)?;
    let mut told = Vec::new();
    for (package, purl) in contents.packages.iter().flat_map(Package::by_purl) {
        let texts = [("name", Some(&package.name)), ("version", package.version.as_ref()), ("purl", purl)];
        let mut fields = Map::new();
        let mut size = ROOM_OF_PACKAGE;
        for (key, text) in texts {
            let Some(text) = text.map(JsonString::as_str).filter(|text| !text.is_empty() || key == "name") else {
                continue;
            };
            size += text.len() + ROOM_OF_TEXT;
            fields.insert(key.to_owned(), text.into());
        }
        let licenses = package.licenses.iter().map(JsonString::as_str);
        size += licenses.clone().map(|license| license.len() + ROOM_OF_TEXT).sum::<usize>();
        fields.insert("licenses".to_owned(), licenses.map(Json::from).collect());
        room.set(room.get().and_then(|room| room.checked_sub(size)));
        if room.get().is_none() {
            break;
        }
        told.push(fields);
    }
    Ok(told)
}

/// Whether there is a list of packages that can be believed, and isn't too long.
fn has_some(contents: &Contents<'_>) -> Result<(), UnreadableReport> {
    if contents.packages.is_empty() && is_on(Remedy::EmptySbomClearsNothing) {
        return Err(UnreadableReport::SbomWithoutPackages);
    }
    // Each name is judged, so each counts.
    if contents.packages.iter().map(|package| package.purls.len().max(1)).sum::<usize>() > MAX_PACKAGES {
        return Err(UnreadableReport::TooManyPackages(MAX_PACKAGES));
    }
    Ok(())
}

/// Whether any package has a purl: an image may have lost what its scanner needs to know its packages.
fn has_purls(contents: &Contents<'_>) -> Result<(), UnreadableReport> {
    let has_purls = contents.packages.iter().any(|package| !package.purls.is_empty());
    if has_purls || !is_on(Remedy::PackagesMustBeNamed) { Ok(()) } else { Err(UnreadableReport::SbomWithoutPurls) }
}

/// The packages that are denied.
fn denied(contents: &Contents<'_>, gate: &PackageGate) -> Option<(GateAction, ExceededLimit)> {
    let mut found = Found::default();
    for package in &contents.packages {
        if let Some(Objection { version, fault }) = worst_objection(package, gate) {
            found.add(package, version.as_deref(), || fault);
        }
    }
    found.into_limit(gate.action, ExceededSetting::Packages)
}

/// What a gate objects to in a package.
struct Objection<'p> {
    /// The version that it is about; none: the document's version.
    version: Option<Cow<'p, str>>,
    fault: PackageFault,
}

/// The worst objection of a gate to any name of a package: a scanner that reads one name may not read the others.
fn worst_objection<'p>(package: &'p Package<'_>, gate: &PackageGate) -> Option<Objection<'p>> {
    let elsewhere = package.version.as_ref().map(JsonString::as_str);
    if package.purls.is_empty() {
        let fault = unnamed(package, gate, elsewhere.unwrap_or_default());
        return fault.map(|fault| Objection { version: None, fault });
    }
    let names = if is_on(Remedy::EveryNameCounts) { package.purls.len() } else { 1 };
    let mut worst: Option<Objection<'p>> = None;
    let mut add = |version: Option<Cow<'p, str>>, fault: PackageFault| {
        // A sure denial comes before a possible one.
        let is_worse = |known: &Objection<'_>| fault.is_sure() && !known.fault.is_sure();
        if worst.as_ref().is_none_or(is_worse) {
            worst = Some(Objection { version, fault });
        }
    };
    let name = PackageName::new(package.name.as_str());
    let mut is_called = false;
    for text in package.purls.iter().map(JsonString::as_str).take(names) {
        let Some(purl) = Purl::parse(text) else {
            add(None, PackageFault::UnreadablePurl(text.to_owned()));
            continue;
        };
        is_called |= purl.is_called(&name);
        for entry in gate.deny.iter().filter(|entry| entry.purl.matches(&purl)) {
            for version in versions_of(&purl, elsewhere) {
                if let Some(fault) = fault(entry, &version) {
                    add(Some(version), fault);
                }
            }
        }
    }
    if !is_called && is_on(Remedy::EveryNameCounts) {
        let named: Vec<&DeniedPackage> = gate.deny.iter().filter(|entry| entry.purl.may_be(&name)).collect();
        for purl in package.purls.iter().filter_map(|text| Purl::parse(text.as_str())) {
            for entry in named.iter().filter(|entry| entry.purl.kind() == purl.kind) {
                let mut versions = versions_of(&purl, elsewhere).into_iter();
                if let Some(version) = versions.find(|version| fault(entry, version).is_some()) {
                    let (purl, reason) = (entry.purl.to_string(), entry.reason.clone());
                    add(Some(version), PackageFault::ByName { purl, reason });
                }
            }
        }
    }
    worst
}

/// The versions that a package may have by one of its names.
fn versions_of<'p>(purl: &Purl<'p>, elsewhere: Option<&'p str>) -> Vec<Cow<'p, str>> {
    let mut versions = purl.versions(elsewhere);
    if !is_on(Remedy::EveryNameCounts) {
        versions.truncate(1);
    }
    versions
}

/// Why a package without a purl may be denied: it has the name of a denied package, and no version that is known to be fine.
fn unnamed(package: &Package<'_>, gate: &PackageGate, version: &str) -> Option<PackageFault> {
    let name = PackageName::new(package.name.as_str());
    let mut entries = gate.deny.iter().filter(|entry| entry.purl.may_be(&name));
    let entry = entries.find(|entry| fault(entry, version).is_some() && is_on(Remedy::UnnamedMayBeDenied))?;
    Some(PackageFault::WithoutPurl { purl: entry.purl.to_string(), reason: entry.reason.clone() })
}

/// Why an entry denies a version of its package; none if it doesn't.
fn fault(entry: &DeniedPackage, version: &str) -> Option<PackageFault> {
    let reason = entry.reason.clone();
    match &entry.versions {
        None => Some(PackageFault::Denied(reason)),
        Some(range) => match range.has(version) {
            Some(false) => None,
            Some(true) => Some(PackageFault::Denied(reason)),
            None => Some(PackageFault::Incomparable { range: range.to_string(), reason }),
        },
    }
}

/// Packages whose licences are denied, not allowed, or unknown.
fn licensed(contents: &Contents<'_>, gate: &LicenseGate) -> Vec<(GateAction, ExceededLimit)> {
    let (mut denied, mut unknown) = (Found::default(), Found::default());
    for package in contents.packages.iter().filter(|package| !is_excepted(package, gate)) {
        let names = &contents.license_names;
        let standings = package.licenses.iter().map(|license| gate.list.standing(license.as_str(), names));
        let worst = match is_on(Remedy::EveryLicenseCounts) {
            true => standings.max(),
            false => standings.min(),
        };
        let none = if is_on(Remedy::UnknownLicenses) { Standing::Unknown } else { Standing::Fine };
        let fault = || PackageFault::License(licenses_of(package, contents));
        match worst.unwrap_or(none) {
            Standing::Fine => {}
            Standing::Denied => denied.add(package, None, fault),
            Standing::Unknown => unknown.add(package, None, fault),
        }
    }
    let fault = if gate.list.is_allowed() { LicenseFault::NotAllowed } else { LicenseFault::Denied };
    let unknown_action = match gate.unknown {
        UnknownLicense::Reject => Some(GateAction::Reject),
        UnknownLicense::Warn => Some(GateAction::Warn),
        UnknownLicense::Ignore => None,
    };
    let denied = denied.into_limit(gate.action, |found| ExceededSetting::Licenses(fault, found));
    let unknown = unknown_action
        .and_then(|action| unknown.into_limit(action, |found| ExceededSetting::Licenses(LicenseFault::Unknown, found)));
    denied.into_iter().chain(unknown).collect()
}

/// Whether the settings except a package by all of its names. One with an unreadable purl isn't excepted.
fn is_excepted(package: &Package<'_>, gate: &LicenseGate) -> bool {
    if gate.except.is_empty() || package.purls.is_empty() {
        return false;
    }
    let is_left_out = |purl: &JsonString<'_>| {
        let purl = Purl::parse(purl.as_str());
        purl.is_some_and(|purl| gate.except.iter().any(|beginning| purl.starts_with(beginning)))
    };
    match is_on(Remedy::EveryNameCounts) {
        true => package.purls.iter().all(is_left_out),
        false => package.purls.iter().take(1).any(is_left_out),
    }
}

/// A package's licences, for messages.
fn licenses_of(package: &Package<'_>, contents: &Contents<'_>) -> String {
    let shown: Vec<&str> = package
        .licenses
        .iter()
        .map(|license| contents.license_names.get(license).unwrap_or(license).as_str())
        .collect();
    shown.join(" AND ")
}

/// Packages that a gate objects to: how many, and the first of them.
#[derive(Default)]
struct Found {
    count: u64,
    shown: Vec<FoundPackage>,
}

impl Found {
    fn add(&mut self, package: &Package<'_>, version: Option<&str>, fault: impl FnOnce() -> PackageFault) {
        self.count += 1;
        if self.shown.len() < FINDINGS_SHOWN {
            let version = version.map(Cow::Borrowed).or(package.version.as_ref().map(|version| version.0.clone()));
            self.shown.push(FoundPackage {
                name: package.name.as_str().to_owned(),
                version: version.map(Cow::into_owned).filter(|version| !version.is_empty()),
                fault: fault(),
            });
        }
    }

    fn into_limit(
        self,
        action: GateAction,
        setting: impl FnOnce(Vec<FoundPackage>) -> ExceededSetting,
    ) -> Option<(GateAction, ExceededLimit)> {
        let Self { count, shown } = self;
        let named = NamedFindings::default();
        let limit = || ExceededLimit { setting: setting(shown), count, max: 0, ids: Vec::new(), named };
        (count > 0).then(|| (action, limit()))
    }
}
