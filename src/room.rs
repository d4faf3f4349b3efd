//! How much of the module's memory a request may take.
//!
//! The module has 128 MiB at most (`build.rs`). Beyond that it traps, and nobody is told why. So the engine asks here first, and
//! rejects with a message.

use image_admission_untrusted::memory::Memory;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most that a request may take, in bytes. The rest of the module's memory is for writing the answer.
const MOST: usize = 112 * 1024 * 1024;

/// Up to this much memory, in bytes, values are left behind: the server throws the instance away after one request.
const MOST_LEFT_BEHIND: usize = 8 * 1024 * 1024;

/// The page of WebAssembly, the unit in which memory grows.
const PAGE: usize = 64 * 1024;

/// Whether memory was refused.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// The module's memory, up to what a request may take.
#[derive(Debug)]
pub(crate) struct Room;

impl Memory for Room {
    fn has_room_for(&self, bytes: usize) -> bool {
        // Memory that was freed can be used again, so this tries to allocate. A compiler may drop an allocation that is never used.
        let mut tried = Vec::<u8>::new();
        let has_room = tried.try_reserve_exact(bytes).is_ok() && taken() <= MOST;
        hint::black_box(&tried);
        if !has_room {
            IS_REFUSED.store(true, Ordering::Relaxed);
        }
        has_room
    }

    fn is_used_up(&self) -> bool {
        IS_REFUSED.load(Ordering::Relaxed) || taken() > MOST
    }

    fn is_thrown_away(&self) -> bool {
        // A host may ask one instance several times: this much is lost to its later requests.
        taken() < MOST_LEFT_BEHIND
    }
}

/// Forgets that a request before this one was refused memory.
pub(crate) fn start_anew() {
    IS_REFUSED.store(false, Ordering::Relaxed);
}

/// The memory that the module has taken, in bytes. It is never given back to the host.
#[cfg(target_arch = "wasm32")]
pub(crate) fn taken() -> usize {
    core::arch::wasm32::memory_size::<0>() * PAGE
}

/// Only for the compiler: outside of a module this never runs.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn taken() -> usize {
    PAGE
}
