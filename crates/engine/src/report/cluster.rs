//! Objects of one kind in the cluster, read so that a look-up never hangs and never believes a list.

use super::source::{Knowledge, Origin, Statement, WantedPlatform};
use crate::acceptance::{Judge, Verdict};
use crate::host::{Document, Host, HostFailure, Resource};
use crate::remedy::{Remedy, is_on};
use crate::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// A name that no object has: asking for it tells whether the kind can be read at all.
const NOBODY: &str = "image-admission-asks-whether-this-can-be-read";

/// One kind of object, in any namespace.
///
/// The host's first list of a kind that may not be listed never returns, so that it is asked for only where a GET of the
/// same kind and namespace was answered.
pub(crate) struct Objects<'a> {
    host: &'a dyn Host,
    api_version: &'a str,
    kind: &'a str,
    /// Namespaces for which a GET was answered.
    answered: BTreeSet<String>,
}

impl<'a> Objects<'a> {
    pub(crate) fn new(host: &'a dyn Host, api_version: &'a str, kind: &'a str) -> Self {
        Self { host, api_version, kind, answered: BTreeSet::new() }
    }

    /// How people find an object: `VulnerabilityReport sbomscanner/name`.
    pub(crate) fn shown(&self, namespace: &str, name: &str) -> String {
        [self.kind, " ", namespace, "/", name].concat()
    }

    /// Where an object can be read again.
    pub(crate) fn origin(&self, namespace: &str, name: &str) -> Option<Origin> {
        let (api_version, kind) = (self.api_version.to_owned(), self.kind.to_owned());
        Some(Origin::Object { api_version, kind, namespace: namespace.to_owned(), name: name.to_owned() })
    }

    pub(crate) fn kind(&self) -> &'a str {
        self.kind
    }

    /// An object by name, or none when there is none.
    pub(crate) fn get(
        &mut self,
        namespace: &str,
        name: &str,
        fields: &[&str],
    ) -> Result<Option<Document>, HostFailure> {
        let resource = Resource { api_version: self.api_version, kind: self.kind, namespace, name };
        let found = match self.host.get_resource(&resource, fields) {
            Ok(document) => Some(document),
            Err(HostFailure::NotFound(_)) => None,
            Err(_) if !is_on(Remedy::TellFailureFromAbsence) => None,
            Err(failure) => return Err(failure),
        };
        if !self.answered.contains(namespace) {
            self.answered.insert(namespace.to_owned());
        }
        Ok(found)
    }

    /// All objects in a namespace, with the same selector for every image: the host keeps a watch for each different one.
    pub(crate) fn list(
        &mut self,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure> {
        if !self.answered.contains(namespace) && is_on(Remedy::GetBeforeList) {
            self.get(namespace, NOBODY, &[])?;
        }
        self.host.list_resources(self.api_version, self.kind, namespace, label_selector, fields)
    }
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
pub(crate) fn search<'a, R: NamedReports<'a>>(
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

/// What a list says of an object.
pub(crate) trait Listed {
    /// Its name and namespace.
    fn named(&self) -> &Named<'_>;
}

/// The name of an object, and where it is.
#[derive(Deserialize, Debug)]
pub(crate) struct Named<'a> {
    #[serde(borrow)]
    pub(crate) name: Text<'a>,
    #[serde(borrow)]
    pub(crate) namespace: Option<Text<'a>>,
}

/// The items of a list that are in its namespace, in the order of their names: the host lists in none, and a watch that
/// filters nothing shows other namespaces too. An item that can't be read says of no image that it is its own, and hides
/// no other.
pub(crate) fn items<'a, T: Deserialize<'a> + Listed>(
    document: &'a Document,
    namespace: &str,
) -> Result<Vec<T>, HostFailure> {
    #[derive(Deserialize)]
    struct List<I> {
        items: Vec<I>,
    }
    let mut items: Vec<T> = match document.read::<List<T>>() {
        Ok(list) => list.items,
        Err(_) => {
            let list: List<&'a RawValue> = document.read()?;
            list.items.into_iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect()
        }
    };
    items.retain(|item| {
        item.named().namespace.as_ref().map(Text::as_str) == Some(namespace) || !is_on(Remedy::MatchNamespace)
    });
    items.sort_by(|a, b| a.named().name.cmp(&b.named().name));
    Ok(items)
}

/// Namespaces for people to read.
pub(crate) fn owned(namespaces: &[&str]) -> Vec<String> {
    namespaces.iter().map(|namespace| (*namespace).to_owned()).collect()
}
