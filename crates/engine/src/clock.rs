//! The clock that stops rules: it is given from outside, and read while rules run.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

pub use regorus::utils::limits::TimeSource as Clock;
use regorus::utils::limits::set_time_source;

/// The time that a [`Clock`] tells when the memory is used up: no rule has so much.
pub const NO_TIME: Duration = Duration::from_secs(1 << 40);

static CLOCK: RwLock<&'static dyn Clock> = RwLock::new(&NoClock);

/// Gives the engine the clock that stops rules. It is read while rules run, and nowhere else; without one no rule runs.
pub fn use_clock(clock: &'static dyn Clock) {
    *CLOCK.write().unwrap_or_else(PoisonError::into_inner) = clock;
}

/// The same where no clock was given yet, for a program that has regorus evaluate by itself: regorus reads the engine's clock from now
/// on, whichever that is. Nobody else gives regorus one, since it keeps the first.
pub fn use_clock_if_none(clock: &'static dyn Clock) {
    if now().is_none() {
        use_clock(clock);
    }
    tell_regorus();
}

/// The time that the clock tells. None: there is no clock.
pub(crate) fn now() -> Option<Duration> {
    GivenClock.now()
}

/// Has regorus read the same clock.
pub(crate) fn tell_regorus() {
    // That it reads it already is no error.
    let _ = set_time_source(&GivenClock);
}

struct NoClock;

impl Clock for NoClock {
    fn now(&self) -> Option<Duration> {
        None
    }
}

struct GivenClock;

impl Clock for GivenClock {
    fn now(&self) -> Option<Duration> {
        CLOCK.read().unwrap_or_else(PoisonError::into_inner).now()
    }
}
