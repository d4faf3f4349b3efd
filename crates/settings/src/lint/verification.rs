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

impl Lints {
    /// Policies that aren't asked when images come: their resource rules or conditions leave out creations, updates or Pods.
    pub(super) fn unasked_by_own_rules(&mut self, settings: &Settings) {
        for policy in &settings.verification {
            let path = || format!("{}.matchConstraints.resourceRules", policy.path);
            let is_about = |operation| policy.resource_rules.iter().any(|rule| has_operation(rule, operation));
            let (made, changed) = (is_about("CREATE"), is_about("UPDATE"));
            if !policy.resource_rules.is_empty() && !made && !changed {
                let message = "a policy of images is asked when something is created or changed, and never else; add `CREATE` and `UPDATE`";
                self.add(LintRule::NeverAsked, path(), message);
            } else if made && !changed {
                self.add(LintRule::MissingOperation, path(), LATER_IMAGES);
            }
            let of_creations = policy.conditions.iter().map(|condition| &condition.expression).find(is_of_creations);
            if let Some(condition) = of_creations {
                self.add(LintRule::MissingOperation, &condition.path, LATER_IMAGES);
            }
            let mut resources = policy.resource_rules.iter().flat_map(|rule| &rule.resources).peekable();
            let is_pods = |resource: &str| resource.starts_with('*') || resource == WorkloadKind::Pod.resource();
            if resources.peek().is_some()
                && resources.clone().any(|resource| WorkloadKind::has_resource(resource))
                && !resources.any(|resource| is_pods(resource))
            {
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
            if names("containers") && !["all", "initContainers", "ephemeralContainers"].into_iter().any(names) {
                let message = "its expressions look at `images.containers` alone: init containers, those of `kubectl debug` and image volumes run unverified; write `images.all`";
                let lint = Lint::new(LintRule::Unverified, &policy.path, message);
                self.0.push(lint.weighing(LintSeverity::Warning));
            }
            for Expression { path, text } in policy.verifications.iter().map(|own| &own.expression) {
                let packed: String = text.split_whitespace().collect();
                if packed.contains(")>=0") && text.contains("verify") {
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
            let named: Vec<Prefix> =
                policy.images_matched.globs.iter().map(|glob| Prefix::new(literal(glob))).collect();
            phase.each_prefix("preScanPolicies", &mut |path, prefix, effect| {
                let overlaps = |own: &Prefix| {
                    own.goes_on_from(prefix, settings.image_matching) || prefix.goes_on_from(own, settings.image_matching)
                };
                if effect == Effect::Admits && named.iter().any(overlaps) {
                    let message = format!(
                        "what pre-scan accepts isn't verified, and {path} (`{}`) accepts images that this policy names; set `verifyPreScanAccepted: true` here, or write `scan` there",
                        prefix.as_str()
                    );
                    let lint = Lint::new(LintRule::Unverified, &policy.path, message);
                    self.0.push(lint.weighing(LintSeverity::Warning));
                }
            });
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

/// Whether a rule is about an operation on objects themselves. One about subresources alone isn't.
fn has_operation(rule: &ResourceRule, operation: &str) -> bool {
    let is_of_objects =
        rule.resources.is_empty() || rule.resources.iter().any(|resource| !resource.contains('/') || resource == "*/*");
    let all = &rule.operations;
    is_of_objects && (all.is_empty() || all.iter().any(|own| own == "*" || own == operation))
}

/// `request.operation == 'CREATE'`, alone or with more that must hold.
fn is_of_creations(condition: &&Expression) -> bool {
    let packed: String = condition.text.replace('"', "'").split_whitespace().collect();
    let sides = ["request.operation=='CREATE'", "'CREATE'==request.operation", "request.operationin['CREATE']"];
    sides.iter().any(|side| packed.contains(side)) && !packed.contains("||") && !packed.contains('!')
}

/// Whether an expression may ask an attestor: `attestors.name`, `attestors['name']`, or all of them.
fn may_ask(expression: &str, name: &str) -> bool {
    expression.split("attestors").skip(1).any(|rest| {
        let rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(field) => {
                field.trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next() == Some(name)
            }
            None => !rest.starts_with('[') || rest.contains(name) || !rest.contains(['"', '\'']),
        }
    })
}
