//! Registries that send elsewhere.

use std::sync::{Arc, Mutex, OnceLock};

use image_admission_registry_reader::{Flaw, ReadFailure};

use crate::stub::{Reply, Request, Stub};
use crate::{LOGIN, MANIFEST, digest_of, document, image, manifest, reader, reader_with_login};

const BLOB: &[u8] = b"abc";

/// A registry that wants a login and then sends to a URL.
fn sends_to(status: u16, location: String) -> Stub {
    Stub::start(move |request| match request.authorization {
        None => Reply::Full(401, vec!["WWW-Authenticate: Basic realm=\"a\"".to_owned()], Vec::new()),
        Some(_) => Reply::redirect(status, &location),
    })
}

/// Somebody who answers everything.
fn elsewhere() -> Stub {
    Stub::start(|request| match request.path.contains("manifests") {
        true => document(MANIFEST, &manifest()),
        false => Reply::Full(200, Vec::new(), BLOB.to_owned()),
    })
}

fn logins(seen: &[Request]) -> Vec<Option<&str>> {
    seen.iter().map(|request| request.authorization.as_deref()).collect()
}

#[tokio::test]
async fn the_login_stays_at_the_registry() {
    for status in [301, 302, 307, 308] {
        let storage = elsewhere();
        let registry = sends_to(status, format!("http://{}/storage?signature=a", storage.address));
        let (reader, _folder) = reader_with_login(&[&registry.address]);
        let read = reader.blob(&image(&registry, ":1"), &digest_of(BLOB), 3).await;
        assert_eq!(read.as_deref(), Ok(BLOB), "{status}");
        assert_eq!(logins(&registry.seen()), [None, Some(LOGIN)], "{status}");
        assert_eq!(logins(&storage.seen()), [None], "{status}");
    }
}

/// As registry.k8s.io does, whose manifests are all at other registries.
#[tokio::test]
async fn manifests_may_be_elsewhere_too() {
    let other = elsewhere();
    let registry = sends_to(307, format!("http://{}/v2/copy/team/app/manifests/1", other.address));
    let (reader, _folder) = reader_with_login(&[&registry.address]);
    assert_eq!(reader.manifest(&image(&registry, ":1")).await.unwrap().bytes, manifest());
    assert_eq!(reader.digest(&image(&registry, ":1")).await, Ok(digest_of(&manifest())));
    assert_eq!(logins(&other.seen()), [None, None]);
}

/// A host that asks for a login itself doesn't get any.
#[tokio::test]
async fn who_is_sent_to_gets_no_login() {
    let other = Stub::start(|_| Reply::Full(401, vec!["WWW-Authenticate: Basic realm=\"a\"".to_owned()], Vec::new()));
    let registry = sends_to(307, format!("http://{}/storage", other.address));
    let (reader, _folder) = reader_with_login(&[&registry.address, &other.address]);
    let read = reader.blob(&image(&registry, ":1"), &digest_of(BLOB), 3).await;
    assert_eq!(read, Err(ReadFailure::Refused));
    assert_eq!(logins(&other.seen()), [None]);
}

/// Nor can it have a token asked for.
#[tokio::test]
async fn who_is_sent_to_gets_no_token() {
    let registry = Arc::new(OnceLock::<String>::new());
    let own = Arc::clone(&registry);
    let other = Stub::start(move |_| {
        let header = format!("WWW-Authenticate: Bearer realm=\"http://{}/token\"", own.wait());
        Reply::Full(401, vec![header], Vec::new())
    });
    let location = format!("http://{}/storage", other.address);
    let stub = Stub::start(move |_| Reply::redirect(307, &location));
    registry.set(stub.address.clone()).unwrap();
    let (reader, _folder) = reader_with_login(&[&stub.address, &other.address]);
    let read = reader.blob(&image(&stub, ":1"), &digest_of(BLOB), 3).await;
    assert_eq!(read, Err(ReadFailure::Refused));
    assert_eq!((stub.seen().len(), other.seen().len()), (1, 1));
}

#[tokio::test]
async fn addresses_that_no_registry_sends_to() {
    let trap = elsewhere();
    let port = trap.address.rsplit_once(':').unwrap().1.to_owned();
    for location in [
        // These reach this machine as well as its own address does.
        format!("http://0.0.0.0:{port}/storage"),
        format!("http://0:{port}/storage"),
        format!("http://[::]:{port}/storage"),
        format!("http://[::ffff:0:0]:{port}/storage"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::ffff:169.254.169.254]/latest/meta-data/".to_owned(),
        "http://0xa9fea9fe/latest/meta-data/".to_owned(),
        // A registry on this machine isn't one of the network behind it.
        "http://10.0.0.1/storage".to_owned(),
        "http://192.168.0.1/storage".to_owned(),
        "http://[fd00::1]/storage".to_owned(),
    ] {
        let registry = sends_to(307, location.clone());
        let (reader, _folder) = reader_with_login(&[&registry.address]);
        let expected = ReadFailure::Invalid(Flaw::Address);
        let blob = reader.blob(&image(&registry, ":1"), &digest_of(BLOB), 3).await;
        assert_eq!(blob, Err(expected.clone()), "{location}");
        assert_eq!(reader.manifest(&image(&registry, ":1")).await, Err(expected), "{location}");
    }
    assert_eq!(trap.seen(), []);
}

#[tokio::test]
async fn redirects_have_an_end() {
    // `/v2/…` leads to `/3`, that to `/2`, and so on.
    for (first, expected) in [(2, Ok(BLOB.to_vec())), (3, Err(ReadFailure::Invalid(Flaw::Redirect)))] {
        let stub = Stub::start(move |request| match request.path.trim_start_matches('/').parse::<u32>() {
            Ok(0) => Reply::Full(200, Vec::new(), BLOB.to_owned()),
            Ok(number) => Reply::redirect(307, &format!("/{}", number - 1)),
            Err(_) => Reply::redirect(307, &format!("/{first}")),
        });
        assert_eq!(reader().blob(&image(&stub, ":1"), &digest_of(BLOB), 3).await, expected, "{first}");
        assert_eq!(stub.seen().len(), 4, "{first}");
    }
}

#[tokio::test]
async fn redirects_that_are_none() {
    for (reply, flaw) in [
        (Reply::status(307), Flaw::Redirect),
        (Reply::redirect(307, "file:///etc/passwd"), Flaw::Redirect),
        (Reply::redirect(307, "http://["), Flaw::Redirect),
        (Reply::redirect(303, "/elsewhere"), Flaw::Status(303)),
        (Reply::redirect(300, "/elsewhere"), Flaw::Status(300)),
    ] {
        let once = Mutex::new(Some(reply));
        let stub = Stub::start(move |_| once.lock().unwrap().take().unwrap());
        let read = reader().blob(&image(&stub, ":1"), &digest_of(BLOB), 3).await;
        assert_eq!(read, Err(ReadFailure::Invalid(flaw)));
        assert_eq!(stub.seen().len(), 1);
    }
}
