//! Kinds and resources, as settings name them. A name is refused if no API server can send it and it misspells another one: a
//! policy about it would never be asked, and nobody would notice.

pub(super) mod kubernetes;

use super::read::{Path, Problems};
use super::verification::ResourceRule;
use image_admission_image::workload::WorkloadKind;
use kubernetes::{BuiltinKind, KINDS, differs_by_one_letter, is_crd_group, is_own_group, is_version, misspelt};
use std::fmt;

/// A kind that a policy judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KindPattern {
    /// `*`
    Any,
    /// `Workload`: every kind that carries a pod spec.
    Workload,
    /// `Kind`, `group/Kind`, `group/version/Kind`, or `v1/Kind` of the core group, which is also `core` or empty.
    Kind {
        /// The group; none: any.
        group: Option<String>,
        /// The version; none: any.
        version: Option<String>,
        /// The kind.
        kind: String,
    },
}

/// The name for every kind with a pod spec.
const WORKLOAD: &str = "Workload";

impl KindPattern {
    /// Reads what the settings say.
    ///
    /// # Errors
    /// Why no policy for it would ever be asked, and what may be meant.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some(pattern) = Self::of_form(text) else {
            return Err(match meant(text) {
                Some(meant) => format!("`{text}` is no kind; did you mean `{meant}`?"),
                None => format!("`{text}` is no kind; write it like `Pod`, `apps/Deployment`, `Workload` or `*`"),
            });
        };
        let Self::Kind { group, version, kind } = &pattern else { return Ok(pattern) };
        let Some(why) = Unserved::find(group.as_deref(), version.as_deref(), kind) else { return Ok(pattern) };
        let spelt = |own: &BuiltinKind| spelt(own, group.is_some(), version.as_deref());
        let meant = match why {
            Unserved::Misspelt(own) => spelt(own),
            Unserved::Workload => WORKLOAD.to_owned(),
            Unserved::Elsewhere(own) => {
                return Err(format!("Kubernetes serves no `{text}`; did you mean `{}`?", spelt(own)));
            }
            Unserved::Nowhere => {
                return Err(format!(
                    "Kubernetes serves no `{text}`; write a CRD's kind with the group of the CRD, like `example.com/{kind}`"
                ));
            }
        };
        let of_crd = match group {
            None => format!(" (a CRD's kind of that name needs its group, `example.com/{kind}`)"),
            Some(_) => String::new(),
        };
        Err(format!("`{text}` is no kind; did you mean `{meant}`?{of_crd}"))
    }

    /// The pattern that a string has the form of.
    fn of_form(text: &str) -> Option<Self> {
        match text.split('/').collect::<Vec<_>>().as_slice() {
            ["*"] => Some(Self::Any),
            [WORKLOAD] => Some(Self::Workload),
            [.., kind] if !is_kind(kind) => None,
            [kind] => Some(Self::kind(None, None, kind)),
            [version, kind] if is_version(version) => Some(Self::kind(Some(""), Some(version), kind)),
            [group, kind] => Some(Self::kind(Some(group_name(group)?), None, kind)),
            [group, version, kind] if is_label(version) => {
                Some(Self::kind(Some(group_name(group)?), Some(version), kind))
            }
            _ => None,
        }
    }

    fn kind(group: Option<&str>, version: Option<&str>, kind: &str) -> Self {
        Self::Kind { group: group.map(str::to_owned), version: version.map(str::to_owned), kind: kind.to_owned() }
    }

    /// Whether a policy for this judges objects of a kind.
    #[must_use]
    pub fn matches(&self, group: &str, version: &str, kind: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Workload => WorkloadKind::of(group, kind).is_some(),
            Self::Kind { group: of_group, version: of_version, kind: of_kind } => {
                of_kind == kind
                    && of_group.as_deref().is_none_or(|of| of == group)
                    && of_version.as_deref().is_none_or(|of| of == version)
            }
        }
    }
}

/// As the settings spell it.
impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Workload => f.write_str(WORKLOAD),
            Self::Kind { group, version, kind } => {
                let group = match (group.as_deref(), version) {
                    (Some(""), Some(_)) => None,
                    (Some(""), None) => Some("core"),
                    (group, _) => group,
                };
                for part in [group, version.as_deref()].into_iter().flatten() {
                    write!(f, "{part}/")?;
                }
                f.write_str(kind)
            }
        }
    }
}

