//! `image_has_prefix`: how rules compare an image with the prefix of a custom policy.

use anyhow::{Context, anyhow};
use image_admission_image::ImageReference;
use image_admission_settings::policy::ComparedNames;
use image_admission_settings::{Effect, ImageMatching, Prefix};
use regorus::Value;

/// The name that rules call [`image_has_prefix`] by.
pub const IMAGE_HAS_PREFIX: &str = "image_has_prefix";
/// How many arguments it has.
pub const IMAGE_HAS_PREFIX_ARGUMENTS: u8 = 3;

/// The images that rules compare: the last one's names are kept, since a list is tried entry by entry for one image.
#[derive(Debug, Clone)]
pub struct ComparedImages {
    matching: ImageMatching,
    last: Option<(String, ComparedNames<'static>)>,
}

impl ComparedImages {
    /// Images that are compared like this.
    #[must_use]
    pub fn new(matching: ImageMatching) -> Self {
        Self { matching, last: None }
    }

    /// `image_has_prefix(image, prefix, action)`: whether a custom policy of this prefix and action matches an image, by the
    /// same function as in the phases themselves.
    ///
    /// The action is an argument for two reasons. Beside a digest the tag is only a claim: it may get an image rejected, and
    /// nothing else. And a prefix that ends with `:` matches a digest in the tag's place where it rejects or scans. It need not be
    /// an action. Where canonical names are compared, an image that is no reference is an error: undefined would let it pass a rule
    /// that denies by a prefix.
    ///
    /// # Errors
    /// The arguments are wrong, or the image is no reference.
    pub fn have_prefix(&mut self, arguments: &[Value]) -> anyhow::Result<Value> {
        let [image, prefix, action] = arguments else {
            return Err(anyhow!("`{IMAGE_HAS_PREFIX}` has the arguments image, prefix and action"));
        };
        let image = image.as_string().with_context(|| format!("`{IMAGE_HAS_PREFIX}`: the image is not a string"))?;
        let prefix = prefix.as_string().with_context(|| format!("`{IMAGE_HAS_PREFIX}`: the prefix is not a string"))?;
        let effect = action.as_string().map_or(Effect::Admits, |action| Effect::named(action.as_ref()));
        let names = match &self.last {
            Some((text, names)) if text == image.as_ref() => names,
            _ => &self.last.insert((image.as_ref().to_owned(), names(image, self.matching)?)).1,
        };
        Ok(Value::from(names.start_with(&Prefix::new(prefix), effect)))
    }
}

fn names(image: &str, matching: ImageMatching) -> anyhow::Result<ComparedNames<'static>> {
    Ok(match matching {
        ImageMatching::Raw => ComparedNames::raw(image.to_owned()),
        ImageMatching::Canonical => {
            let reference = ImageReference::parse(image).map_err(|why| {
                anyhow!("`{IMAGE_HAS_PREFIX}`: the string is not an image reference: {}", why.without_text())
            })?;
            ComparedNames::canonical(&reference)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn call(matching: ImageMatching, arguments: &[&str]) -> Result<bool, String> {
        let arguments: Vec<Value> = arguments.iter().map(|text| Value::from(*text)).collect();
        let answer = ComparedImages::new(matching).have_prefix(&arguments).map_err(|error| error.to_string())?;
        answer.as_bool().copied().map_err(|error| error.to_string())
    }

    #[test]
    fn canonical_names_are_compared_unless_the_settings_say_otherwise() {
        let calls = [
            (["nginx", "docker.io/", "accept"], true, false),
            (["nginx", "nginx", "accept"], false, true),
            (["GHCR.IO/team/app:1", "ghcr.io/team/", "scan"], true, false),
            (["GHCR.IO/team/app:1", "GHCR.IO/team/", "scan"], true, true),
            (["ghcr.io/team/app:1", "", ""], true, true),
        ];
        for (arguments, canonical, raw) in calls {
            assert_eq!(call(ImageMatching::Canonical, &arguments), Ok(canonical), "{arguments:?}");
            assert_eq!(call(ImageMatching::Raw, &arguments), Ok(raw), "{arguments:?}");
        }
    }

    #[test]
    fn a_tag_beside_a_digest_only_rejects() {
        let image = format!("ghcr.io/team/app:1.0@{DIGEST}");
        let actions = [("accept", false), ("scan", false), ("scan-result", false), ("reject", true)];
        for matching in [ImageMatching::Canonical, ImageMatching::Raw] {
            for (action, matches) in actions {
                assert_eq!(call(matching, &[&image, "ghcr.io/team/app:1", action]), Ok(matches), "{action}");
                assert_eq!(call(matching, &[&image, "ghcr.io/team/app@sha256:e3", action]), Ok(true));
                // A port is no tag.
                let image = format!("localhost:5000/app@{DIGEST}");
                assert_eq!(call(matching, &[&image, "localhost:5000/app@", action]), Ok(true));
            }
        }
    }

    #[test]
    fn a_prefix_of_every_tag_matches_a_digest_unless_it_accepts() {
        let actions =
            [("accept", false), ("", false), ("x", false), ("scan", true), ("scan-result", true), ("reject", true)];
        for (action, matches) in actions {
            for matching in [ImageMatching::Canonical, ImageMatching::Raw] {
                let image = format!("ghcr.io/team/app@{DIGEST}");
                assert_eq!(call(matching, &[&image, "ghcr.io/team/app:", action]), Ok(matches), "{action}");
                assert_eq!(call(matching, &[&image, "ghcr.io/team/ap:", action]), Ok(false), "{action}");
                assert_eq!(call(matching, &[&image, "ghcr.io/team/app:1", action]), Ok(false), "{action}");
                assert_eq!(
                    call(matching, &[&format!("nginx@{DIGEST}"), "docker.io/nginx:", action]),
                    Ok(matches && matching == ImageMatching::Canonical)
                );
            }
            let tagged = format!("ghcr.io/team/app:1.0@{DIGEST}");
            for matching in [ImageMatching::Canonical, ImageMatching::Raw] {
                assert_eq!(call(matching, &[&tagged, "ghcr.io/team/app:", action]), Ok(matches), "{action}");
            }
        }
    }

    #[test]
    fn the_images_of_one_engine_are_told_apart() {
        let mut images = ComparedImages::new(ImageMatching::Canonical);
        for (image, expected) in [("nginx", true), ("ghcr.io/a", false), ("ghcr.io/a", false), ("nginx", true)] {
            let arguments = [image, "docker.io/", "accept"].map(Value::from);
            assert_eq!(images.have_prefix(&arguments).unwrap(), Value::from(expected), "{image}");
        }
    }

    #[test]
    fn what_is_no_image_is_an_error() {
        let not_an_image = "`image_has_prefix`: the string is not an image reference: its repository has no such name";
        assert_eq!(call(ImageMatching::Canonical, &["a b", "a", "reject"]), Err(not_an_image.to_owned()));
        assert_eq!(call(ImageMatching::Raw, &["a b", "a", "reject"]), Ok(true));
        for (arguments, why) in [
            ([Value::Null, Value::from("a"), Value::Null], "`image_has_prefix`: the image is not a string"),
            ([Value::from("a"), Value::Null, Value::Null], "`image_has_prefix`: the prefix is not a string"),
        ] {
            let error = ComparedImages::new(ImageMatching::Raw).have_prefix(&arguments).unwrap_err();
            assert_eq!(error.to_string(), why);
        }
        let no_action = [Value::from("nginx"), Value::from("docker.io/"), Value::Null];
        assert_eq!(ComparedImages::new(ImageMatching::Canonical).have_prefix(&no_action).unwrap(), Value::from(true));
    }
}
