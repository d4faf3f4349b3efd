//! Which image a reference means, and how its registry is reached: two spellings of one image are one here, as they are
//! for the registry that is asked.

use oci_spec::distribution::{ParseError, Reference};

/// A parsed reference whose registry is spelled in one way.
///
/// Fails with the host's text.
pub(super) fn parse(image: &str) -> Result<Reference, ParseError> {
    let parsed: Reference = image.parse()?;
    let registry = parsed.registry().to_lowercase();
    let registry = registry.strip_suffix(":443").unwrap_or(&registry);
    // The parser folds `index.docker.io` and adds `library/`; this is Docker Hub's third name.
    let folded = match registry {
        "registry-1.docker.io" | "index.docker.io" => "docker.io",
        other => other,
    };
    if folded == parsed.registry() {
        return Ok(parsed);
    }
    let mut name = format!("{folded}/{}", parsed.repository());
    if let Some(tag) = parsed.tag() {
        name = format!("{name}:{tag}");
    }
    if let Some(digest) = parsed.digest() {
        name = format!("{name}@{digest}");
    }
    name.parse()
}

/// Whether a registry, with its port if it has one, is on this machine, where registries speak plain HTTP.
pub(super) fn is_on_this_machine(registry: &str) -> bool {
    let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}
