//! The settings as they are written, with what a reader must know of each.
//!
//! A doc comment here is what an editor, the form and the reference show. Everything is optional unless it is no `Option`.

mod acceptance;
mod evidence;
mod exemptions;
mod exemptions_from;
mod message;
mod phases;
mod pin;
mod registries;
mod rego;
mod reports;
mod verification;

pub use image_admission_settings::{
    BreakGlass, Count, ExistingImages, FailureFallback, Fallback, GateAction, GuardedResource, MessageStyle, MirrorAsk,
    MissingScores, PreScanAction, RegoVersion, ReportIdentity, ScanAction, UnknownLicense, UnprovenIndexes,
};
use schemars::JsonSchema;

// All are public: then the compiler misses the description of any.
pub use acceptance::*;
pub use evidence::*;
pub use exemptions::*;
pub use exemptions_from::*;
pub use message::*;
pub use phases::*;
pub use pin::*;
pub use registries::*;
pub use rego::*;
pub use reports::*;
pub use verification::*;

/// The names that a namespace may have, and globs of them.
const NAMESPACE: &str = "^[a-z0-9*]([-a-z0-9*]*[a-z0-9*])?$";

/// Which container images may run.
///
/// Everything is optional, and the defaults are safe: every image needs a scan report of the sbomscanner for exactly its
/// digest, without critical findings.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("patternProperties" = {
    "^conftest\\.": {"description": "An entry of a Conftest ConfigMap, pasted without its envelope."},
    "^policy\\.json$": {"type": "string", "description": "The policies of the ConfigMap of Sysdig's controllers, pasted without its envelope."}
}))]
pub struct Settings {
    /// The first phase. It decides by the names of images alone.
    pub pre_scan_policies: Option<PreScanPolicies>,
    /// The second phase. It decides by the scan status of images.
    pub scan_policies: Option<ScanPolicies>,
    /// Another name of `scanPolicies`, from the ConfigMap of Sysdig's controllers. Set one of them.
    pub policies: Option<ScanPolicies>,
    /// The name of an image that prefixes are compared with.
    pub image_matching: Option<ImageMatching>,
    /// The only registries that are contacted for images: hosts like `registry.example.com:5000`, or objects with a mirror. An
    /// image of another registry is `scan_failed`. Set it: with an empty list, Pod authors choose which public hosts the policy
    /// server contacts, and one that never answers holds it up. IP addresses, names without a dot, and names in `.svc`,
    /// `.local`, `.internal`, `.lan` and the like must always be listed.
    #[schemars(extend("default" = [], "examples" = [["ghcr.io", "docker.io"]]))]
    pub registries: Option<Vec<RegistryEntry>>,
    /// A request with more different images is rejected before any look-up.
    #[schemars(range(min = 1), extend("default" = 50))]
    pub max_images: Option<u64>,
    /// A request that needs more calls to registries and the cluster is rejected. Pod authors and pushers choose the number,
    /// and each call holds up a worker of the policy server.
    #[schemars(range(min = 1), extend("default" = 400))]
    pub max_host_calls: Option<u64>,
    /// Logs what was judged and what rules saw, but never the content of a Secret.
    #[schemars(extend("default" = false))]
    pub verbose_log: Option<bool>,
    /// Where scan reports come from, and for which platforms.
    pub reports: Option<Reports>,
    /// Which findings are accepted.
    pub acceptance: Option<Acceptance>,
    /// Findings that don't count, for a reason and until a day.
    #[schemars(extend("default" = []))]
    pub exemptions: Option<Vec<Exemption>>,
    /// Exemptions as `ImageExemption` objects; RBAC says who may write them. They are read only if a finding would reject, and
    /// need an entry in the policy's `contextAwareResources`, and rights to get, list and watch them.
    pub exemptions_from: Option<ExemptionsFrom>,
    /// Signatures and attestations that the policy verifies itself.
    pub evidence: Option<Evidence>,
    /// Policies in CEL about signatures and attestations, in Kyverno's format. At most 50.
    #[schemars(length(max = 50), extend("default" = []))]
    pub image_verification: Option<Vec<VerificationEntry>>,
    /// Whether, and in which kinds, images are pinned to the judged digest.
    pub pin: Option<Pin>,
    /// Strings in controllers' templates that another webhook replaces with an image in the Pod. Such a template is admitted
    /// with a warning, and the Pod is judged.
    #[schemars(extend("default" = [], "examples" = [["auto", ""]]))]
    pub placeholders: Option<Vec<String>>,
    /// Rego rules beside those of pre-scan: `allow_pod`, `deny_pod[msg]`.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub pre_custom_rules: Option<String>,
    /// Rego rules beside those of the scan phase: `deny_image[msg]`.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub custom_rules: Option<String>,
    /// The syntax of all rules that don't set their own.
    #[schemars(extend("default" = "v0"))]
    pub rego_version: Option<RegoVersion>,
    /// Rego policies for objects of any kind, on every operation; or a Conftest ConfigMap. They also see updates without new
    /// images: check `input.request.operation` and `oldObject`.
    #[schemars(extend("default" = []))]
    pub rego_policies: Option<RegoPolicies>,
    /// Rego modules that policies refer to by their package.
    #[schemars(extend("default" = []))]
    pub rego_libraries: Option<Vec<RegoLibrary>>,
    /// Kinds in the cluster that rules see, in `data.kubernetes` and `data.inventory`. Each needs an entry in the policy's
    /// `contextAwareResources`, and rights to get, list and watch it.
    #[schemars(extend("default" = []))]
    pub context: Option<Vec<ContextKind>>,
    /// Users with an RBAC right may have a request admitted unjudged, for a reason.
    pub break_glass: Option<BreakGlass>,
    /// The contact line of rejections, and what comes first in them.
    pub message: Option<Message>,
}

/// A name of an image.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = "canonical"))]
pub enum ImageMatching {
    /// The full name: `nginx` is `docker.io/library/nginx:latest`.
    Canonical,
    /// The string in the Pod. Beside a digest, its tag only rejects.
    Raw,
}
