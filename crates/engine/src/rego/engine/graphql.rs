//! `graphql.*`: documents of GraphQL, read, validated, and as data.
//!
//! A document is a text, or the data that `graphql.parse_query` and `graphql.parse_schema` make of one. What is too large to look
//! into is an error: were it invalid, then a rule that rejects what is valid would let it pass.

use super::weight::measure;
use anyhow::anyhow;
use image_admission_graphql::{
    Comments, Error, Exchange, Field, InlineFragment, Node, Query, Schema, Selection, Spread, ValueKind, check_query,
    check_schema, parse_query, parse_schema,
};
use regorus::Value;
use regorus::value::Object;
use std::collections::BTreeMap;

/// Bytes, as [`measure`] counts them, of a document that is data.
const MAX_DOCUMENT: usize = 2 << 20;

/// `graphql.parse(query, schema)`: both as data, if they are valid.
///
/// # Errors
/// One of them is too large.
pub(super) fn parse(arguments: &[Value]) -> anyhow::Result<Value> {
    Ok(verified("graphql.parse", arguments)?
        .map_or(Value::Undefined, |[query, schema]| Value::from(vec![query, schema])))
}

/// `graphql.parse_and_verify(query, schema)`: whether both are valid, and both as data, or nothing.
///
/// # Errors
/// One of them is too large.
pub(super) fn parse_and_verify(arguments: &[Value]) -> anyhow::Result<Value> {
    let verified = verified("graphql.parse_and_verify", arguments)?;
    let is_valid = Value::from(verified.is_some());
    let [query, schema] = verified.unwrap_or_else(|| [Value::new_object(), Value::new_object()]);
    Ok(Value::from(vec![is_valid, query, schema]))
}

/// `graphql.parse_query(query)`: a text as data.
///
/// # Errors
/// It is too large.
pub(super) fn parse_query_text(arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::String(text)] = arguments else { return Ok(Value::Undefined) };
    let query = known("graphql.parse_query", parse_query(text))?;
    Ok(query.map_or(Value::Undefined, |mut query| written(&mut query)))
}

/// `graphql.parse_schema(schema)`: a text as data, which isn't validated.
///
/// # Errors
/// It is too large.
pub(super) fn parse_schema_text(arguments: &[Value]) -> anyhow::Result<Value> {
    let [Value::String(text)] = arguments else { return Ok(Value::Undefined) };
    let schema = known("graphql.parse_schema", parse_schema(text))?;
    Ok(schema.map_or(Value::Undefined, |mut schema| written(&mut schema)))
}

/// `graphql.is_valid(query, schema)`: whether both are.
///
/// # Errors
/// One of them is too large.
pub(super) fn is_valid(arguments: &[Value]) -> anyhow::Result<Value> {
    Ok(Value::from(documents("graphql.is_valid", arguments)?.is_some()))
}

/// `graphql.schema_is_valid(schema)`.
///
/// # Errors
/// It is too large.
pub(super) fn schema_is_valid(arguments: &[Value]) -> anyhow::Result<Value> {
    const NAME: &str = "graphql.schema_is_valid";
    let [schema] = arguments else { return Ok(Value::Undefined) };
    let Some(schema) = document(NAME, schema, parse_schema)? else { return Ok(Value::from(false)) };
    Ok(Value::from(known(NAME, check_schema(&schema))?.is_some()))
}

/// A query and its schema as data, if they are valid.
fn verified(name: &str, arguments: &[Value]) -> anyhow::Result<Option<[Value; 2]>> {
    let found = documents(name, arguments)?;
    Ok(found.map(|(mut query, mut schema)| [written(&mut query), written(&mut schema)]))
}

/// A query and its schema, if they are valid.
fn documents(name: &str, arguments: &[Value]) -> anyhow::Result<Option<(Query, Schema)>> {
    let [query, schema] = arguments else { return Ok(None) };
    let Some(query) = document(name, query, parse_query)? else { return Ok(None) };
    let Some(schema) = document(name, schema, parse_schema)? else { return Ok(None) };
    Ok(known(name, check_query(&query, &schema))?.map(|()| (query, schema)))
}

/// A document of a text, or of data.
fn document<N: Node>(name: &str, value: &Value, parse: fn(&str) -> Result<N, Error>) -> anyhow::Result<Option<N>> {
    match value {
        Value::String(text) => known(name, parse(text)),
        Value::Object(_) => {
            measure(name, std::slice::from_ref(value), MAX_DOCUMENT).map_err(anyhow::Error::msg)?;
            Ok(read(value).ok())
        }
        _ => Ok(None),
    }
}

