//! Attestations: signed documents beside an image in its registry.
//!
//! A statement in an envelope or a bundle is evidence, which `attestors` verifies. Any other document is the configuration of an
//! artifact, since the host returns no layers. It counts only if the artifact itself is signed, and if its manifest has its type and
//! a digest of this image. Otherwise a signed artifact that was copied to another image, or has another type in an index, would
//! verify as well.

use super::signatures::{Signatures, attestors};
use image_admission_attestors::artifact::Artifact;
use image_admission_attestors::referrers::artifacts_beside;
use image_admission_attestors::{Piece, Refused, Verdict};
use image_admission_cel::expression::EvaluationError;
use image_admission_host::HostFailure;
use image_admission_image::ImageReference;
use image_admission_judgement::reason::Unsigned;
use image_admission_judgement::resolve::{Asked, find_image};
use image_admission_settings::{Attestation, AttestationKind, Attestor, Platforms, VerificationPolicy};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::spelling;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// The most artifacts of one type beside one image: the pusher chooses how many there are.
const MAX_ARTIFACTS: usize = 16;

/// The message for a document that isn't the configuration.
const DOCUMENT_IN_LAYER: &str = "its configuration is empty: the document may be a layer, as `oras attach` writes it, which hosts don't hand out; push it as the configuration (`oras push --config`)";

/// The attestations that one policy uses.
pub(super) struct Attestations<'a> {
    policy: &'a VerificationPolicy,
    /// The names of fields that its expressions may read.
    words: BTreeSet<String>,
    /// The artifacts that were found beside a digest, `repository@digest`, for an attestation.
    found: BTreeMap<(String, String), Result<Vec<Found>, EvaluationError>>,
    /// By image and attestation, the contents of verified documents: one for each platform, or one for all. Each attestor may have
    /// signed others.
    payloads: BTreeMap<(String, String), Vec<Vec<Json>>>,
    verified: BTreeMap<String, BTreeSet<String>>,
    reasons: BTreeSet<String>,
}

/// An artifact beside an image.
#[derive(Debug, Clone)]
struct Found {
    /// `repository@digest`
    artifact: String,
    digest: String,
    /// Its contents, or why they can't be read: the wanted artifact may be another one.
    content: Result<Artifact, HostFailure>,
}

impl<'a> Attestations<'a> {
    pub(super) fn new(policy: &'a VerificationPolicy, words: BTreeSet<String>) -> Self {
        Self {
            policy,
            words,
            found: BTreeMap::new(),
            payloads: BTreeMap::new(),
            verified: BTreeMap::new(),
            reasons: BTreeSet::new(),
        }
    }

    /// Whether an attestor signed an attestation of an image: one about the whole image, or one about each of its platforms.
    pub(super) fn verify(
        &mut self,
        signatures: &mut Signatures<'a>,
        image: &str,
        attestation: &str,
        attestor: &str,
    ) -> Result<bool, EvaluationError> {
        let policy = self.policy;
        let Some(wanted) = policy.attestations.iter().find(|own| own.name == attestation) else {
            return Err(format!("there is no attestation `{}`", cut(attestation, 64)).into());
        };
        let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
        let repository = match &wanted.repository {
            Some(other) => other.of(&reference).map_err(|error| {
                format!("`{}` is no repository for attestations of this image: {error}", other.as_str())
            })?,
            None => reference.clone(),
        };
        let digest = signatures.digest(&reference)?;
        let mut reasons = Vec::new();
        let whole = self.verify_digest(signatures, &repository, (&digest, &digest), wanted, attestor, &mut reasons)?;
        let documents = match whole {
            Some(document) => Some(vec![document]),
            None => {
                let of = (&reference, &repository);
                self.verify_platforms(signatures, of, &digest, wanted, attestor, &mut reasons)?
            }
        };
        match documents {
            Some(documents) => {
                self.verified.entry(image.to_owned()).or_default().insert(format!("{attestor} ({attestation})"));
                let payloads = self.payloads.entry((image.to_owned(), attestation.to_owned())).or_default();
                if !payloads.contains(&documents) {
                    payloads.push(documents);
                }
                Ok(true)
            }
            None => {
                if reasons.is_empty() {
                    let stem = digest.replace(':', "-");
                    let suffix = wanted.tag_suffix.as_ref().map(|suffix| format!(".{suffix}")).unwrap_or_default();
                    reasons.push(format!("there is none at {}:{stem}{suffix}", repository.name()));
                }
                let why = reasons.join("; ");
                let image = cut(image, 256);
                self.reasons
                    .insert(format!("'{image}': no attestation {attestation} of {attestor}: {}", cut(&why, 400)));
                Ok(false)
            }
        }
    }

