//! What `run`, `explain` and `bench` have in common: requests to decide, and the policy that decides them.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::value::RawValue;

use super::files::{File, Files};
use super::policy::ModuleOption;
use super::run::RunError;
use super::{complain, invalid_settings, seconds, warn};
use image_admission_manifests::document;
use image_admission_manifests::fields::Fields;
use image_admission_manifests::manifest::ManifestOptions;
use image_admission_manifests::request::{Request, RequestFile, Requests, requests_in};
use image_admission_manifests::settings::{Found, chosen};
use image_admission_module_host::answers::Grants;

/// Which requests are decided, and by which policy.
#[derive(Args, Debug)]
pub(super) struct DecisionOptions {
    /// What to decide: files and folders with manifests, AdmissionReviews or AdmissionRequests, as YAML or JSON; `-` is the standard
    /// input
    // Commands that can't do without say so: `required_unless_present`.
    #[arg(value_name = "PATH")]
    files: Vec<PathBuf>,

    /// The same. May be repeated
    #[arg(short, long, value_name = "PATH")]
    file: Vec<PathBuf>,

    /// The policy's settings: as they are, or in a ClusterAdmissionPolicy or AdmissionPolicy, also among other objects, or in what
    /// kustomize makes of a folder. Without them, every default
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,

    /// Which policy's settings are meant, where the file has several: its name, or `<namespace>/<name>`
    #[arg(long, value_name = "NAME", requires = "settings")]
    settings_of: Option<String>,

    #[command(flatten)]
    pub(super) module: ModuleOption,

    /// How long the policy may take for one request; the default is that of the policy server
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    pub(super) timeout: Duration,
}

impl DecisionOptions {
    /// Whether there is anything to decide.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn names_objects(&self) -> bool {
        !self.files.is_empty() || !self.file.is_empty()
    }

    /// Every request of every file; `manifests` says how one is made for a plain manifest.
    pub(super) fn requests(&self, manifests: &ManifestOptions) -> Result<Vec<Request>, RunError> {
        let paths: Vec<PathBuf> = self.files.iter().chain(&self.file).cloned().collect();
        let files = Files::with_manifests(&paths)?.readable()?.into_iter();
        let files: Vec<RequestFile> = files.map(|File { path, is_named }| RequestFile { path, is_named }).collect();
        let Requests { requests, passed_over } = requests_in(&files, manifests)?;
        if let Some(first) = passed_over.first() {
            warn(&format!(
                "documents that are no objects are passed over: {}, the first is {first}",
                passed_over.len()
            ));
        }
        if requests.is_empty() {
            let names: Vec<String> = paths.iter().map(|path| document::name(path)).collect();
            return Err(RunError::Nothing(names.join(", ")));
        }
        Ok(requests)
    }

    /// The settings as JSON, and what their policy may ask of the host. That it is never asked about the namespace of a request is
    /// said in a warning.
    pub(super) fn settings(&self, requests: &[Request]) -> Result<(Box<RawValue>, Grants), RunError> {
        let own = |path| chosen(path, self.settings_of.as_deref());
        let found = self.settings.as_deref().map(own).transpose()?.flatten();
        if let Some(policy) = found.as_ref().and_then(|found| found.policy.as_ref()) {
            let namespaces: BTreeSet<String> =
                requests.iter().filter_map(|request| namespace_of(&request.json)).collect();
            namespaces.iter().filter_map(|namespace| policy.leaves_out(namespace)).for_each(|why| warn(&why));
            policy.caveat().iter().for_each(|caveat| warn(caveat));
        }
        let grants = found.as_ref().map_or_else(Grants::everything, Found::grants);
        match found.and_then(|found| found.json) {
            Some(settings) => Ok((settings, grants)),
            None => Ok((RawValue::from_string("{}".to_owned()).map_err(io::Error::from)?, grants)),
        }
    }

    /// Says what is wrong with the settings.
    pub(super) fn complain_of_settings(&self, problems: &str) {
        complain(&invalid_settings(self.settings.as_deref(), problems));
    }
}

/// The namespace of a request's object; none of what has none.
pub(super) fn namespace_of(request: &RawValue) -> Option<String> {
    let request = Fields::of(request)?;
    request.object("object").or_else(|| request.object("oldObject"))?.object("metadata")?.text("namespace")
}
