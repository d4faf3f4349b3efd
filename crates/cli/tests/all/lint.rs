//! `image-admission lint`, as its users see it: each file `lint/*.txt` is a transcript, see `support/transcripts.rs`.

use crate::support::markdown::fences;
use crate::support::{root, transcripts};
use image_admission_settings::LintRule;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use tempfile::TempDir;
use transcripts::image_admission;

#[test]
fn transcripts_are_as_they_were_read() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    transcripts::check(&folder, |arguments, input| image_admission(&folder, arguments, input));
}

/// What needs no decision is mended in the file, comments stay, and a second time nothing is left to mend.
#[test]
fn files_are_mended_in_place() {
    let tests = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    fs::copy(tests.join("fixable.yaml"), &file).unwrap();
    let fix = || image_admission(folder.path(), &["lint", "--fix", "settings.yaml"], b"");
    let first = fix();
    let mended = "# What the shop may run.
registries: [ghcr.io]
preScanPolicies:
  defaultPolicy: reject
  customPolicies:
    # Ours.
    - prefix: ghcr.io/ # the whole registry
      action: accept
  byNamespace:
    kube-system: {defaultPolicy: accept, customPolicies: []}
exemptions:
  # Until the new release.
  - {vulnerability: CVE-2024-2, images: [\"ghcr.io/\"], reason: not reachable, expires: \"2999-12-31\"}
";
    assert_eq!(fs::read_to_string(&file).unwrap(), mended, "{first:?}");
    let told: Vec<&str> = first.errors.lines().collect();
    assert_eq!(told.len(), 5, "{told:#?}");
    assert!(told.iter().all(|line| line.starts_with("fixed: `settings.yaml`: ")), "{told:#?}");
    let second = fix();
    assert_eq!((second.errors.as_str(), second.output, second.code), ("", first.output, first.code));
    assert_eq!(fs::read_to_string(&file).unwrap(), mended);
}

/// What a policy reads of the cluster is granted in its manifest, and what a policy of a namespace can't be granted stays.
#[test]
fn missing_kinds_are_granted_in_the_file() {
    let tests = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lint"));
    let folder = tempfile::tempdir().unwrap();
    let before = fs::read_to_string(tests.join("grants.yaml")).unwrap();
    let file = folder.path().join("policy.yaml");
    fs::write(&file, &before).unwrap();
    let fix = || image_admission(folder.path(), &["lint", "--fix", "policy.yaml"], b"");
    let first = fix();
    let granted = "  contextAwareResources:
    - {apiVersion: v1, kind: Namespace}
    - {apiVersion: storage.sbomscanner.kubewarden.io/v1alpha1, kind: VulnerabilityReport}
    - {apiVersion: storage.sbomscanner.kubewarden.io/v1alpha1, kind: Image}
    - {apiVersion: sbomscanner.kubewarden.io/v1alpha1, kind: ScanJob}
    - {apiVersion: sbomscanner.kubewarden.io/v1alpha1, kind: Registry}
  # What is admitted.
";
    let after = before.replacen("  # What is admitted.\n", granted, 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), after, "{first:?}");
    let second = fix();
    assert_eq!((second.errors.as_str(), second.output, second.code), ("", first.output, first.code));
    assert_eq!(fs::read_to_string(&file).unwrap(), after);
    // A manifest of before has all but the kind that only makes an answer come sooner.
    let registry = "    - {apiVersion: sbomscanner.kubewarden.io/v1alpha1, kind: Registry}\n";
    fs::write(&file, after.replace(registry, "")).unwrap();
    let said = image_admission(folder.path(), &["lint", "policy.yaml"], b"").output;
    let wanted = "spec.contextAwareResources: an image that was never scanned takes a list of all reports: `reports.sources[0]` reads \
                  `{apiVersion: sbomscanner.kubewarden.io/v1alpha1, kind: Registry}`, which isn't granted; add it [missing-kind]";
    assert!(said.contains(wanted), "{said}");
    assert!(!said.contains("fail, and reject: it reads `{apiVersion: sbom"), "{said}");
}

/// YAML would take a comma after the last entry, and whoever reads JSON wouldn't.
#[test]
fn json_stays_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.json");
    let exemption = |id: u8, year: u16| {
        format!(
            r#"    {{"vulnerability":"CVE-{id}","images":["ghcr.io/a/b:"],"reason":"because","expires":"{year}-01-01"}}"#
        )
    };
    let text = format!(
        "{{\"registries\": [\"ghcr.io\"],\n \"exemptions\": [\n{},\n{}\n ]}}\n",
        exemption(1, 2999),
        exemption(2, 2020)
    );
    fs::write(&file, &text).unwrap();
    let told = image_admission(folder.path(), &["lint", "--fix", "settings.json"], b"");
    let mended: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(mended["exemptions"].as_array().unwrap().len(), 1, "{told:?}");
    assert_eq!(mended["exemptions"][0]["vulnerability"], "CVE-1");
}

