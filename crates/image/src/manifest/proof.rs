//! The proof of a manifest's bytes: the host's answer is written again in the spellings of common tools, and hashed.
//!
//! An honest document gets its digest in one of these spellings. A document with anything that the host dropped (a key in another
//! case, a repeated key, an unknown field) gets it in none.

use super::{Annotations, Descriptor, Manifest, WirePlatform};
use data_encoding::HEXLOWER;
use image_admission_untrusted::json::JsonString;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::collections::BTreeSet;

/// The most bytes that are hashed for one document, over all spellings: its pusher chooses how large it is. The caller bounds what is
/// hashed for all documents together.
const MAX_HASHED: usize = 8 * 1024 * 1024;

/// How a tool writes a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spelling {
    order: &'static Order,
    layout: Layout,
    escapes: Escapes,
}

/// The order of keys. Keys that a document doesn't have are skipped.
#[derive(Debug, PartialEq, Eq)]
struct Order {
    document: &'static [Key],
    /// Of entries, layers and the subject.
    descriptor: &'static [Key],
    /// Of an image's configuration, which may have another order.
    config: &'static [Key],
    platform: &'static [Key],
    /// Whether a platform has null for fields without a value.
    has_nulls: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    SchemaVersion,
    MediaType,
    ArtifactType,
    Config,
    Layers,
    Manifests,
    Subject,
    Annotations,
    Digest,
    Size,
    Urls,
    Platform,
    Architecture,
    Os,
    OsVersion,
    OsFeatures,
    Variant,
    Features,
}

/// Line breaks and blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// A line for each value, indented by this once for each level; none: no blanks at all.
    indent: Option<&'static str>,
    /// How many levels deeper all lines but the first are: the document was taken out of another.
    base: usize,
}

/// Which characters are written as escapes, beyond those that every writer escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    /// Go's: characters with a meaning in HTML or JavaScript.
    Html,
    /// Perl's: `/`.
    Slash,
    /// .NET's: characters with a meaning in HTML, and `+`.
    Plus,
}

use Key::{
    Annotations as A, Architecture, ArtifactType as T, Config as C, Digest as D, Features, Layers as L, Manifests as M,
    MediaType as Y, Os, OsFeatures, OsVersion, Platform as P, SchemaVersion as V, Size as Z, Subject as S, Urls as U,
    Variant,
};

/// Platforms as Go's types have them, and as jq's programs do.
const GO_PLATFORM: &[Key] = &[Architecture, Os, OsVersion, OsFeatures, Variant, Features];
const JQ_PLATFORM: &[Key] = &[Os, Architecture, Variant, OsVersion, OsFeatures, Features];
const OCI_DESCRIPTOR: &[Key] = &[Y, D, Z, U, A, P, T];
const DOCKER_DESCRIPTOR: &[Key] = &[Y, Z, D, U, A, P, T];

const fn order(document: &'static [Key], descriptor: &'static [Key], platform: &'static [Key]) -> Order {
    Order { document, descriptor, config: descriptor, platform, has_nulls: false }
}

