//! Whether trivy-operator writes its reports into files, as its chart's `alternateReportStorage` has it: then it makes no objects, and
//! a policy never sees a report.

use std::collections::BTreeMap;

use image_admission_engine::{ReadKind, kinds_read};
use image_admission_explain::{Advice, Explanation};
use image_admission_settings::Settings;
use serde_json::{Value, json};

use image_admission_module_host::answers::{HostAnswers, HostCall};

/// The version of the operator's reports, of vulnerabilities and of what images are made of.
const REPORTS: &str = "aquasecurity.github.io/v1alpha1";
/// How the operator's chart and its manifests label its Deployment.
const LABEL: &str = "app.kubernetes.io/name=trivy-operator";
/// The operator writes files when both of these are set.
const ENABLED: &str = "OPERATOR_ALTERNATE_REPORT_STORAGE_ENABLED";
const FOLDER: &str = "OPERATOR_ALTERNATE_REPORT_STORAGE_DIR";

/// A trivy-operator whose reports are files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReportFiles {
    /// `namespace/name` of its Deployment.
    pub(super) deployment: String,
    /// Where it writes them, in its container.
    pub(super) folder: String,
}

/// What of the settings reads the operator's reports.
pub(super) fn readers(settings: &Settings) -> Vec<ReadKind> {
    kinds_read(settings).into_iter().filter(|read| read.api_version == REPORTS).collect()
}

/// The cluster's trivy-operator, where it writes files. None: there is no operator with the label of its chart, or one makes objects.
/// Secrets that the operator's container gets its variables from aren't read.
///
/// Fails when Deployments can't be listed.
pub(super) fn find(host: &dyn HostAnswers) -> Result<Option<ReportFiles>, String> {
    let wanted = json!({
        "api_version": "apps/v1", "kind": "Deployment", "label_selector": LABEL, "field_selector": null, "field_masks": null,
    });
    let found = ask(host, "list_resources_all", &wanted)?;
    let mut first = None;
    for deployment in list(&found, "/items") {
        match files_of(deployment, host) {
            Some(files) => first = first.or(Some(files)),
            None => return Ok(None),
        }
    }
    Ok(first)
}

/// Says of each image that waits for a report of the operator's that none will come.
pub(super) fn advise(explanation: &mut Explanation, files: &ReportFiles) {
    for cause in explanation.causes.iter_mut().chain(&mut explanation.waiting) {
        if cause.advice.iter().any(is_about_a_report) {
            let ReportFiles { deployment, folder } = files.clone();
            cause.advice.insert(0, Advice::MakeObjects { deployment, folder });
        }
    }
}

/// Whether an explanation has anybody wait for a report.
pub(super) fn waits(explanation: &Explanation) -> bool {
    let mut causes = explanation.causes.iter().chain(&explanation.waiting);
    causes.any(|cause| cause.advice.iter().any(is_about_a_report))
}

fn is_about_a_report(advice: &Advice) -> bool {
    match advice {
        Advice::ForPods(advice) => is_about_a_report(advice),
        advice => matches!(advice, Advice::Wait | Advice::Scan | Advice::ScanAgain | Advice::MakeSbom),
    }
}

fn ask(host: &dyn HostAnswers, operation: &str, wanted: &Value) -> Result<Value, String> {
    let call = HostCall {
        binding: "kubewarden".to_owned(),
        namespace: "kubernetes".to_owned(),
        operation: operation.to_owned(),
        payload: wanted.to_string().into_bytes(),
    };
    serde_json::from_slice(&host.answer(&call)?).map_err(|error| error.to_string())
}

fn files_of(deployment: &Value, host: &dyn HostAnswers) -> Option<ReportFiles> {
    let (name, namespace) = (text(deployment, "/metadata/name"), text(deployment, "/metadata/namespace"));
    let folder = list(deployment, "/spec/template/spec/containers").find_map(|container| {
        let variables = variables(container, namespace, host);
        let folder = variables.get(FOLDER).filter(|folder| !folder.is_empty())?;
        variables.get(ENABLED).is_some_and(|text| is_true(text)).then(|| folder.clone())
    })?;
    Some(ReportFiles { deployment: format!("{namespace}/{name}"), folder })
}

/// What a container's environment says: ConfigMaps in their order, then the variables of its own. A ConfigMap that can't be
/// read says nothing.
fn variables(container: &Value, namespace: &str, host: &dyn HostAnswers) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for from in list(container, "/envFrom") {
        let Some(name) = from.pointer("/configMapRef/name").and_then(Value::as_str) else { continue };
        let wanted = json!({
            "api_version": "v1", "kind": "ConfigMap", "name": name, "namespace": namespace, "disable_cache": true, "field_masks": null,
        });
        let map = ask(host, "get_resource", &wanted).unwrap_or_default();
        let data = map.get("data").and_then(Value::as_object).into_iter().flatten();
        let prefix = text(from, "/prefix");
        variables.extend(data.map(|(key, value)| (format!("{prefix}{key}"), text(value, "").to_owned())));
    }
    let own = list(container, "/env").map(|own| (text(own, "/name").to_owned(), text(own, "/value").to_owned()));
    variables.extend(own);
    variables
}

fn list<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// As Go reads a boolean.
fn is_true(text: &str) -> bool {
    ["1", "t", "T", "TRUE", "true", "True"].contains(&text)
}
