// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.
#![allow(clippy::unused_trait_names, clippy::pattern_type_mismatch)]

use crate::ast::{Expr, Ref};
#[cfg(feature = "urlquery")]
use crate::builtins::utils::enforce_limit;
#[allow(unused)]
use crate::builtins::utils::{
    ensure_args_count, ensure_object, ensure_string, ensure_string_collection,
};
use crate::lexer::Span;
use crate::value::Value;
use crate::*;

#[allow(unused)]
use anyhow::{anyhow, bail, Context, Result};

#[cfg(feature = "base64")]
#[inline(never)]
pub(super) fn base64_decode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "base64.decode";
    ensure_args_count(span, name, params, args, 1)?;

    let encoded_str = ensure_string(name, &params[0], &args[0])?;
    let decoded_bytes = data_encoding::BASE64
        .decode(encoded_str.as_bytes())
        .map_err(|e| {
            params[0]
                .span()
                .error(&format!("decode failed\nCaused by\n{e}"))
        })?;
    Ok(Value::String(
        String::from_utf8_lossy(&decoded_bytes).into(),
    ))
}

#[cfg(feature = "base64")]
#[inline(never)]
pub(super) fn base64_encode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "base64.encode";
    ensure_args_count(span, name, params, args, 1)?;

    let string = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::String(
        data_encoding::BASE64.encode(string.as_bytes()).into(),
    ))
}

#[cfg(feature = "base64")]
#[inline(never)]
pub(super) fn base64_is_valid(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "base64.is_valid";
    ensure_args_count(span, name, params, args, 1)?;

    let encoded_str = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::Bool(
        data_encoding::BASE64.decode(encoded_str.as_bytes()).is_ok(),
    ))
}

#[cfg(feature = "base64url")]
#[inline(never)]
pub(super) fn base64url_decode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "base64url.decode";
    ensure_args_count(span, name, params, args, 1)?;

    let encoded_str = ensure_string(name, &params[0], &args[0])?;
    let decoded_bytes = match data_encoding::BASE64URL.decode(encoded_str.as_bytes()) {
        Ok(b) => b,
        Err(_) => {
            #[cfg(feature = "base64url")]
            {
                data_encoding::BASE64URL_NOPAD
                    .decode(encoded_str.as_bytes())
                    .map_err(|_| anyhow!(params[0].span().error("not a valid url")))?
            }
            #[cfg(not(feature = "base64url"))]
            {
                bail!(params[0].span().error("not a valid url"));
            }
        }
    };

    Ok(Value::String(
        String::from_utf8_lossy(&decoded_bytes).into(),
    ))
}

#[cfg(feature = "base64url")]
#[inline(never)]
pub(super) fn base64url_encode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "base64url.encode";
    ensure_args_count(span, name, params, args, 1)?;

    let string = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::String(
        data_encoding::BASE64URL.encode(string.as_bytes()).into(),
    ))
}

#[cfg(feature = "base64url")]
#[inline(never)]
pub(super) fn base64url_encode_no_pad(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "base64url.encode_no_pad";
    ensure_args_count(span, name, params, args, 1)?;

    let string = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::String(
        data_encoding::BASE64URL_NOPAD
            .encode(string.as_bytes())
            .into(),
    ))
}

#[cfg(feature = "hex")]
#[inline(never)]
pub(super) fn hex_decode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "hex.decode";
    ensure_args_count(span, name, params, args, 1)?;

    let encoded_str = ensure_string(name, &params[0], &args[0])?;
    let decoded_bytes = data_encoding::HEXLOWER_PERMISSIVE
        .decode(encoded_str.as_bytes())
        .map_err(|e| {
            params[0]
                .span()
                .error(&format!("decode failure\nCaused by\n{e}"))
        })?;
    Ok(Value::String(
        String::from_utf8_lossy(&decoded_bytes).into(),
    ))
}

#[cfg(feature = "hex")]
#[inline(never)]
pub(super) fn hex_encode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "hex.encode";
    ensure_args_count(span, name, params, args, 1)?;

    let string = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::String(
        data_encoding::HEXLOWER_PERMISSIVE
            .encode(string.as_bytes())
            .into(),
    ))
}

