//! Files and folders to modules and data, as `opa` loads them: everything in a folder belongs together, and data in a
//! folder within it is found under that folder's name.

use image_admission_module_host::disk;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use regorus::Value;
use serde::Deserialize;

use super::{Data, Module, RegoVersion};
use crate::command::files::{FilesError, entries, is_folder};
use image_admission_manifests::document::{Document, DocumentError, documents, text};

/// Modules and data, each file once.
#[derive(Debug, Default)]
pub(in crate::command) struct Sources {
    /// Of `*.rego`.
    pub(in crate::command) modules: Vec<Module>,
    /// Of `*.json`, `*.yaml` and `*.yml`.
    pub(in crate::command) data: Vec<Data>,
}

impl Sources {
    /// Reads files, and folders with everything below them, in the order of their names. Hidden files and folders are
    /// passed over, and so are Kubernetes objects: they are what rules are tried on, and would contradict each other
    /// as data. So is what is in `others`, files and folders by their real paths, which belongs to something else.
    pub(in crate::command) fn load(
        paths: &[PathBuf],
        version: RegoVersion,
        others: BTreeSet<PathBuf>,
    ) -> Result<Self, SourceError> {
        let mut reading = Reading { version, seen: others, found: Self::default() };
        for path in paths {
            if is_folder(path)? {
                reading.folder(path, &mut Vec::new())?;
            } else {
                reading.file(path)?;
            }
        }
        Ok(reading.found)
    }
}

struct Reading {
    version: RegoVersion,
    /// What was read, by its real path: a link may lead back, and paths may overlap.
    seen: BTreeSet<PathBuf>,
    found: Sources,
}

impl Reading {
    /// A file that was asked for by its own name.
    fn file(&mut self, path: &Path) -> Result<(), SourceError> {
        if !self.is_new(path)? {
            return Ok(());
        }
        match Kind::of(path) {
            Some(Kind::Rego) => self.module(path),
            Some(Kind::Data) => match data(path)? {
                Content::Data(value) => self.data(path, value, &[]),
                Content::Objects => Err(SourceError::Object(path.to_owned())),
                Content::Nothing => Ok(()),
            },
            None => Err(SourceError::Kind(path.to_owned())),
        }
    }

    /// Everything in a folder; `root` is where in `data` it belongs.
    fn folder(&mut self, folder: &Path, root: &mut Vec<String>) -> Result<(), SourceError> {
        if !self.is_new(folder)? {
            return Ok(());
        }
        for path in entries(folder)? {
            if is_folder(&path)? {
                root.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
                self.folder(&path, root)?;
                root.pop();
                continue;
            }
            match Kind::of(&path) {
                Some(_) if disk::is_special(&path) => return Err(FilesError::Endless(path).into()),
                Some(kind) if self.is_new(&path)? => match kind {
                    Kind::Rego => self.module(&path)?,
                    Kind::Data => {
                        if let Content::Data(value) = data(&path)? {
                            self.data(&path, value, root)?;
                        }
                    }
                },
                _ => {}
            }
        }
        Ok(())
    }

    fn module(&mut self, path: &Path) -> Result<(), SourceError> {
        let module = Module { name: name(path), text: text(path)?, version: self.version };
        self.found.modules.push(module);
        Ok(())
    }

    fn data(&mut self, path: &Path, value: Value, root: &[String]) -> Result<(), SourceError> {
        if root.is_empty() && value.as_object().is_err() {
            return Err(SourceError::NotAMap(path.to_owned()));
        }
        let mut rooted = value;
        for key in root.iter().rev() {
            rooted = Value::from(BTreeMap::from([(Value::from(key.as_str()), rooted)]));
        }
        self.found.data.push(Data { name: name(path), value: rooted });
        Ok(())
    }

    fn is_new(&mut self, path: &Path) -> Result<bool, SourceError> {
        let real = disk::real(path).map_err(|source| FilesError::missing(path, source))?;
        Ok(self.seen.insert(real))
    }
}

/// How messages call a file: its path, without what changes nothing.
fn name(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}

/// What a file is, by its name.
enum Kind {
    Rego,
    Data,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        match path.extension().and_then(OsStr::to_str)? {
            "rego" => Some(Self::Rego),
            "json" | "yaml" | "yml" => Some(Self::Data),
            _ => None,
        }
    }
}

/// What a file for data holds.
enum Content {
    Data(Value),
    /// Kubernetes objects.
    Objects,
    Nothing,
}

/// Reads JSON or YAML.
fn data(path: &Path) -> Result<Content, SourceError> {
    let found = documents(path)?;
    if !found.is_empty() && found.iter().all(is_object) {
        return Ok(Content::Objects);
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (None, _) => Ok(Content::Nothing),
        (Some(document), None) => Value::from_json_str(document.json.get())
            .map(Content::Data)
            .map_err(|error| SourceError::Value { path: path.to_owned(), problem: error.to_string() }),
        (Some(_), Some(_)) => Err(SourceError::SeveralDocuments(path.to_owned())),
    }
}

/// Whether a document is a Kubernetes object, or a review of one.
fn is_object(document: &Document) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "that they are there is all that counts")]
    struct Object {
        api_version: String,
        kind: String,
    }
    serde_json::from_str::<Object>(document.json.get()).is_ok()
}

/// Why there are no rules and no data.
#[derive(Debug, thiserror::Error)]
pub(in crate::command) enum SourceError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// There is no such file or folder, or it can't be read.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The file's name says nothing.
    #[error("`{}` is neither rules (.rego) nor data (.json, .yaml, .yml)", _0.display())]
    Kind(PathBuf),
    /// The file is an object to be judged, or a suite of tests.
    #[error(
        "`{}` is no data for rules, since it has `apiVersion` and `kind`; to decide objects use `image-admission run`",
        _0.display()
    )]
    Object(PathBuf),
    /// The file has no keys.
    #[error("`{}` is no data for rules: its top must be a map, whose keys are found in `data`", _0.display())]
    NotAMap(PathBuf),
    /// The file has several documents.
    #[error("`{}` has several documents; data is one", _0.display())]
    SeveralDocuments(PathBuf),
    /// The engine has no such value.
    #[error("`{}` can't be read as data: {problem}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}
