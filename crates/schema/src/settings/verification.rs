//! Who signed an image, and what was attested of it.

use image_admission_settings::ExistingImages;
use schemars::JsonSchema;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A policy, or a whole resource of Kyverno's.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
pub enum VerificationEntry {
    /// A policy with its name.
    Policy(Box<VerificationPolicy>),
    /// A resource as it is applied to a cluster.
    Resource(Box<VerificationResource>),
}

/// An ImageVerificationPolicy or an ImageValidatingPolicy, pasted as it is.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationResource {
    /// Its group and version, which aren't looked at.
    pub api_version: Option<Value>,
    /// `ImageVerificationPolicy` or `ImageValidatingPolicy`.
    #[schemars(extend("enum" = ["ImageVerificationPolicy", "ImageValidatingPolicy"]))]
    pub kind: Option<String>,
    /// Its name.
    pub metadata: Metadata,
    /// The policy.
    pub spec: Policy,
    /// What Kyverno wrote, which isn't looked at.
    pub status: Option<Value>,
}

/// The resource's metadata; of it the name counts.
#[derive(Debug, JsonSchema)]
pub struct Metadata {
    /// What messages call the policy.
    pub name: String,
}

/// A policy with its name.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerificationPolicy {
    /// What messages call it; no two have the same.
    pub name: String,
    #[serde(flatten)]
    #[expect(missing_docs, reason = "what is flattened has no description of its own")]
    pub policy: Policy,
}

/// A policy about images; set `verifications` or `validations`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["verifications"]}, {"required": ["validations"]}]))]
pub struct Policy {
    /// Which requests and images it is about.
    pub match_constraints: Option<MatchConstraints>,
    /// It is about a request only when all of these CEL expressions hold.
    #[schemars(extend("default" = []))]
    pub match_conditions: Option<Vec<NamedExpression>>,
    /// Which images it is about, in the spelling that Kyverno shipped: those that one of the entries matches.
    #[schemars(extend("default" = []))]
    pub match_image_references: Option<Vec<ImageReference>>,
    /// Lists of images beside those of the pod spec: CEL expressions that give lists of texts, by name. `images.all` has their images too.
    #[schemars(extend("default" = []))]
    pub images: Option<Vec<NamedExpression>>,
    /// Values that later expressions read as `variables.<name>`.
    #[schemars(extend("default" = []))]
    pub variables: Option<Vec<NamedExpression>>,
    /// Who may vouch for an image; expressions read them as `attestors.<name>`.
    #[schemars(extend("default" = []))]
    pub attestors: Option<Vec<Attestor>>,
    /// What may be attested of an image; expressions read them as `attestations.<name>`.
    #[schemars(extend("default" = []))]
    pub attestations: Option<Vec<Attestation>>,
    /// What must hold.
    #[schemars(length(min = 1))]
    pub verifications: Option<Vec<Verification>>,
    /// Another name of `verifications`, as Kyverno shipped it.
    #[schemars(length(min = 1))]
    pub validations: Option<Vec<Verification>>,
    /// What becomes of a request for which one of them doesn't hold.
    #[schemars(extend("default" = "Enforce", "enum" = ["Enforce", "Audit", "Warn"]))]
    pub failure_action: Option<String>,
    /// The same, as Kyverno shipped it; `Deny` is `Enforce`.
    pub validation_actions: Option<Vec<ValidationAction>>,
    /// What becomes of a request while the cluster, or a registry that `registries` names, can't be asked: `Ignore` takes what
    /// they would say for verified, with a warning. Any other error rejects.
    #[schemars(extend("default" = "Fail", "enum" = ["Fail", "Ignore"]))]
    pub failure_policy: Option<String>,
    /// Whether its images are pinned, in the kinds of `pin.kinds`. What the scan phase judged always is.
    #[schemars(extend("default" = true))]
    pub mutate_digest: Option<bool>,
    /// What Kyverno's shipped policies say about digests.
    pub validation_configurations: Option<Configurations>,
    /// What it writes into the audit log.
    #[schemars(extend("default" = []))]
    pub audit_annotations: Option<Vec<AuditAnnotation>>,
    /// Whether it is about images too that pre-scan accepts.
    #[schemars(extend("default" = false))]
    pub verify_pre_scan_accepted: Option<bool>,
    /// What becomes of the images that an update leaves as they are.
    #[schemars(extend("default" = "skip"))]
    pub existing_images: Option<ExistingImages>,
    /// Where Kyverno evaluates it; here that is always at admission.
    pub evaluation: Option<Evaluation>,
}

