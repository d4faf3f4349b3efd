//! Answers from a real registry and a real cluster, asked anew each time: this host has none of the server's caches.

use std::collections::BTreeSet;

use image_admission_untrusted::time::Timestamp;
use kube::config::Kubeconfig;
use kube::core::DynamicObject;
use serde_json::value::{RawValue, to_raw_value};
use tokio::runtime::{Builder, Runtime};

use super::field_mask::FieldMask;
use super::{AnswerSource, Request, not_answered, to_json};

mod cluster;
pub(crate) mod registry;
mod signatures;

use cluster::Cluster;
use registry::Registry;
use signatures::Signatures;

/// The host's text for any question about a cluster when there is none.
const NO_CLUSTER: &str = "kube::Client was not initialized properly";

/// A registry client, and a cluster client if there is a cluster.
pub struct Live {
    runtime: Runtime,
    registry: Registry,
    signatures: Signatures,
    cluster: Option<Cluster>,
}

/// Where to ask.
#[derive(Clone, Debug, Default)]
pub struct LiveOptions {
    /// The file that says how to reach the cluster; without one, what `kubectl` would use.
    pub kubeconfig: Option<std::path::PathBuf>,
    /// Registries that are asked over plain HTTP, as `host` or `host:port`. Those on this machine always are.
    pub insecure_registries: Vec<String>,
}

impl Live {
    /// Gets ready to ask, without asking anything yet.
    ///
    /// Fails when the kubeconfig that was named can't be used. That no cluster is configured at all is no failure:
    /// then, as on the real host, each question about it is answered with an error.
    pub fn new(options: &LiveOptions) -> Result<Self, LiveError> {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(LiveError::Runtime)?;
        let cluster = match &options.kubeconfig {
            Some(path) => {
                let failed = |source: Box<dyn std::error::Error + Send + Sync>| LiveError::Kubeconfig {
                    path: path.clone(),
                    source,
                };
                let file = Kubeconfig::read_from(path).map_err(|e| failed(e.into()))?;
                Some(runtime.block_on(Cluster::configured(file)).map_err(failed)?)
            }
            None => runtime.block_on(Cluster::of_the_environment()),
        };
        let registry = Registry::new(options.insecure_registries.clone());
        Ok(Self { registry, signatures: Signatures::default(), cluster, runtime })
    }

    /// Everything of a kind in the cluster, in one namespace or in all of them, as JSON without managed fields. It is listed a
    /// page at a time: `read` hears of each how many objects it has.
    ///
    /// Fails when there is no cluster, when it doesn't know the kind, and when it may not be listed.
    pub fn everything(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        read: &mut dyn FnMut(usize),
    ) -> Result<Vec<Box<RawValue>>, String> {
        let objects = self.cluster()?.everything(api_version, kind, namespace, None, read);
        self.runtime.block_on(objects)?.iter().map(json).collect()
    }

    /// The same with nothing of each object but `fields` and what identifies it: reports are long, and there are many.
    ///
    /// Fails as [`Live::everything`] does.
    pub fn fields_of_everything(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        fields: &BTreeSet<String>,
    ) -> Result<Vec<Box<RawValue>>, String> {
        let (mask, mut read) = (FieldMask::new(fields), |_| {});
        let objects = self.cluster()?.everything(api_version, kind, namespace, Some(&mask), &mut read);
        self.runtime.block_on(objects)?.iter().map(json).collect()
    }

    /// The time that the API server has; none if it doesn't say.
    ///
    /// Fails when there is no cluster, and when nobody answers.
    pub fn clock(&self) -> Result<Option<Timestamp>, String> {
        self.runtime.block_on(self.cluster()?.clock())
    }

    fn cluster(&self) -> Result<&Cluster, String> {
        self.cluster.as_ref().ok_or_else(|| {
            "no cluster is configured; say with `--kubeconfig`, or in KUBECONFIG, how to reach it".to_owned()
        })
    }

    async fn ask(&self, request: &Request) -> Result<Vec<u8>, String> {
        let cluster = || self.cluster.as_ref().ok_or(NO_CLUSTER);
        match request {
            Request::OciManifestDigest { image } => {
                let digest = self.registry.digest(image).await?;
                to_json(&serde_json::json!({"digest": digest}))
            }
            Request::OciManifest { image } => to_json(&self.registry.manifest(image).await?),
            Request::OciManifestAndConfig { image } => to_json(&self.registry.manifest_and_config(image).await?),
            Request::KubernetesGetResource(wanted) => cluster()?.get(wanted).await,
            Request::KubernetesListResourceNamespace(wanted) => cluster()?.list_in_namespace(wanted).await,
            Request::KubernetesListResourceAll(wanted) => cluster()?.list_all(wanted).await,
            Request::KubernetesCanI { request, .. } => cluster()?.may(request).await,
            Request::SigstoreCertificateVerify { .. }
            | Request::SigstorePubKeyVerify { .. }
            | Request::SigstoreKeylessVerify { .. }
            | Request::SigstoreKeylessPrefixVerify { .. }
            | Request::SigstoreGithubActionsVerify { .. } => {
                to_json(&self.signatures.verify(&self.registry, request).await?)
            }
            Request::DNSLookupHost { .. } | Request::CryptoIsCertificateTrusted { .. } => Err(not_answered(request)),
        }
    }
}

fn json(object: &DynamicObject) -> Result<Box<RawValue>, String> {
    to_raw_value(object).map_err(|error| error.to_string())
}

impl AnswerSource for Live {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        self.runtime.block_on(self.ask(request))
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").field("has_cluster", &self.cluster.is_some()).finish_non_exhaustive()
    }
}

/// Why there is nobody to ask.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kubeconfig that was named can't be used.
    #[error("cannot use the kubeconfig `{}`: {source}", path.display())]
    Kubeconfig {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system gives no threads.
    #[error("cannot start the threads that ask the network: {0}")]
    Runtime(std::io::Error),
}
