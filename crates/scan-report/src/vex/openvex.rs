//! OpenVEX, <https://github.com/openvex/spec>: version 0.2.0, and 0.0.1, where products and vulnerabilities are strings.

use super::document::{MAX_STATUS_LENGTH, Room, unreadable};
use super::statement::{Means, Name, Parts, Product, Says, VexStatement, latest};
use crate::purl::PackageUrl;
use crate::vex::UnreadableVex;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The beginning of `@context`.
const CONTEXT: &str = "https://openvex.dev/ns";
/// The specification's reasons for `not_affected`. Free text is not enough.
const JUSTIFICATIONS: [&str; 5] = [
    "component_not_present",
    "vulnerable_code_not_present",
    "vulnerable_code_not_in_execute_path",
    "vulnerable_code_cannot_be_controlled_by_adversary",
    "inline_mitigations_already_exist",
];

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Document<'a> {
    #[serde(borrow, rename = "@context")]
    context: JsonString<'a>,
    #[serde(borrow)]
    timestamp: Option<JsonString<'a>>,
    #[serde(borrow)]
    last_updated: Option<JsonString<'a>>,
    #[serde(borrow)]
    statements: Vec<Statement<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Statement<'a> {
    /// An object; up to version 0.0.1 a string.
    #[serde(borrow)]
    vulnerability: Option<&'a RawValue>,
    /// Objects; up to version 0.0.1 strings.
    #[serde(borrow)]
    products: Option<Vec<&'a RawValue>>,
    /// Up to version 0.0.1: the parts of all products.
    #[serde(borrow)]
    subcomponents: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    status: Option<JsonString<'a>>,
    #[serde(borrow)]
    justification: Option<JsonString<'a>>,
    #[serde(borrow)]
    timestamp: Option<JsonString<'a>>,
    #[serde(borrow)]
    last_updated: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Vulnerability<'a> {
    #[serde(borrow, rename = "@id")]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    aliases: Option<Vec<JsonString<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Component<'a> {
    #[serde(borrow, rename = "@id")]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    identifiers: Option<Identifiers<'a>>,
    #[serde(borrow)]
    hashes: Option<BTreeMap<JsonString<'a>, JsonString<'a>>>,
    #[serde(borrow)]
    subcomponents: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Identifiers<'a> {
    #[serde(borrow)]
    purl: Option<JsonString<'a>>,
}

pub(super) fn read(json: &str) -> Result<Vec<VexStatement>, UnreadableVex> {
    let document: Document<'_> = spelling::from_str(json).map_err(|error| unreadable(&error))?;
    let is_version = |rest: &str| rest.is_empty() || rest.starts_with('/');
    if !document.context.as_str().strip_prefix(CONTEXT).is_some_and(is_version) {
        return Err(UnreadableVex::UnknownFormat);
    }
    let mut room = Room::default();
    let statement = |statement: &Statement<'_>| {
        let says = says(statement);
        Ok(VexStatement {
            names: names(statement.vulnerability, says.means)?,
            products: products(statement, says.means, &mut room)?,
            time: statement.time(&document, says.means),
            says,
        })
    };
    document.statements.iter().map(statement).collect()
}

impl Statement<'_> {
    /// Its own time, or else the document's. An own time that can't be read isn't replaced by the document's. For a statement that
    /// a finding counts, the later of its two times.
    fn time(&self, document: &Document<'_>, means: Means) -> Option<Timestamp> {
        let (time, changed) = match (&self.timestamp, &self.last_updated) {
            (None, None) => (&document.timestamp, &document.last_updated),
            (None, changed) => (&document.timestamp, changed),
            own => own,
        };
        latest(time.iter().chain(changed.iter().filter(|_| means == Means::Counts)))
    }
}

fn says(statement: &Statement<'_>) -> Says {
    let status = statement.status.as_ref().map_or("", JsonString::as_str);
    let justification = statement.justification.as_ref().map(JsonString::as_str);
    let justification = justification.filter(|own| JUSTIFICATIONS.contains(own)).map(str::to_owned);
    let means = match (status, &justification) {
        ("not_affected", None) => Means::Unjustified,
        ("not_affected" | "fixed", _) => Means::Cleared,
        _ => Means::Counts,
    };
    Says {
        status: cut(status, MAX_STATUS_LENGTH),
        justification: justification.filter(|_| status == "not_affected"),
        means,
    }
}

