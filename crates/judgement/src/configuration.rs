//! What an image is: the configuration and the manifest of each platform that is judged, as rules and expressions see them.
//!
//! The image's builder wrote all of it. It belongs to the digest that runs: the manifest is proven, and the host has checked the
//! configuration against the digest in the manifest. It needn't be true. An image that starts as root does so, but its builder can
//! write any date of creation.

use crate::reason::{RefusedConfiguration, UnknownConfiguration};
use crate::resolve::{PlatformManifest, ResolvedImage};
use image_admission_host::{Document, Host, is_proven};
use image_admission_image::ImageReference;
use image_admission_image::manifest::{BASE_DIGEST, BASE_NAME, Manifest};
use image_admission_image::platform::Platform;
use image_admission_settings::UnprovenIndexes;
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::spelling;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The largest manifest with its configuration that is read, and the most of all platforms of an image, in bytes: the pusher
/// chooses how large they are.
const MAX_DOCUMENT: usize = 1 << 20;
const MAX_DOCUMENTS: usize = 4 << 20;

/// The types of an image's configuration, OCI's and Docker's.
const IMAGE_TYPES: [&str; 2] =
    ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

/// The largest user id that runtimes take for a number. Some of them take a larger one for a name, and others take it modulo 2^32,
/// so that it may be root.
const LARGEST_USER: i64 = (1 << 31) - 1;

/// What each platform of an image is, in the order of its index.
///
/// # Errors
/// One of them is unknown: it could be the one that runs.
pub(crate) fn configurations(
    reference: &ImageReference,
    image: &ResolvedImage,
    unproven: UnprovenIndexes,
    host: &dyn Host,
    now: Timestamp,
) -> Result<Json, UnknownConfiguration> {
    let mut all = Vec::new();
    let mut room = MAX_DOCUMENTS;
    for manifest in &image.platforms {
        let read = read(reference, image, manifest, (unproven, now), host, &mut room);
        match read {
            Ok(one) => all.push(one),
            Err(_) if !is_on(Remedy::EveryConfigurationCounts) => {}
            Err(why) => return Err(why),
        }
    }
    Ok(Json::Array(all))
}

fn read(
    reference: &ImageReference,
    image: &ResolvedImage,
    manifest: &PlatformManifest,
    (unproven, now): (UnprovenIndexes, Timestamp),
    host: &dyn Host,
    room: &mut usize,
) -> Result<Json, UnknownConfiguration> {
    if let Some(why) = manifest.unjudgeable {
        return Err(UnknownConfiguration::Unjudgeable { digest: manifest.digest.clone(), why });
    }
    let at = reference.at(&manifest.digest);
    let document = match host.artifact(&at) {
        Ok(document) => document,
        Err(failure) => return Err(UnknownConfiguration::LookUpFailed { at, failure }),
    };
    *room = room.checked_sub(document.0.len()).ok_or(UnknownConfiguration::TooLarge(MAX_DOCUMENTS))?;
    read_document(&document, image, manifest, (unproven, now), host)
        .map_err(|why| UnknownConfiguration::Refused { at, why })
}

/// The host's answer about a manifest and its configuration.
#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    manifest: &'a RawValue,
    #[serde(borrow)]
    digest: JsonString<'a>,
    #[serde(borrow)]
    config: &'a RawValue,
}

