//! Edits that leave an image, or a namespace, out of a policy of `imageVerification`, as narrowly as its settings allow.

use super::change::{Action, Edit};
use super::{Opens, Whose};
use image_admission_image::{ImageReference, canonical_host, is_host_like, names_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A policy as it is written.
#[derive(Clone, Copy)]
pub(super) struct Written<'s> {
    /// Its path.
    pub(super) keys: &'s [&'s str],
    /// Its value.
    pub(super) policy: &'s Value,
    /// Its name in messages.
    pub(super) name: &'s str,
    /// The request's namespace.
    pub(super) namespace: &'s str,
}

impl Written<'_> {
    /// Match rules that leave out the repositories of images, in the request's namespace. None if that was tried, or if the rules
    /// can't express it without a change for other images.
    pub(super) fn repositories(&self, images: &BTreeSet<&str>) -> Option<Edit> {
        let mut opened = Vec::new();
        let mut spellings: BTreeSet<String> = BTreeSet::new();
        for image in images {
            let reference = ImageReference::parse(image).ok()?;
            opened.push(format!("{}:", reference.name()));
            // An expression is evaluated for every name of an image, and one match is enough.
            spellings.extend(names_of(image, &reference).iter().map(|name| repository_in(name, &reference)));
        }
        let spellings: Vec<String> = spellings.iter().map(|name| pattern(name, false)).collect::<Option<_>>()?;
        let them = match spellings.as_slice() {
            [] => return None,
            [one] => one.clone(),
            several => format!("({})", several.join("|")),
        };
        let is_it = format!("ref.matches('^{them}([:@]|$)')");
        let left_out = match self.plain_namespace() {
            Some(own) => {
                format!("!({is_it} && has(object.metadata.namespace) && object.metadata.namespace == '{own}')")
            }
            None => format!("!{is_it}"),
        };
        let (keys, action) = self.with_condition(&left_out)?;
        opened.sort_unstable();
        opened.dedup();
        let whose = Whose(self.plain_namespace().map(str::to_owned));
        let opens = Opens::UnverifiedImages { policy: self.name.to_owned(), images: opened, whose };
        let keys = [self.keys, keys].concat();
        Some(Edit::new(&keys, action, opens))
    }

    /// A condition that leaves out the request's namespace; none if there is no namespace, or if that was tried.
    pub(super) fn namespace(&self) -> Option<Edit> {
        let namespace = self.plain_namespace()?;
        let condition = json!({
            "name": format!("not-in-{namespace}"),
            "expression": format!("!has(object.metadata.namespace) || object.metadata.namespace != '{namespace}'"),
        });
        let is_there = |list: &Value| list.as_array().is_some_and(|list| list.contains(&condition));
        if self.policy.get("matchConditions").is_some_and(is_there) {
            return None;
        }
        let whose = Whose(Some(namespace.to_owned()));
        let opens = Opens::Unverified { policy: self.name.to_owned(), whose };
        Some(Edit::new(&[self.keys, &["matchConditions"]].concat(), Action::Append(condition), opens))
    }

    /// The namespace, if it is a plain name: the object's author chooses it, and it must not add code to an expression.
    fn plain_namespace(&self) -> Option<&str> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        Some(self.namespace).filter(|name| !name.is_empty() && name.chars().all(is_name))
    }

    /// The match rules with one more condition, at their path; none if they have it, or can't have it.
    fn with_condition(&self, condition: &str) -> Option<(&'static [&'static str], Action)> {
        let constraints = self.policy.get("matchConstraints");
        let own = constraints.and_then(|constraints| constraints.get("imageRules")).filter(|rules| !rules.is_null());
        let shipped = list(self.policy.get("matchImageReferences"));
        let is_shipped = self.keys.last() == Some(&"spec");
        match (own, shipped.as_slice()) {
            (None, []) if is_shipped => {
                Some((&["matchImageReferences"], Action::Append(json!({"expression": condition}))))
            }
            (None, []) => Some((&["matchConstraints", "imageRules", "expressions"], Action::Append(json!(condition)))),
            (None, shipped) => {
                let globs = shipped.iter().filter_map(|entry| entry.get("glob"));
                let expressions = shipped.iter().filter_map(|entry| entry.get("expression"));
                let all = narrowed(globs, expressions, condition)?.into_iter();
                let all: Vec<Value> = all.map(|text| json!({"expression": text})).collect();
                Some((&["matchImageReferences"], Action::Set(all.into())))
            }
            (Some(rules), []) => {
                let (globs, expressions) = (list(rules.get("references")), list(rules.get("expressions")));
                let all = narrowed(globs.into_iter(), expressions.into_iter(), condition)?;
                Some((&["matchConstraints", "imageRules"], Action::Set(json!({"expressions": all}))))
            }
            (Some(_), _) => None,
        }
    }
}

fn list(value: Option<&Value>) -> Vec<&Value> {
    value.and_then(Value::as_array).into_iter().flatten().collect()
}

