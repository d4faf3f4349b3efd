//! What runs in a cluster already: which registries its images are from, and what the choices would deny on the first day.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use image_admission_image::ImageReference;
use image_admission_module_host::answers::live::Live;
use serde_json::Value;

use super::choices::{self, Choices};

/// The fields of a pod spec that have containers.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The images of a cluster's Pods.
#[derive(Debug, Default)]
pub(super) struct Running(BTreeSet<Image>);

/// An image that runs in a namespace.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Image {
    registry: String,
    /// As the Pod names it.
    text: String,
    namespace: String,
}

impl Running {
    /// Lists the Pods of all namespaces.
    ///
    /// # Errors
    /// They can't be listed.
    pub(super) fn of(live: &Live) -> Result<Self, String> {
        let pods = live.everything("v1", "Pod", None, &mut |_| {})?;
        Ok(Self(
            pods.iter().filter_map(|pod| serde_json::from_str(pod.get()).ok()).flat_map(|pod| images(&pod)).collect(),
        ))
    }

    /// The registries that its images are from, that of most images first.
    pub(super) fn registries(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for image in &self.0 {
            counts.entry(&image.registry).or_default().insert(&image.text);
        }
        let mut all: Vec<(&str, usize)> =
            counts.into_iter().map(|(registry, images)| (registry, images.len())).collect();
        all.sort_by_key(|(_, images)| Reverse(*images));
        // Anybody who may create Pods chose these: they are proposed, and somebody looks at them.
        all.into_iter().filter_map(|(registry, _)| choices::registry(registry).ok()).collect()
    }

    /// What is told of it: the images that would be denied because of their registries, each registry in a line.
    pub(super) fn told(&self, choices: &Choices) -> Vec<String> {
        let is_judged = |image: &&Image| !choices.left_out.contains(&image.namespace);
        let denied = self.0.iter().filter(is_judged).filter(|image| !choices.registries.contains(&image.registry));
        let mut registries: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
        for image in denied {
            registries.entry(&image.registry).or_default().insert(&image.text, &image.namespace);
        }
        if registries.is_empty() {
            return vec![
                "The images that run today are from your registries, or in namespaces that are left out.".to_owned(),
            ];
        }
        let line = |(registry, images): (&str, BTreeMap<&str, &str>)| {
            let example =
                images.first_key_value().map(|(image, namespace)| format!("{image} in namespace {namespace}"));
            format!("  {registry}: {} of them, such as {}", images.len(), example.unwrap_or_default())
        };
        let head = "These images run today and would be denied, since their registries aren't listed:".to_owned();
        std::iter::once(head).chain(registries.into_iter().map(line)).collect()
    }
}

fn images(pod: &Value) -> Vec<Image> {
    let namespace = pod.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    let lists = CONTAINERS.iter().filter_map(|list| pod.pointer(&format!("/spec/{list}"))?.as_array());
    let texts = lists.flatten().filter_map(|container| container.get("image")?.as_str());
    let image = |text: &str| {
        let reference = ImageReference::parse(text).ok()?;
        Some(Image { registry: reference.host().to_owned(), text: text.to_owned(), namespace: namespace.to_owned() })
    };
    texts.filter_map(image).collect()
}
