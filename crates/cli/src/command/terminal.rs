//! Text for people: what a terminal may be given, and a little colour where it is one.

use std::borrow::Cow;
use std::env;
use std::io::IsTerminal;

/// Whether text has colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl Paint {
    /// Colours for a terminal, unless its user has set `NO_COLOR` (<https://no-color.org>).
    pub(super) fn for_output(output: &impl IsTerminal) -> Self {
        let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let unable = env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self(output.is_terminal() && !unwanted && !unable)
    }

    /// No colours.
    pub(super) fn none() -> Self {
        Self(false)
    }

    pub(super) fn bold(self, text: &str) -> Cow<'_, str> {
        self.with("1", text)
    }

    pub(super) fn dim(self, text: &str) -> Cow<'_, str> {
        self.with("2", text)
    }

    pub(super) fn red(self, text: &str) -> Cow<'_, str> {
        self.with("31", text)
    }

    pub(super) fn green(self, text: &str) -> Cow<'_, str> {
        self.with("32", text)
    }

    pub(super) fn yellow(self, text: &str) -> Cow<'_, str> {
        self.with("33", text)
    }

    fn with<'t>(self, code: &str, text: &'t str) -> Cow<'t, str> {
        if self.0 { format!("\u{1b}[{code}m{text}\u{1b}[0m").into() } else { text.into() }
    }
}

/// A text without what moves the cursor or turns the order of letters around: whoever writes a manifest, a registry or a
/// report could make a terminal show another answer. New lines stay.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceiving) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_deceiving(character) { shown.extend(character.escape_unicode()) } else { shown.push(character) }
    }
    shown.into()
}

/// As [`printable`], and in one line.
pub(super) fn in_one_line(text: &str) -> Cow<'_, str> {
    match printable(text) {
        text if text.contains('\n') => text.replace('\n', "\\n").into(),
        text => text,
    }
}

fn is_deceiving(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(printable("ok\nä 1"), "ok\nä 1");
        assert_eq!(printable("a\u{1b}[2K\rb\u{202e}c"), "a\\u{1b}[2K\\u{d}b\\u{202e}c");
        assert_eq!(in_one_line("a\nb"), "a\\nb");
    }

    #[test]
    fn colours_are_only_there_when_they_are_wanted() {
        assert_eq!(Paint(false).red("no"), "no");
        assert_eq!(Paint(true).red("no"), "\u{1b}[31mno\u{1b}[0m");
    }
}
