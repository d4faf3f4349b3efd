//! A registry made of a list of images.
//!
//! ```yaml
//! images:
//!   ghcr.io/team/app:1.0:
//!     digest: sha256:…          # what the tag resolves to
//!     platforms: {linux/amd64: sha256:…, linux/arm64: sha256:…}   # an index with these
//!   ghcr.io/team/tool:2.0:
//!     digest: sha256:…
//!     manifest: {schemaVersion: 2, …}   # the manifest or index itself, or its very bytes as a text
//!     config: {architecture: amd64, …}  # the image's configuration, or an artifact's JSON
//!   ghcr.io/team/plain:1.0: {digest: sha256:…}   # an image of one platform, linux/amd64
//!   ghcr.io/team/app:sha256-….scan:           # an artifact beside an image
//!     digest: sha256:…
//!     subject: sha256:…                       # the image that its manifest says it belongs to
//!     artifactType: application/vnd.example   # what its manifest says it is
//!     config: {verdict: pass, …}
//!     signedBy:                               # whose signatures `v2/verify` finds; without it there are none
//!       - key: |
//!           -----BEGIN PUBLIC KEY-----
//!           …
//!       - {issuer: "https://accounts.example.com", subject: ci@example.com}
//!       - githubActions: {owner: team, repository: app}
//!   ghcr.io/team/gone:1.0: {error: "registry says no"}
//! mirrors:
//!   docker.io: mirror.example.com/dockerhub   # where what docker.io has can be had, too
//! ```
//! An image is found by its tag and by its digest, and each platform of an index by its own digest. Several entries may
//! have the same digest: one of them says what it is, or nothing does and it is a plain image; and who signed it.
//!
//! A mirror has what its registry has, by the names that the policy asks it by: so images are listed by the names that Pods
//! have. An image that is listed by its name at the mirror is what the mirror has instead.
//!
//! The digest of an entry that says what its image is should be that of the document that it stands for, see [`Document`]:
//! the policy judges no index whose digest is another.
//!
//! Signatures are of a digest: of an index they say nothing about the images below it. They carry no annotations, so
//! that whoever asks for some finds none. They stand at the tag `sha256-….sig`, as far as its digest is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use oci_spec::distribution::{ParseError, Reference};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::image_name;
use super::super::manifest::{ImageManifest, Manifest};
use super::super::verification::Constraint;
use super::documents::{Document, sha256};
use super::signatures::{self, Signer, Written};
use super::{FilesError, read};

/// What a registry would serve.
#[derive(Debug, Default)]
pub struct ImageFile {
    /// By registry, repository and tag: the digest, or the error to answer.
    tags: BTreeMap<(Repository, String), Result<String, String>>,
    /// By registry, repository and digest.
    contents: BTreeMap<(Repository, String), Result<Content, String>>,
    /// By registry, repository and digest, what somebody signed.
    signers: BTreeMap<(Repository, String), Vec<Signer>>,
    /// The keys of the list, with what each answers for: repositories with a tag or a digest.
    listed: BTreeMap<String, BTreeSet<(Repository, String)>>,
    /// What entries stand for, of those that say what their digest is.
    documents: Vec<Document>,
    mirrors: Vec<Mirror>,
}

/// A place that has what a registry has.
#[derive(Debug)]
struct Mirror {
    registry: String,
    /// Its own registry, and how its repositories begin.
    place: Repository,
}

/// Registry and repository.
type Repository = (String, String);

#[derive(Clone, Debug)]
struct Content {
    manifest: Manifest,
    config: Value,
    /// The bytes of the manifest, where the list has them.
    text: Option<String>,
}

/// The answer to `v1/oci_manifest_config`.
#[derive(Debug, Serialize)]
pub struct ManifestAndConfig<'a> {
    manifest: &'a ImageManifest,
    digest: String,
    config: &'a Value,
}

impl ImageFile {
    /// Reads the list in `path`.
    ///
    /// Fails when the file can't be read, and with the path of the first key that is unknown, or whose value is no
    /// reference, digest, platform or manifest.
    pub fn from_file(path: &Path) -> Result<Self, FilesError> {
        Self::from_yaml(&read(path)?).map_err(|problem| FilesError::Images { path: path.to_owned(), problem })
    }

