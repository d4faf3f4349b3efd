//! SPDX 2 as JSON: `trivy image --format spdx-json`, `syft --output spdx-json`, and what sbomscanner keeps.

use super::Sbom;
use crate::document::cyclonedx::{digest_in, platform_in};
use crate::document::{digest_of, present, time_of};
use crate::package::{Contents, Package, each_once};
use crate::unreadable_document::UnreadableDocument;
use image_admission_image::platform::Platform;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::spelling;
use serde::Deserialize;
use std::collections::BTreeSet;

pub(super) const NAME: &str = "SPDX";
/// The document itself.
const DOCUMENT: &str = "SPDXRef-DOCUMENT";
/// Trivy's prefix of the image's name at its digest.
const REPO_DIGEST: &str = "RepoDigest:";
/// The purpose of images.
const IMAGE: &str = "CONTAINER";
/// Purposes of elements that are no packages, unless they have a purl.
const NO_PACKAGES: [&str; 4] = [IMAGE, "OPERATING-SYSTEM", "OPERATING_SYSTEM", "FILE"];
/// The purpose of places where packages were found, like a lock file: they have neither a purl nor a version.
const APPLICATION: &str = "APPLICATION";
/// The prefix of creators that are tools, and Trivy's name among them.
const TOOL: &str = "Tool: ";
const TRIVY: &str = "trivy";
/// The first version of Trivy, 0.41, that writes purposes.
const WITH_PURPOSES: u32 = 41;
/// The prefixes of ids that Trivy before 0.41 wrote, with the purpose that each means: SPDX 2.2 has no purposes.
const PURPOSES_OF_TRIVY: [(&str, &str); 3] = [
    ("SPDXRef-ContainerImage-", IMAGE),
    ("SPDXRef-OperatingSystem-", "OPERATING-SYSTEM"),
    ("SPDXRef-Application-", APPLICATION),
];
/// The relationship between the document and its subject. Trivy before 0.35 left out the last letter.
const DESCRIBES: [&str; 2] = ["DESCRIBES", "DESCRIBE"];
/// The prefixes of images' purls.
const IMAGE_PURLS: [&str; 2] = ["pkg:oci/", "pkg:docker/"];
/// The values that mean nothing.
const NOT_SAID: [&str; 2] = ["NOASSERTION", "NONE"];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Document<'a> {
    #[serde(borrow)]
    spdx_version: Option<JsonString<'a>>,
    #[serde(borrow)]
    creation_info: Option<CreationInfo<'a>>,
    #[serde(borrow)]
    packages: Option<Vec<SpdxPackage<'a>>>,
    #[serde(borrow)]
    has_extracted_licensing_infos: Option<Vec<ExtractedLicense<'a>>>,
    #[serde(borrow)]
    relationships: Option<Vec<Relationship<'a>>>,
    #[serde(borrow)]
    document_describes: Option<Vec<JsonString<'a>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct CreationInfo<'a> {
    #[serde(borrow)]
    created: Option<JsonString<'a>>,
    #[serde(borrow)]
    creators: Option<Vec<JsonString<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct SpdxPackage<'a> {
    #[serde(borrow, rename = "SPDXID")]
    id: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
    #[serde(borrow)]
    version_info: Option<JsonString<'a>>,
    #[serde(borrow)]
    license_concluded: Option<JsonString<'a>>,
    #[serde(borrow)]
    license_declared: Option<JsonString<'a>>,
    #[serde(borrow)]
    primary_package_purpose: Option<JsonString<'a>>,
    #[serde(borrow)]
    external_refs: Option<Vec<ExternalRef<'a>>>,
    #[serde(borrow)]
    checksums: Option<Vec<Checksum<'a>>>,
    #[serde(borrow)]
    attribution_texts: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    annotations: Option<Vec<Annotation<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ExternalRef<'a> {
    #[serde(borrow)]
    reference_type: Option<JsonString<'a>>,
    #[serde(borrow)]
    reference_locator: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Checksum<'a> {
    #[serde(borrow)]
    algorithm: Option<JsonString<'a>>,
    #[serde(borrow)]
    checksum_value: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Annotation<'a> {
    #[serde(borrow)]
    comment: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct ExtractedLicense<'a> {
    #[serde(borrow)]
    license_id: Option<JsonString<'a>>,
    #[serde(borrow)]
    name: Option<JsonString<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Relationship<'a> {
    #[serde(borrow)]
    spdx_element_id: Option<JsonString<'a>>,
    #[serde(borrow)]
    related_spdx_element: Option<JsonString<'a>>,
    #[serde(borrow)]
    relationship_type: Option<JsonString<'a>>,
}

