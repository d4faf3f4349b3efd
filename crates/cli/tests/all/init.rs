//! `image-admission init`: what it says (each file `init/*.txt` is a transcript, see `support/transcripts.rs`), and that what it
//! writes applies unchanged, is valid, and grants what is read and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use image_admission_engine::{check_settings, kinds_read};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lint::{NO_FINDINGS, served};
use crate::support::deployed::{grants_first, is_granted_exactly, is_twin, is_valid_without_a_notice};
use crate::support::kubewarden::{FailurePolicy, Kind, Mode};
use crate::support::rendered::Rendered;
use crate::support::transcripts::{self, image_admission};
use crate::support::{copy_all, module_path};

fn tests() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/init"))
}

#[test]
fn transcripts_are_as_they_were_read() {
    transcripts::check(&tests(), |arguments, input| {
        let folder = TempDir::new().unwrap();
        copy_all(&tests().join("world"), folder.path());
        image_admission(folder.path(), arguments, input)
    });
}

/// What somebody chooses.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    scanner: &'static str,
    signer: Option<&'static str>,
    /// Of the reports. Empty: those that it takes by itself.
    namespaces: &'static [&'static str],
    mode: &'static str,
    is_validating: bool,
}

impl Chosen {
    /// Everything that can be chosen of these, one with another.
    fn all() -> Vec<Self> {
        // The scanner's own namespace, others, both, and names that YAML takes for something else.
        const NAMESPACES: [&[&str]; 5] = [
            &[],
            &["scans"],
            &["a", "b", "sbomscanner", "image-scans"],
            &["c", "image-scans", "d", "e"],
            &["no", "1e3", "null"],
        ];
        let of = |scanner, signer, namespaces: &[&'static [&'static str]]| -> Vec<(_, _, &'static [&'static str])> {
            namespaces.iter().map(|namespaces| (scanner, signer, *namespaces)).collect()
        };
        let sources = [
            of("sbomscanner", None, &NAMESPACES),
            of("trivy-operator", None, &NAMESPACES),
            of("kubescape", None, &[&[], &["scans"], &["on"]]),
            of("registry", Some("ci.pub"), &[&[]]),
            of("registry", Some("github:team/app"), &[&[]]),
            of("registry", Some("github:team"), &[&[]]),
            of("none", None, &[&[]]),
        ];
        let mut all = Vec::new();
        for (scanner, signer, namespaces) in sources.into_iter().flatten() {
            for mode in ["monitor", "enforce"] {
                for is_validating in [false, true] {
                    all.push(Self { scanner, signer, namespaces, mode, is_validating });
                }
            }
        }
        all
    }

    /// Where the reports are.
    fn trusted(&self) -> BTreeSet<String> {
        let own: &[&str] = match self.scanner {
            _ if !self.namespaces.is_empty() => self.namespaces,
            "sbomscanner" => &["sbomscanner"],
            "trivy-operator" => &["image-scans"],
            "kubescape" => &["kubescape"],
            _ => &[],
        };
        own.iter().map(|name| (*name).to_owned()).collect()
    }

    /// Has everything written, below a folder that has the signers' keys.
    #[track_caller]
    fn write(&self, folder: &Path, name: &str) -> PathBuf {
        self.write_with(folder, name, &[])
    }

    /// The same, with more options.
    #[track_caller]
    fn write_with(&self, folder: &Path, name: &str, options: &[&str]) -> PathBuf {
        let namespaces = self.namespaces.join(",");
        let mut arguments = vec!["init", "--scanner", self.scanner, "--registries", "localhost:5000,ghcr.io"];
        arguments.extend([
            "--module",
            "ghcr.io/team/policy:v1.0.0",
            "--leave-out",
            "off,cert-manager",
            "--mode",
            self.mode,
        ]);
        arguments.extend(self.signer.into_iter().flat_map(|signer| ["--signer", signer]));
        arguments.extend(self.is_validating.then_some("--validating"));
        if !namespaces.is_empty() {
            arguments.extend(["--report-namespaces", &namespaces]);
        }
        arguments.extend(options);
        arguments.push(name);
        let outcome = image_admission(folder, &arguments, b"");
        assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""), "{self:?}");
        folder.join(name)
    }

    /// What must hold of what was written.
    #[track_caller]
    fn check(&self, folder: &Path, rendered: &Rendered) {
        let written: Value = yaml_serde::from_str(&fs::read_to_string(folder.join("policy.yaml")).unwrap()).unwrap();
        let settings = &written["spec"]["settings"];
        let policies = rendered.policies();
        let first = rendered.policy("image-admission");
        let mut applied = first.spec.settings.clone();
        // The companion's component adds how to ask it, which decides nothing.
        applied.pointer_mut("/reports").and_then(Value::as_object_mut).map(|reports| reports.remove("scanOnDemand"));
        assert_eq!(applied, *settings, "{self:?}: the suite tests what is applied");
        is_valid_without_a_notice(settings);

        let wanted = match self.mode {
            "monitor" => (Some(Mode::Monitor), Some(FailurePolicy::Ignore)),
            _ => (Some(Mode::Protect), Some(FailurePolicy::Fail)),
        };
        assert_eq!(policies.len(), if self.is_validating { 2 } else { 1 }, "{self:?}");
        for policy in &policies {
            assert_eq!((policy.spec.mode, policy.spec.failure_policy), wanted, "{self:?}");
            assert_eq!(policy.spec.module, "registry://ghcr.io/team/policy:v1.0.0");
            assert_eq!(policy.spec.policy_server, rendered.server().metadata.name);
            let selector = policy.spec.namespace_selector.as_ref().unwrap();
            let left_out = selector.match_expressions.as_ref().unwrap()[0].values.as_ref().unwrap();
            assert_eq!(*left_out, ["kube-system", "kubewarden", "off", "cert-manager"], "{self:?}");
        }
        if self.is_validating {
            is_twin(&first, &rendered.policy("image-admission-validating"));
        }

        let read = kinds_read(&check_settings(settings).unwrap()).into_iter();
        let read: BTreeSet<Kind> = read.map(|read| Kind { api_version: read.api_version, kind: read.kind }).collect();
        let listed: Vec<Kind> = first.spec.context_aware_resources.clone().unwrap();
        assert_eq!(listed.iter().cloned().collect::<BTreeSet<Kind>>(), read, "{self:?}");
        assert_eq!(listed.len(), read.len(), "{self:?}: none is there twice");
        let granted = rendered.granted();
        is_granted_exactly(settings, &first.spec, &granted, &format!("{self:?}"));
        let namespaces: Vec<String> = granted.iter().map(|rights| rights.namespace.clone().unwrap()).collect();
        assert_eq!(namespaces.iter().cloned().collect::<BTreeSet<String>>(), self.trusted(), "{self:?}");
        assert_eq!(namespaces.len(), self.trusted().len(), "{self:?}: once in each");
        let everywhere: BTreeSet<_> = granted.iter().map(|rights| json!(rights.rules).to_string()).collect();
        assert!(everywhere.len() <= 1, "{self:?}: the same in each");
        grants_first(rendered);

        // Who deletes what was applied deletes no namespace of others.
        let made: Vec<&str> = rendered
            .objects
            .iter()
            .filter(|object| object["kind"] == "Namespace")
            .map(|object| object["metadata"]["name"].as_str().unwrap())
            .collect();
        let is_made = self.scanner == "trivy-operator" && self.trusted().contains("image-scans");
        assert_eq!(made, if is_made { &["image-scans"][..] } else { &[] }, "{self:?}");
    }
}