    /// Reads a list. Fails as [`ImageFile::from_file`] does.
    pub fn from_yaml(yaml: &str) -> Result<Self, String> {
        let list: List = yaml_serde::from_str(yaml).map_err(|e| e.to_string())?;
        let mut images = Self::default();
        let mut seen = BTreeSet::new();
        let mut bare = Vec::new();
        for (image, entry) in list.images {
            let at = |problem| format!("images.{image}: {problem}");
            let reference = image_name::parse(&image).map_err(|e| at(format!("not an image: {e}")))?;
            if !seen.insert(reference.whole()) {
                return Err(at(format!("`{}` is there twice; remove one of them", reference.whole())));
            }
            let digest = entry.digest.clone();
            bare.extend(images.insert(&image, &reference, entry).map_err(at)?);
            images.listed.insert(image, names_of(&reference, digest));
        }
        images.complete(bare);
        for (registry, place) in &list.mirrors {
            images.mirrors.push(Mirror::of(registry, place).map_err(|e| format!("mirrors.{registry}: {e}"))?);
        }
        Ok(images)
    }

    /// The documents that entries stand for, of those that say what their digest is.
    #[must_use]
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// What users of the list in `path` should know: that the policy can't judge some of it, and which command helps.
    #[must_use]
    pub fn remark(&self, path: &Path) -> Option<String> {
        let mut unproven = self.documents.iter().filter(|document| document.is_index && !document.is_proven());
        let (first, others) = (unproven.next()?, unproven.count());
        let more = if others == 0 { String::new() } else { format!(" (and of {others} more)") };
        let path = path.display();
        Some(format!(
            "`{path}`: the digest of the index `{}`{more} is not that of its document, so that it can't be proven; \
             `image-admission digests {path} PATH…` writes the right one there and into the other files that have it",
            first.image
        ))
    }

