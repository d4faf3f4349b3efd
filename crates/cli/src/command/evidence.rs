//! `evidence`: signatures and attestations of images, as objects for a cluster.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use image_admission_module_host::repository::{Repository, RepositoryError, beside};
use image_admission_settings::EvidenceObject;
use serde::Serialize;

use super::output::yaml;
use super::terminal::{in_one_line, without_commands};
use super::{Ending, complain, warn};

const AFTER_HELP: &str = "\
An object has the name of the digest that it is about. The policy reads it where the setting `evidence.fromCluster` says so, and
asks no registry about signatures then.

Exit codes:
  0  every image has evidence, and it was written
  1  something went wrong, or an image has no evidence: the error says which

Examples:
  image-admission evidence pull localhost:5000/shop/web:1.0 localhost:5000/shop/db:1.0 > evidence.yaml";

/// Write the evidence of images as objects for a cluster
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Evidence {
    #[command(subcommand)]
    command: EvidenceCommand,
}

#[derive(Debug, Subcommand)]
enum EvidenceCommand {
    Pull(Pull),
}

/// Write what stands beside images in their registries as ImageEvidence, for `kubectl apply -f -`
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
struct Pull {
    /// The images, each by a tag or a digest
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<String>,

    /// A registry to ask over plain HTTP; those on this machine always are. May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    insecure_registry: Vec<String>,
}

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum EvidenceError {
    /// A registry doesn't say what there is.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The output can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

/// What the cluster keeps.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageEvidence {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Serialize)]
struct Metadata {
    name: String,
}

#[derive(Debug, Serialize)]
struct Spec {
    evidence: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    media_type: String,
    /// In base64.
    data: String,
}

impl Evidence {
    /// Writes the objects to `output`.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, EvidenceError> {
        let EvidenceCommand::Pull(pull) = &self.command;
        let mut objects: Vec<(String, ImageEvidence)> = Vec::new();
        let mut ending = Ending::Done;
        for image in &pull.images {
            let repository = Repository::of(image, &pull.insecure_registry)?;
            let evidence = entries(&repository)?;
            if evidence.is_empty() {
                complain(&format!("there is no evidence beside `{}`: sign it, or attest to it", repository.image()));
                ending = Ending::Failed;
                continue;
            }
            let name = repository.digest().replace(':', "-");
            // Two tags may lead to one image.
            if objects.iter().all(|(_, object)| object.metadata.name != name) {
                let object = ImageEvidence {
                    api_version: EvidenceObject::API_VERSION,
                    kind: EvidenceObject::KIND,
                    metadata: Metadata { name },
                    spec: Spec { evidence },
                };
                objects.push((repository.image(), object));
            }
        }
        for (image, object) in &objects {
            writeln!(output, "---\n# {}", without_commands(&in_one_line(image)))?;
            output.write_all(yaml(object)?.as_bytes())?;
        }
        output.flush()?;
        Ok(ending)
    }
}

/// The evidence of an image, each piece once, as much as an object may have: the last, which are the newest unless
/// a tool sorted the list. What is left out is told in a warning.
fn entries(repository: &Repository) -> Result<Vec<Entry>, RepositoryError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut bytes = 0;
    for found in beside(repository, &mut warn)?.into_iter().rev() {
        let piece = found.piece;
        let entry = Entry { media_type: piece.media_type().to_owned(), data: STANDARD.encode(piece.bytes()) };
        if entries.contains(&entry) {
            continue;
        }
        let why = if entries.len() == EvidenceObject::MAX_PIECES {
            format!("an object has at most {}", EvidenceObject::MAX_PIECES)
        } else if bytes + piece.bytes().len() > EvidenceObject::MAX_BYTES {
            format!(
                "it has {} bytes, and an object has at most {} of all",
                piece.bytes().len(),
                EvidenceObject::MAX_BYTES
            )
        } else {
            bytes += piece.bytes().len();
            entries.push(entry);
            continue;
        };
        warn(&format!("the evidence in `{}` of `{}` is left out: {why}", found.artifact, repository.image()));
    }
    entries.reverse();
    Ok(entries)
}
