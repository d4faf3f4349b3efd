//! `sprintf` as OPA has it: Go's `fmt` over integers, floats and strings, everything else as Rego spells it.
//!
//! Go never fails on a format: what doesn't fit shows in the text (`%!d(string=1Gi)`, `%!v(MISSING)`). The engine's own
//! errs, or prints nothing, so that the call is undefined and with it the rule: a denial would be lost for its message.

use super::weight::weighs_at_most;
use anyhow::{anyhow, bail};
use regorus::Value;
use std::borrow::Cow;

/// Bytes of the longest text, and of all values that are spelled for one.
const MAX_BYTES: usize = 4 << 20;
/// The widest field, and the highest precision.
const WIDEST_FIELD: usize = 1000;
/// Bits of the largest integer that is spelled: it takes the square of the time.
const MAX_BITS: u64 = 4096;
/// Go's own limit of widths, precisions and argument indexes: beyond, it takes them for no number.
const MAX_IN_GO: i64 = 1_000_000;

/// Formats the second argument, an array, by the first.
///
/// # Errors
/// The text, a field or a value is larger than the bounds.
pub(super) fn sprintf(arguments: Vec<Value>) -> anyhow::Result<Value> {
    let [Value::String(format), Value::Array(values)] = arguments.as_slice() else { return Ok(Value::Undefined) };
    let text = String::with_capacity(format.len().saturating_add(64).min(MAX_BYTES));
    let mut printer = Printer { text, values: values.as_slice(), next: 0, reordered: false, spelled: 0 };
    printer.print_all(format)?;
    Ok(Value::from(printer.text))
}

/// What stands between `%` and the verb.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    /// `#` of `%#v`, which asks for Go's syntax instead of an alternate form.
    go_syntax: bool,
    /// `+` of `%+v`, which asks for the names of fields, of which there are none, instead of a sign.
    field_names: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Field {
    /// The sign before a number.
    fn sign(self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            (false, false, false) => "",
        }
    }

    /// Whether zeros fill the width: they never do on the right.
    fn is_zero_padded(self) -> bool {
        self.zero && !self.minus
    }
}

/// An argument as OPA gives it to Go.
#[derive(Debug)]
enum Argument<'a> {
    Text(Cow<'a, str>),
    Integer(i64),
    /// An integer beyond 64 bits.
    Big(&'a Value),
    Float(f64),
}

impl Argument<'_> {
    /// The name of Go's type.
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Integer(_) => "int",
            Self::Big(_) => "*big.Int",
            Self::Float(_) => "float64",
        }
    }
}

/// The rest of a format.
struct Signs<'a>(&'a str);

impl<'a> Signs<'a> {
    fn next(&mut self) -> Option<char> {
        let mut signs = self.0.chars();
        let sign = signs.next();
        self.0 = signs.as_str();
        sign
    }

    fn next_if(&mut self, sign: char) -> bool {
        let rest = self.0.strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn flag(&mut self) -> Option<char> {
        let flag = self.0.chars().next().filter(|sign| matches!(sign, '#' | '0' | '+' | '-' | ' '))?;
        self.next();
        Some(flag)
    }

    /// A width or a precision.
    fn number(&mut self) -> anyhow::Result<Option<usize>> {
        let rest = self.0.trim_start_matches(|sign: char| sign.is_ascii_digit());
        let digits = self.0.strip_suffix(rest).unwrap_or_default();
        self.0 = rest;
        if digits.is_empty() {
            return Ok(None);
        }
        match digits.parse::<usize>() {
            Ok(number) if number <= WIDEST_FIELD => Ok(Some(number)),
            Ok(number) => Err(too_wide(&number.to_string())),
            Err(_) => Err(too_wide(&format!("{} digits", digits.len()))),
        }
    }

    /// What stands in brackets, if they are next. Without a closing bracket it is nothing.
    fn index(&mut self) -> Option<&'a str> {
        let rest = self.0.strip_prefix('[')?;
        match rest.split_once(']') {
            Some((index, after)) if rest.len() > 1 => {
                self.0 = after;
                Some(index)
            }
            _ => {
                self.0 = rest;
                Some("")
            }
        }
    }
}

struct Printer<'a> {
    text: String,
    values: &'a [Value],
    /// The argument that the next verb takes.
    next: usize,
    /// Whether the format has an argument index: then arguments that are left over are no mistake.
    reordered: bool,
    /// Bytes of the collections that were spelled, whether or not they were cut after that.
    spelled: usize,
}

