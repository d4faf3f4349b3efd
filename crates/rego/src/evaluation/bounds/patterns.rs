//! The builtins that look for patterns.
//!
//! A short string is searched by regorus' builtin. A long one is searched here: the search is tried first, and can be given up
//! between two matches.

use super::Checked;
use super::sizes::{MAX_TEXT, list_of, text, text_of};
use image_admission_untrusted::clock;
use regex::{Regex, RegexBuilder};
use regorus::Value;
use regorus::unstable::re2::from_go;
use std::time::Duration;

/// The largest size of a compiled pattern, the engine's own.
const LARGEST_PATTERN: usize = 100 * 1024;
/// Bytes of a pattern: parsing alone takes time.
const MAX_PATTERN_LENGTH: usize = 4096;
/// Bytes that a pattern is looked for in.
const MAX_SEARCHED: usize = 1 << 20;
/// Bytes that are searched for any pattern within 60 ms.
const SOON_SEARCHED: usize = 4096;
/// Bytes of the parts that a pattern is tried on before it is looked for in a longer string: the worst patterns take 20 us for each
/// of them.
const TRIED: usize = 2048;
/// How long these trials take together, and how long a builtin goes on that finds one match after the other: each may take the time
/// of the whole string.
const MAX_SEARCH_TIME: Duration = Duration::from_millis(100);

/// Whether a string is a pattern; other values aren't.
pub(super) fn pattern_valid(name: &str, args: &[Value]) -> Checked {
    let Some(Value::String(pattern)) = args.first() else { return Ok(Some(Value::from(false))) };
    pattern_spelled(name, pattern).map(|()| None)
}

/// Whether a pattern is anywhere in a string.
pub(super) fn matched(name: &str, args: &[Value]) -> Checked {
    let [Value::String(pattern), Value::String(whole)] = args else { return Ok(None) };
    if whole.len() <= SOON_SEARCHED {
        return pattern_spelled(name, pattern).map(|()| None);
    }
    let regex = tried(name, pattern, whole)?;
    Ok(Some(regex.map_or(Value::Undefined, |regex| Value::from(regex.is_match(whole)))))
}

/// The matches, one after the other.
pub(super) fn find(name: &str, args: &[Value]) -> Checked {
    if let [Value::String(pattern), Value::String(whole), _] = args
        && is_small(pattern, whole, "")
    {
        return Ok(None);
    }
    let Some((regex, whole, most)) = searching(name, args)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut found = Vec::new();
    for part in regex.find_iter(whole).take(most) {
        search.found()?;
        found.push(Value::from(part.as_str()));
    }
    Ok(Some(Value::from(found)))
}

/// The matches with their groups.
pub(super) fn find_submatches(name: &str, args: &[Value]) -> Checked {
    if let [Value::String(pattern), Value::String(whole), _] = args
        && is_small(pattern, whole, "")
    {
        return Ok(None);
    }
    let Some((regex, whole, most)) = searching(name, args)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut found = Vec::new();
    for captures in regex.captures_iter(whole).take(most) {
        let mut groups = Vec::new();
        for group in captures.iter() {
            search.found()?;
            groups.push(Value::from(group.map(|group| group.as_str()).unwrap_or_default()));
        }
        found.push(Value::from(groups));
    }
    Ok(Some(Value::from(found)))
}

/// The string with something else instead of each match.
pub(super) fn replaced_by_pattern(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(pattern), Value::String(new)] = args else { return Ok(None) };
    if is_small(pattern, whole, new) {
        return Ok(None);
    }
    let Some(regex) = tried(name, pattern, whole)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut made = String::new();
    let mut end = 0;
    for captures in regex.captures_iter(whole) {
        search.found()?;
        let Some(all) = captures.get(0) else { continue };
        made.push_str(whole.get(end..all.start()).unwrap_or_default());
        captures.expand(new, &mut made);
        end = all.end();
        text_of(name, made.len())?;
    }
    made.push_str(whole.get(end..).unwrap_or_default());
    Ok(Some(Value::from(made)))
}

/// What stands between the matches.
pub(super) fn split_by_pattern(name: &str, args: &[Value]) -> Checked {
    let [Value::String(pattern), Value::String(whole)] = args else { return Ok(None) };
    if is_small(pattern, whole, "") {
        return Ok(None);
    }
    let Some(regex) = tried(name, pattern, whole)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut parts = Vec::new();
    // As Go splits: an empty match before the first character, or behind the last one, splits nothing.
    let (mut begin, mut end) = (0, 0);
    for found in regex.find_iter(whole) {
        search.found()?;
        end = found.start();
        if found.end() != 0 {
            parts.push(Value::from(whole.get(begin..end).unwrap_or_default()));
        }
        begin = found.end();
    }
    if end != whole.len() {
        parts.push(Value::from(whole.get(begin..).unwrap_or_default()));
    }
    Ok(Some(Value::from(parts)))
}

