//! What is looked at: files, and folders as the cluster would get them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::LintError;
use crate::command::files::{FilesError, entries, is_folder, is_manifest, leads_to_folder};
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

/// The files of a folder.
struct Parts {
    parts: Vec<(PathBuf, String)>,
    /// Why the first one is no YAML that isn't. It only matters where kustomize takes that file.
    unreadable: Option<DocumentError>,
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
            let Parts { parts, unreadable } = self.parts(&all)?;
            match rendered(path).map_err(|error| unreadable.unwrap_or(error))? {
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
        if is_of_templates(path) {
            warn(&format!(
                "`{}` is passed over: it has Helm's templates; give what `helm template` writes",
                path.display()
            ));
            return Ok(());
        }
        for entry in all {
            if leads_to_folder(&entry)? {
                self.folder(&entry)?;
            } else if is_text(&entry) {
                let text = document::text(&entry)?;
                self.sources.push(Source::of(entry, text, Origin::InFolder));
            } else if is_manifest(&entry) {
                warn(&format!("{}, and is passed over", FilesError::Endless(entry)));
            }
        }
        Ok(())
    }

    /// The texts of a folder's files. Those whose keys stand twice are looked at by themselves: kustomize takes the last of two, and says
    /// nothing.
    fn parts(&mut self, files: &[PathBuf]) -> Result<Parts, LintError> {
        let (mut parts, mut unreadable) = (Vec::new(), None);
        for path in files.iter().filter(|path| is_text(path)) {
            let text = document::text(path)?;
            if matches!(every_in(path, &text), Err(DocumentError::Duplicates { .. })) {
                self.sources.push(Source::of(path.clone(), text, Origin::Named));
            } else if let Err(error) = documents_in(path, &text) {
                unreadable.get_or_insert(error);
            } else {
                parts.push((path.clone(), text));
            }
        }
        Ok(Parts { parts, unreadable })
    }
}

/// Whether a file may have manifests, and can be read to its end.
fn is_text(path: &Path) -> bool {
    is_manifest(path) && !disk::is_special(path)
}

/// Whether a folder is that of a chart's templates, which are no YAML before Helm has rendered them.
fn is_of_templates(path: &Path) -> bool {
    let chart = path.parent().map(|chart| chart.join("Chart.yaml"));
    path.file_name().is_some_and(|name| name == "templates")
        && chart.is_some_and(|chart| disk::is_folder(&chart).is_ok())
}