    /// The images that the list names, in its words.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.listed.keys().map(String::as_str)
    }

    /// Which of the [`names`](Self::names) an answer about `image` comes from: of a digest all that have it, and the
    /// index that it is a platform of.
    #[must_use]
    pub fn names_behind(&self, image: &str) -> Vec<&str> {
        let Ok(reference) = self.reference(image) else { return Vec::new() };
        let wanted = asked_for(&reference);
        let answers = |names: &BTreeSet<(Repository, String)>| {
            names.contains(&wanted)
                || names.iter().any(|(repository, digest)| {
                    *repository == wanted.0
                        && self.content(repository, digest).is_ok_and(|content| has_platform(content, &wanted.1))
                })
        };
        self.listed.iter().filter(|(_, names)| answers(names)).map(|(name, _)| name.as_str()).collect()
    }

    /// What `image` resolves to, or the text of the real host's failure.
    pub fn digest(&self, image: &str) -> Result<String, String> {
        if let Some(signatures) = self.signatures_at(image) {
            return Ok(signatures);
        }
        let (repository, digest) = self.resolve(image)?;
        self.content(&repository, &digest)?;
        Ok(digest)
    }

    /// The manifest or index of `image`, or the text of the real host's failure.
    pub fn manifest(&self, image: &str) -> Result<&Manifest, String> {
        let (repository, digest) = self.resolve(image)?;
        Ok(&self.content(&repository, &digest)?.manifest)
    }

    /// The manifest and configuration of `image`: of its linux/amd64 image if it is an index, as on the real host.
    pub fn manifest_and_config(&self, image: &str) -> Result<ManifestAndConfig<'_>, String> {
        let (repository, mut digest) = self.resolve(image)?;
        let mut content = self.content(&repository, &digest)?;
        if let Manifest::Index(index) = &content.manifest {
            let own = index.of_the_host();
            digest = own.map(str::to_owned).ok_or_else(|| {
                not_an_image("no entry found in image index manifest matching client's default platform")
            })?;
            content = self.content(&repository, &digest)?;
        }
        match &content.manifest {
            Manifest::Image(manifest) => Ok(ManifestAndConfig { manifest, digest, config: &content.config }),
            Manifest::Index(_) => Err(not_an_image("received Image Index manifest instead")),
        }
    }

    /// The digest of `image` if its signatures satisfy all constraints, or the text of the real host's failure.
    pub(super) fn verify(&self, image: &str, constraints: &[Constraint<'_>]) -> Result<String, String> {
        let whole = || image.parse::<Reference>().map_or(image.to_owned(), |reference| reference.whole());
        let (repository, digest) = self
            .resolve(image)
            .and_then(|(repository, digest)| self.content(&repository, &digest).map(|_| (repository, digest)))
            // An error of the list is answered as it stands, the registry's in the words of the client that verifies.
            .map_err(|error| match error.strip_prefix(REGISTRY_FAILURE) {
                Some(why) => {
                    format!("failed to get image trusted layers: Cannot fetch manifest of {}: {why}", whole())
                }
                None => error,
            })?;
        let key = (repository, digest);
        // The host's text ends with a space.
        let signers = self.signers.get(&key).ok_or_else(|| format!("no signatures found for image: {} ", whole()))?;
        signatures::check(constraints, signers)?;
        Ok(key.1)
    }

    /// What stands at the tag where cosign keeps the signatures of a digest, where somebody signed it. Nobody reads what it is.
    fn signatures_at(&self, image: &str) -> Option<String> {
        let reference = self.reference(image).ok()?;
        let signed = reference.tag()?.strip_suffix(".sig")?.strip_prefix("sha256-")?;
        let is_signed = self.signers.contains_key(&(repository_of(&reference), format!("sha256:{signed}")));
        is_signed.then(|| sha256(reference.whole().as_bytes()))
    }

    /// What an image is listed by. What a mirror is asked for, and nobody listed of it, is what its registry has.
    fn reference(&self, image: &str) -> Result<Reference, ParseError> {
        let reference = image_name::parse(image)?;
        let Some(behind) = self.mirrors.iter().find_map(|mirror| mirror.behind(&reference)) else {
            return Ok(reference);
        };
        let wanted = asked_for(&reference);
        let is_listed = self.tags.contains_key(&wanted) || self.contents.contains_key(&wanted);
        if is_listed { Ok(reference) } else { image_name::parse(&behind) }
    }

    fn resolve(&self, image: &str) -> Result<(Repository, String), String> {
        let reference = self.reference(image).map_err(|e| e.to_string())?;
        let (repository, name) = asked_for(&reference);
        if reference.digest().is_some() {
            return Ok((repository, name));
        }
        match self.tags.get(&(repository.clone(), name.clone())) {
            Some(Ok(digest)) => Ok((repository, digest.clone())),
            Some(Err(error)) => Err(error.clone()),
            None => Err(manifest_unknown(&repository, &name)),
        }
    }

    fn content(&self, repository: &Repository, digest: &str) -> Result<&Content, String> {
        match self.contents.get(&(repository.clone(), digest.to_owned())) {
            Some(Ok(content)) => Ok(content),
            Some(Err(error)) => Err(error.clone()),
            None => Err(manifest_unknown(repository, digest)),
        }
    }

    /// Takes in one entry. Returns where to find its image if the entry doesn't say what that is.
    fn insert(
        &mut self,
        image: &str,
        reference: &Reference,
        mut entry: Entry,
    ) -> Result<Option<(Repository, String)>, String> {
        let repository = repository_of(reference);
        if let Some(error) = entry.error.clone() {
            entry.must_have_only_an_error()?;
            if let Some(digest) = reference.digest() {
                self.state((repository, digest.to_owned()), Err(error))?;
            } else {
                let tag = reference.tag().unwrap_or("latest").to_owned();
                self.tags.insert((repository, tag), Err(error));
            }
            return Ok(None);
        }
        let digest = digest_of(reference, entry.digest.as_deref())?;
        if let Some(tag) = reference.tag() {
            self.tags.insert((repository.clone(), tag.to_owned()), Ok(digest.clone()));
        }
        let key = (repository, digest);
        if let Some(written) = entry.signed_by.take() {
            let signer = |(position, written)| {
                Signer::try_from(written).map_err(|problem| format!("signedBy[{position}]: {problem}"))
            };
            let signers = written.into_iter().enumerate().map(signer).collect::<Result<Vec<_>, _>>()?;
            self.sign(key.clone(), signers)?;
        }
        match entry.content()? {
            Some(content) => {
                self.documents.push(Document::of(image, &key.1, &content.manifest, content.text.as_deref()));
                self.state(key, Ok(content)).map(|()| None)
            }
            None => Ok(Some(key)),
        }
    }

    /// Several entries may name one digest; what they say of it must be the same.
    fn state(&mut self, key: (Repository, String), content: Result<Content, String>) -> Result<(), String> {
        let digest = key.1.clone();
        match self.contents.get(&key) {
            Some(stated) if !same(stated, &content) => Err(format!(
                "another entry says something else of `{digest}`; say it once, the others need only `digest`"
            )),
            _ => {
                self.contents.insert(key, content);
                Ok(())
            }
        }
    }

    /// Who signed a digest is said as often as what it is.
    fn sign(&mut self, key: (Repository, String), signers: Vec<Signer>) -> Result<(), String> {
        if signers.is_empty() {
            return Err("`signedBy` names nobody; leave it out where there are no signatures".to_owned());
        }
        let digest = key.1.clone();
        match self.signers.insert(key, signers.clone()) {
            Some(said) if said != signers => Err(format!(
                "another entry says that others signed `{digest}`; say it once, the others need only `digest`"
            )),
            _ => Ok(()),
        }
    }

    /// Fills in what no entry says: the images below an index, then the plain images.
    fn complete(&mut self, bare: Vec<(Repository, String)>) {
        let mut missing = Vec::new();
        for ((repository, _), content) in &self.contents {
            let platforms = content.as_ref().map(|c| platforms_of(&c.manifest)).unwrap_or_default();
            missing.extend(platforms.into_iter().map(|(digest, content)| ((repository.clone(), digest), content)));
        }
        missing.extend(bare.into_iter().filter_map(|key| Some((key, plain_image()?))));
        for (key, content) in missing {
            self.contents.entry(key).or_insert(Ok(content));
        }
    }
}