impl<'a> Printer<'a> {
    fn print_all(&mut self, format: &str) -> anyhow::Result<()> {
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            self.push(before)?;
            rest = match self.print_plain(after)? {
                Some(rest) => rest,
                None => self.print_next(after)?,
            };
        }
        self.push(rest)?;
        if self.reordered || self.next >= self.values.len() {
            return Ok(());
        }
        self.push("%!(EXTRA ")?;
        for (position, value) in self.values.get(self.next..).unwrap_or_default().iter().enumerate() {
            let argument = self.argument(value)?;
            self.push(if position > 0 { ", " } else { "" })?;
            self.push(argument.kind())?;
            self.push("=")?;
            self.print(&argument, 'v', Field::default())?;
        }
        self.push(")")
    }

    /// The usual verbs on the usual arguments: nearly every format has only these.
    fn print_plain<'f>(&mut self, after: &'f str) -> anyhow::Result<Option<&'f str>> {
        let mut signs = Signs(after);
        let (Some(verb @ ('v' | 's' | 'd')), Some(value)) = (signs.next(), self.values.get(self.next)) else {
            return Ok(None);
        };
        match value {
            Value::String(text) if verb != 'd' => self.push(text)?,
            Value::Number(number) if verb != 's' => match number.as_i64() {
                Some(number) => self.push(&number.to_string())?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }
        self.next = self.next.saturating_add(1);
        Ok(Some(signs.0))
    }

    /// What stands after a `%`. Returns what comes after the verb.
    fn print_next<'f>(&mut self, after: &'f str) -> anyhow::Result<&'f str> {
        let mut signs = Signs(after);
        let mut field = Field::default();
        let mut fits = true;
        while let Some(flag) = signs.flag() {
            match flag {
                '#' => field.sharp = true,
                '0' => field.zero = true,
                '+' => field.plus = true,
                '-' => field.minus = true,
                _ => field.space = true,
            }
        }

        // An index stands right before what takes the argument: `*` or the verb.
        let mut indexed = self.take_index(&mut signs, &mut fits);
        if signs.next_if('*') {
            let width = self.take_integer()?;
            if width.is_none() {
                self.push("%!(BADWIDTH)")?;
            }
            if width.is_some_and(|width| width < 0) {
                field.minus = true;
                field.zero = false;
            }
            field.width = width.and_then(|width| usize::try_from(width.unsigned_abs()).ok());
            indexed = false;
        } else {
            field.width = signs.number()?;
            fits &= !(indexed && field.width.is_some());
        }

        // A point at the very end is a verb.
        if signs.0.len() > 1 && signs.next_if('.') {
            fits &= !indexed;
            indexed = self.take_index(&mut signs, &mut fits);
            if signs.next_if('*') {
                field.precision = self.take_integer()?.and_then(|precision| usize::try_from(precision).ok());
                if field.precision.is_none() {
                    self.push("%!(BADPREC)")?;
                }
                indexed = false;
            } else {
                field.precision = Some(signs.number()?.unwrap_or(0));
            }
        }
        if !indexed {
            self.take_index(&mut signs, &mut fits);
        }

        match (signs.next(), self.values.get(self.next)) {
            (None, _) => self.push("%!(NOVERB)")?,
            (Some('%'), _) => self.push("%")?,
            (Some(verb), _) if !fits => self.push(&format!("%!{verb}(BADINDEX)"))?,
            (Some(verb), None) => self.push(&format!("%!{verb}(MISSING)"))?,
            (Some(verb), Some(value)) => {
                if matches!(verb, 'v' | 'w') {
                    field.go_syntax = std::mem::take(&mut field.sharp);
                    field.field_names = std::mem::take(&mut field.plus);
                }
                let is_for_floats = matches!(verb, 'e' | 'E' | 'f' | 'F' | 'g' | 'G');
                let argument = match is_for_floats.then(|| whole_float(value)).flatten() {
                    Some(number) => Argument::Float(number),
                    None => self.argument(value)?,
                };
                self.print(&argument, verb, field)?;
                self.next = self.next.saturating_add(1);
            }
        }
        Ok(signs.0)
    }

    /// Goes to the argument whose index is next in the format. Whether a number was there; `fits`: whether it is that
    /// of an argument.
    fn take_index(&mut self, signs: &mut Signs, fits: &mut bool) -> bool {
        let Some(index) = signs.index() else { return false };
        self.reordered = true;
        let digits = index.bytes().all(|digit| digit.is_ascii_digit());
        // Go reads one digit more once the number is above its limit, and none after that.
        let number = index.parse::<i64>().ok().filter(|number| digits && number / 10 <= MAX_IN_GO);
        let position = number.and_then(|number| usize::try_from(number.checked_sub(1)?).ok());
        match position.filter(|position| *position < self.values.len()) {
            Some(position) => self.next = position,
            None => *fits = false,
        }
        number.is_some()
    }

    /// The next argument as a width or a precision, if it is an integer.
    fn take_integer(&mut self) -> anyhow::Result<Option<i64>> {
        let Some(value) = self.values.get(self.next) else { return Ok(None) };
        self.next = self.next.saturating_add(1);
        let number = match value {
            Value::Number(number) => number.as_i64().filter(|number| (-MAX_IN_GO..=MAX_IN_GO).contains(number)),
            _ => None,
        };
        match number {
            Some(number) if number.unsigned_abs() > WIDEST_FIELD as u64 => Err(too_wide(&number.to_string())),
            number => Ok(number),
        }
    }

    fn argument(&mut self, value: &'a Value) -> anyhow::Result<Argument<'a>> {
        match value {
            Value::String(text) => Ok(Argument::Text(Cow::Borrowed(text))),
            Value::Number(number) => {
                if let Some(number) = number.as_i64() {
                    return Ok(Argument::Integer(number));
                }
                if let Some(number) = number.as_big() {
                    check_bits(number.bits())?;
                    return Ok(Argument::Big(value));
                }
                Ok(number.as_f64().map_or_else(|| Argument::Text(number.format_decimal().into()), Argument::Float))
            }
            other => {
                if !weighs_at_most(other, MAX_BYTES) {
                    bail!("`sprintf` of a value of more than {MAX_BYTES} bytes or 200 levels: use a part of it");
                }
                let mut text = String::new();
                spell(other, &mut text)?;
                self.spelled = self.spelled.saturating_add(text.len());
                if self.spelled > MAX_BYTES {
                    return Err(too_long());
                }
                Ok(Argument::Text(Cow::Owned(text)))
            }
        }
    }

    fn print(&mut self, argument: &Argument, verb: char, field: Field) -> anyhow::Result<()> {
        let is_printed = match (argument, verb) {
            (_, 'T') => {
                self.push_padded(cut(argument.kind(), field), field)?;
                true
            }
            (Argument::Text(text), _) => self.print_text(text, verb, field)?,
            (Argument::Integer(number), _) => self.print_integer(*number, verb, field)?,
            (Argument::Float(number), _) => self.print_float(*number, verb, field)?,
            (Argument::Big(number), _) => {
                // It prints itself, also what is wrong with the verb.
                self.print_big(number, verb, field)?;
                true
            }
        };
        if is_printed {
            return Ok(());
        }
        self.push(&format!("%!{verb}({}=", argument.kind()))?;
        self.print(argument, 'v', field)?;
        self.push(")")
    }

    /// Whether there is such a verb for strings.
    fn print_text(&mut self, text: &str, verb: char, field: Field) -> anyhow::Result<bool> {
        match verb {
            'q' => self.push_padded(&quoted(cut(text, field), field)?, field)?,
            'v' if field.go_syntax => self.push_padded(&quoted(cut(text, field), field)?, field)?,
            'v' | 's' => self.push_padded(cut(text, field), field)?,
            'x' | 'X' => self.print_bytes(text, verb, field)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The bytes of a string as hexadecimal digits. The precision counts bytes.
    fn print_bytes(&mut self, text: &str, verb: char, field: Field) -> anyhow::Result<()> {
        let most = field.precision.unwrap_or(usize::MAX);
        let (prefix, upper) = if verb == 'x' { ("0x", false) } else { ("0X", true) };
        let mut digits = String::new();
        for (position, byte) in text.bytes().take(most).enumerate() {
            if position > 0 && field.space {
                digits.push(' ');
            }
            if field.sharp && (position == 0 || field.space) {
                digits.push_str(prefix);
            }
            if digits.len() > MAX_BYTES {
                return Err(too_long());
            }
            for half in [byte >> 4, byte & 0xF] {
                let digit = char::from_digit(u32::from(half), 16).unwrap_or_default();
                digits.push(if upper { digit.to_ascii_uppercase() } else { digit });
            }
        }
        self.push_padded(&digits, field)
    }

    /// Whether there is such a verb for integers.
    fn print_integer(&mut self, number: i64, verb: char, field: Field) -> anyhow::Result<bool> {
        let magnitude = number.unsigned_abs();
        let digits = match verb {
            'v' | 'd' => magnitude.to_string(),
            'b' => format!("{magnitude:b}"),
            'o' | 'O' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            'c' => {
                self.push_padded(character(number).encode_utf8(&mut [0; 4]), field)?;
                return Ok(true);
            }
            'q' => {
                let mut quoted = String::new();
                escape(character(number), '\'', field.plus, &mut quoted);
                self.push_padded(&format!("'{quoted}'"), field)?;
                return Ok(true);
            }
            'U' => {
                self.print_code_point(number, field)?;
                return Ok(true);
            }
            _ => return Ok(false),
        };
        let spaces = Field { zero: false, ..field };
        if field.precision == Some(0) && number == 0 {
            self.push_padded("", spaces)?;
            return Ok(true);
        }
        let sign = field.sign(number < 0);
        // A precision and a width with zeros both ask for digits: the first one wins.
        let least = match (field.precision, field.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if field.is_zero_padded() => width.saturating_sub(sign.len()),
            _ => 0,
        };
        let zeros = "0".repeat(least.saturating_sub(digits.len()));
        let octal = if verb == 'O' { "0o" } else { "" };
        let prefix = match verb {
            'b' if field.sharp => "0b",
            'o' | 'O' if field.sharp && zeros.is_empty() && !digits.starts_with('0') => "0",
            'x' if field.sharp => "0x",
            'X' if field.sharp => "0X",
            _ => "",
        };
        self.push_padded(&format!("{sign}{octal}{prefix}{zeros}{digits}"), spaces)?;
        Ok(true)
    }

    /// `U+0078`, with `#` also the character if it can be printed.
    fn print_code_point(&mut self, number: i64, field: Field) -> anyhow::Result<()> {
        let least = field.precision.unwrap_or(0).max(4);
        let mut text = format!("U+{:0least$X}", number.cast_unsigned());
        let printable = u32::try_from(number).ok().and_then(char::from_u32).filter(|sign| is_printable(*sign));
        if let Some(sign) = printable.filter(|_| field.sharp) {
            text.push_str(&format!(" '{sign}'"));
        }
        self.push_padded(&text, Field { zero: false, ..field })
    }

    /// An integer beyond 64 bits: Go has a formatter of its own for these.
    fn print_big(&mut self, value: &Value, verb: char, field: Field) -> anyhow::Result<()> {
        let Value::Number(number) = value else { return Ok(()) };
        let spelled = match verb {
            'v' | 's' | 'd' => number.format_decimal(),
            'b' => number.format_bin(),
            'o' | 'O' => number.format_octal(),
            'x' => number.format_hex(),
            'X' => number.format_big_hex(),
            _ => return self.push(&format!("%!{verb}(big.Int={})", number.format_decimal())),
        };
        let digits = spelled.trim_start_matches('-');
        let field = Field { plus: field.plus || field.field_names, ..field };
        let sign = field.sign(digits.len() < spelled.len());
        let prefix = match verb {
            'O' => "0o",
            'b' if field.sharp => "0b",
            'o' if field.sharp => "0",
            'x' if field.sharp => "0x",
            'X' if field.sharp => "0X",
            _ => "",
        };
        let before = sign.len().saturating_add(prefix.len());
        let least = match (field.precision, field.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if field.is_zero_padded() => width.saturating_sub(before),
            _ => 0,
        };
        let zeros = "0".repeat(least.saturating_sub(digits.len()));
        self.push_padded(&format!("{sign}{prefix}{zeros}{digits}"), Field { zero: false, ..field })
    }

    /// Whether there is such a verb for floats. They are finite: Rego has no others.
    fn print_float(&mut self, number: f64, verb: char, field: Field) -> anyhow::Result<bool> {
        let magnitude = number.abs();
        let precision = field.precision;
        let (digits, significant) = match verb {
            'e' | 'E' => (scientific(magnitude, Some(precision.unwrap_or(6)), verb), 0),
            'f' | 'F' => (format!("{magnitude:.*}", precision.unwrap_or(6)), 0),
            'v' | 'g' => (general(magnitude, precision, 'e'), precision.unwrap_or(6)),
            'G' => (general(magnitude, precision, 'E'), precision.unwrap_or(6)),
            'x' => (hexadecimal(magnitude, precision), precision.unwrap_or(6)),
            'X' => (hexadecimal(magnitude, precision).to_ascii_uppercase(), 0),
            'b' => {
                let (mantissa, exponent) = parts(magnitude);
                (format!("{mantissa}p{:+}", exponent.saturating_sub(52)), 0)
            }
            _ => return Ok(false),
        };
        let digits = if field.sharp && verb != 'b' { with_point(&digits, verb, significant) } else { digits };
        let sign = field.sign(number.is_sign_negative());
        if field.is_zero_padded() {
            self.push(sign)?;
            let width = field.width.map(|width| width.saturating_sub(sign.len()));
            self.push_padded(&digits, Field { width, ..field })?;
        } else {
            self.push_padded(&format!("{sign}{digits}"), field)?;
        }
        Ok(true)
    }

    fn push_padded(&mut self, text: &str, field: Field) -> anyhow::Result<()> {
        let Some(width) = field.width else { return self.push(text) };
        let missing = width.saturating_sub(text.chars().take(width).count());
        let padding = if field.is_zero_padded() { "0" } else { " " }.repeat(missing);
        if field.minus {
            self.push(text)?;
            self.push(&padding)
        } else {
            self.push(&padding)?;
            self.push(text)
        }
    }

    fn push(&mut self, text: &str) -> anyhow::Result<()> {
        push(text, &mut self.text)
    }
}

fn too_wide(found: &str) -> anyhow::Error {
    anyhow!("`sprintf` with a width of {found}: at most {WIDEST_FIELD}")
}

fn too_long() -> anyhow::Error {
    anyhow!("`sprintf` of more than {MAX_BYTES} bytes: make a shorter text")
}

fn check_bits(bits: u64) -> anyhow::Result<()> {
    if bits > MAX_BITS {
        bail!("`sprintf` of an integer of {bits} bits: at most {MAX_BITS}");
    }
    Ok(())
}

fn push(text: &str, to: &mut String) -> anyhow::Result<()> {
    if to.len().saturating_add(text.len()) > MAX_BYTES {
        return Err(too_long());
    }
    to.push_str(text);
    Ok(())
}

/// A float without a fraction. For OPA it is an integer if it was calculated, but not if it was written `2.0`; here it
/// can't be told which, so that it is what the verb is for.
fn whole_float(value: &Value) -> Option<f64> {
    let Value::Number(number) = value else { return None };
    // Only floats are spelled with places.
    number.as_f64().filter(|_| number.as_i64().is_some() && number.format_decimal_with_width(1).contains('.'))
}

/// A value as Rego spells it. It has been weighed: it is no deeper than the stack.
fn spell(value: &Value, to: &mut String) -> anyhow::Result<()> {
    match value {
        Value::Null => push("null", to),
        Value::Bool(true) => push("true", to),
        Value::Bool(false) => push("false", to),
        Value::Undefined => push("undefined", to),
        Value::String(text) => quote(text, false, to),
        Value::Number(number) => {
            if let Some(number) = number.as_i64() {
                return push(&number.to_string(), to);
            }
            if let Some(big) = number.as_big() {
                check_bits(big.bits())?;
                return push(&number.format_decimal(), to);
            }
            match number.as_f64() {
                Some(float) => push(&spelled_float(float), to),
                None => push(&number.format_decimal(), to),
            }
        }
        Value::Array(list) => {
            push("[", to)?;
            spell_list(list.iter(), to)?;
            push("]", to)
        }
        Value::Set(set) if set.is_empty() => push("set()", to),
        Value::Set(set) => {
            push("{", to)?;
            spell_list(set.iter_sorted(), to)?;
            push("}", to)
        }
        Value::Object(object) => {
            push("{", to)?;
            for (position, (key, value)) in object.iter_sorted().enumerate() {
                push(if position > 0 { ", " } else { "" }, to)?;
                spell(key, to)?;
                push(": ", to)?;
                spell(value, to)?;
            }
            push("}", to)
        }
    }
}

fn spell_list<'a>(list: impl Iterator<Item = &'a Value>, to: &mut String) -> anyhow::Result<()> {
    for (position, value) in list.enumerate() {
        push(if position > 0 { ", " } else { "" }, to)?;
        spell(value, to)?;
    }
    Ok(())
}

/// A float inside of a collection, where OPA has its JSON.
fn spelled_float(number: f64) -> String {
    let magnitude = number.abs();
    if (1e-6..1e21).contains(&magnitude) || magnitude == 0.0 {
        return number.to_string();
    }
    let spelled = format!("{number:e}");
    if spelled.contains("e-") { spelled } else { spelled.replace('e', "e+") }
}

/// As many characters as the precision allows.
fn cut(text: &str, field: Field) -> &str {
    let end = field.precision.and_then(|most| text.char_indices().nth(most));
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// A string in quotes, with `#` in backquotes if it can be.
fn quoted(text: &str, field: Field) -> anyhow::Result<String> {
    let raw = |sign: char| !matches!(sign, '\0'..='\x08' | '\n'..='\x1F' | '\x7F' | '`' | '\u{FEFF}');
    if field.sharp && text.chars().all(raw) {
        return Ok(format!("`{text}`"));
    }
    let mut quoted = String::new();
    quote(text, field.plus, &mut quoted)?;
    Ok(quoted)
}

/// A Go literal of a string.
fn quote(text: &str, ascii: bool, to: &mut String) -> anyhow::Result<()> {
    to.push('"');
    for sign in text.chars() {
        escape(sign, '"', ascii, to);
        if to.len() > MAX_BYTES {
            return Err(too_long());
        }
    }
    to.push('"');
    Ok(())
}

/// A character of a Go literal, escaped if it must be.
fn escape(sign: char, quote: char, ascii: bool, to: &mut String) {
    match sign {
        '\\' => to.push_str("\\\\"),
        sign if sign == quote => to.extend(['\\', sign]),
        ' '..='~' => to.push(sign),
        '\x07' => to.push_str("\\a"),
        '\x08' => to.push_str("\\b"),
        '\x0B' => to.push_str("\\v"),
        '\x0C' => to.push_str("\\f"),
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        '\0'..='\x1F' | '\x7F' => to.push_str(&format!("\\x{:02x}", u32::from(sign))),
        sign if !ascii && is_printable(sign) => to.push(sign),
        '\0'..='\u{FFFF}' => to.push_str(&format!("\\u{:04x}", u32::from(sign))),
        _ => to.push_str(&format!("\\U{:08x}", u32::from(sign))),
    }
}

/// Whether a character is a letter, a mark, a number, punctuation, a symbol or the ASCII space.
fn is_printable(sign: char) -> bool {
    if sign.is_ascii() {
        return (' '..='~').contains(&sign);
    }
    if sign.is_alphanumeric() {
        return true;
    }
    // At the start of a text marks are escaped as well, because there is nothing that they could be on.
    let mut text = String::from("a");
    text.push(sign);
    text.escape_debug().eq(text.chars())
}

fn character(number: i64) -> char {
    u32::try_from(number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A digit, the others and a decimal exponent, as few digits as tell the number from others if there is no precision.
fn decimal(number: f64, precision: Option<usize>) -> (String, i32) {
    let spelled = match precision {
        Some(precision) => format!("{number:.precision$e}"),
        None => format!("{number:e}"),
    };
    let (digits, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or_default())
}

/// `1.5e+06`
fn scientific(number: f64, precision: Option<usize>, e: char) -> String {
    let (digits, exponent) = decimal(number, precision);
    format!("{digits}{e}{exponent:+03}")
}

/// As few digits as the number needs or the precision allows, with an exponent if it is small or large.
fn general(number: f64, precision: Option<usize>, e: char) -> String {
    let significant = precision.map(|precision| precision.max(1));
    let fraction = significant.map(|significant| significant.saturating_sub(1));
    let (digits, exponent) = decimal(number, fraction);
    // Without a precision, large is what has more than six digits before the point.
    let large = i32::try_from(significant.unwrap_or(6)).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= large {
        return format!("{}{e}{exponent:+03}", without_zeros(&digits));
    }
    match significant {
        Some(_) => {
            let places = large.saturating_sub(1).saturating_sub(exponent);
            without_zeros(&format!("{number:.*}", usize::try_from(places).unwrap_or(0))).to_owned()
        }
        None => number.to_string(),
    }
}

/// Without zeros at the end of the fraction: a precision may ask for more digits than there are.
fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// The mantissa, an integer of up to 53 bits, and the binary exponent of its highest bit.
fn parts(number: f64) -> (u64, i32) {
    let bits = number.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match i32::try_from((bits >> 52) & 0x7FF).unwrap_or_default() {
        0 => (fraction, -1022),
        exponent => (fraction | 1 << 52, exponent.saturating_sub(1023)),
    }
}

/// `0x1.8p+01`
fn hexadecimal(number: f64, precision: Option<usize>) -> String {
    let (mut mantissa, mut exponent) = parts(number);
    if mantissa == 0 {
        exponent = 0;
    }
    while mantissa != 0 && mantissa >> 52 == 0 {
        mantissa <<= 1;
        exponent = exponent.saturating_sub(1);
    }
    // The fraction has 13 digits.
    let dropped = 13_u32.saturating_sub(precision.map_or(13, |precision| u32::try_from(precision).unwrap_or(13)));
    if dropped > 0 {
        let bits = dropped.saturating_mul(4);
        let (rest, half) = (mantissa & ((1 << bits) - 1), 1 << (bits - 1));
        mantissa >>= bits;
        if rest > half || rest == half && mantissa & 1 == 1 {
            mantissa = mantissa.saturating_add(1);
        }
        mantissa <<= bits;
        if mantissa >> 53 != 0 {
            mantissa >>= 1;
            exponent = exponent.saturating_add(1);
        }
    }
    let digits = format!("{:013x}", mantissa & ((1 << 52) - 1));
    let digits: String = match precision {
        Some(precision) => digits.chars().chain(std::iter::repeat('0')).take(precision).collect(),
        None => digits.trim_end_matches('0').to_owned(),
    };
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{}{point}{digits}p{exponent:+03}", mantissa >> 52)
}

/// What `#` makes of a float: it has a point always, and so many significant digits.
fn with_point(digits: &str, verb: char, significant: usize) -> String {
    let ends = |sign| match verb {
        'x' | 'X' => matches!(sign, 'p' | 'P'),
        _ => matches!(sign, 'e' | 'E'),
    };
    let end = digits.find(ends).unwrap_or(digits.len());
    let (number, exponent) = digits.split_at_checked(end).unwrap_or((digits, ""));
    // Zeros in front aren't significant, only as the one digit that there is.
    let counted = number.chars().filter(|sign| *sign != '.').skip_while(|sign| *sign == '0').count();
    let counted = if number == "0" { 1 } else { counted };
    let point = if number.contains('.') { "" } else { "." };
    format!("{number}{point}{}{exponent}", "0".repeat(significant.saturating_sub(counted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Arguments as Rego.
    fn formatted(format: &str, arguments: &str) -> Result<String, String> {
        let mut found = regorus::Engine::new().eval_query(arguments.to_owned(), false).unwrap().result;
        let arguments = found.pop().unwrap().expressions.pop().unwrap().value;
        match sprintf(vec![Value::from(format), arguments]) {
            Ok(Value::String(text)) => Ok(text.to_string()),
            Ok(other) => panic!("{other}"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn check(cases: &[(&str, &str, &str)]) {
        let wrong: Vec<String> = cases
            .iter()
            .map(|(format, arguments, expected)| (format, arguments, expected, formatted(format, arguments)))
            .filter(|(_, _, expected, found)| found.as_deref() != Ok(**expected))
            .map(|(format, arguments, expected, found)| format!("{format:?} {arguments}: {expected:?}, not {found:?}"))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn usual_messages() {
        check(&[
            ("", "[]", ""),
            ("100%%", "[]", "100%"),
            ("no verbs", "[]", "no verbs"),
            ("container <%v> has no %s", r#"["web", "limits"]"#, "container <web> has no limits"),
            ("%d of %d", "[1, -20]", "1 of -20"),
            ("%v %v %v", r#"[1, 1.5, "x"]"#, "1 1.5 x"),
            ("%v, %v, %v", "[null, true, false]", "null, true, false"),
            ("%s, %s, %s", "[null, true, false]", "null, true, false"),
            ("%v", r#"[["a", 1, 2.5, null]]"#, r#"["a", 1, 2.5, null]"#),
            ("%s", r#"[{"b": {"c": []}, "a": "v"}]"#, r#"{"a": "v", "b": {"c": []}}"#),
            ("%v%v", "[[], {}]", "[]{}"),
            ("%v", r#"[["a\"b\\c\n\u0001é\u200b<>&"]]"#, r#"["a\"b\\c\n\x01é\u200b<>&"]"#),
            ("é%vü%%", r#"["ö"]"#, "éöü%"),
            ("%v", "[9223372036854775807]", "9223372036854775807"),
            ("%v", "[-9223372036854775808]", "-9223372036854775808"),
            (
                "%v %d %s",
                "[18446744073709551615, 18446744073709551616, -18446744073709551616]",
                "18446744073709551615 18446744073709551616 -18446744073709551616",
            ),
        ]);
    }

    #[test]
    fn sets() {
        let set = |values: &[i64]| Value::from(values.iter().copied().map(Value::from).collect::<BTreeSet<_>>());
        let arguments = Value::from(vec![set(&[2, 10, 1]), set(&[]), Value::from(vec![set(&[3]), set(&[])])]);
        let found = sprintf(vec![Value::from("%v %s %v %d"), arguments]).unwrap();
        assert_eq!(found, Value::from("{1, 2, 10} set() [{3}, set()] %!d(MISSING)"));
    }

    #[test]
    fn what_does_not_fit_shows_in_the_text() {
        check(&[
            ("%v and %v", r#"["a"]"#, "a and %!v(MISSING)"),
            ("%d %-5.2s|%[1]", "[]", "%!d(MISSING) %!s(MISSING)|%!(NOVERB)"),
            ("", "[2]", "%!(EXTRA int=2)"),
            ("no args", r#"["hello"]"#, "no args%!(EXTRA string=hello)"),
            (
                "%v",
                r#"[1, "b", 2, 2.5, null, [1, "a"], 18446744073709551616]"#,
                "1%!(EXTRA string=b, int=2, float64=2.5, string=null, string=[1, \"a\"], *big.Int=18446744073709551616)",
            ),
            ("%d", r#"["1Gi"]"#, "%!d(string=1Gi)"),
            ("%d %d %d", "[true, null, [1]]", "%!d(string=true) %!d(string=null) %!d(string=[1])"),
            ("%5d|%-5d|%05d", r#"["a", "b", "c"]"#, "%!d(string=    a)|%!d(string=b    )|%!d(string=0000c)"),
            ("%s", "[5]", "%!s(int=5)"),
            ("%+s %5s", "[5, 6]", "%!s(int=+5) %!s(int=    6)"),
            ("%s %d", "[2.5, 2.5]", "%!s(float64=2.5) %!d(float64=2.5)"),
            ("%t %t %t", r#"[true, 1, "x"]"#, "%!t(string=true) %!t(int=1) %!t(string=x)"),
            ("%f %.2f %e", "[5, 5, 5]", "%!f(int=5) %!f(int=05) %!e(int=5)"),
            ("%q", "[2.5]", "%!q(float64=2.5)"),
            ("%z %! %é", r#"["a", 1, 2]"#, "%!z(string=a) %!!(int=1) %!é(int=2)"),
            ("%p %w %p", r#"[27, "a", 1.5]"#, "%!p(int=27) %!w(string=a) %!p(float64=1.5)"),
            ("%c %U %o", r#"["a", "a", "a"]"#, "%!c(string=a) %!U(string=a) %!o(string=a)"),
            ("%", "[]", "%!(NOVERB)"),
            ("%s %", r#"["hello"]"#, "hello %!(NOVERB)"),
            ("%s %.2", r#"["hello"]"#, "hello %!(NOVERB)"),
            ("%010.2", r#"["12345"]"#, "%!(NOVERB)%!(EXTRA string=12345)"),
            ("%-+ #0", "[1]", "%!(NOVERB)%!(EXTRA int=1)"),
            ("%.", "[3]", "%!.(int=3)"),
            ("%5%|%-5%", "[]", "%|%"),
            ("%é", "[]", "%!é(MISSING)"),
            ("100% sure", "[]", "100%!s(MISSING)ure"),
            ("%\n", "[]", "%!\n(MISSING)"),
        ]);
    }

    #[test]
    fn strings() {
        check(&[
            ("%5s|%-5s|%05s|%-05s", r#"["abc", "abc", "abc", "abc"]"#, "  abc|abc  |00abc|abc  "),
            ("%2s", r#"["☺"]"#, " ☺"),
            ("%5s", r#"["abcdefgh"]"#, "abcdefgh"),
            (
                "%.5s|%.0s|%.5s|%.10s|%.s",
                r#"["abcdefgh", "日本", "日本語日本語", "日本", "x"]"#,
                "abcde||日本語日本|日本|",
            ),
            ("%20.5s|%-20.5s|", r#"["qwertyuiop", "qwertyuiop"]"#, "               qwert|qwert               |"),
            ("%6v|%-6v|%.2v", r#"["abc", true, [1]]"#, "   abc|true  |[1"),
            ("%+v|% v|%#v|%#.1v|%#v", r#"["a", "a", "a\"", "ab", [1, "a"]]"#, r#"a|a|"a\""|"a"|"[1, \"a\"]""#),
            ("%T %T %T %T %8T %.3T", r#"["a", 1, 1.5, null, 1, 1.5]"#, "string int float64 string      int flo"),
            ("%T", "[18446744073709551616]", "*big.Int"),
            ("%x|%X|% x|% X", r#"["xyz", "xyz", "xyz", "xyz"]"#, "78797a|78797A|78 79 7a|78 79 7A"),
            ("%#x|%#X|%# x|%# X", r#"["xyz", "xyz", "xyz", "xyz"]"#, "0x78797a|0X78797A|0x78 0x79 0x7a|0X78 0X79 0X7A"),
            ("%x|% x|%#x|%# x", r#"["", "", "", ""]"#, "|||"),
            ("%.5x|%.1x|%x", r#"["abcdefgh", "日本語", [1]]"#, "6162636465|e6|5b315d"),
            ("%2x|%#2x|% 02x|%-2x|%-02x", r#"["", "", "", "", ""]"#, "  |  |00|  |  "),
            ("%10x|% 10x|%#10x|%# 10x", r#"["ab", "ab", "ab", "ab"]"#, "      6162|     61 62|    0x6162| 0x61 0x62"),
            (
                "%010x|%#010x|%# 010x|%# -010X|",
                r#"["ab", "ab", "ab", "ab"]"#,
                "0000006162|00000x6162|00x61 0x62|0X61 0X62 |",
            ),
        ]);
    }

    #[test]
    fn quoted_strings() {
        check(&[
            ("%q %q %q", r#"["", "\"", "`"]"#, r#""" "\"" "`""#),
            ("%#q %#q %#q %#q", r#"["", "\"", "`", "\n"]"#, r#"`` `"` "`" "\n""#),
            (
                "%q %+q %#q %#+q",
                r#"["日本語", "日本語", "日本語", "日本語"]"#,
                r#""日本語" "\u65e5\u672c\u8a9e" `日本語` `日本語`"#,
            ),
            ("%q", r#"["\u0007\b\f\n\r\t\u000b\"\\\u007f\u0000'"]"#, r#""\a\b\f\n\r\t\v\"\\\x7f\x00'""#),
            ("% q %+q", r#"["☺", "☺"]"#, r#""☺" "\u263a""#),
            (
                "%10q|%+10q|%-10q|%010q|%-010q|",
                r#"["⌘", "⌘", "⌘", "⌘", "⌘"]"#,
                r#"       "⌘"|  "\u2318"|"⌘"       |0000000"⌘"|"⌘"       |"#,
            ),
            ("%q %q", r#"["\udbff\udfff", "\u00a0\u0301\ufeff"]"#, "\"\\U0010ffff\" \"\\u00a0\u{301}\\ufeff\""),
            ("%.3q|%10.1q|%08q", r#"["日本語日本語", "日本語", "abc"]"#, r#""日本語"|       "日"|000"abc""#),
            ("%#-8q|", r#"["\t"]"#, "`\t`     |"),
            ("%q", "[[\"a\"]]", r#""[\"a\"]""#),
        ]);
    }

    #[test]
    fn characters() {
        check(&[
            ("%c%c%c", "[120, 228, 26412]", "xä本"),
            ("%3c|%-3c|%03c|%.0c", "[8984, 8984, 8984, 8984]", "  ⌘|⌘  |00⌘|⌘"),
            ("%c%c%c%c", "[-1, 56448, 1114112, 68719476735]", "����"),
            ("%q %q %q %q %q", "[0, 34, 39, 96, 120]", r#"'\x00' '"' '\'' '`' 'x'"#),
            ("%q %+q %q %+q", "[255, 255, 10, 9786]", r"'ÿ' '\u00ff' '\n' '\u263a'"),
            ("%10q|%+10q|%-10q|%010q|", "[8984, 8984, 8984, 8984]", "       '⌘'|  '\\u2318'|'⌘'       |0000000'⌘'|"),
            ("%q %q %+q %q", "[1114111, 56448, -1, 5]", r"'\U0010ffff' '�' '\ufffd' '\x05'"),
            ("%U %U %U %U", "[0, -1, 10, 120514]", "U+0000 U+FFFFFFFFFFFFFFFF U+000A U+1D6C2"),
            ("%#U %#U %+U %# U %#.2U", "[10, 9786, 120, 120, 120]", "U+000A U+263A '☺' U+0078 U+0078 'x' U+0078 'x'"),
            ("%#14.6U|%#-14.6U|%#014.6U", "[8984, 8984, 8984]", "  U+002318 '⌘'|U+002318 '⌘'  |  U+002318 '⌘'"),
        ]);
    }

    #[test]
    fn integers() {
        check(&[
            ("%.d|%.0d|%6.0d|%06.0d|%-6.0d|", "[0, 0, 0, 0, 0]", "||      |      |      |"),
            ("% d|%+d|%+d|% +d", "[12345, 12345, -12345, 1]", " 12345|+12345|-12345|+1"),
            ("%+v|% v|%05v|%#v|%-5v|", "[5, 5, 5, 5, 5]", "5| 5|00005|5|5    |"),
            ("%b %b %#b %#b", "[7, -6, 7, -6]", "111 -110 0b111 -0b110"),
            (
                "%o %o %#o %#o %O %O %#O %#o",
                "[668, -668, 668, -668, 668, -668, 8, 0]",
                "1234 -1234 01234 -01234 0o1234 -0o1234 0o010 0",
            ),
            ("%o", "[420]", "644"),
            ("%#X %x %X %#x %x", "[0, 313249263, 313249263, -255, -255]", "0X0 12abcdef 12ABCDEF -0xff -ff"),
            (
                "%x %b",
                "[-9223372036854775808, -4611686018427387904]",
                "-8000000000000000 -100000000000000000000000000000000000000000000000000000000000000",
            ),
            ("%.20b", "[7]", "00000000000000000111"),
            (
                "%10d|%10d|%+10d|%010d|%010d",
                "[12345, -12345, 12345, 12345, -12345]",
                "     12345|    -12345|    +12345|0000012345|-000012345",
            ),
            (
                "%20.8d|%20.8d|%020.8d|%-20.8d|",
                "[1234, -1234, -1234, 1234]",
                "            00001234|           -00001234|           -00001234|00001234            |",
            ),
            (
                "%-#20.8x|%-#20.8X|%-#20.8o|%#08x",
                "[19090108, 19090108, 668, 10]",
                "0x01234abc          |0X01234ABC          |00001234            |0x0000000a",
            ),
            ("%-010d|%0-10d|", "[42, 42]", "42        |42        |"),
            ("%+07d|% 07d", "[42, 42]", "+000042| 000042"),
        ]);
    }

    #[test]
    fn integers_beyond_64_bits() {
        check(&[
            (
                "%d %s %v %x %X %o %O %b",
                "[18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551615, 18446744073709551615, 18446744073709551616, 18446744073709551616, 9223372036854775808]",
                "18446744073709551616 18446744073709551616 18446744073709551616 ffffffffffffffff FFFFFFFFFFFFFFFF 2000000000000000000000 0o2000000000000000000000 1000000000000000000000000000000000000000000000000000000000000000",
            ),
            (
                "%#x %#X %#o",
                "[18446744073709551615, 18446744073709551615, 18446744073709551616]",
                "0xffffffffffffffff 0XFFFFFFFFFFFFFFFF 02000000000000000000000",
            ),
            (
                "%+d|% d|%+v|%25d|%-25d|%025d|%+025d",
                "[18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616, -18446744073709551616]",
                "+18446744073709551616| 18446744073709551616|+18446744073709551616|     18446744073709551616|18446744073709551616     |0000018446744073709551616|-000018446744073709551616",
            ),
            (
                "%.25d|%030.25d|%#020x",
                "[18446744073709551616, 18446744073709551616, 18446744073709551615]",
                "0000018446744073709551616|     0000018446744073709551616|0x00ffffffffffffffff",
            ),
            (
                "%q %c %t %f",
                "[18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616]",
                "%!q(big.Int=18446744073709551616) %!c(big.Int=18446744073709551616) %!t(big.Int=18446744073709551616) %!f(big.Int=18446744073709551616)",
            ),
            ("%v", "[[18446744073709551616]]", "[18446744073709551616]"),
        ]);
    }

    #[test]
    fn floats() {
        check(&[
            ("%v %v %v %v", "[0.5, 1.2345678, -0.1, 100000.5]", "0.5 1.2345678 -0.1 100000.5"),
            (
                "%v %v %g %G",
                "[1234567.8, 0.000012345678, 1234567.8, 0.0000123]",
                "1.2345678e+06 1.2345678e-05 1.2345678e+06 1.23E-05",
            ),
            ("%v %v", "[123456.5, 0.0001]", "123456.5 0.0001"),
            (
                "%e %e %e %E",
                "[1.5, 1234567.8, 0.000012345678, -1.5]",
                "1.500000e+00 1.234568e+06 1.234568e-05 -1.500000E+00",
            ),
            (
                "%f %F %f %f",
                "[1234567.8, 1234567.8, 0.000012345678, -0.000000001]",
                "1234567.800000 1234567.800000 0.000012 -0.000000",
            ),
            ("%.2f %.0f %.0f %.0f %.1f %.f", "[1.005, 0.5, 1.5, 2.5, 0.25, 3.5]", "1.00 0 2 2 0.2 4"),
            (
                "%7.2f|%-7.2f|%07.2f|%+07.2f|% 07.2f|%+7.2f",
                "[1.25, 1.25, 1.25, 1.25, 1.25, -1.25]",
                "   1.25|1.25   |0001.25|+001.25| 001.25|  -1.25",
            ),
            ("%-07.2f|%07.2f|%+-07.2f|", "[1.25, -1.25, 1.25]", "1.25   |-001.25|+1.25  |"),
            (
                "%20e|%20f|%20.8f|%-20f|",
                "[1234.5, 1234.56789, 0.00123456789, 1234.56789]",
                "        1.234500e+03|         1234.567890|          0.00123457|1234.567890         |",
            ),
            ("%20.8e|%20f", "[1234.5, 12345678901.23456789]", "      1.23450000e+03|  12345678901.234568"),
            (
                "%.3g|%.3g|%.10g|%.0g|%.3g|%.1g",
                "[1234.5, 0.00012345, 1.5, 1.5, 99.96, 0.96]",
                "1.23e+03|0.000123|1.5|2|100|1",
            ),
            ("%.3g|%.3g|%.5G", "[100.1, 0.000012345, 12345678.5]", "100|1.23e-05|1.2346E+07"),
            ("%+.3g|% .3g|%+v|% v", "[1.5, 1.5, 1.5, 1.5]", "+1.5| 1.5|1.5| 1.5"),
            ("%8v|%-8v|%08v|%.2v", "[1.5, 1.5, -1.5, 1.25]", "     1.5|1.5     |-00001.5|1.2"),
            (
                "%#g|%#g|%#g|%#g|%#v",
                "[1.1, 123456.5, 1234567.5, 0.00001, 1.5]",
                "1.10000|123456.5|1.2345675e+06|1.00000e-05|1.5",
            ),
            (
                "%#.4g|%#.4g|%#.4g|%#.4g|%#.4g",
                "[1.2, 0.12, 10.2, 0.012, 123000.5]",
                "1.200|0.1200|10.20|0.01200|1.230e+05",
            ),
            (
                "%#.0f|%#.0e|%#.0g|%#.4f|%#.4e|%#9.4g",
                "[1.1, 1.1, 1.1, 1.1, 1.1, 1.1]",
                "1.|1.e+00|1.|1.1000|1.1000e+00|    1.100",
            ),
            (
                "%b|%b|%#b|%.4b",
                "[1.5, 0.1, 1.5, -1.5]",
                "6755399441055744p-52|7205759403792794p-56|6755399441055744p-52|-6755399441055744p-52",
            ),
            (
                "%x|%X|%x|%.0x|%.1x|%.3x",
                "[1.5, 1.5, 0.1, 1.5, 1.96875, 1.5]",
                "0x1.8p+00|0X1.8P+00|0x1.999999999999ap-04|0x1p+01|0x1.0p+01|0x1.800p+00",
            ),
            (
                "%.15x|%+.3x|% .3X|%#.0x|%#.4x|%012x",
                "[1.5, 1.5, -1.5, 1.25, 123.5, -1.5]",
                "0x1.800000000000000p+00|+0x1.800p+00|-0X1.800P+00|0x1.p+00|0x1.ee00p+06|-000x1.8p+00",
            ),
            ("%g|%e|%x", "[5e-324, 5e-324, 5e-324]", "5e-324|4.940656e-324|0x1p-1074"),
            ("%s", "[[0.5, 0.0000001, -2.25, 2.0]]", "[0.5, 1e-7, -2.25, 2]"),
        ]);
        // A float without a fraction is what the verb is for.
        check(&[(
            "%v %d %.1f %e %g %s %f",
            "[2.0, 3/1.5, 2.0, 2.0, 2.0, 2.0, 2]",
            "2 2 2.0 2.000000e+00 2 %!s(int=2) %!f(int=2)",
        )]);
        for (number, expected) in
            [(500.0, "500 500"), (-3.0, "-3 -3"), (0.0, "0 0"), (1e15, "1000000000000000 1000000000000000")]
        {
            let arguments = Value::from(vec![Value::from(number), Value::from(number)]);
            assert_eq!(sprintf(vec![Value::from("%v %d"), arguments]).unwrap(), Value::from(expected));
        }
        let arguments = Value::from(vec![Value::from(1e300), Value::from(vec![Value::from(1e300)])]);
        assert_eq!(sprintf(vec![Value::from("%v %v"), arguments]).unwrap(), Value::from("1e+300 [1e+300]"));
    }

    #[test]
    fn indexes_and_stars() {
        check(&[
            ("%[1]d", "[1]", "1"),
            ("%[2]d", "[2, 1]", "1"),
            ("%[2]d %[1]d", "[1, 2]", "2 1"),
            ("%[2]*[1]d", "[2, 5]", "    2"),
            ("%6.2f", "[12.5]", " 12.50"),
            ("%[3]*.[2]*[1]f", "[12.5, 2, 6]", " 12.50"),
            ("%[1]*.[2]*[3]f", "[6, 2, 12.5]", " 12.50"),
            ("%10f", "[12.5]", " 12.500000"),
            ("%[1]*[3]f", "[10, 99, 12.5]", " 12.500000"),
            ("%.6f", "[12.5]", "12.500000"),
            ("%.[1]*[3]f", "[6, 99, 12.5]", "12.500000"),
            ("%6.f", "[12.25]", "    12"),
            ("%[1]*.[3]f", "[6, 3, 12.25]", "    12"),
            ("%d %d %d %#[1]o %#o %#o", "[11, 12, 13]", "11 12 13 013 014 015"),
            ("%[2]v then %v", r#"["a", "b", "c"]"#, "b then c"),
            ("%[d", "[2, 1]", "%!d(BADINDEX)"),
            ("%]d", "[2, 1]", "%!](int=2)d%!(EXTRA int=1)"),
            ("%[]d", "[2, 1]", "%!d(BADINDEX)"),
            ("%[-3]d", "[2, 1]", "%!d(BADINDEX)"),
            ("%[99]d", "[2, 1]", "%!d(BADINDEX)"),
            ("%[3]", "[2, 1]", "%!(NOVERB)"),
            ("%[1].2d", "[5, 6]", "%!d(BADINDEX)"),
            ("%[1]2d", "[2, 1]", "%!d(BADINDEX)"),
            ("%3.[2]d", "[7]", "%!d(BADINDEX)"),
            ("%.[2]d", "[7]", "%!d(BADINDEX)"),
            ("%d %d %d %#[1]o %#o %#o %#o", "[11, 12, 13]", "11 12 13 013 014 015 %!o(MISSING)"),
            ("%[5]d %[2]d %d", "[1, 2, 3]", "%!d(BADINDEX) 2 3"),
            ("%d %[3]d %d", "[1, 2]", "1 %!d(BADINDEX) 2"),
            ("%.[]", "[]", "%!](BADINDEX)"),
            ("%.-3d", "[42]", "%!-(int=42)3d"),
            ("%[0]d %[99999999]d", "[1]", "%!d(BADINDEX) %!d(BADINDEX)"),
            ("%*d", "[4, 42]", "  42"),
            ("%-*d", "[4, 42]", "42  "),
            ("%*d", "[-4, 42]", "42  "),
            ("%-*d", "[-4, 42]", "42  "),
            ("%0*d|", "[-4, 42]", "42  |"),
            ("%.*d", "[4, 42]", "0042"),
            ("%*.*d", "[8, 4, 42]", "    0042"),
            ("%0*d", "[4, 42]", "0042"),
            ("%*d", "[10000000, 42]", "%!(BADWIDTH)42"),
            ("%*d", "[-10000000, 42]", "%!(BADWIDTH)42"),
            ("%.*d", "[10000000, 42]", "%!(BADPREC)42"),
            ("%.*d", "[-1, 42]", "%!(BADPREC)42"),
            ("%*d", "[18446744073709551616, 42]", "%!(BADWIDTH)42"),
            ("%*d", "[5, \"foo\"]", "%!d(string=  foo)"),
            ("%*d", "[\"a\", 42]", "%!(BADWIDTH)42"),
            ("%*d", "[]", "%!(BADWIDTH)%!d(MISSING)"),
            ("%*% %d", "[20, 5]", "% 5"),
            ("%*", "[4]", "%!(NOVERB)"),
        ]);
    }

    #[test]
    fn what_is_no_format_or_no_array_is_undefined() {
        let list = || Value::from(vec![Value::from("a")]);
        for arguments in [
            vec![Value::Null, list()],
            vec![Value::from(1_u64), list()],
            vec![Value::from("%v"), Value::from("a")],
            vec![Value::from("%v"), Value::new_object()],
            vec![Value::from("%v")],
            vec![],
        ] {
            assert_eq!(sprintf(arguments).unwrap(), Value::Undefined);
        }
    }

    #[test]
    fn above_a_limit_the_error_says_what_and_how_many() {
        assert_eq!(formatted("%1000d", "[1]").map(|text| text.len()), Ok(1000));
        assert_eq!(formatted("%.1000f", "[1.5]").map(|text| text.len()), Ok(1002));
        for (format, arguments, error) in [
            ("%1001d", "[1]", "`sprintf` with a width of 1001: at most 1000"),
            ("%100000d", "[1]", "`sprintf` with a width of 100000: at most 1000"),
            ("%.2000000000f", "[1.5]", "`sprintf` with a width of 2000000000: at most 1000"),
            ("%99999999999999999999999s", "[1.5]", "`sprintf` with a width of 23 digits: at most 1000"),
            ("%*d", "[1001, 1]", "`sprintf` with a width of 1001: at most 1000"),
            ("%.*d", "[1001, 1]", "`sprintf` with a width of 1001: at most 1000"),
        ] {
            assert_eq!(formatted(format, arguments), Err(error.to_owned()), "{format}");
        }
        let long = Value::from("a".repeat(MAX_BYTES));
        let too_long = format!("`sprintf` of more than {MAX_BYTES} bytes: make a shorter text");
        let of = |format: &str, value: &Value| {
            let found = sprintf(vec![Value::from(format), Value::from(vec![value.clone()])]);
            found.map(|text| text.as_string().unwrap().len()).map_err(|error| error.to_string())
        };
        assert_eq!(of("%v", &long), Ok(MAX_BYTES));
        for format in ["%v.", "%x", "%#v", "%[1]v%[1]v", "%q", "%d", "%5000000T"] {
            assert!(of(format, &long).is_err_and(|error| error == too_long || format.ends_with('T')), "{format}");
        }
        assert_eq!(of(&"%1000d".repeat(5000), &Value::from(1_u64)), Ok(1000 + 4999 * "%!d(MISSING)".len()));
        assert_eq!(of(&"%1000[1]d".repeat(5000), &Value::from(1_u64)), Err(too_long.clone()));
        let list = Value::from(vec![Value::from("a".repeat(1 << 20))]);
        assert_eq!(of(&"%.1[1]v".repeat(3), &list), Ok(3));
        assert_eq!(of(&"%.1[1]v".repeat(5), &list), Err(too_long));

        let mut shared = Value::from("a");
        for _ in 0..60 {
            shared = Value::from(vec![shared.clone(), shared]);
        }
        let heavy = "`sprintf` of a value of more than 4194304 bytes or 200 levels: use a part of it";
        for format in ["%v", "%.1s", "%d", ""] {
            assert_eq!(of(format, &shared), Err(heavy.to_owned()), "{format}");
        }
        let large = "[bits.lsh(1, 4318)]";
        for format in ["%v", "%x", "%d"] {
            assert!(formatted(format, large).is_err_and(|error| error.contains("4319 bits: at most 4096")), "{format}");
            assert!(formatted(format, &format!("[{large}]")).is_err_and(|error| error.contains("at most 4096")));
        }
    }
}
