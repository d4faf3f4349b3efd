//! `evidence`: signatures and attestations that the policy verifies itself, where they are and what is trusted in them.

use super::attestors::{TextSource, trust_root};
use super::list_in_cluster::{ListInCluster, read_place};
use super::read::{Problems, SettingsMap, wrong_type};
use image_admission_untrusted::time::WrittenDuration;

/// Where evidence is beside the registry, and what it is verified with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Whether objects of the cluster are read.
    pub from_cluster: bool,
    /// How old an object may be.
    pub max_age: Option<WrittenDuration>,
    /// The trust root of attestors that have none of their own: a `trusted_root.json`.
    pub trust_root: Option<TextSource>,
    /// Certificates of Notary Project's signers that no longer count: serial numbers, or SHA-256 fingerprints, as they are written.
    pub revoked: Vec<String>,
    /// A list of such certificates in the cluster, one a line. They count beside the others.
    pub revoked_from: Option<ListInCluster>,
    /// How many independent services must vouch for a bundle that is verified with a trust root.
    pub thresholds: Thresholds,
}

/// How many independent services must vouch for a bundle, each 1 to [`Thresholds::MAX`], or as many as without the setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Thresholds {
    /// How many logs must have an entry of the signature.
    pub transparency_logs: Option<usize>,
    /// How many logs and timestamp authorities must prove when it was signed.
    pub timestamps: Option<usize>,
    /// How many logs must have promised to have the certificate.
    pub certificate_logs: Option<usize>,
}

impl Thresholds {
    /// The highest threshold. A bundle has no more proof of one kind.
    pub const MAX: usize = 8;
}

/// The kind of objects that hold evidence, one for each digest.
#[derive(Debug)]
pub struct EvidenceObject;

impl EvidenceObject {
    /// The `apiVersion` of such objects.
    pub const API_VERSION: &str = "image-admission.kubewarden.io/v1alpha1";
    /// Their kind.
    pub const KIND: &str = "ImageEvidence";
    /// The most pieces of one object. Whoever writes it chooses how many there are.
    pub const MAX_PIECES: usize = 16;
    /// The most bytes of its pieces: a cluster keeps no object of more than 1.5 MiB, and base64 adds a third.
    pub const MAX_BYTES: usize = 1 << 20;
}

/// The setting `evidence`.
pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Evidence {
    let path = settings.path().key("evidence");
    let Some(map) = SettingsMap::of(settings.get("evidence"), &path, problems) else { return Evidence::default() };
    map.known(&["fromCluster", "maxAge", "trustRoot", "revoked", "revokedFrom", "thresholds"], &[], problems);
    let evidence = Evidence {
        from_cluster: map.boolean("fromCluster", false, problems),
        max_age: map.duration("maxAge", problems),
        trust_root: trust_root(&map, problems),
        revoked: map.texts("revoked", problems).into_iter().map(|(_, text)| text.to_owned()).collect(),
        revoked_from: read_revoked_from(&map, problems),
        thresholds: read_thresholds(&map, problems),
    };
    if evidence.max_age.is_some() && !evidence.from_cluster {
        problems
            .add(path.key("maxAge"), "only objects of the cluster have an age: set `fromCluster: true`, or remove it");
    }
    evidence
}

/// `{configMap: {namespace: …, name: …, key: revoked}, maxAge: 24h}`
fn read_revoked_from(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<ListInCluster> {
    let path = map.path().key("revokedFrom");
    map.get("revokedFrom")?;
    let expected = "an object like `{configMap: {namespace: …, name: …}, maxAge: 24h}`";
    let from = SettingsMap::named(map.get("revokedFrom"), &path, expected, problems)?;
    from.known(&["configMap", "maxAge"], &[], problems);
    let max_age = from.duration("maxAge", problems);
    let place = read_place(&from, "revoked", problems)?;
    Some(ListInCluster { place, max_age })
}

/// `{transparencyLogs: 1, timestamps: 1, certificateLogs: 1}`
fn read_thresholds(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Thresholds {
    let path = map.path().key("thresholds");
    let expected = "an object like `{transparencyLogs: 2}`";
    let Some(map) = SettingsMap::named(map.get("thresholds"), &path, expected, problems) else {
        return Thresholds::default();
    };
    map.known(&["transparencyLogs", "timestamps", "certificateLogs"], &[], problems);
    Thresholds {
        transparency_logs: threshold(&map, "transparencyLogs", problems),
        timestamps: threshold(&map, "timestamps", problems),
        certificate_logs: threshold(&map, "certificateLogs", problems),
    }
}

fn threshold(map: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Option<usize> {
    let value = map.get(key)?;
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    let number = number.filter(|number| (1..=Thresholds::MAX).contains(number));
    if number.is_none() {
        problems.add(map.path().key(key), wrong_type("a whole number from 1 to 8", value));
    }
    number
}
