//! Modules that the parser must not see: it would read them without end, or overflow the engine's stack.

use regorus::unstable::{Lexer, Source, TokenKind};

/// Operators, dots and brackets of one expression: the engine recurses for each of them.
const MAX_OPERATORS: usize = 128;
/// Tokens that the parser reads again. It reads the first element of an array, a set or an object twice, first as that
/// of a comprehension; twenty brackets in a row are a million readings.
const MAX_REREAD: u64 = 500_000;
/// Characters of a number. `1e2000000000` would be computed while the text is read.
const MAX_NUMBER_LENGTH: usize = 64;
/// The largest exponent of a number.
const LARGEST_EXPONENT: u32 = 400;

/// Checks a module before it is parsed: the parser bounds brackets, but not the length of an expression.
///
/// The parser reports text that isn't Rego.
pub(super) fn nested(text: &str) -> Option<Nested> {
    let source = Source::from_contents(String::new(), text.to_owned()).ok()?;
    let mut lexer = Lexer::new(&source);
    let mut open = vec![Bracket { sign: Sign::Brace, operators: 0, first: false, begun: true, template: None }];
    let rereads_all = has_logical_operators(text);
    // In such a module elements are cloned, in others only read again.
    let most = if rereads_all { MAX_REREAD / 16 } else { MAX_REREAD };
    let (mut line, mut continues) = (0, false);
    let mut reread: u64 = 0;
    loop {
        let token = lexer.next_token().ok()?;
        let span = token.1;
        let sign = Sign::of(&token.0, span.text());
        let found = |why: String| Some(Nested { why, line: span.line, col: span.col });
        // Statements start on lines of their own, unless an operator stands on either side of the break.
        let starts = span.line != line && !continues && sign != Sign::Operator;
        if let Some(innermost) = open.last_mut()
            && (starts && innermost.sign == Sign::Brace || sign == Sign::Separator)
        {
            innermost.operators = 0;
            // Whatever follows a break without a comma is a body's next statement, which is read once.
            innermost.first &= rereads_all || !innermost.begun;
        }
        if let Some(innermost) = open.last_mut() {
            innermost.begun = true;
        }
        (line, continues) = (span.line, sign == Sign::Operator);

        let doubled = u32::try_from(open.iter().filter(|bracket| bracket.first).count()).unwrap_or(u32::MAX);
        reread = reread.saturating_add(2_u64.saturating_pow(doubled) - 1);
        if reread > most {
            return found(format!("{doubled} brackets in brackets: give the inner ones a name of their own"));
        }
        match sign {
            Sign::End => return None,
            Sign::Number if is_too_long(span.text()) => {
                return found(format!(
                    "a number of more than {MAX_NUMBER_LENGTH} characters, or beyond 1e{LARGEST_EXPONENT}"
                ));
            }
            Sign::Close if open.len() > 1 => {
                if let Some(raw) = open.pop().and_then(|bracket| bracket.template) {
                    open.extend(template(&mut lexer, raw)?);
                }
            }
            Sign::Template => {
                let raw = lexer.begin_template().ok()?;
                open.extend(template(&mut lexer, raw)?);
            }
            Sign::Operator | Sign::Square => {
                let operators = open.last_mut().map_or(0, |innermost| {
                    innermost.operators += 1;
                    innermost.operators
                });
                if operators > MAX_OPERATORS {
                    return found(format!("an expression of more than {MAX_OPERATORS} operators: split it"));
                }
            }
            _ => {}
        }
        if matches!(sign, Sign::Brace | Sign::Square | Sign::Round) {
            let first = sign != Sign::Round || rereads_all;
            open.push(Bracket { sign, operators: 0, first, begun: false, template: None });
        }
    }
}

/// Whether the parser knows `and` and `or`: it reads their possible operands twice.
fn has_logical_operators(text: &str) -> bool {
    text.lines().filter_map(|line| line.trim_start().strip_prefix("import ")).any(|import| {
        let import = import.trim_start();
        let import = import.split([' ', '\t', '#', ';', '\r']).next().unwrap_or_default();
        matches!(import, "rego.v2" | "future.keywords") || {
            let keyword = import.strip_prefix("future.keywords.");
            keyword.is_some_and(|keyword| matches!(keyword, "and" | "or" | "not"))
        }
    })
}

