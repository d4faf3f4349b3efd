//! The requests that are measured, each in a world of its own.

use std::sync::Arc;

use serde_json::{Value, json};

use super::BenchError;
use super::envelope::{ED25519, P256, P384, PREDICATE, Signer};
use super::evidence::{self, Piece, Place};
use super::world::{Findings, World, creation};
use image_admission_module_host::answers::HostAnswers;
use image_admission_module_host::runtime::{PolicyModule, Reply};

/// A request, and the world that it is decided in.
pub(super) struct Scene {
    pub(super) name: &'static str,
    function: &'static str,
    payload: Vec<u8>,
    host: Arc<dyn HostAnswers>,
    /// What must be answered, or something else was measured; none where any answer will do.
    accepted: Option<bool>,
}

impl Scene {
    fn new(name: &'static str, images: usize, findings: Findings, settings: Value, accepted: bool) -> Self {
        let world = World::new(images, findings);
        Self::of(name, &world, world.payload(&settings), accepted)
    }

    fn of(name: &'static str, world: &World, payload: Vec<u8>, accepted: bool) -> Self {
        Self { name, function: "validate", payload, host: world.host(), accepted: Some(accepted) }
    }

    /// The image of [`evidence`], which the attestor must have signed.
    fn signed(name: &'static str, attestor: &Value, piece: Piece, place: Place) -> Self {
        let mut settings = demanding(attestor, None, &["verifyImageSignatures(i, [attestors.team]) > 0"]);
        if let (Place::Object, Some(settings)) = (place, settings.as_object_mut()) {
            settings.insert("evidence".to_owned(), json!({"fromCluster": true}));
        }
        let payload = creation(&[evidence::IMAGE.to_owned()], &settings, 0);
        Self { name, function: "validate", payload, host: evidence::host(piece, place), accepted: Some(true) }
    }

    /// An instance that does nothing but tell its protocol's version.
    pub(super) fn nothing() -> Self {
        let host = World::new(1, Findings::Count(0)).host();
        Self { name: "nothing", function: "protocol_version", payload: Vec::new(), host, accepted: None }
    }

    /// Asks the module, in a clean instance.
    pub(super) fn ask(&self, module: &PolicyModule) -> Reply {
        module.call(self.function, &self.payload, Arc::clone(&self.host))
    }

    /// Fails where the module's answer isn't the one that was to be measured.
    pub(super) fn expects(&self, answer: &[u8]) -> Result<(), BenchError> {
        let Some(accepted) = self.accepted else { return Ok(()) };
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        match answer.get("accepted").and_then(Value::as_bool) == Some(accepted) {
            true => Ok(()),
            false => Err(BenchError::Unexpected { scene: self.name, answer: answer.to_string() }),
        }
    }
}

pub(super) const FEW: &str = "1 image of 2 platforms, 40 findings each, totals decide";
pub(super) const MANY: &str = "1 image of 2 platforms, 5,000 findings each, totals decide";

/// What is timed.
pub(super) fn timed() -> Vec<Scene> {
    let by_entries = json!({"acceptance": {"maxSeverity": {"high": {"totalWithoutFixes": 100_000}}}});
    let listed = World::new(1, Findings::Count(40)).listed_among(200);
    vec![
        Scene::new(
            "1 image that pre-scan accepts",
            1,
            Findings::Count(0),
            json!({"preScanPolicies": {"defaultPolicy": "accept"}}),
            true,
        ),
        Scene::new(FEW, 1, Findings::Count(40), json!({}), true),
        Scene::new(MANY, 1, Findings::Count(5000), json!({}), true),
        Scene::new(
            "1 image of 2 platforms, 40 findings each, entries decide",
            1,
            Findings::Count(40),
            by_entries.clone(),
            true,
        ),
        Scene::new(
            "1 image of 2 platforms, 5,000 findings each, entries decide",
            1,
            Findings::Count(5000),
            by_entries,
            true,
        ),
        Scene::of("1 image of 2 platforms, found in a list of 200 reports", &listed, listed.payload(&json!({})), true),
        Scene::new("1 image of 2 platforms without a report", 1, Findings::NoReport, json!({}), false),
        Scene::new("20 images of 2 platforms, 40 findings each", 20, Findings::Count(40), json!({}), true),
        Scene::new("50 images of 2 platforms, 40 findings each", 50, Findings::Count(40), json!({}), true),
        Scene::new("1,000 images, rejected before any call", 1000, Findings::Count(0), json!({}), false),
        Scene::new(
            "1 image of 2 platforms, and a custom rule of ten lines",
            1,
            Findings::Count(40),
            json!({"customRules": CUSTOM_RULE}),
            true,
        ),
        Scene::new("2 policies in Rego, both of the kind", 1, Findings::Count(0), policies_in_rego(2), true),
        Scene::new("30 policies in Rego, 2 of them of the kind", 1, Findings::Count(0), policies_in_rego(30), true),
    ]
}

