//! The functions that an expression can call: those of the CEL standard and of the libraries that Kubernetes adds.
//!
//! The crate `cel` has the standard functions too, in tables (`Env::stdlib()`) with hundreds of overloads. Each request
//! starts from a clean instance and would have to build them. So a context starts empty here (`Context::empty()`) and
//! gets only the functions that the expression calls.
//!
//! # What works without the tables
//!
//! - All operators (`==`, `<`, `+`, `in`, `[]`, `? :`, `&&`, …), literals, selection, and the macros `has`, `all`,
//!   `exists`, `exists_one`, `map`, `filter`: the evaluator knows them.
//! - The functions in [`FUNCTIONS`], which [`add`] adds.
//! - The names of the simple types as values (`type(x) == string`): [`add_type_name`] binds them as variables.
//!
//! # What needs them
//!
//! Optionals, and the accessors of timestamps and durations (`getHours`), exist only in the tables. [`needs_standard_library`] is
//! true for their names. For such an expression use `Context::with_env(Arc::new(Env::stdlib()))` and call [`add`] as usual: it
//! leaves names alone that are in the tables already.
//!
//! # Bounds
//!
//! No function makes a string longer than [`MAX_TEXT`] or a list longer than [`MAX_ELEMENTS`]: it fails instead. The
//! operator `+` isn't a function; `expression` bounds it.

/// Makes one of our types a CEL value, with the name that Kubernetes gives it. Two values are equal when `==` says so.
macro_rules! opaque {
    ($type:ty, $name:literal) => {
        impl Val for $type {
            fn get_type(&self) -> &Type {
                Self::cel_type()
            }

            fn cel_type() -> &'static Type {
                static TYPE: Type = Type::simple_type(Kind::Opaque, $name);
                &TYPE
            }

            fn equals(&self, other: &dyn Val) -> bool {
                other.downcast_ref::<Self>().is_some_and(|other| self == other)
            }

            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v>
            where
                Self: 'v,
            {
                Box::new(self.clone())
            }

            fn as_any(&self) -> Option<&dyn std::any::Any> {
                Some(self)
            }
        }

        impl cel::common::value::StaticVal for $type {}
    };
}

mod format;
mod lists;
mod network;
mod order;
mod quantity;
pub mod regex;
mod sets;
mod standard;
mod strings;
mod time;
mod url;
mod versions;

use cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelString, CelTimestamp, CelType, CelUInt, Kind,
};
use cel::common::value::{CowVal, Val};
use cel::{Context, ExecutionError, FunctionContext};
use std::ops::RangeInclusive;

/// The error for a string that would be longer than [`MAX_TEXT`].
pub(crate) const LONG_TEXT: &str = "the text would be longer than 1 MiB";
/// The error for a list that would be longer than [`MAX_ELEMENTS`].
pub(crate) const LONG_LIST: &str = "the list would have more than 100,000 elements";
/// The error for a URL whose query has more values than [`MAX_ELEMENTS`].
const LONG_QUERY: &str = "the query would have more than 100,000 values";
/// The error for a string that is too long to search.
const LONG_SEARCHED: &str = "the text is longer than 8 KiB";
/// The error for a pattern that is too long.
const LONG_PATTERN: &str = "the pattern is longer than 1,024 bytes";

/// The error for sets that are too large to compare.
const LONG_SETS: &str = "the lists have more than 1,000,000 pairs of elements";

/// Whether a function's error says that its input or its result is too large. The author of the object chooses how
/// large they are.
pub fn is_bound(message: &str) -> bool {
    [LONG_TEXT, LONG_LIST, LONG_QUERY, LONG_SEARCHED, LONG_PATTERN, LONG_SETS].contains(&message)
}

/// The names of the types that [`add_type_name`] can bind, sorted.
pub const TYPE_NAMES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"];

/// The longest string, in bytes, that a function makes.
pub const MAX_TEXT: usize = 1 << 20;

