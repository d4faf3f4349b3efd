//! Signatures in a registry, verified as the real host verifies them: with the same library, in the same order.
//!
//! Sigstore's trust root is fetched when a certificate is first in question, and not when the host starts: most sessions
//! never ask for it. So a signature that is asked for by key counts whatever the transparency log's bundle beside it says,
//! where the real host passes over a signature whose bundle it can't verify.

use std::collections::BTreeMap;

use oci_client::Reference;
use oci_client::secrets::RegistryAuth;
use sigstore::cosign::signature_layers::{CertificateSignature, CertificateSubject};
use sigstore::cosign::verification_constraint::{CertificateVerifier, PublicKeyVerifier, VerificationConstraint};
use sigstore::cosign::{Client, ClientBuilder, CosignCapabilities, SignatureLayer};
use sigstore::errors::SigstoreError;
use sigstore::registry::{Auth, Certificate, CertificateEncoding, ClientConfig, ClientProtocol, OciReference};
use sigstore::trust::sigstore::SigstoreTrustRoot;
use tokio::sync::OnceCell;
use url::Url;

use super::super::Request;
use super::super::verification::{Annotations, Constraint, GITHUB, Verified, missing};
use super::registry::{Registry, credentials};

/// Verifies signatures, and keeps Sigstore's trust root once it was needed.
#[derive(Default)]
pub(super) struct Signatures {
    /// Tried once: a host without a network would wait for it at every question.
    trust_root: OnceCell<Result<SigstoreTrustRoot, String>>,
}

/// What a registry has of an image and its signatures.
struct Signed {
    digest: String,
    layers: Vec<SignatureLayer>,
}

impl Signatures {
    /// The answer to a request of `v2/verify`, or the text of the real host's failure.
    pub(super) async fn verify(&self, registry: &Registry, request: &Request) -> Result<Verified, String> {
        if let Request::SigstoreCertificateVerify {
            image,
            certificate,
            certificate_chain,
            require_rekor_bundle,
            annotations,
        } = request
        {
            let chain = certificate_chain.as_deref();
            let verifier = certificate_verifier(certificate, chain, *require_rekor_bundle);
            return self.verify_by_certificate(registry, image, verifier, annotations.as_ref()).await;
        }
        let (image, constraints) =
            Constraint::of(request).ok_or_else(|| "this is no question about signatures".to_owned())?;
        let constraints = constraints?;
        let by_keys = constraints.iter().all(|constraint| matches!(constraint, Constraint::PubKey { .. }));
        if by_keys {
            let signed = find(registry, image, None).await?;
            return check(&constraints, signed);
        }
        let trust_root = self.trust_root().await;
        let checked = match find(registry, image, trust_root.ok()).await {
            Ok(signed) => check(&constraints, signed),
            Err(why) => Err(why),
        };
        checked.map_err(|why| with_cause(why, trust_root.err()))
    }

    async fn verify_by_certificate(
        &self,
        registry: &Registry,
        image: &str,
        verifier: Result<CertificateVerifier, SigstoreError>,
        annotations: Annotations<'_>,
    ) -> Result<Verified, String> {
        let verifier = match verifier {
            Ok(verifier) => verifier,
            Err(why) => {
                // The real host comes to the certificate last. It needs no trust root to say what is wrong with it.
                find(registry, image, None).await?;
                return Err(why.to_string());
            }
        };
        let trust_root = self.trust_root().await;
        let signed = find(registry, image, trust_root.ok()).await;
        let Signed { digest, layers } = signed.map_err(|why| with_cause(why, trust_root.err()))?;
        // One signature may be the certificate's and another one carry the annotations: the host looks at each apart.
        let is_signed = layers.iter().any(|layer| verifier.verify(layer).unwrap_or(false));
        let is_annotated = layers.iter().any(|layer| carries(layer, annotations));
        if is_signed && is_annotated {
            return Ok(Verified::new(digest));
        }
        let why = "verification failed: Several Signature Layers failed verification".to_owned();
        Err(with_cause(why, trust_root.err()))
    }

    async fn trust_root(&self) -> Result<&SigstoreTrustRoot, &String> {
        let fetch = || async { SigstoreTrustRoot::new(None).await.map_err(|why| why.to_string()) };
        self.trust_root.get_or_init(fetch).await.as_ref()
    }
}

/// Without a trust root the real host trusts no certificate and says so in its log alone; here it is a further line.
fn with_cause(why: String, no_trust_root: Option<&String>) -> String {
    match no_trust_root {
        Some(cause) => format!("{}\nSigstore's trust root can't be fetched: {cause}", why.trim_end_matches('\n')),
        None => why,
    }
}

fn certificate_verifier(
    certificate: &[u8],
    chain: Option<&[Vec<u8>]>,
    require_rekor_bundle: bool,
) -> Result<CertificateVerifier, SigstoreError> {
    let pem = |data: &Vec<u8>| Certificate { encoding: CertificateEncoding::Pem, data: data.clone() };
    let chain: Option<Vec<Certificate>> = chain.map(|chain| chain.iter().map(pem).collect());
    CertificateVerifier::from_pem(certificate, require_rekor_bundle, chain.as_deref())
}

