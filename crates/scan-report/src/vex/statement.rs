//! A statement of a VEX document: what it is about, and what it says, in one form for all documents.
//!
//! A statement that clears a finding must name it exactly. A statement that a finding counts holds for everything that it may mean.

use crate::purl::{AnySpelling, PackageUrl};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, is_digest};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::time::Timestamp;
use std::rc::Rc;

/// A statement about one vulnerability in some products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VexStatement {
    /// Every name of the vulnerability.
    pub names: Vec<String>,
    /// What it is about.
    pub products: Vec<Product>,
    /// What it says.
    pub says: Says,
    /// The time of the statement, if known.
    pub time: Option<Timestamp>,
}

/// What a statement says of a vulnerability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Says {
    /// The document's own word, `not_affected`.
    pub status: String,
    /// Why it isn't affected.
    pub justification: Option<String>,
    /// The meaning for a finding.
    pub means: Means,
}

/// The meaning of a status for a finding, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// The finding doesn't count.
    Cleared,
    /// The finding would not count, if the statement said why.
    Unjustified,
    /// The finding counts.
    Counts,
}

/// A product of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Product {
    /// All its names. Each identifies it.
    pub names: Vec<Name>,
    /// The parts that are meant; none: the whole product.
    pub parts: Option<Parts>,
}

/// Parts of products, each with all its names; no names if one of them can't be compared.
pub type Parts = Rc<[Vec<PackageUrl>]>;

/// One name of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// The digest of an index or a manifest.
    Digest(String),
    /// A hash of an image or of a file; empty if its algorithm isn't compared.
    Hash(String),
    /// An image by its purl, `pkg:oci/app@sha256:…`, which may lack a digest, or have more parts.
    Image(PackageUrl),
    /// A package.
    Package(PackageUrl),
    /// A name that can't be compared.
    Other,
}

/// How far a statement reaches into an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// The whole image.
    Image,
    /// Certainly these packages, each with all its names, and nothing else.
    Packages(Vec<Parts>),
    /// Every package that may be one of these.
    AnyOf(Vec<AnySpelling>),
}

/// The package of a finding, in the forms that are compared.
#[derive(Debug)]
pub struct PackageOfFinding {
    purl: PackageUrl,
    any_spelling: AnySpelling,
}

/// An image as statements may name it.
#[derive(Debug, Clone, Copy)]
pub struct Named<'i> {
    /// Its name.
    pub reference: &'i ImageReference,
    /// Its digest, and then that of the platform's manifest.
    pub digests: &'i [String],
    /// The platform that is judged, if an index states it.
    pub platform: Option<&'i Platform>,
    /// Whether the signed manifest around the document names one of these digests.
    pub is_subject: bool,
    /// Whether the manifest or a statement of the document names one. Then a statement without an image may be about this one.
    pub is_near: bool,
}

impl Name {
    /// The name in a string: a purl, or an image by its digest. Any other string is only an id.
    pub fn of(text: &str) -> Option<Self> {
        if !text.starts_with("pkg:") {
            let digest = text.rsplit_once('@').map_or(text, |(_, digest)| digest);
            return is_digest(digest).then(|| Self::Digest(digest.to_owned()));
        }
        let Some(purl) = PackageUrl::parse(text) else { return Some(Self::Other) };
        Some(if matches!(purl.kind.as_str(), "oci" | "docker") { Self::Image(purl) } else { Self::Package(purl) })
    }

    /// The digest of the image that it names.
    fn digest(&self) -> Option<&str> {
        match self {
            Self::Digest(digest) => Some(digest),
            Self::Image(purl) => purl.version.as_deref().filter(|version| is_digest(version)),
            Self::Hash(_) | Self::Package(_) | Self::Other => None,
        }
    }

    /// Whether it has a digest of the image, whatever other parts it has.
    fn is_digest_of(&self, image: Named<'_>) -> bool {
        let hash = if let Self::Hash(hash) = self { Some(hash.as_str()) } else { None };
        self.digest().or(hash).is_some_and(|digest| image.digests.iter().any(|own| own == digest))
    }

