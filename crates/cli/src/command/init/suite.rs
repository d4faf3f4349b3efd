//! A first suite: what the settings admit, what waits, and what they reject.

use std::iter;

use super::choices::{Choices, Scanner, Signer};
use super::overlay;
use super::yaml::{block, text};

/// An image of the suite.
struct Image {
    /// The last part of its name.
    name: &'static str,
    digest: &'static str,
    /// The digest of a signed report's manifest.
    report: &'static str,
    /// Whether its report has a critical finding.
    is_vulnerable: bool,
}

/// The image with a clean report.
const CLEAN: Image = Image {
    name: "app",
    digest: "sha256:1111111111111111111111111111111111111111111111111111111111111111",
    report: "sha256:3333333333333333333333333333333333333333333333333333333333333333",
    is_vulnerable: false,
};

/// The one whose report has a critical finding.
const VULNERABLE: Image = Image {
    name: "old",
    digest: "sha256:4444444444444444444444444444444444444444444444444444444444444444",
    report: "sha256:5555555555555555555555555555555555555555555555555555555555555555",
    is_vulnerable: true,
};

/// The one without a report.
const UNSCANNED: Image = Image {
    name: "new",
    digest: "sha256:2222222222222222222222222222222222222222222222222222222222222222",
    report: "",
    is_vulnerable: false,
};

/// The folder that the suite is in.
pub(super) const FOLDER: &str = "tests";

/// The digest of an image that nobody signed.
const UNSIGNED: &str = "sha256:6666666666666666666666666666666666666666666666666666666666666666";

impl Image {
    /// `ghcr.io/team/app:1.0`
    fn reference(&self, host: &str) -> String {
        format!("{host}/team/{}:1.0", self.name)
    }
}

/// The suite and what it decides by, by their names.
pub(super) fn files(choices: &Choices) -> Vec<(&'static str, String)> {
    let host = choices.registries.first().map_or("", String::as_str);
    let mut files = vec![("tests/image-admission_test.yaml", suite(choices, host))];
    if choices.scanner != Scanner::None || choices.signed.is_some() {
        files.push(("tests/images.yaml", images(choices, host)));
    }
    let reports: Option<Vec<String>> = [CLEAN, VULNERABLE].iter().map(|image| report(choices, host, image)).collect();
    files.extend(reports.map(|reports| ("tests/cluster/reports.yaml", reports.join("---\n"))));
    files
}

fn suite(choices: &Choices, host: &str) -> String {
    let elsewhere = format!(
        "  - name: an image of another registry is rejected, and nobody is asked
    object: {}
    expect: {{verdict: rejected, calls: 0}}
",
        pod("elsewhere", &format!("{}/team/app:1.0", unlisted(&choices.registries)))
    );
    let pod_of = |image: &Image| pod(image.name, &image.reference(host));
    let unsigned = choices.signed.as_ref().map(|signed| {
        format!(
            "
  - name: an image that nobody signed is rejected
    object: {}
    expect: {{verdict: rejected, messageContains: [\"{}\"]}}
",
            pod("unsigned", &signed.example()),
            overlay::UNSIGNED
        )
    });
    let elsewhere = elsewhere + &unsigned.unwrap_or_default();
    if choices.scanner == Scanner::None {
        let (images, calls) = if choices.signed.is_some() { ("images: images.yaml\n", "") } else { ("", ", calls: 0") };
        return format!(
            "\
# What the settings decide, tested by `image-admission test`. Put your own cases here.
settings: ../{}
{images}tests:
  - name: an image of one of the registries runs, unseen
    object: {}
    expect: {{verdict: allowed{calls}}}

{elsewhere}",
            overlay::POLICY,
            pod_of(&CLEAN)
        );
    }
    let ageless = match choices.scanner {
        Scanner::TrivyOperator | Scanner::Registry => {
            "    settingsPatch: {reports: {maxAge: null}}        # a report in a file grows old\n"
        }
        Scanner::Sbomscanner | Scanner::Kubescape | Scanner::None => "",
    };
    let cluster = if choices.scanner == Scanner::Registry { "" } else { "cluster: cluster\n" };
    format!(
        "\
# What the settings decide, tested by `image-admission test`. Put your own cases here; images.yaml has what registries say, and
# cluster/ what the scanner found.
settings: ../{}
images: images.yaml
{cluster}tests:
  - name: an image with a clean report is admitted, and pinned
{ageless}    object: {}
    expect: {{verdict: allowed, mutated: true}}

  - name: an image with a critical finding is rejected
{ageless}    object: {}
    expect: {{verdict: rejected, messageContains: [1 critical finding]}}

  - name: an image without a report waits
    object: {}
    expect: {{verdict: rejected, messageContains: [scan report is pending]}}

{elsewhere}",
        overlay::POLICY,
        pod_of(&CLEAN),
        pod_of(&VULNERABLE),
        pod_of(&UNSCANNED),
    )
}

fn pod(name: &str, image: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: shop}}, spec: {{containers: [{{name: {name}, image: {}}}]}}}}",
        text(image)
    )
}

/// A registry that isn't listed.
fn unlisted(registries: &[String]) -> String {
    let mut names = iter::once("elsewhere.example".to_owned()).chain((2..).map(|n| format!("elsewhere-{n}.example")));
    names.find(|name| !registries.contains(name)).unwrap_or_default()
}

