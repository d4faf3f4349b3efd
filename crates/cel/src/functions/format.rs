//! `text.format(list)`: replaces each clause of a string, as in the string library of cel-go that Kubernetes has.
//!
//! Clauses are `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x`, `%X` and `%%`. That library writes numbers for readers of American
//! English: `%f` puts commas between thousands, and `%e` writes `1.500000 × 10⁰³`. The digits behind a point are a precision only
//! for `%f`; for `%e` they are a width. e2e-tests/cel-format has its result for each case.

use super::standard::{Number, number, show_double};
use super::time::shown;
use super::{Answer, Call, CelBool, CelBytes, CelMap, CelString, CelType, Kind, Val, elements_of};
use super::{LONG_TEXT, MAX_TEXT};
use image_admission_untrusted::literal;

/// The number of digits behind the point where a clause gives none.
const DEFAULT_PRECISION: usize = 6;
/// The highest precision that a clause may ask for.
const MAX_PRECISION: usize = 1_000;
/// How deep lists and maps may be nested.
const MAX_DEPTH: usize = 128;

const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// `text.format(list)`.
pub(super) fn format<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let template = call.text(0)?;
    let arguments = call.elements(1)?;
    let mut made = Made::default();
    let mut rest = template;
    let mut position = 0;
    while let Some((before, after)) = rest.split_once('%') {
        made.push(before).map_err(|why| call.error(why))?;
        if let Some(after) = after.strip_prefix('%') {
            made.push("%").map_err(|why| call.error(why))?;
            rest = after;
            continue;
        }
        let Some(argument) = arguments.get(position) else {
            return Err(call.error(format!("index {position} out of range")));
        };
        rest = clause(after, *argument, &mut made).map_err(|why| call.error(why))?;
        position += 1;
    }
    made.push(rest).map_err(|why| call.error(why))?;
    call.give_text(made.0)
}

/// Writes a value by the clause at the start of a string. Returns what follows the clause.
fn clause<'t>(text: &'t str, value: &(dyn Val + '_), made: &mut Made) -> Result<&'t str, String> {
    if text.is_empty() {
        return Err("unexpected end of string".to_owned());
    }
    let (precision, text) = precision(text)
        .map_err(|why| format!("could not parse formatting clause: error while parsing precision: {why}"))?;
    let mut signs = text.chars();
    let verb = signs.next().unwrap_or_default();
    let written = match verb {
        's' => made.text(value, 0),
        'd' => made.decimal(value),
        'f' => made.fixed(value, precision.unwrap_or(DEFAULT_PRECISION)),
        'e' => made.scientific(value, precision.unwrap_or(DEFAULT_PRECISION)),
        'b' => made.binary(value),
        'x' | 'X' => made.hexadecimal(value, verb == 'X'),
        'o' => made.octal(value),
        _ => {
            return Err(format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\""));
        }
    };
    written.map_err(|why| if why == LONG_TEXT { why } else { format!("error during formatting: {why}") })?;
    Ok(signs.as_str())
}

/// The number behind a point, if there is one, and the rest.
fn precision(text: &str) -> Result<(Option<usize>, &str), String> {
    let Some(after) = text.strip_prefix('.') else { return Ok((None, text)) };
    let end = after.find(|sign: char| !sign.is_ascii_digit()).ok_or("could not find end of precision specifier")?;
    let (digits, rest) = after.split_at(end);
    if digits.is_empty() {
        return Err("there is no number after the point".to_owned());
    }
    let number = digits.parse().ok().filter(|number| *number <= MAX_PRECISION);
    let number = number.ok_or_else(|| format!("more than {MAX_PRECISION} digits can't be asked for"))?;
    Ok((Some(number), rest))
}

/// The output so far.
#[derive(Default)]
struct Made(String);

impl Made {
    fn push(&mut self, text: &str) -> Result<(), String> {
        if self.0.len().saturating_add(text.len()) > MAX_TEXT {
            return Err(LONG_TEXT.to_owned());
        }
        self.0.push_str(text);
        Ok(())
    }

