//! The memory of the module: the largest inputs that are promised take at most 128 MiB, and what takes more is rejected in
//! the policy's own words, before the host ends it. With `MEMORY=1` and `--nocapture` a table is written.

use crate::support;
use image_admission_module_host::answers::{HostAnswers, HostCall};
use image_admission_module_host::runtime::{DEFAULT_MEMORY, PolicyModule};
use image_admission_stub_host::{digest_of, manifest};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The most that a decision may take, and less than hosts allow.
const MOST: usize = 128 << 20;

/// The module with as much memory as hosts give it, and with no more than it may take. Time is another test's matter.
static MODULES: LazyLock<[PolicyModule; 2]> = LazyLock::new(|| {
    [DEFAULT_MEMORY, MOST].map(|memory| {
        let module = PolicyModule::from_file(&support::module_path()).unwrap();
        module.with_deadline(Duration::from_secs(120)).with_memory(memory)
    })
});

const TOO_MUCH: &str = "deciding about the request takes more memory than the policy may: make the object smaller, name fewer images, \
                        or have scanners and rules keep less";

/// What the host says before it rejects. It hands an answer to the module as a whole, and this answer alone is larger than the module's
/// memory.
const ENDED: &str = "the policy crashed";

const REGISTRY: &str = "registry.example.com";

/// A host whose answers are bytes.
struct Answers<F>(F);

impl<F: Fn(&str, &Value) -> Option<String> + Send + Sync> HostAnswers for Answers<F> {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let asked = serde_json::from_slice(&call.payload).unwrap();
        let answer = (self.0)(&call.operation, &asked).map(String::into_bytes);
        answer.ok_or_else(|| format!("nobody answers {} {asked}", call.operation))
    }

    fn may_block(&self) -> bool {
        false
    }
}

/// A request, the world that it is decided in, and how its message begins if it is rejected.
struct Large {
    name: String,
    payload: String,
    host: Arc<dyn HostAnswers>,
    rejected: Option<&'static str>,
}

fn payload(object: &str, settings: &Value) -> String {
    format!(
        r#"{{"request": {{"uid": "u", "operation": "CREATE", "namespace": "shop", "name": "p", "userInfo": {{"username": "someone"}},
        "kind": {{"group": "", "version": "v1", "kind": "Pod"}}, "object": {object}}}, "settings": {settings}}}"#
    )
}

fn pod(images: impl Iterator<Item = String>) -> String {
    let container = |(number, image): (usize, String)| json!({"name": format!("c{number}"), "image": image});
    let containers: Vec<Value> = images.enumerate().map(container).collect();
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"}, "spec": {"containers": containers}})
        .to_string()
}

fn image(number: usize) -> String {
    format!("{REGISTRY}/team/app{number}:1.0")
}

/// What a scanner writes of one vulnerability in one package.
fn finding(number: usize) -> String {
    json!({
        "cve": format!("CVE-2026-{number:05}"), "severity": "HIGH", "packageName": format!("package-{number}"),
        "purl": format!("pkg:apk/alpine/package-{number}@1.0"), "installedVersion": "1.0", "fixedVersions": ["1.1"],
        "cvss": {"nvd": {"v3score": "7.5", "v3vector": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N"}}, "suppressed": false,
        "knownExploited": false, "epssScore": "0.001", "epssPercentile": "0.1",
    })
    .to_string()
}

fn findings(count: usize) -> String {
    (0..count).map(finding).collect::<Vec<_>>().join(",")
}

fn repeated(part: &str, bytes: usize) -> String {
    vec![part; bytes / (part.len() + 1)].join(",")
}

/// The report of an image, with these entries.
fn report(name: &str, repository: &str, platform: &str, digest: &str, entries: &str, count: usize) -> String {
    format!(
        r#"{{"apiVersion":"storage.sbomscanner.kubewarden.io/v1alpha1","kind":"VulnerabilityReport",
        "metadata":{{"name":"{name}","namespace":"sbomscanner"}},
        "imageMetadata":{{"registry":"r","registryURI":"{REGISTRY}","repository":"{repository}","tag":"1.0","platform":"{platform}","digest":"{digest}"}},
        "report":{{"summary":{{"critical":0,"high":{count},"medium":0,"low":0,"unknown":0,"suppressed":0}},
        "results":[{{"target":"alpine","class":"os-pkgs","type":"alpine","vulnerabilities":[{entries}]}}]}}}}"#
    )
}

