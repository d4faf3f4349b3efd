//! The images that a request brings: those that weren't in the object before.
//!
//! Images that ran before are not judged again. Otherwise not even an old ReplicaSet could be scaled down.

use crate::context::RequestContext;
use crate::pin::{self, EPHEMERAL_CONTAINERS, KeptPin};
use crate::request::Operation;
use image_admission_image::workload::WorkloadKind;
use image_admission_image::{ImageList, UnreadableObject, WorkloadImage, images};
use image_admission_judgement::resolve::{Digests, Purpose, find_digest, resolve_digest};
use image_admission_settings::{Platforms, Settings};
use serde_json::Value;
use std::collections::BTreeMap;

/// The images of a request that are judged, and what is known of the others.
#[derive(Debug, Default)]
pub(crate) struct NewImages {
    /// The judged images, in the order of the object.
    pub(crate) images: Vec<WorkloadImage>,
    /// Those that an update names only by their tag, and that are pinned to the tag's present digest: they keep it.
    pub(crate) kept: Vec<KeptPin>,
    /// Those of a controller's template that another webhook fills in the Pod.
    pub(crate) placeholders: Vec<WorkloadImage>,
    /// What tags were resolved to, so that nothing resolves them again.
    pub(crate) digests: Digests,
}

/// The images that a request brings: all of a new object, the changed and added ones of an update, and for a Pod's subresource for
/// ephemeral containers only those containers'.
///
/// # Errors
/// What can't be read, with its JSON pointer.
pub(crate) fn new_images(
    context: RequestContext<'_>,
    object: &Value,
    workload: WorkloadKind,
) -> Result<NewImages, UnreadableObject> {
    let RequestContext { request, settings, .. } = context;
    let mut new = NewImages { images: images(object, workload)?, ..NewImages::default() };
    if request.sub_resource == EPHEMERAL_CONTAINERS {
        new.images.retain(|image| image.list == ImageList::Ephemeral);
    }
    if request.operation == Operation::Update
        && let Some(old) = request.old_object()
        && let Ok(old) = images(&old, workload)
    {
        let by_name = |image: &WorkloadImage| (image.list, image.container.clone());
        // Of several with one name the first counts.
        let old: BTreeMap<_, _> = old.into_iter().rev().map(|image| (by_name(&image), image)).collect();
        for image in std::mem::take(&mut new.images) {
            let before = old.get(&by_name(&image)).filter(|old| old.is_in_the_place_of(&image));
            if before.is_some_and(|before| is_unchanged(before, &image, workload)) {
                continue;
            }
            let kept = before.and_then(|before| kept_pin(context, before, &image, object, workload, &mut new.digests));
            match kept {
                Some(kept) => new.kept.push(kept),
                None => new.images.push(image),
            }
        }
    }
    (new.placeholders, new.images) =
        new.images.into_iter().partition(|image| is_placeholder(image, Some(workload), settings));
    Ok(new)
}

/// Whether a template's image is one that another webhook fills in the Pod. White space counts as blank, as OpenShift's templates
/// write it.
pub(crate) fn is_placeholder(image: &WorkloadImage, workload: Option<WorkloadKind>, settings: &Settings) -> bool {
    workload.is_some_and(WorkloadKind::is_template)
        && settings.placeholders.iter().any(|own| own.trim() == image.text.trim())
}

/// Whether an update leaves an image as it is. In a Pod, another spelling of a tag restarts the container with the tag's digest at
/// that time. The Pods of a template are judged anew.
fn is_unchanged(before: &WorkloadImage, image: &WorkloadImage, workload: WorkloadKind) -> bool {
    before.text == image.text || before.is_same_digest(image) || workload.is_template() && before.is_same_image(image)
}

/// The digest that an image had before an update, if the update names it by a tag of the same repository that stands for that
/// digest, or by an index whose one wanted platform has it. None: it is another image, or that is unknown now.
///
/// In a Pod it counts only if the digest is written back: otherwise its node would pull the tag, with whatever digest that has
/// then. The Pods of a template are judged anew.
fn kept_pin(
    context: RequestContext<'_>,
    before: &WorkloadImage,
    image: &WorkloadImage,
    object: &Value,
    workload: WorkloadKind,
    digests: &mut Digests,
) -> Option<KeptPin> {
    let RequestContext { settings, host, .. } = context;
    let (before, reference) = (before.reference.as_ref().ok()?, image.reference.as_ref().ok()?);
    // In an index, the pin may be that of the one wanted platform.
    let is_one_platform = matches!(&settings.reports.platforms, Platforms::Listed(listed) if listed.len() == 1);
    let may_stand_for_it = reference.digest().is_none() || is_one_platform;
    let pinned = before.digest().filter(|_| may_stand_for_it && before.is_of_repository(reference))?;
    let is_written = pin::is_written(object, workload, &settings.pin) && !settings.pin.excludes(reference);
    if !is_written && !workload.is_template() {
        return None;
    }
    let digest = digests.entry(reference.clone()).or_insert_with(|| find_digest(reference, settings, host));
    let digest = digest.as_ref().ok()?;
    let purpose = Purpose { is_vouched_for: false, is_pinned: true };
    let is_kept = digest == pinned
        || is_one_platform
            && resolve_digest(reference, digest.clone(), purpose, settings, host)
                .image
                .is_ok_and(|own| own.pin == pinned);
    is_kept.then(|| KeptPin { image: image.clone(), digest: pinned.to_owned() })
}
