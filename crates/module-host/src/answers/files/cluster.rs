//! A cluster made of manifests.
//!
//! Every kind is taken to exist, so asking for an object that isn't in the files is "not found" and never "no such
//! kind". Kinds are namespaced unless they are Kubernetes' and Kubewarden's own cluster-wide ones, or a
//! `CustomResourceDefinition` among the files says otherwise.

use crate::disk;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kube_core::DynamicObject;
use serde::Deserialize;
use serde_json::Value;

use super::super::kubernetes;
use super::super::request::{GetResource, ListAll, ListByNamespace, Request};
use super::super::selector::Selector;
use super::{FilesError, read};

/// Kubernetes objects, by kind, namespace and name.
#[derive(Debug, Default)]
pub struct ClusterFiles {
    kinds: BTreeMap<Kind, BTreeMap<Key, DynamicObject>>,
    cluster_wide: Vec<(String, String)>,
    /// The files, with the objects of each.
    origins: BTreeMap<PathBuf, BTreeSet<(Kind, Key)>>,
}

/// The group of what says who may do what.
const RIGHTS: &str = "rbac.authorization.k8s.io";

/// API version and kind.
type Kind = (String, String);
/// Namespace, if the kind has them, and name.
type Key = (Option<String>, String);

impl ClusterFiles {
    /// Reads every `.yaml`, `.yml` and `.json` file in and below `folder`. A file may hold several documents, and
    /// lists. A namespaced object that doesn't name its namespace is in `default`.
    ///
    /// Fails when there are files and no such one, and at the first document that isn't an object or repeats one.
    pub fn from_folder(folder: &Path) -> Result<Self, FilesError> {
        if disk::is_folder(folder).is_ok_and(|is_folder| !is_folder) {
            return Err(FilesError::NoFolder(folder.to_owned()));
        }
        let files = manifests(folder)?;
        // An empty folder is an empty cluster; one of something else is another than the one that was meant.
        if files.is_empty() && has_file(folder) {
            return Err(FilesError::Empty(folder.to_owned()));
        }
        let mut objects = Vec::new();
        for path in files {
            for (document, value) in documents(&path)? {
                let at = |problem| FilesError::Object { path: path.clone(), document, problem };
                for value in items(value) {
                    let object = parse(value).map_err(at)?;
                    objects.push((path.clone(), document, object));
                }
            }
        }
        let mut cluster =
            Self { cluster_wide: objects.iter().filter_map(|(_, _, o)| cluster_wide(o)).collect(), ..Self::default() };
        for (path, document, object) in objects {
            let at = |problem| FilesError::Object { path: path.clone(), document, problem };
            let object = cluster.insert(object).map_err(at)?;
            cluster.origins.entry(path).or_default().insert(object);
        }
        Ok(cluster)
    }

    /// Takes in an object, in the place of one with its name. One that can't be, since its kind is cluster-wide and it names a
    /// namespace, is left out.
    pub fn put(&mut self, object: DynamicObject) {
        self.remove(&object);
        let _ = self.insert(object);
    }

    /// Takes out the object of this kind and name.
    pub fn remove(&mut self, object: &DynamicObject) {
        let Some(types) = &object.types else { return };
        let key = (object.metadata.namespace.clone(), object.metadata.name.clone().unwrap_or_default());
        if let Some(objects) = self.kinds.get_mut(&(types.api_version.clone(), types.kind.clone())) {
            objects.remove(&key);
        }
    }

