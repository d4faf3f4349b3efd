//! `exempt`: an exemption as people would write it, for the cluster or for the settings.

use std::fmt;
use std::io::{self, Write};

use clap::Args;
use image_admission_image::ImageReference;
use image_admission_settings::{Exemption, ExemptionObject, LintRule, Settings};
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::init::base;
use super::policy::now;
use super::{Ending, warn};

/// The longest name that is made: that of a label's value, which tools make of names.
const MAX_NAME: usize = 63;

const AFTER_HELP: &str = "\
What is written is a manifest of an ImageExemption, which whoever has the right to may apply: the policy believes it where
the setting `exemptionsFrom` names its namespace. With `--settings` it is an entry of the setting `exemptions`.

An image is named as everywhere: `nginx` is `docker.io/library/nginx`. The exemption is about the whole repository, whatever
the tag; about one digest where that is named; and about everything below a name that ends with `/`.

Exit codes:
  0  it was written
  1  it can't be: the error says why

Examples:
  image-admission exempt CVE-2026-1 --for ghcr.io/shop/web --until 2027-01-31 --reason 'not reachable, TICKET-7'
  image-admission exempt CVE-2026-1 --for ghcr.io/shop/ --until 2027-01-31 --reason TICKET-7 --approved-by alice -n shop
  image-admission exempt CVE-2026-1 CVE-2026-2 --for nginx --until 2027-01-31 --reason TICKET-7 --settings";

/// Write an exemption for a finding, as an object or for the settings
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Exempt {
    /// Ids of vulnerabilities; `*` stands for any letters and `?` for any one
    #[arg(value_name = "ID", required = true, value_parser = id)]
    ids: Vec<String>,

    /// The image that it is about. May be repeated
    #[arg(long = "for", value_name = "IMAGE", required = true)]
    images: Vec<String>,

    /// Its last day, in UTC
    #[arg(long, value_name = "DAY")]
    until: String,

    /// Why the findings don't matter; people will read it
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Who approved it
    #[arg(long, value_name = "NAME", conflicts_with = "settings")]
    approved_by: Option<String>,

    /// How the package's URL (purl) starts that it is about. May be repeated
    #[arg(long = "package", value_name = "PURL")]
    packages: Vec<String>,

    /// The only namespace whose workloads it is about, or a glob like `prod-*`. May be repeated
    #[arg(long = "workloads-in", value_name = "NAMESPACE")]
    namespaces: Vec<String>,

    /// It ends as soon as the findings can be fixed
    #[arg(long)]
    until_fixed: bool,

    /// The object's namespace; without it, the one that `kubectl` applies it in
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// The object's name; without it, one that is made of the first id and image
    #[arg(long, value_name = "NAME", conflicts_with = "settings", value_parser = object_name)]
    name: Option<String>,

    /// Write an entry of the setting `exemptions`
    #[arg(long)]
    settings: bool,
}

/// What an object needs to count.
const NEEDS: &str = "# It counts where the policy's setting `exemptionsFrom` names its namespace: `image-admission init --with exemptions`.\n";

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExemptError {
    /// Something isn't what an exemption may say.
    #[error("{0}")]
    Invalid(String),
    /// The manifest can't be written as YAML.
    #[error("the exemption can't be written: {0}")]
    Yaml(#[from] yaml_serde::Error),
    /// The output can't be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

/// An exemption, as the settings and objects spell it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    #[serde(skip_serializing_if = "Option::is_none")]
    vulnerability: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vulnerabilities: Vec<String>,
    images: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    packages: Vec<String>,
    reason: String,
    expires: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    expire_on_fix: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved_by: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Serialize)]
