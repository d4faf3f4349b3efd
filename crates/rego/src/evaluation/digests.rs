//! `crypto.sha256`: the digest of a string, in hexadecimal.

use data_encoding::HEXLOWER;
use regorus::Value;
use sha2::{Digest, Sha256};

pub(super) fn sha256(arguments: &[Value]) -> Value {
    let [Value::String(text)] = arguments else { return Value::Undefined };
    Value::from(HEXLOWER.encode(&Sha256::digest(text.as_bytes())))
}
