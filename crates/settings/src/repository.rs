//! Another repository for artifacts about an image than the image's own: for registries that nobody here may push to.

use super::read::{Problems, SettingsMap};
use image_admission_image::{ImageReference, ReferenceError, is_host_like};

/// Stands for the image's registry. Its port is set off by `-`, since a path has no `:`.
const REGISTRY: &str = "{registry}";
/// Stands for the image's repository.
const REPOSITORY: &str = "{repository}";

/// The repository of the artifacts of an image: `registry.example.com/reports/{repository}`. The registry is always the written
/// one: an image's name can't choose which registry is contacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactRepository {
    written: String,
    host: String,
}

impl ArtifactRepository {
    /// As the settings have it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The canonical host of its registry.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository of an image's artifacts, as a reference without a digest.
    ///
    /// # Errors
    /// The name is no repository: it is too long with the image's own.
    pub fn of(&self, image: &ImageReference) -> Result<ImageReference, ReferenceError> {
        ImageReference::parse(&filled(&self.written, image.host(), image.repository()))
    }
}

fn filled(template: &str, registry: &str, repository: &str) -> String {
    template.replace(REGISTRY, &registry.replace(':', "-")).replace(REPOSITORY, repository)
}

/// Reads the template at `repository`.
pub(super) fn read(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<ArtifactRepository> {
    let text = map.text("repository", problems)?;
    match check(text) {
        Ok(repository) => Some(repository),
        Err(why) => {
            problems.add(map.path().key("repository"), why);
            None
        }
    }
}

fn check(text: &str) -> Result<ArtifactRepository, String> {
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    if host.contains(['{', '}']) {
        return Err(format!(
            "`{text}` would let whoever names an image choose the registry that is asked; write the registry, and `{REGISTRY}` in the path if at all"
        ));
    }
    if path.is_empty() || !is_host_like(host) {
        return Err(format!(
            "`{text}` doesn't begin with a registry; write it whole, like `registry.example.com/reports/{REPOSITORY}`"
        ));
    }
    let rest = path.replace(REGISTRY, "").replace(REPOSITORY, "");
    if rest.contains(['{', '}']) {
        return Err(format!("`{text}` has a placeholder that isn't known; use {REGISTRY} and {REPOSITORY}"));
    }
    if rest.contains([':', '@']) {
        return Err(format!(
            "`{text}` names more than a repository; leave out the tag, which is made of the image's digest"
        ));
    }
    // If one image makes a valid name of it, all do, except for the length.
    match ImageReference::parse(&filled(text, "registry.example.com:5000", "team/app")) {
        Ok(sample) => Ok(ArtifactRepository { written: text.to_owned(), host: sample.host().to_owned() }),
        Err(error) => Err(format!("`{text}` is no repository: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_images_make_of_a_template() {
        for (template, image, expected) in [
            (
                "registry.example.com/reports/{repository}",
                "ghcr.io/team/app:1",
                "registry.example.com/reports/team/app",
            ),
            ("registry.example.com/reports/{repository}", "nginx", "registry.example.com/reports/library/nginx"),
            ("registry.example.com/{registry}/{repository}", "nginx", "registry.example.com/docker.io/library/nginx"),
            (
                "registry.example.com/{registry}/{repository}",
                "localhost:5000/a",
                "registry.example.com/localhost-5000/a",
            ),
            ("registry.example.com:5000/signatures", "ghcr.io/team/app:1", "registry.example.com:5000/signatures"),
            ("localhost:5000/x-{repository}", "ghcr.io/team/app:1", "localhost:5000/x-team/app"),
            ("DOCKER.IO/team/reports", "ghcr.io/team/app:1", "docker.io/team/reports"),
        ] {
            let repository = check(template).unwrap();
            let of = repository.of(&ImageReference::parse(image).unwrap()).unwrap();
            assert_eq!(of.name(), expected, "{template} {image}");
            assert_eq!(of.host(), repository.host(), "{template} {image}");
        }
    }

    #[test]
    fn an_image_whose_name_is_too_long() {
        let repository = check("registry.example.com/reports/{repository}").unwrap();
        let image = ImageReference::parse(&["ghcr.io/", &"a".repeat(250)].concat()).unwrap();
        assert!(repository.of(&image).is_err());
    }

    #[test]
    fn an_address_in_brackets_is_no_part_of_a_path() {
        let repository = check("registry.example.com/{registry}/{repository}").unwrap();
        assert!(repository.of(&ImageReference::parse("[::1]:5000/a").unwrap()).is_err());
    }
}
