//! Operations and fragments.

use super::{COLON, OPEN, Parser};
use crate::Error;
use crate::ast::{Comments, Field, Fragment, InlineFragment, Operation, Query, Selection, Spread, VariableDefinition};
use crate::lexer::Kind;

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Result<Query, Error> {
        let mut query = Query::default();
        loop {
            let token = self.look()?;
            match (token.kind, &*token.value) {
                (Kind::End, _) => return Ok(query),
                (Kind::Name, "fragment") => query.fragments.push(self.fragment()?),
                (Kind::Name, "query" | "mutation" | "subscription") => query.operations.push(self.operation()?),
                (OPEN, _) => query.operations.push(Operation {
                    operation: "query".to_owned(),
                    selections: self.selections()?,
                    ..Operation::default()
                }),
                _ => return self.unexpected(),
            }
        }
    }

    fn operation(&mut self) -> Result<Operation, Error> {
        let comment = self.comments()?;
        let operation = self.name()?;
        let name = if self.is(Kind::Name)? { self.name()? } else { String::new() };
        let variables = self.variables()?;
        let directives = self.directives(false)?;
        Ok(Operation { operation, name, variables, directives, selections: self.selections()?, comment })
    }

    fn fragment(&mut self) -> Result<Fragment, Error> {
        let comment = self.comments()?;
        self.word("fragment")?;
        if self.says("on")? {
            return self.unexpected();
        }
        let name = self.name()?;
        let variables = self.variables()?;
        self.word("on")?;
        let condition = self.name()?;
        let directives = self.directives(false)?;
        Ok(Fragment { name, variables, condition, directives, selections: self.selections()?, comment })
    }

    fn variables(&mut self) -> Result<Vec<VariableDefinition>, Error> {
        Ok(self.some(b'(', b')', Self::variable)?.0)
    }

    fn variable(&mut self) -> Result<VariableDefinition, Error> {
        let comment = self.comments()?;
        self.expect(Kind::Sign(b'$'))?;
        let variable = self.name()?;
        self.expect(COLON)?;
        let of = self.type_reference()?;
        let default = self.default()?;
        Ok(VariableDefinition { variable, of, default, directives: self.directives(false)?, comment, used: false })
    }

    fn selections(&mut self) -> Result<Vec<Selection>, Error> {
        if !self.is(OPEN)? {
            return self.unexpected();
        }
        Ok(self.some(b'{', b'}', Self::selection)?.0)
    }

    fn selection(&mut self) -> Result<Selection, Error> {
        let comment = self.comments()?;
        if !self.skip(Kind::Spread)? {
            return Ok(Selection::Field(self.field(comment)?));
        }
        let is_named = self.is(Kind::Name)?;
        let is_typed = self.says("on")?;
        if is_named && !is_typed {
            let name = self.name()?;
            return Ok(Selection::Spread(Spread { name, directives: self.directives(false)?, comment }));
        }
        let mut condition = String::new();
        if is_typed {
            self.take()?;
            condition = self.name()?;
        }
        let directives = self.directives(false)?;
        Ok(Selection::Inline(InlineFragment { condition, directives, selections: self.selections()?, comment }))
    }

    fn field(&mut self, comment: Comments) -> Result<Field, Error> {
        let alias = self.name()?;
        let name = if self.skip(COLON)? { self.name()? } else { alias.clone() };
        let arguments = self.arguments(false)?;
        let directives = self.directives(false)?;
        let selections = self.some(b'{', b'}', Self::selection)?.0;
        Ok(Field { alias, name, arguments, directives, selections, comment })
    }
}
