//! JSON Web Tokens, `io.jwt.…`: signed ones in the compact form ([RFC 7515], [RFC 7519]), read and verified as OPA does.
//!
//! A token comes from whoever made a request, and its header says how it is signed. So a key decides what it verifies (see
//! [`Key::verifies`]): `none`, or the code of a public key's text, is never a signature. What can't be read is undefined.
//!
//! [RFC 7515]: https://www.rfc-editor.org/rfc/rfc7515
//! [RFC 7519]: https://www.rfc-editor.org/rfc/rfc7519

#[cfg(test)]
mod tests;

use super::bounds;
use super::digests::hexadecimal;
use super::keys::{Key, URL_SAFE, is_algorithm, json_web_keys, keys, without_line_ends};
use super::rsa::Hash;
use super::signatures::{Algorithm, Reading, is_code};
use super::unanswered::{Unanswered, told};
use crate::Timestamp;
use crate::spelling;
use base64::Engine as _;
use regorus::Value;
use std::collections::BTreeSet;

/// The longest token, in bytes.
const MAX_TOKEN: usize = 256 * 1024;
/// The most tokens in tokens.
const MOST_NESTED: usize = 16;
/// What the contents of a token are, where they are a token.
const TOKEN: &str = "JWT";

/// A token in its parts, each as it is encoded.
struct Token<'t> {
    header: &'t str,
    payload: &'t str,
    signature: &'t str,
}

impl<'t> Token<'t> {
    fn read(text: &'t str) -> Result<Self, Unanswered> {
        if text.len() > MAX_TOKEN {
            return Err(Unanswered::Refused(format!("a token of {} bytes: at most {MAX_TOKEN}", text.len())));
        }
        let mut parts = text.split('.');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(header), Some(payload), Some(signature), None) => Ok(Self { header, payload, signature }),
            _ => Err(Unanswered::Undefined),
        }
    }

    fn header(&self) -> Result<Header, Unanswered> {
        let fields = object(&decoded_text(self.header)?)?;
        // An encrypted token (RFC 7516, section 9).
        if fields.as_object().is_ok_and(|fields| fields.contains_key(&Value::from("enc"))) {
            return Err(Unanswered::Undefined);
        }
        Ok(Header(fields))
    }

    fn signature(&self) -> Result<Vec<u8>, Unanswered> {
        decoded(self.signature)
    }

    /// What is signed.
    fn message(&self) -> Vec<u8> {
        [self.header, ".", self.payload].concat().into_bytes()
    }
}

/// What a token says of itself.
struct Header(Value);

impl Header {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.as_object().ok()?.get(&Value::from(name))
    }

    /// A text, which is empty where there is none.
    fn text(&self, name: &str) -> Result<&str, Unanswered> {
        match self.get(name) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(Unanswered::Undefined),
        }
    }

    /// The fields that must be understood (RFC 7515, section 4.1.11).
    fn critical(&self) -> Result<BTreeSet<&Value>, Unanswered> {
        let names = match self.get("crit") {
            None => return Ok(BTreeSet::new()),
            Some(Value::Array(names)) => names.iter().take_while(|name| matches!(name, Value::String(_))).collect(),
            Some(_) => BTreeSet::new(),
        };
        if names.is_empty() { Err(Unanswered::Undefined) } else { Ok(names) }
    }

    /// # Errors
    /// A field that is known has another type than it should.
    fn check(&self) -> Result<(), Unanswered> {
        ["alg", "kid", "typ", "cty"].into_iter().try_for_each(|name| self.text(name).map(|_| ()))?;
        self.critical().map(|_| ())
    }

    /// Whether it names an algorithm, and nothing that would have to be understood and isn't.
    fn is_understood(&self) -> Result<bool, Unanswered> {
        let is_known =
            |name: &Value| ["alg", "kid", "typ", "cty", "crit"].iter().any(|known| *name == Value::from(*known));
        let has = |name: &Value| self.0.as_object().is_ok_and(|fields| fields.contains_key(name));
        let is_missed = self.critical()?.into_iter().any(|name| has(name) && !is_known(name));
        Ok(!self.text("alg")?.is_empty() && !is_missed)
    }
}

