//! The engine's clock in tests: each test has its own, which goes on only when it is read.

use image_admission_untrusted::clock::{Clock, NO_TIME, use_clock};
use std::cell::Cell;
use std::time::Duration;

struct ReadClock;

thread_local! {
    static READ: Cell<(Duration, Duration)> = const { Cell::new((Duration::from_secs(1), Duration::ZERO)) };
}

impl Clock for ReadClock {
    fn now(&self) -> Option<Duration> {
        let (now, step) = READ.get();
        READ.set((now + step, step));
        Some(now)
    }
}

/// From now on there is no time left for this test.
pub(crate) fn use_clock_without_time() {
    use_clock(&ReadClock);
    READ.set((NO_TIME, Duration::ZERO));
}

/// From now on the clock goes on by `step` each time that this test reads it.
pub(crate) fn use_clock_of(step: Duration) {
    use_clock(&ReadClock);
    READ.set((Duration::from_secs(1), step));
}