/// What would have another meaning is left to its author, and a file in which nothing is certain stays as it is.
#[test]
fn what_needs_a_decision_is_not_mended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.yaml");
    let text = "registries: [ghcr.io]
preScanPolicies:
  defaultPolicy: reject
  customPolicies:
    - {prefix: ghcr.io/, action: accept}
    - {prefix: ghcr.io/evil/, action: reject} # meant to come first
    - {prefix: nginx, action: accept}
    - {prefix: quay.io, action: accept} # not in registries
    - {prefix: docker.io/library/app, action: accept}
  byNamespace:
    kube-system: {defaultPolicy: reject}
    shop: {customPolicies: [{prefix: ghcr.io/, action: reject}]}
";
    fs::write(&file, text).unwrap();
    let outcome = image_admission(folder.path(), &["lint", "--fix", "settings.yaml"], b"");
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), outcome.errors.as_str()), (text, ""));
    assert_eq!(outcome.code, 2);
    for rule in ["[never-matches]", "[short-name]", "[open-prefix]", "[redundant]", "[namespace-without-effect]"] {
        assert!(outcome.output.contains(rule), "{rule}: {}", outcome.output);
    }
}

/// Whoever writes an object may change its labels once it runs.
#[test]
fn objects_that_are_chosen_by_labels() {
    let folder = tempfile::tempdir().unwrap();
    let lint = |spec: &str| {
        let policy = format!(
            "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{name: image-admission}}\nspec:\n  module: m\n{spec}\n  settings: {{}}\n"
        );
        fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        let told = image_admission(folder.path(), &["lint", "policy.yaml"], b"");
        let lines = told.output.lines().filter(|line| line.contains("[by-label]"));
        lines.filter_map(|line| line.split("spec.").nth(1)?.split(": ").next()).map(str::to_owned).collect::<Vec<_>>()
    };
    for (spec, paths) in [
        ("  objectSelector: {matchLabels: {env: prod}}", &["objectSelector"][..]),
        ("  objectSelector: {matchExpressions: [{key: skip, operator: DoesNotExist}]}", &["objectSelector"]),
        ("  objectSelector: {}", &[]),
        ("  objectSelector: {matchLabels: {}, matchExpressions: []}", &[]),
        ("  objectSelector: prod", &[]),
        ("  namespaceSelector: {matchLabels: {env: prod}}", &[]),
        (
            "  matchConditions: [{name: a, expression: \"request.namespace != 'a'\"}, {name: b, expression: \"object.metadata.labels.env == 'b'\"}, {name: c}]",
            &["matchConditions[1].expression"],
        ),
    ] {
        assert_eq!(lint(spec), paths, "{spec}");
    }
}

