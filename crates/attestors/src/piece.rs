//! A piece of evidence: a signature or an attestation that is verified here, whoever brought it.
//!
//! It is the configuration of an artifact beside the image, since hosts hand out no layers, or it stands in an object of the cluster
//! that is named by the digest. Neither place is believed: a piece counts if an attestor signed it, and if it is about the digest.

use crate::failure::Failure;
use crate::identity;
use crate::verifier::Verifier;
use image_admission_evidence::dsse::{Envelope, EnvelopeError, Statement, decode_base64};
use image_admission_evidence::key::{PublicKey, work};
use image_admission_evidence::media_type::{COSE_CONFIGURATION, SIGSTORE_BUNDLE};
use image_admission_evidence::notary::{self, NotaryError, TrustedIdentity};
use image_admission_evidence::sigstore::{Bundle, BundleError, Claims, Signed, TrustRoot};
use image_admission_host::HostFailure;
use image_admission_settings::{Attestor, EvidenceObject, Identity, Notary, TrustStore};
use image_admission_untrusted::memory::read_value;
use image_admission_untrusted::message::cut;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::rc::Rc;

/// The most work that a request does for pieces that don't count: that of 768 verifications by keys of P-256. Whoever may write
/// evidence chooses how much each piece takes. Fifty images with a piece of somebody else's each take half of it.
const MAX_IN_VAIN: u64 = 4 * 768;

/// The predicate type of cosign's signatures in bundles.
const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// A piece of evidence, not verified.
#[derive(Debug, Clone)]
pub struct Piece {
    /// What messages call it: `repository@digest`, or `evidence[0] of ImageEvidence sha256-<hex>`.
    place: String,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Bundle(Rc<Known<Bundle, Result<Rc<Signed>, BundleError>>>),
    Envelope(Rc<Known<Envelope, Result<Rc<Statement>, EnvelopeError>>>),
    Notary(Rc<notary::Envelope>),
    /// Why it can't be read.
    Unreadable(String),
    /// Why it couldn't be looked up.
    Failed(HostFailure),
}

/// A bundle or an envelope, and what it proves by each key and trust root that it was verified with. Attestors may be many, and so
/// may the digests that it is about.
#[derive(Debug)]
struct Known<P, V> {
    piece: P,
    /// What it says of itself. Nothing proves that.
    claims: Claims,
    proven: RefCell<Vec<(By, V)>>,
}

/// The key, PEM, and the trust root.
type By = (Option<String>, Option<Rc<TrustRoot>>);

impl<P, V: Clone> Known<P, V> {
    fn new(piece: P, claims: Claims) -> Self {
        Self { piece, claims, proven: RefCell::default() }
    }

    /// Whether it may be about this digest. What can't be read isn't about another.
    fn may_be_about(&self, digest: &str) -> bool {
        self.claims.subjects.is_empty() || self.claims.subjects.iter().any(|subject| subject == digest)
    }

    /// What it proves of each digest that it says it is about.
    ///
    /// # Errors
    /// That isn't known yet, and there is no room for the work.
    fn prove(&self, by: By, room: Result<(), Failure>, prove: impl FnOnce(&P) -> V) -> Result<V, Failure> {
        let is_by = |(key, root): &By| *key == by.0 && root.as_ref().map(Rc::as_ptr) == by.1.as_ref().map(Rc::as_ptr);
        if let Some((_, known)) = self.proven.borrow().iter().find(|(of, _)| is_by(of)) {
            return Ok(known.clone());
        }
        room?;
        let proven = prove(&self.piece);
        self.proven.borrow_mut().push((by, proven.clone()));
        Ok(proven)
    }
}

/// What a piece must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'w> {
    /// A signature of the digest.
    Signature,
    /// A statement of this predicate type about the digest.
    Statement(&'w str),
}

/// Why a piece doesn't count.
#[derive(Debug, Clone)]
pub enum Refused {
    /// It is none, or not of this digest, or the attestor didn't sign it.
    Because(String),
    /// That is unknown.
    Failure(Failure),
}

