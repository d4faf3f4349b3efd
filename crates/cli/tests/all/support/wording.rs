//! What `BLESS=1` does with cases: where the engine's words changed, those that a case expects are written anew, to be read
//! before they are committed. Nothing else of a case changes: whether it is admitted is never blessed.

/// A file of cases with the words that are given now in the place of those that the case of that name expects.
///
/// # Errors
/// The words that are expected don't stand there as they are, in lines of their own or within one.
pub(crate) fn reword(file: &str, case: &str, expected: &str, given: &str) -> Result<String, String> {
    let not_found = || format!("`{case}` doesn't have these words as they are, rewrite them by hand: {expected}");
    let lines: Vec<&str> = file.lines().collect();
    let is_name = |line: &str| line.strip_prefix("- name: ").is_some_and(|name| name.trim_matches(['"', '\'']) == case);
    let start = lines.iter().position(|line| is_name(line)).ok_or_else(not_found)?;
    let is_next = |line: &&str| line.starts_with("- ");
    let length = lines.iter().skip(start + 1).position(is_next).map_or(lines.len() - start, |position| position + 1);
    let own = &lines[start..start + length];

    let (expected, given): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), given.lines().collect());
    let is_there =
        |window: &[&str]| window.iter().zip(&expected).all(|(line, expected)| line.trim_start() == *expected);
    let place = (!expected.is_empty()).then(|| own.windows(expected.len()).position(is_there)).flatten();
    let mut rewritten: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    if let Some(place) = place {
        let indent = &own[place][..own[place].len() - expected[0].len()];
        let new = given.iter().map(|line| format!("{indent}{line}"));
        rewritten.splice(start + place..start + place + expected.len(), new);
    } else if let ([old], [new]) = (expected.as_slice(), given.as_slice()) {
        // A value begins after a blank or a quotation mark.
        let begins =
            |line: &str| line.match_indices(old).map(|(at, _)| at).find(|at| line[..*at].ends_with([' ', '"', '\'']));
        let found = own.iter().enumerate().skip(1).find_map(|(number, line)| Some((number, begins(line)?)));
        let (number, at) = found.filter(|_| !old.is_empty()).ok_or_else(not_found)?;
        rewritten[start + number].replace_range(at..at + old.len(), new);
    } else {
        return Err(not_found());
    }
    Ok(rewritten.join("\n") + "\n")
}

#[test]
fn words_are_written_where_they_stood() {
    let file = "- name: one\n  expect:\n    message: |-\n      a\n      b\n    warnings: [\"b\"]\n\n- name: \"two\"\n  expect:\n    message: a\n";
    let check = |case: &str, expected: &str, given: &str, result: &str| {
        assert_eq!(reword(file, case, expected, given).unwrap(), result, "{case} {expected}");
    };
    check("one", "a\nb", "c\nd\ne", &file.replacen("      a\n      b", "      c\n      d\n      e", 1));
    check("two", "a", "c", &file.replace("message: a", "message: c"));
    check("one", "b", "c", &file.replacen("      b", "      c", 1));
    for (case, expected) in [("one", "x"), ("two", "b"), ("three", "a"), ("one", "a\nc"), ("one", "")] {
        assert!(reword(file, case, expected, "c").is_err(), "{case} {expected}");
    }
}
