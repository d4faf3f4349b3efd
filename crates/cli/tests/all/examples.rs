//! The suites of `examples/`, run as their users run them, and what they have to show: every setting that is documented,
//! with a request that is allowed and one that is rejected; and every one that is refused.

use crate::support;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use image_admission_engine::check_settings;
use serde_json::{Value, json};
use support::{module_path, root};
use tempfile::TempDir;

#[test]
fn every_suite_passes() {
    let count: usize = suites().iter().map(|(_, suite)| suite["tests"].as_array().unwrap().len()).sum();
    let ran = image_admission(&["test", "--module", &module_path().display().to_string(), "examples"]);
    assert_eq!(ran, (format!("PASS: {count}/{count}\n"), String::new()));
}

#[test]
fn every_setting_is_in_a_case_that_is_allowed_and_in_one_that_is_rejected() {
    let mut verdicts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Case { settings, verdict, .. } in cases() {
        for path in paths_of(&settings) {
            verdicts.entry(path).or_default().insert(verdict.clone());
        }
    }
    let shown = |path: &str, verdict: &str| verdicts.get(path).is_some_and(|verdicts| verdicts.contains(verdict));
    let mut missing = Vec::new();
    for path in documented() {
        let wanted: &[&str] = if REFUSED.contains(&path.as_str()) { &["invalid"] } else { &["allowed", "rejected"] };
        for verdict in wanted.iter().filter(|verdict| !shown(&path, verdict)) {
            missing.push(format!("{path}: no case with it is {verdict}"));
        }
    }
    assert!(missing.is_empty(), "examples/ lacks {}:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn without_any_setting_some_case_would_end_differently() {
    let folder = TempDir::new().unwrap();
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.verdict != "invalid").collect();
    let mut open = BTreeSet::new();
    for path in documented().into_iter().filter(|path| !REFUSED.contains(&path.as_str())) {
        let mut mutants = Vec::new();
        let mut is_required = false;
        for case in &cases {
            let mut settings = case.settings.clone();
            if !remove(&mut settings, "", &path) {
                continue;
            }
            is_required |= check_settings(&settings).is_err();
            let mut mutant = case.alone.clone();
            mutant["name"] = json!(format!("{path}, {}", mutants.len()));
            mutant["settings"] = settings;
            mutants.push(mutant);
        }
        // What no case has, another test misses.
        if !is_required && !mutants.is_empty() {
            let suite = folder.path().join(format!("{}_test.yaml", open.len()));
            fs::write(suite, json!({"exact": true, "tests": mutants}).to_string()).unwrap();
            open.insert(path);
        }
    }
    let (module, suites) = (module_path().display().to_string(), folder.path().display().to_string());
    let (output, errors) = image_admission(&["test", "--module", &module, "-o", "json", &suites]);
    let results: Vec<Value> = serde_json::from_str(&output).unwrap_or_else(|_| panic!("{errors}"));
    for result in results.iter().filter(|result| result.get("fail").or(result.get("error")).is_some()) {
        open.remove(result["name"].as_str().unwrap().rsplit_once(", ").unwrap().0);
    }
    let expected: BTreeSet<String> = WITHOUT_DIFFERENCE.iter().map(|path| (*path).to_owned()).collect();
    assert_eq!(open, expected, "settings that can be left out of every case");
}

