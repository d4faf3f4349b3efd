//! What protobuf's JSON writes in its own way ([ProtoJSON][json]): bytes and 64-bit numbers are strings.
//!
//! [json]: https://protobuf.dev/programming-guides/json/

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};

use crate::dsse::decode_base64;

/// Bytes, written in base64.
#[derive(Debug, Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

/// Bytes in an object of their own, as protobuf has certificates and keys.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawBytes {
    pub(super) raw_bytes: Bytes,
}

/// Which log it is.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogId {
    pub(super) key_id: Bytes,
}

/// A number from 0 to 2^63 - 1, written as a number or in a string.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Number(pub(super) u64);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Base64;
        impl Visitor<'_> for Base64 {
            type Value = Bytes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("base64")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Bytes, E> {
                decode_base64(text).map(Bytes).ok_or_else(|| E::custom("a string is not base64, or was cut off"))
            }
        }
        deserializer.deserialize_str(Base64)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Number;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number from 0 to 2^63 - 1")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
                let fits = i64::try_from(number).is_ok();
                fits.then_some(Number(number)).ok_or_else(|| E::custom("a number is over 2^63 - 1"))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let digits = text.bytes().all(|byte| byte.is_ascii_digit());
                let number = digits.then(|| text.parse().ok()).flatten();
                number.map_or_else(
                    || Err(E::custom("a string is not a number from 0 to 2^63 - 1")),
                    |n| self.visit_u64(n),
                )
            }
        }
        deserializer.deserialize_any(Digits)
    }
}
