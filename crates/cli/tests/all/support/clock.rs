//! The engine's clock in tests.

use std::cell::Cell;
use std::time::Duration;

use image_admission_untrusted::clock::{Clock, use_clock};

/// A clock that only goes on when it is read, so that a busy machine stops no rule, and a rule that loops ends. Each test
/// has its own.
struct ReadClock;

thread_local! {
    static MICROSECONDS: Cell<u64> = const { Cell::new(0) };
}

impl Clock for ReadClock {
    fn now(&self) -> Option<Duration> {
        MICROSECONDS.set(MICROSECONDS.get() + 100);
        Some(Duration::from_micros(MICROSECONDS.get()))
    }
}

/// Gives the engine that clock.
pub(crate) fn use_read_clock() {
    use_clock(&ReadClock);
}
