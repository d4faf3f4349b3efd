//! Folders with a kustomization, as the cluster gets them.

use std::path::Path;

use image_admission_module_host::disk;

use crate::document::DocumentError;

/// The names of the file that says what kustomize makes of a folder.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether a path is a folder that kustomize renders.
#[must_use]
pub fn is_kustomization(path: &Path) -> bool {
    disk::entries(path).is_ok_and(|entries| entries.iter().any(|entry| NAMES.iter().any(|name| entry == *name)))
}

/// What `kubectl kustomize` makes of a folder; none where there is no `kubectl`.
///
/// # Errors
/// `kubectl` can't be started, or kustomize fails.
#[cfg(not(target_family = "wasm"))]
pub fn rendered(folder: &Path) -> Result<Option<String>, DocumentError> {
    // A whole path: of another kustomize could make an address or an option.
    let real = disk::real(folder).unwrap_or_else(|_| folder.to_owned());
    let output = match std::process::Command::new("kubectl").arg("kustomize").arg(&real).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(DocumentError::Kubectl { folder: folder.to_owned(), source }),
    };
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DocumentError::Kustomize { folder: folder.to_owned(), why });
    }
    let unreadable =
        |_| DocumentError::Kustomize { folder: folder.to_owned(), why: "what it writes is not UTF-8".to_owned() };
    String::from_utf8(output.stdout).map(Some).map_err(unreadable)
}

/// A browser starts no programs.
#[cfg(target_family = "wasm")]
pub fn rendered(_: &Path) -> Result<Option<String>, DocumentError> {
    Ok(None)
}
