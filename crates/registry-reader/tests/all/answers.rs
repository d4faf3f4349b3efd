//! Answers that are no manifests, no blobs, or no answers at all.

use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use image_admission_image::ImageReference;
use image_admission_registry_reader::{Flaw, MAX_BLOB_BYTES, MAX_MANIFEST_BYTES, Outage, ReadFailure};

use crate::stub::{Reply, Stub};
use crate::{INDEX, MANIFEST, digest_of, document, image, manifest, reader};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\n";

fn head_and(rest: &[u8]) -> Vec<u8> {
    [HEAD, rest].concat()
}

#[tokio::test]
async fn honest_answers() {
    let index = serde_json::json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}).to_string().into_bytes();
    let own = index.clone();
    let stub = Stub::start(move |request| match request.path.as_str() {
        "/v2/team/app/manifests/index" => document(INDEX, &own),
        "/v2/team/app/blobs/sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" => {
            Reply::Full(200, Vec::new(), b"abc".to_vec())
        }
        _ => document(MANIFEST, &manifest()),
    });
    let reader = reader();
    let digest = digest_of(&manifest());
    for (named, media_type, bytes) in [
        (":1".to_owned(), MANIFEST, manifest()),
        (format!(":1@{digest}"), MANIFEST, manifest()),
        (":index".to_owned(), INDEX, index),
    ] {
        let read = reader.manifest(&image(&stub, &named)).await.unwrap();
        assert_eq!((read.media_type.as_str(), &read.bytes), (media_type, &bytes), "{named}");
        assert_eq!(read.digest, digest_of(&bytes), "{named}");
        assert_eq!(reader.digest(&image(&stub, &named)).await.unwrap(), read.digest, "{named}");
    }
    assert_eq!(stub.seen()[2].path, format!("/v2/team/app/manifests/{digest}"));
    assert_eq!(reader.blob(&image(&stub, ":1"), &digest_of(b"abc"), 3).await.unwrap(), b"abc");
}

#[tokio::test]
async fn manifests_that_are_not_read() {
    let late = Duration::from_millis(50);
    let chunked = || head_and(b"Transfer-Encoding: chunked\r\n\r\n");
    let megabyte = || [b"100000\r\n".to_vec(), vec![b' '; 0x10_0000], b"\r\n".to_vec()].concat();
    let cases: [(&str, Flaw, Reply); 9] = [
        (
            "a length of 1 GB",
            Flaw::TooLarge(MAX_MANIFEST_BYTES),
            Reply::Endless(head_and(b"Content-Length: 1073741824\r\n\r\n"), vec![b' '; 0x10_0000], Duration::ZERO),
        ),
        (
            "no length, and no end",
            Flaw::TooLarge(MAX_MANIFEST_BYTES),
            Reply::Endless(chunked(), megabyte(), Duration::ZERO),
        ),
        ("HTML", Flaw::Json, Reply::Full(200, Vec::new(), b"<html></html>".to_vec())),
        (
            "another kind of JSON",
            Flaw::MediaType,
            Reply::Full(200, vec!["Content-Type: application/json".to_owned()], b"{\"errors\": []}".to_vec()),
        ),
        (
            "a digest of other bytes",
            Flaw::Digest,
            Reply::Full(200, vec![format!("Docker-Content-Digest: {}", digest_of(b"other"))], manifest()),
        ),
        (
            "a digest that is none",
            Flaw::Digest,
            Reply::Full(200, vec!["Docker-Content-Digest: sha256:ab".to_owned()], manifest()),
        ),
        ("a status without a meaning", Flaw::Status(418), Reply::status(418)),
        ("a part of something", Flaw::Status(206), Reply::status(206)),
        ("a login that nobody knows", Flaw::Challenge, Reply::status(401)),
    ];
    for (name, flaw, reply) in cases {
        expect(name, reply, ReadFailure::Invalid(flaw)).await;
    }
    for (name, outage, reply) in [
        ("silence", Outage::Timeout, Reply::Silence),
        ("a head without an end", Outage::Timeout, Reply::Endless(HEAD.to_vec(), b"A: a\r\n".to_vec(), late)),
        (
            "a body that drips",
            Outage::Timeout,
            Reply::Endless(head_and(b"Content-Length: 1000000\r\n\r\n"), b" ".to_vec(), late),
        ),
        (
            "headers without measure",
            Outage::Connection,
            Reply::Endless(HEAD.to_vec(), [b"A: ".to_vec(), vec![b'a'; 0x10_0000], b"\r\n".to_vec()].concat(), late),
        ),
        ("half of a body", Outage::Connection, Reply::Raw(head_and(b"Content-Length: 1000\r\n\r\n{"))),
        ("half of a head", Outage::Connection, Reply::Raw(HEAD.to_vec())),
        ("no HTTP", Outage::Connection, Reply::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec())),
        ("nothing", Outage::Connection, Reply::Raw(Vec::new())),
        ("a failure", Outage::Status(500), Reply::status(500)),
        ("a failure of a proxy", Outage::Status(503), Reply::status(503)),
    ] {
        expect(name, reply, ReadFailure::Outage(outage)).await;
    }
    for status in [403, 404] {
        let failure = if status == 404 { ReadFailure::NotFound } else { ReadFailure::Refused };
        // What it says besides is never looked at.
        let body = Reply::Endless(format!("HTTP/1.1 {status} x\r\n\r\n").into_bytes(), vec![b'a'; 0x10_0000], late);
        expect("an endless reason", body, failure).await;
    }
}