#[cfg(feature = "urlquery")]
#[inline(never)]
pub(super) fn urlquery_decode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "urlquery.decode";
    ensure_args_count(span, name, params, args, 1)?;

    let string = ensure_string(name, &params[0], &args[0])?;
    match unescape(&string) {
        Some(text) => Ok(Value::String(text.into())),
        None => bail!(params[0].span().error("not a valid url query")),
    }
}

/// A part of a query as Go reads it: a percent sign needs two digits, a plus is a space.
#[cfg(feature = "urlquery")]
fn unescape(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                let (high, low) = (digit()?, digit()?);
                u8::try_from(high * 16 + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(feature = "urlquery")]
#[inline(never)]
pub(super) fn urlquery_decode_object(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "urlquery.decode_object";
    ensure_args_count(span, name, params, args, 1)?;

    let string = ensure_string(name, &params[0], &args[0])?;
    let mut map = alloc::collections::BTreeMap::new();
    for pair in string.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(key), Some(value), false) = (unescape(key), unescape(value), pair.contains(';'))
        else {
            bail!(params[0].span().error("not a valid url query"));
        };
        let key = Value::String(key.into());
        let value = Value::String(value.into());
        if let Ok(a) = map.entry(key).or_insert(Value::new_array()).as_array_mut() {
            a.push(value);
            // Guard decoded parameter accumulation while grouping duplicate keys.
            enforce_limit()?;
        }
    }
    Ok(Value::from_map(map))
}

/// Go escapes an asterisk, and no tilde.
#[cfg(feature = "urlquery")]
fn as_in_go(query: &str) -> Rc<str> {
    query.replace('*', "%2A").replace("%7E", "~").into()
}

#[cfg(feature = "urlquery")]
#[inline(never)]
pub(super) fn urlquery_encode(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "urlquery.encode";
    ensure_args_count(span, name, params, args, 1)?;

    let s = ensure_string(name, &params[0], &args[0])?;
    let mut url = match url::Url::parse("https://non-existent") {
        Ok(v) => v,
        Err(_) => bail!(params[0].span().error("not a valid url query")),
    };

    url.query_pairs_mut().append_pair(&s, "");
    let query_str = url.query().unwrap_or("");
    if query_str.is_empty() {
        Ok(Value::String("".into()))
    } else {
        Ok(Value::String(as_in_go(&query_str[..query_str.len() - 1])))
    }
}

#[cfg(feature = "urlquery")]
#[inline(never)]
pub(super) fn urlquery_encode_object(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "urlquery.encode_object";
    ensure_args_count(span, name, params, args, 1)?;

    let obj = ensure_object(name, &params[0], args[0].clone())?;
    let mut url = match url::Url::parse("https://non-existent") {
        Ok(v) => v,
        Err(_) => bail!(params[0].span().error("not a valid url query")),
    };

    {
        let mut pairs = url.query_pairs_mut();
        for (key, value) in obj.iter_sorted() {
            let key = ensure_string(name, &params[0], key)?;
            match value {
                Value::String(v) => {
                    pairs.append_pair(key.as_ref(), v.as_ref());
                    // Guard encoded parameter growth when serializing string fields.
                    enforce_limit()?;
                }
                _ => {
                    let values = ensure_string_collection(name, &params[0], value)?;
                    for v in values {
                        pairs.append_pair(key.as_ref(), v);
                        // Guard encoded parameter growth when serializing multi-valued fields.
                        enforce_limit()?;
                    }
                }
            }
        }
    }

    Ok(Value::String(url.query().unwrap_or("").into()))
}

#[cfg(feature = "yaml")]
#[inline(never)]
pub(super) fn yaml_is_valid(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "yaml.is_valid";
    ensure_args_count(span, name, params, args, 1)?;

    let yaml_str = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::Bool(Value::from_yaml_str(&yaml_str).is_ok()))
}

