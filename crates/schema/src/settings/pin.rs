//! Pinning.

use schemars::JsonSchema;

/// What is pinned.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// Whether images are pinned. The policy must be deployed with `mutating: true`.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// The only kinds that are pinned. GitOps tools may report drift if a pinned object is in Git. Mirror Pods and objects of a
    /// controller, except Pods, are never pinned: their makers would write them again.
    #[schemars(length(min = 1), extend("default" = ["Pod"]))]
    pub kinds: Option<Vec<WorkloadKind>>,
    /// Whether annotations keep the images' original names.
    #[schemars(extend("default" = true))]
    pub annotations: Option<bool>,
    /// Globs of images that are judged but never pinned, such as those that a managed mesh injects and compares. Nodes then
    /// pull whatever the tag is. An `imageVerification` policy with `verifyDigest` rejects them without a digest.
    #[schemars(extend("examples" = [["docker.io/istio/*", "cr.l5d.io/linkerd/*"]]))]
    pub exclude: Option<Vec<String>>,
}

/// A kind with a pod spec that can be pinned.
#[derive(Debug, JsonSchema)]
pub enum WorkloadKind {
    /// `v1`.
    Pod,
    /// `v1`.
    ReplicationController,
    /// `apps/v1`.
    Deployment,
    /// `apps/v1`.
    StatefulSet,
    /// `apps/v1`.
    DaemonSet,
    /// `batch/v1`.
    Job,
    /// `batch/v1`.
    CronJob,
}
