// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

#![allow(clippy::unseparated_literal_suffix, clippy::pattern_type_mismatch)]

use crate::ast::{Expr, Ref};
use crate::builtins::utils::ensure_args_count;
use crate::lexer::Span;
use crate::number::Number;
use crate::value::Value;
use crate::*;

use anyhow::{bail, Result};

#[inline(never)]
pub(super) fn to_number(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "to_number";
    ensure_args_count(span, name, params, args, 1)?;

    let span = params[0].span();
    Ok(match &args[0] {
        Value::Null => Value::from(0u64),
        Value::Bool(true) => Value::from(1u64),
        Value::Bool(false) => Value::from(0u64),
        Value::Number(_) => args[0].clone(),
        // More than JSON has: `+1`, `.5`, `01`.
        Value::String(s) => match s.parse::<Number>() {
            Ok(n)
                if !s.contains(char::is_whitespace)
                    && s.parse::<f64>().is_ok_and(f64::is_finite) =>
            {
                Value::Number(n)
            }
            _ => {
                bail!(span.error("could not parse string as number"));
            }
        },
        _ => {
            bail!(
                span.error(format!("`{name}` expects bool/number/string/null argument.").as_str())
            );
        }
    })
}
