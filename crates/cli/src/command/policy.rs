//! The policy's module with its settings: whether they are valid, and what it makes of a request.
//!
//! The module's response is the answer. Why it is so, the module doesn't say: the engine, which it is made of, decides
//! the same request here, is given the same answers as the host gave, and must come to the same response.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use web_time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use image_admission_engine::{Decision, Response, decide};
use image_admission_host::WireHost;
use image_admission_module_host::answers::HostAnswers;
use image_admission_module_host::runtime::{HostExchange, LogEntry, PolicyModule, Reply, RuntimeError};
use image_admission_settings::Settings;
use image_admission_untrusted::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::progress::Progress;
use super::rego::start_clock;
use super::terminal::printable;

/// How the engine says that its time was over.
const STOPPED: [&str; 2] = ["stopped: the Rego of one request", "stopped: the expressions of one request"];

/// Which module decides.
#[derive(Args, Debug)]
pub(super) struct ModuleOption {
    /// The policy's module, of the same version as this command
    #[arg(
        long,
        value_name = "FILE",
        env = "IMAGE_ADMISSION_MODULE",
        hide_env_values = true,
        default_value = "policy.wasm"
    )]
    module: PathBuf,
}

impl ModuleOption {
    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.module
    }

    /// Reads and compiles it; one call may then take `limit`.
    pub(super) fn compile(&self, limit: Duration) -> Result<PolicyModule, ModuleError> {
        let progress = Progress::of(0, "");
        progress.begin("compiling the policy, once…");
        Ok(self.read(PolicyModule::from_file)?.with_deadline(limit))
    }

    /// The same module, which counts what it runs.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn compile_counting(&self, limit: Duration) -> Result<PolicyModule, ModuleError> {
        Ok(self.read(PolicyModule::counting)?.with_deadline(limit))
    }

    fn read(&self, read: impl Fn(&Path) -> Result<PolicyModule, RuntimeError>) -> Result<PolicyModule, ModuleError> {
        read(&self.module).map_err(|error| match error {
            RuntimeError::Read { path, source } if source.kind() == ErrorKind::NotFound => ModuleError::Missing(path),
            RuntimeError::Read { .. } => ModuleError::Unreadable(error),
            source => ModuleError::Unusable { path: self.module.clone(), source },
        })
    }
}

/// A module, and settings that it finds valid.
#[derive(Debug)]
pub(super) struct Policy {
    module: Arc<PolicyModule>,
    path: PathBuf,
    settings: Box<RawValue>,
    parsed: Settings,
}

/// What the module answered to one request, and why.
#[derive(Debug)]
pub(super) struct Answer {
    /// What goes back to the API server.
    pub(super) response: Response,
    /// Why.
    pub(super) decision: Decision,
}

impl Policy {
    /// Asks the module whether the settings are valid, and passes on what it logs.
    pub(super) fn new(
        module: Arc<PolicyModule>,
        path: PathBuf,
        settings: Box<RawValue>,
        host: Arc<dyn HostAnswers>,
        log: &mut dyn FnMut(&LogEntry),
    ) -> Result<Self, PolicyError> {
        #[derive(Deserialize)]
        struct Validity {
            valid: bool,
            message: Option<String>,
        }
        // The engine decides beside the module, and stops rules as that does.
        start_clock();
        let reply = module.call("validate_settings", settings.get().as_bytes(), host);
        reply.logs.iter().for_each(log);
        let bytes = reply.response.map_err(PolicyError::NoAnswer)?;
        let validity: Validity = serde_json::from_slice(&bytes)
            .map_err(|_| PolicyError::unlike(&path, &bytes, b"whether they are valid"))?;
        if !validity.valid {
            return Err(PolicyError::InvalidSettings(validity.message.unwrap_or_default()));
        }
        let value = serde_json::from_str(settings.get()).unwrap_or_default();
        let parsed =
            Settings::read(&value).map_err(|error| PolicyError::unlike(&path, &bytes, error.to_string().as_bytes()))?;
        Ok(Self { module, path, settings, parsed })
    }

