//! Policies about signatures that ask about fewer images than they seem to, or of nobody.

use super::{Lint, LintRule, LintSeverity, Lints};
use crate::phases::PreScanAction;
use crate::{
    Attestation, AttestationKind, Effect, Expression, Glob, Identity, Prefix, ResourceRule, Settings,
    VerificationPolicy,
};
use image_admission_image::workload::WorkloadKind;

/// How the Base64 of every Ed25519 key begins: the algorithm stands before the key.
const ED25519_PEM: &str = "MCowBQYDK2VwAyEA";

/// Prefixes of the artifact types under which cosign attaches a layer beside an empty configuration.
const LAYER_TYPES: [&str; 2] = ["application/vnd.dev.sigstore.bundle.", "application/vnd.dev.cosign.artifact."];

/// What a policy misses that is asked about creations alone.
const LATER_IMAGES: &str = "it is asked on CREATE and not on UPDATE, so that an image that is set later, and one of `kubectl debug`, is never verified; add `UPDATE`";
/// What a policy misses that is asked about updates alone.
const FIRST_IMAGES: &str = "it is asked on UPDATE and not on CREATE, so that images are verified only when the object is changed; add `CREATE`";
/// Conditions that hold for creations alone, without spaces.
const OF_CREATIONS: [&str; 5] = [
    "request.operation=='CREATE'",
    "'CREATE'==request.operation",
    "request.operationin['CREATE']",
    "request.operation!='UPDATE'",
    "oldObject==null",
];

impl Lints {
    /// Policies that aren't asked when images come: their resource rules or conditions leave out creations, updates or Pods.
    pub(super) fn unasked_by_own_rules(&mut self, settings: &Settings) {
        for policy in &settings.verification {
            let path = || format!("{}.matchConstraints.resourceRules", policy.path);
            let rules = &policy.resource_rules;
            let is_asked = |operation| rules.iter().any(|rule| has_operation(rule, operation));
            if !rules.is_empty() && !is_asked("CREATE") && !is_asked("UPDATE") {
                let message = "a policy of images is asked when something is created or changed, and never else; add `CREATE` and `UPDATE`";
                self.add(LintRule::NeverAsked, path(), message);
            }
            let of_workloads = || rules.iter().filter(|rule| rule.resources.iter().any(|own| may_change_images(own)));
            let about = |operation| of_workloads().any(|rule| has_operation(rule, operation));
            let missing = match (about("CREATE"), about("UPDATE")) {
                (true, false) => Some(LATER_IMAGES),
                (false, true) => Some(FIRST_IMAGES),
                _ => None,
            };
            let of_creations = policy.conditions.iter().map(|condition| &condition.expression).find(is_of_creations);
            let found = missing.map(|message| (path(), message));
            for (path, message) in found.into_iter().chain(of_creations.map(|own| (own.path.clone(), LATER_IMAGES))) {
                let lint = Lint::new(LintRule::MissingOperation, path, message);
                self.0.push(lint.weighing(LintSeverity::Warning));
            }
            let mut resources = rules.iter().flat_map(|rule| &rule.resources);
            let is_of_pods = |resource: &String| {
                let (resource, _) = resource.split_once('/').unwrap_or((resource, ""));
                resource == "*" || resource == WorkloadKind::Pod.resource()
            };
            if resources.clone().any(|resource| WorkloadKind::has_resource(resource)) && !resources.any(is_of_pods) {
                let message = "`pods` aren't among its resources, so that no image of a Pod without a template is verified, and none that a webhook adds to a Pod; add them";
                self.0.push(Lint::new(LintRule::Unverified, path(), message).weighing(LintSeverity::Warning));
            }
        }
    }

