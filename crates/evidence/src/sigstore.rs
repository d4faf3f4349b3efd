//! Sigstore bundles: a signature of an artifact, with all that proves whose it is and when it was made ([client specification][spec]).
//!
//! ```text
//! bundle (reads it) ──┐              ┌── log (entries of Rekor: promises, proofs, checkpoints)
//!                     ├── sigstore ──┼── certificate::chain · timestamp::verify
//! trust_root ─────────┘              ├── sct (promises of certificate logs)
//!                                    └── identity (whom the certificate names)
//! ```
//!
//! A bundle is verified by a key, or by a trust root's authorities and logs. Both say what was signed, and the second says by whom.
//! Whether that is the wanted signer decides the caller.
//!
//! [spec]: https://github.com/sigstore/architecture-docs/blob/main/client-spec.md

mod bundle;
mod error;
mod identity;
mod json;
mod log;
mod sct;
mod trust_root;

use std::collections::BTreeSet;

use image_admission_untrusted::time::Timestamp;

pub use bundle::{Bundle, MAX_BUNDLE_BYTES, MAX_ENTRIES};
pub use error::{BundleError, Service};
pub use identity::{Identity, IdentityError};
pub use log::{BodyError, CheckpointError, EntryError, ProofError};
pub use sct::SctError;
pub use trust_root::{MAX_AUTHORITIES, MAX_TRUST_ROOT_BYTES, Thresholds, TrustRoot, TrustRootError};

use crate::certificate::{self, Certificate, Usage, hex};
use crate::dsse::{EnvelopeError, Statement};
use crate::key::{Hash, PublicKey, Scheme};
use crate::timestamp;
use bundle::{Material, Signed as SignedContent};
use log::{Content, Signer};
use trust_root::Log;

/// What a bundle proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// What was said of the artifact. None if the artifact itself was signed.
    pub statement: Option<Statement>,
    /// Who signed. None if it was verified by a key.
    pub identity: Option<Identity>,
    /// When it was signed, by each log and each timestamp authority that proves it; empty if nothing does, by a key.
    pub times: Vec<Timestamp>,
}

/// What a bundle says of itself without any proof, for messages about bundles that don't verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Whom its certificate names, if it has one that names somebody.
    pub identity: Option<Identity>,
    /// What kind of statement it has, if it has one.
    pub predicate_type: Option<String>,
    /// The digests that it is about, `sha256:…`; none if its statement can't be read.
    pub subjects: Vec<String>,
}

impl Bundle {
    /// What it says of itself. Nothing of that is proven.
    #[must_use]
    pub fn claims(&self) -> Claims {
        let (predicate_type, subjects) = match &self.content {
            SignedContent::Envelope { envelope, .. } => {
                envelope.claims().map_or_else(Default::default, |(kind, subjects)| (Some(kind), subjects))
            }
            SignedContent::Message { digest, .. } => (None, vec![format!("sha256:{}", hex(digest))]),
        };
        let identity = match &self.material {
            Material::Certificate(certificate) => Identity::of(certificate).ok(),
            Material::Key => None,
        };
        Claims { identity, predicate_type, subjects }
    }

    /// Verifies that this key signed the artifact, whose digest is `sha256:` and 64 lower-case hexadecimal digits.
    ///
    /// With a trust root that names logs, one of them must have an entry of the signature, or as many as its [`Thresholds`] say.
    ///
    /// # Errors
    ///
    /// A [`BundleError`] that says what is missing or wrong.
    pub fn verify_by_key(
        &self,
        key: &PublicKey,
        root: Option<&TrustRoot>,
        digest: &str,
    ) -> Result<Signed, BundleError> {
        if matches!(self.material, Material::Certificate(_)) {
            return Err(BundleError::SignedByCertificate);
        }
        let statement = self.verify_content(key, digest)?;
        let times = match root {
            Some(root) => self.proven_times(Signer::Key(key), root, 0)?,
            None => Vec::new(),
        };
        Ok(Signed { statement, identity: None, times })
    }

