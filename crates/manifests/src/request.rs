//! Documents to requests: an AdmissionReview's, an AdmissionRequest as it is, or one made for a plain manifest.

use std::fmt;
use std::path::PathBuf;

use serde_json::value::RawValue;

use crate::document::{Document, DocumentError, Place, documents, name};
use crate::fields::Fields;
use crate::manifest::{Making, ManifestOptions};

/// A request to decide.
#[derive(Debug)]
pub struct Request {
    /// Where it comes from.
    pub place: Place,
    /// The AdmissionRequest.
    pub json: Box<RawValue>,
}

/// A file with requests.
#[derive(Debug)]
pub struct RequestFile {
    /// Where it is; `-` is the standard input.
    pub path: PathBuf,
    /// Whether somebody named it. What is just in a folder may have something else.
    pub is_named: bool,
}

/// What was found in files.
#[derive(Debug, Default)]
pub struct Requests {
    /// In the order of the files.
    pub requests: Vec<Request>,
    /// What is in files of folders, and is neither a request nor an object.
    pub passed_over: Vec<Place>,
}

/// The requests that files ask for; `manifests` says how one is made for a plain manifest.
///
/// # Errors
/// A file can't be read, or one that was named has something else than requests and objects.
pub fn requests_in(files: &[RequestFile], manifests: &ManifestOptions) -> Result<Requests, RequestError> {
    let making = manifests.open()?;
    let mut found = Requests::default();
    for file in files {
        let documents = documents(&file.path)?;
        if file.is_named && documents.is_empty() {
            return Err(RequestError::Empty(name(&file.path)));
        }
        for document in documents {
            if file.is_named || is_request(&document) {
                found.requests.extend(requests(document, &making)?);
            } else {
                found.passed_over.push(document.place);
            }
        }
    }
    Ok(found)
}

/// Whether a document says that it is an object, or a request.
fn is_request(document: &Document) -> bool {
    let is_object = Fields::of(&document.json).is_some_and(|fields| fields.text("kind").is_some());
    is_object || matches!(admission_request(document), Ok(Some(_)))
}

/// The requests that a document asks for: one, or one for each item of a list.
pub fn requests(document: Document, making: &Making) -> Result<Vec<Request>, RequestError> {
    let request = match admission_request(&document)? {
        Some(json) => json.to_owned(),
        None => {
            let objects = objects(document)?.into_iter();
            return objects.map(|object| Ok(Request { json: making.request(&object)?, place: object.place })).collect();
        }
    };
    match making.given() {
        Some(option) => Err(RequestError::NotAManifest { place: document.place, option }),
        None => Ok(vec![Request { place: document.place, json: request }]),
    }
}

/// The AdmissionRequest that a document has, or is.
pub fn admission_request(document: &Document) -> Result<Option<&RawValue>, RequestError> {
    let Some(fields) = Fields::of(&document.json) else { return Ok(None) };
    if fields.text("kind").as_deref() == Some("AdmissionReview") {
        return match fields.text("apiVersion").as_deref() {
            Some("admission.k8s.io/v1" | "admission.k8s.io/v1beta1") => match fields.value("request") {
                Some(request) => Ok(Some(request)),
                None => Err(document.unreadable("the AdmissionReview has no `request`")),
            },
            Some(other) => Err(document.unreadable(format!(
                "`{other}` is not a version of AdmissionReview; use `admission.k8s.io/v1` or `admission.k8s.io/v1beta1`"
            ))),
            None => Err(document.unreadable("the AdmissionReview has no `apiVersion`")),
        };
    }
    let has = |name| fields.value(name).is_some();
    let is_request = !has("apiVersion") && (has("uid") || has("operation"));
    Ok(is_request.then_some(&*document.json))
}

/// The items of a list, or the one object that a document is.
pub fn objects(document: Document) -> Result<Vec<Document>, RequestError> {
    if items(&document).is_some_and(|items| items.is_empty()) {
        return Err(document.unreadable("the list has no items"));
    }
    objects_if_any(document)
}

/// The items of a list, of which there may be none, or the one object that a document is.
pub fn objects_if_any(document: Document) -> Result<Vec<Document>, RequestError> {
    let Some(objects) = items(&document) else { return Ok(vec![document]) };
    // What has lists in lists, to any depth, would have to be unpacked over and over.
    match objects.iter().find(|item| List::of(&item.json).is_some()) {
        Some(item) => Err(item.unreadable("a list within a list; take its items out")),
        None => Ok(objects),
    }
}

