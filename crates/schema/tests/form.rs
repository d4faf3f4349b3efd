//! What Rancher's form makes of its questions are valid settings: as it is shown, with each question answered, and with all.
//!
//! `Form` does what Rancher's extension for Kubewarden does with questions: it shows those whose conditions hold, writes the
//! defaults of what it shows, sets values at their dotted paths, and takes out what is empty when it is saved.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "in tests a panic is a failure")]

use image_admission_engine::check_settings;
use image_admission_schema::{EXAMPLES, form, schema};
use image_admission_settings::{Acceptance, Settings};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEZd4V/st+w837Vw+oercc4fGOidWX\nawcFfNu/9f+Ft2Bn2FCYtpA7rYK+sMmI958fKV6cEoXFgLGZg2Eg7Ru/fg==\n-----END PUBLIC KEY-----\n";

/// What people write, by the last key of a question's variable.
fn answer(variable: &str) -> Value {
    let (before, key) = variable.rsplit_once('.').unwrap_or(("", variable));
    match (key, before) {
        ("registries", _) => json!(["ghcr.io", "docker.io"]),
        ("placeholders", _) => json!(["auto", ""]),
        ("prefix", _) => json!("ghcr.io/team/"),
        ("maxAge" | "fixGracePeriod", _) => json!("72h"),
        ("platforms", _) => json!(["linux/amd64", "linux/arm64"]),
        ("platform", _) => json!("linux/arm64"),
        ("namespaces", _) => json!(["shop"]),
        ("namespace", _) => json!("scans"),
        ("registryResources", _) => json!(["team"]),
        ("data", _) => json!(KEY),
        ("issuer", _) => json!("https://token.actions.githubusercontent.com"),
        ("subject", _) => json!("https://github.com/team/app/.github/workflows/release.yml@refs/heads/main"),
        ("owner", _) => json!("team"),
        ("repository", _) => json!("app"),
        ("tagSuffix", _) => json!("report"),
        ("references", _) => json!(["ghcr.io/team/*"]),
        ("vulnerability", _) => json!("CVE-2024-0001"),
        ("vulnerabilities" | "allowAlways" | "denyAlways", _) => json!(["CVE-2024-0002"]),
        ("images", _) => json!(["ghcr.io/team/"]),
        ("packages", _) => json!(["pkg:apk/alpine/openssl@"]),
        ("reason", _) => json!("not reachable"),
        ("expires", _) => json!("2027-01-31"),
        ("exclude", _) => json!(["docker.io/istio/*"]),
        ("kinds", _) => json!(["Pod", "Deployment"]),
        ("preCustomRules", _) => json!("deny_pod[msg] {\n  false\n  msg := \"no\"\n}\n"),
        ("customRules", _) => json!("deny_image[msg] {\n  false\n  msg := \"no\"\n}\n"),
        ("name", _) => json!("own"),
        ("rego", _) => json!("package own\n\nx := 1\n"),
        ("apiVersion", _) => json!("networking.k8s.io/v1"),
        ("kind", _) => json!("Ingress"),
        ("plural", _) => json!("ingresses"),
        ("contact", "message") => json!("#platform-security"),
        ("docs", "message") => json!("https://wiki.example/{rule}"),
        _ => panic!("what would people answer to `{variable}`?"),
    }
}

/// The answers that a question may get; several where it is a choice.
fn answers(question: &Value) -> Vec<Value> {
    let variable = question["variable"].as_str().unwrap();
    match question["type"].as_str().unwrap() {
        "boolean" => vec![json!(true), json!(false)],
        "int" => vec![json!(3)],
        "float" => vec![json!(7.5)],
        "enum" => {
            let value = |option: &Value| option.get("value").unwrap_or(option).clone();
            question["options"].as_array().unwrap().iter().map(value).collect()
        }
        "sequence[" => vec![json!([entry(question)])],
        "string" | "multiline" | "array[" => vec![answer(variable)],
        other => panic!("{variable}: Rancher's form has no type `{other}`"),
    }
}

/// An entry of a list of objects, with each of its questions answered.
fn entry(question: &Value) -> Value {
    let asked = question["sequence_questions"].as_array().unwrap();
    let one = |question: &Value| (question["variable"].as_str().unwrap().to_owned(), answers(question)[0].clone());
    Value::Object(asked.iter().map(one).collect())
}

