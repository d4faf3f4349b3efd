//! Whether an image that must be rejected is. A Pod with it is created as a dry run.

use super::cluster::text;
use super::finding::{About, Check, Finding, Status};
use super::world::World;
use image_admission_companion_host::Tried;

/// How the API server quotes the webhook that denies.
const DENIED: &str = "admission webhook \"";

/// What is to be said of a Pod with `image` that was tried.
pub(super) fn check(world: &World<'_>, image: &str, namespace: &str, tried: Result<Tried, String>) -> Vec<Finding> {
    let subject = format!("Pod with `{image}` in namespace `{namespace}`");
    let about = About::new(Check::Canary, &subject);
    match tried {
        Err(why) | Ok(Tried::Failed(why)) => about.only(Status::Unknown, why),
        Ok(Tried::Admitted) => about.only(Status::Fail, "it is admitted, and should be rejected"),
        Ok(Tried::Denied(words)) => match words.strip_prefix(DENIED).and_then(|rest| rest.split('"').next()) {
            Some(webhook) if !is_own(world, webhook) => about
                .only(Status::Unknown, format!("the webhook `{webhook}` rejects it, which is none of the policies'")),
            _ => about.or_ok("it is rejected, as it should be"),
        },
    }
}

fn is_own(world: &World<'_>, webhook: &str) -> bool {
    let configurations = world.policies.iter().flat_map(|policy| world.webhooks(policy).unwrap_or_default());
    let mut names = configurations.map(|(_, own)| text(&own, "/webhooks/0/name").to_owned());
    names.any(|name| name == webhook)
}
