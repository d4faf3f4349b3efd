//! Annotations of GitHub's workflows: lines in the log that become remarks at the place in the file.
//! See <https://docs.github.com/actions/reference/workflow-commands-for-github-actions>.

use super::{Complaint, Finished};
use crate::command::terminal::printable;
use crate::command::test::outcome::Verdict;

/// The line for a test that doesn't pass; a skipped one is a warning.
pub(super) fn annotation(Finished { identity, outcome }: &Finished) -> String {
    let (level, why) = match &outcome.verdict {
        Verdict::Passed => return String::new(),
        Verdict::Skipped => ("warning", "skipped".to_owned()),
        Verdict::Failed(why) => ("error", why.to_string()),
        Verdict::Stopped(stop) => ("error", stop.to_string()),
    };
    let (file, title) = (property(&identity.file), property(&identity.name));
    format!("::{level} file={file},line={},title={title}::{}\n", identity.line, message(&why))
}

/// The line for a whole suite.
pub(super) fn complaint(Complaint { suite, problem }: &Complaint) -> String {
    format!("::error file={}::{}\n", property(suite), message(problem))
}

/// A text that may have several lines, in one.
fn message(text: &str) -> String {
    printable(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A text within the command itself.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_a_command_early() {
        assert_eq!(message("100 %\na::b"), "100 %25%0Aa::b");
        assert_eq!(property("a,b: c\n"), "a%2Cb%3A c%0A");
    }
}
