//! The registries that are asked, and their mirrors.

use image_admission_settings::MirrorAsk;
use schemars::JsonSchema;

/// A registry that is asked about images.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum RegistryEntry {
    /// Its host, `ghcr.io`.
    Host(String),
    /// Its host, and the mirror that is asked in its place.
    Mirrored(MirroredRegistry),
}

/// A registry that has a mirror: Pods, rules, reports and pins name the registry, and the mirror is asked.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MirroredRegistry {
    /// The registry that Pods name.
    #[schemars(extend("examples" = ["docker.io"]))]
    pub registry: String,
    /// What is asked in its place: a host, and what stands there before the names of the registry's repositories, if anything.
    /// Digests, manifests, artifacts and signatures are looked up there. A Pod that names an image by the mirror is rejected, and told the
    /// registry's name; reports count by either name.
    #[schemars(extend("examples" = ["mirror.example.com/dockerhub"]))]
    pub mirror: String,
    /// Who says which digest a tag has.
    pub ask: Option<MirrorAsk>,
}