/// `scope: Cluster` isn't "in the whole cluster": Pods are in namespaces.
#[test]
fn a_rule_for_what_is_in_no_namespace_sends_no_pod() {
    let folder = tempfile::tempdir().unwrap();
    for (scope, is_asked) in [("Cluster", false), ("Namespaced", true), ("'*'", true)] {
        let rule = |group: &str, resources: &str, operations: &str, scope: &str| {
            format!(
                "{{apiGroups: ['{group}'], apiVersions: [v1], resources: [{resources}], operations: [{operations}], scope: {scope}}}"
            )
        };
        let rules = [
            rule("", "pods", "CREATE, UPDATE", scope),
            rule("", "pods/ephemeralcontainers", "UPDATE", scope),
            rule("apps", "deployments", "CREATE, UPDATE", "Namespaced"),
        ];
        let policy = format!(
            "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {{name: image-admission}}\nspec:\n  module: m\n  rules: [{}]\n  settings: {{registries: [ghcr.io]}}\n",
            rules.join(", ")
        );
        fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        let told = image_admission(folder.path(), &["lint", "policy.yaml"], b"");
        assert_eq!(!told.output.contains("[never-asked]"), is_asked, "{scope}: {}{}", told.output, told.errors);
    }
}

/// What a folder is asked about mustn't look as if it had been looked at.
#[test]
fn settings_in_a_folder_are_named_where_they_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("policy.yaml"),
        "apiVersion: policies.kubewarden.io/v1\nkind: AdmissionPolicy\nmetadata: {name: i, namespace: n}\nspec: {module: m, settings: {registries: [ghcr.io]}}\n",
    )
    .unwrap();
    fs::write(folder.path().join("values.yaml"), "image: {tag: latest}\nreplicas: 2\ncontext: {}\n").unwrap();
    let quiet = image_admission(folder.path(), &["lint", "."], b"");
    assert_eq!(quiet.errors, "");
    fs::write(folder.path().join("settings.yaml"), "registries: [ghcr.io]\nmaxImagse: 3\n").unwrap();
    let told = image_admission(folder.path(), &["lint", "."], b"");
    assert_eq!(
        told.errors,
        "warning: `settings.yaml` has settings without a policy, and of a folder only policies are looked at: give the file\n"
    );
    assert_eq!(told.output, quiet.output);
    assert_eq!(image_admission(folder.path(), &["lint", "--diff", "."], b"").errors, told.errors);
}

/// A cluster whose trivy-operator has these variables, in its container and in its ConfigMap; and its kubeconfig, in `folder`.
fn cluster_with_operator(folder: &Path, deployments: Option<&[(Value, Value)]>) -> String {
    let kinds = |version: &str, plural: &str, kind: &str| {
        json!({"kind": "APIResourceList", "groupVersion": version, "resources": [
            {"name": plural, "singularName": "", "namespaced": true, "kind": kind, "verbs": ["get", "list"]}]})
    };
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    answers.insert("/api/v1".to_owned(), kinds("v1", "configmaps", "ConfigMap"));
    answers.insert("/apis/apps/v1".to_owned(), kinds("apps/v1", "deployments", "Deployment"));
    let mut items = Vec::new();
    for (position, (own, map)) in deployments.into_iter().flatten().enumerate() {
        let namespace = format!("trivy-{position}");
        let env: Vec<Value> =
            own.as_object().unwrap().iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
        let container = json!({"name": "trivy-operator", "env": env, "envFrom": [
            {"configMapRef": {"name": "trivy-operator-config"}}, {"configMapRef": {"name": "missing"}}, {"secretRef": {"name": "s"}}]});
        items.push(json!({"metadata": {"name": "trivy-operator", "namespace": namespace},
            "spec": {"template": {"spec": {"containers": [{"name": "proxy"}, container]}}}}));
        answers.insert(
            format!("/api/v1/namespaces/{namespace}/configmaps/trivy-operator-config"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trivy-operator-config", "namespace": namespace}, "data": map}),
        );
    }
    if deployments.is_some() {
        answers.insert(
            "/apis/apps/v1/deployments?&labelSelector=app.kubernetes.io%2Fname%3Dtrivy-operator".to_owned(),
            json!({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": items}),
        );
    }
    served(folder, answers)
}

/// A cluster's API with these answers by their paths, as a kubeconfig in a folder.
pub(crate) fn served(folder: &Path, answers: BTreeMap<String, Value>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            answer(connection.unwrap(), &answers);
        }
    });
    let kubeconfig = folder.join("config");
    let config = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}]}}"
    );
    fs::write(&kubeconfig, config).unwrap();
    kubeconfig.display().to_string()
}

