//! `kubectl`, for its kustomize: what it makes of a folder.

use serde::Deserialize;
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The program, or none where it isn't installed, which CI must not hide.
pub(crate) fn program() -> Option<PathBuf> {
    let named = std::env::var_os("KUBECTL").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        named.or_else(|| std::env::split_paths(&path).map(|folder| folder.join("kubectl")).find(|file| file.exists()));
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "kubectl is missing, which renders what is deployed");
        // Past the test runner's capture: a skipped check says so.
        let _ = writeln!(std::io::stderr(), "SKIPPED: rendering what is deployed needs kubectl on PATH or in KUBECTL");
    }
    found
}

/// The objects that the program makes of a folder with a `kustomization.yaml`, in its order; or what it complains of.
pub(crate) fn kustomize(program: &Path, folder: &Path) -> Result<Vec<Value>, String> {
    let output = Command::new(program).arg("kustomize").arg(folder).output().unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    // Warnings too: of what is deprecated, for one.
    if !output.status.success() || !complaints.is_empty() {
        return Err(complaints);
    }
    let documents = yaml_serde::Deserializer::from_slice(&output.stdout);
    Ok(documents.map(|document| Value::deserialize(document).unwrap()).collect())
}
