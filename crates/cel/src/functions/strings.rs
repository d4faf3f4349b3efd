//! The functions on strings. All positions count code points.

use super::{Answer, Call, CelString, ExecutionError, Kind, give_bool, give_count, give_int, lists, quoted};

/// `text.contains(part)`.
pub(super) fn contains<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(call.text(0)?.contains(call.text(1)?))
}

/// `text.startsWith(part)`.
pub(super) fn starts_with<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(call.text(0)?.starts_with(call.text(1)?))
}

/// `text.endsWith(part)`.
pub(super) fn ends_with<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(call.text(0)?.ends_with(call.text(1)?))
}

/// `text.charAt(position)`: empty at the very end.
pub(super) fn char_at<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let tail = tail(&call, call.text(0)?, call.int(1)?)?;
    call.give_text(tail.chars().next().map(String::from).unwrap_or_default())
}

/// `text.substring(start)` and `text.substring(start, end)`.
pub(super) fn substring<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let text = call.text(0)?;
    let start = call.int(1)?;
    let Some(end) = call.optional_int(2)? else { return call.give_text(tail(&call, text, start)?) };
    if start > end {
        return Err(call.error(format!("the start `{start}` is after the end `{end}`")));
    }
    let after_start = tail(&call, text, start)?;
    let after_end = tail(&call, text, end)?;
    call.give_text(after_start.strip_suffix(after_end).unwrap_or_default())
}

/// `text.indexOf(part)` and `text.indexOf(part, from)`; on a list, `list.indexOf(element)`.
pub(super) fn index_of<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    if call.kind(0)? == Kind::List {
        return lists::index_of(&call);
    }
    let (text, part) = (call.text(0)?, call.text(1)?);
    let Some(from) = call.optional_int(2)? else { return give_position(text, text.find(part)) };
    let tail = search_tail(&call, text, part, from)?;
    let skipped = text.len().saturating_sub(tail.len());
    give_position(text, tail.find(part).map(|found| found.saturating_add(skipped)))
}

/// `text.lastIndexOf(part)` and `text.lastIndexOf(part, last)`, where the part starts at `last` or before; on a list,
/// `list.lastIndexOf(element)`.
pub(super) fn last_index_of<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    if call.kind(0)? == Kind::List {
        return lists::last_index_of(&call);
    }
    let (text, part) = (call.text(0)?, call.text(1)?);
    let Some(last) = call.optional_int(2)? else { return give_position(text, text.rfind(part)) };
    let tail = search_tail(&call, text, part, last)?;
    // A part that starts at `last` or before ends here or before. A cut inside a character can be no part's end.
    let mut end = text.len().saturating_sub(tail.len()).saturating_add(part.len()).min(text.len());
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    give_position(text, text.get(..end).unwrap_or_default().rfind(part))
}

/// `list.join()` and `list.join(separator)`.
pub(super) fn join<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let elements = call.elements(0)?;
    let separator = if call.count() > 1 { call.text(1)? } else { "" };
    let mut joined = String::new();
    for (position, element) in elements.into_iter().enumerate() {
        let Some(text) = element.downcast_ref::<CelString<'v>>() else {
            let kind = element.get_type().name();
            return Err(call.error(format!("an element isn't a string but `{kind}`")));
        };
        let before = if position == 0 { "" } else { separator };
        call.check_text(joined.len().saturating_add(before.len()).saturating_add(text.inner().len()))?;
        joined.push_str(before);
        joined.push_str(text.inner());
    }
    call.give_text(joined)
}

/// `text.lowerAscii()`.
pub(super) fn lower_ascii<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let text = call.text(0)?;
    call.check_text(text.len())?;
    call.give_text(text.to_ascii_lowercase())
}

/// `text.upperAscii()`.
pub(super) fn upper_ascii<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let text = call.text(0)?;
    call.check_text(text.len())?;
    call.give_text(text.to_ascii_uppercase())
}

/// `text.replace(old, new)` and `text.replace(old, new, limit)`; a negative limit is none.
pub(super) fn replace<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (text, old, new) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let limit = limit(call.optional_int(3)?);
    // The length is checked before the string is made: a short expression could ask for more memory than there is.
    let count = text.matches(old).take(limit).count();
    let removed = count.saturating_mul(old.len());
    call.check_text(text.len().saturating_sub(removed).saturating_add(count.saturating_mul(new.len())))?;
    call.give_text(text.replacen(old, new, limit))
}

/// `text.split(separator)` and `text.split(separator, limit)`, where the last of `limit` strings has the rest. A
/// negative limit is none; an empty separator splits into code points.
pub(super) fn split<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (text, separator) = (call.text(0)?, call.text(1)?);
    let limit = limit(call.optional_int(2)?);
    if separator.is_empty() {
        return call.give_texts(Characters { rest: text, limit });
    }
    call.give_texts(text.splitn(limit, separator))
}

/// `text.trim()`: without white space (as in Unicode) at both ends.
pub(super) fn trim<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.give_text(call.text(0)?.trim())
}

/// The code points of a string one by one, in at most `limit` parts; the last part has the rest.
#[derive(Debug)]
struct Characters<'t> {
    rest: &'t str,
    limit: usize,
}

impl<'t> Iterator for Characters<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let width = self.rest.chars().next()?.len_utf8();
        self.limit = self.limit.checked_sub(1)?;
        let (first, rest) = if self.limit == 0 { (self.rest, "") } else { self.rest.split_at_checked(width)? };
        self.rest = rest;
        Some(first)
    }
}

/// A limit; none or a negative number means no limit.
fn limit(given: Option<i64>) -> usize {
    given.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// The string from a position on, which may be its end.
fn tail<'t>(call: &Call<'_, '_>, text: &'t str, position: i64) -> Result<&'t str, ExecutionError> {
    let mut rest = text.chars();
    if let Ok(skipped) = usize::try_from(position) {
        match skipped.checked_sub(1) {
            None => return Ok(text),
            Some(before) if rest.nth(before).is_some() => return Ok(rest.as_str()),
            Some(_) => {}
        }
    }
    Err(out_of_range(call, text, position))
}

/// The string from the position on where a search starts. The position must be before the end. An empty part is found
/// at any position, and at the end for positions beyond it.
fn search_tail<'t>(call: &Call<'_, '_>, text: &'t str, part: &str, from: i64) -> Result<&'t str, ExecutionError> {
    match tail(call, text, from) {
        Ok("") if !part.is_empty() => Err(out_of_range(call, text, from)),
        Err(_) if part.is_empty() && from >= 0 => Ok(""),
        other => other,
    }
}

/// The error for a position that isn't in the string.
fn out_of_range(call: &Call<'_, '_>, text: &str, position: i64) -> ExecutionError {
    call.error(format!("the position `{position}` is outside {}", quoted(text)))
}

/// Answers with a byte offset as a position in code points, or -1.
fn give_position<'c, 'v>(text: &str, offset: Option<usize>) -> Answer<'c, 'v> {
    match offset.and_then(|offset| text.get(..offset)) {
        Some(before) => give_count(before.chars().count()),
        None => give_int(-1),
    }
}
