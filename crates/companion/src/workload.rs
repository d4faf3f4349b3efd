//! A workload of the cluster, as far as the companion looks at it.

use image_admission_image::images;
use image_admission_image::workload::WorkloadKind;
use serde_json::Value;
use std::collections::BTreeSet;

/// What the companion marks its own objects with, and never takes for a workload.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`].
pub const COMPANION: &str = "image-admission-companion";

/// A workload that runs something, or would.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Which one it is.
    pub reference: WorkloadReference,
    /// The images that it names, as it spells them.
    pub images: BTreeSet<String>,
    /// Whether another workload has made it, whose users look there.
    pub is_owned: bool,
    /// Whether its controller has made fewer Pods than it should.
    pub lacks_pods: bool,
}

/// Which workload is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadReference {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity: a workload that was deleted and created anew has another.
    pub uid: String,
}

impl Workload {
    /// Reads an object of a kind. None if it runs nothing any more, or can't be read: that of a Pod or Job which has ended, what is
    /// being deleted, a controller without replicas, and the companion's own. None for a Pod whose controller is looked at, too: it has the
    /// same images, pinned to digests, and would count them twice.
    #[must_use]
    pub fn read(kind: WorkloadKind, object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
        let is_ours = object.pointer("/metadata/labels").and_then(|labels| labels.get(MANAGED_BY))
            == Some(&Value::from(COMPANION));
        if is_ours || text("/metadata/deletionTimestamp").is_some() {
            return None;
        }
        let replicas = || number("/spec/replicas").unwrap_or(1);
        let made = || number("/status/replicas").unwrap_or(0);
        let lacks_pods = match kind {
            WorkloadKind::Pod if matches!(text("/status/phase"), Some("Succeeded" | "Failed")) => return None,
            WorkloadKind::ReplicaSet | WorkloadKind::ReplicationController if replicas() == 0 => return None,
            WorkloadKind::Job if has_ended(object) => return None,
            WorkloadKind::ReplicaSet | WorkloadKind::ReplicationController | WorkloadKind::StatefulSet => {
                made() < replicas()
            }
            WorkloadKind::DaemonSet => {
                number("/status/currentNumberScheduled") < number("/status/desiredNumberScheduled")
            }
            WorkloadKind::Job if object.pointer("/spec/suspend") == Some(&Value::Bool(true)) => false,
            WorkloadKind::Job => number("/status/active").unwrap_or(0) == 0,
            WorkloadKind::Pod | WorkloadKind::Deployment | WorkloadKind::CronJob => false,
        };
        let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        // An operator's own kind isn't looked at, so that its users look here.
        let is_seen = |owner: &Value| {
            let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
            let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
            WorkloadKind::of(group, text("kind")).is_some()
        };
        let is_owned = owners
            .into_iter()
            .flatten()
            .any(|owner| owner.get("controller") == Some(&Value::Bool(true)) && is_seen(owner));
        if is_owned && kind == WorkloadKind::Pod {
            return None;
        }
        Some(Self {
            reference: WorkloadReference {
                kind,
                namespace: text("/metadata/namespace")?.to_owned(),
                name: text("/metadata/name")?.to_owned(),
                uid: text("/metadata/uid")?.to_owned(),
            },
            images: images(object, kind)
                .ok()?
                .into_iter()
                .map(|image| image.text)
                .filter(|text| !text.is_empty())
                .collect(),
            is_owned,
            lacks_pods,
        })
    }
}

