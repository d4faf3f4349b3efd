//! Builtins of texts and arrays that the engine lacks.

use anyhow::bail;
use regorus::Value;

/// The most elements that come of one call.
const MOST_ELEMENTS: usize = 1 << 16;

/// `strings.split_n`: the first parts of a text, or with a negative number the last ones.
///
/// # Errors
/// It has too many parts.
pub(super) fn split_n(arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::String(text), Value::String(delimiter), Value::Number(number)] = arguments else {
        return Ok(Value::Undefined);
    };
    let Some(number) = number.as_i64() else { return Ok(Value::Undefined) };
    let wanted = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
    let most = if number >= 0 { wanted.min(MOST_ELEMENTS + 1) } else { MOST_ELEMENTS + 1 };
    let mut parts: Vec<&str> = if delimiter.is_empty() {
        text.char_indices().map(|(at, c)| text.get(at..at + c.len_utf8()).unwrap_or_default()).take(most).collect()
    } else {
        text.split(&**delimiter).take(most).collect()
    };
    if parts.len() > MOST_ELEMENTS {
        bail!("`strings.split_n` of more than {MOST_ELEMENTS} parts");
    }
    if number < 0 {
        parts.drain(..parts.len().saturating_sub(wanted));
    }
    Ok(Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>()))
}

/// `array.flatten`: the elements of arrays in an array stand in their place.
///
/// # Errors
/// There are too many.
pub(super) fn flatten(arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::Array(list)] = arguments else { return Ok(Value::Undefined) };
    let mut found = Vec::new();
    for element in list.iter() {
        match element {
            Value::Array(inner) => found.extend(inner.iter().cloned()),
            element => found.push(element.clone()),
        }
        if found.len() > MOST_ELEMENTS {
            bail!("`array.flatten` to more than {MOST_ELEMENTS} elements");
        }
    }
    Ok(Value::from(found))
}
