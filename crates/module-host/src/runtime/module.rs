//! The module, in the policy server's runtime.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use wasmtime::error::Error;
use wasmtime::{Cache, CacheConfig, Config, Engine, Instance, InstancePre, Linker, Memory, Module, Store, Trap};

use super::conversation::Conversation;
use super::wapc::{self, Guest};
use super::wasi::{self, Exit};
use super::{DEFAULT_DEADLINE, DEFAULT_MEMORY, MemoryUse, Reply, RuntimeError};
use crate::answers::HostAnswers;
use crate::disk;

/// How often the deadline is looked at.
const TICK: Duration = Duration::from_millis(10);

/// More fuel than a call burns before its deadline.
const FUEL: u64 = u64::MAX;

/// The bytes that every WebAssembly module begins with.
const MAGIC: &[u8] = b"\0asm";

/// What wasmtime says first of a guest that trapped.
const TRAPPED: &str = "error while executing at wasm backtrace";

/// A compiled policy.
pub struct PolicyModule {
    engine: Engine,
    instance: InstancePre<Guest>,
    deadline: Duration,
    memory: usize,
    counts: bool,
    _ticker: Ticker,
}

impl PolicyModule {
    /// Reads and compiles the module in `path`.
    ///
    /// Fails when the file can't be read, isn't WebAssembly, or imports what a waPC host doesn't have.
    pub fn from_file(path: &Path) -> Result<Self, RuntimeError> {
        let bytes = disk::read(path).map_err(|source| RuntimeError::Read { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes)
    }

    /// The same module, which counts what it runs. It is not what runs in a cluster.
    ///
    /// Fails as [`PolicyModule::from_file`] does.
    pub fn counting(path: &Path) -> Result<Self, RuntimeError> {
        let bytes = disk::read(path).map_err(|source| RuntimeError::Read { path: path.to_owned(), source })?;
        Self::compile(&bytes, true)
    }

    /// Compiles a module.
    ///
    /// Fails when the bytes aren't WebAssembly, or import what a waPC host doesn't have.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RuntimeError> {
        Self::compile(bytes, false)
    }

    fn compile(bytes: &[u8], counts: bool) -> Result<Self, RuntimeError> {
        if !bytes.starts_with(MAGIC) {
            return Err(RuntimeError::NoModule);
        }
        let mut config = Config::new();
        config.epoch_interruption(true);
        config.consume_fuel(counts);
        // Modules of recent Go compilers need it, so the server sets it.
        config.wasm_function_references(true);
        // Compiling takes seconds: a module is compiled once, and then found in the user's own folder for such things.
        // Without one it is compiled each time.
        if let Ok(cache) = Cache::new(CacheConfig::new()) {
            config.cache(Some(cache));
        }
        let engine = Engine::new(&config).map_err(|e| RuntimeError::Compile(first_line(&e)))?;
        let module = Module::new(&engine, bytes).map_err(|e| RuntimeError::Compile(first_line(&e)))?;
        let mut linker = Linker::new(&engine);
        let linked = wapc::link(&mut linker).and_then(|()| wasi::link(&mut linker));
        let instance =
            linked.and_then(|()| linker.instantiate_pre(&module)).map_err(|e| RuntimeError::Imports(first_line(&e)))?;
        Ok(Self {
            _ticker: Ticker::start(engine.clone())?,
            engine,
            instance,
            deadline: DEFAULT_DEADLINE,
            memory: DEFAULT_MEMORY,
            counts,
        })
    }

    /// The same module with another limit to what one call may take.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// The same module with another limit to the memory that one call may take, in bytes.
    #[must_use]
    pub fn with_memory(mut self, memory: usize) -> Self {
        self.memory = memory;
        self
    }

    /// How many functions the module's table has: each instance gets a table of its own.
    pub fn functions_in_table(&self) -> u64 {
        self.instance.module().resources_required().max_initial_table_size.unwrap_or_default()
    }

