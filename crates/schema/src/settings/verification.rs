//! Who signed an image, and what was attested of it.

use super::TrustRoot;
use image_admission_settings::ExistingImages;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A policy, or a whole Kyverno resource.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum VerificationEntry {
    /// A policy with its name.
    Policy(Box<VerificationPolicy>),
    /// A resource as it is applied to a cluster.
    Resource(Box<VerificationResource>),
}

/// A Kyverno ImageVerificationPolicy or ImageValidatingPolicy, pasted as it is.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationResource {
    /// Ignored.
    pub api_version: Option<Value>,
    /// The kind.
    #[schemars(extend("enum" = ["ImageVerificationPolicy", "ImageValidatingPolicy"]))]
    pub kind: Option<String>,
    /// The metadata. Only the name counts.
    pub metadata: Metadata,
    /// The policy.
    pub spec: Policy,
    /// Ignored.
    pub status: Option<Value>,
}

/// The resource's metadata. Only the name counts.
#[derive(Debug, JsonSchema)]
pub struct Metadata {
    /// The policy's name in messages.
    pub name: String,
}

/// A policy with its name.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationPolicy {
    /// The name in messages. It must be unique.
    pub name: String,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "what is flattened has no description of its own")]
    pub policy: Policy,
}

/// A policy about images. Set `verifications` or `validations`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["verifications"]}, {"required": ["validations"]}]))]
pub struct Policy {
    /// Which requests and images it is about.
    pub match_constraints: Option<MatchConstraints>,
    /// CEL expressions. The policy applies to a request only if all are true.
    #[schemars(extend("default" = []))]
    pub match_conditions: Option<Vec<NamedExpression>>,
    /// Which images it is about, in Kyverno's shipped policies. One match is enough.
    #[schemars(extend("default" = []))]
    pub match_image_references: Option<Vec<ImageReference>>,
    /// Named CEL expressions that give lists of images as strings, beside those of the pod spec. `images.all` includes them.
    #[schemars(extend("default" = []))]
    pub images: Option<Vec<NamedExpression>>,
    /// Values for later expressions, as `variables.<name>`.
    #[schemars(extend("default" = []))]
    pub variables: Option<Vec<NamedExpression>>,
    /// Who may vouch for an image: `attestors.<name>` in expressions.
    #[schemars(extend("default" = []))]
    pub attestors: Option<Vec<Attestor>>,
    /// What may be attested of an image: `attestations.<name>` in expressions.
    #[schemars(extend("default" = []))]
    pub attestations: Option<Vec<Attestation>>,
    /// What must be true.
    #[schemars(length(min = 1))]
    pub verifications: Option<Vec<Verification>>,
    /// Another name of `verifications`, from Kyverno's shipped policies.
    #[schemars(length(min = 1))]
    pub validations: Option<Vec<Verification>>,
    /// What happens to a request that fails the policy.
    #[schemars(extend("default" = "Enforce", "enum" = ["Enforce", "Audit", "Warn"]))]
    pub failure_action: Option<String>,
    /// `failureAction` in Kyverno's shipped policies. `Deny` is `Enforce`.
    pub validation_actions: Option<Vec<ValidationAction>>,
    /// For outages of the cluster, or of a registry that the settings name. `Ignore` counts what they would say as verified,
    /// with a warning. Any other error rejects.
    #[schemars(extend("default" = "Fail", "enum" = ["Fail", "Ignore"]))]
    pub failure_policy: Option<String>,
    /// Whether its images are pinned, in the kinds of `pin.kinds`. Images that the scan phase judged always are.
    #[schemars(extend("default" = true))]
    pub mutate_digest: Option<bool>,
    /// Digest settings in Kyverno's shipped policies.
    pub validation_configurations: Option<Configurations>,
    /// What it writes into the audit log.
    #[schemars(extend("default" = []))]
    pub audit_annotations: Option<Vec<AuditAnnotation>>,
    /// Whether it is also about images that pre-scan accepts.
    #[schemars(extend("default" = false))]
    pub verify_pre_scan_accepted: Option<bool>,
    /// For images that an update doesn't change.
    #[schemars(extend("default" = "skip"))]
    pub existing_images: Option<ExistingImages>,
    /// Where Kyverno evaluates it. Here it is always at admission.
    pub evaluation: Option<Evaluation>,
}

/// Which requests and images a policy is about.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MatchConstraints {
    /// Requests. Without any: every object that names images.
    #[schemars(extend("default" = []))]
    pub resource_rules: Option<Vec<ResourceRule>>,
    /// Images. Without any: all.
    pub image_rules: Option<ImageRules>,
    /// Ignored.
    pub match_policy: Option<Value>,
    /// Must be empty: use the selector of the ClusterAdmissionPolicy.
    #[schemars(extend("maxProperties" = 0))]
    pub namespace_selector: Option<Map<String, Value>>,
    /// Must be empty: use the selector of the ClusterAdmissionPolicy.
    #[schemars(extend("maxProperties" = 0))]
    pub object_selector: Option<Map<String, Value>>,
    /// Must be empty.
    #[schemars(length(max = 0))]
    pub exclude_resource_rules: Option<Vec<Value>>,
}

