//! What an overlay depends on, and how it is read from options and answers: what would not apply is refused, with what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::ValueEnum;
use image_admission_engine::check_settings;
use image_admission_image::ImageReference;
use image_admission_settings::Settings;
use serde_json::{Value, json};

use super::overlay;

/// Where the images of most clusters are, their own parts included.
pub(super) const USUAL_REGISTRIES: &str = "docker.io, ghcr.io, quay.io, registry.k8s.io";

/// What stands for no further namespace.
pub(super) const NO_OTHERS: &str = "-";

/// The namespaces that are always left out: the API server makes the one, and the policy server runs in the other.
const ALWAYS_LEFT_OUT: [&str; 2] = ["kube-system", "kubewarden"];

/// Everything that was chosen.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    /// Who scans.
    pub(super) scanner: Scanner,
    /// Where the scanner's reports are; none for one whose reports aren't in the cluster.
    pub(super) namespaces: Vec<String>,
    /// Who signs reports in a registry.
    pub(super) signer: Option<Signer>,
    /// The only registries that images may come from.
    pub(super) registries: Vec<String>,
    /// All namespaces that the policy leaves out.
    pub(super) left_out: Vec<String>,
    /// Whether anything is rejected.
    pub(super) mode: Mode,
    /// Whether a second policy judges what other webhooks changed.
    pub(super) is_validating: bool,
    /// Components that are applied too.
    pub(super) with: BTreeSet<With>,
    /// Images that must be signed.
    pub(super) signed: Option<Signed>,
    /// The policy's module, with its scheme.
    pub(super) module: String,
    /// The policy server's image.
    pub(super) server_image: String,
    /// The companion's image; none without it.
    pub(super) companion_image: Option<String>,
}

/// Who scans images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Scanner {
    /// Kubewarden's SBOMscanner
    Sbomscanner,
    /// Aqua's trivy-operator
    TrivyOperator,
    /// Kubescape
    Kubescape,
    /// CI, which pushes signed reports beside the images
    Registry,
    /// Nobody yet: what comes from one of the registries runs, unseen
    None,
}

/// A component of the base that is applied too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum With {
    /// Let people with a right start a workload unjudged, in an emergency
    BreakGlass,
    /// Have images scanned that nobody scanned yet, by SBOMscanner or trivy-operator
    Companion,
    /// Read signatures and attestations from objects of the cluster, too
    Evidence,
    /// Let teams write exemptions as objects, within bounds
    Exemptions,
    /// Metrics and alerts for the Prometheus Operator
    Monitoring,
}

/// Images that must be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signed {
    /// How their names begin.
    pub(super) prefix: String,
    /// Who must have signed them.
    pub(super) signer: Signer,
}

/// Whether anything is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Everything gets in, and the log says what would have been rejected
    Monitor,
    /// What doesn't pass is rejected
    Enforce,
}

/// Who signs reports in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Signer {
    /// Whoever has the key to this public one, in PEM.
    Key(String),
    /// Workflows of GitHub's.
    Github {
        /// The user or organisation.
        owner: String,
        /// One repository of theirs.
        repository: Option<String>,
    },
}

impl Choices {
    /// The policies that are deployed, as `kubectl` names them.
    pub(super) fn policies(&self) -> String {
        const FIRST: &str = "clusteradmissionpolicy/image-admission";
        if self.is_validating { format!("{FIRST} {FIRST}-validating") } else { FIRST.to_owned() }
    }
}

/// These namespaces, behind those that are always left out.
pub(super) fn all_left_out(namespaces: Vec<String>) -> Vec<String> {
    let named = namespaces.into_iter().filter(|namespace| namespace != NO_OTHERS);
    once(ALWAYS_LEFT_OUT.map(str::to_owned).into_iter().chain(named).collect())
}

