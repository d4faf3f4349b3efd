//! `digests`: gives the images of a list the digests of their documents, and writes them wherever the old ones stand.

mod documents;
mod names;
mod replacement;

use image_admission_module_host::disk;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use image_admission_module_host::answers::files::ImageFile;
use image_admission_module_host::answers::files::documents::Document;
use serde_json::Value;

use super::Ending;
use super::files::{Files, FilesError};
use super::terminal::{in_one_line, without_commands};
use image_admission_manifests::document;
use replacement::Replacement;

const AFTER_HELP: &str = "\
An image of a list (`images.yaml`) stands for a document where the list says what it is: with `platforms`, `manifest`,
`config`, `subject` or `artifactType`. Registries know documents by the hash of their bytes, and the policy judges no index
whose digest isn't that of its document. Old digests are replaced by the right ones as texts, in all given files: comments
and layout stay. So are names of scan reports that are computed from digests. Digests that are cut short aren't found.

Of a folder, every file in and below it is rewritten that ends in .yaml, .yml, .json, .rego or .md; hidden ones are not.
Lists in YAML fences of Markdown count too. What is given together is one world: a digest means the same in all of it.

Exit codes:
  0  every digest is that of its document, or was rewritten
  1  something went wrong, and nothing was rewritten: the error says what
  2  with --check, something would be rewritten

Examples:
  image-admission digests policies/tests/
  image-admission digests --check policies/tests/
  image-admission digests images.yaml cluster/ policies_test.yaml";

/// Give the images of a list the digests of their documents, wherever these stand
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Digests {
    /// Files and folders with lists of images, and with everything that has their digests
    #[arg(value_name = "PATH", required_unless_present = "file")]
    paths: Vec<PathBuf>,

    /// The same. May be repeated
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// Write nothing, and say what would be rewritten
    #[arg(long)]
    check: bool,
}

/// Why nothing was rewritten.
#[derive(Debug, thiserror::Error)]
pub(super) enum DigestsError {
    /// A path can't be used.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A file can't be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file has a list of images that can't be used.
    #[error("{file}: {problem}")]
    List {
        /// The file, as messages call it.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// There is no list.
    #[error("no list of images in {0}: give the files or folders that have one, together with what has their digests")]
    NoList(String),
    /// One digest would have to become several.
    #[error(
        "`{digest}` is the digest of `{one}` and of `{other}`, which are different documents: rewrite the lists apart from \
         each other, or give one of them another digest first"
    )]
    Ambiguous {
        /// The digest.
        digest: String,
        /// An image that has it.
        one: String,
        /// Another one.
        other: String,
    },
    /// Documents that name each other have no digests.
    #[error("the documents of {0} name each other's digests, so that none of them has one")]
    Circle(String),
    /// A file can't be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The output can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

/// A file that is rewritten.
#[derive(Debug)]
struct File {
    path: PathBuf,
    text: String,
}

impl Digests {
    /// Rewrites the files, and tells of every replacement on `output`.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, DigestsError> {
        let paths: Vec<PathBuf> = self.paths.iter().chain(&self.file).cloned().collect();
        let before = files(&paths)?;
        let mut names: Vec<names::Computed> = Vec::new();
        for file in &before {
            names.extend(documents::of(&file.path, &file.text).iter().flat_map(names::computed));
        }
        let mut after: Vec<String> = before.iter().map(|file| file.text.clone()).collect();
        let mut all = Replacement::default();
        // What a document names is rewritten before the document's own digest, so that each pass gets further.
        loop {
            let listed = listed(&before, &after)?;
            if listed.is_empty() {
                let paths: Vec<String> = paths.iter().map(|path| document::name(path)).collect();
                return Err(DigestsError::NoList(paths.join(", ")));
            }
            let next = next(&listed)?;
            if next.is_empty() {
                break;
            }
            after = after.iter().map(|text| next.applied(text)).collect();
            all.extend(next);
        }
        let renamed = names::renamed(names, &all);
        let after: Vec<String> = after.iter().map(|text| renamed.applied(text)).collect();
        let verb = if self.check { "would become" } else { "becomes" };
        for (whose, old, new) in all.told().chain(renamed.told()) {
            writeln!(output, "{}", without_commands(&in_one_line(&format!("{whose}: {old} {verb} {new}"))))?;
        }
        self.write(output, &before, &after)
    }

    /// Writes the files that are no longer as they were.
    fn write(&self, output: &mut impl Write, before: &[File], after: &[String]) -> Result<Ending, DigestsError> {
        let changed = || before.iter().zip(after).filter(|(file, after)| file.text != **after);
        for (File { path, .. }, after) in changed() {
            if !self.check {
                disk::write(path, after).map_err(|source| DigestsError::Write { path: path.clone(), source })?;
            }
            let verb = if self.check { "would be rewritten" } else { "rewritten" };
            writeln!(output, "{}", without_commands(&in_one_line(&format!("{}: {verb}", path.display()))))?;
        }
        output.flush()?;
        Ok(if self.check && changed().next().is_some() { Ending::Remarked } else { Ending::Done })
    }
}