/// Requests, as in Kubernetes' ValidatingAdmissionPolicy. An empty list or a `*` matches everything.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRule {
    /// API groups. An empty string is the core group.
    #[schemars(extend("default" = []))]
    pub api_groups: Option<Vec<String>>,
    /// API versions.
    #[schemars(inner(length(min = 1)), extend("default" = []))]
    pub api_versions: Option<Vec<String>>,
    /// Operations.
    #[schemars(extend("default" = []))]
    pub operations: Option<Vec<Operation>>,
    /// Resources, like `pods` or `pods/ephemeralcontainers`.
    #[schemars(length(min = 1))]
    pub resources: Vec<String>,
    /// Names of objects.
    #[schemars(inner(length(min = 1)), extend("default" = []))]
    pub resource_names: Option<Vec<String>>,
    /// Any scope.
    #[schemars(extend("const" = "*"))]
    pub scope: Option<String>,
}

/// An operation on an object.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// Created.
    Create,
    /// Changed.
    Update,
    /// Deleted.
    Delete,
    /// Connected to.
    Connect,
    /// Any.
    #[serde(rename = "*")]
    Any,
}

/// Images that one of the globs or expressions matches.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageRules {
    /// Globs. `*` matches any characters, slashes too, and `?` one. A prefix ends with `*`.
    #[schemars(inner(length(min = 1), regex(pattern = "[^/]$")), extend("default" = [], "examples" = [["ghcr.io/team/*"]]))]
    pub references: Option<Vec<String>>,
    /// CEL expressions about `ref`, any name of the image.
    #[schemars(inner(length(min = 1)), extend("default" = []))]
    pub expressions: Option<Vec<String>>,
}

/// Images. Set `glob` or `expression`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct ImageReference {
    /// A glob. `*` matches any characters, slashes too, and `?` one. A prefix ends with `*`.
    #[schemars(length(min = 1), regex(pattern = "[^/]$"))]
    pub glob: Option<String>,
    /// A CEL expression about `ref`, any name of the image.
    #[schemars(length(min = 1))]
    pub expression: Option<String>,
}

/// A CEL expression with a name.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedExpression {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The expression.
    #[schemars(length(min = 1))]
    pub expression: String,
}

/// A signer who may vouch for an image. Set `cosign` or `notary`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["cosign"]}, {"required": ["notary"]}]))]
pub struct Attestor {
    /// The name in expressions and messages: letters, digits and `_`.
    #[schemars(extend("pattern" = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// The signer's key, identity or certificate, for signatures of cosign and of other tools of Sigstore.
    pub cosign: Option<Cosign>,
    /// Whose certificates count, for signatures of Notary Project (`notation`).
    pub notary: Option<Notary>,
}

/// Who signs with Notary Project's tools. A signature must lead to the trust store, and be one of the trusted identities. It is
/// verified strictly: authentic, of a trusted identity, not expired, and not revoked.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Notary {
    /// The trust store: certificates of roots.
    pub certs: TrustStore,
    /// Certificates of the roots of timestamp authorities. A timestamp of theirs makes a signature outlive its certificate.
    pub tsa_certs: Option<TrustStore>,
    /// Subjects of the certificates that sign, as in Notary Project's trust policies; `*` for all.
    #[schemars(length(min = 1), extend("examples" = [["x509.subject: C=US, ST=WA, O=acme"]]))]
    pub trusted_identities: Vec<String>,
    /// The kind of the trust store: `ca` is for the scheme `notary.x509`, the other for `notary.x509.signingAuthority`.
    #[schemars(extend("default" = "ca", "enum" = ["ca", "signingAuthority"]))]
    pub trust_store: Option<String>,
}

/// Certificates in PEM, or where they are.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum TrustStore {
    /// In PEM.
    Text(#[schemars(extend("contentMediaType" = "application/x-pem-file"))] String),
    /// As Kyverno writes them.
    Value {
        /// The certificates.
        #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
        value: String,
    },
    /// In the settings, or in the cluster.
    Source(TrustStoreSource),
}

/// Certificates. Set one of `data`, `secretRef` and `configMapRef`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["data"]}, {"required": ["secretRef"]}, {"required": ["configMapRef"]}]))]
pub struct TrustStoreSource {
    /// In PEM.
    #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
    pub data: Option<String>,
    /// A Secret that is read at each request; `key` is `ca.crt`, unless it is set.
    pub secret_ref: Option<KeyReference>,
    /// A ConfigMap that is read at each request; `key` is `ca.crt`, unless it is set.
    pub config_map_ref: Option<KeyReference>,
}

