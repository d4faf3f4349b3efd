//! Where scan reports come from, and for which platforms.

use super::later;
use super::read::{Problems, SettingsMap, wrong_type};
use crate::platform::Platform;
use serde_json::Value;

/// Where scan reports come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reports {
    /// The first source that knows an image decides.
    pub sources: Vec<SbomScanner>,
    /// Which of a multi-platform image's reports must pass.
    pub platforms: Platforms,
}

/// Reports of Kubewarden's sbomscanner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SbomScanner {
    /// Namespaces whose reports are trusted.
    pub namespaces: Vec<String>,
    /// Also trust reports in the workload's own namespace: whoever can write reports there can clear an image.
    pub workload_namespace: bool,
    /// Names of `Registry` resources that scan images, so that reports' names can be computed.
    pub registry_resources: Vec<String>,
}

/// Which platforms of a multi-platform image are judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Platforms {
    /// Each that the index has.
    All,
    /// Those of the index that are listed.
    Listed(Vec<Platform>),
}

impl Default for SbomScanner {
    fn default() -> Self {
        Self { namespaces: vec!["sbomscanner".to_owned()], workload_namespace: false, registry_resources: Vec::new() }
    }
}

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Reports {
    let mut reports = Reports { sources: vec![SbomScanner::default()], platforms: Platforms::All };
    let path = settings.path().key("reports");
    let Some(map) = SettingsMap::of(settings.get("reports"), &path, problems) else { return reports };
    map.known(&["sources", "platforms"], &later::REPORTS, problems);
    later::refuse(&map, &later::REPORTS, problems);
    if let Some(platforms) = map.get("platforms") {
        reports.platforms = read_platforms(platforms, &map, problems);
    }
    if let Some(sources) = map.list("sources", problems) {
        let path = path.key("sources");
        if sources.is_empty() {
            problems.add(
                path,
                "without a source no image has a report; leave it out for the default, `[{sbomscanner: {}}]`",
            );
        }
        reports.sources.clear();
        for (position, value) in sources.iter().enumerate() {
            let path = path.position(position);
            if !value.is_object() {
                problems.add(path, wrong_type("an object like `{sbomscanner: {}}`", value));
                continue;
            }
            let Some(source) = SettingsMap::of(Some(value), &path, problems) else { continue };
            source.known(&["sbomscanner"], &later::SOURCES, problems);
            later::refuse(&source, &later::SOURCES, problems);
            let names: Vec<&str> = source.entries().map(|(name, _)| name.as_str()).collect();
            match names.as_slice() {
                ["sbomscanner"] => reports.sources.extend(read_sbomscanner(&source, problems)),
                [_] => {}
                [] => problems.add(path, "no source is named; use `{sbomscanner: {}}`"),
                more => problems.add(path, format!("one entry, one source: split {}", more.join(", "))),
            }
        }
    }
    reports
}

fn read_sbomscanner(source: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<SbomScanner> {
    let path = source.path().key("sbomscanner");
    let map = SettingsMap::of(source.get("sbomscanner"), &path, problems)?;
    map.known(&["namespaces", "workloadNamespace", "registryResources"], &[], problems);
    let names = |key, is_name: fn(&str) -> bool, what: &str, problems: &mut Problems| {
        let path = path.key(key);
        let mut names = Vec::new();
        for (position, text) in map.texts(key, problems) {
            if !is_name(text) {
                problems.add(path.position(position), format!("`{text}` is not the name of {what}"));
            }
            names.push(text.to_owned());
        }
        names
    };
    let mut scanner = SbomScanner {
        workload_namespace: map.boolean("workloadNamespace", false, problems),
        registry_resources: names("registryResources", is_resource_name, "a resource", problems),
        ..SbomScanner::default()
    };
    if map.has("namespaces") {
        scanner.namespaces = names("namespaces", is_namespace_name, "a namespace", problems);
    }
    if scanner.namespaces.is_empty() && !scanner.workload_namespace {
        problems.add(path.key("namespaces"), "no namespace is trusted, so that no report would ever count; name one");
    }
    Some(scanner)
}

/// A DNS label, as Kubernetes names namespaces.
fn is_namespace_name(text: &str) -> bool {
    (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A DNS name, as Kubernetes names most resources.
fn is_resource_name(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_namespace_name)
}

fn read_platforms(value: &Value, map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Platforms {
    if value.as_str() == Some("all") {
        return Platforms::All;
    }
    let path = map.path().key("platforms");
    if !value.is_array() {
        problems.add(path, wrong_type("`all`, or a list like `[linux/amd64]`", value));
        return Platforms::All;
    }
    let mut platforms = Vec::new();
    let texts = map.texts("platforms", problems);
    if value.as_array().is_some_and(Vec::is_empty) {
        problems.add(path, "an empty list would leave nothing to judge; use `all`, or name platforms");
    }
    for (position, text) in texts {
        match Platform::parse(text) {
            Some(platform) => platforms.push(platform),
            None => problems.add(
                path.position(position),
                format!("`{text}` is not a platform like `linux/amd64` or `linux/arm/v7`"),
            ),
        }
    }
    Platforms::Listed(platforms)
}