    /// What the module replies to a request, in a clean instance.
    pub(super) fn ask(&self, request: &RawValue, host: Arc<dyn HostAnswers>) -> Result<Reply, PolicyError> {
        #[derive(Serialize)]
        struct Payload<'a> {
            request: &'a RawValue,
            settings: &'a RawValue,
        }
        let payload = Payload { request, settings: &self.settings };
        let payload = serde_json::to_vec(&payload).map_err(|error| PolicyError::Payload(error.to_string()))?;
        Ok(self.module.call("validate", &payload, host))
    }

    /// How many calls to the host a request may make.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn max_host_calls(&self) -> usize {
        self.parsed.max_host_calls
    }

    /// The module's answer to a request.
    pub(super) fn answer(
        &self,
        request: &RawValue,
        host: Arc<dyn HostAnswers>,
        log: &mut dyn FnMut(&LogEntry),
    ) -> Result<Answer, PolicyError> {
        let now = now();
        let Reply { response, logs, exchanges, .. } = self.ask(request, host)?;
        logs.iter().for_each(log);
        let said = response.map_err(PolicyError::NoAnswer)?;
        let decision = decide(Some(request), &self.parsed, &WireHost(replayed(exchanges)), now);
        let response = Response::from(decision.clone());
        let expected = response.to_json(Some(request));
        if said != expected {
            let text = String::from_utf8_lossy(&said);
            if STOPPED.iter().any(|words| text.contains(words)) {
                return Err(PolicyError::Stopped(text.into_owned()));
            }
            if text.contains("takes more memory than the policy may") {
                return Err(PolicyError::OutOfMemory(text.into_owned()));
            }
            return Err(PolicyError::unlike(&self.path, &said, &expected));
        }
        Ok(Answer { response, decision })
    }
}

/// A line of the policy's log, as people read it.
pub(super) fn log_line(entry: &LogEntry) -> String {
    let message = entry.message.as_deref().unwrap_or_default();
    let data = if entry.data.is_empty() { String::new() } else { format!(" {}", Value::Object(entry.data.clone())) };
    format!("{}: {}{}", entry.level, printable(message), printable(&data))
}

/// The time that is decided for.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}

/// The answers that the module was given, in their order: the engine asks for the same.
fn replayed(exchanges: Vec<HostExchange>) -> impl Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> {
    let exchanges = RefCell::new(exchanges.into_iter());
    move |namespace, operation, payload| {
        let next = exchanges.borrow_mut().next();
        let is_it = |HostExchange { call, .. }: &HostExchange| {
            call.namespace == namespace && call.operation == operation && call.payload == payload
        };
        match next.filter(is_it) {
            // The guest's side of waPC puts its own words before the host's.
            Some(exchange) => exchange.answer.map_err(|text| format!("Host error: {text}")),
            None => Err("the module did not ask this".to_owned()),
        }
    }
}

/// Why there is no module.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModuleError {
    /// It isn't there.
    #[error("there is no module `{}`: say with `--module`, or in IMAGE_ADMISSION_MODULE, where it is; `policy.wasm` is among the \
         files of each release, and `make policy.wasm` builds it", _0.display())]
    Missing(PathBuf),
    /// It can't be read.
    #[error(transparent)]
    Unreadable(RuntimeError),
    /// It can't be used.
    #[error("`{}`: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: RuntimeError,
    },
}

/// Why a policy has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyError {
    /// The settings are not valid: one problem a line.
    #[error("the settings are not valid:\n{0}")]
    InvalidSettings(String),
    /// The module failed, or was too slow.
    #[error(transparent)]
    NoAnswer(RuntimeError),
    /// The module is built from other sources than this command.
    #[error(
        "the module `{}` and this command line are of different versions, so that its answers can't be explained; take \
         both from one release, or build both from the same sources (`make policy.wasm`)\n  the module answers  {said}\n  here it would be    {expected}",
        path.display()
    )]
    OtherVersion {
        /// The module.
        path: PathBuf,
        /// Its answer.
        said: String,
        /// The engine's answer.
        expected: String,
    },
    /// The module was too slow for its own limits, which are of time.
    #[error(
        "rules or expressions took longer than they may in the module, and were stopped; here they are faster, so that the answer \
         can't be explained. Make them cheaper\n  the module answers  {0}"
    )]
    Stopped(String),
    /// The module has less memory than this command.
    #[error(
        "the request takes more memory than the module may, which rejects it; here there is more, so that the answer can't be explained\n  the module answers  {0}"
    )]
    OutOfMemory(String),
    /// No JSON could be written.
    #[error("the request can't be written as JSON: {0}")]
    Payload(String),
}

impl PolicyError {
    fn unlike(path: &Path, said: &[u8], expected: &[u8]) -> Self {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Self::OtherVersion { path: path.to_owned(), said: text(said), expected: text(expected) }
    }
}
