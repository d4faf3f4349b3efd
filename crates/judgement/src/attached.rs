//! Signed documents about images: artifacts beside the image in its registry, or in the repository that the settings name, and
//! statements in evidence.
//!
//! Everybody with push access to the repository can put one there. So a tag is resolved once, and the document must be signed by
//! somebody whom the settings name. The reader must check that an artifact is about this image: one that is copied from another
//! image verifies as well. A statement is about the digest that it was looked for.

use crate::reason::{ATTESTATION_OF, Unsigned};
use image_admission_attestors::referrers::artifacts_beside;
use image_admission_attestors::{Asked, Failure, Piece, Refusal, Refused, Verdict, Verifier};
use image_admission_host::{Document, Host, HostFailure};
use image_admission_image::ImageReference;
use image_admission_settings::{Artifact, AttachedArtifacts, Attestor};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::remedy::{Remedy, is_on};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The most artifacts of one type beside one image: the pusher chooses how many there are.
const MAX_ARTIFACTS: usize = 16;

/// The documents about images, as one request sees them.
pub(crate) struct Attachments<'a> {
    settings: &'a AttachedArtifacts,
    host: &'a dyn Host,
    verifier: &'a Verifier<'a>,
    /// Whether every signer is returned: their statements are weighed against each other.
    every_signer: bool,
    /// By the image's name at a digest: what was found beside it.
    found: BTreeMap<String, Rc<Vec<Found<'a>>>>,
    /// By the place of a statement, its predicate: one may be about many platforms, and stand beside each of them.
    predicates: RefCell<BTreeMap<String, Rc<str>>>,
}

/// What was found beside a digest.
pub(crate) enum Found<'a> {
    /// A document that is trusted.
    Trusted(Trusted<'a>),
    /// A document without a wanted signature, and why none counts.
    Unsigned(String, Unsigned),
    /// It is unknown what is there, or who signed it.
    Failure(Failure),
}

/// A document with a wanted signature, or one that needs none.
pub(crate) struct Trusted<'a> {
    /// `repository@digest`, or the object that a statement is in.
    pub artifact: String,
    /// Those of the settings' attestors who signed it, if the caller needs them.
    pub signers: Vec<&'a Attestor>,
    document: Signed,
}

/// What is signed.
enum Signed {
    /// An artifact as the host gives it, which holds the document as its configuration.
    Artifact(Document),
    /// The predicate of a statement about this digest.
    Statement { digest: String, predicate: Rc<str> },
}

impl<'a> Attachments<'a> {
    /// Makes no calls yet. The signers of an artifact are tried one after the other, until one has signed it.
    pub(crate) fn new(settings: &'a AttachedArtifacts, host: &'a dyn Host, verifier: &'a Verifier<'a>) -> Self {
        let (found, predicates) = (BTreeMap::new(), RefCell::default());
        Self { settings, host, verifier, every_signer: false, found, predicates }
    }

    /// The same, but every signer of an artifact is returned. If one signer can't be checked, that is a failure.
    pub(crate) fn with_every_signer(
        settings: &'a AttachedArtifacts,
        host: &'a dyn Host,
        verifier: &'a Verifier<'a>,
    ) -> Self {
        Self { every_signer: is_on(Remedy::AskEverySigner), ..Self::new(settings, host, verifier) }
    }

    /// Everything that there is about a digest of an image.
    pub(crate) fn beside(&mut self, image: &ImageReference, digest: &str) -> Rc<Vec<Found<'a>>> {
        let at = image.at(digest);
        if let Some(found) = self.found.get(&at) {
            return Rc::clone(found);
        }
        let found = self.repository(image).and_then(|repository| match &self.settings.artifact {
            Artifact::Tag(suffix) => self.artifacts(&repository, digest, Some(suffix), ""),
            Artifact::Type(media_type) => self.artifacts(&repository, digest, None, media_type),
            Artifact::Statement(predicate_type) => Ok(self.statements(&repository, digest, predicate_type)),
        });
        let found = Rc::new(found.unwrap_or_else(|failure| vec![Found::Failure(not_looked_up(failure))]));
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

