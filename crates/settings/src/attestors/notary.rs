//! Attestors of Notary Project: whose certificates count, and which of their subjects.

use super::super::read::{Choice, Problems, SettingsMap};
use super::super::refused;
use super::{TextSource, read_source};

/// Who may sign as Notary Project's specification has it: a trust store, and trusted identities.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notary {
    /// The trust store: the roots' certificates, PEM.
    pub certificates: TextSource,
    /// The roots of the timestamp authorities, PEM.
    pub timestamp_certificates: Option<TextSource>,
    /// `x509.subject: C=US, ST=WA, O=acme`, or `*`.
    pub trusted_identities: Vec<String>,
    /// The kind of trust store.
    pub store: TrustStore,
}

/// The kind of a trust store, which says which signing scheme it is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustStore {
    /// For `notary.x509`.
    #[default]
    Ca,
    /// For `notary.x509.signingAuthority`.
    SigningAuthority,
}

impl Choice for TrustStore {
    const CHOICES: &'static [(&'static str, Self)] = &[("ca", Self::Ca), ("signingAuthority", Self::SigningAuthority)];
}

/// `notary: {certs, tsaCerts, trustedIdentities, trustStore}`. Certificates are PEM, or `{value: …}` as Kyverno writes them, or
/// `{data | secretRef | configMapRef}`.
pub(super) fn read(attestor: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Notary> {
    let path = attestor.path().key("notary");
    let notary = SettingsMap::of(attestor.get("notary"), &path, problems)?;
    notary.known(&["certs", "tsaCerts", "trustedIdentities", "trustStore"], &refused::NOTARY, problems);
    if !notary.has("certs") {
        problems.add(path.key("certs"), "the trust store is missing: the certificates of roots, in PEM");
    }
    let trusted_identities: Vec<String> =
        notary.texts("trustedIdentities", problems).into_iter().map(|(_, text)| text.to_owned()).collect();
    if trusted_identities.is_empty() {
        problems.add(
            path.key("trustedIdentities"),
            "say whose signatures count: `x509.subject: C=…, ST=…, O=…` as in their certificates, or `*` for everybody whom the roots vouch for",
        );
    }
    Some(Notary {
        certificates: read_certificates(&notary, "certs", problems)?,
        timestamp_certificates: read_certificates(&notary, "tsaCerts", problems),
        trusted_identities,
        store: notary.choice("trustStore", TrustStore::default(), problems),
    })
}

fn read_certificates(notary: &SettingsMap<'_, '_>, key: &'static str, problems: &mut Problems) -> Option<TextSource> {
    let value = notary.get(key)?;
    match value.as_str().or_else(|| value.get("value")?.as_str()) {
        Some(pem) => Some(TextSource::Inline(pem.to_owned())),
        None => read_source(notary, key, "ca.crt", problems),
    }
}