/// Why the API server sends no objects of a kind.
enum Unserved {
    /// It is the misspelt name of another kind.
    Misspelt(&'static BuiltinKind),
    /// It is a misspelt `Workload`.
    Workload,
    /// Another group or version has the kind.
    Elsewhere(&'static BuiltinKind),
    /// No CRD can have the group, and the group never had the kind.
    Nowhere,
}

impl Unserved {
    fn find(group: Option<&str>, version: Option<&str>, kind: &str) -> Option<Self> {
        let is_of_group = |own: &&BuiltinKind| group.is_none_or(|group| group == own.group);
        let named = || KINDS.iter().filter(|own| own.kind == kind);
        if named().filter(is_of_group).any(|own| version.is_none_or(|version| own.is_served_in(version))) {
            return None;
        }
        let is_closed = group.is_none_or(|group| !group.contains('.'));
        let workload = || (is_closed && is_like_workload(kind)).then_some(Self::Workload);
        let misspelt = misspelt(kind, group).map(Self::Misspelt).or_else(workload);
        let Some(group) = group else { return misspelt };
        if is_crd_group(group) {
            return named().find(|own| differs_by_one_letter(own.group, group)).map(Self::Elsewhere);
        }
        let elsewhere = named().find(is_of_group).or_else(|| named().next()).map(Self::Elsewhere);
        // Groups without a dot get no new kinds. Other groups may, with every release.
        elsewhere.or(misspelt).or_else(|| is_closed.then_some(Self::Nowhere))
    }
}

/// Whether a name is a spelling of `Workload`.
fn is_like_workload(name: &str) -> bool {
    [WORKLOAD, "Workloads"].iter().any(|own| own.eq_ignore_ascii_case(name) || differs_by_one_letter(own, name))
}

/// Whether a string has the form of a kind's name.
fn is_kind(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn is_label(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// The group that a string names, if it can be a group's name.
fn group_name(written: &str) -> Option<&str> {
    let written = if written == "core" { "" } else { written };
    (written.is_empty() || written.split('.').all(is_label)).then_some(written)
}

/// A kind written as a pattern: with the group and the version where they were written.
fn spelt(own: &BuiltinKind, has_group: bool, version: Option<&str>) -> String {
    let group = Some(own.group).filter(|_| has_group || version.is_some());
    let version =
        version.and_then(|version| own.versions.iter().find(|own| **own == version).or_else(|| own.versions.first()));
    KindPattern::kind(group, version.copied(), own.kind).to_string()
}

/// The kind that a string of another form may mean: `pods`, `deployments.apps`, `Pod/exec`, `*/*`.
fn meant(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('/').filter(|part| *part != "*").collect();
    if parts.is_empty() {
        return Some("*".to_owned());
    }
    let version = parts.iter().find(|part| is_version(part)).copied();
    // A kind stands after its group and before its subresource. A resource stands before its group.
    parts.iter().enumerate().rev().find_map(|(position, part)| {
        let (name, behind) = part.split_once('.').map_or((*part, None), |(name, group)| (name, Some(group)));
        if is_like_workload(name) {
            return Some(WORKLOAD.to_owned());
        }
        let own = misspelt(name, behind.or(parts.first().copied()))?;
        let of_subresource = parts.get(position + 1).and_then(|sub_resource| {
            let is_meant = |of: &&BuiltinKind| of.resource.split_once('/') == Some((own.resource, sub_resource));
            KINDS.iter().find(is_meant)
        });
        Some(spelt(of_subresource.unwrap_or(own), position > 0 || behind.is_some(), version))
    })
}

/// Reports an `apiVersion` and `kind` to be read from the cluster that no API server has.
pub(super) fn check_object(api_version: &str, kind: &str, path: Path<'_>, problems: &mut Problems) {
    let parts = match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] if is_version(version) => Some(("", *version)),
        [group, version] if !group.is_empty() && group.split('.').all(is_label) && is_label(version) => {
            Some((*group, *version))
        }
        _ => None,
    };
    if parts.is_none() {
        problems
            .add(path.key("apiVersion"), format!("`{api_version}` is no API version; write it like `v1` or `apps/v1`"));
    }
    if !is_kind(kind) {
        let help = match misspelt(kind, parts.map(|(group, _)| group)) {
            Some(own) => format!("did you mean `{}`?", own.kind),
            None => "write it like `Pod`".to_owned(),
        };
        problems.add(path.key("kind"), format!("`{kind}` is no kind; {help}"));
        return;
    }
    let Some((group, version)) = parts else { return };
    // Only a misspelt kind is refused here. The look-up of any other unknown kind fails and rejects.
    if let Some(Unserved::Misspelt(own) | Unserved::Elsewhere(own)) = Unserved::find(Some(group), Some(version), kind) {
        let (meant, own_kind) = (own.api_version(), own.kind);
        problems.add(
            path,
            format!(
                "Kubernetes serves no `{kind}` in `{api_version}`; did you mean `{{apiVersion: {meant}, kind: {own_kind}}}`?"
            ),
        );
    }
}

/// The subresources of Pods that a rule may name.
const OF_PODS: [&str; 10] =
    ["attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy", "resize", "status"];

/// The resources of a rule that no API server has in the rule's groups and versions: the key to change, and what is wrong.
pub(super) fn misnamed_resources(rule: &ResourceRule) -> Vec<(&'static str, String)> {
    rule.resources.iter().filter_map(|written| misnamed(rule, written)).collect()
}

fn misnamed(rule: &ResourceRule, written: &str) -> Option<(&'static str, String)> {
    let is_any = |list: &[String]| list.is_empty() || list.iter().any(|own| own == "*");
    let has_crds = rule.groups.iter().any(|group| is_crd_group(group));
    let may_be_of_crd = has_crds || is_any(&rule.groups);
    // Groups without a dot get no new kinds.
    let is_closed = !is_any(&rule.groups) && rule.groups.iter().all(|group| !group.contains('.'));
    let groups = || rule.groups.iter().map(|group| format!("`{group}`")).collect::<Vec<_>>().join(" or ");
    let (resource, sub_resource) = written.split_once('/').unwrap_or((written, ""));
    if resource == "*" {
        let is_served = !is_closed || rule.groups.iter().any(|group| is_own_group(group));
        return (!is_served).then(|| ("apiGroups", format!("Kubernetes serves nothing in the group {}", groups())));
    }
    if resource == "pods"
        && let Some(own) = OF_PODS.iter().find(|own| differs_by_one_letter(own, sub_resource))
    {
        return Some(("resources", format!("`{written}` is no resource; did you mean `pods/{own}`?")));
    }
    let served = || KINDS.iter().filter(|own| own.resource == resource);
    if let Some(own) = served().find(|own| is_any(&rule.groups) || rule.groups.iter().any(|group| group == own.group)) {
        let is_served = is_any(&rule.versions) || rule.versions.iter().any(|version| own.is_served_in(version));
        return (!is_served && !may_be_of_crd).then(|| {
            let versions = own.versions.join(", ");
            ("apiVersions", format!("`{resource}` are served in {versions}, so that this would match none of them"))
        });
    }
    if let Some(own) = served().next() {
        return (!may_be_of_crd).then(|| {
            let group = own.group;
            ("apiGroups", format!("`{resource}` are in the group `{group}`, so that this would match none of them"))
        });
    }
    let is_form = is_label(resource);
    let name = resource.split('.').next().filter(|_| !is_form || !has_crds);
    let own = name.and_then(|name| misspelt(name, rule.groups.first().map(String::as_str)));
    let why = match own {
        Some(own) => format!("`{written}` is no resource; did you mean `{}`?", own.resource),
        None if !is_form => {
            format!("`{written}` is no resource; write it like `pods` or `pods/ephemeralcontainers`")
        }
        None if is_closed => format!("Kubernetes serves no `{resource}` in the group {}", groups()),
        None => return None,
    };
    Some(("resources", why))
}

/// The resource of a kind, as Kubernetes forms it: `ingresses` for `Ingress`, `networkpolicies` for `NetworkPolicy`.
#[must_use]
pub fn plural(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    let before_y = singular.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u']));
    match before_y {
        _ if singular.ends_with("endpoints") => singular,
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with(['s', 'x', 'z']) || singular.ends_with("ch") || singular.ends_with("sh") => {
            format!("{singular}es")
        }
        None => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests;
