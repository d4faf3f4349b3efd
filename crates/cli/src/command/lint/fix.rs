//! Mends settings where they are written: a piece of the text is taken away, replaced or added, and everything else stays,
//! comments too. An edit counts only if the file then says exactly what was meant.

mod append;

use std::path::Path;

use image_admission_settings::{Lint as Remark, LintFix};
use serde::de::IgnoredAny;
use serde_json::Value;

use super::{Looked, steps};
use image_admission_manifests::document::{DocumentError, documents_in};
use image_admission_manifests::lines::{Lines, Part, Spot};

/// A file that was fixed.
pub(super) struct Fixed {
    /// Its text.
    pub(super) text: String,
    /// What is fixed.
    pub(super) fixed: Vec<Remark>,
    /// What couldn't be, as the text is written.
    pub(super) refused: Vec<Remark>,
}

/// Fixes one thing after the other, and looks again after each: where something was taken away, other things have moved.
pub(super) fn fix_all(
    path: &Path,
    mut text: String,
    look: &impl Fn(&Path, &str) -> Result<Vec<Looked>, DocumentError>,
) -> Result<Fixed, DocumentError> {
    let (mut fixed, mut refused) = (Vec::new(), Vec::<(usize, Remark)>::new());
    'next: loop {
        let settings = look(path, &text)?;
        for (number, looked) in settings.iter().enumerate() {
            for remark in looked.said.iter().flatten().filter(|remark| remark.fix.is_some()) {
                if refused.iter().any(|(other, known)| *other == number && known == remark) {
                    continue;
                }
                if let Some(after) = edited(path, &text, looked, remark) {
                    fixed.push(remark.clone());
                    text = after;
                    continue 'next;
                }
                refused.push((number, remark.clone()));
            }
        }
        return Ok(Fixed { text, fixed, refused: refused.into_iter().map(|(_, remark)| remark).collect() });
    }
}

/// The text with one thing fixed, if that can be done.
fn edited(path: &Path, text: &str, looked: &Looked, remark: &Remark) -> Option<String> {
    let number = looked.found.place.document();
    let lines = Lines::of(text);
    let mut wanted = values(path, text)?;
    let document = wanted.iter_mut().find(|(of, _)| *of == number).map(|(_, value)| value)?;
    let attempts: [Option<String>; 2] = match remark.fix.as_ref()? {
        LintFix::Remove => {
            let removed = remove(document, steps(&looked.found, &remark.path), looked.found.path().len())?;
            let spot = lines.spot(number, &removed, Part::Key)?;
            [without_lines(text, spot), without_entry(text, spot)]
        }
        LintFix::Replace { path: at, text: new } => {
            let steps = steps(&looked.found, at);
            let value = steps.iter().try_fold(document, |value, step| below(value, step))?;
            let old = value.as_str()?.to_owned();
            *value = Value::String(new.clone());
            [replaced(text, lines.spot(number, &steps, Part::Value)?, &old, new), None]
        }
        LintFix::Append { path: at, entries } => {
            append::attempts(text, number, document, &steps(&looked.found, at), entries)?
        }
    };
    // YAML allows a comma after the last entry, and JSON doesn't.
    let is_sound = |after: &String| !is_json(text) || is_json(after);
    attempts.into_iter().flatten().find(|after| is_sound(after) && values(path, after).as_ref() == Some(&wanted))
}

/// Whether a text is JSON, of one document or several.
fn is_json(text: &str) -> bool {
    serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>().all(|document| document.is_ok())
}

/// Every document, by its number.
fn values(path: &Path, text: &str) -> Option<Vec<(usize, Value)>> {
    let documents = documents_in(path, text).ok()?.into_iter();
    documents
        .map(|document| Some((document.place.document(), serde_json::from_str(document.json.get()).ok()?)))
        .collect()
}

fn below<'v>(value: &'v mut Value, step: &str) -> Option<&'v mut Value> {
    match value {
        Value::Object(map) => map.get_mut(step),
        Value::Array(list) => list.get_mut(step.parse::<usize>().ok()?),
        _ => None,
    }
}