#[test]
fn whatever_is_chosen_applies_unchanged_and_grants_what_is_read_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    for (number, chosen) in Chosen::all().iter().enumerate() {
        let overlay = chosen.write(folder.path(), &format!("overlay-{number}"));
        let Some(rendered) = Rendered::of(&overlay) else { return };
        chosen.check(&overlay, &rendered);
        let objects: Vec<String> = rendered.objects.iter().map(Value::to_string).collect();
        let outcome = image_admission(folder.path(), &["lint", "-"], objects.join("\n").as_bytes());
        assert_eq!(
            (outcome.code, outcome.output.as_str(), outcome.errors.as_str()),
            (0, NO_FINDINGS, ""),
            "{chosen:?}"
        );
    }
}

#[test]
fn every_suite_passes_at_once() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    let (mut suites, mut cases) = (Vec::new(), 0);
    for (number, chosen) in Chosen::all().iter().enumerate() {
        suites.push(chosen.write(folder.path(), &format!("overlay-{number}")).display().to_string());
        cases += if chosen.scanner == "none" { 2 } else { 4 };
    }
    let module = module_path().display().to_string();
    let arguments: Vec<&str> =
        ["test", "--module", &module].into_iter().chain(suites.iter().map(String::as_str)).collect();
    let outcome = image_admission(folder.path(), &arguments, b"");
    assert_eq!((outcome.output, outcome.errors), (format!("PASS: {cases}/{cases}\n"), String::new()));
}

