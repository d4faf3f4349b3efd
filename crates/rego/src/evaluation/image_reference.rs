//! `image_reference`: the parts of an image's canonical name, for rules.

use super::document::set;
use anyhow::{Context, anyhow};
use image_admission_image::ImageReference;
use regorus::Value;

/// The name that rules call [`image_reference`] by.
pub(super) const IMAGE_REFERENCE: &str = "image_reference";

/// `image_reference(image)`: `registry`, `repository`, `tag` and `digest` of the canonical name; what it doesn't have is
/// empty, as in `image(…)` of expressions. Without tag and digest the tag is `latest`, which is what runs.
///
/// # Errors
/// It is no image reference: undefined would let it pass a rule that denies by a part.
pub(super) fn image_reference(arguments: &[Value]) -> anyhow::Result<Value> {
    let [image] = arguments else { return Err(anyhow!("`{IMAGE_REFERENCE}` has one argument, the image")) };
    let image = image.as_string().with_context(|| format!("`{IMAGE_REFERENCE}`: the image is not a string"))?;
    let reference = ImageReference::parse(image)
        .map_err(|why| anyhow!("`{IMAGE_REFERENCE}`: the string is not an image reference: {}", why.without_text()))?;
    let mut parts = Value::new_object();
    for (key, part) in [
        ("registry", reference.host()),
        ("repository", reference.repository()),
        ("tag", reference.tag().unwrap_or_default()),
        ("digest", reference.digest().unwrap_or_default()),
    ] {
        set(&mut parts, key, Value::from(part));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn parts(image: impl Into<Value>) -> Result<String, String> {
        image_reference(&[image.into()]).map(|parts| parts.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_parts_are_those_of_the_canonical_name() {
        let whole = format!("GHCR.io:443/team/app:latest@{DIGEST}");
        let alone = format!("ghcr.io/team/app@{DIGEST}");
        for (image, registry, repository, tag, digest) in [
            ("nginx", "docker.io", "library/nginx", "latest", ""),
            ("localhost:5000/app", "localhost:5000", "app", "latest", ""),
            ("ghcr.io/team/app:1.0", "ghcr.io", "team/app", "1.0", ""),
            (&whole, "ghcr.io", "team/app", "latest", DIGEST),
            (&alone, "ghcr.io", "team/app", "", DIGEST),
        ] {
            let expected =
                format!(r#"{{"digest":"{digest}","registry":"{registry}","repository":"{repository}","tag":"{tag}"}}"#);
            assert_eq!(parts(image).map(|parts| parts.replace(": ", ":").replace(", ", ",")), Ok(expected), "{image}");
        }
    }

    #[test]
    fn what_is_no_reference_is_an_error() {
        let error = parts("a b").unwrap_err();
        assert!(error.starts_with("`image_reference`: the string is not an image reference: "), "{error}");
        assert_eq!(parts(1_u64).unwrap_err(), "`image_reference`: the image is not a string");
        assert!(image_reference(&[]).is_err());
    }
}
