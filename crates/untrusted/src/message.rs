//! Strings in messages to people, kept within bounds: an attacker chooses image names, and registries choose error texts.

/// A foreign string in at most `most` characters; `…` stands for what is cut off. Characters that break the line or
/// reverse the direction of writing show as `\u{…}`.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most && text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.to_owned();
    }
    if text.contains(is_deceiving) {
        let shown = text.chars().flat_map(|c| {
            let (plain, escaped) = if is_deceiving(c) { (None, Some(c.escape_unicode())) } else { (Some(c), None) };
            plain.into_iter().chain(escaped.into_iter().flatten())
        });
        return cut(&shown.collect::<String>(), most);
    }
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Whether a character breaks the line, moves the cursor or reverses the direction of writing.
pub fn is_deceiving(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a string shows as it is written, in one line.
pub fn is_one_line(text: &str) -> bool {
    !text.contains(is_deceiving)
}

/// The first `most` of the parts joined by `separator`, and `and N more` for the rest.
pub fn join_at_most<'a>(parts: impl ExactSizeIterator<Item = &'a str>, separator: &str, most: usize) -> String {
    let more = parts.len().saturating_sub(most);
    let mut text = String::new();
    for part in parts.take(most) {
        if !text.is_empty() {
            text.push_str(separator);
        }
        text.push_str(part);
    }
    if more > 0 {
        text.push_str(&format!("{separator}and {more} more"));
    }
    text
}

/// As many of the parts as fit into `most` characters, joined by `separator`, and `and N more` for the rest.
pub fn join_within(parts: &[String], separator: &str, most: usize) -> String {
    let width = |parts: &[String]| parts.iter().map(|part| part.chars().count() + separator.len()).sum::<usize>();
    let room = most.saturating_sub("and 1000000 more".len());
    let fit = (0..=parts.len()).rev().find(|fit| parts.get(..*fit).is_some_and(|parts| width(parts) <= room));
    // The caller cuts a first part that is too long by itself.
    let fit = if width(parts) <= most { parts.len() } else { fit.unwrap_or(0).max(1) };
    join_at_most(parts.iter().map(String::as_str), separator, fit)
}

/// `1 finding`, `2 findings`.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The name that is nearest to a misspelt one: at most one character is wrong, and one more for every three of the name.
#[must_use]
pub fn nearest<'n>(misspelt: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let misspelt = misspelt.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &misspelt);
    let nearest = names.into_iter().map(|name| (distance(name), name)).min();
    nearest.filter(|(distance, name)| *distance <= 1 + name.len() / 3).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("ääää", 3), "ää…");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn nobody_forges_a_line() {
        assert_eq!(cut("c\nallowed\u{202e}", 64), "c\\u{a}allowed\\u{202e}");
        assert_eq!(cut("a\u{2028}b\u{2029}c\u{61c}", 64), "a\\u{2028}b\\u{2029}c\\u{61c}");
        assert_eq!(cut("a\nb", 4), "a\\u…");
    }

    #[test]
    fn lines_and_what_deceives_are_found() {
        assert!(is_one_line("ask #team, or café@example.com") && is_one_line(""));
        for text in ["a\nb", "a\rb", "a\tb", "a\u{85}b", "a\u{2028}b", "a\u{2029}b", "a\u{202e}b", "a\u{0}b"] {
            assert!(!is_one_line(text), "{text:?}");
        }
    }

    #[test]
    fn long_lists_say_how_many_more() {
        assert_eq!(join_at_most(["a", "b"].into_iter(), ", ", 2), "a, b");
        assert_eq!(join_at_most(["a", "b", "c", "d"].into_iter(), ", ", 2), "a, b, and 2 more");
        assert_eq!(join_at_most([].into_iter(), ", ", 2), "");
        let parts = ["a".repeat(20), "b".repeat(20), "c".repeat(20)];
        assert_eq!(join_within(&parts, ", ", 100), parts.join(", "));
        assert_eq!(join_within(&parts, ", ", 60), format!("{}, {}, and 1 more", parts[0], parts[1]));
        assert_eq!(join_within(&parts, ", ", 10), format!("{}, and 2 more", parts[0]));
        assert_eq!(join_within(&[], ", ", 10), "");
    }
}
