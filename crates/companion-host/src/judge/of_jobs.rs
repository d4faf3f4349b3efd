//! What is known of images that Jobs scan: the policy and the template in a cluster, reports beside an image in a registry.

use super::*;
use crate::evidence::carry_out;
use evidence_server::{EvidenceServer, digest};
use hyper::StatusCode;
use image_admission_companion::evidence::{Evidence, EvidenceObservation, name_of};
use image_admission_companion::{CompanionSettings, CopiedEvidence, Presence, ScanId};
use image_admission_registry_reader::{Options, RegistryReader};
use kube::{Client, Config};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[expect(dead_code, reason = "the tests of evidence use the rest of it")]
#[path = "../../tests/all/support/evidence_server.rs"]
mod evidence_server;

const POLICY: &str = "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies/image-admission";
const TEMPLATE: &str = "/apis/batch/v1/namespaces/image-scan-jobs/cronjobs/scan";
const KEY: &str = "/api/v1/namespaces/security/secrets/cosign";
const EVIDENCE: &str = "/apis/image-admission.kubewarden.io/v1alpha1/imageevidences/";
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
/// A day after the report was made.
const NOW: Timestamp = Timestamp(1_767_312_000);

fn made(file: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../evidence/tests/made/").to_owned() + file;
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A cluster with a policy, the template of Jobs and a key, and a registry with an image.
struct Played {
    server: EvidenceServer,
    address: String,
    client: Client,
    registries: Arc<RegistryReader>,
    settings: CompanionSettings,
}

impl Played {
    async fn new(from_cluster: bool) -> Self {
        let server = EvidenceServer::default();
        let address = server.serve().await;
        server.manifest(Some("1"), &made("image.json"));
        let key = data_encoding::BASE64.encode(&made("reports.pub"));
        let metadata = json!({"name": "cosign", "namespace": "security"});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"cosign.pub": key}});
        server.put(KEY, Ok(secret));
        server.put(TEMPLATE, Ok(template()));
        let attestor = json!({
            "name": "scans",
            "cosign": {"key": {"secretRef": {"name": "cosign", "namespace": "security", "key": "cosign.pub"}}},
        });
        let kind = "https://cosign.sigstore.dev/attestation/vuln/v1";
        let source = json!({"attestation": {"predicateType": kind, "attestors": [attestor]}});
        let mut settings = json!({"registries": [address], "reports": {"sources": [source], "maxAge": "7d"}});
        if from_cluster {
            settings["evidence"] = json!({"fromCluster": true});
        }
        server.put(POLICY, Ok(json!({"metadata": {"name": "image-admission"}, "spec": {"settings": settings}})));
        let options = Options { plain_http: vec!["127.0.0.1".to_owned()], ..Options::default() };
        let settings = json!({"scanJob": {}, "evidence": {}});
        Self {
            client: Client::try_from(Config::new(format!("http://{address}").parse().unwrap())).unwrap(),
            registries: Arc::new(RegistryReader::new(options).unwrap()),
            settings: serde_json::from_value(settings).unwrap(),
            server,
            address,
        }
    }

    async fn policy(&self) -> Result<Policy, String> {
        Policy::read(&self.client, &self.settings).await
    }

    fn image(&self) -> String {
        format!("{}/team/app:1", self.address)
    }

    /// What is known of the image, at a time.
    async fn judged(&self, now: Timestamp) -> Judgement {
        let policy = self.policy().await.unwrap();
        let watched = Watched::new(self.client.clone(), Arc::clone(&self.registries), &[]);
        let image = NamedImage { namespace: "shop".to_owned(), image: self.image() };
        tokio::task::spawn_blocking(move || judge(&image, &policy, &watched, now)).await.unwrap()
    }

    async fn presence(&self) -> Presence {
        let own = digest(&made("image.json"));
        match self.judged(NOW).await {
            Judgement::Known(scans) => {
                let [(id, target, presence)] = &scans[..] else { panic!("{scans:?}") };
                assert_eq!(*id, ScanId::of(&format!("{}/team/app@{own}", self.address)));
                assert_eq!(target.digest, own);
                *presence
            }
            other => panic!("{other:?}"),
        }
    }

    /// Does what is due about evidence.
    async fn copy(&self, evidence: &mut Evidence, observation: EvidenceObservation) {
        let mirrors = self.policy().await.unwrap().settings.mirrors;
        evidence.observe(observation, NOW);
        loop {
            let actions = evidence.due(NOW);
            if actions.is_empty() {
                return;
            }
            for action in actions {
                let observation = carry_out(action, &self.client, &self.registries, &mirrors, None).await;
                evidence.observe(observation, NOW);
            }
        }
    }
}

fn template() -> Value {
    let path = "metadata.annotations['image-admission.kubewarden.io/image']";
    let env = json!([{"name": "IMAGE", "valueFrom": {"fieldRef": {"fieldPath": path}}}]);
    json!({
        "metadata": {"name": "scan", "namespace": "image-scan-jobs"},
        "spec": {"suspend": true, "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {
            // Whatever later versions of Kubernetes know.
            "fieldOfTomorrow": 1,
            "template": {"spec": {"containers": [{"name": "attest", "env": env}]}},
        }}},
    })
}

