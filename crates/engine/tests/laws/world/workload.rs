//! The objects of worlds: Pods and controllers, their images in every list and spelling, and the requests for them.

use super::World;
use super::content::IMAGES;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// The lists of a pod spec that name images.
pub(crate) const LISTS: [&str; 4] = ["containers", "initContainers", "ephemeralContainers", "volumes"];

/// A container, or an image volume.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Container {
    pub(crate) list: &'static str,
    /// Which of [`IMAGES`].
    pub(crate) image: usize,
    /// Which of the image's names.
    pub(crate) name: usize,
    pub(crate) form: Form,
    /// Whether the object before an update has it already.
    pub(crate) is_old: bool,
    /// Another text in the image's place.
    pub(crate) text: Option<String>,
}

/// What follows an image's name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    Tag,
    Digest,
    Both,
}

#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) kind: &'static str,
    pub(crate) operation: &'static str,
    pub(crate) namespace: &'static str,
    pub(crate) user: &'static str,
    pub(crate) containers: Vec<Container>,
    pub(crate) annotations: Map<String, Value>,
    pub(crate) labels: Map<String, Value>,
    pub(crate) owners: Vec<Value>,
}

impl Workload {
    pub(crate) fn request(&self, world: &World) -> Value {
        let (group, resource) = match self.kind {
            "Pod" => ("", "pods"),
            "Deployment" => ("apps", "deployments"),
            _ => ("batch", "cronjobs"),
        };
        let object = self.object(world, |_| true);
        let old = self.object(world, |container| container.is_old);
        let (object, old) = match self.operation {
            "UPDATE" => (object, old),
            "DELETE" => (Value::Null, object),
            _ => (object, Value::Null),
        };
        json!({"uid": "u", "kind": {"group": group, "version": "v1", "kind": self.kind},
               "resource": {"group": group, "version": "v1", "resource": resource}, "operation": self.operation,
               "namespace": self.namespace, "name": "web-1", "userInfo": {"username": self.user, "groups": ["system:authenticated"]},
               "object": object, "oldObject": old})
    }

    fn object(&self, world: &World, is_there: impl Fn(&Container) -> bool) -> Value {
        let mut spec = Map::new();
        // The name is the place in the workload, so that an update finds it again.
        for (position, container) in self.containers.iter().enumerate().filter(|(_, own)| is_there(own)) {
            let (name, image) = (format!("c{position}"), container.text(world));
            let image = if container.list == "volumes" { json!({"reference": image}) } else { json!(image) };
            let list = spec.entry(container.list).or_insert_with(|| json!([]));
            list.as_array_mut().unwrap().push(json!({"name": name, "image": image}));
        }
        let metadata = json!({"name": "web-1", "namespace": self.namespace, "annotations": self.annotations, "labels": self.labels,
                              "ownerReferences": self.owners});
        let template = json!({"template": {"spec": spec}});
        let (api_version, spec) = match self.kind {
            "Pod" => ("v1", Value::Object(spec)),
            "Deployment" => ("apps/v1", template),
            _ => ("batch/v1", json!({"jobTemplate": {"spec": template}})),
        };
        json!({"apiVersion": api_version, "kind": self.kind, "metadata": metadata, "spec": spec})
    }
}

impl Container {
    /// The string in the object.
    pub(crate) fn text(&self, world: &World) -> String {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let image = &IMAGES[self.image];
        let (name, digest) = (image.names[self.name % image.names.len()], world.contents[self.image].digest(image));
        match self.form {
            Form::Tag if image.tag == "latest" && self.name.is_multiple_of(2) => name.to_owned(),
            Form::Tag => format!("{name}:{}", image.tag),
            Form::Digest => format!("{name}@{digest}"),
            Form::Both => format!("{name}:{}@{digest}", image.tag),
        }
    }
}

fn container() -> impl Strategy<Value = Container> {
    let list = prop_oneof![6 => Just(LISTS[0]), 2 => Just(LISTS[1]), 1 => Just(LISTS[2]), 1 => Just(LISTS[3])];
    let form = prop_oneof![6 => Just(Form::Tag), 2 => Just(Form::Digest), 1 => Just(Form::Both)];
    let text = prop::option::weighted(
        0.02,
        select(vec!["UPPER/x", "ghcr.io/team/app@sha256:1", "mirror.example/ghcr/team/app:1.0"]),
    );
    (list, 0..IMAGES.len(), 0..4_usize, form, any::<bool>(), text).prop_map(
        |(list, image, name, form, is_old, text)| Container {
            list,
            image,
            name,
            form,
            is_old,
            text: text.map(str::to_owned),
        },
    )
}

/// Most are Pods that are created.
pub(super) fn workload() -> impl Strategy<Value = Workload> {
    let kind = prop_oneof![8 => Just("Pod"), 2 => Just("Deployment"), 1 => Just("CronJob")];
    let operation = prop_oneof![9 => Just("CREATE"), 1 => Just("UPDATE")];
    let namespace = prop_oneof![3 => Just("web"), 1 => Just("prod-1"), 1 => Just("prod-2")];
    let user = prop_oneof![4 => Just("alice"), 1 => Just("bob")];
    let mirror = json!({"kubernetes.io/config.mirror": "0f"});
    let asked = json!({"example.com/break-glass": "production is down, TICKET-9"});
    let annotations = prop_oneof![8 => Just(json!({})), 1 => Just(mirror), 1 => Just(asked)];
    (kind, operation, namespace, user, vec(container(), 1..=3), annotations).prop_map(
        |(kind, operation, namespace, user, containers, annotations)| Workload {
            kind,
            operation,
            namespace,
            user,
            containers,
            annotations: annotations.as_object().unwrap().clone(),
            labels: Map::new(),
            owners: Vec::new(),
        },
    )
}
