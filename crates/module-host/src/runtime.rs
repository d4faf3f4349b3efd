//! One policy module, compiled once and instantiated anew for each call.
//!
//! The runtime is the policy server's, and so are its settings: a module that runs here runs there. Three things are
//! stricter. The module has of WASI only what it needs (`wasi`). The clock ticks every 10 ms instead of every second. And
//! the deadline also covers a host call that never returns, which blocks a worker of the server for as long as the other
//! side stays silent.

mod conversation;
#[cfg(not(target_family = "wasm"))]
mod guest_memory;
#[cfg(not(target_family = "wasm"))]
mod module;
#[cfg(target_family = "wasm")]
#[path = "runtime/engine.rs"]
mod module;
#[cfg(not(target_family = "wasm"))]
mod wapc;
#[cfg(not(target_family = "wasm"))]
mod wasi;

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answers::HostCall;
pub use module::PolicyModule;

/// How long the policy server lets a policy run, unless it is told otherwise.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(2);

/// How many bytes of memory the policy server lets a policy take, unless it is told otherwise.
pub const DEFAULT_MEMORY: usize = 256 * 1024 * 1024;

/// What came of one call.
#[derive(Debug)]
pub struct Reply {
    /// The bytes the guest returned, or why there are none.
    pub response: Result<Vec<u8>, RuntimeError>,
    /// What the guest logged, in its order.
    pub logs: Vec<LogEntry>,
    /// What the guest asked its host and was told, in its order; the log is not among it.
    pub exchanges: Vec<HostExchange>,
    /// How much memory the instance took.
    pub memory: MemoryUse,
    /// What the instance ran, in wasmtime's units of fuel: near enough one for each instruction of WebAssembly. None where the
    /// module doesn't count.
    pub fuel: Option<u64>,
}

/// The linear memory of one instance, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MemoryUse {
    /// When the instance was ready.
    pub started: usize,
    /// When it had answered, or failed to. Linear memory never shrinks, so this is the most it took.
    pub answered: usize,
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
    /// The bytes are something else: a manifest, say.
    #[error("not a WebAssembly module; name the file `policy.wasm` of a build or a release")]
    NoModule,
    /// The module can't be compiled.
    #[error("a broken WebAssembly module: {0}")]
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
