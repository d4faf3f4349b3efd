//! The host's calls as they go over the wire: JSON in, JSON or an error's text out.
//!
//! Only this file, with `registry_failure` and `withheld`, knows operations, field names and error texts of Kubewarden's host.

use super::{AccessReview, Document, Host, HostFailure, Resource, Untrusted, registry_failure, withheld};
use image_admission_settings::Identity;
use image_admission_untrusted::message::cut;
use kubewarden_policy_sdk::host_capabilities::SigstoreVerificationInputV2;
use kubewarden_policy_sdk::host_capabilities::oci::ManifestDigestResponse;
use kubewarden_policy_sdk::host_capabilities::verification::{KeylessInfo, KeylessPrefixInfo, VerificationResponse};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The longest error text about the cluster that is passed on.
const MAX_FAILURE_LENGTH: usize = 300;

/// Makes a call to the host: waPC in the guest, prepared answers elsewhere.
pub trait HostCalls {
    /// The answer to `operation` of `namespace`; payload and answer are JSON.
    ///
    /// # Errors
    /// The host's whole error text.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String>;
}

impl<F: Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String>> HostCalls for F {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        self(namespace, operation, payload)
    }
}

/// A [`Host`] behind calls in Kubewarden's form.
#[derive(Debug)]
pub struct WireHost<C>(pub C);

impl<C: HostCalls> WireHost<C> {
    fn call(&self, namespace: &str, operation: &str, payload: &impl Serialize) -> Result<Vec<u8>, HostFailure> {
        self.0.call(namespace, operation, &written(payload)?).map_err(|text| classify(&text))
    }

    /// A call about a registry. The failure has nothing of its answer.
    fn ask_registry(&self, operation: &str, image: &str) -> Result<Vec<u8>, HostFailure> {
        self.0.call("oci", operation, &written(&image)?).map_err(|text| registry_failure::of(&text))
    }
}

impl<C: HostCalls> Host for WireHost<C> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        let answer: ManifestDigestResponse = Document(self.ask_registry("v1/manifest_digest", image)?).read()?;
        Ok(answer.digest)
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask_registry("v1/oci_manifest", image).map(Document)
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        self.call("kubernetes", "get_resource", &GetResource::of(resource, Some(fields))).map(Document)
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        self.call("kubernetes", "get_resource", &GetResource::of(resource, None)).map(Document)
    }

    fn list_resources(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        label_selector: Option<&str>,
        fields: &[&str],
    ) -> Result<Document, HostFailure> {
        let request =
            ListResources { api_version, kind, namespace, label_selector, field_selector: None, field_masks: fields };
        self.call("kubernetes", "list_resources_by_namespace", &request).map(Document)
    }

    fn list_all_resources(&self, api_version: &str, kind: &str) -> Result<Document, HostFailure> {
        let request = json!({
            "api_version": api_version, "kind": kind, "label_selector": null, "field_selector": null, "field_masks": null,
        });
        self.call("kubernetes", "list_resources_all", &request).map(Document)
    }

    fn artifact(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask_registry("v1/oci_manifest_config", image).map(Document)
    }

    fn verify(
        &self,
        image: &str,
        identity: &Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<String, HostFailure> {
        let image = image.to_owned();
        let annotations = Some(annotations.clone()).filter(|annotations| !annotations.is_empty());
        let request = match identity.clone() {
            Identity::Key(key) => {
                SigstoreVerificationInputV2::SigstorePubKeyVerify { image, pub_keys: vec![key], annotations }
            }
            Identity::Keyless { issuer, subject } => {
                let keyless = vec![KeylessInfo { issuer, subject }];
                SigstoreVerificationInputV2::SigstoreKeylessVerify { image, keyless, annotations }
            }
            Identity::KeylessPrefix { issuer, subject_prefix } => {
                let keyless_prefix = vec![KeylessPrefixInfo { issuer, url_prefix: subject_prefix }];
                SigstoreVerificationInputV2::SigstoreKeylessPrefixVerify { image, keyless_prefix, annotations }
            }
            Identity::GithubActions { owner, repository } => {
                SigstoreVerificationInputV2::SigstoreGithubActionsVerify { image, owner, repo: repository, annotations }
            }
            Identity::Certificate { certificate, chain, require_rekor_bundle } => {
                SigstoreVerificationInputV2::SigstoreCertificateVerify {
                    image,
                    certificate: certificate.into_bytes(),
                    certificate_chain: Some(chain.into_iter().map(String::into_bytes).collect()),
                    require_rekor_bundle,
                    annotations,
                }
            }
            Identity::KeyInCluster(_) | Identity::KeylessMatching { .. } | Identity::Notary(_) => {
                return Err(HostFailure::Malformed("hosts know no such identity".to_owned()));
            }
        };
        let answer = self.0.call("oci", "v2/verify", &written(&request)?);
        let answer = answer.map_err(|text| registry_failure::of_verification(&text))?;
        let answer: VerificationResponse = Document(answer).read()?;
        if answer.is_trusted { Ok(answer.digest) } else { Err(HostFailure::NotTrusted(Untrusted::Unsaid)) }
    }

    fn may(&self, review: &AccessReview<'_>) -> Result<bool, HostFailure> {
        #[derive(Deserialize)]
        struct Answer {
            allowed: bool,
            #[serde(default)]
            denied: Option<bool>,
        }
        let AccessReview { user, groups, verb, resource } = *review;
        let request = CanI {
            subject_access_review: SubjectAccessReview {
                user,
                groups,
                resource_attributes: ResourceAttributes {
                    verb,
                    group: &resource.group,
                    resource: &resource.resource,
                    name: resource.name.as_deref(),
                    namespace: resource.namespace.as_deref(),
                    subresource: None,
                    version: None,
                },
            },
            // A revoked right is gone at once.
            disable_cache: true,
        };
        let answer: Answer = Document(self.call("kubernetes", "can_i", &request)?).read()?;
        Ok(answer.allowed && answer.denied != Some(true))
    }
}

