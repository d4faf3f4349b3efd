//! Attestors: who may vouch for an artifact in a registry.

use super::read::{Problems, SettingsMap, wrong_type};

/// Somebody who may vouch for an artifact, and how the host recognises them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestor {
    /// What messages call them.
    pub name: String,
    /// How they are recognised.
    pub identity: Identity,
}

/// How the host recognises who signed.
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

const NO_REGULAR_EXPRESSIONS: &str =
    "the host compares no regular expressions: write `subject`, or `subjectPrefix` with how it starts";

/// Reads the list at `key`: `[{name, cosign: {key: {data}}}]`, or `cosign.keyless`.
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
        if map.has("notary") {
            problems.add(path.key("notary"), "the host verifies no Notary signatures; sign with cosign");
            continue;
        }
        map.known(&["name", "cosign"], &[], problems);
        let name = map.text("name", problems).filter(|name| !name.is_empty());
        if name.is_none() {
            problems.add(path.key("name"), "name the attestor: messages say who signed");
        }
        let path = path.key("cosign");
        if !map.has("cosign") {
            problems.add(path, "say how the attestor is recognised, like `{key: {data: …}}`");
            continue;
        }
        let Some(cosign) = SettingsMap::of(map.get("cosign"), &path, problems) else { continue };
        let identities = read_cosign(&cosign, problems);
        attestors.extend(
            identities.into_iter().map(|identity| Attestor { name: name.unwrap_or_default().to_owned(), identity }),
        );
    }
    attestors
}

fn read_cosign(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Identity> {
    let path = cosign.path();
    if cosign.has("certificate") {
        problems.add(path.key("certificate"), "`certificate` is not supported yet; use `key` or `keyless`");
        return Vec::new();
    }
    cosign.known(&["key", "keyless"], &[], problems);
    if cosign.has("key") == cosign.has("keyless") {
        problems.add(*path, "set one of `key` and `keyless`");
        return Vec::new();
    }
    if cosign.has("key") { read_key(cosign, problems).into_iter().collect() } else { read_keyless(cosign, problems) }
}

fn read_key(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Identity> {
    let path = cosign.path().key("key");
    let key = SettingsMap::of(cosign.get("key"), &path, problems)?;
    if key.has("kms") {
        problems.add(path.key("kms"), "the host reaches no key management service: export the public key into `data`");
        return None;
    }
    if key.has("secretRef") || key.has("configMapRef") {
        problems.add(path, "keys from the cluster are not supported yet: write the public key into `data`");
        return None;
    }
    key.known(&["data"], &[], problems);
    let data = key.text("data", problems).map(str::trim);
    match data {
        Some(pem) if is_public_key(pem) => Some(Identity::Key(format!("{pem}\n"))),
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

/// Whether a text has the frame of a PEM public key, and Base64 inside it.
fn is_public_key(pem: &str) -> bool {
    let body =
        pem.strip_prefix("-----BEGIN PUBLIC KEY-----").and_then(|rest| rest.strip_suffix("-----END PUBLIC KEY-----"));
    body.is_some_and(|body| {
        let letters: Vec<u8> = body.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        letters.len() >= 40 && letters.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
    })
}

fn read_keyless(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Identity> {
    let path = cosign.path().key("keyless");
    let Some(keyless) = SettingsMap::of(cosign.get("keyless"), &path, problems) else { return Vec::new() };
    keyless.known(&["identities", "githubActions"], &[], problems);
    let mut identities = Vec::new();
    if keyless.has("githubActions") {
        identities.extend(read_github(&keyless, problems));
    }
    let path = path.key("identities");
    for (position, value) in keyless.list("identities", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        for key in ["issuerRegExp", "subjectRegExp"].into_iter().filter(|key| map.has(key)) {
            problems.add(path.key(key), NO_REGULAR_EXPRESSIONS);
        }
        map.known(&["issuer", "subject", "subjectPrefix", "issuerRegExp", "subjectRegExp"], &[], problems);
        let issuer = map.text("issuer", problems).unwrap_or_default().to_owned();
        if issuer.is_empty() {
            problems.add(path.key("issuer"), "the issuer of the identity is missing");
        }
        match (map.text("subject", problems), map.text("subjectPrefix", problems)) {
            (Some(subject), None) if !subject.is_empty() => {
                identities.push(Identity::Keyless { issuer, subject: subject.to_owned() });
            }
            (None, Some(prefix)) if is_url(prefix) => {
                identities.push(Identity::KeylessPrefix { issuer, subject_prefix: prefix.to_owned() });
            }
            // The host can't read it, and its task ends there.
            (None, Some(prefix)) => problems.add(
                path.key("subjectPrefix"),
                format!("`{prefix}` is not the beginning of a URL like `https://github.com/team/`"),
            ),
            _ => problems.add(path, "set one of `subject` and `subjectPrefix`"),
        }
    }
    if identities.is_empty() && !keyless.has("identities") && !keyless.has("githubActions") {
        problems.add(*keyless.path(), "set `identities` or `githubActions`");
    }
    identities
}

fn read_github(keyless: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Identity> {
    let path = keyless.path().key("githubActions");
    let map = SettingsMap::of(keyless.get("githubActions"), &path, problems)?;
    map.known(&["owner", "repository"], &[], problems);
    let repository = map.text("repository", problems).map(str::to_owned);
    match map.text("owner", problems).filter(|owner| !owner.is_empty()) {
        Some(owner) => Some(Identity::GithubActions { owner: owner.to_owned(), repository }),
        None => {
            problems.add(path.key("owner"), "the owner of the repositories is missing");
            None
        }
    }
}

/// Whether a text is the beginning of a URL with a host, in letters that a URL has.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':'))
            && host.bytes().any(|b| b.is_ascii_alphanumeric())
            && rest.bytes().all(|b| b.is_ascii_graphic())
    })
}