/// OCI's types: BuildKit, buildx, containerd, oras, regctl, podman, jib.
static OCI: Order = order(&[V, Y, T, C, L, M, S, A], OCI_DESCRIPTOR, GO_PLATFORM);
/// Docker's, and those of go-containerregistry: `docker manifest`, `docker push`, crane, ko, kaniko.
static DOCKER: Order = order(&[V, Y, C, L, M, A, S, T], DOCKER_DESCRIPTOR, GO_PLATFORM);
/// All keys sorted: Docker's official images, Red Hat's.
static SORTED: Order = order(
    &[A, T, C, L, M, Y, V, S],
    &[A, T, D, Y, P, Z, U],
    &[Architecture, Features, Os, OsFeatures, OsVersion, Variant],
);
/// BuildKit before 0.12, and Docker's classic builder.
static MEDIA_TYPE_FIRST: Order = order(&[Y, V, T, C, L, M, S, A], OCI_DESCRIPTOR, GO_PLATFORM);
/// Bazel's rules_oci.
static BAZEL: Order = Order { config: DOCKER_DESCRIPTOR, ..order(&[V, Y, T, C, L, M, S, A], &[Z, D, Y], JQ_PLATFORM) };
static BAZEL_INDEX: Order = order(&[V, Y, T, M, S, A], &[Y, D, Z, U, A, T, P], JQ_PLATFORM);
static BAZEL_DOCKER_INDEX: Order = order(&[V, Y, T, M, S, A], &[Y, Z, D, U, A, T, P], JQ_PLATFORM);
/// The repositories of Docker's official images for one architecture.
static OFFICIAL_DEPLOY: Order = order(&[V, Y, M, A], &[Y, T, D, Z, P, A], JQ_PLATFORM);
/// The .NET SDK.
static DOTNET: Order = Order {
    has_nulls: true,
    ..order(&[V, Y, C, L, M], DOCKER_DESCRIPTOR, &[Architecture, Os, Variant, Features, OsVersion])
};

const COMPACT: Layout = Layout { indent: None, base: 0 };

const fn indented(indent: &'static str) -> Layout {
    Layout { indent: Some(indent), base: 0 }
}

const fn spelling(order: &'static Order, layout: Layout, escapes: Escapes) -> Spelling {
    Spelling { order, layout, escapes }
}

/// The spellings that most documents have, which are tried first, and those that only one tool has.
static KNOWN: [Spelling; 17] = [
    spelling(&OCI, COMPACT, Escapes::Html),
    spelling(&OCI, indented("  "), Escapes::Html),
    spelling(&SORTED, COMPACT, Escapes::Slash),
    spelling(&DOCKER, COMPACT, Escapes::Html),
    spelling(&DOCKER, indented("   "), Escapes::Html),
    spelling(&MEDIA_TYPE_FIRST, indented("   "), Escapes::Html),
    spelling(&MEDIA_TYPE_FIRST, indented("  "), Escapes::Html),
    spelling(&BAZEL_INDEX, indented("  "), Escapes::None),
    spelling(&BAZEL_DOCKER_INDEX, indented("  "), Escapes::None),
    spelling(&BAZEL, indented("  "), Escapes::None),
    spelling(&SORTED, indented("    "), Escapes::None),
    spelling(&SORTED, indented("  "), Escapes::None),
    spelling(&OFFICIAL_DEPLOY, Layout { indent: Some("  "), base: 1 }, Escapes::None),
    spelling(&OFFICIAL_DEPLOY, indented("  "), Escapes::None),
    spelling(&OFFICIAL_DEPLOY, COMPACT, Escapes::None),
    spelling(&OCI, COMPACT, Escapes::None),
    spelling(&DOTNET, COMPACT, Escapes::Plus),
];

/// These are tried in all combinations.
static ORDERS: [&Order; 4] = [&OCI, &DOCKER, &SORTED, &MEDIA_TYPE_FIRST];
static LAYOUTS: [Layout; 6] =
    [COMPACT, indented("  "), indented("   "), indented("    "), indented("\t"), indented(" ")];
static ESCAPES: [Escapes; 3] = [Escapes::Html, Escapes::None, Escapes::Slash];

/// Whether one of the spellings of `manifest`, with a line break at its end or without, has the digest.
pub(super) fn is_proven(manifest: &Manifest<'_>, digest: &str, may_hash: &dyn Fn(usize) -> bool) -> bool {
    let Some(wanted) = WantedDigest::read(digest) else { return false };
    let all = ORDERS.iter().flat_map(|&order| {
        LAYOUTS.iter().flat_map(move |&layout| ESCAPES.iter().map(move |&escapes| Spelling { order, layout, escapes }))
    });
    let others = all.filter(|spelling| !KNOWN.contains(spelling));
    let spellings = likely(manifest).chain(others);
    find_spelling(manifest, spellings, may_hash, |text| wanted.is_of(text).then_some(())).is_some()
}