/// Reimplemented, since regorus' builtin ends the module if the string is shorter than the template.
pub(super) fn template(name: &str, args: &[Value]) -> Checked {
    let [Value::String(template), Value::String(whole), Value::String(open), Value::String(close)] = args else {
        return Ok(None);
    };
    let mut search = Search::new(name);
    let (mut template, mut rest) = (&**template, &**whole);
    while let (Some(start), Some(end)) = (template.find(&**open), template.find(&**close)) {
        search.found()?;
        let (Some(literal), Some(pattern)) = (template.get(..start), template.get(start + open.len()..end)) else {
            return Ok(Some(Value::Undefined));
        };
        if start >= end {
            return Ok(Some(Value::Undefined));
        }
        let Some(after) = rest.strip_prefix(literal) else { return Ok(Some(Value::from(false))) };
        let Some(regex) = tried(name, pattern, after)? else { return Ok(Some(Value::Undefined)) };
        let Some(found) = regex.find(after).filter(|found| found.start() == 0) else {
            return Ok(Some(Value::from(false)));
        };
        rest = after.get(found.end()..).unwrap_or_default();
        template = template.get(end + close.len()..).unwrap_or_default();
    }
    Ok(Some(Value::from(template == rest)))
}

/// `None` if it isn't a pattern.
fn compile(name: &str, pattern: &str) -> Result<Option<Regex>, String> {
    pattern_spelled(name, pattern)?;
    let Some(translated) = from_go(pattern) else { return Ok(None) };
    match RegexBuilder::new(&translated).size_limit(LARGEST_PATTERN).build() {
        Ok(regex) => Ok(Some(regex)),
        Err(regex::Error::CompiledTooBig(_)) => Err(takes_too_much(name, pattern)),
        Err(_) => Ok(None),
    }
}

/// The error for the engine's limit of compiled patterns, with the argument that exceeds it.
pub(super) fn too_large(name: &str, args: &[Value]) -> String {
    let pattern = args.iter().map(text).find(|text| compile(name, text).is_err()).unwrap_or_default();
    takes_too_much(name, pattern)
}

fn takes_too_much(name: &str, pattern: &str) -> String {
    let length = pattern.len();
    format!(
        "`{name}` with a pattern of {length} bytes: it takes more than {LARGEST_PATTERN} bytes, use smaller repetitions"
    )
}

fn pattern_spelled(name: &str, pattern: &str) -> Result<(), String> {
    match pattern.len() > MAX_PATTERN_LENGTH {
        true => Err(format!("`{name}` with a pattern of {} bytes: at most {MAX_PATTERN_LENGTH}", pattern.len())),
        false => Ok(()),
    }
}

/// A pattern that can be looked for in a string without taking too long, `None` if it isn't one.
///
/// A search can't be stopped. But it takes as long as the searches of the string's parts together. So these are tried first, with
/// an eye on the clock.
fn tried(name: &str, pattern: &str, whole: &str) -> Result<Option<Regex>, String> {
    if whole.len() > MAX_SEARCHED {
        return Err(format!("`{name}` of a text of {} bytes: at most {MAX_SEARCHED}", whole.len()));
    }
    let Some(regex) = compile(name, pattern)? else { return Ok(None) };
    let search = Search::new(name);
    let mut rest = if whole.len() > SOON_SEARCHED { whole } else { "" };
    while !rest.is_empty() {
        let (part, after) = rest.split_at_checked(rest.floor_char_boundary(TRIED)).unwrap_or((rest, ""));
        let _ = regex.is_match(part);
        search.goes_on(|| format!("a pattern of {} bytes in a text of {} bytes", pattern.len(), whole.len()))?;
        rest = after;
    }
    Ok(Some(regex))
}

/// Whether regorus' builtin is bounded by the size of its arguments: it keeps compiled patterns for the next call.
fn is_small(pattern: &str, whole: &str, new: &str) -> bool {
    whole.len() <= SOON_SEARCHED && (whole.len() + 1).saturating_mul(pattern.len().max(new.len())) <= MAX_TEXT / 16
}

/// The pattern, the string, and the most matches that are wanted.
fn searching<'v>(name: &str, args: &'v [Value]) -> Result<Option<(Regex, &'v str, usize)>, String> {
    let [Value::String(pattern), Value::String(whole), Value::Number(most)] = args else { return Ok(None) };
    let Some(regex) = tried(name, pattern, whole)? else { return Ok(None) };
    if !most.is_integer() {
        return Ok(None);
    }
    let most = most.as_i64().map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    Ok(Some((regex, whole, most)))
}

/// How long a search has been going on.
struct Search<'n> {
    name: &'n str,
    since: Option<Duration>,
    found: usize,
}

impl<'n> Search<'n> {
    fn new(name: &'n str) -> Self {
        Self { name, since: clock::now(), found: 0 }
    }

    /// Counts a match.
    fn found(&mut self) -> Result<(), String> {
        self.found += 1;
        list_of(self.name, self.found)?;
        self.goes_on(|| format!("{} matches", self.found))
    }

    fn goes_on(&self, what: impl Fn() -> String) -> Result<(), String> {
        let took = clock::now().zip(self.since).and_then(|(now, since)| now.checked_sub(since));
        match took.is_some_and(|took| took > MAX_SEARCH_TIME) {
            true => Err(format!(
                "`{}` takes more than {} ms for {}: use a simpler pattern, or less text",
                self.name,
                MAX_SEARCH_TIME.as_millis(),
                what()
            )),
            false => Ok(()),
        }
    }
}
