//! Reports of any kind: objects of the cluster whose fields the settings describe.
//!
//! A report is found by a name made from a template, with one GET in each namespace, or by one list with a constant selector. The
//! list gives only names, and each of them is read again. Either way, a report is this image's only if the report says so itself.
//! Only the settings know its structure, so a missing field never means "nothing found": a path that leads nowhere fails the scan.
//!
//! A path is a chain of keys joined by dots. Lists on the way are passed through. If a key itself has dots, like keys of labels and
//! annotations, the longest key that fits is taken. (The host's field masks know such keys only in `metadata`, which is always
//! returned.)

use super::cluster::{Objects, origin};
use super::source::{self, Described, Knowledge, Statement, WantedPlatform, judge_deeper};
use crate::acceptance::{Depth, Judge, Parts, Verdict};
use crate::reason::{NotScanned, OtherImage, ScanFailure, UnknownAge, UnreadableReport, Whereabouts};
use image_admission_host::{Host, HostFailure};
use image_admission_image::platform::Platform;
use image_admission_image::{ImageReference, canonical_host};
use image_admission_scan_report::document::severity_of;
use image_admission_scan_report::finding::{
    EpssScores, Exploited, Finding, Findings, OperatingSystem, OwnVerdict, aliases,
};
use image_admission_settings::{CustomFields, CustomLookup, CustomReports, PLACEHOLDERS, ReportIdentity, Severity};
use image_admission_untrusted::json::JsonString;
use image_admission_untrusted::memory::{AnyJson, List};
use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// As the settings spell it.
const SOURCE: &str = "custom";
/// The longest string of a report that is shown.
const MAX_TEXT_LENGTH: usize = 300;
/// The longest verdict or status of a report that is shown.
const MAX_WORD_LENGTH: usize = 80;
/// The longest name of an object in Kubernetes.
const MAX_NAME_LENGTH: usize = 253;

/// Reports of one kind, as one request sees them.
pub(crate) struct CustomObjects<'a> {
    settings: &'a CustomReports,
    /// The workload's namespace.
    workload: &'a str,
    namespaces: Vec<&'a str>,
    objects: Objects<'a>,
    /// What each namespace's list shows, once it was needed.
    lists: BTreeMap<&'a str, Result<Vec<Listed>, HostFailure>>,
    /// The object read last in each namespace: the platforms of an image may all lead to one object.
    last: BTreeMap<&'a str, Read>,
}

/// An object that was requested.
struct Read {
    name: String,
    fields: BTreeSet<String>,
    object: Result<Option<Value>, HostFailure>,
}

/// What a list shows of a report.
struct Listed {
    name: String,
    identity: Identity,
}

impl<'a> CustomObjects<'a> {
    /// The reports that the settings describe, for the images of a workload in `namespace`.
    pub(crate) fn new(settings: &'a CustomReports, host: &'a dyn Host, namespace: &'a str) -> Self {
        Self {
            settings,
            workload: namespace,
            namespaces: settings.namespaces.around(namespace),
            objects: Objects::new(host, &settings.api_version, &settings.kind),
            lists: BTreeMap::new(),
            last: BTreeMap::new(),
        }
    }

    /// What the reports say that a list names.
    fn find_listed(
        &mut self,
        namespace: &'a str,
        selector: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Vec<Statement<'a>> {
        let Self { settings, objects, lists, .. } = self;
        let listed = match lists.entry(namespace).or_insert_with(|| list(objects, settings, namespace, selector)) {
            Ok(listed) => listed,
            Err(failure) => return vec![Statement::look_up_failed(failure)],
        };
        let mut names = Vec::new();
        let mut statements = Vec::new();
        for Listed { name, identity } in listed {
            match identity.whose(wanted, settings) {
                Whose::Wanted | Whose::Doubted(_) => names.push(name.clone()),
                // One is enough to explain why none counts.
                Whose::OtherPlatform(its) if statements.is_empty() => {
                    statements.push(not_of_this_platform(objects.shown(namespace, name), its));
                }
                Whose::OnlyTag if statements.is_empty() => {
                    statements.push(only_of_tag(objects.shown(namespace, name), identity));
                }
                Whose::OtherPlatform(_) | Whose::OnlyTag | Whose::OtherImage => {}
            }
        }
        for name in names {
            // It may have become another image's since the list.
            let statement = self.read(namespace, &name, wanted, judge);
            statements.extend(statement.filter(|statement| !matches!(statement.known, Knowledge::OfAnotherImage(_))));
        }
        statements
    }