/// Whether a Job has ended: as of its [definition][job], one of these conditions is true.
///
/// [job]: https://kubernetes.io/docs/concepts/workloads/controllers/job/#terminal-job-conditions
fn has_ended(job: &Value) -> bool {
    let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        let text = |key: &str| condition.get(key).and_then(Value::as_str);
        matches!(text("type"), Some("Complete" | "Failed")) && text("status") == Some("True")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod_spec() -> Value {
        json!({"initContainers": [{"name": "a", "image": "one"}], "containers": [{"name": "b", "image": "two"}, {"name": "c", "image": "two"}]})
    }

    #[track_caller]
    fn read(kind: WorkloadKind, spec: Value, status: Value) -> Option<Workload> {
        Workload::read(
            kind,
            &json!({"metadata": {"namespace": "shop", "name": "web", "uid": "1"}, "spec": spec, "status": status}),
        )
    }

    #[test]
    fn images_of_every_kind_are_found() {
        for kind in WorkloadKind::ALL {
            let spec = match kind {
                WorkloadKind::Pod => pod_spec(),
                WorkloadKind::CronJob => json!({"jobTemplate": {"spec": {"template": {"spec": pod_spec()}}}}),
                _ => json!({"template": {"spec": pod_spec()}}),
            };
            let workload = read(kind, spec, json!({})).unwrap_or_else(|| panic!("{kind}"));
            assert_eq!(workload.images, BTreeSet::from(["one".to_owned(), "two".to_owned()]), "{kind}");
        }
    }

    #[test]
    fn what_runs_nothing_any_more_is_no_workload() {
        let template = json!({"template": {"spec": pod_spec()}, "replicas": 0});
        for (kind, spec, status) in [
            (WorkloadKind::Pod, pod_spec(), json!({"phase": "Succeeded"})),
            (WorkloadKind::Pod, pod_spec(), json!({"phase": "Failed"})),
            (WorkloadKind::ReplicaSet, template.clone(), json!({})),
            (WorkloadKind::ReplicationController, template.clone(), json!({})),
            (WorkloadKind::Job, template.clone(), json!({"conditions": [{"type": "Complete", "status": "True"}]})),
            (WorkloadKind::Job, template.clone(), json!({"conditions": [{"type": "Failed", "status": "True"}]})),
            (WorkloadKind::Pod, json!({"containers": "none"}), json!({})),
        ] {
            assert_eq!(read(kind, spec, status), None, "{kind}");
        }
        let running =
            json!({"conditions": [{"type": "Suspended", "status": "True"}, {"type": "Complete", "status": "False"}]});
        assert!(read(WorkloadKind::Job, template.clone(), running).is_some());
        // A Deployment without replicas will have some again, and is asked about then: its scan is there by then.
        assert!(read(WorkloadKind::Deployment, template, json!({})).is_some());
        for metadata in [
            json!({"namespace": "shop", "name": "web", "uid": "1", "deletionTimestamp": "2026-11-01T00:00:00Z"}),
            json!({"namespace": "shop", "name": "web", "uid": "1", "labels": {MANAGED_BY: COMPANION}}),
            json!({"name": "web", "uid": "1"}),
        ] {
            let object = json!({"metadata": metadata, "spec": pod_spec()});
            assert_eq!(Workload::read(WorkloadKind::Pod, &object), None, "{metadata}");
        }
    }

    #[test]
    fn whose_users_look_elsewhere() {
        let controller = Value::Bool(true);
        for (api_version, kind, is_controller, is_owned) in [
            ("apps/v1", "Deployment", &controller, true),
            ("v1", "ReplicationController", &controller, true),
            ("apps/v1", "Deployment", &Value::Null, false),
            // Nobody looks after its images there.
            ("argoproj.io/v1alpha1", "Rollout", &controller, false),
            ("example.com/v1", "Deployment", &controller, false),
        ] {
            let owner = json!({"apiVersion": api_version, "kind": kind, "controller": is_controller});
            let metadata = json!({"namespace": "shop", "name": "web", "uid": "1", "ownerReferences": [owner]});
            let pod = json!({"metadata": metadata, "spec": pod_spec()});
            let is_looked_at = Workload::read(WorkloadKind::Pod, &pod).is_some();
            assert_eq!(is_looked_at, !is_owned, "{api_version} {kind} {is_controller}");
            let spec = json!({"template": {"spec": pod_spec()}});
            let replica_set = Workload::read(WorkloadKind::ReplicaSet, &json!({"metadata": metadata, "spec": spec}));
            assert_eq!(replica_set.map(|of| of.is_owned), Some(is_owned), "{api_version} {kind} {is_controller}");
        }
    }

    #[test]
    fn what_a_controller_lacks() {
        let template = |replicas: i64| json!({"template": {"spec": pod_spec()}, "replicas": replicas});
        for (kind, spec, status, lacks) in [
            (WorkloadKind::ReplicaSet, template(2), json!({"replicas": 1}), true),
            (WorkloadKind::ReplicaSet, template(2), json!({"replicas": 2}), false),
            (WorkloadKind::StatefulSet, template(1), json!({}), true),
            (WorkloadKind::StatefulSet, template(0), json!({}), false),
            (
                WorkloadKind::DaemonSet,
                template(0),
                json!({"desiredNumberScheduled": 3, "currentNumberScheduled": 2}),
                true,
            ),
            (WorkloadKind::DaemonSet, template(0), json!({}), false),
            (WorkloadKind::Job, template(0), json!({}), true),
            (WorkloadKind::Job, template(0), json!({"active": 1}), false),
            (WorkloadKind::Job, json!({"template": {"spec": pod_spec()}, "suspend": true}), json!({}), false),
            // Its ReplicaSet is told.
            (WorkloadKind::Deployment, template(2), json!({}), false),
        ] {
            let found = read(kind, spec, status.clone()).unwrap_or_else(|| panic!("{kind} {status}"));
            assert_eq!(found.lacks_pods, lacks, "{kind} {status}");
        }
    }
}
