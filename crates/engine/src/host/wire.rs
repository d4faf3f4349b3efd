//! The host's calls as they go over the wire: JSON in, JSON or an error's text out.
//!
//! The one place that knows operations, field names and error texts of Kubewarden's host.

use super::{Descriptor, Document, Host, HostFailure, Manifest, Resource};
use crate::message::cut;
use crate::settings::Identity;
use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;

/// The longest text of the host that is passed on.
const LONGEST_FAILURE: usize = 300;

/// The most entries of an index that are read, attestations included.
const MOST_ENTRIES: usize = 1000;

/// Carries a call to the host: waPC in the guest, prepared answers elsewhere.
pub trait HostCalls {
    /// The answer to `operation` of `namespace`, JSON as the payload is.
    ///
    /// # Errors
    /// The host's text, all of it.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String>;
}

/// A [`Host`] behind calls in Kubewarden's form.
#[derive(Debug)]
pub struct WireHost<C>(pub C);

impl<C: HostCalls> WireHost<C> {
    fn call(&self, namespace: &str, operation: &str, payload: &impl Serialize) -> Result<Vec<u8>, HostFailure> {
        let payload = serde_json::to_vec(payload).map_err(|error| HostFailure::Failed(error.to_string()))?;
        self.0.call(namespace, operation, &payload).map_err(|text| classify(&text))
    }
}

impl<C: HostCalls> Host for WireHost<C> {
    fn manifest_digest(&self, image: &str) -> Result<String, HostFailure> {
        #[derive(Deserialize)]
        struct Answer {
            digest: String,
        }
        let answer: Answer = Document(self.call("oci", "v1/manifest_digest", &image)?).read()?;
        Ok(answer.digest)
    }

    fn manifest(&self, image: &str) -> Result<Manifest, HostFailure> {
        let answer: WireManifest = Document(self.call("oci", "v1/oci_manifest", &image)?).read()?;
        let is_image = answer.layers.is_some() || answer.config.is_some();
        // The host reads a document that is both as an image, and passes on what an image has: its type still tells.
        let typed_index = answer.media_type.as_deref().is_some_and(is_index);
        match answer.manifests {
            Some(_) if is_image => Ok(Manifest::Ambiguous),
            None if is_image && typed_index => Ok(Manifest::Ambiguous),
            Some(manifests) => Ok(Manifest::Index(manifests.into_iter().map(Descriptor::from).collect())),
            None if is_image => Ok(Manifest::Image { config: answer.config.and_then(|config| config.digest) }),
            None => Err(HostFailure::Malformed("its answer is neither an image's manifest nor an index".to_owned())),
        }
    }

    fn whole_manifest(&self, image: &str) -> Result<Document, HostFailure> {
        self.call("oci", "v1/oci_manifest", &image).map(Document)
    }

    fn get_resource(&self, resource: &Resource<'_>, fields: &[&str]) -> Result<Document, HostFailure> {
        let request = GetResource {
            api_version: resource.api_version,
            kind: resource.kind,
            name: resource.name,
            namespace: resource.namespace,
            disable_cache: false,
            field_masks: Some(fields),
        };
        self.call("kubernetes", "get_resource", &request).map(Document)
    }

    fn whole_resource(&self, resource: &Resource<'_>) -> Result<Document, HostFailure> {
        let Resource { api_version, kind, name, namespace } = *resource;
        let request = GetResource { api_version, kind, name, namespace, disable_cache: false, field_masks: None };
        self.call("kubernetes", "get_resource", &request).map(Document)
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
        self.call("oci", "v1/oci_manifest_config", &image).map(Document)
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
        let payload = Verify { identity, image, annotations };
        let answer: Answer = Document(self.call("oci", "v2/verify", &payload)?).read()?;
        if answer.is_trusted {
            Ok(answer.digest)
        } else {
            Err(HostFailure::NotTrusted("the host says that it isn't trusted".to_owned()))
        }
    }
}

