//! A Job for each image that lacks a report: a copy of the template that a suspended CronJob has. Its containers scan the image, sign
//! what they found, and put it beside the image in its registry. The key that signs is the template's: nothing here knows it.
//!
//! A Job that failed stays until the next one, or until nobody waits for it: its log says why.

use super::{IMAGE, Judgement, Kind, NewObject, Request, condition, presence, read_request};
use crate::scan::{ScanId, Target};
use crate::scan_failure::ScanFailure;
use crate::scanner::End;
use crate::settings::ScanJobSettings;
use crate::workload::{COMPANION, MANAGED_BY};
use image_admission_image::ImageReference;
use image_admission_judgement::report::ScanReport;
use serde_json::{Map, Value, json};
use std::fmt;

pub(super) const JOB: Kind = Kind { api_version: "batch/v1", kind: "Job" };
/// What names begin with.
const PREFIX: &str = "scan-";
/// Where containers read the image, by the downward API.
const FIELD_PATH: &str = "metadata.annotations['image-admission.kubewarden.io/image']";
/// The shortest `ttlSecondsAfterFinished`: evidence that a Job attached is fetched while it is known how it ended.
const SHORTEST_LIFE: u64 = 300;

/// Jobs from a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanJob {
    namespace: String,
    /// The `jobTemplate` of the CronJob.
    template: Value,
}

/// Why a CronJob is no template: a clause about it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateProblem {
    /// It isn't there.
    Missing,
    /// The API server doesn't hand it out, for this reason.
    Unreadable(String),
    /// It would run by itself.
    NotSuspended,
    /// None of its containers learns which image it should scan.
    NoImage,
    /// Its Jobs go so many seconds after they ended.
    ShortLived(u64),
}

impl fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("isn't there: create it, suspended"),
            Self::Unreadable(reason) => write!(f, "can't be read: {reason}"),
            Self::NotSuspended => f.write_str("isn't suspended, so that it would run by itself: set `suspend: true`"),
            Self::NoImage => {
                write!(f, "has no container that reads the image: give one `fieldRef: {{fieldPath: \"{FIELD_PATH}\"}}`")
            }
            Self::ShortLived(seconds) => write!(
                f,
                "has `ttlSecondsAfterFinished: {seconds}`, so that its Jobs go too early: write {SHORTEST_LIFE} or more"
            ),
        }
    }
}

