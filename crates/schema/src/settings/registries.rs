//! The registries that are asked, and their mirrors.

use image_admission_settings::MirrorAsk;
use schemars::JsonSchema;

/// A registry that is contacted for images.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RegistryEntry {
    /// Its host, like `ghcr.io`.
    Host(String),
    /// Its host, and its mirror.
    Mirrored(MirroredRegistry),
}

/// A registry with a mirror. Pods, rules, reports and pins name the registry; look-ups go to the mirror.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MirroredRegistry {
    /// The registry that Pods name.
    #[schemars(extend("examples" = ["docker.io"]))]
    pub registry: String,
    /// Where look-ups go instead: a host, and the path before the registry's repositories, if any. Digests, manifests,
    /// artifacts and signatures are read there. A Pod that uses the mirror's name is rejected, and told the registry's. Reports
    /// count by either name.
    #[schemars(extend("examples" = ["mirror.example.com/dockerhub"]))]
    pub mirror: String,
    /// Who says which digest a tag has.
    pub ask: Option<MirrorAsk>,
}