/// The signer's key, identity or certificate. Set one of `key`, `keyless` and `certificate`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["key"]}, {"required": ["keyless"]}, {"required": ["certificate"]}]))]
pub struct Cosign {
    /// A public key.
    pub key: Option<Key>,
    /// A certificate that Sigstore issued.
    pub keyless: Option<Keyless>,
    /// A certificate of your own authority.
    pub certificate: Option<Certificate>,
    /// Annotations that the signature must have. Not with `certificate`.
    #[schemars(extend("minProperties" = 1, "examples" = [{"env": "prod"}]))]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Whether the signature must be in Sigstore's transparency log.
    pub ctlog: Option<TransparencyLog>,
    /// What bundles are verified with, instead of `evidence.trustRoot`. The host isn't asked then, since it has a trust root of its own:
    /// only evidence counts. Beside `key`, one of the root's logs must have the signature.
    pub trust_root: Option<TrustRoot>,
}

/// A public key. Set one of `data`, `secretRef` and `configMapRef`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["data"]}, {"required": ["secretRef"]}, {"required": ["configMapRef"]}]))]
pub struct Key {
    /// The key.
    #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
    pub data: Option<String>,
    /// A Secret that is read at each request.
    pub secret_ref: Option<KeyReference>,
    /// A ConfigMap that is read at each request.
    pub config_map_ref: Option<KeyReference>,
    /// Where the private key is. Nobody asks there at admission: the public key must stand beside it.
    pub kms: Option<String>,
    /// Only `sha256` is supported.
    #[schemars(extend("pattern" = "^[Ss][Hh][Aa]256$", "default" = "sha256"))]
    pub hash_algorithm: Option<String>,
}

/// Where a key is in the cluster.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyReference {
    /// The object's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The object's namespace.
    #[schemars(length(min = 1))]
    pub namespace: String,
    /// The key of its data: of a public key `cosign.pub`, unless it is set.
    pub key: Option<String>,
}

/// Certificates that Sigstore issued, by who requested them. Set `identities`, `githubActions`, or both.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct Keyless {
    /// Identities. The signature must have one of them.
    #[schemars(extend("default" = []))]
    pub identities: Option<Vec<KeylessIdentity>>,
    /// A workflow on GitHub.
    pub github_actions: Option<GithubActions>,
    /// A CEL expression that must be true of the certificate that signed: of `certificate.subject`, `.issuer`, and what Sigstore's
    /// authority writes into it, `.sourceRepositoryURI`, `.sourceRepositoryRef`, `.buildConfigURI`, `.runnerEnvironment` and others. With
    /// it, only evidence counts, and a trust root is needed.
    #[schemars(length(min = 1), extend("examples" = ["certificate.runnerEnvironment == 'github-hosted'"]))]
    pub match_certificate: Option<String>,
}

/// An identity. Set `issuer` or `issuerRegExp`, and one of `subject`, `subjectPrefix` and `subjectRegExp`. Hosts compare no regular
/// expressions: with one, only evidence counts, and a trust root is needed.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"required": ["issuer", "subject"]},
    {"required": ["issuer", "subjectPrefix"]},
    {"required": ["issuer", "subjectRegExp"]},
    {"required": ["issuerRegExp", "subject"]},
    {"required": ["issuerRegExp", "subjectRegExp"]}
]))]
pub struct KeylessIdentity {
    /// The identity's issuer.
    #[schemars(length(min = 1), extend("examples" = ["https://token.actions.githubusercontent.com"]))]
    pub issuer: Option<String>,
    /// The whole subject.
    #[schemars(length(min = 1))]
    pub subject: Option<String>,
    /// The beginning of the subject, a URL.
    #[schemars(extend("pattern" = "^https?://", "examples" = ["https://github.com/team/"]))]
    pub subject_prefix: Option<String>,
    /// A regular expression that finds something in the issuer. Begin it with `^` and end it with `$`.
    #[serde(rename = "issuerRegExp")]
    #[schemars(length(min = 1))]
    pub issuer_expression: Option<String>,
    /// A regular expression that finds something in the subject. Begin it with `^` and end it with `$`.
    #[serde(rename = "subjectRegExp")]
    #[schemars(length(min = 1), extend("examples" = ["^https://github\\.com/team/[^/]+/\\.github/workflows/release\\.yml@refs/tags/v"]))]
    pub subject_expression: Option<String>,
}

/// Workflows on GitHub.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GithubActions {
    /// The user or organisation.
    #[schemars(length(min = 1))]
    pub owner: String,
    /// One of their repositories. Without it: all.
    pub repository: Option<String>,
}

