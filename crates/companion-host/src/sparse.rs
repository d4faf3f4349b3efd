//! Objects as watches read them: without what nobody here looks at. Whoever may create a Pod, or push an image that is scanned, chooses
//! how large that is, and in memory JSON may take many times as much as its text.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::ApiResource;
use kube::core::{DynamicObject, DynamicResourceScope};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// What is read of an object's entries, outside of its metadata.
pub(crate) trait Parts: Clone + fmt::Debug + Send + 'static {
    /// What is read of the entries with this key, at any depth.
    fn of(key: &str) -> Part;
}

/// What is read of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It, and of the entries in it what is read of these.
    Entries,
    /// That it is there, as a list.
    Empty,
    /// Nothing.
    Nothing,
}

/// What a workload, or an object by which we ask for scans, says of its images and its state.
#[derive(Clone, Debug)]
pub(crate) struct Outline;

/// A report, and what belongs to it, without the findings: they don't say whether it is there.
#[derive(Clone, Debug)]
pub(crate) struct WithoutFindings;

/// An object of which only some parts were read.
#[derive(Clone, Debug)]
pub(crate) struct Sparse<P>(pub(crate) DynamicObject, PhantomData<P>);

impl Parts for Outline {
    fn of(key: &str) -> Part {
        match key {
            "apiVersion" | "kind" | "spec" | "status" | "template" | "jobTemplate" | "replicas" | "suspend" => {
                Part::Entries
            }
            "initContainers" | "containers" | "ephemeralContainers" | "name" | "image" => Part::Entries,
            "volumes" | "reference" => Part::Entries,
            "phase" | "active" | "currentNumberScheduled" | "desiredNumberScheduled" => Part::Entries,
            "conditions" | "type" | "reason" => Part::Entries,
            _ => Part::Nothing,
        }
    }
}

impl Parts for WithoutFindings {
    fn of(key: &str) -> Part {
        if matches!(key, "vulnerabilities" | "results") { Part::Empty } else { Part::Entries }
    }
}

impl<P: Parts> Resource for Sparse<P> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::kind(resource)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::group(resource)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::version(resource)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::plural(resource)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

impl<'de, P: Parts> Deserialize<'de> for Sparse<P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = Reader::<P>(Place::Top, PhantomData).deserialize(deserializer)?;
        serde_json::from_value(object).map(|object| Self(object, PhantomData)).map_err(D::Error::custom)
    }
}

/// Where a value stands.
#[derive(Clone, Copy)]
enum Place {
    Top,
    /// What the API server bounds, but for whose fields are whose.
    Metadata,
    Below,
}

struct Reader<P>(Place, PhantomData<P>);

impl<P: Parts> Reader<P> {
    /// What is read of an entry there, and where that stands.
    fn entry(&self, key: &str) -> (Part, Self) {
        let (part, place) = match (self.0, key) {
            (Place::Top, "metadata") => (Part::Entries, Place::Metadata),
            (Place::Metadata, "managedFields") => (Part::Nothing, Place::Metadata),
            (Place::Metadata, _) => (Part::Entries, Place::Metadata),
            (Place::Top | Place::Below, key) => (P::of(key), Place::Below),
        };
        (part, Self(place, PhantomData))
    }
}

