//! Checks before regorus' builtin is called: how much it would go through, or make. They give the builtin's answer, an error, or
//! undefined, where regorus' builtin would spell the arguments in an error that nobody sees.

use super::super::weight::{MAX_LEVELS, bits, measure, too_large};
use super::Checked;
use super::sizes::{MAX_COPIED, MAX_SIZE, comparisons, elements, length, list_of, text, text_of};
use regorus::Value;
use std::collections::BTreeSet;

/// Numbers of a range. More than a rule has a use for, and 30 of these still fit into memory.
const MAX_NUMBERS: usize = 10_000;
/// Steps (levels and fields) of `walk`: each result holds its whole path, 24 bytes a step.
const MAX_STEPS: usize = 500_000;
/// Vertices that `graph.reachable_paths` visits, a vertex once for each path that leads to it.
const MAX_VISITS: usize = 20_000;
/// Vertices of its longest path: it recurses for each.
const MAX_PATH_LENGTH: usize = 100;
/// Bits of an integer that a builtin makes or spells. The engine can't spell one beyond 1e308, which has 1024, and
/// ends the module when an error of its own would show it.
const MAX_BITS: u64 = 1000;
/// Bytes of a string that spells a number, a quantity, a version, a layout or a point in time.
const MAX_NUMBER_LENGTH: usize = 256;
/// Bytes that a glob is matched against.
const MAX_GLOBBED_LENGTH: usize = 4096;
/// Bytes of a glob, which are called characters since nearly all are.
const MAX_GLOB_LENGTH: usize = 512;
/// Delimiters of a glob.
const MAX_DELIMITERS: usize = 16;

/// No check: the work is bounded by the arguments.
pub(super) fn unchecked(_: &str, _: &[Value]) -> Checked {
    Ok(None)
}

/// Builtins that go through all their arguments.
pub(super) fn measured(name: &str, args: &[Value]) -> Checked {
    measure(name, args, MAX_SIZE).map(|_| None)
}

/// Builtins that go through all arguments but the first.
pub(super) fn measured_from_second(name: &str, args: &[Value]) -> Checked {
    measure(name, args.get(1..).unwrap_or_default(), MAX_SIZE).map(|_| None)
}

