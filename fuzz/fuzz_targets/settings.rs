//! Settings, made of what `settings.schema.json` says that there is, with values that are good and bad.
#![no_main]

use image_admission_engine::{check_settings, lint};
use image_admission_fuzz::structure::{Choices, backwards, odd};
use image_admission_fuzz::{Answers, NOW, answer, artifact, let_rules_run, manifest, public_key, request, validity};
use image_admission_settings::Settings;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::sync::LazyLock;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let_rules_run();
    serde_json::from_str(include_str!("../../settings.schema.json")).expect("a schema")
});
static PUBLIC_KEY: LazyLock<String> = LazyLock::new(public_key);

const REFUSED: &str = "the policy's settings are not valid";

fuzz_target!(|bytes: &[u8]| {
    let mut maker = Maker { choices: Choices::new(bytes), is_odd: false, closed: Vec::new() };
    let settings = maker.make(&SCHEMA, "", "");
    let validity = validity(&settings.to_string());
    let said = validity["message"].as_str().unwrap_or_default();
    let response = respond(&settings.to_string());
    let is_refused = response["message"].as_str().is_some_and(|message| message.starts_with(REFUSED));

    // Rules and expressions are checked when settings are deployed, and refuse the requests that they are about.
    assert_eq!(is_refused, Settings::read(&settings).is_err(), "{settings}\n{response}");
    assert!(!is_refused || response["accepted"] == false, "{settings}\n{response}");
    assert!(!is_refused || validity["valid"] == false, "{settings}\n{validity}");
    assert!(maker.is_odd || !said.contains("unknown setting"), "{settings}\n{said}");
    assert_eq!(respond(&backwards(&settings)), response, "keys in another order: {settings}");
    if let Ok(settings) = check_settings(&settings) {
        drop(lint(&settings, NOW, None));
    }
    if !maker.closed.is_empty() {
        let mut more = settings;
        let at = maker.choices.of(&maker.closed);
        more.pointer_mut(at).expect("an object of the settings")["unheardOf"] = json!(1);
        assert!(Settings::read(&more).is_err(), "an unknown setting at `{at}`: {more}");
    }
});