/// A rule as somebody would write it first.
const CUSTOM_RULE: &str = r#"
deny_image[msg] {
  input.ScanReport.Status == "accepted"
  namespace == "locked"
  msg := sprintf("image %v is not for %v", [image, namespace])
}
deny_image[msg] {
  container := input.ContainerObject
  container.securityContext.privileged
  msg := sprintf("container %v is privileged", [container.name])
}
"#;

/// So many policies of 20 lines, the first two of them for Pods.
fn policies_in_rego(count: usize) -> Value {
    let others = ["Service", "ConfigMap", "Ingress", "Secret", "Namespace"];
    let kinds = ["Pod", "Pod"].into_iter().chain(others.into_iter().cycle());
    let policy = |(number, kind): (usize, &str)| {
        let rego = format!(
            r#"package kubernetes.policies.p{number}

# Denies what policy {number} is about.
deny[msg] {{
  input.review.kind.kind == "{kind}"
  container := input.review.object.spec.containers[_]
  not startswith(container.image, input.parameters.registry)
  msg := sprintf("container %v has the image %v, which isn't of %v", [container.name, container.image, input.parameters.registry])
}}

deny[msg] {{
  container := input.review.object.spec.containers[_]
  container.securityContext.privileged
  not exempt(container.name)
  msg := sprintf("container %v is privileged", [container.name])
}}

exempt(name) {{
  input.parameters.exempt[_] == name
}}
"#
        );
        let parameters = json!({"registry": "registry.example.com/", "exempt": ["a", "b"]});
        json!({"name": format!("p{number}"), "kinds": [kind], "rego": rego, "parameters": parameters})
    };
    let policies: Vec<Value> = kinds.take(count).enumerate().map(policy).collect();
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": policies})
}

/// What is counted.
pub(super) fn counted() -> Vec<Scene> {
    let few = Findings::Count(40);
    let short =
        CUSTOM_RULE.replace("namespace == \"locked\"", "endswith(image, \":latest\")").replace("namespace]", "image]");
    let scored = json!({"acceptance": {"cvssScore": {"threshold": 9.0}}});
    let signed = verified(KEY, None, &["verifyImageSignatures(i, [attestors.team]) > 0"]);
    let by_key = json!({"name": "team", "cosign": {"key": {"data": evidence::KEY}}});
    let identity = json!({"issuerRegExp": "^http://127[.]0[.]0[.]1:[0-9]+/workflow$", "subject": evidence::WORKFLOW});
    let by_workflow = json!({"name": "team", "cosign": {"keyless": {"identities": [identity]}, "trustRoot": {"data": evidence::ROOT}}});
    let notary = |certs: &str| json!({"name": "team", "notary": {"certs": certs, "trustedIdentities": ["x509.subject: C=DE, ST=Berlin, O=Example"]}});
    let (by_p256, by_rsa) = (notary(evidence::AUTHORITY_P256), notary(evidence::AUTHORITY_RSA));
    let large = World::new(1, few);
    vec![
        Scene::new(
            "1 image that pre-scan accepts",
            1,
            few,
            json!({"preScanPolicies": {"defaultPolicy": "accept"}}),
            true,
        ),
        Scene::new("1 image of 2 platforms", 1, few, json!({}), true),
        Scene::new("the same with a rule that calls a builtin", 1, few, json!({"customRules": short}), true),
        Scene::new("the same with a rule of ten lines", 1, few, json!({"customRules": CUSTOM_RULE}), true),
        Scene::new("1 image whose signature is verified", 1, few, signed, true),
        Scene::new("1 image with an envelope by an Ed25519 key", 1, few, attested(&ED25519), true),
        Scene::new("the same by a P-256 key", 1, few, attested(&P256), true),
        Scene::new("the same by a P-384 key", 1, few, attested(&P384), true),
        Scene::signed("1 image with a bundle by a P-256 key", &by_key, evidence::BUNDLE, Place::Registry),
        Scene::signed("the same in an object of the cluster", &by_key, evidence::BUNDLE, Place::Object),
        Scene::signed("the same by a certificate, logged", &by_workflow, evidence::KEYLESS, Place::Registry),
        Scene::signed("1 image that notation signed by a P-256 key", &by_p256, evidence::JWS_P256, Place::Registry),
        Scene::signed("the same by an RSA-3072 key", &by_rsa, evidence::JWS_RSA, Place::Registry),
        Scene::new("1 image with 1,000 findings, scores decide", 1, Findings::Count(1000), scored, true),
        Scene::new("1 image, and what is exploited by its reports", 1, few, exploited(json!("reject")), true),
        Scene::new(
            "the same by a list of 1,400",
            1,
            few,
            exploited(json!({"action": "reject", "from": {"configMap": {"namespace": "security", "name": "kev"}}})),
            true,
        ),
        Scene::new("20 images of 2 platforms", 20, few, json!({}), true),
        Scene::new("20 images with a rule of ten lines", 20, few, json!({"customRules": CUSTOM_RULE}), true),
        Scene::new("50 images of 2 platforms", 50, few, json!({}), true),
        Scene::new("2 policies in Rego", 1, few, policies_in_rego(2), true),
        Scene::new("30 policies in Rego, 2 of them of the kind", 1, few, policies_in_rego(30), true),
        Scene::of("an object of 1 MB", &large, large.payload_of(&json!({}), 1_000_000), true),
        Scene::new("settings of 100 kB", 1, few, long_settings(), true),
    ]
}