    /// What the report of that name says; nothing if there is none.
    fn read(
        &mut self,
        namespace: &'a str,
        name: &str,
        wanted: &WantedPlatform<'_>,
        judge: &Judge<'a>,
    ) -> Option<Statement<'a>> {
        let Self { settings, objects, last, .. } = self;
        let parts = judge.parts(Depth::Entries);
        let mask = asked_for(settings, parts, wanted.max_age.is_some());
        let report = match read_once(last, objects, namespace, name, &mask) {
            Ok(Some(object)) => Report { settings, object },
            Ok(None) => return None,
            Err(failure) => return Some(Statement::look_up_failed(failure)),
        };
        let by = objects.shown(namespace, name);
        if !is_object(report.object, objects.kind(), namespace, name) {
            return Some(Statement::new(by, Knowledge::OfAnotherImage(OtherImage::Unnamed)));
        }
        if let CustomLookup::Selector(selector) = &settings.lookup
            && !is_selected(report.object, selector)
        {
            return None;
        }
        let identity = Identity::of(report.object, &settings.fields);
        let whose = identity.whose(wanted, settings);
        match &whose {
            Whose::Wanted | Whose::Doubted(_) => {}
            Whose::OtherPlatform(its) => return Some(not_of_this_platform(by, its.clone())),
            Whose::OnlyTag => return Some(only_of_tag(by, &identity)),
            Whose::OtherImage => return Some(Statement::new(by, Knowledge::OfAnotherImage(identity.shown()))),
        }
        let mut statement = Statement::new(by, Knowledge::Failed(ScanFailure::Words(String::new())));
        statement.origin = origin(objects, namespace, name);
        statement.first_made = first_made(report.object);
        let findings = match report.error().map_or_else(|| report.findings(parts).map_err(ScanFailure::Unreadable), Err)
        {
            Ok(findings) => findings,
            Err(why) => {
                statement.time = report.time().ok();
                statement.known = Knowledge::Failed(why);
                return Some(statement);
            }
        };
        let mut time_of_explained = None;
        let (time, known) = wanted.hold_to_age(report.time(), || {
            judge_deeper(judge, &findings, |depth| {
                let parts = judge.parts(depth);
                let deeper = asked_for(settings, parts, true);
                // Its own verdict decides, or everything is known already.
                if findings.verdict == Some(OwnVerdict::Fail) {
                    return None;
                }
                if deeper == mask {
                    let excused = || Some(judge.judge_at(depth, &report.findings(parts).ok()?));
                    return if depth == Depth::Excused { excused() } else { None };
                }
                let object = get(objects, namespace, name, &deeper).ok()??;
                let report = Report { settings, object: &object };
                let identity = Identity::of(report.object, &settings.fields);
                if !is_object(report.object, objects.kind(), namespace, name)
                    || identity.whose(wanted, settings) != whose
                    || report.error().is_some()
                {
                    return None;
                }
                let judgement = judge.judge_at(depth, &report.findings(parts).ok()?);
                time_of_explained = report.time().ok();
                Some(judgement)
            })
        });
        // It may have been made from this manifest all the same, so its findings count against the image.
        let is_cleared = matches!(&known, Knowledge::Fresh(judgement) if judgement.verdict == Verdict::Accepted);
        if let Whose::Doubted(platform) = whose
            && is_cleared
        {
            return Some(not_of_this_platform(statement.by, Some(platform)));
        }
        statement.time = time.or(time_of_explained);
        statement.known = known;
        Some(statement)
    }
}

impl<'a> source::Source<'a> for CustomObjects<'a> {
    fn find(&mut self, wanted: &WantedPlatform<'_>, judge: &Judge<'a>) -> Vec<Statement<'a>> {
        let settings = self.settings;
        let mut statements = Vec::new();
        // A namespace that can't be read hides none of the others: one of them may know that the image is bad.
        for namespace in self.namespaces.clone() {
            match &settings.lookup {
                CustomLookup::Name(template) => {
                    for name in computed_names(template, wanted, self.workload) {
                        statements.extend(self.read(namespace, &name, wanted, judge));
                    }
                }
                CustomLookup::Selector(selector) => {
                    statements.extend(self.find_listed(namespace, selector, wanted, judge))
                }
            }
        }
        statements
    }

    fn whereabouts(&self) -> Whereabouts {
        let (kind, namespaces) = (self.settings.kind.clone(), super::cluster::owned(&self.namespaces));
        Whereabouts::Custom { kind, namespaces }
    }
}

