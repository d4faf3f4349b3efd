//! Package URLs (purl): the kind of a package, its name, and its version.
//!
//! One package can be written in many ways: with any character escaped, in another case, with its epoch in the version or beside
//! it. Here all of these are the same. Case never tells two packages apart, even if their registry does: a denied name is denied in
//! every case.

use super::strictly_decoded;
use image_admission_untrusted::glob;
use image_admission_untrusted::remedy::{Remedy, is_on};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;

/// The longest purl that is read: publishers of packages choose it.
const MAX_LENGTH: usize = 1024;

/// A parsed package URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purl<'a> {
    /// Its type, in lower case: `maven`.
    pub kind: Cow<'a, str>,
    /// Its namespace and its name in their form for comparison: `org.apache.logging.log4j/log4j-core`.
    pub path: Cow<'a, str>,
    /// Its version, with its epoch if it has one.
    version: Option<Cow<'a, str>>,
    /// The epoch from the qualifiers.
    epoch: Option<&'a str>,
}

impl<'a> Purl<'a> {
    /// Parses a purl; none where it isn't one.
    pub fn parse(text: &'a str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        // The first `#` and the first `?` count: what is behind them is not the package's name, whatever it contains.
        let (text, subpath) = text.split_once('#').unwrap_or((text, ""));
        let (text, qualifiers) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = text.split_once(':')?;
        let (kind, rest) = rest.trim_start_matches('/').split_once('/')?;
        if !scheme.eq_ignore_ascii_case("pkg") || !is_kind(kind) {
            return None;
        }
        let kind = lower_case(kind);
        // `@` begins a version, unless it begins a scope, which some tools write unescaped.
        let rest = rest.trim_start_matches('/');
        let at = rest.rfind('@').filter(|at| *at > 0);
        let (path, version) = match at.and_then(|at| rest.split_at_checked(at)) {
            Some((path, version)) => (path, version.strip_prefix('@').filter(|version| !version.is_empty())),
            None => (rest, None),
        };
        let mut path = without_gaps(decoded(path)?);
        if !is_name(&path) && is_on(Remedy::OddPurlsAreDenied) {
            return None;
        }
        if kind == "golang" && !subpath.is_empty() && is_on(Remedy::SubpathsOfModules) {
            path = without_gaps([&path, "/", &decoded(subpath)?].concat().into());
        }
        let path = compared(&kind, path);
        if path.is_empty() {
            return None;
        }
        let epoch = epoch_in(qualifiers);
        let version = match version {
            Some(version) => Some(with_epoch(decoded(version)?, epoch)),
            None => None,
        };
        Some(Self { kind, path, version, epoch })
    }

    /// Its version, and then the version from `elsewhere` if that is another one. Both have the purl's epoch. An empty version if
    /// there is none.
    pub fn versions(&self, elsewhere: Option<&'a str>) -> Vec<Cow<'a, str>> {
        let elsewhere = elsewhere.map(|version| {
            // Syft writes the version of Go itself as `go1.22.1`, and as `1.22.1` in the purl.
            let bare = version.strip_prefix("go").filter(|bare| bare.starts_with(|c: char| c.is_ascii_digit()));
            let version = bare.filter(|_| self.kind == "golang").unwrap_or(version);
            let epoch = self.version.as_deref().and_then(|own| own.split_once(':')).map(|(epoch, _)| epoch);
            with_epoch(version.into(), epoch.or(self.epoch))
        });
        let mut versions: Vec<Cow<'a, str>> = self.version.iter().cloned().chain(elsewhere).collect();
        versions.dedup();
        if versions.is_empty() {
            versions.push(Cow::default());
        }
        versions
    }

    /// Whether this is its name: the whole path or, except for Go modules, its last part. A name that is too long isn't compared:
    /// each of a package's many purls would be.
    pub fn is_called(&self, name: &PackageName<'_>) -> bool {
        if name.is_too_long() {
            return false;
        }
        let name = name.form(&self.kind);
        name == self.path || (self.kind != "golang" && self.path.rsplit('/').next() == Some(name))
    }

    /// Whether it has a version.
    pub fn has_version(&self) -> bool {
        self.version.is_some()
    }

    /// Whether its whole form, `pkg:maven/org.apache.logging.log4j/log4j-core@`, begins with a string that [`beginning`] made.
    pub fn starts_with(&self, beginning: &str) -> bool {
        let own = ["pkg:", &self.kind, "/", &self.path, "@"].concat();
        own.starts_with(beginning)
    }
}

/// The packages that a setting means: `pkg:maven/*/log4j-core`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PurlPattern {
    kind: String,
    path: String,
    written: String,
}