/// What was found, nothing where the document is wrong, and an error where it is too large to tell.
fn known<T>(name: &str, found: Result<T, Error>) -> anyhow::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Error::TooMuch(why)) => Err(anyhow!("`{name}` of {why}")),
        Err(Error::Syntax { .. } | Error::Invalid(_)) => Ok(None),
    }
}

fn written<N: Node>(node: &mut N) -> Value {
    let mut writer = Writer { keys: BTreeMap::new(), object: BTreeMap::new() };
    writer.object(node)
}

/// Makes data of a node. What is empty isn't there, but for texts.
struct Writer {
    /// Keys that were written already.
    keys: BTreeMap<&'static str, Value>,
    /// The object that is written.
    object: BTreeMap<Value, Value>,
}

/// That nothing is wrong with what is written.
#[derive(Debug)]
enum Never {}

impl Writer {
    fn object<N: Node>(&mut self, node: &mut N) -> Value {
        let outer = std::mem::take(&mut self.object);
        let Ok(()) = node.exchange(self);
        Value::from(std::mem::replace(&mut self.object, outer))
    }

    fn set(&mut self, key: &'static str, value: Value) {
        let key = self.keys.entry(key).or_insert_with(|| Value::from(key)).clone();
        self.object.insert(key, value);
    }

    fn set_list(&mut self, key: &'static str, list: Vec<Value>) {
        if !list.is_empty() {
            self.set(key, Value::from(list));
        }
    }
}

impl Exchange for Writer {
    type Error = Never;

    fn text(&mut self, key: &'static str, text: &mut String) -> Result<(), Never> {
        self.set(key, Value::from(text.as_str()));
        Ok(())
    }

    fn flag(&mut self, key: &'static str, flag: &mut bool) -> Result<(), Never> {
        self.set(key, Value::from(*flag));
        Ok(())
    }

    fn kind(&mut self, key: &'static str, kind: &mut ValueKind) -> Result<(), Never> {
        let number = ValueKind::ALL.iter().position(|other| other == kind).unwrap_or_default();
        self.set(key, Value::from(number));
        Ok(())
    }

    fn texts(&mut self, key: &'static str, texts: &mut Vec<String>) -> Result<(), Never> {
        self.set_list(key, texts.iter().map(|text| Value::from(text.as_str())).collect());
        Ok(())
    }

    fn comments(&mut self, key: &'static str, comments: &mut Comments) -> Result<(), Never> {
        if !comments.is_empty() {
            let mut group = Group(std::mem::take(comments));
            let object = self.object(&mut group);
            *comments = group.0;
            self.set(key, object);
        }
        Ok(())
    }

    fn node<N: Node>(&mut self, key: &'static str, node: &mut N) -> Result<(), Never> {
        let object = self.object(node);
        self.set(key, object);
        Ok(())
    }

    fn optional<N: Node>(&mut self, key: &'static str, node: &mut Option<Box<N>>) -> Result<(), Never> {
        match node {
            Some(node) => self.node(key, &mut **node),
            None => Ok(()),
        }
    }

    fn nodes<N: Node>(&mut self, key: &'static str, nodes: &mut Vec<N>) -> Result<(), Never> {
        let list = nodes.iter_mut().map(|node| self.object(node)).collect();
        self.set_list(key, list);
        Ok(())
    }

    fn selections(&mut self, key: &'static str, selections: &mut Vec<Selection>) -> Result<(), Never> {
        let one = |selection: &mut Selection| match selection {
            Selection::Field(field) => self.object(field),
            Selection::Spread(spread) => self.object(spread),
            Selection::Inline(inline) => self.object(inline),
        };
        let list = selections.iter_mut().map(one).collect();
        self.set_list(key, list);
        Ok(())
    }
}

/// Comments, as data groups them.
#[derive(Default)]
struct Group(Comments);

impl Node for Group {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        let mut comments = std::mem::take(&mut self.0).into_iter().map(Comment).collect();
        with.nodes("List", &mut comments)?;
        self.0 = comments.into_iter().map(|Comment(text)| text).collect();
        Ok(())
    }
}

#[derive(Default)]
struct Comment(String);

