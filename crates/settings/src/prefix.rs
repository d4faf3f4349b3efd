//! Prefixes of image names in rules.

use super::ImageMatching;
use image_admission_image::{canonical_host, is_host_like};

/// A rule's prefix: as written, and in the form that canonical names have.
///
/// A first component that is a registry's host gets the host's canonical name. Any other, like in `team/`, belongs to Docker Hub,
/// as in an image reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix {
    written: String,
    canonical: String,
}

impl Prefix {
    /// The prefix as it stands in the settings. Every string is valid.
    #[must_use]
    pub fn new(written: &str) -> Self {
        let canonical = match written.split_once('/') {
            Some((host, rest)) if is_host_like(host) => match canonical_host(host) {
                Ok(host) => format!("{host}/{rest}"),
                // No image has such a host, so that the prefix matches nothing as written.
                Err(_) => written.to_owned(),
            },
            Some(_) => format!("docker.io/{written}"),
            // The beginning of a host, or all of it. Without a dot or a port it may go on in any way.
            None if written.contains(['.', ':']) => {
                canonical_host(written).unwrap_or_else(|_| written.to_ascii_lowercase())
            }
            None => written.to_ascii_lowercase(),
        };
        Self { written: written.to_owned(), canonical }
    }

    /// The prefix as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The prefix in the form that canonical names have.
    pub(super) fn canonical(&self) -> &str {
        &self.canonical
    }

    /// Whether a canonical name starts with it.
    #[must_use]
    pub fn matches_canonical(&self, name: &str) -> bool {
        name.starts_with(&self.canonical)
    }

    /// Whether it ends with `:`, and names the repository of a name that has a digest in the tag's place. Only for policies that don't
    /// accept: the tag beside a digest is only a claim.
    pub(crate) fn names_every_tag_of(&self, name: &str, matching: ImageMatching) -> bool {
        let own = match matching {
            ImageMatching::Canonical => &self.canonical,
            ImageMatching::Raw => &self.written,
        };
        own.strip_suffix(':').and_then(|own| name.strip_prefix(own)).is_some_and(|rest| rest.starts_with('@'))
    }

