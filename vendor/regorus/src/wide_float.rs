// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

//! Fractions with a mantissa of 64 bits, as OPA computes with them: it reads the text of a number into such a float, rounds
//! once, and writes the shortest text that reads as the same float. `0.1 + 0.2` is `0.3` there.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::unseparated_literal_suffix,
    clippy::pattern_type_mismatch
)]

use alloc::format;
use alloc::string::{String, ToString};
use core::cmp::Ordering;

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// Beyond these no number is computed: each would take more than a thousand digits.
const LARGEST_EXPONENT: i64 = 4096;

/// Its mantissa times a power of two. The first bit of the mantissa is set, but for zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WideFloat {
    is_negative: bool,
    exponent: i32,
    mantissa: u64,
}

/// What came of an operation.
#[derive(Debug)]
pub enum Rounded {
    Integer(BigInt),
    Fraction(WideFloat),
    /// Nearer to zero, or farther from it, than what is computed with.
    OutOfRange,
}

impl WideFloat {
    /// The nearest to `numerator / denominator`; of two the even one. The denominator is positive.
    pub fn from_ratio(numerator: &BigInt, denominator: &BigInt) -> Rounded {
        if numerator.is_zero() {
            return Rounded::Integer(BigInt::zero());
        }
        let magnitude = numerator.abs();
        // A quotient of 66 or 67 bits: at least two more than are kept.
        let shift = 66 - (magnitude.bits() as i64 - denominator.bits() as i64);
        if shift.abs() > LARGEST_EXPONENT {
            return Rounded::OutOfRange;
        }
        let (numerator_shifted, denominator_shifted) = if shift >= 0 {
            (magnitude << shift as usize, denominator.clone())
        } else {
            (
                magnitude,
                denominator.clone() << shift.unsigned_abs() as usize,
            )
        };
        let quotient = &numerator_shifted / &denominator_shifted;
        let is_exact = (&numerator_shifted % &denominator_shifted).is_zero();
        let Some(quotient) = quotient.to_u128() else {
            return Rounded::OutOfRange;
        };
        let dropped = 64 - quotient.leading_zeros();
        let mut mantissa = quotient >> dropped;
        let rest = quotient & ((1_u128 << dropped) - 1);
        let half = 1_u128 << (dropped - 1);
        let rounds_up = rest > half || rest == half && (!is_exact || mantissa & 1 == 1);
        let mut exponent = i64::from(dropped) - shift;
        if rounds_up {
            mantissa += 1;
        }
        if mantissa >> 64 != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
        let float = Self {
            is_negative: numerator.is_negative(),
            exponent: exponent as i32,
            mantissa: mantissa as u64,
        };
        float
            .as_integer()
            .map_or(Rounded::Fraction(float), Rounded::Integer)
    }

    const ZERO: Self = Self {
        is_negative: false,
        exponent: 0,
        mantissa: 0,
    };

    /// The nearest to an integer; none where that is out of range.
    pub fn from_integer(value: &BigInt) -> Option<Self> {
        if value.is_zero() {
            return Some(Self::ZERO);
        }
        // As a fraction it isn't taken for an integer.
        let scale = (value.bits() + 2) as usize;
        match Self::from_ratio(value, &(BigInt::one() << scale)) {
            Rounded::Fraction(float) => Some(Self {
                exponent: float.exponent + scale as i32,
                ..float
            }),
            _ => None,
        }
    }