/// What every example rejects, when it was there before: neither a label that changes nor a finalizer that goes is held back. Rules in
/// Rego that look at more than the new images are asked all the same.
#[test]
fn what_is_rejected_can_still_be_labelled_and_deleted() {
    let folder = TempDir::new().unwrap();
    let mut updates = Vec::new();
    for Case { settings, verdict, alone } in cases() {
        let is_created =
            ["oldObject", "operation", "request", "manifest", "replay"].iter().all(|key| alone.get(key).is_none());
        let rules = settings.get("regoPolicies").map(Value::to_string).unwrap_or_default();
        let sees_new_images_alone = ["imageConfigs", "sbomPackages"].iter().any(|key| rules.contains(key));
        let is_about_images = rules.is_empty() && !settings.to_string().contains("conftest.") || sees_new_images_alone;
        let judges_existing = settings.to_string().contains(r#""existingImages":"judge""#);
        if verdict != "rejected" || !is_created || !is_about_images || judges_existing || !alone["object"].is_object() {
            continue;
        }
        let before = &alone["object"];
        let labelled = with_metadata(before, "labels", json!({"changed": "now"}));
        let finalized = |finalizers: Value| {
            let deleted = with_metadata(before, "deletionTimestamp", json!("2026-11-01T00:00:00Z"));
            with_metadata(&deleted, "finalizers", finalizers)
        };
        for (object, old) in
            [(labelled, before.clone()), (finalized(json!([])), finalized(json!(["example.com/cleanup"])))]
        {
            let mut update = alone.clone();
            let name = format!("{} {}", updates.len(), alone["name"].as_str().unwrap());
            // Nobody is asked, but for rights.
            let keys = if settings.get("breakGlass").is_some() { &["images"][..] } else { &["images", "cluster"] };
            update.as_object_mut().unwrap().retain(|key, _| !keys.contains(&key.as_str()));
            for (key, value) in [("name", json!(name)), ("settings", settings.clone()), ("operation", json!("UPDATE"))]
            {
                update[key] = value;
            }
            (update["object"], update["oldObject"]) = (object, old);
            update["expect"] = json!({"verdict": "allowed", "calls": 0});
            // Whose right it is to break the glass is asked first of all.
            if settings.get("breakGlass").is_some() {
                update["expect"] = json!({"verdict": "allowed"});
            }
            updates.push(update);
        }
    }
    let count = updates.len();
    assert!(count > 200, "{count}");
    fs::write(folder.path().join("updates_test.yaml"), json!({"tests": updates}).to_string()).unwrap();
    let (module, suites) = (module_path().display().to_string(), folder.path().display().to_string());
    assert_eq!(
        image_admission(&["test", "--module", &module, &suites]),
        (format!("PASS: {count}/{count}\n"), String::new())
    );
}

fn with_metadata(object: &Value, key: &str, value: Value) -> Value {
    let mut changed = object.clone();
    changed["metadata"][key] = value;
    changed
}

#[test]
fn lint_has_nothing_to_say_that_a_comment_does_not_explain() {
    let mut files = Vec::new();
    files_below(&root().join("examples"), &mut files);
    let is_linted = |name: &str| name.starts_with("settings") || name == "admission-policy.yaml";
    files.retain(|path| path.file_name().is_some_and(|name| is_linted(&name.to_string_lossy())));
    assert!(files.len() > 10, "where are the settings?");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        // Which namespaces a policy sees is said beside the settings, in its manifest.
        let arguments = ["lint", "--allow", "kube-system", "--output", "json", &name];
        let (output, errors) = image_admission(&arguments);
        assert_eq!(errors, "", "{name}");
        let remarks: Vec<Value> = serde_json::from_str(&output).unwrap();
        for remark in remarks {
            let comment = format!("`{}`", remark["rule"].as_str().unwrap());
            let is_explained = text.lines().any(|line| line.contains('#') && line.contains(&comment));
            assert!(is_explained, "{name}: no comment says why lint finds {comment}: {remark}");
        }
    }
}

#[test]
fn the_index_names_every_folder() {
    let index = fs::read_to_string(root().join("examples/README.md")).unwrap();
    let folders = fs::read_dir(root().join("examples")).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let name = format!("`{}`", folder.file_name().unwrap().to_string_lossy());
        assert!(index.contains(&name), "examples/README.md doesn't name {name}");
    }
}

/// Settings of resources that can be pasted, and of Sysdig's controllers, which are known in order to say what to do instead.
const REFUSED: &[&str] = &[
    "sysdigSecureToken",
    "sysdigSecureApiUrl",
    "scanPolicyId",
    "scanPolicies.scanPolicyId",
    "imageVerification[].attestors[].cosign.ctlog.ctLogPubKey",
    "imageVerification[].attestors[].cosign.ctlog.ignoreSCT",
    "imageVerification[].attestors[].cosign.ctlog.insecureIgnoreSCT",
    "imageVerification[].attestors[].cosign.ctlog.rekorPubKey",
    "imageVerification[].attestors[].cosign.ctlog.tsaCertChain",
    "imageVerification[].attestors[].cosign.key.expression",
    "imageVerification[].attestors[].cosign.source",
    "imageVerification[].attestors[].cosign.tuf",
    "imageVerification[].credentials",
    "imageVerification[].webhookConfiguration",
];

/// What a ConfigMap of Conftest's has: keys that the schema knows by how they begin.
const OF_CONFTEST: [&str; 3] = ["conftest.policy.*.rego", "conftest.policy.*.kinds", "conftest.library.*.rego"];

