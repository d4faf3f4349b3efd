//! Builtins with bounds.
//!
//! The engine looks at the clock between statements, never inside of a builtin. So each builtin whose cost isn't that
//! of its arguments, or that would end the module on odd ones, is replaced by one that looks at its arguments first
//! and then calls the original. The answers are the original's; only what is too much, or what the original has no
//! answer to, is an error or an answer of our own.
//!
//! Errors are hard, as those of the engine's own limits are: `not regex.match(…)` must not hold because a text is long.

use super::clock::NO_TIME;
use super::crossed::Crossed;
use super::document;
use super::sprintf::sprintf;
use super::weight::{MAX_LEVELS, bits, too_heavy, weigh};
use regex::{Regex, RegexBuilder};
use regorus::unstable::{BUILTINS, BuiltinFcn, Expr, Ref, Source, Span};
use regorus::utils::limits::monotonic_now;
use regorus::{LimitError, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Bytes of the longest text that a builtin makes. `json.marshal` of the largest request is below it; a text is held
/// up to three times while it is made, which has to fit between the soft limit of memory and the hard one.
const MAX_TEXT: usize = 4 << 20;
/// Elements of the longest list that a builtin makes of a text: 6 MiB of them.
const MAX_ELEMENTS: usize = 100_000;
/// Numbers of a range. More than a rule has a use for, and 30 of these still fit into memory.
const MAX_NUMBERS: usize = 10_000;
/// Bytes, as [`weigh`] counts them, of what a builtin goes through as a whole. A value that a rule has put together
/// from shared parts is counted as often as it appears: that is what the builtin would do.
const MAX_WEIGHT: usize = 8 << 20;
/// The same for builtins that copy what they render at each level of nesting.
const MAX_COPIED: usize = 2 << 20;
/// Comparisons of a builtin that goes through one list for each element of another: 50 ms of them.
const MAX_COMPARISONS: usize = 16 << 20;
/// Steps (levels and fields) of `walk`: each result holds its whole path, 24 bytes a step.
const MAX_STEPS: usize = 500_000;
/// Vertices that `graph.reachable_paths` visits, a vertex once for each path that leads to it.
const MAX_VISITS: usize = 20_000;
/// Vertices of its longest path: it recurses for each.
const MAX_PATH_LENGTH: usize = 100;
/// Bits of an integer that a builtin makes or spells. The engine can't spell one beyond 1e308, which has 1024, and
/// ends the module when an error of its own would show it.
const MAX_BITS: u64 = 1000;
/// Characters of a number, a quantity, a version, a layout or a point in time that is spelled as a text.
const MAX_NUMBER_LENGTH: usize = 256;
/// The largest size of a compiled pattern, the engine's own.
const LARGEST_PATTERN: usize = 100 * 1024;
/// Characters of a pattern: parsing alone takes time.
const MAX_PATTERN_LENGTH: usize = 4096;
/// Bytes that a pattern is looked for in.
const MAX_SEARCHED: usize = 1 << 20;
/// Bytes that any pattern is looked for in within 60 ms.
const SOON_SEARCHED: usize = 4096;
/// Bytes of the parts that a pattern is tried on before it is looked for in a longer text: the worst patterns take
/// 20 us for each of them.
const TRIED: usize = 2048;
/// How long these trials take together, and how long a builtin goes on that finds one match after the other, each at
/// the cost of the whole text.
const MAX_SEARCH_TIME: Duration = Duration::from_millis(100);
/// Bytes of the longest YAML that is read: it takes 150 times as much memory.
const MAX_YAML_LENGTH: usize = 256 * 1024;
/// Brackets in brackets, and indicators on one line, of a YAML text. The time to read it grows with their square.
const MAX_YAML_BRACKETS: usize = 128;
/// Bytes that a glob is matched against.
const MAX_GLOBBED_LENGTH: usize = 4096;
/// Characters of a glob, which grow to several times as many when delimiters are written out.
const MAX_GLOB_LENGTH: usize = 512;
/// Delimiters of a glob.
const MAX_DELIMITERS: usize = 16;

/// What a builtin answers before the original is called: a value of our own, nothing, or an error.
type Checked = Result<Option<Value>, String>;

/// The type that a builtin wants of an argument. Of another one the original would spell the whole value in an error
/// that nobody sees, which never ends for a value of shared parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Any,
    Text,
    Number,
    Array,
    Set,
    Object,
    /// An array or a set.
    List,
    /// Nanoseconds, or an array of nanoseconds, a zone and a layout.
    Time,
}

/// A builtin, what it takes, and what is looked at before it is called.
struct Guard {
    name: &'static str,
    takes: &'static [Kind],
    check: fn(&str, &[Value]) -> Checked,
}

const fn guard(name: &'static str, takes: &'static [Kind], check: fn(&str, &[Value]) -> Checked) -> Guard {
    Guard { name, takes, check }
}

