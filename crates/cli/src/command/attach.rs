//! `attach`: puts signatures and attestations beside an image where the policy can read them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use image_admission_evidence::key::{KeyError, PublicKey};
use image_admission_evidence::media_type::ARTIFACT_TYPE;
use image_admission_module_host::disk;
use image_admission_module_host::repository::{
    Piece, PieceError, Repository, RepositoryError, UnverifiedError, beside,
};
use image_admission_untrusted::message::join_at_most;
use serde::Serialize;

use super::output::{json, yaml};
use super::terminal::{in_one_line, without_commands};
use super::{Ending, warn};

const AFTER_HELP: &str = "\
Hosts of policies hand out manifests and configurations, and no layers. cosign and notation write layers. So each piece of
evidence is pushed as the configuration of an artifact that refers to the image, and is listed at the tag `sha256-<digest>`, with
what others list there. The same evidence again changes nothing.

Before anything is pushed, each piece is checked to be about this image. In a file of several pieces, those about other images
are left out. Without `--bundle`, what cosign and notation have put beside the image is copied.

Exit codes:
  0  the evidence is beside the image
  1  it isn't: the error says why

Examples:
  image-admission attach localhost:5000/shop/web:1.0
  image-admission attach ghcr.io/shop/web:1.0 --bundle bundle.json
  image-admission attach ghcr.io/shop/web:1.0 --bundle attestations.jsonl --key cosign.pub -o json";

/// Put signatures and attestations beside an image, where the policy reads them
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Attach {
    /// The image, by a tag or a digest. Of an index, evidence is about the index
    #[arg(value_name = "IMAGE")]
    image: String,

    /// A file with evidence: a Sigstore bundle (`cosign sign --bundle`, `gh attestation download`), DSSE envelopes (`cosign download
    /// attestation`), or a signature of Notary Project. May be repeated
    #[arg(long, value_name = "FILE")]
    bundle: Vec<PathBuf>,

    /// A public key that must have signed all of it
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// A registry to ask over plain HTTP; those on this machine always are. May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    insecure_registry: Vec<String>,

    /// How to write what was done
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "text")]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// For programs
    Json,
    /// The same as YAML
    Yaml,
}

/// Why nothing was attached.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttachError {
    /// A file can't be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The key is none.
    #[error("`{}`: {source}", path.display())]
    Key {
        /// Its file.
        path: PathBuf,
        /// What is wrong with it.
        source: KeyError,
    },
    /// A file has no evidence.
    #[error("`{file}`: {source}")]
    Piece {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: PieceError,
    },
    /// A file has evidence about other images alone.
    #[error("`{file}` is about {about}, and not about `{image}`")]
    OtherImage {
        /// The file.
        file: String,
        /// What it is about.
        about: String,
        /// The image.
        image: String,
    },
    /// There is no evidence to copy.
    #[error("there is no evidence beside `{0}`: sign it, or give the evidence with `--bundle`")]
    Nothing(String),
    /// The key didn't sign it.
    #[error("the key of `--key` doesn't verify `{from}`: {source}")]
    Unverified {
        /// The file, or the artifact.
        from: String,
        /// Why.
        source: UnverifiedError,
    },
    /// The registry.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The output can't be written.
    #[error("cannot write to the standard output: {0}")]
    Output(#[from] io::Error),
}

/// What was done.
#[derive(Debug, Serialize)]
struct Report {
    /// The image by its digest.
    image: String,
    evidence: Vec<Entry>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    /// The file or the artifact that it is from.
    source: String,
    media_type: String,
    /// The digest of the artifact that has it as its configuration.
    artifact: String,
    /// Whether it wasn't there before.
    attached: bool,
}

/// A piece that is to be attached, and where it is from.
struct Given {
    source: String,
    piece: Piece,
}

