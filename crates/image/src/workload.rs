//! Workloads: the kinds that have a pod spec, and where it is.

use std::fmt;

/// `Pod`, or a kind that makes Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadKind {
    /// The kind that runs. All others make it from a template.
    Pod,
    /// The oldest controller.
    ReplicationController,
    /// What a Deployment makes.
    ReplicaSet,
    /// The usual controller.
    Deployment,
    /// Pods with names that stay.
    StatefulSet,
    /// A Pod on every node.
    DaemonSet,
    /// Pods that end.
    Job,
    /// Jobs by the clock.
    CronJob,
}

impl WorkloadKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Pod,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::Deployment,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::Job,
        Self::CronJob,
    ];

    /// The workload of a kind, in any version of its group. `extensions` is the old group of `apps`.
    #[must_use]
    pub fn of(group: &str, kind: &str) -> Option<Self> {
        let workload = Self::ALL.into_iter().find(|workload| workload.name() == kind)?;
        let began_elsewhere = !workload.group().is_empty() && group == "extensions";
        (group == workload.group() || began_elsewhere).then_some(workload)
    }

    /// Its API group, empty for the core group.
    #[must_use]
    pub fn group(self) -> &'static str {
        match self {
            Self::Pod | Self::ReplicationController => "",
            Self::ReplicaSet | Self::Deployment | Self::StatefulSet | Self::DaemonSet => "apps",
            Self::Job | Self::CronJob => "batch",
        }
    }

    /// Whether a resource of a rule, `pods` or `pods/ephemeralcontainers`, belongs to a workload.
    pub fn has_resource(resource: &str) -> bool {
        let resource = resource.split('/').next().unwrap_or_default();
        Self::ALL.into_iter().any(|kind| kind.resource() == resource)
    }

    /// Its resource in the API.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Pod => "pods",
            Self::ReplicationController => "replicationcontrollers",
            Self::ReplicaSet => "replicasets",
            Self::Deployment => "deployments",
            Self::StatefulSet => "statefulsets",
            Self::DaemonSet => "daemonsets",
            Self::Job => "jobs",
            Self::CronJob => "cronjobs",
        }
    }

    /// The kind's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pod => "Pod",
            Self::ReplicationController => "ReplicationController",
            Self::ReplicaSet => "ReplicaSet",
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
        }
    }

    /// Whether Pods are made from it later, so that a scan may still finish in time.
    #[must_use]
    pub fn is_template(self) -> bool {
        self != Self::Pod
    }

    /// The JSON pointer of the Pod, or of its template, in the object: the part that has `metadata` and `spec`.
    #[must_use]
    pub fn pod_pointer(self) -> &'static str {
        match self {
            Self::Pod => "",
            Self::CronJob => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        }
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_workloads_in_any_version_of_their_group_only() {
        assert_eq!(WorkloadKind::of("", "Pod"), Some(WorkloadKind::Pod));
        assert_eq!(WorkloadKind::of("extensions", "DaemonSet"), Some(WorkloadKind::DaemonSet));
        assert_eq!(WorkloadKind::of("batch", "CronJob"), Some(WorkloadKind::CronJob));
        assert_eq!(WorkloadKind::of("batch.volcano.sh", "Job"), None);
        assert_eq!(WorkloadKind::of("metrics.k8s.io", "Pod"), None);
        assert_eq!(WorkloadKind::of("", "Service"), None);
        assert_eq!(WorkloadKind::of("", ""), None);
    }
}
