//! Lines of the log: one JSON object a line, of bounded length, which nothing in it can break or add to.

use image_admission_untrusted::message::cut;
use image_admission_untrusted::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// How many characters of the message are written.
const MESSAGE: usize = 1_000;
/// How many characters of a field are written.
const FIELD: usize = 600;

/// A line of the log. Its `Display` is one line of JSON without the line's end: `time`, `level`, `message`, then the fields, sorted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LogLine {
    time: String,
    level: LogLevel,
    message: String,
    #[serde(flatten)]
    fields: BTreeMap<&'static str, Field>,
}

/// The level of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// What was done.
    Info,
    /// Something went wrong that is tried again.
    Warning,
    /// Something is to be put right by a person.
    Error,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
enum Field {
    Text(String),
    Number(u64),
}

impl LogLine {
    /// A line without fields. Foreign text in the message is cut, and can't break the line.
    #[must_use]
    pub fn new(time: Timestamp, level: LogLevel, message: &str) -> Self {
        Self { time: time.to_string(), level, message: cut(message, MESSAGE), fields: BTreeMap::new() }
    }

    /// The line with a field more. Its name isn't `time`, `level` or `message`.
    #[must_use]
    pub fn with(mut self, name: &'static str, text: &str) -> Self {
        self.fields.insert(name, Field::Text(cut(text, FIELD)));
        self
    }

    /// The line with a number more.
    #[must_use]
    pub fn with_number(mut self, name: &'static str, number: u64) -> Self {
        self.fields.insert(name, Field::Number(number));
        self
    }
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Timestamp = Timestamp(1_793_534_400);

    #[test]
    fn a_line_is_json_in_this_order() {
        let line = LogLine::new(TIME, LogLevel::Warning, "watch ended")
            .with("kind", "pods")
            .with_number("attempt", 3)
            .to_string();
        assert_eq!(
            line,
            r#"{"time":"2026-11-01T12:00:00Z","level":"warning","message":"watch ended","attempt":3,"kind":"pods"}"#
        );
    }

    #[test]
    fn foreign_text_neither_breaks_a_line_nor_fakes_a_field() {
        for text in ["a\nb", "a\r\nb", "a\u{0}b", "a\u{85}b", "a\u{202e}b", "a\",\"level\":\"error"] {
            let line = LogLine::new(TIME, LogLevel::Info, text).with("image", text).to_string();
            assert!(!line.contains(char::is_control) && !line.contains('\u{202e}'), "{line:?}");
            let read: BTreeMap<String, String> = serde_json::from_str(&line).unwrap();
            assert_eq!(read["level"], "info");
            assert_eq!(read["image"], cut(text, FIELD));
            assert_eq!(read.len(), 4);
        }
    }

    #[test]
    fn lengths_are_bounded() {
        let long = "\"".repeat(100_000);
        let line = LogLine::new(TIME, LogLevel::Info, &long).with("image", &long).to_string();
        let read: BTreeMap<String, String> = serde_json::from_str(&line).unwrap();
        assert_eq!(read["message"].chars().count(), MESSAGE);
        assert_eq!(read["image"].chars().count(), FIELD);
        assert!(line.len() < 4_000, "{}", line.len());
    }
}
