//! The clock that stops rules: the browser's. It says that no time is left when the memory is nearly used up, too.

use std::sync::OnceLock;
use std::time::Duration;

use image_admission_untrusted::clock::{Clock, NO_TIME, use_clock};
use web_time::Instant;

/// Pages of 64 KiB: half a gigabyte, of which a tab can have four.
const MAX_PAGES: usize = 512 * 1024 * 1024 / (64 * 1024);

#[derive(Debug)]
struct PageClock;

impl Clock for PageClock {
    fn now(&self) -> Option<Duration> {
        static START: OnceLock<Instant> = OnceLock::new();
        if core::arch::wasm32::memory_size::<0>() > MAX_PAGES {
            return Some(NO_TIME);
        }
        Some(START.get_or_init(Instant::now).elapsed())
    }
}

/// Gives the engine this clock. That it has it already changes nothing.
pub(crate) fn start() {
    use_clock(&PageClock);
}
