//! What stands beside an image in its registry: read, and added to. Hosts of policies only read.
//!
//! What refers to an image is in two lists, by the [distribution specification][spec]: the registry's own, which its referrers API
//! hands out, and an index at the tag `sha256-<hex>`, which clients keep where there is no such API. Hosts read the second alone. So
//! it is written here in any case.
//!
//! [spec]: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#listing-referrers

mod beside;
mod piece;

use std::collections::BTreeMap;
use std::io;

use http::HeaderValue;
use image_admission_image::manifest::{Kind, Manifest};
use oci_client::client::Client;
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::manifest::{IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE};
use oci_client::manifest::{OCI_IMAGE_INDEX_MEDIA_TYPE, OCI_IMAGE_MEDIA_TYPE, OciDescriptor};
use oci_client::secrets::RegistryAuth;
use oci_client::{Reference, RegistryOperation};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::runtime::{Builder, Runtime};

pub use beside::{Found, beside};
pub use piece::{MAX_BYTES, Piece, PieceError, UnverifiedError, is_evidence, may_hold_evidence};

use crate::answers::live::registry::Registry;

/// Every type of a manifest.
const MANIFESTS: [&str; 4] =
    [OCI_IMAGE_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, IMAGE_MANIFEST_LIST_MEDIA_TYPE];

/// The type of what stands where nothing is: the image specification wants a layer.
const EMPTY_MEDIA_TYPE: &str = "application/vnd.oci.empty.v1+json";
const EMPTY: &[u8] = b"{}";

/// How often an index is written anew that others write at the same time.
const MAX_TRIES: usize = 10;

/// The repository of an image, as somebody sees it who asks about what stands beside that image.
pub struct Repository {
    runtime: Runtime,
    client: Client,
    auth: RegistryAuth,
    /// By its digest.
    image: Reference,
    subject: Descriptor,
}

/// What a manifest says of a document that it names. Its fields have the order of OCI's types: in that spelling the policy looks first
/// for an index's bytes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The document's type.
    pub media_type: String,
    /// Its digest, with the algorithm.
    pub digest: String,
    /// Its bytes.
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    urls: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    platform: Option<Value>,
    /// In an index, the type of the artifact that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

/// What refers to an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Referrer {
    /// The digest of its manifest.
    pub digest: String,
    /// Its type, if the list says it.
    pub artifact_type: Option<String>,
}

/// What an artifact's manifest names.
#[derive(Clone, Debug, Deserialize)]
pub struct Artifact {
    /// Its configuration: the one document that hosts hand out.
    pub config: Descriptor,
    /// Its layers.
    #[serde(default)]
    pub layers: Vec<Descriptor>,
}

/// What became of a document that was to be put beside an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The digest of the artifact whose configuration it is.
    pub digest: String,
    /// Whether it wasn't there yet.
    pub is_new: bool,
}

/// An index of what refers to an image. What other tools wrote into it stays.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Index {
    schema_version: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
    manifests: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    annotations: Option<BTreeMap<String, String>>,
    #[serde(flatten)]
    more: BTreeMap<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewArtifact<'a> {
    schema_version: u8,
    media_type: &'a str,
    artifact_type: &'a str,
    config: Descriptor,
    layers: [Descriptor; 1],
    subject: &'a Descriptor,
}

