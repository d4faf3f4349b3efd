//! `evidence`: signatures and attestations that the policy verifies itself, where they are and what is trusted in them.

use super::attestors::{TextSource, trust_root};
use super::read::{Problems, SettingsMap};
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
    map.known(&["fromCluster", "maxAge", "trustRoot", "revoked"], &[], problems);
    let evidence = Evidence {
        from_cluster: map.boolean("fromCluster", false, problems),
        max_age: map.duration("maxAge", problems),
        trust_root: trust_root(&map, problems),
        revoked: map.texts("revoked", problems).into_iter().map(|(_, text)| text.to_owned()).collect(),
    };
    if evidence.max_age.is_some() && !evidence.from_cluster {
        problems
            .add(path.key("maxAge"), "only objects of the cluster have an age: set `fromCluster: true`, or remove it");
    }
    evidence
}
