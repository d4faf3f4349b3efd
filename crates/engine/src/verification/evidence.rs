//! Evidence: signatures and attestations that are verified here, whoever brought them.
//!
//! A piece is the configuration of an artifact beside the image, since hosts hand out no layers, or it stands in an object of the
//! cluster that is named by the digest. Neither place is believed: a piece counts if an attestor signed it, and if it is about the
//! digest.

use super::artifact::Artifact;
use super::cluster_failed;
use super::identity;
use super::signatures::Signatures;
use image_admission_cel::expression::EvaluationError;
use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::dsse::{Envelope, Statement, decode_base64};
use image_admission_evidence::key::PublicKey;
use image_admission_evidence::media_type::{ARTIFACT_TYPE, COSE_CONFIGURATION, IN_LAYERS, SIGSTORE_BUNDLE};
use image_admission_evidence::notary::{self, Revoked, TrustedIdentity};
use image_admission_evidence::sigstore::{Bundle, BundleError, Signed, TrustRoot};
use image_admission_host::{HostFailure, Resource};
use image_admission_image::ImageReference;
use image_admission_judgement::referrers::artifacts_beside;
use image_admission_settings::{Attestor, EvidenceObject, Identity, Notary, TextSource, TrustStore};
use image_admission_untrusted::memory::read_value;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::rc::Rc;

/// The most pieces beside an image. Whoever may push chooses how many there are.
const MAX_PIECES: usize = 16;

/// The predicate type of cosign's signatures in bundles.
const SIGNATURE_PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// A piece of evidence, not verified.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// What messages call it: `repository@digest`, or `ImageEvidence sha256-<hex>`.
    place: String,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Bundle(Rc<KnownBundle>),
    Envelope(Rc<Envelope>),
    Notary(Rc<notary::Envelope>),
    /// Why it can't be read.
    Unreadable(String),
}

/// A bundle, and what it proves of a digest by each trust root that it was verified with: attestors and their identities may be many.
#[derive(Debug)]
struct KnownBundle {
    bundle: Bundle,
    proven: RefCell<Vec<Proven>>,
}

/// The trust root, the digest, and what came of it.
type Proven = (Rc<TrustRoot>, String, Result<Signed, BundleError>);

impl KnownBundle {
    fn new(bundle: Bundle) -> Self {
        Self { bundle, proven: RefCell::default() }
    }

    fn verify_by_root(&self, root: &Rc<TrustRoot>, digest: &str) -> Result<Signed, BundleError> {
        let is_asked = |own: &Rc<TrustRoot>, of: &str| Rc::ptr_eq(own, root) && of == digest;
        if let Some((.., known)) = self.proven.borrow().iter().find(|(own, of, _)| is_asked(own, of)) {
            return known.clone();
        }
        let signed = self.bundle.verify_by_root(root, digest);
        self.proven.borrow_mut().push((Rc::clone(root), digest.to_owned(), signed.clone()));
        signed
    }
}

/// What a piece must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted<'w> {
    /// A signature of the digest.
    Signature,
    /// A statement of this predicate type about the digest.
    Statement(&'w str),
}

/// Why a piece doesn't count.
#[derive(Debug, Clone)]
pub(super) enum Refused {
    /// It is none, or not of this digest, or the attestor didn't sign it.
    Because(String),
    /// That is unknown.
    Failure(EvaluationError),
}

impl From<EvaluationError> for Refused {
    fn from(failure: EvaluationError) -> Self {
        Self::Failure(failure)
    }
}

impl Piece {
    /// Takes a document of this media type apart.
    pub(super) fn read(place: String, media_type: &str, document: &Json) -> Self {
        let content = match media_type {
            notary::JWS => Self::notary(notary::JWS, document.to_string().as_bytes()),
            COSE_CONFIGURATION => document
                .get("data")
                .and_then(Json::as_str)
                .and_then(decode_base64)
                .ok_or_else(|| "`data` is not base64; attach it again".to_owned())
                .and_then(|bytes| Self::notary(notary::COSE, &bytes)),
            _ if media_type.starts_with(SIGSTORE_BUNDLE) => Bundle::read(document)
                .map(|bundle| Content::Bundle(Rc::new(KnownBundle::new(bundle))))
                .map_err(|why| why.to_string()),
            _ => Envelope::read(document).map(Rc::new).map(Content::Envelope).map_err(|why| why.to_string()),
        };
        Self { place, content: content.unwrap_or_else(Content::Unreadable) }
    }

    fn notary(media_type: &str, bytes: &[u8]) -> Result<Content, String> {
        notary::Envelope::read(media_type, bytes).map(Rc::new).map(Content::Notary).map_err(|why| why.to_string())
    }

