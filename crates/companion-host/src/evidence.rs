//! Fetches evidence from registries and from GitHub, and writes it into the cluster. Nothing that they answer is logged.

use crate::clock::timestamp;
use crate::github;
use crate::log::{line, write as write_line};
use crate::objects::{objects, resource};
use image_admission_companion::evidence::{
    EvidenceAction, EvidenceObservation, FetchFailure, IMAGE_EVIDENCE, NewPiece, Place, name_of,
};
use image_admission_companion::log::LogLevel;
use image_admission_image::ImageReference;
use image_admission_module_host::piece::{Piece, is_evidence, may_hold_evidence};
use image_admission_registry_reader::{ApiToken, Descriptor, Flaw, Outage, ReadFailure, RegistryReader};
use image_admission_settings::{EvidenceObject, Mirrors};
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::core::DynamicObject;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// The longest that everything in one repository may take.
const FETCH: Duration = Duration::from_secs(60);
/// The longest that a write to the cluster may take.
const WRITE: Duration = Duration::from_secs(20);
/// How long after a write that failed it is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// The most artifacts beside an image that are looked at.
const MAX_ARTIFACTS: usize = 64;
/// The longest media type that an object may have.
const MAX_MEDIA_TYPE: usize = 255;
/// What the API server answers if an object is gone, or another one by now.
const GONE: [u16; 2] = [404, 409];

