//! A reader against registries on loopback that do what they shouldn't.

#![expect(clippy::unwrap_used, reason = "a test that can't go on must fail")]

mod answers;
mod api;
mod logins;
mod redirects;
mod referrers;
mod stub;

use std::fs;
use std::time::Duration;

use data_encoding::HEXLOWER;
use image_admission_image::ImageReference;
use image_admission_registry_reader::{Logins, Options, RegistryReader};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use crate::stub::{Reply, Stub};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// A reader without logins that isn't patient.
fn reader() -> RegistryReader {
    RegistryReader::new(options()).unwrap()
}

/// The stand-ins speak plain HTTP.
fn options() -> Options {
    let plain_http = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec();
    Options { plain_http, timeout: Duration::from_secs(1), ..Options::default() }
}

/// A reader with a login for these hosts: `name` and `password`.
fn reader_with_login(hosts: &[&str]) -> (RegistryReader, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let auths: serde_json::Map<_, _> =
        hosts.iter().map(|host| ((*host).to_owned(), serde_json::json!({"auth": "bmFtZTpwYXNzd29yZA=="}))).collect();
    fs::write(&path, serde_json::json!({"auths": auths}).to_string()).unwrap();
    let options = Options { logins: Logins::File(path), ..options() };
    (RegistryReader::new(options).unwrap(), folder)
}

/// `name:password`
const LOGIN: &str = "Basic bmFtZTpwYXNzd29yZA==";

/// A tag, or with an `@` a digest, of the repository `team/app`.
fn image(stub: &Stub, named: &str) -> ImageReference {
    ImageReference::parse(&format!("{}/team/app{named}", stub.address)).unwrap()
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(bytes)))
}

/// A manifest with its type and its digest.
fn manifest() -> Vec<u8> {
    serde_json::json!({"schemaVersion": 2, "mediaType": MANIFEST, "layers": []}).to_string().into_bytes()
}

/// An honest answer.
fn document(media_type: &str, bytes: &[u8]) -> Reply {
    let headers = vec![format!("Content-Type: {media_type}"), format!("Docker-Content-Digest: {}", digest_of(bytes))];
    Reply::Full(200, headers, bytes.to_owned())
}