/// Settings that demand this of the image of each container, though pre-scan accepts it.
fn verified(key: &str, attestation: Option<Value>, demands: &[&str]) -> Value {
    demanding(&json!({"name": "team", "cosign": {"key": {"data": key}}}), attestation, demands)
}

/// The same by any attestor.
fn demanding(attestor: &Value, attestation: Option<Value>, demands: &[&str]) -> Value {
    let expression = |demand: &&str| json!({"expression": format!("images.containers.all(i, {demand})")});
    let verifications: Vec<Value> = demands.iter().map(expression).collect();
    let mut policy = json!({"name": "signed", "verifyPreScanAccepted": true, "attestors": [attestor], "verifications": verifications});
    if let (Some(policy), Some(attestation)) = (policy.as_object_mut(), attestation) {
        policy.insert("attestations".to_owned(), json!([attestation]));
    }
    json!({"preScanPolicies": {"defaultPolicy": "accept"}, "imageVerification": [policy]})
}

/// Settings that demand an envelope, and read it.
fn attested(signer: &Signer) -> Value {
    let slsa = json!({"name": "slsa", "intoto": {"type": PREDICATE}, "tagSuffix": signer.name});
    let demands = [
        "verifyAttestationSignatures(i, attestations.slsa, [attestors.team]) > 0",
        "payload(i, attestations.slsa).predicate.runDetails.builder.id == 'https://ci.example'",
    ];
    verified(signer.key, Some(slsa), &demands)
}

/// Settings that reject what is exploited, or likely to be where reports say so.
fn exploited(gate: Value) -> Value {
    let epss = gate.is_string().then(|| json!({"score": 0.5}));
    json!({"acceptance": {"knownExploited": gate, "epss": epss}})
}

/// A key like those that people have.
const KEY: &str = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEcyw7xL1u0707D37185lCTz9qtqBD\nnY8HqIC24Sx7KnDM1VS6THr9Xa+DS9YgU9EVdytz1216xUjGPRucDjCuuw==\n-----END PUBLIC KEY-----\n";

/// 100 kB of entries that are about other images and other namespaces.
fn long_settings() -> Value {
    let prefix = |number: usize| format!("registry.example.com/division-{number}/team-{number}/");
    let policies: Vec<Value> = (0..600).map(|number| json!({"prefix": prefix(number), "action": "accept"})).collect();
    let exemption = |number: usize| json!({"vulnerabilities": [format!("CVE-2025-{number:05}")], "images": [prefix(number)], "reason": "nobody calls that function", "expires": "2027-01-31"});
    let exemptions: Vec<Value> = (0..300).map(exemption).collect();
    json!({"preScanPolicies": {"customPolicies": policies}, "exemptions": exemptions})
}
