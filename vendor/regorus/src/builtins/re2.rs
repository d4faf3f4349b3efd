// Patterns as OPA has them, which are Go's: RE2 in its own spelling. The regex crate reads most of it the same; the rest
// is translated here, or is no pattern.

use alloc::string::String;

/// The largest number of repetitions that Go takes.
const MOST_REPETITIONS: u32 = 1000;

/// A pattern of Go in the spelling of the regex crate: classes like `\d` are ASCII, a brace or bracket that means
/// nothing stands for itself. None where Go takes it for no pattern.
pub fn from_go(pattern: &str) -> Option<String> {
    let mut translation = Translation {
        made: String::with_capacity(pattern.len()),
        rest: pattern,
    };
    translation.translate()?;
    Some(translation.made)
}

struct Translation<'a> {
    made: String,
    rest: &'a str,
}

impl Translation<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    fn next_if(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn translate(&mut self) -> Option<()> {
        let mut after_repetition = false;
        while let Some(c) = self.next() {
            let repetition = match c {
                '\\' => {
                    self.escape(false)?;
                    false
                }
                '[' => {
                    self.class()?;
                    false
                }
                '(' => {
                    self.made.push('(');
                    self.flags()?;
                    false
                }
                '*' | '+' | '?' => {
                    self.made.push(c);
                    true
                }
                '{' => self.braces()?,
                ']' | '}' => {
                    self.made.push('\\');
                    self.made.push(c);
                    false
                }
                c => {
                    self.made.push(c);
                    false
                }
            };
            // Go repeats no repetition, but for one that is made lazy.
            if repetition && after_repetition {
                return None;
            }
            after_repetition = repetition;
            if repetition && self.next_if("?") {
                self.made.push('?');
            }
        }
        Some(())
    }

    /// What a backslash begins.
    fn escape(&mut self, in_class: bool) -> Option<()> {
        let c = self.next()?;
        let class = match c {
            'd' => Some(("0-9", false)),
            'D' => Some(("0-9", true)),
            'w' => Some(("0-9A-Za-z_", false)),
            'W' => Some(("0-9A-Za-z_", true)),
            's' => Some(("\\t\\n\\x0C\\r ", false)),
            'S' => Some(("\\t\\n\\x0C\\r ", true)),
            _ => None,
        };
        if let Some((members, negated)) = class {
            match (in_class, negated) {
                (true, false) => self.made.push_str(members),
                (_, true) => {
                    self.made.push_str("[^");
                    self.made.push_str(members);
                    self.made.push(']');
                }
                (false, false) => {
                    self.made.push('[');
                    self.made.push_str(members);
                    self.made.push(']');
                }
            }
            return Some(());
        }
        match c {
            'b' if !in_class => self.made.push_str("(?-u:\\b)"),
            'A' | 'B' | 'z' if !in_class => {
                self.made.push('\\');
                self.made.push(c);
            }
            'Q' if !in_class => {
                let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                self.made.push_str(&regex::escape(quoted));
                self.rest = rest;
            }
            // Outside of a quotation it ends nothing.
            'E' if !in_class => (),
            'p' | 'P' | 'x' => {
                self.made.push('\\');
                self.made.push(c);
                if self.rest.starts_with('{') {
                    let (name, rest) = self.rest.split_once('}')?;
                    self.made.push_str(name);
                    self.made.push('}');
                    self.rest = rest;
                }
            }
            // Up to three digits of an octal number; a single digit that isn't 0 would refer back.
            '0'..='7' => {
                let mut value = c.to_digit(8)?;
                let mut digits: usize = 1;
                while digits < 3 {
                    let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else {
                        break;
                    };
                    self.next();
                    value = value.saturating_mul(8).saturating_add(digit);
                    digits = digits.saturating_add(1);
                }
                if c != '0' && digits == 1 {
                    return None;
                }
                self.made.push_str(&alloc::format!("\\x{{{value:x}}}"));
            }
            'a' | 'f' | 'n' | 'r' | 't' | 'v' => {
                self.made.push('\\');
                self.made.push(c);
            }
            c if c.is_ascii_punctuation() => {
                // `\<` and `\>` have a meaning of their own in the regex crate.
                if !matches!(c, '<' | '>') {
                    self.made.push('\\');
                }
                self.made.push(c);
            }
            _ => return None,
        }
        Some(())
    }

    /// A class, after its bracket.
    fn class(&mut self) -> Option<()> {
        self.made.push('[');
        if self.next_if("^") {
            self.made.push('^');
        }
        let mut first = true;
        loop {
            let c = self.next()?;
            match c {
                ']' if !first => {
                    self.made.push(']');
                    return Some(());
                }
                '\\' => self.escape(true)?,
                '[' if self.rest.starts_with(':') => {
                    let (name, rest) = self.rest.split_once(":]")?;
                    self.made.push('[');
                    self.made.push_str(name);
                    self.made.push_str(":]");
                    self.rest = rest;
                }
                ']' | '[' | '&' | '~' => {
                    self.made.push('\\');
                    self.made.push(c);
                }
                // A dash beside a bracket is a dash, and so is what a range begins or ends with.
                '-' if first || self.rest.starts_with(']') || self.made.ends_with('-') => {
                    self.made.push_str("\\-");
                }
                c => self.made.push(c),
            }
            first = false;
        }
    }

    /// Flags, a name, or nothing, after a parenthesis.
    fn flags(&mut self) -> Option<()> {
        if !self.next_if("?") {
            return Some(());
        }
        self.made.push('?');
        if self.rest.starts_with("P<") || self.rest.starts_with('<') {
            let (name, rest) = self.rest.split_once('>')?;
            self.made.push_str(name);
            self.made.push('>');
            self.rest = rest;
            return Some(());
        }
        while let Some(c) = self.next() {
            self.made.push(c);
            match c {
                'i' | 'm' | 's' | 'U' | '-' => (),
                ':' | ')' => return Some(()),
                _ => return None,
            }
        }
        None
    }

    /// A brace: a repetition, or itself. Says which.
    fn braces(&mut self) -> Option<bool> {
        let inside = self.rest.split_once('}').map(|(inside, _)| inside);
        let bounds = inside.and_then(|inside| {
            let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
            let is_number =
                |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            (is_number(least) && (most.is_empty() || is_number(most))).then_some((least, most))
        });
        let Some((least, most)) = bounds else {
            self.made.push_str("\\{");
            return Some(false);
        };
        let is_too_many = |text: &str| {
            !text.is_empty() && text.parse::<u32>().map_or(true, |n| n > MOST_REPETITIONS)
        };
        if is_too_many(least) || is_too_many(most) {
            return None;
        }
        let (inside, rest) = self.rest.split_once('}')?;
        self.made.push('{');
        self.made.push_str(inside);
        self.made.push('}');
        self.rest = rest;
        Some(true)
    }
}
