//! An image's manifest or index as the host understands it: fields that it doesn't know are dropped, and those it knows have
//! these types.
//!
//! The types are those of the host's registry client, which a live command line has; a test holds these to those.

use std::collections::BTreeMap;

use oci_spec::image::{Arch, Os};
use serde::{Deserialize, Serialize};

/// What a digest or a tag names.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
#[cfg_attr(
    not(target_family = "wasm"),
    expect(clippy::large_enum_variant, reason = "there are as few as a list has images")
)]
pub enum Manifest {
    /// An image of one platform, or an artifact.
    Image(ImageManifest),
    /// What says which image runs on which platform.
    Index(Index),
}

/// OCI's image manifest, or Docker's of version 2.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageManifest {
    /// 2
    pub schema_version: u8,
    /// What the manifest says that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The image's configuration, or what an artifact has in its place.
    pub config: Descriptor,
    /// The layers, the lowest first.
    pub layers: Vec<Descriptor>,
    /// The manifest that this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// What kind of artifact it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// OCI's image index, or Docker's manifest list.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Index {
    /// 2
    pub schema_version: u8,
    /// What the index says that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The manifests, of a platform each.
    pub manifests: Vec<IndexEntry>,
    /// What kind of artifact it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// What a manifest says of some content.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The type of the content.
    pub media_type: String,
    /// The hash of the content.
    pub digest: String,
    /// In bytes.
    pub size: i64,
    /// Where else the content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub urls: Option<Vec<String>>,
    /// Anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// What kind of artifact the content is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// One manifest of an index.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexEntry {
    /// The type of the manifest.
    pub media_type: String,
    /// The hash of the manifest.
    pub digest: String,
    /// In bytes.
    pub size: i64,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// What kind of artifact it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// Where an image runs.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Platform {
    /// `amd64`
    pub architecture: Arch,
    /// `linux`
    pub os: Os,
    /// Of Windows.
    #[serde(rename = "os.version", skip_serializing_if = "Option::is_none")]
    pub os_version: Option<String>,
    /// Of Windows.
    #[serde(rename = "os.features", skip_serializing_if = "Option::is_none")]
    pub os_features: Option<Vec<String>>,
    /// `v7`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Reserved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
}

impl Index {
    /// The digest of the first entry for linux/amd64, which the host takes where one image is wanted.
    pub(super) fn of_the_host(&self) -> Option<&str> {
        let is_of_the_host = |platform: &Platform| platform.os == Os::Linux && platform.architecture == Arch::Amd64;
        let entry = self.manifests.iter().find(|entry| entry.platform.as_ref().is_some_and(is_of_the_host));
        entry.map(|entry| entry.digest.as_str())
    }
}

#[cfg(test)]
#[cfg(feature = "live")]
mod tests {
    use super::Manifest;
    use oci_client::manifest::OciManifest;
    use std::path::Path;

    /// What the two make of a document.
    fn both(document: &str) -> (Option<String>, Option<String>) {
        let own = serde_json::from_str::<Manifest>(document).ok();
        let client: Option<OciManifest> = serde_json::from_str(document).ok();
        if let (Some(Manifest::Index(own)), Some(OciManifest::ImageIndex(client))) = (&own, &client) {
            let resolved = oci_client::client::linux_amd64_resolver(&client.manifests);
            assert_eq!(own.of_the_host(), resolved.as_deref(), "{document}");
        }
        (
            own.map(|own| serde_json::to_string(&own).unwrap()),
            client.map(|client| serde_json::to_string(&client).unwrap()),
        )
    }

    #[test]
    fn what_the_hosts_client_makes_of_a_document_is_made_of_it_here() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../image/tests/manifests");
        let mut compared = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let (own, client) = both(&std::fs::read_to_string(&path).unwrap());
                assert!(own.is_some(), "{}", path.display());
                assert_eq!(own, client, "{}", path.display());
                compared += 1;
            }
        }
        assert!(compared > 30, "{compared}");
    }

    #[test]
    fn odd_documents_are_the_same_to_both() {
        let descriptor = r#"{"mediaType":"m","digest":"d","size":1,"urls":["u"],"annotations":{"b":"1","a":"2"},"artifactType":"t","data":"x"}"#;
        let platforms = r#"{"os":"linux","architecture":"amd64","variant":"v8","os.version":"1","os.features":["f"],"features":["g"],"x":1}"#;
        let entry = |platform: &str| {
            format!(
                r#"{{"mediaType":"m","digest":"d","size":1,"platform":{platform},"urls":[],"artifactType":"t","annotations":{{}}}}"#
            )
        };
        let documents = [
            format!(
                r#"{{"schemaVersion":2,"mediaType":"m","config":{descriptor},"layers":[{descriptor}],"subject":{descriptor},"artifactType":"t","annotations":{{"z":"1"}},"more":1}}"#
            ),
            format!(
                r#"{{"schemaVersion":2,"manifests":[{},{}],"artifactType":"t","annotations":{{}}}}"#,
                entry(platforms),
                entry("null")
            ),
            // Both an image and an index.
            format!(r#"{{"schemaVersion":2,"config":{descriptor},"layers":[],"manifests":[]}}"#),
            format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entry(r#"{"os":"plan 9","architecture":"mine"}"#)),
            format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entry(r#"{"os":"linux"}"#)),
            r#"{"schemaVersion":256,"manifests":[]}"#.to_owned(),
            r#"{"schemaVersion":"2","manifests":[]}"#.to_owned(),
            r#"{"schemaVersion":2,"manifests":null}"#.to_owned(),
            r#"{"schemaVersion":2}"#.to_owned(),
            r#"{"schemaVersion":2,"manifests":[{"digest":"d","size":1}]}"#.to_owned(),
            r#"{"schemaVersion":2,"manifests":[],"mediaType":null}"#.to_owned(),
            r#"{"schemaVersion":2,"manifests":[],"manifests":[]}"#.to_owned(),
            "[]".to_owned(),
            "null".to_owned(),
        ];
        for document in documents {
            let (own, client) = both(&document);
            assert_eq!(own, client, "{document}");
        }
    }
}
