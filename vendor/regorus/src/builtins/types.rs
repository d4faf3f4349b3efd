// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.
#![allow(clippy::indexing_slicing, clippy::pattern_type_mismatch)]

use crate::ast::{Expr, Ref};
use crate::builtins::utils::ensure_args_count;
use crate::lexer::Span;
use crate::value::Value;

use anyhow::Result;

#[inline(never)]
pub(super) fn is_array(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_array", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::Array(_))))
}

#[inline(never)]
pub(super) fn is_boolean(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_boolean", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::Bool(_))))
}

#[inline(never)]
pub(super) fn is_null(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_null", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::Null)))
}

#[inline(never)]
pub(super) fn is_number(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_number", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::Number(_))))
}

#[inline(never)]
pub(super) fn is_object(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_object", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::Object(_))))
}

#[inline(never)]
pub(super) fn is_set(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_set", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::Set(_))))
}

#[inline(never)]
pub(super) fn is_string(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "is_string", params, args, 1)?;
    Ok(Value::Bool(matches!(&args[0], Value::String(_))))
}

pub fn get_type(value: &Value) -> &str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Set(_) => "set",
        Value::Undefined => "undefined",
    }
}

#[inline(never)]
pub(super) fn type_name(
    span: &Span,
    params: &[Ref<Expr>],
    args: &[Value],
    _strict: bool,
) -> Result<Value> {
    ensure_args_count(span, "type_name", params, args, 1)?;
    Ok(Value::String(get_type(&args[0]).into()))
}
