//! What is in the cluster: keys, trust roots and certificates that the settings refer to, and objects with evidence. Each is read
//! once.

use crate::failure::Failure;
use crate::piece::Piece;
use crate::verifier::{Verifier, remembered};
use image_admission_evidence::certificate::Certificate;
use image_admission_evidence::dsse::decode_base64;
use image_admission_evidence::sigstore::{Thresholds, TrustRoot};
use image_admission_host::{HostFailure, Resource};
use image_admission_settings::{EvidenceObject, KeyReference, TextSource};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A text in the cluster, and the annotations of the object that has it.
pub(crate) struct Text {
    pub(crate) value: String,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    name: String,
    namespace: Option<String>,
    creation_timestamp: Option<String>,
    annotations: Option<BTreeMap<String, String>>,
}

impl Verifier<'_> {
    /// A public key in the cluster, PEM.
    pub(crate) fn key(&self, reference: &KeyReference) -> Result<String, Failure> {
        let text = self.in_object(reference)?;
        let pem = text.trim();
        if !pem.starts_with("-----BEGIN PUBLIC KEY-----") {
            return Err(Failure::unusable(format!("{} is not a public key in PEM", named(reference))));
        }
        Ok(format!("{pem}\n"))
    }

    /// A trust root of the settings.
    pub(crate) fn trust_root(&self, source: &TextSource) -> Result<Rc<TrustRoot>, Failure> {
        remembered(&self.trust_roots, source, || {
            let wanted = self.settings.thresholds;
            let thresholds = Thresholds {
                transparency_logs: wanted.transparency_logs,
                timestamps: wanted.timestamps,
                certificate_logs: wanted.certificate_logs,
            };
            let root = TrustRoot::read(&self.text(source)?).map(|root| Rc::new(root.with_thresholds(thresholds)));
            root.map_err(|why| Failure::unusable(format!("the trust root can't be used: {why}")))
        })
    }

    /// Certificates of the settings.
    pub(crate) fn certificates(&self, source: &TextSource) -> Result<Rc<Vec<Certificate>>, Failure> {
        remembered(&self.certificates, source, || {
            let read = Certificate::all_from_pem(&self.text(source)?);
            read.map(Rc::new).map_err(|why| Failure::unusable(format!("a trust store can't be used: {why}")))
        })
    }

    fn text(&self, source: &TextSource) -> Result<String, Failure> {
        match source {
            TextSource::Inline(text) => Ok(text.clone()),
            TextSource::InCluster(reference) => self.in_object(reference),
        }
    }

    fn in_object(&self, reference: &KeyReference) -> Result<String, Failure> {
        remembered(&self.texts, reference, || self.read_text(reference).map(|text| text.value))
    }

    pub(crate) fn read_text(&self, reference: &KeyReference) -> Result<Text, Failure> {
        #[derive(Deserialize)]
        struct Holder {
            kind: Option<String>,
            metadata: Metadata,
            #[serde(default)]
            data: BTreeMap<String, String>,
        }
        let KeyReference { kind, namespace, name, key } = reference;
        let what = named(reference);
        let resource = Resource { api_version: "v1", kind, namespace, name };
        let read = self.host.get_resource(&resource, &["data"]).and_then(|document| document.read::<Holder>());
        let holder = read.map_err(|failure| Failure::cluster(&format!("{what} can't be read"), failure))?;
        let is_other = holder.metadata.name != *name
            || holder.metadata.namespace.as_ref() != Some(namespace)
            || holder.kind.is_some_and(|own| own != *kind);
        if is_other {
            return Err(Failure::unusable(format!("{what} can't be read: the host gave another object")));
        }
        let annotations = holder.metadata.annotations.unwrap_or_default();
        let value = holder.data.get(key).ok_or_else(|| Failure::unusable(format!("{what} is not there")))?;
        // A Secret's values are base64.
        let value = if *kind == "Secret" {
            let text = decode_base64(value).and_then(|bytes| String::from_utf8(bytes).ok());
            text.ok_or_else(|| Failure::unusable(format!("{what} is no Base64 of a text")))?
        } else {
            value.clone()
        };
        Ok(Text { value, annotations })
    }

    /// The pieces in the object of the cluster that has the digest's name; none without such an object.
    ///
    /// # Errors
    /// The object can't be read.
    pub fn in_cluster(&self, digest: &str) -> Result<Rc<Vec<Piece>>, Failure> {
        if !self.settings.from_cluster {
            return Ok(Rc::default());
        }
        remembered(&self.objects, digest, || self.read_object(digest).map(Rc::new))
    }

    fn read_object(&self, digest: &str) -> Result<Vec<Piece>, Failure> {
        #[derive(Deserialize)]
        struct Object {
            kind: Option<String>,
            metadata: Metadata,
            spec: Spec,
        }
        #[derive(Deserialize)]
        struct Spec {
            #[serde(default)]
            evidence: Vec<Entry>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            media_type: String,
            data: String,
        }
        let name = digest.replace(':', "-");
        let what = format!("{} {name}", EvidenceObject::KIND);
        let resource = Resource {
            api_version: EvidenceObject::API_VERSION,
            kind: EvidenceObject::KIND,
            namespace: "",
            name: &name,
        };
        let object: Object = match self.host.whole_resource(&resource).and_then(|document| document.read()) {
            Ok(object) => object,
            Err(HostFailure::NotFound(_)) => return Ok(Vec::new()),
            // Whoever writes such objects must not keep an image out that has a signature elsewhere.
            Err(HostFailure::Malformed(why)) => return Ok(vec![Piece::unreadable(what, why)]),
            Err(failure) => return Err(Failure::cluster(&format!("{what} can't be read"), failure)),
        };
        if object.metadata.name != name || object.kind.is_some_and(|own| own != EvidenceObject::KIND) {
            return Err(Failure::unusable(format!("{what} can't be read: the host gave another object")));
        }
        if let Some(longest) = &self.settings.max_age {
            let made = object.metadata.creation_timestamp.as_deref().and_then(Timestamp::parse);
            if made.is_none_or(|made| made.is_older_than(longest, self.now)) {
                let why = format!("it is older than {longest}, as `evidence.maxAge` allows; have it written again");
                return Ok(vec![Piece::unreadable(what, why)]);
            }
        }
        let entries = object.spec.evidence.iter().take(EvidenceObject::MAX_PIECES).enumerate();
        let piece = |(position, entry): (usize, &Entry)| {
            Piece::of_object(format!("evidence[{position}] of {what}"), &entry.media_type, &entry.data)
        };
        Ok(entries.map(piece).collect())
    }
}

/// What messages call a text in the cluster.
pub(crate) fn named(KeyReference { kind, namespace, name, key }: &KeyReference) -> String {
    format!("the key `{key}` of {kind} {namespace}/{name}")
}