/// Whatever the first registry is called, its images are those of the suite.
#[test]
fn suites_are_about_the_first_registry() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    let hosts = ["docker.io", "10.0.0.1:5000", "registry.registry.svc", "elsewhere.example", "localhost"];
    let scanners: [&[&str]; 5] =
        [&["sbomscanner"], &["trivy-operator"], &["kubescape"], &["registry", "--signer", "ci.pub"], &["none"]];
    for (number, host) in hosts.iter().enumerate() {
        for scanner in scanners {
            let name = format!("{}-{number}", scanner[0]);
            let options = ["--registries", host, "--module", "ghcr.io/team/policy:v1.0.0", &name];
            let outcome = image_admission(folder.path(), &[&["init", "--scanner"], scanner, &options].concat(), b"");
            assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""), "{host}: {scanner:?}");
        }
    }
    let module = module_path().display().to_string();
    let outcome = image_admission(folder.path(), &["test", "--module", &module, "."], b"");
    assert_eq!((outcome.output.as_str(), outcome.errors.as_str()), ("PASS: 90/90\n", ""));
}

/// The texts of all files of a folder, by their paths.
fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let (mut texts, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read_to_string(&path).unwrap());
            }
        }
    }
    texts
}

#[test]
fn the_same_choices_give_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    for chosen in Chosen::all().iter().filter(|chosen| chosen.signer.is_none()) {
        let [one, other] = [0, 1].map(|number| {
            let name = format!("{number}");
            let texts = texts(&chosen.write(folder.path(), &name));
            fs::remove_dir_all(folder.path().join(name)).unwrap();
            texts
        });
        assert_eq!(one, other, "{chosen:?}");
        for (path, text) in one {
            // What may be there already is looked for by these names.
            let own = ["kustomization.yaml", "policy.yaml", "policy-server.yaml", "rights.yaml", "tests", "base"];
            assert!(own.iter().any(|name| path.starts_with(name)), "{}", path.display());
            assert!(text.ends_with('\n') && !text.contains(" \n"), "{chosen:?}: {}", path.display());
        }
    }
}

/// Nothing is lost, and nothing is half there.
#[test]
fn what_is_there_stays() {
    let folder = TempDir::new().unwrap();
    let chosen = Chosen { scanner: "none", signer: None, namespaces: &[], mode: "monitor", is_validating: false };
    let overlay = chosen.write(folder.path(), "overlay");
    fs::write(overlay.join("mine.yaml"), "mine: true\n").unwrap();
    fs::remove_file(overlay.join("kustomization.yaml")).unwrap();
    let before = texts(&overlay);
    let arguments =
        ["init", "--scanner", "none", "--registries", "ghcr.io", "--module", "ghcr.io/team/policy:v2.0.0", "overlay"];
    let refused = image_admission(folder.path(), &arguments, b"");
    assert_eq!(refused.code, 1);
    assert!(refused.errors.contains("give another folder, or `--force`"), "{}", refused.errors);
    assert_eq!(texts(&overlay), before);
    let forced = image_admission(folder.path(), &[&arguments[..], &["--force"]].concat(), b"");
    assert_eq!((forced.code, forced.errors.as_str()), (0, ""));
    let after = texts(&overlay);
    assert_eq!(after[Path::new("mine.yaml")], "mine: true\n");
    assert!(after[Path::new("policy.yaml")].contains("team/policy:v2.0.0"));
}