struct Metadata {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

#[derive(Serialize)]
struct Entries {
    exemptions: [Spec; 1],
}

impl Exempt {
    /// Writes the exemption to `output`.
    pub(super) fn execute(&self, output: &mut impl Write) -> Result<Ending, ExemptError> {
        if let (true, Some(namespace)) = (self.settings, &self.namespace) {
            return Err(ExemptError::Invalid(format!(
                "--namespace: an entry of the settings is in no namespace; write `--workloads-in {namespace}` if it is about that one"
            )));
        }
        let spec = self.spec()?;
        let exemption = check(&spec)?;
        if !self.settings {
            bounds(&exemption, spec.approved_by.as_deref(), now()).iter().for_each(|remark| warn(remark));
        }
        let written = if self.settings {
            yaml_serde::to_string(&Entries { exemptions: [spec] })?
        } else {
            let namespace = self.namespace.as_deref().map(namespace_name).transpose()?;
            let name = self.name.clone().unwrap_or_else(|| made_name(&self.ids, &self.images));
            let (api_version, kind) = (ExemptionObject::API_VERSION, ExemptionObject::KIND);
            yaml_serde::to_string(&Manifest { api_version, kind, metadata: Metadata { name, namespace }, spec })?
        };
        if !self.settings {
            output.write_all(NEEDS.as_bytes())?;
        }
        output.write_all(with_quoted_day(&written, &self.until).as_bytes())?;
        output.flush()?;
        Ok(Ending::Done)
    }

    fn spec(&self) -> Result<Spec, ExemptError> {
        let mut images: Vec<String> = Vec::new();
        for image in &self.images {
            let prefixes = prefixes(image).map_err(|why| ExemptError::Invalid(format!("--for `{image}`: {why}")))?;
            images.extend(prefixes.into_iter().filter(|prefix| !images.contains(prefix)).collect::<Vec<_>>());
        }
        let (vulnerability, vulnerabilities) = match self.ids.as_slice() {
            [id] => (Some(id.clone()), Vec::new()),
            ids => (None, ids.to_vec()),
        };
        Ok(Spec {
            vulnerability,
            vulnerabilities,
            images,
            namespaces: self.namespaces.clone(),
            packages: self.packages.clone(),
            reason: self.reason.trim().to_owned(),
            expires: self.until.clone(),
            expire_on_fix: self.until_fixed,
            approved_by: self.approved_by.as_ref().map(|name| name.trim().to_owned()),
        })
    }
}

/// The same with its day in quotes: some parsers of YAML make a date of it, which is no text.
fn with_quoted_day(written: &str, day: &str) -> String {
    let plain = format!("expires: {day}\n");
    match written.rsplit_once(&plain) {
        Some((before, after)) => format!("{before}expires: \"{day}\"\n{after}"),
        None => written.to_owned(),
    }
}

/// How the names of the images start that `--for` names.
fn prefixes(image: &str) -> Result<Vec<String>, Problem> {
    if let Some(folder) = image.strip_suffix('/') {
        // A name below it is one of an image, if it is one of images at all.
        let inside = ImageReference::parse(&format!("{folder}/x")).map_err(|error| Problem(error.to_string()))?;
        let name = inside.name();
        return Ok(vec![name.strip_suffix('x').unwrap_or(&name).to_owned()]);
    }
    let bare = image.strip_suffix([':', '@']).unwrap_or(image);
    let reference = ImageReference::parse(bare).map_err(|error| Problem(error.to_string()))?;
    if let Some(digest) = reference.digest() {
        return Ok(vec![reference.at(digest)]);
    }
    let name = reference.name();
    let has_tag = bare.rsplit('/').next().is_some_and(|last| last.contains(':'));
    if has_tag {
        return Err(Problem(format!(
            "a tag says nothing of an image that is pinned; name the whole repository, `{name}`, or a digest"
        )));
    }
    Ok(vec![format!("{name}:"), format!("{name}@")])
}

/// What is wrong with a word, in words.
struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Asks the settings' own reader about it, and the lint. Returns what the policy would read.
fn check(spec: &Spec) -> Result<Exemption, ExemptError> {
    if spec.approved_by.as_ref().is_some_and(String::is_empty) {
        return Err(ExemptError::Invalid("--approved-by: say who".to_owned()));
    }
    let mut entry = json!(spec);
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("approvedBy");
    }
    let settings = Settings::read(&json!({"exemptions": [entry]})).map_err(|problems| {
        ExemptError::Invalid(problems.0.iter().map(|problem| in_options(problem)).collect::<Vec<_>>().join("\n"))
    })?;
    for remark in settings.lint(now(), None).iter().filter(|remark| remark.path.starts_with("exemptions")) {
        let said = in_options(&remark.to_string());
        // It would exempt nothing.
        if remark.rule == LintRule::ExemptionEnded {
            return Err(ExemptError::Invalid(said));
        }
        warn(&said);
    }
    // A reader that had no problem has read the only entry.
    settings.exemptions.into_iter().next().ok_or_else(|| ExemptError::Invalid("nothing is exempted".to_owned()))
}

