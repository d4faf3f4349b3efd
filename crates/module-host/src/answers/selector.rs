//! Label and field selectors, as the API server reads them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Which objects a list asks for. Without requirements: all of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Test {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
}

impl Selector {
    /// Reads a label selector: `a=b`, `a==b`, `a!=b`, `a in (b, c)`, `a notin (b, c)`, `a`, `!a`, joined by commas.
    ///
    /// Fails with a text that names the requirement that isn't one.
    pub fn labels(text: &str) -> Result<Self, String> {
        Self::parse(text, requirement_of_label)
    }

    /// Reads a field selector: `a.b=c`, `a.b==c`, `a.b!=c`, joined by commas.
    ///
    /// Fails with a text that names the requirement that isn't one.
    pub fn fields(text: &str) -> Result<Self, String> {
        Self::parse(text, |text| {
            equality(text)
                .ok_or_else(|| format!("`{text}` is not a field selector; write `path=value` or `path!=value`"))
        })
    }

    /// Whether an object with these labels is asked for.
    #[must_use]
    pub fn matches_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|r| r.test.holds(labels.get(&r.key).map(String::as_str)))
    }

    /// Whether an object, given as its JSON, is asked for. A field that is absent counts as empty, as on the server.
    #[must_use]
    pub fn matches_fields(&self, object: &Value) -> bool {
        self.requirements.iter().all(|r| {
            let found = r.key.split('.').try_fold(object, |at, field| at.get(field));
            let value = match found {
                None | Some(Value::Null) => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            r.test.holds(Some(&value))
        })
    }

    fn parse(text: &str, requirement: impl Fn(&str) -> Result<Requirement, String>) -> Result<Self, String> {
        let requirements = split_outside_parentheses(text)
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(requirement)
            .collect::<Result<_, _>>()?;
        Ok(Self { requirements })
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        match self {
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::In(set) => value.is_some_and(|v| set.contains(v)),
            // An object without the label passes `!=` and `notin`.
            Self::NotIn(set) => value.is_none_or(|v| !set.contains(v)),
        }
    }
}

fn requirement_of_label(text: &str) -> Result<Requirement, String> {
    let set = set_based(text);
    let found = set.or_else(|| equality(text)).or_else(|| {
        let (key, test) = match text.strip_prefix('!') {
            Some(key) => (key.trim(), Test::Absent),
            None => (text, Test::Exists),
        };
        is_key(key).then(|| Requirement { key: key.to_owned(), test })
    });
    found
        .ok_or_else(|| format!("`{text}` is not a label selector; write `key=value`, `key in (a, b)`, `key` or `!key`"))
}

fn equality(text: &str) -> Option<Requirement> {
    let (key, value, equal) = if let Some((key, value)) = text.split_once("!=") {
        (key, value, false)
    } else if let Some((key, value)) = text.split_once("==") {
        (key, value, true)
    } else {
        let (key, value) = text.split_once('=')?;
        (key, value, true)
    };
    let set = BTreeSet::from([value.trim().to_owned()]);
    let key = key.trim();
    is_key(key).then(|| Requirement { key: key.to_owned(), test: if equal { Test::In(set) } else { Test::NotIn(set) } })
}

fn set_based(text: &str) -> Option<Requirement> {
    let (head, values) = text.strip_suffix(')')?.split_once('(')?;
    let (key, operator) = head.trim().split_once(char::is_whitespace)?;
    let set = values.split(',').map(|v| v.trim().to_owned()).collect();
    let test = match operator.trim() {
        "in" => Test::In(set),
        "notin" => Test::NotIn(set),
        _ => return None,
    };
    is_key(key).then(|| Requirement { key: key.to_owned(), test })
}

fn is_key(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    !text.is_empty() && text.chars().all(allowed)
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
    .collect()
}
