//! Whether the companion, where it is deployed, is ready and may do what it does: the rights are those of `deploy/`.

use std::path::Path;

use image_admission_manifests::document::documents_in;
use image_admission_settings::{Namespaces, ReportSource};
use serde_json::{Map, Value};

use super::cluster::{list, text};
use super::finding::{About, Check, Finding, Status};
use super::rights::{Need, ask, verbs_to};
use super::world::{DEPLOYMENT, World};
use crate::command::init::base;

const COMPANION: &str = "image-admission-companion";
/// Its ConfigMaps.
const MAPS: [&str; 3] = [COMPANION, "image-admission-companion-evidence", "image-admission-companion-scan-job"];

pub(super) fn check(world: &World<'_>) -> Vec<Finding> {
    let mut about = About::new(Check::Companion, "companion");
    let deployments = world.list(DEPLOYMENT, Some(&world.kubewarden), &[]);
    let is_it = |own: &&Value| {
        own.pointer("/metadata/labels").and_then(|labels| labels.get("app.kubernetes.io/name"))
            == Some(&COMPANION.into())
    };
    let companion = match &*deployments {
        Ok(all) => all.iter().find(is_it),
        Err(why) => return about.only(Status::Unknown, why.clone()),
    };
    let Some(companion) = companion else {
        return about.or_ok(format!("it isn't deployed in namespace `{}`", world.kubewarden));
    };
    if companion.pointer("/status/readyReplicas").and_then(Value::as_u64).unwrap_or(0) == 0 {
        about.add(Status::Fail, "none of its Pods is ready, so that nobody asks for scans");
    }
    let maps = world.list(("v1", "ConfigMap"), Some(&world.kubewarden), &[]);
    let maps = match &*maps {
        Ok(maps) => maps,
        Err(why) => return about.only(Status::Unknown, format!("its settings aren't known: {why}")),
    };
    let account = text(companion, "/spec/template/spec/serviceAccountName");
    let fine = ask(world, account, &needs(world, maps), &mut about);
    about.or_ok(format!("it is ready, and {fine}"))
}

/// The rights of the components that the companion's settings and those of its policy use.
fn needs(world: &World<'_>, maps: &[Value]) -> Vec<Need> {
    let settings = settings(maps);
    let named = |pointer: &str, otherwise: &str| {
        Some(text(&settings, pointer)).filter(|own| !own.is_empty()).unwrap_or(otherwise).to_owned()
    };
    let names = Names { policy: named("/policy", "image-admission"), cron_job: named("/scanJob/cronJob", "scan") };
    let own = [world.kubewarden.clone()];
    let mut needs = rights("companion", &own, &names);
    if settings.get("wake") == Some(&Value::Bool(false)) {
        needs.retain(|need| !need.is_of_status());
    }
    let policy = world.policies.iter().find(|policy| policy.name() == names.policy && !policy.is_group());
    let sources = policy.and_then(|policy| policy.settings.as_ref().ok()).map(|read| read.reports.sources.as_slice());
    let has_jobs = settings.get("scanJob").is_some();
    let scanner =
        |component: &str, of: &Namespaces| (!of.named.is_empty()).then(|| rights(component, &of.named, &names));
    // It asks the first that can be asked.
    needs.extend(
        sources
            .into_iter()
            .flatten()
            .find_map(|source| match source {
                ReportSource::SbomScanner(of) => scanner("companion-sbomscanner", &of.namespaces),
                ReportSource::TrivyOperator(of) => scanner("companion-trivy-operator", &of.namespaces),
                ReportSource::Registry(_) | ReportSource::Attestation(_) => has_jobs.then(Vec::new),
                ReportSource::Kubescape(_) | ReportSource::Custom(_) => None,
            })
            .unwrap_or_default(),
    );
    if settings.get("evidence").is_some() {
        needs.extend(rights("companion-evidence", &own, &names));
    }
    if has_jobs {
        needs.extend(rights("companion-scan-job", &[text(&settings, "/scanJob/namespace").to_owned()], &names));
    }
    needs
}

/// The companion's settings, of which each file of its ConfigMaps has some.
fn settings(maps: &[Value]) -> Value {
    let own = maps.iter().filter(|map| MAPS.contains(&text(map, "/metadata/name")));
    let files = own.filter_map(|map| map.get("data")?.as_object()).flat_map(Map::values).filter_map(Value::as_str);
    let read = files.filter_map(|file| yaml_serde::from_str::<Map<String, Value>>(file).ok());
    Value::Object(read.flatten().collect())
}

/// The names in a component's rights that settings may change.
struct Names {
    policy: String,
    cron_job: String,
}

/// What a component of `deploy/` grants: cluster-wide, or in these namespaces, of which the first is where objects are created.
fn rights(component: &str, namespaces: &[String], names: &Names) -> Vec<Need> {
    let path = format!("{component}/rights.yaml");
    let documents = documents_in(Path::new(&path), base::text(&path)).unwrap_or_default();
    let objects: Vec<Value> =
        documents.iter().filter_map(|document| serde_json::from_str(document.json.get()).ok()).collect();
    let (mut needs, what_for) = (Vec::new(), format!("`deploy/{path}` grants it"));
    for role in objects.iter().filter(|object| !list(object, "/rules").is_empty()) {
        let same = |object: &Value, pointer, own| text(object, pointer) == text(role, own);
        let binds =
            |object: &&Value| same(object, "/roleRef/kind", "/kind") && same(object, "/roleRef/name", "/metadata/name");
        let is_everywhere = objects.iter().filter(binds).any(|binding| text(binding, "/kind") == "ClusterRoleBinding");
        for rule in list(role, "/rules") {
            let texts = |pointer: &str| list(rule, pointer).iter().filter_map(Value::as_str);
            let count = if texts("/verbs").any(|verb| verb == "create") { 1 } else { namespaces.len() };
            let places: Vec<Option<String>> =
                if is_everywhere { vec![None] } else { namespaces.iter().take(count).cloned().map(Some).collect() };
            let group = texts("/apiGroups").next().unwrap_or_default();
            for resource in texts("/resources") {
                let name = texts("/resourceNames").next().map(|name| match resource {
                    "clusteradmissionpolicies" => &*names.policy,
                    "cronjobs" => &*names.cron_job,
                    _ => name,
                });
                needs.extend(verbs_to((group, resource), texts("/verbs"), &places, name, &what_for));
            }
        }
    }
    needs
}