/// The most elements of a list that a function makes.
pub const MAX_ELEMENTS: usize = 100_000;

/// Adds the function `name` to the root context `context`; false when it isn't one of [`names`].
///
/// A context whose environment has a function of that name (one made with `Env::stdlib()`) keeps its own.
pub fn add(context: &mut Context<'_, '_>, name: &str) -> bool {
    let Some(function) = find(name) else { return false };
    let boxed: Boxed = Box::new(move |frame| function.call(frame));
    // The only error is that the environment has the name already. Then its own function answers the call.
    drop(context.add_function::<Boxed, Boxed>(name, boxed));
    true
}

/// Binds the name of a simple type (`string`, `list`, …) as a variable, to compare with what `type(x)` gives; false
/// when it isn't one of [`TYPE_NAMES`].
///
/// A variable of a comprehension shadows it, as it shadows the name in the tables.
pub(crate) fn add_type_name(context: &mut Context<'_, '_>, name: &str) -> bool {
    let Ok(position) = TYPE_NAMES.binary_search(&name) else { return false };
    if let Some(found) = TYPE_NAMES.get(position) {
        context.add_variable_as_val(*found, Box::new(CelType::new_static(found)));
    }
    true
}

/// Whether `name` is the name of a function that [`add`] can add.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// Why a function can't be called as a function, or as a method; none: it can.
pub fn misuse(name: &str, is_member: bool) -> Option<&'static str> {
    find(name).and_then(|function| function.style.misuse(is_member))
}

/// How many arguments a function takes, the target included; none where [`FUNCTIONS`] doesn't have it.
pub fn arguments(name: &str) -> Option<RangeInclusive<usize>> {
    find(name).map(|function| function.arguments.clone())
}

/// Whether the name is a prefix of functions, as in `sets.contains`.
pub fn is_namespace(name: &str) -> bool {
    names().any(|known| known.split_once('.').is_some_and(|(namespace, _)| namespace == name))
}

/// Whether an expression that calls the function `name`, or that names the type `name`, works only with the crate's
/// own tables.
///
/// `name` is the plain name of a function (in the syntax tree, `optional.of(x)` is a call of `of`), or the name of a
/// type with its dots.
pub fn needs_standard_library(name: &str) -> bool {
    matches!(
        name,
        "getDate"
            | "getDayOfMonth"
            | "getDayOfWeek"
            | "getDayOfYear"
            | "getFullYear"
            | "getHours"
            | "getMilliseconds"
            | "getMinutes"
            | "getMonth"
            | "getSeconds"
            | "google.protobuf.Duration"
            | "google.protobuf.Timestamp"
            | "hasValue"
            | "none"
            | "of"
            | "ofNonZeroValue"
            | "optional.none"
            | "optional.of"
            | "optional.ofNonZeroValue"
            | "optional_type"
            | "or"
            | "orValue"
            | "value"
    )
}

/// The result of a function. Where it can, it borrows for `'c`, the call, from data that lives for `'v`.
type Answer<'c, 'v> = Result<CowVal<'c, 'v>, ExecutionError>;

/// The form of a function that a context takes without a wrapper per type of argument.
pub(crate) type Boxed = Box<dyn for<'c, 'v> Fn(&mut FunctionContext<'c, 'v>) -> Answer<'c, 'v> + Send + Sync>;

/// How a function may be called. The crate would allow both ways for each, but an expression that passes here must pass in
/// Kubernetes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Style {
    /// Only as `name(x)`.
    Global,
    /// Only as `x.name()`.
    Member,
    /// As `name(x)` and as `x.name()`.
    Both,
}

impl Style {
    fn misuse(self, is_member: bool) -> Option<&'static str> {
        match self {
            Self::Global if is_member => Some("can't be called on a value"),
            Self::Member if !is_member => Some("must be called on a value"),
            Self::Global | Self::Member | Self::Both => None,
        }
    }
}

