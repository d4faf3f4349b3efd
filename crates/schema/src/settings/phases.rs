//! The two phases.

use super::NAMESPACE;
use image_admission_settings::{FailureFallback, Fallback, PreScanAction, ScanAction};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Pre-scan.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreScanPolicies {
    /// Whether the settings beside this decide. `false`: `preCustomRules` decide alone.
    #[schemars(extend("default" = true))]
    pub auto_generate: Option<bool>,
    /// What happens to images that no entry of `customPolicies` matches.
    #[schemars(extend("default" = "scan"))]
    pub default_policy: Option<PreScanAction>,
    /// The first entry whose prefix matches an image decides.
    #[schemars(extend("default" = []))]
    pub custom_policies: Option<Vec<PreScanCustomPolicy>>,
    /// What namespaces do differently, by a name or a glob like `prod-*`. One entry decides, as a whole: that of the name, else
    /// that of the most exact glob, which has the most characters beside its `*`.
    #[schemars(extend("default" = {}, "propertyNames" = {"pattern": NAMESPACE}))]
    pub by_namespace: Option<BTreeMap<String, PreScanNamespace>>,
}

/// What a namespace does differently.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreScanNamespace {
    /// What happens to images that no entry matches. An entry of the top level beats it, unless the namespace has a list.
    pub default_policy: Option<PreScanAction>,
    /// A list, even an empty one, replaces that of the top level.
    pub custom_policies: Option<Vec<PreScanCustomPolicy>>,
}

/// An action for the images whose names start with a prefix.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreScanCustomPolicy {
    /// How the images' names start; end it with `/`, `:` or `@`. One that ends with `:` is
    /// about every tag, and unless the entry accepts also about a digest in the tag's place.
    #[schemars(length(min = 1), extend("examples" = ["ghcr.io/team/"]))]
    pub prefix: String,
    /// What happens to them.
    pub action: PreScanAction,
}

/// The scan phase.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScanPolicies {
    /// Whether the settings beside this decide. `false`: `customRules` decide alone.
    #[schemars(extend("default" = true))]
    pub auto_generate: Option<bool>,
    /// What happens to images that no entry of `customPolicies` matches.
    #[schemars(extend("default" = "scan-result"))]
    pub default_policy: Option<ScanAction>,
    /// What happens when there is no report yet, or only one older than `reports.maxAge`.
    #[schemars(extend("default" = "reject"))]
    pub report_pending: Option<Fallback>,
    /// What happens when the image can't be resolved, its scan failed, its report can't be read, or the look-up failed. No value
    /// lets in an image of a registry that may not be asked, or an index that isn't proven.
    #[schemars(extend("default" = "reject"))]
    pub scan_failed: Option<FailureFallback>,
    /// The first entry whose prefix matches an image decides.
    #[schemars(extend("default" = []))]
    pub custom_policies: Option<Vec<ScanCustomPolicy>>,
    /// What namespaces do differently, by a name or a glob like `prod-*`. One entry decides, as a whole: that of the name, else
    /// that of the most exact glob, which has the most characters beside its `*`.
    #[schemars(extend("default" = {}, "propertyNames" = {"pattern": NAMESPACE}))]
    pub by_namespace: Option<BTreeMap<String, ScanNamespace>>,
}

/// What a namespace does differently.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScanNamespace {
    /// What happens to images that no entry matches. An entry of the top level beats it, unless the namespace has a list.
    pub default_policy: Option<ScanAction>,
    /// What happens when there is no report yet.
    pub report_pending: Option<Fallback>,
    /// What happens when there is no result: the same, in this namespace.
    pub scan_failed: Option<FailureFallback>,
    /// A list, even an empty one, replaces that of the top level.
    pub custom_policies: Option<Vec<ScanCustomPolicy>>,
}

/// An action for the images whose names start with a prefix.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScanCustomPolicy {
    /// How the images' names start; end it with `/`, `:` or `@`. One that ends with `:` is
    /// about every tag, and unless the entry accepts also about a digest in the tag's place.
    #[schemars(length(min = 1), extend("examples" = ["ghcr.io/team/"]))]
    pub prefix: String,
    /// What happens to them.
    pub action: ScanAction,
}
