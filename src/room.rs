//! How much of the module's memory a request may take.
//!
//! The host refuses more than 256 MiB, and so does the module itself: then it traps, and nobody is told why. So the engine asks here,
//! and rejects in its own words.

use core::sync::atomic::{AtomicUsize, Ordering};
use image_admission_engine::Memory;

/// The most that a request may take, in bytes. What is written once it is decided fits below 128 MiB as well.
const MOST: usize = 112 * 1024 * 1024;

/// The page of WebAssembly.
const PAGE: usize = 64 * 1024;

/// Answers of less are taken without a look.
const SMALL: usize = 64 * 1024;

/// The same, and nothing once there was no room for something. It isn't zero at first, so that it stands among the data that the
/// module brings along.
static STILL: AtomicUsize = AtomicUsize::new(MOST);

/// The module's memory, up to what a request may take.
#[derive(Debug)]
pub(crate) struct Room;

impl Memory for Room {
    fn has_room_for(&self, bytes: usize) -> bool {
        has_room_for(bytes)
    }

    fn is_used_up(&self) -> bool {
        taken() > STILL.load(Ordering::Relaxed)
    }
}

/// Whether so many bytes can be had. What was given back counts, so that it is tried.
pub(crate) fn has_room_for(bytes: usize) -> bool {
    if bytes <= SMALL {
        return true;
    }
    let has_room = can_be_had(bytes);
    if !has_room {
        STILL.store(0, Ordering::Relaxed);
    }
    has_room
}

/// What was refused to one request says nothing of the next.
pub(crate) fn start_anew() {
    STILL.store(MOST, Ordering::Relaxed);
}

#[inline(never)]
fn can_be_had(bytes: usize) -> bool {
    limit(MOST);
    let can_be_had = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    limit(usize::MAX);
    can_be_had
}

/// The memory that the module has taken, in bytes. It is never given back to the host.
pub(crate) fn taken() -> usize {
    pages().saturating_mul(PAGE)
}

#[cfg(target_arch = "wasm32")]
fn limit(most: usize) {
    crate::memory::limit(most / PAGE);
}

/// Elsewhere than in a module this is checked by the compiler, and never run.
#[cfg(not(target_arch = "wasm32"))]
fn limit(_most: usize) {}

#[cfg(target_arch = "wasm32")]
fn pages() -> usize {
    core::arch::wasm32::memory_size::<0>()
}

/// Elsewhere than in a module this is checked by the compiler, and never run.
#[cfg(not(target_arch = "wasm32"))]
fn pages() -> usize {
    0
}
