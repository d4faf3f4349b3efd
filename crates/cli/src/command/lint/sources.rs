//! What is looked at: files, and folders as the cluster would get them.

use std::path::{Path, PathBuf};

use super::LintError;
use crate::command::rego::{entries, is_folder};
use crate::command::warn;
use image_admission_manifests::document::{self, is_standard_input};

/// The names of the file that says what kustomize makes of a folder.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Something that is looked at.
#[derive(Debug)]
pub(super) struct Source {
    /// The file, or the folder that was rendered.
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Where it is from.
    pub(super) origin: Origin,
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

/// The texts of files, and of folders: what `kubectl kustomize` makes of one with a kustomization, otherwise the files in it.
pub(super) fn sources<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> Result<Vec<Source>, LintError> {
    let mut sources = Vec::new();
    for path in paths {
        if !is_standard_input(path) && is_folder(path).unwrap_or(false) {
            folder(path, &mut sources)?;
        } else {
            sources.push(Source { path: path.clone(), text: document::text(path)?, origin: Origin::Named });
        }
    }
    Ok(sources)
}

fn folder(path: &Path, sources: &mut Vec<Source>) -> Result<(), LintError> {
    let all = entries(path)?;
    if all.iter().any(|entry| KUSTOMIZATIONS.iter().any(|name| entry.ends_with(name))) {
        match rendered(path)? {
            Some(text) => {
                sources.push(Source { path: path.to_owned(), text, origin: Origin::Rendered });
                return Ok(());
            }
            None => warn(&format!(
                "`kubectl` isn't on PATH, so the files of `{}` are looked at one by one, and not as the cluster would get them",
                path.display()
            )),
        }
    }
    for entry in all {
        let is_text = entry.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known));
        if is_folder(&entry).unwrap_or(false) {
            folder(&entry, sources)?;
        } else if is_text {
            let text = document::text(&entry)?;
            sources.push(Source { path: entry, text, origin: Origin::InFolder });
        }
    }
    Ok(())
}

/// What `kubectl kustomize` makes of a folder; none where there is no `kubectl`.
#[cfg(not(target_family = "wasm"))]
fn rendered(path: &Path) -> Result<Option<String>, LintError> {
    let output = match std::process::Command::new("kubectl").arg("kustomize").arg(path).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LintError::Output(error)),
    };
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(LintError::Kustomize { path: path.to_owned(), why });
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// A browser starts no programs.
#[cfg(target_family = "wasm")]
fn rendered(_: &Path) -> Result<Option<String>, LintError> {
    Ok(None)
}
