//! `image-admission help`: every command says in a line what it does, how it ends, and shows examples that it takes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn image_admission(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_image-admission"));
    command.current_dir(folder).env_remove("IMAGE_ADMISSION_MODULE").stdin(Stdio::null());
    command
}

fn help(command: Option<&str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = image_admission(folder.path()).args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of a section of help texts, without their indentation.
fn section<'h>(help: &'h str, name: &str) -> Vec<&'h str> {
    let lines = help.lines().skip_while(|line| *line != name).skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::trim).collect()
}

/// Every command, with what is said of it in a line.
fn commands(help: &str) -> Vec<(&str, &str)> {
    let commands: Vec<(&str, &str)> =
        section(help, "Commands:").into_iter().map(|line| line.split_once(' ').unwrap()).collect();
    assert!(commands.len() > 5, "{help}");
    commands.into_iter().filter(|(name, _)| *name != "help").collect()
}

/// The words of a line, as a shell has them.
fn words(line: &str) -> Vec<String> {
    let (before, _) = line.split_once(" > ").unwrap_or((line, ""));
    let shell = Command::new("bash").arg("-c").arg(format!("printf '%s\\n' {before}")).output().unwrap();
    assert!(shell.status.success(), "{line}");
    String::from_utf8(shell.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// What the command says to words that it may not have. Nothing of what they name is there, so that nothing else happens.
fn outcome(words: &[String]) -> Output {
    let folder = TempDir::new().unwrap();
    let output = image_admission(folder.path()).args(words).output().unwrap();
    // One command is there to write.
    let writes = words.first().is_some_and(|command| command == "init");
    assert!(writes || fs::read_dir(folder.path()).unwrap().count() == 0, "{words:?} wrote something");
    output
}

/// Whether the words are a command with options that it has.
fn is_understood(words: &[String]) -> bool {
    !String::from_utf8(outcome(words).stderr).unwrap().contains("For more information, try '--help'")
}

#[test]
fn every_command_says_what_it_does_and_how_it_ends() {
    let overview = help(None);
    for (name, summary) in commands(&overview) {
        let text = help(Some(name));
        assert_eq!(text.lines().next(), Some(summary.trim()), "{name}");
        assert!(!summary.ends_with('.') && summary.trim().len() <= 80, "{name}: {summary}");
        let codes = section(&text, "Exit codes:");
        let has = |code: &str| codes.iter().any(|line| line.starts_with(&format!("{code}  ")));
        assert!(has("0") && has("1"), "{name}: {codes:?}");
    }
    assert_eq!(section(&overview, "Exit codes:").len(), 4);
}

#[test]
fn every_example_is_understood() {
    let overview = help(None);
    let names: Vec<Option<&str>> = commands(&overview).into_iter().map(|(name, _)| Some(name)).collect();
    for name in names.into_iter().chain([None]) {
        let text = help(name);
        let examples = section(&text, "Examples:");
        assert!(!examples.is_empty(), "{name:?} has no example");
        for example in examples {
            // What comes before a pipe belongs to others.
            let own = example.rsplit(" | ").next().unwrap();
            let words = words(own);
            assert_eq!(words.first().map(String::as_str), Some("image-admission"), "{example}");
            assert!(name.is_none() || words.get(1).map(String::as_str) == name, "{example}");
            assert!(is_understood(words.get(1..).unwrap()), "{example}");
        }
    }
}

/// The check above can fail.
#[test]
fn unknown_options_and_commands_are_not_understood() {
    for line in
        ["run -f pod.yaml --lives", "runs -f pod.yaml", "run", "lint", "eval -f pod.yaml", "bench --requests none"]
    {
        let words = words(line);
        assert!(!is_understood(&words), "{line}");
        assert_eq!(outcome(&words).status.code(), Some(1), "{line}");
    }
}

/// A command line that was installed alone finds no module, and says what to do.
#[test]
fn a_missing_module_is_said_with_where_it_comes_from() {
    let folder = tempfile::tempdir().unwrap();
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: nginx}]}}";
    fs::write(folder.path().join("pod.yaml"), pod).unwrap();
    for (arguments, variable, missing) in [
        (&["run", "-f", "pod.yaml"][..], None, "policy.wasm"),
        (&["bench"], None, "policy.wasm"),
        (&["bench"], Some("there/policy.wasm"), "there/policy.wasm"),
        (&["bench", "--module", "here.wasm"], Some("there/policy.wasm"), "here.wasm"),
    ] {
        let mut command = image_admission(folder.path());
        if let Some(module) = variable {
            command.env("IMAGE_ADMISSION_MODULE", module);
        }
        let output = command.args(arguments).output().unwrap();
        let wanted = format!(
            "error: there is no module `{missing}`: say with `--module`, or in IMAGE_ADMISSION_MODULE, where it is; \
             `policy.wasm` is among the files of each release, and `make policy.wasm` builds it\n"
        );
        assert_eq!(String::from_utf8(output.stderr).unwrap(), wanted, "{arguments:?}");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    }
}
