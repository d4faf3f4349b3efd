//! Which of the files that are to be tested are suites, and whether there is anything else.

use image_admission_module_host::disk;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::command::rego::{SourceError, entries, is_folder};

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
    seen: BTreeSet<PathBuf>,
}

impl Found {
    /// Looks at files, and in folders with everything below them. What is hidden is passed over.
    pub(super) fn at(paths: &[PathBuf]) -> Result<Self, SourceError> {
        let mut found = Self::default();
        for path in paths {
            if is_folder(path)? {
                found.folder(path)?;
            } else if is_suite(path) {
                found.suite(path)?;
            } else {
                found.has_others = true;
            }
        }
        Ok(found)
    }

    fn folder(&mut self, folder: &Path) -> Result<(), SourceError> {
        if !self.is_new(folder)? {
            return Ok(());
        }
        for path in entries(folder)? {
            if is_folder(&path)? {
                self.folder(&path)?;
            } else if is_suite(&path) {
                self.suite(&path)?;
            } else {
                self.has_others |= path.extension().is_some_and(|extension| extension == "rego");
            }
        }
        Ok(())
    }

    fn suite(&mut self, path: &Path) -> Result<(), SourceError> {
        if self.is_new(path)? {
            self.suites.push(path.strip_prefix(".").unwrap_or(path).to_owned());
        }
        Ok(())
    }

    /// Links may lead back, and paths may overlap.
    fn is_new(&mut self, path: &Path) -> Result<bool, SourceError> {
        let real = disk::real(path).map_err(|source| SourceError::missing(path, source))?;
        Ok(self.seen.insert(real))
    }
}

/// Whether a file's name says that it is a suite.
pub(super) fn is_suite(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    SUITE_NAMES.iter().any(|end| name.ends_with(end))
}