    /// One document for each platform of an index, in the repository that holds them; none if one platform has none.
    fn verify_platforms(
        &mut self,
        signatures: &mut Signatures<'a>,
        (reference, repository): (&ImageReference, &ImageReference),
        digest: &str,
        wanted: &Attestation,
        attestor: &str,
        reasons: &mut Vec<String>,
    ) -> Result<Option<Vec<Json>>, EvaluationError> {
        // All platforms are checked, whichever are scanned: any of them may run.
        let unproven_indexes = signatures.unproven_indexes();
        let asked = Asked {
            platforms: &Platforms::All,
            unproven_indexes,
            is_verified: true,
            is_vouched_for: false,
            is_pinned: false,
        };
        let image = find_image(reference, digest, &asked, signatures.host());
        let image = image.map_err(|unresolved| signatures.unresolved(reference, &unresolved))?;
        let mut documents = Vec::new();
        for platform in &image.platforms {
            if platform.digest == digest || platform.unjudgeable.is_some() {
                return Ok(None);
            }
            let at = (platform.digest.as_str(), digest);
            match self.verify_digest(signatures, repository, at, wanted, attestor, reasons)? {
                Some(document) => documents.push(document),
                None => return Ok(None),
            }
        }
        Ok(Some(documents))
    }

    /// The newest document about a digest that the attestor signed. It is beside that digest in the repository, or beside the
    /// digest's index.
    fn verify_digest(
        &mut self,
        signatures: &Signatures<'a>,
        repository: &ImageReference,
        at: (&str, &str),
        wanted: &Attestation,
        attestor: &str,
        reasons: &mut Vec<String>,
    ) -> Result<Option<Json>, EvaluationError> {
        let mut search = Search { document: None, reasons, failure: None };
        match &wanted.kind {
            AttestationKind::InToto(predicate) => {
                let attestors = attestors(self.policy, attestor)?;
                self.find_statement(signatures, repository, at, (wanted, predicate), &attestors, &mut search);
            }
            AttestationKind::Referrer(kind) => {
                self.find_artifact(signatures, repository, at, (wanted, kind), attestor, &mut search);
            }
        }
        match search {
            Search { document: None, failure: Some(failure), .. } => Err(failure),
            Search { document, .. } => Ok(document),
        }
    }

