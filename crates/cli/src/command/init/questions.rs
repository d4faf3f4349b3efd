//! The questions that are asked in a terminal, each with the default in brackets, and again where the answer won't do. `?` explains a
//! question; of choices the number is an answer, too.

use std::io::{self, BufRead, Write};

use super::super::terminal::in_one_line;

/// The longest line that is written.
const WIDTH: usize = 80;

/// A question.
#[derive(Debug)]
pub(super) struct Question {
    text: &'static str,
    /// What `?` says.
    help: &'static str,
    /// Answers and what they mean; none where anything may be an answer.
    choices: &'static [(&'static str, &'static str)],
}

pub(super) const FOLDER: Question = Question {
    text: "Write to which folder?",
    help: "The manifests, the settings and a test suite are written there. Keep the folder in Git.",
    choices: &[],
};
pub(super) const SCANNER: Question = Question {
    text: "Which scanner do you use?",
    help: "The policy reads the scanner's reports. It scans nothing by itself.",
    choices: &[
        ("sbomscanner", "Kubewarden's SBOMscanner"),
        ("trivy-operator", "Aqua's trivy-operator"),
        ("kubescape", "Kubescape"),
        ("registry", "CI, which pushes signed reports beside the images"),
        ("none", "no scanner yet: images of your registries run unscanned"),
    ],
};
pub(super) const SIGNER: Question = Question {
    text: "Who signs the reports? A file with a public key, or github:OWNER/REPOSITORY",
    help: "Reports count only with this signature: anybody with push access could attach another report.",
    choices: &[],
};
pub(super) const NAMESPACES: Question = Question {
    text: "In which namespaces are the reports?",
    help: "Reports of these namespaces are trusted. Users with write access there decide which images are clean.",
    choices: &[],
};
pub(super) const COMPANION: Question = Question {
    text: "Should the companion have images scanned that nobody scanned yet? yes or no",
    help: "Their Pods can't start before. The companion is a Deployment that asks the scanner for these scans. It decides nothing.",
    choices: &[],
};
pub(super) const REGISTRIES: Question = Question {
    text: "Which registries may images come from?",
    help: "Images of any other registry are rejected, and the policy server never contacts it. List the registries of the cluster's own \
        components, too: kubectl get pods -A -o jsonpath='{..image}' names them.",
    choices: &[],
};
pub(super) const LEFT_OUT: Question = Question {
    text: "Which namespaces are left out, besides kube-system and kubewarden? (-: none)",
    help: "Nothing in these namespaces is judged. Leave out what the scanner needs to start: it can't wait for its own reports. Name \
        only namespaces that exist.",
    choices: &[],
};
pub(super) const MODE: Question = Question {
    text: "Monitor or enforce?",
    help: "Start with monitor. To enforce later, remove one line of kustomization.yaml.",
    choices: &[
        ("monitor", "everything gets in, and the log says what would be rejected"),
        ("enforce", "images that don't pass are rejected"),
    ],
};
pub(super) const VALIDATING: Question = Question {
    text: "Do other webhooks (such as Istio's) inject containers? Judge those too? yes or no",
    help: "A second, validating policy judges each Pod after all webhooks have changed it.",
    choices: &[],
};
pub(super) const MODULE: Question = Question {
    text: "Where is the policy's module? For example registry.example.com/image-admission:v1.0.0",
    help: "The policy server pulls the module from a registry. `make push` pushes it, and a release has it already.",
    choices: &[],
};
pub(super) const SERVER: Question = Question {
    text: "Which image has your policy server?",
    help: "kubectl get policyserver default -o jsonpath='{.spec.image}' prints it. Take the version of your Kubewarden.",
    choices: &[],
};

pub(super) const COMPANION_IMAGE: Question = Question {
    text: "Which image has the companion?",
    help: "That of the command line, which a release has beside the module. Take the version of the module.",
    choices: &[],
};