/// The first of the digests that a known spelling of `manifest` has, with a line break at its end or without.
pub(super) fn digest_among(
    manifest: &Manifest<'_>,
    digests: &BTreeSet<String>,
    may_hash: &dyn Fn(usize) -> bool,
) -> Option<String> {
    if digests.is_empty() {
        return None;
    }
    find_spelling(manifest, likely(manifest), may_hash, |text| {
        let hash = Sha256::new_with_prefix(text);
        let with_line_break = hash.clone().chain_update(b"\n");
        let spelled = [hash, with_line_break].into_iter();
        spelled
            .map(|hash| format!("sha256:{}", HEXLOWER.encode(&hash.finalize())))
            .find(|digest| digests.contains(digest))
    })
}

/// The known spellings: for documents of Docker's types, those of Docker's tools first.
fn likely(manifest: &Manifest<'_>) -> impl Iterator<Item = Spelling> + use<> {
    let is_dockers = manifest.media_type.as_ref().is_some_and(|media_type| media_type.as_str().contains("docker"));
    let is_first = move |spelling: &Spelling| is_dockers && spelling.order == &DOCKER;
    KNOWN.into_iter().filter(is_first).chain(KNOWN.into_iter().filter(move |spelling| !is_first(spelling)))
}

/// What `found` makes of the first spelling that it takes.
fn find_spelling<T>(
    manifest: &Manifest<'_>,
    spellings: impl Iterator<Item = Spelling>,
    may_hash: &dyn Fn(usize) -> bool,
    found: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let parts = Parts::read(manifest)?;
    // Enough for the whole document, unless entries are large.
    let entries = manifest.entries().len() + parts.layers.as_ref().map_or(0, Vec::len);
    let mut writer = Writer { text: Vec::with_capacity(512 + 320 * entries), ..Writer::default() };
    let mut hashed = 0;
    let mut last: Option<Spelling> = None;
    for spelling in spellings {
        // Escapes make a difference only if there is something to escape.
        let is_same = last.is_some_and(|last| last.order == spelling.order && last.layout == spelling.layout);
        if is_same && !writer.has_escapable && spelling.escapes != Escapes::Slash {
            continue;
        }
        writer.begin(spelling);
        writer.document(manifest, &parts, spelling.order);
        if hashed > MAX_HASHED || !may_hash(writer.text.len()) {
            return None;
        }
        if let Some(found) = found(&writer.text) {
            return Some(found);
        }
        hashed += writer.text.len();
        last = Some(spelling);
    }
    None
}

/// The digest that a spelling must have.
struct WantedDigest {
    algorithm: Algorithm,
    hash: Vec<u8>,
}

enum Algorithm {
    Sha256,
    Sha384,
    Sha512,
}

impl WantedDigest {
    fn read(digest: &str) -> Option<Self> {
        let (algorithm, hex) = digest.split_once(':')?;
        let algorithm = match algorithm {
            "sha256" => Algorithm::Sha256,
            "sha384" => Algorithm::Sha384,
            "sha512" => Algorithm::Sha512,
            _ => return None,
        };
        Some(Self { algorithm, hash: HEXLOWER.decode(hex.as_bytes()).ok()? })
    }

    /// Whether the bytes, alone or with a line break at the end, have the digest.
    fn is_of(&self, text: &[u8]) -> bool {
        match self.algorithm {
            Algorithm::Sha256 => self.is_hash_of(Sha256::new(), text),
            Algorithm::Sha384 => self.is_hash_of(Sha384::new(), text),
            Algorithm::Sha512 => self.is_hash_of(Sha512::new(), text),
        }
    }

    fn is_hash_of(&self, mut hash: impl Digest + Clone, text: &[u8]) -> bool {
        hash.update(text);
        let mut with_line_break = hash.clone();
        if self.is(&hash.finalize()) {
            return true;
        }
        with_line_break.update(b"\n");
        self.is(&with_line_break.finalize())
    }

