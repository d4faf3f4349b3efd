//! Package URLs (purl): of which kind a package is, its name, and its version.
//!
//! One package can be written in many ways: with any letter escaped, in another case, with its epoch in the version or beside it.
//! Here all of these are one. Case never tells two packages apart, not even where their registry would: what is denied is denied
//! in every case.

use crate::glob;
use crate::remedy::{Remedy, is_on};
use std::borrow::Cow;
use std::fmt;

/// The longest purl that is read: whoever publishes a package chooses it.
const MAX_LENGTH: usize = 1024;

/// A package URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Purl<'a> {
    /// Its type, in lower case: `maven`.
    pub(crate) kind: Cow<'a, str>,
    /// Its namespace and its name as they are compared: `org.apache.logging.log4j/log4j-core`.
    pub(crate) path: Cow<'a, str>,
    /// Its version, with its epoch where it has one.
    pub(crate) version: Option<Cow<'a, str>>,
}

impl<'a> Purl<'a> {
    /// Takes a purl apart; none where it is none.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let (text, _) = text.rsplit_once('#').unwrap_or((text, ""));
        let (text, qualifiers) = text.rsplit_once('?').unwrap_or((text, ""));
        let (scheme, rest) = text.split_once(':')?;
        let (kind, rest) = rest.trim_start_matches('/').split_once('/')?;
        if !scheme.eq_ignore_ascii_case("pkg") || !is_kind(kind) {
            return None;
        }
        let kind = lower_case(kind);
        // `@` begins a version, unless it begins a scope, which some write as it is.
        let at = rest.rfind('@').filter(|at| *at > 0 && rest.as_bytes().get(at - 1) != Some(&b'/'));
        let (path, version) = match at.and_then(|at| rest.split_at_checked(at)) {
            Some((path, version)) => (path, version.strip_prefix('@').filter(|version| !version.is_empty())),
            None => (rest, None),
        };
        let path = compared(&kind, decoded(path.trim_matches('/'))?);
        if path.is_empty() {
            return None;
        }
        let version = match version {
            Some(version) => Some(with_epoch(decoded(version)?, epoch_in(qualifiers))),
            None => None,
        };
        Some(Self { kind, path, version })
    }

    /// `pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1` as it is compared with the beginnings of others.
    pub(crate) fn starts_with(&self, beginning: &str) -> bool {
        let own = ["pkg:", &self.kind, "/", &self.path, "@"].concat();
        own.starts_with(beginning)
    }
}

/// Which packages a setting is about: `pkg:maven/*/log4j-core`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurlPattern {
    kind: String,
    path: String,
    written: String,
}

impl PurlPattern {
    /// Reads a purl without a version, in whose path `*` stands for any text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Some(purl) = Purl::parse(text) else {
            return Err(format!("`{text}` is not a purl like `pkg:maven/org.apache.logging.log4j/log4j-core`"));
        };
        if text.contains(['?', '#']) {
            return Err(format!(
                "`{text}` has qualifiers or a subpath; a package is denied with any of them, leave them out"
            ));
        }
        if let Some(version) = purl.version {
            return Err(format!("`{text}` has a version; write it in `versions`, like `={version}`"));
        }
        if NAMESPACED.contains(&purl.kind.as_ref()) && !purl.path.contains('/') && !purl.path.contains('*') {
            let (kind, path) = (&purl.kind, &purl.path);
            return Err(format!(
                "every package of the type `{kind}` has a namespace, `pkg:{kind}/…/{path}`; with `pkg:{kind}/*/{path}` it may be any"
            ));
        }
        Ok(Self { kind: purl.kind.into_owned(), path: purl.path.into_owned(), written: text.to_owned() })
    }

    /// The type of the packages.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether a package is one of them.
    pub(crate) fn matches(&self, purl: &Purl<'_>) -> bool {
        self.kind == purl.kind && glob::matches(&self.path, &purl.path, |own, other| own == other)
    }
}

