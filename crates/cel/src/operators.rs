//! Operators of CEL as expressions spell them. The syntax tree and the engine's errors have other names for them.

use crate::expression::PLUS;
use cel::common::ast::operators;

/// The operators, each by its name in the syntax tree and, if that differs, by its name in errors.
const OPERATORS: [(&str, &str, &str); 20] = [
    ("+", operators::ADD, "add"),
    ("+", PLUS, PLUS),
    ("-", operators::SUBSTRACT, "sub"),
    ("*", operators::MULTIPLY, "mul"),
    ("/", operators::DIVIDE, "div"),
    ("%", operators::MODULO, "rem"),
    ("-", operators::NEGATE, "negate"),
    ("!", operators::LOGICAL_NOT, operators::LOGICAL_NOT),
    ("&&", operators::LOGICAL_AND, operators::LOGICAL_AND),
    ("||", operators::LOGICAL_OR, operators::LOGICAL_OR),
    ("?", operators::CONDITIONAL, operators::CONDITIONAL),
    ("==", operators::EQUALS, operators::EQUALS),
    ("!=", operators::NOT_EQUALS, operators::NOT_EQUALS),
    ("<", operators::LESS, operators::LESS),
    ("<=", operators::LESS_EQUALS, operators::LESS_EQUALS),
    (">", operators::GREATER, operators::GREATER),
    (">=", operators::GREATER_EQUALS, operators::GREATER_EQUALS),
    ("in", operators::IN, operators::IN),
    ("[]", operators::INDEX, operators::INDEX),
    ("[?]", operators::OPT_INDEX, operators::OPT_INDEX),
];

/// The spelling of an operator of the syntax tree; none for anything else.
pub fn sign(name: &str) -> Option<&'static str> {
    OPERATORS.iter().find(|(_, own, _)| *own == name).map(|(sign, ..)| *sign)
}

/// The spelling of an operator that an error names.
pub(crate) fn sign_in_error(name: &str) -> Option<&'static str> {
    OPERATORS.iter().find(|(_, own, other)| *own == name || *other == name).map(|(sign, ..)| *sign)
}

#[cfg(test)]
mod tests {
    use crate::expression::{Program, Scope, Time, map_of};
    use cel::Value;

    #[test]
    fn errors_name_operators_as_they_are_written() {
        for (text, error) in [
            ("o.int + o.text", "`+` takes no int and string"),
            ("o.flag + 1", "`+` takes no bool and int"),
            ("o.int - o.text", "`-` takes no int and string"),
            ("o.int * o.text", "`*` takes no int and string"),
            ("o.int / o.text", "`/` takes no int and string"),
            ("o.int % o.text", "`%` takes no int and string"),
            ("o.int < o.text", "`<` takes no int and string"),
            ("o.int in o.text", "`in` takes no int and string"),
            ("-o.text", "`-` takes no string"),
            ("!o.int", "`!` takes no int"),
            ("o.int && true", "`&&` takes no int and bool"),
            ("o.text[0]", "`[]` takes no string and int"),
            ("o.int + 9223372036854775807", "`+` is out of range"),
            ("o.int * 9223372036854775807", "`*` is out of range"),
        ] {
            let program = Program::read(text).unwrap();
            let mut scope = Scope::new([&program.references].into_iter(), &Time::default());
            let fields = [("int", Value::Int(3)), ("text", Value::from("a")), ("flag", Value::Bool(true))];
            scope.set("o", map_of(fields.into_iter()));
            assert_eq!(program.evaluate(&scope).unwrap_err().to_string(), error, "{text}");
        }
    }
}
