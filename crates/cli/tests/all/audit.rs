//! `image-admission audit`, as its users see it: each file `audit/*.txt` is a transcript, see `support/transcripts.rs`. In a
//! command, `$WORLD` stands for the images and the reports of the demo.

use crate::lint::served;
use crate::support::root;
use crate::support::transcripts::{self, Outcome, image_admission};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

fn folder() -> PathBuf {
    root().join("crates/cli/tests/audit")
}

fn world() -> [String; 4] {
    let demo = root().join("examples/demo");
    let path = |name: &str| demo.join(name).display().to_string();
    ["--images".to_owned(), path("images.yaml"), "--cluster".to_owned(), path("cluster")]
}

/// Runs `audit` in the folder of the transcripts; `$WORLD` is in the arguments.
fn audit(arguments: &[&str]) -> Outcome {
    let world = world();
    let world = world.iter().map(String::as_str);
    let arguments: Vec<&str> = ["audit"].into_iter().chain(arguments.iter().copied()).chain(world).collect();
    image_admission(&folder(), &arguments, b"")
}

fn audit_json(arguments: &[&str]) -> Value {
    let outcome = audit(&[arguments, &["-o", "json"]].concat());
    serde_json::from_str(&outcome.output).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

fn audit_html(arguments: &[&str]) -> String {
    audit(&[arguments, &["-o", "html"]].concat()).output
}

#[test]
fn transcripts_are_as_they_were_read() {
    let world = world();
    transcripts::check(&folder(), |arguments, input| {
        let arguments: Vec<&str> = arguments
            .iter()
            .flat_map(|argument| match *argument {
                "$WORLD" => world.iter().map(String::as_str).collect(),
                argument => vec![argument],
            })
            .collect();
        image_admission(&folder(), &arguments, input)
    });
}

/// The shape that docs/audit.md promises.
#[test]
fn json_has_the_shape_that_is_documented() {
    let report = audit_json(&["-f", "dump.yaml", "--settings", "settings.yaml"]);
    assert_eq!(report["schemaVersion"], 1);
    assert_eq!(report["settings"], "settings.yaml");
    let summary = json!({
        "objects": 15, "workloads": 6, "pods": 7, "namespaces": 3, "images": 4,
        "deniedWorkloads": 4, "deniedPods": 4, "warnedWorkloads": 0,
    });
    assert_eq!(report["summary"], summary);
    let shop = json!({"namespace": "shop", "workloads": 4, "pods": 7, "deniedWorkloads": 3, "deniedPods": 4});
    assert_eq!(report["namespaces"][2], shop);
    let rest = json!({
        "kinds": {"CustomResourceDefinition.apiextensions.k8s.io": 1, "Job.batch.volcano.sh": 1, "Service": 1},
        "atRest": {"Job finished": 1, "Pod finished": 1, "ReplicaSet scaled to zero by its owner": 1},
        "documents": 0,
    });
    assert_eq!(report["notJudged"], rest);
    assert_eq!(report["problems"], json!([]));
    let legacy = report["workloads"].as_array().unwrap().iter().find(|workload| workload["name"] == "legacy").unwrap();
    assert_eq!(legacy["kind"], "Deployment");
    assert_eq!((&legacy["denied"], &legacy["pods"], &legacy["deniedPods"]), (&json!(true), &json!(2), &json!(2)));
    let reason = &legacy["reasons"][0];
    assert_eq!(legacy["reasons"].as_array().unwrap().len(), 1);
    assert_eq!((&reason["rule"], &reason["image"]), (&json!("scan-result"), &json!("localhost:5000/shop/legacy:1.4")));
    assert_eq!(reason["settings"][0], "acceptance.maxSeverity.critical.total");
    assert_eq!(reason["objects"], json!({"Deployment": 1, "Pod": 2, "ReplicaSet": 1}));
    let finding = reason["findings"][0].as_str().unwrap();
    assert!(finding.starts_with("CVE-"), "{finding}");
    assert!(report["findings"].as_array().unwrap().iter().any(|count| count["id"] == finding), "{report:#}");
    assert!(legacy["images"][0]["digest"].as_str().unwrap().starts_with("sha256:"));
    let rules: Vec<&Value> = report["rules"].as_array().unwrap().iter().map(|count| &count["rule"]).collect();
    assert_eq!(rules, ["scan-result", "pre-scan", "report-pending"]);
}

/// What nobody answers is no result: it is among the problems, on the page too, and the command fails.
#[test]
fn what_nobody_answers_is_a_problem() {
    let run = |format| {
        let arguments = ["audit", "-f", "folder/overlays", "--settings", "settings.yaml", "-o", format];
        image_admission(&folder(), &arguments, b"")
    };
    let (json, html) = (run("json"), run("html"));
    assert_eq!((json.code, html.code), (1, 1));
    let report: Value = serde_json::from_str(&json.output).unwrap();
    let problem = report["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("nobody is there to answer which digest `"), "{problem}");
    assert!(html.output.contains("nobody is there to answer"), "{}", html.output);
}

#[test]
fn json_of_a_comparison_has_what_changes() {
    let report = audit_json(&["-f", "dump.yaml", "--settings", "settings.yaml", "--against", "current.yaml"]);
    assert_eq!(report["against"], "current.yaml");
    let changes: BTreeMap<&str, &str> = report["workloads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|workload| (workload["name"].as_str().unwrap(), workload["change"].as_str().unwrap()))
        .collect();
    // What both deny, for whatever reasons, is no change.
    assert_eq!(changes, [("fresh", "newlyDenied"), ("legacy", "newlyDenied")].into());
    let back = audit_json(&["-f", "dump.yaml", "--settings", "current.yaml", "--against", "settings.yaml"]);
    assert_eq!(back["summary"]["changes"], json!({"newlyDenied": 0, "newlyAdmitted": 2, "otherWarnings": 0}));
    let fresh = back["workloads"].as_array().unwrap().iter().find(|workload| workload["name"] == "fresh").unwrap();
    assert_eq!(fresh["before"]["reasons"][0]["rule"], "report-pending");
}

/// Each image and each report is asked for once, however many objects there are.
#[test]
fn what_was_asked_is_not_asked_again() {
    let recording = TempDir::new().unwrap();
    let path = recording.path().join("session.yaml").display().to_string();
    let outcome = audit(&["-f", "dump.yaml", "--settings", "settings.yaml", "--record", &path]);
    assert_eq!(outcome.code, 2, "{outcome:?}");
    let session = fs::read_to_string(&path).unwrap();
    for image in ["web:2.1", "legacy:1.4", "fresh:0.1"] {
        for operation in ["OciManifest", "OciManifestDigest"] {
            let asked = session.matches(&format!("!{operation}\n    image: localhost:5000/shop/{image}\n")).count();
            assert!(asked <= 1, "{operation} {image}: {session}");
        }
    }
}

#[test]
fn the_page_is_complete_in_itself() {
    for arguments in [
        &["-f", "dump.yaml", "--settings", "settings.yaml"][..],
        &["-f", "dump.yaml", "--settings", "settings.yaml", "--against", "current.yaml"],
    ] {
        let page = audit_html(arguments);
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
        for outside in ["http:", "https:", " src=", " href=", "@import", "url(", "style="] {
            assert!(!page.contains(outside), "{outside} in {page}");
        }
        assert_eq!((page.matches("<script").count(), page.matches("<style").count()), (1, 1));
        assert!(page.matches("<svg").count() >= 2, "{page}");
    }
}

#[test]
fn the_page_begins_with_what_is_denied() {
    let page = audit_html(&["-f", "dump.yaml", "--settings", "settings.yaml"]);
    let verdicts: Vec<&str> =
        page.split("<tr data-verdict=\"").skip(1).map(|row| row.split('"').next().unwrap()).collect();
    let rank = |verdict: &&str| ["denied", "warned", "admitted"].iter().position(|known| known == verdict);
    assert!(verdicts.first() == Some(&"denied") && verdicts.last() == Some(&"admitted"), "{verdicts:?}");
    assert!(verdicts.is_sorted_by_key(rank), "{verdicts:?}");
}

/// Files seldom have the namespaces whose labels a policy asks for: a cluster has them.
#[test]
fn labels_of_namespaces_are_asked_for_files_too() {
    let folder = TempDir::new().unwrap();
    let answers = BTreeMap::from([
        (
            "/api/v1".to_owned(),
            json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": "namespaces", "singularName": "", "namespaced": false, "kind": "Namespace", "verbs": ["get", "list"]}]}),
        ),
        (
            "/api/v1/namespaces?&limit=500".to_owned(),
            json!({"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [
                {"metadata": {"name": "shop", "labels": {"env": "dev"}}}, {"metadata": {"name": "web", "labels": {"env": "prod"}}}]}),
        ),
    ]);
    let pod = |namespace: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: {namespace}}}\nspec: {{containers: [{{name: c, image: 'ghcr.io/a:1'}}]}}\n"
        )
    };
    fs::write(folder.path().join("pods.yaml"), [pod("shop"), pod("web")].join("---\n")).unwrap();
    let policy = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: images}\nspec:\n  \
        namespaceSelector: {matchLabels: {env: prod}}\n  settings: {preScanPolicies: {defaultPolicy: reject}}\n";
    fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    // A file's labels are applied over the cluster's, of which the API server has made some.
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: a}}\n";
    fs::write(folder.path().join("namespace.yaml"), namespace).unwrap();
    let kubeconfig = served(folder.path(), answers);
    let arguments = [
        "audit",
        "pods.yaml",
        "namespace.yaml",
        "--settings",
        "policy.yaml",
        "--live",
        "--kubeconfig",
        &kubeconfig,
        "-o",
        "json",
    ];
    let outcome = image_admission(folder.path(), &arguments, b"");
    let report: Value = serde_json::from_str(&outcome.output).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    assert_eq!((&report["summary"]["objects"], outcome.code), (&json!(1), 2), "{outcome:?}");
    assert_eq!(report["workloads"][0]["namespace"], "web", "{outcome:?}");
}

/// Choosing a bar looks for its words in the rows: their text, and the findings that a message leaves out.
#[test]
fn every_bar_finds_a_row() {
    for arguments in [&["-f", "dump.yaml"][..], &["folder"]] {
        let page = audit_html(&[arguments, &["--settings", "settings.yaml"]].concat()).to_lowercase();
        // What the page's script reads of a row: its text, without tags, and its findings.
        let rows: Vec<String> = page
            .split("<tr data-verdict=\"")
            .skip(1)
            .map(|row| {
                let row = row.split("</tr>").next().unwrap();
                let findings = row.split("data-findings=\"").nth(1).unwrap().split('"').next().unwrap();
                let text: String =
                    row.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
                format!("{text} {findings}")
            })
            .collect();
        let bars: Vec<&str> = page.split("data-words=\"").skip(1).map(|bar| bar.split('"').next().unwrap()).collect();
        assert!(bars.iter().any(|words| words.starts_with("cve-")), "{bars:?}");
        for words in bars {
            let fits = |row: &String| words.split_whitespace().all(|word| row.contains(word));
            assert!(rows.iter().any(fits), "{words}");
        }
    }
}

/// Whoever writes a manifest writes into the page.
#[test]
fn names_are_nothing_but_text_in_the_page() {
    let page = audit_html(&["-f", "hostile.yaml", "--settings", "settings.yaml"]);
    for text in [
        "&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
        "&quot; onload=&quot;alert(2)",
        "&lt;img src=x onerror=alert(3)&gt;",
        "&lt;script&gt;alert(4)&lt;/script&gt;.&lt;b&gt;",
        "web\\u{1b}[2K\\u{d}\\u{202e}bew",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let tags = page.replace("</style>", "").replace("<br>", "");
    for tag in tags.split('<').skip(1).filter_map(|rest| rest.split(['>', ' ', '\n']).next()) {
        let known = [
            "!DOCTYPE", "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "p", "code", "section",
            "div", "span", "svg", "g", "text", "rect", "input", "select", "option", "table", "thead", "tbody", "tr",
            "th", "td", "button", "ul", "li", "details", "summary", "script",
        ];
        assert!(known.contains(&tag.trim_start_matches('/')), "<{tag}");
    }
}

#[test]
fn names_command_no_terminal_and_no_workflow() {
    for format in ["table", "json"] {
        let outcome = audit(&["-f", "hostile.yaml", "--settings", "settings.yaml", "-o", format]);
        assert!(!outcome.output.contains(['\u{1b}', '\r']), "{}", outcome.output);
        assert!(!outcome.output.contains("##["), "{}", outcome.output);
        assert!(!outcome.output.lines().any(|line| line.trim_start().starts_with("::")), "{}", outcome.output);
    }
}

/// A cluster that has its objects on several pages, and forbids one kind.
struct Cluster {
    kubeconfig: PathBuf,
    asked: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

/// Serves Pods on two pages, Deployments on one, no Jobs, and nothing of other kinds. With `expires`, the second page of
/// Pods is forgotten.
fn cluster(expires: bool) -> Cluster {
    let kinds = |names: &[(&str, &str)]| {
        let kinds: Vec<Value> = names.iter().map(|(plural, kind)| json!({"name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["list"]})).collect();
        json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": kinds})
    };
    let pod = |name: &str| json!({"metadata": {"name": name, "namespace": "shop", "managedFields": [{"manager": "kubelet"}], "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": true}]}, "spec": {"containers": [{"name": "a", "image": "bad.io/a:1"}]}});
    let list = |items: Vec<Value>, more: &str| json!({"kind": "List", "apiVersion": "v1", "metadata": {"continue": more}, "items": items});
    let web = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "1"}, "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "bad.io/a:1"}]}}}});
    let mut answers: BTreeMap<String, (u16, Value)> = BTreeMap::new();
    let mut answer = |path: &str, status: u16, body: Value| answers.insert(path.to_owned(), (status, body));
    answer("/api/v1", 200, kinds(&[("pods", "Pod"), ("replicationcontrollers", "ReplicationController")]));
    answer(
        "/apis/apps/v1",
        200,
        kinds(&[
            ("deployments", "Deployment"),
            ("replicasets", "ReplicaSet"),
            ("statefulsets", "StatefulSet"),
            ("daemonsets", "DaemonSet"),
        ]),
    );
    answer("/apis/batch/v1", 200, kinds(&[("jobs", "Job"), ("cronjobs", "CronJob")]));
    answer("/api/v1/pods?&limit=500", 200, list(vec![pod("a"), pod("b")], "next"));
    let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "message": "too old", "code": 410});
    let second = if expires { (410, gone) } else { (200, list(vec![pod("c")], "")) };
    answer("/api/v1/pods?&limit=500&continue=next", second.0, second.1);
    answer("/api/v1/pods?", 200, list(vec![pod("a"), pod("b"), pod("c"), pod("d")], ""));
    answer("/api/v1/namespaces/shop/pods?&limit=500", 200, list(vec![pod("a")], ""));
    answer("/apis/apps/v1/deployments?&limit=500", 200, list(vec![web.clone()], ""));
    answer("/apis/apps/v1/namespaces/shop/deployments?&limit=500", 200, list(vec![web], ""));
    for path in ["/apis/batch/v1/jobs?&limit=500", "/apis/batch/v1/namespaces/shop/jobs?&limit=500"] {
        let forbidden = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "jobs is forbidden", "code": 403});
        answer(path, 403, forbidden);
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    thread::spawn(move || {
        for connection in listener.incoming() {
            let path = respond(connection.unwrap(), &answers);
            heard.lock().unwrap().push(path);
        }
    });
    let folder = TempDir::new().unwrap();
    let kubeconfig = folder.path().join("config");
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}]}}"
    );
    fs::write(&kubeconfig, config).unwrap();
    Cluster { kubeconfig, asked, _folder: folder }
}

fn respond(mut connection: TcpStream, answers: &BTreeMap<String, (u16, Value)>) -> String {
    let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    for _ in lines.take_while(|line| !line.is_empty()) {}
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let empty = (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []}));
    let (status, body) = answers.get(&path).unwrap_or(&empty);
    let body = body.to_string();
    let _ = write!(
        connection,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    path
}

/// The report of a cluster, with settings that reject its image, and what was complained of.
fn audit_cluster(cluster: &Cluster, arguments: &[&str]) -> (i32, Value, String) {
    let settings = TempDir::new().unwrap();
    let path = settings.path().join("settings.yaml");
    fs::write(&path, "preScanPolicies: {customPolicies: [{prefix: bad.io/, action: reject}]}\nregistries: [bad.io]")
        .unwrap();
    let (path, kubeconfig) = (path.display().to_string(), cluster.kubeconfig.display().to_string());
    let own = ["audit", "--live", "--kubeconfig", &kubeconfig, "--settings", &path, "-o", "json"];
    let Outcome { code, output, errors } = image_admission(&folder(), &[&own, arguments].concat(), b"");
    (code, serde_json::from_str(&output).unwrap_or_else(|error| panic!("{error}: {output} {errors}")), errors)
}

#[test]
fn a_cluster_is_listed_a_page_at_a_time() {
    let cluster = cluster(false);
    let (code, report, errors) = audit_cluster(&cluster, &[]);
    // Not everything could be listed, so that "nothing else is denied" would be a guess.
    assert_eq!((code, errors.as_str()), (1, "error: cannot list jobs: jobs is forbidden\n"));
    let workloads = report["workloads"].as_array().unwrap();
    assert_eq!(workloads.len(), 1, "{report:#}");
    let web = &workloads[0];
    assert_eq!(
        (&web["kind"], &web["name"], &web["pods"], &web["deniedPods"]),
        (&json!("Deployment"), &json!("web"), &json!(3), &json!(3))
    );
    assert_eq!(report["summary"]["objects"], 4);
    let asked = cluster.asked.lock().unwrap();
    assert!(asked.contains(&"/api/v1/pods?&limit=500&continue=next".to_owned()), "{asked:?}");
}

#[test]
fn a_list_that_was_forgotten_is_read_anew() {
    let (_, report, _) = audit_cluster(&cluster(true), &[]);
    assert_eq!(report["summary"]["pods"], 4, "{report:#}");
}

#[test]
fn one_namespace_of_a_cluster_is_listed_alone() {
    let cluster = cluster(false);
    let (_, report, _) = audit_cluster(&cluster, &["-n", "shop"]);
    assert_eq!(report["summary"]["pods"], 1);
    let asked = cluster.asked.lock().unwrap();
    let lists = asked.iter().filter(|path| path.contains('?'));
    assert!(lists.clone().count() == 8 && lists.clone().all(|path| path.contains("/namespaces/shop/")), "{asked:?}");
}

/// Many Pods of some images, each image with an index of two platforms and two reports of sbomscanner.
struct Large {
    folder: TempDir,
    pods: usize,
}

impl Large {
    /// Every tenth image has critical findings. `format` is how the Pods are written.
    fn new(pods: usize, images: usize, findings: usize, format: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let hex = |text: &str| -> String { Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect() };
        let registry = "registry.example.com";
        let (mut list, mut reports) = (serde_json::Map::new(), Vec::new());
        for number in 0..images {
            let repository = format!("team/app{number}");
            let mut manifests = Vec::new();
            for architecture in ["amd64", "arm64"] {
                let digest = format!("sha256:{}", hex(&format!("{repository} {architecture}")));
                manifests.push(json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 500, "platform": {"architecture": architecture, "os": "linux"}}));
                let bad = number % 10 == 0;
                let entries: Vec<Value> = (0..findings).map(|entry| json!({
                    "cve": format!("CVE-2026-{entry:05}"), "severity": if bad && entry < 3 { "CRITICAL" } else { "MEDIUM" }, "packageName": format!("package-{entry}"),
                    "purl": format!("pkg:apk/alpine/package-{entry}@1.0"), "installedVersion": "1.0", "fixedVersions": ["1.1"],
                    "cvss": {"nvd": {"v3score": "7.5", "v3vector": "CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:N/A:N"}}, "suppressed": false,
                })).collect();
                let critical = if bad { 3.min(findings) } else { 0 };
                reports.push(json!({
                    "apiVersion": "storage.sbomscanner.kubewarden.io/v1alpha1", "kind": "VulnerabilityReport",
                    "metadata": {"name": hex(&digest), "namespace": "sbomscanner"},
                    "imageMetadata": {"registry": "r", "registryURI": registry, "repository": repository, "tag": "1.0", "platform": format!("linux/{architecture}"), "digest": digest},
                    "report": {
                        "summary": {"critical": critical, "high": 0, "medium": findings - critical, "low": 0, "unknown": 0, "suppressed": 0},
                        "results": [{"target": "alpine", "class": "os-pkgs", "type": "alpine", "vulnerabilities": entries}],
                    },
                }));
            }
            let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests});
            list.insert(
                format!("{registry}/{repository}:1.0"),
                json!({"digest": Self::digest_of(&index), "manifest": index}),
            );
        }
        let write = |name: &str, text: String| fs::write(folder.path().join(name), text).unwrap();
        write("images.yaml", json!({"images": list}).to_string());
        write("settings.yaml", format!("registries: [{registry}]\n"));
        fs::create_dir(folder.path().join("cluster")).unwrap();
        write("cluster/reports.json", json!({"apiVersion": "v1", "kind": "List", "items": reports}).to_string());
        let items: Vec<Value> = (0..pods).map(|number| {
            let environment: Vec<Value> = (0..20).map(|variable| json!({"name": format!("VARIABLE_{variable}"), "value": "a value of some length, as there are many"})).collect();
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": format!("app{}-{number}", number % images), "namespace": format!("team-{}", number % 40), "uid": number.to_string(), "labels": {"app": "app"}},
                "spec": {"containers": [{"name": "app", "image": format!("{registry}/team/app{}:1.0", number % images), "env": environment, "resources": {"limits": {"memory": "1Gi"}}}], "nodeName": "node"},
                "status": {"phase": "Running"},
            })
        }).collect();
        let items = json!({"apiVersion": "v1", "kind": "List", "items": items});
        if format == "json" {
            write("pods.json", items.to_string())
        } else {
            write("pods.yaml", yaml_serde::to_string(&items).unwrap())
        }
        Self { folder, pods }
    }

    /// The digest of an index as tools write it, with its keys in the order of the specification.
    fn digest_of(index: &Value) -> String {
        let entries: Vec<String> = index["manifests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                format!(
                    r#"{{"mediaType":"{}","digest":"{}","size":500,"platform":{{"architecture":"{}","os":"linux"}}}}"#,
                    entry["mediaType"].as_str().unwrap(),
                    entry["digest"].as_str().unwrap(),
                    entry["platform"]["architecture"].as_str().unwrap()
                )
            })
            .collect();
        let text = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}}"#,
            entries.join(",")
        );
        crate::support::registry::digest_of(text.as_bytes())
    }

    /// The report, and how long it took.
    fn audit(&self) -> (Value, Duration) {
        let folder = self.folder.path();
        let pods = ["pods.json", "pods.yaml"].into_iter().find(|name| folder.join(name).exists()).unwrap();
        let start = Instant::now();
        let outcome = run(
            folder,
            &[
                "audit",
                "-f",
                pods,
                "--settings",
                "settings.yaml",
                "--images",
                "images.yaml",
                "--cluster",
                "cluster",
                "-o",
                "json",
            ],
        );
        let took = start.elapsed();
        assert_eq!((outcome.code, outcome.errors.as_str()), (2, ""));
        let report: Value = serde_json::from_str(&outcome.output).unwrap();
        assert_eq!(report["summary"]["pods"], self.pods);
        (report, took)
    }
}

fn run(folder: &Path, arguments: &[&str]) -> Outcome {
    image_admission(folder, arguments, b"")
}

#[test]
fn many_pods_of_some_images_are_decided() {
    let (report, _) = Large::new(200, 20, 10, "yaml").audit();
    assert_eq!(report["summary"]["deniedPods"], 20);
    assert_eq!(report["findings"][0], json!({"id": "CVE-2026-00000", "images": 2, "workloads": 20}));
    assert_eq!(report["summary"]["namespaces"], 40);
}

/// For a release build: `cargo test --release --package image-admission-cli --test all five_thousand -- --ignored --nocapture`.
#[test]
#[ignore = "it measures, and takes minutes without optimisation"]
fn five_thousand_pods_are_decided_within_a_minute() {
    for format in ["json", "yaml"] {
        let (report, took) = Large::new(5000, 400, 100, format).audit();
        let _ = writeln!(std::io::stderr(), "5,000 Pods of 400 images, from {format}: {took:?}");
        assert_eq!(report["summary"]["deniedPods"], 500);
        assert!(took < Duration::from_secs(60) || cfg!(debug_assertions), "{took:?}");
    }
}
