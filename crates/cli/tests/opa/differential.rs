//! Generated modules, answered here and by the real OPA.

use super::alike::{alike, sorted};
use super::generator::{Case, case};
use super::judge;
use image_admission_rego::conformance::{Question, Unanswered, answer};
use image_admission_settings::RegoVersion;
use image_admission_untrusted::time::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::catch_unwind;

/// How many cases, unless `OPA_GENERATED` says so.
const CASES: u64 = 2000;

const QUERY: &str = "data.p.main = x";

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn generated_modules_answer_as_in_opa() {
    let judge = std::env::var_os("OPA_JUDGE").expect("OPA_JUDGE names the program of e2e-tests/opa");
    let (seed, count) = (number("OPA_SEED", 1), number("OPA_GENERATED", CASES));
    let cases: Vec<(bool, Case)> =
        (seed..seed + count).map(|seed| (seed % 4 != 0, case(seed, seed % 4 != 0))).collect();
    let mut questions = String::new();
    for (v1, case) in &cases {
        let line = json!({"modules": [case.module], "v1": v1, "query": QUERY, "input": case.input});
        writeln!(questions, "{line}").unwrap();
    }
    let said = judge::ask(&judge, questions);
    assert_eq!(said.len(), cases.len());

    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = String::new();
    for (number, ((v1, case), said)) in (seed..).zip(cases.iter().zip(&said)) {
        let empty = json!({});
        let question = Question {
            modules: &[&case.module],
            version: if *v1 { RegoVersion::V1 } else { RegoVersion::V0 },
            data: &empty,
            input: Some(&case.input),
            input_term: None,
            query: QUERY,
            now: Timestamp(1_700_000_000),
        };
        let ours = catch_unwind(|| answer(&question)).unwrap_or_else(|_| Err(Unanswered::Failed("PANIC".to_owned())));
        let verdict = match (&ours, &said.result, &said.error) {
            (_, _, Some(error))
                if error.contains("type_error") || error.contains("_compile_error") || error.contains("rego_") =>
            {
                "not compiled by OPA"
            }
            (Err(_), _, Some(_)) => "both fail",
            (Ok(_), _, Some(_)) => "only OPA fails",
            (Err(Unanswered::Refused(_)), Some(_), None) => "refused",
            (Err(Unanswered::Failed(_)), Some(_), None) => "failed",
            (Ok(found), Some(result), None) => {
                if alike(&json!(sorted(found, false)), &json!(sorted(result, false))) {
                    "same"
                } else {
                    "different"
                }
            }
            (_, None, None) => panic!("OPA said nothing"),
        };
        *counts.entry(verdict).or_default() += 1;
        if matches!(verdict, "different" | "refused" | "failed" | "only OPA fails") {
            let said = said.error.clone().unwrap_or_else(|| json!(said.result).to_string());
            let ours = match ours {
                Ok(found) => json!(found).to_string(),
                Err(why) => format!("{why:?}"),
            };
            writeln!(
                wrong,
                "--- {verdict}, seed {number}\n{}\ninput {}\nOPA  {said}\nhere {ours}\n",
                case.module, case.input
            )
            .unwrap();
        }
    }
    if let Some(file) = std::env::var_os("OPA_DIFFERENCES") {
        std::fs::write(file, &wrong).unwrap();
    }
    println!("{count} generated cases from seed {seed}: {counts:?}");
    assert_eq!(counts.get("different"), None, "{}", wrong.chars().take(4000).collect::<String>());
}