/// What is asked for beside the scanner applies too, the suite passes with it, and lint has nothing to say.
#[test]
fn components_and_signatures_apply_too() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    let module = module_path().display().to_string();
    for (number, (scanner, signer)) in
        [("sbomscanner", "ci.pub"), ("trivy-operator", "github:team/app"), ("none", "ci.pub")].iter().enumerate()
    {
        let name = format!("overlay-{number}");
        let signed = format!("ghcr.io/team/={signer}");
        let options = ["--registries", "ghcr.io", "--module", "ghcr.io/team/policy:v1.0.0", "--mode", "enforce", &name];
        let with = ["--with", "break-glass,exemptions,monitoring", "--signed-by", &signed];
        let arguments = [&["init", "--scanner", scanner], &options[..], &with].concat();
        let outcome = image_admission(folder.path(), &arguments, b"");
        assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""), "{scanner}");
        let tested = image_admission(folder.path(), &["test", "--module", &module, &name], b"");
        let cases = if *scanner == "none" { 3 } else { 5 };
        assert_eq!(tested.output, format!("PASS: {cases}/{cases}\n"), "{scanner}: {}", tested.errors);
        let Some(rendered) = Rendered::of(&folder.path().join(&name)) else { return };
        let settings = &rendered.policy("image-admission").spec.settings;
        assert_eq!(settings["breakGlass"]["annotation"], "image-admission/break-glass");
        assert_eq!(settings["exemptionsFrom"]["namespace"], "kubewarden");
        assert!(rendered.objects.iter().any(|object| object["kind"] == "ServiceMonitor"));
        let objects: Vec<String> = rendered.objects.iter().map(Value::to_string).collect();
        let linted =
            image_admission(folder.path(), &["lint", "--fail-on", "warning", "-"], objects.join("\n").as_bytes());
        assert_eq!((linted.code, linted.errors.as_str()), (0, ""), "{scanner}: {}", linted.output);
    }
    for wrong in ["ci.pub", "ghcr.io=ci.pub", "=ci.pub", "/=ci.pub", "ghcr.io/team=ci.pub"] {
        let options = ["init", "--scanner", "none", "--registries", "ghcr.io", "--module", "ghcr.io/a/b:v1"];
        let outcome = image_admission(folder.path(), &[&options[..], &["--signed-by", wrong]].concat(), b"");
        assert!(
            outcome.code == 1 && outcome.errors.contains("write `ghcr.io/team/=SIGNER`"),
            "{wrong}: {}",
            outcome.errors
        );
    }
}

