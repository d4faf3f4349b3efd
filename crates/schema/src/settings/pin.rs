//! Pinning.

use schemars::JsonSchema;

/// What is pinned.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pin {
    /// Whether images are pinned. It needs the policy to be deployed with `mutating: true`.
    #[schemars(extend("default" = true))]
    pub enabled: Option<bool>,
    /// The only kinds that are ever written. Pin at one level, or tools that compare a cluster with a repository see drift. Objects
    /// whose owner is a controller aren't written, Pods aside, nor are mirror Pods: their makers would write them anew.
    #[schemars(length(min = 1), extend("default" = ["Pod"]))]
    pub kinds: Option<Vec<WorkloadKind>>,
    /// Whether annotations keep the images' original names.
    #[schemars(extend("default" = true))]
    pub annotations: Option<bool>,
    /// Images that are judged as ever and never written, by globs like `docker.io/istio/*`: those that a managed mesh injects, which compares
    /// them with what it wrote. What runs then is whatever the tag is when a node pulls it. A policy of `imageVerification` with `verifyDigest`
    /// rejects them where they have no digest.
    #[schemars(extend("examples" = [["docker.io/istio/*", "cr.l5d.io/linkerd/*"]]))]
    pub exclude: Option<Vec<String>>,
}

/// A kind with a pod spec that may be written.
#[derive(Debug, JsonSchema)]
pub enum WorkloadKind {
    /// `v1`
    Pod,
    /// `v1`
    ReplicationController,
    /// `apps/v1`
    Deployment,
    /// `apps/v1`
    StatefulSet,
    /// `apps/v1`
    DaemonSet,
    /// `batch/v1`
    Job,
    /// `batch/v1`
    CronJob,
}
