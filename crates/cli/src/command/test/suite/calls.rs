//! A host call as suites write it: the operation, and what it is about.

use image_admission_module_host::answers::{GetResource, ListAll, ListByNamespace, Request};

/// The call in one line:
///
/// ```text
/// manifest_digest ghcr.io/team/app:1.0
/// verify ghcr.io/team/app@sha256:…
/// get VulnerabilityReport sbomscanner/af4b0bc5…
/// list VulnerabilityReport in sbomscanner where kind=Image
/// ```
pub(super) fn shown(request: &Request) -> String {
    match request {
        Request::OciManifestDigest { image } => format!("manifest_digest {image}"),
        Request::OciManifest { image } => format!("oci_manifest {image}"),
        Request::OciManifestAndConfig { image } => format!("oci_manifest_config {image}"),
        Request::KubernetesGetResource(GetResource { kind, name, namespace, .. }) => match namespace {
            Some(namespace) => format!("get {kind} {namespace}/{name}"),
            None => format!("get {kind} {name}"),
        },
        Request::KubernetesListResourceNamespace(wanted) => {
            let ListByNamespace { kind, namespace, label_selector, field_selector, .. } = wanted;
            format!("list {kind} in {namespace}{}", selected(label_selector.as_ref(), field_selector.as_ref()))
        }
        Request::KubernetesListResourceAll(ListAll { kind, label_selector, field_selector, .. }) => {
            format!("list {kind}{}", selected(label_selector.as_ref(), field_selector.as_ref()))
        }
        Request::KubernetesCanI { .. } => "can_i".to_owned(),
        Request::DNSLookupHost { host } => format!("dns_lookup_host {host}"),
        Request::CryptoIsCertificateTrusted { .. } => "is_certificate_trusted".to_owned(),
        verification => format!("verify {}", verification.image().unwrap_or_default()),
    }
}

fn selected(labels: Option<&String>, fields: Option<&String>) -> String {
    let selectors: Vec<&str> = labels.into_iter().chain(fields).map(String::as_str).collect();
    if selectors.is_empty() { String::new() } else { format!(" where {}", selectors.join(",")) }
}
