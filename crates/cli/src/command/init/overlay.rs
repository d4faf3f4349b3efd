//! The overlay: what is applied of the base, and what is the user's to say.

use super::BASE;
use super::base;
use super::choices::{self, Choices, Mode, Scanner, Signed, Signer, With};
use super::yaml::{block, list, text};

/// The file that says what is applied.
pub(super) const KUSTOMIZATION: &str = "kustomization.yaml";

/// The file with what is the user's to say of the policy server.
pub(super) const POLICY_SERVER: &str = "policy-server.yaml";

/// The file with rights in other namespaces than the scanner's own.
pub(super) const RIGHTS: &str = "rights.yaml";

/// The file with the module, the namespaces and the settings.
pub(super) const POLICY: &str = "policy.yaml";

/// The overlay's files, by their names.
pub(super) fn files(choices: &Choices) -> Vec<(&'static str, String)> {
    let rights = rights(choices);
    let mut files = vec![
        (KUSTOMIZATION, kustomization(choices, rights.is_some())),
        (POLICY, policy(choices)),
        (POLICY_SERVER, policy_server(choices)),
    ];
    files.extend(rights.map(|rights| (RIGHTS, rights)));
    files
}

fn kustomization(choices: &Choices, has_rights: bool) -> String {
    let mut all = format!(
        "\
# Everything that is applied: kubectl apply -k, with this folder. {BASE}/ stays as it is; a new version of it is copied over it. Its
# components say in their heads what they add.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
  - {BASE}
"
    );
    if has_rights {
        all.push_str("  - rights.yaml\n");
    }
    let mut components = Vec::new();
    components.extend(choices.scanner.component().map(|component| format!("  - {BASE}/{component}\n")));
    components.extend(choices.is_validating.then(|| format!("  - {BASE}/validating\n")));
    components.extend(choices.with.iter().map(|with| format!("  - {BASE}/{}\n", with.component())));
    components.extend(copies_evidence(choices).then(|| format!("  - {BASE}/companion-evidence\n")));
    components.extend(companion(choices).map(|component| format!("  - {BASE}/{component}\n")));
    let monitor = format!("  - {BASE}/monitor          # to enforce, delete this line, and apply again\n");
    components.extend((choices.mode == Mode::Monitor).then_some(monitor));
    if !components.is_empty() {
        all.push_str("components:\n");
        all.extend(components);
    }
    all.extend(choices.companion_image.as_deref().map(companion_image));
    all.push_str(
        "\
patches:
  # Of all policies: they have the same settings.
  - path: policy.yaml
    target: {kind: ClusterAdmissionPolicy, name: image-admission.*}
  - path: policy-server.yaml
",
    );
    all.push_str(&without_own_namespace(choices).unwrap_or_default());
    all
}

/// The component with which the companion asks the scanner. None without the companion.
fn companion(choices: &Choices) -> Option<&'static str> {
    choices.scanner.companion().filter(|_| choices.with.contains(&With::Companion))
}

/// Whether the companion copies evidence into the cluster.
fn copies_evidence(choices: &Choices) -> bool {
    choices.with.contains(&With::Companion) && choices.with.contains(&With::Evidence)
}

/// The image of the companion, for kustomize to put in the place of the component's.
fn companion_image(image: &str) -> String {
    let (name, tag, digest) = choices::parts(image);
    // A digest says which image it is: kustomize takes only one of them.
    let version = match (digest, tag) {
        (Some(digest), _) => format!(", digest: {}", text(digest)),
        (None, Some(tag)) => format!(", newTag: {}", text(tag)),
        (None, None) => String::new(),
    };
    format!(
        "\
images:
  # The companion's, which is that of the command line, in the version of the module.
  - {{name: {}, newName: {}{version}}}
",
        base::companion_image(),
        text(name)
    )
}

/// A right of a component that is granted in the scanner's own namespace: the RoleBinding in it, and where it is needed.
struct Right<'c> {
    /// The component's folder in the base.
    component: &'static str,
    /// The name of the role, and of its binding.
    role: String,
    namespaces: &'c [String],
}

