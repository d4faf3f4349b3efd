//! Types of CEL values, as far as they are known before an evaluation.

use std::fmt;

/// What is known of a value's type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    /// Only an evaluation shows it: a field of the object, an answer of a registry.
    Dynamic,
    /// The type of the elements of `[]`, which has none.
    Nothing,
    /// `int`, `string`, `kubernetes.Quantity`, by its name in [`NAMES`].
    Simple(&'static str),
    /// A list of such elements.
    List(Box<Self>),
    /// A map from such keys to such values.
    Map(Box<Self>, Box<Self>),
}

/// The simple types, each with the words for one of them and for several.
const NAMES: [(&str, &str, &str); 16] = [
    ("bool", "a bool", "bools"),
    ("bytes", "bytes", "bytes"),
    ("cidr", "a CIDR", "CIDRs"),
    ("double", "a double", "doubles"),
    ("duration", "a duration", "durations"),
    ("int", "an int", "ints"),
    ("ip", "an IP address", "IP addresses"),
    ("null", "null", "nulls"),
    ("quantity", "a quantity", "quantities"),
    ("semver", "a version", "versions"),
    ("string", "a string", "strings"),
    ("timestamp", "a timestamp", "timestamps"),
    ("type", "a type", "types"),
    ("uint", "a uint", "uints"),
    ("url", "a URL", "URLs"),
    // The result of a function that gives an element of the list that it is called on.
    ("element", "an element", "elements"),
];

impl Type {
    pub(super) const BOOL: Self = Self::Simple("bool");
    pub(super) const BYTES: Self = Self::Simple("bytes");
    pub(super) const DOUBLE: Self = Self::Simple("double");
    pub(super) const INT: Self = Self::Simple("int");
    pub(super) const NULL: Self = Self::Simple("null");
    pub(super) const STRING: Self = Self::Simple("string");
    pub(super) const TIMESTAMP: Self = Self::Simple("timestamp");
    pub(super) const TYPE: Self = Self::Simple("type");
    pub(super) const UINT: Self = Self::Simple("uint");

    pub(super) fn list(element: Self) -> Self {
        Self::List(Box::new(element))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Box::new(key), Box::new(value))
    }

    /// The type with that name, `list(string)`; any other name is `Dynamic`. `list` and `map` have elements of any type.
    pub(super) fn named(text: &str) -> Self {
        let text = text.trim();
        let inner = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
        if let Some(element) = inner("list") {
            return Self::list(Self::named(element));
        }
        if let Some((key, value)) = inner("map").and_then(|inner| inner.split_once(',')) {
            return Self::map(Self::named(key), Self::named(value));
        }
        match text {
            "list" => Self::list(Self::Dynamic),
            "map" => Self::map(Self::Dynamic, Self::Dynamic),
            _ => NAMES.iter().find(|(name, ..)| *name == text).map_or(Self::Dynamic, |(name, ..)| Self::Simple(name)),
        }
    }

    /// Whether a value of this type may be one of the other.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dynamic | Self::Nothing, _) | (_, Self::Dynamic | Self::Nothing) => true,
            (Self::Simple(name), Self::Simple(other)) => name == other,
            (Self::List(element), Self::List(other)) => element.may_be(other),
            (Self::Map(key, value), Self::Map(other_key, other)) => key.may_be(other_key) && value.may_be(other),
            _ => false,
        }
    }

    /// The type of a value that has one type or the other.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (Self::List(element), Self::List(other)) => Self::list(element.or(*other)),
            (Self::Map(key, value), Self::Map(other_key, other)) => Self::map(key.or(*other_key), value.or(*other)),
            (known, other) if known == other => known,
            _ => Self::Dynamic,
        }
    }

    fn plural(&self) -> Option<String> {
        match self {
            Self::Dynamic | Self::Nothing => None,
            Self::Simple(name) => NAMES.iter().find(|(own, ..)| own == name).map(|(.., plural)| (*plural).to_owned()),
            Self::List(element) => Some(element.plural().map_or("lists".to_owned(), |of| format!("lists of {of}"))),
            Self::Map(..) => Some("maps".to_owned()),
        }
    }
}

/// `an int`, `a list of strings`
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dynamic | Self::Nothing => f.write_str("a value"),
            Self::Simple(name) => {
                f.write_str(NAMES.iter().find(|(own, ..)| own == name).map_or(name, |(_, one, _)| *one))
            }
            Self::List(element) => match element.plural() {
                Some(of) => write!(f, "a list of {of}"),
                None => f.write_str("a list"),
            },
            Self::Map(..) => f.write_str("a map"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_named_and_shown() {
        for (name, shown) in [
            ("int", "an int"),
            ("null", "null"),
            ("dyn", "a value"),
            ("list", "a list"),
            ("list(string)", "a list of strings"),
            ("list(list(int))", "a list of lists of ints"),
            ("list(map(string, list(int)))", "a list of maps"),
            ("map(string, int)", "a map"),
            ("ip", "an IP address"),
        ] {
            assert_eq!(Type::named(name).to_string(), shown, "{name}");
        }
    }

    #[test]
    fn types_fit_where_nothing_says_that_they_do_not() {
        for (one, other, expected) in [
            ("int", "int", true),
            ("int", "uint", false),
            ("int", "dyn", true),
            ("list(int)", "list", true),
            ("list(int)", "list(string)", false),
            ("list(int)", "map", false),
            ("map(string, dyn)", "map(string, int)", true),
            ("map(string, string)", "map(string, int)", false),
        ] {
            let (one, other) = (Type::named(one), Type::named(other));
            assert_eq!((one.may_be(&other), other.may_be(&one)), (expected, expected), "{one:?} {other:?}");
        }
        let empty = Type::list(Type::Nothing);
        assert!(empty.may_be(&Type::named("list(int)")));
        assert_eq!(empty.or(Type::named("list(int)")), Type::named("list(int)"));
        assert_eq!(Type::named("list(string)").or(Type::named("list(int)")), Type::named("list(dyn)"));
        assert_eq!(Type::INT.or(Type::NULL), Type::Dynamic);
    }
}
