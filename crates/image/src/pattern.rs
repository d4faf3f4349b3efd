//! Patterns for names of images, as in `imageVerification` and `pin.exclude`.

use super::reference::{ImageReference, canonical_host, is_host_like};
use image_admission_untrusted::glob;
use std::collections::BTreeSet;

/// Whether a pattern matches any of an image's [`names_of`]. For a reference with a digest, the pattern's tag is ignored: the
/// digest decides what runs, and the Pod author may put any tag beside it.
pub fn matches_image(pattern: &str, image: &str) -> bool {
    let same = |a: u8, b: u8| a == b;
    let Ok(reference) = ImageReference::parse(image) else { return glob::matches(pattern, image, same) };
    let (host, path) = match pattern.split_once('/') {
        Some((host, path)) if is_host_like(host) => (Some(host), path),
        _ => (None, pattern),
    };
    let canonical = host.and_then(|host| canonical_host(host).ok());
    let pattern = canonical.map_or_else(|| pattern.to_owned(), |host| format!("{host}/{path}"));
    let names = names_of(image, &reference);
    let matches = |pattern: &str| names.iter().any(|name| glob::matches(pattern, name, same));
    matches(&pattern) || reference.digest().is_some() && without_tag(&pattern).is_some_and(matches)
}

/// A pattern without the part for the tag.
fn without_tag(pattern: &str) -> Option<&str> {
    let (name, tag) = pattern.rsplit_once(':')?;
    (!tag.contains('/') && !name.contains('@')).then_some(name)
}

/// Every name of an image: as written, and its canonical names, for Docker Hub also without the host. Each is with its tag, with
/// its digest, with both and with neither.
pub fn names_of(image: &str, reference: &ImageReference) -> BTreeSet<String> {
    let mut names = BTreeSet::from([image.to_owned(), reference.name()]);
    names.extend(reference.compared_names(true));
    names.extend(reference.compared_names(false));
    let short: Vec<String> =
        names.iter().filter_map(|name| name.split_once('@')).map(|(name, _)| name.to_owned()).collect();
    names.extend(short);
    let hub: Vec<String> = names
        .iter()
        .filter_map(|name| name.strip_prefix("docker.io/"))
        .flat_map(|name| [Some(name), name.strip_prefix("library/")])
        .flatten()
        .map(str::to_owned)
        .collect();
    names.extend(hub);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_compared_with_every_name_of_an_image() {
        let digest = format!("sha256:{}", "a".repeat(64));
        for (pattern, image, expected) in [
            ("ghcr.io/*", "ghcr.io/team/app:1", true),
            ("ghcr.io/*", "GHCR.IO/team/app:1", true),
            ("GHCR.io:443/*", "ghcr.io/team/app:1", true),
            ("ghcr.io/*", "ghcr.io.evil.com/team/app:1", false),
            ("ghcr.io/team/*", "ghcr.io/teamevil/app", false),
            ("docker.io/*", "nginx", true),
            ("index.docker.io/library/*", "nginx", true),
            ("docker.io/nginx*", "nginx:1", true),
            ("nginx*", "nginx:1", true),
            ("nginx*", "docker.io/library/nginx:1", true),
            ("nginx*", "index.docker.io/nginx:1", true),
            ("team/*", "docker.io/team/app", true),
            ("team/*", "quay.io/team/app", false),
            ("*", "nginx", true),
            ("*/team/*", "ghcr.io/team/app", true),
            ("ghcr.io/team/app:1.?", "ghcr.io/team/app:1.2", true),
            ("ghcr.io/team/app:1.?", "ghcr.io/team/app:1.22", false),
            ("ghcr.io/team/app", "ghcr.io/team/app:1", true),
        ] {
            assert_eq!(matches_image(pattern, image), expected, "{pattern} {image}");
        }
        assert!(matches_image("ghcr.io/team/app:*", &format!("ghcr.io/team/app:1@{digest}")));
        assert!(matches_image("ghcr.io/team/app@sha256:*", &format!("ghcr.io/team/app:1@{digest}")));
        assert!(matches_image("ghcr.io/team/app:1", &format!("ghcr.io/team/app:1@{digest}")));
        // The digest decides what runs.
        for pattern in ["ghcr.io/team/app:*", "ghcr.io/team/app:v1*", "ghcr.io/*:v1", "*:v1"] {
            assert!(matches_image(pattern, &format!("ghcr.io/team/app@{digest}")), "{pattern}");
            assert!(matches_image(pattern, &format!("ghcr.io/team/app:x@{digest}")), "{pattern}");
        }
        assert!(!matches_image("ghcr.io/team/other:*", &format!("ghcr.io/team/app@{digest}")));
    }
}