    /// A statement: evidence in the cluster, or beside the digest or its index. The registry is asked only if the cluster has none.
    fn find_statement(
        &self,
        signatures: &Signatures<'a>,
        repository: &ImageReference,
        (digest, index): (&str, &str),
        (wanted, predicate): (&Attestation, &str),
        attestors: &[&Attestor],
        search: &mut Search<'_>,
    ) {
        let verifier = signatures.verifier();
        let hold = |pieces: &[Piece], search: &mut Search<'_>| {
            for (piece, own) in pieces.iter().rev().flat_map(|piece| attestors.iter().map(move |own| (piece, own))) {
                match verifier.statement(piece, digest, own, predicate) {
                    Ok(statement) => {
                        let place = |why| format!("{} {why}", piece.place());
                        search.note(self.unambiguous(statement.json).map_err(place));
                    }
                    Err(Refused::Because(why)) => search.note(Err(why)),
                    Err(Refused::Failure(failure)) => search.fail(signatures.unknown(repository.host(), failure)),
                }
                if search.document.is_some() {
                    return true;
                }
            }
            false
        };
        match verifier.in_cluster(digest) {
            Ok(pieces) if hold(&pieces, search) => return,
            Ok(_) => {}
            // Whoever keeps the cluster from answering keeps out nobody who has an attestation in the registry.
            Err(failure) => search.fail(signatures.unknown(repository.host(), failure)),
        }
        let mut found = Vec::new();
        let own = (digest != index).then_some(digest);
        for place in std::iter::once(index).chain(own) {
            match verifier.in_registry(repository, place, wanted.tag_suffix.as_deref(), Some(predicate)) {
                Ok(pieces) => found.extend(pieces.iter().cloned()),
                // The other one may have what is wanted.
                Err(failure) => search.fail(not_looked_up(signatures, repository, place, &failure)),
            }
        }
        hold(&found, search);
    }

    /// An artifact that is a document, beside the digest or its index.
    fn find_artifact(
        &mut self,
        signatures: &Signatures<'a>,
        repository: &ImageReference,
        (digest, index): (&str, &str),
        (wanted, kind): (&Attestation, &str),
        attestor: &str,
        search: &mut Search<'_>,
    ) {
        let mut found = Vec::new();
        let own = (digest != index).then_some(digest);
        for place in std::iter::once(index).chain(own) {
            match self.beside(signatures, repository, place, wanted, kind) {
                Ok(more) => found.extend(more),
                // The other one may have what is wanted.
                Err(why) => search.fail(why),
            }
        }
        // New artifacts are added at the end.
        for found in found.iter().rev() {
            match self.judge_artifact(signatures, repository, found, kind, digest, attestor) {
                Ok(judged) => search.note(judged),
                Err(why) => search.fail(why),
            }
            if search.document.is_some() {
                return;
            }
        }
    }

    /// A document, if parsers agree about the fields that expressions may read.
    fn unambiguous(&self, document: Json) -> Result<Json, String> {
        match spelling::ambiguous(&document, &self.words) {
            Some(ambiguous) => Err(format!("is refused: {ambiguous}")),
            None => Ok(document),
        }
    }

    /// The contents of an artifact that is signed as a whole: this includes its manifest, with its type and its subject. Otherwise why
    /// it doesn't count.
    fn judge_artifact(
        &self,
        signatures: &Signatures<'a>,
        repository: &ImageReference,
        found: &Found,
        kind: &str,
        digest: &str,
        attestor: &str,
    ) -> Result<Result<Json, String>, EvaluationError> {
        let because = |why: &str| Ok(Err(format!("{} {why}", found.artifact)));
        let content = match &found.content {
            Ok(content) => content,
            Err(failure @ HostFailure::Malformed(_)) => return because(&format!("can't be read: {failure}")),
            Err(failure) => {
                let why = format!("{} can't be read: {failure}", found.artifact);
                return Err(signatures.registry_failed(repository.host(), failure, why));
            }
        };
        if content.kind.as_deref() != Some(kind) {
            let own = content
                .kind
                .as_deref()
                .map_or_else(|| "has no type".to_owned(), |own| format!("is of type `{}`", cut(own, 100)));
            return because(&format!("{own}, not `{kind}`"));
        }
        if content.subject.as_deref() != Some(digest) {
            return because("doesn't name this image as its subject");
        }
        if let Some(ambiguous) = spelling::ambiguous(&content.document, &self.words) {
            return because(&format!("is refused: {ambiguous}"));
        }
        match signatures.verify_artifact(self.policy, repository, &found.digest, attestor)? {
            Verdict::ByHost | Verdict::ByEvidence => Ok(Ok(content.document.clone())),
            Verdict::Unsigned(refusal) => {
                let asked_for = self.policy.attestors.iter().filter(|own| own.name == attestor).cloned().collect();
                because(&format!("is {}", Unsigned::of(&refusal, asked_for)))
            }
        }
    }

    /// The artifacts beside a digest for an attestation, in the order of the registry.
    fn beside(
        &mut self,
        signatures: &Signatures<'a>,
        repository: &ImageReference,
        digest: &str,
        wanted: &Attestation,
        kind: &str,
    ) -> Result<Vec<Found>, EvaluationError> {
        let key = (repository.at(digest), wanted.name.clone());
        if let Some(found) = self.found.get(&key) {
            return found.clone();
        }
        let found = look(signatures, repository, digest, wanted, kind)
            .map_err(|failure| not_looked_up(signatures, repository, digest, &failure));
        self.found.insert(key, found.clone());
        found
    }

    /// The contents of a verified attestation.
    pub(super) fn payload(&self, image: &str, attestation: &str) -> Result<Json, String> {
        match self.payloads.get(&(image.to_owned(), attestation.to_owned())).map(Vec::as_slice) {
            Some([documents]) => match documents.as_slice() {
                [document] if document.as_object().is_some_and(serde_json::Map::is_empty) => {
                    Err(DOCUMENT_IN_LAYER.to_owned())
                }
                [document] => Ok(document.clone()),
                several => Err(format!(
                    "the image has an attestation for each of its {} platforms, and none for all of them",
                    several.len()
                )),
            },
            Some(_) => Err("the attestors vouch for different documents; ask for one attestor's alone".to_owned()),
            None => Err("it was not verified before".to_owned()),
        }
    }

    pub(super) fn add_verified(&self, verified: &mut BTreeMap<String, BTreeSet<String>>) {
        for (image, by) in &self.verified {
            verified.entry(image.clone()).or_default().extend(by.iter().cloned());
        }
    }

    pub(super) fn reasons(&self) -> impl Iterator<Item = String> {
        self.reasons.iter().cloned()
    }
}