impl Repository {
    /// The repository of `image`, which is asked once what the image is.
    ///
    /// # Errors
    /// The image's name is none, or the registry doesn't hand the image out.
    pub fn of(image: &str, insecure_registries: &[String]) -> Result<Self, RepositoryError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(RepositoryError::Runtime)?;
        let registry = Registry::new(insecure_registries.to_owned());
        let (named, client, auth) =
            registry.reach(image).map_err(|problem| RepositoryError::Reference { image: image.to_owned(), problem })?;
        let pulled = runtime.block_on(client.pull_manifest_raw(&named, &auth, &MANIFESTS));
        let (manifest, digest) = pulled.map_err(RepositoryError::failed("read", image))?;
        let media_type = media_type(image, &manifest)?;
        let subject = Descriptor { digest: digest.clone(), ..Descriptor::of(&media_type, &manifest) };
        let image = Reference::with_digest(named.registry().to_owned(), named.repository().to_owned(), digest);
        Ok(Self { runtime, client, auth, image, subject })
    }

    /// The image, `registry/repository@digest`.
    #[must_use]
    pub fn image(&self) -> String {
        self.image.whole()
    }

    /// The image's digest.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.subject.digest
    }

    /// What refers to the image, by both lists: first what hosts see.
    ///
    /// # Errors
    /// One of the lists can't be read. Having none is no error.
    pub fn referrers(&self) -> Result<Vec<Referrer>, RepositoryError> {
        self.runtime.block_on(async {
            let index = self.index().await?.map(|index| index.manifests).unwrap_or_default();
            let referrer = |digest, artifact_type| Referrer { digest, artifact_type };
            let mut found: Vec<Referrer> =
                index.into_iter().map(|entry| referrer(entry.digest, entry.artifact_type)).collect();
            self.client.store_auth_if_needed(self.image.resolve_registry(), &self.auth).await;
            let listed = self.client.pull_referrers(&self.image, None).await;
            let listed = listed.map_err(RepositoryError::failed("list what refers to", &self.image()))?;
            for entry in listed.manifests {
                if !found.iter().any(|known| known.digest == entry.digest) {
                    found.push(referrer(entry.digest, entry.artifact_type));
                }
            }
            Ok(found)
        })
    }

    /// The artifact of a digest.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn artifact(&self, digest: &str) -> Result<Artifact, RepositoryError> {
        let at = self.at_digest(digest);
        let read = self.runtime.block_on(self.read(&at))?;
        let (bytes, _) = read.ok_or_else(|| RepositoryError::Missing(at.whole()))?;
        serde_json::from_slice(&bytes).map_err(RepositoryError::unreadable(&at.whole()))
    }

    /// The artifact at the tag `sha256-<hex>.<suffix>`; none if there is no such tag.
    ///
    /// # Errors
    /// It can't be read.
    pub fn artifact_at(&self, suffix: &str) -> Result<Option<Artifact>, RepositoryError> {
        let at = self.at_tag(&format!("{}.{suffix}", self.tag()));
        let Some((bytes, _)) = self.runtime.block_on(self.read(&at))? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(RepositoryError::unreadable(&at.whole()))
    }

    /// The bytes of a document that an artifact names. Their digest is checked; how many there are, callers look at before.
    ///
    /// # Errors
    /// There is none, or it can't be read.
    pub fn document(&self, named: &Descriptor) -> Result<Vec<u8>, RepositoryError> {
        self.runtime.block_on(async {
            let blob = OciDescriptor { digest: named.digest.clone(), ..OciDescriptor::default() };
            let mut bytes = Vec::new();
            self.client.store_auth_if_needed(self.image.resolve_registry(), &self.auth).await;
            let pulled = self.client.pull_blob(&self.image, &blob, &mut bytes).await;
            pulled.map_err(RepositoryError::failed("read", &self.at_digest(&named.digest).whole()))?;
            Ok(bytes)
        })
    }

    /// Puts documents beside the image, by their types and bytes: each as the configuration of an artifact of this type that refers to
    /// it, which the index at the tag lists. The same documents are the same artifacts, so that putting them there again changes nothing.
    ///
    /// # Errors
    /// The registry doesn't take them, what stands at the tag is no index, or others write it all the time.
    pub fn attach(
        &self,
        artifact_type: &str,
        documents: &[(String, Vec<u8>)],
    ) -> Result<Vec<Attached>, RepositoryError> {
        self.runtime.block_on(async {
            // Nothing is pushed where it couldn't be listed.
            let before = self.index().await?;
            let is_listed =
                |digest: &str| before.iter().flat_map(|index| &index.manifests).any(|entry| entry.digest == digest);
            let login = self.client.auth(&self.image, &self.auth, RegistryOperation::Push).await;
            login.map_err(RepositoryError::failed("push to", &self.image()))?;
            self.push_document(EMPTY).await?;
            let mut entries = Vec::new();
            for (media_type, bytes) in documents {
                entries.push(self.push_artifact(artifact_type, media_type, bytes).await?);
            }
            self.list(&entries).await?;
            let attached = |entry: Descriptor| Attached { is_new: !is_listed(&entry.digest), digest: entry.digest };
            Ok(entries.into_iter().map(attached).collect())
        })
    }

    /// Pushes an artifact with a document as its configuration, and returns its entry of an index.
    async fn push_artifact(
        &self,
        artifact_type: &str,
        media_type: &str,
        document: &[u8],
    ) -> Result<Descriptor, RepositoryError> {
        self.push_document(document).await?;
        let artifact = NewArtifact {
            schema_version: 2,
            media_type: OCI_IMAGE_MEDIA_TYPE,
            artifact_type,
            config: Descriptor::of(media_type, document),
            layers: [Descriptor::of(EMPTY_MEDIA_TYPE, EMPTY)],
            subject: &self.subject,
        };
        let bytes = serde_json::to_vec(&artifact).map_err(RepositoryError::unreadable("the artifact"))?;
        let mut entry = Descriptor::of(OCI_IMAGE_MEDIA_TYPE, &bytes);
        entry.artifact_type = Some(artifact_type.to_owned());
        self.push_manifest(&entry.digest, bytes, OCI_IMAGE_MEDIA_TYPE).await?;
        Ok(entry)
    }

    /// Adds entries to the index at the tag. Registries can't be told to write only what nobody else wrote meanwhile: so the index is
    /// read right before it is written, and again afterwards.
    async fn list(&self, entries: &[Descriptor]) -> Result<(), RepositoryError> {
        for _ in 0..MAX_TRIES {
            let mut index = self.index().await?.unwrap_or_else(Index::empty);
            let listed = index.manifests.len();
            for entry in entries {
                if index.manifests.iter().all(|listed| listed.digest != entry.digest) {
                    index.manifests.push(entry.clone());
                }
            }
            if index.manifests.len() == listed {
                return Ok(());
            }
            let bytes = serde_json::to_vec(&index).map_err(RepositoryError::unreadable("the index"))?;
            self.push_manifest(&self.tag(), bytes, OCI_IMAGE_INDEX_MEDIA_TYPE).await?;
        }
        Err(RepositoryError::Contended(self.at_tag(&self.tag()).whole()))
    }

    /// The index at the tag; none if there is no such tag.
    async fn index(&self) -> Result<Option<Index>, RepositoryError> {
        let at = self.at_tag(&self.tag());
        let Some((bytes, _)) = self.read(&at).await? else { return Ok(None) };
        let is_index = Manifest::read(&bytes).is_ok_and(|manifest| manifest.kind() == Kind::Index);
        let index: Option<Index> = serde_json::from_slice(&bytes).ok();
        match index
            .filter(|index| is_index && index.media_type.as_deref().is_none_or(|own| own == OCI_IMAGE_INDEX_MEDIA_TYPE))
        {
            Some(index) => Ok(Some(index)),
            None => Err(RepositoryError::NoIndex(at.whole())),
        }
    }

    /// The bytes and the digest of a manifest; none if there is none.
    async fn read(&self, at: &Reference) -> Result<Option<(Vec<u8>, String)>, RepositoryError> {
        match self.client.pull_manifest_raw(at, &self.auth, &MANIFESTS).await {
            Ok((bytes, digest)) => Ok(Some((bytes.into(), digest))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(RepositoryError::failed("read", &at.whole())(error)),
        }
    }

    async fn push_document(&self, bytes: &[u8]) -> Result<(), RepositoryError> {
        let digest = digest(bytes);
        match self.client.push_blob(&self.image, bytes.to_vec(), &digest).await {
            // Some registries take it, and don't say where they put it.
            Err(OciDistributionError::RegistryNoLocationError)
                if self.client.blob_exists(&self.image, &digest).await.is_ok_and(|exists| exists) =>
            {
                Ok(())
            }
            pushed => pushed.map(drop).map_err(RepositoryError::failed("push to", &self.image())),
        }
    }

    /// Pushes a manifest to a tag or a digest.
    async fn push_manifest(&self, at: &str, bytes: Vec<u8>, media_type: &'static str) -> Result<(), RepositoryError> {
        // The client takes a digest for a tag, too, and where a registry doesn't say where it put the manifest, for nothing else.
        let at = self.at_tag(at);
        let pushed = self.client.push_manifest_raw(&at, bytes, HeaderValue::from_static(media_type)).await;
        pushed.map(drop).map_err(RepositoryError::failed("push", &at.whole()))
    }

    /// The tag of the index of what refers to the image.
    fn tag(&self) -> String {
        self.subject.digest.replace(':', "-")
    }

    fn at_tag(&self, tag: &str) -> Reference {
        Reference::with_tag(self.image.registry().to_owned(), self.image.repository().to_owned(), tag.to_owned())
    }

    fn at_digest(&self, digest: &str) -> Reference {
        Reference::with_digest(self.image.registry().to_owned(), self.image.repository().to_owned(), digest.to_owned())
    }
}

