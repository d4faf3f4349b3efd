//! Signed artifacts about images: beside the image in its registry, or in the repository that the settings name.
//!
//! Everybody with push access to the repository can put one there. So a tag is resolved once, and the artifact must be signed by
//! somebody whom the settings name. The reader must check that the artifact is about this image: one that is copied from another
//! image verifies as well.

use image_admission_attestors::referrers::artifacts_beside;
use image_admission_host::{Document, Host, HostFailure, Untrusted};
use image_admission_image::ImageReference;
use image_admission_settings::{Artifact, AttachedArtifacts, Attestor};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most artifacts of one type beside one image: the pusher chooses how many there are.
const MAX_ARTIFACTS: usize = 16;

/// The artifacts about images, as one request sees them.
pub(crate) struct Attachments<'a> {
    settings: &'a AttachedArtifacts,
    host: &'a dyn Host,
    /// Whether every signer is returned: their statements are weighed against each other.
    every_signer: bool,
    /// By the image's name at a digest: what was found beside it.
    found: BTreeMap<String, Rc<Vec<Found<'a>>>>,
}

/// What was found beside a digest.
pub(crate) enum Found<'a> {
    /// An artifact that is trusted.
    Trusted(Trusted<'a>),
    /// An artifact without a wanted signature, `repository@digest`, and what the host says of it.
    Unsigned(String, Untrusted),
    Failure(HostFailure),
}

/// An artifact with a wanted signature, or one that needs none.
pub(crate) struct Trusted<'a> {
    /// `repository@digest`
    pub artifact: String,
    /// Those of the settings' attestors who signed it: the first one, or all of them if the caller needs all. Empty: it needs no
    /// signature.
    pub signers: Vec<&'a Attestor>,
    document: Document,
}

impl<'a> Attachments<'a> {
    /// Makes no calls yet. The signers of an artifact are tried one after the other, until one has signed it.
    pub(crate) fn new(settings: &'a AttachedArtifacts, host: &'a dyn Host) -> Self {
        Self { settings, host, every_signer: false, found: BTreeMap::new() }
    }

    /// The same, but every signer of an artifact is returned. If one signer can't be checked, that is a failure.
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
        // One that isn't read could say that the image is bad.
        if found.len() > MAX_ARTIFACTS {
            let (of, number) = (repository.at(digest), found.len());
            return Err(HostFailure::Malformed(format!(
                "{of} has {number} artifacts of one type, {MAX_ARTIFACTS} are the most"
            )));
        }
        Ok(found)
    }

    /// Verifies an artifact, `repository@digest`, and reads it.
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
            // An attestor that couldn't be checked may have signed it too.
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
    /// It is no artifact, or not the requested one.
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
    digest: JsonString<'a>,
    /// The document that it holds.
    #[serde(borrow)]
    pub config: &'a RawValue,
}

#[derive(Deserialize)]
struct ArtifactManifest<'a> {
    #[serde(borrow)]
    subject: Option<Subject<'a>>,
    #[serde(borrow)]
    annotations: Option<BTreeMap<JsonString<'a>, Option<JsonString<'a>>>>,
}

#[derive(Deserialize)]
struct Subject<'a> {
    #[serde(borrow)]
    digest: Option<JsonString<'a>>,
}

impl Content<'_> {
    /// The digest that its manifest says it is about.
    pub(crate) fn subject(&self) -> Option<&str> {
        self.manifest.subject.as_ref()?.digest.as_ref().map(JsonString::as_str)
    }

    /// What its manifest says under a key.
    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        let (_, value) = self.manifest.annotations.as_ref()?.iter().find(|(own, _)| own.as_str() == key)?;
        value.as_ref().map(JsonString::as_str)
    }
}