/// A certificate of your own authority. Set `cert` and `certChain`, or `certificate` and `certificateChain`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 2))]
pub struct Certificate {
    /// The certificate that signed.
    pub cert: Option<Certificates>,
    /// Its issuers, up to the root.
    pub cert_chain: Option<Certificates>,
    /// Another name of `cert`.
    pub certificate: Option<Certificates>,
    /// Another name of `certChain`.
    pub certificate_chain: Option<Certificates>,
}

/// Certificates in PEM, or `{value: …}` with them.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum Certificates {
    /// In PEM.
    Text(#[schemars(extend("contentMediaType" = "application/x-pem-file"))] String),
    /// As Kyverno writes them.
    Value {
        /// The certificates.
        #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
        value: String,
    },
}

/// Sigstore's transparency log. Keyless signatures are always checked in it, signatures by key never.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransparencyLog {
    /// Whether the signature needn't be in the log. Not with `keyless`.
    #[serde(rename = "ignoreTlog")]
    #[schemars(extend("default" = false))]
    pub ignore_log: Option<bool>,
    /// Another name of `ignoreTlog`.
    #[serde(rename = "insecureIgnoreTlog")]
    #[schemars(extend("default" = false))]
    pub insecure_ignore_log: Option<bool>,
    /// Sigstore's own log. Set another one in the PolicyServer's `sigstoreTrustConfig`.
    #[schemars(extend("const" = "https://rekor.sigstore.dev"))]
    pub url: Option<String>,
    /// The host always checks SCTs.
    #[serde(rename = "ignoreSCT")]
    #[schemars(extend("const" = false))]
    pub ignore_timestamps: Option<bool>,
    /// Another name of `ignoreSCT`.
    #[serde(rename = "insecureIgnoreSCT")]
    #[schemars(extend("const" = false))]
    pub insecure_ignore_timestamps: Option<bool>,
}

/// What may be attested. Set `intoto` or `referrer`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["intoto"]}, {"required": ["referrer"]}]))]
pub struct Attestation {
    /// The name in expressions: letters, digits and `_`.
    #[schemars(extend("pattern" = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// An in-toto statement with this predicate type, in an envelope.
    pub intoto: Option<TypedDocument>,
    /// An artifact of this type, in a signed manifest.
    pub referrer: Option<TypedDocument>,
    /// Its tag is `sha256-<hex>.<suffix>`. Without it: among the image's referrers.
    #[schemars(length(min = 1), extend("examples" = ["slsa"]))]
    pub tag_suffix: Option<String>,
    /// Its repository, if not the image's own. `{registry}` and `{repository}` are the image's.
    #[schemars(extend("examples" = ["registry.example.com/attestations/{repository}"]))]
    pub repository: Option<String>,
}

/// The type of a document.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TypedDocument {
    /// The type.
    #[schemars(length(min = 1), extend("examples" = ["https://slsa.dev/provenance/v1"]))]
    #[serde(rename = "type")]
    pub document_type: String,
}

/// What must be true.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verification {
    /// A CEL expression that must be true.
    #[schemars(length(min = 1), extend("examples" = ["images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"]))]
    pub expression: String,
    /// The message if the expression isn't true.
    pub message: Option<String>,
    /// A CEL expression for the message.
    pub message_expression: Option<String>,
    /// Ignored.
    pub reason: Option<String>,
}

/// What happens to a request.
#[derive(Debug, JsonSchema)]
pub enum ValidationAction {
    /// Rejected.
    Deny,
    /// Admitted, and the audit log says why it would be rejected.
    Audit,
    /// Admitted, with a warning.
    Warn,
}

/// Digest settings in Kyverno's shipped policies.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configurations {
    /// Whether its images are pinned. Images that the scan phase judged always are.
    #[schemars(extend("default" = true))]
    pub mutate_digest: Option<bool>,
    /// Whether unpinned images must have a digest.
    #[schemars(extend("default" = true))]
    pub verify_digest: Option<bool>,
    /// No effect: images must always be verified.
    #[schemars(extend("default" = true))]
    pub required: Option<bool>,
}

/// An entry of the audit log.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditAnnotation {
    /// The key: at most 63 letters, digits, `.`, `-`, `_`.
    #[schemars(length(min = 1, max = 63))]
    pub key: String,
    /// A CEL expression for the value, a string.
    #[schemars(length(min = 1))]
    pub value_expression: String,
}

/// Where Kyverno evaluates a policy.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evaluation {
    /// The only mode.
    #[schemars(extend("const" = "Kubernetes"))]
    pub mode: Option<String>,
    /// Ignored.
    pub admission: Option<Value>,
    /// Ignored.
    pub background: Option<Value>,
}
