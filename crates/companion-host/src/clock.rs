//! The system's clock, in the companion's seconds.

use image_admission_untrusted::time::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// The system's time.
pub(crate) fn now() -> Timestamp {
    timestamp(SystemTime::now())
}

/// A time of the system. What is before 1970 is 1970.
pub(crate) fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