/// Every builtin that needs one.
const GUARDS: &[Guard] = {
    use Kind::{Any, Array, List, Number, Object, Set, Text, Time};
    &[
        guard("abs", &[Number], fine),
        guard("array.concat", &[Array, Array], joined_lists),
        guard("array.reverse", &[Array], fine),
        guard("array.slice", &[Array, Number, Number], fine),
        guard("base64.decode", &[Text], made_text),
        guard("base64.encode", &[Text], made_text),
        guard("base64.is_valid", &[Text], made_text),
        guard("base64url.decode", &[Text], made_text),
        guard("base64url.encode", &[Text], made_text),
        guard("base64url.encode_no_pad", &[Text], made_text),
        guard("bits.and", &[Number, Number], few_bits),
        guard("bits.lsh", &[Number, Number], shifted),
        guard("bits.negate", &[Number], few_bits),
        guard("bits.or", &[Number, Number], few_bits),
        guard("bits.rsh", &[Number, Number], few_bits),
        guard("bits.xor", &[Number, Number], few_bits),
        guard("ceil", &[Number], fine),
        guard("concat", &[Text, List], concatenated),
        guard("contains", &[Text, Text], fine),
        guard("endswith", &[Text, Text], fine),
        guard("floor", &[Number], fine),
        guard("format_int", &[Number, Number], few_bits),
        guard("glob.match", &[Text, Any, Text], globbed),
        guard("glob.quote_meta", &[Text], glob_spelled),
        guard("graph.reachable", &[Object, Any], weighed),
        guard("graph.reachable_paths", &[Object, Any], paths),
        guard("hex.decode", &[Text], made_text),
        guard("hex.encode", &[Text], made_text),
        guard("indexof", &[Text, Text], index),
        guard("indexof_n", &[Text, Text], indexes),
        guard("intersection", &[Set], common),
        guard("json.filter", &[Object, List], weighed),
        guard("json.is_valid", &[Text], json_valid),
        guard("json.marshal", &[Any], weighed),
        guard("json.marshal_with_options", &[Any, Object], marshalled_with_options),
        guard("json.patch", &[Any, Array], patched),
        guard("json.remove", &[Object, List], weighed),
        guard("json.unmarshal", &[Text], json_read),
        guard("lower", &[Text], made_text),
        guard("max", &[List], weighed),
        guard("min", &[List], weighed),
        guard("numbers.range", &[Number, Number], range),
        guard("numbers.range_step", &[Number, Number, Number], range_step),
        guard("object.filter", &[Object, Any], weighed_second),
        guard("object.get", &[Object, Any, Any], fine),
        guard("object.keys", &[Object], fine),
        guard("object.remove", &[Object, Any], weighed_second),
        guard("object.subset", &[Any, Any], subset),
        guard("object.union", &[Object, Object], weighed),
        guard("object.union_n", &[Array], merged),
        guard("product", &[List], multiplied),
        guard("regex.find_all_string_submatch_n", &[Text, Text, Number], find_submatches),
        guard("regex.find_n", &[Text, Text, Number], find),
        guard("regex.is_valid", &[Any], pattern_valid),
        guard("regex.match", &[Text, Text], matched),
        guard("regex.replace", &[Text, Text, Text], replaced_by_pattern),
        guard("regex.split", &[Text, Text], split_by_pattern),
        guard("regex.template_match", &[Text, Text, Text, Text], template),
        guard("replace", &[Text, Text, Text], replaced),
        guard("round", &[Number], fine),
        guard("semver.compare", &[Text, Text], short),
        guard("semver.is_valid", &[Any], short),
        guard("sort", &[List], weighed),
        guard("split", &[Text, Text], split),
        guard("sprintf", &[Text, Array], formatted),
        guard("startswith", &[Text, Text], fine),
        guard("strings.any_prefix_match", &[Any, Any], compared_lists),
        guard("strings.any_suffix_match", &[Any, Any], compared_lists),
        guard("strings.count", &[Text, Text], counted),
        guard("strings.replace_n", &[Object, Text], replaced_n),
        guard("strings.reverse", &[Text], made_text),
        guard("substring", &[Text, Number, Number], made_text),
        guard("sum", &[List], summed),
        guard("time.add_date", &[Time, Number, Number, Number], short),
        guard("time.clock", &[Time], short),
        guard("time.date", &[Time], short),
        guard("time.diff", &[Time, Time], short),
        guard("time.format", &[Time], timed),
        guard("time.parse_duration_ns", &[Text], duration),
        guard("time.parse_ns", &[Text, Text], timed),
        guard("time.parse_rfc3339_ns", &[Text], short),
        guard("time.weekday", &[Time], short),
        guard("to_number", &[Any], number_read),
        guard("trace", &[Text], fine),
        guard("trim", &[Text, Text], trimmed),
        guard("trim_left", &[Text, Text], trimmed),
        guard("trim_prefix", &[Text, Text], fine),
        guard("trim_right", &[Text, Text], trimmed),
        guard("trim_space", &[Text], fine),
        guard("trim_suffix", &[Text, Text], fine),
        guard("union", &[Set], united),
        guard("units.parse", &[Text], quantity),
        guard("units.parse_bytes", &[Text], quantity),
        guard("upper", &[Text], made_text),
        guard("urlquery.decode", &[Text], made_text),
        guard("urlquery.decode_object", &[Text], split_query),
        guard("urlquery.encode", &[Text], encoded_query),
        guard("urlquery.encode_object", &[Object], encoded_query),
        guard("uuid.parse", &[Text], short),
        guard("walk", &[Any], walked),
        guard("yaml.is_valid", &[Text], yaml_valid),
        guard("yaml.marshal", &[Any], weighed),
        guard("yaml.unmarshal", &[Text], yaml_read),
    ]
};

/// Puts bounded builtins in front of those that the modules call.
///
/// # Errors
/// The engine has an extension of that name already, which is a bug here.
pub(super) fn install(engine: &mut regorus::Engine, called: &BTreeSet<&str>, crossed: &Crossed) -> anyhow::Result<()> {
    // Nearly every module calls a few builtins only, and the list of guards is ordered by name.
    for name in called {
        let guard = GUARDS.binary_search_by(|guard| guard.name.cmp(name)).ok().and_then(|found| GUARDS.get(found));
        let Some(guard) = guard else { continue };
        let (crossed, mut original) = (crossed.clone(), None);
        let call = move |args: Vec<Value>| -> anyhow::Result<Value> {
            call(guard, &mut original, &args).inspect_err(|error| crossed.note(&error.to_string()))
        };
        engine.add_extension(guard.name.to_owned(), u8::try_from(guard.takes.len())?, Box::new(call))?;
    }
    Ok(())
}

/// Calls a builtin within its bounds, by another name than its own.
pub(super) fn bounded(name: &str, arguments: &[Value]) -> anyhow::Result<Value> {
    let guard = GUARDS.iter().find(|guard| guard.name == name);
    call(guard.ok_or_else(|| anyhow::anyhow!("there is no builtin `{name}`"))?, &mut None, arguments)
}

/// What a guard stands in front of. The engine's table of builtins is made when it is looked at first, which costs as much
/// as parsing a short rule; and most rules end before they call any.
#[derive(Clone)]
struct Original {
    builtin: BuiltinFcn,
    /// What it takes besides its arguments: where it is called, which its errors show. These are never shown.
    span: Span,
    params: Vec<Ref<Expr>>,
}

impl Original {
    fn of(name: &str) -> anyhow::Result<Self> {
        let builtin = *BUILTINS.get(name).ok_or_else(|| anyhow::anyhow!("there is no builtin `{name}`"))?;
        let source = Source::from_contents(String::new(), " ".to_owned())?;
        let span = Span { source, line: 1, col: 1, start: 0, end: 1 };
        let param = || Ref::new(Expr::Null { span: span.clone(), value: Value::Null, eidx: 0 });
        let params = std::iter::repeat_with(param).take(5).collect();
        Ok(Self { builtin, span, params })
    }

    fn call(&self, args: &[Value]) -> anyhow::Result<Value> {
        (self.builtin.0)(&self.span, &self.params, args, false)
    }
}

fn call(guard: &Guard, original: &mut Option<Original>, args: &[Value]) -> anyhow::Result<Value> {
    if !guard.takes.iter().zip(args).all(|(kind, arg)| kind.takes(arg)) {
        return Ok(Value::Undefined);
    }
    // The engine looks at the clock every few statements; a builtin may use up the rest of the memory between two looks.
    if monotonic_now().is_some_and(|now| now >= NO_TIME) {
        anyhow::bail!("`{}` is not called any more: the memory is used up", guard.name);
    }
    if let Some(value) = (guard.check)(guard.name, args).map_err(anyhow::Error::msg)? {
        return Ok(value);
    }
    let original = match original {
        Some(original) => original,
        None => original.insert(Original::of(guard.name)?),
    };
    match original.call(args) {
        Ok(value) => Ok(value),
        Err(error) if matches!(error.downcast_ref(), Some(LimitError::RegexSizeLimitExceeded { .. })) => {
            let pattern = args.iter().map(text).find(|text| compile(guard.name, text).is_err()).unwrap_or_default();
            Err(anyhow::anyhow!(too_large(guard.name, pattern)))
        }
        Err(error) if error.downcast_ref::<LimitError>().is_some() => Err(error),
        Err(_) => Ok(Value::Undefined),
    }
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Text => matches!(value, Value::String(_)),
            Self::Number => matches!(value, Value::Number(_)),
            Self::Array => matches!(value, Value::Array(_)),
            Self::Set => matches!(value, Value::Set(_)),
            Self::Object => matches!(value, Value::Object(_)),
            Self::List => matches!(value, Value::Array(_) | Value::Set(_)),
            Self::Time => match value {
                Value::Number(_) => true,
                Value::Array(parts) => {
                    parts.len() <= 3 && parts.iter().all(|part| matches!(part, Value::Number(_) | Value::String(_)))
                }
                _ => false,
            },
        }
    }
}

