//! The workloads of a cluster, as the API server lists them.

use std::collections::BTreeMap;
use std::io::Write;

use image_admission_image::workload::WorkloadKind;
use image_admission_module_host::answers::live::Live;

use super::collection::Collection;
use crate::command::progress::Progress;
use image_admission_manifests::document::{Document, Place};

/// Lists every kind that has a pod spec, in one namespace or in all of them. What can't be listed is among the problems.
pub(super) fn workloads(live: &Live, namespace: Option<&str>, progress: &Progress<impl Write>) -> Collection {
    let mut collection = Collection::default();
    let mut listed = 0;
    let mut failures: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for kind in WorkloadKind::ALL {
        let api_version = match kind.group() {
            "" => "v1".to_owned(),
            group => format!("{group}/v1"),
        };
        let mut read = |objects| {
            listed += objects;
            progress.begin(&format!("listing the cluster: {listed} objects"));
        };
        match live.everything(&api_version, kind.name(), namespace, &mut read) {
            Ok(objects) => {
                for json in objects {
                    collection.add(Document { place: Place::within("the cluster"), json }, namespace);
                }
            }
            Err(why) => failures.entry(why).or_default().push(kind.resource()),
        }
    }
    let said = failures.into_iter().map(|(why, kinds)| format!("cannot list {}: {why}", kinds.join(", ")));
    collection.problems.extend(said);
    collection
}

/// Adds the labels of every namespace. If they can't be listed, that is among the problems.
pub(super) fn add_namespaces(live: &Live, collection: &mut Collection) {
    match live.everything("v1", "Namespace", None, &mut |_| {}) {
        Ok(namespaces) => namespaces.iter().for_each(|json| collection.add_namespace_of_cluster(json)),
        Err(why) => collection
            .problems
            .push(format!("cannot list namespaces, which the policy's `namespaceSelector` needs: {why}")),
    }
}