    /// Verifies that somebody whom an authority of the trust root certified signed the artifact, whose digest is `sha256:` and 64
    /// lower-case hexadecimal digits, and says who that is.
    ///
    /// The time of the signature must be proven, by a log's promise or by a timestamp, and the authorities are looked at as they were at
    /// each proven time. One of the root's logs must have an entry of the signature, and one of its certificate logs must have promised
    /// to have the certificate, where the root names such logs: GitHub's names none. The root's [`Thresholds`] may ask for more of each.
    ///
    /// # Errors
    ///
    /// A [`BundleError`] that says what is missing or wrong.
    pub fn verify_by_root(&self, root: &TrustRoot, digest: &str) -> Result<Signed, BundleError> {
        let Material::Certificate(leaf) = &self.material else { return Err(BundleError::SignedByKey) };
        // First, since a bundle about another artifact is the likeliest, and one signature the least work.
        let statement = self.verify_content(leaf.key(), digest)?;
        let times = self.proven_times(Signer::Certificate(leaf), root, 1)?;
        let Some((first, others)) = times.split_first() else { return Err(BundleError::NoTime) };
        let issuer = root.issuer(leaf, *first, others)?;
        let logs = &root.certificate_logs;
        let known = operators(logs).len();
        let needed = needed(Service::CertificateLogs, root.thresholds.certificate_logs, known.min(1), known)?;
        if needed > 0 {
            let found = sct::verify(leaf, issuer, logs, needed).map_err(BundleError::CertificateLog)?;
            reached(Service::CertificateLogs, found, needed)?;
        }
        let identity = Identity::of(leaf).map_err(BundleError::Identity)?;
        Ok(Signed { statement, identity: Some(identity), times })
    }

    /// When logs and timestamp authorities had the signature. So many of them must prove a time, unless the root has a threshold.
    fn proven_times(&self, signer: Signer<'_>, root: &TrustRoot, usual: usize) -> Result<Vec<Timestamp>, BundleError> {
        let logs = operators(&root.logs);
        let authorities = root.timestamp_authorities.iter().map(|own| own.operator.as_str());
        let clocks = logs.iter().copied().chain(authorities).collect::<BTreeSet<_>>().len();
        let logs = logs.len();
        let thresholds = root.thresholds;
        let needed_logs = needed(Service::TransparencyLogs, thresholds.transparency_logs, logs.min(1), logs)?;
        let needed_times = needed(Service::Times, thresholds.timestamps, usual, clocks)?;

        let mut reason = BundleError::NoTime;
        let mut times = Vec::new();
        // Whoever runs a log and a timestamp authority counts once.
        let mut timed_by = BTreeSet::new();
        for token in &self.timestamps {
            match timestamp::stamp(token, self.signature(), &root.timestamp_authorities) {
                Ok(stamp) => {
                    times.push(stamp.time);
                    timed_by.insert(stamp.operator);
                }
                // Whoever passes a bundle on could have left it out, so another proof is enough.
                Err(error) => reason = BundleError::Timestamp(error),
            }
        }
        let (mut entered_by, mut included_by) = (Vec::new(), Vec::new());
        for entry in &self.entries {
            // Other logs prove nothing here, and are no harm.
            let Some(log) = root.logs.iter().find(|log| log.id == entry.log_id) else { continue };
            match entry.verify(log, self.required, signer, self.content()).map_err(BundleError::Entry)? {
                Some(time) => {
                    times.push(time);
                    timed_by.insert(log.operator.clone());
                }
                None => included_by.push(log),
            }
            entered_by.push(log);
        }
        // An entry without a time of its own counts if its log was trusted when the signature was made.
        for log in &included_by {
            if let Some(untrusted) = times.iter().find(|time| !log.validity.contains(**time)) {
                return Err(BundleError::Entry(EntryError::LogNotValid(*untrusted)));
            }
        }
        match operators(entered_by).len() {
            0 if needed_logs > 0 => {
                return Err(match self.entries.first() {
                    Some(entry) => BundleError::OtherLog(log::shown(&entry.log_id)),
                    None => BundleError::NoEntry,
                });
            }
            found => reached(Service::TransparencyLogs, found, needed_logs)?,
        }
        if timed_by.is_empty() && needed_times > 0 {
            return Err(reason);
        }
        reached(Service::Times, timed_by.len(), needed_times)?;
        times.sort_unstable();
        times.dedup();
        Ok(times)
    }