// What is looked at.

fn fine(_: &str, _: &[Value]) -> Checked {
    Ok(None)
}

fn weighed(name: &str, args: &[Value]) -> Checked {
    weigh(name, args, MAX_WEIGHT).map(|_| None)
}

fn weighed_second(name: &str, args: &[Value]) -> Checked {
    weigh(name, args.get(1..).unwrap_or_default(), MAX_WEIGHT).map(|_| None)
}

fn short(name: &str, args: &[Value]) -> Checked {
    let parts = args.iter().flat_map(|arg| match arg {
        Value::Array(parts) => parts.as_slice(),
        scalar => std::slice::from_ref(scalar),
    });
    for part in parts {
        let length = text(part).len();
        if length > MAX_NUMBER_LENGTH {
            return Err(format!("`{name}` of a text of {length} bytes: at most {MAX_NUMBER_LENGTH}"));
        }
    }
    Ok(None)
}

/// Texts that grow by a factor of two or three.
fn made_text(name: &str, args: &[Value]) -> Checked {
    text_of(name, args.iter().map(|arg| text(arg).len()).sum())
}

fn encoded_query(name: &str, args: &[Value]) -> Checked {
    weigh(name, args, MAX_COPIED).map(|_| None)
}

fn split_query(name: &str, args: &[Value]) -> Checked {
    let pairs = args.iter().map(|arg| text(arg).matches('&').count()).sum();
    list_of(name, pairs)?;
    made_text(name, args)
}

fn joined_lists(name: &str, args: &[Value]) -> Checked {
    list_of(name, args.iter().map(length).sum())
}

fn concatenated(name: &str, args: &[Value]) -> Checked {
    let [by, list] = args else { return Ok(None) };
    let parts = elements(list);
    let between = text(by).len().saturating_mul(parts.len());
    text_of(name, parts.iter().map(|part| text(part).len()).fold(between, usize::saturating_add))
}

fn few_bits(name: &str, args: &[Value]) -> Checked {
    match args.iter().map(bits).max() {
        Some(most) if most > MAX_BITS => Err(format!("`{name}` of an integer of {most} bits: at most {MAX_BITS}")),
        _ => Ok(None),
    }
}

fn shifted(name: &str, args: &[Value]) -> Checked {
    let [value, by] = args else { return Ok(None) };
    let Value::Number(by) = by else { return Ok(None) };
    match by.as_u64() {
        Some(by) if bits(value).saturating_add(by) > MAX_BITS => {
            Err(format!("`{name}` by `{by}`: an integer has at most {MAX_BITS} bits"))
        }
        _ => few_bits(name, args),
    }
}

fn multiplied(name: &str, args: &[Value]) -> Checked {
    let parts = args.iter().flat_map(elements).collect::<Vec<_>>();
    if parts.iter().any(|part| !matches!(part, Value::Number(_))) {
        return Ok(Some(Value::Undefined));
    }
    match parts.iter().map(|part| bits(part)).fold(0, u64::saturating_add) {
        bits if bits > MAX_BITS => {
            Err(format!("`{name}` of {} numbers that have {bits} bits together: at most {MAX_BITS}", parts.len()))
        }
        _ => Ok(None),
    }
}

fn summed(_: &str, args: &[Value]) -> Checked {
    let numbers = args.iter().flat_map(elements).all(|part| matches!(part, Value::Number(_)));
    Ok((!numbers).then_some(Value::Undefined))
}

fn common(name: &str, args: &[Value]) -> Checked {
    let members = args.iter().flat_map(elements).collect::<Vec<_>>();
    if members.iter().any(|member| !matches!(member, Value::Set(_))) {
        return Ok(Some(Value::Undefined));
    }
    // The result so far is copied for each of them.
    let elements = members.iter().map(|member| length(member)).fold(0, usize::saturating_add);
    comparisons(name, members.len(), elements)?;
    weighed(name, args)
}

/// Written anew, since the original copies the result so far for each set.
fn united(name: &str, args: &[Value]) -> Checked {
    weigh(name, args, MAX_WEIGHT)?;
    let mut all = BTreeSet::new();
    for member in args.iter().flat_map(elements) {
        let Value::Set(set) = member else { return Ok(Some(Value::Undefined)) };
        all.extend(set.iter().cloned());
    }
    Ok(Some(Value::from(all)))
}

/// Written anew, since the original copies the result so far for each object.
fn merged(name: &str, args: &[Value]) -> Checked {
    fn merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                let into = Arc::make_mut(into);
                for (key, value) in from.iter() {
                    match into.get_mut(key) {
                        Some(own) => merge(own, value),
                        None => {
                            into.insert(key.clone(), value.clone());
                        }
                    }
                }
            }
            (into, from) => *into = from.clone(),
        }
    }
    weigh(name, args, MAX_WEIGHT)?;
    let mut all = Value::from(BTreeMap::new());
    for object in args.iter().flat_map(elements) {
        if !matches!(object, Value::Object(_)) {
            return Ok(Some(Value::Undefined));
        }
        merge(&mut all, object);
    }
    Ok(Some(all))
}

fn compared_lists(name: &str, args: &[Value]) -> Checked {
    let [one, other] = args else { return Ok(None) };
    comparisons(name, elements(one).len(), elements(other).len())
}

fn subset(name: &str, args: &[Value]) -> Checked {
    weigh(name, args, MAX_WEIGHT)?;
    match args {
        // The original has no answer to it, and ends the module.
        _ if holds_empty_array(args.get(1)) => Ok(Some(Value::from(is_subset(args.first(), args.get(1))))),
        [Value::Array(all), Value::Array(some)] => comparisons(name, all.len(), some.len()),
        _ => Ok(None),
    }
}

fn marshalled_with_options(name: &str, args: &[Value]) -> Checked {
    let weight = weigh(name, args, MAX_COPIED)?;
    let Some(Value::Object(options)) = args.get(1) else { return Ok(None) };
    // Written at the start of each line, the indentation once for each level.
    let margins = options.values().map(|option| text(option).len()).fold(0, usize::saturating_add);
    let lines = weight / 8;
    text_of(name, margins.saturating_mul(lines).saturating_mul(16))
}

fn patched(name: &str, args: &[Value]) -> Checked {
    let [document, Value::Array(operations)] = args else { return Ok(None) };
    let mut weight = weigh(name, args, MAX_COPIED)?;
    for operation in operations.iter() {
        // The whole document, at worst, into a part of itself.
        let Value::Object(fields) = operation else { continue };
        if fields.get(&Value::from("op")).is_some_and(|op| text(op) == "copy") {
            weight = weight.saturating_mul(2);
        }
    }
    // The tree that is edited takes twenty times as much memory.
    if weight > MAX_COPIED {
        return Err(too_heavy(name, MAX_COPIED));
    }
    let sets = holds_set(document) || operations.iter().any(holds_set);
    // An operation below a set renders that set anew.
    comparisons(name, if sets { operations.len() } else { 1 }, weight)
}

