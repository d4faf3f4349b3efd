//! Identities in certificates that Sigstore's authority issued.

use super::super::read::{Problems, SettingsMap};
use super::super::verification::Expression;
use super::{Identity, TextMatch};
use serde_json::Value;

/// `keyless.matchCertificate`: an expression about the certificate that signed, which no host hands out.
pub(super) fn read_expression(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Expression> {
    const KEY: &str = "matchCertificate";
    let path = cosign.path().key("keyless");
    let text = SettingsMap::of(cosign.get("keyless"), &path, &mut Problems::default())?.text(KEY, problems)?;
    Some(Expression { path: path.key(KEY).text(), text: text.to_owned() })
}

/// `keyless: {identities, githubActions, matchCertificate}`.
pub(super) fn read(cosign: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Identity> {
    let path = cosign.path().key("keyless");
    let Some(keyless) = SettingsMap::of(cosign.get("keyless"), &path, problems) else { return Vec::new() };
    keyless.known(&["identities", "githubActions", "matchCertificate"], &[], problems);
    let mut identities = Vec::new();
    if keyless.has("githubActions") {
        identities.extend(read_github(&keyless, problems));
    }
    let path = path.key("identities");
    for (position, value) in keyless.list("identities", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        map.known(&["issuer", "subject", "subjectPrefix", "issuerRegExp", "subjectRegExp"], &[], problems);
        if map.has("issuerRegExp") || map.has("subjectRegExp") {
            identities.extend(read_matching(&map, problems));
            continue;
        }
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
    let none_listed = |list: &Value| list.as_array().is_some_and(Vec::is_empty);
    if !keyless.has("githubActions") && keyless.get("identities").is_none_or(none_listed) {
        problems.add(*keyless.path(), "set `identities` or `githubActions`");
    }
    identities
}

/// An identity with `issuerRegExp` or `subjectRegExp`, which no host compares: it counts in evidence alone.
fn read_matching(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Identity> {
    let path = map.path();
    let mut either = |exact: &'static str, expression: &'static str| match (
        map.text(exact, problems).filter(|text| !text.is_empty()),
        map.text(expression, problems).filter(|text| !text.is_empty()),
    ) {
        (Some(text), None) => Some(TextMatch::Exactly(text.to_owned())),
        (None, Some(expression)) => Some(TextMatch::Matching(expression.to_owned())),
        _ => {
            problems.add(*path, format!("set one of `{exact}` and `{expression}`"));
            None
        }
    };
    let (issuer, subject) = (either("issuer", "issuerRegExp"), either("subject", "subjectRegExp"));
    if map.has("subjectPrefix") {
        problems.add(path.key("subjectPrefix"), "beside a regular expression, write it as `subjectRegExp`");
        return None;
    }
    Some(Identity::KeylessMatching { issuer: issuer?, subject: subject? })
}

fn read_github(keyless: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Identity> {
    let path = keyless.path().key("githubActions");
    let map = SettingsMap::of(keyless.get("githubActions"), &path, problems)?;
    map.known(&["owner", "repository"], &[], problems);
    let repository = map.text("repository", problems).map(str::to_owned);
    if repository.as_ref().is_some_and(String::is_empty) {
        problems.add(
            path.key("repository"),
            "an empty string names no repository; leave it out for every one of the owner",
        );
    }
    match map.text("owner", problems).filter(|owner| !owner.is_empty()) {
        Some(owner) => Some(Identity::GithubActions { owner: owner.to_owned(), repository }),
        None => {
            problems.add(path.key("owner"), "the owner of the repositories is missing");
            None
        }
    }
}

/// Whether a string is the beginning of a URL with a host, in characters of URLs.
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