/// As it is written.
impl fmt::Display for PurlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// Types whose packages all have a namespace: what publishes them, or who.
const NAMESPACED: [&str; 7] = ["apk", "deb", "rpm", "maven", "composer", "github", "bitbucket"];

/// The beginning of purls that a setting names, as it is compared; none where it is none.
pub(crate) fn beginning(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let (kind, path) = rest.split_once('/')?;
    if !scheme.eq_ignore_ascii_case("pkg") || !is_kind(kind) || text.contains(['?', '#']) {
        return None;
    }
    let kind = lower_case(kind);
    let path = compared(&kind, decoded(path)?);
    Some(["pkg:", &kind, "/", &path].concat())
}

fn is_kind(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+'))
}

/// A namespace and a name as packages of this type are told apart.
fn compared<'a>(kind: &str, path: Cow<'a, str>) -> Cow<'a, str> {
    if !is_on(Remedy::FoldPurls) {
        return path;
    }
    let path = match path {
        Cow::Borrowed(path) => lower_case(path),
        Cow::Owned(path) if path.bytes().any(|b| !b.is_ascii() || b.is_ascii_uppercase()) => path.to_lowercase().into(),
        owned => owned,
    };
    match kind {
        // Some write the group as Maven does.
        "maven" if path.contains(':') => path.replace(':', "/").into(),
        // What separates words makes no difference.
        "pypi" if path.contains(['_', '.', '-']) => {
            path.split(['_', '.', '-']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").into()
        }
        "cargo" if path.contains('_') => path.replace('_', "-").into(),
        _ => path,
    }
}

fn lower_case(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) { text.into() } else { text.to_lowercase().into() }
}

fn epoch_in(qualifiers: &str) -> Option<&str> {
    let mut qualifiers = qualifiers.split('&').filter_map(|qualifier| qualifier.split_once('='));
    let (_, epoch) = qualifiers.find(|(key, _)| key.eq_ignore_ascii_case("epoch"))?;
    Some(epoch).filter(|epoch| !epoch.is_empty() && is_on(Remedy::KnowEpochs))
}

/// A version with the epoch that stands beside it, unless it has its own.
fn with_epoch<'a>(version: Cow<'a, str>, epoch: Option<&str>) -> Cow<'a, str> {
    match epoch {
        Some(epoch) if !version.contains(':') => [epoch, ":", &version].concat().into(),
        _ => version,
    }
}