/// Which requests and images a policy is about.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MatchConstraints {
    /// Requests; without any: every object that names images.
    #[schemars(extend("default" = []))]
    pub resource_rules: Option<Vec<ResourceRule>>,
    /// Images; without any: all.
    pub image_rules: Option<ImageRules>,
    /// How Kubernetes would compare versions; it isn't looked at.
    pub match_policy: Option<Value>,
    /// Empty, as Kubernetes writes it out: the ClusterAdmissionPolicy has a selector.
    #[schemars(extend("maxProperties" = 0))]
    pub namespace_selector: Option<Map<String, Value>>,
    /// Empty, as Kubernetes writes it out: the ClusterAdmissionPolicy has a selector.
    #[schemars(extend("maxProperties" = 0))]
    pub object_selector: Option<Map<String, Value>>,
    /// Empty, as Kubernetes writes it out.
    #[schemars(length(max = 0))]
    pub exclude_resource_rules: Option<Vec<Value>>,
}

/// Requests, as in Kubernetes' ValidatingAdmissionPolicy; an empty list, or a `*`, is everything.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRule {
    /// Groups; the core group is an empty text.
    #[schemars(extend("default" = []))]
    pub api_groups: Option<Vec<String>>,
    /// Versions.
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
    /// `*`
    #[schemars(extend("const" = "*"))]
    pub scope: Option<String>,
}

/// What is done with an object.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// Somebody connects to it.
    Connect,
    /// Any of them.
    #[serde(rename = "*")]
    Any,
}

/// Images: those that one of the globs or one of the expressions matches.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImageRules {
    /// Globs: `*` stands for any text, slashes too, `?` for one letter. A prefix of images ends with `*`.
    #[schemars(inner(length(min = 1), regex(pattern = "[^/]$")), extend("default" = [], "examples" = [["ghcr.io/team/*"]]))]
    pub references: Option<Vec<String>>,
    /// CEL expressions over `ref`, the image as the object names it.
    #[schemars(inner(length(min = 1)), extend("default" = []))]
    pub expressions: Option<Vec<String>>,
}

/// Images; set one of both.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct ImageReference {
    /// A glob: `*` stands for any text, slashes too, `?` for one letter. A prefix of images ends with `*`.
    #[schemars(length(min = 1), regex(pattern = "[^/]$"))]
    pub glob: Option<String>,
    /// A CEL expression over `ref`, the image as the object names it.
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

/// Somebody who may vouch for an image.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attestor {
    /// What expressions and messages call them: letters, digits and `_`.
    #[schemars(extend("pattern" = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// How they are recognised.
    pub cosign: Cosign,
}

/// How somebody is recognised; set one of `key`, `keyless` and `certificate`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["key"]}, {"required": ["keyless"]}, {"required": ["certificate"]}]))]
pub struct Cosign {
    /// By a public key.
    pub key: Option<Key>,
    /// By a certificate that Sigstore issued.
    pub keyless: Option<Keyless>,
    /// By a certificate of an own authority.
    pub certificate: Option<Certificate>,
    /// What the signature must say beside that; not with `certificate`.
    #[schemars(extend("minProperties" = 1, "examples" = [{"env": "prod"}]))]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Whether the signature must stand in Sigstore's transparency log.
    pub ctlog: Option<TransparencyLog>,
}

/// A public key; set one of `data`, `secretRef` and `configMapRef`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["data"]}, {"required": ["secretRef"]}, {"required": ["configMapRef"]}]))]
pub struct Key {
    /// In PEM.
    #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
    pub data: Option<String>,
    /// In a Secret, read at each request.
    pub secret_ref: Option<KeyReference>,
    /// In a ConfigMap, read at each request.
    pub config_map_ref: Option<KeyReference>,
    /// How the signature was made; the host knows one way.
    #[schemars(extend("pattern" = "^[Ss][Hh][Aa]256$", "default" = "sha256"))]
    pub hash_algorithm: Option<String>,
}

/// Where in the cluster a key stands.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyReference {
    /// The object's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The object's namespace.
    #[schemars(length(min = 1))]
    pub namespace: String,
    /// The key of its data.
    #[schemars(extend("default" = "cosign.pub"))]
    pub key: Option<String>,
}

/// Certificates that Sigstore issued, by who asked for them; set `identities` or `githubActions`, or both.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 1))]
pub struct Keyless {
    /// Identities, one of which must be the signature's.
    #[schemars(extend("default" = []))]
    pub identities: Option<Vec<KeylessIdentity>>,
    /// A workflow of GitHub's.
    pub github_actions: Option<GithubActions>,
}