/// Expects a failure, soon, and before much was sent.
async fn expect(name: &str, reply: Reply, failure: ReadFailure) {
    let once = Mutex::new(Some(reply));
    let stub = Stub::start(move |_| once.lock().unwrap().take().unwrap());
    let started = Instant::now();
    let read = reader().manifest(&image(&stub, ":1")).await;
    assert_eq!(read, Err(failure), "{name}");
    assert!(started.elapsed() < Duration::from_secs(3), "{name}: {:?}", started.elapsed());
    assert!(stub.sent() < 32 << 20, "{name}: {} bytes", stub.sent());
}

#[tokio::test]
async fn another_manifest_than_the_digest_names() {
    let stub = Stub::start(|_| Reply::Full(200, vec![format!("Content-Type: {MANIFEST}")], manifest()));
    let named = format!("@{}", digest_of(b"other"));
    let expected = ReadFailure::Invalid(Flaw::Digest);
    assert_eq!(reader().manifest(&image(&stub, &named)).await, Err(expected.clone()));
    assert_eq!(reader().digest(&image(&stub, &named)).await, Err(expected));
}

#[tokio::test]
async fn registries_that_do_not_say_a_digest() {
    let expected = digest_of(&manifest());
    for status in [200, 405] {
        let stub = Stub::start(move |request| match request.method.as_str() {
            "HEAD" => Reply::status(status),
            _ => document(MANIFEST, &manifest()),
        });
        assert_eq!(reader().digest(&image(&stub, ":1")).await.unwrap(), expected, "{status}");
        let methods: Vec<_> = stub.seen().into_iter().map(|request| request.method).collect();
        assert_eq!(methods, ["HEAD", "GET"], "{status}");
    }
    // What isn't there isn't asked for twice.
    let stub = Stub::start(|_| Reply::status(404));
    assert_eq!(reader().digest(&image(&stub, ":1")).await, Err(ReadFailure::NotFound));
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn blobs_that_are_not_read() {
    let invalid = ReadFailure::Invalid;
    for (name, body, size, failure) in [
        ("other bytes", b"abd".to_vec(), 3, invalid(Flaw::Digest)),
        ("more bytes", b"abcd".to_vec(), 3, invalid(Flaw::Size)),
        ("fewer bytes", b"ab".to_vec(), 3, invalid(Flaw::Size)),
        ("a larger descriptor", b"abc".to_vec(), MAX_BLOB_BYTES + 1, invalid(Flaw::TooLarge(MAX_BLOB_BYTES))),
    ] {
        let stub = Stub::start(move |_| Reply::Full(200, Vec::new(), body.clone()));
        let read = reader().blob(&image(&stub, ":1"), &digest_of(b"abc"), size).await;
        assert_eq!(read, Err(failure), "{name}");
    }
    let stub = Stub::start(|_| Reply::status(200));
    let read = reader().blob(&image(&stub, ":1"), "sha256:ab/../../../other", 3).await;
    assert_eq!(read, Err(invalid(Flaw::Digest)));
    assert_eq!(stub.seen(), []);
}

#[tokio::test]
async fn registries_that_want_to_be_left_alone() {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() + 120;
    let date = chrono::DateTime::from_timestamp(i64::try_from(seconds).unwrap(), 0).unwrap();
    let date = date.format("%a, %d %b %Y %H:%M:%S GMT");
    for (header, least, most) in [("Retry-After: 120".to_owned(), 119, 121), (format!("Retry-After: {date}"), 117, 121)]
    {
        let stub = Stub::start(move |_| Reply::Full(429, vec![header.clone()], Vec::new()));
        let failure = reader().digest(&image(&stub, ":1")).await.unwrap_err();
        let ReadFailure::RateLimited { until: Some(until) } = failure else { panic!("{failure:?}") };
        let pause = until.duration_since(SystemTime::now()).unwrap().as_secs();
        assert!((least..=most).contains(&pause), "{pause}");
        assert_eq!(stub.seen().len(), 1);
    }
    let stub = Stub::start(|_| Reply::status(429));
    let failure = reader().digest(&image(&stub, ":1")).await;
    assert_eq!(failure, Err(ReadFailure::RateLimited { until: None }));
}

/// What isn't named is asked over TLS alone.
#[tokio::test]
async fn no_tls_where_it_must_be() {
    let stub = Stub::start_at("127.0.0.2", |_| document(MANIFEST, &manifest()));
    let connection = Err(ReadFailure::Outage(Outage::Connection));
    assert_eq!(reader().manifest(&image(&stub, ":1")).await, connection);
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let nobody = ImageReference::parse(&format!("{gone}/team/app")).unwrap();
    assert_eq!(reader().manifest(&nobody).await, connection);
}

#[tokio::test]
async fn registries_where_no_registry_is() {
    for host in ["169.254.169.254", "0.0.0.0:5000", "[::ffff:a9fe:a9fe]", "[fe80::1]:5000"] {
        let image = ImageReference::parse(&format!("{host}/team/app")).unwrap();
        assert_eq!(reader().digest(&image).await, Err(ReadFailure::Invalid(Flaw::Address)), "{host}");
    }
}
