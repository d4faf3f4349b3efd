//! Functions of OPA that rules can't call here, and what is said of a name that no function has.

use crate::evaluation::builtins;
use crate::evaluation::template_string::TEMPLATE_STRING;
use image_admission_untrusted::message::nearest;
use std::collections::BTreeSet;

/// The functions, and why. A name that ends with a dot stands for all that begin with it.
const REFUSED: [(&str, &str); 27] = [
    ("http.send", "a policy has no network; `context` brings objects of the cluster"),
    ("net.lookup_ip_addr", "a policy has no network"),
    ("providers.aws.", "a policy has no network"),
    ("opa.runtime", "there is no OPA process"),
    ("rego.parse_module", "modules are parsed when the policy is deployed"),
    ("rego.metadata.", "annotations of rules aren't read"),
    ("rand.intn", "the same request must have the same answer"),
    ("uuid.rfc4122", "the same request must have the same answer"),
    ("crypto.x509.", "rules don't read certificates"),
    ("crypto.parse_private_keys", "rules don't read keys"),
    ("crypto.hmac.", "rules have no secret keys; use `crypto.sha256`"),
    ("crypto.md5", "use `crypto.sha256`"),
    ("crypto.sha1", "use `crypto.sha256`"),
    ("io.jwt.", "rules don't read tokens; signatures of images are verified by `imageVerification`"),
    ("graphql.", "rules don't read GraphQL; check such documents before they are deployed"),
    ("json.match_schema", "the API server validates objects by their schemas"),
    ("json.verify_schema", "the API server validates objects by their schemas"),
    ("strings.render_template", "use `sprintf` or a template string"),
    ("strings.split_n", "use `split`, and `array.slice` of what it gives"),
    ("array.flatten", "use a comprehension, such as `[x | x := lists[_][_]]`"),
    ("cast_boolean", "use `is_boolean`"),
    ("cast_null", "use `is_null`"),
    ("cast_object", "use `is_object`"),
    ("cast_string", "use `is_string`"),
    ("regex.globs_match", "use `glob.match`"),
    ("uri.", "use `regex.match`"),
    ("internal.", "it is what OPA's compiler writes"),
];

/// That a function is refused, and why; none: it isn't.
pub(super) fn refusal(name: &str) -> Option<String> {
    let is_meant = |refused: &str| match refused.strip_suffix('.') {
        Some(_) => name.starts_with(refused),
        None => name == refused,
    };
    let (_, why) = REFUSED.iter().find(|(refused, _)| is_meant(refused) && name != TEMPLATE_STRING)?;
    Some(format!("`{name}` is not available: {why}"))
}

/// That there is no function of a name, with the nearest one of the builtins and of the package's `own`.
pub(super) fn missing(name: &str, own: &BTreeSet<&str>) -> String {
    let builtins: Vec<&str> = builtins::names().collect();
    let nearest = nearest(name, builtins.iter().chain(own).copied());
    let help = nearest.map_or(String::new(), |known| format!("; did you mean `{known}`?"));
    format!("there is no function `{name}`{help}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_not_refused() {
        let refused: Vec<String> = builtins::added_names().filter_map(refusal).collect();
        assert_eq!(refused, [""; 0]);
    }
}
