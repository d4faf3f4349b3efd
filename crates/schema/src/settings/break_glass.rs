//! Break glass.

use schemars::JsonSchema;

/// Who may let a request through that the policy would judge.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BreakGlass {
    /// The key of an annotation of the object itself. Its value is the reason, and must not be empty.
    #[schemars(extend("examples" = ["image-admission.example.com/break-glass"]))]
    pub annotation: String,
    /// What a user must be allowed to `use`: a right that RBAC grants. The annotation alone opens nothing.
    pub resource: GuardedResource,
}

/// A resource as rules of RBAC name it. It needn't exist.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuardedResource {
    /// Its API group; empty for the core group.
    #[schemars(extend("examples" = ["policies.kubewarden.io"]))]
    pub group: String,
    /// The resource, in the plural and in lower case.
    #[schemars(extend("examples" = ["clusteradmissionpolicies"]))]
    pub resource: String,
    /// One of them. Without it, a right to all of them is asked for.
    #[schemars(extend("examples" = ["image-admission"]))]
    pub name: Option<String>,
    /// A namespace whose Roles count too. Without it, only ClusterRoles that are bound in the whole cluster do: tenants who may do
    /// everything in their namespace may not `use` it.
    pub namespace: Option<String>,
}
