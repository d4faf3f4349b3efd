//! Keys of foreign documents that parsers disagree about.
//!
//! Documents from registries are read here with exact keys. Others read the same bytes with Go's `encoding/json`, which takes a key
//! in any case, `ſ` for `s` and the Kelvin sign for `k`, the last one winning; protobuf's readers of JSON take `predicate_type` for
//! `predicateType`; and Go's second reader can be told to see no `-` and `_` at all. So a key that differs from a field only in
//! this way may make the document say one thing here and another elsewhere, whether the field is there too or not. Such a key is
//! refused: no honest document has one.
//!
//! [`from_str`] checks this while it parses. The fields come from the type that is read, so no list of them can go out of date;
//! ignored values aren't checked. An array in the place of an object is refused, as it is there. Maps with free keys refuse only
//! duplicate keys: Go compares those exactly. (The host has parsed a configuration before it passes it on, so the first of two equal
//! keys is lost. The content of an envelope arrives byte by byte.)

use crate::memory;
use crate::message::cut;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;

/// The longest key that a reason repeats.
const MAX_KEY_LENGTH: usize = 80;
/// How many keys of a map are compared one by one.
const FEW_KEYS: usize = 16;

/// Reads a document in which no key is another spelling of a field.
///
/// # Errors
/// The parser's, or which key it is.
pub fn from_str<'de, T: Deserialize<'de>>(json: &'de str) -> Result<T, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let read = T::deserialize(Exact(&mut deserializer))?;
    deserializer.end()?;
    Ok(read)
}

/// Reads a type of a value in which no key is another spelling of a field.
///
/// # Errors
/// The reader's, or which key it is.
pub fn from_value<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, serde_json::Error> {
    T::deserialize(Exact(value))
}

/// Checks that an object that was read as a value has no key that is another spelling of these fields.
///
/// # Errors
/// Which key it is.
pub fn check(object: &Map<String, Value>, fields: &[&'static str]) -> Result<(), Misspelt> {
    object.keys().find_map(|key| taken_for(key, fields)).map_or(Ok(()), Err)
}

/// Two keys of one object, anywhere in a document, that are spellings of one name, where one of them is among `words`. What such a
/// document says depends on which key its reader takes.
pub fn ambiguous(document: &Value, words: &BTreeSet<String>) -> Option<Misspelt> {
    match document {
        Value::Array(elements) => elements.iter().find_map(|element| ambiguous(element, words)),
        Value::Object(entries) => {
            let pair = words.iter().filter(|word| entries.contains_key(*word)).find_map(|word| {
                let other = entries.keys().find(|key| *key != word && is_same(key, word))?;
                Some(Misspelt { key: other.clone(), field: word.clone() })
            });
            pair.or_else(|| entries.values().find_map(|value| ambiguous(value, words)))
        }
        _ => None,
    }
}

/// A key that others may take for a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misspelt {
    key: String,
    field: String,
}

impl fmt::Display for Misspelt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, field) = (cut(&self.key, MAX_KEY_LENGTH), cut(&self.field, MAX_KEY_LENGTH));
        write!(f, "the key `{key}` is another spelling of `{field}`, parsers disagree about it")
    }
}

/// The field that others may take a key for; none for a key that is itself a field.
fn taken_for(key: &str, fields: &[&'static str]) -> Option<Misspelt> {
    if fields.contains(&key) {
        return None;
    }
    // The first letter rules out nearly every other key.
    let first = |text: &str| text.bytes().find(|b| !matches!(b, b'-' | b'_')).map(|b| b.to_ascii_lowercase());
    let own = first(key).filter(u8::is_ascii);
    let field = fields.iter().find(|field| (own.is_none() || first(field) == own) && is_same(key, field))?;
    Some(Misspelt { key: key.to_owned(), field: (*field).to_owned() })
}

/// Whether two keys are the same but for case, `-` and `_`.
fn is_same(key: &str, other: &str) -> bool {
    if key.is_ascii() && other.is_ascii() {
        let letters = |text| str::bytes(text).filter(|b| !matches!(b, b'-' | b'_')).map(|b| b.to_ascii_lowercase());
        return letters(key).eq(letters(other));
    }
    // Upper case first: the Kelvin sign has only a lower case, `ſ` only an upper one.
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| !matches!(c, '-' | '_'));
        letters.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    letters(key) == letters(other)
}

