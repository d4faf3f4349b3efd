//! The guest's memory, and the clock that stops rules: it tells the time, and that there is none left when the memory is
//! nearly used up.

use image_admission_engine::{Clock, NO_TIME};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Pages of 64 KiB, three eighths of the module's maximum of memory: what one builtin may still take, and a list that
/// doubles its size, fits above it.
const MAX_PAGES: usize = 96 * 1024 * 1024 / (64 * 1024);

/// Pages up to which a request leaves behind what it no longer needs: far more than one takes, and far less than there is
/// for a host that asks the same instance again.
const MAX_PAGES_UNFREED: usize = 24 * 1024 * 1024 / (64 * 1024);

/// The host's monotonic clock, and this module's memory.
#[derive(Debug)]
pub(crate) struct GuestClock;

impl Clock for GuestClock {
    fn now(&self) -> Option<Duration> {
        static START: OnceLock<Instant> = OnceLock::new();
        if pages() > MAX_PAGES {
            return Some(NO_TIME);
        }
        Some(START.get_or_init(Instant::now).elapsed())
    }
}

/// Whether there is memory to leave behind: the instance ends with the request, unless the host asks it again.
pub(crate) fn may_skip_freeing() -> bool {
    pages() < MAX_PAGES_UNFREED
}

#[cfg(target_arch = "wasm32")]
fn pages() -> usize {
    core::arch::wasm32::memory_size::<0>()
}

/// Elsewhere than in a module this is checked by the compiler, and never run.
#[cfg(not(target_arch = "wasm32"))]
fn pages() -> usize {
    0
}