/// The rights that are about the namespaces of reports.
fn rights_there(choices: &Choices) -> Vec<Right<'_>> {
    let all = choices.namespaces.as_slice();
    let mut rights = Vec::new();
    if let Some(component) = choices.scanner.component() {
        let role = format!("image-admission-{}", component.trim_start_matches("sources/"));
        rights.push(Right { component, role, namespaces: all });
    }
    if let Some(component) = companion(choices) {
        // Scans are asked for in the first of them.
        let role = format!("image-admission-{component}");
        rights.push(Right { component, role: format!("{role}-reports"), namespaces: all });
        rights.push(Right { component, role, namespaces: all.get(..1).unwrap_or_default() });
    }
    rights
}

/// Patches that take away what components have in the scanner's own namespace. None where all of it is needed there.
fn without_own_namespace(choices: &Choices) -> Option<String> {
    let own = choices.scanner.namespace()?;
    let is_needed = |namespaces: &[String]| namespaces.iter().any(|namespace| namespace == own);
    let mut patches = String::new();
    for right in rights_there(choices).iter().filter(|right| !is_needed(right.namespaces)) {
        patches.push_str(&format!(
            "  - patch: |-
      $patch: delete
      apiVersion: rbac.authorization.k8s.io/v1
      kind: RoleBinding
      metadata: {{name: {}, namespace: {own}}}
",
            right.role
        ));
    }
    // One component brings its namespace with it.
    if choices.scanner == Scanner::TrivyOperator && !is_needed(&choices.namespaces) {
        patches.push_str(&format!(
            "  - patch: |-
      $patch: delete
      apiVersion: v1
      kind: Namespace
      metadata: {{name: {own}}}
"
        ));
    }
    let why = if is_needed(&choices.namespaces) {
        "  # Scans are asked for in another namespace than the component's own.\n"
    } else {
        "  # There are no reports in the component's own namespace.\n"
    };
    (!patches.is_empty()).then(|| format!("{why}{patches}"))
}

/// The rights of components, in each namespace that they don't grant them in themselves. None where they do everywhere.
fn rights(choices: &Choices) -> Option<String> {
    let own = choices.scanner.namespace()?;
    let mut bindings = Vec::new();
    for right in rights_there(choices) {
        let place = format!("metadata: {{name: {}, namespace: {own}}}", right.role);
        let documents = base::text(&format!("{}/rights.yaml", right.component)).split("---\n");
        let binding = documents.into_iter().find(|document| document.contains(&place))?;
        let others = right.namespaces.iter().filter(|namespace| *namespace != own);
        bindings
            .extend(others.map(|other| {
                binding.replace(&format!("namespace: {own}}}"), &format!("namespace: {}}}", text(other)))
            }));
    }
    if bindings.is_empty() {
        return None;
    }
    Some(format!(
        "# What may be read and asked for beside what the components of {BASE}/ grant: the same, in the other namespaces with reports.\n{}",
        bindings.join("---\n")
    ))
}

fn policy_server(choices: &Choices) -> String {
    format!(
        "\
# What is yours to say of the policy server; {BASE}/policy-server.yaml has the rest.
apiVersion: policies.kubewarden.io/v1
kind: PolicyServer
metadata:
  name: image-admission
spec:
  image: {}
  # A Secret in the namespace kubewarden, of type kubernetes.io/dockerconfigjson. It pulls the policy's module, and its credentials
  # are those that images, reports and signatures are looked up with: they must read every private repository that runs here.
  # imagePullSecret: registry-credentials
",
        text(&choices.server_image)
    )
}

fn policy(choices: &Choices) -> String {
    format!(
        "\
# What is yours to say of the policy: the module, the namespaces and the settings, which the suite in tests/ tests. A list stands in
# the place of the base's list; all else of {BASE}/ stays.
apiVersion: policies.kubewarden.io/v1
kind: ClusterAdmissionPolicy
metadata:
  name: image-admission
spec:
  module: {}
  # What judging itself needs must start while nothing can be judged. Whoever may create Pods in these namespaces runs what they
  # like. Name only what is there: a namespace that doesn't exist is unguarded as soon as somebody creates it.
  namespaceSelector:
    matchExpressions:
      - key: kubernetes.io/metadata.name
        operator: NotIn
        values: {}
  settings:
    # The only registries that are asked about images; any other image is rejected without a call.
    registries: {}
{}{}",
        text(&choices.module),
        list(&choices.left_out),
        list(&choices.registries),
        judging(choices),
        choices.signed.as_ref().map(verification).unwrap_or_default()
    )
}

