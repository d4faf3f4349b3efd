//! JSON Web Keys.

use super::super::bounds;
use super::super::rsa;
use super::super::unanswered::Unanswered;
use super::{Curve, Key, MOST_KEYS, Private, Public, STANDARD, certified, field_bytes, short};
use base64::Engine as _;
use regorus::Value;
use serde::de::IgnoredAny;

/// The algorithms of signatures that tokens have.
const ALGORITHMS: [&str; 13] = [
    "ES256", "ES384", "ES512", "EdDSA", "HS256", "HS384", "HS512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512",
];
/// Other algorithms that a key may name (RFC 7518, RFC 8812, RFC 9864): those of encryption, and signatures that no token here has.
const OTHER_ALGORITHMS: [&str; 28] = [
    "A128CBC-HS256",
    "A128GCM",
    "A128GCMKW",
    "A128KW",
    "A192CBC-HS384",
    "A192GCM",
    "A192GCMKW",
    "A192KW",
    "A256CBC-HS512",
    "A256GCM",
    "A256GCMKW",
    "A256KW",
    "ECDH-ES",
    "ECDH-ES+A128KW",
    "ECDH-ES+A192KW",
    "ECDH-ES+A256KW",
    "ES256K",
    "Ed25519",
    "PBES2-HS256+A128KW",
    "PBES2-HS384+A192KW",
    "PBES2-HS512+A256KW",
    "RSA-OAEP",
    "RSA-OAEP-256",
    "RSA-OAEP-384",
    "RSA-OAEP-512",
    "RSA1_5",
    "dir",
    "none",
];

/// Whether tokens are signed by an algorithm of that name.
pub(in super::super) fn is_algorithm(name: &str) -> bool {
    ALGORITHMS.contains(&name)
}

/// The keys of a set, or the one key that the text is.
///
/// # Errors
/// One of them is no key, or there is too much of them.
pub(in super::super) fn json_web_keys(text: &str) -> Result<Vec<Key>, Unanswered> {
    short(text)?;
    // OPA doesn't look at what stands behind one key. Of a set with something behind it, it makes one key, which it isn't.
    let (first, rest) = first_value(text).ok_or(Unanswered::Undefined)?;
    let document = bounds::bounded("json.unmarshal", &[Value::from(first)]);
    let document = document.map_err(|error| Unanswered::Refused(error.to_string()))?;
    let fields = document.as_object().map_err(|_| Unanswered::Undefined)?;
    match fields.get(&Value::from("keys")).filter(|_| rest.trim().is_empty()) {
        None => Ok(vec![key(&document)?]),
        Some(Value::Array(keys)) if keys.len() > MOST_KEYS => {
            Err(Unanswered::Refused(format!("a set of {} keys: at most {MOST_KEYS}", keys.len())))
        }
        Some(Value::Array(keys)) => keys.iter().map(key).collect(),
        Some(_) => Err(Unanswered::Undefined),
    }
}

fn first_value(text: &str) -> Option<(&str, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    text.split_at_checked(values.byte_offset())
}

fn key(value: &Value) -> Result<Key, Unanswered> {
    let fields = Fields(value);
    let algorithm = fields.text("alg")?;
    if algorithm.is_some_and(|name| !is_algorithm(name) && !OTHER_ALGORITHMS.contains(&name)) {
        return Err(Unanswered::Undefined);
    }
    for name in ["use", "x5t", "x5t#S256", "x5u"] {
        fields.text(name)?;
    }
    fields.operations()?;
    fields.chain()?;
    let (public, private) = match fields.needed("kty")? {
        "RSA" => fields.rsa()?,
        "EC" => fields.elliptic()?,
        "OKP" => fields.octet_pair()?,
        "oct" => (Public::Secret(fields.some_bytes("k")?), None),
        _ => return Err(Unanswered::Undefined),
    };
    let id = fields.text("kid")?.unwrap_or_default().to_owned();
    Ok(Key { algorithm: algorithm.unwrap_or_default().to_owned(), id, public, private })
}

/// The fields of a key; what is no object has none.
struct Fields<'v>(&'v Value);

