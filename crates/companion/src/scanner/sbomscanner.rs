//! SBOMscanner is asked by a Registry for each tag, and a ScanJob for each attempt. It finds images by their tags alone, and runs one
//! ScanJob of a Registry at a time. With a Registry for each tag, an image whose scan fails stops no other.
//!
//! The Registry stays while the image is in use: SBOMscanner's reports are owned by it.

use super::{
    End, IMAGE, Judgement, Kind, NewObject, Presence, Request, Shared, condition, ours, presence, read_request,
};
use crate::scan::{ScanId, Target};
use crate::scan_failure::ScanFailure;
use crate::settings::SbomScannerScans;
use crate::workload::{COMPANION, MANAGED_BY};
use image_admission_image::ImageReference;
use image_admission_image::platform::Platform;
use image_admission_judgement::report::ScanReport;
use image_admission_settings::{Platforms, SbomScanner as Source};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) const REGISTRY: Kind = Kind { api_version: "sbomscanner.kubewarden.io/v1alpha1", kind: "Registry" };
pub(super) const SCAN_JOB: Kind = Kind { api_version: "sbomscanner.kubewarden.io/v1alpha1", kind: "ScanJob" };
/// What names begin with.
const PREFIX: &str = "image-admission-";
/// The name of the only condition that a Registry of ours has.
const CONDITION: &str = "tag";
/// The scanner's name for Docker Hub, which settings and references call `docker.io`.
const DOCKER_HUB: &str = "index.docker.io";

/// SBOMscanner, as the policy's settings have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SbomScanner {
    namespace: String,
    /// Empty: all that an image has.
    platforms: Vec<Platform>,
    auth_secrets: BTreeMap<String, String>,
}

impl SbomScanner {
    /// None if the source names no namespace whose reports count for every workload.
    pub(super) fn new(source: &Source, platforms: &Platforms, settings: &SbomScannerScans) -> Option<Self> {
        let platforms = match platforms {
            Platforms::All => Vec::new(),
            Platforms::Listed(listed) => listed.clone(),
        };
        let namespace = source.namespaces.named.first()?.clone();
        Some(Self { namespace, platforms, auth_secrets: settings.auth_secrets.clone() })
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// One scan for the tag: it covers every platform.
    pub(super) fn judge(reference: &ImageReference, report: &ScanReport) -> Judgement {
        let worst = report.platforms.iter().map(|platform| presence(platform.state));
        let worst = worst.reduce(|worst, next| match (worst, next) {
            (Presence::Missing, _) | (_, Presence::Missing) => Presence::Missing,
            (Presence::Pending, _) | (_, Presence::Pending) => Presence::Pending,
            (Presence::Reported, Presence::Reported) => Presence::Reported,
        });
        let (Some(presence), Some(digest)) = (worst, &report.digest) else { return Judgement::NotAsked };
        let Some(id) = Self::scan_of(reference) else {
            // Somebody else's report may be there all the same.
            let is_there = presence == Presence::Reported;
            return if is_there { Judgement::NotAsked } else { Judgement::Impossible(ScanFailure::DigestAlone) };
        };
        Judgement::Known(vec![(id, Target { reference: reference.clone(), digest: digest.clone() }, presence)])
    }

    /// The scan of a tag; none of a digest alone.
    pub(super) fn scan_of(reference: &ImageReference) -> Option<ScanId> {
        let tag = reference.tag()?;
        Some(ScanId::of(&format!("{}:{tag}", reference.name())))
    }

    pub(super) fn request(&self, id: &ScanId, target: &Target, attempt: u32) -> [NewObject; 2] {
        let Target { reference, .. } = target;
        let (tag, name) = (reference.tag().unwrap_or_default(), format!("{PREFIX}{id}"));
        let host = if reference.host() == "docker.io" { DOCKER_HUB } else { reference.host() };
        let mut registry = json!({
            "uri": host,
            "catalogType": "NoCatalog",
            "repositories": [{
                "name": reference.repository(),
                // A tag has neither quotes nor backslashes.
                "matchConditions": [{"name": CONDITION, "expression": format!("tag == \"{tag}\"")}],
            }],
        });
        if let Some(spec) = registry.as_object_mut() {
            if !self.platforms.is_empty() {
                spec.insert("platforms".to_owned(), self.platforms.iter().map(platform).collect());
            }
            if let Some(secret) = self.auth_secrets.get(reference.host()) {
                spec.insert("authSecret".to_owned(), secret.as_str().into());
            }
        }
        let repositories = json!([{"name": reference.repository(), "matchConditions": [CONDITION]}]);
        let scan_job = json!({"registry": name, "repositories": repositories});
        let object = |kind: Kind, name: String, spec: Value| NewObject {
            kind,
            namespace: self.namespace.clone(),
            object: json!({
                "apiVersion": kind.api_version,
                "kind": kind.kind,
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": {MANAGED_BY: COMPANION},
                    "annotations": {IMAGE: target.to_string()},
                },
                "spec": spec,
            }),
        };
        let job = format!("{name}-{attempt}");
        [object(REGISTRY, name, registry), object(SCAN_JOB, job, scan_job)]
    }

    pub(super) fn read_request(object: &Value) -> Option<Request> {
        read_request(object, PREFIX, end(object))
    }

    pub(super) fn read_shared(object: &Value) -> Option<Shared> {
        let (name, uid) = ours(object)?;
        let id = ScanId::read(name.strip_prefix(PREFIX)?)?;
        Some(Shared { id, name: name.to_owned(), uid: uid.to_owned() })
    }

    pub(super) fn scan_of_report(report: &Value) -> Option<(ScanId, u32)> {
        let registry = report.pointer("/imageMetadata/registry")?.as_str()?;
        Some((ScanId::read(registry.strip_prefix(PREFIX)?)?, 0))
    }
}

/// A platform as a Registry spells it.
fn platform(platform: &Platform) -> Value {
    let name = platform.text();
    let mut parts = name.split('/');
    let mut of = json!({"os": parts.next(), "arch": parts.next()});
    if let (Some(variant), Some(of)) = (parts.next(), of.as_object_mut()) {
        of.insert("variant".to_owned(), variant.into());
    }
    of
}

/// How a ScanJob says that it has ended, by its conditions `Complete` and `Failed`.
fn end(scan_job: &Value) -> Option<End> {
    match (condition(scan_job, "Failed"), condition(scan_job, "Complete")) {
        (Some(_), _) => Some(End::Failed(ScanFailure::Scanner)),
        (None, Some("NoImagesToScan")) => Some(End::Failed(ScanFailure::NothingToScan)),
        (None, Some(_)) => Some(End::Complete),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_judgement::report::companions_registry;

    /// The policy looks for reports of the companion's Registries by the names that it computes.
    #[test]
    fn the_policy_knows_the_names_of_registries() {
        let reference = ImageReference::parse("nginx:1.27").unwrap();
        let id = ScanId::of(&format!("{}:1.27", reference.name()));
        assert_eq!(companions_registry(&reference, "1.27"), format!("{PREFIX}{id}"));
        assert_eq!(companions_registry(&reference, "1.27").len(), PREFIX.len() + 32);
    }
}
