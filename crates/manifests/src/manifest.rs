//! The request that a plain manifest makes: what the API server would send if someone created, changed or deleted it.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, ValueEnum};
use image_admission_module_host::answers::files::is_cluster_wide;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::document::{Document, documents};
use crate::fields::Fields;
use crate::request::RequestError;

/// The API server gives each request another; the same file must give the same request.
const UID: &str = "00000000-0000-0000-0000-000000000000";

/// The group of everybody who is known to the API server.
const AUTHENTICATED: &str = "system:authenticated";

/// What is asked to be done with plain manifests. AdmissionReviews and AdmissionRequests say it themselves.
#[derive(Args, Clone, Debug, Default)]
pub struct ManifestOptions {
    /// The namespace of manifests that don't name theirs [default: default]
    #[arg(long, short, value_name = "NAME", help_heading = "Options for plain manifests")]
    namespace: Option<String>,

    /// What is done with the objects [default: create, with --old: update]
    #[arg(long, value_name = "OPERATION", help_heading = "Options for plain manifests")]
    operation: Option<Operation>,

    /// The objects before the update
    #[arg(long, value_name = "FILE", help_heading = "Options for plain manifests")]
    old: Option<PathBuf>,

    /// The part of the objects that is meant, such as `ephemeralcontainers`
    #[arg(long, value_name = "NAME", help_heading = "Options for plain manifests")]
    subresource: Option<String>,

    /// Who makes the requests [default: a user without rights]
    #[arg(id = "as", long = "as", value_name = "USER", value_parser = NonEmptyStringValueParser::new(), help_heading = "Options for plain manifests")]
    user: Option<String>,

    /// A group of that user. May be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "as", help_heading = "Options for plain manifests")]
    groups: Vec<String>,
}

/// What is done with an object.
#[expect(missing_docs, reason = "`--help` would show it")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    Create,
    Update,
    Delete,
    Connect,
}

impl Operation {
    /// The operation that AdmissionRequests spell so.
    pub fn named(name: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|operation| operation.name() == name)
    }

    /// As AdmissionRequests spell it.
    fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    /// The kind of the request's options.
    fn options(self) -> Option<&'static str> {
        match self {
            Self::Create => Some("CreateOptions"),
            Self::Update => Some("UpdateOptions"),
            Self::Delete => Some("DeleteOptions"),
            Self::Connect => None,
        }
    }
}

