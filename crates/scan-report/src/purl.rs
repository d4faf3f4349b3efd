//! Package URLs: `pkg:apk/alpine/openssl@3.0.1?arch=x86_64`, the names that scanners and VEX documents have for packages.
//!
//! A purl that clears a package means exactly what it says. So here purls are compared part by part, without their `%…` escapes. A
//! missing version, qualifier or subpath matches any; a purl that readers could parse in two ways is refused. A purl that denies a package means every
//! spelling: that is `folded`.

mod folded;

pub use folded::{PackageName, Purl, PurlPattern, beginning};

use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// The longest purl that is read: documents choose them, and each is kept once for every product that has it.
const MAX_LENGTH: usize = 2_048;
/// The kinds of packages whose versions have an epoch, as in `1:3.0` or as a qualifier; without one it is zero.
const WITH_EPOCHS: [&str; 2] = ["deb", "rpm"];

/// A parsed package URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageUrl {
    /// `apk`, in lower case.
    pub kind: String,
    /// `alpine`; empty where there is none.
    pub namespace: String,
    /// `openssl`
    pub name: String,
    /// `3.0.1`
    pub version: Option<String>,
    /// `arch` and `x86_64`, in the order of the purl.
    pub qualifiers: Vec<(String, String)>,
    /// The part behind `#`.
    pub subpath: Option<String>,
}

/// A package in the form that all spellings of its purl have. It is made once, since it is compared with many others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnySpelling {
    kind: String,
    /// In lower case, without an epoch.
    version: Option<String>,
    /// The namespace and the name, as they are compared.
    paths: Vec<String>,
}

impl PackageUrl {
    /// Parses a purl; none where it names no package, or has something that can't be compared.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_LENGTH {
            return None;
        }
        let (rest, subpath) = split(text, '#');
        let (rest, qualifiers) = split(rest, '?');
        let (kind, path) = rest.strip_prefix("pkg:")?.trim_start_matches('/').split_once('/')?;
        let (namespace, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
        let (name, version) = split(name, '@');
        let name = strictly_decoded(name)?;
        if !folded::is_kind(kind) || name.is_empty() || version == Some("") {
            return None;
        }
        let subpath = match subpath {
            Some(subpath) => Some(path_of(subpath)?),
            None => None,
        };
        Some(Self {
            kind: kind.to_ascii_lowercase(),
            namespace: path_of(namespace)?,
            name: name.into_owned(),
            version: match version {
                Some(version) => Some(strictly_decoded(version)?.into_owned()),
                None => None,
            },
            qualifiers: read_qualifiers(qualifiers.unwrap_or_default())?,
            subpath,
        })
    }

    /// The same package with a version, if it has none yet; none where the version is too long.
    pub(crate) fn at_version(mut self, version: &str) -> Option<Self> {
        if version.len() > MAX_LENGTH {
            return None;
        }
        self.version.get_or_insert_with(|| version.to_owned());
        Some(self)
    }

    /// Whether another purl has the same type, namespace and name, and all the other parts of this one: a version, a qualifier or a
    /// subpath that this one lacks may be anything.
    pub fn includes(&self, other: &Self) -> bool {
        let is_as = |own: &Option<String>, others: &Option<String>| own.is_none() || own == others;
        let has_epoch = self.version.is_some() && WITH_EPOCHS.contains(&self.kind.as_str());
        let mut qualifiers = self.qualifiers.iter().filter(|(key, _)| !(has_epoch && key == "epoch"));
        self.kind == other.kind
            && self.namespace == other.namespace
            && self.name == other.name
            && is_as(&self.version, &other.version)
            && (!has_epoch || self.epoch() == other.epoch())
            && is_as(&self.subpath, &other.subpath)
            && qualifiers.all(|qualifier| other.qualifiers.contains(qualifier))
    }

    /// The package in the form that all its spellings have.
    pub fn any_spelling(&self) -> AnySpelling {
        let version = self.version.as_ref().map(|version| self.bare(version).to_ascii_lowercase());
        AnySpelling { kind: self.kind.clone(), version, paths: self.paths() }
    }

    /// The value of a qualifier.
    pub fn qualifier(&self, key: &str) -> Option<&str> {
        self.qualifiers.iter().find_map(|(own, value)| (own == key).then_some(value.as_str()))
    }

    fn epoch(&self) -> &str {
        self.qualifier("epoch").unwrap_or("0")
    }

    /// A version without its epoch, a gem's platform, or Go's `v`.
    fn bare<'v>(&self, version: &'v str) -> &'v str {
        match self.kind.as_str() {
            kind if WITH_EPOCHS.contains(&kind) => version.split_once(':').map_or(version, |(_, version)| version),
            "gem" => version.split_once('-').map_or(version, |(release, _)| release),
            _ => version.strip_prefix('v').unwrap_or(version),
        }
    }

    /// Its namespace and name as they are compared. What of a Go module's path is no repository may be in the subpath, which may
    /// as well be a package of the module.
    fn paths(&self) -> Vec<String> {
        let module = [self.namespace.as_str(), "/", &self.name].concat();
        let further = self.subpath.iter().filter(|_| self.kind == "golang");
        let further: Vec<String> = further.map(|subpath| [&module, "/", subpath].concat()).collect();
        let all = std::iter::once(module).chain(further);
        all.map(|path| folded::compared(&self.kind, folded::without_gaps(path.into())).into_owned()).collect()
    }
}

