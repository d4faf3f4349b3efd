//! The functions with regular expressions.
//!
//! Kubernetes uses Go's RE2, where `\d`, `\w`, `\s`, `\b` are about ASCII while `.`, `[^a]`, `\D` match a whole code
//! point. The crate `regex` has one switch for both. Without its large tables it fails on `\d` and on `(?i)` when the
//! switch is on, and on `.` when it is off. So it is off here, and [`translate`] turns it on around the parts that can
//! match more than ASCII. Classes by Unicode property (`\pL`, `\p{Greek}`) need the tables and are refused. `(?i)` is
//! about ASCII letters, and is refused with a negated class that names letters.

use super::{Answer, Call, ExecutionError, give_bool, quoted};
use ::regex::{Regex, RegexBuilder};
use std::iter::Peekable;
use std::str::Chars;

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 1_024;

/// The longest string, in bytes, that is searched: the worst pattern within the other bounds takes a tenth of a second for it.
pub(super) const MAX_SEARCHED: usize = 8 << 10;

/// The most memory that a compiled pattern takes, in bytes.
const MAX_COMPILED: usize = 256 << 10;

/// `text.matches(pattern)`: whether the pattern matches anywhere in the string.
pub(super) fn matches<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (text, pattern) = prepare(&call)?;
    give_bool(pattern.is_match(text))
}

/// `text.find(pattern)`: the first match, or an empty string.
pub(super) fn find<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let (text, pattern) = prepare(&call)?;
    call.give_text(pattern.find(text).map(|found| found.as_str()).unwrap_or_default())
}

/// `text.findAll(pattern)` and `text.findAll(pattern, limit)`; a negative limit is none.
pub(super) fn find_all<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let limit = call.optional_int(2)?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let (text, pattern) = prepare(&call)?;
    call.give_texts(pattern.find_iter(text).take(limit).map(|found| found.as_str()))
}

/// Whether a pattern of RE2 matches anywhere in a text, as `text.matches(pattern)` says. A text that is too long matches nothing.
///
/// # Errors
/// Why the pattern is none, for people.
pub fn is_match(text: &str, pattern: &str) -> Result<bool, String> {
    let pattern = compile(pattern)?;
    Ok(text.len() <= MAX_SEARCHED && pattern.is_match(text))
}

/// The string and the compiled pattern of a call.
fn prepare<'a>(call: &'a Call<'_, '_>) -> Result<(&'a str, Regex), ExecutionError> {
    let (text, pattern) = (call.text(0)?, call.text(1)?);
    if text.len() > MAX_SEARCHED {
        return Err(call.error(super::LONG_SEARCHED));
    }
    Ok((text, compile(pattern).map_err(|why| call.error(why))?))
}

fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > MAX_PATTERN {
        return Err(super::LONG_PATTERN.to_owned());
    }
    let refused = |reason: &str| format!("not a regular expression: {}: {reason}", quoted(pattern));
    let translated = translate(pattern).map_err(refused)?;
    let compiled = RegexBuilder::new(&translated).unicode(false).size_limit(MAX_COMPILED).build();
    compiled.map_err(|error| match error {
        ::regex::Error::CompiledTooBig(_) => refused("it is too large"),
        // The message shows the pattern over several lines; the last line has the reason.
        other => {
            let message = other.to_string();
            let reason = message.lines().last().unwrap_or_default().trim();
            refused(reason.strip_prefix("error: ").unwrap_or(reason))
        }
    })
}

