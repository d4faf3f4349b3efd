//! What a value weighs: the bytes of what a builtin goes through, or of what is spelled, as a whole.
//!
//! A value that a rule has put together from shared parts is counted as often as it appears: that is what going through it
//! would do. So ask before spelling or comparing a value that a rule produced.

use regorus::Value;

/// Levels of a value. Requests have at most 127. More than this many would overflow the stack of what renders them.
pub(super) const MAX_LEVELS: usize = 200;

/// Whether a value that a rule produced weighs no more than `most`: ask before spelling or comparing it.
pub fn is_within(value: &Value, most: usize) -> bool {
    measure_one(value, 0, &mut { most })
}

/// The bytes of values, eight for each in them and those of their strings. More than `most` is an error, and isn't counted any
/// further.
pub(super) fn measure(name: &str, values: &[Value], most: usize) -> Result<usize, String> {
    let mut left = most;
    match values.iter().all(|value| measure_one(value, 0, &mut left)) {
        true => Ok(most - left),
        false => Err(too_large(name, most)),
    }
}

/// The error for a value that weighs more.
pub(super) fn too_large(name: &str, most: usize) -> String {
    format!("`{name}` of a value of more than {most} bytes or {MAX_LEVELS} levels: use a part of it")
}

/// The bits of an integer. A fraction counts as 0: its size is always the same.
pub(super) fn bits(value: &Value) -> u64 {
    let Value::Number(number) = value else { return 0 };
    match (number.as_i64(), number.as_u64()) {
        (Some(number), _) => u64::from(u64::BITS - number.unsigned_abs().leading_zeros()),
        (None, Some(number)) => u64::from(u64::BITS - number.leading_zeros()),
        (None, None) if number.is_integer() => number.as_big().map_or(0, |number| number.bits()),
        (None, None) => 0,
    }
}

fn measure_one(value: &Value, level: usize, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Number(_) => usize::try_from(bits(value) / 8).unwrap_or(usize::MAX),
        _ => 0,
    };
    let Some(rest) = left.checked_sub(own.saturating_add(8)) else { return false };
    *left = rest;
    level < MAX_LEVELS
        && match value {
            Value::Array(list) => list.iter().all(|value| measure_one(value, level + 1, left)),
            Value::Set(set) => set.iter().all(|value| measure_one(value, level + 1, left)),
            Value::Object(object) => object
                .iter()
                .all(|(key, value)| measure_one(key, level + 1, left) && measure_one(value, level + 1, left)),
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_shared_parts_weighs_what_it_spells() {
        let mut value = Value::from("a");
        for _ in 0..60 {
            value = Value::from(vec![value.clone(), value]);
        }
        assert!(!is_within(&value, 8 << 20));
        assert!(is_within(&Value::from(vec![Value::from("abc")]), 19));
        assert!(!is_within(&Value::from(vec![Value::from("abc")]), 18));
    }
}