/// The answer to a Pod whose image was scanned and is clean.
fn respond(settings: &str) -> Value {
    let request = request("registry.example/app:1");
    let clean = artifact(br#"{"status":"pass","detail":{}}"#).unwrap_or_default();
    let payload = format!(r#"{{"request":{request},"settings":{settings}}}"#);
    answer(payload.as_bytes(), Answers { manifest: manifest(), artifact: clean })
}

struct Maker<'b> {
    choices: Choices<'b>,
    /// Whether something was made that isn't in the schema.
    is_odd: bool,
    /// Pointers of objects that have no keys but those of the schema.
    closed: Vec<String>,
}

impl Maker<'_> {
    /// A value of a schema, which stands at a key and a pointer.
    fn make(&mut self, schema: &Value, key: &str, at: &str) -> Value {
        if self.choices.once_in(60) {
            self.is_odd = true;
            return odd(&mut self.choices);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        let branches = ["anyOf", "oneOf"].iter().find_map(|kind| schema[kind].as_array());
        if let (Some(branches), None) = (branches, schema.get("properties")) {
            let branch = self.choices.of(branches);
            return self.make(branch, key, at);
        }
        let choices = schema["enum"].as_array().or(schema["examples"].as_array());
        if let Some(choices) = choices.filter(|_| schema.get("properties").is_none() && !self.choices.once_in(4)) {
            return self.choices.of(choices).clone();
        }
        match schema["type"].as_str().unwrap_or_default() {
            "object" => self.object(schema, branches, at),
            "array" => {
                let count = schema["minItems"].as_u64().unwrap_or_default() as usize + self.choices.below(3);
                (0..count).map(|n| self.make(&schema["items"], key, &format!("{at}/{n}"))).collect()
            }
            "boolean" => json!(self.choices.below(2) == 1),
            "integer" => self.choices.of(&[json!(1), json!(2), json!(50), json!(0), json!(u64::MAX)]).clone(),
            "number" => self.choices.of(&[json!(0.5), json!(1), json!(7.0), json!(10)]).clone(),
            _ => json!(self.string(schema, key)),
        }
    }

    fn object(&mut self, schema: &Value, branches: Option<&Vec<Value>>, at: &str) -> Value {
        let mut object = json!({});
        let closed = schema["additionalProperties"] == false;
        let names = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        };
        let mut keys = names(&schema["required"]);
        keys.extend(branches.iter().flat_map(|branches| names(&self.choices.of(branches)["required"])));
        let known: Vec<&String> = schema["properties"].as_object().into_iter().flat_map(|own| own.keys()).collect();
        if !known.is_empty() {
            keys.extend((0..self.choices.below(4)).map(|_| (*self.choices.of(&known)).clone()));
        }
        if schema["additionalProperties"].is_object() {
            keys.extend(
                (0..self.choices.below(3)).map(|_| self.choices.of(&["web", "default", "prod-*", "x"]).to_string()),
            );
        }
        keys.sort();
        keys.dedup();
        for key in keys {
            let own = schema["properties"].get(&key).unwrap_or(&schema["additionalProperties"]);
            object[&key] = self.make(own, &key, &format!("{at}/{}", key.replace('/', "~1")));
        }
        if closed {
            self.closed.push(at.to_owned());
        }
        object
    }

    fn string(&mut self, schema: &Value, key: &str) -> String {
        if self.choices.once_in(12) {
            return self.choices.text();
        }
        let kind = schema["contentMediaType"].as_str().unwrap_or_default();
        if kind == "application/x-pem-file" {
            return PUBLIC_KEY.clone();
        }
        if schema["pattern"].as_str().is_some_and(|pattern| pattern.contains("wdhms")) {
            return (*self.choices.of(&["7d", "24h", "", "1w2d3h4m5s", "99999999999999999999d"])).to_owned();
        }
        let choices: &[&str] = match (kind, key) {
            ("application/rego", "customRules" | "preCustomRules") => &[
                r#"deny_image[msg] { input.ScanReport.Status == "scan_failed"; msg := "unknown" }"#,
                r#"deny_pod[msg] { input.Images[_] == "x"; msg := "x" }"#,
                "deny[",
            ],
            ("application/rego", _) => &[
                r#"package x deny[msg] { input.images[_]; msg := "no" }"#,
                "package x\nimport data.lib.y\nviolation[{\"msg\": msg}] { msg := sprintf(\"%v\", [input.review.object]) }",
                "package lib.y\nf(x) = x",
                "package x allow = true",
            ],
            (_, "expression" | "expressions" | "valueExpression" | "messageExpression" | "matchCertificate") => &[
                "images.all.all(i, verifyImageSignatures(i, [attestors.team]) > 0)",
                "images.all.all(i, verifyAttestationSignatures(i, attestations.team, [attestors.team]) > 0)",
                "images.all.all(i, imageConfigs(i).all(c, !c.runsAsRoot))",
                "object.metadata.name == 'p'",
                "variables.team",
                "'a' + string(size(images.all))",
                "true",
                "scanReport(images.all[0]).findings.size() == 0",
            ],
            (_, "name") => &["team", "x", "other", "Team 1"],
            (_, "expires") => &["2026-10-31", "2020-01-31", "2027-02-30"],
            (_, "vulnerability" | "vulnerabilities" | "allowAlways" | "denyAlways") => {
                &["CVE-2026-1", "CVE-*", "GHSA-?", "*"]
            }
            (_, "packages" | "purl" | "except") => &["pkg:npm/", "pkg:apk/alpine/openssl@", "pkg:maven/a/b"],
            (_, "allow" | "deny") => &["MIT", "GPL-3.0-*", "MIT OR Apache-2.0"],
            (_, "registries" | "registry" | "mirror") => {
                &["registry.example", "docker.io", "ghcr.io:443", "mirror.example/x"]
            }
            (_, "references" | "glob" | "images" | "exclude" | "prefix") => {
                &["registry.example/", "docker.io/library/nginx:", "*", "registry.example/app", "ghcr.io/team/**"]
            }
            (_, "kinds") => &["Pod", "Deployment,CronJob", "*", "Workload", "apps/v1/Deployment"],
            (_, "platforms" | "platform") => &["linux/amd64", "linux/arm64/v8", "windows"],
            (_, "hashAlgorithm") => &["sha256", "SHA256"],
            (_, "subjectPrefix" | "docs" | "issuer") => &["https://x.example/team/", "http://x.example/{rule}"],
            (_, "subjectRegExp" | "issuerRegExp") => &["^https://x\\.example/team/[^/]+$", "(", "(a*)*$"],
            (_, "trustedIdentities") => &["x509.subject: C=DE, ST=Berlin, O=Team", "*"],
            _ => &["x", "v1", "web", "*", "x/{digestHex}", "a.b[0].c", ""],
        };
        (*self.choices.of(choices)).to_owned()
    }
}
