//! Files as they are given to the command: YAML or JSON, one document or several, from a file or the standard input.

use image_admission_module_host::disk;
use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::duplicates::{self, Duplicate};

/// One document of a file, as JSON. One that was written as JSON is as it was written.
#[derive(Debug)]
pub struct Document {
    /// Where it was read.
    pub place: Place,
    /// What it is.
    pub json: Box<RawValue>,
}

/// A document's file, and its number there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: String,
    /// The file itself, where the place is in one that can be read again.
    path: Option<PathBuf>,
    /// From 1; none if the file holds nothing else.
    number: Option<usize>,
    /// The number of the object in a list, from 1.
    item: Option<usize>,
}

impl Place {
    /// A place that isn't a document of its own.
    pub fn within(file: impl Into<String>) -> Self {
        Self { file: file.into(), path: None, number: None, item: None }
    }

    /// A document of a file, by its number from 0.
    pub fn document_of(file: impl Into<String>, number: usize) -> Self {
        Self { number: Some(number + 1), ..Self::within(file) }
    }

    /// Where it is in its file: `document 2, item 1`.
    pub fn part(&self) -> String {
        let document = self.number.map(|number| format!("document {number}"));
        let item = self.item.map(|item| format!("item {item}"));
        document.into_iter().chain(item).collect::<Vec<_>>().join(", ")
    }

    /// The file, where it can be read again.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The number of the document among all of its file, from 0.
    pub fn document(&self) -> usize {
        self.number.map_or(0, |number| number.saturating_sub(1))
    }

    /// Which item of a list it is, from 0.
    pub fn index(&self) -> Option<usize> {
        self.item.map(|item| item.saturating_sub(1))
    }