    /// Takes the bytes of an object of the cluster apart.
    fn of_object(place: &str, media_type: &str, data: &str) -> Self {
        let content = match decode_base64(data).filter(|bytes| bytes.len() <= EvidenceObject::MAX_BYTES) {
            None => Err(format!(
                "its `data` is not base64 of at most {} bytes; write the object again",
                EvidenceObject::MAX_BYTES
            )),
            Some(bytes) if [notary::JWS, notary::COSE].contains(&media_type) => Self::notary(media_type, &bytes),
            Some(bytes) => match std::str::from_utf8(&bytes).ok().and_then(|text| read_value(text).ok()) {
                Some(document) => return Self::read(place.to_owned(), media_type, &document),
                None => Err("its `data` is not JSON; write the object again".to_owned()),
            },
        };
        Self { place: place.to_owned(), content: content.unwrap_or_else(Content::Unreadable) }
    }
}

impl<'a> Signatures<'a> {
    /// Why none of these pieces counts for an attestor: one reason for each. Otherwise the statement of the first that does, which
    /// is null where something else was signed. A piece that can't be verified now is an error, if no other counts.
    pub(super) fn hold(
        &mut self,
        pieces: &[Piece],
        digest: &str,
        attestors: &[&Attestor],
        wanted: Wanted<'_>,
    ) -> Result<Result<Json, Vec<String>>, EvaluationError> {
        let mut reasons = Vec::new();
        let mut failure: Option<EvaluationError> = None;
        // `attach` adds new pieces at the end; other tools sort them.
        for (piece, attestor) in pieces.iter().rev().flat_map(|piece| attestors.iter().map(move |own| (piece, own))) {
            match self.hold_one(piece, digest, attestor, wanted) {
                Ok(statement) => return Ok(Ok(statement)),
                Err(Refused::Because(why)) if reasons.contains(&why) => {}
                Err(Refused::Because(why)) => reasons.push(why),
                // If one failure is no outage, the result is none.
                Err(Refused::Failure(why)) if failure.as_ref().is_none_or(EvaluationError::is_outage) => {
                    failure = Some(why);
                }
                Err(Refused::Failure(_)) => {}
            }
        }
        failure.map_or(Ok(Err(reasons)), Err)
    }

    fn hold_one(
        &mut self,
        piece: &Piece,
        digest: &str,
        attestor: &Attestor,
        wanted: Wanted<'_>,
    ) -> Result<Json, Refused> {
        let Piece { place, content } = piece;
        let because = |why: &dyn std::fmt::Display| Refused::Because(format!("{place} {why}"));
        if !attestor.annotations.is_empty() {
            let why = format!("has no annotations, and `{}` asks for some", cut(&attestor.name, 64));
            return Err(because(&why));
        }
        let signed = match content {
            Content::Unreadable(why) => return Err(because(&format!("can't be read: {why}"))),
            Content::Envelope(_) if attestor.trust_root.is_some() => {
                let why = format!(
                    "is an envelope, which no log knows, and `{}` has a `trustRoot`: attach the bundle",
                    cut(&attestor.name, 64)
                );
                return Err(because(&why));
            }
            Content::Envelope(envelope) => {
                let key = self.public_key(attestor, "an envelope")?;
                let verified = envelope.verify(&[(&attestor.name, &key)]).and_then(|verified| verified.statement());
                let statement = verified.map_err(|why| because(&format!("is refused: {why}")))?;
                Signed { statement: Some(statement), identity: None, times: Vec::new() }
            }
            Content::Bundle(bundle) => self.hold_bundle(bundle, digest, attestor, &because)?,
            Content::Notary(envelope) => {
                self.hold_notary(envelope, digest, attestor, &because)?;
                Signed { statement: None, identity: None, times: Vec::new() }
            }
        };
        match (wanted, signed.statement) {
            (Wanted::Signature, None) => Ok(Json::Null),
            (Wanted::Signature, Some(statement)) => {
                is_of(&statement, SIGNATURE_PREDICATE, digest).map(|()| Json::Null).map_err(|why| because(&why))
            }
            (Wanted::Statement(predicate), Some(statement)) => {
                is_of(&statement, predicate, digest).map_err(|why| because(&why))?;
                Ok(statement.json)
            }
            (Wanted::Statement(_), None) => Err(because(&"is a signature, and no statement")),
        }
    }
}

