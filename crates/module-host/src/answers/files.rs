//! Answers from files: Kubernetes objects from manifests, images from a list of them.

use std::path::{Path, PathBuf};

use super::verification::{Constraint, Verified};
use super::{AnswerSource, Request, to_json};

pub mod cluster;
pub mod documents;
pub mod images;
mod rights;
mod signatures;

pub use cluster::{ClusterFiles, is_cluster_wide};
pub use images::ImageFile;

/// A cluster and a registry made of files; either may be missing.
#[derive(Debug, Default)]
pub struct Files {
    cluster: Option<ClusterFiles>,
    images: Option<ImageFile>,
}

impl Files {
    /// Answers from these.
    #[must_use]
    pub fn new(cluster: Option<ClusterFiles>, images: Option<ImageFile>) -> Self {
        Self { cluster, images }
    }

    /// The cluster, if there is one.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterFiles> {
        self.cluster.as_ref()
    }

    /// The registry, if there is one.
    #[must_use]
    pub fn images(&self) -> Option<&ImageFile> {
        self.images.as_ref()
    }
}

impl AnswerSource for Files {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        let cluster = || self.cluster.as_ref().ok_or(NO_CLUSTER);
        let images = || self.images.as_ref().ok_or(NO_REGISTRY);
        match request {
            Request::OciManifestDigest { image } => to_json(&serde_json::json!({"digest": images()?.digest(image)?})),
            Request::OciManifest { image } => to_json(images()?.manifest(image)?),
            Request::OciManifestAndConfig { image } => to_json(&images()?.manifest_and_config(image)?),
            Request::KubernetesGetResource(wanted) => cluster()?.get(wanted),
            Request::KubernetesListResourceNamespace(wanted) => cluster()?.list_in_namespace(wanted),
            Request::KubernetesListResourceAll(wanted) => cluster()?.list_all(wanted),
            Request::KubernetesCanI { request, .. } => to_json(&rights::review(cluster()?, request)?),
            _ => match Constraint::of(request) {
                Some((image, constraints)) => to_json(&Verified::new(images()?.verify(image, &constraints?)?)),
                None => Err(super::not_answered(request)),
            },
        }
    }

    fn can_answer(&self, request: &Request) -> bool {
        (request.image().is_none() || self.images.is_some())
            && (!request.is_about_the_cluster() || self.cluster.is_some())
    }

    fn may_block(&self) -> bool {
        false
    }
}

/// The engine repeats no word of a registry's that it doesn't know; it knows these.
const NO_REGISTRY: &str = "there is no registry to ask";
const NO_CLUSTER: &str = "there is no cluster to ask; give its objects with `--cluster DIR`, or use `--live`";

/// A file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file or folder can't be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file stands in a folder's place.
    #[error("`{}` is a file; name its folder", _0.display())]
    NoFolder(PathBuf),
    /// A folder holds no manifests: most likely it isn't the one that was meant.
    #[error("no `.yaml`, `.yml` or `.json` file in `{}`", _0.display())]
    Empty(PathBuf),
    /// One document of a file isn't a Kubernetes object.
    #[error("`{}`, document {document}: {problem}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Which of its documents, from 1.
        document: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The list of images isn't one.
    #[error("`{}`: {problem}", path.display())]
    Images {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the path of the key.
        problem: String,
    },
}

fn read(path: &Path) -> Result<String, FilesError> {
    crate::disk::read_to_string(path).map_err(|source| FilesError::Read { path: path.to_owned(), source })
}
