//! The job of `deploy/restart`: its script, with a stand-in for `curl` that has Pods, a Deployment and a budget, evicts the old
//! Pods one after the other, asks what its account may ask, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::root;

/// Notes what is asked, and answers with what the test wrote down: the Pods, and one line after the other of `deployments` and of
/// `codes`. When they are used up, all replicas are ready and evictions succeed.
const CURL: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do
    case $1 in --output) output=$2 ;; --data) data=$2 ;; esac
    shift
done
echo "${1#https://api}${data:+ $data}" >>"$MACHINE/asked"
next() {
    line=$(head -n 1 "$MACHINE/$1")
    [ -n "$line" ] || line=$2
    tail -n +2 "$MACHINE/$1" >"$MACHINE/rest" && cp "$MACHINE/rest" "$MACHINE/$1"
    printf '%s' "$line"
}
case $1 in
*/eviction) echo '{"kind": "Status", "message": "as the API server says"}' >"$output" && next codes 201 ;;
*/deployments/*) next deployments '{"status":{"replicas":2,"availableReplicas":2}}' >"$output" ;;
*) cp "$MACHINE/pods.json" "$output" ;;
esac
"#;

/// A function, since BusyBox prefers its own program to one on PATH.
const SLEEP: &str = "sleep() { echo \"sleep $1\" >>\"$MACHINE/asked\"; }\n";

const MISSING: &str = r#"{"status":{"replicas":2,"availableReplicas":1,"unavailableReplicas":1}}"#;
const PODS: &str = "/api/v1/namespaces/kubewarden/pods";
const LIST: &str = "/api/v1/namespaces/kubewarden/pods?labelSelector=kubewarden%2Fpolicy-server%3Dimage-admission";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/kubewarden/deployments/policy-server-image-admission";

/// The objects of a file of the component.
fn objects(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(root().join("deploy/restart").join(file)).unwrap();
    text.split("\n---\n").map(|document| yaml_serde::from_str(document).unwrap()).collect()
}

/// The metadata of Pods, in the order in which the API server writes it.
fn pods(pods: &[(&str, &str)]) -> String {
    let item = |(name, created): &(&str, &str)| {
        let own = format!(
            r#""name":"{name}","generateName":"policy-server-image-admission-6d4cf56db6-","namespace":"kubewarden","creationTimestamp":"{created}""#
        );
        let others = r#""labels":{"kubewarden/policy-server":"image-admission"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"policy-server-image-admission-6d4cf56db6"}],"managedFields":[{"manager":"kube-controller-manager","time":"2020-01-01T00:00:00Z"}]"#;
        format!(r#"{{"metadata":{{{own},{others}}}}}"#)
    };
    let items: Vec<String> = pods.iter().map(item).collect();
    format!(
        r#"{{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{{"resourceVersion":"7"}},"items":[{}]}}"#,
        items.join(",")
    )
}

/// A machine with the script's account and the stand-ins.
struct Machine(TempDir);

impl Machine {
    fn with(pods: &str, deployments: &[&str], codes: &[&str]) -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        let path = |name: &str| machine.0.path().join(name);
        for (name, text) in [
            ("pods.json", pods.to_owned()),
            ("deployments", deployments.join("\n") + "\n"),
            ("codes", codes.join("\n") + "\n"),
            ("asked", String::new()),
            ("token", "secret".to_owned()),
            ("ca.crt", String::new()),
        ] {
            fs::write(path(name), text).unwrap();
        }
        fs::create_dir(path("bin")).unwrap();
        fs::write(path("bin/curl"), CURL).unwrap();
        fs::set_permissions(path("bin/curl"), fs::Permissions::from_mode(0o755)).unwrap();
        machine
    }

    /// Runs the script in a shell: how it ended, what it said, and what was asked.
    fn run(&self, shell: &[&str], hours: &str) -> (bool, String, Vec<String>) {
        let script = objects("restart.yaml").remove(0)["data"]["restart.sh"].as_str().unwrap().to_owned();
        let account = self.0.path().to_str().unwrap();
        let script = SLEEP.to_owned() + &script.replace("/var/run/secrets/kubernetes.io/serviceaccount", account);
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths([self.0.path().join("bin")].into_iter().chain(std::env::split_paths(&path)));
        let mut command = Command::new(shell[0]);
        command.args(&shell[1..]).arg("-c").arg(script).env("PATH", path.unwrap());
        command.env("MACHINE", account).env("API", "https://api").env("MAX_AGE_HOURS", hours);
        let output = command.output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let asked = fs::read_to_string(self.0.path().join("asked")).unwrap();
        (output.status.success(), said, asked.lines().map(str::to_owned).collect())
    }
}

fn eviction(pod: &str) -> String {
    format!(
        "{PODS}/{pod}/eviction {{\"apiVersion\": \"policy/v1\", \"kind\": \"Eviction\", \"metadata\": {{\"name\": \"{pod}\", \"namespace\": \"kubewarden\"}}}}"
    )
}

const OLD: &str = "policy-server-image-admission-6d4cf56db6-24xkd";
const OTHER: &str = "policy-server-image-admission-6d4cf56db6-z9qlm";
const YOUNG: &str = "policy-server-image-admission-6d4cf56db6-abcde";

fn three() -> String {
    pods(&[(OLD, "2020-01-01T00:00:00Z"), (YOUNG, "2999-01-01T00:00:00Z"), (OTHER, "2020-01-02T00:00:00Z")])
}

/// The shells that there are: an image has the one or the other.
fn shells() -> Vec<Vec<&'static str>> {
    let all = [vec!["sh"], vec!["dash"], vec!["bash"], vec!["busybox", "sh"]];
    let is_there = |shell: &Vec<&str>| Command::new(shell[0]).args(&shell[1..]).args(["-c", "true"]).output().is_ok();
    all.into_iter().filter(is_there).collect()
}

#[test]
fn old_pods_are_evicted_one_after_the_other() {
    for shell in shells() {
        let machine = Machine::with(&three(), &["", MISSING, MISSING], &["429", "201", "404"]);
        let (succeeded, said, asked) = machine.run(&shell, "168");
        assert!(succeeded, "{shell:?}: {said}");
        assert_eq!(said, format!("{OLD}: older than 168 hours, evicted\n{OTHER}: gone already\n"), "{shell:?}");
        let (list, deployment) = (LIST.to_owned(), DEPLOYMENT.to_owned());
        let (short, long) = ("sleep 5".to_owned(), "sleep 10".to_owned());
        let expected = [
            list,
            // All are ready, the budget lets none go, and then one.
            deployment.clone(),
            eviction(OLD),
            short.clone(),
            eviction(OLD),
            long.clone(),
            // One is missing, and still, and none.
            deployment.clone(),
            short.clone(),
            deployment.clone(),
            short,
            deployment.clone(),
            eviction(OTHER),
            long,
            deployment,
        ];
        assert_eq!(asked, expected, "{shell:?}");
    }
}

#[test]
fn young_pods_are_left_alone() {
    // So long ago nobody counted, and no Pod at all is no error either.
    for (pods, hours) in [(three(), "400000"), (pods(&[(YOUNG, "2999-01-01T00:00:00Z")]), "0"), (pods(&[]), "168")] {
        let (succeeded, said, asked) = Machine::with(&pods, &[], &[]).run(&["sh"], hours);
        assert!(succeeded && said.is_empty(), "{said}");
        assert_eq!(asked, [LIST, DEPLOYMENT]);
    }
}

#[test]
fn what_is_refused_ends_the_job_and_is_told() {
    for code in ["403", "500", "000"] {
        let (succeeded, said, asked) = Machine::with(&three(), &[], &[code]).run(&["sh"], "168");
        assert!(!succeeded && said.contains("as the API server says"), "{code}: {said}");
        assert_eq!(asked, [LIST.to_owned(), DEPLOYMENT.to_owned(), eviction(OLD)], "{code}: no other is evicted");
    }
}

/// What the API server has to be asked, its account may ask; and nothing is granted that the script doesn't ask.
#[test]
fn its_account_may_do_what_the_script_does_and_nothing_else() {
    let role = objects("rights.yaml").into_iter().find(|object| object["kind"] == "Role").unwrap();
    let Role { rules, metadata } = serde_json::from_value(role).unwrap();
    assert_eq!(metadata.namespace.as_deref(), Some("kubewarden"));
    let granted: BTreeSet<(String, String, Option<String>)> = rules
        .into_iter()
        .flatten()
        .flat_map(|PolicyRule { verbs, resources, resource_names, .. }| {
            let resource = resources.unwrap().join(",");
            let name = resource_names.map(|names| names.join(","));
            verbs.into_iter().map(move |verb| (verb, resource.clone(), name.clone()))
        })
        .collect();
    let (_, _, asked) = Machine::with(&three(), &[], &[]).run(&["sh"], "168");
    let needed = asked.iter().filter(|line| !line.starts_with("sleep")).map(|line| {
        let path = line.split([' ', '?']).next().unwrap();
        match path.split('/').collect::<Vec<_>>().as_slice() {
            [_, "api", "v1", "namespaces", "kubewarden", "pods"] => ("list".to_owned(), "pods".to_owned(), None),
            [_, "api", "v1", "namespaces", "kubewarden", "pods", _, "eviction"] => {
                ("create".to_owned(), "pods/eviction".to_owned(), None)
            }
            [_, "apis", "apps", "v1", "namespaces", "kubewarden", "deployments", name] => {
                ("get".to_owned(), "deployments".to_owned(), Some((*name).to_owned()))
            }
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(needed.collect::<BTreeSet<_>>(), granted);
}

/// The policy server that is restarted is the one of the base.
#[test]
fn it_is_the_policy_server_of_the_base() {
    let server = fs::read_to_string(root().join("deploy/policy-server.yaml")).unwrap();
    let server: Value = yaml_serde::from_str(&server).unwrap();
    let name = server["metadata"]["name"].as_str().unwrap();
    assert!(LIST.ends_with(&format!("%3D{name}")) && DEPLOYMENT.ends_with(&format!("/policy-server-{name}")));
    // Without one, only what the Deployment says keeps the second replica.
    assert_eq!(server["spec"]["minAvailable"], 1);
}

/// A page in the place of a list is no list without old Pods.
#[test]
fn what_is_no_list_of_pods_is_a_failure() {
    for answer in ["", "<html></html>", "{}", r#"{"kind":"Status","code":200}"#] {
        let machine = Machine::with(answer, &[], &[]);
        let (succeeded, said, asked) = machine.run(&["sh"], "168");
        assert!(!succeeded && said.contains("the API's answer is no list of Pods"), "{answer}: {said}");
        assert_eq!(asked, [LIST], "{answer}");
    }
}
