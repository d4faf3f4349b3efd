//! Platforms, which images of an index and reports are for.

use image_admission_untrusted::remedy::{Remedy, is_on};
use std::fmt;

/// The longest platform that is read: an index chooses the string, and messages repeat it.
const MAX_LENGTH: usize = 64;

/// An operating system, an architecture and its variant, in a form that can be compared.
///
/// Architectures have Go's names. A missing variant of `arm64` or `arm` compares as `v8` or `v7`, as in container
/// runtimes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Platform {
    os: String,
    architecture: String,
    /// The variant as written.
    variant: Option<String>,
    /// The version of the operating system, where an index states it. It tells two images for Windows apart for people. It is never
    /// compared: both are judged.
    os_version: Option<String>,
}

impl Platform {
    /// Reads `os/architecture` or `os/architecture/variant`; none if it is too long.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (os, architecture, variant) = (parts.next()?, parts.next()?, parts.next());
        if parts.next().is_some() { None } else { Self::of(os, architecture, variant) }
    }

    /// The same from its parts; none if a part has a `/`.
    pub fn of(os: &str, architecture: &str, variant: Option<&str>) -> Option<Self> {
        let length = os.len() + "/".len() + architecture.len() + variant.map_or(0, |variant| "/".len() + variant.len());
        if length > MAX_LENGTH || !is_word(os) || !is_word(architecture) || !variant.is_none_or(is_word) {
            return None;
        }
        let (os, architecture) = (os.to_ascii_lowercase(), architecture.to_ascii_lowercase());
        let os = if os == "macos" { "darwin".to_owned() } else { os };
        let variant = variant.map(str::to_ascii_lowercase);
        let (architecture, variant) = names_of_go(&architecture, variant.as_deref());
        let (architecture, variant) = (architecture.to_owned(), variant.map(str::to_owned));
        Some(Self { os, architecture, variant, os_version: None })
    }

    /// The same with the version of its operating system, if that is valid.
    pub(crate) fn with_os_version(self, version: Option<&str>) -> Self {
        let version = version.filter(|version| version.len() <= MAX_LENGTH && is_word(version));
        Self { os_version: version.map(str::to_owned), ..self }
    }

    /// The platform of no machine: see [`Platform::is_unknown`].
    pub fn unknown() -> Self {
        Self { os: "unknown".to_owned(), architecture: "unknown".to_owned(), variant: None, os_version: None }
    }

    /// The platform that scanners scan by default.
    pub fn linux_amd64() -> Self {
        Self { os: "linux".to_owned(), architecture: "amd64".to_owned(), variant: None, os_version: None }
    }

    /// Whether images for the two run on the same machines.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.os == other.os && self.architecture == other.architecture && self.meant_variant() == other.meant_variant()
    }

    /// Whether the two have the same operating system and architecture: a scanner that isn't told the variant may take either.
    pub fn is_kin(&self, other: &Self) -> bool {
        self.os == other.os && self.architecture == other.architecture
    }

    /// Whether `asked` means this platform; without a variant it means every variant.
    #[must_use]
    pub fn is_asked_for_by(&self, asked: &Self) -> bool {
        self.os == asked.os
            && self.architecture == asked.architecture
            && (asked.variant.is_none() || self.meant_variant() == asked.meant_variant())
    }

    /// Whether it matches these parts: a missing part may be anything.
    pub fn is(&self, os: Option<&str>, architecture: Option<&str>, variant: Option<&str>) -> bool {
        let (os, architecture) = (os.unwrap_or(&self.os), architecture.unwrap_or(&self.architecture));
        Self::of(os, architecture, variant).is_some_and(|asked| self.is_asked_for_by(&asked))
    }

    /// Whether a machine of the platform `asked` runs an image for this one if an index has none for its own. containerd takes
    /// 32-bit images on 64-bit machines, some variants on others, and images for Linux on FreeBSD: here any variant counts, so that none
    /// is missed.
    pub fn stands_in_for(&self, asked: &Self) -> bool {
        let families = [("amd64", "386"), ("arm64", "arm")];
        let is_older = families.contains(&(asked.architecture.as_str(), self.architecture.as_str()));
        let is_run_there = self.os == asked.os || asked.os == "freebsd" && self.os == "linux";
        is_run_there && (self.architecture == asked.architecture || is_older)
    }

    /// The least capable machines of a listed platform: one whose runtime knows its variant, and one whose runtime doesn't.
    /// Runtimes detect the variant only of `arm`, which is `v5` at least.
    pub fn least_machines(&self) -> [Self; 2] {
        let with = |variant: Option<&str>| Self { variant: variant.map(str::to_owned), ..self.clone() };
        match (self.architecture.as_str(), self.variant.as_deref()) {
            ("arm", None) => [with(Some("v5")), with(Some("v5"))],
            ("arm", variant) => [with(variant), with(variant)],
            (_, variant) => [with(variant), with(None)],
        }
    }

    /// Whether every runtime reads these strings as this platform. containerd knows other names for it (`x86_64`, `AMD64`,
    /// `arm64/8`); CRI-O and podman compare exactly. And to CRI-O `arm` isn't `arm/v7`, nor `amd64/v1` the same as `amd64`.
    pub fn is_plainly(&self, os: &str, architecture: &str, variant: Option<&str>) -> bool {
        let is_meant = self.architecture == "arm64" || variant == self.meant_variant();
        is_meant && self.os == os && self.architecture == architecture && self.variant.as_deref() == variant
    }

    /// Whether it marks entries of an index that no machine runs, like attestations.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.os == "unknown" && self.architecture == "unknown"
    }

    /// `linux/arm64/v8`, as settings and rules name it.
    pub fn name(&self) -> String {
        match &self.variant {
            Some(variant) => [&self.os, "/", &self.architecture, "/", variant].concat(),
            None => [&self.os, "/", &self.architecture].concat(),
        }
    }

    /// `windows(10.0.17763.1)/amd64`, for people: its name, with the version of the operating system as containerd writes it.
    pub fn text(&self) -> String {
        match (&self.os_version, &self.variant) {
            (None, _) => self.name(),
            (Some(version), Some(variant)) => [&self.os, "(", version, ")/", &self.architecture, "/", variant].concat(),
            (Some(version), None) => [&self.os, "(", version, ")/", &self.architecture].concat(),
        }
    }

    fn meant_variant(&self) -> Option<&str> {
        let variant = self.variant.as_deref();
        match (self.architecture.as_str(), variant) {
            _ if !is_on(Remedy::FillVariants) => variant,
            ("arm64", None) => Some("v8"),
            ("arm", None) => Some("v7"),
            ("amd64", Some("v1")) => None,
            _ => variant,
        }
    }
}

