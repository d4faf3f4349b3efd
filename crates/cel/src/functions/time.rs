//! Points in time and durations: `timestamp(…)` and `duration(…)`.
//!
//! The crate has both only in its tables. The operators on the values need no table, so ages are compared without one. The
//! accessors of a point in time (`getFullYear`, …) need it.

use super::{Answer, Call, CelDuration, CelInt, CelString, CelTimestamp, CowVal, Val, quoted};
use chrono::{DateTime, Datelike, FixedOffset, TimeDelta};

/// `timestamp(x)`: of a string as in RFC 3339, or of seconds since 1970.
pub(super) fn timestamp<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let value = call.argument(0)?;
    if value.downcast_ref::<CelTimestamp>().is_some() {
        return call.into_first();
    }
    let time = match value.downcast_ref::<CelInt>() {
        Some(seconds) => at(*seconds.inner()),
        None => DateTime::parse_from_rfc3339(call.text(0)?).ok(),
    };
    match time.filter(is_in_range) {
        Some(time) => Ok(CowVal::owned(CelTimestamp::from(time))),
        None => {
            let text = value.downcast_ref::<CelString<'v>>();
            Err(call.error(match text {
                Some(text) => format!("not a time as in RFC 3339: {}", quoted(text.inner())),
                None => "timestamp out of range".to_owned(),
            }))
        }
    }
}

/// `duration(x)`: of a string like `1h30m`, with the units `h`, `m`, `s`, `ms`, `us` and `ns`.
pub(super) fn duration<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    if call.argument(0)?.downcast_ref::<CelDuration>().is_some() {
        return call.into_first();
    }
    let text = call.text(0)?;
    let duration = nanoseconds(text).ok_or_else(|| call.error(format!("not a duration: {}", quoted(text))))?;
    Ok(CowVal::owned(CelDuration::from(TimeDelta::nanoseconds(duration))))
}

/// The point in time so many seconds after 1970, where CEL has it.
pub(super) fn at(seconds: i64) -> Option<DateTime<FixedOffset>> {
    DateTime::from_timestamp(seconds, 0).map(|time| time.fixed_offset()).filter(is_in_range)
}

/// A point in time as `int(…)` gives it: seconds since 1970.
pub(super) fn seconds(value: &(dyn Val + '_)) -> Option<i64> {
    value.downcast_ref::<CelTimestamp>().map(|time| time.inner().timestamp())
}

/// A point in time or a duration as a string. A point in time is in UTC, unless it is to be shown as it was written.
pub(super) fn shown(value: &(dyn Val + '_), as_written: bool) -> Option<String> {
    if let Some(time) = value.downcast_ref::<CelTimestamp>() {
        let time = if as_written { *time.inner() } else { time.inner().to_utc().fixed_offset() };
        let nanoseconds = fraction(time.timestamp_subsec_nanos() % 1_000_000_000);
        let zone = if time.offset().local_minus_utc() == 0 { "Z".to_owned() } else { time.format("%:z").to_string() };
        return Some(format!("{}{nanoseconds}{zone}", time.format("%Y-%m-%dT%H:%M:%S")));
    }
    let duration = value.downcast_ref::<CelDuration>()?.inner();
    let (seconds, nanoseconds) = (duration.num_seconds(), duration.subsec_nanos());
    let sign = if seconds < 0 || nanoseconds < 0 { "-" } else { "" };
    Some(format!("{sign}{}{}s", seconds.unsigned_abs(), fraction(nanoseconds.unsigned_abs())))
}

/// `.12`, of nanoseconds; empty where there are none.
fn fraction(nanoseconds: u32) -> String {
    match nanoseconds {
        0 => String::new(),
        some => format!(".{}", format!("{some:09}").trim_end_matches('0')),
    }
}

/// CEL has the years 1 to 9999, in UTC.
fn is_in_range(time: &DateTime<FixedOffset>) -> bool {
    (1..=9999).contains(&time.to_utc().year())
}

/// The nanoseconds of a string like `-1h30.5m`; none where it isn't one, or doesn't fit.
fn nanoseconds(text: &str) -> Option<i64> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let (written, after) = rest.split_at(end);
        let end = after.find(|sign: char| sign.is_ascii_digit() || sign == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        sum = sum.checked_add(parts(written, unit)?)?;
        if sum > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = after;
    }
    i64::try_from(if is_negative { -sum } else { sum }).ok()
}

/// The nanoseconds of `1.5` and `h`, without fractions of one.
fn parts(number: &str, unit: &str) -> Option<i128> {
    let unit: i128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { i128::from(whole.parse::<u64>().ok()?) };
    let mut sum = whole.checked_mul(unit)?;
    let mut place = unit;
    // Digits beyond nanoseconds don't count.
    for digit in fraction.bytes().take(14) {
        place /= 10;
        sum = sum.checked_add(i128::from(digit.saturating_sub(b'0')).checked_mul(place)?)?;
    }
    Some(sum)
}
