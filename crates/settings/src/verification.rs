//! `imageVerification`: policies about signatures and attestations of images. They have the shape of the ImageVerificationPolicy
//! that Kyverno's design proposes, or the spelling that it shipped with.

use super::Glob;
use super::attestors::{self, Attestor};
use super::is_empty;
use super::kinds;
use super::read::{Choice, Path, Problems, SettingsMap};
use super::refused;
use super::repository::{self, ArtifactRepository};
use image_admission_image::ImageList;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;

/// The default lists of images; a policy's own list of the same name adds to one.
pub const IMAGE_LISTS: [&str; 5] = [
    ImageList::Container.in_expressions(),
    ImageList::Init.in_expressions(),
    ImageList::Ephemeral.in_expressions(),
    ImageList::Volume.in_expressions(),
    "all",
];

/// The most policies.
const MAX_POLICIES: usize = 50;

/// One policy of `imageVerification`.
#[derive(Debug, Clone)]
pub struct VerificationPolicy {
    /// What messages call it.
    pub name: String,
    /// Where it stands in the settings, `imageVerification[0]`.
    pub path: String,
    /// Which requests it is about; empty: every object that names images.
    pub resource_rules: Vec<ResourceRule>,
    /// `matchConditions`: it is about a request only when all of them hold.
    pub conditions: Vec<NamedExpression>,
    /// Which images it is about.
    pub images_matched: ImageRules,
    /// `images`: lists of images beside those of the pod spec.
    pub images: Vec<NamedExpression>,
    /// `variables`, in the order in which they are evaluated.
    pub variables: Vec<NamedExpression>,
    /// Who may vouch for an image; several identities of one attestor have the same name.
    pub attestors: Vec<Attestor>,
    /// The names of all attestors, including those that can't be used.
    pub attestor_names: BTreeSet<String>,
    /// What may be attested of an image.
    pub attestations: Vec<Attestation>,
    /// What must hold.
    pub verifications: Vec<Verification>,
    /// What becomes of a request that fails one of them.
    pub action: FailureAction,
    /// `failurePolicy: Ignore`: outages are ignored, with a warning. Whatever else can't be decided rejects.
    pub ignores_errors: bool,
    /// Whether its images are pinned, where the scan phase doesn't judge them.
    pub mutate_digest: bool,
    /// Whether an image that is not pinned must have a digest.
    pub verify_digest: bool,
    /// Whether it also verifies images that pre-scan accepts.
    pub verify_pre_scan_accepted: bool,
    /// What becomes of the images that an update doesn't change.
    pub existing_images: ExistingImages,
    /// `auditAnnotations`: what it writes into the audit log, by key.
    pub audit_annotations: Vec<NamedExpression>,
}

impl VerificationPolicy {
    /// Every expression of the policy.
    pub fn expressions(&self) -> Vec<&Expression> {
        let named = [&self.conditions, &self.images, &self.variables, &self.audit_annotations];
        let verifications = self.verifications.iter();
        let named = named.into_iter().flatten().map(|named| &named.expression);
        named
            .chain(&self.images_matched.expressions)
            .chain(verifications.flat_map(|own| [Some(&own.expression), own.message_expression.as_ref()]).flatten())
            .collect()
    }

    /// The expressions that decide: all but those of messages and audit annotations.
    pub fn deciding_expressions(&self) -> impl Iterator<Item = &Expression> {
        let named = [&self.conditions, &self.images, &self.variables].into_iter().flatten();
        let verifications = self.verifications.iter().map(|own| &own.expression);
        named.map(|named| &named.expression).chain(&self.images_matched.expressions).chain(verifications)
    }
}

/// A CEL expression and where it stands in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The path in the settings.
    pub path: String,
    /// The expression.
    pub text: String,
}

/// An expression with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedExpression {
    /// Its name, or its key.
    pub name: String,
    /// The expression.
    pub expression: Expression,
}

/// One entry of `verifications`, or `validations`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// What must be true.
    pub expression: Expression,
    /// The message when it isn't.
    pub message: Option<String>,
    /// An expression for it.
    pub message_expression: Option<Expression>,
}