/// What the registry says of the images.
fn images(choices: &Choices, host: &str) -> String {
    let mut images = "# What registries say: a tag stands for the digest beside it.\nimages:\n".to_owned();
    let all: &[Image] = if choices.scanner == Scanner::None { &[CLEAN] } else { &[CLEAN, VULNERABLE, UNSCANNED] };
    for image in all {
        let reference = image.reference(host);
        let signer = choices.signed.as_ref().filter(|signed| reference.starts_with(&signed.prefix));
        let name = text(&reference);
        images.push_str(&match signer {
            Some(signed) => {
                format!("  {name}:\n    digest: \"{}\"\n    signedBy:\n{}", image.digest, signed_by(&signed.signer))
            }
            None => format!("  {name}: {{digest: \"{}\"}}\n", image.digest),
        });
    }
    if let Some(signed) = &choices.signed {
        images.push_str(&format!("  {}: {{digest: \"{UNSIGNED}\"}}\n", text(&signed.example())));
    }
    let Some(signer) = &choices.signer else { return images };
    for image in [CLEAN, VULNERABLE] {
        let tag = text(&format!("{host}/team/{}:{}.scan", image.name, image.digest.replace(':', "-")));
        let found = if image.is_vulnerable {
            "{VulnerabilityID: CVE-2026-1001, PkgName: openssl, InstalledVersion: \"1.0.0\", FixedVersion: \"3.0.1\", Severity: CRITICAL}"
        } else {
            ""
        };
        images.push_str(&format!(
            "  # Its report.
  {tag}:
    digest: \"{}\"
    subject: \"{}\"
    artifactType: application/vnd.aquasec.trivy.report+json
    config: {{SchemaVersion: 2, CreatedAt: \"2026-01-01T00:00:00Z\", ArtifactName: {name}, ArtifactType: container_image, Metadata: {{RepoDigests: [], ImageConfig: {{os: linux, architecture: amd64}}}}, Results: [{{Target: {name}, Class: os-pkgs, Type: alpine, Vulnerabilities: [{found}]}}]}}
    signedBy:
{}",
            image.report,
            image.digest,
            signed_by(signer),
            name = image.name,
        ));
    }
    images
}

/// Who signed the report: the one who is to.
fn signed_by(signer: &Signer) -> String {
    match signer {
        Signer::Key(key) => format!("      - key: |\n{}", block(key, 10)),
        Signer::Github { owner, repository } => {
            let repository = repository.as_deref().unwrap_or("app");
            format!("      - githubActions: {{owner: {}, repository: {}}}\n", text(owner), text(repository))
        }
    }
}

/// What the scanner found in an image. None where it keeps nothing in the cluster.
fn report(choices: &Choices, host: &str, image: &Image) -> Option<String> {
    let namespace = text(choices.namespaces.first()?);
    let host_text = text(host);
    let Image { name, digest, is_vulnerable, .. } = *image;
    let critical = u8::from(is_vulnerable);
    Some(match choices.scanner {
        Scanner::Sbomscanner => {
            let results = if is_vulnerable {
                "
    - target: alpine
      class: os-pkgs
      type: alpine
      vulnerabilities:
        - {cve: CVE-2026-1001, severity: CRITICAL, packageName: openssl, installedVersion: \"1.0.0\", fixedVersions: [\"3.0.1\"], suppressed: false}"
            } else {
                " []"
            };
            format!(
                "\
apiVersion: storage.sbomscanner.kubewarden.io/v1alpha1
kind: VulnerabilityReport
metadata: {{name: {name}, namespace: {namespace}}}
imageMetadata:
  registryURI: {host_text}
  repository: team/{name}
  tag: \"1.0\"
  platform: linux/amd64
  digest: \"{digest}\"
report:
  summary: {{critical: {critical}, high: 0, medium: 0, low: 0, unknown: 0, suppressed: 0}}
  results:{results}
"
            )
        }
        Scanner::TrivyOperator => {
            let vulnerabilities = if is_vulnerable {
                "
    - {vulnerabilityID: CVE-2026-1001, severity: CRITICAL, resource: openssl, installedVersion: \"1.0.0\", fixedVersion: \"3.0.1\", title: \"\", links: [], target: \"\"}"
            } else {
                " []"
            };
            format!(
                "\
apiVersion: aquasecurity.github.io/v1alpha1
kind: VulnerabilityReport
metadata: {{name: cronjob-{name}-1-0-scan, namespace: {namespace}}}
report:
  updateTimestamp: \"2026-01-01T00:00:00Z\"
  scanner: {{name: Trivy, vendor: Aqua Security, version: 0.72.0}}
  registry: {{server: {host_text}}}
  artifact: {{repository: team/{name}, tag: \"1.0\", digest: \"{digest}\"}}
  summary: {{criticalCount: {critical}, highCount: 0, mediumCount: 0, lowCount: 0, unknownCount: 0, noneCount: 0}}
  vulnerabilities:{vulnerabilities}
"
            )
        }
        Scanner::Kubescape => {
            // What may not be in a name is replaced, and the digest's last digits stand behind it.
            let slug = host.replace(':', "-");
            let end: String = digest.chars().skip(digest.len().saturating_sub(6)).collect();
            let matches = if is_vulnerable {
                "
      - {vulnerability: {id: CVE-2026-1001, severity: Critical, cvss: [], fix: {versions: [\"3.0.1\"], state: fixed}}, artifact: {name: openssl, version: \"1.0.0\"}}"
            } else {
                " []"
            };
            format!(
                "\
apiVersion: spdx.softwarecomposition.kubescape.io/v1beta1
kind: VulnerabilityManifest
metadata:
  name: {slug}-team-{name}-1.0-{end}
  namespace: {namespace}
  annotations:
    kubescape.io/image-id: {}
    kubescape.io/image-tag: {}
spec:
  payload:
    descriptor: {{name: grype}}
    source: {{type: image}}
    matches:{matches}
",
                text(&format!("{host}/team/{name}@{digest}")),
                text(&image.reference(host))
            )
        }
        Scanner::Registry | Scanner::None => return None,
    })
}
