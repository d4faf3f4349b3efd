//! The host's calls as they go over the wire: JSON in, JSON or an error's text out.
//!
//! The one place that knows operations, field names and error texts of Kubewarden's host.

use super::{AccessReview, Document, Host, HostFailure, Resource, Untrusted, registry_failure, withheld};
use crate::json::{write_list, write_text};
use crate::message::cut;
use crate::settings::Identity;
use crate::word::append;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// The longest text about the cluster that is passed on.
const MAX_FAILURE_LENGTH: usize = 300;

/// Carries a call to the host: waPC in the guest, prepared answers elsewhere.
pub trait HostCalls {
    /// The answer to `operation` of `namespace`, JSON as the payload is.
    ///
    /// # Errors
    /// The host's text, all of it.
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

/// Makes a call over waPC: binding, namespace, operation and payload in, the host's answer or its whole text out.
pub type WapcCall = fn(&str, &str, &str, &[u8]) -> Result<Vec<u8>, String>;

/// waPC's binding of Kubewarden's host.
pub const BINDING: &str = "kubewarden";

impl WireHost<Wapc> {
    /// The host of a guest. It is made here, and not where it is used: what a call reads of the module's constants lies in the same
    /// pages then as what the rest of a request reads.
    #[must_use]
    pub fn over(call: WapcCall) -> Box<dyn Host> {
        Box::new(Self(Wapc(call)))
    }
}

/// Calls over waPC.
#[derive(Debug)]
pub struct Wapc(WapcCall);

impl HostCalls for Wapc {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        self.0(BINDING, namespace, operation, payload)
    }
}

impl<C: HostCalls> WireHost<C> {
    fn call(&self, namespace: &str, operation: &str, payload: &impl Serialize) -> Result<Vec<u8>, HostFailure> {
        self.0.call(namespace, operation, &written(payload)?).map_err(|text| classify(&text))
    }

    /// A question about a registry: nothing of what it answered is in the failure.
    fn ask_registry(&self, operation: &str, image: &str) -> Result<Vec<u8>, HostFailure> {
        let mut payload = Vec::with_capacity(image.len() + 2);
        write_text(&mut payload, image);
        self.0.call("oci", operation, &payload).map_err(|text| registry_failure::of(&text))
    }
}

impl<C: HostCalls> Host for WireHost<C> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        #[derive(Deserialize)]
        struct Answer {
            digest: String,
        }
        let answer: Answer = Document(self.ask_registry("v1/manifest_digest", image)?).read()?;
        Ok(answer.digest)
    }

    fn manifest(&self, image: &str) -> Result<Document, HostFailure> {
        self.ask_registry("v1/oci_manifest", image).map(Document)
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        let payload = get_resource(resource, Some(fields));
        self.0.call("kubernetes", "get_resource", &payload).map(Document).map_err(|text| classify(&text))
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        let payload = get_resource(resource, None);
        self.0.call("kubernetes", "get_resource", &payload).map(Document).map_err(|text| classify(&text))
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
        #[derive(Deserialize)]
        struct Answer {
            is_trusted: bool,
            digest: String,
        }
        let annotations = Some(annotations).filter(|annotations| !annotations.is_empty());
        let identity = match identity {
            Identity::Key(key) => WireIdentity::PubKey { pub_keys: [key] },
            Identity::Keyless { issuer, subject } => {
                WireIdentity::Keyless { keyless: [WireSubject { issuer, subject }] }
            }
            Identity::KeylessPrefix { issuer, subject_prefix } => {
                WireIdentity::KeylessPrefix { keyless_prefix: [WirePrefix { issuer, url_prefix: subject_prefix }] }
            }
            Identity::GithubActions { owner, repository } => {
                WireIdentity::GithubActions { owner, repo: repository.as_deref() }
            }
            // The host takes certificates as lists of bytes.
            Identity::Certificate { certificate, chain, require_rekor_bundle } => WireIdentity::Certificate {
                certificate: certificate.as_bytes(),
                certificate_chain: chain.iter().map(String::as_bytes).collect(),
                require_rekor_bundle: *require_rekor_bundle,
            },
            Identity::KeyInCluster(_) => {
                return Err(HostFailure::Malformed("a key that stands in the cluster was not read".to_owned()));
            }
        };
        let payload = written(&Verify { identity, image, annotations })?;
        let answer = self.0.call("oci", "v2/verify", &payload);
        let answer = answer.map_err(|text| registry_failure::of_verification(&text))?;
        let answer: Answer = Document(answer).read()?;
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
            // A right that was taken away counts at once.
            disable_cache: true,
        };
        let answer: Answer = Document(self.call("kubernetes", "can_i", &request)?).read()?;
        Ok(answer.allowed && answer.denied != Some(true))
    }
}

