//! How the host words its answers about Kubernetes objects, wherever the objects come from.

use std::collections::BTreeSet;

use kube_core::{DynamicObject, ObjectList, ResourceExt, TypeMeta};

use super::field_mask::FieldMask;
use super::to_json;

/// The annotation that repeats the whole object; the host drops it from lists, to save memory.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The answer to `get_resource`.
pub(super) fn object(mut object: DynamicObject, field_masks: Option<&BTreeSet<String>>) -> Result<Vec<u8>, String> {
    mask(&mut object, field_masks);
    to_json(&object)
}

/// The answer to the list operations.
pub(super) fn list(
    api_version: &str,
    kind: &str,
    mut items: Vec<DynamicObject>,
    field_masks: Option<&BTreeSet<String>>,
) -> Result<Vec<u8>, String> {
    for item in &mut items {
        // These leave an empty list and an empty map behind where there was nothing; so does the host.
        item.managed_fields_mut().clear();
        item.annotations_mut().remove(LAST_APPLIED);
        mask(item, field_masks);
    }
    to_json(&ObjectList {
        types: TypeMeta { api_version: api_version.to_owned(), kind: format!("{kind}List") },
        metadata: kube_core::ListMeta::default(),
        items,
    })
}

/// The text for an object that doesn't exist. Policies tell it from a failure by this text.
pub(super) fn not_found(api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> String {
    format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
}

/// The text for a namespaced kind that is asked for without a namespace.
pub(super) fn needs_namespace(api_version: &str, kind: &str) -> String {
    format!("Resource {api_version}/{kind} is namespaced, but no namespace was provided")
}

/// The text for a kind without namespaces that is asked for in one.
pub(super) fn is_cluster_wide(api_version: &str, kind: &str) -> String {
    format!("resource {api_version}/{kind} is cluster wide. Cannot search for it inside of a namespace")
}

/// A mask never touches the API version, the kind and the metadata.
fn mask(object: &mut DynamicObject, field_masks: Option<&BTreeSet<String>>) {
    if let Some(paths) = field_masks {
        FieldMask::new(paths).prune(&mut object.data);
    }
}
