//! Package URLs: `pkg:apk/alpine/openssl@3.0.1?arch=x86_64`, the names that scanners and VEX documents have for packages.
//!
//! Who says that a package is fine means exactly what they write: here purls are compared part by part, each as it reads without its
//! `%…`, and a part that one doesn't name is any. Who denies a package means it in every spelling: that is `folded`.

mod folded;

pub use folded::PurlPattern;
pub(crate) use folded::{Purl, beginning};

/// A package URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackageUrl {
    /// `apk`, in lower case.
    pub(crate) kind: String,
    /// `alpine`; empty where there is none.
    namespace: String,
    /// `openssl`
    pub(crate) name: String,
    /// `3.0.1`
    pub(crate) version: Option<String>,
    /// `arch` and `x86_64`, in the order in which they stand.
    pub(crate) qualifiers: Vec<(String, String)>,
    /// What stands behind `#`.
    subpath: Option<String>,
}

impl PackageUrl {
    /// Takes one apart; none where it names no package.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (rest, subpath) = split(text, '#');
        let (rest, qualifiers) = split(rest, '?');
        let (kind, path) = rest.strip_prefix("pkg:")?.trim_start_matches('/').split_once('/')?;
        let (namespace, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
        let (name, version) = split(name, '@');
        let name = percent_decoded(name);
        if kind.is_empty() || name.is_empty() || version == Some("") {
            return None;
        }
        let segments = namespace.split('/').filter(|segment| !segment.is_empty()).map(percent_decoded);
        let qualifiers = qualifiers.unwrap_or_default().split('&').filter_map(|qualifier| {
            let (key, value) = qualifier.split_once('=').filter(|(_, value)| !value.is_empty())?;
            Some((key.to_ascii_lowercase(), percent_decoded(value)))
        });
        Some(Self {
            kind: kind.to_ascii_lowercase(),
            namespace: segments.collect::<Vec<_>>().join("/"),
            name,
            version: version.map(percent_decoded),
            qualifiers: qualifiers.collect(),
            subpath: subpath.map(|path| percent_decoded(path.trim_matches('/'))),
        })
    }

    /// Whether everything that it names is the same of another: what it leaves out may be anything.
    pub(crate) fn includes(&self, other: &Self) -> bool {
        let is_as = |own: &Option<String>, others: &Option<String>| own.is_none() || own == others;
        self.kind == other.kind
            && self.namespace == other.namespace
            && self.name == other.name
            && is_as(&self.version, &other.version)
            && is_as(&self.subpath, &other.subpath)
            && self.qualifiers.iter().all(|qualifier| other.qualifiers.contains(qualifier))
    }
}

/// What stands before the first of these letters, and what stands behind it.
fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, behind)| (before, Some(behind)))
}

/// A text with the letters that stand for its `%…`.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let mut digit = || ahead.next().and_then(|digit| char::from(digit).to_digit(16));
        match (byte, digit(), digit()) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'%'));
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
            "openssl",
            "pkg:apk/alpine/@3",
            "pkg:apk/openssl@",
            "PKG:apk/a",
        ] {
            assert_eq!(PackageUrl::parse(text), None, "{text}");
        }
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
        // What a report doesn't say may be another version.
        assert!(!includes(whole, "pkg:apk/alpine/openssl"));
        assert!(includes("pkg:golang/example.com/a/b", "pkg:golang/example.com/a/b@v1#sub"));
    }
}