/// Reads an SBOM of SPDX 2.
///
/// # Errors
/// It isn't one.
pub fn read(json: &str) -> Result<Sbom<'_>, UnreadableDocument> {
    let document: Document<'_> = spelling::from_str(json).map_err(|error| UnreadableDocument::no_such_json(&error))?;
    let version = document.spdx_version.as_ref().map_or("", JsonString::as_str);
    if !matches!(version, "SPDX-2.2" | "SPDX-2.3") {
        return Err(UnreadableDocument::new("its `spdxVersion` is not 2.2 or 2.3"));
    }
    let described = described(&document);
    // Of several elements, nobody can tell which one is this image.
    if described.len() > 1 {
        return Err(without_subject());
    }
    if described.contains(DOCUMENT) {
        return Err(UnreadableDocument::new(
            "it describes itself and no image, as Syft 0.64 to 0.85 wrote it: make it with Syft 0.88 or later, or as \
                    CycloneDX",
        ));
    }
    let is_of_old_trivy = version == "SPDX-2.2" && is_of_old_trivy(&document);
    let mut sbom = Sbom {
        format: NAME,
        digests: Vec::new(),
        platform: None,
        time: document.creation_info.as_ref().and_then(|info| time_of(info.created.as_ref()?)),
        contents: Contents::default(),
    };
    let mut is_of_image = None;
    for mut package in document.packages.into_iter().flatten() {
        if is_of_old_trivy && package.primary_package_purpose.is_none() {
            package.primary_package_purpose = package.purpose_by_id();
        }
        let is_described = package.id.as_ref().is_some_and(|id| described.contains(id.as_str()));
        if is_described {
            if is_of_image.replace(package.is_image()).is_some() {
                return Err(without_subject());
            }
            sbom.digests = package.digests();
            sbom.platform = package.platform()?;
        }
        if !package.is_no_package(is_described) {
            sbom.contents.packages.push(package.into());
        }
    }
    match is_of_image {
        None if !described.is_empty() => return Err(without_subject()),
        // The packages of a source tree tell nothing of the image that was built from it.
        Some(false) if is_on(Remedy::SbomsAreOfImages) => {
            return Err(UnreadableDocument::new(
                "what it describes is not an image: neither its purpose nor its purl says so",
            ));
        }
        _ => {}
    }
    let names = document.has_extracted_licensing_infos.into_iter().flatten();
    sbom.contents.license_names =
        names.filter_map(|license| Some((license.license_id?, present(license.name)?))).collect();
    Ok(sbom)
}

/// The ids of the elements that the document describes.
fn described(document: &Document<'_>) -> BTreeSet<String> {
    let by_relationship = document.relationships.iter().flatten().filter_map(|relationship| {
        let text = |text: &Option<JsonString<'_>>| text.as_ref().map_or(String::new(), |text| text.as_str().to_owned());
        let describes = DESCRIBES.contains(&text(&relationship.relationship_type).as_str());
        (describes && text(&relationship.spdx_element_id) == DOCUMENT).then(|| text(&relationship.related_spdx_element))
    });
    by_relationship.chain(document.document_describes.iter().flatten().map(|id| id.as_str().to_owned())).collect()
}

/// Whether only Trivy made the document, in a version that wrote no purposes. Trivy's first versions didn't state their version.
fn is_of_old_trivy(document: &Document<'_>) -> bool {
    let creators = document.creation_info.iter().flat_map(|info| info.creators.iter().flatten());
    let mut tools = creators.filter_map(|creator| creator.as_str().strip_prefix(TOOL));
    let (Some(tool), None) = (tools.next(), tools.next()) else { return false };
    let version = tool.strip_prefix(TRIVY).and_then(|rest| rest.strip_prefix("-0.")?.split('.').next()?.parse().ok());
    tool == TRIVY || version.is_some_and(|minor: u32| minor < WITH_PURPOSES)
}

