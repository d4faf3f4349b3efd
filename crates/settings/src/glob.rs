//! Patterns for names of images.

use super::read::{Path, Problems};
use image_admission_image::{ImageReference, matches_image};

/// A pattern for names of images, in which `*` stands for any characters, slashes too, and `?` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob {
    /// The path in the settings.
    pub path: String,
    /// The pattern.
    pub text: String,
}

impl Glob {
    /// Reads a glob. An empty one, or one that ends with `/`, matches no image and is refused.
    pub(super) fn read(glob: &str, path: Path<'_>, problems: &mut Problems) -> Self {
        if glob.is_empty() {
            problems.add(path, "the glob is empty and matches no image");
        } else if glob.ends_with('/') {
            // Prefixes of images are written so elsewhere.
            problems
                .add(path, format!("no image's name ends with `/`, so that `{glob}` matches none; write `{glob}*`"));
        }
        Self { path: path.text(), text: glob.to_owned() }
    }

    /// Whether it is about an image, by any of its names.
    pub fn matches(&self, reference: &ImageReference) -> bool {
        matches_image(&self.text, &reference.text())
    }
}
