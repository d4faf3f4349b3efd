//! Image references: the grammar, and the one canonical name under which an image is compared.
//!
//! The grammar is the distribution project's (`reference` package), read as container runtimes read it: the first
//! component is a registry host when it has a dot or a colon, is `localhost`, or has an upper-case letter; else the
//! image is Docker Hub's. It is parsed by hand: each request starts from a clean instance, which would compile a
//! regular expression anew.

use std::fmt;
use std::net::Ipv6Addr;

/// The registry that names without a host belong to.
const DOCKER_HUB: &str = "docker.io";
/// Other names of Docker Hub's registry, with the same repositories.
const DOCKER_HUB_ALIASES: [&str; 3] = ["index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"];
/// The namespace of Docker Hub's official images, which short names leave out.
const OFFICIAL: &str = "library/";
/// The longest path of a repository, from the distribution project.
pub const MAX_REPOSITORY_LENGTH: usize = 255;
/// The longest registry host: a DNS name has at most 253 characters, a port five and its colon.
const MAX_HOST_LENGTH: usize = 259;
/// The longest tag, from the grammar.
const MAX_TAG_LENGTH: usize = 128;

/// An image reference: registry, repository, and tag or digest or both.
///
/// The parts are canonical: the host in lower case, without the port 443, Docker Hub under its one name
/// `docker.io`, with `library/` filled in. Two references that a runtime would pull from the same place are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageReference {
    host: String,
    repository: String,
    tag: Option<String>,
    digest: Option<String>,
}

impl ImageReference {
    /// Parses a reference as written in a Pod.
    ///
    /// # Errors
    /// A [`ReferenceError`] that says which part breaks the grammar.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        if text.len() == 64 && is_lower_hex(text) {
            return Err(ReferenceError::Identifier);
        }
        if is_local_identifier(text) {
            return Err(ReferenceError::LocalIdentifier(text.to_owned()));
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        let (host, rest) = split_host(rest);
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) => (path, Some(tag)),
            None => (rest, None),
        };
        let host = match host {
            Some(host) => canonical_host(host)?,
            None => DOCKER_HUB.to_owned(),
        };
        check_repository(path)?;
        let repository =
            if host == DOCKER_HUB && !path.contains('/') { [OFFICIAL, path].concat() } else { path.to_owned() };
        if let Some(tag) = tag {
            check_tag(tag)?;
        }
        if let Some(digest) = digest {
            check_digest(digest)?;
        }
        // Without either, a runtime pulls `latest`.
        let tag = tag.or(if digest.is_none() { Some("latest") } else { None });
        Ok(Self { host, repository, tag: tag.map(str::to_owned), digest: digest.map(str::to_owned) })
    }

    /// The registry's canonical host, with its port unless that is 443.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository, without the host: `library/nginx`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The tag: the one given, `latest` when neither tag nor digest is, none beside a lone digest.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, `sha256:…`, when the reference has one. It decides what runs, whatever the tag is.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// The canonical form of the whole reference, as shown.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.name();
        if let Some(tag) = &self.tag {
            text.push(':');
            text.push_str(tag);
        }
        if let Some(digest) = &self.digest {
            text.push('@');
            text.push_str(digest);
        }
        text
    }

    /// Host and repository: `docker.io/library/nginx`.
    #[must_use]
    pub fn name(&self) -> String {
        [&self.host, "/", &self.repository].concat()
    }

    /// This repository at a digest, the only form in which a registry's answer is checked: `host/repository@sha256:…`.
    #[must_use]
    pub fn at(&self, digest: &str) -> String {
        [&self.host, "/", &self.repository, "@", digest].concat()
    }

    /// Whether both name the same repository of the same registry.
    pub fn is_of_repository(&self, other: &Self) -> bool {
        self.host() == other.host() && self.repository() == other.repository()
    }

    /// The same tag and digest of another repository, by its canonical name.
    ///
    /// # Errors
    /// The repository's name is invalid, mostly too long.
    pub fn in_repository(&self, host: &str, repository: &str) -> Result<Self, ReferenceError> {
        check_repository(repository)?;
        let is_official = host == DOCKER_HUB && !repository.contains('/');
        let repository = if is_official { [OFFICIAL, repository].concat() } else { repository.to_owned() };
        Ok(Self { host: host.to_owned(), repository, ..self.clone() })
    }

    /// The canonical names that a rule's prefix is compared with.
    ///
    /// Images of Docker's library have two, with and without `library/`. The tag is part of the name, except where a
    /// digest decides what runs and `tagged` is false.
    #[must_use]
    pub fn compared_names(&self, tagged: bool) -> Vec<String> {
        let mut suffix = String::new();
        if let Some(tag) = self.tag()
            && (tagged || self.digest.is_none())
        {
            suffix.push(':');
            suffix.push_str(tag);
        }
        if let Some(digest) = &self.digest {
            suffix.push('@');
            suffix.push_str(digest);
        }
        let mut names = vec![[&self.host, "/", &self.repository, &suffix].concat()];
        if self.host == DOCKER_HUB
            && let Some(short) = self.repository.strip_prefix(OFFICIAL)
            && !short.contains('/')
        {
            names.push([&self.host, "/", short, &suffix].concat());
        }
        names
    }
}