    /// Verifies the signature, and that it is of this artifact.
    fn verify_content(&self, key: &PublicKey, digest: &str) -> Result<Option<Statement>, BundleError> {
        match &self.content {
            SignedContent::Message { digest: signed, signature } => {
                let found = format!("sha256:{}", hex(signed));
                if found != digest {
                    return Err(BundleError::OtherArtifact(vec![found]));
                }
                let scheme = match key {
                    PublicKey::P256(_) | PublicKey::P384(_) | PublicKey::P521(_) => Scheme::Ecdsa(Hash::Sha256),
                    PublicKey::Rsa(_) => Scheme::RsaPkcs1(Hash::Sha256),
                    PublicKey::Ed25519(_) => return Err(BundleError::Ed25519),
                };
                if key.verifies_digest(scheme, signed, signature) { Ok(None) } else { Err(BundleError::Signature) }
            }
            SignedContent::Envelope { envelope, .. } => {
                let verified = envelope.verify(&[("", key)]).map_err(|error| match error {
                    EnvelopeError::NotSigned(_) => BundleError::Signature,
                    other => BundleError::Envelope(other),
                })?;
                let statement = verified.statement().map_err(BundleError::Envelope)?;
                if statement.subjects.iter().any(|subject| subject == digest) {
                    Ok(Some(statement))
                } else {
                    Err(BundleError::OtherArtifact(statement.subjects))
                }
            }
        }
    }

    fn content(&self) -> Content<'_> {
        match &self.content {
            SignedContent::Message { digest, signature } => Content::Message { digest, signature },
            SignedContent::Envelope { envelope, signature } => Content::Envelope { envelope, signature },
        }
    }

    fn signature(&self) -> &[u8] {
        match &self.content {
            SignedContent::Message { signature, .. } | SignedContent::Envelope { signature, .. } => signature,
        }
    }
}

impl TrustRoot {
    /// The authority that issued a certificate, if it and the certificate are valid at each of these times.
    fn issuer<'a>(
        &'a self,
        leaf: &'a Certificate,
        first: Timestamp,
        others: &[Timestamp],
    ) -> Result<&'a Certificate, BundleError> {
        let mut reason = BundleError::NoAuthority(first);
        for authority in self.certificate_authorities.iter().filter(|authority| authority.validity.contains(first)) {
            match certificate::chain(leaf, &[], &authority.certificates, first, Usage::CodeSigning) {
                Ok(chain) => {
                    // Only validity depends on the time.
                    for time in others {
                        if !authority.validity.contains(*time) {
                            return Err(BundleError::NoAuthority(*time));
                        }
                        certificate::check_valid(leaf, *time).map_err(|error| BundleError::Untrusted(*time, error))?;
                    }
                    // A certificate of the root that signs by itself is its own issuer.
                    return Ok(chain.get(1).copied().unwrap_or(leaf));
                }
                Err(error) => reason = BundleError::Untrusted(first, error),
            }
        }
        Err(reason)
    }
}

/// Who runs these logs, each once.
fn operators<'a>(logs: impl IntoIterator<Item = &'a Log>) -> BTreeSet<&'a str> {
    logs.into_iter().map(|log| log.operator.as_str()).collect()
}

/// How many services must vouch for a signature: the threshold, if the root knows so many of them, or else as many as usual.
fn needed(of: Service, threshold: Option<usize>, usual: usize, known: usize) -> Result<usize, BundleError> {
    match threshold {
        Some(needed) if needed > known => Err(BundleError::RootBelowThreshold { of, found: known, needed }),
        Some(needed) => Ok(needed),
        None => Ok(usual),
    }
}

fn reached(of: Service, found: usize, needed: usize) -> Result<(), BundleError> {
    if found < needed { Err(BundleError::BelowThreshold { of, found, needed }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
