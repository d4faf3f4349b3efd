//! What is looked at: files, and folders as the cluster would get them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::LintError;
use crate::command::files::{entries, is_folder, is_manifest};
use crate::command::warn;
use image_admission_manifests::document::{self, DocumentError, documents_in, is_standard_input};
use image_admission_manifests::kustomize::{is_kustomization, rendered};
use image_admission_manifests::settings::every_in;
use image_admission_module_host::disk;

/// Something that is looked at.
#[derive(Debug)]
pub(super) struct Source {
    /// The file, or the folder that was rendered.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Where it is from.
    pub(super) origin: Origin,
    /// Of a folder that was rendered, its files with their texts.
    pub(super) parts: Vec<(PathBuf, String)>,
}

/// Where a text is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A file that was named.
    Named,
    /// A file of a folder: only policies count in it, since a suite or a list of images looks like settings.
    InFolder,
    /// What kustomize makes of a folder: its lines are nowhere.
    Rendered,
}

impl Source {
    fn of(path: PathBuf, text: String, origin: Origin) -> Self {
        Self { path, text, origin, parts: Vec::new() }
    }
}

/// The texts of files, and of folders: what `kubectl kustomize` makes of one with a kustomization, otherwise the files in it.
pub(super) fn sources<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Result<Vec<Source>, LintError> {
    let mut reading = Reading::default();
    for path in paths {
        if !is_standard_input(path) && is_folder(path).unwrap_or(false) {
            reading.folder(path)?;
        } else {
            reading.sources.push(Source::of(path.clone(), document::text(path)?, Origin::Named));
        }
    }
    Ok(reading.sources)
}

#[derive(Default)]
struct Reading {
    sources: Vec<Source>,
    /// Folders by their real paths: links may lead back.
    seen: BTreeSet<PathBuf>,
}

impl Reading {
    fn folder(&mut self, path: &Path) -> Result<(), LintError> {
        let real = disk::real(path).unwrap_or_else(|_| path.to_owned());
        if !self.seen.insert(real) {
            return Ok(());
        }
        let all = entries(path)?;
        if is_kustomization(path) {
            // Kustomize's own errors have no lines.
            let parts = self.parts(&all)?;
            match rendered(path)? {
                Some(text) => {
                    self.sources.push(Source { parts, ..Source::of(path.to_owned(), text, Origin::Rendered) });
                    return Ok(());
                }
                None => warn(&format!(
                    "`kubectl` isn't on PATH, so the files of `{}` are looked at one by one, and not as the cluster would get them",
                    path.display()
                )),
            }
        }
        for entry in all {
            if is_folder(&entry).unwrap_or(false) {
                self.folder(&entry)?;
            } else if is_text(&entry) {
                let text = document::text(&entry)?;
                if is_template(&entry, &text) {
                    warn(&format!(
                        "{} is passed over: it is a template; give what Helm renders",
                        document::name(&entry)
                    ));
                } else {
                    self.sources.push(Source::of(entry, text, Origin::InFolder));
                }
            }
        }
        Ok(())
    }

    /// The texts of a folder's files. Those whose keys stand twice are looked at by themselves: kustomize takes the last of two, and says
    /// nothing.
    fn parts(&mut self, files: &[PathBuf]) -> Result<Vec<(PathBuf, String)>, LintError> {
        let mut parts = Vec::new();
        for path in files.iter().filter(|path| is_text(path)) {
            let text = document::text(path)?;
            if matches!(every_in(path, &text), Err(DocumentError::Duplicates { .. })) {
                self.sources.push(Source::of(path.clone(), text, Origin::Named));
            } else {
                documents_in(path, &text)?;
                parts.push((path.clone(), text));
            }
        }
        Ok(parts)
    }
}

/// Whether a file may have manifests, and can be read to its end.
fn is_text(path: &Path) -> bool {
    #[cfg(not(target_family = "wasm"))]
    if disk::is_special(path) {
        return false;
    }
    is_manifest(path)
}

/// Whether a file is no YAML before Helm has rendered it.
fn is_template(path: &Path, text: &str) -> bool {
    text.contains("{{") && documents_in(path, text).is_err()
}
