//! The functions on lists that Kubernetes adds.
//!
//! Kubernetes knows the type of the elements beforehand. Here their types are checked during the call. So a list of
//! numbers of mixed types can be compared but not summed, as with the operators.

use super::{Answer, Call, CowVal, ExecutionError, Kind, Val, give_bool, give_count, give_int};
use std::cmp::Ordering;

/// `list.isSorted()`: ascending, equal neighbours allowed.
pub(super) fn is_sorted<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let mut previous: Option<&dyn Val> = None;
    for element in call.elements(0)? {
        if compare(&call, previous.unwrap_or(element), element)? == Ordering::Greater {
            return give_bool(false);
        }
        previous = Some(element);
    }
    give_bool(true)
}

/// `list.sum()`: the sum of numbers or durations of one type; the integer 0 for an empty list.
pub(super) fn sum<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let mut elements = call.elements(0)?.into_iter();
    let Some(first) = elements.next() else { return give_int(0) };
    let kind = first.get_type().kind();
    if !matches!(kind, Kind::Int | Kind::UInt | Kind::Double | Kind::Duration) {
        return Err(no_sum(&call, first));
    }
    let mut total: Box<dyn Val + 'v> = first.clone_as_boxed();
    for element in elements {
        if element.get_type().kind() != kind {
            return Err(no_sum(&call, element));
        }
        let adder = total.as_adder().ok_or_else(|| no_sum(&call, element))?;
        // The types are equal and can be added, so only an overflow can fail.
        total = adder.add(element).map_err(|_overflow| call.error("the sum is out of range"))?.into_owned();
    }
    Ok(CowVal::Owned(total))
}

/// `list.min()`: the first of the smallest elements.
pub(super) fn min<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    extreme(&call, Ordering::Less)
}

/// `list.max()`: the first of the largest elements.
pub(super) fn max<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    extreme(&call, Ordering::Greater)
}

/// `list.indexOf(element)`.
pub(super) fn index_of<'c, 'v>(call: &Call<'_, 'v>) -> Answer<'c, 'v> {
    let wanted = wanted(call)?;
    give_position(call.elements(0)?.into_iter().position(|element| element.equals(wanted)))
}

/// `list.lastIndexOf(element)`.
pub(super) fn last_index_of<'c, 'v>(call: &Call<'_, 'v>) -> Answer<'c, 'v> {
    let wanted = wanted(call)?;
    give_position(call.elements(0)?.into_iter().rposition(|element| element.equals(wanted)))
}

/// The element to look for: the only argument on a list.
fn wanted<'a, 'v>(call: &'a Call<'_, 'v>) -> Result<&'a (dyn Val + 'v), ExecutionError> {
    if call.count() == 2 { call.argument(1) } else { Err(call.mismatch()) }
}

/// Answers with a position, or -1.
fn give_position<'c, 'v>(found: Option<usize>) -> Answer<'c, 'v> {
    found.map_or_else(|| give_int(-1), give_count)
}

/// The first element that compares as `wanted` with the others.
fn extreme<'c, 'v>(call: &Call<'_, 'v>, wanted: Ordering) -> Answer<'c, 'v> {
    let mut best: Option<&(dyn Val + 'v)> = None;
    for element in call.elements(0)? {
        let ordering = compare(call, element, best.unwrap_or(element))?;
        if best.is_none() || ordering == wanted {
            best = Some(element);
        }
    }
    let best = best.ok_or_else(|| call.error("the list is empty"))?;
    Ok(CowVal::Owned(best.clone_as_boxed()))
}

/// Compares two elements, which must be of types that have an order.
fn compare(call: &Call<'_, '_>, left: &dyn Val, right: &dyn Val) -> Result<Ordering, ExecutionError> {
    let compared = left.as_comparer().and_then(|comparer| comparer.compare(right).ok());
    compared.ok_or_else(|| {
        let types = (left.get_type().name(), right.get_type().name());
        call.error(format!("elements can't be compared: `{}` and `{}`", types.0, types.1))
    })
}

/// The error for an element that can't be added.
fn no_sum(call: &Call<'_, '_>, element: &dyn Val) -> ExecutionError {
    call.error(format!("an element can't be summed: `{}`", element.get_type().name()))
}