fn is_text(json: &RawValue) -> bool {
    json.get().starts_with('"')
}

fn text(json: &RawValue) -> Result<JsonString<'_>, UnreadableVex> {
    spelling::from_str(json.get()).map_err(|error| unreadable(&error))
}

/// A statement that a finding counts must name the vulnerability, or it could be any.
fn names(vulnerability: Option<&RawValue>, means: Means) -> Result<Vec<String>, UnreadableVex> {
    let counts = means == Means::Counts;
    let mut names = Vec::new();
    match vulnerability {
        None => {}
        Some(json) if is_text(json) => names.push(text(json)?),
        Some(json) => {
            let own: Vulnerability<'_> = spelling::from_str(json.get()).map_err(|error| unreadable(&error))?;
            names.extend(own.name.into_iter().chain(own.aliases.into_iter().flatten()));
            // `https://nvd.nist.gov/vuln/detail/CVE-2024-1`: such an id never clears a finding.
            let id = own.id.iter().filter(|_| counts).flat_map(|id| id.as_str().split(['/', '=', '?', '#', ':']));
            names.extend(id.map(|part| JsonString::from(part.to_owned())));
        }
    }
    let names = names.iter().map(|name| name.as_str().trim()).filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if counts && names.is_empty() {
        return Err(UnreadableVex::Nameless);
    }
    Ok(names)
}

fn products(statement: &Statement<'_>, means: Means, room: &mut Room) -> Result<Vec<Product>, UnreadableVex> {
    let of_all = statement.subcomponents.as_deref().unwrap_or_default();
    room.take(of_all.len().max(1))?;
    let of_all = read_parts(statement.subcomponents.as_deref())?;
    let product = |json: &&RawValue| {
        let Component { id, identifiers, hashes, subcomponents } = component(json)?;
        // Counted before anything is allocated: each of the product's own parts is compared with each part of all products.
        let (own, all) = (subcomponents.as_deref().map_or(1, <[_]>::len), of_all.as_deref().map_or(1, <[_]>::len));
        room.take(own.max(1).saturating_mul(all.max(1)))?;
        let parts = match (read_parts(subcomponents.as_deref())?, &of_all) {
            // A product with own parts, in a statement with parts of all products: both narrow it, and nobody can tell which
            // counts.
            (Some(_), Some(_)) if means == Means::Counts => Some(Rc::from([])),
            (Some(own), Some(of_all)) => Some(own.iter().filter(|part| of_all.contains(part)).cloned().collect()),
            (own, of_all) => own.or_else(|| of_all.clone()),
        };
        let purl = identifiers.and_then(|own| own.purl);
        let hashes = hashes.iter().flatten().map(|(kind, hash)| match kind.as_str() {
            "sha-256" => Name::Hash(["sha256:", hash.as_str()].concat()),
            _ => Name::Hash(String::new()),
        });
        let texts = id.iter().chain(&purl).filter_map(|text| Name::of(text.as_str()));
        Ok(Product { names: texts.chain(hashes).collect(), parts })
    };
    statement.products.iter().flatten().map(product).collect()
}

/// Each part with its names; no names if one of them can't be compared. Tools write null where no parts are meant.
fn read_parts(parts: Option<&[&RawValue]>) -> Result<Option<Parts>, UnreadableVex> {
    let part = |json: &&RawValue| {
        let Component { id, identifiers, hashes, .. } = component(json)?;
        let purl = identifiers.and_then(|own| own.purl);
        let names = id.iter().chain(&purl).filter_map(|text| Name::of(text.as_str()));
        let names: Option<Vec<PackageUrl>> = names
            .map(|name| match name {
                Name::Package(purl) => Some(purl),
                Name::Digest(_) | Name::Hash(_) | Name::Image(_) | Name::Other => None,
            })
            .collect();
        Ok(names.filter(|_| hashes.is_none_or(|hashes| hashes.is_empty())).unwrap_or_default())
    };
    parts.map(|parts| parts.iter().map(part).collect()).transpose()
}

fn component(json: &RawValue) -> Result<Component<'_>, UnreadableVex> {
    if is_text(json) {
        return Ok(Component { id: Some(text(json)?), identifiers: None, hashes: None, subcomponents: None });
    }
    spelling::from_str(json.get()).map_err(|error| unreadable(&error))
}