impl Descriptor {
    /// What a manifest says of these bytes.
    fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: digest(bytes),
            size: bytes.len() as u64,
            urls: None,
            annotations: None,
            platform: None,
            artifact_type: None,
            more: BTreeMap::new(),
        }
    }
}

impl Index {
    fn empty() -> Self {
        Self {
            schema_version: 2,
            media_type: Some(OCI_IMAGE_INDEX_MEDIA_TYPE.to_owned()),
            artifact_type: None,
            manifests: Vec::new(),
            subject: None,
            annotations: None,
            more: BTreeMap::new(),
        }
    }
}

/// The type of an image's manifest, which OCI's may leave to its reader.
fn media_type(image: &str, bytes: &[u8]) -> Result<String, RepositoryError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Typed {
        media_type: Option<String>,
    }
    let typed: Typed = serde_json::from_slice(bytes).map_err(RepositoryError::unreadable(image))?;
    let kind = Manifest::read(bytes).map(|manifest| manifest.kind());
    let usual = if matches!(kind, Ok(Kind::Index)) { OCI_IMAGE_INDEX_MEDIA_TYPE } else { OCI_IMAGE_MEDIA_TYPE };
    Ok(typed.media_type.unwrap_or_else(|| usual.to_owned()))
}

fn digest(bytes: &[u8]) -> String {
    let hex: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// Whether the registry says that there is no such manifest, or no such repository.
fn is_missing(error: &OciDistributionError) -> bool {
    match error {
        OciDistributionError::RegistryError { envelope, .. } => envelope.errors.iter().any(|error| {
            matches!(error.code, OciErrorCode::ManifestUnknown | OciErrorCode::NameUnknown | OciErrorCode::NotFound)
        }),
        OciDistributionError::ServerError { code, .. } => *code == 404,
        _ => false,
    }
}

impl std::fmt::Debug for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repository").field("image", &self.image()).finish_non_exhaustive()
    }
}

