//! An image that real tools signed (`crates/evidence/tests/made`): what they wrote stands beside it, or in an object of the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image_admission_module_host::answers::{HostAnswers, HostCall};
use serde_json::{Value, json};

use super::world::digest;

/// The image, as it is in a Pod.
pub(super) const IMAGE: &str = "registry.example.com/team/signed:1.0";

const REPOSITORY: &str = "registry.example.com/team/signed";
const MANIFEST: &str = include_str!("../../../../evidence/tests/made/image.json");
const ARTIFACT: &str = "application/vnd.image-admission.evidence.v1+json";

/// A piece of evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    media_type: &'static str,
    /// JSON.
    document: &'static str,
}

/// A bundle by cosign 3, by a P-256 key.
pub(super) const BUNDLE: Piece = Piece {
    media_type: "application/vnd.dev.sigstore.bundle.v0.3+json",
    document: include_str!("../../../../evidence/tests/made/sign-p256.json"),
};

/// The key of [`BUNDLE`].
pub(super) const KEY: &str = include_str!("../../../../evidence/tests/made/p256.pub");

/// The same by a certificate, with an entry of a log, and a timestamp.
pub(super) const KEYLESS: Piece =
    Piece { document: include_str!("../../../../evidence/tests/made/workflow-sign.json"), ..BUNDLE };

/// Who signed [`KEYLESS`].
pub(super) const WORKFLOW: &str = "https://github.com/team/app/.github/workflows/release.yml@refs/tags/v1.0.0";

/// The trust root of [`KEYLESS`].
pub(super) const ROOT: &str = include_str!("../../../../evidence/tests/made/root.json");

/// A signature of notation, by a P-256 key.
pub(super) const JWS_P256: Piece = Piece {
    media_type: "application/jose+json",
    document: include_str!("../../../../evidence/tests/made/notation-jws-p256.json"),
};

/// The authority of [`JWS_P256`].
pub(super) const AUTHORITY_P256: &str = include_str!("../../../../evidence/tests/made/notary-p256-ca.pem");

/// The same by an RSA key of 3,072 bits.
pub(super) const JWS_RSA: Piece =
    Piece { document: include_str!("../../../../evidence/tests/made/notation-jws-rsa3072.json"), ..JWS_P256 };

/// The authority of [`JWS_RSA`].
pub(super) const AUTHORITY_RSA: &str = include_str!("../../../../evidence/tests/made/notary-rsa3072-ca.pem");

/// Where a piece is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Beside the image, as `image-admission attach` puts it there.
    Registry,
    /// In an `ImageEvidence`, in base64.
    Object,
}

/// The answers of a host whose registry has the image alone, or with the piece.
pub(super) fn host(piece: Piece, place: Place) -> Arc<dyn HostAnswers> {
    let image = digest(MANIFEST);
    let tag = image.replace(':', "-");
    let mut answers = BTreeMap::from([(IMAGE.to_owned(), written(&json!({"digest": image})))]);
    match place {
        Place::Registry => {
            let artifact = digest(piece.document);
            // As `image-admission attach` writes it, so that its digest is proven.
            let index = format!(
                r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"{artifact}","size":1,"artifactType":"{ARTIFACT}"}}]}}"#
            );
            let manifest = json!({"artifactType": ARTIFACT, "config": {"mediaType": piece.media_type}, "subject": {"digest": image}});
            let document: Value = serde_json::from_str(piece.document).unwrap_or_default();
            let listed = digest(&index);
            answers.insert(format!("{REPOSITORY}:{tag}"), written(&json!({"digest": listed})));
            answers.insert(format!("{REPOSITORY}@{listed}"), index.into_bytes());
            answers.insert(
                format!("{REPOSITORY}@{artifact}"),
                written(&json!({"manifest": manifest, "digest": artifact, "config": document})),
            );
        }
        Place::Object => {
            let object = json!({
                "apiVersion": "image-admission.kubewarden.io/v1alpha1", "kind": "ImageEvidence",
                "metadata": {"name": tag, "creationTimestamp": "2026-11-28T12:00:00Z"},
                "spec": {"evidence": [{"mediaType": piece.media_type, "data": BASE64_STANDARD.encode(piece.document)}]},
            });
            answers.insert(tag, written(&object));
        }
    }
    Arc::new(Signed { answers })
}

fn written(answer: &Value) -> Vec<u8> {
    answer.to_string().into_bytes()
}

struct Signed {
    /// By the image, or by the object's name.
    answers: BTreeMap<String, Vec<u8>>,
}

impl HostAnswers for Signed {
    fn answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let request: Value = serde_json::from_slice(&call.payload).map_err(|error| error.to_string())?;
        let named = |key| request.get(key).and_then(Value::as_str);
        let name = request.as_str().or(named("image")).or(named("name")).unwrap_or_default();
        match self.answers.get(name) {
            Some(answer) => Ok(answer.clone()),
            None if call.operation == "v2/verify" => Err(format!("no signatures found for image: {name} ")),
            None => Err(format!(
                "Fail to interact with OCI registry: Registry error: url https://registry.example.com/v2/team/signed/manifests/{name}, envelope: OCI API errors: [OCI API error: manifest unknown]"
            )),
        }
    }

    fn may_block(&self) -> bool {
        false
    }
}