    /// The objects of a kind in a namespace, in all of them without one.
    pub fn of_kind<'c>(
        &'c self,
        (api_version, kind): (&str, &str),
        namespace: Option<&'c str>,
    ) -> impl Iterator<Item = &'c DynamicObject> {
        let objects = self.kinds.get(&(api_version.to_owned(), kind.to_owned())).into_iter().flatten();
        let is_meant = move |of: &Option<String>| namespace.is_none() || of.as_deref() == namespace;
        objects.filter(move |((own, _), _)| is_meant(own)).map(|(_, object)| object)
    }

    /// The files that objects were read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.origins.keys().map(PathBuf::as_path)
    }

    /// Which of the [`files`](Self::files) an answer to a request comes from: those with an object in it, and those that
    /// declare the kind.
    #[must_use]
    pub fn files_behind(&self, request: &Request) -> Vec<&Path> {
        if matches!(request, Request::KubernetesCanI { .. }) {
            let has_rights =
                |own: &BTreeSet<(Kind, Key)>| own.iter().any(|((version, _), _)| group_of(version) == RIGHTS);
            return self.origins.iter().filter(|(_, own)| has_rights(own)).map(|(path, _)| path.as_path()).collect();
        }
        let Some((api_version, kind)) = request.resource() else { return Vec::new() };
        let objects: BTreeSet<(Kind, Key)> = self.keys_behind(request).into_iter().collect();
        let declares = |(kind_of, key): &(Kind, Key)| {
            let object = self.kinds.get(kind_of).and_then(|objects| objects.get(key));
            object.and_then(declared).is_some_and(|(g, k, _)| g == group_of(api_version) && k == kind)
        };
        let is_behind = |own: &BTreeSet<(Kind, Key)>| !own.is_disjoint(&objects) || own.iter().any(declares);
        self.origins.iter().filter(|(_, own)| is_behind(own)).map(|(path, _)| path.as_path()).collect()
    }

    fn keys_behind(&self, request: &Request) -> Vec<(Kind, Key)> {
        let (api_version, kind, selected) = match request {
            Request::KubernetesGetResource(GetResource { api_version, kind, name, namespace, .. }) => {
                let namespace = namespace.clone().filter(|_| self.is_namespaced(api_version, kind));
                return vec![((api_version.clone(), kind.clone()), (namespace, name.clone()))];
            }
            Request::KubernetesListResourceNamespace(wanted) => {
                let ListByNamespace { api_version, kind, namespace, label_selector, field_selector, .. } = wanted;
                let (labels, fields) = (label_selector.as_deref(), field_selector.as_deref());
                (api_version, kind, self.select(api_version, kind, Some(namespace), labels, fields, |_| true))
            }
            Request::KubernetesListResourceAll(wanted) => {
                let ListAll { api_version, kind, label_selector, field_selector, .. } = wanted;
                let (labels, fields) = (label_selector.as_deref(), field_selector.as_deref());
                (api_version, kind, self.select(api_version, kind, None, labels, fields, |_| true))
            }
            _ => return Vec::new(),
        };
        let key = |object: DynamicObject| (object.metadata.namespace, object.metadata.name.unwrap_or_default());
        let selected = selected.unwrap_or_default().into_iter();
        selected.map(|object| ((api_version.clone(), kind.clone()), key(object))).collect()
    }

    /// The answer to `get_resource`; an object that isn't there is the host's text for it.
    pub fn get(&self, wanted: &GetResource) -> Result<Vec<u8>, String> {
        let GetResource { api_version, kind, name, namespace, field_masks, .. } = wanted;
        let key = if self.is_namespaced(api_version, kind) {
            if namespace.is_none() {
                return Err(kubernetes::needs_namespace(api_version, kind));
            }
            (namespace.clone(), name.clone())
        } else {
            (None, name.clone())
        };
        let found = self
            .kinds
            .get(&(api_version.clone(), kind.clone()))
            .and_then(|objects| objects.get(&key))
            .ok_or_else(|| kubernetes::not_found(api_version, kind, name, namespace.as_deref()))?;
        kubernetes::object(found.clone(), field_masks.as_ref())
    }

    /// The answer to `list_resources_by_namespace`, ordered by name.
    pub fn list_in_namespace(&self, wanted: &ListByNamespace) -> Result<Vec<u8>, String> {
        self.list_some(wanted, |_| true)
    }

    /// The same with some of the objects.
    pub fn list_some(
        &self,
        wanted: &ListByNamespace,
        is_meant: impl Fn(&DynamicObject) -> bool,
    ) -> Result<Vec<u8>, String> {
        let ListByNamespace { api_version, kind, namespace, .. } = wanted;
        if !self.is_namespaced(api_version, kind) {
            return Err(kubernetes::is_cluster_wide(api_version, kind));
        }
        let items = self.select(
            api_version,
            kind,
            Some(namespace),
            wanted.label_selector.as_deref(),
            wanted.field_selector.as_deref(),
            is_meant,
        )?;
        kubernetes::list(api_version, kind, items, wanted.field_masks.as_ref())
    }

    /// The answer to `list_resources_all`, ordered by namespace and name.
    pub fn list_all(&self, wanted: &ListAll) -> Result<Vec<u8>, String> {
        let ListAll { api_version, kind, .. } = wanted;
        let items = self.select(
            api_version,
            kind,
            None,
            wanted.label_selector.as_deref(),
            wanted.field_selector.as_deref(),
            |_| true,
        )?;
        kubernetes::list(api_version, kind, items, wanted.field_masks.as_ref())
    }

    pub(super) fn select(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&String>,
        labels: Option<&str>,
        fields: Option<&str>,
        is_meant: impl Fn(&DynamicObject) -> bool,
    ) -> Result<Vec<DynamicObject>, String> {
        let labels = Selector::labels(labels.unwrap_or_default())?;
        let by_fields = fields.filter(|fields| !fields.is_empty()).map(Selector::fields).transpose()?;
        let objects = self.kinds.get(&(api_version.to_owned(), kind.to_owned()));
        let mut selected = Vec::new();
        for ((in_namespace, _), object) in objects.into_iter().flatten() {
            if namespace.is_some() && in_namespace.as_ref() != namespace {
                continue;
            }
            let has = object.metadata.labels.as_ref();
            if !is_meant(object) || !labels.matches_labels(has.unwrap_or(&BTreeMap::new())) {
                continue;
            }
            if let Some(fields) = &by_fields
                && !fields.matches_fields(&serde_json::to_value(object).map_err(|e| e.to_string())?)
            {
                continue;
            }
            selected.push(object.clone());
        }
        Ok(selected)
    }

    /// Takes in an object, and says as what it is known from then on.
    fn insert(&mut self, mut object: DynamicObject) -> Result<(Kind, Key), String> {
        let types = object.types.clone().unwrap_or_default();
        let name = object.metadata.name.clone().unwrap_or_default();
        let namespace = &mut object.metadata.namespace;
        if self.is_namespaced(&types.api_version, &types.kind) {
            namespace.get_or_insert_with(|| "default".to_owned());
        } else if let Some(namespace) = namespace {
            return Err(format!(
                "{} `{name}` cannot be in namespace `{namespace}`: the kind is cluster-wide; remove `metadata.namespace`",
                types.kind
            ));
        }
        let described = match &namespace {
            Some(namespace) => format!("{} `{name}` in namespace `{namespace}`", types.kind),
            None => format!("{} `{name}`", types.kind),
        };
        let key = (namespace.clone(), name);
        let kind = (types.api_version, types.kind);
        let objects = self.kinds.entry(kind.clone()).or_default();
        match objects.insert(key.clone(), object) {
            None => Ok((kind, key)),
            Some(_) => Err(format!("{described} is there twice; remove one of them")),
        }
    }

    fn is_namespaced(&self, api_version: &str, kind: &str) -> bool {
        let group = group_of(api_version);
        !is_cluster_wide(group, kind) && !self.cluster_wide.iter().any(|(g, k)| g == group && k == kind)
    }
}

