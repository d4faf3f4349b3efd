//! Objects of one kind in the cluster, as sources look for reports among them.

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
    /// Whether names are computed from what the author of the workload claims. Such a name finds a report, and says of
    /// none that it is the one that counts.
    const NAMES_ARE_CLAIMS: bool;

    /// What the report of that name says; none when there is none.
    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Result<Option<Statement<'a>>, HostFailure>;

    /// The names of the reports that a list shows as the wanted image's.
    fn listed(&mut self, namespace: &'a str, wanted: &WantedPlatform<'_>) -> Result<Vec<String>, HostFailure>;
}

/// What a namespace's reports say: those under the computed names; and where these don't decide, or a claim led to them,
/// those that a list shows, each read anew, since a list proves nothing about now.
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
    // Never list where a GET had no answer.
    read?;
    // A tag that was resolved leads to the reports of that tag. A tag beside a digest is only a claim, as an owner's name
    // is, and whoever makes it must not choose among the digest's reports: all of them count.
    let is_claimed =
        wanted.reference.digest().is_some() || (R::NAMES_ARE_CLAIMS && is_on(Remedy::ClaimedNamesDontDecide));
    if decided && !is_claimed {
        return Ok(());
    }
    let mut read = Ok(());
    for name in reports.listed(namespace, wanted)?.into_iter().filter(|name| !names.contains(name)) {
        if !is_on(Remedy::ReadWhatIsListed) {
            statements.push(Statement::new(name, Knowledge::Fresh(Verdict::Accepted.into())));
            continue;
        }
        match reports.read(namespace, &name, wanted, judge) {
            // Between the list and now it became another image's.
            Ok(statement) => statements.extend(statement.filter(|s| !matches!(s.known, Knowledge::OfAnotherImage(_)))),
            Err(failure) => read = read.and(Err(failure)),
        }
    }
    read
}

/// What the reports of several namespaces say, where `names` gives the computed names of each. What others say still counts where
/// one fails: one of them may know that the image is bad.
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

/// Namespaces for people to read.
pub(crate) fn owned(namespaces: &[&str]) -> Vec<String> {
    namespaces.iter().map(|namespace| (*namespace).to_owned()).collect()
}
