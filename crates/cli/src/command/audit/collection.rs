//! The objects that are looked at: those of files and folders, or of a cluster.

use image_admission_module_host::disk;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use super::object::{Object, ObjectName, Read};
use super::selection::NamespaceLabels;
use crate::command::rego::{SourceError, entries, is_folder};
use image_admission_manifests::document::{self, Document, documents};
use image_admission_manifests::request::objects_if_any;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Collection {
    /// Each object once, in the order in which they were found.
    pub(super) objects: Vec<Object>,
    /// How many documents in folders are no objects.
    pub(super) others: usize,
    /// The labels of the namespaces that were found.
    pub(super) namespaces: NamespaceLabels,
    /// What can't be read, one line each. The rest is looked at all the same.
    pub(super) problems: Vec<String>,
    /// Where each object is in the list: two dumps of a cluster may both have it.
    known: BTreeMap<ObjectName, Vec<usize>>,
}

impl Collection {
    /// Reads files, and folders with everything below them. Objects that name no namespace are in `namespace`, or else in
    /// `default`; with a namespace, only its objects count.
    ///
    /// Fails when there is no such file or folder, or no file in a folder; what is wrong with a file is among the problems.
    pub(super) fn of_files(paths: &[PathBuf], namespace: Option<&str>) -> Result<Self, CollectionError> {
        let mut reading = Reading { namespace, collection: Self::default(), seen: BTreeSet::new() };
        for path in paths {
            if path != Path::new("-") && is_folder(path)? {
                if !reading.folder(path)? {
                    return Err(CollectionError::EmptyFolder(path.clone()));
                }
            } else {
                reading.file(path, true);
            }
        }
        Ok(reading.collection)
    }

    /// Remembers the labels of a namespace.
    pub(super) fn add_namespace(&mut self, json: &RawValue) {
        let Ok(object) = serde_json::from_str::<Value>(json.get()) else { return };
        if let Some(name) = object.pointer("/metadata/name").and_then(Value::as_str) {
            let labels = object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
            // Of two that differ nobody knows which holds.
            let known = self.namespaces.entry(name.to_owned()).or_insert_with(|| Some(labels.clone()));
            if known.as_ref() != Some(&labels) {
                *known = None;
            }
        }
    }

    /// Adds a document; false if it is no object.
    pub(super) fn add(&mut self, document: Document, namespace: Option<&str>) -> bool {
        let object = match Object::read(document, namespace.unwrap_or("default")) {
            Read::Object(object) => *object,
            Read::NoObject => return false,
        };
        if object.name.kind == "Namespace" && object.name.group.is_empty() {
            self.add_namespace(&object.document.json);
        }
        if namespace.is_some_and(|namespace| object.name.namespace != namespace) {
            return true;
        }
        let known = self.known.entry(object.name.clone()).or_default();
        let is_same = |index: &usize| {
            self.objects.get(*index).is_some_and(|other| {
                // Two dumps of one object may differ in what the API server notes about it.
                let is_known = other.uid.is_some() && other.uid == object.uid;
                is_known || other.document.json.get() == object.document.json.get()
            })
        };
        if !known.iter().any(is_same) {
            known.push(self.objects.len());
            self.objects.push(object);
        }
        true
    }

    /// The objects of a name: several when files contradict each other.
    pub(super) fn named(&self, name: &ObjectName) -> &[usize] {
        self.known.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

struct Reading<'n> {
    namespace: Option<&'n str>,
    collection: Collection,
    /// The real paths of what was read: links may lead back, and paths may overlap.
    seen: BTreeSet<PathBuf>,
}

impl Reading<'_> {
    /// Whether there is any file in a folder, or below it, that could have objects.
    fn folder(&mut self, folder: &Path) -> Result<bool, CollectionError> {
        if !self.is_new(folder) {
            return Ok(true);
        }
        let mut has_files = false;
        for path in entries(folder)? {
            // A link to nowhere is a file that can't be read.
            if is_folder(&path).unwrap_or(false) {
                has_files |= self.folder(&path)?;
            } else if path.extension().and_then(OsStr::to_str).is_some_and(|end| ["yaml", "yml", "json"].contains(&end))
            {
                has_files = true;
                // A pipe or a device may never end.
                if disk::is_special(&path) {
                    self.collection.problems.push(format!("{} is no file that can be read", document::name(&path)));
                } else {
                    self.file(&path, false);
                }
            }
        }
        Ok(has_files)
    }

    fn file(&mut self, path: &Path, is_asked_for: bool) {
        if path != Path::new("-") && !self.is_new(path) {
            return;
        }
        let documents = match documents(path) {
            Ok(documents) => documents,
            Err(error) => return self.collection.problems.push(error.to_string()),
        };
        if documents.is_empty() && is_asked_for {
            self.collection.problems.push(format!("there is no document in {}", document::name(path)));
        }
        for document in documents {
            match objects_if_any(document) {
                Ok(objects) => objects.into_iter().for_each(|item| self.document(item, is_asked_for)),
                Err(error) => self.collection.problems.push(error.to_string()),
            }
        }
    }

    fn document(&mut self, document: Document, is_asked_for: bool) {
        let place = document.place.clone();
        if self.collection.add(document, self.namespace) {
            return;
        }
        if is_asked_for {
            let problem = format!("{place}: no Kubernetes object: `apiVersion` or `kind` is missing");
            self.collection.problems.push(problem);
        } else {
            self.collection.others += 1;
        }
    }

    fn is_new(&mut self, path: &Path) -> bool {
        // What has no real path is read, and its problem told.
        disk::real(path).map_or(true, |real| self.seen.insert(real))
    }
}

/// Why there are no objects.
#[derive(Debug, thiserror::Error)]
pub(in crate::command) enum CollectionError {
    /// There is no such file or folder.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A folder has no manifests: most likely it isn't the one that was meant.
    #[error("no `.yaml`, `.yml` or `.json` file in `{}`", _0.display())]
    EmptyFolder(PathBuf),
}
