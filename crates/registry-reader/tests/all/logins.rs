//! Registries that want a login, and those that would have it sent elsewhere.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use image_admission_image::ImageReference;
use image_admission_registry_reader::{Flaw, Outage, ReadFailure};

use crate::stub::{Reply, Request, Stub};
use crate::{LOGIN, MANIFEST, document, image, manifest, reader, reader_with_login};

/// What asks for a token of a realm.
fn bearer(realm: &str) -> Reply {
    let header = format!("WWW-Authenticate: Bearer realm=\"{realm}\",service=\"the service\"");
    Reply::Full(401, vec![header], Vec::new())
}

/// A registry with its own realm at `/token`, which answers this.
fn with_realm(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Stub {
    // The realm needs the address, which is known after the start.
    let address = Arc::new(OnceLock::<String>::new());
    let own = Arc::clone(&address);
    let stub = Stub::start(move |request| {
        if request.path.starts_with("/token") {
            return answer(request);
        }
        match request.authorization.as_deref() {
            Some("Bearer good") => document(MANIFEST, &manifest()),
            _ => bearer(&format!("http://{}/token?account=a", own.wait())),
        }
    });
    address.set(stub.address.clone()).unwrap();
    stub
}

fn token(token: &str, more: &str) -> Reply {
    Reply::Full(200, Vec::new(), format!("{{\"token\": \"{token}\"{more}}}").into_bytes())
}

fn asked_for_tokens(stub: &Stub) -> Vec<Request> {
    stub.seen().into_iter().filter(|request| request.path.starts_with("/token")).collect()
}

#[tokio::test]
async fn a_token_is_asked_for_once_for_each_repository() {
    let stub = with_realm(|_| token("good", ""));
    let (reader, _folder) = reader_with_login(&[&stub.address]);
    for _ in 0..3 {
        assert_eq!(reader.manifest(&image(&stub, ":1")).await.unwrap().bytes, manifest());
    }
    let other = ImageReference::parse(&format!("{}/other:1", stub.address)).unwrap();
    assert_eq!(reader.manifest(&other).await.unwrap().bytes, manifest());
    let expected = ["team%2Fapp", "other"].map(|repository| Request {
        method: "GET".to_owned(),
        path: format!("/token?account=a&scope=repository%3A{repository}%3Apull&service=the+service"),
        authorization: Some(LOGIN.to_owned()),
    });
    assert_eq!(asked_for_tokens(&stub), expected);
    // Without a token once, then with it.
    assert_eq!(stub.seen().len(), 8);
}

#[tokio::test]
async fn a_token_that_ends_soon_is_not_kept() {
    let stub = with_realm(|_| token("good", ", \"expires_in\": 10"));
    let reader = reader();
    for _ in 0..2 {
        assert!(reader.manifest(&image(&stub, ":1")).await.is_ok());
    }
    let asked = asked_for_tokens(&stub);
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|request| request.authorization.is_none()));
}

#[tokio::test]
async fn a_token_that_is_no_longer_good_is_replaced() {
    let count = AtomicUsize::new(0);
    let stub = Stub::start(move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        match (number, request.authorization.as_deref()) {
            // Good at first, and then no more.
            (1 | 3, Some(_)) => document(MANIFEST, &manifest()),
            _ => Reply::Full(401, vec!["WWW-Authenticate: Basic realm=\"a\"".to_owned()], Vec::new()),
        }
    });
    let (reader, _folder) = reader_with_login(&[&stub.address]);
    for _ in 0..2 {
        assert!(reader.manifest(&image(&stub, ":1")).await.is_ok());
    }
    let logins: Vec<_> = stub.seen().into_iter().map(|request| request.authorization.is_some()).collect();
    assert_eq!(logins, [false, true, true, true]);
}

#[tokio::test]
async fn realms_that_give_no_token() {
    for (reply, failure) in [
        (token("bad", ""), ReadFailure::Refused),
        (Reply::status(401), ReadFailure::Refused),
        (Reply::status(403), ReadFailure::Refused),
        (Reply::status(404), ReadFailure::Refused),
        (Reply::redirect(307, "/elsewhere"), ReadFailure::Refused),
        (Reply::status(429), ReadFailure::RateLimited { until: None }),
        (Reply::status(503), ReadFailure::Outage(Outage::Status(503))),
        (Reply::Silence, ReadFailure::Outage(Outage::Timeout)),
        (Reply::Full(200, Vec::new(), b"<html>".to_vec()), ReadFailure::Invalid(Flaw::Token)),
        (token(&"a".repeat(2 << 20), ""), ReadFailure::Invalid(Flaw::TooLarge(1 << 20))),
        (token("a\\nb", ""), ReadFailure::Invalid(Flaw::Token)),
    ] {
        let once = Mutex::new(Some(reply));
        let stub = with_realm(move |_| once.lock().unwrap().take().unwrap());
        assert_eq!(reader().manifest(&image(&stub, ":1")).await, Err(failure));
        assert_eq!(asked_for_tokens(&stub).len(), 1);
    }
}

#[tokio::test]
async fn realms_that_are_not_asked() {
    let trap = Stub::start(|_| token("good", ""));
    let port = trap.address.rsplit_once(':').unwrap().1.to_owned();
    for (realm, flaw) in [
        // Plain HTTP is for the registry itself.
        (format!("http://{}/token", trap.address), Flaw::Challenge),
        (format!("http://localhost:{port}/token"), Flaw::Challenge),
        (format!("https://name:password@{}/token", trap.address), Flaw::Challenge),
        ("/token".to_owned(), Flaw::Challenge),
        (String::new(), Flaw::Challenge),
        (format!("https://0.0.0.0:{port}/token"), Flaw::Address),
        ("https://169.254.169.254/token".to_owned(), Flaw::Address),
        ("https://10.0.0.1/token".to_owned(), Flaw::Address),
    ] {
        let own = realm.clone();
        let registry = Stub::start(move |_| bearer(&own));
        let (reader, _folder) = reader_with_login(&[&registry.address, &trap.address]);
        let read = reader.manifest(&image(&registry, ":1")).await;
        assert_eq!(read, Err(ReadFailure::Invalid(flaw)), "{realm}");
        assert_eq!(registry.seen().len(), 1, "{realm}");
    }
    assert_eq!(trap.seen(), []);
}

#[tokio::test]
async fn registries_that_are_never_content() {
    let basic = || Reply::Full(401, vec!["WWW-Authenticate: Basic realm=\"a\"".to_owned()], Vec::new());
    let stub = Stub::start(move |_| basic());
    assert_eq!(reader().manifest(&image(&stub, ":1")).await, Err(ReadFailure::Refused));
    assert_eq!(stub.seen().len(), 1);
    let (reader, _folder) = reader_with_login(&[&stub.address]);
    assert_eq!(reader.manifest(&image(&stub, ":1")).await, Err(ReadFailure::Refused));
    assert_eq!(stub.seen().len(), 3);
    assert_eq!(stub.seen()[2].authorization.as_deref(), Some(LOGIN));
}
