//! Whether values are of the types that are expected of them.

use crate::Error;
use crate::ast::{FieldDefinition, Type, Value, ValueKind};
use crate::bounds::below;
use crate::error::invalid;
use crate::query::Scope;
use crate::schema::{TypeDefinition, Types, is_compatible, is_once};

/// What is expected of a value.
pub(crate) struct Expected<'t, 's> {
    of: &'t Type,
    /// The type, without its lists.
    definition: &'t TypeDefinition<'s>,
    /// Whether another value stands for it where it is null.
    has_default: bool,
}

impl<'t, 's> Expected<'t, 's> {
    /// What is expected of a variable's default.
    pub(crate) fn of(of: &'t Type, types: &'t Types<'s>) -> Result<Self, Error> {
        Ok(Self { of, definition: types.of(of)?, has_default: false })
    }

    /// What is expected of an argument, or of a field of an input object.
    pub(crate) fn by(definition: &'t FieldDefinition, types: &'t Types<'s>) -> Result<Self, Error> {
        let has_default = definition.default.as_ref().is_some_and(|default| default.kind != ValueKind::Null);
        Ok(Self { has_default, ..Self::of(&definition.of, types)? })
    }
}

/// Whether a value and those in it are what is expected. In a type that only the schema's author knows, nothing is.
pub(crate) fn check_value<'q>(
    value: &'q Value,
    expected: Option<&Expected<'_, '_>>,
    scope: &mut Scope<'q>,
    types: &Types<'_>,
    level: usize,
) -> Result<(), Error> {
    let level = below(level)?;
    types.steps.take(1)?;
    match value.kind {
        ValueKind::Variable => return check_variable(value, expected, scope),
        ValueKind::List => {
            let element = expected.and_then(|expected| {
                let of = expected.of.element.as_deref()?;
                Some(Expected { of, definition: expected.definition, has_default: false })
            });
            for child in &value.children {
                check_value(&child.value, element.as_ref(), scope, types, level)?;
            }
        }
        ValueKind::Object => {
            is_once(value.children.iter().map(|child| child.name.as_str()), types.steps)?;
            for child in &value.children {
                let field = expected.and_then(|expected| expected.definition.field(&child.name));
                let expected = field.map(|field| Expected::by(field, types)).transpose()?;
                check_value(&child.value, expected.as_ref(), scope, types, level)?;
            }
        }
        _ => {}
    }
    let Some(expected) = expected else { return Ok(()) };
    if value.kind == ValueKind::Object && expected.definition.is_one_of {
        check_one_of(value, scope)?;
    }
    if value.kind == ValueKind::Null && expected.of.non_null {
        return invalid(named(value), "the value is null, and may not be");
    }
    if expected.definition.is_scalar() && !is_built_in(expected.definition.name) {
        return Ok(());
    }
    if !is_readable(value, scope, types, level)? {
        return invalid(named(value), "the number is out of range");
    }
    check_kind(value, expected, types)
}

/// Whether the kind of a value is what its type takes. One value stands for a list of one.
fn check_kind(value: &Value, expected: &Expected<'_, '_>, types: &Types<'_>) -> Result<(), Error> {
    let definition = expected.definition;
    let is_right = match value.kind {
        ValueKind::List => expected.of.element.is_some(),
        ValueKind::Int => matches!(definition.name, "Int" | "Float" | "ID"),
        ValueKind::Float => definition.name == "Float",
        ValueKind::Text | ValueKind::Block => !definition.is_enum() && matches!(definition.name, "String" | "ID"),
        ValueKind::Enum => definition.is_enum() && definition.has_value(&value.raw, types.steps)?,
        ValueKind::Boolean => definition.name == "Boolean",
        ValueKind::Object => return check_object(value, definition, types),
        ValueKind::Null | ValueKind::Variable => true,
    };
    if is_right { Ok(()) } else { invalid(named(value), "the value is of another type") }
}

/// Whether the fields of an input object are those that its type has, and all that it needs.
fn check_object(value: &Value, definition: &TypeDefinition<'_>, types: &Types<'_>) -> Result<(), Error> {
    let given: std::collections::BTreeSet<&str> = value.children.iter().map(|child| child.name.as_str()).collect();
    types.steps.take(definition.fields.len())?;
    for field in &definition.fields {
        if field.of.non_null && field.default.is_none() && !given.contains(field.name.as_str()) {
            return invalid(&field.name, "this field is required");
        }
    }
    match value.children.iter().find(|child| definition.field(&child.name).is_none()) {
        Some(child) => invalid(&child.name, "the type has no such field"),
        None => Ok(()),
    }
}

/// An input object of which one field is given, and that isn't null.
fn check_one_of(value: &Value, scope: &Scope<'_>) -> Result<(), Error> {
    let [child] = value.children.as_slice() else {
        return invalid("oneOf", "exactly one field is given");
    };
    let may_be_null = match child.value.kind {
        ValueKind::Null => true,
        ValueKind::Variable => scope.variable(&child.value.raw).is_some_and(|variable| !variable.of.non_null),
        _ => false,
    };
    if may_be_null { invalid(&child.name, "the field may be null") } else { Ok(()) }
}

/// Whether a variable is one of the operation, and of a type that may stand here.
fn check_variable<'q>(
    value: &'q Value,
    expected: Option<&Expected<'_, '_>>,
    scope: &mut Scope<'q>,
) -> Result<(), Error> {
    let Some(variable) = scope.use_variable(&value.raw) else {
        return invalid(&value.raw, "the operation has no such variable");
    };
    let Some(expected) = expected else { return Ok(()) };
    let has_default = variable.default.as_ref().is_some_and(|default| default.kind != ValueKind::Null);
    let non_null = expected.of.non_null && !has_default && !expected.has_default;
    match is_compatible(&variable.of, expected.of, non_null) {
        true => Ok(()),
        false => invalid(&value.raw, "the variable is of another type"),
    }
}

/// Whether all numbers in a value, and in the defaults of variables, are of 64 bits.
fn is_readable(value: &Value, scope: &Scope<'_>, types: &Types<'_>, level: usize) -> Result<bool, Error> {
    let level = below(level)?;
    types.steps.take(1)?;
    Ok(match value.kind {
        ValueKind::Int => value.raw.parse::<i64>().is_ok(),
        ValueKind::Float => value.raw.parse::<f64>().is_ok_and(f64::is_finite),
        ValueKind::Boolean => matches!(value.raw.as_str(), "true" | "false"),
        ValueKind::Variable => match scope.variable(&value.raw).and_then(|variable| variable.default.as_deref()) {
            Some(default) => is_readable(default, scope, types, level)?,
            None => true,
        },
        _ => {
            for child in &value.children {
                if !is_readable(&child.value, scope, types, level)? {
                    return Ok(false);
                }
            }
            true
        }
    })
}

fn is_built_in(name: &str) -> bool {
    matches!(name, "Int" | "Float" | "String" | "Boolean" | "ID")
}

/// How errors name a value.
fn named(value: &Value) -> &str {
    match value.kind {
        ValueKind::List => "[…]",
        ValueKind::Object => "{…}",
        _ => &value.raw,
    }
}