impl PurlPattern {
    /// Parses a purl without a version, in whose path `*` stands for any string.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(purl) = Purl::parse(text) else {
            return Err(format!("`{text}` is not a purl like `pkg:maven/org.apache.logging.log4j/log4j-core`"));
        };
        // The path of a Go module goes on behind `#`.
        if text.contains('?') || (text.contains('#') && purl.kind != "golang") {
            return Err(format!(
                "`{text}` has qualifiers or a subpath; a package is denied with any of them, leave them out"
            ));
        }
        if let Some(version) = purl.version {
            return Err(format!("`{text}` has a version; write it in `versions`, like `={version}`"));
        }
        if let Some((_, kind)) = MISNAMED.iter().find(|(wrong, _)| *wrong == purl.kind) {
            return Err(format!("purls have no type `{}`, these packages are of the type `{kind}`", purl.kind));
        }
        if has_namespaces(&purl.kind) && !purl.path.contains('/') && !purl.path.contains('*') {
            let (kind, path) = (&purl.kind, &purl.path);
            return Err(format!(
                "every package of the type `{kind}` has a namespace, `pkg:{kind}/…/{path}`; with `pkg:{kind}/*/{path}` it may be any"
            ));
        }
        Ok(Self { kind: purl.kind.into_owned(), path: purl.path.into_owned(), written: text.to_owned() })
    }

    /// The type of the packages.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Whether it matches a package. A namespace that is missing may be any one.
    pub fn matches(&self, purl: &Purl<'_>) -> bool {
        let is_path = |path: &str| glob::matches(path, &purl.path, |own, other| own == other);
        let in_none = || match has_namespaces(&self.kind) && !purl.path.contains('/') {
            true => self.is_called(&purl.path),
            false => self.path.strip_prefix("*/").is_some_and(is_path),
        };
        self.kind == purl.kind && (is_path(&self.path) || is_on(Remedy::NamespacesMayBeMissing) && in_none())
    }

    /// Whether it may match a package of which only the name is known. If the pattern's name is `*`, the name must include the
    /// namespace. The name of a Go module is its whole path. A name that is too long to compare may be any.
    pub fn may_be(&self, name: &PackageName<'_>) -> bool {
        name.is_too_long() || self.is_called(name.form(&self.kind))
    }

    /// The same for a name in its form for comparison.
    fn is_called(&self, name: &str) -> bool {
        let own = self.path.rsplit('/').next().unwrap_or_default();
        let is_whole = self.kind == "golang" || own.bytes().all(|b| b == b'*');
        let (own, name) = match is_whole {
            true => (self.path.as_str(), name),
            false => (own, name.rsplit('/').next().unwrap_or_default()),
        };
        !name.is_empty() && glob::matches(own, name, |own, other| own == other)
    }
}

/// The name that a scanner gives a package. Its form for comparison depends on the kind of package, and each is made once: a package
/// may have very many purls, and each is held against every denied package.
#[derive(Debug)]
pub struct PackageName<'a> {
    written: &'a str,
    maven: OnceCell<Cow<'a, str>>,
    pypi: OnceCell<Cow<'a, str>>,
    cargo: OnceCell<Cow<'a, str>>,
    others: OnceCell<Cow<'a, str>>,
}

impl<'a> PackageName<'a> {
    /// A name as it is written.
    pub fn new(written: &'a str) -> Self {
        let [maven, pypi, cargo, others] = <[OnceCell<_>; 4]>::default();
        Self { written, maven, pypi, cargo, others }
    }

    fn is_too_long(&self) -> bool {
        self.written.len() > MAX_LENGTH
    }

