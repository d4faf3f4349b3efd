//! Artifacts about images that somebody signed: beside the image in its registry, or in the repository that the settings name.
//!
//! Whoever can push to the repository can put one there. So a tag is resolved once, and what it resolves to must be signed by
//! somebody whom the settings name. That a signed artifact is about this image is for whoever reads it to say: one that is
//! copied from another image verifies as well.

use crate::referrers::artifacts_beside;
use image_admission_host::{Document, Host, HostFailure, Untrusted};
use image_admission_image::ImageReference;
use image_admission_settings::{Artifact, AttachedArtifacts, Attestor};
use image_admission_untrusted::json::Text;
use image_admission_untrusted::remedy::{Remedy, is_on};
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
    /// Whether everybody who signed one is told: their words are weighed against each other.
    every_signer: bool,
    /// By the image's name at a digest: what was found beside it.
    found: BTreeMap<String, Rc<Vec<Found<'a>>>>,
}

/// What was found beside a digest.
pub(crate) enum Found<'a> {
    /// An artifact that is trusted.
    Trusted(Trusted<'a>),
    /// An artifact that nobody signed who was asked for, `repository@digest`, and what the host says of it.
    Unsigned(String, Untrusted),
    Failure(HostFailure),
}

/// An artifact that somebody signed who was asked for, or that needs no signature.
pub(crate) struct Trusted<'a> {
    /// `repository@digest`
    pub artifact: String,
    /// Who signed it, of those whom the settings name: the first of them, or everybody where that is told. None: it needs no
    /// signature.
    pub signers: Vec<&'a Attestor>,
    document: Document,
}

impl<'a> Attachments<'a> {
    /// Nothing is asked yet. Of each artifact one signer is asked for after the other, until one has signed it.
    pub(crate) fn new(settings: &'a AttachedArtifacts, host: &'a dyn Host) -> Self {
        Self { settings, host, every_signer: false, found: BTreeMap::new() }
    }

    /// The same, where everybody who signed an artifact is told, or that nobody can say so.
    pub(crate) fn with_every_signer(settings: &'a AttachedArtifacts, host: &'a dyn Host) -> Self {
        Self { every_signer: is_on(Remedy::AskEverySigner), ..Self::new(settings, host) }
    }

    /// Everything that there is about a digest of an image.
    pub(crate) fn beside(&mut self, image: &ImageReference, digest: &str) -> Rc<Vec<Found<'a>>> {
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
    fn load(&self, artifact: String) -> Found<'a> {
        let (mut failure, mut untrusted) = (None, Untrusted::Unsaid);
        let needs_none = self.settings.allow_unsigned || !is_on(Remedy::VerifySignature);
        let mut signers = Vec::new();
        for asked in self.settings.attestors.iter().filter(|_| !self.settings.allow_unsigned) {
            match self.host.verify(&artifact, &asked.identity, &asked.annotations) {
                Ok(_) => {
                    signers.push(asked);
                    if !self.every_signer {
                        break;
                    }
                }
                Err(HostFailure::NotTrusted(why)) => untrusted = untrusted.min(why),
                Err(other) => failure = failure.or(Some(other)),
            }
        }
        let is_trusted = needs_none || !signers.is_empty();
        match failure {
            // Whoever couldn't be asked for may have signed it as well, so that it is their word too.
            Some(failure) if !is_trusted || self.every_signer => Found::Failure(failure),
            _ if !is_trusted => Found::Unsigned(artifact, untrusted),
            _ => match self.host.artifact(&artifact) {
                Ok(document) => Found::Trusted(Trusted { artifact, signers, document }),
                Err(failure) => Found::Failure(failure),
            },
        }
    }
}

impl Trusted<'_> {
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
    pub config: &'a RawValue,
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
