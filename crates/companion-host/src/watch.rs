//! One watch of one kind, for as long as the companion leads.

use crate::work::Heard;
use futures::StreamExt;
use image_admission_image::workload::WorkloadKind;
use kube::Client;
use kube::api::{Api, ApiResource, ListParams};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use std::collections::BTreeSet;
use tokio::sync::mpsc::Sender;

/// How many objects a page has: reports are large, and a page is read whole.
const PAGE: u32 = 50;
/// The same where only metadata is read.
const METADATA_PAGE: u32 = 500;

/// What a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Workloads of a kind.
    Workloads(WorkloadKind),
    /// The objects by which we ask for scans.
    Requests,
    /// What these objects share.
    Shared,
    /// What the engine reads: reports, and what belongs to them.
    Reports,
    /// Namespaces, with their labels.
    Namespaces,
}

/// What a watch has seen.
#[derive(Debug)]
pub(crate) enum Seen {
    /// An object as it is now.
    Applied(Box<DynamicObject>),
    /// An object as it was before it went.
    Deleted(Box<DynamicObject>),
    /// Everything was listed: these are the identities of all that is there.
    Listed(BTreeSet<String>),
    /// The watch failed. It goes on by itself.
    Failed(String),
}

/// A kind, and where it is watched.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) purpose: Purpose,
    pub(crate) resource: ApiResource,
    /// None: everywhere.
    pub(crate) namespace: Option<String>,
}

impl Subject {
    pub(crate) fn new(purpose: Purpose, api_version: &str, kind: &str, namespace: Option<&str>) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Self { purpose, resource, namespace: namespace.map(str::to_owned) }
    }

    /// Its `apiVersion` and kind.
    pub(crate) fn kind(&self) -> (&str, &str) {
        (&self.resource.api_version, &self.resource.kind)
    }

    fn api(&self, client: Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }

    pub(crate) fn workloads(kind: WorkloadKind) -> Self {
        let api_version = if kind.group().is_empty() { "v1".to_owned() } else { format!("{}/v1", kind.group()) };
        Self::new(Purpose::Workloads(kind), &api_version, kind.name(), None)
    }
}

/// Watches until nobody listens. What comes while nobody takes it waits at the API server.
///
/// `number` is the subject's place among all.
pub(crate) async fn watch(client: Client, number: usize, subject: Subject, heard: Sender<Heard>) {
    let mut events = watcher(subject.api(client), Config::default().page_size(PAGE)).default_backoff().boxed();
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        let what = match event {
            Ok(Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed.extend(object.metadata.uid.clone());
                Seen::Applied(Box::new(of_kind(object, &subject)))
            }
            Ok(Event::InitDone) => Seen::Listed(std::mem::take(&mut listed)),
            Ok(Event::Apply(object)) => Seen::Applied(Box::new(of_kind(object, &subject))),
            Ok(Event::Delete(object)) => Seen::Deleted(Box::new(of_kind(object, &subject))),
            Err(error) => Seen::Failed(error.to_string()),
        };
        if heard.send(Heard::Seen(number, what)).await.is_err() {
            return;
        }
    }
}

/// The identities of all that is there, by their metadata alone.
///
/// # Errors
/// What the API server says.
pub(crate) async fn identities(client: Client, subject: &Subject) -> Result<BTreeSet<String>, kube::Error> {
    let api = subject.api(client);
    let (mut identities, mut page) = (BTreeSet::new(), ListParams::default().limit(METADATA_PAGE));
    loop {
        let list = api.list_metadata(&page).await?;
        identities.extend(list.items.into_iter().filter_map(|object| object.metadata.uid));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(identities),
        }
    }
}

/// In a list, objects may leave it to the list to say what they are.
fn of_kind(mut object: DynamicObject, subject: &Subject) -> DynamicObject {
    object.types.get_or_insert_with(|| kube::core::TypeMeta {
        api_version: subject.resource.api_version.clone(),
        kind: subject.resource.kind.clone(),
    });
    object
}