/// The digest of an image, and the signatures that are of it. Without a trust root no certificate is trusted.
async fn find(registry: &Registry, image: &str, trust_root: Option<&SigstoreTrustRoot>) -> Result<Signed, String> {
    let name = image.strip_prefix("registry://").unwrap_or(image);
    let reference: Reference = name.parse().map_err(|why| format!("Invalid OCI image reference: {why}"))?;
    let whole = reference.whole();
    let auth = match credentials(reference.registry()) {
        RegistryAuth::Anonymous => Auth::Anonymous,
        RegistryAuth::Basic(name, password) => Auth::Basic(name, password),
        RegistryAuth::Bearer(token) => Auth::Bearer(token),
    };
    let failed = |why: SigstoreError| format!("failed to get image trusted layers: {why}");
    let mut client = client(registry.is_insecure(reference.registry()), trust_root).map_err(|why| why.to_string())?;
    let reference: OciReference = whole.parse().map_err(failed)?;
    let (signatures, digest) = client.triangulate(&reference, &auth).await.map_err(failed)?;
    let layers = client.trusted_signature_layers(&auth, &digest, &signatures).await.map_err(|why| match why {
        // Whatever is wrong with the manifest of the signatures; the host's text ends with a space.
        SigstoreError::RegistryPullManifestError { .. } => format!("no signatures found for image: {whole} "),
        other => failed(other),
    })?;
    Ok(Signed { digest, layers })
}

fn client(is_insecure: bool, trust_root: Option<&SigstoreTrustRoot>) -> Result<Client, SigstoreError> {
    let protocol = if is_insecure { ClientProtocol::Http } else { ClientProtocol::Https };
    let mut builder =
        ClientBuilder::default().with_oci_client_config(ClientConfig { protocol, ..ClientConfig::default() });
    if let Some(trust_root) = trust_root {
        builder = builder.with_trust_repository(trust_root)?;
    }
    builder.build()
}

/// Whether each constraint is satisfied by a signature, not necessarily the same one.
fn check(constraints: &[Constraint<'_>], signed: Signed) -> Result<Verified, String> {
    let Signed { digest, layers } = signed;
    let is_unsatisfied =
        |constraint: &&Constraint<'_>| !layers.iter().any(|layer| satisfies(layer, constraint).unwrap_or(false));
    let unsatisfied: Vec<&Constraint<'_>> = constraints.iter().filter(is_unsatisfied).collect();
    if unsatisfied.is_empty() { Ok(Verified::new(digest)) } else { Err(missing(&unsatisfied)?) }
}

/// Whether a signature is what a constraint asks for. What can't be told, as of a key that is none, is no for the host.
fn satisfies(layer: &SignatureLayer, constraint: &Constraint<'_>) -> Result<bool, SigstoreError> {
    match constraint {
        Constraint::PubKey { key, annotations, .. } => {
            let verifier = PublicKeyVerifier::try_from(key.as_bytes())?;
            Ok(verifier.verify(layer)? && carries(layer, *annotations))
        }
        Constraint::GenericIssuer { issuer, subject, annotations } => {
            let is_of = layer.certificate_signature.as_ref().is_some_and(|certificate| {
                certificate.issuer.as_deref() == Some(*issuer) && subject.is_of(subject_of(certificate))
            });
            Ok(is_of && carries(layer, *annotations))
        }
        Constraint::GithubAction { owner, repo, annotations } => {
            let certificate = layer.certificate_signature.as_ref();
            let is_of = certificate.and_then(workflow_repository).is_some_and(|(own_owner, own_repository)| {
                own_owner == *owner && repo.is_none_or(|repo| own_repository == repo)
            });
            Ok(is_of && carries(layer, *annotations))
        }
    }
}

/// Whether a signature carries annotations; more of them don't matter.
fn carries(layer: &SignatureLayer, annotations: Annotations<'_>) -> bool {
    annotations
        .is_none_or(|annotations: &BTreeMap<String, String>| layer.simple_signing.satisfies_annotations(annotations))
}

fn subject_of(certificate: &CertificateSignature) -> &str {
    match &certificate.subject {
        CertificateSubject::Email(subject) | CertificateSubject::Uri(subject) => subject,
    }
}

/// The owner and repository of the GitHub workflow that a certificate was issued to; none for anybody else's.
fn workflow_repository(certificate: &CertificateSignature) -> Option<(String, String)> {
    if certificate.issuer.as_deref() != Some(GITHUB) {
        return None;
    }
    let CertificateSubject::Uri(subject) = &certificate.subject else { return None };
    owner_and_repository(subject)?;
    let repository = certificate.github_workflow_repository.as_ref()?;
    owner_and_repository(&format!("https://github.com/{repository}"))
}

/// The first two parts of the path of a URL on GitHub.
fn owner_and_repository(url: &str) -> Option<(String, String)> {
    let url = Url::parse(url).ok()?;
    if url.host_str() != Some("github.com") {
        return None;
    }
    let mut segments = url.path_segments()?;
    Some((segments.next()?.to_owned(), segments.next()?.to_owned()))
}
