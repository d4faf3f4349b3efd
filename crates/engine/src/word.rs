//! Eight bytes of a text, looked at together: one by one they cost several times as much, and some texts are looked at in every
//! request.

/// How many bytes a word has.
pub(crate) const WORD: usize = 8;

/// A word with this in each of its bytes.
const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; WORD])
}

/// The word that begins at a place of a text, its first byte the lowest; what the text is too short for is zero.
pub(crate) fn word(text: &[u8], at: usize) -> u64 {
    let text = text.get(at..).unwrap_or_default();
    match text.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Appends a text. Copying is a call to the host in a module, which costs as much as some eighty instructions: a short text takes a
/// word or two in its place.
pub(crate) fn append(to: &mut Vec<u8>, text: &[u8]) {
    if text.len() > 2 * WORD {
        to.extend_from_slice(text);
    } else if !append_two::<WORD>(to, text) && !append_two::<{ WORD / 2 }>(to, text) {
        text.iter().for_each(|byte| to.push(*byte));
    }
}

/// Appends a text by its first bytes and its last, which may be the same in part. False: it is shorter than either.
fn append_two<const BYTES: usize>(to: &mut Vec<u8>, text: &[u8]) -> bool {
    let (Some(first), Some(last)) = (text.first_chunk::<BYTES>(), text.last_chunk::<BYTES>()) else { return false };
    to.extend_from_slice(first);
    to.truncate(to.len() + text.len() - 2 * BYTES);
    to.extend_from_slice(last);
    true
}

/// The highest bit of each byte that is one of these, which are ASCII.
pub(crate) fn among(word: u64, first: u8, last: u8) -> u64 {
    // Without its highest bit, no byte is carried to the next.
    let seven_bits = word & each(0x7f);
    (seven_bits + each(0x80 - first)) & !(seven_bits + each(0x7f - last)) & !word & each(0x80)
}

/// The same of one byte.
pub(crate) fn is(word: u64, byte: u8) -> u64 {
    among(word, byte, byte)
}

/// The same of letters and digits.
pub(crate) fn alphanumeric(word: u64) -> u64 {
    among(word, b'0', b'9') | among(word, b'A', b'Z') | among(word, b'a', b'z')
}

/// How many bytes of a word come before the lowest of these bits.
pub(crate) fn bytes_before(bits: u64) -> usize {
    (bits.trailing_zeros() / u8::BITS) as usize
}

/// How many bytes of a word come before the first whose highest bit isn't among these.
pub(crate) fn length_of(highest_bits: u64) -> usize {
    bytes_before(!highest_bits & each(0x80))
}

/// Whether all bytes of a text are among those whose highest bits are told of a word.
pub(crate) fn all(text: &[u8], among: impl Fn(u64) -> u64) -> bool {
    // The last word may have bytes of the one before it once more.
    let Some(last) = text.last_chunk() else { return length_of(among(word(text, 0))) >= text.len() };
    let is_all = |word: &[u8; WORD]| among(u64::from_le_bytes(*word)) & each(0x80) == each(0x80);
    text.as_chunks().0.iter().all(is_all) && is_all(last)
}

/// Whether a text has a byte that JSON writes in another way: one below the space, `"` or `\`.
pub(crate) fn has_escapes(text: &[u8]) -> bool {
    has(text, |word| {
        let (quote, backslash) = (word ^ each(b'"'), word ^ each(b'\\'));
        let below = word.wrapping_sub(each(b' ')) | quote.wrapping_sub(each(1)) | backslash.wrapping_sub(each(1));
        below & !word
    })
}

/// Whether all bytes of a text are ASCII that shows: from the space to `~`.
pub(crate) fn is_printable(text: &[u8]) -> bool {
    !has(text, |word| word.wrapping_sub(each(b' ')) | word.wrapping_add(each(1)) | word)
}

/// Whether `bits` sets the highest bit of a byte in some word of a text. Spaces fill up a text that is shorter than a word. A byte
/// may be told wrongly only where one before it is told rightly, by what it lends or carries.
fn has(text: &[u8], bits: impl Fn(u64) -> u64) -> bool {
    let has = |word| bits(word) & each(0x80) != 0;
    match text.last_chunk() {
        Some(last) => text.as_chunks().0.iter().chain([last]).any(|word| has(u64::from_le_bytes(*word))),
        None => has(word(text, 0) | each(b' ') << (text.len() * 8)),
    }
}

/// The hexadecimal digits of four bytes.
pub(crate) fn hex_word(bytes: [u8; 4]) -> [u8; WORD] {
    // Each half of a byte moves into a byte of its own, the first into the highest.
    let bytes = u64::from(u32::from_be_bytes(bytes));
    let pairs = (bytes | bytes << 16) & 0x0000_ffff_0000_ffff;
    let singles = (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (singles | singles << 4) & each(0x0f);
    // From ten on, letters follow: 39 places behind the digits.
    let letters = (halves + each(6)) >> 4 & each(1);
    (halves + each(b'0') + letters * 39).to_be_bytes()
}

/// The hexadecimal digits of bytes, of which there are a multiple of four.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut hex = Vec::with_capacity(2 * bytes.len());
    for bytes in bytes.as_chunks().0 {
        hex.extend_from_slice(&hex_word(*bytes));
    }
    String::from_utf8(hex).unwrap_or_default()
}

/// Where a text has another one, which begins with an ASCII character, for the first time from a place on.
pub(crate) fn find(text: &str, from: usize, wanted: &str) -> Option<usize> {
    debug_assert!(wanted.starts_with(|first: char| first.is_ascii()), "a byte of a word is looked for");
    let text = text.as_bytes();
    let (first, behind) = wanted.as_bytes().split_first()?;
    let mut at = from;
    while at < text.len() {
        let mut candidates = is(word(text, at), *first);
        while candidates != 0 {
            let place = at + bytes_before(candidates);
            if text.get(place + 1..).is_some_and(|rest| rest.starts_with(behind)) {
                return Some(place);
            }
            candidates &= candidates - 1;
        }
        at += WORD;
    }
    None
}

/// What stands before and behind an ASCII character where a text has it first.
pub(crate) fn split_once(text: &str, at: u8) -> Option<(&str, &str)> {
    let mut start = 0;
    while start < text.len() {
        let found = is(word(text.as_bytes(), start), at);
        if found != 0 {
            let place = start + bytes_before(found);
            return text.get(..place).zip(text.get(place + 1..));
        }
        start += WORD;
    }
    None
}

/// The parts of a text between an ASCII character.
pub(crate) fn split(text: &str, at: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        match split_once(text, at) {
            Some((part, behind)) => {
                rest = Some(behind);
                Some(part)
            }
            None => rest.take(),
        }
    })
}

