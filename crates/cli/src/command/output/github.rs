//! Annotations of GitHub's workflows: lines in the log that become remarks at the place in the file.
//! See <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>.

use super::{Check, Finding, Level};
use crate::command::terminal::printable;

/// A line for each finding.
pub(in crate::command) fn annotations(check: &Check) -> String {
    check.findings.iter().map(annotation).collect()
}

fn annotation(finding: &Finding) -> String {
    let command = match finding.level {
        Level::Note => "notice",
        Level::Warning | Level::Error | Level::Unknown => finding.level.name(),
    };
    let mut properties = Vec::new();
    if let Some(file) = finding.location.path() {
        properties.push(format!("file={}", property(file)));
        properties.extend(finding.location.line.map(|line| format!("line={line}")));
    }
    properties.push(format!("title={}", property(finding.title.as_deref().unwrap_or(finding.rule))));
    format!("::{command} {}::{}\n", properties.join(","), message(&finding.message))
}

/// A text that may have several lines, in one.
fn message(text: &str) -> String {
    let text = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    printable(&text).into_owned()
}

/// A text within the command itself.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::output::tests::hostile;

    #[test]
    fn nothing_ends_a_command_early() {
        assert_eq!(message("100 %\r\na::b\u{1b}"), "100 %25%0D%0Aa::b\\u{1b}");
        assert_eq!(property("a,b: c\n%3A"), "a%2Cb%3A c%0A%253A");
    }

    #[test]
    fn each_finding_is_one_line() {
        let lines: Vec<String> = hostile().checks.iter().map(annotations).collect();
        let place = "file=a b/[x]%2Cy%3Aä%25.yaml,line=7";
        let expected = [
            String::new(),
            format!(
                "::error {place},title=a%3Ab%2Cc::100 %25%0D%0A::error::[a](b) ##[error]x\\u{{1b}}[2K\\u{{202e}}]]>\n\
                 ::notice {place},title=open-prefix::a <note>\n"
            ),
            format!("::notice {place},title=open-prefix::only a note\n"),
            format!("::error {place},title=open-prefix::no answer%0Aat all\n"),
            format!("::warning {place},title=open-prefix::left out\n"),
            String::new(),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_is_in_no_file_has_a_title_alone() {
        for file in [None, Some("-")] {
            let mut results = hostile();
            let finding = &mut results.checks[2].findings[0];
            finding.location.file = file.map(str::to_owned);
            assert_eq!(annotation(finding), "::notice title=open-prefix::only a note\n");
        }
    }
}