/// Whether a kind is one of Kubernetes' own, or Kubewarden's, that have no namespaces.
#[must_use]
pub fn is_cluster_wide(group: &str, kind: &str) -> bool {
    CLUSTER_WIDE.contains(&(group, kind))
}

/// Kubernetes' own kinds without namespaces, and Kubewarden's, with their group.
const CLUSTER_WIDE: &[(&str, &str)] = &[
    ("", "ComponentStatus"),
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("certificates.k8s.io", "CertificateSigningRequest"),
    ("certificates.k8s.io", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "IPAddress"),
    ("networking.k8s.io", "IngressClass"),
    ("networking.k8s.io", "ServiceCIDR"),
    ("node.k8s.io", "RuntimeClass"),
    ("policies.kubewarden.io", "ClusterAdmissionPolicy"),
    ("policies.kubewarden.io", "ClusterAdmissionPolicyGroup"),
    ("policies.kubewarden.io", "PolicyServer"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "CSINode"),
    ("storage.k8s.io", "StorageClass"),
    ("storage.k8s.io", "VolumeAttachment"),
    ("storage.k8s.io", "VolumeAttributesClass"),
];

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The group and kind that a `CustomResourceDefinition` declares without namespaces.
fn cluster_wide(object: &DynamicObject) -> Option<(String, String)> {
    declared(object).filter(|(_, _, scope)| scope == "Cluster").map(|(group, kind, _)| (group, kind))
}