/// `io.jwt.decode`: the header and the payload of a token, and its signature in hexadecimal. Nothing is verified.
///
/// # Errors
/// It is too long, or has too many tokens in it.
pub(super) fn decode(arguments: &[Value]) -> anyhow::Result<Value> {
    fn parts(token: &str) -> Result<Value, Unanswered> {
        let mut text = token.to_owned();
        for _ in 0..MOST_NESTED {
            let token = Token::read(&text)?;
            let header = token.header()?;
            let payload = decoded_text(token.payload)?;
            match header.get("cty") {
                Some(Value::String(kind)) if &**kind == TOKEN => {
                    text = payload.trim_matches(['"', '\'']).to_owned();
                }
                None | Some(Value::String(_)) => {
                    let signature = hexadecimal(&token.signature()?);
                    return Ok(Value::from(vec![header.0, object(&payload)?, signature]));
                }
                Some(_) => return Err(Unanswered::Undefined),
            }
        }
        Err(nested())
    }
    match arguments {
        [Value::String(token)] => told(parts(token)),
        _ => Ok(Value::Undefined),
    }
}

/// `io.jwt.verify_hs256` and its like: whether a token has the code of a secret, whatever its header says.
///
/// # Errors
/// It is too long.
pub(super) fn verify_code(hash: Hash, arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::String(token), Value::String(secret)] = arguments else { return Ok(Value::Undefined) };
    let verified = || {
        let token = Token::read(token)?;
        Ok(Value::from(is_code(hash, secret.as_bytes(), &token.message(), &token.signature()?)))
    };
    told(verified())
}

/// `io.jwt.verify_rs256` and its like: whether one of the keys signed a token by that algorithm.
///
/// # Errors
/// There is too much of the token or the keys.
pub(super) fn verify(algorithm: Algorithm, arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::String(token), Value::String(text)] = arguments else { return Ok(Value::Undefined) };
    let verified = || {
        let (token, keys) = (Token::read(token)?, keys(text)?);
        let (signature, header) = (token.signature()?, token.header()?);
        header.check()?;
        let message = token.message();
        let verifies = |key: &Key| key.verifies(algorithm, &message, &signature, Reading::Loose);
        Ok(Value::from(one_verifies(&keys, &header, verifies)?))
    };
    told(verified())
}

/// Whether the key that the header names verifies, or, where it names none of them, any key that is for the same algorithm.
fn one_verifies(keys: &[Key], header: &Header, verifies: impl Fn(&Key) -> bool) -> Result<bool, Unanswered> {
    let (id, algorithm) = (header.text("kid")?, header.text("alg")?);
    if let Some(key) = keys.iter().find(|key| !id.is_empty() && key.id == id) {
        return Ok(verifies(key));
    }
    let is_meant = |key: &&Key| key.algorithm.is_empty() || key.algorithm == algorithm;
    Ok(keys.iter().filter(is_meant).any(verifies))
}

/// What a token must be.
struct Constraints {
    by: Trusted,
    /// Empty: any.
    algorithm: String,
    /// Empty: any.
    issuer: String,
    /// Empty: none.
    audience: String,
    /// In seconds.
    time: Value,
}

/// Who may have signed it.
enum Trusted {
    Keys(Vec<Key>),
    Secret(String),
}

