//! The functions on lists as sets, `sets.…`.

use super::{Answer, Call, ExecutionError, Val, give_bool};

/// The most pairs of elements that one call compares: two lists of the greatest length would take minutes.
const MAX_COMPARISONS: usize = 1_000_000;

/// `sets.contains(list, other)`: whether each element of `other` is in `list`.
pub(super) fn contains<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (list, other) = lists(&call)?;
    give_bool(has_all(&list, &other))
}

/// `sets.equivalent(list, other)`: whether each element of one is in the other.
pub(super) fn equivalent<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (list, other) = lists(&call)?;
    give_bool(has_all(&list, &other) && has_all(&other, &list))
}

/// `sets.intersects(list, other)`: whether an element is in both.
pub(super) fn intersects<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (list, other) = lists(&call)?;
    give_bool(other.iter().any(|element| has(&list, *element)))
}

/// The elements of a list.
type Elements<'a, 'v> = Vec<&'a (dyn Val + 'v)>;

/// Both lists, unless comparing them takes too long.
fn lists<'a, 'v>(call: &'a Call<'_, 'v>) -> Result<(Elements<'a, 'v>, Elements<'a, 'v>), ExecutionError> {
    let (list, other) = (call.elements(0)?, call.elements(1)?);
    if list.len().saturating_mul(other.len()) > MAX_COMPARISONS {
        return Err(call.error(super::LONG_SETS));
    }
    Ok((list, other))
}

fn has_all(list: &[&(dyn Val + '_)], wanted: &[&(dyn Val + '_)]) -> bool {
    wanted.iter().all(|element| has(list, *element))
}

fn has(list: &[&(dyn Val + '_)], wanted: &(dyn Val + '_)) -> bool {
    list.iter().any(|element| element.equals(wanted))
}