    /// Calls one of the policy's functions (`validate`, `validate_settings`, `protocol_version`) in a clean instance.
    ///
    /// What the guest asks of its host goes to `answers`. The reply holds the response or the error, and in both cases
    /// what the guest logged and asked until then.
    pub fn call(&self, function: &str, payload: &[u8], answers: Arc<dyn HostAnswers>) -> Reply {
        let conversation = Arc::new(Conversation::new(answers, self.deadline));
        let guest = Guest::new(function, payload, Arc::clone(&conversation), self.memory);
        let mut store = Store::new(&self.engine, guest);
        store.limiter(|guest| &mut guest.limits);
        let mut memory = MemoryUse::default();
        let response = self.converse(&mut store, &mut memory);
        let fuel = self.counts.then(|| store.get_fuel().map_or(0, |left| FUEL - left));
        let response = if conversation.is_expired() { Err(RuntimeError::Deadline) } else { response };
        let (logs, exchanges) = conversation.take_record();
        Reply { response, logs, exchanges, memory, fuel }
    }

    fn converse(&self, store: &mut Store<Guest>, memory_use: &mut MemoryUse) -> Result<Vec<u8>, RuntimeError> {
        let ticks = ticks(self.deadline);
        store.set_epoch_deadline(ticks);
        if self.counts {
            store.set_fuel(FUEL).map_err(|e| RuntimeError::Init(first_line(&e)))?;
        }
        let instance = self.instance.instantiate(&mut *store).map_err(|e| RuntimeError::of_start(&e))?;
        for start in wapc::STARTS {
            if let Ok(start) = instance.get_typed_func::<(), ()>(&mut *store, start) {
                match start.call(&mut *store, ()) {
                    // A command of WASI ends itself so.
                    Err(error) if error.downcast_ref::<Exit>() == Some(&Exit(0)) => {}
                    started => started.map_err(|e| RuntimeError::of_start(&e))?,
                }
            }
        }
        let memory = memory_of(&instance, store)?;
        memory_use.started = memory.data_size(&*store);
        let lengths = (wapc::length(&store.data().function), wapc::length(&store.data().payload));
        let call = instance
            .get_typed_func::<(i32, i32), i32>(&mut *store, wapc::GUEST_CALL)
            .map_err(|e| RuntimeError::Init(first_line(&e)))?;
        store.set_epoch_deadline(ticks);
        let succeeded = call.call(&mut *store, lengths);
        memory_use.answered = memory.data_size(&*store);
        let succeeded = succeeded.map_err(|e| RuntimeError::of_call(&e))? != 0;
        let guest = store.data_mut();
        match (guest.error.take(), guest.response.take()) {
            (None, Some(response)) if succeeded => Ok(response),
            (error, _) => Err(RuntimeError::Guest(
                error.map_or_else(|| "it neither answered nor said why".to_owned(), |error| first_line(&error)),
            )),
        }
    }
}

fn memory_of(instance: &Instance, store: &mut Store<Guest>) -> Result<Memory, RuntimeError> {
    let memory = instance.get_memory(store, "memory");
    memory.ok_or_else(|| RuntimeError::Init("no exported memory".to_owned()))
}

impl std::fmt::Debug for PolicyModule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PolicyModule").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl RuntimeError {
    fn of_start(error: &Error) -> Self {
        Self::of_trap(error, |text| Self::Init(trap(text).unwrap_or_else(|| first_line(&text))))
    }

    fn of_call(error: &Error) -> Self {
        Self::of_trap(error, |text| trap(text).map_or_else(|| Self::Guest(first_line(&text)), Self::Trap))
    }

    fn of_trap(error: &Error, other: impl FnOnce(&str) -> Self) -> Self {
        match error.downcast_ref::<Trap>() {
            Some(Trap::Interrupt) => Self::Deadline,
            Some(_) => other(&format!("{error:?}")),
            // The host's own words: the guest asked for what can't be.
            None => other(&error.root_cause().to_string()),
        }
    }
}

/// The innermost frame of a trap, if `text` is one: wasmtime's first line says only that a backtrace follows.
fn trap(text: &str) -> Option<String> {
    let (_, backtrace) = text.split_once(TRAPPED)?;
    let frame = backtrace.lines().nth(1).unwrap_or_default();
    Some(frame.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn first_line(text: &impl ToString) -> String {
    text.to_string().lines().next().unwrap_or_default().to_owned()
}

/// How many ticks cover `deadline`. The first one may come at once, so there is one more.
fn ticks(deadline: Duration) -> u64 {
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
