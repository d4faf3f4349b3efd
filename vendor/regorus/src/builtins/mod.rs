// Copyright (c) Microsoft Corporation.
// Licensed under the MIT License.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::shadow_unrelated,
    clippy::unwrap_used,
    clippy::missing_const_for_fn,
    clippy::option_if_let_else,
    clippy::semicolon_if_nothing_returned,
    clippy::useless_let_if_seq
)] // builtins perform validated indexing and intentional arithmetic/string ops

mod aggregates;
mod arrays;
#[cfg(feature = "azure_policy")]
pub mod azure_policy;
mod bitwise;
pub mod comparison;
mod conversions;

mod encoding;
#[cfg(feature = "glob")]
mod glob;
#[cfg(feature = "graph")]
mod graph;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "net")]
mod net;

#[cfg(feature = "jsonpatch")]
mod json_patch;
pub mod numbers;
mod objects;
#[cfg(feature = "opa-runtime")]
mod opa;
#[cfg(feature = "regex")]
pub mod re2;
#[cfg(feature = "regex")]
mod regex;
#[cfg(feature = "semver")]
mod semver;
pub mod sets;
mod strings;
#[cfg(feature = "time")]
mod time;
mod tracing;
pub mod types;
mod units;
mod utils;
#[cfg(feature = "uuid")]
mod uuid;

#[cfg(feature = "opa-testutil")]
mod test;

use crate::ast::{Expr, Ref};
use crate::lexer::Span;
use crate::value::Value;

use anyhow::Result;

#[cfg(feature = "azure_policy")]
type Function = fn(&Span, &[Ref<Expr>], &[Value], bool) -> Result<Value>;

/// A builtin function: its name, and how many arguments it takes.
#[derive(Debug)]
pub struct Builtin {
    pub name: &'static str,
    pub arguments: u8,
    code: Code,
}

