//! Results as SARIF 2.1.0, which code scanning reads: <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Finding, Location, Results, Rule};
use crate::command::terminal::{json_without_commands, printable};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// What a finding is known by. Its number changes when it is computed in another way.
const FINGERPRINT: &str = "imageAdmission/v1";

/// The findings as one log with one run.
pub(in crate::command) fn sarif(results: &Results) -> String {
    let mut seen = BTreeMap::new();
    let findings = results.checks.iter().flat_map(|check| &check.findings);
    let found: Vec<Value> = findings.map(|finding| result(finding, &results.rules, &mut seen)).collect();
    let driver = json!({
        "name": "image-admission",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": results.rules.iter().map(rule).collect::<Vec<_>>(),
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "automationDetails": {"id": format!("image-admission/{}/", results.command)},
            "columnKind": "unicodeCodePoints",
            "results": found,
        }],
    });
    format!("{}\n", json_without_commands(&format!("{log:#}")))
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "defaultConfiguration": {"level": rule.level.name()},
    })
}

fn result(finding: &Finding, rules: &[Rule], seen: &mut BTreeMap<String, usize>) -> Value {
    let known_by = fingerprint(finding);
    let number = seen.entry(known_by.clone()).or_default();
    *number += 1;
    let mut result = json!({
        "ruleId": finding.rule,
        "level": finding.level.name(),
        "message": {"text": text(&finding.whole())},
        "locations": [location(&finding.location)],
        "partialFingerprints": {FINGERPRINT: format!("{known_by}:{number}")},
    });
    if let (Some(index), Some(result)) = (rules.iter().position(|rule| rule.id == finding.rule), result.as_object_mut())
    {
        result.insert("ruleIndex".to_owned(), index.into());
    }
    result
}

/// Readers make a link of `[text](target)`, and nobody who is quoted may put one into a report.
fn text(text: &str) -> String {
    printable(text).replace("](", "] (")
}

fn location(location: &Location) -> Value {
    let mut found = Map::new();
    if let Some(path) = location.path() {
        let mut place = Map::new();
        place.insert("artifactLocation".to_owned(), json!({"uri": uri(path)}));
        if let Some(line) = location.line {
            place.insert("region".to_owned(), json!({"startLine": line}));
        }
        found.insert("physicalLocation".to_owned(), place.into());
    }
    let object = location.object.as_ref().map(ToString::to_string);
    let parts: Vec<&str> = object.iter().chain(&location.field).map(String::as_str).collect();
    if !parts.is_empty() {
        let kind = if location.field.is_some() { "member" } else { "resource" };
        found.insert("logicalLocations".to_owned(), json!([{"fullyQualifiedName": parts.join(" "), "kind": kind}]));
    }
    found.into()
}

/// A path as a reference of a URI: relative as it is, and one from the root as a file's.
fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            // Writing to a string can't fail.
            other => drop(write!(uri, "%{other:02X}")),
        }
    }
    uri
}