    /// Attestors that no expression names, images that no expression looks at, and comparisons that hold without a signature.
    pub(super) fn idle_expressions(&mut self, settings: &Settings) {
        for policy in &settings.verification {
            let texts: Vec<&str> = policy.deciding_expressions().map(|own| own.text.as_str()).collect();
            let is_asked = |name: &&String| texts.iter().any(|text| may_ask(text, name));
            let idle: Vec<String> = policy
                .attestor_names
                .iter()
                .filter(|name| !is_asked(name))
                .map(|name| format!("`attestors.{name}`"))
                .collect();
            if !idle.is_empty() {
                let is_whole = idle.len() == policy.attestor_names.len();
                let what = if is_whole {
                    "so that nobody needs to have signed"
                } else {
                    "so that what it signed counts for nothing"
                };
                let message = format!(
                    "no expression asks {}, {what}; ask it with `verifyImageSignatures` or `verifyAttestationSignatures`, or remove it",
                    idle.join(", ")
                );
                let severity = if is_whole { LintSeverity::Error } else { LintSeverity::Warning };
                let path = format!("{}.attestors", policy.path);
                self.0.push(Lint::new(LintRule::AttestorsUnused, path, message).weighing(severity));
            }
            let names = |list: &str| texts.iter().any(|text| text.contains(&["images.", list].concat()));
            let is_of_pods = !policy.images.iter().any(|own| own.name == "containers");
            if is_of_pods
                && names("containers")
                && !["all", "initContainers", "ephemeralContainers"].into_iter().any(names)
            {
                let message = "its expressions look at `images.containers` alone: init containers and those of `kubectl debug` run unverified; write `images.all`";
                let lint = Lint::new(LintRule::Unverified, &policy.path, message);
                self.0.push(lint.weighing(LintSeverity::Warning));
            }
            for Expression { path, text } in policy.verifications.iter().map(|own| &own.expression) {
                if holds_without_signature(text) {
                    let message = "`>= 0` holds for an image that nobody signed; write `> 0`";
                    self.add(LintRule::Unverified, path, message);
                }
            }
        }
    }

    /// Policies about signatures that skip what pre-scan accepts, although it accepts images that are to run.
    pub(super) fn unverified(&mut self, settings: &Settings) {
        let scans_nothing = settings.scans_nothing();
        let phase = &settings.pre_scan;
        let is_open = phase.auto_generate && phase.default_policy == PreScanAction::Accept;
        for policy in settings.verification.iter().filter(|policy| is_left_out(policy)) {
            let (what, severity) = if scans_nothing {
                ("pre-scan has no `scan`, and what it accepts isn't verified: no image is", LintSeverity::Error)
            } else if is_open {
                (
                    "what pre-scan accepts isn't verified, and `preScanPolicies.defaultPolicy` is `accept`",
                    LintSeverity::Warning,
                )
            } else {
                continue;
            };
            let message =
                format!("{what}; set `verifyPreScanAccepted: true` here, or `preScanPolicies.defaultPolicy: scan`");
            self.0.push(Lint::new(LintRule::Unverified, &policy.path, message).weighing(severity));
        }
    }

    /// Policies whose `references` name images that entries of pre-scan accept, and that therefore skip them.
    pub(super) fn accepted_unverified(&mut self, settings: &Settings) {
        let phase = &settings.pre_scan;
        if !phase.auto_generate || phase.default_policy == PreScanAction::Accept || settings.scans_nothing() {
            return;
        }
        for policy in settings.verification.iter().filter(|policy| is_left_out(policy)) {
            let globs = policy.images_matched.globs.iter().map(literal).filter(|literal| !literal.is_empty());
            let Some(prefix) = globs.map(Prefix::new).find_map(|named| first_accepting(settings, &named)) else {
                continue;
            };
            let message = format!(
                "what pre-scan accepts isn't verified, and its entry `{}` accepts images that this policy names; set `verifyPreScanAccepted: true` here, or write `scan` there",
                prefix.as_str()
            );
            self.0.push(Lint::new(LintRule::Unverified, &policy.path, message).weighing(LintSeverity::Warning));
        }
    }