/// An architecture and its variant by Go's names, as containerd reads them.
fn names_of_go<'t>(architecture: &'t str, variant: Option<&'t str>) -> (&'t str, Option<&'t str>) {
    match (architecture, variant) {
        ("i386", _) => ("386", None),
        ("x86_64" | "x86-64", _) => ("amd64", variant),
        ("aarch64" | "arm64", Some("8" | "v8.0")) => ("arm64", Some("v8")),
        ("aarch64" | "arm64", Some("9" | "9.0" | "v9.0")) => ("arm64", Some("v9")),
        ("aarch64", _) => ("arm64", variant),
        ("armhf", _) => ("arm", Some("v7")),
        ("armel", _) => ("arm", Some("v6")),
        ("arm", Some("5")) => ("arm", Some("v5")),
        ("arm", Some("6")) => ("arm", Some("v6")),
        ("arm", Some("7")) => ("arm", Some("v7")),
        ("arm", Some("8")) => ("arm", Some("v8")),
        _ => (architecture, variant),
    }
}

/// Whether a part of a platform is valid.
fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(text: &str) -> Platform {
        Platform::parse(text).unwrap()
    }

    #[test]
    fn variants_that_mean_the_same() {
        for (a, b, same) in [
            ("linux/arm64", "linux/arm64/v8", true),
            ("linux/arm", "linux/arm/v7", true),
            ("linux/arm/v6", "linux/arm/v7", false),
            ("linux/amd64", "linux/x86_64", true),
            ("linux/aarch64", "linux/arm64/8", true),
            ("linux/amd64", "linux/amd64/v3", false),
            ("linux/amd64", "windows/amd64", false),
            ("Linux/AMD64", "linux/amd64", true),
            ("linux/amd64", "linux/amd64/v1", true),
            ("linux/i386", "linux/386", true),
            ("linux/arm64/v8.0", "linux/arm64", true),
            ("linux/arm64/v9.0", "linux/arm64/9", true),
            ("linux/arm64/v8.1", "linux/arm64", false),
        ] {
            assert_eq!(platform(a).is_same(&platform(b)), same, "{a} {b}");
        }
    }

    #[test]
    fn a_platform_without_variant_asks_for_every_variant() {
        assert!(platform("linux/arm/v6").is_asked_for_by(&platform("linux/arm")));
        assert!(platform("linux/amd64/v3").is_asked_for_by(&platform("linux/amd64")));
        assert!(platform("linux/arm64").is_asked_for_by(&platform("linux/arm64/v8")));
        assert!(!platform("linux/arm/v6").is_asked_for_by(&platform("linux/arm/v7")));
        assert!(!platform("linux/arm64").is_asked_for_by(&platform("linux/amd64")));
    }

    #[test]
    fn parts_are_read_each_by_itself() {
        assert_eq!(Platform::of("Linux", "aarch64", Some("8")), Some(platform("linux/arm64/v8")));
        assert_eq!(Platform::of("linux", "armhf", None), Some(platform("linux/arm/v7")));
        // Joined, these would be platforms, but no machine reads them like that.
        for (os, architecture, variant) in
            [("linux/arm", "v7", None), ("linux", "arm/v7", None), ("linux", "arm", Some("")), ("", "amd64", None)]
        {
            assert_eq!(Platform::of(os, architecture, variant), None, "{os} {architecture} {variant:?}");
        }
    }

    #[test]
    fn the_version_of_the_system_is_shown_and_not_compared() {
        let of = |text: &str, version: &str| platform(text).with_os_version(Some(version));
        let (old, new) = (of("windows/amd64", "10.0.17763.1"), of("windows/amd64", "10.0.20348.2"));
        assert_eq!((old.to_string().as_str(), old.name().as_str()), ("windows(10.0.17763.1)/amd64", "windows/amd64"));
        assert_eq!(of("linux/arm/v7", "6.1").to_string(), "linux(6.1)/arm/v7");
        assert!(old.is_same(&new) && old.is_kin(&new) && old.is_asked_for_by(&platform("windows/amd64")));
        for odd in ["", " ", "10)/arm64, linux(1", "1\n", &"1".repeat(65)] {
            assert_eq!(of("windows/amd64", odd), platform("windows/amd64"), "{odd}");
        }
        assert_eq!(Platform::parse("windows(10.0.17763.1)/amd64"), None);
    }

    #[test]
    fn what_is_no_platform() {
        for text in [
            "",
            "linux",
            "linux/",
            "/amd64",
            "linux/arm/v7/x",
            "linux/arm/",
            "all",
            "linux/a md",
            &format!("linux/{}", "a".repeat(59)),
        ] {
            assert_eq!(Platform::parse(text), None, "{text}");
        }
    }
}
