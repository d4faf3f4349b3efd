//! What several tests need: the policy's module, and the test world.

pub(crate) mod clock;
pub(crate) mod host;
pub(crate) mod kubewarden;
pub(crate) mod markdown;
pub(crate) mod promql;
pub(crate) mod registry;
pub(crate) mod shell;
pub(crate) mod transcripts;
pub(crate) mod wording;

use std::path::PathBuf;

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