/// The files at these paths: those that are named, and of folders those that may have digests.
fn files(paths: &[PathBuf]) -> Result<Vec<File>, DigestsError> {
    let read = |path: PathBuf| match disk::read_to_string(&path) {
        Ok(text) => Ok(File { path, text }),
        Err(source) => Err(DigestsError::Read { path, source }),
    };
    Files::at(paths, may_have_digests)?.readable()?.into_iter().map(|file| read(file.path)).collect()
}

fn may_have_digests(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    extension.is_some_and(|extension| ["yaml", "yml", "json", "rego", "md"].contains(&extension))
}

/// What the lists of all files say now.
fn listed(files: &[File], texts: &[String]) -> Result<Vec<ImageFile>, DigestsError> {
    let mut lists = Vec::new();
    for (File { path, .. }, text) in files.iter().zip(texts) {
        for list in documents::texts(path, text).filter(|text| has_list(text)) {
            let wrong = |problem| DigestsError::List { file: document::name(path), problem };
            lists.push(ImageFile::from_yaml(list).map_err(wrong)?);
        }
    }
    Ok(lists)
}

/// Whether a text is a list of images: `images` is its only key, and a map. Other files have the key for other things.
fn has_list(text: &str) -> bool {
    // Most files are none, and needn't be parsed.
    if !text.contains("images") {
        return false;
    }
    let value: Option<Value> = yaml_serde::from_str(text).ok();
    let Some(Value::Object(keys)) = value else {
        // A list that is no YAML must not pass for no list.
        return text.lines().any(|line| line.trim_end() == "images:") && !text.contains("apiVersion:");
    };
    keys.len() == 1 && keys.get("images").is_some_and(Value::is_object)
}

/// The digests that can be replaced now: of documents that name none that is still to be replaced.
fn next(lists: &[ImageFile]) -> Result<Replacement, DigestsError> {
    let mut known: BTreeMap<&str, &Document> = BTreeMap::new();
    for document in lists.iter().flat_map(ImageFile::documents) {
        let other = *known.entry(&document.digest).or_insert(document);
        // Of what is proven nothing is replaced, however it is written.
        if other.own_digest != document.own_digest && !(other.is_proven() && document.is_proven()) {
            return Err(DigestsError::Ambiguous {
                digest: document.digest.clone(),
                one: other.image.clone(),
                other: document.image.clone(),
            });
        }
    }
    let mut unproven = known;
    unproven.retain(|digest, document| !document.is_proven() && digest.starts_with("sha256:"));
    let mut next = Replacement::default();
    for document in unproven.values() {
        if !document.names.iter().any(|digest| unproven.contains_key(digest.as_str())) {
            next.add(&document.image, &document.digest, &document.own_digest);
        }
    }
    if next.is_empty() && !unproven.is_empty() {
        let images: Vec<String> = unproven.values().map(|document| format!("`{}`", document.image)).collect();
        return Err(DigestsError::Circle(images.join(", ")));
    }
    Ok(next)
}
