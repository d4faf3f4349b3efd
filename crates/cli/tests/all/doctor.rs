//! `image-admission doctor`, as its users see it: each file `doctor/*.txt` is a transcript, see `support/transcripts.rs`. In a command,
//! `$sound` stands for a sound cluster, which is `worlds/sound` with the rights of `deploy/`; `$sound+ill` is that with the files of
//! `worlds/ill` instead of its own of the same names.

use crate::support::root;
use crate::support::transcripts::{self, Outcome, image_admission};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;
use tempfile::TempDir;

/// The components of `deploy/` whose rights a sound cluster has.
const COMPONENTS: [&str; 3] = ["sources/sbomscanner", "companion", "companion-sbomscanner"];

fn folder() -> PathBuf {
    root().join("crates/cli/tests/doctor")
}

/// The cluster that an argument stands for: `$sound+ill`.
fn world(argument: &str) -> Option<TempDir> {
    let names = argument.strip_prefix('$')?;
    let world = tempfile::tempdir().unwrap();
    for component in COMPONENTS {
        let name = format!("rights-{}.yaml", component.replace('/', "-"));
        fs::copy(root().join("deploy").join(component).join("rights.yaml"), world.path().join(name)).unwrap();
    }
    for name in names.split('+') {
        for file in fs::read_dir(folder().join("worlds").join(name)).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), world.path().join(file.file_name())).unwrap();
        }
    }
    Some(world)
}

fn doctor(arguments: &[&str]) -> Outcome {
    let worlds: Vec<Option<TempDir>> = arguments.iter().map(|argument| world(argument)).collect();
    let path = |world: &TempDir| world.path().display().to_string();
    let arguments: Vec<String> = arguments
        .iter()
        .zip(&worlds)
        .map(|(argument, world)| world.as_ref().map_or((*argument).to_owned(), path))
        .collect();
    image_admission(&folder(), &arguments.iter().map(String::as_str).collect::<Vec<_>>(), b"")
}

#[test]
fn transcripts_are_as_they_were_read() {
    transcripts::check(&folder(), |arguments, _| doctor(arguments));
}

/// Each check has a section on its page, in the order of the checks, and the page has no others.
#[test]
fn the_page_explains_each_check() {
    let help = doctor(&["doctor", "--help"]).output;
    let choices = help.split("Leave out a check. May be repeated").nth(1).unwrap();
    let choices = choices.split("[possible values: ").nth(1).unwrap().split(']').next().unwrap();
    let checks: Vec<&str> = choices.split(',').map(str::trim).collect();
    assert!(checks.contains(&"report-names"), "{checks:?}");
    let page = fs::read_to_string(root().join("docs/doctor.md")).unwrap();
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, checks);
}

/// An API server that answers paths without their queries by status and body, and forbids everything else. Its clock is `date`.
fn served(folder: &Path, answers: BTreeMap<String, (u16, Value)>, date: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut reader = BufReader::new(&connection);
            let mut lines = reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let request = lines.next().unwrap_or_default();
            let length = lines.find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            lines.for_each(drop);
            reader.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
            let path = request.split([' ', '?']).nth(1).unwrap_or_default();
            let forbidden = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "not for you", "code": 403});
            let (status, body) = answers.get(path).cloned().unwrap_or((403, forbidden));
            let body = body.to_string();
            let _ = write!(
                connection,
                "HTTP/1.1 {status} X\r\nDate: {date}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    let kubeconfig = folder.join("config");
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}]}}"
    );
    fs::write(&kubeconfig, config).unwrap();
    kubeconfig.display().to_string()
}

/// What `doctor` says of an API server with these answers, as `status check: message`.
fn live(answers: &[(&str, u16, Value)], date: &'static str, options: &[&str]) -> (Vec<String>, i32) {
    let folder = tempfile::tempdir().unwrap();
    let answers = answers.iter().map(|(path, status, body)| ((*path).to_owned(), (*status, body.clone())));
    let kubeconfig = served(folder.path(), answers.collect(), date);
    let arguments = ["doctor", "--live", "--kubeconfig", &kubeconfig, "-o", "json"];
    let outcome = image_admission(folder.path(), &[&arguments, options].concat(), b"");
    let found: Vec<Value> =
        serde_json::from_str(&outcome.output).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let line =
        |finding| format!("{} {}: {}", text(finding, "status"), text(finding, "check"), text(finding, "message"));
    (found.iter().map(line).collect(), outcome.code)
}