    /// Its form for comparison, for packages of this type.
    fn form(&self, kind: &str) -> &str {
        let form = match kind {
            "maven" => &self.maven,
            "pypi" => &self.pypi,
            "cargo" => &self.cargo,
            _ => &self.others,
        };
        form.get_or_init(|| compared(kind, without_gaps(self.written.into())))
    }
}

/// As written.
impl fmt::Display for PurlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// What people call kinds of packages, and their type in purls. No package would match.
const MISNAMED: [(&str, &str); 15] = [
    ("debian", "deb"),
    ("ubuntu", "deb"),
    ("redhat", "rpm"),
    ("centos", "rpm"),
    ("go", "golang"),
    ("java", "maven"),
    ("javascript", "npm"),
    ("node", "npm"),
    ("nodejs", "npm"),
    ("php", "composer"),
    ("pip", "pypi"),
    ("python", "pypi"),
    ("ruby", "gem"),
    ("rubygems", "gem"),
    ("rust", "cargo"),
];

/// Types whose packages all have a namespace, the name of their publisher.
const NAMESPACED: [&str; 7] = ["apk", "deb", "rpm", "maven", "composer", "github", "bitbucket"];

/// Whether all packages of a type have a namespace.
pub(super) fn has_namespaces(kind: &str) -> bool {
    NAMESPACED.contains(&kind)
}

/// The beginning of purls in a setting, in its form for comparison; none where it isn't one.
pub fn beginning(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once(':')?;
    let (kind, path) = rest.split_once('/')?;
    if !scheme.eq_ignore_ascii_case("pkg") || !is_kind(kind) || text.contains(['?', '#']) {
        return None;
    }
    let kind = lower_case(kind);
    let path = decoded(path)?;
    // `acme-` is not the beginning of `acmeevil`.
    let separator = if kind == "pypi" && path.ends_with(['_', '.', '-']) { "-" } else { "" };
    Some(["pkg:", &kind, "/", &compared(&kind, path), separator].concat())
}

/// A path without empty segments.
pub(super) fn without_gaps(path: Cow<'_, str>) -> Cow<'_, str> {
    if !path.starts_with('/') && !path.ends_with('/') && !path.contains("//") {
        return path;
    }
    path.split('/').filter(|segment| !segment.is_empty()).collect::<Vec<_>>().join("/").into()
}

/// Whether a path has none of the separators of a purl's parts. `@` may only begin a scope.
fn is_name(path: &str) -> bool {
    !path.strip_prefix('@').unwrap_or(path).contains(['@', '?', '#'])
}

/// Whether a string has the form of a type.
pub(super) fn is_kind(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+'))
}

/// The form for comparison of a namespace and a name, for packages of this type.
pub(super) fn compared<'a>(kind: &str, path: Cow<'a, str>) -> Cow<'a, str> {
    if !is_on(Remedy::FoldPurls) {
        return path;
    }
    let path = match path {
        Cow::Borrowed(path) => lower_case(path),
        Cow::Owned(path) if path.bytes().any(|b| !b.is_ascii() || b.is_ascii_uppercase()) => path.to_lowercase().into(),
        owned => owned,
    };
    match kind {
        // Some tools write the group as Maven does.
        "maven" if path.contains(':') => path.replace(':', "/").into(),
        // The separator of words makes no difference.
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

/// A version with the epoch from the qualifiers, unless it has its own.
fn with_epoch<'a>(version: Cow<'a, str>, epoch: Option<&str>) -> Cow<'a, str> {
    match epoch {
        Some(epoch) if !version.contains(':') => [epoch, ":", &version].concat().into(),
        _ => version,
    }
}