/// What JavaScript takes for true.
fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false)) && *value != json!(0) && *value != json!("")
}

fn steps(path: &str) -> impl Iterator<Item = &str> {
    path.split('.')
}

/// The form, with what has been written by it.
#[derive(Clone)]
struct Form {
    questions: Vec<Value>,
    settings: Value,
}

impl Form {
    /// As it is shown.
    fn new() -> Self {
        let questions = form(&schema())["questions"].as_array().unwrap().clone();
        let mut form = Self { questions, settings: json!({}) };
        form.write_defaults();
        form
    }

    /// Until no answer makes another question appear.
    fn write_defaults(&mut self) {
        loop {
            let missing = self.shown().into_iter().find_map(|question| {
                let variable = question["variable"].as_str().unwrap().to_owned();
                let default = question.get("default")?.clone();
                self.get(&variable).is_none().then_some((variable, default))
            });
            let Some((variable, default)) = missing else { return };
            self.set(&variable, default);
        }
    }

    fn shown(&self) -> Vec<Value> {
        let is_shown = |question: &&Value| question.get("show_if").is_none_or(|condition| self.holds(condition));
        self.questions.iter().filter(is_shown).cloned().collect()
    }

    /// What is asked: notes have no input.
    fn asked(&self) -> Vec<Value> {
        self.shown().into_iter().filter(|question| question["hide_input"] != true).collect()
    }

    /// As Jexl has it, for the terms that the form uses: lists are passed through by their first entries, and zero, an empty
    /// text and what isn't there are false.
    fn holds(&self, condition: &Value) -> bool {
        condition.as_str().unwrap().split(" && ").all(|term| {
            if let Some(path) = term.strip_suffix("=true") {
                return self.first(path) == json!(true);
            }
            if let Some(path) = term.strip_suffix(" > -1") {
                return self.first(path).as_f64().is_some_and(|number| number > -1.0);
            }
            if let Some(path) = term.strip_suffix("[0]") {
                return self.get(path).is_some_and(|list| list.get(0).is_some());
            }
            match term.strip_prefix('!') {
                Some(path) => !is_true(&self.first(path)),
                None => is_true(&self.first(term)),
            }
        })
    }

    /// What Jexl finds at a path.
    fn first(&self, path: &str) -> Value {
        let mut at = &self.settings;
        for step in steps(path) {
            let object = if at.is_array() {
                at.get(0)
                    .unwrap_or_else(|| panic!("`{path}`: Jexl fails on an empty list, and the form shows the question"))
            } else {
                at
            };
            let Some(next) = object.get(step) else { return Value::Null };
            at = next;
        }
        at.clone()
    }

    fn get(&self, path: &str) -> Option<&Value> {
        steps(path).try_fold(&self.settings, |at, step| match at {
            Value::Array(list) => list.get(step.parse::<usize>().ok()?),
            _ => at.get(step),
        })
    }

    /// The form makes an object of whatever isn't there on the way, and never a list.
    fn set(&mut self, path: &str, value: Value) {
        let mut at = &mut self.settings;
        for step in steps(path) {
            at = match at {
                Value::Array(list) => {
                    let number: usize = step.parse().unwrap_or_else(|_| panic!("`{path}`: `{step}` in a list"));
                    assert!(number <= list.len(), "`{path}`: the list has a hole");
                    if number == list.len() {
                        list.push(Value::Null);
                    }
                    &mut list[number]
                }
                _ => {
                    assert!(
                        step.parse::<usize>().is_err(),
                        "`{path}`: the list isn't there, so that an object is made"
                    );
                    if !at.is_object() {
                        *at = json!({});
                    }
                    at.as_object_mut().unwrap().entry(step).or_insert(Value::Null)
                }
            };
        }
        *at = value;
    }

    /// Answers a question, as people do who see it.
    fn answer(&mut self, variable: &str, value: Value) {
        assert!(self.asked().iter().any(|question| question["variable"] == variable), "`{variable}` isn't shown");
        self.set(variable, value);
        self.write_defaults();
    }

