//! A host with a limited number of calls for one request.

use super::{AccessReview, Document, Host, HostFailure, Resource};
use image_admission_settings::Identity;
use image_admission_untrusted::memory;
use std::cell::Cell;
use std::collections::BTreeMap;

/// The most bytes that a request may have hashed to prove its manifests. Their pushers choose how large they are, and each is tried in
/// many spellings: 8 MiB took the module 0.28 s. What common tools write is found among the first.
const MAX_HASHED: usize = 16 << 20;

/// Passes calls on, up to a number. Pod authors and pushers influence how many calls there are, and each call holds a worker of the
/// policy server.
#[derive(Debug)]
pub struct CountedHost<'a> {
    host: &'a dyn Host,
    most: usize,
    asked: Cell<usize>,
    hashed: Cell<usize>,
}

impl<'a> CountedHost<'a> {
    /// A host with at most so many calls.
    pub fn new(host: &'a dyn Host, most: usize) -> Self {
        Self { host, most, asked: Cell::new(0), hashed: Cell::new(0) }
    }

    /// Whether there were too many calls. Then the decision doesn't rest on all answers.
    pub fn is_exceeded(&self) -> bool {
        self.asked.get() > self.most
    }

    fn ask<T>(&self, question: impl FnOnce(&dyn Host) -> Result<T, HostFailure>) -> Result<T, HostFailure> {
        self.asked.set(self.asked.get().saturating_add(1));
        if self.is_exceeded() {
            return Err(HostFailure::Failed("the request makes more host calls than `maxHostCalls` allows".to_owned()));
        }
        if memory::is_used_up() {
            return Err(HostFailure::Malformed("the request takes more memory than it may".to_owned()));
        }
        question(self.host)
    }
}

impl Host for CountedHost<'_> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        self.ask(|host| host.manifest_digest(image))
    }

    fn digest_at_registry(&self, image: &str) -> Result<String, HostFailure> {
        self.ask(|host| host.digest_at_registry(image))
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask(|host| host.manifest(image))
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        self.ask(|host| host.get_resource(resource, fields))
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        self.ask(|host| host.whole_resource(resource))
    }

    fn list_resources(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure> {
        self.ask(|host| host.list_resources(api_version, kind, namespace, label_selector, fields))
    }

    fn list_all_resources(&self, api_version: &str, kind: &str) -> Result<Document, HostFailure> {
        self.ask(|host| host.list_all_resources(api_version, kind))
    }

    fn artifact(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask(|host| host.artifact(image))
    }

    fn verify(
        &self,
        image: &str,
        identity: &Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<String, HostFailure> {
        self.ask(|host| host.verify(image, identity, annotations))
    }

    fn may(&self, review: &AccessReview<'_>) -> Result<bool, HostFailure> {
        self.ask(|host| host.may(review))
    }

    fn has_room_for(&self, calls: usize) -> bool {
        self.asked.get().saturating_add(calls) <= self.most
    }

    fn may_hash(&self, bytes: usize) -> bool {
        self.hashed.set(self.hashed.get().saturating_add(bytes));
        self.hashed.get() <= MAX_HASHED
    }
}