/// Texts in their order, each once.
pub(super) fn once(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

impl Scanner {
    /// As options and answers spell it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sbomscanner => "sbomscanner",
            Self::TrivyOperator => "trivy-operator",
            Self::Kubescape => "kubescape",
            Self::Registry => "registry",
            Self::None => "none",
        }
    }

    /// The component of the base that is about it. None for one that needs no rights.
    pub(super) fn component(self) -> Option<&'static str> {
        match self {
            Self::Sbomscanner => Some("sources/sbomscanner"),
            Self::TrivyOperator => Some("sources/trivy-operator"),
            Self::Kubescape => Some("sources/kubescape"),
            Self::None => Some("sources/none"),
            Self::Registry => None,
        }
    }

    /// The component of the base with which the companion asks it for scans. None for one that it can't ask.
    pub(super) fn companion(self) -> Option<&'static str> {
        match self {
            Self::Sbomscanner => Some("companion-sbomscanner"),
            Self::TrivyOperator => Some("companion-trivy-operator"),
            Self::Kubescape | Self::Registry | Self::None => None,
        }
    }

    /// The namespace that its reports are in, unless somebody says otherwise, which is that of its component. None where its
    /// reports aren't in the cluster.
    pub(super) fn namespace(self) -> Option<&'static str> {
        match self {
            Self::Sbomscanner => Some("sbomscanner"),
            Self::TrivyOperator => Some("image-scans"),
            Self::Kubescape => Some("kubescape"),
            Self::Registry | Self::None => None,
        }
    }

    /// The namespaces that it needs to start in, as far as they are known: they are to be left out. SBOMscanner's certificates are
    /// cert-manager's, and its database is CloudNativePG's.
    pub(super) fn left_out(self, namespaces: &[String]) -> Vec<&'static str> {
        // If it was moved, only its users know where it is.
        let own = self.namespace().filter(|own| namespaces.iter().any(|one| one == own));
        match self {
            Self::TrivyOperator => vec!["trivy-system"],
            Self::Sbomscanner => own.into_iter().chain(["cert-manager", "cnpg-system"]).collect(),
            Self::Kubescape => own.into_iter().collect(),
            Self::Registry | Self::None => Vec::new(),
        }
    }

    /// These namespaces, if its reports can be in them.
    pub(super) fn namespaces(self, namespaces: Vec<String>) -> Result<Vec<String>, String> {
        let namespaces = once(namespaces);
        if self == Self::Kubescape && namespaces.len() > 1 {
            let all: Vec<String> = namespaces.iter().map(|name| format!("`{name}`")).collect();
            return Err(format!(
                "Kubescape keeps its reports in one namespace, and these are several: {}; name the one",
                all.join(", ")
            ));
        }
        Ok(namespaces)
    }
}

impl With {
    /// Its folder in the base.
    pub(super) fn component(self) -> &'static str {
        match self {
            Self::BreakGlass => "break-glass",
            Self::Companion => "companion",
            Self::Evidence => "evidence",
            Self::Exemptions => "exemptions",
            Self::Monitoring => "monitoring",
        }
    }

    /// The command that gives people the right that it is about, with a group to replace. None where it is about none.
    pub(super) fn binding(self) -> Option<&'static str> {
        match self {
            Self::BreakGlass => Some(
                "kubectl create clusterrolebinding on-call-breaks-glass --clusterrole image-admission-break-glass --group on-call",
            ),
            Self::Exemptions => Some(
                "kubectl create rolebinding image-admission-exempt --namespace shop --clusterrole image-admission-exempt --group shop-leads",
            ),
            Self::Companion | Self::Evidence | Self::Monitoring => None,
        }
    }
}