fn walked(name: &str, args: &[Value]) -> Checked {
    fn steps(value: &Value, level: usize, left: &mut usize) -> bool {
        let Some(rest) = left.checked_sub(level + 4) else { return false };
        *left = rest;
        level < MAX_LEVELS
            && match value {
                Value::Array(list) => list.iter().all(|value| steps(value, level + 1, left)),
                Value::Set(set) => set.iter().all(|value| steps(value, level + 1, left)),
                Value::Object(object) => object.values().all(|value| steps(value, level + 1, left)),
                _ => true,
            }
    }
    let mut left = MAX_STEPS;
    match args.iter().all(|value| steps(value, 0, &mut left)) {
        true => Ok(None),
        false => Err(format!("`{name}` of a value of more than {MAX_STEPS} steps: walk a part of it")),
    }
}

fn paths(name: &str, args: &[Value]) -> Checked {
    struct Trail<'v> {
        graph: &'v Value,
        on: BTreeSet<&'v Value>,
        left: usize,
    }
    impl<'v> Trail<'v> {
        fn visit(&mut self, vertex: &'v Value, length: usize) -> bool {
            // Each path that ends is copied.
            let Some(left) = self.left.checked_sub(1 + length / 8) else { return false };
            self.left = left;
            let Value::Object(graph) = self.graph else { return true };
            let Some(next) = graph.get(vertex).filter(|_| !self.on.contains(vertex)) else { return true };
            if length >= MAX_PATH_LENGTH {
                return false;
            }
            self.on.insert(vertex);
            let fits = elements(next).into_iter().all(|vertex| self.visit(vertex, length + 1));
            self.on.remove(vertex);
            fits
        }
    }
    weigh(name, args, MAX_WEIGHT)?;
    let [graph, from] = args else { return Ok(None) };
    let mut trail = Trail { graph, on: BTreeSet::new(), left: MAX_VISITS };
    match elements(from).into_iter().all(|vertex| trail.visit(vertex, 0)) {
        true => Ok(None),
        false => Err(format!(
            "`{name}` of more than {MAX_VISITS} visits, or {MAX_PATH_LENGTH} vertices in a row: use `graph.reachable`"
        )),
    }
}

fn range(name: &str, args: &[Value]) -> Checked {
    let [Value::Number(from), Value::Number(to)] = args else { return Ok(None) };
    if !from.is_integer() || !to.is_integer() {
        return Ok(Some(Value::Undefined));
    }
    numbers(name, from.as_i64(), to.as_i64(), 1)
}

fn range_step(name: &str, args: &[Value]) -> Checked {
    let [Value::Number(from), Value::Number(to), Value::Number(step)] = args else { return Ok(None) };
    let step = step.is_integer().then(|| step.as_i64()).flatten().filter(|step| *step > 0);
    // The original divides by it.
    let Some(step) = step.filter(|_| from.is_integer() && to.is_integer()) else {
        return Ok(Some(Value::Undefined));
    };
    numbers(name, from.as_i64(), to.as_i64(), step)
}

fn numbers(name: &str, from: Option<i64>, to: Option<i64>, step: i64) -> Checked {
    let (Some(from), Some(to)) = (from, to) else {
        return Err(format!("`{name}` of numbers beyond 64 bits: use smaller ones"));
    };
    let most = i128::try_from(MAX_NUMBERS).unwrap_or(i128::MAX);
    let count = (i128::from(to) - i128::from(from)).abs() / i128::from(step.max(1)) + 1;
    match count > most {
        true => Err(format!("`{name}` of {count} numbers: at most {MAX_NUMBERS}")),
        false => Ok(None),
    }
}

fn index(_: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(part)] = args else { return Ok(None) };
    // The original compares the part at each character; `find` doesn't go back.
    let found = whole.find(&**part).filter(|_| !whole.is_empty()).and_then(|at| whole.get(..at));
    Ok(Some(found.map_or(Value::from(-1_i64), |before| Value::from(before.chars().count()))))
}

fn indexes(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(part)] = args else { return Ok(None) };
    comparisons(name, whole.len(), part.len())?;
    // As many as there are characters, if the part is short.
    list_of(name, if part.len() < 16 { whole.chars().count() } else { 0 })
}

fn counted(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(part)] = args else { return Ok(None) };
    if part.is_empty() {
        // The original ends the module; this is what Open Policy Agent says.
        return Ok(Some(Value::from(whole.chars().count() + 1)));
    }
    comparisons(name, whole.len(), part.len())
}

fn trimmed(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(set)] = args else { return Ok(None) };
    comparisons(name, whole.len(), set.len())
}

fn replaced(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(old), Value::String(new)] = args else { return Ok(None) };
    text_of(name, replaced_length(whole, old, new))
}

fn replaced_length(whole: &str, old: &str, new: &str) -> usize {
    whole.matches(old).count().saturating_mul(new.len()).saturating_add(whole.len())
}

fn replaced_n(name: &str, args: &[Value]) -> Checked {
    let [Value::Object(pairs), Value::String(whole)] = args else { return Ok(None) };
    comparisons(name, pairs.len(), whole.len())?;
    let mut whole = whole.to_string();
    for (old, new) in pairs.iter_sorted() {
        let (Value::String(old), Value::String(new)) = (old, new) else { return Ok(Some(Value::Undefined)) };
        text_of(name, replaced_length(&whole, old, new))?;
        whole = whole.replace(&**old, new);
    }
    Ok(Some(Value::from(whole)))
}

fn split(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(by)] = args else { return Ok(None) };
    list_of(name, whole.matches(&**by).count().saturating_add(1))
}

/// As Go writes it; the original has no answer where there are too few arguments, or too many.
fn formatted(_: &str, args: &[Value]) -> Checked {
    sprintf(args.to_vec()).map(Some).map_err(|error| error.to_string())
}

/// A layout and what is written in it. The original cuts them byte by byte.
fn timed(name: &str, args: &[Value]) -> Checked {
    short(name, args)?;
    let ascii = args.iter().all(|arg| match arg {
        Value::Array(parts) => parts.iter().all(|part| text(part).is_ascii()),
        scalar => text(scalar).is_ascii(),
    });
    match ascii {
        true => Ok(None),
        false => Err(format!("`{name}` with letters beyond ASCII: use none in layouts and times")),
    }
}

/// The original ends the module on a unit that ends in a letter beyond ASCII.
fn duration(name: &str, args: &[Value]) -> Checked {
    short(name, args)?;
    let spelled = args.first().map(text).unwrap_or_default();
    let mut rest = spelled.strip_prefix(['-', '+']).unwrap_or(spelled);
    if rest == "0" {
        return Ok(None);
    }
    while !rest.is_empty() {
        let number = |sign: char| sign.is_ascii_digit() || sign == '.';
        let after = rest.trim_start_matches(number);
        let next = after.trim_start_matches(|sign| !number(sign));
        let unit = after.strip_suffix(next).unwrap_or_default();
        if !matches!(unit, "ns" | "us" | "\u{b5}s" | "\u{3bc}s" | "ms" | "s" | "m" | "h") {
            return Ok(Some(Value::Undefined));
        }
        rest = next;
    }
    Ok(None)
}

fn number_read(name: &str, args: &[Value]) -> Checked {
    let Some(Value::String(spelled)) = args.first() else { return Ok(None) };
    let plain =
        |sign: char| sign.is_ascii_digit() || matches!(sign, '+' | '-' | '.' | 'e' | 'E') || sign.is_whitespace();
    // Anything else is JSON, if at all: the engine takes one spelling of an object for a number without end.
    if !spelled.chars().all(plain) {
        return Ok(Some(Value::Undefined));
    }
    short(name, args)
}