    fn is(&self, hash: &[u8]) -> bool {
        self.hash == hash
    }
}

/// The parts that stay unread until a proof needs them.
struct Parts<'a> {
    config: Option<Descriptor<'a>>,
    layers: Option<Vec<Descriptor<'a>>>,
    subject: Option<Descriptor<'a>>,
}

impl<'a> Parts<'a> {
    fn read(manifest: &Manifest<'a>) -> Option<Self> {
        fn part<'a, T: serde::Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<Option<T>> {
            raw.map(|raw| serde_json::from_str(raw.get())).transpose().ok()
        }
        Some(Self { config: part(manifest.config)?, layers: part(manifest.layers)?, subject: part(manifest.subject)? })
    }
}

/// Writes a document in one spelling.
#[derive(Default)]
struct Writer {
    text: Vec<u8>,
    indent: Option<&'static str>,
    /// The nesting level of the current line.
    depth: usize,
    escapes: Option<Escapes>,
    /// Whether there was a character that only some tools escape.
    has_escapable: bool,
    /// Whether the current object or list is still empty.
    is_first: bool,
}

impl Writer {
    fn begin(&mut self, spelling: Spelling) {
        self.text.clear();
        (self.indent, self.depth) = (spelling.layout.indent, spelling.layout.base);
        (self.escapes, self.has_escapable, self.is_first) = (Some(spelling.escapes), false, true);
    }

