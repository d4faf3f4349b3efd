//! The manifests to deploy by, as they are in `deploy/`: what is written applies without them being anywhere else.

use image_admission_settings::{ExemptionsFrom, Settings};
use serde_json::{Value, json};

/// A file of `deploy/`, by its path there, with its text.
macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../../deploy/", $path)))),*]
    };
}

/// All of them but the page about them. A test compares the list with the folder.
pub(super) const FILES: &[(&str, &str)] = files![
    "break-glass/kustomization.yaml",
    "break-glass/rights.yaml",
    "cluster-admission-policy.yaml",
    "companion-evidence/bounds.yaml",
    "companion-evidence/kustomization.yaml",
    "companion-evidence/rights.yaml",
    "companion-evidence/settings.yaml",
    "companion-sbomscanner/bounds.yaml",
    "companion-sbomscanner/kustomization.yaml",
    "companion-sbomscanner/rights.yaml",
    "companion-scan-job/bounds.yaml",
    "companion-scan-job/kustomization.yaml",
    "companion-scan-job/namespace.yaml",
    "companion-scan-job/rights.yaml",
    "companion-scan-job/settings.yaml",
    "companion-trivy-operator/bounds.yaml",
    "companion-trivy-operator/kustomization.yaml",
    "companion-trivy-operator/rights.yaml",
    "companion/bounds.yaml",
    "companion/deployment.yaml",
    "companion/kustomization.yaml",
    "companion/rights.yaml",
    "companion/settings.yaml",
    "context/kustomization.yaml",
    "context/rights.yaml",
    "evidence/crd.yaml",
    "evidence/kustomization.yaml",
    "evidence/rights.yaml",
    "exemptions/crd.yaml",
    "exemptions/kustomization.yaml",
    "exemptions/rights.yaml",
    "keys/kustomization.yaml",
    "keys/rights.yaml",
    "known-exploited/kustomization.yaml",
    "known-exploited/namespace.yaml",
    "known-exploited/refresh.yaml",
    "known-exploited/rights.yaml",
    "kustomization.yaml",
    "monitor/kustomization.yaml",
    "monitoring/alerts.yaml",
    "monitoring/grafana-dashboard.json",
    "monitoring/kustomization.yaml",
    "monitoring/service-monitor.yaml",
    "policy-server.yaml",
    "restart/kustomization.yaml",
    "restart/restart.yaml",
    "restart/rights.yaml",
    "running/kustomization.yaml",
    "running/rights.yaml",
    "sboms-sbomscanner/kustomization.yaml",
    "sboms-sbomscanner/rights.yaml",
    "sboms-trivy-operator/kustomization.yaml",
    "sboms-trivy-operator/rights.yaml",
    "sources/custom/kustomization.yaml",
    "sources/custom/rights.yaml",
    "sources/kubescape/kustomization.yaml",
    "sources/kubescape/rights.yaml",
    "sources/none/kustomization.yaml",
    "sources/sbomscanner/kustomization.yaml",
    "sources/sbomscanner/rights.yaml",
    "sources/trivy-operator/kustomization.yaml",
    "sources/trivy-operator/namespace.yaml",
    "sources/trivy-operator/rights.yaml",
    "validating/copy/kustomization.yaml",
    "validating/copy/policy.yaml",
    "validating/kustomization.yaml",
];

/// The text of one of them; nothing where there is none.
pub(in crate::command) fn text(path: &str) -> &'static str {
    FILES.iter().find(|(own, _)| *own == path).map_or("", |(_, text)| text)
}

/// The image of the policy server, which is that of the Kubewarden that this version was tried with.
pub(super) fn server_image() -> String {
    let image = text("policy-server.yaml").lines().find_map(|line| line.trim_start().strip_prefix("image: "));
    image.unwrap_or_default().to_owned()
}

/// The image of the companion, which a version of it is put in the place of, without its tag.
pub(super) fn companion_image() -> &'static str {
    let image = text("companion/deployment.yaml").lines().find_map(|line| line.trim_start().strip_prefix("image: "));
    image.and_then(|image| image.split(':').next()).unwrap_or_default()
}

/// What the component `exemptions` lets objects say. None would be a component that doesn't set it.
pub(in crate::command) fn exemptions_from() -> Option<Box<ExemptionsFrom>> {
    let component: Value = yaml_serde::from_str(text("exemptions/kustomization.yaml")).ok()?;
    let patch: Vec<Value> = yaml_serde::from_str(component.pointer("/patches/0/patch")?.as_str()?).ok()?;
    let set = patch.iter().find(|operation| operation["path"] == "/spec/settings/exemptionsFrom")?;
    Settings::read(&json!({"exemptionsFrom": set["value"]})).ok()?.exemptions_from
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn they_are_those_of_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let (mut there, mut folders) = (Vec::new(), vec![PathBuf::new()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(root.join(&folder)).unwrap().map(Result::unwrap) {
                let path = folder.join(entry.file_name());
                if entry.path().is_dir() { folders.push(path) } else { there.push(path.display().to_string()) }
            }
        }
        there.retain(|path| path != "README.md");
        there.sort();
        let own: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(own, there);
    }

    #[test]
    fn the_component_bounds_exemptions() {
        let bounds = exemptions_from().unwrap();
        assert_eq!(bounds.max_duration.map(|longest| longest.to_string()).as_deref(), Some("30d"));
        assert!(bounds.require_approved_by && bounds.workload_namespace);
    }

    #[test]
    fn the_companion_has_an_image() {
        assert_eq!(companion_image(), "registry.example.com/image-admission-cli");
    }

    #[test]
    fn the_server_has_an_image() {
        assert_eq!(server_image().split(':').next(), Some("ghcr.io/kubewarden/adm-controller/policy-server"));
    }
}
