//! Packages of an SBOM.

use image_admission_untrusted::json::JsonString;
use std::collections::{BTreeMap, BTreeSet};

/// The packages of an image.
#[derive(Debug, Default)]
pub struct Contents<'a> {
    /// Its packages, in the order of the document.
    pub packages: Vec<Package<'a>>,
    /// The names of licences that the document describes itself, by their `LicenseRef-…`.
    pub license_names: BTreeMap<JsonString<'a>, JsonString<'a>>,
}

/// A package of an image.
#[derive(Debug)]
pub struct Package<'a> {
    /// The name that its scanner gives it.
    pub name: JsonString<'a>,
    /// Its version, where the document says one.
    pub version: Option<JsonString<'a>>,
    /// Its purls, each once: none if the scanner can't tell, several if its publisher gives it several names.
    pub purls: Vec<JsonString<'a>>,
    /// Its licences, which all apply.
    pub licenses: Vec<JsonString<'a>>,
}

/// Purls, each once, in their order.
pub(crate) fn each_once<'a>(purls: impl Iterator<Item = JsonString<'a>>) -> Vec<JsonString<'a>> {
    let mut purls: Vec<JsonString<'a>> = purls.collect();
    if purls.len() > 1 {
        let mut seen = BTreeSet::new();
        purls.retain(|purl| seen.insert(purl.clone()));
    }
    purls
}

impl<'a> Package<'a> {
    /// The package with each of its purls; once with none where it has none.
    pub fn by_purl(&self) -> impl Iterator<Item = (&Self, Option<&JsonString<'a>>)> {
        let unnamed = self.purls.is_empty().then_some((self, None));
        self.purls.iter().map(move |purl| (self, Some(purl))).chain(unnamed)
    }
}