/// The names that a template makes for an image, one for each name that reports may have for it.
fn computed_names(template: &str, wanted: &WantedPlatform<'_>, workload: &str) -> Vec<String> {
    let mut names: Vec<String> =
        wanted.names().filter_map(|image| computed_name(template, image, wanted, workload)).collect();
    names.dedup();
    names
}

/// The name that a template makes for an image, if it makes one. A reference without a tag may have none, and an object's name has
/// a maximum length.
///
/// Each inserted value must fit into the name of an object. It is lower-cased, and every character except letters, digits, `-` and
/// `.` (such as the `/`, `:`, `@` and `_` of images) becomes `-`. Different images may so get the same name, so the object itself
/// must say whose it is.
fn computed_name(
    template: &str,
    image: &ImageReference,
    wanted: &WantedPlatform<'_>,
    workload: &str,
) -> Option<String> {
    let (index, platform) = (wanted.image.digest.as_str(), wanted.manifest.digest.as_str());
    let mut name = template.to_owned();
    for placeholder in PLACEHOLDERS.into_iter().filter(|placeholder| template.contains(placeholder)) {
        let value = match placeholder {
            "{digest}" => index,
            "{digestHex}" => hex(index),
            "{platformDigest}" => platform,
            "{platformDigestHex}" => hex(platform),
            "{registry}" => image.host(),
            "{repository}" => image.repository(),
            "{tag}" => image.tag()?,
            "{namespace}" => Some(workload).filter(|workload| !workload.is_empty())?,
            _ => return None,
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let value: String = value.chars().map(|c| if fits(c) { c.to_ascii_lowercase() } else { '-' }).collect();
        name = name.replace(placeholder, &value);
    }
    (name.len() <= MAX_NAME_LENGTH).then_some(name)
}

fn hex(digest: &str) -> &str {
    digest.split_once(':').map_or(digest, |(_, hex)| hex)
}

/// The fields to request of a report: exactly those that the settings need. Its metadata is always returned.
fn asked_for(settings: &CustomReports, parts: Parts, with_time: bool) -> BTreeSet<String> {
    let fields = &settings.fields;
    let mut paths = identity_paths(fields);
    paths.extend([&fields.verdict, &fields.error].into_iter().flatten().cloned());
    paths.extend(fields.time.iter().filter(|_| with_time).cloned());
    paths.extend(fields.end_of_life.iter().filter(|_| parts.system).cloned());
    if let Some(findings) = &fields.findings {
        for (needed, path) in [
            (true, &fields.severity),
            (true, &fields.suppressed),
            (parts.ids, &fields.id),
            (parts.packages, &fields.package),
            (parts.purls, &fields.purl),
            (parts.fixes, &fields.fixed_version),
            (parts.scores, &fields.score),
            (parts.published, &fields.published),
            (parts.exploited, &fields.known_exploited),
            (parts.epss_score, &fields.epss_score),
            (parts.epss_percentile, &fields.epss_percentile),
        ] {
            paths.extend(path.iter().filter(|_| needed).map(|path| format!("{findings}.{path}")));
        }
    }
    as_mask(paths)
}

fn identity_paths(fields: &CustomFields) -> BTreeSet<String> {
    let CustomFields { image, registry, repository, tag, digest, platform, .. } = fields;
    [image, registry, repository, tag, digest, platform].into_iter().flatten().cloned().collect()
}

/// Paths as a field mask. To the host, a path below another one narrows that one. Here the upper path means all of it.
fn as_mask(paths: BTreeSet<String>) -> BTreeSet<String> {
    let is_below = |path: &str, other: &str| path.strip_prefix(other).is_some_and(|rest| rest.starts_with('.'));
    let mut mask: BTreeSet<String> = paths
        .iter()
        .filter(|path| *path != "metadata" && !is_below(path, "metadata"))
        .filter(|path| !paths.iter().any(|other| is_below(path, other)))
        .cloned()
        .collect();
    if mask.is_empty() {
        // Without any path, the host would return the whole object.
        mask.insert("metadata".to_owned());
    }
    mask
}

/// Reads an object, unless it was the last one read in that namespace.
fn read_once<'l, 'a>(
    last: &'l mut BTreeMap<&'a str, Read>,
    objects: &mut Objects<'_>,
    namespace: &'a str,
    name: &str,
    fields: &BTreeSet<String>,
) -> Result<Option<&'l Value>, &'l HostFailure> {
    let read = |objects: &mut Objects<'_>| Read {
        name: name.to_owned(),
        fields: fields.clone(),
        object: get(objects, namespace, name, fields),
    };
    let last = last.entry(namespace).or_insert_with(|| read(objects));
    if last.name != name || last.fields != *fields {
        *last = read(objects);
    }
    last.object.as_ref().map(Option::as_ref)
}

