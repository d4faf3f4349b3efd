//! The module against a real registry: Debian's `docker-registry` on loopback, with a multi-platform image. The digest
//! that is pinned is the one that the registry names.

use crate::support;
use crate::support::registry as docker_registry;
use docker_registry::{Registry, digest_of, program};
use image_admission_module_host::answers::files::{ClusterFiles, Files};
use image_admission_module_host::answers::live::{Live, LiveOptions};
use image_admission_module_host::answers::{AnswerSource, Gate, Grants, Request};
use image_admission_module_host::runtime::PolicyModule;
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Pushes an index of two platforms, and returns the platforms with their digests.
pub(crate) async fn push(registry: &str) -> Vec<(&'static str, String)> {
    let client = Client::new(ClientConfig { protocol: ClientProtocol::Http, ..ClientConfig::default() });
    let image: Reference = format!("{registry}/team/app:1.0").parse().unwrap();
    client.auth(&image, &RegistryAuth::Anonymous, RegistryOperation::Push).await.unwrap();
    let mut platforms = Vec::new();
    let mut entries = Vec::new();
    for architecture in ["amd64", "arm64"] {
        let config = json!({"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": []}})
            .to_string();
        let layer = format!("layer for {architecture}");
        for blob in [&config, &layer] {
            client.push_blob(&image, blob.clone().into_bytes(), &digest_of(blob.as_bytes())).await.unwrap();
        }
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({
            "schemaVersion": 2, "mediaType": media_type,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest_of(config.as_bytes()), "size": config.len()},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": digest_of(layer.as_bytes()), "size": layer.len()}],
        })
        .to_string();
        let digest = digest_of(manifest.as_bytes());
        let target: Reference = format!("{registry}/team/app@{digest}").parse().unwrap();
        client.push_manifest_raw(&target, manifest.clone().into_bytes(), media_type.parse().unwrap()).await.unwrap();
        entries.push(json!({"mediaType": media_type, "digest": digest, "size": manifest.len(), "platform": {"os": "linux", "architecture": architecture}}));
        platforms.push((if architecture == "amd64" { "linux/amd64" } else { "linux/arm64" }, digest));
    }
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": entries}).to_string();
    client.push_manifest_raw(&image, index.into_bytes(), media_type.parse().unwrap()).await.unwrap();
    platforms
}

/// A clean report for a platform, as sbomscanner names and writes it.
fn report(registry: &str, platform: &str, digest: &str) -> Value {
    let hex = |text: &str| digest_of(text.as_bytes()).trim_start_matches("sha256:").to_owned();
    let resource = format!("workloadscan-{}", hex(registry));
    json!({
        "apiVersion": "storage.sbomscanner.kubewarden.io/v1alpha1", "kind": "VulnerabilityReport",
        "metadata": {"name": hex(&format!("{resource}/{registry}/team/app:1.0@{digest}")), "namespace": "sbomscanner"},
        "imageMetadata": {"registry": resource, "registryURI": registry, "repository": "team/app", "tag": "1.0", "platform": platform, "digest": digest},
        "report": {"summary": {"critical": 0, "high": 0, "medium": 0, "low": 0, "unknown": 0, "suppressed": 0}, "results": []},
    })
}

/// Images from the real registry, everything else from files.
struct Both(Live, Files);

impl AnswerSource for Both {
    fn answer(&self, request: &Request) -> Result<Vec<u8>, String> {
        match request.resource() {
            Some(_) => self.1.answer(request),
            None => self.0.answer(request),
        }
    }
}

#[test]
fn the_digest_that_is_pinned_is_the_registrys() {
    let Some(program) = program() else { return };
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::start(&program, folder.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let platforms = runtime.block_on(push(&registry.address));

    let cluster = folder.path().join("cluster");
    std::fs::create_dir(&cluster).unwrap();
    for (number, (platform, digest)) in platforms.iter().enumerate() {
        std::fs::write(cluster.join(format!("{number}.json")), report(&registry.address, platform, digest).to_string())
            .unwrap();
    }
    let live = Live::new(&LiveOptions { kubeconfig: None, insecure_registries: Vec::new() }).unwrap();
    let files = Files::new(Some(ClusterFiles::from_folder(&cluster).unwrap()), None);
    let host = Arc::new(Gate::new(Grants::everything(), Arc::new(Both(live, files))));

    let image = format!("{}/team/app:1.0", registry.address);
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": image}]}});
    let payload = json!({"request": {"operation": "CREATE", "namespace": "ns", "object": object}, "settings": {"registries": [registry.address]}});
    let module = PolicyModule::from_file(&support::module_path()).unwrap().with_deadline(Duration::from_secs(30));
    let reply = module.call("validate", payload.to_string().as_bytes(), host);
    let response: Value = serde_json::from_slice(&reply.response.unwrap()).unwrap();
    assert_eq!(response["accepted"], true, "{response}");
    let pinned = response.pointer("/mutated_object/spec/containers/0/image").unwrap();
    assert_eq!(*pinned, format!("{image}@{}", registry.digest("team/app", "1.0")));
    assert_eq!(reply.exchanges.len(), 4, "one manifest, one digest, one report a platform");
}
