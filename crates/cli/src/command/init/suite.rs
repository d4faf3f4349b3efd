//! A first suite: what the settings admit, what waits, and what they reject.

use std::iter;

use super::choices::{Choices, Scanner, Signer};
use super::overlay;
use super::yaml::{block, text};

/// The digest of the image with a report.
const SCANNED: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// The digest of the one without.
const UNSCANNED: &str = "sha256:2222222222222222222222222222222222222222222222222222222222222222";

/// The digest of a signed report's manifest: its config and its subject are always the same.
const REPORT: &str = "sha256:3333333333333333333333333333333333333333333333333333333333333333";

/// The suite and what it decides by, by their names.
pub(super) fn files(choices: &Choices) -> Vec<(&'static str, String)> {
    let host = choices.registries.first().map_or("", String::as_str);
    let mut files = vec![("tests/image-admission_test.yaml", suite(choices, host))];
    if choices.scanner != Scanner::None {
        files.push(("tests/images.yaml", images(choices, host)));
    }
    files.extend(report(choices, host).map(|report| ("tests/cluster/report.yaml", report)));
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
    if choices.scanner == Scanner::None {
        return format!(
            "\
# What the settings decide, tested by `image-admission test`. Put your own cases here.
settings: ../{}
tests:
  - name: an image of one of the registries runs, unseen
    object: {}
    expect: {{verdict: allowed, calls: 0}}

{elsewhere}",
            overlay::POLICY,
            pod("app", &format!("{host}/team/app:1.0"))
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

  - name: an image without a report waits
    object: {}
    expect: {{verdict: rejected, messageContains: [scan report is pending]}}

{elsewhere}",
        overlay::POLICY,
        pod("app", &format!("{host}/team/app:1.0")),
        pod("new", &format!("{host}/team/new:1.0")),
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
    let mut images = format!(
        "\
# What registries say: a tag stands for the digest beside it.
images:
  {}: {{digest: \"{SCANNED}\"}}
  {}: {{digest: \"{UNSCANNED}\"}}
",
        text(&format!("{host}/team/app:1.0")),
        text(&format!("{host}/team/new:1.0"))
    );
    if let Some(signer) = &choices.signer {
        let tag = text(&format!("{host}/team/app:{}.scan", SCANNED.replace(':', "-")));
        images.push_str(&format!(
            "  # The report beside the first one.
  {tag}:
    digest: \"{REPORT}\"
    subject: \"{SCANNED}\"
    artifactType: application/vnd.aquasec.trivy.report+json
    config: {{SchemaVersion: 2, CreatedAt: \"2026-01-01T00:00:00Z\", ArtifactName: app, ArtifactType: container_image, Metadata: {{RepoDigests: [], ImageConfig: {{os: linux, architecture: amd64}}}}, Results: [{{Target: app, Class: os-pkgs, Type: alpine, Vulnerabilities: []}}]}}
    signedBy:
{}",
            signed_by(signer)
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

/// What the scanner found in the first image: nothing. None where it keeps nothing in the cluster.
fn report(choices: &Choices, host: &str) -> Option<String> {
    let namespace = text(choices.namespaces.first()?);
    let host_text = text(host);
    Some(match choices.scanner {
        Scanner::Sbomscanner => format!(
            "\
apiVersion: storage.sbomscanner.kubewarden.io/v1alpha1
kind: VulnerabilityReport
metadata: {{name: app, namespace: {namespace}}}
imageMetadata:
  registryURI: {host_text}
  repository: team/app
  tag: \"1.0\"
  platform: linux/amd64
  digest: \"{SCANNED}\"
report:
  summary: {{critical: 0, high: 0, medium: 0, low: 0, unknown: 0, suppressed: 0}}
  results: []
"
        ),
        Scanner::TrivyOperator => format!(
            "\
apiVersion: aquasecurity.github.io/v1alpha1
kind: VulnerabilityReport
metadata: {{name: cronjob-app-1-0-scan, namespace: {namespace}}}
report:
  updateTimestamp: \"2026-01-01T00:00:00Z\"
  scanner: {{name: Trivy, vendor: Aqua Security, version: 0.72.0}}
  registry: {{server: {host_text}}}
  artifact: {{repository: team/app, tag: \"1.0\", digest: \"{SCANNED}\"}}
  summary: {{criticalCount: 0, highCount: 0, mediumCount: 0, lowCount: 0, unknownCount: 0, noneCount: 0}}
  vulnerabilities: []
"
        ),
        Scanner::Kubescape => {
            // What may not be in a name is replaced, and the digest's last digits stand behind it.
            let slug = host.replace(':', "-");
            let end: String = SCANNED.chars().skip(SCANNED.len().saturating_sub(6)).collect();
            format!(
                "\
apiVersion: spdx.softwarecomposition.kubescape.io/v1beta1
kind: VulnerabilityManifest
metadata:
  name: {slug}-team-app-1.0-{end}
  namespace: {namespace}
  annotations:
    kubescape.io/image-id: {}
    kubescape.io/image-tag: {}
spec:
  payload:
    descriptor: {{name: grype}}
    source: {{type: image}}
    matches: []
",
                text(&format!("{host}/team/app@{SCANNED}")),
                text(&format!("{host}/team/app:1.0"))
            )
        }
        Scanner::Registry | Scanner::None => return None,
    })
}
