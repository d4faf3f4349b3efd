//! What can be read from registries, by [the distribution specification][spec].
//!
//! [spec]: https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#endpoints

use std::time::Duration;

use image_admission_image::{ImageReference, is_digest};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Url};

use crate::client::SetupError;
use crate::document::{Descriptor, INDEX, MANIFESTS, Manifest, check_digest, digest_of, entries};
use crate::exchange::{Answer, Exchanges, Login, Question};
use crate::failure::{Flaw, ReadFailure};
use crate::login::Logins;
use crate::page;

/// The most bytes of a manifest, and of a page of referrers.
pub const MAX_MANIFEST_BYTES: u64 = 4 * 1024 * 1024;
/// The most bytes of a blob.
pub const MAX_BLOB_BYTES: u64 = 5 * 1024 * 1024;
/// The most referrers of an image.
pub const MAX_REFERRERS: usize = 256;
/// The most pages of referrers.
const MAX_PAGES: usize = 16;

/// The registry behind `docker.io`.
const DOCKER_HUB_REGISTRY: &str = "registry-1.docker.io";
/// Where a registry says which digest a manifest has.
const CONTENT_DIGEST: &str = "docker-content-digest";
/// The ends of the tags at which tools put what belongs to an image before there were referrers, behind `sha256-<hex>`.
const OLD_TAGS: [&str; 3] = ["sig", "att", "sbom"];

/// How registries are asked.
#[derive(Clone, Debug)]
pub struct Options {
    /// The logins of registries.
    pub logins: Logins,
    /// Registries and APIs that speak plain HTTP, by their hosts with or without a port.
    pub plain_http: Vec<String>,
    /// Hosts that give tokens and get the login of any registry that sends there. Those of the registry itself, of the domain right
    /// above it, and Docker Hub's do in any case.
    pub realms: Vec<String>,
    /// How long one request may take with its login and its redirects.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { logins: Logins::default(), plain_http: Vec::new(), realms: Vec::new(), timeout: Duration::from_secs(10) }
    }
}

/// Reads registries. It can be shared by many tasks, and shares its connections and tokens with them.
#[derive(Debug)]
pub struct RegistryReader {
    pub(crate) exchanges: Exchanges,
    plain_http: Vec<String>,
}

/// What refers to an image, by the fallback tag and by the registry's API.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Referrers {
    /// Each once, those at the tag first. Anybody who may push to the repository may have put them there.
    pub entries: Vec<Descriptor>,
    /// Whether these are all: there may be more than are read.
    pub is_complete: bool,
}

