//! What is there in registries and in the cluster, each thing by itself, so that it can be taken away.

use super::content::{Content, Finding, IMAGES, Image, Progress};
use super::settings::SOURCES;
use super::signers::{OTHER_KEY, TEAM_KEY, envelope};
use super::{World, ago};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use image_admission_evidence::media_type::ARTIFACT_TYPE;
use image_admission_stub_host::{StubHost, digest_of, manifest};
use serde_json::{Value, json};

/// The API of the policy's own kinds.
pub(super) const OWN_API: &str = "image-admission.kubewarden.io/v1alpha1";
const SBOMSCANNER: &str = "storage.sbomscanner.kubewarden.io/v1alpha1";

/// What a thing is for a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Image,
    Report,
    Sbom,
    Signature,
    /// Statements about an image, in the cluster or beside it.
    Evidence,
    Vex,
    Exemption,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Thing {
    pub(crate) role: Role,
    /// The image that it is about: which of [`IMAGES`].
    pub(crate) image: Option<usize>,
    what: What,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    /// A tag, and the digest that it has.
    Tag(String, String),
    /// What is at `repository@digest`.
    Manifest(String, Value),
    /// A document at a tag: `repository@digest`, its manifest, and the document.
    Artifact(String, String, Value, Value),
    /// A list at a tag, and the artifacts in it.
    Referrers(String, Vec<(String, Value)>),
    /// What was signed, and by which key.
    Signature(String, &'static str),
    Object(Value),
    /// A registry that nobody can reach.
    Down(String),
}

impl Thing {
    pub(super) fn tell(self, host: StubHost) -> StubHost {
        match self.what {
            What::Tag(tag, digest) => host.tag(&tag, &digest),
            What::Manifest(at, manifest) => host.manifest(&at, manifest),
            What::Artifact(tag, at, manifest, document) => {
                let (_, digest) = at.split_once('@').unwrap();
                host.tag(&tag, digest).artifact(&at, manifest, document)
            }
            What::Referrers(tag, artifacts) => {
                let entry = |(at, answer): &(String, Value)| {
                    let digest = at.split_once('@').unwrap().1;
                    json!({"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": 1,
                           "artifactType": answer["manifest"]["artifactType"]})
                };
                let entries: Vec<Value> = artifacts.iter().map(entry).collect();
                let list = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries});
                let host = host.pushed(&tag, list);
                artifacts.into_iter().fold(host, |host, (at, answer)| host.artifact_says(&at, answer))
            }
            What::Signature(at, by) => host.signed(&at, by),
            What::Object(object) => host.object(object),
            What::Down(name) => host.down(&name),
        }
    }
}

/// Everything that a world has of the images that its workload names.
pub(super) fn things(world: &World) -> Vec<Thing> {
    let mut things = Vec::new();
    let settings = world.settings();
    let is_mirrored = settings["registries"].to_string().contains("mirror");
    let sources = settings["reports"].get("sources").cloned().unwrap_or_else(|| json!([{"sbomscanner": {}}]));
    let is_source = |name: &&str| sources.as_array().unwrap().iter().any(|source| source.get(*name).is_some());
    let sources: Vec<&str> = SOURCES.into_iter().filter(is_source).collect();
    let is_named = |position: usize| world.workload.containers.iter().any(|container| container.image == position);
    let all = IMAGES.iter().zip(&world.contents).enumerate();
    for (position, (image, content)) in all.filter(|(position, _)| is_named(*position)) {
        let of_image = Beside { world, image, content, is_mirrored, sources: &sources };
        let own = of_image.in_registry().into_iter().chain(of_image.reports()).chain(of_image.statements());
        things.extend(own.map(|(role, what)| Thing { role, image: Some(position), what }));
    }
    let others = world
        .exemptions
        .iter()
        .map(|object| (Role::Exemption, object.clone()))
        .chain([(Role::Other, exploited(world))]);
    things.extend(others.map(|(role, object)| Thing { role, image: None, what: What::Object(object) }));
    things
}

/// The list that `knownExploited.from` names.
fn exploited(world: &World) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"known-exploited": "CVE-2026-4\nCVE-2026-7\n"},
           "metadata": {"name": "kev", "namespace": "security", "annotations": {"image-admission/refreshed-at": ago(world.now, 30)}}})
}

/// All that there is of one image.
struct Beside<'w> {
    world: &'w World,
    image: &'w Image,
    content: &'w Content,
    is_mirrored: bool,
    /// The names of the settings' sources.
    sources: &'w [&'static str],
}