/// Whether a media type is that of an index, OCI's or Docker's.
pub(crate) fn is_index(media_type: &str) -> bool {
    media_type.contains("image.index") || media_type.contains("manifest.list")
}

/// What the host says of images that nobody signed who was asked for: there is no signature; none that fits; none of this
/// digest, or of another shape; or several, of others.
const NOT_TRUSTED: [&str; 4] = [
    "no signatures found for image",
    "Image verification failed",
    "No Signature Layer passed verification",
    "Signature Layers failed verification",
];

/// The host tells failures apart by their text alone; only the cause in its first line is for people.
fn classify(text: &str) -> HostFailure {
    let cause = cut(cause(text), LONGEST_FAILURE);
    if cause.contains("has not been granted access") {
        HostFailure::NotGranted(cause)
    } else if (cause.starts_with("Cannot find ") && cause.contains(" named '")) || cause.contains("manifest unknown") {
        HostFailure::NotFound(cause)
    } else if NOT_TRUSTED.iter().any(|text| cause.contains(text)) {
        HostFailure::NotTrusted(cause)
    } else if cause.starts_with("CertExpired") || cause.contains(": CertExpired") {
        HostFailure::NotTrusted("the certificate has expired".to_owned())
    } else {
        HostFailure::Failed(cause)
    }
}

/// The first line, without the prefixes that say only that a call failed.
fn cause(text: &str) -> &str {
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

#[derive(Serialize)]
struct GetResource<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
    disable_cache: bool,
    field_masks: Option<&'a [&'a str]>,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a manifest")]
struct WireManifest {
    media_type: Option<String>,
    #[serde(default, deserialize_with = "bounded")]
    manifests: Option<Vec<WireDescriptor>>,
    layers: Option<IgnoredAny>,
    config: Option<WireConfig>,
}

#[derive(Deserialize)]
struct WireConfig {
    digest: Option<String>,
}

/// Reads the entries of an index, and stops where no index in use goes: whoever pushes it chooses how many it has.
fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<WireDescriptor>>, D::Error> {
    struct Entries;

    impl<'de> Visitor<'de> for Entries {
        type Value = Vec<WireDescriptor>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a list of manifests")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut read = Vec::new();
            while let Some(entry) = entries.next_element()? {
                if read.len() == MOST_ENTRIES {
                    return Err(A::Error::custom(format_args!("an index of more than {MOST_ENTRIES} entries")));
                }
                read.push(entry);
            }
            Ok(read)
        }
    }

    deserializer.deserialize_seq(Entries).map(Some)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireDescriptor {
    media_type: Option<String>,
    digest: String,
    platform: Option<WirePlatform>,
    artifact_type: Option<String>,
}

#[derive(Deserialize)]
struct WirePlatform {
    os: Option<String>,
    architecture: Option<String>,
    variant: Option<String>,
}

