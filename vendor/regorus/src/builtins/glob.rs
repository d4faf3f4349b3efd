// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

#![allow(clippy::pattern_type_mismatch)]

mod pattern;

use crate::ast::{Expr, Ref};
use crate::builtins::utils::{ensure_args_count, ensure_string, ensure_string_collection};
use crate::lexer::Span;
use crate::value::Value;
use crate::*;

use anyhow::{bail, Result};
use pattern::Pattern;

#[inline(never)]
pub(super) fn glob_match(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "glob.match";
    ensure_args_count(span, name, params, args, 3)?;

    let pattern = ensure_string(name, &params[0], &args[0])?;
    let value = ensure_string(name, &params[2], &args[2])?;

    let delimiters = match &args[1] {
        Value::Null => Vec::new(),
        Value::Array(list) if list.is_empty() => vec!['.'],
        Value::Array(_) => {
            let mut delimiters = Vec::new();
            for delimiter in ensure_string_collection(name, &params[1], &args[1])? {
                let mut characters = delimiter.chars();
                match (characters.next(), characters.next()) {
                    (Some(delimiter), None) => delimiters.push(delimiter),
                    _ => bail!(params[1]
                        .span()
                        .error("delimiters must be single character")),
                }
            }
            delimiters
        }
        _ => bail!(params[1]
            .span()
            .error(format!("{name} requires string array").as_str())),
    };

    match Pattern::read(pattern.as_ref()) {
        Some(pattern) => Ok(Value::Bool(pattern.matches(value.as_ref(), &delimiters))),
        None => bail!(params[0].span().error("invalid glob")),
    }
}

#[inline(never)]
pub(super) fn quote_meta(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "glob.quote_meta";
    ensure_args_count(span, name, params, args, 1)?;

    let text = ensure_string(name, &params[0], &args[0])?;
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        if pattern::is_special(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    Ok(Value::String(quoted.into()))
}
