//! The types of the arguments and results of operators and functions.
//!
//! Each way to call one is a line, `string, int -> string`. `|` separates alternative types. A function that is called on a value
//! has that value as its first argument.

use super::types::Type;

/// One way to call an operator or a function.
#[derive(Debug)]
pub(super) struct Signature {
    /// For each argument, its possible types.
    arguments: Vec<Vec<Type>>,
    result: Type,
}

const ORDERED: &[&str] = &[
    "int|uint|double, int|uint|double -> bool",
    "string, string -> bool",
    "bytes, bytes -> bool",
    "bool, bool -> bool",
    "timestamp, timestamp -> bool",
    "duration, duration -> bool",
];
const TEXT_OF_URL: &[&str] = &["url -> string"];
const BOOL_OF_IP: &[&str] = &["ip -> bool"];
const INT_OF_VERSION: &[&str] = &["semver -> int"];
const COMPARED: &[&str] = &["quantity, quantity -> bool", "semver, semver -> bool"];
const SETS: &[&str] = &["list, list -> bool"];
const IS_TEXT: &[&str] = &["string, string -> bool"];
const TRIMMED: &[&str] = &["string -> string"];
const POSITION: &[&str] = &["string, string -> int", "string, string, int -> int", "list, dyn -> int"];
const SUMMED: &[&str] = &["quantity, quantity|int -> quantity"];
const EXTREME: &[&str] = &[
    "list(int)|list(uint)|list(double)|list(string)|list(bytes)|list(bool)|list(timestamp)|list(duration) -> element",
];
const PART_OF_TIME: &[&str] = &["timestamp -> int", "timestamp, string -> int", "duration -> int"];
const PART_OF_IMAGE: &[&str] = &["string|map -> string"];

/// The operators by their names in the syntax tree. `==`, `&&`, `?` and `[]` are left out, since they depend on more than types.
const OPERATORS: [(&str, &[&str]); 11] = [
    (
        "_+_",
        &[
            "int, int -> int",
            "uint, uint -> uint",
            "double, double -> double",
            "string, string -> string",
            "bytes, bytes -> bytes",
            "timestamp, duration -> timestamp",
            "duration, timestamp -> timestamp",
            "duration, duration -> duration",
            "list, list|map -> list",
        ],
    ),
    (
        "_-_",
        &[
            "int, int -> int",
            "uint, uint -> uint",
            "double, double -> double",
            "timestamp, timestamp -> duration",
            "timestamp, duration -> timestamp",
            "duration, duration -> duration",
        ],
    ),
    ("_*_", &["int, int -> int", "uint, uint -> uint", "double, double -> double"]),
    ("_/_", &["int, int -> int", "uint, uint -> uint", "double, double -> double"]),
    ("_%_", &["int, int -> int", "uint, uint -> uint"]),
    ("-_", &["int -> int", "double -> double"]),
    ("_<_", ORDERED),
    ("_<=_", ORDERED),
    ("_>_", ORDERED),
    ("_>=_", ORDERED),
    ("@in", &["dyn, list|map -> bool"]),
];