fn get(
    objects: &mut Objects<'_>,
    namespace: &str,
    name: &str,
    fields: &BTreeSet<String>,
) -> Result<Option<Value>, HostFailure> {
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let object = objects.get(namespace, name, &fields)?.map(|document| document.read()).transpose()?;
    Ok(object.map(|AnyJson(object)| object))
}

fn list(
    objects: &mut Objects<'_>,
    settings: &CustomReports,
    namespace: &str,
    selector: &str,
) -> Result<Vec<Listed>, HostFailure> {
    #[derive(Deserialize)]
    struct Listing {
        items: List<AnyJson>,
    }
    let fields = as_mask(identity_paths(&settings.fields));
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let Listing { items: List(items) } =
        objects.list(namespace, Some(selector).filter(|s| !s.is_empty()), &fields)?.read()?;
    let mut listed: Vec<Listed> = items
        .iter()
        .map(|AnyJson(item)| item)
        // An object of another namespace comes from a watch that filters nothing.
        .filter(|item| text_at(item, "metadata.namespace") == Some(namespace))
        .filter(|item| is_selected(item, selector))
        .filter_map(|item| {
            let name = text_at(item, "metadata.name")?.to_owned();
            Some(Listed { name, identity: Identity::of(item, &settings.fields) })
        })
        .collect();
    // The host's lists have no order.
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    listed.dedup_by(|a, b| a.name == b.name);
    Ok(listed)
}

/// Whether an object is the requested one.
fn is_object(object: &Value, kind: &str, namespace: &str, name: &str) -> bool {
    text_at(object, "metadata.namespace") == Some(namespace)
        && text_at(object, "metadata.name") == Some(name)
        && object.get("kind").is_none_or(|of| of == kind)
}

/// Whether an object has the labels that a selector of `key=value` terms requires: a watch may filter nothing.
fn is_selected(object: &Value, selector: &str) -> bool {
    let labels = object.pointer("/metadata/labels");
    selector.split(',').map(str::trim).filter(|term| !term.is_empty()).all(|term| {
        term.split_once('=').is_some_and(|(key, value)| labels.and_then(|l| l.get(key)?.as_str()) == Some(value))
    })
}

fn first_made(object: &Value) -> Option<Timestamp> {
    Timestamp::parse(text_at(object, "metadata.creationTimestamp")?)
}

fn not_of_this_platform(by: String, its: Option<Platform>) -> Statement<'static> {
    let why = match its {
        Some(platform) => NotScanned::OtherPlatform { report: by.clone(), platform },
        None => NotScanned::NoPlatform { report: by.clone() },
    };
    Statement::new(by, Knowledge::NotScanned(why))
}

fn only_of_tag(by: String, identity: &Identity) -> Statement<'static> {
    Statement::new(by, Knowledge::OfAnotherImage(identity.shown().only_by_tag(SOURCE)))
}

/// What a report says about whose it is.
#[derive(Debug, Default)]
struct Identity {
    registry: Option<String>,
    repository: Option<String>,
    tags: Vec<String>,
    digests: Vec<String>,
    platform: OwnPlatform,
}

/// What a report says about its platform.
#[derive(Debug, Default, PartialEq)]
enum OwnPlatform {
    /// Nothing: the settings may say it.
    #[default]
    Unsaid,
    /// A value that is no platform.
    Unreadable,
    Is(Platform),
}

/// Whose a report is.
#[derive(PartialEq)]
enum Whose {
    Wanted,
    /// It names the manifest, but another platform.
    Doubted(Platform),
    /// The image's, but for that other platform, or for an unknown one.
    OtherPlatform(Option<Platform>),
    /// The image's, but it names only the tag, which a setting would accept.
    OnlyTag,
    OtherImage,
}