/// A string without escapes, which some tools write twice; none where they are invalid, or written more often.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !is_on(Remedy::FoldPurls) {
        return Some(text.into());
    }
    let mut text = strictly_decoded(text)?;
    if text.contains('%') {
        text = strictly_decoded(&text)?.into_owned().into();
    }
    (!text.contains('%')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::in_time;

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
            ("pkg:npm/%2540angular/core@1.0%252B1", "npm @angular/core 1.0+1"),
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
            ("pkg:npm/lodash@4.17.20?a=b?c#d#e", "npm lodash 4.17.20"),
            ("pkg:npm/lodash@4.17.20#d?e#f@5", "npm lodash 4.17.20"),
            ("pkg:maven/org.x//y/@1", "maven org.x/y 1"),
            ("pkg:golang/github.com/golang-jwt/jwt@v4.5.0#v4", "golang github.com/golang-jwt/jwt/v4 v4.5.0"),
            ("pkg:golang/github.com/golang-jwt/jwt/v4@v4.5.0", "golang github.com/golang-jwt/jwt/v4 v4.5.0"),
            (
                "pkg:golang/github.com/aws/aws-sdk-go-v2@v1.0.0#/service%2Fs3/",
                "golang github.com/aws/aws-sdk-go-v2/service/s3 v1.0.0",
            ),
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
            "pkg:npm/a%25b",
            "pkg:npm/%252540angular/core",
            "pkg:npm/lodash@4@4",
            "pkg:npm/lodash/@4/x@4",
            "pkg:npm/lodash%404.17.20",
            "pkg:npm/lodash%3Fa@4",
            "pkg:npm/lodash%23a@4",
            "pkg:npm//",
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
            ("pkg:deb/*/xz-utils", "pkg:deb/xz-utils@5.6.0-0.2", true),
            ("pkg:deb/*/xz-utils", "pkg:deb/debian/xz-utils@5.6.0-0.2", true),
            ("pkg:deb/*/xz-utils", "pkg:deb/my-xz-utils@5.6.0-0.2", false),
            ("pkg:deb/debian/xz-utils", "pkg:deb/xz-utils@5.6.0-0.2", true),
            ("pkg:deb/debian/xz-*", "pkg:deb/xz-utils@5.6.0-0.2", true),
            ("pkg:deb/debian/*", "pkg:deb/xz-utils@5.6.0-0.2", false),
            ("pkg:npm/@scope/tool", "pkg:npm/tool@1", false),
            ("pkg:golang/github.com/golang-jwt/jwt/v4", "pkg:golang/github.com/golang-jwt/jwt@v4.5.0#v4", true),
            ("pkg:golang/github.com/golang-jwt/jwt#v4", "pkg:golang/github.com/golang-jwt/jwt/v4@v4.5.0", true),
            ("pkg:golang/github.com/golang-jwt/jwt", "pkg:golang/github.com/golang-jwt/jwt@v4.5.0#v4", false),
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
        for (beginning, purl, is_one) in [
            ("pkg:pypi/acme-", "pkg:pypi/acme_tools@1", true),
            ("pkg:pypi/Acme_", "pkg:pypi/acme.tools@1", true),
            ("pkg:pypi/acme-", "pkg:pypi/acmeevil@1", false),
            ("pkg:pypi/acme", "pkg:pypi/acmeevil@1", true),
        ] {
            assert_eq!(starts(purl, beginning), is_one, "{beginning} {purl}");
        }
        for text in ["", "deb/", "pkg:", "pkg:deb", "pkg:deb/debian/curl?arch=amd64"] {
            assert_eq!(beginning(text), None, "{text}");
        }
    }

    #[test]
    fn names_without_purls() {
        for (pattern, name, may) in [
            ("pkg:deb/*/xz-utils", "xz-utils", true),
            ("pkg:deb/debian/xz-utils", "XZ-Utils", true),
            ("pkg:deb/debian/xz-utils", "xz", false),
            ("pkg:maven/org.apache.logging.log4j/log4j-core", "org.apache.logging.log4j:log4j-core", true),
            ("pkg:maven/org.apache.logging.log4j/log4j-core", "org.apache.logging.log4j/log4j-core", true),
            ("pkg:maven/org.apache.logging.log4j/log4j-core", "log4j-core", true),
            ("pkg:pypi/py-yaml", "Py_Yaml", true),
            ("pkg:npm/@scope/tool*", "@scope/toolbox", true),
            ("pkg:npm/@scope/*", "lodash", false),
            ("pkg:npm/@scope/*", "@scope/tool", true),
            ("pkg:golang/github.com/golang-jwt/jwt/v4", "github.com/golang-jwt/jwt/v4", true),
            ("pkg:golang/github.com/golang-jwt/jwt/v4", "github.com/other/v4", false),
            ("pkg:npm/*", "", false),
        ] {
            let name = PackageName::new(name);
            assert_eq!(PurlPattern::parse(pattern).unwrap().may_be(&name), may, "{pattern} {name:?}");
        }
    }

    /// Whoever builds an image chooses how long a package's name is, and how many purls it has.
    #[test]
    fn a_name_that_is_too_long_may_be_any() {
        let long = "A".repeat(1 << 20);
        let long = PackageName::new(&long);
        let pattern = PurlPattern::parse("pkg:maven/org.x/y").unwrap();
        let purl = Purl::parse("pkg:maven/org.x/z").unwrap();
        in_time(|| {
            for _ in 0..50_000 {
                assert!(!purl.is_called(&long) && pattern.may_be(&long));
            }
        });
    }

    /// A package may have 50,000 purls, and a policy may deny many packages.
    #[test]
    fn a_name_is_folded_once_for_all_purls_and_patterns() {
        let long = "É".repeat(MAX_LENGTH / 2);
        let name = PackageName::new(&long);
        let pattern = PurlPattern::parse("pkg:maven/org.x/y").unwrap();
        let purl = Purl::parse("pkg:maven/org.x/z").unwrap();
        in_time(|| {
            for _ in 0..500_000 {
                assert!(!purl.is_called(&name) && !pattern.may_be(&name));
            }
        });
    }

    #[test]
    fn an_epoch_may_stand_beside_a_version_elsewhere() {
        let purl = Purl::parse("pkg:rpm/redhat/bind?epoch=32").unwrap();
        assert_eq!(purl.versions(Some("9.11")), ["32:9.11"]);
        assert_eq!(purl.versions(None), [""]);
        for (text, elsewhere, versions) in [
            ("pkg:rpm/redhat/bind@9.12", "9.12", ["9.12"].as_slice()),
            ("pkg:rpm/redhat/bind@9.12", "9.11", &["9.12", "9.11"]),
            ("pkg:rpm/redhat/bind@9.12?epoch=32", "32:9.12", &["32:9.12"]),
            ("pkg:rpm/redhat/bind@9.12?epoch=32", "9.12", &["32:9.12"]),
            ("pkg:rpm/redhat/bind@32:9.12", "9.12", &["32:9.12"]),
            ("pkg:rpm/redhat/bind@32:9.12", "31:9.12", &["32:9.12", "31:9.12"]),
            ("pkg:golang/stdlib@1.22.1", "go1.22.1", &["1.22.1"]),
            ("pkg:golang/stdlib", "go1.22.1", &["1.22.1"]),
            ("pkg:npm/x@1", "go1", &["1", "go1"]),
        ] {
            assert_eq!(Purl::parse(text).unwrap().versions(Some(elsewhere)), versions, "{text} {elsewhere}");
        }
    }

    #[test]
    fn how_a_package_is_called() {
        for (purl, name, is_called) in [
            ("pkg:maven/org.x/y@1", "y", true),
            ("pkg:maven/org.x/y@1", "org.x/y", true),
            ("pkg:maven/org.x/y@1", "org.x:y", true),
            ("pkg:maven/org.x/y@1", "Y", true),
            ("pkg:maven/org.x/y@1", "z", false),
            ("pkg:maven/org.x/y@1", "org.z:y", false),
            ("pkg:npm/%40scope/x", "@scope/x", true),
            ("pkg:pypi/Foo_Bar", "foo.bar", true),
            ("pkg:golang/github.com/a/b#v4", "github.com/a/b/v4", true),
            ("pkg:golang/github.com/a/b", "github.com/c/b", false),
            ("pkg:golang/stdlib", "stdlib", true),
            ("pkg:npm/x", "", false),
        ] {
            let name = PackageName::new(name);
            assert_eq!(Purl::parse(purl).unwrap().is_called(&name), is_called, "{purl} {name:?}");
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
            ("pkg:pip/requests", "purls have no type `pip`, these packages are of the type `pypi`"),
            ("pkg:Java/org.x/y", "purls have no type `java`, these packages are of the type `maven`"),
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