/// What isn't there is forbidden.
fn answer(mut connection: TcpStream, answers: &BTreeMap<String, Value>) {
    let mut lines = BufReader::new(&connection).lines().map_while(Result::ok);
    let request = lines.next().unwrap_or_default();
    for _ in lines.take_while(|line| !line.is_empty()) {}
    let found = answers.get(request.split(' ').nth(1).unwrap_or_default());
    let status = if found.is_some() { 200 } else { 403 };
    let forbidden = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "message": "not for you", "code": 403});
    let body = found.unwrap_or(&forbidden).to_string();
    let _ = write!(
        connection,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

const ENABLED: &str = "OPERATOR_ALTERNATE_REPORT_STORAGE_ENABLED";
const FOLDER: &str = "OPERATOR_ALTERNATE_REPORT_STORAGE_DIR";

/// trivy-operator can write its reports into files, and no policy sees one.
#[test]
fn reports_that_are_files() {
    let folder = tempfile::tempdir().unwrap();
    let lint = |settings: &str, deployments: Option<&[(Value, Value)]>| {
        fs::write(folder.path().join("settings.yaml"), settings).unwrap();
        let kubeconfig = cluster_with_operator(folder.path(), deployments);
        image_admission(folder.path(), &["lint", "--live", "--kubeconfig", &kubeconfig, "settings.yaml"], b"")
    };
    let reads = "registries: [ghcr.io]\nacceptance: {packages: {deny: [{purl: 'pkg:deb/debian/xz-utils'}]}}\nreports:\n  platforms: [linux/amd64]\n  sboms: [{trivyOperator: {namespaces: [scans], platform: linux/amd64}}]\n  sources:\n    - sbomscanner: {}\n    - trivyOperator: {namespaces: [scans], platform: linux/amd64}\n";
    let on = || json!({ENABLED: "true", FOLDER: "/mnt/data"});
    let found = lint(reads, Some(&[(on(), json!({}))]));
    let remarks: Vec<&str> = found.output.lines().filter(|line| line.contains("[report-files]")).collect();
    let said = |spot: &str, path: &str, kind: &str| {
        format!(
            "settings.yaml:{spot}: error: {path}: trivy-operator (Deployment `trivy-0/trivy-operator`) writes its reports into files below `/mnt/data` and makes no `{kind}`, so that images wait for ever; set `alternateReportStorage.enabled: false` in its chart, or take another source [report-files]"
        )
    };
    assert_eq!(
        remarks,
        [said("8:7", "reports.sources[1]", "VulnerabilityReport"), said("5:11", "reports.sboms[0]", "SbomReport")],
        "{found:?}"
    );
    assert_eq!(found.code, 2);
    let is_found = |deployments: &[(Value, Value)]| {
        let found = lint(reads, Some(deployments));
        assert_eq!(found.errors, "");
        found.output.contains("[report-files]")
    };
    // A container's own variables count, not a ConfigMap's of the same name; both must be set.
    for (own, map, expected) in [
        (json!({}), on(), true),
        (json!({FOLDER: "/a"}), json!({ENABLED: "1"}), true),
        (json!({ENABLED: "false"}), on(), false),
        (json!({ENABLED: "true"}), json!({}), false),
        (json!({ENABLED: "true", FOLDER: ""}), json!({}), false),
        (json!({ENABLED: "yes", FOLDER: "/a"}), json!({}), false),
        (json!({}), json!({}), false),
    ] {
        assert_eq!(is_found(&[(own.clone(), map.clone())]), expected, "{own} {map}");
    }
    // One that makes objects is enough, and so is none that is known.
    assert!(!is_found(&[(on(), json!({})), (json!({}), json!({}))]));
    assert!(is_found(&[(on(), json!({})), (on(), json!({}))]));
    assert!(!is_found(&[]));
    // Whoever doesn't read the operator's reports isn't told of them.
    let others = lint("registries: [ghcr.io]\n", Some(&[(on(), json!({}))]));
    assert!(!others.output.contains("[report-files]"), "{others:?}");
    // A cluster that doesn't say it is no cluster without it.
    let forbidden = lint(reads, None);
    assert_eq!(
        (
            forbidden.code,
            forbidden
                .errors
                .contains("`--live` lists Deployments of all namespaces, to find trivy-operator, and can't: ")
        ),
        (1, true),
        "{forbidden:?}"
    );
}

/// What is written where there is nothing to say of the standard input.
pub(crate) const NO_FINDINGS: &str = "no findings in the standard input\n";

/// The page that explains each rule.
pub(crate) const PAGE: &str = "docs/lint.md";

/// Every rule has a section, in which the first example has the finding, and the second hasn't.
#[test]
fn the_page_shows_what_each_rule_finds() {
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    let mut sections = page.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap());
    let folder = TempDir::new().unwrap();
    let mut shown = 0;
    for rule in LintRule::ALL {
        let (name, section) = sections.next().unwrap_or_default();
        assert_eq!(name, rule.name(), "the sections are in the order of the rules");
        let fences = fences(section).unwrap();
        let found = |text: &str| {
            let outcome = image_admission(folder.path(), &["lint", "-"], text.as_bytes());
            assert!(outcome.errors.is_empty(), "{name}: {}", outcome.errors);
            outcome.output.contains(&format!("[{name}]"))
        };
        match fences.as_slice() {
            [bad, good] => {
                assert_eq!(
                    (bad.kind.as_str(), found(&bad.text), found(&good.text)),
                    ("finding", true, false),
                    "{name}"
                );
                shown += 1;
            }
            // What only a cluster has.
            [sample] => assert!(sample.kind == "sample" && sample.text.contains(&format!("[{name}]")), "{name}"),
            other => panic!("{name} has {} fences", other.len()),
        }
    }
    assert_eq!(sections.next(), None);
    assert!(shown > 40, "{shown}");
}

