//! Whether the API server asks each policy, and rejects where it gets no answer.

use serde_json::Value;

use super::cluster::{list, text};
use super::finding::{About, Check, Finding, Status};
use super::world::{Policy, World};

/// How long the API server waits, in seconds, where nothing else is said.
const DEFAULT_TIMEOUT: u64 = 10;

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    world.policies.iter().flat_map(|policy| of_policy(world, policy)).collect()
}

fn of_policy(world: &World<'_>, policy: &Policy) -> Vec<Finding> {
    let mut about = About::new(Check::Webhook, &policy.title);
    let found = match world.webhooks(policy) {
        Ok(found) => found,
        Err(why) => return about.only(Status::Unknown, why),
    };
    let wanted = policy.webhook_kind();
    if let Some((kind, other)) = found.iter().find(|(kind, _)| *kind != wanted) {
        let name = text(other, "/metadata/name");
        about.add(Status::Warn, format!("there is a {kind} `{name}` of it, which should be a {wanted}: delete it"));
    }
    let Some((_, configuration)) = found.iter().find(|(kind, _)| *kind == wanted) else {
        about.add(Status::Fail, format!("it has no {wanted}, so that the API server never asks it"));
        return about.findings;
    };
    let name = text(configuration, "/metadata/name");
    let webhooks = list(configuration, "/webhooks");
    if webhooks.is_empty() {
        about.add(Status::Fail, format!("its {wanted} `{name}` is empty, so that the API server never asks it"));
    }
    for webhook in webhooks {
        of_webhook(policy, webhook, &mut about);
    }
    about.or_ok(format!("{wanted} `{name}` rejects what it gets no answer for"))
}

fn of_webhook(policy: &Policy, webhook: &Value, about: &mut About<'_>) {
    if text(webhook, "/failurePolicy") == "Ignore" {
        let message = "`failurePolicy` is `Ignore`: while the policy server is down, or slow, every image gets in";
        about.add(Status::Fail, message);
    }
    if text(webhook, "/clientConfig/caBundle").is_empty() {
        about.add(Status::Fail, "`caBundle` is empty, so that no call to the policy server succeeds");
    }
    let server = format!("policy-server-{}", policy.server_name());
    let service = text(webhook, "/clientConfig/service/name");
    if service != server {
        about.add(
            Status::Fail,
            format!("it calls the Service `{service}`, and not that of its policy server, `{server}`"),
        );
    }
    if list(webhook, "/rules").is_empty() {
        about.add(Status::Fail, "`rules` is empty, so that the API server never asks it");
    }
    let seconds = |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    let waits = seconds(webhook, "/timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
    let wanted = seconds(&policy.manifest, "/spec/timeoutSeconds").unwrap_or(DEFAULT_TIMEOUT);
    if waits != wanted {
        about.add(
            Status::Warn,
            format!("the API server waits {waits} s, and the policy's `timeoutSeconds` is {wanted}"),
        );
    }
    let evaluates = seconds(&policy.manifest, "/spec/timeoutEvalSeconds").unwrap_or_default();
    if evaluates >= waits {
        let message = format!(
            "the API server waits {waits} s, and `timeoutEvalSeconds` is {evaluates}: write less, or the policy's own answer comes too late"
        );
        about.add(Status::Warn, message);
    }
}
