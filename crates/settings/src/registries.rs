//! The registries that are contacted for images, and the mirrors that stand in for some of them.
//!
//! Nodes that pull through a mirror still say `docker.io/library/nginx`. So rules, messages and pins know only that name, and a
//! mirror is only where look-ups go. An image at a mirror must be named by its registry. The mirror's name would bypass the rules
//! about the registry, and rules that admit the registry's images would admit what was pushed to the mirror.

use super::read::{Choice, Path, Problems, SettingsMap, wrong_type};
use super::refused;
use image_admission_image::{ImageReference, MAX_REPOSITORY_LENGTH, canonical_host, is_host_like};
use serde_json::Value;
use std::fmt;

const KEYS: [&str; 3] = ["registry", "mirror", "ask"];

/// The registry whose repositories have a namespace each: without one, clients put `library/` before the name.
const DOCKER_HUB: &str = "docker.io";

/// Who says which digest a tag has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "camelCase"), schemars(extend("default" = "mirror")))]
pub enum MirrorAsk {
    /// The mirror; the registry is never contacted.
    #[default]
    Mirror,
    /// Both, with one more call for each tag. If they differ, the image is `scan_failed`.
    Both,
}

impl Choice for MirrorAsk {
    const CHOICES: &'static [(&'static str, Self)] = &[("mirror", Self::Mirror), ("both", Self::Both)];
}

/// A copy of a registry under other names. Look-ups go there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// The canonical host of the registry.
    registry: String,
    /// The canonical host of the mirror.
    host: String,
    /// The path there before the names of the registry's repositories; may be empty.
    path: String,
    /// Who gives the digest of a tag.
    ask: MirrorAsk,
}

impl Mirror {
    /// The registry that it stands in for.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Whether the registry must give the same digest for a tag.
    pub fn asks_both(&self) -> bool {
        self.ask == MirrorAsk::Both
    }

    /// The mirror's name for the registry's `name`, like `library/nginx:1.27`. None: it would be too long for a repository.
    pub fn name_of(&self, name: &str) -> Option<String> {
        let repository = name.split([':', '@']).next().unwrap_or(name);
        let place = self.to_string();
        let length = self.path.len().saturating_add(1).saturating_add(repository.len());
        (self.path.is_empty() || length <= MAX_REPOSITORY_LENGTH).then(|| [&place, "/", name].concat())
    }

    /// The same image by its name at the mirror. None: no repository can have that name.
    fn place_of(&self, image: &ImageReference) -> Option<ImageReference> {
        if self.path.is_empty() {
            return image.in_repository(&self.host, image.repository()).ok();
        }
        image.in_repository(&self.host, &[&self.path, "/", image.repository()].concat()).ok()
    }

    /// The registry's name of an image that is named by the mirror.
    fn behind(&self, image: &ImageReference) -> Option<ImageReference> {
        let of_path = || image.repository().strip_prefix(&self.path)?.strip_prefix('/');
        let repository = if self.path.is_empty() { Some(image.repository()) } else { of_path() };
        let repository = repository.filter(|_| self.host == image.host())?;
        image.in_repository(&self.registry, repository).ok()
    }

    /// Whether an image could be below both.
    fn overlaps(&self, other: &Self) -> bool {
        let is_within = |inner: &str, outer: &str| {
            outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.host == other.host && (is_within(&self.path, &other.path) || is_within(&other.path, &self.path))
    }
}

/// `mirror.example.com/dockerhub`
impl fmt::Display for Mirror {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.host)?;
        if !self.path.is_empty() {
            write!(f, "/{}", self.path)?;
        }
        Ok(())
    }
}

/// The mirrors of registries, at most one of each. No mirror has a mirror.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Mirrors(Vec<Mirror>);

impl Mirrors {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The mirror of a registry, by its canonical host.
    pub fn of(&self, registry: &str) -> Option<&Mirror> {
        self.0.iter().find(|mirror| mirror.registry == registry)
    }