/// The functions of the CEL standard, of Kubernetes' libraries and of this project.
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("add", SUMMED),
    ("asApproximateFloat", &["quantity -> double"]),
    ("asInteger", &["quantity -> int"]),
    ("bool", &["bool|string -> bool"]),
    ("bytes", &["bytes|string -> bytes"]),
    ("charAt", &["string, int -> string"]),
    ("cidr", &["string -> cidr"]),
    ("compareTo", &["quantity, quantity -> int", "semver, semver -> int"]),
    ("contains", IS_TEXT),
    ("containsCIDR", &["cidr, cidr|string -> bool"]),
    ("containsDigest", &["string|map -> bool"]),
    ("containsIP", &["cidr, ip|string -> bool"]),
    ("digest", PART_OF_IMAGE),
    ("double", &["double|int|uint|string -> double"]),
    ("duration", &["duration|string -> duration"]),
    ("dyn", &["dyn -> dyn"]),
    ("endsWith", IS_TEXT),
    ("extractPayload", &["string|map, string -> dyn"]),
    ("family", &["ip -> int"]),
    ("find", &["string, string -> string"]),
    ("findAll", &["string, string -> list(string)", "string, string, int -> list(string)"]),
    ("format", &["string, list -> string"]),
    ("getDate", PART_OF_TIME),
    ("getDayOfMonth", PART_OF_TIME),
    ("getDayOfWeek", PART_OF_TIME),
    ("getDayOfYear", PART_OF_TIME),
    ("getEscapedPath", TEXT_OF_URL),
    ("getFullYear", PART_OF_TIME),
    ("getHost", TEXT_OF_URL),
    ("getHostname", TEXT_OF_URL),
    ("getHours", PART_OF_TIME),
    ("getImageData", &["string|map -> dyn"]),
    ("getMilliseconds", PART_OF_TIME),
    ("getMinutes", PART_OF_TIME),
    ("getMonth", PART_OF_TIME),
    ("getPort", TEXT_OF_URL),
    ("getQuery", &["url -> map(string, list(string))"]),
    ("getScheme", TEXT_OF_URL),
    ("getSeconds", PART_OF_TIME),
    ("identifier", PART_OF_IMAGE),
    ("image", &["string|map -> map(string, string)"]),
    ("imageConfigs", &["string|map -> list(map(string, dyn))"]),
    ("indexOf", POSITION),
    ("int", &["int|uint|double|string|timestamp -> int"]),
    ("ip", &["string -> ip", "cidr -> ip"]),
    ("ip.isCanonical", &["string -> bool"]),
    ("isCIDR", &["string -> bool"]),
    ("isGlobalUnicast", BOOL_OF_IP),
    ("isGreaterThan", COMPARED),
    ("isIP", &["string -> bool"]),
    ("isImage", &["dyn -> bool"]),
    ("isInteger", &["quantity -> bool"]),
    ("isLessThan", COMPARED),
    ("isLinkLocalMulticast", BOOL_OF_IP),
    ("isLinkLocalUnicast", BOOL_OF_IP),
    ("isLoopback", BOOL_OF_IP),
    ("isQuantity", &["string -> bool"]),
    ("isSemver", &["string -> bool", "string, bool -> bool"]),
    (
        "isSorted",
        &[
            "list(int)|list(uint)|list(double)|list(string)|list(bytes)|list(bool)|list(timestamp)|list(duration) -> bool",
        ],
    ),
    ("isURL", &["string -> bool"]),
    ("isUnspecified", BOOL_OF_IP),
    ("join", &["list(string) -> string", "list(string), string -> string"]),
    ("lastIndexOf", POSITION),
    ("lowerAscii", TRIMMED),
    ("major", INT_OF_VERSION),
    ("masked", &["cidr -> cidr"]),
    ("matches", IS_TEXT),
    ("max", EXTREME),
    ("min", EXTREME),
    ("minor", INT_OF_VERSION),
    ("parseImageReference", &["string|map -> map(string, string)"]),
    ("parseReference", &["string|map -> map(string, string)"]),
    ("patch", INT_OF_VERSION),
    ("payload", &["string|map, string -> dyn"]),
    ("prefixLength", &["cidr -> int"]),
    ("quantity", &["string -> quantity"]),
    ("registry", PART_OF_IMAGE),
    ("replace", &["string, string, string -> string", "string, string, string, int -> string"]),
    ("repository", PART_OF_IMAGE),
    ("sbomPackages", &["string|map -> list(map(string, dyn))"]),
    ("scanReport", &["string|map -> map(string, dyn)"]),
    ("semver", &["string -> semver", "string, bool -> semver"]),
    ("sets.contains", SETS),
    ("sets.equivalent", SETS),
    ("sets.intersects", SETS),
    ("sign", &["quantity -> int"]),
    ("size", &["string|bytes|list|map -> int"]),
    ("split", &["string, string -> list(string)", "string, string, int -> list(string)"]),
    ("startsWith", IS_TEXT),
    ("string", &["string|int|uint|double|bool|bytes|timestamp|duration|ip|cidr -> string"]),
    ("sub", SUMMED),
    ("substring", &["string, int -> string", "string, int, int -> string"]),
    ("sum", &["list(int)|list(uint)|list(double)|list(duration) -> element"]),
    ("tag", PART_OF_IMAGE),
    ("timestamp", &["timestamp|int|string -> timestamp"]),
    ("trim", TRIMMED),
    ("type", &["dyn -> type"]),
    ("uint", &["uint|int|double|string -> uint"]),
    ("upperAscii", TRIMMED),
    ("url", &["string -> url"]),
    ("verifyAttestationSignatures", &["string|map, string, list(string)|string -> int"]),
    ("verifyImageSignatures", &["string|map, list(string)|string -> int"]),
];