fn read_document(
    document: &Document,
    image: &ResolvedImage,
    of: &PlatformManifest,
    (unproven, now): (UnprovenIndexes, Timestamp),
    host: &dyn Host,
) -> Result<Json, RefusedConfiguration> {
    if document.0.len() > MAX_DOCUMENT {
        return Err(RefusedConfiguration::TooLarge(MAX_DOCUMENT));
    }
    let answer: Answer<'_> =
        document.read().map_err(|failure| RefusedConfiguration::Unreadable(failure.to_string()))?;
    if answer.digest.as_str() != of.digest && is_on(Remedy::MatchConfiguredDigest) {
        return Err(RefusedConfiguration::OtherDigest);
    }
    let manifest = Manifest::read(answer.manifest.get().as_bytes())
        .map_err(|why| RefusedConfiguration::Unreadable(format!("its manifest {why}")))?;
    let is_proven = is_proven(host, &manifest, &of.digest);
    if !is_proven && unproven == UnprovenIndexes::Reject && is_on(Remedy::ProveIndexes) {
        return Err(RefusedConfiguration::Unproven);
    }
    let kind = manifest.config_type();
    if !IMAGE_TYPES.contains(&kind.as_str()) && is_on(Remedy::ArtifactsAreNoImages) {
        return Err(RefusedConfiguration::NoImage(cut(&kind, 160)));
    }
    let configuration: Configuration<'_> = match is_on(Remedy::OneSpelling) {
        true => spelling::from_str(answer.config.get()),
        false => serde_json::from_str(answer.config.get()),
    }
    .map_err(|error| RefusedConfiguration::Unreadable(image_admission_untrusted::unreadable::unreadable(&error)))?;
    let platform = configuration.platform();
    if platform.is_none() && is_on(Remedy::ArtifactsAreNoImages) {
        return Err(RefusedConfiguration::WithoutPlatform);
    }
    let platform = of.platform.as_ref().or(platform.as_ref()).map(Platform::name);
    Ok(shown(&configuration, &manifest, platform, image, of, now))
}

/// An image's configuration, as far as rules and expressions see it. Keys that other parsers take for one of its fields are
/// refused.
#[derive(Deserialize)]
#[serde(expecting = "an image's configuration")]
struct Configuration<'a> {
    #[serde(borrow)]
    created: Option<JsonString<'a>>,
    #[serde(borrow)]
    architecture: Option<JsonString<'a>>,
    #[serde(borrow)]
    os: Option<JsonString<'a>>,
    #[serde(borrow)]
    variant: Option<JsonString<'a>>,
    #[serde(borrow)]
    config: Option<Defaults<'a>>,
    #[serde(borrow)]
    rootfs: Option<Layers<'a>>,
}

/// What a container starts with, unless its Pod says otherwise.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", expecting = "an object")]
struct Defaults<'a> {
    #[serde(borrow)]
    user: Option<JsonString<'a>>,
    #[serde(borrow)]
    exposed_ports: Option<BTreeMap<JsonString<'a>, IgnoredAny>>,
    #[serde(borrow)]
    env: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    entrypoint: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    cmd: Option<Vec<JsonString<'a>>>,
    #[serde(borrow)]
    working_dir: Option<JsonString<'a>>,
    #[serde(borrow)]
    labels: Option<BTreeMap<JsonString<'a>, Option<JsonString<'a>>>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Layers<'a> {
    #[serde(borrow)]
    diff_ids: Option<Vec<JsonString<'a>>>,
}

impl Configuration<'_> {
    fn platform(&self) -> Option<Platform> {
        let (os, architecture) = (self.os.as_ref()?.as_str(), self.architecture.as_ref()?.as_str());
        let variant = self.variant.as_ref().map(JsonString::as_str).filter(|variant| !variant.is_empty());
        Platform::of(os, architecture, variant)
    }

    /// When it was made, as its builder says; none if that is no time, or in the future.
    fn created(&self, now: Timestamp) -> Option<Timestamp> {
        let time = Timestamp::parse(self.created.as_ref()?.as_str())?;
        (!time.is_ahead_of(now) || !is_on(Remedy::NothingIsMadeTomorrow)).then_some(time)
    }
}

