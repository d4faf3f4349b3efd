//! Rules that can't give what is asked of them: `deny[msg] if`, which makes an object, or a rule that is true.
//!
//! Only what is wrong for every request is reported. What references and most functions give isn't known here.

use super::scope::{head, package, spelled};
use crate::evaluation::module::{Facts, Place};
use crate::evaluation::template_string::TEMPLATE_STRING;
use crate::rules::Asked;
use regorus::Value;
use regorus::unstable::{ArithOp, AssignOp, Expr, ExprRef, Literal, Module, Query, Ref, Rule, RuleHead, Span};
use std::collections::BTreeSet;

/// How many variables may stand for one another before one has a value that is written out.
const MOST_NAMES: usize = 8;
/// Builtins that always give a string, a number, or true or false.
const TEXTS: [&str; 8] =
    ["concat", "format_int", "lower", "replace", "sprintf", "trim_space", "upper", TEMPLATE_STRING];
const NUMBERS: [&str; 1] = ["count"];
const TRUTHS: [&str; 6] = ["contains", "endswith", "glob.match", "re_match", "regex.match", "startswith"];

/// A rule whose form can't give what is asked of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misshapen {
    /// The module that it stands in.
    pub(super) file: String,
    pub(super) place: Place,
    /// What it gives, and what to write instead.
    pub(super) why: String,
}

/// The first rule of the first module's package that can't give what is asked of it. `asked` says by name what that is, for the
/// rules that the first module defines.
pub(super) fn misshapen(
    modules: &[Ref<Module>],
    facts: &[Facts],
    asked: impl Fn(&str) -> Option<Asked>,
) -> Option<Misshapen> {
    let (first, own) = (modules.first()?, facts.first()?);
    let functions: BTreeSet<&str> = facts.iter().flat_map(|facts| &facts.functions).map(String::as_str).collect();
    let of_package = modules.iter().filter(|module| package(module) == package(first));
    let mut rules = of_package.flat_map(|module| module.policy.iter().map(move |rule| (module, rule)));
    rules.find_map(|(module, rule)| {
        let name = spelled(head(rule)).0?;
        let looked = Looked { name: &name, asked: asked(&name)?, functions: &functions, module };
        let why = if is_function(rule) {
            let is_used = facts.iter().any(|facts| calls(facts, &name));
            (!is_used).then(|| {
                format!("`{name}` is a function, which nobody calls and nobody asks: {}", looked.advice("msg"))
            })
        } else {
            own.rules.contains(&name).then(|| looked.rule(rule)).flatten()
        }?;
        let span = rule.span();
        let place = Place { line: span.line, column: span.col };
        Some(Misshapen { file: span.source.get_path().clone(), place, why })
    })
}

/// Why an object is no operation of a JSON patch.
fn no_operation(fields: &[(String, Written<'_>)]) -> Option<String> {
    let field = |key: &str| fields.iter().find(|(own, _)| own == key).map(|(_, value)| value);
    let text = |key: &str| match resolved(field(key)?.clone())?.expr {
        Expr::String { value: Value::String(text), .. } | Expr::RawString { value: Value::String(text), .. } => {
            Some(text.to_string())
        }
        _ => None,
    };
    let does = text("op");
    let needed = match does.as_deref() {
        None => &["op", "path"][..],
        Some("add" | "replace" | "test") => &["path", "value"],
        Some("copy" | "move") => &["path", "from"],
        Some("remove") => &["path"],
        Some(unknown) => return Some(format!("has the `op` `{unknown}`")),
    };
    if let Some(missing) = needed.iter().find(|key| field(key).is_none()) {
        return Some(format!("has no `{missing}`"));
    }
    let path = text("path").filter(|path| !path.is_empty() && !path.starts_with('/'))?;
    Some(format!("has the `path` `{path}`, which begins with no `/`"))
}

fn is_function(rule: &Rule) -> bool {
    match rule {
        Rule::Default { args, .. } => !args.is_empty(),
        Rule::Spec { head, .. } => matches!(head, RuleHead::Func { .. }),
    }
}

/// Whether a module calls a function of this name, in any package, or refers to it.
fn calls(facts: &Facts, name: &str) -> bool {
    facts.names.contains(name)
        || facts.calls.keys().any(|called| called.rsplit('.').next() == Some(name))
        || facts.data.iter().any(|reference| reference.keys.iter().any(|key| key.as_deref() == Some(name)))
}

/// A rule that is asked, by its name.
struct Looked<'m> {
    name: &'m str,
    asked: Asked,
    /// Functions of the modules, which may have the names of builtins.
    functions: &'m BTreeSet<&'m str>,
    module: &'m Module,
}

/// An expression, with the bodies around it that give its variables their values, the innermost first.
#[derive(Clone)]
struct Written<'m> {
    expr: &'m Expr,
    bodies: Vec<&'m Query>,
}

