//! The functions on quantities, `500Mi` or `1500m`, as Kubernetes reads and compares them.
//!
//! Kubernetes keeps most as a whole number and a power of ten, and the rest as a decimal of any length. The difference is visible:
//! only the first kind is an integer (`isInteger`). `1.5Gi`, and even `1.0`, is none.

use super::{Answer, Call, CelDouble, CelInt, CowVal, ExecutionError, Kind, Val, give_bool, give_int, quoted};
use cel::common::types::Type;
use std::cmp::Ordering;

/// `isQuantity(text)`.
pub(super) fn is_quantity<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(!matches!(Quantity::parse(call.text(0)?), Err(Unreadable::NoQuantity)))
}

/// `quantity(text)`.
pub(super) fn quantity<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let text = call.text(0)?;
    let read = Quantity::parse(text).map_err(|why| {
        call.error(match why {
            Unreadable::NoQuantity => format!("not a quantity: {}", quoted(text)),
            Unreadable::OutOfRange => format!("out of range: {}", quoted(text)),
        })
    })?;
    Ok(CowVal::owned(read))
}

/// `sign(quantity)`: -1, 0 or 1.
pub(super) fn sign<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_int(match receiver(&call)?.cmp(&Quantity::Scaled { value: 0, scale: 0 }) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    })
}

/// `quantity.isInteger()`: whether `asInteger()` has an answer.
pub(super) fn is_integer<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_bool(receiver(&call)?.integer().is_some())
}

/// `quantity.asInteger()`.
pub(super) fn as_integer<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    give_int(receiver(&call)?.integer().ok_or_else(|| call.error("the quantity is no integer"))?)
}

/// `quantity.asApproximateFloat()`.
pub(super) fn as_approximate_float<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    #[expect(clippy::cast_precision_loss, reason = "it is approximate, as its name says")]
    let number = match receiver(&call)? {
        Quantity::Scaled { value, scale } => *value as f64 * 10_f64.powi(*scale),
        Quantity::Decimal(nanos) => *nanos as f64 / 1e9,
    };
    Ok(CowVal::owned(CelDouble::from(number)))
}

/// `quantity.add(other)`, where the other may be an integer.
pub(super) fn add<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    sum(&call, operand(&call)?)
}

/// `quantity.sub(other)`, where the other may be an integer.
pub(super) fn sub<'c, 'v>(call: Call<'c, 'v>) -> Answer<'c, 'v> {
    let other = operand(&call)?.negative().ok_or_else(|| out_of_range(&call))?;
    sum(&call, other)
}

/// Compares the quantity that a method is called on with the argument; none where it isn't called on a quantity.
pub(super) fn compared(call: &Call<'_, '_>) -> Result<Option<Ordering>, ExecutionError> {
    let Some(quantity) = call.argument(0)?.downcast_ref::<Quantity>() else { return Ok(None) };
    let other = call.argument(1)?.downcast_ref::<Quantity>().ok_or_else(|| call.mismatch())?;
    Ok(Some(quantity.cmp(other)))
}

/// A quantity as a value.
#[derive(Clone, Copy, Debug)]
enum Quantity {
    /// `value` times ten to the power of `scale`.
    Scaled { value: i64, scale: i32 },
    /// A number of billionths.
    Decimal(i128),
}

opaque!(Quantity, "kubernetes.Quantity");

/// Why a string is no quantity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unreadable {
    NoQuantity,
    /// Kubernetes reads it, but it is too large or too long for us.
    OutOfRange,
}

