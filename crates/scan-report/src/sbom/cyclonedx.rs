//! CycloneDX as JSON: `trivy image --format cyclonedx`, `syft --output cyclonedx-json`, and what trivy-operator keeps.

use super::Sbom;
use crate::document::cyclonedx::{Component as ImageComponent, digests_of, platform_in};
use crate::document::{present, time_of};
use crate::package::{Contents, Package, each_once};
use crate::unreadable_document::UnreadableDocument;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(super) const NAME: &str = "CycloneDX";
/// Types of components that are no packages, unless they have a purl.
const NO_PACKAGES: [&str; 2] = ["operating-system", "file"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Bom<'a> {
    #[serde(borrow)]
    bom_format: Option<JsonString<'a>>,
    #[serde(borrow)]
    metadata: Option<Metadata<'a>>,
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "an object")]
struct Metadata<'a> {
    #[serde(borrow)]
    timestamp: Option<JsonString<'a>>,
    /// The subject of the document, which may have its own components.
    #[serde(borrow)]
    component: Option<&'a RawValue>,
}

/// The components of the image itself.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Inside<'a> {
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Component<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<JsonString<'a>>,
    #[serde(borrow)]
    group: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    version: Option<JsonString<'a>>,
    #[serde(borrow)]
    purl: Option<JsonString<'a>>,
    #[serde(borrow)]
    evidence: Option<Evidence<'a>>,
    #[serde(borrow)]
    licenses: Option<Vec<LicenseChoice<'a>>>,
    #[serde(borrow)]
    components: Option<Vec<Component<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Evidence<'a> {
    /// Its identity: one, or since CycloneDX 1.6 a list.
    #[serde(borrow)]
    identity: Option<&'a RawValue>,
}

/// The identity that a tool concluded for a component.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Identity<'a> {
    /// The field of the component that it is about.
    #[serde(borrow)]
    field: Option<JsonString<'a>>,
    #[serde(borrow)]
    concluded_value: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct LicenseChoice<'a> {
    #[serde(borrow)]
    license: Option<License<'a>>,
    #[serde(borrow)]
    expression: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct License<'a> {
    #[serde(borrow)]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
}

/// Parses a CycloneDX SBOM.
///
/// # Errors
/// It isn't one.
pub fn read(json: &str) -> Result<Sbom<'_>, UnreadableDocument> {
    let bom: Bom<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    if bom.bom_format.as_ref().map(JsonString::as_str) != Some("CycloneDX") {
        return Err(UnreadableDocument::new("its `bomFormat` is not `CycloneDX`"));
    }
    let metadata = bom.metadata.unwrap_or_default();
    let mut packages = Vec::new();
    let mut image: Option<ImageComponent<'_>> = None;
    if let Some(component) = metadata.component {
        image = spelling::from_str(component.get()).map_err(|error| UnreadableDocument::no_such_json(&error))?;
        let inside: Option<Inside<'_>> =
            spelling::from_str(component.get()).map_err(|error| UnreadableDocument::no_such_json(&error))?;
        add(inside.and_then(|inside| inside.components).unwrap_or_default(), &mut packages)?;
    }
    let image = image.as_ref();
    if image.is_some_and(|image| !image.is_container()) {
        return Err(UnreadableDocument::new("its `metadata.component` is not a container"));
    }
    add(bom.components.unwrap_or_default(), &mut packages)?;
    Ok(Sbom {
        format: NAME,
        digests: image.map(digests_of).unwrap_or_default(),
        platform: image.and_then(|image| platform_in(image.purl()?)),
        time: metadata.timestamp.as_ref().and_then(time_of),
        contents: Contents { packages, license_names: BTreeMap::new() },
    })
}

/// All components that are packages, those inside others too.
fn add<'a>(components: Vec<Component<'a>>, packages: &mut Vec<Package<'a>>) -> Result<(), UnreadableDocument> {
    for component in components {
        let Component { kind, group, name, version, purl, evidence, licenses, components } = component;
        let concluded = match evidence.and_then(|evidence| evidence.identity) {
            Some(identity) => concluded_purls(identity)?,
            None => Vec::new(),
        };
        let purls = each_once(present(purl).into_iter().chain(concluded));
        let version = present(version);
        let kind = kind.as_ref().map_or("", JsonString::as_str);
        // A place where packages were found, like a lock file, is an application without a purl and without a version.
        let is_place = kind == "application" && version.is_none();
        if !purls.is_empty() || (!NO_PACKAGES.contains(&kind) && !is_place) {
            let name = name.unwrap_or_else(|| JsonString::from(""));
            let name = match present(group) {
                Some(group) => JsonString::from([group.as_str(), "/", name.as_str()].concat()),
                None => name,
            };
            let licenses = licenses.into_iter().flatten().map(LicenseChoice::text).collect();
            packages.push(Package { name, version, purls, licenses });
        }
        add(components.unwrap_or_default(), packages)?;
    }
    Ok(())
}

/// The purls that a tool concluded for a component.
fn concluded_purls<'a>(identity: &'a RawValue) -> Result<Vec<JsonString<'a>>, UnreadableDocument> {
    let json = identity.get();
    let identities: Vec<Identity<'a>> = match json.starts_with('[') {
        true => spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?,
        false => vec![spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?],
    };
    let of_purls =
        identities.into_iter().filter(|identity| identity.field.as_ref().map(JsonString::as_str) == Some("purl"));
    Ok(of_purls.filter_map(|identity| present(identity.concluded_value)).collect())
}

impl<'a> LicenseChoice<'a> {
    /// Its id, its name or the expression; empty where it has none, which counts as an unknown licence.
    fn text(self) -> JsonString<'a> {
        let license = self.license.and_then(|license| present(license.id).or_else(|| present(license.name)));
        license.or_else(|| present(self.expression)).unwrap_or_else(|| JsonString::from(""))
    }
}