/// The builtins, in the order of their names: a table that nothing makes when it is looked at first. Their functions are called where
/// their codes are told apart, so that none of them takes a place in a table of functions.
macro_rules! builtins {
    ($($(#[$gate:meta])* $name:literal $arguments:literal $code:ident $module:ident::$function:ident;)*) => {
        #[derive(Clone, Copy, Debug)]
        enum Code {
            $($(#[$gate])* $code,)*
            #[cfg(feature = "azure_policy")]
            AzurePolicy(Function),
        }

        pub static BUILTINS: &[Builtin] = &[
            $($(#[$gate])* Builtin { name: $name, arguments: $arguments, code: Code::$code },)*
        ];

        impl Builtin {
            pub fn call(&self, span: &Span, params: &[Ref<Expr>], args: &[Value], strict: bool) -> Result<Value> {
                match self.code {
                    $($(#[$gate])* Code::$code => $module::$function(span, params, args, strict),)*
                    #[cfg(feature = "azure_policy")]
                    Code::AzurePolicy(function) => function(span, params, args, strict),
                }
            }
        }
    };
}

#[rustfmt::skip]
builtins! {
    "__builtin_sets.intersection" 2 BuiltinSetsIntersection sets::binary_set_intersection;
    "__builtin_sets.union" 2 BuiltinSetsUnion sets::binary_set_union;
    "abs" 1 Abs numbers::abs;
    "array.concat" 2 ArrayConcat arrays::concat;
    "array.reverse" 1 ArrayReverse arrays::reverse;
    "array.slice" 3 ArraySlice arrays::slice;
    #[cfg(feature = "base64")] "base64.decode" 1 Base64Decode encoding::base64_decode;
    #[cfg(feature = "base64")] "base64.encode" 1 Base64Encode encoding::base64_encode;
    #[cfg(feature = "base64")] "base64.is_valid" 1 Base64IsValid encoding::base64_is_valid;
    #[cfg(feature = "base64url")] "base64url.decode" 1 Base64urlDecode encoding::base64url_decode;
    #[cfg(feature = "base64url")] "base64url.encode" 1 Base64urlEncode encoding::base64url_encode;
    #[cfg(feature = "base64url")] "base64url.encode_no_pad" 1 Base64urlEncodeNoPad encoding::base64url_encode_no_pad;
    "bits.and" 2 BitsAnd bitwise::and;
    "bits.lsh" 2 BitsLsh bitwise::lsh;
    "bits.negate" 1 BitsNegate bitwise::negate;
    "bits.or" 2 BitsOr bitwise::or;
    "bits.rsh" 2 BitsRsh bitwise::rsh;
    "bits.xor" 2 BitsXor bitwise::xor;
    "ceil" 1 Ceil numbers::ceil;
    "concat" 2 Concat strings::concat;
    "contains" 2 Contains strings::contains;
    "count" 1 Count aggregates::count;
    "endswith" 2 Endswith strings::endswith;
    "floor" 1 Floor numbers::floor;
    "format_int" 2 FormatInt strings::format_int;
    #[cfg(feature = "glob")] "glob.match" 3 GlobMatch glob::glob_match;
    #[cfg(feature = "glob")] "glob.quote_meta" 1 GlobQuoteMeta glob::quote_meta;
    #[cfg(feature = "graph")] "graph.reachable" 2 GraphReachable graph::reachable;
    #[cfg(feature = "graph")] "graph.reachable_paths" 2 GraphReachablePaths graph::reachable_paths;
    #[cfg(feature = "hex")] "hex.decode" 1 HexDecode encoding::hex_decode;
    #[cfg(feature = "hex")] "hex.encode" 1 HexEncode encoding::hex_encode;
    #[cfg(feature = "http")] "http.send" 1 HttpSend http::send;
    "indexof" 2 Indexof strings::indexof;
    "indexof_n" 2 IndexofN strings::indexof_n;
    "intersection" 1 Intersection sets::intersection_of_set_of_sets;
    "is_array" 1 IsArray types::is_array;
    "is_boolean" 1 IsBoolean types::is_boolean;
    "is_null" 1 IsNull types::is_null;
    "is_number" 1 IsNumber types::is_number;
    "is_object" 1 IsObject types::is_object;
    "is_set" 1 IsSet types::is_set;
    "is_string" 1 IsString types::is_string;
    "json.filter" 2 JsonFilter objects::json_filter;
    "json.is_valid" 1 JsonIsValid encoding::json_is_valid;
    "json.marshal" 1 JsonMarshal encoding::json_marshal;
    "json.marshal_with_options" 2 JsonMarshalWithOptions encoding::json_marshal_with_options;
    #[cfg(feature = "jsonschema")] "json.match_schema" 2 JsonMatchSchema objects::json_match_schema;
    #[cfg(feature = "jsonpatch")] "json.patch" 2 JsonPatch objects::json_patch;
    "json.remove" 2 JsonRemove objects::json_remove;
    "json.unmarshal" 1 JsonUnmarshal encoding::json_unmarshal;
    #[cfg(feature = "jsonschema")] "json.verify_schema" 1 JsonVerifySchema objects::json_verify_schema;
    "lower" 1 Lower strings::lower;
    "max" 1 Max aggregates::max;
    "min" 1 Min aggregates::min;
    #[cfg(feature = "net")] "net.cidr_contains" 2 NetCidrContains net::cidr_contains;
    #[cfg(feature = "net")] "net.cidr_expand" 1 NetCidrExpand net::cidr_expand;
    #[cfg(feature = "net")] "net.cidr_is_valid" 1 NetCidrIsValid net::cidr_is_valid;
    "numbers.range" 2 NumbersRange numbers::range;
    "numbers.range_step" 3 NumbersRangeStep numbers::range_step;
    "object.filter" 2 ObjectFilter objects::filter;
    "object.get" 3 ObjectGet objects::get;
    "object.keys" 1 ObjectKeys objects::keys;
    "object.remove" 2 ObjectRemove objects::remove;
    "object.subset" 2 ObjectSubset objects::subset;
    "object.union" 2 ObjectUnion objects::object_union;
    "object.union_n" 1 ObjectUnionN objects::object_union_n;
    #[cfg(feature = "opa-runtime")] "opa.runtime" 0 OpaRuntime opa::opa_runtime;
    "product" 1 Product aggregates::product;
    #[cfg(feature = "std")] "rand.intn" 2 RandIntn numbers::intn;
    #[cfg(feature = "regex")] "regex.find_all_string_submatch_n" 3 RegexFindAllStringSubmatchN regex::find_all_string_submatch_n;
    #[cfg(feature = "regex")] "regex.find_n" 3 RegexFindN regex::find_n;
    #[cfg(feature = "regex")] "regex.is_valid" 1 RegexIsValid regex::is_valid;
    #[cfg(feature = "regex")] "regex.match" 2 RegexMatch regex::regex_match;
    #[cfg(feature = "regex")] "regex.replace" 3 RegexReplace regex::regex_replace;
    #[cfg(feature = "regex")] "regex.split" 2 RegexSplit regex::regex_split;
    #[cfg(feature = "regex")] "regex.template_match" 4 RegexTemplateMatch regex::regex_template_match;
    "replace" 3 Replace strings::replace;
    "round" 1 Round numbers::round;
    #[cfg(feature = "semver")] "semver.compare" 2 SemverCompare semver::compare;
    #[cfg(feature = "semver")] "semver.is_valid" 1 SemverIsValid semver::is_valid;
    "sort" 1 Sort aggregates::sort;
    "split" 2 Split strings::split;
    "sprintf" 2 Sprintf strings::sprintf;
    "startswith" 2 Startswith strings::startswith;
    "strings.any_prefix_match" 2 StringsAnyPrefixMatch strings::any_prefix_match;
    "strings.any_suffix_match" 2 StringsAnySuffixMatch strings::any_suffix_match;
    "strings.count" 2 StringsCount strings::strings_count;
    "strings.replace_n" 2 StringsReplaceN strings::replace_n;
    "strings.reverse" 1 StringsReverse strings::reverse;
    "substring" 3 Substring strings::substring;
    "sum" 1 Sum aggregates::sum;
    #[cfg(feature = "opa-testutil")] "test.sleep" 1 TestSleep test::sleep;
    #[cfg(feature = "time")] "time.add_date" 4 TimeAddDate time::add_date;
    #[cfg(feature = "time")] "time.clock" 1 TimeClock time::clock;
    #[cfg(feature = "time")] "time.date" 1 TimeDate time::date;
    #[cfg(feature = "time")] "time.diff" 2 TimeDiff time::diff;
    #[cfg(feature = "time")] "time.format" 1 TimeFormat time::format;
    #[cfg(feature = "time")] "time.now_ns" 0 TimeNowNs time::now_ns;
    #[cfg(feature = "time")] "time.parse_duration_ns" 1 TimeParseDurationNs time::parse_duration_ns;
    #[cfg(feature = "time")] "time.parse_ns" 2 TimeParseNs time::parse_ns;
    #[cfg(feature = "time")] "time.parse_rfc3339_ns" 1 TimeParseRfc3339Ns time::parse_rfc3339_ns;
    #[cfg(feature = "time")] "time.weekday" 1 TimeWeekday time::weekday;
    "to_number" 1 ToNumber conversions::to_number;
    "trace" 1 Trace tracing::trace;
    "trim" 2 Trim strings::trim;
    "trim_left" 2 TrimLeft strings::trim_left;
    "trim_prefix" 2 TrimPrefix strings::trim_prefix;
    "trim_right" 2 TrimRight strings::trim_right;
    "trim_space" 1 TrimSpace strings::trim_space;
    "trim_suffix" 2 TrimSuffix strings::trim_suffix;
    "type_name" 1 TypeName types::type_name;
    "union" 1 Union sets::union_of_set_of_sets;
    "units.parse" 1 UnitsParse units::parse;
    "units.parse_bytes" 1 UnitsParseBytes units::parse_bytes;
    "upper" 1 Upper strings::upper;
    #[cfg(feature = "urlquery")] "urlquery.decode" 1 UrlqueryDecode encoding::urlquery_decode;
    #[cfg(feature = "urlquery")] "urlquery.decode_object" 1 UrlqueryDecodeObject encoding::urlquery_decode_object;
    #[cfg(feature = "urlquery")] "urlquery.encode" 1 UrlqueryEncode encoding::urlquery_encode;
    #[cfg(feature = "urlquery")] "urlquery.encode_object" 1 UrlqueryEncodeObject encoding::urlquery_encode_object;
    #[cfg(feature = "uuid")] "uuid.parse" 1 UuidParse uuid::parse;
    #[cfg(feature = "uuid")] "uuid.rfc4122" 1 UuidRfc4122 uuid::rfc4122;
    #[cfg(feature = "graph")] "walk" 1 Walk graph::walk;
    #[cfg(feature = "yaml")] "yaml.is_valid" 1 YamlIsValid encoding::yaml_is_valid;
    #[cfg(feature = "yaml")] "yaml.marshal" 1 YamlMarshal encoding::yaml_marshal;
    #[cfg(feature = "yaml")] "yaml.unmarshal" 1 YamlUnmarshal encoding::yaml_unmarshal;
}

impl Builtin {
    /// The builtin of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        match BUILTINS.binary_search_by(|builtin| builtin.name.cmp(name)) {
            Ok(found) => BUILTINS.get(found),
            #[cfg(feature = "azure_policy")]
            Err(_) => AZURE_POLICY.get(name),
            #[cfg(not(feature = "azure_policy"))]
            Err(_) => None,
        }
    }

    /// The names of all builtins.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let names = BUILTINS.iter().map(|builtin| builtin.name);
        #[cfg(feature = "azure_policy")]
        let names = names.chain(AZURE_POLICY.keys().copied());
        names
    }
}

#[cfg(feature = "azure_policy")]
pub type BuiltinFcn = (Function, u8);
#[cfg(feature = "azure_policy")]
use crate::Map as BuiltinsMap;

// The builtins of Azure Policy register themselves, in modules of their own.
#[cfg(feature = "azure_policy")]
lazy_static::lazy_static! {
    static ref AZURE_POLICY: BuiltinsMap<&'static str, Builtin> = {
        let mut registered = BuiltinsMap::new();
        azure_policy::register(&mut registered);
        registered
            .into_iter()
            .map(|(name, (function, arguments)): (_, BuiltinFcn)| {
                let code = Code::AzurePolicy(function);
                (name, Builtin { name, arguments, code })
            })
            .collect()
    };
}

#[cfg(test)]
mod tests {
    use super::{Builtin, BUILTINS};

    #[test]
    fn each_builtin_is_found_by_its_name() {
        assert!(BUILTINS.is_sorted_by(|one, other| one.name < other.name));
        for name in Builtin::names() {
            assert_eq!(Builtin::named(name).map(|found| found.name), Some(name));
        }
        assert!(Builtin::named("").is_none());
        assert!(Builtin::named("nope").is_none());
    }
}

pub fn must_cache(path: &str) -> Option<&'static str> {
    match path {
        "opa.runtime" => Some("opa.runtime"),
        "rand.intn" => Some("rand.intn"),
        "time.now_ns" => Some("time.now_ns"),
        "uuid.rfc4122" => Some("uuid.rfc4122"),
        _ => None,
    }
}
