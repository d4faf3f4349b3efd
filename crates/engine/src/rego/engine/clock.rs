//! The clock that stops rules: it is given from outside, and read while rules run.

use std::time::Duration;

pub use regorus::utils::limits::TimeSource as Clock;

/// The time that a [`Clock`] tells when the memory is used up: no rule has so much.
pub const NO_TIME: Duration = Duration::from_secs(1 << 40);

/// Gives the engine the clock that stops rules. It is read while rules run, and nowhere else; without one no rule runs.
/// The first clock stays.
pub fn use_clock(clock: &'static dyn Clock) {
    let _ = regorus::utils::limits::set_time_source(clock);
}
