//! Attestors: who may vouch for an artifact in a registry.

mod keyless;
mod notary;

pub use notary::{Notary, TrustStore};

use super::read::{Problems, SettingsMap, wrong_type};
use super::verification::Expression;
use serde_json::Value;
use std::collections::BTreeMap;

/// Somebody who may vouch for an artifact, and how the host recognises them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestor {
    /// What messages call them.
    pub name: String,
    /// How they are recognised. An attestor of several identities is several of these, of one name.
    pub identity: Identity,
    /// The annotations that the signature must have.
    pub annotations: BTreeMap<String, String>,
    /// The trust root of this attestor's certificates in evidence; none: that of the setting `evidence`.
    pub trust_root: Option<TextSource>,
    /// `matchCertificate`: what must be true of the certificate that signed.
    pub certificate: Option<Expression>,
}

impl Attestor {
    /// Whether the host can look for this attestor's signatures; if not, only evidence counts. The host has a trust root of its own.
    #[must_use]
    pub fn is_known_to_hosts(&self) -> bool {
        self.trust_root.is_none()
            && self.certificate.is_none()
            && !matches!(self.identity, Identity::KeylessMatching { .. } | Identity::Notary(_))
    }

    /// What of it is in the cluster, and read at each request.
    pub fn in_cluster(&self) -> impl Iterator<Item = &KeyReference> {
        let own = match &self.identity {
            Identity::KeyInCluster(key) => [Some(key), None],
            Identity::Notary(notary) => [
                notary.certificates.in_cluster(),
                notary.timestamp_certificates.as_ref().and_then(TextSource::in_cluster),
            ],
            _ => [None, None],
        };
        own.into_iter().flatten().chain(self.trust_root.as_ref().and_then(TextSource::in_cluster))
    }
}

/// How it is recognised who signed. The host can do all but the last two; evidence is held against all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Identity {
    /// By a public key, PEM.
    Key(String),
    /// By the issuer and the exact subject of the certificate that signed.
    Keyless {
        /// `https://token.actions.githubusercontent.com`
        issuer: String,
        /// The whole subject.
        subject: String,
    },
    /// By the issuer and the beginning of the subject, a URL.
    KeylessPrefix {
        /// `https://token.actions.githubusercontent.com`
        issuer: String,
        /// How the subject starts.
        subject_prefix: String,
    },
    /// By the GitHub repository, or the owner of the repository, whose workflow signed.
    GithubActions {
        /// The user or organisation.
        owner: String,
        /// One repository of theirs.
        repository: Option<String>,
    },
    /// By a certificate, PEM.
    Certificate {
        /// The certificate that signed.
        certificate: String,
        /// Its issuers up to the root. Never empty: the host trusts a certificate without a chain as it is.
        chain: Vec<String>,
        /// Whether the signature must stand in the transparency log, which also says that it was made in time.
        require_rekor_bundle: bool,
    },
    /// By a public key that stands in a Secret or a ConfigMap; read at each request.
    KeyInCluster(KeyReference),
    /// By the issuer and the subject of the certificate that signed, at least one of them by a regular expression.
    KeylessMatching {
        /// The issuer.
        issuer: TextMatch,
        /// The subject.
        subject: TextMatch,
    },
    /// By Notary Project's rules.
    Notary(Notary),
}

/// A text that must be one, or that a regular expression must find something in, as Go's `regexp.MatchString` does.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextMatch {
    /// This text.
    Exactly(String),
    /// A text in which the expression finds something.
    Matching(String),
}

/// A text of the settings, or one of the cluster that is read at each request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextSource {
    /// The text.
    Inline(String),
    /// Where it is.
    InCluster(KeyReference),
}

impl TextSource {
    /// Where it is in the cluster.
    #[must_use]
    pub fn in_cluster(&self) -> Option<&KeyReference> {
        match self {
            Self::Inline(_) => None,
            Self::InCluster(reference) => Some(reference),
        }
    }
}

/// Where a text is in the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyReference {
    /// `Secret` or `ConfigMap`.
    pub kind: &'static str,
    /// The object's namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The key of its data.
    pub key: String,
}