impl Beside<'_> {
    /// Where the image's repository is asked for: at its mirror, if it has one.
    fn repository(&self) -> String {
        let name = self.image.name();
        match name.strip_prefix("ghcr.io/").filter(|_| self.is_mirrored) {
            Some(path) => format!("mirror.example/ghcr/{path}"),
            None => name,
        }
    }

    fn in_registry(&self) -> Vec<(Role, What)> {
        let (repository, (digest, index)) = (self.repository(), self.content.manifest(self.image));
        let at = |digest: &str| format!("{repository}@{digest}");
        let mut all = vec![(Role::Image, What::Manifest(at(&digest), index))];
        if self.content.is_there {
            all.push((Role::Image, What::Tag(format!("{repository}:{}", self.image.tag), digest.clone())));
        }
        if self.content.is_index {
            let platforms = self.content.platforms(self.image).into_iter();
            all.extend(platforms.map(|(_, own)| (Role::Image, What::Manifest(at(&own), manifest()))));
        }
        all.extend(self.content.signers.iter().map(|by| (Role::Signature, What::Signature(at(&digest), by))));
        if self.content.is_down {
            all.push((Role::Other, What::Down(repository.clone())));
        }
        if !self.content.cleared.is_empty() {
            let said = |id: &&str| {
                json!({"vulnerability": {"name": id}, "products": [{"@id": at(&digest)}], "status": "not_affected",
                       "justification": "vulnerable_code_not_present"})
            };
            let statements: Vec<Value> = self.content.cleared.iter().map(said).collect();
            let document = json!({"@context": "https://openvex.dev/ns/v0.2.0", "@id": "https://example.com/vex/1", "author": "security",
                                  "timestamp": ago(self.world.now, 50), "version": 1, "statements": statements});
            let (artifact, own) = self.artifact("vex", &digest, document);
            all.extend([(Role::Vex, artifact), (Role::Vex, What::Signature(own, OTHER_KEY))]);
        }
        all
    }

    /// A document at the tag that a digest has for it; and where it is.
    fn artifact(&self, suffix: &str, digest: &str, document: Value) -> (What, String) {
        let tag = format!("{}:{}.{suffix}", self.repository(), digest.replace(':', "-"));
        let at = format!("{}@{}", self.repository(), digest_of(&tag));
        let manifest = json!({"schemaVersion": 2, "config": {}, "layers": [], "subject": {"digest": digest}});
        (What::Artifact(tag, at.clone(), manifest, document), at)
    }

    /// The reports of the settings' sources, its SBOMs, and the Pod that runs it.
    fn reports(&self) -> Vec<(Role, What)> {
        let mut all = Vec::new();
        for (architecture, digest) in self.content.platforms(self.image) {
            let of = Scanned { beside: self, architecture, digest: &digest };
            all.extend(SOURCES.iter().filter(|source| self.is_kept_by(source)).flat_map(|source| of.by(source)));
            all.extend(self.content.packages.iter().map(|packages| (Role::Sbom, What::Object(of.sbom(packages)))));
            all.extend(self.content.runs_for.map(|hours| (Role::Other, What::Object(of.pod(hours)))));
        }
        all
    }

    /// Whether a source of the settings has its report.
    fn is_kept_by(&self, source: &str) -> bool {
        let number = SOURCES.iter().position(|own| *own == source);
        self.sources.contains(&source) && number.is_some_and(|number| self.content.kept_by[number])
    }

    /// Signed statements, as evidence: attested reports of platforms, and the provenance of the whole.
    fn statements(&self) -> Vec<(Role, What)> {
        let mut pieces: Vec<(String, Value)> = Vec::new();
        if self.content.progress == Progress::Done && self.is_kept_by("attestation") {
            for (architecture, digest) in self.content.platforms(self.image) {
                let of = Scanned { beside: self, architecture, digest: &digest };
                pieces.push((digest.clone(), envelope("https://example.com/trivy", &digest, &of.trivy_json())));
            }
        }
        if self.content.is_built_by_us {
            let digest = self.content.digest(self.image);
            pieces.push((
                digest.clone(),
                envelope("https://slsa.dev/provenance/v1", &digest, &json!({"buildDefinition": {}})),
            ));
        }
        let mut digests: Vec<&String> = pieces.iter().map(|(digest, _)| digest).collect();
        digests.sort();
        digests.dedup();
        let media_type = "application/vnd.dsse.envelope.v1+json";
        let place = |digest: &&String| {
            let own = pieces.iter().filter(|(about, _)| about == *digest).map(|(_, document)| document);
            if self.content.is_in_cluster && self.world.has("evidence.fromCluster") {
                let own = own.map(
                    |document| json!({"mediaType": media_type, "data": BASE64_STANDARD.encode(document.to_string())}),
                );
                return What::Object(
                    json!({"apiVersion": OWN_API, "kind": "ImageEvidence", "spec": {"evidence": own.collect::<Vec<_>>()},
                    "metadata": {"name": digest.replace(':', "-"), "creationTimestamp": ago(self.world.now, self.content.scanned)}}),
                );
            }
            let artifact = |document: &Value| {
                let at = format!("{}@{}", self.repository(), digest_of(&document.to_string()));
                let manifest = json!({"artifactType": ARTIFACT_TYPE, "config": {"mediaType": media_type}, "subject": {"digest": digest}});
                let answer = json!({"manifest": manifest, "digest": at.split_once('@').unwrap().1, "config": document});
                (at, answer)
            };
            What::Referrers(format!("{}:{}", self.repository(), digest.replace(':', "-")), own.map(artifact).collect())
        };
        digests.iter().map(|digest| (Role::Evidence, place(digest))).collect()
    }
}