/// What exceeds the bounds of the component `exemptions`, which most clusters have that believe objects at all.
fn bounds(exemption: &Exemption, approved_by: Option<&str>, now: Timestamp) -> Vec<String> {
    let Some(component) = base::exemptions_from() else { return Vec::new() };
    let max_duration = component.max_duration.filter(|longest| exemption.expires.is_day_beyond(longest, now));
    let late = max_duration.map(|longest| {
        format!("--until: it is more than {longest} away, so `exemptionsFrom.maxDuration` of the component `exemptions` doesn't let it count; take an earlier day")
    });
    let is_unapproved = component.require_approved_by && approved_by.is_none();
    let unapproved = is_unapproved.then(|| {
        "--approved-by: it is missing, so `exemptionsFrom.requireApprovedBy` of the component `exemptions` doesn't let it count; say who approved it".to_owned()
    });
    late.into_iter().chain(unapproved).collect()
}

/// What is said of an entry of the settings, by the options that it was made of.
fn in_options(text: &str) -> String {
    let rest = text.strip_prefix("exemptions[0]").unwrap_or(text);
    let Some((key, problem)) = rest.strip_prefix('.').and_then(|rest| rest.split_once(": ")) else {
        return rest.trim_start_matches([':', ' ']).to_owned();
    };
    let (key, _) = key.split_once('[').unwrap_or((key, ""));
    let option = match key {
        "images" => "--for",
        "namespaces" => "--workloads-in",
        "packages" => "--package",
        "reason" => "--reason",
        "expires" => "--until",
        other => other,
    };
    format!("{option}: {problem}")
}

/// A name for the object that says what it is about, so that two of them are seldom the same.
fn made_name(ids: &[String], images: &[String]) -> String {
    let id = ids.first().map_or("", String::as_str);
    let image = images.first().map_or("", String::as_str);
    let (image, _) = image.split_once('@').unwrap_or((image, ""));
    let image = image.trim_end_matches(['/', ':']).rsplit('/').next().unwrap_or_default();
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut name: String = format!("{id}-{image}").chars().map(word).collect();
    while name.contains("--") {
        name = name.replace("--", "-");
    }
    let name: String = name.trim_matches('-').chars().take(MAX_NAME).collect();
    match name.trim_matches('-') {
        "" => "exemption".to_owned(),
        name => name.to_owned(),
    }
}

/// The id of a vulnerability, or a glob of some.
fn id(text: &str) -> Result<String, String> {
    let is_id =
        text.contains('-') && text.bytes().any(|byte| byte.is_ascii_digit()) && !text.contains(char::is_whitespace);
    if is_id || text.contains(['*', '?']) {
        return Ok(text.to_owned());
    }
    Err("that is no id of a vulnerability, such as `CVE-2026-1` or `GHSA-2c4m-59x9-fr2g`".to_owned())
}

fn object_name(text: &str) -> Result<String, String> {
    let is_name = text.len() <= 253 && text.split('.').all(is_label);
    if is_name { Ok(text.to_owned()) } else { Err("use small letters, digits, `-` and `.`".to_owned()) }
}