/// An identity; set one of `subject` and `subjectPrefix`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["subject"]}, {"required": ["subjectPrefix"]}]))]
pub struct KeylessIdentity {
    /// Who says who it is.
    #[schemars(length(min = 1), extend("examples" = ["https://token.actions.githubusercontent.com"]))]
    pub issuer: String,
    /// The whole subject.
    #[schemars(length(min = 1))]
    pub subject: Option<String>,
    /// How the subject starts, a URL.
    #[schemars(extend("pattern" = "^https?://", "examples" = ["https://github.com/team/"]))]
    pub subject_prefix: Option<String>,
}

/// Workflows of GitHub's.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GithubActions {
    /// The user or organisation.
    #[schemars(length(min = 1))]
    pub owner: String,
    /// One repository of theirs; without it, all.
    pub repository: Option<String>,
}

/// A certificate of an own authority. Set `cert` and `certChain`, or `certificate` and `certificateChain`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("minProperties" = 2))]
pub struct Certificate {
    /// The certificate that signed, in PEM.
    pub cert: Option<Certificates>,
    /// Who issued it, up to the root, in PEM.
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
        /// In PEM.
        #[schemars(extend("contentMediaType" = "application/x-pem-file"))]
        value: String,
    },
}

/// Sigstore's transparency log. The host looks at it for keyless signatures always, for those by key never.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransparencyLog {
    /// Whether it doesn't count.
    #[serde(rename = "ignoreTlog")]
    #[schemars(extend("default" = false))]
    pub ignore_log: Option<bool>,
    /// Another name of `ignoreTlog`.
    #[serde(rename = "insecureIgnoreTlog")]
    #[schemars(extend("default" = false))]
    pub insecure_ignore_log: Option<bool>,
    /// Sigstore's own, the only one that the host knows.
    #[schemars(extend("const" = "https://rekor.sigstore.dev"))]
    pub url: Option<String>,
    /// `false`: the host checks them.
    #[serde(rename = "ignoreSCT")]
    #[schemars(extend("const" = false))]
    pub ignore_timestamps: Option<bool>,
    /// Another name of `ignoreSCT`.
    #[serde(rename = "insecureIgnoreSCT")]
    #[schemars(extend("const" = false))]
    pub insecure_ignore_timestamps: Option<bool>,
}

/// Something that may be attested; set one of `intoto` and `referrer`.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("oneOf" = [{"required": ["intoto"]}, {"required": ["referrer"]}]))]
pub struct Attestation {
    /// What expressions call it: letters, digits and `_`.
    #[schemars(extend("pattern" = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// An in-toto statement with this type of predicate, in an envelope.
    pub intoto: Option<TypedDocument>,
    /// An artifact of this type, in a signed manifest.
    pub referrer: Option<TypedDocument>,
    /// It is at the tag `sha256-<hex>.<suffix>`; without it, among the image's referrers.
    #[schemars(length(min = 1), extend("examples" = ["slsa"]))]
    pub tag_suffix: Option<String>,
    /// The repository that it is in, where that isn't the image's own. `{registry}` and `{repository}` stand for the image's.
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

/// Something that must hold.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Verification {
    /// A CEL expression that must be true.
    #[schemars(length(min = 1), extend("examples" = ["images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)"]))]
    pub expression: String,
    /// What is said when it isn't.
    pub message: Option<String>,
    /// A CEL expression that says what is said.
    pub message_expression: Option<String>,
    /// A word for machines, which isn't looked at.
    pub reason: Option<String>,
}

/// What becomes of a request.
#[derive(Debug, JsonSchema)]
pub enum ValidationAction {
    /// It is rejected.
    Deny,
    /// It is admitted, and the audit log says why it would have been rejected.
    Audit,
    /// It is admitted with a warning.
    Warn,
}

/// What Kyverno's shipped policies say about digests.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Configurations {
    /// Whether its images are pinned. What the scan phase judged always is.
    #[schemars(extend("default" = true))]
    pub mutate_digest: Option<bool>,
    /// Whether images that aren't pinned must have a digest.
    #[schemars(extend("default" = true))]
    pub verify_digest: Option<bool>,
    /// Whether images must have been verified, which they always must.
    #[schemars(extend("default" = true))]
    pub required: Option<bool>,
}

/// An entry of the audit log.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditAnnotation {
    /// Its key: at most 63 letters, digits, `.`, `-`, `_`.
    #[schemars(length(min = 1, max = 63))]
    pub key: String,
    /// A CEL expression that gives its text.
    #[schemars(length(min = 1))]
    pub value_expression: String,
}

/// Where Kyverno evaluates a policy.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evaluation {
    /// `Kubernetes`
    #[schemars(extend("const" = "Kubernetes"))]
    pub mode: Option<String>,
    /// It isn't looked at.
    pub admission: Option<Value>,
    /// It isn't looked at.
    pub background: Option<Value>,
}