/// The items of a list, if a document is one.
pub fn items(document: &Document) -> Option<Vec<Document>> {
    let list = List::of(&document.json)?;
    let items = list.items.iter().enumerate();
    let items = items.map(|(index, item)| Document { place: document.place.item(index + 1), json: list.whole(item) });
    Some(items.collect())
}

/// A `List` of anything, or a list of one kind, `PodList`, whose items may leave it to the list to say what they are.
struct List<'a> {
    api_version: Option<&'a RawValue>,
    /// Of the items, if the list has only one.
    kind: Option<Box<RawValue>>,
    items: Vec<&'a RawValue>,
}

impl<'a> List<'a> {
    fn of(json: &'a RawValue) -> Option<Self> {
        let fields = Fields::of(json)?;
        let kind = fields.text("kind")?;
        let kind = kind.strip_suffix("List")?;
        Some(Self {
            api_version: fields.value("apiVersion"),
            kind: (!kind.is_empty()).then(|| serde_json::value::to_raw_value(kind).ok()).flatten(),
            items: fields.list("items")?,
        })
    }

    /// An item with what it leaves to the list.
    fn whole(&self, item: &RawValue) -> Box<RawValue> {
        let completed = || {
            let mut fields = Fields::of(item)?;
            fields.complete("apiVersion", self.api_version?);
            fields.complete("kind", self.kind.as_deref()?);
            serde_json::value::to_raw_value(&fields).ok()
        };
        completed().unwrap_or_else(|| item.to_owned())
    }
}

impl Document {
    /// That this is nothing to make a request from.
    pub fn unreadable(&self, problem: impl Into<String>) -> RequestError {
        RequestError::Unreadable { place: self.place.clone(), problem: problem.into() }
    }
}

/// Whom a request is about, as far as it says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The object's kind.
    pub kind: String,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name; `name-*` if the API server completes it.
    pub name: String,
    /// `CREATE`, …
    pub operation: String,
    /// `ephemeralcontainers`, …
    pub sub_resource: String,
}

impl Subject {
    /// What a request says of itself, and where it doesn't, its object.
    pub fn of(request: &RawValue) -> Self {
        let Some(request) = Fields::of(request) else { return Self::default() };
        let object = request.object("object").or_else(|| request.object("oldObject"));
        let metadata = object.as_ref().and_then(|object| object.object("metadata"));
        let own = |name| metadata.as_ref().and_then(|metadata| metadata.text(name));
        let kind = request.object("kind").and_then(|kind| kind.text("kind"));
        let generated = || own("generateName").map(|start| format!("{start}*"));
        Self {
            kind: kind.or_else(|| object.as_ref()?.text("kind")).unwrap_or_default(),
            namespace: own("namespace").or_else(|| request.text("namespace")).unwrap_or_default(),
            name: own("name").or_else(|| request.text("name")).or_else(generated).unwrap_or_default(),
            operation: request.text("operation").unwrap_or_default(),
            sub_resource: request.text("subResource").unwrap_or_default(),
        }
    }
}

/// `Pod web in namespace shop`
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.kind.is_empty() { "object of no kind" } else { &self.kind })?;
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        if !self.sub_resource.is_empty() {
            write!(f, "/{}", self.sub_resource)?;
        }
        if !self.namespace.is_empty() {
            write!(f, " in namespace {}", self.namespace)?;
        }
        Ok(())
    }
}

/// Why there are no requests.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// A file can't be used.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A file has nothing in it.
    #[error("there is no document in {0}")]
    Empty(String),
    /// A document is nothing that a request can be made of.
    #[error("{place}: {problem}")]
    Unreadable {
        /// Which document.
        place: Place,
        /// What is wrong with it.
        problem: String,
    },
    /// An option for manifests meets a request.
    #[error("{place} is a request and says itself what `{option}` says; leave the option out")]
    NotAManifest {
        /// Which document.
        place: Place,
        /// The option.
        option: &'static str,
    },
    /// The manifest's namespace isn't the one that was asked for.
    #[error("{place} is in namespace `{own}`, but `{word}` says `{asked}`; leave one of them out")]
    OtherNamespace {
        /// Which document.
        place: Box<Place>,
        /// The manifest's.
        own: String,
        /// The option's.
        asked: String,
        /// The option.
        word: &'static str,
    },
    /// There is an old object, but no update.
    #[error("`--old` is for updates; leave out `--operation`, or use `--operation update`")]
    OldWithoutUpdate,
    /// There are old objects, but not this one.
    #[error("{place}: `{word}` has no {object}")]
    NotInOld {
        /// Which document.
        place: Place,
        /// The manifest's kind, name and namespace.
        object: String,
        /// The option for the old objects.
        word: &'static str,
    },
}
