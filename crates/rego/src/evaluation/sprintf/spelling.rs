//! Values inside of a string: collections as Rego spells them, strings as literals of Go.

use super::{MAX_BYTES, check_bits, push, too_long};
use image_admission_untrusted::literal::escape;
use regorus::Value;

/// A value as Rego spells it. It has been measured: it is no deeper than the stack.
///
/// # Errors
/// It is longer than the bounds, or an integer in it is.
pub(super) fn spell(value: &Value, to: &mut String) -> anyhow::Result<()> {
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

/// A float inside of a collection, as OPA writes it in JSON.
fn spelled_float(number: f64) -> String {
    let magnitude = number.abs();
    if (1e-6..1e21).contains(&magnitude) || magnitude == 0.0 {
        return number.to_string();
    }
    let spelled = format!("{number:e}");
    if spelled.contains("e-") { spelled } else { spelled.replace('e', "e+") }
}

/// A Go literal of a string, in ASCII alone where `ascii` says so.
///
/// # Errors
/// It is longer than the bounds.
pub(super) fn quote(text: &str, ascii: bool, to: &mut String) -> anyhow::Result<()> {
    to.push('"');
    for sign in text.chars() {
        escape(sign, ascii, to);
        if to.len() > MAX_BYTES {
            return Err(too_long());
        }
    }
    to.push('"');
    Ok(())
}
