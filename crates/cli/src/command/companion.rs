//! `companion`: has images scanned that the policy waits for.

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use image_admission_companion::CompanionSettings;
use image_admission_companion_host::{ApiToken, Options, RunError, TokenError, run};
use image_admission_module_host::disk;
use yaml_serde::Mapping;

use super::Ending;

/// The environment's variable with a token of GitHub.
const GITHUB_TOKEN: &str = "GITHUB_TOKEN";

const AFTER_HELP: &str = "\
It runs in the cluster, beside the policy: docs/companion.md says how it is deployed. It watches workloads, asks the policy's engine
which of their images have no scan report, and has trivy-operator, SBOMscanner or Jobs of a template make it. It copies signatures and
attestations into the cluster, if its settings say so. It decides nothing, and nothing that it writes is believed: without it, Pods of
images that nobody scanned wait.

Of several, one works; the others wait until it is gone.

If its settings have it ask GitHub for attestations, the token is in the environment's GITHUB_TOKEN.

Exit codes:
  0  it was asked to end, by SIGTERM or SIGINT
  1  it can't begin: the error says why
  3  its settings are not valid

Examples:
  image-admission companion --settings settings.yaml
  image-admission companion --settings settings.yaml --namespace kubewarden --health-bind-address 127.0.0.1:8081";

/// Have images scanned that the policy waits for
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Companion {
    /// Its settings: a file, or a folder whose `.yaml` files each have some of them [default: every default]
    #[arg(long, value_name = "PATH")]
    settings: Option<PathBuf>,

    /// The namespace of the Lease that says who works
    #[arg(long, value_name = "NAME", default_value = "kubewarden")]
    namespace: String,

    /// Where it answers `/healthz`, `/readyz` and `/metrics`
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    health_bind_address: String,

    /// How to reach the cluster, instead of as the Pod it runs in, or as kubectl would
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// A registry, or a GitHub's API, to ask over plain HTTP. May be repeated
    #[arg(long, value_name = "HOST[:PORT]")]
    insecure_registry: Vec<String>,
}

/// Why it doesn't run.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompanionError {
    /// Its settings can't be read.
    #[error("cannot read the settings `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The environment has something else than a token.
    #[error("cannot use the environment's `{GITHUB_TOKEN}`: {0}; write the token alone into the Secret's key")]
    Token(#[from] TokenError),
    /// It can't begin.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Companion {
    pub(super) fn execute(self) -> Result<Ending, CompanionError> {
        let settings = match self.settings()? {
            Ok(settings) => settings,
            Err(problems) => {
                super::complain(&super::invalid_settings(self.settings.as_deref(), &problems));
                return Ok(Ending::InvalidSettings);
            }
        };
        let asks_github = settings.evidence.as_ref().is_some_and(|evidence| evidence.github.is_some());
        let github_token = if asks_github { github_token()? } else { None };
        run(&Options {
            settings,
            namespace: self.namespace,
            identity: identity(),
            health_bind_address: self.health_bind_address,
            kubeconfig: self.kubeconfig,
            insecure_registries: self.insecure_registry,
            github_token,
        })?;
        Ok(Ending::Done)
    }

    /// The settings, or what is wrong with them.
    fn settings(&self) -> Result<Result<CompanionSettings, String>, CompanionError> {
        let Some(path) = &self.settings else { return Ok(Ok(CompanionSettings::default())) };
        let mut all = Mapping::new();
        for file in files(path)? {
            let text = read(&file, disk::read_to_string)?;
            // An empty file is every default.
            let written: Option<Mapping> = match yaml_serde::from_str(&text) {
                Ok(written) => written,
                Err(error) => return Ok(Err(error.to_string())),
            };
            for (key, value) in written.unwrap_or_default() {
                if let Some(key) = key.as_str().filter(|key| all.contains_key(*key)) {
                    return Ok(Err(format!("`{key}` is in two files; leave it out of `{}`", file.display())));
                }
                all.insert(key, value);
            }
        }
        let settings: CompanionSettings = match yaml_serde::from_value(all.into()) {
            Ok(settings) => settings,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let problems = settings.problems();
        Ok(if problems.is_empty() { Ok(settings) } else { Err(problems.join("\n")) })
    }
}

/// The token with which GitHub is asked, if there is one.
fn github_token() -> Result<Option<ApiToken>, TokenError> {
    let text = env::var_os(GITHUB_TOKEN).filter(|text| !text.is_empty());
    text.map(|text| ApiToken::new(text.to_str().unwrap_or_default())).transpose()
}

/// The file, or what of a folder ends in `.yaml`, by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, CompanionError> {
    if !read(path, disk::is_folder)? {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut files: Vec<PathBuf> = read(path, disk::entries)?.into_iter().map(|name| path.join(name)).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    Ok(files)
}

fn read<T>(path: &Path, reading: impl FnOnce(&Path) -> io::Result<T>) -> Result<T, CompanionError> {
    reading(path).map_err(|source| CompanionError::Read { path: path.to_path_buf(), source })
}

/// Who this is among those that want to lead: the Pod, which has a name of its own, or a process of this machine.
fn identity() -> String {
    env::var("POD_NAME").unwrap_or_else(|_| {
        let host = env::var("HOSTNAME").unwrap_or_else(|_| "localhost".to_owned());
        format!("{host}-{}", std::process::id())
    })
}
