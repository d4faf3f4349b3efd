//! How much of a document is looked into: whoever writes one may be an attacker.

use crate::Error;
use std::cell::Cell;

/// Bytes of a text.
pub(crate) const MOST_BYTES: usize = 256 * 1024;
/// Tokens of a text: as data, each takes up to 600 bytes of memory.
pub(crate) const MOST_TOKENS: usize = 50_000;
/// Brackets in brackets of a text: as data, each is up to three levels.
pub(crate) const MOST_BRACKETS: usize = 50;
/// Selections in selections, values in values, and fragments in fragments, however they were written.
const MOST_LEVELS: usize = 100;
/// Names that are looked up or compared while a document is validated: some 50 ms of them.
const MOST_STEPS: usize = 1_000_000;

/// What is left of the steps of one validation.
#[derive(Debug)]
pub(crate) struct Steps(Cell<usize>);

impl Steps {
    pub(crate) fn new() -> Self {
        Self(Cell::new(MOST_STEPS))
    }

    /// Takes so many.
    pub(crate) fn take(&self, steps: usize) -> Result<(), Error> {
        let left = self.0.get().checked_sub(steps);
        let left = left.ok_or(Error::TooMuch("a document that takes more than 1000000 steps to validate"))?;
        self.0.set(left);
        Ok(())
    }
}

/// The level below this one.
pub(crate) fn below(level: usize) -> Result<usize, Error> {
    if level < MOST_LEVELS {
        Ok(level + 1)
    } else {
        Err(Error::TooMuch("a document of more than 100 levels, with those of its fragments"))
    }
}