/// Why what stands beside an image can't be read, or can't be added to.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// The name of an image is none.
    #[error("`{image}` is not the name of an image: {problem}")]
    Reference {
        /// What was to be one.
        image: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The registry doesn't do it.
    #[error("cannot {verb} `{what}`: {source}")]
    Registry {
        /// What was to be done: `read`, `push`.
        verb: &'static str,
        /// With what.
        what: String,
        /// What the registry says, or the network.
        source: OciDistributionError,
    },
    /// A list names an artifact that isn't there.
    #[error("there is no `{0}`, although it is listed")]
    Missing(String),
    /// A manifest is none.
    #[error("`{what}` can't be read: {source}")]
    Unreadable {
        /// Where it is.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// Something else stands where the index of what refers to the image would be.
    #[error(
        "`{0}` is no index of what refers to the image, and is left as it is: delete or move that tag, and try again"
    )]
    NoIndex(String),
    /// Others write the index, too.
    #[error("`{0}` is written by others all the time: try again")]
    Contended(String),
    /// The system gives no sockets.
    #[error("cannot ask the network: {0}")]
    Runtime(io::Error),
}

impl RepositoryError {
    fn failed(verb: &'static str, what: &str) -> impl FnOnce(OciDistributionError) -> Self {
        let what = what.to_owned();
        move |source| Self::Registry { verb, what, source }
    }

    fn unreadable(what: &str) -> impl FnOnce(serde_json::Error) -> Self {
        let what = what.to_owned();
        move |source| Self::Unreadable { what, source }
    }
}
