//! What can go wrong with `run`, and with `explain`, which decides as that does.

use std::io;

use crate::host_options::HostError;

use crate::command::files::FilesError;
use crate::command::policy::{ModuleError, PolicyError};
use image_admission_manifests::document::DocumentError;
use image_admission_manifests::request::RequestError;

/// Why nothing, or not everything, was decided.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A document is no request.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// There is no such file or folder, or it can't be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// There is nothing to decide.
    #[error("no Kubernetes object and no request in {0}")]
    Nothing(String),
    /// There is no such host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There is no module that can be used.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// The module didn't do its work.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A recording holds what was never asked for.
    #[error("the recording has more than was asked for; record it again, or remove:\n  {}", _0.join("\n  "))]
    Leftovers(Vec<String>),
    /// A document that others read has no room for a table.
    #[error("`--group-by` is for people; leave out `--output`, or `--group-by`")]
    TableForPrograms,
    /// The decisions can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}
