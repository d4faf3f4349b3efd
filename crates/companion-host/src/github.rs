//! Asks GitHub's API for attestations of an image. Nothing that it answers is logged.

use crate::evidence::{about, is_full, unavailable};
use crate::log::{line, write};
use image_admission_companion::evidence::{FetchFailure, NewPiece};
use image_admission_companion::github::{
    GithubRepository, Listed, MAX_ATTESTATIONS, MAX_BUNDLE_BYTES, MAX_PAGE_BYTES, MAX_PAGES, read_page, unpack,
};
use image_admission_companion::log::LogLevel;
use image_admission_module_host::piece::Piece;
use image_admission_registry_reader::{ApiAnswer, ApiQuestion, ApiToken, Flaw, ReadFailure, RegistryReader};

/// The media type of the API's answers.
const ACCEPT: &str = "application/vnd.github+json";

/// What a repository's workflows have attested of this digest, in the API's order.
pub(crate) async fn pieces_in(
    repository: &GithubRepository,
    digest: &str,
    registries: &RegistryReader,
    token: Option<&ApiToken>,
) -> Result<Vec<NewPiece>, ReadFailure> {
    let (mut pieces, mut looked_at, mut cursor) = (Vec::new(), 0, None);
    for _ in 0..MAX_PAGES {
        let url = repository.page(digest, cursor.as_deref());
        let question = ApiQuestion { url: &url, token, accept: ACCEPT, cursor: "after", most: MAX_PAGE_BYTES };
        let page = match registries.ask_api(&question).await {
            // There is none, or no repository that may be seen.
            Err(ReadFailure::NotFound) => break,
            page => page?,
        };
        for listed in read_page(&page.bytes).map_err(|_| ReadFailure::Invalid(Flaw::Json))? {
            if is_full(&pieces) || looked_at == MAX_ATTESTATIONS {
                return Ok(pieces);
            }
            looked_at += 1;
            if let Some(bundle) = bundle(listed, &page, registries).await? {
                pieces.extend(about(&Piece::all_in(&bundle).unwrap_or_default(), digest));
            }
        }
        cursor = page.next;
        if cursor.is_none() || is_full(&pieces) {
            break;
        }
    }
    Ok(pieces)
}

/// The bundle of an attestation, if it can be read. Any workflow can attest what can't.
async fn bundle(listed: Listed, page: &ApiAnswer, registries: &RegistryReader) -> Result<Option<Vec<u8>>, ReadFailure> {
    match listed {
        Listed::Bundle(bundle) => Ok(Some(bundle.into_bytes())),
        Listed::At(url) => match registries.ask_where_sent(page, &url, MAX_BUNDLE_BYTES).await {
            Ok(bytes) => Ok(unpack(&bytes).ok().map(|bundle| bundle.into_owned())),
            Err(ReadFailure::NotFound | ReadFailure::Invalid(_)) => Ok(None),
            Err(failure) => Err(failure),
        },
    }
}

/// Says why GitHub gives nothing.
pub(crate) fn failed(repository: &GithubRepository, digest: &str, failure: &ReadFailure) -> FetchFailure {
    let why = match failure {
        ReadFailure::NotFound | ReadFailure::Refused => "it refuses the request; check the token".to_owned(),
        ReadFailure::RateLimited { .. } => "it takes no more requests for now; with a token, it takes more".to_owned(),
        ReadFailure::Outage(outage) => format!("it can't be asked: {outage}"),
        ReadFailure::Invalid(flaw) => format!("its answer can't be used: {flaw}"),
    };
    let message = format!("cannot fetch the attestations of `{digest}` from GitHub's `{}`: {why}", repository.name);
    write(&line(LogLevel::Warning, &message));
    unavailable(repository.host(), failure)
}
