// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

use crate::ast::{Expr, Ref};
use crate::builtins::utils::ensure_args_count;

use crate::lexer::Span;
use crate::value::Value;

use anyhow::Result;

#[inline(never)]
pub(super) fn send(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    let name = "http.send";
    ensure_args_count(span, name, params, args, 1)?;
    Ok(Value::Undefined)
}
