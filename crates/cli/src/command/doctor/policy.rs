//! Whether each policy is active, and rejects.

use serde_json::Value;

use super::cluster::{list, text};
use super::finding::{About, Check, Finding, Status};
use super::world::{Policy, World};

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    let mut about = About::new(Check::Policy, "policies");
    for why in &world.unseen {
        about.add(Status::Unknown, format!("some may be missing here: {why}"));
    }
    if world.policies.is_empty() && world.unseen.is_empty() {
        about.add(
            Status::Fail,
            "there is none with `image-admission` in the name of its `module`; name yours with `--policy`",
        );
    }
    about.findings.into_iter().chain(world.policies.iter().flat_map(of_policy)).collect()
}

fn of_policy(policy: &Policy) -> Vec<Finding> {
    let mut about = About::new(Check::Policy, &policy.title);
    let status = &policy.manifest;
    match text(status, "/status/policyStatus") {
        "active" => {}
        "" => about.add(
            Status::Unknown,
            "it has no status: Kubewarden's controller hasn't seen it, or this is no object of a cluster",
        ),
        other => {
            let why = conditions(status, "PolicyActive").unwrap_or_default();
            about.add(Status::Fail, format!("it is `{other}`, so that nobody asks it{why}"));
        }
    }
    if let Some(why) = conditions(status, "PolicyUniquelyReachable") {
        about.add(Status::Warn, format!("some replicas of its policy server don't have its newest settings{why}"));
    }
    let (mode, enforced) = (text(status, "/spec/mode"), text(status, "/status/mode"));
    if !["", "protect"].contains(&mode) {
        about.add(Status::Warn, format!("its mode is `{mode}`: it rejects nothing, and logs what it would reject"));
    } else if !["", "protect"].contains(&enforced) {
        about.add(Status::Fail, format!("its mode is `protect`, and its policy server has it as `{enforced}`"));
    }
    about.or_ok("active, in mode `protect`")
}

/// Why a condition doesn't hold: `: The latest replica set is not uniquely reachable`.
fn conditions(policy: &Value, wanted: &str) -> Option<String> {
    let condition = list(policy, "/status/conditions").iter().find(|own| text(own, "/type") == wanted)?;
    (text(condition, "/status") == "False").then(|| format!(": {}", text(condition, "/message")))
}
