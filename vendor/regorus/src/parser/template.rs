// Template strings: `$"{container.name} runs {container.image}"`.
//
// They become calls of `internal.template_string`, as in OPA. Its argument is an array of texts and, for each expression,
// an array of what that comes to: empty where it is undefined.

use super::*;

const TEMPLATE_STRING: (&str, &str) = ("internal", "template_string");

impl<'source> Parser<'source> {
    pub(super) fn parse_template_string(&mut self) -> Result<Expr> {
        self.with_expr_depth(Self::parse_template_string_within_depth)
    }

    fn parse_template_string_within_depth(&mut self) -> Result<Expr> {
        let mut span = self.tok.1.clone();
        let raw = self.lexer.begin_template()?;
        let mut parts = vec![];
        loop {
            let (text, text_span, is_end) = self.lexer.read_template_text(raw)?;
            if is_end {
                span.end = text_span.end.saturating_add(1);
            }
            if !text.is_empty() {
                parts.push(Ref::new(Expr::String {
                    span: text_span,
                    value: Value::from(text),
                    eidx: self.next_eidx(),
                }));
            }
            // Guard template strings against allocator limits.
            check_memory_limit()?;
            if is_end {
                break;
            }
            self.next_token()?;
            parts.push(self.parse_template_expression()?);
            // The rest of the text comes next, not a token.
            if self.token_text() != "}" {
                self.expect("}", "while parsing a template string")?;
            }
        }
        self.end = span.end;
        self.tok.1.end = span.end;
        self.next_token()?;
        self.template_call(span, parts)
    }

    /// `[expression | true]`, or with modifiers `[value | value := expression with …]`.
    fn parse_template_expression(&mut self) -> Result<Ref<Expr>> {
        let mut span = self.tok.1.clone();
        let mut term = Ref::new(self.parse_expr()?);
        let with_mods = self.parse_with_modifiers()?;
        span.end = self.end;
        let mut stmts = vec![];
        if !with_mods.is_empty() {
            let name = format!("__template_{}__", self.expr_depth);
            let (variable, assigned) = (self.named(&name)?, self.named(&name)?);
            let expr = Ref::new(Expr::AssignExpr {
                span: span.clone(),
                op: AssignOp::ColEq,
                lhs: Ref::new(assigned),
                rhs: term,
                eidx: self.next_eidx(),
            });
            term = Ref::new(variable);
            stmts.push(LiteralStmt {
                span: span.clone(),
                literal: Literal::Expr {
                    span: span.clone(),
                    expr,
                },
                with_mods,
                sidx: self.next_sidx(),
            });
        }
        let query = Ref::new(Query {
            span: span.clone(),
            stmts,
            qidx: self.next_qidx(),
        });
        Ok(Ref::new(Expr::ArrayCompr {
            span,
            term,
            query,
            eidx: self.next_eidx(),
        }))
    }

    fn template_call(&mut self, span: Span, parts: Vec<Ref<Expr>>) -> Result<Expr> {
        let refr = self.named(TEMPLATE_STRING.0)?;
        let field = self.outside(TEMPLATE_STRING.1)?;
        let fcn = Ref::new(Expr::RefDot {
            span: span.clone(),
            refr: Ref::new(refr),
            field: (field, Value::from(TEMPLATE_STRING.1)),
            eidx: self.next_eidx(),
        });
        let items = Ref::new(Expr::Array {
            span: span.clone(),
            items: parts,
            eidx: self.next_eidx(),
        });
        Ok(Expr::Call {
            span,
            fcn,
            params: vec![items],
            eidx: self.next_eidx(),
        })
    }

    /// A variable that doesn't stand in the source.
    fn named(&mut self, name: &str) -> Result<Expr> {
        Ok(Expr::Var {
            span: self.outside(name)?,
            value: Value::from(name),
            eidx: self.next_eidx(),
        })
    }

    /// The place of a name that doesn't stand in the source.
    fn outside(&self, name: &str) -> Result<Span> {
        let source = Source::from_contents(self.source.file().to_string(), name.to_string())?;
        let end = u32::try_from(name.len())?;
        Ok(Span {
            source,
            line: 1,
            col: 1,
            start: 0,
            end,
        })
    }
}
