//! An object that is looked at: what it is called, who made it, and whether anything of it still runs.

use std::fmt;

use image_admission_image::workload::WorkloadKind;
use serde::Serialize;
use serde_json::value::RawValue;

use image_admission_manifests::document::Document;
use image_admission_manifests::fields::Fields;

/// An object of Kubernetes, as it was read.
#[derive(Debug)]
pub(super) struct Object {
    /// What it is.
    pub(super) name: ObjectName,
    /// The object, and where it was read.
    pub(super) document: Document,
    /// The API server's own name for it.
    pub(super) uid: Option<String>,
    /// Who made it, and looks after it.
    pub(super) controller: Option<Controller>,
    /// Why nothing of it runs any more.
    pub(super) rest: Option<Rest>,
}

/// What an object is, and how it is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct ObjectName {
    pub(super) namespace: String,
    pub(super) kind: String,
    /// The API group; empty for the core's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    /// `name-*` if the API server completes it.
    pub(super) name: String,
}

/// The owner that an object names as its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Controller {
    /// In the object's own namespace.
    pub(super) name: ObjectName,
    pub(super) uid: Option<String>,
}

/// Why nothing of an object runs any more, although it is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rest {
    /// A Pod or a Job that has ended.
    Finished,
    /// What a Deployment keeps of an earlier revision.
    ScaledToZero,
}

/// What a document is.
#[derive(Debug)]
pub(super) enum Read {
    Object(Box<Object>),
    /// Another document, such as values for a chart.
    NoObject,
}

impl Object {
    /// Reads a document. What names no namespace is in `namespace`.
    pub(super) fn read(document: Document, namespace: &str) -> Read {
        let Some(fields) = Fields::of(&document.json) else { return Read::NoObject };
        let (Some(version), Some(kind)) = (fields.text("apiVersion"), fields.text("kind")) else {
            return Read::NoObject;
        };
        let metadata = fields.object("metadata");
        let own = |key| metadata.as_ref().and_then(|metadata| metadata.text(key));
        let generated = || own("generateName").map(|start| format!("{start}*"));
        let name = ObjectName {
            namespace: own("namespace").unwrap_or_else(|| namespace.to_owned()),
            group: group_of(&version).to_owned(),
            kind,
            name: own("name").or_else(generated).unwrap_or_default(),
        };
        let owners = metadata.as_ref().and_then(|metadata| metadata.list("ownerReferences")).unwrap_or_default();
        let controller = owners.into_iter().find_map(|owner| Controller::read(owner, &name.namespace));
        let uid = own("uid");
        let rest = Rest::of(&name, &fields, controller.is_some());
        Read::Object(Box::new(Self { name, document, uid, controller, rest }))
    }
}

impl Controller {
    /// Of an object's owners only one is its controller.
    fn read(owner: &RawValue, namespace: &str) -> Option<Self> {
        let fields = Fields::of(owner)?;
        fields.value("controller").filter(|controller| controller.get() == "true")?;
        let name = ObjectName {
            namespace: namespace.to_owned(),
            kind: fields.text("kind")?,
            group: group_of(&fields.text("apiVersion")?).to_owned(),
            name: fields.text("name")?,
        };
        Some(Self { name, uid: fields.text("uid") })
    }
}

impl Rest {
    fn of(name: &ObjectName, fields: &Fields<'_>, is_controlled: bool) -> Option<Self> {
        let status = || fields.object("status");
        match WorkloadKind::of(&name.group, &name.kind)? {
            WorkloadKind::Pod => {
                let phase = status()?.text("phase")?;
                matches!(phase.as_str(), "Succeeded" | "Failed").then_some(Self::Finished)
            }
            WorkloadKind::Job => {
                let has_ended = |condition: &&RawValue| {
                    let Some(condition) = Fields::of(condition) else { return false };
                    matches!(condition.text("type").as_deref(), Some("Complete" | "Failed"))
                        && condition.text("status").as_deref() == Some("True")
                };
                status()?.list("conditions")?.iter().any(has_ended).then_some(Self::Finished)
            }
            WorkloadKind::ReplicaSet if is_controlled => {
                let is_zero = |fields: &Fields<'_>| fields.value("replicas").is_some_and(|number| number.get() == "0");
                let has_pods = status().is_some_and(|status| status.value("replicas").is_some() && !is_zero(&status));
                (is_zero(&fields.object("spec")?) && !has_pods).then_some(Self::ScaledToZero)
            }
            _ => None,
        }
    }

    /// What is said of such objects.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::ScaledToZero => "scaled to zero by its owner",
        }
    }
}

