//! CycloneDX as VEX: `vulnerabilities` with an `analysis`, from version 1.4 on.
//!
//! An entry affects a component of the same document, a purl, or a link into another document. Only a purl in a link can be read:
//! its target is in a document that isn't here.

use super::document::{MAX_STATUS_LENGTH, Room, unreadable};
use super::statement::{Means, Name, Product, Says, VexStatement, latest};
use crate::purl::strictly_decoded;
use crate::vex::UnreadableVex;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The specification's reasons for `not_affected`.
const JUSTIFICATIONS: [&str; 9] = [
    "code_not_present",
    "code_not_reachable",
    "requires_configuration",
    "requires_dependency",
    "requires_environment",
    "protected_by_compiler",
    "protected_at_runtime",
    "protected_at_perimeter",
    "protected_by_mitigating_control",
];

/// The result of an analysis by which a finding doesn't count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnalysisState {
    /// `not_affected`
    NotAffected,
    /// `false_positive`
    FalsePositive,
    /// `resolved`
    Resolved,
    /// `resolved_with_pedigree`
    ResolvedWithPedigree,
}

impl AnalysisState {
    /// The state of a word; none for states in which the finding counts, and for unknown words.
    pub fn of(word: &str) -> Option<Self> {
        [Self::NotAffected, Self::FalsePositive, Self::Resolved, Self::ResolvedWithPedigree]
            .into_iter()
            .find(|state| state.name() == word)
    }

    fn name(self) -> &'static str {
        match self {
            Self::NotAffected => "not_affected",
            Self::FalsePositive => "false_positive",
            Self::Resolved => "resolved",
            Self::ResolvedWithPedigree => "resolved_with_pedigree",
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Bom<'a> {
    #[serde(borrow)]
    bom_format: JsonString<'a>,
    #[serde(borrow)]
    serial_number: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
    #[serde(borrow)]
    vulnerabilities: Option<Vec<Vulnerability<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Metadata<'a> {
    #[serde(borrow)]
    timestamp: Option<JsonString<'a>>,
    #[serde(borrow)]
    component: Option<Component<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "an object")]
struct Component<'a> {
    #[serde(borrow)]
    bom_ref: Option<JsonString<'a>>,
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
    #[serde(borrow)]
    purl: Option<JsonString<'a>>,
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Vulnerability<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    references: Option<Vec<Reference<'a>>>,
    #[serde(borrow)]
    analysis: Option<Analysis<'a>>,
    #[serde(borrow)]
    affects: Option<Vec<Affected<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Reference<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Analysis<'a> {
    #[serde(borrow)]
    state: Option<JsonString<'a>>,
    #[serde(borrow)]
    justification: Option<JsonString<'a>>,
    #[serde(borrow)]
    first_issued: Option<JsonString<'a>>,
    #[serde(borrow)]
    last_updated: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Affected<'a> {
    #[serde(borrow, rename = "ref")]
    reference: Option<JsonString<'a>>,
    #[serde(borrow)]
    versions: Option<Vec<Version<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Version<'a> {
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
}

pub(super) fn read(json: &str) -> Result<Vec<VexStatement>, UnreadableVex> {
    let bom: Bom<'_> = spelling::from_str(json).map_err(|error| unreadable(&error))?;
    if bom.bom_format.as_str() != "CycloneDX" {
        return Err(UnreadableVex::UnknownFormat);
    }
    let mut components =
        Components { own: BTreeMap::new(), serial: bom.serial_number.as_ref().map(JsonString::as_str) };
    if let Some(image) = bom.metadata.as_ref().and_then(|metadata| metadata.component.as_ref()) {
        components.add(std::slice::from_ref(image));
    }
    components.add(bom.components.as_deref().unwrap_or_default());
    let of_all = bom.metadata.as_ref().and_then(|metadata| metadata.timestamp.as_ref());
    let vulnerabilities = bom.vulnerabilities.iter().flatten();
    // An entry without an analysis is a scanner's finding, not a statement.
    let analysed = vulnerabilities.filter_map(|own| Some((own, own.analysis.as_ref()?)));
    let mut room = Room::default();
    let statement = |(vulnerability, analysis): (&Vulnerability<'_>, &Analysis<'_>)| {
        let says = says(analysis);
        let ids = vulnerability.references.iter().flatten().filter_map(|reference| reference.id.as_ref());
        let names = vulnerability.id.iter().chain(ids).map(|id| id.as_str().trim()).filter(|id| !id.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        // It could be any vulnerability.
        if names.is_empty() && says.means == Means::Counts {
            return Err(UnreadableVex::Nameless);
        }
        let affected = vulnerability.affects.as_deref().unwrap_or_default();
        let size = |affected: &Affected<'_>| affected.versions.as_ref().map_or(1, |versions| versions.len().max(1));
        room.take(affected.iter().map(size).sum::<usize>().max(1))?;
        Ok(VexStatement {
            names,
            products: affected.iter().flat_map(|affected| components.products(affected, says.means)).collect(),
            time: analysis.time(of_all, says.means),
            says,
        })
    };
    analysed.map(statement).collect()
}

impl Analysis<'_> {
    /// Its last time, or else the document's. For a statement that a finding counts, the later of its two times.
    fn time(&self, of_all: Option<&JsonString<'_>>, means: Means) -> Option<Timestamp> {
        let own = self.last_updated.as_ref().or(self.first_issued.as_ref());
        let also = self.first_issued.as_ref().filter(|_| means == Means::Counts);
        latest(own.or(of_all).into_iter().chain(also))
    }
}