/// The payload of the call that nearly every request makes for each platform.
fn get_resource(resource: &Resource<'_>, fields: Option<&[&str]>) -> Vec<u8> {
    let Resource { api_version, kind, namespace, name } = resource;
    let mut json = Vec::with_capacity(512);
    for (before, text) in [
        (&b"{\"api_version\":"[..], api_version),
        (b",\"kind\":", kind),
        (b",\"name\":", name),
        (b",\"namespace\":", namespace),
    ] {
        append(&mut json, before);
        write_text(&mut json, text);
    }
    json.extend_from_slice(b",\"disable_cache\":false,\"field_masks\":");
    match fields {
        Some(fields) => write_list(&mut json, b"[]", fields, |json, field| write_text(json, field)),
        None => json.extend_from_slice(b"null"),
    }
    json.push(b'}');
    json
}

fn written(payload: &impl Serialize) -> Result<Vec<u8>, HostFailure> {
    serde_json::to_vec(payload).map_err(|error| HostFailure::Failed(error.to_string()))
}

/// What the host says of the cluster: failures are told apart by their text alone, and only the cause in its first line is
/// for people.
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

#[derive(Serialize)]
struct Verify<'a> {
    #[serde(flatten)]
    identity: WireIdentity<'a>,
    image: &'a str,
    annotations: Option<&'a BTreeMap<String, String>>,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum WireIdentity<'a> {
    #[serde(rename = "SigstorePubKeyVerify")]
    PubKey { pub_keys: [&'a str; 1] },
    #[serde(rename = "SigstoreKeylessVerify")]
    Keyless { keyless: [WireSubject<'a>; 1] },
    #[serde(rename = "SigstoreKeylessPrefixVerify")]
    KeylessPrefix { keyless_prefix: [WirePrefix<'a>; 1] },
    #[serde(rename = "SigstoreGithubActionsVerify")]
    GithubActions { owner: &'a str, repo: Option<&'a str> },
    #[serde(rename = "SigstoreCertificateVerify")]
    Certificate { certificate: &'a [u8], certificate_chain: Vec<&'a [u8]>, require_rekor_bundle: bool },
}

#[derive(Serialize)]
struct WireSubject<'a> {
    issuer: &'a str,
    subject: &'a str,
}

#[derive(Serialize)]
struct WirePrefix<'a> {
    issuer: &'a str,
    url_prefix: &'a str,
}

/// The selectors are constant: the host keeps a watch open for each different one, for ever.
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
    /// Said to be none, as the host writes it down.
    subresource: Option<&'a str>,
    version: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Capability;
    use crate::manifest::Manifest;
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
            let manifest = answers.manifest("a").and_then(|document| Manifest::read(&document).map(drop));
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
            let payload: serde_json::Value = serde_json::from_slice(&get_resource(&resource, fields)).unwrap();
            let expected = json!({
                "api_version": "v1", "kind": "ConfigMap", "namespace": "b\"", "name": "a\n\u{e9}",
                "disable_cache": false, "field_masks": fields,
            });
            assert_eq!(payload, expected);
        }
        let bytes = get_resource(&CONFIG_MAP, Some(&["data", "metadata"]));
        let json = r#"{"api_version":"v1","kind":"ConfigMap","name":"a","namespace":"b","disable_cache":false,"field_masks":["data","metadata"]}"#;
        assert_eq!(String::from_utf8(bytes).unwrap(), json);
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