/// One function: how it may be called, with how many arguments (the target counts as one), and what it does.
#[derive(Debug)]
struct Function {
    style: Style,
    arguments: RangeInclusive<usize>,
    body: for<'c, 'v> fn(Call<'c, 'v>) -> Answer<'c, 'v>,
}

impl Function {
    /// Checks the form of the call, since there is no type checker, and runs the function.
    fn call<'c, 'v>(&self, frame: &mut FunctionContext<'c, 'v>) -> Answer<'c, 'v> {
        let target = frame.this.take();
        let member = target.is_some();
        let mut arguments = std::mem::take(&mut frame.args);
        if let Some(target) = target {
            arguments.insert(0, target);
        }
        let call = Call { name: frame.name, is_member: member, arguments };
        if let Some(why) = self.style.misuse(member) {
            return Err(call.error(why));
        }
        if !self.arguments.contains(&call.arguments.len()) {
            return Err(call.mismatch());
        }
        (self.body)(call)
    }
}

/// The functions, sorted by their names: how each may be called, with how many arguments, and what it does.
static FUNCTIONS: [(&str, Function); 74] = {
    use Style::{Both, Global, Member};
    [
        ("add", function(Member, 2..=2, quantity::add)),
        ("asApproximateFloat", function(Member, 1..=1, quantity::as_approximate_float)),
        ("asInteger", function(Member, 1..=1, quantity::as_integer)),
        ("bool", function(Global, 1..=1, standard::bool)),
        ("bytes", function(Global, 1..=1, standard::bytes)),
        ("charAt", function(Member, 2..=2, strings::char_at)),
        ("cidr", function(Global, 1..=1, network::cidr)),
        ("compareTo", function(Member, 2..=2, order::compare_to)),
        ("contains", function(Member, 2..=2, strings::contains)),
        ("containsCIDR", function(Member, 2..=2, network::contains_cidr)),
        ("containsIP", function(Member, 2..=2, network::contains_ip)),
        ("double", function(Global, 1..=1, standard::double)),
        ("duration", function(Global, 1..=1, time::duration)),
        ("dyn", function(Global, 1..=1, standard::dynamic)),
        ("endsWith", function(Member, 2..=2, strings::ends_with)),
        ("family", function(Member, 1..=1, network::family)),
        ("find", function(Member, 2..=2, regex::find)),
        ("findAll", function(Member, 2..=3, regex::find_all)),
        ("format", function(Member, 2..=2, format::format)),
        ("getEscapedPath", function(Member, 1..=1, url::escaped_path)),
        ("getHost", function(Member, 1..=1, url::host)),
        ("getHostname", function(Member, 1..=1, url::hostname)),
        ("getPort", function(Member, 1..=1, url::port)),
        ("getQuery", function(Member, 1..=1, url::query)),
        ("getScheme", function(Member, 1..=1, url::scheme)),
        ("indexOf", function(Member, 2..=3, strings::index_of)),
        ("int", function(Global, 1..=1, standard::int)),
        ("ip", function(Both, 1..=1, network::ip)),
        ("ip.isCanonical", function(Global, 1..=1, network::is_canonical)),
        ("isCIDR", function(Global, 1..=1, network::is_cidr)),
        ("isGlobalUnicast", function(Member, 1..=1, network::is_global_unicast)),
        ("isGreaterThan", function(Member, 2..=2, order::is_greater_than)),
        ("isIP", function(Global, 1..=1, network::is_ip)),
        ("isInteger", function(Member, 1..=1, quantity::is_integer)),
        ("isLessThan", function(Member, 2..=2, order::is_less_than)),
        ("isLinkLocalMulticast", function(Member, 1..=1, network::is_link_local_multicast)),
        ("isLinkLocalUnicast", function(Member, 1..=1, network::is_link_local_unicast)),
        ("isLoopback", function(Member, 1..=1, network::is_loopback)),
        ("isQuantity", function(Global, 1..=1, quantity::is_quantity)),
        ("isSemver", function(Global, 1..=2, versions::is_semver)),
        ("isSorted", function(Member, 1..=1, lists::is_sorted)),
        ("isURL", function(Global, 1..=1, url::is_url)),
        ("isUnspecified", function(Member, 1..=1, network::is_unspecified)),
        ("join", function(Member, 1..=2, strings::join)),
        ("lastIndexOf", function(Member, 2..=3, strings::last_index_of)),
        ("lowerAscii", function(Member, 1..=1, strings::lower_ascii)),
        ("major", function(Member, 1..=1, versions::major)),
        ("masked", function(Member, 1..=1, network::masked)),
        ("matches", function(Both, 2..=2, regex::matches)),
        ("max", function(Member, 1..=1, lists::max)),
        ("min", function(Member, 1..=1, lists::min)),
        ("minor", function(Member, 1..=1, versions::minor)),
        ("patch", function(Member, 1..=1, versions::patch)),
        ("prefixLength", function(Member, 1..=1, network::prefix_length)),
        ("quantity", function(Global, 1..=1, quantity::quantity)),
        ("replace", function(Member, 3..=4, strings::replace)),
        ("semver", function(Global, 1..=2, versions::semver)),
        ("sets.contains", function(Global, 2..=2, sets::contains)),
        ("sets.equivalent", function(Global, 2..=2, sets::equivalent)),
        ("sets.intersects", function(Global, 2..=2, sets::intersects)),
        ("sign", function(Global, 1..=1, quantity::sign)),
        ("size", function(Both, 1..=1, standard::size)),
        ("split", function(Member, 2..=3, strings::split)),
        ("startsWith", function(Member, 2..=2, strings::starts_with)),
        ("string", function(Global, 1..=1, standard::string)),
        ("sub", function(Member, 2..=2, quantity::sub)),
        ("substring", function(Member, 2..=3, strings::substring)),
        ("sum", function(Member, 1..=1, lists::sum)),
        ("timestamp", function(Global, 1..=1, time::timestamp)),
        ("trim", function(Member, 1..=1, strings::trim)),
        ("type", function(Global, 1..=1, standard::type_of)),
        ("uint", function(Global, 1..=1, standard::uint)),
        ("upperAscii", function(Member, 1..=1, strings::upper_ascii)),
        ("url", function(Global, 1..=1, url::url)),
    ]
};

