// `not` of a body, `and` and `or`: what `import future.keywords.not` and its like, and `import rego.v2`, bring.
//
// An operand is a closure: a body of its own, which binds nothing outside. So each becomes a comprehension, which is
// empty where the body doesn't hold.

use super::*;

/// An operand of `not`, `and` or `or`.
pub(super) struct Operand {
    /// What it says: `{ a; b }`, or one literal.
    pub(super) query: Query,
    /// It holds where the body doesn't.
    pub(super) negated: bool,
    /// It was written in braces.
    explicit: bool,
    /// It is made of others by `and` or `or`.
    logical: bool,
    /// It is a negation as Rego has it without `import future.keywords.not`.
    pub(super) literal: Option<Literal>,
}

impl Operand {
    fn of(query: Query) -> Self {
        Self {
            query,
            negated: false,
            explicit: false,
            logical: false,
            literal: None,
        }
    }
}

impl<'source> Parser<'source> {
    fn has_logical_operators(&self) -> bool {
        self.is_imported_future_keyword("and") || self.is_imported_future_keyword("or")
    }

    pub(super) fn is_at_logical_operator(&self) -> bool {
        self.tok.0 == TokenKind::Ident
            && matches!(self.token_text(), "and" | "or")
            && self.is_imported_future_keyword(self.token_text())
    }

    /// Whether `not` begins a negation here: `not.x` and `not["x"]` are references.
    fn is_at_negation(&self) -> Result<bool> {
        if self.token_text() != "not" {
            return Ok(false);
        }
        let mut ahead = self.clone();
        ahead.next_token()?;
        let follows = ahead.tok.1.start == ahead.end;
        Ok(!(follows && matches!(ahead.token_text(), "." | "[")))
    }

    /// What a literal begins with, where that is an operand; none where it is a literal as Rego always had it.
    pub(super) fn parse_leading_operand(&mut self) -> Result<Option<Operand>> {
        if self.is_imported_future_keyword("not") && self.is_at_negation()? {
            return self.parse_logical_operand().map(Some);
        }
        if !self.has_logical_operators() {
            return Ok(None);
        }
        let state = self.clone();
        if self.token_text() == "(" {
            if let Some(operand) = self.parse_logical_group(false)? {
                return Ok(Some(operand));
            }
        }
        let operand = self.parse_logical_operand();
        if self.is_at_logical_operator() {
            return operand.map(Some);
        }
        *self = state;
        Ok(None)
    }

    /// One operand: a body in braces, a negation, a group in parentheses, or an expression.
    fn parse_logical_operand(&mut self) -> Result<Operand> {
        let span = self.tok.1.clone();
        if self.token_text() == "{" {
            self.next_token()?;
            if self.token_text() == "}" {
                bail!(span.error("found empty body"));
            }
            let query = self.parse_query(span, "}")?;
            return Ok(Operand {
                explicit: true,
                ..Operand::of(query)
            });
        }
        let negated = self.is_at_negation()?;
        let closure = self.is_imported_future_keyword("not");
        if negated {
            self.next_token()?;
            if closure && self.token_text() == "{" {
                let state = self.clone();
                if let Ok(operand) = self.parse_logical_operand() {
                    return Ok(Operand {
                        negated: true,
                        explicit: false,
                        ..operand
                    });
                }
                *self = state;
            }
        }
        if self.token_text() == "(" && self.has_logical_operators() && (!negated || closure) {
            if let Some(operand) = self.parse_logical_group(true)? {
                if !negated {
                    return Ok(operand);
                }
                let query = self.query_of(&span, operand)?;
                return Ok(Operand {
                    negated: true,
                    ..Operand::of(query)
                });
            }
        }
        let expr = Ref::new(self.parse_assign_expr()?);
        let mut literal_span = span.clone();
        literal_span.end = self.end;
        if let Expr::Call { fcn, .. } = expr.as_ref() {
            if fcn.span().text() == "print" && self.is_at_logical_operator() {
                bail!(literal_span.error("an operand cannot consist of calls to `print` only"));
            }
        }
        if negated && !closure {
            // Below `and` and `or`, a literal of a body of its own.
            if self.is_at_logical_operator() {
                let literal = Literal::NotExpr {
                    span: literal_span,
                    expr,
                };
                return Ok(Operand::of(self.query_of_literal(&span, literal)));
            }
            return Ok(Operand {
                literal: Some(Literal::NotExpr {
                    span: literal_span,
                    expr,
                }),
                ..Operand::of(self.empty_query(&span))
            });
        }
        let literal = Literal::Expr {
            span: literal_span,
            expr,
        };
        Ok(Operand {
            negated,
            ..Operand::of(self.query_of_literal(&span, literal))
        })
    }

    /// `(a or b)`, and whatever else in parentheses is an operand; none, and nothing read, where they hold a value.
    fn parse_logical_group(&mut self, is_operand: bool) -> Result<Option<Operand>> {
        self.with_expr_depth(|this| this.parse_logical_group_within_depth(is_operand))
    }

