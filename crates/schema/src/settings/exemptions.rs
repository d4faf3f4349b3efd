//! Findings that don't count.

use super::NAMESPACE;
use schemars::JsonSchema;

/// Findings that don't count, for a reason and until a day. What isn't said restricts nothing.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["vulnerability"]}, {"required": ["vulnerabilities"]}]))]
pub struct Exemption {
    /// An id, or a pattern in which `*` stands for any letters and `?` for one.
    #[schemars(extend("examples" = ["CVE-2024-0001"]))]
    pub vulnerability: Option<String>,
    /// Several of them.
    pub vulnerabilities: Option<Vec<String>>,
    /// How the images' names start. Without it: every image.
    #[schemars(length(min = 1), inner(length(min = 1)), extend("examples" = [["ghcr.io/team/"]]))]
    pub images: Option<Vec<String>>,
    /// The workloads' namespaces, by a name or a glob like `prod-*`. Without it: every namespace.
    #[schemars(length(min = 1), inner(regex(pattern = NAMESPACE)))]
    pub namespaces: Option<Vec<String>>,
    /// How the packages' URLs (purl) start. Without it: every package.
    #[schemars(length(min = 1), inner(regex(pattern = "^pkg:.")), extend("examples" = [["pkg:apk/alpine/openssl@"]]))]
    pub packages: Option<Vec<String>>,
    /// Why; people will read it in messages.
    #[schemars(extend("examples" = ["not reachable, TICKET-7"]))]
    pub reason: String,
    /// Its last day, UTC.
    #[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$", "examples" = ["2027-01-31"]))]
    pub expires: String,
    /// Whether it ends as soon as the finding can be fixed.
    #[schemars(extend("default" = false))]
    pub expire_on_fix: Option<bool>,
}