/// What becomes of a request that fails a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureAction {
    /// It is rejected.
    Enforce,
    /// It is admitted with a warning.
    Warn,
    /// It is admitted, and the audit annotations say so.
    Audit,
}

impl Choice for FailureAction {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("Enforce", Self::Enforce), ("Audit", Self::Audit), ("Warn", Self::Warn)];
}

/// As the settings spell it.
impl fmt::Display for FailureAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Enforce => "Enforce",
            Self::Warn => "Warn",
            Self::Audit => "Audit",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailurePolicy {
    Fail,
    Ignore,
}

impl Choice for FailurePolicy {
    const CHOICES: &'static [(&'static str, Self)] = &[("Fail", Self::Fail), ("Ignore", Self::Ignore)];
}

/// What becomes of the images that an update leaves as they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), serde(rename_all = "camelCase"))]
pub enum ExistingImages {
    /// They are in no list. An update without new images makes no look-up.
    #[default]
    Skip,
    /// They are judged like new ones: what already runs may be rejected.
    Judge,
}

impl Choice for ExistingImages {
    const CHOICES: &'static [(&'static str, Self)] = &[("skip", Self::Skip), ("judge", Self::Judge)];
}

/// One entry of `matchConstraints.resourceRules`, as in Kubernetes' ValidatingAdmissionPolicy. A list that is empty or
/// has a `*` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceRule {
    /// API groups; an empty string is the core group.
    pub groups: Vec<String>,
    /// Their versions.
    pub versions: Vec<String>,
    /// `CREATE`, `UPDATE`, …
    pub operations: Vec<String>,
    /// `pods`, `pods/ephemeralcontainers`, `*/*`
    pub resources: Vec<String>,
    /// Names of objects.
    pub names: Vec<String>,
}

/// Which images a policy is about: those that a glob or an expression matches. Without both, all images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageRules {
    /// Patterns for names of images.
    pub globs: Vec<Glob>,
    /// Expressions over `ref`, the image as the object names it.
    pub expressions: Vec<Expression>,
}

/// Something that may be attested of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestation {
    /// Its name in expressions.
    pub name: String,
    /// What it must be.
    pub kind: AttestationKind,
    /// Where it is: at the tag `sha256-<hex>.<suffix>`; none: among the image's referrers.
    pub tag_suffix: Option<String>,
    /// Its repository, unless it is the image's own.
    pub repository: Option<ArtifactRepository>,
}

/// What an attestation must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttestationKind {
    /// An in-toto statement with this predicate type, in an envelope.
    InToto(String),
    /// An artifact of this type.
    Referrer(String),
}

