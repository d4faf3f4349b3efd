//! The engine's clock, as regorus reads it.

use image_admission_untrusted::clock::{self, Clock, use_clock};
use regorus::utils::limits::{TimeSource, set_time_source};
use std::time::Duration;

/// Gives the engine a clock where it has none yet, for a program that has regorus evaluate by itself: regorus reads the engine's
/// clock from now on, whichever that is. regorus keeps the first clock that it gets, so
/// nothing outside of this file may give it one.
pub fn use_clock_if_none(clock: &'static dyn Clock) {
    if clock::now().is_none() {
        use_clock(clock);
    }
    tell_regorus();
}

/// Has regorus read the engine's clock.
pub(crate) fn tell_regorus() {
    // It is no error that regorus reads it already.
    let _ = set_time_source(&EngineClock);
}

struct EngineClock;

impl TimeSource for EngineClock {
    fn now(&self) -> Option<Duration> {
        clock::now()
    }
}
