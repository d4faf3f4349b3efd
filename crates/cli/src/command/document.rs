//! Files as they are given to the command: YAML or JSON, one document or several, from a file or the standard input.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One document of a file, as JSON. One that was written as JSON is as it was written.
#[derive(Debug)]
pub(super) struct Document {
    /// Where it was read.
    pub(super) place: Place,
    /// What it is.
    pub(super) json: Box<RawValue>,
}

/// A document's file, and its number there.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    file: String,
    /// From 1; none if the file holds nothing else.
    number: Option<usize>,
    /// The number of the object in a list, from 1.
    item: Option<usize>,
}

impl Place {
    /// A place that isn't a document of its own.
    pub(super) fn within(file: impl Into<String>) -> Self {
        Self { file: file.into(), number: None, item: None }
    }

    /// The file's path, where it is one.
    pub(super) fn path(&self) -> Option<&str> {
        self.file.strip_prefix('`')?.strip_suffix('`')
    }

    /// An item of the list that is here.
    pub(super) fn item(&self, number: usize) -> Self {
        Self { item: Some(number), ..self.clone() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(number) = self.number {
            write!(f, ", document {number}")?;
        }
        if let Some(item) = self.item {
            write!(f, ", item {item}")?;
        }
        Ok(())
    }
}

/// Reads the documents of a file that aren't empty; `-` is the standard input.
pub(super) fn documents(path: &Path) -> Result<Vec<Document>, DocumentError> {
    let file = name(path);
    let values = parse(&file, &text(path)?)?;
    let several = values.len() > 1;
    let documents = values.into_iter().enumerate().filter(|(_, json)| json.get() != "null");
    let documents = documents.map(|(index, json)| {
        let number = several.then_some(index + 1);
        Document { place: Place { file: file.clone(), number, item: None }, json }
    });
    Ok(documents.collect())
}

/// The one document of a file with settings; none if everything in it is commented out.
pub(super) fn settings(path: &Path) -> Result<Option<Box<RawValue>>, DocumentError> {
    let mut documents = documents(path)?.into_iter().map(|document| document.json);
    match (documents.next(), documents.next()) {
        (settings, None) => Ok(settings),
        (_, Some(_)) => Err(DocumentError::SeveralSettings(name(path))),
    }
}

/// A file's text.
pub(super) fn text(path: &Path) -> Result<String, DocumentError> {
    let mut bytes = Vec::new();
    let read = if is_standard_input(path) {
        io::stdin().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|source| DocumentError::Read { file: name(path), source })?;
    let text = String::from_utf8(bytes)
        .map_err(|error| DocumentError::NotUtf8 { file: name(path), position: error.utf8_error().valid_up_to() + 1 })?;
    // Windows' editors mark UTF-8 so.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// How messages call a file.
pub(super) fn name(path: &Path) -> String {
    if is_standard_input(path) { "the standard input".to_owned() } else { format!("`{}`", path.display()) }
}

/// The documents of a text, empty ones too. JSON has `{` or `[` at its start; what has it and isn't JSON may still be
/// YAML.
fn parse(file: &str, text: &str) -> Result<Vec<Box<RawValue>>, DocumentError> {
    let json = text.trim_start().starts_with(['{', '[']).then(|| from_json(text));
    let json = match json {
        Some(Ok(documents)) => return Ok(documents),
        Some(Err(error)) => Some(error),
        None => None,
    };
    from_yaml(text).map_err(|yaml| DocumentError::Syntax { file: file.to_owned(), yaml, json })
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
pub(crate) enum DocumentError {
    /// It can't be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// It is no text.
    #[error("{file} is not UTF-8 text: its byte {position} is wrong")]
    NotUtf8 {
        /// The file.
        file: String,
        /// Of the first byte that is wrong, from 1.
        position: usize,
    },
    /// The settings are in several documents.
    #[error("{0} has several documents; settings are one")]
    SeveralSettings(String),
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

fn syntax(file: &str, yaml: &str, json: Option<&str>) -> String {
    match json {
        Some(json) => format!("{file} is neither JSON ({json}) nor YAML ({yaml})"),
        None => format!("{file} is not YAML: {yaml}"),
    }
}