const fn function(
    style: Style,
    arguments: RangeInclusive<usize>,
    body: for<'c, 'v> fn(Call<'c, 'v>) -> Answer<'c, 'v>,
) -> Function {
    Function { style, arguments, body }
}

/// The function of that name.
fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| function)
}

/// The names of all functions that [`add`] can add, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name)
}

/// A call: the name of the function and the arguments, the target first.
#[derive(Debug)]
struct Call<'c, 'v> {
    name: &'c str,
    /// Whether it is called on a value.
    is_member: bool,
    arguments: Vec<CowVal<'c, 'v>>,
}

impl<'c, 'v> Call<'c, 'v> {
    /// How many arguments there are, the target included.
    fn count(&self) -> usize {
        self.arguments.len()
    }

    /// The argument at `position`.
    fn argument(&self, position: usize) -> Result<&(dyn Val + 'v), ExecutionError> {
        self.arguments.get(position).map(AsRef::as_ref).ok_or_else(|| self.mismatch())
    }

    /// The first argument, taken out of the call: for a function that returns it.
    fn into_first(self) -> Answer<'c, 'v> {
        let mismatch = self.mismatch();
        self.arguments.into_iter().next().ok_or(mismatch)
    }

    /// The kind of the argument at `position`.
    fn kind(&self, position: usize) -> Result<Kind, ExecutionError> {
        Ok(self.argument(position)?.get_type().kind())
    }

    /// The string at `position`.
    fn text(&self, position: usize) -> Result<&str, ExecutionError> {
        let value = self.argument(position)?.downcast_ref::<CelString<'v>>();
        value.map(CelString::inner).ok_or_else(|| self.mismatch())
    }