fn written(payload: &impl Serialize) -> Result<Vec<u8>, HostFailure> {
    serde_json::to_vec(payload).map_err(|error| HostFailure::Failed(error.to_string()))
}

/// A failure of a call about the cluster. Only the host's text tells failures apart, and only the cause in its first line is for
/// people.
fn classify(text: &str) -> HostFailure {
    let cause = cut(cause(text), MAX_FAILURE_LENGTH);
    if let Some(denied) = withheld::of_cluster(&cause) {
        denied
    } else if cause.starts_with("Cannot find ") && cause.contains(" named '") {
        HostFailure::NotFound(cause)
    } else {
        HostFailure::Failed(cause)
    }
}

/// The first line, without the prefixes that say only that a call failed.
pub(super) fn cause(text: &str) -> &str {
    let mut line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("the host gave no reason");
    for prefix in ["Host error:", "Callback evaluation failure:"] {
        line = line.strip_prefix(prefix).map_or(line, str::trim);
    }
    line
}

// The SDK's types of the calls about the cluster bring all of Kubernetes' own, so these are written here.

#[derive(Serialize)]
struct GetResource<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
    disable_cache: bool,
    field_masks: Option<&'a [&'a str]>,
}

impl<'a> GetResource<'a> {
    fn of(&Resource { api_version, kind, namespace, name }: &Resource<'a>, fields: Option<&'a [&'a str]>) -> Self {
        Self { api_version, kind, name, namespace, disable_cache: false, field_masks: fields }
    }
}

/// The selectors are constant: the host keeps a watch open for ever for each different one.
#[derive(Serialize)]
struct ListResources<'a> {
    api_version: &'a str,
    kind: &'a str,
    namespace: &'a str,
    label_selector: Option<&'a str>,
    field_selector: Option<&'a str>,
    field_masks: &'a [&'a str],
}

#[derive(Serialize)]
struct CanI<'a> {
    subject_access_review: SubjectAccessReview<'a>,
    disable_cache: bool,
}

#[derive(Serialize)]
struct SubjectAccessReview<'a> {
    user: &'a str,
    groups: &'a [String],
    resource_attributes: ResourceAttributes<'a>,
}