impl ObjectName {
    /// `Service`, and of other groups `Job.batch.volcano.sh`, as kubectl tells kinds apart.
    pub(super) fn kind_and_group(&self) -> String {
        match self.group.as_str() {
            "" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// `Deployment web`
    pub(super) fn short(&self) -> String {
        let name = if self.name.is_empty() { "without a name" } else { &self.name };
        format!("{} {name}", self.kind)
    }
}

/// `Deployment web in namespace shop`
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in namespace {}", self.short(), self.namespace)
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_manifests::document::Place;
    use serde_json::{Value, json};

    fn object(value: &Value) -> Object {
        let json = serde_json::value::to_raw_value(value).unwrap();
        match Object::read(Document { place: Place::within("here"), json }, "default") {
            Read::Object(object) => *object,
            Read::NoObject => panic!("{value}"),
        }
    }

    #[test]
    fn names_are_those_of_the_manifest() {
        let web = object(
            &json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}}),
        );
        assert_eq!(web.name.to_string(), "Deployment web in namespace shop");
        assert_eq!(web.name.kind_and_group(), "Deployment.apps");
        let made = object(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}}));
        assert_eq!(made.name.to_string(), "Pod web-* in namespace default");
        let nameless = object(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": ["name"]}));
        assert_eq!(nameless.name.to_string(), "Pod without a name in namespace default");
    }

    #[test]
    fn only_a_controller_is_followed() {
        let pod = |owners: Value| {
            object(&json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "ownerReferences": owners}}))
        };
        let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "7"});
        let mut controller = owner.clone();
        controller["controller"] = json!(true);
        assert_eq!(pod(json!([owner])).controller, None);
        let found = pod(json!([owner, controller])).controller.unwrap();
        assert_eq!((found.name.kind_and_group().as_str(), found.uid.as_deref()), ("ReplicaSet.apps", Some("7")));
        for strange in
            [json!("web-1"), json!([7]), json!([{"controller": true}]), json!({"controller": true}), json!(null)]
        {
            assert_eq!(pod(strange.clone()).controller, None, "{strange}");
        }
    }

    #[test]
    fn what_has_ended_is_told_from_what_runs() {
        let owners = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true}]);
        for (kind, more, rest) in [
            ("v1/Pod", json!({"status": {"phase": "Running"}}), None),
            ("v1/Pod", json!({}), None),
            ("v1/Pod", json!({"status": {"phase": "Succeeded"}}), Some(Rest::Finished)),
            ("v1/Pod", json!({"status": {"phase": "Failed"}}), Some(Rest::Finished)),
            ("v1/Pod", json!({"status": {"phase": ["Failed"]}}), None),
            (
                "batch/v1/Job",
                json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}}),
                Some(Rest::Finished),
            ),
            ("batch/v1/Job", json!({"status": {"conditions": [{"type": "Complete", "status": "False"}]}}), None),
            ("batch/v1/Job", json!({"status": {"conditions": [{"type": "Suspended", "status": "True"}]}}), None),
            ("apps/v1/ReplicaSet", json!({"spec": {"replicas": 0}}), Some(Rest::ScaledToZero)),
            (
                "apps/v1/ReplicaSet",
                json!({"spec": {"replicas": 0}, "status": {"replicas": 0}}),
                Some(Rest::ScaledToZero),
            ),
            ("apps/v1/ReplicaSet", json!({"spec": {"replicas": 0}, "status": {"replicas": 1}}), None),
            ("apps/v1/ReplicaSet", json!({"spec": {"replicas": 2}}), None),
            ("apps/v1/ReplicaSet", json!({}), None),
            ("apps/v1/Deployment", json!({"spec": {"replicas": 0}}), None),
            ("example.com/v1/Pod", json!({"status": {"phase": "Failed"}}), None),
        ] {
            let (version, name) = kind.rsplit_once('/').unwrap();
            let mut value =
                json!({"apiVersion": version, "kind": name, "metadata": {"name": "a", "ownerReferences": owners}});
            value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(object(&value).rest, rest, "{value}");
        }
        // Nobody's ReplicaSet is what somebody scales up again.
        assert_eq!(object(&json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {"replicas": 0}})).rest, None);
    }

    #[test]
    fn other_documents_are_no_objects() {
        for value in [
            json!([]),
            json!("a"),
            json!({"kind": "Pod"}),
            json!({"apiVersion": "v1"}),
            json!({"apiVersion": 1, "kind": "Pod"}),
        ] {
            let json = serde_json::value::to_raw_value(&value).unwrap();
            let read = Object::read(Document { place: Place::within("here"), json }, "default");
            assert!(matches!(read, Read::NoObject), "{value}");
        }
    }
}
