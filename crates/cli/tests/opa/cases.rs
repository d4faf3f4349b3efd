//! OPA's own conformance cases, in v0 and v1, each with what came of it. docs/rego-reference.md has the table.

use super::alike::{alike, sorted};
use image_admission_rego::conformance::{Question, Unanswered, answer};
use image_admission_settings::RegoVersion;
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// What a guest can't have: a network, a process, chance, and what only OPA's own tests define.
const OUT_OF_SCOPE: [&str; 8] = [
    "http.send",
    "net.lookup_ip_addr",
    "opa.runtime",
    "providers.aws.",
    "rand.intn",
    "rego.parse_module",
    "test.sleep",
    "uuid.rfc4122",
];
/// Builtins that no rule of admission has a use for.
const NOT_BUILT: [&str; 18] = [
    "array.flatten",
    "cast_boolean",
    "cast_null",
    "cast_object",
    "cast_string",
    "crypto.hmac.",
    "crypto.md5",
    "crypto.parse_private_keys",
    "crypto.sha1",
    "crypto.x509.",
    "graphql.",
    "io.jwt.",
    "json.match_schema",
    "json.verify_schema",
    "regex.globs_match",
    "strings.render_template",
    "strings.split_n",
    "uri.",
];
/// The cases that end with an error where OPA has an answer.
const FAILING: [&str; 3] = [
    "jsonbuiltins/unmarshal number beyond the supported exponent is undefined",
    "jsonbuiltins/unmarshal number with large exponent within limits",
    "jsonbuiltins/unmarshal number with too big an exponent is undefined",
];
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
    #[expect(dead_code, reason = "only `opa.runtime` sees it")]
    env: Option<BTreeMap<String, String>>,
}

/// What came of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Right,
    OutOfScope,
    NotBuilt,
    Refused,
    Failed,
    Different,
}

impl Verdict {
    const ALL: [Self; 6] =
        [Self::Right, Self::OutOfScope, Self::NotBuilt, Self::Refused, Self::Failed, Self::Different];

    fn words(self) -> &'static str {
        match self {
            Self::Right => "the same answer, or an error as in OPA",
            Self::OutOfScope => "refused: a guest has no network, no process and no chance",
            Self::NotBuilt => "refused: builtins that no rule about images needs",
            Self::Refused => "refused: anything else",
            Self::Failed => "an error, where OPA has an answer",
            Self::Different => "another answer",
        }
    }
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

fn refused(why: &str) -> Verdict {
    let names = |all: &[&str]| all.iter().any(|name| why.contains(&format!("`{name}")));
    if names(&OUT_OF_SCOPE) {
        Verdict::OutOfScope
    } else if names(&NOT_BUILT) {
        Verdict::NotBuilt
    } else {
        Verdict::Refused
    }
}

/// The verdict, and what to say of it.
fn judge(case: &Case, version: RegoVersion) -> (Verdict, String) {
    let modules: Vec<&str> = case.modules.iter().flatten().map(String::as_str).collect();
    let empty = json!({});
    let question = Question {
        modules: &modules,
        version,
        data: case.data.as_ref().filter(|data| !data.is_null()).unwrap_or(&empty),
        input: case.input.as_ref(),
        input_term: case.input_term.as_deref(),
        query: &case.query,
        now: Timestamp(1_700_000_000),
    };
    let answered = catch_unwind(|| answer(&question)).unwrap_or_else(|_| panic!("{} ends the module", case.note));
    let is_error = case.want_error_code.is_some() || case.want_error.is_some();
    match answered {
        Err(Unanswered::Refused(why)) if is_error => {
            assert!(why.contains("line ") || why.contains("function"), "{} has no line: {why}", case.note);
            (Verdict::Right, String::new())
        }
        Err(Unanswered::Failed(_)) if is_error => (Verdict::Right, String::new()),
        Err(Unanswered::Refused(why)) => (refused(&why), why),
        Err(Unanswered::Failed(why)) => (Verdict::Failed, why),
        // Errors of builtins are undefined here, as in OPA without strict errors.
        Ok(_) if is_error && case.strict_error => (Verdict::Right, String::new()),
        Ok(found) if is_error => (Verdict::Different, format!("{}, and no error", json!(found))),
        Ok(found) => {
            let wanted = case.want_result.as_ref().map(|wanted| sorted(wanted, case.sort_bindings));
            let found = sorted(&found, case.sort_bindings);
            let is_right = match (&wanted, case.want_defined) {
                (Some(wanted), _) => alike(&json!(found), &json!(wanted)),
                (None, Some(defined)) => defined != found.is_empty(),
                (None, None) => panic!("{} wants nothing", case.note),
            };
            let verdict = if is_right { Verdict::Right } else { Verdict::Different };
            (verdict, format!("{} and not {}", json!(found), json!(wanted)))
        }
    }
}

#[test]
#[ignore = "reads OPA's cases: `make test-opa`"]
fn opas_cases_are_answered_as_the_ledger_says() {
    let folder = PathBuf::from(std::env::var_os("OPA_CASES").expect("OPA_CASES names the folder of cases"));
    let mut counts: BTreeMap<(Verdict, &str), usize> = BTreeMap::new();
    let mut others = String::new();
    let mut wrong = Vec::new();
    for (name, version) in [("v0", RegoVersion::V0), ("v1", RegoVersion::V1)] {
        let mut paths = Vec::new();
        files(&folder.join(name), &mut paths);
        for path in paths {
            let file: File = yaml_serde::from_str(&std::fs::read_to_string(&path).unwrap())
                .unwrap_or_else(|why| panic!("{}: {why}", path.display()));
            for case in file.cases {
                let (verdict, why) = judge(&case, version);
                *counts.entry((verdict, name)).or_default() += 1;
                if verdict != Verdict::Right {
                    writeln!(others, "{verdict:?}\t{name}\t{}\t{}", case.note, why.replace('\n', " ")).unwrap();
                }
                let is_known = match verdict {
                    Verdict::Failed => FAILING.contains(&case.note.as_str()),
                    Verdict::Different => false,
                    _ => true,
                };
                if !is_known {
                    wrong.push(format!("{verdict:?} {name} {}: {why}", case.note));
                }
            }
        }
    }
    if let Some(file) = std::env::var_os("OPA_OTHERS") {
        std::fs::write(file, &others).unwrap();
    }
    let mut table = "| OPA's conformance cases | v0 | v1 |\n|---|---|---|\n".to_owned();
    for verdict in Verdict::ALL {
        let count = |version| counts.get(&(verdict, version)).copied().unwrap_or_default();
        writeln!(table, "| {} | {} | {} |", verdict.words(), count("v0"), count("v1")).unwrap();
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let guide = include_str!("../../../../docs/rego-reference.md");
    assert!(guide.contains(&table), "docs/rego-reference.md has another table than this one");
}