    fn document(&mut self, manifest: &Manifest<'_>, parts: &Parts<'_>, order: &Order) {
        self.open(b'{');
        for key in order.document {
            match key {
                V => self.number(r#""schemaVersion""#, manifest.schema_version),
                Y => self.optional(r#""mediaType""#, manifest.media_type.as_ref()),
                T => self.optional(r#""artifactType""#, manifest.artifact_type.as_ref()),
                C => self.one(r#""config""#, parts.config.as_ref(), order.config, order),
                S => self.one(r#""subject""#, parts.subject.as_ref(), order.descriptor, order),
                L => self.list(r#""layers""#, parts.layers.as_deref(), order),
                M => self.list(r#""manifests""#, manifest.manifests.as_deref(), order),
                A => self.annotations(manifest.annotations.as_ref()),
                _ => {}
            }
        }
        self.close(b'}');
    }

    fn one(&mut self, key: &str, descriptor: Option<&Descriptor<'_>>, keys: &[Key], order: &Order) {
        if let Some(descriptor) = descriptor {
            self.key(key);
            self.descriptor(descriptor, keys, order);
        }
    }

    fn list(&mut self, key: &str, descriptors: Option<&[Descriptor<'_>]>, order: &Order) {
        let Some(descriptors) = descriptors else { return };
        self.key(key);
        self.open(b'[');
        for descriptor in descriptors {
            self.item();
            self.descriptor(descriptor, order.descriptor, order);
        }
        self.close(b']');
    }

    fn descriptor(&mut self, descriptor: &Descriptor<'_>, keys: &[Key], order: &Order) {
        self.open(b'{');
        for key in keys {
            match key {
                Y => self.optional(r#""mediaType""#, descriptor.media_type.as_ref()),
                D => self.optional(r#""digest""#, Some(&descriptor.digest)),
                Z => self.number(r#""size""#, descriptor.size),
                U => self.texts(r#""urls""#, descriptor.urls.as_deref()),
                A => self.annotations(descriptor.annotations.as_ref()),
                T => self.optional(r#""artifactType""#, descriptor.artifact_type.as_ref()),
                P => {
                    if let Some(platform) = &descriptor.platform {
                        self.key(r#""platform""#);
                        self.platform(platform, order);
                    }
                }
                _ => {}
            }
        }
        self.close(b'}');
    }

    fn platform(&mut self, platform: &WirePlatform<'_>, order: &Order) {
        self.open(b'{');
        for key in order.platform {
            match key {
                Architecture => self.optional(r#""architecture""#, platform.architecture.as_ref()),
                Os => self.optional(r#""os""#, platform.os.as_ref()),
                OsVersion => self.or_null(r#""os.version""#, platform.os_version.as_ref(), order),
                OsFeatures => self.texts(r#""os.features""#, platform.os_features.as_deref()),
                Variant => self.or_null(r#""variant""#, platform.variant.as_ref(), order),
                Features => self.texts(r#""features""#, platform.features.as_deref()),
                _ => {}
            }
            if *key == Features && platform.features.is_none() && order.has_nulls {
                self.or_null(r#""features""#, None, order);
            }
        }
        self.close(b'}');
    }

    fn or_null(&mut self, key: &str, text: Option<&JsonString<'_>>, order: &Order) {
        if text.is_some() || !order.has_nulls {
            return self.optional(key, text);
        }
        self.key(key);
        self.text.extend_from_slice(b"null");
    }

    fn annotations(&mut self, annotations: Option<&Annotations<'_>>) {
        let Some(annotations) = annotations else { return };
        self.key(r#""annotations""#);
        self.open(b'{');
        for (name, value) in annotations {
            self.item();
            self.string(name.as_str());
            self.colon();
            self.string(value.as_str());
        }
        self.close(b'}');
    }

    fn texts(&mut self, key: &str, texts: Option<&[JsonString<'_>]>) {
        let Some(texts) = texts else { return };
        self.key(key);
        self.open(b'[');
        for text in texts {
            self.item();
            self.string(text.as_str());
        }
        self.close(b']');
    }

    fn optional(&mut self, key: &str, text: Option<&JsonString<'_>>) {
        if let Some(text) = text {
            self.key(key);
            self.string(text.as_str());
        }
    }

    fn number(&mut self, key: &str, number: Option<i64>) {
        let Some(number) = number else { return };
        self.key(key);
        self.text.extend_from_slice(number.to_string().as_bytes());
    }

    /// A key, with its quotes.
    fn key(&mut self, quoted: &str) {
        self.item();
        self.text.extend_from_slice(quoted.as_bytes());
        self.colon();
    }

    fn colon(&mut self) {
        self.text.push(b':');
        if self.indent.is_some() {
            self.text.push(b' ');
        }
    }

    fn open(&mut self, bracket: u8) {
        self.text.push(bracket);
        self.depth += 1;
        self.is_first = true;
    }

    /// Called before each member of an object or list.
    fn item(&mut self) {
        if !self.is_first {
            self.text.push(b',');
        }
        self.is_first = false;
        self.line();
    }

    fn close(&mut self, bracket: u8) {
        self.depth = self.depth.saturating_sub(1);
        // All tools write an empty object or list on one line.
        if !self.is_first {
            self.line();
        }
        self.is_first = false;
        self.text.push(bracket);
    }

    fn line(&mut self) {
        if let Some(indent) = self.indent {
            self.text.push(b'\n');
            for _ in 0..self.depth {
                self.text.extend_from_slice(indent.as_bytes());
            }
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push(b'"');
        // Nearly every string has nothing to escape.
        let is_plain = |b: u8| matches!(b, b' '..=b'~') && !matches!(b, b'"' | b'\\' | b'<' | b'>' | b'&');
        let is_escaped = match self.escapes {
            Some(Escapes::Slash) => text.contains('/'),
            Some(Escapes::Plus) => text.contains(['+', '\'', '`']),
            _ => false,
        };
        if !is_escaped && text.bytes().all(is_plain) {
            self.text.extend_from_slice(text.as_bytes());
        } else {
            text.chars().for_each(|character| self.character(character));
        }
        self.text.push(b'"');
    }

    fn character(&mut self, character: char) {
        let short: &[u8] = match character {
            '"' if self.escapes != Some(Escapes::Plus) => b"\\\"",
            '\\' => b"\\\\",
            '\n' => b"\\n",
            '\r' => b"\\r",
            '\t' => b"\\t",
            '\u{8}' => b"\\b",
            '\u{c}' => b"\\f",
            '/' if self.escapes == Some(Escapes::Slash) => b"\\/",
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                self.has_escapable = true;
                match self.escapes {
                    Some(Escapes::Html) => return self.text.extend(format!("\\u{:04x}", u32::from(character)).bytes()),
                    Some(Escapes::Plus) => return self.text.extend(format!("\\u{:04X}", u32::from(character)).bytes()),
                    _ => b"",
                }
            }
            '"' | '+' | '\'' | '`' if self.escapes == Some(Escapes::Plus) => {
                return self.text.extend(format!("\\u{:04X}", u32::from(character)).bytes());
            }
            '\0'..='\u{1f}' => return self.text.extend(format!("\\u{:04x}", u32::from(character)).bytes()),
            _ => b"",
        };
        if short.is_empty() {
            self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            self.text.extend_from_slice(short);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn sha256(text: &[u8]) -> String {
        let hex: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("sha256:{hex}")
    }

    /// What the host shows of a document: the keys that it knows, in its own order.
    fn shown(document: &[u8]) -> Vec<u8> {
        let mut shown: serde_json::Value = serde_json::from_slice(document).unwrap();
        let nulls =
            |object: &mut serde_json::Map<String, serde_json::Value>| object.retain(|_, value| !value.is_null());
        for entry in shown.get_mut("manifests").and_then(|list| list.as_array_mut()).into_iter().flatten() {
            nulls(entry.as_object_mut().unwrap());
            entry.get_mut("platform").and_then(|platform| platform.as_object_mut()).into_iter().for_each(nulls);
        }
        shown.to_string().into_bytes()
    }

    fn is_proven(digest: &str, document: &[u8]) -> bool {
        Manifest::read(&shown(document)).unwrap().is_proven(digest, &|_| true)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the files are of tools that this project is not")]
    fn what_real_tools_write_is_proven() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests");
        let mut files = 0;
        for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let document = std::fs::read(&file).unwrap();
            assert!(is_proven(&sha256(&document), &document), "{}", file.display());
            assert!(!is_proven(&sha256(b"another"), &document), "{}", file.display());
            files += 1;
        }
        assert!(files >= 39, "{files} files");
    }

    #[test]
    fn every_order_layout_and_end_of_line_is_found() {
        let document = br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","artifactType":"a/b",
            "manifests":[{"mediaType":"m","digest":"sha256:0","size":1,"urls":["u"],"annotations":{"k":"v <&>","l":"\\\"\u0001\n"},
            "platform":{"architecture":"arm","os":"linux","os.version":"1","os.features":["f"],"variant":"v7","features":[]},
            "artifactType":"t"}],"annotations":{}}"#;
        let answer = shown(document);
        let manifest = Manifest::read(&answer).unwrap();
        let parts = Parts::read(&manifest).unwrap();
        let mut spellings = std::collections::BTreeSet::new();
        let combined = ORDERS.iter().flat_map(|&order| {
            LAYOUTS
                .iter()
                .flat_map(move |&layout| ESCAPES.iter().map(move |&escapes| Spelling { order, layout, escapes }))
        });
        for spelling in KNOWN.into_iter().chain(combined) {
            let mut writer = Writer::default();
            writer.begin(spelling);
            writer.document(&manifest, &parts, spelling.order);
            // The output is a document again: spellings differ in nothing but form.
            let again: serde_json::Value = serde_json::from_slice(&writer.text).unwrap();
            assert!(again.get("manifests").is_some(), "{spelling:?}");
            for end in ["", "\n"] {
                let text = [writer.text.as_slice(), end.as_bytes()].concat();
                assert!(manifest.is_proven(&sha256(&text), &|_| true), "{spelling:?} {end:?}");
                spellings.insert(text);
            }
        }
        assert!(spellings.len() > 140, "{}", spellings.len());
    }

    #[test]
    fn other_algorithms_prove_too_and_nonsense_proves_nothing() {
        let document = br#"{"schemaVersion":2,"manifests":[]}"#;
        let hex = |hash: &[u8]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert!(is_proven(&format!("sha512:{}", hex(&Sha512::digest(document))), document));
        assert!(is_proven(&format!("sha384:{}", hex(&Sha384::digest(document))), document));
        let right = sha256(document);
        let upper = right.to_uppercase().replace("SHA256", "sha256");
        for wrong in [
            "",
            "sha256:",
            ":",
            "sha256",
            "md5:00",
            right.trim_end_matches(|digit: char| digit == right.chars().last().unwrap()),
            &format!("{right}00"),
            &upper,
        ] {
            assert!(!is_proven(wrong, document), "{wrong}");
        }
    }

    #[test]
    fn what_the_host_does_not_show_is_not_proven() {
        let clean =
            r#"{"mediaType":"m","digest":"sha256:1","size":1,"platform":{"architecture":"amd64","os":"linux"}}"#;
        let index = |entry: &str| format!(r#"{{"schemaVersion":2,"mediaType":"i","manifests":[{entry}]}}"#);
        let answer = shown(index(clean).as_bytes());
        let manifest = Manifest::read(&answer).unwrap();
        let proven = |document: &str| manifest.is_proven(&sha256(document.as_bytes()), &|_| true);
        assert!(proven(&index(clean)));
        // The host's answer is the same for each of these.
        for hidden in [
            clean.replace(r#""size":1"#, r#""size":1,"Digest":"sha256:2""#),
            clean.replace(r#""size":1"#, r#""DIGEST":"sha256:2","size":1"#),
            clean.replace(r#""platform""#, r#""Platform":{"architecture":"arm64"},"platform""#),
            clean.replace(r#""os":"linux""#, r#""os":"linux","Os":"windows""#),
            clean.replace("digest", r"di\u0067est"),
            clean.replace(r#""size":1"#, r#""size":1,"data":"e30=""#),
            clean.replace(r#""size":1"#, r#""size":1e0"#),
            format!("{clean} "),
            format!("{clean}\n"),
        ] {
            assert!(!proven(&index(&hidden)), "{hidden}");
        }
        let more =
            index(clean).replace(r#"{"schema"#, &format!(r#"{{"Manifests":[{}],"schema"#, clean.replace('1', "2")));
        assert!(!proven(&more));
        assert!(!proven(&format!("{}\n\n", index(clean))));
    }

    #[test]
    fn a_large_document_is_not_hashed_for_ever() {
        let annotations: Vec<String> = (0..20_000).map(|n| format!(r#""key{n}":"{}""#, "v".repeat(180))).collect();
        let document = format!(r#"{{"annotations":{{{}}},"manifests":[]}}"#, annotations.join(","));
        let answer = shown(document.as_bytes());
        let manifest = Manifest::read(&answer).unwrap();
        assert!(document.len() * 3 > MAX_HASHED);
        // The spelling that is tried first, and one whose turn never comes.
        for (spelling, expected) in [(KNOWN[0], true), (KNOWN[16], false)] {
            let mut writer = Writer::default();
            writer.begin(spelling);
            writer.document(&manifest, &Parts::read(&manifest).unwrap(), spelling.order);
            assert_eq!(manifest.is_proven(&sha256(&writer.text), &|_| true), expected, "{spelling:?}");
        }
    }

    #[test]
    fn nothing_is_hashed_that_the_caller_has_no_room_for() {
        let document = br#"{"schemaVersion":2,"manifests":[]}"#;
        let answer = shown(document);
        let manifest = Manifest::read(&answer).unwrap();
        let digest = sha256(document);
        for (room, is_proven) in [(document.len(), true), (document.len() - 1, false)] {
            assert_eq!(manifest.is_proven(&digest, &|bytes| bytes <= room), is_proven, "{room}");
            let among = manifest.digest_among(&[digest.clone()].into(), &|bytes| bytes <= room);
            assert_eq!(among.is_some(), is_proven, "{room}");
        }
    }
}