/// `false_positive` says that a scanner was wrong, but not why. Authors can use `not_affected` with a reason.
fn says(analysis: &Analysis<'_>) -> Says {
    let word = analysis.state.as_ref().map_or("", JsonString::as_str);
    let justification = analysis.justification.as_ref().map(JsonString::as_str);
    let justification = justification.filter(|own| JUSTIFICATIONS.contains(own)).map(str::to_owned);
    let state = AnalysisState::of(word);
    let means = match state {
        Some(AnalysisState::NotAffected) if justification.is_none() => Means::Unjustified,
        Some(AnalysisState::NotAffected | AnalysisState::Resolved | AnalysisState::ResolvedWithPedigree) => {
            Means::Cleared
        }
        Some(AnalysisState::FalsePositive) => Means::Unjustified,
        None => Means::Counts,
    };
    let justification = justification.filter(|_| state == Some(AnalysisState::NotAffected));
    Says { status: cut(word, MAX_STATUS_LENGTH), justification, means }
}

/// The components of a document, by their references.
struct Components<'d> {
    own: BTreeMap<&'d str, Vec<&'d Component<'d>>>,
    serial: Option<&'d str>,
}

impl<'d> Components<'d> {
    fn add(&mut self, components: &'d [Component<'d>]) {
        for component in components {
            if let Some(reference) = &component.bom_ref {
                self.own.entry(reference.as_str()).or_default().push(component);
            }
            self.add(component.components.as_deref().unwrap_or_default());
        }
    }

    /// The affected products; none where nobody can tell.
    fn products(&self, affected: &Affected<'_>, means: Means) -> Vec<Product> {
        let reference = affected.reference.as_ref().map_or("", JsonString::as_str);
        let product = Product { names: self.names(reference), parts: None };
        let versions = match affected.versions.as_deref() {
            Some(versions) if means != Means::Counts => versions,
            _ => return vec![product],
        };
        // Only these versions are known to be unaffected.
        let is_free = |version: &&Version<'_>| version.status.as_ref().map(JsonString::as_str) == Some("unaffected");
        let free = versions.iter().filter(is_free).filter_map(|own| own.version.as_ref());
        free.filter_map(|version| product.at_version(version.as_str())).collect()
    }

    /// The names of a reference's target.
    fn names(&self, reference: &str) -> Vec<Name> {
        if let Some(components) = self.own.get(reference) {
            return match components.as_slice() {
                [component] => component.names(),
                // There are several, and nobody can tell which one is meant.
                _ => vec![Name::Other],
            };
        }
        // `urn:cdx:3e671687-395b-41f5-a30f-a58921a69b79/1#reference`
        let Some((document, short)) = reference.strip_prefix("urn:cdx:").and_then(|link| link.split_once('#')) else {
            return vec![Name::of(reference).unwrap_or(Name::Other)];
        };
        let Some(short) = strictly_decoded(short) else { return vec![Name::Other] };
        let (serial, _) = document.split_once('/').unwrap_or((document, ""));
        let is_own = self.serial.and_then(|own| own.strip_prefix("urn:uuid:")) == Some(serial);
        if is_own && self.own.contains_key(&*short) {
            return self.names(&short);
        }
        vec![Some(&*short).filter(|short| short.starts_with("pkg:")).and_then(Name::of).unwrap_or(Name::Other)]
    }
}

impl Component<'_> {
    fn names(&self) -> Vec<Name> {
        let version = self.version.as_ref().map(JsonString::as_str).filter(|version| !version.is_empty());
        let purl = self.purl.as_ref().map(|purl| match (Name::of(purl.as_str()), version) {
            (Some(Name::Package(purl)), Some(version)) => purl.at_version(version).map_or(Name::Other, Name::Package),
            (name, _) => name.unwrap_or(Name::Other),
        });
        // Scanners of images write digests as versions.
        let digest = version.and_then(Name::of).filter(|name| matches!(name, Name::Digest(_)));
        purl.into_iter().chain(digest).collect()
    }
}

impl Product {
    /// The same package in one version; none where it isn't a package, or has another version.
    fn at_version(&self, version: &str) -> Option<Self> {
        let [Name::Package(purl)] = self.names.as_slice() else { return None };
        if purl.version.as_ref().is_some_and(|own| own != version) || version.is_empty() {
            return None;
        }
        Some(Self { names: vec![Name::Package(purl.clone().at_version(version)?)], parts: None })
    }
}