/// A text without escapes; none where they make no text.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') || !is_on(Remedy::FoldPurls) {
        return Some(text.into());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push(u8::try_from(digit()? * 16 + digit()?).ok()?);
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let purl = Purl::parse(text)?;
        let version = purl.version.map_or(String::new(), |version| format!(" {version}"));
        Some(format!("{} {}{version}", purl.kind, purl.path))
    }

    #[test]
    fn the_same_package_in_many_ways() {
        for (text, same) in [
            ("pkg:npm/lodash@4.17.20", "npm lodash 4.17.20"),
            ("PKG:NPM/LoDash@4.17.20?vcs_url=git@x#sub/path", "npm lodash 4.17.20"),
            ("pkg://npm//lodash@4.17.20", "npm lodash 4.17.20"),
            ("pkg:npm/%40angular/core@1.0", "npm @angular/core 1.0"),
            ("pkg:npm/@angular/core@1.0", "npm @angular/core 1.0"),
            ("pkg:npm/@angular/core", "npm @angular/core"),
            ("pkg:npm/%6c%6Fdash@4%2E17.20", "npm lodash 4.17.20"),
            (
                "pkg:maven/org.apache.logging.log4j/log4j-core@2.14.1?type=jar",
                "maven org.apache.logging.log4j/log4j-core 2.14.1",
            ),
            (
                "pkg:maven/org.apache.logging.log4j%3Alog4j-core@2.14.1",
                "maven org.apache.logging.log4j/log4j-core 2.14.1",
            ),
            ("pkg:golang/github.com%2FFoo/bar@v1.0.0", "golang github.com/foo/bar v1.0.0"),
            ("pkg:pypi/Foo__Bar.baz@1", "pypi foo-bar-baz 1"),
            ("pkg:deb/debian/curl@7.88.1-10?arch=amd64&epoch=1", "deb debian/curl 1:7.88.1-10"),
            ("pkg:deb/debian/curl@1%3A7.88.1-10?epoch=1", "deb debian/curl 1:7.88.1-10"),
            ("pkg:rpm/redhat/bind@9.11?epoch=32", "rpm redhat/bind 32:9.11"),
            ("pkg:apk/alpine/busybox@1.36.1-r2?arch=x86_64", "apk alpine/busybox 1.36.1-r2"),
            ("pkg:cargo/serde_json@1.0.1%2Bbuild", "cargo serde-json 1.0.1+build"),
            ("pkg:npm/lodash@", "npm lodash"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(same), "{text}");
        }
    }

    #[test]
    fn what_is_no_purl() {
        for text in [
            "",
            "pkg",
            "pkg:",
            "pkg:npm",
            "pkg:npm/",
            "pkg:/npm/lodash@%",
            "npm/lodash",
            "cpe:npm/lodash",
            "pkg:n m/lodash",
            "pkg:1npm/lodash",
            "pkg:npm/%4",
            "pkg:npm/%zz",
            "pkg:npm/%ff",
            "pkg:npm/a@%ff",
            &format!("pkg:npm/{}", "a".repeat(2000)),
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_and_beginnings() {
        let matches =
            |pattern: &str, purl: &str| PurlPattern::parse(pattern).unwrap().matches(&Purl::parse(purl).unwrap());
        for (pattern, purl, same) in [
            (
                "pkg:maven/org.apache.logging.log4j/log4j-core",
                "pkg:Maven/ORG.apache.logging.log4j/log4j%2dcore@2.14.1",
                true,
            ),
            ("pkg:maven/*/log4j-core", "pkg:maven/shaded.org.apache/log4j-core@2.14.1", true),
            ("pkg:maven/*/log4j-core", "pkg:maven/org.apache/log4j-core-its@2.14.1", false),
            ("pkg:npm/lodash", "pkg:npm/lodash@1", true),
            ("pkg:npm/lodash", "pkg:gem/lodash@1", false),
            ("pkg:npm/lodash", "pkg:npm/lodash-es@1", false),
            ("pkg:npm/%40angular/core", "pkg:npm/@angular/core@1", true),
            ("pkg:pypi/py_yaml", "pkg:pypi/Py.Yaml@1", true),
        ] {
            assert_eq!(matches(pattern, purl), same, "{pattern} {purl}");
        }
        let starts = |purl: &str, with: &str| Purl::parse(purl).unwrap().starts_with(&beginning(with).unwrap());
        assert!(starts("pkg:deb/debian/curl@7?arch=amd64", "pkg:deb/"));
        assert!(starts("pkg:npm/%40angular/core@1", "pkg:npm/@angular/"));
        assert!(!starts("pkg:npm/lodash@1", "pkg:deb/"));
        assert!(starts("pkg:npm/lodash", "pkg:npm/lodash@") && !starts("pkg:npm/lodash-es@1", "pkg:npm/lodash@"));
        for text in ["", "deb/", "pkg:", "pkg:deb", "pkg:deb/debian/curl?arch=amd64"] {
            assert_eq!(beginning(text), None, "{text}");
        }
    }

    #[test]
    fn patterns_that_would_match_nothing_are_refused() {
        for (text, why) in [
            ("lodash", "`lodash` is not a purl like"),
            (
                "pkg:npm/lodash@4.17.20",
                "`pkg:npm/lodash@4.17.20` has a version; write it in `versions`, like `=4.17.20`",
            ),
            ("pkg:deb/debian/curl?arch=amd64", "`pkg:deb/debian/curl?arch=amd64` has qualifiers or a subpath"),
            (
                "pkg:deb/curl",
                "every package of the type `deb` has a namespace, `pkg:deb/…/curl`; with `pkg:deb/*/curl` it may be any",
            ),
        ] {
            let error = PurlPattern::parse(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