impl<'a> Signatures<'a> {
    fn hold_bundle(
        &mut self,
        known: &KnownBundle,
        digest: &str,
        attestor: &Attestor,
        because: &dyn Fn(&dyn std::fmt::Display) -> Refused,
    ) -> Result<Signed, Refused> {
        let bundle = &known.bundle;
        match attestor.identity {
            Identity::Key(_) | Identity::KeyInCluster(_) => {
                let key = self.public_key(attestor, "a bundle")?;
                // As hosts do, nobody looks into a log for signatures by a key, unless the attestor has a trust root of its own.
                let root = attestor.trust_root.as_ref().map(|source| self.trust_root(source)).transpose()?;
                return bundle
                    .verify_by_key(&key, root.as_deref(), digest)
                    .map_err(|why| because(&refused(bundle, &why)));
            }
            Identity::Certificate { .. } | Identity::Notary(_) => {
                let why = format!("is a bundle of Sigstore, and `{}` is no attestor of such", cut(&attestor.name, 64));
                return Err(because(&why));
            }
            _ => {}
        }
        let Some(source) = attestor.trust_root.as_ref().or(self.settings().evidence.trust_root.as_ref()) else {
            let why = format!(
                "is a bundle with a certificate, and `{}` has no `trustRoot` to verify it with: add one, or set `evidence.trustRoot`",
                cut(&attestor.name, 64)
            );
            return Err(because(&why));
        };
        let root = self.trust_root(source)?;
        let signed = known.verify_by_root(&root, digest).map_err(|why| because(&refused(bundle, &why)))?;
        let Some(identity) = &signed.identity else {
            return Err(because(&"is signed by a key, and not by a certificate"));
        };
        match identity::mismatch(attestor, identity, &self.time) {
            None => Ok(signed),
            Some(why) => Err(because(&why)),
        }
    }

    fn hold_notary(
        &mut self,
        envelope: &notary::Envelope,
        digest: &str,
        attestor: &Attestor,
        because: &dyn Fn(&dyn std::fmt::Display) -> Refused,
    ) -> Result<(), Refused> {
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
        let revoked =
            self.settings().evidence.revoked.iter().map(|text| Revoked::parse(text)).collect::<Result<Vec<_>, _>>();
        let trust = notary::Trust {
            roots: &roots,
            timestamp_authorities: &authorities,
            identities: &identities.map_err(|why| EvaluationError::Failed(why.to_string()))?,
            revoked: &revoked.map_err(|why| EvaluationError::Failed(why.to_string()))?,
            store: match store {
                TrustStore::Ca => notary::Store::CertificateAuthority,
                TrustStore::SigningAuthority => notary::Store::SigningAuthority,
            },
        };
        let signed = envelope.verify(&trust, digest, self.now());
        signed.map(drop).map_err(|why| {
            because(&format!("names `{}` as its signer, and is refused: {why}", cut(&envelope.claims().subject, 160)))
        })
    }

    /// The key of an attestor.
    fn public_key(&mut self, attestor: &Attestor, what: &str) -> Result<PublicKey, Refused> {
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
        Ok(key.map_err(|why| EvaluationError::Failed(format!("the key of the attestor `{}`: {why}", attestor.name)))?)
    }

    /// A trust root of the settings, read once.
    fn trust_root(&mut self, source: &TextSource) -> Result<Rc<TrustRoot>, EvaluationError> {
        if let Some(known) = self.trust_roots.get(source) {
            return known.clone();
        }
        let read = self.text(source).and_then(|text| {
            let root = TrustRoot::read(&text);
            root.map(Rc::new).map_err(|why| EvaluationError::Failed(format!("the trust root can't be used: {why}")))
        });
        self.trust_roots.insert(source.clone(), read.clone());
        read
    }

    /// Certificates of the settings.
    fn certificates(&mut self, source: &TextSource) -> Result<Rc<Vec<Certificate>>, EvaluationError> {
        let text = self.text(source)?;
        let read = Certificate::all_from_pem(&text);
        read.map(Rc::new).map_err(|why| EvaluationError::Failed(format!("a trust store can't be used: {why}")))
    }

    /// The pieces in the object of the cluster that has the digest's name; none without such an object, or with one that is too old.
    pub(super) fn in_cluster(&mut self, digest: &str) -> Result<Rc<Vec<Piece>>, EvaluationError> {
        if !self.settings().evidence.from_cluster {
            return Ok(Rc::default());
        }
        if let Some(known) = self.objects.get(digest) {
            return known.clone();
        }
        let read = self.read_object(digest).map(Rc::new);
        self.objects.insert(digest.to_owned(), read.clone());
        read
    }

