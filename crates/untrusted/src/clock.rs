//! The clock that stops rules. The caller provides it; it is read while rules run.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

/// Tells how much time has passed since any fixed start.
pub trait Clock: Sync {
    /// The time since that start. None: the clock can't be read.
    fn now(&self) -> Option<Duration>;
}

/// The time that a [`Clock`] tells when the memory is used up. It is beyond every limit.
pub const NO_TIME: Duration = Duration::from_secs(1 << 40);

static CLOCK: RwLock<&'static dyn Clock> = RwLock::new(&NoClock);

/// Gives the engine the clock that stops rules. Without one no rule runs.
pub fn use_clock(clock: &'static dyn Clock) {
    *CLOCK.write().unwrap_or_else(PoisonError::into_inner) = clock;
}

/// The time that the clock tells. None: there is no clock, or it can't be read.
pub fn now() -> Option<Duration> {
    CLOCK.read().unwrap_or_else(PoisonError::into_inner).now()
}

struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Option<Duration> {
        None
    }
}
