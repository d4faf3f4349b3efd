//! Whether each policy's settings are valid, and what `lint` finds in them and in the manifest around them.

use std::collections::BTreeSet;

use image_admission_settings::{Lint, LintRule, LintSeverity};

use super::cluster::text;
use super::finding::{About, Check, Finding, Status};
use super::world::{NAMESPACE, Policy, World};
use crate::command::lint;

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    world.policies.iter().flat_map(|policy| of_policy(world, policy)).collect()
}

fn of_policy(world: &World<'_>, policy: &Policy) -> Vec<Finding> {
    let mut about = About::new(Check::Settings, &policy.title);
    if let Err(problems) = &policy.settings {
        let problems = problems.0.join("; ");
        return about.only(
            Status::Fail,
            format!("they are not valid, and a policy server with them doesn't start: {problems}"),
        );
    }
    let mut remarks = remarks(world, policy);
    // Other checks tell these.
    remarks.retain(|remark| remark.rule != LintRule::MissingKind && !is_of_selectors(remark));
    for (severity, status) in [(LintSeverity::Error, Status::Fail), (LintSeverity::Warning, Status::Warn)] {
        let rules: BTreeSet<LintRule> =
            remarks.iter().filter(|remark| remark.severity == severity).map(|remark| remark.rule).collect();
        if !rules.is_empty() {
            let names: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.name())).collect();
            // Here the namespaces are known, and there they are asked for.
            let command = match rules.contains(&LintRule::UnknownNamespace) {
                true => "kubectl get namespaces -o name | image-admission lint --namespaces - policy.yaml",
                false => "image-admission lint",
            };
            let message = format!("`{command}` finds {}: it says where, and what to do", names.join(", "));
            about.add(status, message);
        }
    }
    about.or_ok("valid, and `lint` finds nothing that weighs")
}

/// Whether it is about labels in the manifest's selectors and conditions.
pub(super) fn is_of_selectors(remark: &Lint) -> bool {
    remark.rule == LintRule::ByLabel && remark.path.starts_with("spec.")
}

/// What `lint` has to remark of a policy with valid settings.
pub(super) fn remarks(world: &World<'_>, policy: &Policy) -> Vec<Lint> {
    let Ok(settings) = &policy.settings else { return Vec::new() };
    let names = |all: &Vec<_>| all.iter().map(|own| text(own, "/metadata/name").to_owned()).collect();
    let namespaces: Option<BTreeSet<String>> = world.list(NAMESPACE, None, &[]).as_ref().as_ref().ok().map(names);
    let servers = world.servers();
    let servers = servers.as_ref().as_ref().map(Vec::as_slice).unwrap_or_default();
    lint::remarks(&policy.found, settings, servers, namespaces.as_ref(), world.now)
}
