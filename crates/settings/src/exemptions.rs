//! Exemptions: findings that don't count, for a reason and until a day.

use super::ImageMatching;
use super::exemptions_from::ExemptionObject;
use super::namespaces::{NamespacePattern, read_patterns};
use super::prefix::Prefix;
use super::read::{Path, Problems, SettingsMap, wrong_type};
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;

/// The reason of a proposed exemption until somebody writes one.
pub const UNSAID_REASON: &str = "TODO: say why it doesn't matter, and where that is tracked";

/// Findings that don't count until a day. What is empty restricts nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exemption {
    /// Ids of vulnerabilities; `*` stands for any characters and `?` for one.
    pub vulnerabilities: Vec<Pattern>,
    /// How the images' names start.
    pub images: Vec<Prefix>,
    /// The namespaces of the workloads, by name or by glob.
    pub namespaces: Vec<NamespacePattern>,
    /// How the packages' URLs (purl) start.
    pub packages: Vec<String>,
    /// Why.
    pub reason: String,
    /// The last second of its last day. Each request compares it; the settings are valid after it too.
    pub expires: Timestamp,
    /// Whether it ends as soon as the finding can be fixed.
    pub expire_on_fix: bool,
    /// The object that it stands in; none: the settings.
    pub object: Option<Box<ExemptionObject>>,
}

impl Exemption {
    /// Whether it holds for workloads of a namespace.
    pub fn is_about(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|own| own.matches(namespace))
    }

    /// Whether it exempts every finding that another exempts, for at least as long.
    pub(super) fn covers(&self, other: &Self) -> bool {
        fn all<T>(own: &[T], others: &[T], covers: impl Fn(&T, &T) -> bool) -> bool {
            // What isn't written restricts nothing.
            own.is_empty() || !others.is_empty() && others.iter().all(|other| own.iter().any(|own| covers(own, other)))
        }
        self.expires >= other.expires
            && (!self.expire_on_fix || other.expire_on_fix)
            && all(&self.vulnerabilities, &other.vulnerabilities, Pattern::covers)
            && all(&self.images, &other.images, |own, other| other.goes_on_from(own, ImageMatching::Canonical))
            && all(&self.namespaces, &other.namespaces, |own, other| own == other)
            && all(&self.packages, &other.packages, |own, other| other.starts_with(own))
    }

    /// An object's `spec`, read like an entry of the settings, its `approvedBy`, and all problems. An invalid one still names its
    /// vulnerabilities, as far as they can be read.
    pub fn of_spec(spec: Option<&Value>) -> (Self, Option<String>, Vec<String>) {
        let mut problems = Problems::default();
        let path = Path::root().key("spec");
        let map = SettingsMap::named(spec, &path, "an object", &mut problems);
        let (mut read, mut approved_by) = (None, None);
        if let Some(map) = map {
            map.known(&[&KEYS[..], &["approvedBy"]].concat(), &[], &mut problems);
            read = read_one(&map, &mut problems);
            approved_by = map.text("approvedBy", &mut problems).map(str::trim).filter(|name| says_something(name));
        }
        let texts = |key: &str| -> Vec<Pattern> {
            let value = spec.and_then(|spec| spec.get(key));
            let list =
                value.and_then(Value::as_array).map_or_else(|| value.into_iter().collect(), |all| all.iter().collect());
            let texts: Vec<&Value> = list;
            texts.into_iter().filter_map(Value::as_str).map(|text| Pattern(text.to_owned())).collect()
        };
        let read = read.unwrap_or_else(|| Self {
            vulnerabilities: [texts("vulnerability"), texts("vulnerabilities")].concat(),
            images: Vec::new(),
            namespaces: Vec::new(),
            packages: Vec::new(),
            reason: String::new(),
            expires: Timestamp(i64::MAX),
            expire_on_fix: false,
            object: None,
        });
        (read, approved_by.map(str::to_owned), problems.into_texts())
    }
}

/// A pattern for ids of vulnerabilities; upper and lower case are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches the whole of `text`.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        image_admission_untrusted::glob::matches(&self.0, text, |a, b| a.eq_ignore_ascii_case(&b))
    }

    /// Whether it surely matches all that another does. With wildcards both must be the same, unless this one is `*`.
    fn covers(&self, other: &Self) -> bool {
        self.0 == "*"
            || self.0.eq_ignore_ascii_case(&other.0)
            || !other.0.contains(['*', '?']) && self.matches(&other.0)
    }
}

const KEYS: [&str; 8] =
    ["vulnerability", "vulnerabilities", "images", "namespaces", "packages", "reason", "expires", "expireOnFix"];

pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Exemption> {
    let path = settings.path().key("exemptions");
    let mut exemptions = Vec::new();
    for (position, value) in settings.list("exemptions", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        if !value.is_object() {
            problems.add(path, wrong_type("an object like `{vulnerability: CVE-…, reason: …, expires: …}`", value));
            continue;
        }
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        map.known(&KEYS, &[], problems);
        exemptions.extend(read_one(&map, problems));
    }
    exemptions
}

