//! GraphQL documents for rules: queries and schemas, read, validated, and given as data.
//!
//! [`parse_query`] and [`parse_schema`] read a text. [`check_schema`] and [`check_query`] validate what was read, by the rules
//! of the [specification](https://spec.graphql.org/October2021/) as `graphql.*` of Open Policy Agent has them. A [`Node`] is
//! exchanged with data, key by key, in the form that these builtins have.
//!
//! A document may come from an attacker: its length, its depth and the work of validating it are bounded, and what is beyond
//! is [`Error::TooMuch`].

mod ast;
mod bounds;
mod circle;
mod error;
mod lexer;
mod overlap;
mod parser;
mod query;
mod schema;
mod values;

pub use ast::{
    Argument, ChildValue, Comments, Definition, Directive, DirectiveDefinition, EnumValueDefinition, Exchange, Field,
    FieldDefinition, Fragment, InlineFragment, Node, Operation, OperationType, Query, Schema, SchemaDefinition,
    Selection, Spread, Type, Value, ValueKind, VariableDefinition,
};
pub use error::Error;

/// Reads the text of a query: operations and fragments.
///
/// # Errors
/// It is none, or too long.
pub fn parse_query(text: &str) -> Result<Query, Error> {
    parser::query(text)
}

/// Reads the text of a schema. What every schema has isn't in it, nor is it validated.
///
/// # Errors
/// It is none, or too long.
pub fn parse_schema(text: &str) -> Result<Schema, Error> {
    parser::schema(text)
}

/// Validates a schema.
///
/// # Errors
/// It breaks a rule, or takes too much work.
pub fn check_schema(schema: &Schema) -> Result<(), Error> {
    let (built_in, steps) = (schema::BuiltIn::new()?, bounds::Steps::new());
    schema::Types::new(&built_in, schema, &steps).map(|_| ())
}

/// Validates a query, and the schema that it is for.
///
/// # Errors
/// One of them breaks a rule, or takes too much work.
pub fn check_query(query: &Query, schema: &Schema) -> Result<(), Error> {
    let (built_in, steps) = (schema::BuiltIn::new()?, bounds::Steps::new());
    let types = schema::Types::new(&built_in, schema, &steps)?;
    query::check(query, &types)
}

#[cfg(test)]
mod tests;