/// Strings of numbers, versions, layouts and points in time.
pub(super) fn short_texts(name: &str, args: &[Value]) -> Checked {
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

/// Strings that grow by a factor of two or three.
pub(super) fn made_text(name: &str, args: &[Value]) -> Checked {
    text_of(name, args.iter().map(|arg| text(arg).len()).sum())
}

/// Queries of an address, made of strings or of an object.
pub(super) fn encoded_query(name: &str, args: &[Value]) -> Checked {
    measure(name, args, MAX_COPIED).map(|_| None)
}

/// Queries of an address, taken apart.
pub(super) fn split_query(name: &str, args: &[Value]) -> Checked {
    let pairs = args.iter().map(|arg| text(arg).matches('&').count()).sum();
    list_of(name, pairs)?;
    made_text(name, args)
}

/// Lists that become one.
pub(super) fn joined_lists(name: &str, args: &[Value]) -> Checked {
    list_of(name, args.iter().map(length).sum())
}

/// A string of the parts of a list.
pub(super) fn concatenated(name: &str, args: &[Value]) -> Checked {
    let [by, list] = args else { return Ok(None) };
    let parts = elements(list);
    let between = text(by).len().saturating_mul(parts.len());
    text_of(name, parts.iter().map(|part| text(part).len()).fold(between, usize::saturating_add))
}

/// Builtins that make or spell an integer of about the bits that they are given.
pub(super) fn few_bits(name: &str, args: &[Value]) -> Checked {
    match args.iter().map(bits).max() {
        Some(most) if most > MAX_BITS => Err(format!("`{name}` of an integer of {most} bits: at most {MAX_BITS}")),
        _ => Ok(None),
    }
}

/// An integer that grows by as many bits as are asked for.
pub(super) fn shifted(name: &str, args: &[Value]) -> Checked {
    let [value, by] = args else { return Ok(None) };
    let Value::Number(by) = by else { return Ok(None) };
    match by.as_u64() {
        Some(by) if bits(value).saturating_add(by) > MAX_BITS => {
            Err(format!("`{name}` by too many: an integer has at most {MAX_BITS} bits"))
        }
        _ => few_bits(name, args),
    }
}

/// An integer that has the bits of all numbers of a list.
pub(super) fn multiplied(name: &str, args: &[Value]) -> Checked {
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

/// Numbers only.
pub(super) fn summed(_: &str, args: &[Value]) -> Checked {
    let numbers = args.iter().flat_map(elements).all(|part| matches!(part, Value::Number(_)));
    Ok((!numbers).then_some(Value::Undefined))
}

/// What all sets of a set have in common.
pub(super) fn intersected_sets(name: &str, args: &[Value]) -> Checked {
    let members = args.iter().flat_map(elements).collect::<Vec<_>>();
    if members.iter().any(|member| !matches!(member, Value::Set(_))) {
        return Ok(Some(Value::Undefined));
    }
    // The result so far is copied for each of them.
    let elements = members.iter().map(|member| length(member)).fold(0, usize::saturating_add);
    comparisons(name, members.len(), elements)?;
    measured(name, args)
}

/// Each element of one list, compared with each of another.
pub(super) fn compared_lists(name: &str, args: &[Value]) -> Checked {
    let [one, other] = args else { return Ok(None) };
    comparisons(name, elements(one).len(), elements(other).len())
}

/// JSON over several lines.
pub(super) fn marshalled_with_options(name: &str, args: &[Value]) -> Checked {
    let weight = measure(name, args, MAX_COPIED)?;
    let Some(Value::Object(options)) = args.get(1) else { return Ok(None) };
    // The prefix starts each line, the indentation follows once for each level.
    let margins = options.values().map(|option| text(option).len()).fold(0, usize::saturating_add);
    let lines = weight / 8;
    text_of(name, margins.saturating_mul(lines).saturating_mul(16))
}

/// A document, and the operations on it.
pub(super) fn patched(name: &str, args: &[Value]) -> Checked {
    let [document, Value::Array(operations)] = args else { return Ok(None) };
    let mut weight = measure(name, args, MAX_COPIED)?;
    for operation in operations.iter() {
        // At worst it copies the whole document into a part of itself.
        let Value::Object(fields) = operation else { continue };
        if fields.get(&Value::from("op")).is_some_and(|op| text(op) == "copy") {
            weight = weight.saturating_mul(2);
        }
    }
    // The tree that is edited takes twenty times as much memory.
    if weight > MAX_COPIED {
        return Err(too_large(name, MAX_COPIED));
    }
    let sets = holds_set(document) || operations.iter().any(holds_set);
    // An operation below a set renders that set anew.
    comparisons(name, if sets { operations.len() } else { 1 }, weight)
}

/// All paths of a value.
pub(super) fn walked(name: &str, args: &[Value]) -> Checked {
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

/// All paths of a graph.
pub(super) fn paths(name: &str, args: &[Value]) -> Checked {
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
    measure(name, args, MAX_SIZE)?;
    let [graph, from] = args else { return Ok(None) };
    let mut trail = Trail { graph, on: BTreeSet::new(), left: MAX_VISITS };
    match elements(from).into_iter().all(|vertex| trail.visit(vertex, 0)) {
        true => Ok(None),
        false => Err(format!(
            "`{name}` of more than {MAX_VISITS} visits, or {MAX_PATH_LENGTH} vertices in a row: use `graph.reachable`"
        )),
    }
}

/// All integers between two.
pub(super) fn range(name: &str, args: &[Value]) -> Checked {
    let [Value::Number(from), Value::Number(to)] = args else { return Ok(None) };
    if !from.is_integer() || !to.is_integer() {
        return Ok(Some(Value::Undefined));
    }
    numbers(name, from.as_i64(), to.as_i64(), 1)
}

/// Every n-th of them.
pub(super) fn range_step(name: &str, args: &[Value]) -> Checked {
    let [Value::Number(from), Value::Number(to), Value::Number(step)] = args else { return Ok(None) };
    // A step beyond 64 bits leads out of every range.
    let as_i64 = || step.as_i64().or(step.is_positive().then_some(i64::MAX));
    let step = step.is_integer().then(as_i64).flatten().filter(|step| *step > 0);
    // The original divides by the step.
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
        true => Err(format!("`{name}` of too many numbers: at most {MAX_NUMBERS}")),
        false => Ok(None),
    }
}

/// Each place of a part in a string.
pub(super) fn indexes(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(part)] = args else { return Ok(None) };
    comparisons(name, whole.len(), part.len())?;
    // As many as there are characters, if the part is short.
    list_of(name, if part.len() < 16 { whole.chars().count() } else { 0 })
}

/// Each character of a string, compared with each of a set.
pub(super) fn trimmed(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(set)] = args else { return Ok(None) };
    comparisons(name, whole.len(), set.len())
}

