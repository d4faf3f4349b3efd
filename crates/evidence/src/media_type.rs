//! The media types under which evidence is kept.

/// The type of an artifact whose configuration is a piece of evidence, as `image-admission attach` pushes it. It is a type of its own:
/// a tool that looks for its own signatures would take the copy for one without a layer.
pub const ARTIFACT_TYPE: &str = "application/vnd.image-admission.evidence.v1+json";

/// The prefix of the types of Sigstore's bundles.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle";

/// The types of in-toto statements in DSSE envelopes.
pub const DSSE_TYPES: [&str; 2] = [crate::dsse::PAYLOAD_TYPE, DSSE_ENVELOPE];

/// The one of them that says what it is.
pub const DSSE_ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// The configuration that holds an envelope in CBOR, since hosts read configurations as JSON: `{"data": base64}`.
pub const COSE_CONFIGURATION: &str = "application/vnd.image-admission.cose.v1+json";

/// The prefixes of the types of artifacts that have signatures in layers, which hosts don't hand out.
pub const IN_LAYERS: [&str; 3] =
    [SIGSTORE_BUNDLE, "application/vnd.cncf.notary.signature", "application/vnd.dev.cosign.artifact.sig"];
