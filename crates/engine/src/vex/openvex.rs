//! OpenVEX, <https://github.com/openvex/spec>: version 0.2.0, and 0.0.1, which named products and vulnerabilities by texts.

use super::document::{MAX_STATUS_LENGTH, unreadable};
use super::statement::{Means, Name, Product, Says, VexStatement};
use crate::Timestamp;
use crate::message::cut;
use crate::purl::PackageUrl;
use crate::reason::UnreadableVex;
use crate::spelling;
use crate::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// How `@context` begins.
const CONTEXT: &str = "https://openvex.dev/ns";
/// The reasons that the specification has for `not_affected`. A sentence of one's own is not enough.
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
    context: Text<'a>,
    #[serde(borrow)]
    timestamp: Option<Text<'a>>,
    #[serde(borrow)]
    statements: Vec<Statement<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Statement<'a> {
    /// An object; up to version 0.0.1 a text.
    #[serde(borrow)]
    vulnerability: Option<&'a RawValue>,
    /// Objects; up to version 0.0.1 texts.
    #[serde(borrow)]
    products: Option<Vec<&'a RawValue>>,
    /// Up to version 0.0.1: of all products.
    #[serde(borrow)]
    subcomponents: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    justification: Option<Text<'a>>,
    #[serde(borrow)]
    timestamp: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Vulnerability<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    aliases: Option<Vec<Text<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Component<'a> {
    #[serde(borrow, rename = "@id")]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    identifiers: Option<Identifiers<'a>>,
    #[serde(borrow)]
    hashes: Option<BTreeMap<Text<'a>, Text<'a>>>,
    #[serde(borrow)]
    subcomponents: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Identifiers<'a> {
    #[serde(borrow)]
    purl: Option<Text<'a>>,
}

pub(super) fn read(json: &str) -> Result<Vec<VexStatement>, UnreadableVex> {
    let document: Document<'_> = spelling::from_str(json).map_err(|error| unreadable(&error))?;
    let is_version = |rest: &str| rest.is_empty() || rest.starts_with('/');
    if !document.context.as_str().strip_prefix(CONTEXT).is_some_and(is_version) {
        return Err(UnreadableVex::UnknownFormat);
    }
    let time = |text: &Option<Text<'_>>| text.as_ref().map(|text| Timestamp::parse(text.as_str()));
    let of_all = time(&document.timestamp).flatten();
    let statement = |statement: &Statement<'_>| {
        Ok(VexStatement {
            names: names(statement.vulnerability)?,
            products: products(statement)?,
            says: says(statement),
            // One that can't be read isn't the document's.
            time: time(&statement.timestamp).unwrap_or(of_all),
        })
    };
    document.statements.iter().map(statement).collect()
}

fn says(statement: &Statement<'_>) -> Says {
    let status = statement.status.as_ref().map_or("", Text::as_str);
    let justification = statement.justification.as_ref().map(Text::as_str);
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

fn text(json: &RawValue) -> Result<Text<'_>, UnreadableVex> {
    spelling::from_str(json.get()).map_err(|error| unreadable(&error))
}

fn names(vulnerability: Option<&RawValue>) -> Result<Vec<String>, UnreadableVex> {
    let Some(json) = vulnerability else { return Ok(Vec::new()) };
    let names = if is_text(json) {
        vec![text(json)?]
    } else {
        let Vulnerability { name, aliases } = spelling::from_str(json.get()).map_err(|error| unreadable(&error))?;
        name.into_iter().chain(aliases.into_iter().flatten()).collect()
    };
    let names = names.iter().map(|name| name.as_str().trim()).filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

fn products(statement: &Statement<'_>) -> Result<Vec<Product>, UnreadableVex> {
    let of_all = read_parts(statement.subcomponents.as_deref())?;
    let product = |json: &&RawValue| {
        let Component { id, identifiers, hashes, subcomponents } = component(json)?;
        let own = read_parts(subcomponents.as_deref())?;
        // Parts of its own and parts of all: both are meant to say less than all of it.
        let parts = match (own, &of_all) {
            (Some(own), Some(of_all)) => Some(own.into_iter().filter(|part| of_all.contains(part)).collect()),
            (own, of_all) => own.or_else(|| of_all.clone()),
        };
        let purl = identifiers.and_then(|own| own.purl);
        let hashes = hashes.iter().flatten().map(|(kind, hash)| match kind.as_str() {
            "sha-256" => Name::of(&["sha256:", hash.as_str()].concat()).unwrap_or(Name::Other),
            _ => Name::Other,
        });
        let texts = id.iter().chain(&purl).filter_map(|text| Name::of(text.as_str()));
        Ok(Product { names: texts.chain(hashes).collect(), parts })
    };
    statement.products.iter().flatten().map(product).collect()
}

/// Each part with its names, no name where it has one that can't be compared. Tools write null where no parts are meant.
fn read_parts(parts: Option<&[&RawValue]>) -> Result<Option<Vec<Vec<PackageUrl>>>, UnreadableVex> {
    let part = |json: &&RawValue| {
        let Component { id, identifiers, hashes, .. } = component(json)?;
        let purl = identifiers.and_then(|own| own.purl);
        let names = id.iter().chain(&purl).filter_map(|text| Name::of(text.as_str()));
        let names: Option<Vec<PackageUrl>> = names
            .map(|name| match name {
                Name::Package(purl) => Some(purl),
                Name::Digest(_) | Name::Image(_) | Name::Other => None,
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
