//! Objects of one kind in the cluster, among which sources look for reports.

use super::source::{Knowledge, Origin, Statement, WantedPlatform};
use crate::acceptance::{Judge, Verdict};
use image_admission_host::HostFailure;
use image_admission_untrusted::remedy::{Remedy, is_on};

pub(crate) use image_admission_host::cluster::{Listed, Named, Objects, items};

/// Where an object can be read again.
pub(super) fn origin(objects: &Objects<'_>, namespace: &str, name: &str) -> Option<Origin> {
    let (api_version, kind) = (objects.api_version().to_owned(), objects.kind().to_owned());
    Some(Origin::Object { api_version, kind, namespace: namespace.to_owned(), name: name.to_owned() })
}

/// Reports that have names of their own, and can be listed.
pub(crate) trait NamedReports<'a> {
    /// Whether names are computed from claims of the workload's author. Such a name finds a report, but doesn't prove that this is
    /// the one that counts.
    const NAMES_ARE_CLAIMS: bool;

    /// What the report of that name says; none if there is none.
    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure>;

    /// The names of all further reports of the wanted image: those that a list shows as its, or that other objects give.
    fn further(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure>;
}

/// What a namespace's reports say: those with the computed names first. If these don't decide, or come from a claim, all others count
/// too. What a list shows is read again, because it may be outdated.
fn search<'a, R: NamedReports<'a>>(
    reports: &mut R,
    namespace: &'a str,
    names: &[String],
    wanted: &WantedPlatform<'_>,
    judge: &Judge<'a>,
    statements: &mut Vec<Statement<'a>>,
) -> Result<(), HostFailure> {
    let mut decided = false;
    let mut read = Ok(());
    for name in names {
        // One that can't be read hides none of the others.
        match reports.read(namespace, name, wanted, judge) {
            Ok(Some(statement)) => {
                decided |= !matches!(statement.known, Knowledge::OfAnotherImage(_) | Knowledge::Stale(_));
                statements.push(statement);
            }
            Ok(None) => {}
            Err(failure) => read = read.and(Err(failure)),
        }
    }
    // Never list after a GET without an answer.
    read?;
    // A resolved tag leads to the reports of that tag. A tag beside a digest is only a claim, like an owner's name. Its author must
    // not choose among the digest's reports, so all of them count.
    let is_claimed =
        wanted.reference.digest().is_some() || (R::NAMES_ARE_CLAIMS && is_on(Remedy::ClaimedNamesDontDecide));
    if decided && !is_claimed {
        return Ok(());
    }
    let mut read = Ok(());
    for name in reports.further(namespace, wanted)?.into_iter().filter(|name| !names.contains(name)) {
        if !is_on(Remedy::ReadWhatIsListed) {
            statements.push(Statement::new(name, Knowledge::Fresh(Verdict::Accepted.into())));
            continue;
        }
        match reports.read(namespace, &name, wanted, judge) {
            // It became another image's since the list.
            Ok(statement) => statements.extend(statement.filter(|s| !matches!(s.known, Knowledge::OfAnotherImage(_)))),
            Err(failure) => read = read.and(Err(failure)),
        }
    }
    read
}

/// What the reports of several namespaces say; `names` gives the computed names for each. If one namespace fails, the others still
/// count: one of them may know that the image is bad.
pub(crate) fn search_all<'a, R: NamedReports<'a>>(
    reports: &mut R,
    namespaces: &[&'a str],
    names: impl Fn(&str) -> Vec<String>,
    wanted: &WantedPlatform<'_>,
    judge: &Judge<'a>,
) -> Vec<Statement<'a>> {
    let mut statements = Vec::new();
    for namespace in namespaces {
        if let Err(failure) = search(reports, namespace, &names(namespace), wanted, judge, &mut statements) {
            statements.push(Statement::look_up_failed(&failure));
        }
    }
    statements
}

/// Adds what all reports of the image say that lists show, where a failure is known and may be forgiven: under another name the image
/// may be known to be bad.
pub(crate) fn search_behind_failure<'a, R: NamedReports<'a>>(
    reports: &mut R,
    namespaces: &[&'a str],
    list: impl Fn(&mut R, &'a str) -> Result<Vec<String>, HostFailure>,
    wanted: &WantedPlatform<'_>,
    judge: &Judge<'a>,
    statements: &mut Vec<Statement<'a>>,
) {
    if !statements.iter().any(Statement::is_of_failure) {
        return;
    }
    for namespace in namespaces {
        let names = list(reports, namespace).unwrap_or_else(|failure| {
            statements.push(Statement::look_up_failed(&failure));
            Vec::new()
        });
        for name in names {
            let place = [" ", namespace, "/", &name].concat();
            if statements.iter().any(|statement| statement.by.ends_with(&place)) {
                continue;
            }
            match reports.read(namespace, &name, wanted, judge) {
                Ok(found) => statements.extend(found.filter(|of| !matches!(of.known, Knowledge::OfAnotherImage(_)))),
                Err(failure) => statements.push(Statement::look_up_failed(&failure)),
            }
        }
    }
}

/// Namespaces for messages.
pub(crate) fn owned(namespaces: &[&str]) -> Vec<String> {
    namespaces.iter().map(|namespace| (*namespace).to_owned()).collect()
}