/// What the keys of an object are checked against.
enum Keys<'de> {
    /// The fields of the type that is read.
    Fields(&'static [&'static str]),
    /// The keys that were read so far, of a map with free keys.
    Free(Seen<'de>),
}

#[derive(Default)]
struct Seen<'de> {
    few: Vec<Cow<'de, str>>,
    many: BTreeSet<Cow<'de, str>>,
}

impl<'de> Seen<'de> {
    /// Adds a key; false when it was there already.
    fn insert(&mut self, key: Cow<'de, str>) -> bool {
        if self.few.contains(&key) {
            return false;
        }
        if self.few.len() < FEW_KEYS {
            self.few.push(key);
            return true;
        }
        self.many.insert(key)
    }
}

impl<'de> Keys<'de> {
    /// The key, unless it is refused.
    fn check<E: Error>(&mut self, key: Cow<'de, str>) -> Result<Cow<'de, str>, E> {
        let seen = match self {
            Self::Fields(fields) => {
                return taken_for(&key, fields).map_or(Ok(key), |misspelt| Err(E::custom(misspelt)));
            }
            Self::Free(seen) => seen,
        };
        // The parser would read an object with only that key as the JSON in its value.
        if key.starts_with("$serde_json::private::") {
            return Err(E::custom(format_args!("the key `{}` is none", cut(&key, MAX_KEY_LENGTH))));
        }
        if seen.insert(key.clone()) {
            Ok(key)
        } else {
            Err(E::custom(format_args!("the key `{}` stands twice", cut(&key, MAX_KEY_LENGTH))))
        }
    }
}

/// A parser that checks the keys of objects.
struct Exact<D>(D);

/// Methods for values that have no objects in them, or none to check.
macro_rules! plain {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method(visitor)
        })*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Exact<D> {
    type Error = D::Error;

    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit deserialize_identifier
        deserialize_ignored_any
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_any(Looking::free(visitor))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_option(Looking::free(visitor))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_unit_struct(name, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        // A raw value, kept to be read later: the parser knows the type by its name.
        if name.starts_with('$') {
            return self.0.deserialize_newtype_struct(name, visitor);
        }
        self.0.deserialize_newtype_struct(name, Looking::free(visitor))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_seq(Looking::free(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple(len, Looking::free(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_tuple_struct(name, len, Looking::free(visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Looking::free(visitor))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // Not as a struct: serde would read an array too, as the fields in their order, which others refuse.
        self.0.deserialize_map(Looking { visitor, fields: Some(fields) })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }
}

/// A visitor that gets objects with checked keys.
struct Looking<V> {
    visitor: V,
    /// Those of the type that is read; none for what may have any keys.
    fields: Option<&'static [&'static str]>,
}

impl<V> Looking<V> {
    fn free(visitor: V) -> Self {
        Self { visitor, fields: None }
    }
}

/// Methods that pass a value on unchanged.
macro_rules! pass {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.visitor.$method(value)
        })*
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Looking<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    pass! {
        visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str, visit_borrowed_str: &'de str,
        visit_string: String, visit_bytes: &[u8], visit_borrowed_bytes: &'de [u8]
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.visitor.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_some(Exact(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.visitor.visit_newtype_struct(Exact(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_seq(Elements(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        let keys = self.fields.map_or_else(|| Keys::Free(Seen::default()), Keys::Fields);
        self.visitor.visit_map(Entries { entries, keys })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_enum(data)
    }
}

/// Reads an element, or the value of an entry.
struct Inner<S>(S);

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Inner<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Exact(deserializer))
    }
}

struct Elements<A>(A);

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Elements<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        memory::go_on()?;
        self.0.next_element_seed(Inner(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

struct Entries<'de, A> {
    entries: A,
    keys: Keys<'de>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.entries.next_key_seed(Key { seed, keys: &mut self.keys })
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.entries.next_value_seed(Inner(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.entries.size_hint()
    }
}

/// Reads a key after it was checked.
struct Key<'k, 'de, S> {
    seed: S,
    keys: &'k mut Keys<'de>,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, 'de, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Key<'_, 'de, S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<S::Value, E> {
        self.visit_string(key.to_owned())
    }

    fn visit_string<E: Error>(self, key: String) -> Result<S::Value, E> {
        self.take(Cow::Owned(key))
    }

    fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<S::Value, E> {
        self.take(Cow::Borrowed(key))
    }
}

impl<'de, S: DeserializeSeed<'de>> Key<'_, 'de, S> {
    fn take<E: Error>(self, key: Cow<'de, str>) -> Result<S::Value, E> {
        let key = self.keys.check(key)?;
        self.seed.deserialize(Name { key, error: PhantomData })
    }
}

/// A checked key.
struct Name<'de, E> {
    key: Cow<'de, str>,
    error: PhantomData<E>,
}

impl<'de, E: Error> Deserializer<'de> for Name<'de, E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        match self.key {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, E> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::json;
    use serde_json::value::RawValue;
    use std::collections::BTreeMap;

    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "what was read is compared as its debug form shows it")]
    struct Report<'a> {
        #[serde(borrow)]
        subject: Option<Subject<'a>>,
        #[serde(default)]
        labels: BTreeMap<String, String>,
        #[serde(borrow)]
        later: Option<&'a RawValue>,
        #[serde(default)]
        any: Value,
    }

    #[derive(Deserialize, Debug)]
    #[expect(dead_code, reason = "what was read is compared as its debug form shows it")]
    #[serde(rename_all = "camelCase")]
    struct Subject<'a> {
        digest_set: Option<&'a str>,
        links: Option<Vec<Subject<'a>>>,
    }

    fn refused(json: &str) -> String {
        from_str::<Report<'_>>(json).map(|read| format!("read: {read:?}")).unwrap_err().to_string()
    }

    #[test]
    fn a_key_that_others_take_for_a_field_is_refused() {
        for (json, key, field) in [
            (r#"{"Subject": null}"#, "Subject", "subject"),
            (r#"{"subject": {}, "SUBJECT": {}}"#, "SUBJECT", "subject"),
            (r#"{"\u0053ubject": {}}"#, "Subject", "subject"),
            (r#"{"\u017fubject": {}}"#, "\u{17f}ubject", "subject"),
            (r#"{"subject": {"lin\u212as": []}}"#, "lin\u{212a}s", "links"),
            (r#"{"subject": {"digest_set": ""}}"#, "digest_set", "digestSet"),
            (r#"{"subject": {"links": [{}, {"DIGEST-SET": ""}]}}"#, "DIGEST-SET", "digestSet"),
        ] {
            let expected = format!("the key `{key}` is another spelling of `{field}`, parsers disagree about it");
            assert!(refused(json).starts_with(&expected), "{json}: {}", refused(json));
        }
    }

    #[test]
    fn a_value_is_read_as_strictly() {
        #[derive(Deserialize, Debug, PartialEq)]
        struct Named {
            name: String,
        }
        let read = |value: serde_json::Value| from_value::<Named>(&value).map_err(|error| error.to_string());
        assert_eq!(read(json!({ "name": "a", "other": { "Name": 1 } })), Ok(Named { name: "a".to_owned() }));
        for value in [json!({ "name": "a", "Name": "b" }), json!({ "Name": "b" })] {
            let reason = "the key `Name` is another spelling of `name`, parsers disagree about it";
            assert_eq!(read(value), Err(reason.to_owned()));
        }
    }

    #[test]
    fn a_key_that_stands_twice_is_refused() {
        for (json, why) in [
            (r#"{"subject": {}, "subject": {}}"#, "duplicate field `subject`"),
            (r#"{"subject": {}, "su\u0062ject": {}}"#, "duplicate field `subject`"),
            (r#"{"labels": {"a": "1", "\u0061": "2"}}"#, "the key `a` stands twice"),
            (r#"{"any": [{"a": {"b": 1, "b": 2}}]}"#, "the key `b` stands twice"),
            (
                r#"{"any": {"$serde_json::private::RawValue": "{}"}}"#,
                "the key `$serde_json::private::RawValue` is none",
            ),
        ] {
            assert!(refused(json).starts_with(why), "{json}: {}", refused(json));
        }
        let many: Vec<String> = (0..100).map(|n| format!("\"k{n}\": \"\"")).collect();
        let labels = |more: &str| format!("{{\"labels\": {{{}{more}}}}}", many.join(","));
        assert_eq!(from_str::<Report<'_>>(&labels("")).unwrap().labels.len(), 100);
        assert!(refused(&labels(", \"k3\": \"\"")).starts_with("the key `k3` stands twice"));
        assert!(refused(&labels(", \"k99\": \"\"")).starts_with("the key `k99` stands twice"));
    }

    #[test]
    fn an_array_is_no_object() {
        for json in [r#"[null, {}, null, null]"#, r#"{"subject": ["", []]}"#, r#"{"subject": {"links": [[]]}}"#] {
            assert!(refused(json).starts_with("invalid type: sequence, expected struct "), "{json}: {}", refused(json));
        }
    }

    /// Unknown fields and maps with free keys are read as before.
    #[test]
    fn other_keys_are_anybodys() {
        let json = r#"{"subject": {"digestSet": "d", "digests": 1, "link": 2, "links": null}, "labels": {"a": "1", "A": "2"},
            "later": {"Subject": 1, "subject": 2, "subject": 3}, "other": {"a": 1, "a": 2}, "any": {"Subject": 1, "x": [1, null]}}"#;
        let read: Report<'_> = from_str(json).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", serde_json::from_str::<Report<'_>>(json).unwrap()));
        assert_eq!(read.labels.len(), 2);
        for broken in ["", "{", "{} {}", "{\"subject\": 1}", "{1: 2}", "null"] {
            let own = from_str::<Report<'_>>(broken).unwrap_err().to_string();
            assert_eq!(own, serde_json::from_str::<Report<'_>>(broken).unwrap_err().to_string());
        }
    }

    #[test]
    fn values_are_looked_at_by_the_fields_that_are_read() {
        let object = |json: Value| json.as_object().cloned().unwrap();
        assert_eq!(check(&object(json!({"payload": 1, "other": 2})), &["payload"]), Ok(()));
        for key in ["Payload", "pay_load", "PAYLOAD", "pay-load"] {
            let why = check(&object(json!({"payload": 1, key: 2})), &["sig", "payload"]).unwrap_err().to_string();
            assert_eq!(why, format!("the key `{key}` is another spelling of `payload`, parsers disagree about it"));
        }
    }

    #[test]
    fn two_spellings_are_ambiguous_where_one_of_them_is_read() {
        let words = |words: &[&str]| -> BTreeSet<String> { words.iter().map(|&word| word.to_owned()).collect() };
        let document = json!({"a": [{"builder": 1, "Builder": 2}], "HTTP_PROXY": 1, "http_proxy": 2, "Name": 1});
        assert!(ambiguous(&document, &words(&["builder"])).is_some());
        assert!(ambiguous(&document, &words(&["Builder", "x"])).is_some());
        assert!(ambiguous(&document, &words(&["http_proxy"])).is_some());
        assert_eq!(ambiguous(&document, &words(&["name", "a", "x"])), None);
    }

    /// As Go folds: letters of either case, and two that aren't ASCII.
    #[test]
    fn spellings() {
        for (key, other, expected) in [
            ("subject", "Subject", true),
            ("\u{17f}ubject", "subject", true),
            ("lin\u{212a}", "link", true),
            ("_type", "type", true),
            ("predicate_type", "predicateType", true),
            ("\u{3c2}", "\u{3c3}", true),
            ("subject", "subjects", false),
            ("subject", "\u{455}ubject", false),
            ("", "-", true),
            ("os", "os.version", false),
        ] {
            assert_eq!(is_same(key, other), expected, "{key} {other}");
            assert_eq!(is_same(other, key), expected, "{other} {key}");
        }
    }

    proptest! {
        /// Any document is read the same as without the check, or refused for a key.
        #[test]
        fn what_is_read_is_what_the_parser_reads(json in "(\\{|\\}|\\[|\\]|,|:|1|null|\"subject\"|\"Subject\"|\"links\"|\"any\"|\"labels\"| ){0,14}") {
            if let Ok(read) = from_str::<Report<'_>>(&json) {
                prop_assert_eq!(format!("{read:?}"), format!("{:?}", serde_json::from_str::<Report<'_>>(&json).unwrap()));
            }
        }
    }
}
