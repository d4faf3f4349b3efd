//! A stricter limit admits nothing more.

use crate::world::World;
use crate::{admits_no_more, law};
use serde_json::{Value, json};

/// A setting, and how it gets stricter; none where it can't. It is null where it isn't set.
type Stricter = (&'static str, fn(&Value) -> Option<Value>);

const LIMITS: [Stricter; 36] = [
    ("acceptance.maxSeverity.critical", lower_total),
    ("acceptance.maxSeverity.high", lower_total),
    ("acceptance.maxSeverity.low", lower_total),
    ("acceptance.maxSeverity.medium", lower_total),
    ("acceptance.maxSeverity.unknown", lower_total),
    ("acceptance.cvssScore.threshold", |value| Some(json!(value.as_f64()? - 2.0))),
    ("acceptance.cvssScore.maxCount", fewer),
    ("acceptance.denyAlways", |value| with(value, "CVE-2026-3")),
    ("acceptance.allowAlways", without_first),
    ("acceptance.ignoreVexStatus", |_| Some(json!(true))),
    ("acceptance.count", |_| Some(json!("entries"))),
    ("acceptance.fixGracePeriod", |value| value.is_string().then(|| json!("1h"))),
    ("acceptance.unfixedGracePeriod", |value| value.is_string().then(|| json!("1h"))),
    ("acceptance.running.grace", |value| value.is_string().then(|| json!("1h"))),
    ("acceptance.knownExploited", |value| (value == "warn" || value.is_null()).then(|| json!("reject"))),
    ("acceptance.knownExploited.action", reject),
    ("acceptance.epss.score", |value| Some(json!(value.as_f64()? / 10.0))),
    ("acceptance.epss.action", reject),
    ("acceptance.epss.missing", |value| (value == "ignore").then(|| json!("count"))),
    ("acceptance.endOfLife", |_| Some(json!("reject"))),
    ("acceptance.packages.action", reject),
    ("acceptance.licenses.deny", |value| with(value, "MIT")),
    ("acceptance.licenses.allow", without_first),
    ("acceptance.licenses.except", without_first),
    ("scanPolicies.reportPending", reject),
    ("scanPolicies.scanFailed", |value| if value == "accept" { Some(json!("accept-outages")) } else { reject(value) }),
    (
        "scanPolicies.defaultPolicy",
        |value| if value == "accept" { Some(json!("scan-result")) } else { Some(json!("reject")) },
    ),
    (
        "preScanPolicies.defaultPolicy",
        |value| if value == "accept" { Some(json!("scan")) } else { Some(json!("reject")) },
    ),
    ("registries", without_last_host),
    ("maxImages", |_| Some(json!(1))),
    ("maxHostCalls", |_| Some(json!(4))),
    ("reports.unprovenIndexes", |_| Some(json!("reject"))),
    ("reports.platforms", |value| (value == &json!(["linux/amd64"])).then(|| json!(["linux/amd64", "linux/arm64"]))),
    ("exemptionsFrom.requireApprovedBy", |_| Some(json!(true))),
    ("exemptionsFrom.severities", |value| Some(value.as_array().map_or(json!(["low"]), |those| json!([those[0]])))),
    ("imageVerification", enforced),
];

/// A limit of one severity; where others have one, a severity without one is unlimited.
fn lower_total(value: &Value) -> Option<Value> {
    match (value["total"].as_u64(), value["totalWithoutFixes"].as_u64()) {
        (Some(total), _) => Some(json!({"total": total.checked_sub(1)?})),
        (None, Some(total)) => Some(json!({"total": total})),
        (None, None) => Some(json!({"total": 0})),
    }
}

fn fewer(value: &Value) -> Option<Value> {
    Some(json!(value.as_u64()?.checked_sub(1)?))
}

fn reject(value: &Value) -> Option<Value> {
    value.is_string().then(|| json!("reject"))
}

fn with(value: &Value, more: &str) -> Option<Value> {
    let mut list = value.as_array().cloned().unwrap_or_default();
    list.push(json!(more));
    Some(json!(list))
}

fn without_first(value: &Value) -> Option<Value> {
    let (_, others) = value.as_array()?.split_first()?;
    Some(json!(others))
}

/// An empty list is any host, and a mirror's name is an image of its own where it is no mirror.
fn without_last_host(value: &Value) -> Option<Value> {
    let (last, others) = value.as_array()?.split_last()?;
    (last.is_string() && !others.is_empty()).then(|| json!(others))
}

fn enforced(value: &Value) -> Option<Value> {
    let mut policies = value.as_array()?.clone();
    for policy in &mut policies {
        policy["failureAction"] = json!("Enforce");
        policy["verifyPreScanAccepted"] = json!(true);
    }
    Some(json!(policies))
}

/// The world with a setting that is stricter; none where it can't be, or where others stand against it.
fn stricter(world: &World, (path, change): &Stricter) -> Option<World> {
    // A controller is admitted while its report is pending, and its SBOM isn't read then unless that is forgiven.
    if *path == "scanPolicies.reportPending" && world.workload.kind != "Pod" {
        return None;
    }
    let mut settings = world.settings();
    let (above, key) = path.rsplit_once('.').unwrap_or(("", path));
    let above = if above.is_empty() { String::new() } else { format!("/{}", above.replace('.', "/")) };
    // What is about findings of one kind stands in a limit that is there; the others have objects that may be made.
    let is_made = ["/acceptance", "/scanPolicies", "/preScanPolicies", "/reports"].contains(&above.as_str());
    if is_made && settings.pointer(&above).is_none() {
        settings[&above[1..]] = json!({});
    }
    let object = settings.pointer_mut(&above)?.as_object_mut()?;
    let value = change(object.get(key).unwrap_or(&Value::Null))?;
    object.insert(key.to_owned(), value);
    let other = world.with(|other| other.set(&settings));
    other.is_valid().then_some(other)
}

#[test]
fn a_stricter_limit_admits_nothing() {
    law("limits", |world, asked| {
        // What isn't looked up any more saves calls to the host, and what a limit rejects has no state that a rule in Rego denies.
        let world = world.with(|world| ["maxHostCalls", "customRules"].iter().for_each(|path| world.switch_off(path)));
        let before = asked.decide(&world);
        for limit in LIMITS.iter().filter(|_| !before.is_admitted()) {
            if let Some(other) = stricter(&world, limit) {
                admits_no_more(&before, || other, &format!("a stricter `{}`", limit.0), asked)?;
            }
        }
        Ok(())
    });
}

/// Of the reports of one image those count that are fresh: a bad one that is too old no longer does. And a report that is too old is
/// pending, which the settings may forgive. So nothing is forgiven, and there is one source.
#[test]
fn a_shorter_age_admits_nothing() {
    law("ages", |world, asked| {
        let world = world.forgiving_nothing();
        let before = asked.decide(&world);
        if before.is_admitted() || world.sources().len() > 1 {
            return Ok(());
        }
        for path in ["reports.maxAge", "evidence.maxAge"] {
            admits_no_more(&before, || world.with(|other| other.switch(path, json!("10h"))), path, asked)?;
        }
        Ok(())
    });
}
