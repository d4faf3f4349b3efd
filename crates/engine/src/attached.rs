//! Artifacts about images that somebody signed: beside the image in its registry, or in the repository that the settings name.
//!
//! Whoever can push to the repository can put one there. So a tag is resolved once, and what it resolves to must be signed by
//! somebody whom the settings name. That a signed artifact is about this image is for whoever reads it to say: one that is
//! copied from another image verifies as well.

use crate::host::{Document, Host, HostFailure, Untrusted};
use crate::image::ImageReference;
use crate::referrers::artifacts_beside;
use crate::remedy::{Remedy, is_on};
use crate::settings::{Artifact, AttachedArtifacts};
use crate::text::Text;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most artifacts of one type beside one image: whoever pushes them chooses how many there are.
const MAX_ARTIFACTS: usize = 16;

/// The artifacts about images, as one request sees them.
pub(crate) struct Attachments<'a> {
    settings: &'a AttachedArtifacts,
    host: &'a dyn Host,
    /// By the image's name at a digest: what was found beside it.
    found: BTreeMap<String, Rc<Vec<Found>>>,
}

/// What was found beside a digest.
pub(crate) enum Found {
    /// An artifact that is trusted.
    Trusted(Trusted),
    /// An artifact that nobody signed who was asked for, `repository@digest`, and what the host says of it.
    Unsigned(String, Untrusted),
    Failure(HostFailure),
}

/// An artifact that somebody signed who was asked for, or that needs no signature.
pub(crate) struct Trusted {
    /// `repository@digest`
    pub(crate) artifact: String,
    /// Who signed it, as the settings name them; none: it needs no signature.
    pub(crate) signed_by: Option<String>,
    document: Document,
}

impl<'a> Attachments<'a> {
    /// Nothing is asked yet.
    pub(crate) fn new(settings: &'a AttachedArtifacts, host: &'a dyn Host) -> Self {
        Self { settings, host, found: BTreeMap::new() }
    }

    /// Everything that there is about a digest of an image.
    pub(crate) fn beside(&mut self, image: &ImageReference, digest: &str) -> Rc<Vec<Found>> {
        let at = image.at(digest);
        if let Some(found) = self.found.get(&at) {
            return Rc::clone(found);
        }
        let found = self.repository(image).and_then(|repository| {
            let artifacts = self.artifacts(&repository, digest)?;
            Ok(artifacts.iter().map(|artifact| self.load(repository.at(artifact))).collect())
        });
        let found = Rc::new(found.unwrap_or_else(|failure| vec![Found::Failure(failure)]));
        self.found.insert(at, Rc::clone(&found));
        found
    }

    /// The repository that holds what is known of an image: its own, unless the settings name another.
    fn repository<'i>(&self, image: &'i ImageReference) -> Result<Cow<'i, ImageReference>, HostFailure> {
        match &self.settings.repository {
            Some(other) => other.of(image).map(Cow::Owned).map_err(|error| {
                HostFailure::Malformed(format!("`{}` is no repository for this image: {error}", other.as_str()))
            }),
            None => Ok(Cow::Borrowed(image)),
        }
    }

    /// The digests of the artifacts beside a digest.
    fn artifacts(&self, repository: &ImageReference, digest: &str) -> Result<Vec<String>, HostFailure> {
        let (suffix, media_type) = match &self.settings.artifact {
            Artifact::Tag(suffix) => (Some(suffix.as_str()), ""),
            Artifact::Type(media_type) => (None, media_type.as_str()),
        };
        let found = artifacts_beside(self.host, repository, digest, suffix, |kind| kind == media_type)?;
        // One that isn't read could be the one that says that the image is bad.
        if found.len() > MAX_ARTIFACTS {
            let (of, number) = (repository.at(digest), found.len());
            return Err(HostFailure::Malformed(format!(
                "{of} has {number} artifacts of one type, {MAX_ARTIFACTS} are the most"
            )));
        }
        Ok(found)
    }

    /// Verifies an artifact, `repository@digest`, and has it read.
    fn load(&self, artifact: String) -> Found {
        let (mut failure, mut untrusted) = (None, Untrusted::Unsaid);
        let (mut is_trusted, mut signed_by) = (self.settings.allow_unsigned || !is_on(Remedy::VerifySignature), None);
        for asked in self.settings.attestors.iter().filter(|_| !self.settings.allow_unsigned) {
            match self.host.verify(&artifact, &asked.identity, &asked.annotations) {
                Ok(_) => {
                    is_trusted = true;
                    signed_by = Some(asked.name.clone());
                    break;
                }
                Err(HostFailure::NotTrusted(why)) => untrusted = untrusted.min(why),
                Err(other) => failure = failure.or(Some(other)),
            }
        }
        match (is_trusted, failure) {
            (false, Some(failure)) => Found::Failure(failure),
            (false, None) => Found::Unsigned(artifact, untrusted),
            (true, _) => match self.host.artifact(&artifact) {
                Ok(document) => Found::Trusted(Trusted { artifact, signed_by, document }),
                Err(failure) => Found::Failure(failure),
            },
        }
    }
}

impl Trusted {
    /// What the host says of it.
    ///
    /// # Errors
    /// It is no artifact, or another one than was asked for.
    pub(crate) fn read(&self) -> Result<Content<'_>, HostFailure> {
        let content: Content<'_> = self.document.read()?;
        if self.artifact.rsplit_once('@').map(|(_, digest)| digest) == Some(content.digest.as_str()) {
            return Ok(content);
        }
        Err(HostFailure::Malformed(format!("asked for {}, the answer is of another digest", self.artifact)))
    }
}

/// An artifact's manifest, digest and configuration.
#[derive(Deserialize)]
pub(crate) struct Content<'a> {
    #[serde(borrow)]
    manifest: ArtifactManifest<'a>,
    #[serde(borrow)]
    digest: Text<'a>,
    /// The document that it holds.
    #[serde(borrow)]
    pub(crate) config: &'a RawValue,
}

#[derive(Deserialize)]
struct ArtifactManifest<'a> {
    #[serde(borrow)]
    subject: Option<Subject<'a>>,
    #[serde(borrow)]
    annotations: Option<BTreeMap<Text<'a>, Option<Text<'a>>>>,
}

#[derive(Deserialize)]
struct Subject<'a> {
    #[serde(borrow)]
    digest: Option<Text<'a>>,
}

impl Content<'_> {
    /// The digest that its manifest says it is about.
    pub(crate) fn subject(&self) -> Option<&str> {
        self.manifest.subject.as_ref()?.digest.as_ref().map(Text::as_str)
    }

    /// What its manifest says under a key.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        let (_, value) = self.manifest.annotations.as_ref()?.iter().find(|(own, _)| own.as_str() == key)?;
        value.as_ref().map(Text::as_str)
    }
}