impl Attach {
    /// Attaches the evidence, and tells what was done on `output`.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, AttachError> {
        let key = self.key.as_deref().map(public_key).transpose()?;
        let files: Vec<(String, Vec<Piece>)> = self.bundle.iter().map(|path| pieces(path)).collect::<Result<_, _>>()?;
        let repository = Repository::of(&self.image, &self.insecure_registry)?;
        let mut report = Report { image: repository.image(), evidence: Vec::new() };
        let mut given = Vec::new();
        for (file, pieces) in files {
            given.extend(about_image(&file, pieces, &repository)?);
        }
        if self.bundle.is_empty() {
            given = copied(&repository, &mut report)?;
        }
        if let Some(key) = &key {
            for Given { source: from, piece } in &given {
                let unverified = |source| AttachError::Unverified { from: from.clone(), source };
                piece.verify(key, repository.digest()).map_err(unverified)?;
            }
        }
        let documents: Vec<_> = given.iter().map(|given| given.piece.configuration()).collect();
        let attached = repository.attach(ARTIFACT_TYPE, &documents)?;
        report.evidence.extend(given.into_iter().zip(documents).zip(attached).map(|((given, document), attached)| {
            Entry { source: given.source, media_type: document.0, artifact: attached.digest, attached: attached.is_new }
        }));
        let written = match self.output {
            Output::Text => text(&report),
            Output::Json => json(&report)?,
            Output::Yaml => yaml(&report)?,
        };
        output.write_all(written.as_bytes())?;
        output.flush()?;
        Ok(Ending::Done)
    }
}

fn public_key(path: &Path) -> Result<PublicKey, AttachError> {
    let pem = disk::read_to_string(path).map_err(|source| AttachError::Read { path: path.to_owned(), source })?;
    PublicKey::from_pem(&pem).map_err(|source| AttachError::Key { path: path.to_owned(), source })
}

/// The pieces of a file, with its name.
fn pieces(path: &Path) -> Result<(String, Vec<Piece>), AttachError> {
    let file = path.display().to_string();
    let bytes = disk::read(path).map_err(|source| AttachError::Read { path: path.to_owned(), source })?;
    let pieces = Piece::all_in(&bytes).map_err(|source| AttachError::Piece { file: file.clone(), source })?;
    Ok((file, pieces))
}

/// The pieces of a file that are about the image: at least one. Others are told in a warning.
fn about_image(file: &str, pieces: Vec<Piece>, repository: &Repository) -> Result<Vec<Given>, AttachError> {
    let is_about_it = |piece: &Piece| piece.about().iter().any(|digest| digest == repository.digest());
    let (own, others): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(is_about_it);
    let about: Vec<String> = others.iter().flat_map(Piece::about).map(|digest| format!("`{digest}`")).collect();
    let about =
        if about.is_empty() { "no image".to_owned() } else { join_at_most(about.iter().map(String::as_str), ", ", 3) };
    if own.is_empty() {
        return Err(AttachError::OtherImage { file: file.to_owned(), about, image: repository.image() });
    }
    if !others.is_empty() {
        warn(&format!("`{file}` has evidence about {about}, too, which is left out"));
    }
    Ok(own.into_iter().map(|piece| Given { source: file.to_owned(), piece }).collect())
}

/// What stands beside the image in layers. What is there as it should be is written into the report.
fn copied(repository: &Repository, report: &mut Report) -> Result<Vec<Given>, AttachError> {
    let (configurations, layers): (Vec<_>, Vec<_>) =
        beside(repository, &mut warn)?.into_iter().partition(|found| found.is_configuration);
    if configurations.is_empty() && layers.is_empty() {
        return Err(AttachError::Nothing(repository.image()));
    }
    let is_copied = |piece: &Piece| configurations.iter().any(|own| own.piece.bytes() == piece.bytes());
    let given = layers.into_iter().filter(|found| !is_copied(&found.piece));
    let given = given.map(|found| Given { source: found.artifact, piece: found.piece }).collect();
    report.evidence.extend(configurations.into_iter().map(|found| Entry {
        source: found.artifact.clone(),
        media_type: found.piece.configuration().0,
        artifact: found.artifact,
        attached: false,
    }));
    Ok(given)
}

fn text(report: &Report) -> String {
    let mut text = format!("{}\n", report.image);
    for Entry { source, media_type, attached, .. } in &report.evidence {
        let done = if *attached { "attached " } else { "was there" };
        let line = format!("  {done}  {media_type}  {source}");
        text.push_str(&format!("{}\n", without_commands(&in_one_line(&line))));
    }
    text
}