    /// With everything answered that is asked because of what was chosen at a variable.
    fn answer_below(&mut self, variable: &str) {
        for question in self.asked() {
            let own = question["variable"].as_str().unwrap();
            if own.starts_with(&format!("{variable}.")) {
                self.answer(own, answers(&question)[0].clone());
            }
        }
    }

    /// What is saved: values that are empty are taken out, but not those inside a list.
    fn saved(&self) -> Value {
        fn without_empty(value: &mut Value) {
            if let Value::Object(map) = value {
                map.values_mut().for_each(without_empty);
                map.retain(|_, value| {
                    !matches!(value, Value::Null) && *value != json!({}) && *value != json!([]) && *value != json!("")
                });
            }
        }
        let mut saved = self.settings.clone();
        without_empty(&mut saved);
        saved
    }

    #[track_caller]
    fn is_valid(&self) {
        let saved = self.saved();
        if let Err(problems) = check_settings(&saved) {
            panic!("{problems}\n{}", serde_json::to_string_pretty(&saved).unwrap());
        }
    }
}

/// Whether a question offers ready-made objects.
fn is_ready_made(question: &Value) -> bool {
    question["options"].as_array().is_some_and(|options| options.iter().all(|option| option["value"].is_object()))
}

/// Of a severity the form asks for two limits, of which one may be set.
fn is_other_limit(variable: &str) -> bool {
    variable.ends_with(".totalWithoutFixes")
}

#[test]
fn the_form_as_it_is_shown_is_every_default() {
    /// What settings say, written or not.
    fn read(settings: &Value) -> String {
        let mut settings = Settings::read(settings).unwrap();
        let limits = format!("{:?}", settings.acceptance.of("elsewhere"));
        settings.acceptance = Acceptance::default();
        // A status that nobody decides is rejected.
        let rest = format!("{settings:?}");
        let rest = rest.replace("report_pending: None", "report_pending: Some(Reject)");
        format!("{} {limits}", rest.replace("scan_failed: None", "scan_failed: Some(Reject)"))
    }
    let form = Form::new();
    form.is_valid();
    assert_eq!(read(&form.saved()), read(&json!({})), "{}", form.saved());
}

#[test]
fn each_answer_makes_valid_settings() {
    let mut answered = 0;
    let new = Form::new();
    for question in new.asked() {
        let variable = question["variable"].as_str().unwrap();
        for answer in answers(&question) {
            let mut form = new.clone();
            form.answer(variable, answer);
            if is_ready_made(&question) {
                form.answer_below(variable);
            }
            form.is_valid();
            answered += 1;
            // What is asked for because of that answer.
            for question in form.asked().into_iter().filter(|question| !new.asked().contains(question)) {
                for answer in answers(&question) {
                    let mut form = form.clone();
                    form.answer(question["variable"].as_str().unwrap(), answer);
                    form.is_valid();
                    answered += 1;
                }
            }
        }
    }
    assert!(answered > 100, "{answered}");
}

/// A new entry of a list has the defaults of its questions, and what is empty in it is kept.
#[test]
fn lists_of_an_entry_that_nobody_filled_in_are_valid() {
    let mut tried = 0;
    for question in Form::new().asked().iter().filter(|question| question["type"] == "sequence[") {
        let variable = question["variable"].as_str().unwrap();
        let whole = entry(question);
        for inner in question["sequence_questions"].as_array().unwrap().iter().filter(|inner| inner["type"] == "array[")
        {
            let key = inner["variable"].as_str().unwrap();
            let mut one = whole.clone();
            match inner.get("default") {
                Some(default) => one[key] = default.clone(),
                None => _ = one.as_object_mut().unwrap().remove(key),
            }
            let mut form = Form::new();
            form.answer(variable, json!([one]));
            form.is_valid();
            tried += 1;
        }
    }
    assert!(tried >= 4, "{tried}");
}