impl Identity {
    fn of(object: &Value, fields: &CustomFields) -> Self {
        let text = |path: &Option<String>| text_at(object, path.as_deref()?);
        let mut identity = Self::default();
        let image = text(&fields.image);
        if let Some(reference) = image.and_then(|image| ImageReference::parse(image).ok()) {
            identity.registry = Some(reference.host().to_owned());
            identity.repository = Some(reference.repository().to_owned());
            identity.digests.extend(reference.digest().map(str::to_owned));
            // If the tag has a field of its own and is missing there, it is not `latest`.
            let written = image.and_then(|image| image.split('@').next()).unwrap_or_default();
            let tag = reference.tag().filter(|tag| {
                fields.tag.is_none() || written.strip_suffix(*tag).is_some_and(|name| name.ends_with(':'))
            });
            identity.tags.extend(tag.map(str::to_owned));
        }
        if let Some(registry) = text(&fields.registry) {
            identity.registry = Some(registry.to_owned());
        }
        if let Some(repository) = text(&fields.repository) {
            let of_docker_hub = identity.registry.as_deref().is_some_and(is_docker_hub);
            let short = of_docker_hub && !repository.contains('/');
            identity.repository = Some(if short { format!("library/{repository}") } else { repository.to_owned() });
        }
        let tags = texts_at(object, fields.tag.as_deref());
        if !tags.is_empty() {
            identity.tags = tags.into_iter().map(str::to_owned).collect();
        }
        let digests = texts_at(object, fields.digest.as_deref());
        if !digests.is_empty() {
            identity.digests = digests.into_iter().map(normal_digest).collect();
        }
        let mut said = Vec::new();
        visit_at(object, fields.platform.as_deref(), &mut |value| said.push(value));
        said.retain(|value| value.as_str() != Some(""));
        // Of several platforms, it is unknown which was scanned.
        identity.platform = match said.as_slice() {
            [] => OwnPlatform::Unsaid,
            [platform] => platform.as_str().and_then(Platform::parse).map_or(OwnPlatform::Unreadable, OwnPlatform::Is),
            _ => OwnPlatform::Unreadable,
        };
        identity
    }

    fn whose(&self, wanted: &WantedPlatform<'_>, settings: &CustomReports) -> Whose {
        let fields = &settings.fields;
        let is = |own: &&String, digest: &str| own.as_str() == digest;
        let exact = self.digests.iter().find(|own| is(own, &wanted.manifest.digest));
        let digest = exact.or_else(|| self.digests.iter().find(|own| is(own, &wanted.image.digest)));
        let digest = digest.or(self.digests.first());
        let tag = self.tags.iter().find(|own| Some(own.as_str()) == wanted.reference.tag()).or(self.tags.first());
        // If a digest identifies the image, a part that has no field in the settings is not compared.
        let unknown = |field: &Option<String>| digest.is_some() && field.is_none() && fields.image.is_none();
        let (registry, repository) = (self.registry.as_deref(), self.repository.as_deref());
        let is_described = |identity| {
            wanted.names().any(|name| {
                let described = Described {
                    registry: if unknown(&fields.registry) { Some(name.host()) } else { registry },
                    repository: if unknown(&fields.repository) { Some(name.repository()) } else { repository },
                    tag: tag.map(String::as_str),
                    digest: digest.map(String::as_str),
                    platform: wanted.manifest.platform.as_ref(),
                };
                wanted.is_described_by(&described, identity)
            })
        };
        if !is_described(settings.identity) {
            let is_tags = digest.is_none() && is_described(ReportIdentity::Tag);
            return if is_tags { Whose::OnlyTag } else { Whose::OtherImage };
        }
        let platform = match &self.platform {
            OwnPlatform::Is(platform) if exact.is_some() && !wanted.is_platform(Some(platform)) => {
                return Whose::Doubted(platform.clone());
            }
            // The manifest's own digest identifies the platform.
            _ if exact.is_some() => return Whose::Wanted,
            _ if self.digests.iter().any(|own| wanted.is_another_entry(own)) => return Whose::OtherPlatform(None),
            OwnPlatform::Is(platform) => Some(platform),
            OwnPlatform::Unsaid => settings.platform.as_ref(),
            OwnPlatform::Unreadable => None,
        };
        // An index's entry without a platform is identified only by its own digest.
        let is_known = wanted.manifest.platform.is_some() || wanted.stands_alone() || exact.is_some();
        if is_known && wanted.is_platform(platform) { Whose::Wanted } else { Whose::OtherPlatform(platform.cloned()) }
    }
}