impl Signed {
    /// Reads `ghcr.io/team/=SIGNER`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        // Without the slash it would be the beginning of other names, too.
        let split = text.split_once('=').filter(|(prefix, _)| prefix.ends_with('/') && prefix.len() > 1);
        let Some((prefix, signer)) = split else {
            return Err(format!(
                "`{text}` names no images and who signs them: write `ghcr.io/team/=SIGNER`, with a `/` at the end of the prefix"
            ));
        };
        // Images are compared by their whole names, as an image below it has one.
        let below =
            ImageReference::parse(&format!("{prefix}x")).map_err(|error| format!("`{prefix}`: {error}"))?.name();
        let signed =
            Self { prefix: below.strip_suffix('x').unwrap_or(&below).to_owned(), signer: Signer::read(signer)? };
        match check_settings(&json!({"imageVerification": [{
            "name": "signed",
            "matchConstraints": {"imageRules": {"references": [signed.glob()]}},
            "attestors": [{"name": "signer", "cosign": {"keyless": {"githubActions": {"owner": "owner"}}}}],
            "verifications": [{"expression": "true"}],
        }]})) {
            Ok(_) => Ok(signed),
            Err(problems) => Err(format!("`{prefix}`: {}", without_path(&problems.to_string()))),
        }
    }

    /// The host of the registry.
    pub(super) fn registry(&self) -> &str {
        self.prefix.split('/').next().unwrap_or_default()
    }

    /// An image below the prefix.
    pub(super) fn example(&self) -> String {
        format!("{}unsigned:1.0", self.prefix)
    }

    /// The images as a glob.
    pub(super) fn glob(&self) -> String {
        format!("{}*", self.prefix)
    }
}

impl Signer {
    /// Reads `github:OWNER`, `github:OWNER/REPOSITORY`, or the path of a file with a public key.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let signer = match text.strip_prefix("github:") {
            Some(names) => {
                let (owner, repository) =
                    names.split_once('/').map_or((names, None), |(owner, name)| (owner, Some(name)));
                if let Some(wrong) = [Some(owner), repository].into_iter().flatten().find(|name| !is_name(name)) {
                    return Err(format!("`{wrong}` is no name on GitHub: write `github:OWNER/REPOSITORY`"));
                }
                Self::Github { owner: owner.to_owned(), repository: repository.map(str::to_owned) }
            }
            None if text.is_empty() => {
                return Err("name who signs: a file with a public key, or `github:OWNER/REPOSITORY`".to_owned());
            }
            None => {
                let key = fs::read_to_string(Path::new(text))
                    .map_err(|error| format!("cannot read `{text}`, which should be a public key: {error}"))?;
                Self::Key(key)
            }
        };
        let cosign: Value = yaml_serde::from_str(&overlay::cosign(&signer, 0)).map_err(|error| error.to_string())?;
        let source = json!({"registry": {"attestors": [{"name": "ci", "cosign": cosign}]}});
        match check_settings(&json!({"reports": {"sources": [source]}})) {
            Ok(_) => Ok(signer),
            Err(problems) => Err(format!("`{text}`: {}", without_path(&problems.to_string()))),
        }
    }
}

/// Whether GitHub could call something so.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// A scanner, by its name.
pub(super) fn scanner(text: &str) -> Result<Scanner, String> {
    one_of(text)
}

/// A mode, by its name.
pub(super) fn mode(text: &str) -> Result<Mode, String> {
    one_of(text)
}

fn one_of<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let names = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|value| format!("`{}`", value.get_name())).collect();
        format!("`{text}` is none of {}", names.join(", "))
    })
}

/// `yes` or `no`.
pub(super) fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" | "y" => Ok(true),
        "no" | "n" => Ok(false),
        _ => Err(format!("`{text}` is neither `yes` nor `no`")),
    }
}

/// A list whose entries are apart by commas or blanks.
pub(super) fn list(text: &str, read: fn(&str) -> Result<String, String>) -> Result<Vec<String>, String> {
    let entries = text.split([',', ' ', '\t']).filter(|entry| !entry.is_empty());
    let list: Vec<String> = entries.map(read).collect::<Result<_, _>>()?;
    if list.is_empty() { Err("name at least one".to_owned()) } else { Ok(list) }
}

/// The name of a namespace.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    let is_name = (1..=63).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-');
    if is_name {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not the name of a namespace: use at most 63 lower-case letters, digits and `-`, and none of these at an end"
    ))
}

/// The name of a namespace that is left out, or what stands for none.
pub(super) fn left_out(text: &str) -> Result<String, String> {
    if text == NO_OTHERS { Ok(text.to_owned()) } else { namespace(text) }
}

