//! Findings that don't count.

use super::NAMESPACE;
use schemars::JsonSchema;

/// Findings that don't count, for a reason and until a day. A missing field matches everything.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("anyOf" = [{"required": ["vulnerability"]}, {"required": ["vulnerabilities"]}]))]
pub struct Exemption {
    /// An id, or a pattern with `*` for any characters and `?` for one.
    #[schemars(extend("examples" = ["CVE-2024-0001"]))]
    pub vulnerability: Option<String>,
    /// Several ids or patterns.
    pub vulnerabilities: Option<Vec<String>>,
    /// Prefixes of image names. Without it: every image.
    #[schemars(length(min = 1), inner(length(min = 1)), extend("examples" = [["ghcr.io/team/"]]))]
    pub images: Option<Vec<String>>,
    /// The workloads' namespaces, by name or by a glob like `prod-*`. Without it: every namespace.
    #[schemars(length(min = 1), inner(regex(pattern = NAMESPACE)))]
    pub namespaces: Option<Vec<String>>,
    /// Prefixes of the packages' purls. Without it: every package.
    #[schemars(length(min = 1), inner(regex(pattern = "^pkg:.")), extend("examples" = [["pkg:apk/alpine/openssl@"]]))]
    pub packages: Option<Vec<String>>,
    /// The reason, which messages show.
    #[schemars(extend("examples" = ["not reachable, TICKET-7"]))]
    pub reason: String,
    /// The last day, in UTC.
    #[schemars(extend("pattern" = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T00:00:00Z)?$", "examples" = ["2027-01-31"]))]
    pub expires: String,
    /// Whether it ends as soon as there is a fix.
    #[schemars(extend("default" = false))]
    pub expire_on_fix: Option<bool>,
}
