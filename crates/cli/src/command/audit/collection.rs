//! The objects that are looked at: those of files and folders, or of a cluster.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::object::{Object, ObjectName, Read};
use super::selection::NamespaceLabels;
use crate::command::files::{File, Files, FilesError};
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
    pub(super) fn of_files(paths: &[PathBuf], namespace: Option<&str>) -> Result<Self, FilesError> {
        let mut collection = Self::default();
        let found = Files::with_manifests(paths)?;
        collection.problems.extend(found.endless.into_iter().map(|path| FilesError::Endless(path).to_string()));
        found.files.iter().for_each(|file| collection.file(file, namespace));
        Ok(collection)
    }

    fn file(&mut self, file: &File, namespace: Option<&str>) {
        let documents = match documents(&file.path) {
            Ok(documents) => documents,
            Err(error) => return self.problems.push(error.to_string()),
        };
        if documents.is_empty() && file.is_named {
            self.problems.push(format!("there is no document in {}", document::name(&file.path)));
        }
        for document in documents {
            match objects_if_any(document) {
                Ok(objects) => objects.into_iter().for_each(|object| self.document(object, file.is_named, namespace)),
                Err(error) => self.problems.push(error.to_string()),
            }
        }
    }

    fn document(&mut self, document: Document, is_named: bool, namespace: Option<&str>) {
        let place = document.place.clone();
        if self.add(document, namespace) {
            return;
        }
        if is_named {
            self.problems.push(format!("{place}: no Kubernetes object: `apiVersion` or `kind` is missing"));
        } else {
            self.others += 1;
        }
    }

    /// Remembers the labels of a namespace.
    fn add_namespace(&mut self, json: &RawValue) {
        let Some((name, labels)) = labels(json) else { return };
        // Of two that differ nobody knows which holds.
        let known = self.namespaces.entry(name).or_insert_with(|| Some(labels.clone()));
        if known.as_ref() != Some(&labels) {
            *known = None;
        }
    }

    /// Remembers the labels of a namespace of the cluster, over which those of a file are applied.
    pub(super) fn add_namespace_of_cluster(&mut self, json: &RawValue) {
        let Some((name, mut labels)) = labels(json) else { return };
        if let Some(own) = self.namespaces.entry(name).or_insert_with(|| Some(Map::new())) {
            labels.append(own);
            *own = labels;
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

/// The name of a namespace, and its labels.
fn labels(json: &RawValue) -> Option<(String, Map<String, Value>)> {
    let object: Value = serde_json::from_str(json.get()).ok()?;
    let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
    Some((name, object.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default()))
}