/// It asks in the first namespace with reports, reads them in all, and the policy server is granted what it is without it.
#[test]
fn the_companion_is_granted_what_it_needs_where_reports_are() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    for (number, chosen) in
        Chosen::all().iter().filter(|chosen| chosen.is_validating && chosen.mode == "enforce").enumerate()
    {
        let asks = match chosen.scanner {
            "sbomscanner" => "image-admission-companion-sbomscanner",
            "trivy-operator" => "image-admission-companion-trivy-operator",
            _ => continue,
        };
        let name = format!("overlay-{number}");
        let overlay = chosen.write_with(folder.path(), &name, &["--with", "companion"]);
        let Some(rendered) = Rendered::of(&overlay) else { return };
        chosen.check(&overlay, &rendered);
        for policy in rendered.policies() {
            assert_eq!(policy.spec.settings["reports"]["scanOnDemand"], true, "{chosen:?}");
        }
        let first = chosen.namespaces.first().copied().unwrap_or(match chosen.scanner {
            "sbomscanner" => "sbomscanner",
            _ => "image-scans",
        });
        let bound = |name: &str| -> BTreeSet<String> {
            let bindings = rendered.of_kind("RoleBinding").filter(|binding| binding["metadata"]["name"] == name);
            bindings.map(|binding| binding["metadata"]["namespace"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(bound(asks), BTreeSet::from([first.to_owned()]), "{chosen:?}");
        assert_eq!(bound(&format!("{asks}-reports")), chosen.trusted(), "{chosen:?}");
        let [deployment] = rendered.of_kind("Deployment").collect::<Vec<_>>().try_into().unwrap();
        let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(*image, concat!("ghcr.io/team/policy-cli:v", env!("CARGO_PKG_VERSION")));
        let objects: Vec<String> = rendered.objects.iter().map(Value::to_string).collect();
        let linted = image_admission(folder.path(), &["lint", "-"], objects.join("\n").as_bytes());
        assert_eq!((linted.code, linted.output.as_str(), linted.errors.as_str()), (0, NO_FINDINGS, ""), "{chosen:?}");
    }
}

/// It copies evidence only where the policy reads it from the cluster.
#[test]
fn the_companion_copies_evidence_for_a_policy_that_reads_it() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    let all = Chosen::all();
    let chosen = all.iter().find(|chosen| chosen.scanner == "trivy-operator").unwrap();
    let none = all.iter().find(|chosen| chosen.scanner == "none").unwrap();
    let cases = [
        (chosen, "companion,evidence", true),
        (chosen, "companion", false),
        (chosen, "evidence", false),
        // Without a scanner, it copies evidence alone.
        (none, "companion,evidence", true),
    ];
    for (number, (chosen, with, copies)) in cases.into_iter().enumerate() {
        let overlay = chosen.write_with(folder.path(), &format!("overlay-{number}"), &["--with", with]);
        let Some(rendered) = Rendered::of(&overlay) else { return };
        let settings = rendered.of_kind("ConfigMap").filter_map(|map| map["data"]["evidence.yaml"].as_str());
        assert_eq!(settings.count() == 1, copies, "{with}");
        let is_role = |role: &&Value| role["metadata"]["name"] == "image-admission-companion-evidence";
        assert_eq!(rendered.of_kind("ClusterRole").any(|role| is_role(&role)), copies, "{with}");
    }
}

/// Signatures are asked for where images may come from.
#[test]
fn signed_images_are_of_a_registry() {
    let folder = TempDir::new().unwrap();
    copy_all(&tests().join("world"), folder.path());
    let options = ["init", "--scanner", "none", "--registries", "ghcr.io", "--module", "ghcr.io/a/b:v1"];
    let outcome =
        image_admission(folder.path(), &[&options[..], &["--signed-by", "quay.io/team/=ci.pub"]].concat(), b"");
    let why = "error: `--signed-by` is about images of `quay.io`, which isn't one of the registries: add it to `--registries`\n";
    assert_eq!((outcome.code, outcome.errors.as_str()), (1, why));
}

/// An upgrade writes the base anew, and nothing else.
#[test]
fn an_upgrade_writes_only_the_base() {
    let folder = TempDir::new().unwrap();
    let chosen = Chosen { scanner: "none", signer: None, namespaces: &[], mode: "monitor", is_validating: false };
    let overlay = chosen.write(folder.path(), "overlay");
    let before = texts(&overlay);
    fs::write(overlay.join("policy.yaml"), "mine: true\n").unwrap();
    fs::write(overlay.join("base/policy-server.yaml"), "old: true\n").unwrap();
    let outcome = image_admission(folder.path(), &["init", "--base-only", "overlay"], b"");
    assert_eq!((outcome.code, outcome.errors.as_str()), (0, ""));
    let mut after = texts(&overlay);
    assert_eq!(after.insert("policy.yaml".into(), before[Path::new("policy.yaml")].clone()).unwrap(), "mine: true\n");
    assert_eq!(after, before);
    let nothing = image_admission(folder.path(), &["init", "--base-only", "elsewhere"], b"");
    assert_eq!(nothing.code, 1);
    assert!(nothing.errors.contains("there is no `elsewhere/kustomization.yaml`"), "{}", nothing.errors);
}

/// The folder stands for the settings that are applied, with those of its components; and its two policies have the same ones.
#[test]
fn the_folder_can_be_given_for_its_settings() {
    let folder = TempDir::new().unwrap();
    let options =
        ["--registries", "ghcr.io", "--module", "ghcr.io/a/b:v1", "--with", "break-glass", "--validating", "overlay"];
    let init = image_admission(folder.path(), &[&["init", "--scanner", "none"], &options[..]].concat(), b"");
    assert_eq!((init.code, init.errors.as_str()), (0, ""));
    if Rendered::of(&folder.path().join("overlay")).is_none() {
        return;
    }
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "annotations": {"image-admission/break-glass": "TICKET-7"}},
        "spec": {"containers": [{"name": "c", "image": "ghcr.io/a:1"}]}});
    fs::create_dir(folder.path().join("cluster")).unwrap();
    fs::write(folder.path().join("pod.json"), pod.to_string()).unwrap();
    let module = module_path().display().to_string();
    let run = |settings: &str| {
        let arguments =
            ["run", "pod.json", "--settings", settings, "--cluster", "cluster", "--module", &module, "-o", "json"];
        image_admission(folder.path(), &arguments, b"").output
    };
    let refused = "break-glass.refused";
    assert!(run("overlay").contains(refused) && !run("overlay/policy.yaml").contains(refused), "{}", run("overlay"));
    // A second policy that says something else is none that can be left out.
    let other = "apiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: other}\nspec: {mutating: false, settings: {registries: [docker.io]}}\n";
    fs::write(folder.path().join("overlay/other.yaml"), other).unwrap();
    let kustomization = folder.path().join("overlay/kustomization.yaml");
    let text = fs::read_to_string(&kustomization).unwrap();
    fs::write(&kustomization, text.replace("resources:\n", "resources:\n  - other.yaml\n")).unwrap();
    assert_eq!(run("overlay"), "");
    fs::write(&kustomization, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n").unwrap();
    assert_eq!(run("overlay"), "", "nothing is rendered, which is no default");
}

