//! Attestations that only GitHub's API has: who is asked for an image's, and how its answers are read.
//!
//! A workflow's attestation isn't beside the image unless the workflow pushes it there. Nothing of an answer is believed: the policy
//! verifies it. [The API][api] hands out bundles in its answers or, as it does now, the URL of each, where it is packed.
//!
//! [api]: https://docs.github.com/en/rest/repos/attestations#list-attestations

use crate::image::UsedImages;
use crate::settings::GithubAttestations;
use image_admission_image::matches_image;
use image_admission_settings::EvidenceObject;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::value::RawValue;
use snap::raw::{Decoder, decompress_len};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The most pages of attestations of one digest that are read.
pub const MAX_PAGES: usize = 4;
/// The most attestations on a page.
const PER_PAGE: usize = 16;
/// The most attestations of one digest that are looked at.
pub const MAX_ATTESTATIONS: usize = MAX_PAGES * PER_PAGE;
/// The most bytes of a page. Some APIs have the bundles themselves in it.
pub const MAX_PAGE_BYTES: u64 = 8 * 1024 * 1024;
/// The most bytes of a bundle, packed or not: what can't be packed is longer than before by a sixth at most.
pub const MAX_BUNDLE_BYTES: u64 = (EvidenceObject::MAX_BYTES + EvidenceObject::MAX_BYTES / 6 + 32) as u64;

/// A repository of GitHub whose attestations are asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GithubRepository {
    api: String,
    /// `owner/name`
    pub name: String,
}

/// An attestation in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listed {
    /// Its bundle, as JSON.
    Bundle(String),
    /// The URL of its bundle.
    At(String),
}

/// Why an answer can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It is no list of attestations, or one of them has neither a bundle nor its URL.
    #[error("it is no list of attestations with bundles")]
    NoList,
    /// The bundle is neither JSON nor a block of Snappy.
    #[error("the bundle is neither JSON nor packed by Snappy")]
    NotPacked,
    /// The bundle has too many bytes. Holds them, as the block says.
    #[error("the bundle has {0} bytes, and {max} are the most", max = EvidenceObject::MAX_BYTES)]
    TooLarge(usize),
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    attestations: Vec<Attestation<'a>>,
}

#[derive(Deserialize)]
struct Attestation<'a> {
    #[serde(borrow, default)]
    bundle: Option<&'a RawValue>,
    #[serde(default)]
    bundle_url: Option<String>,
}

impl GithubAttestations {
    /// The repositories that may have attestations of a digest that is used in these images, each with the namespaces that use those.
    pub(crate) fn repositories_of(&self, images: &UsedImages) -> BTreeMap<GithubRepository, BTreeSet<String>> {
        let api = self.api.trim_end_matches('/');
        let mut repositories: BTreeMap<GithubRepository, BTreeSet<String>> = BTreeMap::new();
        for of in &self.repositories {
            for (_, namespaces) in images.iter().filter(|(image, _)| matches_image(&of.images, image)) {
                let repository = GithubRepository { api: api.to_owned(), name: of.repository.clone() };
                repositories.entry(repository).or_default().extend(namespaces.iter().cloned());
            }
        }
        repositories
    }

    /// The host of the API.
    pub(crate) fn host(&self) -> &str {
        host(&self.api)
    }
}

impl GithubRepository {
    /// The URL of a page of the attestations of a digest: of the first one, or from a cursor on.
    #[must_use]
    pub fn page(&self, digest: &str, cursor: Option<&str>) -> String {
        let Self { api, name } = self;
        let from = cursor.map(|cursor| format!("&after={}", utf8_percent_encode(cursor, NON_ALPHANUMERIC)));
        let from = from.unwrap_or_default();
        format!("{api}/repos/{name}/attestations/{digest}?per_page={PER_PAGE}{from}")
    }

    /// The host of its API.
    #[must_use]
    pub fn host(&self) -> &str {
        host(&self.api)
    }
}

/// The attestations on a page.
///
/// # Errors
/// It is no such page. One that can't be read may have had everything.
pub fn read_page(bytes: &[u8]) -> Result<Vec<Listed>, AnswerError> {
    let page: Page<'_> = serde_json::from_slice(bytes).map_err(|_| AnswerError::NoList)?;
    let listed = page.attestations.into_iter().map(|attestation| match attestation {
        Attestation { bundle: Some(bundle), .. } => Ok(Listed::Bundle(bundle.get().to_owned())),
        Attestation { bundle_url: Some(url), .. } => Ok(Listed::At(url)),
        Attestation { bundle: None, bundle_url: None } => Err(AnswerError::NoList),
    });
    listed.collect()
}

