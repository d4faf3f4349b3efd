//! The `suite.yaml` files of gatekeeper-library, with every assertion held as `gator verify` holds it. The ConstraintTemplate
//! and the Constraint become settings, as docs/migrating-from-gatekeeper.md has it: the rules a policy, their `libs`
//! libraries, `parameters` and kinds those of the policy, the inventory `context`. What else is in `match` stands in the
//! ClusterAdmissionPolicy, and is the test's here. What a suite says that isn't understood fails.

use super::{decide, request, settings};
use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is known of a library's suites.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Expected {
    /// Where they are.
    folder: String,
    /// How many cases they have: `gator verify` tells as many.
    cases: usize,
    /// How many assertions they have.
    assertions: usize,
    /// Exactly the assertions that don't hold, and why.
    #[serde(default)]
    known_wrong: BTreeMap<String, String>,
}

impl Expected {
    /// Why assertions don't hold, and how many.
    pub(crate) fn reasons(&self) -> BTreeMap<&str, usize> {
        let mut reasons = BTreeMap::new();
        for why in self.known_wrong.values() {
            *reasons.entry(why.as_str()).or_default() += 1;
        }
        reasons
    }
}

/// What the suites come to.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) suites: usize,
    cases: usize,
    pub(crate) assertions: usize,
    /// The assertions that don't hold, with what the policy says instead.
    pub(crate) wrong: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Suite {
    kind: String,
    api_version: String,
    #[expect(dead_code, reason = "its name is that of the file")]
    metadata: Value,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    name: String,
    template: String,
    constraint: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    object: String,
    #[serde(default)]
    inventory: Vec<String>,
    assertions: Vec<Assertion>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Assertion {
    #[serde(default)]
    violations: Violations,
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Violations {
    Exactly(usize),
    Some(YesNo),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum YesNo {
    Yes,
    No,
}

impl Default for Violations {
    fn default() -> Self {
        Self::Some(YesNo::Yes)
    }
}

impl Assertion {
    fn holds(&self, messages: &BTreeSet<String>) -> bool {
        let pattern = self.message.as_ref().map(|message| Regex::new(message).unwrap());
        let matching =
            messages.iter().filter(|message| pattern.as_ref().is_none_or(|pattern| pattern.is_match(message))).count();
        match self.violations {
            Violations::Exactly(number) => matching == number,
            Violations::Some(YesNo::Yes) => matching > 0,
            Violations::Some(YesNo::No) => matching == 0,
        }
    }
}

/// A ConstraintTemplate with its Constraint.
struct Policy {
    /// An entry of `regoPolicies`.
    entry: Value,
    libraries: Value,
    namespaces: Vec<String>,
    excluded_namespaces: Vec<String>,
}

/// The Constraint's `match`: what the library's suites use of it.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Match {
    #[serde(default)]
    kinds: Vec<MatchKinds>,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default)]
    excluded_namespaces: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MatchKinds {
    api_groups: Vec<String>,
    kinds: Vec<String>,
}

impl Policy {
    fn new(template: &Value, constraint: &Value) -> Self {
        let [target] = template["spec"]["targets"].as_array().unwrap().as_slice() else { panic!("one target") };
        let source = match target["code"].as_array() {
            Some(engines) => &engines.iter().find(|engine| engine["engine"] == "Rego").unwrap()["source"],
            None => target,
        };
        let rules: Match = match &constraint["spec"]["match"] {
            Value::Null => Match::default(),
            rules => serde_json::from_value(rules.clone()).unwrap(),
        };
        let kinds: Vec<String> = rules.kinds.iter().flat_map(MatchKinds::written).collect();
        let parameters = match &constraint["spec"]["parameters"] {
            Value::Null => json!({}),
            parameters => parameters.clone(),
        };
        let libraries = source["libs"].as_array().into_iter().flatten().enumerate();
        Self {
            entry: json!({
                "name": template["metadata"]["name"],
                "kinds": if kinds.is_empty() { vec!["*".to_owned()] } else { kinds },
                "parameters": parameters,
                "rego": source["rego"],
            }),
            libraries: libraries.map(|(number, rego)| json!({"name": format!("{number}"), "rego": rego})).collect(),
            namespaces: rules.namespaces,
            excluded_namespaces: rules.excluded_namespaces,
        }
    }

    /// Whether the Constraint is about the object, as far as its namespace goes.
    fn is_about(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let is_namespace = object["kind"] == "Namespace" && object["apiVersion"] == "v1";
        let Some(namespace) = if is_namespace { &metadata["name"] } else { &metadata["namespace"] }.as_str() else {
            return true;
        };
        let is_in = |names: &[String]| {
            names.iter().any(|name| {
                assert!(!name.contains('*'), "patterns of namespaces: {name}");
                name == namespace
            })
        };
        (self.namespaces.is_empty() || is_in(&self.namespaces)) && !is_in(&self.excluded_namespaces)
    }

    /// The messages of the violations. The policy has each message once, where Gatekeeper has it once for each `details`.
    fn messages(&self, object: &Value, inventory: &[Value]) -> Result<BTreeSet<String>, String> {
        let request = review(object);
        let mut settings = settings(self.entry.clone(), inventory);
        settings["regoVersion"] = "v0".into();
        settings["regoLibraries"] = self.libraries.clone();
        let decision = decide(&settings, inventory, &request)?;
        let objects = [&request["object"], &request["oldObject"]];
        if !objects.into_iter().any(|object| !object.is_null() && self.is_about(object)) {
            return Ok(BTreeSet::new());
        }
        match decision.policies.as_slice() {
            // It is of another kind.
            [] => Ok(BTreeSet::new()),
            [policy] => policy.error.clone().map_or_else(|| Ok(policy.denials.clone()), Err),
            others => Err(format!("{} policies decided", others.len())),
        }
    }
}

impl MatchKinds {
    /// As `kinds` of a policy has them.
    fn written(&self) -> Vec<String> {
        let mut written = Vec::new();
        for group in &self.api_groups {
            for kind in &self.kinds {
                assert!(group != "*" && kind != "*", "patterns of kinds: {group}/{kind}");
                written.push(match group.as_str() {
                    // No Kubernetes serves these any more, so that they are refused, and the suites have objects of them.
                    "extensions" => kind.clone(),
                    "policy" if kind == "PodSecurityPolicy" => kind.clone(),
                    "" => format!("core/{kind}"),
                    group => format!("{group}/{kind}"),
                });
            }
        }
        written
    }
}

/// The request for an object, or the one that it is. What a review leaves out, an API server fills in.
fn review(object: &Value) -> Value {
    if object["kind"] != "AdmissionReview" {
        let mut request = request(object, None, "CREATE");
        request["userInfo"] = json!({});
        return request;
    }
    let given = object["request"].as_object().unwrap();
    let object = given.get("object").or_else(|| given.get("oldObject")).unwrap();
    let mut request = request(object, given.get("oldObject"), given["operation"].as_str().unwrap());
    request["userInfo"] = json!({});
    request["object"] = Value::Null;
    for (key, value) in given {
        request[key] = value.clone();
    }
    request
}

/// The documents of a file.
fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let documents = yaml_serde::Deserializer::from_str(&text).map(|document| Value::deserialize(document).unwrap());
    documents.filter(|document| !document.is_null()).collect()
}

