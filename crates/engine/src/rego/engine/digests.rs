//! `crypto.sha256`: the digest of a text, in hexadecimal.

use regorus::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;

pub(super) fn sha256(arguments: &[Value]) -> Value {
    let [Value::String(text)] = arguments else { return Value::Undefined };
    let digest = Sha256::digest(text.as_bytes());
    let mut hexadecimal = String::with_capacity(digest.len().saturating_mul(2));
    for byte in digest {
        // A text takes whatever is written.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    Value::from(hexadecimal)
}