    fn package(&self) -> Option<&PackageUrl> {
        if let Self::Package(purl) = self { Some(purl) } else { None }
    }
}

impl Product {
    /// Whether one of its names is a digest of the image.
    fn is_named(&self, image: Named<'_>) -> bool {
        self.names.iter().any(|name| name.is_digest_of(image))
    }

    /// How far it reaches into an image that it certainly is, or is in; none where that isn't certain.
    fn reach(&self, image: Named<'_>) -> Option<Reach> {
        let is_named = self.is_named(image);
        let is_it = |name: &Name| match name {
            // The algorithm of this hash isn't compared.
            Name::Hash(hash) if hash.is_empty() => is_named,
            Name::Digest(_) | Name::Hash(_) => name.is_digest_of(image),
            Name::Image(purl) if name.digest().is_some() => name.is_digest_of(image) && image.is_meant(purl),
            Name::Image(purl) => (is_named || image.is_subject) && image.is_called(purl),
            Name::Package(_) | Name::Other => false,
        };
        let is_whole = !self.names.is_empty() && self.names.iter().all(is_it);
        let packages = || self.names.iter().map(|name| name.package().cloned()).collect::<Option<Vec<_>>>();
        match &self.parts {
            None if is_whole => Some(Reach::Image),
            Some(parts) if is_whole => Some(Reach::Packages(vec![Rc::clone(parts)])),
            // A package with parts may be in the image more than once, and nobody can tell which one is meant.
            None if image.is_subject => {
                packages().filter(|names| !names.is_empty()).map(|names| Reach::Packages(vec![Rc::from([names])]))
            }
            _ => None,
        }
    }

    /// How far it may reach: nowhere if it is certainly another image, and into all of this one if nobody can tell.
    fn may_reach(&self, image: Named<'_>) -> Option<Reach> {
        let is_ours = self.is_named(image);
        if !is_ours && (!image.is_near || (self.is_another() && !image.may_be_in_an_index())) {
            return None;
        }
        let mut all = Vec::new();
        let mut is_clear = true;
        for name in &self.names {
            match name {
                Name::Package(purl) => all.push(purl.any_spelling()),
                // The hash is of the package's file; and where there are parts, only these are meant.
                Name::Hash(_) if !is_ours => {}
                _ => is_clear &= self.parts.is_some(),
            }
        }
        for part in self.parts.iter().flat_map(|parts| parts.iter()) {
            is_clear &= !part.is_empty();
            all.extend(part.iter().map(PackageUrl::any_spelling));
        }
        is_clear &= self.parts.as_ref().is_none_or(|parts| !parts.is_empty());
        Some(if is_clear && !all.is_empty() { Reach::AnyOf(all) } else { Reach::Image })
    }

    /// Whether all its names are digests of images, and their hashes.
    fn is_another(&self) -> bool {
        let mut digests = self.names.iter().filter_map(Name::digest).peekable();
        digests.peek().is_some()
            && self.names.iter().all(|name| match name {
                Name::Hash(hash) => self.names.iter().any(|name| name.digest() == Some(hash)),
                name => name.digest().is_some(),
            })
    }
}