fn quantity(name: &str, args: &[Value]) -> Checked {
    short(name, args)?;
    let spelled = args.first().map(text).unwrap_or_default();
    // `1e999999999` has a billion digits. The suffix `E` stands at the end, the exponent's doesn't.
    let power = spelled.split_once(['e', 'E']).map(|(_, power)| power.trim_start_matches(['+', '-', '0']));
    let digits = power.unwrap_or_default().chars().take_while(char::is_ascii_digit).count();
    if digits > 3 {
        return Err(format!("`{name}` of `{spelled}`: an exponent has at most three digits"));
    }
    Ok(None)
}

fn json_read(name: &str, args: &[Value]) -> Checked {
    let spelled = args.first().map(text).unwrap_or_default();
    text_of(name, spelled.len())?;
    match document::from_json(spelled, MAX_WEIGHT) {
        Ok(value) => Ok(Some(value)),
        Err(document::Unread::TooMuch) => Err(too_heavy(name, MAX_WEIGHT)),
        Err(document::Unread::Malformed(_)) => Ok(Some(Value::Undefined)),
    }
}

fn json_valid(name: &str, args: &[Value]) -> Checked {
    json_read(name, args).map(|read| read.map(|value| Value::from(value != Value::Undefined)))
}

fn yaml_read(name: &str, args: &[Value]) -> Checked {
    let spelled = args.first().map(text).unwrap_or_default();
    if spelled.len() > MAX_YAML_LENGTH {
        return Err(format!("`{name}` of a text of {} bytes: at most {MAX_YAML_LENGTH}", spelled.len()));
    }
    if let Some(line) = nested_yaml(spelled) {
        return Err(format!("`{name}` of more than {MAX_YAML_BRACKETS} brackets in brackets, in line {line}"));
    }
    match document::from_yaml(spelled, MAX_COPIED) {
        Ok(value) => Ok(Some(value)),
        Err(document::Unread::TooMuch) => Err(too_heavy(name, MAX_COPIED)),
        Err(document::Unread::Malformed(_)) => Ok(Some(Value::Undefined)),
    }
}

/// The line where brackets, or the indicators at the start of a line, go too deep. Brackets in quotes count as well:
/// few texts have so many more that open than close.
fn nested_yaml(spelled: &str) -> Option<usize> {
    let mut open: usize = 0;
    for (number, line) in (1..).zip(spelled.lines()) {
        for sign in line.bytes() {
            match sign {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
        }
        let indicators = line.split([' ', '\t']).take_while(|word| matches!(*word, "" | "-" | "?" | ":"));
        if open > MAX_YAML_BRACKETS || indicators.filter(|word| !word.is_empty()).count() > MAX_YAML_BRACKETS {
            return Some(number);
        }
    }
    None
}

fn yaml_valid(name: &str, args: &[Value]) -> Checked {
    yaml_read(name, args).map(|read| read.map(|value| Value::from(value != Value::Undefined)))
}

// Globs and patterns.

fn glob_spelled(name: &str, args: &[Value]) -> Checked {
    let length = args.first().map(text).unwrap_or_default().len();
    match length > MAX_GLOB_LENGTH {
        true => Err(format!("`{name}` of a glob of {length} characters: at most {MAX_GLOB_LENGTH}")),
        false => Ok(None),
    }
}

fn globbed(name: &str, args: &[Value]) -> Checked {
    glob_spelled(name, args)?;
    let [_, delimiters, value] = args else { return Ok(None) };
    if length(delimiters) > MAX_DELIMITERS {
        return Err(format!("`{name}` with {} delimiters: at most {MAX_DELIMITERS}", length(delimiters)));
    }
    let length = text(value).len();
    match length > MAX_GLOBBED_LENGTH {
        true => Err(format!("`{name}` of a text of {length} bytes: at most {MAX_GLOBBED_LENGTH}")),
        false => Ok(None),
    }
}

/// `None` if it isn't a pattern.
fn compile(name: &str, pattern: &str) -> Result<Option<Regex>, String> {
    pattern_spelled(name, pattern)?;
    match RegexBuilder::new(pattern).size_limit(LARGEST_PATTERN).build() {
        Ok(regex) => Ok(Some(regex)),
        Err(regex::Error::CompiledTooBig(_)) => Err(too_large(name, pattern)),
        Err(_) => Ok(None),
    }
}

fn pattern_spelled(name: &str, pattern: &str) -> Result<(), String> {
    match pattern.len() > MAX_PATTERN_LENGTH {
        true => Err(format!("`{name}` with a pattern of {} bytes: at most {MAX_PATTERN_LENGTH}", pattern.len())),
        false => Ok(()),
    }
}

fn too_large(name: &str, pattern: &str) -> String {
    let pattern = cut(pattern);
    format!(
        "`{name}` with the pattern `{pattern}`: it takes more than {LARGEST_PATTERN} bytes, use smaller repetitions"
    )
}

/// A pattern that can be looked for in a text without taking too long, `None` if it isn't one.
///
/// A search can't be stopped. But it takes as long as it does on the parts of the text, one after the other: so these
/// are tried first, with an eye on the clock.
fn tried(name: &str, pattern: &str, whole: &str) -> Result<Option<Regex>, String> {
    if whole.len() > MAX_SEARCHED {
        return Err(format!("`{name}` of a text of {} bytes: at most {MAX_SEARCHED}", whole.len()));
    }
    let Some(regex) = compile(name, pattern)? else { return Ok(None) };
    let search = Search::new(name);
    let mut rest = if whole.len() > SOON_SEARCHED { whole } else { "" };
    while !rest.is_empty() {
        let (part, after) = rest.split_at_checked(rest.floor_char_boundary(TRIED)).unwrap_or((rest, ""));
        let _ = regex.is_match(part);
        search.goes_on(|| format!("the pattern `{}` in a text of {} bytes", cut(pattern), whole.len()))?;
        rest = after;
    }
    Ok(Some(regex))
}

/// Whether the original is bounded by the size of its arguments: it keeps compiled patterns for the next call.
fn is_small(pattern: &str, whole: &str, new: &str) -> bool {
    whole.len() <= SOON_SEARCHED && (whole.len() + 1).saturating_mul(pattern.len().max(new.len())) <= MAX_TEXT / 16
}

/// How long a search has been going on.
struct Search<'n> {
    name: &'n str,
    since: Option<Duration>,
    found: usize,
}

impl<'n> Search<'n> {
    fn new(name: &'n str) -> Self {
        Self { name, since: monotonic_now(), found: 0 }
    }

    /// Counts a match.
    fn found(&mut self) -> Result<(), String> {
        self.found += 1;
        list_of(self.name, self.found)?;
        self.goes_on(|| format!("{} matches", self.found))
    }

    fn goes_on(&self, what: impl Fn() -> String) -> Result<(), String> {
        let took = monotonic_now().zip(self.since).and_then(|(now, since)| now.checked_sub(since));
        match took.is_some_and(|took| took > MAX_SEARCH_TIME) {
            true => Err(format!(
                "`{}` takes more than {} ms for {}: use a simpler pattern, or less text",
                self.name,
                MAX_SEARCH_TIME.as_millis(),
                what()
            )),
            false => Ok(()),
        }
    }
}

