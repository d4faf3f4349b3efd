//! What the `rules` of a policy's manifest send, compared with what the settings judge: nobody notices a policy that is never
//! asked.

use super::{Lint, LintFix, LintRule, LintSeverity, Lints, may};
use crate::kinds::kubernetes::{BuiltinKind, KINDS, is_crd_group};
use crate::kinds::{misnamed_resources, plural};
use crate::{KindPattern, PreScanAction, RegoPolicy, ResourceRule, Settings};
use image_admission_image::workload::WorkloadKind;
use serde_json::json;

const CREATE: &str = "CREATE";
const UPDATE: &str = "UPDATE";
/// The subresources of Pods that change images and resources of containers.
const EPHEMERAL_CONTAINERS: &str = "ephemeralcontainers";
const RESIZE: &str = "resize";

impl Settings {
    /// What the settings judge and the `rules` of a manifest don't send, in the order of [`LintRule`] and of the settings.
    #[must_use]
    pub fn lint_rules(&self, rules: &[ResourceRule]) -> Vec<Lint> {
        let mut lints = Lints::default();
        lints.misnamed_resources(rules);
        lints.unasked_policies(self, rules);
        lints.unasked_verification(self, rules);
        if self.judges_images() {
            lints.unasked_pods(self, rules);
            lints.missing_operations(rules);
            lints.missing_ephemeral_containers(rules);
        }
        lints.missing_resizes(self, rules);
        lints.0.sort_by_key(|lint| lint.rule);
        lints.0
    }

    /// Whether anything looks at the images of a Pod.
    fn judges_images(&self) -> bool {
        let phase = &self.pre_scan;
        let is_whole = phase.auto_generate && self.rego.pre_custom_rules.is_empty();
        !is_whole
            || may(phase, PreScanAction::Scan)
            || may(phase, PreScanAction::Reject)
            || !self.verification.is_empty()
            || self.rego.policies.iter().any(is_for_pods)
    }
}

impl Lints {
    /// Rules that the API server accepts, but never sends a request for.
    fn misnamed_resources(&mut self, rules: &[ResourceRule]) {
        for (position, rule) in rules.iter().enumerate() {
            for (key, why) in misnamed_resources(rule) {
                self.add(LintRule::NeverAsked, format!("spec.rules[{position}].{key}"), why);
            }
        }
    }

    fn unasked_policies(&mut self, settings: &Settings, rules: &[ResourceRule]) {
        for (position, policy) in settings.rego.policies.iter().enumerate() {
            let path = format!("regoPolicies[{position}].kinds");
            let exempt: Vec<String> =
                policy.kinds.iter().filter(|kind| is_exempt(kind)).map(|kind| format!("`{kind}`")).collect();
            if !exempt.is_empty() {
                let message = format!(
                    "the API server asks no webhook about {}, so that only the audit scanner asks this policy about them",
                    exempt.join(", ")
                );
                self.0.push(Lint::new(LintRule::NeverAsked, &path, message).weighing(LintSeverity::Warning));
            }
            let kinds = || policy.kinds.iter().filter(|kind| !is_exempt(kind));
            let unsent: Vec<(&KindPattern, Sent)> =
                kinds().map(|kind| (kind, sent(kind, rules))).filter(|(_, sent)| *sent != Sent::Yes).collect();
            if unsent.is_empty() {
                continue;
            }
            let is_whole = unsent.len() == policy.kinds.len();
            let names: Vec<String> = unsent.iter().map(|(kind, _)| format!("`{kind}`")).collect();
            let resources: Vec<String> = unsent.iter().map(|(kind, _)| format!("`{}`", resource_of(kind))).collect();
            let message = format!(
                "`spec.rules` sends no {}, so that {}; add {} there",
                names.join(", "),
                never_asked(is_whole),
                resources.join(", ")
            );
            // A part of its kinds may be left out on purpose.
            let is_certain = is_whole && unsent.iter().all(|(_, sent)| *sent == Sent::No);
            let severity = if is_certain { LintSeverity::Error } else { LintSeverity::Warning };
            self.0.push(Lint::new(LintRule::NeverAsked, path, message).weighing(severity));
        }
    }