/// Images for one platform, each with a report that has these entries. The image's digest has its number.
fn reported(entries: String, count: usize) -> Arc<dyn HostAnswers> {
    let digest = |image: &str| {
        let number = image.trim_start_matches(&format!("{REGISTRY}/team/app")).trim_end_matches(":1.0");
        format!("sha256:{number:0>64}")
    };
    let names: std::collections::BTreeMap<String, usize> = (0..1000).map(|number| (name_of(number), number)).collect();
    Arc::new(Answers(move |operation: &str, asked: &Value| match operation {
        "v1/manifest_digest" => Some(json!({"digest": digest(asked.as_str()?)}).to_string()),
        "v1/oci_manifest" => Some(manifest().to_string()),
        "get_resource" => {
            let name = asked["name"].as_str()?;
            let number = names.get(name)?;
            Some(report(name, &format!("team/app{number}"), "", &format!("sha256:{number:0>64}"), &entries, count))
        }
        _ => None,
    }))
}

/// The name that the scanner gives to the report of an image.
fn name_of(number: usize) -> String {
    let hash = |text: &str| digest_of(text).trim_start_matches("sha256:").to_owned();
    hash(&format!("workloadscan-{}/{REGISTRY}/team/app{number}:1.0@sha256:{number:0>64}", hash(REGISTRY)))
}

fn large(
    name: &str,
    object: &str,
    settings: &Value,
    host: Arc<dyn HostAnswers>,
    rejected: Option<&'static str>,
) -> Large {
    Large { name: name.to_owned(), payload: payload(object, settings), host, rejected }
}

/// An image's index of so many entries, each of another platform, with a report of the first of these.
fn index(entries: usize, found: usize) -> Arc<dyn HostAnswers> {
    let digest = |number: usize| format!("sha256:{number:0>64}");
    let entry = |number: usize| {
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{}","size":500,"platform":{{"architecture":"amd64","os":"linux","variant":"v{number}"}}}}"#,
            digest(number)
        )
    };
    let index = format!(
        r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}}"#,
        (0..entries).map(entry).collect::<Vec<_>>().join(",")
    );
    let hash = |text: &str| digest_of(text).trim_start_matches("sha256:").to_owned();
    let name = |number| {
        (hash(&format!("workloadscan-{}/{REGISTRY}/team/app0:1.0@{}", hash(REGISTRY), digest(number))), number)
    };
    let names: std::collections::BTreeMap<String, usize> = (0..entries).map(name).collect();
    let found = (findings(found), found);
    Arc::new(Answers(move |operation: &str, asked: &Value| match operation {
        "v1/manifest_digest" => Some(json!({"digest": digest_of(&index)}).to_string()),
        "v1/oci_manifest" => Some(index.clone()),
        "get_resource" => {
            let name = asked["name"].as_str()?;
            let number = *names.get(name)?;
            Some(report(name, "team/app0", &format!("linux/amd64/v{number}"), &digest(number), &found.0, found.1))
        }
        _ => None,
    }))
}

