//! Signatures: whether an attestor signed an image. Each is verified once.

use super::UNVERIFIED_SHOWN;
use super::beside::{MOST_CALLS, MOST_IDENTITIES, NamedPlatform, look_for_signature, one_platform};
use super::evidence::{Piece, Wanted};
use image_admission_cel::expression::{EvaluationError, Time};
use image_admission_evidence::sigstore::TrustRoot;
use image_admission_host::{Host, HostFailure, Resource, Untrusted};
use image_admission_image::ImageReference;
use image_admission_image::manifest::Manifest;
use image_admission_judgement::reason::{Beside, Unresolved, Unsigned, Unverified};
use image_admission_judgement::resolve::{Digests, find_digest};
use image_admission_settings::{
    Attestor, Identity, KeyReference, Settings, TextSource, UnprovenIndexes, VerificationPolicy,
};
use image_admission_untrusted::memory::AnyJson;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::spelling::{self, Misspelt};
use image_admission_untrusted::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What the host verified: an artifact at its digest, an identity, and the annotations of the signature.
type Asked = (String, Identity, BTreeMap<String, String>);

/// Whether an attestor signed an artifact.
#[derive(Debug, Clone)]
pub(super) enum Verdict {
    /// The host says so.
    ByHost,
    /// A piece of evidence says so.
    ByEvidence,
    /// Nobody says so.
    Unsigned(Refusal),
}

/// Why nobody says that an attestor signed an artifact.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    /// What the host says.
    pub(super) why: Untrusted,
    /// Why no piece of evidence counts, or why the registry's pieces can't be looked up.
    pub(super) evidence: Result<Vec<String>, HostFailure>,
}

/// What is known of the images of a request.
pub(super) struct Signatures<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    digests: BTreeMap<ImageReference, String>,
    /// Why other references couldn't be resolved.
    unresolved: BTreeMap<ImageReference, EvaluationError>,
    now: Timestamp,
    pub(super) time: Time,
    texts: BTreeMap<KeyReference, Result<String, EvaluationError>>,
    calls: BTreeMap<Asked, Result<(), HostFailure>>,
    pub(super) trust_roots: BTreeMap<TextSource, Result<Rc<TrustRoot>, EvaluationError>>,
    /// By digest, the evidence in the cluster.
    pub(super) objects: BTreeMap<String, Result<Rc<Vec<Piece>>, EvaluationError>>,
    /// By artifact, the evidence beside it.
    pub(super) beside_registry: BTreeMap<String, Result<Rc<Vec<Piece>>, HostFailure>>,
    /// The results, by policy, image and attestor.
    said: BTreeMap<(String, String, String), Verdict>,
    /// By artifact, whether a signature in the old form is beside it.
    signatures: BTreeMap<String, Beside>,
    /// By artifact, one of its platforms, if it is an index that nobody signed.
    platforms: BTreeMap<String, Option<NamedPlatform>>,
}

impl<'a> Signatures<'a> {
    /// `digests` are those that references were resolved to already.
    pub(super) fn new(
        settings: &'a Settings,
        host: &'a dyn Host,
        now: Timestamp,
        time: &Time,
        digests: Digests,
    ) -> Self {
        let mut signatures = Self {
            settings,
            host,
            digests: BTreeMap::new(),
            unresolved: BTreeMap::new(),
            now,
            time: time.clone(),
            texts: BTreeMap::new(),
            calls: BTreeMap::new(),
            trust_roots: BTreeMap::new(),
            objects: BTreeMap::new(),
            beside_registry: BTreeMap::new(),
            said: BTreeMap::new(),
            signatures: BTreeMap::new(),
            platforms: BTreeMap::new(),
        };
        for (reference, digest) in digests {
            // An expression that asks for it gets the error.
            drop(signatures.note(&reference, digest));
        }
        signatures
    }

    /// Keeps the digest of a reference, or the error if it can't be resolved.
    fn note(
        &mut self,
        reference: &ImageReference,
        digest: Result<String, Unresolved>,
    ) -> Result<String, EvaluationError> {
        let found = digest.map_err(|unresolved| self.unresolved(reference, &unresolved));
        match &found {
            Ok(digest) => drop(self.digests.insert(reference.clone(), digest.clone())),
            Err(why) => drop(self.unresolved.insert(reference.clone(), why.clone())),
        }
        found
    }

