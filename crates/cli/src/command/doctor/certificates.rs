//! How long the certificates hold by which the API server and the policy servers know each other.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use image_admission_evidence::certificate::Certificate;
use image_admission_untrusted::time::Timestamp;
use serde_json::Value;

use super::cluster::{list, text};
use super::finding::{About, Check, Finding, Status};
use super::world::World;

/// Kubewarden's controller makes new ones 60 days before their end: it doesn't, if one has fewer left.
const SOON: i64 = 30 * DAY;
const DAY: i64 = 24 * 3600;

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    let of_webhooks = world.policies.iter().flat_map(|policy| {
        let about = || About::new(Check::Certificates, &policy.title);
        match world.webhooks(policy) {
            Err(why) => about().only(Status::Unknown, why),
            // That one has none, the check of webhooks says.
            Ok(found) => {
                let webhooks = found.iter().flat_map(|(_, configuration)| list(configuration, "/webhooks"));
                let bundles = webhooks.map(|webhook| text(webhook, "/clientConfig/caBundle"));
                let bundles = bundles.filter(|bundle| !bundle.is_empty());
                bundles.flat_map(|bundle| of(bundle, "`caBundle` of its webhook", world.now, about())).collect()
            }
        }
    });
    let of_servers = world.server_names().into_iter().flat_map(|server| of_server(world, server));
    of_webhooks.chain(of_servers).collect()
}

/// That which a policy server shows.
fn of_server(world: &World<'_>, server: &str) -> Vec<Finding> {
    let (subject, name) = (format!("PolicyServer {server}"), format!("policy-server-{server}"));
    let about = About::new(Check::Certificates, &subject);
    let shown = format!("Secret `{}/{name}`", world.kubewarden);
    match world.cluster.get(("v1", "Secret"), &world.kubewarden, &name) {
        Err(why) => about.only(Status::Unknown, why),
        Ok(None) => about.only(Status::Fail, format!("there is no {shown}, which has its certificate")),
        Ok(Some(secret)) => {
            let certificate = secret.get("data").and_then(|data| data.get("tls.crt")).and_then(Value::as_str);
            of(certificate.unwrap_or_default(), &format!("the certificate in {shown}"), world.now, about)
        }
    }
}

fn of(encoded: &str, what: &str, now: Timestamp, about: About<'_>) -> Vec<Finding> {
    let Some(end) = end(encoded) else {
        return about.only(Status::Unknown, format!("{what} can't be read"));
    };
    let day = end.day();
    match end.0.saturating_sub(now.0) {
        ..0 => about.only(Status::Fail, format!("{what} ended on {day}: the API server can't call the policy server")),
        0..SOON => {
            let message = format!("{what} ends on {day}, and Kubewarden's controller should have made a new one");
            about.only(Status::Warn, message)
        }
        _ => about.or_ok(format!("{what} holds until {day}")),
    }
}

/// When the first of some certificates ends, in PEM behind Base64. None if one can't be read.
fn end(encoded: &str) -> Option<Timestamp> {
    let pem = String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()?;
    Certificate::all_from_pem(&pem).ok()?.iter().map(Certificate::valid_until).min()
}
