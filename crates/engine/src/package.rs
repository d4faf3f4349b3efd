//! Packages, as an SBOM lists them, held against the gates that ask what an image is made of.

use crate::license::Standing;
use crate::purl::Purl;
use crate::reason::{
    ExceededLimit, ExceededSetting, FINDINGS_SHOWN, FoundPackage, LicenseFault, NamedFindings, PackageFault,
    UnreadableReport,
};
use crate::remedy::{Remedy, is_on};
use crate::settings::{DeniedPackage, GateAction, LicenseGate, PackageGate, UnknownLicense};
use crate::text::Text;
use serde_json::{Map, Value as Json};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most packages that are judged: whoever builds the image chooses how many it has.
const MAX_PACKAGES: usize = 50_000;

/// What an image is made of.
#[derive(Debug, Default)]
pub(crate) struct Contents<'a> {
    pub(crate) packages: Vec<Package<'a>>,
    /// The names of licences that the document describes itself, by their `LicenseRef-…`.
    pub(crate) license_names: BTreeMap<Text<'a>, Text<'a>>,
}

/// A package of an image.
#[derive(Debug)]
pub(crate) struct Package<'a> {
    pub(crate) name: Text<'a>,
    pub(crate) version: Option<Text<'a>>,
    pub(crate) purl: Option<Text<'a>>,
    /// Its licences, which hold together.
    pub(crate) licenses: Vec<Text<'a>>,
}

/// What packages have that a gate asks about, each with what the gate does about it.
///
/// # Errors
/// The SBOM doesn't tell.
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

/// The bytes that a package and each of its texts take beside the texts themselves.
const ROOM_OF_PACKAGE: usize = 96;
const ROOM_OF_TEXT: usize = 32;

/// The bytes that are left for packages that are told; none once there was no room for one.
pub(crate) type PackageRoom = Rc<Cell<Option<usize>>>;

/// What an image is made of, as rules and expressions see it, as much as there is room for: the name of each package, its licences, which
/// hold together, and its version and purl where the SBOM has them. Of a licence that the document describes itself there is the id: its
/// name may be that of another.
///
/// # Errors
/// It doesn't tell.
pub(crate) fn known(contents: &Contents<'_>, room: &PackageRoom) -> Result<Vec<Map<String, Json>>, UnreadableReport> {
    has_some(contents)?;
    has_purls(contents)?;
    let mut told = Vec::new();
    for package in &contents.packages {
        let texts =
            [("name", Some(&package.name)), ("version", package.version.as_ref()), ("purl", package.purl.as_ref())];
        let mut fields = Map::new();
        let mut size = ROOM_OF_PACKAGE;
        for (key, text) in texts {
            let Some(text) = text.map(Text::as_str).filter(|text| !text.is_empty() || key == "name") else { continue };
            size += text.len() + ROOM_OF_TEXT;
            fields.insert(key.to_owned(), text.into());
        }
        let licenses = package.licenses.iter().map(Text::as_str);
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

/// Whether there is a list of packages that can be believed, and no longer than is read.
fn has_some(contents: &Contents<'_>) -> Result<(), UnreadableReport> {
    if contents.packages.is_empty() && is_on(Remedy::EmptySbomClearsNothing) {
        return Err(UnreadableReport::SbomWithoutPackages);
    }
    if contents.packages.len() > MAX_PACKAGES {
        return Err(UnreadableReport::TooManyPackages(MAX_PACKAGES));
    }
    Ok(())
}

/// Whether it names packages as others know them: an image may have lost what its scanner needs for that.
fn has_purls(contents: &Contents<'_>) -> Result<(), UnreadableReport> {
    let has_purls = contents.packages.iter().any(|package| package.purl.is_some());
    if has_purls || !is_on(Remedy::PackagesMustBeNamed) { Ok(()) } else { Err(UnreadableReport::SbomWithoutPurls) }
}

/// The packages that are denied.
fn denied(contents: &Contents<'_>, gate: &PackageGate) -> Option<(GateAction, ExceededLimit)> {
    let mut found = Found::default();
    for package in &contents.packages {
        let elsewhere = package.version.as_ref().map(Text::as_str);
        let Some(text) = &package.purl else {
            if let Some(fault) = unnamed(package, gate, elsewhere.unwrap_or_default()) {
                found.add(package, None, || fault);
            }
            continue;
        };
        let Some(purl) = Purl::parse(text.as_str()) else {
            found.add(package, None, || PackageFault::UnreadablePurl(text.as_str().to_owned()));
            continue;
        };
        let mut entries = gate.deny.iter().filter(|entry| entry.purl.matches(&purl));
        let version = purl.version_or(elsewhere);
        let fault = entries.find_map(|entry| fault(entry, &version));
        if let Some(fault) = fault {
            found.add(package, Some(&version), || fault);
        }
    }
    found.into_limit(gate.action, ExceededSetting::Packages)
}

/// Why a package without a purl may be one that is denied: it has the name of one, and no version that isn't.
fn unnamed(package: &Package<'_>, gate: &PackageGate, version: &str) -> Option<PackageFault> {
    let mut entries = gate.deny.iter().filter(|entry| entry.purl.may_be(package.name.as_str()));
    let entry = entries.find(|entry| fault(entry, version).is_some() && is_on(Remedy::UnnamedMayBeDenied))?;
    Some(PackageFault::WithoutPurl { purl: entry.purl.to_string(), reason: entry.reason.clone() })
}

/// Why an entry denies a version of its package; none where it doesn't.
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

/// The packages whose licences are denied, or aren't allowed, and those whose licences aren't known.
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

/// Whether the settings leave a package out. One whose purl can't be read isn't left out.
fn is_excepted(package: &Package<'_>, gate: &LicenseGate) -> bool {
    if gate.except.is_empty() {
        return false;
    }
    let purl = package.purl.as_ref().and_then(|purl| Purl::parse(purl.as_str()));
    purl.is_some_and(|purl| gate.except.iter().any(|beginning| purl.starts_with(beginning)))
}

/// A package's licences as people know them.
fn licenses_of(package: &Package<'_>, contents: &Contents<'_>) -> String {
    let shown: Vec<&str> = package
        .licenses
        .iter()
        .map(|license| contents.license_names.get(license).unwrap_or(license).as_str())
        .collect();
    shown.join(" AND ")
}

/// Packages that a gate found: how many, and the first of them.
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