    /// The artifacts beside a digest: at its tag with a suffix, or the referrers of a type.
    fn artifacts(
        &self,
        repository: &ImageReference,
        digest: &str,
        suffix: Option<&str>,
        media_type: &str,
    ) -> Result<Vec<Found<'a>>, HostFailure> {
        let found = artifacts_beside(self.host, repository, digest, suffix, |kind| kind == media_type)?;
        // One that isn't read could say that the image is bad.
        if found.len() > MAX_ARTIFACTS {
            let (of, number) = (repository.at(digest), found.len());
            return Err(HostFailure::Malformed(format!(
                "{of} has {number} artifacts of one type, {MAX_ARTIFACTS} are the most"
            )));
        }
        Ok(found.iter().map(|artifact| self.load(repository, artifact)).collect())
    }

    /// Verifies an artifact, and reads it.
    fn load(&self, repository: &ImageReference, digest: &str) -> Found<'a> {
        let artifact = repository.at(digest);
        let mut signers = Vec::new();
        if !self.settings.allow_unsigned && is_on(Remedy::VerifySignature) {
            match self.signers(repository, digest) {
                Ok(Ok(found)) => signers = found,
                Ok(Err(unsigned)) => return Found::Unsigned(artifact, unsigned),
                Err(failure) => return Found::Failure(failure),
            }
        }
        match self.host.artifact(&artifact) {
            Ok(document) => Found::Trusted(Trusted { artifact, signers, document: Signed::Artifact(document) }),
            Err(failure) => Found::Failure(not_looked_up(failure)),
        }
    }

    /// The attestors who signed an artifact, all of them or the first, or why none did. An attestor of several identities counts once
    /// for each.
    fn signers(
        &self,
        repository: &ImageReference,
        digest: &str,
    ) -> Result<Result<Vec<&'a Attestor>, Unsigned>, Failure> {
        let (mut signers, mut unknown) = (Vec::new(), None);
        let mut refused: Option<Unsigned> = None;
        for attestor in &self.settings.attestors {
            match self.verifier.signed(repository, digest, &[attestor]) {
                Ok(Verdict::ByHost | Verdict::ByEvidence) => {
                    signers.push(attestor);
                    if !self.every_signer {
                        return Ok(Ok(signers));
                    }
                }
                // Evidence that can't be looked up may say that they signed it.
                Ok(Verdict::Unsigned(Refusal { evidence: Err(failure), .. })) if failure.is_outage() => {
                    unknown = unknown.or(Some(not_looked_up(failure)));
                }
                Ok(Verdict::Unsigned(refusal)) => {
                    let unsigned = Unsigned::of(&refusal, self.settings.attestors.clone());
                    refused = Some(match refused {
                        Some(before) => before.or(unsigned),
                        None => unsigned,
                    });
                }
                Err(failure) => unknown = unknown.or(Some(failure)),
            }
        }
        match (unknown, refused) {
            // An attestor that couldn't be checked may have signed it too.
            (Some(failure), _) => Err(failure),
            (None, Some(unsigned)) if signers.is_empty() => Ok(Err(unsigned)),
            _ => Ok(Ok(signers)),
        }
    }

    /// The statements of a predicate type about a digest: those in the cluster, and those beside it. Where the cluster has one, the
    /// registry isn't asked, unless every word counts.
    fn statements(&self, repository: &ImageReference, digest: &str, predicate_type: &str) -> Vec<Found<'a>> {
        let (mut found, mut reasons) = (Vec::new(), Vec::new());
        let mut is_known = false;
        let mut hold = |pieces: Result<Rc<Vec<Piece>>, Failure>| {
            match pieces {
                Ok(pieces) => {
                    for piece in pieces.iter().rev().filter(|piece| piece.may_be_of(predicate_type)) {
                        match self.statement(piece, digest, predicate_type) {
                            Ok(Ok(trusted)) => {
                                found.push(Found::Trusted(trusted));
                                is_known = true;
                            }
                            Ok(Err(more)) => more.into_iter().for_each(|why| {
                                if !reasons.contains(&why) {
                                    reasons.push(why);
                                }
                            }),
                            Err(failure) => found.push(Found::Failure(failure)),
                        }
                    }
                }
                Err(failure) => found.push(Found::Failure(failure)),
            }
            is_known
        };
        if !hold(self.verifier.in_cluster(digest)) || self.every_signer {
            let beside = self.verifier.in_registry(repository, digest, None, Some(predicate_type));
            hold(beside.map_err(not_looked_up));
        }
        if found.is_empty() && !reasons.is_empty() {
            let at = [ATTESTATION_OF, &repository.at(digest)].concat();
            found.push(Found::Unsigned(at, Unsigned::by_evidence(reasons, self.settings.attestors.clone())));
        }
        found
    }

    /// The statement in a piece, or why no attestor's signature counts.
    fn statement(
        &self,
        piece: &Piece,
        digest: &str,
        predicate_type: &str,
    ) -> Result<Result<Trusted<'a>, Vec<String>>, Failure> {
        let (mut signers, mut reasons) = (Vec::new(), Vec::new());
        let (mut signed, mut unknown) = (None, None);
        for attestor in &self.settings.attestors {
            match self.verifier.statement(piece, digest, attestor, predicate_type) {
                Ok(statement) => {
                    signers.push(attestor);
                    signed = Some(statement);
                    if !self.every_signer {
                        break;
                    }
                }
                Err(Refused::Because(why)) => reasons.push(why),
                Err(Refused::Failure(failure)) => unknown = unknown.or(Some(failure)),
            }
        }
        match (signed, unknown) {
            // An attestor that couldn't be checked may have signed it too.
            (Some(_), Some(failure)) if self.every_signer => Err(failure),
            (Some(statement), _) => {
                let predicate = self.predicate(piece, &statement.json);
                let document = Signed::Statement { digest: digest.to_owned(), predicate };
                Ok(Ok(Trusted { artifact: piece.place().to_owned(), signers, document }))
            }
            (None, Some(failure)) => Err(failure),
            (None, None) => Ok(Err(reasons)),
        }
    }

    fn predicate(&self, piece: &Piece, statement: &Value) -> Rc<str> {
        let mut predicates = self.predicates.borrow_mut();
        let text = || statement.get("predicate").map(Value::to_string).unwrap_or_default().into();
        Rc::clone(predicates.entry(piece.place().to_owned()).or_insert_with(text))
    }
}