    /// Whether any canonical name can start with it: no image has a host with `https:`, or a path in upper case.
    #[must_use]
    pub(crate) fn can_match(&self) -> bool {
        let is_of = |text: &str, more: &[u8]| {
            text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || more.contains(&b))
        };
        let Some((host, rest)) = self.canonical.split_once('/') else { return is_of(&self.canonical, b".-:[]") };
        let (name, digest) = rest.split_once('@').unwrap_or((rest, ""));
        let (path, tag) = name.split_once(':').unwrap_or((name, ""));
        canonical_host(host).is_ok_and(|canonical| canonical == host)
            && is_of(path, b"._-/")
            && !path.starts_with('/')
            && !path.contains("//")
            && is_of(&tag.to_ascii_lowercase(), b"._-")
            && is_of(digest, b":")
    }

    /// Whether the string in the Pod starts with it as written.
    #[must_use]
    pub(crate) fn matches_raw(&self, image: &str) -> bool {
        image.starts_with(&self.written)
    }

    /// Whether `other` matches every image that it matches.
    pub(super) fn goes_on_from(&self, other: &Self, matching: ImageMatching) -> bool {
        match matching {
            ImageMatching::Canonical => self.canonical.starts_with(&other.canonical),
            ImageMatching::Raw => self.written.starts_with(&other.written),
        }
    }

    /// Whether it stands for every tag of what it names.
    pub(super) fn names_every_tag(&self) -> bool {
        self.written.ends_with(':')
    }

    /// The repository, as written, of a prefix that reaches a tag and no digest.
    pub(super) fn repository_of_tag(&self) -> Option<&str> {
        let (before, tag) = self.written.rsplit_once(':')?;
        (before.contains('/') && !tag.contains('/') && !before.contains('@')).then_some(before)
    }

    /// Whether it reaches a tag.
    pub(super) fn names_a_tag(&self) -> bool {
        self.canonical.rsplit('/').next().is_some_and(|last| self.canonical.contains('/') && last.contains(':'))
    }

    /// Whether it looks like a short name of Docker Hub, as in `nginx`, which no canonical name starts with.
    #[must_use]
    pub(crate) fn is_short_name(&self) -> bool {
        !self.written.is_empty() && !self.written.starts_with("localhost") && !self.written.contains(['/', '.'])
    }

    /// `host` or `path segment` when it ends inside one, so that `docker.io/my` matches `docker.io/myevil` too.
    #[must_use]
    pub fn ends_inside(&self) -> Option<&'static str> {
        match self.written.rsplit_once('/') {
            None if self.written.is_empty() => None,
            None => Some("host"),
            Some((_, last)) if last.is_empty() || last.contains([':', '@']) => None,
            Some(_) => Some("path segment"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_image::ImageReference;

    #[track_caller]
    fn check(prefix: &str, image: &str, expected: bool) {
        let names = ImageReference::parse(image).unwrap().compared_names(true);
        assert_eq!(names.iter().any(|name| Prefix::new(prefix).matches_canonical(name)), expected, "{prefix} {image}");
    }

    #[test]
    fn prefixes_are_compared_with_canonical_names() {
        check("docker.io/", "nginx", true);
        check("docker.io/nginx", "nginx", true);
        check("docker.io/library/", "nginx", true);
        check("index.docker.io/", "nginx", true);
        check("DOCKER.IO/", "nginx", true);
        check("ghcr.io/team/", "GHCR.IO:443/team/app", true);
        check("GHCR.io:443/team/", "ghcr.io/team/app", true);
        check("ghcr.io:5000/", "ghcr.io/app", false);
        check("ghcr.io", "ghcr.io.evil.com/app", true);
        check("ghcr.io/", "ghcr.io.evil.com/app", false);
        check("team/", "team/app", true);
        check("team/", "docker.io/team/app", true);
        check("team/", "team.io/app", false);
        check("nginx", "nginx", false);
        check("GHCR", "ghcr.io/team/app", true);
        check("Registry", "Registry.Example.com:5000/team/app", true);
        check("docker.io/team/", "docker.io/library/team/app", false);
        check("", "nginx", true);
        check("ghcr.io/Team/", "ghcr.io/team/app", false);
        check("ghcr.io/app:1", "ghcr.io/app:1.2", true);
        check("docker.io/library/nginx:latest", "nginx", true);
    }

    #[test]
    fn prefixes_that_no_image_has() {
        for wrong in [
            "https://bad.io/",
            "*.evil.io/",
            " bad.io/",
            "bad_reg.io/",
            "bad.io/Team/",
            "bad.io//",
            "/x",
            "*",
            "a b",
            "bad.io/x:a/b",
        ] {
            assert!(!Prefix::new(wrong).can_match(), "{wrong}");
        }
        for right in [
            "",
            "GHCR",
            "ghcr.io",
            "ghcr.io:50",
            "GHCR.IO/team/",
            "team/",
            "localhost:5000/a_b/c-",
            "r.io/a:V1",
            "r.io/a@sha256:0",
            "[::1]:5000/",
            "nginx",
            "docker.io/library/nginx:",
        ] {
            assert!(Prefix::new(right).can_match(), "{right}");
        }
    }

    #[test]
    fn prefixes_that_end_inside_something() {
        for (prefix, part) in [
            ("", None),
            ("ghcr.io/", None),
            ("ghcr.io/team/", None),
            ("ghcr.io/app:1", None),
            ("ghcr.io/app@sha256:1", None),
            ("ghcr.io", Some("host")),
            ("ghcr.io/app", Some("path segment")),
            ("ghcr.io:5000/team", Some("path segment")),
        ] {
            assert_eq!(Prefix::new(prefix).ends_inside(), part, "{prefix}");
        }
    }
}