/// The bundle in what its URL hands out: JSON, or a block of Snappy without its frame.
///
/// # Errors
/// It is neither, or larger than an object may have it.
pub fn unpack(bytes: &[u8]) -> Result<Cow<'_, [u8]>, AnswerError> {
    // As the length of a block, this is less than any bundle has.
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(Cow::Borrowed(bytes));
    }
    let length = decompress_len(bytes).map_err(|_| AnswerError::NotPacked)?;
    if length > EvidenceObject::MAX_BYTES {
        return Err(AnswerError::TooLarge(length));
    }
    Decoder::new().decompress_vec(bytes).map(Cow::Owned).map_err(|_| AnswerError::NotPacked)
}

/// The host of a URL, with its port.
fn host(url: &str) -> &str {
    url.split('/').nth(2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::AttestedImages;
    use serde_json::json;
    use snap::raw::Encoder;

    /// The names of the repositories that are asked about an image at a digest.
    fn asked(repositories: &[(&str, &str)], images: &[&str]) -> Vec<String> {
        let repositories = repositories.iter().map(|(images, repository)| AttestedImages {
            images: (*images).to_owned(),
            repository: (*repository).to_owned(),
        });
        let github = GithubAttestations { repositories: repositories.collect(), ..GithubAttestations::default() };
        let digest = "1".repeat(64);
        let images =
            images.iter().map(|image| (format!("{image}@sha256:{digest}"), BTreeSet::from(["shop".to_owned()])));
        github.repositories_of(&images.collect()).into_keys().map(|repository| repository.name).collect()
    }

    #[test]
    fn who_is_asked_about_an_image() {
        let none = [""; 0];
        let app = ("ghcr.io/team/app", "team/app");
        assert_eq!(asked(&[app], &["ghcr.io/team/app"]), ["team/app"]);
        assert_eq!(asked(&[app], &["ghcr.io/team/app2"]), none);
        assert_eq!(asked(&[app], &["ghcr.io/team/app/api"]), none);
        assert_eq!(asked(&[app], &["ghcr.io.evil.test/team/app"]), none);
        assert_eq!(asked(&[("ghcr.io/team/*", "team/all")], &["ghcr.io/team/app/api"]), ["team/all"]);
        assert_eq!(asked(&[("ghcr.io/team/*", "team/all")], &["ghcr.io/teamevil/app"]), none);
        assert_eq!(asked(&[("team/*", "team/all")], &["docker.io/team/app"]), ["team/all"]);
        // Whatever tag the settings name, the digest is all that is left of an image.
        assert_eq!(asked(&[("ghcr.io/team/app:1", "team/app")], &["ghcr.io/team/app"]), ["team/app"]);
        // Each once, and all of them.
        let all = [app, ("ghcr.io/team/*", "team/all"), ("quay.io/team/app", "team/app"), ("quay.io/*", "team/quay")];
        assert_eq!(asked(&all, &["ghcr.io/team/app", "quay.io/team/app"]), ["team/all", "team/app", "team/quay"]);
        assert_eq!(asked(&[], &["ghcr.io/team/app"]), none);
    }

    #[test]
    fn where_attestations_are() {
        let of = |api: &str| GithubRepository { api: api.to_owned(), name: "team/app".to_owned() };
        let public = of("https://api.github.com");
        assert_eq!(
            public.page("sha256:ab", None),
            "https://api.github.com/repos/team/app/attestations/sha256:ab?per_page=16"
        );
        assert_eq!(
            public.page("sha256:ab", Some("a=&b/../#?")),
            "https://api.github.com/repos/team/app/attestations/sha256:ab?per_page=16&after=a%3D%26b%2F%2E%2E%2F%23%3F"
        );
        for (api, host) in [
            ("https://api.github.com", "api.github.com"),
            ("https://git.team.example:8443/api/v3/", "git.team.example:8443"),
        ] {
            assert_eq!(of(api).host(), host);
        }
        let api = "https://git.team.example/api/v3/".to_owned();
        let images = AttestedImages { images: "*".to_owned(), repository: "team/app".to_owned() };
        let github = GithubAttestations { api, repositories: vec![images] };
        let images = BTreeMap::from([("ghcr.io/a".to_owned(), BTreeSet::from(["shop".to_owned()]))]);
        let (repository, namespaces) = github.repositories_of(&images).pop_first().unwrap();
        assert_eq!(namespaces, images["ghcr.io/a"]);
        assert_eq!(
            repository.page("sha256:ab", None),
            "https://git.team.example/api/v3/repos/team/app/attestations/sha256:ab?per_page=16"
        );
    }

    #[test]
    fn pages() {
        let at = |url: &str| Listed::At(url.to_owned());
        for (page, expected) in [
            (r#"{"attestations": []}"#, vec![]),
            (
                r#"{"attestations": [{"bundle": {"a": 1}, "repository_id": 1}]}"#,
                vec![Listed::Bundle(r#"{"a": 1}"#.to_owned())],
            ),
            (
                r#"{"attestations": [{"bundle": null, "bundle_url": "https://a.test/b?c"}]}"#,
                vec![at("https://a.test/b?c")],
            ),
            (
                r#"{"attestations": [{"bundle_url": "a\u0026b"}, {"bundle_url": "c"}], "more": 1}"#,
                vec![at("a&b"), at("c")],
            ),
            // What is there already isn't fetched.
            (r#"{"attestations": [{"bundle": {}, "bundle_url": "a"}]}"#, vec![Listed::Bundle("{}".to_owned())]),
        ] {
            assert_eq!(read_page(page.as_bytes()), Ok(expected), "{page}");
        }
    }

    #[test]
    fn what_is_no_page() {
        for page in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"message": "Not Found"}"#,
            r#"{"attestations": null}"#,
            r#"{"attestations": {}}"#,
            r#"{"attestations": [null]}"#,
            r#"{"attestations": [{}]}"#,
            r#"{"attestations": [{"bundle": null}]}"#,
            r#"{"attestations": [{"bundle": null, "bundle_url": null}]}"#,
            r#"{"attestations": [{"bundle_url": 1}]}"#,
            r#"{"attestations": [{"bundle_url": "a", "bundle_url": "b"}]}"#,
            r#"{"attestations": [{"bundle_url": "a"}, {}]}"#,
            r#"{"attestations": [{"bundle_url": "a"}"#,
        ] {
            assert_eq!(read_page(page.as_bytes()), Err(AnswerError::NoList), "{page}");
        }
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        Encoder::new().compress_vec(bytes).unwrap()
    }

    #[test]
    fn bundles_that_are_packed_or_not() {
        let bundle = json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "text": "a".repeat(500)});
        let bundle = bundle.to_string().into_bytes();
        assert!(packed(&bundle).len() < 200);
        assert_eq!(unpack(&packed(&bundle)).unwrap(), bundle);
        assert_eq!(unpack(&bundle).unwrap(), bundle);
        assert_eq!(unpack(b"\n {}").unwrap(), b"\n {}".as_slice());
        // The largest, of what can't be packed well: it can still be asked for.
        let mut number = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            number.to_be_bytes()[0]
        })
        .take(EvidenceObject::MAX_BYTES)
        .collect();
        let block = packed(&noise);
        assert!(block.len() > noise.len() && block.len() as u64 <= MAX_BUNDLE_BYTES, "{}", block.len());
        assert_eq!(unpack(&block).unwrap(), noise);
    }

    #[test]
    fn blocks_that_are_none() {
        let block = packed(&[b'a'; 1_000]);
        let with_length = |length: &[u8]| [length, block.get(2..).unwrap()].concat();
        assert_eq!(unpack(&with_length(&[0xe8, 0x07])).unwrap(), [b'a'; 1_000].as_slice());
        for (bytes, expected) in [
            (Vec::new(), AnswerError::NotPacked),
            (b"<html>".to_vec(), AnswerError::NotPacked),
            (vec![0x80], AnswerError::NotPacked),
            (vec![0xff; 20], AnswerError::NotPacked),
            // Cut off, and with more behind it.
            (block.get(..block.len() - 1).unwrap().to_vec(), AnswerError::NotPacked),
            ([block.as_slice(), b"a"].concat(), AnswerError::NotPacked),
            // Its length is another one.
            (with_length(&[0xe7, 0x07]), AnswerError::NotPacked),
            (with_length(&[0xe9, 0x07]), AnswerError::NotPacked),
            // A small block that says it is large, and one that is.
            (with_length(&[0x81, 0x80, 0x40]), AnswerError::TooLarge(EvidenceObject::MAX_BYTES + 1)),
            (with_length(&[0xff, 0xff, 0xff, 0xff, 0x0f]), AnswerError::TooLarge(u32::MAX as usize)),
            (packed(&vec![0; 100 << 20]), AnswerError::TooLarge(100 << 20)),
            // With the frame of a file.
            (b"\xff\x06\x00\x00sNaPpY".to_vec(), AnswerError::NotPacked),
        ] {
            assert_eq!(unpack(&bytes), Err(expected), "{:?}", bytes.get(..20).unwrap_or(&bytes));
        }
    }
}
