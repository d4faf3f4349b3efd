//! Documents, broken ones among them, and what is said of each.

use crate::{Error, Query, Selection, check_query, check_schema, parse_query, parse_schema};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

const SCHEMA: &str = r#"
    type Query { dog(id: ID!, kind: Kind = SMALL, at: Point): Dog pets: [Pet!] pet: Pet any: Any one(by: By): Int meta: Json }
    type Mutation { name(of: ID!, to: String): Dog }
    type Subscription { barks: Int pet: Pet }
    interface Pet { name: String friends(first: Int = 3): [Pet] }
    type Dog implements Pet { name: String friends(first: Int = 3, after: ID): [Pet] barks: Boolean! age: Int }
    type Cat implements Pet { name: String friends(first: Int = 3): [Pet] barks: Int mews: [Kind!] }
    union Any = Dog | Cat
    enum Kind { SMALL LARGE }
    scalar Json
    input Point { x: Float! y: Float! = 0 of: [Point!] }
    input By @oneOf { id: ID name: String }
    directive @tag(name: String!) repeatable on FIELD | QUERY
"#;

fn said(query: &str) -> Result<(), Error> {
    check_query(&parse_query(query)?, &parse_schema(SCHEMA)?)
}

#[test]
fn queries_that_are_valid() {
    for query in [
        "",
        "# nothing\n",
        "{ dog(id: 1) { name barks __typename } }",
        "query A { pets { name } } query B { pets { name ... on Dog { barks } ... on Cat { mews } } }",
        "query ($id: ID!, $k: Kind! = LARGE) { dog(id: $id, kind: $k) { age } }",
        "{ dog(id: \"a\", kind: null, at: {x: 1, of: {x: 2.5e3, y: 1}}) { age } }",
        "{ pet { ...F } } fragment F on Pet { ...G @include(if: true) friends { name } } fragment G on Pet { name }",
        "query ($f: Boolean!) { ...R } fragment R on Query { pets @skip(if: $f) { name } }",
        "{ one(by: {id: 4}) }",
        "query ($n: String!) { one(by: {name: $n}) }",
        "{ meta @tag(name: \"a\") @tag(name: \"b\") }",
        "{ any { ... on Dog { x: barks } ... on Cat { x: name: name } } }".replace("x: name: name", "y: name").as_str(),
        "subscription { pet { name age: name } }",
        "{ __schema { types { name fields { name type { fields { name } } } } } __type(name: \"Dog\") { kind } }",
        "{ dog(id: 1) { age } dog(id: 1) { name } }",
        "{ dog(id: 1, at: {x: 1, y: 2}) { age } dog(at: {y: 2, x: 1}, id: 1) { name } }",
        "{ pet { ... { name } ... @include(if: false) { name } } }",
    ] {
        assert_eq!(said(query), Ok(()), "{query}");
    }
}

