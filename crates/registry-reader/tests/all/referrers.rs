//! Lists of what refers to an image: in two places, on many pages, or without an end.

use std::sync::{Arc, Mutex, OnceLock};

use image_admission_registry_reader::{Flaw, MAX_REFERRERS, ReadFailure, Referrers};
use serde_json::json;

use crate::stub::{Reply, Request, Stub};
use crate::{INDEX, MANIFEST, digest_of, document, image, manifest, reader, reader_with_login};

/// A list of the artifacts with these numbers.
fn list(numbers: impl IntoIterator<Item = usize>) -> Vec<u8> {
    let entry = |number: usize| {
        json!({"mediaType": MANIFEST, "digest": digest(number), "size": number, "artifactType": "a/b",
            "annotations": {"a": "b"}})
    };
    let entries: Vec<_> = numbers.into_iter().map(entry).collect();
    json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).to_string().into_bytes()
}

fn digest(number: usize) -> String {
    digest_of(number.to_string().as_bytes())
}

/// A page of a list, and where it goes on.
fn page(numbers: impl IntoIterator<Item = usize>, next: &str) -> Reply {
    let headers = vec![format!("Content-Type: {INDEX}; charset=utf-8"), format!("Link: <{next}>; rel=\"next\"")];
    Reply::Full(200, headers, list(numbers))
}

/// The number of a page, in the query.
fn number(request: &Request) -> usize {
    request.path.split_once("?page=").map_or(0, |(_, number)| number.parse().unwrap())
}

fn is_tag(request: &Request) -> bool {
    request.path.starts_with("/v2/team/app/manifests/sha256-")
}

fn is_api(request: &Request) -> bool {
    request.path.starts_with(&format!("/v2/team/app/referrers/{}", digest(0)))
}

/// What is found beside artifact 0, by the numbers.
async fn found(stub: &Stub) -> Result<(Vec<usize>, bool), ReadFailure> {
    let Referrers { entries, is_complete } = reader().referrers(&image(stub, ":1"), &digest(0)).await?;
    for entry in &entries {
        assert_eq!(entry.digest, digest(usize::try_from(entry.size).unwrap()));
        assert_eq!((entry.media_type.as_str(), entry.artifact_type.as_deref()), (MANIFEST, Some("a/b")));
    }
    Ok((entries.iter().map(|entry| usize::try_from(entry.size).unwrap()).collect(), is_complete))
}

#[tokio::test]
async fn both_lists_and_all_pages() {
    let stub = Stub::start(|request| match number(request) {
        _ if is_tag(request) => document(INDEX, &list([1, 2])),
        _ if !is_api(request) => Reply::status(500),
        0 => page([2, 3], "?page=1"),
        1 => page([4, 3], &format!("/v2/team/app/referrers/{}?page=2", digest(0))),
        _ => document(INDEX, &list([5])),
    });
    assert_eq!(found(&stub).await, Ok((vec![1, 2, 3, 4, 5], true)));
}

#[tokio::test]
async fn registries_without_the_api() {
    let replies: [fn() -> Reply; 5] = [
        || Reply::status(404),
        || Reply::status(405),
        // As GHCR, which sends to a page of GitHub's.
        || Reply::redirect(303, "https://github.com/"),
        || Reply::redirect(302, "ftp://elsewhere.test/"),
        || Reply::Full(200, vec!["Content-Type: text/html".to_owned()], b"<html></html>".to_vec()),
    ];
    for reply in replies {
        let stub = Stub::start(move |request| if is_tag(request) { document(INDEX, &list([1])) } else { reply() });
        assert_eq!(found(&stub).await, Ok((vec![1], true)));
    }
    let stub = Stub::start(|_| Reply::status(404));
    assert_eq!(found(&stub).await, Ok((Vec::new(), true)));
    assert_eq!(stub.seen().len(), 2);
}

#[tokio::test]
async fn lists_without_an_end() {
    let stub = Stub::start(|request| match is_tag(request) {
        true => Reply::status(404),
        false => page([number(request) + 1], &format!("?page={}", number(request) + 1)),
    });
    assert_eq!(found(&stub).await, Ok(((1..=16).collect(), false)));
    assert_eq!(stub.seen().len(), 17);
    // The same page again and again.
    let stub = Stub::start(|request| if is_tag(request) { Reply::status(404) } else { page([1], "?page=0") });
    assert_eq!(found(&stub).await, Ok((vec![1], false)));
    assert_eq!(stub.seen().len(), 17);
    // More than are read.
    let stub = Stub::start(|request| match is_tag(request) {
        true => document(INDEX, &list([9_999])),
        false => page(1..=200, &format!("?page={}", number(request) + 1)),
    });
    let few = found(&stub).await.unwrap();
    assert_eq!((few.0.len(), few.1), (201, false));
    let stub = Stub::start(|request| match is_tag(request) {
        true => document(INDEX, &list([9_999])),
        false => {
            let first = number(request) * 200;
            page(first..first + 200, &format!("?page={}", number(request) + 1))
        }
    });
    let (most, is_complete) = found(&stub).await.unwrap();
    assert_eq!((most.len(), most[0], is_complete), (MAX_REFERRERS, 9_999, false));
    assert_eq!(stub.seen().len(), 3);
}