impl Trusted<'_> {
    /// The document, and what it is about.
    ///
    /// # Errors
    /// It is no artifact, or not the requested one.
    pub(crate) fn read(&self) -> Result<Content<'_>, HostFailure> {
        let document = match &self.document {
            Signed::Statement { digest, predicate } => {
                return Ok(Content { subject: Some(digest.as_str().into()), created: None, json: predicate });
            }
            Signed::Artifact(document) => document,
        };
        let Answer { manifest, digest, config } = document.read()?;
        if self.artifact.rsplit_once('@').map(|(_, digest)| digest) != Some(digest.as_str()) {
            return Err(HostFailure::Malformed(format!(
                "asked for {}, the answer is of another digest",
                self.artifact
            )));
        }
        let all = manifest.annotations.unwrap_or_default();
        let created = all.into_iter().find_map(|(key, value)| value.filter(|_| key.as_str() == CREATED));
        Ok(Content { subject: manifest.subject.and_then(|subject| subject.digest), created, json: config.get() })
    }

    /// Whether it is a statement, whose text is kept. An artifact can be asked for again.
    pub(crate) fn statement(&self) -> Option<&Rc<str>> {
        match &self.document {
            Signed::Statement { predicate, .. } => Some(predicate),
            Signed::Artifact(_) => None,
        }
    }
}

/// The annotation of a manifest that says when it was made.
const CREATED: &str = "org.opencontainers.image.created";

/// A document about an image.
pub(crate) struct Content<'a> {
    /// The digest that is signed with it.
    pub subject: Option<JsonString<'a>>,
    /// When it was made, as its manifest says.
    pub created: Option<JsonString<'a>>,
    /// The document.
    pub json: &'a str,
}

/// An artifact's manifest, digest and configuration.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    manifest: ArtifactManifest<'a>,
    #[serde(borrow)]
    digest: JsonString<'a>,
    #[serde(borrow)]
    config: &'a RawValue,
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

fn not_looked_up(failure: HostFailure) -> Failure {
    Failure { asked: Asked::Registry, why: failure.to_string(), failure }
}
