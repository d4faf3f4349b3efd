//! The objects of a kind, as the API server hands them out and takes them.

use image_admission_image::workload::WorkloadKind;
use kube::api::{Api, ApiResource};
use kube::core::{DynamicObject, DynamicResourceScope, GroupVersionKind};
use kube::{Client, Resource};

/// A kind, by its `apiVersion`.
pub(crate) fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// A kind of workloads.
pub(crate) fn resource_of(workload: WorkloadKind) -> ApiResource {
    let group = workload.group();
    let api_version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    resource(&api_version, workload.name())
}

/// The objects of a kind, in a namespace or everywhere.
pub(crate) fn objects(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    objects_as(client, resource, namespace)
}

/// The same, read as another type.
pub(crate) fn objects_as<K>(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}
