//! What a query came to, as it is written.

use std::collections::BTreeSet;
use std::io::{self, Write};

use regorus::{QueryResult, QueryResults, Value};
use serde::Serialize;

use crate::command::output;
use crate::command::rego::{Module, RegoVersion};
use crate::command::terminal::{json_without_commands, printable};

/// As `opa eval` writes it; `{}` where nothing is defined.
pub(super) fn json(found: &QueryResults, output: &mut impl Write) -> io::Result<()> {
    pretty_json(&Defined { result: defined(found) }, output)
}

#[derive(Serialize)]
struct Defined<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    result: Vec<&'a QueryResult>,
}

/// The same as YAML.
pub(super) fn yaml(found: &QueryResults, output: &mut impl Write) -> io::Result<()> {
    output.write_all(output::yaml(&Defined { result: defined(found) })?.as_bytes())
}

/// The one value, or a table: a column for each variable, and for each expression that has more to say than `true`.
pub(super) fn pretty(found: &QueryResults, output: &mut impl Write) -> io::Result<()> {
    let results = defined(found);
    let Some(first) = results.first() else { return writeln!(output, "undefined") };
    if let ([_], [expression]) = (results.as_slice(), first.expressions.as_slice())
        && variables(first).is_empty()
    {
        return pretty_json(&expression.value, output);
    }
    let names: BTreeSet<String> = results.iter().flat_map(|result| variables(result)).collect();
    let telling: Vec<usize> = (0..first.expressions.len())
        .filter(|index| results.iter().any(|result| value(result, *index) != &Value::Bool(true)))
        .collect();
    let mut rows = vec![names.iter().cloned().collect::<Vec<_>>()];
    if let Some(heading) = rows.first_mut() {
        heading.extend(telling.iter().filter_map(|index| first.expressions.get(*index)).map(|e| in_one_line(&e.text)));
    }
    for result in &results {
        let bound = names.iter().map(|name| binding(result, name));
        rows.push(bound.chain(telling.iter().map(|index| value(result, *index))).map(ToString::to_string).collect());
    }
    // Everything is in the conditions then, and they hold.
    if rows.iter().all(Vec::is_empty) {
        return writeln!(output, "true");
    }
    table(&rows, output)
}

/// The values of each result in one line.
pub(super) fn raw(found: &QueryResults, output: &mut impl Write) -> io::Result<()> {
    for result in defined(found) {
        let values: Vec<String> = result
            .expressions
            .iter()
            .map(|expression| match &expression.value {
                Value::String(text) => printable(text).into_owned(),
                other => other.to_string(),
            })
            .collect();
        writeln!(output, "{}", values.join(" "))?;
    }
    Ok(())
}

/// One document.
pub(super) fn document(value: &Value, output: &mut impl Write) -> io::Result<()> {
    match value {
        Value::Undefined => writeln!(output, "undefined"),
        value => pretty_json(value, output),
    }
}

/// Data as JSON.
pub(super) fn data(value: &impl Serialize, output: &mut impl Write) -> io::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    writeln!(output, "{}", json_without_commands(&text))
}

/// The modules, one after the other.
pub(super) fn rules(modules: &[Module], output: &mut impl Write) -> io::Result<()> {
    for (index, Module { name, text, version }) in modules.iter().enumerate() {
        let version = match version {
            RegoVersion::V0 => "v0",
            RegoVersion::V1 => "v1",
        };
        let gap = if index == 0 { "" } else { "\n" };
        writeln!(output, "{gap}# {}, in Rego {version}\n{}", in_one_line(name), printable(text).trim_end())?;
    }
    Ok(())
}

/// The results that have a value. Of several expressions all must hold; one alone may be false.
fn defined(found: &QueryResults) -> Vec<&QueryResult> {
    let is_defined = |result: &&QueryResult| {
        let several = result.expressions.len() > 1;
        let holds = |value: &Value| *value != Value::Undefined && !(several && *value == Value::Bool(false));
        result.expressions.iter().all(|expression| holds(&expression.value))
    };
    found.result.iter().filter(is_defined).collect()
}

/// The names of what a result binds.
fn variables(result: &QueryResult) -> Vec<String> {
    let names = result.bindings.as_object().into_iter().flat_map(|bindings| bindings.keys());
    names.filter_map(|name| name.as_string().ok()).map(|name| name.to_string()).collect()
}

fn binding<'a>(result: &'a QueryResult, name: &str) -> &'a Value {
    result.bindings.as_object().ok().and_then(|bindings| bindings.get(&Value::from(name))).unwrap_or(&Value::Undefined)
}

fn value(result: &QueryResult, index: usize) -> &Value {
    result.expressions.get(index).map_or(&Value::Undefined, |expression| &expression.value)
}

fn in_one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first row is the heading.
fn table(rows: &[Vec<String>], output: &mut impl Write) -> io::Result<()> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line: String = widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect();
    writeln!(output, "{line}+")?;
    for (index, row) in rows.iter().enumerate() {
        let cells: String = row.iter().zip(&widths).map(|(cell, width)| format!("| {cell:width$} ")).collect();
        writeln!(output, "{}|", printable(&cells))?;
        if index == 0 {
            writeln!(output, "{line}+")?;
        }
    }
    writeln!(output, "{line}+")
}

fn pretty_json(value: &impl Serialize, output: &mut impl Write) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string_pretty(value)?)
}
