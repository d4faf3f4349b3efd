//! The objects by which scanners are asked, and what is read of them again.

use crate::world::{KINDS, Kind, attestation, cron_job, scanner};
use image_admission_companion::{
    CompanionSettings, End, NoScanner, Request, ScanFailure, ScanId, ScanJob, ScanJobSettings, Scanner, Target,
    TemplateProblem,
};
use image_admission_image::ImageReference;
use image_admission_settings::Settings;
use image_admission_untrusted::time::Timestamp;
use serde_json::{Value, json};

fn target(image: &str) -> Target {
    let digest = format!("sha256:{}", "1".repeat(64));
    Target { reference: ImageReference::parse(image).unwrap(), digest }
}

fn created(mut object: Value) -> Value {
    object["metadata"]["uid"] = "uid".into();
    object["metadata"]["creationTimestamp"] = "2026-11-01T12:00:00Z".into();
    object
}

#[test]
fn a_cron_job_is_read_as_it_was_written() {
    let (scanner, id) = (scanner(Kind::TrivyOperator), ScanId::of("x"));
    let objects = scanner.request(&id, &target("ghcr.io/team/web:1.0"), 3);
    let [new] = &objects[..] else { panic!("{objects:?}") };
    let image = format!("ghcr.io/team/web@sha256:{}", "1".repeat(64));
    assert_eq!(
        new.object,
        json!({
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": {
                "name": format!("scan-{id}-3"),
                "namespace": "image-scans",
                "labels": {"app.kubernetes.io/managed-by": "image-admission-companion"},
                "annotations": {"image-admission.kubewarden.io/image": format!("ghcr.io/team/web:1.0@sha256:{}", "1".repeat(64))},
            },
            "spec": {"suspend": true, "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": {
                "automountServiceAccountToken": false,
                "imagePullSecrets": [],
                "restartPolicy": "Never",
                "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
                "containers": [{
                    "name": "image",
                    "image": image,
                    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                }],
            }}}}},
        })
    );
    // A CronJob's name has at most 52 characters, since its Jobs' names are longer.
    assert!(format!("scan-{id}-{}", u32::MAX).len() <= 52);
    let request = Request {
        id: id.clone(),
        attempt: 3,
        name: format!("scan-{id}-3"),
        uid: "uid".to_owned(),
        created: Timestamp::parse("2026-11-01T12:00:00Z").unwrap(),
        end: None,
    };
    assert_eq!(scanner.read_request(&created(new.object.clone())), Some(request));
    let report = json!({"metadata": {"labels": {"trivy-operator.resource.name": format!("scan-{id}-3")}}});
    assert_eq!(scanner.scan_of_report(&report), Some((id, 3)));
}

#[test]
fn a_scan_job_is_read_as_it_was_written() {
    let (scanner, id) = (scanner(Kind::SbomScanner), ScanId::of("x"));
    let objects = scanner.request(&id, &target("nginx:1.27"), 2);
    let [registry, job] = &objects[..] else { panic!("{objects:?}") };
    assert_eq!((Some(registry.kind), job.kind), (scanner.shared_kind(), scanner.request_kind()));
    assert_eq!(registry.object["metadata"]["name"], format!("image-admission-{id}"));
    assert_eq!(
        registry.object["spec"],
        json!({
            "uri": "index.docker.io",
            "catalogType": "NoCatalog",
            "repositories": [{"name": "library/nginx", "matchConditions": [{"name": "tag", "expression": "tag == \"1.27\""}]}],
            "platforms": [{"os": "linux", "arch": "amd64"}],
        })
    );
    assert_eq!(
        job.object["spec"],
        json!({
            "registry": format!("image-admission-{id}"),
            "repositories": [{"name": "library/nginx", "matchConditions": ["tag"]}],
        })
    );
    let condition = |name: &str, reason: &str| json!([{"type": "Scheduled", "status": "False"}, {"type": name, "status": "True", "reason": reason}]);
    for (conditions, end) in [
        (json!(null), None),
        (condition("InProgress", "ImageScanInProgress"), None),
        (condition("Complete", "AllImagesScanned"), Some(End::Complete)),
        (condition("Complete", "NoImagesToScan"), Some(End::Failed(ScanFailure::NothingToScan))),
        (condition("Failed", "InternalError"), Some(End::Failed(ScanFailure::Scanner))),
        (condition("Failed", "anything else"), Some(End::Failed(ScanFailure::Scanner))),
    ] {
        let mut object = created(job.object.clone());
        object["status"]["conditions"] = conditions.clone();
        let read = scanner.read_request(&object).unwrap();
        assert_eq!((&read.id, read.attempt, read.end), (&id, 2, end), "{conditions}");
    }
    let report = json!({"imageMetadata": {"registry": format!("image-admission-{id}")}});
    assert_eq!(scanner.scan_of_report(&report), Some((id, 0)));
}

