//! Pinning: writes the digest that was judged, so that exactly that runs.

use crate::judged::JudgedImage;
use crate::request::AdmissionRequest;
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{UnreadableObject, WorkloadImage};
use image_admission_settings::Pin;
use image_admission_untrusted::pointer;
use serde_json::{Map, Value};

/// The prefix of the annotations of Sysdig's admission controller, so that their readers still work.
const ANNOTATION_PREFIX: &str = "admission.sysdig.com/";

/// The annotation of a mirror Pod: a node made it from a file of its own, and runs that.
const MIRROR_POD: &str = "kubernetes.io/config.mirror";

/// An image that an update names only by its tag, and that keeps its previous digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeptPin {
    pub(crate) image: WorkloadImage,
    pub(crate) digest: String,
}

/// Whether digests are written into an object. They aren't if its maker compares the object with what it wrote: a controller would
/// write it again for ever, and a node ignores changes of its mirror Pods. They are written into Pods of controllers, which none of
/// Kubernetes' controllers compares.
pub(crate) fn is_written(object: &Value, workload: WorkloadKind, settings: &Pin) -> bool {
    let is_made_by_others = match workload {
        WorkloadKind::Pod => {
            let annotations = pointer::at(object, "/metadata/annotations");
            annotations.is_some_and(|annotations| annotations.get(MIRROR_POD).is_some())
        }
        _ => {
            let owners = pointer::at(object, "/metadata/ownerReferences").and_then(Value::as_array);
            owners.into_iter().flatten().any(|owner| owner.get("controller") == Some(&Value::Bool(true)))
        }
    };
    settings.enabled && settings.kinds.contains(&workload) && !is_made_by_others
}

/// Whether the images of an object are pinned, by its own request or by the requests for its Pods.
pub(crate) fn reaches(object: &Value, workload: WorkloadKind, settings: &Pin) -> bool {
    let reaches_pods = settings.enabled && settings.kinds.contains(&WorkloadKind::Pod);
    is_written(object, workload, settings) || workload.is_template() && reaches_pods
}

/// Writes the digests of the judged images, and those that images keep, into the object, and their names into annotations. Returns
/// whether anything was written, and notes each pinned image in `images`.
///
/// # Errors
/// The object's annotations are no object, so nothing can be written there.
pub(crate) fn pin(
    object: &mut Value,
    images: &mut [JudgedImage],
    kept: &[KeptPin],
    workload: WorkloadKind,
    request: &AdmissionRequest<'_>,
    settings: &Pin,
) -> Result<bool, UnreadableObject> {
    if !is_written(object, workload, settings) {
        return Ok(false);
    }
    let mut annotations = Vec::new();
    let mut write = |image: &WorkloadImage, digest: &str| {
        let text = pointer::at_mut(object, &image.pointer)?;
        let name = image.text.split_once('@').map_or(image.text.as_str(), |(name, _)| name);
        let pinned = [name, "@", digest].concat();
        *text = Value::String(pinned.clone());
        let key = image.key();
        let name = |what| [ANNOTATION_PREFIX, &key, what].concat();
        annotations.push((name("-mutated-image"), Value::String(pinned.clone())));
        annotations.push((name("-original-image"), Value::String(image.text.clone())));
        Some(pinned)
    };
    for judged in images.iter_mut().filter(|judged| !judged.is_left_unpinned()) {
        judged.is_excluded = settings.excludes(&judged.reference);
        if judged.is_excluded {
            continue;
        }
        let scanned = judged.scan.as_ref().and_then(|scan| scan.report.as_ref()?.pin.clone());
        let digest = scanned.or_else(|| judged.digest.clone());
        // A digest that is there already is replaced if it is that of an index with one wanted platform.
        let digest = digest.filter(|digest| judged.reference.digest() != Some(digest));
        judged.pinned = digest.and_then(|digest| write(&judged.image, &digest));
    }
    for KeptPin { image, digest } in kept {
        if !image.reference.as_ref().is_ok_and(|reference| settings.excludes(reference)) {
            write(image, digest);
        }
    }
    let written = !annotations.is_empty();
    // The API server drops what the subresource changes outside its list.
    if written && settings.annotations && request.sub_resource != EPHEMERAL_CONTAINERS {
        annotate(object, workload.pod_pointer(), Map::from_iter(annotations))?;
    }
    Ok(written)
}

/// The subresource that adds containers to a running Pod.
pub(crate) const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";

fn annotate(object: &mut Value, pod: &str, mut annotations: Map<String, Value>) -> Result<(), UnreadableObject> {
    let wrong = |pointer: String| UnreadableObject { pointer, expected: "an object" };
    let owner = pointer::at_mut(object, pod).and_then(Value::as_object_mut).ok_or_else(|| wrong(pod.to_owned()))?;
    let metadata = child(owner, "metadata").ok_or_else(|| wrong(format!("{pod}/metadata")))?;
    let kept = child(metadata, "annotations").ok_or_else(|| wrong(format!("{pod}/metadata/annotations")))?;
    kept.append(&mut annotations);
    Ok(())
}

/// The object at a key, made if there is none.
fn child<'o>(owner: &'o mut Map<String, Value>, key: &str) -> Option<&'o mut Map<String, Value>> {
    let value = owner.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
