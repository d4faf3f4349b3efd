//! The verifier of one request: it asks for everything once.

use crate::artifact::Artifact;
use crate::failure::Failure;
use crate::piece::{Piece, Refused, Wanted};
use crate::referrers::artifacts_beside;
use image_admission_cel::expression::Time;
use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::dsse::Statement;
use image_admission_evidence::media_type::{ARTIFACT_TYPE, DSSE_TYPES, IN_LAYERS};
use image_admission_evidence::notary::Revoked;
use image_admission_evidence::sigstore::TrustRoot;
use image_admission_host::{Host, HostFailure, Untrusted};
use image_admission_image::ImageReference;
use image_admission_settings::{Attestor, Evidence, Identity, KeyReference, TextSource};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// The most pieces beside an artifact that are read, the newest. Whoever may push chooses how many there are.
const MAX_PIECES: usize = 16;

/// What the host verified: an artifact at its digest, an identity, and the annotations of the signature.
type AskedOfHost = (String, Identity, BTreeMap<String, String>);

/// What was looked for in a registry: an artifact at its digest, and the tag suffix and the predicate type of what is beside it.
type AskedOfRegistry = (String, Option<String>, Option<String>);

/// What was asked before, and the answers.
type Known<K, V, E> = RefCell<BTreeMap<K, Result<V, E>>>;

/// Verifies who vouches for artifacts, for one request.
pub struct Verifier<'a> {
    pub(crate) settings: &'a Evidence,
    pub(crate) host: &'a dyn Host,
    pub(crate) now: Timestamp,
    pub(crate) time: Time,
    /// The work that was done for pieces that don't count.
    pub(crate) in_vain: Cell<u64>,
    pub(crate) texts: Known<KeyReference, String, Failure>,
    pub(crate) trust_roots: Known<TextSource, Rc<TrustRoot>, Failure>,
    pub(crate) certificates: Known<TextSource, Rc<Vec<Certificate>>, Failure>,
    /// The cluster's list of revoked certificates.
    pub(crate) revoked: OnceCell<Result<Rc<Vec<Revoked>>, Failure>>,
    /// By digest, the evidence in the cluster.
    pub(crate) objects: Known<String, Rc<Vec<Piece>>, Failure>,
    beside: Known<AskedOfRegistry, Rc<Vec<Piece>>, HostFailure>,
    /// By `repository@digest`, what was read beside other artifacts.
    pieces: RefCell<BTreeMap<String, Piece>>,
    calls: Known<AskedOfHost, (), HostFailure>,
}

/// Whether an attestor signed an artifact.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// The host says so.
    ByHost,
    /// A piece of evidence says so.
    ByEvidence,
    /// Nobody says so.
    Unsigned(Refusal),
}

/// Why nobody says that an attestor signed an artifact.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// What the host says.
    pub why: Untrusted,
    /// Why no piece of evidence counts, or why the registry's pieces can't be looked up.
    pub evidence: Result<Vec<String>, HostFailure>,
}