/// Of a policy for signatures that says nobody, or of a report that anybody could have signed, nothing may come.
#[test]
fn what_was_chosen_and_not_filled_in_is_refused() {
    let mut refused = BTreeSet::new();
    for question in Form::new().asked().iter().filter(|question| is_ready_made(question)) {
        let variable = question["variable"].as_str().unwrap();
        for (number, answer) in answers(question).into_iter().enumerate() {
            let mut form = Form::new();
            form.answer(variable, answer);
            if check_settings(&form.saved()).is_err() {
                refused.insert(format!("{variable} {number}"));
            }
        }
    }
    let wanted = [
        "imageVerification.0 0",
        "imageVerification.0 1",
        "imageVerification.0 2",
        "reports.sources.0 3",
        "reports.sources.0 4",
    ];
    assert_eq!(refused, wanted.into_iter().map(str::to_owned).collect());
}

/// With each choice, since others are asked for then.
#[test]
fn all_answers_together_are_valid() {
    let choices: Vec<Value> = Form::new().asked().into_iter().filter(is_ready_made).collect();
    let most = choices.iter().map(|choice| answers(choice).len()).max().unwrap();
    for turn in 0..most {
        let mut form = Form::new();
        for choice in &choices {
            let mut answers = answers(choice);
            let chosen = answers.swap_remove(turn % answers.len());
            form.answer(choice["variable"].as_str().unwrap(), chosen);
        }
        let mut answered = BTreeSet::new();
        // What is asked for because of an answer comes after it.
        while let Some(question) = form.asked().into_iter().find(|question| {
            let variable = question["variable"].as_str().unwrap();
            let is_second = is_other_limit(variable) && !variable.contains(".critical.");
            !answered.contains(variable) && !is_ready_made(question) && !is_second
        }) {
            let variable = question["variable"].as_str().unwrap().to_owned();
            form.answer(&variable, answers(&question)[0].clone());
            answered.insert(variable);
        }
        assert!(answered.len() > 40, "{}", answered.len());
        form.is_valid();
    }
}

/// Each setting has a question, or the form says that it has none, and what to write.
#[test]
fn every_setting_is_asked_for_or_told_of() {
    let form = Form::new();
    let variables: Vec<&str> = form.questions.iter().map(|question| question["variable"].as_str().unwrap()).collect();
    let unique: BTreeSet<&&str> = variables.iter().collect();
    assert_eq!(unique.len(), variables.len(), "two questions have one variable");
    // `policies` is another name of `scanPolicies`.
    for (name, setting) in schema()["properties"].as_object().unwrap().iter().filter(|(name, _)| *name != "policies") {
        let is_there = |path: &str| {
            variables.iter().any(|variable| *variable == path || variable.starts_with(&format!("{path}.")))
        };
        assert!(is_there(name), "{name}");
        for (inner, _) in setting.get("properties").and_then(Value::as_object).into_iter().flatten() {
            // A note about the whole has all of it in its example.
            let is_told = form.questions.iter().any(|question| {
                question["variable"] == **name
                    && question["description"].as_str().unwrap().contains(&format!("{inner}:"))
            });
            assert!(is_told || is_there(&format!("{name}.{inner}")), "{name}.{inner}");
        }
    }
    for question in form.questions.iter().filter(|question| question["hide_input"] == true) {
        let said = question["description"].as_str().unwrap();
        let (path, example) = EXAMPLES
            .into_iter()
            .find(|(path, _)| question["variable"] == *path)
            .unwrap_or_else(|| panic!("{question}"));
        assert!(said.contains("Edit YAML") && said.contains(&format!("`{example}`")), "{path}: {said}");
    }
}

#[test]
fn what_the_form_says_to_write_is_valid() {
    for (path, example) in EXAMPLES {
        let settings: Value = yaml_serde::from_str(example).unwrap();
        assert!(check_settings(&settings).is_ok(), "{path}: {:?}", check_settings(&settings).err());
        assert!(settings.pointer(&format!("/{}", path.replace('.', "/"))).is_some(), "{path}");
    }
}

/// The order in which people decide.
#[test]
fn the_groups_are_in_order() {
    let mut groups: Vec<String> = Vec::new();
    for question in Form::new().questions {
        let group = question["group"].as_str().unwrap().to_owned();
        if groups.last() != Some(&group) {
            groups.push(group);
        }
    }
    let wanted = [
        "Images by name",
        "Reports",
        "Findings",
        "Signatures",
        "Namespaces",
        "Without a report",
        "Pinning",
        "Rules",
        "Break glass",
        "Messages",
        "Bounds and log",
    ];
    assert_eq!(groups, wanted);
}