fn read_one(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<Exemption> {
    let path = map.path();
    let mut vulnerabilities: Vec<&str> = map.text("vulnerability", problems).into_iter().collect();
    vulnerabilities.extend(map.texts("vulnerabilities", problems).into_iter().map(|(_, text)| text));
    if vulnerabilities.iter().any(|id| id.is_empty() || id.trim() != *id) {
        problems.add(*path, "an empty id, or one with spaces around it, names no vulnerability");
    } else if vulnerabilities.is_empty() {
        problems.add(*path, "set `vulnerability` or `vulnerabilities`: an id, or a pattern like `CVE-2024-*`");
    }
    let packages = map.narrowing_texts("packages", "package", problems);
    for package in &packages {
        match package.strip_prefix("pkg:") {
            Some("") => problems.add(
                path.key("packages"),
                "`pkg:` is the beginning of every purl: name the packages that are meant, or leave `packages` out for every package",
            ),
            Some(_) => {}
            None => problems.add(
                path.key("packages"),
                format!("`{package}` is not the beginning of a purl like `pkg:apk/alpine/openssl@`"),
            ),
        }
    }
    let images = map.narrowing_texts("images", "image", problems).into_iter().map(Prefix::new).collect::<Vec<_>>();
    for prefix in &images {
        if prefix.as_str().is_empty() {
            problems.add(
                path.key("images"),
                "an empty text is the beginning of every image's name: name the images that are meant, or leave `images` out for every image",
            );
        } else if !prefix.can_match() {
            problems.add(path.key("images"), format!("no image's name starts with `{}`", prefix.as_str()));
        }
    }
    let reason = map.text("reason", problems).map(str::trim);
    if !map.has("reason") || reason.is_some_and(|reason| !says_something(reason)) {
        problems.add(path.key("reason"), "say why the findings don't count; people will read it");
    }
    let expires = map.text("expires", problems);
    // Kustomize makes a time of a day that has no quotes.
    let day = expires.map(|text| text.strip_suffix("T00:00:00Z").unwrap_or(text)).and_then(Timestamp::end_of_day);
    match expires {
        Some(text) if day.is_none() => {
            problems.add(path.key("expires"), format!("`{text}` is not a day like `2027-01-31`"));
        }
        None if !map.has("expires") => {
            problems.add(path.key("expires"), "every exemption ends: set its last day, like `2027-01-31`");
        }
        _ => {}
    }
    let namespaces = read_patterns(map, "namespaces", problems);
    Some(Exemption {
        vulnerabilities: vulnerabilities.into_iter().map(|text| Pattern(text.to_owned())).collect(),
        images,
        namespaces,
        packages: packages.into_iter().map(str::to_owned).collect(),
        reason: reason?.to_owned(),
        expires: day?,
        expire_on_fix: map.boolean("expireOnFix", false, problems),
        object: None,
    })
}

/// Whether people can read something in a text: it isn't all blanks, marks, or characters that aren't shown.
fn says_something(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_covers_another() {
        let of = |spec: Value| {
            let mut whole = json!({"vulnerability": "CVE-1", "reason": "r", "expires": "2027-01-31"});
            for (key, value) in spec.as_object().unwrap() {
                whole[key] = value.clone();
            }
            let (exemption, _, problems) = Exemption::of_spec(Some(&whole));
            assert_eq!(problems, Vec::<String>::new());
            exemption
        };
        // Each covers the other, none does, or only the first does.
        for (one, other, both) in [
            (json!({}), json!({"reason": "s"}), Some(true)),
            (json!({"vulnerability": "cve-1"}), json!({}), Some(true)),
            (json!({"vulnerabilities": ["CVE-2"]}), json!({"vulnerabilities": ["CVE-2", "CVE-1"]}), Some(true)),
            (json!({"images": ["a.io/", "b.io/"]}), json!({"images": ["b.io/", "a.io/"]}), Some(true)),
            (json!({"expires": "2027-02-01"}), json!({}), None),
            (json!({"vulnerability": "CVE-*"}), json!({}), None),
            (json!({"vulnerability": "*"}), json!({"vulnerability": "CVE-?"}), None),
            (json!({}), json!({"images": ["b.io/"]}), None),
            (json!({"images": ["b.io/"]}), json!({"images": ["b.io/x/"]}), None),
            (json!({}), json!({"namespaces": ["shop"]}), None),
            (json!({"packages": ["pkg:npm/a"]}), json!({"packages": ["pkg:npm/a@"]}), None),
            (json!({}), json!({"expireOnFix": true}), None),
            (json!({"vulnerability": "CVE-?"}), json!({"vulnerability": "CVE-2*"}), Some(false)),
            (json!({"vulnerability": "CVE-2"}), json!({}), Some(false)),
            (json!({"images": ["b.io/"]}), json!({"images": ["c.io/"]}), Some(false)),
            (json!({"expires": "2027-02-01"}), json!({"vulnerability": "CVE-*"}), Some(false)),
            (json!({"namespaces": ["shop"]}), json!({"namespaces": ["test"]}), Some(false)),
        ] {
            let (first, second) = (of(one.clone()), of(other.clone()));
            let expected = both.map_or((true, false), |both| (both, both));
            assert_eq!((first.covers(&second), second.covers(&first)), expected, "{one} {other}");
        }
    }

    #[test]
    fn patterns_match_whole_ids() {
        for (pattern, text, matches) in [
            ("CVE-2024-0001", "CVE-2024-0001", true),
            ("CVE-2024-0001", "cve-2024-0001", true),
            ("CVE-2024-0001", "CVE-2024-00011", false),
            ("CVE-2024-*", "CVE-2024-0001", true),
            ("CVE-2024-*", "CVE-2023-0001", false),
            ("*", "", true),
            ("*", "GHSA-x", true),
            ("?", "", false),
            ("CVE-????-1", "CVE-2024-1", true),
            ("CVE-????-1", "CVE-024-1", false),
            ("*-00*1", "CVE-2024-0011", true),
            ("*-00*1", "CVE-2024-0010", false),
            ("**", "a", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Pattern(pattern.to_owned()).matches(text), matches, "{pattern} {text}");
        }
    }
}