    /// `%s` of a single value. Values inside of lists and maps are written as in CEL.
    fn text(&mut self, value: &(dyn Val + '_), depth: usize) -> Result<(), String> {
        match value.get_type().kind() {
            Kind::List => return self.list(value, depth),
            Kind::Map => return self.map(value, depth),
            Kind::NullType => return self.push("null"),
            _ => {}
        }
        let text = plain(value).ok_or_else(|| {
            format!(
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given {}",
                value.get_type().name()
            )
        })??;
        self.push(&text)
    }

    fn list(&mut self, value: &(dyn Val + '_), depth: usize) -> Result<(), String> {
        let elements = elements_of(value).ok_or("it is no list")?;
        self.push("[")?;
        for (position, element) in elements.into_iter().enumerate() {
            self.push(if position > 0 { ", " } else { "" })?;
            self.nested(element, depth)?;
        }
        self.push("]")
    }

    /// The entries, sorted by their keys as written.
    fn map(&mut self, value: &(dyn Val + '_), depth: usize) -> Result<(), String> {
        let map = value.downcast_ref::<CelMap<'_>>().ok_or("it is no map")?;
        let written = |key: &(dyn Val + '_)| {
            let mut written = Self::default();
            match key.get_type().kind() {
                Kind::String | Kind::Boolean | Kind::Int | Kind::UInt => written.nested(key, depth).map(|()| written.0),
                _ => Err(format!("no formatting function for map key of type {}", key.get_type().name())),
            }
        };
        let entries = map.inner().iter().map(|(key, value)| Ok::<_, String>((written(key.inner())?, value)));
        let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|(key, _), (other, _)| key.cmp(other));
        self.push("{")?;
        for (position, (key, value)) in entries.into_iter().enumerate() {
            self.push(if position > 0 { ", " } else { "" })?;
            self.push(&key)?;
            self.push(":")?;
            self.nested(value.as_ref(), depth)?;
        }
        self.push("}")
    }

    /// A value inside of a list or a map, as in CEL.
    fn nested(&mut self, value: &(dyn Val + '_), depth: usize) -> Result<(), String> {
        let depth = depth + 1;
        if depth > MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        let kind = value.get_type().kind();
        if let Some(Number::Double(number)) = number(value) {
            return match number.is_finite() {
                true => self.push(&format!("{number:.DEFAULT_PRECISION$}")),
                false => self.quoted("", &show_double(number)),
            };
        }
        match kind {
            Kind::List | Kind::Map | Kind::NullType => return self.text(value, depth),
            _ => {}
        }
        let text = plain(value).ok_or_else(|| format!("no formatting function for {}", value.get_type().name()))??;
        match kind {
            Kind::String => self.quoted("", &text),
            Kind::Bytes => self.quoted("b", &text),
            Kind::Timestamp => {
                self.push("timestamp(")?;
                self.quoted("", &text)?;
                self.push(")")
            }
            Kind::Duration => {
                self.push("duration(")?;
                self.quoted("", &text)?;
                self.push(")")
            }
            _ => self.push(&text),
        }
    }

    fn quoted(&mut self, before: &str, text: &str) -> Result<(), String> {
        self.push(before)?;
        self.push("\"")?;
        for sign in text.chars() {
            literal::escape(sign, false, &mut self.0);
            self.push("")?;
        }
        self.push("\"")
    }

    fn decimal(&mut self, value: &(dyn Val + '_)) -> Result<(), String> {
        let (sign, magnitude) = whole(value).ok_or_else(|| {
            format!("decimal clause can only be used on integers, was given {}", value.get_type().name())
        })?;
        self.push(&format!("{sign}{magnitude}"))
    }

    fn octal(&mut self, value: &(dyn Val + '_)) -> Result<(), String> {
        let (sign, magnitude) = whole(value).ok_or_else(|| {
            format!("octal clause can only be used on integers, was given {}", value.get_type().name())
        })?;
        self.push(&format!("{sign}{magnitude:o}"))
    }

    fn binary(&mut self, value: &(dyn Val + '_)) -> Result<(), String> {
        let truth = value.downcast_ref::<CelBool>().map(|truth| ("", u64::from(*truth.inner())));
        let (sign, magnitude) = whole(value).or(truth).ok_or_else(|| {
            format!("only integers and bools can be formatted as binary, was given {}", value.get_type().name())
        })?;
        self.push(&format!("{sign}{magnitude:b}"))
    }

    fn hexadecimal(&mut self, value: &(dyn Val + '_), is_upper: bool) -> Result<(), String> {
        if let Some((sign, magnitude)) = whole(value) {
            let digits = if is_upper { format!("{magnitude:X}") } else { format!("{magnitude:x}") };
            return self.push(&format!("{sign}{digits}"));
        }
        let text = value.downcast_ref::<CelString<'_>>().map(|text| text.inner().as_bytes());
        let bytes = text.or_else(|| value.downcast_ref::<CelBytes<'_>>().map(CelBytes::inner)).ok_or_else(|| {
            format!(
                "only integers, byte buffers, and strings can be formatted as hex, was given {}",
                value.get_type().name()
            )
        })?;
        for byte in bytes {
            self.push(&if is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") })?;
        }
        Ok(())
    }

    fn fixed(&mut self, value: &(dyn Val + '_), precision: usize) -> Result<(), String> {
        let number = double(value).ok_or_else(|| {
            format!("fixed-point clause can only be used on doubles, was given {}", value.get_type().name())
        })?;
        if let Some(word) = word_of(number) {
            return self.push(word);
        }
        let written = format!("{:.precision$}", number.abs());
        let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
        self.push(if number < 0.0 { "-" } else { "" })?;
        for (position, digit) in whole.chars().enumerate() {
            let is_thousand = position > 0 && (whole.len() - position) % 3 == 0;
            self.push(if is_thousand { "," } else { "" })?;
            self.push(digit.encode_utf8(&mut [0; 4]))?;
        }
        if precision > 0 {
            self.push(".")?;
            self.push(fraction)?;
        }
        Ok(())
    }

    fn scientific(&mut self, value: &(dyn Val + '_), width: usize) -> Result<(), String> {
        let number = double(value).ok_or_else(|| {
            format!("scientific clause can only be used on doubles, was given {}", value.get_type().name())
        })?;
        let written = match word_of(number) {
            Some(word) => word.to_owned(),
            None => scientific(number),
        };
        let padding = width.saturating_sub(written.chars().count());
        self.push(&" ".repeat(padding))?;
        self.push(&written)
    }
}

/// `1.500000 × 10⁰³`, with narrow no-break spaces.
fn scientific(number: f64) -> String {
    let written = format!("{:.DEFAULT_PRECISION$e}", number.abs());
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let sign = if number < 0.0 { "-" } else { "" };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let power: String = format!("{:02}", exponent.unsigned_abs())
        .chars()
        .filter_map(|digit| SUPERSCRIPTS.get(usize::try_from(digit.to_digit(10)?).ok()?))
        .collect();
    let below = if exponent < 0 { "⁻" } else { "" };
    format!("{sign}{digits}\u{202f}×\u{202f}10{below}{power}")
}

/// The name of NaN and of infinite numbers.
fn word_of(number: f64) -> Option<&'static str> {
    match number {
        _ if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// A double, or a string that names NaN or an infinite number.
fn double(value: &(dyn Val + '_)) -> Option<f64> {
    if let Some(Number::Double(number)) = number(value) {
        return Some(number);
    }
    match value.downcast_ref::<CelString<'_>>()?.inner() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

/// The sign and the magnitude of an integer.
fn whole(value: &(dyn Val + '_)) -> Option<(&'static str, u64)> {
    match number(value)? {
        Number::Int(number) => Some((if number < 0 { "-" } else { "" }, number.unsigned_abs())),
        Number::UInt(number) => Some(("", number)),
        Number::Double(_) => None,
    }
}

/// A simple value other than null as `string(…)` writes it; none for other values.
fn plain(value: &(dyn Val + '_)) -> Option<Result<String, String>> {
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        return Some(Ok(text.inner().to_owned()));
    }
    if let Some(number) = number(value) {
        return Some(Ok(match number {
            Number::Int(number) => number.to_string(),
            Number::UInt(number) => number.to_string(),
            Number::Double(number) => show_double(number),
        }));
    }
    if let Some(truth) = value.downcast_ref::<CelBool>() {
        return Some(Ok(truth.inner().to_string()));
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        let text = std::str::from_utf8(bytes.inner()).map(str::to_owned);
        return Some(text.map_err(|_not_text| "the bytes aren't UTF-8".to_owned()));
    }
    if let Some(named) = value.downcast_ref::<CelType>() {
        return Some(Ok(named.name().to_owned()));
    }
    shown(value, true).map(Ok)
}
