//! A manifest or an index, as the host shows it.
//!
//! The host reads the document with exact keys, drops what it doesn't know, and writes the rest again. Container runtimes read it
//! with Go's parser, which takes keys in any case. So a node may see more in a document than the host shows.
//! [`Manifest::is_proven`] tells whether the host shows all.

mod proof;

use crate::platform::Platform;
use image_admission_untrusted::json::{self, JsonString};
use image_admission_untrusted::unreadable::unreadable;
use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most entries of an index that are read, attestations included.
const MAX_ENTRIES: usize = 1000;

/// A manifest, borrowed from the host's answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a manifest")]
pub struct Manifest<'a> {
    schema_version: Option<i64>,
    #[serde(borrow)]
    media_type: Option<JsonString<'a>>,
    #[serde(borrow)]
    artifact_type: Option<JsonString<'a>>,
    #[serde(borrow, default, deserialize_with = "bounded")]
    manifests: Option<Vec<Descriptor<'a>>>,
    // These fields are read only for a proof, or for one source.
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    #[serde(borrow)]
    layers: Option<&'a RawValue>,
    #[serde(borrow)]
    subject: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
}

/// Why an answer is no manifest: the rest of a sentence that begins with the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableManifest(pub String);

impl std::error::Error for UnreadableManifest {}

impl fmt::Display for UnreadableManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The annotation, or label, with the name of the base image.
pub const BASE_NAME: &str = "org.opencontainers.image.base.name";
/// The annotation, or label, with the digest of the base image.
pub const BASE_DIGEST: &str = "org.opencontainers.image.base.digest";

/// The base image, as the builder of an image names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseImage {
    /// Its reference.
    pub name: Option<String>,
    /// Its digest.
    pub digest: Option<String>,
}

impl BaseImage {
    /// The base image from one set of annotations or labels; none where they name none.
    pub fn new(name: Option<String>, digest: Option<String>) -> Option<Self> {
        let (name, digest) = (name.filter(|name| !name.is_empty()), digest.filter(|digest| !digest.is_empty()));
        (name.is_some() || digest.is_some()).then_some(Self { name, digest })
    }
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The manifest of an image for one platform.
    Image,
    /// An index: one manifest for each platform.
    Index,
    /// Both, so that clients would disagree about what it is.
    Ambiguous,
}

/// A manifest's entry for a document that it points to.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor<'a> {
    #[serde(borrow)]
    media_type: Option<JsonString<'a>>,
    #[serde(borrow)]
    digest: JsonString<'a>,
    size: Option<i64>,
    #[serde(borrow)]
    urls: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    annotations: Option<Annotations<'a>>,
    #[serde(borrow)]
    platform: Option<WirePlatform<'a>>,
    #[serde(borrow)]
    artifact_type: Option<JsonString<'a>>,
}

#[derive(Debug, Deserialize)]
struct WirePlatform<'a> {
    #[serde(borrow)]
    architecture: Option<JsonString<'a>>,
    #[serde(borrow)]
    os: Option<JsonString<'a>>,
    #[serde(borrow, rename = "os.version")]
    os_version: Option<JsonString<'a>>,
    #[serde(borrow, rename = "os.features")]
    os_features: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    variant: Option<JsonString<'a>>,
    #[serde(borrow)]
    features: Option<Vec<JsonString<'a>>>,
}

impl WirePlatform<'_> {
    /// The variant, if there is one.
    fn variant(&self) -> Option<&str> {
        self.variant.as_ref().map(JsonString::as_str).filter(|variant| !variant.is_empty())
    }
}

/// Sorted by key, as all tools write maps.
type Annotations<'a> = BTreeMap<JsonString<'a>, JsonString<'a>>;

