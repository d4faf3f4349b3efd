//! `sprintf` as OPA has it: Go's `fmt` over integers, floats and strings, everything else as Rego spells it.
//!
//! Go never fails on a format: what doesn't fit shows in the result (`%!d(string=1Gi)`, `%!v(MISSING)`). The engine's own errs, or
//! prints nothing, so that the call is undefined and with it the rule: a denial would be lost for its message.
//!
//! The verbs are `%v`, `%s`, `%q` of strings, `%d`, `%o`, `%O`, `%b`, `%c` and `%U` of integers, `%f`, `%e` and `%g` of floats, `%x` and
//! `%X` of integers and strings, with widths, precisions, indexes and the flags `-`, `+`, `0` and space. Go has more (`%T`, `%#v`,
//! `%*d`). Here these show in the result, with the value, as Go shows a verb that doesn't fit: `%!T(string=ab)`. No denial is lost
//! for it.

mod spelling;

use super::weight::is_within;
use anyhow::{anyhow, bail};
use regorus::Value;
use spelling::{quote, spell};
use std::borrow::Cow;

/// Bytes of the longest result, and of all values that are spelled for one.
const MAX_BYTES: usize = 4 << 20;
/// The widest field, and the highest precision.
const WIDEST_FIELD: usize = 1000;
/// Bits of the largest integer that is spelled: it takes the square of the time.
const MAX_BITS: u64 = 4096;
/// Go's own limit of argument indexes: it takes larger ones for no number.
const MAX_IN_GO: i64 = 1_000_000;

