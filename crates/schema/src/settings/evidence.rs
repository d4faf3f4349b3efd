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
