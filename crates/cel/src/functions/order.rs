//! Methods that compare quantities and versions.

use super::{Answer, Call, ExecutionError, give_bool, give_int, quantity, versions};
use std::cmp::Ordering;

/// `x.compareTo(y)`: -1, 0 or 1.
pub(super) fn compare_to<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_int(match compared(&call)? {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
}

/// `x.isGreaterThan(y)`.
pub(super) fn is_greater_than<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(compared(&call)? == Ordering::Greater)
}

/// `x.isLessThan(y)`.
pub(super) fn is_less_than<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(compared(&call)? == Ordering::Less)
}

fn compared(call: &Call<'_, '_>) -> Result<Ordering, ExecutionError> {
    match quantity::compared(call)? {
        Some(ordering) => Ok(ordering),
        None => versions::compared(call)?.ok_or_else(|| call.mismatch()),
    }
}