/// The canonical name: `docker.io/library/nginx:latest`, `ghcr.io/team/app:1.0@sha256:…`.
impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Why a string is no image reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReferenceError {
    /// The string is empty.
    Empty,
    /// The string is 64 hexadecimal digits: an image ID, which runtimes refuse as a name.
    Identifier,
    /// The ID, or the beginning of the ID, of an image on a node, with its algorithm; as written.
    LocalIdentifier(String),
    /// The registry's host or port breaks the grammar; the host as written.
    Host(String),
    /// The repository has an upper-case letter; the repository as written.
    UpperCase(String),
    /// The repository breaks the grammar; the repository as written.
    Repository(String),
    /// The repository, or the host, is too long.
    TooLong(usize),
    /// The tag breaks the grammar; the tag as written.
    Tag(String),
    /// The digest's algorithm is unknown, or its length is wrong; the digest as written.
    Digest(String),
}

impl fmt::Display for ReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "it is empty"),
            Self::Identifier => write!(f, "64 hexadecimal digits are an image ID, not a name"),
            Self::LocalIdentifier(text) => {
                write!(f, "`{}` is the ID of an image that a node has, not a name", shown(text))
            }
            Self::Host(host) => write!(f, "`{}` is not a registry host", shown(host)),
            Self::UpperCase(path) => write!(f, "the repository `{}` must be in lower case", shown(path)),
            Self::Repository(path) if path.is_empty() => write!(f, "the repository is missing"),
            Self::Repository(path) => write!(f, "`{}` is not a repository name", shown(path)),
            Self::TooLong(length) => {
                write!(f, "a name of {length} characters is too long, {MAX_REPOSITORY_LENGTH} is the most")
            }
            Self::Tag(tag) if tag.is_empty() => write!(f, "the tag after `:` is missing"),
            Self::Tag(tag) => write!(f, "`{}` is not a tag", shown(tag)),
            Self::Digest(digest) => {
                write!(f, "`{}` is not a digest like `sha256:` and 64 hexadecimal digits", shown(digest))
            }
        }
    }
}

impl ReferenceError {
    /// The same without any part of the string, which may come from a Secret.
    pub fn without_text(&self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::Identifier => "64 hexadecimal digits are an image ID, not a name",
            Self::LocalIdentifier(_) => "it is the ID of an image that a node has, not a name",
            Self::Host(_) => "it begins with no registry host",
            Self::UpperCase(_) => "its repository must be in lower case",
            Self::Repository(path) if path.is_empty() => "the repository is missing",
            Self::Repository(_) => "its repository has no such name",
            Self::TooLong(_) => "its name is too long",
            Self::Tag(tag) if tag.is_empty() => "the tag after `:` is missing",
            Self::Tag(_) => "what follows `:` is not a tag",
            Self::Digest(_) => "what follows `@` is not a digest like `sha256:` and 64 hexadecimal digits",
        }
    }
}

impl std::error::Error for ReferenceError {}

/// A string, cut for a message.
fn shown(text: &str) -> String {
    image_admission_untrusted::message::cut(text, 80)
}

