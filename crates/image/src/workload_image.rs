//! Images that a workload would pull, and where in the object each is named.

use crate::reference::{ImageReference, ReferenceError};
use crate::workload::WorkloadKind;
use serde_json::Value;
use std::fmt;

/// The longest image string that a message repeats; no image reference in use is longer.
const MAX_SHOWN_LENGTH: usize = 256;

/// The lists of a pod spec that name images, in the order in which they are judged and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImageList {
    /// `initContainers`
    Init,
    /// `containers`
    Container,
    /// `ephemeralContainers`
    Ephemeral,
    /// `volumes`, only those with an `image`
    Volume,
}

impl ImageList {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Init, Self::Container, Self::Ephemeral, Self::Volume];

    /// The pod spec's field.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Container => "containers",
            Self::Ephemeral => "ephemeralContainers",
            Self::Volume => "volumes",
        }
    }

    /// The name of its images in expressions: images of volumes aren't called volumes.
    pub const fn in_expressions(self) -> &'static str {
        match self {
            Self::Volume => "imageVolumes",
            list => list.field(),
        }
    }

    /// The name of an entry in annotations, before its position.
    fn entry_name(self) -> &'static str {
        match self {
            Self::Init => "init-container",
            Self::Container => "container",
            Self::Ephemeral => "ephemeral-container",
            Self::Volume => "volume",
        }
    }
}

/// An image of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadImage {
    /// The list that names it.
    pub list: ImageList,
    /// The position of its entry in that list, counted from one as in annotations.
    pub position: usize,
    /// The container's (or the volume's) name.
    pub container: String,
    /// The JSON pointer of the string in the object.
    pub pointer: String,
    /// The string in the object.
    pub text: String,
    /// The image reference, or why the string is none.
    pub reference: Result<ImageReference, NotAnImage>,
}

impl WorkloadImage {
    /// `container-1`, `init-container-2`: its name in annotations.
    #[must_use]
    pub fn key(&self) -> String {
        let mut key = self.list.entry_name().to_owned();
        key.push('-');
        key.push_str(&self.position.to_string());
        key
    }

    /// `init container setup, /spec/initContainers/0/image`: where it is in the object, for people.
    #[must_use]
    pub fn place(&self) -> String {
        let list = match self.list {
            ImageList::Init => "init container",
            ImageList::Container => "container",
            ImageList::Ephemeral => "ephemeral container",
            ImageList::Volume => "volume",
        };
        let name = if self.container.is_empty() { "without a name" } else { &self.container };
        format!("{list} {name}, {}", self.pointer)
    }

    /// The JSON pointer of the container, or the volume, that names it.
    pub fn owner_pointer(&self) -> &str {
        let field = if self.list == ImageList::Volume { "/image/reference" } else { "/image" };
        self.pointer.strip_suffix(field).unwrap_or(&self.pointer)
    }

    /// The string in the object, cut for a message.
    #[must_use]
    pub fn shown(&self) -> String {
        image_admission_untrusted::message::cut(&self.text, MAX_SHOWN_LENGTH)
    }

    /// Whether both have the same name in the same list: the same entry before and after an update.
    pub fn is_in_the_place_of(&self, other: &Self) -> bool {
        self.list == other.list && self.container == other.container && !self.container.is_empty()
    }

    /// Whether both name the same image, in any spelling: by canonical name and tag, or by digest.
    pub fn is_same_image(&self, other: &Self) -> bool {
        matches!((&self.reference, &other.reference), (Ok(own), Ok(other)) if own == other)
            || self.is_same_digest(other)
    }

    /// Whether both name the same digest of one repository.
    pub fn is_same_digest(&self, other: &Self) -> bool {
        let is_same = |own: &ImageReference, other: &ImageReference| {
            own.digest().is_some() && own.digest() == other.digest() && own.is_of_repository(other)
        };
        matches!((&self.reference, &other.reference), (Ok(own), Ok(other)) if is_same(own, other))
    }
}

/// Why an image reference is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAnImage {
    /// There is nothing.
    Missing,
    /// The value is no string.
    NotAString,
    /// The string is no reference.
    NotAReference(ReferenceError),
}

impl fmt::Display for NotAnImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("it is missing"),
            Self::NotAString => f.write_str("it is not a string"),
            Self::NotAReference(error) => error.fmt(f),
        }
    }
}

/// All images that a workload's object names, in order.
///
/// # Errors
/// What can't be read, by its JSON pointer.
pub fn images(object: &Value, workload: WorkloadKind) -> Result<Vec<WorkloadImage>, UnreadableObject> {
    let pointer = [workload.pod_pointer(), "/spec"].concat();
    let spec = image_admission_untrusted::pointer::at(object, &pointer);
    if !spec.is_some_and(Value::is_object) {
        return Err(UnreadableObject { pointer, expected: "an object" });
    }
    let mut images = Vec::new();
    for list in ImageList::ALL {
        let pointer = || [&pointer, "/", list.field()].concat();
        let entries = match spec.and_then(|spec| spec.get(list.field())) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(entries)) => entries,
            Some(_) => return Err(UnreadableObject { pointer: pointer(), expected: "a list" }),
        };
        for (position, entry) in entries.iter().enumerate() {
            let pointer = [&pointer(), "/", &position.to_string()].concat();
            let Some(entry) = entry.as_object() else {
                return Err(UnreadableObject { pointer, expected: "an object" });
            };
            let (image, pointer) = if list == ImageList::Volume {
                match entry.get("image") {
                    None | Some(Value::Null) => continue,
                    Some(Value::Object(image)) => (image.get("reference"), pointer + "/image/reference"),
                    Some(_) => {
                        return Err(UnreadableObject { pointer: pointer + "/image", expected: "an object" });
                    }
                }
            } else {
                (entry.get("image"), pointer + "/image")
            };
            let text = match image {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            let reference = match image {
                None | Some(Value::Null) => Err(NotAnImage::Missing),
                Some(Value::String(text)) => ImageReference::parse(text).map_err(NotAnImage::NotAReference),
                Some(_) => Err(NotAnImage::NotAString),
            };
            let container = entry.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            images.push(WorkloadImage { list, position: position + 1, container, pointer, text, reference });
        }
    }
    Ok(images)
}

/// A part of an object that doesn't have the type of its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableObject {
    /// The JSON pointer of what can't be read.
    pub pointer: String,
    /// What should be there.
    pub expected: &'static str,
}

impl fmt::Display for UnreadableObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the object's `{}` is not {}", self.pointer, self.expected)
    }
}

impl std::error::Error for UnreadableObject {}