    /// The nearest to what a text says, `-12.5e-3`; none for what is no number, and what is out of range.
    pub fn from_text(text: &str) -> Option<Self> {
        let (digits, exponent) = match text.split_once(['e', 'E']) {
            Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent = exponent - fraction.len() as i64;
        if exponent.abs() > LARGEST_EXPONENT {
            return None;
        }
        let value = BigInt::parse_bytes(format!("{whole}{fraction}").as_bytes(), 10)?;
        let power = num_traits::pow(BigInt::from(10), exponent.unsigned_abs() as usize);
        if exponent >= 0 {
            return Self::from_integer(&(value * power));
        }
        match Self::from_ratio(&value, &power) {
            Rounded::Integer(value) => Self::from_integer(&value),
            Rounded::Fraction(float) => Some(float),
            Rounded::OutOfRange => None,
        }
    }

    /// What the shortest text of `value` says; none for what is no number.
    pub fn from_f64(value: f64) -> Option<Self> {
        Self::from_text(&format!("{value:e}"))
    }

    /// The same, bit by bit. None for what is no number.
    pub fn from_f64_exactly(value: f64) -> Option<Self> {
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match bits >> 52 & 0x7ff {
            0x7ff => return None,
            0 => (fraction, -1074),
            exponent => (fraction | 1 << 52, exponent as i32 - 1075),
        };
        if mantissa == 0 {
            return Some(Self::ZERO);
        }
        let shift = mantissa.leading_zeros();
        Some(Self {
            is_negative: value.is_sign_negative(),
            exponent: exponent - shift as i32,
            mantissa: mantissa << shift,
        })
    }

    /// The nearest float of 53 bits.
    pub fn to_f64(self) -> f64 {
        // The first 54 bits and whether there is anything behind them are enough to round once.
        let sticky = u64::from(self.mantissa & 0x1ff != 0);
        let kept = (self.mantissa >> 9 << 1 | sticky) as f64;
        let value = kept * power_of_two(self.exponent + 8);
        if self.is_negative {
            -value
        } else {
            value
        }
    }

    /// The float of 53 bits whose shortest text says the same, if there is one.
    pub fn as_f64(self) -> Option<f64> {
        let value = self.to_f64();
        (value.is_finite() && Self::from_f64(value) == Some(self)).then_some(value)
    }

    pub const fn is_negative(self) -> bool {
        self.is_negative
    }

    pub const fn abs(self) -> Self {
        Self {
            is_negative: false,
            ..self
        }
    }

    /// Both as fractions of one power of two: `(a, b, shift)` are `a / 2^shift` and `b / 2^shift`.
    fn aligned(self, other: Self) -> (BigInt, BigInt, i32) {
        let lowest = self.exponent.min(other.exponent);
        let raised = |float: Self| float.signed() << (float.exponent - lowest) as usize;
        (raised(self), raised(other), -lowest)
    }

    fn signed(self) -> BigInt {
        let magnitude = BigInt::from(self.mantissa);
        if self.is_negative {
            -magnitude
        } else {
            magnitude
        }
    }

    /// `value / 2^shift`
    fn scaled(value: &BigInt, shift: i32) -> Rounded {
        let power = BigInt::one() << shift.unsigned_abs() as usize;
        if shift >= 0 {
            Self::from_ratio(value, &power)
        } else {
            Self::from_ratio(&(value * power), &BigInt::one())
        }
    }

    pub fn add(self, other: Self) -> Rounded {
        let (one, other, shift) = self.aligned(other);
        Self::scaled(&(one + other), shift)
    }

    pub fn subtract(self, other: Self) -> Rounded {
        let (one, other, shift) = self.aligned(other);
        Self::scaled(&(one - other), shift)
    }

    pub fn multiply(self, other: Self) -> Rounded {
        let product = self.signed() * other.signed();
        Self::scaled(&product, -(self.exponent + other.exponent))
    }

    pub fn divide(self, other: Self) -> Rounded {
        let sign = if other.is_negative { -1 } else { 1 };
        let shift = self.exponent - other.exponent;
        let power = BigInt::one() << shift.unsigned_abs() as usize;
        let (numerator, denominator) = (self.signed() * sign, BigInt::from(other.mantissa));
        if shift >= 0 {
            Self::from_ratio(&(numerator * power), &denominator)
        } else {
            Self::from_ratio(&numerator, &(denominator * power))
        }
    }

    pub fn compare(self, other: Self) -> Ordering {
        let (one, other, _) = self.aligned(other);
        one.cmp(&other)
    }

    /// The integer part, towards zero.
    pub fn truncated(self) -> BigInt {
        if self.exponent >= 0 {
            return self.signed() << self.exponent as usize;
        }
        match self.exponent.unsigned_abs() {
            dropped @ 0..=63 => {
                let whole = BigInt::from(self.mantissa >> dropped);
                if self.is_negative {
                    -whole
                } else {
                    whole
                }
            }
            _ => BigInt::zero(),
        }
    }

    fn as_integer(self) -> Option<BigInt> {
        let is_integer = self.exponent >= 0
            || self.exponent > -64
                && self.mantissa.trailing_zeros() >= self.exponent.unsigned_abs();
        is_integer.then(|| self.truncated())
    }

    /// The shortest text that reads as the same float.
    pub fn text(self) -> String {
        (15..=21)
            .map(|digits| self.text_of(digits))
            .find(|text| Self::from_text(text) == Some(self))
            .unwrap_or_else(|| self.text_of(22))
    }

    /// With so many digits, as Go's `%g` writes them.
    fn text_of(self, wanted: usize) -> String {
        // `digits` of the number times a power of ten; the first guess of the power may be one too small.
        let bits = i64::from(self.exponent) + 64;
        let mut power = wanted as i64 - (bits * 30_103).div_euclid(100_000) - 1;
        let mut digits = self.times_power_of_ten(power);
        if digits.len() > wanted {
            power -= 1;
            digits = self.times_power_of_ten(power);
        }
        let leading = digits.len() as i64 - 1 - power;
        let digits = match digits.trim_end_matches('0') {
            "" => "0",
            digits => digits,
        };
        let sign = if self.is_negative { "-" } else { "" };
        let (first, rest) = digits.split_at(1);
        match leading {
            -4..=-1 => format!(
                "{sign}0.{}{digits}",
                "0".repeat(leading.unsigned_abs() as usize - 1)
            ),
            0..=20 if digits.len() as i64 > leading + 1 => {
                let (whole, fraction) = digits.split_at(leading as usize + 1);
                format!("{sign}{whole}.{fraction}")
            }
            0..=20 => format!(
                "{sign}{digits}{}",
                "0".repeat(leading as usize + 1 - digits.len())
            ),
            _ if rest.is_empty() => format!("{sign}{first}e{leading:+03}"),
            _ => format!("{sign}{first}.{rest}e{leading:+03}"),
        }
    }

    /// The digits of the nearest integer.
    fn times_power_of_ten(self, power: i64) -> String {
        let ten = num_traits::pow(BigInt::from(10), power.unsigned_abs() as usize);
        let two = BigInt::one() << self.exponent.unsigned_abs() as usize;
        let (mut numerator, mut denominator) = (BigInt::from(self.mantissa), BigInt::one());
        if power >= 0 {
            numerator *= ten;
        } else {
            denominator *= ten;
        }
        if self.exponent >= 0 {
            numerator *= two;
        } else {
            denominator *= two;
        }
        let doubled: BigInt = numerator * 2 + &denominator;
        let rounded: BigInt = doubled / (denominator * 2);
        rounded.to_string()
    }
}

/// `2^exponent`, zero or infinite where a float can't hold it.
fn power_of_two(exponent: i32) -> f64 {
    // In two steps, so that what only the mantissa brings into range isn't lost.
    let half = exponent / 2;
    let power = |exponent: i32| match exponent {
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        1024.. => f64::INFINITY,
        _ => 0.0,
    };
    power(half) * power(exponent - half)
}
