//! Texts that people read, kept within bounds: an attacker chooses image names, and registries choose error texts.

/// A text of at most `most` characters; what is cut off shows as `…`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// The first `most` of the parts joined by `separator`, and `and N more` for the rest.
pub(crate) fn join_at_most<'a>(parts: impl ExactSizeIterator<Item = &'a str>, separator: &str, most: usize) -> String {
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

/// `1 finding`, `2 findings`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
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
    fn long_lists_say_how_many_more() {
        assert_eq!(join_at_most(["a", "b"].into_iter(), ", ", 2), "a, b");
        assert_eq!(join_at_most(["a", "b", "c", "d"].into_iter(), ", ", 2), "a, b, and 2 more");
        assert_eq!(join_at_most([].into_iter(), ", ", 2), "");
    }
}