/// The host of a registry, by its one name: that of its images.
pub(super) fn registry(text: &str) -> Result<String, String> {
    // Lists of images don't take these, so that the suite could not be run.
    if text.starts_with('[') {
        return Err(format!("`{text}` is an IPv6 address: give the registry a name, and use that"));
    }
    match Settings::read(&json!({"registries": [text]})) {
        Ok(settings) => settings.registries.into_iter().next().ok_or_else(|| "name a registry".to_owned()),
        Err(problems) => Err(without_path(&problems.to_string())),
    }
}

/// A problem of a setting, without where that is.
fn without_path(problem: &str) -> String {
    problem.split_once(": ").map_or(problem, |(_, problem)| problem).to_owned()
}

/// What the reference of a module begins with.
const SCHEME: &str = "registry://";

/// The reference of the module, with its scheme.
pub(super) fn module(text: &str) -> Result<String, String> {
    let reference = text.strip_prefix(SCHEME).unwrap_or(text);
    if reference.contains("://") {
        return Err(format!(
            "`{text}` is not in a registry: push the module to one, and name it as `registry.example.com/image-admission:v1.0.0`"
        ));
    }
    let host = reference.split_once('/').map_or("", |(host, _)| host);
    if !(host.contains(['.', ':']) || host == "localhost") {
        return Err(format!(
            "`{text}` names no registry: write its host in front, like `registry.example.com/image-admission:v1.0.0`"
        ));
    }
    Ok(format!("{SCHEME}{}", image(reference)?))
}

/// The reference of an image, with a tag or a digest.
pub(super) fn image(text: &str) -> Result<String, String> {
    ImageReference::parse(text).map_err(|error| format!("`{text}` is not a reference of an image: {error}"))?;
    let name = text.rsplit('/').next().unwrap_or_default();
    if !name.contains([':', '@']) {
        return Err(format!("`{text}` names no version: write a tag or a digest behind it, like `:v1.0.0`"));
    }
    Ok(text.to_owned())
}

/// Where a release has the image of the command line: beside the module, in the version of this command.
pub(super) fn command_line_image(module: &str) -> String {
    let (name, _, _) = parts(module.strip_prefix(SCHEME).unwrap_or(module));
    format!("{name}-cli:v{}", env!("CARGO_PKG_VERSION"))
}

