//! The settings as they are written, with what a reader must know of each.
//!
//! A doc comment here is what an editor, the form and the reference show. Everything is optional unless it is no `Option`.

mod acceptance;
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
    /// The first phase: what happens to an image by its name, before anything is known about it.
    pub pre_scan_policies: Option<PreScanPolicies>,
    /// The second phase: what happens to an image once the status of its scan is known.
    pub scan_policies: Option<ScanPolicies>,
    /// Another name of `scanPolicies`, as the ConfigMap of Sysdig's controllers has it. Set one of them.
    pub policies: Option<ScanPolicies>,
    /// Which name of an image prefixes are compared with.
    pub image_matching: Option<ImageMatching>,
    /// The only registries that are asked about images, as hosts like `ghcr.io` or `registry.example.com:5000`; an image
    /// of any other has `scan_failed`. Empty: any but IP addresses, names without a dot, `localhost`, and names that end in
    /// `.svc`, `.local`, `.internal`, `.lan` and the like, which must be listed. Set it: else whoever creates a Pod chooses which
    /// address the policy server asks, and a registry that never answers holds it up. An object names a mirror beside the
    /// registry, which is asked in its place.
    #[schemars(extend("default" = [], "examples" = [["ghcr.io", "docker.io"]]))]
    pub registries: Option<Vec<RegistryEntry>>,
    /// A request with more different images is rejected before anything is asked.
    #[schemars(range(min = 1), extend("default" = 50))]
    pub max_images: Option<u64>,
    /// A request that needs more calls to the registries and the cluster than this is rejected. Whoever writes a Pod or pushes
    /// an image chooses how many it would be, and each holds up a worker of the policy server.
    #[schemars(range(min = 1), extend("default" = 400))]
    pub max_host_calls: Option<u64>,
    /// Logs what was decided on, and what rules saw; never the content of a Secret.
    #[schemars(extend("default" = false))]
    pub verbose_log: Option<bool>,
    /// Where scan reports come from, and for which platforms.
    pub reports: Option<Reports>,
    /// What makes a scan report accepted.
    pub acceptance: Option<Acceptance>,
    /// Findings that don't count, for a reason and until a day.
    #[schemars(extend("default" = []))]
    pub exemptions: Option<Vec<Exemption>>,
    /// Exemptions as objects of the cluster, `ImageExemption`, which RBAC says who may write. They are read only where a finding
    /// would reject, and need an entry in the policy's `contextAwareResources`, and rights to get, list and watch them.
    pub exemptions_from: Option<ExemptionsFrom>,
    /// Policies in CEL about who signed an image and what was attested of it, in the shape of Kyverno's; at most 50.
    #[schemars(length(max = 50), extend("default" = []))]
    pub image_verification: Option<Vec<VerificationEntry>>,
    /// Whether, and in which objects, images are written with the digest that was judged.
    pub pin: Option<Pin>,
    /// Texts that stand for an image in templates of controllers until another webhook fills them in the Pod. Templates that have
    /// them are admitted with a warning, and the Pod is judged.
    #[schemars(extend("default" = [], "examples" = [["auto", ""]]))]
    pub placeholders: Option<Vec<String>>,
    /// Rules in Rego beside those of pre-scan: `allow_pod`, `deny_pod[msg]`.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub pre_custom_rules: Option<String>,
    /// Rules in Rego beside those of the scan phase: `deny_image[msg]`.
    #[schemars(extend("contentMediaType" = "application/rego"))]
    pub custom_rules: Option<String>,
    /// The syntax of all rules that don't say their own.
    #[schemars(extend("default" = "v0"))]
    pub rego_version: Option<RegoVersion>,
    /// Policies in Rego for objects of these kinds, on every operation; or a Conftest ConfigMap. They see updates too that bring no
    /// image: `input.request.operation` and `oldObject` tell.
    #[schemars(extend("default" = []))]
    pub rego_policies: Option<RegoPolicies>,
    /// Modules in Rego that policies refer to by their package.
    #[schemars(extend("default" = []))]
    pub rego_libraries: Option<Vec<RegoLibrary>>,
    /// Kinds of the cluster that rules see, in `data.kubernetes` and `data.inventory`. Each needs an entry in the policy's
    /// `contextAwareResources`, and rights to get, list and watch it.
    #[schemars(extend("default" = []))]
    pub context: Option<Vec<ContextKind>>,
    /// Who may let a request through unjudged, by a right of the cluster and with a reason.
    pub break_glass: Option<BreakGlass>,
    /// What rejections say beside their reasons, and what comes first.
    pub message: Option<Message>,
}

/// A name of an image.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("default" = "canonical"))]
pub enum ImageMatching {
    /// The one full name: `nginx` is `docker.io/library/nginx:latest`.
    Canonical,
    /// The text in the Pod.
    Raw,
}