/// Splits the registry host off, if the first component is one.
fn split_host(name: &str) -> (Option<&str>, &str) {
    match name.split_once('/') {
        Some((first, rest)) if is_host_like(first) => (Some(first), rest),
        _ => (None, name),
    }
}

/// Whether runtimes read a first component as a registry host.
pub fn is_host_like(component: &str) -> bool {
    component == "localhost" || component.bytes().any(|b| b == b'.' || b == b':' || b.is_ascii_uppercase())
}

/// The canonical form of a registry host: lower case, without port 443 and without leading zeros of a port, IPv6
/// addresses in their short form, Docker Hub as `docker.io`.
///
/// # Errors
/// [`ReferenceError::Host`] when the string is no host by the grammar.
pub fn canonical_host(text: &str) -> Result<String, ReferenceError> {
    let wrong = || ReferenceError::Host(text.to_owned());
    if text.len() > MAX_HOST_LENGTH {
        return Err(ReferenceError::TooLong(text.len()));
    }
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']').ok_or_else(wrong)?;
        let address: Ipv6Addr = address.parse().map_err(|_| wrong())?;
        let port = match port {
            "" => None,
            port => Some(port.strip_prefix(':').ok_or_else(wrong)?),
        };
        (format!("[{address}]"), port)
    } else {
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        };
        if !host.split('.').all(is_domain_component) {
            return Err(wrong());
        }
        (host.to_ascii_lowercase(), port)
    };
    let port = match port {
        Some(port) if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) => return Err(wrong()),
        // Port 0443 is port 443 to a client.
        Some(port) => Some(port.trim_start_matches('0')).filter(|port| !port.is_empty()).unwrap_or("0"),
        None => "443",
    };
    if DOCKER_HUB_ALIASES.contains(&host.as_str()) && port == "443" {
        return Ok(DOCKER_HUB.to_owned());
    }
    // Only its upper-case letter makes `Registry` in `Registry/app` a host. In lower case, and without a port, it would
    // read as a repository of Docker Hub.
    Ok(if port == "443" && is_host_like(&host) { host } else { [&host, ":", port].concat() })
}

/// `[a-zA-Z0-9]` with `-` inside.
fn is_domain_component(component: &str) -> bool {
    !component.is_empty()
        && !component.starts_with('-')
        && !component.ends_with('-')
        && component.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Path components joined by `/`. Each has alphanumeric runs joined by `.`, `_`, `__` or any number of `-`.
fn check_repository(path: &str) -> Result<(), ReferenceError> {
    if path.len() > MAX_REPOSITORY_LENGTH {
        return Err(ReferenceError::TooLong(path.len()));
    }
    if path.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(ReferenceError::UpperCase(path.to_owned()));
    }
    if path.split('/').all(is_path_component) { Ok(()) } else { Err(ReferenceError::Repository(path.to_owned())) }
}

fn is_path_component(component: &str) -> bool {
    let is_alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    if !component.bytes().all(|b| is_alphanumeric(b) || matches!(b, b'.' | b'_' | b'-')) {
        return false;
    }
    let mut runs = component.split(|c: char| c.is_ascii_alphanumeric()).peekable();
    // Between two neighbouring characters of a run is an empty separator. The first and the last separator are at the
    // ends of the component, and must be empty.
    let mut first = true;
    while let Some(separator) = runs.next() {
        let outside = first || runs.peek().is_none();
        first = false;
        let allowed = match separator {
            "" => true,
            "." | "_" | "__" => !outside,
            dashes => !outside && dashes.bytes().all(|b| b == b'-'),
        };
        if !allowed {
            return false;
        }
    }
    !component.is_empty()
}

/// A word character, then word characters, dots and dashes, 128 in all.
fn check_tag(tag: &str) -> Result<(), ReferenceError> {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let valid = tag.len() <= MAX_TAG_LENGTH
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|b| is_word(b) || b == b'.' || b == b'-');
    if valid { Ok(()) } else { Err(ReferenceError::Tag(tag.to_owned())) }
}