impl Identity {
    /// The image that it is about, for messages: `ghcr.io/team/app:1.0@sha256:…`.
    fn shown(&self) -> OtherImage {
        let mut text = String::new();
        let parts = [
            (self.registry.as_ref(), ""),
            (self.repository.as_ref(), "/"),
            (self.tags.first(), ":"),
            (self.digests.first(), "@"),
        ];
        for (part, separator) in parts {
            let Some(part) = part else { continue };
            if !text.is_empty() {
                text.push_str(separator);
            }
            text.push_str(part);
        }
        if text.is_empty() { OtherImage::Unnamed } else { OtherImage::Named(cut(&text, MAX_TEXT_LENGTH)) }
    }
}

fn is_docker_hub(host: &str) -> bool {
    canonical_host(host).is_ok_and(|host| host == "docker.io")
}

/// `sha256:…` of `repository@sha256:…`, `sha256:…` or the hexadecimal digits alone.
fn normal_digest(text: &str) -> String {
    let digest = text.rsplit('@').next().unwrap_or(text);
    let is_bare = digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit());
    if is_bare { format!("sha256:{digest}") } else { digest.to_owned() }
}

/// A report that was read.
#[derive(Clone, Copy)]
struct Report<'v> {
    settings: &'v CustomReports,
    object: &'v Value,
}

impl<'v> Report<'v> {
    /// Why the scan failed, if the report says that it did.
    fn error(self) -> Option<ScanFailure> {
        let path = self.settings.fields.error.as_deref()?;
        let mut failure = None;
        visit(self.object, Some(path), &mut |value| {
            let words = match value {
                Value::String(text) if !text.trim().is_empty() => text.clone(),
                // Any other value is an error, too.
                Value::Bool(true) => format!("`{path}` is true"),
                Value::Number(number) if number.as_f64() != Some(0.0) => format!("`{path}` is {number}"),
                Value::Object(object) if !object.is_empty() => format!("`{path}` is {value}"),
                _ => return,
            };
            failure.get_or_insert(ScanFailure::Words(cut(&words, MAX_TEXT_LENGTH)));
        });
        failure
    }

    /// When it was made.
    fn time(self) -> Result<Timestamp, UnknownAge> {
        let path = self.settings.fields.time.as_deref().ok_or(UnknownAge::NoField)?;
        let mut times = Vec::new();
        visit(self.object, Some(path), &mut |value| {
            if value.as_str() != Some("") {
                times.push(read_time(value).ok_or(value));
            }
        });
        // Of several, the oldest: all parts of the report must be young enough.
        let mut oldest = None;
        for time in times {
            let time = time.map_err(|value| UnknownAge::NoTime {
                path: path.to_owned(),
                value: cut(&value.to_string(), MAX_WORD_LENGTH),
            })?;
            oldest = Some(oldest.map_or(time, |oldest| time.min(oldest)));
        }
        oldest.ok_or_else(|| UnknownAge::Missing { path: path.to_owned() })
    }