const LONG_AGO: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// Whoever may read nothing is told so, check by check, and nothing is fine.
#[test]
fn what_may_not_be_read_is_unknown() {
    let (found, code) = live(&[], LONG_AGO, &["--skip", "clock", "--canary", "ghcr.io/shop/bad:1.0"]);
    assert!(found.len() >= 6 && found.iter().all(|line| line.starts_with("unknown ")), "{found:#?}");
    assert!(found.iter().all(|line| line.contains("not for you")), "{found:#?}");
    assert_eq!(code, 1);
    // That it is forbidden to ask says what time it is.
    let (found, code) = live(&[], LONG_AGO, &["--skip", "policy", "--skip", "companion"]);
    let [line] = found.as_slice() else { panic!("{found:#?}") };
    assert!(line.starts_with("fail clock: its clock is ") && line.contains(" s behind this machine's"), "{line}");
    assert_eq!(code, 2);
}

/// A cluster that nobody can reach is told once.
#[test]
fn nobody_answers() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = served(folder.path(), BTreeMap::new(), LONG_AGO);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = fs::read_to_string(&kubeconfig).unwrap();
    let server = config.split("server: '").nth(1).unwrap().split('\'').next().unwrap();
    fs::write(&kubeconfig, config.replace(server, &format!("http://{closed}"))).unwrap();
    let outcome = image_admission(folder.path(), &["doctor", "--live", "--kubeconfig", &kubeconfig], b"");
    assert!(outcome.errors.starts_with("error: the API server can't be asked: "), "{outcome:?}");
    assert_eq!((outcome.code, outcome.output.as_str()), (1, ""));
}

fn kinds(version: &str, kinds: &[(&str, &str, bool)]) -> Value {
    let resource = |(name, kind, namespaced): &(&str, &str, bool)| json!({"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["get", "list"]});
    json!({"kind": "APIResourceList", "groupVersion": version, "resources": kinds.iter().map(resource).collect::<Vec<_>>()})
}

fn objects(items: Value) -> Value {
    json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})
}

/// The webhook that denies a canary must be one of the policy's.
#[test]
fn a_canary_is_rejected_by_the_policy() {
    let policy = json!({"metadata": {"name": "image-admission"}, "spec": {"module": "a/image-admission:v1", "settings": {"preScanPolicies": {"defaultPolicy": "reject"}}}});
    let webhook = json!({"metadata": {"name": "kw.cap.image-admission", "annotations": {"kubewardenPolicyName": "image-admission", "kubewardenPolicyNamespace": ""}},
        "webhooks": [{"name": "kw.cap.image-admission.kubewarden.admission"}]});
    let try_it = |status: u16, message: &str| {
        let answer = match status {
            201 => json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "scan-x"}}),
            _ => json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": status}),
        };
        let answers = [
            (
                "/apis/policies.kubewarden.io/v1",
                200,
                kinds("policies.kubewarden.io/v1", &[("clusteradmissionpolicies", "ClusterAdmissionPolicy", false)]),
            ),
            ("/apis/policies.kubewarden.io/v1/clusteradmissionpolicies", 200, objects(json!([policy]))),
            (
                "/apis/admissionregistration.k8s.io/v1",
                200,
                kinds(
                    "admissionregistration.k8s.io/v1",
                    &[
                        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false),
                        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration", false),
                    ],
                ),
            ),
            ("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", 200, objects(json!([webhook]))),
            ("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", 200, objects(json!([]))),
            ("/api/v1/namespaces/shop/pods", status, answer),
        ];
        let (found, code) = live(&answers, LONG_AGO, &["--canary", "ghcr.io/shop/bad:1.0", "-n", "shop"]);
        (found.last().cloned().unwrap(), code)
    };
    let denied = |webhook: &str| format!("admission webhook \"{webhook}\" denied the request: no");
    let own = denied("kw.cap.image-admission.kubewarden.admission");
    assert_eq!(try_it(400, &own).0, "ok canary: it is rejected, as it should be");
    let other = "unknown canary: the webhook `other.example.com` rejects it, which is none of the policies'";
    assert_eq!(try_it(400, &denied("other.example.com")).0, other);
    assert_eq!(try_it(201, "").0, "fail canary: it is admitted, and should be rejected");
    assert!(try_it(404, "namespaces \"shop\" not found").0.starts_with("unknown canary: cannot create a Pod: "));
}