impl From<WireDescriptor> for Descriptor {
    fn from(wire: WireDescriptor) -> Self {
        let platform = wire.platform.and_then(|platform| {
            let (os, architecture) = (platform.os?, platform.architecture?);
            Some(match platform.variant.filter(|variant| !variant.is_empty()) {
                Some(variant) => [os, architecture, variant].join("/"),
                None => [os, architecture].join("/"),
            })
        });
        Self {
            media_type: wire.media_type.unwrap_or_default(),
            digest: wire.digest,
            platform,
            artifact_type: wire.artifact_type,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Says(Result<&'static str, &'static str>);

    impl HostCalls for Says {
        fn call(&self, _: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
            self.0.map(|text| text.as_bytes().to_vec()).map_err(str::to_owned)
        }
    }

    #[test]
    fn failures_are_told_apart_by_the_cause_in_the_first_line() {
        let failure = |text| WireHost(Says(Err(text))).manifest_digest("a").unwrap_err();
        let not_found = "Cannot find v1/ConfigMap named 'a' inside of namespace 'Some(\"b\")'";
        assert_eq!(
            failure(
                "Host error: Callback evaluation failure: Cannot find v1/ConfigMap named 'a' inside of namespace 'Some(\"b\")'\n\nCaused by:\n  0: x"
            ),
            HostFailure::NotFound(not_found.to_owned())
        );
        assert_eq!(
            failure("Host error: Callback evaluation failure: OCI API error: manifest unknown"),
            HostFailure::NotFound("OCI API error: manifest unknown".to_owned())
        );
        let denied =
            "Policy has not been granted access to Kubernetes v1/Secret resources. The violation has been reported.";
        assert_eq!(failure(denied), HostFailure::NotGranted(denied.to_owned()));
        for untrusted in [
            "no signatures found for image: r/a@sha256:1",
            "Image verification failed: missing signatures",
            "failed to get image trusted layers: No Signature Layer passed verification",
            "verification failed: Several Signature Layers failed verification",
        ] {
            assert_eq!(failure(untrusted), HostFailure::NotTrusted(untrusted.to_owned()));
        }
        for failed in [
            "Cannot find resource v1/Nonsense",
            "error finding resource a/v1 / B: 404",
            "ApiError: nothing named x",
            "",
        ] {
            assert!(matches!(failure(failed), HostFailure::Failed(_)), "{failed}");
        }
    }

    #[test]
    fn nonsense_is_a_failure() {
        for nonsense in ["", "null", "[]", "{}", "{\"digest\":1}", "\u{0}"] {
            assert!(
                matches!(WireHost(Says(Ok(nonsense))).manifest_digest("a"), Err(HostFailure::Malformed(_))),
                "{nonsense}"
            );
            assert!(matches!(WireHost(Says(Ok(nonsense))).manifest("a"), Err(HostFailure::Malformed(_))), "{nonsense}");
        }
    }

    #[test]
    fn an_index_is_read_up_to_a_limit() {
        let index = |entries: usize| format!(r#"{{"manifests":[{}]}}"#, vec![r#"{"digest":"d"}"#; entries].join(","));
        let read = |text: String| WireHost(Says(Ok(text.leak()))).manifest("a");
        assert!(matches!(read(index(MOST_ENTRIES)), Ok(Manifest::Index(entries)) if entries.len() == MOST_ENTRIES));
        assert!(
            matches!(read(index(MOST_ENTRIES + 1)), Err(HostFailure::Malformed(why)) if why.contains("more than 1000 entries"))
        );
    }

    #[test]
    fn manifests_are_told_from_indexes() {
        let manifest = |text| WireHost(Says(Ok(text))).manifest("a").unwrap();
        assert_eq!(manifest(r#"{"config":{},"layers":[]}"#), Manifest::Image { config: None });
        let config = Some("sha256:1".to_owned());
        assert_eq!(manifest(r#"{"config":{"digest":"sha256:1"},"layers":[]}"#), Manifest::Image { config });
        assert_eq!(manifest(r#"{"layers":[],"manifests":[]}"#), Manifest::Ambiguous);
        let typed = r#"{"mediaType":"application/vnd.oci.image.index.v1+json","config":{},"layers":[]}"#;
        assert_eq!(manifest(typed), Manifest::Ambiguous);
        let child = |platform: Option<&str>| Descriptor {
            media_type: String::new(),
            digest: "d".to_owned(),
            platform: platform.map(str::to_owned),
            artifact_type: None,
        };
        assert_eq!(
            manifest(
                r#"{"manifests":[{"digest":"d"},{"digest":"d","platform":{"os":"linux","architecture":"arm","variant":"v7"}},{"digest":"d","platform":{"os":"linux"}}]}"#
            ),
            Manifest::Index(vec![child(None), child(Some("linux/arm/v7")), child(None)])
        );
    }
}
