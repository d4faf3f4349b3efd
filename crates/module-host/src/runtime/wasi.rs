//! What the module has of WASI, and that is all it has: random bytes, clocks, an empty environment, and a place for its
//! last words. It has no files, no arguments and no sockets, and a module that imports them doesn't load.
//!
//! The functions and their numbers are those of `wasi_snapshot_preview1`.

use std::fmt;
use std::io::Write;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use wasmtime::error::Error;
use wasmtime::{Caller, Linker};

use super::guest_memory::{read, write};

const WASI: &str = "wasi_snapshot_preview1";

const SUCCESS: i32 = 0;
/// `badf`: no such file is open.
const BAD_FILE: i32 = 8;
/// `inval`: an argument that means nothing.
const INVALID: i32 = 28;
/// `io`: the system failed.
const SYSTEM_FAILED: i32 = 29;

/// How many bytes and pieces one `fd_write` takes: a writer goes on with the rest, and the clock looks in between.
const MAX_WRITTEN: usize = 64 * 1024;
const MAX_PIECES: i32 = 1024;

const STANDARD_OUTPUT: i32 = 1;
const STANDARD_ERROR: i32 = 2;

const REALTIME: i32 = 0;
const MONOTONIC: i32 = 1;

/// Defines these functions for every instance that `linker` makes.
pub(super) fn link<T: 'static>(linker: &mut Linker<T>) -> Result<(), Error> {
    linker.func_wrap(WASI, "random_get", |mut guest: Caller<'_, T>, at: i32, length: i32| {
        // What stands there is read first, so that nobody allocates what the guest's memory can't hold.
        let mut bytes = read(&mut guest, at, length)?;
        if getrandom::fill(&mut bytes).is_err() {
            return Ok(SYSTEM_FAILED);
        }
        write(&mut guest, at, &bytes)?;
        Ok(SUCCESS)
    })?;
    linker.func_wrap(WASI, "environ_sizes_get", |mut guest: Caller<'_, T>, count: i32, size: i32| {
        write(&mut guest, count, &0_u32.to_le_bytes())?;
        write(&mut guest, size, &0_u32.to_le_bytes())?;
        Ok(SUCCESS)
    })?;
    linker.func_wrap(WASI, "environ_get", |_: Caller<'_, T>, _: i32, _: i32| SUCCESS)?;
    linker.func_wrap(WASI, "clock_time_get", |mut guest: Caller<'_, T>, clock: i32, _precision: i64, at: i32| {
        let nanoseconds = match clock {
            REALTIME => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos(),
            MONOTONIC => started().elapsed().as_nanos(),
            _ => return Ok(INVALID),
        };
        write(&mut guest, at, &u64::try_from(nanoseconds).unwrap_or(u64::MAX).to_le_bytes())?;
        Ok(SUCCESS)
    })?;
    linker.func_wrap(
        WASI,
        "fd_write",
        |mut guest: Caller<'_, T>, file: i32, pieces: i32, count: i32, written_at: i32| {
            // Standard output is the command's own.
            if !matches!(file, STANDARD_OUTPUT | STANDARD_ERROR) {
                return Ok(BAD_FILE);
            }
            if !(0..=MAX_PIECES).contains(&count) {
                return Ok(INVALID);
            }
            let pieces = read(&mut guest, pieces, count * 8)?;
            let mut text = Vec::new();
            for piece in pieces.as_chunks::<8>().0 {
                let [a, b, c, d, e, f, g, h] = *piece;
                let (at, length) = (i32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
                let room = MAX_WRITTEN - text.len();
                let taken = usize::try_from(length).unwrap_or(room).min(room);
                text.extend(read(&mut guest, at, i32::try_from(taken).unwrap_or(0))?);
            }
            // Nobody is told where standard error is closed.
            let _ = std::io::stderr().write_all(&text);
            let written = u32::try_from(text.len()).unwrap_or(u32::MAX);
            write(&mut guest, written_at, &written.to_le_bytes())?;
            Ok(SUCCESS)
        },
    )?;
    linker.func_wrap(WASI, "proc_exit", |_: Caller<'_, T>, code: i32| -> Result<(), Error> {
        Err(Error::new(Exit(code)))
    })?;
    Ok(())
}

/// The guest ended itself, with this code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exit(pub(super) i32);

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it ended itself with code {}", self.0)
    }
}

impl std::error::Error for Exit {}

/// A monotonic clock needs a moment to count from; which one is nobody's business.
fn started() -> Instant {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}