impl fmt::Debug for Verifier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("settings", &self.settings).field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Verifier<'a> {
    /// One that has asked nothing yet. `settings` say where evidence is and what it is verified with, `now` is the time of the
    /// request.
    #[must_use]
    pub fn new(settings: &'a Evidence, host: &'a dyn Host, now: Timestamp) -> Self {
        Self {
            settings,
            host,
            now,
            time: Time::default(),
            in_vain: Cell::new(0),
            texts: RefCell::default(),
            trust_roots: RefCell::default(),
            certificates: RefCell::default(),
            revoked: OnceCell::new(),
            objects: RefCell::default(),
            beside: RefCell::default(),
            pieces: RefCell::default(),
            calls: RefCell::default(),
        }
    }

    /// The time that expressions about certificates took, which counts with that of other expressions.
    #[must_use]
    pub fn time(&self) -> &Time {
        &self.time
    }

    /// Whether one of these attestors signed `repository@digest`. One that says it is enough: an object of the cluster, the host, or a
    /// piece of evidence in the registry, in this order. The last is looked up only if the host found nothing, or failed.
    ///
    /// # Errors
    /// None says it, and one of them has no answer.
    pub fn signed(
        &self,
        reference: &ImageReference,
        digest: &str,
        attestors: &[&Attestor],
    ) -> Result<Verdict, Failure> {
        // Whoever can write objects, push what the host can't read, or keep either from answering, keeps out nobody who has a
        // signature elsewhere.
        let hold = |pieces: &[Piece]| self.signed_in(pieces, digest, attestors);
        let in_cluster = self.in_cluster(digest).and_then(|pieces| hold(&pieces));
        if matches!(in_cluster, Ok(Ok(_))) {
            return Ok(Verdict::ByEvidence);
        }
        let by_host = match self.ask_host(reference, digest, attestors) {
            Ok(None) => return Ok(Verdict::ByHost),
            Ok(Some(why)) => Ok(why),
            Err(failure) => Err(failure),
        };
        let in_registry = self.in_registry(reference, digest, None, None).map(|pieces| hold(&pieces));
        if matches!(in_registry, Ok(Ok(Ok(_)))) {
            return Ok(Verdict::ByEvidence);
        }
        let why = by_host?;
        let mut reasons = in_cluster?.err().unwrap_or_default();
        let evidence = match in_registry {
            Err(failure) => Err(failure),
            Ok(held) => {
                reasons.extend(held?.err().unwrap_or_default());
                Ok(reasons)
            }
        };
        Ok(Verdict::Unsigned(Refusal { why, evidence }))
    }

    /// The statement of a predicate type about a digest in a piece, if an attestor signed it.
    ///
    /// # Errors
    /// They didn't, or that is unknown.
    pub fn statement(
        &self,
        piece: &Piece,
        digest: &str,
        attestor: &Attestor,
        predicate_type: &str,
    ) -> Result<Statement, Refused> {
        let held = self.hold(piece, digest, attestor, Wanted::Statement(predicate_type))?;
        held.ok_or_else(|| Refused::Because("it is no statement".to_owned()))
    }

    /// Whether one of these attestors signed one of these pieces, the newest first; otherwise why none of them counts, one reason for
    /// each. `attach` adds new pieces at the end; other tools sort them.
    fn signed_in(
        &self,
        pieces: &[Piece],
        digest: &str,
        attestors: &[&Attestor],
    ) -> Result<Result<(), Vec<String>>, Failure> {
        let mut reasons = Vec::new();
        let mut failure: Option<Failure> = None;
        for (piece, attestor) in pieces.iter().rev().flat_map(|piece| attestors.iter().map(move |own| (piece, own))) {
            match self.hold(piece, digest, attestor, Wanted::Signature) {
                Ok(_) => return Ok(Ok(())),
                Err(Refused::Because(why)) if reasons.contains(&why) => {}
                Err(Refused::Because(why)) => reasons.push(why),
                // If one failure is no outage, the result is none.
                Err(Refused::Failure(why)) if failure.as_ref().is_none_or(Failure::is_outage) => failure = Some(why),
                Err(Refused::Failure(_)) => {}
            }
        }
        failure.map_or(Ok(Err(reasons)), Err)
    }

    /// Why the host knows no signature of these attestors; none if it knows one. Hosts know not all identities.
    fn ask_host(
        &self,
        reference: &ImageReference,
        digest: &str,
        attestors: &[&Attestor],
    ) -> Result<Option<Untrusted>, Failure> {
        let artifact = reference.at(digest);
        let mut refused = Untrusted::Unsigned;
        let mut failure = None;
        let known = attestors.iter().filter(|own| own.is_known_to_hosts());
        for (position, Attestor { identity, annotations, .. }) in known.enumerate() {
            let identity = match identity {
                Identity::KeyInCluster(reference) => Identity::Key(self.key(reference)?),
                identity => identity.clone(),
            };
            match self.call(&artifact, identity, annotations) {
                Ok(()) => return Ok(None),
                Err(HostFailure::NotTrusted(why)) => refused = if position == 0 { why } else { refused.min(why) },
                // If one failure is no outage, the result is none.
                Err(other) if failure.as_ref().is_none_or(HostFailure::is_outage) => failure = Some(other),
                Err(_) => {}
            }
        }
        match failure {
            Some(failure) => {
                Err(Failure::registry(&format!("the signatures of {artifact} can't be verified"), failure))
            }
            None => Ok(Some(refused)),
        }
    }

    fn call(
        &self,
        artifact: &str,
        identity: Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), HostFailure> {
        let asked = (artifact.to_owned(), identity, annotations.clone());
        remembered(&self.calls, &asked, || match self.host.verify(artifact, &asked.1, annotations) {
            // A signature of another digest covers another image.
            Ok(digest) if artifact.split_once('@').is_some_and(|(_, own)| own == digest) => Ok(()),
            Ok(_) => Err(HostFailure::Malformed("the host verified another digest".to_owned())),
            Err(failure) => Err(failure),
        })
    }

    /// The pieces beside `repository@digest` in its registry: those that `image-admission attach` pushed, or what is at the tag with a
    /// suffix. For a predicate type, envelopes that are listed as such, or under that type, are pieces too.
    ///
    /// # Errors
    /// It is unknown what is listed.
    pub fn in_registry(
        &self,
        reference: &ImageReference,
        digest: &str,
        tag_suffix: Option<&str>,
        predicate_type: Option<&str>,
    ) -> Result<Rc<Vec<Piece>>, HostFailure> {
        let key = (reference.at(digest), tag_suffix.map(str::to_owned), predicate_type.map(str::to_owned));
        remembered(&self.beside, &key, || self.look(reference, digest, tag_suffix, predicate_type).map(Rc::new))
    }

    fn look(
        &self,
        reference: &ImageReference,
        digest: &str,
        tag_suffix: Option<&str>,
        predicate_type: Option<&str>,
    ) -> Result<Vec<Piece>, HostFailure> {
        let mut layers = None;
        let found = artifacts_beside(self.host, reference, digest, tag_suffix, |kind| {
            let is_envelope = predicate_type.is_some_and(|own| kind == own || DSSE_TYPES.contains(&kind));
            if IN_LAYERS.iter().any(|own| kind.starts_with(own)) {
                layers = Some(kind.to_owned());
            }
            kind == ARTIFACT_TYPE || is_envelope
        })?;
        let mut pieces = Vec::new();
        for digest in found.iter().skip(found.len().saturating_sub(MAX_PIECES)) {
            let artifact = reference.at(digest);
            let known = self.pieces.borrow().get(&artifact).cloned();
            let piece = known.unwrap_or_else(|| match Artifact::read(self.host, &artifact, digest) {
                Ok(Artifact { kind, document, .. }) => {
                    Piece::read(artifact.clone(), &kind.unwrap_or_default(), &document)
                }
                Err(failure) => Piece::failed(artifact.clone(), failure),
            });
            self.pieces.borrow_mut().insert(artifact, piece.clone());
            pieces.push(piece);
        }
        // Where something readable is, its reason is the one that counts.
        if let Some(kind) = layers.filter(|_| pieces.is_empty()) {
            let why = format!(
                "it is a layer, which hosts don't hand out: `image-admission attach {}` makes it readable",
                reference.at(digest)
            );
            pieces.push(Piece::unreadable(format!("what was pushed as `{}`", cut(&kind, 100)), why));
        }
        Ok(pieces)
    }
}

/// The answer of before, or a new one that is kept.
pub(crate) fn remembered<K, Q, V, E>(
    known: &Known<K, V, E>,
    asked: &Q,
    answer: impl FnOnce() -> Result<V, E>,
) -> Result<V, E>
where
    K: Ord + std::borrow::Borrow<Q>,
    Q: Ord + ToOwned<Owned = K> + ?Sized,
    V: Clone,
    E: Clone,
{
    if let Some(known) = known.borrow().get(asked) {
        return known.clone();
    }
    let answer = answer();
    known.borrow_mut().insert(asked.to_owned(), answer.clone());
    answer
}
