//! A host that is asked about images at the mirrors of their registries.
//!
//! Whoever asks names images by their canonical names. This is the only place where these become names at a mirror, so that
//! no question finds its way to a registry that has one: not about digests, manifests, artifacts or signatures.

use super::{AccessReview, Document, Host, HostFailure, NOBODY_TO_ASK, Resource};
use image_admission_settings::{Identity, Mirror, Mirrors};
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Passes questions on: those about images of a registry that has a mirror, by the names that they have there.
#[derive(Debug)]
pub struct MirroredHost<'a> {
    host: &'a dyn Host,
    mirrors: &'a Mirrors,
}

impl<'a> MirroredHost<'a> {
    /// A host that is asked about images where their mirrors are.
    pub fn new(host: &'a dyn Host, mirrors: &'a Mirrors) -> Self {
        Self { host, mirrors }
    }

    /// Asks about an image where it is to be asked for. A failure says where that was.
    fn ask<T>(
        &self,
        image: &str,
        question: impl FnOnce(&dyn Host, &str) -> Result<T, HostFailure>,
    ) -> Result<T, HostFailure> {
        let Some((mirror, name)) = self.mirror_of(image) else { return question(self.host, image) };
        let place: Cow<'_, str> = match mirror.name_of(name) {
            _ if !is_on(Remedy::AskTheMirror) => image.into(),
            Some(place) => place.into(),
            // Whoever names the image chose its length.
            None => return Err(HostFailure::Malformed(format!("its name is too long for the mirror `{mirror}`"))),
        };
        question(self.host, &place).map_err(|failure| failure.and(&format!("its mirror `{mirror}` was asked")))
    }

    /// The mirror of an image's registry, and what the registry calls the image.
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
    /// The same failure, with more to say of it. That nobody was asked at all stays as it is.
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