impl<'a> Manifest<'a> {
    /// Reads the host's answer about a manifest or an index.
    ///
    /// # Errors
    /// It is neither, or an index with too many entries.
    pub fn read(answer: &'a [u8]) -> Result<Self, UnreadableManifest> {
        let manifest: Self = json::from_json(answer)
            .map_err(|error| UnreadableManifest(format!("can't be read: {}", unreadable(&error))))?;
        if manifest.manifests.is_none() && !manifest.has_image_fields() {
            return Err(UnreadableManifest("is neither an image's manifest nor an index".to_owned()));
        }
        if manifest.entries().len() > MAX_ENTRIES {
            return Err(UnreadableManifest(format!("is an index of more than {MAX_ENTRIES} entries")));
        }
        Ok(manifest)
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        // The host reads a document that is both as an image, and shows only the fields of an image. Its media type still tells.
        let typed_index = self.media_type.as_ref().is_some_and(|media_type| is_index(media_type.as_str()));
        match (&self.manifests, self.has_image_fields()) {
            (Some(_), true) => Kind::Ambiguous,
            (None, _) if typed_index => Kind::Ambiguous,
            (None, _) => Kind::Image,
            (Some(_), false) => Kind::Index,
        }
    }

    fn has_image_fields(&self) -> bool {
        self.layers.is_some() || self.config.is_some()
    }

    /// The entries of an index, in its order.
    pub fn entries(&self) -> &[Descriptor<'a>] {
        self.manifests.as_deref().unwrap_or_default()
    }

    /// The digest of an image's configuration. Docker calls it the image's id.
    pub fn image_id(&self) -> Option<String> {
        let config: Descriptor<'_> = serde_json::from_str(self.config?.get()).ok()?;
        Some(config.digest.as_str().to_owned())
    }

    /// The media type of an image's configuration; empty where there is none.
    pub fn config_type(&self) -> String {
        let config: Option<Descriptor<'_>> = self.config.and_then(|config| serde_json::from_str(config.get()).ok());
        let media_type = config.as_ref().and_then(|config| config.media_type.as_ref());
        media_type.map(|media_type| media_type.as_str().to_owned()).unwrap_or_default()
    }

    /// Its annotations, in the order of their keys.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.annotations.iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Its base image, from its annotations.
    pub fn base(&self) -> Option<BaseImage> {
        let annotations = self.annotations.as_ref()?;
        let text = |key: &'static str| annotations.get(&JsonString::from(key)).map(|text| text.as_str().to_owned());
        BaseImage::new(text(BASE_NAME), text(BASE_DIGEST))
    }

    /// Whether this is all that the document with this digest says: in the spelling of a common tool, it has that
    /// digest. Nothing can be hidden in such a document. `may_hash` tells whether so many more bytes may be hashed for it.
    pub fn is_proven(&self, digest: &str, may_hash: &dyn Fn(usize) -> bool) -> bool {
        proof::is_proven(self, digest, may_hash)
    }

    /// The one of these SHA-256 digests that this is all of: in the spelling of a common tool, it has that digest. So a document
    /// whose digest nobody told has one, if a report names it. `may_hash` is as for [`Manifest::is_proven`].
    pub fn digest_among(&self, digests: &BTreeSet<String>, may_hash: &dyn Fn(usize) -> bool) -> Option<String> {
        proof::digest_among(self, digests, may_hash)
    }
}

impl Descriptor<'_> {
    /// The digest of what it points to, as the document has it.
    pub fn digest(&self) -> &str {
        self.digest.as_str()
    }

    /// The type of artifact that it points to, if it states one.
    pub fn artifact_type(&self) -> Option<&str> {
        self.artifact_type.as_ref().map(JsonString::as_str)
    }

    /// The platform that it is for, if it states a valid one.
    pub fn platform(&self) -> Option<Platform> {
        let said = self.platform.as_ref()?;
        let platform = Platform::of(said.os.as_ref()?.as_str(), said.architecture.as_ref()?.as_str(), said.variant())?;
        Some(platform.with_os_version(said.os_version.as_ref().map(JsonString::as_str)))
    }

    /// Whether every runtime reads its platform alike, on each machine of that platform. Machines differ in the version and the
    /// features of the operating system.
    pub fn has_plain_platform(&self) -> bool {
        let (Some(said), Some(read)) = (&self.platform, self.platform()) else { return false };
        let (Some(os), Some(architecture)) = (&said.os, &said.architecture) else { return false };
        let has_version = said.os_version.as_ref().is_some_and(|version| !version.as_str().is_empty());
        let has_features = said.os_features.as_ref().is_some_and(|features| !features.is_empty());
        !has_version && !has_features && read.is_plainly(os.as_str(), architecture.as_str(), said.variant())
    }

    /// Whether it states a platform that isn't valid. Runtimes may accept it all the same: containerd takes the node's own
    /// operating system for an empty one.
    pub fn has_odd_platform(&self) -> bool {
        let is_said = |text: &Option<JsonString<'_>>| text.as_ref().is_some_and(|text| !text.as_str().is_empty());
        self.platform.as_ref().is_some_and(|platform| is_said(&platform.os) || is_said(&platform.architecture))
            && self.platform().is_none()
    }

    /// Whether it points to another index.
    pub fn is_index(&self) -> bool {
        self.media_type.as_ref().is_some_and(|media_type| is_index(media_type.as_str()))
    }
}