impl Named<'_> {
    /// Whether a purl without a digest has the image's name. A purl may have only the repository and the platform: other parts
    /// can't be compared.
    fn is_called(&self, purl: &PackageUrl) -> bool {
        let name = self.reference.name();
        // With a tag it is one of the repository's images, and nobody knows which.
        let is_repository = |url: &str| {
            ImageReference::parse(url).is_ok_and(|other| other.name() == name)
                && !url.contains('@')
                && !url.rsplit('/').next().is_some_and(|last| last.contains(':'))
        };
        purl.kind == "oci"
            && purl.version.is_none()
            && purl.namespace.is_empty()
            && name.rsplit('/').next() == Some(purl.name.as_str())
            && purl.qualifier("repository_url").is_none_or(is_repository)
            && purl.qualifier("tag").is_none()
            && self.is_meant(purl)
    }

    /// Whether a purl means the whole image of the judged platform: not a file in it, and no other platform.
    fn is_meant(&self, purl: &PackageUrl) -> bool {
        if !is_on(Remedy::NarrowVexProduct) {
            return true;
        }
        let known = ["repository_url", "tag", "media_type", "os", "arch", "variant"];
        let [os, arch, variant] = ["os", "arch", "variant"].map(|key| purl.qualifier(key));
        let is_platform = match self.platform {
            _ if os.or(arch).or(variant).is_none() => true,
            Some(platform) => platform.is(os, arch, variant),
            // A manifest has one platform; an index has several.
            None => self.digests.len() == 1 && self.digests.first() == purl.version.as_ref(),
        };
        purl.subpath.is_none() && is_platform && purl.qualifiers.iter().all(|(key, _)| known.contains(&key.as_str()))
    }

    /// Whether it may be an entry of an index that is unknown here: a reference with a manifest's digest names no index.
    fn may_be_in_an_index(&self) -> bool {
        self.is_subject && self.digests.len() == 1 && self.reference.digest().is_some()
    }
}

impl VexStatement {
    /// Whether it names a digest of the image.
    pub fn is_named(&self, image: Named<'_>) -> bool {
        self.products.iter().any(|product| product.is_named(image))
    }

    /// How far it reaches into an image; none where it doesn't.
    pub fn reach(&self, image: Named<'_>) -> Option<Reach> {
        if self.says.means == Means::Counts {
            return self.may_reach(image);
        }
        let mut packages = Vec::new();
        for product in &self.products {
            match product.reach(image) {
                Some(Reach::Packages(more)) => packages.extend(more),
                Some(all) => return Some(all),
                None => {}
            }
        }
        (!packages.is_empty()).then_some(Reach::Packages(packages))
    }

    fn may_reach(&self, image: Named<'_>) -> Option<Reach> {
        if self.products.is_empty() {
            return image.is_near.then_some(Reach::Image);
        }
        let mut packages = Vec::new();
        for product in &self.products {
            match product.may_reach(image) {
                Some(Reach::AnyOf(more)) => packages.extend(more),
                Some(all) => return Some(all),
                None => {}
            }
        }
        (!packages.is_empty()).then_some(Reach::AnyOf(packages))
    }
}

impl Reach {
    /// Whether it includes a finding in a package. A finding without a package is never in [`Reach::Packages`], and always in
    /// [`Reach::AnyOf`].
    pub fn has(&self, package: Option<&PackageOfFinding>) -> bool {
        match (self, package) {
            (Self::Image, _) | (Self::AnyOf(_), None) => true,
            (Self::AnyOf(packages), Some(package)) => packages.iter().any(|own| own.may_be(&package.any_spelling)),
            (Self::Packages(_), None) => false,
            (Self::Packages(packages), Some(package)) => {
                let mut parts = packages.iter().flat_map(|parts| parts.iter());
                parts.any(|names| !names.is_empty() && names.iter().all(|name| name.includes(&package.purl)))
                    || !is_on(Remedy::MatchVexProduct)
            }
        }
    }

    /// How many names a finding is compared with.
    pub fn size(&self) -> usize {
        match self {
            Self::Image => 1,
            Self::AnyOf(packages) => packages.len(),
            Self::Packages(packages) => packages.iter().flat_map(|parts| parts.iter()).map(Vec::len).sum(),
        }
    }
}

impl PackageOfFinding {
    /// The package of a purl; none where that can't be compared.
    pub fn of(purl: &str) -> Option<Self> {
        let purl = PackageUrl::parse(purl)?;
        Some(Self { any_spelling: purl.any_spelling(), purl })
    }
}

/// The latest of several times; none, which counts as later than all others, if one can't be read.
pub fn latest<'t>(times: impl Iterator<Item = &'t JsonString<'t>>) -> Option<Timestamp> {
    let times: Option<Vec<Timestamp>> = times.map(|time| Timestamp::parse(time.as_str())).collect();
    times?.into_iter().max()
}
