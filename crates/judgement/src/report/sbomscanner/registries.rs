//! Registry resources of sbomscanner. Each report belongs to one, and its name is made of that one's, so that they give the names of
//! all reports of a tag.
//!
//! The companion has the scanner look at a tag by a Registry for this tag alone. There are as many of these as images, so they aren't
//! listed: the tag gives their names.

use super::{DOCKER_HUB, hash, progress, scanners_host};
use crate::report::cluster::{self, Named, Objects};
use image_admission_host::{Host, HostFailure};
use image_admission_image::{ImageReference, canonical_host};
use image_admission_untrusted::json::JsonString;
use serde::Deserialize;
use std::collections::BTreeMap;

pub(super) const KIND: (&str, &str) = (progress::API_VERSION, "Registry");
/// The same for every request: the host keeps a watch open for each different mask and selector.
const FIELDS: [&str; 1] = ["spec.uri"];
const NOT_THE_COMPANIONS: &str = "app.kubernetes.io/managed-by!=image-admission-companion";
/// What the names of the companion's Registries begin with.
const COMPANIONS: &str = "image-admission-";
/// What the names of those of workload scanning begin with.
const WORKLOAD_SCANS: &str = "workloadscan-";
/// Each costs a call for each platform, which the host doesn't cache: those of more than so many cost more than a list.
const FEW: usize = 8;

/// The Registries, by namespace, once they were needed.
pub(super) struct Registries<'a> {
    objects: Objects<'a>,
    /// Those that the companion didn't make. None if they can't be read: it isn't tried again.
    lists: BTreeMap<&'a str, Option<Vec<Registry>>>,
    /// Whether there is a Registry of the companion's, by namespace and name.
    companions: BTreeMap<(&'a str, String), bool>,
}

/// A Registry, as far as it has a part in names of reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Registry {
    pub(super) name: String,
    /// The registry's host as the scanner writes it.
    pub(super) host: String,
}

/// The name of the Registry that workload scanning makes for a host.
pub(super) fn workload_scan(host: &str) -> String {
    format!("{WORKLOAD_SCANS}{}", hash(host))
}

impl Registry {
    /// The name of a report that it has of an image, by what it knows the image by.
    pub(super) fn report_name(&self, image: &ImageReference, known: &str, digest: &str) -> String {
        super::report_name(&self.name, &self.host, image, known, digest)
    }

    /// Whether it knows images that are pinned, each by its digest in the place of a tag.
    pub(super) fn knows_digests(&self) -> bool {
        self.name.starts_with(WORKLOAD_SCANS)
    }
}

/// The name of the Registry by which the companion has sbomscanner look at a tag, and at nothing else.
#[must_use]
pub fn companions_registry(image: &ImageReference, tag: &str) -> String {
    let mut identity = hash(&format!("{}:{tag}", image.name()));
    identity.truncate(32);
    format!("{COMPANIONS}{identity}")
}

impl<'a> Registries<'a> {
    pub(super) fn new(host: &'a dyn Host) -> Self {
        let (api_version, kind) = KIND;
        Self { objects: Objects::new(host, api_version, kind), lists: BTreeMap::new(), companions: BTreeMap::new() }
    }

    /// All Registries of a namespace by which the scanner may know a tag. None if the cluster doesn't tell, since it shows no Registry
    /// there at all or none can be read; and if there are many.
    pub(super) fn of(&mut self, namespace: &'a str, image: &ImageReference, tag: &str) -> Option<Vec<Registry>> {
        if self.lists.get(namespace).is_some_and(Option::is_none) {
            return None;
        }
        let name = companions_registry(image, tag);
        let place = (namespace, name.clone());
        let is_asked_for = match self.companions.get(&place) {
            Some(is_there) => *is_there,
            None => match self.objects.get(namespace, &name, &FIELDS) {
                Ok(found) => *self.companions.entry(place).or_insert(found.is_some()),
                Err(_) => {
                    self.lists.insert(namespace, None);
                    return None;
                }
            },
        };
        let listed = self.lists.entry(namespace).or_insert_with(|| list(&mut self.objects, namespace).ok());
        let listed = listed.as_ref()?;
        if listed.is_empty() && !is_asked_for {
            return None;
        }
        let has_host = |registry: &&Registry| canonical_host(&registry.host).is_ok_and(|host| host == image.host());
        let mut registries: Vec<Registry> = listed.iter().filter(has_host).cloned().collect();
        if is_asked_for {
            registries.push(Registry { name, host: scanners_host(image).to_owned() });
        }
        Some(registries).filter(|registries| registries.len() <= FEW)
    }
}

fn list(objects: &mut Objects<'_>, namespace: &str) -> Result<Vec<Registry>, HostFailure> {
    let document = objects.list(namespace, Some(NOT_THE_COMPANIONS), &FIELDS)?;
    let items: Vec<Item<'_>> = cluster::items(&document, namespace)?;
    Ok(items.into_iter().map(Registry::from).collect())
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow)]
    metadata: Named<'a>,
    #[serde(borrow)]
    spec: Option<Spec<'a>>,
}

#[derive(Deserialize)]
struct Spec<'a> {
    #[serde(borrow)]
    uri: Option<JsonString<'a>>,
}

impl cluster::Listed for Item<'_> {
    fn named(&self) -> &Named<'_> {
        &self.metadata
    }
}

impl From<Item<'_>> for Registry {
    fn from(item: Item<'_>) -> Self {
        let uri = item.spec.and_then(|spec| spec.uri).map_or(String::new(), |uri| uri.0.into_owned());
        // The scanner has one name for Docker Hub, which is meant where none is named, too.
        let host = if matches!(&*uri, "" | "docker.io") { DOCKER_HUB.to_owned() } else { uri };
        Self { name: item.metadata.name.0.into_owned(), host }
    }
}