/// A policy without rules is only a patch: the policy under it may have what is missing, and lists that `--fix` made would replace its
/// own.
#[test]
fn a_patch_is_no_policy_that_lacks_something() {
    let folder = TempDir::new().unwrap();
    let patch = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: image-admission}\nspec:\n  \
        module: registry://registry.example.com/image-admission:v0.1.0\n  settings:\n    registries: [ghcr.io]\n    \
        reports: {sources: [{sbomscanner: {namespaces: [sbomscanner]}}]}\n";
    fs::write(folder.path().join("policy.yaml"), patch).unwrap();
    let outcome = image_admission(folder.path(), &["lint", "--fix", "policy.yaml"], b"");
    assert_eq!((outcome.code, outcome.output.as_str()), (0, "no findings in `policy.yaml`\n"), "{}", outcome.errors);
    assert_eq!(fs::read_to_string(folder.path().join("policy.yaml")).unwrap(), patch);
    let whole = patch.replace("spec:\n", "spec:\n  rules: []\n");
    let outcome = image_admission(folder.path(), &["lint", "-"], whole.as_bytes());
    assert!(outcome.output.contains("[missing-kind]"), "{}", outcome.output);
}

/// A folder is what the cluster gets: kustomize renders it, and without kustomize's program the policies in it are looked at.
#[test]
fn a_folder_is_what_the_cluster_gets() {
    let folder = TempDir::new().unwrap();
    let init = [
        "init",
        "--scanner",
        "sbomscanner",
        "--registries",
        "ghcr.io",
        "--module",
        "ghcr.io/team/policy:v1",
        "--validating",
    ];
    assert_eq!(image_admission(folder.path(), &init, b"").code, 0);
    let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
    assert_eq!(
        (outcome.code, outcome.output.as_str()),
        (0, "no findings in `image-admission`\n"),
        "{}",
        outcome.errors
    );
    let policy = fs::read_to_string(folder.path().join("image-admission/policy.yaml")).unwrap();
    // What is found has its line in the patch, and is told once however many policies have it.
    for (wrong, line, expected) in [
        (policy.replace("maxSeverity:", "maxSeverty:"), "maxSeverty", "did you mean `maxSeverity`? [invalid-settings]"),
        (policy.replace("  settings:", "  setting: {}\n  settings:"), "setting:", "[misplaced-setting]"),
        (format!("{policy}acceptance: {{}}\n"), "spec:", "[misplaced-setting]"),
        (policy.replace("critical: {total: 0}", "critical: {total: 0}\n    exemptions: [{vulnerability: CVE-*, images: [ghcr.io/], reason: r, expires: 2999-01-31}]"), "CVE-*", "[every-vulnerability]"),
    ] {
        fs::write(folder.path().join("image-admission/policy.yaml"), &wrong).unwrap();
        let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
        let number = wrong.lines().position(|text| text.contains(line)).unwrap() + 1;
        let found: Vec<&str> = outcome.output.lines().filter(|line| line.ends_with(expected)).collect();
        let place = format!("image-admission/policy.yaml:{number}:");
        assert!(found.len() == 1 && found[0].starts_with(&place), "{place}: {outcome:?}");
    }
    let twice = policy.replace("critical: {total: 0}", "critical: {total: 0}\n        critical: {total: 9}");
    fs::write(folder.path().join("image-admission/policy.yaml"), twice).unwrap();
    let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
    assert!(outcome.code == 3 && outcome.output.contains("it stands twice"), "{}", outcome.output);
    fs::write(folder.path().join("image-admission/policy.yaml"), policy).unwrap();
    let fixed = image_admission(folder.path(), &["lint", "--fix", "image-admission"], b"");
    assert_eq!(fixed.code, 1, "{}", fixed.output);
    fs::remove_file(folder.path().join("image-admission/kustomization.yaml")).unwrap();
    let broken =
        fs::read_to_string(folder.path().join("image-admission/policy.yaml")).unwrap().replace("ghcr.io]", "]");
    fs::write(folder.path().join("image-admission/policy.yaml"), broken).unwrap();
    // Links that lead back, and files that never end, are passed over.
    std::os::unix::fs::symlink(".", folder.path().join("image-admission/again")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("image-admission/zero.yaml")).unwrap();
    let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
    assert!(outcome.output.contains("image-admission/policy.yaml:") && outcome.output.contains("[any-registry]"));
    // So are a chart's templates, which are no YAML until Helm has rendered them. What is no YAML elsewhere is not, nor are keys that
    // stand twice, whatever braces are beside them.
    fs::create_dir(folder.path().join("image-admission/templates")).unwrap();
    fs::write(folder.path().join("image-admission/Chart.yaml"), "name: a\n").unwrap();
    let template = folder.path().join("image-admission/templates/extra.yaml");
    fs::write(template, "{{- if .Values.a }}\na: b\n{{- end }}\n").unwrap();
    let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
    assert!(outcome.errors.contains("`image-admission/templates` is passed over"), "{}", outcome.errors);
    assert!(outcome.code == 3 && outcome.output.contains("[any-registry]"), "{}", outcome.output);
    let extra = folder.path().join("image-admission/extra.yaml");
    fs::write(&extra, "# {{ a }}\nregistries: []\nregistries: [ghcr.io]\n").unwrap();
    let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
    assert!(outcome.code == 3 && outcome.output.contains("extra.yaml:3:"), "{}", outcome.output);
    fs::write(&extra, "a: [\n").unwrap();
    let outcome = image_admission(folder.path(), &["lint", "image-admission"], b"");
    assert!(outcome.code == 1 && outcome.errors.contains("extra.yaml"), "{}", outcome.errors);
}