/// Reads `imageVerification`.
pub(super) fn read(settings: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<VerificationPolicy> {
    const KEY: &str = "imageVerification";
    let path = settings.path().key(KEY);
    let entries = settings.list(KEY, problems).unwrap_or_default();
    if entries.len() > MAX_POLICIES {
        problems.add(path, format!("{} policies are too many, {MAX_POLICIES} are the most", entries.len()));
    }
    let mut policies: Vec<VerificationPolicy> = Vec::new();
    for (position, value) in entries.iter().enumerate() {
        let path = path.position(position);
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        let Some(policy) = read_entry(&map, problems) else { continue };
        if policies.iter().any(|other| other.name == policy.name) {
            problems.add(path, format!("the name `{}` is taken; messages tell policies apart by it", policy.name));
        }
        policies.push(policy);
    }
    policies
}

/// A policy of the settings, or a whole Kyverno resource with the policy as its `spec`.
fn read_entry(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Option<VerificationPolicy> {
    if !map.has("spec") {
        let name = map.text("name", problems).unwrap_or_default();
        return read_policy(map, name, problems);
    }
    map.known(&["apiVersion", "kind", "metadata", "spec", "status"], &[], problems);
    if let Some(kind) = map.text("kind", problems)
        && !["ImageVerificationPolicy", "ImageValidatingPolicy"].contains(&kind)
    {
        problems
            .add(map.path().key("kind"), format!("`{kind}` is none of ImageVerificationPolicy, ImageValidatingPolicy"));
    }
    let metadata = map.path().key("metadata");
    let name = SettingsMap::of(map.get("metadata"), &metadata, problems)?.text("name", problems).unwrap_or_default();
    let path = map.path().key("spec");
    let spec = SettingsMap::of(map.get("spec"), &path, problems)?;
    if spec.has("name") {
        problems.add(path.key("name"), "a resource has its name in `metadata`; remove this one");
    }
    read_policy(&spec, name, problems)
}

const POLICY_KEYS: [&str; 21] = [
    "name",
    "matchConstraints",
    "matchConditions",
    "matchImageReferences",
    "images",
    "variables",
    "attestors",
    "attestations",
    "verifications",
    "validations",
    "failureAction",
    "validationActions",
    "failurePolicy",
    "mutateDigest",
    "validationConfigurations",
    "auditAnnotations",
    "verifyPreScanAccepted",
    "existingImages",
    "evaluation",
    "webhookConfiguration",
    "credentials",
];

fn read_policy(map: &SettingsMap<'_, '_>, name: &str, problems: &mut Problems) -> Option<VerificationPolicy> {
    let path = map.path();
    map.known(&POLICY_KEYS, &refused::VERIFICATION, problems);
    if name.is_empty() {
        problems.add(path.key("name"), "name the policy: messages say which one failed");
    }
    for (key, why) in [
        ("webhookConfiguration", "set `timeoutEvalSeconds` of the ClusterAdmissionPolicy"),
        ("credentials", "the policy server holds the registries' credentials"),
    ] {
        if map.has(key) {
            problems.add(path.key(key), format!("`{key}` has no meaning here: {why}; remove it"));
        }
    }
    read_evaluation(map, problems);
    let constraints_path = path.key("matchConstraints");
    let constraints = SettingsMap::of(map.get("matchConstraints"), &constraints_path, problems)?;
    constraints.known(
        &["resourceRules", "imageRules", "matchPolicy", "namespaceSelector", "objectSelector", "excludeResourceRules"],
        &refused::CONSTRAINTS,
        problems,
    );
    for key in ["namespaceSelector", "objectSelector", "excludeResourceRules"] {
        // An empty selector selects everything, and Kubernetes writes it out.
        if constraints.get(key).is_some_and(|value| !is_empty(value)) {
            problems.add(
                constraints.path().key(key),
                format!(
                    "`{key}` is not supported: set the ClusterAdmissionPolicy's, or write a `matchConditions` entry"
                ),
            );
        }
    }
    let (mutate_digest, verify_digest) = read_digests(map, problems);
    let attestors = attestors::read(map, "attestors", problems);
    unique(map, "attestors", problems);
    let all = map.get("attestors").and_then(Value::as_array).into_iter().flatten();
    let attestor_names = all.filter_map(|attestor| attestor.get("name")?.as_str()).map(str::to_owned).collect();
    Some(VerificationPolicy {
        name: name.to_owned(),
        path: path.text(),
        resource_rules: read_resource_rules(&constraints, problems),
        conditions: read_named(map, "matchConditions", "name", "expression", problems),
        images_matched: read_image_rules(map, &constraints, problems),
        images: read_named(map, "images", "name", "expression", problems),
        variables: read_named(map, "variables", "name", "expression", problems),
        attestors,
        attestor_names,
        attestations: read_attestations(map, problems),
        verifications: read_verifications(map, problems),
        action: read_action(map, problems),
        ignores_errors: map.choice("failurePolicy", FailurePolicy::Fail, problems) == FailurePolicy::Ignore,
        mutate_digest,
        verify_digest,
        verify_pre_scan_accepted: map.boolean("verifyPreScanAccepted", false, problems),
        existing_images: map.choice("existingImages", ExistingImages::default(), problems),
        audit_annotations: read_named(map, "auditAnnotations", "key", "valueExpression", problems),
    })
}

/// `evaluation`: every policy here has `mode: Kubernetes`.
fn read_evaluation(map: &SettingsMap<'_, '_>, problems: &mut Problems) {
    let path = map.path().key("evaluation");
    let Some(evaluation) = SettingsMap::of(map.get("evaluation"), &path, problems) else { return };
    evaluation.known(&["mode", "admission", "background"], &[], problems);
    if let Some(mode) = evaluation.text("mode", problems).filter(|mode| *mode != "Kubernetes") {
        problems.add(path.key("mode"), format!("`{mode}` is not a choice here; requests are Kubernetes'"));
    }
}

/// `mutateDigest` of the proposal, or `validationConfigurations`, whose switches are on by default. They say whether images are
/// pinned, and whether unpinned images must have a digest. `required` asks for an evaluation, which always happens.
fn read_digests(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> (bool, bool) {
    const KEY: &str = "validationConfigurations";
    let path = map.path().key(KEY);
    let Some(configurations) = SettingsMap::of(map.get(KEY), &path, problems) else { return (true, false) };
    configurations.known(&["mutateDigest", "verifyDigest", "required"], &[], problems);
    configurations.boolean("required", true, problems);
    let verify = configurations.boolean("verifyDigest", map.has(KEY), problems);
    let own = map.boolean("mutateDigest", true, problems);
    let shipped = configurations.boolean("mutateDigest", own, problems);
    if map.has("mutateDigest") && configurations.has("mutateDigest") && own != shipped {
        problems.add(path.key("mutateDigest"), "it contradicts `mutateDigest` of the policy; keep one of them");
    }
    (shipped, verify)
}

fn read_action(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> FailureAction {
    const KEY: &str = "validationActions";
    let path = map.path().key(KEY);
    if map.has(KEY) && map.has("failureAction") {
        problems.add(path, "`failureAction` and `validationActions` are the same setting; keep one of them");
    }
    if !map.has(KEY) {
        return map.choice("failureAction", FailureAction::Enforce, problems);
    }
    let actions: BTreeSet<&str> = map.texts(KEY, problems).into_iter().map(|(_, action)| action).collect();
    for action in actions.iter().filter(|action| !["Deny", "Audit", "Warn"].contains(action)) {
        problems.add(path, format!("`{action}` is not a choice here; use Deny, Audit or Warn"));
    }
    if actions.contains("Deny") && actions.contains("Warn") {
        problems.add(path, "`Deny` and `Warn` exclude each other: a rejection says why anyway");
    }
    // Denials and warnings are in the audit annotations too.
    if actions.contains("Warn") {
        FailureAction::Warn
    } else if actions.contains("Audit") && !actions.contains("Deny") {
        FailureAction::Audit
    } else {
        FailureAction::Enforce
    }
}

fn read_resource_rules(constraints: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<ResourceRule> {
    let path = constraints.path().key("resourceRules");
    let mut rules = Vec::new();
    for (position, value) in constraints.list("resourceRules", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(map) = SettingsMap::of(Some(value), &path, problems) else { continue };
        map.known(&["apiGroups", "apiVersions", "operations", "resources", "resourceNames", "scope"], &[], problems);
        if let Some(scope) = map.text("scope", problems).filter(|scope| *scope != "*") {
            problems.add(path.key("scope"), format!("`{scope}` is not supported; `resources` say which kinds"));
        }
        // Kubernetes writes empty lists out, and they widen a policy. An empty string names nothing, so the policy would be about
        // nothing. As a group it is the core group.
        for (key, what) in [("apiVersions", "version"), ("resourceNames", "object")] {
            let written = map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate();
            for (position, _) in written.filter(|(_, text)| text.as_str() == Some("")) {
                problems.add(
                    path.key(key).position(position),
                    format!("an empty text names no {what}; leave `{key}` out for every {what}"),
                );
            }
        }
        let mut texts = |key: &str| map.texts(key, problems).into_iter().map(|(_, text)| text.to_owned()).collect();
        let rule = ResourceRule {
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            operations: texts("operations"),
            resources: texts("resources"),
            names: texts("resourceNames"),
        };
        for operation in &rule.operations {
            if !["CREATE", "UPDATE", "DELETE", "CONNECT", "*"].contains(&operation.as_str()) {
                problems
                    .add(path.key("operations"), format!("`{operation}` is not a choice here; use CREATE or UPDATE"));
            }
        }
        for (key, why) in kinds::misnamed_resources(&rule) {
            problems.add(path.key(key), why);
        }
        if rule.resources.is_empty() {
            problems.add(path.key("resources"), "name the resources, like `pods`");
        }
        rules.push(rule);
    }
    rules
}

/// `matchConstraints.imageRules` of the proposal, or `matchImageReferences`.
fn read_image_rules(
    map: &SettingsMap<'_, '_>,
    constraints: &SettingsMap<'_, '_>,
    problems: &mut Problems,
) -> ImageRules {
    let mut rules = ImageRules::default();
    let path = constraints.path().key("imageRules");
    if let Some(own) = SettingsMap::of(constraints.get("imageRules"), &path, problems) {
        own.known(&["references", "expressions"], &[], problems);
        let references = path.key("references");
        for (position, glob) in own.texts("references", problems) {
            rules.globs.push(Glob::read(glob, references.position(position), problems));
        }
        let path = path.key("expressions");
        for (position, text) in own.texts("expressions", problems) {
            rules.expressions.extend(of_images(text, path.position(position), problems));
        }
    }
    let path = map.path().key("matchImageReferences");
    for (position, value) in map.list("matchImageReferences", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(entry) = SettingsMap::of(Some(value), &path, problems) else { continue };
        entry.known(&["glob", "expression"], &[], problems);
        match (entry.text("glob", problems), entry.text("expression", problems)) {
            (Some(glob), None) => rules.globs.push(Glob::read(glob, path.key("glob"), problems)),
            (None, Some(text)) => rules.expressions.extend(of_images(text, path.key("expression"), problems)),
            _ => problems.add(path, "set one of `glob` and `expression`"),
        }
    }
    rules
}

/// The proposal's name of the image is no name in CEL. The shipped policies say `ref`.
fn of_images(text: &str, path: Path<'_>, problems: &mut Problems) -> Option<Expression> {
    if text.trim().is_empty() {
        problems.add(path, "the expression is missing");
        return None;
    }
    Some(expression(path, &text.replace("$image", "ref")))
}

fn read_attestations(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Attestation> {
    const COSIGN_LAYERS: &str = "cosign keeps attestations at `.att` in layers, which hosts don't hand out: make them readable with `image-admission attach`, and remove this";
    let path = map.path().key("attestations");
    let mut attestations = Vec::new();
    for (position, value) in map.list("attestations", problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(entry) = SettingsMap::of(Some(value), &path, problems) else { continue };
        entry.known(&["name", "intoto", "referrer", "tagSuffix", "repository"], &[], problems);
        let name = entry.text("name", problems).unwrap_or_default().to_owned();
        let kind = ["intoto", "referrer"].into_iter().find(|key| entry.has(key));
        let (Some(key), false) = (kind, entry.has("intoto") && entry.has("referrer")) else {
            problems.add(path, "set one of `intoto` and `referrer`");
            continue;
        };
        let inner = path.key(key);
        let Some(of) = SettingsMap::of(entry.get(key), &inner, problems) else { continue };
        of.known(&["type"], &[], problems);
        let media_type = of.text("type", problems).unwrap_or_default().to_owned();
        if media_type.is_empty() {
            problems.add(inner.key("type"), "the type is missing");
        }
        let tag_suffix = entry.text("tagSuffix", problems).map(|suffix| suffix.trim_start_matches('.').to_owned());
        match tag_suffix.as_deref() {
            Some("att") => problems.add(path.key("tagSuffix"), COSIGN_LAYERS),
            Some(suffix) if !is_tag_suffix(suffix) => problems.add(
                path.key("tagSuffix"),
                format!("`{suffix}` can't be the end of a tag; use letters, digits, `.`, `-` and `_`"),
            ),
            _ => {}
        }
        let kind =
            if key == "intoto" { AttestationKind::InToto(media_type) } else { AttestationKind::Referrer(media_type) };
        attestations.push(Attestation { name, kind, tag_suffix, repository: repository::read(&entry, problems) });
    }
    unique(map, "attestations", problems);
    attestations
}

fn is_tag_suffix(suffix: &str) -> bool {
    !suffix.is_empty()
        && suffix.len() <= 50
        && suffix.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

fn read_verifications(map: &SettingsMap<'_, '_>, problems: &mut Problems) -> Vec<Verification> {
    let key = if map.has("validations") { "validations" } else { "verifications" };
    if map.has("validations") && map.has("verifications") {
        problems.add(
            map.path().key("validations"),
            "`verifications` and `validations` are the same setting; keep one of them",
        );
    }
    let path = map.path().key(key);
    let mut verifications = Vec::new();
    for (position, value) in map.list(key, problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(entry) = SettingsMap::of(Some(value), &path, problems) else { continue };
        entry.known(&["expression", "message", "messageExpression", "reason"], &[], problems);
        entry.text("reason", problems);
        let Some(text) = entry.text("expression", problems).filter(|text| !text.trim().is_empty()) else {
            problems.add(path.key("expression"), "the expression is missing");
            continue;
        };
        verifications.push(Verification {
            expression: expression(path.key("expression"), text),
            message: entry.text("message", problems).map(str::to_owned).filter(|text| !text.is_empty()),
            message_expression: entry
                .text("messageExpression", problems)
                .map(|text| expression(path.key("messageExpression"), text)),
        });
    }
    if verifications.is_empty() && map.list(key, problems).is_none_or(<[Value]>::is_empty) {
        problems.add(path, "without an expression nothing is verified; write what must hold");
    }
    verifications
}

/// Entries like `{name: …, expression: …}`. Expressions or the audit log refer to them by name.
fn read_named(
    map: &SettingsMap<'_, '_>,
    key: &str,
    name_key: &str,
    expression_key: &str,
    problems: &mut Problems,
) -> Vec<NamedExpression> {
    let path = map.path().key(key);
    let mut entries = Vec::new();
    for (position, value) in map.list(key, problems).unwrap_or_default().iter().enumerate() {
        let path = path.position(position);
        let Some(entry) = SettingsMap::of(Some(value), &path, problems) else { continue };
        entry.known(&[name_key, expression_key], &[], problems);
        let name = entry.text(name_key, problems).unwrap_or_default();
        match entry.text(expression_key, problems).filter(|text| !text.trim().is_empty()) {
            Some(text) => entries.push(NamedExpression {
                name: name.to_owned(),
                expression: expression(path.key(expression_key), text),
            }),
            None => problems.add(path.key(expression_key), "the expression is missing"),
        }
        // Expressions never refer to conditions and annotations.
        let is_free = ["matchConditions", "auditAnnotations"].contains(&key);
        if name.is_empty() || !is_free && !is_identifier(name) {
            problems.add(
                path.key(name_key),
                format!("`{name}` is not a name that expressions can use: letters, digits and `_`, no digit first"),
            );
        }
        if key == "auditAnnotations" && ["verdict", "reason"].contains(&name) {
            problems.add(path.key(name_key), format!("`{name}` is an annotation of the policy itself; use another"));
        }
        if key == "auditAnnotations" && !is_annotation_key(name) {
            problems.add(
                path.key(name_key),
                format!("`{name}` can't be the key of an audit annotation: at most 63 letters, digits, `.`, `-`, `_`"),
            );
        }
    }
    if !["matchConditions"].contains(&key) {
        unique_by(map, key, name_key, problems);
    }
    entries
}

fn is_annotation_key(name: &str) -> bool {
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && ends(name.chars().next())
        && ends(name.chars().next_back())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Reports names of attestors and attestations that expressions can't write, or that are taken.
fn unique(map: &SettingsMap<'_, '_>, key: &str, problems: &mut Problems) {
    let path = map.path().key(key);
    for (position, value) in map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
        let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
        if !is_identifier(name) {
            problems.add(
                path.position(position).key("name"),
                format!("`{name}` is not a name that expressions can use: letters, digits and `_`, no digit first"),
            );
        }
    }
    unique_by(map, key, "name", problems);
}

fn unique_by(map: &SettingsMap<'_, '_>, key: &str, name_key: &str, problems: &mut Problems) {
    let path = map.path().key(key);
    let mut names = BTreeSet::new();
    for (position, value) in map.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
        let name = value.get(name_key).and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() && !names.insert(name) {
            problems.add(path.position(position).key(name_key), format!("the name `{name}` is taken"));
        }
    }
}

fn expression(path: Path<'_>, text: &str) -> Expression {
    Expression { path: path.text(), text: text.to_owned() }
}
