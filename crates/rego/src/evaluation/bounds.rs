//! Builtins with bounds.
//!
//! The engine checks the clock between statements, never inside of a builtin. So some builtins are replaced: those whose work isn't
//! bounded by their arguments, and those that would end the module on odd ones. The replacement checks the arguments and then calls
//! regorus' builtin. The answers are that builtin's own. Only what is too much, or what it can't answer, is an error or an answer
//! of our own.
//!
//! Errors are hard, as those of the engine's own limits are: `not regex.match(…)` must not hold because a string is long.

mod checks;
mod original;
mod patterns;
mod reimplemented;
mod sizes;
#[cfg(test)]
mod tests;

use super::first_exceeded_bound::FirstExceededBound;
use image_admission_untrusted::clock::{self, NO_TIME};
use original::Original;
use regorus::{LimitError, Value};
use std::collections::BTreeSet;

/// Puts bounded builtins in front of those that the modules call.
///
/// # Errors
/// The engine has an extension of that name already, which is a bug here.
pub(super) fn install(
    engine: &mut regorus::Engine,
    called: &BTreeSet<&str>,
    exceeded: &FirstExceededBound,
) -> anyhow::Result<()> {
    // The list of guards is ordered by name.
    for name in called {
        let guard = GUARDS.binary_search_by(|guard| guard.name.cmp(name)).ok().and_then(|found| GUARDS.get(found));
        let Some(guard) = guard else { continue };
        let (exceeded, mut original) = (exceeded.clone(), None);
        let call = move |args: Vec<Value>| -> anyhow::Result<Value> {
            call(guard, &mut original, &args).inspect_err(|error| exceeded.note(&error.to_string()))
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

/// Every builtin that needs bounds.
const GUARDS: &[Guard] = {
    use Kind::{Any, Array, List, Number, Object, Set, Text, Time};
    &[
        guard("abs", &[Number], checks::unchecked),
        guard("array.concat", &[Array, Array], checks::joined_lists),
        guard("array.reverse", &[Array], checks::unchecked),
        guard("array.slice", &[Array, Number, Number], checks::unchecked),
        guard("base64.decode", &[Text], checks::made_text),
        guard("base64.encode", &[Text], checks::made_text),
        guard("base64.is_valid", &[Text], checks::made_text),
        guard("base64url.decode", &[Text], checks::made_text),
        guard("base64url.encode", &[Text], checks::made_text),
        guard("base64url.encode_no_pad", &[Text], checks::made_text),
        guard("bits.and", &[Number, Number], checks::few_bits),
        guard("bits.lsh", &[Number, Number], checks::shifted),
        guard("bits.negate", &[Number], checks::few_bits),
        guard("bits.or", &[Number, Number], checks::few_bits),
        guard("bits.rsh", &[Number, Number], checks::few_bits),
        guard("bits.xor", &[Number, Number], checks::few_bits),
        guard("ceil", &[Number], checks::unchecked),
        guard("concat", &[Text, List], checks::concatenated),
        guard("contains", &[Text, Text], checks::unchecked),
        guard("endswith", &[Text, Text], checks::unchecked),
        guard("floor", &[Number], checks::unchecked),
        guard("format_int", &[Number, Number], checks::few_bits),
        guard("glob.match", &[Text, Any, Text], checks::globbed),
        guard("glob.quote_meta", &[Text], checks::glob_spelled),
        guard("graph.reachable", &[Object, Any], checks::measured),
        guard("graph.reachable_paths", &[Object, Any], checks::paths),
        guard("hex.decode", &[Text], checks::made_text),
        guard("hex.encode", &[Text], checks::made_text),
        guard("indexof", &[Text, Text], reimplemented::index),
        guard("indexof_n", &[Text, Text], checks::indexes),
        guard("intersection", &[Set], checks::intersected_sets),
        guard("json.filter", &[Object, List], checks::measured),
        guard("json.is_valid", &[Any], reimplemented::json_valid),
        guard("json.marshal", &[Any], checks::measured),
        guard("json.marshal_with_options", &[Any, Object], checks::marshalled_with_options),
        guard("json.patch", &[Any, Array], checks::patched),
        guard("json.remove", &[Object, List], checks::measured),
        guard("json.unmarshal", &[Text], reimplemented::json_read),
        guard("lower", &[Text], checks::made_text),
        guard("max", &[List], checks::measured),
        guard("min", &[List], checks::measured),
        guard("numbers.range", &[Number, Number], checks::range),
        guard("numbers.range_step", &[Number, Number, Number], checks::range_step),
        guard("object.filter", &[Object, Any], checks::measured_from_second),
        guard("object.get", &[Object, Any, Any], checks::unchecked),
        guard("object.keys", &[Object], checks::unchecked),
        guard("object.remove", &[Object, Any], checks::measured_from_second),
        guard("object.subset", &[Any, Any], reimplemented::subset),
        guard("object.union", &[Object, Object], checks::measured),
        guard("object.union_n", &[Array], reimplemented::merged),
        guard("product", &[List], checks::multiplied),
        guard("regex.find_all_string_submatch_n", &[Text, Text, Number], patterns::find_submatches),
        guard("regex.find_n", &[Text, Text, Number], patterns::find),
        guard("regex.is_valid", &[Any], patterns::pattern_valid),
        guard("regex.match", &[Text, Text], patterns::matched),
        guard("regex.replace", &[Text, Text, Text], patterns::replaced_by_pattern),
        guard("regex.split", &[Text, Text], patterns::split_by_pattern),
        guard("regex.template_match", &[Text, Text, Text, Text], patterns::template),
        guard("replace", &[Text, Text, Text], checks::replaced),
        guard("round", &[Number], checks::unchecked),
        guard("semver.compare", &[Text, Text], checks::short_texts),
        guard("semver.is_valid", &[Any], checks::short_texts),
        guard("sort", &[List], checks::measured),
        guard("split", &[Text, Text], checks::split),
        guard("sprintf", &[Text, Array], reimplemented::formatted),
        guard("startswith", &[Text, Text], checks::unchecked),
        guard("strings.any_prefix_match", &[Any, Any], checks::compared_lists),
        guard("strings.any_suffix_match", &[Any, Any], checks::compared_lists),
        guard("strings.count", &[Text, Text], reimplemented::counted),
        guard("strings.replace_n", &[Object, Text], reimplemented::replaced_n),
        guard("strings.reverse", &[Text], checks::made_text),
        guard("substring", &[Text, Number, Number], checks::made_text),
        guard("sum", &[List], checks::summed),
        guard("time.add_date", &[Time, Number, Number, Number], checks::short_texts),
        guard("time.clock", &[Time], checks::short_texts),
        guard("time.date", &[Time], checks::short_texts),
        guard("time.diff", &[Time, Time], checks::short_texts),
        guard("time.format", &[Time], checks::timed),
        guard("time.parse_duration_ns", &[Text], checks::duration),
        guard("time.parse_ns", &[Text, Text], checks::timed),
        guard("time.parse_rfc3339_ns", &[Text], checks::short_texts),
        guard("time.weekday", &[Time], checks::short_texts),
        guard("to_number", &[Any], checks::number_read),
        guard("trace", &[Text], checks::unchecked),
        guard("trim", &[Text, Text], checks::trimmed),
        guard("trim_left", &[Text, Text], checks::trimmed),
        guard("trim_prefix", &[Text, Text], checks::unchecked),
        guard("trim_right", &[Text, Text], checks::trimmed),
        guard("trim_space", &[Text], checks::unchecked),
        guard("trim_suffix", &[Text, Text], checks::unchecked),
        guard("union", &[Set], reimplemented::union_of_sets),
        guard("units.parse", &[Text], checks::quantity),
        guard("units.parse_bytes", &[Text], checks::quantity),
        guard("upper", &[Text], checks::made_text),
        guard("urlquery.decode", &[Text], checks::made_text),
        guard("urlquery.decode_object", &[Text], checks::split_query),
        guard("urlquery.encode", &[Text], checks::encoded_query),
        guard("urlquery.encode_object", &[Object], checks::encoded_query),
        guard("uuid.parse", &[Text], checks::short_texts),
        guard("walk", &[Any], checks::walked),
        guard("yaml.is_valid", &[Any], reimplemented::yaml_valid),
        guard("yaml.marshal", &[Any], checks::measured),
        guard("yaml.unmarshal", &[Text], reimplemented::yaml_read),
    ]
};

/// A builtin, what it takes, and the check before it is called.
struct Guard {
    name: &'static str,
    takes: &'static [Kind],
    check: fn(&str, &[Value]) -> Checked,
}

const fn guard(name: &'static str, takes: &'static [Kind], check: fn(&str, &[Value]) -> Checked) -> Guard {
    Guard { name, takes, check }
}

/// The type that a builtin wants of an argument. For another one regorus' builtin would spell the whole value in an error that
/// nobody sees, without end for a value of shared parts.
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

/// What a builtin answers before regorus' builtin is called: a value of our own, nothing, or an error.
type Checked = Result<Option<Value>, String>;

fn call(guard: &Guard, original: &mut Option<Original>, args: &[Value]) -> anyhow::Result<Value> {
    if !guard.takes.iter().zip(args).all(|(kind, arg)| kind.takes(arg)) {
        return Ok(Value::Undefined);
    }
    // The engine looks at the clock every few statements; a builtin may use up the rest of the memory between two looks.
    if clock::now().is_some_and(|now| now >= NO_TIME) {
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
            Err(anyhow::anyhow!(patterns::too_large(guard.name, args)))
        }
        Err(error) if error.downcast_ref::<LimitError>().is_some() => Err(error),
        Err(_) => Ok(Value::Undefined),
    }
}
