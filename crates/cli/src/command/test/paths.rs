//! Which of the files that are to be tested are suites, and whether there is anything else.

use std::path::{Path, PathBuf};

use crate::command::files::{File, Files, FilesError};

/// How the names of suites end, as those of tests in Rego end with `_test.rego`. The name decides, and not what is in the
/// file: data for rules may have any keys, and a suite with a misspelt key must not be taken for data.
pub(super) const SUITE_NAMES: [&str; 2] = ["_test.yaml", "_test.yml"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The suites, in the order of the paths and then of the names.
    pub(super) suites: Vec<PathBuf>,
    /// Whether a folder has rules, or a file that was asked for by its own name is no suite.
    pub(super) has_others: bool,
}

impl Found {
    /// Looks at files, and in folders with everything below them.
    pub(super) fn at(paths: &[PathBuf]) -> Result<Self, FilesError> {
        let is_rule = |path: &Path| path.extension().is_some_and(|end| end == "rego");
        let mut found = Self::default();
        for File { path, .. } in Files::at(paths, |path| is_suite(path) || is_rule(path))?.readable()? {
            if is_suite(&path) {
                found.suites.push(path.strip_prefix(".").unwrap_or(&path).to_owned());
            } else {
                found.has_others = true;
            }
        }
        Ok(found)
    }
}

/// Whether a file's name says that it is a suite.
pub(super) fn is_suite(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    SUITE_NAMES.iter().any(|end| name.ends_with(end))
}
