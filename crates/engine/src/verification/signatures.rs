//! Signatures: whether an attestor signed an image. Each is verified once.

use super::UNVERIFIED_SHOWN;
use super::beside::{MOST_CALLS, MOST_IDENTITIES, NamedPlatform, look_for_signature, one_platform};
use image_admission_attestors::{Asked, Failure, Refusal, Verdict, Verifier};
use image_admission_cel::expression::EvaluationError;
use image_admission_host::{Host, HostFailure, Untrusted, is_proven};
use image_admission_image::ImageReference;
use image_admission_image::manifest::Manifest;
use image_admission_judgement::reason::{Beside, Unresolved, Unsigned, Unverified};
use image_admission_judgement::resolve::{Digests, find_digest};
use image_admission_settings::{Attestor, Settings, UnprovenIndexes, VerificationPolicy};
use image_admission_untrusted::memory::AnyJson;
use image_admission_untrusted::message::cut;
use image_admission_untrusted::remedy::{Remedy, is_on};
use image_admission_untrusted::spelling::{self, Misspelt};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the images of a request.
pub(super) struct Signatures<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    digests: BTreeMap<ImageReference, String>,
    /// Why other references couldn't be resolved.
    unresolved: BTreeMap<ImageReference, EvaluationError>,
    verifier: &'a Verifier<'a>,
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
        verifier: &'a Verifier<'a>,
        digests: Digests,
    ) -> Self {
        let mut signatures = Self {
            settings,
            host,
            verifier,
            digests: BTreeMap::new(),
            unresolved: BTreeMap::new(),
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

    pub(super) fn verifier(&self) -> &'a Verifier<'a> {
        self.verifier
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

    /// The error of what can't be verified, beside an image of this registry.
    pub(super) fn unknown(&self, host: &str, failure: Failure) -> EvaluationError {
        let Failure { asked, failure, why } = failure;
        match asked {
            Asked::Registry => self.registry_failed(host, &failure, why),
            Asked::Cluster if failure.is_outage() => EvaluationError::Outage { why, image: None },
            Asked::Cluster => EvaluationError::Failed(why),
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

    /// Whether an attestor signed `repository@digest`. One of an attestor's identities is enough.
    pub(super) fn verify_artifact(
        &self,
        policy: &VerificationPolicy,
        reference: &ImageReference,
        digest: &str,
        attestor: &str,
    ) -> Result<Verdict, EvaluationError> {
        let attestors = attestors(policy, attestor)?;
        let said = self.verifier.signed(reference, digest, &attestors);
        said.map_err(|failure| self.unknown(reference.host(), failure))
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
        let is_proven = Manifest::read(&document.0).is_ok_and(|manifest| is_proven(self.host, &manifest, &digest));
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
            let beside = match (Beside::of(refusals.iter().map(|(_, refusal)| refusal)), &found) {
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

/// The identities of an attestor.
pub(super) fn attestors<'p>(policy: &'p VerificationPolicy, name: &str) -> Result<Vec<&'p Attestor>, EvaluationError> {
    let attestors: Vec<&Attestor> = policy.attestors.iter().filter(|own| own.name == name).collect();
    match attestors.is_empty() {
        true => Err(format!("there is no attestor `{}`", cut(name, 64)).into()),
        false => Ok(attestors),
    }
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