impl<'de, P: Parts> DeserializeSeed<'de> for Reader<P> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, P: Parts> Visitor<'de> for Reader<P> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(Self(self.0, PhantomData))? {
            list.push(element);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            match self.entry(&key) {
                (Part::Entries, reader) => {
                    let value = entries.next_value_seed(reader)?;
                    map.insert(key, value);
                }
                (Part::Empty, _) => {
                    entries.next_value::<IgnoredAny>()?;
                    map.insert(key, Value::Array(Vec::new()));
                }
                (Part::Nothing, _) => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_companion::{Scanner, Workload};
    use image_admission_image::workload::WorkloadKind;
    use serde_json::json;

    fn read<P: Parts>(object: &Value) -> Value {
        let sparse: Sparse<P> = serde_json::from_str(&object.to_string()).unwrap();
        serde_json::to_value(sparse.0).unwrap()
    }

    fn metadata() -> Value {
        json!({
            "name": "web", "namespace": "shop", "uid": "1", "resourceVersion": "7", "creationTimestamp": "2026-11-01T12:00:00Z",
            "labels": {"app.kubernetes.io/managed-by": "image-admission-companion", "env": "prod"},
            "annotations": {"args": "a"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "2", "controller": true}],
        })
    }

    /// A Pod that takes much more memory than what is looked at in it.
    fn pod_spec() -> Value {
        json!({
            "initContainers": [{"name": "a", "image": "one", "args": ["", "", ""], "env": [{"name": "image", "value": "x"}]}],
            "containers": [{"name": "b", "image": "two", "volumeMounts": [{"name": "v", "mountPath": "/"}]}],
            "ephemeralContainers": [{"name": "c", "image": "three", "command": ["sh"]}],
            "volumes": [{"name": "v", "image": {"reference": "four", "pullPolicy": "Always"}}, {"name": "w", "emptyDir": {}}],
            "tolerations": [{}, {}, {}],
        })
    }

    #[test]
    fn what_is_looked_at_in_a_workload_is_kept() {
        for kind in WorkloadKind::ALL {
            let spec = match kind {
                WorkloadKind::Pod => pod_spec(),
                WorkloadKind::CronJob => json!({"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}}),
                _ => json!({"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec()}}),
            };
            for (extra, status) in [
                (json!({"replicas": 2, "suspend": false}), json!({"replicas": 1, "phase": "Running", "active": 1})),
                (
                    json!({"replicas": 0, "suspend": true}),
                    json!({"phase": "Failed", "conditions": [{"type": "Complete", "status": "True", "message": "m"}]}),
                ),
                (json!({}), json!({"desiredNumberScheduled": 3, "currentNumberScheduled": 2})),
            ] {
                let mut object = json!({"apiVersion": "v1", "kind": kind.name(), "metadata": metadata(), "spec": spec, "status": status});
                object["metadata"].as_object_mut().unwrap().remove("labels");
                for (key, value) in extra.as_object().unwrap() {
                    object["spec"][key] = value.clone();
                }
                let sparse = read::<Outline>(&object);
                assert_eq!(Workload::read(kind, &sparse), Workload::read(kind, &object), "{kind} {object}");
                assert_eq!(sparse["metadata"], object["metadata"]);
                let text = sparse.to_string();
                for gone in ["args\":[", "env\":[", "command", "tolerations", "mountPath", "pullPolicy", "message"] {
                    assert!(!text.contains(gone), "{kind}: {text}");
                }
            }
        }
    }

    #[test]
    fn requests_are_read_as_before() {
        let mut object = json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata(), "spec": {"template": {"spec": pod_spec()}},
            "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]},
        });
        object["metadata"]["name"] = format!("scan-{}-3", "a".repeat(32)).into();
        let policy = json!({"registries": ["ghcr.io"], "reports": {"sources": [{"sbomscanner": {}}]}});
        let policy = image_admission_settings::Settings::read(&policy).unwrap();
        let (scanner, _) =
            Scanner::of(&policy, &image_admission_companion::CompanionSettings::default(), None).unwrap();
        object["metadata"]["name"] = format!("image-admission-{}-3", "a".repeat(32)).into();
        let request = scanner.read_request(&object);
        assert!(request.as_ref().is_some_and(|request| request.end.is_some()));
        assert_eq!(scanner.read_request(&read::<Outline>(&object)), request);
    }

    #[test]
    fn a_report_is_read_without_its_findings() {
        let report = json!({
            "apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport", "metadata": metadata(),
            "report": {"artifact": {"repository": "team/web", "digest": "sha256:1"}, "summary": {"criticalCount": 1}, "score": 1.5, "is": null,
                       "vulnerabilities": [{"vulnerabilityID": "CVE-1"}], "results": [{"vulnerabilities": []}]},
        });
        let mut expected = report.clone();
        expected["report"]["vulnerabilities"] = json!([]);
        expected["report"]["results"] = json!([]);
        assert_eq!(read::<WithoutFindings>(&report), expected);
    }

    #[test]
    fn whose_fields_are_whose_is_not_kept() {
        let mut object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(), "spec": {}});
        object["metadata"]["managedFields"] = json!([{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]);
        for read in [read::<Outline>(&object), read::<WithoutFindings>(&object)] {
            assert_eq!(read["metadata"], metadata());
        }
    }
}
