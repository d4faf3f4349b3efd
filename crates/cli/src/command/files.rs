//! Files and folders that somebody names: each file once, with everything that is in and below the folders.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction};
use image_admission_manifests::document::is_standard_input;
use image_admission_manifests::kustomize::is_kustomization;
use image_admission_module_host::disk;

use super::warn;

/// What is at the paths that were named.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// In the order of the paths, and in folders of the names.
    pub(super) files: Vec<File>,
    /// The first folder that has nothing that is wanted: most likely it isn't the one that was meant.
    pub(super) empty: Option<PathBuf>,
    /// What is in folders and may never end, such as pipes.
    pub(super) endless: Vec<PathBuf>,
    /// The real paths of what was found, with the places of files: links may lead back, and paths may overlap.
    seen: BTreeMap<PathBuf, Option<usize>>,
}

/// A file that was found.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// Whether it was named by itself, and is not just in a folder that was.
    pub(super) is_named: bool,
}

/// Why nothing can be found.
#[derive(Debug, thiserror::Error)]
pub(in crate::command) enum FilesError {
    /// There is no such file or folder.
    #[error("cannot read `{}`: {source}", path.display())]
    Missing {
        /// What was asked for.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder can't be read.
    #[error("cannot read the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Reading it may never end.
    #[error("`{}` is no file that can be read", _0.display())]
    Endless(PathBuf),
    /// A folder has no manifests.
    #[error("no `.yaml`, `.yml` or `.json` file in `{}`", _0.display())]
    Empty(PathBuf),
}

impl Files {
    /// Every file that is named, the standard input too, and of folders the files that are `wanted`. What is hidden is passed over.
    pub(super) fn at(paths: &[PathBuf], wanted: impl Fn(&Path) -> bool) -> Result<Self, FilesError> {
        let mut found = Self::default();
        for path in paths {
            if is_standard_input(path) || !is_folder(path)? {
                found.add(path.clone(), true);
            } else if !found.folder(path, &wanted)? {
                found.empty.get_or_insert_with(|| path.clone());
            }
        }
        Ok(found)
    }

    /// The same of manifests, of which each folder must have one.
    pub(super) fn with_manifests(paths: &[PathBuf]) -> Result<Self, FilesError> {
        for folder in paths.iter().filter(|path| !is_standard_input(path) && is_kustomization(path)) {
            warn(&format!(
                "the files of `{0}` are taken as they are: `kubectl kustomize {0}` writes what the cluster gets",
                folder.display()
            ));
        }
        let mut found = Self::at(paths, is_manifest)?;
        found.empty.take().map_or(Ok(found), |folder| Err(FilesError::Empty(folder)))
    }

    /// The files, if each of them can be read to its end.
    pub(super) fn readable(self) -> Result<Vec<File>, FilesError> {
        self.endless.into_iter().next().map_or(Ok(self.files), |path| Err(FilesError::Endless(path)))
    }

    /// Whether there is anything in a folder that is wanted.
    fn folder(&mut self, folder: &Path, wanted: &impl Fn(&Path) -> bool) -> Result<bool, FilesError> {
        if disk::real(folder).is_ok_and(|real| self.seen.insert(real, None).is_some()) {
            return Ok(true);
        }
        let mut has_wanted = false;
        for path in entries(folder)? {
            if leads_to_folder(&path)? {
                has_wanted |= self.folder(&path, wanted)?;
            } else if wanted(&path) {
                has_wanted = true;
                if disk::is_special(&path) { self.endless.push(path) } else { self.add(path, false) }
            }
        }
        Ok(has_wanted)
    }

    /// Adds a file once: it is named if any of its mentions names it.
    fn add(&mut self, path: PathBuf, is_named: bool) {
        // Whoever reads what has no real path tells its problem.
        let real = disk::real(&path).ok().filter(|_| !is_standard_input(&path));
        if let Some(real) = real {
            if let Some(known) = self.seen.get(&real).copied().flatten() {
                if let Some(file) = self.files.get_mut(known) {
                    file.is_named |= is_named;
                }
                return;
            }
            self.seen.insert(real, Some(self.files.len()));
        }
        self.files.push(File { path, is_named });
    }
}

/// Whether something in a folder is a folder. A link to nowhere is a file that can't be read.
pub(super) fn leads_to_folder(path: &Path) -> Result<bool, FilesError> {
    match disk::is_folder(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => found.map_err(|source| FilesError::missing(path, source)),
    }
}

/// Whether a file's name is that of a manifest.
pub(super) fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|end| ["yaml", "yml", "json"].iter().any(|known| end == *known))
}

/// What is in a folder and isn't hidden, in the order of the names.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let failed = |source| FilesError::Folder { path: folder.to_owned(), source };
    let mut names = disk::entries(folder).map_err(failed)?;
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    names.sort();
    let path = |name| if folder == Path::new(".") { PathBuf::from(name) } else { folder.join(name) };
    Ok(names.into_iter().map(path).collect())
}

/// Whether a path is a folder; fails when there is nothing.
pub(super) fn is_folder(path: &Path) -> Result<bool, FilesError> {
    disk::is_folder(path).map_err(|source| FilesError::missing(path, source))
}

impl FilesError {
    /// That `path` can't be read.
    pub(super) fn missing(path: &Path, source: io::Error) -> Self {
        Self::Missing { path: path.to_owned(), source }
    }
}

/// `-R`, which users of kubectl type: folders are always read with everything below them.
pub(super) fn recursive() -> Arg {
    Arg::new("recursive").short('R').long("recursive").action(ArgAction::SetTrue).hide(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_file_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["b/c", "d", ".hidden"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["b/c/one.yaml", "b/two.json", "b/three.txt", ".hidden/four.yaml", "a.yml"] {
            fs::write(at(name), "").unwrap();
        }
        let names = |paths: &[&str]| -> Vec<(String, bool)> {
            let paths: Vec<PathBuf> = paths.iter().map(|path| at(path)).collect();
            let found = Files::at(&paths, is_manifest).unwrap().files.into_iter();
            let name =
                |file: File| (file.path.strip_prefix(folder.path()).unwrap().display().to_string(), file.is_named);
            found.map(name).collect()
        };
        let found = |name: &str, is_named| (name.to_owned(), is_named);
        let below = [found("a.yml", false), found("b/c/one.yaml", false), found("b/two.json", false)];
        assert_eq!(names(&["."]), below);
        let mut named = below.clone();
        named[0].1 = true;
        assert_eq!((names(&[".", "b", "a.yml"]), names(&["a.yml", "."])), (named.to_vec(), named.to_vec()));
        assert_eq!(names(&["b/three.txt", "b/c"]), [found("b/three.txt", true), found("b/c/one.yaml", false)]);
        let empty = Files::with_manifests(&[at("d")]).unwrap_err().to_string();
        assert_eq!(empty, format!("no `.yaml`, `.yml` or `.json` file in `{}`", at("d").display()));
        assert!(matches!(Files::with_manifests(&[at("none")]), Err(FilesError::Missing { .. })));
    }
}