/// The name of an image, its tag and its digest.
pub(super) fn parts(image: &str) -> (&str, Option<&str>, Option<&str>) {
    let (tagged, digest) = image.split_once('@').map_or((image, None), |(tagged, digest)| (tagged, Some(digest)));
    match tagged.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((name, tag)) => (name, Some(tag), digest),
        None => (tagged, None, digest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused<T: std::fmt::Debug>(read: impl Fn(&str) -> Result<T, String>, text: &str, why: &str) {
        assert_eq!(read(text).unwrap_err(), why);
    }

    #[test]
    fn names_that_would_not_apply_are_refused_with_what_to_do() {
        let labels = "is not the name of a namespace: use at most 63 lower-case letters, digits and `-`, and none of these at an end";
        for wrong in ["Shop", "shop_1", "-shop", "shop-", "", "a.b", "*", &"a".repeat(64)] {
            refused(namespace, wrong, &format!("`{wrong}` {labels}"));
        }
        assert_eq!(namespace("no").as_deref(), Ok("no"));
        refused(
            registry,
            "ghcr.io/team",
            "`ghcr.io/team` is not a registry host; use a host like `ghcr.io` or `registry.example.com:5000`",
        );
        refused(registry, "[::1]:5000", "`[::1]:5000` is an IPv6 address: give the registry a name, and use that");
        assert_eq!(registry("GHCR.io").as_deref(), Ok("ghcr.io"));
        assert_eq!(registry("index.docker.io").as_deref(), Ok("docker.io"));
        refused(
            module,
            "https://example.com/policy.wasm",
            "`https://example.com/policy.wasm` is not in a registry: push the module to one, and name it as `registry.example.com/image-admission:v1.0.0`",
        );
        refused(
            module,
            "team/policy:v1",
            "`team/policy:v1` names no registry: write its host in front, like `registry.example.com/image-admission:v1.0.0`",
        );
        refused(
            module,
            "ghcr.io/team/policy",
            "`ghcr.io/team/policy` names no version: write a tag or a digest behind it, like `:v1.0.0`",
        );
        refused(
            module,
            "ghcr.io:443/team/policy",
            "`ghcr.io:443/team/policy` names no version: write a tag or a digest behind it, like `:v1.0.0`",
        );
        refused(
            module,
            "ghcr.io/Team/policy:v1",
            "`ghcr.io/Team/policy:v1` is not a reference of an image: the repository `Team/policy` must be in lower case",
        );
        let own = "registry://ghcr.io/team/policy:v1";
        assert_eq!((module(own).as_deref(), module("ghcr.io/team/policy:v1").as_deref()), (Ok(own), Ok(own)));
        refused(image, "a b", "`a b` is not a reference of an image: `a b` is not a repository name");
        refused(
            scanner,
            "trivy",
            "`trivy` is none of `sbomscanner`, `trivy-operator`, `kubescape`, `registry`, `none`",
        );
        refused(yes_or_no, "maybe", "`maybe` is neither `yes` nor `no`");
        refused(|text| list(text, namespace), " , ", "name at least one");
    }

    #[test]
    fn signers_are_those_that_the_settings_take() {
        assert_eq!(Signer::read("github:team"), Ok(Signer::Github { owner: "team".to_owned(), repository: None }));
        refused(Signer::read, "github:team/", "`` is no name on GitHub: write `github:OWNER/REPOSITORY`");
        refused(Signer::read, "", "name who signs: a file with a public key, or `github:OWNER/REPOSITORY`");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ci.pub");
        let missing = Signer::read(&file.display().to_string()).unwrap_err();
        assert!(
            missing.starts_with(&format!("cannot read `{}`, which should be a public key: ", file.display())),
            "{missing}"
        );
        fs::write(&file, "no key\n").unwrap();
        let wrong = Signer::read(&file.display().to_string()).unwrap_err();
        assert!(wrong.starts_with(&format!("`{}`: ", file.display())), "{wrong}");
    }

    #[test]
    fn an_image_has_parts() {
        for (image, expected) in [
            ("ghcr.io/team/policy:v1", ("ghcr.io/team/policy", Some("v1"), None)),
            ("localhost:5000/policy", ("localhost:5000/policy", None, None)),
            ("localhost:5000/policy:v1@sha256:11", ("localhost:5000/policy", Some("v1"), Some("sha256:11"))),
            ("ghcr.io/policy@sha256:11", ("ghcr.io/policy", None, Some("sha256:11"))),
        ] {
            assert_eq!(parts(image), expected);
        }
        let own = concat!("localhost:5000/policy-cli:v", env!("CARGO_PKG_VERSION"));
        assert_eq!(command_line_image("registry://localhost:5000/policy@sha256:11"), own);
    }

    #[test]
    fn everything_is_there_once() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(once(texts(&["a", "b", "a"])), ["a", "b"]);
        assert_eq!(all_left_out(texts(&["kubewarden", "a", "-", "a"])), ["kube-system", "kubewarden", "a"]);
    }

    #[test]
    fn the_component_of_a_scanner_has_its_namespace() {
        for scanner in Scanner::value_variants() {
            if let Some(namespace) = scanner.namespace() {
                let rights = crate::command::init::base::text(&format!("{}/rights.yaml", scanner.component().unwrap()));
                assert!(rights.contains(&format!(", namespace: {namespace}}}\nsubjects")), "{scanner:?}");
            }
            if let Some(companion) = scanner.companion() {
                let rights = crate::command::init::base::text(&format!("{companion}/rights.yaml"));
                let own = format!(", namespace: {}}}\nsubjects", scanner.namespace().unwrap());
                assert_eq!(rights.matches(&own).count(), 2, "{scanner:?}");
            }
        }
    }
}