fn pattern_valid(name: &str, args: &[Value]) -> Checked {
    let Some(Value::String(pattern)) = args.first() else { return Ok(Some(Value::from(false))) };
    pattern_spelled(name, pattern).map(|()| None)
}

fn matched(name: &str, args: &[Value]) -> Checked {
    let [Value::String(pattern), Value::String(whole)] = args else { return Ok(None) };
    if whole.len() <= SOON_SEARCHED {
        return pattern_spelled(name, pattern).map(|()| None);
    }
    let regex = tried(name, pattern, whole)?;
    Ok(Some(regex.map_or(Value::Undefined, |regex| Value::from(regex.is_match(whole)))))
}

/// The pattern, the text, and the most matches that are asked for.
fn searching<'v>(name: &str, args: &'v [Value]) -> Result<Option<(Regex, &'v str, usize)>, String> {
    let [Value::String(pattern), Value::String(whole), Value::Number(most)] = args else { return Ok(None) };
    let Some(regex) = tried(name, pattern, whole)? else { return Ok(None) };
    if !most.is_integer() {
        return Ok(None);
    }
    let most = most.as_i64().map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    Ok(Some((regex, whole, most)))
}

fn find(name: &str, args: &[Value]) -> Checked {
    if let [Value::String(pattern), Value::String(whole), _] = args
        && is_small(pattern, whole, "")
    {
        return Ok(None);
    }
    let Some((regex, whole, most)) = searching(name, args)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut found = Vec::new();
    for part in regex.find_iter(whole).take(most) {
        search.found()?;
        found.push(Value::from(part.as_str()));
    }
    Ok(Some(Value::from(found)))
}

fn find_submatches(name: &str, args: &[Value]) -> Checked {
    if let [Value::String(pattern), Value::String(whole), _] = args
        && is_small(pattern, whole, "")
    {
        return Ok(None);
    }
    let Some((regex, whole, most)) = searching(name, args)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut found = Vec::new();
    for captures in regex.captures_iter(whole).take(most) {
        let mut groups = Vec::new();
        for group in captures.iter() {
            search.found()?;
            groups.push(Value::from(group.map(|group| group.as_str()).unwrap_or_default()));
        }
        found.push(Value::from(groups));
    }
    Ok(Some(Value::from(found)))
}

fn replaced_by_pattern(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(pattern), Value::String(new)] = args else { return Ok(None) };
    if is_small(pattern, whole, new) {
        return Ok(None);
    }
    let Some(regex) = tried(name, pattern, whole)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut made = String::new();
    let mut end = 0;
    for captures in regex.captures_iter(whole) {
        search.found()?;
        let Some(all) = captures.get(0) else { continue };
        made.push_str(whole.get(end..all.start()).unwrap_or_default());
        captures.expand(new, &mut made);
        end = all.end();
        text_of(name, made.len())?;
    }
    made.push_str(whole.get(end..).unwrap_or_default());
    Ok(Some(Value::from(made)))
}

fn split_by_pattern(name: &str, args: &[Value]) -> Checked {
    let [Value::String(pattern), Value::String(whole)] = args else { return Ok(None) };
    if is_small(pattern, whole, "") {
        return Ok(None);
    }
    let Some(regex) = tried(name, pattern, whole)? else { return Ok(Some(Value::Undefined)) };
    let mut search = Search::new(name);
    let mut parts = Vec::new();
    for part in regex.split(whole) {
        search.found()?;
        parts.push(Value::from(part));
    }
    Ok(Some(Value::from(parts)))
}

/// Written anew, since the original ends the module if the text is shorter than the template.
fn template(name: &str, args: &[Value]) -> Checked {
    let [Value::String(template), Value::String(whole), Value::String(open), Value::String(close)] = args else {
        return Ok(None);
    };
    let mut search = Search::new(name);
    let (mut template, mut rest) = (&**template, &**whole);
    while let (Some(start), Some(end)) = (template.find(&**open), template.find(&**close)) {
        search.found()?;
        let (Some(literal), Some(pattern)) = (template.get(..start), template.get(start + open.len()..end)) else {
            return Ok(Some(Value::Undefined));
        };
        if start >= end {
            return Ok(Some(Value::Undefined));
        }
        let Some(after) = rest.strip_prefix(literal) else { return Ok(Some(Value::from(false))) };
        let Some(regex) = tried(name, pattern, after)? else { return Ok(Some(Value::Undefined)) };
        let Some(found) = regex.find(after).filter(|found| found.start() == 0) else {
            return Ok(Some(Value::from(false)));
        };
        rest = after.get(found.end()..).unwrap_or_default();
        template = template.get(end + close.len()..).unwrap_or_default();
    }
    Ok(Some(Value::from(template == rest)))
}

// Sizes.

fn text(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        _ => "",
    }
}

/// The members of an array or a set.
fn elements(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Set(set) => set.iter().collect(),
        _ => Vec::new(),
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Array(list) => list.len(),
        Value::Set(set) => set.len(),
        Value::Object(object) => object.len(),
        _ => 0,
    }
}

fn text_of(name: &str, length: usize) -> Checked {
    match length > MAX_TEXT {
        true => Err(format!("`{name}` of a text of {length} bytes: at most {MAX_TEXT}")),
        false => Ok(None),
    }
}

fn list_of(name: &str, length: usize) -> Checked {
    match length > MAX_ELEMENTS {
        true => Err(format!("`{name}` of {length} elements: at most {MAX_ELEMENTS}")),
        false => Ok(None),
    }
}

fn comparisons(name: &str, one: usize, other: usize) -> Checked {
    match one.saturating_mul(other) > MAX_COMPARISONS {
        true => Err(format!("`{name}` of {one} times {other} comparisons: at most {MAX_COMPARISONS}")),
        false => Ok(None),
    }
}

fn holds_set(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(holds_set),
        Value::Object(object) => object.values().any(holds_set),
        Value::Set(_) => true,
        _ => false,
    }
}

fn holds_empty_array(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(object)) => object.values().any(|value| holds_empty_array(Some(value))),
        _ => false,
    }
}

/// As the original, where an empty array is a subset of any array.
fn is_subset(all: Option<&Value>, some: Option<&Value>) -> bool {
    match (all, some) {
        (Some(Value::Object(all)), Some(Value::Object(some))) => {
            some.iter().all(|(key, value)| all.get(key).is_some_and(|own| is_subset(Some(own), Some(value))))
        }
        (Some(Value::Set(all)), Some(Value::Set(some))) => some.is_subset(all),
        (Some(Value::Array(_)), Some(Value::Array(some))) if some.is_empty() => true,
        (Some(Value::Array(all)), Some(Value::Array(some))) => {
            all.as_slice().windows(some.len()).any(|part| part == some.as_slice())
        }
        (Some(Value::Array(all)), Some(Value::Set(some))) => some.iter().all(|value| all.contains(value)),
        (all, some) => all == some,
    }
}