/// What is said of an image without the signature.
pub(super) const UNSIGNED: &str = "this image isn't signed as it must be";

/// The settings that ask for signatures.
fn verification(signed: &Signed) -> String {
    format!(
        "    imageVerification:
      - name: signed
        # Images that pre-scan accepts are verified too.
        verifyPreScanAccepted: true
        # A glob, not a prefix.
        matchConstraints: {{imageRules: {{references: [{}]}}}}
        attestors:
          - name: signer
            cosign:
{}        verifications:
          - expression: images.all.all(image, verifyImageSignatures(image, [attestors.signer]) > 0)
            message: {UNSIGNED}
      - name: elsewhere
        # Without this, a warning says that nothing verified the images elsewhere.
        verifyPreScanAccepted: true
        verifications: [{{expression: \"images.all.all(image, true)\"}}]
",
        text(&signed.glob()),
        cosign(&signed.signer, 14)
    )
}

/// The settings that say how images are judged.
fn judging(choices: &Choices) -> String {
    let namespaces = list(&choices.namespaces);
    let source = match choices.scanner {
        Scanner::Sbomscanner => format!("        - sbomscanner: {{namespaces: {namespaces}}}\n"),
        Scanner::TrivyOperator => {
            format!("        - trivyOperator: {{namespaces: {namespaces}, workloadNamespace: false}}\n")
        }
        Scanner::Kubescape => {
            let namespace = choices.namespaces.first().map(|name| text(name)).unwrap_or_default();
            format!("        - kubescape: {{namespace: {namespace}}}\n")
        }
        Scanner::Registry => {
            let signer = choices.signer.as_ref().map(|signer| cosign(signer, 16)).unwrap_or_default();
            format!(
                "        - registry:\n            attestors:\n              - name: ci\n                cosign:\n{signer}"
            )
        }
        Scanner::None => return unscanned(choices),
    };
    let age = match choices.scanner {
        Scanner::TrivyOperator => "      # The operator renews its reports every 24 hours.\n      maxAge: 48h\n",
        Scanner::Registry => {
            "      # Within this time CI scans each image anew that runs. An older signed report, which whoever may push can put back, doesn't\n      # count.\n      maxAge: 4w\n"
        }
        // A report of SBOMscanner is as old as its ScanJob, which may be gone. One of Kubescape doesn't say.
        Scanner::Sbomscanner | Scanner::Kubescape | Scanner::None => "",
    };
    format!(
        "    reports:
      sources:
{source}      # The platforms of the cluster's nodes that are scanned; the others never have a report.
      platforms: [linux/amd64]
{age}    acceptance:
      maxSeverity:
        critical: {{total: 0}}
"
    )
}

/// Without reports names decide alone.
fn unscanned(choices: &Choices) -> String {
    let entries = choices
        .registries
        .iter()
        .map(|registry| format!("        - {{prefix: {}, action: accept}}\n", text(&format!("{registry}/"))));
    format!(
        "    # What comes from one of them runs, unseen. With a scanner, all of this is replaced by `reports`.
    preScanPolicies:
      defaultPolicy: reject
      customPolicies:
{}",
        entries.collect::<String>()
    )
}

/// How a signer is recognised, at a depth.
pub(super) fn cosign(signer: &Signer, depth: usize) -> String {
    let lines = match signer {
        Signer::Key(key) => format!("  key:\n    data: |\n{}", block(key, 6)),
        Signer::Github { owner, repository } => {
            let repository =
                repository.as_ref().map(|name| format!(", repository: {}", text(name))).unwrap_or_default();
            format!("  keyless:\n    githubActions: {{owner: {}{repository}}}\n", text(owner))
        }
    };
    block(&lines, depth)
}