impl<'v> Fields<'v> {
    fn get(&self, name: &str) -> Option<&'v Value> {
        self.0.as_object().ok()?.get(&Value::from(name))
    }

    /// A text; null is an empty one.
    fn text(&self, name: &str) -> Result<Option<&'v str>, Unanswered> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Null) => Ok(Some("")),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Unanswered::Undefined),
        }
    }

    fn needed(&self, name: &str) -> Result<&'v str, Unanswered> {
        self.text(name)?.ok_or(Unanswered::Undefined)
    }

    fn bytes(&self, name: &str) -> Result<Vec<u8>, Unanswered> {
        field_bytes(self.needed(name)?).ok_or(Unanswered::Undefined)
    }

    fn some_bytes(&self, name: &str) -> Result<Vec<u8>, Unanswered> {
        Some(self.bytes(name)?).filter(|bytes| !bytes.is_empty()).ok_or(Unanswered::Undefined)
    }

    /// Bytes of one length.
    fn exact<const N: usize>(&self, name: &str) -> Result<[u8; N], Unanswered> {
        self.bytes(name)?.try_into().map_err(|_| Unanswered::Undefined)
    }

    /// A secret half makes a key private, however its name is spelled: Go takes it in any case, and misses it then.
    fn is_private(&self) -> bool {
        let is_secret = |key: &Value| matches!(key, Value::String(name) if name.eq_ignore_ascii_case("d"));
        self.0.as_object().is_ok_and(|fields| fields.keys().any(is_secret))
    }

    /// What a key is for is its owner's to know: texts, whatever they say.
    fn operations(&self) -> Result<(), Unanswered> {
        let is_text = |name: &Value| matches!(name, Value::String(_) | Value::Null);
        let are_texts = match self.get("key_ops") {
            None | Some(Value::Null) => true,
            Some(Value::Array(names)) => names.iter().all(is_text),
            Some(_) => false,
        };
        if are_texts { Ok(()) } else { Err(Unanswered::Undefined) }
    }

    /// Certificates that a key has beside it are read, and trusted by nobody.
    fn chain(&self) -> Result<(), Unanswered> {
        let chain = match self.get("x5c") {
            None => return Ok(()),
            Some(Value::Array(chain)) => chain,
            Some(_) => return Err(Unanswered::Undefined),
        };
        for link in chain.iter() {
            let Value::String(text) = link else { return Err(Unanswered::Undefined) };
            let text: String = text.split_ascii_whitespace().collect();
            certified(&STANDARD.decode(text).map_err(|_| Unanswered::Undefined)?)?;
        }
        Ok(())
    }

    fn rsa(&self) -> Result<(Public, Option<Private>), Unanswered> {
        let exponent = self.bytes("e")?;
        let exponent = exponent.iter().try_fold(0_u64, |number, byte| {
            Some(number.checked_mul(256)? | u64::from(*byte)).filter(|number| i64::try_from(*number).is_ok())
        });
        let exponent = exponent.filter(|exponent| exponent % 2 == 1).ok_or(Unanswered::Undefined)?;
        let public = rsa::PublicKey::new(&self.bytes("n")?, exponent)?;
        if !self.is_private() {
            return Ok((Public::Rsa(public), None));
        }
        for name in ["dp", "dq", "qi"] {
            if self.text(name)?.is_some() {
                self.bytes(name)?;
            }
        }
        let private =
            rsa::PrivateKey::new(public.clone(), &self.some_bytes("d")?, [&self.bytes("p")?, &self.bytes("q")?]);
        Ok((Public::Rsa(public), Some(Private::Rsa(private))))
    }

    fn elliptic(&self) -> Result<(Public, Option<Private>), Unanswered> {
        let curve = match self.needed("crv")? {
            "P-256" => Curve::P256,
            "P-384" => Curve::P384,
            "P-521" => Curve::P521,
            _ => return Err(Unanswered::Undefined),
        };
        let (x, y) = (self.bytes("x")?, self.bytes("y")?);
        if x.len() != curve.size() || y.len() != curve.size() {
            return Err(Unanswered::Undefined);
        }
        let public = curve.key(&[&[4], &*x, &*y].concat()).ok_or(Unanswered::Undefined)?;
        if self.is_private() && self.bytes("d")?.len() != curve.size() {
            return Err(Unanswered::Undefined);
        }
        Ok((public, self.is_private().then_some(Private::Other)))
    }

    fn octet_pair(&self) -> Result<(Public, Option<Private>), Unanswered> {
        let (curve, public) = (self.needed("crv")?, self.exact::<32>("x")?);
        let private = self.is_private().then(|| self.exact::<32>("d")).transpose()?;
        match (curve, private) {
            ("Ed25519", None) => Ok((Public::Ed25519(public), None)),
            ("Ed25519", Some(seed)) => {
                let own = ed25519_dalek::SigningKey::from_bytes(&seed).verifying_key();
                match own.to_bytes() == public {
                    true => Ok((Public::Ed25519(public), Some(Private::Ed25519(seed)))),
                    false => Err(Unanswered::Undefined),
                }
            }
            ("X25519", private) => Ok((Public::Other, private.map(|_| Private::Other))),
            _ => Err(Unanswered::Undefined),
        }
    }
}