impl Constraints {
    fn read(constraints: &Value, now: Timestamp) -> Result<Self, Unanswered> {
        let fields = constraints.as_object().map_err(|_| Unanswered::Undefined)?;
        let is_known = |name: &Value| {
            ["cert", "secret", "alg", "iss", "aud", "time"].iter().any(|known| *name == Value::from(*known))
        };
        if !fields.keys().all(is_known) {
            return Err(Unanswered::Undefined);
        }
        let text = |name: &str| match fields.get(&Value::from(name)) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.to_string())),
            Some(_) => Err(Unanswered::Undefined),
        };
        let by = match (text("cert")?, text("secret")?.filter(|secret| !secret.is_empty())) {
            (Some(text), None) => Trusted::Keys(keys(&text)?),
            (None, Some(secret)) => Trusted::Secret(secret),
            _ => return Err(Unanswered::Undefined),
        };
        let nanoseconds = match fields.get(&Value::from("time")) {
            None => Value::from(i128::from(now.0) * 1_000_000_000),
            Some(time) => time.clone(),
        };
        let Value::Number(time) = nanoseconds else { return Err(Unanswered::Undefined) };
        let time = time
            .format_decimal()
            .parse()
            .ok()
            .filter(|time: &f64| *time >= 0.0 && time.is_finite())
            .ok_or(Unanswered::Undefined)?;
        Ok(Self {
            by,
            algorithm: text("alg")?.unwrap_or_default(),
            issuer: text("iss")?.unwrap_or_default(),
            audience: text("aud")?.unwrap_or_default(),
            time: Value::from(time / 1_000_000_000.0),
        })
    }

    /// Whether who may have signed it did.
    fn verifies(&self, token: &Token<'_>, header: &Header) -> Result<bool, Unanswered> {
        let signature = token.signature()?;
        let Some(algorithm) = Algorithm::named(header.text("alg")?) else { return Ok(false) };
        let message = token.message();
        match &self.by {
            Trusted::Keys(keys) => {
                one_verifies(keys, header, |key| key.verifies(algorithm, &message, &signature, Reading::Exact))
            }
            Trusted::Secret(secret) => Ok(match algorithm {
                Algorithm::Hmac(hash) => is_code(hash, secret.as_bytes(), &message, &signature),
                _ => false,
            }),
        }
    }

    /// Whether what a token claims is as it must be (RFC 7519, section 4.1).
    fn allow(&self, claims: &Value) -> Result<bool, Unanswered> {
        let claims = claims.as_object().map_err(|_| Unanswered::Undefined)?;
        let claim = |name: &str| claims.get(&Value::from(name));
        let is_issuer = match claim("iss") {
            _ if self.issuer.is_empty() => true,
            None => false,
            Some(Value::String(issuer)) => **issuer == *self.issuer,
            Some(_) => return Err(Unanswered::Undefined),
        };
        if !is_issuer {
            return Ok(false);
        }
        let is_audience = |value: &Value| *value == Value::from(self.audience.as_str());
        let is_meant = match claim("aud") {
            None => self.audience.is_empty(),
            Some(Value::Array(all)) => all.iter().any(is_audience),
            Some(one) => is_audience(one),
        };
        if !is_meant {
            return Ok(false);
        }
        let is_number = |value: &&Value| matches!(value, Value::Number(_));
        let time = |name: &str| match claim(name) {
            Some(value) => Some(value).filter(is_number).map(Some).ok_or(Unanswered::Undefined),
            None => Ok(None),
        };
        if time("exp")?.is_some_and(|expires| self.time >= *expires) {
            return Ok(false);
        }
        Ok(time("nbf")?.is_none_or(|begins| self.time >= *begins))
    }
}

/// `io.jwt.decode_verify`: whether a token is as it must be, and its header and its payload if it is. Of a token in tokens,
/// each is verified, and the header and the payload are those of the innermost one.
///
/// # Errors
/// There is too much of it.
pub(super) fn decode_verify(now: Timestamp, arguments: &[Value]) -> anyhow::Result<Value> {
    fn verified(token: &Value, constraints: &Value, now: Timestamp) -> Result<Value, Unanswered> {
        let constraints = Constraints::read(constraints, now)?;
        let Value::String(token) = token else { return Err(Unanswered::Undefined) };
        let refused = || Value::from(vec![Value::from(false), Value::new_object(), Value::new_object()]);
        let mut text = token.to_string();
        for _ in 0..MOST_NESTED {
            let token = Token::read(&text)?;
            let header = token.header()?;
            header.check()?;
            let is_meant = constraints.algorithm.is_empty() || constraints.algorithm == header.text("alg")?;
            if !header.is_understood()? || !is_meant || !constraints.verifies(&token, &header)? {
                return Ok(refused());
            }
            let payload = decoded_text(token.payload)?;
            if header.text("cty")?.eq_ignore_ascii_case(TOKEN) {
                text = payload;
                continue;
            }
            let claims = object(&payload)?;
            return Ok(match constraints.allow(&claims)? {
                true => Value::from(vec![Value::from(true), header.0, claims]),
                false => refused(),
            });
        }
        Err(nested())
    }
    match arguments {
        [token, constraints] => told(verified(token, constraints, now)),
        _ => Ok(Value::Undefined),
    }
}