/// Whether a text has another one, which begins with an ASCII character.
pub(crate) fn contains(text: &str, wanted: &str) -> bool {
    find(text, 0, wanted).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_stands_behind_what_was_there() {
        let text = *b"a text of forty bytes, each of its place";
        for length in 0..=text.len() {
            for before in 0..=20 {
                let mut to = vec![b'-'; before];
                append(&mut to, &text[..length]);
                assert_eq!(to, [&vec![b'-'; before], &text[..length]].concat());
            }
        }
    }

    #[test]
    fn words_are_their_bytes() {
        let plain = *b"plain text, long";
        for length in 0..=plain.len() {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = plain[..length].to_vec();
                    text[at] = byte;
                    let is_plain = text.iter().all(|b| (b' '..=b'~').contains(b));
                    assert_eq!(all(&text, |word| among(word, b' ', b'~')), is_plain, "{text:?}");
                    assert_eq!(is_printable(&text), is_plain, "{text:?}");
                    let is_escaped = text.iter().any(|b| *b < b' ' || matches!(b, b'"' | b'\\'));
                    assert_eq!(has_escapes(&text), is_escaped, "{text:?}");
                    let letters = text.iter().take(WORD).take_while(|b| b.is_ascii_lowercase() || **b == b' ').count();
                    let word = word(&text, 0);
                    assert_eq!(length_of(among(word, b'a', b'z') | is(word, b' ')), letters, "{text:?}");
                }
            }
        }
        assert!(all(b"", |_| 0));
        assert!(!has_escapes(b"") && is_printable(b""));
        // Bytes beside each other are told apart.
        for pair in 0..=u16::MAX {
            let [first, second] = pair.to_le_bytes();
            let text = [b'a', first, second, b'a', b'a', b'a', b'a', b'a'];
            let is_escaped = text.iter().any(|b| *b < b' ' || matches!(b, b'"' | b'\\'));
            assert_eq!(has_escapes(&text), is_escaped, "{text:?}");
            assert_eq!(is_printable(&text), text.iter().all(|b| (b' '..=b'~').contains(b)), "{text:?}");
        }
        for byte in 0..=u8::MAX {
            let bytes = [byte, !byte, 0, byte.wrapping_mul(7), 1, 2, 3, byte];
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex(&bytes), digits);
        }
        for text in [
            "",
            "/",
            "a",
            "a/b",
            "/a//b/",
            "\u{e9}/\u{e9}",
            "a long text, and/then one more/",
            "eight888/",
            "1234567/9",
        ] {
            assert_eq!(split(text, b'/').collect::<Vec<_>>(), text.split('/').collect::<Vec<_>>());
            assert_eq!(split_once(text, b'/'), text.split_once('/'));
        }
        let text = "aab\u{e9}ba abaab aab\u{e9}";
        for wanted in ["a", "aa", "aab", "b\u{e9}", "ba ", "abaab aab\u{e9}", "c", "aabx", "aab\u{e9} "] {
            for from in (0..=text.len()).filter(|from| text.is_char_boundary(*from)) {
                assert_eq!(
                    find(text, from, wanted),
                    text.get(from..).unwrap().find(wanted).map(|at| from + at),
                    "{wanted} from {from}"
                );
            }
            assert_eq!(contains(text, wanted), text.contains(wanted));
        }
        assert_eq!((word(b"", 0), word(b"ab", 1), word(b"ab", 3)), (0, u64::from(b'b'), 0));
    }
}
