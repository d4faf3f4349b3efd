//! Objects of one kind in the cluster, read so that a look-up never hangs and never believes a list.

use crate::host::{Document, Host, HostFailure, Resource};
use crate::remedy::{Remedy, is_on};
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
        format!("{} {namespace}/{name}", self.kind)
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