fn namespace_name(text: &str) -> Result<String, ExemptError> {
    let is_name = text.len() <= MAX_NAME && is_label(text);
    let no_name = || ExemptError::Invalid(format!("--namespace `{text}`: it is not the name of a namespace"));
    if is_name { Ok(text.to_owned()) } else { Err(no_name()) }
}

/// A part of a name, as Kubernetes has them.
fn is_label(text: &str) -> bool {
    let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.starts_with(is_edge) && text.ends_with(is_edge) && text.chars().all(|c| is_edge(c) || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_as_everywhere() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let by_digest = format!("ghcr.io/shop/web@{digest}");
        for (image, expected) in [
            ("ghcr.io/shop/web", vec!["ghcr.io/shop/web:", "ghcr.io/shop/web@"]),
            ("ghcr.io/shop/web:", vec!["ghcr.io/shop/web:", "ghcr.io/shop/web@"]),
            ("ghcr.io/shop/web@", vec!["ghcr.io/shop/web:", "ghcr.io/shop/web@"]),
            ("nginx", vec!["docker.io/library/nginx:", "docker.io/library/nginx@"]),
            ("ghcr.io/shop/", vec!["ghcr.io/shop/"]),
            ("GHCR.io/", vec!["ghcr.io/"]),
            ("localhost:5000/web", vec!["localhost:5000/web:", "localhost:5000/web@"]),
            (&by_digest, vec![&by_digest]),
        ] {
            assert_eq!(
                prefixes(image).map_err(|why| why.0),
                Ok(expected.into_iter().map(str::to_owned).collect()),
                "{image}"
            );
        }
        for image in ["ghcr.io/shop/web:1.0", "", "/", "https://ghcr.io/shop/", "ghcr.io/Shop/web"] {
            assert!(prefixes(image).is_err(), "{image}");
        }
    }

    #[test]
    fn bounds_of_the_component_are_told() {
        let spec = |until: &str| Spec {
            vulnerability: Some("CVE-2026-1".to_owned()),
            vulnerabilities: Vec::new(),
            images: vec!["ghcr.io/shop/web@".to_owned()],
            namespaces: Vec::new(),
            packages: Vec::new(),
            reason: "TICKET-7".to_owned(),
            expires: until.to_owned(),
            expire_on_fix: false,
            approved_by: None,
        };
        let start = Timestamp::parse("2999-01-01T12:00:00Z").unwrap();
        let said = |until: &str, approved_by: Option<&str>| -> Vec<String> {
            let exemption = check(&spec(until)).map_err(|error| error.to_string()).unwrap();
            let options = bounds(&exemption, approved_by, start);
            options.iter().map(|remark| remark.split_once(':').unwrap().0.to_owned()).collect()
        };
        assert_eq!(said("2999-01-31", Some("alice")), [""; 0]);
        assert_eq!(said("2999-02-01", Some("alice")), ["--until"]);
        assert_eq!(said("2999-02-01", None), ["--until", "--approved-by"]);
        assert_eq!(said("2999-01-31", None), ["--approved-by"]);
    }

    #[test]
    fn names_say_what_it_is_about() {
        for (id, image, name) in [
            ("CVE-2026-1", "ghcr.io/shop/web", "cve-2026-1-web"),
            ("CVE-2026-1", "ghcr.io/shop/web:", "cve-2026-1-web"),
            ("GHSA-*", "ghcr.io/shop/", "ghsa-shop"),
            ("CVE-2026-1", "nginx@sha256:abc", "cve-2026-1-nginx"),
            ("*", "/", "exemption"),
        ] {
            assert_eq!(made_name(&[id.to_owned()], &[image.to_owned()]), name);
            assert!(object_name(name).is_ok());
        }
        assert!(made_name(&["x".repeat(80)], &["y".to_owned()]).len() <= MAX_NAME);
    }
}