/// What rules and expressions see of it. What it doesn't say is missing, except that lists and maps are empty.
fn shown(
    configuration: &Configuration<'_>,
    manifest: &Manifest<'_>,
    platform: Option<String>,
    image: &ResolvedImage,
    of: &PlatformManifest,
    now: Timestamp,
) -> Json {
    let default = Defaults::default();
    let defaults = configuration.config.as_ref().unwrap_or(&default);
    let texts = |list: Option<&Vec<JsonString<'_>>>| -> Json {
        list.into_iter().flatten().map(|text| Json::from(text.as_str())).collect()
    };
    let user = defaults.user.as_ref().map_or("", JsonString::as_str);
    let name = user.split(':').next().unwrap_or_default();
    // Runtimes look the whole string up in the image's own list of users, where `1000 ` may be root.
    let is_odd = user.contains(|c: char| c.is_whitespace() || c.is_control()) && is_on(Remedy::OddUsersMayBeRoot);
    let mut fields = Map::new();
    let mut set = |key: &str, value: Json| drop(fields.insert(key.to_owned(), value));
    if let Some(platform) = platform {
        set("platform", platform.into());
    }
    set("digest", of.digest.as_str().into());
    if let Some(created) = configuration.created(now) {
        set("created", created.to_string().into());
    }
    if !user.is_empty() {
        set("user", user.into());
    }
    if let Some(number) = user_id(name).filter(|_| !is_odd) {
        set("uid", number.into());
    }
    set("runsAsRoot", (is_odd || is_root(name)).into());
    let labels = defaults.labels.iter().flatten();
    let labels: Map<String, Json> = labels
        .map(|(key, value)| (key.as_str().to_owned(), value.as_ref().map_or("", JsonString::as_str).into()))
        .collect();
    let base = manifest.base().map(|base| ("manifest", base)).or_else(|| Some(("index", image.base.clone()?)));
    let of_labels = || {
        let label =
            |key: &str| labels.get(key).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned);
        image_admission_image::manifest::BaseImage::new(label(BASE_NAME), label(BASE_DIGEST))
    };
    if let Some((from, base)) = base.or_else(|| Some(("labels", of_labels()?))) {
        let mut told = json!({"from": from});
        if let Some(told) = told.as_object_mut() {
            told.extend(base.name.map(|name| ("name".to_owned(), name.into())));
            told.extend(base.digest.map(|digest| ("digest".to_owned(), digest.into())));
        }
        set("base", told);
    }
    set("labels", Json::Object(labels));
    set("entrypoint", texts(defaults.entrypoint.as_ref()));
    set("cmd", texts(defaults.cmd.as_ref()));
    set("env", texts(defaults.env.as_ref()));
    let ports = defaults.exposed_ports.iter().flatten();
    set("exposedPorts", ports.map(|(port, _)| Json::from(port.as_str())).collect());
    if let Some(folder) = defaults.working_dir.as_ref().filter(|folder| !folder.as_str().is_empty()) {
        set("workingDir", folder.as_str().into());
    }
    set("layers", texts(configuration.rootfs.as_ref().and_then(|layers| layers.diff_ids.as_ref())));
    let annotations = manifest.annotations().map(|(key, value)| (key.to_owned(), Json::from(value)));
    set("annotations", Json::Object(annotations.collect()));
    Json::Object(fields)
}

/// A user's id, if the user is given as a number.
fn user_id(name: &str) -> Option<i64> {
    name.parse().ok().filter(|number| (0..=LARGEST_USER).contains(number))
}

/// Whether this name of a user is root: an empty one, `root`, 0 in any spelling, and numbers that some runtimes took for 0. Any
/// other name may have any id, which the image's own files say.
fn is_root(name: &str) -> bool {
    let digits = name.strip_prefix(['+', '-']).unwrap_or(name);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    match name {
        "" => is_on(Remedy::NobodyIsRoot),
        "root" => true,
        _ if is_number => user_id(name).is_none_or(|number| number == 0),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_root() {
        for (user, number, root) in [
            ("", None, true),
            ("root", None, true),
            ("0", Some(0), true),
            ("00", Some(0), true),
            ("+0", Some(0), true),
            ("-0", Some(0), true),
            ("1", Some(1), false),
            ("65532", Some(65532), false),
            ("2147483647", Some(2_147_483_647), false),
            // What runtimes took for 0.
            ("2147483648", None, true),
            ("4294967296", None, true),
            ("18446744073709551616", None, true),
            ("-1", None, true),
            ("nonroot", None, false),
            ("0x0", None, false),
            ("Root", None, false),
        ] {
            assert_eq!((user_id(user), is_root(user)), (number, root), "{user}");
        }
    }
}