impl Node for Comment {
    fn exchange<E: Exchange>(&mut self, with: &mut E) -> Result<(), E::Error> {
        with.text("Value", &mut self.0)
    }
}

/// That data is no such node.
#[derive(Debug)]
struct Unread;

fn read<N: Node>(value: &Value) -> Result<N, Unread> {
    let mut node = N::default();
    match value {
        Value::Object(object) => {
            let mut reader = Reader { object, is_exact: N::IS_EXACT };
            node.exchange(&mut reader).map(|()| node)
        }
        _ => Err(Unread),
    }
}

/// Reads nodes from data. Keys that a node doesn't have are passed over.
struct Reader<'v> {
    object: &'v Object,
    /// Keys are spelled as they are, and there are no comments; otherwise the case of their letters is open. Go's readers are
    /// of these two kinds.
    is_exact: bool,
}

impl<'v> Reader<'v> {
    /// The value of a key; null is none.
    fn get(&self, key: &str) -> Option<&'v Value> {
        let is_meant = |own: &Value| match own {
            Value::String(own) if self.is_exact => **own == *key,
            Value::String(own) => own.eq_ignore_ascii_case(key),
            _ => false,
        };
        let found = self.object.iter().filter(|(own, value)| is_meant(own) && !matches!(value, Value::Null)).last();
        found.map(|(_, value)| value)
    }

    fn list(&self, key: &str) -> Result<Vec<&'v Value>, Unread> {
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list.iter().collect()),
            Some(Value::Set(set)) => Ok(set.iter().collect()),
            Some(_) => Err(Unread),
        }
    }
}

impl Exchange for Reader<'_> {
    type Error = Unread;

    fn text(&mut self, key: &'static str, text: &mut String) -> Result<(), Unread> {
        match self.get(key) {
            None => {}
            Some(Value::String(found)) => found.as_ref().clone_into(text),
            Some(_) => return Err(Unread),
        }
        Ok(())
    }

    fn flag(&mut self, key: &'static str, flag: &mut bool) -> Result<(), Unread> {
        match self.get(key) {
            None => {}
            Some(Value::Bool(found)) => *flag = *found,
            Some(_) => return Err(Unread),
        }
        Ok(())
    }

    fn kind(&mut self, key: &'static str, kind: &mut ValueKind) -> Result<(), Unread> {
        match self.get(key) {
            None => {}
            Some(Value::Number(number)) => {
                let number = number.as_u64().and_then(|number| usize::try_from(number).ok());
                *kind = *number.and_then(|number| ValueKind::ALL.get(number)).ok_or(Unread)?;
            }
            Some(_) => return Err(Unread),
        }
        Ok(())
    }

    fn texts(&mut self, key: &'static str, texts: &mut Vec<String>) -> Result<(), Unread> {
        for value in self.list(key)? {
            match value {
                Value::String(text) => texts.push(text.as_ref().to_owned()),
                _ => return Err(Unread),
            }
        }
        Ok(())
    }

    fn comments(&mut self, key: &'static str, comments: &mut Comments) -> Result<(), Unread> {
        if let Some(group) = self.get(key).filter(|_| !self.is_exact) {
            *comments = read::<Group>(group)?.0;
        }
        Ok(())
    }

    fn node<N: Node>(&mut self, key: &'static str, node: &mut N) -> Result<(), Unread> {
        *node = read(self.get(key).ok_or(Unread)?)?;
        Ok(())
    }

    fn optional<N: Node>(&mut self, key: &'static str, node: &mut Option<Box<N>>) -> Result<(), Unread> {
        *node = self.get(key).map(read).transpose()?.map(Box::new);
        Ok(())
    }

    fn nodes<N: Node>(&mut self, key: &'static str, nodes: &mut Vec<N>) -> Result<(), Unread> {
        *nodes = self.list(key)?.into_iter().map(read).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Data doesn't say what a selection is: it is the first that can be read of it. So a fragment's name is that of a field, in
    /// Open Policy Agent as well.
    fn selections(&mut self, key: &'static str, selections: &mut Vec<Selection>) -> Result<(), Unread> {
        let one = |value: &Value| {
            let field = read::<Field>(value).map(Selection::Field);
            let spread = || read::<Spread>(value).map(Selection::Spread);
            field.or_else(|_| spread()).or_else(|_| read::<InlineFragment>(value).map(Selection::Inline)).ok()
        };
        *selections = self.list(key)?.into_iter().filter_map(one).collect();
        Ok(())
    }
}