impl ScanJob {
    /// Reads a template, a CronJob as the API server has it.
    ///
    /// # Errors
    /// It can't be a template.
    pub fn read(settings: &ScanJobSettings, cron_job: &Value) -> Result<Self, TemplateProblem> {
        if cron_job.pointer("/spec/suspend") != Some(&Value::Bool(true)) {
            return Err(TemplateProblem::NotSuspended);
        }
        let template = cron_job.pointer("/spec/jobTemplate").cloned().unwrap_or_default();
        if !template.pointer("/spec/template/spec").is_some_and(reads_image) {
            return Err(TemplateProblem::NoImage);
        }
        match template.pointer("/spec/ttlSecondsAfterFinished").and_then(Value::as_u64) {
            Some(seconds) if seconds < SHORTEST_LIFE => Err(TemplateProblem::ShortLived(seconds)),
            _ => Ok(Self { namespace: settings.namespace.clone(), template }),
        }
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// One scan for each platform: a report of a platform's digest counts for every index that has it.
    pub(super) fn judge(reference: &ImageReference, report: &ScanReport) -> Judgement {
        let known = report.platforms.iter().map(|platform| {
            let target = Target { reference: reference.clone(), digest: platform.digest.clone() };
            (ScanId::of(&reference.at(&platform.digest)), target, presence(platform.state))
        });
        Judgement::Known(known.collect())
    }

    /// The template, with the image for its containers.
    pub(super) fn request(&self, id: &ScanId, target: &Target, attempt: u32) -> NewObject {
        let image = target.reference.at(&target.digest);
        let map =
            |pointer: &str| self.template.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut spec = map("/spec");
        let pod = json!({
            "metadata": {
                "labels": map("/spec/template/metadata/labels"),
                "annotations": with(map("/spec/template/metadata/annotations"), IMAGE, image),
            },
            "spec": map("/spec/template/spec"),
        });
        spec.insert("template".to_owned(), pod);
        let object = json!({
            "apiVersion": JOB.api_version,
            "kind": JOB.kind,
            "metadata": {
                "name": format!("{PREFIX}{id}-{attempt}"),
                "namespace": self.namespace,
                "labels": with(map("/metadata/labels"), MANAGED_BY, COMPANION.to_owned()),
                "annotations": with(map("/metadata/annotations"), IMAGE, target.to_string()),
            },
            "spec": spec,
        });
        NewObject { kind: JOB, namespace: self.namespace.clone(), object }
    }

    pub(super) fn read_request(job: &Value) -> Option<Request> {
        let end = match (condition(job, "Failed"), condition(job, "Complete")) {
            (Some(_), _) => Some(End::Failed(ScanFailure::Scanner)),
            (None, Some(_)) => Some(End::Complete),
            (None, None) => None,
        };
        read_request(job, PREFIX, end)
    }
}

/// Whether something in a Pod reads the image, be it an environment or a volume.
fn reads_image(pod: &Value) -> bool {
    match pod {
        Value::Object(fields) => {
            fields.get("fieldPath").is_some_and(|path| path == FIELD_PATH) || fields.values().any(reads_image)
        }
        Value::Array(items) => items.iter().any(reads_image),
        _ => false,
    }
}

fn with(mut map: Map<String, Value>, key: &str, value: String) -> Map<String, Value> {
    map.insert(key.to_owned(), value.into());
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A template that can be used.
    fn cron_job() -> Value {
        json!({
            "metadata": {"name": "scan", "namespace": "image-scan-jobs"},
            "spec": {
                "suspend": true,
                "schedule": "0 0 1 1 *",
                "jobTemplate": {
                    "metadata": {"creationTimestamp": null, "labels": {"team": "security"}},
                    "spec": {
                        "backoffLimit": 0,
                        "ttlSecondsAfterFinished": 3_600,
                        "template": {
                            "metadata": {"annotations": {"example.com/a": "b"}, "finalizers": ["example.com/stay"]},
                            "spec": {
                                "containers": [{"name": "attest", "env": [
                                    {"name": "A", "value": "b"},
                                    {"name": "IMAGE", "valueFrom": {"fieldRef": {"fieldPath": FIELD_PATH}}},
                                ]}],
                                "volumes": [{"name": "key", "secret": {"secretName": "key"}}],
                            },
                        },
                    },
                },
            },
        })
    }

    fn read(cron_job: &Value) -> Result<ScanJob, TemplateProblem> {
        let settings = ScanJobSettings { namespace: "image-scan-jobs".to_owned(), cron_job: "scan".to_owned() };
        ScanJob::read(&settings, cron_job)
    }

    fn target(image: &str) -> Target {
        Target { reference: ImageReference::parse(image).unwrap(), digest: format!("sha256:{}", "1".repeat(64)) }
    }

    #[test]
    fn what_can_be_no_template_is_refused() {
        type Change = fn(&mut Value);
        fn job(it: &mut Value) -> &mut Value {
            &mut it["spec"]["jobTemplate"]["spec"]
        }
        fn container(it: &mut Value) -> &mut Value {
            &mut job(it)["template"]["spec"]["containers"][0]
        }
        let cases: [(Change, TemplateProblem); 6] = [
            (|it| it["spec"]["suspend"] = json!(false), TemplateProblem::NotSuspended),
            (|it| drop(it["spec"].as_object_mut().unwrap().remove("suspend")), TemplateProblem::NotSuspended),
            (|it| container(it)["env"] = json!([]), TemplateProblem::NoImage),
            (
                |it| {
                    container(it)["env"] =
                        json!([{"name": "IMAGE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]);
                },
                TemplateProblem::NoImage,
            ),
            (|it| it["spec"]["jobTemplate"] = json!({}), TemplateProblem::NoImage),
            (|it| job(it)["ttlSecondsAfterFinished"] = json!(299), TemplateProblem::ShortLived(299)),
        ];
        for (change, problem) in cases {
            let mut object = cron_job();
            change(&mut object);
            assert_eq!(read(&object), Err(problem));
        }
        for accepted in [
            |it: &mut Value| job(it)["ttlSecondsAfterFinished"] = json!(300),
            |it: &mut Value| drop(job(it).as_object_mut().unwrap().remove("ttlSecondsAfterFinished")),
            |it: &mut Value| {
                let env = container(it)["env"].take();
                job(it)["template"]["spec"]["initContainers"] = json!([{"name": "scan", "env": env}]);
            },
            |it: &mut Value| {
                container(it)["env"] = json!([]);
                let item = json!({"path": "image", "fieldRef": {"fieldPath": FIELD_PATH}});
                job(it)["template"]["spec"]["volumes"] = json!([{"name": "pod", "downwardAPI": {"items": [item]}}]);
            },
        ] {
            let mut object = cron_job();
            accepted(&mut object);
            assert!(read(&object).is_ok(), "{object}");
        }
    }

    #[test]
    fn a_job_is_the_template_with_the_image() {
        let (job, id) = (read(&cron_job()).unwrap(), ScanId::of("x"));
        let digest = "1".repeat(64);
        for (image, name) in [("ghcr.io/team/web:1.0", "ghcr.io/team/web"), ("nginx", "docker.io/library/nginx")] {
            let target = target(image);
            let mut expected = cron_job()["spec"]["jobTemplate"]["spec"].take();
            expected["template"]["metadata"] = json!({
                "labels": {},
                "annotations": {"example.com/a": "b", IMAGE: format!("{name}@sha256:{digest}")},
            });
            let new = job.request(&id, &target, 3);
            assert_eq!((new.kind, new.namespace.as_str()), (JOB, "image-scan-jobs"));
            assert_eq!(
                new.object,
                json!({
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {
                        "name": format!("scan-{id}-3"),
                        "namespace": "image-scan-jobs",
                        "labels": {"team": "security", "app.kubernetes.io/managed-by": "image-admission-companion"},
                        "annotations": {IMAGE: target.to_string()},
                    },
                    "spec": expected,
                })
            );
        }
        // Its Pods' names are longer, and so is a label with its own.
        assert!(format!("scan-{id}-{}", u32::MAX).len() <= 57);
    }

    #[test]
    fn the_template_replaces_nothing_of_ours() {
        let mut object = cron_job();
        let foreign = json!({
            "labels": {MANAGED_BY: "helm"},
            "annotations": {IMAGE: "ghcr.io/other"},
        });
        object["spec"]["jobTemplate"]["metadata"] = foreign.clone();
        object["spec"]["jobTemplate"]["spec"]["template"]["metadata"] = foreign;
        let new = read(&object).unwrap().request(&ScanId::of("x"), &target("ghcr.io/team/web:1.0"), 1).object;
        assert_eq!(new["metadata"]["labels"][MANAGED_BY], COMPANION);
        let digest = "1".repeat(64);
        assert_eq!(new["metadata"]["annotations"][IMAGE], format!("ghcr.io/team/web:1.0@sha256:{digest}"));
        let annotations = &new["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations[IMAGE], format!("ghcr.io/team/web@sha256:{digest}"));
    }

    #[test]
    fn its_conditions_say_how_it_ended() {
        let id = ScanId::of("x");
        let new = read(&cron_job()).unwrap().request(&id, &target("ghcr.io/team/web:1.0"), 2);
        let condition =
            |name: &str, status: &str| json!({"type": name, "status": status, "message": "words of others"});
        for (conditions, end) in [
            (json!(null), None),
            (json!([condition("Suspended", "True"), condition("Complete", "False")]), None),
            // A Job that is about to end says so before its Pods have.
            (json!([condition("SuccessCriteriaMet", "True")]), None),
            (json!([condition("FailureTarget", "True")]), None),
            (json!([condition("SuccessCriteriaMet", "True"), condition("Complete", "True")]), Some(End::Complete)),
            (
                json!([condition("FailureTarget", "True"), condition("Failed", "True")]),
                Some(End::Failed(ScanFailure::Scanner)),
            ),
        ] {
            let mut object = new.object.clone();
            object["metadata"]["uid"] = "uid".into();
            object["metadata"]["creationTimestamp"] = "2026-11-01T12:00:00Z".into();
            object["status"]["conditions"] = conditions.clone();
            let read = ScanJob::read_request(&object).unwrap();
            assert_eq!((&read.id, read.attempt, read.end), (&id, 2, end), "{conditions}");
        }
    }

    #[test]
    fn what_is_wrong_says_what_to_do() {
        for (problem, words) in [
            (TemplateProblem::Missing, "isn't there: create it, suspended"),
            (TemplateProblem::Unreadable("Forbidden".to_owned()), "can't be read: Forbidden"),
            (TemplateProblem::NotSuspended, "isn't suspended, so that it would run by itself: set `suspend: true`"),
            (
                TemplateProblem::NoImage,
                "has no container that reads the image: give one `fieldRef: {fieldPath: \
                 \"metadata.annotations['image-admission.kubewarden.io/image']\"}`",
            ),
            (
                TemplateProblem::ShortLived(5),
                "has `ttlSecondsAfterFinished: 5`, so that its Jobs go too early: write 300 or more",
            ),
        ] {
            assert_eq!(problem.to_string(), words);
        }
    }
}