    /// The integer at `position`.
    fn int(&self, position: usize) -> Result<i64, ExecutionError> {
        let value = self.argument(position)?.downcast_ref::<CelInt>();
        value.map(|found| *found.inner()).ok_or_else(|| self.mismatch())
    }

    /// The integer at `position`, if there is an argument there.
    fn optional_int(&self, position: usize) -> Result<Option<i64>, ExecutionError> {
        if position < self.count() { self.int(position).map(Some) } else { Ok(None) }
    }

    /// The elements of the list at `position`: of any list, not only of the crate's own type.
    fn elements(&self, position: usize) -> Result<Vec<&(dyn Val + 'v)>, ExecutionError> {
        elements_of(self.argument(position)?).ok_or_else(|| self.mismatch())
    }

    /// The error for wrong arguments.
    fn mismatch(&self) -> ExecutionError {
        let types: Vec<&str> = self.arguments.iter().map(|argument| argument.get_type().name()).collect();
        self.error(format!("can't be called with `{}`", types.join(", ")))
    }

    /// An error of this function.
    fn error(&self, message: impl Into<String>) -> ExecutionError {
        ExecutionError::FunctionError { function: self.name.to_owned(), message: message.into() }
    }

    /// Fails when a string of `length` bytes is too long to make.
    fn check_text(&self, length: usize) -> Result<(), ExecutionError> {
        if length > MAX_TEXT { Err(self.error(LONG_TEXT)) } else { Ok(()) }
    }

    /// Answers with the string, unless it is too long.
    fn give_text<'a>(&self, text: impl Into<String>) -> Answer<'a, 'v> {
        let text = text.into();
        self.check_text(text.len())?;
        Ok(CowVal::owned(CelString::from(text)))
    }

    /// Answers with a list of the strings, unless they are too many.
    fn give_texts<'a, 't>(&self, texts: impl Iterator<Item = &'t str>) -> Answer<'a, 'v> {
        let mut list: Vec<Box<dyn Val + 'v>> = Vec::new();
        let mut length = 0_usize;
        for text in texts {
            if list.len() >= MAX_ELEMENTS {
                return Err(self.error(LONG_LIST));
            }
            length = length.saturating_add(text.len());
            self.check_text(length)?;
            list.push(Box::new(CelString::from(text.to_owned())));
        }
        Ok(CowVal::owned(CelList::from(list)))
    }
}

/// The elements of a list; none where the value is no list.
fn elements_of<'a, 'v>(value: &'a (dyn Val + 'v)) -> Option<Vec<&'a (dyn Val + 'v)>> {
    if value.get_type().kind() != Kind::List {
        return None;
    }
    let mut items = value.as_iterable()?.iter();
    let mut elements = Vec::new();
    while let Some(element) = items.next() {
        elements.push(element);
    }
    Some(elements)
}

/// The point in time so many seconds after 1970, where CEL has it.
pub fn time(seconds: i64) -> Option<chrono::DateTime<chrono::FixedOffset>> {
    time::at(seconds)
}

/// Answers with a boolean.
fn give_bool<'c, 'v>(answer: bool) -> Answer<'c, 'v> {
    Ok(CowVal::Borrowed(if answer { &CelBool::TRUE } else { &CelBool::FALSE }))
}

/// Answers with an integer.
fn give_int<'c, 'v>(answer: i64) -> Answer<'c, 'v> {
    Ok(CowVal::owned(CelInt::from(answer)))
}

/// Answers with a count; no count comes near the largest integer.
fn give_count<'c, 'v>(answer: usize) -> Answer<'c, 'v> {
    give_int(i64::try_from(answer).unwrap_or(i64::MAX))
}

/// The string in backticks for a message, cut when it is long.
fn quoted(text: &str) -> String {
    const SHOWN: usize = 100;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", text.get(..end).unwrap_or_default()),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests;