/// Every input that is promised, the largest of its kind, and some that are larger.
fn inputs() -> Vec<Large> {
    let one = pod([image(0)].into_iter());
    let by_entries = json!({"acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 100_000}}}});
    let by_all = json!({"acceptance": {"cvssScore": {"threshold": 9.0}, "knownExploited": "reject", "epss": {"score": 0.5}, "denyAlways": ["CVE-1999-0001"]}});
    let let_in = json!({"preScanPolicies": {"defaultPolicy": "accept"}});
    let rule = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "a", "kinds": ["*"], "rego": "package a\ndeny[msg] { input.review.object.x == 1; msg := \"x\" }"}]});
    let about_request = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": [{"name": "a", "verifyPreScanAccepted": true, "verifications": [{"expression": "has(request.object)"}]}]});
    let copies = json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [{"name": "a", "kinds": ["*"], "rego": "package a\npatch[{\"op\": \"copy\", \"from\": \"/metadata\", \"path\": sprintf(\"/metadata/y%d\", [i])}] { numbers.range(1, 40)[i] }"}]});
    let nobody = || -> Arc<dyn HostAnswers> { Arc::new(Answers(|_: &str, _: &Value| None)) };
    let with = |part: &str, bytes: usize| one.replacen('{', &format!(r#"{{"x":[{}],"#, repeated(part, bytes)), 1);
    let (map, text) = (r#"{"":0}"#, &format!("\"{}\"", "a".repeat(100)));
    let found = findings(100_000);
    let two = pod([image(0), image(1)].into_iter());
    let many = || pod((0..500).map(image));
    let wide = json!({"maxImages": 500, "maxHostCalls": 2000, "acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 100_000}}}});
    vec![
        large(
            "a report of 100,000 findings, entries decide",
            &one,
            &by_entries,
            reported(found.clone(), 100_000),
            None,
        ),
        large("the same, and every gate", &one, &by_all, reported(found.clone(), 100_000), None),
        large("two such reports", &two, &by_entries, reported(found, 100_000), None),
        large("a report of 400,000", &one, &by_entries, reported(findings(400_000), 400_000), Some(ENDED)),
        large(
            "a report of a million empty entries",
            &one,
            &by_all,
            reported(repeated("{}", 3_000_000), 1_000_000),
            Some(TOO_MUCH),
        ),
        large("an index of 60 platforms, 1,000 findings each", &one, &by_entries, index(60, 1_000), None),
        large("an index of 1,000 platforms", &one, &by_entries, index(1_000, 0), Some("Image ")),
        large(
            "500 containers of one image",
            &pod((0..500).map(|_| image(0))),
            &by_entries,
            reported(findings(1_000), 1_000),
            None,
        ),
        large("500 containers of 500 images, 100 findings each", &many(), &wide, reported(findings(100), 100), None),
        large("an object of 3 MB, texts", &with(text, 3_000_000), &let_in, nobody(), None),
        large("the same with a rule", &with(text, 3_000_000), &rule, nobody(), None),
        large("an object of 1.5 MB, small objects", &with(map, 1_500_000), &let_in, nobody(), None),
        large("the same with a rule", &with(map, 1_500_000), &rule, nobody(), Some(TOO_MUCH)),
        large("an object of 3 MB, small objects", &with(map, 3_000_000), &let_in, nobody(), Some(TOO_MUCH)),
        large("the same with a rule", &with(map, 3_000_000), &rule, nobody(), Some(TOO_MUCH)),
        large("an object of 3 MB, numbers", &with("0", 3_000_000), &let_in, nobody(), None),
        large(
            "the same with a rule",
            &with("0", 3_000_000),
            &rule,
            nobody(),
            Some("the AdmissionRequest can't be read: it is too large for rules"),
        ),
        large(
            "an object of 1.8 MB, small objects, and an expression about the request",
            &with(map, 1_800_000),
            &about_request,
            nobody(),
            Some(TOO_MUCH),
        ),
        large("a rule that copies the object into itself, again and again", &one, &copies, nobody(), Some(TOO_MUCH)),
        large("an object of 12 MB, numbers", &with("0", 12_000_000), &let_in, nobody(), Some(TOO_MUCH)),
    ]
}

#[test]
fn what_is_promised_takes_half_of_what_hosts_give_and_more_is_rejected() {
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for Large { name, payload, host, rejected } in inputs() {
        let mut row = format!("| {name} |");
        for module in MODULES.iter() {
            let reply = module.call("validate", payload.as_bytes(), Arc::clone(&host));
            let memory = reply.memory.answered;
            let answer = reply.response.map(|response| serde_json::from_slice::<Value>(&response).unwrap());
            let outcome = match &answer {
                Err(error) => error.to_string(),
                Ok(answer) if answer["accepted"] == true => "admitted".to_owned(),
                Ok(answer) => answer["message"].as_str().unwrap_or_default().to_owned(),
            };
            let is_expected = match rejected {
                None => outcome == "admitted",
                Some(beginning) => outcome.starts_with(beginning) && answer.is_ok() == (beginning != ENDED),
            };
            let shown: String = outcome.chars().take(60).collect();
            write!(row, " {} MiB | {shown} |", memory >> 20).unwrap();
            if !is_expected || memory > MOST {
                wrong.push(format!("{name}: {} MiB: {outcome}", memory >> 20));
            }
        }
        writeln!(table, "{row}").unwrap();
    }
    if std::env::var_os("MEMORY").is_some() {
        println!("{table}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
