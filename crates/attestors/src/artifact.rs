//! Artifacts beside an image, whose configuration is what somebody says of it.

use image_admission_evidence::media_type::ARTIFACT_TYPE;
use image_admission_host::{Host, HostFailure};
use image_admission_untrusted::memory::AnyJson;
use serde::Deserialize;
use serde_json::Value as Json;

/// The contents of an artifact's manifest and configuration.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// Its type in the manifest; of evidence, what kind it is. The index of referrers has a type too, but nobody signs that.
    pub kind: Option<String>,
    /// The digest that the manifest is about.
    pub subject: Option<String>,
    /// The configuration.
    pub document: Json,
}

impl Artifact {
    /// Asks for an artifact, `repository@digest`.
    ///
    /// # Errors
    /// It can't be looked up, or is no artifact.
    pub fn read(host: &dyn Host, artifact: &str, digest: &str) -> Result<Self, HostFailure> {
        #[derive(Deserialize)]
        struct Answer {
            manifest: Manifest,
            digest: String,
            config: AnyJson,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Manifest {
            artifact_type: Option<String>,
            config: Option<Config>,
            subject: Option<Subject>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Config {
            media_type: Option<String>,
        }
        #[derive(Deserialize)]
        struct Subject {
            digest: Option<String>,
        }
        let answer: Answer = host.artifact(artifact)?.read()?;
        if answer.digest != digest {
            return Err(HostFailure::Malformed(format!("asked for {artifact}, the answer is of another digest")));
        }
        let Manifest { artifact_type, config, subject } = answer.manifest;
        // According to the OCI image specification: without a type of its own, an artifact has its configuration's type. Evidence has
        // a type of its own, and its configuration's says what it is.
        let own = artifact_type.filter(|kind| !kind.is_empty() && kind != ARTIFACT_TYPE);
        let kind = own.or_else(|| config?.media_type);
        Ok(Self { kind, subject: subject.and_then(|subject| subject.digest), document: answer.config.0 })
    }
}
