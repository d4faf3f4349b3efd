//! The clock by which evaluations are stopped. The engine has none of its own, as in the policy's module.

use image_admission_rego::evaluation::use_clock_if_none;
use std::sync::OnceLock;
use std::time::Duration;
use web_time::Instant;

#[derive(Debug)]
struct Clock;

static START: OnceLock<Instant> = OnceLock::new();

impl image_admission_untrusted::clock::Clock for Clock {
    fn now(&self) -> Option<Duration> {
        Some(START.get_or_init(Instant::now).elapsed())
    }
}

/// Gives the engine its clock, unless it was given one: the playground's looks at the page's memory too.
pub(in crate::command) fn start() {
    use_clock_if_none(&Clock);
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_untrusted::clock::use_clock;
    use regorus::utils::limits::monotonic_now;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A clock that was given before, as the playground gives its own.
    struct Given;

    static READS: AtomicUsize = AtomicUsize::new(0);

    impl image_admission_untrusted::clock::Clock for Given {
        fn now(&self) -> Option<Duration> {
            READS.fetch_add(1, Ordering::Relaxed);
            Clock.now()
        }
    }

    #[test]
    fn a_clock_that_was_given_is_what_evaluations_read() {
        use_clock(&Given);
        start();
        let before = READS.load(Ordering::Relaxed);
        assert!(monotonic_now().is_some());
        assert!(READS.load(Ordering::Relaxed) > before, "regorus reads another clock");
    }
}
