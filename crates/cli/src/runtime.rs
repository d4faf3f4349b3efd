//! One policy module, compiled once and instantiated anew for each call.
//!
//! The crates and their settings are those of the policy server, so a module that runs here runs there. Two things are
//! stricter: the clock ticks every 10 ms instead of every second, and the deadline also covers a host call that never
//! returns, which blocks a worker of the server for as long as the other side stays silent.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value};
use wasmtime_provider::wasmtime::{Cache, CacheConfig, Config, Engine, Module};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use crate::answers::{HostAnswers, HostCall};

/// How long the policy server lets a policy run, unless it is told otherwise.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(2);

/// How often the deadline is looked at.
const TICK: Duration = Duration::from_millis(10);

/// What the engine provider says of an interrupted guest; it has no type for it.
const INTERRUPTED: &str = "execution deadline exceeded";

/// What wasmtime says first of a guest that trapped.
const TRAPPED: &str = "error while executing at wasm backtrace";

/// A compiled policy.
pub struct PolicyModule {
    engine: Engine,
    module: Module,
    pre: WasmtimeEngineProviderPre,
    deadline: Duration,
    _ticker: Ticker,
}

impl PolicyModule {
    /// Reads and compiles the module in `path`.
    ///
    /// Fails when the file can't be read, isn't WebAssembly, or imports what a waPC host doesn't have.
    pub fn from_file(path: &Path) -> Result<Self, RuntimeError> {
        let bytes = std::fs::read(path).map_err(|source| RuntimeError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes)
    }

    /// Compiles a module, binary or WAT text.
    ///
    /// Fails when the bytes aren't WebAssembly, or import what a waPC host doesn't have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RuntimeError> {
        let mut config = Config::new();
        config.epoch_interruption(true);
        // Modules of recent Go compilers need it, so the server sets it.
        config.wasm_function_references(true);
        // Compiling takes seconds: a module is compiled once, and then found in the user's own folder for such things.
        // Without one it is compiled each time.
        if let Ok(cache) = Cache::new(CacheConfig::new()) {
            config.cache(Some(cache));
        }
        let engine = Engine::new(&config).map_err(|e| RuntimeError::Compile(first_line(&e)))?;
        let module = Module::new(&engine, bytes).map_err(|e| RuntimeError::Compile(first_line(&e)))?;
        let pre = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(module.clone())
            .build_pre()
            .map_err(|e| RuntimeError::Imports(first_line(&e)))?;
        Ok(Self { _ticker: Ticker::start(engine.clone())?, engine, module, pre, deadline: DEFAULT_DEADLINE })
    }

    /// The same module with another limit to what one call may take.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Calls one of the policy's functions (`validate`, `validate_settings`, `protocol_version`) in a clean instance.
    ///
    /// What the guest asks of its host goes to `answers`. The reply holds the response or the error, and in both cases
    /// what the guest logged and asked until then.
    pub fn call(&self, function: &str, payload: &[u8], answers: Arc<dyn HostAnswers>) -> Reply {
        let conversation = Arc::new(Conversation::new(answers, self.deadline));
        let response = self.converse(function, payload, &conversation);
        let (logs, exchanges) = conversation.take_record();
        let response = if conversation.is_expired() { Err(RuntimeError::Deadline) } else { response };
        Reply { response, logs, exchanges }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    pub(crate) fn module(&self) -> &Module {
        &self.module
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.deadline
    }

    fn converse(
        &self,
        function: &str,
        payload: &[u8],
        conversation: &Arc<Conversation>,
    ) -> Result<Vec<u8>, RuntimeError> {
        let ticks = ticks(self.deadline);
        let instance = self
            .pre
            .rehydrate(Some(EpochDeadlines { wapc_init: ticks, wapc_func: ticks }))
            .map_err(|e| RuntimeError::Init(first_line(&e)))?;
        let host = wapc::WapcHost::new(
            Box::new(instance),
            Some(Box::new({
                let conversation = Arc::clone(conversation);
                move |_, binding, namespace, operation, payload| {
                    conversation.answer(HostCall {
                        binding: binding.to_owned(),
                        namespace: namespace.to_owned(),
                        operation: operation.to_owned(),
                        payload: payload.to_owned(),
                    })
                }
            })),
        )
        .map_err(|e| RuntimeError::of_init(&e))?;
        host.call(function, payload).map_err(|e| RuntimeError::of_call(&e))
    }
}

impl std::fmt::Debug for PolicyModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PolicyModule").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// What came of one call.
#[derive(Debug)]
pub struct Reply {
    /// The bytes the guest returned, or why there are none.
    pub response: Result<Vec<u8>, RuntimeError>,
    /// What the guest logged, in its order.
    pub logs: Vec<LogEntry>,
    /// What the guest asked its host and was told, in its order; the log is not among it.
    pub exchanges: Vec<HostExchange>,
}

/// One line of the guest's log.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct LogEntry {
    /// `trace`, `debug`, `info`, `warning` or `error`, in the guest's spelling.
    pub level: String,
    /// The message.
    #[serde(default)]
    pub message: Option<String>,
    /// Every other field of the entry.
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

/// One host call, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostExchange {
    /// What the guest asked.
    pub call: HostCall,
    /// The bytes it was given, or the text of the error.
    pub answer: Result<Vec<u8>, String>,
}