impl AnySpelling {
    /// Whether both may mean one package. A version or a namespace that one of them leaves out may be anything.
    pub fn may_be(&self, other: &Self) -> bool {
        let is_same_version = self.version.is_none() || other.version.is_none() || self.version == other.version;
        self.kind == other.kind && is_same_version && self.is_path_in(other)
    }

    /// Whether both have the same namespace and name.
    fn is_path_in(&self, other: &Self) -> bool {
        let is_same = |one: &str, other: &str| match (one.rsplit_once('/'), other.rsplit_once('/')) {
            (Some((_, name)), None) if folded::has_namespaces(&self.kind) => name == other,
            (None, Some((_, name))) if folded::has_namespaces(&self.kind) => name == one,
            _ => one == other,
        };
        self.paths.iter().any(|own| other.paths.iter().any(|other| is_same(own, other)))
    }
}

/// A path without `%…` escapes; none where a segment contains an escaped `/`.
fn path_of(path: &str) -> Option<String> {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let segments = segments.map(|segment| strictly_decoded(segment).filter(|segment| !segment.contains('/')));
    Some(segments.collect::<Option<Vec<_>>>()?.join("/"))
}

/// The qualifiers, with keys in lower case; none where one is invalid or a key is there twice.
fn read_qualifiers(text: &str) -> Option<Vec<(String, String)>> {
    let mut qualifiers: Vec<(String, String)> = Vec::new();
    for qualifier in text.split('&').filter(|_| !text.is_empty()) {
        let (key, value) = qualifier.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty())?;
        let key = key.to_ascii_lowercase();
        if qualifiers.iter().any(|(known, _)| *known == key) {
            return None;
        }
        qualifiers.push((key, strictly_decoded(value)?.into_owned()));
    }
    Some(qualifiers)
}

/// The parts before and behind the first of this character.
fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