/// Alternative rules as expressions, each with one more condition; globs can't have one.
fn narrowed<'v>(
    globs: impl Iterator<Item = &'v Value>,
    expressions: impl Iterator<Item = &'v Value>,
    condition: &str,
) -> Option<Vec<String>> {
    let globs = globs.map(|glob| as_expression(glob.as_str()?));
    // A comment extends to the end of its line.
    let end = |text: &str| if text.contains("//") { "\n" } else { "" };
    let expressions = expressions.map(|text| text.as_str().map(|text| format!("({text}{})", end(text))));
    let all: Vec<String> = globs.chain(expressions).collect::<Option<_>>()?;
    if all.is_empty() {
        return Some(vec![condition.to_owned()]);
    }
    let is_there = all.iter().any(|rule| rule.contains(condition));
    (!is_there).then(|| all.iter().map(|rule| format!("{rule} && {condition}")).collect())
}

/// A glob as an expression that matches the same images. None if only a glob can: its host is spelt differently from the names, or
/// it has a tag, which means nothing beside a digest.
fn as_expression(glob: &str) -> Option<String> {
    let is_canonical = match glob.split_once('/') {
        Some((host, _)) if is_host_like(host) => canonical_host(host).map_or(true, |canonical| canonical == host),
        _ => true,
    };
    let is_plain = is_canonical && !glob.is_empty() && !glob.contains([':', '@']);
    Some(format!("ref.matches('^{}$')", pattern(glob, true).filter(|_| is_plain)?))
}

/// A name, or a glob, as a regular expression in single quotes; none if it has unusual characters.
fn pattern(name: &str, is_glob: bool) -> Option<String> {
    let mut pattern = String::new();
    for c in name.chars() {
        match c {
            '.' => pattern.push_str("[.]"),
            '*' if is_glob => pattern.push_str(".*"),
            '?' if is_glob => pattern.push('.'),
            c if c.is_ascii_alphanumeric() || matches!(c, '/' | ':' | '_' | '-') => pattern.push(c),
            _ => return None,
        }
    }
    Some(pattern)
}

/// A name of an image, up to its tag and its digest.
fn repository_in(name: &str, reference: &ImageReference) -> String {
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let tag = reference.tag().map(|tag| format!(":{tag}"));
    tag.and_then(|tag| name.strip_suffix(&tag)).or_else(|| name.strip_suffix(":latest")).unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expressions that leave an image out of a policy with these match rules.
    #[track_caller]
    fn check(image: &str, policy: &Value, expected: Option<&Value>) {
        let written = Written { keys: &["imageVerification", "[0]"], policy, name: "signed", namespace: "" };
        let edit = written.repositories(&BTreeSet::from([image]));
        let action = edit.map(|edit| match edit.action {
            Action::Set(value) | Action::Prepend(value) | Action::Append(value) => value,
        });
        assert_eq!(action.as_ref(), expected, "{image} {policy}");
    }

    #[test]
    fn match_rules_leave_out_one_repository() {
        let not = "!ref.matches('^ghcr[.]io/team/app([:@]|$)')";
        check("ghcr.io/team/app:1", &json!({}), Some(&json!(not)));
        check("ghcr.io/team/app", &json!({}), Some(&json!(not)));
        check(
            "nginx:1.27",
            &json!({}),
            Some(&json!("!ref.matches('^(docker[.]io/library/nginx|docker[.]io/nginx|library/nginx|nginx)([:@]|$)')")),
        );
        let rules = |rules: Value| json!({"matchConstraints": {"imageRules": rules}});
        let some = rules(json!({"references": ["ghcr.io/*"], "expressions": ["a || b"]}));
        let all = [format!("ref.matches('^ghcr[.]io/.*$') && {not}"), format!("(a || b) && {not}")];
        check("ghcr.io/team/app:1", &some, Some(&json!({"expressions": all})));
        // A comment ends with its line, before the condition.
        let remarked = rules(json!({"expressions": ["a // mine"]}));
        check("ghcr.io/team/app:1", &remarked, Some(&json!({"expressions": [format!("(a // mine\n) && {not}")]})));
        // That was tried.
        check("ghcr.io/team/app:1", &rules(json!({"expressions": [not]})), None);
        let shipped = json!({"matchImageReferences": [{"glob": "ghcr.io/team/*"}]});
        let one = format!("ref.matches('^ghcr[.]io/team/.*$') && {not}");
        check("ghcr.io/team/app:1", &shipped, Some(&json!([{"expression": one}])));
        // Only a glob can express these.
        for glob in ["GHCR.io/*", "ghcr.io/team/app:*", "ghcr.io/team/app@*", "ghcr.io:443/*"] {
            check("ghcr.io/team/app:1", &rules(json!({"references": [glob]})), None);
        }
        check("ghcr.io/team/app'", &json!({}), None);
    }
}