impl Mirror {
    fn of(registry: &str, place: &str) -> Result<Self, String> {
        const SAMPLE: &str = "library/sample";
        let parse = |name: &str| {
            let wrong = |e| format!("`{name}` is no registry, with or without the beginning of its repositories: {e}");
            image_name::parse(&format!("{name}/{SAMPLE}")).map_err(wrong)
        };
        let (registry, place) = (parse(registry)?, parse(place)?);
        let path = place.repository().strip_suffix(SAMPLE).unwrap_or_default();
        Ok(Self { registry: registry.registry().to_owned(), place: (place.registry().to_owned(), path.to_owned()) })
    }

    /// The name of an image of the mirror at the registry.
    fn behind(&self, reference: &Reference) -> Option<String> {
        let (host, path) = &self.place;
        let repository = reference.repository().strip_prefix(path.as_str()).filter(|_| reference.registry() == host)?;
        let tag = reference.tag().map(|tag| format!(":{tag}")).unwrap_or_default();
        let digest = reference.digest().map(|digest| format!("@{digest}")).unwrap_or_default();
        Some(format!("{}/{repository}{tag}{digest}", self.registry))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    images: BTreeMap<String, Entry>,
    #[serde(default)]
    mirrors: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    digest: Option<String>,
    manifest: Option<Value>,
    platforms: Option<BTreeMap<String, String>>,
    config: Option<Value>,
    subject: Option<String>,
    artifact_type: Option<String>,
    signed_by: Option<Vec<Written>>,
    error: Option<String>,
}

impl Entry {
    fn must_have_only_an_error(&self) -> Result<(), String> {
        let Self { digest, manifest, platforms, config, subject, artifact_type, signed_by, error: _ } = self;
        let has_content = manifest.is_some() || platforms.is_some() || config.is_some();
        let has_more = subject.is_some() || artifact_type.is_some() || signed_by.is_some();
        if digest.is_none() && !has_content && !has_more {
            return Ok(());
        }
        Err("an entry with `error` has nothing else".to_owned())
    }