/// A hash of the rule and of where it is: lines and words may change, and it is the same finding.
fn fingerprint(Finding { rule, title, location, .. }: &Finding) -> String {
    let object = location.object.as_ref().map(ToString::to_string);
    let texts = [Some(*rule), location.path(), object.as_deref(), location.field.as_deref(), title.as_deref()];
    let hash = Sha256::digest(texts.map(Option::unwrap_or_default).join("\0"));
    hash.iter().fold(String::new(), |mut text, byte| {
        drop(write!(text, "{byte:02x}"));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::output::Level;
    use crate::command::output::tests::hostile;

    fn log(results: &Results) -> Value {
        let text = sarif(results);
        assert!(!text.contains("##["), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    /// What the schema requires, with the values that it allows.
    #[test]
    fn everything_that_is_required_is_there() {
        let log = log(&hostile());
        assert_eq!((&log["version"], &log["$schema"]), (&json!("2.1.0"), &json!(SCHEMA)));
        let [run] = log["runs"].as_array().unwrap().as_slice() else { panic!("one run") };
        assert_eq!(run["tool"]["driver"]["name"], "image-admission");
        assert_eq!(
            run["tool"]["driver"]["rules"],
            json!([{
                "id": "open-prefix",
                "shortDescription": {"text": "a prefix that ends early"},
                "defaultConfiguration": {"level": "warning"},
            }])
        );
        let results = run["results"].as_array().unwrap();
        let levels: Vec<&str> = results.iter().map(|result| result["level"].as_str().unwrap()).collect();
        assert_eq!(levels, ["error", "note", "note", "error", "warning"]);
        for result in results {
            assert_eq!((&result["ruleId"], &result["ruleIndex"]), (&json!("open-prefix"), &json!(0)));
            assert!(!result["message"]["text"].as_str().unwrap().is_empty());
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "a%20b/%5Bx%5D%2Cy%3A%C3%A4%25.yaml");
            assert_eq!(place["region"]["startLine"], 7);
            let logical = &result["locations"][0]["logicalLocations"][0];
            assert_eq!(logical["fullyQualifiedName"], "Pod/shop/<web> spec.containers[0].image");
            assert_eq!(result["partialFingerprints"].as_object().unwrap().len(), 1);
        }
    }

    #[test]
    fn what_is_quoted_is_text() {
        let log = log(&hostile());
        assert_eq!(
            log["runs"][0]["results"][0]["message"]["text"],
            "a:b,c: 100 %\\u{d}\n::error::[a] (b) ##[error]x\\u{1b}[2K\\u{202e}]]>"
        );
    }

    #[test]
    fn paths_are_references() {
        for (path, reference) in [
            ("pods/web.yaml", "pods/web.yaml"),
            ("/tmp/a b", "file:///tmp/a%20b"),
            ("http://x", "http%3A//x"),
            ("a?b#c", "a%3Fb%23c"),
        ] {
            assert_eq!(uri(path), reference);
        }
    }

    #[test]
    fn a_finding_is_the_same_whatever_its_line_and_words() {
        let results = hostile();
        let finding = &results.checks[1].findings[0];
        let known_by = fingerprint(finding);
        let with = |change: fn(&mut Finding)| {
            let mut other = finding.clone();
            change(&mut other);
            fingerprint(&other) == known_by
        };
        assert!(with(|it| it.location.line = Some(9)));
        assert!(with(|it| it.message = "other words".to_owned()));
        assert!(with(|it| it.level = Level::Note));
        assert!(with(|it| it.location.file = Some("a b/[x],y:ä%.yaml".to_owned())));
        assert!(!with(|it| it.location.file = Some("other.yaml".to_owned())));
        assert!(!with(|it| it.rule = "short-name"));
        assert!(!with(|it| it.location.field = None));
        assert!(!with(|it| it.location.object = None));
    }

    #[test]
    fn findings_at_one_place_are_told_apart() {
        let log = log(&hostile());
        let prints = log["runs"][0]["results"].as_array().unwrap().iter();
        let prints: Vec<&str> =
            prints.map(|result| result["partialFingerprints"][FINGERPRINT].as_str().unwrap()).collect();
        // The second to the fifth have no title, and are at the same place.
        let ends: Vec<&str> = prints.iter().map(|print| print.rsplit_once(':').unwrap().1).collect();
        assert_eq!(ends, ["1", "1", "2", "3", "4"]);
    }

    #[test]
    fn what_is_in_no_file_has_its_object_alone() {
        let mut results = hostile();
        results.checks.truncate(3);
        let location = &mut results.checks[2].findings[0].location;
        location.file = Some("-".to_owned());
        location.field = None;
        let log = log(&results);
        let result = &log["runs"][0]["results"][2];
        assert_eq!(
            result["locations"],
            json!([{"logicalLocations": [{"fullyQualifiedName": "Pod/shop/<web>", "kind": "resource"}]}])
        );
    }
}