impl Refused {
    fn because(place: &str, why: &str) -> Self {
        Self::Because(format!("{place} {why}"))
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Piece {
    /// What can't be read, and why.
    pub(crate) fn unreadable(place: String, why: String) -> Self {
        Self { place, content: Content::Unreadable(why) }
    }

    /// What is listed, and couldn't be looked up.
    pub(crate) fn failed(place: String, failure: HostFailure) -> Self {
        Self { place, content: Content::Failed(failure) }
    }

    /// What messages call it: `repository@digest`, or `evidence[0] of ImageEvidence sha256-<hex>`.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether it may be a statement of this predicate type. What it says of itself is believed, since it counts for nothing else.
    #[must_use]
    pub fn may_be_of(&self, predicate_type: &str) -> bool {
        match &self.content {
            Content::Unreadable(_) | Content::Failed(_) => true,
            _ => self.claimed_type() == Some(predicate_type),
        }
    }

    /// The predicate type of the statement that it says it has.
    fn claimed_type(&self) -> Option<&str> {
        match &self.content {
            Content::Bundle(known) => known.claims.predicate_type.as_deref(),
            Content::Envelope(known) => known.claims.predicate_type.as_deref(),
            Content::Notary(_) | Content::Unreadable(_) | Content::Failed(_) => None,
        }
    }

    /// Takes a document of this media type apart.
    pub(crate) fn read(place: String, media_type: &str, document: &Json) -> Self {
        let content = match media_type {
            notary::JWS => Self::notary(notary::JWS, document.to_string().as_bytes()),
            COSE_CONFIGURATION => document
                .get("data")
                .and_then(Json::as_str)
                .and_then(decode_base64)
                .ok_or_else(|| "`data` is not base64; attach it again".to_owned())
                .and_then(|bytes| Self::notary(notary::COSE, &bytes)),
            _ if media_type.starts_with(SIGSTORE_BUNDLE) => match Bundle::read(document) {
                Ok(bundle) => {
                    let claims = bundle.claims();
                    Ok(Content::Bundle(Rc::new(Known::new(bundle, claims))))
                }
                Err(why) => Err(why.to_string()),
            },
            _ => match Envelope::read(document) {
                Ok(envelope) => {
                    let (predicate_type, subjects) = envelope.claims().unzip();
                    let claims = Claims { identity: None, predicate_type, subjects: subjects.unwrap_or_default() };
                    Ok(Content::Envelope(Rc::new(Known::new(envelope, claims))))
                }
                Err(why) => Err(why.to_string()),
            },
        };
        Self { place, content: content.unwrap_or_else(Content::Unreadable) }
    }

    fn notary(media_type: &str, bytes: &[u8]) -> Result<Content, String> {
        notary::Envelope::read(media_type, bytes).map(Rc::new).map(Content::Notary).map_err(|why| why.to_string())
    }

    /// Takes the bytes of an object of the cluster apart.
    pub(crate) fn of_object(place: String, media_type: &str, data: &str) -> Self {
        let content = match decode_base64(data).filter(|bytes| bytes.len() <= EvidenceObject::MAX_BYTES) {
            None => Err(format!(
                "its `data` is not base64 of at most {} bytes; write the object again",
                EvidenceObject::MAX_BYTES
            )),
            Some(bytes) if [notary::JWS, notary::COSE].contains(&media_type) => Self::notary(media_type, &bytes),
            Some(bytes) => match std::str::from_utf8(&bytes).ok().and_then(|text| read_value(text).ok()) {
                Some(document) => return Self::read(place, media_type, &document),
                None => Err("its `data` is not JSON; write the object again".to_owned()),
            },
        };
        Self { place, content: content.unwrap_or_else(Content::Unreadable) }
    }
}

/// A piece isn't verified, since that would take more than a request may. Others bring that about, so it is no outage.
fn unverified(place: &str, why: String) -> Failure {
    Failure::registry(&format!("{place} isn't verified"), HostFailure::Malformed(why))
}

impl Verifier<'_> {
    /// The statement in a piece, or nothing of a signature, if an attestor signed it and it is what is wanted.
    ///
    /// # Errors
    /// It isn't, or that is unknown. The work that this took counts as done in vain.
    pub(crate) fn hold(
        &self,
        piece: &Piece,
        digest: &str,
        attestor: &Attestor,
        wanted: Wanted<'_>,
    ) -> Result<Option<Statement>, Refused> {
        let before = work();
        let held = self.look_at(piece, digest, attestor, wanted);
        if held.is_err() {
            self.in_vain.set(self.in_vain.get() + (work() - before));
        }
        held
    }

    /// Whether there is room for more work that may be in vain.
    fn room_for_work(&self, place: &str) -> Result<(), Failure> {
        if self.in_vain.get() < MAX_IN_VAIN {
            return Ok(());
        }
        let why = "what was verified before it and doesn't count took too much work; delete what others wrote there";
        Err(unverified(place, why.to_owned()))
    }

    fn look_at(
        &self,
        piece: &Piece,
        digest: &str,
        attestor: &Attestor,
        wanted: Wanted<'_>,
    ) -> Result<Option<Statement>, Refused> {
        let Piece { place, content } = piece;
        let because = |why: &str| Refused::because(place, why);
        if !attestor.annotations.is_empty() {
            let why = format!("has no annotations, and `{}` asks for some", cut(&attestor.name, 64));
            return Err(because(&why));
        }
        let predicate = match wanted {
            Wanted::Signature => SIGNATURE_PREDICATE,
            Wanted::Statement(predicate) => predicate,
        };
        // Many statements may be beside an image, and few are of the wanted type.
        if let Some(other) = piece.claimed_type().filter(|own| *own != predicate) {
            return Err(because(&format!("is a statement of `{}`, not of `{predicate}`", cut(other, 100))));
        }
        let statement = match content {
            Content::Unreadable(why) => return Err(because(&format!("can't be read: {why}"))),
            Content::Failed(failure) => {
                return Err(match (wanted, failure) {
                    // Something may be listed that is gone, and others may count.
                    (Wanted::Signature, _) | (_, HostFailure::Malformed(_)) => {
                        because(&format!("can't be read: {failure}"))
                    }
                    _ => Refused::Failure(Failure::registry(&format!("{place} can't be read"), failure.clone())),
                });
            }
            Content::Envelope(_) if attestor.trust_root.is_some() => {
                let why = format!(
                    "is an envelope, which no log knows, and `{}` has a `trustRoot`: attach the bundle",
                    cut(&attestor.name, 64)
                );
                return Err(because(&why));
            }
            Content::Envelope(known) => {
                let (pem, key) = self.public_key(attestor, "an envelope")?;
                let verified = known.prove((Some(pem), None), self.room_for_work(place), |envelope| {
                    envelope.verify(&[("", &key)]).and_then(|verified| verified.statement()).map(Rc::new)
                })?;
                let statement = verified.map_err(|why| match why {
                    EnvelopeError::NotSigned(_) => EnvelopeError::NotSigned(vec![cut(&attestor.name, 100)]),
                    other => other,
                });
                Some(statement.map_err(|why| because(&format!("is refused: {why}")))?.as_ref().clone())
            }
            Content::Bundle(known) => self.hold_bundle(known, digest, attestor, place)?.statement.clone(),
            Content::Notary(envelope) => {
                self.hold_notary(envelope, digest, attestor, place)?;
                None
            }
        };
        let is_about_it = |statement: &Statement| statement.subjects.iter().any(|subject| subject == digest);
        match (wanted, statement) {
            (Wanted::Statement(_), None) => Err(because("is a signature, and no statement")),
            (_, Some(statement)) if !is_about_it(&statement) => Err(because("is a statement about another image")),
            (_, statement) => Ok(statement),
        }
    }

    fn hold_bundle(
        &self,
        known: &Known<Bundle, Result<Rc<Signed>, BundleError>>,
        digest: &str,
        attestor: &Attestor,
        place: &str,
    ) -> Result<Rc<Signed>, Refused> {
        let because = |why: &str| Refused::because(place, why);
        let refuse = |why: BundleError| because(&refused(&known.claims, &why));
        if !known.may_be_about(digest) {
            return Err(refuse(BundleError::OtherArtifact(known.claims.subjects.clone())));
        }
        match attestor.identity {
            Identity::Key(_) | Identity::KeyInCluster(_) => {
                let (pem, key) = self.public_key(attestor, "a bundle")?;
                // As hosts do, nobody looks into a log for signatures by a key, unless the attestor has a trust root of its own.
                let root = attestor.trust_root.as_ref().map(|source| self.trust_root(source)).transpose()?;
                let by = (Some(pem), root.clone());
                let verify = |bundle: &Bundle| bundle.verify_by_key(&key, root.as_deref(), digest).map(Rc::new);
                return known.prove(by, self.room_for_work(place), verify)?.map_err(refuse);
            }
            Identity::Certificate { .. } | Identity::Notary(_) => {
                let why = format!("is a bundle of Sigstore, and `{}` is no attestor of such", cut(&attestor.name, 64));
                return Err(because(&why));
            }
            _ => {}
        }
        let Some(source) = attestor.trust_root.as_ref().or(self.settings.trust_root.as_ref()) else {
            let why = format!(
                "is a bundle with a certificate, and `{}` has no `trustRoot` to verify it with: add one, or set `evidence.trustRoot`",
                cut(&attestor.name, 64)
            );
            return Err(because(&why));
        };
        let root = self.trust_root(source)?;
        let by = (None, Some(Rc::clone(&root)));
        let verify = |bundle: &Bundle| bundle.verify_by_root(&root, digest).map(Rc::new);
        let signed = known.prove(by, self.room_for_work(place), verify)?.map_err(refuse)?;
        let Some(identity) = &signed.identity else {
            return Err(because("is signed by a key, and not by a certificate"));
        };
        match identity::mismatch(attestor, identity, &self.time) {
            Ok(None) => Ok(signed),
            Ok(Some(why)) => Err(because(&why)),
            Err(why) => Err(unverified(place, why).into()),
        }
    }

    fn hold_notary(
        &self,
        envelope: &notary::Envelope,
        digest: &str,
        attestor: &Attestor,
        place: &str,
    ) -> Result<(), Refused> {
        let because = |why: &str| Refused::because(place, why);
        let Identity::Notary(Notary { certificates, timestamp_certificates, trusted_identities, store }) =
            &attestor.identity
        else {
            let why =
                format!("is a signature of Notary Project, and `{}` is no such attestor", cut(&attestor.name, 64));
            return Err(because(&why));
        };
        let roots = self.certificates(certificates)?;
        let authorities = match timestamp_certificates {
            Some(source) => self.certificates(source)?,
            None => Rc::default(),
        };
        // They were read when the policy was deployed, so this hardly ever fails.
        let identities =
            trusted_identities.iter().map(|text| TrustedIdentity::parse(text)).collect::<Result<Vec<_>, _>>();
        let trust = notary::Trust {
            roots: &roots,
            timestamp_authorities: &authorities,
            identities: &identities.map_err(|why| Failure::unusable(why.to_string()))?,
            revoked: &self.revoked()?,
            store: match store {
                TrustStore::Ca => notary::Store::CertificateAuthority,
                TrustStore::SigningAuthority => notary::Store::SigningAuthority,
            },
        };
        let refuse = |why: NotaryError| {
            because(&format!("names `{}` as its signer, and is refused: {why}", cut(&envelope.claims().subject, 160)))
        };
        self.room_for_work(place)?;
        let signed = envelope.verify(&trust, digest, self.now).map_err(refuse)?;
        // The cluster is asked last, so that nobody brings that about with a piece that proves nothing.
        signed.check_revoked(&self.revoked_in_cluster()?).map_err(refuse)
    }

    /// The key of an attestor, and its PEM.
    fn public_key(&self, attestor: &Attestor, what: &str) -> Result<(String, PublicKey), Refused> {
        let pem = match &attestor.identity {
            Identity::Key(pem) => pem.clone(),
            Identity::KeyInCluster(reference) => self.key(reference)?,
            _ => {
                let why = format!(
                    "{what} without a certificate is verified with a key, and `{}` has none",
                    cut(&attestor.name, 64)
                );
                return Err(Refused::Because(why));
            }
        };
        let key = PublicKey::from_pem(&pem);
        let key =
            key.map_err(|why| Failure::unusable(format!("the key of the attestor `{}`: {why}", attestor.name)))?;
        Ok((pem, key))
    }
}

/// Why a bundle is refused, with whom it names: people recognise it by that.
fn refused(claims: &Claims, why: &BundleError) -> String {
    match &claims.identity {
        Some(identity) => format!("names `{}` as its signer, and is refused: {why}", cut(&identity.subject, 160)),
        None => format!("is refused: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Attestors and digests may be many, but each key and each trust root costs once.
    #[test]
    fn a_piece_is_verified_once_for_each_key_and_trust_root() {
        let claims = Claims { identity: None, predicate_type: None, subjects: vec!["a".to_owned(), "b".to_owned()] };
        let known = Known::new((), claims);
        assert!(known.may_be_about("a") && known.may_be_about("b") && !known.may_be_about("c"));
        let root = || {
            let json = r#"{"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#;
            Some(Rc::new(TrustRoot::read(json).unwrap()))
        };
        let (first, second) = (root(), root());
        let key = |text: &str| Some(text.to_owned());
        let all =
            [(key("a"), None), (key("b"), None), (None, first.clone()), (None, second), (key("a"), first.clone())];
        let verified = Cell::new(0);
        for _ in 0..3 {
            for (number, by) in all.iter().enumerate() {
                let proven = known.prove(by.clone(), Ok(()), |()| {
                    verified.set(verified.get() + 1);
                    number
                });
                assert_eq!(proven, Ok(number));
            }
        }
        assert_eq!(verified.get(), all.len());
    }
}
