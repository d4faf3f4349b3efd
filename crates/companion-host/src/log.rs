//! The log: JSON lines on stderr.

use crate::clock::now;
use image_admission_companion::log::{LogLevel, LogLine};
use std::io::Write;

/// A line of this level and message, at the system's time. [`write`] takes it.
pub(crate) fn line(level: LogLevel, message: &str) -> LogLine {
    LogLine::new(now(), level, message)
}

/// Writes a line. It is lost if stderr can't be written to.
pub(crate) fn write(line: &LogLine) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
