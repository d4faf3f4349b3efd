//! A registry, asked over the network as the real host asks it.

use docker_credential::DockerCredential;
use oci_client::client::{Client, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::manifest::{OciImageManifest, OciManifest};
use oci_client::secrets::RegistryAuth;
use oci_client::{ParseError, Reference};
use serde::Serialize;
use serde_json::Value;

use super::super::image_name::is_on_this_machine;

/// A client for every registry.
pub(crate) struct Registry {
    insecure: Vec<String>,
}

/// The answer to `v1/oci_manifest_config`.
#[derive(Serialize)]
pub(super) struct ManifestAndConfig {
    manifest: OciImageManifest,
    digest: String,
    config: Value,
}

impl Registry {
    pub(crate) fn new(insecure: Vec<String>) -> Self {
        Self { insecure }
    }

    /// What `image` resolves to; the index, if it has several platforms.
    pub(super) async fn digest(&self, image: &str) -> Result<String, String> {
        let (reference, client, auth) = self.reach(image)?;
        client.fetch_manifest_digest(&reference, &auth).await.map_err(failure)
    }

    /// The manifest or index of `image`. Its bytes are checked against the digest if `image` names one.
    pub(super) async fn manifest(&self, image: &str) -> Result<OciManifest, String> {
        let (reference, client, auth) = self.reach(image)?;
        let (manifest, _) = client.pull_manifest(&reference, &auth).await.map_err(failure)?;
        Ok(manifest)
    }

    /// The manifest and configuration of `image`; of an index, those for this machine's platform.
    pub(super) async fn manifest_and_config(&self, image: &str) -> Result<ManifestAndConfig, String> {
        let (reference, client, auth) = self.reach(image)?;
        let (manifest, digest, config) = client.pull_manifest_and_config(&reference, &auth).await.map_err(failure)?;
        Ok(ManifestAndConfig { manifest, digest, config: serde_json::from_str(&config).map_err(|e| e.to_string())? })
    }

    /// A new client each time: one that is kept would remember the tokens of other requests, which the host's doesn't.
    pub(crate) fn reach(&self, image: &str) -> Result<(Reference, Client, RegistryAuth), String> {
        let reference: Reference = image.parse().map_err(|e: ParseError| e.to_string())?;
        let protocol =
            if self.is_insecure(reference.registry()) { ClientProtocol::Http } else { ClientProtocol::Https };
        let client = Client::new(ClientConfig { protocol, ..ClientConfig::default() });
        let auth = credentials(reference.registry());
        Ok((reference, client, auth))
    }

    /// Whether a registry speaks plain HTTP.
    pub(super) fn is_insecure(&self, registry: &str) -> bool {
        let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
        is_on_this_machine(registry) || self.insecure.iter().any(|named| named == registry || named == host)
    }
}

/// The user's Docker login for `registry`, if there is one.
pub(super) fn credentials(registry: &str) -> RegistryAuth {
    match docker_credential::get_credential(registry) {
        Ok(DockerCredential::UsernamePassword(name, password)) => RegistryAuth::Basic(name, password),
        // The host can't use identity tokens either.
        Ok(DockerCredential::IdentityToken(_)) | Err(_) => RegistryAuth::Anonymous,
    }
}

fn failure(error: OciDistributionError) -> String {
    format!("Fail to interact with OCI registry: {error}")
}
