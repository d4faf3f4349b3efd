//! What can go wrong with `run`.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use image_admission_cli::host_options::HostError;
use image_admission_cli::runtime::RuntimeError;

use super::policy::PolicyError;
use crate::command::document::DocumentError;
use crate::command::request::RequestError;

/// Why nothing, or not everything, was decided.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A document is no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// There is no such host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The module isn't there.
    #[error("there is no module `{}`; build it with `make policy.wasm`, or say with `--module` where it is", _0.display())]
    NoModule(PathBuf),
    /// The module can't be read.
    #[error(transparent)]
    UnreadableModule(RuntimeError),
    /// The module can't be used.
    #[error("`{}`: {source}", path.display())]
    Module {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: RuntimeError,
    },
    /// The module didn't do its work.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A recording holds what was never asked for.
    #[error("the recording has more than was asked for; record it again, or remove:\n  {}", _0.join("\n  "))]
    Leftovers(Vec<String>),
    /// The decisions can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

impl RunError {
    /// Why there is no policy in `path`.
    pub(super) fn of_module(path: &Path, error: RuntimeError) -> Self {
        match error {
            RuntimeError::Read { path, source } if source.kind() == ErrorKind::NotFound => Self::NoModule(path),
            RuntimeError::Read { .. } => Self::UnreadableModule(error),
            source => Self::Module { path: path.to_owned(), source },
        }
    }
}
