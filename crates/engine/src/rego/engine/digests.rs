//! `crypto.sha256` and its like: digests and codes of texts, in hexadecimal.

use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use regorus::Value;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use std::fmt::Write;

pub(super) fn md5(arguments: &[Value]) -> Value {
    digest::<Md5>(arguments)
}

pub(super) fn sha1(arguments: &[Value]) -> Value {
    digest::<Sha1>(arguments)
}

pub(super) fn sha256(arguments: &[Value]) -> Value {
    digest::<Sha256>(arguments)
}

fn digest<D: Digest>(arguments: &[Value]) -> Value {
    match arguments {
        [Value::String(text)] => hexadecimal(&D::digest(text.as_bytes())),
        _ => Value::Undefined,
    }
}

pub(super) fn hmac_md5(arguments: &[Value]) -> Value {
    code::<Hmac<Md5>>(arguments)
}

pub(super) fn hmac_sha1(arguments: &[Value]) -> Value {
    code::<Hmac<Sha1>>(arguments)
}

pub(super) fn hmac_sha256(arguments: &[Value]) -> Value {
    code::<Hmac<Sha256>>(arguments)
}

pub(super) fn hmac_sha512(arguments: &[Value]) -> Value {
    code::<Hmac<Sha512>>(arguments)
}

/// The code of the first argument, by the key that is the second.
fn code<M: Mac + KeyInit>(arguments: &[Value]) -> Value {
    let [Value::String(text), Value::String(key)] = arguments else { return Value::Undefined };
    let Ok(mut code) = <M as KeyInit>::new_from_slice(key.as_bytes()) else { return Value::Undefined };
    code.update(text.as_bytes());
    hexadecimal(&code.finalize().into_bytes())
}

/// Whether two codes are the same.
pub(super) fn equal(arguments: &[Value]) -> Value {
    match arguments {
        [Value::String(one), Value::String(other)] => Value::from(one == other),
        _ => Value::Undefined,
    }
}

/// Bytes as a text in hexadecimal.
pub(super) fn hexadecimal(bytes: &[u8]) -> Value {
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for byte in bytes {
        // A text takes whatever is written.
        let _ = write!(text, "{byte:02x}");
    }
    Value::from(text)
}
