//! The AdmissionRequest: Kubernetes' request, as the host passes it on.
//!
//! It is `ValidationRequest` of `kubewarden_policy_sdk`, read here: `tests/all/sdk.rs` has the fields that those types lose.

use image_admission_untrusted::memory::read_value;
use image_admission_untrusted::spelling;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object. An unknown operation is treated like it.
    Create,
    /// A changed object.
    Update,
    /// No object any more: nothing will run.
    Delete,
    /// A stream to a running object.
    Connect,
}

/// The fields of an AdmissionRequest that may decide something. Objects are read when they are needed.
#[derive(Debug, Clone)]
pub struct AdmissionRequest<'a> {
    /// The operation.
    pub operation: Operation,
    /// The namespace of the request.
    pub namespace: String,
    /// The group of the object's kind, empty for the core group.
    pub group: String,
    /// The version of that group, as in the request.
    pub version: String,
    /// The object's kind.
    pub kind: String,
    /// `ephemeralcontainers`, `status`, …; empty for the object itself.
    pub sub_resource: String,
    raw: &'a RawValue,
    object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
    resource: Option<&'a RawValue>,
}

/// A resource, as an API server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    /// `pods`; scanners of existing objects may have written the kind here.
    pub(crate) name: String,
}

impl<'a> AdmissionRequest<'a> {
    /// Reads a request in Kubernetes' own spelling (`admission/v1`, the field `request` of an AdmissionReview).
    ///
    /// # Errors
    /// The request is missing, or is none.
    pub fn read(request: Option<&'a RawValue>) -> Result<Self, UnreadableRequest> {
        let request = request.filter(|raw| raw.get() != "null").ok_or(UnreadableRequest::Missing)?;
        let wire: WireRequest<'a> =
            serde_json::from_str(request.get()).map_err(|error| UnreadableRequest::NotARequest(error.to_string()))?;
        let mut kind = wire.kind.unwrap_or_default();
        let object = wire.object.filter(|raw| raw.get() != "null");
        let old_object = wire.old_object.filter(|raw| raw.get() != "null");
        if kind.kind.is_empty()
            && let Some(raw) = object.or(old_object)
            && let Ok(own) = serde_json::from_str::<TypeMeta>(raw.get())
        {
            kind = own.into();
        }
        if kind.kind.is_empty() {
            return Err(UnreadableRequest::NoKind);
        }
        Ok(Self {
            operation: match wire.operation.unwrap_or_default().as_str() {
                "UPDATE" => Operation::Update,
                "DELETE" => Operation::Delete,
                "CONNECT" => Operation::Connect,
                _ => Operation::Create,
            },
            namespace: wire.namespace.unwrap_or_default(),
            group: kind.group,
            version: kind.version,
            kind: kind.kind,
            sub_resource: wire.sub_resource.unwrap_or_default(),
            raw: request,
            object,
            old_object,
            resource: wire.resource,
        })
    }

    /// The resource that webhook rules match: for `pods/eviction` the core group's Pods, whatever the kind of the object that is
    /// sent. If the request doesn't say, the kind's group and version, and an empty name.
    pub(crate) fn resource(&self) -> Resource {
        #[derive(Deserialize, Default)]
        struct Named {
            group: Option<String>,
            version: Option<String>,
            #[serde(default)]
            resource: String,
        }
        let named = self.resource.and_then(|raw| serde_json::from_str::<Named>(raw.get()).ok()).unwrap_or_default();
        Resource {
            group: named.group.unwrap_or_else(|| self.group.clone()),
            version: named.version.unwrap_or_else(|| self.version.clone()),
            name: named.resource,
        }
    }

