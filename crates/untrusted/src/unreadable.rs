//! Why a document can't be read, without any of its content.

use serde_json::error::Category;

/// What is wrong with a document, and where, in the parser's own words. Values are left out: a Pod author may choose the server
/// that answers, and must not read that server's answer in the message.
pub fn unreadable(error: &serde_json::Error) -> String {
    let text = error.to_string();
    // These errors are constant strings with a position.
    if error.classify() != Category::Data {
        return text;
    }
    let position = format!("at line {} column {}", error.line(), error.column());
    // This error already says where.
    if text.starts_with("it is not UTF-8, ") {
        return text;
    }
    // These name fields of our types, and show no value of a map or a sequence.
    let of_reader = [
        "missing field `",
        "duplicate field `",
        "invalid type: map, ",
        "invalid type: sequence, ",
        "invalid type: null, ",
    ];
    // Such a key is one of our own field names in another spelling.
    let is_misspelt = text.starts_with("the key `") && text.split('`').nth(2) == Some(" is another spelling of ");
    if is_misspelt || of_reader.into_iter().any(|start| text.starts_with(start)) {
        return crate::message::cut(&text, 200);
    }
    let kinds = ["string", "integer", "floating point", "boolean"];
    match kinds.into_iter().find(|kind| text.strip_prefix("invalid type: ").is_some_and(|rest| rest.starts_with(kind)))
    {
        Some(kind) => format!("invalid type: {kind} {position}"),
        None => format!("it is not what it should be {position}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is only read")]
    struct Wanted {
        name: String,
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    enum Kind {
        Known,
    }

    #[test]
    fn values_are_left_out() {
        for (text, why) in [
            ("", "EOF while parsing a value at line 1 column 0"),
            ("hunter2", "expected value at line 1 column 1"),
            ("{}", "missing field `name` at line 1 column 2"),
            (r#"{"name": {}}"#, "invalid type: map, expected a string at line 1 column 9"),
            (r#"{"name": null}"#, "invalid type: null, expected a string at line 1 column 13"),
            (r#"{"name": 42}"#, "invalid type: integer at line 1 column 11"),
            (r#"{"name": 4.2}"#, "invalid type: floating point at line 1 column 12"),
            (r#"{"name": true}"#, "invalid type: boolean at line 1 column 13"),
            (r#""hunter2""#, "invalid type: string at line 1 column 9"),
            (r#"{"name": "a", "kind": "hunter2"}"#, "it is not what it should be at line 1 column 31"),
            (r#"{"name": "a", "name": "hunter2"}"#, "duplicate field `name` at line 1 column 20"),
        ] {
            let error = serde_json::from_str::<Wanted>(text).unwrap_err();
            assert_eq!(unreadable(&error), why, "{text}");
        }
        let error = crate::json::from_json::<Wanted>(b"{\"name\": \"hunter2\xff\"}").unwrap_err();
        assert_eq!(unreadable(&error), "it is not UTF-8, from byte 17 on");
        let _ = Kind::Known;
    }
}