    /// Its findings, or why they are unknown.
    fn findings(self, parts: Parts) -> Result<Findings<'v>, UnreadableReport> {
        let CustomFields { verdict, findings, .. } = &self.settings.fields;
        let own = verdict.as_deref().and_then(|path| self.verdict(path));
        let entries = match (&own, findings, verdict) {
            // A verdict that is bad or not understood stays so, whatever else there is.
            (Some(OwnVerdict::Fail | OwnVerdict::Other(_)), ..) | (Some(OwnVerdict::Pass), None, _) => None,
            (_, Some(path), _) => Some(self.entries(path, parts)?),
            (None, None, Some(path)) => return Err(UnreadableReport::PathMissing(path.clone())),
            (None, None, None) => return Err(UnreadableReport::NoField),
        };
        Ok(Findings { summary: None, entries, verdict: own, system: self.system() })
    }

    /// The operating system's state; of several, the worst.
    fn system(self) -> OperatingSystem {
        let mut said = OperatingSystem::Untold;
        visit_at(self.object, self.settings.fields.end_of_life.as_deref(), &mut |value| match value.as_bool() {
            Some(true) => said = OperatingSystem::PastEndOfLife(String::new()),
            Some(false) if said == OperatingSystem::Untold => said = OperatingSystem::Maintained,
            _ => {}
        });
        said
    }

    /// Its own verdict; of several, the worst.
    fn verdict(self, path: &str) -> Option<OwnVerdict> {
        let mut worst: Option<OwnVerdict> = None;
        visit(self.object, Some(path), &mut |value| {
            let verdict = match value {
                Value::String(word) => OwnVerdict::of(word),
                other => OwnVerdict::Other(cut(&other.to_string(), MAX_WORD_LENGTH)),
            };
            let badness = |verdict: &OwnVerdict| match verdict {
                OwnVerdict::Pass => 0,
                OwnVerdict::Other(_) => 1,
                OwnVerdict::Fail => 2,
            };
            if worst.as_ref().is_none_or(|worst| badness(worst) < badness(&verdict)) {
                worst = Some(verdict);
            }
        });
        worst
    }

    fn entries(self, path: &str, parts: Parts) -> Result<Vec<Finding<'v>>, UnreadableReport> {
        let fields = &self.settings.fields;
        let mut entries = Vec::new();
        collect(self.object, Some(path), false, &mut entries).map_err(|wrong| match wrong {
            Wrong::Missing => UnreadableReport::PathLeadsNowhere(path.to_owned()),
            Wrong::NoList => UnreadableReport::PathIsNoList(path.to_owned()),
            Wrong::NoObject => UnreadableReport::PathHasNoObject(path.to_owned()),
        })?;
        if entries.is_empty() && !leads_anywhere(self.object, Some(path)) {
            return Err(UnreadableReport::NothingHas(path.to_owned()));
        }
        // A single finding may lack the field. If all do, the path is wrong, and nothing would ever be too bad.
        for (needed, field) in [(true, &fields.severity), (parts.ids, &fields.id)] {
            let Some(field) = field.as_deref().filter(|_| needed && !entries.is_empty()) else { continue };
            if entries.iter().all(|entry| text_at(entry, field).is_none()) {
                return Err(UnreadableReport::NoFindingHas(field.to_owned()));
            }
        }
        // All scores may be missing, but not the place for them.
        for (needed, field) in [
            (parts.scores, &fields.score),
            (parts.exploited, &fields.known_exploited),
            (parts.epss_score, &fields.epss_score),
            (parts.epss_percentile, &fields.epss_percentile),
        ] {
            if let Some(field) = field.as_deref().filter(|_| needed && !entries.is_empty())
                && !entries.iter().any(|entry| leads_anywhere(entry, Some(field)))
            {
                return Err(UnreadableReport::NoFindingHas(field.to_owned()));
            }
        }
        Ok(entries.into_iter().map(|entry| finding(entry, fields)).collect())
    }
}

/// What is wrong with a path to findings.
enum Wrong {
    /// It leads nowhere.
    Missing,
    /// What it leads to is no list.
    NoList,
    /// A list has an element that can't be an entry.
    NoObject,
}

/// Collects the entries that a path leads to. Up to the first list every key must exist, or a report without any of them would have
/// no findings. In the entries of a list, a missing key means no entries.
fn collect<'v>(value: &'v Value, path: Option<&str>, in_list: bool, entries: &mut Vec<&'v Value>) -> Result<(), Wrong> {
    match (value, path) {
        (Value::Array(items), _) => items.iter().try_for_each(|item| collect(item, path, true, entries)),
        (Value::Object(_), None) if in_list => {
            entries.push(value);
            Ok(())
        }
        (Value::Object(object), Some(path)) => match step(object, path) {
            Some((value, rest)) if !value.is_null() => collect(value, rest, in_list, entries),
            _ if in_list => Ok(()),
            _ => Err(Wrong::Missing),
        },
        _ if in_list => Err(Wrong::NoObject),
        _ => Err(Wrong::NoList),
    }
}

/// Whether a path exists in at least one entry of each list, even if only as null. A scanner that omits empty values looks the same
/// as a path with a misspelt step, after which nothing would ever be found.
fn leads_anywhere(value: &Value, path: Option<&str>) -> bool {
    match (value, path) {
        (Value::Array(items), _) => items.is_empty() || items.iter().any(|item| leads_anywhere(item, path)),
        (Value::Object(object), Some(path)) => {
            step(object, path).is_some_and(|(value, rest)| leads_anywhere(value, rest))
        }
        (Value::Null, _) | (_, None) => true,
        _ => false,
    }
}