/// Reads a template string up to its next expression, which counts as a bracket. None inside: the string ends.
fn template(lexer: &mut Lexer<'_>, raw: bool) -> Option<Option<Bracket>> {
    let (_, _, is_end) = lexer.read_template_text(raw).ok()?;
    let bracket = Bracket { sign: Sign::Template, operators: 0, first: false, begun: false, template: Some(raw) };
    Some((!is_end).then_some(bracket))
}

/// A place in a module that the parser must not see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nested {
    /// What is the matter with it.
    pub(super) why: String,
    /// Counted from one.
    pub(super) line: u32,
    /// Counted from one.
    pub(super) col: u32,
}

/// A bracket that is open.
struct Bracket {
    sign: Sign,
    /// Those of its current expression.
    operators: usize,
    /// Whether this is still its first element.
    first: bool,
    /// Whether there is anything in it.
    begun: bool,
    /// For an expression in a template string: whether the string is raw.
    template: Option<bool>,
}

/// What a token is to [`nested`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Brace,
    Square,
    Round,
    Close,
    Template,
    Separator,
    Operator,
    Number,
    Word,
    End,
}

impl Sign {
    fn of(kind: &TokenKind, text: &str) -> Self {
        match (kind, text) {
            (TokenKind::Eof, _) => Self::End,
            (TokenKind::Number, _) => Self::Number,
            (TokenKind::Symbol, "{") => Self::Brace,
            (TokenKind::Symbol, "[") => Self::Square,
            (TokenKind::Symbol, "(") => Self::Round,
            (TokenKind::Symbol, "}" | "]" | ")") => Self::Close,
            (TokenKind::Symbol, "$") => Self::Template,
            (TokenKind::Symbol, "," | ";") => Self::Separator,
            (TokenKind::Symbol, _) => Self::Operator,
            _ => Self::Word,
        }
    }
}

fn is_too_long(number: &str) -> bool {
    let power = number.split_once(['e', 'E']).map(|(_, power)| power.trim_start_matches(['+', '-']));
    number.len() > MAX_NUMBER_LENGTH
        || power.is_some_and(|power| !power.parse().is_ok_and(|power: u32| power <= LARGEST_EXPONENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_the_parser_must_not_see() {
        for (text, place) in [
            (format!("package p\nx := 1{}", " +\n1".repeat(MAX_OPERATORS)), Some((MAX_OPERATORS as u32 + 1, 3))),
            (format!("package p\nx := 1{}", " +\n1".repeat(MAX_OPERATORS - 1)), None),
            (format!("package p\nx := [{}1]", "1 + 1,\n".repeat(1000)), None),
            (format!("package p\n{}", "x := 1\n".repeat(1000)), None),
            (format!("package p\nx {{\n{}}}", "a.b.c == 1\n".repeat(1000)), None),
            (format!("package p\nx := input{}", ".a".repeat(200)), Some((2, 265))),
            ("package p\nx := 1e308".to_owned(), None),
            (format!("package p\nx := {}1{}", "[".repeat(24), "]".repeat(24)), Some((2, 24))),
            (format!("package p\nx := {}1{}", "[".repeat(12), "]".repeat(12)), None),
            (format!("package p\nx := {}1{}", "{\"a\": ".repeat(12), "}".repeat(12)), None),
            (format!("package p\n{}", "x[y] {\n\ty := [z | z := {\"a\": [input.b[_]]}[_]]\n}\n".repeat(1000)), None),
            ("package p\nx := (".to_owned(), None),
            // What stands in template strings is read as well.
            (format!("package p\nx := $\"\\{{a}} {{{}1{}}}\"", "[".repeat(24), "]".repeat(24)), Some((2, 32))),
            (format!("package p\nx := $`{{$\"{{{}1{}}}\"}} b`", "[".repeat(24), "]".repeat(24)), Some((2, 30))),
            ("package p\nx := $\"{input.a} and {input.b}\"".to_owned(), None),
            // Operands of `and` and `or` are read twice.
            (format!("package p\nimport rego.v2\nx if {}a{}", "{ ".repeat(24), " }".repeat(24)), Some((3, 34))),
            (format!("package p\nimport rego.v2\nx if {}a{} or b", "(".repeat(24), ")".repeat(24)), Some((3, 20))),
            (format!("package p\nimport rego.v2\nx if {}a{}", "{ ".repeat(6), " }".repeat(6)), None),
            ("package p\nx := \"".to_owned(), None),
        ] {
            assert_eq!(
                nested(&text).map(|nested| (nested.line, nested.col)),
                place,
                "{}",
                text.get(..40).unwrap_or(&text)
            );
        }
    }
}
