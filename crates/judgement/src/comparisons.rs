//! How often findings are compared with what others wrote about them.
//!
//! The builder of an image decides how many findings it has, and others how much they write: exemptions, or statements of VEX
//! documents. Both together must not hold up a worker of the policy server.

use std::cell::Cell;

/// The comparisons that a request may still make; none once there weren't enough.
#[derive(Debug)]
pub(crate) struct Comparisons(Cell<Option<usize>>);

impl Comparisons {
    /// So many, for all images of a request.
    pub(crate) fn new(most: usize) -> Self {
        Self(Cell::new(Some(most)))
    }

    /// Whether so many more may be made. Once they may not, no others may, either.
    pub(crate) fn take(&self, number: usize) -> bool {
        self.0.set(self.0.get().and_then(|left| left.checked_sub(number)));
        !self.are_used_up()
    }

    /// Whether some couldn't be made.
    pub(crate) fn are_used_up(&self) -> bool {
        self.0.get().is_none()
    }
}