impl Signature {
    fn read(text: &str) -> Self {
        let (arguments, result) = text.split_once("->").unwrap_or((text, "dyn"));
        let mut read = Vec::new();
        let (mut depth, mut start) = (0_usize, 0);
        for (position, sign) in arguments.char_indices() {
            match sign {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    read.push(arguments.get(start..position).unwrap_or_default());
                    start = position + 1;
                }
                _ => {}
            }
        }
        read.push(arguments.get(start..).unwrap_or_default());
        let any_of = |types: &str| types.split('|').map(Type::named).collect();
        Self { arguments: read.into_iter().map(any_of).collect(), result: Type::named(result) }
    }

    /// How many arguments there are.
    pub(super) fn count(&self) -> usize {
        self.arguments.len()
    }

    /// The type of the result for arguments of these types; none if it can't take them.
    pub(super) fn result(&self, arguments: &[Type]) -> Option<Type> {
        let fits = |(wanted, given): (&Vec<Type>, &Type)| wanted.iter().any(|wanted| wanted.may_be(given));
        if arguments.len() != self.count() || !self.arguments.iter().zip(arguments).all(fits) {
            return None;
        }
        Some(match (&self.result, arguments) {
            (Type::Simple("element"), [Type::List(element)]) => element.as_ref().clone(),
            (Type::Simple("element"), _) => Type::Dynamic,
            (result, _) => result.clone(),
        })
    }
}

/// The ways to call an operator.
pub(super) fn operator(name: &str) -> Vec<Signature> {
    read(&OPERATORS, name)
}

/// The ways to call a function; empty if it is unknown.
pub(super) fn function(name: &str) -> Vec<Signature> {
    read(FUNCTIONS, name)
}

fn read(table: &[(&str, &[&str])], name: &str) -> Vec<Signature> {
    let own = table.iter().find(|(own, _)| *own == name);
    own.into_iter().flat_map(|(_, texts)| *texts).map(|text| Signature::read(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verification::questions;
    use image_admission_cel::functions;

    #[test]
    fn every_function_is_there_with_its_numbers_of_arguments() {
        for name in functions::names().chain(questions::names()) {
            let signatures = function(name);
            assert!(!signatures.is_empty(), "`{name}` has no signature");
            if let Some(arguments) = functions::arguments(name) {
                let counts: std::collections::BTreeSet<usize> = signatures.iter().map(Signature::count).collect();
                assert_eq!(counts.into_iter().collect::<Vec<_>>(), arguments.collect::<Vec<_>>(), "{name}");
            }
        }
        for (name, _) in FUNCTIONS {
            let is_known =
                functions::is_known(name) || functions::needs_standard_library(name) || questions::is_known(name);
            assert!(is_known, "`{name}` is no function");
        }
        let sorted = FUNCTIONS.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(sorted);
    }

    #[test]
    fn signatures_are_read() {
        let read = Signature::read("string|map, list(map(string, int)) -> list(string)");
        assert_eq!(
            read.arguments,
            [vec![Type::STRING, Type::named("map")], vec![Type::named("list(map(string, int))")]]
        );
        assert_eq!(read.result, Type::named("list(string)"));
    }
}
