//! A host that looks images up at the mirrors of their registries.
//!
//! Callers use canonical names. Only here do these become names at a mirror. So no call about manifests, artifacts or signatures
//! goes to a registry that has a mirror. Only [`Host::digest_at_registry`] does.

use super::{AccessReview, Document, Host, HostFailure, NOBODY_TO_ASK, Resource};
use image_admission_settings::{Identity, Mirror, Mirrors};
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Passes calls on. For images of a registry that has a mirror, it uses their names at the mirror.
#[derive(Debug)]
pub struct MirroredHost<'a> {
    host: &'a dyn Host,
    mirrors: &'a Mirrors,
}

impl<'a> MirroredHost<'a> {
    /// A host that looks images up at these mirrors.
    pub fn new(host: &'a dyn Host, mirrors: &'a Mirrors) -> Self {
        Self { host, mirrors }
    }

    /// Makes a call about an image, to its mirror if there is one. A failure then names the mirror.
    fn ask<T>(
        &self,
        image: &str,
        question: impl FnOnce(&dyn Host, &str) -> Result<T, HostFailure>,
    ) -> Result<T, HostFailure> {
        let Some((mirror, name)) = self.mirror_of(image) else { return question(self.host, image) };
        let place: Cow<'_, str> = match mirror.name_of(name) {
            _ if !is_on(Remedy::AskTheMirror) => image.into(),
            Some(place) => place.into(),
            // The Pod author chose its length.
            None => return Err(HostFailure::Malformed(format!("its name is too long for the mirror `{mirror}`"))),
        };
        question(self.host, &place).map_err(|failure| failure.and(&format!("its mirror `{mirror}` was asked")))
    }

    /// The mirror of an image's registry, and the image's name at that registry.
    fn mirror_of<'i>(&self, image: &'i str) -> Option<(&'a Mirror, &'i str)> {
        if self.mirrors.is_empty() {
            return None;
        }
        let (registry, name) = image.split_once('/')?;
        Some((self.mirrors.of(registry)?, name))
    }
}

impl Host for MirroredHost<'_> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        self.ask(image, |host, image| host.manifest_digest(image))
    }

    fn digest_at_registry(&self, image: &str) -> Result<String, HostFailure> {
        let failed = |failure: HostFailure| failure.and("the registry itself was asked, beside its mirror");
        self.host.manifest_digest(image).map_err(failed)
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask(image, |host, image| host.manifest(image))
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        self.host.get_resource(resource, fields)
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        self.host.whole_resource(resource)
    }

    fn list_resources(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure> {
        self.host.list_resources(api_version, kind, namespace, label_selector, fields)
    }

    fn list_all_resources(&self, api_version: &str, kind: &str) -> Result<Document, HostFailure> {
        self.host.list_all_resources(api_version, kind)
    }

    fn artifact(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask(image, |host, image| host.artifact(image))
    }

    fn verify(
        &self,
        image: &str,
        identity: &Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<String, HostFailure> {
        self.ask(image, |host, image| host.verify(image, identity, annotations))
    }

    fn may(&self, review: &AccessReview<'_>) -> Result<bool, HostFailure> {
        self.host.may(review)
    }
}

impl HostFailure {
    /// The same failure with an addition to its text. Denied rights, [`NOBODY_TO_ASK`] and missing signatures stay unchanged.
    fn and(self, more: &str) -> Self {
        let with = |text: String| format!("{text} ({more})");
        match self {
            Self::NotFound(text) => Self::NotFound(with(text)),
            Self::Denied(text) => Self::Denied(with(text)),
            Self::Refused(refusal, text) => Self::Refused(refusal, with(text)),
            Self::TooManyRequests(text) => Self::TooManyRequests(with(text)),
            Self::Malformed(text) => Self::Malformed(with(text)),
            Self::Failed(text) if text != NOBODY_TO_ASK => Self::Failed(with(text)),
            other @ (Self::NotGranted(_) | Self::Withheld(_) | Self::NotTrusted(_) | Self::Failed(_)) => other,
        }
    }
}