    /// The user of the request; none if it doesn't say, or not as Kubernetes does.
    pub(crate) fn user(&self) -> Option<User> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked {
            user_info: User,
        }
        spelling::from_str::<Asked>(self.raw.get()).ok().map(|asked| asked.user_info)
    }

    /// Some fields of the object, if this string is in it; none if there is none, or if it can't be read.
    pub(crate) fn object_with<T: Deserialize<'a>>(&self, text: &str) -> Option<T> {
        let raw = self.object.filter(|raw| raw.get().contains(text))?;
        spelling::from_str(raw.get()).ok()
    }

    /// Whether its object is a Secret, or was one.
    pub(crate) fn is_about_a_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "Secret"
    }

    /// Whether it updates an object that is being deleted: its controller makes nothing of it any more, and a node starts none of
    /// its containers. Only the old object proves it, since the API server keeps that; the user wrote the new one.
    pub(crate) fn is_of_what_is_being_deleted(&self) -> bool {
        #[derive(Deserialize)]
        struct Stored {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            deletion_timestamp: Option<String>,
        }
        let old = self.old_object.filter(|_| self.operation == Operation::Update);
        let old = old.filter(|raw| raw.get().contains("deletionTimestamp"));
        let stored = old.and_then(|raw| spelling::from_str::<Stored>(raw.get()).ok());
        stored.and_then(|stored| stored.metadata.deletion_timestamp).is_some_and(|time| !time.is_empty())
    }

    /// The object as it came.
    pub(crate) fn raw_object(&self) -> Option<&'a RawValue> {
        self.object
    }

    /// The object of the request.
    ///
    /// # Errors
    /// There is none, or it is no object.
    pub fn object(&self) -> Result<Value, UnreadableRequest> {
        let raw = self.object.ok_or(UnreadableRequest::NoObject)?;
        let object = read_value(raw.get()).map_err(|error| UnreadableRequest::NotAnObject(error.to_string()))?;
        if object.is_object() {
            Ok(object)
        } else {
            Err(UnreadableRequest::NotAnObject("it is not a JSON object".to_owned()))
        }
    }

    /// The object, for requests that may change it: it is read exactly, or not at all. In workloads, only maps of strings have keys
    /// that their authors choose, so this is about other kinds.
    ///
    /// # Errors
    /// Those of [`AdmissionRequest::object`]; or its reader would take a part of it for something else.
    pub(crate) fn object_to_patch(&self) -> Result<Value, UnreadableRequest> {
        if self.object.is_some_and(|raw| raw.get().contains(PRIVATE_KEY)) {
            let why = "a text in it begins with `$serde_json::private::`, which its reader takes for its own";
            return Err(UnreadableRequest::NotAnObject(why.to_owned()));
        }
        self.object()
    }

    /// The object's namespace: its own one comes before the request's.
    pub fn namespace_of<'o>(&'o self, object: &'o Value) -> &'o str {
        let own = image_admission_untrusted::pointer::at(object, "/metadata/namespace").and_then(Value::as_str);
        own.filter(|namespace| !namespace.is_empty()).unwrap_or(&self.namespace)
    }

    /// The whole request, unchanged.
    pub(crate) fn raw(&self) -> &'a str {
        self.raw.get()
    }

    /// The previous object, if the request has it and it can be read.
    #[must_use]
    pub fn old_object(&self) -> Option<Value> {
        read_value(self.old_object?.get()).ok()
    }
}

/// The prefix of the keys by which `serde_json` passes itself a number or a document: an object with such a key is replaced by its
/// value. Hosts write strings with no more escapes than needed, so that the key has this spelling.
const PRIVATE_KEY: &str = "\"$serde_json::private::";

/// The user of a request, as the API server knows them: its `userInfo`.
#[derive(Debug, Deserialize)]
pub(crate) struct User {
    pub(crate) username: String,
    #[serde(default)]
    pub(crate) groups: Vec<String>,
}

/// Why there is no request to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableRequest {
    /// It is missing.
    Missing,
    /// It is not an AdmissionRequest; why.
    NotARequest(String),
    /// Neither it nor its object has a kind.
    NoKind,
    /// It has no object, or null.
    NoObject,
    /// Its object is no object; why.
    NotAnObject(String),
}

impl fmt::Display for UnreadableRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("AdmissionRequest is missing in input"),
            Self::NotARequest(why) => write!(f, "the AdmissionRequest can't be read: {why}"),
            Self::NoKind => f.write_str("the AdmissionRequest doesn't say what kind of object it is about"),
            Self::NoObject => f.write_str("the AdmissionRequest has no object"),
            Self::NotAnObject(why) => write!(f, "the AdmissionRequest's object can't be read: {why}"),
        }
    }
}

impl std::error::Error for UnreadableRequest {}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an AdmissionRequest")]
struct WireRequest<'a> {
    kind: Option<GroupKind>,
    operation: Option<String>,
    namespace: Option<String>,
    sub_resource: Option<String>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(expecting = "an object with group, version and kind")]
struct GroupKind {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    api_version: String,
    kind: String,
}

impl From<TypeMeta> for GroupKind {
    fn from(own: TypeMeta) -> Self {
        let (group, version) = own.api_version.split_once('/').unwrap_or(("", &own.api_version));
        Self { group: group.to_owned(), version: version.to_owned(), kind: own.kind }
    }
}