#[test]
fn queries_that_break_a_rule() {
    for (query, why) in [
        ("{ cat }", "`cat`: the type has no such field"),
        ("{ dog(id: 1) }", "`dog`: something is selected of what has fields, and of nothing else"),
        ("{ meta { a } }", "`meta`: something is selected of what has fields, and of nothing else"),
        ("{ dog { age } }", "`id`: this argument is required"),
        ("{ dog(id: 1, id: 2) { age } }", "`id`: it is there twice"),
        ("{ dog(id: 1, of: 2) { age } }", "`of`: there is no such argument"),
        ("{ dog(id: 1.5) { age } }", "`1.5`: the value is of another type"),
        ("{ dog(id: null) { age } }", "`null`: the value is null, and may not be"),
        ("{ dog(id: 1, kind: HUGE) { age } }", "`HUGE`: the value is of another type"),
        ("{ dog(id: 1, kind: \"SMALL\") { age } }", "`SMALL`: the value is of another type"),
        ("{ dog(id: 1, at: {y: 2}) { age } }", "`x`: this field is required"),
        ("{ dog(id: 1, at: {x: 2, z: 1}) { age } }", "`z`: the type has no such field"),
        ("{ dog(id: 1, at: {x: 2, x: 1}) { age } }", "`x`: it is there twice"),
        ("{ dog(id: 99999999999999999999) { age } }", "`99999999999999999999`: the number is out of range"),
        ("{ dog(id: [1]) { age } }", "`[…]`: the value is of another type"),
        ("{ one(by: {}) }", "`oneOf`: exactly one field is given"),
        ("{ one(by: {id: null}) }", "`id`: the field may be null"),
        ("query ($n: String) { one(by: {name: $n}) }", "`name`: the field may be null"),
        ("query ($n: Int) { dog(id: $n) { age } }", "`n`: the variable is of another type"),
        ("query ($n: ID) { dog(id: $n) { age } }", "`n`: the variable is of another type"),
        ("query ($n: ID!) { pets { name } }", "`n`: the variable is never used"),
        ("query ($n: ID!, $n: ID!) { dog(id: $n) { age } }", "`n`: it is there twice"),
        ("query ($n: Dog) { dog(id: $n) { age } }", "`n`: a variable has no such type"),
        ("query ($n: Bird) { dog(id: $n) { age } }", "`Bird`: there is no such type"),
        ("{ dog(id: $n) { age } }", "`n`: the operation has no such variable"),
        ("{ pets { ...F } }", "`F`: there is no such fragment"),
        ("{ pets { name } } fragment F on Pet { name }", "`F`: the fragment is never used"),
        ("{ pets { ...F } } fragment F on Pet { name } fragment F on Pet { name }", "`F`: it is there twice"),
        ("{ pets { ...F } } fragment F on Pet { friends { ...F } }", "`F`: fragments use each other in a circle"),
        ("{ pets { ...F } } fragment F on Kind { name }", "`Kind`: there is no type of this name with fields"),
        ("{ dog(id: 1) { ... on Cat { mews } } }", "`Cat`: no object here is of this type"),
        ("{ dog(id: 1) { ... on Bird { mews } } }", "`Bird`: there is no type of this name with fields"),
        ("{ pets { name } } query A { pets { name } }", "`query`: an operation without a name stands alone"),
        ("query A { meta } mutation A { name(of: 1) { age } }", "`A`: it is there twice"),
        ("{ meta @tag }", "`name`: this argument is required"),
        ("{ meta @skip(if: true) @skip(if: true) }", "`skip`: this directive stands here once"),
        ("mutation @tag(name: \"a\") { name(of: 1) { age } }", "`tag`: this directive may not stand here"),
        ("{ meta @other }", "`other`: there is no such directive"),
        ("subscription { barks pet { name } }", "``: a subscription selects one field"),
        ("subscription { __typename }", "``: a subscription selects one field"),
        (
            "{ __schema { types { fields { type { interfaces { possibleTypes { name } } } } } } }",
            "`__schema`: the introspection goes too deep",
        ),
        ("{ a: meta a: pets { name } }", "`a`: two fields have this name in the answer, and differ"),
        ("{ dog(id: 1) { age } dog(id: 2) { age } }", "`dog`: two fields have this name in the answer, and differ"),
        (
            "{ pet { ... on Dog { barks } ... on Cat { barks } } }",
            "`barks`: two fields have this name in the answer, and other types",
        ),
        (
            "{ pet { ...A ...B } } fragment A on Pet { x: name } fragment B on Pet { x: friends { name } }",
            "`x`: two fields have this name in the answer, and differ",
        ),
        (
            "{ pet { friends { x: name } ...A } } fragment A on Pet { friends { ...B } } fragment B on Pet { x: __typename }",
            "`x`: two fields have this name in the answer, and differ",
        ),
    ] {
        assert_eq!(said(query), Err(Error::Invalid(why.to_owned())), "{query}");
    }
}