#[tokio::test]
async fn lists_that_go_on_elsewhere() {
    let trap = Stub::start(|_| document(INDEX, &list([1])));
    for next in [
        format!("http://{}/v2/team/app/referrers/{}", trap.address, digest(0)),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        format!("/v2/other/app/referrers/{}", digest(0)),
    ] {
        let own = next.clone();
        let stub = Stub::start(move |request| if is_tag(request) { Reply::status(404) } else { page([1], &own) });
        assert_eq!(found(&stub).await, Err(ReadFailure::Invalid(Flaw::Page)), "{next}");
        assert_eq!(stub.seen().len(), 2, "{next}");
    }
    assert_eq!(trap.seen(), []);
}

/// A host that a registry sends to doesn't become the registry by linking on to itself.
#[tokio::test]
async fn the_login_stays_at_the_registry_on_all_pages() {
    for (next, expected) in [("http://OTHER/?page=1", Err(ReadFailure::Invalid(Flaw::Page))), ("?page=1", Ok(2))] {
        let own = Arc::new(OnceLock::<String>::new());
        let address = Arc::clone(&own);
        let other = Stub::start(move |request| match number(request) {
            0 => page([1], &next.replace("OTHER", address.wait())),
            _ => document(INDEX, &list([2])),
        });
        own.set(other.address.clone()).unwrap();
        let address = other.address.clone();
        let stub = Stub::start(move |request| match request.authorization {
            None => Reply::Full(401, vec!["WWW-Authenticate: Basic realm=\"a\"".to_owned()], Vec::new()),
            Some(_) if is_tag(request) => Reply::status(404),
            Some(_) => Reply::redirect(307, &format!("http://{address}/?page={}", number(request))),
        });
        let (reader, _folder) = reader_with_login(&[&stub.address, &other.address]);
        let found = reader.referrers(&image(&stub, ":1"), &digest(0)).await;
        assert_eq!(found.map(|found| found.entries.len()), expected, "{next}");
        assert!(other.seen().iter().all(|request| request.authorization.is_none()), "{next}");
    }
}

#[tokio::test]
async fn lists_that_cannot_be_read() {
    let invalid = ReadFailure::Invalid;
    let typed = |body: &[u8]| Reply::Full(200, vec![format!("Content-Type: {INDEX}")], body.to_owned());
    let at_the_api: fn(&Request) -> bool = is_api;
    for (name, is_it, reply, failure) in [
        ("HTML that says it is a list", at_the_api, typed(b"<html>"), invalid(Flaw::Json)),
        ("no list", is_api, typed(b"{}"), invalid(Flaw::Json)),
        ("no list at the tag", is_tag, document(MANIFEST, &manifest()), invalid(Flaw::MediaType)),
        ("not allowed", is_api, Reply::status(403), ReadFailure::Refused),
        ("not allowed at the tag", is_tag, Reply::status(403), ReadFailure::Refused),
        ("too many", is_tag, Reply::status(429), ReadFailure::RateLimited { until: None }),
    ] {
        let once = Mutex::new(Some(reply));
        let stub = Stub::start(move |request| match is_it(request) {
            true => once.lock().unwrap().take().unwrap(),
            false => document(INDEX, &list([1])),
        });
        assert_eq!(found(&stub).await, Err(failure), "{name}");
    }
    // Later than on the first page, nothing means that there is no API.
    let stub = Stub::start(|request| match number(request) {
        _ if is_tag(request) => Reply::status(404),
        0 => page([1], "?page=1"),
        _ => Reply::status(404),
    });
    assert_eq!(found(&stub).await, Err(ReadFailure::NotFound));
}

#[tokio::test]
async fn tags_from_before_there_were_referrers() {
    let stub = Stub::start(|request| match request.path.rsplit_once('.') {
        Some((_, "sig" | "sbom")) => document(MANIFEST, &manifest()),
        _ => Reply::status(404),
    });
    let tags = reader().old_tags(&image(&stub, ":1"), &digest(0)).await.unwrap();
    assert_eq!(tags, [("sig", digest_of(&manifest())), ("sbom", digest_of(&manifest()))]);
    let expected = format!("/v2/team/app/manifests/{}.att", digest(0).replace(':', "-"));
    assert_eq!(stub.seen()[1].path, expected);
    let stub = Stub::start(|_| Reply::status(403));
    assert_eq!(reader().old_tags(&image(&stub, ":1"), &digest(0)).await, Err(ReadFailure::Refused));
}