/// `io.jwt.encode_sign`: a token of a header, a payload and the key that signs it, as values.
///
/// # Errors
/// There is too much of it, or its signature would be made by chance.
pub(super) fn encode_sign(arguments: &[Value]) -> anyhow::Result<Value> {
    let texts = arguments.iter().map(|value| bounds::bounded("json.marshal", std::slice::from_ref(value)));
    encode_sign_raw(&texts.collect::<anyhow::Result<Vec<_>>>()?)
}

/// `io.jwt.encode_sign_raw`: the same of texts in JSON. The payload may be any text where the header says another type.
///
/// # Errors
/// As for [`encode_sign`].
pub(super) fn encode_sign_raw(arguments: &[Value]) -> anyhow::Result<Value> {
    fn signed(header: &str, payload: &str, key: &str) -> Result<Value, Unanswered> {
        if header.len().saturating_add(payload.len()) > MAX_TOKEN {
            let length = header.len().saturating_add(payload.len());
            return Err(Unanswered::Refused(format!("a token of {length} bytes: at most {MAX_TOKEN}")));
        }
        let keys = json_web_keys(key)?;
        let key = keys.first().ok_or(Unanswered::Undefined)?;
        // Of a key that stands twice, readers take one or the other.
        let fields: serde_json::Map<String, serde_json::Value> =
            spelling::from_str(header).map_err(|_| Unanswered::Undefined)?;
        let field = |name: &str| fields.get(name).and_then(serde_json::Value::as_str);
        let algorithm = field("alg").filter(|name| is_algorithm(name)).and_then(Algorithm::named);
        let algorithm = algorithm.ok_or(Unanswered::Undefined)?;
        if field("typ").is_none_or(|kind| kind == TOKEN) && json(payload)? == Value::Undefined {
            return Err(Unanswered::Undefined);
        }
        let mut token = without_padding(header.as_bytes());
        token.push('.');
        token.push_str(&without_padding(payload.as_bytes()));
        let signature = key.sign(algorithm, token.as_bytes())?;
        token.push('.');
        token.push_str(&without_padding(&signature));
        Ok(Value::from(token))
    }
    match arguments {
        [Value::String(header), Value::String(payload), Value::String(key)] => told(signed(header, payload, key)),
        _ => Ok(Value::Undefined),
    }
}

fn nested() -> Unanswered {
    Unanswered::Refused(format!("more than {MOST_NESTED} tokens in tokens"))
}

/// The bytes of a part, with or without its padding.
fn decoded(part: &str) -> Result<Vec<u8>, Unanswered> {
    let padding = match part.len() % 4 {
        _ if part.ends_with('=') => "",
        0 => "",
        2 => "==",
        3 => "=",
        _ => return Err(Unanswered::Undefined),
    };
    URL_SAFE.decode([&*without_line_ends(part), padding].concat()).map_err(|_| Unanswered::Undefined)
}

/// The same as a text. A byte that is none of UTF-8 stands for the replacement character, as in Go.
fn decoded_text(part: &str) -> Result<String, Unanswered> {
    let bytes = match String::from_utf8(decoded(part)?) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(text)
}

fn without_padding(bytes: &[u8]) -> String {
    let mut text = URL_SAFE.encode(bytes);
    text.truncate(text.trim_end_matches('=').len());
    text
}

/// What a text in JSON says; undefined where it is none.
fn json(text: &str) -> Result<Value, Unanswered> {
    bounds::bounded("json.unmarshal", &[Value::from(text)]).map_err(|error| Unanswered::Refused(error.to_string()))
}

fn object(text: &str) -> Result<Value, Unanswered> {
    Some(json(text)?).filter(|value| matches!(value, Value::Object(_))).ok_or(Unanswered::Undefined)
}
