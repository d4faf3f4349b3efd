//! Members of policy groups: they can't change objects, and the group's `expression` decides what comes of their verdicts.

// A page would load a second evaluator of CEL for it.
#[cfg(not(target_family = "wasm"))]
pub(super) mod expression;

use image_admission_settings::{Lint as Remark, LintRule, Settings};
use serde_json::Value;

/// What is to be remarked of any member with these settings.
pub(super) fn remarks(group: &Value, settings: &Settings) -> Vec<Remark> {
    const REJECTED: &str = "a member of a policy group that changes an object rejects it";
    let mut remarks = Vec::new();
    if group.pointer("/spec/mutating").is_some() {
        let message = "the API server refuses or drops it, since a policy group has no such field: its members change nothing; leave it out";
        remarks.push(Remark::new(LintRule::GroupMember, "spec.mutating", message));
    }
    if settings.may_pin() {
        let message = format!("images are to be pinned, and {REJECTED}; write `pin: {{enabled: false}}`");
        remarks.push(Remark::new(LintRule::GroupMember, "pin", message));
    }
    for path in settings.patching_policies() {
        let message = format!("it has a patch, and {REJECTED}; leave the patch out");
        remarks.push(Remark::new(LintRule::GroupMember, path, message));
    }
    remarks
}