/// A string with another instead of each part.
pub(super) fn replaced(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(old), Value::String(new)] = args else { return Ok(None) };
    text_of(name, replaced_length(whole, old, new))
}

/// The length of such a string.
pub(super) fn replaced_length(whole: &str, old: &str, new: &str) -> usize {
    whole.matches(old).count().saturating_mul(new.len()).saturating_add(whole.len())
}

/// The parts of a string.
pub(super) fn split(name: &str, args: &[Value]) -> Checked {
    let [Value::String(whole), Value::String(by)] = args else { return Ok(None) };
    list_of(name, whole.matches(&**by).count().saturating_add(1))
}

/// A layout and a string in it. The original cuts them byte by byte.
pub(super) fn timed(name: &str, args: &[Value]) -> Checked {
    short_texts(name, args)?;
    let ascii = args.iter().all(|arg| match arg {
        Value::Array(parts) => parts.iter().all(|part| text(part).is_ascii()),
        scalar => text(scalar).is_ascii(),
    });
    match ascii {
        true => Ok(None),
        false => Err(format!("`{name}` with letters beyond ASCII: use none in layouts and times")),
    }
}

/// The original ends the module on a unit that ends in a character beyond ASCII.
pub(super) fn duration(name: &str, args: &[Value]) -> Checked {
    short_texts(name, args)?;
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
        if !matches!(unit, "ns" | "us" | "\u{b5}s" | "\u{3bc}s" | "ms" | "s" | "m" | "h" | "d" | "w" | "y") {
            return Ok(Some(Value::Undefined));
        }
        rest = next;
    }
    Ok(None)
}

/// A string that spells a number.
pub(super) fn number_read(name: &str, args: &[Value]) -> Checked {
    let Some(Value::String(spelled)) = args.first() else { return Ok(None) };
    let plain =
        |sign: char| sign.is_ascii_digit() || matches!(sign, '+' | '-' | '.' | 'e' | 'E') || sign.is_whitespace();
    // Anything else is JSON, if at all. The engine takes one spelling of an object for an endless number.
    if !spelled.chars().all(plain) {
        return Ok(Some(Value::Undefined));
    }
    short_texts(name, args)?;
    // The engine refuses `1e2000000000`, but writes out its digits first.
    let is_out_of_range = spelled.parse::<f64>().is_ok_and(|number| number.is_infinite());
    Ok(is_out_of_range.then_some(Value::Undefined))
}

/// A number with a unit.
pub(super) fn quantity(name: &str, args: &[Value]) -> Checked {
    short_texts(name, args)?;
    let spelled = args.first().map(text).unwrap_or_default();
    // `1e999999999` has a billion digits. The suffix `E` stands at the end, the exponent's doesn't.
    let power = spelled.split_once(['e', 'E']).map(|(_, power)| power.trim_start_matches(['+', '-', '0']));
    let digits = power.unwrap_or_default().chars().take_while(char::is_ascii_digit).count();
    if digits > 3 {
        return Err(format!("`{name}` of a number with {digits} digits in its exponent: at most three"));
    }
    Ok(None)
}

/// A glob of bounded length.
pub(super) fn glob_spelled(name: &str, args: &[Value]) -> Checked {
    let length = args.first().map(text).unwrap_or_default().len();
    match length > MAX_GLOB_LENGTH {
        true => Err(format!("`{name}` of a glob of {length} characters: at most {MAX_GLOB_LENGTH}")),
        false => Ok(None),
    }
}

/// A glob, and the string that it is to match.
pub(super) fn globbed(name: &str, args: &[Value]) -> Checked {
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

fn holds_set(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(holds_set),
        Value::Object(object) => object.values().any(holds_set),
        Value::Set(_) => true,
        _ => false,
    }
}