impl<'a> SpdxPackage<'a> {
    fn purls(&self) -> impl Iterator<Item = JsonString<'a>> {
        let references = self.external_refs.iter().flatten();
        let purls = references.filter(|reference| reference.reference_type.as_ref().is_some_and(is_of_purls));
        purls.filter_map(|purl| present(purl.reference_locator.clone()))
    }

    /// The platform of the image, for an element that is one.
    ///
    /// # Errors
    /// Its purls name several.
    fn platform(&self) -> Result<Option<Platform>, UnreadableDocument> {
        let mut platforms = self.purls().filter_map(|purl| platform_in(purl.as_str()));
        let platform = platforms.next();
        if platforms.any(|other| platform.as_ref() != Some(&other)) {
            return Err(without_subject());
        }
        Ok(platform)
    }

    fn purpose(&self) -> &str {
        self.primary_package_purpose.as_ref().map_or("", JsonString::as_str)
    }

    /// Whether it is an image, by its purpose or its purl.
    fn is_image(&self) -> bool {
        self.purpose() == IMAGE || self.purls().any(|purl| is_of_image(purl.as_str()))
    }

    /// The purpose that Trivy's id means.
    fn purpose_by_id(&self) -> Option<JsonString<'a>> {
        let id = self.id.as_ref()?.as_str();
        let (_, purpose) = PURPOSES_OF_TRIVY.into_iter().find(|(beginning, _)| id.starts_with(beginning))?;
        // A lock file has no version.
        let is_one = purpose != APPLICATION || self.version_info.is_none();
        is_one.then(|| JsonString::from(purpose))
    }

    /// Whether it is no package, but the image itself, its operating system, or a place where packages were found.
    fn is_no_package(&self, is_described: bool) -> bool {
        match self.purls().next() {
            Some(_) => (is_described || self.purpose() == IMAGE) && self.purls().all(|purl| is_of_image(purl.as_str())),
            None if self.purpose() == APPLICATION => said(self.version_info.clone()).is_none(),
            None => NO_PACKAGES.contains(&self.purpose()),
        }
    }

    /// The digests of the image: Syft writes them as version and checksum, Trivy as a name at a digest.
    fn digests(&self) -> Vec<String> {
        let checksums = self.checksums.iter().flatten().filter_map(|checksum| {
            let is_sha256 = checksum.algorithm.as_ref().is_some_and(|algorithm| algorithm.as_str() == "SHA256");
            digest_of(&["sha256:", checksum.checksum_value.as_ref().filter(|_| is_sha256)?.as_str()].concat())
        });
        let version = self.version_info.iter().filter_map(|version| digest_of(version.as_str()));
        let purls = self.purls().filter_map(|purl| digest_in(purl.as_str()));
        let comments = self.annotations.iter().flatten().filter_map(|annotation| annotation.comment.as_ref());
        let texts = self.attribution_texts.iter().flatten().chain(comments);
        let named = texts.filter_map(|text| digest_of(text.as_str().trim().strip_prefix(REPO_DIGEST)?.trim()));
        let mut seen = BTreeSet::new();
        checksums.chain(version).chain(purls).chain(named).filter(|digest| seen.insert(digest.clone())).collect()
    }
}

/// Whether references of a type are purls. SPDX's own libraries write types as addresses.
fn is_of_purls(reference_type: &JsonString<'_>) -> bool {
    let name = reference_type.as_str().rsplit('/').next().unwrap_or_default();
    name.eq_ignore_ascii_case("purl")
}

fn is_of_image(purl: &str) -> bool {
    IMAGE_PURLS.iter().any(|beginning| purl.starts_with(beginning))
}

impl<'a> From<SpdxPackage<'a>> for Package<'a> {
    fn from(package: SpdxPackage<'a>) -> Self {
        let purls = each_once(package.purls());
        // The document's conclusion comes before the package's own declaration.
        let license = said(package.license_concluded).or_else(|| said(package.license_declared));
        Self {
            name: package.name.unwrap_or_else(|| JsonString::from("")),
            version: said(package.version_info),
            purls,
            licenses: license.into_iter().collect(),
        }
    }
}

/// A text that says something.
fn said(text: Option<JsonString<'_>>) -> Option<JsonString<'_>> {
    present(text).filter(|text| !NOT_SAID.contains(&text.as_str()))
}

fn without_subject() -> UnreadableDocument {
    UnreadableDocument::new("it doesn't describe one thing: `DESCRIBES` of the document must name one package")
}