/// Somebody who is asked: what they are told, and what they say.
#[derive(Debug)]
pub(super) struct Questions<R, W> {
    answers: R,
    output: W,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuestionError {
    /// There are no more answers.
    #[error("the answers ended, and nothing was written")]
    Ended,
    /// The question can't be written, or the answer can't be read.
    #[error("cannot ask: {0}")]
    Broken(#[from] io::Error),
}

impl<R: BufRead, W: Write> Questions<R, W> {
    pub(super) fn new(answers: R, output: W) -> Self {
        Self { answers, output }
    }

    /// Asks, and says why an answer won't do, until one will. An empty one is the default, where there is one.
    pub(super) fn ask<T>(
        &mut self,
        question: &Question,
        default: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, QuestionError> {
        for (number, (name, meaning)) in question.choices.iter().enumerate() {
            writeln!(self.output, "  {}) {name:<15} {meaning}", number + 1)?;
        }
        loop {
            let prompt = match default {
                Some(default) => format!("{} [{default}]: ", question.text),
                None if question.text.ends_with('?') => format!("{} ", question.text),
                None => format!("{}: ", question.text),
            };
            write!(self.output, "{}", wrapped(&prompt))?;
            self.output.flush()?;
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                // The error begins on a line of its own.
                writeln!(self.output)?;
                return Err(QuestionError::Ended);
            }
            let answer = match (line.trim(), default) {
                ("?", _) => {
                    self.tell(&[question.help.to_owned()])?;
                    continue;
                }
                ("", Some(default)) => default,
                (answer, _) => question.chosen(answer).unwrap_or(answer),
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) => self.tell(&[in_one_line(&why).into_owned()])?,
            }
        }
    }

    /// Tells something, indented.
    pub(super) fn tell(&mut self, lines: &[String]) -> Result<(), QuestionError> {
        for line in lines {
            let line = wrapped(line).replace('\n', "\n  ");
            writeln!(self.output, "{}", format!("  {line}").trim_end())?;
        }
        Ok(())
    }
}

impl Question {
    /// The choice of a number.
    fn chosen(&self, answer: &str) -> Option<&'static str> {
        let position = answer.parse::<usize>().ok()?.checked_sub(1)?;
        self.choices.get(position).map(|(name, _)| *name)
    }
}

/// A text in lines that end between words.
fn wrapped(text: &str) -> String {
    let (mut wrapped, mut width) = (String::new(), 0);
    for word in text.split_inclusive(' ') {
        let length = word.trim_end().chars().count();
        if width > 0 && width + length > WIDTH {
            wrapped.truncate(wrapped.trim_end().len());
            wrapped.push('\n');
            width = 0;
        }
        wrapped.push_str(word);
        width += word.chars().count();
    }
    wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW_MANY: Question = Question { text: "How many", help: "A number.", choices: &[] };
    const WHICH: Question = Question { text: "Which", help: "", choices: &[("7", "seven"), ("8", "eight")] };

    fn number(text: &str) -> Result<u8, String> {
        text.parse().map_err(|_| format!("`{text}` is no number"))
    }

    #[track_caller]
    fn check_question(question: &Question, answers: &str, default: Option<&str>, expected: Option<u8>, shown: &str) {
        let mut output = Vec::new();
        let answer = Questions::new(answers.as_bytes(), &mut output).ask(question, default, number);
        assert_eq!(answer.ok(), expected, "{answers:?}");
        assert_eq!(String::from_utf8(output).unwrap(), shown);
    }

    #[track_caller]
    fn check(answers: &str, default: Option<&str>, expected: Option<u8>, shown: &str) {
        check_question(&HOW_MANY, answers, default, expected, shown);
    }

    #[test]
    fn what_will_not_do_is_asked_again() {
        check("3\n", None, Some(3), "How many: ");
        check(" 3 \r\n", Some("7"), Some(3), "How many [7]: ");
        check("\n", Some("7"), Some(7), "How many [7]: ");
        check("x\n\n4\n", None, Some(4), "How many:   `x` is no number\nHow many:   `` is no number\nHow many: ");
        check("\u{1b}[2K\n4", None, Some(4), "How many:   `\\u{1b}[2K` is no number\nHow many: ");
        check("", Some("7"), None, "How many [7]: \n");
        check("x\n", None, None, "How many:   `x` is no number\nHow many: \n");
        check("?\n5\n", None, Some(5), "How many:   A number.\nHow many: ");
    }

    #[test]
    fn choices_have_numbers() {
        let shown = "  1) 7               seven\n  2) 8               eight\nWhich: ";
        check_question(&WHICH, "2\n", None, Some(8), shown);
        check_question(&WHICH, "7\n", None, Some(7), shown);
    }

    #[test]
    fn lines_end_between_words() {
        let text = format!("{} {} c", "a".repeat(79), "b".repeat(90));
        assert_eq!(wrapped(&text), format!("{}\n{}\nc", "a".repeat(79), "b".repeat(90)));
        assert_eq!(wrapped("a b: "), "a b: ");
    }
}