#[cfg(feature = "yaml")]
#[inline(never)]
pub(super) fn yaml_marshal(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "yaml.marshal";
    ensure_args_count(span, name, params, args, 1)?;

    let serialized = yaml_serde::to_string(&args[0])
        .map_err(|err| span.error(&format!("could not serialize to yaml: {err}")))?;

    Ok(Value::String(serialized.into()))
}

#[cfg(feature = "yaml")]
#[inline(never)]
pub(super) fn yaml_unmarshal(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "yaml.unmarshal";
    ensure_args_count(span, name, params, args, 1)?;
    let yaml_str = ensure_string(name, &params[0], &args[0])?;
    Value::from_yaml_str(&yaml_str).with_context(|| span.error("could not deserialize yaml."))
}

#[inline(never)]
pub(super) fn json_is_valid(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "json.is_valid";
    ensure_args_count(span, name, params, args, 1)?;

    let json_str = ensure_string(name, &params[0], &args[0])?;
    Ok(Value::Bool(Value::from_json_str(&json_str).is_ok()))
}

#[inline(never)]
pub(super) fn json_marshal(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "json.marshal";
    ensure_args_count(span, name, params, args, 1)?;
    let json = serde_json::to_string(&args[0])
        .map_err(|e| span.error(&format!("could not serialize to json\nCaused by\n{e}")))?;
    // As Go writes it, which is safe to stand in a page. These signs are in texts only.
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return Ok(Value::from(json));
    }
    let json = json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    Ok(Value::from(json))
}

#[inline(never)]
pub(super) fn json_marshal_with_options(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "json.marshal_with_options";
    ensure_args_count(span, name, params, args, 2)?;

    let options = ensure_object(name, &params[1], args[1].clone())?;
    let (mut pretty, mut indent, mut prefix) = (true, Some("\t".to_owned()), None);
    for (option, option_value) in options.iter() {
        match option {
            Value::String(s) if s.as_ref() == "pretty" && option_value.as_bool().is_ok() => {
                pretty = option_value == &Value::Bool(true);
            }
            Value::String(s) if s.as_ref() == "pretty" => bail!(params[1]
                .span()
                .error("marshaling option `pretty` must be true or false")),
            Value::String(s) if s.as_ref() == "prefix" && option_value.as_string().is_ok() => {
                prefix = Some(option_value.as_string()?.as_ref().to_string());
            }
            Value::String(s) if s.as_ref() == "prefix" => bail!(params[1]
                .span()
                .error("marshaling option `pretty` must be string")),
            Value::String(s) if s.as_ref() == "indent" && option_value.as_string().is_ok() => {
                indent = Some(option_value.as_string()?.as_ref().to_string());
            }
            Value::String(s) if s.as_ref() == "indent" => bail!(params[1]
                .span()
                .error("marshaling option `pretty` must be string")),
            _ => bail!(params[1]
                .span()
                .error("marshaling option must be one of `indent`, `prefix` or `pretty`")),
        }
    }

    if !pretty || options.is_empty() {
        return Ok(Value::from(serde_json::to_string(&args[0]).map_err(
            |e| span.error(&format!("could not serialize to json\nCaused by\n{e}")),
        )?));
    }

    let lines: Vec<String> = serde_json::to_string_pretty(&args[0])
        .map_err(|e| span.error(&format!("could not serialize to json\nCaused by\n{e}")))?
        .split('\n')
        .map(|line| {
            let mut line = line.to_string();

            if let Some(indent) = &indent {
                let start_trimmed = line.trim_start();
                let leading_spaces = line.len() - start_trimmed.len();
                let indentation_level = leading_spaces / 2;
                line = indent.repeat(indentation_level) + start_trimmed;
            }

            if let Some(prefix) = &prefix {
                line = prefix.to_owned() + &line;
            }
            line
        })
        .collect();

    Ok(Value::from(lines.join("\n")))
}

#[inline(never)]
pub(super) fn json_unmarshal(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "json.unmarshal";
    ensure_args_count(span, name, params, args, 1)?;
    let json_str = ensure_string(name, &params[0], &args[0])?;
    Value::from_json_str(&json_str).with_context(|| span.error("could not deserialize json."))
}