/// The part of an artifact's manifest that is read.
#[derive(Deserialize)]
struct Artifact {
    config: Descriptor,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

/// Does what is to be done about evidence, and says what came of it. Images of registries that have a mirror are asked for there;
/// GitHub is asked with the token.
pub async fn carry_out(
    action: EvidenceAction,
    client: &Client,
    registries: &RegistryReader,
    mirrors: &Mirrors,
    token: Option<&ApiToken>,
) -> EvidenceObservation {
    match action {
        EvidenceAction::Resolve(image) => {
            let result = match place_of(&image, mirrors) {
                Ok(place) => registries.digest(&place).await,
                Err(failure) => Err(failure),
            };
            let result = result.map_err(|failure| failed(&image, failure));
            EvidenceObservation::Resolved { image, result }
        }
        EvidenceAction::Fetch { digest, places } => {
            let (mut found, mut answers) = (Vec::new(), Vec::new());
            for place in places {
                let fetched = match &place {
                    Place::Image(image) => match place_of(image, mirrors) {
                        Ok(at) => in_time(pieces_beside(&at, &digest, registries)).await,
                        Err(failure) => Err(failure),
                    }
                    .map_err(|failure| failed(image, failure)),
                    Place::Github(repository) => {
                        let pieces =
                            async { Ok(vec![github::pieces_in(repository, &digest, registries, token).await?]) };
                        in_time(pieces).await.map_err(|failure| github::failed(repository, &digest, &failure))
                    }
                };
                let gave = fetched.as_ref().map(|lists| lists.iter().any(|pieces| !pieces.is_empty()));
                answers.push((place, gave.map_err(FetchFailure::clone)));
                found.extend(fetched.unwrap_or_default());
            }
            EvidenceObservation::Fetched { digest, pieces: choose(found), answers }
        }
        EvidenceAction::Write { digest, replaces, object } => {
            let is_done = is_done("write", &digest, write(client, &digest, replaces, object)).await;
            EvidenceObservation::Written { digest, is_done }
        }
        EvidenceAction::LeaveOut(digest) => {
            let why = "the objects have as many bytes as `evidence.mebibytes` allows";
            write_line(&line(
                LogLevel::Warning,
                &format!("cannot write the ImageEvidence `{}`: {why}", name_of(&digest)),
            ));
            EvidenceObservation::Written { digest, is_done: false }
        }
        EvidenceAction::Delete { digest, uid } => {
            let is_done = is_done("delete", &digest, delete(client, &digest, uid)).await;
            EvidenceObservation::Written { digest, is_done }
        }
    }
}

async fn in_time(
    fetching: impl Future<Output = Result<Vec<Vec<NewPiece>>, ReadFailure>>,
) -> Result<Vec<Vec<NewPiece>>, ReadFailure> {
    timeout(FETCH, fetching).await.unwrap_or(Err(ReadFailure::Outage(Outage::Timeout)))
}

/// Where an image is asked for.
fn place_of(image: &str, mirrors: &Mirrors) -> Result<ImageReference, ReadFailure> {
    // The name may be too long for the mirror.
    let invalid = ReadFailure::Invalid(Flaw::Address);
    let reference = ImageReference::parse(image).map_err(|_| invalid.clone())?;
    match mirrors.of(reference.host()) {
        Some(_) => mirrors.place_of(&reference).ok_or(invalid),
        None => Ok(reference),
    }
}

/// What beside an image is evidence of this digest, the newest first: in what refers to it, and at cosign's tags. Neither takes all the
/// room of the other.
async fn pieces_beside(
    image: &ImageReference,
    digest: &str,
    registries: &RegistryReader,
) -> Result<Vec<Vec<NewPiece>>, ReadFailure> {
    let listed = registries.referrers(image, digest).await?.entries;
    let listed = listed.into_iter().rev().filter(|entry| may_hold_evidence(entry.artifact_type.as_deref()));
    let listed: Vec<String> = listed.map(|entry| entry.digest).collect();
    let tagged = registries.old_tags(image, digest).await?.into_iter().map(|(_, artifact)| artifact).collect();
    let mut lists = Vec::new();
    for artifacts in [listed, tagged] {
        lists.push(pieces_of(image, &artifacts, digest, registries).await?);
    }
    Ok(lists)
}

/// What in some artifacts is evidence of this digest.
async fn pieces_of(
    image: &ImageReference,
    artifacts: &[String],
    digest: &str,
    registries: &RegistryReader,
) -> Result<Vec<NewPiece>, ReadFailure> {
    let mut pieces = Vec::new();
    for artifact in artifacts.iter().take(MAX_ARTIFACTS) {
        if is_full(&pieces) {
            break;
        }
        match pieces_in(image, artifact, digest, registries).await {
            Ok(found) => pieces.extend(found),
            // Whoever may push can put there what can't be read.
            Err(ReadFailure::NotFound | ReadFailure::Invalid(_)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(pieces)
}

/// The pieces in an artifact that are about this digest, the newest first.
async fn pieces_in(
    image: &ImageReference,
    artifact: &str,
    digest: &str,
    registries: &RegistryReader,
) -> Result<Vec<NewPiece>, ReadFailure> {
    let at = ImageReference::parse(&image.at(artifact)).map_err(|_| ReadFailure::Invalid(Flaw::Digest))?;
    let manifest = registries.manifest(&at).await?;
    let Artifact { config, layers } =
        serde_json::from_slice(&manifest.bytes).map_err(|_| ReadFailure::Invalid(Flaw::Json))?;
    let documents = if is_evidence(&config.media_type) { vec![config] } else { layers };
    let is_read = |of: &Descriptor| is_evidence(&of.media_type) && of.size <= EvidenceObject::MAX_BYTES as u64;
    let mut pieces = Vec::new();
    for document in documents.iter().rev().filter(|of| is_read(of)).take(EvidenceObject::MAX_PIECES) {
        if is_full(&pieces) {
            break;
        }
        let bytes = registries.blob(image, &document.digest, document.size).await?;
        pieces.extend(about(&Piece::of_configuration(&document.media_type, &bytes).unwrap_or_default(), digest));
    }
    Ok(pieces)
}

/// Those that are about this digest, and that an object can have.
pub(crate) fn about(pieces: &[Piece], digest: &str) -> impl Iterator<Item = NewPiece> {
    let fits =
        |piece: &Piece| piece.media_type().len() <= MAX_MEDIA_TYPE && piece.bytes().len() <= EvidenceObject::MAX_BYTES;
    pieces
        .iter()
        .filter(move |piece| fits(piece) && piece.about().iter().any(|about| about == digest))
        .map(|piece| NewPiece { media_type: piece.media_type().to_owned(), bytes: piece.bytes().to_vec() })
}

/// Whether these are as many pieces as are kept of a repository, for whatever else it has.
pub(crate) fn is_full(pieces: &[NewPiece]) -> bool {
    let bytes: usize = pieces.iter().map(|piece| piece.bytes.len()).sum();
    pieces.len() >= EvidenceObject::MAX_PIECES || bytes >= EvidenceObject::MAX_BYTES
}

/// As many pieces as an object may have, each once, from all repositories by turns: whoever fills one leaves room for the others. So
/// each takes at most its part of the bytes first, and then what the others leave.
fn choose(mut found: Vec<Vec<NewPiece>>) -> Vec<NewPiece> {
    found.retain(|pieces| !pieces.is_empty());
    let part = EvidenceObject::MAX_BYTES / found.len().max(1);
    let longest = found.iter().map(Vec::len).max().unwrap_or_default();
    let (mut chosen, mut bytes): (Vec<&NewPiece>, usize) = (Vec::new(), 0);
    let mut taken = vec![0; found.len()];
    for most in [part, EvidenceObject::MAX_BYTES] {
        for turn in 0..longest {
            for (pieces, taken) in found.iter().zip(&mut taken) {
                let Some(piece) = pieces.get(turn).filter(|piece| !chosen.contains(piece)) else { continue };
                let size = piece.bytes.len();
                let has_room = *taken + size <= most && bytes + size <= EvidenceObject::MAX_BYTES;
                if has_room && chosen.len() < EvidenceObject::MAX_PIECES {
                    chosen.push(piece);
                    *taken += size;
                    bytes += size;
                }
            }
        }
    }
    // In an object, the newest is the last one.
    chosen.into_iter().rev().cloned().collect()
}

/// Says why an image's registry gives nothing.
fn failed(image: &str, failure: ReadFailure) -> FetchFailure {
    write_line(&line(LogLevel::Warning, &format!("cannot fetch the evidence of `{image}`: {failure}")));
    unavailable(image.split('/').next().unwrap_or_default(), &failure)
}

/// Whether a failure is that of a host, or of what it was asked for.
pub(crate) fn unavailable(host: &str, failure: &ReadFailure) -> FetchFailure {
    let registry = |until| FetchFailure::Registry { host: host.to_owned(), until };
    match failure {
        ReadFailure::RateLimited { until } => registry(until.map(timestamp)),
        ReadFailure::Outage(_) => registry(None),
        ReadFailure::NotFound | ReadFailure::Refused | ReadFailure::Invalid(_) => FetchFailure::Image,
    }
}

/// Says why something wasn't done, if it wasn't.
async fn is_done(verb: &str, digest: &str, doing: impl Future<Output = Result<(), kube::Error>>) -> bool {
    let why = match timeout(WRITE, doing).await {
        Ok(Ok(())) => return true,
        // The rest of its words may have the types of pieces, which a registry chose.
        Ok(Err(kube::Error::Api(status))) => status.reason,
        Ok(Err(_)) | Err(_) => "no answer from the API server".to_owned(),
    };
    write_line(&line(LogLevel::Warning, &format!("cannot {verb} the ImageEvidence `{}`: {why}", name_of(digest))));
    false
}

async fn write(client: &Client, digest: &str, replaces: Option<String>, object: Value) -> Result<(), kube::Error> {
    if let Some(uid) = replaces {
        delete(client, digest, uid).await?;
    }
    let object: DynamicObject = serde_json::from_value(object).map_err(kube::Error::SerdeError)?;
    // The one in its place is gone: what failed once is tried again while the pieces are at hand.
    let create = || async { image_evidences(client).create(&PostParams::default(), &object).await };
    match create().await {
        Err(kube::Error::Api(status)) if status.code < 500 => Err(kube::Error::Api(status)),
        Err(_) => {
            sleep(AGAIN).await;
            create().await.map(|_| ())
        }
        Ok(_) => Ok(()),
    }
}

async fn delete(client: &Client, digest: &str, uid: String) -> Result<(), kube::Error> {
    let preconditions = Some(Preconditions { uid: Some(uid), resource_version: None });
    let how = DeleteParams { preconditions, ..DeleteParams::default() };
    match image_evidences(client).delete(&name_of(digest), &how).await {
        Err(kube::Error::Api(status)) if GONE.contains(&status.code) => Ok(()),
        deleted => deleted.map(|_| ()),
    }
}

/// The objects with evidence.
fn image_evidences(client: &Client) -> Api<DynamicObject> {
    objects(client, &resource(IMAGE_EVIDENCE.api_version, IMAGE_EVIDENCE.kind), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = EvidenceObject::MAX_BYTES;

    /// A piece of this size that differs from others by its number.
    fn piece(number: u8, size: usize) -> NewPiece {
        NewPiece { media_type: "application/vnd.dev.sigstore.bundle.v0.3+json".to_owned(), bytes: vec![number; size] }
    }

    /// The numbers and sizes of the pieces in the object.
    fn chosen(found: &[&[(u8, usize)]]) -> Vec<(u8, usize)> {
        let found = found.iter().map(|pieces| pieces.iter().map(|(number, size)| piece(*number, *size)).collect());
        choose(found.collect()).iter().map(|piece| (piece.bytes[0], piece.bytes.len())).collect()
    }

    /// Whoever names another's digest in a repository of theirs puts there what fills an object.
    #[test]
    fn a_repository_that_is_full_leaves_room_for_the_others() {
        for large in [MOST, MOST - 1, MOST - 100, MOST / 2 + 1] {
            assert!(chosen(&[&[(1, large)], &[(2, 5_000)]]).contains(&(2, 5_000)), "{large}");
        }
        let many: Vec<(u8, usize)> = (1..=16).map(|number| (number, MOST / 16)).collect();
        assert!(chosen(&[&many, &[(99, 5_000)]]).contains(&(99, 5_000)));
        let three = [(1, MOST / 3), (2, MOST / 3), (3, MOST / 3)];
        assert!(chosen(&[&three, &three, &three, &[(99, 5_000)]]).contains(&(99, 5_000)));
    }

    #[test]
    fn an_object_has_what_it_may_have_of_all() {
        assert!(chosen(&[]).is_empty());
        // The newest of each comes first, and is the last one in the object.
        assert_eq!(chosen(&[&[(1, 10), (2, 10)], &[], &[(3, 10)]]), [(2, 10), (3, 10), (1, 10)]);
        // What is in two places is there once.
        assert_eq!(chosen(&[&[(1, 10)], &[(1, 10), (2, 10)]]), [(2, 10), (1, 10)]);
        // What the others leave is anybody's.
        assert_eq!(chosen(&[&[(1, MOST - 10)], &[(2, 10)]]), [(1, MOST - 10), (2, 10)]);
        assert_eq!(chosen(&[&[(1, MOST)]]), [(1, MOST)]);
        // No more than it may have.
        assert_eq!(chosen(&[&[(1, MOST)], &[(2, MOST)]]), [(1, MOST)]);
        let many: Vec<(u8, usize)> = (1..=20).map(|number| (number, 1)).collect();
        assert_eq!(chosen(&[&many]).len(), EvidenceObject::MAX_PIECES);
    }
}
