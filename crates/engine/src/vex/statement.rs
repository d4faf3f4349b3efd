//! What a statement of a VEX document is about, and what it says: in one form for all documents.
//!
//! What takes a finding out must name it exactly. What says that a finding counts is believed as far as it may be meant.

use crate::Timestamp;
use crate::finding::Finding;
use crate::image::{ImageReference, is_digest};
use crate::purl::PackageUrl;
use crate::remedy::{Remedy, is_on};

/// What a document says about one vulnerability in some products.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VexStatement {
    /// Every name of the vulnerability.
    pub(super) names: Vec<String>,
    pub(super) products: Vec<Product>,
    pub(super) says: Says,
    /// Since when it says so, if that is known.
    pub(super) time: Option<Timestamp>,
}

/// What is said of a vulnerability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Says {
    /// In the document's own word, `not_affected`.
    pub(super) status: String,
    /// Why it isn't affected.
    pub(super) justification: Option<String>,
    pub(super) means: Means,
}

/// What a status means for a finding, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Means {
    /// It doesn't count.
    Cleared,
    /// It would not, if the statement said why.
    Unjustified,
    /// It counts.
    Counts,
}

/// Something that a statement names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Product {
    /// All the names that it has, each a way to know it.
    pub(super) names: Vec<Name>,
    /// The parts of it that are meant, each with its names; none: all of it.
    pub(super) parts: Option<Vec<Vec<PackageUrl>>>,
}

/// One name of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name {
    /// The digest of an index or a manifest.
    Digest(String),
    /// An image that no digest is named of, `pkg:oci/app`.
    Image(PackageUrl),
    /// A package.
    Package(PackageUrl),
    /// Something that can't be compared with anything here.
    Other,
}

/// How far a statement reaches into an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of it.
    Image,
    /// These packages of it, each with all its names.
    Packages(Vec<Vec<PackageUrl>>),
}

/// An image as statements may name it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'i> {
    pub(super) reference: &'i ImageReference,
    /// Its digest, and that of the platform's manifest.
    pub(super) digests: &'i [String],
    /// Whether the signed manifest around the document names one of these.
    pub(super) is_subject: bool,
}

impl Name {
    /// The name in a text: a purl, or an image by its digest. A text that names nothing is only somebody's id.
    pub(super) fn of(text: &str) -> Option<Self> {
        if !text.starts_with("pkg:") {
            let digest = text.rsplit_once('@').map_or(text, |(_, digest)| digest);
            return is_digest(digest).then(|| Self::Digest(digest.to_owned()));
        }
        let Some(purl) = PackageUrl::parse(text) else { return Some(Self::Other) };
        Some(match (purl.kind.as_str(), &purl.version) {
            ("oci" | "docker", Some(version)) if is_digest(version) => Self::Digest(version.clone()),
            ("oci", None) => Self::Image(purl),
            ("oci" | "docker", _) => Self::Other,
            _ => Self::Package(purl),
        })
    }

    fn digest(&self) -> Option<&String> {
        match self {
            Self::Digest(digest) => Some(digest),
            Self::Image(_) | Self::Package(_) | Self::Other => None,
        }
    }
}

impl Product {
    /// How far it reaches into an image that it surely is, or is in; none where that isn't sure.
    fn reach(&self, image: Named<'_>) -> Option<Reach> {
        let is_package = |name: &Name| matches!(name, Name::Package(_));
        let mut digests = self.names.iter().filter_map(Name::digest).peekable();
        let is_whole = if digests.peek().is_some() {
            digests.all(|digest| image.digests.contains(digest)) && !self.names.iter().any(is_package)
        } else {
            let is_it = |name: &Name| matches!(name, Name::Image(purl) if image.is_called(purl));
            image.is_subject && !self.names.is_empty() && self.names.iter().all(is_it)
        };
        match &self.parts {
            None if is_whole => Some(Reach::Image),
            Some(parts) if is_whole => Some(Reach::Packages(parts.clone())),
            // A package with parts may be in the image more than once: nobody can tell which one is meant.
            None if image.is_subject && !self.names.is_empty() && self.names.iter().all(is_package) => {
                Some(Reach::Packages(vec![self.packages()]))
            }
            _ => None,
        }
    }

    /// How far it may reach.
    fn may_reach(&self, image: Named<'_>) -> Option<Reach> {
        if let Some(sure) = self.reach(image) {
            return Some(sure);
        }
        let digests = || self.names.iter().filter_map(Name::digest);
        let is_ours = digests().any(|digest| image.digests.contains(digest));
        // Another image's, for sure.
        if !is_ours && (!image.is_subject || digests().next().is_some()) {
            return None;
        }
        let packages = self.packages();
        let parts = self.parts.iter().flatten().filter(|part| !part.is_empty()).cloned();
        let all: Vec<_> = Some(packages).filter(|own| !own.is_empty()).into_iter().chain(parts).collect();
        Some(if all.is_empty() { Reach::Image } else { Reach::Packages(all) })
    }

    fn packages(&self) -> Vec<PackageUrl> {
        let packages = self.names.iter().filter_map(|name| match name {
            Name::Package(purl) => Some(purl.clone()),
            Name::Digest(_) | Name::Image(_) | Name::Other => None,
        });
        packages.collect()
    }
}

impl Named<'_> {
    /// Whether a purl without a digest has its name. Who says more than the repository says what can't be compared.
    fn is_called(&self, purl: &PackageUrl) -> bool {
        let name = self.reference.name();
        let is_repository = |url: &str| ImageReference::parse(url).is_ok_and(|other| other.name() == name);
        name.rsplit('/').next() == Some(purl.name.as_str())
            && purl.qualifiers.iter().all(|(key, value)| key == "repository_url" && is_repository(value))
    }
}

impl VexStatement {
    /// How far it reaches into an image; none where it doesn't.
    pub(super) fn reach(&self, image: Named<'_>) -> Option<Reach> {
        let mut packages = Vec::new();
        for product in &self.products {
            let reach = match self.says.means {
                Means::Cleared | Means::Unjustified => product.reach(image),
                Means::Counts => product.may_reach(image),
            };
            match reach {
                Some(Reach::Image) => return Some(Reach::Image),
                Some(Reach::Packages(more)) => packages.extend(more),
                None => {}
            }
        }
        if self.products.is_empty() && self.says.means == Means::Counts && image.is_subject {
            return Some(Reach::Image);
        }
        (!packages.is_empty()).then_some(Reach::Packages(packages))
    }
}

impl Reach {
    /// Whether a finding is in it: one whose package the report doesn't name is in no package.
    pub(super) fn has(&self, finding: &Finding<'_>) -> bool {
        match self {
            Self::Image => true,
            Self::Packages(packages) => {
                let Some(purl) = finding.purl.as_ref().and_then(|purl| PackageUrl::parse(purl.as_str())) else {
                    return false;
                };
                packages.iter().any(|names| !names.is_empty() && names.iter().all(|name| name.includes(&purl)))
                    || !is_on(Remedy::MatchVexProduct)
            }
        }
    }
}
