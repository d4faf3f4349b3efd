//! `size`, `type`, `dyn` and the conversions.
//!
//! The conversions read and write numbers as Kubernetes does (with Go's `strconv`), which differs from the crate's own
//! in corners: see the test `same_answers_as_the_crate`.

use super::{
    Answer, Call, CelBool, CelBytes, CelDouble, CelInt, CelType, CelUInt, CowVal, Kind, Val, give_bool, give_int,
    network, quoted, time,
};

/// `size(x)`: the code points of a string, the bytes of bytes, the elements of a list, the entries of a map.
pub(super) fn size<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let sizer = match call.kind(0)? {
        Kind::String | Kind::Bytes | Kind::List | Kind::Map => call.argument(0)?.as_sizer(),
        _ => None,
    };
    let size = sizer.ok_or_else(|| call.mismatch())?.size();
    Ok(CowVal::owned(size))
}

/// `type(x)`.
pub(super) fn type_of<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    Ok(CowVal::owned(CelType::new(call.argument(0)?.get_type().name())))
}

/// `dyn(x)`: the value itself, since there is no type checker.
pub(super) fn dynamic<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    call.into_first()
}

/// `bool(x)`. It takes the strings that Go's `strconv.ParseBool` takes.
pub(super) fn bool<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    if call.kind(0)? == Kind::Boolean {
        return call.into_first();
    }
    match call.text(0)? {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => give_bool(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => give_bool(false),
        other => Err(call.error(format!("not a bool: {}", quoted(other)))),
    }
}

/// `bytes(x)`.
pub(super) fn bytes<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    if call.kind(0)? == Kind::Bytes {
        return call.into_first();
    }
    let text = call.text(0)?;
    call.check_text(text.len())?;
    Ok(CowVal::owned(CelBytes::from(text.as_bytes().to_vec())))
}

/// `double(x)`.
pub(super) fn double<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let value = call.argument(0)?;
    let answer = match number(value) {
        Some(Number::Double(_)) => return call.into_first(),
        #[expect(clippy::cast_precision_loss, reason = "CEL rounds to the nearest double")]
        Some(Number::Int(number)) => number as f64,
        #[expect(clippy::cast_precision_loss, reason = "CEL rounds to the nearest double")]
        Some(Number::UInt(number)) => number as f64,
        None => {
            let text = call.text(0)?;
            let number: f64 =
                text.parse().map_err(|_not_a_number| call.error(format!("not a double: {}", quoted(text))))?;
            // Rust reads a number that is too large as infinite; here only the name of infinity means that.
            if number.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) {
                return Err(call.error(format!("out of range: {}", quoted(text))));
            }
            number
        }
    };
    Ok(CowVal::owned(CelDouble::from(answer)))
}

/// `int(x)`. A double is cut toward zero.
pub(super) fn int<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let value = call.argument(0)?;
    let out_of_range = |shown: String| call.error(format!("out of range: `{shown}`"));
    match number(value) {
        Some(Number::Int(_)) => call.into_first(),
        Some(Number::UInt(number)) => {
            give_int(i64::try_from(number).map_err(|_too_large| out_of_range(number.to_string()))?)
        }
        Some(Number::Double(number)) => {
            // Both bounds are exact doubles, and both are excluded, as in the standard. NaN is never inside.
            if number > -TWO_TO_63 && number < TWO_TO_63 {
                #[expect(clippy::cast_possible_truncation, reason = "cutting is what `int` does; the range is checked")]
                give_int(number as i64)
            } else {
                Err(out_of_range(number.to_string()))
            }
        }
        None => {
            if let Some(seconds) = time::seconds(value) {
                return give_int(seconds);
            }
            let text = call.text(0)?;
            give_int(text.parse().map_err(|_not_a_number| call.error(format!("not an int: {}", quoted(text))))?)
        }
    }
}

/// `uint(x)`. A double is cut toward zero; a string may have no sign.
pub(super) fn uint<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let value = call.argument(0)?;
    let out_of_range = |shown: String| call.error(format!("out of range: `{shown}`"));
    let answer = match number(value) {
        Some(Number::UInt(_)) => return call.into_first(),
        Some(Number::Int(number)) => u64::try_from(number).map_err(|_negative| out_of_range(number.to_string()))?,
        Some(Number::Double(number)) => {
            if !(0.0..2.0 * TWO_TO_63).contains(&number) {
                return Err(out_of_range(number.to_string()));
            }
            #[expect(clippy::cast_possible_truncation, reason = "cutting is what `uint` does; the range is checked")]
            #[expect(clippy::cast_sign_loss, reason = "the range is checked")]
            {
                number as u64
            }
        }
        None => {
            let text = call.text(0)?;
            let digits = Some(text).filter(|text| !text.starts_with('+'));
            let number = digits.and_then(|digits| digits.parse().ok());
            number.ok_or_else(|| call.error(format!("not a uint: {}", quoted(text))))?
        }
    };
    Ok(CowVal::owned(CelUInt::from(answer)))
}

/// `string(x)`.
pub(super) fn string<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let value = call.argument(0)?;
    if value.get_type().kind() == Kind::String {
        return call.into_first();
    }
    if let Some(number) = number(value) {
        return call.give_text(match number {
            Number::Int(number) => number.to_string(),
            Number::UInt(number) => number.to_string(),
            Number::Double(number) => show_double(number),
        });
    }
    if let Some(truth) = value.downcast_ref::<CelBool>() {
        return call.give_text(if *truth.inner() { "true" } else { "false" });
    }
    if let Some(text) = network::shown(value).or_else(|| time::shown(value, false)) {
        return call.give_text(text);
    }
    let bytes = value.downcast_ref::<CelBytes<'v>>().ok_or_else(|| call.mismatch())?;
    call.check_text(bytes.inner().len())?;
    let text = std::str::from_utf8(bytes.inner()).map_err(|_not_text| call.error("the bytes aren't UTF-8"))?;
    call.give_text(text)
}

/// 2^63, exactly.
const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// A number of any of the three types.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    UInt(u64),
    Double(f64),
}

/// The number of a value; none for a value of another type.
pub(super) fn number(value: &(dyn Val + '_)) -> Option<Number> {
    let int = value.downcast_ref::<CelInt>().map(|found| Number::Int(*found.inner()));
    let uint = || value.downcast_ref::<CelUInt>().map(|found| Number::UInt(*found.inner()));
    let double = || value.downcast_ref::<CelDouble>().map(|found| Number::Double(*found.inner()));
    int.or_else(uint).or_else(double)
}

/// A double as Go's `%g` writes it: the fewest digits that give the same number, and an exponent of two digits or more
/// when that is below -4 or above 5.
pub(super) fn show_double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..LARGE_EXPONENT).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// The exponent from which a double is written with an exponent.
const LARGE_EXPONENT: i32 = 6;