#[test]
fn texts_that_are_no_queries() {
    for (query, line, column, why) in [
        ("{ a", 1, 4, "unexpected the end"),
        ("{}", 1, 1, "nothing stands between these brackets"),
        ("{ a(", 1, 5, "unexpected the end"),
        ("{ a() }", 1, 4, "nothing stands between these brackets"),
        ("{\r\n  a ]\r\n}", 2, 5, "unexpected `]`"),
        ("{ a }\n\nquery 1 { b }", 3, 7, "unexpected `1`"),
        ("query A($a: Int = $b) { a }", 1, 19, "unexpected `$`"),
        ("query A($a: [Int Int]) { a }", 1, 18, "unexpected `Int`"),
        ("{ ä }", 1, 3, "no token begins with this character"),
        ("{ a(b: 'x') }", 1, 8, "no token begins with this character"),
        ("{ ü(b: 01) }", 1, 3, "no token begins with this character"),
        ("{ a(b: 01) }", 1, 9, "no digit stands behind a leading zero"),
        ("{ a(b: 1.) }", 1, 10, "a digit is missing"),
        ("{ a(b: -) }", 1, 9, "a digit is missing"),
        ("{ a(b: 1e) }", 1, 10, "a digit is missing"),
        ("{ a(b: \"x\ny\") }", 1, 10, "the text has no end"),
        ("{ a(b: \"\\x\") }", 1, 9, "no character is written like this"),
        ("{ a(b: \"\\u12g4\") }", 1, 9, "no character is written like this"),
        ("{ a(b: \"\u{1}\") }", 1, 9, "a control character in a text"),
        ("{ a(b: \"\"\"x\n) }", 2, 4, "the text has no end"),
        ("{ .. a }", 1, 3, "no token begins with this character"),
        ("fragment on on A { a }", 1, 10, "unexpected `on`"),
        ("type A { a: Int }", 1, 1, "unexpected `type`"),
    ] {
        let error = parse_query(query).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::Syntax { line, column, why: why.to_owned() }, "{query}");
    }
}

#[test]
fn schemas() {
    for (schema, broken) in [
        ("", None),
        (SCHEMA, None),
        ("extend type A { a: Int }", None),
        ("scalar A extend scalar A @specifiedBy(url: \"a\")", None),
        ("type A { a: Int } type A { a: Int }", Some("`A`: this type is there already")),
        ("scalar Int", Some("`Int`: this type is there already")),
        ("type A { a: Int } extend input A { b: Int }", Some("`A`: the extended type is of another kind")),
        ("type A { a: B }", Some("`B`: there is no such type")),
        ("type A { a: I } input I { i: Int }", Some("`a`: a field has no such type here")),
        ("input I { a: A } type A { a: Int }", Some("`a`: a field has no such type here")),
        ("type A { a(b: A): Int }", Some("`b`: an argument has no such type")),
        ("type A", Some("`A`: this type is empty")),
        ("enum E", Some("`E`: this type is empty")),
        ("enum E { true }", Some("`true`: an enum has no such value")),
        ("enum E { A A }", Some("`A`: it is there twice")),
        ("type A { a: Int a: Int }", Some("`a`: it is there twice")),
        ("type __A { a: Int }", Some("`__A`: such names are kept for introspection")),
        ("type A { __a: Int }", Some("`__a`: such names are kept for introspection")),
        ("union U = A", Some("`A`: a union has objects as its members")),
        ("union U = Int", Some("`Int`: a union has objects as its members")),
        ("type A { a: Int } union U = A | A", Some("`A`: it is there twice")),
        ("type A implements B { a: Int }", Some("`B`: there is no such interface")),
        ("type A implements B { a: Int } type B { a: Int }", Some("`B`: there is no such interface")),
        (
            "interface B { b: Int } type A implements B { a: Int }",
            Some("`b`: the interface has another field of this name"),
        ),
        (
            "interface B { b: Int! } type A implements B { b: Int }",
            Some("`b`: the interface has another field of this name"),
        ),
        ("interface B { b: [B] } type A implements B { b: [A!]! }", None),
        (
            "interface B { b(c: Int): Int } type A implements B { b(c: ID): Int }",
            Some("`c`: the interface has another argument of this name"),
        ),
        (
            "interface B { b: Int } type A implements B { b(c: Int!): Int }",
            Some("`c`: the interface doesn't require this argument"),
        ),
        (
            "interface C { c: Int } interface B implements C { c: Int } type A implements B { c: Int }",
            Some("`C`: an interface of an interface has to be implemented too"),
        ),
        ("input I { i: I! }", Some("`I`: an input object of this type needs another one, without end")),
        ("input I { j: J! } input J { i: [I!]! k: I }", None),
        ("schema { query: Q }", Some("`Q`: there is no such type")),
        ("type Q { a: Int } schema { query: Q } schema { query: Q }", Some("`schema`: there is more than one")),
        ("directive @a on FIELD directive @a on FIELD", Some("`a`: this directive is there already")),
        ("directive @skip(if: Boolean!) on FIELD", None),
        ("directive @a(b: Int @a) on ARGUMENT_DEFINITION", Some("`a`: this directive is used in itself")),
        ("type A @b { a: Int }", Some("`b`: there is no such directive")),
        ("type A @skip(if: true) { a: Int }", Some("`skip`: this directive may not stand here")),
        ("type A { a: Int @deprecated @deprecated }", Some("`deprecated`: this directive stands here once")),
        ("scalar A @specifiedBy", Some("`url`: this argument is required")),
        ("scalar A @specifiedBy(url: \"a\", b: 1)", Some("`b`: the directive has no such argument")),
    ] {
        let found = parse_schema(schema).and_then(|schema| check_schema(&schema));
        assert_eq!(found, broken.map_or(Ok(()), |why| Err(Error::Invalid(why.to_owned()))), "{schema}");
    }
    for schema in [
        "type A { }",
        "extend type A",
        "extend schema",
        "extend interface A implements B { b: Int }",
        "\"a\" extend type A { a: Int }",
        "union U =",
        "directive @a on NOWHERE",
        "query { a }",
        "type A { a(): Int }",
    ] {
        assert!(matches!(parse_schema(schema), Err(Error::Syntax { .. })), "{schema}");
    }
}