/// What is found for one attestation of a digest.
struct Search<'r> {
    document: Option<Json>,
    reasons: &'r mut Vec<String>,
    failure: Option<EvaluationError>,
}

impl Search<'_> {
    /// The document, or why one doesn't count.
    fn note(&mut self, judged: Result<Json, String>) {
        match judged {
            Ok(document) => self.document = Some(document),
            Err(why) if self.reasons.contains(&why) => {}
            Err(why) => self.reasons.push(why),
        }
    }

    /// Something is unknown. If one failure is no outage, the result is none.
    fn fail(&mut self, why: EvaluationError) {
        if self.failure.as_ref().is_none_or(EvaluationError::is_outage) {
            self.failure = Some(why);
        }
    }
}

/// The error of artifacts beside a digest that can't be looked up.
fn not_looked_up(
    signatures: &Signatures<'_>,
    repository: &ImageReference,
    digest: &str,
    failure: &HostFailure,
) -> EvaluationError {
    let why = format!("the attestations of {} can't be looked up: {failure}", repository.at(digest));
    signatures.registry_failed(repository.host(), failure, why)
}

/// The artifacts of a type beside a digest.
fn look(
    signatures: &Signatures<'_>,
    repository: &ImageReference,
    digest: &str,
    wanted: &Attestation,
    kind: &str,
) -> Result<Vec<Found>, HostFailure> {
    let suffix = wanted.tag_suffix.as_deref();
    let mut found = artifacts_beside(signatures.host(), repository, digest, suffix, |own| own == kind)?;
    // If an artifact is added every day, the newest are at the end.
    let artifacts = found.split_off(found.len().saturating_sub(MAX_ARTIFACTS));
    let read = |digest: &String| {
        let artifact = repository.at(digest);
        Found { content: Artifact::read(signatures.host(), &artifact, digest), artifact, digest: digest.clone() }
    };
    Ok(artifacts.iter().map(read).collect())
}