/// The suffix behind the digits.
enum Suffix {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

/// The most digits that Kubernetes keeps as a whole number.
const MOST_DIGITS: i32 = 18;
/// The smallest power of ten: a billionth.
const NANO: i32 = -9;

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Quantity {
    fn parse(text: &str) -> Result<Self, Unreadable> {
        if text.is_empty() {
            return Err(Unreadable::NoQuantity);
        }
        let (is_negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let has_digit = unsigned.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit());
        let unsigned = unsigned.trim_start_matches('0');
        let (digits, rest) = unsigned.split_at(digits_of(unsigned));
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(digits_of(rest)),
            None => ("", rest),
        };
        let suffix = suffix(rest)?;
        let count = i32::try_from(digits.len().max(1).saturating_add(fraction.len())).unwrap_or(i32::MAX);
        let signed = |number: i64| if is_negative { number.checked_neg() } else { Some(number) };
        let scaled = match suffix {
            Suffix::Ten(exponent) if count <= MOST_DIGITS => {
                let scale = exponent.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX));
                (scale >= NANO).then_some((number(digits, fraction), scale))
            }
            // Kubernetes estimates the digits of a power of two like this.
            Suffix::Two(exponent)
                if fraction.is_empty()
                    && i32::try_from(digits.len().max(1)).unwrap_or(i32::MAX)
                        <= 14_i32
                            .saturating_sub(i32::try_from(exponent.saturating_mul(3) / 10).unwrap_or(i32::MAX)) =>
            {
                let factor = 1_i128.checked_shl(exponent).unwrap_or(i128::MAX);
                number(digits, "").map(|number| number.checked_mul(factor)).map(|value| (value, 0))
            }
            Suffix::Ten(_) | Suffix::Two(_) => None,
        };
        if let Some((value, scale)) = scaled
            && let Some(value) = value.and_then(|value| signed(i64::try_from(value).ok()?))
        {
            let scale = if value == 0 { scale.min(0) } else { scale };
            return Self::Scaled { value, scale }.counted().ok_or(Unreadable::OutOfRange);
        }
        // A whole number may have no digits at all.
        if !has_digit {
            return Err(Unreadable::NoQuantity);
        }
        let nanos = nanos(digits, fraction, &suffix).ok_or(Unreadable::OutOfRange)?;
        Ok(Self::Decimal(if is_negative { nanos.checked_neg().ok_or(Unreadable::OutOfRange)? } else { nanos }))
    }

    /// The number of billionths, if it fits.
    fn nanos(&self) -> Option<i128> {
        match *self {
            Self::Decimal(nanos) => Some(nanos),
            Self::Scaled { value, scale } => {
                let zeros = u32::try_from(scale.checked_sub(NANO)?).ok()?;
                i128::from(value).checked_mul(10_i128.checked_pow(zeros)?)
            }
        }
    }

    /// The same, if its billionths fit.
    fn counted(self) -> Option<Self> {
        self.nanos().map(|_| self)
    }

    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos().cmp(&other.nanos())
    }

    fn integer(&self) -> Option<i64> {
        let Self::Scaled { value, scale } = *self else { return None };
        value.checked_mul(10_i64.checked_pow(u32::try_from(scale).ok()?)?)
    }

    fn negative(&self) -> Option<Self> {
        Some(match *self {
            Self::Scaled { value, scale } => Self::Scaled { value: value.checked_neg()?, scale },
            Self::Decimal(nanos) => Self::Decimal(nanos.checked_neg()?),
        })
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        if let (Self::Scaled { value, scale }, Self::Scaled { value: other_value, scale: other_scale }) = (self, other)
        {
            let smaller = *scale.min(other_scale);
            let widened = |value: i64, scale: i32| {
                let zeros = u32::try_from(scale.saturating_sub(smaller)).ok()?;
                value.checked_mul(10_i64.checked_pow(zeros)?)
            };
            let sum = match (value, other_value) {
                (_, 0) => Some((*value, *scale)),
                (0, _) => Some((*other_value, *other_scale)),
                _ => {
                    (|| Some((widened(*value, *scale)?.checked_add(widened(*other_value, *other_scale)?)?, smaller)))()
                }
            };
            if let Some((value, scale)) = sum {
                return Self::Scaled { value, scale }.counted();
            }
        }
        self.nanos()?.checked_add(other.nanos()?).map(Self::Decimal)
    }
}