/// Settings that change nothing that a suite could see: the log and the audit annotations, and what may only have the
/// value that it has anyway, so that a resource can be pasted.
const WITHOUT_DIFFERENCE: &[&str] = &[
    "imageVerification[].apiVersion",
    "imageVerification[].attestors[].cosign.ctlog.url",
    "imageVerification[].attestors[].cosign.key.hashAlgorithm",
    "imageVerification[].attestors[].cosign.key.kms",
    "imageVerification[].auditAnnotations",
    "imageVerification[].evaluation",
    "imageVerification[].evaluation.admission",
    "imageVerification[].evaluation.background",
    "imageVerification[].evaluation.mode",
    "imageVerification[].kind",
    "imageVerification[].matchConstraints.excludeResourceRules",
    "imageVerification[].matchConstraints.matchPolicy",
    "imageVerification[].matchConstraints.namespaceSelector",
    "imageVerification[].matchConstraints.objectSelector",
    "imageVerification[].matchConstraints.resourceRules[].scope",
    "imageVerification[].status",
    "imageVerification[].validationConfigurations.required",
    "imageVerification[].verifications[].reason",
    "verboseLog",
];

/// The paths of all settings, like `exemptions[].images` and `preScanPolicies.byNamespace.*.defaultPolicy`: those of the schema,
/// which is made of the settings' types.
fn documented() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(&read(&root().join("settings.schema.json")), "", &mut found);
    // What makes a ConfigMap one, and another form of a certificate, are no settings.
    found.retain(|path| !(path.starts_with("regoPolicies") && NO_SETTINGS.iter().any(|key| path.ends_with(key))));
    found.retain(|path| !path.ends_with(".value"));
    found.extend(OF_CONFTEST.iter().chain(REFUSED).map(|path| (*path).to_owned()));
    found
}

const NO_SETTINGS: [&str; 4] = [".apiVersion", ".kind", ".metadata", ".immutable"];

/// Takes in the settings that a part of the schema describes.
fn collect(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    for key in ["anyOf", "oneOf", "allOf"] {
        for choice in schema[key].as_array().into_iter().flatten() {
            collect(choice, path, found);
        }
    }
    for (key, of) in schema["properties"].as_object().into_iter().flatten() {
        let below = join(path, key);
        found.insert(normal(&below));
        collect(of, &below, found);
    }
    collect_nested(&schema["items"], format!("{path}[]"), found);
    collect_nested(&schema["additionalProperties"], join(path, "any"), found);
}

fn collect_nested(schema: &Value, path: String, found: &mut BTreeSet<String>) {
    if schema.is_object() {
        collect(schema, &path, found);
    }
}

/// The path of a setting that is another one under a second name, or in a second place.
fn normal(path: &str) -> String {
    const SAME: [(&str, &str); 20] = [
        ("policies.", "scanPolicies."),
        // What a resource has in its `spec` is what else stands in the settings themselves.
        ("imageVerification[].spec.", "imageVerification[]."),
        ("imageVerification[].validations[].", "imageVerification[].verifications[]."),
        // SBOMs stand where reports do.
        ("reports.sboms[].sbomscanner.", "reports.sources[].sbomscanner."),
        ("reports.sboms[].trivyOperator.", "reports.sources[].trivyOperator."),
        ("reports.sboms[].registry.", "reports.sources[].registry."),
        ("reports.sboms[].attestation.", "reports.sources[].attestation."),
        ("reports.sources[].attestation.attestors[].", "imageVerification[].attestors[]."),
        ("reports.sources[].registry.attestors[].", "imageVerification[].attestors[]."),
        ("reports.vex[].attestors[].", "imageVerification[].attestors[]."),
        ("acceptance.byNamespace.*.maxSeverity.", "acceptance.maxSeverity."),
        ("acceptance.byNamespace.*.cvssScore.", "acceptance.cvssScore."),
        ("acceptance.byNamespace.*.fixGracePeriod.", "acceptance.fixGracePeriod."),
        ("acceptance.byNamespace.*.unfixedGracePeriod.", "acceptance.unfixedGracePeriod."),
        ("acceptance.byNamespace.*.running.", "acceptance.running."),
        ("acceptance.byNamespace.*.knownExploited.", "acceptance.knownExploited."),
        ("acceptance.byNamespace.*.epss.", "acceptance.epss."),
        ("acceptance.byNamespace.*.packages.", "acceptance.packages."),
        ("acceptance.byNamespace.*.licenses.", "acceptance.licenses."),
        ("regoPolicies.data.conftest.", "conftest."),
    ];
    let mut path = path.to_owned();
    for (second, first) in SAME {
        if let Some(rest) = path.strip_prefix(second) {
            path = format!("{first}{rest}");
        }
    }
    // Their keys have the name of a policy in them.
    for kind in ["conftest.policy.", "conftest.library."] {
        if let Some((_, of)) = path.strip_prefix(kind).and_then(|rest| rest.rsplit_once('.')) {
            path = format!("{kind}*.{of}");
        }
    }
    path
}

