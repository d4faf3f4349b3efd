//! The clock that stops rules. It tells the time; when the guest's memory is nearly used up, it tells that no time is left.

use crate::room::taken;
use image_admission_untrusted::clock::{Clock, NO_TIME};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Beyond this much memory, in bytes, rules are stopped: what one builtin may still take fits below 128 MiB.
const MOST_FOR_RULES: usize = 80 * 1024 * 1024;

/// The host's monotonic clock, and this module's memory.
#[derive(Debug)]
pub(crate) struct GuestClock;

impl Clock for GuestClock {
    fn now(&self) -> Option<Duration> {
        static START: OnceLock<Instant> = OnceLock::new();
        if taken() > MOST_FOR_RULES {
            return Some(NO_TIME);
        }
        Some(START.get_or_init(Instant::now).elapsed())
    }
}