impl ManifestOptions {
    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.namespace.is_some(), "--namespace"),
            (self.operation.is_some(), "--operation"),
            (self.old.is_some(), "--old"),
            (self.subresource.is_some(), "--subresource"),
            (self.user.is_some(), "--as"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// The groups of a user, as the API server adds them to an impersonated one.
    fn groups_of(&self, user: &str) -> Vec<String> {
        let mut groups = self.groups.clone();
        let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
        if let (Some((namespace, _)), true) = (account, groups.is_empty()) {
            groups.extend(["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]);
        }
        groups.push(AUTHENTICATED.to_owned());
        groups
    }

    /// Reads what the options name.
    pub fn open(&self) -> Result<Making, RequestError> {
        let operation = match (self.operation, &self.old) {
            (Some(operation), _) => operation,
            (None, Some(_)) => Operation::Update,
            (None, None) => Operation::Create,
        };
        if self.old.is_some() && operation != Operation::Update {
            return Err(RequestError::OldWithoutUpdate);
        }
        let mut old = Vec::new();
        if let Some(path) = &self.old {
            for document in documents(path)? {
                old.extend(crate::request::objects(document)?);
            }
            if old.is_empty() {
                return Err(RequestError::Empty(format!("`{}`", path.display())));
            }
        }
        let words = Words { namespace: "--namespace", old: "--old" };
        let user = self.user.as_ref().map(|name| json!({"username": name, "groups": self.groups_of(name)}));
        Ok(Making { options: self.clone(), operation, old, words, user, dry_run: false })
    }
}

/// What the user calls that which manifests don't say.
#[derive(Clone, Copy, Debug)]
struct Words {
    namespace: &'static str,
    old: &'static str,
}

/// How manifests are made into requests.
#[derive(Debug)]
pub struct Making {
    options: ManifestOptions,
    operation: Operation,
    old: Vec<Document>,
    words: Words,
    /// Who asks, if that is said.
    user: Option<Value>,
    dry_run: bool,
}

impl Making {
    /// As the keys of a suite's case say it. Only an update has an old object.
    pub fn of_case(
        operation: Operation,
        old: Option<Document>,
        namespace: Option<String>,
        subresource: Option<String>,
    ) -> Self {
        let options =
            ManifestOptions { namespace, subresource, operation: Some(operation), ..ManifestOptions::default() };
        let words = Words { namespace: "namespace", old: "oldObject" };
        Self { options, operation, old: old.into_iter().collect(), words, user: None, dry_run: false }
    }

    /// Who asks, as AdmissionRequests have it in `userInfo`, and whether nothing is to be kept of what comes of it.
    pub fn asked(self, user: Option<Value>, dry_run: bool) -> Self {
        Self { user, dry_run, ..self }
    }

    /// See [`ManifestOptions::given`].
    pub fn given(&self) -> Option<&'static str> {
        self.options.given()
    }

    /// The request for one object.
    pub fn request(&self, document: &Document) -> Result<Box<RawValue>, RequestError> {
        let manifest = Manifest::read(document)?;
        let namespace = self.namespace(&manifest, document)?;
        let placed = |json| manifest.placed(json, namespace);
        let new = (self.operation != Operation::Delete).then(|| placed(&document.json));
        let old = match self.operation {
            Operation::Delete => Some(placed(&document.json)),
            Operation::Update => self.old(&manifest, namespace, document)?.map(placed),
            Operation::Create | Operation::Connect => None,
        };
        let Manifest { group, version, kind, name, .. } = &manifest;
        let gvk = json!({"group": group, "version": version, "kind": kind});
        let gvr = json!({"group": group, "version": version, "resource": plural(kind)});
        let sub_resource = self.options.subresource.as_deref();
        let request = AdmissionRequest {
            uid: UID,
            kind: &gvk,
            resource: &gvr,
            sub_resource,
            request_kind: &gvk,
            request_resource: &gvr,
            request_sub_resource: sub_resource,
            name: name.as_deref(),
            namespace,
            operation: self.operation.name(),
            user_info: self
                .user
                .clone()
                .unwrap_or_else(|| json!({"username": "image-admission", "groups": [AUTHENTICATED]})),
            object: new.as_deref(),
            old_object: old.as_deref(),
            dry_run: self.dry_run,
            options: self.operation.options().map(|kind| json!({"apiVersion": "meta.k8s.io/v1", "kind": kind})),
        };
        serde_json::value::to_raw_value(&request).map_err(|error| document.unreadable(error.to_string()))
    }

    fn namespace<'a>(&'a self, manifest: &'a Manifest, document: &Document) -> Result<&'a str, RequestError> {
        match (&manifest.namespace, &self.options.namespace) {
            (Some(own), Some(asked)) if own != asked => Err(RequestError::OtherNamespace {
                place: Box::new(document.place.clone()),
                own: own.clone(),
                asked: asked.clone(),
                word: self.words.namespace,
            }),
            (Some(own), _) => Ok(own),
            (None, Some(asked)) => Ok(asked),
            (None, None) => Ok("default"),
        }
    }

    /// The object of the same kind, namespace and name in `--old`, when that is given.
    fn old(
        &self,
        manifest: &Manifest,
        namespace: &str,
        document: &Document,
    ) -> Result<Option<&RawValue>, RequestError> {
        if self.old.is_empty() {
            return Ok(None);
        }
        for old in &self.old {
            let it = Manifest::read(old)?;
            let same = (&it.group, &it.kind, &it.name) == (&manifest.group, &manifest.kind, &manifest.name);
            if same && self.namespace(&it, old)? == namespace {
                return Ok(Some(&old.json));
            }
        }
        let name = manifest.name.as_deref().unwrap_or_default();
        let object = format!("{} `{name}` in namespace `{namespace}`", manifest.kind);
        Err(RequestError::NotInOld { place: document.place.clone(), object, word: self.words.old })
    }
}

/// What a manifest says of itself.
#[derive(Debug)]
struct Manifest {
    group: String,
    version: String,
    kind: String,
    name: Option<String>,
    namespace: Option<String>,
}

impl Manifest {
    fn read(document: &Document) -> Result<Self, RequestError> {
        let missing = |field| document.unreadable(format!("`{field}` is missing; is this a Kubernetes object?"));
        let fields = Fields::of(&document.json)
            .ok_or_else(|| document.unreadable("a Kubernetes object must be a map with `apiVersion` and `kind`"))?;
        let api_version = fields.text("apiVersion").ok_or_else(|| missing("apiVersion"))?;
        let kind = fields.text("kind").ok_or_else(|| missing("kind"))?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let metadata = fields.object("metadata");
        let text = |name| metadata.as_ref().and_then(|metadata| metadata.text(name));
        Ok(Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind,
            name: text("name"),
            namespace: text("namespace"),
        })
    }

    /// An object of this kind in a namespace: the API server fills in `metadata.namespace` before it asks anybody. Everything
    /// else stays the text that it is.
    fn placed<'a>(&self, object: &'a RawValue, namespace: &str) -> Cow<'a, RawValue> {
        let filled = || {
            let text = object.get();
            let metadata = Fields::of(object)?.value("metadata")?;
            let name = serde_json::to_string(namespace).ok()?;
            let (at, instead) = match Fields::of(metadata)?.written("namespace") {
                // Nothing, spelt out.
                Some(written) if ["null", "\"\""].contains(&written.get()) => (range_in(text, written.get())?, name),
                Some(_) => return None,
                None => {
                    let inside = metadata.get().strip_prefix('{')?;
                    let start = range_in(text, inside)?.start;
                    let comma = if inside.trim_start().starts_with('}') { "" } else { "," };
                    (start..start, format!("\"namespace\":{name}{comma}"))
                }
            };
            let mut text = text.to_owned();
            text.replace_range(at, &instead);
            RawValue::from_string(text).ok()
        };
        let has_none = is_cluster_wide(&self.group, &self.kind) || is_cluster_wide_by_its_name(&self.group, &self.kind);
        let filled = if has_none || namespace.is_empty() { None } else { filled() };
        filled.map_or(Cow::Borrowed(object), Cow::Owned)
    }
}

