//! The cluster that is looked at: one that is there, or a folder with what `kubectl get -o yaml` wrote of one. A kind of which a folder has
//! nothing isn't known; of any other, it has every object.

use std::path::Path;

use image_admission_module_host::answers::files::{ClusterFiles, Files, FilesError};
use image_admission_module_host::answers::live::Live;
use image_admission_module_host::answers::{AnswerSource, GetResource, Request};
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

/// The kinds that say who may do what.
const RBAC: [Kind<'_>; 4] = [
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
];
/// What the client writes before what the API server said, and behind it.
const CLIENTS_WORDS: (&str, &str) = ("ApiError: ", " (");

/// A kind, with its `apiVersion` before it.
pub(super) type Kind<'k> = (&'k str, &'k str);

/// What may be asked of a cluster. Each answer is an error where it isn't known, which says why.
pub(super) enum Cluster {
    Live(Box<Live>),
    Files(Box<Files>),
}

/// A right of RBAC.
#[derive(Debug)]
pub(super) struct Right {
    pub(super) verb: String,
    pub(super) group: String,
    /// `pods`, or `pods/status`.
    pub(super) resource: String,
    /// None: in all of them.
    pub(super) namespace: Option<String>,
    /// None: to every object.
    pub(super) name: Option<String>,
}

impl Cluster {
    /// Fails at the first document in and below a folder that is no object.
    pub(super) fn of_folder(folder: &Path) -> Result<Self, FilesError> {
        Ok(Self::Files(Box::new(Files::new(Some(ClusterFiles::from_folder(folder)?), None))))
    }

    /// The objects of a kind, in one namespace or in all of them, with these fields beside `metadata`; without any, whole.
    pub(super) fn list(&self, kind: Kind<'_>, namespace: Option<&str>, fields: &[&str]) -> Result<Vec<Value>, String> {
        let found: Vec<Value> = match self {
            Self::Live(live) => {
                let fields = fields.iter().map(|field| (*field).to_owned()).collect();
                let listed = live.fields_of_everything(kind.0, kind.1, namespace, &fields);
                let listed = listed.map_err(|why| format!("{} can't be listed: {}", kind.1, servers_words(&why)))?;
                return Ok(listed.iter().filter_map(|object| serde_json::from_str(object.get()).ok()).collect());
            }
            Self::Files(files) => {
                let objects = files.cluster().into_iter().flat_map(|cluster| cluster.of_kind(kind, namespace));
                objects.filter_map(|object| serde_json::to_value(object).ok()).collect()
            }
        };
        let place = namespace.map(|namespace| format!(" of namespace `{namespace}`")).unwrap_or_default();
        if found.is_empty() { Err(format!("the files have no {}{place}", kind.1)) } else { Ok(found) }
    }

    /// An object; none if it isn't there.
    pub(super) fn get(&self, kind: Kind<'_>, namespace: &str, name: &str) -> Result<Option<Value>, String> {
        let Self::Live(live) = self else {
            let mut all = self.list(kind, Some(namespace), &[])?.into_iter();
            let found = all.find(|own| text(own, "/metadata/name") == name);
            return found.map(Some).ok_or_else(|| format!("the files have no {} `{namespace}/{name}`", kind.1));
        };
        let wanted = GetResource {
            api_version: kind.0.to_owned(),
            kind: kind.1.to_owned(),
            name: name.to_owned(),
            namespace: Some(namespace.to_owned()),
            disable_cache: true,
            field_masks: None,
        };
        match live.answer(&Request::KubernetesGetResource(wanted)) {
            Ok(answer) => Ok(serde_json::from_slice(&answer).ok()),
            Err(why) if why.starts_with(&format!("Cannot find {}/{} named ", kind.0, kind.1)) => Ok(None),
            Err(why) => Err(format!("{} `{namespace}/{name}` can't be read: {}", kind.1, servers_words(&why))),
        }
    }

    /// Whether a service account has a right: a live cluster is asked by a SubjectAccessReview.
    pub(super) fn may(&self, (namespace, name): (&str, &str), right: &Right) -> Result<bool, String> {
        let (resource, subresource) = right.resource.split_once('/').unwrap_or((&right.resource, ""));
        let request = json!({
            "user": format!("system:serviceaccount:{namespace}:{name}"),
            "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{namespace}"), "system:authenticated"],
            "resource_attributes": {
                "verb": right.verb, "group": right.group, "resource": resource, "subresource": subresource,
                "namespace": right.namespace.as_deref().unwrap_or_default(), "name": right.name.as_deref().unwrap_or_default(),
            },
        });
        let asked = Request::KubernetesCanI { request, disable_cache: true };
        let answer = match self {
            Self::Live(live) => live.answer(&asked),
            Self::Files(files) => files.answer(&asked),
        };
        let answer = answer.map_err(|why| format!("no SubjectAccessReview can be made: {}", servers_words(&why)))?;
        let status: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let is_granted = status.get("allowed") == Some(&Value::Bool(true));
        if !is_granted && matches!(self, Self::Files(_)) {
            // Another role or binding may grant it.
            RBAC.into_iter().try_for_each(|kind| self.list(kind, None, &[]).map(drop))?;
        }
        Ok(is_granted)
    }

    /// What the API server's clock shows; none where that isn't known.
    ///
    /// Fails when nobody answers.
    pub(super) fn clock(&self) -> Result<Option<Timestamp>, String> {
        match self {
            Self::Live(live) => live.clock().map_err(|why| servers_words(&why)),
            Self::Files(_) => Ok(None),
        }
    }
}

impl Right {
    /// What it is a right to: ``vulnerabilityreports.storage.sbomscanner.kubewarden.io in namespace `sbomscanner` ``
    pub(super) fn object(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let name = self.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
        let place = self.namespace.as_ref().map_or(String::new(), |of| format!(" in namespace `{of}`"));
        format!("{}{dot}{}{name}{place}", self.resource, self.group)
    }
}

/// A string of an object; empty where there is none.
pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A list of an object; empty where there is none.
pub(super) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A failure without what the client writes around the API server's own words.
fn servers_words(why: &str) -> String {
    let (before, behind) = CLIENTS_WORDS;
    let said =
        why.split_once(before).map(|(what, said)| format!("{what}{}", said.split(behind).next().unwrap_or_default()));
    said.unwrap_or_else(|| why.to_owned())
}