    fn read_object(&self, digest: &str) -> Result<Vec<Piece>, EvaluationError> {
        #[derive(Deserialize)]
        struct Object {
            kind: Option<String>,
            metadata: Metadata,
            spec: Spec,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            name: String,
            creation_timestamp: Option<String>,
        }
        #[derive(Deserialize)]
        struct Spec {
            #[serde(default)]
            evidence: Vec<Entry>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            media_type: String,
            data: String,
        }
        let name = digest.replace(':', "-");
        let what = format!("{} {name}", EvidenceObject::KIND);
        let resource = Resource {
            api_version: EvidenceObject::API_VERSION,
            kind: EvidenceObject::KIND,
            namespace: "",
            name: &name,
        };
        let object: Object = match self.host().whole_resource(&resource).and_then(|document| document.read()) {
            Ok(object) => object,
            Err(HostFailure::NotFound(_)) => return Ok(Vec::new()),
            // Whoever writes such objects must not keep an image out that has a signature elsewhere.
            Err(HostFailure::Malformed(why)) => {
                return Ok(vec![Piece { place: what, content: Content::Unreadable(why) }]);
            }
            Err(failure) => return Err(cluster_failed(&format!("{what} can't be read"), &failure)),
        };
        if object.metadata.name != name || object.kind.is_some_and(|own| own != EvidenceObject::KIND) {
            return Err(EvaluationError::Failed(format!("{what} can't be read: the host gave another object")));
        }
        if let Some(longest) = &self.settings().evidence.max_age {
            let made = object.metadata.creation_timestamp.as_deref().and_then(Timestamp::parse);
            if made.is_none_or(|made| made.is_older_than(longest, self.now())) {
                let why = format!("it is older than {longest}, as `evidence.maxAge` allows; have it written again");
                return Ok(vec![Piece { place: what, content: Content::Unreadable(why) }]);
            }
        }
        let entries = object.spec.evidence.iter().take(EvidenceObject::MAX_PIECES);
        Ok(entries.map(|entry| Piece::of_object(&what, &entry.media_type, &entry.data)).collect())
    }

    /// The pieces beside a digest in its registry.
    pub(super) fn in_registry(
        &mut self,
        reference: &ImageReference,
        digest: &str,
    ) -> Result<Rc<Vec<Piece>>, HostFailure> {
        let artifact = reference.at(digest);
        if let Some(known) = self.beside_registry.get(&artifact) {
            return known.clone();
        }
        let read = self.look(reference, digest).map(Rc::new);
        self.beside_registry.insert(artifact, read.clone());
        read
    }

    fn look(&self, reference: &ImageReference, digest: &str) -> Result<Vec<Piece>, HostFailure> {
        let mut layers = None;
        let found = artifacts_beside(self.host(), reference, digest, None, |kind| {
            if IN_LAYERS.iter().any(|own| kind.starts_with(own)) {
                layers = Some(kind.to_owned());
            }
            kind == ARTIFACT_TYPE
        })?;
        let mut pieces = Vec::new();
        for digest in found.iter().skip(found.len().saturating_sub(MAX_PIECES)) {
            let artifact = reference.at(digest);
            pieces.push(match Artifact::read(self.host(), &artifact, digest) {
                Ok(Artifact { kind, document, .. }) => Piece::read(artifact, &kind.unwrap_or_default(), &document),
                // Something may be listed that is gone, and others may count.
                Err(failure) => Piece { place: artifact, content: Content::Unreadable(failure.to_string()) },
            });
        }
        // Where something readable is, its reason is the one that counts.
        if let Some(kind) = layers.filter(|_| pieces.is_empty()) {
            let why = format!(
                "it is a layer, which hosts don't hand out: `image-admission attach {}` makes it readable",
                reference.at(digest)
            );
            pieces.push(Piece {
                place: format!("what was pushed as `{}`", cut(&kind, 100)),
                content: Content::Unreadable(why),
            });
        }
        Ok(pieces)
    }
}

/// Why a bundle is refused, with whom it names: people recognise it by that.
fn refused(bundle: &Bundle, why: &BundleError) -> String {
    match bundle.claims().identity {
        Some(identity) => format!("names `{}` as its signer, and is refused: {why}", cut(&identity.subject, 160)),
        None => format!("is refused: {why}"),
    }
}

/// Whether a statement is of a predicate type, and about a digest.
fn is_of(statement: &Statement, predicate: &str, digest: &str) -> Result<(), String> {
    if statement.predicate_type != predicate {
        let other = cut(&statement.predicate_type, 100);
        return Err(format!("is a statement of `{other}`, not of `{predicate}`"));
    }
    if !statement.subjects.iter().any(|subject| subject == digest) {
        return Err("is a statement about another image".to_owned());
    }
    Ok(())
}