    /// What cosign writes in a form that no host verifies or hands out.
    pub(super) fn forms(&mut self, settings: &Settings) {
        for policy in &settings.verification {
            let is_asked = |function| policy.verifications.iter().any(|own| own.expression.text.contains(function));
            // An attestor of envelopes may sign them with another tool.
            let severity = if is_asked("verifyImageSignatures") {
                LintSeverity::Warning
            } else if is_asked("verifyAttestationSignatures") {
                LintSeverity::Note
            } else {
                continue;
            };
            for attestor in &policy.attestors {
                if matches!(&attestor.identity, Identity::Key(pem) if pem.contains(ED25519_PEM)) {
                    let message = format!(
                        "the key of `{}` is an Ed25519 key, with which cosign signs as Ed25519ph: only plain Ed25519 is verified, so sign with another tool, or with a key of P-256, as `cosign generate-key-pair` makes it",
                        attestor.name
                    );
                    let path = format!("{}.attestors", policy.path);
                    self.0.push(Lint::new(LintRule::PrehashedKey, path, message).weighing(severity));
                }
            }
            for (position, Attestation { kind, .. }) in policy.attestations.iter().enumerate() {
                let AttestationKind::Referrer(kind) = kind else { continue };
                if LAYER_TYPES.iter().any(|own| kind.starts_with(own)) {
                    let message = format!(
                        "what cosign attaches as `{kind}` is a layer, which hosts don't hand out; make it readable with `image-admission attach`, and ask for it with `intoto`"
                    );
                    self.add(
                        LintRule::InLayer,
                        format!("{}.attestations[{position}].referrer.type", policy.path),
                        message,
                    );
                }
            }
        }
    }
}

/// Whether a policy about signatures skips what pre-scan accepts. Objects without a pod spec have no pre-scan.
pub(super) fn is_left_out(policy: &VerificationPolicy) -> bool {
    let mut resources = policy.resource_rules.iter().flat_map(|rule| &rule.resources);
    !policy.verify_pre_scan_accepted && resources.all(|resource| WorkloadKind::has_resource(resource))
}

/// A glob before its first wildcard.
fn literal(glob: &Glob) -> &str {
    glob.text.split(['*', '?']).next().unwrap_or_default()
}

/// The first entry of pre-scan's own list that accepts images with this beginning, unless one before it decides about all of them.
fn first_accepting<'s>(settings: &'s Settings, named: &Prefix) -> Option<&'s Prefix> {
    for entry in &settings.pre_scan.custom_policies {
        let decides_all = named.goes_on_from(&entry.prefix, settings.image_matching);
        let is_about_some = decides_all || entry.prefix.goes_on_from(named, settings.image_matching);
        if is_about_some && Effect::of(entry.action) == Effect::Admits {
            return Some(&entry.prefix);
        }
        if decides_all {
            return None;
        }
    }
    None
}

/// Whether a rule is about an operation.
fn has_operation(rule: &ResourceRule, operation: &str) -> bool {
    rule.operations.is_empty() || rule.operations.iter().any(|own| own == "*" || own == operation)
}

/// Whether a resource is one of workloads, themselves, whose images may be changed. The template of a Job can't.
fn may_change_images(resource: &str) -> bool {
    let is_of_workload = WorkloadKind::has_resource(resource) && !resource.contains('/');
    ["*", "*/*"].contains(&resource) || (is_of_workload && resource != WorkloadKind::Job.resource())
}

/// Whether a condition holds for creations alone: it is one of these, or joins one with `&&`.
fn is_of_creations(condition: &&Expression) -> bool {
    let packed: String = condition.text.replace('"', "'").split_whitespace().collect();
    packed.split("&&").any(|part| OF_CREATIONS.contains(&part))
}

/// Whether an expression compares a number of signatures so that none is enough: `verifyImageSignatures(…) >= 0`.
fn holds_without_signature(expression: &str) -> bool {
    let packed: String = expression.split_whitespace().collect();
    packed.split("Signatures(").skip(1).any(|rest| {
        let mut depth = 1_usize;
        let end = rest.find(|c: char| {
            depth = depth + usize::from(c == '(') - usize::from(c == ')');
            depth == 0
        });
        let after = end.and_then(|end| rest.get(end + 1..)).unwrap_or_default();
        after.starts_with(">=0") || after.starts_with(">-1")
    })
}

/// Whether an expression may ask an attestor: `attestors.name`, `attestors['name']`, one that is computed, or all of them.
fn may_ask(expression: &str, name: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.split("attestors").skip(1).any(|rest| {
        let rest = rest.trim_start();
        if let Some(field) = rest.strip_prefix('.') {
            return field.trim_start().split(|c| !is_name(c)).next() == Some(name);
        }
        let Some(key) = rest.strip_prefix('[') else { return true };
        match key.trim_start().strip_prefix(['"', '\'']) {
            Some(text) => text.split(['"', '\'']).next() == Some(name),
            None => true,
        }
    })
}