/// A platform of an image, as scanners know it.
struct Scanned<'w> {
    beside: &'w Beside<'w>,
    architecture: &'static str,
    digest: &'w str,
}

impl Scanned<'_> {
    /// What a source has. Attested reports are evidence.
    fn by(&self, source: &str) -> Vec<(Role, What)> {
        let is_done = self.beside.content.progress == Progress::Done;
        let report = |object: Value| vec![(Role::Report, What::Object(object))];
        match source {
            "sbomscanner" => self.by_sbomscanner(),
            // The operator scans one platform.
            "trivyOperator" if is_done && self.architecture == "amd64" => report(self.by_trivy_operator()),
            "registry" if is_done => {
                let (artifact, at) = self.beside.artifact("scan", self.digest, self.grype_json());
                vec![(Role::Report, artifact), (Role::Report, What::Signature(at, TEAM_KEY))]
            }
            "kubescape" if is_done => report(self.by_kubescape()),
            "custom" if is_done => report(self.by_custom()),
            _ => Vec::new(),
        }
    }

    fn time(&self) -> String {
        ago(self.beside.world.now, self.beside.content.scanned)
    }

    fn findings(&self, entry: impl Fn(&Finding) -> Value) -> Vec<Value> {
        let mut all: Vec<Value> = self.beside.content.findings.iter().map(entry).collect();
        if self.beside.world.is_reversed {
            all.reverse();
        }
        all
    }

    /// How many findings of a severity count for a summary.
    fn count(&self, severity: &str) -> usize {
        let counts = |finding: &&Finding| finding.severity == severity && !finding.is_suppressed;
        self.beside.content.findings.iter().filter(counts).count()
    }

    fn platform(&self) -> String {
        format!("linux/{}", self.architecture)
    }

    /// The parts that the scanner's objects of one image have in common.
    fn of_sbomscanner(&self, kind: &str) -> Value {
        let Image { host, repository, tag, .. } = *self.beside.image;
        let host = if host == "docker.io" { "index.docker.io" } else { host };
        let hash = |text: &str| digest_of(text).trim_start_matches("sha256:").to_owned();
        let name = hash(&format!("workloadscan-{}/{host}/{repository}:{tag}@{}", hash(host), self.digest));
        json!({"apiVersion": SBOMSCANNER, "kind": kind,
               "metadata": {"name": name, "namespace": "sbomscanner", "creationTimestamp": ago(self.beside.world.now, 1_000),
                            "labels": {"sbomscanner.kubewarden.io/scanjob-uid": self.job()}},
               "imageMetadata": {"registry": self.job(), "registryURI": host, "repository": repository, "tag": tag,
                                 "platform": self.platform(), "digest": self.digest}})
    }

    /// The name of its ScanJob, its uid, and the Registry of both.
    fn job(&self) -> String {
        self.beside.image.name().replace(['/', ':', '.'], "-")
    }

    fn by_sbomscanner(&self) -> Vec<(Role, What)> {
        let progress = self.beside.content.progress;
        let conditions = match progress {
            Progress::Unknown => return Vec::new(),
            Progress::Going => json!([{"type": "InProgress", "status": "True"}]),
            Progress::Failed => json!([{"type": "Failed", "status": "True", "message": "unauthorized"}]),
            Progress::Done => json!([{"type": "Complete", "status": "True"}]),
        };
        let mut status = json!({"conditions": conditions, "startTime": self.time()});
        if progress == Progress::Done {
            status["completionTime"] = json!(self.time());
        }
        let job = json!({"apiVersion": "sbomscanner.kubewarden.io/v1alpha1", "kind": "ScanJob", "spec": {"registry": self.job()}, "status": status,
            "metadata": {"name": self.job(), "namespace": "sbomscanner", "uid": self.job(), "creationTimestamp": self.time()}});
        let mut all = vec![(Role::Other, What::Object(self.of_sbomscanner("Image"))), (Role::Other, What::Object(job))];
        if progress == Progress::Done {
            let entry = |own: &Finding| {
                let mut entry = json!({"cve": own.id, "severity": own.severity.to_uppercase(), "packageName": own.package, "purl": own.purl(),
                    "fixedVersions": own.fixed_in.into_iter().collect::<Vec<_>>(), "suppressed": own.is_suppressed,
                    "cvss": {"nvd": {"v3score": own.score()}}, "knownExploited": own.is_exploited});
                if let Some(epss) = own.epss() {
                    entry["epssScore"] = json!(epss);
                }
                entry
            };
            let mut report = self.of_sbomscanner("VulnerabilityReport");
            let of = |severity: &str| self.count(severity);
            report["report"] = json!({
                "summary": {"critical": of("critical"), "high": of("high"), "medium": of("medium"), "low": of("low"), "unknown": of("unknown")},
                "results": [{"target": "t", "vulnerabilities": self.findings(entry)}]});
            all.push((Role::Report, What::Object(report)));
        }
        all
    }

    fn sbom(&self, packages: &[(&str, &str)]) -> Value {
        let package = |(purl, license): &(&str, &str)| {
            let (name, version) = purl.rsplit_once('@').unwrap();
            json!({"SPDXID": format!("SPDXRef-{}", name.len()), "name": name.rsplit('/').next(), "versionInfo": version,
                   "licenseDeclared": license, "licenseConcluded": "NOASSERTION",
                   "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]})
        };
        let packages: Vec<Value> = packages.iter().map(package).collect();
        let mut sbom = self.of_sbomscanner("SBOM");
        sbom["spdx"] =
            json!({"spdxVersion": "SPDX-2.3", "creationInfo": {"created": self.time()}, "packages": packages});
        sbom
    }

    fn by_trivy_operator(&self) -> Value {
        let Image { host, repository, tag, .. } = *self.beside.image;
        // Its reports have no findings that are suppressed.
        let of = |severity: &str| self.beside.content.findings.iter().filter(|own| own.severity == severity).count();
        let entry = |own: &Finding| {
            json!({"vulnerabilityID": own.id, "severity": own.severity.to_uppercase(), "resource": own.package, "packagePURL": own.purl(),
                   "fixedVersion": own.fixed_in.unwrap_or_default(), "score": f64::from(own.score) / 10.0, "publishedDate": own.published(self.beside.world)})
        };
        json!({"apiVersion": "aquasecurity.github.io/v1alpha1", "kind": "VulnerabilityReport",
               "metadata": {"name": self.job(), "namespace": "scans"},
               "report": {"updateTimestamp": self.time(), "registry": {"server": host},
                   "os": {"family": "alpine", "name": "3.9", "eosl": self.beside.content.is_past_end_of_life},
                   "artifact": {"repository": repository, "tag": tag, "digest": self.beside.content.digest(self.beside.image)},
                   "summary": {"criticalCount": of("critical"), "highCount": of("high"), "mediumCount": of("medium"), "lowCount": of("low"),
                               "unknownCount": of("unknown"), "noneCount": 0},
                   "vulnerabilities": self.findings(entry)}})
    }

    fn grype_json(&self) -> Value {
        let entry = |own: &Finding| {
            let fix = own
                .fixed_in
                .map_or(json!({"state": "not-fixed"}), |version| json!({"state": "fixed", "versions": [version]}));
            let exploited: Vec<Value> = own.is_exploited.then(|| json!({"cve": own.id})).into_iter().collect();
            let epss: Vec<Value> =
                own.epss().map(|epss| json!({"epss": epss, "percentile": epss})).into_iter().collect();
            let severity =
                own.severity.chars().next().map(|first| first.to_ascii_uppercase().to_string() + &own.severity[1..]);
            json!({"vulnerability": {"id": own.id, "severity": severity, "namespace": "nvd:cpe", "fix": fix, "knownExploited": exploited, "epss": epss, "risk": 1.0,
                       "cvss": [{"source": "nvd", "version": "3.1", "metrics": {"baseScore": f64::from(own.score) / 10.0}}]},
                   "artifact": {"name": own.package, "purl": own.purl()}})
        };
        json!({"descriptor": {"name": "grype", "version": "0.80.0", "timestamp": self.time()}, "distro": {"name": "alpine", "version": "3.22"},
               "source": {"type": "image", "target": {"manifestDigest": self.digest, "os": "linux", "architecture": self.architecture}},
               "matches": self.findings(entry)})
    }

    fn trivy_json(&self) -> Value {
        let entry = |own: &Finding| {
            json!({"VulnerabilityID": own.id, "PkgName": own.package, "PkgIdentifier": {"PURL": own.purl()}, "InstalledVersion": "3.0",
                   "FixedVersion": own.fixed_in.unwrap_or_default(), "Severity": own.severity.to_uppercase(),
                   "CVSS": {"nvd": {"V3Score": f64::from(own.score) / 10.0}}, "PublishedDate": own.published(self.beside.world)})
        };
        // Another order would be another statement.
        let findings: Vec<Value> = self.beside.content.findings.iter().map(entry).collect();
        json!({"SchemaVersion": 2, "CreatedAt": self.time(), "ArtifactName": "app", "ArtifactType": "container_image",
               "Metadata": {"OS": {"Family": "alpine", "Name": "3.9", "EOSL": self.beside.content.is_past_end_of_life},
                            "ImageConfig": {"os": "linux", "architecture": self.architecture}},
               "Results": [{"Target": "app", "Class": "os-pkgs", "Type": "alpine", "Vulnerabilities": findings}]})
    }

    fn by_kubescape(&self) -> Value {
        let (name, tag) = (self.beside.image.name(), self.beside.image.tag);
        let slug = format!("{}-{tag}-{}", name.replace(['/', ':'], "-"), &self.digest[self.digest.len() - 6..]);
        let grype = self.grype_json();
        json!({"apiVersion": "spdx.softwarecomposition.kubescape.io/v1beta1", "kind": "VulnerabilityManifest",
               "metadata": {"name": slug, "namespace": "kubescape", "annotations": {"kubescape.io/image-id": format!("{name}@{}", self.digest)}},
               "spec": {"metadata": {"report": {"createdAt": self.time()}},
                        "payload": {"source": grype["source"], "descriptor": grype["descriptor"], "matches": grype["matches"]}}})
    }

    fn by_custom(&self) -> Value {
        let entry = |own: &Finding| {
            json!({"id": own.id, "severity": own.severity, "package": own.package, "purl": own.purl(), "fixedVersion": own.fixed_in, "score": own.score(),
                   "published": own.published(self.beside.world), "knownExploited": own.is_exploited, "epssScore": own.epss(), "suppressed": own.is_suppressed})
        };
        let Image { host, repository, .. } = *self.beside.image;
        let hex = self.digest.trim_start_matches("sha256:");
        json!({"apiVersion": "scans.example/v1", "kind": "Scan", "metadata": {"name": format!("scan-{hex}"), "namespace": "scans"},
               "registry": host, "repository": repository, "digest": self.digest, "platform": self.platform(), "time": self.time(),
               "endOfLife": self.beside.content.is_past_end_of_life, "findings": self.findings(entry)})
    }

    /// A Pod of the namespace `web` that runs it.
    fn pod(&self, hours: i64) -> Value {
        let image_id = format!("{}@{}", self.beside.image.name(), self.beside.content.digest(self.beside.image));
        let started = ago(self.beside.world.now, hours);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("runs-{}", self.job()), "namespace": "web"},
               "status": {"phase": "Running", "containerStatuses": [{"imageID": image_id, "state": {"running": {"startedAt": started}}}]}})
    }
}

impl Finding {
    fn purl(&self) -> String {
        format!("pkg:apk/alpine/{}@3.0", self.package)
    }

    fn score(&self) -> String {
        format!("{:.1}", f64::from(self.score) / 10.0)
    }

    fn epss(&self) -> Option<f64> {
        self.epss.map(|hundredths| f64::from(hundredths) / 100.0)
    }

    fn published(&self, world: &World) -> String {
        ago(world.now, self.known_for)
    }
}