#[tokio::test]
async fn what_a_job_attested_is_copied_and_then_known() {
    let played = Played::new(true).await;
    let own = digest(&made("image.json"));
    let policy = played.policy().await.unwrap();
    let settings = CompanionSettings { evidence: Some(CopiedEvidence::default()), ..CompanionSettings::default() };
    let mut evidence = Evidence::new(&settings, &policy.settings.evidence).unwrap();
    assert_eq!(played.presence().await, Presence::Missing);
    let used = || {
        let image = format!("{}/team/app@{own}", played.address);
        EvidenceObservation::Used(BTreeMap::from([(image, BTreeSet::from(["shop".to_owned()]))]))
    };
    played.copy(&mut evidence, used()).await;
    assert_eq!(played.server.object(&name_of(&own)), None);
    // The Job's cosign, with bundles; the policy reads no layer.
    let bundle = made("report-vuln-trivy-clean.json");
    let artifact = played.server.artifact(None, &[(BUNDLE, &bundle)]);
    played.server.index(&name_of(&own), &[artifact]);
    assert_eq!(played.presence().await, Presence::Missing);
    // Its registry isn't due before hours have passed.
    played.copy(&mut evidence, used()).await;
    assert_eq!(played.presence().await, Presence::Missing);
    played.copy(&mut evidence, EvidenceObservation::Added(own.clone())).await;
    assert_eq!(played.presence().await, Presence::Reported);
    // A report that is about to be too old is made anew.
    let later = Timestamp(NOW.0 + 5 * 24 * 3_600);
    assert!(matches!(&played.judged(later).await, Judgement::Known(scans) if scans[0].2 == Presence::Missing));
}

#[tokio::test]
async fn what_is_attached_is_known_without_a_copy() {
    let played = Played::new(false).await;
    let own = digest(&made("image.json"));
    assert_eq!(played.presence().await, Presence::Missing);
    let empty: (&str, &[u8]) = ("application/vnd.oci.empty.v1+json", b"{}");
    let bundle = made("report-vuln-trivy-clean.json");
    let mut artifact = played.server.artifact_of(None, (BUNDLE, &bundle), &[empty]);
    artifact["artifactType"] = "application/vnd.image-admission.evidence.v1+json".into();
    played.server.index(&name_of(&own), &[artifact]);
    assert_eq!(played.presence().await, Presence::Reported);
}

#[tokio::test]
async fn what_cant_be_read_is_not_missing() {
    let played = Played::new(true).await;
    let own = format!("{EVIDENCE}{}", name_of(&digest(&made("image.json"))));
    for status in [StatusCode::FORBIDDEN, StatusCode::INTERNAL_SERVER_ERROR] {
        played.server.put(&own, Err(status));
        assert!(matches!(played.judged(NOW).await, Judgement::Failed { down: None, .. }), "{status}");
    }
    played.server.put(&own, Err(StatusCode::NOT_FOUND));
    assert_eq!(played.presence().await, Presence::Missing);
}

#[tokio::test]
async fn a_template_is_read_with_the_policy() {
    let played = Played::new(true).await;
    let first = played.policy().await.unwrap();
    let scanner = first.scanner.as_ref().unwrap();
    assert_eq!((scanner.to_string().as_str(), scanner.namespace()), ("Jobs", "image-scan-jobs"));
    assert!(first.is_same(&played.policy().await.unwrap()));
    let mut other = template();
    other["spec"]["jobTemplate"]["spec"]["fieldOfTomorrow"] = json!(2);
    played.server.put(TEMPLATE, Ok(other.clone()));
    assert!(!first.is_same(&played.policy().await.unwrap()));
    // What says nothing of Jobs changes nothing.
    let mut same = template();
    same["metadata"]["resourceVersion"] = json!("2");
    played.server.put(TEMPLATE, Ok(same));
    assert!(first.is_same(&played.policy().await.unwrap()));
    other["spec"]["suspend"] = json!(false);
    for (answer, why) in [
        (Err(StatusCode::NOT_FOUND), "isn't there: create it, suspended"),
        (Err(StatusCode::FORBIDDEN), "can't be read: Forbidden"),
        (Ok(other), "isn't suspended, so that it would run by itself: set `suspend: true`"),
    ] {
        played.server.put(TEMPLATE, answer);
        let expected = format!("the CronJob `image-scan-jobs/scan`, which `scanJob` names, {why}");
        assert_eq!(played.policy().await.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn without_a_template_nobody_is_asked() {
    let mut played = Played::new(true).await;
    played.settings.scan_job = None;
    // Evidence is copied all the same.
    assert_eq!(played.policy().await.unwrap().scanner, None);
    assert_eq!(played.judged(NOW).await, Judgement::NotAsked);
    played.settings.evidence = None;
    let why = played.policy().await.unwrap_err();
    assert!(
        why.starts_with("`reports.sources` of the policy `image-admission` has nothing that can be asked"),
        "{why}"
    );
}