/// Takes away what a path leads to, and what is then empty around it, as far as it is within the settings. The path to the
/// outermost thing that was taken away.
fn remove(document: &mut Value, mut path: Vec<String>, settings: usize) -> Option<Vec<String>> {
    loop {
        let (last, above) = path.split_last()?;
        let container = above.iter().try_fold(&mut *document, |value, step| below(value, step))?;
        let is_empty = match container {
            Value::Object(map) => {
                map.remove(last)?;
                map.is_empty()
            }
            Value::Array(list) => {
                let position: usize = last.parse().ok().filter(|position| *position < list.len())?;
                list.remove(position);
                list.is_empty()
            }
            _ => return None,
        };
        if !is_empty || above.len() <= settings {
            return Some(path);
        }
        path.pop();
    }
}

/// The byte at which something stands.
fn offset(text: &str, spot: Spot) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(spot.line - 1).map(str::len).sum();
    let line = text.get(before..)?;
    let (column, _) = line.char_indices().nth(spot.column - 1)?;
    Some(before + column)
}

/// Without the lines of an entry of a list or a map that has lines of its own.
fn without_lines(text: &str, spot: Spot) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let OwnLines { start, end, .. } = OwnLines::at(&lines, spot)?;
    Some([lines.get(..start)?.concat(), lines.get(end..)?.concat()].concat())
}

/// The lines of an entry of a list or a map that has lines of its own.
struct OwnLines {
    start: usize,
    /// The line after its last.
    end: usize,
    /// How far it is indented, its `-` too.
    indent: usize,
}

impl OwnLines {
    fn at(lines: &[&str], spot: Spot) -> Option<Self> {
        let start = spot.line - 1;
        let first = lines.get(start)?;
        let before: String = first.chars().take(spot.column - 1).collect();
        let is_item = before.trim() == "-";
        if !is_item && !before.trim().is_empty() {
            return None;
        }
        let indent = if is_item { before.chars().take_while(|c| *c == ' ').count() } else { before.chars().count() };
        let mut end = start + 1;
        for (number, line) in lines.iter().enumerate().skip(end) {
            let own = line.chars().take_while(|c| *c == ' ').count();
            let content = line.trim();
            // The entries of a list may stand right below its key.
            let is_below = own > indent || (!is_item && own == indent && (content == "-" || content.starts_with("- ")));
            if content.is_empty() {
                continue;
            }
            if !is_below {
                break;
            }
            end = number + 1;
        }
        Some(Self { start, end, indent })
    }
}

/// Without an entry between brackets, and the comma that kept it from the next one or from the one before.
fn without_entry(text: &str, spot: Spot) -> Option<String> {
    let start = offset(text, spot)?;
    let end = start + end_of_entry(text.get(start..)?)?;
    let after = text.get(end..)?.trim_start();
    if let Some(rest) = after.strip_prefix(',') {
        return Some([text.get(..start)?, rest.trim_start()].concat());
    }
    let before = text.get(..start)?.trim_end().strip_suffix(',')?;
    Some([before, text.get(end..)?].concat())
}

