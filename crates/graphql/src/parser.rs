//! Reads the tokens of a document.

mod definitions;
mod executable;

use crate::Error;
use crate::ast::{Argument, ChildValue, Comments, Directive, Query, Schema, Type, Value, ValueKind};
use crate::bounds::MOST_BRACKETS;
use crate::lexer::{Kind, Lexer, Token};

/// Reads a document of operations and fragments.
pub(crate) fn query(text: &str) -> Result<Query, Error> {
    Parser::new(text)?.query()
}

/// Reads a document of definitions.
pub(crate) fn schema(text: &str) -> Result<Schema, Error> {
    Parser::new(text)?.schema()
}

const OPEN: Kind = Kind::Sign(b'{');
const COLON: Kind = Kind::Sign(b':');

struct Parser<'t> {
    lexer: Lexer<'t>,
    /// The next token, once it was looked at.
    next: Option<Token<'t>>,
    /// Comments before the next token.
    comment: Comments,
    /// Brackets around the next token.
    level: usize,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Result<Self, Error> {
        Ok(Self { lexer: Lexer::new(text)?, next: None, comment: Comments::new(), level: 0 })
    }

    /// The next token, which stays.
    fn look(&mut self) -> Result<&Token<'t>, Error> {
        let next = match self.next.take() {
            Some(next) => next,
            None => loop {
                let token = self.lexer.token()?;
                match token.kind {
                    Kind::Comment => self.comment.push(token.value.into_owned()),
                    _ => break token,
                }
            },
        };
        Ok(self.next.insert(next))
    }

    /// The next token, which is used up, and its comments with it.
    fn take(&mut self) -> Result<Token<'t>, Error> {
        self.look()?;
        self.comment.clear();
        match self.next.take() {
            Some(next) => Ok(next),
            None => self.lexer.token(),
        }
    }

    /// The comments before the next token.
    fn comments(&mut self) -> Result<Comments, Error> {
        self.look()?;
        Ok(std::mem::take(&mut self.comment))
    }

    fn is(&mut self, kind: Kind) -> Result<bool, Error> {
        Ok(self.look()?.kind == kind)
    }

    /// Whether the next token says this: a word, or, as in the library of Open Policy Agent, a text.
    fn says(&mut self, word: &str) -> Result<bool, Error> {
        Ok(self.look()?.value == word)
    }

    /// Uses up the next token if it is of this kind.
    fn skip(&mut self, kind: Kind) -> Result<bool, Error> {
        let is = self.is(kind)?;
        if is {
            self.take()?;
        }
        Ok(is)
    }

    fn expect(&mut self, kind: Kind) -> Result<Token<'t>, Error> {
        if self.is(kind)? { self.take() } else { self.unexpected() }
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        if self.says(word)? { self.expect(Kind::Name).map(|_| ()) } else { self.unexpected() }
    }

    fn name(&mut self) -> Result<String, Error> {
        Ok(self.expect(Kind::Name)?.value.into_owned())
    }

    /// An error at the next token.
    fn unexpected<T>(&mut self) -> Result<T, Error> {
        let token = self.look()?.clone();
        Err(self.lexer.error(token.at, format!("unexpected {}", token.shown())))
    }

    /// What stands between brackets: anything, or nothing where the first isn't there. Also the comments before the last one.
    fn between<T>(
        &mut self,
        open: u8,
        close: u8,
        mut part: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Comments), Error> {
        let mut parts = Vec::new();
        if !self.skip(Kind::Sign(open))? {
            return Ok((parts, Comments::new()));
        }
        self.level += 1;
        if self.level > MOST_BRACKETS {
            return Err(Error::TooMuch("a document of more than 50 brackets in brackets"));
        }
        while !self.is(Kind::Sign(close))? {
            parts.push(part(self)?);
        }
        self.level -= 1;
        let comment = self.comments()?;
        self.take()?;
        Ok((parts, comment))
    }

    /// The same, where brackets have something in them.
    fn some<T>(
        &mut self,
        open: u8,
        close: u8,
        part: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<(Vec<T>, Comments), Error> {
        let is_there = self.is(Kind::Sign(open))?;
        let at = self.look()?.at;
        let (parts, comment) = self.between(open, close, part)?;
        if is_there && parts.is_empty() {
            return Err(self.lexer.error(at, "nothing stands between these brackets".to_owned()));
        }
        Ok((parts, comment))
    }

    fn directives(&mut self, constant: bool) -> Result<Vec<Directive>, Error> {
        let mut directives = Vec::new();
        while self.skip(Kind::Sign(b'@'))? {
            let name = self.name()?;
            directives.push(Directive { name, arguments: self.arguments(constant)?, location: String::new() });
        }
        Ok(directives)
    }

    fn arguments(&mut self, constant: bool) -> Result<Vec<Argument>, Error> {
        let argument = |parser: &mut Self| {
            let comment = parser.comments()?;
            let name = parser.name()?;
            parser.expect(COLON)?;
            Ok(Argument { name, value: parser.value(constant)?, comment })
        };
        Ok(self.some(b'(', b')', argument)?.0)
    }

    /// A value; a constant has no variables in it.
    fn value(&mut self, constant: bool) -> Result<Value, Error> {
        let token = self.look()?;
        let kind = match token.kind {
            Kind::Sign(b'[') => {
                let comment = self.comments()?;
                let element =
                    |parser: &mut Self| Ok(ChildValue { value: parser.value(constant)?, ..ChildValue::default() });
                let (children, _) = self.between(b'[', b']', element)?;
                return Ok(Value { children, kind: ValueKind::List, comment, ..Value::default() });
            }
            OPEN => {
                let comment = self.comments()?;
                let field = |parser: &mut Self| {
                    let comment = parser.comments()?;
                    let name = parser.name()?;
                    parser.expect(COLON)?;
                    Ok(ChildValue { name, value: parser.value(constant)?, comment })
                };
                let (children, _) = self.between(b'{', b'}', field)?;
                return Ok(Value { children, kind: ValueKind::Object, comment, ..Value::default() });
            }
            Kind::Sign(b'$') if !constant => {
                self.take()?;
                return Ok(Value { raw: self.name()?, ..Value::default() });
            }
            Kind::Int => ValueKind::Int,
            Kind::Float => ValueKind::Float,
            Kind::Text => ValueKind::Text,
            Kind::Block => ValueKind::Block,
            Kind::Name => match &*token.value {
                "true" | "false" => ValueKind::Boolean,
                "null" => ValueKind::Null,
                _ => ValueKind::Enum,
            },
            _ => return self.unexpected(),
        };
        Ok(Value { raw: self.take()?.value.into_owned(), kind, ..Value::default() })
    }

    fn type_reference(&mut self) -> Result<Type, Error> {
        let mut of = Type::default();
        if self.is(Kind::Sign(b'['))? {
            let mut is_first = true;
            let element = |parser: &mut Self| {
                // A list has elements of one type.
                match std::mem::take(&mut is_first) {
                    true => parser.type_reference(),
                    false => parser.unexpected(),
                }
            };
            of.element = self.some(b'[', b']', element)?.0.pop().map(Box::new);
        } else {
            of.name = self.name()?;
        }
        of.non_null = self.skip(Kind::Sign(b'!'))?;
        Ok(of)
    }
}
