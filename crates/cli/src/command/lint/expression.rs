//! The `expression` of a policy group: `signed() && (reviewed() || !released())`.

use std::collections::BTreeSet;

/// How deep parentheses and negations may be.
const MAX_DEPTH: usize = 50;

/// What decides with the verdicts of members.
#[derive(Debug)]
pub(super) enum Expression {
    Constant(bool),
    Member(String),
    Not(Box<Self>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Equal(Box<Self>, Box<Self>),
}

impl Expression {
    /// Reads an expression; none where it is none that Kubewarden takes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader(text);
        let expression = reader.either(0)?;
        reader.rest().is_empty().then_some(expression)
    }

    /// The members that it asks.
    pub(super) fn members(&self) -> BTreeSet<&str> {
        match self {
            Self::Constant(_) => BTreeSet::new(),
            Self::Member(name) => BTreeSet::from([name.as_str()]),
            Self::Not(of) => of.members(),
            Self::And(left, right) | Self::Or(left, right) | Self::Equal(left, right) => {
                left.members().into_iter().chain(right.members()).collect()
            }
        }
    }

    /// What it comes to with these verdicts.
    pub(super) fn holds(&self, verdict: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Constant(value) => *value,
            Self::Member(name) => verdict(name),
            Self::Not(of) => !of.holds(verdict),
            Self::And(left, right) => left.holds(verdict) && right.holds(verdict),
            Self::Or(left, right) => left.holds(verdict) || right.holds(verdict),
            Self::Equal(left, right) => left.holds(verdict) == right.holds(verdict),
        }
    }
}

/// What two operands with a sign between them are.
type Join = fn(Box<Expression>, Box<Expression>) -> Expression;

/// What is still to be read.
struct Reader<'t>(&'t str);

impl<'t> Reader<'t> {
    fn rest(&mut self) -> &'t str {
        self.0 = self.0.trim_start();
        self.0
    }

    /// Reads a sign, where it stands next.
    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Operands with one operator between them, the first two joined first.
    fn joined(
        &mut self,
        depth: usize,
        signs: &[(&str, Join)],
        operand: fn(&mut Self, usize) -> Option<Expression>,
    ) -> Option<Expression> {
        let mut left = operand(self, depth)?;
        while let Some((_, join)) = signs.iter().find(|(sign, _)| self.takes(sign)) {
            left = join(Box::new(left), Box::new(operand(self, depth)?));
        }
        Some(left)
    }

    fn either(&mut self, depth: usize) -> Option<Expression> {
        self.joined(depth, &[("||", Expression::Or)], Self::both)
    }

    fn both(&mut self, depth: usize) -> Option<Expression> {
        self.joined(depth, &[("&&", Expression::And)], Self::compared)
    }

    fn compared(&mut self, depth: usize) -> Option<Expression> {
        let differ = |left, right| Expression::Not(Box::new(Expression::Equal(left, right)));
        self.joined(depth, &[("==", Expression::Equal), ("!=", differ)], Self::operand)
    }

    fn operand(&mut self, depth: usize) -> Option<Expression> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.takes("!") {
            return Some(Expression::Not(Box::new(self.operand(depth + 1)?)));
        }
        if self.takes("(") {
            let within = self.either(depth + 1)?;
            return self.takes(")").then_some(within);
        }
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        self.0 = after;
        match name {
            "" => None,
            "true" => Some(Expression::Constant(true)),
            "false" => Some(Expression::Constant(false)),
            name => (self.takes("(") && self.takes(")")).then(|| Expression::Member(name.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_what_they_do_in_cel() {
        for (text, expected) in [
            ("a()", true),
            ("b()", false),
            ("a() && b()", false),
            ("a() || b() && b()", true),
            ("(a() || b()) && b()", false),
            ("!b() && a()", true),
            ("!(a() && b())", true),
            ("!b() == a()", true),
            ("a() != b() && true", true),
            (" a ( ) \n&& ! false ", true),
        ] {
            let expression = Expression::parse(text).unwrap();
            assert_eq!(expression.holds(&|name| name == "a"), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_of_members() {
        let deep = format!("{}a(){}", "(".repeat(10_000), ")".repeat(10_000));
        let negated = format!("{}a()", "!".repeat(100_000));
        for text in [
            "",
            "a",
            "a(",
            "a() &&",
            "a() & b()",
            "a() b()",
            "a(1)",
            "(a()",
            "a())",
            "1 == 1",
            "a.b()",
            "é()",
            &deep,
            &negated,
        ] {
            assert!(Expression::parse(text).is_none(), "{}", text.get(..40).unwrap_or(text));
        }
    }
}