#[test]
fn what_isnt_ours_is_no_request() {
    for kind in KINDS {
        let (scanner, id) = (scanner(kind), ScanId::of("x"));
        let mut object = created(scanner.request(&id, &target("ghcr.io/team/web:1.0"), 1).pop().unwrap().object);
        assert!(scanner.read_request(&object).is_some());
        let mut foreign = object.clone();
        foreign["metadata"]["labels"]["app.kubernetes.io/managed-by"] = "somebody".into();
        assert_eq!(scanner.read_request(&foreign), None, "{kind:?}");
        let mut unnamed = object.clone();
        unnamed["metadata"]["name"] = "web".into();
        assert_eq!(scanner.read_request(&unnamed), None, "{kind:?}");
        object["metadata"]["creationTimestamp"] = "yesterday".into();
        assert_eq!(scanner.read_request(&object), None, "{kind:?}");
        assert_eq!(scanner.scan_of_report(&json!({})), None);
    }
}

#[test]
fn the_first_source_that_can_be_asked_is() {
    let trivy = || json!({"trivyOperator": {"namespaces": ["image-scans"]}});
    // trivy-operator's reports beside workloads are asked for by nobody.
    let beside = || json!({"trivyOperator": {}});
    let with = |identity: Value| {
        let mut source = attestation();
        source["attestation"]["attestors"] = json!([identity]);
        source
    };
    let artifacts = |attestors: Value| json!({"registry": {"attestors": attestors}});
    let key = || attestation()["attestation"]["attestors"][0].take();
    let keyless = || {
        let identity = json!({"issuer": "https://accounts.example.com", "subject": "scans@example.com"});
        json!({"name": "scans", "cosign": {"keyless": {"identities": [identity]}}})
    };
    let mut rooted = keyless();
    rooted["cosign"]["trustRoot"] = json!({"configMapRef": {"name": "root", "namespace": "security"}});
    let mut annotated = key();
    annotated["cosign"]["annotations"] = json!({"env": "prod"});
    let allowed = json!({"registry": {"allowUnsigned": true}});
    let job = || ScanJob::read(&ScanJobSettings::default(), &cron_job());
    for (sources, job, asked) in [
        (vec![trivy(), attestation()], Some(job()), Ok("trivy-operator")),
        (vec![attestation(), trivy()], Some(job()), Ok("Jobs")),
        (vec![attestation(), trivy()], None, Ok("trivy-operator")),
        (vec![beside(), attestation()], Some(job()), Ok("Jobs")),
        (vec![attestation()], None, Err(NoScanner::NoSource)),
        (
            vec![attestation(), trivy()],
            Some(Err(TemplateProblem::NotSuspended)),
            Err(NoScanner::Template(TemplateProblem::NotSuspended)),
        ),
        (vec![trivy(), attestation()], Some(Err(TemplateProblem::Missing)), Ok("trivy-operator")),
        (vec![with(rooted.clone())], Some(job()), Ok("Jobs")),
        (vec![artifacts(json!([key()]))], Some(job()), Ok("Jobs")),
        (vec![allowed], Some(job()), Ok("Jobs")),
        // Only the policy's host verifies these.
        (vec![artifacts(json!([keyless()]))], Some(job()), Err(NoScanner::NoSource)),
        (vec![artifacts(json!([annotated]))], Some(job()), Err(NoScanner::NoSource)),
        (vec![artifacts(json!([keyless(), rooted]))], Some(job()), Ok("Jobs")),
        (vec![json!({"kubescape": {}})], Some(job()), Err(NoScanner::NoSource)),
    ] {
        let settings = json!({"registries": ["ghcr.io"], "reports": {"sources": sources}});
        let policy = Settings::read(&settings).unwrap_or_else(|why| panic!("{settings}: {why}"));
        let found = Scanner::of(&policy, &CompanionSettings::default(), job);
        assert_eq!(found.map(|(scanner, _)| scanner.to_string()), asked.map(str::to_owned), "{settings}");
    }
}

/// Where pre-scan decides about every image, nobody is asked: not even the source that is the default.
#[test]
fn where_no_image_needs_a_report_nobody_is_asked() {
    let of = |pre_scan: Value| {
        let settings = json!({"registries": ["ghcr.io"], "preScanPolicies": pre_scan});
        Scanner::of(&Settings::read(&settings).unwrap(), &CompanionSettings::default(), None)
            .map(|(of, _)| of.to_string())
    };
    let accepts = json!([{"prefix": "ghcr.io/", "action": "accept"}]);
    let scans = json!([{"prefix": "ghcr.io/", "action": "scan"}]);
    for (pre_scan, asked) in [
        (json!({"defaultPolicy": "reject", "customPolicies": accepts}), Err(NoScanner::NoSource)),
        (json!({"defaultPolicy": "accept"}), Err(NoScanner::NoSource)),
        (json!({"defaultPolicy": "accept", "customPolicies": scans}), Ok("SBOMscanner".to_owned())),
        (
            json!({"defaultPolicy": "accept", "byNamespace": {"shop": {"defaultPolicy": "scan"}}}),
            Ok("SBOMscanner".to_owned()),
        ),
        (json!({}), Ok("SBOMscanner".to_owned())),
    ] {
        assert_eq!(of(pre_scan.clone()), asked, "{pre_scan}");
    }
}