/// Whether a string is an image ID with its algorithm, or the beginning of one. By the grammar it is a repository `sha256` of
/// Docker Hub with a tag. But a runtime that has an image with such an ID runs that image, whoever pulled it.
fn is_local_identifier(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    ["sha256", "sha384", "sha512"].into_iter().any(|known| algorithm.eq_ignore_ascii_case(known))
        && !hex.is_empty()
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The algorithms that registries know, with the length of their digests in lower-case hexadecimal digits.
fn check_digest(digest: &str) -> Result<(), ReferenceError> {
    if is_digest(digest) { Ok(()) } else { Err(ReferenceError::Digest(digest.to_owned())) }
}

/// Whether a string is a complete digest of an algorithm that registries know: `sha256:…`, `sha384:…` or `sha512:…`, in
/// lower-case hexadecimal digits.
pub fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && is_lower_hex(hex)
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[track_caller]
    fn check(text: &str, canonical: &str) {
        assert_eq!(ImageReference::parse(text).map(|r| r.to_string()).as_deref(), Ok(canonical), "{text}");
    }

    #[track_caller]
    fn refuse(text: &str, why: &str) {
        assert_eq!(ImageReference::parse(text).map_err(|e| e.to_string()).unwrap_err(), why, "{text}");
    }

    #[test]
    fn names_of_docker_hub_are_filled_in() {
        check("nginx", "docker.io/library/nginx:latest");
        check("nginx:1.25", "docker.io/library/nginx:1.25");
        check("team/app", "docker.io/team/app:latest");
        check("library/nginx", "docker.io/library/nginx:latest");
        check("docker.io/nginx", "docker.io/library/nginx:latest");
        check("docker.io/library/nginx", "docker.io/library/nginx:latest");
        check("index.docker.io/nginx", "docker.io/library/nginx:latest");
        check("index.docker.io/library/nginx", "docker.io/library/nginx:latest");
        check("registry-1.docker.io/team/app:2", "docker.io/team/app:2");
        check("DOCKER.IO:443/nginx", "docker.io/library/nginx:latest");
        check("foo:5000", "docker.io/library/foo:5000");
        check("0/1", "docker.io/0/1:latest");
    }

    #[test]
    fn hosts_have_one_name() {
        check("GHCR.IO/team/app:1", "ghcr.io/team/app:1");
        check("ghcr.io:443/team/app:1", "ghcr.io/team/app:1");
        check("ghcr.io:0443/team/app:1", "ghcr.io/team/app:1");
        check("ghcr.io:00080/team/app:1", "ghcr.io:80/team/app:1");
        check("localhost/app", "localhost/app:latest");
        check("localhost:5000/app", "localhost:5000/app:latest");
        check("Registry/app", "registry:443/app:latest");
        check("registry:443/app", "registry:443/app:latest");
        check("test.com:1234/repo:tag", "test.com:1234/repo:tag");
        check("127.0.0.1:5000/a/b", "127.0.0.1:5000/a/b:latest");
        check("xn--7o8h.com/myimage:xn--7o8h.com", "xn--7o8h.com/myimage:xn--7o8h.com");
        check("foo/foo_bar.com:8080", "docker.io/foo/foo_bar.com:8080");
        check("docker.io:5000/nginx", "docker.io:5000/nginx:latest");
    }

    #[test]
    fn ipv6_hosts() {
        check("[2001:db8::1]/repo:1", "[2001:db8::1]/repo:1");
        check("[2001:DB8:0:0:0:0:0:1]:5000/repo:1", "[2001:db8::1]:5000/repo:1");
        check("[::1]:443/repo", "[::1]/repo:latest");
        refuse("[fe80::1%eth0]:5000/repo", "`[fe80::1%eth0]:5000` is not a registry host");
        refuse("[2001:db8::1/repo", "`[2001:db8::1` is not a registry host");
        refuse("[2001:db8::1]5000/repo", "`[2001:db8::1]5000` is not a registry host");
        refuse("[2001:db8::1]:/repo", "`[2001:db8::1]:` is not a registry host");
    }

    #[test]
    fn image_ids_are_no_names() {
        refuse(HEX, "64 hexadecimal digits are an image ID, not a name");
        let refuse_id = |text: &str| {
            let shown = image_admission_untrusted::message::cut(text, 80);
            refuse(text, &format!("`{shown}` is the ID of an image that a node has, not a name"));
        };
        for algorithm in ["sha256", "sha384", "sha512", "SHA256", "Sha512"] {
            for hex in [
                "a",
                "abc",
                "ABC",
                "0123456789abcdef",
                HEX,
                HEX.trim_end_matches('5'),
                &[HEX, HEX].concat(),
                &[HEX, HEX, HEX].concat(),
            ] {
                refuse_id(&format!("{algorithm}:{hex}"));
            }
        }
        check("docker.io/library/sha256:abc", "docker.io/library/sha256:abc");
        check("library/sha256:abc", "docker.io/library/sha256:abc");
        check("sha256:latest", "docker.io/library/sha256:latest");
        check("sha256", "docker.io/library/sha256:latest");
        check("sha1:abc", "docker.io/library/sha1:abc");
        check("sha256/abc", "docker.io/sha256/abc:latest");
        check(&format!("sha256@sha256:{HEX}"), &format!("docker.io/library/sha256@sha256:{HEX}"));
        refuse("sha256:", "the tag after `:` is missing");
    }

    #[test]
    fn tags_and_digests() {
        check(&format!("app@sha256:{HEX}"), &format!("docker.io/library/app@sha256:{HEX}"));
        check(&format!("r.io/app:1@sha256:{HEX}"), &format!("r.io/app:1@sha256:{HEX}"));
        check(&format!("r.io:5000/app:1@sha512:{HEX}{HEX}"), &format!("r.io:5000/app:1@sha512:{HEX}{HEX}"));
        check("app:_1.0-rc_2", "docker.io/library/app:_1.0-rc_2");
        check(&format!("app:{}", "t".repeat(128)), &format!("docker.io/library/app:{}", "t".repeat(128)));
        let parsed = ImageReference::parse(&format!("app@sha256:{HEX}")).unwrap();
        assert_eq!((parsed.tag(), parsed.digest()), (None, Some(format!("sha256:{HEX}").as_str())));
        refuse("app:", "the tag after `:` is missing");
        refuse("app:-1", "`-1` is not a tag");
        refuse("app:1:2", "`1:2` is not a tag");
        refuse(&format!("app:{}", "t".repeat(129)), &format!("`{}…` is not a tag", "t".repeat(79)));
        let not_a_digest = |d: &str| format!("`{d}` is not a digest like `sha256:` and 64 hexadecimal digits");
        refuse("app@", &not_a_digest(""));
        refuse("app@sha256:1234", &not_a_digest("sha256:1234"));
        refuse("app@md5:900150983cd24fb0d6963f7d28e17f72", &not_a_digest("md5:900150983cd24fb0d6963f7d28e17f72"));
        refuse(&format!("app@SHA256:{HEX}"), &not_a_digest(&format!("SHA256:{HEX}")));
        refuse(&format!("app@sha256:{}", HEX.to_uppercase()), &not_a_digest(&format!("sha256:{}", HEX.to_uppercase())));
        refuse(
            &format!("app@sha256:{HEX}@sha256:{HEX}"),
            &not_a_digest(&image_admission_untrusted::message::cut(&format!("sha256:{HEX}@sha256:{HEX}"), 80)),
        );
    }

    #[test]
    fn repositories() {
        for valid in ["a__b/c", "a--b", "a---b/c.d", "a.b_c__d-e", "1", "a0"] {
            ImageReference::parse(valid).unwrap_or_else(|e| panic!("{valid}: {e}"));
        }
        for wrong in [
            "-foo/bar",
            "foo/bar-",
            "_foo",
            "foo.",
            "foo..bar",
            "foo___bar",
            "foo/_bar",
            "foo._bar",
            "foo-_bar",
            "foo//bar",
            "/foo",
            "foo/",
            "foo/bar/",
            "aa/asdf$$^/aa",
            "föö",
            "foo bar",
            " foo",
            "foo\n",
            "https://r.io/app",
        ] {
            assert!(ImageReference::parse(wrong).is_err(), "{wrong:?}");
        }
        refuse("", "it is empty");
        refuse("r.io/", "the repository is missing");
        refuse("r.io/:1", "the repository is missing");
        refuse("team/App:1", "the repository `team/App` must be in lower case");
        refuse("Uppercase:tag", "the repository `Uppercase` must be in lower case");
        refuse("test:5000/Uppercase/lowercase:tag", "the repository `Uppercase/lowercase` must be in lower case");
        refuse("-registry.io/app", "`-registry.io` is not a registry host");
        refuse("registry.io./app", "`registry.io.` is not a registry host");
        refuse("registry:port/app", "`registry:port` is not a registry host");
        refuse(HEX, "64 hexadecimal digits are an image ID, not a name");
        refuse(&"a".repeat(256), "a name of 256 characters is too long, 255 is the most");
        refuse(&"a".repeat(5000), "a name of 5000 characters is too long, 255 is the most");
        check(&format!("{}a:tag", "a/".repeat(127)), &format!("docker.io/{}a:tag", "a/".repeat(127)));
        refuse(&format!("{}a:tag", "a/".repeat(128)), "a name of 257 characters is too long, 255 is the most");
    }

    #[test]
    fn images_of_the_library_are_compared_under_two_names() {
        let names = |text: &str, tagged| ImageReference::parse(text).unwrap().compared_names(tagged);
        assert_eq!(names("nginx:1", true), ["docker.io/library/nginx:1", "docker.io/nginx:1"]);
        assert_eq!(names("nginx:1", false), ["docker.io/library/nginx:1", "docker.io/nginx:1"]);
        assert_eq!(names("team/app", true), ["docker.io/team/app:latest"]);
        let both = format!("r.io/app:1@sha256:{HEX}");
        assert_eq!(names(&both, true), std::slice::from_ref(&both));
        assert_eq!(names(&both, false), [format!("r.io/app@sha256:{HEX}")]);
    }

    /// The grammar as generators: every generated string is a reference.
    fn any_reference() -> impl Strategy<Value = (Option<String>, String, Option<String>, Option<String>)> {
        let component = "[a-z0-9]{1,6}((\\.|_|__|-{1,3})[a-z0-9]{1,6}){0,2}";
        let path = proptest::collection::vec(component, 1..4).prop_map(|parts| parts.join("/"));
        let host = proptest::option::of("[a-zA-Z0-9]{1,5}(-[a-zA-Z0-9]{1,3})?\\.[a-z]{2,3}(:[0-9]{1,5})?");
        (
            host,
            path,
            proptest::option::of("[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,20}"),
            proptest::option::of("sha256:[0-9a-f]{64}"),
        )
    }

    proptest! {
        #[test]
        fn what_the_grammar_makes_is_read_back((host, path, tag, digest) in any_reference()) {
            // A first component with a dot would be a host.
            prop_assume!(host.is_some() || !path.contains('/') || !is_host_like(path.split('/').next().unwrap_or_default()));
            let mut text = host.as_ref().map(|h| format!("{h}/")).unwrap_or_default() + &path;
            if let Some(tag) = &tag { text.push(':'); text.push_str(tag); }
            if let Some(digest) = &digest { text.push('@'); text.push_str(digest); }
            let parsed = ImageReference::parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
            prop_assert!(parsed.repository().ends_with(&path));
            prop_assert_eq!(parsed.digest(), digest.as_deref());
            if let Some(tag) = &tag { prop_assert_eq!(parsed.tag(), Some(tag.as_str())); }
        }

        #[test]
        fn canonical_names_are_fixed_points((host, path, tag, digest) in any_reference()) {
            let mut text = host.map(|h| format!("{h}/")).unwrap_or_default() + &path;
            if let Some(tag) = tag { text.push(':'); text.push_str(&tag); }
            if let Some(digest) = digest { text.push('@'); text.push_str(&digest); }
            if let Ok(parsed) = ImageReference::parse(&text) {
                prop_assert_eq!(ImageReference::parse(&parsed.to_string()), Ok(parsed));
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}|[a-zA-Z0-9./:@_\\[\\]-]{0,80}") {
            if let Ok(parsed) = ImageReference::parse(&text) {
                prop_assert_eq!(ImageReference::parse(&parsed.to_string()), Ok(parsed));
            }
        }
    }
}