/// The group, kind and scope that a `CustomResourceDefinition` declares.
fn declared(object: &DynamicObject) -> Option<(String, String, String)> {
    let types = object.types.as_ref()?;
    if types.kind != "CustomResourceDefinition" || group_of(&types.api_version) != "apiextensions.k8s.io" {
        return None;
    }
    let spec = object.data.get("spec")?;
    let scope = spec.get("scope")?.as_str()?.to_owned();
    let group = spec.get("group")?.as_str()?.to_owned();
    let kind = spec.get("names")?.get("kind")?.as_str()?.to_owned();
    Some((group, kind, scope))
}

/// Whether there is any file in or below a folder.
fn has_file(folder: &Path) -> bool {
    let entries = disk::entries(folder).into_iter().flatten().map(|name| folder.join(name));
    let mut entries = entries;
    entries.any(|path| if disk::is_folder(&path).unwrap_or(false) { has_file(&path) } else { true })
}

/// The manifests in and below a folder, in the order of their paths.
fn manifests(folder: &Path) -> Result<Vec<PathBuf>, FilesError> {
    let unreadable = |source| FilesError::Read { path: folder.to_owned(), source };
    let mut entries: Vec<PathBuf> =
        disk::entries(folder).map_err(unreadable)?.into_iter().map(|name| folder.join(name)).collect();
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if disk::is_folder(&path).unwrap_or(false) {
            found.extend(manifests(&path)?);
        } else if matches!(extension(&path), "yaml" | "yml" | "json") {
            found.push(path);
        }
    }
    Ok(found)
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default()
}

/// The documents of a file that aren't empty, with their number.
fn documents(path: &Path) -> Result<Vec<(usize, Value)>, FilesError> {
    let text = read(path)?;
    let error = |document, problem: String| FilesError::Object { path: path.to_owned(), document, problem };
    // JSON may be indented with tabs, which YAML forbids.
    let parsed: Box<dyn Iterator<Item = Result<Value, String>>> = if extension(path) == "json" {
        let documents = serde_json::Deserializer::from_str(&text).into_iter();
        Box::new(documents.map(|document| document.map_err(|e| e.to_string())))
    } else {
        let documents = yaml_serde::Deserializer::from_str(&text);
        Box::new(documents.map(|document| Value::deserialize(document).map_err(|e| e.to_string())))
    };
    let mut documents = Vec::new();
    // Nothing may be read after the first error: the YAML parser would repeat it for ever.
    for (index, document) in parsed.enumerate() {
        let number = index + 1;
        match document.map_err(|problem| error(number, problem))? {
            Value::Null => {}
            value => documents.push((number, value)),
        }
    }
    Ok(documents)
}

/// The objects of a list, or the one object. A typed list's items may leave their kind to the list.
fn items(mut document: Value) -> Vec<Value> {
    let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = kind.strip_suffix("List").map(str::to_owned) else {
        return vec![document];
    };
    let api_version = document.get("apiVersion").cloned().unwrap_or_default();
    let Some(Value::Array(mut items)) = document.get_mut("items").map(Value::take) else {
        return vec![document];
    };
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        if !kind.is_empty() {
            item.entry("apiVersion").or_insert(api_version.clone());
            item.entry("kind").or_insert(kind.clone().into());
        }
    }
    items
}

fn parse(value: Value) -> Result<DynamicObject, String> {
    for field in ["apiVersion", "kind"] {
        match value.get(field) {
            Some(Value::String(text)) if !text.is_empty() => {}
            _ => {
                return Err(format!("`{field}` is missing; is this a Kubernetes object?"));
            }
        }
    }
    let object: DynamicObject = serde_json::from_value(value).map_err(|e| format!("not a Kubernetes object: {e}"))?;
    match object.metadata.name.as_deref() {
        None | Some("") => Err("`metadata.name` is missing".to_owned()),
        Some(_) => Ok(object),
    }
}