/// Whether a media type is an index's, OCI's or Docker's.
fn is_index(media_type: &str) -> bool {
    match media_type {
        // Nearly all media types are one of these.
        "application/vnd.oci.image.index.v1+json" => true,
        "application/vnd.oci.image.manifest.v1+json" | "application/vnd.docker.distribution.manifest.v2+json" => false,
        other => other.contains("image.index") || other.contains("manifest.list"),
    }
}

/// Reads the entries of an index, and keeps at most one more than allowed: its pusher chooses how many there are.
fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Descriptor<'de>>>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<Descriptor<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of manifests")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut read = Vec::new();
            while read.len() <= MAX_ENTRIES {
                match entries.next_element()? {
                    Some(entry) => read.push(entry),
                    None => return Ok(read),
                }
            }
            while entries.next_element::<IgnoredAny>()?.is_some() {}
            Ok(read)
        }
    }

    deserializer.deserialize_seq(Entries).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_read_up_to_a_limit() {
        let index = |entries: usize| format!(r#"{{"manifests":[{}]}}"#, vec![r#"{"digest":"d"}"#; entries].join(","));
        assert_eq!(Manifest::read(index(MAX_ENTRIES).as_bytes()).unwrap().entries().len(), MAX_ENTRIES);
        let more = index(MAX_ENTRIES + 1);
        assert!(Manifest::read(more.as_bytes()).unwrap_err().to_string().contains("more than 1000 entries"));
    }

    #[test]
    fn manifests_are_told_from_indexes() {
        for (text, kind) in [
            (r#"{"config":{},"layers":[]}"#, Kind::Image),
            (r#"{"layers":[]}"#, Kind::Image),
            (r#"{"manifests":[]}"#, Kind::Index),
            (r#"{"layers":[],"manifests":[]}"#, Kind::Ambiguous),
            (r#"{"mediaType":"application/vnd.oci.image.index.v1+json","config":{},"layers":[]}"#, Kind::Ambiguous),
        ] {
            assert_eq!(Manifest::read(text.as_bytes()).unwrap().kind(), kind, "{text}");
        }
        for nonsense in ["", "null", "[]", "{}", r#"{"mediaType":"x"}"#, "\u{0}", r#"{"manifests":1}"#] {
            assert!(Manifest::read(nonsense.as_bytes()).is_err(), "{nonsense}");
        }
    }

    #[test]
    fn an_image_s_id_is_its_configuration_s_digest() {
        let id = |text: &str| Manifest::read(text.as_bytes()).unwrap().image_id();
        assert_eq!(id(r#"{"config":{"digest":"sha256:1"},"layers":[]}"#).as_deref(), Some("sha256:1"));
        for none in [r#"{"config":{},"layers":[]}"#, r#"{"config":7,"layers":[]}"#, r#"{"layers":[]}"#] {
            assert_eq!(id(none), None, "{none}");
        }
    }

    #[test]
    fn an_entry_says_its_platform_or_none() {
        let index = r#"{"manifests":[{"digest":"d"},{"digest":"d","platform":{"os":"linux","architecture":"arm","variant":"v7"}},
                {"digest":"d","platform":{"os":"linux"}},{"digest":"d","platform":{"os":"linux","architecture":"amd64","variant":""}},
                {"digest":"d","platform":{"os":"windows","os.version":"10.0.17763.1","architecture":"amd64"}}]}"#;
        let index = Manifest::read(index.as_bytes()).unwrap();
        let platforms: Vec<_> = index.entries().iter().map(|entry| entry.platform().map(|p| p.to_string())).collect();
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(
            platforms,
            [None, named("linux/arm/v7"), None, named("linux/amd64"), named("windows(10.0.17763.1)/amd64")]
        );
    }
}