    pub(super) fn host(&self) -> &'a dyn Host {
        self.host
    }

    pub(super) fn settings(&self) -> &'a Settings {
        self.settings
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn unproven_indexes(&self) -> UnprovenIndexes {
        self.settings.reports.unproven_indexes
    }

    /// The digests that references were resolved to.
    pub(super) fn into_digests(self) -> BTreeMap<ImageReference, String> {
        self.digests
    }

    /// The error of a failed look-up in a registry. The Pod's author chooses the registry, which may fail on purpose: only the
    /// failure of one that the settings list counts as an outage.
    pub(super) fn registry_failed(&self, host: &str, failure: &HostFailure, why: String) -> EvaluationError {
        if failure.is_outage() && self.settings.may_be_down(host) {
            EvaluationError::Outage { why, image: None }
        } else {
            EvaluationError::Failed(why)
        }
    }

    /// The error of an image that can't be resolved.
    pub(super) fn unresolved(&self, reference: &ImageReference, unresolved: &Unresolved) -> EvaluationError {
        match unresolved {
            Unresolved::NoDigest(failure) | Unresolved::NoManifest(failure) => {
                self.registry_failed(reference.host(), failure, unresolved.to_string())
            }
            other => EvaluationError::Failed(other.to_string()),
        }
    }

    /// The digest of an image, looked up once.
    pub(super) fn digest(&mut self, reference: &ImageReference) -> Result<String, EvaluationError> {
        if let Some(digest) = self.digests.get(reference) {
            return Ok(digest.clone());
        }
        if let Some(why) = self.unresolved.get(reference) {
            return Err(why.clone());
        }
        let found = find_digest(reference, self.settings, self.host);
        self.note(reference, found)
    }

    /// Whether an attestor signed an image.
    pub(super) fn verify(
        &mut self,
        policy: &VerificationPolicy,
        image: &str,
        attestor: &str,
    ) -> Result<bool, EvaluationError> {
        let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
        let digest = self.digest(&reference)?;
        let verdict = self.verify_artifact(policy, &reference, &digest, attestor)?;
        let is_signed = !matches!(verdict, Verdict::Unsigned(_));
        self.said.insert((policy.name.clone(), image.to_owned(), attestor.to_owned()), verdict);
        Ok(is_signed)
    }

    /// Whether an attestor signed `repository@digest`. One of an attestor's identities is enough, and so is one that says it: an
    /// object of the cluster, the host, or a piece of evidence in the registry, in this order. The last is looked up only if the
    /// host found nothing, or failed.
    pub(super) fn verify_artifact(
        &mut self,
        policy: &VerificationPolicy,
        reference: &ImageReference,
        digest: &str,
        attestor: &str,
    ) -> Result<Verdict, EvaluationError> {
        let attestors: Vec<&Attestor> = policy.attestors.iter().filter(|own| own.name == attestor).collect();
        if attestors.is_empty() {
            return Err(format!("there is no attestor `{}`", cut(attestor, 64)).into());
        }
        // Whoever can write objects, push what the host can't read, or keep either from answering, keeps out nobody who has a
        // signature elsewhere.
        let in_cluster =
            self.in_cluster(digest).and_then(|pieces| self.hold(&pieces, digest, &attestors, Wanted::Signature));
        if matches!(in_cluster, Ok(Ok(_))) {
            return Ok(Verdict::ByEvidence);
        }
        let by_host = match self.ask_host(reference, digest, &attestors) {
            Ok(None) => return Ok(Verdict::ByHost),
            Ok(Some(why)) => Ok(why),
            Err(failure) => Err(failure),
        };
        let in_registry =
            self.in_registry(reference, digest).map(|pieces| self.hold(&pieces, digest, &attestors, Wanted::Signature));
        if matches!(in_registry, Ok(Ok(Ok(_)))) {
            return Ok(Verdict::ByEvidence);
        }
        let why = by_host?;
        let mut reasons = in_cluster?.err().unwrap_or_default();
        let evidence = match in_registry {
            Err(failure) => Err(failure),
            Ok(held) => {
                reasons.extend(held?.err().unwrap_or_default());
                Ok(reasons)
            }
        };
        Ok(Verdict::Unsigned(Refusal { why, evidence }))
    }

    /// Why the host knows no signature of these attestors; none if it knows one. Hosts know not all identities.
    fn ask_host(
        &mut self,
        reference: &ImageReference,
        digest: &str,
        attestors: &[&Attestor],
    ) -> Result<Option<Untrusted>, EvaluationError> {
        let artifact = reference.at(digest);
        let mut refused = Untrusted::Unsigned;
        let mut failure = None;
        let known = attestors.iter().filter(|own| own.is_known_to_hosts());
        for (position, Attestor { identity, annotations, .. }) in known.enumerate() {
            let identity = match identity {
                Identity::KeyInCluster(reference) => Identity::Key(self.key(reference)?),
                identity => identity.clone(),
            };
            match self.call(&artifact, identity, annotations) {
                Ok(()) => return Ok(None),
                Err(HostFailure::NotTrusted(why)) => refused = if position == 0 { why } else { refused.min(why) },
                // If one failure is no outage, the result is none.
                Err(other) if failure.as_ref().is_none_or(HostFailure::is_outage) => failure = Some(other),
                Err(_) => {}
            }
        }
        match failure {
            Some(failure) => {
                let why = format!("the signatures of {artifact} can't be verified: {failure}");
                Err(self.registry_failed(reference.host(), &failure, why))
            }
            None => Ok(Some(refused)),
        }
    }

    fn call(
        &mut self,
        artifact: &str,
        identity: Identity,
        annotations: &BTreeMap<String, String>,
    ) -> Result<(), HostFailure> {
        let key = (artifact.to_owned(), identity, annotations.clone());
        if let Some(said) = self.calls.get(&key) {
            return said.clone();
        }
        let said = match self.host.verify(artifact, &key.1, annotations) {
            // A signature of another digest covers another image.
            Ok(digest) if artifact.split_once('@').is_some_and(|(_, own)| own == digest) => Ok(()),
            Ok(_) => Err(HostFailure::Malformed("the host verified another digest".to_owned())),
            Err(failure) => Err(failure),
        };
        self.calls.insert(key, said.clone());
        said
    }

    /// A public key in the cluster.
    pub(super) fn key(&mut self, reference: &KeyReference) -> Result<String, EvaluationError> {
        let text = self.in_object(reference)?;
        let pem = text.trim();
        if !pem.starts_with("-----BEGIN PUBLIC KEY-----") {
            return Err(format!("{} is not a public key in PEM", named(reference)).into());
        }
        Ok(format!("{pem}\n"))
    }

    /// A text of the settings, or in the cluster.
    pub(super) fn text(&mut self, source: &TextSource) -> Result<String, EvaluationError> {
        match source {
            TextSource::Inline(text) => Ok(text.clone()),
            TextSource::InCluster(reference) => self.in_object(reference),
        }
    }

    /// A text in an object of the cluster, read once.
    fn in_object(&mut self, reference: &KeyReference) -> Result<String, EvaluationError> {
        if let Some(known) = self.texts.get(reference) {
            return known.clone();
        }
        let text = self.read_text(reference);
        self.texts.insert(reference.clone(), text.clone());
        text
    }

    fn read_text(&self, reference: &KeyReference) -> Result<String, EvaluationError> {
        #[derive(Deserialize)]
        struct Holder {
            kind: Option<String>,
            metadata: Metadata,
            #[serde(default)]
            data: BTreeMap<String, String>,
        }
        #[derive(Deserialize)]
        struct Metadata {
            name: String,
            namespace: Option<String>,
        }
        let KeyReference { kind, namespace, name, key } = reference;
        let what = named(reference);
        let resource = Resource { api_version: "v1", kind, namespace, name };
        let read = self.host.get_resource(&resource, &["data"]).and_then(|document| document.read::<Holder>());
        let holder = read.map_err(|failure| super::cluster_failed(&format!("{what} can't be read"), &failure))?;
        let is_other = holder.metadata.name != *name
            || holder.metadata.namespace.as_ref() != Some(namespace)
            || holder.kind.is_some_and(|own| own != *kind);
        if is_other {
            return Err(format!("{what} can't be read: the host gave another object").into());
        }
        let value = holder.data.get(key).ok_or_else(|| format!("{what} is not there"))?;
        // A Secret's values are base64.
        let text = if *kind == "Secret" {
            image_admission_evidence::dsse::decode_base64(value)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .ok_or_else(|| format!("{what} is no Base64 of a text"))?
        } else {
            value.clone()
        };
        Ok(text)
    }

    /// The image's manifest, configuration and resolved reference.
    pub(super) fn image_data(&mut self, image: &str) -> Result<Json, EvaluationError> {
        let reference = ImageReference::parse(image).map_err(|error| error.to_string())?;
        let digest = self.digest(&reference)?;
        let at = reference.at(&digest);
        let whole = |document: Result<image_admission_host::Document, HostFailure>| {
            document.and_then(|document| document.read()).map(|AnyJson(whole)| whole).map_err(|failure| {
                self.registry_failed(reference.host(), &failure, format!("{at} can't be read: {failure}"))
            })
        };
        let document = self.host.manifest(&at);
        let document = document.map_err(|failure| {
            self.registry_failed(reference.host(), &failure, format!("{at} can't be read: {failure}"))
        })?;
        let is_proven = Manifest::read(&document.0).is_ok_and(|manifest| manifest.is_proven(&digest));
        // A manifest may hide data, so that a node reads another configuration, or runs another image.
        if !is_proven && self.unproven_indexes() == UnprovenIndexes::Reject && is_on(Remedy::ProveIndexes) {
            return Err(EvaluationError::Failed(format!(
                "{at} can't be read: it may hold more than the host shows of it, so that nodes read another"
            )));
        }
        let manifest = whole(Ok(document))?;
        let is_index = manifest.get("manifests").is_some();
        let config = if is_index {
            Json::Null
        } else {
            let answer = whole(self.host.artifact(&at))?;
            if answer.get("digest").and_then(Json::as_str) != Some(digest.as_str()) {
                return Err(format!("asked for {at}, the answer is of another digest").into());
            }
            let config = answer.get("config").cloned().unwrap_or_default();
            check_configuration(&config).map_err(|why| format!("the configuration of {at} can't be read: {why}"))?;
            config
        };
        Ok(json!({
            "image": image,
            "resolvedImage": at,
            "registry": reference.host(),
            "repository": reference.repository(),
            "tag": reference.tag().unwrap_or_default(),
            "digest": digest,
            "identifier": reference.digest().or(reference.tag()).unwrap_or_default(),
            "manifest": if is_index { Json::Null } else { manifest.clone() },
            "imageIndex": if is_index { manifest } else { Json::Null },
            "config": config,
        }))
    }

    /// By image, its signers; those that evidence names, with the word.
    pub(super) fn verified(&self, policy: &VerificationPolicy) -> BTreeMap<String, BTreeSet<String>> {
        let mut verified: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for ((_, image, attestor), verdict) in self.said.iter().filter(|((of, ..), _)| *of == policy.name) {
            let signer = match verdict {
                Verdict::ByHost => attestor.clone(),
                Verdict::ByEvidence => format!("{attestor} (evidence)"),
                Verdict::Unsigned(_) => continue,
            };
            verified.entry(image.clone()).or_default().insert(signer);
        }
        verified
    }

    /// The images that aren't signed by wanted attestors, and why: attestors are grouped by image and by the host's result. More is
    /// looked up only if the request is rejected for them, and only for images that the message shows.
    pub(super) fn unverified(&mut self, policy: &VerificationPolicy, is_rejected: bool) -> Vec<Unverified> {
        let mut refused: BTreeMap<(String, Untrusted), Vec<(String, Refusal)>> = BTreeMap::new();
        for ((of, image, attestor), verdict) in &self.said {
            if let Verdict::Unsigned(refusal) = verdict
                && *of == policy.name
            {
                let names = refused.entry((image.clone(), refusal.why)).or_default();
                names.push((attestor.clone(), refusal.clone()));
            }
        }
        let mut unverified = Vec::new();
        for ((image, why), refusals) in refused {
            let names: Vec<String> = refusals.iter().map(|(name, _)| name.clone()).collect();
            let asked_for = policy.attestors.iter().filter(|own| names.contains(&own.name)).cloned().collect();
            let found = ImageReference::parse(&image).ok().and_then(|of| Some((self.digests.get(&of)?.clone(), of)));
            let beside = match (evidence_of(refusals.iter().map(|(_, refusal)| refusal)), &found) {
                (Beside::Nothing, Some((digest, of))) if is_rejected && unverified.len() < UNVERIFIED_SHOWN => {
                    match self.signature(of, digest, why) {
                        Beside::Nothing => self.signed_platform(policy, of, digest, &names).unwrap_or(Beside::Nothing),
                        beside => beside,
                    }
                }
                (beside, _) => beside,
            };
            let artifact = found.map_or_else(|| image.clone(), |(digest, of)| of.at(&digest));
            unverified.push(Unverified::Image { image, artifact, unsigned: Unsigned { why, asked_for, beside } });
        }
        unverified
    }

    /// Whether a signature in the old form is beside a digest. It is looked up once, where the host's words leave it open, and only
    /// if the request may make one more call.
    fn signature(&mut self, reference: &ImageReference, digest: &str, why: Untrusted) -> Beside {
        // Hosts from 1.36 also say this if there is no signature, or if the registry failed.
        if why != Untrusted::SignedByOthers {
            return if why == Untrusted::Unsigned { Beside::Nothing } else { Beside::NotLookedUp };
        }
        let artifact = reference.at(digest);
        if let Some(known) = self.signatures.get(&artifact) {
            return known.clone();
        }
        if !self.host.has_room_for(1) {
            return Beside::NotLookedUp;
        }
        let beside = look_for_signature(self.host, reference, digest);
        self.signatures.insert(artifact, beside.clone());
        beside
    }
}