#[derive(Serialize)]
struct ResourceAttributes<'a> {
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    name: Option<&'a str>,
    namespace: Option<&'a str>,
    /// Always written, as null.
    subresource: Option<&'a str>,
    version: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capability;
    use image_admission_image::manifest::Manifest;
    use image_admission_stub_host::StubHost;

    const CONFIG_MAP: Resource<'_> = Resource { api_version: "v1", kind: "ConfigMap", namespace: "b", name: "a" };

    #[test]
    fn failures_are_told_apart_by_the_cause_in_the_first_line() {
        let failure = |text: &str| {
            let host = StubHost::default().fails("", text);
            WireHost(host.wire()).get_resource(&CONFIG_MAP, &[]).unwrap_err()
        };
        let not_found = "Cannot find v1/ConfigMap named 'a' inside of namespace 'Some(\"b\")'";
        assert_eq!(
            failure(
                "Host error: Callback evaluation failure: Cannot find v1/ConfigMap named 'a' inside of namespace 'Some(\"b\")'\n\nCaused by:\n  0: x"
            ),
            HostFailure::NotFound(not_found.to_owned())
        );
        let denied =
            "Policy has not been granted access to Kubernetes v1/Secret resources. The violation has been reported.";
        let said = "the policy may not read `v1/Secret`: add it to its `contextAwareResources`; a policy of a namespace has none";
        assert_eq!(failure(denied), HostFailure::NotGranted(said.to_owned()));
        let denied = |call: &str| {
            failure(&format!(
                "Policy has not been granted access to the '{call}' host capability. The violation has been reported."
            ))
        };
        for call in Capability::ALL {
            assert_eq!(denied(call.name()), HostFailure::Withheld(call));
        }
        assert_eq!(
            denied("kubernetes/can_i").to_string(),
            "the policy server doesn't let this policy call `kubernetes/can_i`: add it to `namespacedPoliciesCapabilities` of the PolicyServer"
        );
        assert_eq!(
            denied("kubernetes/get_resource").to_string(),
            "the policy server doesn't let this policy call `kubernetes/get_resource`: only a ClusterAdmissionPolicy may read the cluster; deploy one"
        );
        for other in ["oci/v2/verify_all", "oci/v2", ""] {
            assert!(matches!(denied(other), HostFailure::NotGranted(_)), "{other}");
        }
        for failed in [
            "Cannot find resource v1/Nonsense",
            "error finding resource a/v1 / B: 404",
            "ApiError: nothing named x",
            "ApiError: Cannot find v1/ConfigMap named 'a'",
            "OCI API error: manifest unknown",
            "no signatures found for image: a",
            "x has not been granted access",
            "",
        ] {
            assert!(matches!(failure(failed), HostFailure::Failed(_)), "{failed}");
        }
    }

    #[test]
    fn nothing_that_a_registry_answered_is_repeated() {
        const SECRET: &str = "hunter2";
        let text = "Fail to interact with OCI registry: Server error: url u, code: 503, message: hunter2";
        let host = StubHost::default().fails("", text);
        let refuses = WireHost(host.wire());
        let identity = Identity::Key("k".to_owned());
        let failures = [
            refuses.manifest_digest("a").unwrap_err(),
            refuses.manifest("a").unwrap_err(),
            refuses.artifact("a").unwrap_err(),
            refuses.verify("a", &identity, &BTreeMap::new()).unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure, HostFailure::Failed("the registry answers 503".to_owned()));
        }
        for answer in [
            r#""hunter2""#,
            r#"{"digest": ["hunter2"], "manifests": "hunter2"}"#,
            r#"{"digest": {"hunter2": 1}, "manifests": ["hunter2"]}"#,
            r#"{"digest": 1, "config": "hunter2"}"#,
            r#"{"digest": "hunter2", "digest": "hunter2", "layers": "hunter2", "layers": 1}"#,
            "hunter2",
        ] {
            let host = StubHost::default().says("", answer);
            let answers = WireHost(host.wire());
            let manifest = answers.manifest("a").and_then(|document| Ok(Manifest::read(&document.0).map(drop)?));
            for failure in manifest.err().into_iter().chain([answers.manifest_digest("a").unwrap_err()]) {
                assert!(!failure.to_string().contains(SECRET), "{answer}: {failure}");
            }
            let failure = answers.verify("a", &identity, &BTreeMap::new()).unwrap_err();
            assert!(!failure.to_string().contains(SECRET), "{answer}: {failure}");
        }
    }

    #[test]
    fn names_are_escaped_in_payloads() {
        let resource = Resource { api_version: "v1", kind: "ConfigMap", namespace: "b\"", name: "a\n\u{e9}" };
        for fields in [None, Some(&["data", "m.\\"][..]), Some(&[])] {
            let payload = serde_json::to_value(GetResource::of(&resource, fields)).unwrap();
            let expected = json!({
                "api_version": "v1", "kind": "ConfigMap", "namespace": "b\"", "name": "a\n\u{e9}",
                "disable_cache": false, "field_masks": fields,
            });
            assert_eq!(payload, expected);
        }
        let payload = serde_json::to_string(&GetResource::of(&CONFIG_MAP, Some(&["data", "metadata"]))).unwrap();
        let json = r#"{"api_version":"v1","kind":"ConfigMap","name":"a","namespace":"b","disable_cache":false,"field_masks":["data","metadata"]}"#;
        assert_eq!(payload, json);
    }

    #[test]
    fn nonsense_is_a_failure() {
        for nonsense in ["", "null", "[]", "{}", "{\"digest\":1}", "\u{0}"] {
            let host = StubHost::default().says("", nonsense);
            let digest = WireHost(host.wire()).manifest_digest("a");
            assert!(matches!(digest, Err(HostFailure::Malformed(_))), "{nonsense}");
        }
    }
}