/// What runs already names the registries, and what would be denied is told.
#[test]
fn what_runs_is_looked_at() {
    let pod = |namespace: &str, images: &[&str]| {
        let containers: Vec<Value> = images.iter().map(|image| json!({"name": "a", "image": image})).collect();
        json!({"metadata": {"name": "p", "namespace": namespace}, "spec": {"initContainers": [], "containers": containers}})
    };
    let items = json!([
        pod("shop", &["ghcr.io/shop/web:1", "ghcr.io/shop/db:1", "nginx"]),
        pod("cert-manager", &["quay.io/jetstack/cert-manager-controller:v1"]),
        pod("tools", &["registry.k8s.io/pause:3", "A b"]),
    ]);
    let answers = BTreeMap::from([
        (
            "/api/v1".to_owned(),
            json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [
                {"name": "pods", "singularName": "", "namespaced": true, "kind": "Pod", "verbs": ["get", "list"]}]}),
        ),
        (
            "/api/v1/pods?&limit=500".to_owned(),
            json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}),
        ),
    ]);
    let folder = TempDir::new().unwrap();
    let kubeconfig = served(folder.path(), answers);
    let init = |options: &[&str]| {
        let own =
            ["init", "--scanner", "sbomscanner", "--module", "ghcr.io/a/b:v1", "--live", "--kubeconfig", &kubeconfig];
        image_admission(folder.path(), &[&own[..], options].concat(), b"")
    };
    let all = init(&["--registries", "ghcr.io,docker.io,registry.k8s.io", "all"]);
    assert_eq!((all.code, all.errors.as_str()), (0, ""));
    assert!(all.output.contains("\nThe images that run today are from your registries"), "{}", all.output);
    // What runs is no choice: whoever may create Pods would make it.
    let unasked = init(&["unasked"]);
    assert!(unasked.code == 1 && unasked.errors.contains("`--registries` is missing"), "{}", unasked.errors);
    let some = init(&["--registries", "ghcr.io", "some"]);
    let told = "
These images run today and would be denied, since their registries aren't listed:
  docker.io: 1 of them, such as nginx in namespace shop
  registry.k8s.io: 1 of them, such as registry.k8s.io/pause:3 in namespace tools
";
    assert!(some.output.contains(told), "{}", some.output);
    let refused = image_admission(
        folder.path(),
        &[
            "init",
            "--scanner",
            "none",
            "--module",
            "ghcr.io/a/b:v1",
            "--registries",
            "ghcr.io",
            "--live",
            "--kubeconfig",
            &served(folder.path(), BTreeMap::new()),
        ],
        b"",
    );
    assert!(
        refused.code == 1 && refused.errors.contains("`--live` lists the Pods of all namespaces, and can't: "),
        "{}",
        refused.errors
    );
}
