//! The last line of a rejection: whom to ask, and where to read about the reason.

use crate::decision::{Decision, Outcome};
use crate::judged::JudgedImage;
use image_admission_judgement::reason::{Denial, ExceededLimit};
use image_admission_judgement::report::PlatformReport;
use image_admission_settings::RULE;
use std::borrow::Cow;

/// The most characters of a policy's name in an address.
const MAX_NAME_LENGTH: usize = 63;

/// `Ask #platform-security, or see https://wiki.example/max-severity-critical`; none if the settings have neither, or nothing
/// rejects.
pub fn contact_line(decision: &Decision) -> Option<String> {
    let message = decision.message.as_ref()?;
    let docs = || {
        let docs = message.docs.as_ref()?;
        Some(if docs.contains(RULE) { docs.replace(RULE, &in_address(&rejected_by(decision)?)) } else { docs.clone() })
    };
    match (&message.contact, docs()) {
        (Some(contact), Some(docs)) => Some(format!("Ask {contact}, or see {docs}")),
        (Some(contact), None) => Some(format!("Ask {contact}")),
        (None, Some(docs)) => Some(format!("See {docs}")),
        (None, None) => None,
    }
}

/// A short name of what rejects a request: the first one, in the order of the message. A policy of the settings has its own name.
/// The other names never change, since people have pages with these names.
fn rejected_by(decision: &Decision) -> Option<Cow<'_, str>> {
    // A request with too much work is rejected, whatever else was decided.
    if let Outcome::TooManyHostCalls { .. } = &decision.outcome {
        return Some("too-many-host-calls".into());
    }
    if let Some(policy) = decision.verification.iter().find(|outcome| outcome.rejects()) {
        return Some(policy.name.as_str().into());
    }
    let by_phases = match &decision.outcome {
        Outcome::GlassBroken(_) | Outcome::NothingToJudge(_) | Outcome::PreScanAccepted | Outcome::NotVerified => None,
        Outcome::UnreadableRequest(_) | Outcome::UnreadableObject(_) => Some("unreadable-object".into()),
        Outcome::NotImages(_) => Some("not-an-image".into()),
        Outcome::NamedByMirrors(_) => Some("named-by-mirror".into()),
        Outcome::TooManyImages { .. } => Some("too-many-images".into()),
        Outcome::TooManyHostCalls { .. } => Some("too-many-host-calls".into()),
        Outcome::TooMuchMemory => Some("too-much-memory".into()),
        Outcome::PreScanRejected(why) if why.by_policies => Some("pre-scan".into()),
        Outcome::PreScanRejected(_) => Some("custom-rules".into()),
        Outcome::Scanned => decision.images.iter().find(|judged| judged.is_denied()).map(denied_by),
    };
    let by_rules =
        || decision.policies.iter().find(|policy| policy.rejects()).map(|policy| policy.name.as_str().into());
    by_phases.or_else(by_rules)
}

/// A short name of what denies an image: for a report over limits, the first limit.
fn denied_by(judged: &JudgedImage) -> Cow<'static, str> {
    let Some(denial) = judged.scan.as_ref().and_then(|scan| scan.denied) else { return "custom-rules".into() };
    let report = judged.scan.as_ref().and_then(|scan| scan.report.as_ref()).filter(|_| denial == Denial::ScanResult);
    let mut limits = report.into_iter().flat_map(|report| &report.platforms).flat_map(PlatformReport::exceeded);
    limits.find_map(ExceededLimit::name).unwrap_or_else(|| denial.name().into())
}

/// A name as a part of an address: everything but RFC 3986's unreserved characters is percent-encoded.
fn in_address(name: &str) -> String {
    let mut address = String::new();
    for character in name.chars().take(MAX_NAME_LENGTH) {
        if character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~') {
            address.push(character);
        } else {
            let mut bytes = [0; 4];
            let encoded = character.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}"));
            address.extend(encoded);
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_part_of_an_address() {
        for (name, address) in [
            ("no-latest", "no-latest"),
            ("a b/c?d#e%f", "a%20b%2Fc%3Fd%23e%25f"),
            ("Größe", "Gr%C3%B6%C3%9Fe"),
            ("a\nb", "a%0Ab"),
        ] {
            assert_eq!(in_address(name), address);
        }
        assert_eq!(in_address(&"x".repeat(100)).len(), MAX_NAME_LENGTH);
    }
}
