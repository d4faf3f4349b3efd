//! OPA's own conformance cases. Their texts are OPA's, and not here: `make test-opa` reads them from OPA's Go module.

use super::alike::{alike, sorted};
use image_admission_engine::Timestamp;
use image_admission_engine::rego::conformance::{Question, Unanswered, answer};
use image_admission_engine::settings::RegoVersion;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

/// One case, as OPA writes it down.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Case {
    note: String,
    query: String,
    modules: Option<Vec<String>>,
    data: Option<Value>,
    input: Option<Value>,
    input_term: Option<String>,
    want_defined: Option<bool>,
    want_result: Option<Vec<Value>>,
    want_error_code: Option<String>,
    want_error: Option<String>,
    #[serde(default)]
    sort_bindings: bool,
    #[serde(default)]
    #[expect(dead_code, reason = "the engine makes no variables of its own")]
    ignore_generated_vars: bool,
    #[serde(default)]
    strict_error: bool,
    #[serde(default)]
    #[expect(dead_code, reason = "a module imports what it needs")]
    experimental_keywords: bool,
    env: Option<BTreeMap<String, String>>,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Right,
    Refused(String),
    Failed(String),
    Silent(String),
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

fn judge(case: &Case, version: RegoVersion) -> Verdict {
    let modules: Vec<&str> = case.modules.iter().flatten().map(String::as_str).collect();
    let empty = json!({});
    let data = case.data.as_ref().filter(|data| !data.is_null()).unwrap_or(&empty);
    let question = Question {
        modules: &modules,
        version,
        data,
        input: case.input.as_ref(),
        input_term: case.input_term.as_deref(),
        query: &case.query,
        now: Timestamp(1_700_000_000),
    };
    let answered = catch_unwind(|| answer(&question)).unwrap_or_else(|_| Err(Unanswered::Failed("PANIC".to_owned())));
    let error = case.want_error_code.is_some() || case.want_error.is_some();
    match answered {
        Err(Unanswered::Refused(_) | Unanswered::Failed(_)) if error => Verdict::Right,
        Err(Unanswered::Refused(why)) => Verdict::Refused(why),
        Err(Unanswered::Failed(why)) => Verdict::Failed(why),
        Ok(found) if error => {
            if case.strict_error && found.is_empty() {
                return Verdict::Right;
            }
            Verdict::Silent(format!(
                "no error, but {}; wanted {:?} {:?}",
                json!(found),
                case.want_error_code,
                case.want_error
            ))
        }
        Ok(found) => {
            if let Some(wanted) = &case.want_result {
                let (one, other) = (sorted(&found, case.sort_bindings), sorted(wanted, case.sort_bindings));
                if alike(&json!(one), &json!(other)) {
                    Verdict::Right
                } else {
                    Verdict::Silent(format!("{} not {}", json!(one), json!(other)))
                }
            } else if let Some(defined) = case.want_defined {
                if defined == !found.is_empty() { Verdict::Right } else { Verdict::Silent(format!("{}", json!(found))) }
            } else {
                Verdict::Silent("nothing wanted".to_owned())
            }
        }
    }
}

#[test]
#[ignore = "reads OPA's cases: `make test-opa`"]
fn opas_cases() {
    let folder = PathBuf::from(std::env::var_os("OPA_CASES").expect("OPA_CASES names the folder of cases"));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for version in ["v0", "v1"] {
        let mut paths = Vec::new();
        files(&folder.join(version), &mut paths);
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            let file: File = match yaml_serde::from_str(&text) {
                Ok(file) => file,
                Err(why) => {
                    lines.push(format!("UNREAD {}: {why}", path.display()));
                    continue;
                }
            };
            let rego = if version == "v0" { RegoVersion::V0 } else { RegoVersion::V1 };
            for case in file.cases {
                let verdict = judge(&case, rego);
                let name = match &verdict {
                    Verdict::Right => "right",
                    Verdict::Refused(_) => "refused",
                    Verdict::Failed(_) => "failed",
                    Verdict::Silent(_) => "silent",
                };
                *counts.entry(name).or_default() += 1;
                let short = path.strip_prefix(&folder).unwrap().display();
                let _ = &case.env;
                match verdict {
                    Verdict::Right => {}
                    Verdict::Refused(why) | Verdict::Failed(why) | Verdict::Silent(why) => {
                        lines.push(format!("{name}\t{}\t{}\t{short}\t{}", case.note, why.replace('\n', " "), version));
                    }
                }
            }
        }
    }
    std::fs::write("/tmp/opa-cases.txt", lines.join("\n")).unwrap();
    println!("{counts:?}");
}
