//! Signatures and attestations that the policy verifies itself.

use super::KeyReference;
use schemars::JsonSchema;

/// Signatures and attestations that the policy verifies itself: where they are beside the registry, and what is trusted in them.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// Whether `ImageEvidence` objects are read, one for each digest. They needn't be believed: what is in them counts if an
    /// attestor signed it. They need an entry in the policy's `contextAwareResources`, and a right to get them.
    #[schemars(extend("default" = false))]
    pub from_cluster: Option<bool>,
    /// How old an object may be, so that a signature that was taken out of the registry stops counting. Without it: any age.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])+$", "examples" = ["7d"]))]
    pub max_age: Option<String>,
    /// The trust root of attestors that have none of their own.
    pub trust_root: Option<TrustRoot>,
    /// Certificates of Notary Project's signers that no longer count: serial numbers, or SHA-256 fingerprints, in hexadecimal.
    #[schemars(inner(regex(pattern = "^[0-9A-Fa-f:]+$")), extend("default" = [], "examples" = [["5f:3a:91:0c"]]))]
    pub revoked: Option<Vec<String>>,
    /// A list of such certificates in the cluster, beside `revoked`. `v1/ConfigMap` must be granted. While it can't be used, no signature
    /// of Notary Project counts.
    pub revoked_from: Option<RevokedFrom>,
    /// How many independent services must vouch for a bundle that is verified with a trust root. Services are independent if the root
    /// names different operators of them, or no operators and different addresses.
    pub thresholds: Option<Thresholds>,
}

/// A list of certificates in the cluster that no longer count.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokedFrom {
    /// A ConfigMap with a serial number or a SHA-256 fingerprint on each line.
    pub config_map: RevokedConfigMap,
    /// An older list can't be used. Its age is that of its annotation `image-admission/refreshed-at`.
    #[schemars(extend("pattern" = "^([0-9]+[wdhms])*$", "examples" = ["24h"]))]
    pub max_age: Option<String>,
}

/// A ConfigMap with a list of certificates.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RevokedConfigMap {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key with the list.
    #[schemars(extend("default" = "revoked"))]
    pub key: Option<String>,
}

/// How many independent services must vouch for a bundle. A trust root that has fewer verifies nothing.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Thresholds {
    /// How many logs must have an entry of the signature. Without it: one, if the trust root names logs.
    #[schemars(range(min = 1, max = 8), extend("examples" = [2]))]
    pub transparency_logs: Option<u8>,
    /// How many must prove when it was signed: timestamp authorities, and logs that promise a time. Without it: one, or none for
    /// signatures by a key.
    #[schemars(range(min = 1, max = 8), extend("examples" = [2]))]
    pub timestamps: Option<u8>,
    /// How many logs must have promised to have the certificate. Without it: one, if the trust root names such logs.
    #[schemars(range(min = 1, max = 8), extend("examples" = [2]))]
    pub certificate_logs: Option<u8>,
}

/// What certificates of Sigstore are verified with: a `trusted_root.json`, which has the authorities, the logs and the timestamp
/// authorities. Set one of `data`, `secretRef` and `configMapRef`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["data"]}, {"required": ["secretRef"]}, {"required": ["configMapRef"]}]))]
pub struct TrustRoot {
    /// Its text.
    #[schemars(extend("contentMediaType" = "application/json", "examples" = ["{\"mediaType\": \"application/vnd.dev.sigstore.trustedroot+json;version=0.1\"}"]))]
    pub data: Option<String>,
    /// A Secret that is read at each request; `key` is `trusted_root.json`, unless it is set.
    pub secret_ref: Option<KeyReference>,
    /// A ConfigMap that is read at each request; `key` is `trusted_root.json`, unless it is set.
    pub config_map_ref: Option<KeyReference>,
}