/// Reads the list at `key`: `[{name, cosign: {key: {data}}}]`, or `cosign.keyless`, `cosign.certificate` or `notary`.
pub(super) fn read(settings: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Vec<Attestor> {
    let path = settings.path().key(key);
    let mut attestors = Vec::new();
    for (position, value) in settings.list(key, problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        if !value.is_object() {
            problems.add(path, wrong_type("an object like `{name: ci, cosign: {key: {data: …}}}`", value));
            continue;
        }
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        map.known(&["name", "cosign", "notary"], &[], problems);
        let name = map.text("name", problems).filter(|name| !name.is_empty()).unwrap_or_default().to_owned();
        if name.is_empty() {
            problems.add(path.key("name"), "name the attestor: messages say who signed");
        }
        match (map.has("cosign"), map.has("notary")) {
            (true, true) => {
                problems.add(path, "set one of `cosign` and `notary`; a second attestor may have the other")
            }
            (false, false) => {
                problems.add(path.key("cosign"), "say how the attestor is recognised, like `{key: {data: …}}`");
            }
            (false, true) => attestors.extend(notary::read(&map, problems).map(|notary| Attestor {
                name,
                identity: Identity::Notary(notary),
                annotations: BTreeMap::new(),
                trust_root: None,
                certificate: None,
            })),
            (true, false) => {
                let path = path.key("cosign");
                let Some(cosign) = SettingsMap::of(map.get("cosign"), &path, problems) else { continue };
                let trust_root = trust_root(&cosign, problems);
                let identities = read_cosign(&cosign, problems);
                let annotations = read_annotations(&cosign, problems);
                let certificate = keyless::read_expression(&cosign, problems);
                attestors.extend(identities.into_iter().map(|identity| Attestor {
                    name: name.clone(),
                    identity,
                    annotations: annotations.clone(),
                    trust_root: trust_root.clone(),
                    certificate: certificate.clone(),
                }));
            }
        }
    }
    attestors
}

/// The `trustRoot` of an attestor, or of the setting `evidence`: Sigstore's `trusted_root.json`.
pub(super) fn trust_root(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<TextSource> {
    read_source(map, "trustRoot", "trusted_root.json", problems)
}

/// A text, `{data: …}`, or where it is in the cluster, with the key that an object has if it names none.
fn read_source(
    map: &SettingsMap<'_, '_>,
    name: &'static str,
    default_key: &str,
    problems: &mut Problems,
) -> Option<TextSource> {
    let path = map.path().key(name);
    let source = SettingsMap::named(map.get(name), &path, "an object like `{data: …}`", problems)?;
    if !map.has(name) {
        return None;
    }
    source.known(&["data", "secretRef", "configMapRef"], &[], problems);
    let set: Vec<&'static str> =
        ["data", "secretRef", "configMapRef"].into_iter().filter(|key| source.has(key)).collect();
    match set.as_slice() {
        ["data"] => source.text("data", problems).map(|text| TextSource::Inline(text.to_owned())),
        ["secretRef"] => {
            read_reference(&source, "secretRef", "Secret", default_key, problems).map(TextSource::InCluster)
        }
        ["configMapRef"] => {
            read_reference(&source, "configMapRef", "ConfigMap", default_key, problems).map(TextSource::InCluster)
        }
        _ => {
            problems.add(path, "set one of `data`, `secretRef` and `configMapRef`");
            None
        }
    }
}

fn read_cosign(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Identity> {
    let path = cosign.path();
    let known = ["key", "keyless", "certificate", "annotations", "ctlog", "source", "tuf", "trustRoot"];
    cosign.known(&known, &[], problems);
    for (key, why) in [
        ("source", "signatures are looked for beside the image; the host reads no other repository"),
        ("tuf", "a policy fetches no trust root: write its `trusted_root.json` as `trustRoot`"),
    ] {
        if cosign.has(key) {
            problems.add(path.key(key), format!("{why}; remove it"));
        }
    }
    let kinds = ["key", "keyless", "certificate"].map(|key| cosign.has(key));
    if kinds.iter().filter(|is_set| **is_set).count() != 1 {
        problems.add(*path, "set one of `key`, `keyless` and `certificate`");
        return Vec::new();
    }
    let log = read_log(cosign, problems);
    if cosign.has("key") {
        read_key(cosign, problems).into_iter().collect()
    } else if cosign.has("certificate") {
        if cosign.has("annotations") {
            problems.add(
                path.key("annotations"),
                "the host would be content with annotations in anybody's signature beside the certificate's: use `key`",
            );
        }
        read_certificate(cosign, log, problems).into_iter().collect()
    } else {
        if log == TransparencyLog::Ignored {
            problems.add(
                path.key("ctlog"),
                "the host checks keyless signatures in the transparency log, always: remove what ignores it, or use `key`",
            );
        }
        keyless::read(cosign, problems)
    }
}

/// Sigstore's own log, which the host knows.
const PUBLIC_LOG: &str = "https://rekor.sigstore.dev";

/// What `ctlog` says of the transparency log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransparencyLog {
    Checked,
    Ignored,
}

/// `ctlog: {url, ignoreTlog, …}`: which log, and whether it counts. The host has one trust root: Sigstore's own, or that of the
/// PolicyServer's `sigstoreTrustConfig`. It always checks the log for keyless signatures, for certificates as it is told, and never
/// for keys.
fn read_log(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> TransparencyLog {
    let path = cosign.path().key("ctlog");
    let Some(log) = SettingsMap::of(cosign.get("ctlog"), &path, problems) else { return TransparencyLog::Checked };
    let ignored = ["ignoreTlog", "insecureIgnoreTlog"];
    let own = ["url", "rekorPubKey", "ctLogPubKey", "tsaCertChain", "ignoreSCT", "insecureIgnoreSCT"];
    log.known(&[ignored.as_slice(), own.as_slice()].concat(), &[], problems);
    let is_public = |key: &str| key == "url" && log.get(key).and_then(Value::as_str) == Some(PUBLIC_LOG);
    for key in own {
        if log.has(key) && log.get(key) != Some(&Value::Bool(false)) && !is_public(key) {
            problems.add(
                path.key(key),
                "a policy can't choose the host's trust root: write yours as `trustRoot`, or in the PolicyServer's `sigstoreTrustConfig`, and remove this",
            );
        }
    }
    let mut said = TransparencyLog::Checked;
    for key in ignored {
        if log.boolean(key, false, problems) {
            said = TransparencyLog::Ignored;
        }
    }
    if cosign.has("key") && cosign.has("ctlog") && said == TransparencyLog::Checked {
        problems.add(
            path,
            "the host looks up no signature by key in a transparency log: write `ignoreTlog: true`, or remove it",
        );
    }
    said
}

/// `annotations: {env: prod}`: what the signature must have.
fn read_annotations(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> BTreeMap<String, String> {
    let path = cosign.path().key("annotations");
    if cosign.is_blank("annotations") {
        problems.add(path, "it names no annotation; leave it out where the signature needs none");
    }
    let Some(map) = SettingsMap::of(cosign.get("annotations"), &path, problems) else { return BTreeMap::new() };
    let mut annotations = BTreeMap::new();
    for (key, value) in map.entries() {
        match value.as_str() {
            Some(text) => {
                annotations.insert(key.clone(), text.to_owned());
            }
            None => problems.add(path.key(key), wrong_type("a string", value)),
        }
    }
    annotations
}

fn read_key(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Identity> {
    let path = cosign.path().key("key");
    let expected = "an object like `{data: …}` with the public key's text, or `{secretRef: {namespace: …, name: …}}`";
    let key = SettingsMap::named(cosign.get("key"), &path, expected, problems)?;
    // Where the private key is makes no difference to who has the public one.
    if key.text("kms", problems).is_some()
        && !["data", "secretRef", "configMapRef"].into_iter().any(|source| key.has(source))
    {
        problems.add(
            path.key("kms"),
            "no key management service is asked at admission: export the public key, and write it as `data` beside this",
        );
        return None;
    }
    key.known(&["data", "secretRef", "configMapRef", "kms", "hashAlgorithm", "expression"], &[], problems);
    if key.has("expression") {
        problems
            .add(path.key("expression"), "a key can't be computed: write it as `data`, or refer to it by `secretRef`");
    }
    if let Some(name) = key.text("hashAlgorithm", problems).filter(|name| !name.eq_ignore_ascii_case("sha256")) {
        problems
            .add(path.key("hashAlgorithm"), format!("the host verifies with SHA-256, not with `{name}`; remove it"));
    }
    if [key.has("data"), key.has("secretRef"), key.has("configMapRef")].iter().filter(|is_set| **is_set).count() > 1 {
        problems.add(path, "set one of `data`, `secretRef` and `configMapRef`");
        return None;
    }
    for (reference, kind) in [("secretRef", "Secret"), ("configMapRef", "ConfigMap")] {
        if !key.has(reference) {
            continue;
        }
        // The key under which cosign stores a public key in a cluster.
        return read_reference(&key, reference, kind, "cosign.pub", problems).map(Identity::KeyInCluster);
    }
    let data = key.text("data", problems).map(str::trim);
    match data {
        Some(pem) if is_pem(pem, "PUBLIC KEY") => Some(Identity::Key([pem, "\n"].concat())),
        Some(_) => {
            problems
                .add(path.key("data"), "it is not a public key in PEM, which starts with `-----BEGIN PUBLIC KEY-----`");
            None
        }
        None => {
            problems.add(path, "`data` is missing: the public key in PEM");
            None
        }
    }
}

/// `secretRef: {name, namespace, key}`, or the same of a ConfigMap.
fn read_reference(
    key: &SettingsMap<'_, '_>,
    reference: &'static str,
    kind: &'static str,
    default_key: &str,
    problems: &mut Problems,
) -> Option<KeyReference> {
    let path = key.path().key(reference);
    let map = SettingsMap::of(key.get(reference), &path, problems)?;
    map.known(&["name", "namespace", "key"], &[], problems);
    let named = |key: &str, problems: &mut Problems| {
        let text = map.text(key, problems).unwrap_or_default().to_owned();
        if text.is_empty() {
            problems.add(path.key(key), format!("the {kind}'s {key} is missing"));
        }
        text
    };
    let (name, namespace) = (named("name", problems), named("namespace", problems));
    let key = map.text("key", problems).unwrap_or(default_key).to_owned();
    Some(KeyReference { kind, namespace, name, key })
}

fn read_certificate(cosign: &SettingsMap<'_, '_>, log: TransparencyLog, problems: &mut Problems) -> Option<Identity> {
    let path = cosign.path().key("certificate");
    let map = SettingsMap::of(cosign.get("certificate"), &path, problems)?;
    map.known(&["cert", "certChain", "certificate", "certificateChain"], &[], problems);
    let either = |names: [&'static str; 2]| names.into_iter().find(|name| map.has(name)).unwrap_or(names[0]);
    let (own, chain) = (either(["cert", "certificate"]), either(["certChain", "certificateChain"]));
    let certificates = read_certificates(&map, own, problems);
    let issuers = read_certificates(&map, chain, problems);
    if !map.has(own) {
        problems.add(path.key(own), "the certificate is missing, in PEM");
    }
    if !map.has(chain) {
        problems.add(
            path.key(chain),
            "the chain of the certificate is missing, up to its root: without one the host would trust any certificate as it is",
        );
    }
    let [certificate] = certificates.as_slice() else {
        if certificates.len() > 1 {
            problems.add(path.key(own), format!("write the issuers' certificates to `{chain}`"));
        }
        return None;
    };
    (!issuers.is_empty()).then(|| Identity::Certificate {
        certificate: certificate.clone(),
        chain: issuers,
        require_rekor_bundle: log == TransparencyLog::Checked,
    })
}

/// The PEM certificates of a string, or of `{value: …}`.
fn read_certificates(map: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) -> Vec<String> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    let path = map.path().key(key);
    let text = match map.get(key) {
        None => return Vec::new(),
        Some(Value::Object(object)) if object.contains_key("value") => object.get("value").and_then(Value::as_str),
        Some(value) => value.as_str(),
    };
    let Some(text) = text.map(str::trim).filter(|text| text.starts_with(BEGIN)) else {
        problems.add(path, format!("it is not a certificate in PEM, which starts with `{BEGIN}`"));
        return Vec::new();
    };
    let mut certificates = Vec::new();
    for part in text.split(BEGIN).skip(1) {
        let pem = format!("{BEGIN}{}\n", part.trim_end());
        if !is_pem(pem.trim(), "CERTIFICATE") {
            problems.add(path, "it has a part that is no certificate in PEM");
            return Vec::new();
        }
        certificates.push(pem);
    }
    certificates
}

/// Whether a string is a PEM frame with this label, with Base64 inside.
fn is_pem(pem: &str, label: &str) -> bool {
    let [begin, end] = ["-----BEGIN ", "-----END "].map(|frame| [frame, label, "-----"].concat());
    let body = pem.strip_prefix(&begin).and_then(|rest| rest.strip_suffix(&end));
    body.is_some_and(|body| {
        let is_base64 = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
        let mut length = 0;
        let mut lines = body.split_ascii_whitespace().inspect(|line| length += line.len());
        lines.all(|line| line.bytes().all(is_base64)) && length >= 40
    })
}
