//! What commands found, as other programs read it: one type for all commands, and a writer for each format.

mod github;
mod junit;
mod sarif;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

pub(super) use github::annotations;
pub(super) use junit::junit;
pub(super) use sarif::sarif;

use super::terminal::{json_without_commands, printable, without_commands};
use clap::ValueEnum;
use serde::Serialize;
use std::io;

/// How a command writes what it tells of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For programs: a list with an entry for each request
    Json,
    /// The same list as YAML
    Yaml,
}

/// Data for programs as YAML.
pub(super) fn yaml(data: &impl Serialize) -> io::Result<String> {
    yaml_serde::to_string(data).map_err(io::Error::other)
}

/// Data for programs as JSON, with the end of its last line.
pub(super) fn json(data: &impl Serialize) -> io::Result<String> {
    Ok(json_without_commands(&serde_json::to_string_pretty(data)?) + "\n")
}

/// Everything that a command looked at, with what it found.
#[derive(Debug)]
pub(super) struct Results {
    /// The command's name, `lint`.
    pub(super) command: &'static str,
    /// Every rule by which something may be found.
    pub(super) rules: Vec<Rule>,
    /// What was looked at, in its order.
    pub(super) checks: Vec<Check>,
    /// What weighs less than this is told, and is no failure.
    pub(super) fail_on: Level,
}

/// Why something is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    /// The name that people say, `open-prefix`.
    pub(super) id: &'static str,
    /// What it looks for, in one sentence.
    pub(super) summary: &'static str,
    /// How much its findings weigh, unless they say otherwise.
    pub(super) level: Level,
}

/// How much a finding weighs, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// It could be said better.
    Note,
    /// It may not be meant.
    Warning,
    /// It is wrong.
    Error,
    /// Nobody knows whether it is: looking went wrong.
    Unknown,
}

impl Level {
    /// `error`, as SARIF and GitHub's workflows spell it. What isn't known counts as wrong.
    fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error | Self::Unknown => "error",
        }
    }
}

/// Something that was looked at: a file with settings, a request, a test.
#[derive(Debug, Default)]
pub(super) struct Check {
    /// What it belongs to: its file, its package, its namespace.
    pub(super) group: String,
    /// What it is called in its group.
    pub(super) name: String,
    /// Where it is.
    pub(super) location: Location,
    /// How long it took, where that is of interest.
    pub(super) took: Option<Duration>,
    /// What it printed or logged.
    pub(super) prints: Vec<String>,
    /// Whether it was left out.
    pub(super) is_skipped: bool,
    /// What was found.
    pub(super) findings: Vec<Finding>,
}

/// Something that was found.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// Which of [`Results::rules`], by its name.
    pub(super) rule: &'static str,
    /// How much it weighs.
    pub(super) level: Level,
    /// What it is about, where the message leaves that to its surroundings: `Pod web in namespace shop`.
    pub(super) title: Option<String>,
    /// What was found. It may have several lines.
    pub(super) message: String,
    /// Where.
    pub(super) location: Location,
}

impl Finding {
    /// The message, with what it is about.
    fn whole(&self) -> String {
        match &self.title {
            Some(title) => format!("{title}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Where something is: in a file, in a cluster, or both. Everything may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Location {
    /// The file, as the user named it.
    pub(super) file: Option<String>,
    /// The line in the file, from 1.
    pub(super) line: Option<usize>,
    /// The object in the cluster, or in the file.
    pub(super) object: Option<Object>,
    /// The field of the object or the settings, `spec.containers[0].image`.
    pub(super) field: Option<String>,
}

impl Location {
    /// The file as a path from the working directory; none for the standard input.
    fn path(&self) -> Option<&str> {
        self.file.as_deref().filter(|file| *file != "-").map(|file| file.trim_start_matches("./"))
    }
}

/// An object of Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Object {
    pub(super) kind: String,
    /// Empty for one that belongs to the cluster.
    pub(super) namespace: String,
    pub(super) name: String,
}

/// `Pod/shop/web`, `Namespace/shop`
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let names = [&self.namespace, &self.name].into_iter().filter(|name| !name.is_empty());
        names.into_iter().try_for_each(|name| write!(f, "/{name}"))
    }
}

/// A text that moves no cursor and commands no workflow, whoever wrote what it quotes.
fn harmless(text: &str) -> Cow<'_, str> {
    match printable(text) {
        Cow::Borrowed(text) => without_commands(text),
        Cow::Owned(text) => Cow::Owned(without_commands(&text).into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each thing, in words that mean something to every format.
    pub(super) fn hostile() -> Results {
        let location = Location {
            file: Some("./a b/[x],y:ä%.yaml".to_owned()),
            line: Some(7),
            object: Some(Object { kind: "Pod".to_owned(), namespace: "shop".to_owned(), name: "<web>".to_owned() }),
            field: Some("spec.containers[0].image".to_owned()),
        };
        let finding = |level, title: Option<&str>, message: &str| Finding {
            rule: "open-prefix",
            level,
            title: title.map(str::to_owned),
            message: message.to_owned(),
            location: location.clone(),
        };
        let check = |name: &str, findings| Check {
            group: "a & b".to_owned(),
            name: name.to_owned(),
            location: location.clone(),
            findings,
            ..Check::default()
        };
        let checks = vec![
            check("quiet", vec![]),
            check(
                "\"loud\"",
                vec![
                    finding(Level::Error, Some("a:b,c"), "100 %\r\n::error::[a](b) ##[error]x\u{1b}[2K\u{202e}]]>"),
                    finding(Level::Note, None, "a <note>"),
                ],
            ),
            check("remark", vec![finding(Level::Note, None, "only a note")]),
            check("stopped", vec![finding(Level::Unknown, None, "no answer\nat all")]),
            Check { is_skipped: true, ..check("left out", vec![finding(Level::Warning, None, "left out")]) },
            Check {
                took: Some(Duration::from_millis(1500)),
                prints: vec!["<printed>".to_owned()],
                location: Location::default(),
                ..check("timed", vec![])
            },
        ];
        let rules = vec![Rule { id: "open-prefix", summary: "a prefix that ends early", level: Level::Warning }];
        Results { command: "lint", rules, checks, fail_on: Level::Warning }
    }

    #[test]
    fn objects_are_named_with_what_they_have() {
        for (kind, namespace, name, shown) in [
            ("Pod", "shop", "web", "Pod/shop/web"),
            ("Namespace", "", "shop", "Namespace/shop"),
            ("Pod", "shop", "", "Pod/shop"),
        ] {
            let object = Object { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() };
            assert_eq!(object.to_string(), shown);
        }
    }

    #[test]
    fn what_is_not_known_weighs_most() {
        assert!(Level::Note < Level::Warning && Level::Warning < Level::Error && Level::Error < Level::Unknown);
    }
}
