//! How much of the module's memory a request may take.
//!
//! The module has 128 MiB at most (`build.rs`), and traps beyond: then nobody is told why. So the engine asks here, and rejects in its
//! own words.

use image_admission_untrusted::memory::Memory;
use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};

/// The most that a request may take, in bytes. The rest of the module's memory is for writing the answer.
const MOST: usize = 112 * 1024 * 1024;

/// The page of WebAssembly, the unit in which memory grows.
const PAGE: usize = 64 * 1024;

/// Whether there was no room for something.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// The module's memory, up to what a request may take.
#[derive(Debug)]
pub(crate) struct Room;

impl Memory for Room {
    fn has_room_for(&self, bytes: usize) -> bool {
        // What was given back counts, so that it is tried. A compiler may leave out memory that nobody looks at.
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
}

/// What was refused to one request says nothing of the next.
pub(crate) fn start_anew() {
    IS_REFUSED.store(false, Ordering::Relaxed);
}

/// The memory that the module has taken, in bytes. It is never given back to the host.
#[cfg(target_arch = "wasm32")]
pub(crate) fn taken() -> usize {
    core::arch::wasm32::memory_size::<0>() * PAGE
}

/// Elsewhere than in a module this is checked by the compiler, and never run.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn taken() -> usize {
    PAGE
}
