//! How far a long run has come, for whoever watches it: one line on the terminal that is written over.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use web_time::Instant;

/// How often the line changes.
const EVERY: Duration = Duration::from_millis(100);

/// The line. Results are written when it has gone.
pub(super) struct Progress<W: Write>(Option<Mutex<Line<W>>>);

struct Line<W> {
    terminal: W,
    /// What there are several of: `cases`.
    what: &'static str,
    all: usize,
    done: usize,
    /// How wide the line is that stands there now.
    width: usize,
    last: Option<Instant>,
}

impl Progress<io::Stderr> {
    /// Of so many `cases` or other things, on the standard error stream, if that is a terminal which can write over a line.
    pub(super) fn of(all: usize, what: &'static str) -> Self {
        let unable = env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
        let terminal = io::stderr();
        Self::on((terminal.is_terminal() && !unable).then_some(terminal), all, what)
    }
}

impl<W: Write> Progress<W> {
    fn on(terminal: Option<W>, all: usize, what: &'static str) -> Self {
        Self(terminal.map(|terminal| Mutex::new(Line { terminal, what, all, done: 0, width: 0, last: None })))
    }

    /// What is done before the first of them.
    pub(super) fn begin(&self, what: &str) {
        if let Some(mut line) = self.line() {
            line.write(what);
        }
    }

    /// One more of them is done.
    pub(super) fn step(&self) {
        let Some(mut line) = self.line() else { return };
        line.done += 1;
        if line.last.is_none_or(|last| last.elapsed() >= EVERY) {
            line.last = Some(Instant::now());
            let text = format!("{} of {} {}", line.done, line.all, line.what);
            line.write(&text);
        }
    }

    fn line(&self) -> Option<MutexGuard<'_, Line<W>>> {
        // A line that is half written does no harm.
        self.0.as_ref().map(|line| line.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W: Write> Line<W> {
    fn write(&mut self, text: &str) {
        let width = self.width;
        self.width = text.chars().count();
        // Whoever closes the terminal is not interested.
        let _ = write!(self.terminal, "\r{text:width$}\r").and_then(|()| self.terminal.flush());
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        if let Some(mut line) = self.line() {
            line.write("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_written_over_and_gone_in_the_end() {
        let mut terminal = Vec::new();
        let progress = Progress::on(Some(&mut terminal), 20, "cases");
        progress.begin("compiling policy.wasm");
        progress.step();
        // Too soon after the first.
        progress.step();
        drop(progress);
        let shown = String::from_utf8(terminal).unwrap();
        assert_eq!(shown, format!("\rcompiling policy.wasm\r\r{:21}\r\r{:13}\r", "1 of 20 cases", ""));
    }

    #[test]
    fn without_a_terminal_there_is_nothing() {
        let progress = Progress::<Vec<u8>>::on(None, 20, "cases");
        progress.begin("compiling");
        progress.step();
        assert!(progress.line().is_none());
    }
}
