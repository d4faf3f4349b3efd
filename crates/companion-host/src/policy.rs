//! The policy whose settings say which scanner there is, and which images need a report.

use image_admission_companion::{CompanionSettings, Scanner};
use image_admission_engine::check_settings;
use image_admission_manifests::label_selector::{Label, excludes};
use image_admission_settings::Settings;
use kube::Client;
use kube::api::{Api, ApiResource};
use kube::core::{DynamicObject, GroupVersionKind};
use serde_json::Value;
use std::collections::BTreeMap;

/// The label that each namespace has, with its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A policy, as far as the companion needs it.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// Its `spec.settings` and selector as they are written: another text is another policy.
    pub(crate) written: (Value, Value),
    pub(crate) scanner: Scanner,
    /// What of its settings says which images need a report of this scanner.
    pub(crate) settings: Settings,
}

impl Policy {
    /// Reads the policy that the companion's settings name.
    ///
    /// # Errors
    /// It isn't there or can't be read, its settings are invalid, or it has no source that can be asked for scans.
    pub(crate) async fn read(client: &Client, settings: &CompanionSettings) -> Result<Self, String> {
        let kind = GroupVersionKind::gvk("policies.kubewarden.io", "v1", "ClusterAdmissionPolicy");
        let api = Api::<DynamicObject>::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let name = &settings.policy;
        let policy = api.get(name).await.map_err(|error| match error {
            kube::Error::Api(status) => format!("the policy `{name}` can't be read: {}", status.reason),
            _ => format!("the policy `{name}` can't be read: no answer from the API server"),
        })?;
        let field = |pointer: &str| policy.data.pointer(pointer).cloned().unwrap_or_default();
        let written = (field("/spec/settings"), field("/spec/namespaceSelector"));
        let read = check_settings(&written.0)
            .map_err(|problems| format!("the settings of the policy `{name}` are invalid: {problems}"))?;
        let (scanner, settings) = Scanner::of(&read, settings).ok_or_else(|| {
            format!(
                "`reports.sources` of the policy `{name}` has no `trivyOperator` and no `sbomscanner` with `namespaces`; \
                 other sources can't be asked for scans"
            )
        })?;
        Ok(Self { written, scanner, settings })
    }

    /// Whether the policy's `namespaceSelector` leaves a namespace out, by its labels.
    pub(crate) fn leaves_out(&self, namespace: &str, labels: Option<&BTreeMap<String, String>>) -> bool {
        excludes(&self.written.1, |key| match labels {
            _ if key == NAME_LABEL => Label::Is(namespace),
            Some(labels) => labels.get(key).map_or(Label::Missing, |value| Label::Is(value)),
            None => Label::Missing,
        })
    }
}