/// Whether a custom kind most likely has no namespaces: nobody is there to be asked. Kinds of Cluster API, and those that are
/// called `Cluster`, have them.
fn is_cluster_wide_by_its_name(group: &str, kind: &str) -> bool {
    const KNOWN: [&str; 3] = ["GatewayClass", "NodePool", "PolicyServer"];
    let is_of_the_cluster = kind.strip_prefix("Cluster").is_some_and(|rest| !rest.is_empty());
    group.contains('.')
        && group != "cluster.x-k8s.io"
        && (is_of_the_cluster || kind.contains("Clusterwide") || KNOWN.contains(&kind))
}

/// Where a part of a text stands in it.
fn range_in(text: &str, part: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let range = start..start.checked_add(part.len())?;
    (text.get(range.clone()) == Some(part)).then_some(range)
}

/// The resource of a kind, as `kubectl` guesses it. It is right for every kind of Kubernetes that has a pod spec.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    if kind == "endpoints" {
        return kind;
    }
    match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionRequest<'a> {
    uid: &'a str,
    kind: &'a Value,
    resource: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    sub_resource: Option<&'a str>,
    request_kind: &'a Value,
    request_resource: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_sub_resource: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    namespace: &'a str,
    operation: &'a str,
    user_info: Value,
    object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
    dry_run: bool,
    options: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Place;

    /// What an object is asked about as, where `-n shop` is said and it names no namespace.
    #[track_caller]
    fn check(object: &str, expected: &str) {
        let json = RawValue::from_string(object.to_owned()).unwrap();
        let document = Document { place: Place::within("test".to_owned()), json };
        let making = Making::of_case(Operation::Create, None, Some("shop".to_owned()), None);
        let request: Value = serde_json::from_str(making.request(&document).unwrap().get()).unwrap();
        assert_eq!(request["object"], serde_json::from_str::<Value>(expected).unwrap());
        let raw = Fields::of(&making.request(&document).unwrap()).unwrap().value("object").unwrap().get().to_owned();
        assert_eq!(raw, expected);
    }

    #[test]
    fn the_namespace_is_filled_in_as_the_api_server_does() {
        check(
            r#"{"apiVersion":"v1","kind":"Pod","metadata": {"name":"web"}}"#,
            r#"{"apiVersion":"v1","kind":"Pod","metadata": {"namespace":"shop","name":"web"}}"#,
        );
        check(
            r#"{"apiVersion":"v1","metadata":{ },"kind":"Pod"}"#,
            r#"{"apiVersion":"v1","metadata":{"namespace":"shop" },"kind":"Pod"}"#,
        );
        check(
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":null}}"#,
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop"}}"#,
        );
        // Custom kinds say by their names whether they have namespaces, as far as they say it.
        for (group, kind, has_none) in [
            ("postgresql.cnpg.io", "Cluster", false),
            ("cluster.x-k8s.io", "ClusterClass", false),
            ("cert-manager.io", "ClusterIssuer", true),
            ("karpenter.sh", "NodePool", true),
            ("cilium.io", "CiliumClusterwideNetworkPolicy", true),
            ("example.com", "App", false),
        ] {
            assert_eq!(is_cluster_wide_by_its_name(group, kind), has_none, "{group} {kind}");
        }
        for alone in [
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop"}}"#,
            r#"{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":7}}"#,
            r#"{"apiVersion":"v1","kind":"Pod","metadata":null}"#,
            r#"{"apiVersion":"v1","kind":"Pod"}"#,
            r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web"}}"#,
            r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"web"}}"#,
            r#"{"apiVersion":"cert-manager.io/v1","kind":"ClusterIssuer","metadata":{"name":"web"}}"#,
        ] {
            check(alone, alone);
        }
    }

    #[test]
    fn resources_are_plurals() {
        for (kind, resource) in [
            ("Pod", "pods"),
            ("ReplicationController", "replicationcontrollers"),
            ("CronJob", "cronjobs"),
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
            ("Endpoints", "endpoints"),
        ] {
            assert_eq!(plural(kind), resource);
        }
    }
}