    fn unasked_verification(&mut self, settings: &Settings, rules: &[ResourceRule]) {
        for policy in &settings.verification {
            if policy.resource_rules.is_empty() {
                if !WorkloadKind::ALL.iter().any(|kind| is_workload_sent(*kind, rules)) {
                    let message = "`spec.rules` sends nothing with a pod spec, so that this policy is never asked; add `pods` there";
                    self.0.push(Lint::new(LintRule::NeverAsked, &policy.path, message));
                }
                continue;
            }
            let all =
                || policy.resource_rules.iter().flat_map(|rule| rule.resources.iter().map(move |own| (rule, own)));
            let unsent: Vec<String> = all()
                .filter(|(rule, resource)| !rules.iter().any(|sent| overlaps(sent, rule, resource)))
                .map(|(_, resource)| format!("`{resource}`"))
                .collect();
            if unsent.is_empty() {
                continue;
            }
            let is_whole = unsent.len() == all().count();
            let message = format!(
                "`spec.rules` sends no {} of these groups, versions and operations, so that {}; add them there",
                unsent.join(", "),
                never_asked(is_whole)
            );
            let severity = if is_whole { LintSeverity::Error } else { LintSeverity::Warning };
            let path = format!("{}.matchConstraints.resourceRules", policy.path);
            self.0.push(Lint::new(LintRule::NeverAsked, path, message).weighing(severity));
        }
    }

    /// A template without a report is admitted, since its Pods wait for one.
    fn unasked_pods(&mut self, settings: &Settings, rules: &[ResourceRule]) {
        let is_sent = |kind: &WorkloadKind| sends(rules, &of_workload(*kind), CREATE);
        let mut templates = WorkloadKind::ALL.into_iter().filter(|kind| *kind != WorkloadKind::Pod);
        if may(&settings.pre_scan, PreScanAction::Scan)
            && templates.any(|kind| is_sent(&kind))
            && !is_sent(&WorkloadKind::Pod)
        {
            let message = "templates are sent and `pods` are not: a template without a report is admitted, since its Pods would wait for one, and nobody judges these; add `pods`";
            self.add(LintRule::NeverAsked, "spec.rules", message);
        }
    }

    /// Workloads of which only creations or only updates are sent.
    fn missing_operations(&mut self, rules: &[ResourceRule]) {
        let pods_are_made = sends(rules, &of_workload(WorkloadKind::Pod), CREATE);
        for kind in WorkloadKind::ALL {
            // The Pods of a controller are judged when they are made.
            if kind != WorkloadKind::Pod && pods_are_made {
                continue;
            }
            let target = of_workload(kind);
            let (made, changed) = (sends(rules, &target, CREATE), sends(rules, &target, UPDATE));
            let (sent, missing, what) = match (made, changed) {
                (true, false) => (CREATE, UPDATE, "an image that is changed later is never judged"),
                (false, true) => (UPDATE, CREATE, "images are judged only when the object is changed"),
                _ => continue,
            };
            let message = format!(
                "`{}` are sent on {sent} and not on {missing}, so that {what}; add `{missing}`",
                kind.resource()
            );
            self.add(LintRule::MissingOperation, path_of_rule(rules, &target, sent, "operations"), message);
        }
    }

    fn missing_ephemeral_containers(&mut self, rules: &[ResourceRule]) {
        let message = format!(
            "Pods are sent, and `pods/{EPHEMERAL_CONTAINERS}` is not, so that the images of `kubectl debug` are never judged; add it, on UPDATE"
        );
        self.missing_subresource(EPHEMERAL_CONTAINERS, message, LintSeverity::Error, rules);
    }

    /// A running Pod's requests and limits are changed by a subresource alone.
    fn missing_resizes(&mut self, settings: &Settings, rules: &[ResourceRule]) {
        let in_libraries = settings.rego.libraries.iter().any(|library| library.rego.contains("resources"));
        let would_ask =
            |policy: &&RegoPolicy| is_for_pods(policy) && (in_libraries || policy.rego.contains("resources"));
        let Some(policy) = settings.rego.policies.iter().find(would_ask) else { return };
        let message = format!(
            "Pods are sent, and `pods/{RESIZE}` is not, by which requests and limits of a running Pod are changed: the policy `{}` is never asked about those; add it, on UPDATE",
            policy.name
        );
        self.missing_subresource(RESIZE, message, LintSeverity::Warning, rules);
    }

