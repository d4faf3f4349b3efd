//! `graphql.…`, answered here and by the real OPA: every query by every schema, and both with their parts in other places.

use super::both;
use super::generator::Chance;
use serde_json::json;

const ASKED: &str = r#"package p
main["query"] := graphql.parse_query(input.query)
main["schema"] := graphql.parse_schema(input.schema)
main["both"] := graphql.parse(input.query, input.schema)
main["verified"] := graphql.parse_and_verify(input.query, input.schema)
main["valid"] := graphql.is_valid(input.query, input.schema)
main["schema is valid"] := graphql.schema_is_valid(input.schema)
main["schema of data is valid"] := graphql.schema_is_valid(graphql.parse_schema(input.schema))
main["query of data is valid"] := graphql.is_valid(graphql.parse_query(input.query), input.schema)
"#;

const SCHEMAS: &[&str] = &[
    "type Query { a: Int b(c: Int = 1, d: [String!]!): Query }",
    "\"\"\" of all \"\"\" schema { query: Q mutation: M } type Q { a: ID! } type M { set(v: V!): Q } input V { n: Int! = 2 m: [V] }",
    "interface N { id: ID! } type A implements N { id: ID! a: Int } type B implements N { id: ID! b: Float } union U = A | B type Query { n: N u: U all: [N!]! }",
    "enum E { ONE TWO @deprecated(reason: \"old\") } type Query { e(e: E = ONE): E } extend type Query { more: Boolean }",
    "directive @d(n: Int!) repeatable on FIELD | OBJECT scalar Time @specifiedBy(url: \"x\") type Query @d(n: 1) { t: Time }",
    "type Query { a: Missing }",
    "type Query implements N { a: Int } interface N { a: String }",
];
const QUERIES: &[&str] = &[
    "{ a }",
    "query Q($c: Int = 3) { b(c: $c, d: [\"x\", \"\"\" y\\n \"\"\"]) { a } }",
    "mutation { set(v: {n: 1, m: [{n: 2}]}) { a } }",
    "{ n { id ... on A { a } ...F } u { __typename ... on B { b } } } fragment F on B { b }",
    "query A { e(e: TWO) } query B { x: e y: e @skip(if: true) @include(if: false) }",
    "{ t @d(n: 1) @d(n: 2) }",
    "{ all { id } all { other: id } } # end",
    "subscription { a }",
    "{ a a: b { a } }",
    "query ($n: Int, $n: Int) { a }",
    "{ ...F } fragment F on Query { ...F }",
    "{ e(e: \"ONE\") b(d: [null]) { a } __schema { types { name } } }",
];

fn differences(questions: &[(String, String)]) -> String {
    let asked: Vec<_> = questions
        .iter()
        .map(|(query, schema)| (format!("{query}\nby {schema}"), ASKED, json!({"query": query, "schema": schema})))
        .collect();
    both::differences(&asked, |_| false)
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn every_query_is_read_by_every_schema_as_in_opa() {
    let questions: Vec<_> = QUERIES
        .iter()
        .flat_map(|query| SCHEMAS.iter().map(|schema| ((*query).to_owned(), (*schema).to_owned())))
        .collect();
    let wrong = differences(&questions);
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
#[ignore = "asks the real OPA: `make test-opa`"]
fn documents_in_other_orders_are_read_as_in_opa() {
    let words: Vec<&str> = QUERIES.iter().chain(SCHEMAS).flat_map(|text| text.split_inclusive(' ')).collect();
    let mut chance = Chance::new(1);
    let mut questions = Vec::new();
    for number in 0..1500 {
        let mut texts =
            [chance.of(QUERIES), chance.of(SCHEMAS)].map(|text| text.split_inclusive(' ').collect::<Vec<_>>());
        for _ in 0..=chance.below(2) {
            let text = &mut texts[number % 2];
            let (at, other) = (chance.below(text.len()), chance.below(text.len()));
            match chance.below(5) {
                0 if text.len() > 1 => drop(text.remove(at)),
                1 => text.insert(at, chance.of(&words)),
                2 => text[at] = chance.of(&words),
                3 => text.swap(at, other),
                _ => text.insert(at, text[other]),
            }
        }
        let [query, schema] = texts.map(|text| text.concat());
        questions.push((query, schema));
    }
    let wrong = differences(&questions);
    assert!(wrong.is_empty(), "{wrong}");
}
