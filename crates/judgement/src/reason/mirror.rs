//! Why an image that is named by a mirror of its registry isn't judged.

use image_admission_image::ImageReference;
use image_admission_settings::Mirrors;
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::fmt;

/// An image that is named by a mirror. Images at a mirror are known by the names of the mirror's registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedByMirror {
    mirror: String,
    registry: String,
    name: String,
}

impl NamedByMirror {
    /// An image's name at its registry, if it is named by a mirror.
    pub fn of(image: &ImageReference, mirrors: &Mirrors) -> Option<Self> {
        let (mirror, name) = mirrors.behind(image).filter(|_| is_on(Remedy::OneNameForEachImage))?;
        Some(Self { mirror: mirror.to_string(), registry: mirror.registry().to_owned(), name: name.to_string() })
    }
}

impl fmt::Display for NamedByMirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mirror, registry, name } = self;
        write!(
            f,
            "its name is that of a mirror, and rules know it by its registry's: `{mirror}` stands in for `{registry}`; name it `{name}`"
        )
    }
}