    fn missing_subresource(&mut self, name: &str, message: String, severity: LintSeverity, rules: &[ResourceRule]) {
        let pods = of_workload(WorkloadKind::Pod);
        let target = Target { sub_resource: Some(name), ..pods };
        let is_asked = sends(rules, &pods, CREATE) || sends(rules, &pods, UPDATE);
        if !is_asked || sends(rules, &target, UPDATE) {
            return;
        }
        // A rule of its own: the audit scanner leaves out one without CREATE, and stops at a subresource in one with it.
        let entry = vec![
            ("apiGroups", json!([pods.group])),
            ("apiVersions", json!(["v1"])),
            ("resources", json!([format!("pods/{name}")])),
            ("operations", json!([UPDATE])),
        ];
        let fix = LintFix::Append { path: "spec.rules".to_owned(), entries: vec![entry] };
        let position = rules.iter().position(|rule| sends(std::slice::from_ref(rule), &pods, UPDATE));
        let path =
            position.map_or_else(|| "spec.rules".to_owned(), |position| format!("spec.rules[{position}].resources"));
        self.0.push(Lint::new(LintRule::MissingSubresource, path, message).weighing(severity).fixed_by(Some(fix)));
    }
}

/// Whether the rules of a manifest send a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    Yes,
    No,
    /// Not under the usual resource name of a CRD's kind.
    Unlikely,
}

/// What requests are about, as rules name it.
#[derive(Debug, Clone, Copy)]
struct Target<'a> {
    group: Option<&'a str>,
    version: Option<&'a str>,
    resource: &'a str,
    /// None: any that carries the object itself.
    sub_resource: Option<&'a str>,
}

fn of_workload(kind: WorkloadKind) -> Target<'static> {
    Target { group: Some(kind.group()), version: Some("v1"), resource: kind.resource(), sub_resource: Some("") }
}

fn sent(pattern: &KindPattern, rules: &[ResourceRule]) -> Sent {
    let any = |is_sent: &dyn Fn(&ResourceRule) -> bool| rules.iter().any(is_sent);
    let certainly = |is_sent: bool| if is_sent { Sent::Yes } else { Sent::No };
    let (group, version, kind) = match pattern {
        KindPattern::Any => return certainly(!rules.is_empty()),
        KindPattern::Workload => {
            return certainly(WorkloadKind::ALL.into_iter().any(|kind| is_workload_sent(kind, rules)));
        }
        KindPattern::Kind { group, version, kind } => (group.as_deref(), version.as_deref(), kind.as_str()),
    };
    let builtin: Vec<&BuiltinKind> = KINDS.iter().filter(|own| is_meant(own, pattern)).collect();
    let resource = plural(kind);
    let target = Target { group, version, resource: &resource, sub_resource: None };
    let is_of_crds = |rule: &ResourceRule| {
        rule.groups.is_empty() || rule.groups.iter().any(|group| group == "*" || is_crd_group(group))
    };
    if !builtin.is_empty() {
        let is_of_crd = |rule: &ResourceRule| group.is_none() && is_of_crds(rule) && covers(rule, &target, None);
        return certainly(builtin.iter().any(|own| is_builtin_sent(own, version, rules)) || any(&is_of_crd));
    }
    let is_named = |rule: &ResourceRule| group.is_some() || is_of_crds(rule) || rule.resources.contains(&resource);
    if any(&|rule| covers(rule, &target, None) && is_named(rule)) {
        return Sent::Yes;
    }
    // Only the CRD says what its resource is called.
    let may_be = any(&|rule| group.map_or_else(|| is_of_crds(rule), |group| has(&rule.groups, group)));
    if may_be { Sent::Unlikely } else { Sent::No }
}

fn never_asked(is_whole: bool) -> &'static str {
    if is_whole { "this policy is never asked" } else { "this policy is never asked about them" }
}

fn is_meant(own: &BuiltinKind, pattern: &KindPattern) -> bool {
    own.versions.iter().any(|version| pattern.matches(own.group, version, own.kind))
}

fn is_exempt(pattern: &KindPattern) -> bool {
    matches!(pattern, KindPattern::Kind { .. })
        && KINDS.iter().any(|own| own.is_never_asked_about() && is_meant(own, pattern))
}

/// The resource to add for a kind.
fn resource_of(pattern: &KindPattern) -> String {
    match pattern {
        KindPattern::Any => "*/*".to_owned(),
        KindPattern::Workload => WorkloadKind::Pod.resource().to_owned(),
        KindPattern::Kind { kind, .. } => {
            let own = KINDS.iter().find(|own| is_meant(own, pattern));
            own.map_or_else(|| plural(kind), |own| own.resource.to_owned())
        }
    }
}

fn is_for_pods(policy: &RegoPolicy) -> bool {
    policy.kinds.iter().any(|kind| kind.matches("", "v1", WorkloadKind::Pod.name()))
}

fn is_workload_sent(kind: WorkloadKind, rules: &[ResourceRule]) -> bool {
    rules.iter().any(|rule| covers(rule, &Target { sub_resource: None, ..of_workload(kind) }, None))
}