    fn parse_logical_group_within_depth(&mut self, is_operand: bool) -> Result<Option<Operand>> {
        let state = self.clone();
        let span = self.tok.1.clone();
        self.next_token()?;
        let Ok(operand) = self.parse_logical_operand() else {
            *self = state;
            return Ok(None);
        };
        if self.is_at_logical_operator() {
            let mut operand = self.parse_logical_chain(operand)?;
            let with_mods = self.parse_with_modifiers()?;
            if !with_mods.is_empty() {
                let mut query = self.query_of(&span, operand)?;
                if let Some(stmt) = query.stmts.last_mut() {
                    stmt.with_mods = with_mods;
                }
                operand = Operand::of(query);
            }
            self.expect(")", "to close parenthesized group")?;
            return Ok(Some(Operand {
                logical: true,
                ..operand
            }));
        }
        if self.token_text() == "with" && !operand.explicit {
            let with_mods = self.parse_with_modifiers()?;
            self.expect(")", "to close parenthesized group")?;
            if is_operand || self.is_at_logical_operator() {
                let mut query = self.query_of(&span, operand)?;
                if let Some(stmt) = query.stmts.last_mut() {
                    stmt.with_mods = with_mods;
                }
                return Ok(Some(Operand::of(query)));
            }
        } else if operand.logical || operand.negated {
            self.expect(")", "to close parenthesized group")?;
            return Ok(Some(operand));
        } else if let Some(Literal::NotExpr { .. }) = operand.literal {
            self.expect(")", "to close parenthesized group")?;
            return Ok(Some(operand));
        }
        *self = state;
        Ok(None)
    }

    /// An operand, and what `and` and `or` add to it. `and` binds tighter.
    pub(super) fn parse_logical_chain(&mut self, first: Operand) -> Result<Operand> {
        let mut left = self.parse_and_chain(first)?;
        while self.token_text() == "or" && self.is_at_logical_operator() {
            self.next_token()?;
            let right = self.parse_logical_operand()?;
            let right = self.parse_and_chain(right)?;
            let span = left.query.span.clone();
            // One of two holds unless neither does.
            let neither = vec![
                self.holding(&span, left, false)?,
                self.holding(&span, right, false)?,
            ];
            let query = self.query_of_statements(&span, neither);
            left = Operand {
                negated: true,
                logical: true,
                ..Operand::of(query)
            };
        }
        Ok(left)
    }

    fn parse_and_chain(&mut self, first: Operand) -> Result<Operand> {
        let mut left = first;
        while self.token_text() == "and" && self.is_at_logical_operator() {
            self.next_token()?;
            let right = self.parse_logical_operand()?;
            let span = left.query.span.clone();
            let both = vec![
                self.holding(&span, left, true)?,
                self.holding(&span, right, true)?,
            ];
            let query = self.query_of_statements(&span, both);
            left = Operand {
                logical: true,
                ..Operand::of(query)
            };
        }
        Ok(left)
    }

    /// A statement that says whether an operand holds, or that it doesn't.
    fn holding(&mut self, span: &Span, operand: Operand, holds: bool) -> Result<LiteralStmt> {
        let negated = operand.negated == holds;
        let query = match operand.literal {
            Some(literal) => self.query_of_literal(span, literal),
            None => operand.query,
        };
        let expr = self.closure(span, query, negated)?;
        let span = expr.span().clone();
        Ok(self.statement(Literal::Expr { span, expr }))
    }

    /// `[true | query] != []`, or `==` where it is negated.
    pub(super) fn closure(&mut self, span: &Span, query: Query, negated: bool) -> Result<ExprRef> {
        let mut span = span.clone();
        span.end = self.end.max(span.end);
        let term = Ref::new(Expr::Bool {
            span: span.clone(),
            value: Value::from(true),
            eidx: self.next_eidx(),
        });
        let lhs = Ref::new(Expr::ArrayCompr {
            span: span.clone(),
            term,
            query: Ref::new(query),
            eidx: self.next_eidx(),
        });
        let rhs = Ref::new(Expr::Array {
            span: span.clone(),
            items: vec![],
            eidx: self.next_eidx(),
        });
        check_memory_limit()?;
        Ok(Ref::new(Expr::BoolExpr {
            span,
            op: if negated { BoolOp::Eq } else { BoolOp::Ne },
            lhs,
            rhs,
            eidx: self.next_eidx(),
        }))
    }

    /// A body that holds where an operand does.
    fn query_of(&mut self, span: &Span, operand: Operand) -> Result<Query> {
        match operand.literal {
            Some(literal) => Ok(self.query_of_literal(span, literal)),
            None if operand.negated => {
                let stmt = self.holding(span, operand, true)?;
                Ok(self.query_of_statements(span, vec![stmt]))
            }
            None => Ok(operand.query),
        }
    }

    fn query_of_literal(&mut self, span: &Span, literal: Literal) -> Query {
        let stmt = self.statement(literal);
        self.query_of_statements(span, vec![stmt])
    }

    fn statement(&mut self, literal: Literal) -> LiteralStmt {
        let span = match &literal {
            Literal::SomeVars { span, .. }
            | Literal::SomeIn { span, .. }
            | Literal::Expr { span, .. }
            | Literal::NotExpr { span, .. }
            | Literal::Every { span, .. } => span.clone(),
        };
        LiteralStmt {
            span,
            literal,
            with_mods: vec![],
            sidx: self.next_sidx(),
        }
    }

    fn query_of_statements(&mut self, span: &Span, stmts: Vec<LiteralStmt>) -> Query {
        let mut span = span.clone();
        span.end = self.end.max(span.end);
        Query {
            span,
            stmts,
            qidx: self.next_qidx(),
        }
    }

    /// Nothing: what stands for the body of an operand that is a literal.
    fn empty_query(&self, span: &Span) -> Query {
        Query {
            span: span.clone(),
            stmts: vec![],
            qidx: 0,
        }
    }
}
