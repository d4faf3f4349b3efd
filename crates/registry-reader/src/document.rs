//! What is read from registries, and whether it is what was asked for.

use data_encoding::HEXLOWER;
use serde::Deserialize;
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::failure::{Flaw, ReadFailure};

/// The media type of OCI's index: also that of a list of referrers.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The media types of manifests: OCI's image and index, and Docker's.
pub(crate) const MANIFESTS: [&str; 4] = [
    "application/vnd.oci.image.manifest.v1+json",
    INDEX,
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// The manifest of an image, or an index of images, as [the image specification][spec] has them.
///
/// The answer to the policy's `v1/oci_manifest` is `bytes`, read as the real host reads them:
/// `image_admission_module_host::answers::manifest::Manifest`, written as JSON. That to `v1/oci_manifest_config` is
/// `{"manifest": …, "digest": …, "config": …}` with the same, `digest`, and the JSON of the blob that `config` of the manifest names.
///
/// [spec]: https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// A JSON object, as the registry sent it.
    pub bytes: Vec<u8>,
    /// One of the four types of manifests. The document and the registry agree about it.
    pub media_type: String,
    /// The digest of the bytes: the one that was asked for, or `sha256:…`.
    pub digest: String,
}

/// What an index says of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The manifest's type.
    pub media_type: String,
    /// Its digest, with the algorithm. It is one by the grammar.
    pub digest: String,
    /// Its bytes.
    pub size: u64,
    /// The type of the artifact, if the index says it.
    #[serde(default)]
    pub artifact_type: Option<String>,
}

/// The part of an index that is read.
#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Typed {
    media_type: Option<String>,
}

impl Manifest {
    /// The manifest in the bytes of an answer with this `Content-Type`.
    ///
    /// Fails when it is no JSON object, or no manifest by its types.
    pub(crate) fn read(bytes: Vec<u8>, content_type: Option<&str>, digest: String) -> Result<Self, ReadFailure> {
        let typed: Typed = serde_json::from_slice(&bytes).map_err(|_| ReadFailure::Invalid(Flaw::Json))?;
        let known = |text: &str| MANIFESTS.into_iter().find(|known| *known == text);
        // OCI's documents may leave their type out; registries may say that it is JSON, or nothing.
        let media_type = match (typed.media_type.as_deref(), content_type.and_then(known)) {
            (Some(own), None) => known(own),
            (Some(own), Some(said)) => known(own).filter(|own| *own == said),
            (None, said) => said,
        };
        let media_type = media_type.ok_or(ReadFailure::Invalid(Flaw::MediaType))?.to_owned();
        Ok(Self { bytes, media_type, digest })
    }
}

/// The entries of an index.
///
/// Fails when it is none, or a digest in it is none.
pub(crate) fn entries(index: &[u8]) -> Result<Vec<Descriptor>, ReadFailure> {
    let index: Index = serde_json::from_slice(index).map_err(|_| ReadFailure::Invalid(Flaw::Json))?;
    let is_valid = |entry: &Descriptor| image_admission_image::is_digest(&entry.digest);
    if index.manifests.iter().all(is_valid) { Ok(index.manifests) } else { Err(ReadFailure::Invalid(Flaw::Json)) }
}

/// The digest of bytes, by the algorithm that is usual.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// Checks that bytes have a digest.
///
/// Fails when they don't, or its algorithm isn't known.
pub(crate) fn check_digest(bytes: &[u8], digest: &str) -> Result<(), ReadFailure> {
    let hex = match digest.split_once(':') {
        Some(("sha256", _)) => HEXLOWER.encode(&Sha256::digest(bytes)),
        Some(("sha384", _)) => HEXLOWER.encode(&Sha384::digest(bytes)),
        Some(("sha512", _)) => HEXLOWER.encode(&Sha512::digest(bytes)),
        _ => return Err(ReadFailure::Invalid(Flaw::Digest)),
    };
    if digest.ends_with(&format!(":{hex}")) { Ok(()) } else { Err(ReadFailure::Invalid(Flaw::Digest)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCKER: &str = MANIFESTS[2];

    #[test]
    fn types_of_manifests() {
        let own = |media_type: &str| format!(r#"{{"mediaType": "{media_type}"}}"#);
        let wrong = Err(ReadFailure::Invalid(Flaw::MediaType));
        for (bytes, content_type, expected) in [
            (own(INDEX), Some(INDEX), Ok(INDEX)),
            (own(INDEX), Some("application/json"), Ok(INDEX)),
            (own(INDEX), None, Ok(INDEX)),
            ("{}".to_owned(), Some(INDEX), Ok(INDEX)),
            (own(INDEX), Some(DOCKER), wrong.clone()),
            (own("application/vnd.oci.image.config.v1+json"), Some(INDEX), wrong.clone()),
            ("{}".to_owned(), Some("application/json"), wrong.clone()),
            ("{}".to_owned(), None, wrong),
            ("[]".to_owned(), Some(INDEX), Err(ReadFailure::Invalid(Flaw::Json))),
            ("<html>".to_owned(), Some(INDEX), Err(ReadFailure::Invalid(Flaw::Json))),
        ] {
            let read = Manifest::read(bytes.clone().into_bytes(), content_type, String::new());
            assert_eq!(
                read.map(|manifest| manifest.media_type),
                expected.map(str::to_owned),
                "{bytes} {content_type:?}"
            );
        }
    }

    #[test]
    fn digests_of_each_algorithm() {
        // By `printf abc | sha256sum` and its siblings.
        let digests = [
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "sha384:cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
            "sha512:ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ];
        assert_eq!(digest_of(b"abc"), digests[0]);
        for digest in digests {
            assert_eq!(check_digest(b"abc", digest), Ok(()), "{digest}");
            assert_eq!(check_digest(b"abd", digest), Err(ReadFailure::Invalid(Flaw::Digest)), "{digest}");
        }
        assert_eq!(
            check_digest(b"abc", "md5:900150983cd24fb0d6963f7d28e17f72"),
            Err(ReadFailure::Invalid(Flaw::Digest))
        );
    }

    #[test]
    fn lists_that_are_none() {
        let digest = digest_of(b"");
        let entry = |digest: &str, size: &str| {
            format!(r#"{{"manifests": [{{"mediaType": "a/b", "digest": "{digest}", "size": {size}}}]}}"#)
        };
        assert_eq!(entries(entry(&digest, "1").as_bytes()).unwrap()[0].digest, digest);
        assert_eq!(entries(br#"{"manifests": []}"#), Ok(Vec::new()));
        for list in [entry("sha256:ab/../..", "1"), entry(&digest, "-1"), "{}".to_owned(), "<html>".to_owned()] {
            assert_eq!(entries(list.as_bytes()), Err(ReadFailure::Invalid(Flaw::Json)), "{list}");
        }
    }
}
