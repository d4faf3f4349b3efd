//! Which host a command runs a policy in: the options are the same for every command that runs one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use image_admission_module_host::answers::files::{ClusterFiles, Files, FilesError, ImageFile};
use image_admission_module_host::answers::live::{Live, LiveError, LiveOptions};
use image_admission_module_host::answers::recorded::{Recorder, Recording, RecordingError};
use image_admission_module_host::answers::{AnswerSource, Gate, Grants, HostAnswers};

/// Where the answers to the policy's questions come from. Without any of these there is no cluster and no registry.
#[derive(Args, Clone, Debug, Default)]
pub struct HostOptions {
    /// Kubernetes objects to find in the cluster: every YAML and JSON file in and below this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["replay", "live"])]
    pub cluster: Option<PathBuf>,

    /// Images to find in registries: a YAML file that lists them with their digests
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "live"])]
    pub images: Option<PathBuf>,

    /// A recorded session to answer from, of this command or of kwctl
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    pub replay: Option<PathBuf>,

    /// Ask the real registries, and the cluster that kubectl would ask
    #[arg(long)]
    pub live: bool,

    /// How to reach the cluster, instead of as kubectl would
    #[arg(long, value_name = "FILE", requires = "live")]
    pub kubeconfig: Option<PathBuf>,

    /// A registry to ask over plain HTTP; those on this machine always are. May be repeated
    #[arg(long, value_name = "HOST[:PORT]", requires = "live")]
    pub insecure_registry: Vec<String>,

    /// Write what was asked and answered into this file, for a later `--replay`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
}

impl HostOptions {
    /// Opens what the options name, behind `grants`.
    ///
    /// Fails when a file can't be used.
    pub fn open(&self, grants: Grants) -> Result<Host, HostError> {
        let (mut source, remark) = self.source()?;
        let mut recorder = None;
        if let Some(path) = &self.record {
            let recording = Arc::new(Recorder::new(source));
            source = Arc::clone(&recording) as Arc<dyn AnswerSource>;
            recorder = Some((path.clone(), recording));
        }
        Ok(Host { answers: Arc::new(Gate::new(grants, source)), recorder, remark })
    }

    /// The real registries and cluster, as `--live` asks them.
    ///
    /// Fails when the kubeconfig that was named can't be used.
    pub fn network(&self) -> Result<Live, LiveError> {
        Live::new(&LiveOptions {
            kubeconfig: self.kubeconfig.clone(),
            insecure_registries: self.insecure_registry.clone(),
        })
    }

    /// What answers, and what its users should know of it.
    fn source(&self) -> Result<(Arc<dyn AnswerSource>, Option<String>), HostError> {
        if let Some(path) = &self.replay {
            return Ok((Arc::new(Recording::from_file(path)?), None));
        }
        if self.live {
            return Ok((Arc::new(self.network()?), None));
        }
        let cluster = self.cluster.as_deref().map(ClusterFiles::from_folder).transpose()?;
        let images = self.images.as_deref().map(ImageFile::from_file).transpose()?;
        let remark = images.as_ref().zip(self.images.as_deref()).and_then(|(list, path)| list.remark(path));
        Ok((Arc::new(Files::new(cluster, images)), remark))
    }
}

/// A host that is ready to answer.
#[derive(Debug)]
pub struct Host {
    answers: Arc<Gate>,
    recorder: Option<(PathBuf, Arc<Recorder>)>,
    remark: Option<String>,
}

impl Host {
    /// For [`PolicyModule::call`](image_admission_module_host::runtime::PolicyModule::call).
    #[must_use]
    pub fn answers(&self) -> Arc<dyn HostAnswers> {
        Arc::clone(&self.answers) as Arc<dyn HostAnswers>
    }

    /// What users of the answers should know: which of them the policy can't believe, and what to do.
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    /// See [`Gate::unanswered`].
    #[must_use]
    pub fn unanswered(&self) -> Option<String> {
        self.answers.unanswered()
    }

    /// See [`Gate::unanswered_of`].
    #[must_use]
    pub fn unanswered_of(&self, calls: &BTreeSet<String>) -> Option<String> {
        self.answers.unanswered_of(calls)
    }

    /// Writes the recording, if one was asked for. Fails when the file can't be written.
    pub fn save_recording(&self) -> Result<(), HostError> {
        let Some((path, recorder)) = &self.recorder else {
            return Ok(());
        };
        let failed = |problem: String| HostError::Save { path: path.clone(), problem };
        let session = recorder.to_yaml().map_err(failed)?;
        image_admission_module_host::disk::write(path, session).map_err(|e| failed(e.to_string()))
    }
}

/// Why there is no such host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// `--cluster` or `--images`.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// `--replay`.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// `--live`.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// `--record`.
    #[error("cannot write the recording `{}`: {problem}", path.display())]
    Save {
        /// The file.
        path: PathBuf,
        /// What is in the way.
        problem: String,
    },
}
