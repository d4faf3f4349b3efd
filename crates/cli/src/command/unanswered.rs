//! A call of the policy that nobody was there to answer, in words.

use serde_json::Value;

/// What to do about it.
const HOW_TO_ANSWER: &str = "give `--images` and `--cluster`, a recording that has it, or `--live`";

/// That nobody is there to answer a call, so that what is decided says nothing about the world. `call` is as the gate has it: its
/// name, and its payload as JSON.
pub(super) fn nobody_answers(call: &str) -> String {
    format!("nobody is there to answer {}: {HOW_TO_ANSWER}", asked(call))
}

/// What a call asks.
fn asked(call: &str) -> String {
    let as_it_is = || format!("`{call}`");
    let Some((name, payload)) = call.split_once(' ') else { return as_it_is() };
    let Ok(payload) = serde_json::from_str::<Value>(payload) else { return as_it_is() };
    let text = |key: &str| payload.get(key).and_then(Value::as_str);
    let image = payload.as_str().or_else(|| text("image")).or_else(|| payload.get("data")?.get("image")?.as_str());
    let place = text("namespace").map(|namespace| format!(" in namespace `{namespace}`")).unwrap_or_default();
    match (name, image, text("kind"), text("name")) {
        ("oci/v1/manifest_digest", Some(image), ..) => format!("which digest `{image}` has"),
        ("oci/v1/oci_manifest" | "oci/v1/oci_manifest_config", Some(image), ..) => {
            format!("what the registry has of `{image}`")
        }
        ("oci/v2/verify", Some(image), ..) => format!("who signed `{image}`"),
        ("kubernetes/get_resource", _, Some(kind), Some(name)) => format!("whether there is {kind} `{name}`{place}"),
        (name, _, Some(kind), _) if name.starts_with("kubernetes/list_resources") => {
            format!("which objects of kind {kind} there are{place}")
        }
        ("kubernetes/can_i", ..) => "whether the user has a right".to_owned(),
        _ => as_it_is(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_in_words() {
        for (call, words) in [
            ("oci/v1/manifest_digest \"ghcr.io/shop/web:1.0\"", "which digest `ghcr.io/shop/web:1.0` has"),
            ("oci/v1/oci_manifest \"ghcr.io/shop/web:1.0\"", "what the registry has of `ghcr.io/shop/web:1.0`"),
            (
                "kubernetes/get_resource {\"kind\":\"VulnerabilityReport\",\"name\":\"a\",\"namespace\":\"scans\"}",
                "whether there is VulnerabilityReport `a` in namespace `scans`",
            ),
            ("kubernetes/list_resources_all {\"kind\":\"SBOM\"}", "which objects of kind SBOM there are"),
            ("kubernetes/can_i {}", "whether the user has a right"),
            ("net/v1/dns_lookup_host \"a\"", "`net/v1/dns_lookup_host \"a\"`"),
            ("oci/v1/manifest_digest", "`oci/v1/manifest_digest`"),
        ] {
            assert_eq!(asked(call), words);
        }
    }
}