#[test]
fn texts_say_what_is_meant() {
    for (written, meant) in [
        (r#""""#, ""),
        (r#""a\"\\\/\b\f\n\r\tä""#, "a\"\\/\u{8}\u{c}\n\r\tä"),
        (r#""\u0041\uD83D\uDE00""#, "A\u{fffd}\u{fffd}"),
        (r#""""""""#, ""),
        ("\"\"\"\n\n    a\n      b\n\n    c \n  \"\"\"", "a\n  b\n\nc "),
        ("\"\"\"  a\r\n   b\rc\"\"\"", "  a\n   b\nc"),
        (r#"""" a \""" "b" """"""#, " a \"\"\" \"b\" \"\""),
    ] {
        let query = parse_query(&format!("{{ a(b: {written}) }}")).unwrap();
        let Some(Selection::Field(field)) = query.operations[0].selections.first() else { panic!("{written}") };
        assert_eq!(field.arguments[0].value.raw, meant, "{written}");
    }
}

fn too_much<T>(found: Result<T, Error>) -> &'static str {
    match found {
        Err(Error::TooMuch(why)) => why,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it has an answer"),
    }
}

#[test]
fn what_is_too_much_is_no_answer() {
    let nested = |open: &str, close: &str, times: usize| format!("{}{}", open.repeat(times), close.repeat(times));
    for (text, why) in [
        (" ".repeat(256 * 1024 + 1), "a document of more than 262144 bytes"),
        ("#\n".repeat(50_000), "a document of more than 50000 tokens"),
        (format!("{{ {} }}", "a ".repeat(50_000)), "a document of more than 50000 tokens"),
        (nested("{a", "}", 51), "a document of more than 50 brackets in brackets"),
        (format!("{{ a(b: {}) }}", nested("[", "]", 100)), "a document of more than 50 brackets in brackets"),
        (
            format!("{{ a(b: {}1{}) }}", "{a:".repeat(100), "}".repeat(100)),
            "a document of more than 50 brackets in brackets",
        ),
        (format!("query ($a: {}", "[".repeat(100_000)), "a document of more than 50 brackets in brackets"),
    ] {
        assert_eq!(too_much(parse_query(&text)), why);
    }
    assert!(parse_query(&nested("{a", "}", 50)).is_ok());
}

/// Documents that grow what is compared: each ends with an answer, or is too much.
#[test]
fn the_work_is_bounded() {
    let steps = "a document that takes more than 1000000 steps to validate";
    let levels = "a document of more than 100 levels, with those of its fragments";
    let schema = "type Query { a: Query b: Int c(i: I): Int } input I { i: I n: Int }";
    let many = |times: usize, part: &dyn Fn(usize) -> String| (0..times).map(part).collect::<String>();
    let chain = many(200, &|n| format!("fragment F{n} on Query {{ ...F{} }} ", n + 1));
    let crossed = many(30, &|n| {
        let body = format!("{{ a {{ ...F{0} }} a {{ ...G{0} }} }} ", n + 1);
        format!("fragment F{n} on Query {body} fragment G{n} on Query {body}")
    });
    let deep = format!("{}b{}", "a { ".repeat(30), " }".repeat(30));
    for (query, why) in [
        (format!("{{ {} }}", "b ".repeat(10_000)), steps),
        (format!("{{ ...F0 }} {chain} fragment F200 on Query {{ b }}"), levels),
        (
            many(3000, &|n| format!("query Q{n} {{ ...F }} "))
                + &format!("fragment F on Query {{ {} }}", "b ".repeat(1000)),
            steps,
        ),
        (
            format!("{{ ...F0 ...G0 {deep} }} {crossed} fragment F30 on Query {{ b }} fragment G30 on Query {{ b }}"),
            steps,
        ),
    ] {
        let found = check_query(&parse_query(&query).unwrap(), &parse_schema(schema).unwrap());
        assert_eq!(too_much(found), why);
    }
    let inputs = many(6_000, &|n| format!("input I{n} {{ i: I{}! }} ", n + 1));
    assert_eq!(check_schema(&parse_schema(&format!("{inputs} input I6000 {{ i: Int }}")).unwrap()), Ok(()));
    let fields = many(6_000, &|n| format!("f{n}: Int "));
    let implementing =
        format!("interface I {{ {fields} }} type A implements {} {{ {fields} }}", "I & ".repeat(5_000) + "I");
    assert_eq!(too_much(check_schema(&parse_schema(&implementing).unwrap())), steps);
}

/// Parts of documents, so that many texts made of them are documents.
const PARTS: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "=",
    "@",
    "!",
    "$",
    "&",
    "|",
    "...",
    "on",
    "query",
    "mutation",
    "fragment",
    "type",
    "input",
    "interface",
    "union",
    "enum",
    "scalar",
    "schema",
    "directive",
    "extend",
    "implements",
    "repeatable",
    "a",
    "b",
    "A",
    "B",
    "Int",
    "1",
    "-1.5e3",
    "\"t\"",
    "\"\"\"b\n b\"\"\"",
    "# c\n",
    "true",
    "null",
    "FIELD",
    "OBJECT",
    "{ a }",
    "{ a: Int }",
    "(a: Int)",
    "@a(b: 1)",
    "\"",
    "\\",
    "\r\n",
    "ä",
    "\u{feff}",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_a_document_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = (parse_query(&text), parse_schema(&text));
    }

    #[test]
    fn parts_in_any_order_end_with_an_answer(parts in prop::collection::vec(prop::sample::select(PARTS), 0..60)) {
        let text = parts.join(" ");
        if let Ok(schema) = parse_schema(&text) {
            let _ = check_schema(&schema);
        }
        let query = parse_query(&text).unwrap_or_else(|_| Query::default());
        let _ = check_query(&query, &parse_schema(SCHEMA).unwrap());
    }
}
