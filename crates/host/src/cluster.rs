//! Objects of one kind in the cluster, read so that a look-up never hangs and never trusts the content of a list.

use crate::{Document, Host, HostFailure, Resource};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::memory::List;
use image_admission_untrusted::remedy::{Remedy, is_on};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeSet;

/// A name that no object has. A GET of it tells whether the kind can be read at all.
const NOBODY: &str = "image-admission-asks-whether-this-can-be-read";

/// One kind of object, in any namespace.
///
/// The host's first list of a kind that may not be listed never returns. So a list is requested only after a GET of the same kind
/// and namespace was answered.
#[derive(Debug)]
pub struct Objects<'a> {
    host: &'a dyn Host,
    api_version: &'a str,
    kind: &'a str,
    /// Namespaces for which a GET was answered.
    answered: BTreeSet<String>,
    /// What was read before its turn.
    ahead: Vec<ReadAhead>,
}

/// An answer that is kept for the next GET of the same fields.
#[derive(Debug)]
struct ReadAhead {
    namespace: String,
    name: String,
    fields: Vec<String>,
    found: Result<Option<Document>, HostFailure>,
}

impl<'a> Objects<'a> {
    /// The objects of a kind, before the first call.
    pub fn new(host: &'a dyn Host, api_version: &'a str, kind: &'a str) -> Self {
        Self { host, api_version, kind, answered: BTreeSet::new(), ahead: Vec::new() }
    }

    /// An object's name for people: `VulnerabilityReport sbomscanner/name`.
    pub fn shown(&self, namespace: &str, name: &str) -> String {
        format!("{} {namespace}/{name}", self.kind)
    }

    /// `v1`, or `group/version`.
    pub fn api_version(&self) -> &'a str {
        self.api_version
    }

    /// `VulnerabilityReport`
    pub fn kind(&self) -> &'a str {
        self.kind
    }

    /// An object by name, if it exists. The next [`Objects::get`] of the same fields has the same answer, without another call.
    pub fn read_ahead(&mut self, namespace: &str, name: &str, fields: &[&str]) -> Option<&Document> {
        let found = self.get(namespace, name, fields);
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        let fields = fields.iter().map(|&field| field.to_owned()).collect();
        self.ahead.push(ReadAhead { namespace, name, fields, found });
        self.ahead.last()?.found.as_ref().ok()?.as_ref()
    }

    /// An object by name, if it exists.
    pub fn get(&mut self, namespace: &str, name: &str, fields: &[&str]) -> Result<Option<Document>, HostFailure> {
        let is_this = |ahead: &ReadAhead| ahead.namespace == namespace && ahead.name == name && ahead.fields == fields;
        if let Some(place) = self.ahead.iter().position(is_this) {
            return self.ahead.swap_remove(place).found;
        }
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

    /// All objects in a namespace. The selector must be the same for every image: the host keeps a watch for each different one.
    pub fn list(
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

/// An item of a list.
pub trait Listed {
    /// Its name and namespace.
    fn named(&self) -> &Named<'_>;
}

/// The name and the namespace of an object.
#[derive(Deserialize, Debug)]
pub struct Named<'a> {
    #[serde(borrow)]
    /// `metadata.name`
    pub name: JsonString<'a>,
    #[serde(borrow)]
    /// `metadata.namespace`; none for objects without a namespace.
    pub namespace: Option<JsonString<'a>>,
}

/// The items of a list that are in its namespace, sorted by name: the host's lists have no order, and a watch without a filter
/// shows other namespaces too. An item that can't be read counts for no image, and hides no other item.
pub fn items<'a, T: Deserialize<'a> + Listed>(document: &'a Document, namespace: &str) -> Result<Vec<T>, HostFailure> {
    #[derive(Deserialize)]
    struct Items<I> {
        items: List<I>,
    }
    let mut items: Vec<T> = match document.read::<Items<T>>() {
        Ok(list) => list.items.0,
        Err(_) => {
            let list: Items<&'a RawValue> = document.read()?;
            list.items.0.into_iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect()
        }
    };
    items.retain(|item| {
        item.named().namespace.as_ref().map(JsonString::as_str) == Some(namespace) || !is_on(Remedy::MatchNamespace)
    });
    items.sort_by(|a, b| a.named().name.cmp(&b.named().name));
    Ok(items)
}
