//! The log: JSON lines on stderr.

use image_admission_companion::log::{LogLevel, LogLine};
use image_admission_untrusted::time::Timestamp;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// A line of this level and message, at the system's time. [`write`] takes it.
pub(crate) fn line(level: LogLevel, message: &str) -> LogLine {
    LogLine::new(now(), level, message)
}

/// Writes a line. It is lost if stderr can't be written to.
pub(crate) fn write(line: &LogLine) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// The system's time.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
