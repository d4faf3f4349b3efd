//! What several tests need: the policy's module, and the test world.

pub(crate) mod asked;
pub(crate) mod clock;
pub(crate) mod deployed;
pub(crate) mod host;
pub(crate) mod kubectl;
pub(crate) mod kubewarden;
pub(crate) mod markdown;
pub(crate) mod registry;
pub(crate) mod rendered;
pub(crate) mod shell;
pub(crate) mod stub_registry;
pub(crate) mod transcripts;
pub(crate) mod wording;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The policy's module, which `make policy.wasm` builds.
pub(crate) fn module_path() -> PathBuf {
    let path = std::env::var_os("POLICY_WASM").map_or_else(|| root().join("policy.wasm"), PathBuf::from);
    assert!(path.exists(), "the module {} is missing: run `make policy.wasm` first", path.display());
    path
}

/// Copies a file, or a folder with everything in it.
pub(crate) fn copy_all(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy_all(&entry.path(), &to.join(entry.file_name()));
    }
}