fn cut(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use regorus::Engine;

    /// The value of an expression with bounded builtins, or the error.
    fn guarded(expression: &str) -> (Result<Value, String>, Option<String>) {
        let mut engine = Engine::new();
        engine.set_strict_builtin_errors(false);
        let called = GUARDS.iter().map(|guard| guard.name).filter(|name| expression.contains(name)).collect();
        let crossed = Crossed::default();
        install(&mut engine, &called, &crossed).unwrap();
        (value(&mut engine, expression), crossed.take())
    }

    fn original(expression: &str) -> Value {
        let mut engine = Engine::new();
        engine.set_strict_builtin_errors(false);
        value(&mut engine, expression).unwrap()
    }

    fn value(engine: &mut Engine, expression: &str) -> Result<Value, String> {
        engine.add_policy("p.rego".to_owned(), format!("package p\nx := {expression}\n")).unwrap();
        engine.eval_rule("data.p.x".to_owned()).map_err(|error| error.to_string())
    }

    #[test]
    fn up_to_the_limit_answers_are_those_of_the_original() {
        for expression in [
            "numbers.range(1, 10000)",
            "numbers.range(5, -5)",
            "numbers.range(1, 1.5)",
            "numbers.range_step(0, 99990, 10)",
            "numbers.range_step(10, 1, 3)",
            "bits.lsh(1, 900)",
            "bits.lsh(-3, 2)",
            "bits.or(5, 2)",
            "product([2, 3, 4.5])",
            "product([2, \"a\"])",
            "product(numbers.range(1, 100))",
            "sum({1, 2, 3})",
            "sum([\"a\"])",
            "sort([3, \"a\", [1], null])",
            "max([1, 7, 3])",
            "min({\"b\", \"a\"})",
            "upper(7)",
            "upper(\"straße\")",
            "lower([1])",
            "concat(\", \", [\"a\", \"b\"])",
            "concat(\", \", [\"a\", 1])",
            "replace(\"aXbX\", \"X\", \"--\")",
            "replace(\"ab\", \"\", \"-\")",
            "strings.replace_n({\"a\": \"b\", \"b\": \"c\"}, \"aabb\")",
            "strings.replace_n({\"a\": 1}, \"aabb\")",
            "strings.count(\"aaaa\", \"aa\")",
            "split(\"a,b,c\", \",\")",
            "split(\"äb\", \"\")",
            "indexof(\"äbc\", \"c\")",
            "indexof(\"abc\", \"\")",
            "indexof(\"\", \"\")",
            "indexof(\"abc\", \"x\")",
            "indexof_n(\"aaa\", \"aa\")",
            "trim(\"  a \", \" \")",
            "sprintf(\"%5d|%05d|%.2f|%s|%v|%%\", [1, 2, 3.14159, \"a\", {\"k\": [true]}])",
            "sprintf(\"%1000d\", [1])",
            "format_int(-255, 16)",
            "regex.match(\"^a+$\", \"aaa\")",
            "regex.match(\"(\", \"aaa\")",
            "regex.is_valid(\"a{2}\")",
            "regex.is_valid(\"(\")",
            "regex.is_valid(1)",
            "regex.find_n(\"a.\", \"abacad\", 2)",
            "regex.find_n(\"a.\", \"abacad\", -1)",
            "regex.find_n(\"x*\", \"axb\", -1)",
            "regex.find_n(\"a.\", \"abacad\", 0)",
            "regex.find_all_string_submatch_n(\"(a)(b)?\", \"abac\", -1)",
            "regex.replace(\"abc\", \"(b)\", \"<$1>\")",
            "regex.replace(\"äbc\", \"\", \"-\")",
            "regex.replace(\"abc\", \"(\", \"-\")",
            "regex.split(\",\\\\s*\", \"a, b,c\")",
            "regex.split(\"x\", \"\")",
            "regex.template_match(\"urn:{[a-z]+}:x\", \"urn:abc:x\", \"{\", \"}\")",
            "regex.template_match(\"urn:{[a-z]+}:x\", \"urn:ABC:x\", \"{\", \"}\")",
            "glob.match(\"*.example.com\", [\".\"], \"a.example.com\")",
            "glob.match(\"{a,b}*\", null, \"b/c\")",
            "json.marshal({\"a\": [1, {2}]})",
            "json.marshal_with_options({\"a\": [1]}, {\"pretty\": true, \"indent\": \"  \"})",
            "json.unmarshal(\"{\\\"a\\\": [1, 2.5, -3, true, null, \\\"x\\\", 18446744073709551615]}\")",
            "json.unmarshal(\"[1\")",
            "json.unmarshal(\"1 2\")",
            "json.is_valid(\"[1]\")",
            "json.is_valid(\"[1\")",
            "json.patch({\"a\": {\"b\": 1}}, [{\"op\": \"copy\", \"from\": \"/a\", \"path\": \"/c\"}])",
            "json.filter({\"a\": {\"b\": 1, \"c\": 2}}, [\"a/b\"])",
            "json.remove({\"a\": {\"b\": 1, \"c\": 2}}, [\"a/b\"])",
            "yaml.unmarshal(\"a: &x [1, b, 0x10, 1e3]\\nc: *x\\n2: ~\")",
            "yaml.unmarshal(\"a: [\")",
            "yaml.is_valid(\"a: [\")",
            "yaml.unmarshal(\"- - - [[{a: [1]}]]\")",
            "yaml.marshal({\"a\": [1, null]})",
            "object.subset({\"a\": {\"b\": 1, \"c\": 2}}, {\"a\": {\"b\": 1}})",
            "object.subset([1, 2, 3], [2, 3])",
            "object.subset([1, 2, 3], {2, 3})",
            "object.union({\"a\": {\"b\": 1}}, {\"a\": {\"c\": 2}})",
            "object.union_n([{\"a\": 1}, {\"b\": 2}])",
            "object.get({\"a\": {\"b\": 1}}, [\"a\", \"b\"], 0)",
            "object.keys({\"a\": 1})",
            "union({{1}, {2}})",
            "union({1})",
            "union(set())",
            "object.union_n([{\"a\": {\"b\": 1, \"c\": [1]}}, {\"a\": {\"b\": 2, \"d\": {}}}, {\"a\": {\"d\": {\"e\": 1}}}])",
            "object.union_n([{\"a\": 1}, 2])",
            "object.union_n([])",
            "intersection({{1, 2}, {2}})",
            "graph.reachable({\"a\": [\"b\"], \"b\": []}, [\"a\"])",
            "graph.reachable_paths({\"a\": [\"b\", \"c\"], \"b\": [\"a\"], \"c\": []}, [\"a\"])",
            "[p | walk({\"a\": [1, {\"b\": 2}]}, [p, _])]",
            "units.parse(\"1.5Gi\")",
            "units.parse(\"1e3\")",
            "units.parse(\"100m\")",
            "units.parse(\"2E\")",
            "units.parse_bytes(\"10KiB\")",
            "to_number(\"1.5e3\")",
            "to_number(\"abc\")",
            "to_number([1])",
            "time.parse_duration_ns(\"1h30.5m\")",
            "time.parse_duration_ns(\"0\")",
            "time.parse_duration_ns(\"1x\")",
            "time.parse_ns(\"2006-01-02\", \"2026-11-21\")",
            "time.format([0, \"Europe/Berlin\", \"RFC1123\"])",
            "time.date(0)",
            "time.clock([0, \"nowhere\"])",
            "semver.compare(\"1.2.3\", \"1.10.0\")",
            "semver.is_valid(1)",
            "array.concat([1], [2])",
            "array.slice([1, 2, 3], -1, 99)",
            "substring(\"äbc\", 1, -1)",
            "substring(\"äbc\", -1, 1)",
            "base64.decode(\"aGVsbG8=\")",
            "urlquery.decode_object(\"a=b&a=c\")",
            "urlquery.encode_object({\"a\": [\"b\", \"ü\"]})",
            "strings.any_prefix_match([\"ab\"], {\"a\"})",
        ] {
            let (found, crossed) = guarded(expression);
            assert_eq!(found, Ok(original(expression)), "{expression}");
            assert_eq!(crossed, None, "{expression}");
        }
    }

    #[test]
    fn patterns_in_texts_that_are_tried_first() {
        let whole = "concat(\"ä\", [sprintf(\"%d \", [i]) | i := numbers.range(1, 2000)[_]])";
        for expression in [
            format!("regex.match(\"1999.*2000\", {whole})"),
            format!("regex.match(\"^2000\", {whole})"),
            format!("regex.match(\"(\", {whole})"),
            format!("regex.find_n(\"[0-9]*7\", {whole}, -1)"),
            format!("regex.find_n(\"[0-9]*7\", {whole}, 3)"),
            format!("regex.find_all_string_submatch_n(\"([0-9])(x)?7\", {whole}, -1)"),
            format!("regex.replace({whole}, \"([0-9])9\", \"$1\")"),
            format!("regex.replace({whole}, \"x*\", \"-\")"),
            format!("regex.split(\" ä\", {whole})"),
            format!("regex.template_match(\"{{.*}}0 \", {whole}, \"{{\", \"}}\")"),
        ] {
            assert_eq!(guarded(&expression), (Ok(original(&expression)), None), "{expression}");
        }
    }

    #[test]
    fn yaml_is_not_nested_without_end() {
        for (text, line) in [
            ("[".repeat(128), None),
            ("[".repeat(129), Some(1)),
            ("a: b\n".to_owned() + &"- ".repeat(129), Some(2)),
            ("[[]]\n".repeat(1000), None),
            ("- a\n- {b: [c]}\n".repeat(1000), None),
        ] {
            assert_eq!(nested_yaml(&text), line, "{text}");
        }
    }

    #[test]
    fn what_the_original_has_no_answer_to() {
        for (expression, answer) in [
            ("strings.count(\"abc\", \"\")", "4"),
            ("object.subset([1, 2], [])", "true"),
            ("object.subset({\"a\": [1]}, {\"a\": []})", "true"),
            ("object.subset({\"a\": 1}, {\"a\": []})", "false"),
            ("regex.template_match(\"abc{x}\", \"a\", \"{\", \"}\")", "false"),
            (
                "json.unmarshal(\"{\\\"$serde_json::private::Number\\\": \\\"1\\\"}\")",
                "{\"$serde_json::private::Number\":\"1\"}",
            ),
            ("yaml.unmarshal(\"$serde_json::private::Number: '1'\")", "{\"$serde_json::private::Number\":\"1\"}"),
        ] {
            assert_eq!(guarded(expression).0.map(|value| value.to_string()), Ok(answer.to_owned()), "{expression}");
        }
        for expression in [
            "numbers.range_step(1, 10, 0)",
            "numbers.range_step(1, 10, -1)",
            "time.parse_duration_ns(\"5\")",
            "time.parse_duration_ns(\"5ä\")",
            "to_number(\"{\\\"$serde_json::private::Number\\\": \\\"1e2000000000\\\"}\")",
        ] {
            assert_eq!(guarded(expression).0, Ok(Value::Undefined), "{expression}");
        }
    }

    #[test]
    fn above_a_limit_the_error_says_what_and_how_many() {
        let list = "numbers.range(1, 10000)";
        for (expression, error) in [
            ("numbers.range(1, 10001)", "`numbers.range` of 10001 numbers: at most 10000"),
            (
                "numbers.range(-9223372036854775808, 9223372036854775807)",
                "`numbers.range` of 18446744073709551616 numbers: at most 10000",
            ),
            (
                "numbers.range(1, 12345678901234567890123)",
                "`numbers.range` of numbers beyond 64 bits: use smaller ones",
            ),
            ("numbers.range_step(0, 100000, 10)", "`numbers.range_step` of 10001 numbers: at most 10000"),
            ("bits.lsh(1, 1000)", "`bits.lsh` by `1000`: an integer has at most 1000 bits"),
            ("sprintf(\"%1001d\", [1])", "`sprintf` with a width of 1001: at most 1000"),
            ("units.parse(\"1e2000000000\")", "`units.parse` of `1e2000000000`: an exponent has at most three digits"),
            (
                "regex.match(\"(a{1000}){1000}\", \"a\")",
                "`regex.match` with the pattern `(a{1000}){1000}`: it takes more than 102400 bytes, use smaller repetitions",
            ),
            (
                "time.format([0, \"UTC\", \"2006年\"])",
                "`time.format` with letters beyond ASCII: use none in layouts and times",
            ),
            (
                "json.patch({\"a\": 1}, [{\"op\": \"copy\", \"from\": \"\", \"path\": sprintf(\"/%d\", [i])} | i := numbers.range(1, 40)[_]])",
                "`json.patch` of a value of more than 2097152 bytes or 200 levels: use a part of it",
            ),
            (
                "graph.reachable_paths({i: numbers.range(1, 30) | i := numbers.range(1, 30)[_]}, [1])",
                "`graph.reachable_paths` of more than 20000 visits, or 100 vertices in a row: use `graph.reachable`",
            ),
        ] {
            let (found, crossed) = guarded(expression);
            assert!(found.as_ref().is_err_and(|found| found.contains(error)), "{expression}: {found:?}");
            assert_eq!(crossed.as_deref(), Some(error), "{expression}");
        }
        for expression in [
            format!("count([s | s := split(concat(\",\", [sprintf(\"%01000d\", [i]) | i := {list}[_]]), \"\")])"),
            format!("json.marshal([x | x := {list}; _ := {list}[_]])"),
            format!("sort([x | x := {list}; _ := {list}[_]])"),
            format!("sprintf(\"%v\", [[x | x := {list}; _ := {list}[_]]])"),
            format!("replace(concat(\"\", [\"aaaaaaaaaa\" | i := {list}[_]]), \"a\", \"{}\")", "b".repeat(100)),
        ] {
            let (found, crossed) = guarded(&expression);
            assert!(found.is_err() && crossed.is_some(), "{expression}: {crossed:?}");
        }
    }

    #[test]
    fn an_error_that_a_function_swallows_is_known() {
        let mut engine = Engine::new();
        engine.set_strict_builtin_errors(false);
        let rules = "package p\nf(x) := 1 if count(numbers.range(1, 99999)) == x\nf(2) := 1\ny := f(2)\n";
        let called = GUARDS.iter().map(|guard| guard.name).filter(|name| rules.contains(name)).collect();
        let crossed = Crossed::default();
        install(&mut engine, &called, &crossed).unwrap();
        engine.add_policy("p.rego".to_owned(), rules.to_owned()).unwrap();
        assert_eq!(engine.eval_rule("data.p.y".to_owned()).ok(), Some(Value::from(1_u64)));
        assert_eq!(crossed.take().as_deref(), Some("`numbers.range` of 99999 numbers: at most 10000"));
        assert_eq!(crossed.take(), None);
    }

    #[test]
    fn every_guard_is_for_a_builtin_and_takes_what_it_takes() {
        for guard in GUARDS {
            let builtin = BUILTINS.get(guard.name).unwrap_or_else(|| panic!("{}", guard.name));
            assert_eq!(usize::from(builtin.1), guard.takes.len(), "{}", guard.name);
        }
    }
}