/// What an expression gives, as far as that is known.
enum Given<'m> {
    Unknown,
    Text,
    /// None: it depends on the request.
    Truth(Option<bool>),
    Number,
    Null,
    Array(Vec<Written<'m>>),
    Set(Vec<Written<'m>>),
    /// Its fields, if all their names are known.
    Object(Option<Vec<(String, Written<'m>)>>),
}

impl Given<'_> {
    fn shown(&self) -> &'static str {
        match self {
            Self::Unknown => "something",
            Self::Text => "a string",
            Self::Truth(Some(true)) => "true",
            Self::Truth(Some(false)) => "false",
            Self::Truth(None) => "true or false",
            Self::Number => "a number",
            Self::Null => "null",
            Self::Array(_) => "an array",
            Self::Set(_) => "a set",
            Self::Object(_) => "an object",
        }
    }
}

impl<'m> Looked<'m> {
    /// Why one definition of the rule can't give what is asked.
    fn rule(&self, rule: &'m Rule) -> Option<String> {
        let (head, bodies) = match rule {
            Rule::Default { value, .. } => return self.value(&Written { expr: value, bodies: Vec::new() }),
            Rule::Spec { head, bodies, .. } => (head, bodies),
        };
        match head {
            RuleHead::Set { refr, key, .. } => {
                if matches!(self.asked, Asked::Verdict | Asked::Review) {
                    return Some(self.gives("a set"));
                }
                let key = match (refr.as_ref(), key) {
                    (Expr::Var { .. }, Some(key)) => key,
                    (_, Some(_)) => return Some(self.object(refr)),
                    // `deny.reason { … }` is `deny["reason"] { … }`.
                    (_, None) => return None,
                };
                let written = |bodies| Written { expr: key, bodies };
                match bodies.split_first() {
                    None => self.element(&written(Vec::new())),
                    Some(_) => bodies.iter().find_map(|body| self.element(&written(vec![&body.query]))),
                }
            }
            RuleHead::Compr { refr, assign, .. } => {
                if !matches!(refr.as_ref(), Expr::Var { .. }) {
                    // Only a review may be an object.
                    return (self.asked != Asked::Review).then(|| self.object(refr));
                }
                let value = |assign: Option<&'m ExprRef>, bodies| match assign {
                    Some(expr) => self.value(&Written { expr, bodies }),
                    None => self.unfit(&Given::Truth(Some(true))),
                };
                let of_head = assign.as_ref().map(|assign| &assign.value);
                if bodies.is_empty() {
                    return value(of_head, Vec::new());
                }
                bodies.iter().find_map(|body| {
                    let own = body.assign.as_ref().map(|assign| &assign.value);
                    value(own.or(of_head.filter(|_| !body.is_else)), vec![&body.query])
                })
            }
            RuleHead::Func { .. } => None,
        }
    }

    /// Why the value of a rule can't be what is asked.
    fn value(&self, written: &Written<'m>) -> Option<String> {
        self.unfit(&self.given(written))
    }

    fn unfit(&self, given: &Given<'m>) -> Option<String> {
        match (self.asked, given) {
            (_, Given::Unknown)
            | (Asked::Messages, Given::Text | Given::Truth(Some(false)))
            | (Asked::Verdict, Given::Truth(_))
            | (Asked::Review, Given::Object(_)) => None,
            (Asked::Messages | Asked::Operations | Asked::RuleNames, Given::Array(elements) | Given::Set(elements))
            | (Asked::Reasons, Given::Set(elements)) => elements.iter().find_map(|element| self.element(element)),
            _ => Some(self.gives(given.shown())),
        }
    }

    /// Why an element of what a rule gives can't be what is asked.
    fn element(&self, written: &Written<'m>) -> Option<String> {
        let given = self.given(written);
        let name = self.name;
        match (self.asked, &given) {
            (_, Given::Unknown)
            | (Asked::Messages | Asked::Reasons, Given::Text)
            | (Asked::Operations, Given::Object(None)) => None,
            (Asked::Operations, Given::Array(operations)) => {
                operations.iter().find_map(|operation| self.element(operation))
            }
            (Asked::Operations, Given::Object(Some(fields))) => {
                let why = no_operation(fields)?;
                Some(format!(
                    "an operation of `{name}` {why}; write `{{\"op\": \"add\", \"path\": \"/…\", \"value\": …}}`"
                ))
            }
            (Asked::Messages, Given::Object(fields)) => {
                let why = self.no_message(fields.as_deref()?, 1)?;
                Some(format!("a message of `{name}` is {why}; messages are strings, or objects with a string `msg`"))
            }
            (Asked::RuleNames, Given::Array(names) | Given::Set(names)) => {
                let wrong = names.iter().map(|name| self.given(name));
                let wrong = wrong.into_iter().find(|given| !matches!(given, Given::Unknown | Given::Text))?;
                Some(format!(
                    "`{name}` names {}, and no rule: each of its elements is a list of rule names",
                    wrong.shown()
                ))
            }
            (Asked::Messages, _) => Some(format!(
                "a message of `{name}` is {}; messages are strings, or objects with a string `msg`",
                given.shown()
            )),
            (Asked::Reasons, _) => Some(format!("a message of `{name}` is {}; messages are strings", given.shown())),
            (Asked::Operations, _) => {
                Some(format!("an operation of `{name}` is {}; operations are objects, or lists of them", given.shown()))
            }
            (Asked::RuleNames, _) => {
                Some(format!("an element of `{name}` is {}; each is a list of rule names", given.shown()))
            }
            // These have no elements.
            (Asked::Verdict | Asked::Review, _) => None,
        }
    }

    /// Why an object has no message. `msg` may be nested `below` times.
    fn no_message(&self, fields: &[(String, Written<'m>)], below: usize) -> Option<String> {
        let Some((_, message)) = fields.iter().find(|(key, _)| key == "msg") else {
            return Some("an object without `msg`".to_owned());
        };
        match self.given(message) {
            Given::Unknown | Given::Text => None,
            Given::Object(fields) if below > 0 => self
                .no_message(fields.as_deref()?, below - 1)
                .map(|_| "an object whose `msg` is an object without a string `msg`".to_owned()),
            other => Some(format!("an object whose `msg` is {}", other.shown())),
        }
    }

    fn gives(&self, what: &str) -> String {
        let name = self.name;
        let asked = match self.asked {
            Asked::Messages => "messages are",
            Asked::Reasons => "a set of strings is",
            Asked::Verdict => "true or false is",
            Asked::Operations => "a set of operations is",
            Asked::RuleNames => "a set of lists of rule names is",
            Asked::Review => "an AdmissionReview is",
        };
        // `warn_threshold := 3` is a constant with an unhappy name.
        let rename = if name.contains('_') && self.asked == Asked::Messages { ", or give it another name" } else { "" };
        format!("`{name}` gives {what}, where {asked} asked for: {}{rename}", self.advice("msg"))
    }

    /// The error that the rule is an object.
    fn object(&self, refr: &Expr) -> String {
        let message = match refr {
            Expr::RefBrack { refr, index, .. } if matches!(refr.as_ref(), Expr::Var { .. }) => index.span().text(),
            _ => "msg",
        };
        match self.asked {
            Asked::Messages | Asked::Reasons => {
                format!(
                    "`{}` becomes an object here, where a set of messages is asked for: {}",
                    self.name,
                    self.advice(message)
                )
            }
            _ => self.gives("an object"),
        }
    }

    /// How to write the rule.
    fn advice(&self, element: &str) -> String {
        let name = self.name;
        let imports = |keyword: &str| {
            self.module.rego_v1
                || self.module.imports.iter().any(|import| {
                    let (root, fields, _) = spelled(&import.refr);
                    let path: Vec<&str> = root.iter().chain(&fields).map(String::as_str).collect();
                    matches!(path.as_slice(), ["rego", "v1" | "v2"] | ["future", "keywords"])
                        || matches!(path.as_slice(), ["future", "keywords", word] if *word == keyword)
                })
        };
        let element = match self.asked {
            Asked::Messages | Asked::Reasons => element,
            Asked::Operations => "operation",
            Asked::RuleNames => "rules",
            Asked::Verdict if imports("if") => return format!("write `{name} if {{ … }}`"),
            Asked::Verdict => return format!("write `{name} {{ … }}`"),
            Asked::Review => return format!("write `{name} := {{\"response\": …}}`"),
        };
        match (imports("if"), imports("contains")) {
            (true, true) => format!("write `{name} contains {element} if`"),
            (true, false) => format!("write `{name} contains {element} if`, with `import future.keywords.contains`"),
            (false, true) => format!("write `{name} contains {element}`"),
            (false, false) => format!("write `{name}[{element}] {{ … }}`"),
        }
    }

    /// What an expression gives.
    fn given(&self, written: &Written<'m>) -> Given<'m> {
        let Some(Written { expr, bodies }) = resolved(written.clone()) else { return Given::Unknown };
        let part = |expr: &'m ExprRef| Written { expr, bodies: bodies.clone() };
        let of_each = |term: &'m ExprRef, query: &'m Query| {
            let bodies = std::iter::once(query).chain(bodies.iter().copied()).collect();
            vec![Written { expr: term, bodies }]
        };
        match expr {
            Expr::String { .. } | Expr::RawString { .. } => Given::Text,
            Expr::Number { .. } => Given::Number,
            Expr::Bool { value, .. } => Given::Truth(value.as_bool().ok().copied()),
            Expr::Null { .. } => Given::Null,
            Expr::Array { items, .. } => Given::Array(items.iter().map(part).collect()),
            Expr::Set { items, .. } => Given::Set(items.iter().map(part).collect()),
            Expr::ArrayCompr { term, query, .. } => Given::Array(of_each(term, query)),
            Expr::SetCompr { term, query, .. } => Given::Set(of_each(term, query)),
            Expr::Object { fields, .. } => Given::Object(fields_of(fields, part)),
            Expr::ObjectCompr { .. } => Given::Object(None),
            Expr::BoolExpr { .. } | Expr::Membership { .. } => Given::Truth(None),
            // `-` is for numbers and for sets.
            Expr::ArithExpr { op: ArithOp::Sub, .. } => Given::Unknown,
            Expr::ArithExpr { .. } | Expr::UnaryExpr { .. } => Given::Number,
            Expr::BinExpr { .. } => Given::Set(Vec::new()),
            Expr::Call { fcn, .. } => self.called(fcn),
            _ => Given::Unknown,
        }
    }

    /// What a builtin gives.
    fn called(&self, function: &Expr) -> Given<'m> {
        let (root, fields, _) = spelled(function);
        let name = root.into_iter().chain(fields).collect::<Vec<_>>().join(".");
        let name = name.as_str();
        match name {
            _ if self.functions.contains(name) => Given::Unknown,
            _ if TEXTS.contains(&name) => Given::Text,
            _ if NUMBERS.contains(&name) => Given::Number,
            _ if TRUTHS.contains(&name) => Given::Truth(None),
            _ => Given::Unknown,
        }
    }
}

/// The fields of an object, if all their names are written out.
fn fields_of<'m>(
    fields: &'m [(Span, ExprRef, ExprRef)],
    part: impl Fn(&'m ExprRef) -> Written<'m>,
) -> Option<Vec<(String, Written<'m>)>> {
    let field = |(_, key, value): &'m (Span, ExprRef, ExprRef)| match key.as_ref() {
        Expr::String { value: Value::String(key), .. } | Expr::RawString { value: Value::String(key), .. } => {
            Some((key.to_string(), part(value)))
        }
        _ => None,
    };
    fields.iter().map(field).collect()
}

/// What a variable stands for, where its body says `msg := …`; any other expression is itself.
fn resolved(mut written: Written<'_>) -> Option<Written<'_>> {
    for _ in 0..MOST_NAMES {
        let Expr::Var { span, .. } = written.expr else { return Some(written) };
        let name = span.text();
        let position = written.bodies.iter().position(|body| mentions(body, name))?;
        let expr = written.bodies.get(position).and_then(|body| assigned(body, name))?;
        written = Written { expr, bodies: written.bodies.split_off(position) };
    }
    None
}

/// Whether a body gives a variable of that name a value, or declares one.
fn mentions(body: &Query, name: &str) -> bool {
    let is_it = |expr: &Expr| matches!(expr, Expr::Var { span, .. } if span.text() == name);
    body.stmts.iter().any(|statement| match &statement.literal {
        Literal::SomeVars { vars, .. } => vars.iter().any(|variable| variable.text() == name),
        Literal::SomeIn { key, value, .. } => key.iter().chain([value]).any(|own| is_it(own)),
        Literal::Expr { .. } | Literal::NotExpr { .. } | Literal::Every { .. } => false,
    }) || assigned(body, name).is_some()
}

/// The value that a body gives a variable.
fn assigned<'m>(body: &'m Query, name: &str) -> Option<&'m Expr> {
    let is_it = |expr: &Expr| matches!(expr, Expr::Var { span, .. } if span.text() == name);
    body.stmts.iter().find_map(|statement| match &statement.literal {
        Literal::Expr { expr, .. } => match expr.as_ref() {
            Expr::AssignExpr { lhs, rhs, .. } if is_it(lhs) => Some(rhs.as_ref()),
            Expr::AssignExpr { op: AssignOp::Eq, lhs, rhs, .. } if is_it(rhs) => Some(lhs.as_ref()),
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use image_admission_settings::Settings;
    use serde_json::{Value as Json, json};

    /// v0 and v1, and v0 with the keywords of v1.
    const V0: (&str, &str) = ("v0", "");
    const V1: (&str, &str) = ("v1", "");
    const KEYWORDS: (&str, &str) = ("v0", "import future.keywords\n");
    const ALL: [(&str, &str); 3] = [V0, V1, KEYWORDS];

    #[track_caller]
    fn check(settings: &Json, problem: Option<&str>) {
        let told = crate::check(&Settings::read(settings).unwrap()).join("\n");
        let told = Some(told).filter(|told| !told.is_empty());
        match problem {
            None => assert_eq!(told, None, "{settings}"),
            Some(problem) => assert!(told.as_ref().is_some_and(|told| told.contains(problem)), "{settings}: {told:?}"),
        }
    }

    /// What is said of a policy with these rules, in each of the syntaxes; none: it is deployed.
    #[track_caller]
    fn policy(syntaxes: &[(&str, &str)], rules: &str, problem: Option<&str>) {
        for (version, imports) in syntaxes {
            let rego = format!("package p\n{imports}{rules}");
            let policy = json!({"name": "rules", "rego": rego, "kinds": ["Pod"], "regoVersion": version});
            check(&json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [policy]}), problem);
        }
    }

    /// The same of custom rules.
    #[track_caller]
    fn custom(setting: &str, version: &str, rules: &str, problem: Option<&str>) {
        check(&json!({setting: rules, "regoVersion": version}), problem);
    }

    const MESSAGES: &str = "messages are strings, or objects with a string `msg`";

    #[test]
    fn an_object_is_no_set_of_messages() {
        for rules in [
            "deny[msg] if { msg := \"x\" }",
            "deny[msg] if msg := \"x\"",
            "deny[msg] := true if { msg := \"x\" }",
            "deny[msg] := \"y\" if { msg := \"x\" }",
        ] {
            let problem = "1: `deny` becomes an object here, where a set of messages is asked for: write `deny contains msg if`: `deny[msg]";
            policy(&[V1, KEYWORDS], rules, Some(problem));
        }
        let only_if = "import future.keywords.if\ndeny[msg] if { msg := \"x\" }";
        let problem = "line 3, column 1: `deny` becomes an object here, where a set of messages is asked for: write `deny contains msg if`, with `import future.keywords.contains`: `deny[msg] if { msg := \"x\" }`";
        policy(&[V0], only_if, Some(problem));
        policy(&[V0], "deny[msg] = x { msg := \"x\"; x := 1 }", Some("write `deny[msg] { … }`"));
        policy(&ALL, "violation_a[{\"msg\": \"x\"}] := 1", Some("`violation_a` becomes an object here"));
        policy(
            &[V1],
            "warn.a contains \"x\" if true",
            Some("`warn` becomes an object here, where a set of messages is asked for: write `warn contains msg if`"),
        );
        policy(&[V1], "warn.a := \"x\"", Some("`warn` becomes an object here"));
    }

    #[test]
    fn sets_strings_and_nothing_are_messages() {
        policy(&[V0, KEYWORDS], "deny[msg] { msg := \"x\" }", None);
        policy(&[V0, KEYWORDS], "violation[{\"msg\": msg, \"details\": {}}] { msg := \"x\" }", None);
        policy(&[V0], "deny[\"x\"]", None);
        policy(&[V0], "deny.x { input.request }", None);
        policy(&[V1, KEYWORDS], "deny contains msg if { msg := \"x\" }", None);
        policy(&[V1, KEYWORDS], "deny contains \"x\"", None);
        for rules in [
            "deny := \"x\"",
            "deny = msg { msg := \"x\" }",
            "deny := false",
            "deny := {\"x\"}",
            "deny := [\"x\", {\"msg\": \"y\"}, {\"msg\": {\"msg\": \"z\"}}]",
            "deny := {msg | msg := input.request.uid}",
            "deny := [msg | msg := sprintf(\"%v\", [1])]",
            "deny := {\"a\"} | {\"b\"}",
            "deny := {\"a\"} - {\"b\"}",
            "deny := set()",
            "deny := input.x",
            "deny := said\nsaid := {\"x\"}",
        ] {
            policy(&[V0], rules, None);
        }
        policy(&[V1], "default deny := false\ndeny := \"x\" if input.request.uid", None);
        policy(&[V1], "deny := \"x\" if { input.a } else := \"y\" if { input.b } else := false", None);
        // Nobody asks for these.
        policy(&ALL, "denied := 3\ndeny := \"x\"", None);
        policy(&[V0], "deny[msg] { msg := deny_text(1) }\ndeny_text(x) = sprintf(\"%v\", [x]) { true }", None);
    }

    #[test]
    fn values_that_are_no_messages() {
        for (value, shown) in [
            ("3", "a number"),
            ("true", "true"),
            ("null", "null"),
            ("1 + 2", "a number"),
            ("input.a == 2", "true or false"),
            ("startswith(input.a, \"x\")", "true or false"),
            ("count(input.a)", "a number"),
            ("{\"msg\": \"x\"}", "an object"),
            ("{x: 1 | x := input.a}", "an object"),
        ] {
            let problem = format!(
                "line 2, column 1: `deny` gives {shown}, where messages are asked for: write `deny[msg] {{ … }}`"
            );
            policy(&[V0], &format!("deny := {value}"), Some(&problem));
            policy(&[V0], &format!("deny := x {{ x := {value} }}"), Some(&problem));
        }
        policy(
            &[V0],
            "deny { input.a }",
            Some("`deny` gives true, where messages are asked for: write `deny[msg] { … }`: `deny { input.a }`"),
        );
        policy(
            &[V1],
            "deny if { input.a }",
            Some("`deny` gives true, where messages are asked for: write `deny contains msg if`: `deny"),
        );
        policy(&[V1], "default deny := true\ndeny := false if input.a", Some("`deny` gives true"));
        policy(&[V1], "deny := \"x\" if { input.a } else := 3", Some("`deny` gives a number"));
        policy(&ALL, "warn_threshold := 3\ndeny := \"x\"", Some(", or give it another name: `warn_threshold := 3`"));
        policy(
            &[V0],
            "deny(x) { x }\nwarn[\"x\"]",
            Some("`deny` is a function, which nobody calls and nobody asks: write `deny[msg] { … }`"),
        );
        policy(&[V0], "deny(x) { x }\nwarn[\"x\"] { deny(input) }", None);
    }

    #[test]
    fn elements_that_are_no_messages() {
        for (element, shown) in [
            ("3", "a number"),
            ("true", "true"),
            ("input.a == 1", "true or false"),
            ("[\"x\"]", "an array"),
            ("{\"x\"}", "a set"),
            ("{\"message\": \"x\"}", "an object without `msg`"),
            ("{}", "an object without `msg`"),
            ("{\"msg\": 3}", "an object whose `msg` is a number"),
            ("{\"msg\": {\"message\": \"x\"}}", "an object whose `msg` is an object without a string `msg`"),
            ("{\"msg\": {\"msg\": {\"msg\": \"x\"}}}", "an object whose `msg` is an object without a string `msg`"),
        ] {
            let problem = format!("a message of `violation` is {shown}; {MESSAGES}: `violation");
            policy(&[V0], &format!("violation[{element}] {{ input.a }}"), Some(&problem));
            policy(&[V0], &format!("violation[x] {{ x = {element} }}"), Some(&problem));
            policy(&[V0], &format!("violation[x] {{ [] != {{}}; y = {element}; x := y }}"), Some(&problem));
            policy(&[V1, KEYWORDS], &format!("violation contains {element} if {{ input.a }}"), Some(&problem));
            policy(&[V0], &format!("violation := [{element}]"), Some(&problem));
            policy(&[V0], &format!("violation := {{x | x := {element}}}"), Some(&problem));
        }
        for element in [
            "input.a",
            "{\"msg\": input.a}",
            "{input.key: input.a}",
            "{x: y | y := input.a[x]}",
            "object.union({\"msg\": \"x\"}, {})",
            "lower(input.a)",
            "{\"msg\": {\"msg\": \"x\"}}",
        ] {
            policy(&[V0], &format!("violation[x] {{ x := {element} }}"), None);
        }
        // A function of the modules may have a builtin's name.
        policy(&[V0], "count(x) = x { true }\ndeny[msg] { msg := count(input.a) }", None);
        // The inner variable is another one.
        policy(&[V0], "deny := {x | some x; input.a[x]} { x := 3; x }", None);
    }

    #[test]
    fn other_rules_that_are_asked() {
        let deny = "deny[\"x\"] { input.a }\n";
        for (rules, problem) in [
            ("patch[{\"op\": \"remove\", \"path\": \"/a\"}] { input.a }", None),
            ("patch := [[{\"op\": \"remove\", \"path\": \"/a\"}]]", None),
            ("patch[{\"op\": input.a, \"path\": \"/a\"}]", None),
            (
                "patch[{\"op\": \"set\", \"path\": \"/a\", \"value\": 1}]",
                Some(
                    "an operation of `patch` has the `op` `set`; write `{\"op\": \"add\", \"path\": \"/…\", \"value\": …}`",
                ),
            ),
            (
                "patch[p] { p := [{\"op\": \"add\", \"value\": 1}] }",
                Some("an operation of `patch` has no `path`; write"),
            ),
            ("patch := [{\"path\": \"/a\", \"value\": 1}]", Some("an operation of `patch` has no `op`; write")),
            ("patch := [{\"op\": \"add\", \"path\": \"/a\"}]", Some("an operation of `patch` has no `value`; write")),
            ("patch := [{\"op\": \"move\", \"path\": \"/a\"}]", Some("an operation of `patch` has no `from`; write")),
            (
                "patch := [{\"op\": \"remove\", \"path\": \"spec/a\"}]",
                Some("an operation of `patch` has the `path` `spec/a`, which begins with no `/`; write"),
            ),
            ("patch := [{\"op\": \"remove\", \"path\": input.a}, {\"op\": \"remove\", \"path\": \"\"}]", None),
            (
                "patch := {\"op\": \"remove\", \"path\": \"/a\"}",
                Some("`patch` gives an object, where a set of operations is asked for"),
            ),
            (
                "patch[\"/a\"] { input.a }",
                Some("an operation of `patch` is a string; operations are objects, or lists of them"),
            ),
            (
                "patch[op] = 1 { op := input.a }",
                Some("`patch` gives an object, where a set of operations is asked for: write `patch[operation] { … }`"),
            ),
            ("exception[rules] { rules := [\"a\", \"\"] }", None),
            (
                "exception[\"a\"] { input.a }",
                Some("an element of `exception` is a string; each is a list of rule names"),
            ),
            ("exception[[3]] { input.a }", Some("`exception` names a number, and no rule")),
            ("exception { input.a }", Some("`exception` gives true, where a set of lists of rule names is asked for")),
            ("main[\"x\"] { input.a }", None),
        ] {
            policy(&[V0], &format!("{deny}{rules}"), problem);
        }
        for (rules, problem) in [
            ("main := {\"response\": {\"allowed\": true}}", None),
            ("main = {\"response\": r} { r := input.r }", None),
            ("main[\"x\"] { input.a }", Some("`main` gives a set, where an AdmissionReview is asked for")),
            (
                "main { input.a }",
                Some("`main` gives true, where an AdmissionReview is asked for: write `main := {\"response\": …}`"),
            ),
        ] {
            let policy = json!({"name": "rules", "rego": format!("package system\n{rules}"), "kinds": ["Pod"], "regoVersion": "v0"});
            check(&json!({"preScanPolicies": {"defaultPolicy": "accept"}, "regoPolicies": [policy]}), problem);
        }
    }

    #[test]
    fn rules_of_the_phases() {
        for (setting, rule) in [("preCustomRules", "deny_pod"), ("customRules", "deny_image")] {
            let write = |value: &str| value.replace("RULE", rule);
            for (version, rules, problem) in [
                ("v0", "RULE[msg] { msg := \"x\" }", None),
                ("v1", "RULE contains msg if { msg := \"x\" }", None),
                ("v0", "RULE := {msg | msg := \"x\"}", None),
                (
                    "v1",
                    "RULE[msg] if { msg := \"x\" }",
                    Some(
                        "`RULE` becomes an object here, where a set of messages is asked for: write `RULE contains msg if`: `RULE[msg]",
                    ),
                ),
                (
                    "v0",
                    "import future.keywords.if\nRULE[msg] if { msg := \"x\" }",
                    Some("write `RULE contains msg if`, with `import future.keywords.contains`"),
                ),
                (
                    "v0",
                    "RULE { true }",
                    Some(
                        "line 1, column 1: `RULE` gives true, where a set of strings is asked for: write `RULE[msg] { … }`: `RULE { true }`",
                    ),
                ),
                ("v0", "RULE := \"x\"", Some("`RULE` gives a string, where a set of strings is asked for")),
                ("v0", "RULE := [\"x\"]", Some("`RULE` gives an array")),
                ("v0", "default RULE = false", Some("`RULE` gives false")),
                (
                    "v0",
                    "RULE[{\"msg\": \"x\"}] { true }",
                    Some("a message of `RULE` is an object; messages are strings: `RULE"),
                ),
                (
                    "v0",
                    "RULE(x) { x }\nallow_pod { false }\ndeny_image[\"x\"] { false }\ndeny_pod[\"x\"] { false }",
                    Some("RULE"),
                ),
            ] {
                custom(setting, version, &write(rules), problem.map(write).as_deref());
            }
        }
        for (version, rules, problem) in [
            ("v0", "allow_pod { input.a }", None),
            ("v0", "default allow_pod = false", None),
            ("v0", "allow_pod = x { x := input.a == 1 }", None),
            ("v1", "allow_pod if { input.a }", None),
            (
                "v0",
                "allow_pod[x] { x := input.a }",
                Some("`allow_pod` gives a set, where true or false is asked for: write `allow_pod { … }`"),
            ),
            (
                "v1",
                "allow_pod contains x if { x := input.a }",
                Some("`allow_pod` gives a set, where true or false is asked for: write `allow_pod if { … }`"),
            ),
            ("v1", "allow_pod[x] if { x := input.a }", Some("`allow_pod` gives an object")),
            ("v0", "allow_pod := \"yes\"", Some("`allow_pod` gives a string")),
            ("v0", "allow_pod := 3 { input.a }", Some("`allow_pod` gives a number")),
        ] {
            custom("preCustomRules", version, rules, problem);
        }
        // The other phase asks for nothing of that name.
        custom("customRules", "v0", "deny_image[\"x\"] { false }\nallow_pod := 3", None);
        custom("preCustomRules", "v0", "deny_pod[\"x\"] { false }\nwarn := 3", None);
    }
}
