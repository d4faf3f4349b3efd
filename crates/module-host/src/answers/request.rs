//! What a policy may ask its host, as values.
//!
//! A request's YAML (`!OciManifest`, then its fields) is the one that `kwctl` writes into recordings, so the names of
//! variants and fields, and their order, are a file format.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A host call that was understood.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the host's, and named for what they hold")]
pub enum Request {
    /// `oci v1/manifest_digest`: what a reference resolves to.
    OciManifestDigest { image: String },
    /// `oci v1/oci_manifest`: the image manifest or index.
    OciManifest { image: String },
    /// `oci v1/oci_manifest_config`: the image manifest with its configuration.
    OciManifestAndConfig { image: String },
    /// `oci v2/verify` by public keys.
    SigstorePubKeyVerify { image: String, pub_keys: Vec<String>, annotations: Option<BTreeMap<String, String>> },
    /// `oci v2/verify` by exact issuer and subject.
    SigstoreKeylessVerify { image: String, keyless: Vec<Keyless>, annotations: Option<BTreeMap<String, String>> },
    /// `oci v2/verify` by issuer and the beginning of the subject.
    SigstoreKeylessPrefixVerify {
        image: String,
        keyless_prefix: Vec<KeylessPrefix>,
        annotations: Option<BTreeMap<String, String>>,
    },
    /// `oci v2/verify` of a GitHub workflow.
    SigstoreGithubActionsVerify {
        image: String,
        owner: String,
        repo: Option<String>,
        annotations: Option<BTreeMap<String, String>>,
    },
    /// `oci v2/verify` by certificate.
    SigstoreCertificateVerify {
        image: String,
        certificate: Vec<u8>,
        certificate_chain: Option<Vec<Vec<u8>>>,
        require_rekor_bundle: bool,
        annotations: Option<BTreeMap<String, String>>,
    },
    /// `net v1/dns_lookup_host`.
    DNSLookupHost { host: String },
    /// `kubernetes list_resources_by_namespace`.
    KubernetesListResourceNamespace(ListByNamespace),
    /// `kubernetes list_resources_all`.
    KubernetesListResourceAll(ListAll),
    /// `kubernetes get_resource`.
    KubernetesGetResource(GetResource),
    /// `kubernetes can_i`.
    KubernetesCanI { request: Value, disable_cache: bool },
    /// `crypto v1/is_certificate_trusted`.
    CryptoIsCertificateTrusted { request: Value },
}

/// One object by its name.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the host's, and named for what they hold")]
pub struct GetResource {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    pub namespace: Option<String>,
    pub disable_cache: bool,
    pub field_masks: Option<BTreeSet<String>>,
}

/// The objects of a kind in one namespace.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the host's, and named for what they hold")]
pub struct ListByNamespace {
    pub api_version: String,
    pub kind: String,
    pub namespace: String,
    pub label_selector: Option<String>,
    pub field_selector: Option<String>,
    pub field_masks: Option<BTreeSet<String>>,
}

/// The objects of a kind in the whole cluster.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the host's, and named for what they hold")]
pub struct ListAll {
    pub api_version: String,
    pub kind: String,
    pub label_selector: Option<String>,
    pub field_selector: Option<String>,
    pub field_masks: Option<BTreeSet<String>>,
}

/// Who must have signed, exactly.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the host's, and named for what they hold")]
pub struct Keyless {
    pub issuer: String,
    pub subject: String,
}

/// Who must have signed, by the beginning of the subject.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the fields are the host's, and named for what they hold")]
pub struct KeylessPrefix {
    pub issuer: String,
    pub url_prefix: String,
}

impl Request {
    /// Understands the payload of `namespace` and `operation`.
    ///
    /// Fails with the host's own text: for a namespace or an operation that doesn't exist, and for a payload of
    /// another shape.
    pub fn parse(namespace: &str, operation: &str, payload: &[u8]) -> Result<Self, String> {
        match (namespace, operation) {
            ("oci", "v1/manifest_digest") => read(payload).map(|image| Self::OciManifestDigest { image }),
            ("oci", "v1/oci_manifest") => read(payload).map(|image| Self::OciManifest { image }),
            ("oci", "v1/oci_manifest_config") => read(payload).map(|image| Self::OciManifestAndConfig { image }),
            ("oci", "v2/verify") => read(payload).and_then(verification),
            ("net", "v1/dns_lookup_host") => read(payload).map(|host| Self::DNSLookupHost { host }),
            ("crypto", "v1/is_certificate_trusted") => {
                read(payload).map(|request| Self::CryptoIsCertificateTrusted { request })
            }
            ("kubernetes", "list_resources_by_namespace") => read(payload).map(Self::KubernetesListResourceNamespace),
            ("kubernetes", "list_resources_all") => read(payload).map(Self::KubernetesListResourceAll),
            ("kubernetes", "get_resource") => read(payload).map(Self::KubernetesGetResource),
            ("kubernetes", "can_i") => read(payload).map(|CanI { subject_access_review, disable_cache }| {
                Self::KubernetesCanI { request: subject_access_review, disable_cache }
            }),
            ("oci" | "net" | "crypto" | "kubernetes" | "tracing", _) => Err(format!("unknown operation: {operation}")),
            _ => Err(format!("unknown namespace: {namespace}")),
        }
    }

    /// The kind of Kubernetes object this asks for, as API version and kind.
    pub fn resource(&self) -> Option<(&str, &str)> {
        match self {
            Self::KubernetesListResourceNamespace(r) => Some((&r.api_version, &r.kind)),
            Self::KubernetesListResourceAll(r) => Some((&r.api_version, &r.kind)),
            Self::KubernetesGetResource(r) => Some((&r.api_version, &r.kind)),
            _ => None,
        }
    }

    /// Whether this asks the cluster: for objects, or for what a user may do.
    pub fn is_about_the_cluster(&self) -> bool {
        self.resource().is_some() || matches!(self, Self::KubernetesCanI { .. })
    }

    /// The image that this asks about.
    pub fn image(&self) -> Option<&str> {
        match self {
            Self::OciManifestDigest { image }
            | Self::OciManifest { image }
            | Self::OciManifestAndConfig { image }
            | Self::SigstorePubKeyVerify { image, .. }
            | Self::SigstoreKeylessVerify { image, .. }
            | Self::SigstoreKeylessPrefixVerify { image, .. }
            | Self::SigstoreGithubActionsVerify { image, .. }
            | Self::SigstoreCertificateVerify { image, .. } => Some(image),
            _ => None,
        }
    }

    /// The request in the form that recordings have.
    pub fn to_yaml(&self) -> Result<String, String> {
        yaml_serde::to_string(self).map_err(|e| format!("cannot convert request to yaml: {e}"))
    }
}

#[derive(Deserialize)]
struct CanI {
    subject_access_review: Value,
    disable_cache: bool,
}

fn read<'a, T: Deserialize<'a>>(payload: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|e| e.to_string())
}

/// The wire names the kind of verification in a field, a recording in the tag.
fn verification(mut fields: serde_json::Map<String, Value>) -> Result<Request, String> {
    let kind = match fields.remove("type") {
        Some(Value::String(kind)) if kind.starts_with("Sigstore") => kind,
        Some(Value::String(other)) => return Err(format!("unknown variant `{other}`")),
        _ => return Err("missing field `type`".to_owned()),
    };
    let tagged = serde_json::Map::from_iter([(kind, Value::Object(fields))]);
    serde_json::from_value(Value::Object(tagged)).map_err(|e| e.to_string())
}
