//! PEM, as Go's `encoding/pem` takes it: text around a block, lines before its content and white space in it don't count.

use super::STANDARD;
use base64::Engine as _;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "\n-----END ";
const DASHES: &str = "-----";

/// The first block of a text.
pub(super) struct Block<'t> {
    /// What it is: `CERTIFICATE`.
    pub(super) label: &'t str,
    pub(super) bytes: Vec<u8>,
    /// What stands after it.
    pub(super) rest: &'t str,
}

/// Reads the first block that is one.
pub(super) fn block(text: &str) -> Option<Block<'_>> {
    let mut rest = text;
    loop {
        let (before, after) = rest.split_once(END)?;
        match between(before, after) {
            Some(block) => return Some(block),
            None => rest = after,
        }
    }
}

/// The block that begins in one text and ends at the beginning of the other.
fn between<'t>(before: &'t str, after: &'t str) -> Option<Block<'t>> {
    let (outside, inside) = before.rsplit_once(BEGIN)?;
    if !outside.is_empty() && !outside.ends_with('\n') {
        return None;
    }
    let (first, mut body) = line(inside);
    let label = first.strip_suffix(DASHES)?;
    while line(body).0.contains(':') {
        body = body.split_once('\n')?.1;
    }
    let (end, rest) = line(after.strip_prefix(label)?.strip_prefix(DASHES)?);
    if !end.is_empty() {
        return None;
    }
    let encoded = body.replace([' ', '\t', '\r', '\n'], "");
    Some(Block { label, bytes: STANDARD.decode(encoded).ok()?, rest })
}

/// The first line without white space at its end, and what follows it.
fn line(text: &str) -> (&str, &str) {
    let (line, rest) = match text.split_once('\n') {
        Some((line, rest)) => (line.strip_suffix('\r').unwrap_or(line), rest),
        None => (text, ""),
    };
    (line.trim_end_matches([' ', '\t']), rest)
}