/// Formats the second argument, an array, by the first.
///
/// # Errors
/// The result, a field or a value is larger than the bounds.
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
    /// `#` asks for a form that isn't known here, whatever the verb.
    sharp: bool,
    space: bool,
    zero: bool,
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
            Self::Integer(_) => "int64",
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
            _ => Err(too_wide()),
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

        // An index stands right before the verb.
        let mut indexed = self.take_index(&mut signs, &mut fits);
        field.width = signs.number()?;
        fits &= !(indexed && field.width.is_some());
        // A point at the very end is a verb.
        if signs.0.len() > 1 && signs.next_if('.') {
            fits &= !indexed;
            indexed = self.take_index(&mut signs, &mut fits);
            field.precision = Some(signs.number()?.unwrap_or(0));
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
                let argument = match whole_float(value).filter(|_| matches!(verb, 'f' | 'F' | 'e' | 'E' | 'g' | 'G')) {
                    Some(number) => Argument::Float(number),
                    None => self.argument(value)?,
                };
                // `+` of `%+v` asks for the names of fields, of which there are none. Only large integers take it for a sign.
                field.plus &= !matches!(verb, 'v' | 'w') || matches!(argument, Argument::Big(_));
                self.print(&argument, verb, field)?;
                self.next = self.next.saturating_add(1);
            }
        }
        Ok(signs.0)
    }

    /// Goes to the argument whose index is next in the format. Returns whether it is a number. Clears `fits` if no argument has it.
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

    fn argument(&mut self, value: &'a Value) -> anyhow::Result<Argument<'a>> {
        match value {
            Value::String(text) => Ok(Argument::Text(Cow::Borrowed(text))),
            Value::Number(number) => {
                if let Some(number) = number.as_i64() {
                    return Ok(Argument::Integer(number));
                }
                if let Some(big) = number.as_big() {
                    check_bits(big.bits())?;
                    return Ok(Argument::Big(value));
                }
                Ok(number.as_f64().map_or_else(|| Argument::Text(number.format_decimal().into()), Argument::Float))
            }
            other => {
                if !is_within(other, MAX_BYTES) {
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
        if !field.sharp && self.print_known(argument, verb, field)? {
            return Ok(());
        }
        // A large integer says itself what is wrong with the verb.
        let (kind, field) = match argument {
            Argument::Big(_) => ("big.Int", Field::default()),
            _ => (argument.kind(), field),
        };
        self.push(&format!("%!{verb}({kind}="))?;
        self.print_known(argument, 'v', field)?;
        self.push(")")
    }

    /// Whether the verb is known for such an argument.
    fn print_known(&mut self, argument: &Argument, verb: char, field: Field) -> anyhow::Result<bool> {
        match (argument, verb) {
            (Argument::Text(text), 'v' | 's') => self.push_padded(cut(text, field), field)?,
            (Argument::Text(text), 'q') => {
                let mut quoted = String::new();
                quote(cut(text, field), field.plus, &mut quoted)?;
                self.push_padded(&quoted, field)?;
            }
            (Argument::Text(text), 'x' | 'X') if !field.space && !field.plus => {
                let mut spelled = String::new();
                for byte in text.bytes().take(field.precision.unwrap_or(usize::MAX)) {
                    push(&if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") }, &mut spelled)?;
                }
                self.push_padded(&spelled, field)?;
            }
            (Argument::Integer(0), 'v' | 'd' | 'x' | 'X') if field.precision == Some(0) => {
                self.push_padded("", Field { zero: false, ..field })?;
            }
            (Argument::Integer(number), 'v' | 'd') => {
                self.print_digits(*number < 0, &number.unsigned_abs().to_string(), field)?;
            }
            (Argument::Integer(number), 'x') => {
                self.print_digits(*number < 0, &format!("{:x}", number.unsigned_abs()), field)?;
            }
            (Argument::Integer(number), 'X') => {
                self.print_digits(*number < 0, &format!("{:X}", number.unsigned_abs()), field)?;
            }
            (Argument::Integer(number), 'o' | 'O' | 'b') => {
                let magnitude = number.unsigned_abs();
                let digits = if verb == 'b' { format!("{magnitude:b}") } else { format!("{magnitude:o}") };
                let digits = if verb == 'O' { format!("0o{digits}") } else { digits };
                self.print_digits(*number < 0, &digits, field)?;
            }
            (Argument::Integer(number), 'c') => {
                let sign = u32::try_from(*number).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER);
                self.push_padded(&sign.to_string(), field)?;
            }
            (Argument::Integer(number), 'U') => {
                self.push_padded(&format!("U+{number:04X}"), Field { zero: false, ..field })?;
            }
            (Argument::Big(Value::Number(number)), 'v' | 's' | 'd' | 'x' | 'X' | 'o' | 'b') => {
                let spelled = match verb {
                    'o' => number.format_octal(),
                    'b' => number.format_bin(),
                    'x' => number.format_hex(),
                    'X' => number.format_big_hex(),
                    _ => number.format_decimal(),
                };
                let digits = spelled.trim_start_matches('-');
                self.print_digits(digits.len() < spelled.len(), digits, field)?;
            }
            (Argument::Float(number), 'v' | 'g' | 'G') => {
                let digits = general(number.abs(), field.precision);
                let digits = if verb == 'G' { digits.to_uppercase() } else { digits };
                self.print_float(*number, &digits, field)?;
            }
            (Argument::Float(number), 'e' | 'E') => {
                let (digits, exponent) = decimal(number.abs(), Some(field.precision.unwrap_or(6)));
                self.print_float(*number, &format!("{digits}{verb}{exponent:+03}"), field)?;
            }
            (Argument::Float(number), 'f' | 'F') => {
                let digits = format!("{:.*}", field.precision.unwrap_or(6), number.abs());
                self.print_float(*number, &digits, field)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// An integer with its sign. A precision and a width with zeros both ask for digits: the first one wins.
    fn print_digits(&mut self, is_negative: bool, digits: &str, field: Field) -> anyhow::Result<()> {
        let sign = field.sign(is_negative);
        let least = match (field.precision, field.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if field.is_zero_padded() => width.saturating_sub(sign.len()),
            _ => 0,
        };
        let zeros = "0".repeat(least.saturating_sub(digits.len()));
        self.push_padded(&format!("{sign}{zeros}{digits}"), Field { zero: false, ..field })
    }

    /// A float with its sign. It is finite: Rego has no others.
    fn print_float(&mut self, number: f64, digits: &str, field: Field) -> anyhow::Result<()> {
        let sign = field.sign(number.is_sign_negative());
        if !field.is_zero_padded() {
            return self.push_padded(&format!("{sign}{digits}"), field);
        }
        self.push(sign)?;
        let width = field.width.map(|width| width.saturating_sub(sign.len()));
        self.push_padded(digits, Field { width, ..field })
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

fn too_wide() -> anyhow::Error {
    anyhow!("`sprintf` with a width that is too large: at most {WIDEST_FIELD}")
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

/// A float without a fraction. For OPA it is an integer if it was calculated, but not if it was written `2.0`. That can't be told
/// here, so the verb decides.
fn whole_float(value: &Value) -> Option<f64> {
    let Value::Number(number) = value else { return None };
    // Only floats are spelled with places.
    number.as_f64().filter(|_| number.as_i64().is_some() && number.format_decimal_with_width(1).contains('.'))
}

/// As many characters as the precision allows.
fn cut(text: &str, field: Field) -> &str {
    let end = field.precision.and_then(|most| text.char_indices().nth(most));
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// The digits and the decimal exponent of a number. Without a precision, as few digits as tell it from others.
fn decimal(number: f64, precision: Option<usize>) -> (String, i32) {
    let spelled = match precision {
        Some(precision) => format!("{number:.precision$e}"),
        None => format!("{number:e}"),
    };
    let (digits, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or_default())
}

/// As few digits as the number needs or the precision allows, with an exponent if it is small or large.
fn general(number: f64, precision: Option<usize>) -> String {
    let significant = precision.map(|precision| precision.max(1));
    let fraction = significant.map(|significant| significant.saturating_sub(1));
    let (digits, exponent) = decimal(number, fraction);
    // Without a precision, large is what has more than six digits before the point.
    let large = i32::try_from(significant.unwrap_or(6)).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= large {
        return format!("{}e{exponent:+03}", without_zeros(&digits));
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
            ("", "[2]", "%!(EXTRA int64=2)"),
            ("no args", r#"["hello"]"#, "no args%!(EXTRA string=hello)"),
            (
                "%v",
                r#"[1, "b", 2, 2.5, null, [1, "a"], 18446744073709551616]"#,
                "1%!(EXTRA string=b, int64=2, float64=2.5, string=null, string=[1, \"a\"], *big.Int=18446744073709551616)",
            ),
            ("%d", r#"["1Gi"]"#, "%!d(string=1Gi)"),
            ("%d %d %d", "[true, null, [1]]", "%!d(string=true) %!d(string=null) %!d(string=[1])"),
            ("%5d|%-5d|%05d", r#"["a", "b", "c"]"#, "%!d(string=    a)|%!d(string=b    )|%!d(string=0000c)"),
            ("%s", "[5]", "%!s(int64=5)"),
            ("%+s %5s", "[5, 6]", "%!s(int64=+5) %!s(int64=    6)"),
            ("%s %d", "[2.5, 2.5]", "%!s(float64=2.5) %!d(float64=2.5)"),
            ("%t %t %t", r#"[true, 1, "x"]"#, "%!t(string=true) %!t(int64=1) %!t(string=x)"),
            ("%f %.2f", "[5, 5]", "%!f(int64=5) %!f(int64=05)"),
            ("%q", "[2.5]", "%!q(float64=2.5)"),
            ("%z %! %é", r#"["a", 1, 2]"#, "%!z(string=a) %!!(int64=1) %!é(int64=2)"),
            ("%p %w %p", r#"[27, "a", 1.5]"#, "%!p(int64=27) %!w(string=a) %!p(float64=1.5)"),
            ("%", "[]", "%!(NOVERB)"),
            ("%s %", r#"["hello"]"#, "hello %!(NOVERB)"),
            ("%s %.2", r#"["hello"]"#, "hello %!(NOVERB)"),
            ("%010.2", r#"["12345"]"#, "%!(NOVERB)%!(EXTRA string=12345)"),
            ("%-+ #0", "[1]", "%!(NOVERB)%!(EXTRA int64=1)"),
            ("%.", "[3]", "%!.(int64=3)"),
            ("%5%|%-5%", "[]", "%|%"),
            ("%é", "[]", "%!é(MISSING)"),
            ("100% sure", "[]", "100%!s(MISSING)ure"),
            ("%\n", "[]", "%!\n(MISSING)"),
        ]);
    }

    /// Go has these verbs and flags. A rule that uses them has its message, and so its denial.
    #[test]
    fn a_verb_that_is_not_known_here_shows_with_the_value() {
        check(&[
            ("%q %b %x", "[8080, 2.5, 2.5]", "%!q(int64=8080) %!b(float64=2.5) %!x(float64=2.5)"),
            ("%x %T %t %X", r#"["ab", "ab", true, [1]]"#, "6162 %!T(string=ab) %!t(string=true) 5B315D"),
            (
                "%c %q %f",
                "[18446744073709551616, 18446744073709551616, 18446744073709551616]",
                "%!c(big.Int=18446744073709551616) %!q(big.Int=18446744073709551616) %!f(big.Int=18446744073709551616)",
            ),
            (
                "%#v %#q %#d %#x %#5d",
                r#"["a", "a", 5, 255, 5]"#,
                "%!v(string=a) %!q(string=a) %!d(int64=5) %!x(int64=255) %!d(int64=    5)",
            ),
            ("%*d|", "[4, 42]", "%!*(int64=4)d|%!(EXTRA int64=42)"),
            ("%.*f", "[2, 1.5]", "%!*(int64=2)f%!(EXTRA float64=1.5)"),
        ]);
    }

    #[test]
    fn verbs_of_numbers() {
        check(&[
            ("%o %O %b %o", "[420, 420, -6, -8]", "644 0o644 -110 -10"),
            ("%c|%5c|%c|%c", "[120, 9731, -1, 1114112]", "x|    ☃|\u{fffd}|\u{fffd}"),
            ("%U %U %U", "[120, 9731, 128512]", "U+0078 U+2603 U+1F600"),
            ("%08b|%-8o|%8b|%+b", "[5, 8, 5, 5]", "00000101|10      |     101|+101"),
            (
                "%o %b",
                "[18446744073709551616, 18446744073709551616]",
                &format!("2{} 1{}", "0".repeat(21), "0".repeat(64)),
            ),
            ("%e %E %.2e %e", "[12345.678, 0.00012, 2.5, -1.5]", "1.234568e+04 1.200000E-04 2.50e+00 -1.500000e+00"),
            ("%g %G %.3g %g", "[0.1, 1234567.5, 1234.5, 2.0]", "0.1 1.2345675E+06 1.23e+03 2"),
            ("%F %.1F|%12.3e|%012.3e", "[2.5, 2.5, 2.5, -2.5]", "2.500000 2.5|   2.500e+00|-002.500e+00"),
            ("the mode of %s is %o: %[2]d", r#"["/etc", 420]"#, "the mode of /etc is 644: 420"),
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
            ("%+v|% v|%+s", r#"["a", "a", "a"]"#, "a|a|a"),
        ]);
    }

    #[test]
    fn quoted_strings() {
        check(&[
            ("%q %q %q", r#"["", "\"", "`"]"#, r#""" "\"" "`""#),
            ("%q %+q", r#"["日本語", "日本語"]"#, r#""日本語" "\u65e5\u672c\u8a9e""#),
            ("%q", r#"["\u0007\b\f\n\r\t\u000b\"\\\u007f\u0000'"]"#, r#""\a\b\f\n\r\t\v\"\\\x7f\x00'""#),
            ("% q %+q", r#"["☺", "☺"]"#, r#""☺" "\u263a""#),
            (
                "%10q|%+10q|%-10q|%010q|%-010q|",
                r#"["⌘", "⌘", "⌘", "⌘", "⌘"]"#,
                r#"       "⌘"|  "\u2318"|"⌘"       |0000000"⌘"|"⌘"       |"#,
            ),
            ("%q %q", r#"["\udbff\udfff", "\u00a0\u0301\ufeff"]"#, "\"\\U0010ffff\" \"\\u00a0\u{301}\\ufeff\""),
            ("%.3q|%10.1q|%08q", r#"["日本語日本語", "日本語", "abc"]"#, r#""日本語"|       "日"|000"abc""#),
            ("%q", "[[\"a\"]]", r#""[\"a\"]""#),
        ]);
    }

    #[test]
    fn integers() {
        check(&[
            ("%.d|%.0d|%6.0d|%06.0d|%-6.0d|", "[0, 0, 0, 0, 0]", "||      |      |      |"),
            ("% d|%+d|%+d|% +d", "[12345, 12345, -12345, 1]", " 12345|+12345|-12345|+1"),
            ("%+v|% v|%05v|%-5v|", "[5, 5, 5, 5]", "5| 5|00005|5    |"),
            ("%d %.20d", "[-9223372036854775808, 7]", "-9223372036854775808 00000000000000000007"),
            (
                "%X %x %X %x|%02X|%.0x|%6.4x|%-6X|%06x",
                "[0, 313249263, 313249263, -255, 10, 0, 255, 255, -255]",
                "0 12abcdef 12ABCDEF -ff|0A||  00ff|FF    |-000ff",
            ),
            ("%x", "[-9223372036854775808]", "-8000000000000000"),
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
            ("%-010d|%0-10d|", "[42, 42]", "42        |42        |"),
            ("%+07d|% 07d", "[42, 42]", "+000042| 000042"),
        ]);
    }

    #[test]
    fn integers_beyond_64_bits() {
        check(&[
            (
                "%d %s %v",
                "[18446744073709551616, 18446744073709551616, -18446744073709551616]",
                "18446744073709551616 18446744073709551616 -18446744073709551616",
            ),
            (
                "%+d|% d|%+v|%25d|%-25d|%025d|%+025d",
                "[18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616, 18446744073709551616, -18446744073709551616]",
                "+18446744073709551616| 18446744073709551616|+18446744073709551616|     18446744073709551616|18446744073709551616     |0000018446744073709551616|-000018446744073709551616",
            ),
            (
                "%.25d|%030.25d|%020x|%X",
                "[18446744073709551616, 18446744073709551616, 18446744073709551615, -18446744073709551616]",
                "0000018446744073709551616|     0000018446744073709551616|0000ffffffffffffffff|-10000000000000000",
            ),
            ("%v", "[[18446744073709551616]]", "[18446744073709551616]"),
        ]);
    }

    #[test]
    fn floats() {
        check(&[
            ("%v %v %v %v", "[0.5, 1.2345678, -0.1, 100000.5]", "0.5 1.2345678 -0.1 100000.5"),
            ("%v %v", "[1234567.8, 0.000012345678]", "1.2345678e+06 1.2345678e-05"),
            ("%v %v", "[123456.5, 0.0001]", "123456.5 0.0001"),
            ("%f %f %f", "[1234567.8, 0.000012345678, -0.000000001]", "1234567.800000 0.000012 -0.000000"),
            ("%.2f %.0f %.0f %.0f %.1f %.f", "[1.005, 0.5, 1.5, 2.5, 0.25, 3.5]", "1.00 0 2 2 0.2 4"),
            (
                "%7.2f|%-7.2f|%07.2f|%+07.2f|% 07.2f|%+7.2f",
                "[1.25, 1.25, 1.25, 1.25, 1.25, -1.25]",
                "   1.25|1.25   |0001.25|+001.25| 001.25|  -1.25",
            ),
            ("%-07.2f|%07.2f|%+-07.2f|", "[1.25, -1.25, 1.25]", "1.25   |-001.25|+1.25  |"),
            (
                "%20f|%20.8f|%-20f|",
                "[1234.56789, 0.00123456789, 1234.56789]",
                "         1234.567890|          0.00123457|1234.567890         |",
            ),
            ("%20f", "[12345678901.23456789]", "  12345678901.234568"),
            (
                "%.3v|%.3v|%.10v|%.0v|%.3v|%.1v",
                "[1234.5, 0.00012345, 1.5, 1.5, 99.96, 0.96]",
                "1.23e+03|0.000123|1.5|2|100|1",
            ),
            ("%.3v|%.3v", "[100.1, 0.000012345]", "100|1.23e-05"),
            ("%+.3f|% .3f|%+v|% v", "[1.5, 1.5, 1.5, 1.5]", "+1.500| 1.500|1.5| 1.5"),
            ("%8v|%-8v|%08v|%.2v", "[1.5, 1.5, -1.5, 1.25]", "     1.5|1.5     |-00001.5|1.2"),
            ("%v", "[5e-324]", "5e-324"),
            ("%s", "[[0.5, 0.0000001, -2.25, 2.0]]", "[0.5, 1e-7, -2.25, 2]"),
        ]);
        // The verb decides what a float without a fraction is.
        check(&[("%v %d %.1f %s %f", "[2.0, 3/1.5, 2.0, 2.0, 2]", "2 2 2.0 %!s(int64=2) %!f(int64=2)")]);
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
    fn indexes() {
        check(&[
            ("%[1]d", "[1]", "1"),
            ("%[2]d", "[2, 1]", "1"),
            ("%[2]d %[1]d", "[1, 2]", "2 1"),
            ("%6.2f", "[12.5]", " 12.50"),
            ("%10f", "[12.5]", " 12.500000"),
            ("%.6f", "[12.5]", "12.500000"),
            ("%6.f", "[12.25]", "    12"),
            ("%d %d %d %+[1]d %+d %+d", "[11, 12, 13]", "11 12 13 +11 +12 +13"),
            ("%[2]v then %v", r#"["a", "b", "c"]"#, "b then c"),
            ("%[d", "[2, 1]", "%!d(BADINDEX)"),
            ("%]d", "[2, 1]", "%!](int64=2)d%!(EXTRA int64=1)"),
            ("%[]d", "[2, 1]", "%!d(BADINDEX)"),
            ("%[-3]d", "[2, 1]", "%!d(BADINDEX)"),
            ("%[99]d", "[2, 1]", "%!d(BADINDEX)"),
            ("%[3]", "[2, 1]", "%!(NOVERB)"),
            ("%[1].2d", "[5, 6]", "%!d(BADINDEX)"),
            ("%[1]2d", "[2, 1]", "%!d(BADINDEX)"),
            ("%3.[2]d", "[7]", "%!d(BADINDEX)"),
            ("%.[2]d", "[7]", "%!d(BADINDEX)"),
            ("%d %d %d %+[1]d %+d %+d %+d", "[11, 12, 13]", "11 12 13 +11 +12 +13 %!d(MISSING)"),
            ("%[5]d %[2]d %d", "[1, 2, 3]", "%!d(BADINDEX) 2 3"),
            ("%d %[3]d %d", "[1, 2]", "1 %!d(BADINDEX) 2"),
            ("%.[]", "[]", "%!](BADINDEX)"),
            ("%.-3d", "[42]", "%!-(int64=42)3d"),
            ("%[0]d %[99999999]d", "[1]", "%!d(BADINDEX) %!d(BADINDEX)"),
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
            ("%1001d", "[1]", "`sprintf` with a width that is too large: at most 1000"),
            ("%100000d", "[1]", "`sprintf` with a width that is too large: at most 1000"),
            ("%.2000000000f", "[1.5]", "`sprintf` with a width that is too large: at most 1000"),
            ("%99999999999999999999999s", "[1.5]", "`sprintf` with a width that is too large: at most 1000"),
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
        for format in ["%v.", "%x", "%[1]v%[1]v", "%q", "%d"] {
            assert!(of(format, &long).is_err_and(|error| error == too_long), "{format}");
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