/// How far an entry between brackets goes.
fn end_of_entry(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0usize, None, false);
    for (position, character) in text.char_indices() {
        match (quote, character) {
            (Some('"'), _) if is_escaped => is_escaped = false,
            (Some('"'), '\\') => is_escaped = true,
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ',' | ']' | '}') if depth == 0 => {
                return Some(text.get(..position)?.trim_end().len());
            }
            (None, ']' | '}') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

/// With another text in the place of one, in its quotation marks if it has some.
fn replaced(text: &str, spot: Spot, old: &str, new: &str) -> Option<String> {
    let start = offset(text, spot)?;
    let rest = text.get(start..)?;
    let quote = rest
        .chars()
        .next()
        .filter(|first| ['"', '\''].contains(first))
        .map_or("", |first| if first == '"' { "\"" } else { "'" });
    let after = rest.strip_prefix(quote)?.strip_prefix(old)?;
    Some([text.get(..start)?, quote, new, after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use image_admission_engine::check_settings;
    use image_admission_manifests::settings::every_in;
    use image_admission_settings::LintRule;

    /// What becomes of a text where everything at these paths is taken away, one after the other.
    #[track_caller]
    fn check(text: &str, path: &str, expected: Option<&str>) {
        let file = Path::new("settings.yaml");
        let found = every_in(file, text).unwrap().pop().unwrap();
        let settings = check_settings(&serde_json::from_str(found.json.as_ref().unwrap().get()).unwrap()).unwrap();
        let mut remark = settings.lint(image_admission_untrusted::time::Timestamp(0), None).remove(0);
        remark.rule = LintRule::Redundant;
        remark.path = path.to_owned();
        remark.fix = Some(LintFix::Remove);
        let looked = Looked { found, said: Ok(Vec::new()), duplicates: Vec::new() };
        assert_eq!(edited(file, text, &looked, &remark).as_deref(), expected, "{text}");
    }

    #[test]
    fn entries_are_taken_away_and_comments_stay() {
        let path = "scanPolicies.customPolicies[0]";
        check(
            "# all\nscanPolicies: # the scan\n  customPolicies:\n    # first\n    - prefix: a.io/ # a\n      # within\n      action: reject\n\n    # second\n    - {prefix: b.io/, action: reject}\n",
            path,
            Some(
                "# all\nscanPolicies: # the scan\n  customPolicies:\n    # first\n\n    # second\n    - {prefix: b.io/, action: reject}\n",
            ),
        );
        check(
            "scanPolicies:\n  customPolicies:\n  - prefix: a.io/\n    action: reject\n  defaultPolicy: accept\n",
            path,
            Some("scanPolicies:\n  defaultPolicy: accept\n"),
        );
        check(
            "scanPolicies: {customPolicies: [{prefix: 'a.io/', \"action\": \"reject\"}, {prefix: b.io/, action: reject}]} # x\n",
            path,
            Some("scanPolicies: {customPolicies: [{prefix: b.io/, action: reject}]} # x\n"),
        );
        check(
            "{\n  \"scanPolicies\": {\n    \"customPolicies\": [\n      {\"prefix\": \"a.io/\", \"action\": \"reject\"}\n    ],\n    \"defaultPolicy\": \"accept\"\n  }\n}\n",
            path,
            Some("{\n  \"scanPolicies\": {\n    \"defaultPolicy\": \"accept\"\n  }\n}\n"),
        );
        check(
            "scanPolicies: {defaultPolicy: accept, customPolicies: [{prefix: a.io/, action: reject}]}\n",
            path,
            Some("scanPolicies: {defaultPolicy: accept}\n"),
        );
        check(
            "apiVersion: v1\nkind: Namespace\n---\napiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: x}\nspec:\n  settings:\n    maxImages: 1\n    scanPolicies:\n      customPolicies: [{prefix: a.io/, action: reject}]\n  module: x\n",
            path,
            Some(
                "apiVersion: v1\nkind: Namespace\n---\napiVersion: policies.kubewarden.io/v1\nkind: ClusterAdmissionPolicy\nmetadata: {name: x}\nspec:\n  settings:\n    maxImages: 1\n  module: x\n",
            ),
        );
    }

    #[test]
    fn what_is_written_elsewhere_is_not_taken_away() {
        // The anchor would go with it.
        check(
            "scanPolicies:\n  customPolicies:\n    - &first {prefix: a.io/, action: reject}\n    - *first\n",
            "scanPolicies.customPolicies[0]",
            None,
        );
        check(
            "scanPolicies: {customPolicies: [{prefix: a.io/, action: reject}]}\n",
            "scanPolicies.customPolicies[0]",
            None,
        );
        check("maxImages: 1\n", "scanPolicies", None);
    }

    #[test]
    fn texts_are_replaced_in_their_quotation_marks() {
        for (text, expected) in [
            ("a:  ghcr.io # x\n", Some("a:  ghcr.io/ # x\n")),
            ("a: \"ghcr.io\"\n", Some("a: \"ghcr.io/\"\n")),
            ("a: 'ghcr.io'\n", Some("a: 'ghcr.io/'\n")),
            ("a: \"gh\\u0063r.io\"\n", None),
        ] {
            let spot = Lines::of(text).spot(0, &["a".to_owned()], Part::Value).unwrap();
            assert_eq!(replaced(text, spot, "ghcr.io", "ghcr.io/").as_deref(), expected);
        }
    }
}