    /// What the entry says of its digest, if it says anything.
    fn content(self) -> Result<Option<Content>, String> {
        if self.platforms.is_some() && (self.manifest.is_some() || self.config.is_some()) {
            let problem = "`platforms` is short for an index: leave out `manifest` and `config`";
            return Err(problem.to_owned());
        }
        let is_artifact = self.subject.is_some() || self.artifact_type.is_some();
        if is_artifact && (self.platforms.is_some() || self.manifest.is_some()) {
            let problem = "`subject` and `artifactType` are put into a manifest that is made for the entry: leave out \
                           `platforms`, or write them into `manifest`";
            return Err(problem.to_owned());
        }
        let config = match &self.config {
            Some(config) => config.clone(),
            None if is_artifact => json!({}),
            None => config("linux", "amd64", None),
        };
        let text = self.manifest.as_ref().and_then(Value::as_str).map(str::to_owned);
        let written = match &text {
            Some(text) => {
                let no_json = |error| format!("`manifest` is a text, and that is no JSON: {error}");
                Some(serde_json::from_str(text).map_err(no_json)?)
            }
            None => self.manifest,
        };
        let manifest = match (written, self.platforms, self.config) {
            (Some(manifest), _, _) => manifest,
            (None, Some(platforms), _) => index(&platforms)?,
            (None, None, _) if is_artifact => {
                artifact_manifest(&config, self.subject.as_deref(), self.artifact_type.as_deref())?
            }
            (None, None, Some(config)) => image_manifest(&config),
            (None, None, None) => return Ok(None),
        };
        // Through the host's own type, which drops what it doesn't know, as the host does.
        let manifest = match &text {
            Some(text) => serde_json::from_str(text),
            None => serde_json::from_value(manifest),
        };
        let manifest = manifest.map_err(|_| {
            "`manifest` is neither an image manifest nor an index; it needs `schemaVersion`, and `config` and `layers`, or `manifests`"
        })?;
        Ok(Some(Content { manifest, config, text }))
    }
}

/// The digest that an entry is known by: the one in its reference and the one in its fields must agree.
fn digest_of(reference: &Reference, given: Option<&str>) -> Result<String, String> {
    if let Some(given) = given {
        check_digest(given)?;
    }
    match (reference.digest(), given) {
        (Some(named), Some(given)) if named != given => {
            Err(format!("`digest` is `{given}`, but the reference says `{named}`"))
        }
        (Some(digest), _) | (None, Some(digest)) => Ok(digest.to_owned()),
        (None, None) => Err("`digest` or `error` is missing".to_owned()),
    }
}

fn check_digest(digest: &str) -> Result<(), String> {
    format!("image@{digest}")
        .parse::<Reference>()
        .map(drop)
        .map_err(|_| format!("`{digest}` is not a digest; write `sha256:` and 64 hex digits"))
}

fn index(platforms: &BTreeMap<String, String>) -> Result<Value, String> {
    let mut manifests = Vec::new();
    for (platform, digest) in platforms {
        let at = |problem| format!("platforms.{platform}: {problem}");
        check_digest(digest).map_err(at)?;
        let parts: Vec<&str> = platform.split('/').collect();
        let platform = match parts.as_slice() {
            [os, architecture] => json!({"architecture": architecture, "os": os}),
            [os, architecture, variant] => {
                json!({"architecture": architecture, "os": os, "variant": variant})
            }
            _ => return Err(at("not a platform; write `linux/amd64`".to_owned())),
        };
        manifests.push(json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest,
            "size": 0,
            "platform": platform,
        }));
    }
    Ok(json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    }))
}

/// The images below an index, each with no more than its platform.
fn platforms_of(manifest: &Manifest) -> Vec<(String, Content)> {
    let Manifest::Index(index) = manifest else {
        return Vec::new();
    };
    let below = index.manifests.iter().filter_map(|entry| {
        let platform = entry.platform.as_ref();
        let config = config(
            &platform.map_or("unknown".to_owned(), |p| p.os.to_string()),
            &platform.map_or("unknown".to_owned(), |p| p.architecture.to_string()),
            platform.and_then(|p| p.variant.as_deref()),
        );
        let manifest = serde_json::from_value(image_manifest(&config)).ok()?;
        Some((entry.digest.clone(), Content { manifest, config, text: None }))
    });
    below.collect()
}

