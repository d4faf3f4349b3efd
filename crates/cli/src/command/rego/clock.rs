//! The clock by which evaluations are stopped. The engine has none of its own, as in the policy's module.

use std::sync::OnceLock;
use std::time::Duration;

use web_time::Instant;

use regorus::utils::limits::{TimeSource, set_time_source};

#[derive(Debug)]
struct Clock;

static START: OnceLock<Instant> = OnceLock::new();

impl TimeSource for Clock {
    fn now(&self) -> Option<Duration> {
        Some(START.get_or_init(Instant::now).elapsed())
    }
}

/// Gives the engine its clock.
pub(in crate::command) fn start() {
    // That it has one already is no error: it is this one.
    let _ = set_time_source(&Clock);
}
