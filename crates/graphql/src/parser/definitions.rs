//! Types, directives and the schema itself.

use super::{COLON, Parser};
use crate::Error;
use crate::ast::{
    Comments, Definition, DirectiveDefinition, EnumValueDefinition, FieldDefinition, OperationType, Schema,
    SchemaDefinition, Value,
};
use crate::lexer::Kind;

/// A text before a definition, and the comments before that.
#[derive(Default)]
struct Description {
    text: String,
    before: Comments,
}

impl Parser<'_> {
    pub(super) fn schema(&mut self) -> Result<Schema, Error> {
        let mut schema = Schema::default();
        while !self.is(Kind::End)? {
            let description = self.description()?;
            let token = self.look()?;
            match (token.kind, &*token.value) {
                (Kind::Name, "schema") => schema.schema.push(self.schema_definition(description, None)?),
                (Kind::Name, "directive") => schema.directives.push(self.directive_definition(description)?),
                (Kind::Name, "extend") if description.text.is_empty() => self.extension(&mut schema)?,
                _ => schema.definitions.push(self.definition(description, None)?),
            }
        }
        schema.comment = self.comments()?;
        Ok(schema)
    }

    fn description(&mut self) -> Result<Description, Error> {
        if !matches!(self.look()?.kind, Kind::Text | Kind::Block) {
            return Ok(Description::default());
        }
        let before = self.comments()?;
        Ok(Description { text: self.take()?.value.into_owned(), before })
    }

    /// The description of a part of a type: an empty one is none.
    fn own_description(&mut self) -> Result<Description, Error> {
        let description = self.description()?;
        Ok(if description.text.is_empty() { Description::default() } else { description })
    }

    /// What stands behind `extend`. It has the comments before that word.
    fn extension(&mut self, schema: &mut Schema) -> Result<(), Error> {
        let comment = self.comments()?;
        self.word("extend")?;
        if self.says("schema")? {
            let extension = self.schema_definition(Description::default(), Some(comment))?;
            if extension.directives.is_empty() && extension.operations.is_empty() {
                return self.unexpected();
            }
            schema.schema_extensions.push(extension);
            return Ok(());
        }
        let extension = self.definition(Description::default(), Some(comment))?;
        let extends = [
            extension.directives.len(),
            extension.interfaces.len(),
            extension.fields.len(),
            extension.types.len(),
            extension.values.len(),
        ];
        if extends == [0; 5] {
            return self.unexpected();
        }
        schema.extensions.push(extension);
        Ok(())
    }

    fn schema_definition(
        &mut self,
        description: Description,
        extended: Option<Comments>,
    ) -> Result<SchemaDefinition, Error> {
        let own = self.comments()?;
        self.word("schema")?;
        let directives = self.directives(true)?;
        let (operations, end) = self.some(b'{', b'}', Self::operation_type)?;
        Ok(SchemaDefinition {
            description: description.text,
            directives,
            operations,
            before: description.before,
            after: extended.unwrap_or(own),
            end,
        })
    }

    fn operation_type(&mut self) -> Result<OperationType, Error> {
        let comment = self.comments()?;
        if !matches!(&*self.look()?.value, "query" | "mutation" | "subscription") {
            return self.unexpected();
        }
        let operation = self.take()?.value.into_owned();
        self.expect(COLON)?;
        Ok(OperationType { operation, of: self.name()?, comment })
    }

    /// A type. An extension has comments already, and other rules for interfaces and for input objects.
    fn definition(&mut self, description: Description, extended: Option<Comments>) -> Result<Definition, Error> {
        let own = self.comments()?;
        let token = self.look()?;
        let kind = match (token.kind, &*token.value) {
            (Kind::Name, "scalar") => "SCALAR",
            (Kind::Name, "type") => "OBJECT",
            (Kind::Name, "interface") => "INTERFACE",
            (Kind::Name, "union") => "UNION",
            (Kind::Name, "enum") => "ENUM",
            (Kind::Name, "input") => "INPUT_OBJECT",
            _ => return self.unexpected(),
        };
        self.take()?;
        let is_extension = extended.is_some();
        let mut definition = Definition {
            kind: kind.to_owned(),
            description: description.text,
            name: self.name()?,
            before: description.before,
            after: extended.unwrap_or(own),
            ..Definition::default()
        };
        if kind == "OBJECT" || (kind == "INTERFACE" && !is_extension) {
            definition.interfaces = self.interfaces()?;
        }
        definition.directives = self.directives(!(kind == "INPUT_OBJECT" && is_extension))?;
        match kind {
            "OBJECT" | "INTERFACE" => {
                (definition.fields, definition.end) = self.some(b'{', b'}', |parser| parser.field_definition(true))?;
            }
            "INPUT_OBJECT" => {
                (definition.fields, definition.end) = self.some(b'{', b'}', |parser| parser.field_definition(false))?;
            }
            "ENUM" => (definition.values, definition.end) = self.some(b'{', b'}', Self::enum_value)?,
            "UNION" if self.skip(Kind::Sign(b'='))? => definition.types = self.separated(b'|')?,
            _ => {}
        }
        Ok(definition)
    }

    fn interfaces(&mut self) -> Result<Vec<String>, Error> {
        if !self.says("implements")? {
            return Ok(Vec::new());
        }
        self.take()?;
        self.separated(b'&')
    }

    /// Names with a sign between them, which may stand before the first one too.
    fn separated(&mut self, sign: u8) -> Result<Vec<String>, Error> {
        self.skip(Kind::Sign(sign))?;
        let mut names = vec![self.name()?];
        while self.skip(Kind::Sign(sign))? {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// A field that may have arguments, or one that may have a default, as an argument may.
    fn field_definition(&mut self, has_arguments: bool) -> Result<FieldDefinition, Error> {
        let description = self.own_description()?;
        let after = self.comments()?;
        let name = self.name()?;
        let arguments = if has_arguments { self.argument_definitions()? } else { Vec::new() };
        self.expect(COLON)?;
        let of = self.type_reference()?;
        let default = if has_arguments { None } else { self.default()? };
        Ok(FieldDefinition {
            description: description.text,
            name,
            arguments,
            default,
            of,
            directives: self.directives(true)?,
            before: description.before,
            after,
        })
    }

    fn argument_definitions(&mut self) -> Result<Vec<FieldDefinition>, Error> {
        Ok(self.some(b'(', b')', |parser| parser.field_definition(false))?.0)
    }

    /// `= value`, if it is there.
    pub(super) fn default(&mut self) -> Result<Option<Box<Value>>, Error> {
        if self.skip(Kind::Sign(b'='))? { Ok(Some(Box::new(self.value(true)?))) } else { Ok(None) }
    }

    fn enum_value(&mut self) -> Result<EnumValueDefinition, Error> {
        let description = self.own_description()?;
        let after = self.comments()?;
        let name = self.name()?;
        let directives = self.directives(true)?;
        Ok(EnumValueDefinition { description: description.text, name, directives, before: description.before, after })
    }

    fn directive_definition(&mut self, description: Description) -> Result<DirectiveDefinition, Error> {
        let after = self.comments()?;
        self.word("directive")?;
        self.expect(Kind::Sign(b'@'))?;
        let name = self.name()?;
        let arguments = self.argument_definitions()?;
        let is_repeatable = self.is(Kind::Name)? && self.says("repeatable")?;
        if is_repeatable {
            self.take()?;
        }
        self.word("on")?;
        let at = self.look()?.at;
        let locations = self.separated(b'|')?;
        if let Some(unknown) = locations.iter().find(|location| !is_location(location)) {
            return Err(self.lexer.error(at, format!("`{unknown}` is no place of a directive")));
        }
        Ok(DirectiveDefinition {
            description: description.text,
            name,
            arguments,
            locations,
            is_repeatable,
            before: description.before,
            after,
        })
    }
}

/// Whether directives may stand at a place of this name.
fn is_location(name: &str) -> bool {
    matches!(
        name,
        "QUERY"
            | "MUTATION"
            | "SUBSCRIPTION"
            | "FIELD"
            | "FRAGMENT_DEFINITION"
            | "FRAGMENT_SPREAD"
            | "INLINE_FRAGMENT"
            | "VARIABLE_DEFINITION"
            | "SCHEMA"
            | "SCALAR"
            | "OBJECT"
            | "FIELD_DEFINITION"
            | "ARGUMENT_DEFINITION"
            | "INTERFACE"
            | "UNION"
            | "ENUM"
            | "ENUM_VALUE"
            | "INPUT_OBJECT"
            | "INPUT_FIELD_DEFINITION"
    )
}