fn finding<'v>(entry: &'v Value, fields: &CustomFields) -> Finding<'v> {
    let mut ids = texts_at(entry, fields.id.as_deref()).into_iter().map(JsonString::from);
    let text = |path: &Option<String>| text_at(entry, path.as_deref()?).map(JsonString::from);
    let severities = texts_at(entry, fields.severity.as_deref()).into_iter().map(severity_of);
    let mut fixed_in = None;
    visit_at(entry, fields.fixed_version.as_deref(), &mut |value| {
        let version = match value {
            Value::String(version) => JsonString::from(version.trim()),
            Value::Number(number) => JsonString::from(number.to_string()),
            _ => return,
        };
        if fixed_in.is_none() && !version.as_str().is_empty() {
            fixed_in = Some(version);
        }
    });
    let mut score: Option<f64> = None;
    visit_at(entry, fields.score.as_deref(), &mut |value| {
        if let Some(read) = read_score(value) {
            score = Some(score.map_or(read, |score| score.max(read)));
        }
    });
    // The oldest date: a grace period never begins again.
    let mut published: Option<Timestamp> = None;
    visit_at(entry, fields.published.as_deref(), &mut |value| {
        if let Some(read) = read_time(value) {
            published = Some(published.map_or(read, |published| published.min(read)));
        }
    });
    let mut suppressed: Option<bool> = None;
    visit_at(entry, fields.suppressed.as_deref(), &mut |value| {
        suppressed = Some(suppressed.unwrap_or(true) && value.as_bool() == Some(true));
    });
    let mut exploited: Option<Exploited> = None;
    visit_at(entry, fields.known_exploited.as_deref(), &mut |value| match value.as_bool() {
        Some(true) => exploited = Some(Exploited::Yes { due: None }),
        Some(false) => exploited = exploited.or(Some(Exploited::No)),
        None => {}
    });
    let mut epss = EpssScores::default();
    visit_at(entry, fields.epss_score.as_deref(), &mut |value| epss.add(read_score(value).unwrap_or_default(), 0.0));
    visit_at(entry, fields.epss_percentile.as_deref(), &mut |value| {
        epss.add(0.0, read_score(value).unwrap_or_default())
    });
    Finding {
        exploited,
        epss,
        id: ids.next(),
        aliases: aliases(ids),
        severity: severities.min().unwrap_or(Severity::Unknown),
        package: text(&fields.package),
        purl: text(&fields.purl),
        fixed_in,
        score,
        published,
        known: published,
        suppressed: suppressed.unwrap_or(false),
    }
}

/// A score, as a number or as a string; scanners write zero if they have none.
fn read_score(value: &Value) -> Option<f64> {
    let score = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    (score.is_finite() && score > 0.0).then_some(score)
}

/// A time: RFC 3339, or seconds since the Unix epoch.
fn read_time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => {
            // A number that is too large for a time has another unit.
            number.as_i64().or_else(|| number.as_f64().map(|seconds| seconds as i64)).map(Timestamp)
        }
        Value::String(text) => text.parse().ok().map(Timestamp).or_else(|| Timestamp::parse(text)),
        _ => None,
    }
}

/// The first string at a path that isn't empty.
fn text_at<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    let mut text = None;
    visit(value, Some(path), &mut |value| text = text.or(value.as_str().filter(|text| !text.is_empty())));
    text
}

/// All strings at a path that aren't empty.
fn texts_at<'v>(value: &'v Value, path: Option<&str>) -> Vec<&'v str> {
    let mut texts = Vec::new();
    visit_at(value, path, &mut |value| texts.extend(value.as_str().filter(|text| !text.is_empty())));
    texts
}

/// Like [`visit`], if there is a path.
fn visit_at<'v>(value: &'v Value, path: Option<&str>, see: &mut impl FnMut(&'v Value)) {
    if path.is_some() {
        visit(value, path, see);
    }
}

/// Shows every value that a path leads to, null and lists excepted.
fn visit<'v>(value: &'v Value, path: Option<&str>, see: &mut impl FnMut(&'v Value)) {
    match (value, path) {
        (Value::Null, _) => {}
        (Value::Array(items), _) => items.iter().for_each(|item| visit(item, path, see)),
        (Value::Object(object), Some(path)) => {
            if let Some((value, rest)) = step(object, path) {
                visit(value, rest, see);
            }
        }
        (_, None) => see(value),
        (_, Some(_)) => {}
    }
}

/// One step into an object: the value of the longest prefix of the path that is a key of it, and the rest of the path.
fn step<'v, 'p>(object: &'v Map<String, Value>, path: &'p str) -> Option<(&'v Value, Option<&'p str>)> {
    if let Some(value) = object.get(path) {
        return Some((value, None));
    }
    let mut dots = path.rmatch_indices('.').map(|(at, _)| path.split_at(at));
    dots.find_map(|(key, rest)| Some((object.get(key)?, rest.get(1..))))
}

#[cfg(test)]
mod tests;
