//! Text for people: what a terminal may be given, and a little colour where it is one.

use image_admission_untrusted::message;
use std::borrow::Cow;
use std::env;
use std::io::{self, IsTerminal, Write};

/// Where results go.
pub(super) trait StandardOutput: Write {
    /// Whether somebody watches it who has colours, and lines that can be written over.
    fn is_terminal(&self) -> bool;
}

impl StandardOutput for io::Stdout {
    fn is_terminal(&self) -> bool {
        IsTerminal::is_terminal(self)
    }
}

impl StandardOutput for io::Stderr {
    fn is_terminal(&self) -> bool {
        IsTerminal::is_terminal(self)
    }
}

impl StandardOutput for Vec<u8> {
    fn is_terminal(&self) -> bool {
        false
    }
}

/// The standard error stream: what may explain a result, and what went wrong.
#[cfg(not(target_family = "wasm"))]
pub(super) use std::io::stderr as errors;

#[cfg(target_family = "wasm")]
mod captured;
#[cfg(target_family = "wasm")]
pub(super) use captured::{errors, take_errors};

/// Whether text has colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl Paint {
    /// Colours for a terminal, unless its user has set `NO_COLOR` (<https://no-color.org>).
    pub(super) fn for_output(output: &impl StandardOutput) -> Self {
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

    /// A text that leads to an address, where a terminal shows links (OSC 8).
    pub(super) fn link<'t>(self, address: &str, text: &'t str) -> Cow<'t, str> {
        const END: &str = "\u{1b}\\";
        if self.0 { format!("\u{1b}]8;;{address}{END}{text}\u{1b}]8;;{END}").into() } else { text.into() }
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

/// A text in which no runner of GitHub's workflows finds a command: it reads those off whatever is written to its log,
/// `::name::` at the start of a line, behind spaces too, and `##[name]` anywhere. Whoever writes a manifest or a policy that a
/// workflow looks at must not command it.
pub(super) fn without_commands(text: &str) -> Cow<'_, str> {
    const OLD: &str = "##[";
    let is_command = |line: &str| line.trim_start().strip_prefix("::").is_some_and(|rest| rest.contains("::"));
    if !text.contains(OLD) && !text.lines().any(is_command) {
        return text.into();
    }
    let mut safe = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let line = line.replace(OLD, "#\\u{23}[");
        if is_command(&line) { safe.push_str(&line.replacen(':', "\\u{3a}", 1)) } else { safe.push_str(&line) }
    }
    safe.into()
}

/// JSON that says the same, in which no runner of GitHub's workflows finds a command. Its lines begin with no text.
pub(super) fn json_without_commands(json: &str) -> String {
    json.replace("##[", "#\\u0023[")
}

fn is_deceiving(character: char) -> bool {
    !matches!(character, '\n' | '\t') && message::is_deceiving(character)
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
    fn nothing_commands_a_workflow() {
        let text = "::error::no\n  \t::add-mask::no\n\u{a0}::debug::no\nxx##[error]no\n";
        let safe = "\\u{3a}:error::no\n  \t\\u{3a}:add-mask::no\n\u{a0}\\u{3a}:debug::no\nxx#\\u{23}[error]no\n";
        assert_eq!(without_commands(text), safe);
        assert_eq!(without_commands(safe), safe);
        let harmless = "listens on ::1\n::1 is an address\nstd::fs::File\n## [heading]";
        assert!(matches!(without_commands(harmless), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_in_json_commands_a_workflow() {
        let json = serde_json::json!(["##[error]no"]).to_string();
        let safe = json_without_commands(&json);
        assert_eq!(safe, "[\"#\\u0023[error]no\"]");
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), ["##[error]no"]);
    }

    #[test]
    fn colours_are_only_there_when_they_are_wanted() {
        assert_eq!(Paint(false).red("no"), "no");
        assert_eq!(Paint(true).red("no"), "\u{1b}[31mno\u{1b}[0m");
        assert_eq!(Paint(false).link("https://example.org", "page"), "page");
        assert_eq!(
            Paint(true).link("https://example.org", "page"),
            "\u{1b}]8;;https://example.org\u{1b}\\page\u{1b}]8;;\u{1b}\\"
        );
    }
}
