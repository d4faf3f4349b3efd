//! Pinning: writing the digest that was judged, so that what runs is what was looked at.

use crate::image::UnreadableObject;
use crate::judged::JudgedImage;
use crate::pointer;
use crate::request::AdmissionRequest;
use crate::settings::Pin;
use crate::word::split_once;
use crate::workload::WorkloadKind;
use serde_json::{Map, Value};

/// The original's annotations, so that what reads them goes on working.
const ANNOTATION_PREFIX: &str = "admission.sysdig.com/";

/// Writes the digests of the judged images into the object, and the names into annotations. Says whether anything was
/// written; each written image is noted in `images`.
///
/// # Errors
/// The object's annotations are no object, so that nothing can be written there.
pub(crate) fn pin(
    object: &mut Value,
    images: &mut [JudgedImage],
    workload: WorkloadKind,
    request: &AdmissionRequest<'_>,
    settings: &Pin,
) -> Result<bool, UnreadableObject> {
    if !settings.enabled || !settings.kinds.contains(&workload) {
        return Ok(false);
    }
    let mut annotations = Vec::new();
    for judged in images.iter_mut().filter(|judged| !judged.is_left_unpinned()) {
        let scanned = judged.scan.as_ref().and_then(|scan| scan.report.as_ref()?.pin.clone());
        let digest = scanned.or_else(|| judged.digest.clone());
        // A digest that stands there already is replaced where it is an index's of which one platform is asked for.
        let digest = digest.filter(|digest| judged.reference.digest() != Some(digest));
        let (Some(digest), Some(text)) = (digest, pointer::at_mut(object, &judged.image.pointer)) else { continue };
        let name = split_once(&judged.image.text, b'@').map_or(judged.image.text.as_str(), |(name, _)| name);
        let pinned = [name, "@", &digest].concat();
        *text = Value::String(pinned.clone());
        let key = judged.image.key();
        let name = |what| [ANNOTATION_PREFIX, &key, what].concat();
        annotations.push((name("-mutated-image"), Value::String(pinned.clone())));
        annotations.push((name("-original-image"), Value::String(judged.image.text.clone())));
        judged.pinned = Some(pinned);
    }
    let written = !annotations.is_empty();
    // The API server drops what the subresource brings outside its list.
    if written && settings.annotations && request.sub_resource != EPHEMERAL_CONTAINERS {
        // Brought into their order at once: one by one, each would be compared with many.
        annotate(object, workload.pod_pointer(), Map::from_iter(annotations))?;
    }
    Ok(written)
}

/// The subresource that adds containers to a Pod that runs.
pub(crate) const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";

fn annotate(object: &mut Value, pod: &str, mut annotations: Map<String, Value>) -> Result<(), UnreadableObject> {
    let wrong = |pointer: String| UnreadableObject { pointer, expected: "an object" };
    let owner = pointer::at_mut(object, pod).and_then(Value::as_object_mut).ok_or_else(|| wrong(pod.to_owned()))?;
    let metadata = child(owner, "metadata").ok_or_else(|| wrong(format!("{pod}/metadata")))?;
    let kept = child(metadata, "annotations").ok_or_else(|| wrong(format!("{pod}/metadata/annotations")))?;
    kept.append(&mut annotations);
    Ok(())
}

/// The object at a key, made when there is none.
fn child<'o>(owner: &'o mut Map<String, Value>, key: &str) -> Option<&'o mut Map<String, Value>> {
    let value = owner.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}
