//! The two phases.

use super::NAMESPACE;
use image_admission_settings::{FailureFallback, Fallback, PreScanAction, ScanAction};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Pre-scan.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreScanPolicies {
    /// Whether the other settings here decide, or only `preCustomRules`.
    #[schemars(extend("default" = true))]
    pub auto_generate: Option<bool>,
    /// For images that no entry of `customPolicies` matches.
    #[schemars(extend("default" = "scan"))]
    pub default_policy: Option<PreScanAction>,
    /// The first entry with a matching prefix decides.
    #[schemars(extend("default" = []))]
    pub custom_policies: Option<Vec<PreScanCustomPolicy>>,
    /// Overrides for namespaces, by name or by a glob like `prod-*`. Only one entry applies: that of the name, else that of the
    /// glob with the most characters beside its `*`.
    #[schemars(extend("default" = {}, "propertyNames" = {"pattern": NAMESPACE}))]
    pub by_namespace: Option<BTreeMap<String, PreScanNamespace>>,
}

/// Overrides for a namespace.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreScanNamespace {
    /// For images that no entry matches. Entries of the top level come first, unless the namespace has a list.
    pub default_policy: Option<PreScanAction>,
    /// Replaces the top level's list, even if empty.
    pub custom_policies: Option<Vec<PreScanCustomPolicy>>,
}

/// An action for the images whose names start with a prefix.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PreScanCustomPolicy {
    /// The beginning of image names. End it with `/`, `:` or `@`. One that ends with `:` matches every tag and, unless the
    /// entry accepts, also digests.
    #[schemars(length(min = 1), extend("examples" = ["ghcr.io/team/"]))]
    pub prefix: String,
    /// What happens to these images.
    pub action: PreScanAction,
}

/// The scan phase.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScanPolicies {
    /// Whether the other settings here decide, or only `customRules`.
    #[schemars(extend("default" = true))]
    pub auto_generate: Option<bool>,
    /// For images that no entry of `customPolicies` matches.
    #[schemars(extend("default" = "scan-result"))]
    pub default_policy: Option<ScanAction>,
    /// For images without a report, or only with one older than `reports.maxAge`.
    #[schemars(extend("default" = "reject"))]
    pub report_pending: Option<Fallback>,
    /// For images that can't be resolved, whose scan failed, whose report can't be read, or whose look-up failed. No value
    /// admits an image of a registry that isn't allowed, or an unproven index.
    #[schemars(extend("default" = "reject"))]
    pub scan_failed: Option<FailureFallback>,
    /// The first entry with a matching prefix decides.
    #[schemars(extend("default" = []))]
    pub custom_policies: Option<Vec<ScanCustomPolicy>>,
    /// Overrides for namespaces, which are chosen as in `preScanPolicies.byNamespace`.
    #[schemars(extend("default" = {}, "propertyNames" = {"pattern": NAMESPACE}))]
    pub by_namespace: Option<BTreeMap<String, ScanNamespace>>,
}

/// Overrides for a namespace.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScanNamespace {
    /// For images that no entry matches. Entries of the top level come first, unless the namespace has a list.
    pub default_policy: Option<ScanAction>,
    /// For images without a report.
    pub report_pending: Option<Fallback>,
    /// For images whose scan or look-up failed.
    pub scan_failed: Option<FailureFallback>,
    /// Replaces the top level's list, even if empty.
    pub custom_policies: Option<Vec<ScanCustomPolicy>>,
}

/// An action for the images whose names start with a prefix.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScanCustomPolicy {
    /// The beginning of image names. End it with `/`, `:` or `@`. One that ends with `:` matches every tag and, unless the
    /// entry accepts, also digests.
    #[schemars(length(min = 1), extend("examples" = ["ghcr.io/team/"]))]
    pub prefix: String,
    /// What happens to these images.
    pub action: ScanAction,
}