/// Why a policy did not load, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The module's file can't be read.
    #[error("cannot read the policy `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The bytes are not a module that can be compiled.
    #[error("not a WebAssembly module: {0}")]
    Compile(String),
    /// The module needs what no waPC host offers.
    #[error("not a waPC policy: {0}; build it for `wasm32-wasip1`")]
    Imports(String),
    /// The guest failed before it was asked anything.
    #[error("the policy did not start: {0}")]
    Init(String),
    /// The time is up. The text is the policy server's.
    #[error("Policy execution interrupted because it exceeded the allowed execution time")]
    Deadline,
    /// The guest trapped: a panic, or memory or stack exhausted.
    #[error("the policy crashed at `{0}`; its own message, if any, is on the standard error stream")]
    Trap(String),
    /// The guest returned an error.
    #[error("the policy failed: {0}")]
    Guest(String),
    /// The system has no thread left for the clock.
    #[error("cannot start the clock of the deadline: {0}")]
    Ticker(std::io::Error),
}

impl RuntimeError {
    fn of_init(error: &wapc::errors::Error) -> Self {
        let text = error.to_string();
        if text.contains(INTERRUPTED) {
            Self::Deadline
        } else {
            Self::Init(trap(&text).unwrap_or_else(|| first_line(&text)))
        }
    }

    fn of_call(error: &wapc::errors::Error) -> Self {
        let text = match error {
            wapc::errors::Error::GuestCallFailure(text) => text.clone(),
            other => other.to_string(),
        };
        if text.contains(INTERRUPTED) {
            Self::Deadline
        } else if let Some(place) = trap(&text) {
            Self::Trap(place)
        } else {
            Self::Guest(first_line(&text))
        }
    }
}

/// The innermost frame of a trap, if `text` is one: wasmtime's first line says only that a backtrace follows.
fn trap(text: &str) -> Option<String> {
    let (_, backtrace) = text.split_once(TRAPPED)?;
    let frame = backtrace.lines().nth(1).unwrap_or_default();
    Some(frame.split_whitespace().collect::<Vec<_>>().join(" "))
}

pub(crate) fn first_line(text: &impl ToString) -> String {
    text.to_string().lines().next().unwrap_or_default().to_owned()
}

/// How many ticks cover `deadline`. The first one may come at once, so there is one more.
pub(crate) fn ticks(deadline: Duration) -> u64 {
    let ticks = deadline.as_millis().div_ceil(TICK.as_millis()) + 1;
    u64::try_from(ticks).unwrap_or(u64::MAX)
}

/// The thread that advances the engine's epoch for as long as the module lives.
struct Ticker {
    _stop: mpsc::Sender<()>,
}

impl Ticker {
    fn start(engine: Engine) -> Result<Self, RuntimeError> {
        let (stop, stopped) = mpsc::channel();
        thread::Builder::new()
            .name("policy-deadline".to_owned())
            .spawn(move || {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    engine.increment_epoch();
                }
            })
            .map_err(RuntimeError::Ticker)?;
        Ok(Self { _stop: stop })
    }
}

/// One call's dealings with its host: who answers, until when, and what was said.
pub(crate) struct Conversation {
    answers: Arc<dyn HostAnswers>,
    deadline: Instant,
    expired: AtomicBool,
    record: Mutex<(Vec<LogEntry>, Vec<HostExchange>)>,
}

impl Conversation {
    pub(crate) fn new(answers: Arc<dyn HostAnswers>, deadline: Duration) -> Self {
        Self { answers, deadline: Instant::now() + deadline, expired: AtomicBool::new(false), record: Mutex::default() }
    }

    /// Answers one host call, within the deadline of the whole conversation.
    pub(crate) fn answer(&self, call: HostCall) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        if call.is_log() {
            self.log(&call.payload);
            return Ok(Vec::new());
        }
        let answer = if self.answers.may_block() { self.wait_for_answer(&call) } else { self.answers.answer(&call) };
        self.record().1.push(HostExchange { call, answer: answer.clone() });
        answer.map_err(Into::into)
    }

    fn is_expired(&self) -> bool {
        self.expired.load(Ordering::SeqCst)
    }

    fn take_record(&self) -> (Vec<LogEntry>, Vec<HostExchange>) {
        std::mem::take(&mut *self.record())
    }

    fn record(&self) -> MutexGuard<'_, (Vec<LogEntry>, Vec<HostExchange>)> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The epoch does not interrupt a host call, so it is made on its own thread, which is left behind when time is up.
    fn wait_for_answer(&self, call: &HostCall) -> Result<Vec<u8>, String> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let answers = Arc::clone(&self.answers);
        let asked = call.clone();
        thread::Builder::new()
            .name("host-call".to_owned())
            .spawn(move || {
                // Nobody listens any more when the deadline has passed.
                let _ = sender.send(answers.answer(&asked));
            })
            .map_err(|e| format!("cannot start a thread for the host call: {e}"))?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        receiver.recv_timeout(left).unwrap_or_else(|e| match e {
            RecvTimeoutError::Timeout => {
                self.expired.store(true, Ordering::SeqCst);
                Err("no answer before the policy's deadline".to_owned())
            }
            RecvTimeoutError::Disconnected => Err("Error obtaining response over callback channel".to_owned()),
        })
    }

    fn log(&self, payload: &[u8]) {
        // What isn't a log entry is kept as its message: it is there to be read by people.
        let entry = serde_json::from_slice(payload).unwrap_or_else(|_| LogEntry {
            level: "error".to_owned(),
            message: Some(String::from_utf8_lossy(payload).into_owned()),
            data: Map::new(),
        });
        self.record().0.push(entry);
    }
}
