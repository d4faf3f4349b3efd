//! The standard error stream where a page shows it.

use std::cell::RefCell;
use std::io::{self, Write};

thread_local! {
    static SAID: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The standard error stream of the command that runs.
pub(in crate::command) struct Errors;

/// The standard error stream.
pub(in crate::command) fn errors() -> Errors {
    Errors
}

/// What was written there since this was asked.
pub(in crate::command) fn take_errors() -> Vec<u8> {
    SAID.take()
}

impl Write for Errors {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        SAID.with_borrow_mut(|said| said.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl super::StandardOutput for Errors {
    fn is_terminal(&self) -> bool {
        false
    }
}
