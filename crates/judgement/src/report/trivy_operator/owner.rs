//! Owners: the workload under whose name trivy-operator keeps the report of a container, and that name.

use serde_json::Value;

/// The letters of Kubernetes' hashes.
const SAFE_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// The longest value of a label.
const MAX_LABEL_LENGTH: usize = 63;
/// Controllers whose Pods' reports are kept under the controller's name.
const CONTROLLERS: [&str; 5] = ["ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"];

/// A workload that may own reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    kind: String,
    name: String,
}

impl Owner {
    /// The workloads under whose names the operator may store an object's reports. A Deployment's reports belong to its ReplicaSet,
    /// whose name isn't known yet. Nor has an object a name yet if the API server generates it.
    pub fn of(object: &Value, kind: &str) -> Vec<Self> {
        let text = |pointer: &str| {
            image_admission_untrusted::pointer::at(object, pointer)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        };
        let own = text("/metadata/name").map(|name| Self { kind: kind.to_owned(), name: name.to_owned() });
        let references =
            image_admission_untrusted::pointer::at(object, "/metadata/ownerReferences").and_then(Value::as_array);
        let controller = references.into_iter().flatten().find_map(|reference| {
            let field = |key: &str| reference.get(key).and_then(Value::as_str);
            let is_controller = reference.get("controller").and_then(Value::as_bool) == Some(true);
            is_controller.then(|| Some(Self { kind: field("kind")?.to_owned(), name: field("name")?.to_owned() }))?
        });
        match (kind, controller) {
            ("Deployment", _) => Vec::new(),
            ("Pod", Some(controller)) if CONTROLLERS.contains(&controller.kind.as_str()) => controller.with_cron_job(),
            ("Job", Some(controller)) if controller.kind == "CronJob" => vec![controller],
            _ => own.into_iter().collect(),
        }
    }

    /// A CronJob names its Jobs after itself and the minute; the Job's own owner isn't in the Pod. A report with either name must
    /// be about the image anyway.
    fn with_cron_job(self) -> Vec<Self> {
        let of_cron_job = match self.name.rsplit_once('-') {
            Some((name, minute))
                if self.kind == "Job"
                    && !name.is_empty()
                    && !minute.is_empty()
                    && minute.bytes().all(|b| b.is_ascii_digit()) =>
            {
                Some(Self { kind: "CronJob".to_owned(), name: name.to_owned() })
            }
            _ => None,
        };
        [Some(self), of_cron_job].into_iter().flatten().collect()
    }

    /// The name of a container's report: readable if that is a valid value of a label, otherwise with a hash.
    fn report_name(&self, container: &str) -> String {
        let kind = self.kind.to_ascii_lowercase();
        let readable = format!("{kind}-{}-{container}", self.name);
        if is_label_value(&readable) {
            readable
        } else {
            format!("{kind}-{}", hash(&format!("{}-{container}", self.name)))
        }
    }
}

/// The names that reports of these containers can have.
pub(super) fn report_names(owners: &[Owner], containers: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for owner in owners {
        for name in containers.iter().map(|container| owner.report_name(container)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// What Kubernetes accepts as a label's value.
fn is_label_value(text: &str) -> bool {
    let ends = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    text.len() <= MAX_LABEL_LENGTH
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && ends(text.bytes().next())
        && ends(text.bytes().last())
}

/// The operator's hash of a string: FNV-1a of 32 bits over the way Go prints a string with its type, in decimal, each digit as one
/// of Kubernetes' safe letters.
fn hash(text: &str) -> String {
    let mut hash: u32 = 0x811c_9dc5;
    for byte in b"(string)".iter().copied().chain(text.bytes()) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    let letter = |digit: u8| SAFE_LETTERS.get(usize::from(digit) % SAFE_LETTERS.len()).map_or('b', |b| char::from(*b));
    hash.to_string().bytes().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The operator's own published test vectors.
    #[test]
    fn hashes_are_the_operators() {
        assert_eq!(hash("index.docker.io/rancher/local-path-provisioner:v0.0.14"), "79b568748c");
        assert_eq!(hash("k8s.gcr.io/kube-apiserver:v1.21.1"), "6857f776bb");
    }

    #[test]
    fn names_are_readable_where_labels_allow_it() {
        let owner = |name: &str| Owner { kind: "ReplicaSet".to_owned(), name: name.to_owned() };
        let name = owner("nginx-deployment-965685897").report_name("nginx");
        assert_eq!(name, "replicaset-nginx-deployment-965685897-nginx");
        let longest = "a".repeat(46);
        assert_eq!(owner(&longest).report_name("nginx"), format!("replicaset-{longest}-nginx"));
        let hashed = owner(&"a".repeat(47)).report_name("nginx");
        assert_eq!(hashed, format!("replicaset-{}", hash(&format!("{}-nginx", "a".repeat(47)))));
        assert!(is_label_value(&"a".repeat(63)) && !is_label_value(&"a".repeat(64)) && !is_label_value("a-"));
    }

    #[track_caller]
    fn check(kind: &str, metadata: Value, owners: &[(&str, &str)]) {
        let expected: Vec<Owner> =
            owners.iter().map(|(kind, name)| Owner { kind: (*kind).to_owned(), name: (*name).to_owned() }).collect();
        assert_eq!(Owner::of(&json!({"metadata": metadata}), kind), expected, "{kind} {metadata}");
    }

    #[test]
    fn reports_are_kept_under_the_controllers_name() {
        let of = |kind: &str, name: &str| json!({"name": "p", "ownerReferences": [{"kind": kind, "name": name, "controller": true}]});
        check("Pod", json!({"name": "p"}), &[("Pod", "p")]);
        check("Pod", json!({"generateName": "p-"}), &[]);
        check("Pod", of("ReplicaSet", "web-1"), &[("ReplicaSet", "web-1")]);
        check("Pod", of("StatefulSet", "db"), &[("StatefulSet", "db")]);
        check("Pod", of("CloneSet", "x"), &[("Pod", "p")]);
        check("Pod", of("Job", "backup-28912345"), &[("Job", "backup-28912345"), ("CronJob", "backup")]);
        check("Pod", of("Job", "once"), &[("Job", "once")]);
        check("Pod", json!({"name": "p", "ownerReferences": [{"kind": "ReplicaSet", "name": "x"}]}), &[("Pod", "p")]);
        check("Deployment", json!({"name": "web"}), &[]);
        check("ReplicaSet", of("Deployment", "web"), &[("ReplicaSet", "p")]);
        check("DaemonSet", json!({"name": "agent"}), &[("DaemonSet", "agent")]);
        check("Job", of("CronJob", "backup"), &[("CronJob", "backup")]);
        check("CronJob", json!({"name": "backup"}), &[("CronJob", "backup")]);
    }
}