fn plain_image() -> Option<Content> {
    let config = config("linux", "amd64", None);
    let manifest = serde_json::from_value(image_manifest(&config)).ok()?;
    Some(Content { manifest, config, text: None })
}

fn image_manifest(config: &Value) -> Value {
    let bytes = config.to_string();
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {
            "mediaType": "application/vnd.oci.image.config.v1+json",
            "digest": sha256(bytes.as_bytes()),
            "size": bytes.len(),
        },
        "layers": [],
    })
}

/// The manifest of an artifact, whose configuration is of the type that it is itself.
fn artifact_manifest(config: &Value, subject: Option<&str>, artifact_type: Option<&str>) -> Result<Value, String> {
    let mut manifest = image_manifest(config);
    if let Some(digest) = subject {
        check_digest(digest).map_err(|problem| format!("subject: {problem}"))?;
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        insert(&mut manifest, "subject", json!({"mediaType": media_type, "digest": digest, "size": 0}));
    }
    if let Some(artifact_type) = artifact_type {
        insert(&mut manifest, "artifactType", artifact_type.into());
        if let Some(config) = manifest.get_mut("config") {
            insert(config, "mediaType", artifact_type.into());
        }
    }
    Ok(manifest)
}

fn insert(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

fn config(os: &str, architecture: &str, variant: Option<&str>) -> Value {
    let mut config = json!({
        "architecture": architecture,
        "os": os,
        "config": {},
        "rootfs": {"type": "layers", "diff_ids": []},
    });
    if let Some(variant) = variant {
        insert(&mut config, "variant", variant.into());
    }
    config
}

fn repository_of(reference: &Reference) -> Repository {
    (reference.registry().to_owned(), reference.repository().to_owned())
}

/// What a registry is asked for: the digest, or where there is none, the tag. With a digest it never looks at the tag.
fn asked_for(reference: &Reference) -> (Repository, String) {
    let name = reference.digest().or(reference.tag()).unwrap_or("latest");
    (repository_of(reference), name.to_owned())
}

/// What an entry answers for: its tag and its digest.
fn names_of(reference: &Reference, digest: Option<String>) -> BTreeSet<(Repository, String)> {
    let repository = repository_of(reference);
    let own = [reference.tag(), reference.digest()].into_iter().flatten().map(str::to_owned);
    own.chain(digest).map(|name| (repository.clone(), name)).chain([asked_for(reference)]).collect()
}

fn has_platform(content: &Content, digest: &str) -> bool {
    match &content.manifest {
        Manifest::Index(index) => index.manifests.iter().any(|entry| entry.digest == digest),
        Manifest::Image(_) => false,
    }
}

fn same(one: &Result<Content, String>, other: &Result<Content, String>) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            one.config == other.config
                && one.text == other.text
                && serde_json::to_value(&one.manifest).ok() == serde_json::to_value(&other.manifest).ok()
        }
        (Err(one), Err(other)) => one == other,
        _ => false,
    }
}

/// How the real host begins what it says of a registry's failure.
const REGISTRY_FAILURE: &str = "Fail to interact with OCI registry: ";

/// What the real host says of an image that its registry doesn't have.
fn manifest_unknown((registry, repository): &Repository, tag_or_digest: &str) -> String {
    let registry = match registry.as_str() {
        "docker.io" => "index.docker.io",
        other => other,
    };
    let protocol = if image_name::is_on_this_machine(registry) { "http" } else { "https" };
    format!(
        "{REGISTRY_FAILURE}Registry error: url {protocol}://{registry}/v2/{repository}/manifests/{tag_or_digest}, envelope: OCI API errors: [OCI API error: manifest unknown]"
    )
}

fn not_an_image(why: &str) -> String {
    format!("{REGISTRY_FAILURE}Image manifest not found: {why}")
}