    /// An image by its name at the mirror of its registry, where there is one.
    pub fn place_of(&self, image: &ImageReference) -> Option<ImageReference> {
        self.of(image.host())?.place_of(image)
    }

    /// The mirror that a prefix or a glob names, and what to write instead.
    pub(super) fn behind_text(&self, text: &str) -> Option<(&Mirror, String)> {
        self.0.iter().find_map(|mirror| {
            let rest = text.strip_prefix(&mirror.to_string())?.strip_prefix('/')?;
            Some((mirror, [&mirror.registry, "/", rest].concat()))
        })
    }

    /// The mirror that an image is named by, and the name to use instead.
    pub fn behind(&self, image: &ImageReference) -> Option<(&Mirror, ImageReference)> {
        self.0.iter().find_map(|mirror| Some((mirror, mirror.behind(image)?)))
    }
}

/// Reads `registries`: the canonical hosts of all, and the mirrors of some.
pub(super) fn read(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> (Vec<String>, Mirrors) {
    let path = map.path().key("registries");
    let (mut hosts, mut mirrors): (Vec<String>, Vec<(usize, Mirror)>) = Default::default();
    for (position, entry) in map.list("registries", problems).unwrap_or_default().iter().enumerate() {
        let at = path.position(position);
        match entry {
            Value::String(text) => hosts.extend(registry(text, at, problems)),
            Value::Object(_) => {
                let (host, mirror) = mirrored(entry, &at, problems);
                mirrors.extend(host.clone().zip(mirror).map(|(registry, mirror)| {
                    let Place { host, path } = mirror.0;
                    (position, Mirror { registry, host, path, ask: mirror.1 })
                }));
                hosts.extend(host);
            }
            other => {
                let expected = "a host like `ghcr.io`, or an object with `registry` and `mirror`";
                problems.add(at, wrong_type(expected, other));
            }
        }
    }
    for (number, (position, mirror)) in mirrors.iter().enumerate() {
        let before = mirrors.iter().take(number).map(|(_, before)| before);
        if let Some(why) = contradiction(mirror, before, &mirrors, &hosts) {
            let at = path.position(*position);
            problems.add(at.key("mirror"), why);
        }
    }
    (hosts, Mirrors(mirrors.into_iter().map(|(_, mirror)| mirror).collect()))
}

fn registry(text: &str, path: Path<'_>, problems: &mut Problems) -> Option<String> {
    match canonical_host(text) {
        Ok(host) => Some(host),
        Err(error) => {
            problems.add(path, format!("{error}; use a host like `ghcr.io` or `registry.example.com:5000`"));
            None
        }
    }
}

/// An entry that is an object: the registry, and its mirror.
fn mirrored(entry: &Value, path: &Path<'_>, problems: &mut Problems) -> (Option<String>, Option<(Place, MirrorAsk)>) {
    let Some(map) = SettingsMap::of(Some(entry), path, problems) else { return (None, None) };
    map.known(&KEYS, &refused::REGISTRY, problems);
    let named = map.text("registry", problems);
    if named.is_none() && !map.has("registry") {
        problems.add(
            path.key("registry"),
            "it is missing; name the registry that the mirror stands in for, like `docker.io`",
        );
    }
    let host = named.and_then(|text| registry(text, path.key("registry"), problems));
    let text = map.text("mirror", problems);
    if text.is_none() && !map.has("mirror") {
        problems.add(
            path.key("mirror"),
            "it is missing; write `mirror.example.com/dockerhub`, or the registry as a text where it has no mirror",
        );
    }
    let place = text.and_then(|text| place(text).map_err(|why| problems.add(path.key("mirror"), why)).ok());
    let ask = map.choice("ask", MirrorAsk::default(), problems);
    (host, place.map(|place| (place, ask)))
}

/// Where a mirror is.
struct Place {
    host: String,
    path: String,
}

fn place(text: &str) -> Result<Place, String> {
    let example = "write it like `mirror.example.com/dockerhub`";
    if let Some((_, rest)) = text.split_once("://") {
        return Err(format!("`{text}` is a URL; leave out what stands before `{rest}`"));
    }
    let (written, path) = text.split_once('/').unwrap_or((text, ""));
    if !is_host_like(written) {
        return Err(format!("`{text}` doesn't begin with a registry, which has a dot or a port; {example}"));
    }
    let host = canonical_host(written).map_err(|error| format!("{error}; {example}"))?;
    if path.contains('@') || path.rsplit('/').next().is_some_and(|last| last.contains(':')) {
        return Err(format!(
            "`{text}` names an image; leave out its tag or digest: the names of repositories follow it"
        ));
    }
    if text.ends_with('/') {
        return Err(format!("`{text}` ends with `/`; leave that out"));
    }
    if path.is_empty() && host == DOCKER_HUB {
        return Err(format!("`{text}` has no repositories without a namespace; write it, like `{DOCKER_HUB}/team`"));
    }
    if !path.is_empty()
        && let Err(error) = ImageReference::parse(&[&host, "/", path, "/library/app"].concat())
    {
        return Err(format!("`{text}` is no place for repositories: {error}"));
    }
    Ok(Place { host, path: path.to_owned() })
}

/// What is wrong with a mirror, compared with the others.
fn contradiction<'m>(
    mirror: &Mirror,
    mut before: impl Iterator<Item = &'m Mirror> + Clone,
    all: &[(usize, Mirror)],
    hosts: &[String],
) -> Option<String> {
    let registry = &mirror.registry;
    if mirror.host == *registry {
        return Some(format!("`{mirror}` is of `{registry}` itself; name another registry"));
    }
    if hosts.iter().filter(|host| *host == registry).count() > 1 {
        return Some(format!("`{registry}` stands in `registries` more than once; keep one entry"));
    }
    if all.iter().any(|(_, other)| other.registry == mirror.host) {
        return Some(format!("`{}` has a mirror itself, and look-ups follow one; name the last of them", mirror.host));
    }
    if let Some(other) = before.find(|other| other.overlaps(mirror)) {
        return Some(format!(
            "`{mirror}` is where `{}` has its mirror, so that one image could be of both; give each a path of its own",
            other.registry
        ));
    }
    if mirror.path.is_empty() && hosts.contains(&mirror.host) {
        return Some(format!(
            "all of `{mirror}` stands in for `{registry}`, so that no image may be named by it: take `{mirror}` out of `registries`, or give the mirror a path"
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use serde_json::json;

    fn mirrors(registries: Value) -> Mirrors {
        Settings::read(&json!({"registries": registries})).unwrap().mirrors
    }

    fn hub(mirror: &str) -> Mirrors {
        mirrors(json!([{"registry": "docker.io", "mirror": mirror}]))
    }

    #[test]
    fn names_at_a_mirror_and_behind_it() {
        for (mirror, image, there) in [
            ("mirror.example.com/dockerhub", "nginx:1.27", "mirror.example.com/dockerhub/library/nginx:1.27"),
            ("mirror.example.com", "team/app", "mirror.example.com/team/app:latest"),
            ("Mirror.Example.Com:443/a/b", "team/app:1", "mirror.example.com/a/b/team/app:1"),
            ("localhost:5000", "nginx", "localhost:5000/library/nginx:latest"),
            ("[::1]:5000/x", "nginx:1", "[::1]:5000/x/library/nginx:1"),
        ] {
            let (mirrors, image) = (hub(mirror), ImageReference::parse(image).unwrap());
            let place = mirrors.place_of(&image).unwrap();
            assert_eq!(place.to_string(), there, "{mirror}");
            let (name, rest) = (image.to_string(), "docker.io/");
            let named = mirrors.of("docker.io").unwrap().name_of(name.strip_prefix(rest).unwrap());
            assert_eq!(named.as_deref(), Some(there), "{mirror}");
            assert_eq!(mirrors.behind(&place).map(|(_, behind)| behind), Some(image), "{mirror}");
        }
        let mirrors = hub("mirror.example.com/dockerhub");
        // Docker Hub's clients use short names, and some mirrors accept them too.
        let short = ImageReference::parse("mirror.example.com/dockerhub/nginx:1").unwrap();
        assert_eq!(mirrors.behind(&short).unwrap().1.to_string(), "docker.io/library/nginx:1");
        for other in [
            "mirror.example.com/dockerhub",
            "mirror.example.com/dockerhub2/library/nginx",
            "mirror.example.com/team/app",
            "mirror.example.com:5000/dockerhub/library/nginx",
            "docker.io/dockerhub/nginx",
        ] {
            assert_eq!(mirrors.behind(&ImageReference::parse(other).unwrap()), None, "{other}");
        }
        assert_eq!(mirrors.place_of(&ImageReference::parse("ghcr.io/team/app").unwrap()), None);
        assert!(mirrors.of("mirror.example.com").is_none());
    }

    #[test]
    fn a_name_that_is_too_long_for_the_mirror() {
        let name = |length: usize| format!("a/{}", "a".repeat(length - 2));
        for (mirror, longest) in [("mirror.example.com/dockerhub", 245), ("mirror.example.com", 255)] {
            let mirrors = hub(mirror);
            let mirror = mirrors.of("docker.io").unwrap();
            for (length, is_one) in [(longest, true), (longest + 1, false)] {
                let Ok(image) = ImageReference::parse(&name(length)) else { continue };
                assert_eq!(mirrors.place_of(&image).is_some(), is_one, "{mirror} {length}");
                for end in [":1", "@sha256:00", ":1@sha256:00"] {
                    assert_eq!(mirror.name_of(&(name(length) + end)).is_some(), is_one, "{mirror} {length} {end}");
                }
            }
        }
    }

    #[test]
    fn registries_keep_their_order_and_mirrors_their_hosts() {
        let settings = Settings::read(&json!({"registries": [
            "ghcr.io",
            {"registry": "index.docker.io", "mirror": "mirror.example.com/dockerhub", "ask": "both"},
            {"registry": "quay.io", "mirror": "mirror.example.com/quay"},
            "mirror.example.com",
        ]}))
        .unwrap();
        assert_eq!(settings.registries, ["ghcr.io", "docker.io", "quay.io", "mirror.example.com"]);
        assert!(settings.mirrors.of("docker.io").unwrap().asks_both());
        assert!(!settings.mirrors.of("quay.io").unwrap().asks_both());
        assert!(Settings::read(&json!({"registries": ["ghcr.io"]})).unwrap().mirrors.is_empty());
    }

    #[track_caller]
    fn refuse(registries: Value, expected: &[&str]) {
        let problems = Settings::read(&json!({"registries": registries})).unwrap_err().0;
        assert_eq!(problems, expected);
    }

    #[test]
    fn what_is_wrong_about_a_mirror() {
        let one = |mirror: &str| json!([{"registry": "docker.io", "mirror": mirror}]);
        let at = "registries[0].mirror: ";
        for (mirror, why) in [
            (
                "https://mirror.example.com/hub",
                "`https://mirror.example.com/hub` is a URL; leave out what stands before `mirror.example.com/hub`",
            ),
            (
                "mirror/hub",
                "`mirror/hub` doesn't begin with a registry, which has a dot or a port; write it like `mirror.example.com/dockerhub`",
            ),
            (
                "",
                "`` doesn't begin with a registry, which has a dot or a port; write it like `mirror.example.com/dockerhub`",
            ),
            (
                "mirror.example.com/hub:1",
                "`mirror.example.com/hub:1` names an image; leave out its tag or digest: the names of repositories follow it",
            ),
            (
                "mirror.example.com/hub@sha256:00",
                "`mirror.example.com/hub@sha256:00` names an image; leave out its tag or digest: the names of repositories follow it",
            ),
            ("mirror.example.com/hub/", "`mirror.example.com/hub/` ends with `/`; leave that out"),
            ("mirror.example.com/", "`mirror.example.com/` ends with `/`; leave that out"),
            (
                "mirror.example.com/Hub",
                "`mirror.example.com/Hub` is no place for repositories: the repository `Hub/library/app` must be in lower case",
            ),
            (
                "mirror.example.com:x/hub",
                "`mirror.example.com:x` is not a registry host; write it like `mirror.example.com/dockerhub`",
            ),
            ("docker.io/mirror", "`docker.io/mirror` is of `docker.io` itself; name another registry"),
            (
                "index.docker.io",
                "`index.docker.io` has no repositories without a namespace; write it, like `docker.io/team`",
            ),
        ] {
            refuse(one(mirror), &[&[at, why].concat()]);
        }
    }

    #[test]
    fn what_is_wrong_about_an_entry() {
        refuse(
            json!([{}]),
            &[
                "registries[0].registry: it is missing; name the registry that the mirror stands in for, like `docker.io`",
                "registries[0].mirror: it is missing; write `mirror.example.com/dockerhub`, or the registry as a text where it has no mirror",
            ],
        );
        refuse(
            json!([{"registry": "docker.io/library", "mirror": 7, "ask": "all"}]),
            &[
                "registries[0].registry: `docker.io/library` is not a registry host; use a host like `ghcr.io` or `registry.example.com:5000`",
                "registries[0].mirror: expected a string, but found `7`",
                "registries[0].ask: `all` is not a choice here; use mirror or both",
            ],
        );
        refuse(
            json!([{"registry": "docker.io", "mirror": "m.example.com/hub", "mirrors": [], "endpoint": ["x"], "mirorr": 1}]),
            &[
                "registries[0].endpoint: `endpoint` is written `mirror: mirror.example.com/dockerhub`, one for each registry, here",
                "registries[0].mirorr: unknown setting `mirorr`; did you mean `mirror`?",
                "registries[0].mirrors: `mirrors` is written `mirror: mirror.example.com/dockerhub`, one for each registry, here",
            ],
        );
        refuse(
            json!([["docker.io"]]),
            &[
                "registries[0]: expected a host like `ghcr.io`, or an object with `registry` and `mirror`, but found a list",
            ],
        );
    }

    #[test]
    fn mirrors_that_contradict_each_other() {
        let entry = |registry: &str, mirror: &str| json!({"registry": registry, "mirror": mirror});
        refuse(
            json!(["docker.io", entry("index.docker.io", "m.example.com/hub")]),
            &["registries[1].mirror: `docker.io` stands in `registries` more than once; keep one entry"],
        );
        refuse(
            json!([entry("docker.io", "quay.io/hub"), entry("quay.io", "m.example.com")]),
            &["registries[0].mirror: `quay.io` has a mirror itself, and look-ups follow one; name the last of them"],
        );
        for (one, other) in [
            ("m.example.com", "m.example.com/quay"),
            ("m.example.com/a/b", "m.example.com/a"),
            ("m.example.com/a", "M.example.com/a"),
        ] {
            let canonical = other.to_ascii_lowercase();
            refuse(
                json!([entry("docker.io", one), entry("quay.io", other)]),
                &[&format!(
                    "registries[1].mirror: `{canonical}` is where `docker.io` has its mirror, so that one image could be of both; give each a path of its own"
                )],
            );
        }
        refuse(
            json!([entry("docker.io", "m.example.com"), "m.example.com"]),
            &[
                "registries[0].mirror: all of `m.example.com` stands in for `docker.io`, so that no image may be named by it: take `m.example.com` out of `registries`, or give the mirror a path",
            ],
        );
        mirrors(json!([entry("docker.io", "m.example.com/ab"), entry("quay.io", "m.example.com/a"), "m.example.com"]));
    }
}