/// The path of a key. Namespaces have all the same settings.
fn join(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        path if path.ends_with("byNamespace") => format!("{path}.*"),
        path => format!("{path}.{key}"),
    }
}

/// The paths of the settings that a value has.
fn paths_of(settings: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut waiting = vec![(String::new(), settings)];
    while let Some((path, value)) = waiting.pop() {
        match value {
            Value::Null => continue,
            Value::Object(map) => waiting.extend(map.iter().map(|(key, value)| (join(&path, key), value))),
            Value::Array(list) => waiting.extend(list.iter().map(|value| (format!("{path}[]"), value))),
            _ => {}
        }
        paths.insert(normal(&path));
    }
    paths
}

/// Removes a setting wherever it is, and tells whether it was there.
fn remove(value: &mut Value, path: &str, wanted: &str) -> bool {
    match value {
        Value::Object(map) => {
            let all = map.len();
            map.retain(|key, value| value.is_null() || normal(&join(path, key)) != wanted);
            let is_gone = map.len() < all;
            map.iter_mut().fold(is_gone, |gone, (key, value)| remove(value, &join(path, key), wanted) || gone)
        }
        Value::Array(list) => {
            let gone: Vec<bool> = list.iter_mut().map(|value| remove(value, &format!("{path}[]"), wanted)).collect();
            gone.contains(&true)
        }
        _ => false,
    }
}

/// A case of a suite.
struct Case {
    /// All of its settings.
    settings: Value,
    /// What is expected.
    verdict: String,
    /// The case without settings, which shares nothing and may stand in any folder.
    alone: Value,
}

/// All of them.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (path, suite) in suites() {
        let folder = path.parent().unwrap();
        for case in suite["tests"].as_array().unwrap() {
            let own = case.get("settings").or(suite.get("settings"));
            let mut settings = match own {
                Some(Value::String(file)) => settings_in(read(&folder.join(file))),
                Some(inline) => inline.clone(),
                None => json!({}),
            };
            if let Some(patch) = case.get("settingsPatch") {
                json_patch::merge(&mut settings, patch);
            }
            let mut alone = case.clone();
            let map = alone.as_object_mut().unwrap();
            map.retain(|key, _| !key.starts_with("settings"));
            let shared: &[&str] = if map.contains_key("replay") { &[] } else { &["images", "cluster"] };
            for key in shared.iter().filter(|key| suite.get(**key).is_some()) {
                map.entry(*key).or_insert(suite[*key].clone());
            }
            for key in ["images", "cluster", "replay", "manifest", "request", "oldObject"] {
                if let Some(Value::String(file)) = map.get_mut(key) {
                    *file = folder.join(&*file).display().to_string();
                }
            }
            let verdict = case["expect"]["verdict"].as_str().unwrap().to_owned();
            cases.push(Case { settings, verdict, alone });
        }
    }
    cases
}

/// The settings of a file, which may be those of a policy.
fn settings_in(document: Value) -> Value {
    if document["kind"] == "AdmissionPolicy" { document["spec"]["settings"].clone() } else { document }
}

/// Runs the command line at the root of the workspace: what it writes, and what it writes of errors.
fn image_admission(arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    let output = command.current_dir(root()).args(arguments).output().unwrap();
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The suites below `examples/`.
fn suites() -> Vec<(PathBuf, Value)> {
    let mut files = Vec::new();
    files_below(&root().join("examples"), &mut files);
    files.retain(|path| path.to_string_lossy().ends_with("_test.yaml"));
    assert!(files.len() > 10, "where are the suites?");
    files.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

fn read(path: &Path) -> Value {
    yaml_serde::from_str(&fs::read_to_string(path).unwrap()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { files_below(&path, files) } else { files.push(path) }
    }
}