fn document(path: &Path) -> Value {
    let mut documents = documents(path);
    assert_eq!(documents.len(), 1, "{}", path.display());
    documents.remove(0)
}

/// Every suite in and below a folder.
fn suites(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if path.is_dir() {
            suites(&path, found);
        } else if path.ends_with("suite.yaml") {
            found.push(path);
        }
    }
}

/// Holds all assertions of a library.
pub(crate) fn run(expected: &Expected, checkout: &Path) -> Found {
    let mut paths = Vec::new();
    suites(&checkout.join(&expected.folder), &mut paths);
    paths.sort();
    let mut found = Found { suites: paths.len(), ..Found::default() };
    for path in paths {
        let suite: Suite =
            serde_json::from_value(document(&path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert_eq!((suite.kind.as_str(), suite.api_version.as_str()), ("Suite", "test.gatekeeper.sh/v1alpha1"));
        let folder = path.parent().unwrap();
        let shown = folder.strip_prefix(checkout).unwrap().display();
        for test in &suite.tests {
            let policy =
                Policy::new(&document(&folder.join(&test.template)), &document(&folder.join(&test.constraint)));
            for case in &test.cases {
                let inventory: Vec<Value> =
                    case.inventory.iter().flat_map(|path| documents(&folder.join(path))).collect();
                let messages = policy.messages(&document(&folder.join(&case.object)), &inventory);
                found.cases += 1;
                for (number, assertion) in (1..).zip(&case.assertions) {
                    found.assertions += 1;
                    if !messages.as_ref().is_ok_and(|messages| assertion.holds(messages)) {
                        let name = format!("{shown}: {}, {}, {number}", test.name, case.name);
                        let said = messages.as_ref().map_or_else(Clone::clone, |messages| format!("{messages:?}"));
                        assert!(found.wrong.insert(name.clone(), said).is_none(), "two assertions are named {name}");
                    }
                }
            }
        }
    }
    found
}

/// What the real `gator` finds wrong, if the environment names one: it must hold as many cases as the ledger says.
pub(crate) fn asked_of_gator(expected: &Expected, checkout: &Path) -> Option<String> {
    let gator = std::env::var_os("GATOR")?;
    let suites = format!("./{}/...", expected.folder);
    let output = Command::new(gator).args(["verify", "-v", &suites]).current_dir(checkout).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    // Tests stand in the first column, and cases below them.
    let cases = told.lines().filter(|line| line.starts_with("    --- PASS: ")).count();
    if output.status.success() && cases == expected.cases {
        return None;
    }
    Some(format!("gator: {}, with {cases} of {} cases that hold:\n{told}", output.status, expected.cases))
}

impl Found {
    /// Where the ledger says otherwise.
    pub(crate) fn problems(&self, expected: &Expected) -> Vec<String> {
        let mut problems = Vec::new();
        let numbers = [("cases", self.cases, expected.cases), ("assertions", self.assertions, expected.assertions)];
        for (what, found, expected) in numbers {
            if found != expected {
                problems.push(format!("the suites have {found} {what}, and the ledger says {expected}"));
            }
        }
        let unknown = self.wrong.iter().filter(|(name, _)| !expected.known_wrong.contains_key(*name));
        problems.extend(unknown.map(|(name, said)| format!("{name}: doesn't hold: {said}")));
        let right = expected.known_wrong.keys().filter(|name| !self.wrong.contains_key(*name));
        problems.extend(right.map(|name| format!("{name}: holds now, or isn't there: take it out of the ledger")));
        problems
    }
}
