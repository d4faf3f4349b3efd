//! The same questions to the real OPA and to the engine.

use super::alike::alike;
use super::judge;
use image_admission_engine::Timestamp;
use image_admission_engine::rego::conformance::{Question, Unanswered, answer};
use image_admission_engine::settings::RegoVersion;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Asks both for `data.p.main` of each module and input, and names what differs. An error here that `is_refusal` is no difference.
pub(super) fn differences(questions: &[(String, &str, Value)], is_refusal: impl Fn(&str) -> bool) -> String {
    let judge = std::env::var_os("OPA_JUDGE").unwrap();
    let mut lines = String::new();
    for (_, module, input) in questions {
        writeln!(lines, "{}", json!({"modules": [module], "v1": true, "query": "data.p.main = x", "input": input}))
            .unwrap();
    }
    let said = judge::ask(&judge, lines);
    assert_eq!(said.len(), questions.len());
    let mut wrong = String::new();
    for ((name, module, input), said) in questions.iter().zip(said) {
        let question = Question {
            modules: &[module],
            version: RegoVersion::V1,
            data: &json!({}),
            input: Some(input),
            input_term: None,
            query: "data.p.main = x",
            now: Timestamp(1_700_000_000),
        };
        let ours = match answer(&question) {
            Ok(ways) => json!(ways),
            Err(Unanswered::Failed(why)) if is_refusal(&why) => continue,
            Err(why) => json!(format!("{why:?}")),
        };
        // A text where OPA wants one of another type ends OPA; here it is undefined.
        let theirs = match said.error {
            Some(why) if why.starts_with("panic: ") => json!([]),
            Some(why) => json!(why),
            None => json!(said.result.unwrap_or_default()),
        };
        if !alike(&ours, &theirs) {
            writeln!(wrong, "{name}:\nhere {ours}\nOPA  {theirs}").unwrap();
        }
    }
    wrong
}
