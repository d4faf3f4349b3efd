//! Takes a text apart into tokens.

use crate::Error;
use crate::bounds::{MOST_BYTES, MOST_TOKENS};
use std::borrow::Cow;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    End,
    /// One of the characters `!$&()=@[]{}|:`.
    Sign(u8),
    /// `...`
    Spread,
    Name,
    Int,
    Float,
    Text,
    /// A text in three quotes.
    Block,
    Comment,
}

/// A part of the text.
#[derive(Debug, Clone)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    /// Of a name, a number or a comment how it is written, of a text what it says; of others nothing.
    pub(crate) value: Cow<'t, str>,
    /// The byte at which it begins.
    pub(crate) at: usize,
}

impl Token<'_> {
    /// How errors name it.
    pub(crate) fn shown(&self) -> String {
        match self.kind {
            Kind::End => "the end".to_owned(),
            Kind::Sign(sign) => format!("`{}`", char::from(sign)),
            Kind::Spread => "`...`".to_owned(),
            _ => format!("`{}`", self.value.chars().take(40).collect::<String>()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: usize,
}

impl<'t> Lexer<'t> {
    pub(crate) fn new(text: &'t str) -> Result<Self, Error> {
        if text.len() > MOST_BYTES {
            return Err(Error::TooMuch("a document of more than 262144 bytes"));
        }
        Ok(Self { text, at: 0, tokens: 0 })
    }

    /// The next token, comments among them.
    pub(crate) fn token(&mut self) -> Result<Token<'t>, Error> {
        self.tokens += 1;
        if self.tokens > MOST_TOKENS {
            return Err(Error::TooMuch("a document of more than 50000 tokens"));
        }
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(['\t', ' ', ',', '\n', '\r', '\u{feff}']).len();
        let (rest, at) = (self.rest(), self.at);
        let Some(first) = rest.bytes().next() else {
            return Ok(Token { kind: Kind::End, value: Cow::Borrowed(""), at });
        };
        let (kind, value) = match first {
            b'!' | b'$' | b'&' | b'(' | b')' | b':' | b'=' | b'@' | b'[' | b']' | b'{' | b'|' | b'}' => {
                self.at += 1;
                (Kind::Sign(first), Cow::Borrowed(""))
            }
            b'.' if rest.starts_with("...") => {
                self.at += 3;
                (Kind::Spread, Cow::Borrowed(""))
            }
            b'#' => {
                let end = rest.find(|c| c < ' ' && c != '\t').unwrap_or(rest.len());
                (Kind::Comment, Cow::Borrowed(self.taken(end)))
            }
            b'_' | b'a'..=b'z' | b'A'..=b'Z' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                (Kind::Name, Cow::Borrowed(self.taken(end)))
            }
            b'-' | b'0'..=b'9' => self.number()?,
            b'"' if rest.starts_with("\"\"\"") => (Kind::Block, Cow::Owned(self.block()?)),
            b'"' => (Kind::Text, Cow::Owned(self.text()?)),
            _ => return self.wrong("no token begins with this character"),
        };
        Ok(Token { kind, value, at })
    }

    /// An error at a byte of the text.
    pub(crate) fn error(&self, at: usize, why: String) -> Error {
        let before = self.text.get(..at).unwrap_or(self.text);
        let lines = before.bytes().zip(before.bytes().skip(1).map(Some).chain([None]));
        let line =
            1 + lines.filter(|pair| matches!(pair, (b'\n', _)) || (pair.0 == b'\r' && pair.1 != Some(b'\n'))).count();
        let column = 1 + before.chars().rev().take_while(|c| !matches!(c, '\n' | '\r')).count();
        Error::Syntax { line, column, why }
    }

    fn wrong<T>(&self, why: &str) -> Result<T, Error> {
        Err(self.error(self.at, why.to_owned()))
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Goes on by so many bytes, and says what they were.
    fn taken(&mut self, bytes: usize) -> &'t str {
        let taken = self.rest().get(..bytes).unwrap_or_default();
        self.at += taken.len();
        taken
    }

    fn number(&mut self) -> Result<(Kind, Cow<'t, str>), Error> {
        let (rest, begin) = (self.rest(), self.at);
        self.at += usize::from(rest.starts_with('-'));
        if self.rest().starts_with('0') {
            self.at += 1;
            if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
                return self.wrong("no digit stands behind a leading zero");
            }
        } else {
            self.digits()?;
        }
        let mut kind = Kind::Int;
        if self.rest().starts_with('.') {
            self.at += 1;
            self.digits()?;
            kind = Kind::Float;
        }
        if self.rest().starts_with(['e', 'E']) {
            self.at += 1;
            self.at += usize::from(self.rest().starts_with(['-', '+']));
            self.digits()?;
            kind = Kind::Float;
        }
        Ok((kind, Cow::Borrowed(rest.get(..self.at - begin).unwrap_or_default())))
    }

    fn digits(&mut self) -> Result<(), Error> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits == 0 {
            return self.wrong("a digit is missing");
        }
        self.at += digits;
        Ok(())
    }

    fn text(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut said = String::new();
        loop {
            match self.rest().chars().next() {
                None | Some('\n' | '\r') => return self.wrong("the text has no end"),
                Some('"') => {
                    self.at += 1;
                    return Ok(said);
                }
                Some('\\') => said.push(self.escaped()?),
                Some(c) if c < ' ' && c != '\t' => return self.wrong("a control character in a text"),
                Some(c) => {
                    self.at += c.len_utf8();
                    said.push(c);
                }
            }
        }
    }

    /// A character that is written with a backslash. Half of a pair of surrogates stands for nothing.
    fn escaped(&mut self) -> Result<char, Error> {
        let rest = self.rest();
        let (meant, length) = match rest.as_bytes().get(1).copied() {
            Some(b'u') => {
                let digits = rest.get(2..6).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
                let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
                (code.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)), 6)
            }
            Some(own @ (b'"' | b'/' | b'\\')) => (Some(char::from(own)), 2),
            Some(b'b') => (Some('\u{8}'), 2),
            Some(b'f') => (Some('\u{c}'), 2),
            Some(b'n') => (Some('\n'), 2),
            Some(b'r') => (Some('\r'), 2),
            Some(b't') => (Some('\t'), 2),
            _ => (None, 0),
        };
        let Some(meant) = meant else { return self.wrong("no character is written like this") };
        self.at += length;
        Ok(meant)
    }

    fn block(&mut self) -> Result<String, Error> {
        self.at += 3;
        let mut said = String::new();
        loop {
            let rest = self.rest();
            let quotes = rest.len() - rest.trim_start_matches('"').len();
            match rest.chars().next() {
                None => return self.wrong("the text has no end"),
                // The last three of a row end it.
                Some('"') if quotes >= 3 => {
                    self.at += quotes;
                    said.extend(std::iter::repeat_n('"', quotes - 3));
                    return Ok(without_indent(&said));
                }
                Some('\\') if rest.starts_with("\\\"\"\"") => {
                    self.at += 4;
                    said.push_str("\"\"\"");
                }
                Some('\r') => {
                    self.at += if rest.starts_with("\r\n") { 2 } else { 1 };
                    said.push('\n');
                }
                Some(c) if c < ' ' && !matches!(c, '\t' | '\n') => return self.wrong("a control character in a text"),
                Some(c) => {
                    self.at += c.len_utf8();
                    said.push(c);
                }
            }
        }
    }
}

/// What a text in three quotes says: without the indent that all its lines have, and without blank lines around it. The first
/// line keeps its own indent, which counts as well.
fn without_indent(raw: &str) -> String {
    let indented = |line: &str| line.trim_start_matches([' ', '\t']).len();
    let common = raw.split('\n').filter(|line| indented(line) > 0).map(|line| line.len() - indented(line)).min();
    let mut lines: Vec<&str> = raw.split('\n').collect();
    for line in lines.iter_mut().skip(1) {
        *line = line.get(common.unwrap_or(0)..).unwrap_or_default();
    }
    let is_said = |line: &&str| indented(line) > 0;
    let first = lines.iter().position(is_said).unwrap_or(lines.len());
    let last = lines.iter().rposition(is_said).map_or(first, |last| last + 1);
    lines.get(first..last).unwrap_or_default().join("\n")
}