fn is_builtin_sent(own: &BuiltinKind, version: Option<&str>, rules: &[ResourceRule]) -> bool {
    let (resource, sub_resource) =
        own.resource.split_once('/').map_or((own.resource, None), |(resource, sub)| (resource, Some(sub)));
    match sub_resource {
        // Rules name the group and the version of the resource; these here are the kind's.
        Some(_) => {
            let target = Target { group: None, version: None, resource, sub_resource };
            rules.iter().any(|rule| covers(rule, &target, None))
        }
        None => own.versions.iter().filter(|own| version.is_none_or(|version| version == **own)).any(|version| {
            let target = Target { group: Some(own.group), version: Some(version), resource, sub_resource };
            rules.iter().any(|rule| covers(rule, &target, None))
        }),
    }
}

fn sends(rules: &[ResourceRule], target: &Target<'_>, operation: &str) -> bool {
    rules.iter().any(|rule| covers(rule, target, Some(operation)))
}

fn has(list: &[String], wanted: &str) -> bool {
    list.is_empty() || list.iter().any(|own| own == "*" || own == wanted)
}

/// Whether a rule sends requests about something: `*` is every resource and no subresource, `*/*` all of both.
fn covers(rule: &ResourceRule, target: &Target<'_>, operation: Option<&str>) -> bool {
    target.group.is_none_or(|group| has(&rule.groups, group))
        && target.version.is_none_or(|version| has(&rule.versions, version))
        && operation.is_none_or(|operation| has(&rule.operations, operation))
        && rule.resources.iter().any(|written| {
            let (resource, sub_resource) = written.split_once('/').unwrap_or((written, ""));
            let is_sub = |wanted: &str| sub_resource == "*" || sub_resource == wanted;
            (resource == "*" || target.resource == "*" || resource == target.resource)
                && target.sub_resource.map_or_else(|| is_of_object(target.resource, sub_resource), is_sub)
        })
}

/// Whether requests for a subresource carry the object itself, not one of another kind.
fn is_of_object(resource: &str, sub_resource: &str) -> bool {
    let is_other = |own: &BuiltinKind| {
        own.resource.split_once('/').is_some_and(|(of, sub)| sub == sub_resource && (of == "*" || of == resource))
    };
    !KINDS.iter().any(is_other)
}

/// Whether a rule of the manifest sends anything that a policy's resource rule is about.
fn overlaps(sent: &ResourceRule, rule: &ResourceRule, written: &str) -> bool {
    let (resource, sub_resource) = written.split_once('/').unwrap_or((written, ""));
    let is_any = |list: &[String]| list.is_empty() || list.iter().any(|own| own == "*");
    let both =
        |one: &[String], other: &[String]| is_any(one) || is_any(other) || one.iter().any(|own| other.contains(own));
    let in_both = |group: &str| has(&rule.groups, group) && has(&sent.groups, group);
    let is_served = |own: &&BuiltinKind| {
        in_both(own.group)
            && own.versions.iter().any(|version| has(&rule.versions, version) && has(&sent.versions, version))
    };
    let mut builtin = KINDS.iter().filter(|own| own.resource == resource).peekable();
    let has_kinds = if builtin.peek().is_some() {
        let mut groups = rule.groups.iter().chain(&sent.groups);
        builtin.any(|own| is_served(&own)) || groups.any(|group| is_crd_group(group) && in_both(group))
    } else {
        both(&sent.groups, &rule.groups) && both(&sent.versions, &rule.versions)
    };
    let has_resource = |other: &String| {
        let (other, other_sub) = other.split_once('/').unwrap_or((other, ""));
        let is_both_sub = sub_resource == "*" || other_sub == "*" || sub_resource == other_sub;
        // A policy about Pods is also about their ephemeral containers.
        let is_added = sub_resource.is_empty() && other_sub == EPHEMERAL_CONTAINERS;
        (other == "*" || resource == "*" || other == resource) && (is_both_sub || is_added)
    };
    has_kinds && both(&sent.operations, &rule.operations) && sent.resources.iter().any(has_resource)
}

/// The path of the first rule that sends something.
fn path_of_rule(rules: &[ResourceRule], target: &Target<'_>, operation: &str, key: &str) -> String {
    let position = rules.iter().position(|rule| covers(rule, target, Some(operation)));
    position.map_or_else(|| "spec.rules".to_owned(), |position| format!("spec.rules[{position}].{key}"))
}

#[cfg(test)]
mod tests;
