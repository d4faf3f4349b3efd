//! The questions that are asked in a terminal: one line each, with the default in brackets, and again where the answer won't do.

use std::io::{self, BufRead, Write};

use super::super::terminal::in_one_line;

pub(super) const SCANNER: &str =
    "Who scans your images: sbomscanner, trivy-operator, kubescape, registry (CI, with signed reports), none (yet)";
pub(super) const SIGNER: &str = "Who signs the reports: a file with a public key, or github:OWNER/REPOSITORY";
pub(super) const NAMESPACES: &str =
    "In which namespaces are its reports? Whoever may write there decides which images are clean";
pub(super) const REGISTRIES: &str = "Which registries may images come from, like ghcr.io, docker.io";
pub(super) const LEFT_OUT: &str =
    "Which namespaces are left out beside kube-system and kubewarden? Name only what is there, or - for none";
pub(super) const MODE: &str = "monitor, which lets everything in and logs what it would say, or enforce";
pub(super) const VALIDATING: &str = "Do other webhooks put containers into Pods, which are to be judged too";
pub(super) const MODULE: &str = "Where is the policy's module, like registry.example.com/image-admission:v1.0.0";
pub(super) const SERVER: &str =
    "The policy server's image, as `kubectl get policyserver default -o jsonpath='{.spec.image}'` says";
pub(super) const FOLDER: &str = "Where to write it";

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
        question: &str,
        default: Option<&str>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, QuestionError> {
        loop {
            match default {
                Some(default) => write!(self.output, "{question} [{default}]: ")?,
                None => write!(self.output, "{question}: ")?,
            }
            self.output.flush()?;
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                // The error begins on a line of its own.
                writeln!(self.output)?;
                return Err(QuestionError::Ended);
            }
            let answer = match (line.trim(), default) {
                ("", Some(default)) => default,
                (answer, _) => answer,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) => writeln!(self.output, "  {}", in_one_line(&why))?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u8, String> {
        text.parse().map_err(|_| format!("`{text}` is no number"))
    }

    #[track_caller]
    fn check(answers: &str, default: Option<&str>, expected: Option<u8>, shown: &str) {
        let mut output = Vec::new();
        let answer = Questions::new(answers.as_bytes(), &mut output).ask("How many", default, number);
        assert_eq!(answer.ok(), expected, "{answers:?}");
        assert_eq!(String::from_utf8(output).unwrap(), shown);
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
    }
}