/// Translates a pattern of RE2 for the crate `regex` with Unicode off.
fn translate(pattern: &str) -> Result<String, &'static str> {
    let mut translated = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '.' => translated.push_str("(?u:.)"),
            '[' => class(&mut rest, &mut translated)?,
            '\\' => match rest.next() {
                Some('s') => translated.push_str("[\\t\\n\\f\\r ]"),
                Some('S') => translated.push_str("(?u:[^\\t\\n\\f\\r ])"),
                Some('D') => translated.push_str("(?u:[^0-9])"),
                Some('W') => translated.push_str("(?u-i:[^0-9A-Za-z_])"),
                // With Unicode off, the number would mean a byte, not a code point.
                Some('x') => {
                    translated.push_str("(?u:\\x");
                    hexadecimal(&mut rest, &mut translated);
                    translated.push(')');
                }
                Some('Q') => literal(&mut rest, &mut translated),
                Some(escaped) => translated.extend(['\\', escaped]),
                None => translated.push('\\'),
            },
            other => translated.push(other),
        }
    }
    Ok(translated)
}

/// Copies the number of `\x`: two digits, or any number of digits in braces.
fn hexadecimal(rest: &mut Peekable<Chars<'_>>, translated: &mut String) {
    let braces = rest.peek() == Some(&'{');
    for (position, digit) in std::iter::from_fn(|| rest.next_if(|next| braces || next.is_ascii_hexdigit())).enumerate()
    {
        translated.push(digit);
        if (braces && digit == '}') || (!braces && position == 1) {
            return;
        }
    }
}

/// Copies the text between `\Q` and `\E`, or the end, literally.
fn literal(rest: &mut Peekable<Chars<'_>>, translated: &mut String) {
    while let Some(character) = rest.next() {
        if character == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        translated.push_str(&::regex::escape(character.encode_utf8(&mut [0; 4])));
    }
}

/// Translates a class; its `[` was read already.
fn class(rest: &mut Peekable<Chars<'_>>, translated: &mut String) -> Result<(), &'static str> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut body = String::from(if negated { "[^" } else { "[" });
    // Whether the class can match more than ASCII, and whether it names letters.
    let mut wide = negated;
    let mut letters = false;
    let mut first = true;
    loop {
        let character = rest.next().ok_or("missing `]`")?;
        match character {
            ']' if !first => break,
            // `[[:alpha:]]`; any other `[` is a plain character in RE2 and the start of a class in a class here.
            '[' if rest.peek() == Some(&':') => {
                letters = true;
                body.push('[');
                loop {
                    let named = rest.next().ok_or("missing `]`")?;
                    body.push(named);
                    if named == ']' {
                        break;
                    }
                }
            }
            '\\' => match rest.next().ok_or("missing `]`")? {
                'd' => body.push_str("[0-9]"),
                'w' => {
                    letters = true;
                    body.push_str("[0-9A-Za-z_]");
                }
                's' => body.push_str("[\\t\\n\\f\\r ]"),
                'D' => {
                    wide = true;
                    body.push_str("[^0-9]");
                }
                'W' => {
                    (wide, letters) = (true, true);
                    body.push_str("[^0-9A-Za-z_]");
                }
                'S' => {
                    wide = true;
                    body.push_str("[^\\t\\n\\f\\r ]");
                }
                'x' => {
                    (wide, letters) = (true, true);
                    body.push_str("\\x");
                    hexadecimal(rest, &mut body);
                }
                escaped => {
                    wide |= !escaped.is_ascii() || matches!(escaped, 'p' | 'P');
                    body.extend(['\\', escaped]);
                }
            },
            // Two of these characters would be an operation on classes.
            '-' if rest.peek() == Some(&'-') => return Err("`--` in a class"),
            '[' | ']' | '&' | '~' => body.extend(['\\', character]),
            other => {
                wide |= !other.is_ascii();
                letters |= other.is_alphabetic();
                body.push(other);
            }
        }
        first = false;
    }
    body.push(']');
    // Folding the case in a wide class needs the tables, so it is left out where there is nothing to fold.
    let (before, after) = match (wide, letters) {
        (false, _) => ("", ""),
        (true, true) => ("(?u:", ")"),
        (true, false) => ("(?u-i:", ")"),
    };
    translated.extend([before, &body, after]);
    Ok(())
}