/// What refusals say of evidence, each reason once.
pub(super) fn evidence_of<'r>(refusals: impl IntoIterator<Item = &'r Refusal>) -> Beside {
    let mut reasons: Vec<String> = Vec::new();
    for Refusal { evidence, .. } in refusals {
        match evidence {
            Err(failure) if failure.is_outage() => return Beside::Failed(failure.clone()),
            // An index that can't be read proves nothing.
            Err(_) => {}
            Ok(own) => {
                for reason in own {
                    if !reasons.contains(reason) {
                        reasons.push(reason.clone());
                    }
                }
            }
        }
    }
    if reasons.is_empty() { Beside::Nothing } else { Beside::Evidence(reasons) }
}

/// What messages call a text in the cluster.
fn named(KeyReference { kind, namespace, name, key }: &KeyReference) -> String {
    format!("the key `{key}` of {kind} {namespace}/{name}")
}

impl Signatures<'_> {
    /// The platform of an index that one of these attestors signed instead of the index. It is looked up only if the request may
    /// make that many more calls, and verifies nothing.
    fn signed_platform(
        &mut self,
        policy: &VerificationPolicy,
        reference: &ImageReference,
        digest: &str,
        attestors: &[String],
    ) -> Option<Beside> {
        let identities = policy.attestors.iter().filter(|own| attestors.contains(&own.name)).count();
        if identities > MOST_IDENTITIES || !self.host.has_room_for(1 + identities + MOST_CALLS) {
            return None;
        }
        let at = reference.at(digest);
        let found = match self.platforms.get(&at) {
            Some(known) => known.clone(),
            None => one_platform(self.host, reference, digest),
        };
        self.platforms.insert(at, found.clone());
        let (platform, digest) = found?;
        let mut attestors = attestors.iter();
        let is_signed = attestors.any(|name| match self.verify_artifact(policy, reference, &digest, name) {
            Ok(verdict) => !matches!(verdict, Verdict::Unsigned(_)),
            Err(_) => false,
        });
        is_signed.then_some(Beside::Platform { platform, digest })
    }
}

/// Whether runtimes, with their own parsers, read an image's configuration as it is read here: checked for the fields of the OCI
/// image specification, and those that Docker adds.
fn check_configuration(config: &Json) -> Result<(), Misspelt> {
    let fields = |json: Option<&Json>, fields: &[&'static str]| {
        json.and_then(Json::as_object).map_or(Ok(()), |object| spelling::check(object, fields))
    };
    fields(
        Some(config),
        &[
            "created",
            "author",
            "architecture",
            "os",
            "os.version",
            "os.features",
            "variant",
            "config",
            "rootfs",
            "history",
            "container",
            "container_config",
            "docker_version",
            "id",
            "parent",
            "comment",
        ],
    )?;
    fields(config.get("rootfs"), &["type", "diff_ids"])?;
    fields(
        config.get("config"),
        &[
            "User",
            "ExposedPorts",
            "Env",
            "Entrypoint",
            "Cmd",
            "Volumes",
            "WorkingDir",
            "Labels",
            "StopSignal",
            "StopTimeout",
            "ArgsEscaped",
            "Healthcheck",
            "Memory",
            "MemorySwap",
            "CpuShares",
            "OnBuild",
            "Shell",
        ],
    )
}