/// How many digits a string begins with.
fn digits_of(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// The digits, and those of the fraction after them, as one number.
fn number(digits: &str, fraction: &str) -> Option<i128> {
    digits
        .bytes()
        .chain(fraction.bytes())
        .try_fold(0_i128, |number, digit| number.checked_mul(10)?.checked_add(i128::from(digit.saturating_sub(b'0'))))
}

/// The number of billionths, rounded up.
fn nanos(digits: &str, fraction: &str, suffix: &Suffix) -> Option<i128> {
    let (factor, exponent) = match *suffix {
        Suffix::Ten(exponent) => (1, exponent),
        Suffix::Two(exponent) => (1_i128.checked_shl(exponent)?, 0),
    };
    // Further digits of a fraction are less than a billionth. They can only round up, unless they are multiplied.
    let (kept, rest) = fraction.split_at(fraction.len().min(12));
    let has_more = rest.bytes().any(|digit| digit != b'0');
    if has_more && (factor != 1 || exponent > 0) {
        return None;
    }
    let value = number(digits, kept)?.checked_mul(factor)?;
    let scale = exponent.checked_sub(i32::try_from(kept.len()).ok()?)?.checked_sub(NANO)?;
    let (value, has_rest) = match u32::try_from(scale) {
        Ok(zeros) if value != 0 => (value.checked_mul(10_i128.checked_pow(zeros)?)?, false),
        Ok(_) => (0, false),
        Err(_negative) => match 10_i128.checked_pow(scale.unsigned_abs()) {
            Some(divisor) => (value / divisor, value % divisor != 0),
            None => (0, value != 0),
        },
    };
    let value = if has_rest || has_more { value.checked_add(1)? } else { value };
    // Kubernetes caps quantities with a suffix of a power of two.
    let cap = i128::from(i64::MAX).checked_mul(1_000_000_000)?;
    Some(if matches!(suffix, Suffix::Two(_)) { value.min(cap) } else { value })
}

fn suffix(text: &str) -> Result<Suffix, Unreadable> {
    Ok(match text {
        "n" => Suffix::Ten(-9),
        "u" => Suffix::Ten(-6),
        "m" => Suffix::Ten(-3),
        "" => Suffix::Ten(0),
        "k" => Suffix::Ten(3),
        "M" => Suffix::Ten(6),
        "G" => Suffix::Ten(9),
        "T" => Suffix::Ten(12),
        "P" => Suffix::Ten(15),
        "E" => Suffix::Ten(18),
        "Ki" => Suffix::Two(10),
        "Mi" => Suffix::Two(20),
        "Gi" => Suffix::Two(30),
        "Ti" => Suffix::Two(40),
        "Pi" => Suffix::Two(50),
        "Ei" => Suffix::Two(60),
        _ => {
            let exponent = text.strip_prefix(['e', 'E']).ok_or(Unreadable::NoQuantity)?;
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || digits_of(digits) != digits.len() {
                return Err(Unreadable::NoQuantity);
            }
            Suffix::Ten(exponent.parse().map_err(|_too_large| Unreadable::OutOfRange)?)
        }
    })
}

fn sum<'c, 'v>(call: &Call<'_, '_>, other: Quantity) -> Answer<'c, 'v> {
    Ok(CowVal::owned(receiver(call)?.plus(&other).ok_or_else(|| out_of_range(call))?))
}

/// The argument of a sum.
fn operand(call: &Call<'_, '_>) -> Result<Quantity, ExecutionError> {
    let value = call.argument(1)?;
    let quantity = value.downcast_ref::<Quantity>().copied();
    let number = || value.downcast_ref::<CelInt>().map(|number| Quantity::Scaled { value: *number.inner(), scale: 0 });
    quantity.or_else(number).ok_or_else(|| call.mismatch())
}

fn out_of_range(call: &Call<'_, '_>) -> ExecutionError {
    call.error("the sum is out of range")
}

/// The quantity that a method is called on.
fn receiver<'a>(call: &'a Call<'_, '_>) -> Result<&'a Quantity, ExecutionError> {
    call.argument(0)?.downcast_ref::<Quantity>().ok_or_else(|| call.mismatch())
}