/// A string without `%…` escapes.
pub fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The same; none where a `%` begins no escape, so that two strings could read alike.
pub(crate) fn strictly_decoded(text: &str) -> Option<Cow<'_, str>> {
    let is_byte = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    let is_whole = text.split('%').skip(1).all(is_byte);
    percent_decode_str(text).decode_utf8().ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn includes(one: &str, other: &str) -> bool {
        PackageUrl::parse(one).unwrap().includes(&PackageUrl::parse(other).unwrap())
    }

    #[test]
    fn what_names_a_package() {
        let purl = PackageUrl::parse("pkg:npm/%40angular/core@12.3.1?a=1&repository_url=x%2Fy#src/main").unwrap();
        assert_eq!((purl.kind.as_str(), purl.namespace.as_str(), purl.name.as_str()), ("npm", "@angular", "core"));
        assert_eq!(purl.version.as_deref(), Some("12.3.1"));
        assert_eq!(
            purl.qualifiers,
            [("a".to_owned(), "1".to_owned()), ("repository_url".to_owned(), "x/y".to_owned())]
        );
        assert_eq!(purl.subpath.as_deref(), Some("src/main"));
        for text in [
            "",
            "pkg:",
            "pkg:apk",
            "pkg:apk/",
            "pkg:/openssl",
            "pkg:3nginx/nginx",
            "pkg:nginx:a/nginx",
            "openssl",
            "pkg:apk/alpine/@3",
            "pkg:apk/openssl@",
            "PKG:apk/a",
            // Without the invalid part, the purl would match more than it says.
            "pkg:apk/a?arch",
            "pkg:apk/a?arch=",
            "pkg:apk/a?=x86_64",
            "pkg:apk/a?arch=x86_64&",
            "pkg:apk/a?arch=x86_64&Arch=arm64",
            "pkg:apk/a@%ff",
            "pkg:apk/a@%zz",
            "pkg:apk/a@%+1",
            "pkg:apk/a@1%2",
            "pkg:apk/a@%%31",
            "pkg:apk/%ff/a",
            "pkg:golang/example.com%2Fa/b",
            "pkg:golang/example.com/b#a%2Fb",
        ] {
            assert_eq!(PackageUrl::parse(text), None, "{text}");
        }
        assert_eq!(PackageUrl::parse(&format!("pkg:apk/{}", "a".repeat(MAX_LENGTH))), None);
        assert_eq!(percent_decoded("a%3Ab%2"), "a:b%2");
        assert_eq!(percent_decoded("%zz%ff%"), "%zz\u{fffd}%");
    }

    #[test]
    fn what_is_named_must_be_the_same() {
        let whole = "pkg:apk/alpine/openssl@3.0.1-r0?arch=x86_64&distro=3.20";
        for part in [
            "pkg:apk/alpine/openssl",
            "pkg:APK/alpine/openssl@3.0.1-r0",
            "pkg:apk/alpine/openssl@3.0.1%2dr0",
            "pkg:apk/alpine/openssl?distro=3.20",
            "pkg:apk//alpine/openssl@3.0.1-r0?distro=3.20&arch=x86_64",
            whole,
        ] {
            assert!(includes(part, whole), "{part}");
        }
        for other in [
            "pkg:apk/openssl",
            "pkg:apk/wolfi/openssl",
            "pkg:apk/alpine/opens",
            "pkg:apk/alpine/openssl-dev",
            "pkg:apk/alpine/OpenSSL",
            "pkg:deb/alpine/openssl",
            "pkg:apk/alpine/openssl@3.0.1",
            "pkg:apk/alpine/openssl@3.0.1-r00",
            "pkg:apk/alpine/openssl?arch=aarch64",
            "pkg:apk/alpine/openssl?epoch=1",
            "pkg:apk/alpine/openssl#src",
        ] {
            assert!(!includes(other, whole), "{other}");
        }
        // A version that a report leaves out may be another one.
        assert!(!includes(whole, "pkg:apk/alpine/openssl"));
        assert!(includes("pkg:golang/example.com/a/b", "pkg:golang/example.com/a/b@v1#sub"));
    }

    #[test]
    fn an_epoch_is_part_of_the_version() {
        for kind in ["rpm", "deb"] {
            let of = |rest: &str| format!("pkg:{kind}/a/b{rest}");
            for (one, other, is) in [
                ("@1.0", "@1.0?epoch=1", false),
                ("@1.0?epoch=1", "@1.0", false),
                ("@1.0?epoch=0", "@1.0", true),
                ("@1.0", "@1.0?epoch=0&arch=x86_64", true),
                ("@1.0?epoch=1", "@1.0?epoch=1", true),
                ("", "@1.0?epoch=1", true),
                ("?epoch=1", "@1.0", false),
            ] {
                assert_eq!(includes(&of(one), &of(other)), is, "{one} {other}");
            }
        }
        assert!(includes("pkg:apk/a/b@1", "pkg:apk/a/b@1?epoch=1"));
    }

    #[test]
    fn what_may_be_meant_by_another() {
        let spelling = |text: &str| PackageUrl::parse(text).unwrap().any_spelling();
        let may_be = |one: &str, other: &str| spelling(one).may_be(&spelling(other));
        for (one, other) in [
            ("pkg:apk/alpine/openssl@3.0?arch=arm64", "pkg:apk/alpine/openssl@3.0"),
            ("pkg:apk/Alpine/OpenSSL", "pkg:apk/alpine/openssl@3.0"),
            ("pkg:apk/alpine/openssl@3.0#src", "pkg:apk/alpine/openssl"),
            ("pkg:pypi/Foo_Bar.baz@1", "pkg:pypi/foo-bar-baz@1"),
            ("pkg:deb/debian/a@1:1.0", "pkg:deb/debian/a@1.0?epoch=1"),
            ("pkg:golang/a/b@1.0", "pkg:golang/a/b@v1.0"),
            ("pkg:golang/a/b/v4@4.1", "pkg:golang/a/b@v4.1#v4"),
            ("pkg:golang/a/b@1.0", "pkg:golang/a/b@1.0#cmd/tool"),
            ("pkg:pypi/Foo__Bar.baz", "pkg:pypi/foo-bar-baz@1"),
            ("pkg:cargo/serde_json", "pkg:cargo/serde-json"),
            ("pkg:maven/org.x%3Ay", "pkg:maven/org.x/y"),
            ("pkg:deb/openssl@3", "pkg:deb/debian/openssl@3"),
        ] {
            assert!(may_be(one, other) && may_be(other, one), "{one} {other}");
        }
        for (one, other) in [
            ("pkg:apk/alpine/openssl@3.0", "pkg:apk/alpine/openssl@3.1"),
            ("pkg:apk/alpine/openssl", "pkg:apk/wolfi/openssl"),
            ("pkg:npm/foo_bar", "pkg:npm/foo-bar"),
            ("pkg:npm/core", "pkg:npm/%40scope/core"),
            ("pkg:golang/a/b#v4", "pkg:golang/a/b/v5"),
            ("pkg:maven/org.x/y", "pkg:maven/org.z/y"),
            ("pkg:apk/a", "pkg:deb/a"),
        ] {
            assert!(!may_be(one, other) && !may_be(other, one), "{one} {other}");
        }
    }
}