impl RegistryReader {
    /// A reader that asks registries like this.
    ///
    /// # Errors
    /// TLS can't be set up: mostly this machine has no certificates of authorities.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        let exchanges = Exchanges::new(options.logins, options.realms, options.timeout)?;
        Ok(Self { exchanges, plain_http: options.plain_http })
    }

    /// The digest of what a reference names: of the index, if it has several platforms. A reference by digest names that digest, if
    /// the registry has it.
    ///
    /// # Errors
    /// The registry doesn't say it.
    pub async fn digest(&self, image: &ImageReference) -> Result<String, ReadFailure> {
        let answer = self.ask(Method::HEAD, image, &manifest_path(image), &MANIFESTS.join(", "), 0).await;
        match answer {
            Ok(answer) => {
                let said = content_digest(&answer)?;
                if let Some(said) = said.filter(|said| image.digest().is_none_or(|named| named == *said)) {
                    return Ok(said.to_owned());
                }
            }
            // Not every registry knows HEAD.
            Err(ReadFailure::Invalid(Flaw::Status(405))) => {}
            Err(failure) => return Err(failure),
        }
        Ok(self.manifest(image).await?.digest)
    }

    /// The manifest or index that a reference names.
    ///
    /// # Errors
    /// The registry doesn't hand it out, or its bytes don't have the digest that the reference or the registry names.
    pub async fn manifest(&self, image: &ImageReference) -> Result<Manifest, ReadFailure> {
        let path = manifest_path(image);
        let answer = self.ask(Method::GET, image, &path, &MANIFESTS.join(", "), MAX_MANIFEST_BYTES).await?;
        if let Some(said) = content_digest(&answer)? {
            check_digest(&answer.bytes, said)?;
        }
        let digest = match image.digest() {
            Some(digest) => {
                check_digest(&answer.bytes, digest)?;
                digest.to_owned()
            }
            None => digest_of(&answer.bytes),
        };
        let content_type = content_type(&answer).map(str::to_owned);
        Manifest::read(answer.bytes, content_type.as_deref(), digest)
    }

    /// The bytes of a blob in an image's repository, a configuration or a layer, by its descriptor's digest and size.
    ///
    /// # Errors
    /// The registry doesn't hand it out, it is larger than [`MAX_BLOB_BYTES`], or its bytes aren't those of the descriptor.
    pub async fn blob(&self, image: &ImageReference, digest: &str, size: u64) -> Result<Vec<u8>, ReadFailure> {
        if size > MAX_BLOB_BYTES {
            return Err(ReadFailure::Invalid(Flaw::TooLarge(MAX_BLOB_BYTES)));
        }
        if !is_digest(digest) {
            return Err(ReadFailure::Invalid(Flaw::Digest));
        }
        let answer = match self.ask(Method::GET, image, &format!("blobs/{digest}"), "*/*", size).await {
            Err(ReadFailure::Invalid(Flaw::TooLarge(_))) => return Err(ReadFailure::Invalid(Flaw::Size)),
            other => other?,
        };
        if answer.bytes.len() as u64 != size {
            return Err(ReadFailure::Invalid(Flaw::Size));
        }
        check_digest(&answer.bytes, digest)?;
        Ok(answer.bytes)
    }

    /// What refers to the manifest with this digest in an image's repository.
    ///
    /// # Errors
    /// One of the two lists can't be read. Having none is no error.
    pub async fn referrers(&self, image: &ImageReference, digest: &str) -> Result<Referrers, ReadFailure> {
        let mut referrers = Referrers { entries: Vec::new(), is_complete: true };
        match self.manifest_bytes(image, &fallback_tag(digest)?).await {
            Ok(index) => referrers.add(entries(&index)?),
            Err(ReadFailure::NotFound) => {}
            Err(failure) => return Err(failure),
        }
        let mut next = Some(self.url(image, &format!("referrers/{digest}"))?);
        for number in 0..MAX_PAGES {
            let Some(url) = next.take() else { return Ok(referrers) };
            let page = match self.page(image, url.clone()).await {
                // The specification has 404 where there is no such API. Others send away, answer a page for people, or find fault.
                Err(
                    ReadFailure::NotFound | ReadFailure::Invalid(Flaw::Status(_) | Flaw::Redirect | Flaw::MediaType),
                ) if number == 0 => {
                    return Ok(referrers);
                }
                other => other?,
            };
            referrers.add(entries(&page.bytes)?);
            next = page::next(&url, &page.headers)?;
            if !referrers.is_complete {
                return Ok(referrers);
            }
        }
        referrers.is_complete = next.is_none();
        Ok(referrers)
    }

    /// The tags beside a digest at which tools put signatures, attestations and SBOMs before there were referrers: the end of each
    /// that is there (`sig`, `att`, `sbom`), with the digest that it names.
    ///
    /// # Errors
    /// The registry doesn't say whether there is one.
    pub async fn old_tags(
        &self,
        image: &ImageReference,
        digest: &str,
    ) -> Result<Vec<(&'static str, String)>, ReadFailure> {
        let tag = fallback_tag(digest)?;
        let mut found = Vec::new();
        for end in OLD_TAGS {
            match self.digest(&tagged(image, &format!("{tag}.{end}"))?).await {
                Ok(digest) => found.push((end, digest)),
                Err(ReadFailure::NotFound) => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(found)
    }

    /// A page of the referrers API.
    async fn page(&self, image: &ImageReference, url: Url) -> Result<Answer, ReadFailure> {
        let answer = self.ask_at(Method::GET, image, url, INDEX, MAX_MANIFEST_BYTES).await?;
        if content_type(&answer) == Some(INDEX) { Ok(answer) } else { Err(ReadFailure::Invalid(Flaw::MediaType)) }
    }

    /// The bytes of the index at a tag.
    async fn manifest_bytes(&self, image: &ImageReference, tag: &str) -> Result<Vec<u8>, ReadFailure> {
        let manifest = self.manifest(&tagged(image, tag)?).await?;
        if manifest.media_type == INDEX { Ok(manifest.bytes) } else { Err(ReadFailure::Invalid(Flaw::MediaType)) }
    }

    async fn ask(
        &self,
        method: Method,
        image: &ImageReference,
        path: &str,
        accept: &str,
        most: u64,
    ) -> Result<Answer, ReadFailure> {
        self.ask_at(method, image, self.url(image, path)?, accept, most).await
    }

    async fn ask_at(
        &self,
        method: Method,
        image: &ImageReference,
        url: Url,
        accept: &str,
        most: u64,
    ) -> Result<Answer, ReadFailure> {
        let login = Login::Registry { host: image.host(), repository: image.repository() };
        self.exchanges.ask(&Question { method, url, accept, login, most }).await
    }

    /// The URL of a path below an image's repository.
    fn url(&self, image: &ImageReference, path: &str) -> Result<Url, ReadFailure> {
        let host = match image.host() {
            "docker.io" => DOCKER_HUB_REGISTRY,
            other => other,
        };
        let scheme = if self.is_plain(host) { "http" } else { "https" };
        let url = Url::parse(&format!("{scheme}://{host}/v2/{}/{path}", image.repository()));
        // The grammar of references has hosts that URLs don't have, such as `999.999.999.999`.
        url.map_err(|_| ReadFailure::Invalid(Flaw::Address))
    }

    /// Whether a registry speaks plain HTTP.
    pub(crate) fn is_plain(&self, host: &str) -> bool {
        let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
        let name = name.map_or(host, |(name, _)| name);
        self.plain_http.iter().any(|named| named == host || named == name)
    }
}

impl Referrers {
    /// Adds what isn't there yet, as far as there is room.
    fn add(&mut self, entries: Vec<Descriptor>) {
        for entry in entries {
            if self.entries.iter().any(|known| known.digest == entry.digest) {
                continue;
            }
            if self.entries.len() == MAX_REFERRERS {
                self.is_complete = false;
                return;
            }
            self.entries.push(entry);
        }
    }
}

fn manifest_path(image: &ImageReference) -> String {
    let named = image.digest().or(image.tag()).unwrap_or_default();
    format!("manifests/{named}")
}

/// The same repository at a tag.
fn tagged(image: &ImageReference, tag: &str) -> Result<ImageReference, ReadFailure> {
    ImageReference::parse(&format!("{}:{tag}", image.name())).map_err(|_| ReadFailure::Invalid(Flaw::Digest))
}

/// The tag of the index of what refers to a digest, of which it has 64 digits at most.
fn fallback_tag(digest: &str) -> Result<String, ReadFailure> {
    match digest.split_once(':') {
        Some((algorithm, hex)) if is_digest(digest) => Ok(format!("{algorithm}-{}", hex.get(..64).unwrap_or(hex))),
        _ => Err(ReadFailure::Invalid(Flaw::Digest)),
    }
}

/// The digest that the registry says a manifest has, if it says one.
///
/// Fails when that is none.
fn content_digest(answer: &Answer) -> Result<Option<&str>, ReadFailure> {
    let Some(header) = answer.headers.get(CONTENT_DIGEST) else { return Ok(None) };
    let digest = header.to_str().ok().filter(|text| is_digest(text));
    digest.map(Some).ok_or(ReadFailure::Invalid(Flaw::Digest))
}

/// The media type of an answer, without its parameters.
fn content_type(answer: &Answer) -> Option<&str> {
    answer.headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_registries_are_asked() {
        let plain_http = vec!["registry.lan".to_owned(), "10.0.0.1:5000".to_owned()];
        let reader = RegistryReader::new(Options { plain_http, ..Options::default() }).unwrap();
        for (image, expected) in [
            ("nginx:1", "https://registry-1.docker.io/v2/library/nginx/manifests/1"),
            ("ghcr.io/team/app:1", "https://ghcr.io/v2/team/app/manifests/1"),
            ("ghcr.io:8443/team/app:1", "https://ghcr.io:8443/v2/team/app/manifests/1"),
            ("localhost:5000/app:1", "https://localhost:5000/v2/app/manifests/1"),
            ("[::1]:5000/app:1", "https://[::1]:5000/v2/app/manifests/1"),
            ("registry.lan:5000/app:1", "http://registry.lan:5000/v2/app/manifests/1"),
            ("a.registry.lan/app:1", "https://a.registry.lan/v2/app/manifests/1"),
            ("10.0.0.1:5000/app:1", "http://10.0.0.1:5000/v2/app/manifests/1"),
            ("10.0.0.1:5001/app:1", "https://10.0.0.1:5001/v2/app/manifests/1"),
        ] {
            let image = ImageReference::parse(image).unwrap();
            let url = reader.url(&image, &manifest_path(&image)).unwrap();
            assert_eq!(url.as_str(), expected, "{image}");
        }
        let nowhere = ImageReference::parse("999.999.999.999/app").unwrap();
        assert_eq!(reader.url(&nowhere, ""), Err(ReadFailure::Invalid(Flaw::Address)));
    }

    #[test]
    fn tags_of_what_refers_to_a_digest() {
        let digits = |count: usize| "ab".repeat(count / 2);
        for (algorithm, count) in [("sha256", 64), ("sha512", 128)] {
            let expected = format!("{algorithm}-{}", digits(64));
            assert_eq!(fallback_tag(&format!("{algorithm}:{}", digits(count))), Ok(expected));
        }
        assert_eq!(fallback_tag("sha256:../../other"), Err(ReadFailure::Invalid(Flaw::Digest)));
    }
}