    /// An item of the list that is here.
    pub fn item(&self, number: usize) -> Self {
        Self { item: Some(number), ..self.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part().as_str() {
            "" => f.write_str(&self.file),
            part => write!(f, "{}, {part}", self.file),
        }
    }
}

/// Reads the documents of a file that aren't empty; `-` is the standard input.
pub fn documents(path: &Path) -> Result<Vec<Document>, DocumentError> {
    documents_in(path, &text(path)?)
}

/// The documents of a file whose text was read.
pub fn documents_in(path: &Path, text: &str) -> Result<Vec<Document>, DocumentError> {
    let file = name(path);
    let values = parse(&file, text)?;
    let several = values.len() > 1;
    let documents = values.into_iter().enumerate().filter(|(_, json)| json.get() != "null");
    let documents = documents.map(|(index, json)| {
        let number = several.then_some(index + 1);
        let path = (!is_standard_input(path)).then(|| path.to_owned());
        Document { place: Place { file: file.clone(), path, number, item: None }, json }
    });
    Ok(documents.collect())
}

/// A file's text.
pub fn text(path: &Path) -> Result<String, DocumentError> {
    if !is_standard_input(path) && disk::is_folder(path).unwrap_or(false) {
        return Err(DocumentError::Folder(name(path)));
    }
    let read = if is_standard_input(path) {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        disk::read(path)
    };
    let bytes = read.map_err(|source| DocumentError::Read { file: name(path), source })?;
    let text = String::from_utf8(bytes)
        .map_err(|error| DocumentError::NotUtf8 { file: name(path), position: error.utf8_error().valid_up_to() + 1 })?;
    // Windows' editors mark UTF-8 so.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Whether a path stands for the standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// How messages call a file.
pub fn name(path: &Path) -> String {
    if is_standard_input(path) { "the standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The documents of a text, empty ones too. JSON has `{` or `[` at its start; what has it and isn't JSON may still be
/// YAML.
fn parse(file: &str, text: &str) -> Result<Vec<Box<RawValue>>, DocumentError> {
    let json = is_like_json(text).then(|| from_json(text));
    let json = match json {
        Some(Ok(documents)) => return Ok(documents),
        Some(Err(error)) => Some(error),
        None => None,
    };
    from_yaml(text).map_err(|yaml| {
        let (file, keys) = (file.to_owned(), duplicates::in_yaml(text));
        if keys.is_empty() {
            DocumentError::Syntax { file, yaml, json }
        } else {
            DocumentError::Duplicates { file, keys }
        }
    })
}

/// Whether no key of a text that was read as JSON stands twice. YAML's own reader refuses one.
///
/// # Errors
/// Those that do.
pub fn check_keys(path: &Path, text: &str) -> Result<(), DocumentError> {
    let keys = if is_like_json(text) { duplicates::in_json(text) } else { Vec::new() };
    if keys.is_empty() { Ok(()) } else { Err(DocumentError::Duplicates { file: name(path), keys }) }
}

fn is_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

fn from_json(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    let values = serde_json::Deserializer::from_str(text).into_iter();
    values.map(|value| value.map_err(|error| error.to_string())).collect()
}

fn from_yaml(text: &str) -> Result<Vec<Box<RawValue>>, String> {
    let mut documents = Vec::new();
    // Collecting ends at the first error, which the parser would repeat for ever.
    for document in yaml_serde::Deserializer::from_str(text) {
        documents.push(yaml_document(document)?);
    }
    Ok(documents)
}

/// By way of YAML's own values, which refuse a key that is there twice, and know `<<`.
fn yaml_document(document: yaml_serde::Deserializer<'_>) -> Result<Box<RawValue>, String> {
    let mut value = yaml_serde::Value::deserialize(document).map_err(|error| error.to_string())?;
    value.apply_merge().map_err(|error| error.to_string())?;
    serde_json::value::to_raw_value(&value).map_err(|error| error.to_string())
}

/// A file without documents that can be used.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It can't be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is a folder.
    #[error("{0} is a folder: name its files")]
    Folder(String),
    /// There is a kubectl that can't be started.
    #[error("cannot start `kubectl`, which renders `{}`: {source}", folder.display())]
    Kubectl {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Kustomize can't render a folder.
    #[error("`kubectl kustomize {}` fails: {why}", folder.display())]
    Kustomize {
        /// The folder.
        folder: PathBuf,
        /// What it says.
        why: String,
    },
    /// Nothing renders a folder.
    #[error("`kubectl` isn't on PATH, which renders `{}`: install it, or name the file of the policy", _0.display())]
    NoKubectl(PathBuf),
    /// It is no text.
    #[error("{file} is not UTF-8 text: its byte {position} is wrong")]
    NotUtf8 {
        /// The file.
        file: String,
        /// Of the first byte that is wrong, from 1.
        position: usize,
    },
    /// Nobody says which of several settings are meant.
    #[error("{file} has the settings of {}; choose a policy by its name, with `--settings-of` or `settingsOf`", candidates.join(" and of "))]
    SeveralSettings {
        /// The file.
        file: String,
        /// What has settings there.
        candidates: Vec<String>,
    },
    /// Several settings belong to no policy.
    #[error("{file} has settings in {}: keep those that are meant, or write each in a file of its own", places.join(" and in "))]
    SettingsTwice {
        /// The file.
        file: String,
        /// Where they stand in it.
        places: Vec<String>,
    },
    /// Keys stand twice in one object.
    #[error("{file} says two things at once:\n{}", keys.iter().map(|key| format!("  {key}")).collect::<Vec<_>>().join("\n"))]
    Duplicates {
        /// The file.
        file: String,
        /// Which keys.
        keys: Vec<Duplicate>,
    },
    /// There is no policy of that name.
    #[error("{file} has no policy `{name}`; {}", known(candidates))]
    NoSuchPolicy {
        /// The file.
        file: String,
        /// The name.
        name: String,
        /// The policies that it has.
        candidates: Vec<String>,
    },
    /// There are objects, and no policy among them.
    #[error(
        "no settings in {file}, which has {}; write the settings as they are, or those of a ClusterAdmissionPolicy or AdmissionPolicy",
        objects.join(", ")
    )]
    NoSettings {
        /// The file.
        file: String,
        /// What it has.
        objects: Vec<String>,
    },
    /// It is neither YAML nor JSON.
    #[error("{}", syntax(file, yaml, json.as_deref()))]
    Syntax {
        /// The file.
        file: String,
        /// Why it is no YAML.
        yaml: String,
        /// Why it is no JSON, if it looks like it.
        json: Option<String>,
    },
}

fn known(candidates: &[String]) -> String {
    match candidates {
        [] => "it has settings alone, or none".to_owned(),
        _ => format!("it has {}", candidates.join(", ")),
    }
}

fn syntax(file: &str, yaml: &str, json: Option<&str>) -> String {
    // What the parser says of a tab, which looks like spaces.
    let tab = if yaml.contains("cannot start any token") { "; indent by spaces, not by tabs" } else { "" };
    match json {
        Some(json) => format!("{file} is neither JSON ({json}) nor YAML ({yaml})"),
        None => format!("{file} is not YAML: {yaml}{tab}"),
    }
}
